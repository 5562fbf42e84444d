/* SPDX-License-Identifier: MIT */
/* How a player handles a stretch that cannot be read: what is uncertain becomes a gap, or is nobody's energy. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "energy/attribution.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "replay/player_state.h"
#include "workload/workload.h"

/* ---- Counters ---- */

struct stretch {
	struct wtl_player *player;
	int64_t from_ns, to_ns; /* the samples on both sides */
};

/* A window that was open throughout has figures of the live meter, which missed nothing. If they
 * have neither a gap nor a reset, the counter just went on, and the machine did not sleep. */
static int find_certain(void *context, const struct wtl_stored_window *window)
{
	const struct stretch *stretch = context;
	struct wtl_player *player = stretch->player;

	if (window->begin_mono_ns > stretch->from_ns ||
	    window->begin_mono_ns + window->duration_ns < stretch->to_ns ||
	    window->n_energies != wattle_meter_domains(player->meter))
		return 0;
	for (size_t i = 0; i < window->n_energies; i++) {
		const struct wattle_energy *energy = &window->energies[i];

		if (energy->has_energy && energy->gap_ns == 0 &&
		    !(energy->flags & WATTLE_ENERGY_RESET))
			player->is_certain[i] = true;
	}
	return 0;
}

int wtl_player_resume(struct wtl_player *player, int64_t from_ns)
{
	const struct stretch stretch = {
		.player = player, .from_ns = from_ns, .to_ns = player->sampled_ns};
	struct wattle_meter *meter = player->meter;

	player->is_broken = false;
	player->caught_up = 0;
	memset(player->is_certain, 0, meter->n_domains * sizeof(*player->is_certain));
	/* If the table is damaged as well, nothing is certain. */
	if (wtl_store_each_window(player->reader, find_certain, (void *)(uintptr_t)&stretch) ==
	    -ENOMEM)
		return -ENOMEM;
	for (size_t i = 0; i < meter->n_domains; i++) {
		struct wtl_domain_state *line = &meter->domains[i];

		if (line->account && !player->is_certain[i])
			wtl_account_break(line->account);
		if (line->check)
			wtl_account_break(line->check);
	}
	return 0;
}

/* ---- Accounts of consumers ---- */

int wtl_player_note_stale(struct wtl_player *player, uint32_t slot)
{
	if (wtl_array_reserve(&player->stale, &player->stale_room, player->n_stale + 1,
			      sizeof(player->stale[0])) < 0)
		return -ENOMEM;
	player->stale[player->n_stale++] = slot;
	return 0;
}

int wtl_player_fold_stale(struct wtl_player *player, struct wtl_workload_scan *scan)
{
	size_t n = player->n_stale;

	if (wtl_array_reserve(&player->folds, &player->folds_room, scan->n_folds + n,
			      sizeof(player->folds[0])) < 0)
		return -ENOMEM;
	if (scan->n_folds > 0)
		memmove(player->folds + n, player->folds, scan->n_folds * sizeof(player->folds[0]));
	for (size_t i = 0; i < n; i++)
		player->folds[i] =
			(struct wtl_fold){.from = player->stale[i], .into = WTL_SLOT_UNSEEN};
	scan->folds = player->folds;
	scan->n_folds += n;
	player->n_stale = 0;
	return 0;
}

/* ---- Windows ---- */

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
	if (row->n_energies != sought->n_domains || (!row->is_open && row->duration_ns == 0))
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

/* It ended or was cancelled within the missing stretch: the table has its figures. */
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
		wattle_window_cancel(player->meter, window->meter_name);
		played->kind = WTL_PLAYED_ENDED;
		played->window = sought.figures;
		played->energies = player->energies;
		wtl_player_note_ended(player, window, &sought.figures);
	} else {
		wtl_player_cancel(player, window);
		played->kind = WTL_PLAYED_CANCELLED;
	}
	wtl_player_report_window(played, window);
}

static int begin_late(struct wtl_player *player, struct wtl_played_window *window,
		      struct wtl_played *played)
{
	player->io.mono_ns = player->sampled_ns;
	player->io.utc_ns = wtl_player_utc(player, player->sampled_ns);
	if (wattle_window_begin(player->meter, window->meter_name) < 0)
		return 0;
	wtl_player_begin_accounts(player);
	wtl_player_note_begun(player, window, window->begin_utc_ns - window->begin_mono_ns);
	played->kind = WTL_PLAYED_BEGUN;
	/* A window that begins with the first sample after the stretch has lost nothing. */
	played->is_cut = window->begin_mono_ns < player->sampled_ns;
	wtl_player_report_window(played, window);
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
