/* SPDX-License-Identifier: MIT */
#ifndef WTL_WORKLOAD_ROSTER_H
#define WTL_WORKLOAD_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "energy/attribution.h"
#include "energy/consumer.h"
#include "workload/workload.h"

/*
 * Slots and who has them: pure bookkeeping in memory. A live process is found by its pid and stands
 * in the live list; one that ended keeps its slot until it is folded into a row.
 */

enum { WTL_NO_SLOT = UINT32_MAX, WTL_NOT_LIVE = UINT32_MAX };

enum wtl_place_kind {
	WTL_PLACE_FREE,
	WTL_PLACE_FIXED,
	WTL_PLACE_PROCESS, /* live or ended */
	WTL_PLACE_ROW,	   /* stands for several */
	WTL_PLACE_OUTSIDER,
};

/* What is known of a slot beside its consumer. There may be thousands, so it is packed. */
struct wtl_place {
	enum wtl_place_kind kind : 8;
	bool has_stat : 1;   /* parent and start are known, and who inherits what */
	bool is_listed : 1;  /* in used[] */
	bool needs_base : 1; /* the first answer of its clock counts from there */
	bool is_kernel : 1;
	bool is_stale : 1;	 /* its number may have been given to another process */
	bool has_record : 1;	 /* of its end: another process may get its number at any time */
	bool is_uncountable : 1; /* the hardware's counters cannot be had for it (counters.c) */
	bool is_weighed : 1;	 /* by its own counters, in this scan */
	uint16_t n_reads;    /* how often its names were read, or more often than this can say */
	uint32_t live;	     /* its index in the live list; WTL_NOT_LIVE */
	uint32_t scan_ended; /* when it left the live list; 0: it has not */
	union {
		uint32_t scan_read; /* when its names were read last; 0: never */
		uint32_t next_free; /* of a free place */
	};
	uint32_t scan_used;	   /* the last scan that saw it run; 0: none */
	uint32_t scan_child;	   /* the last scan that knew of a child that ended */
	uint64_t weight_ns;	   /* use in this scan; in the end, what it weighs (counters.c) */
	uint64_t start_ticks;	   /* 0: not known */
	int64_t clock_ns;	   /* CPU time since birth, as far as it is billed */
	int64_t resident_clock_ns; /* that, when its RSS was read last (memory.c) */
	char *command; /* the consumer's, to be freed; NULL: there is none, or it is borrowed (restored) */
	/* For comparing its child times with what was billed to its children (short_lived.c). */
	uint64_t child_ticks;
	int64_t children_ns; /* of children that ended, as far as billed, since child_ticks was read */
};

struct wtl_roster {
	uint32_t scan; /* its number, from 1 */
	struct wtl_consumer *consumers;
	struct wtl_place *places;
	uint32_t capacity, max;
	uint32_t first_free, n_used; /* n_used: slots below it have been in use */
	uint32_t n_taken;

	/* Live processes; pids[i] has slot slots[i]; clocks[] is the batch's answers. */
	int *pids;
	uint32_t *slots;
	int64_t *clocks;
	uint32_t n_live;

	struct wtl_hash by_pid; /* to slots */

	/* Ended processes that keep their slots, oldest first. */
	uint32_t *ended;
	uint32_t n_ended;

	uint32_t *used; /* slots with use in this scan */
	uint32_t n_used_now;

	uint32_t *born; /* slots of processes that were added in this scan */
	uint32_t n_born;

	struct wtl_use *uses;
	struct wtl_fold *folds;
	size_t n_folds;
};

int wtl_roster_init(struct wtl_roster *roster, uint32_t max);
void wtl_roster_done(struct wtl_roster *roster);

/* So many are about to be added: room that is made at once leaves no holes in memory. */
void wtl_roster_expect(struct wtl_roster *roster, uint32_t n);

/* A slot with an empty consumer. -ENOSPC or -ENOMEM. */
int64_t wtl_roster_add(struct wtl_roster *roster, enum wtl_place_kind kind);
/* The same for a live process that is not there yet. */
int64_t wtl_roster_add_process(struct wtl_roster *roster, int pid);
/* The consumer's command from now on; without memory, it stays as it was. */
void wtl_roster_set_command(struct wtl_roster *roster, uint32_t slot, const char *command);
/* Gives back a slot that is not live. */
void wtl_roster_remove(struct wtl_roster *roster, uint32_t slot);

/* WTL_NO_SLOT when it is not live. */
uint32_t wtl_roster_find(const struct wtl_roster *roster, int pid);

/* Out of the live list; the pid is still found until wtl_roster_forget(). */
void wtl_roster_end(struct wtl_roster *roster, uint32_t slot);
/* The pid is not found any more. */
void wtl_roster_forget(struct wtl_roster *roster, uint32_t slot);

/* Use in this scan. */
void wtl_roster_use(struct wtl_roster *roster, uint32_t slot, int64_t cpu_ns);

/* Moves one slot's account to another and frees it, and notes it in folds[]. It must have no use in
 * this scan and not be in ended[]. */
void wtl_roster_fold(struct wtl_roster *roster, uint32_t from, uint32_t into);

/* A new scan, with its number: no uses, no folds; what was shown for the last interval is 0. */
void wtl_roster_begin(struct wtl_roster *roster, uint32_t scan);

#endif
