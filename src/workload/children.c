/* SPDX-License-Identifier: MIT */
/*
 * Who ended below a parent since use was billed to its children together. The kernel's own work at an end is in no exit
 * record, and the parent is told of it as a sum: it is divided among those who ended, alike.
 */
#include <string.h>

#include "workload/state.h"

void wtl_children_bill_slot(struct wtl_workload *workload, uint32_t slot, int64_t use_ns)
{
	wtl_roster_use(&workload->roster, slot, use_ns);
	wtl_busy_bill(&workload->busy, use_ns);
}

void wtl_children_add(struct wtl_workload *workload, uint32_t parent, uint32_t child)
{
	struct wtl_children *children = &workload->children;

	/* Without exit records, not every end is known. */
	if (workload->exits < 0)
		return;
	/* When many end at once, all are in the same row as the one before. */
	for (uint32_t i = children->n; i-- > 0;) {
		struct wtl_ended_children *some = &children->at[i];

		if (some->parent == parent && some->slot == child) {
			some->n++;
			return;
		}
	}
	if (children->n == WTL_CHILDREN_MAX) {
		/* The oldest half is nobody's by name. */
		const uint32_t half = WTL_CHILDREN_MAX / 2;

		children->n -= half;
		memmove(children->at, children->at + half, children->n * sizeof(children->at[0]));
	}
	children->at[children->n++] =
		(struct wtl_ended_children){.parent = parent, .slot = child, .n = 1};
}

void wtl_children_inherit(struct wtl_workload *workload, uint32_t parent, uint32_t heir)
{
	struct wtl_children *children = &workload->children;
	uint32_t n = 0;

	for (uint32_t i = 0; i < children->n; i++) {
		struct wtl_ended_children some = children->at[i];

		if (some.parent == parent)
			some.parent = heir;
		if (some.parent != WTL_NO_SLOT)
			children->at[n++] = some;
	}
	children->n = n;
}

void wtl_children_fold(struct wtl_workload *workload, uint32_t from, uint32_t into)
{
	for (uint32_t i = 0; i < workload->children.n; i++)
		if (workload->children.at[i].slot == from)
			workload->children.at[i].slot = into;
}

void wtl_children_forget(struct wtl_workload *workload)
{
	struct wtl_children *children = &workload->children;
	uint32_t n = 0;

	for (uint32_t i = 0; i < children->n; i++) {
		const struct wtl_place *place = &workload->roster.places[children->at[i].slot];

		if (place->scan_ended == 0 || place->scan_ended == workload->n_scans)
			children->at[n++] = children->at[i];
	}
	children->n = n;
}

uint64_t wtl_children_count(const struct wtl_workload *workload, uint32_t parent)
{
	const struct wtl_children *children = &workload->children;
	uint64_t n = 0;

	for (uint32_t i = 0; i < children->n; i++)
		if (children->at[i].parent == parent)
			n += children->at[i].n;
	return n;
}

void wtl_children_bill(struct wtl_workload *workload, uint32_t parent, int64_t use_ns)
{
	struct wtl_children *children = &workload->children;
	uint64_t n = wtl_children_count(workload, parent), n_done = 0;
	int64_t done_ns = 0;
	uint32_t n_kept = 0;

	for (uint32_t i = 0; i < children->n; i++) {
		const struct wtl_ended_children some = children->at[i];
		int64_t to_ns;

		if (some.parent != parent) {
			children->at[n_kept++] = some;
			continue;
		}
		n_done += some.n;
		to_ns = (int64_t)((unsigned __int128)use_ns * n_done / n);
		wtl_children_bill_slot(workload, some.slot, to_ns - done_ns);
		done_ns = to_ns;
	}
	children->n = n_kept;
}
