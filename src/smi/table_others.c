/* SPDX-License-Identifier: MIT */
#include "smi/row.h"

/* The fields of processes, MIG instances and energy domains. */

static const struct wtl_smi_kind plain = {.form = WTL_SMI_DECIMAL, .unit = 1};
static const struct wtl_smi_kind mib = {
	.form = WTL_SMI_DECIMAL, .unit = 1 << 20, .rounds_up = true};

#define PROCESS(how, where, member)                                             \
	.kind = &(how), .object = WTL_SMI_OF_PROCESS, .place = WTL_SMI_##where, \
	MEMBER(struct wtl_gpu_process, member)
#define PROGRAM \
	KIND(process_name), .object = WTL_SMI_OF_PROCESS, MEMBER(struct wtl_gpu_process, name)

const struct wtl_smi_field wtl_smi_process_fields[] = {
	COLUMN("timestamp", KIND(timestamp),
	       "When the processes were read, by the clock on the wall"),
	COLUMN("gpu_name", TEXT(name), "The maker's name of the GPU"),
	COLUMN("gpu_bus_id", KIND(bus_id), "Where the GPU is on the PCI bus"),
	COLUMN("gpu_serial", TEXT(serial), "The board's serial number"),
	COLUMN("gpu_uuid", TEXT(uuid), "The GPU's own identifier"),
	FIELD(PROCESS(plain, U32, instance), AT("GPU instance ID", "gpu_instance_id")),
	FIELD(PROCESS(plain, U32, compute_instance),
	      AT("Compute instance ID", "compute_instance_id")),
	ROW("pid", PROCESS(plain, INT, pid), AT("Process ID", "pid"),
	    "The process, as the host counts"),
	FIELD(KIND(process_type), AT("    Type", "type")),
	FIELD(KIND(process_title), AT("    Name", NULL)),
	ROW("process_name", PROGRAM, XML("process_name"), "The path of its program",
	    .alias = "name", .unknown = "[Not Found]"),
	ROW("used_gpu_memory", PROCESS(mib, U64, memory_bytes),
	    AT("    Used GPU Memory", "used_memory"), "What it holds of the GPU's memory",
	    .alias = "used_memory", .unit = "MiB"),
	{0},
};

#define INSTANCE(how, where, member)                                        \
	.kind = &(how), .object = WTL_SMI_OF_MIG, .place = WTL_SMI_##where, \
	MEMBER(struct wtl_gpu_mig, member)

const struct wtl_smi_field wtl_smi_mig_fields[] = {
	FIELD(INSTANCE(plain, U32, index), AT("Index", "index")),
	FIELD(INSTANCE(plain, U32, instance), AT("GPU Instance ID", "gpu_instance_id")),
	FIELD(INSTANCE(plain, U32, compute_instance),
	      AT("Compute Instance ID", "compute_instance_id")),
	FIELD(INSTANCE(mib, U64, memory_total_bytes),
	      AT("Shared FB Memory Usage/Total", "fb_memory_usage/total"), .unit = "MiB"),
	FIELD(INSTANCE(mib, U64, memory_used_bytes),
	      AT("Shared FB Memory Usage/Used", "fb_memory_usage/used"), .unit = "MiB"),
	{0},
};

/* The driver's process accounts, which are never read: these fields can be asked for, but are not known. */
static const struct wtl_smi_field accounted_fields[] = {
	NONE("timestamp"),
	NONE("gpu_name"),
	NONE("gpu_bus_id"),
	NONE("gpu_serial"),
	NONE("gpu_uuid"),
	NONE("vgpu_instance"),
	NONE("pid"),
	NONE("gpu_utilization", .unit = "%", .alias = "gpu_util"),
	NONE("mem_utilization", .unit = "%", .alias = "mem_util"),
	NONE("max_memory_usage", .unit = "MiB"),
	NONE("time", .unit = "ms"),
	{0},
};

#define DOMAIN(which) KIND(domain_text), .number = WTL_SMI_DOMAIN_##which

static const struct wtl_smi_field domain_fields[] = {
	COLUMN("timestamp", KIND(timestamp),
	       "When the domains were read, by the clock on the wall"),
	COLUMN("name", DOMAIN(NAME), "The domain: package-0, dram-0, ...", .alias = "domain"),
	COLUMN("kind", DOMAIN(KIND), "What it is a part of: cpu, dram, platform, ..."),
	COLUMN("inside", DOMAIN(INSIDE), "The domain that contains it: never add both"),
	COLUMN("in_total", DOMAIN(IN_TOTAL), "Whether the machine's total has it: Yes or No"),
	COLUMN("device", DOMAIN(DEVICE), "The maker's name of the part"),
	COLUMN("source", DOMAIN(SOURCE), "How it is read: rapl-perf, rapl-powercap, model, ..."),
	COLUMN("method", DOMAIN(METHOD), "counter, integrated or modelled"),
	COLUMN("status", DOMAIN(STATUS), "ok, or what is wrong"),
	COLUMN("reason", DOMAIN(REASON), "Why there is no (measured) figure"),
	COLUMN("power.draw", METER(POWER, "W"), "The mean power since the row before",
	       .alias = "power.mean"),
	COLUMN("power.uncertainty", METER(POWER_UNCERTAINTY, "W"),
	       "Its expanded uncertainty (k = 2)"),
	COLUMN("energy.window", METER(ENERGY, "J"),
	       "The energy since wattle began to watch, before the first row"),
	COLUMN("energy.window.uncertainty", METER(ENERGY_UNCERTAINTY, "J"),
	       "Its expanded uncertainty (k = 2)", .alias = "energy.uncertainty"),
	{0},
};

const struct wtl_smi_query wtl_smi_query_apps = {
	.option = "--query-compute-apps",
	.about = "Each row is a process that computes on a GPU.",
	.fields = wtl_smi_process_fields,
};

const struct wtl_smi_query wtl_smi_query_accounted = {
	.option = "--query-accounted-apps",
	.about = "Each row is a process that the driver keeps an account of.",
	.fields = accounted_fields,
};

const struct wtl_smi_query wtl_smi_query_domain = {
	.option = "--query-domain",
	.about = "Each row is an energy domain: a CPU package, its cores, DRAM, a GPU, ...",
	.fields = domain_fields,
};
