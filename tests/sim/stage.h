/* SPDX-License-Identifier: MIT */
#ifndef WTL_SIM_STAGE_H
#define WTL_SIM_STAGE_H

#include "board.h"
#include "model.h"

/* What tools see of the simulated machine: files below a directory, and how to put them in the place
 * of the real ones. Functions return 0, or -1 after a complaint on standard error. */

struct sim_stage {
	char dir[3500];
	const struct sim_scenario *scenario;
	int counters[SIM_DOMAINS_MAX]; /* -1: none */
	int widths[SIM_DOMAINS_MAX];   /* digits of the longest number so far */
	int gpu_clock;
};

/* Makes DIR/sys (powercap zones, CPU topology) and opens the counters. */
int sim_stage_init(struct sim_stage *stage, const char *dir, const struct sim_scenario *scenario);
void sim_stage_done(struct sim_stage *stage);

/* DIR/gpu.nvml, once those that use the GPU have started, and DIR/gpu.clock. */
int sim_stage_gpu(struct sim_stage *stage, const struct sim_board *board);

/* Shows the model's energy and time. */
void sim_stage_show(struct sim_stage *stage, const struct sim_model *model);

/* This process and its children from now on see the simulated /sys, and what stands for the GPU's library
 * and the processors' counters; program_dir is where this program is. */
int sim_stage_enter(const struct sim_stage *stage, const char *program_dir);

#endif
