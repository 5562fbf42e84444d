/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_METER_H
#define WTL_METER_METER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "base/io.h"
#include "base/log.h"
#include "energy/account.h"
#include "energy/catalog.h"
#include "energy/domain.h"
#include "sensors/source.h"

struct wtl_calibrated;
struct wtl_observer;
struct wtl_sample;
struct wtl_attached;
struct wtl_fed;
struct wtl_source_worker;
struct wtl_gpu_details;

/* One opened source. */
struct wtl_sensor {
	const struct wtl_source_ops *ops;
	void *state;
	size_t first, n;	      /* its channels in the catalog */
	struct wtl_reading *readings; /* n of the meter's */
	bool is_check;		      /* gives no domain its figure: read now and then only */
	int64_t next_ns;	      /* a check: not to be read before */
	unsigned slow_reads;	      /* since slow_since_ns */
	int64_t slow_since_ns;
	struct wtl_source_worker *worker; /* not NULL: it is read on a thread of its own */
	int64_t wait_again_ns;		  /* slow: until then its answers are not waited for */
};

/* A domain at run time. */
struct wtl_domain_state {
	struct wtl_domain domain;
	struct wtl_account *account; /* NULL: no figure */
	struct wtl_account *check;   /* NULL: no second source */
	struct wattle_domain info;   /* as handed out; status is brought up to date */
	int64_t span_from_ns;	     /* where the account's last complete stretch of power began */
	/* Both sources over the same stretch, from the first time both were read or since a break. */
	bool comparing;
	uint64_t compare_breaks;
	struct wtl_mark compare_mark, check_mark;
	int64_t compare_next_ns;
	bool disagrees;
	double disagreement; /* |checked - compared| / compared, beyond what both may differ */
};

struct wtl_window {
	struct wtl_window *next,
		*previous;     /* of the open ones, newest first; or of the free ones */
	bool stacked;	       /* by push: its name may repeat */
	pthread_t thread;      /* whose stack it is on */
	uint32_t flags;	       /* WATTLE_WINDOW_… */
	struct wtl_book *book; /* everybody's accounts of it, or NULL */
	char name[64];
	int64_t begin_utc_ns, begin_mono_ns;
	struct wtl_mark *marks; /* one a domain */
	int64_t sampled_ns;	/* when the start's sample began */
	uint64_t *max_uw;	/* one a domain: the highest span since the start; 0: none yet */
	uint64_t total_max_uw;
	int64_t end_ns;	       /* wtl_window_hold(); 0: it goes on */
	struct wtl_told *told; /* one a domain, as of end_ns; NULL: it goes on */
};

struct wattle_meter {
	pthread_mutex_t lock;
	struct wtl_env env;
	struct wtl_log log;
	struct wtl_machine machine;
	struct wtl_catalog catalog;
	struct wtl_sensor *sensors;
	size_t n_sensors;
	struct wtl_calibrated *calibrated; /* or NULL */
	struct wtl_sensor_class *sensed; /* one a channel, where its sensor was measured; or NULL */
	struct wtl_reading *readings;	 /* one a channel */
	struct wtl_account *accounts;	 /* one a channel */
	struct wtl_integral *integrals;	 /* one a power channel */
	struct wtl_domain_state *domains;
	size_t n_domains;
	struct wtl_window *windows;
	size_t n_windows;
	struct wtl_window *open_windows, *free_windows;
	int64_t asleep_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC: moves when the machine sleeps */
	bool was_ticked;
	struct wtl_attached *attached; /* of a meter with attribution, or NULL */
	/* Of such a meter: a window has begun (0 or -ENOMEM), or is about to be forgotten. */
	int (*window_begins)(struct wattle_meter *meter, struct wtl_window *window);
	void (*window_ends)(struct wattle_meter *meter, struct wtl_window *window);
	const struct wtl_observer *observer; /* or NULL */
	int64_t observed_ns;		     /* the end of the sample that it was told first */
	int64_t sampled_ns, read_ns;	     /* when the newest sample began and ended */
	struct wattle_self self;

	pthread_t sampler;
	bool has_sampler;
	pthread_cond_t stop_changed;
	bool stop;
	int64_t interval_ns;
	bool is_tape;	 /* a tick goes on to its next frame */
	bool io_lent;	 /* somebody beside the meter never gives the io back: it is not freed */
	char *nvml_path; /* the option's, or NULL; goes with the io */
	struct wtl_fed *fed; /* what its caller feeds it with, or NULL: it reads sensors */
	bool is_unfed;	     /* nothing was fed so far */
	bool only_observed;  /* the observer is told of samples, and nothing is computed of them */

	/* What programs ask of the GPUs, and its lock, which is taken before the other. NULL: nobody has asked. */
	pthread_mutex_t gpus_lock;
	struct wtl_gpu_details *gpu_details;
	int64_t gpus_asked_ns;

	struct wattle_options options; /* the caller's, for the log callback */
};

/*
 * Opens a meter on an environment. env->io becomes the meter's (freed by wattle_meter_close), also
 * on failure. nvml_path and gpus as in wattle_options; max_windows 0 means the default. No thread is started.
 */
int wtl_meter_new(const struct wtl_env *env, const struct wattle_options *options,
		  struct wattle_meter **ret_meter, struct wtl_err *err);
/* The same with other sources than this machine's: a list that is ended by NULL, best first. */
int wtl_meter_new_from(const struct wtl_env *env, const struct wattle_options *options,
		       const struct wtl_source_ops *const sources[],
		       struct wattle_meter **ret_meter, struct wtl_err *err);

/*
 * Reads sources that may hang on threads of their own from now on, not only when they have proved slow:
 * one that does not answer then holds up nobody. For that a sample pays two switches of threads for each.
 * Without the memory for it, it is waited for. Before anybody else has the meter.
 */
void wtl_meter_guard(struct wattle_meter *meter); /* sensor.c */

/* The uncertainty (k = 2) of the zero of a domain's sensor, or past the last domain of the total's: as
 * power. domain_state.c */
uint64_t wtl_meter_zero_uw(const struct wattle_meter *meter, size_t domain);

/* The public functions of those names, for callers within this tree: they set the sizes. */
int wtl_meter_domain(struct wattle_meter *meter, size_t i, struct wattle_domain *ret_domain);
int wtl_meter_self(struct wattle_meter *meter, struct wattle_self *ret_self);
int wtl_meter_carbon(const char *location, struct wattle_carbon *ret_carbon);
int wtl_window_end(struct wattle_meter *meter, const char *name, struct wattle_window *ret_window,
		   struct wattle_energy *ret_energies, size_t n_energies);
int wtl_window_read(struct wattle_meter *meter, const char *name, struct wattle_window *ret_window,
		    struct wattle_energy *ret_energies, size_t n_energies);

/* Writes a whole window as far as its caller knows it. */
void wtl_window_give(const struct wattle_window *window, struct wattle_window *ret_window);

/* With the lock held. _tell: right after a sample, what a window used; returns when that is. _close: its end. */
int64_t wtl_window_tell(struct wattle_meter *meter, const struct wtl_window *window,
			struct wattle_window *ret_window, struct wattle_energy *ret_energies,
			size_t n_energies);
void wtl_window_close(struct wattle_meter *meter, struct wtl_window *window, int64_t end_ns);

/*
 * The window's time is over, but it stays open: sensors of power will tell more of its last stretch. *ret_wait_ns: how
 * long they are to be sampled until nothing changes any more; 0: there is nothing to wait for, or too little.
 * wtl_window_end() then has what is known by then. -ENOMEM: it goes on.
 */
int wtl_window_hold(struct wattle_meter *meter, const char *name, int64_t *ret_wait_ns);
/* wtl_window_read() as of the last sample: takes none. */
int wtl_window_look(struct wattle_meter *meter, const char *name, struct wattle_window *ret_window,
		    struct wattle_energy *ret_energies, size_t n_energies);

/* The parts of the meter; all with the lock held. */
int wtl_meter_open_sensors(struct wattle_meter *meter, const struct wtl_source_ops *const sources[],
			   const struct wtl_source_options *options,
			   struct wtl_err *err); /* sensor.c */
/* false: a source is stuck in a read, and the environment must outlive it. */
bool wtl_meter_close_sensors(struct wattle_meter *meter);
/* Returns the time afterwards: now_ns where nothing was to be read. */
int64_t wtl_sensor_read(struct wattle_meter *meter, struct wtl_sensor *sensor, int64_t now_ns);
int wtl_meter_open_domains(struct wattle_meter *meter); /* domain_state.c */
void wtl_domain_state_explain(
	struct wtl_domain_state *state); /* reason and remedy, as of its status */
void wtl_domain_state_compare(struct wtl_domain_state *state);
void wtl_domain_state_energy(const struct wtl_domain_state *state, const struct wtl_mark *mark,
			     int64_t t_ns, struct wattle_energy *ret_energy,
			     struct wtl_budget *ret_budget);
/* tick.c: both return when the sample began; the second is for a moment that somebody asks about. */
int64_t wtl_meter_sample(struct wattle_meter *meter);
int64_t wtl_meter_sample_asked(struct wattle_meter *meter);
int wtl_meter_open_windows(struct wattle_meter *meter, size_t n); /* window.c */
/* The open window of that name; NULL: there is none. */
struct wtl_window *wtl_window_find(struct wattle_meter *meter, const char *name);
/* A window whose name no caller of the library can choose. */
#define WTL_WINDOW_OF_SESSION "\n"
int wtl_window_begin_own(struct wattle_meter *meter);
/* That window begins anew, as of the newest sample: reads nothing, and no observer is told. Takes
 * the lock; not for attached meters, whose session has the window. */
int wtl_window_mark(struct wattle_meter *meter);
void wtl_meter_close_windows(struct wattle_meter *meter);
int wtl_meter_start_sampler(struct wattle_meter *meter); /* sampler.c */
void wtl_meter_stop_sampler(struct wattle_meter *meter);
void wtl_meter_close_gpus(struct wattle_meter *meter); /* gpus.c */

/* A worker that reads a sensor from now on (source_worker.c). NULL: no memory, or no thread. */
struct wtl_source_worker *wtl_source_worker_new(const struct wtl_sensor *sensor);
/* Ends the thread; NULL is fine. false: it is stuck in a read and was left behind, so its state (and
 * what that uses) must not be freed. */
bool wtl_source_worker_free(struct wtl_source_worker *worker);
/*
 * wait_ns 0: takes the newest answer into readings[] if there is one since the last call, and asks for
 * the next. Else asks, and takes the answer if it comes in that time; one that is still owed to an
 * earlier call is not waited for. Returns whether there was one; *ret_took_ns is how long that read
 * took, wait_ns where it was waited for in vain, or 0.
 */
bool wtl_source_worker_exchange(struct wtl_source_worker *worker, int64_t wait_ns,
				struct wtl_reading readings[], int64_t *ret_took_ns);

/* To whoever calls the library; reterr may be NULL. */
void wtl_err_hand_over(const struct wtl_err *err, struct wattle_error *reterr);

#endif
