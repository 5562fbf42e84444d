/* SPDX-License-Identifier: MIT */
#include "commands/top/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "base/thread.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/mapped.h"
#include "commands/top/collect.h"
#include "cli/recordings.h"
#include "cli/when.h"
#include "energy/units.h"

#define PUBLISH_NS (100 * WTL_NS_PER_MS)

/* Curves and figures are not finer than this, however fast the recording was sampled. */
#define SAMPLE_LEAST_NS	  (10 * WTL_NS_PER_MS)
#define SAMPLE_DEFAULT_NS (100 * WTL_NS_PER_MS)
#define SAMPLE_MOST_NS	  (60 * WTL_NS_PER_S)

/* A longer time without any record is skipped. */
#define SKIP_NS (5 * WTL_NS_PER_S)

/* Events of a seek between two checks for orders. */
enum { EVENTS_AT_ONCE = 64 };

/* ---- Events ---- */

static int64_t since_begin(const struct wtl_top_replay *replay, int64_t t_mono_ns)
{
	return t_mono_ns - replay->history->begin_mono_ns;
}

/* Reads the next event. The player's meter then is ahead of the view. 1; 0: there is none; or negative. */
static int look_ahead(struct wtl_top_replay *replay, struct wtl_err *err)
{
	int rc = wtl_history_step(replay->history, &replay->event, err);

	replay->has_event = rc > 0;
	if (rc <= 0)
		return rc;
	/* Events without a time have that of the one before. */
	if (since_begin(replay, replay->event.t_mono_ns) > replay->event_ns)
		replay->event_ns = since_begin(replay, replay->event.t_mono_ns);
	return 1;
}

static void take_sample(struct wtl_top_collector *collector)
{
	struct wtl_top_replay *replay = collector->replay;

	/* Three quarters of the interval suffice, as intervals vary. */
	if (replay->taken_ns >= 0 &&
	    replay->event_ns - replay->taken_ns < replay->sample_ns - replay->sample_ns / 4)
		return;
	replay->taken_ns = replay->event_ns;
	wtl_top_sampler_take(&collector->sampler, &collector->master,
			     replay->history->begin_mono_ns + replay->event_ns);
}

static void take_lost(struct wtl_top_collector *collector)
{
	struct wtl_top_replay *replay = collector->replay;
	const struct wtl_history *history = replay->history;
	char text[WTL_GAP_TEXT_SIZE];

	collector->sampler.has_missed = replay->is_lost = true;
	replay->lost.from_ns = replay->reached_ns;
	replay->lost.to_ns = replay->event_ns;
	wtl_missing_lost(wtl_gap_text(&history->gaps[history->n_gaps - 1], text),
			 replay->lost.text);
}

static void take_bill(struct wtl_top_collector *collector)
{
	const struct wattle_energy *energies;
	struct wattle_window window;

	collector->replay->has_bill = true;
	if (wtl_player_billed(collector->replay->history->player, &window, &energies))
		wtl_top_sampler_bill(&collector->sampler, &collector->master, energies);
}

/* Puts the event that was read ahead into the view. */
static void take_event(struct wtl_top_collector *collector)
{
	struct wtl_top_replay *replay = collector->replay;
	struct wtl_top_view *view = &collector->master;

	switch (replay->event.kind) {
	case WTL_PLAYED_SAMPLE:
	case WTL_PLAYED_BEGUN:
	case WTL_PLAYED_ENDED:
		if (replay->is_lost)
			replay->lost.to_ns = replay->event_ns;
		replay->is_lost = false;
		take_sample(collector);
		break;
	case WTL_PLAYED_BILLED:
		take_bill(collector);
		break;
	case WTL_PLAYED_SECOND:
		wtl_top_replay_take_second(replay, &replay->event, view);
		break;
	case WTL_PLAYED_DEVICES:
		wtl_top_replay_take_devices(&replay->event, view);
		break;
	case WTL_PLAYED_LOST:
		take_lost(collector);
		break;
	case WTL_PLAYED_SETTLED:
	case WTL_PLAYED_CANCELLED:
	case WTL_PLAYED_RESET:
		break;
	}
	replay->reached_ns = replay->event_ns;
	view->played.zero_utc_ns = wtl_history_utc(replay->history, replay->history->begin_mono_ns +
									    replay->reached_ns) -
				   replay->reached_ns;
	replay->has_event = false;
	replay->is_changed = true;
}

/* ---- Views ---- */

static bool is_about(const struct wtl_top_remark *remark, int64_t at_ns)
{
	return remark->text[0] && remark->from_ns <= at_ns &&
	       at_ns - remark->to_ns <= WTL_TOP_LINGER_NS;
}

static void make_note(struct wtl_top_replay *replay, struct wtl_top_view *view)
{
	const struct wtl_history *history = replay->history;
	int64_t at_ns = replay->reached_ns;
	const struct wtl_stored_gap *gap =
		wtl_top_gap_at(history->gaps, history->n_gaps, history->begin_mono_ns + at_ns);
	char text[WTL_REMARK_SIZE] = "";

	wtl_top_replay_find_missing(replay);
	if (is_about(&replay->lost, at_ns))
		wtl_text_copy(text, sizeof(text), replay->lost.text);
	else if (gap)
		wtl_top_gap_text(gap, text);
	else if (is_about(&replay->missing, at_ns))
		wtl_text_copy(text, sizeof(text), replay->missing.text);
	wtl_text_copy(view->played.note, sizeof(view->played.note), text);
}

static void publish(struct wtl_top_collector *collector)
{
	struct wtl_top_replay *replay = collector->replay;
	struct wtl_top_view *view = &collector->master;

	/* With an event read ahead, the meter is ahead of the view. */
	if (!replay->has_event)
		wtl_top_sampler_sum(&collector->sampler, view);
	if (replay->has_bill && !collector->app->settings.no_processes)
		wtl_top_processes_take(&collector->processes, view);
	replay->has_bill = false;
	view->played.at_ns = replay->reached_ns;
	make_note(replay, view);
	wtl_top_collector_publish(collector);
	replay->is_changed = false;
	replay->publish_due_ns = wtl_top_screen_ns() + PUBLISH_NS;
}

/* ---- Opening ---- */

static void free_replay(struct wtl_top_replay *replay)
{
	if (replay)
		wtl_history_close(replay->history);
	free(replay);
}

/* The recording's interval, within useful bounds for curves. */
static int64_t find_interval(const struct wtl_top_replay *replay)
{
	const char *text = wtl_history_fact(replay->history, "interval-ns");
	int64_t interval_ns;

	if (wtl_num_i64(text, strlen(text), &interval_ns) < 0 || interval_ns <= 0)
		return SAMPLE_DEFAULT_NS;
	if (interval_ns < SAMPLE_LEAST_NS)
		return SAMPLE_LEAST_NS;
	return interval_ns > SAMPLE_MOST_NS ? SAMPLE_MOST_NS : interval_ns;
}

/*
 * Goes to the start of the recording's own account, as in its report: that of all its windows,
 * or what is left of it. A recording without windows has its first second before anything else.
 */
static int step_to_begin(struct wtl_top_replay *replay, struct wtl_err *err)
{
	unsigned n_seconds = 0;
	int rc;

	do {
		rc = look_ahead(replay, err);
		n_seconds += rc > 0 && replay->event.kind == WTL_PLAYED_SECOND;
	} while (rc > 0 && replay->event.kind != WTL_PLAYED_BEGUN &&
		 replay->event.kind != WTL_PLAYED_BILLED && n_seconds < 2);
	if (rc >= 0)
		rc = wtl_player_begin_here(replay->history->player, 0);
	return rc < 0 ? wtl_err_set(err, rc, "recording", NULL, "%s", wtl_err_text(rc)) : 0;
}

static int open_replay(const char *path, struct wtl_top_replay **ret_replay, struct wtl_err *err)
{
	struct wtl_top_replay *replay = calloc(1, sizeof(*replay));
	int rc;

	if (!replay)
		return wtl_err_set(err, ENOMEM, "recording", path, "out of memory");
	replay->taken_ns = -1;
	rc = wtl_history_open(path, NULL, &replay->history, err);
	/* Damage in the table of gaps is in the remark on missing data. */
	if (rc == 0 && wtl_history_read_gaps(replay->history) == -ENOMEM)
		rc = wtl_err_set(err, ENOMEM, "recording", path, "out of memory");
	if (rc == 0) {
		replay->sample_ns = find_interval(replay);
		rc = step_to_begin(replay, err);
	}
	if (rc < 0) {
		free_replay(replay);
		return rc;
	}
	*ret_replay = replay;
	return 0;
}

/* Gives the collector a replay, and starts its view again. 0 or -ENOMEM. */
static int begin_view(struct wtl_top_collector *collector, struct wtl_top_replay *replay)
{
	struct wtl_top_view *view = &collector->master;
	int rc;

	wtl_top_sampler_done(&collector->sampler);
	wtl_top_processes_done(&collector->processes);
	free_replay(collector->replay);
	collector->replay = replay;
	view->interval_ns = replay->sample_ns;
	wtl_top_view_clear_bins(view, replay->sample_ns);
	view->total.has_power = false;
	view->self = (struct wtl_top_self){.cpu_ppm = 0};
	view->n_processes = view->n_groups = 0;
	view->generation++;
	wtl_player_sample_again(replay->history->player);
	rc = wtl_top_sampler_init(&collector->sampler, replay->history->meter, view);
	if (rc == 0)
		rc = wtl_top_sampler_begin(&collector->sampler);
	if (rc < 0)
		return rc;
	wtl_top_processes_init(&collector->processes, false, replay->history->player,
			       wtl_player_consumers(replay->history->player));
	wtl_text_copy(view->processes_reason, sizeof(view->processes_reason),
		      collector->app->settings.no_processes
			      ? "processes are not shown (--no-processes)"
			      : "no process was recorded so far");
	view->has_processes = false;
	rc = wtl_top_replay_read_facts(replay, view);
	if (rc == 0 && replay->has_event)
		take_event(collector);
	replay->first_ns = replay->reached_ns;
	return rc;
}

/* Emissions are for the place of the recording, unless another one is given. */
static void find_carbon(struct wtl_top_collector *collector)
{
	const struct wtl_settings *settings = &collector->app->settings;
	struct wtl_top_view *view = &collector->master;
	const char *place = wtl_history_fact(collector->replay->history, "location");

	view->carbon = settings->carbon;
	view->carbon_is_default = !settings->location;
	view->pue_milli = settings->pue_milli;
	if (!settings->location && place[0] && wtl_meter_carbon(place, &view->carbon) == 0)
		view->carbon_is_default = false;
}

/* The start of the play (or the moment to show), or -ERANGE after a complaint. */
static int find_place(struct wtl_top_collector *collector, int64_t none_ns, int64_t *ret_ns)
{
	const struct wtl_when *at = &collector->settings->at;
	const struct wtl_history *history = collector->replay->history;

	*ret_ns = none_ns;
	if (at->kind == WTL_WHEN_NOT)
		return 0;
	if (wtl_when_in(at, history, 0, ret_ns) == 0 && *ret_ns >= 0 &&
	    *ret_ns <= wtl_history_span_ns(history))
		return 0;
	wtl_complain(collector->app, "--at: the recording lasts %.1f s, and this is not in it",
		     (double)wtl_history_span_ns(history) / 1e9);
	return -ERANGE;
}

/* A replay of a truncated file is not closed: that would access the file. */
static int guarded(struct wtl_top_collector *collector, int (*work)(void *collector))
{
	int rc = wtl_mapped_read(collector->app, work, collector);

	if (rc == -EFAULT)
		collector->replay = NULL;
	return rc;
}

static int open_guarded(void *context)
{
	struct wtl_top_collector *collector = context;
	const struct wtl_top_settings *settings = collector->settings;
	struct wtl_play_order order = {.verb = WTL_PLAY_GO_TO};
	struct wtl_top_replay *replay;
	struct wtl_err err = {.code = 0};
	int rc = open_replay(settings->replay, &replay, &err);

	if (rc < 0) {
		wtl_complain_err(collector->app, &err);
		return rc;
	}
	rc = begin_view(collector, replay);
	if (rc < 0) {
		wtl_complain(collector->app, "cannot begin: %s", wtl_err_text(rc));
		return rc;
	}
	collector->master.played.zero_utc_ns = replay->history->begin_utc_ns;
	rc = find_place(collector, 0, &order.ns);
	if (rc < 0)
		return rc;
	find_carbon(collector);
	pthread_mutex_lock(&collector->lock);
	wtl_play_init(&collector->play, wtl_history_span_ns(replay->history), settings->speed_milli,
		      wtl_top_screen_ns());
	if (order.ns > 0)
		wtl_play_order(&collector->play, &order, wtl_top_screen_ns());
	pthread_mutex_unlock(&collector->lock);
	publish(collector);
	return 0;
}

int wtl_top_replay_open(struct wtl_top_collector *collector)
{
	return guarded(collector, open_guarded);
}

void wtl_top_replay_done(struct wtl_top_collector *collector)
{
	free_replay(collector->replay);
	collector->replay = NULL;
}

/* ---- Once ---- */

static int once_guarded(void *context)
{
	struct wtl_top_collector *collector = context;
	struct wtl_top_replay *replay = collector->replay;
	struct wtl_err err = {.code = 0};
	int64_t until_ns;
	int rc = find_place(collector, INT64_MAX, &until_ns);

	if (rc < 0)
		return rc;
	while ((rc = look_ahead(replay, &err)) > 0 && replay->event_ns <= until_ns)
		take_event(collector);
	if (rc < 0) {
		wtl_complain_err(collector->app, &err);
		return rc;
	}
	wtl_play_reach(&collector->play, replay->reached_ns, wtl_top_screen_ns());
	if (rc == 0)
		wtl_play_end(&collector->play);
	else
		collector->play.at_ns = until_ns;
	/* The play is paused there. */
	collector->play.is_seeking = false;
	collector->play.is_paused = true;
	replay->missing.to_ns = INT64_MAX;
	publish(collector);
	return 0;
}

int wtl_top_replay_once(struct wtl_top_collector *collector)
{
	return guarded(collector, once_guarded);
}

/* ---- Playing ---- */

enum turn { TURN_GO_ON, TURN_WAIT, TURN_BACK, TURN_STOP };

/* What to do now, or until when to wait; under the lock. */
static enum turn decide(struct wtl_top_collector *collector, int64_t now_ns, int64_t *ret_due_ns)
{
	struct wtl_top_replay *replay = collector->replay;
	struct wtl_play *play = &collector->play;
	int64_t gap_ns = replay->event_ns - replay->reached_ns;

	*ret_due_ns = INT64_MAX;
	if (collector->stop)
		return TURN_STOP;
	if (play->is_seeking && replay->reached_ns > replay->first_ns &&
	    play->target_ns < replay->reached_ns)
		return TURN_BACK;
	if (!replay->has_event) {
		wtl_play_end(play);
	} else {
		if (gap_ns > SKIP_NS && gap_ns > 3 * replay->sample_ns)
			wtl_play_skip(play, replay->event_ns, now_ns);
		*ret_due_ns = wtl_play_due(play, replay->event_ns, now_ns);
		replay->seek_ns = play->is_seeking ? play->target_ns : 0;
		if (*ret_due_ns <= now_ns)
			return TURN_GO_ON;
	}
	if (replay->is_changed && *ret_due_ns > replay->publish_due_ns)
		*ret_due_ns = replay->publish_due_ns;
	return TURN_WAIT;
}

/* Waits for the next event's time. Meanwhile changes are published, but not too often. */
static enum turn await_event(struct wtl_top_collector *collector)
{
	struct wtl_top_replay *replay = collector->replay;
	enum turn turn;

	do {
		int64_t now_ns = wtl_top_screen_ns(), due_ns;

		if (replay->is_changed && now_ns >= replay->publish_due_ns)
			publish(collector);
		pthread_mutex_lock(&collector->lock);
		turn = decide(collector, now_ns, &due_ns);
		/* An order or a stop also ends the wait. */
		if (turn == TURN_WAIT && due_ns == INT64_MAX)
			pthread_cond_wait(&collector->changed, &collector->lock);
		else if (turn == TURN_WAIT)
			wtl_thread_wait(&collector->changed, &collector->lock, due_ns);
		pthread_mutex_unlock(&collector->lock);
	} while (turn == TURN_WAIT);
	return turn;
}

/* Takes the next event; in a seek, several. 0 or negative. */
static int take_events(struct wtl_top_collector *collector, struct wtl_err *err)
{
	struct wtl_top_replay *replay = collector->replay;
	int rc = 0;

	take_event(collector);
	for (int i = 1; i < EVENTS_AT_ONCE && replay->seek_ns > 0; i++) {
		rc = look_ahead(replay, err);
		if (rc <= 0 || replay->event_ns > replay->seek_ns)
			break;
		take_event(collector);
	}
	pthread_mutex_lock(&collector->lock);
	wtl_play_reach(&collector->play, replay->reached_ns, wtl_top_screen_ns());
	pthread_mutex_unlock(&collector->lock);
	return rc < 0 ? rc : 0;
}

/* The picture stays, with the error as its note. */
static void give_up(struct wtl_top_collector *collector, const struct wtl_err *err)
{
	struct wtl_top_remark *lost = &collector->replay->lost;

	lost->from_ns = collector->replay->reached_ns;
	lost->to_ns = INT64_MAX;
	snprintf(lost->text, sizeof(lost->text), "cannot be read: %.100s",
		 err->text[0] ? err->text : wtl_err_text(err->code));
	collector->replay->is_changed = true;
}

/* Recordings play forwards only: starts again from the beginning. 0, or -ENOMEM after a complaint. */
static int go_back(struct wtl_top_collector *collector)
{
	struct wtl_top_replay *replay;
	struct wtl_err err = {.code = 0};
	int rc = open_replay(collector->settings->replay, &replay, &err);
	bool is_open = rc == 0;

	if (!is_open)
		give_up(collector, &err);
	else
		rc = begin_view(collector, replay);
	if (is_open && rc < 0) {
		wtl_complain(collector->app, "cannot go back: %s", wtl_err_text(rc));
		return rc;
	}
	pthread_mutex_lock(&collector->lock);
	collector->play.length_ns = wtl_history_span_ns(collector->replay->history);
	collector->play.is_seeking &= is_open;
	pthread_mutex_unlock(&collector->lock);
	return 0;
}

static int run_guarded(void *context)
{
	struct wtl_top_collector *collector = context;
	struct wtl_err err = {.code = 0};
	enum turn turn;
	int rc = 0;

	do {
		if (!collector->replay->has_event && look_ahead(collector->replay, &err) < 0)
			give_up(collector, &err);
		turn = await_event(collector);
		if (turn == TURN_BACK) {
			rc = go_back(collector);
		} else if (turn == TURN_GO_ON) {
			if (take_events(collector, &err) < 0)
				give_up(collector, &err);
		}
	} while (turn != TURN_STOP && rc == 0);
	return rc;
}

int wtl_top_replay_run(struct wtl_top_collector *collector)
{
	return guarded(collector, run_guarded);
}
