/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_WAITS_H
#define WTL_PROFILE_WAITS_H

#include <stdint.h>

/*
 * Where a thread was while it was on no processor. The kernel shows where it leaves one some of the times, not each
 * time. A time in between is placed where the thread left at the shown time that is nearest by its own CPU time, before
 * or after. If neither is near, it is not known where.
 */

enum { WTL_WAITS_OPEN = 4 };

/* When a thread left a processor. */
struct wtl_waits_moment {
	int64_t cpu_ns; /* its CPU time up to then */
	int64_t t_ns;
};

struct wtl_waits_open {
	struct wtl_waits_moment left;
	uint32_t turn;
	int64_t wait_ns;
};

struct wtl_waits {
	uint32_t node;	  /* of the tree, where it was shown to leave last; 0: nowhere yet */
	uint32_t n_turns; /* times that it left since then */
	struct wtl_waits_moment shown; /* when that was */
	/* Waits since then, by time: they may be nearer to the next one. Where there are too many, two are one. */
	unsigned n;
	struct wtl_waits_open open[WTL_WAITS_OPEN];
};

/* So long it was at that node; 0: it is not known where. */
typedef void wtl_waits_place_fn(void *context, uint32_t node, int64_t wait_ns);

/* It left then, and waited. */
void wtl_waits_add(struct wtl_waits *waits, struct wtl_waits_moment left, int64_t wait_ns,
		   wtl_waits_place_fn *place, void *context);
/* It was shown to leave there. node: 0, if its stack could not be told. */
void wtl_waits_show(struct wtl_waits *waits, uint32_t node, struct wtl_waits_moment left,
		    wtl_waits_place_fn *place, void *context);
/* Nothing more will be shown. */
void wtl_waits_end(struct wtl_waits *waits, wtl_waits_place_fn *place, void *context);

#endif
