/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_GPU_INFO_H
#define WTL_SENSORS_GPU_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "energy/gpu.h"

struct wtl_err;
struct wtl_source_options;

/*
 * What the machine's GPUs tell of themselves: NVIDIA's through NVML, AMD's and Intel's through sysfs.
 * A reader has its own hold on NVML, so that it may live in a thread beside the meter's. One thread
 * at a time uses a reader.
 */
struct wtl_gpu_reader;

/* What to read: a sum of these. Each has a cost of its own; identity is read once, by wtl_gpu_reader_new(). */
enum {
	WTL_GPU_READ_NUMBERS = 1,   /* all numbers but the rest's: some 1 to 10 ms a GPU */
	WTL_GPU_READ_PCIE = 2,	    /* its throughput: 40 ms a GPU where the driver has no counters;
				       with counters, the mean since the last such read */
	WTL_GPU_READ_PROCESSES = 4, /* who has memory on it: some ms a GPU */
	WTL_GPU_READ_USE = 8,	    /* the processes' percentages, too */
	WTL_GPU_READ_DETAILS =
		16, /* board, limits, fabric, errors of on-chip memory, ...: some 25 calls a GPU */
	WTL_GPU_READ_INFOROM = 32, /* whether it is whole: reads its flash, once a minute at most */
	WTL_GPU_READ_SCREEN =
		64, /* of the numbers, those that a live screen shows: a third of the calls */
};

/*
 * Finds the GPUs, wakes none, and reads their identity. Hardware that is not there or does not answer
 * is no error: the reader then has fewer GPUs, or rows whose status says what is wrong. 0 or -ENOMEM.
 * `options` (nvml_path, left_out, machine) is read during the call only; the env's io must outlive the reader.
 */
int wtl_gpu_reader_new(const struct wtl_env *env, const struct wtl_source_options *options,
		       struct wtl_gpu_reader **ret_reader, struct wtl_err *err);
void wtl_gpu_reader_free(struct wtl_gpu_reader *reader); /* NULL is fine */

/*
 * Reads anew, never fails: what could not be read has a status. What is not asked for keeps its last
 * value (before the first read: status ABSENT, no processes). A GPU that sleeps is not woken; one that
 * was lost is looked for again now and then.
 */
void wtl_gpu_reader_read(struct wtl_gpu_reader *reader, unsigned what);

/* Borrowed, until the next read; their number and order never change. NVIDIA's come first, in NVML's
 * order, then AMD's and Intel's by their DRM cards. */
const struct wtl_gpu *wtl_gpu_reader_gpus(const struct wtl_gpu_reader *reader, size_t *ret_n);

/*
 * Sets GPU `gpu`'s (its place in the array above) power limit, or its persistence mode. -ERANGE for a
 * limit outside what the GPU allows (err names the range; nothing was tried), -EPERM and -EACCES
 * where it takes root, -EOPNOTSUPP for a GPU that cannot, -ENODEV for one that is lost or asleep,
 * -EINVAL for no such GPU. The next read shows what is in force.
 */
int wtl_gpu_reader_set_limit(struct wtl_gpu_reader *reader, size_t gpu, uint64_t limit_uw,
			     struct wtl_err *err);
int wtl_gpu_reader_set_persistence(struct wtl_gpu_reader *reader, size_t gpu, bool on,
				   struct wtl_err *err);

/* As nvidia-smi shows them ("550.54.14", "12.4", "12.550.54.14"); "" where not known, or no NVML. */
const char *wtl_gpu_reader_driver_version(const struct wtl_gpu_reader *reader);
const char *wtl_gpu_reader_cuda_version(const struct wtl_gpu_reader *reader);
const char *wtl_gpu_reader_nvml_version(const struct wtl_gpu_reader *reader);

/* Why NVIDIA's GPUs cannot be asked at all ("the NVIDIA kernel driver is not loaded"); "" where they
 * can, or there are none. */
const char *wtl_gpu_reader_trouble(const struct wtl_gpu_reader *reader);

#endif
