/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdbool.h>
#include <string.h>

#include "energy/counter.h"

__extension__ typedef unsigned __int128 u128;

#define S	 WTL_NS_PER_S
#define MS	 WTL_NS_PER_MS
#define DAY	 (86400 * S)
#define YEAR	 (365 * DAY)
#define W	 UINT64_C(1000000)	      /* in µW */
#define J	 UINT64_C(1000000)	      /* in µJ */
#define KEPT	 UINT64_C(0xfeedfacecafebeef) /* what *ret_counts must not lose */
#define PERF	 ((struct wtl_unit){.num = 1000000, .den = UINT64_C(1) << 32})
#define INTEL	 UINT64_C(262143328851)
#define AMD	 UINT64_C(65532610988)
#define DRAM	 UINT64_C(65712999614)
#define NO_RANGE UINT64_C(0)

/* ---- One step ---- */

struct step_case {
	const char *what;
	uint64_t range, max_uw, prev, cur;
	int64_t dt_ns;
	enum wtl_step step;
	uint64_t counts; /* for OK and WRAPPED */
};

static void check_step(const struct step_case *c, struct wtl_unit unit)
{
	const struct wtl_counter_spec spec = {.range = c->range, .unit = unit, .max_uw = c->max_uw};
	bool known = c->step == WTL_STEP_OK || c->step == WTL_STEP_WRAPPED;
	uint64_t counts = KEPT;
	enum wtl_step step = wtl_counter_step(&spec, c->prev, c->cur, c->dt_ns, &counts);

	if (step != c->step || counts != (known ? c->counts : KEPT))
		fail_msg("%s: step %d with %llu counts, expected %d with %llu", c->what, (int)step,
			 (unsigned long long)counts, (int)c->step,
			 (unsigned long long)(known ? c->counts : KEPT));
}

static void check_steps(const struct step_case *cases, size_t n, struct wtl_unit unit)
{
	for (size_t i = 0; i < n; i++)
		check_step(&cases[i], unit);
}

static void test_no_range(void **state)
{
	static const struct step_case cases[] = {
		{"still", 0, 0, 7, 7, S, WTL_STEP_OK, 0},
		{"forward", 0, 0, 7, 9, S, WTL_STEP_OK, 2},
		{"back by one", 0, 0, 9, 8, S, WTL_STEP_RESET, 0},
		{"back to 0", 0, 0, UINT64_MAX, 0, S, WTL_STEP_RESET, 0},
		{"the whole width", 0, 0, 0, UINT64_MAX, S, WTL_STEP_OK, UINT64_MAX},
		{"at the top", 0, 0, UINT64_MAX - 1, UINT64_MAX, S, WTL_STEP_OK, 1},
		{"at once", 0, 0, 1, 5, 0, WTL_STEP_OK, 4},
		{"1 ns", 0, 0, 1, 5, 1, WTL_STEP_OK, 4},
		{"a year", 0, 0, 1, 5, YEAR, WTL_STEP_OK, 4},
		{"all of time", 0, 0, 1, 5, INT64_MAX, WTL_STEP_OK, 4},
		{"time back by 1 ns", 0, 0, 1, 5, -1, WTL_STEP_BAD, 0},
		{"time back for ever", 0, 0, 1, 5, INT64_MIN, WTL_STEP_BAD, 0},
	};

	(void)state;
	check_steps(cases, UNIT_COUNT(cases), WTL_UNIT_MICRO);
	check_steps(cases, UNIT_COUNT(cases), WTL_UNIT_MILLI);
	check_steps(cases, UNIT_COUNT(cases), PERF);
}

/* max_uw over the elapsed time and one second more: 100 W, so 100 J and 100 J a second. */
static void test_no_range_bounded(void **state)
{
	static const struct step_case cases[] = {
		{"the slack itself", 0, 100 * W, 5, 5 + 100 * J, 0, WTL_STEP_OK, 100 * J},
		{"above the slack", 0, 100 * W, 5, 6 + 100 * J, 0, WTL_STEP_RESET, 0},
		{"one second", 0, 100 * W, 5, 5 + 200 * J, S, WTL_STEP_OK, 200 * J},
		{"above", 0, 100 * W, 5, 6 + 200 * J, S, WTL_STEP_RESET, 0},
		{"a day", 0, 100 * W, 0, 100 * J * 86401, DAY, WTL_STEP_OK, 100 * J * 86401},
		{"above a day's", 0, 100 * W, 0, 100 * J * 86401 + 1, DAY, WTL_STEP_RESET, 0},
		{"back", 0, 100 * W, 5, 4, DAY, WTL_STEP_RESET, 0},
		{"any power", 0, UINT64_MAX, 0, UINT64_MAX, 0, WTL_STEP_OK, UINT64_MAX},
		{"any time", 0, 100 * W, 0, J, INT64_MAX, WTL_STEP_OK, J},
		{"saturated", 0, UINT64_MAX, 0, UINT64_MAX, INT64_MAX, WTL_STEP_OK, UINT64_MAX},
	};

	(void)state;
	check_steps(cases, UNIT_COUNT(cases), WTL_UNIT_MICRO);
}

/* A bound in µW means the same whatever a count is worth. */
static void test_units(void **state)
{
	static const struct step_case milli[] = {
		{"mJ", 0, 100 * W, 0, 100000, 0, WTL_STEP_OK, 100000},
		{"mJ above", 0, 100 * W, 0, 100001, 0, WTL_STEP_RESET, 0},
		{"mJ wraps", 1000, W, 999, 3, 0, WTL_STEP_WRAPPED, 4},
	};
	static const struct step_case perf[] = {
		{"2^-32 J", 0, 100 * W, 0, UINT64_C(100) << 32, 0, WTL_STEP_OK,
		 UINT64_C(100) << 32},
		{"2^-32 J above", 0, 100 * W, 0, (UINT64_C(100) << 32) + 1, 0, WTL_STEP_RESET, 0},
		{"32 bits of it wrap", UINT64_C(1) << 32, 0, UINT32_MAX, 1, S, WTL_STEP_WRAPPED, 2},
	};

	(void)state;
	check_steps(milli, UNIT_COUNT(milli), WTL_UNIT_MILLI);
	check_steps(perf, UNIT_COUNT(perf), PERF);
}

/* The ranges that machines have, and what lies at either end of each. */
static void test_real_ranges(void **state)
{
	static const uint64_t ranges[] = {INTEL, AMD, DRAM, UINT64_C(262143999939), UINT64_MAX, 2};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(ranges); i++) {
		uint64_t r = ranges[i];
		const struct step_case cases[] = {
			{"still", r, 0, r - 1, r - 1, S, WTL_STEP_OK, 0},
			{"through the top", r, 0, r - 1, 0, S, WTL_STEP_WRAPPED, 1},
			{"to the top", r, 0, 0, r - 1, S, WTL_STEP_OK, r - 1},
			{"all but one", r, 0, 1, 0, S, WTL_STEP_WRAPPED, r - 1},
			{"cur at the range", r, 0, 0, r, S, WTL_STEP_BAD, 0},
			{"prev at the range", r, 0, r, 0, S, WTL_STEP_BAD, 0},
			{"time back", r, 0, 0, 1, -1, WTL_STEP_BAD, 0},
			{"at once", r, 0, r - 1, 0, 0, WTL_STEP_WRAPPED, 1},
			{"after a year", r, 0, r - 1, 0, YEAR, WTL_STEP_WRAPPED, 1},
		};

		check_steps(cases, UNIT_COUNT(cases), WTL_UNIT_MICRO);
		if (r == UINT64_MAX)
			continue;
		check_step(
			&(struct step_case){"cur far out", r, 0, 0, UINT64_MAX, S, WTL_STEP_BAD, 0},
			WTL_UNIT_MICRO);
	}
}

/* A counter of one value only tells nothing but is nothing to fall over. */
static void test_range_of_one(void **state)
{
	static const struct step_case cases[] = {
		{"still", 1, 0, 0, 0, S, WTL_STEP_OK, 0},
		{"out", 1, 0, 0, 1, S, WTL_STEP_BAD, 0},
		{"any number of wraps", 1, 10 * W, 0, 0, S, WTL_STEP_AMBIGUOUS, 0},
	};

	(void)state;
	check_steps(cases, UNIT_COUNT(cases), WTL_UNIT_MICRO);
}

/* A package of at most 250 W: it wraps in 1048 s, and by then that cannot be told from standing. */
static void test_ambiguity(void **state)
{
	static const struct step_case cases[] = {
		{"no wrap yet", INTEL, 250 * W, 0, J, 1000 * S, WTL_STEP_OK, J},
		{"one wrap or none", INTEL, 250 * W, 0, 0, 1048 * S, WTL_STEP_AMBIGUOUS, 0},
		/* 262143328851 µJ / 250 W - 1 s = 1047.573315404 s, to the nanosecond. */
		{"the last moment", INTEL, 250 * W, 9, 9, INT64_C(1047573315401), WTL_STEP_OK, 0},
		{"the first", INTEL, 250 * W, 9, 9, INT64_C(1047573315404), WTL_STEP_AMBIGUOUS, 0},
		{"more has passed", INTEL, 250 * W, 0, 100000 * J, 1048 * S, WTL_STEP_OK,
		 100000 * J},
		{"far too much", INTEL, 250 * W, 0, 0, DAY, WTL_STEP_AMBIGUOUS, 0},
		{"AMD's after a minute", AMD, 1000 * W, 5, 4, 60 * S, WTL_STEP_RESET, 0},
		{"AMD's idle minute", AMD, 1000 * W, 5, 6, 60 * S, WTL_STEP_OK, 1},
		{"AMD's bad minute", AMD, 1000 * W, 5, 6, 70 * S, WTL_STEP_AMBIGUOUS, 0},
	};

	(void)state;
	check_steps(cases, UNIT_COUNT(cases), WTL_UNIT_MICRO);
}

/* What a reset costs where it cannot be seen: less than max_uw times the time and a second. */
static void test_resets(void **state)
{
	static const struct step_case cases[] = {
		{"from the middle", INTEL, 1000 * W, 100000 * J, 7, 100 * MS, WTL_STEP_RESET, 0},
		{"near the top it looks like a wrap", INTEL, 1000 * W, INTEL - 1000 * J, 7,
		 100 * MS, WTL_STEP_WRAPPED, 1000 * J + 7},
		{"just too far below", INTEL, 1000 * W, INTEL - 1100 * J, 1, 100 * MS,
		 WTL_STEP_RESET, 0},
		{"the step of perf", 0, 1000 * W, 5, 262143 * J, 100 * MS, WTL_STEP_RESET, 0},
		{"unseen: it has outrun its past", 0, 1000 * W, 5, 6, 100 * MS, WTL_STEP_OK, 1},
	};

	(void)state;
	check_steps(cases, UNIT_COUNT(cases), WTL_UNIT_MICRO);
}

/*
 * The same by counting: every k is tried. Counts of 1 J, watts and seconds are whole, so that no
 * rounding blurs the bounds.
 */
static void count_wraps(const struct wtl_counter_spec *spec, uint64_t prev, uint64_t cur,
			int64_t dt_s, struct step_case *ret)
{
	int64_t most = spec->max_uw ? (int64_t)(spec->max_uw / W) * (dt_s + 1) : 1000000;
	unsigned fits = 0;

	ret->step = prev >= spec->range || cur >= spec->range ? WTL_STEP_BAD : WTL_STEP_RESET;
	for (int64_t k = 0; k <= 200 && ret->step != WTL_STEP_BAD; k++) {
		int64_t passed = (int64_t)cur - (int64_t)prev + k * (int64_t)spec->range;

		if (passed < 0 || passed > most)
			continue;
		if (fits++ == 0)
			ret->counts = (uint64_t)passed;
		if (fits == 1)
			ret->step = k ? WTL_STEP_WRAPPED : WTL_STEP_OK;
		else if (spec->max_uw)
			ret->step = WTL_STEP_AMBIGUOUS;
	}
}

static void test_every_small_case(void **state)
{
	const struct wtl_unit joule = {.num = 1000000, .den = 1};

	(void)state;
	for (unsigned i = 0; i < 8 * 5 * 9 * 9 * 5; i++) {
		struct step_case c = {.what = "small"};
		struct wtl_counter_spec spec = {.unit = joule};
		unsigned rest = i;

		spec.range = c.range = 1 + rest % 8;
		spec.max_uw = c.max_uw = W * (rest / 8 % 5);
		c.prev = rest / 40 % 9;
		c.cur = rest / 360 % 9;
		c.dt_ns = S * (rest / 3240 % 5);
		count_wraps(&spec, c.prev, c.cur, c.dt_ns / S, &c);
		check_step(&c, joule);
	}
}

/* ---- A counter over time ---- */

static struct wtl_counter start(uint64_t range, struct wtl_unit unit, uint64_t max_uw)
{
	const struct wtl_counter_spec spec = {.range = range, .unit = unit, .max_uw = max_uw};
	struct wtl_counter counter;

	memset(&counter, 0xa5, sizeof(counter));
	wtl_counter_init(&counter, &spec);
	return counter;
}

#define assert_times(counter, measured, gap)                          \
	do {                                                          \
		assert_int_equal((counter)->measured_ns, (measured)); \
		assert_int_equal((counter)->gap_ns, (gap));           \
	} while (0)

static void test_first_reading(void **state)
{
	struct wtl_counter counter = start(INTEL, WTL_UNIT_MICRO, 0);

	(void)state;
	assert_int_equal(wtl_counter_uj(&counter), 0);
	assert_int_equal(wtl_counter_feed(&counter, 4 * S, INTEL), WTL_STEP_BAD);
	counter = start(INTEL, WTL_UNIT_MICRO, 0);
	assert_int_equal(wtl_counter_feed(&counter, 5 * S, 123456), WTL_STEP_OK);
	assert_int_equal(wtl_counter_uj(&counter), 0);
	assert_times(&counter, 0, 0);
	assert_int_equal(wtl_counter_feed(&counter, 6 * S, 123460), WTL_STEP_OK);
	assert_int_equal(wtl_counter_uj(&counter), 4);
	assert_times(&counter, S, 0);
	assert_int_equal(counter.wraps + counter.resets + counter.gaps, 0);
}

/* EnergiBridge#17: subtracting the readings across a wrap gave -250,769 J. */
static void test_wrap_is_never_negative(void **state)
{
	static const uint64_t values[] = {
		INTEL - 3000 * J, INTEL - 2000 * J, INTEL - 900 * J, INTEL - 40 * J,
		960 * J,	  1950 * J,	    3000 * J,
	};
	struct wtl_counter counter = start(INTEL, WTL_UNIT_MICRO, 1000 * W);
	uint64_t before_uj = 0;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(values); i++) {
		enum wtl_step step = wtl_counter_feed(&counter, (int64_t)i * 10 * S, values[i]);

		assert_int_equal(step, i == 4 ? WTL_STEP_WRAPPED : WTL_STEP_OK);
		assert_true(wtl_counter_uj(&counter) >= before_uj);
		before_uj = wtl_counter_uj(&counter);
	}
	assert_int_equal(before_uj, 6000 * J);
	assert_int_equal(counter.wraps, 1);
	assert_times(&counter, 60 * S, 0);
}

static void test_reset_is_a_gap(void **state)
{
	struct wtl_counter counter = start(NO_RANGE, WTL_UNIT_MILLI, 500 * W);

	(void)state;
	wtl_counter_feed(&counter, 0, 1000000);
	wtl_counter_feed(&counter, S, 1100000);
	assert_int_equal(wtl_counter_feed(&counter, 2 * S, 30), WTL_STEP_RESET);
	assert_int_equal(wtl_counter_uj(&counter), 100 * J);
	assert_int_equal(wtl_counter_feed(&counter, 3 * S, 50030), WTL_STEP_OK);
	assert_int_equal(wtl_counter_uj(&counter), 150 * J);
	assert_times(&counter, 2 * S, S);
	assert_int_equal(counter.resets, 1);
	assert_int_equal(counter.gaps, 1);
	/* A jump of 300 kJ, as the perf system makes one: a reset too, and no energy. */
	assert_int_equal(wtl_counter_feed(&counter, 4 * S, 300050030), WTL_STEP_RESET);
	assert_int_equal(wtl_counter_uj(&counter), 150 * J);
	assert_int_equal(counter.resets, 2);
}

static void test_break(void **state)
{
	struct wtl_counter counter = start(INTEL, WTL_UNIT_MICRO, 0);

	(void)state;
	wtl_counter_break(&counter);
	assert_int_equal(counter.gaps, 0);
	wtl_counter_feed(&counter, 10 * S, 500);
	assert_times(&counter, 0, 0);
	wtl_counter_feed(&counter, 11 * S, 600);
	wtl_counter_break(&counter);
	wtl_counter_break(&counter);
	assert_int_equal(counter.gaps, 1);
	/* Monotonic time stood still but for the poll itself; the counter went on, or anew. */
	wtl_counter_feed(&counter, 12 * S, 7);
	assert_int_equal(wtl_counter_uj(&counter), 100);
	assert_times(&counter, S, S);
	wtl_counter_feed(&counter, 13 * S, 9);
	assert_int_equal(wtl_counter_uj(&counter), 102);
	assert_times(&counter, 2 * S, S);
	assert_int_equal(counter.wraps + counter.resets, 0);
}

static void test_bad_values(void **state)
{
	struct wtl_counter counter = start(1000, WTL_UNIT_MICRO, 0);

	(void)state;
	wtl_counter_feed(&counter, 0, 10);
	wtl_counter_feed(&counter, S, 20);
	assert_int_equal(wtl_counter_feed(&counter, 2 * S, 1000), WTL_STEP_BAD);
	assert_int_equal(wtl_counter_feed(&counter, 3 * S, UINT64_MAX), WTL_STEP_BAD);
	assert_int_equal(wtl_counter_uj(&counter), 10);
	assert_times(&counter, S, 2 * S);
	/* The next good value is a base again, but no difference yet. */
	wtl_counter_feed(&counter, 4 * S, 5);
	assert_int_equal(wtl_counter_uj(&counter), 10);
	assert_times(&counter, S, 3 * S);
	assert_int_equal(wtl_counter_feed(&counter, 5 * S, 8), WTL_STEP_OK);
	assert_int_equal(wtl_counter_uj(&counter), 13);
	assert_times(&counter, 2 * S, 3 * S);
	assert_int_equal(counter.gaps, 1);
}

static void test_bad_first_value(void **state)
{
	struct wtl_counter counter = start(1000, WTL_UNIT_MICRO, 0);

	(void)state;
	assert_int_equal(wtl_counter_feed(&counter, S, 5000), WTL_STEP_BAD);
	assert_false(counter.has_base);
	wtl_counter_feed(&counter, 2 * S, 999);
	assert_int_equal(wtl_counter_feed(&counter, 3 * S, 1), WTL_STEP_WRAPPED);
	assert_int_equal(wtl_counter_uj(&counter), 2);
	assert_times(&counter, S, S);
}

/* A reading older than the last (two threads, a clock gone wrong) changes nothing. */
static void test_time_back(void **state)
{
	struct wtl_counter counter = start(INTEL, WTL_UNIT_MICRO, 0), before;

	(void)state;
	wtl_counter_feed(&counter, 10 * S, 100);
	wtl_counter_feed(&counter, 11 * S, 110);
	before = counter;
	assert_int_equal(wtl_counter_feed(&counter, 11 * S - 1, 105), WTL_STEP_BAD);
	assert_memory_equal(&counter, &before, sizeof(counter));
	assert_int_equal(wtl_counter_feed(&counter, 12 * S, 120), WTL_STEP_OK);
	assert_int_equal(wtl_counter_uj(&counter), 20);
	assert_times(&counter, 2 * S, 0);
	/* So too while there is no base. */
	wtl_counter_break(&counter);
	wtl_counter_feed(&counter, 11 * S, 105);
	wtl_counter_feed(&counter, 13 * S, 130);
	assert_times(&counter, 2 * S, S);
}

static void test_same_time(void **state)
{
	struct wtl_counter counter = start(INTEL, WTL_UNIT_MICRO, 100 * W);

	(void)state;
	wtl_counter_feed(&counter, S, 100);
	assert_int_equal(wtl_counter_feed(&counter, S, 100), WTL_STEP_OK);
	assert_int_equal(wtl_counter_feed(&counter, S, 107), WTL_STEP_OK);
	assert_int_equal(wtl_counter_uj(&counter), 7);
	assert_times(&counter, 0, 0);
	assert_int_equal(wtl_counter_feed(&counter, S, 50), WTL_STEP_RESET);
	assert_int_equal(counter.gaps, 1);
	assert_times(&counter, 0, 0);
}

/* A count of 2^-32 J is far less than a µJ, but none is lost however often it is read. */
static void test_no_rounding_loss(void **state)
{
	struct wtl_counter often = start(NO_RANGE, PERF, 0), once = often;
	uint64_t value = 17;

	(void)state;
	wtl_counter_feed(&often, 0, value);
	wtl_counter_feed(&once, 0, value);
	for (int64_t i = 1; i <= 100000; i++) {
		value += 4294; /* 0.9998 µJ */
		wtl_counter_feed(&often, i, value);
	}
	wtl_counter_feed(&once, 100000, value);
	assert_int_equal(wtl_counter_uj(&often), 99977); /* 429400000 / 4294.967296 */
	assert_int_equal(wtl_counter_uj(&once), 99977);
}

/*
 * 64 bits of 2^-32 J are 4.3 GJ: a package of 500 W passes that in 99 days. The sum goes on; the
 * counter itself starts anew, which is one gap.
 */
static void test_longer_than_the_counter(void **state)
{
	const uint64_t step = UINT64_C(1) << 62; /* 1.07 GJ */
	struct wtl_counter counter = start(NO_RANGE, PERF, 0);
	int64_t t_ns = 0;

	(void)state;
	for (int lap = 0; lap < 5; lap++)
		for (uint64_t k = 0; k < 4; k++, t_ns += 25 * DAY)
			assert_int_equal(wtl_counter_feed(&counter, t_ns, k * step),
					 lap && !k ? WTL_STEP_RESET : WTL_STEP_OK);
	assert_int_equal(wtl_counter_uj(&counter), 15 * (UINT64_C(1000000) << 30));
	assert_times(&counter, 15 * 25 * DAY, 4 * 25 * DAY);
}

static void test_saturation(void **state)
{
	struct wtl_counter counter = start(NO_RANGE, WTL_UNIT_MILLI, 0);

	(void)state;
	wtl_counter_feed(&counter, 0, 0);
	wtl_counter_feed(&counter, S, UINT64_MAX);
	assert_true(wtl_counter_uj(&counter) == UINT64_MAX);
	wtl_counter_feed(&counter, 2 * S, 0);
	wtl_counter_feed(&counter, 3 * S, 5);
	assert_true(wtl_counter_uj(&counter) == UINT64_MAX);

	counter = start(NO_RANGE, WTL_UNIT_MICRO, 0);
	wtl_counter_feed(&counter, 0, 0);
	wtl_counter_feed(&counter, S, UINT64_MAX - 1);
	assert_true(wtl_counter_uj(&counter) == UINT64_MAX - 1);
	wtl_counter_feed(&counter, 2 * S, UINT64_MAX);
	assert_true(wtl_counter_uj(&counter) == UINT64_MAX);
}

/* ---- Against a model without bounds ---- */

struct machine {
	uint64_t seed;
	struct wtl_counter_spec spec;
	uint64_t most_uw;   /* power that it draws, within the spec's */
	int64_t publish_ns; /* the sensor shows something new this often; 0: at once */
	bool resets;

	/* the truth */
	int64_t now_ns;
	u128 true_counts; /* since the first reading, all of them */
	uint64_t offset;  /* the register was there at the first reading, or the last reset */
	u128 from;	  /* true_counts then */
	/* what the sensor shows */
	u128 shown_counts;
	int64_t shown_ns;

	/* what must come out */
	u128 base_counts, sum_counts;
	bool has_base, was_reset;
	int64_t first_ns, last_ns;
	uint64_t known, lost;
};

static uint64_t next(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static uint64_t below(uint64_t *seed, uint64_t n)
{
	return n ? next(seed) % n : 0;
}

/* Mostly short steps, some minutes, a few hours. */
static int64_t some_time_ns(uint64_t *seed)
{
	static const int64_t most_ns[] = {1, MS, MS, 100 * MS, S, S, 10 * S, 60 * S, 600 * S, DAY};

	return (int64_t)below(seed, (uint64_t)most_ns[below(seed, UNIT_COUNT(most_ns))] + 1);
}

/* Time passes at one power: true counts, and those that the sensor shows at its next update. */
static void pass(struct machine *m, int64_t dt_ns)
{
	uint64_t power_uw = below(&m->seed, m->most_uw + 1);
	u128 before = m->true_counts;
	u128 passed = (u128)power_uw * (u128)dt_ns / (u128)S * m->spec.unit.den / m->spec.unit.num;
	int64_t update_ns;

	m->true_counts += passed;
	m->now_ns += dt_ns;
	update_ns = m->publish_ns ? m->now_ns - m->now_ns % m->publish_ns : m->now_ns;
	if (update_ns <= m->shown_ns)
		return;
	/* Power was constant, so what had passed by the update is a part of it. */
	m->shown_counts = before;
	if (dt_ns > 0)
		m->shown_counts += passed * (u128)(dt_ns - (m->now_ns - update_ns)) / (u128)dt_ns;
	m->shown_ns = update_ns;
}

static uint64_t register_value(const struct machine *m)
{
	u128 value = m->offset + (m->shown_counts - m->from);

	return (uint64_t)(m->spec.range ? value % m->spec.range : value);
}

static void reset_register(struct machine *m)
{
	m->offset = below(&m->seed, 3) ? 0 : below(&m->seed, m->spec.range ? m->spec.range : 1000);
	m->from = m->shown_counts = m->true_counts;
	m->shown_ns = m->now_ns;
	m->was_reset = true;
}

/* One reading, and what it must have done. */
static void poll_register(struct machine *m, struct wtl_counter *counter)
{
	uint64_t value = register_value(m), before_uj = wtl_counter_uj(counter);
	uint64_t gained_uj;
	enum wtl_step step = wtl_counter_feed(counter, m->now_ns, value);
	bool is_known = m->has_base && (step == WTL_STEP_OK || step == WTL_STEP_WRAPPED);

	assert_true(step != WTL_STEP_BAD);
	assert_true(wtl_counter_uj(counter) >= before_uj);
	gained_uj = wtl_counter_uj(counter) - before_uj;
	if (is_known && !m->was_reset) {
		m->sum_counts += m->shown_counts - m->base_counts;
		m->known++;
	} else if (is_known) {
		/* An unseen reset: wrong, but by no more than the bound. */
		uint64_t most_uj = wtl_energy_uj(m->spec.max_uw, m->now_ns - m->last_ns + S);

		assert_true(gained_uj <= most_uj + 1);
		m->sum_counts += wtl_unit_counts(m->spec.unit, gained_uj);
		m->lost++;
	} else {
		assert_int_equal(gained_uj, 0);
		m->lost += m->has_base;
	}
	m->base_counts = m->shown_counts;
	m->has_base = true;
	m->was_reset = false;
	m->last_ns = m->now_ns;
}

static void poll_bad(struct machine *m, struct wtl_counter *counter)
{
	assert_int_equal(
		wtl_counter_feed(counter, m->now_ns, m->spec.range + below(&m->seed, 1000000)),
		WTL_STEP_BAD);
	m->has_base = false;
	m->last_ns = m->now_ns;
}

static void live_one_step(struct machine *m, struct wtl_counter *counter)
{
	uint64_t chance = below(&m->seed, 100);

	pass(m, some_time_ns(&m->seed));
	if (chance < 3 && m->resets)
		reset_register(m);
	if (chance >= 3 && chance < 6) {
		wtl_counter_break(counter);
		m->has_base = false;
		if (below(&m->seed, 2)) /* it went on while the machine slept */
			m->true_counts = m->shown_counts += below(&m->seed, UINT64_C(1) << 40);
		else
			reset_register(m);
	}
	if (chance >= 6 && chance < 9 && m->spec.range && m->spec.range < UINT64_MAX / 2)
		poll_bad(m, counter);
	else
		poll_register(m, counter);
	assert_int_equal(counter->measured_ns + counter->gap_ns, m->last_ns - m->first_ns);
	assert_true(counter->measured_ns >= 0 && counter->gap_ns >= 0);
}

static void live(struct machine *m, unsigned steps)
{
	struct wtl_counter counter;

	wtl_counter_init(&counter, &m->spec);
	m->now_ns = m->first_ns = m->last_ns = m->shown_ns = (int64_t)below(&m->seed, 1u << 30);
	m->offset = below(&m->seed, m->spec.range ? m->spec.range : 1000);
	poll_register(m, &counter);
	for (unsigned i = 0; i < steps; i++)
		live_one_step(m, &counter);
	/* Undetected resets leave fractions of a µJ behind in the model, not in the counter. */
	if (!m->resets)
		assert_true((u128)wtl_counter_uj(&counter) ==
			    m->sum_counts * m->spec.unit.num / m->spec.unit.den);
}

static struct machine random_machine(uint64_t seed, bool resets)
{
	static const uint64_t ranges[] = {INTEL, AMD, DRAM, 0, UINT64_C(1) << 32, UINT64_MAX};
	const struct wtl_unit units[] = {
		WTL_UNIT_MICRO, WTL_UNIT_MILLI, PERF, {.num = 153, .den = 10}};
	struct machine m = {.seed = seed, .resets = resets};

	m.spec.range = ranges[below(&m.seed, UNIT_COUNT(ranges))];
	m.spec.unit = units[below(&m.seed, UNIT_COUNT(units))];
	m.spec.max_uw = (1 + below(&m.seed, 4000)) * W;
	m.most_uw = m.spec.max_uw;
	m.publish_ns = below(&m.seed, 2) ? (int64_t)below(&m.seed, (uint64_t)S) : 0;
	return m;
}

static void test_random_lives(void **state)
{
	uint64_t known = 0, lost = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct machine m = random_machine(seed, false);

		live(&m, 300);
		known += m.known;
		lost += m.lost;
	}
	/* The test is worth something only if both happened a lot. */
	assert_true(known > 40000 && lost > 1000);
}

static void test_random_lives_with_resets(void **state)
{
	uint64_t known = 0, lost = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct machine m = random_machine(seed << 32, true);

		live(&m, 300);
		known += m.known;
		lost += m.lost;
	}
	assert_true(known > 20000 && lost > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_range),
		cmocka_unit_test(test_no_range_bounded),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_real_ranges),
		cmocka_unit_test(test_range_of_one),
		cmocka_unit_test(test_ambiguity),
		cmocka_unit_test(test_resets),
		cmocka_unit_test(test_every_small_case),
		cmocka_unit_test(test_first_reading),
		cmocka_unit_test(test_wrap_is_never_negative),
		cmocka_unit_test(test_reset_is_a_gap),
		cmocka_unit_test(test_break),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_bad_first_value),
		cmocka_unit_test(test_time_back),
		cmocka_unit_test(test_same_time),
		cmocka_unit_test(test_no_rounding_loss),
		cmocka_unit_test(test_longer_than_the_counter),
		cmocka_unit_test(test_saturation),
		cmocka_unit_test(test_random_lives),
		cmocka_unit_test(test_random_lives_with_resets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
