/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_OBSERVER_H
#define WTL_METER_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/reading.h"
#include "workload/gpu_use.h"
#include "workload/workload.h"

struct wattle_meter;
struct wtl_consumers;
struct wtl_err;

/*
 * Somebody who is told of all that a meter and its consumers go by, in the order in which they go by it:
 * with that, all that they have said can be computed again by the same code (src/replay/).
 */

/* All channels' readings, as the accounts are fed with them. */
struct wtl_sample {
	int64_t begin_ns, end_ns; /* monotonic */
	int64_t asleep_ns;	  /* CLOCK_BOOTTIME - CLOCK_MONOTONIC */
	const struct wtl_reading *readings;
	size_t n;
};

enum wtl_window_event { WTL_WINDOW_BEGINS, WTL_WINDOW_ENDS, WTL_WINDOW_CANCELLED };

struct wtl_window_note {
	enum wtl_window_event event;
	const char *name;
	bool is_stacked;
	int64_t t_mono_ns; /* when the window begins or ends; 0 where it is cancelled */
	int64_t t_utc_ns;  /* of a start */
};

/* Who used a GPU since the scan before. */
struct wtl_gpu_scan {
	const char *domain;
	enum wtl_gpu_use_method method; /* how it is divided; none: it is not */
	uint32_t use_ppm;		/* of its capacity */
	const struct wtl_use *uses;
	size_t n_uses;
};

enum wtl_scan_event {
	WTL_SCAN_TAKEN, /* its uses are about to be billed, or forgotten: the next event says which */
	WTL_SCAN_BILLED,	  /* with a window's energies as of t_utc_ns */
	WTL_SCAN_RESET,		  /* all accounts are 0 from now on */
	WTL_SCAN_SETTLED,	  /* no scan: what was billed so far stays divided as it is */
	WTL_SCAN_MACHINE_CHANGED, /* the same, and learned watts may be others now */
};

struct wtl_observer {
	void *context;
	/* The meter is locked: it must not be called. */
	void (*sampled)(void *context, const struct wtl_sample *sample);
	void (*window)(void *context, const struct wtl_window_note *note);
	/* t_utc_ns: WTL_SCAN_BILLED only. Asks the consumers for the rest. */
	void (*scanned)(void *context, enum wtl_scan_event event, int64_t t_utc_ns);
};

/*
 * From now on; NULL: nobody. Times of samples and readings are then whole microseconds. The newest sample
 * is told at once, as the state to begin with: to be called right after the meter was opened. The
 * observer is the caller's.
 */
void wtl_meter_observe(struct wattle_meter *meter, const struct wtl_observer *observer);
void wtl_consumers_observe(struct wtl_consumers *consumers, const struct wtl_observer *observer);
/* Gives a sample to the observer alone, as if the sources had given it. Its times are whole microseconds. */
void wtl_meter_pass_on(struct wattle_meter *meter, const struct wtl_sample *sample);

/* The scan that the newest event is about, and its GPUs, in an order that never changes. */
const struct wtl_workload_scan *wtl_consumers_scan(const struct wtl_consumers *consumers);
size_t wtl_consumers_gpus(const struct wtl_consumers *consumers);
void wtl_consumers_gpu(const struct wtl_consumers *consumers, size_t i,
		       struct wtl_gpu_scan *ret_gpu);

/* ---- The other way: restored from what was observed ---- */

/* Consumers whose workload is restored (wtl_workload_restore_…) instead of read. Who used the GPUs is given
 * before a scan that has them. 0 or -ENOMEM. */
int wtl_consumers_new_restored(struct wattle_meter *meter, const char *const gpu_domains[],
			       size_t n_gpus, struct wtl_consumers **ret_consumers,
			       struct wtl_err *err);
struct wtl_workload *wtl_consumers_workload(struct wtl_consumers *consumers);
/* .domain is as it was. weight and uses are borrowed until the next one is told. */
void wtl_consumers_restore_gpu(struct wtl_consumers *consumers, size_t i,
			       const struct wtl_gpu_scan *gpu);
/* After wtl_consumers_begin(), when consumers that are gone have been restored as nobody: the next
 * owners of their slots do not inherit what they were learned to draw on GPUs. */
void wtl_consumers_reset_gpu_watts(struct wtl_consumers *consumers);

/* Watts are learned (WTL_WEIGHT_LEARNED), before the first bill; is_told: with those whom the restored consumers'
 * watts_key names. -ENOMEM. */
int wtl_consumers_learn_watts(struct wtl_consumers *consumers, bool is_told);
/* After that: learns of GPUs' users, too. -ENOMEM. */
int wtl_consumers_learn_gpus(struct wtl_consumers *consumers);
bool wtl_consumers_learns_gpus(const struct wtl_consumers *consumers);
/* Then, for what is gone through twice: meter/learned.h. Before each bill; and behind the last one of the first time.
 * -ENOMEM. */
struct wtl_watts_past;
int wtl_consumers_use_past(struct wtl_consumers *consumers, struct wtl_watts_past *past);
void wtl_consumers_reach(struct wtl_consumers *consumers, int64_t end_ns);
int wtl_consumers_smooth(struct wtl_consumers *consumers);

/* The i-th consumer whose watts were known before they were first learned, with its key; NULL: no
 * more. A replay gives them to wtl_consumers_know_watts(). */
struct wtl_known_watts;
const struct wtl_known_watts *wtl_consumers_begun(const struct wtl_consumers *consumers, size_t i);

/* Instead of scans: what a slot was billed in a domain altogether, and the window's energies of which all
 * that was. */
void wtl_consumers_restore_account(struct wtl_consumers *consumers, uint32_t slot, size_t domain,
				   const struct wtl_share *share);
/* And what each was learned to draw, if that is kept: the domains whose watts were learned. -ENOMEM. */
int wtl_consumers_restore_per_cpu(struct wtl_consumers *consumers, uint32_t slot,
				  const struct wtl_per_cpu *per_cpu);
void wtl_consumers_restore_learned(struct wtl_consumers *consumers, size_t domain);
bool wtl_consumers_is_learned(const struct wtl_consumers *consumers, size_t domain);
void wtl_consumers_restore_billed(struct wtl_consumers *consumers,
				  const struct wattle_energy energies[]);

#endif
