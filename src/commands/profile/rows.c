/* SPDX-License-Identifier: MIT */
/* Writes JSON with functions, calls, and sums that are no function's; and CSV with functions. */
#include <string.h>

#include "base/buf.h"
#include "commands/profile/format.h"
#include "commands/profile/kineto.h"
#include "document/doc.h"
#include "document/parts.h"
#include "document/writer.h"

static const struct wtl_doc_table table = {
	"functions",
	"0:function,file,line,samples,own_cpu_s,own_energy_j,own_uncertainty_j,own_co2e_g,cpu_s,energy_j,"
	"uncertainty_j,co2e_g,own_wait_s,wait_s"};

static void put_costs(struct wtl_node *to, const struct wtl_stacks *stacks, const uint64_t *own,
		      const uint64_t *all, const uint64_t doubts[2])
{
	static const struct {
		const char *energy, *uncertainty, *cpu, *co2e, *wait;
	} keys[] = {{"own_energy_j", "own_uncertainty_j", "own_cpu_s", "own_co2e_g", "own_wait_s"},
		    {"energy_j", "uncertainty_j", "cpu_s", "co2e_g", "wait_s"}};
	const uint64_t *const costs[] = {own, all};

	wtl_doc_count(to, "samples", all[WTL_METRIC_SAMPLES]);
	for (size_t i = 0; i < 2; i++) {
		uint64_t uj = costs[i][WTL_METRIC_ENERGY];

		wtl_doc_seconds(to, keys[i].cpu, (int64_t)costs[i][WTL_METRIC_CPU]);
		if (stacks->wait)
			wtl_doc_seconds(to, keys[i].wait, (int64_t)costs[i][stacks->wait]);
		if (!wtl_profile_has_energy(stacks->profile))
			continue;
		wtl_doc_micro(to, keys[i].energy, uj);
		wtl_doc_micro(to, keys[i].uncertainty,
			      (uint64_t)wtl_profile_uncertainty_uj(stacks->profile, (double)uj,
								   costs[i][WTL_METRIC_SAMPLES],
								   doubts[i]));
		wtl_doc_micro(to, keys[i].co2e, costs[i][WTL_METRIC_CO2E]);
	}
}

static void put_domains(struct wtl_node *to, const struct wtl_stacks *stacks, const uint64_t *own,
			const uint64_t *all)
{
	struct wtl_node *domains = wtl_doc_list(to, "domains");

	for (size_t i = WTL_METRIC_DOMAINS; i < stacks->end_domains; i++) {
		struct wtl_node *domain = wtl_doc_object(domains, NULL);

		wtl_doc_text(domain, "name",
			     stacks->profile->domains[stacks->metrics[i].domain].name);
		wtl_doc_micro(domain, "own_energy_j", own[i]);
		wtl_doc_micro(domain, "energy_j", all[i]);
	}
}

/* What the emissions are computed with: PUE is in them. */
static void put_carbon(struct wtl_node *to, const struct wtl_report_place *place)
{
	wtl_doc_fixed(to, "intensity_g_per_kwh", place->carbon.intensity_mg_per_kwh, 3);
	wtl_doc_place(to, &place->carbon, place->is_default, place->pue_milli);
}

static void put_functions(struct wtl_doc *doc, const struct wtl_stacks *stacks)
{
	struct wtl_node *list = wtl_doc_list(doc->root, "functions");

	for (size_t i = 0; i < stacks->tree.n_names; i++) {
		const uint64_t *own = &stacks->functions_own[i * stacks->n_metrics];
		const uint64_t *all = &stacks->functions_all[i * stacks->n_metrics];
		struct wtl_node *row = wtl_doc_object(list, NULL);
		const struct wtl_node *const scopes[] = {row};

		wtl_doc_text(row, "function", stacks->functions[i].name);
		wtl_doc_known(row, "file", stacks->functions[i].file);
		if (stacks->functions[i].line)
			wtl_doc_count(row, "line", stacks->functions[i].line);
		put_costs(row, stacks, own, all, &stacks->functions_doubts[2 * i]);
		put_domains(row, stacks, own, all);
		wtl_doc_add_row(doc, scopes, 1);
	}
}

/* "parent" is an index into this list; outermost calls have none. */
static void put_calls(struct wtl_doc *doc, const struct wtl_stacks *stacks)
{
	struct wtl_node *list = wtl_doc_list(doc->root, "calls");

	for (size_t i = 1; i < stacks->tree.n_nodes; i++) {
		struct wtl_node *call = wtl_doc_object(list, NULL);

		wtl_doc_text(call, "function",
			     stacks->functions[wtl_stacks_function(stacks, i)].name);
		if (stacks->tree.nodes[i].parent)
			wtl_doc_count(call, "parent", stacks->tree.nodes[i].parent - 1);
		put_costs(call, stacks, &stacks->own[i * stacks->n_metrics],
			  &stacks->all[i * stacks->n_metrics], &stacks->doubts[2 * i]);
	}
}

/* Sums of each domain and of the total: they add up to what was measured. */
static void put_sums(struct wtl_doc *doc, const struct wtl_profile *profile)
{
	struct wtl_node *list = wtl_doc_list(doc->root, "sums");

	for (size_t i = 0; i <= profile->calls->n_domains; i++) {
		bool is_total = i == profile->calls->n_domains;
		struct wtl_profile_sums sums;
		struct wtl_node *row;

		if (is_total ? !wtl_profile_has_energy(profile)
			     : profile->domains[i].method == WATTLE_METHOD_NONE)
			continue;
		wtl_profile_sums(profile, is_total ? -1 : (int)i, &sums);
		row = wtl_doc_object(list, NULL);
		wtl_doc_text(row, "domain", is_total ? "total" : profile->domains[i].name);
		if (!is_total)
			wtl_doc_text(row, "method", wattle_method_name(profile->domains[i].method));
		wtl_doc_micro(row, "stacks_j", sums.stacks_uj);
		wtl_doc_micro(row, "not_seen_j", sums.unsampled_uj);
		wtl_doc_micro(row, "unknown_time_j", sums.unknown_uj);
		wtl_doc_micro(row, "outside_j", sums.outside_uj);
		if (sums.has_profiler)
			wtl_doc_micro(row, "profiler_j", sums.profiler_uj);
		wtl_doc_micro(row, "others_j", sums.others_uj);
		wtl_doc_micro(row, "kernel_j", sums.kernel_uj);
		wtl_doc_micro(row, "idle_j", sums.idle_uj);
		wtl_doc_micro(row, "unattributed_j", sums.unattributed_uj);
		wtl_doc_micro(row, "total_j", sums.total_uj);
	}
}

static void put_lost_lines(struct wtl_node *whole, const struct wtl_trace *trace)
{
	struct wtl_node *paths = wtl_doc_list(whole, "lines_not_read");

	for (size_t i = 0; i < trace->modules.n; i++)
		if (trace->modules.list[i]->has_lost_lines)
			wtl_doc_text(paths, NULL, trace->modules.list[i]->path);
}

static void build(struct wtl_doc *doc, const struct wtl_stacks *stacks)
{
	static const char *const gpu_by[] = {
		[WTL_GPU_BY_LAUNCHES] = "launches", [WTL_GPU_BY_CPU_TIME] = "cpu_time"};
	const struct wtl_profile *profile = stacks->profile;
	struct wtl_node *command, *whole;

	doc->table = &table;
	wtl_doc_schema(doc->root, "wattle.profile/1");
	if (!profile->command)
		wtl_doc_integer(doc->root, "pid", profile->pid);
	command = profile->command ? wtl_doc_list(doc->root, "command") : NULL;
	for (size_t i = 0; command && profile->command[i]; i++)
		wtl_doc_text(command, NULL, profile->command[i]);
	wtl_doc_known(doc->root, "window", profile->only);
	wtl_doc_utc(doc->root, "start_utc", profile->window->begin_utc_ns);
	wtl_doc_seconds(doc->root, "duration_s", profile->window->duration_ns);
	wtl_doc_count(doc->root, "rate_hz", profile->hz);
	wtl_doc_count(doc->root, "samples", profile->trace->n_samples);
	wtl_doc_count(doc->root, "threads", profile->trace->n_threads);
	/* Losses are known only of the whole profile, not of a window. */
	whole = profile->only ? wtl_doc_object(doc->root, "whole_profile") : doc->root;
	wtl_doc_count(whole, "lost", profile->trace->n_lost);
	wtl_doc_count(whole, "processes_not_seen", profile->n_unseen);
	wtl_doc_count(whole, "not_whole", profile->trace->n_broken);
	wtl_doc_count(whole, "read_later", profile->trace->n_joined);
	wtl_doc_count(whole, "unresolved", profile->trace->n_unresolved);
	put_lost_lines(whole, profile->trace);
	wtl_doc_seconds(whole, "profiler_cpu_s", profile->own_cpu_ns);
	if (wtl_profile_has_energy(profile)) {
		wtl_doc_micro(doc->root, "energy_j", profile->dynamic_uj);
		wtl_doc_micro(doc->root, "uncertainty_j", profile->uncertainty_uj);
		wtl_doc_flag(doc->root, "above_idle", wtl_profile_is_above_idle(profile));
		put_carbon(wtl_doc_object(doc->root, "carbon"), &profile->place);
	}
	wtl_doc_known(doc->root, "policy", profile->policy);
	wtl_doc_known(doc->root, "gpu_energy_by", gpu_by[wtl_profile_gpu_by(profile)]);
	put_functions(doc, stacks);
	put_calls(doc, stacks);
	put_sums(doc, profile);
	wtl_profile_memory_doc(doc->root, profile);
	wtl_kineto_doc(doc->root, profile);
}

static int write_with(struct wtl_buf *buf, const struct wtl_stacks *stacks,
		      const struct wtl_writer *writer)
{
	const struct wtl_output_style style = {.ascii = true};
	struct wtl_doc doc;
	int rc;

	wtl_doc_init(&doc);
	build(&doc, stacks);
	rc = doc.error ? doc.error : writer->document(buf, &doc, &style);
	wtl_doc_done(&doc);
	return rc;
}

static int write_json(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	return write_with(buf, stacks, &wtl_writer_json);
}

static int write_csv(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	return write_with(buf, stacks, &wtl_writer_csv);
}

const struct wtl_profile_format wtl_profile_format_json = {
	.name = "json", .suffixes = ".json", .write = write_json};
const struct wtl_profile_format wtl_profile_format_csv = {
	.name = "csv", .suffixes = ".csv", .write = write_csv};
