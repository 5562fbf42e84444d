/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_KEEP_H
#define WTL_COMMANDS_PROFILE_KEEP_H

#include <stdint.h>

struct wtl_err;
struct wtl_profile_keep;
struct wtl_recorder;

struct wtl_app;
struct wattle_meter;

/*
 * How often a meter is read, unless an option says so: every 5 ms where counters move, which do so once a millisecond. A
 * model says the same of every second of CPU time; there, the usual 100 ms do. NULL: it is going to be opened. (energy.c)
 */
void wtl_profile_choose_interval(struct wtl_app *app, struct wattle_meter *meter);

enum { WTL_PROFILE_HZ = 997, WTL_PROFILE_HZ_MAX = 10000, WTL_PROFILE_STACK_BYTES = 16384 };

/*
 * A profile that is kept in a recording while it is taken: with each commit what was seen since the one before; at the end
 * what functions are called. Energy is not in it: the recording has that.
 */

/* Of whatever the calling thread starts from now on; or of that process and its descendants. 0, or negative with the
 * reason. */
int wtl_profile_keep_new(unsigned hz, int pid, struct wtl_profile_keep **ret_keep,
			 struct wtl_err *err);
/* Before a commit. */
void wtl_profile_keep_more(struct wtl_profile_keep *keep, struct wtl_recorder *recorder);
/* Nothing new comes; then, a moment later, the rest and the names. */
void wtl_profile_keep_stop(struct wtl_profile_keep *keep);
void wtl_profile_keep_end(struct wtl_app *app, struct wtl_profile_keep *keep,
			  struct wtl_recorder *recorder, int64_t now_ns);
void wtl_profile_keep_free(struct wtl_profile_keep *keep); /* NULL is fine */

#endif
