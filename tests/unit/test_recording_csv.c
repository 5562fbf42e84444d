/* SPDX-License-Identifier: MIT */
/* Recordings, comparisons and runs as CSV: which columns, and that rows add up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "output_bench.h"
#include "recording_bench.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define J	     BENCH_J
#define S	     BENCH_S

static const struct wtl_output_style plain = {.color = false};

static struct table *table_of(const struct wtl_recording *recording)
{
	char *text = recording_bench_text("csv", recording, plain);
	struct table *table = table_new(text);

	free(text);
	return table;
}

static void set_by(struct recording_bench *bench, enum wtl_by by)
{
	bench->recording.has_by = true;
	bench->recording.by = by;
	bench->grouping.by = by;
	bench->recording.n_groupings = by == WTL_BY_PROCESS || by == WTL_BY_WINDOW ? 0 : 1;
}

/* Programs read these: a column that goes or moves breaks them. */
static void assert_columns(const struct table *table, const char *wanted)
{
	char found[1024] = "";

	for (size_t i = 0; i < table->rows[0].n_cells; i++) {
		strcat(found, i ? "," : "");
		strcat(found, table->rows[0].cells[i]);
		assert_true(strlen(found) < 900);
	}
	assert_string_equal(found, wanted);
}

static const char group_columns[] = "start_utc,duration_s,by,name,pid,user,processes,cpu_s,"
				    "dynamic_j,full_j,uncertainty_j,gpu_j";

static int64_t sum_of(const struct table *table, const char *column)
{
	int64_t sum = 0;

	for (size_t row = 1; row < table->n_rows; row++)
		if (table_cell(table, row, column)[0])
			sum += table_fixed(table, row, column, 6);
	return sum;
}

/* ---- Groups ---- */

static void test_processes(void **state)
{
	static const char *const names[] = {"cc1", "postgres", "sh", "others", "no process"};
	static const char *const pids[] = {"100", "200", "", "", ""};
	static const char *const users[] = {"ada", "bob", "bob", "", ""};
	static const char *const counts[] = {"1", "1", "7", "12", ""};
	static const char *const cpu[] = {"10.000000000", "5.000000000", "1.500000000",
					  "0.250000000", ""};
	static const char *const dynamics[] = {"250.250000", "40.000000", "10.000000", "2.000000",
					       ""};
	static const char *const gpus[] = {"280.000000", "0.000000", "0.000000", "", ""};
	struct recording_bench bench;
	struct table *table;

	(void)state;
	recording_bench_init(&bench);
	set_by(&bench, WTL_BY_PROCESS);
	table = table_of(&bench.recording);
	assert_columns(table, group_columns);
	assert_int_equal(table->n_rows, 1 + COUNT(names));
	for (size_t i = 0; i < COUNT(names); i++) {
		table_assert(table, i + 1, "start_utc", "2026-11-21T14:00:00.000Z");
		table_assert(table, i + 1, "duration_s", "10.000000000");
		table_assert(table, i + 1, "by", "process");
		table_assert(table, i + 1, "name", names[i]);
		table_assert(table, i + 1, "pid", pids[i]);
		table_assert(table, i + 1, "user", users[i]);
		table_assert(table, i + 1, "processes", counts[i]);
		table_assert(table, i + 1, "cpu_s", cpu[i]);
		table_assert(table, i + 1, "dynamic_j", dynamics[i]);
		table_assert(table, i + 1, "gpu_j", gpus[i]);
	}
	/* The rows are the total, to the microjoule. */
	assert_int_equal(sum_of(table, "full_j"), J(420));
	table_free(table);
}

/* Where no GPU has a figure, nobody's GPU energy is 0. */
static void test_no_gpu(void **state)
{
	static const enum wtl_by keys[] = {WTL_BY_PROCESS, WTL_BY_USER};

	(void)state;
	for (size_t i = 0; i < COUNT(keys); i++) {
		struct recording_bench bench;
		struct table *table;

		recording_bench_init(&bench);
		set_by(&bench, keys[i]);
		bench.domains[2].domain.kind = WATTLE_KIND_BOARD;
		table = table_of(&bench.recording);
		assert_true(table->n_rows > 4);
		for (size_t row = 1; row < table->n_rows; row++)
			table_assert(table, row, "gpu_j", "");
		table_free(table);
	}
}

static void test_groups_by_every_key(void **state)
{
	struct recording_bench bench;

	(void)state;
	for (int by = 0; by < WTL_BYS; by++) {
		struct table *table;

		if (by == WTL_BY_PROCESS || by == WTL_BY_WINDOW)
			continue;
		recording_bench_init(&bench);
		set_by(&bench, (enum wtl_by)by);
		table = table_of(&bench.recording);
		assert_columns(table, group_columns);
		assert_int_equal(table->n_rows, 5);
		for (size_t row = 1; row < table->n_rows; row++) {
			table_assert(table, row, "by", wtl_by_name((enum wtl_by)by));
			table_assert(table, row, "pid", "");
			table_assert(table, row, "user", "");
		}
		table_assert(table, 1, "name", "ada");
		table_assert(table, 1, "full_j", "300.500000");
		table_assert(table, 1, "uncertainty_j", "12.000000");
		table_assert(table, 2, "name", "bob");
		table_assert(table, 2, "processes", "8");
		table_assert(table, 3, "name", "others");
		table_assert(table, 3, "cpu_s", "0.250000000");
		table_assert(table, 4, "name", "no process");
		table_assert(table, 4, "full_j", "35.000000");
		table_assert(table, 4, "processes", "");
		assert_int_equal(sum_of(table, "full_j"), J(420));
		table_free(table);
	}
}

/* What belongs to no user, container, … has no name: the cell is empty, and the row stays. */
static void test_nameless_groups(void **state)
{
	struct recording_bench bench;
	struct table *table;

	(void)state;
	recording_bench_init(&bench);
	set_by(&bench, WTL_BY_CONTAINER);
	bench.groups[1].name = "";
	bench.grouping.n_others = 0;
	bench.groups[1].all.full_uj += bench.grouping.others.all.full_uj;
	bench.grouping.others = (struct wtl_recording_group){.name = ""};
	table = table_of(&bench.recording);
	assert_int_equal(table->n_rows, 4);
	table_assert(table, 2, "name", "");
	table_assert(table, 2, "full_j", "84.500000");
	table_assert(table, 3, "name", "no process");
	assert_int_equal(sum_of(table, "full_j"), J(420));
	table_free(table);
}

/* Without a baseline there is no dynamic part: nothing, which is not 0. */
static void test_groups_without_a_baseline(void **state)
{
	struct recording_bench bench;
	struct table *table;

	(void)state;
	recording_bench_init(&bench);
	set_by(&bench, WTL_BY_USER);
	bench.groups[0].all.has_dynamic = false;
	bench.consumers[1].cpu_ns = -1;
	table = table_of(&bench.recording);
	table_assert(table, 1, "dynamic_j", "");
	table_assert(table, 2, "dynamic_j", "50.000000");
	table_free(table);
	set_by(&bench, WTL_BY_PROCESS);
	table = table_of(&bench.recording);
	table_assert(table, 2, "cpu_s", "");
	table_free(table);
}

static void test_hostile_names(void **state)
{
	static const struct {
		const char *name, *cell;
	} hostile[] = {
		{"=1+1", "'=1+1"},
		{"@SUM(A1:A9)", "'@SUM(A1:A9)"},
		{"a,\"b\"", "a,\"b\""},
		{"x\n2026,1,user,root", "x\\n2026,1,user,root"},
		{"\x1b[2J\xff", "\\x1b[2J\\xff"},
	};
	struct recording_bench bench;

	(void)state;
	recording_bench_init(&bench);
	for (size_t i = 0; i < COUNT(hostile); i++) {
		struct table *table;

		bench.groups[0].name = hostile[i].name;
		bench.processes[0].user = hostile[i].name;
		bench.consumers[0].command = hostile[i].name;
		bench.windows[1].name = hostile[i].name;
		set_by(&bench, WTL_BY_USER);
		table = table_of(&bench.recording);
		assert_int_equal(table->n_rows, 5);
		table_assert(table, 1, "name", hostile[i].cell);
		table_free(table);
		set_by(&bench, WTL_BY_PROCESS);
		table = table_of(&bench.recording);
		table_assert(table, 1, "name", hostile[i].cell);
		table_assert(table, 1, "user", hostile[i].cell);
		assert_int_equal(sum_of(table, "full_j"), J(420));
		table_free(table);
		set_by(&bench, WTL_BY_WINDOW);
		table = table_of(&bench.recording);
		table_assert(table, 6, "name", hostile[i].cell);
		table_free(table);
	}
}

/* ---- Windows ---- */

static void test_windows(void **state)
{
	struct recording_bench bench;
	struct table *table;

	(void)state;
	recording_bench_init(&bench);
	set_by(&bench, WTL_BY_WINDOW);
	table = table_of(&bench.recording);
	assert_columns(table, "id,name,begin_utc,begin_mono_ns,duration_s,is_main,is_open,pid,"
			      "domain,energy_j,uncertainty_j,mean_w,max_w,measured_s,gap_s,flags,"
			      "gco2e,gco2e_uncertainty,is_cut");
	/* Three with four domains and a total, one with neither. */
	assert_int_equal(table->n_rows, 1 + 3 * 5 + 1);
	for (size_t i = 0; i < 3; i++) {
		int64_t sum_uj = 0;

		for (size_t k = 0; k < BENCH_DOMAINS; k++) {
			size_t row = 1 + i * 5 + k;

			table_assert(table, row, "domain", bench.domains[k].domain.name);
			if (bench.domains[k].domain.in_total)
				sum_uj += table_fixed(table, row, "energy_j", 6);
			table_assert(table, row, "measured_s", "9.500000000");
			table_assert(table, row, "gap_s", "0.500000000");
			table_assert(table, row, "gco2e", "");
			table_assert(table, row, "gco2e_uncertainty", "");
			table_assert(table, row, "is_cut", "false");
		}
		table_assert(table, 5 + i * 5, "domain", "total");
		assert_int_equal(table_fixed(table, 5 + i * 5, "energy_j", 6), sum_uj);
		table_assert(table, 5 + i * 5, "mean_w", "42.000000");
		table_assert(table, 5 + i * 5, "max_w", "84.000000");
		table_assert(table, 5 + i * 5, "is_main", i == 0 ? "true" : "false");
		table_assert(table, 5 + i * 5, "is_open", i == 2 ? "true" : "false");
		table_assert(table, 5 + i * 5, "is_cut", "false");
		table_assert(table, 5 + i * 5, "pid", i == 1 ? "4711" : "");
		table_assert(table, 5 + i * 5, "gco2e", i < 2 ? "0.006538000" : "");
		table_assert(table, 5 + i * 5, "gco2e_uncertainty", i < 2 ? "0.001300000" : "");
	}
	table_assert(table, 6, "begin_utc", "2026-11-21T14:00:01.000Z");
	table_assert(table, 6, "begin_mono_ns", "1000001000");
	table_assert(table, 16, "name", "late");
	table_assert(table, 16, "is_cut", "true");
	table_assert(table, 16, "is_open", "false");
	table_free(table);
	/* In every row of a window with figures. */
	bench.windows[1].is_cut = true;
	table = table_of(&bench.recording);
	for (size_t row = 1; row <= 15; row++)
		table_assert(table, row, "is_cut", row > 5 && row <= 10 ? "true" : "false");
	table_free(table);
}

/* Figures that are not known are empty, never 0. */
static void test_windows_without_figures(void **state)
{
	static const char *const none[] = {"energy_j",	 "uncertainty_j", "mean_w", "max_w",
					   "measured_s", "gap_s",	  "flags"};
	struct recording_bench bench;
	struct table *table;

	(void)state;
	recording_bench_init(&bench);
	set_by(&bench, WTL_BY_WINDOW);
	bench.windows[3].window.total.has_energy = 0;
	bench.energies[0].has_power = 0;
	bench.energies[0].flags = WATTLE_ENERGY_SHORT | WATTLE_ENERGY_DISAGREES;
	bench.energies[2].has_energy = 0;
	bench.energies[2].flags = WATTLE_ENERGY_RESET;
	table = table_of(&bench.recording);
	table_assert(table, 16, "name", "late");
	table_assert(table, 16, "domain", "total");
	table_assert(table, 16, "duration_s", "");
	for (size_t i = 0; i < COUNT(none); i++) {
		table_assert(table, 16, none[i], "");
		table_assert(table, 3, none[i], "");
	}
	table_assert(table, 1, "energy_j", "100.000000");
	table_assert(table, 1, "mean_w", "");
	table_assert(table, 1, "max_w", "");
	table_assert(table, 1, "flags", "short disagrees");
	table_free(table);
}

/* ---- The whole ---- */

/* Without a key it is the table of `wattle run`: a row a domain, and the total. */
static void test_as_a_report(void **state)
{
	struct recording_bench bench;
	struct table *table;
	int64_t sum_uj = 0;

	(void)state;
	recording_bench_init(&bench);
	table = table_of(&bench.recording);
	assert_int_equal(table->n_rows, 1 + BENCH_DOMAINS + 1);
	for (size_t i = 0; i < BENCH_DOMAINS; i++) {
		int64_t energy_uj = table_fixed(table, i + 1, "energy_j", 6), accounts_uj;

		table_assert(table, i + 1, "domain", bench.domains[i].domain.name);
		if (strcmp(table_cell(table, i + 1, "in_total"), "true") != 0) {
			table_assert(table, i + 1, "live_j", "");
			table_assert(table, i + 1, "idle_j", "");
			assert_int_equal(table_fixed(table, i + 1, "unattributed_j", 6), energy_uj);
			continue;
		}
		accounts_uj = table_fixed(table, i + 1, "live_j", 6) +
			      table_fixed(table, i + 1, "exited_j", 6) +
			      table_fixed(table, i + 1, "kernel_j", 6) +
			      table_fixed(table, i + 1, "idle_j", 6) +
			      table_fixed(table, i + 1, "unattributed_j", 6);
		assert_int_equal(accounts_uj, energy_uj);
		sum_uj += energy_uj;
	}
	table_assert(table, 5, "domain", "total");
	assert_int_equal(table_fixed(table, 5, "energy_j", 6), sum_uj);
	table_assert(table, 5, "gco2e", "0.006538000");
	table_assert(table, 5, "intensity_g_per_kwh", "56.040");
	table_free(table);
}

static void test_empty(void **state)
{
	static const size_t rows[WTL_BYS] = {[WTL_BY_PROCESS] = 2, [WTL_BY_WINDOW] = 1};
	struct recording_bench bench;
	struct table *table;

	(void)state;
	recording_bench_init_empty(&bench);
	table = table_of(&bench.recording);
	assert_int_equal(table->n_rows, 2);
	table_assert(table, 1, "domain", "total");
	table_assert(table, 1, "energy_j", "");
	table_assert(table, 1, "gco2e", "");
	assert_true(table_cell(table, 1, "reason")[0]);
	table_free(table);
	for (int by = 0; by < WTL_BYS; by++) {
		bench.recording.has_by = true;
		bench.recording.by = (enum wtl_by)by;
		table = table_of(&bench.recording);
		assert_int_equal(table->n_rows, rows[by] ? rows[by] : 1);
		table_free(table);
	}
}

/* Appended, a table has no second heading, and is otherwise the same. */
static void test_appended(void **state)
{
	const struct wtl_output_style append = {.append = true};
	struct recording_bench bench;

	(void)state;
	recording_bench_init(&bench);
	for (int by = -1; by < WTL_BYS; by++) {
		char *whole, *more;

		if (by >= 0)
			set_by(&bench, (enum wtl_by)by);
		whole = recording_bench_text("csv", &bench.recording, plain);
		more = recording_bench_text("csv", &bench.recording, append);
		assert_string_equal(strchr(whole, '\n') + 1, more);
		free(whole);
		free(more);
	}
}

/* ---- Several ---- */

static void test_comparison(void **state)
{
	static const struct wtl_compared_value seconds[] = {
		{.is_known = true, .measured = {.value = 4000000}},
		{.is_known = true,
		 .measured = {.value = 3000000},
		 .has_difference = true,
		 .difference = {.is_negative = true,
				.value = 1000000,
				.has_ratio = true,
				.ratio = -0.25}},
	};
	static const struct wtl_compared_value joules[] = {
		{.is_known = true,
		 .measured = {.value = 420000000, .uncertainty = 6333333},
		 .is_incomplete = true},
		{.is_known = true,
		 .measured = {.value = 430000000, .uncertainty = 6500000},
		 .has_difference = true,
		 .has_other_domains = true,
		 .is_common = true,
		 .difference = {.value = 10000000,
				.uncertainty = 300000,
				.is_significant = true,
				.has_ratio = true,
				.ratio = 0.0238095}},
	};
	static const struct wtl_compared_value unknown[] = {
		{.is_known = false},
		{.is_known = true, .measured = {.value = 5, .uncertainty = 7}},
	};
	static const struct wtl_compared_value large[] = {
		{.is_known = true, .measured = {.value = UINT64_MAX, .uncertainty = 1}},
		{.is_known = true,
		 .measured = {.value = 0, .uncertainty = 1},
		 .has_difference = true,
		 .difference = {.is_negative = true,
				.value = UINT64_MAX,
				.uncertainty = 2,
				.is_significant = true,
				.has_ratio = true,
				.ratio = -1.0}},
	};
	/* A mean of several has an error. */
	static const struct wtl_compared_value means[] = {
		{.is_known = true, .measured = {.value = 4000000, .uncertainty = 30000}},
		{.is_known = true,
		 .measured = {.value = 4040000, .uncertainty = 40000},
		 .has_difference = true,
		 .difference =
			 {.value = 40000, .uncertainty = 50000, .has_ratio = true, .ratio = 0.01}},
	};
	static const struct wtl_compared rows[] = {
		{"time", false, WTL_COMPARED_S, seconds}, {"energy", false, WTL_COMPARED_J, joules},
		{"=gpu", true, WTL_COMPARED_W, unknown},  {"CO2e", false, WTL_COMPARED_G, large},
		{"mean", false, WTL_COMPARED_S, means},
	};
	struct recording_bench a, b;
	struct wtl_comparison comparison = {.n_recordings = 2, .rows = rows, .n_rows = COUNT(rows)};
	struct wtl_recording both[2];
	struct table *table;
	char *text;

	(void)state;
	recording_bench_init(&a);
	recording_bench_init(&b);
	both[0] = a.recording;
	both[1] = b.recording;
	both[1].path = "-b,\".wattle";
	comparison.recordings = both;
	text = comparison_bench_text("csv", &comparison, plain);
	table = table_new(text);
	free(text);
	assert_columns(table, "what,unit,recording,file,value,uncertainty,difference,"
			      "difference_uncertainty,ratio,is_significant,is_same_sensor,"
			      "is_incomplete,has_other_domains");
	assert_int_equal(table->n_rows, 11);
	for (size_t row = 1; row < 11; row++) {
		table_assert(table, row, "recording", row % 2 ? "1" : "2");
		table_assert(table, row, "file", row % 2 ? "night.wattle" : "'-b,\".wattle");
		if (row % 2)
			table_assert(table, row, "difference", "");
	}
	/* Time is known too well to have an error. */
	table_assert(table, 2, "unit", "s");
	table_assert(table, 2, "uncertainty", "");
	table_assert(table, 2, "difference", "-1.000000");
	table_assert(table, 2, "difference_uncertainty", "");
	table_assert(table, 2, "ratio", "-0.250000");
	table_assert(table, 2, "is_significant", "");
	table_assert(table, 2, "is_same_sensor", "");
	table_assert(table, 4, "unit", "J");
	table_assert(table, 4, "difference", "10.000000");
	table_assert(table, 4, "difference_uncertainty", "0.300000");
	table_assert(table, 4, "ratio", "0.023810");
	table_assert(table, 4, "is_significant", "true");
	table_assert(table, 4, "is_same_sensor", "true");
	table_assert(table, 3, "is_incomplete", "true");
	table_assert(table, 3, "has_other_domains", "");
	table_assert(table, 4, "is_incomplete", "false");
	table_assert(table, 4, "has_other_domains", "true");
	table_assert(table, 5, "is_incomplete", "");
	table_assert(table, 5, "what", "'=gpu");
	table_assert(table, 5, "value", "");
	table_assert(table, 5, "uncertainty", "");
	table_assert(table, 6, "unit", "W");
	table_assert(table, 6, "value", "0.000005");
	table_assert(table, 6, "difference", "");
	table_assert(table, 6, "is_significant", "");
	table_assert(table, 7, "value", "18446744073709.551615");
	table_assert(table, 8, "unit", "gCO2e");
	table_assert(table, 8, "difference", "-18446744073709.551615");
	table_assert(table, 8, "is_same_sensor", "false");
	table_assert(table, 9, "uncertainty", "0.030000");
	table_assert(table, 10, "uncertainty", "0.040000");
	table_assert(table, 10, "difference_uncertainty", "0.050000");
	table_assert(table, 10, "is_significant", "false");
	table_assert(table, 10, "is_same_sensor", "");
	table_free(table);
}

static void test_runs(void **state)
{
	struct recording_bench bench;
	struct wtl_run list[3];
	const struct wtl_runs runs = {.runs = list, .n_runs = 3};
	struct table *table;
	char *text;

	(void)state;
	recording_bench_init(&bench);
	bench.recording.report.has_exit = true;
	recording_bench_runs(list, 3, "=a.wattle", &bench.recording.report);
	list[1].report.attribution.command.has_dynamic = false;
	list[2].report.window.total.has_energy = 0;
	list[2].report.attribution.has_command = false;
	list[1].report.window.duration_ns = 0;
	list[1].report.interrupted = true;
	list[1].report.exit_status = 143;
	list[2].is_unfinished = true;
	list[2].report.has_exit = false;
	text = runs_bench_text("csv", &runs, plain);
	table = table_new(text);
	free(text);
	assert_columns(table, "file,run,start_utc,duration_s,energy_j,uncertainty_j,mean_w,"
			      "command_dynamic_j,command_full_j,gco2e,gco2e_uncertainty,"
			      "gco2e_per_s,exit_status,interrupted,is_unfinished");
	assert_int_equal(table->n_rows, 4);
	table_assert(table, 1, "file", "'=a.wattle");
	table_assert(table, 1, "run", "1");
	table_assert(table, 1, "energy_j", "420.000000");
	table_assert(table, 1, "uncertainty_j", "6.333333");
	table_assert(table, 1, "command_dynamic_j", "260.250000");
	/* 6538 µg in 10 s. */
	table_assert(table, 1, "gco2e_per_s", "0.000653800");
	table_assert(table, 2, "command_dynamic_j", "");
	table_assert(table, 2, "command_full_j", "320.500000");
	/* Without time there is no rate. */
	table_assert(table, 2, "gco2e", "0.006538000");
	table_assert(table, 2, "gco2e_per_s", "");
	table_assert(table, 3, "energy_j", "");
	table_assert(table, 3, "mean_w", "");
	table_assert(table, 3, "command_full_j", "");
	table_assert(table, 3, "gco2e", "");
	table_assert(table, 3, "gco2e_per_s", "");
	table_assert(table, 3, "duration_s", "10.000000000");
	table_assert(table, 1, "exit_status", "0");
	table_assert(table, 1, "interrupted", "false");
	table_assert(table, 1, "is_unfinished", "false");
	table_assert(table, 2, "exit_status", "143");
	table_assert(table, 2, "interrupted", "true");
	table_assert(table, 3, "exit_status", "");
	table_assert(table, 3, "is_unfinished", "true");
	table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_no_gpu),
		cmocka_unit_test(test_groups_by_every_key),
		cmocka_unit_test(test_nameless_groups),
		cmocka_unit_test(test_groups_without_a_baseline),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_windows_without_figures),
		cmocka_unit_test(test_as_a_report),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_appended),
		cmocka_unit_test(test_comparison),
		cmocka_unit_test(test_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
