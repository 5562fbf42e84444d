/* SPDX-License-Identifier: MIT */
/*
 * The metric names of other exporters, for their dashboards. What wattle does not know is left out, or
 * is an empty label. Process series are by command, and by process only if every process is exported.
 */
#include <string.h>

#include "base/text.h"
#include "serve/live.h"
#include "serve/metrics.h"

const char *const wtl_metrics_compat_names[] = {"kepler", "dcgm",	  "scaphandre",
						"node",	  "aipowermeter", NULL};

enum { USER, UNIT, CONTAINER, POD, JOB, COMMAND }; /* indices in wtl_totals_groupings[] */

/* The smallest energy of a domain or a group that is exported, as in metrics.c. */
#define EIGHTH UINT64_C(125000)

/* The name of RAPL's zone; NULL: there is none. */
static const char *zone_of(enum wattle_kind kind)
{
	static const char *const zones[WATTLE_KINDS] = {
		[WATTLE_KIND_CPU] = "package",	 [WATTLE_KIND_CORE] = "core",
		[WATTLE_KIND_UNCORE] = "uncore", [WATTLE_KIND_DRAM] = "dram",
		[WATTLE_KIND_PLATFORM] = "psys",
	};

	return zones[kind];
}

/* Not the machine as modelled at the wall, which has psys' kind. */
static bool is_zone(const struct wtl_live_domain *domain)
{
	return zone_of(domain->kind) &&
	       (domain->kind != WATTLE_KIND_PLATFORM || domain->method != WATTLE_METHOD_MODELLED);
}

/* "0" of "package-0", "0-die-1" of "package-0-die-1"; "" if a domain's name has no number. */
static const char *index_of(const char *name)
{
	const char *dash = strchr(name, '-');

	return dash ? dash + 1 : "";
}

static uint64_t less(uint64_t from, uint64_t by)
{
	return from > by ? from - by : 0;
}

/* ---- Kepler ---- */

enum { OF_ENERGY = 16, OF_GPUS = 32 }; /* beside the place of a grouping, or a number of a node */

enum node_number {
	NODE_JOULES,
	NODE_ACTIVE_JOULES,
	NODE_IDLE_JOULES,
	NODE_WATTS,
	NODE_ACTIVE_WATTS,
	NODE_IDLE_WATTS
};

static bool get_node(const struct wtl_live_domain *domain, enum node_number number, uint64_t *ret)
{
	uint64_t idle_uj = domain->accounts_uj[WTL_TOTALS_IDLE];
	uint64_t idle_uw = domain->idle_uw < domain->power_uw ? domain->idle_uw : domain->power_uw;

	switch (number) {
	case NODE_JOULES:
		*ret = domain->energy_uj;
		return wtl_live_has_counter(domain);
	case NODE_ACTIVE_JOULES:
		*ret = less(domain->energy_uj, idle_uj);
		return wtl_live_has_counter(domain);
	case NODE_IDLE_JOULES:
		*ret = idle_uj;
		return wtl_live_has_counter(domain) && (domain->has_idle || idle_uj > 0);
	case NODE_WATTS:
		*ret = domain->power_uw;
		return domain->has_power;
	case NODE_ACTIVE_WATTS:
		*ret = domain->has_idle ? domain->power_uw - idle_uw : domain->power_uw;
		return domain->has_power;
	case NODE_IDLE_WATTS:
		*ret = idle_uw;
		return domain->has_power && domain->has_idle;
	}
	return false;
}

/* Of GPUs, or of processors and other zones. */
static void put_kepler_node(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned what = writer->family->what % OF_GPUS;
	bool is_gpu = writer->family->what & OF_GPUS;

	for (size_t i = 0; i < live->n_domains; i++) {
		const struct wtl_live_domain *domain = &live->domains[i];
		uint64_t value;

		if (!(is_gpu ? domain->kind == WATTLE_KIND_GPU : is_zone(domain)) ||
		    !get_node(domain, what, &value))
			continue;
		if (is_gpu)
			wtl_metrics_sample(writer, "gpu", index_of(domain->name), "gpu_uuid",
					   domain->uuid, "gpu_name", domain->device, NULL);
		else
			wtl_metrics_sample(writer, "zone", zone_of(domain->kind), "path",
					   domain->name, NULL);
		wtl_metrics_label(writer, "node_name", live->host);
		wtl_metrics_eighths(writer, value,
				    what < NODE_WATTS ? WTL_METRICS_DOWN : WTL_METRICS_NEAR);
	}
}

/* A group's energy or power above idle in a kind of domains. false: there is none, or it is too little to export. */
static bool get_group(const struct wtl_live *live, size_t group, enum wattle_kind kind,
		      bool is_energy, uint64_t *ret)
{
	uint64_t energy_uj = 0, power_uw = 0;

	for (size_t i = 0; i < live->n_domains; i++)
		if (live->domains[i].kind == kind) {
			energy_uj += wtl_live_energy(live, group, i, WTL_TOTALS_DYNAMIC);
			power_uw += live->groups[group].dynamic_uw[i];
		}
	*ret = is_energy ? energy_uj : power_uw;
	return energy_uj >= EIGHTH;
}

/* "docker/3f1c…" is a container's runtime and its number. */
static void label_container(struct wtl_metrics_writer *writer, const char *name)
{
	char runtime[WTL_TOTALS_NAME_SIZE];
	const char *id = wtl_metrics_split(name, runtime, sizeof(runtime));

	wtl_metrics_label(writer, "container_id", id);
	wtl_metrics_label(writer, "container_name", id);
	wtl_metrics_label(writer, "runtime", runtime);
}

/* Labels "NAMESPACE/NAME" if it is known; else the pod's UID. */
static void label_pod(struct wtl_metrics_writer *writer, const struct wtl_live_group *group)
{
	char space[WTL_POD_TITLE_SIZE];
	const char *name = wtl_metrics_split(group->title, space, sizeof(space));

	wtl_metrics_label(writer, "pod_id", group->name);
	wtl_metrics_label(writer, "pod_name", space[0] ? name : group->name);
	wtl_metrics_label(writer, "pod_namespace", space);
}

static void label_group(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			const struct wtl_live_group *group)
{
	if (group->by == CONTAINER) {
		label_container(writer, group->name);
	} else if (group->by == POD) {
		label_pod(writer, group);
	} else {
		wtl_metrics_label(writer, "pid", "");
		wtl_metrics_label(writer, "comm", group->name);
	}
	wtl_metrics_label(writer, "state", "running");
	wtl_metrics_label(writer, "node_name", live->host);
}

static void put_kepler_group(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			     size_t group, unsigned what)
{
	bool is_gpu = what & OF_GPUS, is_energy = what & OF_ENERGY;

	for (unsigned kind = 0; kind < WATTLE_KINDS; kind++) {
		uint64_t value;

		if ((is_gpu ? kind != WATTLE_KIND_GPU : !zone_of(kind)) ||
		    !get_group(live, group, kind, is_energy, &value))
			continue;
		wtl_metrics_begin(writer);
		label_group(writer, live, &live->groups[group]);
		if (!is_gpu)
			wtl_metrics_label(writer, "zone", zone_of(kind));
		wtl_metrics_eighths(writer, value, is_energy ? WTL_METRICS_DOWN : WTL_METRICS_NEAR);
	}
}

static void put_kepler_groups(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned what = writer->family->what;

	for (size_t i = 0; i < live->n_groups; i++)
		if (live->groups[i].by == what % OF_ENERGY && live->groups[i].name[0] &&
		    !wtl_live_is_retired(&live->groups[i]))
			put_kepler_group(writer, live, i, what);
}

/* By process: the power of processors and their memory is exported as one zone. */
static void put_kepler_processes(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned what = writer->family->what;

	if (!(writer->sets & WTL_METRICS_PER_PROCESS)) {
		put_kepler_groups(writer, live);
		return;
	}
	for (size_t i = 0; i < live->n_processes; i++) {
		const struct wtl_live_process *process = &live->processes[i];
		uint64_t all_uw = process->has_dynamic ? process->dynamic_uw : process->power_uw;
		uint64_t gpu_uw = less(all_uw, process->cpu_dynamic_uw);

		if ((what & OF_GPUS && gpu_uw < EIGHTH) ||
		    !wtl_metrics_begin_process(writer, process, "comm"))
			continue;
		wtl_metrics_label(writer, "state", "running");
		wtl_metrics_label(writer, "node_name", live->host);
		if (!(what & OF_GPUS))
			wtl_metrics_label(writer, "zone", "package");
		wtl_metrics_eighths(writer, what & OF_GPUS ? gpu_uw : process->cpu_dynamic_uw,
				    WTL_METRICS_NEAR);
	}
}

/* ---- dcgm-exporter ---- */

static const struct wtl_live_domain *domain_of(const struct wtl_live *live, const char *name)
{
	for (size_t i = 0; i < live->n_domains; i++)
		if (strcmp(live->domains[i].name, name) == 0)
			return &live->domains[i];
	return NULL;
}

static void begin_dcgm(struct wtl_metrics_writer *writer, const struct wtl_live *live,
		       const struct wtl_live_gpu *gpu)
{
	char device[16 + WTL_NAME_SIZE] = "nvidia";
	const char *number = index_of(gpu->domain);

	wtl_text_copy(device + strlen(device), sizeof(device) - strlen(device), number);
	wtl_metrics_sample(writer, "gpu", number, "UUID", gpu->uuid, "device", device, "modelName",
			   gpu->name, "Hostname", live->host, NULL);
}

/* dcgm-exporter has NVIDIA's only. */
static bool is_nvidia(const struct wtl_live_domain *domain)
{
	return domain && wtl_text_starts(domain->source, "nvml");
}

enum { DCGM_WATTS, DCGM_MILLIJOULES };

static void put_dcgm_power(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned what = writer->family->what;

	for (size_t i = 0; i < live->n_gpus; i++) {
		const struct wtl_live_gpu *gpu = &live->gpus[i];
		const struct wtl_live_domain *domain = domain_of(live, gpu->domain);

		if (!is_nvidia(domain) ||
		    !(what == DCGM_WATTS ? domain->has_power : wtl_live_has_counter(domain)))
			continue;
		begin_dcgm(writer, live, gpu);
		if (what == DCGM_WATTS)
			wtl_metrics_eighths(writer, domain->power_uw, WTL_METRICS_NEAR);
		else
			wtl_metrics_number(writer, domain->energy_uj / EIGHTH * EIGHTH / 1000);
	}
}

/* Memory in MiB, clocks in MHz; FREE: memory that is not used. */
enum { DCGM_FREE = WTL_DEVICE_NUMBERS };

static bool get_dcgm(const struct wtl_live_gpu *gpu, unsigned what, int64_t *ret)
{
	unsigned total = WTL_DEVICE_MEMORY_TOTAL_BYTES, used = WTL_DEVICE_MEMORY_USED_BYTES;

	if (what == DCGM_FREE) {
		*ret = (gpu->values[total] - gpu->values[used]) >> 20;
		return (gpu->has >> total & 1) && (gpu->has >> used & 1);
	}
	*ret = gpu->values[what];
	if (what == total || what == used)
		*ret >>= 20;
	if (what == WTL_DEVICE_LIMIT_UW)
		*ret /= 1000000;
	return gpu->has >> what & 1;
}

static void put_dcgm(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned what = writer->family->what;

	for (size_t i = 0; i < live->n_gpus; i++) {
		int64_t value;

		if (!is_nvidia(domain_of(live, live->gpus[i].domain)) ||
		    !get_dcgm(&live->gpus[i], what, &value))
			continue;
		begin_dcgm(writer, live, &live->gpus[i]);
		wtl_metrics_signed(writer, value);
	}
}

/* ---- scaphandre ---- */

/* In eighths of a watt, as all figures. */
static void put_micro_watts(struct wtl_metrics_writer *writer, uint64_t power_uw)
{
	wtl_metrics_number(writer, (power_uw + EIGHTH / 2) / EIGHTH * EIGHTH);
}

static void put_scaphandre_power(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	if (!live->has_power)
		return;
	wtl_metrics_begin(writer);
	put_micro_watts(writer, live->power_uw);
}

static void put_scaphandre_energy(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	if (live->energy_uj == 0)
		return;
	wtl_metrics_begin(writer);
	wtl_metrics_number(writer, live->energy_uj / EIGHTH * EIGHTH);
}

enum { SCAPHANDRE_SOCKETS, SCAPHANDRE_DOMAINS };

static void put_scaphandre_sockets(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned what = writer->family->what;

	for (size_t i = 0; i < live->n_domains; i++) {
		const struct wtl_live_domain *domain = &live->domains[i];
		bool is_socket = domain->kind == WATTLE_KIND_CPU;

		if (!domain->has_power || !is_zone(domain) ||
		    is_socket != (what == SCAPHANDRE_SOCKETS))
			continue;
		wtl_metrics_begin(writer);
		if (!is_socket) {
			wtl_metrics_label(writer, "domain_name", zone_of(domain->kind));
			wtl_metrics_label(writer, "domain_id", domain->name);
		}
		wtl_metrics_label(writer, "socket_id", index_of(domain->name));
		put_micro_watts(writer, domain->power_uw);
	}
}

/* scaphandre's label cmdline, with all arguments of a process, may hold secrets: it is empty. */
static void put_scaphandre_processes(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	bool by_process = writer->sets & WTL_METRICS_PER_PROCESS;

	for (size_t i = 0; by_process && i < live->n_processes; i++) {
		if (!wtl_metrics_begin_process(writer, &live->processes[i], "exe"))
			continue;
		wtl_metrics_label(writer, "cmdline", "");
		put_micro_watts(writer, live->processes[i].power_uw);
	}
	for (size_t i = 0; !by_process && i < live->n_groups; i++) {
		const struct wtl_live_group *group = &live->groups[i];

		if (group->by != COMMAND || !group->name[0] || group->power_uw < EIGHTH)
			continue;
		wtl_metrics_sample(writer, "exe", group->name, "cmdline", "", NULL);
		put_micro_watts(writer, group->power_uw);
	}
}

/* ---- node_exporter ---- */

static void put_rapl(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned kind = writer->family->what;

	for (size_t i = 0; i < live->n_domains; i++) {
		const struct wtl_live_domain *domain = &live->domains[i];

		if (domain->kind != kind || !is_zone(domain) || !wtl_live_has_counter(domain))
			continue;
		wtl_metrics_sample(writer, "index", index_of(domain->name), "path", domain->name,
				   NULL);
		wtl_metrics_eighths(writer, domain->energy_uj, WTL_METRICS_DOWN);
	}
}

/* ---- AIPowerMeter ---- */

/* The power of all domains of a kind; false: none is known. */
static bool sum_kind(const struct wtl_live *live, enum wattle_kind kind, uint64_t *ret_uw)
{
	bool is_known = false;

	*ret_uw = 0;
	for (size_t i = 0; i < live->n_domains; i++)
		if (live->domains[i].kind == kind && live->domains[i].has_power) {
			*ret_uw += live->domains[i].power_uw;
			is_known = true;
		}
	return is_known;
}

/* If cores are not measured on their own, the packages have to do. */
static void put_aipowermeter_power(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned kind = writer->family->what;
	uint64_t power_uw;

	if (!sum_kind(live, kind, &power_uw) &&
	    !(kind == WATTLE_KIND_CORE && sum_kind(live, WATTLE_KIND_CPU, &power_uw)))
		return;
	wtl_metrics_begin(writer);
	wtl_metrics_eighths(writer, power_uw, WTL_METRICS_NEAR);
}

static void put_aipowermeter_memory(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	unsigned is_gpu = writer->family->what;
	uint64_t bytes = live->memory_bytes;
	bool is_known = bytes > 0;

	if (is_gpu) {
		bytes = 0;
		is_known = false;
		for (size_t i = 0; i < live->n_gpus; i++)
			if (live->gpus[i].has >> WTL_DEVICE_MEMORY_USED_BYTES & 1) {
				bytes += (uint64_t)live->gpus[i]
						 .values[WTL_DEVICE_MEMORY_USED_BYTES];
				is_known = true;
			}
	}
	if (!is_known)
		return;
	wtl_metrics_begin(writer);
	wtl_metrics_number(writer, bytes);
}

/* ---- The table ---- */

#define GAUGE	WTL_METRICS_GAUGE
#define COUNTER WTL_METRICS_COUNTER

#define KEPLER(name, labels, help, type, writes, which)                                           \
	{                                                                                         \
		"kepler_" name, labels, "As Kepler: " help, type, .write = writes, .what = which, \
								  .set = WTL_METRICS_KEPLER       \
	}
#define OF_CONTAINER "container_id, container_name, runtime, state, node_name"
#define OF_POD	     "pod_id, pod_name, pod_namespace, state, node_name"

#define DCGM(name, help, number)                                                                  \
	{                                                                                         \
		"DCGM_FI_DEV_" name, OF_DCGM, "As dcgm-exporter: " help, GAUGE, put_dcgm, number, \
			.set = WTL_METRICS_DCGM                                                   \
	}
#define OF_DCGM "gpu, UUID, device, modelName, Hostname"

#define RAPL(zone, kind)                                                                          \
	{                                                                                         \
		"node_rapl_" zone "_joules_total", "index, path",                                 \
			"As node_exporter: energy of RAPL's zone " zone, COUNTER, put_rapl, kind, \
			.set = WTL_METRICS_NODE                                                   \
	}

const struct wtl_metrics_family wtl_metrics_compat_families[] = {
	KEPLER("node_cpu_joules_total", "zone, path, node_name", "processors", COUNTER,
	       put_kepler_node, NODE_JOULES),
	KEPLER("node_gpu_joules_total", "gpu, gpu_uuid, gpu_name, node_name", "GPUs", COUNTER,
	       put_kepler_node, NODE_JOULES + OF_GPUS),
	KEPLER("node_cpu_active_joules_total", "zone, path, node_name", "processors", COUNTER,
	       put_kepler_node, NODE_ACTIVE_JOULES),
	KEPLER("node_gpu_active_joules_total", "gpu, gpu_uuid, gpu_name, node_name", "GPUs",
	       COUNTER, put_kepler_node, NODE_ACTIVE_JOULES + OF_GPUS),
	KEPLER("node_cpu_idle_joules_total", "zone, path, node_name", "processors", COUNTER,
	       put_kepler_node, NODE_IDLE_JOULES),
	KEPLER("node_gpu_idle_joules_total", "gpu, gpu_uuid, gpu_name, node_name", "GPUs", COUNTER,
	       put_kepler_node, NODE_IDLE_JOULES + OF_GPUS),
	KEPLER("node_cpu_watts", "zone, path, node_name", "processors", GAUGE, put_kepler_node,
	       NODE_WATTS),
	KEPLER("node_gpu_watts", "gpu, gpu_uuid, gpu_name, node_name", "GPUs", GAUGE,
	       put_kepler_node, NODE_WATTS + OF_GPUS),
	KEPLER("node_cpu_active_watts", "zone, path, node_name", "processors", GAUGE,
	       put_kepler_node, NODE_ACTIVE_WATTS),
	KEPLER("node_gpu_active_watts", "gpu, gpu_uuid, gpu_name, node_name", "GPUs", GAUGE,
	       put_kepler_node, NODE_ACTIVE_WATTS + OF_GPUS),
	KEPLER("node_cpu_idle_watts", "zone, path, node_name", "processors", GAUGE, put_kepler_node,
	       NODE_IDLE_WATTS),
	KEPLER("node_gpu_idle_watts", "gpu, gpu_uuid, gpu_name, node_name", "GPUs", GAUGE,
	       put_kepler_node, NODE_IDLE_WATTS + OF_GPUS),
	KEPLER("container_cpu_watts", OF_CONTAINER ", zone", "power above idle", GAUGE,
	       put_kepler_groups, CONTAINER),
	KEPLER("container_cpu_joules_total", OF_CONTAINER ", zone", "energy above idle", COUNTER,
	       put_kepler_groups, CONTAINER + OF_ENERGY),
	KEPLER("container_gpu_watts", OF_CONTAINER, "power above idle", GAUGE, put_kepler_groups,
	       CONTAINER + OF_GPUS),
	KEPLER("container_gpu_joules_total", OF_CONTAINER, "energy above idle", COUNTER,
	       put_kepler_groups, CONTAINER + OF_ENERGY + OF_GPUS),
	KEPLER("pod_cpu_watts", OF_POD ", zone", "power above idle", GAUGE, put_kepler_groups, POD),
	KEPLER("pod_cpu_joules_total", OF_POD ", zone", "energy above idle", COUNTER,
	       put_kepler_groups, POD + OF_ENERGY),
	KEPLER("pod_gpu_watts", OF_POD, "power above idle", GAUGE, put_kepler_groups,
	       POD + OF_GPUS),
	KEPLER("pod_gpu_joules_total", OF_POD, "energy above idle", COUNTER, put_kepler_groups,
	       POD + OF_ENERGY + OF_GPUS),
	KEPLER("process_cpu_watts", "pid, comm, state, node_name, zone", "power above idle", GAUGE,
	       put_kepler_processes, COMMAND),
	KEPLER("process_gpu_watts", "pid, comm, state, node_name", "power above idle", GAUGE,
	       put_kepler_processes, COMMAND + OF_GPUS),
	{"DCGM_FI_DEV_POWER_USAGE", OF_DCGM, "As dcgm-exporter: power in W", GAUGE,
	 .write = put_dcgm_power, .what = DCGM_WATTS, .set = WTL_METRICS_DCGM},
	{"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", OF_DCGM, "As dcgm-exporter: energy in mJ", COUNTER,
	 .write = put_dcgm_power, .what = DCGM_MILLIJOULES, .set = WTL_METRICS_DCGM},
	DCGM("GPU_TEMP", "temperature in C", WTL_DEVICE_TEMPERATURE_C),
	DCGM("MEMORY_TEMP", "temperature of the memory in C", WTL_DEVICE_MEMORY_TEMPERATURE_C),
	DCGM("SM_CLOCK", "clock in MHz", WTL_DEVICE_CLOCK_MHZ),
	DCGM("MEM_CLOCK", "clock of the memory in MHz", WTL_DEVICE_MEMORY_CLOCK_MHZ),
	DCGM("GPU_UTIL", "use in percent", WTL_DEVICE_USE_PERCENT),
	DCGM("FB_USED", "used memory in MiB", WTL_DEVICE_MEMORY_USED_BYTES),
	DCGM("FB_FREE", "free memory in MiB", DCGM_FREE),
	DCGM("POWER_MGMT_LIMIT", "power limit in W", WTL_DEVICE_LIMIT_UW),
	DCGM("FAN_SPEED", "speed of the fan in percent", WTL_DEVICE_FAN_PERCENT),
	{"scaph_host_power_microwatts", "", "As scaphandre: power of the machine", GAUGE,
	 .write = put_scaphandre_power, .set = WTL_METRICS_SCAPHANDRE},
	{"scaph_host_energy_microjoules", "", "As scaphandre: energy of the machine", COUNTER,
	 .write = put_scaphandre_energy, .set = WTL_METRICS_SCAPHANDRE},
	{"scaph_socket_power_microwatts", "socket_id",
	 "As scaphandre: power of a processor package", GAUGE, .write = put_scaphandre_sockets,
	 .what = SCAPHANDRE_SOCKETS, .set = WTL_METRICS_SCAPHANDRE},
	{"scaph_domain_power_microwatts", "domain_name, domain_id, socket_id",
	 "As scaphandre: power of a part of a package", GAUGE, .write = put_scaphandre_sockets,
	 .what = SCAPHANDRE_DOMAINS, .set = WTL_METRICS_SCAPHANDRE},
	{"scaph_process_power_consumption_microwatts", "pid, exe, cmdline",
	 "As scaphandre: power with its part of idle power", GAUGE, put_scaphandre_processes, 0,
	 .set = WTL_METRICS_SCAPHANDRE},
	RAPL("package", WATTLE_KIND_CPU),
	RAPL("core", WATTLE_KIND_CORE),
	RAPL("uncore", WATTLE_KIND_UNCORE),
	RAPL("dram", WATTLE_KIND_DRAM),
	RAPL("psys", WATTLE_KIND_PLATFORM),
	{"power_draw_cpu", "", "As AIPowerMeter: power of the processors' cores in W", GAUGE,
	 .write = put_aipowermeter_power, .what = WATTLE_KIND_CORE,
	 .set = WTL_METRICS_AIPOWERMETER},
	{"intel_power", "", "As AIPowerMeter: power of all processor packages in W", GAUGE,
	 .write = put_aipowermeter_power, .what = WATTLE_KIND_CPU, .set = WTL_METRICS_AIPOWERMETER},
	{"mem_used_cpu", "", "As AIPowerMeter: memory of all processes in bytes", GAUGE,
	 .write = put_aipowermeter_memory, .what = false, .set = WTL_METRICS_AIPOWERMETER},
	{"mem_used_gpu", "", "As AIPowerMeter: used memory of all GPUs in bytes", GAUGE,
	 .write = put_aipowermeter_memory, .what = true, .set = WTL_METRICS_AIPOWERMETER},
	{"power_draw_gpu", "", "As AIPowerMeter: power of all GPUs in W", GAUGE,
	 .write = put_aipowermeter_power, .what = WATTLE_KIND_GPU, .set = WTL_METRICS_AIPOWERMETER},
	{0},
};
