/* SPDX-License-Identifier: MIT */
/* What the clock on the wall showed: it is set forward, the machine sleeps, and it is set back. */
#include <stdint.h>

#include "record/store.h"
#include "replay/wall.h"
#include "replay_bench.h"
#include "unit.h"

static struct wtl_wall_point points[] = {
	{.mono_ns = 100, .ahead_ns = 1000},
	{.mono_ns = 200, .ahead_ns = 1500},
	{.mono_ns = 300, .ahead_ns = 1540, .slept_ns = 40},
	{.mono_ns = 400, .ahead_ns = 1240, .slept_ns = 40},
};
static const struct wtl_wall wall = {.points = points, .n = UNIT_COUNT(points)}, none = {.n = 0};

static void test_times(void **state)
{
	static const struct {
		int64_t mono_ns, utc_ns, slept_ns;
	} at[] = {
		{50, 1050, 0},	 {100, 1100, 0},  {199, 1199, 0},  {200, 1700, 0},  {298, 1798, 0},
		{300, 1840, 40}, {301, 1841, 40}, {399, 1939, 40}, {400, 1640, 40}, {999, 2239, 40},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(at); i++) {
		assert_int_equal(wtl_wall_utc(&wall, at[i].mono_ns), at[i].utc_ns);
		assert_int_equal(wtl_wall_slept(&wall, at[i].mono_ns), at[i].slept_ns);
		assert_int_equal(wtl_wall_utc_awake(&wall, at[i].mono_ns + at[i].slept_ns),
				 at[i].utc_ns);
	}
	/* The first moment after a sleep tells of it; and while it slept. */
	assert_int_equal(wtl_wall_slept(&wall, 299), 40);
	assert_int_equal(wtl_wall_utc_awake(&wall, 339), 339 + 1500);
	assert_int_equal(wtl_wall_utc(&none, 77), 77);
	assert_int_equal(wtl_wall_utc_awake(&none, 77), 77);
	assert_int_equal(wtl_wall_slept(&none, 77), 0);
}

static void test_moments(void **state)
{
	static const struct {
		int64_t utc_ns, mono_ns; /* < 0: it was never that early */
	} at[] = {
		{1099, -1},  {1100, 100}, {1199, 199}, {1200, 200}, {1201, 200},
		{1699, 200}, {1700, 200}, {1701, 201}, {1800, 300}, {1801, 300},
		{1840, 300}, {1841, 301}, {1940, 400}, {1941, 701}, {2239, 999},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(at); i++) {
		int64_t mono_ns = -1;

		assert_int_equal(wtl_wall_find(&wall, at[i].utc_ns, &mono_ns), at[i].mono_ns >= 0);
		assert_int_equal(mono_ns, at[i].mono_ns);
		assert_false(wtl_wall_find(&none, at[i].utc_ns, &mono_ns));
	}
}

/* The sample that begins a gap is the first moment after the sleep. */
static int check_sleep(void *context, const struct wtl_stored_gap *gap)
{
	const struct wtl_wall *read = context;

	if (gap->kind != WTL_GAP_SUSPEND)
		return 0;
	assert_int_equal(wtl_wall_slept(read, gap->begin_mono_ns - 1), 0);
	assert_int_equal(wtl_wall_slept(read, gap->begin_mono_ns), gap->duration_ns);
	return 0;
}

/* As a recording has it. Moments that were met are found. */
static void check_recorded(int sleeps, int is_set, int is_set_back)
{
	enum { BILLS = 14 };
	int64_t mono_ns[BILLS], utc_ns[BILLS], found_ns;
	struct wtl_store_reader *reader;
	struct wtl_wall read;
	struct replay_bench f;

	replay_bench_start(&f, 4 * S);
	replay_bench_begin(&f);
	for (int i = 0; i < BILLS; i++) {
		if (i == sleeps)
			f.bench.asleep_ns += 100 * S;
		f.bench.utc_ns += i == sleeps	     ? 100 * S
				  : i == is_set	     ? 5 * S
				  : i == is_set_back ? -3600 * S
						     : 0;
		replay_bench_live_for(&f, 1);
		mono_ns[i] = f.bench.now_ns;
		utc_ns[i] = f.bench.now_ns + f.bench.utc_ns;
	}
	replay_bench_end(&f);
	replay_bench_stop(&f);
	assert_int_equal(wtl_store_open(f.path, &reader, NULL), 0);
	assert_int_equal(wtl_wall_read(&read, reader), 0);
	assert_int_equal(wtl_store_each_gap(reader, check_sleep, &read), 0);
	assert_false(wtl_wall_find(&read, utc_ns[0] - 3600 * S, &found_ns));
	for (int i = 0; i < BILLS; i++) {
		int64_t slept_ns = sleeps < 0 || i < sleeps ? 0 : 100 * S;

		assert_in_range(wtl_wall_utc(&read, mono_ns[i]) - utc_ns[i] + MS, 0, 2 * MS);
		assert_int_equal(wtl_wall_slept(&read, mono_ns[i]), slept_ns);
		assert_int_equal(wtl_wall_utc_awake(&read, mono_ns[i] + slept_ns),
				 wtl_wall_utc(&read, mono_ns[i]));
		assert_true(wtl_wall_find(&read, utc_ns[i], &found_ns));
		assert_in_range(found_ns - mono_ns[i] + MS, 0, 2 * MS);
	}
	wtl_wall_done(&read);
	wtl_store_close(reader);
	replay_bench_finish(&f);
}

static void test_recorded(void **state)
{
	(void)state;
	check_recorded(3, 6, 10);
	check_recorded(10, 3, 6);
	check_recorded(7, -1, -1);
	check_recorded(-1, 3, 6);
	/* Within a period, between two of them, in the last one. */
	for (int i = 3; i < 14; i++)
		check_recorded(-1, i, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
