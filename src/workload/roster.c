/* SPDX-License-Identifier: MIT */
#include "workload/roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum { FIRST_CAPACITY = 64 };

/* Arrays that have grown already stay so when a later one fails. */
static int grow(struct wtl_roster *roster, uint32_t capacity)
{
	const struct {
		void *array;
		size_t size;
	} arrays[] = {
		{&roster->consumers, sizeof(*roster->consumers)},
		{&roster->places, sizeof(*roster->places)},
		{&roster->pids, sizeof(*roster->pids)},
		{&roster->slots, sizeof(*roster->slots)},
		{&roster->clocks, sizeof(*roster->clocks)},
		{&roster->ended, sizeof(*roster->ended)},
		{&roster->used, sizeof(*roster->used)},
		{&roster->uses, sizeof(*roster->uses)},
		{&roster->folds, sizeof(*roster->folds)},
		{&roster->born, sizeof(*roster->born)},
	};

	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
		if (wtl_array_resize(arrays[i].array, capacity, arrays[i].size) < 0)
			return -ENOMEM;
	if (wtl_hash_reserve(&roster->by_pid, capacity) < 0)
		return -ENOMEM;
	roster->capacity = capacity;
	return 0;
}

void wtl_roster_expect(struct wtl_roster *roster, uint32_t n)
{
	uint64_t capacity = (uint64_t)n + n / 8;

	if (capacity > roster->max)
		capacity = roster->max;
	if (capacity > roster->capacity)
		grow(roster, (uint32_t)capacity);
}

int wtl_roster_init(struct wtl_roster *roster, uint32_t max)
{
	*roster = (struct wtl_roster){.first_free = WTL_NO_SLOT, .max = max};
	if (grow(roster, max < FIRST_CAPACITY ? max : FIRST_CAPACITY) < 0)
		return -ENOMEM;
	for (int i = 0; i < WTL_SLOTS_FIXED; i++)
		wtl_roster_add(roster, WTL_PLACE_FIXED);
	return 0;
}

void wtl_roster_done(struct wtl_roster *roster)
{
	for (uint32_t slot = 0; slot < roster->n_used; slot++)
		free(roster->places[slot].command);
	free(roster->consumers);
	free(roster->places);
	free(roster->pids);
	free(roster->slots);
	free(roster->clocks);
	wtl_hash_done(&roster->by_pid);
	free(roster->ended);
	free(roster->used);
	free(roster->uses);
	free(roster->folds);
	free(roster->born);
	*roster = (struct wtl_roster){.capacity = 0};
}

static int64_t slot_take(struct wtl_roster *roster)
{
	uint32_t slot = roster->first_free;

	if (slot != WTL_NO_SLOT) {
		roster->first_free = roster->places[slot].next_free;
		return slot;
	}
	if (roster->n_used == roster->capacity) {
		uint32_t capacity =
			roster->capacity <= roster->max / 2 ? 2 * roster->capacity : roster->max;

		if (roster->capacity >= roster->max)
			return -ENOSPC;
		if (grow(roster, capacity) < 0)
			return -ENOMEM;
	}
	return roster->n_used++;
}

int64_t wtl_roster_add(struct wtl_roster *roster, enum wtl_place_kind kind)
{
	int64_t slot = slot_take(roster);

	if (slot < 0)
		return slot;
	roster->n_taken++;
	roster->places[slot] = (struct wtl_place){.kind = kind, .live = WTL_NOT_LIVE};
	roster->consumers[slot] = (struct wtl_consumer){
		.state = kind == WTL_PLACE_ROW ? WTL_CONSUMER_FOLDED : WTL_CONSUMER_LIVE,
		.uid = UINT32_MAX,
		.is_readable = true,
		.n_processes = kind == WTL_PLACE_ROW ? 0 : 1,
		.rss_bytes = UINT64_MAX,
		.pss_bytes = UINT64_MAX,
		.uss_bytes = UINT64_MAX,
		.gpu_memory_bytes = UINT64_MAX,
		.gpu_ppm = UINT32_MAX,
	};
	return slot;
}

static uint32_t *find(const struct wtl_roster *roster, int pid)
{
	return wtl_hash_find(&roster->by_pid, wtl_hash_number((uint32_t)pid), NULL, NULL, NULL);
}

int64_t wtl_roster_add_process(struct wtl_roster *roster, int pid)
{
	int64_t slot = wtl_roster_add(roster, WTL_PLACE_PROCESS);
	uint32_t *entry;

	if (slot < 0)
		return slot;
	roster->consumers[slot].pid = pid;
	roster->places[slot].live = roster->n_live;
	roster->pids[roster->n_live] = pid;
	roster->slots[roster->n_live] = (uint32_t)slot;
	roster->clocks[roster->n_live++] = -ESRCH;
	if (roster->n_born < roster->capacity)
		roster->born[roster->n_born++] = (uint32_t)slot;
	entry = find(roster, pid);
	if (entry)
		*entry = (uint32_t)slot;
	else
		wtl_hash_add(&roster->by_pid, wtl_hash_number((uint32_t)pid), (uint32_t)slot);
	return slot;
}

void wtl_roster_set_command(struct wtl_roster *roster, uint32_t slot, const char *command)
{
	struct wtl_place *place = &roster->places[slot];
	char *copy;

	if (place->command && strcmp(place->command, command) == 0)
		return;
	copy = strdup(command);
	if (!copy)
		return;
	free(place->command);
	roster->consumers[slot].command = place->command = copy;
}

void wtl_roster_remove(struct wtl_roster *roster, uint32_t slot)
{
	struct wtl_place *place = &roster->places[slot];

	free(place->command);
	*place = (struct wtl_place){
		.kind = WTL_PLACE_FREE, .live = WTL_NOT_LIVE, .next_free = roster->first_free};
	roster->first_free = slot;
	roster->n_taken--;
}

uint32_t wtl_roster_find(const struct wtl_roster *roster, int pid)
{
	const uint32_t *entry = find(roster, pid);

	return entry ? *entry : WTL_NO_SLOT;
}

static void live_remove(struct wtl_roster *roster, uint32_t slot)
{
	uint32_t at = roster->places[slot].live, last;

	if (at == WTL_NOT_LIVE)
		return;
	last = --roster->n_live;
	roster->pids[at] = roster->pids[last];
	roster->slots[at] = roster->slots[last];
	roster->clocks[at] = roster->clocks[last];
	roster->places[roster->slots[at]].live = at;
	roster->places[slot].live = WTL_NOT_LIVE;
}

void wtl_roster_end(struct wtl_roster *roster, uint32_t slot)
{
	struct wtl_consumer *consumer = &roster->consumers[slot];

	live_remove(roster, slot);
	roster->places[slot].scan_ended = roster->scan;
	if (consumer->state == WTL_CONSUMER_LIVE)
		consumer->state = WTL_CONSUMER_EXITED;
	roster->ended[roster->n_ended++] = slot;
}

void wtl_roster_forget(struct wtl_roster *roster, uint32_t slot)
{
	wtl_hash_remove(&roster->by_pid, wtl_hash_number((uint32_t)roster->consumers[slot].pid),
			slot);
}

void wtl_roster_use(struct wtl_roster *roster, uint32_t slot, int64_t cpu_ns)
{
	struct wtl_place *place = &roster->places[slot];

	if (cpu_ns <= 0)
		return;
	if (!place->is_listed) {
		place->is_listed = true;
		roster->used[roster->n_used_now++] = slot;
	}
	place->weight_ns += (uint64_t)cpu_ns;
	place->scan_used = roster->scan;
	roster->consumers[slot].cpu_ns += cpu_ns;
}

void wtl_roster_fold(struct wtl_roster *roster, uint32_t from, uint32_t into)
{
	struct wtl_consumer *row = &roster->consumers[into];
	bool is_known = wtl_consumer_cpu_ns(&roster->consumers[from]) >= 0;

	row->is_readable = is_known || (row->n_processes > 0 && row->is_readable);
	roster->folds[roster->n_folds++] = (struct wtl_fold){.from = from, .into = into};
	row->cpu_ns += roster->consumers[from].cpu_ns;
	row->counted_ns += roster->consumers[from].counted_ns;
	row->n_processes += roster->consumers[from].n_processes;
	wtl_roster_remove(roster, from);
}

void wtl_roster_begin(struct wtl_roster *roster, uint32_t scan)
{
	roster->scan = scan;
	for (uint32_t i = 0; i < roster->n_used_now; i++) {
		uint32_t slot = roster->used[i];

		roster->places[slot].is_listed = false;
		roster->places[slot].weight_ns = 0;
		roster->consumers[slot].cpu_ppm = 0;
	}
	roster->n_used_now = 0;
	roster->n_folds = 0;
	roster->n_born = 0;
}
