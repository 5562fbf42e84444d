/* SPDX-License-Identifier: MIT */
#include "sensors/source.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/pci.h"
#include "source_bench.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MB	     (UINT64_C(1) << 20)

static void known_machines(void **state)
{
	static const struct {
		const char *root;
		struct wtl_machine machine;
	} cases[] = {
		{"xeon-2s-dram",
		 {.cpu_model = "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz",
		  .vendor = "GenuineIntel",
		  .product = "Dell Inc. PowerEdge R650",
		  .kernel = "6.1.0-28-amd64",
		  .n_cpus = 128,
		  .n_packages = 2,
		  .memory_bytes = 262144 * MB,
		  .perf_paranoid = 2,
		  .capabilities = 0x1ffffffffff}},
		{"amd-epyc",
		 {.cpu_model = "AMD EPYC 7302 16-Core Processor",
		  .vendor = "AuthenticAMD",
		  .product = "GIGABYTE R282-Z90-00",
		  .kernel = "6.1.0-28-amd64",
		  .n_cpus = 64,
		  .n_packages = 2,
		  .memory_bytes = 262144 * MB,
		  .perf_paranoid = 2,
		  .capabilities = 0x1ffffffffff}},
		{"client-psys",
		 {.cpu_model = "Intel(R) Core(TM) i5-8250U CPU @ 1.60GHz",
		  .vendor = "GenuineIntel",
		  .product = "LENOVO 20L7CTO1WW",
		  .kernel = "5.19.0-41-generic",
		  .n_cpus = 8,
		  .n_packages = 1,
		  .memory_bytes = 16384 * MB,
		  .perf_paranoid = -1}},
		/* arm64 names no model and no packages. */
		{"arm-server",
		 {.vendor = "ARM",
		  .product = "GIGABYTE R272-P30-JG",
		  .kernel = "6.1.0-28-arm64",
		  .n_cpus = 32,
		  .n_packages = 1,
		  .memory_bytes = 131072 * MB,
		  .perf_paranoid = 2,
		  .capabilities = 0x1ffffffffff}},
		/* The maker's name is not said twice. */
		{"jetson",
		 {.vendor = "ARM",
		  .product = "NVIDIA Jetson Orin Nano Developer Kit",
		  .kernel = "5.15.148-tegra",
		  .n_cpus = 6,
		  .n_packages = 1,
		  .memory_bytes = 7620 * MB,
		  .perf_paranoid = 2}},
		{"vm-nothing",
		 {.is_vm = true,
		  .cpu_model = "Intel Xeon Processor (Icelake)",
		  .vendor = "GenuineIntel",
		  .product = "QEMU Standard PC (Q35 + ICH9, 2009)",
		  .kernel = "6.1.0-28-cloud-amd64",
		  .n_cpus = 4,
		  .n_packages = 4,
		  .memory_bytes = 8192 * MB,
		  .perf_paranoid = 2,
		  .capabilities = 0x1ffffffffff}},
		{"container-masked",
		 {.is_container = true,
		  .cpu_model = "Intel(R) Core(TM) i7-6700 CPU @ 3.40GHz",
		  .vendor = "GenuineIntel",
		  .product = "Dell Inc. OptiPlex 7040",
		  .kernel = "6.1.0-28-amd64",
		  .n_cpus = 8,
		  .n_packages = 1,
		  .memory_bytes = 32768 * MB,
		  .perf_paranoid = 3,
		  .capabilities = 0xa80425fb}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct wtl_machine *want = &cases[i].machine;
		struct wtl_machine machine;
		struct bench bench;

		bench_root(&bench, cases[i].root);
		assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
		assert_string_equal(machine.cpu_model, want->cpu_model);
		assert_string_equal(machine.vendor, want->vendor);
		assert_string_equal(machine.product, want->product);
		assert_string_equal(machine.kernel, want->kernel);
		assert_int_equal(machine.n_cpus, want->n_cpus);
		assert_int_equal(machine.n_packages, want->n_packages);
		assert_int_equal(machine.memory_bytes, want->memory_bytes);
		assert_int_equal(machine.perf_paranoid, want->perf_paranoid);
		assert_int_equal(machine.capabilities, want->capabilities);
		assert_int_equal(machine.is_vm, want->is_vm);
		assert_int_equal(machine.is_container, want->is_container);
		bench_done(&bench);
	}
}

static void nothing_is_known(void **state)
{
	struct wtl_machine machine;
	struct bench bench;

	(void)state;
	bench_copy(&bench, "");
	assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
	assert_string_equal(machine.cpu_model, "");
	assert_string_equal(machine.vendor, "");
	assert_string_equal(machine.product, "");
	assert_string_equal(machine.kernel, "");
	assert_int_equal(machine.n_cpus, 1);
	assert_int_equal(machine.n_packages, 1);
	assert_int_equal(machine.memory_bytes, 0);
	assert_int_equal(machine.perf_paranoid, INT_MIN);
	assert_int_equal(machine.capabilities, 0);
	assert_false(machine.is_vm);
	assert_false(machine.is_container);
	bench_done(&bench);
}

static void rubbish_is_not_known(void **state)
{
	struct wtl_machine machine;
	struct bench bench;

	(void)state;
	bench_copy(&bench, "rubbish");
	bench_write(&bench, "/proc/sys/kernel/perf_event_paranoid", "99999999999\n");
	bench_write(&bench, "/proc/self/status", "CapEff:\tzz\n");
	bench_write(&bench, "/sys/devices/system/cpu/online", "0-,x\n");
	assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
	/* The terminal is safe. */
	assert_string_equal(machine.product, "?[31mred?[0m");
	assert_int_equal(machine.memory_bytes, 0);
	assert_int_equal(machine.perf_paranoid, INT_MIN);
	assert_int_equal(machine.capabilities, 0);
	/* From /proc/cpuinfo. */
	assert_int_equal(machine.n_cpus, 2);
	bench_done(&bench);
}

static void memory_has_a_unit(void **state)
{
	static const char *const wrong[] = {
		"MemTotal: 12\n",   "MemTotal:\n",
		"MemTotal: kB\n",   "MemTotal: 18446744073709551615 kB\n",
		"MemFree: 12 kB\n", "MemTotal: 12 MB\n",
	};
	struct wtl_machine machine;
	struct bench bench;

	(void)state;
	bench_copy(&bench, "");
	for (size_t i = 0; i < COUNT(wrong); i++) {
		bench_write(&bench, "/proc/meminfo", wrong[i]);
		assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
		assert_int_equal(machine.memory_bytes, 0);
	}
	bench_write(&bench, "/proc/meminfo", "MemFree: 1 kB\nMemTotal:       8 kB");
	assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
	assert_int_equal(machine.memory_bytes, 8192);
	bench_done(&bench);
}

static void virtual_machines_by_dmi(void **state)
{
	static const struct {
		const char *vendor, *product;
		bool is_vm;
	} cases[] = {
		{"QEMU", "KVM Virtual Machine", true},
		{"Microsoft Corporation", "Virtual Machine", true},
		{"Microsoft Corporation", "Surface Laptop 5", false},
		{"Amazon EC2", "m7g.large", true},
		{"Amazon EC2", "m7g.metal", false},
		{"Google", "Google Compute Engine", true},
		{"Google", "Rammus", false},
		{"Dell Inc.", "PowerEdge R650", false},
		{"VMware, Inc.", "VMware7,1", true},
	};
	struct wtl_machine machine;
	struct bench bench;

	(void)state;
	bench_copy(&bench, "");
	for (size_t i = 0; i < COUNT(cases); i++) {
		bench_write(&bench, "/sys/class/dmi/id/sys_vendor", cases[i].vendor);
		bench_write(&bench, "/sys/class/dmi/id/product_name", cases[i].product);
		assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
		if (machine.is_vm != cases[i].is_vm)
			fail_msg("%s %s", cases[i].vendor, cases[i].product);
	}
	/* The flag must be a word of its own, and of the flags. */
	bench_write(&bench, "/proc/cpuinfo",
		    "processor\t: 0\nmodel name\t: hypervisor\nflags\t: fpu nohypervisor\n");
	assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
	assert_true(machine.is_vm);
	bench_remove(&bench, "/sys/class/dmi");
	assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
	assert_false(machine.is_vm);
	bench_write(&bench, "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor nx\n");
	assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
	assert_true(machine.is_vm);
	bench_done(&bench);
}

/* Pods and containerd leave no file, and the cgroup namespace hides the group's name. */
static void containers_by_pid_namespace(void **state)
{
	static const struct {
		const char *target, *kernel;
		bool is_container;
	} cases[] = {
		{"pid:[4026531836]", "6.1.0-18-amd64\n", false}, /* the machine's own */
		{"pid:[4026532750]", "6.1.0-18-amd64\n", true},
		/* WSL gives each distribution a namespace, and is no container to its user. */
		{"pid:[4026532301]", "5.15.153.1-microsoft-standard-WSL2\n", false},
		{"pid:[x]", "6.1.0\n", false},
		{"", "6.1.0\n", false},
	};
	struct wtl_machine machine;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench bench;

		bench_copy(&bench, "");
		bench_write(&bench, "/proc/1/cgroup", "0::/\n");
		bench_write(&bench, "/proc/sys/kernel/osrelease", cases[i].kernel);
		if (cases[i].target[0])
			bench_link(&bench, "/proc/self/ns/pid", cases[i].target);
		assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
		assert_int_equal(machine.is_container, cases[i].is_container);
		bench_done(&bench);
	}
}

static void containers(void **state)
{
	static const struct {
		const char *path, *content;
		bool is_container;
	} cases[] = {
		{"/.dockerenv", "", true},
		{"/run/.containerenv", "", true},
		{"/proc/1/cgroup", "0::/init.scope\n", false},
		{"/proc/1/cgroup", "0::/system.slice/docker-0123.scope\n", true},
		{"/proc/1/cgroup", "11:cpu:/kubepods/burstable/pod1/2\n0::/\n", true},
		{"/proc/1/cgroup", "0::/\n", false},
	};
	struct wtl_machine machine;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct bench bench;

		bench_copy(&bench, "");
		bench_write(&bench, cases[i].path, cases[i].content);
		assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
		assert_int_equal(machine.is_container, cases[i].is_container);
		bench_done(&bench);
	}
}

/* More than the first guess of its size. */
static void cpuinfo_may_be_large(void **state)
{
	enum { FLAGS = 6000, CPUS = 30 };
	char *text = malloc((FLAGS + 200) * CPUS + 1), *at = text;
	struct wtl_machine machine;
	struct bench bench;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < CPUS; i++) {
		at += sprintf(
			at,
			"processor\t: %d\nvendor_id\t: GenuineIntel\nphysical id\t: %d\nflags\t: ",
			i, i / 15);
		memset(at, 'f', FLAGS);
		at += FLAGS;
		at += sprintf(at, " hypervisor\n\n");
	}
	bench_copy(&bench, "");
	bench_write(&bench, "/proc/cpuinfo", text);
	assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
	assert_string_equal(machine.vendor, "GenuineIntel");
	assert_true(machine.is_vm);
	assert_int_equal(machine.n_cpus, CPUS);
	assert_int_equal(machine.n_packages, 2);
	bench_done(&bench);
	free(text);
}

static void packages_from_topology(void **state)
{
	struct wtl_machine machine;
	struct bench bench;

	(void)state;
	bench_copy(&bench, "");
	bench_write(&bench, "/sys/devices/system/cpu/online", "0-2,4\n");
	bench_write(&bench, "/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
	bench_write(&bench, "/sys/devices/system/cpu/cpu1/topology/physical_package_id", "-1\n");
	bench_write(&bench, "/sys/devices/system/cpu/cpu2/topology/physical_package_id", "36\n");
	bench_write(&bench, "/sys/devices/system/cpu/cpu4/topology/physical_package_id", "0\n");
	assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
	assert_int_equal(machine.n_cpus, 4);
	assert_int_equal(machine.n_packages, 2);
	bench_done(&bench);
}

/* With the kernel's lists, one file a package is read, and only the first CPU of cpuinfo counts. */
static void packages_by_their_lists(void **state)
{
	static const char *const files[] = {"package_cpus_list", "core_siblings_list"};
	struct wtl_machine machine;

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		struct bench bench;
		char path[128];

		bench_copy(&bench, "");
		bench_write(&bench, "/proc/cpuinfo",
			    "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: First\n"
			    "physical id\t: 0\n\n"
			    "processor\t: 1\nflags\t: hypervisor\nphysical id\t: 7\n\n"
			    "processor\t: 2\nphysical id\t: 8\n");
		bench_write(&bench, "/sys/devices/system/cpu/online", "0-5\n");
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/topology/%s", files[i]);
		bench_write(&bench, path, "0-1,4\n");
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu2/topology/%s", files[i]);
		bench_write(&bench, path, "2-3,5\n");
		assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
		assert_int_equal(machine.n_cpus, 6);
		assert_int_equal(machine.n_packages, 2);
		assert_string_equal(machine.cpu_model, "First");
		assert_false(machine.is_vm);
		/* A list that is rubbish: counted by cpuinfo after all. */
		bench_write(&bench, path, "x\n");
		assert_int_equal(wtl_machine_read(&bench.io, &machine), 0);
		assert_int_equal(machine.n_packages, 3);
		bench_done(&bench);
	}
}

static void package_of_a_cpu(void **state)
{
	unsigned package = 99, die = 99;
	struct bench bench;

	(void)state;
	bench_copy(&bench, "xeon-multidie");
	assert_true(wtl_machine_package(&bench.io, 72, &package, &die));
	assert_int_equal(package, 1);
	assert_int_equal(die, 1);
	assert_true(wtl_machine_package(&bench.io, 24, &package, &die));
	assert_int_equal(package, 0);
	assert_int_equal(die, 1);
	/* Old kernels have no dies. */
	bench_remove(&bench, "/sys/devices/system/cpu/cpu24/topology/die_id");
	assert_true(wtl_machine_package(&bench.io, 24, &package, &die));
	assert_int_equal(die, 0);
	package = die = 99;
	assert_false(wtl_machine_package(&bench.io, 4000, &package, &die));
	bench_write(&bench, "/sys/devices/system/cpu/cpu24/topology/physical_package_id", "-1\n");
	assert_false(wtl_machine_package(&bench.io, 24, &package, &die));
	assert_int_equal(package, 99);
	assert_int_equal(die, 99);
	bench_done(&bench);
}

static void suspended_devices(void **state)
{
	static const struct {
		const char *status;
		bool suspended;
	} cases[] = {
		{"suspended\n", true},	 {"suspending\n", true}, {"active\n", false},
		{"resuming\n", false},	 {"error\n", false},	 {"unsupported\n", false},
		{"!errno EIO\n", false},
	};
	char path[300];
	struct bench bench;

	(void)state;
	bench_copy(&bench, "");
	for (size_t i = 0; i < COUNT(cases); i++) {
		bench_write(&bench, "/sys/devices/gpu/power/runtime_status", cases[i].status);
		assert_int_equal(wtl_pci_is_suspended(&bench.io, "/sys/devices/gpu"),
				 cases[i].suspended);
	}
	assert_false(wtl_pci_is_suspended(&bench.io, "/sys/devices/none"));
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	assert_false(wtl_pci_is_suspended(&bench.io, path));
	bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_machines),
		cmocka_unit_test(nothing_is_known),
		cmocka_unit_test(rubbish_is_not_known),
		cmocka_unit_test(memory_has_a_unit),
		cmocka_unit_test(virtual_machines_by_dmi),
		cmocka_unit_test(containers),
		cmocka_unit_test(containers_by_pid_namespace),
		cmocka_unit_test(cpuinfo_may_be_large),
		cmocka_unit_test(packages_from_topology),
		cmocka_unit_test(packages_by_their_lists),
		cmocka_unit_test(package_of_a_cpu),
		cmocka_unit_test(suspended_devices),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
