/* SPDX-License-Identifier: MIT */
#ifndef OUTPUT_MACHINES_USERS_H
#define OUTPUT_MACHINES_USERS_H

#include "output_machines.h"

/* Machines made up by hand, whose energy was attributed to processes. */

#define LEDGER(live, exited, kernel, idle, unseen)                                        \
	{                                                                                 \
		.has_idle = true, .live_uj = J(live), .exited_uj = J(exited),             \
		.kernel_uj = J(kernel), .idle_uj = J(idle), .unattributed_uj = J(unseen), \
		.total_uj = J(live) + J(exited) + J(kernel) + J(idle) + J(unseen)         \
	}
/* Without a baseline. */
#define FULL_LEDGER(live, exited, kernel, unseen)                                   \
	{                                                                           \
		.live_uj = J(live), .exited_uj = J(exited), .kernel_uj = J(kernel), \
		.unattributed_uj = J(unseen),                                       \
		.total_uj = J(live) + J(exited) + J(kernel) + J(unseen)             \
	}
#define BASELINE(watts, plus_minus, age_s)                                                  \
	{                                                                                   \
		.is_known = true, .idle_uw = W(watts), .uncertainty_uw = W(plus_minus) / 2, \
		.t_utc_ns = START_UTC_NS + S(12.003471265) - S(age_s), .seen_ns = S(40)     \
	}
#define DYNAMIC(dynamic, plus_minus, full)                                                      \
	{                                                                                       \
		.has_dynamic = true, .dynamic_uj = J(dynamic), .uncertainty_uj = J(plus_minus), \
		.full_uj = J(full)                                                              \
	}
#define FULL(full, plus_minus)                                      \
	{                                                           \
		.full_uj = J(full), .uncertainty_uj = J(plus_minus) \
	}
#define NO_MEMORY                                                                  \
	.rss_bytes = UINT64_MAX, .pss_bytes = UINT64_MAX, .uss_bytes = UINT64_MAX, \
	.gpu_memory_bytes = UINT64_MAX, .gpu_ppm = UINT32_MAX

/* ---- A server, two packages, DRAM and a GPU; its baseline was seen three hours ago ---- */

#define COUNTED(what, of_kind, from, joules, plus_minus, mean, max, by)        \
	.domain = {ABOUT(what, of_kind, from, COUNTER, 0.001), .in_total = 1}, \
	.energy = ENERGY(joules, plus_minus, mean, max, COUNTER), .weight = by

static const struct wtl_report_domain used_domains[] = {
	{
		COUNTED("package-0", CPU, "rapl-perf", 1516.204117, 46.1, 126.314141, 181.75,
			"cpu-time"),
		.ledger = LEDGER(20.5, 590.1, 6.2, 888.857047, 10.54707),
		.idle = BASELINE(74.05, 1.1, 10800),
	},
	{
		COUNTED("package-1", CPU, "rapl-perf", 871.5, 26.2, 72.604, 91.2, "cpu-time"),
		.ledger = LEDGER(4.1, 25, 2, 839.042642, 1.357358),
		.idle = BASELINE(69.9, 1, 10800),
	},
	{
		COUNTED("dram-0", DRAM, "rapl-perf", 142.8, 8.6, 11.9, 14.1, "cpu-time"),
		.ledger = LEDGER(2, 40, 0.371536, 98.428464, 2),
		.idle = BASELINE(8.2, 0.2, 5400),
	},
	{
		COUNTED("gpu-0", GPU, "nvml", 4213.119, 127.3, 350.99, 698.4, "sm-use"),
		.ledger = LEDGER(100, 3377.306211, 0, 735.812789, 0),
		.idle = BASELINE(61.3, 0.6, 10800),
	},
	{
		.domain = {ABOUT("psys-0", PLATFORM, "rapl-powercap", COUNTER, 0.001)},
		.energy = ENERGY(5120, 510, 426.5, 612, COUNTER),
		.ledger = UNATTRIBUTED(5120),
	},
};

static const struct wtl_group user_slice = {
	.cgroup = "/user.slice/user-1000.slice/session-3.scope",
	.unit = "session-3.scope",
};
static const struct wtl_group pod_slice = {
	.cgroup = "/kubepods.slice/kubepods-pod3f1c.slice/cri-containerd-77aa.scope",
	.container = "containerd/77aa12bc34de",
	.pod = "3f1c2a44-0c1d-4a5e-9d0e-2b7a1f6c9e55",
	.job = "slurm/123_4",
};

static const struct wtl_consumer used_consumers[] = {
	{
		.state = WTL_CONSUMER_EXITED,
		.pid = 4711,
		.parent = 4700,
		.start_ns = S(1000),
		.uid = 1000,
		.n_processes = 1,
		.is_in_tree = true,
		.is_readable = true,
		.name = "python",
		.command = "python train.py --name=it's new --epochs 3",
		.group = &user_slice,
		.cpu_ns = S(71.25),
		.rss_bytes = UINT64_C(3411) << 20,
		.pss_bytes = UINT64_C(3300) << 20,
		.uss_bytes = UINT64_C(3200) << 20,
		.gpu_memory_bytes = UINT64_C(30) << 30,
	},
	{
		.state = WTL_CONSUMER_FOLDED,
		.uid = 1000,
		.n_processes = 230,
		.is_in_tree = true,
		.name = "pt_data_worker",
		.cpu_ns = S(11.954),
		NO_MEMORY,
	},
	{
		.state = WTL_CONSUMER_LIVE,
		.pid = 912,
		.parent = 1,
		.start_ns = S(10),
		.uid = 0,
		.n_processes = 1,
		.is_readable = true,
		.name = "vllm",
		.command = "/usr/bin/vllm serve --model /srv/models/a-rather-long-name-of-a-model",
		.group = &pod_slice,
		.cpu_ns = S(1.5),
		NO_MEMORY,
	},
	{
		.state = WTL_CONSUMER_KERNEL,
		.pid = 77,
		.parent = 2,
		.start_ns = S(0.1),
		.uid = 0,
		.n_processes = 1,
		.name = "kswapd0",
		.cpu_ns = S(0.61),
		NO_MEMORY,
	},
	{
		.state = WTL_CONSUMER_LIVE,
		.pid = 4699,
		.uid = UINT32_MAX,
		.n_processes = 1,
		.name = "sshd",
		.cpu_ns = S(0.002),
		NO_MEMORY,
	},
};

static const struct wtl_report_process used_processes[] = {
	{.consumer = &used_consumers[0],
	 .start_utc_ns = START_UTC_NS + S(0.01),
	 .user = "ada",
	 .all = DYNAMIC(3890.2, 230.5, 4700.5),
	 .gpu = DYNAMIC(3377.306211, 180, 3900.25)},
	{.consumer = &used_consumers[1], .user = "ada", .all = DYNAMIC(142.1, 12.4, 611.75)},
	{.consumer = &used_consumers[2],
	 .start_utc_ns = START_UTC_NS - S(7200),
	 .user = "kubernetes-runner",
	 .all = DYNAMIC(112.4, 9.1, 320.25),
	 .gpu = DYNAMIC(100, 8, 312.869)},
	{.consumer = &used_consumers[3],
	 .start_utc_ns = START_UTC_NS - S(90000),
	 .user = "root",
	 .all = DYNAMIC(7.9, 0.8, 30.5)},
	{.consumer = &used_consumers[4], .all = DYNAMIC(0.03, 0.01, 0.11)},
};

static const struct wtl_report machine_used = {
	.command = train,
	.has_exit = true,
	.window = {.begin_utc_ns = START_UTC_NS,
		   .begin_mono_ns = S(1000),
		   .duration_ns = S(12.003471265),
		   .total = ENERGY(6743.623117, 201.6, 561.808, 985.4, COUNTER)},
	.domains = used_domains,
	.n_domains = COUNT(used_domains),
	.command_cpu_ns = S(83.2),
	.command_rss_bytes = UINT64_C(3411) << 20,
	.attribution = {.is_known = true,
			.has_command = true,
			.command = DYNAMIC(4032.3, 242.9, 5312.25),
			.command_gpu = DYNAMIC(3377.306211, 180, 3900.25),
			.command_cpu_ns = S(83.204),
			.command_processes = 231,
			.processes = used_processes,
			.n_processes = COUNT(used_processes),
			.others = DYNAMIC(3.2, 0.4, 21.5),
			.n_others = 312,
			.others_cpu_ns = S(0.44)},
	.carbon = {.carbon = {.intensity_mg_per_kwh = 56040,
			      .year = 2023,
			      .location = "FRA",
			      .dataset = "CodeCarbon 3.0"},
		   .emitted_ug = 104976,
		   .uncertainty_ug = 21200},
	.self = {.cpu_ns = S(0.012345678), .max_rss_bytes = 4398046, .ticks = 121},
};

/* ---- The same before any baseline was seen ---- */

static const struct wtl_report_domain full_domains[] = {
	{
		COUNTED("package-0", CPU, "rapl-perf", 1516.204117, 46.1, 126.314141, 181.75,
			"cpu-time"),
		.ledger = FULL_LEDGER(51.3, 1424.1, 15.5, 25.304117),
	},
	{
		COUNTED("package-1", CPU, "rapl-perf", 871.5, 26.2, 72.604, 91.2, "cpu-time"),
		.ledger = FULL_LEDGER(110.4, 670, 55, 36.1),
	},
	{
		COUNTED("dram-0", DRAM, "rapl-perf", 142.8, 8.6, 11.9, 14.1, "cpu-time"),
		.ledger = FULL_LEDGER(6.4, 129, 1.4, 6),
	},
	{
		COUNTED("gpu-0", GPU, "nvml", 4213.119, 127.3, 350.99, 698.4, "sm-use"),
		.ledger = FULL_LEDGER(312.869, 3900.25, 0, 0),
	},
};

static const struct wtl_report_process full_processes[] = {
	{.consumer = &used_consumers[0],
	 .user = "ada",
	 .all = FULL(5510.6, 241),
	 .gpu = FULL(3900.25, 190)},
	{.consumer = &used_consumers[1], .user = "ada", .all = FULL(611.75, 55)},
	{.consumer = &used_consumers[2],
	 .user = "kubernetes-runner",
	 .all = FULL(400.25, 35),
	 .gpu = FULL(312.869, 30)},
};

static const struct wtl_report machine_full = {
	.command = train,
	.has_exit = true,
	.window = {.begin_utc_ns = START_UTC_NS,
		   .duration_ns = S(12.003471265),
		   .total = ENERGY(6743.623117, 201.6, 561.808, 985.4, COUNTER)},
	.domains = full_domains,
	.n_domains = COUNT(full_domains),
	.command_cpu_ns = S(83.2),
	.attribution = {.is_known = true,
			.has_command = true,
			.command = FULL(6122.35, 296),
			.command_gpu = FULL(3900.25, 190),
			.command_cpu_ns = S(83.204),
			.command_processes = 231,
			.processes = full_processes,
			.n_processes = COUNT(full_processes),
			.others = FULL(81.8, 7.7),
			.n_others = 315,
			.others_cpu_ns = S(1.052)},
	.carbon = {.carbon = {.intensity_mg_per_kwh = 56040, .location = "FRA"},
		   .emitted_ug = 104976,
		   .uncertainty_ug = 21200},
	.self = {.cpu_ns = S(0.012345678), .max_rss_bytes = 4398046, .ticks = 121},
};

/* ---- A virtual machine, modelled: one has a baseline, the other has none ---- */

#define MODELLED(what, of_kind, joules, plus_minus, mean, max)         \
	.domain = {.name = what,                                       \
		   .source = "model",                                  \
		   .reason = "a virtual machine has no RAPL counters", \
		   .kind = of_kind,                                    \
		   .method = WATTLE_METHOD_MODELLED,                   \
		   .in_total = 1},                                     \
	.energy = ENERGY(joules, plus_minus, mean, max, MODELLED), .weight = "cpu-time"

static const struct wtl_report_domain used_vm_domains[] = {
	{
		MODELLED("package-0", WATTLE_KIND_CPU, 25.118, 30.14, 12.53, 15.2),
		.ledger = LEDGER(0.05, 4.2, 0.1, 20.568, 0.2),
		.idle = {.is_known = true,
			 .is_modelled = true,
			 .idle_uw = W(10.26),
			 .uncertainty_uw = W(5.13)},
	},
	{
		MODELLED("dram-0", WATTLE_KIND_DRAM, 5.6, 5.6, 2.794, 2.794),
		.ledger = FULL_LEDGER(0.1, 5.1, 0.1, 0.3),
	},
};

static const struct wtl_consumer vm_consumers[] = {
	{.state = WTL_CONSUMER_EXITED,
	 .pid = 300,
	 .n_processes = 1,
	 .parent = 299,
	 .uid = 1000,
	 .is_in_tree = true,
	 .name = "sleep",
	 .command = "sleep 2",
	 .cpu_ns = S(0.000912),
	 NO_MEMORY},
};

static const struct wtl_report_process vm_processes[] = {
	{.consumer = &vm_consumers[0], .user = "1000", .all = FULL(26.4, 28)},
};

static const struct wtl_report machine_used_vm = {
	.command = sleep_2,
	.has_exit = true,
	.window = {.begin_utc_ns = START_UTC_NS,
		   .duration_ns = S(2.0041),
		   .total = ENERGY(30.718, 30.7, 15.328, 17.994, MODELLED)},
	.domains = used_vm_domains,
	.n_domains = COUNT(used_vm_domains),
	.command_cpu_ns = S(0.000912),
	.attribution = {.is_known = true,
			.has_command = true,
			.command = FULL(26.4, 28),
			.command_cpu_ns = S(0.000912),
			.command_processes = 1,
			.processes = vm_processes,
			.n_processes = COUNT(vm_processes),
			.others = FULL(0.5, 0.5),
			.n_others = 17,
			.others_cpu_ns = -1},
	.carbon = {.carbon = {.intensity_mg_per_kwh = 472940,
			      .year = 2024,
			      .location = "world",
			      .dataset = "Ember yearly data (co2.js)"},
		   .emitted_ug = 4036,
		   .uncertainty_ug = 5690,
		   .is_default = true},
	.self = {.cpu_ns = S(0.0031), .max_rss_bytes = 4300000, .ticks = 21},
};

/* ---- A build on a laptop: nearly all of it is short-lived, and rows stand for many ---- */

static const struct wtl_report_domain build_domains[] = {
	{
		COUNTED("package-0", CPU, "rapl-powercap", 512.75, 15.4, 42.7, 44.9, "cpu-time"),
		.ledger = LEDGER(1.25, 448, 3.1, 56.4, 4),
		.idle = BASELINE(4.7, 0.1, 3),
	},
};

#define ENDED(what, number, seconds)                                              \
	{                                                                         \
		.state = WTL_CONSUMER_FOLDED, .uid = 1000, .n_processes = number, \
		.is_in_tree = true, .name = what, .cpu_ns = S(seconds), NO_MEMORY \
	}

static const struct wtl_consumer build_consumers[] = {
	ENDED("cc1", 1200, 71.25), ENDED("as", 1200, 12.5), ENDED("", 90, 4.75),
	ENDED("sh", 2411, 2.1),	   ENDED("ld", 14, 1.5),    ENDED("rm", 40, 0.02),
};

static const struct wtl_report_process build_processes[] = {
	{.consumer = &build_consumers[0], .user = "ada", .all = DYNAMIC(348.2, 11.2, 390.125)},
	{.consumer = &build_consumers[1], .user = "ada", .all = DYNAMIC(61.1, 2.4, 68.25)},
	{.consumer = &build_consumers[2], .user = "ada", .all = DYNAMIC(23.2, 1.1, 26.125)},
	{.consumer = &build_consumers[3], .user = "ada", .all = DYNAMIC(8.3, 0.9, 9.5)},
	{.consumer = &build_consumers[4], .user = "ada", .all = DYNAMIC(7.1, 0.8, 8.25)},
	{.consumer = &build_consumers[5], .user = "ada", .all = DYNAMIC(0.03, 0.02, 0.04)},
};

static const struct wtl_report machine_build = {
	.command = make_j8,
	.has_exit = true,
	.window = {.begin_utc_ns = START_UTC_NS,
		   .duration_ns = S(12.003471265),
		   .total = ENERGY(512.75, 15.4, 42.7, 44.9, COUNTER)},
	.domains = build_domains,
	.n_domains = COUNT(build_domains),
	.command_cpu_ns = S(92.12),
	.attribution = {.is_known = true,
			.has_command = true,
			.command = DYNAMIC(447.93, 15.6, 502.29),
			.command_cpu_ns = S(92.12),
			.command_processes = 4955,
			.processes = build_processes,
			.n_processes = COUNT(build_processes),
			.others = DYNAMIC(3.9, 0.3, 4.375),
			.n_others = 204,
			.others_cpu_ns = S(0.8)},
	.carbon = {.carbon = {.intensity_mg_per_kwh = 56040, .location = "FRA"},
		   .emitted_ug = 7982,
		   .uncertainty_ug = 1600},
	.self = {.cpu_ns = S(0.0121), .max_rss_bytes = 4300000, .ticks = 121},
};

/* ---- Names that want to be something else ---- */

static const struct wtl_group hostile_group = {
	.cgroup = "/=1+1,\"\n\033[2J",
	.unit = "\xff.service",
};

static const struct wtl_consumer hostile_consumers[] = {
	{.state = WTL_CONSUMER_LIVE,
	 .pid = 1,
	 .n_processes = 1,
	 .uid = 7,
	 .name = "a b] (c)",
	 .command = "\033]0;owned\a\033[31mred \xe2\x80\xae\xff\n= \"x\",y",
	 .group = &hostile_group,
	 .cpu_ns = S(1),
	 NO_MEMORY},
	{.state = WTL_CONSUMER_KERNEL,
	 .pid = INT32_MAX,
	 .n_processes = 1,
	 .uid = 0,
	 .name = "電電電電電電電電電電",
	 .cpu_ns = -1,
	 NO_MEMORY},
	{.state = (enum wtl_consumer_state)99,
	 .pid = -1,
	 .uid = UINT32_MAX,
	 .cpu_ns = S(1e6),
	 NO_MEMORY},
};

static const struct wtl_report_process hostile_processes[] = {
	{.consumer = &hostile_consumers[0], .user = "=cmd|'/C calc'!A0\033[2J", .all = FULL(20, 2)},
	{.consumer = &hostile_consumers[1], .user = "電電電電電電電電電電", .all = FULL(5, 1)},
	{.consumer = &hostile_consumers[2],
	 .start_utc_ns = INT64_MIN,
	 .user = "",
	 .all = FULL(1.2, UINT32_MAX)},
};

static const struct wtl_report_domain hostile_domains[] = {
	{
		COUNTED("package-0", CPU, "rapl-perf", 30, 1, 15, 16, "=\033[2J\xff,\"weight\""),
		.ledger = FULL_LEDGER(25, 0, 5, 0),
		.idle = {.is_known = true,
			 .idle_uw = UINT64_MAX,
			 .uncertainty_uw = UINT64_MAX,
			 .t_utc_ns = INT64_MAX},
	},
};

static const struct wtl_report machine_hostile = {
	.window = {.begin_utc_ns = START_UTC_NS,
		   .duration_ns = S(2),
		   .total = ENERGY(30, 1, 15, 16, COUNTER)},
	.domains = hostile_domains,
	.n_domains = COUNT(hostile_domains),
	.command_cpu_ns = -1,
	.attribution = {.is_known = true,
			.processes = hostile_processes,
			.n_processes = COUNT(hostile_processes)},
	.carbon = {.carbon = {.intensity_mg_per_kwh = 56040, .location = "FRA"}},
	.self = {.cpu_ns = S(0.0121), .max_rss_bytes = 4300000, .ticks = 21},
};

/* ---- Nothing is known: no process could be followed ---- */

static const struct wtl_report_domain unknown_domains[] = {
	{
		COUNTED("package-0", CPU, "rapl-powercap", 512.75, 15.4, 42.7, 44.9, NULL),
		.ledger = UNATTRIBUTED(512.75),
	},
};

static const struct wtl_report machine_unknown = {
	.command = make_j8,
	.has_exit = true,
	.window = {.begin_utc_ns = START_UTC_NS,
		   .duration_ns = S(12.003471265),
		   .total = ENERGY(512.75, 15.4, 42.7, 44.9, COUNTER)},
	.domains = unknown_domains,
	.n_domains = COUNT(unknown_domains),
	.command_cpu_ns = S(92.12),
	.attribution = {.reason = "/proc shows no process of others (hidepid=2)",
			.command_cpu_ns = -1},
	.carbon = {.carbon = {.intensity_mg_per_kwh = 56040, .location = "FRA"},
		   .emitted_ug = 7982,
		   .uncertainty_ug = 1600},
	.self = {.cpu_ns = S(0.0121), .max_rss_bytes = 4300000, .ticks = 121},
};

/* ---- Three of those builds ---- */

static const struct wtl_statistics build_statistics[] = {
	{.n = 3, .mean = 512.75, .sd = 0.5, .ci95 = 1.24, .min = 512.2, .max = 513.2},
};

static const struct wtl_doctor_way used_ways[] = {
	{.way = "CPU clocks", .is_used = true, .reason = "nanoseconds of every live process"},
	{.way = "exit records",
	 .reason =
		 "needs CAP_NET_ADMIN; without them, what short-lived processes used is known from "
		 "their parents only",
	 .remedy = WTL_REMEDY_SETCAP},
};

static const struct wtl_doctor doctor_used = {
	.cpu_model = "Intel(R) Xeon(R) Platinum 8480+",
	.n_cpus = 224,
	.n_packages = 2,
	.t_utc_ns = START_UTC_NS + S(12.003471265),
	.domains = used_domains,
	.n_domains = COUNT(used_domains),
	.ways = used_ways,
	.n_ways = COUNT(used_ways),
	.summary = "Packages, DRAM and the GPU are measured.",
};

#endif
