/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_LEARNED_H
#define WTL_METER_LEARNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/attribution.h"
#include "energy/baseline.h"
#include "energy/watts.h"
#include "energy/watts_past.h"
#include "workload/workload.h"

/*
 * The weight "learned": what a second of each consumer's CPU time draws (energy/watts.h), of the domains that are
 * divided by CPU time. Those who use most have a place of their own, or share one with others of the same name
 * (all "cc1" of a build); everybody else shares place 0. wtl_consumer.watts_key says which, so that a recording
 * can be gone through with the same places.
 *
 * What was learned late also says how early energy was to be divided: the newest stretch of at most a minute (a
 * chunk, meter/chunk.h) is divided anew with each bill. One thread at a time.
 */
struct wtl_learned;

/* is_told: places are not chosen by use, but given by the consumers' keys. NULL: no memory. */
struct wtl_learned *wtl_learned_new(size_t n_domains, bool is_told);
void wtl_learned_free(struct wtl_learned *learned); /* NULL is fine */
/*
 * Which package a consumer ran on is not known, so what it draws in each of several is hard to learn; what it draws in
 * all of them is not. They have their idle powers each, and are divided by what is learned of their sum.
 */
enum wtl_learned_sum {
	WTL_LEARNED_PACKAGES,
	WTL_LEARNED_MEMORIES,
	WTL_LEARNED_SUMS,
	WTL_LEARNED_ALONE = WTL_LEARNED_SUMS
};
/* That domain is learned. -ENOMEM. */
int wtl_learned_add_domain(struct wtl_learned *learned, size_t domain, const char *name,
			   enum wtl_learned_sum sum);
bool wtl_learned_has(const struct wtl_learned *learned, size_t domain);
/* The domain was learned earlier, and nothing more follows to learn from. */
void wtl_learned_restore(struct wtl_learned *learned, size_t domain);

/* _know: what programs were known to draw before (-ENOMEM). _keep: the same now, for the next session (or NULL). */
struct wtl_known_watts;
struct wtl_known_table;
struct wtl_known_programs;
int wtl_learned_know(struct wtl_learned *learned, const struct wtl_known_watts *known);
const struct wtl_known_table *wtl_learned_keep(struct wtl_learned *learned, int64_t t_utc_ns);
/* The i-th consumer so far whose program's watts were known when it began; NULL: no more. For
 * recordings, which know nobody's name at that time. */
const struct wtl_known_watts *wtl_learned_begun(const struct wtl_learned *learned, size_t i);

struct wtl_known_programs *wtl_learned_known(struct wtl_learned *learned);

/* Room for so many slots, before each scan's folds. -ENOMEM: those beyond are taken for others. */
int wtl_learned_widen(struct wtl_learned *learned, size_t n_slots);
/* Who used the processors since the scan before; after the folds. */
void wtl_learned_scan(struct wtl_learned *learned, struct wtl_workload *workload);
void wtl_learned_fold(struct wtl_learned *learned, const struct wtl_fold *fold);

/* Learns from that scan and a domain's energy over the same time. noise_j: wtl_watts_look. */
void wtl_learned_add(struct wtl_learned *learned, size_t domain, uint64_t energy_uj,
		     int64_t duration_ns, double noise_j, const struct wtl_baseline *baseline);

/* Ends a stretch whose energy is divided at once: wtl_watts_pass(). */
void wtl_learned_pass(struct wtl_learned *learned);

/* All slots may get new owners: nobody's place is known by it. */
void wtl_learned_forget_slots(struct wtl_learned *learned);

/* The machine was set otherwise, or slept: wtl_watts_doubt(). */
void wtl_learned_doubt(struct wtl_learned *learned);

/*
 * For something that is over, gone through twice. The first time, what is learned is kept in the
 * past, which wtl_learned_smooth() smooths at the end. The second time, nothing is learned: all is
 * known from that past. After all domains were added; borrowed. wtl_learned_reach() comes before
 * each scan, with the time that it looks back from. -ENOMEM.
 */
int wtl_learned_use_past(struct wtl_learned *learned, struct wtl_watts_past *past);
void wtl_learned_reach(struct wtl_learned *learned, int64_t end_ns);
int wtl_learned_smooth(struct wtl_learned *learned);
bool wtl_learned_is_smoothed(const struct wtl_learned *learned);

/* Sets power at rest to what was learned from use, if that is known better than what was seen at rest. */
void wtl_learned_idle(const struct wtl_learned *learned, size_t domain,
		      struct wtl_baseline *baseline);

/* What a second of CPU time of those with that key draws; of a sum, with its first part. false: they have no place,
 * or too little was seen. */
bool wtl_learned_watts(const struct wtl_learned *learned, size_t domain, uint32_t key,
		       struct wtl_watts_figure *ret_watts);

/* Uses, and what is not known of their weights (wtl_attribution_redivide()); valid until the next call. */
struct wtl_learned_uses {
	const struct wtl_use *uses;
	const uint32_t *doubts_ppm;
	size_t n;
};
/* CPU time by slots, by a domain's watts. whole: their energy, time and time awake, without uses; an energy of 0:
 * doubts are not asked for. */
void wtl_learned_weigh(struct wtl_learned *learned, size_t domain, const struct wtl_use uses[],
		       size_t n, const struct wtl_watts_look *whole,
		       struct wtl_learned_uses *ret_uses);
/* The newest scan's. energy_uj: of the domain, that they divide. */
void wtl_learned_weigh_scan(struct wtl_learned *learned, size_t domain,
			    const struct wtl_workload_scan *scan, uint64_t energy_uj,
			    struct wtl_learned_uses *ret_uses);
/* How long anybody ran in the newest scan. */
double wtl_learned_awake_s(const struct wtl_learned *learned);

#endif
