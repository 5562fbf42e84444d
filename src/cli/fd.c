/* SPDX-License-Identifier: MIT */
#include "cli/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"

int wtl_fd_read_all(int fd, struct wtl_buf *buf)
{
	char piece[8192];
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

int wtl_fd_read_file(const char *path, struct wtl_buf *buf)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), rc;

	if (fd < 0)
		return -errno;
	rc = wtl_fd_read_all(fd, buf);
	close(fd);
	return rc;
}

int wtl_fd_write_all(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}
