/* SPDX-License-Identifier: MIT */
/* Rows that stand for several consumers, so that nothing vanishes and memory stays bounded. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workload/state.h"

enum {
	ROOM_PART = 8, /* so many parts of the allowed number stay after folding */
};

static bool has_key(const void *rows, uint32_t at, const void *key)
{
	return memcmp(&((const struct wtl_folded_rows *)rows)->rows[at].key, key,
		      sizeof(struct wtl_row_key)) == 0;
}

/* How a row is shown. */
static void row_fill(struct wtl_roster *roster, uint32_t slot, const struct wtl_row_key *key)
{
	static const char *const names[] = {
		[WTL_ROW_NAME] = NULL,		[WTL_ROW_PARENT] = "short-lived",
		[WTL_ROW_UNIT] = "short-lived", [WTL_ROW_KERNEL] = "kernel threads",
		[WTL_ROW_TREE] = "short-lived", [WTL_ROW_OTHERS] = "others",
	};

	struct wtl_consumer *consumer = &roster->consumers[slot];
	char command[sizeof("children of ") + sizeof(key->name)];

	consumer->state = key->kind == WTL_ROW_KERNEL ? WTL_CONSUMER_KERNEL : WTL_CONSUMER_FOLDED;
	consumer->is_in_tree = key->is_in_tree;
	consumer->sets = key->sets;
	consumer->uid = key->uid;
	consumer->parent = key->parent;
	consumer->group = key->group;
	memcpy(consumer->name, key->name, sizeof(consumer->name));
	if (names[key->kind])
		memcpy(consumer->name, names[key->kind], strlen(names[key->kind]) + 1);
	if (key->kind == WTL_ROW_PARENT && key->name[0]) {
		snprintf(command, sizeof(command), "children of %s", key->name);
		wtl_roster_set_command(roster, slot, command);
	}
}

static uint32_t row_add(struct wtl_workload *workload, const struct wtl_row_key *key, uint32_t sum)
{
	struct wtl_folded_rows *rows = &workload->rows;
	int64_t slot;

	/* One place is kept for each of the two rows of others. */
	if (rows->n >= (key->kind == WTL_ROW_OTHERS ? WTL_ROWS_MAX : WTL_ROWS_MAX - 2) ||
	    wtl_hash_reserve(&rows->by_key, rows->n + 1) < 0)
		return WTL_NO_SLOT;
	slot = wtl_roster_add(&workload->roster, WTL_PLACE_ROW);
	if (slot < 0)
		return WTL_NO_SLOT;
	/* With its padding: keys are compared as bytes. */
	memcpy(&rows->rows[rows->n].key, key, sizeof(*key));
	rows->rows[rows->n].slot = (uint32_t)slot;
	wtl_hash_add(&rows->by_key, sum, rows->n++);
	row_fill(&workload->roster, (uint32_t)slot, key);
	return (uint32_t)slot;
}

static uint32_t row_find(struct wtl_workload *workload, const struct wtl_row_key *key)
{
	/* Keys are zeroed before they are filled, so all of their bytes count. */
	uint32_t sum = wtl_hash_bytes(key, sizeof(*key));
	const uint32_t *at =
		wtl_hash_find(&workload->rows.by_key, sum, has_key, &workload->rows, key);

	return at ? workload->rows.rows[*at].slot : row_add(workload, key, sum);
}

uint32_t wtl_rows_slot(struct wtl_workload *workload, const struct wtl_row_key *key)
{
	uint32_t slot = row_find(workload, key);
	struct wtl_row_key others;

	if (slot != WTL_NO_SLOT)
		return slot;
	memset(&others, 0, sizeof(others));
	others.kind = WTL_ROW_OTHERS;
	others.is_in_tree = key->is_in_tree;
	others.sets = key->sets;
	others.uid = UINT32_MAX;
	slot = row_find(workload, &others);
	if (slot == WTL_NO_SLOT && others.sets) {
		others.sets = 0;
		slot = row_find(workload, &others);
	}
	return slot != WTL_NO_SLOT ? slot : (uint32_t)WTL_SLOT_UNSEEN;
}

/* The row that an ended process belongs to. */
static uint32_t row_of(struct wtl_workload *workload, uint32_t slot)
{
	const struct wtl_consumer *consumer = &workload->roster.consumers[slot];
	struct wtl_row_key key;

	memset(&key, 0, sizeof(key));
	key.uid = UINT32_MAX;
	if (workload->roster.places[slot].is_kernel) {
		key.kind = WTL_ROW_KERNEL;
	} else {
		key.kind = WTL_ROW_NAME;
		key.is_in_tree = consumer->is_in_tree;
		key.sets = consumer->sets;
		key.uid = consumer->uid;
		key.group = consumer->group;
		memcpy(key.name, consumer->name, sizeof(key.name));
	}
	return wtl_rows_slot(workload, &key);
}

static bool may_fold(const struct wtl_roster *roster, uint32_t slot, uint32_t scan)
{
	return roster->places[slot].scan_ended < scan && !roster->places[slot].is_listed;
}

static int64_t cpu_of(const struct wtl_roster *roster, uint32_t slot)
{
	return roster->consumers[slot].cpu_ns;
}

static int compare_times(const void *left, const void *right)
{
	const int64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

/* The n-th smallest CPU time of those that may be folded, from 0; INT64_MAX: they are fewer. */
static int64_t nth_time(const struct wtl_workload *workload, uint32_t n)
{
	const struct wtl_roster *roster = &workload->roster;
	int64_t *times = malloc(roster->n_ended * sizeof(*times)), nth;
	uint32_t n_times = 0;

	if (!times)
		return INT64_MAX;
	for (uint32_t i = 0; i < roster->n_ended; i++)
		if (may_fold(roster, roster->ended[i], workload->n_scans))
			times[n_times++] = cpu_of(roster, roster->ended[i]);
	qsort(times, n_times, sizeof(*times), compare_times);
	nth = n < n_times ? times[n] : INT64_MAX;
	free(times);
	return nth;
}

/* Folds up to n ended processes of at most that CPU time, oldest first, or with kernel_only only
 * kernel threads. Returns how many. */
static uint32_t fold_some(struct wtl_workload *workload, uint32_t n, int64_t cpu_max_ns,
			  bool kernel_only)
{
	struct wtl_roster *roster = &workload->roster;
	uint32_t n_kept = 0, n_folded = 0;

	for (uint32_t i = 0; i < roster->n_ended; i++) {
		uint32_t slot = roster->ended[i];
		bool is_wanted = kernel_only ? roster->places[slot].is_kernel
					     : cpu_of(roster, slot) <= cpu_max_ns;

		if (n_folded < n && is_wanted && may_fold(roster, slot, workload->n_scans)) {
			uint32_t row = row_of(workload, slot);

			wtl_children_fold(workload, slot, row);
			wtl_roster_fold(roster, slot, row);
			n_folded++;
		} else {
			roster->ended[n_kept++] = slot;
		}
	}
	roster->n_ended = n_kept;
	return n_folded;
}

void wtl_rows_fold_ended(struct wtl_workload *workload)
{
	const struct wtl_roster *roster = &workload->roster;
	uint32_t max = workload->options.max_exited, n;

	if (workload->kernel_ended) {
		fold_some(workload, UINT32_MAX, 0, true);
		workload->kernel_ended = false;
	}
	if (roster->n_ended <= max)
		return;
	/* Some more than need be, so that it is not done at each scan. */
	n = roster->n_ended - max + max / ROOM_PART;
	fold_some(workload, n, nth_time(workload, n - 1), false);
}

bool wtl_rows_make_room(struct wtl_workload *workload)
{
	uint32_t n = workload->roster.n_ended / ROOM_PART + 2;

	return fold_some(workload, n, nth_time(workload, n - 1), false) > 0;
}

void wtl_rows_forget_set(struct wtl_workload *workload, uint16_t others)
{
	struct wtl_folded_rows *rows = &workload->rows;

	wtl_hash_clear(&rows->by_key);
	for (uint32_t i = 0; i < rows->n; i++) {
		struct wtl_row_key *key = &rows->rows[i].key;

		key->sets &= others;
		wtl_hash_add(&rows->by_key, wtl_hash_bytes(key, sizeof(*key)), i);
	}
}

void wtl_rows_reset(struct wtl_workload *workload)
{
	for (uint32_t i = 0; i < workload->rows.n; i++)
		wtl_roster_remove(&workload->roster, workload->rows.rows[i].slot);
	workload->rows.n = 0;
	wtl_hash_clear(&workload->rows.by_key);
}
