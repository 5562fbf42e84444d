/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "document/parts.h"
#include "document/recording.h"
#include "document/words.h"

/* docs/report.md describes every key that is not of a report (docs/format-json.md). */

enum { MICRO = 6, NANO = 9, MILLI = 3 };

static const char recording_schema[] = "wattle.recording/1";

/* ---- One recording ---- */

static void put_file(struct wtl_node *to, const struct wtl_recording *recording)
{
	struct wtl_node *object = wtl_doc_object(to, "recording");

	wtl_doc_text(object, "file", recording->path);
	wtl_doc_known(object, "wattle", recording->version);
	wtl_doc_known(object, "imported_from", recording->imported);
	wtl_doc_known(object, "host", recording->host);
	wtl_doc_known(object, "cpu", recording->cpu_model);
	wtl_doc_known(object, "kernel", recording->kernel);
	wtl_doc_known(object, "location", recording->location);
	wtl_doc_utc(object, "begin_utc", recording->begin_utc_ns);
	wtl_doc_integer(object, "begin_mono_ns", recording->begin_mono_ns);
	wtl_doc_seconds(object, "span_s", recording->span_ns);
	if (recording->interval_ns > 0)
		wtl_doc_nano(object, "interval_s", (uint64_t)recording->interval_ns);
	wtl_doc_flag(object, "is_whole", recording->is_whole);
	wtl_doc_flag(object, "is_live", recording->is_live);
	wtl_doc_flag(object, "is_part", recording->is_part);
	if (recording->n_runs > 0)
		wtl_doc_count(object, "n_runs", recording->n_runs);
}

static void put_policy(struct wtl_node *to, const struct wtl_recording *recording)
{
	struct wtl_node *object = wtl_doc_object(to, "policy");
	struct wtl_node *given = NULL;

	wtl_doc_text(object, "idle", recording->policy.idle);
	if (recording->policy.n_idle_given > 0)
		given = wtl_doc_list(object, "idle_given");
	for (size_t i = 0; i < recording->policy.n_idle_given; i++)
		wtl_doc_text(given, NULL, recording->policy.idle_given[i]);
	if (recording->policy.is_smoothed)
		wtl_doc_text(object, "weight", "smoothed");
}

static void put_varying(struct wtl_node *to, const struct wtl_recording *recording)
{
	const struct wtl_emission *emission = &recording->carbon.emission;
	struct wtl_node *object;

	if (!recording->carbon.is_varying)
		return;
	object = wtl_doc_object(to, "intensity");
	wtl_doc_text(object, "file", recording->carbon.file);
	if (emission->has_intensity) {
		wtl_doc_fixed(object, "min_g_per_kwh", emission->least_mg_per_kwh, MILLI);
		wtl_doc_fixed(object, "max_g_per_kwh", emission->greatest_mg_per_kwh, MILLI);
	}
	wtl_doc_seconds(object, "known_s", emission->known_ns);
	wtl_doc_seconds(object, "missing_s", emission->missing_ns);
	wtl_doc_micro(object, "missing_j",
		      emission->missing_uj > 0 ? (uint64_t)emission->missing_uj : 0);
	if (emission->missing_ns > 0)
		wtl_doc_text(
			object, "reason",
			"the intensity is not known for all of the time: what was used in the rest "
			"is not in gco2e");
}

static void put_group(struct wtl_node *to, const struct wtl_recording_group *group)
{
	wtl_doc_count(to, "n_processes", group->n_processes);
	wtl_doc_seconds(to, "cpu_s", group->cpu_ns);
	wtl_doc_share(to, &group->all);
	if (group->gpu.full_uj > 0)
		wtl_doc_micro(to, "gpu_j", group->gpu.full_uj);
}

static void put_grouping(struct wtl_node *to, const struct wtl_recording_grouping *grouping)
{
	struct wtl_node *object = wtl_doc_object(to, wtl_by_plural(grouping->by));
	struct wtl_node *array = wtl_doc_list(object, "groups"), *others;

	for (size_t i = 0; i < grouping->n_groups; i++) {
		struct wtl_node *group = wtl_doc_object(array, NULL);

		if (grouping->groups[i].name[0])
			wtl_doc_text(group, wtl_by_name(grouping->by), grouping->groups[i].name);
		else
			wtl_doc_null(group, wtl_by_name(grouping->by));
		put_group(group, &grouping->groups[i]);
	}
	if (grouping->n_others == 0)
		return;
	others = wtl_doc_object(object, "others");
	wtl_doc_count(others, "n_groups", grouping->n_others);
	put_group(others, &grouping->others);
}

static void put_window_domains(struct wtl_node *to, const struct wtl_recording *recording,
			       const struct wtl_recording_window *window)
{
	struct wtl_node *array = wtl_doc_list(to, "domains");

	for (size_t i = 0; window->energies && i < recording->report.n_domains; i++) {
		struct wtl_node *domain;

		if (!window->energies[i].has_energy)
			continue;
		domain = wtl_doc_object(array, NULL);
		wtl_doc_text(domain, "name", recording->report.domains[i].domain.name);
		wtl_doc_figures(domain, &window->energies[i]);
	}
}

static void put_window_carbon(struct wtl_node *to, const struct wtl_recording_window *window)
{
	const char *reason = wtl_words_not_all_emitted(&window->carbon, &window->window.total);

	if (!window->has_carbon)
		return;
	if (reason) {
		wtl_doc_text(to, "gco2e_reason", reason);
		return;
	}
	wtl_doc_nano(to, "gco2e", wtl_words_emitted_ng(&window->carbon));
	wtl_doc_nano(to, "gco2e_uncertainty", wtl_words_uncertainty_ng(&window->carbon));
}

static void put_window(struct wtl_node *to, const struct wtl_recording *recording,
		       const struct wtl_recording_window *window)
{
	wtl_doc_count(to, "id", window->id);
	wtl_doc_text(to, "name", window->name);
	wtl_doc_flag(to, "is_main", window->is_main);
	wtl_doc_flag(to, "is_open", window->is_open);
	if (window->is_cut)
		wtl_doc_flag(to, "is_cut", true);
	if (window->pid > 0)
		wtl_doc_integer(to, "pid", window->pid);
	wtl_doc_utc(to, "begin_utc", window->window.begin_utc_ns);
	wtl_doc_integer(to, "begin_mono_ns", window->window.begin_mono_ns);
	if (!window->energies) {
		wtl_doc_text(to, "reason", "its figures are not known");
		return;
	}
	wtl_doc_seconds(to, "duration_s", window->window.duration_ns);
	wtl_doc_total(to, &window->window.total);
	put_window_carbon(to, window);
	put_window_domains(to, recording, window);
}

/* A clock may step by years: more digits than a double keeps. */
static void put_signed_seconds(struct wtl_node *to, const char *key, int64_t ns)
{
	wtl_doc_signed(to, key, ns < 0, ns < 0 ? -(uint64_t)ns : (uint64_t)ns, NANO);
}

static void put_gaps(struct wtl_node *to, const struct wtl_recording *recording)
{
	struct wtl_node *array = wtl_doc_list(to, "gaps");

	for (size_t i = 0; i < recording->n_gaps; i++) {
		const struct wtl_recording_gap *gap = &recording->gaps[i];
		struct wtl_node *object = wtl_doc_object(array, NULL);

		wtl_doc_text(object, "kind", gap->kind);
		wtl_doc_utc(object, "begin_utc", gap->begin_utc_ns);
		put_signed_seconds(object, "duration_s", gap->duration_ns);
		wtl_doc_known(object, "domain", gap->domain);
		wtl_doc_known(object, "text", gap->text);
	}
}

static void put_recording(struct wtl_node *to, const struct wtl_recording *recording)
{
	const struct wtl_report *report = &recording->report;
	struct wtl_node *object;

	put_file(to, recording);
	put_policy(to, recording);
	wtl_doc_ran(to, report);
	wtl_doc_measured(to, report, &recording->end_utc_ns);
	wtl_doc_attribution(to, report);
	object = wtl_doc_object(to, "by");
	for (size_t i = 0; i < recording->n_groupings; i++)
		put_grouping(object, &recording->groupings[i]);
	object = wtl_doc_list(to, "windows");
	for (size_t i = 0; i < recording->n_windows; i++)
		put_window(wtl_doc_object(object, NULL), recording, &recording->windows[i]);
	put_gaps(to, recording);
	wtl_doc_carbon(to, report);
	put_varying(to, recording);
	wtl_doc_self(to, &report->self);
	wtl_doc_notes(to, report);
}

/* ---- Its table: who used it, or windows (docs/report.md) ---- */

/* ROW has what only the table has; FIGURE is a process, a group, or a domain within a window. */
enum { OF, ROW, FIGURE, EMITTED, SCOPES };

static const struct wtl_doc_table group_table = {
	"groups", "0:start_utc,duration_s 1:by,name 2:pid 1:user,processes 2:cpu_s,dynamic_j,"
		  "full_j,uncertainty_j 1:gpu_j"};
static const struct wtl_doc_table window_table = {
	"windows", "0:id,name,begin_utc,begin_mono_ns,duration_s,is_main,is_open,pid 1:domain "
		   "2:energy_j,uncertainty_j,mean_w,max_w,measured_s,gap_s,flags 3:gco2e,"
		   "gco2e_uncertainty 1:is_cut"};

/* Returns the object for cells that only the table has. */
static struct wtl_node *add_group_row(struct wtl_doc *doc, enum wtl_by by, const char *name,
				      const struct wtl_node *figure)
{
	struct wtl_node *row = wtl_doc_aside(doc);
	const struct wtl_node *const scopes[] = {[OF] = doc->root, [ROW] = row, [FIGURE] = figure};

	wtl_doc_text(row, "by", wtl_by_name(by));
	wtl_doc_text(row, "name", name);
	wtl_doc_add_row(doc, scopes, FIGURE + 1);
	return row;
}

/* The energy of no process, so that the rows add up to the total. */
static void add_nobody_row(struct wtl_doc *doc, const struct wtl_recording *recording,
			   enum wtl_by by)
{
	struct wtl_node *figure = wtl_doc_aside(doc);
	uint64_t full_uj;

	if (!wtl_words_no_process_uj(&recording->report, &full_uj))
		return;
	wtl_doc_micro(figure, "full_j", full_uj);
	add_group_row(doc, by, "no process", figure);
}

static void add_process_rows(struct wtl_doc *doc, const struct wtl_recording *recording)
{
	const struct wtl_report_attribution *attribution = &recording->report.attribution;
	const struct wtl_node *list = wtl_node_get(doc->root, "processes");
	const struct wtl_node *node = list ? list->first : NULL;
	bool has_gpu = wtl_words_has_gpu(&recording->report);
	struct wtl_node *row;

	for (size_t i = 0; node && i < attribution->n_processes; i++, node = node->next) {
		const struct wtl_report_process *process = &attribution->processes[i];

		row = add_group_row(doc, WTL_BY_PROCESS, wtl_words_consumer(process->consumer),
				    node);
		wtl_doc_text(row, "user", process->user);
		wtl_doc_count(row, "processes", process->consumer->n_processes);
		if (has_gpu)
			wtl_doc_micro(row, "gpu_j", process->gpu.full_uj);
	}
	if (attribution->n_others > 0 || attribution->others.full_uj > 0) {
		row = add_group_row(doc, WTL_BY_PROCESS, "others",
				    wtl_node_get(doc->root, "others"));
		wtl_doc_count(row, "processes", attribution->n_others);
	}
	add_nobody_row(doc, recording, WTL_BY_PROCESS);
}

static void add_one_group(struct wtl_doc *doc, const struct wtl_recording *recording,
			  enum wtl_by by, const char *name, const struct wtl_recording_group *group,
			  const struct wtl_node *figure)
{
	struct wtl_node *row = add_group_row(doc, by, name, figure);

	wtl_doc_count(row, "processes", group->n_processes);
	if (wtl_words_has_gpu(&recording->report))
		wtl_doc_micro(row, "gpu_j", group->gpu.full_uj);
}

static void add_grouping_rows(struct wtl_doc *doc, const struct wtl_recording *recording,
			      const struct wtl_recording_grouping *grouping)
{
	const struct wtl_node *put =
		wtl_node_get(wtl_node_get(doc->root, "by"), wtl_by_plural(grouping->by));
	const struct wtl_node *node = wtl_node_get(put, "groups")->first;

	for (size_t i = 0; i < grouping->n_groups; i++, node = node->next)
		add_one_group(doc, recording, grouping->by, grouping->groups[i].name,
			      &grouping->groups[i], node);
	if (grouping->n_others > 0)
		add_one_group(doc, recording, grouping->by, "others", &grouping->others,
			      wtl_node_get(put, "others"));
	add_nobody_row(doc, recording, grouping->by);
}

static void add_window_row(struct wtl_doc *doc, const struct wtl_recording_window *window,
			   const struct wtl_node *node, const char *domain,
			   const struct wattle_energy *energy)
{
	bool is_total = energy == &window->window.total;
	struct wtl_node *row = wtl_doc_aside(doc), *figure = wtl_doc_aside(doc);
	const struct wtl_node *const scopes[SCOPES] = {
		[OF] = node, [ROW] = row, [FIGURE] = figure, [EMITTED] = is_total ? node : NULL};

	wtl_doc_text(row, "domain", domain);
	wtl_doc_flag(row, "is_cut", window->is_cut);
	wtl_doc_figures(figure, energy);
	wtl_doc_add_row(doc, scopes, SCOPES);
}

static void add_window_rows(struct wtl_doc *doc, const struct wtl_recording *recording)
{
	const struct wtl_node *node = wtl_node_get(doc->root, "windows")->first;

	for (size_t i = 0; i < recording->n_windows; i++, node = node->next) {
		const struct wtl_recording_window *window = &recording->windows[i];

		for (size_t k = 0; window->energies && k < recording->report.n_domains; k++)
			add_window_row(doc, window, node, recording->report.domains[k].domain.name,
				       &window->energies[k]);
		add_window_row(doc, window, node, "total", &window->window.total);
	}
}

static void add_rows(struct wtl_doc *doc, const struct wtl_recording *recording)
{
	if (!recording->has_by) {
		wtl_doc_report_rows(doc, doc->root, &recording->report, 1);
		return;
	}
	doc->table = recording->by == WTL_BY_WINDOW ? &window_table : &group_table;
	if (recording->by == WTL_BY_WINDOW)
		add_window_rows(doc, recording);
	if (recording->by == WTL_BY_PROCESS)
		add_process_rows(doc, recording);
	for (size_t i = 0; i < recording->n_groupings; i++)
		add_grouping_rows(doc, recording, &recording->groupings[i]);
}

void wtl_doc_recording(struct wtl_doc *doc, const void *what)
{
	const struct wtl_recording *recording = what;

	wtl_doc_schema(doc->root, recording_schema);
	put_recording(doc->root, recording);
	if (!doc->error)
		add_rows(doc, recording);
}

/* ---- Several, side by side ---- */

/* A key for each enum wtl_compared_quantity, and one without a unit: the column of the table. */
enum { PLAIN = WTL_COMPARED_G + 1, KEYS };
static const char *const value_keys[KEYS] = {"value_s", "value_j", "value_w", "value_gco2e",
					     "value"};
static const char *const uncertainty_keys[KEYS] = {
	"uncertainty_s", "uncertainty_j", "uncertainty_w", "uncertainty_gco2e", "uncertainty"};
static const char *const difference_keys[KEYS] = {"difference_s", "difference_j", "difference_w",
						  "difference_gco2e", "difference"};
static const char *const difference_uncertainty_keys[KEYS] = {
	"difference_uncertainty_s", "difference_uncertainty_j", "difference_uncertainty_w",
	"difference_uncertainty_gco2e", "difference_uncertainty"};

static const struct wtl_doc_table comparison_table = {
	"comparison",
	"what,unit,recording,file,value,uncertainty,difference,difference_uncertainty,ratio,"
	"is_significant,is_same_sensor,is_incomplete,has_other_domains"};

static void put_difference(struct wtl_node *to, const struct wtl_compared *row,
			   const struct wtl_compared_value *value, size_t key)
{
	const struct wtl_difference *difference = &value->difference;
	bool is_time = row->quantity == WTL_COMPARED_S;
	bool is_sure = !is_time || difference->uncertainty > 0;

	wtl_doc_signed(to, difference_keys[key], difference->is_negative, difference->value, MICRO);
	if (is_sure)
		wtl_doc_micro(to, difference_uncertainty_keys[key], difference->uncertainty);
	if (difference->has_ratio)
		wtl_doc_double(to, "ratio", difference->ratio, MICRO);
	if (is_sure)
		wtl_doc_flag(to, "is_significant", difference->is_significant);
	if (!is_time)
		wtl_doc_flag(to, "is_same_sensor", value->is_common);
	if (value->has_other_domains || key == PLAIN)
		wtl_doc_flag(to, "has_other_domains", value->has_other_domains);
}

static void put_value(struct wtl_node *to, const struct wtl_compared *row,
		      const struct wtl_compared_value *value, size_t key)
{
	if (!value->is_known) {
		wtl_doc_text(to, "reason", "this recording has no such figure");
		return;
	}
	wtl_doc_micro(to, value_keys[key], value->measured.value);
	/* A single duration is exact; a mean of several has an error. */
	if (row->quantity != WTL_COMPARED_S || value->measured.uncertainty > 0)
		wtl_doc_micro(to, uncertainty_keys[key], value->measured.uncertainty);
	if (value->is_incomplete || key == PLAIN)
		wtl_doc_flag(to, "is_incomplete", value->is_incomplete);
	if (value->has_difference)
		put_difference(to, row, value, key);
}

static void add_compared_row(struct wtl_doc *doc, const struct wtl_comparison *comparison,
			     const struct wtl_compared *row, size_t i)
{
	static const char *const units[] = {
		[WTL_COMPARED_S] = "s",
		[WTL_COMPARED_J] = "J",
		[WTL_COMPARED_W] = "W",
		[WTL_COMPARED_G] = "gCO2e",
	};
	struct wtl_node *cells = wtl_doc_aside(doc);
	const struct wtl_node *const scopes[] = {cells};

	wtl_doc_text(cells, "what", row->what);
	wtl_doc_text(cells, "unit", units[row->quantity]);
	wtl_doc_count(cells, "recording", i + 1);
	wtl_doc_text(cells, "file", comparison->recordings[i].path);
	put_value(cells, row, &row->values[i], PLAIN);
	wtl_doc_add_row(doc, scopes, 1);
}

static void put_compared(struct wtl_node *to, const struct wtl_compared *row, size_t n)
{
	struct wtl_node *values;

	wtl_doc_text(to, "what", row->what);
	wtl_doc_flag(to, "is_domain", row->is_domain);
	values = wtl_doc_list(to, "values");
	for (size_t i = 0; i < n; i++)
		put_value(wtl_doc_object(values, NULL), row, &row->values[i], row->quantity);
}

void wtl_doc_comparison(struct wtl_doc *doc, const void *what)
{
	const struct wtl_comparison *comparison = what;
	struct wtl_node *list;

	wtl_doc_schema(doc->root, "wattle.comparison/1");
	list = wtl_doc_list(doc->root, "comparison");
	for (size_t i = 0; i < comparison->n_rows; i++)
		put_compared(wtl_doc_object(list, NULL), &comparison->rows[i],
			     comparison->n_recordings);
	list = wtl_doc_list(doc->root, "recordings");
	for (size_t i = 0; i < comparison->n_recordings; i++) {
		struct wtl_node *object = wtl_doc_object(list, NULL);

		wtl_doc_schema(object, recording_schema);
		put_recording(object, &comparison->recordings[i]);
	}
	doc->table = &comparison_table;
	for (size_t i = 0; i < comparison->n_rows; i++)
		for (size_t k = 0; k < comparison->n_recordings; k++)
			add_compared_row(doc, comparison, &comparison->rows[i], k);
}

/* ---- Repeated runs ---- */

enum { RUN, TOTAL, CARBON, CELLS, RUN_SCOPES };

static const struct wtl_doc_table runs_table = {
	"runs", "0:file,run,start_utc,duration_s 1:energy_j,uncertainty_j,mean_w "
		"3:command_dynamic_j,command_full_j 2:gco2e,gco2e_uncertainty 0:gco2e_per_s,"
		"exit_status,interrupted 3:is_unfinished"};

static void add_run_row(struct wtl_doc *doc, const struct wtl_run *run, const struct wtl_node *node)
{
	const struct wtl_report *report = &run->report;
	const struct wtl_node *command = wtl_node_get(node, "command_energy");
	struct wtl_node *cells = wtl_doc_aside(doc);
	const struct wtl_node *scopes[RUN_SCOPES] = {
		[RUN] = node,
		[TOTAL] = wtl_node_get(node, "total"),
		[CELLS] = cells,
	};

	if (!wtl_words_not_all_emitted(&report->carbon, &report->window.total))
		scopes[CARBON] = wtl_node_get(node, "carbon");
	wtl_doc_copy(cells, "command_dynamic_j", wtl_node_get(command, "dynamic_j"));
	wtl_doc_copy(cells, "command_full_j", wtl_node_get(command, "full_j"));
	wtl_doc_flag(cells, "is_unfinished", run->is_unfinished);
	wtl_doc_add_row(doc, scopes, RUN_SCOPES);
}

static void put_run(struct wtl_node *to, const struct wtl_run *run)
{
	const struct wtl_report *report = &run->report;
	const struct wtl_report_attribution *attribution = &report->attribution;
	uint64_t rate_ng_per_s;

	wtl_doc_text(to, "file", run->path);
	wtl_doc_count(to, "run", run->number);
	wtl_doc_ran(to, report);
	if (run->is_unfinished)
		wtl_doc_flag(to, "is_unfinished", true);
	wtl_doc_measured(to, report, NULL);
	if (attribution->is_known && attribution->has_command)
		wtl_doc_share(wtl_doc_object(to, "command_energy"), &attribution->command);
	wtl_doc_carbon(to, report);
	if (wtl_run_rate_ng_per_s(run, &rate_ng_per_s))
		wtl_doc_nano(to, "gco2e_per_s", rate_ng_per_s);
}

static void put_sum(struct wtl_node *to, const struct wtl_runs_sum *sum)
{
	wtl_doc_count(to, "n_runs", sum->n);
	wtl_doc_seconds(to, "duration_s", (int64_t)sum->duration_ns);
	wtl_doc_count(to, "n_energy", sum->n_energy);
	if (sum->n_energy > 0) {
		wtl_doc_micro(to, "energy_j", sum->energy_uj);
		wtl_doc_micro(to, "uncertainty_j", sum->energy_uncertainty_uj);
	}
	wtl_doc_count(to, "n_emitted", sum->n_emitted);
	if (sum->n_emitted > 0) {
		wtl_doc_nano(to, "gco2e", sum->emitted_ng);
		wtl_doc_micro(to, "gco2e_uncertainty", sum->emitted_uncertainty_ug);
	}
}

void wtl_doc_runs(struct wtl_doc *doc, const void *what)
{
	const struct wtl_runs *runs = what;
	struct wtl_node *list, *object;

	wtl_doc_schema(doc->root, "wattle.runs/1");
	list = wtl_doc_list(doc->root, "runs");
	for (size_t i = 0; i < runs->n_runs; i++) {
		object = wtl_doc_object(list, NULL);
		put_run(object, &runs->runs[i]);
		add_run_row(doc, &runs->runs[i], object);
	}
	doc->table = &runs_table;
	put_sum(wtl_doc_object(doc->root, "sum"), &runs->sum);
	list = wtl_doc_list(doc->root, "files");
	for (size_t i = 0; i < runs->n_recordings; i++) {
		object = wtl_doc_object(list, NULL);
		put_file(object, runs->recordings[i]);
		put_policy(object, runs->recordings[i]);
		put_gaps(object, runs->recordings[i]);
	}
	wtl_doc_run_statistics(doc->root, runs->of, true, true);
}
