/* SPDX-License-Identifier: MIT */
/* Which ways are in use, and what more privilege would add: for `wattle doctor`. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/procfs.h"
#include "base/remedy.h"
#include "workload/state.h"

enum { MOUNTS_MAX = 256 * 1024 };

static const char remedy_exits[] = WTL_REMEDY_SETCAP " (see docs/processes.md), or run as root";
static const char remedy_namespaces[] =
	"run in the host's PID and network namespace (Kubernetes: hostPID and hostNetwork; docker: "
	"--pid=host --network=host), with CAP_NET_ADMIN";
static const char remedy_pids[] = "run in the host's PID namespace (Kubernetes: hostPID; docker: "
				  "--pid=host)";
static const char remedy_own_proc[] =
	"mount /proc of the PID namespace that wattle runs in, or run wattle in the one of /proc";
/* Capabilities of the program's file are given up before the first process is counted. */
static const char remedy_counters[] =
	"run as root, or, for your own processes, sudo sysctl kernel.perf_event_paranoid=1";
static const char remedy_container[] = "start the container with --cap-add PERFMON";
static const char remedy_pmu[] =
	"in a virtual machine: have it given a PMU (QEMU: -cpu host,pmu=on)";
static const char remedy_hidepid[] =
	"run as root, or join the group that /proc's mount option gid= names";

static void way_set(struct wtl_workload *workload, enum wtl_workload_way_id id, const char *way,
		    bool is_used, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

static void way_set(struct wtl_workload *workload, enum wtl_workload_way_id id, const char *way,
		    bool is_used, const char *remedy, const char *format, ...)
{
	struct wtl_workload_way *at = &workload->means.ways[id];
	va_list args;

	at->way = way;
	at->is_used = is_used;
	at->remedy = remedy;
	va_start(args, format);
	vsnprintf(at->reason, sizeof(at->reason), format, args);
	va_end(args);
}

static bool can_see_first(struct wtl_workload *workload)
{
	return wtl_io_slurp(workload->io, "/proc/1/stat", workload->text, sizeof(workload->text)) >=
	       0;
}

/* What the mounts say: are loadavg and stat an emulation's (lxcfs), does /proc hide processes? */
static void mounts_read(struct wtl_workload *workload)
{
	char *text = malloc(MOUNTS_MAX);
	ssize_t len = text ? wtl_io_slurp(workload->io, "/proc/self/mountinfo", text, MOUNTS_MAX)
			   : -ENOMEM;

	/* Too many mounts to read: then they may hide processes. */
	if (len < 0 && len != -ENOENT)
		workload->find.is_closed = !can_see_first(workload);
	if (len > 0) {
		if (wtl_proc_is_mounted(text, (size_t)len, "/proc/loadavg")) {
			wtl_io_file_close(workload->io, workload->find.loadavg);
			workload->find.loadavg = -1;
		}
		if (wtl_proc_is_mounted(text, (size_t)len, "/proc/stat")) {
			wtl_io_file_close(workload->io, workload->stat);
			workload->stat = -1;
		}
		/* The option does not hold for everyone; a file of process 1 does tell. */
		if (wtl_proc_hides(text, (size_t)len))
			workload->find.is_closed = !can_see_first(workload);
	}
	free(text);
}

/* Does /proc number processes as the system calls do? *ret_is_own: are we in a PID namespace apart
 * from the machine's first one? */
static bool numbers_agree(struct wtl_workload *workload, bool *ret_is_own)
{
	/* PROC_PID_INIT_INO in include/linux/proc_ns.h. */
	static const char first[] = "pid:[4026531836]";
	struct wtl_proc_status status;
	char target[64];
	ssize_t len = wtl_io_slurp(workload->io, "/proc/self/status", workload->text,
				   sizeof(workload->text));

	*ret_is_own =
		wtl_io_link_read(workload->io, "/proc/self/ns/pid", target, sizeof(target)) > 0 &&
		strcmp(target, first) != 0;
	workload->uid = UINT32_MAX;
	if (len <= 0 || wtl_proc_parse_status(workload->text, (size_t)len, &status) < 0)
		return true;
	workload->uid = status.uid;
	/* One number for each namespace from that of /proc to one's own. */
	return status.n_numbers <= 1;
}

void wtl_means_open(struct wtl_workload *workload)
{
	mounts_read(workload);
	if (!numbers_agree(workload, &workload->has_own_pids)) {
		workload->numbers_differ = true;
		workload->has_clocks = false;
	}
}

static void ways_of_ended(struct wtl_workload *workload)
{
	bool has_exits = workload->exits >= 0;
	int error = workload->exits_error;

	if (has_exits && workload->means.n_lost_exits > 0)
		way_set(workload, WTL_WAY_EXIT_RECORDS, "exit records", true, NULL,
			"the CPU time of processes that end, however short they lived; too many "
			"came at once %" PRIu64 " time%s, and some were lost",
			workload->means.n_lost_exits, workload->means.n_lost_exits == 1 ? "" : "s");
	else if (has_exits)
		way_set(workload, WTL_WAY_EXIT_RECORDS, "exit records", true, NULL,
			"the CPU time of every process that ends, however short it lived");
	else if (error == -ECANCELED)
		way_set(workload, WTL_WAY_EXIT_RECORDS, "exit records", false, NULL,
			"not asked for");
	else if (error == -EOPNOTSUPP || error == -ENOSYS || error == -ENOENT || error == -ENODATA)
		way_set(workload, WTL_WAY_EXIT_RECORDS, "exit records", false, NULL, "%s",
			error == -ENOENT    ? "this machine is a directory, which has none"
			: error == -ENODATA ? "the tape has none"
					    : "the kernel has no taskstats");
	else
		way_set(workload, WTL_WAY_EXIT_RECORDS, "exit records", false,
			workload->has_own_pids ? remedy_namespaces : remedy_exits,
			"%s: processes that start and end between two scans are not seen one by one",
			wtl_err_text(error));
	way_set(workload, WTL_WAY_PARENTS, "ended children", true, NULL, "%s",
		has_exits
			? "CPU time of ended children, as the kernel adds it to their parents, completes the exit records"
			: "CPU time of ended children, as the kernel adds it to their parents, and totals of "
			  "control groups stand in for exit records");
}

static void ways_of_living(struct wtl_workload *workload)
{
	if (workload->has_clocks)
		way_set(workload, WTL_WAY_CPU_CLOCKS, "CPU clocks", true, NULL,
			"CPU time of each process to the nanosecond");
	else if (workload->numbers_differ)
		way_set(workload, WTL_WAY_CPU_CLOCKS, "CPU clocks", false, remedy_own_proc,
			"/proc numbers processes as another PID namespace does: CPU time in steps "
			"of 10 ms");
	else
		way_set(workload, WTL_WAY_CPU_CLOCKS, "CPU clocks", false, NULL,
			"not offered here: CPU time in steps of 10 ms");
	if (workload->find.loadavg >= 0 && workload->has_clocks)
		way_set(workload, WTL_WAY_NEWEST_PID, "new processes", true, NULL,
			"found by the highest process number, without listing /proc");
	else
		way_set(workload, WTL_WAY_NEWEST_PID, "new processes", false, NULL,
			"/proc/loadavg has no highest process number here: /proc is listed at each scan");
}

static void ways_of_machine(struct wtl_workload *workload)
{
	if (workload->stat >= 0 && (workload->busy.is_known || workload->n_scans == 0))
		way_set(workload, WTL_WAY_BUSY_TIME, "busy time", true, NULL,
			"what no process accounts for is shown as not attributed%s",
			workload->busy.has_interrupts
				? ", interrupts apart"
				: "; the kernel does not count interrupts apart");
	else
		way_set(workload, WTL_WAY_BUSY_TIME, "busy time", false, NULL,
			"the machine's /proc/stat cannot be read (an emulation is mounted over it?): "
			"use that nobody accounts for is not seen");
	if (workload->find.is_closed)
		way_set(workload, WTL_WAY_VISIBLE, "all processes", false, remedy_hidepid,
			"/proc is mounted with hidepid: other users' processes have CPU time but no "
			"names");
	else if (workload->has_own_pids)
		way_set(workload, WTL_WAY_VISIBLE, "all processes", false, remedy_pids,
			"this is a PID namespace of its own (a container): the use of all others is "
			"one sum, not attributed");
	else if (workload->means.n_unfollowed > 0)
		way_set(workload, WTL_WAY_VISIBLE, "all processes", true, NULL,
			"every process of the machine, but %" PRIu64 " for which there was no room",
			workload->means.n_unfollowed);
	else
		way_set(workload, WTL_WAY_VISIBLE, "all processes", true, NULL,
			"every process of the machine");
}

static void way_without_counters(struct wtl_workload *workload, int error)
{
	const char *remedy = NULL;

	switch (-error) {
	case EACCES:
	case EPERM:
		remedy = workload->has_own_pids ? remedy_container : remedy_counters;
		break;
	case EXDEV:
		way_set(workload, WTL_WAY_COUNTERS, "counters", false, remedy_own_proc,
			"/proc numbers processes as another PID namespace does");
		return;
	case ENOENT:
	case ENODEV:
	case ENOSYS:
	case EOPNOTSUPP:
		way_set(workload, WTL_WAY_COUNTERS, "counters", false, remedy_pmu,
			"the processors' counters are not offered here (as in most virtual "
			"machines), or this tape lacks them: CPU time is the only weight");
		return;
	default:
		break;
	}
	way_set(workload, WTL_WAY_COUNTERS, "counters", false, remedy,
		"perf_event_open: %s: CPU time is the only weight", wtl_err_text(error));
}

static void ways_of_counters(struct wtl_workload *workload)
{
	const struct wtl_offer *offer = &workload->offer;
	bool has_instructions = offer->errors[WTL_WEIGHT_INSTRUCTIONS] == 0;
	bool has_cycles = offer->errors[WTL_WEIGHT_CYCLES] == 0;

	if (workload->counters_error < 0)
		way_without_counters(workload, workload->counters_error);
	else if (!offer->is_known)
		way_set(workload, WTL_WAY_COUNTERS, "counters", workload->counters != NULL, NULL,
			"%s", workload->counters ? "the work of each process" : "not asked for");
	else if (!has_instructions && !has_cycles)
		way_without_counters(workload, offer->errors[WTL_WEIGHT_INSTRUCTIONS]);
	else
		way_set(workload, WTL_WAY_COUNTERS, "counters", true, NULL,
			"--weight can be %s%s%s%s", has_instructions ? "instructions" : "",
			has_instructions && has_cycles ? " or " : "", has_cycles ? "cycles" : "",
			offer->is_for_all ? "" : ", for your own processes only");
}

/* A directory or a tape that has no processes: nobody was asked, and nothing answered. */
static void ways_of_nobody(struct wtl_workload *workload)
{
	static const struct {
		enum wtl_workload_way_id id;
		const char *way;
	} ways[] = {
		{WTL_WAY_CPU_CLOCKS, "CPU clocks"},    {WTL_WAY_PARENTS, "ended children"},
		{WTL_WAY_NEWEST_PID, "new processes"}, {WTL_WAY_VISIBLE, "all processes"},
		{WTL_WAY_COUNTERS, "counters"},
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		way_set(workload, ways[i].id, ways[i].way, false, NULL,
			"/proc shows no processes here");
}

void wtl_means_update(struct wtl_workload *workload)
{
	const struct wtl_roster *roster = &workload->roster;
	struct wtl_workload_means *means = &workload->means;

	ways_of_living(workload);
	ways_of_ended(workload);
	ways_of_machine(workload);
	ways_of_counters(workload);
	if (workload->n_scans > 0 && roster->n_live == 0)
		ways_of_nobody(workload);
	means->n_live = roster->n_live;
	means->n_unreadable = 0;
	for (uint32_t i = 0; i < roster->n_live; i++)
		means->n_unreadable += !roster->consumers[roster->slots[i]].is_readable;
}

const struct wtl_workload_means *wtl_workload_means(const struct wtl_workload *workload)
{
	return &workload->means;
}
