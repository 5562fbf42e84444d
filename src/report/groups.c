/* SPDX-License-Identifier: MIT */
/* Consumers grouped by what they have in common. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#include "meter/consumers.h"
#include "report/recorded.h"

/* A consumer with energy, before it is in a group. */
struct member {
	const char *key;
	uint32_t slot;
};

enum { USER_SIZE = 40 };

struct members {
	struct member *list;
	size_t n;
};

static const char kernel_threads[] = "kernel threads";

/* A consumer's group; "" if it belongs to none. */
static const char *key_of(struct wtl_player *player, enum wtl_by by,
			  const struct wtl_consumer *consumer, char user[USER_SIZE])
{
	struct wtl_consumer_value value;

	if (by == WTL_BY_USER) {
		wtl_player_name_user(player, consumer->uid, user, USER_SIZE);
		return user;
	}
	if (by == WTL_BY_COMMAND)
		return consumer->state == WTL_CONSUMER_KERNEL ? kernel_threads : consumer->name;
	wtl_consumer_get(consumer, consumer->group, wtl_by_field(by), &value);
	return value.text;
}

/* users: room for a name for each slot. */
static int collect(struct wtl_player *player, enum wtl_by by, char (*users)[USER_SIZE],
		   struct members *members)
{
	const struct wtl_consumers *consumers = wtl_player_consumers(player);
	size_t slots = wtl_consumers_slots(consumers);

	members->list = calloc(slots + 1, sizeof(*members->list));
	if (!members->list)
		return -ENOMEM;
	for (size_t slot = 0; slot < slots; slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);
		struct wtl_share_energy energy;

		if (!consumer)
			continue;
		wtl_consumers_energy(consumers, slot, WTL_PART_ALL, &energy);
		if (energy.full_uj > 0)
			members->list[members->n++] =
				(struct member){.key = key_of(player, by, consumer, users[slot]),
						.slot = (uint32_t)slot};
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

static struct wtl_share_energy share_of(const struct wtl_consumers *consumers, uint32_t slot,
					enum wtl_part part)
{
	struct wtl_share_energy energy;

	wtl_consumers_energy(consumers, slot, part, &energy);
	return energy;
}

/* The uncertainty of a sum is less than the sum of its parts' uncertainties. */
static void take_doubts(struct wtl_share_energy *energy, const struct wtl_consumers *consumers,
			const struct wtl_consumers_sum *sum, enum wtl_part part)
{
	struct wtl_share_energy whole;

	wtl_consumers_sum_part(consumers, sum, part, &whole);
	energy->uncertainty_uj = whole.uncertainty_uj;
	energy->full_uncertainty_uj = whole.full_uncertainty_uj;
	energy->idle_doubt_uj = whole.idle_doubt_uj;
	energy->weight_doubt_uj = whole.weight_doubt_uj;
	energy->full_weight_doubt_uj = whole.full_weight_doubt_uj;
}

static void add_member(struct wtl_recording_group *group, const struct wtl_consumers *consumers,
		       struct wtl_consumers_sum *sum, uint32_t slot, bool is_first)
{
	const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);
	struct wtl_share_energy all = share_of(consumers, slot, WTL_PART_ALL);
	struct wtl_share_energy gpu = share_of(consumers, slot, WTL_PART_GPU);

	wtl_share_energy_add(&group->all, &all, is_first);
	wtl_share_energy_add(&group->gpu, &gpu, is_first);
	if (is_first)
		wtl_consumers_sum_begin(consumers, sum);
	wtl_consumers_sum_add(consumers, slot, sum);
	take_doubts(&group->all, consumers, sum, WTL_PART_ALL);
	take_doubts(&group->gpu, consumers, sum, WTL_PART_GPU);
	group->n_processes += consumer->n_processes;
	group->cpu_ns = wtl_consumer_cpu_add(group->cpu_ns, wtl_consumer_cpu_ns(consumer));
}

/* Makes one group of each run of equal keys. */
static size_t put_together(const struct wtl_consumers *consumers, const struct members *members,
			   struct wtl_consumers_sum *sum, struct wtl_recording_group groups[])
{
	size_t n = 0;

	for (size_t i = 0; i < members->n; i++) {
		bool is_first =
			i == 0 || strcmp(members->list[i - 1].key, members->list[i].key) != 0;

		if (is_first)
			groups[n++] = (struct wtl_recording_group){.name = members->list[i].key,
								   .cpu_ns = -1};
		add_member(&groups[n - 1], consumers, sum, members->list[i].slot, is_first);
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

		wtl_share_energy_add(&others->all, &groups[i].all, is_first);
		wtl_share_energy_add(&others->gpu, &groups[i].gpu, is_first);
		others->n_processes += groups[i].n_processes;
		others->cpu_ns = wtl_consumer_cpu_add(others->cpu_ns, groups[i].cpu_ns);
		grouping->n_others++;
	}
}

int wtl_grouping_new(struct wtl_player *player, enum wtl_by by, unsigned top,
		     struct wtl_recording_grouping *ret_grouping)
{
	const struct wtl_consumers *consumers = wtl_player_consumers(player);
	struct wtl_recording_grouping grouping = {.by = by, .others = {.name = "", .cpu_ns = -1}};
	size_t slots = wtl_consumers_slots(consumers), n;
	/* Room for the user names as well, which must live as long as the groups. */
	struct wtl_recording_group *groups = calloc(slots + 1, sizeof(*groups) + USER_SIZE);
	struct members members = {.n = 0};
	struct wtl_consumers_sum sum = {
		.shares = calloc(wtl_consumers_sum_shares(consumers), sizeof(*sum.shares))};
	int rc = groups && sum.shares
			 ? collect(player, by, (char(*)[USER_SIZE])(groups + slots + 1), &members)
			 : -ENOMEM;

	if (rc == 0) {
		if (members.n > 0)
			qsort(members.list, members.n, sizeof(*members.list), by_key);
		n = put_together(consumers, &members, &sum, groups);
		qsort(groups, n, sizeof(*groups), by_energy);
		fold_others(&grouping, groups, n, top);
		grouping.groups = groups;
		*ret_grouping = grouping;
	} else {
		free(groups);
	}
	free(sum.shares);
	free(members.list);
	return rc;
}

void wtl_grouping_free(struct wtl_recording_grouping *grouping)
{
	free((void *)(uintptr_t)grouping->groups);
	grouping->groups = NULL;
}
