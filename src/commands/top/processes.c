/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/config.h"
#include "base/text.h"
#include "base/user.h"
#include "commands/top/collect.h"
#include "replay/player.h"

/* PSS takes a third of a millisecond per process, and milliseconds for large ones. At first, more are read, as there
 * is nothing to show yet. */
enum { MEMORY_READS = 10, MEMORY_FIRST = 64 };

void wtl_top_processes_init(struct wtl_top_processes *processes, bool is_here,
			    struct wtl_player *player, struct wtl_consumers *consumers)
{
	*processes = (struct wtl_top_processes){
		.consumers = consumers, .is_here = is_here, .player = player};
}

void wtl_top_processes_done(struct wtl_top_processes *processes)
{
	free(processes->origins);
	wtl_hash_done(&processes->by_origin);
	memset(processes, 0, sizeof(*processes));
}

/* Users' names are cached, as many as there are places. */
static const char *user_name(struct wtl_top_processes *processes, uint32_t uid)
{
	size_t max = sizeof(processes->users) / sizeof(processes->users[0]), i = 0;
	const char *recorded;
	char *name;

	while (i < processes->n_users && processes->users[i].uid != uid)
		i++;
	if (i < processes->n_users)
		return processes->users[i].name;
	if (processes->n_users < max)
		processes->n_users++;
	else
		i = uid % max;
	processes->users[i].uid = uid;
	name = processes->users[i].name;
	recorded =
		HAVE_RECORDINGS && processes->player ? wtl_player_user(processes->player, uid) : "";
	if (recorded[0])
		wtl_text_clean(name, sizeof(processes->users[i].name), recorded, strlen(recorded));
	else
		wtl_user_name(processes->is_here, uid, name, sizeof(processes->users[i].name));
	return name;
}

static bool is_origin(const void *origins, uint32_t at, const void *group)
{
	return ((const struct wtl_group *const *)origins)[at] == group;
}

/* The view's copy of a group: the original goes with its last process. There must be room. */
static const struct wtl_group *copy_of(struct wtl_top_processes *processes,
				       struct wtl_top_view *view, const struct wtl_group *group)
{
	uint32_t sum = wtl_hash_bytes(&group, sizeof(group));
	const uint32_t *at =
		wtl_hash_find(&processes->by_origin, sum, is_origin, processes->origins, group);

	if (at)
		return &view->groups[*at];
	wtl_hash_add(&processes->by_origin, sum, (uint32_t)view->n_groups);
	processes->origins[view->n_groups] = group;
	view->groups[view->n_groups] = *group;
	return &view->groups[view->n_groups++];
}

/* Without an idle baseline the dynamic share is the full one. */
static void take_shares(uint64_t full, bool has_dynamic, uint64_t dynamic,
			uint64_t ret_shares[WTL_TOP_SHARES])
{
	ret_shares[WTL_TOP_FULL] = full;
	ret_shares[WTL_TOP_DYNAMIC] = has_dynamic ? dynamic : full;
}

static void take_process(struct wtl_top_processes *processes, size_t slot,
			 const struct wtl_consumer *consumer, struct wtl_top_view *view)
{
	struct wtl_top_process *process = &view->processes[view->n_processes++];
	struct wtl_consumer_power power;
	struct wtl_share_energy energy;

	memset(process, 0, offsetof(struct wtl_top_process, command));
	process->command[0] = '\0';
	process->consumer = *consumer;
	if (consumer->group)
		process->consumer.group = copy_of(processes, view, consumer->group);
	if (consumer->command)
		wtl_text_copy(process->command, sizeof(process->command), consumer->command);
	process->consumer.command = NULL;
	if (consumer->uid != UINT32_MAX)
		wtl_text_copy(process->user, sizeof(process->user),
			      user_name(processes, consumer->uid));
	wtl_consumers_energy(processes->consumers, slot, WTL_PART_ALL, &energy);
	process->has_dynamic = energy.has_dynamic;
	process->uncertainty_uj = energy.uncertainty_uj;
	wtl_consumers_per_cpu(processes->consumers, slot, &process->per_cpu);
	wtl_consumers_per_gpu(processes->consumers, slot, &process->per_gpu);
	take_shares(energy.full_uj, energy.has_dynamic, energy.dynamic_uj, process->energy_uj);
	process->has_power = wtl_consumers_power(processes->consumers, slot, WTL_PART_CPU, &power);
	if (process->has_power) {
		/* The last interval may have been billed before the baseline was known. */
		process->has_dynamic &= power.has_dynamic;
		take_shares(power.full_uw, power.has_dynamic, power.dynamic_uw, process->cpu_uw);
		if (wtl_consumers_power(processes->consumers, slot, WTL_PART_GPU, &power))
			take_shares(power.full_uw, power.has_dynamic, power.dynamic_uw,
				    process->gpu_uw);
	}
	process->has_gpu =
		process->gpu_uw[WTL_TOP_FULL] > 0 ||
		(consumer->gpu_memory_bytes != UINT64_MAX && consumer->gpu_memory_bytes > 0) ||
		consumer->gpu_ppm != UINT32_MAX;
}

void wtl_top_processes_read_memory(struct wtl_top_processes *processes, bool walks)
{
	if (walks)
		wtl_consumers_read_memory(processes->consumers, processes->memory_reads++ < 2
									? MEMORY_FIRST
									: MEMORY_READS);
	else
		wtl_consumers_read_resident(processes->consumers, MEMORY_READS);
}

/* Reserves room for n processes, and as many groups. */
static int reserve(struct wtl_top_processes *processes, struct wtl_top_view *view, size_t n)
{
	if (wtl_top_view_reserve(view, 0, 0, n, n) < 0 ||
	    wtl_array_reserve(&processes->origins, &processes->size_origins, n,
			      sizeof(*processes->origins)) < 0)
		return -ENOMEM;
	return wtl_hash_reserve(&processes->by_origin, n);
}

int wtl_top_processes_take(struct wtl_top_processes *processes, struct wtl_top_view *view)
{
	const struct wtl_consumers *consumers = processes->consumers;
	size_t slots, n = 0;

	if (!consumers)
		return 0;
	slots = wtl_consumers_slots(consumers);
	for (size_t slot = 0; slot < slots; slot++)
		n += wtl_consumers_get(consumers, slot) != NULL;
	wtl_hash_clear(&processes->by_origin);
	view->n_processes = view->n_groups = 0;
	view->generation++;
	if (reserve(processes, view, n) < 0)
		return -ENOMEM;
	for (size_t slot = 0; slot < slots; slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);

		if (consumer)
			take_process(processes, slot, consumer, view);
	}
	for (size_t i = 0; i < view->n_domains; i++) {
		struct wtl_top_domain *domain = &view->domains[i];

		domain->weight = wtl_consumers_weight(consumers, i);
		wtl_consumers_baseline(consumers, i, &domain->idle);
		wtl_consumers_ledger(consumers, i, &domain->ledger);
	}
	view->has_processes = n > 0;
	return 0;
}
