/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_WATCH_H
#define WTL_COMMANDS_PROFILE_WATCH_H

#include <pthread.h>
#include <sched.h>

#include "profile/memory.h"
#include "profile/pace.h"
#include "profile/ring.h"
#include "profile/trace.h"

struct wtl_app;
struct wtl_err;

/* Observes a running program: a thread of its own makes a trace of its samples and switches. */
struct wtl_profile_watch {
	struct wtl_rings_options how;
	bool has_memory;	 /* resident memory is recorded as well */
	bool may_look;		 /* may use /proc if the kernel gives no samples: */
	struct wtl_looks *looks; /* then this is used instead of rings */
	struct wtl_rings *rings;
	struct wtl_trace trace;	  /* used by the reader while it runs, */
	struct wtl_memory memory; /* like this, */
	pthread_mutex_t taking;	  /* or by the holder of this */
	size_t n_denied;	  /* descendants without permission */
	pthread_t reader;
	int64_t taken_ns; /* samples up to then were taken */
	bool is_in_place; /* the reader follows the sampled thread's processor */
	cpu_set_t cpus;	  /* where the reader may run; empty: not known */
	int cpu;	  /* the reader's processor; negative: any */
	int n_away;	  /* wakeups in a row that called for another processor */
	struct wtl_pace pace;
	int64_t slack_ns; /* of the reader's timers */
	int reader_stop;  /* eventfd, readable when the reader is to end; 0: none */
};

/* 0, or negative with the reason. 1, with the reason: /proc is read instead of rings. close() in any case. */
int wtl_profile_watch_open(struct wtl_profile_watch *watch, struct wtl_err *err);
/* Observes from now on: whatever the calling thread starts, or process how.pid. 0, or negative with the reason. */
int wtl_profile_watch_begin(struct wtl_profile_watch *watch, struct wtl_err *err);
/* Follows the program's process, which was just started. */
void wtl_profile_watch_follow(struct wtl_profile_watch *watch, int pid);
int wtl_profile_watch_attach(struct wtl_profile_watch *watch, struct wtl_err *err);
/* stop() ends sampling. After end(), a moment later, the trace is complete up to now_ns. */
void wtl_profile_watch_stop(struct wtl_profile_watch *watch);
void wtl_profile_watch_end(struct wtl_profile_watch *watch, int64_t now_ns);
/* Says which programs' debug information could not be read, once functions are named. */
void wtl_profile_watch_complain(struct wtl_app *app, const struct wtl_trace *trace);
void wtl_profile_watch_close(struct wtl_profile_watch *watch);

#endif
