/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Descriptors ---- */

static unsigned open_at_start;

/* Without those on /dev/null: SQLite opens it on each of 0 to 2 that is free, and leaves it open. */
static unsigned count_open(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	unsigned n = 0;

	while (dir && (entry = readdir(dir))) {
		char target[16];
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target));

		n += len != 9 || memcmp(target, "/dev/null", 9) != 0;
	}
	if (dir)
		closedir(dir);
	return n;
}

/* As of a program that was started without standard input: the first file that is opened has its number. */
__attribute__((constructor)) static void begin_without_input(void)
{
	close(STDIN_FILENO);
	open_at_start = count_open();
}

/* In left_behind.h. */
__attribute__((weak)) int __lsan_is_turned_off(void);

__attribute__((destructor)) static void end_as_begun(void)
{
	if (count_open() <= open_at_start || (__lsan_is_turned_off && __lsan_is_turned_off()))
		return;
	fprintf(stderr, "a file is left open\n");
	_exit(EXIT_FAILURE);
}

/* ---- Files ---- */

char *unit_tmpdir(void)
{
	const char *base = getenv("TMPDIR");
	char *dir;

	if (!base)
		base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	if (asprintf(&dir, "%s/wattle-unit-XXXXXX", base) < 0)
		fail_msg("out of memory");
	if (!mkdtemp(dir))
		fail_msg("%s: %s", dir, strerror(errno));
	return dir;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void unit_rmtree(char *dir)
{
	if (!dir)
		return;
	if (nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0)
		fail_msg("%s cannot be removed: %s", dir, strerror(errno));
	free(dir);
}

char *unit_path(const char *dir, const char *path)
{
	char *whole;

	if (asprintf(&whole, "%s/%s", dir, path[0] == '/' ? path + 1 : path) < 0)
		fail_msg("out of memory");
	return whole;
}

/* Makes the directories above whole, from its at-th character on. */
static void parents_make(char *whole, size_t at)
{
	for (char *slash = strchr(whole + at, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(whole, 0777) < 0 && errno != EEXIST)
			fail_msg("%s: %s", whole, strerror(errno));
		*slash = '/';
	}
}

void unit_write_bytes(const char *dir, const char *path, const void *data, size_t len)
{
	char *whole = unit_path(dir, path);
	int fd;

	parents_make(whole, strlen(dir) + 1);
	fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd) < 0)
		fail_msg("%s: %s", whole, strerror(errno));
	free(whole);
}

void unit_write(const char *dir, const char *path, const char *text)
{
	unit_write_bytes(dir, path, text, strlen(text));
}

void unit_symlink(const char *dir, const char *path, const char *target)
{
	char *whole = unit_path(dir, path);

	parents_make(whole, strlen(dir) + 1);
	if (symlink(target, whole) < 0)
		fail_msg("%s: %s", whole, strerror(errno));
	free(whole);
}

char *unit_read(const char *dir, const char *path)
{
	char *whole = unit_path(dir, path), *text = NULL;
	FILE *file = fopen(whole, "re");
	size_t size = 0;
	ssize_t len;

	free(whole);
	if (!file)
		return NULL;
	/* To the first NUL, which no text has. */
	len = getdelim(&text, &size, '\0', file);
	fclose(file);
	if (len >= 0)
		return text;
	free(text);
	return strdup("");
}

unsigned unit_entries(const char *dir, const char *path)
{
	char *whole = unit_path(dir, path);
	DIR *stream = opendir(whole);
	const struct dirent *entry;
	unsigned n = 0;

	if (!stream)
		fail_msg("%s: %s", whole, strerror(errno));
	free(whole);
	while ((entry = readdir(stream)))
		n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	closedir(stream);
	return n;
}
