/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "unit.h"

static void test_grows(void **state)
{
	int *numbers = NULL;
	size_t room = 0, moves = 0;

	(void)state;
	for (size_t i = 0; i < 100000; i++) {
		size_t before = room;

		assert_return_code(wtl_array_reserve(&numbers, &room, i + 1, sizeof(*numbers)), 0);
		assert_true(room > i);
		assert_true(room <= i + 1 + (i + 1) / 8);
		moves += room != before;
		numbers[i] = (int)i;
	}
	/* Not one move an element, but one an eighth. */
	assert_in_range(moves, 50, 150);
	for (size_t i = 0; i < 100000; i++)
		assert_int_equal(numbers[i], i);
	free(numbers);
}

static void test_enough(void **state)
{
	char *bytes = NULL, *before;
	size_t room = 0;

	(void)state;
	assert_return_code(wtl_array_reserve(&bytes, &room, 0, 1), 0);
	assert_null(bytes);
	assert_return_code(wtl_array_reserve(&bytes, &room, 80, 1), 0);
	assert_int_equal(room, 90);
	before = bytes;
	assert_return_code(wtl_array_reserve(&bytes, &room, 90, 1), 0);
	assert_ptr_equal(bytes, before);
	assert_int_equal(room, 90);
	free(bytes);
}

/* What there is stays as it is. */
static void test_too_much(void **state)
{
	uint64_t *numbers = NULL;
	size_t room = 0;

	(void)state;
	assert_return_code(wtl_array_reserve(&numbers, &room, 1, sizeof(*numbers)), 0);
	numbers[0] = 7;
	assert_int_equal(wtl_array_reserve(&numbers, &room, SIZE_MAX, sizeof(*numbers)), -ENOMEM);
	assert_int_equal(wtl_array_reserve(&numbers, &room, SIZE_MAX / 8, sizeof(*numbers)),
			 -ENOMEM);
	assert_int_equal(room, 1);
	assert_int_equal(numbers[0], 7);
	free(numbers);
}

static void test_widen(void **state)
{
	uint64_t *numbers = NULL;
	size_t n = 0;

	(void)state;
	assert_return_code(wtl_array_widen(&numbers, &n, 3, sizeof(*numbers)), 0);
	numbers[0] = numbers[1] = numbers[2] = UINT64_MAX;
	assert_return_code(wtl_array_widen(&numbers, &n, 2, sizeof(*numbers)), 0);
	assert_int_equal(n, 3);
	assert_return_code(wtl_array_widen(&numbers, &n, 1000, sizeof(*numbers)), 0);
	assert_int_equal(n, 1000);
	for (size_t i = 0; i < n; i++)
		assert_true(numbers[i] == (i < 3 ? UINT64_MAX : 0));
	assert_int_equal(wtl_array_widen(&numbers, &n, SIZE_MAX, sizeof(*numbers)), -ENOMEM);
	assert_int_equal(n, 1000);
	free(numbers);
}

/* Times before 0 come before others; addresses of the upper half come last. */
static void test_up_to(void **state)
{
	static const struct {
		char name;
		int64_t t_ns;
	} times[] = {{'a', -5}, {'b', 0}, {'c', 0}, {'d', 7}};
	static const struct {
		uint64_t address;
	} places[] = {{1}, {INT64_MAX}, {UINT64_MAX - 1}};

	(void)state;
	assert_int_equal(WTL_TIMES_UP_TO(times, 4, t_ns, -6), 0);
	assert_int_equal(WTL_TIMES_UP_TO(times, 4, t_ns, -5), 1);
	assert_int_equal(WTL_TIMES_UP_TO(times, 4, t_ns, 0), 3);
	assert_int_equal(WTL_TIMES_UP_TO(times, 4, t_ns, INT64_MAX), 4);
	assert_int_equal(WTL_TIMES_UP_TO(times, 0, t_ns, INT64_MAX), 0);
	assert_int_equal(WTL_ADDRESSES_UP_TO(places, 3, address, 0), 0);
	assert_int_equal(WTL_ADDRESSES_UP_TO(places, 3, address, (uint64_t)INT64_MAX + 1), 2);
	assert_int_equal(WTL_ADDRESSES_UP_TO(places, 3, address, UINT64_MAX), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),	 cmocka_unit_test(test_enough),
		cmocka_unit_test(test_too_much), cmocka_unit_test(test_widen),
		cmocka_unit_test(test_up_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
