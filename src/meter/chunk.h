/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_CHUNK_H
#define WTL_METER_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#include "energy/attribution.h"
#include "meter/learned.h"
#include "meter/learned_gpu.h"
#include "workload/workload.h"

/* A chunk: the newest stretch of a book, which is divided anew with each bill. */

struct wtl_chunk {
	struct wtl_attribution *recent; /* its part of the book's accounts */
	struct wtl_use *uses;		/* CPU time, ns */
	size_t n_uses, uses_room;
	uint32_t *at; /* one a slot: where in uses, + 1 */
	size_t n_at;
	double awake_s, duration_s;
	struct wtl_gpu_chunk *gpus; /* one a GPU that is learned */
	size_t n_gpus;
};

/* -ENOMEM: zeroed afterwards. */
int wtl_chunk_init(struct wtl_chunk *chunk, size_t n_domains, size_t capacity);
void wtl_chunk_done(struct wtl_chunk *chunk); /* a zeroed one is fine */
int wtl_chunk_grow(struct wtl_chunk *chunk, size_t capacity);
int wtl_chunk_add_gpus(struct wtl_chunk *chunk, size_t n_gpus); /* before the first use of them */
/* What it has stays divided as it is. */
void wtl_chunk_settle(struct wtl_chunk *chunk);
void wtl_chunk_fold(struct wtl_chunk *chunk, const struct wtl_fold *fold);
/* Adds the newest scan's uses; before, a chunk of a minute is settled. -ENOMEM: they are not in it. */
int wtl_chunk_add(struct wtl_chunk *chunk, struct wtl_learned *learned,
		  const struct wtl_workload_scan *scan);
/* Bills a domain's energy since the last bill, and the chunk's anew. */
void wtl_chunk_bill(struct wtl_chunk *chunk, struct wtl_learned *learned,
		    struct wtl_attribution *attribution, size_t domain, uint64_t energy_uj,
		    int64_t duration_ns);

#endif
