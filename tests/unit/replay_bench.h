/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_REPLAY_BENCH_H
#define WTL_TESTS_REPLAY_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "energy/units.h"
#include "meter/consumers.h"
#include "meter_bench.h"
#include "replay/player.h"
#include "replay/recorder.h"
#include "world.h"

#define MS WTL_NS_PER_MS
#define S  WTL_NS_PER_S

enum { REPLAY_DOMAINS_MAX = 64, REPLAY_BILLS_MAX = 192, REPLAY_CROWD = 6 };

/* What the first package uses in a tenth of a second; the second 1 J more. */
#define JOULES UINT64_C(7)

struct wtl_buf;

/*
 * A machine with sensors and processes, measured and recorded, and the recording played again. Everything
 * fails the running cmocka test by itself.
 */
struct replay_setup {
	const char *root;
	bool is_quiet; /* only the processes that the root has, which are next to none */
	const char *
		script; /* of tests/fake/scripts, without its ending; or a text; NULL: no such GPUs */
	enum wtl_weight weight;
	struct wtl_store_options store;
	/* What the world is like before its processes are followed; NULL. */
	void (*set_world)(struct world *world, const void *context);
	const void *context;
};

struct replay_bench {
	struct meter_bench bench;
	struct world world;
	const struct wtl_io_ops *plain_ops; /* the world's own */
	struct wtl_io_ops world_ops;	    /* with the meter's libraries, and no bus */
	struct wtl_consumers *consumers;
	struct wtl_recorder *recorder;
	struct wattle_energy energies[REPLAY_DOMAINS_MAX];
	struct wattle_window window;
	char *dir, *path;
	bool has_gpus;
	uint64_t package_counts[2];
	bool first_fails;	       /* the first package cannot be read */
	char *bills[REPLAY_BILLS_MAX]; /* everything that could be asked after each */
	size_t n_bills;
	int crowd[REPLAY_CROWD];
};

/* Two sockets with DRAM, and processes; or as the setup says. The recorder is there. */
void replay_bench_start(struct replay_bench *f, int64_t period_ns);
void replay_bench_start_on(struct replay_bench *f, const struct replay_setup *setup);
void replay_bench_stop(struct replay_bench *f);
void replay_bench_finish(struct replay_bench *f);

/* A tenth of a second: counters move, and a sample. */
void replay_bench_pass(struct replay_bench *f);
/* The window "run", of which everything is billed; bill commits, too, and waits for the disk. */
void replay_bench_begin(struct replay_bench *f);
void replay_bench_bill(struct replay_bench *f);
void replay_bench_end(struct replay_bench *f);
/* Some seconds in which processes come, run and go, with names and memory that are learned late. */
void replay_bench_live_for(struct replay_bench *f, int seconds);
/* What a recorder is told of this program's peak memory, where it asks. */
extern uint64_t replay_bench_peak_bytes;

/* Processes that are seen, and have ended with the next call: more than are kept apart, so that some are folded. */
void replay_bench_crowd(struct replay_bench *f);

/* Everything that can be asked, as text (free()); every ledger is closed. */
char *replay_bench_print_live(struct replay_bench *f);
char *replay_bench_print_played(struct wtl_player *player);

/* A bill, its numbers to six digits: all processors agree on those. */
void replay_bench_put_bill(const struct replay_bench *f, size_t i, struct wtl_buf *text);
/* The figures of the last bill are what they were when a person last looked at them: tests/golden/accounts-NAME.txt. */
void replay_bench_golden(struct replay_bench *f, const char *name);

/* Plays it to its end; counts[] is how often each kind of step came. */
struct wtl_player *replay_bench_play(const char *path, unsigned counts[WTL_PLAYED_LOST + 1]);
/* Live and played are the same. Frees both. */
void replay_bench_check_same(char *live, char *played);
/* Does something to the file that was ended: it has to change rows. */
void replay_bench_sql(struct replay_bench *f, const char *sql);
/* The period of that time: its place, and where it begins and ends. */
size_t replay_bench_period(struct replay_bench *f, int64_t t_mono_ns,
			   struct wtl_store_period *ret_period);
/* All values of a period become noise, or those of the one series that tells what happened. */
void replay_bench_spoil(struct replay_bench *f, size_t period, bool only_op);

/* A value of a series in that period (from 1) becomes that one, with checksums that fit. SIZE_MAX: the last. */
void replay_bench_forge(const char *path, const char *name, int64_t period, size_t at,
			int64_t value);

/* Plays all of it for that: after every bill, and at the end. counts[] as above; or NULL. */
void replay_bench_check(struct replay_bench *f, unsigned counts[WTL_PLAYED_LOST + 1]);

#endif
