/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <math.h>

#include "energy/attribution.h"
#include "energy/baseline.h"
#include "energy/ledger.h"
#include "energy/units.h"

static void test_closed(void **state)
{
	struct wtl_ledger ledger = {0};

	(void)state;
	assert_true(wtl_ledger_closed(&ledger));
	ledger = (struct wtl_ledger){.live_uj = 1,
				     .exited_uj = 20,
				     .kernel_uj = 300,
				     .idle_uj = 4000,
				     .unattributed_uj = 50000,
				     .total_uj = 54321};
	assert_true(wtl_ledger_closed(&ledger));
}

/* A microjoule more or less in any account is seen. */
static void test_open(void **state)
{
	const struct wtl_ledger closed = {.live_uj = 1,
					  .exited_uj = 20,
					  .kernel_uj = 300,
					  .idle_uj = 4000,
					  .unattributed_uj = 50000,
					  .total_uj = 54321};

	(void)state;
	for (int sign = -1; sign <= 1; sign += 2) {
		struct wtl_ledger ledgers[6] = {closed, closed, closed, closed, closed, closed};

		ledgers[0].live_uj += (uint64_t)sign;
		ledgers[1].exited_uj += (uint64_t)sign;
		ledgers[2].kernel_uj += (uint64_t)sign;
		ledgers[3].idle_uj += (uint64_t)sign;
		ledgers[4].unattributed_uj += (uint64_t)sign;
		ledgers[5].total_uj += (uint64_t)sign;
		for (size_t i = 0; i < 6; i++)
			assert_false(wtl_ledger_closed(&ledgers[i]));
	}
}

static void test_overflow(void **state)
{
	struct wtl_ledger ledger = {.live_uj = UINT64_MAX, .total_uj = UINT64_MAX};

	(void)state;
	assert_true(wtl_ledger_closed(&ledger));
	/* These would add up modulo 2^64. */
	ledger.idle_uj = 6;
	ledger.total_uj = 5;
	assert_false(wtl_ledger_closed(&ledger));
	ledger = (struct wtl_ledger){.unattributed_uj = UINT64_MAX, .kernel_uj = 1};
	assert_false(wtl_ledger_closed(&ledger));
}

/* ---- From shares ---- */

enum { FIRST_LIVE = WTL_SLOTS_FIXED, FIRST_EXITED = 10, FIRST_KERNEL = 20, SLOTS = 30 };

/* The slots by the numbers above; counts how often it was asked. */
static enum wtl_ledger_account account_of(void *context, uint32_t slot)
{
	unsigned *asked = context;

	assert_in_range(slot, WTL_SLOTS_FIXED, SLOTS - 1);
	(*asked)++;
	if (slot >= FIRST_KERNEL)
		return WTL_LEDGER_KERNEL;
	return slot >= FIRST_EXITED ? WTL_LEDGER_EXITED : WTL_LEDGER_LIVE;
}

static void assert_ledger(const struct wtl_ledger *ledger, const uint64_t expected_uj[6])
{
	assert_int_equal(ledger->live_uj, expected_uj[0]);
	assert_int_equal(ledger->exited_uj, expected_uj[1]);
	assert_int_equal(ledger->kernel_uj, expected_uj[2]);
	assert_int_equal(ledger->idle_uj, expected_uj[3]);
	assert_int_equal(ledger->unattributed_uj, expected_uj[4]);
	assert_int_equal(ledger->total_uj, expected_uj[5]);
	assert_true(wtl_ledger_closed(ledger));
}

/* 100 J over 1 s by ten parts of use, and 7 J over another second that nobody used. */
static struct wtl_attribution *two_seconds(void)
{
	const struct wtl_use uses[] = {{FIRST_LIVE, 1},	    {FIRST_LIVE + 1, 2},
				       {FIRST_EXITED, 3},   {FIRST_KERNEL, 1},
				       {FIRST_LIVE + 2, 0}, {WTL_SLOT_INTERRUPTS, 2},
				       {WTL_SLOT_UNSEEN, 1}};
	struct wtl_attribution *attribution = wtl_attribution_new(2, SLOTS);

	assert_non_null(attribution);
	wtl_attribution_add(attribution, 1, 100000000, WTL_NS_PER_S, uses, UNIT_COUNT(uses));
	wtl_attribution_add(attribution, 1, 7000000, WTL_NS_PER_S, NULL, 0);
	return attribution;
}

static void test_of_shares(void **state)
{
	const struct wtl_baseline baseline = {.is_known = true, .idle_uw = 5000000};
	const uint64_t expected_uj[] = {28500000, 28500000, 28500000,
					10000000, 11500000, 107000000};
	struct wtl_attribution *attribution = two_seconds();
	struct wtl_ledger ledger;
	unsigned asked = 0;

	(void)state;
	wtl_ledger_of(attribution, 1, account_of, &asked, &baseline, &ledger);
	assert_true(ledger.has_idle);
	assert_ledger(&ledger, expected_uj);
	assert_int_equal(asked, 4); /* only about those that have something */
	wtl_attribution_free(attribution);
}

/* No baseline: nothing is idle, and the ledger says so. */
static void test_without_baseline(void **state)
{
	const struct wtl_baseline unknown = {.idle_uw = 5000000};
	const struct wtl_baseline *const baselines[] = {NULL, &unknown};
	const uint64_t expected_uj[] = {30000000, 30000000, 30000000, 0, 17000000, 107000000};
	const uint64_t nothing_uj[6] = {0};
	struct wtl_attribution *attribution = two_seconds();
	struct wtl_ledger ledger;
	unsigned asked = 0;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(baselines); i++) {
		wtl_ledger_of(attribution, 1, account_of, &asked, baselines[i], &ledger);
		assert_false(ledger.has_idle);
		assert_ledger(&ledger, expected_uj);
	}
	wtl_ledger_of(attribution, 0, account_of, &asked, NULL, &ledger);
	assert_ledger(&ledger, nothing_uj);
	wtl_attribution_free(attribution);
}

/* A baseline above all that was drawn: everything is idle, and nothing below 0. */
static void test_baseline_too_high(void **state)
{
	const struct wtl_baseline baseline = {.is_known = true, .idle_uw = UINT64_MAX};
	const uint64_t expected_uj[] = {0, 0, 0, 107000000, 0, 107000000};
	struct wtl_attribution *attribution = two_seconds();
	struct wtl_ledger ledger;
	unsigned asked = 0;

	(void)state;
	wtl_ledger_of(attribution, 1, account_of, &asked, &baseline, &ledger);
	assert_ledger(&ledger, expected_uj);
	wtl_attribution_free(attribution);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Whatever happened, and at whatever idle power: closed, and the total is what was billed. */
static void test_always_closed(void **state)
{
	uint64_t seed = 42;

	(void)state;
	for (unsigned run = 0; run < 500; run++) {
		struct wtl_attribution *attribution = wtl_attribution_new(1, SLOTS);
		struct wtl_baseline baseline = {.is_known = run % 3 > 0};
		unsigned asked = 0;

		for (unsigned step = 0; step < 20; step++) {
			struct wtl_use uses[SLOTS];
			struct wtl_ledger ledger;

			for (uint32_t i = 0; i < SLOTS; i++)
				uses[i] = (struct wtl_use){i, random_next(&seed) % 1000000};
			wtl_attribution_add(attribution, 0, random_next(&seed) % 10000000,
					    (int64_t)(random_next(&seed) % 100000000), uses,
					    random_next(&seed) % SLOTS);
			if (step % 7 == 6)
				wtl_attribution_settle(attribution, 0,
						       random_next(&seed) % 70000000);
			baseline.idle_uw = random_next(&seed) % 200000000;
			wtl_ledger_of(attribution, 0, account_of, &asked, &baseline, &ledger);
			assert_true(wtl_ledger_closed(&ledger));
			assert_int_equal(ledger.total_uj,
					 wtl_attribution_total(attribution, 0).full_uj);
		}
		wtl_attribution_free(attribution);
	}
}

/* ---- The case to get right ---- */

/*
 * Two packages of 64 CPUs each, measured (shared/facts, rapl-and-processes 2): idle 74.05 and
 * 69.86 W, with one busy thread 96.97 and 84.78 W; the thread runs on one of them, and the other
 * rises too. What the thread caused is the difference, 37.84 W.
 */
struct machine {
	struct wtl_attribution *attribution;
	struct wtl_baseline_learner *learners[2];
	uint64_t seed;
};

enum { CPUS = 128, THREAD = FIRST_LIVE, OTHERS = FIRST_LIVE + 1, STEP_MS = 100 };

/* Power scatters by up to 1 % from one 100 ms to the next; daemons and the kernel take 2 ms. */
static void machine_run(struct machine *machine, const uint64_t powers_uw[2], unsigned steps,
			uint64_t thread_ns)
{
	for (unsigned i = 0; i < steps; i++) {
		uint64_t others_ns = 1500000 + random_next(&machine->seed) % 1000000;
		const struct wtl_use uses[] = {
			{THREAD, thread_ns}, {OTHERS, others_ns}, {WTL_SLOT_INTERRUPTS, 50000}};
		uint64_t used_ns = thread_ns + others_ns + 50000;

		for (size_t package = 0; package < 2; package++) {
			uint64_t energy_uj = powers_uw[package] / (1000 / STEP_MS);

			energy_uj = energy_uj / 10000 * (9900 + random_next(&machine->seed) % 201);
			wtl_attribution_add(machine->attribution, package, energy_uj,
					    STEP_MS * WTL_NS_PER_MS, uses, UNIT_COUNT(uses));
			wtl_baseline_learner_add(
				machine->learners[package],
				&(struct wtl_baseline_interval){
					.energy_uj = energy_uj,
					.duration_ns = STEP_MS * WTL_NS_PER_MS,
					.use_ppm = (uint32_t)(used_ns * 1000000 /
							      ((uint64_t)CPUS * STEP_MS * 1000000)),
				});
		}
	}
}

static void test_one_busy_thread(void **state)
{
	const uint64_t idle_uw[2] = {74050000, 69860000}, busy_uw[2] = {96970000, 84780000};
	struct machine machine = {.attribution = wtl_attribution_new(2, SLOTS), .seed = 2026};
	double dynamic_w = 0, full_w = 0, total_w = 0;

	(void)state;
	for (size_t package = 0; package < 2; package++) {
		machine.learners[package] = wtl_baseline_learner_new();
		wtl_baseline_learner_limit(machine.learners[package],
					   wtl_baseline_use_max_ppm(CPUS));
	}
	machine_run(&machine, idle_uw, 100, 0);
	wtl_attribution_reset(machine.attribution);
	/* An hour: the busy machine must not become the new idle one. */
	machine_run(&machine, busy_uw, 36000, STEP_MS * WTL_NS_PER_MS);
	for (size_t package = 0; package < 2; package++) {
		struct wtl_share share =
			wtl_attribution_share(machine.attribution, THREAD, package);
		struct wtl_baseline baseline;
		struct wtl_ledger ledger;
		unsigned asked = 0;

		wtl_baseline_learner_get(machine.learners[package], &baseline);
		wtl_ledger_of(machine.attribution, package, account_of, &asked, &baseline, &ledger);
		assert_true(ledger.has_idle && wtl_ledger_closed(&ledger));
		assert_true(fabs((double)baseline.idle_uw / (double)idle_uw[package] - 1) < 0.01);
		full_w += (double)share.full_uj / 3600e6;
		dynamic_w += (double)(share.full_uj - wtl_share_idle_uj(&share, baseline.idle_uw)) /
			     3600e6;
		total_w += (double)ledger.total_uj / 3600e6;
		wtl_baseline_learner_free(machine.learners[package]);
	}
	assert_true(fabs(total_w - 181.75) < 0.2);
	assert_true(fabs(dynamic_w - 37.8) < 3.78);
	assert_true(full_w > 0.97 * total_w && full_w < total_w);
	wtl_attribution_free(machine.attribution);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_closed),		 cmocka_unit_test(test_open),
		cmocka_unit_test(test_overflow),	 cmocka_unit_test(test_of_shares),
		cmocka_unit_test(test_without_baseline), cmocka_unit_test(test_baseline_too_high),
		cmocka_unit_test(test_always_closed),	 cmocka_unit_test(test_one_busy_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
