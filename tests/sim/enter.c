/* SPDX-License-Identifier: MIT */
/* Putting the simulated files in the place of the real ones, for one process and its children. */
#include "stage.h"

#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"

static int bind(const char *from, const char *to)
{
	return mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0 ? sim_complain(from) : 0;
}

static bool is_listed(const char *name, const char *const names[])
{
	for (size_t i = 0; names[i]; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* Shows all folders of /sys/PATH but some in the new tree. */
static int mirror(const char *tree, const char *path, const char *const but[])
{
	char from[SIM_PATH_SIZE], to[SIM_PATH_SIZE];
	struct dirent *entry;
	int rc = 0;
	DIR *folder;

	sim_path(from, "/sys%s", path);
	folder = opendir(from);
	if (!folder)
		return errno == ENOENT ? 0 : sim_complain(from);
	while (rc == 0 && (entry = readdir(folder))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    is_listed(entry->d_name, but))
			continue;
		sim_path(from, "/sys%s/%s", path, entry->d_name);
		sim_path(to, "%s%s/%s", tree, path, entry->d_name);
		if (mkdir(to, 0755) < 0 && errno != EEXIST)
			rc = sim_complain(to);
		else
			rc = bind(from, to);
	}
	closedir(folder);
	return rc;
}

/* /sys/class/powercap, where links lead to the zones. */
static int link_zones(const char *tree, const struct sim_scenario *scenario)
{
	const char *const up = "../../" SIM_POWERCAP "/intel-rapl";
	char path[SIM_PATH_SIZE], target[SIM_PATH_SIZE];

	sim_path(path, "%s/class/powercap/intel-rapl", tree);
	if (sim_make_folders(path) < 0 || symlink(up, path) < 0)
		return sim_complain(path);
	for (size_t i = 0; i < scenario->n_sockets; i++) {
		sim_path(path, "%s/class/powercap/intel-rapl:%zu", tree, i);
		sim_path(target, "%s/intel-rapl:%zu", up, i);
		if (symlink(target, path) < 0)
			return sim_complain(path);
		if (!scenario->sockets[i].has_dram)
			continue;
		sim_path(path, "%s/class/powercap/intel-rapl:%zu:0", tree, i);
		sim_path(target, "%s/intel-rapl:%zu/intel-rapl:%zu:0", up, i, i);
		if (symlink(target, path) < 0)
			return sim_complain(path);
	}
	return 0;
}

/* Which CPU is on which socket. */
static int bind_topology(const struct sim_stage *stage, const char *tree)
{
	long n_cpus = sysconf(_SC_NPROCESSORS_CONF);
	char from[SIM_PATH_SIZE], to[SIM_PATH_SIZE];

	for (long cpu = 0; cpu < n_cpus; cpu++) {
		sim_path(from, "%s/topology/cpu%ld", stage->dir, cpu);
		sim_path(to, "%s/devices/system/cpu/cpu%ld/topology/physical_package_id", tree,
			 cpu);
		if (access(to, F_OK) == 0 && bind(from, to) < 0)
			return -1;
	}
	return 0;
}

/* A new /sys: the real one, but for powercap, the perf PMU of the same counters, and the topology. */
static int build_tree(const struct sim_stage *stage, const char *tree)
{
	const char *const top[] = {"class", "devices", NULL};
	const char *const class[] = {"powercap", NULL};
	const char *const devices[] = {"virtual", "power", NULL};
	char from[SIM_PATH_SIZE], to[SIM_PATH_SIZE];

	sim_path(to, "%s/devices/virtual/powercap/", tree);
	if (sim_make_folders(to) < 0)
		return -1;
	sim_path(from, "%s/sys/" SIM_POWERCAP, stage->dir);
	if (bind(from, to) < 0 || link_zones(tree, stage->scenario) < 0)
		return -1;
	if (mirror(tree, "", top) < 0 || mirror(tree, "/class", class) < 0 ||
	    mirror(tree, "/devices", devices) < 0 || mirror(tree, "/devices/virtual", class) < 0)
		return -1;
	return bind_topology(stage, tree);
}

/* Room of our own for mounts: as root, or as anybody who may make a user namespace. */
static int unshare_mounts(void)
{
	unsigned uid = getuid(), gid = getgid();
	char map[64];
	FILE *file;

	if (unshare(CLONE_NEWNS) == 0)
		/* In a bare chroot / is no mount. */
		return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
			       ? sim_complain("a mount namespace of its own for /")
			       : 0;
	if (errno != EPERM || unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return sim_complain("a mount namespace");
	const struct {
		const char *path;
		unsigned id;
	} maps[] = {{"/proc/self/setgroups", 0},
		    {"/proc/self/uid_map", uid},
		    {"/proc/self/gid_map", gid}};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		snprintf(map, sizeof(map), "%u %u 1", maps[i].id, maps[i].id);
		file = fopen(maps[i].path, "we");
		if (!file || fputs(i == 0 ? "deny" : map, file) < 0 || fclose(file) != 0)
			return sim_complain(maps[i].path);
	}
	return 0;
}

/* Puts a path first in a list of the environment. */
static int put_first(const char *list, const char *path)
{
	const char *before = getenv(list);
	char text[2 * SIM_PATH_SIZE];

	snprintf(text, sizeof(text), "%s%s%s", path, before && *before ? ":" : "",
		 before ? before : "");
	return setenv(list, text, 1);
}

static int enter_pmu(const struct sim_stage *stage, const char *program_dir)
{
	char text[SIM_PATH_SIZE];

	sim_path(text, "%s/sim-pmu.so", program_dir);
	if (put_first("LD_PRELOAD", text) < 0)
		return -1;
	return setenv("SIM_BOARD", stage->dir, 1);
}

static int enter_gpu(const struct sim_stage *stage, const char *program_dir)
{
	char text[SIM_PATH_SIZE];

	sim_path(text, "%s/../fake", program_dir);
	if (put_first("LD_LIBRARY_PATH", text) < 0)
		return -1;
	snprintf(text, sizeof(text), "%s/gpu.nvml", stage->dir);
	if (setenv("WATTLE_FAKE_NVML", text, 1) < 0)
		return -1;
	snprintf(text, sizeof(text), "%s/gpu.clock", stage->dir);
	return setenv("WATTLE_FAKE_NVML_CLOCK", text, 1);
}

int sim_stage_enter(const struct sim_stage *stage, const char *program_dir)
{
	char tree[SIM_PATH_SIZE];

	sim_path(tree, "%s/tree", stage->dir);
	if (unshare_mounts() < 0)
		return -1;
	if (mkdir(tree, 0755) < 0 && errno != EEXIST)
		return sim_complain(tree);
	if (mount("sim", tree, "tmpfs", 0, "mode=755") < 0)
		return sim_complain(tree);
	if (build_tree(stage, tree) < 0 || bind(tree, "/sys") < 0)
		return -1;
	if (stage->scenario->pmu_mhz > 0 && enter_pmu(stage, program_dir) < 0)
		return -1;
	if (stage->scenario->has_gpu)
		return enter_gpu(stage, program_dir);
	return 0;
}
