/* SPDX-License-Identifier: MIT */
#include "profile/kernels.h"

#include <stdlib.h>

#include "profile/split.h"
#include "unit.h"

#define MS INT64_C(1000000)

/* A counter that moves every 100 ms, read every 10 ms. */
static void make_split(struct wtl_split *split, const uint64_t power_w[], size_t n, int64_t late_ms)
{
	uint64_t energy_uj = 0;

	wtl_split_init(split, 1, 0);
	for (size_t i = 0; i <= 10 * n; i++) {
		struct wtl_split_tick *tick = wtl_split_add_tick(split, (int64_t)i * 10 * MS);

		if (i > 0 && i % 10 == 0) {
			int64_t at = (int64_t)i / 10 - 1 - late_ms / 100;

			energy_uj += (at < 0 ? 50 : power_w[at]) * 100000;
		}
		tick->energy_uj[0] = energy_uj;
	}
}

static void test_by_how_long_they_ran(void **state)
{
	const uint64_t power_w[] = {50, 250, 450, 50};
	struct wtl_kernel kernels[] = {
		{.begin_ns = 100 * MS, .end_ns = 150 * MS},	       /* 25 ms of 200 W ... */
		{.begin_ns = 150 * MS, .end_ns = 300 * MS, .name = 1}, /* goes over two steps */
		{.begin_ns = 250 * MS, .end_ns = 300 * MS, .name = 2, .gpu = 0}, /* beside it */
		{.begin_ns = 100 * MS, .end_ns = 400 * MS, .gpu = 1},		 /* elsewhere */
	};
	struct wtl_kernel_steps steps;
	struct wtl_split split;
	uint64_t none_uj;

	(void)state;
	make_split(&split, power_w, 4, 0);
	assert_int_equal(wtl_kernel_steps_make(&split, 0, 50000000, &steps), 0);
	assert_int_equal(steps.n, 4);
	assert_int_equal(steps.total_uj, 80000000);
	assert_int_equal(steps.idle_uj, 20000000);
	none_uj = wtl_kernels_divide(kernels, 4, 0, &steps, 0);
	assert_int_equal(kernels[0].energy_uj, 10000000);
	assert_int_equal(kernels[1].energy_uj, 10000000 + 26666666);
	assert_int_equal(kernels[2].energy_uj, 13333334);
	assert_int_equal(kernels[3].energy_uj, 0);
	assert_int_equal(none_uj, 0);
	assert_int_equal(steps.idle_uj + none_uj + kernels[0].energy_uj + kernels[1].energy_uj +
				 kernels[2].energy_uj,
			 steps.total_uj);
	free(steps.list);
	wtl_split_done(&split);
}

static void test_while_none_ran(void **state)
{
	const uint64_t power_w[] = {100, 300};
	struct wtl_kernel kernel = {.begin_ns = 100 * MS, .end_ns = 120 * MS};
	struct wtl_kernel_steps steps;
	struct wtl_split split;

	(void)state;
	make_split(&split, power_w, 2, 0);
	assert_int_equal(wtl_kernel_steps_make(&split, 0, UINT64_MAX, &steps), 0);
	assert_int_equal(steps.idle_uj, 0);
	assert_int_equal(wtl_kernels_divide(&kernel, 1, 0, &steps, 0), 10000000);
	assert_int_equal(kernel.energy_uj, 30000000);
	free(steps.list);
	wtl_split_done(&split);
}

/* Kernels in some of 60 stretches of 100 ms, and a sensor that is 300 ms late; or one that shows something else. */
static void test_lag(void **state)
{
	static const char ran[] = "011001011101000110101110010100011100101101110001010011010010";
	struct wtl_kernel kernels[60];
	uint64_t power_w[60], other_w[60];
	struct wtl_kernel_steps steps;
	struct wtl_split split;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < 60; i++) {
		power_w[i] = ran[i] == '1' ? 400 : 100;
		other_w[i] = 100 + i * 7919 % 300;
		if (ran[i] == '1')
			kernels[n++] = (struct wtl_kernel){
				.begin_ns = (int64_t)i * 100 * MS,
				.end_ns = (int64_t)(i + 1) * 100 * MS,
			};
	}
	for (int64_t late_ms = 0; late_ms <= 900; late_ms += 300) {
		make_split(&split, power_w, 60, late_ms);
		assert_int_equal(wtl_kernel_steps_make(&split, 0, UINT64_MAX, &steps), 0);
		assert_int_equal(wtl_kernels_lag(kernels, n, 0, &steps), late_ms * MS);
		free(steps.list);
		wtl_split_done(&split);
	}
	make_split(&split, other_w, 60, 0);
	assert_int_equal(wtl_kernel_steps_make(&split, 0, UINT64_MAX, &steps), 0);
	assert_int_equal(wtl_kernels_lag(kernels, n, 0, &steps), 0);
	free(steps.list);
	wtl_split_done(&split);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_how_long_they_ran),
		cmocka_unit_test(test_while_none_ran),
		cmocka_unit_test(test_lag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
