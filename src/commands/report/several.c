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
#include "energy/units.h"

/* ---- Statistics over runs ---- */

static int compare_begins(const void *a, const void *b)
{
	const struct wtl_run *x = a, *y = b;
	int64_t x_ns = x->report.window.begin_utc_ns, y_ns = y->report.window.begin_utc_ns;

	if (x_ns != y_ns)
		return x_ns < y_ns ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static void sort_runs(struct wtl_run runs[], size_t n)
{
	qsort(runs, n, sizeof(*runs), compare_begins);
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

/* Over the runs that were finished. -ENOMEM. */
static int find_statistics(struct wtl_runs *runs)
{
	const struct wtl_report **ended = calloc(runs->n_runs + 1, sizeof(struct wtl_report *));
	struct wtl_run_list all = {pointed, ended, 0};

	if (!ended)
		return -ENOMEM;
	for (size_t i = 0; i < runs->n_runs; i++)
		if (!runs->runs[i].is_unfinished)
			ended[all.n++] = &runs->runs[i].report;
	wtl_runs_figures(&all, runs->of);
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

static size_t add_rows(const struct wtl_runs_file *file, struct wtl_run list[])
{
	for (size_t i = 0; i < file->n; i++)
		list[i] = (struct wtl_run){
			.path = file->path, .number = i + 1, .report = file->rows[i].report};
	return file->n;
}

static void add_up(struct wtl_runs *runs)
{
	struct wtl_runs_sum *sum = &runs->sum;

	for (size_t i = 0; i < runs->n_runs; i++) {
		const struct wtl_report *report = &runs->runs[i].report;
		const struct wattle_energy *total = &report->window.total;

		if (runs->runs[i].is_unfinished)
			continue;
		sum->n++;
		sum->duration_ns += (uint64_t)report->window.duration_ns;
		if (!total->has_energy)
			continue;
		sum->n_energy++;
		sum->energy_uj = wtl_add_sat(sum->energy_uj, total->energy_uj);
		sum->energy_uncertainty_uj =
			wtl_add_sat(sum->energy_uncertainty_uj, total->uncertainty_uj);
		if (wtl_words_not_all_emitted(&report->carbon, total))
			continue;
		sum->n_emitted++;
		sum->emitted_ng =
			wtl_add_sat(sum->emitted_ng, wtl_words_emitted_ng(&report->carbon));
		sum->emitted_uncertainty_ug =
			wtl_add_sat(sum->emitted_uncertainty_ug, report->carbon.uncertainty_ug);
	}
}

int wtl_runs_new(struct wtl_recorded *const replays[], size_t n, const struct wtl_runs_file files[],
		 size_t n_files, struct wtl_runs *ret_runs)
{
	struct wtl_runs runs = {.has_files = n + n_files > 1, .n_recordings = n};
	const struct wtl_recording **recordings = calloc(n + 1, sizeof(*recordings));
	struct wtl_run *list;
	size_t n_runs = 0;

	for (size_t i = 0; i < n; i++)
		n_runs += wtl_recorded_runs(replays[i]) + 1;
	for (size_t i = 0; i < n_files; i++)
		n_runs += files[i].n;
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
	for (size_t i = 0; i < n_files; i++)
		runs.n_runs += add_rows(&files[i], list + runs.n_runs);
	sort_runs(list, runs.n_runs);
	add_up(&runs);
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

#define TOTAL SIZE_MAX /* instead of a domain's index */

struct builder {
	struct wtl_recorded *const *replays;
	size_t n;
	struct wtl_comparison_data *data;
	size_t n_rows;
	const struct wtl_compared_value *rows[WTL_RUN_FIGURES + 1]; /* the finished ones */
};

static const struct wtl_recording *recording_of(const struct builder *builder, size_t i)
{
	return &builder->replays[i]->recording;
}

/* The recording's runs that have ended. */
static struct wtl_run_list runs_of(const struct wtl_recorded *replay)
{
	return (struct wtl_run_list){replayed, replay, wtl_recorded_runs(replay)};
}

/* The last run that was not interrupted, for what has no mean. */
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

/* A recording's energy; of repeated runs, the mean. has_energy: all of them have it. */
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

static double gain_uj(const struct wtl_recording *recording, size_t i,
		      const struct wattle_energy *energy)
{
	const struct wtl_recording_sensor *sensor = &recording->sensors[i];

	return hypot(wtl_budget_gain_uj(energy->energy_uj, sensor->gain_ppm),
		     wtl_budget_offset_uj(sensor->offset_uw, energy->measured_ns));
}

/* The gain and zero error that remains in the difference of two energies of one sensor. Signed, so that those of
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

/* Repeated runs: their mean and its 95 % interval, instead of single runs' errors. */
static void take_mean(const struct builder *builder, size_t i, size_t figure,
		      struct wtl_compared_value *value)
{
	const struct wtl_run_list runs = runs_of(builder->replays[i]);
	struct wtl_statistics statistics;

	if (!is_mean(builder, i))
		return;
	wtl_runs_statistics_of_all(&runs, figure, &statistics);
	value->is_known = statistics.n > 0;
	value->measured.value = (uint64_t)llround(statistics.mean * 1e6);
	value->measured.uncertainty = (uint64_t)llround(statistics.ci95 * 1e6);
}

/* Errors common to all runs do not show in that interval: adds them. */
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

static bool counts(const struct wtl_report_domain *domain)
{
	return domain->domain.in_total && domain->energy.has_energy;
}

/* Gain and zero error of recording i's domain k; is_difference: what remains of it in the difference to the first. */
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

/* Of the total: summed within a source, whose gain errors are the same; in quadrature over sources. */
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

/* Is all in a's total also in b's; by_sensor: measured by the same sensors? */
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

/* The gain error relative to the energy. */
static double relative_gain(const struct wtl_compared_value *energy)
{
	return energy->is_known && energy->measured.value > 0
		       ? energy->measured.common / (double)energy->measured.value
		       : 0.0;
}

/* ---- Rows ---- */

/* By figure; all domains share one. */
static const enum wtl_compared_quantity quantities[WTL_RUN_FIGURES + 1] = {
	[WTL_RUN_DURATION_S] = WTL_COMPARED_S,	   [WTL_RUN_ENERGY_J] = WTL_COMPARED_J,
	[WTL_RUN_POWER_W] = WTL_COMPARED_W,	   [WTL_RUN_COMMAND_DYNAMIC_J] = WTL_COMPARED_J,
	[WTL_RUN_COMMAND_FULL_J] = WTL_COMPARED_J, [WTL_RUN_EMITTED_G] = WTL_COMPARED_G,
	[WTL_RUN_DOMAIN_J] = WTL_COMPARED_J,
};

static double seconds_of(const struct builder *builder, size_t i)
{
	return (double)builder->rows[WTL_RUN_DURATION_S][i].measured.value / 1e6;
}

static struct wtl_measured energy_measured(const struct wattle_energy *energy)
{
	return (struct wtl_measured){.value = energy->energy_uj,
				     .uncertainty = energy->uncertainty_uj};
}

/* Mean power: the relative error is that of energy. */
static struct wtl_measured power_measured(const struct wattle_energy *total)
{
	double relative = total->energy_uj > 0
				  ? (double)total->uncertainty_uj / (double)total->energy_uj
				  : 0.0;

	return (struct wtl_measured){.value = total->mean_uw,
				     .uncertainty =
					     (uint64_t)llround(relative * (double)total->mean_uw)};
}

/* Recording i's figure, from its report. domain: its index in a row of a domain. false: it is not known. */
static bool measure(const struct builder *builder, enum wtl_run_figure kind, size_t i,
		    size_t domain, struct wtl_measured *ret)
{
	const struct wtl_report *report = report_of(builder, i);
	const struct wattle_energy *total = &report->window.total;
	const struct wattle_energy energy =
		energy_of(builder, i, kind == WTL_RUN_DOMAIN_J ? domain : TOTAL);
	const struct wtl_share_energy *share = &report->attribution.command;

	switch (kind) {
	case WTL_RUN_DURATION_S:
		ret->value = report->window.duration_ns > 0
				     ? (uint64_t)report->window.duration_ns / 1000
				     : 0;
		return true;
	case WTL_RUN_ENERGY_J:
	case WTL_RUN_DOMAIN_J:
		*ret = energy_measured(&energy);
		return energy.has_energy;
	case WTL_RUN_POWER_W:
		*ret = power_measured(total);
		return total->has_energy && total->has_power && seconds_of(builder, i) > 0.0;
	case WTL_RUN_COMMAND_DYNAMIC_J:
		ret->value = share->dynamic_uj;
		ret->uncertainty = share->uncertainty_uj;
		return isfinite(wtl_run_figure(report, kind));
	case WTL_RUN_COMMAND_FULL_J:
		ret->value = share->full_uj;
		ret->uncertainty = share->full_uncertainty_uj;
		return isfinite(wtl_run_figure(report, kind));
	case WTL_RUN_EMITTED_G:
		ret->value = report->carbon.emitted_ug;
		ret->uncertainty = report->carbon.uncertainty_ug;
		return !wtl_words_not_all_emitted(&report->carbon, total);
	}
	return false;
}

/* The sensors' part of the command's ±, without that of idle power and weight. A zero error cancels above idle. */
static double command_gain(uint64_t uncertainty_uj, double doubt, uint64_t whole_uj, uint64_t value)
{
	double half = (double)uncertainty_uj / 2.0;

	return whole_uj > 0 && half > doubt
		       ? sqrt((half - doubt) * (half + doubt)) * (double)value / (double)whole_uj
		       : 0.0;
}

/* The error common to all runs: the sensors' gain and zero. */
static double gain_of(const struct builder *builder, enum wtl_run_figure kind, size_t i,
		      size_t domain, uint64_t value)
{
	/* These rows are made first. */
	const struct wtl_compared_value *totals = builder->rows[WTL_RUN_ENERGY_J];
	const struct wattle_energy energy =
		energy_of(builder, i, kind == WTL_RUN_DOMAIN_J ? domain : TOTAL);
	const struct wtl_share_energy *command = &report_of(builder, i)->attribution.command;

	switch (kind) {
	case WTL_RUN_DURATION_S:
		break;
	case WTL_RUN_ENERGY_J:
		return total_gain(builder, i, false);
	case WTL_RUN_DOMAIN_J:
		return gain_uj(recording_of(builder, i), domain, &energy);
	case WTL_RUN_POWER_W:
		return totals[i].measured.common / seconds_of(builder, i);
	case WTL_RUN_COMMAND_DYNAMIC_J:
		return command_gain(
			command->uncertainty_uj,
			hypot((double)command->idle_doubt_uj, (double)command->weight_doubt_uj),
			command->dynamic_uj, value);
	case WTL_RUN_COMMAND_FULL_J:
		return command_gain(command->full_uncertainty_uj,
				    (double)command->full_weight_doubt_uj, command->full_uj, value);
	case WTL_RUN_EMITTED_G:
		return hypot(relative_gain(&totals[i]),
			     report_of(builder, i)->carbon.carbon.uncertainty_ppm / 1e6) *
		       (double)value;
	}
	return 0.0;
}

/* What gain and zero leave of the difference of a domain's energies; < 0: by different sensors. */
static double common_of_domain(const struct builder *builder, size_t i, const char *name)
{
	const struct wtl_report *reports[] = {report_of(builder, 0), report_of(builder, i)};
	size_t at[2] = {0, 0};
	const struct wtl_report_domain *first = find_domain(reports[0], name, &at[0]);
	const struct wtl_report_domain *other = find_domain(reports[1], name, &at[1]);
	struct wattle_energy energies[2];

	if (!first || !other || !is_same_source(first, other))
		return -1.0;
	energies[0] = energy_of(builder, 0, at[0]);
	energies[1] = energy_of(builder, i, at[1]);
	return fabs(
		common_uj(&recording_of(builder, i)->sensors[at[1]], &energies[0], &energies[1]));
}

/* The common error that remains in the difference to the first recording; < 0: the sensors are not the same. */
static double common_of(const struct builder *builder, enum wtl_run_figure kind, const char *name,
			size_t i, const struct wtl_compared_value values[])
{
	double first = (double)values[0].measured.value;

	if (!is_same_machine(recording_of(builder, 0), recording_of(builder, i)))
		return -1.0;
	if (kind == WTL_RUN_DOMAIN_J)
		return common_of_domain(builder, i, name);
	if (kind == WTL_RUN_ENERGY_J && is_same_total(builder, i, true))
		return total_gain(builder, i, true);
	if (kind != WTL_RUN_DURATION_S && kind != WTL_RUN_ENERGY_J &&
	    builder->rows[WTL_RUN_ENERGY_J][i].is_common && first > 0.0)
		return values[0].measured.common * fabs((double)values[i].measured.value - first) /
		       first;
	return -1.0;
}

static bool is_same_intensity(const struct wattle_carbon *a, const struct wattle_carbon *b)
{
	return a->intensity_mg_per_kwh == b->intensity_mg_per_kwh && a->year == b->year &&
	       a->uncertainty_ppm == b->uncertainty_ppm && strcmp(a->location, b->location) == 0 &&
	       strcmp(a->dataset, b->dataset) == 0;
}

/* Emissions may have two common errors: the sensors', and that of the same intensity. Sets both recordings' parts;
 * returns what remains in the difference. */
static double common_of_emissions(const struct builder *builder, size_t i,
				  struct wtl_measured *first, struct wtl_measured *other)
{
	const struct wattle_carbon *carbon = &report_of(builder, 0)->carbon.carbon;
	const struct wtl_compared_value *totals = builder->rows[WTL_RUN_ENERGY_J];
	double gains[2] = {0.0, 0.0}, intensity = 0.0, left;

	if (totals[i].is_common) {
		gains[0] = relative_gain(&totals[0]) * (double)first->value;
		gains[1] = relative_gain(&totals[i]) * (double)other->value;
	}
	left = fabs(gains[1] - gains[0]);
	if (is_same_intensity(carbon, &report_of(builder, i)->carbon.carbon)) {
		intensity = carbon->uncertainty_ppm / 1e6;
		/* With one intensity, emissions are proportional to energy, in which a zero error cancels. */
		if (gains[1] > 0.0)
			left = gains[1] * total_gain(builder, i, true) / totals[i].measured.common;
	}
	first->common = hypot(gains[0], intensity * (double)first->value);
	other->common = hypot(gains[1], intensity * (double)other->value);
	return hypot(left, intensity * fabs((double)other->value - (double)first->value));
}

static void set_value(const struct builder *builder, enum wtl_run_figure kind, const char *name,
		      size_t i, struct wtl_compared_value *value)
{
	const struct wtl_report *report = report_of(builder, i);
	struct wattle_energy energy;
	size_t at = TOTAL;

	if (kind == WTL_RUN_DOMAIN_J && !find_domain(report, name, &at))
		return;
	value->is_known = measure(builder, kind, i, at, &value->measured);
	if (!value->is_known && kind != WTL_RUN_ENERGY_J)
		return;
	take_mean(builder, i, kind == WTL_RUN_DOMAIN_J ? WTL_RUN_DOMAIN_J + at : kind, value);
	set_common(builder, i, gain_of(builder, kind, i, at, value->measured.value), value);
	if (kind == WTL_RUN_DURATION_S)
		return;
	/* Figures derived from the total share its completeness and comparability. */
	energy = energy_of(builder, i, at);
	value->is_incomplete = is_incomplete(&energy);
	value->has_other_domains =
		kind != WTL_RUN_DOMAIN_J && i > 0 && !is_same_total(builder, i, false);
}

static void add_row(struct builder *builder, enum wtl_run_figure kind, const char *name)
{
	struct wtl_compared_value *values = &builder->data->values[builder->n_rows * builder->n];

	builder->data->rows[builder->n_rows++] = (struct wtl_compared){
		.what = kind == WTL_RUN_DOMAIN_J ? name : wtl_words_figures[kind],
		.is_domain = kind == WTL_RUN_DOMAIN_J,
		.quantity = quantities[kind],
		.values = values};
	builder->rows[kind] = values;
	for (size_t i = 0; i < builder->n; i++)
		set_value(builder, kind, name, i, &values[i]);
	for (size_t i = 1; i < builder->n; i++) {
		struct wtl_measured first = values[0].measured, other = values[i].measured;
		double common;

		if (!values[0].is_known || !values[i].is_known)
			continue;
		common = common_of(builder, kind, name, i, values);
		values[i].has_difference = true;
		values[i].is_common = common >= 0.0;
		if (kind == WTL_RUN_EMITTED_G)
			common = common_of_emissions(builder, i, &first, &other);
		wtl_difference_of(&first, &other, common, &values[i].difference);
		values[i].difference.is_significant &= !values[i].has_other_domains;
	}
}

/* Each name once, in the order of the recordings. */
static void add_domains(struct builder *builder)
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
				add_row(builder, WTL_RUN_DOMAIN_J, name);
		}
	}
}

int wtl_comparison_new(struct wtl_recorded *const replays[], size_t n,
		       struct wtl_comparison_data *data)
{
	struct builder builder = {.replays = replays, .n = n, .data = data};
	size_t n_rows = WTL_RUN_FIGURES;

	*data = (struct wtl_comparison_data){.rows = NULL};
	if (n < 2)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		n_rows += replays[i]->recording.report.n_domains;
	data->recordings = calloc(n, sizeof(*data->recordings));
	data->rows = calloc(n_rows, sizeof(*data->rows));
	data->values = calloc(n_rows * n, sizeof(*data->values));
	if (!data->recordings || !data->rows || !data->values) {
		wtl_comparison_free(data);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		const struct wtl_run_list runs = runs_of(replays[i]);

		data->recordings[i] = replays[i]->recording;
		data->recordings[i].n_runs = wtl_runs_whole(&runs);
		data->recordings[i].compared_utc_ns = report_of(&builder, i)->window.begin_utc_ns;
	}
	for (enum wtl_run_figure kind = WTL_RUN_DURATION_S; kind <= WTL_RUN_EMITTED_G; kind++) {
		add_row(&builder, kind, NULL);
		if (kind == WTL_RUN_POWER_W)
			add_domains(&builder);
	}
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
