/* SPDX-License-Identifier: MIT */
/* The names of series, and which numbers of devices are which of GPUs. */
#include <stdlib.h>
#include <string.h>

#include "replay/device.h"
#include "replay/format.h"
#include "replay/series.h"
#include "unit.h"

enum { NAMES_MAX = WTL_SINGLES + WTL_OF_CHANNEL + WTL_OF_GPU };

struct names {
	char list[NAMES_MAX][WTL_STORE_NAME_SIZE];
	size_t n;
};

static void add(struct names *names, const char *name)
{
	assert_true(name[0] && strlen(name) < WTL_STORE_NAME_SIZE);
	for (size_t i = 0; i < names->n; i++)
		assert_string_not_equal(names->list[i], name);
	memcpy(names->list[names->n++], name, strlen(name) + 1);
}

static void test_names_are_different(void **state)
{
	struct names *names = calloc(1, sizeof(*names));
	char name[WTL_STORE_NAME_SIZE];

	(void)state;
	assert_non_null(names);
	for (enum wtl_single i = 0; i < WTL_SINGLES; i++) {
		assert_non_null(wtl_single_names[i]);
		add(names, wtl_single_names[i]);
	}
	for (enum wtl_of_channel i = 0; i < WTL_OF_CHANNEL; i++) {
		wtl_channel_series_name(3, i, name);
		assert_memory_equal(name, "ch.3.", 5);
		add(names, name);
	}
	for (enum wtl_of_gpu i = 0; i < WTL_OF_GPU; i++) {
		wtl_gpu_series_name(1023, i, name);
		assert_memory_equal(name, "gpu.1023.", 9);
		add(names, name);
	}
	assert_int_equal(names->n, NAMES_MAX);
	free(names);
}

/* As docs/recording.md has them. */
static void test_names_are_the_pages(void **state)
{
	char name[WTL_STORE_NAME_SIZE];

	(void)state;
	assert_string_equal(wtl_single_names[WTL_SINGLE_OP], "op");
	assert_string_equal(wtl_single_names[WTL_SINGLE_SAMPLE_ASLEEP], "sample.asleep");
	assert_string_equal(wtl_single_names[WTL_SINGLE_CHANGE_BY], "change.by");
	wtl_channel_series_name(0, WTL_CHANNEL_VALUE, name);
	assert_string_equal(name, "ch.0.value");
	wtl_gpu_series_name(12, WTL_GPU_SHARE, name);
	assert_string_equal(name, "gpu.12.share");
}

/* What counts stands right before what is counted: the player goes by that. */
static void test_counts_stand_before_what_they_count(void **state)
{
	static const struct {
		enum wtl_single count, counted;
	} pairs[] = {
		{WTL_SINGLE_SCAN_USES, WTL_SINGLE_USE_SLOT},
		{WTL_SINGLE_SCAN_FOLDS, WTL_SINGLE_FOLD_FROM},
		{WTL_SINGLE_CHANGES, WTL_SINGLE_CHANGE_SLOT},
		{WTL_SINGLE_DEVICES, WTL_SINGLE_DEVICE_GPU},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(pairs); i++)
		assert_int_equal(pairs[i].count + 1, pairs[i].counted);
}

/* The delta's come last: a recording in which nobody is followed has all before them. */
static void test_changes_are_last(void **state)
{
	(void)state;
	assert_int_equal(WTL_SINGLES - WTL_SINGLE_CHANGES, 4);
}

static void test_numbers_of_devices(void **state)
{
	bool is_used[WTL_GPU_NUMBERS] = {false};

	(void)state;
	for (enum wtl_device_number i = 0; i < WTL_DEVICE_NUMBERS; i++) {
		enum wtl_gpu_number number = wtl_device_quantities[i].of_gpu;

		if (i == WTL_DEVICE_THROTTLED) {
			assert_int_equal(number, WTL_GPU_NUMBERS);
			continue;
		}
		assert_in_range(number, 0, WTL_GPU_NUMBERS - 1);
		assert_false(is_used[number]);
		is_used[number] = true;
	}
	assert_true(is_used[WTL_GPU_TEMPERATURE_C] && is_used[WTL_GPU_FAN_PERCENT]);
	assert_int_equal(wtl_device_quantities[WTL_DEVICE_CLOCK_MHZ].of_gpu, WTL_GPU_CLOCK_SM_MHZ);
	assert_int_equal(wtl_device_quantities[WTL_DEVICE_LIMIT_UW].of_gpu, WTL_GPU_LIMIT_UW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_different),
		cmocka_unit_test(test_names_are_the_pages),
		cmocka_unit_test(test_counts_stand_before_what_they_count),
		cmocka_unit_test(test_changes_are_last),
		cmocka_unit_test(test_numbers_of_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
