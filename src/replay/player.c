/* SPDX-License-Identifier: MIT */
#include "replay/player.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "replay/player_state.h"
#include "workload/workload.h"

/* ---- Samples ---- */

static int play_sample(struct wtl_player *player, struct wtl_played *played)
{
	int64_t before_ns = player->sampled_ns;
	int rc = wtl_player_take_sample(player);

	if (rc == 0 && player->is_broken)
		rc = wtl_player_resume(player, before_ns);
	if (rc < 0)
		return rc;
	played->t_mono_ns = player->io.mono_ns;
	switch (wtl_player_peek_op(player)) {
	case WTL_OP_BEGIN:
		player->cursors[WTL_SINGLE_OP].at++;
		return wtl_player_begin_window(player, played);
	case WTL_OP_END:
		player->cursors[WTL_SINGLE_OP].at++;
		return wtl_player_end_window(player, played);
	default:
		wattle_meter_tick(player->meter);
		return 0;
	}
}

/* ---- Bills ---- */

static const struct wtl_played_window own_window = {.meter_name = "here"};

static int play_bill(struct wtl_player *player, struct wtl_played *played)
{
	struct wattle_window window = player->ended_window;
	const struct wtl_played_window *main = &own_window;
	int64_t utc_ns;

	if (wtl_player_take(player, WTL_SINGLE_BILL_UTC, &utc_ns) < 0 || !wtl_store_is_utc(utc_ns))
		return -EBADMSG;
	if (!player->main_is_own)
		main = wtl_player_find_window(player, player->main_window);
	if (!main)
		return -EBADMSG;
	if (player->main_is_own || !player->main_ended) {
		/* Bills are in the window's own time: UTC as it was set since does not count. */
		int64_t mono_ns = utc_ns - player->bill_offset_ns;

		if (!wtl_store_is_mono(mono_ns) || mono_ns < player->sampled_ns)
			return -EBADMSG;
		player->io.mono_ns = mono_ns;
		if (wtl_window_look(player->meter, main->meter_name, &window, player->energies,
				    wattle_meter_domains(player->meter)) < 0)
			return -EBADMSG;
	}
	wtl_consumers_reach(player->consumers, player->io.mono_ns);
	wtl_consumers_bill(player->consumers, player->energies, utc_ns);
	memcpy(player->billed, player->energies,
	       wattle_meter_domains(player->meter) * sizeof(*player->billed));
	player->billed_window = window;
	player->was_billed = true;
	played->kind = WTL_PLAYED_BILLED;
	played->scanned_ns = utc_ns - player->bill_offset_ns;
	played->t_mono_ns = window.begin_mono_ns + window.duration_ns;
	played->window = window;
	played->energies = player->billed;
	wtl_player_report_window(played, main);
	return 0;
}

/* The file's accounts start again, the player's go on. The energy since the last bill goes to the next scan's. */
static int skip_reset(struct wtl_player *player, struct wtl_played *played)
{
	int rc;

	player->main_window = 0;
	wtl_consumers_bill(player->consumers, player->energies, played->t_mono_ns);
	player->skips_reset = true;
	rc = wtl_player_restore_changes(player, 0);
	player->skips_reset = false;
	return rc;
}

/* A ring has dropped what was before, or the recording began late. Accounts and windows
 * begin with the first scan, which has what every consumer had used until then. */
static int begin_behind_dropped(struct wtl_player *player, struct wtl_played *played)
{
	int64_t utc_ns;

	if (wtl_player_take(player, WTL_SINGLE_BILL_UTC, &utc_ns) < 0)
		return -EBADMSG;
	wtl_consumers_begin(player->consumers);
	wtl_player_begin_counts(player);
	player->main_window = 0;
	player->is_behind_dropped = false;
	played->t_mono_ns = player->io.mono_ns;
	return 0;
}

/* A scan is followed by a bill or a reset; else the recording is damaged. */
static int play_scan(struct wtl_player *player, struct wtl_played *played)
{
	int64_t op = wtl_player_peek_op(player);
	int rc;

	if (op != WTL_OP_BILLED && op != WTL_OP_RESET)
		return -EBADMSG;
	if (player->policy.skips_use) {
		player->cursors[WTL_SINGLE_OP].at++;
		played->kind = WTL_PLAYED_SETTLED;
		played->t_mono_ns = player->io.mono_ns;
		return 0;
	}
	rc = wtl_player_restore_scan(player);
	if (rc < 0)
		return rc;
	player->has_scans = true;
	player->cursors[WTL_SINGLE_OP].at++;
	if (op == WTL_OP_BILLED && player->is_behind_dropped)
		return begin_behind_dropped(player, played);
	if (op == WTL_OP_BILLED)
		return play_bill(player, played);
	player->is_behind_dropped = false;
	played->t_mono_ns = player->io.mono_ns;
	if (player->main_is_own)
		return skip_reset(player, played);
	wtl_player_reset_accounts(player);
	played->kind = WTL_PLAYED_RESET;
	rc = wtl_player_restore_changes(player, 0);
	wtl_consumers_reset_gpu_watts(player->consumers);
	return rc;
}

/* ---- The rest ---- */

static int play_second(struct wtl_player *player, struct wtl_played *played)
{
	bool has_rss = player->cursors[WTL_SINGLE_SECOND_RSS].n > 0;
	int64_t utc_ns;

	if (wtl_player_take(player, WTL_SINGLE_SECOND_MONO, &played->t_mono_ns) < 0 ||
	    wtl_player_take(player, WTL_SINGLE_SECOND_UTC, &utc_ns) < 0 ||
	    wtl_player_take(player, WTL_SINGLE_SECOND_CPU, &played->self_cpu_ns) < 0 ||
	    (has_rss &&
	     wtl_player_take(player, WTL_SINGLE_SECOND_RSS, &played->self_rss_bytes) < 0))
		return -EBADMSG;
	if (!wtl_store_is_mono(played->t_mono_ns) || !wtl_store_is_utc(utc_ns) ||
	    played->self_cpu_ns < 0 || played->self_rss_bytes < 0)
		return -EBADMSG;
	played->kind = WTL_PLAYED_SECOND;
	return 0;
}

static int play_devices(struct wtl_player *player, struct wtl_played *played)
{
	int64_t gpu, number, value;
	size_t n;

	if (wtl_player_count(player, WTL_SINGLE_DEVICES, &n) < 0)
		return -EBADMSG;
	if (wtl_array_reserve(&player->devices, &player->devices_room, n,
			      sizeof(player->devices[0])) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (wtl_player_take(player, WTL_SINGLE_DEVICE_GPU, &gpu) < 0 ||
		    wtl_player_take(player, WTL_SINGLE_DEVICE_NUMBER, &number) < 0 ||
		    wtl_player_take(player, WTL_SINGLE_DEVICE_VALUE, &value) < 0 || number < 0 ||
		    number >= WTL_DEVICE_NUMBERS || gpu < -1 || gpu > INT32_MAX)
			return -EBADMSG;
		player->devices[i] =
			(struct wtl_device_value){.gpu = (int32_t)gpu,
						  .number = (enum wtl_device_number)number,
						  .value = value};
	}
	played->kind = WTL_PLAYED_DEVICES;
	played->t_mono_ns = player->io.mono_ns;
	played->devices = player->devices;
	played->n_devices = n;
	return 0;
}

static int play_op(struct wtl_player *player, int64_t op, struct wtl_played *played)
{
	switch (op) {
	case WTL_OP_SAMPLE:
		return play_sample(player, played);
	case WTL_OP_BEGIN:
	case WTL_OP_END:
		/* After the sample that the meter was opened with, that is taken once more. */
		player->io.mono_ns = player->sampled_ns;
		return op == WTL_OP_BEGIN ? wtl_player_begin_window(player, played)
					  : wtl_player_end_window(player, played);
	case WTL_OP_CANCEL:
		return wtl_player_cancel_window(player, played);
	case WTL_OP_SCAN:
		return play_scan(player, played);
	case WTL_OP_SECOND:
		return play_second(player, played);
	case WTL_OP_DEVICES:
		return play_devices(player, played);
	case WTL_OP_SETTLED:
	case WTL_OP_MACHINE_CHANGED:
		if (op == WTL_OP_SETTLED)
			wtl_consumers_settle(player->consumers);
		else
			wtl_consumers_machine_changed(player->consumers);
		played->kind = WTL_PLAYED_SETTLED;
		played->t_mono_ns = player->io.mono_ns;
		return 0;
	default:
		return -EBADMSG;
	}
}

static int report(const struct wtl_player *player, struct wtl_played *played)
{
	played->t_utc_ns = wtl_player_utc(player, played->t_mono_ns);
	return 1;
}

/* Reports what was skipped when opening, and windows that go on after it. 1: one of those is in *played. */
static int report_waiting(struct wtl_player *player, struct wtl_played *played)
{
	if (player->lost_first.text[0]) {
		*played = player->lost_first;
		player->lost_first.text[0] = '\0';
		return report(player, played);
	}
	if (player->is_behind_dropped || !wtl_player_catch_up(player, played))
		return 0;
	return report(player, played);
}

int wtl_player_step(struct wtl_player *player, struct wtl_played *ret_played, struct wtl_err *err)
{
	const struct wtl_workload_scan nothing = {.n_uses = 0};
	char text[sizeof(ret_played->text)];
	int64_t op;
	int rc;

	memset(ret_played, 0, sizeof(*ret_played));
	rc = report_waiting(player, ret_played);
	if (rc > 0)
		return rc;
	while (!player->has_period || wtl_player_peek_op(player) < 0) {
		rc = wtl_player_load_period(player, ret_played, err);
		if (rc <= 0)
			return rc;
		if (!player->has_period)
			return report(player, ret_played);
	}
	wtl_player_take(player, WTL_SINGLE_OP, &op);
	rc = play_op(player, op, ret_played);
	if (rc == -EBADMSG) {
		/* The last scan points into this player's arrays, which will change: so an empty one replaces it. */
		wtl_workload_restore_scan(wtl_consumers_workload(player->consumers), &nothing);
		snprintf(text, sizeof(text), "the rest of period %zu is not what it should be",
			 player->period);
		wtl_player_note_lost(player, ret_played, text);
		rc = 0;
	}
	if (rc < 0)
		return wtl_err_set(err, rc, "recording", NULL, "%s", wtl_err_text(rc));
	return report(player, ret_played);
}

void wtl_player_sample_again(struct wtl_player *player)
{
	player->io.mono_ns = player->sampled_ns;
}

int wtl_player_begin_here(struct wtl_player *player, int64_t at_ns)
{
	int64_t after_ns = player->io.after_ns;
	int rc;

	if (player->main_is_own)
		wattle_window_cancel(player->meter, own_window.meter_name);
	wtl_consumers_begin(player->consumers);
	wtl_player_begin_counts(player);
	player->main_is_own = true;
	player->was_billed = false;
	memset(player->energies, 0,
	       wattle_meter_domains(player->meter) * sizeof(*player->energies));
	if (at_ns > after_ns)
		player->io.after_ns = at_ns;
	wtl_player_sample_again(player);
	rc = wattle_window_begin(player->meter, own_window.meter_name);
	player->io.after_ns = after_ns;
	return rc;
}

void wtl_player_take_figures(struct wtl_player *player)
{
	const struct wtl_played_window *main =
		player->main_is_own ? &own_window
				    : wtl_player_find_window(player, player->main_window);
	size_t n = wattle_meter_domains(player->meter);

	if (player->has_scans || !main || (player->main_ended && !player->main_is_own))
		return;
	player->io.mono_ns = player->io.after_ns;
	if (wtl_window_look(player->meter, main->meter_name, &player->billed_window,
			    player->energies, n) < 0)
		return;
	memcpy(player->billed, player->energies, n * sizeof(*player->billed));
	player->was_billed = true;
}
