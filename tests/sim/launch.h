/* SPDX-License-Identifier: MIT */
#ifndef WTL_SIM_LAUNCH_H
#define WTL_SIM_LAUNCH_H

#include "board.h"
#include "scenario.h"

/* The processes that really run. Each is this program again, so that its name and arguments say what
 * it is. All three return an exit status. */

/* "sim launch DIR": starts the workers at their time and waits for all of them. */
int sim_launch(const char *dir);

/* "sim worker NAME DUTY_PPM SEED START STOP THREADS": each thread is busy for a part of the time, START and
 * STOP being CLOCK_MONOTONIC. */
int sim_work(char *const args[]);

/* "sim storm NAME DIR SLOT CHILDREN CHILD_NS START": one short-lived child after the other. */
int sim_storm(char *const args[]);

/* DIR/scenario. 0, or -1 after a complaint. */
int sim_scenario_load(const char *path, struct sim_scenario *ret_scenario);

#endif
