/* SPDX-License-Identifier: MIT */
/* What is told beside who used it. */
#include <stdio.h>
#include <string.h>

#include "cli/billing.h"
#include "report/description.h"
#include "energy/units.h"

#include "unit.h"

static void test_losses(void **state)
{
	struct wtl_description description = {.n_notes = 0};

	(void)state;
	wtl_describe_losses(&description, 0, 0);
	assert_int_equal(description.n_notes, 0);
	wtl_describe_losses(&description, 1, 0);
	assert_int_equal(description.n_notes, 1);
	assert_string_equal(
		description.notes[0],
		"Records of processes that ended were lost (1 time, because too many came at "
		"once): some that lived shortly are not listed, and what they used is their "
		"parents', or not attributed.");
	wtl_describe_losses(&description, 0, 1);
	assert_string_equal(
		description.notes[1],
		"There was no room to follow 1 process: what it used is not attributed.");
	wtl_describe_losses(&description, UINT64_MAX, UINT64_MAX);
	assert_int_equal(description.n_notes, 4);
	assert_non_null(strstr(description.notes[2], "(18446744073709551615 times,"));
	assert_string_equal(
		description.notes[3],
		"There was no room to follow 18446744073709551615 processes: what they used is "
		"not attributed.");
}

/* Where only that it happened is known. */
static void test_lost_exits(void **state)
{
	struct wtl_description description = {.n_notes = 0};

	(void)state;
	wtl_describe_lost_exits(&description, 0);
	assert_int_equal(description.n_notes, 1);
	assert_non_null(
		strstr(description.notes[0], "were lost (because too many came at once): "));
	wtl_describe_lost_exits(&description, 2);
	assert_non_null(strstr(description.notes[1], "were lost (2 times, because too many "));
}

static void test_clock_step(void **state)
{
	struct wtl_description description = {.n_notes = 0};

	(void)state;
	wtl_describe_clock_step(&description, 0, "x");
	wtl_describe_clock_step(&description, WTL_NS_PER_S - 1, "x");
	wtl_describe_clock_step(&description, 1 - WTL_NS_PER_S, "x");
	assert_int_equal(description.n_notes, 0);
	wtl_describe_clock_step(&description, 7200 * WTL_NS_PER_S, "by this one");
	assert_string_equal(description.notes[0],
			    "The clock was set forward by 2 h 00 min 00 s while this was "
			    "measured: times are by this one.");
	wtl_describe_clock_step(&description, -90 * WTL_NS_PER_S, "x");
	assert_non_null(strstr(description.notes[1], "was set back by 1 min 30"));
	wtl_describe_clock_step(&description, INT64_MIN, "x");
	assert_non_null(strstr(description.notes[2], "was set back by "));
}

/* What there is no place for is left out, and what is there stays. */
static void test_no_place(void **state)
{
	struct wtl_description description = {.n_notes = 0};
	size_t most = UNIT_COUNT(description.notes);

	(void)state;
	for (size_t i = 0; i < most + 2; i++)
		wtl_describe_losses(&description, i + 1, 0);
	assert_int_equal(description.n_notes, most);
	assert_non_null(strstr(description.notes[most - 1], "(8 times,"));
}

static void test_no_command(void **state)
{
	struct wtl_description description = {.n_notes = 0};

	(void)state;
	wtl_describe_no_command(&description);
	assert_int_equal(description.n_notes, 1);
	assert_non_null(strstr(description.notes[0], "PID namespace"));
	assert_non_null(strstr(description.notes[0], "mount the one"));
}

/* A billing that follows nobody has nothing to tell. */
static void test_nobody_is_followed(void **state)
{
	const struct wtl_billing billing = {.consumers = NULL, .lacks_command = true};
	struct wtl_description description = {.n_notes = 0};

	(void)state;
	wtl_billing_describe(&billing, &description);
	assert_int_equal(description.n_notes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_losses),	   cmocka_unit_test(test_lost_exits),
		cmocka_unit_test(test_clock_step), cmocka_unit_test(test_no_place),
		cmocka_unit_test(test_no_command), cmocka_unit_test(test_nobody_is_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
