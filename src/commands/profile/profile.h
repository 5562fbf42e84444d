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

/* Sort keys of a table: ENERGY, CPU, SAMPLES and WALL are functions' own; CALLS is energy with their calls. */
enum wtl_profile_sort {
	WTL_SORT_ENERGY,
	WTL_SORT_CALLS,
	WTL_SORT_CPU,
	WTL_SORT_SAMPLES,
	WTL_SORT_WALL
};

extern const char *const wtl_profile_sort_names[]; /* ended by NULL */

struct wtl_kineto;

/* The options of `wattle profile`. */
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
	const char *only;	      /* a window's name; NULL: the whole profile */
	const char *keep;	      /* a file; NULL: none */
	struct wtl_option_list files; /* after the verb */
	const char *policy;	      /* for recordings; NULL: as recorded */
	struct wtl_when from, to;     /* for recordings: the part to use */
};

struct wtl_places;

/* What is kept of a meter's domain. */
struct wtl_profile_domain {
	char name[WTL_PROFILE_NAME_SIZE], source[WTL_PROFILE_NAME_SIZE];
	enum wattle_kind kind;
	enum wattle_method method;
	bool learns;	   /* wtl_split's, of this domain */
	bool has_profiler; /* profiler_uj, wattle's own energy above idle, is known */
	uint64_t profiler_uj;
};

/* A named stretch of time, marked by the program or from outside (wattle mark). */
struct wtl_profile_window {
	char name[WTL_PROFILE_NAME_SIZE];
	int64_t begin_ns, end_ns; /* monotonic; end_ns 0: it is open */
};

/* A finished profile: of a command that has just run, or from a file. */
struct wtl_profile {
	char **command; /* NULL: of a running process, */
	int pid;	/* which has this PID */
	char *host;
	const struct wtl_calls *calls;
	const struct wtl_trace *trace;
	const struct wtl_split_result *split;
	const struct wtl_split *ticks;
	struct wtl_profile_domain *domains;
	struct wtl_profile_window *windows;
	size_t n_windows;
	const char *only;		 /* the window that it is cut to; NULL: not cut */
	int64_t only_until_ns;		 /* where the last one of that name ends */
	const struct wtl_places *places; /* NULL: not needed yet */
	const struct wattle_window *window;
	struct wtl_ledger *ledgers;   /* one per domain */
	bool *counts;		      /* a domain is in the total */
	uint64_t dynamic_uj, idle_uj; /* the program's, in the total */
	uint64_t uncertainty_uj;      /* of the program's dynamic energy; k = 2 */
	bool has_idle;		      /* idle power is known, and taken out */
	char *policy; /* by which a recording was computed again; NULL: as recorded */
	struct wtl_report_place place;	 /* for the emissions of its electricity */
	const struct wtl_memory *memory; /* NULL: not recorded */
	const struct wtl_kineto *kineto; /* NULL: no trace was given */
	struct wattle_meter *meter;	 /* NULL: read from a file */
	size_t n_unseen;		 /* processes not looked at: denied, or ended first */
	unsigned hz, stack_bytes;
	int64_t interval_ns;
	int64_t own_cpu_ns; /* of the profiler itself */
};

/* Where a domain's energy went (domain < 0: that of all in the total). All add up to total_uj. */
struct wtl_profile_sums {
	uint64_t stacks_uj, unsampled_uj, unknown_uj, outside_uj, profiler_uj, others_uj, kernel_uj,
		idle_uj, unattributed_uj, total_uj;
	bool has_profiler; /* false: it is among the others */
};

/* From start to end, including the time between the windows that it is cut to. */
int64_t wtl_profile_span_ns(const struct wtl_profile *profile);
void wtl_profile_sums(const struct wtl_profile *profile, int domain,
		      struct wtl_profile_sums *ret_sums);
/* For people. */
const char *wtl_profile_others(const struct wtl_profile_sums *sums);
/* The uncertainty (k = 2) of energy with n samples: by n, by learned watts (doubt_uj), and by that of the whole. */
double wtl_profile_uncertainty_uj(const struct wtl_profile *profile, double energy_uj, uint64_t n,
				  uint64_t doubt_uj);
/* Whether the energy is more than its uncertainty by few samples and learned watts. */
bool wtl_profile_is_resolved(const struct wtl_profile *profile, double energy_uj, uint64_t n,
			     uint64_t doubt_uj);
/* How GPU energy was divided among stacks. */
enum wtl_profile_gpu_by { WTL_GPU_BY_NOTHING, WTL_GPU_BY_LAUNCHES, WTL_GPU_BY_CPU_TIME };
enum wtl_profile_gpu_by wtl_profile_gpu_by(const struct wtl_profile *profile);
uint64_t wtl_profile_co2e_ug(const struct wtl_profile *profile, uint64_t energy_uj);

/* Whether any energy of the total is known. If not, the profile is one of CPU time. */
bool wtl_profile_has_energy(const struct wtl_profile *profile);
/* Whether rows are sorted by energy, and files with one cost have it; else CPU time. (Energy may be known to be 0.) */
bool wtl_profile_is_by_energy(const struct wtl_profile *profile);
/* Whether idle power is known and taken out, not taken as none by a policy. */
bool wtl_profile_is_above_idle(const struct wtl_profile *profile);
/* What kind of energy it is: "above idle (modelled)". */
const char *wtl_profile_kind(const struct wtl_profile *profile);
/* "12.4 ± 3.1 J above idle", or that no energy is known. */
void wtl_profile_put_sum(struct wtl_buf *buf, const struct wtl_profile *profile,
			 const struct wtl_output_style *style);

/* For people: a tree of calls, or a table of functions. */
/* "± 1.638   ", or "+/- 1.638 ", of the same width. */
void wtl_profile_put_doubt(struct wtl_buf *buf, double energy_j,
			   const struct wtl_output_style *style);
void wtl_profile_text(struct wtl_buf *buf, const struct wtl_profile *profile,
		      const struct wtl_profile_settings *settings,
		      const struct wtl_output_style *style);
/* The lines above it. */
void wtl_profile_head(struct wtl_buf *buf, const struct wtl_profile *profile,
		      const struct wtl_output_style *style);
/* Memory as text, and as JSON. Nothing if it was not recorded. */
void wtl_profile_memory_text(struct wtl_buf *buf, const struct wtl_profile *profile,
			     const struct wtl_output_style *style);
void wtl_profile_memory_doc(struct wtl_node *to, const struct wtl_profile *profile);
/* A call's energy in the total: above idle, where that is known. */
uint64_t wtl_profile_energy_uj(const struct wtl_profile *profile,
			       const struct wtl_calls_cost *cost);
/* The sum of each_uj[] (n_domains) over the domains in the total. */
uint64_t wtl_profile_total_uj(const struct wtl_profile *profile, const uint64_t *each_uj);

#endif
