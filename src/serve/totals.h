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
 * Counters that only grow, of what a session's accounts say: by domain the accounts of the ledger, and for each way
 * to group consumers (user, unit, …) what each group used. Accounts themselves may fall, when sampled power is
 * corrected or more is learned of watts: what falls here waits until it has grown again.
 *
 * Every microjoule that was taken is in exactly one account of its domain's ledger; if that is the account of
 * processes, in exactly one group of each grouping; and if it is idle energy that a process has a part in, in
 * exactly one group's idle part. So everything adds up exactly, at any moment.
 *
 * One thread at a time.
 */

/* The accounts of a ledger. Processes are those that run and those that ended. */
enum wtl_totals_account {
	WTL_TOTALS_PROCESSES,
	WTL_TOTALS_KERNEL,
	WTL_TOTALS_IDLE,
	WTL_TOTALS_UNATTRIBUTED,
	WTL_TOTALS_ACCOUNTS
};

/* What a group has of a domain: above idle (all of it where no idle power is known), and its part of the idle
 * energy. */
enum wtl_totals_part { WTL_TOTALS_DYNAMIC, WTL_TOTALS_IDLE_PART, WTL_TOTALS_PARTS };

enum { WTL_TOTALS_GROUPINGS = 6, WTL_TOTALS_GROUPS = 64, WTL_TOTALS_NAME_SIZE = 96 };

/* The places of a grouping: those with names of their own, and two more. */
enum { WTL_TOTALS_OVERFLOW_PLACE = WTL_TOTALS_GROUPS, WTL_TOTALS_RETIRED_PLACE, WTL_TOTALS_PLACES };

/* What consumers are grouped by: WTL_FIELD_USER, _UNIT, _CONTAINER, _POD, _JOB, _NAME. */
extern const enum wtl_field wtl_totals_groupings[WTL_TOTALS_GROUPINGS];

/*
 * Where there are more groups than places, those who find none are put together in the overflow. Whoever rested longest
 * gives up his place, and what he had used is moved to the retired: it is energy of before, so nothing else may grow
 * by it.
 */
#define WTL_TOTALS_OVERFLOW "__overflow__"
#define WTL_TOTALS_RETIRED  "__retired__"

struct wtl_totals_group {
	char name[WTL_TOTALS_NAME_SIZE]; /* "": of those that are in none */
	int64_t grown_ns;		 /* when it last used anything */
	uint32_t uid;	     /* whose one of it is, rather not root's; UINT32_MAX: not known */
	uint64_t recent_uj;  /* of the counted domains, over the last interval */
	uint64_t *energy_uj; /* wtl_totals_energy() */
	uint64_t *recent_dynamic_uj; /* one a domain: above idle, over the last interval */
};

struct wtl_totals_grouping {
	struct wtl_totals_group groups[WTL_TOTALS_PLACES];
	size_t n; /* without the overflow and the retired */
	bool has_overflow, has_retired;
};

/* What a slot had when it was looked at last, and its places in the groupings. */
struct wtl_totals_slot {
	uint8_t place[WTL_TOTALS_GROUPINGS];
};

struct wtl_totals {
	size_t n_domains;
	const char *const *domains; /* their names, borrowed */
	uint64_t *accounts_uj;	    /* WTL_TOTALS_ACCOUNTS a domain */
	bool *is_counted; /* one a domain: it is in the machine's total; the owner says it */
	/* Of those that were counted at the time: after a restart they may be others, and it must not fall. */
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

/* Of that many domains, whose names must stay. user() says what a user is called. 0 or -ENOMEM; done() in any case. */
int wtl_totals_init(struct wtl_totals *totals, const char *const domains[], size_t n,
		    void (*user)(void *context, uint32_t uid, char *name, size_t size),
		    void *context);
void wtl_totals_done(struct wtl_totals *totals);

/* After each bill: takes what was billed since the look before. May take memory where there are more consumers; without
 * it nothing is taken, until there is (-ENOMEM). */
int wtl_totals_look(struct wtl_totals *totals, const struct wtl_consumers *consumers,
		    int64_t now_ns);

/* The same where nobody is followed: energies of a window, one a domain, are nobody's. */
int wtl_totals_look_unseen(struct wtl_totals *totals, const struct wattle_energy energies[],
			   int64_t now_ns);

/* What a group has of a domain. */
uint64_t wtl_totals_energy(const struct wtl_totals *totals, const struct wtl_totals_group *group,
			   size_t domain, enum wtl_totals_part part);
/* What was taken of a consumer's account as it is now: never falls as long as the slot is the consumer's. */
uint64_t wtl_totals_of_slot(const struct wtl_totals *totals, size_t slot, size_t domain);
/* A domain's energy: the sum of its accounts. */
uint64_t wtl_totals_sum(const struct wtl_totals *totals, size_t domain);

/*
 * The counters as text (docs/recording.md: the fact "served-totals"), and from such a text, before the first look.
 * Domains that are not there any more are dropped. 0, or -EINVAL: it is not such a text, and all counters are 0.
 */
enum { WTL_TOTALS_TEXT_MAX = 8 << 20 };

void wtl_totals_save(const struct wtl_totals *totals, struct wtl_buf *buf);
int wtl_totals_load(struct wtl_totals *totals, const char *text);

#endif
