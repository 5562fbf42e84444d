/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_ASLEEP_H
#define WTL_PROFILE_ASLEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/ring.h"

/*
 * Threads that left their processor, and of which the kernel told the registers alone, or nothing. The stack of one that
 * sleeps does not change, so it is read from its memory later on. Of threads that came back meanwhile nothing is read.
 */

enum { WTL_ASLEEP_SLOTS = 1024, WTL_ASLEEP_STACK = 1 << 16 };

struct wtl_asleep_slot {
	bool is_waiting;
	uint32_t thread;
	struct wtl_ring_event left;
};

struct wtl_asleep {
	struct wtl_asleep_slot *slots; /* NULL: none are kept */
	uint8_t *stack;
	uint32_t first,
		next; /* those that wait are among the slots from the first one to before the next */
};

int wtl_asleep_init(struct wtl_asleep *asleep); /* 0 or -ENOMEM */
void wtl_asleep_done(struct wtl_asleep *asleep);

/* The thread leaves; *slot is where it was noted before, and is now. Too many: the oldest one is forgotten. */
void wtl_asleep_note(struct wtl_asleep *asleep, uint32_t thread, uint32_t *slot,
		     const struct wtl_ring_event *left);
/* A sample of a thread that sleeps: of its registers /proc tells the stack pointer and the instruction. false: it runs,
 * or may not be looked at. */
bool wtl_asleep_find(int pid, int tid, struct wtl_ring_event *ret_event);
/* Adds the stack, as it is now, to what was told, or to what /proc tells. false: it cannot be read. */
bool wtl_asleep_read(const struct wtl_asleep *asleep, struct wtl_ring_event *left);

#endif
