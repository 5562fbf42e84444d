/* SPDX-License-Identifier: MIT */
/* What a player says of where it stands. */
#include <errno.h>

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

int64_t wtl_player_boot_utc(const struct wtl_player *player)
{
	return player->utc_offset_ns - player->io.asleep_ns;
}

int64_t wtl_player_utc(const struct wtl_player *player, int64_t t_mono_ns)
{
	return wtl_wall_utc(&player->wall, t_mono_ns);
}

const struct wtl_wall *wtl_player_wall(const struct wtl_player *player)
{
	return &player->wall;
}

/* What becomes different about consumers has series where there are any. */
bool wtl_player_follows(const struct wtl_player *player)
{
	return player->cursors[WTL_SINGLE_CHANGES].series >= 0;
}

bool wtl_player_has_looks(const struct wtl_player *player)
{
	return player->has_looks;
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

const struct wtl_reading *wtl_player_readings(const struct wtl_player *player)
{
	return player->readings;
}

uint32_t wtl_player_main_window(const struct wtl_player *player)
{
	return player->main_is_own ? 0 : player->main_window;
}

int wtl_player_window(const struct wtl_player *player, uint32_t id,
		      struct wattle_window *ret_window, struct wattle_energy energies[])
{
	const struct wtl_played_window *window = wtl_player_find_window(player, id);

	if (!window || !window->is_open)
		return -ENOENT;
	return wtl_window_look(player->meter, window->told_name, ret_window, energies,
			       wattle_meter_domains(player->meter));
}
