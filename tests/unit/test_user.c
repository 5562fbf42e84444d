/* SPDX-License-Identifier: MIT */
#include "cli/user.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static unsigned mode_of(const char *dir, const char *path)
{
	char *whole = unit_path(dir, path);
	struct stat status;

	assert_int_equal(stat(whole, &status), 0);
	assert_true(S_ISDIR(status.st_mode));
	free(whole);
	return status.st_mode & 0777;
}

static void test_folders(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "state/wattle/limits");
	char *file = unit_path(dir, "config/wattle/top.conf");
	char *below = unit_path(dir, "plain/x");
	struct stat status;

	(void)state;
	/* Twice: what is there is fine. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(wtl_user_make_folder(path), 0);
		assert_int_equal(wtl_user_make_folder_of(file), 0);
	}
	assert_int_equal(mode_of(dir, "state"), 0700);
	assert_int_equal(mode_of(dir, "state/wattle"), 0700);
	assert_int_equal(mode_of(dir, "state/wattle/limits"), 0700);
	assert_int_equal(mode_of(dir, "config/wattle"), 0700);
	assert_int_equal(stat(file, &status), -1);
	/* What is there keeps its mode. */
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(wtl_user_make_folder(path), 0);
	assert_int_equal(mode_of(dir, "state/wattle/limits"), 0755);
	unit_write(dir, "plain", "a file\n");
	assert_int_equal(wtl_user_make_folder(below), -ENOTDIR);
	free(path);
	free(file);
	free(below);
	unit_rmtree(dir);
}

static void test_odd_paths(void **state)
{
	char *huge = malloc(2 * PATH_MAX);

	(void)state;
	assert_non_null(huge);
	memset(huge, 'a', 2 * PATH_MAX);
	huge[0] = '/';
	huge[2 * PATH_MAX - 1] = '\0';
	assert_int_equal(wtl_user_make_folder(huge), -ENAMETOOLONG);
	huge[2 * PATH_MAX - 2] = '/';
	assert_int_equal(wtl_user_make_folder_of(huge), -ENAMETOOLONG);
	assert_int_equal(wtl_user_make_folder(""), 0);
	assert_int_equal(wtl_user_make_folder("/"), 0);
	assert_int_equal(wtl_user_make_folder_of("idle"), 0);
	assert_int_equal(wtl_user_make_folder_of("/idle"), 0);
	free(huge);
}

static void test_names(void **state)
{
	const struct passwd *root = getpwuid(0);
	char name[40], small[4];

	(void)state;
	wtl_user_name(true, 0, name, sizeof(name));
	assert_string_equal(name, root ? root->pw_name : "0");
	wtl_user_name(false, 0, name, sizeof(name));
	assert_string_equal(name, "0");
	wtl_user_name(true, 4294967290U, name, sizeof(name));
	assert_string_equal(name, "4294967290");
	wtl_user_name(false, 4294967290U, small, sizeof(small));
	assert_string_equal(small, "429");
}

/* Kept names are those of a lookup, also of two users with one place; they count for a minute. */
static void test_names_that_are_kept(void **state)
{
	static const uint32_t uids[] = {0,	     1, WTL_USER_NAMES, 65534,
					4000000000u, 0, WTL_USER_NAMES, 0};
	struct wtl_user_names names = {.rows = {{.uid = 0}}};
	char kept[64], looked_up[64];

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(uids); i++) {
		wtl_user_names_get(&names, true, uids[i], 1000, kept, sizeof(kept));
		wtl_user_name(true, uids[i], looked_up, sizeof(looked_up));
		assert_string_equal(kept, looked_up);
	}
	strcpy(names.rows[0].name, "kept");
	wtl_user_names_get(&names, true, 0, INT64_C(59999999999), kept, sizeof(kept));
	assert_string_equal(kept, "kept");
	wtl_user_names_get(&names, true, 0, INT64_C(60000001000), kept, 3);
	assert_memory_equal(kept, looked_up, 2);
	assert_int_equal(kept[2], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folders),
		cmocka_unit_test(test_names_that_are_kept),
		cmocka_unit_test(test_odd_paths),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
