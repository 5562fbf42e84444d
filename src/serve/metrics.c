/* SPDX-License-Identifier: MIT */
#include "serve/metrics.h"

#include <string.h>

#include "base/text.h"
#include "base/thread.h"
#include "energy/gpu.h"
#include "energy/units.h"
#include "serve/accept.h"
#include "serve/live.h"

/* ---- Domains ---- */

static void begin_domain(struct wtl_metrics_writer *writer, const struct wtl_live_domain *domain)
{
	wtl_metrics_sample(writer, "domain", domain->name, "kind", wattle_kind_name(domain->kind),
			   NULL);
}

static bool knows_domain(const struct wtl_live_domain *domain, enum wtl_metrics_known what)
{
	if (what == WTL_METRICS_HAS_COUNTER)
		return wtl_live_has_counter(domain);
	if (what == WTL_METRICS_HAS_POWER)
		return domain->has_power;
	return what == WTL_METRICS_HAS_IDLE ? domain->has_idle : domain->has_energy;
}

static void put_domains(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	for (size_t i = 0; i < live->n_domains; i++) {
		if (!knows_domain(&live->domains[i], writer->family->known))
			continue;
		begin_domain(writer, &live->domains[i]);
		wtl_metrics_put_number(writer, &live->domains[i]);
	}
}

static void put_domain_info(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
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

static void put_ledger(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	static const char *const names[WTL_TOTALS_ACCOUNTS] = {
		[WTL_TOTALS_PROCESSES] = "processes",
		[WTL_TOTALS_KERNEL] = "kernel",
		[WTL_TOTALS_IDLE] = "idle",
		[WTL_TOTALS_UNATTRIBUTED] = "unattributed",
	};

	for (size_t i = 0; i < live->n_domains; i++) {
		const struct wtl_live_domain *domain = &live->domains[i];

		for (size_t k = 0; wtl_live_has_counter(domain) && k < WTL_TOTALS_ACCOUNTS; k++) {
			if (k == WTL_TOTALS_IDLE && !domain->has_idle && !domain->accounts_uj[k])
				continue;
			wtl_metrics_sample(writer, "domain", domain->name, "account", names[k],
					   NULL);
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

/* Has an earlier row the same labels? No two series may. */
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

static void put_sources(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	for (size_t i = 0; i < live->n_domains + live->n_misses; i++) {
		struct source source = source_at(live, i);

		/* Names of domains are unique, so only missing ones can occur twice. */
		if (i >= live->n_domains && was_told(live, i, &source))
			continue;
		wtl_metrics_sample(writer, "source", source.source, "domain", source.domain,
				   "reason", source.reason, NULL);
		wtl_metrics_number(writer, source.is_up);
	}
}

/* ---- The machine, and wattle itself ---- */

/* A kilowatt-hour has 3.6 million joules. */
static void put_intensity(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	wtl_metrics_begin(writer);
	wtl_metrics_decimal(writer, (live->intensity_mg_per_kwh * 2500000 + 4) / 9, 15);
}

static void put_scrape(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	int64_t took_ns = wtl_thread_clock_ns() - writer->begun_ns;

	(void)live;
	wtl_metrics_begin(writer);
	wtl_metrics_decimal(writer, took_ns > 0 ? (uint64_t)took_ns : 0, 9);
}

static void put_build(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	wtl_metrics_sample(writer, "version", live->version, NULL);
	wtl_metrics_number(writer, 1);
}

static void put_place(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	wtl_metrics_sample(writer, "location", live->location, "dataset", live->dataset, "assumed",
			   live->is_default_place ? "1" : "0", NULL);
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

/* Energies are written in eighths of a joule. Below one there
 * is no series: short-lived commands would have thousands. */
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

	wtl_metrics_sample(writer, label, value, NULL);
	mark = wtl_metrics_mark(writer);
	for (size_t i = 0; i < live->n_domains; i++)
		if (live->domains[i].in_total)
			put_group_domain(writer, live, group, i, &mark);
	wtl_metrics_drop(writer, &mark);
}

static void put_group_energy(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned by = writer->family->what;
	bool is_there = is_grouped(live, by);

	for (size_t i = 0; is_there && i < live->n_groups; i++)
		if (live->groups[i].by == by && !wtl_live_is_retired(&live->groups[i]))
			put_group_domains(writer, live, i, group_labels[by], live->groups[i].name);
}

static void put_group_power(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned by = writer->family->what;
	bool is_there = is_grouped(live, by) && live->has_power;

	for (size_t i = 0; is_there && i < live->n_groups; i++) {
		if (live->groups[i].by != by || wtl_live_is_retired(&live->groups[i]) ||
		    !is_visible_group(live, i))
			continue;
		wtl_metrics_sample(writer, group_labels[by], live->groups[i].name, NULL);
		wtl_metrics_eighths(writer, live->groups[i].power_uw, WTL_METRICS_NEAR);
	}
}

/* The names that people use for a grouping's groups: "NAMESPACE/NAME" of a pod, the user of a job. */
static void put_titles(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned by = writer->family->what;

	for (size_t i = 0; i < live->n_groups; i++) {
		const struct wtl_live_group *group = &live->groups[i];
		char space[WTL_POD_TITLE_SIZE] = "";
		const char *name = group->title;

		if (group->by != by || !name[0])
			continue;
		wtl_metrics_sample(writer, group_labels[by], group->name, NULL);
		if (by == BY_POD)
			name = wtl_metrics_split(name, space, sizeof(space));
		if (space[0])
			wtl_metrics_label(writer, "namespace", space);
		wtl_metrics_label(writer, space[0] ? "pod" : "user", name);
		wtl_metrics_number(writer, 1);
	}
}

/* A gauge, as it grows by what was used long ago. */
static void put_retired(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	for (size_t i = 0; i < live->n_groups; i++)
		if (wtl_live_is_retired(&live->groups[i]))
			put_group_domains(writer, live, i, "grouping",
					  group_labels[live->groups[i].by]);
}

/* ---- Processes ---- */

static void put_processes(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	for (size_t i = 0; i < live->n_processes; i++) {
		if (!wtl_metrics_begin_process(writer, &live->processes[i], "command"))
			continue;
		wtl_metrics_label(writer, "user", live->processes[i].user);
		wtl_metrics_put_number(writer, &live->processes[i]);
	}
}

/* ---- GPUs ---- */

/* A GPU and a number of it; false: it is not known. */
static bool begin_gpu(struct wtl_metrics_writer *writer, const struct wtl_live_gpu *gpu,
		      enum wtl_device_number number)
{
	if (!(gpu->has & (UINT64_C(1) << number)))
		return false;
	wtl_metrics_sample(writer, "domain", gpu->domain, NULL);
	return true;
}

static void put_gpu(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned what = writer->family->what;

	for (size_t i = 0; i < live->n_gpus; i++) {
		int64_t value = live->gpus[i].values[what];
		uint64_t positive = value > 0 ? (uint64_t)value : 0;

		if (!begin_gpu(writer, &live->gpus[i], what))
			continue;
		if (what == WTL_DEVICE_USE_PERCENT || what == WTL_DEVICE_FAN_PERCENT)
			wtl_metrics_decimal(writer, positive, 2);
		else if (what == WTL_DEVICE_CLOCK_MHZ || what == WTL_DEVICE_MEMORY_CLOCK_MHZ)
			wtl_metrics_number(writer, positive * 1000000);
		else if (what == WTL_DEVICE_LIMIT_UW)
			wtl_metrics_eighths(writer, positive, WTL_METRICS_NEAR);
		else
			wtl_metrics_signed(writer, value);
	}
}

/* Clocks that are low for lack of work are not throttled. */
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

static void put_throttle(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned what = writer->family->what;

	for (size_t i = 0; i < live->n_gpus; i++)
		for (size_t k = 0; k < sizeof(throttles) / sizeof(throttles[0]); k++) {
			if (!begin_gpu(writer, &live->gpus[i], what))
				break;
			wtl_metrics_label(writer, "reason", throttles[k].name);
			wtl_metrics_number(writer,
					   (live->gpus[i].values[what] & throttles[k].bit) != 0);
		}
}

static void put_gpu_info(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	for (size_t i = 0; i < live->n_gpus; i++) {
		wtl_metrics_sample(writer, "domain", live->gpus[i].domain, "name",
				   live->gpus[i].name, "uuid", live->gpus[i].uuid, NULL);
		wtl_metrics_number(writer, 1);
	}
}

/* ---- The table ---- */

#define GAUGE	WTL_METRICS_GAUGE
#define COUNTER WTL_METRICS_COUNTER
#define INFO	WTL_METRICS_INFO

#define UNCERTAINTY_OF "Uncertainty (plus or minus, coverage factor k = 2) of "
#define IN_DOMAINS(member, form_, known_)                                       \
	.write = put_domains, .what = offsetof(struct wtl_live_domain, member), \
	.form = WTL_METRICS_##form_, .known = WTL_METRICS_##known_
#define GROUP_ENERGY(name, label, place, whose)                                \
	{                                                                      \
		"wattle_" name "_energy_joules_total", label ", domain, part", \
			"Energy of the processes of " whose                    \
			", in the domains of the total, over restarts",        \
			COUNTER, .write = put_group_energy, .what = place      \
	}
#define GROUP_POWER(name, label, place, whose)                                                                 \
	{                                                                                                      \
		"wattle_" name "_power_watts", label,                                                          \
			"Power of the processes of " whose                                                     \
			" over the last interval, with their part of idle power, in the domains of the total", \
			GAUGE, .write = put_group_power, .what = place                                         \
	}

const struct wtl_metrics_family wtl_metrics_families[] = {
	{"wattle_host_energy_joules_total", "",
	 "Energy of the machine: the sum of the domains in its total, over restarts", COUNTER,
	 WTL_METRICS_OF_HOST(energy_uj, DOWN, HAS_COUNTER)},
	{"wattle_host_power_watts", "", "Power of the machine over the last interval", GAUGE,
	 WTL_METRICS_OF_HOST(power_uw, NEAR, HAS_POWER)},
	{"wattle_host_power_uncertainty_watts", "", UNCERTAINTY_OF "wattle_host_power_watts", GAUGE,
	 WTL_METRICS_OF_HOST(power_uncertainty_uw, UP, HAS_POWER)},
	{"wattle_host_complete", "",
	 "1: every domain of the machine's total has a figure; 0: the total is too low", GAUGE,
	 WTL_METRICS_OF_HOST(is_complete, FLAG, ALWAYS)},
	{"wattle_domain_energy_joules_total", "domain, kind",
	 "Energy of a part of the machine, over restarts", COUNTER,
	 IN_DOMAINS(energy_uj, DOWN, HAS_COUNTER)},
	{"wattle_domain_power_watts", "domain, kind",
	 "Power of a part of the machine over the last interval", GAUGE,
	 IN_DOMAINS(power_uw, NEAR, HAS_POWER)},
	{"wattle_domain_power_uncertainty_watts", "domain, kind",
	 UNCERTAINTY_OF "wattle_domain_power_watts", GAUGE,
	 IN_DOMAINS(power_uncertainty_uw, UP, HAS_POWER)},
	{"wattle_domain_idle_watts", "domain, kind", "What a part of the machine draws at rest",
	 GAUGE, IN_DOMAINS(idle_uw, NEAR, HAS_IDLE)},
	{"wattle_domain_idle_uncertainty_watts", "domain, kind",
	 UNCERTAINTY_OF "wattle_domain_idle_watts", GAUGE,
	 IN_DOMAINS(idle_uncertainty_uw, UP, HAS_IDLE)},
	{"wattle_domain_session_energy_joules", "domain, kind",
	 "Energy of a part of the machine since wattle_start_time_seconds", GAUGE,
	 IN_DOMAINS(measured_uj, NEAR, HAS_ENERGY)},
	{"wattle_domain_energy_uncertainty_joules", "domain, kind",
	 UNCERTAINTY_OF "wattle_domain_session_energy_joules", GAUGE,
	 IN_DOMAINS(uncertainty_uj, UP, HAS_ENERGY)},
	{"wattle_domain_measured_seconds", "domain, kind",
	 "Time that was measured since wattle_start_time_seconds", GAUGE,
	 IN_DOMAINS(measured_ns, NS_MS, HAS_ENERGY)},
	{"wattle_domain_gap_seconds", "domain, kind",
	 "Time that could not be measured since wattle_start_time_seconds; its energy is in no counter",
	 GAUGE, IN_DOMAINS(gap_ns, NS_MS, HAS_ENERGY)},
	{"wattle_domain_info", "domain, kind, inside, in_total, source, method, device, uuid",
	 "What is known of a part of the machine", INFO, .write = put_domain_info},
	{"wattle_source_up", "source, domain, reason",
	 "1: the source tells of that domain; 0: it does not, for that reason", GAUGE,
	 .write = put_sources},
	{"wattle_ledger_energy_joules_total", "domain, account",
	 "The energy of each domain by account (processes, kernel, idle, unattributed): they add up to it",
	 COUNTER, .write = put_ledger},
	GROUP_ENERGY("user", "user", 0, "a user"),
	GROUP_POWER("user", "user", 0, "a user"),
	GROUP_ENERGY("unit", "unit", 1, "a systemd unit"),
	GROUP_POWER("unit", "unit", 1, "a systemd unit"),
	GROUP_ENERGY("container", "container_id", 2, "a container"),
	GROUP_POWER("container", "container_id", 2, "a container"),
	GROUP_ENERGY("pod", "pod_id", BY_POD, "a Kubernetes pod"),
	GROUP_POWER("pod", "pod_id", BY_POD, "a Kubernetes pod"),
	GROUP_ENERGY("job", "job_id", BY_JOB, "a batch job"),
	GROUP_POWER("job", "job_id", BY_JOB, "a batch job"),
	GROUP_ENERGY("command", "command", 5, "one name"),
	GROUP_POWER("command", "command", 5, "one name"),
	{"wattle_pod_info", "pod_id, namespace, pod",
	 "What a Kubernetes pod is called, as the kubelet's folders of logs tell", INFO,
	 .write = put_titles, .what = BY_POD},
	{"wattle_job_info", "job_id, user", "Whose a batch job is", INFO, .write = put_titles,
	 .what = BY_JOB},
	{"wattle_retired_energy_joules", "grouping, domain, part",
	 "What groups had used whose series ended: not of the last interval, so take no rate of it",
	 GAUGE, .write = put_retired},
	{"wattle_processes", "", "Processes that run", GAUGE,
	 WTL_METRICS_OF_HOST(n_running, COUNT, ALWAYS)},
	{"wattle_process_energy_joules_total", "pid, command, user",
	 "Energy of a process with its part of idle energy, in the domains of the total, since wattle_start_time_seconds",
	 COUNTER, .write = put_processes, .what = offsetof(struct wtl_live_process, counted_uj),
	 .form = WTL_METRICS_DOWN, .set = WTL_METRICS_PER_PROCESS},
	{"wattle_process_power_watts", "pid, command, user",
	 "Power of a process over the last interval, with its part of idle power, in the domains of the total",
	 GAUGE, .write = put_processes, .what = offsetof(struct wtl_live_process, power_uw),
	 .form = WTL_METRICS_NEAR, .set = WTL_METRICS_PER_PROCESS},
	{"wattle_gpu_use_ratio", "domain", "How busy a GPU is, from 0 to 1", GAUGE,
	 .write = put_gpu, .what = WTL_DEVICE_USE_PERCENT},
	{"wattle_gpu_memory_used_bytes", "domain", "Memory of a GPU that is in use", GAUGE,
	 .write = put_gpu, .what = WTL_DEVICE_MEMORY_USED_BYTES},
	{"wattle_gpu_memory_size_bytes", "domain", "Memory of a GPU", GAUGE, .write = put_gpu,
	 .what = WTL_DEVICE_MEMORY_TOTAL_BYTES},
	{"wattle_gpu_temperature_celsius", "domain", "Temperature of a GPU", GAUGE,
	 .write = put_gpu, .what = WTL_DEVICE_TEMPERATURE_C},
	{"wattle_gpu_memory_temperature_celsius", "domain", "Temperature of a GPU's memory", GAUGE,
	 .write = put_gpu, .what = WTL_DEVICE_MEMORY_TEMPERATURE_C},
	{"wattle_gpu_clock_hertz", "domain", "Clock of a GPU's processors", GAUGE, .write = put_gpu,
	 .what = WTL_DEVICE_CLOCK_MHZ},
	{"wattle_gpu_memory_clock_hertz", "domain", "Clock of a GPU's memory", GAUGE,
	 .write = put_gpu, .what = WTL_DEVICE_MEMORY_CLOCK_MHZ},
	{"wattle_gpu_power_limit_watts", "domain", "Power limit in force of a GPU", GAUGE,
	 .write = put_gpu, .what = WTL_DEVICE_LIMIT_UW},
	{"wattle_gpu_fan_ratio", "domain", "Speed of a GPU's fan, from 0 to 1", GAUGE,
	 .write = put_gpu, .what = WTL_DEVICE_FAN_PERCENT},
	{"wattle_gpu_throttled", "domain, reason",
	 "1: a GPU's clocks are held down for that reason", GAUGE, .write = put_throttle,
	 .what = WTL_DEVICE_THROTTLE},
	{"wattle_gpu_info", "domain, name, uuid", "What is known of a GPU", INFO,
	 .write = put_gpu_info},
	{"wattle_carbon_emissions_grams_total", "",
	 "CO2 equivalent of the machine's energy since wattle_start_time_seconds", COUNTER,
	 WTL_METRICS_OF_HOST(emitted_ug, MILLIONTHS, HAS_COUNTER)},
	{"wattle_carbon_emissions_uncertainty_grams", "",
	 UNCERTAINTY_OF "wattle_carbon_emissions_grams_total", GAUGE,
	 WTL_METRICS_OF_HOST(emitted_uncertainty_ug, MILLIONTHS, HAS_COUNTER)},
	{"wattle_carbon_intensity_grams_per_joule", "",
	 "CO2 equivalent of a joule at the place in wattle_carbon_info", GAUGE,
	 .write = put_intensity},
	{"wattle_carbon_info", "location, dataset, assumed",
	 "The place that emissions are of; assumed=1: nobody said where the machine is", INFO,
	 .write = put_place},
	{"wattle_self_cpu_seconds_total", "", "CPU time of wattle itself", COUNTER,
	 WTL_METRICS_OF_HOST(cpu_ns, NS_US, ALWAYS)},
	{"wattle_self_resident_memory_max_bytes", "", "Most memory that wattle itself ever had",
	 GAUGE, WTL_METRICS_OF_HOST(rss_bytes, COUNT, HAS_MEMORY)},
	{"wattle_self_energy_joules_total", "",
	 "Energy of wattle itself, by its CPU time, since wattle_start_time_seconds", COUNTER,
	 WTL_METRICS_OF_HOST(self_uj, DOWN, HAS_SELF_ENERGY)},
	{"wattle_self_energy_uncertainty_joules", "",
	 UNCERTAINTY_OF "wattle_self_energy_joules_total", GAUGE,
	 WTL_METRICS_OF_HOST(self_uncertainty_uj, UP, HAS_SELF_ENERGY)},
	{"wattle_self_ticks_total", "", "Times that all sensors were read", COUNTER,
	 WTL_METRICS_OF_HOST(ticks, COUNT, ALWAYS)},
	{"wattle_self_late_ticks_total", "", "Of them, those that came late", COUNTER,
	 WTL_METRICS_OF_HOST(late_ticks, COUNT, ALWAYS)},
	{"wattle_self_recording", "", "1: what is measured is recorded; 0: it is not", GAUGE,
	 WTL_METRICS_OF_HOST(is_recorded, FLAG, ALWAYS)},
	{"wattle_self_unrecorded_seconds_total", "",
	 "Time since wattle_start_time_seconds that should have been recorded, and was not: the disk was full, say",
	 COUNTER, WTL_METRICS_OF_HOST(unrecorded_ns, NS_MS, HAS_STORE)},
	{"wattle_build_info", "version", "The version of wattle", INFO, .write = put_build},
	{"wattle_start_time_seconds", "", "When this wattle started, since 1970", GAUGE,
	 WTL_METRICS_OF_HOST(begin_utc_ns, NS_MS, ALWAYS)},
	{"wattle_counters_start_time_seconds", "",
	 "When counters that go on over restarts were 0, since 1970", GAUGE,
	 WTL_METRICS_OF_HOST(counters_utc_ns, NS_MS, ALWAYS)},
	{"wattle_snapshot_time_seconds", "", "When what is told here was measured, since 1970",
	 GAUGE, WTL_METRICS_OF_HOST(t_utc_ns, NS_MS, ALWAYS)},
	{"wattle_self_scrape_seconds", "", "Time that it took to write this text", GAUGE,
	 .write = put_scrape},
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
