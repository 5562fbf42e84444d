/* SPDX-License-Identifier: MIT */
#include "serve/metrics.h"

#include <string.h>

#include "base/text.h"
#include "base/thread.h"
#include "energy/gpu.h"
#include "energy/units.h"
#include "serve/accept.h"
#include "serve/live.h"

static uint64_t positive(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static bool has_counter(const struct wtl_live_domain *domain)
{
	return domain->has_energy || domain->energy_uj > 0;
}

/* ---- Domains ---- */

static void begin_domain(struct wtl_metrics_writer *writer, const struct wtl_live_domain *domain)
{
	wtl_metrics_begin(writer);
	wtl_metrics_label(writer, "domain", domain->name);
	wtl_metrics_label(writer, "kind", wattle_kind_name(domain->kind));
}

enum domain_number {
	DOMAIN_ENERGY,
	DOMAIN_POWER,
	DOMAIN_POWER_UNCERTAINTY,
	DOMAIN_IDLE,
	DOMAIN_IDLE_UNCERTAINTY,
	DOMAIN_SESSION,
	DOMAIN_SESSION_UNCERTAINTY,
	DOMAIN_MEASURED,
	DOMAIN_GAP
};

/* false: it is not known. */
static bool get_domain(const struct wtl_live_domain *domain, enum domain_number number,
		       uint64_t *ret)
{
	switch (number) {
	case DOMAIN_ENERGY:
		*ret = domain->energy_uj;
		return has_counter(domain);
	case DOMAIN_POWER:
		*ret = domain->power_uw;
		return domain->has_power;
	case DOMAIN_POWER_UNCERTAINTY:
		*ret = domain->power_uncertainty_uw;
		return domain->has_power;
	case DOMAIN_IDLE:
		*ret = domain->idle_uw;
		return domain->has_idle;
	case DOMAIN_IDLE_UNCERTAINTY:
		*ret = domain->idle_uncertainty_uw;
		return domain->has_idle;
	case DOMAIN_SESSION:
		*ret = domain->measured_uj;
		return domain->has_energy;
	case DOMAIN_SESSION_UNCERTAINTY:
		*ret = domain->uncertainty_uj;
		return domain->has_energy;
	case DOMAIN_MEASURED:
		*ret = positive(domain->measured_ns);
		return domain->has_energy;
	case DOMAIN_GAP:
		*ret = positive(domain->gap_ns);
		return domain->has_energy;
	}
	return false;
}

static void put_domains(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			unsigned what)
{
	for (size_t i = 0; i < live->n_domains; i++) {
		const struct wtl_live_domain *domain = &live->domains[i];
		uint64_t value;

		if (!get_domain(domain, what, &value))
			continue;
		begin_domain(writer, domain);
		if (what == DOMAIN_MEASURED || what == DOMAIN_GAP)
			wtl_metrics_decimal(writer, value / 1000000, 3);
		else if (what == DOMAIN_ENERGY)
			wtl_metrics_eighths(writer, value, WTL_METRICS_DOWN);
		else if (what == DOMAIN_POWER || what == DOMAIN_IDLE || what == DOMAIN_SESSION)
			wtl_metrics_eighths(writer, value, WTL_METRICS_NEAR);
		else
			wtl_metrics_eighths(writer, value, WTL_METRICS_UP);
	}
}

static void put_domain_info(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			    unsigned what)
{
	(void)what;
	for (size_t i = 0; i < live->n_domains; i++) {
		const struct wtl_live_domain *domain = &live->domains[i];

		begin_domain(writer, domain);
		wtl_metrics_label(writer, "inside", domain->inside);
		wtl_metrics_label(writer, "in_total", domain->in_total ? "1" : "0");
		wtl_metrics_label(writer, "source", domain->source);
		wtl_metrics_label(writer, "method", wattle_method_name(domain->method));
		wtl_metrics_label(writer, "device", domain->device);
		wtl_metrics_label(writer, "uuid", domain->uuid);
		wtl_metrics_number(writer, 1);
	}
}

static void put_ledger(struct wtl_metrics_writer *writer, const struct wtl_live *live,
		       unsigned what)
{
	static const char *const names[WTL_TOTALS_ACCOUNTS] = {
		[WTL_TOTALS_PROCESSES] = "processes",
		[WTL_TOTALS_KERNEL] = "kernel",
		[WTL_TOTALS_IDLE] = "idle",
		[WTL_TOTALS_UNATTRIBUTED] = "unattributed",
	};

	(void)what;
	for (size_t i = 0; i < live->n_domains; i++) {
		const struct wtl_live_domain *domain = &live->domains[i];

		for (size_t k = 0; has_counter(domain) && k < WTL_TOTALS_ACCOUNTS; k++) {
			if (k == WTL_TOTALS_IDLE && !domain->has_idle && !domain->accounts_uj[k])
				continue;
			wtl_metrics_begin(writer);
			wtl_metrics_label(writer, "domain", domain->name);
			wtl_metrics_label(writer, "account", names[k]);
			wtl_metrics_eighths(writer, domain->accounts_uj[k], WTL_METRICS_DOWN);
		}
	}
}

/* ---- Sources ---- */

struct source {
	const char *source, *domain, *reason;
	bool is_up;
};

static struct source source_at(const struct wtl_live *live, size_t i)
{
	const struct wtl_live_domain *domain;
	struct source source;

	if (i >= live->n_domains) {
		const struct wtl_live_miss *miss = &live->misses[i - live->n_domains];

		return (struct source){miss->source, miss->domain, miss->reason, false};
	}
	domain = &live->domains[i];
	source = (struct source){domain->source, domain->name, domain->reason, false};
	source.is_up = domain->has_energy &&
		       (domain->status == WATTLE_STATUS_OK || domain->status == WATTLE_STATUS_GAP ||
			domain->status == WATTLE_STATUS_STALE);
	if (source.is_up)
		source.reason = "";
	else if (!source.reason[0])
		source.reason = wattle_status_name(domain->status);
	return source;
}

/* No two series are the same. */
static bool was_told(const struct wtl_live *live, size_t i, const struct source *source)
{
	for (size_t k = 0; k < i; k++) {
		struct source other = source_at(live, k);

		if (strcmp(other.source, source->source) == 0 &&
		    strcmp(other.domain, source->domain) == 0 &&
		    strcmp(other.reason, source->reason) == 0)
			return true;
	}
	return false;
}

static void put_sources(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			unsigned what)
{
	(void)what;
	for (size_t i = 0; i < live->n_domains + live->n_misses; i++) {
		struct source source = source_at(live, i);

		/* Names of domains are unique, so only what is missing can be there twice. */
		if (i >= live->n_domains && was_told(live, i, &source))
			continue;
		wtl_metrics_begin(writer);
		wtl_metrics_label(writer, "source", source.source);
		wtl_metrics_label(writer, "domain", source.domain);
		wtl_metrics_label(writer, "reason", source.reason);
		wtl_metrics_number(writer, source.is_up);
	}
}

/* ---- The machine, and wattle itself ---- */

static bool has_host_energy(const struct wtl_live *live)
{
	for (size_t i = 0; i < live->n_domains; i++)
		if (live->domains[i].in_total && has_counter(&live->domains[i]))
			return true;
	return false;
}

enum host_number {
	HOST_ENERGY,
	HOST_POWER,
	HOST_POWER_UNCERTAINTY,
	HOST_COMPLETE,
	HOST_PROCESSES,
	CARBON_EMITTED,
	CARBON_UNCERTAINTY,
	CARBON_INTENSITY,
	SELF_CPU,
	SELF_MEMORY,
	SELF_ENERGY,
	SELF_UNCERTAINTY,
	SELF_TICKS,
	SELF_LATE_TICKS,
	SELF_RECORDS,
	SELF_UNRECORDED,
	TIME_START,
	TIME_COUNTERS,
	TIME_SNAPSHOT,
	TIME_SCRAPE,
	HOST_NUMBERS
};

static bool knows_host(const struct wtl_live *live, enum host_number number)
{
	if (number == HOST_ENERGY || number == CARBON_EMITTED || number == CARBON_UNCERTAINTY)
		return has_host_energy(live);
	if (number == HOST_POWER || number == HOST_POWER_UNCERTAINTY)
		return live->has_power;
	if (number == SELF_ENERGY || number == SELF_UNCERTAINTY)
		return live->has_self_energy;
	if (number == SELF_MEMORY)
		return live->rss_bytes > 0;
	if (number == SELF_UNRECORDED)
		return live->recording[0];
	return true;
}

static void put_joules(struct wtl_metrics_writer *writer, const struct wtl_live *live,
		       enum host_number number)
{
	const struct {
		uint64_t value;
		enum wtl_metrics_round round;
	} joules[HOST_NUMBERS] = {
		[HOST_ENERGY] = {live->energy_uj, WTL_METRICS_DOWN},
		[HOST_POWER] = {live->power_uw, WTL_METRICS_NEAR},
		[HOST_POWER_UNCERTAINTY] = {live->power_uncertainty_uw, WTL_METRICS_UP},
		[SELF_ENERGY] = {live->self_uj, WTL_METRICS_DOWN},
		[SELF_UNCERTAINTY] = {live->self_uncertainty_uj, WTL_METRICS_UP},
	};

	wtl_metrics_eighths(writer, joules[number].value, joules[number].round);
}

static void put_decimals(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			 enum host_number number)
{
	const struct {
		uint64_t value;
		unsigned decimals;
	} decimals[HOST_NUMBERS] = {
		[HOST_COMPLETE] = {live->is_complete, 0},
		[HOST_PROCESSES] = {live->n_running, 0},
		[CARBON_EMITTED] = {live->emitted_ug, 6},
		[CARBON_UNCERTAINTY] = {live->emitted_uncertainty_ug, 6},
		/* A kilowatt-hour has 3.6 million joules. */
		[CARBON_INTENSITY] = {(live->intensity_mg_per_kwh * 2500000 + 4) / 9, 15},
		[SELF_CPU] = {positive(live->cpu_ns) / 1000, 6},
		[SELF_MEMORY] = {live->rss_bytes, 0},
		[SELF_TICKS] = {live->ticks, 0},
		[SELF_LATE_TICKS] = {live->late_ticks, 0},
		[SELF_RECORDS] = {live->is_recorded, 0},
		[SELF_UNRECORDED] = {positive(live->unrecorded_ns) / 1000000, 3},
		[TIME_START] = {positive(live->begin_utc_ns) / 1000000, 3},
		[TIME_COUNTERS] = {positive(live->counters_utc_ns) / 1000000, 3},
		[TIME_SNAPSHOT] = {positive(live->t_utc_ns) / 1000000, 3},
		[TIME_SCRAPE] = {positive(wtl_thread_clock_ns() - writer->begun_ns), 9},
	};

	wtl_metrics_decimal(writer, decimals[number].value, decimals[number].decimals);
}

static void put_host(struct wtl_metrics_writer *writer, const struct wtl_live *live, unsigned what)
{
	if (!knows_host(live, what))
		return;
	wtl_metrics_begin(writer);
	if (what <= HOST_POWER_UNCERTAINTY || what == SELF_ENERGY || what == SELF_UNCERTAINTY)
		put_joules(writer, live, what);
	else
		put_decimals(writer, live, what);
}

static void put_build(struct wtl_metrics_writer *writer, const struct wtl_live *live, unsigned what)
{
	(void)what;
	wtl_metrics_begin(writer);
	wtl_metrics_label(writer, "version", live->version);
	wtl_metrics_number(writer, 1);
}

static void put_place(struct wtl_metrics_writer *writer, const struct wtl_live *live, unsigned what)
{
	(void)what;
	wtl_metrics_begin(writer);
	wtl_metrics_label(writer, "location", live->location);
	wtl_metrics_label(writer, "dataset", live->dataset);
	wtl_metrics_label(writer, "assumed", live->is_default_place ? "1" : "0");
	wtl_metrics_number(writer, 1);
}

/* ---- Groups ---- */

enum { BY_POD = 3, BY_JOB = 4 };

static const char *const group_labels[WTL_TOTALS_GROUPINGS] = {"user",	 "unit",   "container_id",
							       "pod_id", "job_id", "command"};

static bool is_grouped(const struct wtl_live *live, unsigned by)
{
	for (size_t i = 0; i < live->n_groups; i++)
		if (live->groups[i].by == by && live->groups[i].name[0])
			return true;
	return false;
}

/* What is less than the eighth of a joule that is written has no series: short-lived commands would have thousands. */
static bool is_visible(uint64_t energy_uj)
{
	return energy_uj >= 125000;
}

static bool is_visible_group(const struct wtl_live *live, size_t group)
{
	for (size_t i = 0; i < live->n_domains; i++)
		if (live->domains[i].in_total &&
		    (is_visible(wtl_live_energy(live, group, i, WTL_TOTALS_DYNAMIC)) ||
		     is_visible(wtl_live_energy(live, group, i, WTL_TOTALS_IDLE_PART))))
			return true;
	return false;
}

static void put_group_domain(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			     size_t group, size_t domain, const struct wtl_metrics_mark *mark)
{
	static const char *const names[WTL_TOTALS_PARTS] = {
		[WTL_TOTALS_DYNAMIC] = "dynamic", [WTL_TOTALS_IDLE_PART] = "idle"};

	for (size_t part = 0; part < WTL_TOTALS_PARTS; part++) {
		uint64_t energy_uj = wtl_live_energy(live, group, domain, part);

		if (!is_visible(energy_uj))
			continue;
		wtl_metrics_repeat(writer, mark);
		wtl_metrics_label(writer, "domain", live->domains[domain].name);
		wtl_metrics_label(writer, "part", names[part]);
		wtl_metrics_eighths(writer, energy_uj, WTL_METRICS_DOWN);
	}
}

static void put_group_domains(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			      size_t group, const char *label, const char *value)
{
	struct wtl_metrics_mark mark;

	wtl_metrics_begin(writer);
	wtl_metrics_label(writer, label, value);
	mark = wtl_metrics_mark(writer);
	for (size_t i = 0; i < live->n_domains; i++)
		if (live->domains[i].in_total)
			put_group_domain(writer, live, group, i, &mark);
	wtl_metrics_drop(writer, &mark);
}

static void put_group_energy(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			     unsigned by)
{
	bool is_there = is_grouped(live, by);

	for (size_t i = 0; is_there && i < live->n_groups; i++)
		if (live->groups[i].by == by && !wtl_live_is_retired(&live->groups[i]))
			put_group_domains(writer, live, i, group_labels[by], live->groups[i].name);
}

static void put_group_power(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			    unsigned by)
{
	bool is_there = is_grouped(live, by) && live->has_power;

	for (size_t i = 0; is_there && i < live->n_groups; i++) {
		if (live->groups[i].by != by || wtl_live_is_retired(&live->groups[i]) ||
		    !is_visible_group(live, i))
			continue;
		wtl_metrics_begin(writer);
		wtl_metrics_label(writer, group_labels[by], live->groups[i].name);
		wtl_metrics_eighths(writer, live->groups[i].power_uw, WTL_METRICS_NEAR);
	}
}

/* What people call the groups of a grouping: "NAMESPACE/NAME" of a pod, the user of a job. */
static void put_titles(struct wtl_metrics_writer *writer, const struct wtl_live *live, unsigned by)
{
	for (size_t i = 0; i < live->n_groups; i++) {
		const char *title = live->groups[i].title;
		const char *slash = by == BY_POD ? strchr(title, '/') : NULL;
		char space[WTL_POD_TITLE_SIZE];

		if (live->groups[i].by != by || !title[0])
			continue;
		wtl_metrics_begin(writer);
		wtl_metrics_label(writer, group_labels[by], live->groups[i].name);
		if (slash) {
			wtl_text_copy(space, (size_t)(slash - title) + 1, title);
			wtl_metrics_label(writer, "namespace", space);
		}
		wtl_metrics_label(writer, slash ? "pod" : "user", slash ? slash + 1 : title);
		wtl_metrics_number(writer, 1);
	}
}

/* No counter: it grows by what was used long ago. */
static void put_retired(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			unsigned what)
{
	(void)what;
	for (size_t i = 0; i < live->n_groups; i++)
		if (wtl_live_is_retired(&live->groups[i]))
			put_group_domains(writer, live, i, "grouping",
					  group_labels[live->groups[i].by]);
}

/* ---- Processes ---- */

enum process_number { PROCESS_ENERGY, PROCESS_POWER };

static void put_processes(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			  unsigned what)
{
	for (size_t i = 0; i < live->n_processes; i++) {
		const struct wtl_live_process *process = &live->processes[i];

		if (!process->is_running || !wtl_metrics_has_room(writer))
			continue;
		wtl_metrics_begin(writer);
		wtl_metrics_label_number(writer, "pid", (uint64_t)process->pid);
		wtl_metrics_label(writer, "command", process->name);
		wtl_metrics_label(writer, "user", process->user);
		if (what == PROCESS_ENERGY)
			wtl_metrics_eighths(writer, process->counted_uj, WTL_METRICS_DOWN);
		else
			wtl_metrics_eighths(writer, process->power_uw, WTL_METRICS_NEAR);
	}
}

/* ---- GPUs ---- */

/* A GPU and a number of it; false: it is not known. */
static bool begin_gpu(struct wtl_metrics_writer *writer, const struct wtl_live_gpu *gpu,
		      enum wtl_device_number number)
{
	if (!(gpu->has & (UINT64_C(1) << number)))
		return false;
	wtl_metrics_begin(writer);
	wtl_metrics_label(writer, "domain", gpu->domain);
	return true;
}

static void put_gpu(struct wtl_metrics_writer *writer, const struct wtl_live *live, unsigned what)
{
	for (size_t i = 0; i < live->n_gpus; i++) {
		int64_t value = live->gpus[i].values[what];

		if (!begin_gpu(writer, &live->gpus[i], what))
			continue;
		if (what == WTL_DEVICE_USE_PERCENT || what == WTL_DEVICE_FAN_PERCENT)
			wtl_metrics_decimal(writer, positive(value), 2);
		else if (what == WTL_DEVICE_CLOCK_MHZ || what == WTL_DEVICE_MEMORY_CLOCK_MHZ)
			wtl_metrics_number(writer, positive(value) * 1000000);
		else if (what == WTL_DEVICE_LIMIT_UW)
			wtl_metrics_eighths(writer, positive(value), WTL_METRICS_NEAR);
		else
			wtl_metrics_signed(writer, value);
	}
}

/* Idle clocks are no throttling: they are low because there is nothing to do. */
static const struct {
	unsigned bit;
	const char *name;
} throttles[] = {
	{WTL_THROTTLE_APPLICATION_CLOCKS, "application_clocks"},
	{WTL_THROTTLE_SW_POWER_CAP, "power_limit"},
	{WTL_THROTTLE_HW_SLOWDOWN, "hardware"},
	{WTL_THROTTLE_SYNC_BOOST, "sync_boost"},
	{WTL_THROTTLE_SW_THERMAL, "temperature"},
	{WTL_THROTTLE_HW_THERMAL, "hardware_temperature"},
	{WTL_THROTTLE_HW_POWER_BRAKE, "hardware_power_brake"},
	{WTL_THROTTLE_DISPLAY_CLOCKS, "display_clocks"},
};

static void put_throttle(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			 unsigned what)
{
	for (size_t i = 0; i < live->n_gpus; i++)
		for (size_t k = 0; k < sizeof(throttles) / sizeof(throttles[0]); k++) {
			if (!begin_gpu(writer, &live->gpus[i], what))
				break;
			wtl_metrics_label(writer, "reason", throttles[k].name);
			wtl_metrics_number(writer,
					   (live->gpus[i].values[what] & throttles[k].bit) != 0);
		}
}

static void put_gpu_info(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			 unsigned what)
{
	(void)what;
	for (size_t i = 0; i < live->n_gpus; i++) {
		wtl_metrics_begin(writer);
		wtl_metrics_label(writer, "domain", live->gpus[i].domain);
		wtl_metrics_label(writer, "name", live->gpus[i].name);
		wtl_metrics_label(writer, "uuid", live->gpus[i].uuid);
		wtl_metrics_number(writer, 1);
	}
}

/* ---- The table ---- */

#define GAUGE	WTL_METRICS_GAUGE
#define COUNTER WTL_METRICS_COUNTER
#define INFO	WTL_METRICS_INFO

#define BOTH_GROUPED(what, label, by, of)                                                 \
	{"wattle_" what "_energy_joules_total",                                           \
	 label ", domain, part",                                                          \
	 "joules",                                                                        \
	 "Energy of the processes of " of ", in the domains of the total, over restarts", \
	 put_group_energy,                                                                \
	 by,                                                                              \
	 COUNTER,                                                                         \
	 0},                                                                              \
	{                                                                                 \
		"wattle_" what "_power_watts", label, "watts",                            \
			"Power of the processes of " of                                   \
			" over the last interval, with their part "                       \
			"of idle power, in the domains of the total",                     \
			put_group_power, by, GAUGE, 0                                     \
	}

const struct wtl_metrics_family wtl_metrics_families[] = {
	{"wattle_host_energy_joules_total", "", "joules",
	 "Energy of the machine: the sum of the domains in its total, over restarts", put_host,
	 HOST_ENERGY, COUNTER, 0},
	{"wattle_host_power_watts", "", "watts", "Power of the machine over the last interval",
	 put_host, HOST_POWER, GAUGE, 0},
	{"wattle_host_power_uncertainty_watts", "", "watts",
	 "Uncertainty (plus or minus, coverage factor k = 2) of wattle_host_power_watts", put_host,
	 HOST_POWER_UNCERTAINTY, GAUGE, 0},
	{"wattle_host_complete", "", "",
	 "1: every domain of the machine's total has a figure; 0: the total is too low", put_host,
	 HOST_COMPLETE, GAUGE, 0},
	{"wattle_domain_energy_joules_total", "domain, kind", "joules",
	 "Energy of a part of the machine, over restarts", put_domains, DOMAIN_ENERGY, COUNTER, 0},
	{"wattle_domain_power_watts", "domain, kind", "watts",
	 "Power of a part of the machine over the last interval", put_domains, DOMAIN_POWER, GAUGE,
	 0},
	{"wattle_domain_power_uncertainty_watts", "domain, kind", "watts",
	 "Uncertainty (plus or minus, coverage factor k = 2) of wattle_domain_power_watts",
	 put_domains, DOMAIN_POWER_UNCERTAINTY, GAUGE, 0},
	{"wattle_domain_idle_watts", "domain, kind", "watts",
	 "What a part of the machine draws at rest", put_domains, DOMAIN_IDLE, GAUGE, 0},
	{"wattle_domain_idle_uncertainty_watts", "domain, kind", "watts",
	 "Uncertainty (plus or minus, coverage factor k = 2) of wattle_domain_idle_watts",
	 put_domains, DOMAIN_IDLE_UNCERTAINTY, GAUGE, 0},
	{"wattle_domain_session_energy_joules", "domain, kind", "joules",
	 "Energy of a part of the machine since wattle_start_time_seconds", put_domains,
	 DOMAIN_SESSION, GAUGE, 0},
	{"wattle_domain_energy_uncertainty_joules", "domain, kind", "joules",
	 "Uncertainty (plus or minus, coverage factor k = 2) of "
	 "wattle_domain_session_energy_joules",
	 put_domains, DOMAIN_SESSION_UNCERTAINTY, GAUGE, 0},
	{"wattle_domain_measured_seconds", "domain, kind", "seconds",
	 "Time that was measured since wattle_start_time_seconds", put_domains, DOMAIN_MEASURED,
	 GAUGE, 0},
	{"wattle_domain_gap_seconds", "domain, kind", "seconds",
	 "Time that could not be measured since wattle_start_time_seconds; its energy is in no "
	 "counter",
	 put_domains, DOMAIN_GAP, GAUGE, 0},
	{"wattle_domain_info", "domain, kind, inside, in_total, source, method, device, uuid", "",
	 "What is known of a part of the machine", put_domain_info, 0, INFO, 0},
	{"wattle_source_up", "source, domain, reason", "",
	 "1: the source tells of that domain; 0: it does not, for that reason", put_sources, 0,
	 GAUGE, 0},
	{"wattle_ledger_energy_joules_total", "domain, account", "joules",
	 "The energy of each domain by account (processes, kernel, idle, unattributed): they add "
	 "up to it",
	 put_ledger, 0, COUNTER, 0},
	BOTH_GROUPED("user", "user", 0, "a user"),
	BOTH_GROUPED("unit", "unit", 1, "a systemd unit"),
	BOTH_GROUPED("container", "container_id", 2, "a container"),
	BOTH_GROUPED("pod", "pod_id", BY_POD, "a Kubernetes pod"),
	BOTH_GROUPED("job", "job_id", BY_JOB, "a batch job"),
	BOTH_GROUPED("command", "command", 5, "one name"),
	{"wattle_pod_info", "pod_id, namespace, pod", "",
	 "What a Kubernetes pod is called, as the kubelet's folders of logs tell", put_titles,
	 BY_POD, INFO, 0},
	{"wattle_job_info", "job_id, user", "", "Whose a batch job is", put_titles, BY_JOB, INFO,
	 0},
	{"wattle_retired_energy_joules", "grouping, domain, part", "joules",
	 "What groups had used whose series ended: not of the last interval, so take no rate of it",
	 put_retired, 0, GAUGE, 0},
	{"wattle_processes", "", "", "Processes that run", put_host, HOST_PROCESSES, GAUGE, 0},
	{"wattle_process_energy_joules_total", "pid, command, user", "joules",
	 "Energy of a process with its part of idle energy, in the domains of the total, since "
	 "wattle_start_time_seconds",
	 put_processes, PROCESS_ENERGY, COUNTER, WTL_METRICS_PER_PROCESS},
	{"wattle_process_power_watts", "pid, command, user", "watts",
	 "Power of a process over the last interval, with its part of idle power, in the domains "
	 "of the total",
	 put_processes, PROCESS_POWER, GAUGE, WTL_METRICS_PER_PROCESS},
	{"wattle_gpu_use_ratio", "domain", "ratio", "How busy a GPU is, from 0 to 1", put_gpu,
	 WTL_DEVICE_USE_PERCENT, GAUGE, 0},
	{"wattle_gpu_memory_used_bytes", "domain", "bytes", "Memory of a GPU that is in use",
	 put_gpu, WTL_DEVICE_MEMORY_USED_BYTES, GAUGE, 0},
	{"wattle_gpu_memory_size_bytes", "domain", "bytes", "Memory of a GPU", put_gpu,
	 WTL_DEVICE_MEMORY_TOTAL_BYTES, GAUGE, 0},
	{"wattle_gpu_temperature_celsius", "domain", "celsius", "Temperature of a GPU", put_gpu,
	 WTL_DEVICE_TEMPERATURE_C, GAUGE, 0},
	{"wattle_gpu_memory_temperature_celsius", "domain", "celsius",
	 "Temperature of a GPU's memory", put_gpu, WTL_DEVICE_MEMORY_TEMPERATURE_C, GAUGE, 0},
	{"wattle_gpu_clock_hertz", "domain", "hertz", "Clock of a GPU's processors", put_gpu,
	 WTL_DEVICE_CLOCK_MHZ, GAUGE, 0},
	{"wattle_gpu_memory_clock_hertz", "domain", "hertz", "Clock of a GPU's memory", put_gpu,
	 WTL_DEVICE_MEMORY_CLOCK_MHZ, GAUGE, 0},
	{"wattle_gpu_power_limit_watts", "domain", "watts", "Power limit in force of a GPU",
	 put_gpu, WTL_DEVICE_LIMIT_UW, GAUGE, 0},
	{"wattle_gpu_fan_ratio", "domain", "ratio", "Speed of a GPU's fan, from 0 to 1", put_gpu,
	 WTL_DEVICE_FAN_PERCENT, GAUGE, 0},
	{"wattle_gpu_throttled", "domain, reason", "",
	 "1: a GPU's clocks are held down for that reason", put_throttle, WTL_DEVICE_THROTTLE,
	 GAUGE, 0},
	{"wattle_gpu_info", "domain, name, uuid", "", "What is known of a GPU", put_gpu_info, 0,
	 INFO, 0},
	{"wattle_carbon_emissions_grams_total", "", "grams",
	 "CO2 equivalent of the machine's energy since wattle_start_time_seconds", put_host,
	 CARBON_EMITTED, COUNTER, 0},
	{"wattle_carbon_emissions_uncertainty_grams", "", "grams",
	 "Uncertainty (plus or minus, coverage factor k = 2) of "
	 "wattle_carbon_emissions_grams_total",
	 put_host, CARBON_UNCERTAINTY, GAUGE, 0},
	{"wattle_carbon_intensity_grams_per_joule", "", "grams_per_joule",
	 "CO2 equivalent of a joule at the place in wattle_carbon_info", put_host, CARBON_INTENSITY,
	 GAUGE, 0},
	{"wattle_carbon_info", "location, dataset, assumed", "",
	 "The place that emissions are of; assumed=1: nobody said where the machine is", put_place,
	 0, INFO, 0},
	{"wattle_self_cpu_seconds_total", "", "seconds", "CPU time of wattle itself", put_host,
	 SELF_CPU, COUNTER, 0},
	{"wattle_self_resident_memory_max_bytes", "", "bytes",
	 "Most memory that wattle itself ever had", put_host, SELF_MEMORY, GAUGE, 0},
	{"wattle_self_energy_joules_total", "", "joules",
	 "Energy of wattle itself, by its CPU time, since wattle_start_time_seconds", put_host,
	 SELF_ENERGY, COUNTER, 0},
	{"wattle_self_energy_uncertainty_joules", "", "joules",
	 "Uncertainty (plus or minus, coverage factor k = 2) of wattle_self_energy_joules_total",
	 put_host, SELF_UNCERTAINTY, GAUGE, 0},
	{"wattle_self_ticks_total", "", "", "Times that all sensors were read", put_host,
	 SELF_TICKS, COUNTER, 0},
	{"wattle_self_late_ticks_total", "", "", "Of them, those that came late", put_host,
	 SELF_LATE_TICKS, COUNTER, 0},
	{"wattle_self_recording", "", "", "1: what is measured is recorded; 0: it is not", put_host,
	 SELF_RECORDS, GAUGE, 0},
	{"wattle_self_unrecorded_seconds_total", "", "seconds",
	 "Time since wattle_start_time_seconds that should have been recorded, and was not: the disk was "
	 "full, say",
	 put_host, SELF_UNRECORDED, COUNTER, 0},
	{"wattle_build_info", "version", "", "The version of wattle", put_build, 0, INFO, 0},
	{"wattle_start_time_seconds", "", "seconds", "When this wattle started, since 1970",
	 put_host, TIME_START, GAUGE, 0},
	{"wattle_counters_start_time_seconds", "", "seconds",
	 "When counters that go on over restarts were 0, since 1970", put_host, TIME_COUNTERS,
	 GAUGE, 0},
	{"wattle_snapshot_time_seconds", "", "seconds",
	 "When what is told here was measured, since 1970", put_host, TIME_SNAPSHOT, GAUGE, 0},
	{"wattle_self_scrape_seconds", "", "seconds", "Time that it took to write this text",
	 put_host, TIME_SCRAPE, GAUGE, 0},
	{0},
};

/* ---- All of it ---- */

static void put_table(struct wtl_metrics_writer *writer, const struct wtl_live *live, unsigned sets,
		      const struct wtl_metrics_family *family)
{
	for (; family->name; family++)
		if ((family->set & sets) == family->set)
			wtl_metrics_put_family(writer, live, family);
}

void wtl_metrics_write(const struct wtl_live *live, unsigned sets, bool is_open,
		       struct wtl_buf *buf)
{
	struct wtl_metrics_writer writer = {
		.buf = buf, .sets = sets, .is_open = is_open, .begun_ns = wtl_thread_clock_ns()};

	put_table(&writer, live, sets, wtl_metrics_compat_families);
	if (live->push.is_on)
		put_table(&writer, live, sets, wtl_metrics_push_families);
	put_table(&writer, live, sets, wtl_metrics_families);
	if (is_open)
		wtl_buf_puts(buf, "# EOF\n");
}

bool wtl_metrics_wants_open(const char *accept)
{
	unsigned open = wtl_accept_quality(accept, "application/openmetrics-text", "1.0.0");

	return open > 0 && open >= wtl_accept_quality(accept, "text/plain", "0.0.4") &&
	       open >= wtl_accept_quality(accept, "text/*", NULL) &&
	       open >= wtl_accept_quality(accept, "*/*", NULL);
}

const char *wtl_metrics_type(bool is_open)
{
	return is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
		       : "text/plain; version=0.0.4; charset=utf-8";
}
