/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_PROFILE_H
#define WTL_COMMANDS_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/billing.h"
#include "cli/loop.h"
#include "cli/option.h"
#include "cli/when.h"
#include "commands/profile/bound.h"
#include "document/writer.h"
#include "profile/memory.h"
#include "profile/names.h"
#include "report/description.h"

enum { WTL_PROFILE_NAME_SIZE = 64 };

/* What a table of functions is sorted by: what they used themselves, or with their calls. */
enum wtl_profile_sort {
	WTL_SORT_ENERGY,
	WTL_SORT_CALLS,
	WTL_SORT_CPU,
	WTL_SORT_SAMPLES,
	WTL_SORT_WALL
};

extern const char *const wtl_profile_sort_names[]; /* ended by NULL */

struct wtl_kineto;

/* What the options of `wattle profile` say. */
struct wtl_profile_settings {
	int pid;	     /* 0: a command */
	int64_t duration_ns; /* 0: until it ends */
	unsigned hz;
	unsigned stack_bytes;
	double least_percent; /* rows with less are left out */
	bool is_table;
	bool is_unfolded;	    /* the tree */
	enum wtl_profile_sort sort; /* of the table */
	unsigned rows;		    /* at the most */
	bool memory;
	bool has_waits;
	const char *kineto; /* a trace of the program's kernels; NULL: none */
	unsigned format;    /* of wtl_profile_format_at() */
	struct wtl_bounds bounds;
	const char *only;	      /* a window's name; NULL: all */
	const char *keep;	      /* a file; NULL: none */
	struct wtl_option_list files; /* behind a verb */
	const char *policy;	      /* of recordings; NULL: as it was */
	struct wtl_when from, to;     /* the same: a part */
};

struct wtl_places;

/* Of the meter's domains, what outlives it. */
struct wtl_profile_domain {
	char name[WTL_PROFILE_NAME_SIZE], source[WTL_PROFILE_NAME_SIZE];
	enum wattle_kind kind;
	enum wattle_method method;
	bool learns;	   /* of the split */
	bool has_profiler; /* what wattle itself used is known: so much above idle */
	uint64_t profiler_uj;
};

/* What a program, or somebody beside it, called a time (wattle mark). */
struct wtl_profile_window {
	char name[WTL_PROFILE_NAME_SIZE];
	int64_t begin_ns, end_ns; /* monotonic; end_ns 0: it is open */
};

/* What a profile came to: of a command that has just run, or as a file has it. */
struct wtl_profile {
	char **command; /* NULL: a process that ran already, */
	int pid;	/* with that number */
	char *host;
	const struct wtl_calls *calls;
	const struct wtl_trace *trace;
	const struct wtl_split_result *split;
	const struct wtl_split *ticks;
	struct wtl_profile_domain *domains;
	struct wtl_profile_window *windows;
	size_t n_windows;
	const char *only;		 /* the window that this is cut to; NULL: it is all */
	int64_t only_until_ns;		 /* where the last one of that name ends */
	const struct wtl_places *places; /* NULL: no format has asked for them yet */
	const struct wattle_window *window;
	struct wtl_ledger *ledgers;	 /* one a domain */
	bool *counts;			 /* a domain is in the total */
	uint64_t dynamic_uj, idle_uj;	 /* the program's, in the total */
	uint64_t uncertainty_uj;	 /* of the program's dynamic energy; k = 2 */
	bool has_idle;			 /* idle power is known, and taken out */
	struct wtl_report_place place;	 /* what its electricity emits */
	const struct wtl_memory *memory; /* NULL: nobody asked */
	const struct wtl_kineto *kineto; /* NULL: no trace was given */
	struct wattle_meter *meter;	 /* NULL: it was in a file */
	size_t n_unseen; /* its processes that nobody looked at: they may not be, or ended first */
	unsigned hz, stack_bytes;
	int64_t interval_ns;
	int64_t own_cpu_ns; /* of the profiler */
};

/* Where a domain's energy went (domain < 0: the total's); these add up to total_uj. */
struct wtl_profile_sums {
	uint64_t stacks_uj, unsampled_uj, unknown_uj, outside_uj, profiler_uj, others_uj, kernel_uj,
		idle_uj, unattributed_uj, total_uj;
	bool has_profiler; /* or it is among the others */
};

/* From its start to its end, with the time between the windows that it is cut to. */
int64_t wtl_profile_span_ns(const struct wtl_profile *profile);
void wtl_profile_sums(const struct wtl_profile *profile, int domain,
		      struct wtl_profile_sums *ret_sums);
/* For people. */
const char *wtl_profile_others(const struct wtl_profile_sums *sums);
/* By how many samples were seen of it, by its doubts as watts are learned, and by what is not known of the whole;
 * k = 2. */
double wtl_profile_uncertainty_uj(const struct wtl_profile *profile, double energy_uj, uint64_t n,
				  uint64_t doubt_uj);
/* Whether it is more than what so few samples, and watts that are learned, may be wrong by. */
bool wtl_profile_is_resolved(const struct wtl_profile *profile, double energy_uj, uint64_t n,
			     uint64_t doubt_uj);
/* How GPUs' energy got to stacks. */
enum wtl_profile_gpu_by { WTL_GPU_BY_NOTHING, WTL_GPU_BY_LAUNCHES, WTL_GPU_BY_CPU_TIME };
enum wtl_profile_gpu_by wtl_profile_gpu_by(const struct wtl_profile *profile);
uint64_t wtl_profile_co2e_ug(const struct wtl_profile *profile, uint64_t energy_uj);

/* Is any energy of the total known? Else a profile is one of CPU time. */
bool wtl_profile_has_energy(const struct wtl_profile *profile);
/* Rows are in its order, and files with one cost have it; else CPU time. Energy may be known to be 0. */
bool wtl_profile_is_by_energy(const struct wtl_profile *profile);
/* "above idle (modelled)": what its energy is. */
const char *wtl_profile_kind(const struct wtl_profile *profile);
/* "12.4 ± 3.1 J above idle", or that no energy is known. */
void wtl_profile_put_sum(struct wtl_buf *buf, const struct wtl_profile *profile,
			 const struct wtl_output_style *style);

/* For people: a tree of calls, or a table of functions. */
/* "± 1.638   ", or "+/- 1.638 ": as wide. */
void wtl_profile_put_doubt(struct wtl_buf *buf, double energy_j,
			   const struct wtl_output_style *style);
void wtl_profile_text(struct wtl_buf *buf, const struct wtl_profile *profile,
		      const struct wtl_profile_settings *settings,
		      const struct wtl_output_style *style);
/* What is known of its memory: for people, and for JSON. Nothing where nobody asked. */
void wtl_profile_memory_text(struct wtl_buf *buf, const struct wtl_profile *profile,
			     const struct wtl_output_style *style);
void wtl_profile_memory_doc(struct wtl_node *to, const struct wtl_profile *profile);
/* Energy of a call in the total: above idle, where that is known. */
uint64_t wtl_profile_energy_uj(const struct wtl_profile *profile,
			       const struct wtl_calls_cost *cost);
/* Of those domains, n_domains of them: the sum in the total. */
uint64_t wtl_profile_total_uj(const struct wtl_profile *profile, const uint64_t *each_uj);

#endif
