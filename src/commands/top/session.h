/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_SESSION_H
#define WTL_COMMANDS_TOP_SESSION_H

#include <limits.h>
#include <stdbool.h>

#include "commands/top/collect.h"
#include "commands/top/ui.h"

struct wtl_top_picture;
struct wtl_top_session;

/* A session's picture and keys: those of wattle top or of plot --live. */
struct wtl_top_face {
	/* Once the domains are known: 0, or the exit code after a complaint. NULL: no check. */
	int (*check)(struct wtl_top_session *session, const struct wtl_top_view *view);
	void (*draw)(struct wtl_top_session *session, const struct wtl_top_picture *picture);
	enum wtl_top_wish (*input)(struct wtl_top_session *session, const struct wtl_top_view *view,
				   const struct wtl_input *input, int64_t now_ns);
	/* For a single picture: its height, and how long to measure before. */
	int (*once_rows)(struct wtl_top_session *session, const struct wtl_top_view *view,
			 int columns);
	int64_t once_ns;
	bool without_table; /* of processes */
};

/* A session: collecting, showing, and the user's wishes. */
struct wtl_top_session {
	const struct wtl_top_face *face;
	struct wtl_app *app;
	const struct wtl_top_settings *settings;
	/* May outlive the session: see wtl_top_collector_done(). */
	struct wtl_top_collector *collector;
	struct wtl_top_ui ui;
	struct wtl_top_rows rows;
	struct wtl_canvas canvas;
	char config_path[PATH_MAX]; /* "": there is no path */
};

/*
 * Collects and shows: one picture on standard output, or live on the screen. app, settings and face are
 * set; prepare sets the ui's start state, which options for the screen override. Returns the exit code.
 */
int wtl_top_session_run(struct wtl_top_session *session, bool is_once,
			void (*prepare)(struct wtl_top_session *session));
/* The same on the screen, in builds with terminal support (live.c). */
int wtl_top_session_live(struct wtl_top_session *session);

/* Checks the view, makes its rows, and draws its picture. */
int wtl_top_session_check(struct wtl_top_session *session, const struct wtl_top_view *view);
void wtl_top_session_rows(struct wtl_top_session *session, const struct wtl_top_view *view);
void wtl_top_session_draw(struct wtl_top_session *session, const struct wtl_top_view *view,
			  bool is_still);

/* ---- files.c ---- */

/* The configuration. Remarks and errors go to standard error. */
void wtl_top_config_load(struct wtl_top_session *session);
/* 0 or a negative errno. */
int wtl_top_config_save(const struct wtl_top_session *session);

/* Sends the victim's signal, but never to another process with its number, now or in another PID namespace. 0, -ESRCH;
 * -EXDEV: its namespace cannot be reached from here; or as kill(2). */
int wtl_top_send_signal(const struct wtl_top_victim *victim);

#endif
