/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_LEARNED_GPU_H
#define WTL_METER_LEARNED_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/attribution.h"
#include "energy/baseline.h"
#include "meter/learned.h"
#include "workload/workload.h"

/*
 * The weight "learned" of one GPU: what a process draws while it keeps all SMs busy (energy/watts.h). Those who use it first
 * have a place of their own each, everybody else shares place 0.
 *
 * What is told of use are smoothed samples (workload/gpu_smooth.h), and energy is not smoothed: so the smoothing is undone
 * here, and looks are joined to blocks of some seconds. While several work at once, a sample of one second says little of how
 * they shared it. How little is seen from how samples jump, and is part of every ±.
 */
struct wtl_gpu_learned;
struct wtl_known_programs;

/* of: the domain's name; programs: what is known of them, borrowed. NULL: no memory. */
struct wtl_gpu_learned *wtl_gpu_learned_new(const char *of, struct wtl_known_programs *programs);
void wtl_gpu_learned_free(struct wtl_gpu_learned *learned); /* NULL is fine */

/* Who used it since the scan before, smoothed; uses NULL: samples say nothing of it. */
void wtl_gpu_learned_scan(struct wtl_gpu_learned *learned, const struct wtl_workload *workload,
			  const struct wtl_use uses[], size_t n, int64_t duration_ns);
void wtl_gpu_learned_fold(struct wtl_gpu_learned *learned, uint32_t from, uint32_t into);
/* All accounts begin anew: whoever is not there any more has no slot. */
void wtl_gpu_learned_reset(struct wtl_gpu_learned *learned, const struct wtl_workload *workload);

/* Learns from that scan and the energy over the same time: wtl_learned_add(). */
void wtl_gpu_learned_add(struct wtl_gpu_learned *learned, uint64_t energy_uj, int64_t duration_ns,
			 double noise_j, const struct wtl_baseline *baseline);
void wtl_gpu_learned_pass(struct wtl_gpu_learned *learned); /* wtl_learned_pass() */
void wtl_gpu_learned_doubt(struct wtl_gpu_learned *learned);

/* Several used it at some time: until then there is nothing to divide. */
bool wtl_gpu_learned_is_shared(const struct wtl_gpu_learned *learned);
bool wtl_gpu_learned_is_mixed(const struct wtl_gpu_learned *learned); /* in the newest scan */
/* _has: it is shared, and enough was seen to go by what is learned. _restore: that was so, and nothing follows. */
bool wtl_gpu_learned_has(const struct wtl_gpu_learned *learned);
void wtl_gpu_learned_restore(struct wtl_gpu_learned *learned);
/* What a slot's process draws while it keeps all SMs busy. false: it has no place, or too little was seen. */
bool wtl_gpu_learned_watts(const struct wtl_gpu_learned *learned, uint32_t slot,
			   struct wtl_watts_figure *ret_watts);

/* Of a stretch: how long each kept all SMs busy, and the variance of that where samples jump by all that they can. */
struct wtl_gpu_used {
	uint32_t slot;
	double use_s, mixed_s2;
	/* Variances of its energy by such jumps: in this stretch, as it was divided last, and in those before. */
	double jumped_j2, settled_j2;
};

/* The newest stretch of a book: once watts are learned, it is divided anew with each bill (meter/chunk.h). */
struct wtl_gpu_chunk {
	struct wtl_gpu_used *used;
	size_t n, room;
	double duration_s;
};

void wtl_gpu_chunk_done(struct wtl_gpu_chunk *chunk);
void wtl_gpu_chunk_settle(struct wtl_gpu_chunk *chunk);
bool wtl_gpu_chunk_has_use(const struct wtl_gpu_chunk *chunk);
bool wtl_gpu_chunk_is_long(const struct wtl_gpu_chunk *chunk);
void wtl_gpu_chunk_fold(struct wtl_gpu_chunk *chunk, const struct wtl_fold *fold);
/* The newest scan's uses. -ENOMEM: they are not in it. */
int wtl_gpu_chunk_add(struct wtl_gpu_chunk *chunk, const struct wtl_gpu_learned *learned);

/*
 * By what a domain's energy is to be divided: the chunk's; or the newest scan's, where that is NULL. Valid until the next call.
 * Without memory, nobody. Before anything is learned, a second of use is the same for all.
 */
void wtl_gpu_learned_weigh(struct wtl_gpu_learned *learned, struct wtl_gpu_chunk *chunk,
			   uint64_t energy_uj, struct wtl_learned_uses *ret_uses);

/* Keeps what its users' programs draw for the next session. */
void wtl_gpu_learned_keep(struct wtl_gpu_learned *learned, int64_t t_utc_ns);

/* Uses as told, in proportion to what they draw: for what is shown of a moment. Valid until the next call. */
void wtl_gpu_learned_scale(struct wtl_gpu_learned *learned, const struct wtl_use **uses, size_t n);

#endif
