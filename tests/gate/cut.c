/* SPDX-License-Identifier: MIT */
/*
 * Truncates a recording's FILE-shm, a model.onnx or a log.csv in the middle of what the command does with it, by LD_PRELOAD, once
 * the file $WATTLE_TEST_CUT is there: as soon as it is mapped, and before a write to FILE-wal; then $WATTLE_TEST_CUT_OTHER in its
 * place.
 */
#undef _FILE_OFFSET_BITS /* the calls by both of their names */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What a descriptor of a file whose name ends like that is called. */
static int is_of(int fd, const char *end, char path[4096])
{
	const char *marker = getenv("WATTLE_TEST_CUT");
	char link[64];
	ssize_t len;

	if (!marker || access(marker, F_OK) < 0)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, 4095);
	path[len > 0 ? len : 0] = '\0';
	len -= (ssize_t)strlen(end);
	return len > 0 && strcmp(path + len, end) == 0;
}

static const char *other_file(void)
{
	return getenv("WATTLE_TEST_CUT_OTHER");
}

static void cut(const char *path)
{
	if (truncate(path, 0) < 0)
		abort();
}

static void *map(void *at, size_t len, int rights, int flags, int fd, off_t from)
{
	void *mapped = (void *)syscall(SYS_mmap, at, len, rights, flags, fd, from);
	char path[4096];

	if (fd >= 0 && !other_file() &&
	    (is_of(fd, "-shm", path) || is_of(fd, ".onnx", path) || is_of(fd, ".csv", path)))
		cut(path);
	return mapped;
}

static ssize_t write_at(int fd, const void *data, size_t len, off_t at)
{
	const char *other = other_file();
	char path[4096];

	if (is_of(fd, "-wal", path)) {
		memcpy(path + strlen(path) - 4, "-shm", 4);
		cut(other ? other : path);
	}
	return syscall(SYS_pwrite64, fd, data, len, at);
}

#define VISIBLE __attribute__((visibility("default")))

VISIBLE void *mmap(void *at, size_t len, int rights, int flags, int fd, off_t from)
{
	return map(at, len, rights, flags, fd, from);
}

VISIBLE void *mmap64(void *at, size_t len, int rights, int flags, int fd, off_t from)
{
	return map(at, len, rights, flags, fd, from);
}

VISIBLE ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
	return write_at(fd, data, len, at);
}

VISIBLE ssize_t pwrite64(int fd, const void *data, size_t len, off_t at)
{
	return write_at(fd, data, len, at);
}
