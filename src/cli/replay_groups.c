/* SPDX-License-Identifier: MIT */
/* Consumers put together by what they have in common. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/replay.h"
#include "meter/consumers.h"

/* A consumer with energy, on its way into a group. */
struct member {
	const char *key;
	uint32_t slot;
};

struct members {
	struct member *list;
	size_t n;
};

static const char kernel_threads[] = "kernel threads";

/* Where its control group says that it belongs. */
static const char *place_of(enum wtl_by by, const struct wtl_group *group)
{
	switch (by) {
	case WTL_BY_CONTAINER:
		return group->container;
	case WTL_BY_POD:
		return group->pod;
	case WTL_BY_UNIT:
		return group->unit;
	case WTL_BY_JOB:
		return group->job;
	case WTL_BY_CGROUP:
		return group->cgroup;
	case WTL_BY_PROCESS:
	case WTL_BY_USER:
	case WTL_BY_COMMAND:
	case WTL_BY_WINDOW:
	case WTL_BYS:
		break;
	}
	return "";
}

/* "" for one that belongs to none. */
static const char *key_of(struct wtl_player *player, enum wtl_by by,
			  const struct wtl_consumer *consumer)
{
	if (by == WTL_BY_USER)
		return consumer->uid != UINT32_MAX ? wtl_player_user(player, consumer->uid) : "";
	if (by == WTL_BY_COMMAND)
		return consumer->state == WTL_CONSUMER_KERNEL ? kernel_threads : consumer->name;
	return consumer->group ? place_of(by, consumer->group) : "";
}

static int collect(struct wtl_player *player, enum wtl_by by, struct members *members)
{
	const struct wtl_consumers *consumers = wtl_player_consumers(player);
	size_t slots = wtl_consumers_slots(consumers);

	members->list = calloc(slots + 1, sizeof(*members->list));
	if (!members->list)
		return -ENOMEM;
	for (size_t slot = 0; slot < slots; slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);
		struct wtl_consumer_energy energy;

		if (!consumer)
			continue;
		wtl_consumers_energy(consumers, slot, WTL_PART_ALL, &energy);
		if (energy.full_uj > 0)
			members->list[members->n++] = (struct member){
				.key = key_of(player, by, consumer), .slot = (uint32_t)slot};
	}
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	return order ? order : x->slot < y->slot ? -1 : x->slot > y->slot;
}

static int by_energy(const void *a, const void *b)
{
	const struct wtl_recording_group *x = a, *y = b;

	if (x->all.full_uj != y->all.full_uj)
		return x->all.full_uj < y->all.full_uj ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* The first one says whether there is a dynamic part; each that has none takes it away. */
static void add_share(struct wtl_report_share *sum, const struct wtl_report_share *more,
		      bool is_first)
{
	sum->has_dynamic = (is_first || sum->has_dynamic) && more->has_dynamic;
	sum->full_uj += more->full_uj;
	sum->dynamic_uj += more->dynamic_uj;
	sum->uncertainty_uj += more->uncertainty_uj;
}

static struct wtl_report_share share_of(const struct wtl_consumers *consumers, uint32_t slot,
					enum wtl_part part)
{
	struct wtl_consumer_energy energy;

	wtl_consumers_energy(consumers, slot, part, &energy);
	return (struct wtl_report_share){
		.has_dynamic = energy.has_dynamic,
		.full_uj = energy.full_uj,
		.dynamic_uj = energy.has_dynamic ? energy.dynamic_uj : 0,
		.uncertainty_uj = energy.uncertainty_uj,
	};
}

static void add_member(struct wtl_recording_group *group, const struct wtl_consumers *consumers,
		       uint32_t slot, bool is_first)
{
	const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);
	struct wtl_report_share all = share_of(consumers, slot, WTL_PART_ALL);
	struct wtl_report_share gpu = share_of(consumers, slot, WTL_PART_GPU);

	add_share(&group->all, &all, is_first);
	add_share(&group->gpu, &gpu, is_first);
	group->n_processes += consumer->n_processes ? consumer->n_processes : 1;
	group->cpu_ns += consumer->cpu_ns > 0 ? consumer->cpu_ns : 0;
}

/* One for each run of equal keys. */
static size_t put_together(const struct wtl_consumers *consumers, const struct members *members,
			   struct wtl_recording_group groups[])
{
	size_t n = 0;

	for (size_t i = 0; i < members->n; i++) {
		bool is_first =
			i == 0 || strcmp(members->list[i - 1].key, members->list[i].key) != 0;

		if (is_first)
			groups[n++].name = members->list[i].key;
		add_member(&groups[n - 1], consumers, members->list[i].slot, is_first);
	}
	return n;
}

static void fold_others(struct wtl_recording_grouping *grouping,
			const struct wtl_recording_group groups[], size_t n, size_t most)
{
	grouping->n_groups = n < most ? n : most;
	for (size_t i = grouping->n_groups; i < n; i++) {
		struct wtl_recording_group *others = &grouping->others;
		bool is_first = i == grouping->n_groups;

		add_share(&others->all, &groups[i].all, is_first);
		add_share(&others->gpu, &groups[i].gpu, is_first);
		others->n_processes += groups[i].n_processes;
		others->cpu_ns += groups[i].cpu_ns;
		grouping->n_others++;
	}
}

int wtl_grouping_new(struct wtl_player *player, enum wtl_by by, unsigned top,
		     struct wtl_recording_grouping *ret_grouping)
{
	const struct wtl_consumers *consumers = wtl_player_consumers(player);
	struct wtl_recording_grouping grouping = {.by = by, .others.name = ""};
	struct wtl_recording_group *groups = NULL;
	struct members members = {.n = 0};
	size_t n;
	int rc = collect(player, by, &members);

	if (rc == 0) {
		groups = calloc(members.n + 1, sizeof(*groups));
		rc = groups ? 0 : -ENOMEM;
	}
	if (rc == 0) {
		if (members.n > 0)
			qsort(members.list, members.n, sizeof(*members.list), by_key);
		n = put_together(consumers, &members, groups);
		qsort(groups, n, sizeof(*groups), by_energy);
		fold_others(&grouping, groups, n, top);
		grouping.groups = groups;
		*ret_grouping = grouping;
	}
	free(members.list);
	return rc;
}

void wtl_grouping_free(struct wtl_recording_grouping *grouping)
{
	free((void *)(uintptr_t)grouping->groups);
	grouping->groups = NULL;
}
