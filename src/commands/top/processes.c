/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "commands/top/collect.h"
#include "cli/user.h"
#include "replay/player.h"

/* PSS takes a third of a millisecond a process, and milliseconds of a large one. At first, though, there
 * is nothing to show. */
enum { MEMORY_READS = 10, MEMORY_FIRST = 64 };

void wtl_top_processes_init(struct wtl_top_processes *processes, bool is_here,
			    struct wtl_player *player, struct wtl_consumers *consumers)
{
	*processes = (struct wtl_top_processes){
		.consumers = consumers, .is_here = is_here, .player = player};
}

void wtl_top_processes_done(struct wtl_top_processes *processes)
{
	free(processes->pointers);
	wtl_hash_done(&processes->by_pointer);
	memset(processes, 0, sizeof(*processes));
}

/* ---- Users ---- */

static void find_name(const struct wtl_top_processes *processes, uint32_t uid, char *name,
		      size_t size)
{
	const char *recorded =
		HAVE_RECORDINGS && processes->player ? wtl_player_user(processes->player, uid) : "";

	if (recorded[0])
		wtl_text_clean(name, size, recorded, strlen(recorded));
	else
		wtl_user_name(processes->is_here, uid, name, size);
}

/* Each is asked for once, or again where there are more users than places. */
static const char *user_name(struct wtl_top_processes *processes, uint32_t uid)
{
	size_t max = sizeof(processes->users) / sizeof(processes->users[0]), i = 0;

	while (i < processes->n_users && processes->users[i].uid != uid)
		i++;
	if (i < processes->n_users)
		return processes->users[i].name;
	if (processes->n_users < max)
		processes->n_users++;
	else
		i = uid % max;
	processes->users[i].uid = uid;
	find_name(processes, uid, processes->users[i].name, sizeof(processes->users[i].name));
	return processes->users[i].name;
}

/* ---- Groups ---- */

static bool is_pointer(const void *pointers, uint32_t at, const void *group)
{
	return ((const struct wtl_group *const *)pointers)[at] == group;
}

/* The view's copy of a group, or -1: there is no memory for it. */
static int group_index(struct wtl_top_processes *processes, struct wtl_top_view *view,
		       const struct wtl_group *group)
{
	uint32_t sum = wtl_hash_bytes(&group, sizeof(group));
	const uint32_t *at =
		wtl_hash_find(&processes->by_pointer, sum, is_pointer, processes->pointers, group);

	if (at)
		return (int)*at;
	if (wtl_array_reserve(&processes->pointers, &processes->size_pointers, view->n_groups + 1,
			      sizeof(*processes->pointers)) < 0 ||
	    wtl_hash_reserve(&processes->by_pointer, view->n_groups + 1) < 0 ||
	    wtl_top_view_reserve(view, 0, 0, 0, view->n_groups + 1) < 0)
		return -1;
	wtl_hash_add(&processes->by_pointer, sum, (uint32_t)view->n_groups);
	processes->pointers[view->n_groups] = group;
	view->groups[view->n_groups] = *group;
	return (int)view->n_groups++;
}

/* ---- Processes ---- */

static void take_power(const struct wtl_consumers *consumers, size_t slot,
		       struct wtl_top_process *process)
{
	struct wtl_consumer_power cpu, gpu;

	process->has_power = wtl_consumers_power(consumers, slot, WTL_PART_CPU, &cpu);
	if (!process->has_power)
		return;
	/* The last interval may have been billed before the baseline was known. */
	process->has_dynamic &= cpu.has_dynamic;
	process->cpu_uw[WTL_TOP_FULL] = cpu.full_uw;
	process->cpu_uw[WTL_TOP_DYNAMIC] = cpu.has_dynamic ? cpu.dynamic_uw : cpu.full_uw;
	if (!wtl_consumers_power(consumers, slot, WTL_PART_GPU, &gpu))
		return;
	process->gpu_uw[WTL_TOP_FULL] = gpu.full_uw;
	process->gpu_uw[WTL_TOP_DYNAMIC] = gpu.has_dynamic ? gpu.dynamic_uw : gpu.full_uw;
}

static void take_process(struct wtl_top_processes *processes, size_t slot,
			 const struct wtl_consumer *consumer, struct wtl_top_view *view)
{
	struct wtl_top_process *process = &view->processes[view->n_processes++];
	struct wtl_share_energy energy;

	memset(process, 0, sizeof(*process));
	process->consumer = *consumer;
	process->consumer.group = NULL;
	process->group = consumer->group ? group_index(processes, view, consumer->group) : -1;
	if (consumer->uid != UINT32_MAX)
		wtl_text_copy(process->user, sizeof(process->user),
			      user_name(processes, consumer->uid));
	wtl_consumers_energy(processes->consumers, slot, WTL_PART_ALL, &energy);
	process->has_dynamic = energy.has_dynamic;
	process->energy_uj[WTL_TOP_FULL] = energy.full_uj;
	process->energy_uj[WTL_TOP_DYNAMIC] =
		energy.has_dynamic ? energy.dynamic_uj : energy.full_uj;
	process->uncertainty_uj = energy.uncertainty_uj;
	take_power(processes->consumers, slot, process);
	process->has_gpu =
		process->gpu_uw[WTL_TOP_FULL] > 0 ||
		(consumer->gpu_memory_bytes != UINT64_MAX && consumer->gpu_memory_bytes > 0) ||
		consumer->gpu_ppm != UINT32_MAX;
}

void wtl_top_processes_read_memory(struct wtl_top_processes *processes)
{
	if (processes->consumers)
		wtl_consumers_read_memory(processes->consumers, processes->memory_reads++ < 2
									? MEMORY_FIRST
									: MEMORY_READS);
}

static void take_domains(const struct wtl_consumers *consumers, struct wtl_top_view *view)
{
	for (size_t i = 0; i < view->n_domains; i++) {
		struct wtl_top_domain *domain = &view->domains[i];

		domain->weight = wtl_consumers_weight(consumers, i);
		wtl_consumers_baseline(consumers, i, &domain->idle);
		wtl_consumers_ledger(consumers, i, &domain->ledger);
	}
}

int wtl_top_processes_take(struct wtl_top_processes *processes, struct wtl_top_view *view)
{
	size_t slots, n = 0;

	if (!processes->consumers)
		return 0;
	slots = wtl_consumers_slots(processes->consumers);
	for (size_t slot = 0; slot < slots; slot++)
		n += wtl_consumers_get(processes->consumers, slot) != NULL;
	if (wtl_top_view_reserve(view, 0, 0, n, 0) < 0)
		return -ENOMEM;
	view->n_processes = 0;
	view->n_groups = 0;
	wtl_hash_clear(&processes->by_pointer);
	for (size_t slot = 0; slot < slots; slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(processes->consumers, slot);

		if (consumer)
			take_process(processes, slot, consumer, view);
	}
	take_domains(processes->consumers, view);
	view->has_processes = n > 0;
	view->generation++;
	return 0;
}
