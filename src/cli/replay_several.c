/* SPDX-License-Identifier: MIT */
/* Several recordings: side by side, or as a series of runs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay_several.h"
#include "cli/run_figures.h"
#include "energy/budget.h"
#include "output/words.h"

/* ---- Statistics over runs ---- */

static void sort_runs(struct wtl_run runs[], size_t n)
{
	/* Those of a file are in order already, and files mostly are. */
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && runs[k].report.window.begin_utc_ns <
						    runs[k - 1].report.window.begin_utc_ns;
		     k--) {
			struct wtl_run run = runs[k];

			runs[k] = runs[k - 1];
			runs[k - 1] = run;
		}
}

static const struct wtl_report *listed(const void *of, size_t run)
{
	const struct wtl_run *runs = of;

	return &runs[run].report;
}

static const struct wtl_report *replayed(const void *of, size_t run)
{
	return wtl_replay_run(of, run);
}

static void find_statistics(struct wtl_runs *runs)
{
	const struct wtl_run_list all = {listed, runs->runs, runs->n_runs};

	wtl_runs_statistics(&all, wtl_run_duration_s, 0, &runs->duration_s);
	wtl_runs_statistics(&all, wtl_run_energy_j, 0, &runs->energy_j);
	wtl_runs_statistics(&all, wtl_run_power_w, 0, &runs->power_w);
	wtl_runs_statistics(&all, wtl_run_emitted_g, 0, &runs->emitted_g);
	wtl_runs_statistics_of_all(&all, wtl_run_command_dynamic_j, 0, &runs->command_dynamic_j);
	wtl_runs_statistics_of_all(&all, wtl_run_command_full_j, 0, &runs->command_full_j);
}

int wtl_runs_new(struct wtl_replay *const replays[], size_t n, struct wtl_runs *ret_runs)
{
	struct wtl_runs runs = {.has_files = n > 1};
	struct wtl_run *list;
	size_t n_runs = 0;

	for (size_t i = 0; i < n; i++)
		n_runs += wtl_replay_runs(replays[i]);
	list = calloc(n_runs + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < wtl_replay_runs(replays[i]); k++)
			list[runs.n_runs++] = (struct wtl_run){
				.path = wtl_replay_recording(replays[i])->path,
				.number = k + 1,
				.report = *wtl_replay_run(replays[i], k),
			};
	sort_runs(list, n_runs);
	runs.runs = list;
	find_statistics(&runs);
	*ret_runs = runs;
	return 0;
}

void wtl_runs_free(struct wtl_runs *runs)
{
	free((void *)(uintptr_t)runs->runs);
	runs->runs = NULL;
}

/* ---- Side by side ---- */

enum { WHAT_SIZE = WTL_NAME_SIZE, ROWS_BESIDE_DOMAINS = 6 };

struct builder {
	struct wtl_replay *const *replays;
	size_t n;
	struct wtl_comparison_data *data;
	size_t n_rows;
};

static const struct wtl_recording *recording_of(const struct builder *builder, size_t i)
{
	return wtl_replay_recording(builder->replays[i]);
}

static bool is_same_machine(const struct wtl_recording *a, const struct wtl_recording *b)
{
	return a->host[0] && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->cpu_model, b->cpu_model) == 0;
}

static const struct wtl_report_domain *find_domain(const struct wtl_recording *recording,
						   const char *name, size_t *ret_i)
{
	for (size_t i = 0; i < recording->report.n_domains; i++)
		if (strcmp(recording->report.domains[i].domain.name, name) == 0) {
			*ret_i = i;
			return &recording->report.domains[i];
		}
	return NULL;
}

static bool is_same_source(const struct wtl_report_domain *a, const struct wtl_report_domain *b)
{
	return a->domain.source && b->domain.source &&
	       strcmp(a->domain.source, b->domain.source) == 0 &&
	       a->energy.method == b->energy.method;
}

static struct wtl_compared_value *add_row(struct builder *builder, const char *what, bool is_domain,
					  enum wtl_compared_quantity quantity)
{
	struct wtl_compared *row = &builder->data->rows[builder->n_rows];
	struct wtl_compared_value *values = &builder->data->values[builder->n_rows * builder->n];

	builder->n_rows++;
	*row = (struct wtl_compared){
		.what = what, .is_domain = is_domain, .quantity = quantity, .values = values};
	return values;
}

/* Differences to the first; common[i] < 0: not by the same sensors. */
static void add_differences(struct builder *builder, struct wtl_compared_value values[],
			    const double common[])
{
	for (size_t i = 1; i < builder->n; i++) {
		if (!values[0].is_known || !values[i].is_known)
			continue;
		values[i].has_difference = true;
		values[i].is_common = common && common[i] >= 0.0;
		wtl_difference_of(&values[0].measured, &values[i].measured,
				  common ? common[i] : -1.0, &values[i].difference);
	}
}

static double gain_uj(const struct wtl_recording *recording, size_t i,
		      const struct wattle_energy *energy)
{
	const struct wtl_recording_sensor *sensor = &recording->sensors[i];

	return wtl_budget_gain_uj(energy->energy_uj, sensor->gain_ppm, sensor->offset_uw,
				  energy->measured_ns);
}

/* What gain and zero leave of the difference of two energies by one sensor: signed, so that those of
 * several domains of one source can be added. */
static double common_uj(const struct wtl_recording_sensor *sensor, const struct wattle_energy *a,
			const struct wattle_energy *b)
{
	bool is_less = b->energy_uj < a->energy_uj;
	uint64_t apart_uj = is_less ? a->energy_uj - b->energy_uj : b->energy_uj - a->energy_uj;
	int64_t apart_ns = b->measured_ns - a->measured_ns;
	double left_uj = wtl_budget_gain_uj(apart_uj, sensor->gain_ppm, sensor->offset_uw,
					    apart_ns < 0 ? -apart_ns : apart_ns);

	return is_less ? -left_uj : left_uj;
}

/* What repeated runs say: their mean, and the 95 % interval of it instead of each one's own error. */
static void mean_over_runs(const struct wtl_replay *replay, wtl_run_figure *figure, size_t domain,
			   struct wtl_compared_value *value)
{
	const struct wtl_run_list runs = {replayed, replay, wtl_replay_runs(replay)};
	struct wtl_statistics statistics;

	if (runs.n < 2)
		return;
	wtl_runs_statistics_of_all(&runs, figure, domain, &statistics);
	if (statistics.n == 0)
		return;
	value->is_known = true;
	value->measured.value = (uint64_t)llround(statistics.mean * 1e6);
	value->measured.uncertainty =
		(uint64_t)llround(hypot(statistics.ci95 * 1e6, 2.0 * value->measured.common));
}

static void add_domain(struct builder *builder, const char *name, double common[])
{
	struct wtl_compared_value *values = add_row(builder, name, true, WTL_COMPARED_J);
	const struct wtl_report_domain *first = NULL;
	size_t at;

	for (size_t i = 0; i < builder->n; i++) {
		const struct wtl_recording *recording = recording_of(builder, i);
		const struct wtl_report_domain *domain = find_domain(recording, name, &at);

		common[i] = -1.0;
		if (!domain || !domain->energy.has_energy)
			continue;
		values[i].is_known = true;
		values[i].measured = (struct wtl_measured){
			.value = domain->energy.energy_uj,
			.uncertainty = domain->energy.uncertainty_uj,
			.common = gain_uj(recording, at, &domain->energy),
		};
		mean_over_runs(builder->replays[i], wtl_run_domain_j, at, &values[i]);
		if (i == 0)
			first = domain;
		else if (first && is_same_source(first, domain) &&
			 is_same_machine(recording_of(builder, 0), recording))
			common[i] = fabs(common_uj(&recording->sensors[at], &first->energy,
						   &domain->energy));
	}
	add_differences(builder, values, common);
}

/* The total's parts by source: gains of one source err alike. */
static double total_gain(const struct wtl_recording *recording, const struct wtl_recording *first)
{
	double variance = 0.0;

	for (size_t i = 0; i < recording->report.n_domains; i++) {
		const struct wtl_report_domain *own = &recording->report.domains[i], *other;
		double sum_uj = 0.0;
		bool is_first = true;
		size_t at;

		if (!own->domain.in_total || !own->energy.has_energy)
			continue;
		for (size_t k = 0; k < i; k++)
			is_first &=
				recording->report.domains[k].domain.source != own->domain.source;
		for (size_t k = i; is_first && k < recording->report.n_domains; k++) {
			const struct wtl_report_domain *part = &recording->report.domains[k];

			if (!part->domain.in_total || !part->energy.has_energy ||
			    part->domain.source != own->domain.source)
				continue;
			other = first ? find_domain(first, part->domain.name, &at) : NULL;
			sum_uj += other ? common_uj(&recording->sensors[k], &other->energy,
						    &part->energy)
					: gain_uj(recording, k, &part->energy);
		}
		variance += sum_uj * sum_uj;
	}
	return sqrt(variance);
}

/* Have both the same domains in their totals, by the same sensors? */
static bool is_same_total(const struct wtl_recording *a, const struct wtl_recording *b)
{
	size_t at;

	if (!is_same_machine(a, b) || a->report.n_domains != b->report.n_domains)
		return false;
	for (size_t i = 0; i < a->report.n_domains; i++) {
		const struct wtl_report_domain *own = &a->report.domains[i];
		const struct wtl_report_domain *other = find_domain(b, own->domain.name, &at);

		if (!own->domain.in_total)
			continue;
		if (!other || own->energy.has_energy != other->energy.has_energy ||
		    (own->energy.has_energy && !is_same_source(own, other)))
			return false;
	}
	return true;
}

static void add_total(struct builder *builder, double common[])
{
	struct wtl_compared_value *values = add_row(builder, "energy", false, WTL_COMPARED_J);
	const struct wtl_recording *first = recording_of(builder, 0);

	for (size_t i = 0; i < builder->n; i++) {
		const struct wtl_recording *recording = recording_of(builder, i);
		const struct wattle_energy *total = &recording->report.window.total;

		values[i].is_known = total->has_energy;
		values[i].measured = (struct wtl_measured){
			.value = total->energy_uj,
			.uncertainty = total->uncertainty_uj,
			.common = total_gain(recording, NULL),
		};
		mean_over_runs(builder->replays[i], wtl_run_energy_j, 0, &values[i]);
		common[i] = i > 0 && is_same_total(first, recording) ? total_gain(recording, first)
								     : -1.0;
	}
	add_differences(builder, values, common);
}

/* Mean power: what energy's errors are, over the time. */
static void add_power(struct builder *builder, const struct wtl_compared_value energies[],
		      double common[])
{
	struct wtl_compared_value *values = add_row(builder, "power", false, WTL_COMPARED_W);
	double first_w = 0.0, first_gain = 0.0;

	for (size_t i = 0; i < builder->n; i++) {
		const struct wattle_energy *total = &recording_of(builder, i)->report.window.total;
		double seconds = wtl_run_duration_s(&recording_of(builder, i)->report, 0), relative;

		common[i] = -1.0;
		if (!total->has_energy || !total->has_power || seconds <= 0.0)
			continue;
		relative = total->energy_uj > 0
				   ? (double)total->uncertainty_uj / (double)total->energy_uj
				   : 0.0;
		values[i].is_known = true;
		values[i].measured = (struct wtl_measured){
			.value = total->mean_uw,
			.uncertainty = (uint64_t)llround(relative * (double)total->mean_uw),
			.common = energies[i].measured.common / seconds,
		};
		mean_over_runs(builder->replays[i], wtl_run_power_w, 0, &values[i]);
		if (i == 0) {
			first_w = (double)values[i].measured.value;
			first_gain = values[i].measured.common;
		} else if (energies[i].is_common && first_w > 0.0) {
			common[i] = first_gain * fabs((double)values[i].measured.value - first_w) /
				    first_w;
		}
	}
	add_differences(builder, values, common);
}

/* What its sensors' gains may be wrong by, of the whole. */
static double relative_gain(const struct builder *builder,
			    const struct wtl_compared_value energies[], size_t i)
{
	/* Over runs, the value is their mean, but what is common that of the last one. */
	const struct wattle_energy *total = &recording_of(builder, i)->report.window.total;

	return total->has_energy && total->energy_uj > 0
		       ? energies[i].measured.common / (double)total->energy_uj
		       : 0.0;
}

static void add_command(struct builder *builder, const struct wtl_compared_value energies[],
			bool is_dynamic)
{
	struct wtl_compared_value *values = add_row(
		builder, is_dynamic ? "command, dynamic" : "command, full", false, WTL_COMPARED_J);
	wtl_run_figure *figure = is_dynamic ? wtl_run_command_dynamic_j : wtl_run_command_full_j;

	for (size_t i = 0; i < builder->n; i++) {
		const struct wtl_report *report = &recording_of(builder, i)->report;
		const struct wtl_report_share *share = &report->attribution.command;

		values[i].is_known = isfinite(figure(report, 0));
		if (!values[i].is_known)
			continue;
		values[i].measured = (struct wtl_measured){
			.value = is_dynamic ? share->dynamic_uj : share->full_uj,
			.uncertainty = share->uncertainty_uj,
		};
		values[i].measured.common =
			relative_gain(builder, energies, i) * (double)values[i].measured.value;
		mean_over_runs(builder->replays[i], figure, 0, &values[i]);
	}
	add_differences(builder, values, NULL);
}

static void add_carbon(struct builder *builder, const struct wtl_compared_value energies[])
{
	struct wtl_compared_value *values = add_row(builder, "CO2e", false, WTL_COMPARED_G);

	for (size_t i = 0; i < builder->n; i++) {
		const struct wtl_report *report = &recording_of(builder, i)->report;

		values[i].is_known =
			!wtl_words_not_all_emitted(&report->carbon, &report->window.total);
		if (!values[i].is_known)
			continue;
		values[i].measured = (struct wtl_measured){
			.value = report->carbon.emitted_ug,
			.uncertainty = report->carbon.uncertainty_ug,
			.common = hypot(relative_gain(builder, energies, i),
					report->carbon.carbon.uncertainty_ppm / 1e6) *
				  (double)report->carbon.emitted_ug,
		};
		mean_over_runs(builder->replays[i], wtl_run_emitted_g, 0, &values[i]);
	}
	add_differences(builder, values, NULL);
}

static void add_duration(struct builder *builder)
{
	struct wtl_compared_value *values = add_row(builder, "time", false, WTL_COMPARED_S);

	for (size_t i = 0; i < builder->n; i++) {
		int64_t duration_ns = recording_of(builder, i)->report.window.duration_ns;

		values[i].is_known = true;
		values[i].measured.value = duration_ns > 0 ? (uint64_t)duration_ns / 1000 : 0;
		mean_over_runs(builder->replays[i], wtl_run_duration_s, 0, &values[i]);
	}
	add_differences(builder, values, NULL);
}

/* Every name once, in the order of the recordings. */
static void add_domains(struct builder *builder, double common[])
{
	size_t at;

	for (size_t i = 0; i < builder->n; i++) {
		const struct wtl_recording *recording = recording_of(builder, i);

		for (size_t k = 0; k < recording->report.n_domains; k++) {
			const char *name = recording->report.domains[k].domain.name;
			bool is_new = true;

			for (size_t before = 0; before < i; before++)
				is_new &= !find_domain(recording_of(builder, before), name, &at);
			if (is_new)
				add_domain(builder, name, common);
		}
	}
}

int wtl_comparison_new(struct wtl_replay *const replays[], size_t n,
		       struct wtl_comparison_data *data)
{
	struct builder builder = {.replays = replays, .n = n, .data = data};
	size_t n_rows = ROWS_BESIDE_DOMAINS;
	double *common = calloc(n, sizeof(*common));

	*data = (struct wtl_comparison_data){.rows = NULL};
	if (!common || n < 2) {
		free(common);
		return common ? -EINVAL : -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		n_rows += wtl_replay_recording(replays[i])->report.n_domains;
	data->recordings = calloc(n, sizeof(*data->recordings));
	data->rows = calloc(n_rows, sizeof(*data->rows));
	data->values = calloc(n_rows * n, sizeof(*data->values));
	if (!data->recordings || !data->rows || !data->values) {
		free(common);
		wtl_comparison_free(data);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		data->recordings[i] = *wtl_replay_recording(replays[i]);
	add_duration(&builder);
	add_total(&builder, common);
	add_power(&builder, &data->values[n], common);
	add_domains(&builder, common);
	add_command(&builder, &data->values[n], true);
	add_command(&builder, &data->values[n], false);
	add_carbon(&builder, &data->values[n]);
	free(common);
	data->comparison = (struct wtl_comparison){.recordings = data->recordings,
						   .n_recordings = n,
						   .rows = data->rows,
						   .n_rows = builder.n_rows};
	return 0;
}

void wtl_comparison_free(struct wtl_comparison_data *data)
{
	free(data->recordings);
	free(data->rows);
	free(data->values);
	*data = (struct wtl_comparison_data){.rows = NULL};
}
