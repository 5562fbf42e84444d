/* SPDX-License-Identifier: MIT */
#include "workload/roster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 256 };

/* realloc() of one array; the old one stays when there is no memory. */
static bool array_grow(void *array, size_t n, size_t size)
{
	void *old, *grown;

	memcpy(&old, array, sizeof(old));
	grown = reallocarray(old, n, size);
	if (grown)
		memcpy(array, &grown, sizeof(grown));
	return grown != NULL;
}

static size_t hash_of(const struct wtl_roster *roster, int pid)
{
	/* Knuth's multiplicative hashing: numbers that follow each other spread. */
	return ((uint32_t)pid * 2654435761U) & (roster->table_size - 1);
}

static size_t place_of(const struct wtl_roster *roster, int pid)
{
	size_t at = hash_of(roster, pid);

	while (roster->table[at].pid && roster->table[at].pid != pid)
		at = (at + 1) & (roster->table_size - 1);
	return at;
}

static int table_resize(struct wtl_roster *roster, size_t size)
{
	struct wtl_roster_entry *old = roster->table, *table = calloc(size, sizeof(*table));
	size_t old_size = roster->table_size;

	if (!table)
		return -ENOMEM;
	roster->table = table;
	roster->table_size = size;
	for (size_t i = 0; i < old_size; i++)
		if (old[i].pid)
			table[place_of(roster, old[i].pid)] = old[i];
	free(old);
	return 0;
}

/* Arrays that have grown already stay so when a later one fails. */
static int grow(struct wtl_roster *roster, uint32_t capacity)
{
	size_t table_size = roster->table_size ? roster->table_size : 1;

	if (!array_grow(&roster->consumers, capacity, sizeof(*roster->consumers)) ||
	    !array_grow(&roster->places, capacity, sizeof(*roster->places)) ||
	    !array_grow(&roster->pids, capacity, sizeof(*roster->pids)) ||
	    !array_grow(&roster->slots, capacity, sizeof(*roster->slots)) ||
	    !array_grow(&roster->clocks, capacity, sizeof(*roster->clocks)) ||
	    !array_grow(&roster->ended, capacity, sizeof(*roster->ended)) ||
	    !array_grow(&roster->used, capacity, sizeof(*roster->used)) ||
	    !array_grow(&roster->uses, capacity, sizeof(*roster->uses)) ||
	    !array_grow(&roster->folds, capacity, sizeof(*roster->folds)) ||
	    !array_grow(&roster->born, capacity, sizeof(*roster->born)))
		return -ENOMEM;
	while (table_size < 2 * (size_t)capacity)
		table_size *= 2;
	if (table_resize(roster, table_size) < 0)
		return -ENOMEM;
	roster->capacity = capacity;
	return 0;
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
	free(roster->consumers);
	free(roster->places);
	free(roster->pids);
	free(roster->slots);
	free(roster->clocks);
	free(roster->table);
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

int64_t wtl_roster_add_process(struct wtl_roster *roster, int pid)
{
	int64_t slot = wtl_roster_add(roster, WTL_PLACE_PROCESS);

	if (slot < 0)
		return slot;
	roster->consumers[slot].pid = pid;
	roster->places[slot].live = roster->n_live;
	roster->pids[roster->n_live] = pid;
	roster->slots[roster->n_live] = (uint32_t)slot;
	roster->clocks[roster->n_live++] = -ESRCH;
	if (roster->n_born < roster->capacity)
		roster->born[roster->n_born++] = (uint32_t)slot;
	/* There are at least twice as many places as slots. */
	roster->table[place_of(roster, pid)] =
		(struct wtl_roster_entry){.pid = pid, .slot = (uint32_t)slot};
	return slot;
}

void wtl_roster_remove(struct wtl_roster *roster, uint32_t slot)
{
	struct wtl_place *place = &roster->places[slot];

	*place = (struct wtl_place){
		.kind = WTL_PLACE_FREE, .live = WTL_NOT_LIVE, .next_free = roster->first_free};
	roster->first_free = slot;
	roster->n_taken--;
}

uint32_t wtl_roster_find(const struct wtl_roster *roster, int pid)
{
	size_t at;

	if (pid <= 0)
		return WTL_NO_SLOT;
	at = place_of(roster, pid);
	return roster->table[at].pid ? roster->table[at].slot : WTL_NO_SLOT;
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
	roster->places[slot].look_ended = roster->look;
	if (consumer->state == WTL_CONSUMER_LIVE)
		consumer->state = WTL_CONSUMER_EXITED;
	roster->ended[roster->n_ended++] = slot;
}

void wtl_roster_forget(struct wtl_roster *roster, uint32_t slot)
{
	size_t mask = roster->table_size - 1, at = place_of(roster, roster->consumers[slot].pid);

	if (!roster->table[at].pid || roster->table[at].slot != slot)
		return;
	/* Entries behind the hole that would not be found past it move into it. */
	for (size_t next = (at + 1) & mask; roster->table[next].pid; next = (next + 1) & mask) {
		size_t home = hash_of(roster, roster->table[next].pid);

		if (((next - home) & mask) >= ((next - at) & mask)) {
			roster->table[at] = roster->table[next];
			at = next;
		}
	}
	roster->table[at].pid = 0;
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
	place->look_used = roster->look;
	roster->consumers[slot].cpu_ns += cpu_ns;
}

void wtl_roster_fold(struct wtl_roster *roster, uint32_t from, uint32_t into)
{
	struct wtl_consumer *row = &roster->consumers[into];

	roster->folds[roster->n_folds++] = (struct wtl_fold){.from = from, .into = into};
	row->cpu_ns += roster->consumers[from].cpu_ns;
	row->counted_ns += roster->consumers[from].counted_ns;
	row->n_processes += roster->consumers[from].n_processes;
	wtl_roster_remove(roster, from);
}

void wtl_roster_begin(struct wtl_roster *roster, uint32_t look)
{
	roster->look = look;
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
