/* SPDX-License-Identifier: MIT */
#include "model.h"

#include <stdio.h>
#include <string.h>

#define PJ_PER_UJ UINT64_C(1000000)

size_t sim_model_package(size_t socket)
{
	return socket;
}

size_t sim_model_dram(size_t socket)
{
	return SIM_SOCKETS_MAX + socket;
}

size_t sim_model_gpu(void)
{
	return 2 * SIM_SOCKETS_MAX;
}

size_t sim_model_others(const struct sim_model *model)
{
	return model->scenario->n_workers;
}

void sim_model_name(size_t domain, char name[SIM_NAME_SIZE])
{
	if (domain == sim_model_gpu())
		snprintf(name, SIM_NAME_SIZE, "gpu-0");
	else if (domain >= SIM_SOCKETS_MAX)
		snprintf(name, SIM_NAME_SIZE, "dram-%u",
			 (unsigned)(domain - SIM_SOCKETS_MAX) % 100);
	else
		snprintf(name, SIM_NAME_SIZE, "package-%u", (unsigned)domain % 100);
}

void sim_model_init(struct sim_model *model, const struct sim_scenario *scenario)
{
	memset(model, 0, sizeof(*model));
	model->scenario = scenario;
	for (size_t i = 0; i < scenario->n_sockets; i++) {
		model->domains[sim_model_package(i)].exists = true;
		model->domains[sim_model_dram(i)].exists = scenario->sockets[i].has_dram;
	}
	model->domains[sim_model_gpu()].exists = scenario->has_gpu;
}

/* Divides an amount by weights, exactly: by differences of the rounded cumulative share. */
static void divide(uint64_t amount_pj, const int64_t weights[], size_t n, uint64_t to_pj[])
{
	unsigned __int128 sum = 0, cumulative = 0;
	uint64_t done_pj = 0;

	for (size_t i = 0; i < n; i++)
		sum += (uint64_t)weights[i];
	for (size_t i = 0; i < n && sum > 0; i++) {
		uint64_t end_pj;

		cumulative += (uint64_t)weights[i];
		end_pj = (uint64_t)(amount_pj * cumulative / sum);
		to_pj[i] += end_pj - done_pj;
		done_pj = end_pj;
	}
}

/* A socket's use: the cores' and DRAM's energy there, and what every other socket rises by, up to the
 * rise's power when one CPU was busy all the time. */
static void step_socket(struct sim_model *model, size_t socket, int64_t dt_ns,
			const int64_t use_ns[])
{
	const struct sim_scenario *scenario = model->scenario;
	size_t n = scenario->n_workers + 1;
	struct sim_domain *package = &model->domains[sim_model_package(socket)];
	struct sim_domain *dram = &model->domains[sim_model_dram(socket)];
	int64_t busy_ns = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t cpu_mw =
			i < scenario->n_workers ? scenario->workers[i].cpu_mw : scenario->others_mw;

		package->used_pj[i] += cpu_mw * (uint64_t)use_ns[i];
		if (dram->exists && i < scenario->n_workers)
			dram->used_pj[i] += scenario->workers[i].dram_mw * (uint64_t)use_ns[i];
		busy_ns += use_ns[i];
	}
	if (busy_ns > dt_ns)
		busy_ns = dt_ns;
	for (size_t other = 0; other < scenario->n_sockets; other++)
		if (other != socket)
			divide(scenario->rise_mw * (uint64_t)busy_ns, use_ns, n,
			       model->domains[sim_model_package(other)].used_pj);
}

static void step_gpu(struct sim_model *model, int64_t from_ns, int64_t to_ns)
{
	const struct sim_scenario *scenario = model->scenario;
	struct sim_domain *gpu = &model->domains[sim_model_gpu()];

	if (!gpu->exists)
		return;
	gpu->idle_pj += scenario->gpu_idle_mw * (uint64_t)(to_ns - from_ns);
	for (size_t i = 0; i < scenario->n_gpu_uses; i++) {
		const struct sim_gpu_use *use = &scenario->gpu_uses[i];
		int64_t start_ns = use->start_ns > from_ns ? use->start_ns : from_ns;
		int64_t stop_ns = use->stop_ns < to_ns ? use->stop_ns : to_ns;
		uint64_t power_mw =
			(scenario->gpu_full_mw - scenario->gpu_idle_mw) * use->sm_percent / 100;

		if (stop_ns > start_ns)
			gpu->used_pj[use->worker] += power_mw * (uint64_t)(stop_ns - start_ns);
	}
}

void sim_model_step(struct sim_model *model, int64_t t_ns, const int64_t cpu_ns[SIM_CONSUMERS_MAX])
{
	const struct sim_scenario *scenario = model->scenario;
	size_t others = sim_model_others(model);
	int64_t dt_ns = t_ns - model->t_ns;
	int64_t delta_ns[SIM_CONSUMERS_MAX] = {0};

	for (size_t i = 0; i <= others; i++)
		if (cpu_ns[i] > model->cpu_ns[i]) {
			delta_ns[i] = cpu_ns[i] - model->cpu_ns[i];
			model->cpu_ns[i] = cpu_ns[i];
		}
	for (size_t socket = 0; socket < scenario->n_sockets; socket++) {
		int64_t use_ns[SIM_CONSUMERS_MAX] = {0};

		for (size_t i = 0; i < others; i++)
			if (scenario->workers[i].socket == socket)
				use_ns[i] = delta_ns[i];
		if (scenario->others_mw > 0)
			use_ns[others] = delta_ns[others] / (int64_t)scenario->n_sockets;
		step_socket(model, socket, dt_ns, use_ns);
		model->domains[sim_model_package(socket)].idle_pj +=
			scenario->sockets[socket].idle_mw * (uint64_t)dt_ns;
		model->domains[sim_model_dram(socket)].idle_pj +=
			scenario->sockets[socket].dram_idle_mw * (uint64_t)dt_ns;
	}
	step_gpu(model, model->t_ns, t_ns);
	model->t_ns = t_ns;
}

uint64_t sim_domain_pj(const struct sim_domain *domain)
{
	uint64_t sum_pj = domain->idle_pj;

	for (size_t i = 0; i < SIM_CONSUMERS_MAX; i++)
		sum_pj += domain->used_pj[i];
	return sum_pj;
}

uint64_t sim_model_counter_uj(const struct sim_model *model, size_t domain)
{
	const struct sim_scenario *scenario = model->scenario;
	uint64_t energy_uj = sim_domain_pj(&model->domains[domain]) / PJ_PER_UJ;

	energy_uj -= energy_uj % scenario->unit_uj;
	return (scenario->start_uj + energy_uj) % scenario->range_uj;
}
