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

/* The sources of `wattle top`'s views: a thread that samples, and one that asks GPUs. The screen waits for neither. */

struct wtl_player;
struct wtl_top_replay;

/* ---- Domains (sample.c) ---- */

struct wtl_top_moment {
	uint64_t energy_uj;
	int64_t measured_ns, gap_ns;
	bool is_known;
};

enum { WTL_TOP_MOMENTS = 256 };

/* A domain's energy at the last samples, and at the last bill: its power is over the same time as its users'. */
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
	struct wattle_energy *energies; /* of the window, one per domain */
	struct wtl_top_track *tracks;	/* one per domain */
	size_t n;
	uint64_t n_moments;
	uint64_t n_moments_billed; /* at the last bill; 0: none yet */
	int64_t begin_ns;	   /* start of the first bin; 0: not begun */
	bool has_missed;	   /* the time since the newest moment is lost */
};

/* Fills the view's domains, and reads no sensor. 0 or -ENOMEM. */
int wtl_top_sampler_init(struct wtl_top_sampler *sampler, struct wattle_meter *meter,
			 struct wtl_top_view *view);
void wtl_top_sampler_done(struct wtl_top_sampler *sampler);
/* Begins its window. 0 or a negative code. */
int wtl_top_sampler_begin(struct wtl_top_sampler *sampler);
/* After a sample of the meter: the window so far, powers and curves. */
void wtl_top_sampler_take(struct wtl_top_sampler *sampler, struct wtl_top_view *view,
			  int64_t now_ns);
/* After a bill of these energies: until the next bill, the domains' power is the mean since the one before. */
void wtl_top_sampler_bill(struct wtl_top_sampler *sampler, struct wtl_top_view *view,
			  const struct wattle_energy energies[]);
/* Updates only the energies, to the meter's newest sample. false: there is no window. */
bool wtl_top_sampler_sum(struct wtl_top_sampler *sampler, struct wtl_top_view *view);

/* ---- Processes (processes.c) ---- */

struct wtl_top_processes {
	struct wtl_consumers *consumers; /* NULL: no processes */
	bool is_here;			 /* users are named as on this machine */
	const struct wtl_player *player; /* of the recording with users' names; NULL: none */
	struct {
		uint32_t uid;
		char name[32];
	} users[64];
	size_t n_users;
	const struct wtl_group **origins; /* the workload's groups, of which the view has copies */
	size_t size_origins;
	struct wtl_hash by_origin;
	unsigned memory_reads;
};

/* player: of the recording with the processes; NULL: no recording. */
void wtl_top_processes_init(struct wtl_top_processes *processes, bool is_here,
			    struct wtl_player *player, struct wtl_consumers *consumers);
void wtl_top_processes_done(struct wtl_top_processes *processes);
/* Reads the memory of as many as is reasonable once a second; walks: PSS and USS, too. */
void wtl_top_processes_read_memory(struct wtl_top_processes *processes, bool walks);
/* Processes, ledgers and baselines as of the last billing. 0 or -ENOMEM. */
int wtl_top_processes_take(struct wtl_top_processes *processes, struct wtl_top_view *view);

/* ---- GPUs and limits (devices.c) ---- */

/* Starts asking GPUs for the numbers in the view, so that there is an answer when it is needed. Returns as
 * wtl_gpu_details_init(). */
int wtl_top_gpus_init(struct wtl_gpu_details *details, struct wattle_meter *meter,
		      struct wtl_top_view *view);
/* Sets a number; does nothing if it is not shown. */
void wtl_top_gpu_set(struct wtl_top_gpu *gpu, enum wtl_gpu_number number, uint64_t value);
/* Links GPUs to their energy domains, which share a row. */
void wtl_top_gpus_join(struct wtl_top_view *view);

enum { WTL_TOP_LIMITS_MAX = 16 };

/* Power limits of CPU packages, from powercap. */
struct wtl_top_limits {
	struct wtl_held_file files[WTL_TOP_LIMITS_MAX];
	size_t domains[WTL_TOP_LIMITS_MAX]; /* indices of their domains */
	size_t n;
};

void wtl_top_limits_init(struct wtl_top_limits *limits, struct wtl_io *io,
			 const struct wtl_top_view *view);
void wtl_top_limits_take(struct wtl_top_limits *limits, struct wtl_top_view *view);
void wtl_top_limits_done(struct wtl_top_limits *limits);

/* ---- The collector (collect.c) ---- */

/* Begun: the view has domains. Running: processes as well, if they are followed. */
enum wtl_top_state { WTL_TOP_OPENING, WTL_TOP_BEGUN, WTL_TOP_RUNNING, WTL_TOP_FAILED };

struct wtl_top_collector {
	struct wtl_app *app;
	const struct wtl_top_settings *settings;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool has_thread, stop, is_over;
	enum wtl_top_state state;
	int news;	   /* eventfd: readable after a change of state, and after a wanted view */
	int64_t wanted_ns; /* under the lock; screen clock: the first view after that is wanted */

	struct wattle_meter *meter;
	struct wtl_io *io;
	struct wtl_session session; /* without consumers: no processes */
	char idle_path[PATH_MAX];
	struct wtl_top_sampler sampler;
	struct wtl_top_processes processes;
	struct wtl_gpu_details gpus;
	struct wtl_host_reader host;
	struct wtl_top_limits limits;
	int own_memory; /* descriptor: wattle's own memory */
	int64_t begin_ns, bill_due_ns, slow_due_ns, publish_due_ns;
	uint64_t n_lost;    /* exit records and processes, as of the last remark */
	int64_t billed_ns;  /* the part of the window that was billed */
	bool bills_late;    /* set before opening: bills only at the end, for a single picture */
	atomic_bool walks;  /* PSS and USS are wanted; set by the screen */
	bool without_table; /* set before opening: no processes, power of the newest second */
	struct wtl_top_replay *replay; /* NULL: no recording is played */
	struct wtl_play play;	       /* the play's state; under the lock */

	struct wtl_top_view master; /* the collecting thread's */
	/* Under the lock: the reader's (`shown`), and the other one, which is the newest if is_fresh. */
	struct wtl_top_view views[2];
	unsigned shown;
	bool is_fresh;
};

void wtl_top_collector_init(struct wtl_top_collector *collector, struct wtl_app *app,
			    const struct wtl_top_settings *settings);
/* false: a device does not answer; the memory must stay, and the process should end. */
bool wtl_top_collector_done(struct wtl_top_collector *collector);

/* Opens the meter and begins, in the calling thread. 0, or negative after wtl_complain(). */
int wtl_top_collector_open(struct wtl_top_collector *collector);
/* Takes one sample, and does what is due, in the calling thread. -WTL_ETAPE_END: the tape has ended. */
int wtl_top_collector_step(struct wtl_top_collector *collector, int64_t due_ns);
/* Bills and publishes now. */
void wtl_top_collector_finish(struct wtl_top_collector *collector);

/* Starts a thread that does all of this. */
int wtl_top_collector_start(struct wtl_top_collector *collector);
/* Waits for a view, at most that long. */
enum wtl_top_state wtl_top_collector_wait(struct wtl_top_collector *collector, int64_t timeout_ns);

/* The newest view; does not change until the next call. */
const struct wtl_top_view *wtl_top_collector_view(struct wtl_top_collector *collector);
/* Asks for a signal on `news` at the first view from that time of the screen's clock on. */
void wtl_top_collector_want(struct wtl_top_collector *collector, int64_t t_ns);

/* The state of a recording's play, and a user's order about it. */
void wtl_top_collector_play(struct wtl_top_collector *collector, struct wtl_play *ret_play);
void wtl_top_collector_order(struct wtl_top_collector *collector,
			     const struct wtl_play_order *order);

/* ---- For the makers of views (handover.c) ---- */

/* Publishes the master view. */
void wtl_top_collector_publish(struct wtl_top_collector *collector);
/* Updates the cost of measuring: cpu_ns so far, at now_ns. */
void wtl_top_self_take(struct wtl_top_view *view, const struct wattle_meter *meter, int64_t now_ns,
		       int64_t cpu_ns);
/* The screen's clock, even if the shown data has another one. */
int64_t wtl_top_screen_ns(void);

#endif
