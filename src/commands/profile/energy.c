/* SPDX-License-Identifier: MIT */
#include "commands/profile/energy.h"

#include <errno.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/command.h"
#include "cli/options.h"
#include "commands/profile/keep.h"
#include "energy/units.h"
#include "meter/meter.h"
#include "meter/observer.h"
#include "workload/workload.h"

#define INTERVAL_NS	  (5 * WTL_NS_PER_MS)
#define MODEL_INTERVAL_NS (100 * WTL_NS_PER_MS)

void wtl_profile_choose_interval(struct wtl_app *app, struct wattle_meter *meter)
{
	bool is_measured = !meter;

	for (size_t i = 0; meter && i < wattle_meter_domains(meter); i++) {
		struct wattle_domain domain = {.size = sizeof(domain)};

		is_measured |= wattle_meter_domain(meter, i, &domain) == 0 &&
			       domain.method != WATTLE_METHOD_NONE &&
			       domain.method != WATTLE_METHOD_MODELLED;
	}
	if (!wtl_option_is_used(app, "--interval"))
		app->settings.interval_ns = is_measured ? INTERVAL_NS : MODEL_INTERVAL_NS;
}

int wtl_profile_energy_init(struct wtl_profile_energy *energy, struct wattle_meter *meter,
			    const char *window)
{
	size_t n = wattle_meter_domains(meter);

	*energy = (struct wtl_profile_energy){.meter = meter, .window = window};
	wtl_split_init(&energy->split, n, 0);
	energy->learns = calloc(n + 1, sizeof(*energy->learns));
	energy->launches = calloc(n + 1, sizeof(*energy->launches));
	energy->energies = calloc(n + 1, sizeof(*energy->energies));
	energy->sum.shares = calloc(n + 2, sizeof(*energy->sum.shares));
	energy->split.learns = energy->learns;
	energy->split.launches = energy->launches;
	return energy->learns && energy->launches && energy->energies && energy->sum.shares
		       ? 0
		       : -ENOMEM;
}

void wtl_profile_energy_done(struct wtl_profile_energy *energy)
{
	wtl_split_done(&energy->split);
	free(energy->energies);
	free(energy->sum.shares);
	free(energy->learns);
	free(energy->launches);
}

void wtl_profile_energy_begin(struct wtl_profile_energy *energy)
{
	energy->split.begin_ns = energy->meter->sampled_ns;
}

void wtl_profile_energy_tick(struct wtl_profile_energy *energy)
{
	struct wtl_split_tick *tick = wtl_split_add_tick(&energy->split, energy->meter->sampled_ns);

	for (size_t i = 0; tick && i < energy->split.n_domains; i++)
		tick->energy_uj[i] =
			energy->energies[i].has_energy ? energy->energies[i].energy_uj : 0;
}

void wtl_profile_energy_look(struct wtl_profile_energy *energy)
{
	struct wattle_window window;

	if (wtl_window_look(energy->meter, energy->window, &window, energy->energies,
			    energy->split.n_domains) == 0)
		wtl_profile_energy_tick(energy);
}

/* Bills the program since the last bill: idle power is included until the end, when it is known best. */
void wtl_profile_energy_bill(struct wtl_profile_energy *energy)
{
	struct wtl_split_bill *bill = wtl_split_add_bill(&energy->split, energy->meter->sampled_ns);
	const struct wtl_workload_scan *scan = wtl_consumers_scan(energy->consumers);

	if (!bill)
		return;
	bill->busy_ns = scan->busy_ns;
	wtl_consumers_sum_command(energy->consumers, &energy->sum);
	bill->own_ns = energy->sum.cpu_ns - energy->billed_ns;
	energy->billed_ns = energy->sum.cpu_ns;
	for (size_t i = 0; i < energy->split.n_domains; i++) {
		bill->dynamic_uj[i] = energy->sum.shares[i].full_uj;
		bill->idle_uj[i] = (uint64_t)energy->sum.shares[i].share_ns;
	}
}

/* Learning needs measurements: to a model all CPU seconds are alike. GPU energy goes to launches. */
static void choose_what_is_learned(struct wtl_profile_energy *energy)
{
	for (size_t i = 0; i < energy->split.n_domains; i++) {
		struct wattle_domain domain;

		if (wtl_meter_domain(energy->meter, i, &domain) < 0)
			continue;
		energy->launches[i] = domain.kind == WATTLE_KIND_GPU;
		energy->learns[i] = domain.kind != WATTLE_KIND_GPU &&
				    energy->energies[i].has_energy &&
				    energy->energies[i].method != WATTLE_METHOD_MODELLED;
	}
}

/*
 * Bills have running sums: of energy, and in idle_uj of the time that the program shares in. Idle power is taken out of
 * the sums, so that the last is the ledger's. Then each becomes its difference to the one before; sums never fall.
 */
static void take_idle_out(struct wtl_profile_energy *energy)
{
	const struct wtl_split *split = &energy->split;

	for (size_t domain = 0; domain < split->n_domains; domain++) {
		uint64_t next_dynamic = UINT64_MAX, next_idle = UINT64_MAX;
		struct wtl_baseline idle;

		wtl_consumers_baseline(energy->consumers, domain, &idle);
		for (size_t i = split->n_bills; i-- > 0;) {
			struct wtl_split_bill *bill = &split->bills[i];
			struct wtl_share share = {.full_uj = bill->dynamic_uj[domain],
						  .share_ns = (int64_t)bill->idle_uj[domain]};
			uint64_t idle_uj =
				idle.is_known ? wtl_share_idle_uj(&share, idle.idle_uw) : 0;
			uint64_t dynamic_uj = share.full_uj - idle_uj;

			bill->idle_uw[domain] = idle.is_known ? idle.idle_uw : UINT64_MAX;
			bill->dynamic_uj[domain] =
				dynamic_uj < next_dynamic ? dynamic_uj : next_dynamic;
			bill->idle_uj[domain] = idle_uj < next_idle ? idle_uj : next_idle;
			next_dynamic = bill->dynamic_uj[domain];
			next_idle = bill->idle_uj[domain];
		}
		for (size_t i = split->n_bills; i-- > 1;) {
			split->bills[i].dynamic_uj[domain] -=
				split->bills[i - 1].dynamic_uj[domain];
			split->bills[i].idle_uj[domain] -= split->bills[i - 1].idle_uj[domain];
		}
	}
}

void wtl_profile_energy_end(struct wtl_profile_energy *energy)
{
	take_idle_out(energy);
	choose_what_is_learned(energy);
}

static void describe_domain(const struct wtl_profile_energy *energy, size_t i,
			    struct wtl_profile_domain *ret_domain)
{
	struct wattle_domain domain = {.size = sizeof(domain)};

	if (wattle_meter_domain(energy->meter, i, &domain) < 0)
		return;
	wtl_text_copy(ret_domain->name, sizeof(ret_domain->name), domain.name);
	wtl_text_copy(ret_domain->source, sizeof(ret_domain->source), domain.source);
	ret_domain->kind = domain.kind;
	ret_domain->method = energy->energies[i].has_energy ? domain.method : WATTLE_METHOD_NONE;
	ret_domain->learns = energy->learns[i];
}

/* What wattle itself was billed, like any process. */
static void describe_profiler(const struct wtl_profile_energy *energy, struct wtl_profile *profile)
{
	const struct wtl_consumers *consumers = energy->consumers;

	for (size_t slot = 0; slot < wtl_consumers_slots(consumers); slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);

		if (!consumer || consumer->pid != energy->own_pid)
			continue;
		for (size_t i = 0; i < energy->split.n_domains; i++) {
			struct wtl_share share = wtl_consumers_share(consumers, (uint32_t)slot, i);
			struct wtl_baseline idle;

			wtl_consumers_baseline(consumers, i, &idle);
			profile->domains[i].has_profiler = true;
			profile->domains[i].profiler_uj =
				share.full_uj -
				(idle.is_known ? wtl_share_idle_uj(&share, idle.idle_uw) : 0);
		}
	}
}

int wtl_profile_energy_describe(const struct wtl_profile_energy *energy,
				struct wtl_profile *profile)
{
	const struct wtl_consumers *consumers = energy->consumers;
	const struct wtl_split *split = &energy->split;
	struct wtl_command_account account;

	profile->domains = calloc(split->n_domains + 1, sizeof(*profile->domains));
	profile->ledgers = calloc(split->n_domains + 1, sizeof(*profile->ledgers));
	profile->counts = calloc(split->n_domains + 1, sizeof(*profile->counts));
	if (!profile->domains || !profile->ledgers || !profile->counts)
		return -ENOMEM;
	profile->has_idle = true;
	for (size_t i = 0; i < split->n_domains; i++) {
		describe_domain(energy, i, &profile->domains[i]);
		wtl_consumers_ledger(consumers, i, &profile->ledgers[i]);
		profile->counts[i] = wtl_consumers_counts(consumers, i);
		if (!profile->counts[i])
			continue;
		profile->has_idle &= profile->ledgers[i].has_idle;
		for (size_t k = 0; k < split->n_bills; k++) {
			profile->dynamic_uj += split->bills[k].dynamic_uj[i];
			profile->idle_uj += split->bills[k].idle_uj[i];
		}
	}
	describe_profiler(energy, profile);
	wtl_consumers_command(consumers, &account);
	profile->uncertainty_uj = account.all.uncertainty_uj;
	return 0;
}

bool wtl_profile_is_above_idle(const struct wtl_profile *profile)
{
	const struct wtl_split *ticks = profile->ticks;

	if (!profile->has_idle || !profile->policy)
		return profile->has_idle;
	for (size_t i = 0; i < ticks->n_bills; i++)
		for (size_t k = 0; k < ticks->n_domains; k++)
			if (profile->counts[k] && ticks->bills[i].idle_uw[k] > 0)
				return true;
	return false;
}
