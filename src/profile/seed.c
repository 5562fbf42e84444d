/* SPDX-License-Identifier: MIT */
#include "profile/seed.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/num.h"

enum { LINE_SIZE = 4096 + 128 };

/* A line of maps: "start-end perms offset major:minor inode   path". false: no code. */
static bool read_line(const char *line, struct wtl_ring_event *event, char path[LINE_SIZE])
{
	unsigned major, minor;
	uint64_t end;
	char access[8];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &event->map.start, &end, access, &event->map.offset, &major, &minor,
		   &event->map.inode, &at) < 7 ||
	    !strchr(access, 'x') || end <= event->map.start)
		return false;
	event->map.length = end - event->map.start;
	event->map.device = (uint64_t)major << 32 | minor;
	snprintf(path, LINE_SIZE, "%s", at > 0 && line[at] ? line + at : "//anon");
	path[strcspn(path, "\n")] = '\0';
	event->map.path = path;
	return true;
}

static int seed_maps(struct wtl_trace *trace, int pid)
{
	char name[64], line[LINE_SIZE], path[LINE_SIZE];
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	file = fopen(name, "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		struct wtl_ring_event event = {.kind = WTL_RING_MAP, .pid = pid, .tid = pid};

		if (read_line(line, &event, path))
			wtl_trace_take(trace, &event);
	}
	fclose(file);
	return 0;
}

static void seed_thread(struct wtl_trace *trace, int pid, int tid)
{
	char name[64], comm[32] = "";
	struct wtl_ring_event event = {.kind = WTL_RING_NAME, .pid = pid, .tid = tid};
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/comm", pid, tid);
	file = fopen(name, "re");
	if (!file)
		return;
	if (fgets(comm, sizeof(comm), file))
		comm[strcspn(comm, "\n")] = '\0';
	fclose(file);
	event.name.name = comm;
	wtl_trace_take(trace, &event);
}

int wtl_trace_seed(struct wtl_trace *trace, int pid)
{
	const struct dirent *entry;
	char name[64];
	DIR *threads;
	int rc = seed_maps(trace, pid);

	snprintf(name, sizeof(name), "/proc/%d/task", pid);
	threads = rc < 0 ? NULL : opendir(name);
	if (!threads)
		return rc < 0 ? rc : -errno;
	while ((entry = readdir(threads))) {
		uint64_t tid;

		if (wtl_num_u64(entry->d_name, strlen(entry->d_name), &tid) == 0)
			seed_thread(trace, pid, (int)tid);
	}
	closedir(threads);
	return 0;
}
