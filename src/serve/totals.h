/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_TOTALS_H
#define WTL_SERVE_TOTALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "document/field.h"
#include "energy/attribution.h"

struct wtl_buf;
struct wtl_consumers;

/*
 * Counters that only grow, from a session's accounts: for each domain the accounts of the ledger, and for
 * each way to group consumers (user, unit, …) the use of each group. The accounts themselves may fall, when
 * sampled power is corrected or watts are learned. A counter then waits until its account has grown again.
 *
 * Every microjoule that was counted is in exactly one account of its domain's ledger. If that is the
 * account of processes, it is in exactly one group of each grouping. If it is a process's part of idle
 * energy, it is in exactly one group's idle part. So everything adds up exactly, at any moment.
 *
 * One thread at a time.
 */

/* The accounts of a ledger. Processes: those that run and those that have ended. */
enum wtl_totals_account {
	WTL_TOTALS_PROCESSES,
	WTL_TOTALS_KERNEL,
	WTL_TOTALS_IDLE,
	WTL_TOTALS_UNATTRIBUTED,
	WTL_TOTALS_ACCOUNTS
};

/* A group's energy in a domain: above idle (all of it if no idle power is known), and its part of the idle energy. */
enum wtl_totals_part { WTL_TOTALS_DYNAMIC, WTL_TOTALS_IDLE_PART, WTL_TOTALS_PARTS };

enum { WTL_TOTALS_GROUPINGS = 6, WTL_TOTALS_GROUPS = 64, WTL_TOTALS_NAME_SIZE = 96 };

/* The places of a grouping: those of named groups, and two more. */
enum { WTL_TOTALS_OVERFLOW_PLACE = WTL_TOTALS_GROUPS, WTL_TOTALS_RETIRED_PLACE, WTL_TOTALS_PLACES };

/* What consumers are grouped by: WTL_FIELD_USER, _UNIT, _CONTAINER, _POD, _JOB, _NAME. */
extern const enum wtl_field wtl_totals_groupings[WTL_TOTALS_GROUPINGS];

/*
 * If there are more groups than places, the rest are put together in the overflow.
 * The group that has used nothing for longest gives up its place, and its use is
 * moved to the retired: that is old energy, so no other counter may grow by it.
 */
#define WTL_TOTALS_OVERFLOW "__overflow__"
#define WTL_TOTALS_RETIRED  "__retired__"

struct wtl_totals_group {
	char name[WTL_TOTALS_NAME_SIZE]; /* "": consumers that are in no group */
	int64_t grown_ns;		 /* when it last used anything */
	uint32_t uid;	     /* one of its consumers', preferably not root; UINT32_MAX: not known */
	uint64_t recent_uj;  /* of the counted domains, over the last interval */
	uint64_t *energy_uj; /* wtl_totals_energy() */
	uint64_t *recent_dynamic_uj; /* one a domain: above idle, over the last interval */
};

struct wtl_totals_grouping {
	struct wtl_totals_group groups[WTL_TOTALS_PLACES];
	size_t n; /* without the overflow and the retired */
	bool has_overflow, has_retired;
};

/* A slot's places in the groupings. */
struct wtl_totals_slot {
	uint8_t place[WTL_TOTALS_GROUPINGS];
};

struct wtl_totals {
	size_t n_domains;
	const char *const *domains; /* their names, borrowed */
	uint64_t *accounts_uj;	    /* WTL_TOTALS_ACCOUNTS a domain */
	bool *is_counted; /* one a domain: it is in the machine's total; set by the owner */
	/* Of the domains that were counted at the time: after a restart others may be, and the sum must not fall. */
	uint64_t host_uj;
	struct wtl_totals_grouping *by; /* WTL_TOTALS_GROUPINGS */
	uint64_t *energies, *recents;	/* of all groups */
	struct wtl_share *last;		/* one a domain, for each slot */
	struct wtl_totals_slot *slots;
	size_t n_slots;
	int64_t looked_ns, interval_ns; /* the last look, and the time between the last two */
	void (*user)(void *context, uint32_t uid, char *name, size_t size);
	void *context;
};

/* For those domains, whose names must stay valid. user() returns a user's name. 0 or -ENOMEM; done() in any case. */
int wtl_totals_init(struct wtl_totals *totals, const char *const domains[], size_t n,
		    void (*user)(void *context, uint32_t uid, char *name, size_t size),
		    void *context);
void wtl_totals_done(struct wtl_totals *totals);

/* After each bill: adds what was billed since the look before. May allocate memory
 * for new consumers; without it nothing is added until there is some (-ENOMEM). */
int wtl_totals_look(struct wtl_totals *totals, const struct wtl_consumers *consumers,
		    int64_t now_ns);

/* The same if nobody is followed: a window's energies, one a domain, are unattributed. */
int wtl_totals_look_unseen(struct wtl_totals *totals, const struct wattle_energy energies[],
			   int64_t now_ns);

/* A group's energy in a domain. */
uint64_t wtl_totals_energy(const struct wtl_totals *totals, const struct wtl_totals_group *group,
			   size_t domain, enum wtl_totals_part part);
/* What was counted of the account of a slot's consumer: never falls as long as the slot is the same consumer's. */
uint64_t wtl_totals_of_slot(const struct wtl_totals *totals, size_t slot, size_t domain);
/* A domain's energy: the sum of its accounts. */
uint64_t wtl_totals_sum(const struct wtl_totals *totals, size_t domain);

/*
 * The counters as text (docs/recording.md: the fact "served-totals"), and from such a text, before the first
 * look. Domains that do not exist any more are dropped. 0, or -EINVAL: it is no such text; all counters are 0.
 */
enum { WTL_TOTALS_TEXT_MAX = 8 << 20 };

void wtl_totals_save(const struct wtl_totals *totals, struct wtl_buf *buf);
int wtl_totals_load(struct wtl_totals *totals, const char *text);

#endif
