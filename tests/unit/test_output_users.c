/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/config.h"
#include "document/field.h"
#include "document/words.h"
#include "output_bench.h"
#include "output_machines_users.h"
#if HAVE_JANSSON
#include <jansson.h>
#endif

static const struct wtl_output_style plain = {.color = false};

static const struct wtl_report *const reports[] = {
	&machine_used,	&machine_full,	  &machine_used_vm,
	&machine_build, &machine_hostile, &machine_unknown,
};

static char *page_of(const struct wtl_report *report)
{
	return output_text(&wtl_writer_text, &wtl_thing_report, report, plain);
}

static void assert_line(const char *page, const char *line)
{
	if (!strstr(page, line))
		fail_msg("'%s' is not on the page:\n%s", line, page);
}

static void assert_no_line(const char *page, const char *line)
{
	if (strstr(page, line))
		fail_msg("'%s' is on the page:\n%s", line, page);
}

static void test_golden(void **state)
{
	struct wtl_series builds = {
		.n_reports = 3,
		.of[WTL_RUN_ENERGY_J] = build_statistics[0],
		.of[WTL_RUN_DURATION_S] = {.n = 3, .mean = 12.0034, .min = 12.003, .max = 12.0034},
		.of[WTL_RUN_EMITTED_G] = {.n = 3, .mean = 0.00798, .min = 0.00798, .max = 0.00798},
		.domain_j = build_statistics,
		.of[WTL_RUN_COMMAND_DYNAMIC_J] =
			{.n = 3, .mean = 447.2, .sd = 3.1, .ci95 = 7.7, .min = 444.1, .max = 450.3},
		.of[WTL_RUN_COMMAND_FULL_J] =
			{.n = 3, .mean = 502.3, .sd = 3.2, .ci95 = 7.9, .min = 499, .max = 505.5},
	};
	struct wtl_report runs_of_build[3] = {machine_build, machine_build, machine_build};

	(void)state;
	runs_of_build[1].attribution.is_known = false;
	runs_of_build[1].attribution.reason = "the process table could not be read";
	builds.reports = runs_of_build;
	output_check_golden("used", &wtl_thing_report, &machine_used);
	output_check_golden("used-full", &wtl_thing_report, &machine_full);
	output_check_golden("used-vm", &wtl_thing_report, &machine_used_vm);
	output_check_golden("used-folded", &wtl_thing_report, &machine_build);
	output_check_golden("used-hostile", &wtl_thing_report, &machine_hostile);
	output_check_golden("used-unknown", &wtl_thing_report, &machine_unknown);
	output_check_golden("used-series", &wtl_thing_series, &builds);
	output_check_golden("doctor-used", &wtl_thing_doctor, &doctor_used);
}

static void test_pages(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(reports); i++)
		output_check_page(&wtl_thing_report, reports[i]);
	output_check_page(&wtl_thing_doctor, &doctor_used);
}

/* ---- What may not be printed ---- */

static void assert_refused(const struct wtl_report *report)
{
	struct wtl_series series = {.reports = report, .n_reports = 1};
	struct wtl_buf buf;

	wtl_buf_init(&buf, OUTPUT_MAX);
	for (size_t i = 0; wtl_writers[i]; i++) {
		assert_int_equal(
			wtl_thing_write(&buf, &wtl_thing_report, report, wtl_writers[i], &plain),
			-EPROTO);
		assert_int_equal(
			wtl_thing_write(&buf, &wtl_thing_series, &series, wtl_writers[i], &plain),
			-EPROTO);
		assert_int_equal(buf.len, 0);
	}
	wtl_buf_done(&buf);
}

/* machine_used with processes of its own. */
struct bench {
	struct wtl_report report;
	struct wtl_report_process processes[COUNT(used_processes)];
	struct wtl_report_domain domains[COUNT(used_domains)];
};

static struct wtl_report_attribution *bench_init(struct bench *bench)
{
	bench->report = machine_used;
	memcpy(bench->processes, used_processes, sizeof(used_processes));
	memcpy(bench->domains, used_domains, sizeof(used_domains));
	bench->report.attribution.processes = bench->processes;
	bench->report.domains = bench->domains;
	assert_int_equal(wtl_ledgers_check(&bench->report), 0);
	return &bench->report.attribution;
}

/* Of the total, 13.904428 J belong to nobody that was seen: the consumers may have no more than the
 * rest, to the microjoule. */
static void test_processes_within_total(void **state)
{
	struct wtl_report_attribution *attribution;
	struct bench bench;
	uint64_t sum_uj, most_uj = J(6743.623117) - J(13.904428);

	(void)state;
	attribution = bench_init(&bench);
	assert_true(wtl_words_processes_uj(&bench.report, &sum_uj));
	attribution->others.full_uj += most_uj - sum_uj;
	assert_int_equal(wtl_ledgers_check(&bench.report), 0);
	attribution->others.full_uj++;
	assert_refused(&bench.report);

	attribution = bench_init(&bench);
	bench.processes[0].all.full_uj += most_uj - sum_uj + 1;
	assert_refused(&bench.report);
	/* Not even by going round. */
	bench.processes[0].all.full_uj = UINT64_MAX;
	assert_refused(&bench.report);
	/* A machine on which nothing was attributed has no such sums. */
	attribution->is_known = false;
	assert_int_equal(wtl_ledgers_check(&bench.report), 0);
}

static void test_dynamic_within_accounts(void **state)
{
	struct bench bench;
	uint64_t sum_uj = J(3.2), most_uj = J(6743.623117) - J(13.904428) - J(2562.140942);

	(void)state;
	bench_init(&bench);
	for (size_t i = 0; i < COUNT(used_processes); i++)
		sum_uj += used_processes[i].all.dynamic_uj;
	bench.processes[0].all.dynamic_uj += most_uj - sum_uj;
	assert_int_equal(wtl_ledgers_check(&bench.report), 0);
	bench.processes[0].all.dynamic_uj++;
	assert_refused(&bench.report);
	/* Without all baselines the accounts have idle energy in them: nothing can be said. */
	bench.domains[2].ledger = (struct wtl_ledger)UNATTRIBUTED(142.8);
	bench.domains[2].ledger.exited_uj = bench.domains[2].ledger.unattributed_uj;
	bench.domains[2].ledger.unattributed_uj = 0;
	assert_int_equal(wtl_ledgers_check(&bench.report), 0);
}

static void test_parts_within_wholes(void **state)
{
	struct wtl_report_attribution *attribution;
	struct bench bench;

	(void)state;
	bench_init(&bench);
	bench.processes[1].all.dynamic_uj = bench.processes[1].all.full_uj + 1;
	bench.processes[0].all.dynamic_uj = 0;
	assert_refused(&bench.report);
	bench_init(&bench);
	bench.processes[0].gpu.full_uj = bench.processes[0].all.full_uj + 1;
	assert_refused(&bench.report);
	attribution = bench_init(&bench);
	attribution->command.full_uj = J(6743.623117) - J(13.904428) + 1;
	assert_refused(&bench.report);
	attribution = bench_init(&bench);
	attribution->command_gpu.full_uj = attribution->command.full_uj + 1;
	assert_refused(&bench.report);
	attribution = bench_init(&bench);
	attribution->others.dynamic_uj = attribution->others.full_uj + 1;
	assert_refused(&bench.report);
}

/* Energy that counted domains have together must fit in 64 bits. */
static void test_ledger_overflow(void **state)
{
	struct wtl_ledger sum;
	struct bench bench;

	(void)state;
	bench_init(&bench);
	assert_true(wtl_words_ledger(&bench.report, &sum));
	assert_true(sum.total_uj == J(6743.623117) && sum.unattributed_uj == J(13.904428));
	assert_true(sum.has_idle && wtl_ledger_closed(&sum));
	bench.domains[0].ledger =
		(struct wtl_ledger){.live_uj = UINT64_MAX, .total_uj = UINT64_MAX};
	bench.domains[0].energy.energy_uj = UINT64_MAX;
	assert_false(wtl_words_ledger(&bench.report, &sum));
	assert_refused(&bench.report);
}

/* ---- Tables that add up as printed ---- */

/* The number in a cell, in units of its last digit; all cells of a table have the same. */
static bool number_in(const char *cell, size_t len, int64_t *ret_steps)
{
	int64_t steps = 0;
	bool any = false;

	for (size_t i = cell[0] == '~'; i < len; i++) {
		if (cell[i] == '.')
			continue;
		if (cell[i] < '0' || cell[i] > '9')
			return false;
		steps = steps * 10 + (cell[i] - '0');
		any = true;
	}
	*ret_steps = steps;
	return any;
}

/* The numbers of a line after its first word; "-" is 0. Returns how many. */
static size_t numbers_of(const char *line, int64_t numbers[8])
{
	size_t n = 0, len = strcspn(line, " \n");

	for (line += len; *line != '\n' && n < 8; line += len) {
		line += strspn(line, " ");
		len = strcspn(line, " \n");
		if (len == 1 && *line == '-')
			numbers[n++] = 0;
		else if (number_in(line, len, &numbers[n]))
			n++;
	}
	return n;
}

/* Rows and columns of "where it went" add up. Returns the total. */
static int64_t assert_ledger_adds_up(const char *page)
{
	const char *line = strstr(page, "where it went");
	int64_t columns[8] = {0}, numbers[8];
	size_t rows = 0;

	assert_non_null(line);
	for (line = strchr(line, '\n') + 1; *line != '\n'; line = strchr(line, '\n') + 1) {
		size_t n = numbers_of(line, numbers);
		int64_t sum = 0;

		assert_true(n >= 2);
		for (size_t i = 0; i + 1 < n; i++)
			sum += numbers[i];
		if (sum != numbers[n - 1])
			fail_msg("does not add up: %.*s", (int)strcspn(line, "\n"), line);
		if (strncmp(line, "total", 5) == 0) {
			for (size_t i = 0; i < n; i++)
				assert_int_equal(columns[i], numbers[i]);
			return numbers[n - 1];
		}
		for (size_t i = 0; i < n; i++)
			columns[i] += numbers[i];
		rows++;
	}
	assert_int_equal(rows, 1);
	return numbers[1];
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 33;
}

static void test_ledgers_add_up(void **state)
{
	uint64_t seed = 1;
	struct bench bench;

	(void)state;
	for (size_t i = 0; i < COUNT(reports); i++) {
		char *page = page_of(reports[i]);

		if (reports[i]->attribution.is_known)
			assert_ledger_adds_up(page);
		else
			assert_no_line(page, "where it went");
		free(page);
	}
	for (int round = 0; round < 500; round++) {
		uint64_t largest = UINT64_C(1) << next_random(&seed) % 31;
		char *page;

		bench_init(&bench);
		bench.report.attribution.n_processes = 0;
		bench.report.attribution.others = (struct wtl_share_energy){.full_uj = 0};
		bench.report.attribution.command = (struct wtl_share_energy){.full_uj = 0};
		bench.report.attribution.command_gpu = (struct wtl_share_energy){.full_uj = 0};
		for (size_t i = 0; i < COUNT(used_domains); i++) {
			struct wtl_ledger *ledger = &bench.domains[i].ledger;

			ledger->has_idle = true;
			ledger->live_uj = next_random(&seed) % largest;
			ledger->exited_uj = next_random(&seed) % largest;
			ledger->kernel_uj = next_random(&seed) % largest;
			ledger->idle_uj = next_random(&seed) % largest;
			ledger->unattributed_uj = 1 + next_random(&seed) % largest;
			ledger->total_uj = ledger->live_uj + ledger->exited_uj + ledger->kernel_uj +
					   ledger->idle_uj + ledger->unattributed_uj;
			bench.domains[i].energy.energy_uj = ledger->total_uj;
		}
		page = page_of(&bench.report);
		assert_true(assert_ledger_adds_up(page) > 0);
		free(page);
	}
}

/* The full figures of the table of processes, whose column has no figure to its right. */
static void test_processes_add_up(void **state)
{
	char *page = page_of(&machine_build);
	const char *line = strstr(page, "  pid  ");
	int64_t sum = 0, numbers[8];

	(void)state;
	assert_non_null(line);
	for (line = strchr(line, '\n') + 1;; line = strchr(line, '\n') + 1) {
		/* The pid is the first word of those that have one; the sums have no pid. */
		size_t n = numbers_of(line + strspn(line, " "), numbers);

		assert_true(n > 0);
		if (strstr(line, " total ") == line + strspn(line, " ") - 1)
			break;
		sum += numbers[n - 1];
	}
	assert_int_equal(sum, numbers[0]);
	assert_int_equal(sum, 5128);
	free(page);
}

/* Time that nobody was seen to use is no process's: no number, and none with the others. */
static void test_rows_of_nobody(void **state)
{
	struct wtl_report_process rows[12];
	struct wtl_consumer nobody = build_consumers[2];
	struct wtl_report report = machine_build;
	char *page;

	(void)state;
	nobody.n_processes = 0;
	for (size_t i = 0; i < COUNT(rows); i++)
		rows[i] = (struct wtl_report_process){
			.consumer = &nobody, .user = "ada", .all = DYNAMIC(9, 0.5, 10)};
	rows[10].all = (struct wtl_share_energy)FULL(0.04, 1);
	rows[11].all = (struct wtl_share_energy)DYNAMIC(0.02, 1, 0.04);
	report.attribution.processes = rows;
	report.attribution.n_processes = COUNT(rows);
	report.attribution.others = (struct wtl_share_energy){.full_uj = 0};
	report.attribution.n_others = 0;
	page = page_of(&report);
	assert_line(page, "\n     * ended processes      ada ");
	/* The first of those that are not shown has no dynamic part. */
	assert_line(page, "\n       others                       9.500        -          0.1\n");
	assert_no_line(page, "×");
	free(page);
}

/* All that --top lists have a row, as in the other formats: those whose energy is none in the table's digits
 * are others. */
static void test_many_processes(void **state)
{
	enum { MANY = 40, LARGE = 12 };
	struct wtl_report_process many[MANY];
	struct wtl_report report = machine_build;
	char *page;

	(void)state;
	for (size_t i = 0; i < MANY; i++)
		many[i] = (struct wtl_report_process){
			.consumer = &build_consumers[0], .user = "ada", .all = DYNAMIC(9, 0.5, 10)};
	report.attribution.processes = many;
	report.attribution.n_processes = MANY;
	page = page_of(&report);
	assert_line(page, "\n ×204    others ");
	free(page);
	for (size_t i = LARGE; i < MANY; i++)
		many[i].all = (struct wtl_share_energy)DYNAMIC(0.01, 0.5, 0.02);
	page = page_of(&report);
	/* 28 rows of 1200 ended processes each, and 204. */
	assert_line(page, "\n×33804    others ");
	assert_line(page, "        4 ± 14     5.0\n");
	free(page);
	/* One of them without a dynamic part: the others have none either. */
	many[MANY - 1].all = (struct wtl_share_energy)FULL(0.02, 1);
	page = page_of(&report);
	assert_line(page, "        -          5.0\n");
	free(page);
}

/* ---- What is told and what is not ---- */

/* Everything but the command: no marks, no line of its own. */
static void test_no_command(void **state)
{
	struct wtl_report report = machine_used;
	char *page;

	(void)state;
	report.command = NULL;
	report.command_cpu_ns = -1;
	report.attribution.has_command = false;
	page = page_of(&report);
	assert_no_line(page, "\n  command ");
	assert_no_line(page, "* ");
	assert_line(page, "\n pid  process ");
	assert_line(page, "\n4711  python train.py");
	free(page);
}

static void test_idle_line(void **state)
{
	struct bench bench;
	char *page;

	(void)state;
	bench_init(&bench);
	/* In the future: the clock was set back. Then there is no age to tell. */
	for (size_t i = 0; i < COUNT(used_domains); i++)
		bench.domains[i].idle.t_utc_ns = START_UTC_NS + S(20);
	page = page_of(&bench.report);
	assert_line(page, "gpu-0 61.3)\n");
	free(page);
	/* The oldest counts, and only where it is known. */
	bench.domains[1].idle.t_utc_ns = START_UTC_NS - S(86400) * 5;
	bench.domains[0].idle.t_utc_ns = 0;
	page = page_of(&bench.report);
	assert_line(page, ", seen 5 d ago\n");
	free(page);
	/* One of them is a model's, then all are. */
	bench.domains[2].idle.is_modelled = true;
	page = page_of(&bench.report);
	assert_line(page, "\n  idle    ~ 213.5");
	assert_line(page, "dram-0 ~8.2");
	assert_no_line(page, "modelled,");
	free(page);
	for (size_t i = 0; i < COUNT(used_domains); i++) {
		bench.domains[i].idle.is_modelled = true;
		bench.domains[i].idle.t_utc_ns = 0;
	}
	page = page_of(&bench.report);
	assert_line(page, "), modelled\n");
	free(page);
	/* A second opinion has no part in it. */
	bench.domains[4].idle = bench.domains[0].idle;
	page = page_of(&bench.report);
	assert_no_line(page, "psys-0 7");
	free(page);
	for (size_t i = 0; i < COUNT(used_domains); i++)
		bench.domains[i].idle.is_known = false;
	page = page_of(&bench.report);
	assert_no_line(page, "\n  idle ");
	free(page);
}

/* That there is no baseline is said once, also where the command says it in a note of its own. */
static void test_no_idle_is_said_once(void **state)
{
	static const char *const notes[] = {"no idle baseline has been seen on this machine yet"};
	struct wtl_report report = machine_full;
	char *page = page_of(&report);

	(void)state;
	assert_line(page,
		    "- no idle baseline has been seen yet for package-0, package-1, dram-0, ");
	assert_line(page, "--idle-first 10");
	free(page);
	report.notes = notes;
	report.n_notes = 1;
	page = page_of(&report);
	assert_no_line(page, "seen yet for");
	assert_line(page, "- no idle baseline has been seen on this machine yet\n");
	free(page);
	page = page_of(&machine_used);
	assert_no_line(page, "no idle baseline");
	free(page);
}

/* A struct of zeros is a report of a version that knew nothing of processes. */
static void test_nothing_known(void **state)
{
	struct wtl_report report = machine_unknown;
	char *page;

	(void)state;
	report.attribution = (struct wtl_report_attribution){.reason = NULL};
	page = page_of(&report);
	assert_no_line(page, "command ");
	assert_no_line(page, "processes");
	assert_line(page, ", CPU time 1 min 32.1 s");
	free(page);
	page = page_of(&machine_unknown);
	assert_line(page, "\n- energy of processes is not known: /proc shows no process");
	free(page);
}

/* Where the command has no line, its CPU time stays in that of the time. */
static void test_cpu_time_is_told_once(void **state)
{
	struct wtl_report report = machine_build;
	char *page = page_of(&report), *at;

	(void)state;
	at = strstr(page, "CPU time ");
	assert_non_null(at);
	assert_null(strstr(at + 1, "CPU time "));
	free(page);
	report.attribution.is_known = false;
	page = page_of(&report);
	assert_line(page, "\n  time    12.00 s, CPU time 1 min 32.1 s");
	free(page);
	report.attribution.is_known = true;
	report.attribution.command_cpu_ns = -1;
	page = page_of(&report);
	assert_line(page, ": 4955 processes\n");
	assert_line(page, "\n  time    12.00 s, CPU time 1 min 32.1 s");
	free(page);
}

/* How a domain is divided is told, and once, if that is a guess. */
static void test_weights(void **state)
{
	struct bench bench;
	char *page;

	(void)state;
	bench_init(&bench);
	bench.domains[0].weight = "instructions";
	bench.domains[2].weight = "memory (a guess)";
	bench.domains[3].weight = "memory (a guess)";
	page = output_text(&wtl_writer_text, &wtl_thing_report, &bench.report,
			   (struct wtl_output_style){.verbose = true});
	assert_line(page, "\n! dram-0, gpu-0: divided among processes by memory (a guess)\n");
	assert_line(page, "; weight cpu-time\n");
	assert_line(page, "\n- divided among processes by instructions: package-0\n");
	free(page);
	page = page_of(&machine_used);
	assert_no_line(page, "divided");
	free(page);
}

static void test_words(void **state)
{
	struct wtl_baseline idle = {.uncertainty_uw = UINT64_MAX, .t_utc_ns = 100};
	struct wattle_window window = {.begin_utc_ns = INT64_MAX, .duration_ns = 1};
	int64_t age_ns = -7;

	(void)state;
	assert_true(wtl_words_idle_uncertainty_uw(&idle) == UINT64_MAX);
	assert_false(wtl_words_idle_age(&idle, 99, &age_ns));
	assert_false(wtl_words_idle_age(&idle, INT64_MIN, &age_ns));
	assert_int_equal(age_ns, -7);
	assert_true(wtl_words_idle_age(&idle, 100, &age_ns) && age_ns == 0);
	assert_true(wtl_words_end_utc_ns(&window) == INT64_MAX);
	assert_string_equal(wtl_words_state(WTL_CONSUMER_EXITED), "exited");
	assert_string_equal(wtl_words_state((enum wtl_consumer_state)99), "folded");
	assert_string_equal(wtl_words_consumer(&build_consumers[0]), "cc1");
	assert_string_equal(wtl_words_consumer(&build_consumers[2]), "ended processes");
	assert_true(wtl_words_has_gpu(&machine_used) && !wtl_words_has_gpu(&machine_build));
}

/* ---- CSV ---- */

/* A cell of the n-th row (0: the first after the head) by its column's name. */
static void cell_of(const char *csv, size_t row, const char *column, char *cell, size_t size)
{
	size_t at = 0, len;

	for (const char *name = csv;; name += len + 1, at++) {
		len = strcspn(name, ",\n");
		if (strlen(column) == len && strncmp(name, column, len) == 0)
			break;
		assert_true(name[len] == ',');
	}
	for (size_t i = 0; i <= row; i++)
		csv = strchr(csv, '\n') + 1;
	for (; at > 0; at--) {
		bool quoted = false;

		for (; quoted || *csv != ','; csv++)
			quoted ^= *csv == '"';
		csv++;
	}
	snprintf(cell, size, "%.*s", (int)strcspn(csv, ",\n"), csv);
}

static void assert_cell(const char *csv, size_t row, const char *column, const char *wanted)
{
	char cell[64];

	cell_of(csv, row, column, cell, sizeof(cell));
	assert_string_equal(cell, wanted);
}

static void test_csv(void **state)
{
	char *csv = output_text(&wtl_writer_csv, &wtl_thing_report, &machine_used, plain);

	(void)state;
	assert_cell(csv, 0, "idle_j", "888.857047");
	assert_cell(csv, 0, "idle_w", "74.050000");
	assert_cell(csv, 0, "command_full_j", "");
	assert_cell(csv, 3, "kernel_j", "0.000000"); /* nothing, and that is known */
	assert_cell(csv, 4, "kernel_j", "");	     /* psys-0: nobody knows */
	assert_cell(csv, 5, "domain", "total");
	assert_cell(csv, 5, "command_dynamic_j", "4032.300000");
	assert_cell(csv, 5, "command_full_j", "5312.250000");
	assert_cell(csv, 5, "command_cpu_s", "83.200000000");
	assert_cell(csv, 5, "command_processes", "231");
	free(csv);
	csv = output_text(&wtl_writer_csv, &wtl_thing_report, &machine_full, plain);
	assert_cell(csv, 0, "exited_j", "1424.100000");
	assert_cell(csv, 0, "idle_j", "");
	assert_cell(csv, 4, "command_dynamic_j", "");
	assert_cell(csv, 4, "command_full_j", "6122.350000");
	free(csv);
	csv = output_text(&wtl_writer_csv, &wtl_thing_report, &machine_unknown, plain);
	assert_cell(csv, 0, "live_j", "");
	assert_cell(csv, 1, "command_full_j", "");
	assert_cell(csv, 1, "command_cpu_s", "92.120000000");
	assert_cell(csv, 1, "command_processes", "");
	free(csv);
}

static void test_csv_doctor(void **state)
{
	char *csv = output_text(&wtl_writer_csv, &wtl_thing_doctor, &doctor_used, plain);

	(void)state;
	assert_cell(csv, 0, "idle_w", "74.050000");
	assert_cell(csv, 0, "way", "");
	assert_cell(csv, 5, "way", "CPU clocks");
	assert_cell(csv, 5, "is_used", "true");
	assert_cell(csv, 6, "is_used", "false");
	free(csv);
}

/* ---- Limits ---- */

static void test_full_buffer(void **state)
{
	struct wtl_buf buf;

	(void)state;
	for (size_t i = 0; wtl_writers[i]; i++) {
		size_t whole, step;
		char *all = output_text(wtl_writers[i], &wtl_thing_report, &machine_used, plain);

		whole = strlen(all);
		free(all);
		step = whole / 60;
		for (size_t max = 0; max < whole; max += step) {
			wtl_buf_init(&buf, max);
			assert_int_equal(wtl_thing_write(&buf, &wtl_thing_report, &machine_used,
							 wtl_writers[i], &plain),
					 -EFBIG);
			assert_true(buf.len <= max);
			wtl_buf_done(&buf);
		}
	}
}

/* ---- JSON ---- */

#if HAVE_JANSSON

static json_t *json_of(const struct wtl_thing *thing, const void *what)
{
	char *text = output_text(&wtl_writer_json, thing, what, plain);
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!root)
		fail_msg("line %d: %s\n%s", error.line, error.text, text);
	output_assert_no_control(text);
	free(text);
	return root;
}

static uint64_t micro_of(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_real(value))
		fail_msg("%s is not there", key);
	return (uint64_t)(json_real_value(value) * 1e6 + 0.5);
}

/* What a reader can add up again: every ledger, and processes, others and nobody to the total. */
static void test_json_adds_up(void **state)
{
	static const char *const accounts[] = {"live_j", "exited_j", "kernel_j", "idle_j",
					       "unattributed_j"};

	(void)state;
	for (size_t i = 0; i < COUNT(reports); i++) {
		json_t *root = json_of(&wtl_thing_report, reports[i]), *row;
		json_t *processes = json_object_get(root, "processes");
		uint64_t sum = 0;
		size_t at;

		json_array_foreach(json_object_get(root, "ledger"), at, row)
		{
			uint64_t in_accounts = 0;

			for (size_t k = 0; k < COUNT(accounts); k++) {
				if (json_object_get(row, accounts[k]))
					in_accounts += micro_of(row, accounts[k]);
			}
			assert_true(in_accounts == micro_of(row, "total_j"));
		}
		assert_true(!processes == !reports[i]->attribution.is_known);
		assert_true(!processes != !json_object_get(root, "processes_reason"));
		if (processes) {
			json_array_foreach(processes, at, row) sum += micro_of(row, "full_j");
			sum += micro_of(json_object_get(root, "others"), "full_j");
			sum += micro_of(json_object_get(root, "no_process"), "full_j");
			assert_true(sum == micro_of(json_object_get(root, "total"), "energy_j"));
		}
		json_decref(root);
	}
}

static void assert_text_at(const json_t *object, const char *key, const char *wanted)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (!text)
		fail_msg("%s is not there", key);
	assert_string_equal(text, wanted);
}

/* Unknown is absent, and a reason stands beside it. */
static void test_json_reasons(void **state)
{
	json_t *root = json_of(&wtl_thing_report, &machine_full), *object;

	(void)state;
	object = json_object_get(root, "command_energy");
	assert_null(json_object_get(object, "dynamic_j"));
	assert_text_at(object, "reason", "no idle baseline has been seen");
	object = json_array_get(json_object_get(root, "domains"), 0);
	assert_null(json_object_get(object, "idle_w"));
	assert_text_at(object, "idle_reason", "no idle baseline has been seen");
	object = json_array_get(json_object_get(root, "ledger"), 0);
	assert_null(json_object_get(object, "idle_j"));
	assert_text_at(object, "idle_reason", "no idle baseline has been seen");
	assert_null(json_object_get(object, "reason"));
	json_decref(root);

	root = json_of(&wtl_thing_report, &machine_unknown);
	assert_text_at(root, "processes_reason", "/proc shows no process of others (hidepid=2)");
	assert_text_at(json_object_get(root, "command_energy"), "reason",
		       "/proc shows no process of others (hidepid=2)");
	assert_null(json_object_get(root, "others"));
	assert_null(json_object_get(root, "no_process"));
	object = json_array_get(json_object_get(root, "ledger"), 0);
	assert_null(json_object_get(object, "live_j"));
	assert_text_at(object, "reason", "/proc shows no process of others (hidepid=2)");
	json_decref(root);
}

/* A row without a pid may stand for several: kernel threads that ended, say. */
static void test_json_rows_of_several(void **state)
{
	static const struct wtl_consumer consumers[] = {
		{.state = WTL_CONSUMER_KERNEL, .name = "kernel threads", .n_processes = 2},
		{.state = WTL_CONSUMER_FOLDED, .name = "others", .n_processes = 0},
		{.state = WTL_CONSUMER_KERNEL, .name = "kswapd0", .pid = 77, .n_processes = 1},
	};
	static const struct wtl_report_process rows[] = {{.consumer = &consumers[0]},
							 {.consumer = &consumers[1]},
							 {.consumer = &consumers[2]}};
	struct wtl_report report = machine_used;
	json_t *root, *processes;

	(void)state;
	report.attribution.processes = rows;
	report.attribution.n_processes = COUNT(rows);
	root = json_of(&wtl_thing_report, &report);
	processes = json_object_get(root, "processes");
	assert_int_equal(json_array_size(processes), 3);
	for (size_t i = 0; i < 2; i++) {
		json_t *n = json_object_get(json_array_get(processes, i), "n_processes");

		assert_true(json_is_integer(n));
		assert_int_equal(json_integer_value(n), consumers[i].n_processes);
	}
	assert_null(json_object_get(json_array_get(processes, 2), "n_processes"));
	json_decref(root);
}

static void test_json_hostile(void **state)
{
	json_t *root = json_of(&wtl_thing_report, &machine_hostile), *row;
	json_t *processes = json_object_get(root, "processes");

	(void)state;
	row = json_array_get(processes, 0);
	assert_text_at(row, "name", "a b] (c)");
	assert_text_at(row, "cgroup", hostile_group.cgroup);
	assert_text_at(row, "unit", "\xef\xbf\xbd.service");
	assert_text_at(row, "user", hostile_processes[0].user);
	row = json_array_get(processes, 2);
	assert_null(json_object_get(row, "pid"));
	assert_null(json_object_get(row, "uid"));
	assert_null(json_object_get(row, "name"));
	assert_text_at(row, "state", "folded");
	row = json_array_get(json_object_get(root, "domains"), 0);
	/* A baseline from the future has no age. */
	assert_non_null(json_object_get(row, "idle_t_utc"));
	assert_null(json_object_get(row, "idle_age_s"));
	json_decref(root);
}

static void test_json_series(void **state)
{
	struct wtl_series series = {
		.reports = &machine_used,
		.n_reports = 1,
		.of[WTL_RUN_COMMAND_FULL_J] = {.n = 1, .mean = 5, .min = 5, .max = 5}};
	json_t *root = json_of(&wtl_thing_series, &series), *of, *statistics;

	(void)state;
	statistics = json_object_get(root, "statistics");
	of = json_object_get(statistics, "command_full_j");
	assert_true(micro_of(of, "mean") == 5000000);
	of = json_object_get(statistics, "command_dynamic_j");
	assert_text_at(of, "reason", "no run has a figure");
	json_decref(root);
	/* Of a machine alone there is no command. */
	series.reports = &machine_hostile;
	root = json_of(&wtl_thing_series, &series);
	assert_null(json_object_get(json_object_get(root, "statistics"), "command_full_j"));
	json_decref(root);
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_processes_within_total),
		cmocka_unit_test(test_dynamic_within_accounts),
		cmocka_unit_test(test_parts_within_wholes),
		cmocka_unit_test(test_ledger_overflow),
		cmocka_unit_test(test_ledgers_add_up),
		cmocka_unit_test(test_processes_add_up),
		cmocka_unit_test(test_many_processes),
		cmocka_unit_test(test_rows_of_nobody),
		cmocka_unit_test(test_no_command),
		cmocka_unit_test(test_idle_line),
		cmocka_unit_test(test_no_idle_is_said_once),
		cmocka_unit_test(test_nothing_known),
		cmocka_unit_test(test_cpu_time_is_told_once),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_csv_doctor),
		cmocka_unit_test(test_full_buffer),
#if HAVE_JANSSON
		cmocka_unit_test(test_json_adds_up),
		cmocka_unit_test(test_json_reasons),
		cmocka_unit_test(test_json_hostile),
		cmocka_unit_test(test_json_rows_of_several),
		cmocka_unit_test(test_json_series),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
