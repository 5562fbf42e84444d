/* SPDX-License-Identifier: MIT */
#include "player_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "record/table.h"
#include "replay/format.h"

#ifdef __clang__
#define UNWATCHED __attribute__((no_sanitize("coverage")))
#else
#define UNWATCHED
#endif

struct stand_store stand;

static void check(bool holds)
{
	if (!holds)
		abort();
}

void stand_clear(void)
{
	for (size_t i = 0; i < stand.n_series; i++) {
		for (size_t k = 0; k < STAND_PERIODS; k++)
			free(stand.series[i].runs[k].values);
		free(stand.series[i].lent);
	}
	memset(&stand, 0, sizeof(stand));
}

/* Each value that is put looks for its series, a third of the time if that were done by strcmp(), which a fuzzer watches. */
UNWATCHED static uint64_t hash_of(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return hash;
}

UNWATCHED static struct stand_series *find_series(const char *name)
{
	uint64_t hash = hash_of(name);

	for (size_t i = 0; i < stand.n_series; i++)
		if (stand.series[i].hash == hash)
			return &stand.series[i];
	return NULL;
}

static struct stand_series *series_of(const char *name)
{
	struct stand_series *series = find_series(name);

	if (series)
		return series;
	check(stand.n_series < STAND_SERIES);
	series = &stand.series[stand.n_series++];
	stand_name_series(series, name);
	return series;
}

void stand_name_series(struct stand_series *series, const char *name)
{
	snprintf(series->name, sizeof(series->name), "%s", name);
	series->hash = hash_of(series->name);
}

void stand_put(const char *series, int64_t value)
{
	struct stand_run *run;

	check(stand.n_periods > 0);
	run = &series_of(series)->runs[stand.n_periods - 1];
	if (run->n == run->room) {
		run->room = run->room ? 2 * run->room : 16;
		run->values = realloc(run->values, run->room * sizeof(*run->values));
		check(run->values != NULL);
	}
	run->values[run->n++] = value;
}

void stand_put_numbered(const char *prefix, size_t number, const char *name, int64_t value)
{
	char text[WTL_STORE_NAME_SIZE];

	snprintf(text, sizeof(text), WTL_SERIES_FORMAT, prefix, number, name);
	stand_put(text, value);
}

void stand_fact(const char *key, const char *value)
{
	struct stand_fact *fact = &stand.facts[stand.n_facts];

	check(stand.n_facts < STAND_FACTS);
	stand.n_facts++;
	snprintf(fact->key, sizeof(fact->key), "%s", key);
	snprintf(fact->value, sizeof(fact->value), "%s", value);
}

/* ---- The reading half of record/store.h ---- */

int wtl_store_open(const char *path, struct wtl_store_reader **ret_reader, struct wtl_err *err)
{
	(void)path;
	(void)err;
	*ret_reader = (struct wtl_store_reader *)&stand;
	return 0;
}

void wtl_store_close(struct wtl_store_reader *reader)
{
	(void)reader;
}

bool wtl_store_is_whole(const struct wtl_store_reader *reader)
{
	(void)reader;
	return stand.is_whole;
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

bool wtl_store_lacks_wal(const struct wtl_store_reader *reader)
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
	return stand.n_periods;
}

int wtl_store_period(const struct wtl_store_reader *reader, size_t i,
		     struct wtl_store_period *ret_period)
{
	(void)reader;
	if (i >= stand.n_periods)
		return -ERANGE;
	*ret_period = stand.periods[i];
	return 0;
}

int64_t wtl_store_find(const struct wtl_store_reader *reader, const char *name)
{
	const struct stand_series *series = find_series(name);

	(void)reader;
	return series ? series - stand.series : -ENOENT;
}

/* A copy of its own each time, so that a sanitizer sees what is used for too long, or beyond its end. */
int wtl_store_values(struct wtl_store_reader *reader, uint32_t series, size_t period,
		     const int64_t **ret_values, size_t *ret_n, struct wtl_err *err)
{
	struct stand_series *own = &stand.series[series];
	const struct stand_run *run = &own->runs[period];

	(void)reader;
	check(series < stand.n_series && period < stand.n_periods);
	if (run->is_damaged)
		return wtl_err_set(err, EBADMSG, "recording", NULL, "%s is damaged", own->name);
	free(own->lent);
	own->lent = malloc(run->n * sizeof(*own->lent) + 1);
	if (!own->lent)
		return -ENOMEM;
	if (run->n)
		memcpy(own->lent, run->values, run->n * sizeof(*own->lent));
	*ret_values = run->n ? own->lent : NULL;
	*ret_n = run->n;
	return 0;
}

const char *wtl_store_get_fact(struct wtl_store_reader *reader, const char *key)
{
	(void)reader;
	for (size_t i = 0; i < stand.n_facts; i++)
		if (strcmp(stand.facts[i].key, key) == 0)
			return stand.facts[i].value;
	return NULL;
}

/* As the real one: of rows that are not sound, nobody is told. */
#define EACH(rows, n, table, call, ...)                                                  \
	do {                                                                             \
		int rc = 0;                                                              \
		(void)reader;                                                            \
		for (uint32_t i = 0; rc == 0 && i < stand.n; i++) {                      \
			__typeof__(stand.rows[0]) *one = &stand.rows[i];                 \
			const struct wtl_row_##table stored = {__VA_ARGS__};             \
			rc = wtl_row_is_sound(&wtl_table_##table, &stored) ? (call) : 0; \
		}                                                                        \
		return rc;                                                               \
	} while (0)

/* Rows out of order are damage. */
#define IS_NEXT(one) ((one)->id > (i == 0 ? 0 : (one)[-1].id))

int wtl_store_each_domain(struct wtl_store_reader *reader,
			  int (*row)(void *, uint32_t, const struct wtl_stored_domain *),
			  void *context)
{
	EACH(domains, n_domains, domain, row(context, i, one), .id = i, .domain = *one);
}

int wtl_store_each_channel(struct wtl_store_reader *reader,
			   int (*row)(void *, uint32_t, const struct wtl_channel *), void *context)
{
	EACH(channels, n_channels, channel, row(context, i, one), .id = i, .channel = *one,
	     .has_class = one->class, .class = stand.classes[i]);
}

int wtl_store_each_miss(struct wtl_store_reader *reader,
			int (*row)(void *, uint32_t, const struct wtl_miss *), void *context)
{
	EACH(misses, n_misses, miss, row(context, i, one), .id = i, .miss = *one);
}

int wtl_store_each_consumer(struct wtl_store_reader *reader,
			    int (*row)(void *, const struct wtl_stored_consumer *), void *context)
{
	EACH(consumers, n_consumers, consumer, IS_NEXT(one) ? row(context, one) : -EBADMSG,
	     .stored = *one);
}

int wtl_store_each_window(struct wtl_store_reader *reader,
			  int (*row)(void *, const struct wtl_stored_window *), void *context)
{
	EACH(windows, n_windows, window, IS_NEXT(one) ? row(context, one) : -EBADMSG,
	     .stored = *one);
}

int wtl_store_each_window_bare(struct wtl_store_reader *reader,
			       int (*row)(void *, const struct wtl_stored_window *), void *context)
{
	return wtl_store_each_window(reader, row, context);
}

int wtl_store_look_at_energies(struct wtl_store_reader *reader)
{
	(void)reader;
	return 0;
}

int wtl_store_each_account(struct wtl_store_reader *reader,
			   int (*row)(void *, const struct wtl_stored_account *), void *context)
{
	EACH(accounts, n_accounts, account, row(context, one), .account = *one);
}

int wtl_store_each_baseline(struct wtl_store_reader *reader,
			    int (*row)(void *, const struct wtl_stored_baseline *), void *context)
{
	EACH(baselines, n_baselines, baseline, row(context, one), .stored = *one);
}

int wtl_store_each_gap(struct wtl_store_reader *reader,
		       int (*row)(void *, const struct wtl_stored_gap *), void *context)
{
	EACH(gaps, n_gaps, gap, row(context, one), .id = i, .gap = *one);
}
