/* SPDX-License-Identifier: MIT */
/*
 * Recordings that are played, and made, and a machine that is watched while memory runs out: each allocation fails in turn.
 * Linked with tests/alloc/failmalloc.c.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wattle-recording.h>

#include "base/err.h"
#include "replay_bench.h"
#include "store_bench.h"
#include "unit.h"

unsigned long wattle_test_allocations(void);
unsigned long wattle_test_failures(void);
long wattle_test_blocks(void);
void wattle_test_fail_alloc(unsigned long n, bool always);
void wattle_test_paths_begin(void);
const unsigned long *wattle_test_paths_end(size_t *ret_n);

/* Every one of the first, then one in so many, and the first of each path: there are thousands, most in loops. */
enum { EVERY = 400, PART = 40 };

/* A sanitizer's own malloc() comes before the failing one. */
static void need_shim(void)
{
	unsigned long before = wattle_test_allocations();
	void *volatile memory = malloc(1);

	free(memory);
	if (wattle_test_allocations() == before) {
		print_message("SKIPPED: allocations cannot be made to fail in this build\n");
		skip();
	}
}

static unsigned long
	step_fails_at; /* the steps' allocation that fails; 0: it is counted from the opening on */
static char *told; /* everything that could be asked at the end, for which there is memory again */

/* Returns what was met: 0 for the end, or an error, which is told. */
static int play_all(const char *path)
{
	struct wtl_err err = {.code = 0};
	struct wtl_player *player = NULL;
	struct wtl_played played;
	struct wattle_window window;
	const struct wattle_energy *energies;
	int rc = wtl_player_open(path, NULL, &player, &err);

	if (step_fails_at)
		wattle_test_fail_alloc(step_fails_at, false);
	if (rc == 0)
		while ((rc = wtl_player_step(player, &played, &err)) > 0)
			continue;
	else
		assert_null(player);
	if (rc < 0)
		assert_true(err.text[0] != '\0');
	wattle_test_fail_alloc(0, false);
	if (rc == 0 && wtl_player_billed(player, &window, &energies))
		told = replay_bench_print_played(player);
	wtl_player_close(player);
	return rc;
}

static int summarize(const char *path)
{
	const struct wtl_player_policy policy = {.only_summary = true};
	struct wtl_err err = {.code = 0};
	struct wtl_player *player = NULL;
	struct wtl_played played;
	int rc = wtl_player_open(path, &policy, &player, &err);

	if (rc == 0)
		rc = wtl_player_summary(player, &played, &err);
	if (rc < 0)
		assert_true(err.text[0] != '\0');
	wtl_player_close(player);
	return rc < 0 ? rc : 0;
}

static int read_all(const char *path)
{
	struct wattle_recording *recording = NULL;
	struct wattle_recording_step step = {.size = sizeof(step)};
	struct wattle_error error = {.size = sizeof(error)};
	int rc = wattle_recording_open(path, &recording, &error);

	if (rc == 0)
		while ((rc = wattle_recording_next(recording, S, &step, NULL, 0, &error)) > 0)
			continue;
	if (rc < 0)
		assert_true(error.text[0] != '\0' && error.code == rc);
	wattle_recording_close(recording);
	return rc;
}

/* One allocation fails. Returns how many blocks stay. */
static long check_one(const char *path, int (*try)(const char *path), const char *whole,
		      unsigned long n, bool always)
{
	long before = wattle_test_blocks();
	int rc;

	wattle_test_fail_alloc(n, always);
	rc = try(path);
	wattle_test_fail_alloc(0, false);
	if (rc != 0 && rc != -ENOMEM)
		fail_msg("allocation %lu: %d", n, rc);
	if (told && strcmp(told, whole) != 0)
		fail_msg("allocation %lu: something else is told\n%s", n + step_fails_at, told);
	free(told);
	told = NULL;
	return wattle_test_blocks() - before;
}

/* A lack of memory is an error that says so, or was got over without a trace; and nothing stays, but what a library keeps
 * for good, once. */
static void check_at(const char *path, int (*try)(const char *path), const char *whole,
		     unsigned long n, bool always)
{
	if (check_one(path, try, whole, n, always) != 0 &&
	    check_one(path, try, whole, n, always) != 0)
		fail_msg("allocation %lu: %ld blocks stay", n,
			 check_one(path, try, whole, n, always));
}

static void check_all(const char *path, int (*try)(const char *path), bool always)
{
	unsigned long failures, n = 0;
	const unsigned long *firsts;
	size_t n_paths;
	char *whole;

	wattle_test_paths_begin();
	assert_int_equal(try(path), 0);
	firsts = wattle_test_paths_end(&n_paths);
	whole = told;
	told = NULL;
	assert_true(whole || try != play_all);
	do {
		n += n < EVERY ? 1 : n / PART;
		failures = wattle_test_failures();
		check_at(path, try, whole, n, always);
	} while (wattle_test_failures() > failures);
	assert_true(n > EVERY / 4);
	assert_true(n_paths > 100);
	for (size_t i = 0; i < n_paths; i++)
		if (firsts[i] > EVERY)
			check_at(path, try, whole, firsts[i], always);
	free(whole);
}

static const char script[] = "gpu Fake\n  power 0 const 100\n  sensor counter gpu 100\n"
			     "  sensor instant gpu 100 100\n"
			     "process 500 C 50 60 0 0 0\n";

static void record(struct replay_bench *f, enum wtl_weight weight)
{
	const struct replay_setup setup = {.root = "xeon-2s-dram",
					   .script = script,
					   .weight = weight,
					   .store = {.period_ns = 2 * S}};

	replay_bench_start_on(f, &setup);
	replay_bench_begin(f);
	replay_bench_crowd(f);
	replay_bench_live_for(f, 2);
	replay_bench_crowd(f);
	replay_bench_live_for(f, 1);
	assert_int_equal(wattle_window_begin(f->bench.meter, "inner"), 0);
	replay_bench_live_for(f, 2);
	assert_int_equal(wtl_window_end(f->bench.meter, "inner", NULL, NULL, 0), 0);
	replay_bench_end(f);
	replay_bench_stop(f);
}

static void check_recording(int (*try)(const char *path))
{
	struct replay_bench f;

	need_shim();
	record(&f, WTL_WEIGHT_LEARNED);
	check_all(f.path, try, false);
	check_all(f.path, try, true);
	replay_bench_finish(&f);
}

static void test_player(void **state)
{
	(void)state;
	check_recording(play_all);
}

/* Each of the steps' own allocations, where a period is lost. Without what is learned, which may be less then. */
static void test_steps(void **state)
{
	unsigned long failures;
	struct replay_bench f;
	char *whole;

	(void)state;
	need_shim();
	record(&f, WTL_WEIGHT_CPU_TIME);
	replay_bench_spoil(&f, 1, false);
	assert_int_equal(play_all(f.path), 0);
	whole = told;
	told = NULL;
	do {
		step_fails_at++;
		failures = wattle_test_failures();
		check_one(f.path, play_all, whole, 0, false);
	} while (wattle_test_failures() > failures);
	assert_true(step_fails_at > 100);
	step_fails_at = 0;
	free(whole);
	replay_bench_finish(&f);
}

static void test_summary(void **state)
{
	(void)state;
	check_recording(summarize);
}

static void test_api(void **state)
{
	(void)state;
	check_recording(read_all);
}

/* ---- Observed ---- */

/* A second of a machine with a GPU whose watts are learned, and an allocation fails: it goes on, and all that is billed is
 * somebody's. Returns whether it could begin. */
static bool observe(unsigned long at)
{
	const struct replay_setup setup = {.root = "xeon-2s-dram", .script = script};
	struct wtl_consumers_options options = {.max_exited = 4, .weight = WTL_WEIGHT_LEARNED};
	struct wtl_ledger l;
	struct replay_bench f;
	int rc;

	replay_bench_start_on(&f, &setup);
	replay_bench_stop(&f);
	wtl_consumers_free(f.consumers);
	f.consumers = NULL;
	replay_bench_crowd(&f);
	options.nvml_path = f.bench.nvml;
	if (at)
		wattle_test_fail_alloc(at, false);
	else
		wattle_test_paths_begin();
	rc = wtl_consumers_new(f.bench.meter, &f.world.io, &options, &f.consumers, NULL);
	for (int i = 0; rc == 0 && i < 10; i++) {
		meter_bench_tick(&f.bench, 100 * MS);
		world_pass(&f.world, 100 * MS);
	}
	wattle_test_fail_alloc(0, false);
	assert_true(rc == 0 || rc == -ENOMEM);
	for (size_t i = 0; rc == 0 && i < wattle_meter_domains(f.bench.meter); i++) {
		wtl_consumers_ledger(f.consumers, i, &l);
		assert_int_equal(l.live_uj + l.exited_uj + l.kernel_uj + l.idle_uj +
					 l.unattributed_uj,
				 l.total_uj);
	}
	replay_bench_finish(&f);
	return rc == 0;
}

static void test_observed(void **state)
{
	unsigned long firsts[200];
	unsigned refused = 0;
	const unsigned long *found;
	size_t n;

	(void)state;
	need_shim();
	assert_true(observe(0));
	found = wattle_test_paths_end(&n);
	assert_in_range(n, 30, UNIT_COUNT(firsts));
	memcpy(firsts, found, n * sizeof(*found));
	for (size_t i = 0; i < n; i++)
		refused += !observe(firsts[i]);
	assert_true(refused > 0 && refused < n);
}

/* ---- Written ---- */

/* What was recorded in spite of it can be played; what was not is an error. */
static void test_recorder(void **state)
{
	unsigned long failures, n = 0;
	unsigned played = 0, refused = 0;

	(void)state;
	need_shim();
	do {
		struct wtl_recorder_options options = {.interval_ns = 100 * MS};
		struct wtl_recorder *recorder = NULL;
		struct wtl_err err = {.code = 0};
		struct replay_bench f;
		char path[512];
		int rc;

		n += n < 100 ? 3 : n / 10;
		replay_bench_start(&f, 0);
		replay_bench_stop(&f);
		snprintf(path, sizeof(path), "%s/again.wattle", f.dir);
		options.path = path;
		failures = wattle_test_failures();
		wattle_test_fail_alloc(n, true);
		rc = wtl_recorder_new(f.bench.meter, f.consumers, &options, &recorder, &err);
		for (int i = 0; rc == 0 && i < 20; i++) {
			meter_bench_tick(&f.bench, 100 * MS);
			if (i % 10 == 9)
				rc = wtl_recorder_commit(recorder, &err);
		}
		wattle_test_fail_alloc(0, false);
		if (rc < 0)
			assert_true(err.text[0] != '\0');
		if (recorder && wtl_recorder_end(recorder, &err) == 0 && rc == 0) {
			assert_int_equal(play_all(path), 0);
			played++;
		} else {
			refused++;
		}
		replay_bench_finish(&f);
	} while (wattle_test_failures() > failures);
	assert_true(played > 0 && refused > 0);
}

/* A series is new, and there is no memory for a second run of it: it is there, or it is said that it is not. */
static void check_last_commit(struct store_bench *bench, bool fails)
{
	struct wtl_store_reader *reader;
	const int64_t *values;
	int64_t series;
	size_t n;
	int rc;

	store_bench_create(bench);
	store_bench_seconds(bench, 2, 10);
	series = wtl_store_series(bench->writer, "late");
	assert_true(series >= 0);
	assert_true(wtl_store_put(bench->writer, (uint32_t)series, 4711));
	wattle_test_fail_alloc(1, false);
	assert_int_equal(
		wtl_store_commit(bench->writer, bench->now_ns + S, bench->now_ns + S, NULL), 0);
	if (fails)
		wattle_test_fail_alloc(1, false);
	rc = wtl_store_end(bench->writer, NULL);
	bench->writer = NULL;
	wattle_test_fail_alloc(0, false);
	assert_int_equal(rc, fails ? -ENOMEM : 0);
	reader = store_bench_open(bench);
	assert_int_equal(wtl_store_is_whole(reader), rc == 0);
	if (rc == 0) {
		assert_int_equal(wtl_store_find(reader, "late"), series);
		assert_int_equal(wtl_store_values(reader, (uint32_t)series, 0, &values, &n, NULL),
				 0);
		assert_int_equal(n, 1);
		assert_int_equal(values[0], 4711);
	}
	wtl_store_close(reader);
}

/* Its own first allocation. */
static void test_recorder_of_a_program(void **state)
{
	const struct wattle_options options = {.size = sizeof(options), .nvml_path = ""};
	struct wattle_recorder *recorder = NULL;
	struct wattle_error error = {.size = sizeof(error)};
	struct store_bench *bench = *state;
	struct wattle_meter *meter;

	need_shim();
	assert_return_code(wattle_meter_open(&options, &meter, NULL), 0);
	wattle_test_fail_alloc(1, false);
	assert_int_equal(wattle_recorder_open(bench->path, meter, NULL, &recorder, &error),
			 -ENOMEM);
	wattle_test_fail_alloc(0, false);
	assert_null(recorder);
	assert_string_equal(error.text, "out of memory");
	wattle_meter_close(meter);
}

static void test_last_commit(void **state)
{
	need_shim();
	check_last_commit(*state, false);
}

static void test_last_commit_fails(void **state)
{
	need_shim();
	check_last_commit(*state, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_player),		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_summary),		cmocka_unit_test(test_api),
		cmocka_unit_test(test_recorder),	cmocka_unit_test(test_observed),
		STORE_TEST(test_last_commit),		STORE_TEST(test_last_commit_fails),
		STORE_TEST(test_recorder_of_a_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
