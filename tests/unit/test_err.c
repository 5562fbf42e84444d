/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "unit.h"

static void test_set(void **state)
{
	struct wtl_err err;

	(void)state;
	memset(&err, 0x5a, sizeof(err));
	assert_int_equal(wtl_err_set(&err, EACCES, "rapl", "/sys/x", "run %s", "setcap"), -EACCES);
	assert_int_equal(err.code, -EACCES);
	assert_string_equal(err.source, "rapl");
	assert_string_equal(err.path, "/sys/x");
	assert_string_equal(err.text, "run setcap");
	assert_int_equal(wtl_err_set(&err, -WTL_EABSENT, "nvml", NULL, "none"), -WTL_EABSENT);
	assert_int_equal(err.code, -WTL_EABSENT);
	assert_string_equal(err.path, "");
	assert_int_equal(wtl_err_set(NULL, EIO, "x", "y", "z"), -EIO);
}

static void test_hostile(void **state)
{
	struct wtl_err err;
	char longer[1000];

	(void)state;
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	wtl_err_set(&err, EIO, longer, longer, "%s", longer);
	assert_int_equal(strlen(err.source), sizeof(err.source) - 1);
	assert_int_equal(strlen(err.path), sizeof(err.path) - 1);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	wtl_err_set(&err, EIO, "s", "/a\033]0;x\a", "line 1\nline 2");
	assert_string_equal(err.path, "/a?]0;x?");
	assert_string_equal(err.text, "line 1?line 2");
	/* An error may be told again in other words. */
	wtl_err_set(&err, EIO, err.source, err.path, "again: %s", err.text);
	assert_string_equal(err.source, "s");
	assert_string_equal(err.path, "/a?]0;x?");
	assert_string_equal(err.text, "again: line 1?line 2");
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(wtl_err_text(EACCES), "Permission denied");
	assert_string_equal(wtl_err_text(-EACCES), "Permission denied");
	assert_string_equal(wtl_err_text(0), "Success");
	assert_string_equal(wtl_err_text(123456), "Unknown error");
	assert_string_equal(wtl_err_text(INT_MIN), "Unknown error");
	assert_string_equal(wtl_err_name(ENODEV), "ENODEV");
	assert_string_equal(wtl_err_name(-WTL_ELIBRARY), "WTL_ELIBRARY");
	assert_null(wtl_err_name(0));
	assert_null(wtl_err_name(INT_MIN));
	assert_int_equal(wtl_err_from_name("ENODEV", 6), ENODEV);
	assert_int_equal(wtl_err_from_name("ENODEVICE", 6), ENODEV);
	assert_int_equal(wtl_err_from_name("ENODE", 5), 0);
	assert_int_equal(wtl_err_from_name("", 0), 0);
	assert_int_equal(wtl_err_from_name("enodev", 6), 0);
}

/* Every name leads back, and the system's own numbers have one. */
static void test_names_lead_back(void **state)
{
	unsigned named = 0;

	(void)state;
	for (int code = 1; code < 5000; code++) {
		const char *name = wtl_err_name(code);

		if (!name)
			continue;
		named++;
		assert_int_equal(wtl_err_from_name(name, strlen(name)), code);
		assert_string_not_equal(wtl_err_text(code), "Unknown error");
	}
	assert_true(named > 50);
	for (int code = 1; code <= ERANGE; code++)
		if (code != ENOTBLK)
			assert_non_null(wtl_err_name(code));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_lead_back),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
