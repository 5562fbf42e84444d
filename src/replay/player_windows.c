/* SPDX-License-Identifier: MIT */
/* A player's windows, begun and ended as they were. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "meter/consumers.h"
#include "meter/meter.h"
#include "replay/player_state.h"

struct wtl_played_window *wtl_player_find_window(const struct wtl_player *player, int64_t id)
{
	size_t from = 0, to = player->n_windows;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (player->windows[middle].id < id)
			from = middle + 1;
		else
			to = middle;
	}
	return from < player->n_windows && player->windows[from].id == id ? &player->windows[from]
									  : NULL;
}

static int take_window(struct wtl_player *player, struct wtl_played_window **ret_window)
{
	int64_t id;

	if (wtl_player_take(player, WTL_SINGLE_WINDOW_ID, &id) < 0)
		return -EBADMSG;
	*ret_window = wtl_player_find_window(player, id);
	return 0;
}

/* Takes the time of a window's start or end: not before the sample that comes with it. */
static int take_mono(struct wtl_player *player, int64_t *ret_mono_ns)
{
	if (wtl_player_take(player, WTL_SINGLE_WINDOW_MONO, ret_mono_ns) < 0 ||
	    !wtl_store_is_mono(*ret_mono_ns) || *ret_mono_ns < player->sampled_ns)
		return -EBADMSG;
	player->io.after_ns = *ret_mono_ns;
	return 0;
}

void wtl_player_report_window(struct wtl_played *played, const struct wtl_played_window *window)
{
	played->window_id = window->id;
	played->window_pid = window->pid;
	snprintf(played->window_name, sizeof(played->window_name), "%s", window->name);
}

/* If nobody was followed, accounts do not start again: the runs of a repeated command have the same name. */
static bool is_next_run(const struct wtl_player *player, const struct wtl_played_window *window)
{
	const struct wtl_played_window *main = wtl_player_find_window(player, player->main_window);

	return !wtl_player_follows(player) && player->main_ended && main &&
	       strcmp(main->name, window->name) == 0;
}

/* Energy is billed by the first window that begins. */
void wtl_player_note_begun(struct wtl_player *player, struct wtl_played_window *window,
			   int64_t utc_offset_ns)
{
	window->is_open = window->has_begun = true;
	if (player->main_window && !is_next_run(player, window))
		return;
	player->main_window = window->id;
	player->main_ended = false;
	player->bill_offset_ns = utc_offset_ns;
}

void wtl_player_note_ended(struct wtl_player *player, struct wtl_played_window *window,
			   const struct wattle_window *figures)
{
	window->is_open = false;
	if (window->id != player->main_window)
		return;
	player->main_ended = true;
	player->ended_window = *figures;
	if (wtl_player_follows(player))
		return;
	player->billed_window = *figures;
	memcpy(player->billed, player->energies,
	       wattle_meter_domains(player->meter) * sizeof(*player->billed));
	player->was_billed = true;
}

void wtl_player_reset_accounts(struct wtl_player *player)
{
	wtl_consumers_begin(player->consumers);
	wtl_player_forget_past(player);
	player->main_window = 0;
	player->was_billed = player->lost_reset = false;
}

void wtl_player_begin_accounts(struct wtl_player *player)
{
	const struct wtl_played_window *main = wtl_player_find_window(player, player->main_window);

	if (!player->lost_reset || player->main_is_own ||
	    (main && main->is_open && main->end_mono_ns > player->sampled_ns))
		return;
	wtl_player_reset_accounts(player);
}

int wtl_player_begin_window(struct wtl_player *player, struct wtl_played *played)
{
	struct wtl_played_window *window;
	int64_t mono_ns, utc_ns;

	if (take_window(player, &window) < 0 || take_mono(player, &mono_ns) < 0 ||
	    wtl_player_take(player, WTL_SINGLE_WINDOW_UTC, &utc_ns) < 0 ||
	    !wtl_store_is_utc(utc_ns))
		return -EBADMSG;
	player->io.utc_ns = utc_ns;
	played->kind = WTL_PLAYED_BEGUN;
	played->t_mono_ns = mono_ns;
	if (!window || window->is_open ||
	    wattle_window_begin(player->meter, window->meter_name) < 0) {
		wattle_meter_tick(player->meter);
		played->kind = WTL_PLAYED_SAMPLE;
		return 0;
	}
	wtl_player_begin_accounts(player);
	wtl_player_note_begun(player, window, utc_ns - mono_ns);
	wtl_player_report_window(played, window);
	return 0;
}

int wtl_player_end_window(struct wtl_player *player, struct wtl_played *played)
{
	struct wtl_played_window *window;
	int64_t mono_ns;

	if (take_window(player, &window) < 0 || take_mono(player, &mono_ns) < 0)
		return -EBADMSG;
	played->kind = WTL_PLAYED_ENDED;
	played->t_mono_ns = mono_ns;
	if (!window || !window->is_open ||
	    wtl_window_end(player->meter, window->meter_name, &played->window, player->energies,
			   wattle_meter_domains(player->meter)) < 0) {
		wattle_meter_tick(player->meter);
		played->kind = WTL_PLAYED_SAMPLE;
		return 0;
	}
	played->energies = player->energies;
	wtl_player_report_window(played, window);
	wtl_player_note_ended(player, window, &played->window);
	/* Accounts do not start again until their window has ended. */
	if (window->id == player->main_window)
		player->lost_reset = false;
	return 0;
}

void wtl_player_cancel(struct wtl_player *player, struct wtl_played_window *window)
{
	wattle_window_cancel(player->meter, window->meter_name);
	window->is_open = false;
	if (window->id == player->main_window)
		player->main_window = 0;
}

int wtl_player_cancel_window(struct wtl_player *player, struct wtl_played *played)
{
	struct wtl_played_window *window;

	if (take_window(player, &window) < 0)
		return -EBADMSG;
	played->kind = WTL_PLAYED_CANCELLED;
	played->t_mono_ns = player->io.mono_ns;
	if (!window || !window->is_open)
		return 0;
	wtl_player_cancel(player, window);
	wtl_player_report_window(played, window);
	return 0;
}

int wtl_player_window(const struct wtl_player *player, uint32_t id,
		      struct wattle_window *ret_window, struct wattle_energy energies[])
{
	const struct wtl_played_window *window = wtl_player_find_window(player, id);

	if (!window || !window->is_open)
		return -ENOENT;
	return wtl_window_look(player->meter, window->meter_name, ret_window, energies,
			       wattle_meter_domains(player->meter));
}
