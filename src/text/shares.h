/* SPDX-License-Identifier: MIT */
#ifndef WTL_TEXT_SHARES_H
#define WTL_TEXT_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/layout.h"
#include "document/report.h"

/*
 * A table of who used the energy, for people: processes, or groups of them. Below a heading, each row
 * begins with cells of its own and ends with its CPU time and its energies, of which full adds up.
 */
struct wtl_shares {
	const struct wtl_output_style *style;
	struct wtl_grid grid;
	unsigned scale, last_digit; /* of the energies */
	uint64_t longest_us;	    /* CPU time */
	bool has_dynamic, has_gpu;  /* there are such columns */
};

/* A table of total_uj in all, still without rows and columns. */
void wtl_shares_init(struct wtl_shares *table, uint64_t total_uj,
		     const struct wtl_output_style *style);

/* Plans a row, largest first. False: it would be 0 in the table's unit, and is told with the others, as
 * all that follow. */
bool wtl_shares_plan(struct wtl_shares *table, const struct wtl_share_energy *all,
		     const struct wtl_share_energy *gpu, int64_t cpu_ns);

/* ---- What a row ends with, after three or two cells of its own ---- */

void wtl_shares_head(struct wtl_shares *table);

/* rounded_uj: the full figure, as wtl_shares_round() has it. gpu: NULL: not known. */
void wtl_shares_row(struct wtl_shares *table, int64_t cpu_ns, const struct wtl_share_energy *all,
		    const struct wtl_share_energy *gpu, uint64_t rounded_uj);

/* The full figure alone: the cell before CPU time and those of the rest are empty. */
void wtl_shares_sum(struct wtl_shares *table, uint64_t rounded_uj);

/* n full figures that add up to total_uj, rounded so that they also do as printed. Returns what
 * total_uj is then. */
uint64_t wtl_shares_round(const struct wtl_shares *table, const uint64_t exact_uj[], size_t n,
			  uint64_t total_uj, uint64_t ret_rounded_uj[]);

/* Appends the table after an empty line, and frees it. */
int wtl_shares_render(struct wtl_shares *table, struct wtl_buf *buf);

#endif
