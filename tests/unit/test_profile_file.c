/* SPDX-License-Identifier: MIT */
/* Files that are mapped, by their inodes: what has their name now may be another one. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "profile/file.h"

static uint64_t inode_of(int fd)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	return status.st_ino;
}

static void write_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	close(fd);
}

static void test_files_by_inode(void **state)
{
	char path[] = "/tmp/test_profile_file.XXXXXX", deleted[64];
	int fd = mkstemp(path), found;
	uint64_t inode;
	void *at;

	(void)state;
	assert_true(fd >= 0);
	inode = inode_of(fd);
	assert_int_equal(ftruncate(fd, 4096), 0);
	at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	found = wtl_file_open(getpid(), path, inode);
	assert_true(found >= 0);
	close(found);
	found = wtl_file_open(getpid(), path, 0);
	assert_true(found >= 0);
	close(found);
	/* A number that no mapping has. */
	assert_int_equal(wtl_file_open(getpid(), path, UINT64_MAX), -ESTALE);
	/* It is mapped, and what is called so is another one: the kernel gives it to root, and to nobody else. */
	assert_int_equal(unlink(path), 0);
	write_file(path);
	snprintf(deleted, sizeof(deleted), "%s (deleted)", path);
	for (int i = 0; i < 2; i++) {
		found = wtl_file_open(getpid(), i ? deleted : path, inode);
		if (found >= 0) {
			assert_int_equal(inode_of(found), inode);
			close(found);
		} else {
			assert_int_equal(found, -ESTALE);
		}
	}
	assert_int_equal(munmap(at, 4096), 0);
	assert_int_equal(wtl_file_open(getpid(), path, inode), -ESTALE);
	assert_int_equal(wtl_file_open(getpid(), deleted, inode), -ESTALE);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(wtl_file_open(getpid(), path, inode), -ENOENT);
}

static void test_names_of_deleted_files(void **state)
{
	(void)state;
	assert_int_equal(wtl_file_name_len("/a (deleted)"), 2);
	assert_int_equal(wtl_file_name_len("/a(deleted)"), 11);
	assert_int_equal(wtl_file_name_len(" (deleted)"), 10);
	assert_int_equal(wtl_file_name_len(""), 0);
}

/* A program may put anything where its libraries were, and opening a device can do something (a watchdog's begins to count). */
static void test_no_pipe_or_device_is_opened(void **state)
{
	char folder[] = "/tmp/test_profile_file.XXXXXX", path[64];
	struct inotify_event event;
	int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/pipe", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(inotify_add_watch(watch, path, IN_OPEN) >= 0);
	assert_int_equal(wtl_file_open(getpid(), path, 0), -WTL_ENOTFILE);
	assert_int_equal(read(watch, &event, sizeof(event)), -1);
	assert_int_equal(wtl_file_open(getpid(), "/dev/zero", 0), -WTL_ENOTFILE);
	assert_int_equal(wtl_file_open(getpid(), "/dev/null", 0), -EINVAL);
	close(watch);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_by_inode),
		cmocka_unit_test(test_names_of_deleted_files),
		cmocka_unit_test(test_no_pipe_or_device_is_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
