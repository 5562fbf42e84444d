/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_HELD_H
#define WTL_BASE_HELD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct wtl_io;

/*
 * A file that is read again and again: its descriptor is held open; after a failure it is closed and
 * opened anew by the next read, and after further failures in a row once in WTL_REPROBE_NS.
 */
#define WTL_REPROBE_NS INT64_C(1000000000)

struct wtl_held_file {
	struct wtl_io *io;
	char path[192];
	int file;	  /* < 0: not open */
	int error;	  /* of the last read, negative errno, or 0 */
	int64_t retry_ns; /* monotonic: not to be tried before */
};

/* Opens. The struct is good for reading (and closing) whatever this returns: 0 or negative errno. */
int wtl_held_file_open(struct wtl_held_file *held, struct wtl_io *io, const char *path);
/* The same for a file that may not be there, which is not looked for again. */
void wtl_held_file_if_there(struct wtl_held_file *held, struct wtl_io *io, const char *path);
void wtl_held_file_close(struct wtl_held_file *held); /* a zeroed struct is fine */

/* The content, at most `size` bytes. Its length, or a negative errno. */
ssize_t wtl_held_file_text(struct wtl_held_file *held, char *text, size_t size);
/* Reads one unsigned (or signed) decimal number. 0, or a negative errno; *ret only on success. */
int wtl_held_file_u64(struct wtl_held_file *held, uint64_t *ret);
int wtl_held_file_i64(struct wtl_held_file *held, int64_t *ret);

#endif
