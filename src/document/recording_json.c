/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/buf.h"
#include "document/json_parts.h"
#include "document/recording.h"
#include "document/words.h"

/* docs/report.md describes every key that is not of a report (docs/format-json.md). */

enum { MICRO = WTL_JSON_MICRO, NANO = WTL_JSON_NANO, MILLI = 3 };

static const char recording_schema[] = "wattle.recording/1";

/* ---- One recording ---- */

static void put_file(struct wtl_tree *tree, json_t *to, const struct wtl_recording *recording)
{
	json_t *object = wtl_tree_object(tree, to, "recording");

	wtl_tree_text(tree, object, "file", recording->path);
	wtl_json_known(tree, object, "wattle", recording->version);
	wtl_json_known(tree, object, "host", recording->host);
	wtl_json_known(tree, object, "cpu", recording->cpu_model);
	wtl_json_known(tree, object, "kernel", recording->kernel);
	wtl_json_known(tree, object, "location", recording->location);
	wtl_json_utc(tree, object, "begin_utc", recording->begin_utc_ns);
	wtl_tree_integer(tree, object, "begin_mono_ns", recording->begin_mono_ns);
	wtl_json_seconds(tree, object, "span_s", recording->span_ns);
	if (recording->interval_ns > 0)
		wtl_tree_fixed(tree, object, "interval_s", (uint64_t)recording->interval_ns, NANO);
	wtl_tree_bool(tree, object, "is_whole", recording->is_whole);
	wtl_tree_bool(tree, object, "is_live", recording->is_live);
	wtl_tree_bool(tree, object, "is_part", recording->is_part);
	if (recording->n_runs > 0)
		wtl_tree_count(tree, object, "n_runs", recording->n_runs);
}

static void put_policy(struct wtl_tree *tree, json_t *to, const struct wtl_recording *recording)
{
	json_t *object = wtl_tree_object(tree, to, "policy");
	json_t *given = NULL;

	wtl_tree_text(tree, object, "idle", recording->policy.idle);
	if (recording->policy.n_idle_given > 0)
		given = wtl_tree_array(tree, object, "idle_given");
	for (size_t i = 0; i < recording->policy.n_idle_given; i++)
		wtl_tree_text(tree, given, NULL, recording->policy.idle_given[i]);
}

static void put_varying(struct wtl_tree *tree, json_t *to, const struct wtl_recording *recording)
{
	const struct wtl_emission *emission = &recording->carbon.emission;
	json_t *object;

	if (!recording->carbon.is_varying)
		return;
	object = wtl_tree_object(tree, to, "intensity");
	wtl_tree_text(tree, object, "file", recording->carbon.file);
	if (emission->has_intensity) {
		wtl_tree_fixed(tree, object, "min_g_per_kwh", emission->least_mg_per_kwh, MILLI);
		wtl_tree_fixed(tree, object, "max_g_per_kwh", emission->greatest_mg_per_kwh, MILLI);
	}
	wtl_json_seconds(tree, object, "known_s", emission->known_ns);
	wtl_json_seconds(tree, object, "missing_s", emission->missing_ns);
	wtl_tree_fixed(tree, object, "missing_j",
		       emission->missing_uj > 0 ? (uint64_t)emission->missing_uj : 0, MICRO);
	if (emission->missing_ns > 0)
		wtl_tree_text(
			tree, object, "reason",
			"the file does not cover all of the time: what was used in the rest is "
			"not in gco2e");
}

static void put_group(struct wtl_tree *tree, json_t *to, const struct wtl_recording_group *group)
{
	wtl_tree_count(tree, to, "n_processes", group->n_processes);
	wtl_json_seconds(tree, to, "cpu_s", group->cpu_ns);
	wtl_json_share(tree, to, &group->all);
	if (group->gpu.full_uj > 0)
		wtl_tree_fixed(tree, to, "gpu_j", group->gpu.full_uj, MICRO);
}

static void put_grouping(struct wtl_tree *tree, json_t *to,
			 const struct wtl_recording_grouping *grouping)
{
	json_t *object = wtl_tree_object(tree, to, wtl_by_plural(grouping->by));
	json_t *array = wtl_tree_array(tree, object, "groups"), *others;

	for (size_t i = 0; i < grouping->n_groups; i++) {
		json_t *group = wtl_tree_object(tree, array, NULL);

		if (grouping->groups[i].name[0])
			wtl_tree_text(tree, group, wtl_by_name(grouping->by),
				      grouping->groups[i].name);
		else
			wtl_tree_null(tree, group, wtl_by_name(grouping->by));
		put_group(tree, group, &grouping->groups[i]);
	}
	if (grouping->n_others == 0)
		return;
	others = wtl_tree_object(tree, object, "others");
	wtl_tree_count(tree, others, "n_groups", grouping->n_others);
	put_group(tree, others, &grouping->others);
}

static void put_window_domains(struct wtl_tree *tree, json_t *to,
			       const struct wtl_recording *recording,
			       const struct wtl_recording_window *window)
{
	json_t *array = wtl_tree_array(tree, to, "domains");

	for (size_t i = 0; window->energies && i < recording->report.n_domains; i++) {
		json_t *domain;

		if (!window->energies[i].has_energy)
			continue;
		domain = wtl_tree_object(tree, array, NULL);
		wtl_tree_text(tree, domain, "name", recording->report.domains[i].domain.name);
		wtl_json_figures(tree, domain, &window->energies[i]);
	}
}

static void put_window_carbon(struct wtl_tree *tree, json_t *to,
			      const struct wtl_recording_window *window)
{
	const char *reason = wtl_words_not_all_emitted(&window->carbon, &window->window.total);

	if (!window->has_carbon)
		return;
	if (reason) {
		wtl_tree_text(tree, to, "gco2e_reason", reason);
		return;
	}
	wtl_tree_fixed(tree, to, "gco2e", wtl_words_emitted_ng(&window->carbon), NANO);
	wtl_tree_fixed(tree, to, "gco2e_uncertainty", wtl_words_uncertainty_ng(&window->carbon),
		       NANO);
}

static void put_window(struct wtl_tree *tree, json_t *to, const struct wtl_recording *recording,
		       const struct wtl_recording_window *window)
{
	wtl_tree_count(tree, to, "id", window->id);
	wtl_tree_text(tree, to, "name", window->name);
	wtl_tree_bool(tree, to, "is_main", window->is_main);
	wtl_tree_bool(tree, to, "is_open", window->is_open);
	if (window->is_cut)
		wtl_tree_bool(tree, to, "is_cut", true);
	if (window->pid > 0)
		wtl_tree_integer(tree, to, "pid", window->pid);
	wtl_json_utc(tree, to, "begin_utc", window->window.begin_utc_ns);
	wtl_tree_integer(tree, to, "begin_mono_ns", window->window.begin_mono_ns);
	if (!window->energies) {
		wtl_tree_text(tree, to, "reason", "its figures are not known");
		return;
	}
	wtl_json_seconds(tree, to, "duration_s", window->window.duration_ns);
	wtl_json_total(tree, to, &window->window.total);
	put_window_carbon(tree, to, window);
	put_window_domains(tree, to, recording, window);
}

/* A clock may step by years: more digits than a double keeps. */
static void put_signed_seconds(struct wtl_tree *tree, json_t *to, const char *key, int64_t ns)
{
	wtl_tree_signed(tree, to, key, ns < 0, ns < 0 ? -(uint64_t)ns : (uint64_t)ns, NANO);
}

static void put_gaps(struct wtl_tree *tree, json_t *to, const struct wtl_recording *recording)
{
	json_t *array = wtl_tree_array(tree, to, "gaps");

	for (size_t i = 0; i < recording->n_gaps; i++) {
		const struct wtl_recording_gap *gap = &recording->gaps[i];
		json_t *object = wtl_tree_object(tree, array, NULL);

		wtl_tree_text(tree, object, "kind", gap->kind);
		wtl_json_utc(tree, object, "begin_utc", gap->begin_utc_ns);
		put_signed_seconds(tree, object, "duration_s", gap->duration_ns);
		wtl_json_known(tree, object, "domain", gap->domain);
		wtl_json_known(tree, object, "text", gap->text);
	}
}

static void put_recording(struct wtl_tree *tree, json_t *to, const struct wtl_recording *recording)
{
	const struct wtl_report *report = &recording->report;
	json_t *object;

	put_file(tree, to, recording);
	put_policy(tree, to, recording);
	wtl_json_ran(tree, to, report);
	wtl_json_measured(tree, to, report, &recording->end_utc_ns);
	wtl_json_attribution(tree, to, report);
	object = wtl_tree_object(tree, to, "by");
	for (size_t i = 0; i < recording->n_groupings; i++)
		put_grouping(tree, object, &recording->groupings[i]);
	object = wtl_tree_array(tree, to, "windows");
	for (size_t i = 0; i < recording->n_windows; i++)
		put_window(tree, wtl_tree_object(tree, object, NULL), recording,
			   &recording->windows[i]);
	put_gaps(tree, to, recording);
	wtl_json_carbon(tree, to, report);
	put_varying(tree, to, recording);
	wtl_json_self(tree, to, &report->self);
	wtl_json_notes(tree, to, report);
}

static int json_recording(struct wtl_buf *buf, const struct wtl_recording *recording,
			  const struct wtl_output_style *style)
{
	struct wtl_tree tree;
	int rc = wtl_recording_check(recording);

	if (rc < 0)
		return rc;
	wtl_json_begin(&tree, recording_schema);
	put_recording(&tree, tree.root, recording);
	return wtl_json_end(&tree, buf, style->append);
}

/* ---- Several, side by side ---- */

static const char *unit_of(enum wtl_compared_quantity quantity)
{
	switch (quantity) {
	case WTL_COMPARED_S:
		return "s";
	case WTL_COMPARED_J:
		return "j";
	case WTL_COMPARED_W:
		return "w";
	case WTL_COMPARED_G:
		break;
	}
	return "gco2e";
}

static void put_keyed(struct wtl_tree *tree, json_t *to, const char *name, const char *unit,
		      bool is_negative, uint64_t value)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_%s", name, unit);
	wtl_tree_signed(tree, to, key, is_negative, value, MICRO);
}

static void put_value(struct wtl_tree *tree, json_t *to, const struct wtl_compared *row,
		      const struct wtl_compared_value *value)
{
	const char *unit = unit_of(row->quantity);
	bool is_sure;

	if (!value->is_known) {
		wtl_tree_text(tree, to, "reason", "this recording has no such figure");
		return;
	}
	put_keyed(tree, to, "value", unit, false, value->measured.value);
	/* One time is exact: a mean of several has an error. */
	if (row->quantity != WTL_COMPARED_S || value->measured.uncertainty > 0)
		put_keyed(tree, to, "uncertainty", unit, false, value->measured.uncertainty);
	if (value->is_incomplete)
		wtl_tree_bool(tree, to, "is_incomplete", true);
	if (!value->has_difference)
		return;
	put_keyed(tree, to, "difference", unit, value->difference.is_negative,
		  value->difference.value);
	is_sure = row->quantity != WTL_COMPARED_S || value->difference.uncertainty > 0;
	if (is_sure)
		put_keyed(tree, to, "difference_uncertainty", unit, false,
			  value->difference.uncertainty);
	if (value->difference.has_ratio)
		wtl_tree_double(tree, to, "ratio", value->difference.ratio, MICRO);
	if (is_sure)
		wtl_tree_bool(tree, to, "is_significant", value->difference.is_significant);
	if (row->quantity != WTL_COMPARED_S)
		wtl_tree_bool(tree, to, "is_same_sensor", value->is_common);
	if (value->has_other_domains)
		wtl_tree_bool(tree, to, "has_other_domains", true);
}

static void put_compared(struct wtl_tree *tree, json_t *to, const struct wtl_compared *row,
			 size_t n)
{
	json_t *values;

	wtl_tree_text(tree, to, "what", row->what);
	wtl_tree_bool(tree, to, "is_domain", row->is_domain);
	values = wtl_tree_array(tree, to, "values");
	for (size_t i = 0; i < n; i++)
		put_value(tree, wtl_tree_object(tree, values, NULL), row, &row->values[i]);
}

static int json_comparison(struct wtl_buf *buf, const struct wtl_comparison *comparison,
			   const struct wtl_output_style *style)
{
	struct wtl_tree tree;
	json_t *array;
	int rc = wtl_comparison_check(comparison);

	if (rc < 0)
		return rc;
	wtl_json_begin(&tree, "wattle.comparison/1");
	array = wtl_tree_array(&tree, tree.root, "comparison");
	for (size_t i = 0; i < comparison->n_rows; i++)
		put_compared(&tree, wtl_tree_object(&tree, array, NULL), &comparison->rows[i],
			     comparison->n_recordings);
	array = wtl_tree_array(&tree, tree.root, "recordings");
	for (size_t i = 0; i < comparison->n_recordings; i++) {
		json_t *object = wtl_tree_object(&tree, array, NULL);

		wtl_json_schema(&tree, object, recording_schema);
		put_recording(&tree, object, &comparison->recordings[i]);
	}
	return wtl_json_end(&tree, buf, style->append);
}

/* ---- Repeated runs ---- */

static void put_run(struct wtl_tree *tree, json_t *to, const struct wtl_run *run)
{
	const struct wtl_report *report = &run->report;
	const struct wtl_report_attribution *attribution = &report->attribution;
	uint64_t rate_ng_per_s;

	wtl_tree_text(tree, to, "file", run->path);
	wtl_tree_count(tree, to, "run", run->number);
	wtl_json_ran(tree, to, report);
	if (run->is_unfinished)
		wtl_tree_bool(tree, to, "is_unfinished", true);
	wtl_json_measured(tree, to, report, NULL);
	if (attribution->is_known && attribution->has_command)
		wtl_json_share(tree, wtl_tree_object(tree, to, "command_energy"),
			       &attribution->command);
	wtl_json_carbon(tree, to, report);
	if (wtl_run_rate_ng_per_s(run, &rate_ng_per_s))
		wtl_tree_fixed(tree, to, "gco2e_per_s", rate_ng_per_s, NANO);
}

static int json_runs(struct wtl_buf *buf, const struct wtl_runs *runs,
		     const struct wtl_output_style *style)
{
	struct wtl_tree tree;
	json_t *array, *object;
	int rc = wtl_runs_check(runs);

	if (rc < 0)
		return rc;
	wtl_json_begin(&tree, "wattle.runs/1");
	array = wtl_tree_array(&tree, tree.root, "runs");
	for (size_t i = 0; i < runs->n_runs; i++)
		put_run(&tree, wtl_tree_object(&tree, array, NULL), &runs->runs[i]);
	array = wtl_tree_array(&tree, tree.root, "files");
	for (size_t i = 0; i < runs->n_recordings; i++) {
		object = wtl_tree_object(&tree, array, NULL);
		put_file(&tree, object, runs->recordings[i]);
		put_policy(&tree, object, runs->recordings[i]);
		put_gaps(&tree, object, runs->recordings[i]);
	}
	object = wtl_tree_object(&tree, tree.root, "statistics");
	wtl_tree_count(&tree, object, "runs", runs->duration_s.n);
	wtl_json_statistics(&tree, object, "duration_s", &runs->duration_s, NANO);
	wtl_json_statistics(&tree, object, "energy_j", &runs->energy_j, MICRO);
	wtl_json_statistics(&tree, object, "mean_w", &runs->power_w, MICRO);
	wtl_json_statistics(&tree, object, "gco2e", &runs->emitted_g, NANO);
	wtl_json_statistics(&tree, object, "command_dynamic_j", &runs->command_dynamic_j, MICRO);
	wtl_json_statistics(&tree, object, "command_full_j", &runs->command_full_j, MICRO);
	return wtl_json_end(&tree, buf, style->append);
}

const struct wtl_recording_ops wtl_recording_json = {
	.name = "json",
	.recording = json_recording,
	.comparison = json_comparison,
	.runs = json_runs,
};
