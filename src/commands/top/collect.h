/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_COLLECT_H
#define WTL_COMMANDS_TOP_COLLECT_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "base/hash.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "commands/top/play.h"
#include "commands/top/view.h"
#include "commands/top/settings.h"
#include "meter/gpu_details.h"
#include "meter/session.h"
#include "meter/meter.h"
#include "report/host_state.h"

/*
 * Where the views of `wattle top` come from: a thread that samples, and one that asks the GPUs. The
 * screen waits for neither.
 */

struct wtl_player;
struct wtl_top_replay;

/* ---- Domains (sample.c) ---- */

struct wtl_top_moment {
	uint64_t energy_uj;
	int64_t measured_ns, gap_ns;
	bool is_known;
};

enum { WTL_TOP_MOMENTS = 256 };

/* A domain's energy at the last samples, and at the last bill: its users' power is over the same time as its own. */
struct wtl_top_track {
	struct wtl_top_moment moments[WTL_TOP_MOMENTS]; /* a ring */
	struct wtl_top_moment billed;
	bool has_billed_power;
	uint64_t billed_uw;
	int64_t update_ns; /* of its sensor */
};

struct wtl_top_sampler {
	struct wattle_meter *meter;
	struct wattle_window window;
	struct wattle_energy *energies; /* of the window, one a domain */
	struct wtl_top_track *tracks;	/* one a domain */
	size_t n;
	uint64_t n_moments;
	uint64_t n_moments_billed; /* n_moments then; 0: nothing was billed yet */
	int64_t begin_ns;	   /* where the first bin begins; 0: not begun */
	bool has_missed;	   /* the time since the newest moment was not recorded */
};

/* Fills the view's domains, and reads no sensor. 0 or -ENOMEM. */
int wtl_top_sampler_init(struct wtl_top_sampler *sampler, struct wattle_meter *meter,
			 struct wtl_top_view *view);
void wtl_top_sampler_done(struct wtl_top_sampler *sampler);
/* Its window begins here. 0 or a negative code. */
int wtl_top_sampler_begin(struct wtl_top_sampler *sampler);
/* After a sample of the meter: the window so far, powers and curves. */
void wtl_top_sampler_take(struct wtl_top_sampler *sampler, struct wtl_top_view *view,
			  int64_t now_ns);
/* These energies were billed: until the next time the domains' power is the mean since the last time. */
void wtl_top_sampler_bill(struct wtl_top_sampler *sampler, struct wtl_top_view *view,
			  const struct wattle_energy energies[]);
/* The energies alone, as of the meter's newest sample. false: there is no window. */
bool wtl_top_sampler_sum(struct wtl_top_sampler *sampler, struct wtl_top_view *view);

/* ---- Processes (processes.c) ---- */

struct wtl_top_processes {
	struct wtl_consumers *consumers; /* NULL: nobody is followed */
	bool is_here;			 /* users have this machine's names */
	const struct wtl_player *player; /* whose recording has the names; NULL: none */
	struct {
		uint32_t uid;
		char name[32];
	} users[64];
	size_t n_users;
	const struct wtl_group **origins; /* where the view's groups came from */
	size_t size_origins;
	struct wtl_hash by_origin;
	unsigned memory_reads;
};

/* player: of the recording that has the processes; NULL: none has. */
void wtl_top_processes_init(struct wtl_top_processes *processes, bool is_here,
			    struct wtl_player *player, struct wtl_consumers *consumers);
void wtl_top_processes_done(struct wtl_top_processes *processes);
/* Of as many as may be asked once a second; walks: PSS and USS as well. */
void wtl_top_processes_read_memory(struct wtl_top_processes *processes, bool walks);
/* Processes, ledgers and baselines as of the last billing. 0 or -ENOMEM. */
int wtl_top_processes_take(struct wtl_top_processes *processes, struct wtl_top_view *view);

/* ---- GPUs and limits (devices.c) ---- */

/* Asks GPUs from now on for what the view shows of them: there is an answer as soon as it is taken. As
 * wtl_gpu_details_init(). */
int wtl_top_gpus_init(struct wtl_gpu_details *details, struct wattle_meter *meter,
		      struct wtl_top_view *view);
/* A number that is known; nothing if it is not shown. */
void wtl_top_gpu_set(struct wtl_top_gpu *gpu, enum wtl_gpu_number number, uint64_t value);
/* GPUs and their energy domains become one row. */
void wtl_top_gpus_join(struct wtl_top_view *view);

enum { WTL_TOP_LIMITS_MAX = 16 };

/* Limits of CPU packages, by powercap. */
struct wtl_top_limits {
	struct wtl_held_file files[WTL_TOP_LIMITS_MAX];
	size_t domains[WTL_TOP_LIMITS_MAX]; /* whose they are */
	size_t n;
};

void wtl_top_limits_init(struct wtl_top_limits *limits, struct wtl_io *io,
			 const struct wtl_top_view *view);
void wtl_top_limits_take(struct wtl_top_limits *limits, struct wtl_top_view *view);
void wtl_top_limits_done(struct wtl_top_limits *limits);

/* ---- All together (collect.c) ---- */

/* Begun: there is a view of the domains. Running: of processes as well, if they are followed. */
enum wtl_top_state { WTL_TOP_OPENING, WTL_TOP_BEGUN, WTL_TOP_RUNNING, WTL_TOP_FAILED };

struct wtl_top_collector {
	struct wtl_app *app;
	const struct wtl_top_settings *settings;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool has_thread, stop, is_over;
	enum wtl_top_state state;
	int news; /* eventfd: readable after a change of the state, and after a view that is wanted */
	int64_t wanted_ns; /* behind the lock; the screen's clock: the first view from then on is wanted */

	struct wattle_meter *meter;
	struct wtl_io *io;
	struct wtl_session session; /* without consumers: nobody is followed */
	char idle_path[PATH_MAX];
	struct wtl_top_sampler sampler;
	struct wtl_top_processes processes;
	struct wtl_gpu_details gpus;
	struct wtl_host_reader host;
	struct wtl_top_limits limits;
	int own_memory; /* descriptor: what wattle itself takes */
	int64_t begin_ns, bill_due_ns, slow_due_ns, publish_due_ns;
	uint64_t n_lost;    /* exit records and processes, as far as they were remarked on */
	int64_t billed_ns;  /* the window's duration that was billed so far */
	bool bills_late;    /* set before it is opened: bills at the end alone, for one picture */
	atomic_bool walks;  /* PSS and USS are wanted: the screen says so */
	bool without_table; /* set before it is opened: no processes beside the domains' power, which
			       is that of the newest second then */
	struct wtl_top_replay *replay; /* NULL: no recording is played */
	struct wtl_play play;	       /* how it is; behind the lock */

	struct wtl_top_view master; /* the thread's */
	/* Behind the lock: the reader's (`shown`) and the other one, which is the newest if is_fresh. */
	struct wtl_top_view views[2];
	unsigned shown;
	bool is_fresh;
};

void wtl_top_collector_init(struct wtl_top_collector *collector, struct wtl_app *app,
			    const struct wtl_top_settings *settings);
/* false: something does not answer; the memory must stay, and the process should end. */
bool wtl_top_collector_done(struct wtl_top_collector *collector);

/* Opens the meter and begins, in this thread. 0, or negative after wtl_complain(). */
int wtl_top_collector_open(struct wtl_top_collector *collector);
/* One sample, and all that is due, in this thread. -WTL_ETAPE_END: the tape is over. */
int wtl_top_collector_step(struct wtl_top_collector *collector, int64_t due_ns);
/* Bills and publishes now. */
void wtl_top_collector_finish(struct wtl_top_collector *collector);

/* Does all of this in a thread of its own from now on. */
int wtl_top_collector_start(struct wtl_top_collector *collector);
/* Waits at most so long for a view. */
enum wtl_top_state wtl_top_collector_wait(struct wtl_top_collector *collector, int64_t timeout_ns);

/* The newest view; stays as it is until the next call. */
const struct wtl_top_view *wtl_top_collector_view(struct wtl_top_collector *collector);
/* The first view from that time of the screen's clock on is news. */
void wtl_top_collector_want(struct wtl_top_collector *collector, int64_t t_ns);

/* How a recording is played, and what the user wants of that. */
void wtl_top_collector_play(struct wtl_top_collector *collector, struct wtl_play *ret_play);
void wtl_top_collector_order(struct wtl_top_collector *collector,
			     const struct wtl_play_order *order);

/* ---- For those that make views (handover.c) ---- */

/* Hands the master out. */
void wtl_top_collector_publish(struct wtl_top_collector *collector);
/* What measuring costs: CPU time so far, at that time. */
void wtl_top_self_take(struct wtl_top_view *view, const struct wattle_meter *meter, int64_t now_ns,
		       int64_t cpu_ns);
/* The screen's clock, also where what is shown has another. */
int64_t wtl_top_screen_ns(void);

#endif
