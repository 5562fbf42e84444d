/* SPDX-License-Identifier: MIT */
#include "document/report.h"

#include "base/buf.h"
#include "document/format.h"
#include "document/parts.h"
#include "document/words.h"

enum { MICRO = 6, NANO = 9 };

static const char report_schema[] = "wattle.report/1";

/* ---- The table: one row a domain and run, and one for each run's total (docs/format-csv.md) ---- */

/* ROW has what only the table has; FIGURE is a domain, or the total; EMITTED the carbon if all of it is known. */
enum { RUN, ROW, FIGURE, LEDGER, CARBON, EMITTED, SCOPES };

static const struct wtl_doc_table report_table = {
	"runs", "0:start_utc 1:run 0:command,exit_status,duration_s 1:domain 2:kind,inside,"
		"in_total,source,method 1:status 2:energy_j,uncertainty_j,mean_w,max_w,"
		"measured_s,gap_s,flags 3:live_j,exited_j,kernel_j,idle_j,unattributed_j "
		"5:gco2e,gco2e_uncertainty 4:intensity_g_per_kwh,location,dataset,year,pue "
		"5:gco2e_with_pue 1:command_dynamic_j,command_full_j,command_cpu_s,"
		"command_processes 2:idle_w,reason"};

static const struct wtl_doc_table doctor_table = {
	"sources", "0:t_utc 1:domain 2:kind,inside,in_total,source,check,method,status,mean_w,"
		   "update_s,device,idle_w,way,is_used,reason,remedy"};

static struct wtl_node *new_row(struct wtl_doc *doc, size_t number, const char *domain,
				const struct wattle_energy *energy, enum wattle_status status)
{
	struct wtl_node *row = wtl_doc_aside(doc);

	wtl_doc_count(row, "run", number);
	wtl_doc_text(row, "domain", domain);
	/* Without a figure, "ok" would say nothing. */
	if (energy->has_energy || status != WATTLE_STATUS_OK)
		wtl_doc_text(row, "status", wattle_status_name(status));
	return row;
}

void wtl_doc_report_rows(struct wtl_doc *doc, const struct wtl_node *run,
			 const struct wtl_report *report, size_t number)
{
	const struct wattle_energy *total = &report->window.total;
	const struct wtl_node *scopes[SCOPES] = {[RUN] = run};
	const struct wtl_node *command = wtl_node_get(run, "command_energy"), *domain, *ledger;
	struct wtl_node *row;

	doc->table = &report_table;
	if (doc->error)
		return;
	domain = wtl_node_get(run, "domains")->first;
	ledger = wtl_node_get(run, "ledger")->first;
	for (size_t i = 0; domain && i < report->n_domains; i++, domain = domain->next) {
		const struct wtl_report_domain *of = &report->domains[i];
		bool has_ledger = ledger && of->energy.has_energy;

		scopes[ROW] =
			new_row(doc, number, of->domain.name, &of->energy, wtl_words_status(of));
		scopes[FIGURE] = domain;
		scopes[LEDGER] = has_ledger ? ledger : NULL;
		ledger = has_ledger ? ledger->next : ledger;
		wtl_doc_add_row(doc, scopes, SCOPES);
	}
	row = new_row(doc, number, "total", total, total->status);
	wtl_doc_copy(row, "command_dynamic_j", wtl_node_get(command, "dynamic_j"));
	wtl_doc_copy(row, "command_full_j", wtl_node_get(command, "full_j"));
	wtl_doc_copy(row, "command_cpu_s", wtl_node_get(command, "cpu_s"));
	wtl_doc_copy(row, "command_processes", wtl_node_get(command, "processes"));
	scopes[ROW] = row;
	scopes[FIGURE] = wtl_node_get(run, "total");
	scopes[LEDGER] = NULL;
	scopes[CARBON] = wtl_node_get(run, "carbon");
	if (!wtl_words_not_all_emitted(&report->carbon, total))
		scopes[EMITTED] = scopes[CARBON];
	wtl_doc_add_row(doc, scopes, SCOPES);
}

/* ---- The tree ---- */

static void put_command(struct wtl_node *to, char *const command[])
{
	struct wtl_node *words;

	if (!command) {
		wtl_doc_null(to, "command");
		return;
	}
	words = wtl_doc_list(to, "command");
	for (size_t i = 0; command[i]; i++)
		wtl_doc_text(words, NULL, command[i]);
}

void wtl_doc_ran(struct wtl_node *to, const struct wtl_report *report)
{
	put_command(to, report->command);
	if (report->has_exit)
		wtl_doc_integer(to, "exit_status", report->exit_status);
	if (report->exit_signal > 0)
		wtl_doc_integer(to, "exit_signal", report->exit_signal);
	wtl_doc_flag(to, "interrupted", report->interrupted);
}

static void put_flags(struct wtl_node *to, uint32_t flags)
{
	struct wtl_node *words = wtl_doc_list(to, "flags");
	const char *word;

	for (size_t i = 0; (word = wtl_words_flag(flags, i)); i++)
		wtl_doc_text(words, NULL, word);
}

/* What a total and a domain have in common. */
void wtl_doc_figures(struct wtl_node *to, const struct wattle_energy *energy)
{
	if (!energy->has_energy)
		return;
	wtl_doc_micro(to, "energy_j", energy->energy_uj);
	wtl_doc_micro(to, "uncertainty_j", energy->uncertainty_uj);
	if (energy->has_power) {
		wtl_doc_micro(to, "mean_w", energy->mean_uw);
		wtl_doc_micro(to, "max_w", energy->max_uw);
	}
	wtl_doc_seconds(to, "measured_s", energy->measured_ns);
	wtl_doc_seconds(to, "gap_s", energy->gap_ns);
	wtl_doc_count(to, "samples", energy->samples);
	put_flags(to, energy->flags);
}

void wtl_doc_total(struct wtl_node *to, const struct wattle_energy *total)
{
	struct wtl_node *object = wtl_doc_object(to, "total");

	if (total->has_energy || total->status != WATTLE_STATUS_OK)
		wtl_doc_text(object, "status", wattle_status_name(total->status));
	if (total->has_energy)
		wtl_doc_text(object, "method", wattle_method_name(total->method));
	wtl_doc_figures(object, total);
	wtl_doc_text(object, "reason", wtl_words_total_reason(total));
}

void wtl_doc_about(struct wtl_node *to, const struct wattle_domain *domain)
{
	wtl_doc_text(to, "name", domain->name ? domain->name : "");
	wtl_doc_text(to, "kind", wattle_kind_name(domain->kind));
	if (domain->inside && domain->inside[0])
		wtl_doc_text(to, "inside", domain->inside);
	else
		wtl_doc_null(to, "inside");
	wtl_doc_flag(to, "in_total", domain->in_total);
	wtl_doc_text(to, "device", domain->device);
	wtl_doc_text(to, "source", domain->source);
}

static void put_domain(struct wtl_node *to, const struct wtl_report_domain *domain,
		       int64_t t_utc_ns)
{
	const struct wattle_domain *about = &domain->domain;
	struct wtl_node *object = wtl_doc_object(to, NULL);

	wtl_doc_about(object, about);
	wtl_doc_text(object, "sensor", about->sensor);
	wtl_doc_text(object, "check", about->check);
	if (wtl_words_method(domain) != WATTLE_METHOD_NONE)
		wtl_doc_text(object, "method", wattle_method_name(wtl_words_method(domain)));
	wtl_doc_text(object, "status", wattle_status_name(wtl_words_status(domain)));
	wtl_doc_figures(object, &domain->energy);
	wtl_doc_idle(object, domain, t_utc_ns);
	wtl_doc_text(object, "weight", domain->weight);
	if (about->update_ns > 0)
		wtl_doc_nano(object, "update_s", (uint64_t)about->update_ns);
	wtl_doc_text(object, "reason", wtl_words_reason(domain));
	wtl_doc_text(object, "remedy", about->remedy);
}

/* As seen at t_utc_ns. */
static void put_all_domains(struct wtl_node *to, const struct wtl_report_domain *domains, size_t n,
			    int64_t t_utc_ns)
{
	struct wtl_node *array = wtl_doc_list(to, "domains");

	for (size_t i = 0; i < n; i++)
		put_domain(array, &domains[i], t_utc_ns);
}

/* The terms of the SCI: E x I is gco2e above, with the PUE if there is one. */
static void put_sci(struct wtl_node *to, const struct wtl_report_carbon *carbon, bool is_known)
{
	struct wtl_node *object;

	if (carbon->sci.units == 0)
		return;
	object = wtl_doc_object(to, "sci");
	if (is_known)
		wtl_doc_nano(object, "operational_gco2e",
			     carbon->pue_milli ? wtl_words_emitted_with_pue_ng(carbon)
					       : wtl_words_emitted_ng(carbon));
	wtl_doc_fixed(object, "embodied_gco2e", carbon->sci.embodied_mg, 3);
	wtl_doc_count(object, "units", carbon->sci.units);
	if (is_known) {
		wtl_doc_nano(object, "gco2e_per_unit", wtl_words_sci_ng(carbon));
		wtl_doc_nano(object, "gco2e_per_unit_uncertainty",
			     wtl_words_sci_uncertainty_ng(carbon));
	}
}

void wtl_doc_place(struct wtl_node *to, const struct wattle_carbon *carbon, bool is_default,
		   uint32_t pue_milli)
{
	wtl_doc_text(to, "location", carbon->location);
	wtl_doc_flag(to, "location_is_default", is_default);
	wtl_doc_known(to, "dataset", carbon->dataset);
	if (carbon->year)
		wtl_doc_count(to, "year", carbon->year);
	if (pue_milli)
		wtl_doc_fixed(to, "pue", pue_milli, 3);
}

void wtl_doc_carbon(struct wtl_node *to, const struct wtl_report *report)
{
	const struct wtl_report_carbon *carbon = &report->carbon;
	struct wtl_node *object = wtl_doc_object(to, "carbon");
	const char *reason = wtl_words_not_emitted(carbon, &report->window.total);

	if (!reason) {
		wtl_doc_nano(object, "gco2e", wtl_words_emitted_ng(carbon));
		wtl_doc_nano(object, "gco2e_uncertainty", wtl_words_uncertainty_ng(carbon));
	}
	if (!reason && carbon->missing_uj > 0)
		wtl_doc_micro(object, "missing_j", carbon->missing_uj);
	if (!carbon->reason)
		wtl_doc_fixed(object, "intensity_g_per_kwh", carbon->carbon.intensity_mg_per_kwh,
			      3);
	wtl_doc_place(object, &carbon->carbon, carbon->is_default, carbon->pue_milli);
	if (carbon->pue_milli && !reason)
		wtl_doc_nano(object, "gco2e_with_pue", wtl_words_emitted_with_pue_ng(carbon));
	put_sci(object, carbon, !reason);
	if (reason)
		wtl_doc_text(object, "reason", reason);
}

struct wtl_node *wtl_doc_self(struct wtl_node *to, const struct wtl_report_self *self)
{
	struct wtl_node *object = wtl_doc_object(to, "self");

	wtl_doc_seconds(object, "cpu_s", self->cpu_ns);
	if (self->max_rss_bytes)
		wtl_doc_count(object, "max_rss_bytes", self->max_rss_bytes);
	if (self->has_energy) {
		wtl_doc_text(object, "method", wattle_method_name(WATTLE_METHOD_MODELLED));
		wtl_doc_micro(object, "energy_j", self->energy_uj);
		wtl_doc_micro(object, "uncertainty_j", self->uncertainty_uj);
	} else {
		wtl_doc_text(object, "reason", "the processor's power is not known");
	}
	return object;
}

void wtl_doc_notes(struct wtl_node *to, const struct wtl_report *report)
{
	struct wtl_node *array = wtl_doc_list(to, "notes");

	for (size_t i = 0; i < report->n_notes; i++)
		wtl_doc_text(array, NULL, report->notes[i]);
}

static void put_wall(struct wtl_node *to, const struct wtl_report_wall *wall)
{
	struct wtl_node *object;

	if (!wall->is_known)
		return;
	object = wtl_doc_object(to, "wall");
	wtl_doc_micro(object, "energy_j", wall->energy_uj);
	wtl_doc_micro(object, "uncertainty_j", wall->uncertainty_uj);
	wtl_doc_utc(object, "calibrated_utc", wall->calibrated_utc_ns);
}

void wtl_doc_measured(struct wtl_node *to, const struct wtl_report *report,
		      const int64_t *end_utc_ns)
{
	wtl_doc_utc(to, "start_utc", report->window.begin_utc_ns);
	if (end_utc_ns)
		wtl_doc_utc(to, "end_utc", *end_utc_ns);
	wtl_doc_seconds(to, "duration_s", report->window.duration_ns);
	wtl_doc_total(to, &report->window.total);
	put_wall(to, &report->wall);
	put_all_domains(to, report->domains, report->n_domains,
			end_utc_ns ? *end_utc_ns : wtl_words_end_utc_ns(&report->window));
	wtl_doc_ledgers(to, report);
}

static void put_report(struct wtl_node *to, const struct wtl_report *report)
{
	struct wtl_node *self;

	wtl_doc_ran(to, report);
	wtl_doc_measured(to, report, NULL);
	wtl_doc_attribution(to, report);
	wtl_doc_carbon(to, report);
	self = wtl_doc_self(to, &report->self);
	wtl_doc_count(self, "ticks", report->self.ticks);
	wtl_doc_count(self, "late_ticks", report->self.late_ticks);
	wtl_doc_notes(to, report);
}

void wtl_doc_statistics(struct wtl_node *to, const char *key, const struct wtl_statistics *of,
			unsigned decimals)
{
	struct wtl_node *object = wtl_doc_object(to, key);

	wtl_doc_count(object, "n", of->n);
	if (of->n == 0) {
		wtl_doc_text(object, "reason", "no run has a figure");
		return;
	}
	wtl_doc_double(object, "mean", of->mean, decimals);
	if (of->n >= 2) {
		wtl_doc_double(object, "sd", of->sd, decimals);
		wtl_doc_double(object, "ci95", of->ci95, decimals);
	} else {
		wtl_doc_text(object, "reason", "one run has no spread");
	}
	wtl_doc_double(object, "min", of->min, decimals);
	wtl_doc_double(object, "max", of->max, decimals);
}

struct wtl_node *wtl_doc_run_statistics(struct wtl_node *to,
					const struct wtl_statistics of[WTL_RUN_FIGURES],
					bool has_power, bool has_command)
{
	struct wtl_node *object = wtl_doc_object(to, "statistics");

	wtl_doc_count(object, "runs", of[WTL_RUN_DURATION_S].n);
	wtl_doc_statistics(object, "duration_s", &of[WTL_RUN_DURATION_S], NANO);
	wtl_doc_statistics(object, "energy_j", &of[WTL_RUN_ENERGY_J], MICRO);
	if (has_power)
		wtl_doc_statistics(object, "mean_w", &of[WTL_RUN_POWER_W], MICRO);
	wtl_doc_statistics(object, "gco2e", &of[WTL_RUN_EMITTED_G], NANO);
	if (has_command) {
		wtl_doc_statistics(object, "command_dynamic_j", &of[WTL_RUN_COMMAND_DYNAMIC_J],
				   MICRO);
		wtl_doc_statistics(object, "command_full_j", &of[WTL_RUN_COMMAND_FULL_J], MICRO);
	}
	return object;
}

static void put_all_statistics(struct wtl_node *to, const struct wtl_series *series)
{
	bool has_command = series->n_reports > 0 && series->reports[0].command;
	struct wtl_node *object = wtl_doc_run_statistics(to, series->of, false, has_command);
	struct wtl_node *array;

	array = wtl_doc_list(object, "domains");
	if (!series->domain_j || series->n_reports == 0)
		return;
	for (size_t i = 0; i < series->reports[0].n_domains; i++) {
		struct wtl_node *domain = wtl_doc_object(array, NULL);

		wtl_doc_text(domain, "name", series->reports[0].domains[i].domain.name);
		wtl_doc_statistics(domain, "energy_j", &series->domain_j[i], MICRO);
	}
}

void wtl_doc_report(struct wtl_doc *doc, const void *what)
{
	const struct wtl_report *report = what;

	wtl_doc_schema(doc->root, report_schema);
	put_report(doc->root, report);
	wtl_doc_report_rows(doc, doc->root, report, 1);
}

void wtl_doc_runs_of(struct wtl_node *to, const struct wtl_series *series)
{
	struct wtl_node *runs;

	wtl_doc_schema(to, "wattle.series/1");
	runs = wtl_doc_list(to, "runs");
	for (size_t i = 0; i < series->n_reports; i++) {
		struct wtl_node *run = wtl_doc_object(runs, NULL);

		wtl_doc_schema(run, report_schema);
		put_report(run, &series->reports[i]);
	}
	put_all_statistics(to, series);
}

void wtl_doc_series(struct wtl_doc *doc, const void *what)
{
	const struct wtl_series *series = what;
	const struct wtl_node *run;

	wtl_doc_runs_of(doc->root, series);
	doc->table = &report_table;
	run = doc->error ? NULL : wtl_node_get(doc->root, "runs")->first;
	for (size_t i = 0; run; i++, run = run->next)
		wtl_doc_report_rows(doc, run, &series->reports[i], i + 1);
	if (series->until > 0) {
		wtl_doc_double(doc->root, "until", series->until, MICRO);
		wtl_doc_flag(doc->root, "converged", series->converged);
	}
}

static void put_machine(struct wtl_node *to, const struct wtl_doctor *doctor)
{
	struct wtl_node *object = wtl_doc_object(to, "machine");

	wtl_doc_text(object, "cpu_model", doctor->cpu_model);
	wtl_doc_text(object, "product", doctor->product);
	wtl_doc_text(object, "kernel", doctor->kernel);
	if (doctor->n_cpus)
		wtl_doc_count(object, "cpus", doctor->n_cpus);
	if (doctor->n_packages)
		wtl_doc_count(object, "packages", doctor->n_packages);
	if (doctor->memory_bytes)
		wtl_doc_count(object, "memory_bytes", doctor->memory_bytes);
	wtl_doc_flag(object, "is_vm", doctor->is_vm);
	wtl_doc_flag(object, "is_container", doctor->is_container);
}

static void put_ways(struct wtl_node *to, const struct wtl_doctor *doctor)
{
	struct wtl_node *ways = wtl_doc_list(to, "ways");

	for (size_t i = 0; i < doctor->n_ways; i++) {
		struct wtl_node *object = wtl_doc_object(ways, NULL);

		wtl_doc_text(object, "way", doctor->ways[i].way);
		wtl_doc_flag(object, "is_used", doctor->ways[i].is_used);
		wtl_doc_text(object, "reason", doctor->ways[i].reason);
		wtl_doc_text(object, "remedy", doctor->ways[i].remedy);
	}
}

static void put_sources(struct wtl_node *to, const struct wtl_doctor *doctor)
{
	struct wtl_node *sources = wtl_doc_list(to, "sources");

	for (size_t i = 0; i < doctor->n_sources; i++) {
		const struct wtl_doctor_source *source = &doctor->sources[i];
		struct wtl_node *object = wtl_doc_object(sources, NULL);

		wtl_doc_text(object, "source", source->source);
		wtl_doc_text(object, "status", wattle_status_name(source->status));
		wtl_doc_text(object, "reason", source->reason);
		wtl_doc_text(object, "remedy", source->remedy);
	}
}

static void add_doctor_rows(struct wtl_doc *doc, const char *list)
{
	for (const struct wtl_node *node = wtl_node_get(doc->root, list)->first; node;
	     node = node->next) {
		struct wtl_node *row = wtl_doc_aside(doc);
		const struct wtl_node *const scopes[] = {
			[RUN] = doc->root, [ROW] = row, [FIGURE] = node};

		wtl_doc_copy(row, "domain", wtl_node_get(node, "name"));
		wtl_doc_add_row(doc, scopes, FIGURE + 1);
	}
}

void wtl_doc_doctor(struct wtl_doc *doc, const void *what)
{
	const struct wtl_doctor *doctor = what;

	wtl_doc_schema(doc->root, "wattle.doctor/1");
	wtl_doc_utc(doc->root, "t_utc", doctor->t_utc_ns);
	wtl_doc_text(doc->root, "summary", doctor->summary);
	put_machine(doc->root, doctor);
	put_all_domains(doc->root, doctor->domains, doctor->n_domains, doctor->t_utc_ns);
	put_sources(doc->root, doctor);
	put_ways(doc->root, doctor);
	doc->table = &doctor_table;
	if (doc->error)
		return;
	add_doctor_rows(doc, "domains");
	add_doctor_rows(doc, "sources");
	add_doctor_rows(doc, "ways");
}
