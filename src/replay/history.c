/* SPDX-License-Identifier: MIT */
#include "replay/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "energy/units.h"
#include "energy/watts_past.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "meter/observer.h"

/* ---- Emissions ---- */

/* The history's own window, from the first sample on. */
#define EMISSION "emission"

static int begin_emission(struct wtl_history *history)
{
	if (!wtl_history_has_intensity(history))
		return 0;
	wtl_player_sample_again(history->player);
	history->emission_utc_ns = wtl_history_utc(history, wtl_player_mono(history->player));
	return wattle_window_begin(history->meter, EMISSION);
}

static void add_emission(struct wtl_history *history, int64_t t_utc_ns)
{
	struct wattle_window window;
	uint64_t energy_uj;

	if (!wtl_history_has_intensity(history) ||
	    wtl_window_look(history->meter, EMISSION, &window, NULL, 0) < 0)
		return;
	energy_uj = window.total.has_energy ? window.total.energy_uj : 0;
	wtl_emission_add(&history->emission, history->options.intensity, history->emission_utc_ns,
			 t_utc_ns, (int64_t)(energy_uj - history->emission_uj));
	history->emission_uj = energy_uj;
	history->emission_utc_ns = t_utc_ns;
}

/* ---- Windows ---- */

const struct wtl_history_window *wtl_history_find_window(const struct wtl_history *history,
							 uint32_t id)
{
	for (size_t i = history->n_windows; id && i-- > 0;)
		if (history->windows[i].id == id)
			return &history->windows[i];
	return NULL;
}

static struct wtl_history_window *find_open(struct wtl_history *history, uint32_t id)
{
	for (size_t i = history->n_windows; id && i-- > history->n_ended;)
		if (history->windows[i].id == id)
			return &history->windows[i];
	return NULL;
}

/* NULL: no memory. */
static struct wtl_history_window *add_window(struct wtl_history *history, uint32_t id,
					     const char *name, int32_t pid)
{
	struct wtl_history_window *window;

	if (wtl_array_reserve(&history->windows, &history->windows_room, history->n_windows + 1,
			      sizeof(*window)) < 0)
		return NULL;
	window = &history->windows[history->n_windows];
	*window = (struct wtl_history_window){.id = id, .pid = pid, .is_open = true};
	wtl_text_copy(window->name, sizeof(window->name), name);
	window->energies = calloc(history->n_domains + 1, sizeof(*window->energies));
	if (!window->energies)
		return NULL;
	history->n_windows++;
	return window;
}

static int begin_window(struct wtl_history *history, const struct wtl_played *played)
{
	struct wtl_history_window *window;

	if (played->window_id == 0)
		return 0;
	window = add_window(history, played->window_id, played->window_name, played->window_pid);
	if (!window)
		return -ENOMEM;
	window->is_cut = played->is_cut;
	window->is_main = wtl_player_is_measurement(history->player, played->window_id);
	window->window.begin_mono_ns = played->t_mono_ns;
	window->window.begin_utc_ns = played->t_utc_ns;
	window->emission = history->emission;
	history->window = window;
	history->is_unfinished |= !wtl_player_follows(history->player) &&
				  played->window_id == wtl_player_main_window(history->player);
	return 0;
}

static void drop_window(struct wtl_history *history, struct wtl_history_window *window)
{
	if (!window)
		return;
	free(window->energies);
	history->n_windows--;
	memmove(window, window + 1,
		(size_t)(&history->windows[history->n_windows] - window) * sizeof(*window));
}

static void set_figures(const struct wtl_history *history, struct wtl_history_window *window)
{
	window->has_energies = true;
	window->emission = wtl_emission_since(&history->emission, &window->emission);
}

/* Moves it to the end of those that have ended. */
static void end_window(struct wtl_history *history, const struct wtl_played *played)
{
	struct wtl_history_window *window = find_open(history, played->window_id), ended;
	struct wtl_history_window *place = &history->windows[history->n_ended];

	if (!window)
		return;
	window->is_open = false;
	window->window = played->window;
	memcpy(window->energies, played->energies, history->n_domains * sizeof(*window->energies));
	set_figures(history, window);
	history->ended_id = played->window_id;
	history->has_measured |= window->is_main;
	if (wtl_history_is_waiting(history)) {
		drop_window(history, window); /* it is not in this part */
		return;
	}
	ended = *window;
	memmove(place + 1, place, (size_t)(window - place) * sizeof(*place));
	*place = ended;
	history->n_ended++;
	history->window = place;
}

static void forget_ended(struct wtl_history *history)
{
	if (history->n_ended == 0)
		return;
	for (size_t i = 0; i < history->n_ended; i++)
		free(history->windows[i].energies);
	history->n_windows -= history->n_ended;
	memmove(history->windows, history->windows + history->n_ended,
		history->n_windows * sizeof(*history->windows));
	history->n_ended = 0;
}

void wtl_history_update_open_windows(struct wtl_history *history)
{
	for (size_t i = history->n_ended; i < history->n_windows; i++) {
		struct wtl_history_window *window = &history->windows[i];

		if (wtl_player_window(history->player, window->id, &window->window,
				      window->energies) == 0)
			set_figures(history, window);
	}
}

struct wtl_emission wtl_history_emission(const struct wtl_history *history)
{
	const struct wtl_history_window *window =
		wtl_history_find_window(history, wtl_player_main_window(history->player));

	if (window && !window->is_open)
		return window->emission;
	return wtl_emission_since(&history->emission,
				  window ? &window->emission : &history->part_emission);
}

/* ---- The part ---- */

void wtl_history_choose(struct wtl_history *history, int64_t from_ns, int64_t to_ns)
{
	history->is_part = true;
	history->from_ns = from_ns;
	history->to_ns = to_ns;
}

static int begin_part(struct wtl_history *history, const struct wtl_played *played)
{
	/* A part that begins with the measurement has all of it. */
	for (size_t i = 0; i < history->n_windows; i++)
		history->windows[i].is_cut |= played->kind != WTL_PLAYED_BEGUN ||
					      history->windows[i].id != played->window_id;
	history->has_begun = true;
	history->part_emission = history->emission;
	/* CPU time from before the first second belongs to the first part. */
	if (history->from_ns > 0)
		history->cpu_before_ns = history->second.self_cpu_ns;
	/* A bill within a run is later than its sample, and the part before ends with the bill. */
	return wtl_player_begin_here(history->player, played->t_mono_ns);
}

/* Where a part may begin and end, so that adjacent parts add up: at the first start of
 * accounts, and at each bill. If nobody was followed, at each sample of the measurement. */
static bool can_be_cut(const struct wtl_history *history, const struct wtl_played *played)
{
	uint32_t main_window = wtl_player_main_window(history->player);

	if (played->kind == WTL_PLAYED_BILLED)
		return true;
	if (!wtl_played_has_sample(played))
		return false;
	if (played->kind == WTL_PLAYED_BEGUN && !history->has_measured && main_window &&
	    played->window_id == main_window)
		return true;
	return !wtl_player_follows(history->player) && (main_window || history->has_begun);
}

static int cut(struct wtl_history *history, const struct wtl_played *played)
{
	/* Of a bill, the scan's time: the same moment whether a run or the part is billed. */
	int64_t t_ns =
		(played->kind == WTL_PLAYED_BILLED ? played->scanned_ns : played->t_mono_ns) -
		history->begin_mono_ns;
	int rc = 0;

	if (!history->is_part || !can_be_cut(history, played))
		return 0;
	if (!history->has_begun && t_ns >= history->from_ns)
		rc = begin_part(history, played);
	history->is_over = history->has_begun && t_ns >= history->to_ns;
	return rc;
}

/* ---- Steps ---- */

/* After this bill the main window is complete, if it has ended. */
static void take_bill(struct wtl_history *history)
{
	history->is_unfinished = true;
	if (history->ended_id == 0 || history->ended_id != wtl_player_main_window(history->player))
		return;
	history->ended_id = 0;
	history->is_unfinished = false;
	history->is_run_over = true;
}

static void take_second(struct wtl_history *history, const struct wtl_played *played)
{
	if (history->second.kind != WTL_PLAYED_SECOND && wtl_store_has_dropped(history->reader))
		history->cpu_before_ns = played->self_cpu_ns;
	history->second = *played;
}

static int take(struct wtl_history *history, const struct wtl_played *played)
{
	bool follows = wtl_player_follows(history->player);
	int rc = 0;

	if (wtl_played_has_sample(played))
		add_emission(history, played->t_utc_ns);
	if (played->kind == WTL_PLAYED_BEGUN)
		rc = begin_window(history, played);
	else if (played->kind == WTL_PLAYED_ENDED)
		end_window(history, played);
	else if (played->kind == WTL_PLAYED_CANCELLED)
		drop_window(history, find_open(history, played->window_id));
	else if (played->kind == WTL_PLAYED_SECOND)
		take_second(history, played);
	else if (played->kind == WTL_PLAYED_LOST)
		rc = wtl_history_add_lost(history, played);
	/* If processes were followed, the last bill comes after the window's end. */
	if (played->kind == (follows ? WTL_PLAYED_BILLED : WTL_PLAYED_ENDED))
		take_bill(history);
	/* Some events have no time. */
	if (played->kind != WTL_PLAYED_LOST && played->t_mono_ns > history->now_mono_ns)
		history->now_mono_ns = played->t_mono_ns;
	return rc < 0 ? rc : cut(history, played);
}

int wtl_history_step(struct wtl_history *history, struct wtl_played *ret_played,
		     struct wtl_err *err)
{
	int rc;

	if (history->is_over)
		return 0;
	history->window = NULL;
	history->is_run_over = false;
	if (!history->options.keeps_windows)
		forget_ended(history);
	rc = wtl_player_step(history->player, ret_played, err);
	history->is_over = rc == 0;
	if (rc <= 0)
		return rc;
	rc = take(history, ret_played);
	return rc < 0 ? wtl_err_set(err, rc, "recording", NULL, "%s", wtl_err_text(rc)) : 1;
}

/* ---- Opening ---- */

static int take_stored_window(void *context, const struct wtl_stored_window *stored)
{
	struct wtl_history *history = context;
	struct wtl_history_window *window =
		add_window(history, stored->id, stored->name, stored->pid);

	if (!window)
		return -ENOMEM;
	window->is_open = false;
	window->is_main = stored->id == wtl_player_main_window(history->player);
	window->window = (struct wattle_window){
		.begin_utc_ns = stored->begin_utc_ns,
		.begin_mono_ns = stored->begin_mono_ns,
		.duration_ns = stored->duration_ns,
		.total = stored->total,
	};
	memcpy(window->energies, stored->energies, history->n_domains * sizeof(*window->energies));
	window->has_energies = true;
	history->n_ended++;
	return 0;
}

static int open_player(struct wtl_history *history, const char *path,
		       const struct wtl_player_policy *policy, struct wtl_err *err)
{
	int rc = wtl_player_open(path, policy, &history->player, err);

	if (rc < 0)
		return rc;
	history->meter = wtl_player_meter(history->player);
	history->consumers = wtl_player_consumers(history->player);
	history->reader = wtl_player_reader(history->player);
	history->n_domains = wattle_meter_domains(history->meter);
	return 0;
}

/* 1: the summary was taken; 0: there is no good one, and nothing is open; or -ENOMEM. */
static int open_summary(struct wtl_history *history, const char *path)
{
	const struct wtl_player_policy only_summary = {.only_summary = true};
	struct wtl_err err = {.code = 0};
	int rc = open_player(history, path, &only_summary, &err);

	if (rc == 0)
		rc = wtl_player_summary(history->player, &history->second, &err);
	if (rc > 0) {
		history->is_summary = history->is_over = true;
		rc = wtl_store_each_window(history->reader, take_stored_window, history);
		return rc < 0 ? rc : 1;
	}
	history->was_damaged = history->player && wtl_store_is_damaged(history->reader);
	wtl_player_close(history->player);
	history->player = NULL;
	history->reader = NULL;
	return 0;
}

/* The recording is at least as long as each window in it. */
static int stretch(void *context, const struct wtl_stored_window *window)
{
	struct wtl_history *history = context;

	if (window->begin_mono_ns + window->duration_ns > history->end_mono_ns)
		history->end_mono_ns = window->begin_mono_ns + window->duration_ns;
	return 0;
}

static int read_span(struct wtl_history *history, struct wtl_err *err)
{
	struct wtl_store_period first, last;
	size_t n = wtl_store_periods(history->reader);

	if (n == 0 || wtl_store_period(history->reader, 0, &first) < 0 ||
	    wtl_store_period(history->reader, n - 1, &last) < 0)
		return wtl_err_set(err, ENODATA, "recording", NULL, "there is nothing in it");
	history->begin_mono_ns = history->now_mono_ns = first.begin_mono_ns;
	history->begin_utc_ns = first.begin_utc_ns;
	history->end_mono_ns = last.end_mono_ns;
	/* The newest windows may be in a period that has no end yet. The player has read their table. */
	return wtl_store_each_window_bare(history->reader, stretch, history);
}

/* Watts are taken as constant over so many seconds, or more to have at most so many stretches (for memory). */
enum { STRETCH_S = 30, STRETCHES_MOST = 360 };

static int play_past(struct wtl_history *history, struct wtl_err *err)
{
	struct wtl_played played;
	int64_t stretch_ns;
	int rc = read_span(history, err);

	if (rc < 0)
		return rc;
	stretch_ns = (history->end_mono_ns - history->begin_mono_ns) / STRETCHES_MOST;
	if (stretch_ns < STRETCH_S * WTL_NS_PER_S)
		stretch_ns = STRETCH_S * WTL_NS_PER_S;
	wtl_watts_past_begin(history->past, stretch_ns);
	while ((rc = wtl_player_step(history->player, &played, err)) > 0)
		continue;
	return rc < 0 ? rc : wtl_consumers_smooth(history->consumers);
}

/* All of it is played in advance, since what was learned late applies to earlier times as well. */
static int learn_past(struct wtl_history *history, const char *path, struct wtl_err *err)
{
	int rc;

	history->past = history->options.policy.past = wtl_watts_past_new();
	if (!history->past)
		return -ENOMEM;
	rc = open_player(history, path, &history->options.policy, err);
	if (rc == 0)
		rc = play_past(history, err);
	wtl_player_close(history->player);
	history->player = NULL;
	return rc;
}

static int open_all(struct wtl_history *history, const char *path, struct wtl_err *err)
{
	int rc = history->options.may_summarize ? open_summary(history, path) : 0;

	if (rc == 0 && history->options.policy.smooths)
		rc = learn_past(history, path, err);
	if (rc == 0)
		rc = open_player(history, path, &history->options.policy, err);
	if (rc >= 0)
		rc = read_span(history, err);
	return rc < 0 || history->is_summary ? rc : begin_emission(history);
}

int wtl_history_open(const char *path, const struct wtl_history_options *options,
		     struct wtl_history **ret_history, struct wtl_err *err)
{
	struct wtl_history *history = calloc(1, sizeof(*history));
	int rc;

	if (!history)
		return wtl_err_set(err, ENOMEM, "recording", path, "out of memory");
	if (options)
		history->options = *options;
	rc = open_all(history, path, err);
	if (rc < 0) {
		if (err && !err->code)
			wtl_err_set(err, rc, "recording", path, "%s", wtl_err_text(rc));
		wtl_history_close(history);
		return rc;
	}
	*ret_history = history;
	return 0;
}

void wtl_history_close(struct wtl_history *history)
{
	if (!history)
		return;
	for (size_t i = 0; i < history->n_windows; i++)
		free(history->windows[i].energies);
	free(history->windows);
	free(history->gaps);
	wtl_player_close(history->player);
	wtl_watts_past_free(history->past);
	free(history);
}

bool wtl_history_is_damaged(const struct wtl_history *history)
{
	return history->was_damaged || history->n_lost > 0 || wtl_store_is_damaged(history->reader);
}

/* ---- Facts ---- */

const char *wtl_history_fact(const struct wtl_history *history, const char *key)
{
	const char *text = wtl_store_get_fact(history->reader, key);

	return text ? text : "";
}

int64_t wtl_history_span_ns(const struct wtl_history *history)
{
	return history->end_mono_ns - history->begin_mono_ns;
}

int64_t wtl_history_utc(const struct wtl_history *history, int64_t t_mono_ns)
{
	return wtl_player_utc(history->player, t_mono_ns);
}
