/* SPDX-License-Identifier: MIT */
#include "document/report.h"

#include <jansson.h>

#include "base/buf.h"
#include "document/format.h"
#include "document/json_parts.h"
#include "document/words.h"

enum { MICRO = WTL_JSON_MICRO, NANO = WTL_JSON_NANO };

static const char report_schema[] = "wattle.report/1";

void wtl_json_schema(struct wtl_tree *tree, json_t *to, const char *schema)
{
	wtl_tree_text(tree, to, "schema", schema);
	wtl_tree_text(tree, to, "version", WATTLE_VERSION);
}

void wtl_json_begin(struct wtl_tree *tree, const char *schema)
{
	wtl_tree_init(tree);
	wtl_json_schema(tree, tree->root, schema);
}

int wtl_json_end(struct wtl_tree *tree, struct wtl_buf *buf, bool one_line)
{
	int rc = wtl_tree_write(tree, buf, one_line);

	wtl_tree_done(tree);
	return rc;
}

void wtl_json_known(struct wtl_tree *tree, json_t *to, const char *key, const char *text)
{
	if (text && text[0])
		wtl_tree_text(tree, to, key, text);
}

void wtl_json_seconds(struct wtl_tree *tree, json_t *to, const char *key, int64_t ns)
{
	if (ns >= 0)
		wtl_tree_fixed(tree, to, key, (uint64_t)ns, NANO);
}

void wtl_json_utc(struct wtl_tree *tree, json_t *to, const char *key, int64_t t_utc_ns)
{
	struct wtl_buf text;

	wtl_buf_init(&text, 64);
	if (wtl_format_utc(&text, t_utc_ns) < 0 && !tree->error)
		tree->error = text.error;
	wtl_tree_text(tree, to, key, wtl_buf_str(&text));
	wtl_buf_done(&text);
}

static void put_command(struct wtl_tree *tree, json_t *to, char *const command[])
{
	json_t *words;

	if (!command) {
		wtl_tree_null(tree, to, "command");
		return;
	}
	words = wtl_tree_array(tree, to, "command");
	for (size_t i = 0; command[i]; i++)
		wtl_tree_text(tree, words, NULL, command[i]);
}

void wtl_json_ran(struct wtl_tree *tree, json_t *to, const struct wtl_report *report)
{
	put_command(tree, to, report->command);
	if (report->has_exit)
		wtl_tree_integer(tree, to, "exit_status", report->exit_status);
	if (report->exit_signal > 0)
		wtl_tree_integer(tree, to, "exit_signal", report->exit_signal);
	wtl_tree_bool(tree, to, "interrupted", report->interrupted);
}

static void put_flags(struct wtl_tree *tree, json_t *to, uint32_t flags)
{
	json_t *words = wtl_tree_array(tree, to, "flags");
	const char *word;

	for (size_t i = 0; (word = wtl_words_flag(flags, i)); i++)
		wtl_tree_text(tree, words, NULL, word);
}

/* What a total and a domain have in common. */
void wtl_json_figures(struct wtl_tree *tree, json_t *to, const struct wattle_energy *energy)
{
	if (!energy->has_energy)
		return;
	wtl_tree_fixed(tree, to, "energy_j", energy->energy_uj, MICRO);
	wtl_tree_fixed(tree, to, "uncertainty_j", energy->uncertainty_uj, MICRO);
	if (energy->has_power) {
		wtl_tree_fixed(tree, to, "mean_w", energy->mean_uw, MICRO);
		wtl_tree_fixed(tree, to, "max_w", energy->max_uw, MICRO);
	}
	wtl_json_seconds(tree, to, "measured_s", energy->measured_ns);
	wtl_json_seconds(tree, to, "gap_s", energy->gap_ns);
	wtl_tree_count(tree, to, "samples", energy->samples);
	put_flags(tree, to, energy->flags);
}

void wtl_json_total(struct wtl_tree *tree, json_t *to, const struct wattle_energy *total)
{
	json_t *object = wtl_tree_object(tree, to, "total");

	if (total->has_energy || total->status != WATTLE_STATUS_OK)
		wtl_tree_text(tree, object, "status", wattle_status_name(total->status));
	if (total->has_energy)
		wtl_tree_text(tree, object, "method", wattle_method_name(total->method));
	wtl_json_figures(tree, object, total);
	wtl_tree_text(tree, object, "reason", wtl_words_total_reason(total));
}

void wtl_json_about(struct wtl_tree *tree, json_t *to, const struct wattle_domain *domain)
{
	wtl_tree_text(tree, to, "name", domain->name ? domain->name : "");
	wtl_tree_text(tree, to, "kind", wattle_kind_name(domain->kind));
	if (domain->inside && domain->inside[0])
		wtl_tree_text(tree, to, "inside", domain->inside);
	else
		wtl_tree_null(tree, to, "inside");
	wtl_tree_bool(tree, to, "in_total", domain->in_total);
	wtl_tree_text(tree, to, "device", domain->device);
	wtl_tree_text(tree, to, "source", domain->source);
}

static void put_domain(struct wtl_tree *tree, json_t *to, const struct wtl_report_domain *domain,
		       int64_t t_utc_ns)
{
	const struct wattle_domain *about = &domain->domain;
	json_t *object = wtl_tree_object(tree, to, NULL);

	wtl_json_about(tree, object, about);
	wtl_tree_text(tree, object, "sensor", about->sensor);
	wtl_tree_text(tree, object, "check", about->check);
	if (wtl_words_method(domain) != WATTLE_METHOD_NONE)
		wtl_tree_text(tree, object, "method", wattle_method_name(wtl_words_method(domain)));
	wtl_tree_text(tree, object, "status", wattle_status_name(wtl_words_status(domain)));
	wtl_json_figures(tree, object, &domain->energy);
	wtl_json_idle(tree, object, domain, t_utc_ns);
	wtl_tree_text(tree, object, "weight", domain->weight);
	if (about->update_ns > 0)
		wtl_tree_fixed(tree, object, "update_s", (uint64_t)about->update_ns, NANO);
	wtl_tree_text(tree, object, "reason", wtl_words_reason(domain));
	wtl_tree_text(tree, object, "remedy", about->remedy);
}

/* As seen at t_utc_ns. */
void wtl_json_domains(struct wtl_tree *tree, json_t *to, const struct wtl_report_domain *domains,
		      size_t n, int64_t t_utc_ns)
{
	json_t *array = wtl_tree_array(tree, to, "domains");

	for (size_t i = 0; i < n; i++)
		put_domain(tree, array, &domains[i], t_utc_ns);
}

void wtl_json_carbon(struct wtl_tree *tree, json_t *to, const struct wtl_report *report)
{
	const struct wtl_report_carbon *carbon = &report->carbon;
	json_t *object = wtl_tree_object(tree, to, "carbon");
	const char *reason = wtl_words_not_emitted(carbon, &report->window.total);

	if (!reason) {
		wtl_tree_fixed(tree, object, "gco2e", wtl_words_emitted_ng(carbon), NANO);
		wtl_tree_fixed(tree, object, "gco2e_uncertainty", wtl_words_uncertainty_ng(carbon),
			       NANO);
	}
	if (!reason && carbon->missing_uj > 0)
		wtl_tree_fixed(tree, object, "missing_j", carbon->missing_uj, MICRO);
	if (!carbon->reason)
		wtl_tree_fixed(tree, object, "intensity_g_per_kwh",
			       carbon->carbon.intensity_mg_per_kwh, 3);
	wtl_tree_text(tree, object, "location", carbon->carbon.location);
	wtl_tree_bool(tree, object, "location_is_default", carbon->is_default);
	if (carbon->carbon.dataset[0])
		wtl_tree_text(tree, object, "dataset", carbon->carbon.dataset);
	if (carbon->carbon.year)
		wtl_tree_count(tree, object, "year", carbon->carbon.year);
	if (carbon->pue_milli)
		wtl_tree_fixed(tree, object, "pue", carbon->pue_milli, 3);
	if (carbon->pue_milli && !reason)
		wtl_tree_fixed(tree, object, "gco2e_with_pue",
			       wtl_words_emitted_with_pue_ng(carbon), NANO);
	if (reason)
		wtl_tree_text(tree, object, "reason", reason);
}

json_t *wtl_json_self(struct wtl_tree *tree, json_t *to, const struct wtl_report_self *self)
{
	json_t *object = wtl_tree_object(tree, to, "self");

	wtl_json_seconds(tree, object, "cpu_s", self->cpu_ns);
	if (self->max_rss_bytes)
		wtl_tree_count(tree, object, "max_rss_bytes", self->max_rss_bytes);
	if (self->has_energy) {
		wtl_tree_text(tree, object, "method", wattle_method_name(WATTLE_METHOD_MODELLED));
		wtl_tree_fixed(tree, object, "energy_j", self->energy_uj, MICRO);
		wtl_tree_fixed(tree, object, "uncertainty_j", self->uncertainty_uj, MICRO);
	} else {
		wtl_tree_text(tree, object, "reason", "the processor's power is not known");
	}
	return object;
}

void wtl_json_notes(struct wtl_tree *tree, json_t *to, const struct wtl_report *report)
{
	json_t *array = wtl_tree_array(tree, to, "notes");

	for (size_t i = 0; i < report->n_notes; i++)
		wtl_tree_text(tree, array, NULL, report->notes[i]);
}

void wtl_json_measured(struct wtl_tree *tree, json_t *to, const struct wtl_report *report,
		       const int64_t *end_utc_ns)
{
	wtl_json_utc(tree, to, "start_utc", report->window.begin_utc_ns);
	if (end_utc_ns)
		wtl_json_utc(tree, to, "end_utc", *end_utc_ns);
	wtl_json_seconds(tree, to, "duration_s", report->window.duration_ns);
	wtl_json_total(tree, to, &report->window.total);
	wtl_json_domains(tree, to, report->domains, report->n_domains,
			 end_utc_ns ? *end_utc_ns : wtl_words_end_utc_ns(&report->window));
	wtl_json_ledgers(tree, to, report);
}

static void put_report(struct wtl_tree *tree, json_t *to, const struct wtl_report *report)
{
	json_t *self;

	wtl_json_ran(tree, to, report);
	wtl_json_measured(tree, to, report, NULL);
	wtl_json_attribution(tree, to, report);
	wtl_json_carbon(tree, to, report);
	self = wtl_json_self(tree, to, &report->self);
	wtl_tree_count(tree, self, "ticks", report->self.ticks);
	wtl_tree_count(tree, self, "late_ticks", report->self.late_ticks);
	wtl_json_notes(tree, to, report);
}

void wtl_json_statistics(struct wtl_tree *tree, json_t *to, const char *key,
			 const struct wtl_statistics *of, unsigned decimals)
{
	json_t *object = wtl_tree_object(tree, to, key);

	wtl_tree_count(tree, object, "n", of->n);
	if (of->n == 0) {
		wtl_tree_text(tree, object, "reason", "no run has a figure");
		return;
	}
	wtl_tree_double(tree, object, "mean", of->mean, decimals);
	if (of->n >= 2) {
		wtl_tree_double(tree, object, "sd", of->sd, decimals);
		wtl_tree_double(tree, object, "ci95", of->ci95, decimals);
	} else {
		wtl_tree_text(tree, object, "reason", "one run has no spread");
	}
	wtl_tree_double(tree, object, "min", of->min, decimals);
	wtl_tree_double(tree, object, "max", of->max, decimals);
}

static void put_all_statistics(struct wtl_tree *tree, json_t *to, const struct wtl_series *series)
{
	json_t *object = wtl_tree_object(tree, to, "statistics");
	json_t *array;

	wtl_tree_count(tree, object, "runs", series->duration_s.n);
	wtl_json_statistics(tree, object, "duration_s", &series->duration_s, NANO);
	wtl_json_statistics(tree, object, "energy_j", &series->energy_j, MICRO);
	wtl_json_statistics(tree, object, "gco2e", &series->emitted_g, NANO);
	if (series->n_reports > 0 && series->reports[0].command) {
		wtl_json_statistics(tree, object, "command_dynamic_j", &series->command_dynamic_j,
				    MICRO);
		wtl_json_statistics(tree, object, "command_full_j", &series->command_full_j, MICRO);
	}
	array = wtl_tree_array(tree, object, "domains");
	if (!series->domain_j || series->n_reports == 0)
		return;
	for (size_t i = 0; i < series->reports[0].n_domains; i++) {
		json_t *domain = wtl_tree_object(tree, array, NULL);

		wtl_tree_text(tree, domain, "name", series->reports[0].domains[i].domain.name);
		wtl_json_statistics(tree, domain, "energy_j", &series->domain_j[i], MICRO);
	}
}

static int json_report(struct wtl_buf *buf, const struct wtl_report *report,
		       const struct wtl_output_style *style)
{
	struct wtl_tree tree;
	int rc = wtl_ledgers_check(report);

	if (rc < 0)
		return rc;
	wtl_json_begin(&tree, report_schema);
	put_report(&tree, tree.root, report);
	return wtl_json_end(&tree, buf, style->append);
}

static int json_series(struct wtl_buf *buf, const struct wtl_series *series,
		       const struct wtl_output_style *style)
{
	struct wtl_tree tree;
	json_t *runs;
	int rc = wtl_series_check(series);

	if (rc < 0)
		return rc;
	wtl_json_begin(&tree, "wattle.series/1");
	runs = wtl_tree_array(&tree, tree.root, "runs");
	for (size_t i = 0; i < series->n_reports; i++) {
		json_t *run = wtl_tree_object(&tree, runs, NULL);

		wtl_json_schema(&tree, run, report_schema);
		put_report(&tree, run, &series->reports[i]);
	}
	put_all_statistics(&tree, tree.root, series);
	if (series->until > 0) {
		wtl_tree_double(&tree, tree.root, "until", series->until, MICRO);
		wtl_tree_bool(&tree, tree.root, "converged", series->converged);
	}
	return wtl_json_end(&tree, buf, style->append);
}

static void put_machine(struct wtl_tree *tree, json_t *to, const struct wtl_doctor *doctor)
{
	json_t *object = wtl_tree_object(tree, to, "machine");

	wtl_tree_text(tree, object, "cpu_model", doctor->cpu_model);
	wtl_tree_text(tree, object, "product", doctor->product);
	wtl_tree_text(tree, object, "kernel", doctor->kernel);
	if (doctor->n_cpus)
		wtl_tree_count(tree, object, "cpus", doctor->n_cpus);
	if (doctor->n_packages)
		wtl_tree_count(tree, object, "packages", doctor->n_packages);
	if (doctor->memory_bytes)
		wtl_tree_count(tree, object, "memory_bytes", doctor->memory_bytes);
	wtl_tree_bool(tree, object, "is_vm", doctor->is_vm);
	wtl_tree_bool(tree, object, "is_container", doctor->is_container);
}

static void put_ways(struct wtl_tree *tree, json_t *to, const struct wtl_doctor *doctor)
{
	json_t *ways = wtl_tree_array(tree, to, "ways");

	for (size_t i = 0; i < doctor->n_ways; i++) {
		json_t *object = wtl_tree_object(tree, ways, NULL);

		wtl_tree_text(tree, object, "way", doctor->ways[i].way);
		wtl_tree_bool(tree, object, "is_used", doctor->ways[i].is_used);
		wtl_tree_text(tree, object, "reason", doctor->ways[i].reason);
		wtl_tree_text(tree, object, "remedy", doctor->ways[i].remedy);
	}
}

static void put_sources(struct wtl_tree *tree, json_t *to, const struct wtl_doctor *doctor)
{
	json_t *sources = wtl_tree_array(tree, to, "sources");

	for (size_t i = 0; i < doctor->n_sources; i++) {
		const struct wtl_doctor_source *source = &doctor->sources[i];
		json_t *object = wtl_tree_object(tree, sources, NULL);

		wtl_tree_text(tree, object, "source", source->source);
		wtl_tree_text(tree, object, "status", wattle_status_name(source->status));
		wtl_tree_text(tree, object, "reason", source->reason);
		wtl_tree_text(tree, object, "remedy", source->remedy);
	}
}

static int json_doctor(struct wtl_buf *buf, const struct wtl_doctor *doctor,
		       const struct wtl_output_style *style)
{
	struct wtl_tree tree;

	wtl_json_begin(&tree, "wattle.doctor/1");
	wtl_json_utc(&tree, tree.root, "t_utc", doctor->t_utc_ns);
	wtl_tree_text(&tree, tree.root, "summary", doctor->summary);
	put_machine(&tree, tree.root, doctor);
	wtl_json_domains(&tree, tree.root, doctor->domains, doctor->n_domains, doctor->t_utc_ns);
	put_sources(&tree, tree.root, doctor);
	put_ways(&tree, tree.root, doctor);
	return wtl_json_end(&tree, buf, style->append);
}

const struct wtl_output_ops wtl_output_json = {
	.name = "json",
	.doc = "typed, exact to the microjoule; one line a report when appended to a file",
	.report = json_report,
	.series = json_series,
	.doctor = json_doctor,
};
