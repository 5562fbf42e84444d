/* SPDX-License-Identifier: MIT */
/* Implements wattle-recording.h on a history. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wattle-recording.h>

#include "base/abi.h"
#include "base/err.h"
#include "base/text.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "meter/session.h"
#include "replay/history.h"
#include "replay/player.h"

#define STEP "step"

/* Samples come some microseconds early or late. So a step may be a thousandth shorter than its
 * interval: else every other one would be twice as long if samples have the same interval. */
enum { INTERVAL_SLACK = 1000 };

struct wattle_recording {
	struct wtl_history *history;	/* it keeps its windows */
	struct wattle_energy *energies; /* one a domain */
};

static int hand_over(const struct wtl_err *err, struct wattle_error *reterr)
{
	wtl_err_hand_over(err, reterr);
	return err->code;
}

/* Sorts by the end; a summary has its windows in the order of their starts. */
static int by_end(const void *a, const void *b)
{
	const struct wattle_window *one = &((const struct wtl_history_window *)a)->window;
	const struct wattle_window *other = &((const struct wtl_history_window *)b)->window;
	int64_t end_ns = one->begin_mono_ns + one->duration_ns;
	int64_t other_end_ns = other->begin_mono_ns + other->duration_ns;
	int64_t begin_ns = one->begin_mono_ns, other_begin_ns = other->begin_mono_ns;
	int order = (end_ns > other_end_ns) - (end_ns < other_end_ns);

	if (order)
		return order;
	/* The inner one first. */
	return (other_begin_ns > begin_ns) - (other_begin_ns < begin_ns);
}

static int open_it(const char *path, bool at_end, struct wattle_recording **ret_recording,
		   struct wattle_error *reterr)
{
	const struct wtl_history_options options = {
		.keeps_windows = true, .may_summarize = at_end, .policy.skips_energies = true};
	struct wtl_err err = {.code = 0};
	struct wtl_played played;
	struct wattle_recording *recording;
	int rc;

	if (!path || !ret_recording || !wtl_abi_is_sized(reterr))
		return -EINVAL;
	recording = calloc(1, sizeof(*recording));
	if (!recording) {
		wtl_err_set(&err, ENOMEM, "recording", path, "out of memory");
		return hand_over(&err, reterr);
	}
	rc = wtl_history_open(path, &options, &recording->history, &err);
	if (rc == 0) {
		recording->energies = calloc(wattle_recording_domains(recording) + 1,
					     sizeof(*recording->energies));
		if (!recording->energies)
			rc = wtl_err_set(&err, ENOMEM, "recording", path, "out of memory");
	}
	while (rc >= 0 && at_end && (rc = wtl_history_step(recording->history, &played, &err)) > 0)
		continue;
	if (rc == 0 && recording->history->is_summary)
		qsort(recording->history->windows, recording->history->n_ended,
		      sizeof(*recording->history->windows), by_end);
	if (rc < 0) {
		wattle_recording_close(recording);
		return hand_over(&err, reterr);
	}
	*ret_recording = recording;
	return 0;
}

int wattle_recording_open(const char *path, struct wattle_recording **ret_recording,
			  struct wattle_error *reterr)
{
	return open_it(path, false, ret_recording, reterr);
}

int wattle_recording_open_end(const char *path, struct wattle_recording **ret_recording,
			      struct wattle_error *reterr)
{
	return open_it(path, true, ret_recording, reterr);
}

void wattle_recording_close(struct wattle_recording *recording)
{
	if (!recording)
		return;
	free(recording->energies);
	wtl_history_close(recording->history);
	free(recording);
}

const char *wattle_recording_fact(struct wattle_recording *recording, const char *key)
{
	return wtl_store_get_fact(recording->history->reader, key);
}

int wattle_recording_is_whole(const struct wattle_recording *recording)
{
	return wtl_store_is_whole(recording->history->reader);
}

size_t wattle_recording_domains(const struct wattle_recording *recording)
{
	return recording->history->n_domains;
}

int wattle_recording_domain(struct wattle_recording *recording, size_t i,
			    struct wattle_domain *ret_domain)
{
	return wattle_meter_domain(recording->history->meter, i, ret_domain);
}

/* ---- Going on ---- */

/* The energies of as many domains as the caller has room for. */
static void give_energies(const struct wattle_recording *recording,
			  const struct wattle_energy energies[], struct wattle_energy *ret_energies,
			  size_t n_energies)
{
	size_t n_domains = wattle_recording_domains(recording);

	for (size_t i = 0; ret_energies && i < n_energies && i < n_domains; i++)
		wtl_abi_give(wtl_abi_element(ret_energies, i), &energies[i], sizeof(energies[i]));
}

/* Plays until the first sample at until_ns or later. 1, or 0 at the end (there may have been samples), or negative. */
static int go_on(struct wattle_recording *recording, int64_t until_ns,
		 struct wattle_recording_step *step, unsigned *samples, struct wtl_err *err)
{
	struct wtl_played played;
	int rc;

	while ((rc = wtl_history_step(recording->history, &played, err)) > 0) {
		if (played.kind == WTL_PLAYED_LOST) {
			step->is_lost = 1;
			wtl_text_copy(step->text, sizeof(step->text), played.text);
		}
		if (!wtl_played_has_sample(&played))
			continue;
		++*samples;
		if (played.t_mono_ns >= until_ns)
			return 1;
	}
	return rc;
}

/* t_ns + by_ns, at most INT64_MAX. */
static int64_t later_ns(int64_t t_ns, int64_t by_ns)
{
	return __builtin_add_overflow(t_ns, by_ns, &t_ns) ? INT64_MAX : t_ns;
}

static void give_step(struct wattle_recording_step *step, struct wattle_recording_step *ret_step)
{
	step->total.size = wtl_abi_tail_size(
		ret_step, offsetof(struct wattle_recording_step, total), sizeof(step->total));
	wtl_abi_give(ret_step, step, sizeof(*step));
}

int wattle_recording_next(struct wattle_recording *recording, int64_t interval_ns,
			  struct wattle_recording_step *ret_step,
			  struct wattle_energy *ret_energies, size_t n_energies,
			  struct wattle_error *reterr)
{
	struct wattle_meter *meter = recording->history->meter;
	struct wattle_recording_step step = {.is_lost = 0};
	struct wattle_window window;
	struct wtl_err err = {.code = 0};
	unsigned samples = 0;
	int64_t begin_ns;
	int rc;

	if (!wtl_abi_is_sized(ret_step) || !wtl_abi_is_sized(reterr) ||
	    (n_energies > 0 && !wtl_abi_is_sized(ret_energies)))
		return -EINVAL;
	if (recording->history->is_summary)
		return 0;
	wtl_player_sample_again(recording->history->player);
	begin_ns = wtl_player_mono(recording->history->player);
	interval_ns -= interval_ns / INTERVAL_SLACK;
	rc = wattle_window_begin(meter, STEP);
	if (rc < 0) {
		wtl_err_set(&err, rc, "recording", NULL, "%s", wattle_strerror(rc));
		return hand_over(&err, reterr);
	}
	rc = go_on(recording, later_ns(begin_ns, interval_ns > 0 ? interval_ns : 1), &step,
		   &samples, &err);
	if (rc < 0 || samples == 0) {
		wattle_window_cancel(meter, STEP);
		return rc < 0 ? hand_over(&err, reterr) : 0;
	}
	wtl_window_look(meter, STEP, &window, recording->energies,
			wattle_recording_domains(recording));
	wattle_window_cancel(meter, STEP);
	/* The rest at the end may have no duration. */
	if (rc == 0 && window.duration_ns <= 0)
		return 0;
	step.begin_mono_ns = window.begin_mono_ns;
	step.begin_utc_ns = wtl_player_utc(recording->history->player, window.begin_mono_ns);
	step.duration_ns = window.duration_ns;
	step.total = window.total;
	give_energies(recording, recording->energies, ret_energies, n_energies);
	if (ret_step)
		give_step(&step, ret_step);
	return 1;
}

/* ---- What there is so far ---- */

int wattle_recording_window(struct wattle_recording *recording, size_t i,
			    struct wattle_recording_window *ret_window,
			    struct wattle_energy *ret_energies, size_t n_energies)
{
	struct wattle_recording_window own = {.pid = 0};
	const struct wtl_history_window *window;

	if (i >= recording->history->n_ended)
		return -ERANGE;
	if (!wtl_abi_is_sized(ret_window) || (n_energies > 0 && !wtl_abi_is_sized(ret_energies)))
		return -EINVAL;
	window = &recording->history->windows[i];
	give_energies(recording, window->energies, ret_energies, n_energies);
	if (!ret_window)
		return 0;
	own.pid = window->pid;
	own.window = window->window;
	memcpy(own.name, window->name, sizeof(own.name));
	own.window.size = wtl_abi_tail_size(
		ret_window, offsetof(struct wattle_recording_window, window), sizeof(own.window));
	own.window.total.size = wtl_abi_tail_size(
		ret_window, offsetof(struct wattle_recording_window, window.total),
		sizeof(own.window.total));
	wtl_abi_give(ret_window, &own, sizeof(own));
	return 0;
}

static void name_user(void *context, uint32_t uid, char *name, size_t size)
{
	wtl_text_copy(name, size, wtl_player_user(context, uid));
}

static int64_t start_utc_ns(void *context, int64_t start_ns)
{
	return wtl_player_start_utc(context, start_ns);
}

int wattle_recording_consumers(struct wattle_recording *recording,
			       struct wattle_consumers **ret_consumers, struct wattle_error *reterr)
{
	struct wtl_player *player = recording->history->player;
	const struct wtl_consumers_naming naming = {.user = name_user,
						    .start_utc_ns = start_utc_ns,
						    .context = player,
						    .lacks_gpu_time = true};
	struct wattle_window window = {.size = sizeof(window)};
	const struct wattle_energy *energies;
	struct wtl_err err = {.code = 0};

	if (!ret_consumers || !wtl_abi_is_sized(reterr))
		return -EINVAL;
	wtl_player_billed(player, &window, &energies);
	if (wtl_consumers_list(wtl_player_consumers(player), NULL, &window, &naming,
			       ret_consumers) == 0)
		return 0;
	wtl_err_set(&err, ENOMEM, "recording", NULL, "out of memory");
	return hand_over(&err, reterr);
}
