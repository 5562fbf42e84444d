/* SPDX-License-Identifier: MIT */
#include "base/packet.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/below.h"
#include "base/text.h"

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int wtl_packet_connect(const char *path, int timeout_ms)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const struct timespec pause = {.tv_nsec = 1000000};
	int64_t end_ms = now_ms() + timeout_ms;
	int fd, error = 0;

	if (!path[0])
		return -ENOENT;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	wtl_text_copy(address.sun_path, sizeof(address.sun_path), path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* EAGAIN: as many wait as may. */
	while (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		error = errno;
		if (error != EINTR && (error != EAGAIN || now_ms() >= end_ms)) {
			close(fd);
			return error == EAGAIN ? -ETIMEDOUT : -error;
		}
		nanosleep(&pause, NULL);
	}
	return fd;
}

int wtl_packet_connect_below(int root, const char *path, int timeout_ms)
{
	char found[32];
	int rc, fd;

	if (root < 0)
		return wtl_packet_connect(path, timeout_ms);
	/* Links of a root stay in it, so the kernel is given what was found. */
	fd = wtl_below_open(root, path, O_PATH);
	if (fd < 0)
		return fd;
	snprintf(found, sizeof(found), "/proc/self/fd/%d", fd);
	rc = wtl_packet_connect(found, timeout_ms);
	close(fd);
	return rc;
}

/* Until the descriptor can be read or written: 0 or -ETIMEDOUT. */
static int wait_for(int fd, short events, int64_t end_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = events};
	int n;

	do {
		int64_t left_ms = end_ms < 0 ? -1 : end_ms - now_ms();

		if (end_ms >= 0 && left_ms < 0)
			left_ms = 0;
		n = poll(&poll_fd, 1, (int)(left_ms > INT_MAX ? INT_MAX : left_ms));
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return n > 0 ? 0 : -ETIMEDOUT;
}

int wtl_packet_ask(int fd, const char *message, char *answer, size_t size, int timeout_ms)
{
	int64_t end_ms = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
	ssize_t n;
	int rc = wait_for(fd, POLLOUT, end_ms);

	if (rc < 0)
		return rc;
	if (send(fd, message, strlen(message), MSG_NOSIGNAL) < 0)
		return errno == EPIPE ? -ECONNRESET : -errno;
	rc = wait_for(fd, POLLIN, end_ms);
	if (rc < 0)
		return rc;
	n = recv(fd, answer, size - 1, 0);
	if (n < 0)
		return -errno;
	if (n == 0)
		return -ECONNRESET;
	answer[n] = '\0';
	return (int)n;
}
