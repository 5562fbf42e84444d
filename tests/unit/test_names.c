/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <limits.h>
#include <string.h>

#include <wattle.h>

static const char *kind(int value)
{
	return wattle_kind_name((enum wattle_kind)value);
}

static const char *method(int value)
{
	return wattle_method_name((enum wattle_method)value);
}

static const char *status(int value)
{
	return wattle_status_name((enum wattle_status)value);
}

/* n stable words: lower-case letters and inner dashes, no two alike; then NULL. */
static void check_words(const char *(*name)(int), int n)
{
	static const int outside[] = {-1, INT_MIN, INT_MAX, 1000};

	for (int i = 0; i < n; i++) {
		const char *word = name(i);

		assert_non_null(word);
		assert_true(strlen(word) > 1);
		assert_int_equal(strspn(word, "abcdefghijklmnopqrstuvwxyz-"), strlen(word));
		assert_true(word[0] != '-' && word[strlen(word) - 1] != '-');
		for (int k = 0; k < i; k++)
			assert_string_not_equal(word, name(k));
	}
	assert_null(name(n));
	for (size_t i = 0; i < UNIT_COUNT(outside); i++)
		assert_null(name(outside[i]));
}

static void test_kinds(void **state)
{
	(void)state;
	check_words(kind, WATTLE_KINDS);
	assert_string_equal(wattle_kind_name(WATTLE_KIND_CPU), "cpu");
	assert_string_equal(wattle_kind_name(WATTLE_KIND_GPU_MEMORY), "gpu-memory");
	assert_string_equal(wattle_kind_name(WATTLE_KIND_BOARD), "board");
}

static void test_methods(void **state)
{
	(void)state;
	check_words(method, WATTLE_METHOD_MIXED + 1);
	assert_string_equal(wattle_method_name(WATTLE_METHOD_NONE), "none");
	assert_string_equal(wattle_method_name(WATTLE_METHOD_COUNTER), "counter");
	assert_string_equal(wattle_method_name(WATTLE_METHOD_MODELLED), "modelled");
}

static void test_statuses(void **state)
{
	(void)state;
	check_words(status, WATTLE_STATUS_ABSENT + 1);
	assert_string_equal(wattle_status_name(WATTLE_STATUS_OK), "ok");
	assert_string_equal(wattle_status_name(WATTLE_STATUS_DENIED), "denied");
	assert_string_equal(wattle_status_name(WATTLE_STATUS_ABSENT), "absent");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_methods),
		cmocka_unit_test(test_statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
