/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sensors/model_curve.h"
#include "sensors/source.h"
#include "source_bench.h"

#define SECOND INT64_C(1000000000)
#define GIB    (UINT64_C(1) << 30)

/* ---- The curve ---- */

static void roots(void **state)
{
	static const uint64_t values[] = {0,
					  1,
					  2,
					  3,
					  4,
					  15,
					  16,
					  17,
					  99,
					  100,
					  UINT32_MAX,
					  UINT64_C(1) << 62,
					  (UINT64_C(1) << 62) - 1,
					  UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		unsigned __int128 root = wtl_model_sqrt(values[i]);

		assert_true(root * root <= values[i]);
		assert_true((root + 1) * (root + 1) > values[i]);
	}
}

/* Measured: no busy CPU, and one (ICPE 2024 data, facts/rapl-and-processes.md 2). */
static void curve_against_measured_machines(void **state)
{
	static const struct {
		uint64_t tdp_mw;
		unsigned n_cpus, busy;
		uint64_t measured_mw, curve_mw;
	} points[] = {
		{210000, 48, 0, 27700, 42000},
		{210000, 48, 1, 63500, 66248},
		{410000, 128, 0, 143900, 82000},
		{410000, 128, 1, 181750, 110991},
	};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		uint64_t mw = wtl_model_cpu_uj(points[i].tdp_mw, points[i].busy * (uint64_t)SECOND,
					       SECOND, points[i].n_cpus) /
			      1000;
		uint64_t off = mw > points[i].measured_mw ? mw - points[i].measured_mw
							  : points[i].measured_mw - mw;

		assert_int_equal(mw, points[i].curve_mw);
		/* The expanded uncertainty is all of the figure; 4/5 of it holds the four. */
		assert_true(off * 5 <= mw * 4);
	}
}

static void curve_bounds(void **state)
{
	uint64_t before = 0;

	(void)state;
	assert_int_equal(wtl_model_cpu_uj(100000, 0, SECOND, 4), 20000000);
	assert_int_equal(wtl_model_cpu_uj(100000, 4 * (uint64_t)SECOND, SECOND, 4), 100000000);
	assert_int_equal(wtl_model_cpu_uj(100000, (uint64_t)SECOND, SECOND, 4), 60000000);
	/* More than there is, no time, no CPUs, and the most that fits. */
	assert_int_equal(wtl_model_cpu_uj(100000, UINT64_MAX, SECOND, 4), 100000000);
	assert_int_equal(wtl_model_cpu_uj(100000, 5, 0, 4), 0);
	assert_int_equal(wtl_model_cpu_uj(100000, 5, -SECOND, 4), 0);
	assert_int_equal(wtl_model_cpu_uj(100000, 5, SECOND, 0), 0);
	assert_int_equal(wtl_model_cpu_uj(UINT32_MAX, UINT64_MAX, INT64_MAX, 1), UINT64_MAX);
	for (uint64_t busy_ns = 0; busy_ns <= 8 * (uint64_t)SECOND; busy_ns += 12345679) {
		uint64_t uj = wtl_model_cpu_uj(350000, busy_ns, SECOND, 8);

		assert_true(uj >= before);
		before = uj;
	}
}

static void memory(void **state)
{
	static const struct {
		uint64_t mib; /* as MemTotal says it */
		unsigned dimms;
		uint64_t mw, arm_mw;
	} cases[] = {
		{0, 0, 0, 0},
		{1000, 1, 5000, 1500},
		{7620, 2, 10000, 3000},
		{15800, 2, 10000, 3000},
		{16384, 2, 10000, 3000},
		{64200, 4, 20000, 6000},
		{128600, 8, 38000, 11400},
		{193000, 12, 54000, 16200}, /* 192 GiB as 12 × 16 */
		{257600, 8, 38000, 11400},
		{1031400, 8, 38000, 11400}, /* 1 TiB as 8 × 128 */
		{4125600, 32, 126000, 37800},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t bytes = cases[i].mib << 20;

		assert_int_equal(wtl_model_dimms(bytes), cases[i].dimms);
		assert_int_equal(wtl_model_dram_mw(bytes, false, false), cases[i].mw);
		assert_int_equal(wtl_model_dram_mw(bytes, false, true), cases[i].arm_mw);
	}
	assert_int_equal(wtl_model_dram_mw(8 * GIB, true, false), 3000);
	assert_int_equal(wtl_model_dram_mw(GIB / 2, true, true), 187);
	assert_true(wtl_model_dimms(UINT64_MAX) == 32);
}

static void stat_line(void **state)
{
	static const struct {
		const char *text;
		int64_t idle_ns; /* < 0: refused */
	} cases[] = {
		{"cpu  3248 0 1220 392856 31 0 7 0 0 0\n", 392887 * INT64_C(10000000)},
		{"cpu 0 0 0 7 8\ncpu0 ", 15 * INT64_C(10000000)},
		{"cpu  1 2 3 4 5", -1}, /* not complete */
		{"cpu  1 2 3 4\n", -1},
		{"cpu0 1 2 3 4 5\n", -1},
		{"cpu  1 2 3 x 5\n", -1},
		{"cpu  1 2 3 -4 5\n", -1},
		{"cpu  1 2 3 922337203686 0\n", -1}, /* does not fit in ns */
		{"cpu  1 2 3 922337203684 1\n", INT64_C(9223372036850000000)},
		{"", -1},
		{"cpu \n", -1},
		{"intr 1\n", -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int64_t idle_ns = -7;
		int rc = wtl_model_parse_stat(cases[i].text, strlen(cases[i].text), &idle_ns);

		assert_int_equal(rc, cases[i].idle_ns < 0 ? -EINVAL : 0);
		assert_int_equal(idle_ns, cases[i].idle_ns < 0 ? -7 : cases[i].idle_ns);
	}
}

/* ---- The source ---- */

static void set_idle(const struct bench *bench, int64_t idle_ms, const char *tail)
{
	char text[4096];

	/* In two columns, cut to ticks. */
	snprintf(text, sizeof(text), "cpu  10 0 10 %" PRId64 " 1 0 0 0 0 0\n%s", idle_ms / 10 - 1,
		 tail);
	bench_write(bench, "/proc/stat", text);
}

static void virtual_machine(void **state)
{
	struct bench bench;
	const struct wtl_channel *channel;
	uint64_t cpu, dram;

	(void)state;
	bench_copy(&bench, "vm-nothing");
	set_idle(&bench, 1000000, "");
	bench_open(&bench, &wtl_source_model);
	assert_int_equal(bench.catalog.n_misses, 0);
	/* One package, whatever the topology claims: 4 CPUs at 4 W. */
	assert_int_equal(bench.catalog.n_channels, 3);
	channel = bench_channel(&bench, "package-0");
	assert_int_equal(channel->kind, WATTLE_KIND_CPU);
	assert_int_equal(channel->method, WATTLE_METHOD_MODELLED);
	assert_int_equal(channel->quantity, WTL_QUANTITY_ENERGY);
	assert_true(channel->in_total);
	assert_int_equal(channel->gain_ppm, 500000);
	assert_int_equal(channel->range, 0);
	assert_string_equal(channel->device, "modelled from 4 W for each of 4 CPUs");
	/* At no use, by the same curve as below. */
	assert_int_equal(channel->idle_uw, 3200000);
	channel = bench_channel(&bench, "dram-0");
	assert_int_equal(channel->kind, WATTLE_KIND_DRAM);
	assert_int_equal(channel->idle_uw, 3000000);
	assert_string_equal(channel->device, "modelled from 8 GiB at 0.375 W each");

	bench_read(&bench, SECOND);
	cpu = bench_reading(&bench, "package-0")->value;
	dram = bench_reading(&bench, "dram-0")->value;
	/* Idle for a second: 20 % of 16 W. DRAM: 3 W. */
	set_idle(&bench, 1004000, "");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->value - cpu, 3200000);
	assert_int_equal(bench_reading(&bench, "dram-0")->value - dram, 3000000);
	/* One of four busy: 20 % + 80 % × √¼ = 60 %. */
	set_idle(&bench, 1007000, "");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->value - cpu, 3200000 + 9600000);
	/* All: 16 W. */
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->value - cpu,
			 3200000 + 9600000 + 16000000);
	assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_OK);
	bench_done(&bench);
}

/* An idle machine that is read a thousand times a second is not made busy by the 10 ms ticks. */
static void fast_reads_of_an_idle_machine(void **state)
{
	struct bench bench;
	uint64_t before = 0, last;
	int64_t idle_us = 1000000000;

	(void)state;
	bench_copy(&bench, "vm-nothing");
	set_idle(&bench, idle_us / 1000, "");
	bench_open(&bench, &wtl_source_model);
	bench_read(&bench, SECOND);
	before = last = bench_reading(&bench, "package-0")->value;
	for (int i = 0; i < 5000; i++) {
		uint64_t value;

		idle_us += 4 * 1000;
		set_idle(&bench, idle_us / 1000, "");
		bench_read(&bench, SECOND / 1000);
		value = bench_reading(&bench, "package-0")->value;
		assert_true(value >= last);
		last = value;
	}
	/* 5 s × 3.2 W = 16 J; all busy would be 80 J. One tick in a stretch is 4 % of the range. */
	assert_true(last - before >= 16000000);
	assert_true(last - before <= 16000000 * 125 / 100);
	bench_done(&bench);
}

/* Samples every millisecond read the ticks once in twenty, and each has a figure of its own. */
static void fast_samples_read_every_other_tick(void **state)
{
	struct bench bench;
	uint64_t first, last;
	int64_t idle_ms = 1000000;
	unsigned reads;

	(void)state;
	bench_copy(&bench, "vm-nothing");
	set_idle(&bench, idle_ms, "");
	bench_open(&bench, &wtl_source_model);
	/* Half of a CPU of four is busy: 20 % + 80 % × √⅛ of 16 W. */
	for (int i = 0; i < 10; i++) {
		set_idle(&bench, idle_ms += 350, "");
		bench_read(&bench, SECOND / 10);
	}
	for (int i = 0; i < 7; i++)
		bench_read(&bench, 0);
	reads = bench.reads;
	first = last = bench_reading(&bench, "package-0")->value;
	for (int i = 1; i <= 900; i++) {
		const struct wtl_reading *reading;

		if (i % 20 == 0)
			set_idle(&bench, idle_ms += 70, "");
		bench_read(&bench, SECOND / 1000);
		reading = bench_reading(&bench, "package-0");
		assert_int_equal(reading->status, WATTLE_STATUS_OK);
		assert_int_equal(reading->t_mono_ns, bench.now_ns);
		assert_true(reading->value >= last);
		last = reading->value;
	}
	/* One more for the list of CPUs, once a second. */
	assert_int_equal(bench.reads - reads, 45 + 1);
	/* 0.9 s of 7.725 W; idle time that comes in steps of 70 ms makes up to 5 %. */
	assert_in_range(last - first, 6950000, 7300000);
	bench_done(&bench);
}

/* A moment that somebody asks about is not guessed, unless it is too early for another tick. */
static void moments_asked_for_are_read(void **state)
{
	struct bench bench;
	int64_t idle_ms = 1000000;
	uint64_t before, asked;
	unsigned reads;

	(void)state;
	bench_copy(&bench, "vm-nothing");
	set_idle(&bench, idle_ms, "");
	bench_open(&bench, &wtl_source_model);
	bench_read(&bench, SECOND);
	set_idle(&bench, idle_ms += 100 * 4, ""); /* idle */
	bench_read(&bench, SECOND / 10);
	for (int i = 0; i < 8; i++)
		bench_read(&bench, 0);
	reads = bench.reads;
	/* Busy from here on, which nobody has read. */
	for (int i = 0; i < 15; i++)
		bench_read(&bench, SECOND / 1000);
	assert_int_equal(bench.reads, reads);
	before = bench_reading(&bench, "package-0")->value;
	bench.ops->ask_for(bench.state);
	bench_read(&bench, 0);
	assert_int_equal(bench.reads - reads, 1);
	asked = bench_reading(&bench, "package-0")->value;
	assert_true(asked > before);
	/* The next one is a sample like others; asked again, it is too early. */
	bench_read(&bench, SECOND / 1000);
	bench.ops->ask_for(bench.state);
	bench_read(&bench, SECOND / 1000);
	assert_int_equal(bench.reads - reads, 1);
	for (int i = 0; i < 16; i++)
		bench_read(&bench, SECOND / 1000);
	assert_int_equal(bench.reads - reads, 1);
	bench_read(&bench, 2 * SECOND / 1000);
	assert_int_equal(bench.reads - reads, 2);
	bench_done(&bench);
}

/* Samples on a grid of 10 ms read each time, however they jitter. */
static void samples_every_tick_read_each(void **state)
{
	struct bench bench;
	unsigned reads;

	(void)state;
	bench_copy(&bench, "vm-nothing");
	set_idle(&bench, 1000000, "");
	bench_open(&bench, &wtl_source_model);
	bench_read(&bench, SECOND);
	bench_read(&bench, SECOND / 10);
	reads = bench.reads;
	for (int i = 0; i < 50; i++)
		bench_read(&bench, SECOND / 100 + (i % 2 ? 200000 : -200000));
	assert_int_equal(bench.reads - reads, 50);
	bench_done(&bench);
}

/* A few samples close together, between slow ones, each read. */
static void a_few_close_samples_read(void **state)
{
	struct bench bench;
	unsigned reads;

	(void)state;
	bench_copy(&bench, "vm-nothing");
	set_idle(&bench, 1000000, "");
	bench_open(&bench, &wtl_source_model);
	bench_read(&bench, SECOND / 10);
	reads = bench.reads;
	for (int i = 0; i < 8; i++) {
		bench_read(&bench, SECOND / 10);
		for (int k = 0; k < 7; k++)
			bench_read(&bench, SECOND / 10000);
	}
	assert_int_equal(bench.reads - reads, 8 * 8);
	bench_done(&bench);
}

/* What is not known to go on as it did is read. */
static void no_guess_without_a_pace(void **state)
{
	struct bench bench;
	unsigned reads;
	uint64_t value;

	(void)state;
	bench_copy(&bench, "vm-nothing");
	set_idle(&bench, 1000000, "");
	bench_open(&bench, &wtl_source_model);
	reads = bench.reads;
	for (int i = 0; i < 20; i++) /* all within a tick */
		bench_read(&bench, SECOND / 10000);
	assert_int_equal(bench.reads - reads, 20);
	bench_read(&bench, SECOND / 110); /* now it is known */
	bench_read(&bench, SECOND / 1000);
	assert_int_equal(bench.reads - reads, 21);
	value = bench_reading(&bench, "package-0")->value;
	/* A failure is seen by the next read, and told each time until it is over. */
	bench_write(&bench, "/proc/stat", "nothing");
	bench_read(&bench, SECOND / 1000);
	assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_OK);
	for (int i = 0; i < 2; i++)
		bench_read(&bench, SECOND / 110);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_FAILED);
		bench_read(&bench, SECOND / 1000);
	}
	assert_int_equal(bench.reads - reads, 25);
	set_idle(&bench, 1000100, "");
	bench_read(&bench, SECOND / 1000);
	assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_OK);
	assert_true(bench_reading(&bench, "package-0")->value > value);
	bench_done(&bench);
}

/* The most idle time that there can be: what is guessed beyond it does not wrap. */
static void the_last_idle_time(void **state)
{
	struct bench bench;
	unsigned reads;
	uint64_t value;

	(void)state;
	bench_copy(&bench, "vm-nothing");
	bench_write(&bench, "/proc/stat", "cpu  1 2 3 922337203284 1\n");
	bench_open(&bench, &wtl_source_model);
	bench_read(&bench, 0);
	bench_write(&bench, "/proc/stat", "cpu  1 2 3 922337203684 1\n");
	bench_read(&bench, SECOND);
	for (int i = 0; i < 7; i++)
		bench_read(&bench, 0);
	reads = bench.reads;
	value = bench_reading(&bench, "package-0")->value;
	/* 8 ms idle would be past the end: 4.78 ms are not, and the rest counts as busy. */
	bench_read(&bench, SECOND / 500);
	assert_int_equal(bench.reads, reads);
	assert_in_range(bench_reading(&bench, "package-0")->value - value, 22000, 23000);
	bench_done(&bench);
}

/* The energy of a stretch does not depend on how often it was read. */
static void slow_and_fast_reads_agree(void **state)
{
	uint64_t total[2];

	(void)state;
	for (int fast = 0; fast < 2; fast++) {
		struct bench bench;
		int64_t idle_ms = 5000000;
		uint64_t before;

		bench_copy(&bench, "vm-nothing");
		set_idle(&bench, idle_ms, "");
		bench_open(&bench, &wtl_source_model);
		bench_read(&bench, SECOND);
		before = bench_reading(&bench, "package-0")->value;
		for (int i = 1; i <= 100; i++) {
			/* 2.5 of 4 busy */
			idle_ms += 15;
			set_idle(&bench, idle_ms, "");
			bench.now_ns += SECOND / 100;
			if (fast || i == 100)
				bench_read(&bench, 0);
		}
		total[fast] = bench_reading(&bench, "package-0")->value - before;
		bench_done(&bench);
	}
	assert_int_equal(total[0], total[1]);
}

static void no_time_no_energy_and_steps_back(void **state)
{
	struct bench bench;
	uint64_t before;

	(void)state;
	bench_copy(&bench, "vm-nothing");
	set_idle(&bench, 1000000, "");
	bench_open(&bench, &wtl_source_model);
	bench_read(&bench, SECOND);
	bench_read(&bench, SECOND / 2);
	before = bench_reading(&bench, "package-0")->value;
	bench_read(&bench, 0);
	assert_int_equal(bench_reading(&bench, "package-0")->value, before);
	/* iowait may step back (Documentation/filesystems/proc.rst): not more than all busy. */
	set_idle(&bench, 900000, "");
	bench_read(&bench, SECOND / 2);
	assert_int_equal(bench_reading(&bench, "package-0")->value, 16000000);
	/* Idle time jumps far ahead: idle, not less. */
	set_idle(&bench, 9000000, "");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->value, 16000000 + 3200000);
	bench_done(&bench);
}

static void long_stat_and_broken_stat(void **state)
{
	char tail[3000];
	struct bench bench;
	uint64_t before;

	(void)state;
	memset(tail, 'x', sizeof(tail) - 1);
	tail[sizeof(tail) - 1] = '\0';
	bench_copy(&bench, "vm-nothing");
	set_idle(&bench, 1000000, tail);
	bench_open(&bench, &wtl_source_model);
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_OK);
	before = bench_reading(&bench, "package-0")->value;

	bench_write(&bench, "/proc/stat", tail);
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_FAILED);
	assert_int_equal(bench_reading(&bench, "package-0")->error, -EINVAL);
	assert_int_equal(bench_reading(&bench, "dram-0")->status, WATTLE_STATUS_OK);
	bench_write(&bench, "/proc/stat", "!errno EIO");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->error, -EIO);
	/* Nothing is lost: the idle time of the missing seconds is in the counter. */
	set_idle(&bench, 1000000 + 3 * 4000, tail);
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->status, WATTLE_STATUS_OK);
	assert_int_equal(bench_reading(&bench, "package-0")->value - before, 3 * 3200000);
	bench_done(&bench);
}

static void cpus_go_offline(void **state)
{
	struct bench bench;
	uint64_t before;

	(void)state;
	bench_copy(&bench, "vm-nothing");
	set_idle(&bench, 1000000, "");
	bench_open(&bench, &wtl_source_model);
	bench_read(&bench, SECOND);
	bench_write(&bench, "/sys/devices/system/cpu/online", "0,2\n");
	set_idle(&bench, 1004000, "");
	bench_read(&bench, SECOND);
	before = bench_reading(&bench, "package-0")->value;
	/* Two CPUs' idle time in a second is a machine of two that is idle. */
	set_idle(&bench, 1006000, "");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->value - before, 3200000);
	bench_done(&bench);
}

static void real_machine_with_a_known_processor(void **state)
{
	struct bench bench;
	char text[256];

	(void)state;
	bench_copy(&bench, "xeon-2s-dram");
	bench_open(&bench, &wtl_source_model);
	assert_string_equal(bench_domains(&bench, text, sizeof(text)),
			    "package-0 package-1 machine dram-0");
	assert_string_equal(bench_channel(&bench, "package-1")->device,
			    "modelled from TDP 205 W of Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz");
	assert_string_equal(bench_channel(&bench, "dram-0")->device,
			    "modelled from 256 GiB, about 8 modules");
	bench_read(&bench, SECOND);
	assert_int_equal(bench_reading(&bench, "package-0")->value,
			 bench_reading(&bench, "package-1")->value);
	bench_done(&bench);
}

static void other_channel(struct bench *bench, const char *domain, enum wattle_kind kind,
			  bool in_total)
{
	struct wtl_channel channel = {.kind = kind, .in_total = in_total, .unit = {1, 1}};

	snprintf(channel.domain, sizeof(channel.domain), "%s", domain);
	bench->catalog.source = "other";
	assert_return_code(wtl_catalog_add(&bench->catalog, &channel), 0);
}

/* Only what nothing measures is modelled. */
static void only_what_is_missing(void **state)
{
	static const struct {
		enum wattle_kind kind;
		bool in_total;
		const char *domains;
	} cases[] = {
		{WATTLE_KIND_CPU, true, "other dram-0"},
		{WATTLE_KIND_SOC, true, "other dram-0"},
		{WATTLE_KIND_DRAM, true, "other package-0 machine"},
		{WATTLE_KIND_GPU, true, "other package-0 machine dram-0"},
		{WATTLE_KIND_BOARD, false, "other package-0 dram-0"},
		{WATTLE_KIND_PLATFORM, false, "other package-0 dram-0"},
		{WATTLE_KIND_MODULE, true, "other"},
		{WATTLE_KIND_MODULE, false, "other package-0 machine dram-0"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench bench;
		char text[256];

		bench_root(&bench, "vm-nothing");
		other_channel(&bench, "other", cases[i].kind, cases[i].in_total);
		bench_open(&bench, &wtl_source_model);
		assert_string_equal(bench_domains(&bench, text, sizeof(text)), cases[i].domains);
		bench.ops->read(bench.state, bench.readings);
		bench_done(&bench);
	}
}

/* A domain that is denied is modelled all the same, under its name. */
static void denied_is_modelled(void **state)
{
	struct bench bench;

	(void)state;
	bench_root(&bench, "vm-nothing");
	bench.catalog.source = "rapl-powercap";
	assert_return_code(wtl_catalog_missf(&bench.catalog, WATTLE_KIND_CPU, "package-0",
					     WATTLE_STATUS_DENIED, "", "root only"),
			   0);
	bench_open(&bench, &wtl_source_model);
	assert_int_equal(bench_channel(&bench, "package-0")->method, WATTLE_METHOD_MODELLED);
	bench_done(&bench);
}

static void nothing_to_model_from(void **state)
{
	struct bench bench;

	(void)state;
	bench_copy(&bench, "");
	bench_open(&bench, &wtl_source_model);
	assert_int_equal(bench.catalog.n_channels, 0);
	assert_int_equal(bench_miss(&bench, "package-0")->status, WATTLE_STATUS_FAILED);
	bench_read(&bench, SECOND);
	bench_done(&bench);

	bench_root(&bench, "rubbish");
	bench_open(&bench, &wtl_source_model);
	/* A load, but no memory size and no name. */
	assert_int_equal(bench.catalog.n_channels, 1);
	assert_string_equal(bench.catalog.channels[0].domain, "package-0");
	bench_done(&bench);
}

static void steady_reads_cost_two_files(void **state)
{
	struct bench bench;
	unsigned reads, opens;

	(void)state;
	bench_root(&bench, "vm-nothing");
	bench_open(&bench, &wtl_source_model);
	bench_read(&bench, SECOND);
	reads = bench.reads;
	opens = bench.opens;
	for (int i = 0; i < 9; i++)
		bench_read(&bench, SECOND / 10);
	assert_int_equal(bench.reads - reads, 9);
	assert_int_equal(bench.opens, opens);
	/* And the list of CPUs once a second. */
	bench_read(&bench, SECOND / 10);
	assert_int_equal(bench.reads - reads, 11);
	bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots),
		cmocka_unit_test(curve_against_measured_machines),
		cmocka_unit_test(curve_bounds),
		cmocka_unit_test(memory),
		cmocka_unit_test(stat_line),
		cmocka_unit_test(virtual_machine),
		cmocka_unit_test(fast_reads_of_an_idle_machine),
		cmocka_unit_test(fast_samples_read_every_other_tick),
		cmocka_unit_test(moments_asked_for_are_read),
		cmocka_unit_test(samples_every_tick_read_each),
		cmocka_unit_test(a_few_close_samples_read),
		cmocka_unit_test(no_guess_without_a_pace),
		cmocka_unit_test(the_last_idle_time),
		cmocka_unit_test(slow_and_fast_reads_agree),
		cmocka_unit_test(no_time_no_energy_and_steps_back),
		cmocka_unit_test(long_stat_and_broken_stat),
		cmocka_unit_test(cpus_go_offline),
		cmocka_unit_test(real_machine_with_a_known_processor),
		cmocka_unit_test(only_what_is_missing),
		cmocka_unit_test(denied_is_modelled),
		cmocka_unit_test(nothing_to_model_from),
		cmocka_unit_test(steady_reads_cost_two_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
