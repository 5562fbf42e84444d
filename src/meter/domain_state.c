/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "meter/meter.h"

/* Two sources of one domain may differ by this (facts/rapl-and-processes.md 3, gpu-and-nvml.md 3.3),
 * once they have been compared for long enough. */
#define TOLERANCE_RAPL	  0.01
#define TOLERANCE_POWER	  0.10
#define COMPARE_MIN_NS	  (5 * WTL_NS_PER_S)
#define COMPARE_PERIOD_NS WTL_NS_PER_S
/* After this time the comparison begins anew, so that long agreement does not cover up what begins now. */
#define COMPARE_MAX_NS (60 * WTL_NS_PER_S)
/* Readings of two sources belong together when they are no further apart. */
#define TOGETHER_NS (10 * WTL_NS_PER_MS)
#define UPDATES_MIN 10

static const char *or_null(const char *text)
{
	return text && text[0] ? text : NULL;
}

/* In words for people, where the source had nothing to say. */
static const char *trouble(const struct wtl_account *account)
{
	switch (account->status) {
	case WATTLE_STATUS_OK:
	case WATTLE_STATUS_GAP:
		return NULL;
	case WATTLE_STATUS_ASLEEP:
		return "it is suspended, and reading it would wake it";
	case WATTLE_STATUS_STALE:
		return "its source answers late";
	case WATTLE_STATUS_GONE:
		return account->reason ? account->reason
				       : "it was there when the measurement began, and is no more";
	case WATTLE_STATUS_DENIED:
	case WATTLE_STATUS_FAILED:
	case WATTLE_STATUS_ABSENT:
		break;
	}
	if (account->reason)
		return account->reason;
	return account->error ? wtl_err_text(account->error) : NULL;
}

static const char *remedy(const struct wtl_domain_state *state)
{
	const struct wtl_account *account = state->account;

	if (account->status == WATTLE_STATUS_GONE && state->domain.kind == WATTLE_KIND_GPU)
		return "look for its driver's messages: dmesg | grep -i -e nvrm -e xid -e amdgpu "
		       "-e i915 -e xe";
	return account->status != WATTLE_STATUS_OK ? or_null(account->remedy) : NULL;
}

/* What a source said when it was opened holds as long as the status is the same, or for as long as a
 * model takes its place. */
static bool miss_holds(const struct wtl_domain_state *state)
{
	const struct wtl_miss *miss = state->domain.miss;
	bool is_modelled = state->info.method == WATTLE_METHOD_MODELLED;

	if (!miss || !state->account)
		return miss != NULL;
	return state->account->status == (is_modelled ? WATTLE_STATUS_OK : miss->status);
}

void wtl_domain_state_explain(struct wtl_domain_state *state)
{
	bool holds = miss_holds(state);

	state->info.remedy = holds ? or_null(state->domain.miss->remedy) : NULL;
	if (!holds && state->account)
		state->info.remedy = remedy(state);
	if (holds)
		state->info.reason = or_null(state->domain.miss->reason);
	else
		state->info.reason = state->account ? trouble(state->account) : NULL;
	if (!state->info.reason && state->info.method == WATTLE_METHOD_MODELLED)
		state->info.reason = "no source here measures it";
}

static void describe(struct wattle_meter *meter, struct wtl_domain_state *state)
{
	const struct wtl_domain *domain = &state->domain;
	const struct wtl_channel *channels = meter->catalog.channels;
	struct wattle_domain *info = &state->info;

	info->name = domain->name;
	info->inside = or_null(domain->inside);
	info->kind = domain->kind;
	info->in_total = domain->in_total;
	info->status = domain->miss ? domain->miss->status : WATTLE_STATUS_ABSENT;
	if (domain->check >= 0)
		info->check = channels[domain->check].source;
	if (domain->primary >= 0) {
		const struct wtl_channel *channel = &channels[domain->primary];

		info->status = WATTLE_STATUS_OK;
		info->source = channel->source;
		info->method = channel->method;
		info->device = or_null(channel->device);
		info->uuid = or_null(channel->serial);
		info->update_ns = channel->update_ns;
		if (channel->class)
			info->sensor = channel->class->name;
	}
	wtl_domain_state_explain(state);
}

/* A source none of whose channels is the best one for its domain only confirms others. */
static void find_checks(struct wattle_meter *meter)
{
	for (size_t i = 0; i < meter->n_sensors; i++) {
		struct wtl_sensor *sensor = &meter->sensors[i];

		sensor->is_check = true;
		for (size_t k = 0; k < meter->n_domains; k++) {
			int primary = meter->domains[k].domain.primary;

			if (primary >= 0 && (size_t)primary >= sensor->first &&
			    (size_t)primary < sensor->first + sensor->n)
				sensor->is_check = false;
		}
	}
}

static int open_accounts(struct wattle_meter *meter)
{
	const struct wtl_catalog *catalog = &meter->catalog;
	size_t n_power = 0;

	for (size_t i = 0; i < catalog->n_channels; i++)
		n_power += catalog->channels[i].quantity == WTL_QUANTITY_POWER;
	meter->accounts = calloc(catalog->n_channels, sizeof(*meter->accounts));
	meter->integrals = calloc(n_power, sizeof(*meter->integrals));
	if (!meter->accounts || !meter->integrals)
		return -ENOMEM;
	n_power = 0;
	for (size_t i = 0; i < catalog->n_channels; i++) {
		const struct wtl_channel *channel = &catalog->channels[i];
		bool power = channel->quantity == WTL_QUANTITY_POWER;

		wtl_account_init(&meter->accounts[i], channel,
				 power ? &meter->integrals[n_power++] : NULL);
	}
	return 0;
}

int wtl_meter_open_domains(struct wattle_meter *meter)
{
	struct wtl_domain *domains;
	int rc = wtl_domains_resolve(&meter->catalog, &domains, &meter->n_domains);

	if (rc < 0)
		return rc;
	meter->domains = calloc(meter->n_domains, sizeof(*meter->domains));
	rc = meter->domains ? open_accounts(meter) : -ENOMEM;
	for (size_t i = 0; rc == 0 && i < meter->n_domains; i++) {
		struct wtl_domain_state *state = &meter->domains[i];

		state->domain = domains[i];
		if (state->domain.primary >= 0)
			state->account = &meter->accounts[state->domain.primary];
		if (state->domain.check >= 0)
			state->check = &meter->accounts[state->domain.check];
		describe(meter, state);
	}
	free(domains);
	if (rc == 0)
		find_checks(meter);
	return rc;
}

/* A part-time sensor may have missed all that differs: what it does not see is allowed for, too. */
static double tolerance(const struct wtl_domain_state *state)
{
	const struct wtl_channel *own = state->account->channel, *other = state->check->channel;
	bool counters =
		own->quantity == WTL_QUANTITY_ENERGY && other->quantity == WTL_QUANTITY_ENERGY;
	double unseen = other->class ? 1.0 - other->class->coverage_permille / 1000.0 : 0.0;

	if (counters && state->domain.kind != WATTLE_KIND_GPU)
		return TOLERANCE_RAPL;
	return TOLERANCE_POWER + unseen;
}

/* What a figure may be off by beside gain and zero, which the tolerance is for: k = 2. */
static double allowance_uj(const struct wtl_figure *figure)
{
	struct wtl_budget budget = figure->budget;

	budget.gain_uj = budget.offset_uj = 0.0;
	return 2.0 * wtl_budget_combined_uj(&budget);
}

/* Were both read in the sample just taken? */
static bool read_together(const struct wtl_account *a, const struct wtl_account *b)
{
	int64_t apart_ns = a->last_ok.t_mono_ns - b->last_ok.t_mono_ns;

	return a->status == WATTLE_STATUS_OK && b->status == WATTLE_STATUS_OK && a->samples &&
	       b->samples && apart_ns <= TOGETHER_NS && apart_ns >= -TOGETHER_NS;
}

static void start_comparing(struct wtl_domain_state *state, uint64_t breaks)
{
	int64_t t_ns = state->account->last_ok.t_mono_ns;
	int64_t check_ns = state->check->last_ok.t_mono_ns;

	state->comparing = true;
	state->compare_breaks = breaks;
	state->compare_next_ns = t_ns + COMPARE_MIN_NS;
	wtl_account_mark(state->account, t_ns, t_ns, &state->compare_mark);
	wtl_account_mark(state->check, check_ns, check_ns, &state->check_mark);
}

/* Compares what both sources measured since their marks. */
static void judge(struct wtl_domain_state *state, const struct wtl_figure *own,
		  const struct wtl_figure *other)
{
	double energy_uj = (double)own->energy_uj;
	double apart_uj = fabs(energy_uj - (double)other->energy_uj);
	double allowed_uj =
		tolerance(state) * energy_uj + hypot(allowance_uj(own), allowance_uj(other));

	state->disagrees = apart_uj > allowed_uj;
	state->disagreement = state->disagrees && energy_uj > 0.0 ? apart_uj / energy_uj : 0.0;
}

void wtl_domain_state_compare(struct wtl_domain_state *state)
{
	struct wtl_figure own, other;
	uint64_t breaks;
	int64_t t_ns;

	if (!state->account || !state->check || !read_together(state->account, state->check))
		return;
	t_ns = state->account->last_ok.t_mono_ns;
	breaks = wtl_account_breaks(state->account) + wtl_account_breaks(state->check);
	if (!state->comparing || breaks != state->compare_breaks) {
		start_comparing(state, breaks);
		return;
	}
	if (t_ns < state->compare_next_ns)
		return;
	state->compare_next_ns = t_ns + COMPARE_PERIOD_NS;
	wtl_account_since(state->account, &state->compare_mark, t_ns, &own);
	wtl_account_since(state->check, &state->check_mark, state->check->last_ok.t_mono_ns,
			  &other);
	if (own.has_energy && other.has_energy)
		judge(state, &own, &other);
	if (t_ns - state->compare_mark.t_ns >= COMPARE_MAX_NS)
		start_comparing(state, breaks);
}

static enum wattle_status window_status(const struct wtl_account *account, int64_t gap_ns)
{
	if (account->status != WATTLE_STATUS_OK)
		return account->status;
	return gap_ns > 0 ? WATTLE_STATUS_GAP : WATTLE_STATUS_OK;
}

/* What a power sensor did not see, or has not shown yet, may be more than half of what it saw (k = 2). */
static bool is_mostly_unseen(const struct wtl_figure *figure)
{
	double unseen_uj = hypot(figure->budget.sampling_uj, figure->budget.integration_uj);

	return 2.0 * unseen_uj > (double)figure->energy_uj / 2.0;
}

static uint32_t figure_flags(const struct wtl_domain_state *state, const struct wtl_figure *figure)
{
	int64_t update_ns = wtl_account_update_ns(state->account);
	uint32_t flags = 0;

	if (update_ns &&
	    (figure->measured_ns < UPDATES_MIN * update_ns || is_mostly_unseen(figure)))
		flags |= WATTLE_ENERGY_SHORT;
	if (state->disagrees)
		flags |= WATTLE_ENERGY_DISAGREES;
	if (figure->resets)
		flags |= WATTLE_ENERGY_RESET;
	return flags;
}

static uint64_t round_uj(double value_uj)
{
	return value_uj < 1.8e19 ? (uint64_t)(value_uj + 0.5) : UINT64_MAX;
}

void wtl_domain_state_energy(const struct wtl_domain_state *state, const struct wtl_mark *mark,
			     int64_t t_ns, struct wattle_energy *ret_energy,
			     struct wtl_budget *ret_budget)
{
	struct wattle_energy *energy = ret_energy;
	struct wtl_figure figure;

	memset(energy, 0, sizeof(*energy));
	memset(ret_budget, 0, sizeof(*ret_budget));
	energy->status = state->info.status;
	if (!state->account)
		return;
	wtl_account_since(state->account, mark, t_ns, &figure);
	energy->gap_ns = figure.has_energy ? figure.gap_ns : t_ns - mark->t_ns;
	energy->status = window_status(state->account, energy->gap_ns);
	/* Nothing was measured: that is not an energy of 0. */
	if (!figure.has_energy || figure.measured_ns <= 0)
		return;
	/* Either source may be the right one: uniform between the two. */
	figure.budget.disagreement_uj = state->disagreement * (double)figure.energy_uj / sqrt(3.0);
	energy->method = state->info.method;
	energy->has_energy = 1;
	energy->energy_uj = figure.energy_uj;
	energy->uncertainty_uj = round_uj(2.0 * wtl_budget_combined_uj(&figure.budget));
	energy->measured_ns = figure.measured_ns;
	energy->samples = figure.samples;
	energy->flags = figure_flags(state, &figure);
	/* Nor is 0 W the power of what always draws something. */
	if (figure.measured_ns >= WTL_POWER_MIN_NS && !wtl_account_is_unclear(state->account)) {
		energy->has_power = 1;
		energy->mean_uw = wtl_power_uw(figure.energy_uj, figure.measured_ns);
	}
	*ret_budget = figure.budget;
}

static double offset_uw(const struct wtl_domain_state *state)
{
	return state->account ? (double)state->account->channel->offset_uw : 0.0;
}

uint64_t wtl_meter_zero_uw(const struct wattle_meter *meter, size_t domain)
{
	const struct wtl_domain_state *states = meter->domains;
	double variance = 0.0;

	if (domain < meter->n_domains)
		return (uint64_t)(2.0 * offset_uw(&states[domain]));
	/* Zeros of one source add up, as in a total's budget: (a + b)² is the sum of all products. */
	for (size_t i = 0; i < meter->n_domains; i++)
		for (size_t k = 0; k < meter->n_domains; k++)
			if (states[i].domain.in_total && states[k].domain.in_total &&
			    states[i].info.source == states[k].info.source)
				variance += offset_uw(&states[i]) * offset_uw(&states[k]);
	return (uint64_t)(2.0 * sqrt(variance));
}
