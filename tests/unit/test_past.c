/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/text.h"
#include "energy/units.h"
#include "serve/past.h"
#include "serve/past_blob.h"

#define T0 (INT64_C(1795000000) * WTL_NS_PER_S)

/* A snapshot of two domains and one group a grouping, at a second. */
struct machine {
	struct wtl_live live;
	struct wtl_past past;
	double set_s; /* how far the clock was set since the start */
};

static const char *const names[] = {"package-0", "dram-0"};

/* And, of the first grouping, what the retired had used. */
enum { RETIRED = WTL_TOTALS_GROUPINGS };

static int set_up(void **state)
{
	struct machine *machine = calloc(1, sizeof(*machine));
	const struct wtl_live counts = {.n_domains = 2, .n_groups = RETIRED + 1};

	assert_int_equal(wtl_live_reserve(&machine->live, &counts), 0);
	assert_int_equal(wtl_past_init(&machine->past, names, 2), 0);
	for (uint8_t i = 0; i <= RETIRED; i++) {
		struct wtl_live_group *group = &machine->live.groups[i];

		*group = (struct wtl_live_group){.by = i % RETIRED, .energy_uj = group->energy_uj};
		memset(group->energy_uj, 0, 2 * WTL_TOTALS_PARTS * sizeof(uint64_t));
		wtl_text_copy(group->name, WTL_TOTALS_NAME_SIZE,
			      i == RETIRED ? WTL_TOTALS_RETIRED : "root");
	}
	memset(machine->live.domains, 0, 2 * sizeof(*machine->live.domains));
	*state = machine;
	return 0;
}

static int tear_down(void **state)
{
	struct machine *machine = *state;

	wtl_past_done(&machine->past);
	wtl_live_done(&machine->live);
	free(machine);
	return 0;
}

/* Both domains drew so many watts for the time before t, by a clock that nobody sets. */
static void look(struct machine *machine, double t_s, double seconds, uint64_t watts)
{
	struct wtl_live *live = &machine->live;

	live->t_boot_ns = 1000000 * WTL_NS_PER_S + (int64_t)(t_s * 1e9);
	live->t_utc_ns = T0 + (int64_t)((t_s + machine->set_s) * 1e9);
	live->interval_ns = (int64_t)(seconds * 1e9);
	live->has_power = true;
	live->power_uw = 2 * watts * 1000000;
	live->power_uncertainty_uw = 1000000;
	for (size_t i = 0; i < 2; i++) {
		struct wtl_live_domain *domain = &live->domains[i];
		uint64_t more_uj = (uint64_t)((double)watts * seconds * 1e6);

		domain->in_total = domain->has_power = true;
		domain->power_uw = watts * 1000000;
		domain->power_uncertainty_uw = 500000;
		domain->accounts_uj[WTL_TOTALS_PROCESSES] += more_uj;
		for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++)
			live->groups[by].energy_uj[i * WTL_TOTALS_PARTS] += more_uj;
	}
	wtl_past_look(&machine->past, live);
}

static struct wtl_past_cell cell(struct machine *machine, double from_s, double to_s, size_t at,
				 size_t column)
{
	struct wtl_past_curve curve;
	struct wtl_past_cell found;

	assert_int_equal(wtl_past_curve(&machine->past, T0 + (int64_t)(from_s * 1e9),
					T0 + (int64_t)(to_s * 1e9), &curve),
			 0);
	assert_true(at < curve.n);
	found = curve.cells[at * curve.n_columns + column];
	free(curve.cells);
	return found;
}

static size_t steps(struct machine *machine, double from_s, double to_s, int64_t *ret_step_s)
{
	struct wtl_past_curve curve;

	assert_int_equal(wtl_past_curve(&machine->past, T0 + (int64_t)(from_s * 1e9),
					T0 + (int64_t)(to_s * 1e9), &curve),
			 0);
	free(curve.cells);
	*ret_step_s = curve.step_ns / WTL_NS_PER_S;
	return curve.n;
}

/* Intervals lie across steps: each gets its part, and no step is left out. */
static void test_uneven_intervals(void **state)
{
	struct machine *machine = *state;
	double t_s = 0.5;
	int64_t step_s;

	assert_int_equal(steps(machine, 0, 20, &step_s), 0);
	for (uint64_t i = 0; i < 20; i++)
		look(machine, t_s += 1.03, 1.03, 10 + i);
	for (size_t i = 1; i < 20; i++)
		assert_false(isnan(cell(machine, 0, 20, i, 0).mean));
	/* From 1.53 to 2.56 there were 11 W, before that 10. */
	assert_float_equal(cell(machine, 1, 2, 0, 0).mean, 10.47F, 1e-3F);
	assert_float_equal(cell(machine, 1, 2, 0, 2).mean, 20.94F, 1e-3F);
	assert_float_equal(cell(machine, 1, 2, 0, 0).least, 10, 1e-6);
	assert_float_equal(cell(machine, 1, 2, 0, 0).most, 11, 1e-6);
	assert_float_equal(cell(machine, 1, 2, 0, 0).uncertainty, 0.5, 1e-6);
}

static void test_long_intervals(void **state)
{
	struct machine *machine = *state;

	look(machine, 10, 10, 7);
	for (size_t i = 0; i < 10; i++)
		assert_float_equal(cell(machine, 0, 10, i, 1).mean, 7, 1e-6);
	/* Longer than all that is kept. */
	look(machine, 500000, 499990, 9);
	assert_float_equal(cell(machine, 499999, 500000, 0, 1).mean, 9, 1e-6);
	assert_float_equal(cell(machine, 500000 - 86000, 500000, 0, 1).mean, 9, 1e-6);
}

static void test_day_is_reduced(void **state)
{
	struct machine *machine = *state;
	int64_t step_s;

	for (int i = 1; i <= 90000; i++)
		look(machine, i, 1, i % 2 ? 10 : 20);
	assert_int_equal(steps(machine, 89990, 90000, &step_s), 10);
	assert_int_equal(step_s, 1);
	assert_true(steps(machine, 87000, 90000, &step_s) <= 301);
	assert_int_equal(step_s, 10);
	assert_true(steps(machine, 0, 90000, &step_s) <= WTL_PAST_POINTS + 1);
	assert_int_equal(step_s, 120);
	assert_float_equal(cell(machine, 10000, 90000, 0, 0).mean, 15, 1e-3);
	assert_float_equal(cell(machine, 10000, 90000, 0, 0).least, 10, 1e-6);
	assert_float_equal(cell(machine, 10000, 90000, 0, 0).most, 20, 1e-6);
}

static void test_gaps_stay(void **state)
{
	struct machine *machine = *state;

	look(machine, 1, 1, 10);
	look(machine, 6, 1, 10);
	assert_false(isnan(cell(machine, 0, 6, 0, 0).mean));
	for (size_t i = 1; i < 5; i++)
		assert_true(isnan(cell(machine, 0, 6, i, 0).mean));
	assert_false(isnan(cell(machine, 0, 6, 5, 0).mean));
}

/* Whatever the clock shows meanwhile, the last seconds are the last seconds, and nothing is gone. */
static void check_set_clock(struct machine *machine, double set_s)
{
	struct wtl_past_window windows[WTL_PAST_WINDOWS],
		window = {.begin_utc_ns = T0, .end_utc_ns = T0 + WTL_NS_PER_S};
	struct wtl_past_use use;
	int64_t step_s, end_ns = T0 + (int64_t)((200 + set_s) * 1e9);

	for (int i = 1; i <= 100; i++)
		look(machine, i, 1, 10);
	wtl_past_add_window(&machine->past, &window);
	machine->set_s = set_s;
	for (int i = 101; i <= 200; i++)
		look(machine, i, 1, 30);
	assert_int_equal(steps(machine, set_s, 200 + set_s, &step_s), 200);
	assert_int_equal(step_s, 1);
	for (size_t i = 0; i < 200; i++)
		assert_float_equal(cell(machine, set_s, 200 + set_s, i, 0).mean, i < 100 ? 10 : 30,
				   1e-6);
	assert_true(wtl_past_use(&machine->past, end_ns - 150 * WTL_NS_PER_S, end_ns, &use));
	assert_int_equal(use.end_utc_ns, end_ns);
	assert_int_equal(use.end_utc_ns - use.begin_utc_ns, 150 * WTL_NS_PER_S);
	assert_int_equal(use.users_uj[0], (50 * 10 + 100 * 30) * UINT64_C(2000000));
	assert_int_equal(use.accounts_uj[WTL_TOTALS_PROCESSES],
			 (50 * 10 + 100 * 30) * UINT64_C(2000000));
	assert_int_equal(wtl_past_windows(&machine->past, end_ns - 200 * WTL_NS_PER_S,
					  end_ns - 199 * WTL_NS_PER_S, windows),
			 1);
}

static void test_clock_set_back(void **state)
{
	check_set_clock(*state, -3600);
}

static void test_clock_set_forward(void **state)
{
	check_set_clock(*state, 3600);
}

/* A suspended machine is a gap, and its clock was not set. */
static void test_suspended(void **state)
{
	struct machine *machine = *state;
	struct wtl_past_use use;

	look(machine, 10, 10, 10);
	look(machine, 620, 10, 10);
	assert_float_equal(cell(machine, 5, 6, 0, 0).mean, 10, 1e-6);
	assert_true(isnan(cell(machine, 300, 301, 0, 0).mean));
	assert_true(wtl_past_use(&machine->past, T0, T0 + 620 * WTL_NS_PER_S, &use));
	assert_int_equal(use.end_utc_ns - use.begin_utc_ns, 610 * WTL_NS_PER_S);
}

/* Another agent's counters have begun anew, and its places are others': they are not compared with the old ones. */
static void test_another_agent(void **state)
{
	struct machine *machine = *state;
	struct wtl_live *live = &machine->live;
	struct wtl_past_use use;

	for (int i = 1; i <= 50; i++)
		look(machine, i, 1, 10);
	live->begin_utc_ns++;
	wtl_text_copy(live->groups[0].name, WTL_TOTALS_NAME_SIZE, "alice");
	for (size_t i = 0; i < 2; i++) {
		live->groups[0].energy_uj[i * WTL_TOTALS_PARTS] = 7000000000;
		live->domains[i].accounts_uj[WTL_TOTALS_PROCESSES] = 0;
	}
	for (int i = 51; i <= 100; i++)
		look(machine, i, 1, 10);
	assert_true(wtl_past_use(&machine->past, T0, T0 + 200 * WTL_NS_PER_S, &use));
	assert_int_equal(use.begin_utc_ns, T0 + 51 * WTL_NS_PER_S);
	assert_int_equal(use.accounts_uj[WTL_TOTALS_PROCESSES], 49 * 20000000);
	assert_int_equal(use.users_uj[0], 49 * 20000000);
	assert_float_equal(cell(machine, 30, 31, 0, 0).mean, 10, 1e-6);
}

static void test_use_of_a_stretch(void **state)
{
	struct machine *machine = *state;
	struct wtl_past_use use;

	assert_false(wtl_past_use(&machine->past, T0, T0 + WTL_NS_PER_S, &use));
	for (int i = 1; i <= 7200; i++)
		look(machine, i, 1, 10);
	/* Marks are a minute apart an hour ago, and ten minutes before that. */
	assert_true(wtl_past_use(&machine->past, T0 + 6630 * WTL_NS_PER_S, T0 + 6690 * WTL_NS_PER_S,
				 &use));
	assert_int_equal((use.end_utc_ns - use.begin_utc_ns) / WTL_NS_PER_S, 60);
	assert_int_equal(use.accounts_uj[WTL_TOTALS_PROCESSES], 60 * 20000000);
	for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++)
		assert_int_equal(use.users_uj[by * WTL_TOTALS_PLACES], 60 * 20000000);
	assert_string_equal(use.names[0], "root");
	assert_true(wtl_past_use(&machine->past, T0 + 1000 * WTL_NS_PER_S, T0 + 1100 * WTL_NS_PER_S,
				 &use));
	assert_int_equal((use.begin_utc_ns - T0) / WTL_NS_PER_S,
			 800); /* a multiple of 600 since 1970 */
}

static void check_use(struct machine *machine, int from_s, int to_s, int alice_s, int others_s)
{
	struct wtl_past_use use;

	assert_true(wtl_past_use(&machine->past, T0 + from_s * WTL_NS_PER_S,
				 T0 + to_s * WTL_NS_PER_S, &use));
	assert_int_equal(use.users_uj[0], alice_s * 20000000);
	assert_int_equal(use.users_uj[WTL_TOTALS_OVERFLOW_PLACE], others_s * 20000000);
	assert_int_equal(use.users_uj[WTL_TOTALS_RETIRED_PLACE], 0);
	assert_string_equal(use.names[WTL_TOTALS_OVERFLOW_PLACE], WTL_TOTALS_OVERFLOW);
	assert_true(alice_s == 0 || strcmp(use.names[0], "alice") == 0);
}

/* Another one in a place began at 0. Whoever had it is one of the others, with what he used in that time alone. */
static void test_place_of_another(void **state)
{
	struct machine *machine = *state;
	struct wtl_live_group *groups = machine->live.groups;
	size_t size = 2 * WTL_TOTALS_PARTS * sizeof(uint64_t);

	for (int i = 1; i <= 40; i++)
		look(machine, i, 1, 10);
	wtl_text_copy(groups[0].name, WTL_TOTALS_NAME_SIZE, "alice");
	memcpy(groups[RETIRED].energy_uj, groups[0].energy_uj, size);
	memset(groups[0].energy_uj, 0, size);
	for (int i = 41; i <= 80; i++)
		look(machine, i, 1, 10);
	check_use(machine, 10, 80, 40, 30);
	check_use(machine, 50, 80, 30, 0);
	check_use(machine, 40, 50, 10, 0);
	check_use(machine, 20, 40, 0, 20);
}

static void test_filled_behind(void **state)
{
	struct machine *machine = *state;
	const float watts[] = {3, NAN, 3}, uncertainties[] = {1, 0, 1};
	struct wtl_past_sums sums;
	struct wtl_past other;

	assert_int_equal(wtl_past_init(&other, names, 2), 0);
	assert_int_equal(wtl_past_sums_init(&sums, &other), 0);
	wtl_past_take(&machine->past, &other);
	look(machine, 100, 1, 10);
	wtl_past_take(&machine->past, &other);
	for (int i = -90000; i <= 100; i++)
		wtl_past_add(&other, &sums, T0 + i * WTL_NS_PER_S, WTL_NS_PER_S, watts,
			     uncertainties);
	wtl_past_sums_done(&sums);
	wtl_past_take(&machine->past, &other);
	assert_float_equal(cell(machine, 50, 100, 0, 0).mean, 3, 1e-6);
	assert_true(isnan(cell(machine, 50, 100, 0, 1).mean));
	assert_float_equal(cell(machine, 99, 100, 0, 0).mean, 10, 1e-6);
	assert_float_equal(cell(machine, -80000, 100, 0, 0).mean, 3, 1e-6);
	/* The clock was an hour late: what recordings had keeps its time. */
	machine->set_s = 3600;
	look(machine, 101, 1, 20);
	assert_float_equal(cell(machine, 3700, 3701, 0, 0).mean, 20, 1e-6);
	assert_float_equal(cell(machine, 3699, 3700, 0, 0).mean, 10, 1e-6);
	assert_true(isnan(cell(machine, 2000, 2001, 0, 0).mean));
	assert_float_equal(cell(machine, 61, 3700, 0, 0).mean, 3, 1e-6);
	wtl_past_take(&machine->past, &other);
	wtl_past_done(&other);
	assert_float_equal(cell(machine, 61, 3700, 0, 0).mean, 3, 1e-6);
	assert_true(isnan(cell(machine, 3500, 3501, 0, 0).mean));
}

static void test_windows(void **state)
{
	struct machine *machine = *state;
	struct wtl_past_window windows[WTL_PAST_WINDOWS];

	for (int i = 300; i > 0; i--) {
		struct wtl_past_window window = {.begin_utc_ns = i * WTL_NS_PER_S,
						 .end_utc_ns = (i + 1) * WTL_NS_PER_S};

		wtl_past_add_window(&machine->past, &window);
	}
	assert_int_equal(wtl_past_windows(&machine->past, 0, INT64_MAX, windows), WTL_PAST_WINDOWS);
	assert_int_equal(windows[0].begin_utc_ns, WTL_NS_PER_S);
	assert_int_equal(
		wtl_past_windows(&machine->past, 10 * WTL_NS_PER_S, 11 * WTL_NS_PER_S, windows), 3);
	assert_int_equal(windows[0].begin_utc_ns, 9 * WTL_NS_PER_S);
}

/* An exporter takes a reader's over, and goes on with it. */
static void test_as_bytes(void **state)
{
	struct machine *machine = *state;
	struct wtl_past_use use, again;
	struct wtl_past taken, own;
	struct wtl_buf bytes;

	for (int i = 1; i < 100; i++)
		look(machine, i, 1, (uint64_t)(10 + i % 7));
	assert_true(wtl_past_use(&machine->past, T0, T0 + 200 * WTL_NS_PER_S, &use));
	wtl_buf_init(&bytes, WTL_PAST_BLOB_MAX);
	wtl_past_blob_write(&machine->past, &bytes);
	assert_false(bytes.error);
	assert_int_equal(wtl_past_blob_read(bytes.data, bytes.len, &taken), 0);
	assert_true(wtl_past_knows(&taken, &machine->live));
	assert_true(wtl_past_use(&taken, T0, T0 + 200 * WTL_NS_PER_S, &again));
	assert_memory_equal(&use, &again, sizeof(use));
	own = machine->past;
	machine->past = taken;
	for (size_t i = 0; i < 90; i++)
		assert_float_equal(cell(machine, 1, 98, i, 0).mean, (float)(10 + (i + 2) % 7),
				   1e-5F);
	look(machine, 100, 1, 50);
	assert_float_equal(cell(machine, 99.5, 100, 0, 1).mean, 50.0F, 1e-5F);
	taken = machine->past;
	machine->past = own;
	wtl_past_done(&taken);
	assert_int_equal(wtl_past_blob_read(bytes.data, bytes.len - 1, &taken), -EPROTO);
	bytes.data[sizeof("wattle-past")] ^= 1;
	assert_int_equal(wtl_past_blob_read(bytes.data, bytes.len, &taken), -EPROTONOSUPPORT);
	wtl_buf_done(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_uneven_intervals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_intervals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_day_is_reduced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_gaps_stay, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_clock_set_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_clock_set_forward, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_suspended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_agent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_use_of_a_stretch, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_place_of_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_filled_behind, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_windows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_as_bytes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
