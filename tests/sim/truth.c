/* SPDX-License-Identifier: MIT */
#include "truth.h"

#include <inttypes.h>

/* Joules to the last picojoule: read as decimals they add up exactly. */
static void put_j(FILE *file, const char *key, uint64_t energy_pj)
{
	fprintf(file, "\"%s\":%" PRIu64 ".%012" PRIu64, key, energy_pj / UINT64_C(1000000000000),
		energy_pj % UINT64_C(1000000000000));
}

static void put_s(FILE *file, const char *key, int64_t time_ns)
{
	fprintf(file, "\"%s\":%" PRId64 ".%09" PRId64, key, time_ns / 1000000000,
		time_ns % 1000000000);
}

void sim_trace_head(FILE *file, const struct sim_model *model)
{
	char name[SIM_NAME_SIZE];

	fputs("t_utc_ns", file);
	for (size_t i = 0; i < SIM_DOMAINS_MAX; i++)
		if (model->domains[i].exists) {
			sim_model_name(i, name);
			fprintf(file, ",%s_uj", name);
		}
	fputs("\n", file);
}

void sim_trace_row(FILE *file, const struct sim_model *model, int64_t t_utc_ns)
{
	fprintf(file, "%" PRId64, t_utc_ns);
	for (size_t i = 0; i < SIM_DOMAINS_MAX; i++)
		if (model->domains[i].exists)
			fprintf(file, ",%" PRIu64, sim_domain_pj(&model->domains[i]) / 1000000);
	fputs("\n", file);
}

static uint64_t consumer_pj(const struct sim_model *model, size_t consumer)
{
	uint64_t sum_pj = 0;

	for (size_t i = 0; i < SIM_DOMAINS_MAX; i++)
		sum_pj += model->domains[i].used_pj[consumer];
	return sum_pj;
}

static void put_domain(FILE *file, const struct sim_model *model, size_t i)
{
	const struct sim_domain *domain = &model->domains[i];
	uint64_t workers_pj = 0;
	char name[SIM_NAME_SIZE];

	for (size_t k = 0; k < model->scenario->n_workers; k++)
		workers_pj += domain->used_pj[k];
	sim_model_name(i, name);
	fprintf(file, "{\"name\":\"%s\",", name);
	put_j(file, "energy_j", sim_domain_pj(domain));
	fputs(",", file);
	put_j(file, "idle_j", domain->idle_pj);
	fputs(",", file);
	put_j(file, "workers_j", workers_pj);
	fputs(",", file);
	put_j(file, "others_j", domain->used_pj[sim_model_others(model)]);
	fputs("}", file);
}

static void put_consumer(FILE *file, const struct sim_model *model, size_t consumer)
{
	char name[SIM_NAME_SIZE];
	const char *comma = "";

	put_s(file, "cpu_s", model->cpu_ns[consumer]);
	fputs(",", file);
	put_j(file, "dynamic_j", consumer_pj(model, consumer));
	fputs(",", file);
	put_j(file, "gpu_j", model->domains[sim_model_gpu()].used_pj[consumer]);
	fputs(",\"domains\":{", file);
	for (size_t i = 0; i < SIM_DOMAINS_MAX; i++)
		if (model->domains[i].exists) {
			sim_model_name(i, name);
			fputs(comma, file);
			put_j(file, name, model->domains[i].used_pj[consumer]);
			comma = ",";
		}
	fputs("}", file);
}

static void put_worker(FILE *file, const struct sim_model *model, const struct sim_board *board,
		       size_t i)
{
	const struct sim_worker *worker = &model->scenario->workers[i];
	const struct sim_slot *slot = &board->slots[i];
	unsigned n_children = atomic_load(&slot->n_children);

	fprintf(file, "{\"name\":\"%s\",\"kind\":\"%s\",\"watts\":%" PRIu64 ".%03" PRIu64 ",",
		worker->name, worker->children ? "storm" : "worker", worker->cpu_mw / 1000,
		worker->cpu_mw % 1000);
	fprintf(file, "\"pid\":%d,\"pids\":[%d", atomic_load(&slot->pid), atomic_load(&slot->pid));
	for (unsigned k = 0; k < n_children && k < SIM_PIDS_MAX; k++)
		fprintf(file, ",%d", atomic_load(&slot->children[k]));
	fputs("],", file);
	put_consumer(file, model, i);
	fputs("}", file);
}

void sim_truth_write(FILE *file, const struct sim_model *model, const struct sim_board *board,
		     const struct sim_run *run)
{
	const struct sim_scenario *scenario = model->scenario;
	const char *comma = "";

	fprintf(file,
		"{\"schema\":\"wattle.sim-truth/1\",\"seed\":%" PRIu64 ",\"start_utc_ns\":%" PRId64
		",",
		scenario->seed, run->start_utc_ns);
	put_s(file, "duration_s", model->t_ns);
	fprintf(file, ",\"by_tool\":%s,\"tool_status\":%d,\n\"domains\":[",
		run->by_tool ? "true" : "false", run->tool_status);
	for (size_t i = 0; i < SIM_DOMAINS_MAX; i++)
		if (model->domains[i].exists) {
			fputs(comma, file);
			put_domain(file, model, i);
			comma = ",\n";
		}
	fputs("],\n\"workers\":[", file);
	comma = "";
	for (size_t i = 0; i < scenario->n_workers; i++) {
		fputs(comma, file);
		put_worker(file, model, board, i);
		comma = ",\n";
	}
	fprintf(file, "],\n\"others\":{\"source\":\"%s\",", run->others_source);
	put_consumer(file, model, sim_model_others(model));
	fputs("}}\n", file);
}
