/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_WRITE_H
#define WTL_COMMANDS_PROFILE_WRITE_H

#include "commands/profile/profile.h"

struct wtl_app;
struct wtl_io;

struct wtl_profile_writing {
	struct wtl_app *app;
	struct wtl_io *io;
	const struct wtl_profile_settings *settings;
	bool *is_over; /* set if a bound of --fail-if is not kept */
	bool is_saved; /* read from a file: no text is shown beside another format */
};

/* Writes to the place and in the format that the options say, with a message on failure. Text goes where the report
 * of a run goes; beside another format, to standard error. 0 or negative. */
int wtl_profile_write(const struct wtl_profile_writing *writing, const struct wtl_profile *profile);
/* Writes the buffer to the file, or if path is NULL to fd; rc < 0: writes nothing. 0 or negative after
 * wtl_complain(). */
int wtl_profile_write_out(const struct wtl_profile_writing *writing, const struct wtl_buf *buf,
			  int rc, const char *path, int fd);
/* The exit code of show and diff. */
int wtl_profile_exit(const struct wtl_profile_writing *writing, int rc, bool is_over);
/* Finds the format by the file's name, and checks options. 0, or negative after wtl_complain(). */
int wtl_profile_check(struct wtl_app *app);
/* Refuses --sort without --table. 0, or positive after wtl_complain(). */
int wtl_profile_check_sort(struct wtl_app *app);

#endif
