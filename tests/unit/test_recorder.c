/* SPDX-License-Identifier: MIT */
/* What a recorder keeps beside the figures: windows by name, gaps of channels, what devices tell. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <wattle-recording.h>

#include "base/buf.h"
#include "base/err.h"
#include "energy/catalog.h"
#include "energy/units.h"
#include "meter/calibrated.h"
#include "meter/meter.h"
#include "meter/observer.h"
#include "meter_bench.h"
#include "record/reader.h"
#include "record/store.h"
#include "record/writer.h"
#include "replay/format.h"
#include "replay/player.h"
#include "replay/recorder.h"
#include "replay/recorder_gap.h"
#include "replay/recorder_windows.h"
#include "unit.h"

#define MS WTL_NS_PER_MS
#define S  WTL_NS_PER_S

/* ---- Windows ---- */

static struct wtl_known_window *add(struct wtl_known_windows *windows, const char *name)
{
	const struct wtl_window_note note = {
		.event = WTL_WINDOW_BEGINS, .name = name, .t_mono_ns = 5, .t_utc_ns = 7};

	return wtl_known_windows_add(windows, &note);
}

static void test_windows(void **state)
{
	static struct wtl_known_windows windows;
	struct wtl_known_window *main, *first, *second;

	(void)state;
	memset(&windows, 0, sizeof(windows));
	assert_null(wtl_known_windows_find(&windows, "x"));
	assert_null(wtl_known_windows_find(&windows, ""));
	main = add(&windows, "run");
	assert_int_equal(main->id, 1);
	assert_int_equal(main->begin_mono_ns, 5);
	assert_int_equal(main->begin_utc_ns, 7);
	first = add(&windows, "x");
	first->is_open = false;
	second = add(&windows, "x");
	assert_ptr_equal(wtl_known_windows_find(&windows, "x"), second);
	assert_ptr_equal(wtl_known_windows_find_open(&windows, "x", false), second);
	assert_null(wtl_known_windows_find_open(&windows, "x", true));
	second->is_open = false;
	assert_null(wtl_known_windows_find_open(&windows, "x", false));
	assert_ptr_equal(wtl_known_windows_find(&windows, "x"), second);
}

/* However many come and go, those that are open are known. */
static void test_many_windows(void **state)
{
	static struct wtl_known_windows windows;
	struct wtl_known_window *outer, *late;

	(void)state;
	memset(&windows, 0, sizeof(windows));
	outer = add(&windows, "outer");
	for (int i = 0; i < 3 * WTL_KNOWN_WINDOWS; i++)
		add(&windows, "inner")->is_open = false;
	late = wtl_known_windows_find(&windows, "inner");
	assert_int_equal(late->id, 1 + 3 * WTL_KNOWN_WINDOWS);
	assert_ptr_equal(wtl_known_windows_find(&windows, "outer"), outer);
	assert_int_equal(outer->id, 1);
	assert_true(outer->is_open);
	/* As many as there is room for are known. */
	for (int i = 0; i < WTL_KNOWN_WINDOWS - 1; i++)
		add(&windows, "open");
	assert_ptr_equal(wtl_known_windows_find(&windows, "outer"), outer);
	/* With too many open ones, it is the oldest that is not. */
	for (int i = 0; i < WTL_KNOWN_WINDOWS; i++)
		add(&windows, "open");
	assert_null(wtl_known_windows_find(&windows, "outer"));
	assert_non_null(wtl_known_windows_find_open(&windows, "open", false));
}

/* ---- Gaps ---- */

static const struct wtl_channel channel = {.domain = "gpu-0", .source = "nvml"};

struct gaps {
	struct wtl_channel_gap gap;
	struct wtl_stored_gap last;
	unsigned n;
};

static void reads(struct gaps *gaps, int64_t t_ns, enum wattle_status status, int error)
{
	const struct wtl_reading reading = {.status = status, .error = error};

	gaps->n += wtl_channel_gap_follow(&gaps->gap, &channel, &reading, t_ns, &gaps->last);
}

static void test_gap(void **state)
{
	struct gaps gaps = {.n = 0};

	(void)state;
	/* It never answered: that is no gap. */
	reads(&gaps, 1 * S, WATTLE_STATUS_FAILED, -EIO);
	reads(&gaps, 2 * S, WATTLE_STATUS_OK, 0);
	reads(&gaps, 4 * S, WATTLE_STATUS_OK, 0);
	reads(&gaps, 5 * S, WATTLE_STATUS_STALE, 0);
	reads(&gaps, 6 * S, WATTLE_STATUS_OK, 0);
	reads(&gaps, 9 * S, WATTLE_STATUS_OK, 0);
	assert_int_equal(gaps.n, 0);
	reads(&gaps, 10 * S, WATTLE_STATUS_FAILED, -EIO);
	reads(&gaps, 11 * S, WATTLE_STATUS_GONE, -ENODEV);
	reads(&gaps, 12 * S, WATTLE_STATUS_OK, 0);
	reads(&gaps, 12 * S + 500 * MS, WATTLE_STATUS_OK, 0);
	assert_int_equal(gaps.n, 0); /* it may go on */
	reads(&gaps, 13 * S, WATTLE_STATUS_OK, 0);
	assert_int_equal(gaps.n, 1);
	assert_int_equal(gaps.last.kind, WTL_GAP_CHANNEL);
	assert_int_equal(gaps.last.begin_mono_ns, 9 * S);
	assert_int_equal(gaps.last.duration_ns, 3 * S);
	assert_string_equal(gaps.last.subject, "gpu-0");
	assert_string_equal(gaps.last.text,
			    "nvml: failed: Input/output error; gone: No such device");
	reads(&gaps, 20 * S, WATTLE_STATUS_OK, 0);
	assert_int_equal(gaps.n, 1);
	assert_false(wtl_channel_gap_finish(&gaps.gap, &channel, 21 * S, &gaps.last));
}

/* Every other read fails: one gap, not thousands. */
static void test_a_channel_that_comes_and_goes(void **state)
{
	struct gaps gaps = {.n = 0};

	(void)state;
	for (int i = 0; i <= 1000; i++)
		reads(&gaps, S + i * MS, i % 2 ? WATTLE_STATUS_FAILED : WATTLE_STATUS_OK,
		      i % 2 ? -EAGAIN : 0);
	assert_int_equal(gaps.n, 0);
	reads(&gaps, 10 * S, WATTLE_STATUS_OK, 0);
	assert_int_equal(gaps.n, 1);
	assert_int_equal(gaps.last.begin_mono_ns, S);
	assert_int_equal(gaps.last.duration_ns, S);
	assert_non_null(strstr(gaps.last.text, "(500 times)"));
}

/* Failures of several kinds that are one gap: the text names two of them. */
static void test_reasons(void **state)
{
	static const struct {
		int errors[5];
		const char *text;
	} cases[] = {
		{{EIO, EIO, EIO, EIO, EIO}, "nvml: failed: Input/output error (5 times)"},
		{{EIO, ETIMEDOUT},
		 "nvml: failed: Input/output error; Connection timed out (2 times)"},
		{{EIO, ETIMEDOUT, EIO, ETIMEDOUT, ETIMEDOUT},
		 "nvml: failed: Input/output error; Connection timed out (5 times)"},
		{{EIO, EIO, ETIMEDOUT, EPERM},
		 "nvml: failed: Input/output error; Connection timed out; and others (4 times)"},
		{{EIO, -ENODEV},
		 "nvml: failed: Input/output error; gone: No such device (2 times)"},
		{{EIO}, "nvml: failed: Input/output error"},
	};
	struct gaps gaps = {.n = 0};
	int64_t t_ns = S;

	(void)state;
	/* One after the other: a gap has nothing of the one before. */
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		reads(&gaps, t_ns, WATTLE_STATUS_OK, 0);
		for (size_t k = 0; k < 5 && cases[i].errors[k]; k++) {
			int error = cases[i].errors[k];

			reads(&gaps, t_ns += 300 * MS,
			      error < 0 ? WATTLE_STATUS_GONE : WATTLE_STATUS_FAILED, -abs(error));
			reads(&gaps, t_ns += 300 * MS, WATTLE_STATUS_OK, 0);
		}
		reads(&gaps, t_ns += S, WATTLE_STATUS_OK, 0);
		assert_int_equal(gaps.n, i + 1);
		assert_string_equal(gaps.last.text, cases[i].text);
	}
	/* Also without a good reading between them. */
	reads(&gaps, t_ns += MS, WATTLE_STATUS_FAILED, -EIO);
	reads(&gaps, t_ns += MS, WATTLE_STATUS_ASLEEP, 0);
	reads(&gaps, t_ns += MS, WATTLE_STATUS_OK, 0);
	reads(&gaps, t_ns + S, WATTLE_STATUS_OK, 0);
	assert_string_equal(gaps.last.text,
			    "nvml: failed: Input/output error; asleep: it gave no value");
}

/* However long they are, all of the text is there. */
static void test_long_reasons(void **state)
{
	static char a[300], b[300];
	struct gaps gaps = {.n = 0};
	const struct wtl_channel wordy = {.domain = "gpu-0", .source = a};
	struct wtl_reading reading = {.status = WATTLE_STATUS_ABSENT, .reason = a};

	(void)state;
	memset(a, 'a', sizeof(a) - 1);
	memset(b, 'b', sizeof(b) - 1);
	reads(&gaps, S, WATTLE_STATUS_OK, 0);
	wtl_channel_gap_follow(&gaps.gap, &wordy, &reading, 2 * S, &gaps.last);
	reading = (struct wtl_reading){.status = WATTLE_STATUS_DENIED, .reason = b};
	wtl_channel_gap_follow(&gaps.gap, &wordy, &reading, 3 * S, &gaps.last);
	reading.status = WATTLE_STATUS_GONE;
	wtl_channel_gap_follow(&gaps.gap, &wordy, &reading, 4 * S, &gaps.last);
	gaps.gap.n = UINT32_MAX;
	assert_true(wtl_channel_gap_finish(&gaps.gap, &wordy, 5 * S, &gaps.last));
	assert_non_null(strstr(gaps.last.text, "; denied: bbb"));
	assert_non_null(strstr(gaps.last.text, "bbb; and others (4294967295 times)"));
}

static void test_a_gap_at_the_end(void **state)
{
	struct gaps gaps = {.n = 0};

	(void)state;
	reads(&gaps, 1 * S, WATTLE_STATUS_OK, 0);
	reads(&gaps, 2 * S, WATTLE_STATUS_ASLEEP, 0);
	assert_true(wtl_channel_gap_finish(&gaps.gap, &channel, 9 * S, &gaps.last));
	assert_int_equal(gaps.last.begin_mono_ns, 1 * S);
	assert_int_equal(gaps.last.duration_ns, 8 * S);
	assert_string_equal(gaps.last.text, "nvml: asleep: it gave no value");
	/* And one that was over, but not for long enough. */
	memset(&gaps, 0, sizeof(gaps));
	reads(&gaps, 1 * S, WATTLE_STATUS_OK, 0);
	reads(&gaps, 2 * S, WATTLE_STATUS_FAILED, -EIO);
	reads(&gaps, 3 * S, WATTLE_STATUS_OK, 0);
	assert_true(wtl_channel_gap_finish(&gaps.gap, &channel, 3 * S + 1, &gaps.last));
	assert_int_equal(gaps.last.duration_ns, 2 * S);
}

/* ---- A recorder ---- */

#define PACKAGE0 "sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj"

struct fixture {
	struct meter_bench bench;
	struct wtl_recorder *recorder;
	char *dir, *path;
	size_t n_rows;
};

static void open_meter(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	meter_bench_copy(&f->bench, "nvidia-server");
	f->bench.nvml = "";
	meter_bench_write(&f->bench, PACKAGE0, "1000000\n");
	meter_bench_open(&f->bench);
}

static void open_recorder(struct fixture *f, struct wtl_recorder_options options)
{
	struct wtl_err err = {.code = 0};

	f->dir = unit_tmpdir();
	options.interval_ns = 100 * MS;
	options.path = f->path = unit_path(f->dir, "test.wattle");
	if (wtl_recorder_new(f->bench.meter, NULL, &options, &f->recorder, &err) < 0)
		fail_msg("%s", err.text);
}

static void start_with(struct fixture *f, struct wtl_recorder_options options)
{
	open_meter(f);
	open_recorder(f, options);
}

static void start(struct fixture *f)
{
	start_with(f, (struct wtl_recorder_options){.is_late = false});
}

static void stop(struct fixture *f)
{
	assert_int_equal(wtl_recorder_end(f->recorder, NULL), 0);
	f->recorder = NULL;
}

static void finish(struct fixture *f)
{
	meter_bench_done(&f->bench);
	unit_rmtree(f->dir);
	free(f->path);
}

static int take_name(void *context, uint32_t i, const struct wtl_stored_domain *row)
{
	struct wattle_domain domain = {.size = sizeof(domain)};
	struct fixture *f = context;

	assert_int_equal(wattle_meter_domain(f->bench.meter, i, &domain), 0);
	assert_string_equal(row->name, domain.name);
	assert_string_equal(row->inside, domain.inside ? domain.inside : "");
	assert_string_equal(row->source, domain.source ? domain.source : "");
	assert_string_equal(row->device, domain.device ? domain.device : "");
	assert_string_equal(row->reason, domain.reason ? domain.reason : "");
	assert_string_equal(row->remedy, domain.remedy ? domain.remedy : "");
	assert_int_equal(row->kind, domain.kind);
	assert_int_equal(row->method, domain.method);
	assert_int_equal(row->status, domain.status);
	assert_int_equal(row->in_total, domain.in_total);
	f->n_rows++;
	return 0;
}

static void check_fact(struct wtl_store_reader *reader, const char *key, const char *text)
{
	const char *fact = wtl_store_get_fact(reader, key);

	if (!fact || strcmp(fact, text) != 0)
		fail_msg("%s: %s, not %s", key, fact ? fact : "none", text);
}

static void check_machine(struct wtl_store_reader *reader, const struct wtl_machine *machine)
{
	const struct {
		const char *key;
		uint64_t number;
	} numbers[] = {
		{WTL_FACT_CPUS, machine->n_cpus},
		{WTL_FACT_PACKAGES, machine->n_packages},
		{WTL_FACT_MEMORY, machine->memory_bytes},
		{WTL_FACT_VM, machine->is_vm},
		{WTL_FACT_CONTAINER, machine->is_container},
		{WTL_FACT_GPUS, 0},
	};
	char text[24];

	check_fact(reader, WTL_FACT_VERSION, wattle_version());
	check_fact(reader, WTL_FACT_CPU_MODEL, machine->cpu_model);
	check_fact(reader, WTL_FACT_VENDOR, machine->vendor);
	check_fact(reader, WTL_FACT_PRODUCT, machine->product);
	check_fact(reader, WTL_FACT_KERNEL, machine->kernel);
	for (size_t i = 0; i < UNIT_COUNT(numbers); i++) {
		snprintf(text, sizeof(text), "%llu", (unsigned long long)numbers[i].number);
		check_fact(reader, numbers[i].key, text);
	}
}

/* What is known as it begins is there with the first commit: it may be cut off. */
static void test_start(void **state)
{
	static const char figures[] = " 1250000 2000000 20000 100000 300000 -40000 1700000000";
	struct wtl_store_reader *reader;
	struct wtl_baseline rest = {.is_known = true,
				    .idle_uw = 74050000,
				    .uncertainty_uw = 310000,
				    .t_utc_ns = 1795258545 * S,
				    .seen_ns = 12 * S};
	struct wattle_domain domain = {.size = sizeof(domain)};
	char key[WTL_KEPT_KEY_SIZE], wall[200], kept[250], line[250], *idle;
	struct fixture f;

	(void)state;
	open_meter(&f);
	idle = unit_path(f.bench.copy, "idle");
	wtl_calibration_key(key, f.bench.meter->machine.id, NULL);
	snprintf(wall, sizeof(wall), "%s%s", key, figures);
	snprintf(kept, sizeof(kept), "wattle-calibration/1\n%s\n", wall);
	unit_write(f.bench.copy, "calibration", kept);
	assert_int_equal(wtl_calibrated_load(f.bench.meter, idle), 0);
	free(idle);
	open_recorder(&f, (struct wtl_recorder_options){.is_late = false});
	wtl_recorder_idle(f.recorder, 0, &rest);
	wtl_recorder_idle(NULL, 0, &rest);
	rest.idle_uw = UINT64_MAX; /* out of range */
	wtl_recorder_idle(f.recorder, 1, &rest);
	/* Where the thread is busy, it would be put off. */
	wtl_writer_wait(wtl_recorder_writer(f.recorder));
	assert_true(wtl_recorder_commit(f.recorder, NULL) >= 0);
	wtl_writer_wait(wtl_recorder_writer(f.recorder));
	assert_int_equal(wtl_store_open(f.path, &reader, NULL), 0);
	assert_int_equal(wtl_store_each_domain(reader, take_name, &f), 0);
	assert_int_equal(f.n_rows, wattle_meter_domains(f.bench.meter));
	assert_true(f.n_rows > 0);
	check_machine(reader, &f.bench.meter->machine);
	check_fact(reader, WTL_FACT_WALL, wall);
	assert_int_equal(wattle_meter_domain(f.bench.meter, 0, &domain), 0);
	snprintf(line, sizeof(line), "%s recorded 74050000 310000 2026-11-21T10:55:45Z 12000000000",
		 domain.name);
	check_fact(reader, "idle.0", line);
	assert_null(wtl_store_get_fact(reader, "idle.1"));
	wtl_store_close(reader);
	stop(&f);
	finish(&f);
}

static void test_devices(void **state)
{
	static const struct wtl_device_value first[] = {
		{-1, WTL_DEVICE_TEMPERATURE_C, 61},
		{0, WTL_DEVICE_MEMORY_USED_BYTES, INT64_C(80) << 30},
		{INT32_MAX, WTL_DEVICE_THROTTLE, 0x44},
	};
	struct wtl_player *player;
	struct wtl_played played;
	struct fixture f;
	unsigned n = 0;

	(void)state;
	start(&f);
	meter_bench_tick(&f.bench, S);
	wtl_recorder_devices(f.recorder, first, 3);
	wtl_recorder_commit(f.recorder, NULL);
	meter_bench_tick(&f.bench, S);
	wtl_recorder_devices(f.recorder, NULL, 0);
	stop(&f);
	assert_int_equal(wtl_player_open(f.path, NULL, &player, NULL), 0);
	while (wtl_player_step(player, &played, NULL) > 0) {
		if (played.kind != WTL_PLAYED_DEVICES)
			continue;
		assert_int_equal(played.n_devices, n++ == 0 ? 3 : 0);
		for (size_t i = 0; i < played.n_devices; i++) {
			assert_int_equal(played.devices[i].gpu, first[i].gpu);
			assert_int_equal(played.devices[i].number, first[i].number);
			assert_int_equal(played.devices[i].value, first[i].value);
		}
	}
	assert_int_equal(n, 2);
	wtl_player_close(player);
	finish(&f);
}

struct rows {
	struct wtl_stored_window windows[8];
	uint64_t energy_uj[8]; /* of their domains that have any */
	size_t n;
	struct wtl_stored_gap gaps[8];
	size_t n_gaps;
};

static int take_window(void *context, const struct wtl_stored_window *row)
{
	struct rows *rows = context;

	for (size_t i = 0; i < row->n_energies; i++)
		rows->energy_uj[rows->n] +=
			row->energies[i].has_energy ? row->energies[i].energy_uj : 0;
	rows->windows[rows->n++] = *row;
	return 0;
}

static int take_gap(void *context, const struct wtl_stored_gap *row)
{
	struct rows *rows = context;

	rows->gaps[rows->n_gaps++] = *row;
	return 0;
}

static void read_rows(const struct fixture *f, struct rows *rows)
{
	struct wtl_store_reader *reader;

	memset(rows, 0, sizeof(*rows));
	assert_int_equal(wtl_store_open(f->path, &reader, NULL), 0);
	assert_int_equal(wtl_store_each_window(reader, take_window, rows), 0);
	assert_int_equal(wtl_store_each_gap(reader, take_gap, rows), 0);
	wtl_store_close(reader);
}

/* A window that was marked has its marker; one that stays open its figures so far. */
static void test_marked(void **state)
{
	struct wattle_energy energies[8];
	struct wattle_window window;
	struct fixture f;
	struct rows rows;

	(void)state;
	start(&f);
	assert_int_equal(wattle_window_begin(f.bench.meter, "a"), 0);
	wtl_recorder_marked_by(f.recorder, "a", 77);
	assert_int_equal(wattle_window_begin(f.bench.meter, "b"), 0);
	wtl_recorder_marked_by(f.recorder, "b", 78);
	wtl_recorder_marked_by(f.recorder, "nobody", 79);
	wtl_recorder_window(f.recorder, "nobody", true, NULL, NULL);
	meter_bench_write(&f.bench, PACKAGE0, "3000000\n");
	meter_bench_tick(&f.bench, S);
	assert_int_equal(wtl_window_end(f.bench.meter, "a", &window, energies, 8), 0);
	wtl_recorder_window(f.recorder, "a", false, &window, energies);
	assert_int_equal(wtl_window_look(f.bench.meter, "b", &window, energies, 8), 0);
	wtl_recorder_window(f.recorder, "b", true, &window, energies);
	stop(&f);
	read_rows(&f, &rows);
	assert_int_equal(rows.n, 2);
	assert_string_equal(rows.windows[0].name, "a");
	assert_int_equal(rows.windows[0].pid, 77);
	assert_false(rows.windows[0].is_open);
	assert_int_equal(rows.windows[0].duration_ns, S);
	assert_int_equal(rows.windows[1].pid, 78);
	assert_true(rows.windows[1].is_open);
	assert_int_equal(rows.windows[1].duration_ns, S);
	finish(&f);
}

/* One that was told of while it was open, and was cancelled then. */
static void test_cancelled(void **state)
{
	struct wattle_energy energies[8];
	struct wattle_window window;
	struct fixture f;
	struct rows rows;

	(void)state;
	start(&f);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(wattle_window_begin(f.bench.meter, "a"), 0);
		meter_bench_write(&f.bench, PACKAGE0, "%d\n", 4000000 + i * 5000000);
		meter_bench_tick(&f.bench, S);
		assert_int_equal(wtl_window_look(f.bench.meter, "a", &window, energies, 8), 0);
		wtl_recorder_window(f.recorder, "a", true, &window, energies);
		assert_int_equal(wtl_recorder_commit(f.recorder, NULL), 0);
		if (i == 0)
			assert_int_equal(wattle_window_cancel(f.bench.meter, "a"), 0);
	}
	stop(&f);
	read_rows(&f, &rows);
	assert_int_equal(rows.n, 2);
	assert_false(rows.windows[0].is_open);
	assert_int_equal(rows.windows[0].duration_ns, 0);
	assert_false(rows.windows[0].total.has_energy);
	assert_int_equal(rows.energy_uj[0], 0);
	assert_true(rows.windows[1].is_open);
	assert_int_equal(rows.energy_uj[1], 5000000);
	finish(&f);
}

/* Of a window that ends, whoever records by the header has the figures in the file, and need not tell them. */
static void test_figures_by_the_header(void **state)
{
	struct wattle_recorder *recorder;
	struct wattle_window window;
	struct fixture f;
	struct rows rows;

	(void)state;
	start(&f);
	stop(&f);
	unlink(f.path);
	f.bench.clock_step_ns = 1234;
	assert_int_equal(wattle_recorder_open(f.path, f.bench.meter, NULL, &recorder, NULL), 0);
	assert_int_equal(wattle_window_begin(f.bench.meter, "a"), 0);
	meter_bench_write(&f.bench, PACKAGE0, "3000000\n");
	meter_bench_tick(&f.bench, S);
	assert_int_equal(wtl_window_end(f.bench.meter, "a", &window, NULL, 0), 0);
	assert_int_equal(wattle_recorder_close(recorder, NULL), 0);
	read_rows(&f, &rows);
	assert_int_equal(rows.n, 2);
	assert_string_equal(rows.windows[1].name, "a");
	assert_false(rows.windows[1].is_open);
	assert_int_equal(rows.windows[1].duration_ns, window.duration_ns);
	assert_int_equal(rows.energy_uj[1], 2000000);
	finish(&f);
}

/* The n-th write fails, and all behind it. Whoever records by the header is told, and has what came before. 1: nothing
 * failed. */
static int record_on(unsigned n, const char *how, int wanted, unsigned *read)
{
	struct wattle_recorder_options options = {
		.size = sizeof(options), .interval_ns = 100 * MS, .period_ns = 2 * S};
	struct wattle_error error = {.size = sizeof(error)};
	struct wattle_recording *recording = NULL;
	struct wattle_recorder *recorder = NULL;
	struct fixture f;
	char spec[64];
	int rc, closed;

	start(&f);
	stop(&f);
	unlink(f.path);
	snprintf(spec, sizeof(spec), "write:%u:%s:always", n, how);
	assert_int_equal(wtl_io_set_fault(f.bench.meter->env.io, spec, NULL), 0);
	rc = wattle_recorder_open(f.path, f.bench.meter, &options, &recorder, &error);
	for (int i = 0; rc == 0 && i < 60; i++) {
		meter_bench_tick(&f.bench, 100 * MS);
		if (i % 10 == 9)
			usleep(2000); /* the thread writes */
		rc = wattle_recorder_status(recorder, &error);
	}
	assert_int_equal(wattle_meter_tick(f.bench.meter), 0);
	closed = recorder ? wattle_recorder_close(recorder, &error) : rc;
	assert_true(rc == 0 || closed == rc);
	/* What fails at last is tidying up. */
	assert_true(closed == wanted || (rc == 0 && (closed == 0 || closed == 1)));
	assert_int_equal(error.code, closed == 1 ? wanted : closed);
	assert_int_equal(error.text[0] != '\0', closed != 0);
	/* Before the first commit there is nothing. */
	if (recorder && wattle_recording_open(f.path, &recording, NULL) == 0) {
		assert_int_equal(wattle_recording_is_whole(recording), closed >= 0);
		wattle_recording_close(recording);
		++*read;
	}
	finish(&f);
	return closed == 0;
}

static void check_disk(const char *how, int wanted)
{
	unsigned n = 1, n_read = 0;

	while (!record_on(n, how, wanted, &n_read))
		n++;
	assert_in_range(n, 6, 100);
	assert_in_range(n_read, n / 2, n - 1);
}

static void test_disk(void **state)
{
	(void)state;
	check_disk("ENOSPC", -ENOSPC);
	check_disk("EIO", -EIO);
}

static void test_a_channel_fails(void **state)
{
	struct fixture f;
	struct rows rows;

	(void)state;
	start(&f);
	meter_bench_tick(&f.bench, S);
	meter_bench_write(&f.bench, PACKAGE0, "!errno EIO\n");
	meter_bench_tick(&f.bench, S);
	meter_bench_tick(&f.bench, S);
	meter_bench_write(&f.bench, PACKAGE0, "4000000\n");
	for (int i = 0; i < 3; i++)
		meter_bench_tick(&f.bench, S);
	stop(&f);
	read_rows(&f, &rows);
	assert_int_equal(rows.n_gaps, 1);
	assert_int_equal(rows.gaps[0].kind, WTL_GAP_CHANNEL);
	assert_string_equal(rows.gaps[0].subject, "package-0");
	assert_int_equal(rows.gaps[0].duration_ns, 3 * S);
	finish(&f);
}

/* Commits come once a second also where samples are further apart: rows are written, clocks are looked at, and a
 * period begins with a sample all the same. */
static void test_between_samples(void **state)
{
	struct wtl_store_writer *writer;
	unsigned seconds = 0, lost = 0;
	struct wtl_player *player;
	struct wtl_played played;
	struct fixture f;
	struct rows rows;
	uint64_t before;

	(void)state;
	start(&f);
	writer = wtl_recorder_writer(f.recorder);
	wtl_writer_wait(writer);
	meter_bench_tick(&f.bench, S);
	assert_int_equal(wtl_recorder_commit(f.recorder, NULL), 0);
	wtl_writer_wait(writer);
	before = writer->n_taken;
	/* Nothing came. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(wtl_recorder_commit(f.recorder, NULL), 0);
	assert_int_equal(writer->n_taken, before);
	wtl_recorder_fact(f.recorder, "marked", "meanwhile");
	assert_int_equal(wtl_recorder_commit(f.recorder, NULL), 0);
	assert_int_equal(writer->n_taken, before + 1);
	wtl_writer_wait(writer);
	/* It sleeps for longer than a period: UTC was not set. */
	f.bench.asleep_ns += 3600 * S;
	f.bench.utc_ns += 3600 * S;
	f.bench.now_ns += 120 * S;
	wtl_recorder_fact(f.recorder, "marked", "again");
	assert_int_equal(wtl_recorder_commit(f.recorder, NULL), 0);
	wtl_writer_wait(writer);
	wtl_recorder_fact(f.recorder, "marked", "in the next period");
	assert_int_equal(wtl_recorder_commit(f.recorder, NULL), 0);
	meter_bench_tick(&f.bench, S);
	stop(&f);
	read_rows(&f, &rows);
	assert_int_equal(rows.n_gaps, 1);
	assert_int_equal(rows.gaps[0].kind, WTL_GAP_SUSPEND);
	assert_int_equal(rows.gaps[0].duration_ns, 3600 * S);
	assert_int_equal(wtl_player_open(f.path, NULL, &player, NULL), 0);
	while (wtl_player_step(player, &played, NULL) > 0) {
		seconds += played.kind == WTL_PLAYED_SECOND;
		lost += played.kind == WTL_PLAYED_LOST;
	}
	assert_int_equal(seconds, 3);
	assert_int_equal(lost, 0);
	wtl_player_close(player);
	finish(&f);
}

/* By itself it commits before a sample, when it is time. */
static void test_commits_by_itself(void **state)
{
	unsigned seconds = 0;
	struct wtl_player *player;
	struct wtl_played played;
	struct fixture f;

	(void)state;
	start_with(&f, (struct wtl_recorder_options){.commit_ns = 10 * S});
	for (int i = 0; i < 35; i++)
		meter_bench_tick(&f.bench, S);
	stop(&f);
	assert_int_equal(wtl_player_open(f.path, NULL, &player, NULL), 0);
	while (wtl_player_step(player, &played, NULL) > 0)
		seconds += played.kind == WTL_PLAYED_SECOND;
	wtl_player_close(player);
	assert_int_equal(seconds, 5); /* the first sample, three times, and the end */
	finish(&f);
}

/* What measuring took: of a process that does nothing else its CPU time, of one that others use what samples took. */
static void test_own_cpu_time(void **state)
{
	int64_t before_ns = clock() * (S / CLOCKS_PER_SEC);

	(void)state;
	for (int is_late = 0; is_late < 2; is_late++) {
		struct wtl_player *player;
		struct wtl_played played;
		int64_t cpu_ns = -1;
		struct fixture f;

		start_with(&f, (struct wtl_recorder_options){.is_late = is_late});
		f.bench.meter->self.tick_sum_ns = 0;
		f.bench.clock_step_ns = 1234;
		meter_bench_tick(&f.bench, S);
		assert_int_equal(wtl_recorder_commit(f.recorder, NULL), 0);
		stop(&f);
		assert_int_equal(wtl_player_open(f.path, NULL, &player, NULL), 0);
		while (wtl_player_step(player, &played, NULL) > 0)
			if (played.kind == WTL_PLAYED_SECOND)
				cpu_ns = played.self_cpu_ns;
		wtl_player_close(player);
		if (is_late)
			assert_int_equal(cpu_ns, f.bench.meter->self.tick_sum_ns);
		else
			assert_true(cpu_ns >= before_ns);
		finish(&f);
	}
}

/* ---- Many samples at once ---- */

enum { ROWS = 5, CHANNELS_MAX = 16 };

/* Samples one after the other; or all but the last as rows. Each comes with the first n_devices values of devices. */
static void record_rows(struct fixture *f, bool as_rows, size_t n_devices)
{
	static const struct wtl_device_value devices[] = {{0, WTL_DEVICE_TEMPERATURE_C, 61},
							  {1, WTL_DEVICE_THROTTLE, 4}};
	const int64_t *columns[CHANNELS_MAX], *device_columns[UNIT_COUNT(devices)];
	int64_t times[ROWS], values[CHANNELS_MAX][ROWS], device_values[UNIT_COUNT(devices)][ROWS];
	size_t n = f->bench.meter->catalog.n_channels;
	const struct wtl_recorder_rows rows = {.n = ROWS - 1,
					       .t_mono_ns = times,
					       .values = columns,
					       .n_devices = n_devices,
					       .devices = devices,
					       .device_values = device_columns};

	assert_in_range(n, 2, CHANNELS_MAX);
	for (size_t k = 0; k < ROWS; k++)
		times[k] = METER_BENCH_START_NS + (int64_t)(10 + k) * S;
	for (size_t i = 0; i < n; i++) {
		columns[i] = values[i];
		for (size_t k = 0; k < ROWS; k++)
			values[i][k] = (int64_t)(1000 * (i + 1) + k * k);
	}
	for (size_t d = 0; d < UNIT_COUNT(devices); d++) {
		device_columns[d] = device_values[d];
		for (size_t k = 0; k < ROWS; k++)
			device_values[d][k] = (int64_t)(100 * d + k);
	}
	if (as_rows)
		assert_true(wtl_recorder_rows(f->recorder, &rows));
	for (size_t k = as_rows ? ROWS - 1 : 0; k < ROWS; k++) {
		struct wtl_reading readings[CHANNELS_MAX];
		const struct wtl_sample sample = {
			.begin_ns = times[k], .end_ns = times[k], .readings = readings, .n = n};
		struct wtl_device_value told[UNIT_COUNT(devices)];

		for (size_t i = 0; i < n; i++)
			readings[i] = (struct wtl_reading){.t_mono_ns = times[k],
							   .value = (uint64_t)values[i][k],
							   .status = WATTLE_STATUS_OK};
		wtl_meter_pass_on(f->bench.meter, &sample);
		for (size_t d = 0; d < UNIT_COUNT(devices); d++) {
			told[d] = devices[d];
			told[d].value = device_values[d][k];
		}
		if (n_devices > 0)
			wtl_recorder_devices(f->recorder, told, n_devices);
	}
	assert_int_equal(wtl_recorder_commit(f->recorder, NULL), 0);
}

/* The values of every series but those of wattle's own clocks and cost. */
static void print_series(const struct fixture *f, struct wtl_buf *text)
{
	struct wtl_store_reader *reader;
	const int64_t *values;
	size_t n;

	assert_int_equal(wtl_store_open(f->path, &reader, NULL), 0);
	for (uint32_t i = 0; i < reader->names.n; i++) {
		const char *name = wtl_store_series_name(reader, i);

		if (strncmp(name, "second.", 7) == 0)
			continue;
		assert_int_equal(wtl_store_values(reader, i, 0, &values, &n, NULL), 0);
		wtl_buf_printf(text, "%s:", name);
		for (size_t k = 0; k < n; k++)
			wtl_buf_printf(text, " %lld", (long long)values[k]);
		wtl_buf_puts(text, "\n");
	}
	wtl_store_close(reader);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t n_devices = 0; n_devices <= 2; n_devices += 2) {
		struct wtl_buf texts[2];

		for (int as_rows = 0; as_rows < 2; as_rows++) {
			struct fixture f;

			start(&f);
			record_rows(&f, as_rows, n_devices);
			stop(&f);
			wtl_buf_init(&texts[as_rows], 1 << 20);
			print_series(&f, &texts[as_rows]);
			finish(&f);
		}
		assert_string_equal(wtl_buf_str(&texts[1]), wtl_buf_str(&texts[0]));
		assert_non_null(strstr(wtl_buf_str(&texts[0]), " 1016\n"));
		wtl_buf_done(&texts[0]);
		wtl_buf_done(&texts[1]);
	}
}

/* Not where a channel is in a gap, nor once the recording has stopped. */
static void test_no_rows(void **state)
{
	const int64_t *columns[CHANNELS_MAX], nothing = 0;
	const struct wtl_recorder_rows none = {.n = 0, .t_mono_ns = &nothing, .values = columns};
	struct fixture f;

	(void)state;
	for (size_t i = 0; i < CHANNELS_MAX; i++)
		columns[i] = &nothing;
	start(&f);
	assert_true(wtl_recorder_rows(f.recorder, &none));
	meter_bench_write(&f.bench, PACKAGE0, "!errno EIO\n");
	meter_bench_tick(&f.bench, S);
	assert_false(wtl_recorder_rows(f.recorder, &none));
	meter_bench_write(&f.bench, PACKAGE0, "4000000\n");
	for (int i = 0; i < 3; i++)
		meter_bench_tick(&f.bench, S);
	assert_true(wtl_recorder_rows(f.recorder, &none));
	wtl_recorder_writer(f.recorder)->error = -ENOSPC;
	assert_int_equal(wtl_recorder_commit(f.recorder, NULL), -ENOSPC);
	assert_false(wtl_recorder_rows(f.recorder, &none));
	assert_null(wtl_store_put_many(wtl_recorder_writer(f.recorder), 0, 1));
	assert_int_equal(wtl_recorder_end(f.recorder, NULL), -ENOSPC);
	finish(&f);
}

static size_t n_kept(const struct wtl_store_writer *writer)
{
	size_t n = writer->front->n_rows;

	for (size_t i = 0; i < writer->front->n_runs; i++)
		n += writer->front->runs[i].n;
	return n;
}

/* It is said once that the recording has stopped, and once more at the end. Nothing is kept for it any more. */
static void test_stopped(void **state)
{
	const struct wtl_device_value device = {0, WTL_DEVICE_TEMPERATURE_C, 61};
	struct wtl_recorder_options options = {.interval_ns = 100 * MS};
	struct wtl_recorder *next;
	char *path;
	struct wtl_err err = {.code = 0};
	struct fixture f;
	size_t kept;

	(void)state;
	start(&f);
	wtl_recorder_fact(f.recorder, "marked", "before");
	assert_int_equal(wattle_window_begin(f.bench.meter, "w"), 0);
	meter_bench_tick(&f.bench, S);
	wtl_recorder_writer(f.recorder)->error = -ENOSPC;
	assert_int_equal(wtl_recorder_commit(f.recorder, NULL), -ENOSPC);
	kept = n_kept(wtl_recorder_writer(f.recorder));
	wtl_recorder_fact(f.recorder, "marked", "after");
	wtl_recorder_bytes(f.recorder, WTL_SERIES_PROFILE, "x", 1);
	wtl_recorder_marked_by(f.recorder, "w", 77);
	wtl_recorder_window(f.recorder, "w", true, NULL, NULL);
	wtl_recorder_devices(f.recorder, &device, 1);
	meter_bench_tick(&f.bench, S);
	assert_int_equal(n_kept(wtl_recorder_writer(f.recorder)), kept);
	assert_int_equal(wtl_recorder_commit(f.recorder, &err), 0);
	assert_int_equal(err.code, 0);
	options.path = path = unit_path(f.dir, "next.wattle");
	assert_int_equal(wtl_recorder_new(f.bench.meter, NULL, &options, &next, NULL), 0);
	assert_int_equal(wtl_recorder_end(f.recorder, &err), -ENOSPC);
	assert_non_null(f.bench.meter->observer); /* the next one still records */
	assert_int_equal(wtl_recorder_end(next, NULL), 0);
	assert_int_equal(wtl_recorder_end(NULL, NULL), 0);
	assert_null(f.bench.meter->observer);
	free(path);
	finish(&f);
}

/* Bytes are eight a value, the lowest first, behind their length; nothing of them is lost with a period's end, which
 * who writes them can see. */
static void test_bytes(void **state)
{
	static const char text[] = "abcdefghijklm";
	static const size_t lens[] = {0, 1, 7, 8, 9, 13};
	struct wtl_store_writer *writer;
	struct wtl_store_reader *reader;
	const int64_t *values;
	struct fixture f;
	size_t n, at = 0;

	(void)state;
	start(&f);
	writer = wtl_recorder_writer(f.recorder);
	wtl_writer_wait(writer);
	assert_int_equal(wtl_recorder_periods(f.recorder), 0);
	for (size_t i = 0; i < UNIT_COUNT(lens); i++)
		wtl_recorder_bytes(f.recorder, WTL_SERIES_PROFILE, text, lens[i]);
	meter_bench_tick(&f.bench, 3600 * S);
	assert_int_equal(wtl_recorder_commit(f.recorder, NULL), 0);
	assert_int_equal(wtl_recorder_periods(f.recorder), 1);
	meter_bench_tick(&f.bench, S);
	stop(&f);
	assert_int_equal(wtl_store_open(f.path, &reader, NULL), 0);
	assert_true(wtl_store_find(reader, WTL_SERIES_PROFILE) >= 0);
	assert_int_equal(wtl_store_values(reader,
					  (uint32_t)wtl_store_find(reader, WTL_SERIES_PROFILE), 0,
					  &values, &n, NULL),
			 0);
	for (size_t i = 0; i < UNIT_COUNT(lens); i++) {
		char bytes[16] = "";
		size_t n_values = (lens[i] + 7) / 8;

		assert_true(at + 1 + n_values <= n);
		assert_int_equal(values[at], lens[i]);
		memcpy(bytes, &values[at + 1], 8 * n_values);
		assert_memory_equal(bytes, text, lens[i]);
		for (size_t k = lens[i]; k < 8 * n_values; k++)
			assert_int_equal(bytes[k], 0);
		at += 1 + n_values;
	}
	assert_int_equal(at, n);
	wtl_store_close(reader);
	finish(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_many_windows),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_a_channel_that_comes_and_goes),
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_long_reasons),
		cmocka_unit_test(test_a_gap_at_the_end),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_marked),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_figures_by_the_header),
		cmocka_unit_test(test_between_samples),
		cmocka_unit_test(test_commits_by_itself),
		cmocka_unit_test(test_own_cpu_time),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_no_rows),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_disk),
		cmocka_unit_test(test_a_channel_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
