/* SPDX-License-Identifier: MIT */
/* The use of processors and GPUs, as it was recorded. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "energy/attribution.h"
#include "replay/player_state.h"
#include "replay/delta.h"
#include "workload/gpu_use.h"
#include "workload/workload.h"

/* For a GPU that counts as busy all the time: nothing is learned of its idle power. */
enum { USE_ALL_PPM = 1000000 };

static const struct wtl_use unseen_alone = {.slot = WTL_SLOT_UNSEEN, .weight = 1};

/* ---- Slots ---- */

static bool is_kept(const struct wtl_player *player, uint32_t slot)
{
	return slot < player->slots_room && player->slots[slot].is_kept;
}

/* The player's slot for one of the file. 0 or -ENOMEM. */
static int find_slot(struct wtl_player *player, int64_t recorded, uint32_t *ret_slot)
{
	size_t before = player->moved_room;
	uint32_t *moved;

	*ret_slot = (uint32_t)recorded;
	if (player->next_slot == 0 || recorded < WTL_SLOTS_FIXED ||
	    recorded >= WTL_RESTORED_SLOTS_MAX)
		return 0;
	if (wtl_array_reserve(&player->moved, &player->moved_room, (size_t)recorded + 1,
			      sizeof(player->moved[0])) < 0)
		return -ENOMEM;
	memset(player->moved + before, 0, (player->moved_room - before) * sizeof(player->moved[0]));
	moved = &player->moved[recorded];
	if (*moved == 0 || is_kept(player, *moved)) {
		if (player->next_slot >= WTL_RESTORED_SLOTS_MAX)
			return -ENOMEM;
		*moved = player->next_slot++;
	}
	*ret_slot = *moved;
	return 0;
}

/* Before this first skipped reset, the player's slots are those of the file. */
static int begin_moving(struct wtl_player *player)
{
	uint32_t n = (uint32_t)wtl_workload_capacity(wtl_consumers_workload(player->consumers));

	if (player->next_slot > 0)
		return 0;
	if (wtl_array_reserve(&player->moved, &player->moved_room, n, sizeof(player->moved[0])) < 0)
		return -ENOMEM;
	for (uint32_t slot = WTL_SLOTS_FIXED; slot < n; slot++)
		player->moved[slot] = slot;
	memset(player->moved + n, 0, (player->moved_room - n) * sizeof(player->moved[0]));
	player->next_slot = n;
	return 0;
}

/* A consumer that a skipped reset removes keeps its account. false: there are too
 * many (half of the slots are for those to come), and its energy becomes nobody's. */
static bool keep(struct wtl_player *player, uint32_t slot)
{
	struct wtl_played_slot *own = &player->slots[slot];

	if (!player->skips_reset || !own->owner || player->next_slot >= WTL_RESTORED_SLOTS_MAX / 2)
		return false;
	own->owner = 0;
	own->is_kept = true;
	return true;
}

static bool is_slot(int64_t recorded)
{
	return recorded >= 0 && recorded < WTL_RESTORED_SLOTS_MAX;
}

/* A slot that is stored as the difference to the one before. */
static int take_slot(struct wtl_cursor *cursor, int64_t *slot)
{
	int64_t step;
	int rc = wtl_player_next(cursor, &step);

	if (rc < 0)
		return rc;
	return __builtin_add_overflow(*slot, step, slot) || !is_slot(*slot) ? -EBADMSG : 0;
}

/* Accounts can only be moved between slots that exist. */
static int have_slots(struct wtl_player *player, uint32_t slot)
{
	struct wtl_workload *workload = wtl_consumers_workload(player->consumers);

	if (slot < wtl_workload_capacity(workload))
		return 0;
	if (!wtl_workload_restore_consumer(workload, slot))
		return -ENOMEM;
	wtl_workload_restore_nobody(workload, slot);
	return 0;
}

/* Takes one entry of a list. Its slot may be stored as the difference to the one before. 0, -ENOMEM or -EBADMSG. */
typedef int take_one(struct wtl_player *player, size_t i, int64_t *slot);

static int take_use(struct wtl_player *player, size_t i, int64_t *slot)
{
	int64_t weight;
	uint32_t at;
	int rc = take_slot(&player->cursors[WTL_SINGLE_USE_SLOT], slot);

	if (rc == 0)
		rc = wtl_player_take(player, WTL_SINGLE_USE_WEIGHT, &weight);
	if (rc == 0)
		rc = find_slot(player, *slot, &at);
	if (rc == 0)
		rc = wtl_array_reserve(&player->uses, &player->uses_room, i + 1,
				       sizeof(struct wtl_use));
	if (rc == 0)
		player->uses[i] = (struct wtl_use){.slot = at, .weight = (uint64_t)weight};
	return rc;
}

static int take_fold(struct wtl_player *player, size_t i, int64_t *slot)
{
	struct wtl_fold fold;
	int64_t from, into;
	int rc = wtl_player_take(player, WTL_SINGLE_FOLD_FROM, &from);

	(void)slot;
	if (rc == 0)
		rc = wtl_player_take(player, WTL_SINGLE_FOLD_INTO, &into);
	if (rc == 0 && !(is_slot(from) && is_slot(into)))
		rc = -EBADMSG;
	if (rc == 0)
		rc = find_slot(player, from, &fold.from);
	if (rc == 0)
		rc = find_slot(player, into, &fold.into);
	if (rc == 0)
		rc = have_slots(player, fold.from > fold.into ? fold.from : fold.into);
	if (rc == 0)
		rc = wtl_array_reserve(&player->folds, &player->folds_room, i + 1,
				       sizeof(struct wtl_fold));
	if (rc < 0)
		return rc;
	player->folds[i] = fold;
	rc = wtl_player_fold_past(player, fold.from, fold.into);
	if (rc == 0)
		player->n_folded = i + 1;
	return rc;
}

static int take_list(struct wtl_player *player, enum wtl_single count, take_one *one, size_t *ret_n)
{
	int64_t slot = 0;
	int rc = wtl_player_count(player, count, ret_n);

	for (size_t i = 0; rc == 0 && i < *ret_n; i++)
		rc = one(player, i, &slot);
	return rc;
}

/* Who used the GPU, and how much: n pairs of slot and share. */
static int take_shares(struct wtl_player *player, struct wtl_gpu_cursors *gpu, size_t n)
{
	int64_t slot, share;
	uint32_t at;
	int rc;

	if (n > gpu->of[WTL_GPU_SLOT].n - gpu->of[WTL_GPU_SLOT].at)
		return -EBADMSG;
	/* Room for one more, so that an empty list is not NULL, which would mean "not known". */
	rc = wtl_array_reserve(&gpu->used, &gpu->room, n + 1, sizeof(*gpu->used));
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = wtl_player_next(&gpu->of[WTL_GPU_SLOT], &slot);
		if (rc == 0)
			rc = wtl_player_next(&gpu->of[WTL_GPU_SHARE], &share);
		if (rc == 0)
			rc = find_slot(player, slot, &at);
		if (rc == 0)
			gpu->used[i] = (struct wtl_use){.slot = at, .weight = (uint64_t)share};
	}
	return rc;
}

static int restore_gpu(struct wtl_player *player, size_t i)
{
	struct wtl_gpu_cursors *gpu = &player->gpus[i];
	struct wtl_gpu_scan scan = {.domain = gpu->domain};
	int64_t weight, use, n;
	int rc;

	if (wtl_player_next(&gpu->of[WTL_GPU_WEIGHT], &weight) < 0 ||
	    wtl_player_next(&gpu->of[WTL_GPU_USE], &use) < 0 ||
	    wtl_player_next(&gpu->of[WTL_GPU_USES], &n) < 0 || weight < WTL_GPU_USE_NONE ||
	    weight >= WTL_GPU_USE_METHODS || n < 0)
		return -EBADMSG;
	rc = take_shares(player, gpu, (size_t)n);
	if (rc < 0) {
		/* The scan before points to an array that may have moved. */
		wtl_consumers_restore_gpu(player->consumers, i, &scan);
		return rc;
	}
	scan.method = (enum wtl_gpu_use_method)weight;
	scan.use_ppm = (uint32_t)use;
	scan.uses = gpu->used;
	scan.n_uses = (size_t)n;
	if (player->lost_before && scan.method != WTL_GPU_USE_NONE) {
		scan.uses = &unseen_alone;
		scan.n_uses = 1;
		scan.use_ppm = USE_ALL_PPM;
	}
	wtl_consumers_restore_gpu(player->consumers, i, &scan);
	return 0;
}

/* ---- What became different about consumers ---- */

static int mark_listed(struct wtl_player *player, uint32_t slot)
{
	int rc = wtl_player_reach_slot(player, slot);

	if (rc == 0)
		player->slots[slot].list = player->n_lists;
	return rc;
}

/* Owners change by folds, unless those are in what is missing. */
static int note_owner(struct wtl_player *player, uint32_t slot, int64_t id)
{
	struct wtl_played_slot *own = &player->slots[slot];
	uint32_t before = own->owner;

	own->owner = (uint32_t)id;
	return (player->lost_before || player->skips_reset) && before && before != own->owner
		       ? wtl_player_note_stale(player, slot)
		       : 0;
}

static int set_owner(struct wtl_player *player, uint32_t slot, int64_t id)
{
	struct wtl_workload *workload = wtl_consumers_workload(player->consumers);
	const struct wtl_played_consumer *who;
	struct wtl_consumer *consumer;
	struct wtl_played_slot *own = &player->slots[slot];
	bool is_same = own->owner && own->owner == id;
	bool is_there = is_same && wtl_workload_consumer(workload, slot);
	int rc;

	if (id < 0 || id > UINT32_MAX)
		return -EBADMSG;
	own->before_ns = is_same ? own->cpu_ns : 0;
	own->cpu_ns = 0;
	rc = note_owner(player, slot, id);
	if (rc < 0)
		return rc;
	wtl_player_renew_past(player, slot, is_same);
	if (id == 0 || own->is_over) {
		wtl_workload_restore_nobody(workload, slot);
		return 0;
	}
	consumer = wtl_workload_restore_consumer(workload, slot);
	if (!consumer)
		return -ENOMEM;
	if (!is_there) {
		*consumer = (struct wtl_consumer){.uid = UINT32_MAX};
		/* A recording that was cut off may lack the row: only the numbers are left. */
		who = wtl_player_find_consumer(player, id);
		if (who)
			*consumer = who->consumer;
	}
	/* Keys of watts are left as they are if they were not recorded. */
	for (enum wtl_change i = WTL_CHANGE_OWNER + 1; i < WTL_CHANGES; i++)
		if (i != WTL_CHANGE_WATTS_KEY || player->has_keys)
			wtl_delta_set_number(consumer, i, 0);
	wtl_player_take_off_past(player, slot, consumer);
	consumer->cpu_ppm = 0;
	return 0;
}

static uint32_t part_ppm(int64_t part_ns, int64_t whole_ns)
{
	__int128 ppm = (__int128)part_ns * 1000000 / whole_ns;

	return ppm < UINT32_MAX ? (uint32_t)ppm : UINT32_MAX;
}

/* CPU time used by a recorded change: in each period the numbers are written again from 0. */
static int64_t used_since(struct wtl_played_slot *own, int64_t by_ns)
{
	uint64_t used_ns =
		(uint64_t)by_ns - (uint64_t)own->before_ns - (uint64_t)own->folded_cpu_ns;

	own->cpu_ns = (int64_t)((uint64_t)own->cpu_ns + (uint64_t)by_ns);
	own->before_ns = 0;
	return (int64_t)used_ns;
}

/* Its use is 0 again from the next list on, unless it changes. 0 or -ENOMEM. */
static int note_busy(struct wtl_player *player, uint32_t slot)
{
	if (wtl_array_reserve(&player->busy, &player->busy_room, player->n_busy + 1,
			      sizeof(player->busy[0])) < 0)
		return -ENOMEM;
	player->busy[player->n_busy++] = slot;
	return 0;
}

static int apply(struct wtl_player *player, uint32_t slot, int64_t field, int64_t by,
		 int64_t duration_ns)
{
	struct wtl_workload *workload = wtl_consumers_workload(player->consumers);
	struct wtl_consumer *consumer;
	int64_t used_ns = 0;

	if (field < 0 || field >= WTL_CHANGES || slot < WTL_SLOTS_FIXED)
		return -EBADMSG;
	if (field == WTL_CHANGE_OWNER)
		return set_owner(player, slot, by);
	if (player->slots[slot].is_over)
		return 0;
	if (!wtl_workload_consumer(workload, slot))
		return -EBADMSG;
	consumer = wtl_workload_restore_consumer(workload, slot);
	wtl_delta_set_number(
		consumer, (enum wtl_change)field,
		(int64_t)((uint64_t)wtl_delta_number(consumer, (enum wtl_change)field) +
			  (uint64_t)by));
	if (field == WTL_CHANGE_CPU)
		used_ns = used_since(&player->slots[slot], by);
	if (player->skips_reset)
		wtl_player_keep_number(player, slot, (enum wtl_change)field, by);
	if (duration_ns <= 0 || used_ns <= 0)
		return 0;
	consumer->cpu_ppm = part_ppm(used_ns, duration_ns);
	return note_busy(player, slot);
}

/* A period's first list names everybody who is there, so others are removed. */
static int remove_unlisted(struct wtl_player *player)
{
	int rc = 0;

	for (uint32_t slot = WTL_SLOTS_FIXED; rc == 0 && slot < player->slots_room; slot++)
		if (player->slots[slot].owner && player->slots[slot].list != player->n_lists &&
		    !keep(player, slot))
			rc = set_owner(player, slot, 0);
	player->is_first_list = false;
	return rc;
}

static void rest_all(struct wtl_player *player)
{
	struct wtl_workload *workload = wtl_consumers_workload(player->consumers);

	for (size_t i = 0; i < player->n_busy; i++)
		if (wtl_workload_consumer(workload, player->busy[i]))
			wtl_workload_restore_consumer(workload, player->busy[i])->cpu_ppm = 0;
	player->n_busy = 0;
}

/* Finds the player's slot of a change, which has the file's. */
static int find_changed(struct wtl_player *player, int64_t recorded, int64_t field, int64_t by,
			uint32_t *ret_slot)
{
	int rc = find_slot(player, recorded, ret_slot);

	if (rc == 0)
		rc = mark_listed(player, *ret_slot);
	if (rc < 0 || field != WTL_CHANGE_OWNER || player->slots[*ret_slot].owner == by ||
	    !keep(player, *ret_slot))
		return rc;
	rc = find_slot(player, recorded, ret_slot);
	return rc < 0 ? rc : mark_listed(player, *ret_slot);
}

int wtl_player_restore_changes(struct wtl_player *player, int64_t duration_ns)
{
	int64_t slot = 0, field, by;
	uint32_t at;
	size_t n;
	int rc = wtl_player_count(player, WTL_SINGLE_CHANGES, &n);

	if (rc == 0 && player->skips_reset)
		rc = begin_moving(player);
	player->n_lists++;
	rest_all(player);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = take_slot(&player->cursors[WTL_SINGLE_CHANGE_SLOT], &slot);
		if (rc == 0)
			rc = wtl_player_take(player, WTL_SINGLE_CHANGE_FIELD, &field);
		if (rc == 0)
			rc = wtl_player_take(player, WTL_SINGLE_CHANGE_BY, &by);
		if (rc == 0)
			rc = find_changed(player, slot, field, by, &at);
		if (rc == 0)
			rc = apply(player, at, field, by, duration_ns);
	}
	if (rc == 0 && player->is_first_list)
		rc = remove_unlisted(player);
	return rc;
}

static int restore_weight(struct wtl_player *player)
{
	int64_t weight = WTL_WEIGHT_CPU_TIME;
	int rc = wtl_player_take(player, WTL_SINGLE_SCAN_WEIGHT, &weight);

	if (rc == 0 && (weight < 0 || weight >= WTL_WEIGHTS))
		rc = -EBADMSG;
	if (player->is_learned)
		weight = WTL_WEIGHT_LEARNED;
	else if (weight == WTL_WEIGHT_LEARNED)
		weight = WTL_WEIGHT_CPU_TIME; /* as those were recorded, too */
	if (rc == 0)
		wtl_workload_restore_weight(wtl_consumers_workload(player->consumers),
					    (enum wtl_weight)weight);
	return rc;
}

/* The busy time must not be more than the capacity, if that is known. */
static bool is_good(const struct wtl_workload_scan *scan)
{
	return wtl_store_is_mono(scan->t_mono_ns) && wtl_store_is_mono(scan->duration_ns) &&
	       scan->capacity_ns >= 0 && scan->busy_ns >= 0 &&
	       (scan->capacity_ns == 0 || scan->busy_ns <= scan->capacity_ns);
}

static int take_scan(struct wtl_player *player, struct wtl_workload_scan *scan)
{
	int rc = wtl_player_take(player, WTL_SINGLE_SCAN_MONO, &scan->t_mono_ns);

	if (rc == 0)
		rc = wtl_player_take(player, WTL_SINGLE_SCAN_DURATION, &scan->duration_ns);
	if (rc == 0)
		rc = wtl_player_take(player, WTL_SINGLE_SCAN_CAPACITY, &scan->capacity_ns);
	if (rc == 0)
		rc = wtl_player_take(player, WTL_SINGLE_SCAN_BUSY, &scan->busy_ns);
	if (rc == 0 && !is_good(scan))
		rc = -EBADMSG;
	if (rc == 0)
		rc = restore_weight(player);
	if (rc == 0)
		rc = take_list(player, WTL_SINGLE_SCAN_USES, take_use, &scan->n_uses);
	if (rc == 0)
		rc = take_list(player, WTL_SINGLE_SCAN_FOLDS, take_fold, &scan->n_folds);
	scan->uses = player->uses;
	scan->folds = player->folds;
	return rc;
}

int wtl_player_restore_scan(struct wtl_player *player)
{
	struct wtl_workload_scan scan = {.n_uses = 0};
	int rc = take_scan(player, &scan);

	for (size_t i = 0; rc == 0 && i < player->n_gpus; i++)
		rc = restore_gpu(player, i);
	if (rc == 0)
		rc = wtl_player_restore_changes(player, scan.duration_ns);
	wtl_player_forget_folded(player);
	if (rc < 0)
		return rc;
	/* Use from before the first scan that was read is nobody's. */
	if (player->lost_before && !player->has_scans)
		wtl_player_begin_counts(player);
	if (player->n_stale > 0) {
		rc = wtl_player_fold_stale(player, &scan);
		if (rc < 0)
			return rc;
	}
	if (player->lost_before) {
		scan.uses = &unseen_alone;
		scan.n_uses = 1;
		scan.capacity_ns = scan.busy_ns = 0; /* nothing is learned from it */
		player->lost_before = false;
	}
	wtl_workload_restore_scan(wtl_consumers_workload(player->consumers), &scan);
	return 0;
}
