/* SPDX-License-Identifier: MIT */
/* What was seen when a recording was gone by. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "commands/report/state.h"
#include "document/report.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "document/command_words.h"
#include "document/format.h"
#include "meter/meter.h"
#include "replay/wall.h"

#define DAY_NS	 (86400 * WTL_NS_PER_S)
#define BEGIN_NS (WTL_NS_PER_S / 10)

/* ---- Which part ---- */

/* The file goes at least as far as a window of it. */
static int stretch(void *context, const struct wtl_stored_window *window)
{
	struct wtl_store_period *end = context;

	if (window->begin_mono_ns + window->duration_ns > end->end_mono_ns)
		end->end_mono_ns = window->begin_mono_ns + window->duration_ns;
	return 0;
}

static int read_span(struct wtl_replay *replay)
{
	struct wtl_store_reader *reader = wtl_player_reader(replay->player);
	size_t n = wtl_store_periods(reader);
	int rc;

	if (n == 0 || wtl_store_period(reader, 0, &replay->begin) < 0 ||
	    wtl_store_period(reader, n - 1, &replay->end) < 0)
		return -ENODATA;
	rc = wtl_store_each_window(reader, stretch, &replay->end);
	replay->end.end_utc_ns = wtl_player_utc(replay->player, replay->end.end_mono_ns);
	return rc;
}

static int64_t span_ns(const struct wtl_replay *replay)
{
	return replay->end.end_mono_ns - replay->begin.begin_mono_ns;
}

/* So long after the begin's time: the first moment that showed it, since the begin; before that, if none did. */
static int64_t place_of(const struct wtl_replay *replay, int64_t shown_ns)
{
	int64_t utc_ns, mono_ns;

	if (__builtin_add_overflow(replay->begin.begin_utc_ns, shown_ns, &utc_ns) ||
	    !wtl_wall_find(wtl_player_wall(replay->player), utc_ns, &mono_ns))
		return shown_ns;
	return mono_ns - replay->begin.begin_mono_ns;
}

/* How long after the begin's time the clock shows then. */
static int64_t shown_at(const struct wtl_replay *replay, int64_t since_ns)
{
	if (since_ns > span_ns(replay))
		since_ns = span_ns(replay);
	return wtl_player_utc(replay->player, replay->begin.begin_mono_ns + since_ns) -
	       replay->begin.begin_utc_ns;
}

static int set_bound(struct wtl_replay *replay, const struct wtl_when *when, int64_t after_ns,
		     struct wtl_replay_bound *bound)
{
	int64_t shown_ns, before_ns;
	int rc;

	bound->is_given = when->kind != WTL_WHEN_NOT;
	bound->since_ns = INT64_MIN;
	if (!bound->is_given)
		return 0;
	rc = wtl_when_since_ns(when, replay->begin.begin_utc_ns, after_ns, &shown_ns);
	if (rc < 0)
		return rc;
	bound->since_ns = when->kind == WTL_WHEN_SINCE ? shown_ns : place_of(replay, shown_ns);
	if (when->kind != WTL_WHEN_CLOCK || bound->since_ns <= span_ns(replay))
		return 0;
	/* A time of day that is over at the begin is one of the next day, unless the clock was set back to it. */
	before_ns = place_of(replay, shown_ns - DAY_NS);
	if (before_ns >= 0 && before_ns <= span_ns(replay))
		bound->since_ns = before_ns;
	return 0;
}

static int complain_of_range(struct wtl_replay *replay, const char *what)
{
	bool was_set_back = replay->end.end_utc_ns - replay->begin.begin_utc_ns <
			    span_ns(replay) - WTL_NS_PER_S;
	struct wtl_buf from, to;

	wtl_buf_init(&from, 64);
	wtl_buf_init(&to, 64);
	wtl_format_utc(&from, replay->begin.begin_utc_ns);
	wtl_format_utc(&to, replay->end.end_utc_ns);
	wtl_complain(replay->app, "%s: %s: the recording goes from %s to %s%s", replay->path, what,
		     wtl_buf_str(&from), wtl_buf_str(&to),
		     was_set_back ? ", and the clock was set back meanwhile" : "");
	wtl_buf_done(&from);
	wtl_buf_done(&to);
	return -ERANGE;
}

int wtl_replay_find_part(struct wtl_replay *replay)
{
	const struct wtl_replay_settings *settings = replay->asked;
	int rc = read_span(replay);

	if (rc < 0 || !replay->is_part)
		return rc;
	rc = set_bound(replay, &settings->from, 0, &replay->from);
	if (rc == 0)
		rc = set_bound(replay, &settings->to,
			       replay->from.is_given ? shown_at(replay, replay->from.since_ns) : 0,
			       &replay->to);
	if (rc < 0)
		return complain_of_range(replay, "there is no such time");
	if (replay->from.is_given && replay->to.is_given &&
	    replay->to.since_ns <= replay->from.since_ns) {
		wtl_complain(replay->app, "--to is not after --from");
		return -EINVAL;
	}
	if (replay->from.is_given && replay->from.since_ns > span_ns(replay))
		return complain_of_range(replay, "--from is after its end");
	if (replay->to.is_given && replay->to.since_ns <= 0)
		return complain_of_range(replay, "--to is before its begin");
	return 0;
}

/* ---- What was recorded beside figures ---- */

static const char *user_of(void *context, uint32_t uid)
{
	return wtl_player_user(context, uid);
}

static const char *fact(const struct wtl_replay *replay, const char *key)
{
	const char *text = wtl_store_get_fact(wtl_player_reader(replay->player), key);

	return text ? text : "";
}

/* Where it was, if that was said when it was recorded and is not said now. */
static void take_place(struct wtl_replay *replay)
{
	const char *location = fact(replay, "location"), *pue = fact(replay, "pue-milli");
	struct wtl_settings *settings = &replay->settings;
	uint64_t pue_milli;

	*settings = replay->app->settings;
	if (!settings->location && location[0] &&
	    wtl_meter_carbon(location, &settings->carbon) == 0)
		settings->location = location;
	if (!settings->pue_milli && wtl_num_u64(pue, strlen(pue), &pue_milli) == 0 &&
	    pue_milli >= 1000 && pue_milli <= 10000)
		settings->pue_milli = (uint32_t)pue_milli;
}

static int64_t start_of(void *context, int64_t start_ns)
{
	return wtl_player_start_utc(context, start_ns);
}

static void tell_carbon(const struct wtl_replay *replay, const struct wtl_emission *emission,
			const struct wattle_energy *total, struct wtl_report_carbon *ret_carbon)
{
	if (replay->emitter.intensity)
		wtl_carbon_of_emission(&replay->settings, replay->asked->intensity_path, emission,
				       total, ret_carbon);
	else
		wtl_describe_carbon(&replay->settings, total, ret_carbon);
}

/* ---- How the command ended ---- */

static const char *window_fact(const struct wtl_replay *replay, uint32_t window, const char *key)
{
	char full[WTL_STORE_NAME_SIZE];

	snprintf(full, sizeof(full), WTL_FACT_WINDOW, window, key);
	return fact(replay, full);
}

/* false: there is no such number, or it is none. */
static bool window_number(const struct wtl_replay *replay, uint32_t window, const char *key,
			  int64_t most, int64_t *ret)
{
	const char *text = window_fact(replay, window, key);
	int64_t value;

	if (wtl_num_i64(text, strlen(text), &value) < 0 || value < 0 || value > most)
		return false;
	*ret = value;
	return true;
}

static const char *why_no_exit(const struct wtl_replay *replay, uint32_t window)
{
	const struct wtl_store_reader *reader = wtl_player_reader(replay->player);
	const char *reason = window_fact(replay, window, WTL_FACT_EXIT_REASON);

	if (reason[0])
		return reason;
	if (wtl_store_is_live(reader))
		return "it was still running";
	return wtl_store_is_whole(reader) ? "the wattle that recorded it did not keep that"
					  : "the recording was cut off before";
}

static void note(struct wtl_description *description, const char *what, const char *which)
{
	size_t i = description->n_notes;

	if (i == sizeof(description->notes) / sizeof(description->notes[0]))
		return;
	snprintf(description->notes_text[i], sizeof(description->notes_text[i]), "%s%s", what,
		 which);
	description->notes[i] = description->notes_text[i];
	description->n_notes++;
}

static void note_dropped(const struct wtl_replay *replay, struct wtl_description *description)
{
	char text[WTL_REMARK_SIZE];

	if (wtl_replay_tell_dropped(wtl_player_reader(replay->player), text))
		note(description, text, "");
}

/* Parts tell what was used in them: the command's end is one of the whole run. */
static void tell_exit(const struct wtl_replay *replay, struct wtl_replay_run *run)
{
	uint32_t window = wtl_player_main_window(replay->player);
	struct wtl_report *report = &run->report;
	int64_t value;

	if (replay->is_part || !fact(replay, "command")[0])
		return;
	report->interrupted = window_number(replay, window, WTL_FACT_INTERRUPTED, 1, &value);
	report->has_exit = window_number(replay, window, WTL_FACT_EXIT_STATUS, 255, &value);
	if (!report->has_exit) {
		note(&run->description,
		     "how the command ended is not known: ", why_no_exit(replay, window));
		return;
	}
	report->exit_status = (int)value;
	if (window_number(replay, window, WTL_FACT_EXIT_SIGNAL, 127, &value))
		report->exit_signal = (int)value;
	if (wtl_replay_has_dropped(replay))
		return;
	if (window_number(replay, window, WTL_FACT_COMMAND_CPU, INT64_MAX, &value))
		report->command_cpu_ns = value;
	if (window_number(replay, window, WTL_FACT_COMMAND_MEMORY, INT64_MAX, &value))
		report->command_rss_bytes = (uint64_t)value;
}

/* ---- One run ---- */

/* By the clock of the run's end, where that was set since idle power was seen: else its age would be wrong. */
static void tell_idle_times(const struct wtl_replay *replay, struct wtl_description *description,
			    int64_t end_mono_ns)
{
	const struct wtl_wall *wall = wtl_player_wall(replay->player);

	for (size_t i = 0; i < description->n_domains; i++) {
		struct wtl_baseline *idle = &description->domains[i].idle;
		int64_t mono_ns, t_utc_ns;

		if (!idle->is_known || idle->t_utc_ns <= 0 ||
		    !wtl_player_learned(replay->player, idle->t_utc_ns, &mono_ns))
			continue;
		t_utc_ns = wtl_wall_utc(wall, end_mono_ns) - (end_mono_ns - mono_ns) -
			   (wtl_wall_slept(wall, end_mono_ns) - wtl_wall_slept(wall, mono_ns));
		/* Less than that is not told as a clock that was set. */
		if (llabs(t_utc_ns - idle->t_utc_ns) > WTL_NS_PER_S)
			idle->t_utc_ns = t_utc_ns;
	}
}

int wtl_replay_describe(struct wtl_replay *replay, struct wtl_replay_run *run,
			const struct wtl_emission *emission)
{
	struct wattle_meter *meter = wtl_player_meter(replay->player);
	struct wtl_description *description = &run->description;
	struct wtl_report *report = &run->report;
	const struct wattle_energy *energies;

	wtl_player_billed(replay->player, &report->window, &energies);
	memcpy(description->energies, energies, replay->n_domains * sizeof(*energies));
	wtl_description_fill(description, meter);
	replay->naming = (struct wtl_naming){
		.user = user_of,
		.start_utc_ns = start_of,
		.context = replay->player,
	};
	description->naming = &replay->naming;
	if (replay->n_runs == 1) /* this is the first */
		take_place(replay);
	if (!wtl_player_follows(replay->player))
		description->attribution.reason = "processes were not followed (--no-processes)";
	else if (!wtl_player_has_looks(replay->player))
		description->attribution.reason = "it ends before anybody was looked at";
	else if (wtl_describe_attribution(description, &replay->app->settings,
					  wtl_player_consumers(replay->player), 0) < 0)
		return -ENOMEM;
	report->attribution = description->attribution;
	tell_idle_times(replay, description,
			report->window.begin_mono_ns + report->window.duration_ns);
	/* Of those that were seen, unless it was waited for. */
	if (report->attribution.has_command)
		report->command_cpu_ns = report->attribution.command_cpu_ns;
	tell_exit(replay, run);
	note_dropped(replay, description);
	report->domains = description->domains;
	report->n_domains = description->n_domains;
	report->n_notes = description->n_notes;
	run->emission = *emission;
	tell_carbon(replay, emission, &report->window.total, &report->carbon);
	return 0;
}

/* ---- All of it ---- */

static void tell_facts(struct wtl_replay *replay)
{
	struct wtl_recording *recording = &replay->recording;
	const struct wtl_store_reader *reader = wtl_player_reader(replay->player);
	const char *interval = fact(replay, "interval-ns");

	recording->path = replay->path;
	recording->version = fact(replay, WTL_FACT_VERSION);
	recording->host = fact(replay, "host");
	recording->cpu_model = fact(replay, WTL_FACT_CPU_MODEL);
	recording->kernel = fact(replay, WTL_FACT_KERNEL);
	recording->location = fact(replay, "location");
	wtl_num_i64(interval, strlen(interval), &recording->interval_ns);
	recording->is_whole = wtl_store_is_whole(reader);
	recording->is_live = wtl_store_is_live(reader);
	recording->is_part = replay->is_part || wtl_replay_has_dropped(replay);
	recording->begin_utc_ns = replay->begin.begin_utc_ns;
	recording->begin_mono_ns = replay->begin.begin_mono_ns;
	recording->span_ns = span_ns(replay);
}

static int tell_command(struct wtl_replay *replay)
{
	const char *text = fact(replay, "command");

	if (!text[0])
		return 0;
	replay->command = wtl_command_words(text);
	return replay->command ? 0 : -ENOMEM;
}

/* A clock was set at once, by however much. */
static bool is_within(const struct wtl_stored_gap *gap, const struct wattle_window *window)
{
	int64_t duration_ns = gap->kind == WTL_GAP_CLOCK_STEP ? 0 : gap->duration_ns, end_ns;

	return gap->begin_mono_ns <= window->begin_mono_ns + window->duration_ns &&
	       (__builtin_add_overflow(gap->begin_mono_ns, duration_ns, &end_ns) ||
		end_ns >= window->begin_mono_ns);
}

/* What a report of it at once would have told as notes. Gaps say when it was. */
static void note_gaps(const struct wtl_replay *replay, struct wtl_replay_run *run)
{
	bool has_lost_exits = false;
	int64_t step_ns = 0;

	for (size_t i = 0; i < replay->n_gaps; i++) {
		const struct wtl_replay_gap *gap = &replay->gaps[i];

		/* What happens in the last second is seen a moment after the end. */
		if ((replay->is_part || replay->n_runs > 1) &&
		    !is_within(&gap->stored, &run->report.window))
			continue;
		has_lost_exits |= strcmp(gap->kind, wtl_gap_name(WTL_GAP_EXITS)) == 0;
		if (strcmp(gap->kind, wtl_gap_name(WTL_GAP_CLOCK_STEP)) == 0 &&
		    __builtin_add_overflow(step_ns, gap->stored.duration_ns, &step_ns))
			step_ns = gap->stored.duration_ns < 0 ? INT64_MIN : INT64_MAX;
	}
	if (has_lost_exits)
		wtl_describe_lost_exits(&run->description, 0);
	wtl_describe_clock_step(&run->description, step_ns, "what it showed then");
	run->report.n_notes = run->description.n_notes;
}

static void tell_runs(struct wtl_replay *replay)
{
	struct wtl_report_self self = {.cpu_ns = 0};

	wtl_describe_cost(wtl_player_meter(replay->player),
			  replay->second.self_cpu_ns > replay->part_self_cpu_ns
				  ? replay->second.self_cpu_ns - replay->part_self_cpu_ns
				  : 0,
			  &self);
	self.max_rss_bytes = (uint64_t)replay->second.self_rss_bytes;
	for (size_t i = 0; i < replay->n_runs; i++) {
		struct wtl_replay_run *run = &replay->runs[i];

		note_gaps(replay, run);
		/* The runs have moved since they were described. */
		for (size_t k = 0; k < run->description.n_notes; k++)
			run->description.notes[k] = run->description.notes_text[k];
		run->report.notes = run->description.notes;
		run->report.command = replay->command;
		run->report.self = self;
		run->report.self.ticks = run->report.window.total.samples;
	}
}

/* The part is one of this window, which is the measurement that was recorded. */
static bool is_parts_window(const struct wtl_replay *replay,
			    const struct wtl_recording_window *told)
{
	const struct wattle_window *part = &replay->recording.report.window;
	const struct wattle_window *whole = &told->window;

	/* They begin with one sample, which takes a moment. */
	return replay->is_part && told->is_main &&
	       part->begin_mono_ns >= whole->begin_mono_ns - BEGIN_NS &&
	       part->begin_mono_ns + part->duration_ns <=
		       whole->begin_mono_ns + whole->duration_ns + BEGIN_NS;
}

/* Of that window, what is told is the part. */
static void tell_parts_window(const struct wtl_replay *replay, struct wtl_recording_window *told)
{
	const struct wtl_replay_run *run = &replay->runs[replay->n_runs - 1];
	const struct wattle_window *part = &run->report.window;

	told->is_cut |= part->begin_mono_ns > told->window.begin_mono_ns + BEGIN_NS;
	told->window = *part;
	told->energies = run->description.energies;
	told->has_carbon = part->total.has_energy;
	told->carbon = run->report.carbon;
}

static int tell_windows(struct wtl_replay *replay)
{
	replay->told_windows = calloc(replay->n_windows + 1, sizeof(*replay->told_windows));
	if (!replay->told_windows)
		return -ENOMEM;
	for (size_t i = 0; i < replay->n_windows; i++) {
		struct wtl_recording_window *told = &replay->told_windows[i];
		const struct wtl_replay_window *window = &replay->windows[i];

		*told = window->told;
		told->name = window->name;
		told->energies = window->has_energies ? window->energies : NULL;
		told->has_carbon = told->energies && told->window.total.has_energy;
		if (told->has_carbon)
			tell_carbon(replay, &window->emission, &told->window.total, &told->carbon);
		if (is_parts_window(replay, told))
			tell_parts_window(replay, told);
	}
	replay->recording.windows = replay->told_windows;
	replay->recording.n_windows = replay->n_windows;
	return 0;
}

static bool is_in_part(const struct wtl_replay *replay, const struct wtl_stored_gap *gap)
{
	return !replay->is_part || is_within(gap, &replay->recording.report.window);
}

static int tell_gaps(struct wtl_replay *replay)
{
	size_t n = 0;

	replay->told_gaps = calloc(replay->n_gaps + 1, sizeof(*replay->told_gaps));
	if (!replay->told_gaps)
		return -ENOMEM;
	for (size_t i = 0; i < replay->n_gaps; i++) {
		const struct wtl_replay_gap *gap = &replay->gaps[i];

		if (is_in_part(replay, &gap->stored))
			replay->told_gaps[n++] = (struct wtl_recording_gap){
				.kind = gap->kind,
				.begin_utc_ns =
					wtl_player_utc(replay->player, gap->stored.begin_mono_ns),
				.duration_ns = gap->stored.duration_ns,
				.domain = gap->stored.subject,
				.text = gap->stored.text,
			};
	}
	replay->recording.gaps = replay->told_gaps;
	replay->recording.n_gaps = n;
	return 0;
}

static int tell_sensors(struct wtl_replay *replay)
{
	const struct wattle_meter *meter = wtl_player_meter(replay->player);

	replay->sensors = calloc(replay->n_domains + 1, sizeof(*replay->sensors));
	if (!replay->sensors)
		return -ENOMEM;
	for (size_t i = 0; i < replay->n_domains; i++) {
		int primary = meter->lines[i].domain.primary;

		if (primary < 0)
			continue;
		replay->sensors[i].gain_ppm = meter->catalog.channels[primary].gain_ppm;
		replay->sensors[i].offset_uw = meter->catalog.channels[primary].offset_uw;
	}
	replay->recording.sensors = replay->sensors;
	return 0;
}

/* Those that are empty are left out, unless they were asked for. */
static int add_grouping(struct wtl_replay *replay, enum wtl_by by, bool is_asked)
{
	struct wtl_recording_grouping *grouping = &replay->groupings[replay->n_groupings];
	int rc = wtl_grouping_new(replay->player, by, replay->app->settings.top, grouping);

	if (rc < 0)
		return rc;
	if (!is_asked &&
	    (grouping->n_groups == 0 || (grouping->n_groups == 1 && !grouping->groups[0].name[0])))
		wtl_grouping_free(grouping);
	else
		replay->n_groupings++;
	return 0;
}

static int tell_groupings(struct wtl_replay *replay)
{
	static const enum wtl_by usual[WTL_REPLAY_GROUPINGS] = {
		WTL_BY_USER, WTL_BY_UNIT, WTL_BY_CONTAINER, WTL_BY_POD, WTL_BY_JOB};
	int asked = replay->asked->by, rc = 0;

	replay->recording.has_by = asked >= 0;
	if (asked >= 0 && asked != WTL_BY_PROCESS && asked != WTL_BY_WINDOW)
		rc = add_grouping(replay, (enum wtl_by)asked, true);
	for (size_t i = 0; rc == 0 && asked < 0 && i < WTL_REPLAY_GROUPINGS; i++)
		rc = add_grouping(replay, usual[i], false);
	replay->recording.by = asked < 0 ? WTL_BYS : (enum wtl_by)asked;
	replay->recording.groupings = replay->groupings;
	replay->recording.n_groupings = replay->n_groupings;
	return rc;
}

static void tell_policy(struct wtl_replay *replay)
{
	static const char *const idle[] = {
		[WTL_IDLE_RECORDED] = "recorded",
		[WTL_IDLE_LEARNED] = "learned",
		[WTL_IDLE_NONE] = "none",
	};
	struct wtl_recording_policy *policy = &replay->recording.policy;

	policy->idle = idle[replay->policy->idle];
	policy->idle_given = replay->policy->given_list;
	policy->n_idle_given = replay->policy->n_given;
}

/* Names that are in no domain of the recording are mistakes. */
static int check_policy(const struct wtl_replay *replay)
{
	const struct wattle_meter *meter = wtl_player_meter(replay->player);

	for (size_t i = 0; i < replay->policy->n_given; i++) {
		if (wattle_meter_find(meter, replay->policy->given[i].domain) >= 0)
			continue;
		wtl_complain(replay->app, "--policy: %s has no domain '%s'", replay->path,
			     replay->policy->given[i].domain);
		return -EINVAL;
	}
	return 0;
}

int wtl_replay_finish(struct wtl_replay *replay)
{
	const struct wtl_replay_run *last;
	int rc = check_policy(replay);

	if (rc == 0)
		rc = read_span(replay);
	if (rc == 0)
		rc = tell_command(replay);
	if (rc < 0)
		return rc;
	tell_facts(replay);
	tell_runs(replay);
	last = &replay->runs[replay->n_runs - 1];
	replay->recording.report = last->report;
	replay->recording.end_utc_ns =
		wtl_player_utc(replay->player,
			       last->report.window.begin_mono_ns + last->report.window.duration_ns);
	replay->recording.carbon = (struct wtl_recording_carbon){
		.is_varying = replay->emitter.intensity != NULL,
		.file = replay->asked->intensity_path,
		.emission = last->emission,
	};
	tell_policy(replay);
	rc = tell_windows(replay);
	if (rc == 0)
		rc = tell_gaps(replay);
	if (rc == 0)
		rc = tell_sensors(replay);
	return rc < 0 ? rc : tell_groupings(replay);
}

void wtl_replay_free(struct wtl_replay *replay)
{
	if (!replay)
		return;
	for (size_t i = 0; i < replay->n_windows; i++)
		free(replay->windows[i].energies);
	for (size_t i = 0; i < replay->n_runs; i++)
		wtl_description_done(&replay->runs[i].description);
	for (size_t i = 0; i < replay->n_groupings; i++)
		wtl_grouping_free(&replay->groupings[i]);
	wtl_emitter_done(&replay->emitter);
	free(replay->windows);
	free(replay->gaps);
	free(replay->runs);
	free(replay->command);
	free(replay->told_windows);
	free(replay->told_gaps);
	free(replay->sensors);
	wtl_player_close(replay->player);
	free(replay);
}

const struct wtl_recording *wtl_replay_recording(const struct wtl_replay *replay)
{
	return &replay->recording;
}

size_t wtl_replay_runs(const struct wtl_replay *replay)
{
	return replay->n_runs - replay->is_unfinished;
}

const struct wtl_report *wtl_replay_run(const struct wtl_replay *replay, size_t i)
{
	return &replay->runs[i].report;
}

const struct wtl_report *wtl_replay_unfinished(const struct wtl_replay *replay)
{
	return replay->is_unfinished ? &replay->runs[replay->n_runs - 1].report : NULL;
}
