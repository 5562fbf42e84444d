/* SPDX-License-Identifier: MIT */
/* What a note says of limits: what drivers make of them, not what was asked for. */
#include <errno.h>
#include <string.h>

#include "unit.h"

#include "cli/command.h"
#include "commands/limit/limit.h"

static struct wtl_app app;
static struct wtl_limit_settings settings;
static struct wtl_limit_hold hold;

static void set(struct wtl_gpu *gpu, enum wtl_gpu_number number, uint64_t value)
{
	gpu->numbers[number] = (struct wtl_gpu_value){.status = WATTLE_STATUS_OK, .value = value};
}

static struct wtl_gpu gpu_of(const char *vendor, uint64_t limit_uw)
{
	struct wtl_gpu gpu = {.status = WATTLE_STATUS_OK};

	for (int i = 0; i < WTL_GPU_NUMBERS; i++)
		gpu.numbers[i].status = WATTLE_STATUS_ABSENT;
	strcpy(gpu.vendor, vendor);
	strcpy(gpu.bus_id, "0000:17:00.0");
	set(&gpu, WTL_GPU_LIMIT_UW, limit_uw);
	set(&gpu, WTL_GPU_LIMIT_MIN_UW, 100000000);
	set(&gpu, WTL_GPU_LIMIT_MAX_UW, 315000000);
	return gpu;
}

static void ask(uint64_t power_uw)
{
	memset(&app, 0, sizeof(app));
	memset(&hold, 0, sizeof(hold));
	settings = (struct wtl_limit_settings){.has_power = true, .power_uw = power_uw};
	app.own = &settings;
}

/* NVML takes milliwatts, amdgpu watts; what is finer is cut off. */
static void test_planned_as_drivers_take_it(void **state)
{
	const struct {
		const char *vendor;
		uint64_t asked_uw, set_uw;
	} cases[] = {
		{"nvidia", 250000500, 250000000}, {"nvidia", 250123000, 250123000},
		{"nvidia", 250123999, 250123000}, {"amd", 300500000, 300000000},
		{"amd", 300999999, 300000000},	  {"amd", 300000000, 300000000},
		{"intel", 200000001, 200000001},
	};
	const size_t chosen[] = {0};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_gpu gpu = gpu_of(cases[i].vendor, 150000000);

		ask(cases[i].asked_uw);
		assert_int_equal(wtl_limit_check(&app, &gpu, chosen, 1), 0);
		wtl_limit_plan(&app, &gpu, chosen, 1, &hold);
		assert_int_equal(hold.n_changes, 1);
		assert_int_equal(hold.changes[0].before_uw, 150000000);
		assert_int_equal(hold.changes[0].set_uw, cases[i].set_uw);
	}
}

/* The range is for what the driver is given. */
static void test_range(void **state)
{
	const struct {
		const char *vendor;
		uint64_t asked_uw;
		int rc;
	} cases[] = {
		{"amd", 315999999, 0},		{"amd", 316000000, -ERANGE},
		{"amd", 100000000, 0},		{"amd", 99999999, -ERANGE},
		{"amd", 999999, -ERANGE},	{"nvidia", 315000999, 0},
		{"nvidia", 315001000, -ERANGE},
	};
	const size_t chosen[] = {0};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_gpu gpu = gpu_of(cases[i].vendor, 150000000);

		ask(cases[i].asked_uw);
		assert_int_equal(wtl_limit_check(&app, &gpu, chosen, 1), cases[i].rc);
		/* 0 W may stand for something else. */
		gpu.numbers[WTL_GPU_LIMIT_MIN_UW].status = WATTLE_STATUS_ABSENT;
		if (cases[i].asked_uw < 1000000)
			assert_int_equal(wtl_limit_check(&app, &gpu, chosen, 1), -ERANGE);
	}
}

/* A driver that takes something else again; what was not changed, or is not known, stays as planned. */
static void test_taken(void **state)
{
	struct wtl_gpu gpus[] = {gpu_of("nvidia", 150000000), gpu_of("nvidia", 150000000),
				 gpu_of("nvidia", 250000000), gpu_of("nvidia", 150000000)};
	const size_t chosen[] = {3, 0, 1, 2};

	(void)state;
	ask(250000000);
	wtl_limit_plan(&app, gpus, chosen, 4, &hold);
	set(&gpus[3], WTL_GPU_LIMIT_UW, 200000000);
	set(&gpus[3], WTL_GPU_LIMIT_REQUESTED_UW,
	    249900000); /* what was asked for rather than in force */
	gpus[0].numbers[WTL_GPU_LIMIT_UW].status = WATTLE_STATUS_GONE;
	set(&gpus[1], WTL_GPU_LIMIT_UW, 250000000);
	set(&gpus[2], WTL_GPU_LIMIT_UW, 240000000);
	assert_true(wtl_limit_note_taken(gpus, chosen, &hold));
	assert_int_equal(hold.changes[0].set_uw, 249900000);
	assert_int_equal(hold.changes[1].set_uw, 250000000);
	assert_int_equal(hold.changes[2].set_uw, 250000000);
	assert_int_equal(hold.changes[3].set_uw,
			 250000000); /* someone else's: it was not to be changed */
	assert_int_equal(hold.changes[0].before_uw, 150000000);
	assert_false(wtl_limit_note_taken(gpus, chosen, &hold));
	/* Only what was tried. */
	set(&gpus[3], WTL_GPU_LIMIT_REQUESTED_UW, 230000000);
	hold.n_changes = 0;
	assert_false(wtl_limit_note_taken(gpus, chosen, &hold));
	assert_int_equal(hold.changes[0].set_uw, 249900000);
}

/* A UUID that several have does not name one of them; their bus ids do. */
static void test_one_uuid(void **state)
{
	struct wtl_gpu gpus[] = {gpu_of("amd", 315000000), gpu_of("amd", 290000000)};
	const size_t chosen[] = {0, 1};

	(void)state;
	strcpy(gpus[0].uuid, "0000000000000000");
	strcpy(gpus[1].uuid, "0000000000000000");
	strcpy(gpus[1].bus_id, "0000:18:00.0");
	ask(300000000);
	wtl_limit_plan(&app, gpus, chosen, 2, &hold);
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < 2; k++)
			assert_int_equal(wtl_limit_is_of(&hold.changes[i], &gpus[k]), i == k);
	/* A note without: whoever has the UUID. */
	hold.changes[0].bus[0] = '\0';
	assert_true(wtl_limit_is_of(&hold.changes[0], &gpus[0]));
	/* Another board in the same place. */
	strcpy(gpus[1].uuid, "another");
	assert_false(wtl_limit_is_of(&hold.changes[1], &gpus[1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_planned_as_drivers_take_it),
		cmocka_unit_test(test_range),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_one_uuid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
