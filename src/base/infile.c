/* SPDX-License-Identifier: MIT */
#include "base/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"

#define FLAGS (O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)

bool wtl_infile_is_descriptor(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};

	/* A path below a directory's descriptor is not that of a descriptor. */
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (wtl_text_starts(path, folders[i]))
			return !strchr(path + strlen(folders[i]), '/');
	return strcmp(path, "/dev/stdin") == 0 || strcmp(path, "/dev/stdout") == 0 ||
	       strcmp(path, "/dev/stderr") == 0;
}

static int check_kind(const struct stat *st)
{
	if (S_ISREG(st->st_mode) || (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3)))
		return 0;
	return S_ISDIR(st->st_mode) ? -EISDIR : -WTL_ENOTFILE;
}

int wtl_infile_open_at(int folder, const char *path)
{
	struct stat st;
	int rc = fstatat(folder, path, &st, 0) < 0 ? -errno : check_kind(&st), fd;

	if (rc < 0)
		return rc;
	fd = openat(folder, path, FLAGS);
	if (fd < 0)
		return -errno;
	/* The name may belong to another file by now. */
	rc = fstat(fd, &st) < 0 ? -errno : check_kind(&st);
	if (rc == 0)
		return fd;
	close(fd);
	return rc;
}

int wtl_infile_open(const char *path)
{
	return wtl_infile_open_at(AT_FDCWD, path);
}

int wtl_infile_read_fd(int fd, struct wtl_buf *buf)
{
	char piece[16384];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (wtl_buf_add(buf, piece, (size_t)n) < 0)
			return buf->error;
	}
	return 0;
}

/* Opening the name of a pipe makes a description of its own: standard input itself stays as it is. */
static int open_descriptor(const char *path)
{
	int fd = open(path, FLAGS);

	if (fd < 0)
		return -errno;
	fcntl(fd, F_SETFL, O_RDONLY);
	return fd;
}

int wtl_infile_read(const char *path, struct wtl_buf *buf)
{
	int fd = wtl_infile_is_descriptor(path) ? open_descriptor(path) : wtl_infile_open(path), rc;

	if (fd < 0)
		return fd;
	rc = wtl_infile_read_fd(fd, buf);
	close(fd);
	return rc;
}
