/* SPDX-License-Identifier: MIT */
/* In place of all other files of this layer where SQLite or zstd was not there. */
#include "record/store.h"

#include <errno.h>
#include <stddef.h>

#include "base/err.h"

static int complain(const char *path, struct wtl_err *err)
{
	return wtl_err_set(err, EOPNOTSUPP, "record", path,
			   "this wattle was built without recordings (they need SQLite and zstd)");
}

int wtl_store_create(const char *path, const struct wtl_store_options *options,
		     struct wtl_store_writer **ret_writer, struct wtl_err *err)
{
	(void)options;
	(void)ret_writer;
	return complain(path, err);
}

int wtl_store_open(const char *path, struct wtl_store_reader **ret_reader, struct wtl_err *err)
{
	(void)ret_reader;
	return complain(path, err);
}

int wtl_store_check(const char *path, void (*line)(void *context, const char *text), void *context,
		    struct wtl_err *err)
{
	(void)line;
	(void)context;
	return complain(path, err);
}

/* There is no writer and no reader to call the others with. */

int64_t wtl_store_series(struct wtl_store_writer *writer, const char *name)
{
	(void)writer;
	(void)name;
	return -EOPNOTSUPP;
}

bool wtl_store_put(struct wtl_store_writer *writer, uint32_t series, int64_t value)
{
	(void)writer;
	(void)series;
	(void)value;
	return false;
}

int wtl_store_fact(struct wtl_store_writer *writer, const char *key, const char *value)
{
	(void)writer;
	(void)key;
	(void)value;
	return -EOPNOTSUPP;
}

int wtl_store_domain(struct wtl_store_writer *writer, uint32_t i,
		     const struct wtl_stored_domain *row)
{
	(void)writer;
	(void)i;
	(void)row;
	return -EOPNOTSUPP;
}

int wtl_store_channel(struct wtl_store_writer *writer, uint32_t i, const struct wtl_channel *row)
{
	(void)writer;
	(void)i;
	(void)row;
	return -EOPNOTSUPP;
}

int wtl_store_miss(struct wtl_store_writer *writer, uint32_t i, const struct wtl_miss *row)
{
	(void)writer;
	(void)i;
	(void)row;
	return -EOPNOTSUPP;
}

int wtl_store_consumer(struct wtl_store_writer *writer, const struct wtl_stored_consumer *row)
{
	(void)writer;
	(void)row;
	return -EOPNOTSUPP;
}

int wtl_store_consumer_end(struct wtl_store_writer *writer, uint32_t id, int64_t last_look)
{
	(void)writer;
	(void)id;
	(void)last_look;
	return -EOPNOTSUPP;
}

int wtl_store_window(struct wtl_store_writer *writer, const struct wtl_stored_window *row)
{
	(void)writer;
	(void)row;
	return -EOPNOTSUPP;
}

int wtl_store_gap(struct wtl_store_writer *writer, const struct wtl_stored_gap *row)
{
	(void)writer;
	(void)row;
	return -EOPNOTSUPP;
}

int wtl_store_account(struct wtl_store_writer *writer, const struct wtl_stored_account *row)
{
	(void)writer;
	(void)row;
	return -EOPNOTSUPP;
}

int wtl_store_baseline(struct wtl_store_writer *writer, const struct wtl_stored_baseline *row)
{
	(void)writer;
	(void)row;
	return -EOPNOTSUPP;
}

int wtl_store_commit(struct wtl_store_writer *writer, int64_t t_mono_ns, int64_t t_utc_ns,
		     struct wtl_err *err)
{
	(void)writer;
	(void)t_mono_ns;
	(void)t_utc_ns;
	(void)err;
	return -EOPNOTSUPP;
}

bool wtl_store_has_more(const struct wtl_store_writer *writer)
{
	(void)writer;
	return false;
}

void wtl_store_remove(const char *path)
{
	(void)path;
}

bool wtl_store_is_over(const struct wtl_store_writer *writer)
{
	(void)writer;
	return false;
}

int wtl_store_end(struct wtl_store_writer *writer, struct wtl_err *err)
{
	(void)writer;
	(void)err;
	return 0;
}

void wtl_store_close(struct wtl_store_reader *reader)
{
	(void)reader;
}

bool wtl_store_is_whole(const struct wtl_store_reader *reader)
{
	(void)reader;
	return false;
}

bool wtl_store_is_live(const struct wtl_store_reader *reader)
{
	(void)reader;
	return false;
}

bool wtl_store_is_damaged(const struct wtl_store_reader *reader)
{
	(void)reader;
	return false;
}

bool wtl_store_has_dropped(const struct wtl_store_reader *reader)
{
	(void)reader;
	return false;
}

size_t wtl_store_periods(const struct wtl_store_reader *reader)
{
	(void)reader;
	return 0;
}

int wtl_store_period(const struct wtl_store_reader *reader, size_t i,
		     struct wtl_store_period *ret_period)
{
	(void)reader;
	(void)i;
	(void)ret_period;
	return -EOPNOTSUPP;
}

int64_t wtl_store_find(const struct wtl_store_reader *reader, const char *name)
{
	(void)reader;
	(void)name;
	return -EOPNOTSUPP;
}

size_t wtl_store_n_series(const struct wtl_store_reader *reader)
{
	(void)reader;
	return 0;
}

const char *wtl_store_series_name(const struct wtl_store_reader *reader, size_t series)
{
	(void)reader;
	(void)series;
	return "";
}

int wtl_store_values(struct wtl_store_reader *reader, uint32_t series, size_t period,
		     const int64_t **ret_values, size_t *ret_n, struct wtl_err *err)
{
	(void)reader;
	(void)series;
	(void)period;
	(void)ret_values;
	(void)ret_n;
	(void)err;
	return -EOPNOTSUPP;
}

const char *wtl_store_get_fact(struct wtl_store_reader *reader, const char *key)
{
	(void)reader;
	(void)key;
	return NULL;
}

int wtl_store_each_domain(struct wtl_store_reader *reader,
			  int (*row)(void *, uint32_t, const struct wtl_stored_domain *),
			  void *context)
{
	(void)reader;
	(void)row;
	(void)context;
	return -EOPNOTSUPP;
}

int wtl_store_each_channel(struct wtl_store_reader *reader,
			   int (*row)(void *, uint32_t, const struct wtl_channel *), void *context)
{
	(void)reader;
	(void)row;
	(void)context;
	return -EOPNOTSUPP;
}

int wtl_store_each_miss(struct wtl_store_reader *reader,
			int (*row)(void *, uint32_t, const struct wtl_miss *), void *context)
{
	(void)reader;
	(void)row;
	(void)context;
	return -EOPNOTSUPP;
}

int wtl_store_each_consumer(struct wtl_store_reader *reader,
			    int (*row)(void *, const struct wtl_stored_consumer *), void *context)
{
	(void)reader;
	(void)row;
	(void)context;
	return -EOPNOTSUPP;
}

int wtl_store_each_window(struct wtl_store_reader *reader,
			  int (*row)(void *, const struct wtl_stored_window *), void *context)
{
	(void)reader;
	(void)row;
	(void)context;
	return -EOPNOTSUPP;
}

int wtl_store_each_gap(struct wtl_store_reader *reader,
		       int (*row)(void *, const struct wtl_stored_gap *), void *context)
{
	(void)reader;
	(void)row;
	(void)context;
	return -EOPNOTSUPP;
}

int wtl_store_each_account(struct wtl_store_reader *reader,
			   int (*row)(void *, const struct wtl_stored_account *), void *context)
{
	(void)reader;
	(void)row;
	(void)context;
	return -EOPNOTSUPP;
}

int wtl_store_each_baseline(struct wtl_store_reader *reader,
			    int (*row)(void *, const struct wtl_stored_baseline *), void *context)
{
	(void)reader;
	(void)row;
	(void)context;
	return -EOPNOTSUPP;
}
