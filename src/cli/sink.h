/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_SINK_H
#define WTL_CLI_SINK_H

#include <stdbool.h>
#include <stddef.h>

struct wtl_app;
struct wtl_io;
struct wtl_thing;

/* A command's result, and how it is written. */
struct wtl_result {
	const struct wtl_thing *thing;
	const void *what;
	size_t max;		  /* bytes */
	bool is_beside;		  /* on standard error as text, whatever -o and -f say */
	bool cannot_be_had_again; /* so it goes to standard error when it cannot be written */
};

/* Writes a result in the format and to the place that the
 * settings say; complains if that fails. 0 or negative errno. */
int wtl_sink_write(struct wtl_app *app, struct wtl_io *io, const struct wtl_result *result);
/* Where a result goes without a file: to standard error if the user's command runs,
 * whose own results go to standard output. Else, and with "-o -", to standard output. */
int wtl_sink_fd(const struct wtl_app *app);
/* Checks before any work whether the output can be written, and is no recording. 0 or negative. */
int wtl_sink_check(struct wtl_app *app);
/* The same for another file; path may be NULL. */
int wtl_sink_check_file(struct wtl_app *app, const char *path);
/* The tape to be written must replace no recording, nor another user's file; opening it finds other errors. */
int wtl_sink_check_tape(struct wtl_app *app);
/* Whether a file is a recording, by its header. */
bool wtl_sink_is_recording(const char *path);

#endif
