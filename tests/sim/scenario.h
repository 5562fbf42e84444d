/* SPDX-License-Identifier: MIT */
#ifndef WTL_SIM_SCENARIO_H
#define WTL_SIM_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a simulated machine is and what runs on it: README.md has the text form. Power is mW, time ns
 * since the start. */

enum {
	SIM_SOCKETS_MAX = 8,
	SIM_WORKERS_MAX = 64,
	SIM_GPU_USES_MAX = 16,
	SIM_NAME_SIZE = 16,
	SIM_THREADS_MAX = 64
};

struct sim_worker {
	char name[SIM_NAME_SIZE];
	uint64_t cpu_mw;  /* energy per CPU second, of the package (1 mJ/s) */
	uint64_t dram_mw; /* and of the DRAM */
	uint32_t duty_ppm;
	uint32_t jitter_ppm; /* of its duty, which is another one each second: standard deviation */
	int64_t phase_ns; /* it works and rests in turn, that long in the mean; 0: it always works */
	unsigned socket;
	int64_t start_ns, stop_ns;
	unsigned threads;
	uint32_t ipc_milli; /* instructions per cycle, in thousandths */
	unsigned children;  /* > 0: a storm of that many, one after the other */
	int64_t child_ns;   /* CPU time of each */
};

struct sim_gpu_use {
	size_t worker;
	unsigned sm_percent;
	unsigned memory_mib;
	int64_t start_ns, stop_ns;
};

struct sim_socket {
	uint64_t idle_mw;
	bool has_dram;
	uint64_t dram_idle_mw;
};

struct sim_scenario {
	uint64_t seed;
	int64_t duration_ns, tick_ns;
	uint64_t unit_uj, start_uj, range_uj; /* of the energy counters */
	uint64_t rise_mw;		      /* of a socket while another one works */
	uint64_t others_mw; /* per CPU second of everything else that runs on this machine */
	struct sim_socket sockets[SIM_SOCKETS_MAX];
	size_t n_sockets;
	struct sim_worker workers[SIM_WORKERS_MAX];
	size_t n_workers;
	unsigned pmu_mhz; /* the clock that the processors' counters tell; 0: there are none */
	bool has_gpu;
	uint64_t gpu_idle_mw, gpu_full_mw; /* at 0 and 100 % of the SMs */
	unsigned gpu_memory_mib;
	struct sim_gpu_use gpu_uses[SIM_GPU_USES_MAX];
	size_t n_gpu_uses;
};

/* 0, or the number of the first bad line (from 1; the number of lines for what is missing) with the
 * reason in words. */
int sim_scenario_parse(const char *text, struct sim_scenario *ret_scenario, char reason[128]);

/* Does the worker use the GPU? Then it is there from the start on. */
bool sim_scenario_on_gpu(const struct sim_scenario *scenario, size_t worker);

#endif
