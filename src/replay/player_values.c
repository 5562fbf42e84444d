/* SPDX-License-Identifier: MIT */
/* What a player reads of a recording's series. */
#include <errno.h>
#include <stdio.h>

#include "base/err.h"
#include "replay/player_state.h"

/* ---- Values, one after the other ---- */

int wtl_player_next(struct wtl_cursor *cursor, int64_t *ret_value)
{
	if (cursor->at == cursor->n)
		return -EBADMSG;
	*ret_value = cursor->values[cursor->at++];
	return 0;
}

int wtl_player_take(struct wtl_player *player, enum wtl_single id, int64_t *ret_value)
{
	return wtl_player_next(&player->cursors[id], ret_value);
}

int wtl_player_count(struct wtl_player *player, enum wtl_single id, size_t *ret_n)
{
	int64_t n;
	int rc = wtl_player_take(player, id, &n);

	if (rc < 0)
		return rc;
	/* The things that are counted are in the next series. */
	if (n < 0 || (uint64_t)n > player->cursors[id + 1].n - player->cursors[id + 1].at)
		return -EBADMSG;
	*ret_n = (size_t)n;
	return 0;
}

static bool is_of_use(enum wtl_single id)
{
	return (id >= WTL_SINGLE_SCAN_MONO && id <= WTL_SINGLE_BILL_UTC) ||
	       id >= WTL_SINGLE_CHANGES;
}

void wtl_player_find_series(struct wtl_player *player)
{
	bool skips_use = player->policy.skips_use;
	char name[WTL_STORE_NAME_SIZE];

	for (enum wtl_single i = 0; i < WTL_SINGLES; i++)
		player->cursors[i].series =
			skips_use && is_of_use(i)
				? -1
				: wtl_store_find(player->reader, wtl_single_names[i]);
	for (size_t i = 0; i < player->n_channels; i++)
		for (enum wtl_of_channel k = 0; k < WTL_OF_CHANNEL; k++) {
			wtl_channel_series_name(i, k, name);
			player->channel_cursors[i].of[k].series =
				wtl_store_find(player->reader, name);
		}
	for (size_t i = 0; i < player->n_gpus; i++)
		for (enum wtl_of_gpu k = 0; k < WTL_OF_GPU; k++) {
			wtl_gpu_series_name(i, k, name);
			player->gpus[i].of[k].series =
				skips_use ? -1 : wtl_store_find(player->reader, name);
		}
}

/* ---- Periods ---- */

static int load(struct wtl_player *player, struct wtl_cursor *cursor, struct wtl_err *err)
{
	cursor->at = cursor->n = 0;
	if (cursor->series < 0)
		return 0;
	return wtl_store_values(player->reader, (uint32_t)cursor->series, player->period,
				&cursor->values, &cursor->n, err);
}

static int load_all(struct wtl_player *player, struct wtl_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < WTL_SINGLES; i++)
		rc = load(player, &player->cursors[i], err);
	for (size_t i = 0; i < player->n_channels; i++)
		for (size_t k = 0; rc == 0 && k < WTL_OF_CHANNEL; k++)
			rc = load(player, &player->channel_cursors[i].of[k], err);
	for (size_t i = 0; i < player->n_gpus; i++)
		for (size_t k = 0; rc == 0 && k < WTL_OF_GPU; k++)
			rc = load(player, &player->gpus[i].of[k], err);
	return rc;
}

int wtl_player_load_period(struct wtl_player *player, struct wtl_played *played,
			   struct wtl_err *err)
{
	struct wtl_store_period period;
	struct wtl_err why = {.code = 0};
	int rc;

	if (player->period >= wtl_store_periods(player->reader))
		return 0;
	rc = load_all(player, &why);
	if (rc == -ENOMEM)
		return wtl_err_set(err, rc, "recording", NULL, "out of memory");
	if (wtl_store_period(player->reader, player->period, &period) == 0 &&
	    wtl_store_is_mono(period.begin_mono_ns) && wtl_store_is_utc(period.begin_utc_ns))
		player->io.mono_ns = period.begin_mono_ns;
	player->period++;
	player->has_period = rc == 0;
	player->is_first_list = true;
	if (rc < 0)
		wtl_player_note_lost(player, played, why.text);
	return 1;
}

/* ---- Samples ---- */

static int take_reading(struct wtl_channel_cursors *channel, int64_t begin_ns,
			struct wtl_reading *reading)
{
	int64_t at_ns, value, half_ns, state, error = 0;

	if (wtl_player_next(&channel->of[WTL_CHANNEL_AT], &at_ns) < 0)
		return -EBADMSG;
	if (at_ns == 0)
		return 0;
	if (wtl_player_next(&channel->of[WTL_CHANNEL_VALUE], &value) < 0 ||
	    wtl_player_next(&channel->of[WTL_CHANNEL_HALF], &half_ns) < 0 ||
	    wtl_player_next(&channel->of[WTL_CHANNEL_STATE], &state) < 0)
		return -EBADMSG;
	if ((state & ~WTL_STATE_ANEW) != WATTLE_STATUS_OK &&
	    wtl_player_next(&channel->of[WTL_CHANNEL_ERROR], &error) < 0)
		return -EBADMSG;
	if (state < 0 || (state & ~WTL_STATE_ANEW) > WATTLE_STATUS_ABSENT)
		return -EBADMSG;
	if (__builtin_add_overflow(at_ns, begin_ns - (at_ns > 0), &at_ns) ||
	    !wtl_store_is_mono(at_ns) || !wtl_store_is_span(half_ns))
		return -EBADMSG;
	*reading = (struct wtl_reading){
		.t_mono_ns = at_ns,
		.half_ns = half_ns,
		.value = (uint64_t)value,
		.anew = state & WTL_STATE_ANEW,
		.status = (enum wattle_status)(state & ~WTL_STATE_ANEW),
		.error = (int)error,
	};
	return 0;
}

int wtl_player_take_sample(struct wtl_player *player)
{
	int64_t begin_ns, took_ns, asleep_ns;
	int rc;

	if (wtl_player_take(player, WTL_SINGLE_SAMPLE_MONO, &begin_ns) < 0 ||
	    wtl_player_take(player, WTL_SINGLE_SAMPLE_TOOK, &took_ns) < 0 ||
	    wtl_player_take(player, WTL_SINGLE_SAMPLE_ASLEEP, &asleep_ns) < 0)
		return -EBADMSG;
	if (!wtl_store_is_mono(begin_ns) || !wtl_store_is_span(took_ns) ||
	    !wtl_store_is_mono(asleep_ns) || begin_ns < player->sampled_ns ||
	    took_ns > WTL_STORE_MONO_MAX_NS - player->took_ns)
		return -EBADMSG;
	for (size_t i = 0; i < player->n_channels; i++) {
		rc = take_reading(&player->channel_cursors[i], begin_ns, &player->readings[i]);
		if (rc < 0)
			return rc;
	}
	player->io.mono_ns = player->sampled_ns = begin_ns;
	player->took_ns += took_ns;
	player->io.asleep_ns = asleep_ns;
	player->io.after_ns = begin_ns + took_ns;
	player->io.utc_ns = wtl_wall_utc(&player->wall, begin_ns);
	return 0;
}

int64_t wtl_player_peek_op(const struct wtl_player *player)
{
	const struct wtl_cursor *cursor = &player->cursors[WTL_SINGLE_OP];

	if (cursor->at == cursor->n)
		return -1;
	/* An op that does not exist, rather than the end. */
	return cursor->values[cursor->at] < 0 ? WTL_OPS : cursor->values[cursor->at];
}

void wtl_player_note_lost(struct wtl_player *player, struct wtl_played *played, const char *text)
{
	struct wtl_store_period period;

	player->has_period = false;
	player->lost_before = player->lost_reset = player->is_broken = true;
	*played = (struct wtl_played){.kind = WTL_PLAYED_LOST, .t_mono_ns = player->io.mono_ns};
	if (wtl_store_period(player->reader, player->period - 1, &period) == 0 &&
	    wtl_store_is_mono(period.end_mono_ns) && period.end_mono_ns > played->t_mono_ns)
		played->lost_ns = period.end_mono_ns - played->t_mono_ns;
	snprintf(played->text, sizeof(played->text), "%s", text);
}

/* Consumers' changes have series only if consumers were followed. */
bool wtl_player_follows(const struct wtl_player *player)
{
	return player->cursors[WTL_SINGLE_CHANGES].series >= 0;
}
