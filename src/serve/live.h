/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_LIVE_H
#define WTL_SERVE_LIVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "energy/catalog.h"
#include "replay/format.h"
#include "serve/pods.h"
#include "serve/totals.h"

/*
 * An agent's state at one moment, as plain data: the thread that measures fills one about
 * once a second, and requests are answered from the newest. No request reads a sensor. New
 * texts, enums and bools need a row in live_blob.c, which reads snapshots of another process.
 */

struct wtl_live_domain {
	char name[WTL_NAME_SIZE], inside[WTL_NAME_SIZE]; /* inside: "" for none */
	char device[128], source[32], uuid[64];
	char reason[192]; /* why there is no figure; "" where there is one */
	enum wattle_kind kind;
	enum wattle_method method;
	enum wattle_status status;
	bool in_total, has_energy, has_power, has_idle;
	/* Since the counters began (they continue after a restart): the accounts of the ledger, and their sum. */
	uint64_t accounts_uj[WTL_TOTALS_ACCOUNTS], energy_uj;
	/* Since this agent began: the measured energy with its ± (k = 2), and the time with and without measurement. */
	uint64_t measured_uj, uncertainty_uj;
	int64_t measured_ns, gap_ns;
	uint64_t power_uw, power_uncertainty_uw; /* over the last interval; k = 2 */
	uint64_t idle_uw, idle_uncertainty_uw;	 /* k = 2 */
};

/* A source that offers nothing. */
struct wtl_live_miss {
	char source[32], domain[WTL_NAME_SIZE];
	char reason[200];
	char remedy[240]; /* a command or setting; "": there is none */
	enum wattle_status status;
};

struct wtl_live_group {
	uint8_t by; /* its index in wtl_totals_groupings[] */
	char name[WTL_TOTALS_NAME_SIZE];
	char title
		[WTL_POD_TITLE_SIZE]; /* of a pod, NAMESPACE/NAME; of a job, its user; "": not known */
	uint64_t
		power_uw; /* over the last interval, in the counted domains, with its part of idle */
	uint64_t *energy_uj;  /* wtl_live_energy() */
	uint64_t *dynamic_uw; /* one a domain: above idle, over the last interval */
};

struct wtl_live_process {
	int pid; /* 0: a row for several that have ended */
	char name[32], user[40];
	uint32_t cpu_ppm;
	bool has_dynamic;
	bool is_running;
	uint64_t power_uw, dynamic_uw; /* over the last interval */
	uint64_t cpu_dynamic_uw;       /* of that, in processors and their memory */
	uint64_t counted_uj;	       /* like energy_uj, but it never falls */
	uint64_t energy_uj, uncertainty_uj,
		dynamic_uj; /* since this agent began; ± (k = 2) is of the full one */
};

struct wtl_live_gpu {
	char domain[WTL_NAME_SIZE], name[128], uuid[64];
	uint64_t has; /* bits by enum wtl_device_number */
	int64_t values[WTL_DEVICE_NUMBERS];
};

/* Served data are bounded: counts are at most these, except for the processes. */
enum { WTL_LIVE_DOMAINS = 256, WTL_LIVE_MISSES = 64, WTL_LIVE_GPUS = 128 };

/* Does the engine have what it acknowledged? (If it is asked.) */
enum wtl_live_stored { WTL_LIVE_NOT_VERIFIED, WTL_LIVE_NOT_YET, WTL_LIVE_STORED, WTL_LIVE_MISSING };

/* What was sent to an engine since this agent began (push.h). */
struct wtl_live_push {
	bool is_on;
	enum wtl_live_stored stored;
	uint64_t sent, repeated, refused; /* samples: taken; sent again; refused */
	uint64_t no_room;		  /* samples of more series than an agent pushes: 65536 */
	uint64_t dropped;		  /* rows that are in no recording any more */
	uint64_t requests, failures;
	uint64_t bytes;	   /* as they were sent */
	int64_t behind_ns; /* from the newest row that was taken to the newest row */
};

struct wtl_live {
	uint64_t number;		/* of the snapshot: 1, 2, … */
	int64_t t_utc_ns, begin_utc_ns; /* now, and when this agent began */
	int64_t t_boot_ns;		/* now, by a clock that cannot be set (CLOCK_BOOTTIME) */
	int64_t counters_utc_ns; /* when the counters began; begin_utc_ns if none were found */
	int64_t interval_ns;	 /* the length of "the last interval" */
	char host[65], version[32];
	size_t n_domains, n_misses, n_groups, n_processes, n_gpus;
	uint64_t n_running;    /* processes that are running */
	uint64_t memory_bytes; /* theirs, as far as it is known */
	/* The machine: the sum of the domains in the total; its
	 * energy, over restarts, of those that were in it then. */
	uint64_t energy_uj, power_uw, power_uncertainty_uw;
	bool is_complete; /* every one of those has a figure, and is not gone */
	bool has_power; /* so has each with a figure that is not gone or asleep; and there is one */
	uint64_t emitted_ug, emitted_uncertainty_ug; /* since this agent began: CO2e; k = 2 */
	char location[40], dataset[96];
	uint64_t intensity_mg_per_kwh;
	bool is_default_place; /* no place was given: the world's average */
	/* What the agent itself cost. */
	int64_t cpu_ns;
	uint64_t rss_bytes, ticks, late_ticks, self_uj, self_uncertainty_uj;
	bool has_self_energy, is_recorded;
	char recording[256]; /* the file, or why there is none; "": none is wanted */
	struct wtl_live_push push;
	int64_t unrecorded_ns; /* since this agent began: what should have been recorded, and was not */
	/* From here on, members whose addresses are each process's own: live_blob.c. */
	struct wtl_live_domain *domains;
	struct wtl_live_miss *misses;
	struct wtl_live_group *
		groups; /* of all groupings, one after the other; the overflow and the retired are the last ones */
	struct wtl_live_process *processes; /* those that use most first */
	struct wtl_live_gpu *gpus;
	uint64_t *group_energies;
	size_t room_domains, room_misses, room_groups, room_processes, room_gpus, room_energies;
};

/* Makes room for the counts; the old contents are lost. 0 or -ENOMEM. */
int wtl_live_reserve(struct wtl_live *live, const struct wtl_live *counts);
/* How many numbers group_energies[] has; and assigns each group its own. reserve() does both. */
size_t wtl_live_group_numbers(const struct wtl_live *live);
void wtl_live_give_numbers(struct wtl_live *live);
void wtl_live_done(struct wtl_live *live);

/* A group's energy in a domain. */
uint64_t wtl_live_energy(const struct wtl_live *live, size_t group, size_t domain,
			 enum wtl_totals_part part);
/* The same of all domains that are in the total. */
uint64_t wtl_live_counted(const struct wtl_live *live, size_t group, enum wtl_totals_part part);
/* Is that the same snapshot? Another agent counts its own from 1 again. */
struct wtl_live_id {
	int64_t begin_utc_ns;
	uint64_t number;
};
struct wtl_live_id wtl_live_id(const struct wtl_live *live);
bool wtl_live_is(const struct wtl_live *live, const struct wtl_live_id *id);
/* Was it ever measured, by this agent or an earlier one? */
bool wtl_live_has_counter(const struct wtl_live_domain *domain);
/* Is this the group of what groups had used before they gave up their places? */
bool wtl_live_is_retired(const struct wtl_live_group *group);
/* Do the accounts of each domain add up to its energy, and the groups of each grouping to the account of processes? */
bool wtl_live_adds_up(const struct wtl_live *live);

/*
 * The newest snapshot, for several threads. One that is held does not change.
 */
enum { WTL_LIVE_SLOTS = 4 };

struct wtl_board {
	pthread_mutex_t lock;
	struct wtl_live slots[WTL_LIVE_SLOTS];
	unsigned holders[WTL_LIVE_SLOTS];
	int newest;			/* -1: there is none yet */
	int64_t published_ns;		/* wtl_thread_clock_ns() of then; at first, of the start */
	void (*changed)(void *context); /* after each publication, by its thread; may be NULL */
	void *context;
};

void wtl_board_init(struct wtl_board *board);
void wtl_board_done(struct wtl_board *board); /* when no snapshot is held */
/* A snapshot to fill, for the only thread that does; NULL: all are held, so there is none this time. */
struct wtl_live *wtl_board_draft(struct wtl_board *board);
/* Keeps a draft unpublished: no other draft takes its place until it is given back. */
void wtl_board_keep(struct wtl_board *board, const struct wtl_live *draft);
void wtl_board_publish(struct wtl_board *board, struct wtl_live *draft);
/* Removes the newest snapshot, which is too old. Called by the thread that publishes. */
void wtl_board_withdraw(struct wtl_board *board);
/* The newest; NULL: there is none (yet). To be given back. */
const struct wtl_live *wtl_board_hold(struct wtl_board *board);
/* The age of the newest, or how long there has been none, by this process' clock. */
int64_t wtl_board_age_ns(struct wtl_board *board);
void wtl_board_give_back(struct wtl_board *board, const struct wtl_live *live);

#endif
