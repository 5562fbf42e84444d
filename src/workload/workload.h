/* SPDX-License-Identifier: MIT */
#ifndef WTL_WORKLOAD_WORKLOAD_H
#define WTL_WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "base/procfs.h"
#include "energy/attribution.h"
#include "energy/consumer.h"

struct wtl_err;

/*
 * Who ran: follows every process of the machine by its CPU time. A consumer has a slot, the number
 * that struct wtl_attribution knows it by. One thread at a time.
 */
struct wtl_workload;

/* What a use of the processors weighs: the CPU time, the work that the hardware counted in it, or what it was learned to
 * draw. */
enum wtl_weight {
	WTL_WEIGHT_CPU_TIME,
	WTL_WEIGHT_INSTRUCTIONS,
	WTL_WEIGHT_CYCLES,
	WTL_WEIGHT_LEARNED, /* CPU time in the scan: who consumes the uses weighs them */
	WTL_WEIGHTS
};

const char *wtl_weight_name(enum wtl_weight weight); /* "cpu-time" */
extern const char *const wtl_weight_names[];	     /* all of them, ended by NULL */
int wtl_weight_find(const char *name);		     /* or -EINVAL */

struct wtl_workload_options {
	enum wtl_weight weight;	 /* CPU time all the same where the hardware does not tell */
	int subreaper_pid;	 /* whoever it adopts belongs to the followed tree; 0: none */
	uint32_t max_slots;	 /* 0: 65536 */
	uint32_t max_exited;	 /* ended processes with an account of their own; 0: 4096 */
	uint32_t reads_per_scan; /* processes whose names are read in one scan; 0: 256 */
	bool names_on_use;	 /* those of processes that do nothing are not read */
	bool without_exits;	 /* as if there were no privilege for exit records */
};

/* One slot's account is to be moved to another's; the slot may have a new owner already. */
struct wtl_fold {
	uint32_t from, into;
};

/*
 * What one scan saw. Apply the folds in order (wtl_attribution_fold), after making room for
 * wtl_workload_capacity() slots, and only then bill the uses. Uses are in nanoseconds of CPU time, or
 * by another weight in as many nanoseconds as all of that was together; slots are distinct, weights
 * above 0. Valid until the next scan or reset.
 */
struct wtl_workload_scan {
	int64_t t_mono_ns;
	int64_t duration_ns; /* since the previous scan; 0 at the first one, which has no uses */
	int64_t capacity_ns; /* CPUs × duration; 0: not known */
	int64_t busy_ns;     /* the sum of all uses, at most the capacity where that is known */
	struct wtl_proc_machine machine; /* what the CPUs did since the start; no CPUs: not known */
	const struct wtl_use *uses;
	size_t n_uses;
	const struct wtl_fold *folds;
	size_t n_folds;
};

/* 0 or -ENOMEM: whatever the machine does not let us see is no error (wtl_workload_means()). */
int wtl_workload_new(const struct wtl_env *env, const struct wtl_workload_options *options,
		     struct wtl_workload **ret_workload, struct wtl_err *err);
void wtl_workload_free(struct wtl_workload *workload); /* NULL is fine */

/*
 * One scan. 0, or -ENOMEM: a new process could not be taken up (its use is unseen); the scan is
 * right all the same, and is to be billed.
 */
int wtl_workload_tick(struct wtl_workload *workload);
const struct wtl_workload_scan *wtl_workload_scan(const struct wtl_workload *workload);

/*
 * All accounts begin anew: ended consumers and rows are forgotten, the CPU time of live ones
 * restarts at 0, and no tree is followed. The last scan is empty afterwards.
 */
void wtl_workload_reset(struct wtl_workload *workload);

/* Slots are below this; it only grows, by wtl_workload_tick() and the functions that say so. */
size_t wtl_workload_capacity(const struct wtl_workload *workload);

/*
 * Rows are FOLDED consumers with pid 0: ended processes by name ("cc1"), or "short-lived" ones that
 * nobody saw, of a parent or a group (n_processes is 0, because nobody counted them), or "others".
 * Ended kernel threads are one row, whose state is KERNEL.
 *
 * NULL for a slot that is not in use, and for the fixed ones. Valid until the next scan or reset.
 */
const struct wtl_consumer *wtl_workload_consumer(const struct wtl_workload *workload,
						 uint32_t slot);

/* The next used slot from `slot` on, or the capacity: for (s = next(w, 0); s < capacity; s = next(w,
 * s + 1)). */
uint32_t wtl_workload_next(const struct wtl_workload *workload, uint32_t slot);

/* The next scan reads the names of everybody that has none yet, however many: for one picture. */
void wtl_workload_name_all(struct wtl_workload *workload);

/* Reads who a live process is, if nobody ever did: for one that matters without using the processors. */
void wtl_workload_name(struct wtl_workload *workload, uint32_t slot);

/* The slot of a live process, or -ESRCH. */
int64_t wtl_workload_find(const struct wtl_workload *workload, int pid);

/*
 * The slot of a process that somebody else (a GPU's driver) knows by a number that means nothing
 * here: not visible, so without CPU time. The same pid has the same slot until it has ended, or the next
 * reset. Without a name ("") it is called after its number. May grow the capacity. -ENOSPC or -ENOMEM.
 */
int64_t wtl_workload_outsider(struct wtl_workload *workload, int pid, const char *name);

/* Those are all that there are now: other outsiders have ended. Slots of others are fine among them. */
void wtl_workload_keep_outsiders(struct wtl_workload *workload, const uint32_t slots[], size_t n);

/* What is known of a consumer's GPUs, for wtl_workload_consumer(). */
void wtl_workload_set_gpu(struct wtl_workload *workload, uint32_t slot, uint64_t memory_bytes,
			  uint32_t gpu_ppm);

/* With whom its watts are learned, for wtl_workload_consumer(). */
void wtl_workload_set_watts_key(struct wtl_workload *workload, uint32_t slot, uint32_t key);

/*
 * From now on this process and its descendants are in the tree: those that live, and all that are
 * born, also when their parent ends first. May grow the capacity. 0, -ESRCH, -ENOSPC or -ENOMEM.
 */
int wtl_workload_follow_tree(struct wtl_workload *workload, int pid);

/*
 * Chosen sets, numbered from 0: a process with its descendants, as above, or all that are in a control group or
 * below it. wtl_consumer.sets has a bit for each; who was in one stays in it. -ESRCH, -ENOMEM.
 */
enum { WTL_SETS_MAX = 16 };
int wtl_workload_choose_tree(struct wtl_workload *workload, unsigned set, int pid);
int wtl_workload_choose_group(struct wtl_workload *workload, unsigned set, const char *cgroup);
void wtl_workload_choose_nobody(struct wtl_workload *workload, unsigned set);

/*
 * Reads the memory of at most `budget` live processes: up to half of them such as are busy (1 % of a
 * CPU in the last scan), then of all in turn. PSS and USS where readable, else RSS alone. PSS costs what
 * there is to walk: 2 MiB a process of the budget and call, half of it for busy ones as far as they need
 * it. Who is larger is walked all the same, and paid off by the calls after it; meanwhile those whose
 * turn it is have their RSS read alone and keep PSS and USS as long as these can be true (PSS <= RSS),
 * and their turn. So everybody has been walked when all were paid, however large some are, and busy
 * ones sooner. Some 0.1 ms a process of the budget: not for every scan. Returns how many were read; one
 * that is busy may be read twice.
 */
unsigned wtl_workload_read_memory(struct wtl_workload *workload, unsigned budget);

/*
 * Where nobody asks for PSS and USS: the RSS of at most `budget` live processes in turn, of those that ran for 4 ms since
 * it was read last, and at each fourth scan for half a millisecond. Who did nothing has what it had. Returns how many
 * were read.
 */
unsigned wtl_workload_read_resident(struct wtl_workload *workload, unsigned budget);

/*
 * The process that is followed has ended and has not been waited for yet; it and its descendants that
 * were waited for used so much in all, as wait4() tells. What the next scan does not find of that
 * becomes the row of that process's children.
 */
void wtl_workload_tree_ended(struct wtl_workload *workload, int64_t cpu_ns);

/* What uses have been weighed by so far: what was asked for since the hardware has told of anybody. */
enum wtl_weight wtl_workload_weight(const struct wtl_workload *workload);
/* 0, or the errno (negative) for which what was asked for is not to be had: the way WTL_WAY_COUNTERS
 * has reason and remedy. */
int wtl_workload_weight_error(const struct wtl_workload *workload);
/* Finds out which weights there are, for the way WTL_WAY_COUNTERS. */
void wtl_workload_probe_weights(struct wtl_workload *workload);

/* ---- Restored from a recording ---- */

/* As many as a workload of this machine has at the most (max_slots). */
enum { WTL_RESTORED_SLOTS_MAX = 65536 };

/*
 * A workload that is filled from a recording and reads nothing of this machine. wtl_workload_tick()
 * takes the scan that was restored, once. wtl_workload_reset() only empties the scan. GPUs' processes
 * and memory come with the consumers. 0 or -ENOMEM.
 */
int wtl_workload_new_restored(struct wtl_workload **ret_workload, struct wtl_err *err);

/* The slot's consumer, to be filled in; not in use before, it is as for a new process. NULL: no memory,
 * a fixed slot, or one beyond WTL_RESTORED_SLOTS_MAX. Valid until the next one is restored. */
struct wtl_consumer *wtl_workload_restore_consumer(struct wtl_workload *workload, uint32_t slot);
void wtl_workload_restore_nobody(struct wtl_workload *workload, uint32_t slot);

/* The next scan. Its uses and folds are borrowed until the one after it. */
void wtl_workload_restore_scan(struct wtl_workload *workload, const struct wtl_workload_scan *scan);

void wtl_workload_restore_weight(struct wtl_workload *workload, enum wtl_weight weight);

/* ---- How it is done here, and what more privilege would add ---- */

enum wtl_workload_way_id {
	WTL_WAY_CPU_CLOCKS,   /* nanosecond clocks; else 10 ms ticks of /proc/PID/stat */
	WTL_WAY_EXIT_RECORDS, /* of every process that ends */
	WTL_WAY_PARENTS,    /* child times of parents and totals of control groups, without them */
	WTL_WAY_NEWEST_PID, /* new processes found by number; else by listing /proc */
	WTL_WAY_BUSY_TIME,  /* the machine's busy time, which shows what nobody accounts for */
	WTL_WAY_VISIBLE,    /* other users' processes, and all of the machine's, can be seen */
	WTL_WAY_COUNTERS, /* weights beside CPU time: told where one is asked for, or was probed */
	WTL_WAYS
};

struct wtl_workload_way {
	const char *way;  /* "exit records" */
	bool is_used;	  /* false: reason says why not, remedy what to do (may be NULL) */
	char reason[192]; /* else what it gives */
	const char *remedy;
};

struct wtl_workload_means {
	struct wtl_workload_way ways[WTL_WAYS];
	uint64_t n_lost_exits; /* times that the kernel dropped exit records (ENOBUFS) */
	uint64_t n_bad_exits;  /* records that could not be understood */
	uint64_t n_found_late; /* processes that only a full listing found */
	uint64_t n_unfollowed; /* processes for which there was no slot or memory */
	uint64_t n_reused;     /* numbers that a new process took over between two scans */
	uint32_t n_live;       /* processes followed now */
	uint32_t n_unreadable; /* of those, whose names and memory are closed to us */
};

/* As of the last scan; lives as long as the workload. */
const struct wtl_workload_means *wtl_workload_means(const struct wtl_workload *workload);

#endif
