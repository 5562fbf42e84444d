/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_TOP_SESSION_H
#define WTL_CLI_TOP_SESSION_H

#include <limits.h>

#include "cli/app.h"
#include "cli/top_collect.h"
#include "cli/top_ui.h"

/* A session of `wattle top`: collecting, showing, and what the user wishes. */
struct wtl_top_session {
	struct wtl_app *app;
	struct wtl_top_collector
		*collector; /* may outlive the session: see wtl_top_collector_done() */
	struct wtl_top_ui ui;
	struct wtl_top_rows rows;
	struct wtl_canvas canvas;
	char config_path[PATH_MAX]; /* "": there is no place for it */
};

/* One picture on standard output. Returns the exit code. */
int wtl_top_once(struct wtl_top_session *session);
/* The live screen. Returns the exit code. */
int wtl_top_live(struct wtl_top_session *session);

/* top_files.c: the configuration. Remarks and errors are told to the user. */
void wtl_top_config_load(struct wtl_top_session *session);
/* 0 or a negative errno. */
int wtl_top_config_save(const struct wtl_top_session *session);

/* Sends the victim's signal, but never to another process that has its number now. 0, -ESRCH, … */
int wtl_top_send_signal(const struct wtl_top_victim *victim);

#endif
