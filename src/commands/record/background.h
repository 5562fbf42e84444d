/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_RECORD_BACKGROUND_H
#define WTL_COMMANDS_RECORD_BACKGROUND_H

#include <stdbool.h>

#include "cli/complain.h"

enum { WTL_LOG_NAME_SIZE = 4096 + 8 };

/*
 * `wattle record --background`: the process that records is a grandchild in its own session. The foreground
 * process waits until it records or has failed, and exits accordingly.
 */
struct wtl_background {
	struct wtl_app *app;
	int pipe;		     /* to the foreground; -1: it does not wait (any more) */
	char log[WTL_LOG_NAME_SIZE]; /* the file for later errors; "" none */
};

/*
 * To be called before anything is opened. 1: this is the process that records, and complains as usual; 0: this
 * was the foreground, which is done, with *ret_exit; negative after wtl_complain().
 */
int wtl_background_enter(struct wtl_background *background, struct wtl_app *app, int *ret_exit);

/*
 * The recording has begun: tells the foreground, and leaves the terminal. Without a command, standard output
 * becomes /dev/null (as input already is), and errors go to FILE.log. can_stop: --stop will find it. false: the
 * foreground has gone, so the recording should end.
 */
bool wtl_background_ready(struct wtl_background *background, bool can_stop);

/* Passes the exit code to the foreground if that still waits, and removes an empty log. */
void wtl_background_leave(struct wtl_background *background, int code);

/* `wattle record --stop [FILE]`: returns the exit code. */
int wtl_background_stop(struct wtl_app *app, const char *file);

#endif
