/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_WALL_H
#define WTL_REPLAY_WALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_store_reader;

/*
 * The wall clock's time at each moment of a recording. The clock may have been set meanwhile,
 * forward or back. It goes on while the machine sleeps, which CLOCK_MONOTONIC does not.
 */
struct wtl_wall {
	struct wtl_wall_point {
		int64_t mono_ns, ahead_ns; /* from then on: UTC - CLOCK_MONOTONIC */
		int64_t slept_ns;	   /* until then, since the recording's start */
	} * points;			   /* in ascending order */
	size_t n, room;
};

/* Reads the periods' times, and the seconds of periods in which the clock was set, or the
 * machine slept. 0 or -ENOMEM. Also a zeroed wall may be given to wtl_wall_done(). */
int wtl_wall_read(struct wtl_wall *wall, struct wtl_store_reader *reader);
void wtl_wall_done(struct wtl_wall *wall);

/* Before the recording's start and after its end, as if the clock had not been set. */
int64_t wtl_wall_utc(const struct wtl_wall *wall, int64_t t_mono_ns);
/* The same, at a time of a clock that goes on while the machine sleeps, and equals CLOCK_MONOTONIC at the start. */
int64_t wtl_wall_utc_awake(const struct wtl_wall *wall, int64_t t_ns);
/* How long the machine had slept by then, since the start. */
int64_t wtl_wall_slept(const struct wtl_wall *wall, int64_t t_mono_ns);
/* The first moment at which the clock showed that time or, if it was skipped, a
 * later one; after the end as if it went on. false: it was never that early. */
bool wtl_wall_find(const struct wtl_wall *wall, int64_t t_utc_ns, int64_t *ret_mono_ns);

#endif
