/* SPDX-License-Identifier: MIT */
/* Several recordings: side by side, or as a series of runs. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands/report/several.h"
#include "report/run_figures.h"
#include "energy/budget.h"
#include "document/words.h"

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

static const struct wtl_report *replayed(const void *of, size_t run)
{
	const struct wtl_recorded *recorded = of;

	return &recorded->runs[run]->report;
}

static const struct wtl_report *pointed(const void *of, size_t run)
{
	const struct wtl_report *const *reports = of;

	return reports[run];
}

/* Of those that ended: -ENOMEM. */
static int find_statistics(struct wtl_runs *runs)
{
	const struct wtl_report **ended = calloc(runs->n_runs + 1, sizeof(struct wtl_report *));
	struct wtl_run_list all = {pointed, ended, 0};

	if (!ended)
		return -ENOMEM;
	for (size_t i = 0; i < runs->n_runs; i++)
		if (!runs->runs[i].is_unfinished)
			ended[all.n++] = &runs->runs[i].report;
	wtl_runs_statistics(&all, wtl_run_duration_s, 0, &runs->duration_s);
	wtl_runs_statistics(&all, wtl_run_energy_j, 0, &runs->energy_j);
	wtl_runs_statistics(&all, wtl_run_power_w, 0, &runs->power_w);
	wtl_runs_statistics(&all, wtl_run_emitted_g, 0, &runs->emitted_g);
	wtl_runs_statistics_of_all(&all, wtl_run_command_dynamic_j, 0, &runs->command_dynamic_j);
	wtl_runs_statistics_of_all(&all, wtl_run_command_full_j, 0, &runs->command_full_j);
	free(ended);
	return 0;
}

static size_t add_runs(const struct wtl_recorded *replay, struct wtl_run list[])
{
	const struct wtl_recording *recording = &replay->recording;
	const struct wtl_report *unfinished = wtl_recorded_unfinished(replay);
	size_t n = wtl_recorded_runs(replay);

	for (size_t i = 0; i < n; i++)
		list[i] = (struct wtl_run){.path = recording->path,
					   .number = i + 1,
					   .report = replay->runs[i]->report};
	if (!unfinished)
		return n;
	list[n] = (struct wtl_run){.path = recording->path,
				   .number = n + 1,
				   .report = *unfinished,
				   .is_unfinished = true,
				   .is_live = recording->is_live};
	return n + 1;
}

int wtl_runs_new(struct wtl_recorded *const replays[], size_t n, struct wtl_runs *ret_runs)
{
	struct wtl_runs runs = {.has_files = n > 1, .n_recordings = n};
	const struct wtl_recording **recordings = calloc(n + 1, sizeof(*recordings));
	struct wtl_run *list;
	size_t n_runs = 0;

	for (size_t i = 0; i < n; i++)
		n_runs += wtl_recorded_runs(replays[i]) + 1;
	list = calloc(n_runs + 1, sizeof(*list));
	runs.runs = list;
	runs.recordings = recordings;
	if (!list || !recordings) {
		wtl_runs_free(&runs);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		recordings[i] = &replays[i]->recording;
		runs.n_runs += add_runs(replays[i], list + runs.n_runs);
		runs.n_unfinished += wtl_recorded_unfinished(replays[i]) != NULL;
	}
	sort_runs(list, runs.n_runs);
	if (find_statistics(&runs) < 0) {
		wtl_runs_free(&runs);
		return -ENOMEM;
	}
	*ret_runs = runs;
	return 0;
}

void wtl_runs_free(struct wtl_runs *runs)
{
	free((void *)(uintptr_t)runs->runs);
	free((void *)(uintptr_t)runs->recordings);
	runs->runs = NULL;
	runs->recordings = NULL;
}

/* ---- Side by side ---- */

enum { ROWS_BESIDE_DOMAINS = 6 };

#define TOTAL SIZE_MAX /* in the place of a domain */

struct builder {
	struct wtl_recorded *const *replays;
	size_t n;
	struct wtl_comparison_data *data;
	size_t n_rows;
};

static const struct wtl_recording *recording_of(const struct builder *builder, size_t i)
{
	return &builder->replays[i]->recording;
}

/* Of repeated runs those that count, or the recording's only one. */
static struct wtl_run_list runs_of(const struct wtl_recorded *replay)
{
	return (struct wtl_run_list){replayed, replay, wtl_recorded_runs(replay)};
}

/* The last run that counts, of what no mean can be told. */
static const struct wtl_report *report_of(const struct builder *builder, size_t i)
{
	const struct wtl_run_list runs = runs_of(builder->replays[i]);

	for (size_t run = runs.n; run-- > 0;)
		if (!runs.at(runs.of, run)->interrupted)
			return runs.at(runs.of, run);
	return &recording_of(builder, i)->report;
}

static bool is_mean(const struct builder *builder, size_t i)
{
	const struct wtl_run_list runs = runs_of(builder->replays[i]);

	return wtl_runs_whole(&runs) > 1;
}

static const struct wattle_energy *energy_in(const struct wtl_report *report, size_t domain)
{
	return domain == TOTAL ? &report->window.total : &report->domains[domain].energy;
}

/* What a recording used, over repeated runs their mean: has_energy: each of them has it. */
static struct wattle_energy energy_of(const struct builder *builder, size_t i, size_t domain)
{
	const struct wtl_run_list runs = runs_of(builder->replays[i]);
	struct wattle_energy mean = *energy_in(report_of(builder, i), domain);
	unsigned __int128 energy_uj = 0, measured_ns = 0;
	size_t n = wtl_runs_whole(&runs);

	for (size_t run = 0; n > 1 && run < runs.n; run++) {
		const struct wtl_report *report = runs.at(runs.of, run);
		const struct wattle_energy *one = energy_in(report, domain);

		if (report->interrupted)
			continue;
		mean.has_energy &= one->has_energy;
		mean.flags |= one->flags;
		mean.gap_ns = one->gap_ns > mean.gap_ns ? one->gap_ns : mean.gap_ns;
		energy_uj += one->energy_uj;
		measured_ns += one->measured_ns > 0 ? (uint64_t)one->measured_ns : 0;
	}
	if (n > 1) {
		mean.energy_uj = (uint64_t)(energy_uj / n);
		mean.measured_ns = (int64_t)(measured_ns / n);
	}
	return mean;
}

static bool is_same_machine(const struct wtl_recording *a, const struct wtl_recording *b)
{
	return a->host[0] && strcmp(a->host, b->host) == 0 &&
	       strcmp(a->cpu_model, b->cpu_model) == 0;
}

static const struct wtl_report_domain *find_domain(const struct wtl_report *report,
						   const char *name, size_t *ret_i)
{
	for (size_t i = 0; i < report->n_domains; i++)
		if (strcmp(report->domains[i].domain.name, name) == 0) {
			*ret_i = i;
			return &report->domains[i];
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

/* Differences to the first; common NULL, or common[i] < 0: not by the same sensors. */
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
		values[i].difference.is_significant &= !values[i].has_other_domains;
	}
}

static double gain_uj(const struct wtl_recording *recording, size_t i,
		      const struct wattle_energy *energy)
{
	const struct wtl_recording_sensor *sensor = &recording->sensors[i];

	return hypot(wtl_budget_gain_uj(energy->energy_uj, sensor->gain_ppm),
		     wtl_budget_offset_uj(sensor->offset_uw, energy->measured_ns));
}

/* What gain and zero leave of the difference of two energies by one sensor: signed, so that those of
 * several domains of one source can be added. */
static double common_uj(const struct wtl_recording_sensor *sensor, const struct wattle_energy *a,
			const struct wattle_energy *b)
{
	bool is_less = b->energy_uj < a->energy_uj;
	uint64_t apart_uj = is_less ? a->energy_uj - b->energy_uj : b->energy_uj - a->energy_uj;
	int64_t apart_ns = b->measured_ns - a->measured_ns;
	double left_uj = hypot(wtl_budget_gain_uj(apart_uj, sensor->gain_ppm),
			       wtl_budget_offset_uj(sensor->offset_uw, apart_ns));

	return is_less ? -left_uj : left_uj;
}

/* Repeated runs: their mean, and the 95 % interval of it instead of each one's own error. */
static void take_mean(const struct builder *builder, size_t i, wtl_run_figure *figure,
		      size_t domain, struct wtl_compared_value *value)
{
	const struct wtl_run_list runs = runs_of(builder->replays[i]);
	struct wtl_statistics statistics;

	if (!is_mean(builder, i))
		return;
	wtl_runs_statistics_of_all(&runs, figure, domain, &statistics);
	value->is_known = statistics.n > 0;
	value->measured.value = (uint64_t)llround(statistics.mean * 1e6);
	value->measured.uncertainty = (uint64_t)llround(statistics.ci95 * 1e6);
}

/* What all runs err by alike is not seen in that interval. */
static void set_common(const struct builder *builder, size_t i, double common,
		       struct wtl_compared_value *value)
{
	struct wtl_measured *measured = &value->measured;

	measured->common = common;
	if (is_mean(builder, i))
		measured->uncertainty =
			(uint64_t)llround(hypot((double)measured->uncertainty, 2.0 * common));
}

static bool is_incomplete(const struct wattle_energy *energy)
{
	return energy->has_energy &&
	       (energy->gap_ns > 0 ||
		(energy->flags & (WATTLE_ENERGY_INCOMPLETE | WATTLE_ENERGY_RESET)));
}

static void add_domain(struct builder *builder, const char *name, double common[])
{
	struct wtl_compared_value *values = add_row(builder, name, true, WTL_COMPARED_J);
	const struct wtl_report_domain *first = NULL;
	struct wattle_energy energy, first_energy = {.has_energy = 0};
	size_t at;

	for (size_t i = 0; i < builder->n; i++) {
		const struct wtl_recording *recording = recording_of(builder, i);
		const struct wtl_report_domain *domain =
			find_domain(report_of(builder, i), name, &at);

		common[i] = -1.0;
		if (!domain)
			continue;
		energy = energy_of(builder, i, at);
		if (!energy.has_energy)
			continue;
		values[i].is_known = true;
		values[i].is_incomplete = is_incomplete(&energy);
		values[i].measured = (struct wtl_measured){.value = energy.energy_uj,
							   .uncertainty = energy.uncertainty_uj};
		take_mean(builder, i, wtl_run_domain_j, at, &values[i]);
		set_common(builder, i, gain_uj(recording, at, &energy), &values[i]);
		if (i == 0) {
			first = domain;
			first_energy = energy;
		} else if (first && is_same_source(first, domain) &&
			   is_same_machine(recording_of(builder, 0), recording)) {
			common[i] =
				fabs(common_uj(&recording->sensors[at], &first_energy, &energy));
		}
	}
	add_differences(builder, values, common);
}

static bool counts(const struct wtl_report_domain *domain)
{
	return domain->domain.in_total && domain->energy.has_energy;
}

/* What recording i's domain k has, or of a difference to the first recording's, what gain and zero leave of it. */
static double part_gain(const struct builder *builder, size_t i, size_t k, bool is_difference)
{
	const struct wtl_recording *recording = recording_of(builder, i);
	const char *name = report_of(builder, i)->domains[k].domain.name;
	struct wattle_energy energy = energy_of(builder, i, k), first;
	size_t at;

	if (!is_difference || !find_domain(report_of(builder, 0), name, &at))
		return gain_uj(recording, k, &energy);
	first = energy_of(builder, 0, at);
	return common_uj(&recording->sensors[k], &first, &energy);
}

/* The total's parts by source: gains of one source err alike. */
static double total_gain(const struct builder *builder, size_t i, bool is_difference)
{
	const struct wtl_report *report = report_of(builder, i);
	double variance = 0.0;

	for (size_t k = 0; k < report->n_domains; k++) {
		const char *source = report->domains[k].domain.source;
		double sum_uj = 0.0;
		bool is_first = true;

		if (!counts(&report->domains[k]))
			continue;
		for (size_t before = 0; before < k; before++)
			is_first &= report->domains[before].domain.source != source;
		for (size_t part = k; is_first && part < report->n_domains; part++)
			if (counts(&report->domains[part]) &&
			    report->domains[part].domain.source == source)
				sum_uj += part_gain(builder, i, part, is_difference);
		variance += sum_uj * sum_uj;
	}
	return sqrt(variance);
}

/* Is all that is in the total of the one in that of the other; by_sensor: by the same sensors as well? */
static bool is_within(const struct wtl_report *a, const struct wtl_report *b, bool by_sensor)
{
	size_t at;

	for (size_t i = 0; i < a->n_domains; i++) {
		const struct wtl_report_domain *own = &a->domains[i], *other;

		if (!counts(own))
			continue;
		other = find_domain(b, own->domain.name, &at);
		if (!other || !counts(other) || (by_sensor && !is_same_source(own, other)))
			return false;
	}
	return true;
}

static bool is_same_total(const struct builder *builder, size_t i, bool by_sensor)
{
	const struct wtl_report *first = report_of(builder, 0), *other = report_of(builder, i);

	return is_within(first, other, by_sensor) && is_within(other, first, by_sensor);
}

/* What is made of the total is incomplete, or not to be compared, as that is. */
static void tell_total(const struct builder *builder, size_t i, struct wtl_compared_value *value)
{
	const struct wattle_energy total = energy_of(builder, i, TOTAL);

	value->is_incomplete = is_incomplete(&total);
	value->has_other_domains = i > 0 && !is_same_total(builder, i, false);
}

static void add_total(struct builder *builder, double common[])
{
	struct wtl_compared_value *values = add_row(builder, "energy", false, WTL_COMPARED_J);
	const struct wtl_recording *first = recording_of(builder, 0);

	for (size_t i = 0; i < builder->n; i++) {
		const struct wattle_energy total = energy_of(builder, i, TOTAL);

		values[i].is_known = total.has_energy;
		values[i].measured = (struct wtl_measured){.value = total.energy_uj,
							   .uncertainty = total.uncertainty_uj};
		take_mean(builder, i, wtl_run_energy_j, 0, &values[i]);
		set_common(builder, i, total_gain(builder, i, false), &values[i]);
		tell_total(builder, i, &values[i]);
		common[i] = i > 0 && is_same_machine(first, recording_of(builder, i)) &&
					    is_same_total(builder, i, true)
				    ? total_gain(builder, i, true)
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
		const struct wattle_energy *total = &report_of(builder, i)->window.total;
		double seconds = (double)builder->data->values[i].measured.value / 1e6, relative;

		common[i] = -1.0;
		if (!total->has_energy || !total->has_power || seconds <= 0.0)
			continue;
		relative = total->energy_uj > 0
				   ? (double)total->uncertainty_uj / (double)total->energy_uj
				   : 0.0;
		values[i].is_known = true;
		values[i].measured = (struct wtl_measured){
			.value = total->mean_uw,
			.uncertainty = (uint64_t)llround(relative * (double)total->mean_uw)};
		take_mean(builder, i, wtl_run_power_w, 0, &values[i]);
		set_common(builder, i, energies[i].measured.common / seconds, &values[i]);
		tell_total(builder, i, &values[i]);
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
static double relative_gain(const struct wtl_compared_value *energy)
{
	return energy->is_known && energy->measured.value > 0
		       ? energy->measured.common / (double)energy->measured.value
		       : 0.0;
}

static void add_command(struct builder *builder, const struct wtl_compared_value energies[],
			bool is_dynamic)
{
	struct wtl_compared_value *values = add_row(
		builder, is_dynamic ? "command, dynamic" : "command, full", false, WTL_COMPARED_J);
	wtl_run_figure *figure = is_dynamic ? wtl_run_command_dynamic_j : wtl_run_command_full_j;

	for (size_t i = 0; i < builder->n; i++) {
		const struct wtl_report *report = report_of(builder, i);
		const struct wtl_share_energy *share = &report->attribution.command;

		values[i].is_known = isfinite(figure(report, 0));
		if (!values[i].is_known)
			continue;
		values[i].measured = (struct wtl_measured){
			.value = is_dynamic ? share->dynamic_uj : share->full_uj,
			.uncertainty = share->uncertainty_uj,
		};
		take_mean(builder, i, figure, 0, &values[i]);
		set_common(builder, i,
			   relative_gain(&energies[i]) * (double)values[i].measured.value,
			   &values[i]);
		tell_total(builder, i, &values[i]);
	}
	add_differences(builder, values, NULL);
}

static void add_carbon(struct builder *builder, const struct wtl_compared_value energies[])
{
	struct wtl_compared_value *values = add_row(builder, "CO2e", false, WTL_COMPARED_G);

	for (size_t i = 0; i < builder->n; i++) {
		const struct wtl_report *report = report_of(builder, i);

		values[i].is_known =
			!wtl_words_not_all_emitted(&report->carbon, &report->window.total);
		if (!values[i].is_known)
			continue;
		values[i].measured = (struct wtl_measured){
			.value = report->carbon.emitted_ug,
			.uncertainty = report->carbon.uncertainty_ug,
		};
		take_mean(builder, i, wtl_run_emitted_g, 0, &values[i]);
		set_common(builder, i,
			   hypot(relative_gain(&energies[i]),
				 report->carbon.carbon.uncertainty_ppm / 1e6) *
				   (double)values[i].measured.value,
			   &values[i]);
		tell_total(builder, i, &values[i]);
	}
	add_differences(builder, values, NULL);
}

static void add_duration(struct builder *builder)
{
	struct wtl_compared_value *values = add_row(builder, "time", false, WTL_COMPARED_S);

	for (size_t i = 0; i < builder->n; i++) {
		int64_t duration_ns = report_of(builder, i)->window.duration_ns;

		values[i].is_known = true;
		values[i].measured.value = duration_ns > 0 ? (uint64_t)duration_ns / 1000 : 0;
		take_mean(builder, i, wtl_run_duration_s, 0, &values[i]);
	}
	add_differences(builder, values, NULL);
}

/* Every name once, in the order of the recordings. */
static void add_domains(struct builder *builder, double common[])
{
	size_t at;

	for (size_t i = 0; i < builder->n; i++) {
		const struct wtl_report *report = report_of(builder, i);

		for (size_t k = 0; k < report->n_domains; k++) {
			const char *name = report->domains[k].domain.name;
			bool is_new = true;

			for (size_t before = 0; before < i; before++)
				is_new &= !find_domain(report_of(builder, before), name, &at);
			if (is_new)
				add_domain(builder, name, common);
		}
	}
}

int wtl_comparison_new(struct wtl_recorded *const replays[], size_t n,
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
		n_rows += replays[i]->recording.report.n_domains;
	data->recordings = calloc(n, sizeof(*data->recordings));
	data->rows = calloc(n_rows, sizeof(*data->rows));
	data->values = calloc(n_rows * n, sizeof(*data->values));
	if (!data->recordings || !data->rows || !data->values) {
		free(common);
		wtl_comparison_free(data);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		const struct wtl_run_list runs = runs_of(replays[i]);

		data->recordings[i] = replays[i]->recording;
		data->recordings[i].n_runs = wtl_runs_whole(&runs);
		data->recordings[i].compared_utc_ns = report_of(&builder, i)->window.begin_utc_ns;
	}
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
