/* SPDX-License-Identifier: MIT */
/* What processes and the kernel say of them: /proc's files, control groups, exit records. The first
 * byte says which. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/procfs.h"
#include "workload/groups.h"
#include "workload/taskstats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds)
{
	if (!holds)
		abort();
}

/* Ended within its place, and fit for a terminal. */
static void check_text(const char *text, size_t size)
{
	check(strnlen(text, size) < size);
	for (; *text; text++)
		check((unsigned char)*text >= 0x20 && *text != 0x7f);
}

static void try_stat(const char *text, size_t len)
{
	struct wtl_proc_stat stat;

	if (wtl_proc_parse_stat(text, len, &stat) < 0)
		return;
	check(stat.pid >= 0 && stat.parent >= 0);
	check_text(stat.name, sizeof(stat.name));
}

static void try_machine(const char *text, size_t len)
{
	struct wtl_proc_machine machine;
	int pid;

	/* A part is never taken for the whole: what is cut has no answer, or the same one. */
	if (wtl_proc_parse_machine(text, len, &machine) == 0)
		check(machine.n_cpus > 0);
	if (wtl_proc_parse_newest(text, len, &pid) == 0)
		check(pid > 0);
}

static void try_others(const char *text, size_t len)
{
	struct wtl_proc_status status;
	struct wtl_proc_memory memory;
	char command[64];

	if (wtl_proc_parse_status(text, len, &status) == 0)
		check(status.tgid >= 0);
	wtl_proc_parse_rollup(text, len, &memory);
	wtl_proc_clean_command(command, sizeof(command), text, len);
	check_text(command, sizeof(command));
	wtl_proc_is_mounted(text, len, "/proc/stat");
	wtl_proc_hides(text, len);
}

static void try_group(const char *text, size_t len)
{
	struct wtl_group group, again;

	memset(&group, 0x55, sizeof(group));
	memset(&again, 0xaa, sizeof(again));
	if (wtl_group_parse(text, len, &group) < 0)
		return;
	check(wtl_group_parse(text, len, &again) == 0);
	check(memcmp(&group, &again, sizeof(group)) == 0);
	check(group.cgroup[0] == '/');
	check_text(group.cgroup, sizeof(group.cgroup));
	check_text(group.unit, sizeof(group.unit));
	check_text(group.container, sizeof(group.container));
	check_text(group.pod, sizeof(group.pod));
	check_text(group.job, sizeof(group.job));
}

static void try_exits(const char *datagram, size_t len)
{
	struct wtl_taskstats reader;
	struct wtl_exit exit;

	wtl_taskstats_start(&reader, datagram, len);
	while (wtl_taskstats_next(&reader, &exit)) {
		check(exit.pid > 0 && exit.task > 0 && exit.parent >= 0);
		check(exit.cpu_ns >= 0 && exit.elapsed_ns >= 0);
		check(!exit.is_group || !exit.is_thread);
		check_text(exit.name, sizeof(exit.name));
	}
	check(reader.left == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const tries[])(const char *text, size_t len) = {
		try_stat, try_machine, try_others, try_group, try_exits,
	};
	size_t n = sizeof(tries) / sizeof(tries[0]);

	if (size > 0)
		tries[data[0] % n]((const char *)data + 1, size - 1);
	return 0;
}
