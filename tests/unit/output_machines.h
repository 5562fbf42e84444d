/* SPDX-License-Identifier: MIT */
#ifndef OUTPUT_MACHINES_H
#define OUTPUT_MACHINES_H

#include "base/remedy.h"
#include "document/report.h"

/* Machines made up by hand, for the output tests. */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define J(joules)    ((uint64_t)((joules)*1e6 + 0.5))
#define W(watts)     J(watts)
#define S(seconds)   ((int64_t)((seconds)*1e9 + 0.5))
#define START_UTC_NS (INT64_C(1795248000123456789)) /* 2026-11-21T08:00:00.123Z */
#define UNATTRIBUTED(joules)                                        \
	{                                                           \
		.unattributed_uj = J(joules), .total_uj = J(joules) \
	}

/* A figure with a mean and a greatest power, from some samples. */
#define FIGURE(how, joules, plus_minus, mean, max, seconds, n)                                  \
	.method = WATTLE_METHOD_##how, .has_energy = 1, .has_power = 1, .energy_uj = J(joules), \
	.uncertainty_uj = J(plus_minus), .mean_uw = W(mean), .max_uw = W(max),                  \
	.measured_ns = S(seconds), .samples = n

/* One of 12 s. */
#define ENERGY(joules, plus_minus, mean, max, how)                            \
	{                                                                     \
		FIGURE(how, joules, plus_minus, mean, max, 12.003471265, 121) \
	}

/* What a domain is, and how often its source has something new. */
#define ABOUT(what, of_kind, from, how, seconds)                     \
	.name = what, .kind = WATTLE_KIND_##of_kind, .source = from, \
	.method = WATTLE_METHOD_##how, .update_ns = S(seconds)

/* ---- A server, 12 s: a GPU falls off the bus in mid-run, two sources disagree ---- */

static const struct wtl_report_domain server_domains[] = {
	{
		.domain = {ABOUT("package-0", CPU, "rapl-perf", COUNTER, 0.001),
			   .device = "Intel(R) Xeon(R) Platinum 8480+", .check = "rapl-powercap",
			   .in_total = 1},
		.energy = ENERGY(1516.204117, 46.1, 126.314141, 181.75, COUNTER),
		.ledger = UNATTRIBUTED(1516.204117),
	},
	{
		.domain = {ABOUT("package-1", CPU, "rapl-perf", COUNTER, 0.001),
			   .device = "Intel(R) Xeon(R) Platinum 8480+", .check = "rapl-powercap",
			   .in_total = 1},
		.energy = {FIGURE(COUNTER, 871.5, 88.2, 72.604, 91.2, 12.003471265, 121),
			   .flags = WATTLE_ENERGY_DISAGREES},
		.ledger = UNATTRIBUTED(871.5),
	},
	{
		.domain = {ABOUT("core-0", CORE, "rapl-perf", COUNTER, 0.001),
			   .inside = "package-0"},
		.energy = ENERGY(1101.02, 33.5, 91.72, 140.2, COUNTER),
		.ledger = UNATTRIBUTED(1101.02),
	},
	{
		.domain = {ABOUT("core-1", CORE, "rapl-perf", COUNTER, 0.001),
			   .inside = "package-1"},
		.energy = ENERGY(402.75, 12.2, 33.55, 48.9, COUNTER),
		.ledger = UNATTRIBUTED(402.75),
	},
	{
		.domain = {ABOUT("dram-0", DRAM, "rapl-perf", COUNTER, 0.001), .in_total = 1},
		.energy = ENERGY(142.8, 8.6, 11.9, 14.1, COUNTER),
		.ledger = UNATTRIBUTED(142.8),
	},
	{
		.domain = {ABOUT("psys-0", PLATFORM, "rapl-powercap", COUNTER, 0.001)},
		.energy = ENERGY(5120, 510, 426.5, 612, COUNTER),
		.ledger = UNATTRIBUTED(5120),
	},
	{
		.domain = {ABOUT("gpu-0", GPU, "nvml", COUNTER, 0.1),
			   .device = "NVIDIA H100 80GB HBM3", .in_total = 1},
		.energy = ENERGY(4213.119, 127.3, 350.99, 698.4, COUNTER),
		.ledger = UNATTRIBUTED(4213.119),
	},
	{
		.domain = {ABOUT("gpu-0-memory", GPU_MEMORY, "nvml", INTEGRATED, 0.1),
			   .inside = "gpu-0", .sensor = "hopper-average 1000/100"},
		.energy = ENERGY(612.5, 61, 51.03, 70.2, INTEGRATED),
		.ledger = UNATTRIBUTED(612.5),
	},
	{
		.domain = {ABOUT("gpu-1", GPU, "nvml", INTEGRATED, 1),
			   .device = "NVIDIA H100 80GB HBM3",
			   .reason = "the GPU has fallen off the bus (NVML: GPU is lost)",
			   .remedy = "look for Xid 79 in dmesg; reset or reseat the GPU",
			   .status = WATTLE_STATUS_GONE, .in_total = 1},
		.energy = {FIGURE(INTEGRATED, 2710.4, 160.7, 308.2, 402, 8.8, 88),
			   .status = WATTLE_STATUS_GAP, .gap_ns = S(3.203471265),
			   .flags = WATTLE_ENERGY_SHORT},
		.ledger = UNATTRIBUTED(2710.4),
	},
	{
		.domain = {.name = "battery-0",
			   .source = "battery",
			   .reason = "energy_now: No such device",
			   .remedy = "modprobe ipmi_si",
			   .kind = WATTLE_KIND_BATTERY,
			   .status = WATTLE_STATUS_FAILED},
	},
};

static char *const train[] = {(char[]){"python"}, (char[]){"train.py"},	       (char[]){"--epochs"},
			      (char[]){"3"},	  (char[]){"--name=it's new"}, NULL};

static const char *const server_notes[] = {
	"no idle baseline has been seen on this machine yet",
};

static const struct wtl_report machine_server = {
	.command = train,
	.has_exit = true,
	.exit_status = 3,
	.window = {.begin_utc_ns = START_UTC_NS,
		   .begin_mono_ns = S(1000),
		   .duration_ns = S(12.003471265),
		   .total = {FIGURE(MIXED, 9454.023117, 245.6, 787.607, 1291.2, 8.8, 121),
			     .status = WATTLE_STATUS_GAP, .gap_ns = S(3.203471265),
			     .flags = WATTLE_ENERGY_SHORT | WATTLE_ENERGY_DISAGREES}},
	.domains = server_domains,
	.n_domains = COUNT(server_domains),
	.command_cpu_ns = S(83.204),
	.command_rss_bytes = UINT64_C(3411) << 20,
	.carbon = {.carbon = {.intensity_mg_per_kwh = 56040,
			      .year = 2023,
			      .location = "FRA",
			      .dataset = "CodeCarbon 3.0, energy mix by country"},
		   .emitted_ug = 147168,
		   .uncertainty_ug = 29700,
		   .pue_milli = 1250},
	.self = {.cpu_ns = S(0.012345678),
		 .max_rss_bytes = 4398046,
		 .ticks = 121,
		 .late_ticks = 2,
		 .has_energy = true,
		 .energy_uj = J(0.0311),
		 .uncertainty_uj = J(0.031)},
	.notes = server_notes,
	.n_notes = COUNT(server_notes),
};

/* ---- A virtual machine: everything is modelled ---- */

static const struct wtl_report_domain vm_domains[] = {
	{
		.domain = {.name = "package-0",
			   .device = "Intel Xeon Processor (Cascadelake)",
			   .source = "model",
			   .reason = "a virtual machine has no RAPL counters",
			   .kind = WATTLE_KIND_CPU,
			   .method = WATTLE_METHOD_MODELLED,
			   .in_total = 1},
		.energy = {FIGURE(MODELLED, 25.118, 30.14, 12.53, 15.2, 2.0041, 21)},
		.ledger = UNATTRIBUTED(25.118),
	},
	{
		.domain = {.name = "dram-0",
			   .source = "model",
			   .reason = "a virtual machine has no RAPL counters",
			   .kind = WATTLE_KIND_DRAM,
			   .method = WATTLE_METHOD_MODELLED,
			   .in_total = 1},
		.energy = {FIGURE(MODELLED, 5.6, 5.6, 2.794, 2.794, 2.0041, 21)},
		.ledger = UNATTRIBUTED(5.6),
	},
};

static char *const sleep_2[] = {(char[]){"sleep"}, (char[]){"2"}, NULL};

static const char *const vm_notes[] = {
	"Nothing is measured here: a virtual machine has no RAPL counters. Run wattle on the host, or "
	"ask its operator to pass energy counters through (KVM: the RAPL MSRs of QEMU 9.1).",
};

static const struct wtl_report machine_vm = {
	.command = sleep_2,
	.has_exit = true,
	.window = {.begin_utc_ns = START_UTC_NS,
		   .duration_ns = S(2.0041),
		   .total = {FIGURE(MODELLED, 30.718, 30.7, 15.328, 17.994, 2.0041, 21)}},
	.domains = vm_domains,
	.n_domains = COUNT(vm_domains),
	.command_cpu_ns = S(0.000912),
	.command_rss_bytes = 1888 << 10,
	.carbon = {.carbon = {.intensity_mg_per_kwh = 472940,
			      .year = 2024,
			      .location = "world",
			      .dataset = "Ember yearly data (co2.js)"},
		   .emitted_ug = 4036,
		   .uncertainty_ug = 5690,
		   .is_default = true},
	.self = {.cpu_ns = S(0.0031), .max_rss_bytes = 4300000, .ticks = 21},
	.notes = vm_notes,
	.n_notes = COUNT(vm_notes),
};

/* ---- Counters that only root may read, a GPU that sleeps: nothing has a figure ---- */

#define DENIED(n)                                                                                 \
	{                                                                                         \
		.domain = {                                                                       \
			.name = "package-" #n,                                                    \
			.source = "rapl-powercap",                                                \
			.reason =                                                                 \
				"energy_uj is readable by root only, and perf_event_paranoid is " \
				"4",                                                              \
			.remedy = WTL_REMEDY_SETCAP,                                              \
			.kind = WATTLE_KIND_CPU,                                                  \
			.status = WATTLE_STATUS_DENIED,                                           \
			.in_total = 1                                                             \
		}                                                                                 \
	}

static const struct wtl_report_domain denied_domains[] = {
	DENIED(0),
	DENIED(1),
	{
		.domain = {.name = "gpu-0",
			   .device = "NVIDIA GeForce RTX 4070 Laptop GPU",
			   .source = "nvml",
			   .reason = "the GPU sleeps, and reading would wake it",
			   .kind = WATTLE_KIND_GPU,
			   .status = WATTLE_STATUS_ASLEEP,
			   .in_total = 1},
	},
	{
		.domain = {.name = "psys-0",
			   .reason = "this platform has no psys counter",
			   .kind = WATTLE_KIND_PLATFORM,
			   .status = WATTLE_STATUS_ABSENT},
	},
};

static char *const make_j8[] = {(char[]){"make"}, (char[]){"-j8"}, NULL};

static const struct wtl_report machine_denied = {
	.command = make_j8,
	.exit_signal = 0,
	.interrupted = true,
	.window = {.begin_utc_ns = START_UTC_NS, .duration_ns = S(3725.4)},
	.domains = denied_domains,
	.n_domains = COUNT(denied_domains),
	.command_cpu_ns = -1,
	.carbon = {.carbon = {.intensity_mg_per_kwh = 42000, .location = "42"}},
	.self = {.cpu_ns = S(1.5), .max_rss_bytes = 4300000, .ticks = 37254},
};

/* The same packages beside a GPU that can be read. */
static const struct wtl_report_domain partly_domains[] = {
	DENIED(0),
	DENIED(1),
	{
		.domain = {ABOUT("gpu-0", GPU, "amdgpu", COUNTER, 0.001),
			   .device = "AMD Instinct MI300X", .in_total = 1},
		.energy = ENERGY(1650000.25, 0.5, 750, 1201, COUNTER),
		.ledger = UNATTRIBUTED(1650000.25),
	},
	{
		.domain = {.name = "dram-0",
			   .source = "model",
			   .reason = "this processor has no DRAM counter",
			   .kind = WATTLE_KIND_DRAM,
			   .method = WATTLE_METHOD_MODELLED,
			   .in_total = 1},
		.energy = ENERGY(88000, 88000, 40, 40, MODELLED),
		.ledger = UNATTRIBUTED(88000),
	},
};

static const struct wtl_report machine_partly = {
	.command = NULL,
	.window = {.begin_utc_ns = START_UTC_NS,
		   .duration_ns = S(2200),
		   .total = ENERGY(1738000.25, 88000, 790, 1241, MIXED)},
	.domains = partly_domains,
	.n_domains = COUNT(partly_domains),
	.command_cpu_ns = -1,
	.carbon = {.carbon = {.intensity_mg_per_kwh = 16300,
			      .year = 2024,
			      .location = "gcp:europe-west9",
			      .dataset = "Google Cloud, region carbon data"},
		   .emitted_ug = 7869278,
		   .uncertainty_ug = 1620000},
	.self = {.cpu_ns = S(1.5), .max_rss_bytes = 4300000, .ticks = 22000},
};

/* ---- Five runs on a laptop, one of them killed ---- */

#define LAPTOP(joules, plus_minus, watts)                                                          \
	{                                                                                          \
		{                                                                                  \
			.domain = {ABOUT("package-0", CPU, "rapl-powercap", COUNTER, 0.001),       \
				   .in_total = 1},                                                 \
			.energy = {FIGURE(COUNTER, joules, plus_minus, watts, (watts) + 3, 0.52,   \
					  7)},                                                     \
			.ledger = UNATTRIBUTED(joules),                                            \
		},                                                                                 \
			{                                                                          \
				.domain = {ABOUT("core-0", CORE, "rapl-powercap", COUNTER, 0.001), \
					   .inside = "package-0"},                                 \
				.energy = {FIGURE(COUNTER, (joules) / 2, (plus_minus) / 2,         \
						  (watts) / 2, (watts) / 2 + 1, 0.52, 7)},         \
				.ledger = UNATTRIBUTED((joules) / 2),                              \
			},                                                                         \
	}

static const struct wtl_report_domain laptop_domains[][2] = {
	LAPTOP(10.482, 0.33, 20.1), LAPTOP(10.12, 0.32, 19.9), LAPTOP(10.31, 0.33, 20),
	LAPTOP(4.02, 0.14, 19.8),   LAPTOP(10.66, 0.34, 20.4),
};

static char *const sort_file[] = {(char[]){"sort"}, (char[]){"big.txt"}, NULL};

#define RUN(i, seconds, joules, plus_minus, watts, ...)                                           \
	{                                                                                         \
		.command = sort_file, .has_exit = true,                                           \
		.window = {.begin_utc_ns = START_UTC_NS + (i)*S(1),                               \
			   .duration_ns = S(seconds),                                             \
			   .total = {FIGURE(COUNTER, joules, plus_minus, watts, (watts) + 3,      \
					    seconds, 7)}},                                        \
		.domains = laptop_domains[i], .n_domains = 2, .command_cpu_ns = S((seconds)*0.9), \
		.carbon = {.carbon = {.intensity_mg_per_kwh = 56040,                              \
				      .year = 2023,                                               \
				      .location = "FRA",                                          \
				      .dataset = "CodeCarbon 3.0"},                               \
			   .emitted_ug = (uint64_t)((joules)*56.04 / 3.6),                        \
			   .uncertainty_ug = (uint64_t)((joules)*12 / 3.6)},                      \
		.self = {.cpu_ns = S(0.0004), .max_rss_bytes = 4300000, .ticks = 7}, __VA_ARGS__  \
	}

static const struct wtl_report runs[] = {
	RUN(0, 0.5213, 10.482, 0.33, 20.1, .exit_status = 0),
	RUN(1, 0.5079, 10.12, 0.32, 19.9, .exit_status = 0),
	RUN(2, 0.5155, 10.31, 0.33, 20, .exit_status = 0),
	RUN(3, 0.203, 4.02, 0.14, 19.8, .exit_status = 137, .exit_signal = 9),
	RUN(4, 0.5226, 10.66, 0.34, 20.4, .exit_status = 0),
};

static const struct wtl_statistics laptop_statistics[] = {
	{.n = 5, .mean = 9.1184, .sd = 2.8560, .ci95 = 3.5462, .min = 4.02, .max = 10.66},
	{.n = 5, .mean = 4.5592, .sd = 1.4280, .ci95 = 1.7731, .min = 2.01, .max = 5.33},
};

static const struct wtl_series machine_series = {
	.reports = runs,
	.n_reports = COUNT(runs),
	.until = 0.05,
	.of[WTL_RUN_DURATION_S] = {.n = 5,
				   .mean = 0.45406,
				   .sd = 0.14051,
				   .ci95 = 0.17447,
				   .min = 0.203,
				   .max = 0.5226},
	.of[WTL_RUN_ENERGY_J] =
		{.n = 5, .mean = 9.1184, .sd = 2.8560, .ci95 = 3.5462, .min = 4.02, .max = 10.66},
	.of[WTL_RUN_EMITTED_G] = {.n = 5,
				  .mean = 141.943e-6,
				  .sd = 44.459e-6,
				  .ci95 = 55.203e-6,
				  .min = 62.6e-6,
				  .max = 165.9e-6},
	.domain_j = laptop_statistics,
};

/* ---- Doctor ---- */

static const struct wtl_doctor_source server_sources[] = {
	{.source = "amdgpu", .reason = "no AMD GPU", .status = WATTLE_STATUS_ABSENT},
	{.source = "hwmon",
	 .reason = "no sensor there measures energy or power",
	 .remedy = "sudo modprobe acpi_power_meter, where the BIOS offers one",
	 .status = WATTLE_STATUS_ABSENT},
};

static const struct wtl_doctor doctor_server = {
	.cpu_model = "Intel(R) Xeon(R) Platinum 8480+",
	.product = "Dell Inc. PowerEdge R760",
	.kernel = "6.1.0-28-amd64",
	.n_cpus = 224,
	.n_packages = 2,
	.memory_bytes = UINT64_C(515) << 30,
	.t_utc_ns = START_UTC_NS,
	.domains = server_domains,
	.n_domains = COUNT(server_domains),
	.sources = server_sources,
	.n_sources = COUNT(server_sources),
	.summary = "Packages, DRAM and one of two GPUs are measured; gpu-1 is lost.",
};

static const struct wtl_doctor_source vm_sources[] = {
	{.source = "rapl-perf",
	 .reason = "the kernel has no power PMU: this is a virtual machine (KVM)",
	 .remedy = "run wattle on the host",
	 .status = WATTLE_STATUS_ABSENT},
	{.source = "rapl-powercap",
	 .reason = "/sys/class/powercap is empty",
	 .status = WATTLE_STATUS_ABSENT},
	{.source = "nvml",
	 .reason = "libnvidia-ml.so.1 cannot be loaded",
	 .remedy = "install the NVIDIA driver, or give --nvml PATH",
	 .status = WATTLE_STATUS_ABSENT},
};

static const struct wtl_doctor doctor_vm = {
	.cpu_model = "Intel Xeon Processor (Cascadelake)",
	.n_cpus = 1,
	.n_packages = 1,
	.memory_bytes = UINT64_C(16374) << 20,
	.is_vm = true,
	.is_container = true,
	.t_utc_ns = START_UTC_NS,
	.domains = vm_domains,
	.n_domains = COUNT(vm_domains),
	.sources = vm_sources,
	.n_sources = COUNT(vm_sources),
	.summary = "Nothing is measured on this machine; the figures are modelled.",
};

static const struct wtl_doctor doctor_denied = {
	.t_utc_ns = START_UTC_NS,
	.domains = denied_domains,
	.n_domains = COUNT(denied_domains),
	.summary = NULL,
};

#endif
