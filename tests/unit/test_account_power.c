/* SPDX-License-Identifier: MIT */
#include "account_bench.h"

static void test_power_constant(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m;

	(void)state;
	init(&b, power_channel());
	for (int i = 0; i < 50; i++)
		good(&b, S + i * 100 * MS, 100000);
	m = mark(&b);
	assert_true(m.valid);
	for (int i = 50; i <= 150; i++)
		good(&b, S + i * 100 * MS, 100000);
	figure = since(&b, &m);
	assert_true(figure.has_energy);
	assert_near(figure.energy_uj, 1010 * J, 2);
	assert_int_equal(figure.measured_ns, 10100 * MS);
	assert_int_equal(figure.gap_ns, 0);
	assert_int_equal(figure.samples, 101);
	assert_near(figure.budget.gain_uj, 50.5e6, 10);
	assert_true(figure.budget.quantisation_uj == 0.0);
	assert_true(b.account.spans > 10);
	assert_int_equal(b.account.span_uw, 100 * W);
	assert_near(wtl_account_uj(&b.account), 1515 * J, 1 * J);
	assert_int_equal(wtl_account_breaks(&b.account), 0);
}

/* Read so often that its newest readings do not reach back to when it is final, with other values each time. */
static void test_power_read_often(void **state)
{
	struct bench b;

	(void)state;
	init(&b, power_channel());
	for (int i = 0; i < 5000; i++)
		good(&b, S + i * MS, 100000 + i % 2);
	assert_int_equal(b.account.spans, 5);
	assert_near(b.account.span_uw, 100 * W, W / 1000);
}

/* A step in the middle: the energy is right within what is stated. */
static void test_power_step(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m;

	(void)state;
	init(&b, power_channel());
	good(&b, S, 100000);
	m = mark(&b);
	for (int i = 1; i <= 200; i++)
		good(&b, S + i * 50 * MS, i < 100 ? 100000 : 300000);
	figure = since(&b, &m);
	assert_true(figure.has_energy);
	assert_near(figure.energy_uj, 2000e6, 2 * wtl_budget_combined_uj(&figure.budget));
	assert_true(figure.budget.integration_uj + figure.budget.edge_uj > 0.0);
}

/* The first sample alone gives a power, and with it a figure, but not for the time before it. */
static void test_power_first_sample(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m;

	(void)state;
	init(&b, power_channel());
	bad(&b, S);
	m = mark(&b);
	assert_false(m.valid);
	bad(&b, 2 * S);
	wtl_account_settle_mark(&b.account, &m);
	assert_false(m.valid);
	good(&b, 4 * S, 100000);
	wtl_account_settle_mark(&b.account, &m);
	assert_true(m.valid);
	for (int i = 1; i <= 20; i++)
		good(&b, 4 * S + i * 100 * MS, 100000);
	wtl_account_settle_mark(&b.account, &m);
	figure = since(&b, &m);
	assert_true(figure.has_energy);
	assert_near(figure.energy_uj, 200 * J, 2 * J);
	assert_int_equal(figure.gap_ns, 3 * S - 10000);
	assert_int_equal(figure.measured_ns + figure.gap_ns, b.now_ns - m.t_ns);
}

/* After the sensor was lost, a window that it saw nothing of has no figure. */
static void test_power_lost(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark before, after;

	(void)state;
	init(&b, power_channel());
	good(&b, S, 100000);
	before = mark(&b);
	for (int i = 1; i <= 20; i++)
		good(&b, S + i * 100 * MS, 100000);
	for (int i = 0; i < 300; i++)
		bad(&b, 3 * S + 100 * MS + i * 100 * MS);
	after = mark(&b);
	bad(&b, 40 * S);
	assert_false(since(&b, &after).has_energy);
	figure = since(&b, &before);
	assert_true(figure.has_energy);
	/* Held for the 2 s within which a sensor may be late, then absent. */
	assert_near(figure.energy_uj, 400 * J, 2 * J);
	assert_int_equal(figure.measured_ns + figure.gap_ns, b.now_ns - before.t_ns);
	assert_near(figure.gap_ns, 35 * S, 10 * MS);
	/* It comes back: the hole stays one. */
	for (int i = 0; i < 20; i++)
		good(&b, 50 * S + i * 100 * MS, 100000);
	assert_int_equal(wtl_account_breaks(&b.account), 1);
	figure = since(&b, &after);
	assert_true(figure.has_energy);
	assert_near(figure.energy_uj, 200 * J, 6 * J);
	assert_near(figure.gap_ns, 50 * S - after.t_ns, 200 * MS);
}

static void test_power_without_samples_within(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, power_channel());
	good(&b, S, 100000);
	good(&b, 2 * S, 100000);
	m = mark(&b);
	bad(&b, 2 * S + 100 * MS);
	assert_false(since(&b, &m).has_energy);
}

/* 0xffffffff mW is what some drivers give for "not known". */
static void test_power_absurd(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m;

	(void)state;
	init(&b, power_channel());
	assert_false(good(&b, S, UINT32_MAX));
	assert_int_equal(b.account.status, WATTLE_STATUS_FAILED);
	assert_int_equal(b.account.error, -ERANGE);
	assert_int_equal(b.account.samples, 0);
	m = mark(&b);
	assert_false(m.valid);
	for (int i = 0; i < 20; i++)
		good(&b, 2 * S + i * 100 * MS, 100000);
	m = mark(&b);
	assert_false(good(&b, 4 * S, UINT64_MAX));
	assert_int_equal(b.account.samples, 20);
	for (int i = 1; i <= 10; i++)
		good(&b, 4 * S + i * 100 * MS, 100000);
	assert_int_equal(b.account.status, WATTLE_STATUS_OK);
	figure = since(&b, &m);
	assert_near(figure.energy_uj, 110 * J, J);
	assert_int_equal(figure.gap_ns, 0);
}

/* Monotonic time stands still while the machine sleeps: to a power sensor nothing happened. */
static void test_power_sleep(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m;

	(void)state;
	init(&b, power_channel());
	good(&b, S, 100000);
	m = mark(&b);
	for (int i = 1; i <= 40; i++) {
		if (i == 20)
			wtl_account_break(&b.account);
		good(&b, S + i * 100 * MS, 100000);
	}
	figure = since(&b, &m);
	assert_near(figure.energy_uj, 400 * J, 2);
	assert_int_equal(figure.gap_ns, 0);
}

static void test_power_no_span_across_a_gap(void **state)
{
	struct bench b;

	(void)state;
	init(&b, power_channel());
	for (int i = 0; i < 30; i++)
		good(&b, S + i * 100 * MS, 200000);
	assert_int_equal(b.account.span_uw, 200 * W);
	/* A minute without: a mean over it would be next to nothing. */
	assert_false(good(&b, 64 * S, 200000));
	for (int i = 1; i < 30; i++)
		good(&b, 64 * S + i * 100 * MS, 200000);
	assert_near(b.account.span_uw, 200 * W, W);
}

static void test_power_class(void **state)
{
	const struct wtl_sensor_class *class =
		wtl_sensor_class_find(WTL_GPU_ARCH_GA100, 535, WTL_POWER_INSTANT);
	struct wtl_channel channel = power_channel();
	struct bench b;

	(void)state;
	channel.class = class;
	init(&b, channel);
	assert_memory_equal(&b.integral.class, class, sizeof(*class));
	channel.class = NULL;
	channel.update_ns = 0;
	init(&b, channel);
	assert_int_equal(b.integral.class.update_ns, 100 * MS);
	assert_int_equal(b.integral.class.coverage_permille, 1000);
	assert_int_equal(wtl_account_update_ns(&b.account), 0);
}

/* The highest power is none that no reading comes near: what the newest stretch was guessed to hold, and
 * later turned out to hold, is not taken for a burst. */
static void test_power_span_of_slow_sensors(void **state)
{
	const struct wtl_sensor_class *class;

	(void)state;
	for (unsigned row = 0; (class = wtl_sensor_class_row(row)) != NULL; row++) {
		struct wtl_channel channel = power_channel();
		uint64_t seed = row + 1, power_uw = 100 * W;
		struct bench b;

		channel.unit = WTL_UNIT_MICRO;
		channel.class = class;
		channel.update_ns = class->update_ns;
		init(&b, channel);
		for (int i = 0; i < 20000; i++) {
			if (next(&seed) % 30 == 0)
				power_uw = next(&seed) % 20 * 10 * W;
			good(&b, S + i * 20 * MS, power_uw);
			assert_in_range(b.account.span_uw, 0, 190 * W * 11 / 10);
		}
		assert_true(b.account.spans > 10);
	}
}

/* In one state of the sensor, windows that meet add up to the microjoule. */
static void test_adjoining_power_windows(void **state)
{
	struct wtl_mark marks[100];
	uint64_t seed = 7;
	struct bench b;

	(void)state;
	init(&b, power_channel());
	for (int i = 0; i < 100; i++) {
		good(&b, S + i * 100 * MS, 50000 + next(&seed) % 250000);
		marks[i] = mark(&b);
	}
	good(&b, 12 * S, 100000);
	for (int i = 1; i < 99; i++) {
		struct wtl_integral_energy part;
		struct wtl_figure whole = since(&b, &marks[i]), rest = since(&b, &marks[i + 1]);

		assert_int_equal(wtl_integral_between(&b.integral, &marks[i].integral,
						      &marks[i + 1].integral, &part),
				 0);
		assert_int_equal(whole.energy_uj, part.energy_uj + rest.energy_uj);
		assert_int_equal(whole.measured_ns, part.covered_ns + rest.measured_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_power_constant),
		cmocka_unit_test(test_power_read_often),
		cmocka_unit_test(test_power_step),
		cmocka_unit_test(test_power_first_sample),
		cmocka_unit_test(test_power_lost),
		cmocka_unit_test(test_power_without_samples_within),
		cmocka_unit_test(test_power_absurd),
		cmocka_unit_test(test_power_sleep),
		cmocka_unit_test(test_power_no_span_across_a_gap),
		cmocka_unit_test(test_power_class),
		cmocka_unit_test(test_power_span_of_slow_sensors),
		cmocka_unit_test(test_adjoining_power_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
