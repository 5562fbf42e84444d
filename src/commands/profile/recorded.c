/* SPDX-License-Identifier: MIT */
#include "commands/profile/recorded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/complain.h"
#include "cli/machine.h"
#include "cli/recordings.h"
#include "commands/profile/energy.h"
#include "commands/profile/parts.h"
#include "commands/profile/watch.h"
#include "document/command_words.h"
#include "energy/units.h"
#include "meter/meter.h"
#include "replay/history.h"
#include "report/recorded.h"

#define WINDOW "profile"
/* The most memory it may take. */
#define ROOM_MAX ((size_t)2 << 30)

struct reading {
	struct wtl_app *app;
	const char *path;
	struct wtl_history *history;
	struct wtl_saved *saved;
	struct wtl_profile_parts parts;
};

/* ---- Energy ---- */

static int begin(struct wtl_profile_energy *energy, struct wtl_history *history)
{
	int rc;

	wtl_player_sample_again(history->player);
	rc = wattle_window_begin(history->meter, WINDOW);
	wtl_profile_energy_begin(energy);
	return rc;
}

/* Replays the recording for ticks and bills; window is that of all of it. */
static int play(struct wtl_history *history, struct wtl_profile_energy *energy,
		struct wattle_window *window, struct wtl_err *err)
{
	struct wtl_played played;
	bool has_begun = false;
	int rc;

	while ((rc = wtl_history_step(history, &played, err)) > 0) {
		if (!has_begun && history->has_begun) {
			has_begun = true;
			rc = begin(energy, history);
			if (rc < 0)
				return wtl_err_set(err, rc, "profile", NULL, "%s",
						   wattle_strerror(rc));
		} else if (has_begun && wtl_played_has_sample(&played)) {
			wtl_profile_energy_look(energy);
		} else if (has_begun && played.kind == WTL_PLAYED_BILLED) {
			wtl_profile_energy_bill(energy);
		}
	}
	if (rc < 0)
		return rc;
	if (!has_begun || energy->split.n_bills == 0)
		return wtl_err_set(err, -ENODATA, "profile", NULL,
				   "it ends before anybody was billed for anything");
	return wtl_window_look(history->meter, WINDOW, window, energy->energies,
			       energy->split.n_domains);
}

/* ---- Samples ---- */

static int read_parts(struct reading *reading, struct wtl_err *err)
{
	struct wtl_store_reader *reader = reading->history->reader;
	int64_t series = wtl_store_find(reader, WTL_SERIES_PROFILE);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < wtl_store_periods(reader); i++) {
		const int64_t *values;
		size_t n;

		rc = wtl_store_values(reader, (uint32_t)series, i, &values, &n, err);
		if (rc == 0)
			rc = wtl_profile_parts_take(&reading->parts, values, n);
		if (rc != -EBADMSG)
			continue;
		reading->parts.n_bad++;
		reading->parts.n_parts++;
		err->text[0] = '\0';
		rc = 0;
	}
	return rc;
}

/* ---- All of it ---- */

static int take_command(struct wtl_saved *saved, const char *text)
{
	char **words = wtl_command_words(text);
	size_t n = 0;

	while (words && words[n])
		n++;
	saved->command = words ? calloc(n + 1, sizeof(*saved->command)) : NULL;
	for (size_t i = 0; saved->command && i < n; i++)
		if ((saved->command[i] = strdup(words[i])))
			saved->n_command++;
	free(words);
	return saved->command && saved->n_command == n ? 0 : -ENOMEM;
}

static int64_t fact_number(const struct wtl_history *history, const char *key)
{
	const char *text = wtl_history_fact(history, key);
	int64_t number = 0;

	return wtl_num_i64(text, strlen(text), &number) == 0 && number >= 0 ? number : 0;
}

/* A mark took a tick: the window begins or ends with that. */
static int64_t tick_up_to(const struct wtl_split *split, int64_t t_ns)
{
	size_t n = WTL_TIMES_UP_TO(split->ticks, split->n_ticks, t_ns, t_ns);

	return n > 0 ? split->ticks[n - 1].t_ns : split->begin_ns;
}

static int take_windows(struct wtl_saved *saved, const struct wtl_history *history)
{
	saved->windows = calloc(history->n_windows + 1, sizeof(*saved->windows));
	if (!saved->windows)
		return -ENOMEM;
	for (size_t i = 0; i < history->n_windows; i++) {
		const struct wtl_history_window *from = &history->windows[i];
		struct wtl_profile_window *to = &saved->windows[saved->n_windows];

		if (from->is_main)
			continue;
		wtl_text_copy(to->name, sizeof(to->name), from->name);
		to->begin_ns = tick_up_to(&saved->split, from->window.begin_mono_ns);
		to->end_ns =
			tick_up_to(&saved->split, from->is_open ? INT64_MAX
								: from->window.begin_mono_ns +
									  from->window.duration_ns);
		saved->n_windows += to->end_ns > to->begin_ns;
	}
	return 0;
}

static int take_facts(const struct reading *reading)
{
	const struct wtl_history *history = reading->history;
	struct wtl_saved *saved = reading->saved;
	const char *host = wtl_history_fact(history, "host");
	const char *command = wtl_history_fact(history, "command");
	struct wtl_report_place given = wtl_settings_place(&reading->app->settings);

	if (host[0] && !(saved->host = strdup(host)))
		return -ENOMEM;
	if (command[0] && take_command(saved, command) < 0)
		return -ENOMEM;
	saved->profile.pid = (int)fact_number(history, WTL_FACT_FOLLOW_PID);
	saved->profile.interval_ns = fact_number(history, "interval-ns");
	saved->profile.own_cpu_ns = history->second.self_cpu_ns - history->cpu_before_ns;
	wtl_recorded_place(history, &given, &saved->profile.place);
	return take_windows(saved, history);
}

/* Finds names at the recording's end or in files. 1: calls and places too; 0: these are to be made; or negative. */
static int find_names(struct reading *reading)
{
	struct wtl_saved *saved = reading->saved;
	struct wtl_err err = {.code = 0};
	int rc;

	if (!wtl_saved_trace_is_sound(&saved->trace))
		return -EBADMSG;
	if (wtl_profile_parts_use_names(&reading->parts)) {
		rc = wtl_places_index(&saved->places);
		if (rc == 0 && !wtl_saved_trace_is_sound(&saved->trace))
			rc = -EBADMSG;
		return rc < 0 ? rc : 1;
	}
	rc = wtl_profile_parts_open_files(&reading->parts, &err);
	if (err.text[0])
		wtl_remark(reading->app, "%s", err.text);
	return rc == -ENOMEM ? rc : 0;
}

static int divide(struct reading *reading, struct wtl_profile_energy *energy)
{
	struct wtl_saved *saved = reading->saved;
	int rc = find_names(reading);
	bool has_names = rc > 0;

	energy->split.period_ns = WTL_NS_PER_S / saved->profile.hz;
	if (rc >= 0)
		rc = wtl_split_compute(&energy->split, &saved->trace, &saved->result);
	if (rc == 0 && !has_names)
		rc = wtl_calls_make(&saved->trace, &saved->result, &saved->calls);
	if (rc == 0 && !has_names)
		rc = wtl_places_make(&saved->places, &saved->trace);
	wtl_profile_watch_complain(reading->app, &saved->trace);
	return rc;
}

static int make(struct reading *reading, struct wtl_profile_energy *energy)
{
	struct wtl_saved *saved = reading->saved;
	struct wtl_profile *profile = &saved->profile;
	int rc = divide(reading, energy);

	if (rc == 0)
		rc = wtl_profile_energy_describe(energy, profile);
	saved->domains = profile->domains;
	saved->ledgers = profile->ledgers;
	saved->counts = profile->counts;
	saved->split = energy->split;
	saved->split.learns = saved->split.launches = NULL;
	energy->split = (struct wtl_split){.n_domains = 0};
	if (rc == 0)
		rc = take_facts(reading);
	if (rc == 0 && !wtl_saved_is_sound(saved))
		rc = -EBADMSG;
	return rc == 0 ? wtl_saved_join(saved) : rc;
}

static int read_all(struct reading *reading, struct wtl_profile_energy *energy, struct wtl_err *err)
{
	struct wtl_history *history = reading->history;
	int rc = 0;

	if (wtl_store_find(history->reader, WTL_SERIES_PROFILE) < 0)
		return wtl_err_set(err, -ENODATA, "profile", NULL,
				   "there is no profile in it: wattle record --profile keeps one");
	if (!history->is_part)
		wtl_history_choose(history, INT64_MIN, INT64_MAX);
	rc = wtl_profile_energy_init(energy, history->meter, WINDOW);
	energy->consumers = history->consumers;
	energy->own_pid = wtl_store_pid(history->reader);
	if (rc == 0)
		rc = play(history, energy, &reading->saved->window, err);
	if (rc < 0)
		return rc;
	wtl_profile_energy_end(energy);
	reading->parts.begin_ns = energy->split.begin_ns;
	reading->parts.end_ns = energy->split.bills[energy->split.n_bills - 1].t_ns;
	rc = read_parts(reading, err);
	if (rc == 0 && reading->saved->profile.hz == 0)
		return wtl_err_set(err, -ENODATA, "profile", NULL, "nothing was seen in it");
	return rc == 0 ? make(reading, energy) : rc;
}

int wtl_profile_of_recording(struct wtl_app *app, const char *path, struct wtl_history *history,
			     struct wtl_saved *saved)
{
	struct reading reading = {.app = app,
				  .path = path,
				  .history = history,
				  .saved = saved,
				  .parts = {.saved = saved, .room = ROOM_MAX}};
	struct wtl_profile_energy energy = {.billed_ns = 0};
	struct wtl_err err = {.code = 0};
	int rc;

	*saved = (struct wtl_saved){.n_command = 0};
	wtl_trace_clear(&saved->trace);
	rc = read_all(&reading, &energy, &err);
	wtl_saved_done(&reading.parts.names);
	wtl_profile_energy_done(&energy);
	if (rc == 0) {
		wtl_remark_missing(app, path, history);
		if (reading.parts.n_bad > 0)
			wtl_remark(app, "%s: %zu of %zu parts of its profile are damaged", path,
				   reading.parts.n_bad, reading.parts.n_parts);
		return 0;
	}
	wtl_complain(app, "cannot read '%s': %s", path,
		     err.text[0]      ? err.text
		     : rc == -EBADMSG ? "its profile is damaged"
		     : rc == -EFBIG   ? "its profile needs more than 2 GiB of memory"
				      : wtl_err_text(rc));
	return rc;
}
