/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_RECORD_BACKGROUND_H
#define WTL_COMMANDS_RECORD_BACKGROUND_H

#include <stdbool.h>

#include "cli/complain.h"

enum { WTL_LOG_NAME_SIZE = 4096 + 8 };

/*
 * `wattle record --background`: the process that records is a grandchild, in a session of its own. The
 * one in the foreground waits until it records, or has said why not, and ends with that.
 */
struct wtl_background {
	struct wtl_app *app;
	int pipe;		     /* to the one in the foreground; -1: nobody waits (any more) */
	char log[WTL_LOG_NAME_SIZE]; /* the file for what is said later; "" none */
};

/*
 * Before anything is opened. 1: this is the process that records, and it says what goes wrong as ever;
 * 0: this was the foreground, which is done, with *ret_exit; negative after wtl_complain().
 */
int wtl_background_enter(struct wtl_background *background, struct wtl_app *app, int *ret_exit);

/*
 * It records: tells the foreground, and leaves the terminal. Where no command has them, standard output
 * becomes /dev/null (as input is already), and errors go to FILE.log. can_stop: --stop will find it. false: the
 * foreground is gone, and so is the wish.
 */
bool wtl_background_ready(struct wtl_background *background, bool can_stop);

/* The exit code, which the foreground takes over if it still waits; a log in which nothing was
 * written is removed. */
void wtl_background_leave(struct wtl_background *background, int code);

/* `wattle record --stop [FILE]`: returns the exit code. */
int wtl_background_stop(struct wtl_app *app, const char *file);

#endif
