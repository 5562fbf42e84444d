/* SPDX-License-Identifier: MIT */
#include "profile/file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/infile.h"

/* Devices are not compared: on btrfs and overlayfs a mapping shows another device than the file. The inode number of
 * a mapped file is not reused. */
static int open_same(const char *name, uint64_t inode)
{
	struct stat status;
	int fd = wtl_infile_open(name), rc = fd < 0 ? fd : 0;

	if (rc == 0 && fstat(fd, &status) < 0)
		rc = -errno;
	if (rc == 0 && !S_ISREG(status.st_mode))
		rc = -EINVAL;
	if (rc == 0 && inode && status.st_ino != inode)
		rc = -ESTALE;
	if (rc < 0 && fd >= 0)
		close(fd);
	return rc < 0 ? rc : fd;
}

/* Through /proc/PID/map_files, whatever the file is called now. Only root may. */
static int open_mapping(int pid, uint64_t inode)
{
	char folder[64], name[64 + NAME_MAX + 2];
	const struct dirent *entry;
	DIR *mappings;
	int fd = -ENOENT;

	snprintf(folder, sizeof(folder), "/proc/%d/map_files", pid);
	mappings = inode ? opendir(folder) : NULL;
	while (fd < 0 && mappings && (entry = readdir(mappings))) {
		snprintf(name, sizeof(name), "%s/%s", folder, entry->d_name);
		fd = entry->d_name[0] == '.' ? fd : open_same(name, inode);
	}
	if (mappings)
		closedir(mappings);
	return fd;
}

bool wtl_file_is_memory(const char *path)
{
	return strncmp(path, "//anon", 6) == 0 || strncmp(path, "[anon", 5) == 0;
}

size_t wtl_file_name_len(const char *path)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(path), behind = sizeof(deleted) - 1;

	return len > behind && strcmp(path + len - behind, deleted) == 0 ? len - behind : len;
}

int wtl_file_open(int pid, const char *path, uint64_t inode)
{
	char name[PATH_MAX + 32];
	int fd, rc;

	snprintf(name, sizeof(name), "/proc/%d/root%s", pid, path);
	rc = open_same(name, inode);
	if (rc >= 0)
		return rc;
	/* The program's own file; this needs no root. */
	snprintf(name, sizeof(name), "/proc/%d/exe", pid);
	fd = inode ? open_same(name, inode) : -ENOENT;
	if (fd < 0)
		fd = open_mapping(pid, inode);
	if (fd >= 0)
		return fd;
	/* The process has ended: the path in wattle's own mount namespace. */
	fd = open_same(path, inode);
	if (fd < 0 && (rc == -ESTALE || path[wtl_file_name_len(path)]))
		fd = -ESTALE;
	return fd;
}
