/* SPDX-License-Identifier: MIT */
/* A recording, gone by from its begin to its end (or not, where its summary says it all). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"
#include "commands/report/state.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "document/format.h"

/* ---- Windows ---- */

static struct wtl_replay_window *find_window(const struct wtl_replay *replay, uint32_t id)
{
	for (size_t i = replay->n_windows; i-- > 0;)
		if (replay->windows[i].told.id == id)
			return &replay->windows[i];
	return NULL;
}

/* -ENOMEM. */
static struct wtl_replay_window *add_window(struct wtl_replay *replay, uint32_t id,
					    const char *name, int32_t pid)
{
	struct wtl_replay_window *window;

	if (wtl_array_reserve(&replay->windows, &replay->windows_room, replay->n_windows + 1,
			      sizeof(replay->windows[0])) < 0)
		return NULL;
	window = &replay->windows[replay->n_windows];
	*window = (struct wtl_replay_window){.told = {.id = id, .is_open = true, .pid = pid}};
	snprintf(window->name, sizeof(window->name), "%s", name);
	window->energies = calloc(replay->n_domains + 1, sizeof(*window->energies));
	if (!window->energies)
		return NULL;
	replay->n_windows++;
	return window;
}

static int begin_window(struct wtl_replay *replay, const struct wtl_played *played)
{
	struct wtl_replay_window *window;

	if (played->window_id == 0)
		return 0;
	window = add_window(replay, played->window_id, played->window_name, played->window_pid);
	if (!window)
		return -ENOMEM;
	window->told.is_cut = played->is_cut;
	window->told.is_main = wtl_player_is_measurement(replay->player, played->window_id);
	window->told.window.begin_mono_ns = played->t_mono_ns;
	window->told.window.begin_utc_ns = played->t_utc_ns;
	window->emission = replay->emitter.emission;
	return 0;
}

static void drop_window(struct wtl_replay *replay, uint32_t id)
{
	struct wtl_replay_window *window = find_window(replay, id);

	if (!window)
		return;
	free(window->energies);
	replay->n_windows--;
	memmove(window, window + 1,
		(size_t)(&replay->windows[replay->n_windows] - window) * sizeof(*window));
}

static void end_window(struct wtl_replay *replay, const struct wtl_played *played)
{
	struct wtl_replay_window *window = find_window(replay, played->window_id);

	if (!window || !window->told.is_open)
		return;
	window->told.is_open = false;
	window->told.window = played->window;
	memcpy(window->energies, played->energies, replay->n_domains * sizeof(*window->energies));
	window->has_energies = true;
	window->emission = wtl_emission_since(&replay->emitter.emission, &window->emission);
	replay->ended_id = played->window_id;
	replay->has_measured |= window->told.is_main;
	if (wtl_replay_is_waiting(replay))
		drop_window(replay, played->window_id); /* it is none of this part */
}

static void look_at_open_windows(struct wtl_replay *replay)
{
	for (size_t i = 0; i < replay->n_windows; i++) {
		struct wtl_replay_window *window = &replay->windows[i];

		if (!window->told.is_open ||
		    wtl_player_window(replay->player, window->told.id, &window->told.window,
				      window->energies) < 0)
			continue;
		window->has_energies = true;
		window->emission = wtl_emission_since(&replay->emitter.emission, &window->emission);
	}
}

/* ---- Gaps ---- */

static int add_gap(struct wtl_replay *replay, const char *kind, const struct wtl_stored_gap *stored)
{
	struct wtl_replay_gap *gap;

	if (wtl_array_reserve(&replay->gaps, &replay->gaps_room, replay->n_gaps + 1,
			      sizeof(replay->gaps[0])) < 0)
		return -ENOMEM;
	gap = &replay->gaps[replay->n_gaps++];
	*gap = (struct wtl_replay_gap){.kind = kind, .stored = *stored};
	return 0;
}

static const char damaged[] = "damaged";

static int note_lost(struct wtl_replay *replay, const struct wtl_played *played)
{
	struct wtl_stored_gap gap = {.begin_mono_ns = played->t_mono_ns,
				     .duration_ns = played->lost_ns};
	char text[WTL_REMARK_SIZE];

	wtl_replay_tell_lost(played->text, text);
	wtl_remark(replay->app, "%s: %s", replay->path, text);
	wtl_gap_damage(played->text, gap.text, sizeof(gap.text));
	return add_gap(replay, damaged, &gap);
}

const char *wtl_gap_name(enum wtl_gap_kind kind)
{
	switch (kind) {
	case WTL_GAP_SUSPEND:
		return "suspend";
	case WTL_GAP_CLOCK_STEP:
		return "clock-step";
	case WTL_GAP_CHANNEL:
		return "channel";
	case WTL_GAP_OVERRUN:
		return "overrun";
	case WTL_GAP_EXITS:
		return "exits";
	}
	return "unknown";
}

static int take_gap(void *context, const struct wtl_stored_gap *gap)
{
	return add_gap(context, wtl_gap_name(gap->kind), gap);
}

/* ---- Runs ---- */

static int finish_run(struct wtl_replay *replay, const struct wtl_emission *emission)
{
	struct wtl_replay_run *run;
	int rc;

	if (wtl_array_reserve(&replay->runs, &replay->runs_room, replay->n_runs + 1,
			      sizeof(replay->runs[0])) < 0)
		return -ENOMEM;
	run = &replay->runs[replay->n_runs];
	*run = (struct wtl_replay_run){.report = {.command_cpu_ns = -1}};
	rc = wtl_description_init(&run->description, wtl_player_meter(replay->player));
	if (rc == 0)
		replay->n_runs++;
	return rc < 0 ? rc : wtl_replay_describe(replay, run, emission);
}

/* The main window's emissions: from its begin, or from the part's. */
static struct wtl_emission main_emission(struct wtl_replay *replay)
{
	uint32_t id = wtl_player_main_window(replay->player);
	const struct wtl_replay_window *window = id ? find_window(replay, id) : NULL;

	if (window && !window->told.is_open)
		return window->emission;
	return wtl_emission_since(&replay->emitter.emission,
				  window ? &window->emission : &replay->part_emission);
}

/* ---- Going by it ---- */

static bool is_due(const struct wtl_replay_bound *bound, const struct wtl_replay *replay,
		   const struct wtl_played *played)
{
	/* The same moment, whether it is a run or the part that is billed. */
	int64_t t_mono_ns =
		played->kind == WTL_PLAYED_BILLED ? played->looked_ns : played->t_mono_ns;

	return t_mono_ns - replay->begin.begin_mono_ns >= bound->since_ns;
}

bool wtl_replay_has_dropped(const struct wtl_replay *replay)
{
	return wtl_store_has_dropped(wtl_player_reader(replay->player));
}

bool wtl_replay_is_waiting(const struct wtl_replay *replay)
{
	return replay->is_part && !replay->has_begun;
}

/* A part that begins with the measurement does not cut it. */
static bool is_begun_by(const struct wtl_replay *replay, size_t i, const struct wtl_played *played)
{
	return played->kind == WTL_PLAYED_BEGUN && replay->windows[i].told.id == played->window_id;
}

static int begin_part(struct wtl_replay *replay, const struct wtl_played *played)
{
	for (size_t i = 0; i < replay->n_windows; i++)
		replay->windows[i].told.is_cut |= !is_begun_by(replay, i, played);
	replay->has_begun = true;
	replay->part_emission = replay->emitter.emission;
	/* What it took to begin is the first part's. */
	if (replay->from.since_ns > 0)
		replay->part_self_cpu_ns = replay->second.self_cpu_ns;
	return wtl_player_begin_here(replay->player);
}

/*
 * Where a part may begin and end, so that parts that meet add up: where accounts begin first, and with each look
 * at who ran; where nobody was followed, with each sample of the measurement.
 */
static bool can_be_cut(const struct wtl_replay *replay, const struct wtl_played *played)
{
	uint32_t main_window = wtl_player_main_window(replay->player);

	switch (played->kind) {
	case WTL_PLAYED_BILLED:
		return true;
	case WTL_PLAYED_BEGUN:
		if (!replay->has_measured && main_window && played->window_id == main_window)
			return true;
		break;
	case WTL_PLAYED_SAMPLE:
	case WTL_PLAYED_ENDED:
		break;
	case WTL_PLAYED_CANCELLED:
	case WTL_PLAYED_RESET:
	case WTL_PLAYED_SECOND:
	case WTL_PLAYED_DEVICES:
	case WTL_PLAYED_LOST:
		return false;
	}
	return !wtl_player_follows(replay->player) && (main_window || replay->has_begun);
}

/* 1: the part ends here; it may be where it begins. */
static int cut(struct wtl_replay *replay, const struct wtl_played *played)
{
	int rc = 0;

	if (!replay->is_part || !can_be_cut(replay, played))
		return 0;
	if (!replay->has_begun && is_due(&replay->from, replay, played))
		rc = begin_part(replay, played);
	if (rc < 0 || !replay->has_begun)
		return rc;
	return replay->to.is_given && is_due(&replay->to, replay, played);
}

/* What is told of the main window is complete, if that has ended. */
static int take_bill(struct wtl_replay *replay)
{
	struct wtl_emission emission;

	replay->unfinished = true;
	if (replay->is_part || replay->ended_id == 0 ||
	    replay->ended_id != wtl_player_main_window(replay->player))
		return 0;
	replay->ended_id = 0;
	replay->unfinished = false;
	emission = main_emission(replay);
	return finish_run(replay, &emission);
}

/* 1: this was the last step that counts. */
static int take(struct wtl_replay *replay, const struct wtl_played *played)
{
	int rc = 0;

	switch (played->kind) {
	case WTL_PLAYED_BEGUN:
		wtl_emitter_look(&replay->emitter, played->t_mono_ns, played->t_utc_ns);
		rc = begin_window(replay, played);
		replay->unfinished |= !wtl_player_follows(replay->player) &&
				      played->window_id == wtl_player_main_window(replay->player);
		break;
	case WTL_PLAYED_ENDED:
		wtl_emitter_look(&replay->emitter, played->t_mono_ns, played->t_utc_ns);
		end_window(replay, played);
		/* Otherwise the last bill is still to come. */
		if (!wtl_player_follows(replay->player))
			rc = take_bill(replay);
		break;
	case WTL_PLAYED_CANCELLED:
		drop_window(replay, played->window_id);
		break;
	case WTL_PLAYED_BILLED:
		rc = take_bill(replay);
		break;
	case WTL_PLAYED_SECOND:
		if (replay->second.kind != WTL_PLAYED_SECOND && wtl_replay_has_dropped(replay))
			replay->part_self_cpu_ns = played->self_cpu_ns;
		replay->second = *played;
		break;
	case WTL_PLAYED_LOST:
		rc = note_lost(replay, played);
		break;
	case WTL_PLAYED_SAMPLE:
		wtl_emitter_look(&replay->emitter, played->t_mono_ns, played->t_utc_ns);
		break;
	case WTL_PLAYED_RESET:
	case WTL_PLAYED_DEVICES:
		break;
	}
	return rc < 0 ? rc : cut(replay, played);
}

static int go_by(struct wtl_replay *replay)
{
	struct wtl_played played;
	struct wtl_err err = {.code = 0};
	int rc;

	while ((rc = wtl_player_step(replay->player, &played, &err)) > 0) {
		rc = take(replay, &played);
		if (rc < 0)
			wtl_complain(replay->app, "%s: %s", replay->path, wtl_err_text(rc));
		if (rc != 0)
			break;
	}
	if (rc < 0 && !replay->app->complained)
		wtl_complain_err(replay->app, &err);
	if (rc < 0)
		return rc;
	look_at_open_windows(replay);
	return 0;
}

/* ---- The summary ---- */

static int take_stored_window(void *context, const struct wtl_stored_window *stored)
{
	struct wtl_replay *replay = context;
	struct wtl_replay_window *window =
		add_window(replay, stored->id, stored->name, stored->pid);

	if (!window)
		return -ENOMEM;
	window->told.is_open = false;
	window->told.is_main = stored->id == wtl_player_main_window(replay->player);
	window->told.window = (struct wattle_window){
		.begin_utc_ns = stored->begin_utc_ns,
		.begin_mono_ns = stored->begin_mono_ns,
		.duration_ns = stored->duration_ns,
		.total = stored->total,
	};
	memcpy(window->energies, stored->energies, replay->n_domains * sizeof(*window->energies));
	window->has_energies = true;
	return 0;
}

/* 1: it said it all; 0: it did not. */
static int try_summary(struct wtl_replay *replay)
{
	const struct wtl_player_policy only_summary = {.only_summary = true};
	struct wtl_emission none = {.energy_uj = 0};
	struct wtl_err err = {.code = 0};
	int rc = wtl_player_open(replay->path, &only_summary, &replay->player, &err);

	if (rc == 0) {
		replay->n_domains = wattle_meter_domains(wtl_player_meter(replay->player));
		rc = wtl_player_summary(replay->player, &replay->second, &err);
	}
	if (rc > 0) {
		rc = wtl_store_each_window(wtl_player_reader(replay->player), take_stored_window,
					   replay);
		if (rc == 0)
			rc = finish_run(replay, &none);
		return rc < 0 ? rc : 1;
	}
	wtl_player_close(replay->player);
	replay->player = NULL;
	return 0;
}

/* ---- Opening ---- */

static int check_weight(struct wtl_app *app, const struct wtl_policy *policy,
			struct wtl_player *player)
{
	const char *recorded = wtl_store_get_fact(wtl_player_reader(player), WTL_FACT_WEIGHT);

	if (!recorded)
		recorded = wtl_weight_name(WTL_WEIGHT_CPU_TIME);
	if (policy->weight < 0 ||
	    strcmp(recorded, wtl_weight_name((enum wtl_weight)policy->weight)) == 0)
		return 0;
	wtl_complain(app,
		     "--policy weight=%s: the use of processors was weighed by %s when this was "
		     "recorded, and nothing else is in it",
		     wtl_weight_name((enum wtl_weight)policy->weight), recorded);
	return -EINVAL;
}

int wtl_replay_open_player(struct wtl_app *app, const char *path, struct wtl_policy *policy,
			   struct wtl_player **ret_player)
{
	const struct wtl_player_policy how = wtl_policy_of_player(policy);
	struct wtl_player *player = NULL;
	struct wtl_err err = {.code = 0};
	int rc = wtl_player_open(path, &how, &player, &err);

	if (rc < 0)
		wtl_complain_err(app, &err);
	else
		rc = check_weight(app, policy, player);
	if (rc < 0) {
		wtl_player_close(player);
		return rc;
	}
	*ret_player = player;
	return 0;
}

static bool needs_all(const struct wtl_replay *replay)
{
	return replay->asked->plays || replay->is_part || replay->policy->is_given ||
	       replay->emitter.intensity;
}

/* What nobody can be found in, since nobody was followed. */
static int check_by(const struct wtl_replay *replay)
{
	int by = replay->asked->by;

	if (by < 0 || by == WTL_BY_WINDOW || wtl_player_follows(replay->player))
		return 0;
	wtl_complain(replay->app,
		     "%s: --by %s: nobody was followed when it was recorded (--no-processes)",
		     replay->path, wtl_by_name((enum wtl_by)by));
	return -ENODATA;
}

static int open_and_go_by(struct wtl_replay *replay, const struct wtl_intensity *intensity)
{
	int rc = wtl_replay_open_player(replay->app, replay->path, replay->policy, &replay->player);
	struct wattle_meter *meter;

	if (rc < 0)
		return rc;
	meter = wtl_player_meter(replay->player);
	replay->n_domains = wattle_meter_domains(meter);
	rc = check_by(replay);
	if (rc == 0)
		rc = wtl_replay_find_part(replay);
	if (rc == 0)
		rc = wtl_emitter_init(
			&replay->emitter, intensity, meter, wtl_player_mono(replay->player),
			wtl_player_utc(replay->player, wtl_player_mono(replay->player)));
	if (rc == 0)
		rc = go_by(replay);
	return rc;
}

static const char *why_nothing(const struct wtl_replay *replay)
{
	struct wtl_store_reader *reader = wtl_player_reader(replay->player);

	/* There is the sample that it was opened with. */
	if (!replay->is_part && replay->n_windows == 0)
		return wtl_store_is_live(reader)
			       ? "it was begun just now; try again in a moment"
			       : "it was cut off before anything measured was in it";
	return wtl_player_follows(replay->player)
		       ? "who used energy is looked at about once a second"
		       : "it lies between two samples";
}

static int complain_of_nothing(struct wtl_replay *replay)
{
	wtl_complain(replay->app, "%s: there is nothing in %s: %s", replay->path,
		     replay->is_part ? "this part" : "it", why_nothing(replay));
	return -ENODATA;
}

/* What is billed behind a run that has ended is no further one. */
static bool is_between_runs(const struct wtl_replay *replay)
{
	uint32_t id = wtl_player_main_window(replay->player);
	const struct wtl_replay_window *window = id ? find_window(replay, id) : NULL;

	return replay->n_runs > 0 && (!window || !window->told.is_open);
}

/* What was not ended, or is a part. */
static int finish_rest(struct wtl_replay *replay)
{
	struct wattle_window window;
	const struct wattle_energy *energies;
	struct wtl_emission emission;

	if (replay->n_runs > 0 && (!replay->unfinished || is_between_runs(replay)))
		return 0;
	if (wtl_replay_is_waiting(replay))
		return complain_of_nothing(replay);
	wtl_player_take_figures(replay->player);
	if (!wtl_player_billed(replay->player, &window, &energies) || window.duration_ns <= 0)
		return replay->n_runs > 0 ? 0 : complain_of_nothing(replay);
	emission = main_emission(replay);
	replay->is_unfinished = !replay->is_part;
	return finish_run(replay, &emission);
}

/* Rows of tables that are missing are told nowhere else. */
static void tell_damage(const struct wtl_replay *replay)
{
	char text[WTL_REMARK_SIZE];

	for (size_t i = 0; i < replay->n_gaps; i++)
		if (strcmp(replay->gaps[i].kind, damaged) == 0)
			return;
	if (wtl_replay_tell_damaged(wtl_player_reader(replay->player), text))
		wtl_remark(replay->app, "%s: %s", replay->path, text);
}

int wtl_replay_new(struct wtl_app *app, const struct wtl_replay_settings *settings,
		   const char *path, struct wtl_policy *policy,
		   const struct wtl_intensity *intensity, struct wtl_replay **ret_replay)
{
	struct wtl_replay *replay = calloc(1, sizeof(*replay));
	int rc = 0;

	if (!replay) {
		wtl_complain(app, "out of memory");
		return -ENOMEM;
	}
	app->complained = false;
	replay->app = app;
	replay->path = path;
	replay->asked = settings;
	replay->policy = policy;
	replay->emitter.intensity = intensity && intensity->n > 0 ? intensity : NULL;
	replay->is_part = settings->from.kind != WTL_WHEN_NOT || settings->to.kind != WTL_WHEN_NOT;
	if (!needs_all(replay))
		rc = try_summary(replay);
	if (rc == 0) {
		rc = open_and_go_by(replay, intensity);
		if (rc == 0)
			rc = finish_rest(replay);
	}
	if (rc >= 0)
		rc = wtl_replay_each_gap(wtl_player_reader(replay->player), take_gap, replay);
	if (rc >= 0)
		rc = wtl_replay_finish(replay);
	if (rc >= 0)
		tell_damage(replay);
	if (rc < 0) {
		if (!app->complained)
			wtl_complain(app, "%s: %s", path, wtl_err_text(rc));
		wtl_replay_free(replay);
		return rc;
	}
	*ret_replay = replay;
	return 0;
}
