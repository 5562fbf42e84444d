/* SPDX-License-Identifier: MIT */
#ifndef WTL_SIM_TRUTH_H
#define WTL_SIM_TRUTH_H

#include <stdio.h>

#include "board.h"
#include "model.h"

/* DIR/truth.json at the end, DIR/trace.csv all along. README.md has their form. */

/* The trace's head, and a row of it. */
void sim_trace_head(FILE *file, const struct sim_model *model);
void sim_trace_row(FILE *file, const struct sim_model *model, int64_t t_utc_ns);

struct sim_run {
	int64_t start_utc_ns;
	const char *others_source; /* how the CPU time of all others was found, or "none" */
	bool by_tool;		   /* the workers are the tool's descendants */
	int tool_status;	   /* -1: there was no tool */
};

void sim_truth_write(FILE *file, const struct sim_model *model, const struct sim_board *board,
		     const struct sim_run *run);

#endif
