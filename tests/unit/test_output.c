/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocations.h"
#include "base/buf.h"
#include "base/config.h"
#include "energy/units.h"
#include "document/format.h"
#include "text/layout.h"
#include "document/report.h"
#include "document/words.h"
#include "output_bench.h"
#include "output_machines.h"
#if HAVE_JANSSON
#include <jansson.h>
#endif

static const struct wtl_output_style plain = {.color = false};

/* ---- Golden files ---- */

static void test_golden_reports(void **state)
{
	(void)state;
	output_check_golden("server", &wtl_thing_report, &machine_server);
	output_check_golden("vm", &wtl_thing_report, &machine_vm);
	output_check_golden("denied", &wtl_thing_report, &machine_denied);
	output_check_golden("partly", &wtl_thing_report, &machine_partly);
}

static void test_golden_series(void **state)
{
	(void)state;
	output_check_golden("series", &wtl_thing_series, &machine_series);
}

static void test_golden_doctors(void **state)
{
	(void)state;
	output_check_golden("doctor-server", &wtl_thing_doctor, &doctor_server);
	output_check_golden("doctor-vm", &wtl_thing_doctor, &doctor_vm);
	output_check_golden("doctor-denied", &wtl_thing_doctor, &doctor_denied);
}

/* ---- Properties of every page ---- */

static const struct {
	const struct wtl_thing *thing;
	const void *what;
} everything[] = {
	{&wtl_thing_report, &machine_server}, {&wtl_thing_report, &machine_vm},
	{&wtl_thing_report, &machine_denied}, {&wtl_thing_report, &machine_partly},
	{&wtl_thing_series, &machine_series}, {&wtl_thing_doctor, &doctor_server},
	{&wtl_thing_doctor, &doctor_vm},      {&wtl_thing_doctor, &doctor_denied},
};

static void test_pages(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(everything) / sizeof(everything[0]); i++)
		output_check_page(everything[i].thing, everything[i].what);
}

/* Different methods that all measure are no model; a model in any of the runs is. */
static void test_modelled_series(void **state)
{
	static const struct wtl_output_style style;
	struct wtl_report list[2] = {runs[0], runs[1]};
	struct wtl_report_domain domains[2];
	struct wtl_series series = machine_series;
	char *page;

	(void)state;
	series.reports = list;
	series.n_reports = 2;
	list[0].window.total.method = WATTLE_METHOD_MIXED;
	page = output_text(&wtl_writer_text, &wtl_thing_series, &series, style);
	assert_null(strchr(page, '~'));
	free(page);
	memcpy(domains, runs[1].domains, sizeof(domains));
	domains[0].energy.method = WATTLE_METHOD_MODELLED;
	list[1].domains = domains;
	page = output_text(&wtl_writer_text, &wtl_thing_series, &series, style);
	assert_non_null(strstr(page, "  1     0.521   10.48 "));
	assert_non_null(strstr(page, "  2     0.508  ~10.12 "));
	assert_non_null(strstr(page, "energy         ~9.1 ± 3.5 "));
	assert_non_null(strstr(page, "  package-0    ~9.1 ± 3.5 "));
	assert_non_null(strstr(page, "  core-0        4.6 ± 1.8 "));
	free(page);
}

/* Whose grams they are is told once, and what wattle took of all the runs. */
static void test_carbon_of_a_series(void **state)
{
	static const struct wtl_output_style style;
	struct wtl_report list[2] = {runs[0], runs[1]};
	struct wtl_series series = machine_series;
	struct wattle_carbon *carbon = &list[1].carbon.carbon;
	char *page;

	(void)state;
	series.reports = list;
	series.n_reports = 2;
	list[1].carbon.pue_milli = 1500;
	carbon->uncertainty_ppm = 100000;
	list[0].self.cpu_ns = S(0.1);
	list[1].self = (struct wtl_report_self){.cpu_ns = S(0.25), .ticks = 12, .late_ticks = 3};
	page = output_text(&wtl_writer_text, &wtl_thing_series, &series, style);
	assert_non_null(strstr(page, "\nCO2e is at 56.04 g/kWh (FRA, CodeCarbon 3.0, 2023), also "
				     "with PUE 1.5, which is\nnot in the energies.\n± of a run: "));
	assert_non_null(strstr(page, "is not in it, such as the ± 20\n% of the intensity of "
				     "CO2e.\n"));
	assert_non_null(strstr(page, "\nCO2e             142 ± 55    µg    44  31 %     63   166\n"
				     "  with PUE 1.5   213 ± 83    µg    67  31 %     94   249\n"));
	assert_non_null(strstr(page, "\n\nwattle itself: 250 ms of CPU, 12 samples (3 late)\n"));
	free(page);
	list[1].carbon.is_default = true;
	list[1].carbon.pue_milli = 0;
	page = output_text(&wtl_writer_text, &wtl_thing_series, &series, style);
	assert_non_null(strstr(page, "\nCO2e is at 56.04 g/kWh (world average, CodeCarbon 3.0, "
				     "2023).\n"));
	assert_null(strstr(page, "PUE"));
	free(page);
	/* What was given is exact. */
	list[1].carbon.is_default = false;
	*carbon = (struct wattle_carbon){.intensity_mg_per_kwh = 100000, .dataset = "given"};
	page = output_text(&wtl_writer_text, &wtl_thing_series, &series, style);
	assert_non_null(strstr(page, "\nCO2e is at 100.0 g/kWh (as given).\n"));
	assert_non_null(strstr(page, "is not in it.\n"));
	free(page);
	/* No grams, nobody's. */
	carbon->uncertainty_ppm = 100000;
	list[1].carbon.pue_milli = 1500;
	series.of[WTL_RUN_EMITTED_G].n = 0;
	page = output_text(&wtl_writer_text, &wtl_thing_series, &series, style);
	assert_null(strstr(page, "g/kWh"));
	assert_null(strstr(page, "PUE"));
	assert_null(strstr(page, "intensity"));
	free(page);
}

static void test_table_of_outputs(void **state)
{
	(void)state;
	assert_ptr_equal(wtl_writer_find("text"), &wtl_writer_text);
	assert_ptr_equal(wtl_writer_find("csv"), &wtl_writer_csv);
	assert_null(wtl_writer_find("xml"));
	assert_null(wtl_writer_find(""));
	for (size_t i = 0; wtl_writers[i]; i++) {
		assert_string_equal(wtl_writer_names_all[i], wtl_writers[i]->name);
		assert_non_null(wtl_writers[i]->doc);
	}
	for (size_t i = 0; wtl_writer_row_names[i]; i++)
		assert_non_null(wtl_writer_find(wtl_writer_row_names[i])->row);
}

/* Each allocation fails in turn: an error, and never a report that lacks a key. */
static void test_out_of_memory(void **state)
{
	(void)state;
	need_counter();
	for (size_t i = 0; wtl_writers[i]; i++) {
		char *whole =
			output_text(wtl_writers[i], &wtl_thing_report, &machine_server, plain);
		unsigned long n = 0;
		int rc;

		do {
			struct wtl_buf buf;

			wtl_buf_init(&buf, OUTPUT_MAX);
			wattle_test_fail_alloc(++n, true);
			rc = wtl_thing_write(&buf, &wtl_thing_report, &machine_server,
					     wtl_writers[i], &plain);
			wattle_test_fail_alloc(0, false);
			if (rc < 0)
				assert_int_equal(rc, -ENOMEM);
			else
				assert_string_equal(wtl_buf_str(&buf), whole);
			wtl_buf_done(&buf);
		} while (rc < 0);
		assert_true(n > 2);
		free(whole);
	}
}

/* ---- Hostile and extreme input ---- */

static char *const hostile_command[] = {
	(char[]){"\033]0;owned\a\033[31mred"},
	(char[]){"a\nb\r\n\"c\",d"},
	(char[]){"\xff\xfe\xc0\xaf\xed\xa0\x80"},
	(char[]){"=HYPERLINK(\"http://x\")"},
	(char[]){"\xef\xb7\x90"
		 "12"},
	(char[]){"\xe2\x80\xae"
		 "reversed"},
	(char[]){""},
	NULL,
};

static struct wtl_report hostile_report(struct wtl_report_domain *domain)
{
	struct wtl_report report = machine_server;

	*domain = (struct wtl_report_domain){
		.domain = {.name = "=1+1\033[2J",
			   .inside = "=1+1\033[2J", /* lies inside itself */
			   .device = "\xff\n\"",
			   .source = "@x",
			   .reason = "-2\r\n+3 \xf0\x9f",
			   .remedy = "\tcmd|' /C calc'!A0",
			   .kind = (enum wattle_kind)99,
			   .method = (enum wattle_method)99,
			   .status = (enum wattle_status)99,
			   .in_total = 1},
		.energy = {.has_energy = 1,
			   .has_power = 1,
			   .energy_uj = UINT64_MAX,
			   .uncertainty_uj = UINT64_MAX,
			   .mean_uw = UINT64_MAX,
			   .max_uw = UINT64_MAX,
			   .measured_ns = INT64_MAX,
			   .gap_ns = INT64_MAX,
			   .flags = UINT32_MAX,
			   .samples = UINT32_MAX,
			   .status = (enum wattle_status)98,
			   .method = (enum wattle_method)98},
		.ledger = {.unattributed_uj = UINT64_MAX, .total_uj = UINT64_MAX},
	};
	report.command = hostile_command;
	report.domains = domain;
	report.n_domains = 1;
	report.window.total = domain->energy;
	report.window.duration_ns = INT64_MAX;
	report.window.begin_utc_ns = INT64_MIN;
	report.exit_status = -1;
	report.exit_signal = 4711;
	report.carbon.emitted_ug = UINT64_MAX;
	report.carbon.uncertainty_ug = UINT64_MAX;
	report.carbon.carbon.intensity_mg_per_kwh = UINT64_MAX;
	report.carbon.pue_milli = UINT32_MAX;
	report.command_cpu_ns = INT64_MAX;
	report.command_rss_bytes = UINT64_MAX;
	report.self = (struct wtl_report_self){.cpu_ns = INT64_MIN,
					       .max_rss_bytes = UINT64_MAX,
					       .ticks = UINT64_MAX,
					       .late_ticks = 3,
					       .has_energy = true,
					       .energy_uj = UINT64_MAX,
					       .uncertainty_uj = UINT64_MAX};
	return report;
}

static void test_hostile_text(void **state)
{
	struct wtl_report_domain domain;
	struct wtl_report report = hostile_report(&domain);
	char *page = output_text(&wtl_writer_text, &wtl_thing_report, &report, plain);

	(void)state;
	output_assert_no_control(page);
	assert_non_null(strstr(page, "wattle: '\\x1b]0;owned\\x07\\x1b[31mred' 'a\\nb"));
	assert_non_null(strstr(page, "18000 ± 18000 GJ"));
	assert_null(strstr(page, "\xe2\x80\xae"));
	free(page);
	page = output_text(&wtl_writer_text, &wtl_thing_report, &report,
			   (struct wtl_output_style){.ascii = true, .verbose = true});
	output_assert_no_control(page);
	free(page);
}

static void test_hostile_csv(void **state)
{
	struct wtl_report_domain domain;
	struct wtl_report report = hostile_report(&domain);
	char *rows = output_text(&wtl_writer_csv, &wtl_thing_report, &report,
				 (struct wtl_output_style){.append = true});
	size_t lines = 0;

	(void)state;
	output_assert_no_control(rows);
	for (const char *at = rows; *at; at++)
		lines += *at == '\n';
	assert_int_equal(lines, 2); /* one domain and the total, however many newlines were in it */
	assert_non_null(strstr(rows, ",\"'=1+1\\x1b[2J\","));
	assert_non_null(strstr(rows, ",\"'@x\","));
	assert_non_null(strstr(rows, "\"'-2\\x0d\\n+3 \\xf0\\x9f\""));
	assert_non_null(strstr(rows, ",18446744073709.551615,"));
	free(rows);
}

/* A formula is defused in whatever column it stands, a negative number is never text. */
static void test_csv_formulas(void **state)
{
	static const char *const starts[] = {"=", "+", "-", "@"};
	struct wtl_report report = machine_vm;

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		char word[] = {starts[i][0], 'x', '\0'}, wanted[16];
		char *const command[] = {word, NULL};
		char *rows;

		report.command = command;
		rows = output_text(&wtl_writer_csv, &wtl_thing_report, &report, plain);
		/* A word with '=' needs no quotes in a shell: the cell really starts with it. */
		snprintf(wanted, sizeof(wanted), ",\"'%sx\",", starts[i]);
		assert_non_null(strstr(rows, wanted));
		free(rows);
	}
}

static void test_long_command(void **state)
{
	static char word[10001];
	char *const command[] = {word, word, NULL};
	struct wtl_report report = machine_server;
	char *page;

	(void)state;
	memset(word, '\x1b', sizeof(word) - 1);
	report.command = command;
	page = output_text(&wtl_writer_text, &wtl_thing_report, &report, plain);
	assert_int_equal(wtl_layout_columns(page, strcspn(page, "\n")), 80);
	output_assert_no_control(page);
	free(page);
	page = output_text(&wtl_writer_csv, &wtl_thing_report, &report, plain);
	assert_true(strlen(page) > 20000);
	free(page);
}

static void test_wide_command(void **state)
{
	static char word[3 * 60 + 1];
	char *const command[] = {word, NULL};
	struct wtl_report report = machine_server;
	char *page;

	(void)state;
	for (size_t i = 0; i < 60; i++)
		memcpy(word + 3 * i, "電", 3);
	report.command = command;
	page = output_text(&wtl_writer_text, &wtl_thing_report, &report, plain);
	/* "wattle: " and 35 characters of two columns and the mark: one column is left over. */
	assert_int_equal(wtl_layout_columns(page, strcspn(page, "\n")), 79);
	assert_non_null(strstr(page, "電…\n"));
	free(page);
}

/* Nothing is required but the structs themselves. */
static void test_empty(void **state)
{
	static const struct wtl_report no_report;
	static const struct wtl_series no_series;
	static const struct wtl_doctor no_doctor;
	static const struct wtl_report_domain no_name[2];
	struct wtl_report report = {.domains = no_name, .n_domains = 2};
	struct wtl_series series = {.reports = &report, .n_reports = 1};
	struct wtl_doctor doctor = {.domains = no_name, .n_domains = 2};

	(void)state;
	for (size_t i = 0; wtl_writers[i]; i++) {
		struct wtl_output_style all = {
			.color = true, .ascii = true, .append = true, .verbose = true};

		free(output_text(wtl_writers[i], &wtl_thing_report, &no_report, plain));
		free(output_text(wtl_writers[i], &wtl_thing_series, &no_series, plain));
		free(output_text(wtl_writers[i], &wtl_thing_doctor, &no_doctor, plain));
		free(output_text(wtl_writers[i], &wtl_thing_report, &report, all));
		free(output_text(wtl_writers[i], &wtl_thing_series, &series, all));
		free(output_text(wtl_writers[i], &wtl_thing_doctor, &doctor, all));
	}
}

/* Domains that contain each other in a circle are all shown, once. */
static void test_circle_of_domains(void **state)
{
	static const struct wtl_report_domain circle[] = {
		{.domain = {.name = "aaa", .inside = "bbb"}},
		{.domain = {.name = "bbb", .inside = "ccc"}},
		{.domain = {.name = "ccc", .inside = "aaa"}},
		{.domain = {.name = "ddd", .inside = "ccc"}},
	};
	struct wtl_report report = {.domains = circle, .n_domains = 4};
	char *page = output_text(&wtl_writer_text, &wtl_thing_report, &report, plain);

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const char *at = strstr(page, circle[i].domain.name);

		assert_non_null(at);
		assert_null(strstr(at + 1, circle[i].domain.name));
	}
	free(page);
}

/* Closed, but it could not be shown so that it adds up. */
static void idle_without_baseline(struct wtl_ledger *ledger)
{
	ledger->unattributed_uj -= 5;
	ledger->idle_uj = 5;
}

/* An account that does not add up is never printed. */
static void test_open_ledger(void **state)
{
	struct wtl_report_domain domain = server_domains[0];
	struct wtl_report report = machine_server;
	struct wtl_series series = machine_series;
	struct wtl_buf buf;

	(void)state;
	report.domains = &domain;
	report.n_domains = 1;
	series.reports = &report;
	series.n_reports = 1;
	series.domain_j = NULL;
	wtl_buf_init(&buf, OUTPUT_MAX);
	for (int breach = 0; breach < 4; breach++) {
		domain.ledger = server_domains[0].ledger;
		if (breach == 0)
			domain.ledger.unattributed_uj--;
		else if (breach == 1)
			domain.ledger.idle_uj = 1;
		else if (breach == 2)
			domain.energy.energy_uj++; /* closed, but of another figure */
		else
			idle_without_baseline(&domain.ledger);
		for (size_t i = 0; wtl_writers[i]; i++) {
			assert_int_equal(wtl_thing_write(&buf, &wtl_thing_report, &report,
							 wtl_writers[i], &plain),
					 -EPROTO);
			assert_int_equal(wtl_thing_write(&buf, &wtl_thing_series, &series,
							 wtl_writers[i], &plain),
					 -EPROTO);
			assert_int_equal(buf.len, 0);
		}
		domain.energy = server_domains[0].energy;
	}
	wtl_buf_done(&buf);
}

static void test_attributed_ledger(void **state)
{
	struct wtl_report_domain domain = server_domains[0];
	struct wtl_report report = machine_server;
	char *rows;

	(void)state;
	domain.ledger = (struct wtl_ledger){.has_idle = true,
					    .live_uj = 1,
					    .exited_uj = 2,
					    .kernel_uj = 3,
					    .idle_uj = 4,
					    .unattributed_uj = domain.energy.energy_uj - 10,
					    .total_uj = domain.energy.energy_uj};
	report.domains = &domain;
	report.n_domains = 1;
	rows = output_text(&wtl_writer_csv, &wtl_thing_report, &report, plain);
	assert_non_null(strstr(rows, ",0.000001,0.000002,0.000003,0.000004,1516.204107,"));
	free(rows);
}

/* The buffer's limit is an error, wherever it strikes. */
static void test_full_buffer(void **state)
{
	(void)state;
	for (size_t i = 0; wtl_writers[i]; i++) {
		for (size_t max = 0; max < 1500; max += 97) {
			struct wtl_buf buf;

			wtl_buf_init(&buf, max);
			assert_int_equal(wtl_thing_write(&buf, &wtl_thing_report, &machine_server,
							 wtl_writers[i], &plain),
					 -EFBIG);
			assert_true(buf.len <= max);
			wtl_buf_done(&buf);
		}
	}
}

/* ---- JSON ---- */

#if HAVE_JANSSON

static void test_json_exact(void **state)
{
	static const uint64_t values[] = {0,
					  1,
					  999999,
					  1000000,
					  12345678,
					  1234567890123456,
					  8589934591999999,
					  9007199254740991,
					  UINT64_MAX};
	struct wtl_report_domain domain = server_domains[0];
	struct wtl_report report = machine_server;

	(void)state;
	report.domains = &domain;
	report.n_domains = 1;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		uint64_t joules, micro;
		char wanted[64];
		const char *at;
		char *text, *rest;

		domain.energy.energy_uj = values[i];
		domain.ledger =
			(struct wtl_ledger){.unattributed_uj = values[i], .total_uj = values[i]};
		text = output_text(&wtl_writer_json, &wtl_thing_report, &report,
				   (struct wtl_output_style){.append = true});
		snprintf(wanted, sizeof(wanted), "\"unattributed_j\":%" PRIu64 ".%06" PRIu64 ",",
			 values[i] / 1000000, values[i] % 1000000);
		assert_non_null(strstr(text, wanted));
		at = strstr(text, "\"total_j\":");
		assert_non_null(at);
		joules = strtoull(at + 10, &rest, 10);
		assert_int_equal(*rest, '.');
		micro = strtoull(rest + 1, &rest, 10);
		assert_true(joules * 1000000 + micro == values[i]);
		free(text);
	}
}

static void test_json_parses(void **state)
{
	struct wtl_report_domain domain;
	struct wtl_report hostile = hostile_report(&domain);

	(void)state;
	for (size_t i = 0; i <= sizeof(everything) / sizeof(everything[0]); i++) {
		for (int append = 0; append < 2; append++) {
			bool last = i == sizeof(everything) / sizeof(everything[0]);
			char *text = output_text(&wtl_writer_json,
						 last ? &wtl_thing_report : everything[i].thing,
						 last ? &hostile : everything[i].what,
						 (struct wtl_output_style){.append = append});
			json_error_t error;
			json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

			if (!root)
				fail_msg("line %d: %s\n%s", error.line, error.text, text);
			if (append)
				assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
			json_decref(root);
			free(text);
		}
	}
}

static void test_json_hostile(void **state)
{
	struct wtl_report_domain domain;
	struct wtl_report report = hostile_report(&domain);
	char *text = output_text(&wtl_writer_json, &wtl_thing_report, &report, plain);
	json_t *root = json_loads(text, 0, NULL), *command = json_object_get(root, "command");

	(void)state;
	assert_int_equal(json_array_size(command), 7);
	assert_string_equal(json_string_value(json_array_get(command, 0)), hostile_command[0]);
	assert_string_equal(json_string_value(json_array_get(command, 1)), hostile_command[1]);
	assert_string_equal(json_string_value(json_array_get(command, 2)),
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
			    "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	assert_string_equal(json_string_value(json_array_get(command, 4)), hostile_command[4]);
	assert_string_equal(json_string_value(json_array_get(command, 6)), "");
	json_decref(root);
	free(text);
}

#endif

/* ---- Figures ---- */

static void assert_measure(uint64_t micro, uint64_t uncertainty, const char *wanted)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, 256);
	assert_int_equal(wtl_format_measure(&buf, micro, uncertainty, WTL_FORMAT_J, false), 0);
	assert_string_equal(wtl_buf_str(&buf), wanted);
	wtl_buf_done(&buf);
}

static void test_measure(void **state)
{
	(void)state;
	assert_measure(0, 0, "0 J");
	assert_measure(1, 0, "1 µJ");
	assert_measure(999, 0, "999 µJ");
	assert_measure(1000, 0, "1.000 mJ");
	assert_measure(999999, 0, "1000.0 mJ");
	assert_measure(1000000, 0, "1.000 J");
	assert_measure(12345678, 0, "12.35 J");
	assert_measure(12345678, 1, "12.3457 ± 0.0001 J");
	assert_measure(4213119000, 127300000, "4210 ± 130 J");
	assert_measure(9999000000, 0, "9999 J");
	assert_measure(10000000000, 0, "10.00 kJ");
	assert_measure(UINT64_C(1650000250000), 500000, "1650.00 ± 0.01 kJ");
	assert_measure(25118000, 30140000, "25 ± 30 J");
	assert_measure(3000, 1200000, "0.0 ± 1.2 J");
	assert_measure(0, 1200000, "0.0 ± 1.2 J");
	assert_measure(99600000, 9960000, "99.6 ± 10.0 J");
	assert_measure(5, 3, "5 ± 3 µJ");
	assert_measure(UINT64_MAX, 0, "18450 GJ");
	assert_measure(UINT64_MAX, UINT64_MAX, "18000 ± 18000 GJ");
	assert_measure(1, UINT64_MAX, "0 ± 18000 GJ");
}

static void assert_text(struct wtl_buf *buf, const char *wanted)
{
	assert_string_equal(wtl_buf_str(buf), wanted);
	wtl_buf_clear(buf);
}

static void test_units(void **state)
{
	(void)state;
	assert_string_equal(wtl_format_unit(WTL_FORMAT_J, 0, true), "uJ");
	assert_string_equal(wtl_format_unit(WTL_FORMAT_WH, 0, false), "µWh");
	assert_string_equal(wtl_format_unit(WTL_FORMAT_WH, 9, false), "kWh");
	assert_string_equal(wtl_format_unit(WTL_FORMAT_G, 12, false), "t");
	assert_string_equal(wtl_format_unit(WTL_FORMAT_W, 99, false), "GW");
	assert_int_equal(wtl_format_scale(UINT64_MAX), 15);
	assert_int_equal(wtl_format_uwh(3600), 1);
	assert_int_equal(wtl_format_uwh(1799), 0);
	assert_int_equal(wtl_format_uwh(1800), 1);
	assert_true(wtl_format_uwh(UINT64_MAX) == UINT64_C(5124095576030431));
	assert_int_equal(wtl_format_share(10, 3, 4), 7);
	assert_int_equal(wtl_format_share(10, 3, 0), 0);
	assert_true(wtl_format_share(UINT64_MAX, UINT64_MAX, 2) == UINT64_MAX);
	assert_true(wtl_format_micro((double)NAN) == 0 && wtl_format_micro(-1) == 0);
	assert_true(wtl_format_micro(1e300) == UINT64_MAX);
	assert_int_equal(wtl_format_micro(1.5), 1500000);
}

static void test_fixed(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 256);
	wtl_format_fixed(&buf, 0, 6);
	assert_text(&buf, "0.000000");
	wtl_format_fixed(&buf, UINT64_MAX, 6);
	assert_text(&buf, "18446744073709.551615");
	wtl_format_fixed(&buf, UINT64_MAX, 18);
	assert_text(&buf, "18.446744073709551615");
	wtl_format_fixed(&buf, 42, 0);
	assert_text(&buf, "42");
	wtl_format_double(&buf, -1.2345, 3);
	assert_text(&buf, "-1.235");
	wtl_format_double(&buf, -0.0001, 3);
	assert_text(&buf, "0.000");
	/* What rounds to 0 is never below it. */
	for (unsigned decimals = 0; decimals < 9; decimals++) {
		wtl_format_double(&buf, -0.4 * pow(10, -(double)decimals), decimals);
		assert_null(strchr(wtl_buf_str(&buf), '-'));
		wtl_buf_clear(&buf);
	}
	wtl_format_double(&buf, -0.0, 1);
	assert_text(&buf, "0.0");
	wtl_format_double(&buf, 1e300, 0);
	assert_text(&buf, "18446744073709551615");
	assert_int_equal(wtl_format_fixed(&buf, 1, 19), -EINVAL);
	wtl_buf_done(&buf);
}

static void test_duration(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} known[] = {
		{-1, "0 µs"},
		{0, "0 µs"},
		{412000, "412 µs"},
		{1234567, "1.23 ms"},
		{412345678, "412 ms"},
		{1234567890, "1.235 s"},
		{12003471265, "12.00 s"},
		{59994000000, "59.99 s"},
		{59999000000, "1 min 0.0 s"},
		{192412000000, "3 min 12.4 s"},
		{INT64_C(3599940000000), "59 min 59.9 s"},
		{INT64_C(3599960000000), "1 h 00 min 00 s"},
		{INT64_C(7392000000000), "2 h 03 min 12 s"},
		{INT64_C(86400000000000), "1 d 0 h 00 min"},
		{INT64_MAX, "106751 d 23 h 47 min"},
	};
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 256);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		wtl_format_duration(&buf, known[i].ns, false);
		assert_text(&buf, known[i].text);
	}
	wtl_format_duration(&buf, 412000, true);
	assert_text(&buf, "412 us");
	wtl_buf_done(&buf);
}

static void test_utc(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 256);
	wtl_format_utc(&buf, START_UTC_NS);
	assert_text(&buf, "2026-11-21T08:00:00.123Z");
	wtl_format_utc(&buf, 0);
	assert_text(&buf, "1970-01-01T00:00:00.000Z");
	wtl_format_utc(&buf, -1);
	assert_text(&buf, "1969-12-31T23:59:59.999Z");
	wtl_format_utc(&buf, INT64_C(1709164800000000000));
	assert_text(&buf, "2024-02-29T00:00:00.000Z");
	wtl_format_utc(&buf, INT64_MAX);
	assert_text(&buf, "2262-04-11T23:47:16.854Z");
	wtl_format_utc(&buf, INT64_MIN);
	assert_text(&buf, "1677-09-21T00:12:43.145Z");
	wtl_buf_done(&buf);
}

static void test_age(void **state)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} known[] = {
		{-5, "0 s"},	   {0, "0 s"},		{119, "119 s"}, {120, "2 min"},
		{7199, "119 min"}, {7200, "2 h"},	{10800, "3 h"}, {172799, "47 h"},
		{172800, "2 d"},   {31536000, "365 d"},
	};
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 256);
	for (size_t i = 0; i < COUNT(known); i++) {
		wtl_format_age(&buf, known[i].seconds * WTL_NS_PER_S);
		assert_text(&buf, known[i].text);
	}
	wtl_buf_done(&buf);
}

/* Whole and parts, rounded to tens. */
static void assert_apportioned(const uint64_t parts[], size_t n, uint64_t whole,
			       const uint64_t wanted[])
{
	uint64_t rounded[8];

	wtl_format_apportion(parts, n, 1, whole, rounded);
	for (size_t i = 0; i < n; i++)
		assert_true(rounded[i] == wanted[i]);
}

static void test_apportion(void **state)
{
	static const uint64_t thirds[] = {33, 34, 33}, exact[] = {10, 20, 0},
			      halves[] = {15, 25, 35}, low[] = {4, 3, 4}, huge[] = {UINT64_MAX, 0};

	(void)state;
	assert_apportioned(thirds, 3, 100, (uint64_t[]){30, 40, 30});
	assert_apportioned(exact, 3, 30, (uint64_t[]){10, 20, 0});
	/* 75 may be told as 70 or 80. */
	assert_apportioned(halves, 3, 80, (uint64_t[]){10, 30, 40});
	assert_apportioned(halves, 3, 70, (uint64_t[]){10, 20, 40});
	assert_apportioned(low, 3, 10, (uint64_t[]){10, 0, 0});
	assert_apportioned(low, 0, 0, NULL);
	assert_apportioned(huge, 2, wtl_format_round(UINT64_MAX, 1),
			   (uint64_t[]){UINT64_MAX - 5, 0});
	/* Not their sum: it ends, and each is near. */
	assert_apportioned(exact, 3, 1000, (uint64_t[]){10, 20, 0});
	assert_true(wtl_format_round(15, 1) == 20 && wtl_format_round(14, 1) == 10);
	assert_true(wtl_format_round(7, 0) == 7);
}

static void test_bytes_and_percent(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 256);
	wtl_format_bytes(&buf, 0);
	assert_text(&buf, "0 KiB");
	wtl_format_bytes(&buf, 1536);
	assert_text(&buf, "1.5 KiB");
	wtl_format_bytes(&buf, UINT64_C(515) << 30);
	assert_text(&buf, "515 GiB");
	wtl_format_bytes(&buf, UINT64_MAX);
	assert_text(&buf, "15.9 EiB");
	wtl_format_period(&buf, 1000000, false);
	assert_text(&buf, "1 ms");
	wtl_format_period(&buf, 20 * WTL_NS_PER_S, false);
	assert_text(&buf, "20 s");
	wtl_format_period(&buf, 1500000, false);
	assert_text(&buf, "1.50 ms");
	wtl_format_percent(&buf, 0.00934);
	assert_text(&buf, "0.93 %");
	wtl_format_percent(&buf, 0.0312);
	assert_text(&buf, "3.1 %");
	wtl_format_percent(&buf, 0.314);
	assert_text(&buf, "31 %");
	wtl_buf_done(&buf);
}

static void test_words(void **state)
{
	(void)state;
	assert_string_equal(wtl_words_signal(9), "SIGKILL");
	assert_null(wtl_words_signal(0));
	assert_null(wtl_words_signal(4711));
	assert_string_equal(wtl_words_flag(WATTLE_ENERGY_RESET | WATTLE_ENERGY_SHORT, 1), "reset");
	assert_null(wtl_words_flag(0, 0));
	assert_string_equal(wtl_words_flag(UINT32_MAX, 3), "incomplete");
	assert_null(wtl_words_flag(~UINT32_C(15), 0));
}

static void test_command(void **state)
{
	static const struct {
		const char *words[4];
		const char *text;
	} known[] = {
		{{"echo", "-n", "a=b", NULL}, "echo -n a=b"},
		{{"echo", "two words", NULL}, "echo 'two words'"},
		{{"echo", "it's", NULL}, "echo \"it's\""},
		{{"it's $5", NULL}, "'it'\"'\"'s $5'"},
		{{"", NULL}, "''"},
		{{"$HOME", "*", "电", NULL}, "'$HOME' '*' 电"},
		{{NULL}, ""},
	};
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 256);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char copies[3][32], *command[4] = {NULL};

		for (size_t word = 0; known[i].words[word]; word++) {
			snprintf(copies[word], sizeof(copies[word]), "%s", known[i].words[word]);
			command[word] = copies[word];
		}
		wtl_format_command(&buf, command);
		assert_text(&buf, known[i].text);
	}
	wtl_format_command(&buf, NULL);
	assert_text(&buf, "");
	wtl_buf_done(&buf);
}

static void test_utf8(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		uint32_t point;
	} known[] = {
		{"a", 1, 'a'},
		{"\xc2\xb5", 2, 0xb5},
		{"\xe9\x9b\xbb", 3, 0x96fb},
		{"\xf0\x9f\x94\x8b", 4, 0x1f50b},
		{"\x80", 0, 0},
		{"\xc0\x80", 0, 0},
		{"\xed\xa0\x80", 0, 0},
		{"\xf4\x90\x80\x80", 0, 0},
		{"\xf8\x88\x80\x80", 0, 0},
		{"\xe9\x9b", 0, 0},
		{"\xe0\x80\x80", 0, 0},
		{"\xc3(", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint32_t point = 0;

		assert_int_equal(wtl_format_utf8(known[i].text, strlen(known[i].text), &point),
				 known[i].len);
		assert_int_equal(point, known[i].point);
	}
}

/* One column takes what the others leave, and never less than eight. */
static void test_grid_cut(void **state)
{
	static char word[101];
	struct wtl_buf buf;

	(void)state;
	memset(word, 'x', sizeof(word) - 1);
	wtl_buf_init(&buf, 4096);
	for (int others = 0; others < 100; others += 33) {
		struct wtl_grid grid;
		size_t wanted = others < 70 ? 80 : (size_t)others + 10;

		wtl_grid_init(&grid, "rcl", &plain);
		wtl_grid_begin(&grid, WTL_TONE_PLAIN);
		wtl_buf_printf(&grid.rows, "%.*s", others, word);
		wtl_grid_next(&grid);
		wtl_grid_cell(&grid, word);
		wtl_grid_begin(&grid, WTL_TONE_PLAIN);
		wtl_grid_cell(&grid, "1");
		wtl_grid_cell(&grid, "電電電");
		wtl_grid_cell(&grid, "");
		wtl_grid_render(&grid, &buf);
		/* The last column is empty, but for its gap. */
		assert_in_range(wtl_layout_columns(buf.data, strcspn(buf.data, "\n")), wanted - 2,
				wanted);
		assert_non_null(strstr(buf.data, "x…\n"));
		assert_non_null(strstr(buf.data, "1  電電電\n"));
		wtl_buf_clear(&buf);
	}
	wtl_buf_done(&buf);
}

/* A process that did call setlocale() gets the same bytes. */
static void test_other_locale(void **state)
{
	static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
	char *before = output_text(&wtl_writer_csv, &wtl_thing_series, &machine_series, plain);
	const char *found = NULL;
	char *after;

	(void)state;
	for (size_t i = 0; !found && i < sizeof(names) / sizeof(names[0]); i++)
		found = setlocale(LC_ALL, names[i]);
	if (!found) {
		free(before);
		print_message("no locale with a decimal comma is installed\n");
		skip();
	}
	after = output_text(&wtl_writer_csv, &wtl_thing_series, &machine_series, plain);
	assert_string_equal(before, after);
	free(before);
	free(after);
#if HAVE_JANSSON
	test_json_exact(state);
	test_json_parses(state);
#endif
	setlocale(LC_ALL, "C");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden_reports),
		cmocka_unit_test(test_golden_series),
		cmocka_unit_test(test_golden_doctors),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_modelled_series),
		cmocka_unit_test(test_carbon_of_a_series),
		cmocka_unit_test(test_table_of_outputs),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_hostile_text),
		cmocka_unit_test(test_hostile_csv),
		cmocka_unit_test(test_csv_formulas),
		cmocka_unit_test(test_long_command),
		cmocka_unit_test(test_wide_command),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_circle_of_domains),
		cmocka_unit_test(test_open_ledger),
		cmocka_unit_test(test_attributed_ledger),
		cmocka_unit_test(test_full_buffer),
#if HAVE_JANSSON
		cmocka_unit_test(test_json_exact),
		cmocka_unit_test(test_json_parses),
		cmocka_unit_test(test_json_hostile),
#endif
		cmocka_unit_test(test_measure),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_fixed),
		cmocka_unit_test(test_duration),
		cmocka_unit_test(test_utc),
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_apportion),
		cmocka_unit_test(test_bytes_and_percent),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_utf8),
		cmocka_unit_test(test_grid_cut),
		cmocka_unit_test(test_other_locale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
