/* SPDX-License-Identifier: MIT */
#include "document/parts.h"

#include "document/field.h"
#include "document/words.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Who used the energy: baselines, ledgers, the command, processes. */

void wtl_doc_idle(struct wtl_node *to, const struct wtl_report_domain *domain, int64_t t_utc_ns)
{
	const struct wtl_baseline *idle = &domain->idle;
	int64_t age_ns;

	if (!idle->is_known) {
		if (domain->energy.has_energy)
			wtl_doc_text(to, "idle_reason", wtl_words_no_idle);
		return;
	}
	wtl_doc_micro(to, "idle_w", idle->idle_uw);
	wtl_doc_micro(to, "idle_uncertainty_w", wtl_words_idle_uncertainty_uw(idle));
	wtl_doc_text(to, "idle_method",
		     idle->is_given	 ? "given"
		     : idle->is_modelled ? "modelled"
					 : "learned");
	if (idle->t_utc_ns > 0)
		wtl_doc_utc(to, "idle_t_utc", idle->t_utc_ns);
	if (wtl_words_idle_age(idle, t_utc_ns, &age_ns))
		wtl_doc_seconds(to, "idle_age_s", age_ns);
}

static void put_ledger(struct wtl_node *to, const struct wtl_report *report,
		       const struct wtl_report_domain *domain)
{
	const struct wtl_ledger *ledger = &domain->ledger;

	wtl_doc_text(to, "domain", domain->domain.name);
	if (wtl_words_attributed(report, domain)) {
		wtl_doc_micro(to, "live_j", ledger->live_uj);
		wtl_doc_micro(to, "exited_j", ledger->exited_uj);
		wtl_doc_micro(to, "kernel_j", ledger->kernel_uj);
	}
	if (ledger->has_idle)
		wtl_doc_micro(to, "idle_j", ledger->idle_uj);
	wtl_doc_micro(to, "unattributed_j", ledger->unattributed_uj);
	wtl_doc_micro(to, "total_j", ledger->total_uj);
	if (!ledger->has_idle)
		wtl_doc_text(to, "idle_reason", wtl_words_no_idle);
	wtl_doc_text(to, "reason", wtl_words_unattributed_reason(report, domain));
}

void wtl_doc_ledgers(struct wtl_node *to, const struct wtl_report *report)
{
	struct wtl_node *array = wtl_doc_list(to, "ledger");

	for (size_t i = 0; i < report->n_domains; i++) {
		if (report->domains[i].energy.has_energy)
			put_ledger(wtl_doc_object(array, NULL), report, &report->domains[i]);
	}
}

/* Without a baseline there is no dynamic part; the ± is that of the dynamic part, else of the full figure. */
void wtl_doc_share(struct wtl_node *to, const struct wtl_share_energy *share)
{
	if (share->has_dynamic)
		wtl_doc_micro(to, "dynamic_j", share->dynamic_uj);
	wtl_doc_micro(to, "full_j", share->full_uj);
	wtl_doc_micro(to, "uncertainty_j", share->uncertainty_uj);
}

static void put_gpu_share(struct wtl_node *to, const struct wtl_report *report,
			  const char *dynamic_key, const char *full_key,
			  const struct wtl_share_energy *share)
{
	if (!wtl_words_has_gpu(report))
		return;
	if (share->has_dynamic)
		wtl_doc_micro(to, dynamic_key, share->dynamic_uj);
	wtl_doc_micro(to, full_key, share->full_uj);
}

static void put_command(struct wtl_node *to, const struct wtl_report *report)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	bool has = attribution->is_known && attribution->has_command;
	struct wtl_node *object;

	if (!report->command && !has)
		return;
	object = wtl_doc_object(to, "command_energy");
	if (has) {
		wtl_doc_share(object, &attribution->command);
		put_gpu_share(object, report, "gpu_dynamic_j", "gpu_full_j",
			      &attribution->command_gpu);
	}
	if (report->command)
		wtl_doc_seconds(object, "cpu_s", report->command_cpu_ns);
	if (has) {
		wtl_doc_seconds(object, "attributed_cpu_s", attribution->command_cpu_ns);
		wtl_doc_count(object, "processes", attribution->command_processes);
	}
	if (report->command_rss_bytes)
		wtl_doc_count(object, "max_rss_bytes", report->command_rss_bytes);
	if (!has)
		wtl_doc_text(object, "reason", wtl_words_not_attributed(report));
	else if (!attribution->command.has_dynamic)
		wtl_doc_text(object, "reason", wtl_words_no_idle);
}

static void put_fields(struct wtl_node *to, const struct wtl_consumer *consumer,
		       const enum wtl_field fields[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct wtl_field_info *info = wtl_field_info(fields[i]);
		struct wtl_consumer_value value;

		if (!wtl_consumer_get(consumer, consumer->group, fields[i], &value))
			continue;
		if (info->measure == WTL_MEASURE_TEXT)
			wtl_doc_text(to, info->key, value.text);
		else if (info->measure == WTL_MEASURE_SECOND)
			wtl_doc_seconds(to, info->key, value.number);
		else
			wtl_doc_integer(to, info->key, value.number);
	}
}

/* A row that stands for several has no pid and no start of its own. */
void wtl_doc_consumer(struct wtl_node *to, const struct wtl_consumer *consumer,
		      int64_t start_utc_ns, const char *user)
{
	static const enum wtl_field who[] = {WTL_FIELD_PID, WTL_FIELD_PPID},
				    state[] = {WTL_FIELD_STATE},
				    names[] = {WTL_FIELD_NAME, WTL_FIELD_COMMAND},
				    place[] = {WTL_FIELD_UID,  WTL_FIELD_CGROUP,
					       WTL_FIELD_UNIT, WTL_FIELD_CONTAINER,
					       WTL_FIELD_POD,  WTL_FIELD_JOB,
					       WTL_FIELD_STEP},
				    use[] = {WTL_FIELD_TIME};

	put_fields(to, consumer, who, COUNT(who));
	if (start_utc_ns)
		wtl_doc_utc(to, "start_utc", start_utc_ns);
	put_fields(to, consumer, state, COUNT(state));
	if (consumer->pid <= 0)
		wtl_doc_count(to, "n_processes", consumer->n_processes);
	put_fields(to, consumer, names, COUNT(names));
	wtl_doc_text(to, "user", user);
	put_fields(to, consumer, place, COUNT(place));
	wtl_doc_flag(to, "in_command", consumer->is_in_tree);
	put_fields(to, consumer, use, COUNT(use));
}

void wtl_doc_consumer_memory(struct wtl_node *to, const struct wtl_consumer *consumer)
{
	static const enum wtl_field memory[] = {WTL_FIELD_PSS, WTL_FIELD_USS, WTL_FIELD_MEMORY,
						WTL_FIELD_GPU_MEMORY};

	put_fields(to, consumer, memory, COUNT(memory));
}

static void put_process(struct wtl_node *to, const struct wtl_report *report,
			const struct wtl_report_process *process)
{
	wtl_doc_consumer(to, process->consumer, process->start_utc_ns, process->user);
	wtl_doc_share(to, &process->all);
	put_gpu_share(to, report, "gpu_dynamic_j", "gpu_j", &process->gpu);
	if (process->per_cpu.power_uw > 0) {
		wtl_doc_micro(to, "per_cpu_w", process->per_cpu.power_uw);
		wtl_doc_micro(to, "per_cpu_uncertainty_w", process->per_cpu.uncertainty_uw);
	}
	wtl_doc_consumer_memory(to, process->consumer);
}

/* The rest of the counted energy: with it, the full figures add up to the total. */
static void put_no_process(struct wtl_node *to, const struct wtl_report *report)
{
	uint64_t full_uj;

	if (wtl_words_no_process_uj(report, &full_uj))
		wtl_doc_micro(wtl_doc_object(to, "no_process"), "full_j", full_uj);
}

void wtl_doc_attribution(struct wtl_node *to, const struct wtl_report *report)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	struct wtl_node *array, *others;

	put_command(to, report);
	if (!attribution->is_known) {
		wtl_doc_text(to, "processes_reason", wtl_words_not_attributed(report));
		return;
	}
	array = wtl_doc_list(to, "processes");
	for (size_t i = 0; i < attribution->n_processes; i++)
		put_process(wtl_doc_object(array, NULL), report, &attribution->processes[i]);
	others = wtl_doc_object(to, "others");
	wtl_doc_count(others, "n_processes", attribution->n_others);
	wtl_doc_seconds(others, "cpu_s", attribution->others_cpu_ns);
	wtl_doc_share(others, &attribution->others);
	put_no_process(to, report);
}
