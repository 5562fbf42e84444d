/* SPDX-License-Identifier: MIT */
/* Prices of hardware: what is built in, and what is wrong with a file of a user's. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

#include "base/err.h"
#include "neural/devices.h"

static void test_builtin(void **state)
{
	(void)state;
	struct wtl_devices devices = {0};
	struct wtl_err err = {.code = 0};

	if (wtl_devices_builtin(&devices, &err) < 0)
		fail_msg("%s: %s", err.path, err.text);
	const struct wtl_device *device = wtl_devices_find(&devices, "horowitz-45nm");
	assert_non_null(device);
	assert_true(device->is_digital);
	const struct wtl_constant *mul = wtl_device_constant(device, WTL_CONSTANT_MUL, WTL_FP32);
	assert_non_null(mul);
	assert_float_equal(mul->nominal, 3.7e-12, 1e-20);
	assert_float_equal(mul->low, 2.59e-12, 1e-20);
	assert_int_equal(mul->grade, WTL_GRADE_PUBLISHED);
	assert_null(wtl_device_constant(device, WTL_CONSTANT_MUL, WTL_FP64));

	device = wtl_devices_find(&devices, "truenorth");
	assert_non_null(device);
	assert_true(device->is_all_in);
	device = wtl_devices_find(&devices, "loihi2");
	assert_non_null(device);
	assert_true(isnan(device->constants[0].nominal));
	assert_int_equal(device->constants[0].grade, WTL_GRADE_UNKNOWN);
	device = wtl_devices_find(&devices, "cpu-i7-4960x");
	assert_non_null(device);
	assert_non_null(wtl_device_constant(device, WTL_CONSTANT_MAC, WTL_FP32));
	wtl_devices_done(&devices);
}

static void test_replaces(void **state)
{
	(void)state;
	static const char text[] = "device a\n source s\n synop 1 pJ\n"
				   "device b\n source s\n synop 2 nJ measured source a bench\n"
				   "device a\n source t\n synop 3 pJ from 1 to 4 # mine\n";
	struct wtl_devices devices = {0};

	assert_int_equal(wtl_devices_parse(&devices, text, strlen(text), "mine", NULL), 0);
	assert_int_equal(devices.n, 2);
	const struct wtl_constant *constant = &devices.devices[0].constants[0];
	assert_string_equal(constant->source, "t");
	assert_float_equal(constant->high, 4e-12, 1e-20);
	assert_int_equal(constant->grade, WTL_GRADE_UNCHECKED);
	constant = &devices.devices[1].constants[0];
	assert_float_equal(constant->nominal, 2e-9, 1e-20);
	assert_int_equal(constant->grade, WTL_GRADE_MEASURED);
	assert_string_equal(constant->source, "a bench");
	wtl_devices_done(&devices);
}

static const struct {
	const char *text, *place, *error;
} bad[] = {
	{"device a\nsource s\nmac fp32 4.6\n", "x:3", "'mac fp32' has no unit behind its value"},
	{"device a\nsource s\nmac fp32 4.6 from 1 to 5\n", "x:3", "has no unit"},
	{"device a\nsource s\nmac fp32 4.6 pj\n", "x:3", "has no unit"},
	{"device a\nsource s\nmac fp32 4.6 mW\n", "x:3", "is not in mW (but in pJ, nJ, uJ)"},
	{"device a\nsource s\nstatic 1 pJ\n", "x:3", "is not in pJ (but in mW, W)"},
	{"device a\nsource s\nmac fp31 4.6 pJ\n", "x:3", "'fp31' is no precision"},
	{"device a\nsource s\nmac fp32 -1 pJ\n", "x:3", "a price is -1"},
	{"device a\nsource s\nmac fp32 4.6 pJ from 5 to 6\n", "x:3", "not between its bounds"},
	{"device a\nsource s\nmac fp32 4.6 pJ guessed\n", "x:3", "'guessed' is no grade"},
	{"device a\nsource s\nmac fp32 4.6 pJ measured twice\n", "x:3", "'twice' is too much"},
	{"device a\nsource s\nmac fp32\n", "x:3", "has no value"},
	{"device a\nsource s\nmac\n", "x:3", "is not complete"},
	{"device a\nsource s\nsynop 1 pJ\nsynop 2 pJ\n", "x:4", "a has 'synop' twice"},
	{"device a\nsource s\nsram 8KiB 64 10 pJ\n", "x:3", "'64' is no width"},
	{"device a\nsource s\nsram 0KiB 64bit 10 pJ\n", "x:3", "'0KiB' is no size"},
	{"device a\nsource s\nnode 45\n", "x:3", "written as 'node VALUE nm'"},
	{"device a\nsource s\nscope some\n", "x:3", "'some' is no scope"},
	{"device a\nsource s\nscope all-in\nsynop 1 pJ\nhop 2 pJ\n", "x:5",
	 "'hop' cannot be added"},
	{"device a\nsynop 1 pJ\n", "x:2", "has no source"},
	{"device a\nsource s\nenergy 1 pJ\n", "x:3", "'energy' is not known here"},
	{"device a\nsource s\noperations b\n", "x:3", "'b' is no device before this one"},
	{"device a\nsource s\noperations a\n", "x:3", "'a' is no device before this one"},
	{"synop 1 pJ\n", "x:1", "belongs to no device"},
	{"device a b\n", "x:1", "followed by a name"},
	{"device a\n\nsource s\x01\n", "x:3", "control characters"},
};

static void test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		struct wtl_devices devices = {0};
		struct wtl_err err = {.code = 0};
		int rc = wtl_devices_parse(&devices, bad[i].text, strlen(bad[i].text), "x", &err);
		assert_int_equal(rc, -WTL_EFORMAT);
		assert_string_equal(err.path, bad[i].place);
		if (!strstr(err.text, bad[i].error))
			fail_msg("'%s' does not say '%s'", err.text, bad[i].error);
		wtl_devices_done(&devices);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builtin),
		cmocka_unit_test(test_replaces),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
