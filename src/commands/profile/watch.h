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

/* A program that is looked at while it runs: its samples and switches become a trace, in a thread of its own. */
struct wtl_profile_watch {
	struct wtl_rings_options how;
	bool has_memory;	 /* resident memory is looked at as well */
	bool may_look;		 /* in /proc, where the kernel gives no samples: */
	struct wtl_looks *looks; /* then this is there, and no rings */
	struct wtl_rings *rings;
	struct wtl_trace trace;	  /* the reader's, while there is one; */
	struct wtl_memory memory; /* this as well */
	pthread_mutex_t taking;	  /* or whoever has this */
	size_t n_denied;	  /* descendants that may not be looked at */
	pthread_t reader;
	int64_t taken_ns; /* all samples before */
	bool is_in_place; /* the reader comes onto the processor of the thread that was sampled */
	cpu_set_t cpus;	  /* where the reader may run; none: it is not known */
	int cpu;	  /* where it is to run; negative: anywhere */
	int n_away;	  /* wakes in a row at which it was to run elsewhere */
	struct wtl_pace pace;
	int64_t slack_ns; /* of the reader's timers */
	int reader_stop;  /* readable: the reader is to end; 0: there is none */
};

/* 0, or negative with the reason. 1, with the reason: threads are looked at instead. close() in any case. */
int wtl_profile_watch_open(struct wtl_profile_watch *watch, struct wtl_err *err);
/* From now on. The program is whatever the calling thread starts; or, with a process, that one. The same. */
int wtl_profile_watch_begin(struct wtl_profile_watch *watch, struct wtl_err *err);
/* The program's process, which was just started. */
void wtl_profile_watch_follow(struct wtl_profile_watch *watch, int pid);
int wtl_profile_watch_attach(struct wtl_profile_watch *watch, struct wtl_err *err);
/* Nothing new comes. A moment later, all of it is in the trace, as of then. */
void wtl_profile_watch_stop(struct wtl_profile_watch *watch);
void wtl_profile_watch_end(struct wtl_profile_watch *watch, int64_t now_ns);
/* Says which programs' debug information could not be read, once functions are named. */
void wtl_profile_watch_complain(struct wtl_app *app, const struct wtl_trace *trace);
void wtl_profile_watch_close(struct wtl_profile_watch *watch);

#endif
