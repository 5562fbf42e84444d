/* SPDX-License-Identifier: MIT */
/*
 * Who had the use that nobody accounts for. A parent is told the CPU time of each child that it
 * waited for. What is more than we know of its children was used by those that came and went, and by
 * the last stretch of those that we saw; with exit records, it is what the kernel used to take them
 * apart after their record was written (kernel/exit.c: taskstats_exit() comes before exit_mm()), 2 % of
 * a child of 5 ms. Without exit records, what is left is held against the totals of control groups
 * without groups below them. Neither is ever billed beyond the machine's busy time. What is missing of
 * the tree when it has ended is known to whoever waits for its first process.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/procfs.h"
#include "base/text.h"
#include "energy/units.h"
#include "workload/state.h"

enum {
	PARENTS_MAX = 256,		      /* asked in one scan */
	CHILD_SLACK_NS = 2 * WTL_NS_PER_TICK, /* two times, each cut to a tick */
	CHILD_WAIT_NS = 200000000,
	UNIT_SLACK_NS = 5000000, /* between reading clocks and totals */
	UNIT_DRIFT_NS = 1000000000,
};

/* Where version 2 of control groups is mounted. */
static void cgroup_mount_find(struct wtl_workload *workload)
{
	static const char *const usual[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
	char path[96];

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		/* Version 1 has no such file. */
		snprintf(path, sizeof(path), "%s/cgroup.controllers", usual[i]);
		if (!wtl_io_exists(workload->io, path))
			continue;
		wtl_text_copy(workload->cgroup_mount, sizeof(workload->cgroup_mount), usual[i]);
		return;
	}
}

void wtl_short_lived_open(struct wtl_workload *workload)
{
	if (workload->exits < 0)
		cgroup_mount_find(workload);
}

static void units_close(struct wtl_workload *workload)
{
	for (size_t i = 0; i < workload->n_units; i++)
		wtl_io_file_close(workload->io, workload->units[i].file);
	workload->n_units = 0;
	workload->n_groups_seen = 0;
}

void wtl_short_lived_close(struct wtl_workload *workload)
{
	units_close(workload);
}

void wtl_short_lived_reset(struct wtl_workload *workload)
{
	for (size_t i = 0; i < workload->n_units; i++)
		workload->units[i].has_base = false;
}

/* How much of it nobody accounts for. */
static int64_t unseen(const struct wtl_workload *workload, int64_t use_ns)
{
	int64_t room_ns = wtl_busy_room(&workload->busy);

	return use_ns < room_ns ? use_ns : room_ns;
}

static void children_key(struct wtl_workload *workload, uint32_t parent, struct wtl_row_key *key)
{
	const struct wtl_roster *roster = &workload->roster;
	const struct wtl_consumer *consumer = &roster->consumers[parent];

	wtl_names_read_once(workload, parent);
	memset(key, 0, sizeof(*key));
	key->kind = WTL_ROW_PARENT;
	key->is_in_tree = consumer->is_in_tree;
	key->sets = consumer->sets;
	key->uid = consumer->uid;
	key->parent = consumer->pid;
	key->parent_start = roster->places[parent].start_ticks;
	key->group = consumer->group;
	memcpy(key->name, consumer->name, sizeof(key->name));
}

/* A parent's child times are more than its known children used. With exit records we know who ended: it is what the
 * kernel used to take them apart, or, where records were lost, whole lives. */
static void children_bill(struct wtl_workload *workload, uint32_t parent, int64_t use_ns)
{
	const struct wtl_children *children = &workload->children;
	bool is_lost = workload->n_scans <= children->scan_lost + 1;
	struct wtl_row_key key;

	if (!is_lost && wtl_children_count(workload, parent) > 0) {
		wtl_children_bill(workload, parent, use_ns);
		return;
	}
	wtl_children_inherit(workload, parent, WTL_NO_SLOT);
	children_key(workload, parent, &key);
	wtl_children_bill_slot(workload, wtl_rows_slot(workload, &key), use_ns);
}

static void parent_read(struct wtl_workload *workload, uint32_t slot)
{
	struct wtl_place *place = &workload->roster.places[slot];
	struct wtl_proc_stat stat;
	int64_t more_ns, billed_ns;

	if (wtl_names_parse_stat(workload, slot, &stat) < 0 ||
	    stat.start_ticks != place->start_ticks || stat.child_ticks < place->child_ticks)
		return;
	more_ns = (int64_t)(stat.child_ticks - place->child_ticks) * WTL_NS_PER_TICK -
		  place->children_ns;
	if (more_ns < -CHILD_SLACK_NS) {
		/* The parent did not wait for those children, or somebody else did. */
		place->child_ticks = stat.child_ticks;
		place->children_ns = 0;
	}
	/* Small differences add up until they mean something. */
	if (more_ns <= CHILD_SLACK_NS)
		return;
	billed_ns = unseen(workload, more_ns);
	if (billed_ns > 0) /* may move the places */
		children_bill(workload, slot, billed_ns);
	if (billed_ns < more_ns)
		workload->scan_stirred = workload->n_scans;
	/* The base stays the same, so that rounding does not add up. A small excess without room in
	 * the busy time waits for it; a large one is use that is billed to somebody already. */
	workload->roster.places[slot].children_ns += more_ns <= CHILD_WAIT_NS ? billed_ns : more_ns;
}

/* May a child of the process have ended, as far as we know? With exit records we know of each. */
static bool may_be_told(const struct wtl_workload *workload, const struct wtl_place *place)
{
	if (place->live == WTL_NOT_LIVE || !place->has_stat || place->is_kernel)
		return false;
	return workload->exits < 0 || place->scan_child + 1 >= workload->n_scans;
}

/* A parent's child times rise when a child ends: one that we followed, or one that was born since. They need not be
 * read while neither happens; but for one scan more, as clocks and files are not read at one moment. */
static bool is_stirred(const struct wtl_workload *workload)
{
	return workload->n_scans <= workload->scan_stirred + 1;
}

/* A parent that waited for a child has run. At most PARENTS_MAX are read in a look; the next look begins with the others.
 * Their children's use may count as unseen until then, but no parent is left out for good. */
static void parents_read(struct wtl_workload *workload)
{
	struct wtl_roster *roster = &workload->roster;
	uint32_t n = roster->n_used_now, left = PARENTS_MAX, i;

	for (i = 0; i < n && left > 0; i++) {
		uint32_t slot = roster->used[(workload->parent_turn + i) % n];

		if (!may_be_told(workload, &roster->places[slot]))
			continue;
		parent_read(workload, slot);
		left--;
	}
	if (left > 0)
		return;
	workload->parent_turn = (workload->parent_turn + i) % n;
	workload->scan_stirred = workload->n_scans;
}

/* Those of the tree that have ended, as far as they are billed. */
static int64_t tree_billed(const struct wtl_workload *workload)
{
	const struct wtl_roster *roster = &workload->roster;
	int64_t sum_ns = 0;

	for (uint32_t slot = 0; slot < roster->n_used; slot++) {
		const struct wtl_consumer *consumer = &roster->consumers[slot];
		bool is_live = roster->places[slot].live != WTL_NOT_LIVE &&
			       consumer->pid != workload->tree_pid;

		if (roster->places[slot].kind != WTL_PLACE_FREE && consumer->is_in_tree && !is_live)
			sum_ns += consumer->cpu_ns;
	}
	return sum_ns;
}

/* Known to the microsecond, so the machine's busy time, cut to ticks, is not asked. */
static void tree_end(struct wtl_workload *workload)
{
	uint32_t slot = wtl_roster_find(&workload->roster, workload->tree_pid);
	int64_t more_ns = workload->tree_cpu_ns - tree_billed(workload);

	workload->tree_cpu_ns = 0;
	if (slot == WTL_NO_SLOT || more_ns <= 0)
		return;
	children_bill(workload, slot, more_ns);
	workload->roster.places[slot].children_ns += more_ns;
}

/* ---- Control groups ---- */

static bool is_leaf(const struct wtl_groups *groups, const struct wtl_group *group)
{
	size_t len = strlen(group->cgroup);

	if (len < 2)
		return false;
	for (size_t i = 0; i < wtl_groups_count(groups); i++) {
		const struct wtl_group *other = wtl_groups_at(groups, i);

		if (strncmp(other->cgroup, group->cgroup, len) == 0 && other->cgroup[len] == '/')
			return false;
	}
	return true;
}

/* Negative: it is not there. */
static int unit_open(struct wtl_workload *workload, const struct wtl_group *group)
{
	char path[sizeof(workload->cgroup_mount) + sizeof(group->cgroup) + sizeof("/cpu.stat")];

	snprintf(path, sizeof(path), "%s%s/cpu.stat", workload->cgroup_mount, group->cgroup);
	return wtl_io_file_open(workload->io, path);
}

static void unit_add(struct wtl_workload *workload, const struct wtl_group *group)
{
	int file = unit_open(workload, group);

	if (file >= 0)
		workload->units[workload->n_units++] =
			(struct wtl_unit_use){.group = group, .file = file};
}

/* What has the path now, if anything, counts from its own start: a unit that starts again has a new group. */
static void unit_reopen(struct wtl_workload *workload, struct wtl_unit_use *unit)
{
	wtl_io_file_close(workload->io, unit->file);
	unit->file = unit_open(workload, unit->group);
	unit->has_base = false;
}

/* By what they are, not by where they lie: where there is not room for all use, those that come first have it. */
static int unit_compare(const void *left, const void *right)
{
	const struct wtl_unit_use *a = left, *b = right;

	return memcmp(a->group, b->group, sizeof(*a->group));
}

/* When new groups have come up, those without groups below them are opened. Where there is no room, those that
 * are gone make some. */
static void units_update(struct wtl_workload *workload)
{
	size_t n = wtl_groups_count(workload->groups), kept = 0;

	if (n == workload->n_groups_seen || workload->cgroup_mount[0] == '\0')
		return;
	for (size_t i = 0; i < workload->n_units; i++) {
		const struct wtl_unit_use *unit = &workload->units[i];

		if (is_leaf(workload->groups, unit->group) &&
		    (unit->file >= 0 || workload->n_units < WTL_UNITS_MAX))
			workload->units[kept++] = *unit;
		else
			wtl_io_file_close(workload->io, unit->file);
	}
	workload->n_units = kept;
	for (size_t i = workload->n_groups_seen; i < n && workload->n_units < WTL_UNITS_MAX; i++) {
		const struct wtl_group *group = wtl_groups_at(workload->groups, i);

		if (is_leaf(workload->groups, group))
			unit_add(workload, group);
	}
	workload->n_groups_seen = n;
	qsort(workload->units, workload->n_units, sizeof(workload->units[0]), unit_compare);
}

/* "usage_usec N" is the first line. */
static int unit_usage(struct wtl_workload *workload, const struct wtl_unit_use *unit,
		      int64_t *ret_ns)
{
	static const char name[] = "usage_usec ";
	char text[512];
	ssize_t len = wtl_io_file_read(workload->io, unit->file, text, sizeof(text) - 1);
	const char *end;
	uint64_t usec;
	int64_t ns;

	if (len < 0)
		return (int)len;
	text[len] = '\0';
	end = strchr(text, '\n');
	if (!end || !wtl_text_starts(text, name) ||
	    wtl_num_u64(text + sizeof(name) - 1, (size_t)(end - text) - (sizeof(name) - 1), &usec) <
		    0 ||
	    __builtin_mul_overflow(usec, 1000, &ns))
		return -EINVAL;
	*ret_ns = ns;
	return 0;
}

/* What this scan billed to members of known groups. A group that was gone is back when a member runs. */
static void units_count(struct wtl_workload *workload)
{
	const struct wtl_roster *roster = &workload->roster;

	for (uint32_t i = 0; i < roster->n_used_now; i++) {
		uint32_t slot = roster->used[i];
		const struct wtl_unit_use wanted = {.group = roster->consumers[slot].group};
		struct wtl_unit_use *unit =
			wanted.group ? bsearch(&wanted, workload->units, workload->n_units,
					       sizeof(wanted), unit_compare)
				     : NULL;

		if (!unit)
			continue;
		unit->known_ns += (int64_t)roster->places[slot].weight_ns;
		if (unit->file < 0)
			unit_reopen(workload, unit);
	}
}

static void unit_read(struct wtl_workload *workload, struct wtl_unit_use *unit)
{
	struct wtl_row_key key;
	int64_t usage_ns = 0, more_ns;

	if (unit->file < 0)
		return;
	if (unit_usage(workload, unit, &usage_ns) < 0) {
		unit_reopen(workload, unit);
		return;
	}
	more_ns = usage_ns - unit->base_ns - unit->known_ns;
	if (!unit->has_base || more_ns < -UNIT_DRIFT_NS) {
		unit->has_base = true;
		unit->base_ns = usage_ns;
		unit->known_ns = 0;
		return;
	}
	if (more_ns <= UNIT_SLACK_NS)
		return;
	unit->base_ns = usage_ns;
	unit->known_ns = 0;
	memset(&key, 0, sizeof(key));
	key.kind = WTL_ROW_UNIT;
	key.uid = UINT32_MAX;
	key.group = unit->group;
	key.sets = wtl_workload_group_sets(workload, unit->group);
	more_ns = unseen(workload, more_ns);
	if (more_ns > 0)
		wtl_children_bill_slot(workload, wtl_rows_slot(workload, &key), more_ns);
}

void wtl_short_lived_read(struct wtl_workload *workload)
{
	bool has_unseen = wtl_busy_left(&workload->busy) > WTL_BUSY_SLACK_NS;

	if (workload->exits >= 0 || (has_unseen && is_stirred(workload)))
		parents_read(workload);
	else if (is_stirred(workload)) /* until there is unseen use to bill them from */
		workload->scan_stirred = workload->n_scans;
	if (workload->tree_cpu_ns > 0)
		tree_end(workload);
	if (workload->exits >= 0)
		return;
	units_update(workload);
	units_count(workload);
	for (size_t i = 0; i < workload->n_units; i++)
		if (has_unseen || !workload->units[i].has_base)
			unit_read(workload, &workload->units[i]);
}
