/* SPDX-License-Identifier: MIT */
#include "serve/push_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"

/* ---- Series ---- */

struct key {
	const char *text;
	size_t len;
};

static bool is_name(const void *context, uint32_t place, const void *sought)
{
	const struct wtl_push_table *table = context;
	const struct key *key = sought;
	const char *name = table->series[place].name;

	return strncmp(name, key->text, key->len) == 0 && name[key->len] == '\0';
}

void wtl_push_table_done(struct wtl_push_table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		free(table->series[i].name);
		free(table->series[i].labels);
	}
	free(table->series);
	wtl_hash_done(&table->by_name);
	*table = (struct wtl_push_table){.n = 0};
}

/* For each row, each place is looked at only once. */
static struct wtl_push_series *find_free(struct wtl_push_table *table)
{
	while (table->next < table->n) {
		struct wtl_push_series *series = &table->series[table->next++];

		if (series->ended != 0 && series->ended < table->read_from)
			return series;
	}
	return NULL;
}

static void empty(struct wtl_push_table *table, struct wtl_push_series *series)
{
	wtl_hash_remove(&table->by_name, wtl_hash_text(series->name),
			(uint32_t)(series - table->series));
	free(series->name);
	free(series->labels);
	table->named = table->row;
}

int64_t wtl_push_table_put(struct wtl_push_table *table, const char *name, size_t len,
			   int64_t denominator)
{
	const struct key key = {name, len};
	uint32_t sum = wtl_hash_bytes(name, len);
	const uint32_t *place = wtl_hash_find(&table->by_name, sum, is_name, table, &key);
	struct wtl_push_series *series;
	char *copy;

	if (place)
		return *place;
	if (wtl_array_reserve(&table->series, &table->room, table->n + 1, sizeof(*table->series)) <
		    0 ||
	    wtl_hash_reserve(&table->by_name, table->n + 1) < 0)
		return -ENOMEM;
	series = find_free(table);
	if (!series && table->n == WTL_PUSH_SERIES_MAX)
		return -E2BIG;
	copy = strndup(name, len);
	if (!copy)
		return -ENOMEM;
	if (series)
		empty(table, series);
	else
		series = &table->series[table->n++];
	*series = (struct wtl_push_series){
		.name = copy, .denominator = denominator, .named = table->row};
	wtl_hash_add(&table->by_name, sum, (uint32_t)(series - table->series));
	return series - table->series;
}

double wtl_push_value(const struct wtl_push_series *series, int64_t value)
{
	return (double)value / (double)series->denominator;
}

/* ---- Rows ---- */

void wtl_push_row_done(struct wtl_push_row *row)
{
	free(row->samples);
	*row = (struct wtl_push_row){.n = 0};
}

int wtl_push_row_add(struct wtl_push_row *row, uint32_t series, int64_t value)
{
	int rc = wtl_array_reserve(&row->samples, &row->room, row->n + 1, sizeof(*row->samples));

	if (rc == 0)
		row->samples[row->n++] = (struct wtl_push_sample){series, value};
	return rc;
}

int wtl_push_row_copy(struct wtl_push_row *to, const struct wtl_push_row *from)
{
	if (wtl_array_reserve(&to->samples, &to->room, from->n, sizeof(*to->samples)) < 0)
		return -ENOMEM;
	if (from->n > 0)
		memcpy(to->samples, from->samples, from->n * sizeof(*to->samples));
	to->number = from->number;
	to->t_utc_ms = from->t_utc_ms;
	to->n = from->n;
	return 0;
}

/* ---- Text ---- */

static bool ends_with(const char *name, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(name + len - n, end, n) == 0;
}

/* Joules and watts are written in eighths (wtl_metrics_eighths()); few other numbers have more than six decimals. */
static int64_t denominator_of(const char *name, size_t len, const char *value, size_t value_len)
{
	const char *labels = memchr(name, '{', len), *point = memchr(value, '.', value_len);
	size_t n = labels ? (size_t)(labels - name) : len;

	if (ends_with(name, n, "_joules_total") || ends_with(name, n, "_joules") ||
	    ends_with(name, n, "_watts"))
		return WTL_PUSH_EIGHTHS;
	return point && value_len - (size_t)(point - value) > 7 ? WTL_PUSH_FINEST
								: WTL_PUSH_MILLIONTHS;
}

/* Rounds to the nearest; false: it is no number, or too large. */
static bool read_value(const char *text, size_t len, int64_t denominator, int64_t *ret)
{
	bool is_negative = len > 0 && text[0] == '-';
	unsigned decimals = denominator == WTL_PUSH_FINEST ? 15 : 6;
	const char *point;
	uint64_t value;

	text += is_negative;
	len -= is_negative;
	point = memchr(text, '.', len);
	if (point && len - (size_t)(point - text) > decimals + 1)
		len = (size_t)(point - text) + decimals + 1;
	/* Eighths have three decimals. */
	if (denominator == WTL_PUSH_EIGHTHS)
		decimals = 3;
	if (wtl_num_fixed(text, len, decimals, &value) < 0 || value > INT64_MAX)
		return false;
	if (denominator == WTL_PUSH_EIGHTHS)
		value = (value + 62) / 125;
	*ret = is_negative ? -(int64_t)value : (int64_t)value;
	return true;
}

static int read_line(struct wtl_push_row *row, struct wtl_push_table *table, const char *line,
		     size_t len)
{
	const char *blank = memrchr(line, ' ', len);
	size_t name_len = blank ? (size_t)(blank - line) : 0, value_len = len - name_len - 1;
	struct wtl_push_series *series;
	int64_t place, value;

	if (len == 0 || line[0] == '#' || name_len == 0)
		return 0;
	place = wtl_push_table_put(table, line, name_len,
				   denominator_of(line, name_len, blank + 1, value_len));
	if (place == -E2BIG)
		row->n_left_out++;
	if (place < 0)
		return place == -ENOMEM ? -ENOMEM : 0;
	series = &table->series[place];
	if (!read_value(blank + 1, value_len, series->denominator, &value))
		return 0;
	series->seen = row->number;
	series->ended = 0;
	return wtl_push_row_add(row, (uint32_t)place, value);
}

int wtl_push_row_read(struct wtl_push_row *row, struct wtl_push_table *table, const char *text)
{
	row->n = row->n_left_out = 0;
	table->row = row->number;
	table->next = 0;
	while (*text) {
		size_t len = strcspn(text, "\n");
		int rc = read_line(row, table, text, len);

		if (rc < 0)
			return rc;
		text += len + (text[len] == '\n');
	}
	for (size_t i = 0; i < table->n; i++)
		if (table->series[i].seen != 0 && table->series[i].seen != row->number) {
			table->series[i].seen = 0;
			table->series[i].ended = row->number;
			if (wtl_push_row_add(row, (uint32_t)i, WTL_PUSH_ENDED) < 0)
				return -ENOMEM;
		}
	return 0;
}
