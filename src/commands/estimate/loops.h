/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_LOOPS_H
#define WTL_COMMANDS_ESTIMATE_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

#include "neural/network.h"

/*
 * The innermost loops, in the widest vectors of this processor. Three square matrices of WTL_LOOP_SIZE
 * fit into the cache nearest to a core, so that a product measures arithmetic only.
 */
enum {
	WTL_LOOP_SIZE = 192,
	WTL_LOOP_WORK = WTL_LOOP_SIZE * WTL_LOOP_SIZE * WTL_LOOP_SIZE, /* MACs of one product */
	WTL_LOOP_BYTES = 3 * WTL_LOOP_SIZE * WTL_LOOP_SIZE * 8, /* bytes of its matrices, at most */
	WTL_LOOP_STREAM_GRANULE = 3 * 4096,
};

/* Bytes of a vector: 64, 32 or 16. */
unsigned wtl_loop_width(void);
/* Whether there is an int8 loop for this processor's instructions. */
bool wtl_loop_has_int8(unsigned width);
/* Multiplies matrices of fp64, fp32 or int8. The memory is aligned to 64 bytes. */
void wtl_loop_multiply(void *memory, enum wtl_precision precision, unsigned width);
/* STREAM's triad over three equal parts: two are read, one is written. bytes: a multiple of the granule. */
void wtl_loop_stream(double *memory, size_t bytes, unsigned width);

#endif
