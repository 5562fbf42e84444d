/* SPDX-License-Identifier: MIT */
#ifndef TEST_METER_BENCH_H
#define TEST_METER_BENCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "base/io.h"
#include "meter/meter.h"

#include "pass_io.h"

/*
 * A meter under test on a root (one of tests/fixtures/roots, or a copy that the test changes), with
 * clocks that move only when told to: nothing sleeps. Files and counters whose path holds `slow`
 * take slow_ns of that time to read, or stand still until the test lets go. Everything fails the
 * running cmocka test by itself.
 */
struct meter_bench {
	union {
		struct pass_io pass;
		struct {
			struct wtl_io io; /* passes on to `real` */
			struct wtl_io *real;
		};
	};
	char root[256];
	char *copy; /* to be removed, or NULL */

	int64_t now_ns;		   /* monotonic; atomic, as readers may be threads */
	int64_t asleep_ns, utc_ns; /* how far the other clocks are ahead of it */
	/* Added at each look of its owner at the monotonic clock: how often other threads look depends on chance. */
	int64_t clock_step_ns;
	bool others_step; /* looks of other threads count as well */

	const char *slow; /* NULL: none */
	int64_t slow_ns;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_slow[1024]; /* by handle */
	bool stuck;	    /* slow reads stand still */
	bool leave_io;	    /* a reader will never come back: nothing may be freed */
	pthread_t owner;
	unsigned slow_reads; /* begun */
	unsigned slow_reads_done;
	unsigned blocked_owner; /* slow reads by the test's own thread while `stuck` */
	bool freed;

	const char *nvml; /* "" for none */
	struct wattle_meter *meter;
	struct wattle_options options;
	char log[4096]; /* every line, each ended by a newline */
};

#define METER_BENCH_START_NS (1000 * INT64_C(1000000000))

void meter_bench_root(struct meter_bench *bench, const char *name);
/* A copy of the root that may be changed; name "" is an empty directory. */
void meter_bench_copy(struct meter_bench *bench, const char *name);
/* Writes a file of the copy, in place. */
void meter_bench_write(const struct meter_bench *bench, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void meter_bench_remove(const struct meter_bench *bench, const char *path);

void meter_bench_open(struct meter_bench *bench);
/* The same, as often as one likes: 0, or why it is not open. */
int meter_bench_try(struct meter_bench *bench, struct wtl_err *err);
/* Closes what is open, checks that the environment was freed exactly when it may be, cleans up. */
void meter_bench_done(struct meter_bench *bench);

/* Moves the clock, then samples. */
void meter_bench_tick(struct meter_bench *bench, int64_t later_ns);
void meter_bench_pass(struct meter_bench *bench, int64_t later_ns); /* the clock only */
int64_t meter_bench_now(struct meter_bench *bench);

/* Lets stuck reads go on. */
void meter_bench_release(struct meter_bench *bench);
/* Waits (for real) until so many slow reads have begun, or ended; fails after 20 s. */
void meter_bench_await_begun(struct meter_bench *bench, unsigned n);
void meter_bench_await_done(struct meter_bench *bench, unsigned n);

/* The index of a domain, or a failed test. */
size_t meter_bench_find(struct meter_bench *bench, const char *name);
struct wattle_domain meter_bench_domain(struct meter_bench *bench, const char *name);
/* The energy of one domain in an open window. */
struct wattle_energy meter_bench_energy(struct meter_bench *bench, const char *window,
					const char *domain);

#endif
