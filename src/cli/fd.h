/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_FD_H
#define WTL_CLI_FD_H

#include <stddef.h>

/* 0 or negative errno. */
int wtl_fd_write_all(int fd, const char *data, size_t len);

#endif
