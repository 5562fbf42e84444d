/* SPDX-License-Identifier: MIT */
#ifndef TEST_NVML_BENCH_H
#define TEST_NVML_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "base/log.h"
#include "source_bench.h"

#define S(x) ((int64_t)((x)*1e9 + 0.5))

#define PCI "/sys/bus/pci/devices/"

/* A bench whose clock is also the fake's, and which may change what the library answers. */
struct nv {
	struct bench bench; /* first: the I/O is found by it */
	struct wtl_io_ops ops;
	char *dir;
	int clock; /* the fake's clock file */
	bool real_clock;
	bool taped;  /* there is no library behind it */
	bool faulty; /* calls fail on the way, the one that shuts down too */
	void *fake;  /* a reference of our own, for the counts of calls */
	unsigned lib_opens, lib_closes;
	const char *gpus; /* the option, before nv_open() */
	struct wtl_log log;
	char said[1024]; /* by it: a line each, which begins with the level's number */
	int (*twist)(struct nv *nv, size_t function, struct wtl_lib_arg args[], int *answer);
	unsigned long (*calls)(const char *function);
	unsigned long (*touched)(unsigned gpu);
};

/* The fake library's path, by WATTLE_NVML_LIBRARY. */
const char *nv_library(void);

/* Before open: the script of that name; the bench has its root already. */
void nv_prepare(struct nv *nv, const char *script);
int nv_open(struct nv *nv, const char *nvml_path);

/* All of it on a machine whose PCI bus is not to be seen, as in many containers; or on a root. */
void nv_start(struct nv *nv, const char *script);
void nv_start_on(struct nv *nv, const char *root, const char *script);
/* On an empty root that a test may fill: nv_prepare() has run, nv_open() has not. */
void nv_empty(struct nv *nv, const char *script);
/* The same by a script of the test's own: its text. */
void nv_empty_own(struct nv *nv, const char *text);

/* Sets both clocks; and reads all channels. */
void nv_set_time(struct nv *nv, int64_t t_ns);
void nv_at(struct nv *nv, double seconds);

/* Closes; checks that nothing stays open and that NVML was shut down. */
void nv_done(struct nv *nv);

const struct wtl_channel *nv_channel(struct nv *nv, size_t i);
void nv_check_ok(const struct wtl_reading *reading, uint64_t value);
void nv_check_status(const struct wtl_reading *reading, enum wattle_status status);
/* The domain's miss, which has these words in reason and remedy (NULL: no remedy). */
const struct wtl_miss *nv_check_miss(struct nv *nv, const char *domain, enum wattle_status status,
				     const char *reason, const char *remedy);
void nv_check_domains(struct nv *nv, const char *expected);

#endif
