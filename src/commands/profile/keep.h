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
 * Sets how often a meter is read, unless an option does: every 5 ms where energy is measured, as counters move once a
 * millisecond; else, with a model, every 100 ms. meter is NULL: it is not open yet. (energy.c)
 */
void wtl_profile_choose_interval(struct wtl_app *app, struct wattle_meter *meter);

enum { WTL_PROFILE_HZ = 997, WTL_PROFILE_HZ_MAX = 10000, WTL_PROFILE_STACK_BYTES = 16384 };

/*
 * A profile that is kept in a recording while it is taken: each commit writes what was seen since the last one, and the
 * end writes function names. It has no energy: the recording has that.
 */

/* Profiles whatever the calling thread starts from now on; or process pid (not 0) and its descendants. 0, or
 * negative with the reason. */
int wtl_profile_keep_new(unsigned hz, int pid, struct wtl_profile_keep **ret_keep,
			 struct wtl_err *err);
/* Call before each commit. */
void wtl_profile_keep_more(struct wtl_profile_keep *keep, struct wtl_recorder *recorder);
/* stop() ends sampling; end(), a moment later, writes the rest and the names. */
void wtl_profile_keep_stop(struct wtl_profile_keep *keep);
void wtl_profile_keep_end(struct wtl_app *app, struct wtl_profile_keep *keep,
			  struct wtl_recorder *recorder, int64_t now_ns);
void wtl_profile_keep_free(struct wtl_profile_keep *keep); /* NULL is fine */

#endif
