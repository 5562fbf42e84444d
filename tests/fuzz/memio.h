/* SPDX-License-Identifier: MIT */
#ifndef FUZZ_MEMIO_H
#define FUZZ_MEMIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"

/*
 * A machine in memory, for fuzz targets: a table of paths and their bytes behind a struct wtl_io,
 * much faster than directories. As in a root directory, a content of "!errno NAME" fails with that
 * errno, perf counters are the files /wattle-perf/TYPE-CONFIGHEX-CPU, the CPU times of processes the
 * files /wattle-cpu/PID, and exits the lines of /wattle-exits (for one listener at a time).
 * Directories exist by the files in them. There are no foreign libraries. Running out of memory or
 * places aborts.
 */
enum { MEMIO_FILES_MAX = 128 };

struct memio_file {
	char *path;
	char *bytes; /* NULL: removed; reading it by an old handle is -ENODEV */
	size_t len;
	bool is_link;
};

struct memio {
	struct wtl_io io;
	struct memio_file files[MEMIO_FILES_MAX];
	size_t n_files;
	int open_now;	 /* handles that are not closed: must be 0 at the end */
	int exits;	 /* the handle that the listener to exits has; < 0: none */
	size_t exits_at; /* where in the file the next line begins */
	int64_t now_ns;	 /* monotonic and boot time; set it to let time pass */
	int64_t real_ns; /* UTC at monotonic 0 */
};

void memio_init(struct memio *memio);
void memio_done(struct memio *memio); /* aborts if a handle is still open */

/* Adds a file or replaces its content (handles that are open see the new one). */
void memio_put(struct memio *memio, const char *path, const void *bytes, size_t len);
void memio_puts(struct memio *memio, const char *path, const char *text);
/* A symbolic link for link_read; it is not followed. */
void memio_link(struct memio *memio, const char *path, const char *target);
void memio_remove(struct memio *memio, const char *path);

#endif
