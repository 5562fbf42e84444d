/* SPDX-License-Identifier: MIT */
/* Recordings that nothing goes wrong with: every row and value comes back, periods, live reading. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "energy/sensor_class.h"
#include "energy/units.h"
#include "record/reader.h"
#include "record/writer.h"
#include "store_bench.h"

#define SAME(a, b, member)	assert_true((a)->member == (b)->member)
#define SAME_TEXT(a, b, member) assert_string_equal((a)->member, (b)->member)

static void commit(struct store_bench *bench)
{
	store_bench_seconds(bench, 1, 1);
}

/* ---- Values ---- */

static void test_values(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	store_bench_create(bench);
	store_bench_seconds(bench, 35, 1000);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_true(wtl_store_is_whole(reader));
	assert_false(wtl_store_is_live(reader));
	assert_false(wtl_store_is_damaged(reader));
	assert_int_equal(wtl_store_periods(reader), 4);
	assert_int_equal(store_bench_verify(reader, NULL), 35000);
	/* Backwards, and the same one twice. */
	for (size_t i = 0; i < 8; i++) {
		const int64_t *values;
		size_t n;

		assert_int_equal(wtl_store_values(reader, 0, 3 - i / 2, &values, &n, NULL), 0);
		assert_true(n > 0 && (values[0] - 17) / 1000000 % 1000 == 0);
	}
	wtl_store_close(reader);
	/* One file, nothing beside it. */
	assert_int_equal(unit_entries(bench->dir, ""), 1);
}

/* As an import writes: periods one after the other, which begin with the memory of the one before; in parts, or whole. */
static void test_in_haste(void **state)
{
	struct store_bench *bench = *state;

	bench->options.in_haste = true;
	store_bench_create(bench);
	store_bench_seconds(bench, 35, 1000);
	store_bench_end(bench);
	store_bench_expect(bench, 35000);
}

static void test_whole_in_haste(void **state)
{
	struct store_bench *bench = *state;

	bench->options.in_haste = true;
	bench->options.period_ns = WTL_NS_PER_S;
	store_bench_create(bench);
	for (unsigned i = 1; i <= 3; i++)
		store_bench_seconds(bench, 3, i * 15000);
	store_bench_end(bench);
	store_bench_expect(bench, 3 * 90000);
}

static void test_periods(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_period before = {0}, period;
	struct wtl_store_reader *reader;
	int ends = 0;

	store_bench_create(bench);
	for (int i = 0; i < 25; i++) {
		ends += store_bench_second(bench, 10, NULL);
		wtl_writer_wait(bench->writer);
	}
	/* The first begins with the first commit: no clock was given before it. */
	assert_int_equal(ends, 2);
	wtl_store_put(bench->writer, bench->series[0], 1); /* it waits for the end */
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_periods(reader), 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(wtl_store_period(reader, i, &period), 0);
		assert_true(period.end_mono_ns > period.begin_mono_ns);
		assert_true(period.end_utc_ns - period.end_mono_ns ==
			    period.begin_utc_ns - period.begin_mono_ns);
		if (i > 0)
			assert_true(period.begin_mono_ns == before.end_mono_ns);
		assert_int_equal(period.end_mono_ns - period.begin_mono_ns,
				 (i < 2 ? 10 : 4) * WTL_NS_PER_S);
		before = period;
	}
	assert_true(before.end_mono_ns == bench->now_ns);
	assert_int_equal(wtl_store_period(reader, 3, &period), -ERANGE);
	wtl_store_close(reader);
}

/* A ring is dropped by periods: it has four at least. */
static void test_options(void **state)
{
	static const struct {
		int64_t period_ns, max_age_ns, whole_ns;
		int busy_ms, whole_ms;
	} cases[] = {
		{0, 0, 60 * WTL_NS_PER_S, 0, 10000},
		{-1, 0, 60 * WTL_NS_PER_S, -1, 10000},
		{1, 0, 1, 1, 1},
		{0, 3600 * WTL_NS_PER_S, 60 * WTL_NS_PER_S, 5, 5},
		{10, 40, 10, 5, 5},
		{12, 40, 11, 5, 5},
		{12, 1, 1, 5, 5},
	};

	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct store_bench *bench = *state;
		struct wtl_store_reader *reader;

		bench->options.period_ns = cases[i].period_ns;
		bench->options.max_age_ns = cases[i].max_age_ns;
		bench->options.busy_ms = cases[i].busy_ms;
		store_bench_create(bench);
		assert_int_equal(bench->writer->options.busy_ms, cases[i].whole_ms);
		store_bench_end(bench);
		reader = store_bench_open(bench);
		assert_int_equal(reader->recording.id, 1);
		assert_int_equal(reader->recording.pid, getpid());
		assert_int_equal(reader->recording.period_ns, cases[i].whole_ns);
		assert_int_equal(reader->recording.max_age_ns, cases[i].max_age_ns);
		wtl_store_close(reader);
		assert_int_equal(unlink(bench->path), 0);
	}
}

/* Nothing has to be made of them when they are over: what a reader beside the writer sees is what stays. */
static void test_periods_of_one_commit(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	bench->options.period_ns = 1;
	store_bench_create(bench);
	store_bench_seconds(bench, 1, 0);
	for (uint64_t i = 1; i <= 20; i++) {
		store_bench_seconds(bench, 1, 1000);
		store_bench_expect(bench, i * 1000);
	}
	store_bench_end(bench);
	store_bench_expect(bench, 20000);
	reader = store_bench_open(bench);
	assert_in_range(wtl_store_periods(reader), 20, 21);
	for (size_t i = 1; i < wtl_store_periods(reader); i++) {
		struct wtl_store_period period;

		assert_int_equal(wtl_store_period(reader, i, &period), 0);
		assert_int_equal(period.end_mono_ns - period.begin_mono_ns, WTL_NS_PER_S);
		assert_int_equal(period.end_utc_ns - period.begin_utc_ns, WTL_NS_PER_S);
	}
	wtl_store_close(reader);
}

static void test_series(void **state)
{
	struct store_bench *bench = *state;
	char name[WTL_STORE_NAME_SIZE + 1];
	struct wtl_store_reader *reader;
	const int64_t *values;
	struct wtl_err err;
	size_t n;

	store_bench_create(bench);
	assert_int_equal(wtl_store_series(bench->writer, "noise"), 1);
	assert_int_equal(wtl_store_series(bench->writer, ""), -EINVAL);
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(wtl_store_series(bench->writer, name), -EINVAL);
	name[sizeof(name) - 2] = '\0';
	assert_int_equal(wtl_store_series(bench->writer, name), 3);
	store_bench_seconds(bench, 12, 10);
	/* New ones in the middle, in no order; one never has a value. */
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "ch.%d.value", i * 37 % 100);
		assert_int_equal(wtl_store_series(bench->writer, name), 4 + i);
	}
	assert_true(wtl_store_put(bench->writer, 50, 50));
	store_bench_seconds(bench, 1, 10);
	assert_true(wtl_store_put(bench->writer, 50, 51));
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(store_bench_verify(reader, NULL), 130);
	assert_int_equal(wtl_store_n_series(reader), 104);
	assert_string_equal(wtl_store_series_name(reader, 1), "noise");
	assert_string_equal(wtl_store_series_name(reader, 104), "");
	assert_int_equal(wtl_store_find(reader, "ch.37.value"), 5);
	assert_int_equal(wtl_store_find(reader, "ch.100.value"), -ENOENT);
	assert_int_equal(wtl_store_values(reader, 50, 0, &values, &n, NULL), 0);
	assert_null(values);
	assert_int_equal(n, 0);
	/* What was put after the last commit is there as well. */
	assert_int_equal(wtl_store_values(reader, 50, 1, &values, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(values[1], 51);
	assert_int_equal(wtl_store_values(reader, 104, 0, &values, &n, &err), -ERANGE);
	assert_int_equal(wtl_store_values(reader, 0, 2, &values, &n, &err), -ERANGE);
	wtl_store_close(reader);
}

static int count_row(void *n, int n_columns, char **texts, char **names)
{
	(void)n_columns;
	(void)texts;
	(void)names;
	++*(unsigned *)n;
	return 0;
}

/* More values at once than were announced, and while the thread is busy. */
static void test_growth(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_period last;
	struct wtl_store_reader *reader;
	unsigned n_small = 0;

	bench->options.values_per_commit = 0;
	store_bench_create(bench);
	store_bench_seconds(bench, 1, 100000);
	store_bench_seconds(bench, 3, 10);
	for (int i = 0; i < 2000; i++)
		assert_true(store_bench_second(bench, 20, NULL) >= 0);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(store_bench_verify(reader, NULL), 140030);
	/* A commit that came when the thread was busy is done in the end, as of its time. */
	assert_int_equal(wtl_store_period(reader, wtl_store_periods(reader) - 1, &last), 0);
	assert_true(last.end_mono_ns == bench->now_ns);
	assert_int_equal(last.end_utc_ns - last.end_mono_ns,
			 last.begin_utc_ns - last.begin_mono_ns);
	/* What repeats itself takes less room. */
	assert_int_equal(sqlite3_exec(reader->db, "SELECT 1 FROM chunk WHERE packed = 1", count_row,
				      &n_small, NULL),
			 0);
	assert_true(n_small > 0);
	wtl_store_close(reader);
	/* What periods were made of is gone, and its room was given back. */
	assert_int_equal(store_bench_number(bench, "SELECT count(*) FROM part"), 0);
	assert_int_equal(store_bench_number(bench, "PRAGMA freelist_count"), 0);
}

/* As planes, as tokens, or packed, whichever is the smallest; planes are read faster. */
static void test_chunks(void **state)
{
	enum { N = 30000 };
	static const struct {
		const char *name;
		int64_t packed, least, most; /* of the block */
	} cases[] = {
		{"even", 0, 5, 20},		     /* nothing of it is coded */
		{"any", 0, 8 * (N - 1), 8 * N + 20}, /* eight planes */
		{"digits", 1, N - 1, N + 20},	     /* one plane of no more than ten values */
		{"seldom", 1, 100, 1000},	     /* tokens */
		{"bytes", 0, N - 1, N + 20},
	};
	struct store_bench *bench = *state;
	uint64_t any = 88172645463325252;

	store_bench_create(bench);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++)
		assert_int_equal(wtl_store_series(bench->writer, cases[i].name), STORE_SERIES + i);
	for (uint32_t i = 0; i < N; i++) {
		any ^= any << 13;
		any ^= any >> 7;
		any ^= any << 17;
		const int64_t values[] = {7 * i, (int64_t)any, (int64_t)(any % 10),
					  i % 1000 ? 5 : (int64_t)(any % 30000),
					  (int64_t)(any % 256) - 128};

		for (uint32_t k = 0; k < UNIT_COUNT(cases); k++)
			wtl_store_put(bench->writer, STORE_SERIES + k, values[k]);
	}
	store_bench_end(bench);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		int64_t packed, size;
		char sql[128];

		snprintf(sql, sizeof(sql), "SELECT packed FROM chunk WHERE series = %zu",
			 STORE_SERIES + i);
		packed = store_bench_number(bench, sql);
		snprintf(sql, sizeof(sql), "SELECT size FROM chunk WHERE series = %zu",
			 STORE_SERIES + i);
		size = store_bench_number(bench, sql);
		if (packed != cases[i].packed || size < cases[i].least || size > cases[i].most)
			fail_msg("%s: %d %d", cases[i].name, (int)packed, (int)size);
	}
}

/* A transaction that fails is undone, and another one can begin. */
static void test_undone(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_file *file;

	store_bench_create(bench);
	store_bench_seconds(bench, 2, 10);
	file = &bench->writer->file;
	assert_int_equal(wtl_file_begin(file), 0);
	assert_int_equal(wtl_file_run(file, "DELETE FROM part"), 0);
	assert_int_equal(wtl_file_commit(file, SQLITE_NOMEM), SQLITE_NOMEM);
	assert_int_equal(wtl_file_begin(file), 0);
	assert_int_equal(wtl_file_commit(file, 0), 0);
	store_bench_end(bench);
	store_bench_expect(bench, 20);
}

/* A period is over before its time where it has too many values. */
static void test_many_values(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	store_bench_create(bench);
	store_bench_seconds(bench, 2, 700000);
	store_bench_seconds(bench, 2, 10);
	/* Or too many commits. */
	bench->writer->period_commits = WTL_PARTS_MAX - 2;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(store_bench_second(bench, 10, NULL), i == 1);
		wtl_writer_wait(bench->writer);
	}
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_periods(reader), 3);
	assert_int_equal(store_bench_verify(reader, NULL), 1400060);
	wtl_store_close(reader);
}

static int take_gap(void *context, const struct wtl_stored_gap *row)
{
	*(struct wtl_stored_gap *)context = *row;
	return 0;
}

/* Values that nobody can keep: they are missing, and that is known. */
static void test_overrun(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct wtl_stored_gap gap = {.duration_ns = -1};
	uint64_t lost = 0, n_kept = 0;
	bool was_kept = true;

	store_bench_create(bench);
	store_bench_seconds(bench, 2, 100);
	for (uint32_t i = 0; was_kept && i < 1u << 26; i++, n_kept++)
		was_kept = wtl_store_put(bench->writer, 0, i);
	assert_false(was_kept);
	/* 32 MiB more than is kept ready, by doubling that. */
	assert_in_range(n_kept, 2 << 20, 4 << 20);
	assert_int_equal(store_bench_second(bench, 0, NULL), 1);
	wtl_writer_wait(bench->writer);
	store_bench_seconds(bench, 2, 100);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	/* The stretch stands as a period that cannot be read. */
	assert_int_equal(wtl_store_periods(reader), 3);
	assert_int_equal(store_bench_verify(reader, &lost), 400);
	assert_int_equal(lost, 1);
	assert_int_equal(wtl_store_each_gap(reader, take_gap, &gap), 0);
	assert_int_equal(gap.kind, WTL_GAP_OVERRUN);
	assert_string_equal(gap.text, "values came faster than they could be written");
	assert_int_equal(gap.duration_ns, WTL_NS_PER_S);
	assert_int_equal(gap.begin_mono_ns, bench->now_ns - 3 * WTL_NS_PER_S);
	wtl_store_close(reader);
}

static void test_no_values(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	store_bench_create(bench);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_true(wtl_store_is_whole(reader));
	assert_int_equal(wtl_store_n_series(reader), 3); /* they are rows */
	assert_int_equal(store_bench_verify(reader, NULL), 0);
	wtl_store_close(reader);
}

static void test_commits_without_values(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	store_bench_create(bench);
	assert_true(wtl_store_has_more(bench->writer)); /* the rows of series */
	store_bench_seconds(bench, 15, 0);
	assert_false(wtl_store_has_more(bench->writer));
	store_bench_seconds(bench, 1, 5);
	assert_false(wtl_store_has_more(bench->writer));
	wtl_store_put(bench->writer, bench->series[STORE_SERIES - 1], 1);
	assert_true(wtl_store_has_more(bench->writer));
	bench->writer->front->runs[bench->series[STORE_SERIES - 1]].n = 0;
	store_bench_seconds(bench, 15, 0);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_periods(reader), 3);
	assert_int_equal(store_bench_verify(reader, NULL), 5);
	wtl_store_close(reader);
}

/* ---- Rows ---- */

/* How many rows came, and the one that is looked for (which = its number). */
struct seen {
	size_t n, which;
	union {
		struct wtl_stored_domain domain;
		struct wtl_channel channel;
		struct wtl_miss miss;
		struct wtl_stored_consumer consumer;
		struct wtl_stored_window window;
		struct wtl_stored_gap gap;
		struct wtl_stored_account account;
		struct wtl_stored_baseline baseline;
	} row;
	uint32_t id;
	struct wtl_sensor_class class;
	char text[3][64];
	struct wtl_group group;
	struct wattle_energy energies[3];
};

static bool is_it(struct seen *seen)
{
	return seen->n++ == seen->which;
}

static int see_domain(void *context, uint32_t i, const struct wtl_stored_domain *row)
{
	struct seen *seen = context;

	if (is_it(seen)) {
		seen->id = i;
		seen->row.domain = *row;
	}
	return 0;
}

static void test_domain(void **state)
{
	const struct wtl_stored_domain first = {
		.name = "package-0",
		.inside = "psys",
		.source = "rapl-perf",
		.device = "Größe 7 \"CPU\"; DROP TABLE domain",
		.reason = "r",
		.remedy = "sudo x",
		.kind = WATTLE_KIND_BOARD,
		.method = WATTLE_METHOD_MIXED,
		.status = WATTLE_STATUS_ABSENT,
		.in_total = true,
		.primary = 3,
		.check = -1,
	};
	struct seen seen = {.which = 1};
	const struct wtl_stored_domain *back = &seen.row.domain;
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	store_bench_create(bench);
	assert_int_equal(wtl_store_domain(bench->writer, 7, &first), 0);
	assert_int_equal(
		wtl_store_domain(bench->writer, 0, &(struct wtl_stored_domain){.name = "a"}), 0);
	commit(bench);
	assert_int_equal(
		wtl_store_domain(bench->writer, 0, &(struct wtl_stored_domain){.name = "b"}), 0);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_each_domain(reader, see_domain, &seen), 0);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.id, 7);
	SAME_TEXT(back, &first, name);
	SAME_TEXT(back, &first, inside);
	SAME_TEXT(back, &first, source);
	SAME_TEXT(back, &first, device);
	SAME_TEXT(back, &first, reason);
	SAME_TEXT(back, &first, remedy);
	SAME(back, &first, kind);
	SAME(back, &first, method);
	SAME(back, &first, status);
	SAME(back, &first, in_total);
	SAME(back, &first, primary);
	SAME(back, &first, check);
	/* The other one was replaced. */
	seen = (struct seen){.which = 0};
	assert_int_equal(wtl_store_each_domain(reader, see_domain, &seen), 0);
	assert_string_equal(seen.row.domain.name, "b");
	wtl_store_close(reader);
}

static int see_channel(void *context, uint32_t i, const struct wtl_channel *row)
{
	struct seen *seen = context;

	if (is_it(seen)) {
		seen->id = i;
		seen->row.channel = *row;
		snprintf(seen->text[0], sizeof(seen->text[0]), "%s", row->source);
		seen->class = row->class ? *row->class : (struct wtl_sensor_class)
		{
			.name = NULL
		};
		if (row->class)
			snprintf(seen->text[1], sizeof(seen->text[1]), "%s", row->class->name);
	}
	return 0;
}

static struct wtl_channel some_channel(void)
{
	return (struct wtl_channel){
		.domain = "gpu-1",
		.inside = "module-0",
		.device = "A100",
		.kind = WATTLE_KIND_GPU,
		.in_total = true,
		.quantity = WTL_QUANTITY_POWER,
		.method = WATTLE_METHOD_INTEGRATED,
		.unit = {.num = UINT64_MAX, .den = UINT64_C(1) << 63},
		.range = UINT64_MAX,
		.max_uw = 700000000,
		.update_ns = 100000000,
		.gain_ppm = 12000,
		.offset_uw = 2000000,
		.idle_uw = 55,
		.class = wtl_sensor_class_row(3),
		.source = "nvml",
		.rank = 4,
	};
}

static void test_channel(void **state)
{
	const struct wtl_channel first = some_channel();
	struct seen seen = {.which = 0};
	const struct wtl_channel *back = &seen.row.channel;
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	struct wtl_channel second = first;

	second.class = NULL;
	second.source = NULL;
	store_bench_create(bench);
	assert_int_equal(wtl_store_channel(bench->writer, 0, &first), 0);
	assert_int_equal(wtl_store_channel(bench->writer, 1, &second), 0);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_each_channel(reader, see_channel, &seen), 0);
	assert_int_equal(seen.n, 2);
	SAME_TEXT(back, &first, domain);
	SAME_TEXT(back, &first, inside);
	SAME_TEXT(back, &first, device);
	SAME(back, &first, kind);
	SAME(back, &first, in_total);
	SAME(back, &first, quantity);
	SAME(back, &first, method);
	SAME(back, &first, unit.num);
	SAME(back, &first, unit.den);
	SAME(back, &first, range);
	SAME(back, &first, max_uw);
	SAME(back, &first, update_ns);
	SAME(back, &first, gain_ppm);
	SAME(back, &first, offset_uw);
	SAME(back, &first, idle_uw);
	SAME(back, &first, rank);
	assert_string_equal(seen.text[0], "nvml");
	assert_string_equal(seen.text[1], first.class->name);
	SAME(&seen.class, first.class, arch);
	SAME(&seen.class, first.class, field);
	SAME(&seen.class, first.class, driver_min);
	SAME(&seen.class, first.class, driver_max);
	SAME(&seen.class, first.class, kind);
	SAME(&seen.class, first.class, window_ns);
	SAME(&seen.class, first.class, update_ns);
	SAME(&seen.class, first.class, latency_ns);
	SAME(&seen.class, first.class, latency_sd_ns);
	SAME(&seen.class, first.class, coverage_permille);
	SAME(&seen.class, first.class, known);
	seen = (struct seen){.which = 1};
	assert_int_equal(wtl_store_each_channel(reader, see_channel, &seen), 0);
	assert_null(seen.row.channel.class);
	assert_string_equal(seen.text[0], "");
	wtl_store_close(reader);
}

static int see_miss(void *context, uint32_t i, const struct wtl_miss *row)
{
	struct seen *seen = context;

	if (is_it(seen)) {
		seen->id = i;
		seen->row.miss = *row;
		snprintf(seen->text[0], sizeof(seen->text[0]), "%s", row->source);
	}
	return 0;
}

static void test_miss(void **state)
{
	const struct wtl_miss first = {
		.source = "rapl-powercap",
		.domain = "dram-0",
		.kind = WATTLE_KIND_DRAM,
		.status = WATTLE_STATUS_DENIED,
		.in_total = true,
		.reason = "energy_uj is readable by root only",
		.remedy = "sudo",
	};
	struct seen seen = {.which = 0};
	const struct wtl_miss *back = &seen.row.miss;
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	store_bench_create(bench);
	assert_int_equal(wtl_store_miss(bench->writer, 2, &first), 0);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_each_miss(reader, see_miss, &seen), 0);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.id, 2);
	assert_string_equal(seen.text[0], "rapl-powercap");
	SAME_TEXT(back, &first, domain);
	SAME(back, &first, kind);
	SAME(back, &first, status);
	SAME(back, &first, in_total);
	SAME_TEXT(back, &first, reason);
	SAME_TEXT(back, &first, remedy);
	wtl_store_close(reader);
}

static int see_consumer(void *context, const struct wtl_stored_consumer *row)
{
	struct seen *seen = context;

	if (is_it(seen)) {
		seen->row.consumer = *row;
		seen->id = row->consumer.group != NULL;
		if (row->consumer.group)
			seen->group = *row->consumer.group;
	}
	return 0;
}

static struct wtl_stored_consumer some_consumer(uint32_t id, const struct wtl_group *group)
{
	return (struct wtl_stored_consumer){
		.id = id,
		.slot = 17,
		.first_look = 3,
		.last_look = -1,
		.user = "jane",
		.consumer = {.state = WTL_CONSUMER_FOLDED,
			     .pid = 4711,
			     .parent = 1,
			     .start_ns = 123456789012345,
			     .uid = 1000,
			     .n_processes = 2,
			     .is_in_tree = true,
			     .is_readable = true,
			     .name = "python3",
			     .group = group,
			     .cpu_ns = 5,
			     .counted_ns = 6,
			     .cpu_ppm = 7,
			     .n_threads = 8,
			     .rss_bytes = UINT64_MAX - 1,
			     .pss_bytes = UINT64_MAX,
			     .uss_bytes = 11,
			     .gpu_memory_bytes = UINT64_MAX,
			     .gpu_ppm = UINT32_MAX},
		.command = "python3 -c 'print(\"ä\")'",
	};
}

static void expect_consumer(const struct wtl_stored_consumer *back,
			    const struct wtl_stored_consumer *put)
{
	SAME(back, put, id);
	SAME(back, put, slot);
	SAME(back, put, first_look);
	SAME(back, put, last_look);
	SAME_TEXT(back, put, user);
	SAME(back, put, consumer.state);
	SAME(back, put, consumer.pid);
	SAME(back, put, consumer.parent);
	SAME(back, put, consumer.start_ns);
	SAME(back, put, consumer.uid);
	SAME(back, put, consumer.n_processes);
	SAME(back, put, consumer.is_in_tree);
	SAME(back, put, consumer.is_readable);
	SAME_TEXT(back, put, consumer.name);
	SAME_TEXT(back, put, command);
	SAME(back, put, consumer.cpu_ns);
	SAME(back, put, consumer.counted_ns);
	SAME(back, put, consumer.cpu_ppm);
	SAME(back, put, consumer.n_threads);
	SAME(back, put, consumer.rss_bytes);
	SAME(back, put, consumer.pss_bytes);
	SAME(back, put, consumer.uss_bytes);
	SAME(back, put, consumer.gpu_memory_bytes);
	SAME(back, put, consumer.gpu_ppm);
}

static void test_consumer(void **state)
{
	static const struct wtl_group group = {
		.cgroup = "/user.slice/step_7",
		.unit = "ssh.service",
		.container = "docker/3f1c",
		.pod = "p",
		.job = "slurm/1",
	};
	struct wtl_stored_consumer first = some_consumer(1, &group),
				   second = some_consumer(2, NULL);
	struct seen seen = {.which = 0};
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	second.consumer.uid = UINT32_MAX;
	store_bench_create(bench);
	assert_int_equal(wtl_store_consumer(bench->writer, &first), 0);
	assert_int_equal(wtl_store_consumer(bench->writer, &second), 0);
	commit(bench);
	assert_int_equal(wtl_store_consumer_end(bench->writer, 2, 99), 0);
	assert_int_equal(wtl_store_consumer_end(bench->writer, 3, 99), 0); /* nobody */
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_each_consumer(reader, see_consumer, &seen), 0);
	assert_int_equal(seen.n, 2);
	expect_consumer(&seen.row.consumer, &first);
	assert_int_equal(seen.id, 1);
	assert_string_equal(seen.group.cgroup, group.cgroup);
	assert_string_equal(seen.group.unit, group.unit);
	assert_string_equal(seen.group.container, group.container);
	assert_string_equal(seen.group.pod, group.pod);
	assert_string_equal(seen.group.job, group.job);
	assert_string_equal(seen.group.step, "7");
	seen = (struct seen){.which = 1};
	assert_int_equal(wtl_store_each_consumer(reader, see_consumer, &seen), 0);
	second.last_look = 99;
	expect_consumer(&seen.row.consumer, &second);
	assert_int_equal(seen.id, 0);
	wtl_store_close(reader);
}

static int see_window(void *context, const struct wtl_stored_window *row)
{
	struct seen *seen = context;

	if (is_it(seen)) {
		seen->row.window = *row;
		for (size_t i = 0; i < row->n_energies && i < 3; i++)
			seen->energies[i] = row->energies[i];
	}
	return 0;
}

static struct wattle_energy some_energy(unsigned n)
{
	return (struct wattle_energy){
		.status = WATTLE_STATUS_GAP,
		.method = WATTLE_METHOD_COUNTER,
		.has_energy = 1,
		.has_power = (int)n % 2,
		.energy_uj = UINT64_MAX - n,
		.uncertainty_uj = n,
		.mean_uw = n + 1,
		.max_uw = n + 2,
		.measured_ns = n + 3,
		.gap_ns = n + 4,
		.flags = WATTLE_ENERGY_SHORT | WATTLE_ENERGY_INCOMPLETE,
		.samples = UINT32_MAX - n,
	};
}

static void expect_energy(const struct wattle_energy *back, unsigned n)
{
	const struct wattle_energy put = some_energy(n);

	SAME(back, &put, status);
	SAME(back, &put, method);
	SAME(back, &put, has_energy);
	SAME(back, &put, has_power);
	SAME(back, &put, energy_uj);
	SAME(back, &put, uncertainty_uj);
	SAME(back, &put, mean_uw);
	SAME(back, &put, max_uw);
	SAME(back, &put, measured_ns);
	SAME(back, &put, gap_ns);
	SAME(back, &put, flags);
	SAME(back, &put, samples);
}

static void test_window(void **state)
{
	const struct wattle_energy energies[] = {some_energy(1), some_energy(2), some_energy(3)};
	struct wtl_stored_window first = {
		.id = 2,
		.name = "training",
		.is_stacked = true,
		.is_open = false,
		.pid = 4711,
		.begin_utc_ns = 1763712000123456789,
		.begin_mono_ns = 123,
		.duration_ns = 456,
		.total = some_energy(9),
		.energies = energies,
		.n_energies = 3,
	};
	struct seen seen = {.which = 1};
	const struct wtl_stored_window *back = &seen.row.window;
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	store_bench_create(bench);
	assert_int_equal(wtl_store_window(bench->writer,
					  &(struct wtl_stored_window){.id = 1, .n_energies = 2}),
			 0);
	assert_int_equal(wtl_store_window(bench->writer, &first), 0);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_each_window(reader, see_window, &seen), 0);
	assert_int_equal(seen.n, 2);
	SAME(back, &first, id);
	SAME_TEXT(back, &first, name);
	SAME(back, &first, is_stacked);
	SAME(back, &first, is_open);
	SAME(back, &first, pid);
	SAME(back, &first, begin_utc_ns);
	SAME(back, &first, begin_mono_ns);
	SAME(back, &first, duration_ns);
	SAME(back, &first, n_energies);
	expect_energy(&back->total, 9);
	for (unsigned i = 0; i < 3; i++)
		expect_energy(&seen.energies[i], i + 1);
	seen = (struct seen){.which = 0};
	assert_int_equal(wtl_store_each_window(reader, see_window, &seen), 0);
	assert_int_equal(back->n_energies, 2); /* none has any */
	assert_int_equal(seen.energies[0].has_energy + seen.energies[1].has_energy, 0);
	assert_string_equal(back->name, "");
	wtl_store_close(reader);
}

static int see_gap(void *context, const struct wtl_stored_gap *row)
{
	struct seen *seen = context;

	if (is_it(seen))
		seen->row.gap = *row;
	return 0;
}

static void test_gap(void **state)
{
	const struct wtl_stored_gap gap = {
		.kind = WTL_GAP_EXITS,
		.begin_mono_ns = 5,
		.duration_ns = INT64_C(1) << 60,
		.subject = "gpu-0",
		.text = "the kernel dropped exit records",
	};
	struct seen seen = {.which = 1};
	const struct wtl_stored_gap *back = &seen.row.gap;
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	store_bench_create(bench);
	assert_int_equal(wtl_store_gap(bench->writer, &(struct wtl_stored_gap){.text = "x"}), 0);
	commit(bench);
	assert_int_equal(wtl_store_gap(bench->writer, &gap), 0);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_each_gap(reader, see_gap, &seen), 0);
	assert_int_equal(seen.n, 2);
	SAME(back, &gap, kind);
	SAME(back, &gap, begin_mono_ns);
	SAME(back, &gap, duration_ns);
	SAME_TEXT(back, &gap, subject);
	SAME_TEXT(back, &gap, text);
	wtl_store_close(reader);
}

static int see_account(void *context, const struct wtl_stored_account *row)
{
	struct seen *seen = context;

	if (is_it(seen))
		seen->row.account = *row;
	return 0;
}

static int see_baseline(void *context, const struct wtl_stored_baseline *row)
{
	struct seen *seen = context;

	if (is_it(seen))
		seen->row.baseline = *row;
	return 0;
}

static void test_account_and_baseline(void **state)
{
	const struct wtl_stored_account unseen = {0,	     0, 2, UINT64_MAX, INT64_C(1) << 60,
						  UINT64_MAX};
	const struct wtl_stored_baseline baseline = {
		.domain = 1,
		.baseline = {.is_known = true,
			     .is_modelled = true,
			     .is_given = true,
			     .idle_uw = UINT64_MAX,
			     .uncertainty_uw = 3,
			     .t_utc_ns = -4,
			     .seen_ns = 5},
	};
	struct seen seen = {.which = 0};
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	store_bench_create(bench);
	assert_int_equal(
		wtl_store_account(bench->writer, &(struct wtl_stored_account){0, 5, 9, 1, 1, 0}),
		0);
	assert_int_equal(
		wtl_store_account(bench->writer, &(struct wtl_stored_account){0, 5, 8, 4, 4, 3}),
		0);
	assert_int_equal(wtl_store_account(bench->writer, &unseen), 0);
	assert_int_equal(wtl_store_baseline(bench->writer, &baseline), 0);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_each_account(reader, see_account, &seen), 0);
	assert_int_equal(seen.n, 2);
	SAME(&seen.row.account, &unseen, domain);
	SAME(&seen.row.account, &unseen, consumer);
	SAME(&seen.row.account, &unseen, slot);
	SAME(&seen.row.account, &unseen, full_uj);
	SAME(&seen.row.account, &unseen, share_ns);
	SAME(&seen.row.account, &unseen, doubt_uj);
	/* A consumer has one account in a domain, whatever slot it had. */
	seen = (struct seen){.which = 1};
	assert_int_equal(wtl_store_each_account(reader, see_account, &seen), 0);
	assert_int_equal(seen.row.account.consumer, 5);
	assert_int_equal(seen.row.account.full_uj, 4);
	assert_int_equal(seen.row.account.slot, 0);
	seen = (struct seen){.which = 0};
	assert_int_equal(wtl_store_each_baseline(reader, see_baseline, &seen), 0);
	assert_int_equal(seen.n, 1);
	SAME(&seen.row.baseline, &baseline, domain);
	SAME(&seen.row.baseline, &baseline, baseline.is_known);
	SAME(&seen.row.baseline, &baseline, baseline.is_modelled);
	SAME(&seen.row.baseline, &baseline, baseline.is_given);
	SAME(&seen.row.baseline, &baseline, baseline.idle_uw);
	SAME(&seen.row.baseline, &baseline, baseline.uncertainty_uw);
	SAME(&seen.row.baseline, &baseline, baseline.t_utc_ns);
	SAME(&seen.row.baseline, &baseline, baseline.seen_ns);
	wtl_store_close(reader);
}

static void test_facts(void **state)
{
	char *large = calloc(20001, 1);
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	assert_non_null(large);
	memset(large, 'y', 20000);
	store_bench_create(bench);
	assert_int_equal(wtl_store_fact(bench->writer, "cpus", "4"), 0);
	assert_int_equal(wtl_store_fact(bench->writer, "host", "a"), 0);
	assert_int_equal(wtl_store_fact(bench->writer, "host", "b"), 0);
	assert_int_equal(wtl_store_fact(bench->writer, "empty", ""), 0);
	assert_int_equal(wtl_store_fact(bench->writer, "large", large), 0);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_string_equal(wtl_store_get_fact(reader, "cpus"), "4");
	assert_string_equal(wtl_store_get_fact(reader, "host"), "b");
	assert_string_equal(wtl_store_get_fact(reader, "empty"), "");
	assert_int_equal(strlen(wtl_store_get_fact(reader, "large")), WTL_FACT_SIZE - 1);
	assert_null(wtl_store_get_fact(reader, "none"));
	wtl_store_close(reader);
	free(large);
}

/* As of an agent that pushed as many series as it may: what is told last is what it goes on from. */
static void test_many_facts(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	char key[32];

	store_bench_create(bench);
	assert_int_equal(wtl_store_fact(bench->writer, "first", "a"), 0);
	for (unsigned i = 0; i < 65536; i++) {
		snprintf(key, sizeof(key), "push.%u", i);
		assert_int_equal(wtl_store_fact(bench->writer, key, key), 0);
	}
	assert_int_equal(wtl_store_fact(bench->writer, "pushed", "b"), 0);
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_string_equal(wtl_store_get_fact(reader, "first"), "a");
	for (unsigned i = 0; i < 65536; i++) {
		snprintf(key, sizeof(key), "push.%u", i);
		assert_string_equal(wtl_store_get_fact(reader, key), key);
	}
	assert_string_equal(wtl_store_get_fact(reader, "pushed"), "b");
	wtl_store_close(reader);
}

static int stop_at_once(void *context, uint32_t i, const struct wtl_stored_domain *row)
{
	(void)row;
	++*(int *)context;
	return i == 1 ? -ECANCELED : 0;
}

static void test_callback_ends_it(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;
	int n = 0;

	store_bench_create(bench);
	for (uint32_t i = 0; i < 4; i++)
		wtl_store_domain(bench->writer, i, &(struct wtl_stored_domain){.name = "x"});
	store_bench_end(bench);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_each_domain(reader, stop_at_once, &n), -ECANCELED);
	assert_int_equal(n, 2);
	wtl_store_close(reader);
}

/* ---- Live ---- */

/* Another process reads while this one writes; its answer is what it saw. */
static int read_elsewhere(const struct store_bench *bench, uint64_t expected)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		struct wtl_store_reader *reader = NULL;
		uint64_t n;

		if (wtl_store_open(bench->path, &reader, NULL) < 0)
			_exit(2);
		if (wtl_store_is_whole(reader) || !wtl_store_is_live(reader))
			_exit(3);
		n = store_bench_verify(reader, NULL);
		wtl_store_close(reader);
		_exit(n == expected ? 0 : 4);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_live_reading(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	store_bench_create(bench);
	for (uint64_t n = 1; n <= 12; n++) {
		store_bench_seconds(bench, 1, 100);
		assert_int_equal(read_elsewhere(bench, n * 100), 0);
	}
	/* What is seen is what was there when it was opened. */
	reader = store_bench_open(bench);
	assert_true(wtl_store_is_live(reader));
	assert_int_equal(store_bench_verify(reader, NULL), 1200);
	store_bench_seconds(bench, 20, 100);
	assert_int_equal(store_bench_verify(reader, NULL), 1200);
	/* It is still read when the writer ends: that cannot make it one file then. */
	store_bench_end(bench);
	assert_int_equal(store_bench_verify(reader, NULL), 1200);
	wtl_store_close(reader);
	reader = store_bench_open(bench);
	assert_true(wtl_store_is_whole(reader));
	assert_int_equal(store_bench_verify(reader, NULL), 3200);
	wtl_store_close(reader);
}

static void test_second_writer(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_writer *first, *second = NULL;
	struct wtl_err err = {.text = ""};

	store_bench_create(bench);
	store_bench_seconds(bench, 1, 10);
	first = bench->writer;
	assert_int_equal(wtl_store_create(bench->path, &bench->options, &second, &err), -EEXIST);
	assert_non_null(strstr(err.text, "another recorder is writing this file"));
	assert_string_equal(err.path, bench->path);
	assert_null(second);
	bench->writer = first;
	store_bench_seconds(bench, 1, 10);
	store_bench_end(bench);
	assert_int_equal(wtl_store_create(bench->path, &bench->options, &second, &err), -EEXIST);
	assert_non_null(strstr(err.text, "already"));
	assert_int_equal(wtl_store_create(bench->dir, &bench->options, &second, &err), -EEXIST);
	assert_non_null(strstr(err.text, "it is a directory"));
	store_bench_expect(bench, 20);
}

/* Names that SQLite has its own thoughts about. */
static void test_paths(void **state)
{
	static const char *const names[] = {":memory:", "file:x?mode=memory", "a?b#c%41", " ",
					    "größe.wattle"};
	struct store_bench *bench = *state;
	char *before = getcwd(NULL, 0);

	assert_non_null(before);
	assert_int_equal(chdir(bench->dir), 0);
	for (size_t i = 0; i < UNIT_COUNT(names); i++) {
		struct wtl_store_writer *writer;
		struct wtl_store_reader *reader;
		struct wtl_err err;
		const int64_t *values;
		size_t n;

		assert_int_equal(wtl_store_create(names[i], &bench->options, &writer, NULL), 0);
		assert_int_equal(wtl_store_end(writer, NULL), 0);
		assert_int_equal(access(names[i], F_OK), 0);
		assert_int_equal(wtl_store_open(names[i], &reader, NULL), 0);
		assert_int_equal(wtl_store_values(reader, UINT32_MAX, 0, &values, &n, &err),
				 -ERANGE);
		assert_string_equal(err.path, names[i][0] == ' ' ? "" : names[i]);
		wtl_store_close(reader);
	}
	assert_int_equal(unit_entries(bench->dir, ""), UNIT_COUNT(names));
	assert_int_equal(chdir(before), 0);
	free(before);
}

/* A reader that may not write: neither the file nor beside it. */
static void test_closed_directory(void **state)
{
	struct store_bench *bench = *state;
	struct wtl_store_reader *reader;

	store_bench_create(bench);
	store_bench_seconds(bench, 12, 10);
	store_bench_end(bench);
	assert_int_equal(chmod(bench->path, 0444), 0);
	assert_int_equal(chmod(bench->dir, 0555), 0);
	if (fork() == 0) {
		if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
			_exit(9);
		reader = store_bench_open(bench);
		_exit(store_bench_verify(reader, NULL) == 120 ? 0 : 1);
	}
	{
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(chmod(bench->dir, 0755), 0);
		assert_int_equal(status, 0);
	}
	assert_int_equal(unit_entries(bench->dir, ""), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(test_values),
		STORE_TEST(test_in_haste),
		STORE_TEST(test_whole_in_haste),
		STORE_TEST(test_periods),
		STORE_TEST(test_options),
		STORE_TEST(test_periods_of_one_commit),
		STORE_TEST(test_series),
		STORE_TEST(test_growth),
		STORE_TEST(test_chunks),
		STORE_TEST(test_undone),
		STORE_TEST(test_many_values),
		STORE_TEST(test_overrun),
		STORE_TEST(test_no_values),
		STORE_TEST(test_commits_without_values),
		STORE_TEST(test_domain),
		STORE_TEST(test_channel),
		STORE_TEST(test_miss),
		STORE_TEST(test_consumer),
		STORE_TEST(test_window),
		STORE_TEST(test_gap),
		STORE_TEST(test_account_and_baseline),
		STORE_TEST(test_facts),
		STORE_TEST(test_many_facts),
		STORE_TEST(test_callback_ends_it),
		STORE_TEST(test_live_reading),
		STORE_TEST(test_second_writer),
		STORE_TEST(test_paths),
		STORE_TEST(test_closed_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
