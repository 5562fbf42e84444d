/* SPDX-License-Identifier: MIT */
#ifndef WTL_SIM_MODEL_H
#define WTL_SIM_MODEL_H

#include "scenario.h"

/*
 * The true energy: a pure function of the scenario and of the CPU time that was used in each step.
 * Picojoules (mW × ns), all integers: a domain's energy is the sum of its parts to the last one.
 */

enum {
	SIM_DOMAINS_MAX = 2 * SIM_SOCKETS_MAX + 1, /* packages, their DRAM, a GPU */
	SIM_CONSUMERS_MAX = SIM_WORKERS_MAX + 1,   /* the workers, and all others on this machine */
};

struct sim_domain {
	bool exists;
	uint64_t idle_pj;
	uint64_t used_pj[SIM_CONSUMERS_MAX];
};

struct sim_model {
	const struct sim_scenario *scenario;
	int64_t t_ns;
	struct sim_domain domains[SIM_DOMAINS_MAX];
	int64_t cpu_ns[SIM_CONSUMERS_MAX]; /* so far */
};

void sim_model_init(struct sim_model *model, const struct sim_scenario *scenario);

size_t sim_model_package(size_t socket);
size_t sim_model_dram(size_t socket);
size_t sim_model_gpu(void);
size_t sim_model_others(const struct sim_model *model); /* the consumer */

/* "package-1", "dram-0", "gpu-0" */
void sim_model_name(size_t domain, char name[SIM_NAME_SIZE]);

/*
 * On to t_ns, at which consumers have used that much CPU time in all. What is less than before counts
 * as the same. A worker's time is all on its socket; others' is the same on each.
 */
void sim_model_step(struct sim_model *model, int64_t t_ns, const int64_t cpu_ns[SIM_CONSUMERS_MAX]);

uint64_t sim_domain_pj(const struct sim_domain *domain);

/* What the domain's counter shows: in whole units, modulo the range. */
uint64_t sim_model_counter_uj(const struct sim_model *model, size_t domain);

#endif
