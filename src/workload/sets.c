/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "workload/state.h"

/* A group begins with '/': it is not empty. */
static bool is_below(const char *path, const char *group)
{
	size_t len = strlen(group);

	return strncmp(path, group, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/' || group[len - 1] == '/');
}

uint16_t wtl_workload_group_sets(const struct wtl_workload *workload, const struct wtl_group *group)
{
	uint16_t sets = 0;

	for (unsigned i = 0; group && i < WTL_SETS_MAX; i++)
		if (workload->chosen_groups[i] &&
		    is_below(group->cgroup, workload->chosen_groups[i]))
			sets |= (uint16_t)(1u << i);
	return sets;
}
