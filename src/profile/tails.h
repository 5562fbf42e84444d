/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_TAILS_H
#define WTL_PROFILE_TAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "profile/ring.h"
#include "profile/unwind.h"

/*
 * The part of a stack beyond what the kernel copies: functions of numpy and OpenBLAS have more than that in one frame.
 * It is read from the program's memory as soon as a sample is in its ring, for threads whose stacks were cut lately.
 * Callers are still where they were, unless the function that ran has returned meanwhile.
 */

/* What a thread needs. All zeros: nothing yet. */
struct wtl_tail_need {
	int64_t cut_ns;	 /* when a stack was last cut */
	size_t size;	 /* bytes */
	unsigned n_vain; /* tails in a row that led nowhere */
	uint64_t far;	 /* the address where a stack was last cut beyond those; 0: none was */
};

struct wtl_tail {
	int tid;
	int64_t t_ns; /* of its sample */
	uint64_t address;
	uint8_t *bytes; /* room for the kernel's copy, then n bytes */
	size_t n, room;
	uint8_t *far; /* a part further out, behind those in `bytes` */
	uint64_t far_address;
	size_t far_n;
};

struct wtl_tails {
	struct wtl_tail *list; /* a ring buffer */
	size_t size, next;
	size_t copied;		      /* by the kernel, of the joined sample */
	int64_t cut_ns;		      /* when any stack was last cut */
	struct wtl_ring_event joined; /* see wtl_tails_join() */
};

int wtl_tails_init(struct wtl_tails *tails); /* 0 or -ENOMEM */
void wtl_tails_done(struct wtl_tails *tails);

/* Reads a process's memory up to the end of what is mapped. Returns how much, or negative. */
ssize_t wtl_tails_read(int pid, uint64_t address, uint8_t *to, size_t size);
/* Whether samples must be glanced at as soon as they are there. */
bool wtl_tails_are_needed(const struct wtl_tails *tails, int64_t now_ns);
/* A sample came: reads its tail, if its thread needs that. */
void wtl_tails_glance(struct wtl_tails *tails, const struct wtl_tail_need *need,
		      const struct wtl_ring_glance *glance, int64_t now_ns);
/* For a sample with a cut stack: the sample with what was read, until the next call; NULL: nothing was. */
const struct wtl_ring_event *wtl_tails_join(struct wtl_tails *tails, struct wtl_tail_need *need,
					    const struct wtl_ring_event *sample);
/* Adapts the need to how the last joined stack ended, its outermost place, and the address missing where it was cut. */
void wtl_tails_learn(const struct wtl_tails *tails, struct wtl_tail_need *need,
		     enum wtl_unwind_end end, const struct wtl_unwind_place *outermost,
		     uint64_t cut_at);

#endif
