/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_FD_H
#define WTL_BASE_FD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Descriptors: writing to them, which may be pipes that nobody reads; and how many there may be. */

/*
 * Writes all of it. A pipe (terminal, socket) that is full is waited for until it takes more, but not when a signal that
 * this thread blocks asks for the end, nor longer than patience_ms (-1: no limit) without a byte taken: -ECANCELED. 0 or
 * negative errno.
 */
int wtl_fd_write_within(int fd, const void *data, size_t len, int patience_ms);
int wtl_fd_write_all(int fd, const void *data, size_t len); /* no limit */

/* As much as is taken without waiting: how many bytes, or negative errno. */
ssize_t wtl_fd_write_some(int fd, const void *data, size_t len);

/* As many descriptors as this process may give itself: their soft limit is raised. How many. What it starts inherits that. */
size_t wtl_fd_allow_many(void);

/* Has a signal that is blocked, and so ends nothing by itself, asked for the end? */
bool wtl_fd_end_is_asked_for(void);

#endif
