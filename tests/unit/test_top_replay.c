/* SPDX-License-Identifier: MIT */
/* The collector on recordings: what it shows of them, and where it goes when it is told to. */
#include "commands/top/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/err.h"
#include "commands/top/collect.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter_bench.h"
#include "replay/recorder.h"
#include "said.h"
#include "unit.h"
#include "world.h"

#define MS WTL_NS_PER_MS
#define S  WTL_NS_PER_S

enum { DOMAINS_MAX = 64, SLOTS_MAX = 256 };

/* ---- Recordings: two packages of 70 and 80 W, and a process of user 1000 ---- */

static const char *const package_files[] = {"/wattle-perf/18-2-0", "/wattle-perf/18-2-32"};

struct fixture {
	struct meter_bench bench;
	struct world world;
	struct wtl_consumers *consumers;
	struct wtl_recorder *recorder;
	struct wattle_energy energies[DOMAINS_MAX];
	struct wattle_window window;
	char *dir, *path;
	uint64_t counts[2]; /* of 2^-32 J */
	int64_t step_ns, due_ns;
	int worker;

	struct wtl_app app;
	struct wtl_top_settings settings;
	struct wtl_top_collector collector;
	bool has_collector;
};

static void name_user(void *context, uint32_t uid, char name[33])
{
	(void)context;
	snprintf(name, 33, "%s", uid == 1000 ? "wanda" : "");
}

static void put_counters(const struct fixture *f)
{
	for (int i = 0; i < 2; i++)
		meter_bench_write(&f->bench, package_files[i], "%" PRIu64 "\n", f->counts[i]);
}

static void record_in(struct fixture *f, int64_t step_ns, struct wtl_store_options store)
{
	const struct wtl_consumers_options how = {.nvml_path = ""};
	struct wtl_recorder_options options = {
		.store = store, .interval_ns = step_ns, .user = name_user};
	struct wtl_err err = {.code = 0};
	char interval[24];

	memset(f, 0, sizeof(*f));
	said_forget();
	f->step_ns = step_ns;
	meter_bench_copy(&f->bench, "xeon-2s-dram");
	f->bench.nvml = "";
	f->counts[0] = f->counts[1] = UINT64_C(1) << 40;
	put_counters(f);
	meter_bench_open(&f->bench);
	world_init(&f->world);
	assert_int_equal(wtl_consumers_new(f->bench.meter, &f->world.io, &how, &f->consumers, NULL),
			 0);
	f->dir = unit_tmpdir();
	options.path = f->path = unit_path(f->dir, "test.wattle");
	if (wtl_recorder_new(f->bench.meter, f->consumers, &options, &f->recorder, &err) < 0)
		fail_msg("%s", err.text);
	wtl_recorder_fact(f->recorder, "host", "recorded\x1bhost");
	snprintf(interval, sizeof(interval), "%" PRId64, step_ns);
	wtl_recorder_fact(f->recorder, "interval-ns", interval);
	f->worker = world_fork(&f->world, 1);
	world_exec(&f->world, f->worker, "worker", "./worker --fast");
	world_at(&f->world, f->worker)->uid = 1000;
	wtl_consumers_begin(f->consumers);
	assert_int_equal(wattle_window_begin(f->bench.meter, "run"), 0);
}

static void record_at(struct fixture *f, int64_t step_ns, int64_t period_ns)
{
	record_in(f, step_ns, (struct wtl_store_options){.period_ns = period_ns});
}

static void record(struct fixture *f)
{
	record_at(f, 100 * MS, 0);
}

static void bill(struct fixture *f)
{
	struct wtl_err err = {.code = 0};

	assert_int_equal(
		wtl_window_look(f->bench.meter, "run", &f->window, f->energies, DOMAINS_MAX), 0);
	wtl_consumers_bill(f->consumers, f->energies,
			   f->window.begin_utc_ns + f->window.duration_ns);
	if (wtl_recorder_commit(f->recorder, &err) < 0)
		fail_msg("%s", err.text);
}

/* Samples, and a bill each second (or sample, if they are rarer). */
static void go_on(struct fixture *f, int64_t duration_ns)
{
	for (int64_t t_ns = 0; t_ns < duration_ns; t_ns += f->step_ns) {
		for (int i = 0; i < 2; i++)
			f->counts[i] += ((UINT64_C(70) + 10 * (uint64_t)i) << 32) / 1000 *
					(uint64_t)(f->step_ns / MS);
		put_counters(f);
		meter_bench_tick(&f->bench, f->step_ns);
		world_run(&f->world, f->worker, f->step_ns / 2);
		world_pass(&f->world, f->step_ns);
		f->due_ns += f->step_ns;
		if (f->due_ns >= S) {
			f->due_ns = 0;
			bill(f);
		}
	}
}

static void stop_recording(struct fixture *f)
{
	struct wtl_err err = {.code = 0};

	assert_int_equal(
		wtl_window_end(f->bench.meter, "run", &f->window, f->energies, DOMAINS_MAX), 0);
	wtl_consumers_bill(f->consumers, f->energies,
			   f->window.begin_utc_ns + f->window.duration_ns);
	wtl_recorder_window(f->recorder, "run", false, &f->window, f->energies);
	if (wtl_recorder_end(f->recorder, &err) < 0)
		fail_msg("%s", err.text);
	f->recorder = NULL;
}

static struct wtl_top_collector *collector_of(struct fixture *f)
{
	f->app = (struct wtl_app){.settings = {.quiet = true}};
	f->settings = (struct wtl_top_settings){.replay = f->path};
	wtl_top_collector_init(&f->collector, &f->app, &f->settings);
	f->has_collector = true;
	return &f->collector;
}

/* What --once shows, at a place since the start; < 0: its end. */
static const struct wtl_top_view *once(struct fixture *f, int64_t at_ns)
{
	struct wtl_top_collector *collector = collector_of(f);

	if (at_ns >= 0)
		f->settings.at = (struct wtl_when){.kind = WTL_WHEN_SINCE, .ns = at_ns};
	assert_int_equal(wtl_top_collector_open(collector), 0);
	assert_int_equal(wtl_top_replay_once(collector), 0);
	return wtl_top_collector_view(collector);
}

static void close_collector(struct fixture *f)
{
	if (f->has_collector)
		assert_true(wtl_top_collector_done(&f->collector));
	f->has_collector = false;
}

static void finish(struct fixture *f)
{
	close_collector(f);
	if (f->recorder)
		stop_recording(f);
	wtl_consumers_free(f->consumers);
	world_done(&f->world);
	meter_bench_done(&f->bench);
	unit_rmtree(f->dir);
	free(f->path);
}

static const struct wtl_top_domain *domain(const struct wtl_top_view *view, const char *name)
{
	size_t i = 0;

	while (i < view->n_domains && strcmp(view->domains[i].name, name) != 0)
		i++;
	assert_true(i < view->n_domains);
	return &view->domains[i];
}

static const struct wtl_top_process *process(const struct wtl_top_view *view, int pid)
{
	size_t i = 0;

	while (i < view->n_processes && view->processes[i].consumer.pid != pid)
		i++;
	assert_true(i < view->n_processes);
	return &view->processes[i];
}

/* ---- What is shown ---- */

static void test_once(void **state)
{
	const struct wtl_top_process *worker;
	const struct wtl_top_view *view;
	struct wtl_play play;
	struct fixture f;

	(void)state;
	record(&f);
	go_on(&f, 5 * S);
	stop_recording(&f);
	view = once(&f, -1);
	/* All that was said live, to the microjoule. */
	assert_int_equal(view->total.energy.energy_uj, f.window.total.energy_uj);
	assert_int_equal(view->duration_ns, f.window.duration_ns);
	assert_in_range(domain(view, "package-0")->power_uw, 69900000, 70100000);
	assert_in_range(domain(view, "package-1")->power_uw, 79900000, 80100000);
	assert_true(wtl_ledger_closed(&domain(view, "package-0")->ledger));
	worker = process(view, f.worker);
	assert_string_equal(worker->user, "wanda");
	assert_string_equal(worker->consumer.name, "worker");
	assert_true(worker->has_power && worker->energy_uj[WTL_TOP_FULL] > 0);
	/* Of the machine that was recorded. */
	assert_true(view->played.is_there && view->played.is_whole && !view->played.is_live);
	assert_string_equal(view->machine.host, "recorded?host");
	assert_non_null(strstr(view->played.cpu, "Xeon"));
	assert_string_equal(view->played.note, "");
	assert_in_range(view->clock.n_bins[0], 48, 52);
	wtl_top_collector_play(&f.collector, &play);
	assert_true(play.is_over);
	assert_in_range(wtl_play_position(&play, 0), 49 * S / 10, 51 * S / 10);
	assert_in_range(play.length_ns - view->played.at_ns, 0, S / 10);
	finish(&f);
}

static void test_place(void **state)
{
	const struct wtl_top_view *view;
	struct wtl_play play;
	struct fixture f;

	(void)state;
	record(&f);
	go_on(&f, 5 * S);
	stop_recording(&f);
	view = once(&f, 2 * S);
	assert_in_range(view->played.at_ns, 19 * S / 10, 2 * S);
	assert_in_range(view->total.energy.energy_uj, 280000000, 301000000);
	wtl_top_collector_play(&f.collector, &play);
	assert_false(play.is_over || play.is_seeking);
	assert_int_equal(wtl_play_position(&play, wtl_top_screen_ns() + 100 * S), 2 * S);
	close_collector(&f);
	/* UTC, by the clock of the recording. */
	collector_of(&f);
	f.settings.at =
		(struct wtl_when){.kind = WTL_WHEN_UTC, .ns = f.window.begin_utc_ns + 3 * S};
	assert_int_equal(wtl_top_collector_open(&f.collector), 0);
	assert_int_equal(wtl_top_replay_once(&f.collector), 0);
	view = wtl_top_collector_view(&f.collector);
	assert_in_range(view->played.at_ns, 28 * S / 10, 31 * S / 10);
	assert_in_range(view->played.zero_utc_ns + S - f.window.begin_utc_ns, 9 * S / 10,
			11 * S / 10);
	close_collector(&f);
	/* Before and after it. */
	for (int i = 0; i < 2; i++) {
		collector_of(&f);
		f.settings.at = (struct wtl_when){.kind = i ? WTL_WHEN_UTC : WTL_WHEN_SINCE,
						  .ns = i ? 1000 * S : 6 * S};
		assert_true(wtl_top_collector_open(&f.collector) < 0);
		assert_non_null(strstr(said_complaints(), "--at: the recording lasts 5."));
		close_collector(&f);
	}
	finish(&f);
}

/* However often was sampled: bins, figures and energies are as they should be. */
static void test_intervals(void **state)
{
	static const struct {
		int64_t step_ns, duration_ns, bin_ns;
		uint64_t bins_least, bins_most;
	} cases[] = {
		{MS, S, 10 * MS, 95, 105},
		{25 * MS, 3 * S, 25 * MS, 118, 122},
		{5 * S, 60 * S, 5 * S, 11, 13},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct wtl_top_view *view;
		struct fixture f;

		record_at(&f, cases[i].step_ns, 0);
		go_on(&f, cases[i].duration_ns);
		stop_recording(&f);
		view = once(&f, -1);
		assert_int_equal(view->clock.bin_ns, cases[i].bin_ns);
		assert_int_equal(view->interval_ns, cases[i].bin_ns);
		assert_in_range(view->clock.n_bins[0], cases[i].bins_least, cases[i].bins_most);
		assert_int_equal(view->total.energy.energy_uj, f.window.total.energy_uj);
		assert_in_range(domain(view, "package-0")->power_uw, 69000000, 71000000);
		for (uint64_t back = 1; back + 3 < view->clock.n_bins[0]; back++)
			assert_in_range(wtl_top_curve_at(view, domain(view, "package-0"), 0, back),
					66000, 74000);
		finish(&f);
	}
}

/* Between two samples that are far apart, the later one is not known yet. */
static void test_not_ahead(void **state)
{
	const struct wtl_top_view *view;
	struct fixture f;

	(void)state;
	record_at(&f, 5 * S, 0);
	go_on(&f, 30 * S);
	stop_recording(&f);
	view = once(&f, 14 * S);
	assert_in_range(view->played.at_ns, 10 * S, 11 * S);
	assert_in_range(view->total.energy.energy_uj, 1490000000, 1510000000);
	finish(&f);
}

static void test_devices(void **state)
{
	static const struct wtl_device_value first[] = {
		{-1, WTL_DEVICE_TEMPERATURE_C, 61},
		{-1, WTL_DEVICE_CLOCK_MHZ, 3100},
		{-1, WTL_DEVICE_USE_PERCENT, 42},
		{-1, WTL_DEVICE_MEMORY_USED_BYTES, 1 << 30},
		{-1, WTL_DEVICE_THROTTLED, 7},
		{-1, WTL_DEVICE_MEMORY_TOTAL_BYTES, INT64_C(1) << 31},
		{0, WTL_DEVICE_TEMPERATURE_C, 70},
		{0, WTL_DEVICE_CLOCK_MHZ, 1410},
		{0, WTL_DEVICE_FAN_PERCENT, 30},
		{5, WTL_DEVICE_CLOCK_MHZ, 1},
		{0, WTL_DEVICE_THROTTLED, 1},
	};
	static const struct wtl_device_value second[] = {{-1, WTL_DEVICE_TEMPERATURE_C, 62}};
	const struct wtl_top_view *view;
	struct fixture f;

	(void)state;
	record(&f);
	wtl_recorder_fact(f.recorder, "device.0.domain", "package-0");
	wtl_recorder_fact(f.recorder, "device.0.name", "A GPU");
	go_on(&f, S);
	wtl_recorder_devices(f.recorder, first, sizeof(first) / sizeof(first[0]));
	go_on(&f, 2 * S);
	wtl_recorder_devices(f.recorder, second, 1);
	go_on(&f, S);
	stop_recording(&f);
	view = once(&f, 2 * S);
	assert_true(view->machine.has_temperature && view->machine.has_use);
	assert_int_equal(view->machine.temperature_c, 61);
	assert_int_equal(view->machine.clock_mhz, 3100);
	assert_int_equal(view->machine.use_ppm, 420000);
	assert_int_equal(view->machine.memory_used_bytes, 1 << 30);
	assert_int_equal(view->machine.memory_bytes, INT64_C(1) << 31);
	assert_int_equal(view->machine.throttled, 7);
	assert_int_equal(view->n_gpus, 1);
	assert_string_equal(view->gpus[0].name, "A GPU");
	assert_int_equal(view->gpus[0].numbers[WTL_TOP_GPU_CLOCK_SM_MHZ].status, WATTLE_STATUS_OK);
	assert_int_equal(view->gpus[0].numbers[WTL_TOP_GPU_CLOCK_SM_MHZ].value, 1410);
	assert_int_equal(view->gpus[0].numbers[WTL_TOP_GPU_FAN_PERCENT].value, 30);
	assert_int_equal(view->gpus_answered_ns, 0);
	close_collector(&f);
	/* What was told once is not true for ever. */
	view = once(&f, -1);
	assert_int_equal(view->machine.temperature_c, 62);
	assert_false(view->machine.has_use);
	assert_int_equal(view->machine.clock_mhz, 0);
	assert_int_equal(view->gpus[0].numbers[WTL_TOP_GPU_CLOCK_SM_MHZ].status,
			 WATTLE_STATUS_ABSENT);
	finish(&f);
}

/* ---- What is missing ---- */

static void test_gaps_at_a_moment(void **state)
{
	static const struct wtl_stored_gap gaps[] = {
		/* In no order. */
		{.kind = WTL_GAP_CHANNEL, .begin_mono_ns = 30 * S, .duration_ns = 3 * S},
		{.kind = WTL_GAP_OVERRUN, .begin_mono_ns = 10 * S, .duration_ns = 10 * S},
		{.kind = WTL_GAP_EXITS, .begin_mono_ns = 15 * S, .duration_ns = S},
		/* Moments. */
		{.kind = WTL_GAP_SUSPEND, .begin_mono_ns = 50 * S, .duration_ns = 1000 * S},
		{.kind = WTL_GAP_CLOCK_STEP, .begin_mono_ns = 60 * S, .duration_ns = -1000 * S},
		/* These are shown otherwise. */
		{.kind = WTL_GAP_DAMAGED, .begin_mono_ns = 31 * S, .duration_ns = 30 * S},
	};
	static const struct {
		int64_t at_ns;
		int which; /* -1: none */
	} cases[] = {{0, -1},	   {10 * S - 1, -1}, {10 * S, 1},  {15 * S, 2}, {21 * S, 2},
		     {22 * S, 1},  {25 * S, 1},	     {26 * S, -1}, {30 * S, 0}, {38 * S, 0},
		     {39 * S, -1}, {50 * S, 3},	     {56 * S, -1}, {60 * S, 4}, {66 * S, -1}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_ptr_equal(
			wtl_top_gap_at(gaps, sizeof(gaps) / sizeof(gaps[0]), cases[i].at_ns),
			cases[i].which < 0 ? NULL : &gaps[cases[i].which]);
	assert_null(wtl_top_gap_at(NULL, 0, 0));
}

static void test_gaps(void **state)
{
	struct wtl_stored_gap gap = {.kind = WTL_GAP_SUSPEND, .duration_ns = 3600 * S};
	const struct wtl_top_view *view;
	struct fixture f;

	(void)state;
	record(&f);
	go_on(&f, 2 * S);
	gap.begin_mono_ns = meter_bench_now(&f.bench);
	snprintf(gap.text, sizeof(gap.text), "the machine slept");
	wtl_store_gap(wtl_recorder_writer(f.recorder), &gap);
	go_on(&f, 10 * S);
	gap = (struct wtl_stored_gap){.kind = WTL_GAP_CHANNEL,
				      .begin_mono_ns = meter_bench_now(&f.bench),
				      .duration_ns = 2 * S,
				      .subject = "dram-0",
				      .text = "perf: failed\x1b[2J"};
	wtl_store_gap(wtl_recorder_writer(f.recorder), &gap);
	go_on(&f, 10 * S);
	stop_recording(&f);
	view = once(&f, S);
	assert_string_equal(view->played.note, "");
	close_collector(&f);
	view = once(&f, 4 * S);
	assert_string_equal(view->played.note, "the machine slept, for 3600.0 s");
	close_collector(&f);
	view = once(&f, 15 * S);
	assert_string_equal(view->played.note, "dram-0: perf: failed?[2J, for 2.0 s");
	close_collector(&f);
	view = once(&f, -1);
	assert_string_equal(view->played.note, "");
	finish(&f);
}

static void run_sql(const char *path, const char *text)
{
	sqlite3 *database;

	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	if (sqlite3_exec(database, text, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s", sqlite3_errmsg(database));
	assert_int_equal(sqlite3_changes(database) > 0, 1);
	sqlite3_close(database);
}

/* When it was: how long periods are is up to the disk as well. */
static struct wtl_store_period third_period(const struct fixture *f)
{
	struct wtl_store_period first, third;
	struct wtl_store_reader *reader;

	assert_int_equal(wtl_store_open(f->path, &reader, NULL), 0);
	assert_true(wtl_store_periods(reader) > 3);
	assert_int_equal(wtl_store_period(reader, 0, &first), 0);
	assert_int_equal(wtl_store_period(reader, 2, &third), 0);
	third.begin_mono_ns -= first.begin_mono_ns;
	third.end_mono_ns -= first.begin_mono_ns;
	wtl_store_close(reader);
	return third;
}

/* Rows of tables that are missing belong to no time. */
static void test_damaged_table(void **state)
{
	const struct wtl_top_view *view;
	struct fixture f;

	(void)state;
	record(&f);
	go_on(&f, 8 * S);
	stop_recording(&f);
	run_sql(f.path, "UPDATE window SET crc = crc + 1 WHERE id = (SELECT max(id) FROM window)");
	view = once(&f, -1);
	assert_non_null(strstr(view->played.note, "some of it cannot be read, and is missing"));
	finish(&f);
}

/* A period that is not there: said where it was, and nothing is drawn in its place. */
static void test_lost_period(void **state)
{
	const struct wtl_top_view *view;
	struct wtl_store_period period;
	unsigned gaps = 0;
	struct fixture f;
	int64_t wanted;

	(void)state;
	record_at(&f, 100 * MS, 2 * S);
	go_on(&f, 30 * S);
	stop_recording(&f);
	period = third_period(&f);
	run_sql(f.path, "DELETE FROM period WHERE id = 3");
	view = once(&f, period.end_mono_ns + S / 2);
	assert_string_equal(view->played.note,
			    "a part cannot be read: period 3: all of it is missing");
	for (uint64_t back = 0; back < view->clock.n_bins[0]; back++)
		gaps += wtl_top_curve_at(view, domain(view, "package-0"), 0, back) == WTL_TOP_GAP;
	wanted = (period.end_mono_ns - period.begin_mono_ns) / (100 * MS);
	assert_in_range(gaps, wanted - 5, wanted + 5);
	close_collector(&f);
	view = once(&f, -1);
	assert_in_range(view->clock.n_bins[0], 295, 305);
	/* Counters have counted on. */
	assert_int_equal(view->total.energy.energy_uj, f.window.total.energy_uj);
	finish(&f);
}

static void test_no_recording(void **state)
{
	struct fixture f;

	(void)state;
	record(&f);
	go_on(&f, S);
	stop_recording(&f);
	assert_int_equal(unlink(f.path), 0);
	collector_of(&f);
	assert_true(wtl_top_collector_open(&f.collector) < 0);
	assert_true(f.app.complained);
	assert_non_null(strstr(said_complaints(), "No such file"));
	close_collector(&f);
	unit_write(f.dir, "test.wattle", "something else that is long enough to be looked at");
	collector_of(&f);
	assert_int_equal(wtl_top_collector_start(&f.collector), 0);
	assert_int_equal(wtl_top_collector_wait(&f.collector, 60 * S), WTL_TOP_FAILED);
	assert_non_null(strstr(said_complaints(), "not a recording"));
	finish(&f);
}

/* ---- Playing ---- */

static void give(struct fixture *f, enum wtl_play_verb verb, int64_t ns)
{
	const struct wtl_play_order order = {.verb = verb, .ns = ns};

	wtl_top_collector_order(&f->collector, &order);
}

/* Until what is shown is of between these times, at most for a long while. */
static const struct wtl_top_view *await(struct fixture *f, int64_t from_ns, int64_t to_ns)
{
	const struct wtl_top_view *view = wtl_top_collector_view(&f->collector);

	for (unsigned i = 0; i < 6000 && (!view->played.is_there || view->played.at_ns < from_ns ||
					  view->played.at_ns > to_ns);
	     i++) {
		usleep(10000);
		view = wtl_top_collector_view(&f->collector);
	}
	assert_in_range(view->played.at_ns, from_ns, to_ns);
	return view;
}

static struct wtl_play await_rest(struct fixture *f)
{
	for (unsigned i = 0; i < 6000; i++) {
		struct wtl_play play;

		wtl_top_collector_play(&f->collector, &play);
		if (!play.is_seeking && (play.is_paused || play.is_over))
			return play;
		usleep(10000);
	}
	fail_msg("it never stood still");
	return (struct wtl_play){.length_ns = 0};
}

static void start_playing(struct fixture *f, uint32_t speed_milli)
{
	collector_of(f);
	f->settings.speed_milli = speed_milli;
	assert_int_equal(wtl_top_collector_start(&f->collector), 0);
	assert_int_equal(wtl_top_collector_wait(&f->collector, 60 * S), WTL_TOP_RUNNING);
}

/* A ring's begin is gone: said at what is the start now, and with a picture that stands alone. */
static void test_dropped(void **state)
{
	static const char words[] = "the recording is a ring, which has dropped what was before 20";
	const struct wtl_top_view *view;
	struct fixture f;

	(void)state;
	record_in(&f, 100 * MS, (struct wtl_store_options){.period_ns = S, .max_age_ns = 8 * S});
	go_on(&f, 40 * S);
	stop_recording(&f);
	view = once(&f, -1);
	assert_non_null(strstr(view->played.note, words));
	close_collector(&f);
	start_playing(&f, WTL_PLAY_FULL);
	view = wtl_top_collector_view(&f.collector);
	assert_non_null(strstr(view->played.note, words));
	await_rest(&f);
	await(&f, 6 * S, INT64_MAX);
	view = wtl_top_collector_view(&f.collector);
	assert_string_equal(view->played.note, "");
	finish(&f);
}

static void test_plays_to_its_end(void **state)
{
	const struct wtl_top_view *view;
	struct wtl_play play;
	struct fixture f;

	(void)state;
	record(&f);
	go_on(&f, 10 * S);
	stop_recording(&f);
	start_playing(&f, WTL_PLAY_FULL);
	play = await_rest(&f);
	assert_true(play.is_over);
	view = await(&f, play.length_ns - S / 10, INT64_MAX);
	assert_int_equal(view->total.energy.energy_uj, f.window.total.energy_uj);
	assert_in_range(play.length_ns, 99 * S / 10, 101 * S / 10);
	finish(&f);
}

/* Back and forth: the same place is the same picture, whatever was before. */
static void test_seeks(void **state)
{
	const struct wtl_top_view *view;
	struct wtl_play play;
	uint64_t energy_uj, n_bins, full_uj;
	struct fixture f;

	(void)state;
	record(&f);
	go_on(&f, 60 * S);
	stop_recording(&f);
	start_playing(&f, 1000);
	give(&f, WTL_PLAY_PAUSE, 0);
	give(&f, WTL_PLAY_GO_TO, 20 * S);
	play = await_rest(&f);
	assert_int_equal(wtl_play_position(&play, wtl_top_screen_ns()), 20 * S);
	view = await(&f, 199 * S / 10, 20 * S);
	energy_uj = view->total.energy.energy_uj;
	n_bins = view->clock.n_bins[0];
	full_uj = process(view, f.worker)->energy_uj[WTL_TOP_FULL];
	assert_in_range(energy_uj, UINT64_C(2900000000), UINT64_C(3010000000));
	give(&f, WTL_PLAY_SEEK, 30 * S);
	await_rest(&f);
	view = await(&f, 499 * S / 10, 50 * S);
	assert_in_range(view->total.energy.energy_uj, UINT64_C(7400000000), UINT64_C(7510000000));
	give(&f, WTL_PLAY_SEEK, -20 * S);
	give(&f, WTL_PLAY_SEEK, -10 * S);
	play = await_rest(&f);
	assert_int_equal(wtl_play_position(&play, 0), 20 * S);
	view = await(&f, 199 * S / 10, 20 * S);
	assert_int_equal(view->total.energy.energy_uj, energy_uj);
	assert_int_equal(view->clock.n_bins[0], n_bins);
	assert_int_equal(process(view, f.worker)->energy_uj[WTL_TOP_FULL], full_uj);
	/* To the end, and from there to the start. */
	give(&f, WTL_PLAY_GO_TO, INT64_MAX);
	play = await_rest(&f);
	view = await(&f, 599 * S / 10, INT64_MAX);
	assert_int_equal(view->total.energy.energy_uj, f.window.total.energy_uj);
	give(&f, WTL_PLAY_GO_TO, 0);
	view = await(&f, 0, S / 10);
	assert_in_range(view->total.energy.energy_uj, 0, 16000000);
	play = await_rest(&f);
	assert_false(play.is_over);
	finish(&f);
}

/* What a player tells that goes by all of it, as it was at a time. */
struct gone_by {
	struct wtl_player *player;
	int64_t zero_ns, at_ns; /* since the start: all to here is in it */
	struct wattle_window window;
	struct wattle_energy energies[DOMAINS_MAX];
	struct wtl_ledger ledgers[DOMAINS_MAX];
	struct wtl_consumer consumers[SLOTS_MAX];
	struct wtl_share_energy accounts[SLOTS_MAX];
	size_t n_domains, n_slots;
};

static void look_at_all(struct gone_by *gone, const struct wtl_played *played)
{
	struct wtl_consumers *consumers = wtl_player_consumers(gone->player);

	if (played->kind != WTL_PLAYED_BILLED) {
		assert_int_equal(wtl_window_look(wtl_player_meter(gone->player), "all",
						 &gone->window, gone->energies, DOMAINS_MAX),
				 0);
		return;
	}
	gone->n_slots = wtl_consumers_slots(consumers);
	assert_in_range(gone->n_slots, 1, SLOTS_MAX);
	for (size_t i = 0; i < gone->n_slots; i++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, i);

		gone->consumers[i] = consumer ? *consumer : (struct wtl_consumer){.pid = -1};
		wtl_consumers_energy(consumers, i, WTL_PART_ALL, &gone->accounts[i]);
	}
	for (size_t i = 0; i < gone->n_domains; i++)
		wtl_consumers_ledger(consumers, i, &gone->ledgers[i]);
}

static void go_by(struct fixture *f, int64_t until_ns, struct gone_by *gone)
{
	struct wtl_store_period period;
	struct wtl_played played = {.kind = WTL_PLAYED_SAMPLE};

	memset(gone, 0, sizeof(*gone));
	assert_int_equal(wtl_player_open(f->path, NULL, &gone->player, NULL), 0);
	assert_int_equal(wtl_store_period(wtl_player_reader(gone->player), 0, &period), 0);
	gone->zero_ns = period.begin_mono_ns;
	gone->n_domains = wattle_meter_domains(wtl_player_meter(gone->player));
	while (played.kind != WTL_PLAYED_BEGUN)
		assert_int_equal(wtl_player_step(gone->player, &played, NULL), 1);
	assert_int_equal(wtl_player_begin_here(gone->player, 0), 0);
	wtl_player_sample_again(gone->player);
	assert_int_equal(wattle_window_begin(wtl_player_meter(gone->player), "all"), 0);
	while (played.t_mono_ns - gone->zero_ns <= until_ns) {
		gone->at_ns = played.t_mono_ns - gone->zero_ns;
		look_at_all(gone, &played);
		if (wtl_player_step(gone->player, &played, NULL) == 0)
			break;
	}
	wtl_player_close(gone->player);
}

static void expect_account(const struct wtl_top_view *view, const struct wtl_consumer *consumer,
			   const struct wtl_share_energy *account)
{
	const struct wtl_top_process *found = view->processes;
	const struct wtl_top_process *end = found + view->n_processes;

	/* A pid may be that of an ended one as well. */
	while (found < end && (found->consumer.pid != consumer->pid ||
			       found->consumer.start_ns != consumer->start_ns ||
			       strcmp(found->consumer.name, consumer->name) != 0))
		found++;
	assert_true(found < end);
	assert_int_equal(found->energy_uj[WTL_TOP_FULL], account->full_uj);
	assert_int_equal(found->uncertainty_uj, account->uncertainty_uj);
	assert_int_equal(found->has_dynamic, account->has_dynamic);
	if (account->has_dynamic)
		assert_int_equal(found->energy_uj[WTL_TOP_DYNAMIC], account->dynamic_uj);
	assert_int_equal(found->consumer.state, consumer->state);
	assert_int_equal(found->consumer.cpu_ns, consumer->cpu_ns);
	assert_int_equal(found->consumer.cpu_ppm, consumer->cpu_ppm);
}

static void expect_as_gone_by(const struct wtl_top_view *view, const struct gone_by *gone)
{
	size_t n = 0;

	assert_int_equal(view->duration_ns, gone->window.duration_ns);
	assert_int_equal(view->total.energy.energy_uj, gone->window.total.energy_uj);
	assert_int_equal(view->total.energy.uncertainty_uj, gone->window.total.uncertainty_uj);
	assert_int_equal(view->n_domains, gone->n_domains);
	for (size_t i = 0; i < gone->n_domains; i++) {
		const struct wtl_top_domain *shown = &view->domains[i];

		assert_int_equal(shown->energy.energy_uj, gone->energies[i].energy_uj);
		assert_int_equal(shown->energy.uncertainty_uj, gone->energies[i].uncertainty_uj);
		assert_memory_equal(&shown->ledger, &gone->ledgers[i], sizeof(shown->ledger));
	}
	for (size_t i = 0; i < gone->n_slots; i++)
		if (gone->consumers[i].pid >= 0) {
			expect_account(view, &gone->consumers[i], &gone->accounts[i]);
			n++;
		}
	assert_int_equal(view->n_processes, n);
}

/* Minutes of processes that come and go, longer than curves are: those of 10 ms hold 432 s. */
static void record_minutes(struct fixture *f)
{
	record_at(f, S, 20 * S);
	wtl_recorder_fact(f->recorder, "interval-ns", "10000000");
	for (int i = 0; i < 60; i++) {
		int other = world_fork(&f->world, 1);

		world_exec(&f->world, other, i % 2 ? "odd" : "even", "./other");
		world_run(&f->world, other, (1 + i) * 10 * MS);
		go_on(f, (5 + i % 7) * S);
		if (i % 3 == 0) {
			world_run(&f->world, other, 50 * MS);
			world_end(&f->world, other);
		}
		if (i == 31) {
			world_end(&f->world, f->worker);
			f->worker = other;
		}
		go_on(f, 7 * S);
	}
	stop_recording(f);
}

/* All that curves can hold: one of their finest bins in a hundred has a sample, and all of them its power. */
static void expect_curve(const struct wtl_top_view *view)
{
	for (unsigned grain = 0; grain < WTL_TOP_GRAINS; grain++)
		for (unsigned back = 0; back < WTL_TOP_BINS && back + 3 < view->clock.n_bins[grain];
		     back++)
			assert_in_range(
				wtl_top_curve_at(view, domain(view, "package-0"), grain, back),
				66000, 74000);
}

/* Whatever is left out on the way: the figures are those of whoever goes by all of it. */
static void test_seeks_exactly(void **state)
{
	static const int64_t places_s[] = {600, 30, 700, 100, 690, 745, 0, 520, 2, 431, 434, 720};
	struct gone_by *gone = malloc(sizeof(*gone));
	const struct wtl_top_view *view;
	struct fixture f;

	(void)state;
	assert_non_null(gone);
	record_minutes(&f);
	for (size_t i = 0; i < sizeof(places_s) / sizeof(places_s[0]); i++) {
		int64_t at_ns = places_s[i] * S + S / 2;

		go_by(&f, at_ns, gone);
		expect_as_gone_by(once(&f, at_ns), gone);
		close_collector(&f);
	}
	start_playing(&f, 1000);
	give(&f, WTL_PLAY_PAUSE, 0);
	for (size_t i = 0; i < sizeof(places_s) / sizeof(places_s[0]); i++) {
		int64_t at_ns = places_s[i] * S + S / 2;

		go_by(&f, at_ns, gone);
		give(&f, WTL_PLAY_GO_TO, at_ns);
		await_rest(&f);
		view = await(&f, gone->at_ns, gone->at_ns);
		expect_as_gone_by(view, gone);
		if (places_s[i] > 20)
			expect_curve(view);
	}
	free(gone);
	finish(&f);
}

/* On the way to the end somebody wants to be elsewhere, ahead of what was left out so far or behind it. */
static void test_seeks_elsewhere(void **state)
{
	struct gone_by *gone = malloc(sizeof(*gone));
	const struct wtl_top_view *view;
	struct fixture f;

	(void)state;
	assert_non_null(gone);
	record_minutes(&f);
	start_playing(&f, 1000);
	give(&f, WTL_PLAY_PAUSE, 0);
	for (int i = 0; i < 12; i++) {
		int64_t at_ns = (60 + 55 * i) * S + S / 2;

		go_by(&f, at_ns, gone);
		give(&f, WTL_PLAY_GO_TO, 0);
		give(&f, WTL_PLAY_GO_TO, INT64_MAX);
		usleep((unsigned)i * 200);
		give(&f, WTL_PLAY_GO_TO, at_ns);
		await_rest(&f);
		view = await(&f, gone->at_ns, gone->at_ns);
		expect_as_gone_by(view, gone);
		expect_curve(view);
	}
	free(gone);
	finish(&f);
}

/* Nobody waits for a seek that nobody wants any more. */
static void test_ends_in_the_middle(void **state)
{
	struct fixture f;

	(void)state;
	record(&f);
	go_on(&f, 30 * S);
	stop_recording(&f);
	for (int i = 0; i < 8; i++) {
		start_playing(&f, i % 2 ? 1000 : 1000000);
		give(&f, WTL_PLAY_GO_TO, INT64_MAX);
		if (i & 2)
			await(&f, 10 * S, INT64_MAX);
		give(&f, WTL_PLAY_GO_TO, 5 * S);
		if (i & 4)
			usleep(1000);
		close_collector(&f);
	}
	finish(&f);
}

/* It cannot be opened again: said, and the picture stays. */
static void test_gone_meanwhile(void **state)
{
	const struct wtl_top_view *view;
	struct wtl_play play;
	struct fixture f;

	(void)state;
	record(&f);
	go_on(&f, 20 * S);
	stop_recording(&f);
	start_playing(&f, WTL_PLAY_FULL);
	await_rest(&f);
	await(&f, 199 * S / 10, INT64_MAX);
	assert_int_equal(unlink(f.path), 0);
	give(&f, WTL_PLAY_SEEK, -10 * S);
	play = await_rest(&f);
	assert_true(play.is_over);
	for (unsigned i = 0; i < 6000; i++) {
		view = wtl_top_collector_view(&f.collector);
		if (view->played.note[0])
			break;
		usleep(10000);
	}
	assert_non_null(strstr(view->played.note, "cannot be read: "));
	assert_int_equal(view->total.energy.energy_uj, f.window.total.energy_uj);
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),	       cmocka_unit_test(test_place),
		cmocka_unit_test(test_intervals),      cmocka_unit_test(test_not_ahead),
		cmocka_unit_test(test_devices),	       cmocka_unit_test(test_gaps_at_a_moment),
		cmocka_unit_test(test_gaps),	       cmocka_unit_test(test_lost_period),
		cmocka_unit_test(test_no_recording),   cmocka_unit_test(test_plays_to_its_end),
		cmocka_unit_test(test_seeks),	       cmocka_unit_test(test_ends_in_the_middle),
		cmocka_unit_test(test_seeks_exactly),  cmocka_unit_test(test_seeks_elsewhere),
		cmocka_unit_test(test_gone_meanwhile), cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_damaged_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
