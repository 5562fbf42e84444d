/* SPDX-License-Identifier: MIT */
#include "commands/plot/recording_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/plot/recording.h"
#include "energy/units.h"
#include "replay/wall.h"

#include "unit.h"

/* ---- Names ---- */

static size_t key(struct wtl_plot_keys *keys, const char *name)
{
	size_t found = (size_t)-1;

	assert_int_equal(wtl_plot_keys_find(keys, name, &found), 0);
	assert_true(found < keys->n);
	return found;
}

static void test_names(void **state)
{
	struct wtl_plot_keys keys = {.n = 0};
	char name[32], longer[300];

	(void)state;
	assert_int_equal(wtl_plot_keys_largest(&keys), 0);
	for (size_t i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "cc1 (%zu)", i);
		assert_int_equal(key(&keys, name), i);
	}
	for (size_t i = 5000; i > 0; i--) {
		snprintf(name, sizeof(name), "cc1 (%zu)", i - 1);
		assert_int_equal(key(&keys, name), i - 1);
		assert_string_equal(keys.list[i - 1].name, name);
	}
	assert_int_equal(key(&keys, ""), 5000);
	assert_int_equal(key(&keys, ""), 5000);
	/* What is cut is the same where that is. */
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(key(&keys, longer), 5001);
	longer[200] = 'y';
	assert_int_equal(key(&keys, longer), 5001);
	wtl_plot_keys_done(&keys);
	assert_int_equal(keys.n, 0);
}

/* Looks as they would be kept without any table. */
static void test_against_the_plain_way(void **state)
{
	enum { KEYS = 97, LOOKS = 500 };
	struct wtl_plot_keys keys = {.n = 0};
	double sums[KEYS] = {0};
	unsigned seed = 3;

	(void)state;
	for (size_t i = 0; i < KEYS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%zu", i * i);
		assert_int_equal(key(&keys, name), i);
	}
	for (unsigned scan = 0; scan < LOOKS; scan++) {
		double now[KEYS] = {0};
		size_t n_known = 0;

		wtl_plot_keys_begin(&keys);
		for (unsigned i = (unsigned)rand_r(&seed) % 200; i > 0; i--) {
			size_t which = (size_t)rand_r(&seed) % KEYS;
			double value = 1 + rand_r(&seed) % 9;

			now[which] += value;
			assert_int_equal(wtl_plot_keys_add(&keys, which, value), 0);
			/* Of this scan alone, too. */
			assert_true(keys.list[which].moved == now[which] - value);
			keys.list[which].moved += value;
		}
		for (size_t i = 0; i < KEYS; i++) {
			assert_true(keys.list[i].now == now[i]);
			n_known += now[i] > 0;
			sums[i] += now[i];
			keys.list[i].sum += keys.list[i].now;
		}
		assert_int_equal(keys.n_touched, n_known);
	}
	for (size_t rank = 0; rank < KEYS; rank++) {
		size_t best = wtl_plot_keys_largest(&keys);

		assert_true(best < KEYS);
		for (size_t i = 0; i < KEYS; i++)
			assert_true(keys.list[i].shown != WTL_PLOT_NOT_SHOWN ||
				    sums[i] <= sums[best]);
		keys.list[best].shown = (int)rank;
	}
	assert_int_equal(wtl_plot_keys_largest(&keys), keys.n);
	wtl_plot_keys_done(&keys);
}

/* ---- Times ---- */

#define S   WTL_NS_PER_S
#define UTC (INT64_C(1795248000) * S)

/* Set at 10 s and 20 s, where it begins at 0 and ends after so long; longest: the part that tells the times. */
static void check_clocks(int64_t end_ns, int64_t first_s, int64_t second_s, size_t longest,
			 bool was_set)
{
	struct wtl_wall_point points[] = {
		{.mono_ns = 0, .ahead_ns = UTC},
		/* Clocks are read one after the other. */
		{.mono_ns = 3 * S, .ahead_ns = UTC + 12345},
		{.mono_ns = 10 * S, .ahead_ns = UTC + first_s * S},
		{.mono_ns = 20 * S, .ahead_ns = UTC + (first_s + second_s) * S - 99},
	};
	const struct wtl_wall wall = {.points = points, .n = UNIT_COUNT(points)};
	struct wtl_plot_times times = {.end_mono_ns = end_ns};

	wtl_plot_times_find(&times, &wall);
	assert_true(times.was_set == was_set);
	assert_int_equal(times.ahead_ns, points[longest].ahead_ns);
	for (int64_t t = 0; t < end_ns; t += S / 4) {
		int64_t now = wtl_plot_times_utc(&times, t),
			said = wtl_plot_times_said(&times, now);

		/* It rises evenly, and says what the clock said while that was the one that held for longest. */
		assert_int_equal(now, t + times.ahead_ns);
		assert_true(said - wtl_wall_utc(&wall, t) <= S &&
			    wtl_wall_utc(&wall, t) - said <= S);
		if (t >= times.longest_from_ns && t < times.longest_to_ns)
			assert_int_equal(said, now);
		else
			assert_true(said - now > S || now - said > S);
	}
}

static void test_clock_that_was_set(void **state)
{
	(void)state;
	check_clocks(21 * S, 7200, -3600, 0, true);
	check_clocks(40 * S, 7200, -3600, 3, true);
	check_clocks(40 * S, -7200, -3600, 3, true);
	check_clocks(22 * S, -86400, 0, 2, true);
	/* The same length twice: the first one's. */
	check_clocks(20 * S + 1, 5, 5, 0, true);
	/* Slewed, and not set. */
	check_clocks(40 * S, 1, 0, 0, false);
}

static void test_gaps(void **state)
{
	const struct wtl_wall wall = {.n = 0};
	struct wtl_plot_sheet sheet;
	struct wtl_plot_replay replay = {
		.sheet = &sheet,
		.times = {.wall = &wall, .end_mono_ns = 100 * S, .ahead_ns = UTC - 100 * S},
		.from_utc_ns = UTC - 100 * S,
		.to_utc_ns = UTC,
	};
	struct wtl_plot_panel panel = {.n_gaps = 0};
	const struct wtl_plot_gap *gaps;

	(void)state;
	wtl_plot_sheet_init(&sheet);
	/* Out of order, within one another, before the picture, and twice. */
	assert_int_equal(wtl_plot_times_lose(&replay.times, 50 * S, 60 * S), 0);
	assert_int_equal(wtl_plot_times_lose(&replay.times, 20 * S, 30 * S), 0);
	assert_int_equal(wtl_plot_times_lose(&replay.times, 20 * S, 30 * S), 0);
	assert_int_equal(wtl_plot_times_lose(&replay.times, 55 * S, 70 * S), 0);
	assert_int_equal(wtl_plot_times_lose(&replay.times, 52 * S, 53 * S), 0);
	assert_int_equal(wtl_plot_times_lose(&replay.times, -60 * S, -50 * S), 0);
	assert_int_equal(wtl_plot_times_lose(&replay.times, 80 * S, 80 * S), 0);
	assert_int_equal(replay.times.n, 5);
	wtl_plot_recorded_gaps(&replay, &panel);
	gaps = panel.gaps;
	assert_int_equal(panel.n_gaps, 3);
	assert_int_equal(gaps[0].from, UTC - 80 * S);
	assert_int_equal(gaps[0].to, UTC - 70 * S);
	assert_string_equal(gaps[0].name, "lost");
	assert_int_equal(gaps[1].to, UTC - 40 * S);
	assert_int_equal(gaps[2].from, UTC - 40 * S);
	assert_int_equal(gaps[2].to, UTC - 30 * S);
	wtl_plot_times_done(&replay.times);
	wtl_plot_sheet_done(&sheet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_against_the_plain_way),
		cmocka_unit_test(test_clock_that_was_set),
		cmocka_unit_test(test_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
