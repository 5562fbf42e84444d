/* SPDX-License-Identifier: MIT */
/* A player's windows: begun and ended as they were, and those whose begin or end is missing. */
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

	if (wtl_player_take(player, WTL_CURSOR_WINDOW_ID, &id) < 0)
		return -EBADMSG;
	*ret_window = wtl_player_find_window(player, id);
	return 0;
}

/* When a window begins or ends: not before the sample that it is with. */
static int take_mono(struct wtl_player *player, int64_t *ret_mono_ns)
{
	if (wtl_player_take(player, WTL_CURSOR_WINDOW_MONO, ret_mono_ns) < 0 ||
	    !wtl_player_is_mono(*ret_mono_ns) || *ret_mono_ns < player->sampled_ns)
		return -EBADMSG;
	player->io.after_ns = *ret_mono_ns;
	return 0;
}

void wtl_player_tell_window(struct wtl_played *played, const struct wtl_played_window *window)
{
	played->window_id = window->id;
	played->window_pid = window->pid;
	snprintf(played->window_name, sizeof(played->window_name), "%s", window->name);
}

/* The first one to begin is the one that energy is billed by. */
static void note_begun(struct wtl_player *player, struct wtl_played_window *window,
		       int64_t utc_offset_ns)
{
	window->is_open = window->has_begun = true;
	if (player->main_window)
		return;
	player->main_window = window->id;
	player->main_ended = false;
	player->bill_offset_ns = utc_offset_ns;
}

static void note_ended(struct wtl_player *player, struct wtl_played_window *window,
		       const struct wattle_window *figures)
{
	window->is_open = false;
	if (window->id != player->main_window)
		return;
	player->main_ended = true;
	player->ended_window = *figures;
}

int wtl_player_begin_window(struct wtl_player *player, struct wtl_played *played)
{
	struct wtl_played_window *window;
	int64_t mono_ns, utc_ns;

	if (take_window(player, &window) < 0 || take_mono(player, &mono_ns) < 0 ||
	    wtl_player_take(player, WTL_CURSOR_WINDOW_UTC, &utc_ns) < 0 ||
	    !wtl_player_is_utc(utc_ns))
		return -EBADMSG;
	player->io.utc_ns = utc_ns;
	player->utc_offset_ns = utc_ns - mono_ns;
	played->kind = WTL_PLAYED_BEGUN;
	played->t_mono_ns = mono_ns;
	if (!window || window->is_open ||
	    wattle_window_begin(player->meter, window->told_name) < 0) {
		wattle_meter_tick(player->meter);
		played->kind = WTL_PLAYED_SAMPLE;
		return 0;
	}
	note_begun(player, window, player->utc_offset_ns);
	wtl_player_tell_window(played, window);
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
	    wattle_window_end(player->meter, window->told_name, &played->window, player->energies,
			      wattle_meter_domains(player->meter)) < 0) {
		wattle_meter_tick(player->meter);
		played->kind = WTL_PLAYED_SAMPLE;
		return 0;
	}
	played->energies = player->energies;
	wtl_player_tell_window(played, window);
	note_ended(player, window, &played->window);
	return 0;
}

static void cancel(struct wtl_player *player, struct wtl_played_window *window)
{
	wattle_window_cancel(player->meter, window->told_name);
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
	cancel(player, window);
	wtl_player_tell_window(played, window);
	return 0;
}

/* ---- What is missing ---- */

struct sought {
	const struct wtl_played_window *window;
	struct wattle_window figures;
	struct wattle_energy *energies;
	size_t n_domains;
	bool is_found;
};

static int seek(void *context, const struct wtl_stored_window *row)
{
	struct sought *sought = context;

	if (row->id != sought->window->id)
		return 0;
	if (row->n_energies != sought->n_domains)
		return 1;
	sought->figures = (struct wattle_window){
		.begin_utc_ns = row->begin_utc_ns,
		.begin_mono_ns = row->begin_mono_ns,
		.duration_ns = row->duration_ns,
		.total = row->total,
	};
	memcpy(sought->energies, row->energies, row->n_energies * sizeof(*sought->energies));
	sought->is_found = true;
	return 1;
}

/* It ended, or was cancelled, in what is missing: the table has its figures. */
static void end_late(struct wtl_player *player, struct wtl_played_window *window,
		     struct wtl_played *played)
{
	struct sought sought = {
		.window = window,
		.energies = player->energies,
		.n_domains = wattle_meter_domains(player->meter),
	};

	wtl_store_each_window(player->reader, seek, &sought);
	if (sought.is_found) {
		wattle_window_cancel(player->meter, window->told_name);
		played->kind = WTL_PLAYED_ENDED;
		played->window = sought.figures;
		played->energies = player->energies;
		note_ended(player, window, &sought.figures);
	} else {
		cancel(player, window);
		played->kind = WTL_PLAYED_CANCELLED;
	}
	wtl_player_tell_window(played, window);
}

/* Accounts begin with a window: where the one before is over, they began anew in what is missing. */
static int begin_late(struct wtl_player *player, struct wtl_played_window *window,
		      struct wtl_played *played)
{
	player->io.mono_ns = player->sampled_ns;
	player->io.utc_ns = wtl_player_utc(player, player->sampled_ns);
	if (wattle_window_begin(player->meter, window->told_name) < 0)
		return 0;
	if (player->main_ended && !player->main_is_own) {
		wtl_consumers_begin(player->consumers);
		player->main_window = 0;
		player->was_billed = false;
	}
	note_begun(player, window, window->begin_utc_ns - window->begin_mono_ns);
	played->kind = WTL_PLAYED_BEGUN;
	played->is_cut = true;
	wtl_player_tell_window(played, window);
	return 1;
}

int wtl_player_catch_up(struct wtl_player *player, struct wtl_played *played)
{
	int rc = 0;

	while (rc == 0 && player->caught_up < player->n_windows) {
		struct wtl_played_window *window = &player->windows[player->caught_up++];
		bool is_over = window->end_mono_ns <= player->sampled_ns;

		played->t_mono_ns = player->sampled_ns;
		if (window->is_open && is_over) {
			end_late(player, window, played);
			rc = 1;
		} else if (!window->has_begun && !is_over &&
			   window->begin_mono_ns <= player->sampled_ns) {
			rc = begin_late(player, window, played);
		}
	}
	return rc;
}
