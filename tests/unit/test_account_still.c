/* SPDX-License-Identifier: MIT */
/* Counters that stand still: no counter any more, a part that rests, or one that sleeps. */
#include "account_bench.h"

#include "base/err.h"

/* A package whose counter does not move has lost it: no joule is claimed for that time, and none is lost
 * when it moves again. */
static void test_frozen(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m, late;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 0);
	m = mark(&b);
	good(&b, 2 * S, 100 * J);
	good(&b, 2 * S + 20 * MS, 100 * J);
	assert_int_equal(b.account.status, WATTLE_STATUS_OK);
	good(&b, 2 * S + 21 * MS, 100 * J);
	assert_int_equal(b.account.status, WATTLE_STATUS_FAILED);
	good(&b, 5 * S, 100 * J);
	assert_int_equal(b.account.status, WATTLE_STATUS_FAILED);
	assert_int_equal(b.account.error, -WTL_EFROZEN);
	figure = since(&b, &m);
	assert_true(figure.has_energy);
	assert_int_equal(figure.energy_uj, 100 * J);
	assert_int_equal(figure.measured_ns, S);
	assert_true(figure.gap_ns >= 3 * S && figure.gap_ns < 3 * S + MS);
	/* A window within the standstill has no figure. */
	late = mark(&b);
	good(&b, 6 * S, 100 * J);
	figure = since(&b, &late);
	assert_false(figure.has_energy);
	assert_true(figure.gap_ns > S / 2);
	good(&b, 7 * S, 600 * J);
	assert_int_equal(b.account.status, WATTLE_STATUS_OK);
	expect_figure(since(&b, &m), 600 * J, 6 * S, 0);
}

/* A window of a counter that never moved: 0 J that may be anything, and soon no figure at all. */
static void test_frozen_from_the_start(void **state)
{
	static const struct {
		enum wattle_kind kind;
		int64_t update_ns, known_ns; /* a standstill up to this is believed */
	} cases[] = {
		{WATTLE_KIND_CPU, MS, 20 * MS},
		{WATTLE_KIND_GPU, 100 * MS, 800 * MS},
		{WATTLE_KIND_CPU, S, 8 * S},
		/* What may stand for want of a sensor or of work, and what moves by a joule. */
		{WATTLE_KIND_DRAM, MS, 2 * S},
		{WATTLE_KIND_PLATFORM, MS, 2 * S},
		{WATTLE_KIND_CPU, 0, 2 * S},
		{WATTLE_KIND_CORE, MS, 100 * S},
		{WATTLE_KIND_UNCORE, MS, 100 * S},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_channel channel = counter_channel();
		struct wtl_figure figure;
		struct wtl_mark m;
		struct bench b;

		channel.kind = cases[i].kind;
		channel.update_ns = cases[i].update_ns;
		init(&b, channel);
		good(&b, S, 7 * J);
		m = mark(&b);
		good(&b, S + cases[i].known_ns, 7 * J);
		assert_int_equal(b.account.status, WATTLE_STATUS_OK);
		expect_figure(since(&b, &m), 0, cases[i].known_ns, 0);
		good(&b, S + cases[i].known_ns + MS, 7 * J);
		figure = since(&b, &m);
		if (cases[i].kind == WATTLE_KIND_CORE || cases[i].kind == WATTLE_KIND_UNCORE) {
			assert_int_equal(b.account.status, WATTLE_STATUS_OK);
			expect_figure(figure, 0, cases[i].known_ns + MS, 0);
			continue;
		}
		assert_int_equal(b.account.status, WATTLE_STATUS_FAILED);
		assert_int_equal(b.account.error, -WTL_EFROZEN);
		assert_false(figure.has_energy);
		assert_int_equal(figure.measured_ns, 0);
	}
}

/* Before that is clear, 0 J lacks what the part may have drawn in all of the window. */
static void test_zero_of_what_always_draws(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 7 * J);
	m = mark(&b);
	good(&b, S + 15 * MS, 7 * J);
	assert_near(since(&b, &m).budget.quantisation_uj, 1000e6 * 15e-3 / sqrt(6), 10);
	/* Its power is known: that much. */
	good(&b, 2 * S, 107 * J);
	good(&b, 3 * S, 207 * J);
	assert_int_equal(b.account.spans, 1);
	m = mark(&b);
	good(&b, 3 * S + 15 * MS, 207 * J);
	assert_near(since(&b, &m).budget.quantisation_uj, 100e6 * 15e-3 / sqrt(6), 10);
	/* Nothing is known, not even a bound: no figure. */
	b.channel = counter_channel();
	b.channel.max_uw = 0;
	init(&b, b.channel);
	good(&b, S, 7 * J);
	m = mark(&b);
	good(&b, S + 15 * MS, 7 * J);
	assert_false(since(&b, &m).has_energy);
}

/* What always draws is never known to have drawn nothing: not memory either, whose counter is believed for
 * longer. */
static void test_unclear(void **state)
{
	struct wtl_channel channel = counter_channel();
	struct bench b;
	struct wtl_mark m;

	(void)state;
	channel.kind = WATTLE_KIND_DRAM;
	init(&b, channel);
	assert_false(wtl_account_is_unclear(&b.account));
	good(&b, S, 7 * J);
	assert_true(wtl_account_is_unclear(&b.account));
	m = mark(&b);
	for (int i = 1; i <= 20; i++)
		good(&b, S + i * 50 * MS, 7 * J);
	assert_true(wtl_account_is_unclear(&b.account));
	assert_near(since(&b, &m).budget.quantisation_uj, 1000e6 / sqrt(6), 10);
	good(&b, 3 * S + MS, 7 * J);
	assert_false(wtl_account_is_unclear(&b.account));
	assert_int_equal(b.account.status, WATTLE_STATUS_FAILED);
	good(&b, 4 * S, 37 * J);
	assert_false(wtl_account_is_unclear(&b.account));
	good(&b, 5 * S, 47 * J);
	m = mark(&b);
	good(&b, 5 * S + 500 * MS, 47 * J);
	assert_true(since(&b, &m).budget.quantisation_uj >= 10e6 / 2 / sqrt(6));
	/* Cores may rest. */
	channel.kind = WATTLE_KIND_CORE;
	init(&b, channel);
	good(&b, S, 7 * J);
	assert_false(wtl_account_is_unclear(&b.account));
}

/* Emulated counters move once a second, whatever their source says: one standstill that ended tells. */
static void test_slow_is_not_frozen(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	for (int i = 0; i < 100; i++) {
		good(&b, S + i * 50 * MS, (uint64_t)(i / 20) * 100 * J);
		if (i == 30)
			m = mark(&b);
		if (i >= 20)
			assert_int_equal(b.account.status, WATTLE_STATUS_OK);
	}
	assert_int_equal(since(&b, &m).gap_ns, 0);
	/* And then stops for good. */
	good(&b, 8 * S, 400 * J);
	assert_int_equal(b.account.status, WATTLE_STATUS_FAILED);
}

static struct wtl_channel gpu_channel(void)
{
	struct wtl_channel channel = {.domain = "gpu-0",
				      .kind = WATTLE_KIND_GPU,
				      .quantity = WTL_QUANTITY_ENERGY,
				      .method = WATTLE_METHOD_COUNTER,
				      .unit = WTL_UNIT_MILLI,
				      .max_uw = 3000 * W,
				      .update_ns = 100 * MS,
				      .gain_ppm = 50000};

	return channel;
}

static void asleep(struct bench *b, int64_t from_ns, int64_t to_ns)
{
	for (int64_t t_ns = from_ns; t_ns < to_ns; t_ns += 100 * MS) {
		assert_false(feed(b, t_ns, 0, WATTLE_STATUS_ASLEEP));
		assert_int_equal(b->account.status, WATTLE_STATUS_ASLEEP);
	}
}

/* A GPU that sleeps and wakes: its counter stood still, and is not frozen; its sleep is no update
 * period, and no stretch of power. */
static void test_asleep(void **state)
{
	struct wtl_mark m, within;
	struct bench b;
	int64_t t_ns = S;

	(void)state;
	init(&b, gpu_channel());
	for (int i = 0; i < 100; i++, t_ns += 50 * MS)
		good(&b, t_ns, (uint64_t)(i / 2) * 10000);
	assert_near(b.account.span_uw, 100 * W, 10 * W);
	m = mark(&b);
	asleep(&b, t_ns, t_ns + 30 * S + MS);
	/* Of the time asleep nothing is known while it lasts. */
	assert_false(since(&b, &m).has_energy);
	within = mark(&b);
	assert_false(within.valid);
	asleep(&b, t_ns + 30 * S, t_ns + 60 * S);
	t_ns += 60 * S;
	for (int i = 99; i < 140; i++, t_ns += 50 * MS) {
		good(&b, t_ns, (uint64_t)(i / 2) * 10000);
		wtl_account_settle_mark(&b.account, &within);
		assert_int_equal(b.account.status, WATTLE_STATUS_OK);
		assert_near(b.account.span_uw, 100 * W, 10 * W);
	}
	/* Afterwards it is: the counter, which went on, counted no more than this. */
	expect_figure(since(&b, &m), 200 * J, 62050 * MS, 0);
	expect_figure(since(&b, &within), 200 * J, 2 * S, 30 * S - 10000);
	assert_near(wtl_account_update_ns(&b.account), 100 * MS, 5 * MS);
	assert_int_equal(wtl_account_breaks(&b.account), 0);
}

/* Frozen before, frozen after: what it slept does not count for that. */
static void test_asleep_while_frozen(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, gpu_channel());
	good(&b, S, 1000);
	m = mark(&b);
	good(&b, 2 * S, 1000);
	assert_int_equal(b.account.error, -WTL_EFROZEN);
	asleep(&b, 2 * S + 100 * MS, 10 * S);
	good(&b, 10 * S, 1000);
	assert_int_equal(b.account.error, -WTL_EFROZEN);
	assert_int_equal(since(&b, &m).gap_ns, S);
	good(&b, 11 * S, 101000);
	assert_int_equal(b.account.status, WATTLE_STATUS_OK);
	expect_figure(since(&b, &m), 100 * J, 10 * S, 0);
}

/* A counter that begins anew while the GPU sleeps: a reset, and what lies between is not known. */
static void test_reset_while_asleep(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, gpu_channel());
	good(&b, S, 700000);
	m = mark(&b);
	good(&b, 2 * S, 800000);
	asleep(&b, 2 * S + 100 * MS, 30 * S);
	good(&b, 30 * S, 50);
	good(&b, 31 * S, 60050);
	expect_figure(since(&b, &m), 160 * J, 2 * S, 28 * S);
	assert_int_equal(since(&b, &m).resets, 1);
	assert_int_equal(b.account.counter.wraps, 0);
}

/* Asleep when the meter opened: the figure begins with the first reading, the rest is a gap. */
static void test_asleep_at_first(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, gpu_channel());
	asleep(&b, S, S + 100 * MS);
	m = mark(&b);
	asleep(&b, S + 100 * MS, 5 * S);
	assert_false(since(&b, &m).has_energy);
	for (int i = 0; i <= 10; i++) {
		good(&b, 5 * S + i * 100 * MS, 700000 + (uint64_t)i * 3000);
		wtl_account_settle_mark(&b.account, &m);
	}
	expect_figure(since(&b, &m), 30 * J, S, 4 * S - 10000);
}

/* A standstill that ends in a reset was not measured, and stays a gap when the counter runs again. */
static void test_frozen_then_reset(void **state)
{
	struct bench b;
	struct wtl_mark m, late;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 5000 * J);
	m = mark(&b);
	good(&b, 2 * S, 5100 * J);
	for (int t = 3; t <= 12; t++)
		good(&b, t * S, 5100 * J);
	assert_int_equal(b.account.error, -WTL_EFROZEN);
	late = mark(&b);
	good(&b, 13 * S, 0);
	good(&b, 14 * S, 100 * J);
	expect_figure(since(&b, &m), 200 * J, 2 * S, 11 * S);
	assert_int_equal(since(&b, &m).resets, 1);
	/* Of a window that began within it, only what lies in the window. */
	expect_figure(since(&b, &late), 100 * J, S, S);
	/* Slept, or opened anew, while it stood still: the same. */
	for (int t = 15; t <= 20; t++)
		good(&b, t * S, 100 * J);
	wtl_account_break(&b.account);
	good(&b, 21 * S, 100 * J);
	good(&b, 22 * S, 150 * J);
	expect_figure(since(&b, &m), 250 * J, 3 * S, 18 * S);
	/* And rubbish while it stands still. */
	for (int t = 23; t <= 30; t++)
		good(&b, t * S, 150 * J);
	good(&b, 31 * S, b.channel.range);
	good(&b, 32 * S, 150 * J);
	good(&b, 33 * S, 160 * J);
	expect_figure(since(&b, &m), 260 * J, 4 * S, 28 * S);
}

/* Cores may rest, and a slow counter is given its time. */
static void test_not_frozen(void **state)
{
	struct wtl_channel core = counter_channel(), slow = counter_channel(),
			   model = counter_channel();
	struct wtl_channel channels[3];

	(void)state;
	core.kind = WATTLE_KIND_CORE;
	slow.update_ns = 3 * S;
	model.method = WATTLE_METHOD_MODELLED;
	channels[0] = core;
	channels[1] = slow;
	channels[2] = model;
	for (int i = 0; i < 3; i++) {
		struct bench b;

		init(&b, channels[i]);
		for (int t = 1; t <= 20; t++)
			good(&b, t * S, 7);
		assert_int_equal(b.account.status, WATTLE_STATUS_OK);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frozen),
		cmocka_unit_test(test_frozen_from_the_start),
		cmocka_unit_test(test_zero_of_what_always_draws),
		cmocka_unit_test(test_unclear),
		cmocka_unit_test(test_slow_is_not_frozen),
		cmocka_unit_test(test_asleep),
		cmocka_unit_test(test_asleep_while_frozen),
		cmocka_unit_test(test_reset_while_asleep),
		cmocka_unit_test(test_asleep_at_first),
		cmocka_unit_test(test_frozen_then_reset),
		cmocka_unit_test(test_not_frozen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
