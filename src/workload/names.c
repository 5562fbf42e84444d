/* SPDX-License-Identifier: MIT */
/* Who the processes are: names, parents, users, groups. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/procfs.h"
#include "energy/units.h"
#include "workload/state.h"

enum {
	PARENTS_MAX = 32, /* generations looked up at once */
	TURN_PART = 16,	  /* a 16th of all is considered at each scan */
	AGAIN_MAX = 4,	  /* and so many at most are read again */
	READS_EARLY = 2,  /* a second scan comes soon: most new processes become another program */
	SCAN_TICKS = 10,  /* a scan may take so long */
};

static ssize_t process_read(struct wtl_workload *workload, int pid, const char *file)
{
	char path[64];
	int handle;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	handle = wtl_io_file_open(workload->io, path);
	if (handle < 0)
		return handle;
	/* The start of a longer file is enough. */
	len = wtl_io_file_read(workload->io, handle, workload->text, sizeof(workload->text));
	wtl_io_file_close(workload->io, handle);
	return len;
}

/* With hidepid=invisible, what is closed looks as if it was not there. */
static void mark_denied(const struct wtl_workload *workload, struct wtl_consumer *consumer,
			ssize_t rc)
{
	if (rc == -EACCES || rc == -EPERM || (rc == -ENOENT && workload->find.is_closed))
		consumer->is_readable = false;
}

int wtl_names_parse_stat(struct wtl_workload *workload, uint32_t slot,
			 struct wtl_proc_stat *ret_stat)
{
	struct wtl_consumer *consumer = &workload->roster.consumers[slot];
	ssize_t len = process_read(workload, consumer->pid, "stat");

	if (len < 0) {
		mark_denied(workload, consumer, len);
		return (int)len;
	}
	return wtl_proc_parse_stat(workload->text, (size_t)len, ret_stat);
}

/* What stat says; the first time also what never changes. */
static int stat_apply(struct wtl_workload *workload, uint32_t slot,
		      const struct wtl_proc_stat *stat)
{
	struct wtl_place *place = &workload->roster.places[slot];
	struct wtl_consumer *consumer = &workload->roster.consumers[slot];

	if (place->has_stat && place->start_ticks != stat->start_ticks)
		return 1;
	memcpy(consumer->name, stat->name, sizeof(consumer->name));
	consumer->parent = stat->parent;
	consumer->n_threads = stat->n_threads;
	if (place->has_stat)
		return 0;
	place->has_stat = true;
	place->start_ticks = stat->start_ticks;
	place->child_ticks = stat->start_ticks < workload->begin_ticks ? stat->child_ticks : 0;
	place->is_kernel = stat->is_kernel;
	if (__builtin_mul_overflow(stat->start_ticks, WTL_NS_PER_TICK, &consumer->start_ns))
		consumer->start_ns = 0;
	if (stat->is_kernel)
		consumer->state = WTL_CONSUMER_KERNEL;
	return 0;
}

bool wtl_names_is_adopted(struct wtl_workload *workload, int parent, int pid, uint64_t start_ticks)
{
	const struct wtl_roster *roster = &workload->roster;
	uint32_t first;
	struct wtl_proc_stat stat;

	if (!workload->follows_tree || parent <= 0 || parent != workload->options.subreaper_pid)
		return false;
	first = wtl_roster_find(roster, workload->tree_pid);
	if (first == WTL_NO_SLOT)
		return true;
	if (!roster->places[first].has_stat && (wtl_names_parse_stat(workload, first, &stat) < 0 ||
						stat_apply(workload, first, &stat) != 0))
		return true;
	if (roster->consumers[first].parent != parent)
		return false;
	/* Numbers rise, also within a tick. */
	if (start_ticks != roster->places[first].start_ticks)
		return start_ticks > roster->places[first].start_ticks;
	return pid >= workload->tree_pid;
}

/* Membership in the tree comes from the parent at birth; so the oldest unknown ancestor goes first. */
static void inherit(struct wtl_workload *workload, uint32_t slot, unsigned depth)
{
	struct wtl_roster *roster = &workload->roster;
	int parent = roster->consumers[slot].parent;
	uint32_t from = wtl_roster_find(roster, parent);

	if (!workload->follows_tree && !workload->chosen_trees)
		return;
	if (workload->follows_tree &&
	    wtl_names_is_adopted(workload, parent, roster->consumers[slot].pid,
				 roster->places[slot].start_ticks))
		roster->consumers[slot].is_in_tree = true;
	if (from == WTL_NO_SLOT || from == slot)
		return;
	if (!roster->places[from].has_stat && depth < PARENTS_MAX) {
		struct wtl_proc_stat stat;

		if (wtl_names_parse_stat(workload, from, &stat) == 0 &&
		    stat_apply(workload, from, &stat) == 0)
			inherit(workload, from, depth + 1);
	}
	if (roster->consumers[from].is_in_tree)
		roster->consumers[slot].is_in_tree = true;
	roster->consumers[slot].sets |= roster->consumers[from].sets & workload->chosen_trees;
}

int wtl_names_read_stat(struct wtl_workload *workload, uint32_t slot)
{
	bool is_first = !workload->roster.places[slot].has_stat;
	struct wtl_proc_stat stat;
	int rc = wtl_names_parse_stat(workload, slot, &stat);

	if (rc == 0)
		rc = stat_apply(workload, slot, &stat);
	if (rc == 0 && is_first)
		inherit(workload, slot, 0);
	return rc;
}

uint64_t wtl_names_successor(struct wtl_workload *workload, uint32_t slot)
{
	const struct wtl_place *place = &workload->roster.places[slot];
	uint64_t now_ticks = (uint64_t)(workload->t_boot_ns / WTL_NS_PER_TICK);
	struct wtl_proc_stat stat;
	bool is_later;

	if (wtl_names_parse_stat(workload, slot, &stat) < 0)
		return 0;
	if (place->has_stat)
		return stat.start_ticks != place->start_ticks ? stat.start_ticks : 0;
	/* A process whose files were never read was there at the first scan. A start in the future
	 * means that the files are another machine's. */
	is_later = stat.start_ticks > workload->begin_ticks + SCAN_TICKS &&
		   stat.start_ticks <= now_ticks + SCAN_TICKS;
	return is_later ? stat.start_ticks : 0;
}

/* A process that has ended is in "/", or where the kernel puts it, until its parent has waited for it. */
static bool has_left(struct wtl_workload *workload, uint32_t slot)
{
	struct wtl_proc_stat stat;

	return wtl_names_parse_stat(workload, slot, &stat) < 0 || stat.is_exiting;
}

static void group_read(struct wtl_workload *workload, uint32_t slot)
{
	struct wtl_consumer *consumer = &workload->roster.consumers[slot];
	ssize_t len = process_read(workload, consumer->pid, "cgroup");
	const struct wtl_group *now;
	struct wtl_group group;

	if (len <= 0 || wtl_group_parse(workload->text, (size_t)len, &group) < 0)
		return;
	now = wtl_groups_intern(workload->groups, &group);
	/* What it used belongs to the group that it was in. */
	if (consumer->group && now != consumer->group && has_left(workload, slot))
		return;
	consumer->group = now;
	consumer->sets |= wtl_workload_group_sets(workload, now);
}

/* From the text that was read. */
static void command_set(struct wtl_workload *workload, uint32_t slot, size_t len)
{
	char command[WTL_COMMAND_SIZE];

	wtl_proc_clean_command(command, sizeof(command), workload->text, len);
	if (command[0])
		wtl_roster_set_command(&workload->roster, slot, command);
}

int wtl_names_read_all(struct wtl_workload *workload, uint32_t slot)
{
	struct wtl_place *place = &workload->roster.places[slot];
	struct wtl_consumer *consumer = &workload->roster.consumers[slot];
	struct wtl_proc_status status;
	int rc = wtl_names_read_stat(workload, slot);
	ssize_t len;

	place->scan_read = workload->n_scans;
	if (place->n_reads < UINT16_MAX)
		place->n_reads++;
	if (rc != 0)
		return rc;
	/* What can be read now could not be read before, perhaps: another user's program. */
	consumer->is_readable = true;
	len = process_read(workload, consumer->pid, "status");
	if (len > 0 && wtl_proc_parse_status(workload->text, (size_t)len, &status) == 0) {
		consumer->uid = status.uid;
		if (consumer->pss_bytes == UINT64_MAX) {
			consumer->rss_bytes = place->is_kernel ? 0 : status.rss_bytes;
			place->resident_clock_ns = place->clock_ns;
		}
	}
	mark_denied(workload, consumer, len);
	if (!place->is_kernel) {
		len = process_read(workload, consumer->pid, "cmdline");
		/* Empty for one that has ended: what is known stays. */
		if (len > 0)
			command_set(workload, slot, (size_t)len);
		mark_denied(workload, consumer, len);
	}
	group_read(workload, slot);
	return 0;
}

void wtl_names_read_once(struct wtl_workload *workload, uint32_t slot)
{
	const struct wtl_place *place = &workload->roster.places[slot];

	if (place->n_reads == 0 && place->live != WTL_NOT_LIVE)
		wtl_names_read_all(workload, slot);
}

/* Reads one; a number that another process has now gets its own slot. */
static void turn_read(struct wtl_workload *workload, uint32_t slot)
{
	int64_t clock_ns = workload->roster.places[slot].clock_ns, taken;

	if (wtl_names_read_all(workload, slot) != 1)
		return;
	taken = wtl_workload_replace(workload, slot);
	/* Its use up to there is billed already, to the process that we took it for. */
	if (taken >= 0)
		workload->roster.places[taken].clock_ns = clock_ns;
}

void wtl_names_read_born(struct wtl_workload *workload)
{
	struct wtl_roster *roster = &workload->roster;

	/* The mass of the first scan can wait, unless it matters who descends from whom. */
	if (workload->n_scans == 1)
		return;
	for (uint32_t i = 0; i < roster->n_born; i++) {
		uint32_t slot = roster->born[i];

		if (roster->places[slot].live != WTL_NOT_LIVE && !roster->places[slot].has_stat)
			wtl_names_read_stat(workload, slot);
	}
}

static bool is_due(const struct wtl_workload *workload, uint32_t slot)
{
	const struct wtl_place *place = &workload->roster.places[slot];

	return place->live != WTL_NOT_LIVE && place->n_reads < READS_EARLY &&
	       place->scan_read < workload->n_scans;
}

/* A heap, the busiest first: qsort() may allocate. */
static void sift_down(struct wtl_use uses[], uint32_t n, uint32_t at)
{
	const struct wtl_use use = uses[at];
	uint32_t child;

	for (; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && uses[child + 1].weight > uses[child].weight)
			child++;
		if (uses[child].weight <= use.weight)
			break;
		uses[at] = uses[child];
	}
	uses[at] = use;
}

/* Those that used something and are due, the busiest first. Returns what is left of the budget. */
static uint32_t due_read(struct wtl_workload *workload, uint32_t left)
{
	struct wtl_roster *roster = &workload->roster;
	uint32_t n = 0;

	/* The scan has no use for uses[] yet. */
	for (uint32_t i = 0; i < roster->n_used_now; i++) {
		uint32_t slot = roster->used[i];

		if (is_due(workload, slot))
			roster->uses[n++] = (struct wtl_use){
				.slot = slot, .weight = roster->places[slot].weight_ns};
	}
	for (uint32_t i = n / 2; i-- > 0;)
		sift_down(roster->uses, n, i);
	for (; n > 0 && left > 0; left--) {
		uint32_t slot = roster->uses[0].slot;

		roster->uses[0] = roster->uses[--n];
		sift_down(roster->uses, n, 0);
		/* It may move the arrays. */
		turn_read(workload, slot);
	}
	return left;
}

/* Those whose names were never read, as they come. Returns what is left of the budget. */
static uint32_t unread_read(struct wtl_workload *workload, uint32_t left)
{
	struct wtl_roster *roster = &workload->roster;

	/* One that is read stays where it is, or gives its place to another. */
	for (uint32_t i = 0; i < roster->n_live;) {
		if (left == 0)
			return 0;
		if (roster->places[roster->slots[i]].n_reads > 0) {
			i++;
			continue;
		}
		turn_read(workload, roster->slots[i]);
		left--;
	}
	workload->has_unread = false;
	return left;
}

/* Whoever ran since it was read may be another program by now, or another process. */
static void turn_go(struct wtl_workload *workload, uint32_t left)
{
	struct wtl_roster *roster = &workload->roster;
	uint32_t steps = roster->n_live / TURN_PART + 1;

	for (; steps > 0 && left > 0 && roster->n_live > 0; steps--) {
		const struct wtl_place *place;
		uint32_t slot;

		if (workload->turn >= roster->n_live)
			workload->turn = 0;
		slot = roster->slots[workload->turn++];
		place = &roster->places[slot];
		if (place->scan_used < place->scan_read || place->scan_read == workload->n_scans)
			continue;
		turn_read(workload, slot);
		left--;
	}
}

void wtl_names_read_some(struct wtl_workload *workload)
{
	bool is_for_all = workload->names_all;
	uint32_t left = is_for_all ? UINT32_MAX : workload->options.reads_per_scan;

	workload->names_all = false;
	left = due_read(workload, left);
	if (workload->has_unread && (is_for_all || !workload->options.names_on_use))
		left = unread_read(workload, left);
	turn_go(workload, left < AGAIN_MAX ? left : AGAIN_MAX);
}
