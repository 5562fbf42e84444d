/* SPDX-License-Identifier: MIT */
#include "serve/past_fill.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "base/thread.h"
#include "energy/units.h"
#include "meter/meter.h"
#include "replay/history.h"
#include "serve/past.h"

/* Samples a little closer than the finest steps are one point. */
#define POINT_NS (900 * WTL_NS_PER_MS)

struct wtl_past_fill {
	struct wtl_past past; /* of its own */
	char **paths;
	size_t n;
	int64_t from_utc_ns;
	pthread_t thread;
	atomic_bool stops, is_done;
	bool is_taken;
};

/* A recording that is being played. */
struct playing {
	struct wtl_past *past;
	struct wtl_history *history;
	struct wtl_past_sums sums;
	struct wattle_energy *energies;
	size_t *columns; /* of the recording's domains; SIZE_MAX: it does not exist any more */
	bool *counts;	 /* it is in the total */
	bool *had_power; /* so the total is not known without it */
	bool is_marked;
	int64_t marked_ns;
};

/* ---- Points ---- */

static float uncertainty_of(const struct wattle_energy *energy)
{
	return energy->measured_ns > 0
		       ? (float)((double)energy->uncertainty_uj * 1e3 / (double)energy->measured_ns)
		       : 0;
}

static void put_point(struct playing *playing, const struct wattle_window *window)
{
	float watts[WTL_PAST_DOMAINS + 1], uncertainties[WTL_PAST_DOMAINS + 1] = {0};
	size_t total = playing->past->n_columns - 1;
	bool is_whole = true;

	for (size_t i = 0; i <= total; i++)
		watts[i] = NAN;
	for (size_t i = 0; i < playing->history->n_domains; i++) {
		const struct wattle_energy *energy = &playing->energies[i];
		float power = (float)((double)energy->mean_uw * 1e-6);

		if (!energy->has_energy || !energy->has_power) {
			is_whole &= !playing->counts[i] || !playing->had_power[i];
			continue;
		}
		playing->had_power[i] = true;
		if (playing->counts[i])
			uncertainties[total] += uncertainty_of(energy);
		if (playing->counts[i])
			watts[total] = isnan(watts[total]) ? power : watts[total] + power;
		if (playing->columns[i] == SIZE_MAX)
			continue;
		watts[playing->columns[i]] = power;
		uncertainties[playing->columns[i]] = uncertainty_of(energy);
	}
	if (!is_whole)
		watts[total] = NAN;
	/* As in agent.c. */
	if (window->total.measured_ns > 0)
		uncertainties[total] = uncertainty_of(&window->total);
	wtl_past_add(playing->past, &playing->sums,
		     wtl_history_utc(playing->history, window->begin_mono_ns + window->duration_ns),
		     window->duration_ns, watts, uncertainties);
}

static void take_sample(struct playing *playing, int64_t t_mono_ns)
{
	struct wattle_meter *meter = playing->history->meter;
	struct wattle_window window;

	if (playing->is_marked && t_mono_ns - playing->marked_ns < POINT_NS)
		return;
	if (playing->is_marked &&
	    wtl_window_look(meter, WTL_WINDOW_OF_SESSION, &window, playing->energies,
			    playing->history->n_domains) == 0)
		put_point(playing, &window);
	playing->is_marked = wtl_window_mark(meter) == 0;
	playing->marked_ns = t_mono_ns;
}

static void take_window(struct playing *playing)
{
	const struct wtl_history_window *ended = playing->history->window;
	struct wtl_past_window window = {.begin_utc_ns = 0};

	if (!ended || ended->is_open || ended->is_main)
		return;
	wtl_text_copy(window.name, sizeof(window.name), ended->name);
	window.begin_utc_ns = wtl_history_utc(playing->history, ended->window.begin_mono_ns);
	window.end_utc_ns = window.begin_utc_ns + ended->window.duration_ns;
	window.has_energy = ended->window.total.has_energy != 0;
	window.energy_uj = ended->window.total.energy_uj;
	window.uncertainty_uj = ended->window.total.uncertainty_uj;
	wtl_past_add_window(playing->past, &window);
}

/* ---- A recording ---- */

static int match_domains(struct playing *playing)
{
	size_t n = playing->history->n_domains;

	playing->energies = calloc(n + 1, sizeof(*playing->energies));
	playing->columns = calloc(n + 1, sizeof(*playing->columns));
	playing->counts = calloc(n + 1, sizeof(*playing->counts));
	playing->had_power = calloc(n + 1, sizeof(*playing->had_power));
	if (!playing->energies || !playing->columns || !playing->counts || !playing->had_power)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct wattle_domain domain;
		size_t column = 0;

		wtl_meter_domain(playing->history->meter, i, &domain);
		while (column < playing->past->n_domains &&
		       strcmp(playing->past->names[column], domain.name) != 0)
			column++;
		playing->columns[i] = column < playing->past->n_domains ? column : SIZE_MAX;
		playing->counts[i] = domain.in_total != 0;
	}
	return wtl_past_sums_init(&playing->sums, playing->past);
}

static void play_to_end(const struct wtl_past_fill *fill, struct playing *playing)
{
	struct wtl_err err = {.code = 0};
	struct wtl_played played;

	while (!atomic_load(&fill->stops) &&
	       wtl_history_step(playing->history, &played, &err) > 0) {
		if (played.kind == WTL_PLAYED_LOST)
			playing->is_marked = false;
		else if (wtl_played_has_sample(&played) && played.t_utc_ns >= fill->from_utc_ns)
			take_sample(playing, played.t_mono_ns);
		take_window(playing);
	}
}

static void play(struct wtl_past_fill *fill, const char *path)
{
	static const struct wtl_history_options options = {.policy.skips_use = true};
	struct playing playing = {.past = &fill->past};
	struct wtl_err err = {.code = 0};

	if (wtl_history_open(path, &options, &playing.history, &err) < 0)
		return;
	if (wtl_history_utc(playing.history, playing.history->end_mono_ns) >= fill->from_utc_ns &&
	    match_domains(&playing) == 0)
		play_to_end(fill, &playing);
	wtl_past_sums_done(&playing.sums);
	free(playing.energies);
	free(playing.columns);
	free(playing.counts);
	free(playing.had_power);
	wtl_history_close(playing.history);
}

/* ---- The thread ---- */

static void *run(void *argument)
{
	struct wtl_past_fill *fill = argument;
	const struct sched_param none = {.sched_priority = 0};

	/* For this thread only. */
	sched_setscheduler(0, SCHED_IDLE, &none);
	for (size_t i = 0; i < fill->n && !atomic_load(&fill->stops); i++)
		play(fill, fill->paths[i]);
	atomic_store(&fill->is_done, true);
	return NULL;
}

static void free_fill(struct wtl_past_fill *fill)
{
	for (size_t i = 0; i < fill->n; i++)
		free(fill->paths[i]);
	free(fill->paths);
	wtl_past_done(&fill->past);
	free(fill);
}

/* Makes a past of the same domains. */
static int copy_past(struct wtl_past_fill *fill, const struct wtl_past *past)
{
	const char *names[WTL_PAST_DOMAINS];

	for (size_t i = 0; i < past->n_domains; i++)
		names[i] = past->names[i];
	return wtl_past_init(&fill->past, names, past->n_domains);
}

static int copy_paths(struct wtl_past_fill *fill, const char *const paths[], size_t n)
{
	fill->paths = calloc(n + 1, sizeof(*fill->paths));
	for (size_t i = 0; fill->paths && i < n; i++) {
		fill->paths[i] = strdup(paths[i]);
		if (!fill->paths[i])
			return -ENOMEM;
		fill->n++;
	}
	return fill->paths ? 0 : -ENOMEM;
}

int wtl_past_fill_start(const struct wtl_past *past, const char *const paths[], size_t n,
			int64_t from_utc_ns, struct wtl_past_fill **ret_fill)
{
	struct wtl_past_fill *fill = calloc(1, sizeof(*fill));
	int rc;

	if (!fill)
		return -ENOMEM;
	fill->from_utc_ns = from_utc_ns;
	rc = copy_past(fill, past);
	if (rc == 0)
		rc = copy_paths(fill, paths, n);
	if (rc == 0)
		rc = wtl_thread_start(&fill->thread, run, fill);
	if (rc < 0)
		free_fill(fill);
	else
		*ret_fill = fill;
	return rc;
}

bool wtl_past_fill_take(struct wtl_past_fill *fill, struct wtl_past *past)
{
	if (!fill || fill->is_taken || !atomic_load(&fill->is_done) || !wtl_past_has_begun(past))
		return false;
	wtl_past_take(past, &fill->past);
	for (size_t i = 0; i < fill->past.state.n_windows && i < WTL_PAST_WINDOWS; i++)
		wtl_past_add_window(past, &fill->past.windows[i]);
	wtl_past_done(&fill->past);
	fill->is_taken = true;
	return true;
}

void wtl_past_fill_stop(struct wtl_past_fill *fill)
{
	if (!fill)
		return;
	atomic_store(&fill->stops, true);
	pthread_join(fill->thread, NULL);
	free_fill(fill);
}
