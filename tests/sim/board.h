/* SPDX-License-Identifier: MIT */
#ifndef WTL_SIM_BOARD_H
#define WTL_SIM_BOARD_H

#include <stdatomic.h>

#include "scenario.h"

/*
 * Memory shared between the simulation, the launcher of the workers and the storms: who lives, and
 * the CPU time of who has ended. A file, so that the launcher can be started by any process.
 */

enum { SIM_PIDS_MAX = 20000 };

/* One writer at a time: `version` is odd while it writes. */
struct sim_slot {
	atomic_uint version;
	atomic_int pid;	    /* 0: not started yet */
	atomic_int live[2]; /* the worker, and the child that its storm has now; 0: none */
	atomic_int_least64_t ended_ns; /* CPU time of those that ended */
	atomic_uint n_children;
	atomic_int children[SIM_PIDS_MAX];
};

struct sim_board {
	atomic_int_least64_t t0_mono_ns; /* the scenario's 0; 0: not yet */
	atomic_int done;		 /* all have ended */
	atomic_uint pmu_mhz;
	atomic_uint ipc_milli[SIM_WORKERS_MAX]; /* instructions a cycle, in thousandths */
	struct sim_slot slots[SIM_WORKERS_MAX];
};

/* Maps DIR/board, which is made where `create`. NULL, with errno. */
struct sim_board *sim_board_open(const char *dir, bool create);
void sim_board_close(struct sim_board *board);

/* The slot's CPU time so far. */
int64_t sim_slot_cpu_ns(struct sim_slot *slot);

/* live[place] was started. */
void sim_slot_started(struct sim_slot *slot, int place, int pid);

/* Waits until live[place] has ended, takes its CPU time and only then lets the system forget it. */
void sim_slot_wait(struct sim_slot *slot, int place);

/* The CPU time of a process, its ended threads included; -1 where there is none. */
int64_t sim_process_cpu_ns(int pid);

int64_t sim_mono_ns(void);
void sim_sleep_until(int64_t t_mono_ns);

#endif
