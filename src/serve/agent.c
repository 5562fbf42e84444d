/* SPDX-License-Identifier: MIT */
#include "serve/agent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/io.h"
#include "base/text.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "sensors/gpu_info.h"

/* A consumer that is being ranked. */
struct wtl_agent_user {
	uint32_t slot;
	uint64_t power_uw, energy_uj;
};

static int by_power(const void *a, const void *b)
{
	const struct wtl_agent_user *x = a, *y = b;

	if (x->power_uw != y->power_uw)
		return x->power_uw < y->power_uw ? 1 : -1;
	if (x->energy_uj != y->energy_uj)
		return x->energy_uj < y->energy_uj ? 1 : -1;
	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* ---- Domains ---- */

static void describe(struct wtl_live_domain *domain, const struct wattle_domain *info)
{
	wtl_text_copy(domain->name, sizeof(domain->name), info->name);
	wtl_text_copy(domain->inside, sizeof(domain->inside), info->inside);
	wtl_text_copy(domain->device, sizeof(domain->device), info->device);
	wtl_text_copy(domain->source, sizeof(domain->source), info->source);
	wtl_text_copy(domain->uuid, sizeof(domain->uuid), info->uuid);
	wtl_text_copy(domain->reason, sizeof(domain->reason), info->reason);
	domain->kind = info->kind;
	domain->method = info->method;
	domain->status = info->status;
	domain->in_total = info->in_total != 0;
}

static void put_idle(struct wtl_live_domain *domain, const struct wtl_consumers *consumers,
		     size_t i)
{
	struct wtl_baseline idle;

	if (!consumers)
		return;
	wtl_consumers_baseline(consumers, i, &idle);
	domain->has_idle = idle.is_known;
	domain->idle_uw = idle.idle_uw;
	domain->idle_uncertainty_uw = 2 * idle.uncertainty_uw;
}

/* The ± of an energy as the ± of its mean power. */
static uint64_t uncertainty_uw(const struct wattle_energy *energy)
{
	return energy->measured_ns > 0 ? (uint64_t)((double)energy->uncertainty_uj * 1e9 /
						    (double)energy->measured_ns)
				       : 0;
}

static void put_domain(struct wtl_agent *agent, size_t i, bool has_recent,
		       struct wtl_live_domain *domain)
{
	const struct wattle_energy *energy = &agent->energies[i], *recent = &agent->recent[i];
	struct wattle_domain info;

	memset(domain, 0, sizeof(*domain));
	wtl_meter_domain(agent->options.meter, i, &info);
	describe(domain, &info);
	put_idle(domain, agent->options.consumers, i);
	memcpy(domain->accounts_uj, &agent->totals.accounts_uj[i * WTL_TOTALS_ACCOUNTS],
	       sizeof(domain->accounts_uj));
	domain->energy_uj = wtl_totals_sum(&agent->totals, i);
	domain->has_energy = energy->has_energy != 0;
	if (domain->has_energy) {
		domain->measured_uj = energy->energy_uj;
		domain->uncertainty_uj = energy->uncertainty_uj;
		domain->measured_ns = energy->measured_ns;
		domain->gap_ns = energy->gap_ns;
	}
	domain->has_power = has_recent && recent->has_energy && recent->has_power;
	if (domain->has_power) {
		domain->power_uw = recent->mean_uw;
		domain->power_uncertainty_uw = uncertainty_uw(recent);
	}
}

static void put_total(struct wtl_live *live, const struct wattle_energy *recent)
{
	bool has_any = false;
	uint64_t sum_uw;

	live->is_complete = live->has_power = true;
	live->power_uw = sum_uw = 0;
	for (size_t i = 0; i < live->n_domains; i++) {
		const struct wtl_live_domain *domain = &live->domains[i];

		if (!domain->in_total)
			continue;
		live->power_uw += domain->has_power ? domain->power_uw : 0;
		live->is_complete &= domain->has_energy && domain->status != WATTLE_STATUS_GONE;
		/* A domain that does not answer for a moment must not count as 0 W. */
		live->has_power &= domain->has_power || !domain->has_energy ||
				   domain->status == WATTLE_STATUS_GONE ||
				   domain->status == WATTLE_STATUS_ASLEEP;
		has_any |= domain->has_power;
		sum_uw += domain->has_power ? domain->power_uncertainty_uw : 0;
	}
	live->has_power &= has_any;
	/* A total that lacks a domain has measured_ns 0, and no ± of its own. */
	live->power_uncertainty_uw = recent->measured_ns > 0 ? uncertainty_uw(recent) : sum_uw;
}

static void put_misses(const struct wtl_catalog *catalog, struct wtl_live *live)
{
	for (size_t i = 0; i < live->n_misses; i++) {
		const struct wtl_miss *miss = &catalog->misses[i];
		struct wtl_live_miss *put = &live->misses[i];

		wtl_text_copy(put->source, sizeof(put->source), miss->source);
		wtl_text_copy(put->domain, sizeof(put->domain), miss->domain);
		wtl_text_copy(put->reason, sizeof(put->reason), miss->reason);
		wtl_text_copy(put->remedy, sizeof(put->remedy), miss->remedy);
		put->status = miss->status;
	}
}

/* ---- Who used it ---- */

static uint64_t recent_uw(const struct wtl_totals *totals, uint64_t recent_uj)
{
	return totals->interval_ns > 0
		       ? (uint64_t)((double)recent_uj * 1e9 / (double)totals->interval_ns)
		       : 0;
}

static void name_user(void *context, uint32_t uid, char *name, size_t size)
{
	const struct wtl_naming *naming = context;

	naming->user(naming->context, uid, name, size);
}

/* The name that people use: a pod's NAMESPACE/NAME, a job's user. root runs helpers in a job, too. */
static void put_title(struct wtl_agent *agent, enum wtl_field by,
		      const struct wtl_totals_group *group, char title[WTL_POD_TITLE_SIZE])
{
	title[0] = '\0';
	if (by == WTL_FIELD_POD)
		wtl_pods_find(&agent->pods, agent->options.meter->env.io, group->name, title);
	else if (by == WTL_FIELD_JOB && strchr(group->name, '/') && group->uid != UINT32_MAX)
		name_user(&agent->options.naming, group->uid, title, WTL_POD_TITLE_SIZE);
}

static void put_group(struct wtl_agent *agent, size_t by, size_t n_domains,
		      const struct wtl_totals_group *group, struct wtl_live_group *put)
{
	const struct wtl_totals *totals = &agent->totals;

	put->by = (uint8_t)by;
	wtl_text_copy(put->name, sizeof(put->name), group->name);
	put_title(agent, wtl_totals_groupings[by], group, put->title);
	put->power_uw = recent_uw(totals, group->recent_uj);
	for (size_t i = 0; i < n_domains; i++)
		put->dynamic_uw[i] = recent_uw(totals, group->recent_dynamic_uj[i]);
	memcpy(put->energy_uj, group->energy_uj, n_domains * WTL_TOTALS_PARTS * sizeof(uint64_t));
}

static void put_groups(struct wtl_agent *agent, struct wtl_live *live)
{
	size_t n = 0;

	for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++) {
		const struct wtl_totals_grouping *grouping = &agent->totals.by[by];

		for (size_t i = 0; i < grouping->n; i++)
			put_group(agent, by, live->n_domains, &grouping->groups[i],
				  &live->groups[n++]);
		if (grouping->has_overflow)
			put_group(agent, by, live->n_domains,
				  &grouping->groups[WTL_TOTALS_OVERFLOW_PLACE], &live->groups[n++]);
		if (grouping->has_retired)
			put_group(agent, by, live->n_domains,
				  &grouping->groups[WTL_TOTALS_RETIRED_PLACE], &live->groups[n++]);
	}
}

/* With its part of shared memory, if known: that is slow to read, and known of some only. 0: nothing is known. */
static uint64_t memory_of(const struct wtl_consumer *consumer)
{
	if (consumer->pss_bytes != UINT64_MAX)
		return consumer->pss_bytes;
	return consumer->rss_bytes != UINT64_MAX ? consumer->rss_bytes : 0;
}

/* Ranks the consumers by their power now; returns how many there are. */
static size_t rank(struct wtl_agent *agent, struct wtl_live *live)
{
	const struct wtl_consumers *consumers = agent->options.consumers;
	size_t slots = consumers ? wtl_consumers_slots(consumers) : 0, n = 0;

	live->n_running = 0;
	live->memory_bytes = 0;
	if (wtl_array_reserve(&agent->users, &agent->room_users, slots, sizeof(*agent->users)) < 0)
		return 0;
	for (uint32_t slot = 0; slot < slots; slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);
		struct wtl_consumer_power power = {.full_uw = 0};

		if (!consumer)
			continue;
		if (consumer->state == WTL_CONSUMER_LIVE) {
			live->n_running++;
			live->memory_bytes += memory_of(consumer);
		}
		if (wtl_consumers_power(consumers, slot, WTL_PART_ALL, &power) && power.full_uw > 0)
			agent->users[n++] = (struct wtl_agent_user){
				.slot = slot,
				.power_uw = power.has_dynamic ? power.dynamic_uw : power.full_uw};
	}
	if (n > 0)
		qsort(agent->users, n, sizeof(*agent->users), by_power);
	return n < agent->options.max_processes ? n : agent->options.max_processes;
}

static void put_process(const struct wtl_agent *agent, uint32_t slot, struct wtl_live_process *put)
{
	const struct wtl_consumers *consumers = agent->options.consumers;
	const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);
	const struct wtl_naming *naming = &agent->options.naming;
	struct wtl_consumer_power power = {.full_uw = 0};
	struct wtl_share_energy energy;

	*put = (struct wtl_live_process){.pid = consumer->pid, .cpu_ppm = consumer->cpu_ppm};
	wtl_text_copy(put->name, sizeof(put->name), consumer->name);
	if (consumer->uid != UINT32_MAX)
		naming->user(naming->context, consumer->uid, put->user, sizeof(put->user));
	wtl_consumers_power(consumers, slot, WTL_PART_ALL, &power);
	wtl_consumers_energy(consumers, slot, WTL_PART_ALL, &energy);
	put->power_uw = power.full_uw;
	put->dynamic_uw = power.dynamic_uw;
	put->has_dynamic = power.has_dynamic && energy.has_dynamic;
	if (wtl_consumers_power(consumers, slot, WTL_PART_CPU, &power))
		put->cpu_dynamic_uw = power.has_dynamic ? power.dynamic_uw : power.full_uw;
	put->energy_uj = energy.full_uj;
	put->uncertainty_uj = energy.full_uncertainty_uj;
	put->dynamic_uj = energy.dynamic_uj;
	put->is_running = consumer->state == WTL_CONSUMER_LIVE && consumer->pid > 0;
	for (size_t i = 0; i < agent->totals.n_domains; i++)
		if (agent->totals.is_counted[i])
			put->counted_uj += wtl_totals_of_slot(&agent->totals, slot, i);
}

/* ---- Devices ---- */

static void put_gpus(const struct wtl_agent_beside *beside, struct wtl_live *live)
{
	for (size_t i = 0; i < live->n_gpus; i++) {
		struct wtl_live_gpu *gpu = &live->gpus[i];

		memset(gpu, 0, sizeof(*gpu));
		wtl_text_copy(gpu->domain, sizeof(gpu->domain), beside->gpus[i].domain);
		wtl_text_copy(gpu->name, sizeof(gpu->name), beside->gpus[i].name);
		wtl_text_copy(gpu->uuid, sizeof(gpu->uuid), beside->gpus[i].uuid);
	}
	for (size_t i = 0; i < beside->n_values; i++) {
		const struct wtl_device_value *value = &beside->values[i];

		if (value->gpu < 0 || (size_t)value->gpu >= live->n_gpus)
			continue;
		live->gpus[value->gpu].has |= UINT64_C(1) << value->number;
		live->gpus[value->gpu].values[value->number] = value->value;
	}
}

/* ---- All of it ---- */

/* Counters keep the highest value: a correction of sampled power may take a little back. */
static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void put_carbon(struct wtl_agent *agent, const struct wattle_window *window,
		       struct wtl_live *live)
{
	const struct wtl_report_place *place = &agent->options.place;
	struct wtl_report_carbon carbon;

	wtl_describe_carbon(place, &window->total, &carbon);
	agent->emitted_ug = most(agent->emitted_ug, carbon.emitted_ug);
	live->emitted_ug = agent->emitted_ug;
	live->emitted_uncertainty_ug = carbon.uncertainty_ug;
	live->intensity_mg_per_kwh = place->carbon.intensity_mg_per_kwh;
	live->is_default_place = place->is_default;
	wtl_text_copy(live->location, sizeof(live->location), place->carbon.location);
	wtl_text_copy(live->dataset, sizeof(live->dataset), place->carbon.dataset);
}

static void put_self(struct wtl_agent *agent, struct wtl_live *live)
{
	struct wtl_report_self self;

	wtl_describe_self(agent->options.meter, &self);
	agent->self_uj = most(agent->self_uj, self.has_energy ? self.energy_uj : 0);
	live->cpu_ns = self.cpu_ns;
	live->rss_bytes = self.max_rss_bytes;
	live->ticks = self.ticks;
	live->late_ticks = self.late_ticks;
	live->has_self_energy = self.has_energy;
	live->self_uj = agent->self_uj;
	live->self_uncertainty_uj = self.uncertainty_uj;
}

static size_t count_groups(const struct wtl_totals *totals)
{
	size_t n = 0;

	for (size_t by = 0; by < WTL_TOTALS_GROUPINGS; by++)
		n += totals->by[by].n + totals->by[by].has_overflow + totals->by[by].has_retired;
	return n;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void fill(struct wtl_agent *agent, const struct wtl_agent_beside *beside,
		 const struct wattle_window *window, const struct wattle_window *recent,
		 struct wtl_live *live)
{
	struct wattle_meter *meter = agent->options.meter;

	live->number = ++agent->number;
	live->t_utc_ns = wtl_io_real_ns(meter->env.io);
	live->t_boot_ns = wtl_io_boot_ns(meter->env.io);
	live->begin_utc_ns = agent->begin_utc_ns;
	live->counters_utc_ns = agent->counters_utc_ns;
	live->interval_ns = recent->duration_ns;
	wtl_text_copy(live->host, sizeof(live->host), agent->options.host);
	wtl_text_copy(live->version, sizeof(live->version), wattle_version());
	for (size_t i = 0; i < live->n_domains; i++)
		put_domain(agent, i, recent->duration_ns > 0, &live->domains[i]);
	live->energy_uj = agent->totals.host_uj;
	put_total(live, &recent->total);
	put_misses(&meter->catalog, live);
	put_groups(agent, live);
	for (size_t i = 0; i < live->n_processes; i++)
		put_process(agent, agent->users[i].slot, &live->processes[i]);
	put_gpus(beside, live);
	put_carbon(agent, window, live);
	put_self(agent, live);
	live->is_recorded = beside->is_recorded;
	live->unrecorded_ns = beside->unrecorded_ns;
	live->push = beside->push;
	wtl_text_copy(live->recording, sizeof(live->recording), beside->recording);
}

/* Since the last look; nothing at the first one. */
static void read_recent(struct wtl_agent *agent, struct wattle_window *ret_recent)
{
	struct wattle_meter *meter = agent->options.meter;

	*ret_recent = (struct wattle_window){.duration_ns = 0};
	if (agent->was_marked)
		wtl_window_look(meter, WTL_WINDOW_OF_SESSION, ret_recent, agent->recent,
				agent->totals.n_domains);
	agent->was_marked = wtl_window_mark(meter) == 0;
}

static int count(struct wtl_agent *agent)
{
	int64_t now_ns = wtl_io_mono_ns(agent->options.meter->env.io);

	return agent->options.consumers
		       ? wtl_totals_look(&agent->totals, agent->options.consumers, now_ns)
		       : wtl_totals_look_unseen(&agent->totals, agent->energies, now_ns);
}

/* Counters must not be served before a restart would find them: they would fall then, and a scraper would take that for
 * a reset. So while there is a recording, a snapshot waits for the next look, when its counters are on the disk. */
static void publish(struct wtl_agent *agent, struct wtl_live *draft, bool is_recorded)
{
	if (is_recorded) {
		wtl_board_keep(agent->board, draft);
		agent->waiting = draft;
	} else {
		wtl_board_publish(agent->board, draft);
	}
}

static void publish_waiting(struct wtl_agent *agent)
{
	struct wtl_live *waiting = agent->waiting;

	if (!waiting)
		return;
	agent->waiting = NULL;
	wtl_board_give_back(agent->board, waiting);
	wtl_board_publish(agent->board, waiting);
}

void wtl_agent_look(struct wtl_agent *agent, const struct wtl_agent_beside *beside)
{
	struct wattle_meter *meter = agent->options.meter;
	struct wattle_window window, recent;
	struct wtl_live counts = {.number = 0}, *draft;

	publish_waiting(agent);
	if (wtl_window_look(meter, agent->options.window, &window, agent->energies,
			    agent->totals.n_domains) < 0 ||
	    count(agent) < 0)
		return;
	read_recent(agent, &recent);
	draft = wtl_board_draft(agent->board);
	if (!draft)
		return;
	counts.n_domains = least(agent->totals.n_domains, WTL_LIVE_DOMAINS);
	counts.n_misses = least(meter->catalog.n_misses, WTL_LIVE_MISSES);
	counts.n_gpus = least(beside->n_gpus, WTL_LIVE_GPUS);
	counts.n_groups = count_groups(&agent->totals);
	counts.n_processes = rank(agent, draft);
	if (wtl_live_reserve(draft, &counts) < 0)
		return;
	fill(agent, beside, &window, &recent, draft);
	publish(agent, draft, beside->is_recorded);
}

/* ---- Its memory ---- */

int wtl_agent_init(struct wtl_agent *agent, const struct wtl_agent_options *options,
		   struct wtl_board *board)
{
	size_t n = wattle_meter_domains(options->meter);

	*agent = (struct wtl_agent){.options = *options, .board = board};
	agent->names = calloc(n + 1, sizeof(*agent->names));
	agent->energies = calloc(n + 1, sizeof(*agent->energies));
	agent->recent = calloc(n + 1, sizeof(*agent->recent));
	if (!agent->names || !agent->energies || !agent->recent)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct wattle_domain info;

		wtl_meter_domain(options->meter, i, &info);
		agent->names[i] = info.name;
	}
	wtl_pods_init(&agent->pods);
	agent->begin_utc_ns = agent->counters_utc_ns = wtl_io_real_ns(options->meter->env.io);
	if (wtl_totals_init(&agent->totals, agent->names, n, name_user, &agent->options.naming) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct wattle_domain info;

		wtl_meter_domain(options->meter, i, &info);
		agent->totals.is_counted[i] = info.in_total != 0;
	}
	return 0;
}

void wtl_agent_done(struct wtl_agent *agent)
{
	wtl_totals_done(&agent->totals);
	free(agent->names);
	free(agent->energies);
	free(agent->recent);
	free(agent->users);
	wtl_pods_done(&agent->pods);
}

int wtl_agent_resume(struct wtl_agent *agent, const char *totals, int64_t counters_utc_ns)
{
	int rc = wtl_totals_load(&agent->totals, totals);

	if (rc == 0)
		agent->counters_utc_ns = counters_utc_ns;
	return rc;
}
