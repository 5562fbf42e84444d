/* SPDX-License-Identifier: MIT */
#ifndef WTL_TEXT_SHARES_H
#define WTL_TEXT_SHARES_H

#include "text/report_text.h"

/* A consumer, or a group of them. */
struct wtl_shares_row {
	struct wtl_share_energy all, gpu; /* gpu: of all, that of GPUs */
	int64_t cpu_ns;			  /* < 0: not known */
	uint64_t n_processes;
	struct wtl_per_cpu per_cpu;
};

/*
 * A table of who used a report's energy. Below a heading, each row begins with cells of its own (columns) and ends
 * with its CPU time and its energies, of which full adds up to the total.
 */
struct wtl_shares {
	const void *of; /* for the functions */
	size_t n;
	struct wtl_shares_row (*row)(const void *of, size_t i); /* largest first */
	struct wtl_shares_row others; /* those that are not among these rows, together */
	bool has_others, others_lack_gpu;
	uint64_t total_uj, processes_uj; /* of the report; of all rows and the others */
	bool has_sums;			 /* rows for no process and the total */

	const char *columns; /* as in wtl_grid_init(), those of its own */
	void (*head)(struct wtl_grid *grid, const void *of);
	void (*cells)(struct wtl_grid *grid, const void *of, size_t i);
	/* Cells of the others' row (n: how many they are) and of the rows of sums (NULL). */
	void (*named)(struct wtl_grid *grid, const void *of, const char *name, const uint64_t *n);
};

/* After an empty line. */
void wtl_report_text_shares(const struct wtl_report_text *text, const struct wtl_shares *shares);

#endif
