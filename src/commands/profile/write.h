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
	bool *is_over; /* set where a bound of --fail-if is not kept */
	bool is_saved; /* in a file: it can be had again, and no tree is told beside what is written */
};

/* In the format and to the place that the options say; says so where that fails. Text goes where the report of a run
 * goes; beside a file of another format, to standard error. 0 or negative. */
int wtl_profile_write(const struct wtl_profile_writing *writing, const struct wtl_profile *profile);
/* What is in the buffer, to the file, or to the descriptor where there is none; rc < 0: nothing. 0 or negative after
 * wtl_complain(). */
int wtl_profile_write_out(const struct wtl_profile_writing *writing, const struct wtl_buf *buf,
			  int rc, const char *path, int fd);
/* The format by what the file is called, and what options do not go together. 0, or negative after wtl_complain(). */
int wtl_profile_check(struct wtl_app *app);
/* Of a tree or a table. 0, or positive after wtl_complain(). */
int wtl_profile_check_sort(struct wtl_app *app);

#endif
