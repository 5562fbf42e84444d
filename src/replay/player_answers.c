/* SPDX-License-Identifier: MIT */
/* What can be asked of a player between two steps. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "meter/meter.h"
#include "replay/player_state.h"

struct wattle_meter *wtl_player_meter(struct wtl_player *player)
{
	return player->meter;
}

struct wtl_consumers *wtl_player_consumers(struct wtl_player *player)
{
	return player->consumers;
}

struct wtl_store_reader *wtl_player_reader(struct wtl_player *player)
{
	return player->reader;
}

int64_t wtl_player_mono(const struct wtl_player *player)
{
	return player->io.mono_ns;
}

int64_t wtl_player_start_utc(const struct wtl_player *player, int64_t start_ns)
{
	int64_t slept_ns = wtl_wall_slept(&player->wall, player->io.mono_ns);

	if (start_ns == 0 || !wtl_store_is_mono(start_ns))
		return 0;
	/* Sleep before the recording began is not in the wall clock's table. */
	return wtl_wall_utc_awake(&player->wall, start_ns - player->io.asleep_ns + slept_ns);
}

bool wtl_player_learned(const struct wtl_player *player, int64_t t_utc_ns, int64_t *ret_mono_ns)
{
	int64_t mono_ns;

	if (__builtin_sub_overflow(t_utc_ns, player->bill_offset_ns, &mono_ns) ||
	    player->wall.n == 0 || mono_ns < player->wall.points[0].mono_ns ||
	    mono_ns > player->io.mono_ns)
		return false;
	*ret_mono_ns = mono_ns;
	return true;
}

int64_t wtl_player_utc(const struct wtl_player *player, int64_t t_mono_ns)
{
	return wtl_wall_utc(&player->wall, t_mono_ns);
}

const struct wtl_wall *wtl_player_wall(const struct wtl_player *player)
{
	return &player->wall;
}

bool wtl_player_has_scans(const struct wtl_player *player)
{
	return player->has_scans;
}

bool wtl_player_billed(const struct wtl_player *player, struct wattle_window *ret_window,
		       const struct wattle_energy **ret_energies)
{
	*ret_window = player->billed_window;
	*ret_energies = player->billed;
	return player->was_billed;
}

const char *wtl_player_user(const struct wtl_player *player, uint32_t uid)
{
	for (size_t i = 0; i < player->n_users; i++)
		if (player->users[i].uid == uid)
			return player->users[i].name;
	return "";
}

void wtl_player_name_user(const struct wtl_player *player, uint32_t uid, char *name, size_t size)
{
	const char *recorded = wtl_player_user(player, uid);

	if (recorded[0] || uid == UINT32_MAX)
		snprintf(name, size, "%s", uid == UINT32_MAX ? "" : recorded);
	else
		snprintf(name, size, "%" PRIu32, uid);
}

const struct wtl_reading *wtl_player_readings(const struct wtl_player *player)
{
	return player->readings;
}

uint32_t wtl_player_main_window(const struct wtl_player *player)
{
	return player->main_is_own ? 0 : player->main_window;
}

bool wtl_player_is_measurement(const struct wtl_player *player, uint32_t id)
{
	return id && id == player->main_window;
}
