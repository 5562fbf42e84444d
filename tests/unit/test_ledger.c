/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "energy/ledger.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_closed),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
