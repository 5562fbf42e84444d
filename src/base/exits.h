/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_EXITS_H
#define WTL_BASE_EXITS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * What the kernel tells of every task that ends: the exit records of its taskstats interface, by
 * generic netlink (Documentation/accounting/taskstats.rst of the kernel's source).
 */
struct wtl_exits {
	int fd;
	uint16_t family;
	uint32_t sequence;
	char cpus[1024]; /* whose exits were asked for, as the kernel lists them */
};

/*
 * Asks for the exits on every CPU. 0; -EOPNOTSUPP where the kernel has no taskstats; -EPERM without
 * CAP_NET_ADMIN, or outside the first user, PID or network namespace; or another negative errno.
 * Starts a thread for a moment, whose own exit may be the first that is read.
 */
int wtl_exits_open(struct wtl_exits *exits);

/* One datagram, cut to size, without waiting: its length, 0 for none, -ENOBUFS once after the
 * kernel had to drop some. */
ssize_t wtl_exits_read(const struct wtl_exits *exits, void *buf, size_t size);

void wtl_exits_close(struct wtl_exits *exits);

#endif
