/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_CHILD_WATCH_H
#define WTL_CLI_CHILD_WATCH_H

struct wattle_meter;
struct wtl_app;
struct wtl_child;
struct wtl_io;
struct wtl_loop;

/* The settings' command, from its start to its end. What goes wrong is said. */

/* wtl_loop_init(), and who is called after each sample. 0 or negative; wtl_loop_done() after 0 only. */
int wtl_loop_open(struct wtl_loop *loop, struct wtl_app *app, void (*ticked)(void *context),
		  void *context);
/* 0, or the exit code that a shell would have. */
int wtl_child_begin(struct wtl_child *child, struct wtl_app *app);
/* Until it ends, is left to itself, or loop->stop is set; as wtl_loop_run(). */
void wtl_child_watch(struct wtl_child *child, const struct wtl_app *app, struct wtl_loop *loop,
		     struct wattle_meter *meter, struct wtl_io *io);
/* Reaps it. Its exit code; of one that goes on, of the signal that left it to itself. */
int wtl_child_end(struct wtl_child *child, const struct wtl_loop *loop);

#endif
