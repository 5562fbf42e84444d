/* SPDX-License-Identifier: MIT */
/*
 * What the owner of a folder can do when a socket has just been bound in it, by LD_PRELOAD: the socket goes away, and a link to
 * $WATTLE_TEST_VICTIM has its name.
 */
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

__attribute__((visibility("default"))) int bind(int fd, const struct sockaddr *to, socklen_t len)
{
	const char *victim = getenv("WATTLE_TEST_VICTIM");
	const char *path = ((const struct sockaddr_un *)(const void *)to)->sun_path;
	int rc = (int)syscall(SYS_bind, fd, to, len);

	if (rc == 0 && victim && to->sa_family == AF_UNIX && path[0] &&
	    (unlink(path) < 0 || symlink(victim, path) < 0))
		abort();
	return rc;
}
