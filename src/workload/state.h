/* SPDX-License-Identifier: MIT */
#ifndef WTL_WORKLOAD_STATE_H
#define WTL_WORKLOAD_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/procfs.h"
#include "workload/busy.h"
#include "workload/counters.h"
#include "workload/groups.h"
#include "workload/roster.h"
#include "workload/taskstats.h"
#include "workload/workload.h"

/*
 * The parts of a workload, for src/workload/ alone. A scan goes through them in this order:
 * rows.c (make room), find.c (who is new), clocks.c (what the machine did, and live ones),
 * ended.c (ended ones), short_lived.c (what others tell of them), names.c (who they are), counters.c (what
 * their use weighs).
 */

enum {
	WTL_PROBE_MAX = 4096, /* numbers that are looked up one by one rather than by listing */
	WTL_EXITS_MAX = 512,  /* records of processes that nobody saw, taken together */
	WTL_ROWS_MAX = 1024,
	WTL_UNITS_MAX = 256,
	WTL_CHILDREN_MAX = 512, /* parents and slots that their ended children are in */
	WTL_TEXT_MAX = 8192,	/* of one of a process's files */
};

/* So many in that slot ended below that parent. */
struct wtl_ended_children {
	uint32_t parent, slot, n;
};

struct wtl_children {
	struct wtl_ended_children at[WTL_CHILDREN_MAX];
	uint32_t n;
	uint32_t scan_lost; /* the last one that records were lost before; 0: none */
};

struct wtl_finder {
	int loadavg;	 /* kept open; < 0: the newest number is of no use here */
	int newest;	 /* as of the last scan; 0: not known, so list */
	bool is_settled; /* nobody was being made when it was read */
	int limit;	 /* numbers are below it */
	bool is_closed;	 /* listing does not show everyone (hidepid) */
	int sweep_at;
	int64_t t_listed_ns;
	uint32_t scans_since; /* the last full listing */
	struct wtl_buf names;
	int *pids; /* WTL_PROBE_MAX of both; NULL in one that is restored */
	int64_t *answers;
};

/* What folded consumers have in common. */
struct wtl_row_key {
	enum wtl_row_kind {
		WTL_ROW_NAME = 1, /* ended processes of one name, user and group */
		WTL_ROW_PARENT,	  /* a parent's children that nobody saw */
		WTL_ROW_UNIT,	  /* a control group's that nobody saw */
		WTL_ROW_KERNEL,	  /* ended kernel threads */
		WTL_ROW_TREE,	  /* the tree's that nobody saw */
		WTL_ROW_OTHERS,	  /* all that there is no row for any more */
	} kind;
	bool is_in_tree;
	uint16_t sets;
	uint32_t uid;
	int parent;
	uint64_t parent_start;
	const struct wtl_group *group;
	char name[32];
};

struct wtl_folded_row {
	struct wtl_row_key key;
	uint32_t slot;
};

struct wtl_folded_rows {
	struct wtl_folded_row *rows; /* WTL_ROWS_MAX; NULL in one that is restored */
	uint32_t n;
	struct wtl_hash by_key; /* places of rows */
};

/* A leaf control group's total against what is billed to its members. */
struct wtl_unit_use {
	const struct wtl_group *group;
	int file; /* < 0: it is gone */
	bool has_base;
	int64_t base_ns, known_ns;
};

/* Where reading memory stands. */
struct wtl_memory_turns {
	uint32_t walk_slot, rss_slot; /* whose turn it is, or of the next one that takes turns */
	uint64_t walked_bytes;	      /* for PSS, and not paid off yet */
};

struct wtl_workload {
	struct wtl_io *io;
	struct wtl_workload_options options;
	struct wtl_roster roster;
	struct wtl_groups *groups;
	struct wtl_workload_scan scan;
	struct wtl_workload_means means;
	uint32_t n_scans;
	bool is_restored;	/* reads nothing of this machine (restored.c) */
	bool has_restored_scan; /* that no tick has taken */
	uint32_t scan_replaced; /* the last one in which a number had a new owner */
	uint32_t
		scan_stirred; /* the last one that saw a birth or an end, or left a parent unread */
	int64_t t_boot_ns;
	uint64_t before_ticks; /* when the scan before this one was */
	bool has_clocks;       /* process_cpu() answers */
	bool clocks_failed;    /* not in this scan */
	bool no_memory;	       /* in this scan */
	bool has_own_pids;     /* a PID namespace apart from the first one */
	bool numbers_differ;   /* /proc is another namespace's */
	uint32_t uid;	       /* our own; UINT32_MAX: not known */
	bool follows_tree;
	uint16_t chosen_trees; /* those of the sets that are processes and their descendants */
	char *chosen_groups[WTL_SETS_MAX]; /* those that are control groups; NULL: it is none */
	int tree_pid;			   /* whom wtl_workload_follow_tree() was given */
	int64_t tree_cpu_ns;  /* wtl_workload_tree_ended(), for the next scan; 0: nothing */
	uint64_t begin_ticks; /* what started later is known from birth */
	bool names_all;	      /* in the next scan */
	bool has_unread;      /* there may be live processes whose names were never read */
	bool kernel_ended;    /* a kernel thread did, and is to be folded */
	uint32_t turn;	      /* where the rotation of names stands */
	uint32_t parent_turn; /* where that of parents does, if there are too many */
	struct wtl_memory_turns memory_busy, memory_all;
	uint32_t resident_slot; /* whose turn it is where RSS alone is read */
	struct wtl_finder find;
	struct wtl_busy busy;
	int stat; /* /proc/stat, kept open */
	char *stat_text;
	size_t stat_size;
	int exits; /* < 0: no exit records */
	int exits_error;
	struct wtl_exit pending[WTL_EXITS_MAX];
	int pending_pids[WTL_EXITS_MAX];
	int64_t pending_clocks[WTL_EXITS_MAX];
	uint32_t n_pending;
	enum wtl_weight weight; /* what uses were weighed by so far */
	int counters_error;	/* why there are no counters, though they were asked for */
	struct wtl_offer {
		bool is_known;
		int errors[WTL_WEIGHTS]; /* 0: can be had */
		bool is_for_all;	 /* for other users' processes as well */
	} offer;
	struct wtl_counters *counters;
	struct wtl_folded_rows rows;
	struct wtl_children children;
	struct wtl_unit_use units[WTL_UNITS_MAX];
	size_t n_units, n_groups_seen;
	size_t n_groups_kept;	/* when some were given up last */
	char cgroup_mount[256]; /* of version 2; "": none */
	char text[WTL_TEXT_MAX];
};

/* ---- lifecycle.c ---- */

/* A new live process. needs_base: what it used so far is not this scan's. Negative: no room. */
int64_t wtl_workload_take(struct wtl_workload *workload, int pid, bool needs_base);
/* A live process is no more; its pid is found until the scan is over. */
void wtl_workload_end(struct wtl_workload *workload, uint32_t slot);
/* Another process has that number now: the slot's ended, and the new one's slot (or negative). */
int64_t wtl_workload_replace(struct wtl_workload *workload, uint32_t slot);
/* CPU time of an ended process that we learn of later. `ancestor` is the nearest followed one: its child times get it,
 * or those of its nearest live ancestor. child: the slot of one that has just ended, or WTL_NO_SLOT. */
void wtl_workload_child_used(struct wtl_workload *workload, uint32_t ancestor, int64_t cpu_ns,
			     uint32_t child);

/* ---- children.c ---- */

/* Use that a parent's child times showed is this slot's. It may move the places. */
void wtl_children_bill_slot(struct wtl_workload *workload, uint32_t slot, int64_t use_ns);
/* A child of the parent ended, and is in that slot: its own, or a row. */
void wtl_children_add(struct wtl_workload *workload, uint32_t parent, uint32_t child);
/* The parent ended: its ended children now count as the heir's. WTL_NO_SLOT: as nobody's. */
void wtl_children_inherit(struct wtl_workload *workload, uint32_t parent, uint32_t heir);
/* What was in slot `from` is in `into` now. */
void wtl_children_fold(struct wtl_workload *workload, uint32_t from, uint32_t into);
/* Those with slots of their own that ended before this scan: a part of a recording that begins here does not know them. */
void wtl_children_forget(struct wtl_workload *workload);
uint64_t wtl_children_count(const struct wtl_workload *workload, uint32_t parent);
/* Divides the use among those that ended below the parent, of which there are some, and begins anew. */
void wtl_children_bill(struct wtl_workload *workload, uint32_t parent, int64_t use_ns);

/* ---- find.c ---- */

int wtl_find_open(struct wtl_workload *workload);
void wtl_find_close(struct wtl_workload *workload);
void wtl_find_new(struct wtl_workload *workload);
/* Is there a process of that number, which has no slot yet? Takes it up if so. WTL_NO_SLOT, or its slot. */
uint32_t wtl_find_one(struct wtl_workload *workload, int pid);

/* ---- clocks.c ---- */

int wtl_clocks_open(struct wtl_workload *workload);
void wtl_clocks_close(struct wtl_workload *workload);
void wtl_clocks_read_machine(struct wtl_workload *workload);
void wtl_clocks_read(struct wtl_workload *workload);
/* The clocks of n pids. Negative: none could be read, and -ESRCH is in each place. */
int wtl_clocks_ask(struct wtl_workload *workload, const int pids[], int64_t clocks[], size_t n);

/* ---- ended.c ---- */

void wtl_ended_open(struct wtl_workload *workload);
void wtl_ended_close(struct wtl_workload *workload);
void wtl_ended_read(struct wtl_workload *workload);

/* ---- short_lived.c ---- */

void wtl_short_lived_open(struct wtl_workload *workload);
void wtl_short_lived_close(struct wtl_workload *workload);
void wtl_short_lived_reset(struct wtl_workload *workload);
/* Bills from what nobody accounts for to rows. */
void wtl_short_lived_read(struct wtl_workload *workload);

/* ---- names.c ---- */

/* What /proc/PID/stat says now, and nothing is changed. */
int wtl_names_parse_stat(struct wtl_workload *workload, uint32_t slot,
			 struct wtl_proc_stat *ret_stat);
/* Parent, start and name. 0, 1 when the number is another process's now, or negative. */
int wtl_names_read_stat(struct wtl_workload *workload, uint32_t slot);
/* The same with user, arguments and group. */
int wtl_names_read_all(struct wtl_workload *workload, uint32_t slot);
/* That, where it lives and nobody ever did. */
void wtl_names_read_once(struct wtl_workload *workload, uint32_t slot);
/* When the process that has the number now began, where it is not ours: that takes one file. 0: it is
 * ours, or nobody can tell. Not for one taken up in this scan whose start time is not known yet. */
uint64_t wtl_names_successor(struct wtl_workload *workload, uint32_t slot);
/* Has the subreaper a process from the tree, whose parent ended? The tree's first process is a child of the
 * subreaper's too then, and whoever was there before it is not of the tree. */
bool wtl_names_is_adopted(struct wtl_workload *workload, int parent, int pid, uint64_t start_ticks);
/* Those taken up in this scan. */
void wtl_names_read_born(struct wtl_workload *workload);
/* A bounded number of others, most active first. */
void wtl_names_read_some(struct wtl_workload *workload);

/* ---- counters.c ---- */

/* 0 or -ENOMEM; does nothing where CPU time is the weight, or counters are not to be had. */
int wtl_counters_open(struct wtl_workload *workload);
void wtl_counters_close(struct wtl_workload *workload);
/* Finds out what there is, for offer. */
void wtl_counters_probe(struct wtl_workload *workload);
/* Changes the weight of this scan's uses; their sum stays. */
void wtl_counters_weigh(struct wtl_workload *workload);
/* What was weighed so far is settled: no account has it any more. */
void wtl_counters_reset(struct wtl_workload *workload);
/* From now on counts those that used much in this scan. */
void wtl_counters_follow(struct wtl_workload *workload);

/* ---- rows.c ---- */

/* The row for that key, made if need be; WTL_SLOT_UNSEEN when there is no room for any. */
uint32_t wtl_rows_slot(struct wtl_workload *workload, const struct wtl_row_key *key);
/* Folds ended processes until there are no more than allowed. */
void wtl_rows_fold_ended(struct wtl_workload *workload);
/* Folds some to make room for at least one slot; false: there is nobody. */
bool wtl_rows_make_room(struct wtl_workload *workload);
void wtl_rows_reset(struct wtl_workload *workload);
/* A set is not chosen any more: rows are in those of `others` at most. */
void wtl_rows_forget_set(struct wtl_workload *workload, uint16_t others);

/* The chosen sets that a control group is or lies in; NULL is fine. */
uint16_t wtl_workload_group_sets(const struct wtl_workload *workload,
				 const struct wtl_group *group);

/* ---- means.c ---- */

void wtl_means_open(struct wtl_workload *workload);
void wtl_means_update(struct wtl_workload *workload);

#endif
