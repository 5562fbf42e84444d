/* SPDX-License-Identifier: MIT */
/*
 * What consumers had used before the accounts began. Recorded numbers count from the start of
 * the live accounts. If a player's accounts begin later, what was used before is subtracted.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "replay/player_state.h"
#include "replay/delta.h"
#include "workload/workload.h"

/* Numbers that count since accounts began. */
static const enum wtl_change counts[WTL_PAST_COUNTS] = {WTL_CHANGE_CPU, WTL_CHANGE_COUNTED,
							WTL_CHANGE_PROCESSES};

/* Numbers of a damaged file may be anything: they wrap, as when changes are added up. */
static int64_t sum(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t less(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static void change(struct wtl_consumer *consumer, enum wtl_change which, int64_t by)
{
	wtl_delta_set_number(consumer, which, sum(wtl_delta_number(consumer, which), by));
}

int wtl_player_reach_slot(struct wtl_player *player, uint32_t slot)
{
	size_t before = player->slots_room;

	if (slot < before)
		return 0;
	if (wtl_array_reserve(&player->slots, &player->slots_room, slot + 1u,
			      sizeof(player->slots[0])) < 0)
		return -ENOMEM;
	memset(player->slots + before, 0, (player->slots_room - before) * sizeof(player->slots[0]));
	return 0;
}

void wtl_player_renew_past(struct wtl_player *player, uint32_t slot, bool is_same)
{
	struct wtl_played_slot *own = &player->slots[slot];

	if (is_same)
		return;
	/* What came with this scan's folds, which are restored before the changes. */
	memcpy(own->past, own->folded, sizeof(own->past));
	own->is_over = false;
}

void wtl_player_take_off_past(const struct wtl_player *player, uint32_t slot,
			      struct wtl_consumer *consumer)
{
	for (size_t i = 0; i < WTL_PAST_COUNTS; i++)
		wtl_delta_set_number(consumer, counts[i], less(0, player->slots[slot].past[i]));
}

/* Moves what was before with an account that is folded into another. */
int wtl_player_fold_past(struct wtl_player *player, uint32_t from, uint32_t into)
{
	struct wtl_workload *workload = wtl_consumers_workload(player->consumers);
	int rc = wtl_player_reach_slot(player, from > into ? from : into);
	struct wtl_played_slot *source, *target;
	const struct wtl_consumer *folded = wtl_workload_consumer(workload, from);
	struct wtl_consumer *consumer;

	if (rc < 0 || from == into)
		return rc;
	source = &player->slots[from];
	target = &player->slots[into];
	target->folded_cpu_ns =
		sum(target->folded_cpu_ns,
		    sum(source->folded_cpu_ns, sum(source->past[0], folded ? folded->cpu_ns : 0)));
	consumer = wtl_workload_consumer(workload, into)
			   ? wtl_workload_restore_consumer(workload, into)
			   : NULL;
	for (size_t i = 0; i < WTL_PAST_COUNTS; i++) {
		target->past[i] = sum(target->past[i], source->past[i]);
		target->folded[i] = sum(target->folded[i], source->past[i]);
		if (consumer)
			change(consumer, counts[i], less(0, source->past[i]));
	}
	memset(source->past, 0, sizeof(source->past));
	memset(source->folded, 0, sizeof(source->folded));
	return 0;
}

void wtl_player_forget_folded(struct wtl_player *player)
{
	for (size_t i = 0; i < player->n_folded; i++) {
		struct wtl_played_slot *own = &player->slots[player->folds[i].into];

		memset(own->folded, 0, sizeof(own->folded));
		own->folded_cpu_ns = 0;
	}
	player->n_folded = 0;
}

void wtl_player_keep_number(struct wtl_player *player, uint32_t slot, enum wtl_change which,
			    int64_t by)
{
	struct wtl_workload *workload = wtl_consumers_workload(player->consumers);

	for (size_t i = 0; i < WTL_PAST_COUNTS; i++)
		if (counts[i] == which) {
			player->slots[slot].past[i] = sum(player->slots[slot].past[i], by);
			change(wtl_workload_restore_consumer(workload, slot), which, less(0, by));
		}
}

void wtl_player_forget_past(struct wtl_player *player)
{
	struct wtl_workload *workload = wtl_consumers_workload(player->consumers);

	for (uint32_t slot = 0; slot < player->slots_room; slot++) {
		struct wtl_played_slot *own = &player->slots[slot];
		bool is_there = wtl_workload_consumer(workload, slot);

		for (size_t i = 0; is_there && i < WTL_PAST_COUNTS; i++)
			change(wtl_workload_restore_consumer(workload, slot), counts[i],
			       own->past[i]);
		memset(own->past, 0, sizeof(own->past));
	}
}

static void begin_one(struct wtl_player *player, uint32_t slot)
{
	struct wtl_workload *workload = wtl_consumers_workload(player->consumers);
	struct wtl_consumer *consumer = wtl_workload_restore_consumer(workload, slot);
	struct wtl_played_slot *own = &player->slots[slot];
	bool is_process = consumer->pid > 0 && consumer->state != WTL_CONSUMER_EXITED;

	for (size_t i = 0; i < WTL_PAST_COUNTS; i++) {
		/* A process that lives on counts for the new accounts as well. */
		if (counts[i] == WTL_CHANGE_PROCESSES && is_process)
			continue;
		own->past[i] = sum(own->past[i], wtl_delta_number(consumer, counts[i]));
		wtl_delta_set_number(consumer, counts[i], 0);
	}
	own->is_over = consumer->state == WTL_CONSUMER_EXITED;
	if (own->is_over)
		wtl_workload_restore_nobody(workload, slot);
}

void wtl_player_begin_counts(struct wtl_player *player)
{
	const struct wtl_workload *workload = wtl_consumers_workload(player->consumers);

	for (uint32_t slot = 0; slot < player->slots_room; slot++)
		if (player->slots[slot].owner && wtl_workload_consumer(workload, slot))
			begin_one(player, slot);
}
