/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_FD_H
#define WTL_CLI_FD_H

#include <stddef.h>

struct wtl_buf;

/* Appends all that there is up to the end. 0, negative errno, or the buffer's error. */
int wtl_fd_read_all(int fd, struct wtl_buf *buf);
/* The same of a file. */
int wtl_fd_read_file(const char *path, struct wtl_buf *buf);
/* 0 or negative errno. */
int wtl_fd_write_all(int fd, const char *data, size_t len);

#endif
