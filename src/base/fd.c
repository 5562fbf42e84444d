/* SPDX-License-Identifier: MIT */
#include "base/fd.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAP_MS = 20 };

bool wtl_fd_end_is_asked_for(void)
{
	sigset_t pending;

	return sigpending(&pending) == 0 &&
	       (sigismember(&pending, SIGINT) || sigismember(&pending, SIGTERM) ||
		sigismember(&pending, SIGHUP));
}

/* How much to write at once when poll() reports room: a pipe takes that much then. 0: no poll() is needed. */
static size_t most_at_once(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? 0 : PIPE_BUF;
}

/* Writes some of it, once there is room. 0: there is no room so far. */
static ssize_t write_piece(int fd, const void *data, size_t len, size_t most, int timeout_ms)
{
	struct pollfd room = {.fd = fd, .events = POLLOUT};
	ssize_t n;

	if (most > 0 && poll(&room, 1, timeout_ms) <= 0)
		return 0;
	n = write(fd, data, most > 0 && len > most ? most : len);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ? 0 : -errno;
	return n > 0 || len == 0 ? n : -EIO;
}

int wtl_fd_write_within(int fd, const void *data, size_t len, int patience_ms)
{
	size_t most = most_at_once(fd), done = 0;
	int waited_ms = 0;

	while (done < len) {
		ssize_t n = write_piece(fd, (const char *)data + done, len - done, most, NAP_MS);

		if (n < 0)
			return (int)n;
		done += (size_t)n;
		waited_ms = n > 0 ? 0 : waited_ms + NAP_MS;
		if (n == 0 &&
		    (wtl_fd_end_is_asked_for() || (patience_ms >= 0 && waited_ms > patience_ms)))
			return -ECANCELED;
	}
	return 0;
}

int wtl_fd_write_all(int fd, const void *data, size_t len)
{
	return wtl_fd_write_within(fd, data, len, -1);
}

ssize_t wtl_fd_write_some(int fd, const void *data, size_t len)
{
	size_t most = most_at_once(fd), done = 0;

	while (done < len) {
		ssize_t n = write_piece(fd, (const char *)data + done, len - done, most, 0);

		if (n < 0)
			return n;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

size_t wtl_fd_allow_many(void)
{
	struct rlimit limit = {0};

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	return limit.rlim_cur < SIZE_MAX ? limit.rlim_cur : SIZE_MAX;
}
