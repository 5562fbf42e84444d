/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_STORE_BENCH_H
#define WTL_TESTS_STORE_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/store.h"

/* Recordings in a directory of their own, with values that anybody can compute. All of these fail the
 * running test when they cannot do what they say. */
struct store_bench {
	char *dir, *path;
	struct wtl_store_options options;
	struct wtl_store_writer *writer;
	int64_t now_ns; /* of the next commit */
	uint64_t n_put; /* values of each series */
	uint32_t series[3];
};

enum { STORE_SERIES = 3 };

/* A bench with nothing in it: a period of 10 s. */
void store_bench_init(struct store_bench *bench);
void store_bench_done(struct store_bench *bench); /* ends and removes all */

/* Creates bench->path with the three series. */
void store_bench_create(struct store_bench *bench);
/* The same, but for what stands in the way. */
int store_bench_try_create(struct store_bench *bench, struct wtl_err *err);
/* Puts n values of each series and commits a second later. What commit returned. */
int store_bench_second(struct store_bench *bench, size_t n, struct wtl_err *err);
/* So many of those, each written before the next. */
void store_bench_seconds(struct store_bench *bench, size_t seconds, size_t n);
void store_bench_end(struct store_bench *bench);

/* Value i of series k: 0 rises evenly, 1 is as good as random, 2 stays for a while. */
int64_t store_bench_value(size_t k, uint64_t i);

struct wtl_store_reader *store_bench_open(const struct store_bench *bench);

/* The file as it is now has so many values of each series, all as they were put, and no damage. */
void store_bench_expect(const struct store_bench *bench, uint64_t n);

/* A test whose state is a bench of its own. */
int store_bench_setup(void **state);
int store_bench_teardown(void **state);

#define STORE_TEST(name) \
	cmocka_unit_test_setup_teardown(name, store_bench_setup, store_bench_teardown)

/* A clock that stands still, for an io: at one second, and at that UTC. */
#define STORE_UTC_NS (1763712000 * WTL_NS_PER_S)
int64_t store_bench_still_ns(struct wtl_io *io, enum wtl_clock clock);

/* What a query finds in the file, a number; -1: nothing. */
int64_t store_bench_number(const struct store_bench *bench, const char *sql);

/* Reads all three series; each value must be as it was put, from first on (of the first period). Returns how
 * many there are, the same for all. Periods that are damaged are passed over, if `lost` is not NULL, and
 * counted. */
uint64_t store_bench_verify(struct wtl_store_reader *reader, uint64_t *lost);

#endif
