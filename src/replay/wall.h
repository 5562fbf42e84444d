/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_WALL_H
#define WTL_REPLAY_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_store_reader;

/*
 * What the clock on the wall showed at each moment of a recording. It may have been set meanwhile, forward or
 * back, and goes on while the machine sleeps, which CLOCK_MONOTONIC does not.
 */
struct wtl_wall {
	struct wtl_wall_point {
		int64_t mono_ns, ahead_ns; /* from then on: UTC - CLOCK_MONOTONIC */
		int64_t slept_ns;	   /* by then, since the recording's start */
	} * points;			   /* times rise */
	size_t n, room;
};

/* By the periods' times, and by the seconds of those in which it did not go evenly. 0 or -ENOMEM; a zeroed
 * one is for wtl_wall_done(), too. */
int wtl_wall_read(struct wtl_wall *wall, struct wtl_store_reader *reader);
void wtl_wall_done(struct wtl_wall *wall);

/* Before the recording's start and behind its end as if it had gone on evenly. */
int64_t wtl_wall_utc(const struct wtl_wall *wall, int64_t t_mono_ns);
/* The same at a time of a clock that goes on while the machine sleeps, and was CLOCK_MONOTONIC at the start. */
int64_t wtl_wall_utc_awake(const struct wtl_wall *wall, int64_t t_ns);
/* How long it had slept by then, since the start. */
int64_t wtl_wall_slept(const struct wtl_wall *wall, int64_t t_mono_ns);
/* The first moment that showed that time, or, where the clock skipped it, a later one; behind the end as if it
 * had gone on. false: it had never been that early. */
bool wtl_wall_find(const struct wtl_wall *wall, int64_t t_utc_ns, int64_t *ret_mono_ns);

#endif
