/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_LOOP_H
#define WTL_CLI_LOOP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wattle_meter;
struct wtl_app;
struct wtl_child;
struct wtl_io;

/* Sampling until the command ends. */

/* A descriptor that is served between samples, for a quarter of the time at the most. */
struct wtl_guest {
	int fd; /* it becomes readable when there is something to do */
	void (*serve)(void *context);
	void *context;
	int64_t served_ns; /* since the last sample */
	bool rests;	   /* not served until the next sample */
};

enum { WTL_GUESTS = 3 };

struct wtl_loop {
	int epoll, timer, signals;
	sigset_t watched;
	int64_t interval_ns;
	int64_t hurry_ns; /* the interval until hurry_until_ns, if it is the shorter one */
	int64_t hurry_until_ns;
	bool jitter;
	uint64_t random;
	int64_t due_ns;
	uint64_t late_ticks;
	unsigned interrupts;	       /* signals seen that ask for an end */
	unsigned ctrl_c;	       /* SIGINT among them */
	int last_signal;	       /* the latest of them */
	void (*ticked)(void *context); /* called after each sample; may be NULL */
	/* If set, SIGHUP from another process calls this instead of ending
	 * the loop. SIGHUP from a lost terminal ends it all the same. */
	void (*hung_up)(void *context);
	void *context;
	struct wtl_guest guests[WTL_GUESTS];
	size_t n_guests;
	bool stop; /* set by other parts of wattle to end the loop */
};

/* ticked() is called after each sample. 0, or negative after wtl_complain(); wtl_loop_done() after 0 only. */
int wtl_loop_init(struct wtl_loop *loop, struct wtl_app *app, void (*ticked)(void *context),
		  void *context);
void wtl_loop_done(struct wtl_loop *loop);
/* Serves a descriptor from now on. The descriptor stays the caller's. 0 or negative errno. */
int wtl_loop_watch(struct wtl_loop *loop, int fd, void (*serve)(void *context), void *context);
/* Samples (unless the meter is NULL) until the child ends or loop->stop is set (0), or the user
 * insists (-EINTR). */
int wtl_loop_run(struct wtl_loop *loop, struct wattle_meter *meter, struct wtl_io *io,
		 struct wtl_child *child);
/*
 * The more often power is sampled, the better it is known, above all in a short window. So the run to come
 * is sampled more often in its first seconds, if sampled power counts and the user did not give an interval.
 */
void wtl_loop_hurry(struct wtl_loop *loop, const struct wtl_app *app, struct wattle_meter *meter,
		    struct wtl_io *io);
/* As wtl_loop_run() for the settings' command; remarks if it is left running. */
void wtl_loop_run_command(struct wtl_loop *loop, const struct wtl_app *app,
			  struct wattle_meter *meter, struct wtl_io *io, struct wtl_child *child);
/* Samples for that long or until loop->stop is set (0), or until the user wants an end (-EINTR). */
int wtl_loop_idle(struct wtl_loop *loop, struct wattle_meter *meter, struct wtl_io *io,
		  int64_t duration_ns);
/* Whether the user asked for an end, also while nothing ran. */
bool wtl_loop_interrupted(struct wtl_loop *loop);
/* Nothing runs any more, and the report is to be written: only Ctrl-\ still ends wattle, for a
 * report that nobody takes. */
void wtl_loop_finish(struct wtl_loop *loop);

#endif
