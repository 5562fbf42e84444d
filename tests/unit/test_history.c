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
#include "meter/meter.h"
#include "record/writer.h"
#include "replay/history.h"
#include "replay_bench.h"
#include "unit.h"

enum { TEXT_MAX = 1 << 18, WINDOWS = 20 };

/* Nothing is allocated by writing it. */
struct trace {
	size_t len;
	char text[TEXT_MAX];
};

__attribute__((format(printf, 2, 3))) static void say(struct trace *trace, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	trace->len +=
		(size_t)vsnprintf(trace->text + trace->len, TEXT_MAX - trace->len, format, args);
	va_end(args);
	assert_true(trace->len < TEXT_MAX);
}

/* ---- What is told of it ---- */

static void say_energies(struct trace *trace, const struct wattle_window *window,
			 const struct wattle_energy energies[])
{
	say(trace, " %.3f s %.6f J (%.6f J)", (double)window->duration_ns / 1e9,
	    (double)window->total.energy_uj / 1e6, (double)energies[0].energy_uj / 1e6);
}

static void say_consumers(struct trace *trace, const struct wtl_consumers *consumers)
{
	say(trace, "   ");
	for (size_t slot = 0; slot < wtl_consumers_slots(consumers); slot++) {
		const struct wtl_consumer *one = wtl_consumers_get(consumers, slot);
		struct wtl_share share = wtl_consumers_share(consumers, (uint32_t)slot, 0);

		if (one && one->cpu_ns > 0)
			say(trace, " %zu:%.8s %.3f s %.3f J", slot, one->name,
			    (double)one->cpu_ns / 1e9, (double)share.full_uj / 1e6);
	}
	say(trace, "\n");
}

static void say_step(struct trace *trace, const struct wtl_history *history,
		     const struct wtl_played *played)
{
	static const char *const kinds[] = {"sample", "begun",	"ended",   "cancelled", "billed",
					    "reset",  "second", "devices", "lost"};
	struct wtl_emission emission = wtl_history_emission(history);

	say(trace, "%6.3f %.3f %s %s%s", (double)(played->t_mono_ns - history->begin_mono_ns) / 1e9,
	    (double)(played->t_utc_ns - history->begin_utc_ns) / 1e9, kinds[played->kind],
	    played->window_name, played->is_cut ? " cut" : "");
	if (played->kind == WTL_PLAYED_ENDED || played->kind == WTL_PLAYED_BILLED)
		say_energies(trace, &played->window, played->energies);
	if (history->window)
		say(trace, " [%s%s%s%s %s]", history->window->name,
		    history->window->is_cut ? " cut" : "", history->window->is_main ? " main" : "",
		    history->window->is_open ? " open" : "",
		    history->window->has_energies ? "known" : "unknown");
	say(trace, ": %zu of %zu ended%s%s%s%s; %.3f J emitted, now %.3f\n", history->n_ended,
	    history->n_windows, wtl_history_is_waiting(history) ? ", waits" : "",
	    history->is_run_over ? ", run over" : "", history->is_unfinished ? ", unfinished" : "",
	    history->is_over ? ", over" : "", (double)emission.energy_uj / 1e6,
	    (double)(history->now_mono_ns - history->begin_mono_ns) / 1e9);
}

static void say_end(struct trace *trace, struct wtl_history *history)
{
	const struct wattle_energy *billed;
	struct wattle_window billed_window;

	wtl_history_update_open_windows(history);
	wtl_player_take_figures(history->player);
	/* A recorder that is not told its peak memory says nothing of it. */
	say(trace, "%s, %zu domains, %.3f s, own cpu %s, memory %" PRId64 ", %zu gaps, host %s\n",
	    history->is_summary ? "summary" : "played", history->n_domains,
	    (double)wtl_history_span_ns(history) / 1e9,
	    history->cpu_before_ns > 0 ? "before" : "from the start",
	    history->second.self_rss_bytes, history->n_gaps, wtl_history_fact(history, "host"));
	if (wtl_player_billed(history->player, &billed_window, &billed)) {
		say(trace, "  billed");
		say_energies(trace, &billed_window, billed);
		say(trace, "\n");
	}
	for (size_t i = 0; i < history->n_windows; i++) {
		const struct wtl_history_window *window = &history->windows[i];

		say(trace, "  %s%s%s%s", window->name, window->is_cut ? " cut" : "",
		    window->is_main ? " main" : "", window->is_open ? " open" : "");
		if (window->has_energies)
			say_energies(trace, &window->window, window->energies);
		say(trace, " %.3f J emitted\n", (double)window->emission.energy_uj / 1e6);
	}
	say_consumers(trace, history->consumers);
}

struct way {
	struct wtl_history_options options;
	bool is_part;
	int64_t from_ns, to_ns;
	bool is_short; /* the trace leaves samples and seconds out */
};

/* 0 or an error; *trace is what was told up to there. */
static int go_through(const char *path, const struct way *way, struct trace *trace)
{
	struct wtl_history *history = NULL;
	struct wtl_played played;
	struct wtl_err err = {.code = 0};
	int rc;

	trace->len = 0;
	rc = wtl_history_open(path, &way->options, &history, &err);
	if (rc == 0 && way->is_part)
		wtl_history_choose(history, way->from_ns, way->to_ns);
	while (rc >= 0 && (rc = wtl_history_step(history, &played, &err)) > 0) {
		bool is_dull = played.kind == WTL_PLAYED_SAMPLE || played.kind == WTL_PLAYED_SECOND;

		if (!way->is_short || !is_dull || history->is_over)
			say_step(trace, history, &played);
		if (played.kind == WTL_PLAYED_BILLED)
			say_consumers(trace, history->consumers);
	}
	if (rc == 0)
		rc = wtl_history_read_gaps(history);
	else
		assert_true(err.text[0] != '\0' && err.code == rc);
	if (rc == 0)
		say_end(trace, history);
	wtl_history_close(history);
	return rc;
}

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
	static const struct way ways[] = {
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
	static struct trace trace;
	struct replay_bench runs, nobody;
	struct wtl_intensity_step step = {.t_utc_ns = 0, .mg_per_kwh = 500000};
	const struct wtl_intensity intensity = {.steps = &step, .n = 1};
	struct wtl_buf text;

	(void)state;
	record_runs(&runs, &seconds);
	record_nobody(&nobody);
	wtl_buf_init(&text, 2 * TEXT_MAX);
	for (size_t i = 0; i < 2 * UNIT_COUNT(ways); i++) {
		struct way way = ways[i / 2];

		way.options.intensity = &intensity;
		assert_int_equal(go_through(i % 2 ? nobody.path : runs.path, &way, &trace), 0);
		wtl_buf_printf(&text, "---- %s, way %zu\n%s", i % 2 ? "nobody" : "runs", i / 2,
			       trace.text);
	}
	assert_int_equal(text.error, 0);
	golden_check("history.txt", wtl_buf_str(&text));
	wtl_buf_done(&text);
	replay_bench_finish(&runs);
	replay_bench_finish(&nobody);
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
static int record_without(struct replay_bench *f, unsigned long n, struct trace *trace)
{
	static const struct way way = {.options.keeps_windows = true};
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
		assert_int_equal(go_through(f->path, &way, trace), 0);
	return rc;
}

static void test_recorder(void **state)
{
	static struct trace whole, trace;
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
static void check_each(const char *path, const struct way *way)
{
	static struct trace whole, played, trace;
	struct way without = *way;
	unsigned long n = 0, failed, n_refused = 0;
	long before;
	int rc;

	assert_int_equal(go_through(path, way, &whole), 0);
	without.options.may_summarize = false;
	assert_int_equal(go_through(path, &without, &played), 0);
	assert_true(!strstr(whole.text, "summary, ") ||
		    strstr(whole.text, " w0 0.100 s 15.000000 J"));
	do {
		n++;
		failed = wattle_test_failures();
		before = wattle_test_blocks();
		wattle_test_fail_alloc(n, n % 2);
		rc = go_through(path, way, &trace);
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
	static const struct way whole = {.options.keeps_windows = true},
				part = {.is_part = true, .from_ns = S, .to_ns = INT64_MAX},
				summary = {
					.options = {.keeps_windows = true, .may_summarize = true}};
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
