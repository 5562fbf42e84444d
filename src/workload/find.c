/* SPDX-License-Identifier: MIT */
/*
 * Who is new. The kernel hands out process numbers in ascending order, and the last field of
 * /proc/loadavg is the newest one of the reader's PID namespace (fs/proc/loadavg.c): when it went
 * from a to b, everyone born since has a number in (a, b], and asking for the CPU clocks of those
 * finds the processes among them, because only a process's first thread answers. All of /proc is
 * listed at the start, when the numbers began anew, after a great step, and every 10 s for those who
 * got their number in another way (CRIU); or at each scan where that field is not to be trusted.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "base/procfs.h"
#include "energy/units.h"
#include "workload/state.h"

enum {
	LISTED_MIN_LOOKS = 10, /* between two full listings */
	/* A process that was being made while the number was read does not answer yet. */
	OVERLAP = 128,
	/* When a full listing finds so many that were missed, the newest number is not to be trusted. */
	LATE_MAX = 64,
	NAMES_MAX = 64 << 20,
	PID_LIMIT = 4 << 20, /* PID_MAX_LIMIT in include/linux/threads.h */
};

static const int64_t listed_every_ns = 10 * (int64_t)WTL_NS_PER_S;

static int newest_read(struct wtl_workload *workload)
{
	char text[128];
	ssize_t len;
	int newest;

	if (workload->find.loadavg < 0)
		return 0;
	len = wtl_io_file_read(workload->io, workload->find.loadavg, text, sizeof(text));
	return len > 0 && wtl_proc_parse_newest(text, (size_t)len, &newest) == 0 ? newest : 0;
}

/* The asking thread's own number answers with the clock of its whole process. */
static int own_thread(struct wtl_workload *workload)
{
	char target[64];
	ssize_t len = wtl_io_link_read(workload->io, "/proc/thread-self", target, sizeof(target));
	const char *last = len > 0 ? strrchr(target, '/') : NULL;
	uint64_t tid, pid;

	if (!last || wtl_num_u64(last + 1, strlen(last + 1), &tid) < 0 || tid > INT_MAX ||
	    wtl_num_u64(target, strcspn(target, "/"), &pid) < 0)
		return 0;
	return tid == pid ? 0 : (int)tid;
}

int wtl_find_open(struct wtl_workload *workload)
{
	struct wtl_finder *find = &workload->find;
	uint64_t limit;

	wtl_buf_init(&find->names, NAMES_MAX);
	find->sweep_at = 1;
	find->limit = PID_LIMIT;
	if (wtl_io_read_u64(workload->io, "/proc/sys/kernel/pid_max", &limit) == 0 &&
	    limit < PID_LIMIT)
		find->limit = (int)limit;
	find->loadavg = wtl_io_file_open(workload->io, "/proc/loadavg");
	find->pids = calloc(WTL_PROBE_MAX, sizeof(*find->pids));
	find->answers = calloc(WTL_PROBE_MAX, sizeof(*find->answers));
	return find->pids && find->answers ? 0 : -ENOMEM;
}

void wtl_find_close(struct wtl_workload *workload)
{
	wtl_io_file_close(workload->io, workload->find.loadavg);
	wtl_buf_done(&workload->find.names);
	free(workload->find.pids);
	free(workload->find.answers);
}

/* Looks up the numbers from `from` on, `n` of them at most WTL_PROBE_MAX; those above `known` are new
 * to us, so whoever has one already may have lost it to another. Negative: nobody could be asked for. */
static int probe(struct wtl_workload *workload, int from, int n, int known, bool needs_base)
{
	struct wtl_finder *find = &workload->find;
	size_t n_pids = 0;
	int own = -1, rc;

	for (int i = 0; i < n; i++) {
		uint32_t slot = wtl_roster_find(&workload->roster, from + i);

		if (slot == WTL_NO_SLOT)
			find->pids[n_pids++] = from + i;
		else if (from + i > known)
			workload->roster.places[slot].is_stale = true;
	}
	rc = wtl_clocks_ask(workload, find->pids, find->answers, n_pids);
	for (size_t i = 0; i < n_pids; i++) {
		if (find->answers[i] < 0)
			continue;
		if (own < 0)
			own = own_thread(workload);
		if (find->pids[i] != own)
			wtl_workload_take(workload, find->pids[i], needs_base);
	}
	return rc;
}

/* Was that number given out while the newest one went from `from` to `to`, around the end perhaps? */
static bool is_given_out(int pid, int from, int to)
{
	return from <= to ? pid > from && pid <= to : pid > from || pid <= to;
}

/* Takes up everyone in /proc that is not there. With a newest number, those born since it was read
 * are taken up as any new process, and not counted. Returns how many, or a negative errno. */
static int list(struct wtl_workload *workload, bool needs_base, int newest)
{
	struct wtl_buf *names = &workload->find.names;
	int n, n_new = 0, now;

	wtl_buf_clear(names);
	n = wtl_io_dir_read(workload->io, "/proc", names);
	if (n < 0)
		return n;
	if (workload->n_scans == 1)
		wtl_roster_expect(&workload->roster, (uint32_t)n);
	now = newest ? newest_read(workload) : 0;
	for (size_t at = 0; at < names->len;) {
		const char *name = names->data + at;
		size_t len = strlen(name);
		uint64_t pid;
		bool is_since;

		at += len + 1;
		if (wtl_num_u64(name, len, &pid) < 0 || pid == 0 || pid > INT_MAX ||
		    wtl_roster_find(&workload->roster, (int)pid) != WTL_NO_SLOT)
			continue;
		is_since = now && is_given_out((int)pid, newest, now);
		if (wtl_workload_take(workload, (int)pid, needs_base && !is_since) >= 0)
			n_new += !is_since;
	}
	return n_new;
}

/* Marks known numbers that may have a new owner: all of them, where the newest number was not known for a while. */
static void mark_stale(struct wtl_roster *roster, int from, int to)
{
	for (uint32_t i = 0; i < roster->n_live; i++)
		if (is_given_out(roster->pids[i], from, to))
			roster->places[roster->slots[i]].is_stale = true;
}

/* A regular full listing. Those found are late, unless they could not have been found before. */
static void list_all(struct wtl_workload *workload, int newest, bool is_late)
{
	struct wtl_finder *find = &workload->find;
	int n_new;

	mark_stale(&workload->roster, find->newest, newest);
	n_new = list(workload, is_late || workload->n_scans == 1, is_late ? newest : 0);
	if (n_new < 0) {
		find->newest = 0;
		return;
	}
	find->newest = newest;
	find->is_settled = false;
	find->scans_since = 0;
	find->t_listed_ns = workload->scan.t_mono_ns;
	if (!is_late)
		return;
	workload->means.n_found_late += (uint64_t)n_new;
	if (n_new > LATE_MAX) {
		wtl_io_file_close(workload->io, find->loadavg);
		find->loadavg = -1;
	}
}

/* Where listing does not show everyone, all numbers are gone through, a part at each scan. */
static void sweep(struct wtl_workload *workload)
{
	struct wtl_finder *find = &workload->find;

	if (!find->is_closed || !workload->has_clocks)
		return;
	if (find->sweep_at >= find->limit)
		find->sweep_at = 1;
	probe(workload, find->sweep_at, WTL_PROBE_MAX, INT_MAX, true);
	find->sweep_at += WTL_PROBE_MAX;
}

void wtl_find_new(struct wtl_workload *workload)
{
	struct wtl_finder *find = &workload->find;
	int newest = newest_read(workload), from;

	if (newest == 0 || newest != find->newest)
		workload->scan_stirred = workload->n_scans;
	find->scans_since++;
	sweep(workload);
	/* No newest number (0) is less than any. */
	if (!workload->has_clocks || find->newest == 0 || newest < find->newest ||
	    newest - find->newest > WTL_PROBE_MAX - OVERLAP) {
		list_all(workload, newest, false);
		return;
	}
	if (newest != find->newest || !find->is_settled) {
		from = find->newest > OVERLAP ? find->newest - OVERLAP + 1 : 1;
		/* Numbers that could not be asked for are asked for again. */
		if (probe(workload, from, newest - from + 1, find->newest, false) == 0) {
			find->is_settled = newest == find->newest;
			find->newest = newest;
		}
	}
	if (find->scans_since >= LISTED_MIN_LOOKS &&
	    workload->scan.t_mono_ns - find->t_listed_ns >= listed_every_ns)
		list_all(workload, newest, true);
}

uint32_t wtl_find_one(struct wtl_workload *workload, int pid)
{
	int64_t clock_ns = -1, taken = -1;

	if (pid > 0)
		wtl_clocks_ask(workload, &pid, &clock_ns, 1);
	if (clock_ns >= 0)
		taken = wtl_workload_take(workload, pid, false);
	return taken >= 0 ? (uint32_t)taken : WTL_NO_SLOT;
}
