/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_LEARNED_H
#define WTL_METER_LEARNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/attribution.h"
#include "energy/baseline.h"
#include "energy/watts.h"
#include "workload/workload.h"

/*
 * The weight "learned": what a second of each consumer's CPU time draws (energy/watts.h), of the domains that are
 * divided by CPU time. Those who use most have a place of their own, or share one with others of the same name
 * (all "cc1" of a build); everybody else shares place 0. wtl_consumer.watts_key says which, so that a recording
 * can be gone through with the same places.
 *
 * What was learned late also says how early energy was to be divided: the newest stretch of at most a minute (a
 * chunk) is divided anew with each bill. One thread at a time.
 */
struct wtl_learned;

/* is_told: places are not chosen here, but by the consumers' keys. NULL: no memory. */
struct wtl_learned *wtl_learned_new(size_t n_domains, bool is_told);
void wtl_learned_free(struct wtl_learned *learned); /* NULL is fine */
/* That domain is learned. -ENOMEM. */
int wtl_learned_add_domain(struct wtl_learned *learned, size_t domain);
bool wtl_learned_has(const struct wtl_learned *learned, size_t domain);
/* It was learned, and nothing follows. */
void wtl_learned_restore(struct wtl_learned *learned, size_t domain);

/* Who used the processors since the scan before; after the folds. -ENOMEM: it will not be learned from. */
int wtl_learned_scan(struct wtl_learned *learned, struct wtl_workload *workload);
void wtl_learned_fold(struct wtl_learned *learned, const struct wtl_fold *fold);

/* Learns from that scan and a domain's energy over the same time. noise_j: wtl_watts_look. */
void wtl_learned_add(struct wtl_learned *learned, size_t domain, uint64_t energy_uj,
		     int64_t duration_ns, double noise_j, const struct wtl_baseline *baseline);

/* All slots may get new owners: nobody's place is known by it. */
void wtl_learned_forget_slots(struct wtl_learned *learned);

/* The machine was set otherwise, or slept: wtl_watts_doubt(). */
void wtl_learned_doubt(struct wtl_learned *learned);

/* Power at rest, if it is known better by what use adds than by what was seen at rest. */
void wtl_learned_idle(const struct wtl_learned *learned, size_t domain,
		      struct wtl_baseline *baseline);

/* What a second of CPU time of those with that key draws. false: they have no place, or too little was seen. */
bool wtl_learned_watts(const struct wtl_learned *learned, size_t domain, uint32_t key,
		       struct wtl_watts_figure *ret_watts);

/* Uses, and what is not known of their weights (wtl_attribution_redivide()); valid until the next call. */
struct wtl_learned_uses {
	const struct wtl_use *uses;
	const uint32_t *doubts_ppm;
	size_t n;
};
/* The newest scan's, by a domain's watts. */
void wtl_learned_weigh(struct wtl_learned *learned, size_t domain,
		       const struct wtl_workload_scan *scan, struct wtl_learned_uses *ret_uses);

/* ---- A chunk: the newest stretch of a book ---- */

struct wtl_chunk {
	struct wtl_attribution *recent; /* its part of the book's accounts */
	struct wtl_use *uses;		/* CPU time, ns */
	size_t n_uses, uses_room;
	uint32_t *at; /* one a slot: where in uses, + 1 */
	size_t n_at;
	double awake_s, duration_s;
};

/* -ENOMEM: zeroed afterwards. */
int wtl_chunk_init(struct wtl_chunk *chunk, size_t n_domains, size_t capacity);
void wtl_chunk_done(struct wtl_chunk *chunk); /* a zeroed one is fine */
int wtl_chunk_grow(struct wtl_chunk *chunk, size_t capacity);
/* What it has stays divided as it is. */
void wtl_chunk_settle(struct wtl_chunk *chunk);
void wtl_chunk_fold(struct wtl_chunk *chunk, const struct wtl_fold *fold);
/* The newest scan's uses; it is settled before, if it is a minute long. -ENOMEM: then they go without. */
int wtl_chunk_add(struct wtl_chunk *chunk, const struct wtl_learned *learned,
		  const struct wtl_workload_scan *scan);
/* Bills a domain's energy since the last bill, and the chunk's anew. */
void wtl_chunk_bill(struct wtl_chunk *chunk, struct wtl_learned *learned,
		    struct wtl_attribution *attribution, size_t domain, uint64_t energy_uj,
		    int64_t duration_ns);

#endif
