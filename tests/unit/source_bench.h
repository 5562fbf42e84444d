/* SPDX-License-Identifier: MIT */
#ifndef TEST_SOURCE_BENCH_H
#define TEST_SOURCE_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "energy/catalog.h"
#include "sensors/source.h"

#include "pass_io.h"

/*
 * A source under test: a root directory (one of tests/fixtures/roots, or a copy of it that a test
 * changes), a clock that moves only when told to, and counts of what the source asked for.
 * Everything fails the running cmocka test by itself.
 */
struct bench {
	union {
		struct pass_io pass;
		struct {
			struct wtl_io io; /* passes on to `real` */
			struct wtl_io *real;
		};
	};
	int64_t now_ns;		       /* the answer of every clock */
	int64_t step_ns;	       /* added after each question for the time */
	unsigned opens, reads, closes; /* of files and perf counters */
	int open_now;		       /* handles that are not closed */
	char root[256];
	char *copy; /* to be removed, or NULL */

	const struct wtl_source_ops *ops;
	void (*drop_rights)(void); /* of the environment */
	void *state;
	struct wtl_catalog catalog;
	struct wtl_reading readings[64];
};

enum { BENCH_START_NS = 1000000000 };

/* A root by name: WATTLE_ROOTS, else below WATTLE_SOURCE_ROOT, else below the working directory. */
void bench_root(struct bench *bench, const char *name);
/* A copy of it that may be changed; name "" is an empty directory. */
void bench_copy(struct bench *bench, const char *name);
/* Puts a file into the copy (with its directories), in place if it is there. */
void bench_write(const struct bench *bench, const char *path, const char *content);
void bench_remove(const struct bench *bench, const char *path); /* a file or a whole tree */
void bench_link(const struct bench *bench, const char *path, const char *target);

/* Opens the source on the root. */
void bench_open(struct bench *bench, const struct wtl_source_ops *ops);
/* Reads all channels into bench->readings, the clock set forward before. */
void bench_read(struct bench *bench, int64_t later_ns);
/* Closes all and checks that every handle was closed. */
void bench_done(struct bench *bench);

/* The channel of that domain, or a failed test. */
const struct wtl_channel *bench_channel(const struct bench *bench, const char *domain);
const struct wtl_miss *bench_miss(const struct bench *bench, const char *domain);
/* Its reading, by bench_read(). */
const struct wtl_reading *bench_reading(const struct bench *bench, const char *domain);

/* All domains of the catalog's channels, in order, with a blank between: for one comparison. */
const char *bench_domains(const struct bench *bench, char *text, size_t size);

#endif
