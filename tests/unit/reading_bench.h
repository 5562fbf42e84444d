/* SPDX-License-Identifier: MIT */
#ifndef TEST_READING_BENCH_H
#define TEST_READING_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "energy/gpu.h"
#include "nvml_bench.h"
#include "sensors/gpu_info.h"

/* A reader of the fake library's GPUs. */
struct reading {
	struct nv nv;
	struct wtl_gpu_reader *reader;
};

/* On an empty root: with a script of tests/fake/scripts, or with one's own text. */
void reading_start(struct reading *reading, const char *script);
void reading_start_own(struct reading *reading, const char *text);

/* With the library at a path; the root is there: nv_empty(), nv_empty_own(). */
void reading_open(struct reading *reading, const char *path);
void reading_close(struct reading *reading); /* before another reading_open() */
void reading_done(struct reading *reading);

const struct wtl_gpu *reading_gpu(const struct reading *reading, size_t i);
/* Reads; GPU 0. */
const struct wtl_gpu *reading_at(struct reading *reading, double seconds, unsigned what);

void reading_check(const struct wtl_gpu *gpu, enum wtl_gpu_number number, uint64_t value);
void reading_check_not(const struct wtl_gpu *gpu, enum wtl_gpu_number number,
		       enum wattle_status status, int code);

#endif
