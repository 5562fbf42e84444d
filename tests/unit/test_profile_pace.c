/* SPDX-License-Identifier: MIT */
/* When the next sample is due, of threads that go on, and of those that do not. */
#include "unit.h"

#include "profile/pace.h"

#define US     INT64_C(1000)
#define PERIOD (1000 * US)

/* So many samples of a thread on that processor, between which the reader runs for so long. The last one's time. */
static int64_t go_on(struct wtl_pace *pace, int cpu, int n, int64_t t_ns, int64_t reader_ns)
{
	for (int i = 0; i < n; i++) {
		wtl_pace_take(pace, cpu, t_ns);
		assert_int_equal(wtl_pace_sleep(pace, t_ns + reader_ns, reader_ns), PERIOD);
		t_ns += PERIOD + reader_ns;
	}
	return t_ns - PERIOD - reader_ns;
}

static void test_goes_on(void **state)
{
	struct wtl_pace pace;
	int64_t t_ns;

	(void)state;
	wtl_pace_init(&pace, 1000);
	t_ns = go_on(&pace, 1, 31, PERIOD, 15 * US);
	assert_false(pace.is_steady);
	t_ns = go_on(&pace, 1, 1, t_ns + PERIOD + 15 * US, 150 * US);
	assert_true(pace.is_steady);
	assert_int_equal(pace.cpu, 1);
	/* Samples that were not looked at by one: each is due a period after the one before. */
	for (int i = 0; i < 40; i++)
		wtl_pace_take(&pace, 1, t_ns += PERIOD + 150 * US);
	assert_true(pace.is_steady);
}

/* The reader looks a few times in vain, and then the kernel is to wake it. */
static void test_rests(void **state)
{
	struct wtl_pace pace;
	int64_t t_ns;
	int n = 0;

	(void)state;
	wtl_pace_init(&pace, 1000);
	t_ns = go_on(&pace, 0, 64, PERIOD, 15 * US);
	wtl_pace_lack(&pace, t_ns + 20 * US); /* it was woken too early, by something else */
	assert_int_equal(wtl_pace_sleep(&pace, t_ns + 30 * US, 10 * US), PERIOD - 5 * US);
	for (t_ns += PERIOD + 25 * US; pace.is_steady; n++) {
		wtl_pace_lack(&pace, t_ns);
		assert_int_equal(wtl_pace_sleep(&pace, t_ns, 0), PERIOD);
		t_ns += PERIOD;
	}
	assert_in_range(n, 1, 8);
	go_on(&pace, 0, 31, t_ns + 77 * US, 15 * US);
	assert_true(pace.is_steady);
}

/* Threads on two processors, whose samples come in turn, and one thread that leaves its processor all the time. */
static void test_irregular(void **state)
{
	struct wtl_pace pace;

	(void)state;
	wtl_pace_init(&pace, 1000);
	for (int i = 0; i < 100; i++)
		wtl_pace_take(&pace, i % 2, i * PERIOD);
	assert_false(pace.is_steady);
	for (int i = 0; i < 100; i++)
		wtl_pace_take(&pace, 0, 200 * PERIOD + i * (PERIOD + 400 * US));
	assert_false(pace.is_steady);
	go_on(&pace, 0, 40, 400 * PERIOD, 15 * US);
	assert_true(pace.is_steady);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_rests),
		cmocka_unit_test(test_irregular),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
