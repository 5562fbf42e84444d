/* SPDX-License-Identifier: MIT */
#include "sensors/source.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/num.h"
#include "base/text.h"

enum {
	CPUS_MAX = 8192, /* what Linux can be built for on x86-64 and arm64 */
	PACKAGES_MAX = 256,
	CPUINFO_FIRST = 8192,	/* holds that of any one CPU */
	CPUINFO_PER_CPU = 4096, /* new kernels write some 2.5 KB a CPU */
	CPUINFO_MAX = 64 << 20,
};

/* One "key : value" line of a /proc file. */
struct line {
	const char *key;
	size_t key_len;
	const char *value;
	size_t value_len;
};

/* Cuts the next line off *text. Lines without a colon have an empty value. False at the end. */
static bool line_next(const char **text, struct line *ret)
{
	const char *start = *text, *end, *colon;

	if (!*start)
		return false;
	end = strchrnul(start, '\n');
	*text = *end ? end + 1 : end;
	colon = memchr(start, ':', (size_t)(end - start));
	ret->key = start;
	ret->key_len = wtl_text_trimmed(start, (size_t)((colon ? colon : end) - start));
	ret->value = colon ? colon + 1 : end;
	while (ret->value < end && isspace((unsigned char)*ret->value))
		ret->value++;
	ret->value_len = wtl_text_trimmed(ret->value, (size_t)(end - ret->value));
	return true;
}

static bool line_is(const struct line *line, const char *key)
{
	return line->key_len == strlen(key) && memcmp(line->key, key, line->key_len) == 0;
}

static bool line_has_word(const struct line *line, const char *word)
{
	size_t len = strlen(word);
	const char *end = line->value + line->value_len;

	for (const char *at = line->value; at < end;) {
		const char *space = memchr(at, ' ', (size_t)(end - at));
		const char *stop = space ? space : end;

		if ((size_t)(stop - at) == len && memcmp(at, word, len) == 0)
			return true;
		at = stop + 1;
	}
	return false;
}

/* Different numbers seen. */
struct distinct {
	uint64_t seen[PACKAGES_MAX];
	unsigned n;
};

static void distinct_add(struct distinct *distinct, uint64_t number)
{
	for (unsigned i = 0; i < distinct->n; i++)
		if (distinct->seen[i] == number)
			return;
	if (distinct->n < PACKAGES_MAX)
		distinct->seen[distinct->n++] = number;
}

/* The first CPU's lines describe the machine. */
static void cpuinfo_line(const struct line *line, struct wtl_machine *machine)
{
	if (line_is(line, "vendor_id") && !machine->vendor[0])
		wtl_text_clean(machine->vendor, sizeof(machine->vendor), line->value,
			       line->value_len);
	else if (line_is(line, "CPU implementer") && !machine->vendor[0])
		wtl_text_copy(machine->vendor, sizeof(machine->vendor), "ARM");
	else if (line_is(line, "model name") && !machine->cpu_model[0])
		wtl_text_clean(machine->cpu_model, sizeof(machine->cpu_model), line->value,
			       line->value_len);
	else if (line_is(line, "flags") && line_has_word(line, "hypervisor"))
		machine->is_vm = true;
}

/* Only the first CPU's: the kernel takes milliseconds to write those of hundreds of CPUs. */
static void cpuinfo_read(struct wtl_io *io, struct wtl_machine *machine)
{
	char text[CPUINFO_FIRST + 1];
	unsigned n_processors = 0;
	const char *at = text;
	struct line line;
	int file = wtl_io_file_open(io, "/proc/cpuinfo");
	ssize_t len = file < 0 ? file : wtl_io_file_read(io, file, text, sizeof(text) - 1);

	wtl_io_file_close(io, file);
	if (len < 0)
		return;
	text[len] = '\0';
	while (n_processors < 2 && line_next(&at, &line)) {
		n_processors += line_is(&line, "processor");
		if (n_processors < 2)
			cpuinfo_line(&line, machine);
	}
}

/* A file of a size that grows with the machine. Freed by the caller; NULL with *ret_rc set. */
static char *slurp_large(struct wtl_io *io, const char *path, size_t guess, int *ret_rc)
{
	for (size_t size = guess; size <= CPUINFO_MAX; size *= 2) {
		char *text = malloc(size);
		ssize_t len;

		if (!text) {
			*ret_rc = -ENOMEM;
			return NULL;
		}
		len = wtl_io_slurp(io, path, text, size);
		if (len >= 0)
			return text;
		free(text);
		*ret_rc = (int)len;
		if (len != -EFBIG)
			break;
	}
	return NULL;
}

/* Processors and packages by all of /proc/cpuinfo, for roots and kernels that have no topology. */
static int cpuinfo_count(struct wtl_io *io, struct wtl_machine *machine, struct distinct *packages)
{
	size_t guess = (machine->n_cpus + 4) * (size_t)CPUINFO_PER_CPU;
	unsigned n_processors = 0;
	struct line line;
	uint64_t number;
	int rc = 0;
	char *text = slurp_large(io, "/proc/cpuinfo", guess, &rc);
	const char *at = text;

	if (!text)
		return rc == -ENOMEM ? rc : 0;
	while (line_next(&at, &line)) {
		n_processors += line_is(&line, "processor");
		if (line_is(&line, "physical id") &&
		    wtl_num_u64(line.value, line.value_len, &number) == 0)
			distinct_add(packages, number);
	}
	if (machine->n_cpus == 0)
		machine->n_cpus = n_processors;
	free(text);
	return 0;
}

/* Numbers of the online CPUs. How many, or 0 where that cannot be told. */
static unsigned cpus_online(struct wtl_io *io, int cpus[CPUS_MAX])
{
	char text[4096];
	ssize_t len = wtl_io_slurp(io, "/sys/devices/system/cpu/online", text, sizeof(text));
	int n = len < 0 ? 0 : wtl_num_cpu_list(text, (size_t)len, cpus, CPUS_MAX);

	return n > 0 ? (unsigned)n : 0;
}

/* Too large for a stack. */
struct cpus {
	int online[CPUS_MAX], siblings[CPUS_MAX];
	bool marked[CPUS_MAX];
};

/* Marks the CPUs that share a package with this one; false where the kernel does not list them. */
static bool mark_siblings(struct wtl_io *io, int cpu, struct cpus *cpus)
{
	/* The second name is that of kernels before 5.3. */
	static const char *const files[] = {"package_cpus_list", "core_siblings_list"};
	char path[96], text[4096];
	int n = -ENOENT;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && n < 0; i++) {
		ssize_t len;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/%s", cpu,
			 files[i]);
		len = wtl_io_slurp(io, path, text, sizeof(text));
		if (len >= 0)
			n = wtl_num_cpu_list(text, (size_t)len, cpus->siblings, CPUS_MAX);
	}
	for (int i = 0; i < n; i++)
		if (cpus->siblings[i] < CPUS_MAX)
			cpus->marked[cpus->siblings[i]] = true;
	return n > 0;
}

/* One file a package, whatever the number of CPUs. 0 where the kernel does not tell. */
static unsigned count_packages(struct wtl_io *io, struct cpus *cpus, unsigned n)
{
	unsigned packages = 0;

	for (unsigned i = 0; i < n; i++) {
		if (cpus->online[i] >= CPUS_MAX || cpus->marked[cpus->online[i]])
			continue;
		if (!mark_siblings(io, cpus->online[i], cpus))
			return 0;
		packages++;
	}
	return packages;
}

static int count_cpus(struct wtl_io *io, struct wtl_machine *machine, struct cpus *cpus)
{
	struct distinct packages = {.n = 0};
	unsigned n = cpus_online(io, cpus->online), package, die;
	int rc;

	machine->n_cpus = n;
	cpuinfo_read(io, machine);
	machine->n_packages = count_packages(io, cpus, n);
	if (machine->n_packages > 0)
		return 0;
	rc = cpuinfo_count(io, machine, &packages);
	if (rc < 0)
		return rc;
	/* Only x86 has "physical id" there. */
	if (packages.n == 0)
		for (unsigned i = 0; i < n; i++)
			if (wtl_machine_package(io, cpus->online[i], &package, &die))
				distinct_add(&packages, package);
	machine->n_packages = packages.n > 0 ? packages.n : 1;
	if (machine->n_cpus == 0)
		machine->n_cpus = 1;
	return 0;
}

static int cpus_read(struct wtl_io *io, struct wtl_machine *machine)
{
	struct cpus *cpus = calloc(1, sizeof(*cpus));
	int rc = cpus ? count_cpus(io, machine, cpus) : -ENOMEM;

	free(cpus);
	return rc;
}

static bool contains(const char *text, const char *const words[])
{
	for (size_t i = 0; words[i]; i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

/* Fills product; finds the virtual machines that the CPU's flags do not show (as on arm64). */
static void product_read(struct wtl_io *io, struct wtl_machine *machine)
{
	/* As in the DMI of the common hypervisors and clouds. */
	static const char *const virtual[] = {
		"QEMU",
		"KVM",
		"VMware",
		"VirtualBox",
		"innotek GmbH",
		"Xen",
		"HVM domU",
		"Bochs",
		"BHYVE",
		"Parallels",
		"OpenStack",
		"KubeVirt",
		"Google Compute Engine",
		"Apple Virtualization",
		"Amazon EC2",
		"Microsoft Corporation Virtual Machine",
		NULL,
	};
	char vendor[48] = "", product[48] = "";

	wtl_io_read_line(io, "/sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor));
	wtl_io_read_line(io, "/sys/class/dmi/id/product_name", product, sizeof(product));
	if (!vendor[0] && !product[0]) {
		wtl_io_read_line(io, "/sys/firmware/devicetree/base/model", machine->product,
				 sizeof(machine->product));
		return;
	}
	/* "NVIDIA" and "NVIDIA Jetson …" make one name. */
	if (wtl_text_starts(product, vendor))
		vendor[0] = '\0';
	snprintf(machine->product, sizeof(machine->product), "%s%s%s", vendor,
		 vendor[0] && product[0] ? " " : "", product);
	/* EC2's bare-metal instances name themselves so. */
	if (contains(machine->product, virtual) && !strstr(machine->product, ".metal"))
		machine->is_vm = true;
}

/*
 * Are processes numbered apart from the machine's? The machine's own namespace has a fixed number
 * (PROC_PID_INIT_INO in include/linux/proc_ns.h). WSL runs every distribution in one of its own.
 */
static bool has_own_pids(struct wtl_io *io)
{
	static const char kind[] = "pid:[", machines[] = "4026531836]";
	char target[64], release[64] = "";

	if (wtl_io_link_read(io, "/proc/self/ns/pid", target, sizeof(target)) < 0 ||
	    !wtl_text_starts(target, kind) || !isdigit((unsigned char)target[strlen(kind)]) ||
	    strcmp(target + strlen(kind), machines) == 0)
		return false;
	wtl_io_read_line(io, "/proc/sys/kernel/osrelease", release, sizeof(release));
	return strstr(release, "icrosoft") == NULL;
}

static bool is_container(struct wtl_io *io)
{
	static const char *const makers[] = {
		"docker", "kubepods", "containerd", "libpod", "lxc",
		"crio",	  "podman",   "garden",	    NULL,
	};
	char cgroup[4096];

	if (wtl_io_exists(io, "/.dockerenv") || wtl_io_exists(io, "/run/.containerenv"))
		return true;
	if (wtl_io_slurp(io, "/proc/1/cgroup", cgroup, sizeof(cgroup)) > 0 &&
	    contains(cgroup, makers))
		return true;
	return has_own_pids(io);
}

static uint64_t memory_bytes(struct wtl_io *io)
{
	char text[8192];
	const char *at = text;
	struct line line;
	uint64_t kb;

	if (wtl_io_slurp(io, "/proc/meminfo", text, sizeof(text)) < 0)
		return 0;
	while (line_next(&at, &line)) {
		if (!line_is(&line, "MemTotal"))
			continue;
		if (line.value_len < 3 || memcmp(line.value + line.value_len - 3, " kB", 3) != 0 ||
		    wtl_num_u64(line.value, line.value_len - 3, &kb) < 0 || kb > UINT64_MAX / 1024)
			return 0;
		return kb * 1024;
	}
	return 0;
}

static uint64_t capabilities(struct wtl_io *io)
{
	char text[8192];
	const char *at = text;
	struct line line;
	uint64_t set;

	if (wtl_io_slurp(io, "/proc/self/status", text, sizeof(text)) < 0)
		return 0;
	while (line_next(&at, &line))
		if (line_is(&line, "CapEff"))
			return wtl_num_hex(line.value, line.value_len, &set) == 0 ? set : 0;
	return 0;
}

static int perf_paranoid(struct wtl_io *io)
{
	char text[64];
	ssize_t len = wtl_io_slurp(io, "/proc/sys/kernel/perf_event_paranoid", text, sizeof(text));
	int64_t level;

	if (len < 0 || wtl_num_i64(text, (size_t)len, &level) < 0 || level <= INT_MIN ||
	    level > INT_MAX)
		return INT_MIN;
	return (int)level;
}

uint64_t wtl_machine_hash(struct wtl_io *io, const char *path)
{
	char text[64] = "";

	if (wtl_io_read_line(io, path, text, sizeof(text)) < 0 || !text[0])
		return 0;
	return wtl_hash_more(WTL_HASH_START, text, strlen(text));
}

int wtl_machine_read(struct wtl_io *io, struct wtl_machine *ret_machine)
{
	struct wtl_machine machine = {.perf_paranoid = perf_paranoid(io)};
	int rc = cpus_read(io, &machine);

	if (rc < 0)
		return rc;
	product_read(io, &machine);
	machine.id = wtl_machine_hash(io, "/etc/machine-id");
	machine.is_container = is_container(io);
	wtl_io_read_line(io, "/proc/sys/kernel/osrelease", machine.kernel, sizeof(machine.kernel));
	machine.memory_bytes = memory_bytes(io);
	machine.capabilities = capabilities(io);
	*ret_machine = machine;
	return 0;
}

bool wtl_machine_package(struct wtl_io *io, int cpu, unsigned *ret_package, unsigned *ret_die)
{
	char path[96];
	uint64_t package, die;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/physical_package_id",
		 cpu);
	/* -1 where the firmware does not tell. */
	if (wtl_io_read_u64(io, path, &package) < 0 || package > UINT_MAX)
		return false;
	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/die_id", cpu);
	/* Kernels before 5.2, and arm64, have no dies. */
	if (wtl_io_read_u64(io, path, &die) < 0 || die > UINT_MAX)
		die = 0;
	*ret_package = (unsigned)package;
	*ret_die = (unsigned)die;
	return true;
}
