/* SPDX-License-Identifier: MIT */
#include "document/json_parts.h"

#include "document/words.h"

/* Who used the energy: baselines, ledgers, the command, processes. */

enum { MICRO = WTL_JSON_MICRO };

static void put_bytes(struct wtl_tree *tree, json_t *to, const char *key, uint64_t bytes)
{
	if (bytes != UINT64_MAX)
		wtl_tree_count(tree, to, key, bytes);
}

void wtl_json_idle(struct wtl_tree *tree, json_t *to, const struct wtl_report_domain *domain,
		   int64_t t_utc_ns)
{
	const struct wtl_baseline *idle = &domain->idle;
	int64_t age_ns;

	if (!idle->is_known) {
		if (domain->energy.has_energy)
			wtl_tree_text(tree, to, "idle_reason", wtl_words_no_idle);
		return;
	}
	wtl_tree_fixed(tree, to, "idle_w", idle->idle_uw, MICRO);
	wtl_tree_fixed(tree, to, "idle_uncertainty_w", wtl_words_idle_uncertainty_uw(idle), MICRO);
	wtl_tree_text(tree, to, "idle_method",
		      idle->is_given	  ? "given"
		      : idle->is_modelled ? "modelled"
					  : "learned");
	if (idle->t_utc_ns > 0)
		wtl_json_utc(tree, to, "idle_t_utc", idle->t_utc_ns);
	if (wtl_words_idle_age(idle, t_utc_ns, &age_ns))
		wtl_json_seconds(tree, to, "idle_age_s", age_ns);
}

static void put_ledger(struct wtl_tree *tree, json_t *to, const struct wtl_report *report,
		       const struct wtl_report_domain *domain)
{
	const struct wtl_ledger *ledger = &domain->ledger;

	wtl_tree_text(tree, to, "domain", domain->domain.name);
	if (wtl_words_attributed(report, domain)) {
		wtl_tree_fixed(tree, to, "live_j", ledger->live_uj, MICRO);
		wtl_tree_fixed(tree, to, "exited_j", ledger->exited_uj, MICRO);
		wtl_tree_fixed(tree, to, "kernel_j", ledger->kernel_uj, MICRO);
	}
	if (ledger->has_idle)
		wtl_tree_fixed(tree, to, "idle_j", ledger->idle_uj, MICRO);
	wtl_tree_fixed(tree, to, "unattributed_j", ledger->unattributed_uj, MICRO);
	wtl_tree_fixed(tree, to, "total_j", ledger->total_uj, MICRO);
	if (!ledger->has_idle)
		wtl_tree_text(tree, to, "idle_reason", wtl_words_no_idle);
	wtl_tree_text(tree, to, "reason", wtl_words_unattributed_reason(report, domain));
}

void wtl_json_ledgers(struct wtl_tree *tree, json_t *to, const struct wtl_report *report)
{
	json_t *array = wtl_tree_array(tree, to, "ledger");

	for (size_t i = 0; i < report->n_domains; i++) {
		if (report->domains[i].energy.has_energy)
			put_ledger(tree, wtl_tree_object(tree, array, NULL), report,
				   &report->domains[i]);
	}
}

/* What has no baseline has no dynamic part; the ± is that of the best figure there is. */
void wtl_json_share(struct wtl_tree *tree, json_t *to, const struct wtl_share_energy *share)
{
	if (share->has_dynamic)
		wtl_tree_fixed(tree, to, "dynamic_j", share->dynamic_uj, MICRO);
	wtl_tree_fixed(tree, to, "full_j", share->full_uj, MICRO);
	wtl_tree_fixed(tree, to, "uncertainty_j", share->uncertainty_uj, MICRO);
}

static void put_gpu_share(struct wtl_tree *tree, json_t *to, const struct wtl_report *report,
			  const char *dynamic_key, const char *full_key,
			  const struct wtl_share_energy *share)
{
	if (!wtl_words_has_gpu(report))
		return;
	if (share->has_dynamic)
		wtl_tree_fixed(tree, to, dynamic_key, share->dynamic_uj, MICRO);
	wtl_tree_fixed(tree, to, full_key, share->full_uj, MICRO);
}

static void put_command(struct wtl_tree *tree, json_t *to, const struct wtl_report *report)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	bool has = attribution->is_known && attribution->has_command;
	json_t *object;

	if (!report->command && !has)
		return;
	object = wtl_tree_object(tree, to, "command_energy");
	if (has) {
		wtl_json_share(tree, object, &attribution->command);
		put_gpu_share(tree, object, report, "gpu_dynamic_j", "gpu_full_j",
			      &attribution->command_gpu);
	}
	if (report->command)
		wtl_json_seconds(tree, object, "cpu_s", report->command_cpu_ns);
	if (has) {
		wtl_json_seconds(tree, object, "attributed_cpu_s", attribution->command_cpu_ns);
		wtl_tree_count(tree, object, "processes", attribution->command_processes);
	}
	if (report->command_rss_bytes)
		wtl_tree_count(tree, object, "max_rss_bytes", report->command_rss_bytes);
	if (!has)
		wtl_tree_text(tree, object, "reason", wtl_words_not_attributed(report));
	else if (!attribution->command.has_dynamic)
		wtl_tree_text(tree, object, "reason", wtl_words_no_idle);
}

static void put_group(struct wtl_tree *tree, json_t *to, const struct wtl_group *group)
{
	if (!group)
		return;
	wtl_json_known(tree, to, "cgroup", group->cgroup);
	wtl_json_known(tree, to, "unit", group->unit);
	wtl_json_known(tree, to, "container", group->container);
	wtl_json_known(tree, to, "pod", group->pod);
	wtl_json_known(tree, to, "job", group->job);
}

/* What a process is; a row that stands for several has no pid and no start of its own. */
static void put_identity(struct wtl_tree *tree, json_t *to,
			 const struct wtl_report_process *process)
{
	const struct wtl_consumer *consumer = process->consumer;

	if (consumer->pid > 0)
		wtl_tree_integer(tree, to, "pid", consumer->pid);
	if (consumer->parent > 0)
		wtl_tree_integer(tree, to, "parent", consumer->parent);
	if (process->start_utc_ns)
		wtl_json_utc(tree, to, "start_utc", process->start_utc_ns);
	wtl_tree_text(tree, to, "state", wtl_words_state(consumer->state));
	if (consumer->pid <= 0)
		wtl_tree_count(tree, to, "n_processes", consumer->n_processes);
	wtl_json_known(tree, to, "name", consumer->name);
	wtl_json_known(tree, to, "command", consumer->command);
	wtl_tree_text(tree, to, "user", process->user);
	if (consumer->uid != UINT32_MAX)
		wtl_tree_count(tree, to, "uid", consumer->uid);
	put_group(tree, to, consumer->group);
	wtl_tree_bool(tree, to, "in_command", consumer->is_in_tree);
}

static void put_process(struct wtl_tree *tree, json_t *to, const struct wtl_report *report,
			const struct wtl_report_process *process)
{
	const struct wtl_consumer *consumer = process->consumer;

	put_identity(tree, to, process);
	wtl_json_seconds(tree, to, "cpu_s", wtl_consumer_cpu_ns(consumer));
	wtl_json_share(tree, to, &process->all);
	put_gpu_share(tree, to, report, "gpu_dynamic_j", "gpu_j", &process->gpu);
	put_bytes(tree, to, "pss_bytes", consumer->pss_bytes);
	put_bytes(tree, to, "uss_bytes", consumer->uss_bytes);
	put_bytes(tree, to, "rss_bytes", consumer->rss_bytes);
	put_bytes(tree, to, "gpu_memory_bytes", consumer->gpu_memory_bytes);
}

/* The rest of the counted energy: with it, the full figures add up to the total. */
static void put_no_process(struct wtl_tree *tree, json_t *to, const struct wtl_report *report)
{
	struct wtl_ledger ledger;
	uint64_t processes_uj;

	if (wtl_words_ledger(report, &ledger) && wtl_words_processes_uj(report, &processes_uj))
		wtl_tree_fixed(tree, wtl_tree_object(tree, to, "no_process"), "full_j",
			       ledger.total_uj - processes_uj, MICRO);
}

void wtl_json_attribution(struct wtl_tree *tree, json_t *to, const struct wtl_report *report)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	json_t *array, *others;

	put_command(tree, to, report);
	if (!attribution->is_known) {
		wtl_tree_text(tree, to, "processes_reason", wtl_words_not_attributed(report));
		return;
	}
	array = wtl_tree_array(tree, to, "processes");
	for (size_t i = 0; i < attribution->n_processes; i++)
		put_process(tree, wtl_tree_object(tree, array, NULL), report,
			    &attribution->processes[i]);
	others = wtl_tree_object(tree, to, "others");
	wtl_tree_count(tree, others, "n_processes", attribution->n_others);
	wtl_json_seconds(tree, others, "cpu_s", attribution->others_cpu_ns);
	wtl_json_share(tree, others, &attribution->others);
	put_no_process(tree, to, report);
}
