/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_KEPT_FILE_H
#define WTL_METER_KEPT_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct wtl_io;
struct wtl_log;

/* Text files beside that of idle power: a first line that says what they are, then lines that begin with a key
 * (energy/kept_line.h). */

/* The file of that name. 0 or -ENAMETOOLONG. */
int wtl_kept_file_beside(const char *idle_path, const char *name, char *ret_path, size_t size);

/* Calls take() for each line; false: it is not understood. What is wrong with the file is logged. 0 (also where there is
 * none) or -ENOMEM. */
int wtl_kept_file_read(const char *path, const char *head, const struct wtl_log *log,
		       bool (*take)(void *context, const char *line, size_t len), void *context);

/* Puts a line, which ends with a newline, in place of what the file had of that key. 0 or negative. */
int wtl_kept_file_put(struct wtl_io *io, const char *path, const char *head, const char *key,
		      const char *line);

#endif
