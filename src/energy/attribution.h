/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_ATTRIBUTION_H
#define WTL_ENERGY_ATTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Who used the energy of some domains: accounts of consumers, of which every microjoule and every
 * nanosecond is in exactly one.
 *
 * Over an interval of length t in which a domain used E, a consumer with the share w of all use (sum
 * of w = 1) is billed E·w as `full_uj` and t·w as `share_ns`. Its part of the idle energy is
 * P_idle·share_ns (never more than full_uj) and the rest is dynamic: so the idle baseline may become
 * known, or better known, after the interval, and everything still adds up (DESIGN 5).
 *
 * Consumers are slots, numbers below the capacity, that whoever follows the consumers hands out and
 * takes back. Accounts of slots that were never named cost address space but no memory. Nothing here
 * allocates but _new() and _grow().
 *
 * Fractions of a unit go to whoever the rounding of that interval favours: over many intervals to
 * all alike, and nobody gets more than one unit too much or too little in one.
 */

/* Slots that are always there. */
enum {
	WTL_SLOT_UNSEEN,     /* use that nobody seen accounts for */
	WTL_SLOT_INTERRUPTS, /* the kernel's time that belongs to no task */
	WTL_SLOT_NOBODY,     /* there was no use at all */
	WTL_SLOTS_FIXED
};

struct wtl_share {
	uint64_t full_uj;
	int64_t share_ns;
	uint64_t
		doubt_uj; /* of full_uj: standard uncertainty by that of the weights, where it was given */
};

/* Use within one interval, in any unit. Slots are distinct; entries with weight 0 are fine. A slot
 * beyond the capacity counts as WTL_SLOT_UNSEEN. */
struct wtl_use {
	uint32_t slot;
	uint64_t weight;
};

struct wtl_attribution;

/* n_domains accounts for each of capacity slots (at least WTL_SLOTS_FIXED). NULL: no memory. */
struct wtl_attribution *wtl_attribution_new(size_t n_domains, size_t capacity);
void wtl_attribution_free(struct wtl_attribution *attribution); /* NULL is fine */

/* Room for capacity slots, if that is more; existing accounts stay. 0 or -ENOMEM (then nothing has
 * changed). */
int wtl_attribution_grow(struct wtl_attribution *attribution, size_t capacity);

/* All accounts of all slots are 0 again. */
void wtl_attribution_reset(struct wtl_attribution *attribution);

/*
 * Bills one domain's energy and time by use, to the last microjoule and nanosecond; to
 * WTL_SLOT_NOBODY where all weights are 0. n may be 0.
 */
void wtl_attribution_add(struct wtl_attribution *attribution, size_t domain, uint64_t energy_uj,
			 int64_t duration_ns, const struct wtl_use uses[], size_t n);

/* Bills a slot's whole account in a domain at once, as it was stored. */
void wtl_attribution_restore(struct wtl_attribution *attribution, uint32_t slot, size_t domain,
			     const struct wtl_share *share);

/*
 * As wtl_attribution_add(), for an interval that may be billed anew: takes back all that `recent` was billed in that
 * domain, and divides it again, with this energy, by these uses. `recent` has only what was added so, as many domains,
 * and the same slots; NULL: nothing is taken back, and this stays as it is divided now. doubts_ppm: of what each is
 * billed, what is not known of its weight, standard; NULL: nothing.
 */
void wtl_attribution_redivide(struct wtl_attribution *attribution, struct wtl_attribution *recent,
			      size_t domain, uint64_t energy_uj, int64_t duration_ns,
			      const struct wtl_use uses[], const uint32_t doubts_ppm[], size_t n);
/* _add_recent() takes nothing back, but the next _redivide() may take this back. _keep_recent()
 * ends that: all that `recent` has in that domain stays as it is divided. */
void wtl_attribution_add_recent(struct wtl_attribution *attribution, struct wtl_attribution *recent,
				size_t domain, uint64_t energy_uj, int64_t duration_ns,
				const struct wtl_use uses[], const uint32_t doubts_ppm[], size_t n);
void wtl_attribution_keep_recent(struct wtl_attribution *recent, size_t domain);
/*
 * A domain's energy so far turned out to be total_uj, and no interval will be added for that: less
 * than was billed (a correction of sampled power) is taken back, from everybody in proportion; more
 * goes to WTL_SLOT_UNSEEN. Afterwards the accounts add up to total_uj.
 */
void wtl_attribution_settle(struct wtl_attribution *attribution, size_t domain, uint64_t total_uj);

/* Moves all of one slot's accounts to another: the slot is then empty. Both are below the capacity. */
void wtl_attribution_fold(struct wtl_attribution *attribution, uint32_t from, uint32_t into);

/* Slots from this number on were never named: their accounts are 0. */
uint32_t wtl_attribution_slots(const struct wtl_attribution *attribution);

/* 0 for a slot beyond the capacity. */
struct wtl_share wtl_attribution_share(const struct wtl_attribution *attribution, uint32_t slot,
				       size_t domain);
/* The sum over all slots. */
struct wtl_share wtl_attribution_total(const struct wtl_attribution *attribution, size_t domain);

/* The idle part of a share at an idle power: min(full_uj, idle_uw × share_ns). The rest is dynamic. */
uint64_t wtl_share_idle_uj(const struct wtl_share *share, uint64_t idle_uw);

#endif
