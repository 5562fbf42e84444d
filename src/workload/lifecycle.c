/* SPDX-License-Identifier: MIT */
/* Processes come, end, and leave their numbers to others; parents are told what their children used. */
#include <errno.h>

#include "workload/state.h"

enum {
	ROOM_PART = 16,	  /* of the slots are kept for rows */
	PARENTS_MAX = 32, /* generations */
};

static int64_t child_ns(const struct wtl_place *place)
{
	return (int64_t)place->child_ticks * WTL_NS_PER_TICK;
}

/* The process that the kernel tells of a child's end: an ended one is passed over, for its parent. */
static uint32_t told(const struct wtl_roster *roster, uint32_t slot)
{
	for (int i = 0; i < PARENTS_MAX && slot != WTL_NO_SLOT; i++) {
		if (roster->places[slot].live != WTL_NOT_LIVE)
			return slot;
		slot = wtl_roster_find(roster, roster->consumers[slot].parent);
	}
	return WTL_NO_SLOT;
}

void wtl_workload_child_used(struct wtl_workload *workload, uint32_t ancestor, int64_t cpu_ns,
			     uint32_t child)
{
	uint32_t slot = told(&workload->roster, ancestor);

	if (slot == WTL_NO_SLOT)
		return;
	workload->roster.places[slot].children_ns += cpu_ns;
	workload->roster.places[slot].scan_child = workload->n_scans;
	if (child != WTL_NO_SLOT)
		wtl_children_add(workload, slot, child);
}

/* What the parent of a process that ended will be told of it. */
static void child_ended(struct wtl_workload *workload, uint32_t slot)
{
	const struct wtl_roster *roster = &workload->roster;
	const struct wtl_place *place = &roster->places[slot];
	uint32_t parent = told(roster, wtl_roster_find(roster, roster->consumers[slot].parent));

	wtl_children_inherit(workload, slot, parent);
	if (parent != WTL_NO_SLOT)
		wtl_workload_child_used(workload, parent,
					place->clock_ns + child_ns(place) + place->children_ns,
					slot);
}

int64_t wtl_workload_take(struct wtl_workload *workload, int pid, bool needs_base)
{
	struct wtl_roster *roster = &workload->roster;
	int64_t slot = -ENOSPC;

	if (roster->n_taken < roster->max - roster->max / ROOM_PART || wtl_rows_make_room(workload))
		slot = wtl_roster_add_process(roster, pid);
	if (slot < 0) {
		workload->means.n_unfollowed++;
		workload->no_memory |= slot == -ENOMEM;
		return slot;
	}
	roster->places[slot].needs_base = needs_base;
	workload->has_unread = true;
	return slot;
}

void wtl_workload_end(struct wtl_workload *workload, uint32_t slot)
{
	struct wtl_roster *roster = &workload->roster;

	child_ended(workload, slot);
	wtl_roster_end(roster, slot);
	workload->scan_stirred = workload->n_scans;
	if (roster->places[slot].is_kernel)
		workload->kernel_ended = true;
}

int64_t wtl_workload_replace(struct wtl_workload *workload, uint32_t slot)
{
	int pid = workload->roster.consumers[slot].pid;

	workload->means.n_reused++;
	workload->scan_replaced = workload->n_scans;
	wtl_workload_end(workload, slot);
	wtl_roster_forget(&workload->roster, slot);
	return wtl_workload_take(workload, pid, false);
}
