/* SPDX-License-Identifier: MIT */
#ifndef WTL_WORKLOAD_GROUPS_H
#define WTL_WORKLOAD_GROUPS_H

#include <stddef.h>

#include "energy/consumer.h"

/*
 * What a process's control groups say about where it belongs: the text of /proc/PID/cgroup, version
 * 1, 2 or both. A pure function; unused bytes of the result are 0. 0 or -EINVAL: no line of it is one.
 */
int wtl_group_parse(const char *text, size_t len, struct wtl_group *ret_group);

/* Each distinct group once, so that pointers can be compared. */
struct wtl_groups;

enum { WTL_GROUPS_MAX = 16384 };

struct wtl_groups *wtl_groups_new(void);	 /* NULL: no memory */
void wtl_groups_free(struct wtl_groups *groups); /* NULL is fine; all groups with it */

/* The group equal to *group, which lives until wtl_groups_sweep() at least; NULL: no memory, or too many. */
const struct wtl_group *wtl_groups_intern(struct wtl_groups *groups, const struct wtl_group *group);

/* Frees those that are not among used[], which is put into another order; the rest stay where they are in memory,
 * and in their order. */
void wtl_groups_sweep(struct wtl_groups *groups, const struct wtl_group *used[], size_t n_used);

size_t wtl_groups_count(const struct wtl_groups *groups);
const struct wtl_group *wtl_groups_at(const struct wtl_groups *groups, size_t index);

#endif
