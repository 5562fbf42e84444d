/* SPDX-License-Identifier: MIT */
#include "serve/push_log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/num.h"
#include "record/store.h"

/* The recording's series. A row has one value in each of the first four; a change has the other two. */
enum { NUMBER, TIME, WHOLE, CHANGES, SLOT, BY, COLUMNS };

static const char *const names[COLUMNS] = {
	[NUMBER] = "push.row",	  /* from 1 over all recordings */
	[TIME] = "push.utc",	  /* milliseconds */
	[WHOLE] = "push.whole",	  /* 1: what it does not name does not exist */
	[CHANGES] = "push.count", /* how many */
	[SLOT] =
		"push.slot", /* twice the difference to the slot before in the row; + 1: it ended */
	[BY] = "push.by",    /* by how much, from 0 for a new one */
};

/* The fact for a slot: its series' denominator, a blank and its name. */
#define FACT "push.%zu"

/* A reader that starts in the middle needs a whole row soon. */
enum { WHOLE_EVERY = 60 };

/* ---- Writing ---- */

int wtl_push_log_begin(struct wtl_push_log *log, struct wtl_store_writer *writer)
{
	wtl_push_log_done(log);
	for (size_t i = 0; i < COLUMNS; i++) {
		int64_t series = wtl_store_series(writer, names[i]);

		if (series < 0)
			return (int)series;
		log->series[i] = (uint32_t)series;
	}
	log->writer = writer;
	return 0;
}

void wtl_push_log_done(struct wtl_push_log *log)
{
	free(log->last);
	*log = (struct wtl_push_log){.writer = NULL};
}

static void put(struct wtl_push_log *log, unsigned column, int64_t value)
{
	wtl_store_put(log->writer, log->series[column], value);
}

static int tell_name(struct wtl_push_log *log, const struct wtl_push_table *table, size_t place)
{
	const struct wtl_push_series *series = &table->series[place];
	char key[32], text[WTL_FACT_SIZE];

	snprintf(key, sizeof(key), FACT, place);
	snprintf(text, sizeof(text), "%lld %s", (long long)series->denominator, series->name);
	return wtl_store_fact(log->writer, key, text);
}

/* Writes new names, and those of slots that another series has now. */
static int tell_names(struct wtl_push_log *log, const struct wtl_push_table *table)
{
	int rc = 0;

	for (size_t i = 0; table->named > log->row && rc == 0 && i < log->n_told; i++)
		if (table->series[i].named > log->row)
			rc = tell_name(log, table, i);
	for (; rc == 0 && log->n_told < table->n; log->n_told += rc == 0)
		rc = tell_name(log, table, log->n_told);
	return rc;
}

static int widen(struct wtl_push_log *log, size_t n)
{
	size_t before = log->n_last;

	if (wtl_array_widen(&log->last, &log->n_last, n, sizeof(*log->last)) < 0)
		return -ENOMEM;
	for (size_t i = before; i < log->n_last; i++)
		log->last[i] = WTL_PUSH_ENDED;
	return 0;
}

/* Returns whether anything was written. */
static bool put_change(struct wtl_push_log *log, const struct wtl_push_sample *sample,
		       bool is_whole, int64_t *slot)
{
	int64_t *last = &log->last[sample->series];
	bool is_ended = sample->value == WTL_PUSH_ENDED, was_there = *last != WTL_PUSH_ENDED;

	if (is_ended ? !was_there : !is_whole && *last == sample->value)
		return false;
	put(log, SLOT, 2 * ((int64_t)sample->series - *slot) + is_ended);
	if (!is_ended)
		put(log, BY, was_there && !is_whole ? sample->value - *last : sample->value);
	*last = sample->value;
	*slot = sample->series;
	return true;
}

int wtl_push_log_put(struct wtl_push_log *log, const struct wtl_push_table *table,
		     const struct wtl_push_row *row)
{
	bool is_whole = log->whole == 0 || row->number - log->whole >= WHOLE_EVERY;
	int64_t slot = 0, n = 0;

	if (tell_names(log, table) < 0 || widen(log, table->n) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < row->n; i++)
		n += put_change(log, &row->samples[i], is_whole, &slot);
	put(log, NUMBER, (int64_t)row->number);
	put(log, TIME, row->t_utc_ms);
	put(log, WHOLE, is_whole);
	put(log, CHANGES, n);
	if (is_whole)
		log->whole = row->number;
	log->row = row->number;
	return 0;
}

/* ---- Reading ---- */

struct wtl_push_reader {
	struct wtl_store_reader *store;
	struct wtl_push_table table;
	int64_t *last; /* a value a slot, as in the log */
	int64_t series[COLUMNS];
	size_t period, n_periods; /* the one being read, or the next if its rows are used up */
	const int64_t *values[COLUMNS];
	size_t n[COLUMNS], at[COLUMNS];
	bool is_known; /* a whole row was read, and every row since */
	uint64_t from;
};

struct wtl_push_table *wtl_push_reader_table(struct wtl_push_reader *reader)
{
	return &reader->table;
}

void wtl_push_reader_close(struct wtl_push_reader *reader)
{
	if (!reader)
		return;
	wtl_store_close(reader->store);
	wtl_push_table_done(&reader->table);
	free(reader->last);
	free(reader);
}

static bool is_denominator(int64_t value)
{
	return value == WTL_PUSH_EIGHTHS || value == WTL_PUSH_MILLIONTHS ||
	       value == WTL_PUSH_FINEST;
}

/* A name that two slots have, or one that cannot be read, ends the list: later slots are unknown. */
static int read_names(struct wtl_push_reader *reader)
{
	int64_t denominator;
	const char *text, *blank;
	char key[32];

	for (size_t i = 0; i < WTL_PUSH_SERIES_MAX; i++) {
		int64_t place;

		snprintf(key, sizeof(key), FACT, i);
		text = wtl_store_get_fact(reader->store, key);
		blank = text ? strchr(text, ' ') : NULL;
		if (!blank || !blank[1] ||
		    wtl_num_i64(text, (size_t)(blank - text), &denominator) < 0 ||
		    !is_denominator(denominator))
			break;
		place = wtl_push_table_put(&reader->table, blank + 1, strlen(blank + 1),
					   denominator);
		if (place == -ENOMEM)
			return -ENOMEM;
		if (place != (int64_t)i)
			break;
	}
	reader->last = calloc(reader->table.n + 1, sizeof(*reader->last));
	return reader->last ? 0 : -ENOMEM;
}

static bool read_column(struct wtl_push_reader *reader, unsigned column)
{
	struct wtl_err err;

	reader->at[column] = 0;
	return wtl_store_values(reader->store, (uint32_t)reader->series[column], reader->period,
				&reader->values[column], &reader->n[column], &err) == 0;
}

/* A missing or damaged period is skipped: rows after it are known only from a whole row on. */
static void read_period(struct wtl_push_reader *reader)
{
	bool is_read = true;

	for (unsigned i = 0; i < COLUMNS; i++)
		is_read = read_column(reader, i) && is_read;
	for (unsigned i = TIME; i <= CHANGES; i++)
		is_read = is_read && reader->n[i] == reader->n[NUMBER];
	if (is_read)
		return;
	reader->n[NUMBER] = 0;
	reader->is_known = false;
}

/* The first row of a period; 0: it has none. */
static uint64_t first_of(struct wtl_push_reader *reader, size_t period)
{
	reader->period = period;
	if (!read_column(reader, NUMBER) || reader->n[NUMBER] == 0)
		return 0;
	return (uint64_t)reader->values[NUMBER][0];
}

/* Finds the last period that begins early enough to have the whole row before
 * the first row asked for. A period that cannot be read counts as late. */
static void seek(struct wtl_push_reader *reader)
{
	uint64_t from = reader->from > WHOLE_EVERY ? reader->from - WHOLE_EVERY : 1;
	size_t low = 0, high = reader->n_periods;

	while (low + 1 < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t first = first_of(reader, middle);

		if (first == 0 || first > from)
			high = middle;
		else
			low = middle;
	}
	reader->period = low;
}

int wtl_push_reader_open(const char *path, uint64_t from, struct wtl_push_reader **ret_reader,
			 struct wtl_err *err)
{
	struct wtl_push_reader *reader = calloc(1, sizeof(*reader));
	int rc = reader ? 0 : wtl_err_set(err, ENOMEM, "serve", path, "out of memory");

	if (rc == 0)
		rc = wtl_store_open(path, &reader->store, err);
	for (unsigned i = 0; rc == 0 && i < COLUMNS; i++) {
		reader->series[i] = wtl_store_find(reader->store, names[i]);
		if (reader->series[i] < 0)
			rc = wtl_err_set(err, ENODATA, "serve", path, "it has nothing to push");
	}
	if (rc == 0 && read_names(reader) < 0)
		rc = wtl_err_set(err, ENOMEM, "serve", path, "out of memory");
	if (rc < 0) {
		wtl_push_reader_close(reader);
		return rc;
	}
	reader->from = from;
	reader->n_periods = wtl_store_periods(reader->store);
	seek(reader);
	if (reader->period < reader->n_periods)
		read_period(reader);
	*ret_reader = reader;
	return 0;
}

static bool take(struct wtl_push_reader *reader, unsigned column, int64_t *ret)
{
	if (reader->at[column] >= reader->n[column])
		return false;
	*ret = reader->values[column][reader->at[column]++];
	return true;
}

static void forget(struct wtl_push_reader *reader)
{
	for (size_t i = 0; i < reader->table.n; i++)
		reader->last[i] = WTL_PUSH_ENDED;
}

/* Applies one of a row's changes; ended series are added to `row`. Negative: it is damaged, or there is no memory. */
static int apply(struct wtl_push_reader *reader, int64_t *slot, struct wtl_push_row *row)
{
	int64_t step, by;
	bool is_ended;

	if (!take(reader, SLOT, &step))
		return -EINVAL;
	is_ended = step & 1;
	if (__builtin_add_overflow(*slot, (step - is_ended) / 2, slot) || *slot < 0 ||
	    *slot >= (int64_t)reader->table.n)
		return -EINVAL;
	if (is_ended) {
		reader->last[*slot] = WTL_PUSH_ENDED;
		return wtl_push_row_add(row, (uint32_t)*slot, WTL_PUSH_ENDED);
	}
	if (!take(reader, BY, &by))
		return -EINVAL;
	if (reader->last[*slot] == WTL_PUSH_ENDED)
		reader->last[*slot] = by;
	else if (__builtin_add_overflow(reader->last[*slot], by, &reader->last[*slot]))
		return -EINVAL;
	return reader->last[*slot] == WTL_PUSH_ENDED ? -EINVAL : 0;
}

static int fill(const struct wtl_push_reader *reader, struct wtl_push_row *row)
{
	for (size_t i = 0; i < reader->table.n; i++)
		if (reader->last[i] != WTL_PUSH_ENDED &&
		    wtl_push_row_add(row, (uint32_t)i, reader->last[i]) < 0)
			return -ENOMEM;
	return 0;
}

/* 1; 0: it is not asked for, or cannot be known; negative without memory. */
static int read_row(struct wtl_push_reader *reader, struct wtl_push_row *row)
{
	int64_t number = 0, whole = 0, n = 0, slot = 0;

	take(reader, NUMBER, &number);
	take(reader, TIME, &row->t_utc_ms);
	take(reader, WHOLE, &whole);
	take(reader, CHANGES, &n);
	row->number = (uint64_t)number;
	row->n = 0;
	if (whole) {
		forget(reader);
		reader->is_known = true;
	}
	for (int64_t i = 0; i < n; i++) {
		int rc = apply(reader, &slot, row);

		if (rc == -ENOMEM)
			return rc;
		if (rc < 0) { /* the rest of this period is lost */
			reader->is_known = false;
			reader->at[NUMBER] = reader->n[NUMBER];
			return 0;
		}
	}
	if (!reader->is_known || number <= 0 || row->number < reader->from)
		return 0;
	return fill(reader, row) < 0 ? -ENOMEM : 1;
}

int wtl_push_reader_next(struct wtl_push_reader *reader, struct wtl_push_row *row)
{
	while (reader->period < reader->n_periods) {
		int rc;

		if (reader->at[NUMBER] >= reader->n[NUMBER]) {
			if (++reader->period < reader->n_periods)
				read_period(reader);
			continue;
		}
		rc = read_row(reader, row);
		if (rc != 0)
			return rc;
	}
	return 0;
}
