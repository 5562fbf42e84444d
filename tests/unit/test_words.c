/* SPDX-License-Identifier: MIT */
/* What every format says in the same words: what is missing has a reason, and a ledger that does not
 * close is not printed. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#include "text/shares.h"
#include "document/field.h"
#include "document/words.h"

enum { DOMAINS = 2 };

struct sheet {
	struct wtl_report report;
	struct wtl_report_domain domains[DOMAINS];
	struct wtl_report_process processes[2];
	struct wtl_consumer consumers[2];
};

static void fill_domain(struct wtl_report_domain *domain, const char *name)
{
	*domain = (struct wtl_report_domain){
		.domain = {.status = WATTLE_STATUS_OK, .in_total = true},
		.energy = {.has_energy = true,
			   .has_power = true,
			   .energy_uj = 100,
			   .method = WATTLE_METHOD_COUNTER,
			   .status = WATTLE_STATUS_OK},
		.ledger = {.has_idle = true,
			   .live_uj = 40,
			   .exited_uj = 10,
			   .kernel_uj = 5,
			   .idle_uj = 25,
			   .unattributed_uj = 20,
			   .total_uj = 100},
		.weight = "cpu-time",
	};
	domain->domain.name = name;
}

static void fill(struct sheet *sheet)
{
	memset(sheet, 0, sizeof(*sheet));
	fill_domain(&sheet->domains[0], "package-0");
	fill_domain(&sheet->domains[1], "dram-0");
	for (size_t i = 0; i < 2; i++) {
		sheet->processes[i].consumer = &sheet->consumers[i];
		sheet->processes[i].all = (struct wtl_share_energy){
			.has_dynamic = true, .full_uj = 60, .dynamic_uj = 45};
		sheet->processes[i].gpu.has_dynamic = true;
	}
	sheet->report.domains = sheet->domains;
	sheet->report.n_domains = DOMAINS;
	sheet->report.attribution.is_known = true;
	sheet->report.attribution.processes = sheet->processes;
	sheet->report.attribution.n_processes = 2;
	sheet->report.attribution.others =
		(struct wtl_share_energy){.has_dynamic = true, .full_uj = 40, .dynamic_uj = 20};
}

static void signals(void **state)
{
	char name[16];

	(void)state;
	assert_string_equal(wtl_words_signal(SIGKILL), "SIGKILL");
	assert_null(wtl_words_signal(0));
	assert_null(wtl_words_signal(-1));
	assert_null(wtl_words_signal(64));
	for (int i = 1; i < 65; i++) {
		if (!wtl_words_signal(i))
			continue;
		snprintf(name, sizeof(name), "SIG%s", sigabbrev_np(i));
		assert_string_equal(wtl_words_signal(i), name);
	}
}

static void flags(void **state)
{
	(void)state;
	assert_null(wtl_words_flag(0, 0));
	assert_null(wtl_words_flag(UINT32_MAX, 4));
	assert_string_equal(wtl_words_flag(UINT32_MAX, 0), "short");
	assert_string_equal(wtl_words_flag(UINT32_MAX, 3), "incomplete");
	assert_string_equal(wtl_words_flag(WATTLE_ENERGY_RESET, 0), "reset");
	assert_null(wtl_words_flag(WATTLE_ENERGY_RESET, 1));
	assert_string_equal(wtl_words_flag(WATTLE_ENERGY_SHORT | WATTLE_ENERGY_INCOMPLETE, 1),
			    "incomplete");
}

static void reasons(void **state)
{
	struct wtl_report_domain domain;

	(void)state;
	fill_domain(&domain, "package-0");
	assert_null(wtl_words_reason(&domain));
	domain.energy.has_power = false;
	assert_string_equal(wtl_words_reason(&domain), "too short to speak of power");
	domain.energy.energy_uj = 0;
	domain.energy.measured_ns = 1000000000;
	assert_string_equal(wtl_words_reason(&domain), "its counter has not moved yet");
	domain.energy.measured_ns = 1000000;
	assert_string_equal(wtl_words_reason(&domain), "too short to speak of power");
	domain.energy.has_energy = false;
	assert_string_equal(wtl_words_reason(&domain), "no figure came from its source");
	domain.domain.reason = "";
	assert_string_equal(wtl_words_reason(&domain), "no figure came from its source");
	domain.domain.reason = "the door is locked";
	assert_string_equal(wtl_words_reason(&domain), "the door is locked");
}

static void status_and_method(void **state)
{
	struct wtl_report_domain domain;

	(void)state;
	fill_domain(&domain, "package-0");
	domain.domain.status = WATTLE_STATUS_GONE;
	domain.domain.method = WATTLE_METHOD_MODELLED;
	domain.energy.status = WATTLE_STATUS_GAP;
	/* A figure speaks for itself; without one the domain does. */
	assert_int_equal(wtl_words_status(&domain), WATTLE_STATUS_GAP);
	assert_int_equal(wtl_words_method(&domain), WATTLE_METHOD_COUNTER);
	domain.energy.has_energy = false;
	assert_int_equal(wtl_words_status(&domain), WATTLE_STATUS_GONE);
	assert_int_equal(wtl_words_method(&domain), WATTLE_METHOD_MODELLED);
	domain.domain.status = WATTLE_STATUS_OK;
	assert_int_equal(wtl_words_status(&domain), WATTLE_STATUS_GAP);
}

static void totals(void **state)
{
	struct wattle_energy total = {.has_energy = true, .has_power = true};

	(void)state;
	assert_null(wtl_words_total_reason(&total));
	total.has_power = false;
	assert_non_null(strstr(wtl_words_total_reason(&total), "too short"));
	total.has_energy = false;
	assert_non_null(strstr(wtl_words_total_reason(&total), "nothing that counts"));
}

static void ledgers_add_up(void **state)
{
	struct wtl_ledger ledger;
	struct sheet sheet;

	(void)state;
	fill(&sheet);
	assert_true(wtl_words_ledger(&sheet.report, &ledger));
	assert_int_equal(ledger.total_uj, 200);
	assert_int_equal(ledger.live_uj, 80);
	assert_int_equal(ledger.exited_uj, 20);
	assert_int_equal(ledger.kernel_uj, 10);
	assert_int_equal(ledger.idle_uj, 50);
	assert_int_equal(ledger.unattributed_uj, 40);
	assert_true(ledger.has_idle);

	/* One without a baseline: none for all. One that does not count, or has no figure, is left out. */
	sheet.domains[1].ledger.has_idle = false;
	assert_true(wtl_words_ledger(&sheet.report, &ledger));
	assert_false(ledger.has_idle);
	sheet.domains[1].domain.in_total = false;
	assert_true(wtl_words_ledger(&sheet.report, &ledger));
	assert_true(ledger.has_idle);
	assert_int_equal(ledger.total_uj, 100);
	sheet.domains[0].energy.has_energy = false;
	assert_true(wtl_words_ledger(&sheet.report, &ledger));
	assert_int_equal(ledger.total_uj, 0);
}

static void sums_that_do_not_fit(void **state)
{
	struct wtl_ledger ledger = {.total_uj = 4711};
	uint64_t full_uj = 4711;
	struct sheet sheet;

	(void)state;
	fill(&sheet);
	sheet.domains[0].ledger.total_uj = UINT64_MAX;
	assert_false(wtl_words_ledger(&sheet.report, &ledger));
	assert_int_equal(ledger.total_uj, 4711);
	sheet.processes[1].all.full_uj = UINT64_MAX;
	assert_false(wtl_words_processes_uj(&sheet.report, &full_uj));
	assert_int_equal(full_uj, 4711);
	assert_int_equal(wtl_ledgers_check(&sheet.report), -EPROTO);
}

/* Each way in which a report can claim more than there is. */
static void a_report_that_is_not_sound(void **state)
{
	struct sheet sheet;

	(void)state;
	fill(&sheet);
	assert_int_equal(wtl_ledgers_check(&sheet.report), 0);

#define SPOILT(change)                                                       \
	do {                                                                 \
		fill(&sheet);                                                \
		change;                                                      \
		assert_int_equal(wtl_ledgers_check(&sheet.report), -EPROTO); \
	} while (0)
	SPOILT(sheet.domains[0].ledger.live_uj++);
	SPOILT(sheet.domains[1].ledger.idle_uj--);
	SPOILT(sheet.domains[0].ledger.total_uj--);
	SPOILT(sheet.domains[0].energy.energy_uj++);
	SPOILT(sheet.domains[0].ledger.has_idle = false);
	/* 160 are for processes, of which 110 dynamic. */
	SPOILT(sheet.processes[0].all.full_uj = 61);
	SPOILT(sheet.processes[0].all.dynamic_uj = 46);
	SPOILT(sheet.processes[0].all.dynamic_uj = 61);
	SPOILT(sheet.processes[0].gpu.full_uj = 61);
	SPOILT(sheet.processes[0].gpu.dynamic_uj = 1);
	SPOILT(sheet.report.attribution.others.full_uj = 41);
	SPOILT(sheet.report.attribution.others.dynamic_uj = 41);
	SPOILT(sheet.report.attribution.command.full_uj = 161);
	SPOILT(sheet.report.attribution.command_gpu.full_uj = 1);
#undef SPOILT

	/* What nobody claims to know is not checked. */
	fill(&sheet);
	sheet.processes[0].all.full_uj = 1000;
	sheet.report.attribution.is_known = false;
	assert_int_equal(wtl_ledgers_check(&sheet.report), 0);
	sheet.domains[0].energy.has_energy = false;
	sheet.domains[0].ledger.live_uj = 1000;
	assert_int_equal(wtl_ledgers_check(&sheet.report), 0);
}

static void why_nothing_is_attributed(void **state)
{
	struct sheet sheet;

	(void)state;
	fill(&sheet);
	assert_true(wtl_words_attributed(&sheet.report, &sheet.domains[0]));
	assert_null(wtl_words_unattributed_reason(&sheet.report, &sheet.domains[0]));
	sheet.domains[0].ledger = (struct wtl_ledger){.unattributed_uj = 100, .total_uj = 100};
	assert_true(wtl_words_attributed(&sheet.report, &sheet.domains[0]));
	sheet.domains[0].weight = NULL;
	assert_false(wtl_words_attributed(&sheet.report, &sheet.domains[0]));
	assert_string_equal(wtl_words_unattributed_reason(&sheet.report, &sheet.domains[0]),
			    "nothing says who uses this domain");
	sheet.report.attribution.is_known = false;
	assert_string_equal(wtl_words_unattributed_reason(&sheet.report, &sheet.domains[0]),
			    "energy is not attributed to processes");
	sheet.report.attribution.reason = "";
	assert_string_equal(wtl_words_not_attributed(&sheet.report),
			    "energy is not attributed to processes");
	sheet.report.attribution.reason = "/proc is closed";
	assert_string_equal(wtl_words_unattributed_reason(&sheet.report, &sheet.domains[0]),
			    "/proc is closed");
}

static void consumers(void **state)
{
	struct wtl_consumer consumer = {.state = WTL_CONSUMER_LIVE};

	(void)state;
	assert_string_equal(wtl_words_consumer(&consumer), "name not known");
	consumer.state = WTL_CONSUMER_FOLDED;
	assert_string_equal(wtl_words_consumer(&consumer), "ended processes");
	strcpy(consumer.name, "sh");
	assert_string_equal(wtl_words_consumer(&consumer), "sh");
	consumer.command = "sh -c true";
	assert_string_equal(wtl_words_consumer(&consumer), "sh -c true");
	assert_string_equal(wtl_words_state(WTL_CONSUMER_LIVE), "live");
	assert_string_equal(wtl_words_state(WTL_CONSUMER_EXITED), "exited");
	assert_string_equal(wtl_words_state(WTL_CONSUMER_KERNEL), "kernel");
	assert_string_equal(wtl_words_state(WTL_CONSUMER_FOLDED), "folded");
}

/* Whom only a GPU's driver sees used an unknown time of the CPUs, not none. */
static void cpu_time(void **state)
{
	struct wtl_consumer consumer = {.pid = 1001};

	(void)state;
	assert_int_equal(wtl_consumer_cpu_ns(&consumer), -1);
	consumer.cpu_ns = 5;
	assert_int_equal(wtl_consumer_cpu_ns(&consumer), 5);
	consumer = (struct wtl_consumer){.pid = 1001, .start_ns = 7};
	assert_int_equal(wtl_consumer_cpu_ns(&consumer), 0);
	consumer = (struct wtl_consumer){.pid = 1001, .is_readable = true};
	assert_int_equal(wtl_consumer_cpu_ns(&consumer), 0);
	consumer = (struct wtl_consumer){.state = WTL_CONSUMER_FOLDED};
	assert_int_equal(wtl_consumer_cpu_ns(&consumer), -1);
	consumer.is_readable = true;
	assert_int_equal(wtl_consumer_cpu_ns(&consumer), 0);
}

/* A sum is of what is known, and not known where nothing is. */
static void sum_of_cpu_time(void **state)
{
	(void)state;
	assert_int_equal(wtl_consumer_cpu_add(-1, -1), -1);
	assert_int_equal(wtl_consumer_cpu_add(-1, 0), 0);
	assert_int_equal(wtl_consumer_cpu_add(-1, 5), 5);
	assert_int_equal(wtl_consumer_cpu_add(5, -1), 5);
	assert_int_equal(wtl_consumer_cpu_add(5, 6), 11);
	assert_int_equal(wtl_consumer_cpu_add(INT64_MAX, 1), INT64_MAX);
}

static void times_and_carbon(void **state)
{
	struct wtl_baseline idle = {.t_utc_ns = 100, .uncertainty_uw = 50};
	struct wattle_window window = {.begin_utc_ns = 5, .duration_ns = 7};
	struct wtl_report_carbon carbon = {.emitted_ug = 1000, .pue_milli = 1250};
	int64_t age_ns = -1;

	(void)state;
	assert_int_equal(wtl_words_idle_uncertainty_uw(&idle), 100);
	idle.uncertainty_uw = UINT64_MAX / 2 + 1;
	assert_true(wtl_words_idle_uncertainty_uw(&idle) == UINT64_MAX);
	assert_true(wtl_words_idle_age(&idle, 150, &age_ns));
	assert_int_equal(age_ns, 50);
	assert_true(wtl_words_idle_age(&idle, 100, &age_ns));
	assert_int_equal(age_ns, 0);
	assert_false(wtl_words_idle_age(&idle, 99, &age_ns));
	assert_false(wtl_words_idle_age(&idle, INT64_MIN, &age_ns));
	idle.t_utc_ns = 0;
	assert_false(wtl_words_idle_age(&idle, 150, &age_ns));
	assert_int_equal(age_ns, 0);

	assert_int_equal(wtl_words_end_utc_ns(&window), 12);
	window.begin_utc_ns = INT64_MAX - 6;
	assert_true(wtl_words_end_utc_ns(&window) == INT64_MAX);

	assert_int_equal(wtl_words_with_pue(&carbon), 1250);
	carbon.emitted_ug = UINT64_MAX;
	assert_true(wtl_words_with_pue(&carbon) == UINT64_MAX);
	assert_true(wtl_words_emitted_ng(&carbon) == UINT64_MAX);
	assert_true(wtl_words_emitted_with_pue_ng(&carbon) == UINT64_MAX);
	carbon.emitted_ug = 2;
	carbon.emitted_rest_ng = -400;
	carbon.uncertainty_ug = 1;
	carbon.uncertainty_rest_ng = -999;
	assert_int_equal(wtl_words_emitted_ng(&carbon), 1600);
	assert_int_equal(wtl_words_emitted_with_pue_ng(&carbon), 2000);
	assert_int_equal(wtl_words_uncertainty_ng(&carbon), 1);
	carbon.uncertainty_ug = 0;
	assert_int_equal(wtl_words_uncertainty_ng(&carbon), 0);
}

static void gpus(void **state)
{
	struct sheet sheet;

	(void)state;
	fill(&sheet);
	assert_false(wtl_words_has_gpu(&sheet.report));
	sheet.domains[1].domain.kind = WATTLE_KIND_GPU;
	assert_true(wtl_words_has_gpu(&sheet.report));
	sheet.domains[1].energy.has_energy = false;
	assert_false(wtl_words_has_gpu(&sheet.report));
	sheet.domains[1].energy.has_energy = true;
	sheet.domains[1].domain.in_total = false;
	assert_false(wtl_words_has_gpu(&sheet.report));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals),
		cmocka_unit_test(flags),
		cmocka_unit_test(reasons),
		cmocka_unit_test(status_and_method),
		cmocka_unit_test(totals),
		cmocka_unit_test(ledgers_add_up),
		cmocka_unit_test(sums_that_do_not_fit),
		cmocka_unit_test(a_report_that_is_not_sound),
		cmocka_unit_test(why_nothing_is_attributed),
		cmocka_unit_test(consumers),
		cmocka_unit_test(cpu_time),
		cmocka_unit_test(sum_of_cpu_time),
		cmocka_unit_test(times_and_carbon),
		cmocka_unit_test(gpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
