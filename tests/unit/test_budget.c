/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "energy/budget.h"
#include "energy/units.h"

#define W UINT64_C(1000000)
#define J 1e6

#define assert_close(actual, expected) \
	assert_true(fabs((actual) - (expected)) <= 1e-9 * fabs(expected) + 1e-12)

static void test_combined(void **state)
{
	const struct wtl_budget nothing = {.gain_uj = 0.0};
	const struct wtl_budget all = {.gain_uj = 1.0,
				       .offset_uj = 64.0,
				       .quantisation_uj = 2.0,
				       .edge_uj = 4.0,
				       .sampling_uj = 8.0,
				       .integration_uj = 16.0,
				       .disagreement_uj = 32.0};

	(void)state;
	assert_close(wtl_budget_combined_uj(&nothing), 0.0);
	assert_close(wtl_budget_combined_uj(&all), sqrt(1 + 4 + 16 + 64 + 256 + 1024 + 4096));
}

/* Each term alone is the whole: none is left out, or counted twice. */
static void test_every_term_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(struct wtl_budget) / sizeof(double); i++) {
		double terms[sizeof(struct wtl_budget) / sizeof(double)] = {0};
		struct wtl_budget budget;

		terms[i] = 3.0 * J;
		memcpy(&budget, terms, sizeof(budget));
		assert_close(wtl_budget_combined_uj(&budget), 3.0 * J);
	}
}

static void test_add(void **state)
{
	const struct wtl_budget part = {.gain_uj = 3.0,
					.offset_uj = 3.0,
					.quantisation_uj = 3.0,
					.edge_uj = 3.0,
					.sampling_uj = 3.0,
					.integration_uj = 3.0,
					.disagreement_uj = 3.0};
	struct wtl_budget sum = {.gain_uj = 4.0,
				 .offset_uj = 4.0,
				 .quantisation_uj = 4.0,
				 .edge_uj = 4.0,
				 .sampling_uj = 4.0,
				 .integration_uj = 4.0,
				 .disagreement_uj = 4.0};

	(void)state;
	wtl_budget_add(&sum, &part);
	/* One maker's error is common to all its parts. */
	assert_close(sum.gain_uj, 7.0);
	assert_close(sum.offset_uj, 7.0);
	assert_close(sum.disagreement_uj, 7.0);
	/* The rest happens to each on its own. */
	assert_close(sum.quantisation_uj, 5.0);
	assert_close(sum.edge_uj, 5.0);
	assert_close(sum.sampling_uj, 5.0);
	assert_close(sum.integration_uj, 5.0);
}

/* Two packages of 3 % each are known to 3 %, not to 2.1 %. */
static void test_two_packages(void **state)
{
	struct wtl_budget sum = {.gain_uj = 0.0};
	const struct wtl_budget package = {.gain_uj = wtl_budget_gain_uj(100 * W, 30000)};

	(void)state;
	wtl_budget_add(&sum, &package);
	wtl_budget_add(&sum, &package);
	assert_close(wtl_budget_combined_uj(&sum), 0.03 * 200 * J);
}

static void test_quantisation(void **state)
{
	(void)state;
	/* 200 W and 100 ms: 20 J in an update, 8.16 J as the difference of two uniform phases. */
	assert_close(wtl_budget_quantisation_uj(200 * W, 100 * WTL_NS_PER_MS), 20 * J / sqrt(6));
	assert_close(wtl_budget_quantisation_uj(200 * W, 0), 0.0);
	assert_close(wtl_budget_quantisation_uj(0, WTL_NS_PER_S), 0.0);
	assert_true(isfinite(wtl_budget_quantisation_uj(UINT64_MAX, INT64_MAX)));
}

/* The formula against what it stands for: all phases of begin and end, at constant power. */
static void test_quantisation_by_trial(void **state)
{
	const int n = 200;
	double sum2 = 0.0;

	(void)state;
	for (int begin = 0; begin < n; begin++)
		for (int end = 0; end < n; end++) {
			/* an update a second at 1 W: what is missing at either end */
			double error = (begin + 0.5) / n - (end + 0.5) / n;

			sum2 += error * error;
		}
	assert_true(fabs(sqrt(sum2 / n / n) - wtl_budget_quantisation_uj(W, WTL_NS_PER_S) / J) <
		    1e-3);
}

static void test_edge(void **state)
{
	(void)state;
	assert_close(wtl_budget_edge_uj(300 * W, 0, 0), 0.0);
	assert_close(wtl_budget_edge_uj(300 * W, 10 * WTL_NS_PER_MS, 0), 3 * J / sqrt(3));
	assert_close(wtl_budget_edge_uj(300 * W, 0, 10 * WTL_NS_PER_MS), 3 * J / sqrt(3));
	assert_close(wtl_budget_edge_uj(300 * W, 30 * WTL_NS_PER_MS, 40 * WTL_NS_PER_MS),
		     15 * J / sqrt(3));
}

static void test_gain(void **state)
{
	(void)state;
	assert_close(wtl_budget_gain_uj(1000 * W, 30000), 30 * J);
	assert_close(wtl_budget_gain_uj(1000 * W, 0), 0.0);
	assert_close(wtl_budget_offset_uj(2000000, 10 * WTL_NS_PER_S), 20 * J);
	assert_true(isfinite(wtl_budget_gain_uj(UINT64_MAX, UINT32_MAX)));
	assert_true(isfinite(wtl_budget_offset_uj(UINT32_MAX, INT64_MAX)));
}

/* A zero of 16 W stays 16 W, whatever the power; a gain of 6 % is 6 % of it. */
static void test_power(void **state)
{
	const int64_t time_ns = 10 * WTL_NS_PER_S;
	const uint64_t zero_uw = 16 * W, energy_uj = 2000 * W; /* 200 W for 10 s */
	uint64_t uncertainty_uj = (uint64_t)hypot(160 * J, 120 * J);

	(void)state;
	assert_close(wtl_budget_power_uw(200 * W, energy_uj, uncertainty_uj, time_ns, zero_uw),
		     20 * J);
	assert_close(wtl_budget_power_uw(50 * W, energy_uj, uncertainty_uj, time_ns, zero_uw),
		     hypot(16 * J, 3 * J));
	assert_close(wtl_budget_power_uw(0, energy_uj, uncertainty_uj, time_ns, zero_uw), 16 * J);
	assert_close(wtl_budget_power_uw(50 * W, energy_uj, 120 * W, time_ns, 0), 3 * J);
	assert_close(wtl_budget_power_uw(50 * W, 0, uncertainty_uj, time_ns, zero_uw), 0.0);
	/* Rounding may leave less than the zero alone. */
	assert_close(wtl_budget_power_uw(50 * W, energy_uj, 160 * W - 1, time_ns, zero_uw), 16 * J);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_combined),     cmocka_unit_test(test_every_term_counts),
		cmocka_unit_test(test_add),	     cmocka_unit_test(test_two_packages),
		cmocka_unit_test(test_quantisation), cmocka_unit_test(test_quantisation_by_trial),
		cmocka_unit_test(test_edge),	     cmocka_unit_test(test_gain),
		cmocka_unit_test(test_power),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
