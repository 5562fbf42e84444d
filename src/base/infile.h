/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_INFILE_H
#define WTL_BASE_INFILE_H

#include <stdbool.h>

struct wtl_buf;

/* A name of a descriptor that this process has: /dev/stdin, /dev/fd/63 (as shells name what a command prints). */
bool wtl_infile_is_descriptor(const char *path);

/*
 * Opens a user's file for reading, and never waits for somebody to write it: a regular file or /dev/null. -EISDIR;
 * -WTL_ENOTFILE for anything else, which is not opened: a pipe may never end, and to open a device may do something.
 */
int wtl_infile_open(const char *path);
int wtl_infile_open_at(int folder, const char *path);

/* Appends all that such a file has. Of a descriptor's name also what comes by a pipe, up to its end, which is waited for:
 * call it while signals may end the program. 0, negative errno, or the buffer's error. */
int wtl_infile_read(const char *path, struct wtl_buf *buf);
/* The same of an open file. */
int wtl_infile_read_fd(int fd, struct wtl_buf *buf);

#endif
