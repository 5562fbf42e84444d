/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_PROFILE_H
#define WTL_COMMANDS_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/billing.h"
#include "cli/loop.h"
#include "document/writer.h"
#include "profile/memory.h"
#include "profile/names.h"
#include "report/description.h"

struct wtl_kineto;

/* What the options of `wattle profile` say. */
struct wtl_profile_settings {
	int pid;	     /* 0: a command */
	int64_t duration_ns; /* 0: until it ends */
	unsigned hz;
	unsigned stack_bytes;
	double least_percent; /* rows with less are folded */
	bool is_table;
	bool memory;
	const char *kineto; /* a trace of the program's kernels; NULL: none */
	unsigned format;    /* of wtl_profile_format_at() */
};

/* What a profile came to. */
struct wtl_profile {
	char *const *command; /* NULL: a process that ran already, */
	int pid;	      /* with that number */
	const struct wtl_calls *calls;
	const struct wtl_trace *trace;
	const struct wtl_split_result *split;
	const struct wtl_split *ticks;
	struct wattle_meter *meter;
	const struct wattle_window *window;
	const struct wattle_energy *energies;
	const struct wtl_ledger *ledgers; /* one a domain */
	const bool *counts;		  /* a domain is in the total */
	uint64_t dynamic_uj, idle_uj;	  /* the program's, in the total */
	uint64_t uncertainty_uj;	  /* of the program's dynamic energy; k = 2 */
	bool has_idle;			  /* idle power is known, and taken out */
	struct wtl_report_place place;	  /* what its electricity emits */
	const struct wtl_memory *memory;  /* NULL: nobody asked */
	const struct wtl_kineto *kineto;  /* the same */
	unsigned hz;
	int64_t own_cpu_ns; /* of the profiler */
};

/* Where a domain's energy went (domain < 0: the total's); these add up to total_uj. */
struct wtl_profile_sums {
	uint64_t stacks_uj, unsampled_uj, unknown_uj, others_uj, kernel_uj, idle_uj,
		unattributed_uj, total_uj;
};

void wtl_profile_sums(const struct wtl_profile *profile, int domain,
		      struct wtl_profile_sums *ret_sums);
/* By how many samples were seen of it, and by what is not known of the whole; k = 2. */
double wtl_profile_uncertainty_uj(const struct wtl_profile *profile, double energy_uj, uint64_t n);
uint64_t wtl_profile_co2e_ug(const struct wtl_profile *profile, uint64_t energy_uj);

/* For people: a tree of calls, or a table of functions. */
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

#endif
