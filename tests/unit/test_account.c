/* SPDX-License-Identifier: MIT */
#include "account_bench.h"

/* ---- Counters ---- */

static void test_nothing_read(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	b.fresh_ns = b.now_ns = S;
	m = mark(&b);
	assert_false(m.valid);
	assert_false(since(&b, &m).has_energy);
	assert_int_equal(wtl_account_uj(&b.account), 0);
	assert_int_equal(wtl_account_breaks(&b.account), 0);
	assert_int_equal(wtl_account_update_ns(&b.account), MS);
}

static void test_window(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 1000);
	m = mark(&b);
	assert_true(m.valid);
	good(&b, 2 * S, 1000 + 100 * J);
	good(&b, 3 * S, 1000 + 300 * J);
	figure = since(&b, &m);
	expect_figure(figure, 300 * J, 2 * S, 0);
	assert_int_equal(figure.samples, 2);
	assert_int_equal(figure.resets, 0);
	assert_int_equal(wtl_account_uj(&b.account), 300 * J);
	/* 3 % of it; 200 W (the last stretch) for 1 ms / √6; 5 µs either side. */
	assert_near(figure.budget.gain_uj, 9e6, 1);
	assert_near(figure.budget.quantisation_uj, 200e6 * 1e-3 / sqrt(6), 1);
	assert_near(figure.budget.edge_uj, 200e6 * 5e-6 * sqrt(2) / sqrt(3), 1);
	assert_true(figure.budget.sampling_uj == 0.0 && figure.budget.integration_uj == 0.0 &&
		    figure.budget.disagreement_uj == 0.0);
}

static void test_zero_of_a_sensor_is_in_the_budget(void **state)
{
	struct wtl_channel channel = counter_channel();
	struct bench b;
	struct wtl_mark m;

	(void)state;
	channel.offset_uw = 2000000;
	init(&b, channel);
	good(&b, S, 0);
	m = mark(&b);
	good(&b, 11 * S, 1000 * J);
	assert_near(since(&b, &m).budget.gain_uj, 30e6, 1);
	assert_near(since(&b, &m).budget.offset_uj, 20e6, 1);
}

/* A slow source held up the beginning: the gap is still no longer than the window. */
static void test_gap_within_the_window(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	good(&b, 10 * S, 5000 * J);
	b.now_ns += S;
	m = mark(&b);
	good(&b, 11 * S + 100 * MS, 0);
	figure = since(&b, &m);
	assert_false(figure.has_energy);
	assert_int_equal(figure.gap_ns, b.now_ns - m.t_ns);
	assert_int_equal(figure.measured_ns, 0);
}

/* A mark during a failure waits for the first good reading; what lay before is a gap. */
static void test_late_first_reading(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 0);
	bad(&b, 2 * S);
	m = mark(&b);
	assert_false(m.valid);
	wtl_account_settle_mark(&b.account, &m);
	assert_false(m.valid);
	assert_false(since(&b, &m).has_energy);
	good(&b, 4 * S, 300 * J);
	wtl_account_settle_mark(&b.account, &m);
	assert_true(m.valid);
	assert_false(since(&b, &m).has_energy);
	good(&b, 5 * S, 400 * J);
	wtl_account_settle_mark(&b.account, &m);
	expect_figure(since(&b, &m), 100 * J, S, 2 * S - 10000);
}

/* One that is read once a second: windows in a row begin with the reading that the one before ended with, and
 * know the moment no better than that. */
static void test_rare_readings(void **state)
{
	struct wtl_channel channel = counter_channel();
	struct bench b;
	struct wtl_mark m;

	(void)state;
	channel.fresh_ns = 50 * MS;
	init(&b, channel);
	good(&b, S, 0);
	b.fresh_ns = b.now_ns = S + 60 * MS;
	assert_false(mark(&b).valid);
	b.fresh_ns = b.now_ns = S + 40 * MS;
	m = mark(&b);
	assert_true(m.valid);
	assert_true(m.half_ns >= 40 * MS);
	assert_int_equal(m.half_ns, 40 * MS + 5000);
	good(&b, 2 * S, 100 * J);
	expect_figure(since(&b, &m), 100 * J, S, 0);
	assert_true(since(&b, &m).budget.edge_uj > 100e6 * 40e-3 / sqrt(3));
}

/* Whoever reads it for us does so with some jitter: within a 32nd of what is fresh that is no gap, and widens the ±. */
static void test_jitter_of_rare_readings(void **state)
{
	struct wtl_channel channel = counter_channel();
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m;

	(void)state;
	channel.fresh_ns = 2 * S;
	init(&b, channel);
	good(&b, S, 0);
	b.fresh_ns = b.now_ns = S + 300 * MS;
	m = mark(&b);
	good(&b, 4 * S, 300 * J);
	b.now_ns = 4 * S + 362 * MS;
	figure = since(&b, &m);
	expect_figure(figure, 300 * J, 3 * S, 0);
	assert_true(figure.budget.edge_uj > 100e6 * 300e-3 / sqrt(3));
	b.now_ns = 4 * S + 363 * MS;
	expect_figure(since(&b, &m), 300 * J, 3 * S, 63 * MS);
}

/* DENIED all along: no mark, no figure, and the reason stays. */
static void test_denied(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	for (int i = 1; i < 5; i++) {
		assert_false(feed(&b, i * S, 7, WATTLE_STATUS_DENIED));
		if (i == 1)
			m = mark(&b);
		wtl_account_settle_mark(&b.account, &m);
		assert_int_equal(b.account.status, WATTLE_STATUS_DENIED);
	}
	assert_false(m.valid);
	assert_false(since(&b, &m).has_energy);
	assert_int_equal(b.account.samples, 0);
	assert_int_equal(wtl_account_uj(&b.account), 0);
}

static void test_failed_reads_lose_nothing(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 0);
	m = mark(&b);
	for (int i = 2; i < 20; i++)
		bad(&b, i * S);
	good(&b, 20 * S, 1900 * J);
	figure = since(&b, &m);
	expect_figure(figure, 1900 * J, 19 * S, 0);
	assert_int_equal(figure.samples, 1);
	assert_int_equal(b.account.status, WATTLE_STATUS_OK);
	assert_int_equal(wtl_account_breaks(&b.account), 0);
}

static void test_fails_at_the_end(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 0);
	m = mark(&b);
	good(&b, 2 * S, 100 * J);
	bad(&b, 3 * S);
	bad(&b, 5 * S);
	/* Early by 10 µs at the start, by 3 s and 10 µs at the end. */
	expect_figure(since(&b, &m), 100 * J, S, 3 * S);
}

/* An old answer of a source that is slow to answer leaves a gap at the end, whatever its status. */
static void test_old_reading_at_the_end(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 0);
	m = mark(&b);
	good(&b, 2 * S, 100 * J);
	good(&b, 2 * S, 100 * J);
	b.now_ns = 2 * S + 500 * MS;
	expect_figure(since(&b, &m), 100 * J, S, 500 * MS - 10000);
}

/* A source that is read first and then waits for slow ones is early at both edges: that is no gap. */
static void test_early_at_both_edges(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 0);
	b.now_ns = S + 15 * MS;
	m = mark(&b);
	good(&b, 2 * S, 100 * J);
	b.now_ns = 2 * S + 15 * MS;
	expect_figure(since(&b, &m), 100 * J, S, 0);
	/* A little later is within the uncertainty, and widens it. */
	b.now_ns = 2 * S + 15 * MS + 900000;
	figure = since(&b, &m);
	expect_figure(figure, 100 * J, S, 0);
	assert_near(figure.budget.edge_uj, 100e6 * 900e-6 / sqrt(3), 1000);
}

/* A window within which nothing could be read has no figure, rather than 0. */
static void test_nothing_read_within(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 0);
	good(&b, 2 * S, 100 * J);
	m = mark(&b);
	bad(&b, 2 * S + 500000);
	assert_false(since(&b, &m).has_energy);
	bad(&b, 3 * S);
	assert_false(since(&b, &m).has_energy);
	good(&b, 4 * S, 300 * J);
	expect_figure(since(&b, &m), 200 * J, 2 * S, 0);
}

/* No time takes no energy, and that is known. */
static void test_no_time(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 0);
	good(&b, 2 * S, 100 * J);
	m = mark(&b);
	expect_figure(since(&b, &m), 0, 0, 0);
	good(&b, 2 * S, 100 * J);
	expect_figure(since(&b, &m), 0, 0, 0);
}

static void test_reset_within(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m, between;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 100000 * J);
	m = mark(&b);
	good(&b, 2 * S, 100050 * J);
	good(&b, 3 * S, 5 * J);
	between = mark(&b);
	good(&b, 4 * S, 60 * J);
	figure = since(&b, &m);
	expect_figure(figure, 105 * J, 2 * S, S);
	assert_int_equal(figure.resets, 1);
	expect_figure(since(&b, &between), 55 * J, S, 0);
	assert_int_equal(since(&b, &between).resets, 0);
	assert_int_equal(wtl_account_breaks(&b.account), 1);
}

static void test_only_a_reset(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 100000 * J);
	m = mark(&b);
	good(&b, 2 * S, 5 * J);
	figure = since(&b, &m);
	assert_false(figure.has_energy);
	assert_int_equal(figure.resets, 1);
	assert_int_equal(figure.gap_ns, S);
}

static void test_wrap_within(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, b.channel.range - 30 * J);
	m = mark(&b);
	good(&b, 2 * S, 70 * J);
	expect_figure(since(&b, &m), 100 * J, S, 0);
	assert_int_equal(b.account.counter.wraps, 1);
}

static void test_sleep(void **state)
{
	struct bench b;
	struct wtl_mark m;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 0);
	m = mark(&b);
	good(&b, 2 * S, 100 * J);
	wtl_account_break(&b.account);
	/* The counter went on (or not) while monotonic time stood still. */
	good(&b, 3 * S, 7000 * J);
	good(&b, 4 * S, 7100 * J);
	expect_figure(since(&b, &m), 200 * J, 2 * S, S);
	assert_int_equal(since(&b, &m).resets, 0);
	assert_int_equal(wtl_account_breaks(&b.account), 1);
}

/* A counter that was closed and opened again counts from 0: however far it got, that is no difference
 * to what it was, and no reset of the hardware either. */
static void test_opened_anew(void **state)
{
	struct wtl_reading reading = {.half_ns = 5000, .status = WATTLE_STATUS_OK, .anew = true};
	struct wtl_channel channel = counter_channel();
	struct bench b;
	struct wtl_mark m;

	(void)state;
	channel.range = 0;
	init(&b, channel);
	good(&b, S, 0);
	m = mark(&b);
	good(&b, 2 * S, 50 * J);
	bad(&b, 3 * S);
	reading.t_mono_ns = 4 * S;
	reading.value = 60 * J;
	/* Sources that are read less often show the same reading again: once is enough. */
	for (int i = 0; i < 3; i++)
		assert_false(wtl_account_feed(&b.account, &reading));
	good(&b, 5 * S, 160 * J);
	expect_figure(since(&b, &m), 150 * J, 2 * S, 2 * S);
	assert_int_equal(since(&b, &m).resets, 0);
	assert_int_equal(wtl_account_breaks(&b.account), 1);
}

static void test_value_out_of_range(void **state)
{
	struct bench b;
	struct wtl_mark m, during;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 0);
	m = mark(&b);
	good(&b, 2 * S, 100 * J);
	assert_false(good(&b, 3 * S, b.channel.range));
	assert_int_equal(b.account.status, WATTLE_STATUS_FAILED);
	assert_int_equal(b.account.error, -ERANGE);
	assert_int_equal(b.account.last_ok.t_mono_ns, 2 * S);
	during = mark(&b);
	assert_false(during.valid);
	expect_figure(since(&b, &m), 100 * J, S, S);
	good(&b, 4 * S, 250 * J);
	wtl_account_settle_mark(&b.account, &during);
	assert_true(during.valid);
	assert_int_equal(b.account.status, WATTLE_STATUS_OK);
	expect_figure(since(&b, &m), 100 * J, S, 2 * S);
	good(&b, 5 * S, 350 * J);
	expect_figure(since(&b, &m), 200 * J, 2 * S, 2 * S);
	expect_figure(since(&b, &during), 100 * J, S, S - 10000);
}

/* ---- What is known of short windows ---- */

static struct wtl_channel slow_channel(void)
{
	struct wtl_channel channel = counter_channel();

	channel.range = 0;
	channel.max_uw = 0;
	channel.unit = WTL_UNIT_MILLI;
	channel.update_ns = 100 * MS;
	return channel;
}

/* A counter that moves every 100 ms by 10 J (100 W), read at the given time. */
static bool slow(struct bench *b, int64_t t_ns)
{
	return good(b, t_ns, (uint64_t)(t_ns / (100 * MS)) * 10000);
}

static void test_less_than_an_update(void **state)
{
	struct bench b;
	struct wtl_figure figure;
	struct wtl_mark m;

	(void)state;
	init(&b, slow_channel());
	slow(&b, 1010 * MS);
	m = mark(&b);
	slow(&b, 1040 * MS);
	/* Nothing has been seen of this sensor yet: 0 J would be a guess. Unless there is a bound. */
	assert_false(since(&b, &m).has_energy);
	b.channel.max_uw = 700 * W;
	figure = since(&b, &m);
	expect_figure(figure, 0, 30 * MS, 0);
	assert_near(figure.budget.quantisation_uj, 700e6 * 0.1 / sqrt(6), 1);
	for (int i = 0; i < 30; i++)
		slow(&b, 1100 * MS + i * 50 * MS);
	m = mark(&b);
	slow(&b, 2580 * MS);
	figure = since(&b, &m);
	/* Now its power is known, and so how wrong 0 J may be. */
	expect_figure(figure, 0, 30 * MS, 0);
	assert_near(figure.budget.quantisation_uj, 100e6 * 0.1 / sqrt(6), 5e5);
}

/* Whole windows of a slow counter are covered by the stated ± as often as it says. */
static void test_quantisation_covers(void **state)
{
	unsigned n = 0, inside = 0;

	(void)state;
	for (int64_t begin = 0; begin < 100; begin += 7)
		for (int64_t end = 0; end < 100; end += 3) {
			int64_t from_ns = 4 * S + begin * MS, to_ns = 5 * S + end * MS;
			struct wtl_figure figure;
			struct wtl_mark m;
			struct bench b;
			double true_uj;

			init(&b, slow_channel());
			for (int64_t t = 0; t < 40; t++)
				slow(&b, 10 * MS + t * 100 * MS);
			slow(&b, from_ns);
			m = mark(&b);
			slow(&b, to_ns);
			figure = since(&b, &m);
			true_uj = (double)(to_ns - from_ns) * 100e6 / 1e9;
			n++;
			inside += fabs((double)figure.energy_uj - true_uj) <=
				  2.0 * figure.budget.quantisation_uj;
		}
	assert_true(inside * 100 >= n * 95);
}

/* ---- Power ---- */

/* RAPL moves every millisecond: 20 ms decide. */
static void test_span_at_least_20_ms(void **state)
{
	struct bench b;

	(void)state;
	init(&b, counter_channel());
	assert_false(good(&b, S, 0));
	assert_false(good(&b, S + 19 * MS, J));
	assert_int_equal(b.account.spans, 0);
	assert_true(good(&b, S + 20 * MS, 2 * J));
	assert_int_equal(b.account.span_uw, 100 * W);
	assert_false(good(&b, S + 30 * MS, 3 * J));
	assert_true(good(&b, S + 40 * MS, 6 * J));
	assert_int_equal(b.account.span_uw, 200 * W);
	assert_int_equal(b.account.spans, 2);
}

/* A sensor with an update in 100 ms: a second. */
static void test_span_at_least_10_updates(void **state)
{
	struct bench b;
	unsigned spans = 0;

	(void)state;
	init(&b, slow_channel());
	for (int64_t t_ns = 0; t_ns <= 10 * S; t_ns += 100 * MS)
		spans += slow(&b, t_ns + 5 * MS);
	assert_int_equal(spans, 10);
	assert_int_equal(b.account.span_uw, 100 * W);
}

/* No power is made up across what is not known. */
static void test_no_span_across_a_gap(void **state)
{
	struct bench b;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 1000 * J);
	assert_true(good(&b, 2 * S, 1100 * J));
	assert_false(good(&b, 3 * S, 0));
	assert_int_equal(b.account.span_uw, 100 * W);
	assert_true(good(&b, 4 * S, 200 * J));
	assert_int_equal(b.account.span_uw, 200 * W);
	wtl_account_break(&b.account);
	assert_false(good(&b, 5 * S, 900 * J));
	assert_int_equal(b.account.span_uw, 200 * W);
	assert_true(good(&b, 6 * S, 1200 * J));
	assert_int_equal(b.account.span_uw, 300 * W);
}

/* Read for 2 s, it is of some moment within: no end of a stretch, but the next one is. */
static void test_no_span_to_a_read_that_hung(void **state)
{
	struct wtl_reading hung = {
		.t_mono_ns = 3 * S, .half_ns = S, .value = 110 * J, .status = WATTLE_STATUS_OK};
	struct bench b;

	(void)state;
	init(&b, counter_channel());
	good(&b, S, 0);
	assert_true(good(&b, 2 * S, 100 * J));
	assert_false(wtl_account_feed(&b.account, &hung));
	assert_true(good(&b, 4 * S + 100 * MS, 310 * J));
	assert_int_equal(b.account.span_uw, 100 * W);
	/* A stretch that is long against such a read may end with it, and the next one begins there. */
	init(&b, counter_channel());
	good(&b, S, 0);
	hung.t_mono_ns = 21 * S;
	assert_true(wtl_account_feed(&b.account, &hung));
	assert_false(good(&b, 40 * S, 2010 * J));
	assert_true(good(&b, 41 * S, 2110 * J));
	assert_int_equal(b.account.span_uw, 100 * W);
	assert_true(good(&b, 42 * S, 2310 * J));
	assert_int_equal(b.account.span_uw, 200 * W);
	/* One that begins with such a read is long against it. */
	hung.t_mono_ns = 3 * S;
	init(&b, counter_channel());
	assert_false(wtl_account_feed(&b.account, &hung));
	assert_false(good(&b, 20 * S, 1810 * J));
	assert_true(good(&b, 23 * S, 2110 * J));
	assert_int_equal(b.account.span_uw, 100 * W);
}

/* ---- Update periods ---- */

/* Reads a counter that moves once in update_ns, every poll_ns, for as long as there are `polls`. */
static int64_t watch(struct wtl_channel channel, int64_t update_ns, int64_t poll_ns, int polls)
{
	struct bench b;

	init(&b, channel);
	for (int i = 1; i <= polls; i++)
		good(&b, S + i * poll_ns, (uint64_t)(i * poll_ns / update_ns) * 1000);
	return wtl_account_update_ns(&b.account);
}

static void test_update_period_seen(void **state)
{
	struct wtl_channel unknown = slow_channel();

	(void)state;
	unknown.update_ns = 0;
	assert_near(watch(unknown, 100 * MS, 10 * MS, 1000), 100 * MS, MS);
	assert_near(watch(unknown, 100 * MS, 3 * MS, 1000), 100 * MS, 3 * MS);
	assert_near(watch(unknown, 20 * MS, MS, 1000), 20 * MS, MS);
	/* So it does of a part that may draw nothing. */
	unknown.kind = WATTLE_KIND_UNCORE;
	assert_near(watch(unknown, 100 * MS, 10 * MS, 1000), 100 * MS, MS);
	/* The declared one is but a hint. */
	assert_near(watch(slow_channel(), 20 * MS, 5 * MS, 1000), 20 * MS, MS);
	assert_near(watch(slow_channel(), 250 * MS, 50 * MS, 1000), 250 * MS, MS);
	/* Read less often than it moves, it shows nothing: the declared one stands, or none. */
	assert_int_equal(watch(slow_channel(), 20 * MS, 100 * MS, 1000), 100 * MS);
	assert_int_equal(watch(counter_channel(), MS, 100 * MS, 1000), MS);
	assert_int_equal(watch(unknown, MS, 100 * MS, 1000), 0);
	/* Read about as often as it moves, it stands still now and then. */
	assert_near(watch(unknown, 100 * MS, 97 * MS, 2000), 100 * MS, 15 * MS);
	assert_near(watch(unknown, 100 * MS, 60 * MS, 2000), 100 * MS, 25 * MS);
}

/* The time over a break, or asleep, is no period; the step that ends it is no end of one either. */
static void test_no_period_over_a_break(void **state)
{
	(void)state;
	for (int sleeps = 0; sleeps < 2; sleeps++) {
		struct bench b;
		int64_t seen_ns;

		init(&b, slow_channel());
		for (int i = 0; i < 50; i++)
			good(&b, S + i * 10 * MS, i / 2 * J);
		seen_ns = wtl_account_update_ns(&b.account);
		assert_int_equal(seen_ns, 20 * MS);
		if (sleeps)
			feed(&b, S + 510 * MS, 0, WATTLE_STATUS_ASLEEP);
		else
			wtl_account_break(&b.account);
		/* Without a base, the first reading behind it is one. */
		for (int i = 0; i < 1 + !sleeps; i++)
			good(&b, S + (600 + i) * MS, (30 + i) * J);
		assert_int_equal(wtl_account_update_ns(&b.account), seen_ns);
	}
}

/* An emulated package counter that is said to move each millisecond, and moves once a second: what came
 * at once was not drawn at once, and the uncertainty knows. */
static void test_slower_than_declared(void **state)
{
	struct wtl_channel channel = counter_channel();
	struct bench b;
	struct wtl_mark m;
	struct wtl_figure figure;

	(void)state;
	init(&b, channel);
	for (int i = 0; i < 600; i++) {
		if (good(&b, S + i * 50 * MS, (uint64_t)(i / 20) * 100 * J))
			assert_true(b.account.span_uw <= 110 * W);
		if (i == 307)
			m = mark(&b);
	}
	assert_int_equal(b.account.span_uw, 100 * W);
	assert_int_equal(wtl_account_update_ns(&b.account), S);
	figure = since(&b, &m);
	/* 100 W x 1 s / sqrt(6) */
	assert_near(figure.budget.quantisation_uj, 40.8e6, 1.5e6);
}

/* An idle graphics unit's counter rests for minutes: that is no update period, neither for the
 * uncertainty of what follows, nor for the time before power is stated again. */
static void test_rest_is_no_period(void **state)
{
	struct wtl_channel unknown = counter_channel();

	(void)state;
	unknown.update_ns = 0;
	for (int way = 0; way < 4; way++) {
		struct wtl_channel channel = way % 2 ? counter_channel() : unknown;
		struct bench b;
		struct wtl_mark m;
		struct wtl_figure figure;
		int64_t t_ns = S;

		channel.kind = way < 2 ? WATTLE_KIND_CPU : WATTLE_KIND_UNCORE;
		init(&b, channel);
		for (int i = 0; i < 600; i++, t_ns += 100 * MS)
			good(&b, t_ns, i < 2 ? (uint64_t)i : 1);
		m = mark(&b);
		for (uint64_t i = 1; i <= 100; i++, t_ns += 100 * MS)
			good(&b, t_ns, i * 2 * J);
		figure = since(&b, &m);
		assert_true(wtl_account_update_ns(&b.account) <= 100 * MS);
		assert_int_equal(b.account.span_uw, 20 * W);
		assert_true(figure.budget.quantisation_uj < 1e6);
		assert_int_equal(figure.gap_ns, 0);
	}
}

/* ---- Sums ---- */

enum { MARKS = 40 };

/* A random life of a counter, in which each mark is taken after a good reading. */
static void live(struct bench *b, uint64_t seed, struct wtl_mark marks[], uint64_t at_uj[])
{
	uint64_t value = next(&seed) % b->channel.range;
	int64_t t_ns = S;

	for (int i = 0; i < MARKS; t_ns += 1 + (int64_t)(next(&seed) % (uint64_t)S)) {
		uint64_t chance = next(&seed) % 16;

		value = (value + next(&seed) % (900 * J)) % b->channel.range;
		if (chance == 0)
			value = 0;
		if (chance == 1)
			wtl_account_break(&b->account);
		if (chance == 2) {
			bad(b, t_ns);
			continue;
		}
		if (chance == 3 && !good(b, t_ns, b->channel.range + value))
			continue;
		good(b, t_ns, value);
		marks[i] = mark(b);
		assert_true(marks[i].valid);
		at_uj[i++] = wtl_account_uj(&b->account);
	}
}

static void check_sums(const struct bench *b, const struct wtl_mark marks[], const uint64_t at_uj[])
{
	struct wtl_figure last = since(b, &marks[MARKS - 1]);

	expect_figure(last, 0, 0, 0);
	for (int i = 0; i < MARKS; i++) {
		struct wtl_figure figure = since(b, &marks[i]);

		/* Every mark's energy is where the account stood: differences add up by themselves,
		 * to the microjoule. */
		assert_int_equal(marks[i].energy_uj, at_uj[i]);
		assert_int_equal(figure.energy_uj, at_uj[MARKS - 1] - at_uj[i]);
		assert_int_equal(figure.measured_ns + figure.gap_ns, b->now_ns - marks[i].t_ns);
		assert_true(figure.measured_ns >= 0 && figure.gap_ns >= 0);
		assert_int_equal(figure.has_energy, figure.measured_ns > 0 || i == MARKS - 1);
		assert_true(isfinite(wtl_budget_combined_uj(&figure.budget)));
	}
}

static void test_sums(void **state)
{
	const struct wtl_unit units[] = {WTL_UNIT_MICRO,
					 {.num = 1000000, .den = UINT64_C(1) << 32},
					 {.num = 153, .den = 10}};

	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct wtl_channel channel = counter_channel();
		struct wtl_mark marks[MARKS];
		uint64_t at_uj[MARKS];
		struct bench b;

		channel.unit = units[seed % 3];
		if (seed % 4 == 0)
			channel.max_uw = 0;
		init(&b, channel);
		live(&b, seed, marks, at_uj);
		check_sums(&b, marks, at_uj);
	}
}

/* Windows that meet add up as they are read, one after the other. */
static void test_adjoining_windows(void **state)
{
	uint64_t seed = 42, value = 0, sum_uj = 0;
	struct wtl_channel channel = counter_channel();
	struct wtl_mark first, last;
	struct bench b;

	(void)state;
	channel.unit = (struct wtl_unit){.num = 1000000, .den = UINT64_C(1) << 32};
	channel.range = 0;
	init(&b, channel);
	good(&b, S, value);
	first = last = mark(&b);
	for (int i = 1; i <= 1000; i++) {
		value += next(&seed) % 10000000;
		good(&b, S + i * MS, value);
		sum_uj += since(&b, &last).energy_uj;
		last = mark(&b);
	}
	assert_int_equal(since(&b, &first).energy_uj, sum_uj);
	assert_int_equal(sum_uj, wtl_unit_convert(channel.unit, value));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_read),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_zero_of_a_sensor_is_in_the_budget),
		cmocka_unit_test(test_gap_within_the_window),
		cmocka_unit_test(test_late_first_reading),
		cmocka_unit_test(test_rare_readings),
		cmocka_unit_test(test_jitter_of_rare_readings),
		cmocka_unit_test(test_denied),
		cmocka_unit_test(test_failed_reads_lose_nothing),
		cmocka_unit_test(test_fails_at_the_end),
		cmocka_unit_test(test_old_reading_at_the_end),
		cmocka_unit_test(test_early_at_both_edges),
		cmocka_unit_test(test_nothing_read_within),
		cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_reset_within),
		cmocka_unit_test(test_only_a_reset),
		cmocka_unit_test(test_wrap_within),
		cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_opened_anew),
		cmocka_unit_test(test_value_out_of_range),
		cmocka_unit_test(test_less_than_an_update),
		cmocka_unit_test(test_quantisation_covers),
		cmocka_unit_test(test_span_at_least_20_ms),
		cmocka_unit_test(test_span_at_least_10_updates),
		cmocka_unit_test(test_no_span_across_a_gap),
		cmocka_unit_test(test_no_span_to_a_read_that_hung),
		cmocka_unit_test(test_update_period_seen),
		cmocka_unit_test(test_no_period_over_a_break),
		cmocka_unit_test(test_slower_than_declared),
		cmocka_unit_test(test_rest_is_no_period),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_adjoining_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
