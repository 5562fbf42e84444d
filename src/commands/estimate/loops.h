/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_LOOPS_H
#define WTL_COMMANDS_ESTIMATE_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

#include "neural/network.h"

/*
 * The innermost loops, in the widest vectors that this processor has. Three square matrices of WTL_LOOP_SIZE lie in the
 * cache nearest to a core, so that a product tells what its arithmetic takes.
 */
enum {
	WTL_LOOP_SIZE = 192,
	WTL_LOOP_WORK = WTL_LOOP_SIZE * WTL_LOOP_SIZE * WTL_LOOP_SIZE, /* MACs of a product */
	WTL_LOOP_BYTES = 3 * WTL_LOOP_SIZE * WTL_LOOP_SIZE * 8, /* of its matrices, at most */
	WTL_LOOP_STREAM_GRANULE = 3 * 4096,
};

/* Bytes of a vector: 64, 32 or 16. */
unsigned wtl_loop_width(void);
/* Whether int8 has a loop by this processor's own instructions. */
bool wtl_loop_has_int8(unsigned width);
/* A product of matrices of fp64, fp32 or int8. The memory is aligned to 64 bytes. */
void wtl_loop_multiply(void *memory, enum wtl_precision precision, unsigned width);
/* STREAM's triad over three equal parts of the memory: two are read, one is written. Bytes are a multiple of the granule. */
void wtl_loop_stream(double *memory, size_t bytes, unsigned width);

#endif
