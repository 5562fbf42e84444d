/* SPDX-License-Identifier: MIT */
/* Where a thread waits, when only some of the times that it left a processor were shown. */
#include "unit.h"

#include "profile/waits.h"

enum { NODES = 8 };
#define US INT64_C(1000)

static int64_t guessed_ns;

static void place(void *context, uint32_t node, int64_t wait_ns, bool is_guess)
{
	int64_t *at = context;

	at[node] += wait_ns;
	guessed_ns += is_guess ? wait_ns : 0;
}

/* While it runs, and waits no time to speak of. */
static void add(struct wtl_waits *waits, int64_t cpu_ns, int64_t wait_ns, int64_t at[])
{
	wtl_waits_add(waits, (struct wtl_waits_moment){cpu_ns, cpu_ns, 0}, wait_ns, place, at);
}

static void show(struct wtl_waits *waits, uint32_t node, int64_t cpu_ns, int64_t at[])
{
	wtl_waits_show(waits, node, (struct wtl_waits_moment){cpu_ns, cpu_ns, 0}, place, at);
}

static void test_shown(void **state)
{
	struct wtl_waits waits = {0};
	int64_t at[NODES] = {0};

	(void)state;
	guessed_ns = 0;
	show(&waits, 3, 500 * US, at);
	add(&waits, 502 * US, 7, at);
	assert_int_equal(at[3], 7);
	show(&waits, 0, 600 * US, at); /* its stack could not be told */
	add(&waits, 601 * US, 5, at);
	show(&waits, 0, 900 * US, at);
	assert_int_equal(at[0], 5);
	assert_int_equal(guessed_ns, 0);
}

/* A function ends, and another one begins: of what is between, each has what is nearer to it. */
static void test_nearest(void **state)
{
	struct wtl_waits waits = {0};
	int64_t at[NODES] = {0};

	(void)state;
	guessed_ns = 0;
	show(&waits, 1, 0, at);
	add(&waits, 300 * US, 10, at);
	add(&waits, 800 * US, 100, at);
	add(&waits, 900 * US, 1000, at);
	assert_int_equal(at[1], 0);
	show(&waits, 2, 1000 * US, at);
	assert_int_equal(at[1], 10);
	assert_int_equal(at[2], 1100);
	assert_int_equal(guessed_ns, 1110);
}

static void test_far(void **state)
{
	struct wtl_waits waits = {0};
	int64_t at[NODES] = {0};

	(void)state;
	add(&waits, 0, 1, at); /* from before anything was shown */
	show(&waits, 1, 50000 * US, at);
	assert_int_equal(at[0], 1);
	add(&waits, 70000 * US, 10, at); /* between the two */
	add(&waits, 99000 * US, 100, at);
	show(&waits, 2, 100000 * US, at);
	assert_int_equal(at[0], 11);
	assert_int_equal(at[2], 100);
	add(&waits, 101000 * US, 1000, at);
	add(&waits, 150000 * US, 10000, at);
	wtl_waits_end(&waits, place, at);
	assert_int_equal(at[2], 1100);
	assert_int_equal(at[0], 10011);
	assert_int_equal(at[1], 0);
}

/* It turned often, and was shown often; then it rests again and again, without being shown. */
static void test_rests_after_turns(void **state)
{
	struct wtl_waits waits = {0};
	int64_t at[NODES] = {0}, t_ns = 0;

	(void)state;
	show(&waits, 1, 0, at);
	for (int i = 1; i <= 200; i++)
		wtl_waits_add(&waits, (struct wtl_waits_moment){i * US, t_ns += 3000 * US, 0}, 10,
			      place, at);
	wtl_waits_end(&waits, place, at);
	assert_int_equal(at[0] + at[1], 2000);
	assert_in_range(at[1], 10, 600);
}

/* It runs for long between waits: those that begin at a place that was shown are there, whatever the time on a processor. */
static void test_the_same_place(void **state)
{
	struct wtl_waits waits = {0};
	int64_t at[NODES] = {0}, ms = 1000 * US;

	(void)state;
	wtl_waits_add(&waits, (struct wtl_waits_moment){0, 0, 7}, 1, place, at);
	wtl_waits_show(&waits, 1, (struct wtl_waits_moment){5 * ms, 10 * ms, 7}, place, at);
	assert_int_equal(at[1], 1);
	wtl_waits_add(&waits, (struct wtl_waits_moment){5 * ms, 10 * ms, 7}, 10, place, at);
	wtl_waits_show(&waits, 2, (struct wtl_waits_moment){10 * ms, 20 * ms, 8}, place, at);
	wtl_waits_add(&waits, (struct wtl_waits_moment){15 * ms, 30 * ms, 7}, 100, place, at);
	wtl_waits_add(&waits, (struct wtl_waits_moment){20 * ms, 40 * ms, 8}, 1000, place, at);
	assert_int_equal(at[1], 111);
	assert_int_equal(at[2], 1000);
	/* Another place; a place that is not known; and one that was shown too long ago. */
	wtl_waits_add(&waits, (struct wtl_waits_moment){25 * ms, 50 * ms, 9}, 1, place, at);
	wtl_waits_add(&waits, (struct wtl_waits_moment){25 * ms, 50 * ms, 0}, 1, place, at);
	wtl_waits_add(&waits, (struct wtl_waits_moment){30 * ms, 61 * ms, 7}, 1, place, at);
	wtl_waits_end(&waits, place, at);
	assert_int_equal(at[0], 3);
	assert_int_equal(at[1] + at[2], 1111);
	/* More places than are kept: the one that was shown first is forgotten. */
	for (uint32_t i = 1; i <= WTL_WAITS_MARKS + 1; i++)
		wtl_waits_show(&waits, i, (struct wtl_waits_moment){40 * ms, (70 + i) * ms, 70 + i},
			       place, at);
	wtl_waits_add(&waits, (struct wtl_waits_moment){45 * ms, 80 * ms, 71}, 1, place, at);
	wtl_waits_add(&waits, (struct wtl_waits_moment){45 * ms, 80 * ms, 72}, 1, place, at);
	wtl_waits_end(&waits, place, at);
	assert_int_equal(at[0], 4);
	assert_int_equal(at[2], 1001);
}

/* However many are open, each of their nanoseconds is placed once. */
static void test_many(void **state)
{
	struct wtl_waits waits = {0};
	int64_t at[NODES] = {0};

	(void)state;
	show(&waits, 1, 0, at);
	for (int i = 1; i <= 1000; i++)
		add(&waits, (200 + i) * US, 5, at);
	show(&waits, 2, 1400 * US, at);
	assert_int_equal(at[0], 0);
	assert_int_equal(at[1] + at[2], 5000);
	assert_in_range(at[1], 1500, 3500); /* without joining: 2500 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_far),
		cmocka_unit_test(test_rests_after_turns),
		cmocka_unit_test(test_the_same_place),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
