/* SPDX-License-Identifier: MIT */
#include "base/below.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

struct fixture {
	char *dir;
	char *outside;
	int root;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *secret;

	assert_non_null(fixture);
	fixture->dir = unit_tmpdir();
	fixture->outside = unit_tmpdir();
	fixture->root = open(fixture->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(fixture->root >= 0);
	unit_write(fixture->outside, "secret", "outside");
	secret = unit_path(fixture->outside, "secret");
	unit_write(fixture->dir, "/a/b/value", "value");
	unit_write(fixture->dir, "/top", "top");
	unit_symlink(fixture->dir, "/a/absolute", "/a/b/value");
	unit_symlink(fixture->dir, "/a/relative", "b/value");
	unit_symlink(fixture->dir, "/a/up", "../top");
	unit_symlink(fixture->dir, "/a/dir", "/a/./b//");
	unit_symlink(fixture->dir, "/a/chain", "dir/../absolute");
	unit_symlink(fixture->dir, "/a/above", "../../../../../../top");
	unit_symlink(fixture->dir, "/a/out", secret);
	unit_symlink(fixture->dir, "/a/etc", "/etc");
	unit_symlink(fixture->dir, "/a/loop", "loop");
	unit_symlink(fixture->dir, "/a/dead", "nowhere");
	free(secret);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	close(fixture->root);
	unit_rmtree(fixture->dir);
	unit_rmtree(fixture->outside);
	free(fixture);
	return 0;
}

typedef int open_function(int root, const char *path, int flags);

static void opens(open_function *function, int root, const char *path, const char *expected)
{
	int fd = function(root, path, O_RDONLY);
	char buf[16] = "";

	if (fd < 0)
		fail_msg("%s gives %d", path, fd);
	assert_int_equal(read(fd, buf, sizeof(buf) - 1), strlen(expected));
	assert_string_equal(buf, expected);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
}

static void fails(open_function *function, int root, const char *path, int flags, int code)
{
	int fd = function(root, path, flags);

	if (fd != code)
		fail_msg("%s gives %d, not %d", path, fd, code);
}

/* Both ways of opening do the same. */
static void paths_check(open_function *function, int root)
{
	char longer[300];
	int fd;

	opens(function, root, "/a/b/value", "value");
	opens(function, root, "//a/./b/../b//value", "value");
	opens(function, root, "/a/absolute", "value");
	opens(function, root, "/a/relative", "value");
	opens(function, root, "/a/up", "top");
	opens(function, root, "/a/dir/value", "value");
	opens(function, root, "/a/chain", "value");
	opens(function, root, "/a/above", "top");
	opens(function, root, "/../../top", "top");
	fails(function, root, "/a/out", O_RDONLY, -ENOENT);
	fails(function, root, "/a/etc/passwd", O_RDONLY, -ENOENT);
	fails(function, root, "/../../../../../../etc/passwd", O_RDONLY, -ENOENT);
	fails(function, root, "/a/loop", O_RDONLY, -ELOOP);
	fails(function, root, "/a/dead", O_RDONLY, -ENOENT);
	fails(function, root, "/none/x", O_RDONLY, -ENOENT);
	fails(function, root, "/top/x", O_RDONLY, -ENOTDIR);
	fails(function, root, "/top", O_RDONLY | O_DIRECTORY, -ENOTDIR);
	fails(function, root, "/a/absolute", O_RDONLY | O_NOFOLLOW, -ELOOP);
	fails(function, root, "a", O_RDONLY, -EINVAL);
	fails(function, root, "", O_RDONLY, -EINVAL);
	memset(longer, 'x', sizeof(longer));
	longer[0] = '/';
	longer[sizeof(longer) - 1] = '\0';
	fails(function, root, longer, O_RDONLY, -ENAMETOOLONG);
	fd = function(root, "/", O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	close(fd);
	/* The link itself, and a link to it through another. */
	fd = function(root, "/a/dir/../dead", O_PATH | O_NOFOLLOW);
	assert_true(fd >= 0);
	assert_int_equal(readlinkat(fd, "", longer, sizeof(longer)), 7);
	close(fd);
}

static void test_open(void **state)
{
	paths_check(wtl_below_open, ((struct fixture *)*state)->root);
}

static void test_walk(void **state)
{
	paths_check(wtl_below_walk, ((struct fixture *)*state)->root);
}

static void test_walk_bounds(void **state)
{
	struct fixture *fixture = *state;
	char *path = calloc(1, 5001), name[256], target[32];

	assert_non_null(path);
	memset(path, '/', 5000);
	assert_int_equal(wtl_below_walk(fixture->root, path, O_RDONLY), -ENAMETOOLONG);
	free(path);
	/* A link in every name: 40 are followed, not more. */
	for (int i = 0; i < 42; i++) {
		snprintf(name, sizeof(name), "/l%d", i);
		snprintf(target, sizeof(target), "l%d", i - 1);
		unit_symlink(fixture->dir, name, i ? target : "top");
	}
	opens(wtl_below_walk, fixture->root, "/l39", "top");
	fails(wtl_below_walk, fixture->root, "/l40", O_RDONLY, -ELOOP);
	/* A link that makes the way longer each time does not overflow. */
	memset(name, 'x', sizeof(name));
	memcpy(name, "g/", 2);
	name[sizeof(name) - 1] = '\0';
	unit_symlink(fixture->dir, "/g", name);
	fails(wtl_below_walk, fixture->root, "/g", O_RDONLY, -ENAMETOOLONG);
}

/*
 * The kernel gives up on a ".." below a root when anything is renamed meanwhile, anywhere on the
 * machine: that must not look like a missing file.
 */
struct renamer {
	char *here, *there;
	atomic_bool stop;
};

static void *rename_on(void *argument)
{
	struct renamer *renamer = argument;

	while (!atomic_load(&renamer->stop)) {
		if (rename(renamer->here, renamer->there) < 0 ||
		    rename(renamer->there, renamer->here) < 0)
			return argument;
	}
	return NULL;
}

static void test_renames_meanwhile(void **state)
{
	struct fixture *fixture = *state;
	struct renamer renamer = {
		.here = unit_path(fixture->outside, "secret"),
		.there = unit_path(fixture->outside, "moved"),
	};
	int failed = 0;
	pthread_t thread;
	void *result;

	assert_int_equal(pthread_create(&thread, NULL, rename_on, &renamer), 0);
	for (int i = 0; i < 50000; i++) {
		int fd = wtl_below_open(fixture->root, "/a/../a/../a/up", O_RDONLY);

		failed += fd < 0;
		if (fd >= 0)
			close(fd);
	}
	atomic_store(&renamer.stop, true);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_null(result);
	assert_int_equal(failed, 0);
	free(renamer.here);
	free(renamer.there);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(test_open), TEST(test_walk), TEST(test_walk_bounds),
					   TEST(test_renames_meanwhile)};

	return cmocka_run_group_tests_name("below", tests, NULL, NULL);
}
