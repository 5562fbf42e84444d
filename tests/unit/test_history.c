/* SPDX-License-Identifier: MIT */
/*
 * A recording that is gone through once: what is true after each step, of all of it and of parts; and with each
 * allocation failing in turn, the same or an error. Linked with tests/alloc/failmalloc.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include <wattle-recording.h>

#include "allocations.h"
#include "base/buf.h"
#include "base/err.h"
#include "energy/intensity.h"
#include "golden.h"
#include "history_bench.h"
#include "meter/meter.h"
#include "record/writer.h"
#include "replay_bench.h"
#include "unit.h"

enum { WINDOWS = 20 };

/* ---- Recordings ---- */

/* Two runs of a command, one after the other, with windows in and between them. */
static void record_runs(struct replay_bench *f, const struct wtl_store_options *store)
{
	const struct replay_setup setup = {.root = "xeon-2s-dram", .store = *store};

	replay_bench_start_on(f, &setup);
	wtl_recorder_fact(f->recorder, "host", "here");
	replay_bench_begin(f);
	assert_int_equal(wattle_window_begin(f->bench.meter, "across"), 0);
	replay_bench_live_for(f, 1);
	replay_bench_crowd(f);
	replay_bench_live_for(f, 1);
	replay_bench_end(f);
	replay_bench_pass(f);
	replay_bench_begin(f);
	assert_int_equal(wattle_window_begin(f->bench.meter, "dropped"), 0);
	replay_bench_live_for(f, 1);
	f->bench.asleep_ns += 3600 * S;
	assert_int_equal(wattle_window_cancel(f->bench.meter, "dropped"), 0);
	assert_int_equal(wattle_window_begin(f->bench.meter, "inner"), 0);
	replay_bench_crowd(f);
	replay_bench_live_for(f, 1);
	replay_bench_crowd(f);
	assert_int_equal(wtl_window_end(f->bench.meter, "inner", NULL, NULL, 0), 0);
	assert_int_equal(wtl_window_end(f->bench.meter, "across", NULL, NULL, 0), 0);
	assert_int_equal(wattle_window_begin(f->bench.meter, "stays"), 0);
	replay_bench_live_for(f, 2);
	replay_bench_end(f);
	replay_bench_pass(f);
	replay_bench_stop(f);
}

/* One run, with many windows: what it says of its end adds up. */
static void record_one(struct replay_bench *f)
{
	struct wattle_energy energies[REPLAY_DOMAINS_MAX];
	struct wattle_window window;
	char name[16];
	size_t n;

	replay_bench_start(f, S);
	n = wattle_meter_domains(f->bench.meter);
	replay_bench_begin(f);
	for (int i = 0; i < WINDOWS; i++) {
		snprintf(name, sizeof(name), "w%d", i);
		assert_int_equal(wattle_window_begin(f->bench.meter, name), 0);
		replay_bench_pass(f);
		assert_int_equal(wtl_window_end(f->bench.meter, name, &window, energies, n), 0);
		wtl_recorder_window(f->recorder, name, false, &window, energies);
	}
	f->bench.asleep_ns += 3600 * S;
	replay_bench_live_for(f, 2);
	replay_bench_end(f);
	replay_bench_stop(f);
}

/* The same without anybody who is followed. */
static void record_nobody(struct replay_bench *f)
{
	struct wtl_recorder_options options = {.interval_ns = 100 * MS, .store.period_ns = S};

	replay_bench_start(f, S);
	replay_bench_stop(f);
	unlink(f->path);
	options.path = f->path;
	assert_int_equal(wtl_recorder_new(f->bench.meter, NULL, &options, &f->recorder, NULL), 0);
	for (int run = 0; run < 2; run++) {
		replay_bench_begin(f);
		for (int i = 0; i < 25; i++) {
			replay_bench_pass(f);
			if (i % 10 == 9)
				assert_true(wtl_recorder_commit(f->recorder, NULL) >= 0);
		}
		assert_int_equal(wtl_window_end(f->bench.meter, "run", NULL, NULL, 0), 0);
		replay_bench_pass(f);
	}
	replay_bench_stop(f);
}

/* ---- What is true after each step ---- */

static const struct wtl_store_options seconds = {.period_ns = S};

static void test_steps(void **state)
{
	static const struct history_way ways[] = {
		{.is_short = true},
		{.is_short = true, .options.keeps_windows = true},
		{.is_short = true,
		 .options.keeps_windows = true,
		 .is_part = true,
		 .from_ns = INT64_MIN,
		 .to_ns = 1500 * MS},
		{.is_short = true,
		 .options.keeps_windows = true,
		 .is_part = true,
		 .from_ns = 1500 * MS,
		 .to_ns = INT64_MAX},
		{.is_short = true,
		 .options.keeps_windows = true,
		 .is_part = true,
		 .from_ns = 1000 * MS,
		 .to_ns = 4100 * MS},
		{.is_short = true, .is_part = true, .from_ns = 100 * S, .to_ns = INT64_MAX},
	};
	static struct history_trace trace;
	struct replay_bench runs, nobody;
	struct wtl_intensity_step step = {.t_utc_ns = 0, .mg_per_kwh = 500000};
	const struct wtl_intensity intensity = {.steps = &step, .n = 1};
	struct wtl_buf text;

	(void)state;
	record_runs(&runs, &seconds);
	record_nobody(&nobody);
	wtl_buf_init(&text, 2 * HISTORY_TEXT_MAX);
	for (size_t i = 0; i < 2 * UNIT_COUNT(ways); i++) {
		struct history_way way = ways[i / 2];

		way.options.intensity = &intensity;
		assert_int_equal(history_bench_go(i % 2 ? nobody.path : runs.path, &way, &trace),
				 0);
		wtl_buf_printf(&text, "---- %s, way %zu\n%s", i % 2 ? "nobody" : "runs", i / 2,
			       trace.text);
	}
	assert_int_equal(text.error, 0);
	golden_check("history.txt", wtl_buf_str(&text));
	wtl_buf_done(&text);
	replay_bench_finish(&runs);
	replay_bench_finish(&nobody);
}

/* A part from the start has all of wattle's CPU time, also where a run begins later. */
static void test_own_time_before_the_run(void **state)
{
	static const struct history_way way = {.is_part = true, .to_ns = INT64_MAX};
	static struct history_trace trace;
	struct replay_bench f;

	(void)state;
	replay_bench_start(&f, S);
	for (int i = 0; i < 25; i++)
		replay_bench_pass(&f);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 1);
	replay_bench_end(&f);
	replay_bench_stop(&f);
	assert_int_equal(history_bench_go(f.path, &way, &trace), 0);
	assert_non_null(strstr(trace.text, "own cpu from the start"));
	replay_bench_finish(&f);
}

/* A recording whose end cannot be read is damaged, even if all else can be played. */
static void test_a_damaged_end(void **state)
{
	struct replay_bench f;

	(void)state;
	record_one(&f);
	replay_bench_sql(&f, "UPDATE account SET crc = crc + 1");
	for (int may = 0; may < 2; may++) {
		const struct wtl_history_options options = {.may_summarize = may};
		struct wtl_history *history;

		assert_int_equal(wtl_history_open(f.path, &options, &history, NULL), 0);
		assert_false(history->is_summary);
		assert_int_equal(wtl_history_is_damaged(history), may);
		wtl_history_close(history);
	}
	replay_bench_finish(&f);
}

/* ---- Memory that is not there ---- */

/* SQLite has memory of its own here, so that those that fail are ours. */
static void *sqlite_malloc(int size)
{
	extern void *__libc_malloc(size_t);

	return __libc_malloc((size_t)size);
}

static void sqlite_free(void *memory)
{
	extern void __libc_free(void *);

	__libc_free(memory);
}

static void *sqlite_realloc(void *memory, int size)
{
	extern void *__libc_realloc(void *, size_t);

	return __libc_realloc(memory, (size_t)size);
}

static int sqlite_size(void *memory)
{
	return (int)malloc_usable_size(memory);
}

static int sqlite_round(int size)
{
	return (size + 7) & ~7;
}

static int sqlite_start(void *context)
{
	(void)context;
	return SQLITE_OK;
}

static void sqlite_stop(void *context)
{
	(void)context;
}

/* The n-th allocation fails while a recording is made. An error; or it is whole, and what is missing is a gap. */
static int record_without(struct replay_bench *f, unsigned long n, struct history_trace *trace)
{
	static const struct history_way way = {.options.keeps_windows = true};
	const struct wtl_recorder_options options = {
		.path = f->path, .interval_ns = 100 * MS, .store.period_ns = S};
	static const char *const ends[] = {"", "-wal", "-shm"};
	struct wtl_err err = {.code = 0};
	char name[512];
	int rc;

	for (size_t i = 0; i < UNIT_COUNT(ends); i++) {
		snprintf(name, sizeof(name), "%s%s", f->path, ends[i]);
		unlink(name);
	}
	wattle_test_fail_alloc(n, false);
	rc = wtl_recorder_new(f->bench.meter, f->consumers, &options, &f->recorder, &err);
	if (rc == 0) {
		wtl_consumers_begin(f->consumers);
		wattle_window_begin(f->bench.meter, "run");
	}
	for (int i = 0; rc == 0 && i < 25; i++) {
		meter_bench_tick(&f->bench, 100 * MS);
		world_pass(&f->world, 100 * MS);
		if (i % 10 != 9)
			continue;
		wtl_window_look(f->bench.meter, "run", &f->window, f->energies, REPLAY_DOMAINS_MAX);
		wtl_consumers_bill(f->consumers, f->energies,
				   f->window.begin_utc_ns + f->window.duration_ns);
		rc = wtl_recorder_commit(f->recorder, &err);
		wtl_writer_wait(wtl_recorder_writer(f->recorder));
	}
	if (f->recorder) {
		int ended = wtl_recorder_end(f->recorder, rc < 0 ? NULL : &err);

		rc = rc < 0 ? rc : ended;
		wattle_window_cancel(f->bench.meter, "run");
		f->recorder = NULL;
	}
	wattle_test_fail_alloc(0, false);
	assert_int_equal(rc, err.code);
	if (rc == 0)
		assert_int_equal(history_bench_go(f->path, &way, trace), 0);
	return rc;
}

static void test_recorder(void **state)
{
	static struct history_trace whole, trace;
	unsigned long n = 0, failed, n_refused = 0;
	struct replay_bench f;
	int rc;

	(void)state;
	need_counter();
	replay_bench_start(&f, S);
	replay_bench_stop(&f);
	f.bench.clock_step_ns = 0;
	assert_int_equal(record_without(&f, 0, &whole), 0);
	do {
		n++;
		failed = wattle_test_failures();
		rc = record_without(&f, n, &trace);
		if (rc != 0 && rc != -ENOMEM)
			fail_msg("allocation %lu: %d", n, rc);
		if (rc == 0 && strcmp(trace.text, whole.text) != 0)
			fail_msg("allocation %lu: another recording\n%s", n, trace.text);
		n_refused += rc < 0;
	} while (wattle_test_failures() > failed);
	assert_true(n_refused > n / 2);
	replay_bench_finish(&f);
}

/* Each allocation fails, alone or with all behind it: the same is told, or that there is no memory. Where there is none for
 * the summary, the recording is played. */
static void check_each(const char *path, const struct history_way *way)
{
	static struct history_trace whole, played, trace;
	struct history_way without = *way;
	unsigned long n = 0, failed, n_refused = 0;
	long before;
	int rc;

	assert_int_equal(history_bench_go(path, way, &whole), 0);
	without.options.may_summarize = false;
	assert_int_equal(history_bench_go(path, &without, &played), 0);
	assert_true(!strstr(whole.text, "summary, ") ||
		    strstr(whole.text, " w0 0.100 s 15.000000 J"));
	do {
		n++;
		failed = wattle_test_failures();
		before = wattle_test_blocks();
		wattle_test_fail_alloc(n, n % 2);
		rc = history_bench_go(path, way, &trace);
		wattle_test_fail_alloc(0, false);
		if (rc != 0 && rc != -ENOMEM)
			fail_msg("allocation %lu: %d", n, rc);
		if (rc == 0 && strcmp(trace.text, whole.text) != 0 &&
		    strcmp(trace.text, played.text) != 0)
			fail_msg("allocation %lu: another history\n%s", n, trace.text);
		if (wattle_test_blocks() != before)
			fail_msg("allocation %lu: %ld blocks stay", n,
				 wattle_test_blocks() - before);
		n_refused += rc < 0;
	} while (wattle_test_failures() > failed);
	assert_true(n_refused > n / 2);
}

static void test_memory(void **state)
{
	static const struct history_way whole = {.options.keeps_windows = true},
					part = {.is_part = true, .from_ns = S, .to_ns = INT64_MAX},
					summary = {.options = {.keeps_windows = true,
							       .may_summarize = true}};
	struct replay_bench f;

	(void)state;
	need_counter();
	record_runs(&f, &seconds);
	check_each(f.path, &whole);
	check_each(f.path, &part);
	replay_bench_finish(&f);
	record_one(&f);
	check_each(f.path, &summary);
	replay_bench_finish(&f);
	/* One that is being written. */
	replay_bench_start(&f, 2 * S);
	replay_bench_begin(&f);
	replay_bench_live_for(&f, 3);
	check_each(f.path, &summary);
	replay_bench_finish(&f);
}

int main(void)
{
	static const sqlite3_mem_methods memory = {
		.xMalloc = sqlite_malloc,
		.xFree = sqlite_free,
		.xRealloc = sqlite_realloc,
		.xSize = sqlite_size,
		.xRoundup = sqlite_round,
		.xInit = sqlite_start,
		.xShutdown = sqlite_stop,
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_own_time_before_the_run),
		cmocka_unit_test(test_a_damaged_end),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_recorder),
	};

	void *volatile one = malloc(1);

	free(one);
	/* A sanitizer has a malloc() of its own. */
	if (wattle_test_allocations() > 0)
		sqlite3_config(SQLITE_CONFIG_MALLOC, &memory);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
