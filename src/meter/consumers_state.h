/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_CONSUMERS_STATE_H
#define WTL_METER_CONSUMERS_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "energy/attribution.h"
#include "energy/baseline.h"
#include "energy/catalog.h"
#include "meter/chunk.h"
#include "meter/consumers.h"
#include "meter/gpu_watch.h"
#include "meter/learned.h"
#include "meter/learned_gpu.h"
#include "meter/observer.h"
#include "workload/workload.h"

/* The state of struct wtl_consumers, shared by consumers.c (billing), consumers_gpu.c (GPUs) and
 * consumers_read.c (what the accounts say). */

/* How a domain's energy is divided among consumers. */
enum wtl_divided {
	WTL_DIVIDED_NOT, /* no use of it by processes can be told */
	WTL_DIVIDED_BY_CPU,
	WTL_DIVIDED_BY_GPU,
};

struct wtl_divided_domain {
	const char *name; /* the meter's */
	enum wtl_divided by;
	bool in_total;
	int gpu; /* its place in the GPU use; < 0: none */
	struct wtl_baseline_learner *learner;
	bool is_gpu; /* a GPU, none of its parts */
	/* Standard uncertainties: its sensor's zero; and of what it counts above idle, where that is
	 * known to be worse than the gain (0: it is not). */
	uint32_t offset_uw, dynamic_ppm;
	int64_t half_ns; /* of the read that it ends with */
	int64_t edge_ns; /* standard uncertainty of the time up to which that read tells */
};

/* What was billed of a domain since the book began. */
struct wtl_billed {
	uint64_t energy_uj;
	int64_t time_ns;
	double doubt; /* relative standard uncertainty of the energy so far, but for the sensor's zero */
};

/*
 * Everybody's accounts since some moment: the consumers' own book is since wtl_consumers_begin(). The account
 * behind those of the domains is the time that was used of GPUs, in ns.
 */
struct wtl_book {
	struct wtl_attribution *attribution;
	struct wtl_billed *billed; /* one a domain */
	struct wtl_chunk chunk;	   /* zeroed where watts are not learned */
	/* Of another book than the consumers' own: */
	struct wtl_book *next;
	struct wattle_energy *energies; /* one a domain: of its window, as of the next bill */
	int64_t *cpu_base_ns;		/* CPU time of each slot when it began */
	size_t n_cpu_base;
};

/* What a consumer drew over the last interval in which it was billed. */
struct wtl_recent {
	uint64_t interval; /* its number; the figures mean nothing unless it is the newest */
	bool lacks_baseline;
	uint64_t full_uw[WTL_PARTS], dynamic_uw[WTL_PARTS];
};

/* A process that was listed for a GPU, and its account. */
struct wtl_gpu_seen {
	int pid;
	uint32_t slot;
	uint64_t weight;
};

/* Who used a GPU since the scan before. */
struct wtl_gpu_division {
	const struct wtl_use *uses; /* by slots */
	size_t n_uses;
	uint32_t use_ppm; /* of its capacity */
	char domain[WTL_NAME_SIZE];
	enum wtl_gpu_use_method method; /* how it is divided; none: not known */
	struct wtl_gpu_seen *seen;	/* the newest list */
	size_t n_seen, size_seen;
	struct wtl_gpu_seen *before; /* room for the one before */
	size_t size_before;
	struct wtl_use *room; /* for uses; NULL where they are restored */
	size_t size_room;
	struct wtl_gpu_learned *learned; /* NULL: nothing is */
};

struct wtl_consumers {
	struct wattle_meter *meter;
	struct wtl_io *io;
	struct wtl_workload *workload;
	struct wtl_book own;
	struct wtl_book *books; /* the others */
	struct wtl_divided_domain *domains;
	struct wtl_share *scratch; /* one a domain */
	size_t n_domains;
	struct wtl_recent *recents; /* one a slot */
	size_t n_recents;
	uint64_t interval;
	const struct wtl_observer *observer; /* or NULL */
	struct wtl_learned *learned;	     /* NULL: uses weigh what the scan says */
	struct wtl_per_cpu *per_cpus;	     /* one a slot, where they are restored */
	size_t n_per_cpus;

	struct wtl_gpu_watch *gpu_watch;	/* NULL: no GPUs, or they are restored */
	struct wtl_gpu_division *gpu_divisions; /* one a GPU */
	size_t n_gpus;
	uint32_t *gpu_slots; /* who was seen on any at the last scan; may name one twice */
	size_t n_gpu_slots, size_gpu_slots;
};

/* All of that energy is billed now. */
void wtl_billed_note(struct wtl_billed *billed, const struct wtl_divided_domain *domain,
		     const struct wattle_energy *energy);

/* ---- consumers_gpu.c ---- */

/* Where nobody is known to have used anything. */
extern const struct wtl_use wtl_unseen_alone;

int wtl_consumers_open_restored_gpus(struct wtl_consumers *consumers, const char *const domains[],
				     size_t n);
int wtl_consumers_open_gpus(struct wtl_consumers *consumers, const struct wtl_env *env,
			    const struct wtl_consumers_options *options, struct wtl_err *err);
/* false: a scan is stuck, and uses the io for ever. */
bool wtl_consumers_close_gpus(struct wtl_consumers *consumers);

/* Takes who the GPUs' processes are, who were asked for before; one slot's account was moved to
 * another's before; all accounts have begun anew. */
void wtl_consumers_scan_gpus(struct wtl_consumers *consumers);
void wtl_consumers_fold_gpus(struct wtl_consumers *consumers, uint32_t from, uint32_t into);
void wtl_consumers_reset_gpus(struct wtl_consumers *consumers);

/* Who used a GPU's domain between the last two scans, and how much of its capacity. */
size_t wtl_consumers_gpu_uses(const struct wtl_consumers *consumers,
			      const struct wtl_divided_domain *domain,
			      const struct wtl_use **ret_uses, uint32_t *ret_use_ppm);

/* How long each used it, behind the domains of a book's accounts. */
void wtl_consumers_bill_gpu_time(const struct wtl_consumers *consumers, struct wtl_book *book,
				 const struct wtl_divided_domain *domain, int64_t duration_ns);

/* Only the processes' memory on it is known: its division is a guess. */
bool wtl_consumers_gpu_is_guess(const struct wtl_consumers *consumers,
				const struct wtl_divided_domain *domain);
const char *wtl_consumers_gpu_weight(const struct wtl_consumers *consumers,
				     const struct wtl_divided_domain *domain);

/* ---- consumers_gpu_learned.c: what GPUs' users are learned to draw ---- */

/* The GPU that a domain is, where its users' watts are learned; NULL: they are not. */
struct wtl_gpu_learned *wtl_consumers_gpu_learned(const struct wtl_consumers *consumers,
						  const struct wtl_divided_domain *domain);
void wtl_consumers_scan_gpu_watts(struct wtl_consumers *consumers);
void wtl_consumers_fold_gpu_watts(struct wtl_consumers *consumers, const struct wtl_fold *fold);
void wtl_consumers_doubt_gpu_watts(struct wtl_consumers *consumers);
void wtl_consumers_keep_gpu_watts(const struct wtl_consumers *consumers, int64_t t_utc_ns);
/* Adds the newest scan's uses. */
void wtl_consumers_add_to_gpu_chunks(const struct wtl_consumers *consumers, struct wtl_book *book);
/* Bills what a book has of a GPU since its last bill. false: it is to be divided by the uses as reported. */
bool wtl_consumers_bill_gpu(const struct wtl_consumers *consumers, struct wtl_book *book,
			    const struct wtl_divided_domain *domain, uint64_t energy_uj,
			    int64_t duration_ns);
void wtl_consumers_free_gpu_watts(struct wtl_consumers *consumers);

#endif
