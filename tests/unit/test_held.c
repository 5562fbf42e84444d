/* SPDX-License-Identifier: MIT */
#include "sensors/source.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "source_bench.h"

#define VALUE "/sys/value"

static void read_again_and_again(void **state)
{
	struct bench bench;
	struct wtl_held_file held;
	uint64_t value = 0;
	unsigned opens;

	(void)state;
	bench_copy(&bench, "");
	bench_write(&bench, VALUE, "17\n");
	assert_int_equal(wtl_held_file_open(&held, &bench.io, VALUE), 0);
	opens = bench.opens;
	assert_int_equal(wtl_held_file_u64(&held, &value), 0);
	assert_int_equal(value, 17);
	bench_write(&bench, VALUE, "  18446744073709551615 \n");
	assert_int_equal(wtl_held_file_u64(&held, &value), 0);
	assert_int_equal(value, UINT64_MAX);
	bench_write(&bench, VALUE, "0");
	assert_int_equal(wtl_held_file_u64(&held, &value), 0);
	assert_int_equal(value, 0);
	/* All through one descriptor. */
	assert_int_equal(bench.opens, opens);
	wtl_held_file_close(&held);
	bench_done(&bench);
}

static void signed_numbers(void **state)
{
	struct bench bench;
	struct wtl_held_file held;
	int64_t value = 0;

	(void)state;
	bench_copy(&bench, "");
	bench_write(&bench, VALUE, "-7421000\n");
	assert_int_equal(wtl_held_file_open(&held, &bench.io, VALUE), 0);
	assert_int_equal(wtl_held_file_i64(&held, &value), 0);
	assert_int_equal(value, -7421000);
	bench_write(&bench, VALUE, "9223372036854775808");
	assert_int_equal(wtl_held_file_i64(&held, &value), -ERANGE);
	assert_int_equal(value, -7421000);
	wtl_held_file_close(&held);
	bench_done(&bench);
}

static void what_is_no_number_fails(void **state)
{
	static const struct {
		const char *content;
		int error;
	} cases[] = {
		{"", -EINVAL},
		{"\n", -EINVAL},
		{"-5\n", -EINVAL},
		{"1e9\n", -EINVAL},
		{"12 34\n", -EINVAL},
		{"0x10\n", -EINVAL},
		{"rubbish\n", -EINVAL},
		{"18446744073709551616\n", -ERANGE},
		{"9999999999999999999999999999999999999999\n", -ERANGE},
		{"1                                                                         ",
		 -EFBIG},
	};
	struct bench bench;

	(void)state;
	bench_copy(&bench, "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wtl_held_file held;
		struct wtl_reading reading;
		uint64_t value = 4711;
		int64_t t_ns = BENCH_START_NS;

		bench_write(&bench, VALUE, cases[i].content);
		assert_int_equal(wtl_held_file_open(&held, &bench.io, VALUE), 0);
		assert_int_equal(wtl_held_file_u64(&held, &value), cases[i].error);
		assert_int_equal(value, 4711);
		wtl_held_file_reading(&held, &t_ns, &reading);
		assert_int_equal(reading.status, WATTLE_STATUS_FAILED);
		assert_int_equal(reading.error, cases[i].error);
		wtl_held_file_close(&held);
	}
	bench_done(&bench);
}

/* Sensors refuse now and then (EAGAIN, EBUSY): that costs one reading, not a second of them. */
static void the_first_failure_is_retried_at_once(void **state)
{
	struct bench bench;
	struct wtl_held_file held;
	uint64_t value = 0;

	(void)state;
	bench_copy(&bench, "");
	bench_write(&bench, VALUE, "1");
	assert_int_equal(wtl_held_file_open(&held, &bench.io, VALUE), 0);
	/* Each success makes the next failure a first one. */
	for (int i = 0; i < 3; i++) {
		bench_write(&bench, VALUE, "!errno EAGAIN\n");
		assert_int_equal(wtl_held_file_u64(&held, &value), -EAGAIN);
		bench_write(&bench, VALUE, "2");
		value = 0;
		assert_int_equal(wtl_held_file_u64(&held, &value), 0);
		assert_int_equal(value, 2);
	}
	/* So does rubbish. */
	bench_write(&bench, VALUE, "rubbish\n");
	assert_int_equal(wtl_held_file_u64(&held, &value), -EINVAL);
	bench_write(&bench, VALUE, "3");
	assert_int_equal(wtl_held_file_u64(&held, &value), 0);
	assert_int_equal(value, 3);
	wtl_held_file_close(&held);
	bench_done(&bench);
}

static void further_failures_are_retried_once_a_second(void **state)
{
	struct bench bench;
	struct wtl_held_file held;
	uint64_t value = 0;
	unsigned opens, reads;

	(void)state;
	bench_copy(&bench, "");
	bench_write(&bench, VALUE, "1");
	assert_int_equal(wtl_held_file_open(&held, &bench.io, VALUE), 0);
	bench_write(&bench, VALUE, "!errno EIO\n");
	assert_int_equal(wtl_held_file_u64(&held, &value), -EIO);
	assert_int_equal(bench.open_now, 0);
	assert_int_equal(wtl_held_file_u64(&held, &value), -EIO);
	assert_int_equal(bench.open_now, 0);

	/* It is well again, but not asked yet. */
	bench_write(&bench, VALUE, "2");
	opens = bench.opens;
	reads = bench.reads;
	bench.now_ns += WTL_REPROBE_NS - 1;
	assert_int_equal(wtl_held_file_u64(&held, &value), -EIO);
	assert_int_equal(bench.opens, opens);
	assert_int_equal(bench.reads, reads);
	bench.now_ns += 1;
	assert_int_equal(wtl_held_file_u64(&held, &value), 0);
	assert_int_equal(value, 2);
	assert_int_equal(bench.opens, opens + 1);

	/* A failed attempt starts the second anew, with its own error. */
	bench_write(&bench, VALUE, "!errno EIO\n");
	assert_int_equal(wtl_held_file_u64(&held, &value), -EIO);
	bench_remove(&bench, VALUE);
	assert_int_equal(wtl_held_file_u64(&held, &value), -ENOENT);
	bench.now_ns += WTL_REPROBE_NS;
	assert_int_equal(wtl_held_file_u64(&held, &value), -ENOENT);
	bench_write(&bench, VALUE, "3");
	bench.now_ns += WTL_REPROBE_NS - 1;
	assert_int_equal(wtl_held_file_u64(&held, &value), -ENOENT);
	bench.now_ns += 1;
	assert_int_equal(wtl_held_file_u64(&held, &value), 0);
	assert_int_equal(value, 3);
	wtl_held_file_close(&held);
	bench_done(&bench);
}

static void good_for_reading_though_not_opened(void **state)
{
	struct bench bench;
	struct wtl_held_file held;
	uint64_t value = 0;
	int64_t number = 0;

	(void)state;
	bench_copy(&bench, "");
	assert_int_equal(wtl_held_file_open(&held, &bench.io, VALUE), -ENOENT);
	assert_int_equal(wtl_held_file_u64(&held, &value), -ENOENT);
	assert_int_equal(wtl_held_file_i64(&held, &number), -ENOENT);
	bench_write(&bench, VALUE, "5");
	bench.now_ns += WTL_REPROBE_NS;
	assert_int_equal(wtl_held_file_u64(&held, &value), 0);
	assert_int_equal(value, 5);
	wtl_held_file_close(&held);
	bench_done(&bench);
}

/* What a machine lacks, it does not get while it is watched: that costs nothing. */
static void not_looked_for_again(void **state)
{
	struct bench bench;
	struct wtl_held_file held;
	uint64_t value = 0;
	unsigned opens;

	(void)state;
	bench_copy(&bench, "");
	wtl_held_file_if_there(&held, &bench.io, VALUE);
	opens = bench.opens;
	bench_write(&bench, VALUE, "5");
	for (int i = 0; i < 3; i++) {
		bench.now_ns += 2 * WTL_REPROBE_NS;
		assert_int_equal(wtl_held_file_u64(&held, &value), -EBADF);
	}
	assert_int_equal(bench.opens, opens);
	wtl_held_file_close(&held);

	/* One that was there is, as any other. */
	wtl_held_file_if_there(&held, &bench.io, VALUE);
	assert_int_equal(wtl_held_file_u64(&held, &value), 0);
	assert_int_equal(value, 5);
	bench_write(&bench, VALUE, "!errno EIO\n");
	assert_int_equal(wtl_held_file_u64(&held, &value), -EIO);
	bench_write(&bench, VALUE, "6");
	assert_int_equal(wtl_held_file_u64(&held, &value), 0);
	assert_int_equal(value, 6);
	wtl_held_file_close(&held);
	bench_done(&bench);
}

static void a_path_is_never_cut(void **state)
{
	struct bench bench;
	struct wtl_held_file held;
	char path[sizeof(held.path) + 1];
	uint64_t value = 0;

	(void)state;
	bench_copy(&bench, "");
	memset(path, 'x', sizeof(path));
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(wtl_held_file_open(&held, &bench.io, path), -ENAMETOOLONG);
	bench.now_ns += 2 * WTL_REPROBE_NS;
	assert_int_equal(wtl_held_file_u64(&held, &value), -ENAMETOOLONG);
	assert_int_equal(bench.opens, 0);
	wtl_held_file_close(&held);
	/* The longest that fits. */
	path[sizeof(held.path) - 1] = '\0';
	bench_write(&bench, path, "6");
	assert_int_equal(wtl_held_file_open(&held, &bench.io, path), 0);
	assert_int_equal(wtl_held_file_u64(&held, &value), 0);
	assert_int_equal(value, 6);
	wtl_held_file_close(&held);
	bench_done(&bench);
}

static void close_forgives(void **state)
{
	struct wtl_held_file zeroed = {0};
	struct bench bench;
	struct wtl_held_file held;
	uint64_t value;

	(void)state;
	wtl_held_file_close(&zeroed);
	wtl_held_file_close(NULL);
	bench_copy(&bench, "");
	bench_write(&bench, VALUE, "1");
	assert_int_equal(wtl_held_file_open(&held, &bench.io, VALUE), 0);
	wtl_held_file_close(&held);
	wtl_held_file_close(&held);
	assert_int_equal(bench.closes, 1);
	assert_int_equal(wtl_held_file_u64(&held, &value), -EBADF);
	bench_done(&bench);
}

static void errors_have_a_status(void **state)
{
	(void)state;
	assert_int_equal(wtl_status_from_error(0), WATTLE_STATUS_OK);
	assert_int_equal(wtl_status_from_error(-EACCES), WATTLE_STATUS_DENIED);
	assert_int_equal(wtl_status_from_error(-EPERM), WATTLE_STATUS_DENIED);
	assert_int_equal(wtl_status_from_error(-ENOENT), WATTLE_STATUS_GONE);
	assert_int_equal(wtl_status_from_error(-ENODEV), WATTLE_STATUS_GONE);
	assert_int_equal(wtl_status_from_error(-ENXIO), WATTLE_STATUS_GONE);
	assert_int_equal(wtl_status_from_error(-EIO), WATTLE_STATUS_FAILED);
	assert_int_equal(wtl_status_from_error(-ENODATA), WATTLE_STATUS_FAILED);
	assert_int_equal(wtl_status_from_error(-WTL_EFORMAT), WATTLE_STATUS_FAILED);
}

static void a_reading_covers_its_read(void **state)
{
	struct wtl_reading reading;

	(void)state;
	wtl_reading_set(&reading, 1000, 1400, 0, 42);
	assert_int_equal(reading.t_mono_ns, 1200);
	assert_int_equal(reading.half_ns, 200);
	assert_int_equal(reading.value, 42);
	assert_int_equal(reading.status, WATTLE_STATUS_OK);
	assert_int_equal(reading.error, 0);

	/* Odd: both ends stay within. */
	wtl_reading_set(&reading, 1000, 1401, 0, 42);
	assert_true(reading.t_mono_ns - reading.half_ns <= 1000);
	assert_true(reading.t_mono_ns + reading.half_ns >= 1401);

	/* A clock that steps back (a cut tape) makes no negative duration. */
	wtl_reading_set(&reading, 1000, 900, 0, 42);
	assert_int_equal(reading.t_mono_ns, 1000);
	assert_int_equal(reading.half_ns, 0);

	/* A failure is never a number. */
	wtl_reading_set(&reading, 1000, 1400, -EIO, 42);
	assert_int_equal(reading.value, 0);
	assert_int_equal(reading.status, WATTLE_STATUS_FAILED);
	assert_int_equal(reading.error, -EIO);
}

static void readings_share_their_clock(void **state)
{
	struct bench bench;
	struct wtl_held_file held;
	struct wtl_reading first, second;
	int64_t t_ns;

	(void)state;
	bench_copy(&bench, "");
	bench_write(&bench, VALUE, "9");
	assert_int_equal(wtl_held_file_open(&held, &bench.io, VALUE), 0);
	bench.step_ns = 600;
	t_ns = wtl_io_mono_ns(&bench.io);
	wtl_held_file_reading(&held, &t_ns, &first);
	wtl_held_file_reading(&held, &t_ns, &second);
	assert_int_equal(first.t_mono_ns, BENCH_START_NS + 300);
	assert_int_equal(first.half_ns, 300);
	assert_int_equal(second.t_mono_ns, BENCH_START_NS + 900);
	assert_int_equal(second.half_ns, 300);
	assert_int_equal(second.value, 9);
	assert_int_equal(t_ns, BENCH_START_NS + 1200);
	wtl_held_file_close(&held);
	bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_again_and_again),
		cmocka_unit_test(signed_numbers),
		cmocka_unit_test(what_is_no_number_fails),
		cmocka_unit_test(the_first_failure_is_retried_at_once),
		cmocka_unit_test(further_failures_are_retried_once_a_second),
		cmocka_unit_test(good_for_reading_though_not_opened),
		cmocka_unit_test(not_looked_for_again),
		cmocka_unit_test(a_path_is_never_cut),
		cmocka_unit_test(close_forgives),
		cmocka_unit_test(errors_have_a_status),
		cmocka_unit_test(a_reading_covers_its_read),
		cmocka_unit_test(readings_share_their_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
