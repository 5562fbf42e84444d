/* SPDX-License-Identifier: MIT */
/* Those that ended: what they used since the last scan, and those that nobody saw alive. */
#include <errno.h>
#include <string.h>

#include "base/procfs.h"
#include "energy/units.h"
#include "workload/state.h"

enum {
	DATAGRAMS_MAX = 200000, /* in one scan */
	PARENTS_MAX = 32,
	BIRTH_SLACK_NS = 100000000,
	CLOCK_SLACK_NS = 1000000, /* of CPU time, until the record is read */
};

void wtl_ended_open(struct wtl_workload *workload)
{
	int rc = -EOPNOTSUPP;

	if (workload->options.without_exits)
		rc = -ECANCELED;
	else if (workload->io->ops->exits_open)
		rc = wtl_io_exits_open(workload->io);
	if (rc >= 0)
		workload->exits = rc;
	else
		workload->exits_error = rc;
}

void wtl_ended_close(struct wtl_workload *workload)
{
	wtl_io_exits_close(workload->io, workload->exits);
}

/* Is it the process that we know by that number, or one that had it before? */
static bool is_known_one(const struct wtl_workload *workload, uint32_t slot,
			 const struct wtl_exit *exit)
{
	int64_t start_ns = workload->roster.consumers[slot].start_ns;

	return start_ns <= workload->t_boot_ns - exit->elapsed_ns + BIRTH_SLACK_NS;
}

/* The process that had the number until this scan, when another one has it now. */
static uint32_t replaced_find(const struct wtl_workload *workload, const struct wtl_exit *exit)
{
	const struct wtl_roster *roster = &workload->roster;

	if (workload->scan_replaced != workload->n_scans)
		return WTL_NO_SLOT;
	for (uint32_t i = roster->n_ended; i-- > 0;) {
		uint32_t slot = roster->ended[i];

		if (roster->places[slot].scan_ended != workload->n_scans)
			break;
		if (roster->consumers[slot].pid == exit->pid && is_known_one(workload, slot, exit))
			return slot;
	}
	return WTL_NO_SLOT;
}

/* Whose record is it? The start tells, or else the CPU time: the clock of the one that has the number was read before,
 * and shows less than the record of the other one says. */
static uint32_t owner_find(const struct wtl_workload *workload, const struct wtl_exit *exit)
{
	const struct wtl_place *places = workload->roster.places;
	uint32_t slot = wtl_roster_find(&workload->roster, exit->pid);
	uint32_t before = replaced_find(workload, exit);

	if (slot == WTL_NO_SLOT || !is_known_one(workload, slot, exit))
		return before;
	if (before != WTL_NO_SLOT && exit->cpu_ns >= places[before].clock_ns &&
	    exit->cpu_ns > places[slot].clock_ns + CLOCK_SLACK_NS)
		return before;
	return slot;
}

/* Its CPU time since birth is known better now. */
static void bill_up_to(struct wtl_workload *workload, uint32_t slot, int64_t cpu_ns)
{
	struct wtl_place *place = &workload->roster.places[slot];

	int64_t more_ns = cpu_ns - place->clock_ns;
	uint32_t parent;

	if (more_ns <= 0)
		return;
	place->clock_ns = cpu_ns;
	/* One that has left the live list was already counted among its parent's ended children. */
	parent = wtl_roster_find(&workload->roster, workload->roster.consumers[slot].parent);
	if (place->live == WTL_NOT_LIVE && parent != WTL_NO_SLOT)
		wtl_workload_child_used(workload, parent, more_ns, WTL_NO_SLOT);
	if (!place->needs_base) {
		wtl_roster_use(&workload->roster, slot, more_ns);
		wtl_busy_bill(&workload->busy, more_ns);
	}
}

static const struct wtl_exit *pending_find(const struct wtl_workload *workload, int pid)
{
	for (uint32_t i = 0; i < workload->n_pending; i++)
		if (workload->pending[i].pid == pid)
			return &workload->pending[i];
	return NULL;
}

/* It started then at the latest. */
static uint64_t started_ticks(const struct wtl_workload *workload, const struct wtl_exit *exit)
{
	int64_t start_ns = workload->t_boot_ns - exit->elapsed_ns + BIRTH_SLACK_NS;

	return start_ns > 0 ? (uint64_t)(start_ns / WTL_NS_PER_TICK) : 0;
}

/* The nearest ancestor that is followed, past those that ended as well. WTL_NO_SLOT: none. */
static uint32_t ancestor(struct wtl_workload *workload, const struct wtl_exit *exit,
			 bool *ret_adopted)
{
	int parent = exit->parent;

	for (int i = 0; i < PARENTS_MAX && parent > 0; i++) {
		uint32_t slot = wtl_roster_find(&workload->roster, parent);
		const struct wtl_exit *ended;

		if (wtl_names_is_adopted(workload, parent, exit->pid,
					 started_ticks(workload, exit)))
			*ret_adopted = true;
		if (slot != WTL_NO_SLOT)
			return slot;
		ended = pending_find(workload, parent);
		if (!ended)
			return wtl_find_one(workload, parent);
		exit = ended;
		parent = exit->parent;
	}
	return WTL_NO_SLOT;
}

static void row_key(struct wtl_workload *workload, const struct wtl_exit *exit, uint32_t slot,
		    bool is_adopted, struct wtl_row_key *key)
{
	struct wtl_roster *roster = &workload->roster;

	memset(key, 0, sizeof(*key));
	key->kind = WTL_ROW_NAME;
	key->uid = exit->uid;
	memcpy(key->name, exit->name, sizeof(key->name));
	key->is_in_tree = is_adopted;
	if (slot == WTL_NO_SLOT)
		return;
	wtl_names_read_once(workload, slot);
	key->is_in_tree = key->is_in_tree || roster->consumers[slot].is_in_tree;
	key->sets = roster->consumers[slot].sets;
	key->group = roster->consumers[slot].group;
	if (roster->places[slot].is_kernel) {
		memset(key, 0, sizeof(*key));
		key->kind = WTL_ROW_KERNEL;
		key->uid = UINT32_MAX;
	}
}

/* Who it was, where it ended before that was read. */
static void identify(struct wtl_workload *workload, uint32_t slot, const struct wtl_exit *exit)
{
	struct wtl_roster *roster = &workload->roster;
	struct wtl_consumer *consumer = &roster->consumers[slot];
	uint32_t parent;

	if (consumer->uid == UINT32_MAX)
		consumer->uid = exit->uid;
	if (roster->places[slot].has_stat)
		return;
	memcpy(consumer->name, exit->name, sizeof(consumer->name));
	consumer->parent = exit->parent;
	parent = wtl_roster_find(roster, exit->parent);
	if (parent == WTL_NO_SLOT || consumer->group)
		return;
	wtl_names_read_once(workload, parent);
	consumer->group = roster->consumers[parent].group;
	consumer->sets |= roster->consumers[parent].sets;
}

/* One that we know has ended: its record has the last of its CPU time. */
static void known_take(struct wtl_workload *workload, uint32_t slot, const struct wtl_exit *exit,
		       int64_t cpu_ns)
{
	workload->roster.places[slot].has_record = true;
	identify(workload, slot, exit);
	bill_up_to(workload, slot, cpu_ns);
}

/* Came and went between two scans. */
static void bill_unseen(struct wtl_workload *workload, const struct wtl_exit *exit)
{
	int64_t cpu_ns = exit->cpu_ns, duration_ns = workload->scan.duration_ns;
	bool is_adopted = false;
	uint32_t from = ancestor(workload, exit, &is_adopted), row;
	struct wtl_row_key key;

	/* It was there before the last scan, unseen: bill only what it can have used since. */
	if (!exit->is_group && exit->elapsed_ns > duration_ns + BIRTH_SLACK_NS &&
	    cpu_ns > duration_ns)
		cpu_ns = duration_ns;
	if (workload->scan.capacity_ns > 0 && cpu_ns > workload->scan.capacity_ns)
		cpu_ns = workload->scan.capacity_ns;
	/* Perhaps a thread of a process whose clock has counted it already. */
	if (exit->may_be_thread && cpu_ns > wtl_busy_room(&workload->busy))
		cpu_ns = wtl_busy_room(&workload->busy);
	row_key(workload, exit, from, is_adopted, &key);
	row = wtl_rows_slot(workload, &key);
	if (row != WTL_SLOT_UNSEEN)
		workload->roster.consumers[row].n_processes++;
	wtl_roster_use(&workload->roster, row, cpu_ns);
	wtl_busy_bill(&workload->busy, cpu_ns);
	if (from != WTL_NO_SLOT)
		wtl_workload_child_used(workload, from, cpu_ns, row);
}

/* Where a number in pending[] still answers, the process is not waited for yet, or lives on after
 * its first thread ended: it is followed like any other. */
static void pending_flush(struct wtl_workload *workload)
{
	for (uint32_t i = 0; i < workload->n_pending; i++)
		workload->pending_pids[i] = workload->pending[i].pid;
	wtl_clocks_ask(workload, workload->pending_pids, workload->pending_clocks,
		       workload->n_pending);
	for (uint32_t i = 0; i < workload->n_pending; i++) {
		const struct wtl_exit *exit = &workload->pending[i];
		int64_t slot = wtl_roster_find(&workload->roster, exit->pid);
		bool is_there = slot != WTL_NO_SLOT;

		if (!is_there && workload->pending_clocks[i] >= 0) {
			slot = wtl_workload_take(workload, exit->pid, false);
			is_there = slot >= 0;
			if (is_there)
				wtl_names_read_stat(workload, (uint32_t)slot);
		}
		if (is_there && is_known_one(workload, (uint32_t)slot, exit))
			known_take(workload, (uint32_t)slot, exit,
				   exit->cpu_ns > workload->pending_clocks[i]
					   ? exit->cpu_ns
					   : workload->pending_clocks[i]);
		else
			bill_unseen(workload, exit);
	}
	workload->n_pending = 0;
}

static void exit_take(struct wtl_workload *workload, const struct wtl_exit *exit)
{
	uint32_t slot;

	if (exit->is_thread)
		return;
	slot = owner_find(workload, exit);
	if (slot != WTL_NO_SLOT) {
		known_take(workload, slot, exit, exit->cpu_ns);
		return;
	}
	/* The first thread's own record came before. */
	for (uint32_t i = 0; i < workload->n_pending && exit->is_group; i++)
		if (workload->pending[i].pid == exit->pid) {
			workload->pending[i] = *exit;
			return;
		}
	workload->pending[workload->n_pending++] = *exit;
	if (workload->n_pending == WTL_EXITS_MAX)
		pending_flush(workload);
}

/* Records are of everybody. Where /proc hides other users' processes, their names and users are hidden here too. */
static void hide(const struct wtl_workload *workload, struct wtl_exit *exit)
{
	if (!workload->find.is_closed || exit->uid == workload->uid)
		return;
	memset(exit->name, 0, sizeof(exit->name));
	exit->uid = UINT32_MAX;
}

static void datagram_take(struct wtl_workload *workload, const void *datagram, size_t len)
{
	struct wtl_taskstats reader;
	struct wtl_exit exit;

	wtl_taskstats_start(&reader, datagram, len);
	while (wtl_taskstats_next(&reader, &exit)) {
		hide(workload, &exit);
		/* Before the first scan, nobody's accounts have begun. */
		if (workload->n_scans > 1)
			exit_take(workload, &exit);
	}
	workload->means.n_bad_exits += reader.n_bad;
}

void wtl_ended_read(struct wtl_workload *workload)
{
	unsigned char datagram[WTL_EXIT_MAX];

	for (int i = 0; i < DATAGRAMS_MAX; i++) {
		ssize_t len = wtl_io_exits_read(workload->io, workload->exits, datagram,
						sizeof(datagram));

		if (len == -ENOBUFS) {
			workload->means.n_lost_exits++;
			workload->children.scan_lost = workload->n_scans;
			continue;
		}
		if (len <= 0)
			break;
		datagram_take(workload, datagram, (size_t)len);
	}
	pending_flush(workload);
}
