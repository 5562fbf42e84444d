/* SPDX-License-Identifier: MIT */
#include "report/recorded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/num.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "replay/format.h"
#include "replay/wall.h"
#include "document/command_words.h"
#include "report/missing.h"

/* Windows that begin with the same sample may differ by less than this, as a sample takes a moment. */
#define BEGIN_NS (WTL_NS_PER_S / 10)

static const char *fact(const struct wtl_recorded *recorded, const char *key)
{
	return wtl_history_fact(recorded->history, key);
}

/* ---- The place ---- */

static void name_user(void *context, uint32_t uid, char *name, size_t size)
{
	wtl_player_name_user(context, uid, name, size);
}

static int64_t start_of(void *context, int64_t start_ns)
{
	return wtl_player_start_utc(context, start_ns);
}

void wtl_recorded_place(const struct wtl_history *history, const struct wtl_report_place *given,
			struct wtl_report_place *ret_place)
{
	const char *location = wtl_history_fact(history, "location");
	const char *pue = wtl_history_fact(history, "pue-milli");
	uint64_t pue_milli;

	*ret_place = *given;
	if (ret_place->is_default && location[0] &&
	    wtl_meter_carbon(location, &ret_place->carbon) == 0)
		ret_place->is_default = false;
	if (!ret_place->pue_milli && wtl_num_u64(pue, strlen(pue), &pue_milli) == 0 &&
	    pue_milli >= 1000 && pue_milli <= 10000)
		ret_place->pue_milli = (uint32_t)pue_milli;
}

static void take_source(struct wtl_recorded *recorded)
{
	const struct wtl_history *history = recorded->history;
	struct wtl_report_source *source = &recorded->source;
	const char *wall = wtl_history_fact(history, WTL_FACT_WALL);

	*source = (struct wtl_report_source){
		.meter = history->meter,
		.naming = {name_user, start_of, history->player},
		.top = recorded->options.top,
	};
	wtl_recorded_place(history, &recorded->options.place, &source->place);
	if (wtl_kept_calibration_parse(wall, strlen(wall), &recorded->wall) == 0)
		source->wall = &recorded->wall;
	if (wtl_history_fact(history, WTL_FACT_IMPORTED)[0])
		source->no_consumers = "the file that was imported tells of none";
	else if (!wtl_player_follows(history->player))
		source->no_consumers = "processes were not followed (--no-processes)";
	else if (!wtl_player_has_scans(history->player))
		source->no_consumers = "it ends before anybody was looked at";
	else
		source->consumers = history->consumers;
}

static void tell_carbon(const struct wtl_recorded *recorded, const struct wtl_emission *emission,
			const struct wattle_energy *total, struct wtl_report_carbon *ret_carbon)
{
	if (wtl_history_has_intensity(recorded->history))
		wtl_describe_emission(&recorded->source.place, recorded->options.intensity_path,
				      emission, total, ret_carbon);
	else
		wtl_describe_carbon(&recorded->source.place, total, ret_carbon);
}

/* ---- How the command ended ---- */

static const char *window_fact(const struct wtl_recorded *recorded, uint32_t window,
			       const char *key)
{
	char full[WTL_STORE_NAME_SIZE];

	snprintf(full, sizeof(full), WTL_FACT_WINDOW, window, key);
	return fact(recorded, full);
}

/* false: there is no such number, or it is invalid. */
static bool window_number(const struct wtl_recorded *recorded, uint32_t window, const char *key,
			  int64_t most, int64_t *ret)
{
	const char *text = window_fact(recorded, window, key);
	int64_t value;

	if (wtl_num_i64(text, strlen(text), &value) < 0 || value < 0 || value > most)
		return false;
	*ret = value;
	return true;
}

static const char *why_no_exit(const struct wtl_recorded *recorded, uint32_t window)
{
	const struct wtl_store_reader *reader = recorded->history->reader;
	const char *reason = window_fact(recorded, window, WTL_FACT_EXIT_REASON);

	if (reason[0])
		return reason;
	if (wtl_store_is_live(reader))
		return "it was still running";
	return wtl_store_is_whole(reader) ? "the wattle that recorded it did not keep that"
					  : "the recording was cut off before";
}

/* Not in a part's report: the command's end belongs to the whole run. */
static void tell_exit(const struct wtl_recorded *recorded, struct wtl_recorded_run *run)
{
	uint32_t window = wtl_player_main_window(recorded->history->player);
	struct wtl_report *report = &run->report;
	int64_t value;

	if (recorded->history->is_part || !fact(recorded, "command")[0])
		return;
	report->interrupted = window_number(recorded, window, WTL_FACT_INTERRUPTED, 1, &value);
	report->has_exit = window_number(recorded, window, WTL_FACT_EXIT_STATUS, 255, &value);
	if (!report->has_exit) {
		wtl_describe_note(&run->description, "how the command ended is not known: %s",
				  why_no_exit(recorded, window));
		return;
	}
	report->exit_status = (int)value;
	if (window_number(recorded, window, WTL_FACT_EXIT_SIGNAL, 127, &value))
		report->exit_signal = (int)value;
	if (wtl_store_has_dropped(recorded->history->reader))
		return;
	if (window_number(recorded, window, WTL_FACT_COMMAND_CPU, INT64_MAX, &value))
		report->command_cpu_ns = value;
	if (window_number(recorded, window, WTL_FACT_COMMAND_MEMORY, INT64_MAX, &value))
		report->command_rss_bytes = (uint64_t)value;
}

/* ---- One run ---- */

/* Idle power's time by the clock at the run's end. If that was set since, the age would be wrong otherwise. */
static void tell_idle_times(const struct wtl_recorded *recorded,
			    struct wtl_description *description, int64_t end_mono_ns)
{
	const struct wtl_wall *wall = wtl_player_wall(recorded->history->player);

	for (size_t i = 0; i < description->n_domains; i++) {
		struct wtl_baseline *idle = &description->domains[i].idle;
		int64_t mono_ns, t_utc_ns;

		if (!idle->is_known || idle->t_utc_ns <= 0 ||
		    !wtl_player_learned(recorded->history->player, idle->t_utc_ns, &mono_ns))
			continue;
		t_utc_ns = wtl_wall_utc(wall, end_mono_ns) - (end_mono_ns - mono_ns) -
			   (wtl_wall_slept(wall, end_mono_ns) - wtl_wall_slept(wall, mono_ns));
		/* A smaller difference is not taken for a clock that was set. */
		if (llabs(t_utc_ns - idle->t_utc_ns) > WTL_NS_PER_S)
			idle->t_utc_ns = t_utc_ns;
	}
}

/* Describes the run at the player's newest bill. */
static int describe(struct wtl_recorded *recorded, struct wtl_recorded_run *run)
{
	struct wtl_history *history = recorded->history;
	struct wtl_description *description = &run->description;
	struct wtl_report *report = &run->report;
	const struct wattle_energy *energies;
	char text[WTL_REMARK_SIZE];

	wtl_player_billed(history->player, &report->window, &energies);
	memcpy(description->energies, energies, history->n_domains * sizeof(*energies));
	take_source(recorded);
	if (wtl_description_report(description, &recorded->source, report) < 0)
		return -ENOMEM;
	tell_idle_times(recorded, description,
			report->window.begin_mono_ns + report->window.duration_ns);
	/* Of those processes that were seen; replaced if the command was waited for. */
	if (report->attribution.has_command)
		report->command_cpu_ns = report->attribution.command_cpu_ns;
	tell_exit(recorded, run);
	if (wtl_missing_dropped(history->reader, text))
		wtl_describe_note(description, "%s", text);
	run->emission = wtl_history_emission(history);
	tell_carbon(recorded, &run->emission, &report->window.total, &report->carbon);
	return 0;
}

static int finish_run(struct wtl_recorded *recorded)
{
	struct wtl_recorded_run *run = calloc(1, sizeof(*run));

	if (!run || wtl_array_reserve(&recorded->runs, &recorded->runs_room, recorded->n_runs + 1,
				      sizeof(*recorded->runs)) < 0) {
		free(run);
		return -ENOMEM;
	}
	recorded->runs[recorded->n_runs++] = run;
	run->report.command_cpu_ns = -1;
	if (wtl_description_init(&run->description, recorded->history->meter) < 0)
		return -ENOMEM;
	return describe(recorded, run);
}

/* ---- Going through it ---- */

static int complain_of_nothing(const struct wtl_recorded *recorded, struct wtl_err *err)
{
	const struct wtl_history *history = recorded->history;
	const char *why = wtl_player_follows(history->player)
				  ? "who used energy is looked at about once a second"
				  : "it lies between two samples";

	/* There is only the sample with which it was opened. */
	if (!history->is_part && history->n_windows == 0)
		why = wtl_store_is_live(history->reader)
			      ? "it was begun just now; try again in a moment"
			      : "it was cut off before anything measured was in it";
	return wtl_err_set(err, ENODATA, "", NULL, "there is nothing in %s: %s",
			   history->is_part ? "this part" : "it", why);
}

/* A bill after the end of a run is not the start of another one. */
static bool is_between_runs(const struct wtl_history *history)
{
	const struct wtl_history_window *window =
		wtl_history_find_window(history, wtl_player_main_window(history->player));

	return !window || !window->is_open;
}

/* A run that was not ended, or a part. */
static int finish_rest(struct wtl_recorded *recorded, struct wtl_err *err)
{
	struct wtl_history *history = recorded->history;
	struct wattle_window window;
	const struct wattle_energy *energies;

	if (recorded->n_runs > 0 && (!history->is_unfinished || is_between_runs(history)))
		return 0;
	if (wtl_history_is_waiting(history))
		return complain_of_nothing(recorded, err);
	wtl_player_take_figures(history->player);
	if (!wtl_player_billed(history->player, &window, &energies) || window.duration_ns <= 0)
		return recorded->n_runs > 0 ? 0 : complain_of_nothing(recorded, err);
	recorded->is_unfinished = !history->is_part;
	return finish_run(recorded);
}

static int go_through(struct wtl_recorded *recorded, struct wtl_err *err)
{
	struct wtl_history *history = recorded->history;
	struct wtl_played played;
	int rc;

	if (history->is_summary)
		return finish_run(recorded);
	while ((rc = wtl_history_step(history, &played, err)) > 0)
		if (history->is_run_over && !history->is_part) {
			rc = finish_run(recorded);
			if (rc < 0)
				return rc;
		}
	if (rc < 0)
		return rc;
	wtl_history_update_open_windows(history);
	return finish_rest(recorded, err);
}

/* ---- All of it ---- */

static void tell_facts(struct wtl_recorded *recorded, const char *path)
{
	struct wtl_recording *recording = &recorded->recording;
	const struct wtl_history *history = recorded->history;
	const char *interval = fact(recorded, "interval-ns");

	recording->path = path;
	recording->version = fact(recorded, WTL_FACT_VERSION);
	recording->host = fact(recorded, "host");
	recording->cpu_model = fact(recorded, WTL_FACT_CPU_MODEL);
	recording->kernel = fact(recorded, WTL_FACT_KERNEL);
	recording->location = fact(recorded, "location");
	recording->imported = fact(recorded, WTL_FACT_IMPORTED);
	wtl_num_i64(interval, strlen(interval), &recording->interval_ns);
	recording->is_whole = wtl_store_is_whole(history->reader);
	recording->is_live = wtl_store_is_live(history->reader);
	recording->is_part = history->is_part || wtl_store_has_dropped(history->reader);
	recording->begin_utc_ns = history->begin_utc_ns;
	recording->begin_mono_ns = history->begin_mono_ns;
	recording->span_ns = wtl_history_span_ns(history);
	recording->policy = recorded->options.policy;
}

static int tell_command(struct wtl_recorded *recorded)
{
	const char *text = fact(recorded, "command");

	if (!text[0])
		return 0;
	recorded->command = wtl_command_words(text);
	return recorded->command ? 0 : -ENOMEM;
}

/* A clock step takes no time: its length is by how much it was set. */
static bool is_within(const struct wtl_stored_gap *gap, const struct wattle_window *window)
{
	int64_t duration_ns = gap->kind == WTL_GAP_CLOCK_STEP ? 0 : gap->duration_ns, end_ns;

	return gap->begin_mono_ns <= window->begin_mono_ns + window->duration_ns &&
	       (__builtin_add_overflow(gap->begin_mono_ns, duration_ns, &end_ns) ||
		end_ns >= window->begin_mono_ns);
}

/* Adds the notes that a live report would have had. Gaps have the times. */
static void note_gaps(const struct wtl_recorded *recorded, struct wtl_recorded_run *run)
{
	const struct wtl_history *history = recorded->history;
	bool has_lost_exits = false;
	int64_t step_ns = 0;

	for (size_t i = 0; i < history->n_gaps; i++) {
		const struct wtl_stored_gap *gap = &history->gaps[i];

		/* If there is one run, all gaps count: those of its last second are noted a moment after its end. */
		if ((history->is_part || recorded->n_runs > 1) &&
		    !is_within(gap, &run->report.window))
			continue;
		has_lost_exits |= gap->kind == WTL_GAP_EXITS;
		if (gap->kind == WTL_GAP_CLOCK_STEP &&
		    __builtin_add_overflow(step_ns, gap->duration_ns, &step_ns))
			step_ns = gap->duration_ns < 0 ? INT64_MIN : INT64_MAX;
	}
	if (has_lost_exits)
		wtl_describe_lost_exits(&run->description, 0);
	wtl_describe_clock_step(&run->description, step_ns, "what it showed then");
	wtl_description_end(&run->description, &run->report);
}

static void tell_runs(struct wtl_recorded *recorded)
{
	const struct wtl_history *history = recorded->history;
	int64_t cpu_ns = history->second.self_cpu_ns - history->cpu_before_ns;
	struct wtl_report_self self = {.cpu_ns = 0};

	wtl_describe_cost(history->meter, cpu_ns > 0 ? cpu_ns : 0, &self);
	self.max_rss_bytes = (uint64_t)history->second.self_rss_bytes;
	for (size_t i = 0; i < recorded->n_runs; i++) {
		struct wtl_recorded_run *run = recorded->runs[i];

		note_gaps(recorded, run);
		run->report.command = recorded->command;
		run->report.self = self;
		run->report.self.ticks = run->report.window.total.samples;
	}
}

/* Is the part one of this window, the measurement that was recorded? */
static bool is_parts_window(const struct wtl_recorded *recorded,
			    const struct wtl_recording_window *told)
{
	const struct wattle_window *part = &recorded->recording.report.window;
	const struct wattle_window *whole = &told->window;

	/* Both begin with one sample, which takes a moment. */
	return recorded->history->is_part && told->is_main &&
	       part->begin_mono_ns >= whole->begin_mono_ns - BEGIN_NS &&
	       part->begin_mono_ns + part->duration_ns <=
		       whole->begin_mono_ns + whole->duration_ns + BEGIN_NS;
}

/* Of that window, the part is reported. */
static void tell_parts_window(const struct wtl_recorded *recorded,
			      struct wtl_recording_window *told)
{
	const struct wtl_recorded_run *run = recorded->runs[recorded->n_runs - 1];
	const struct wattle_window *part = &run->report.window;

	told->is_cut |= part->begin_mono_ns > told->window.begin_mono_ns + BEGIN_NS;
	told->window = *part;
	told->energies = run->description.energies;
	told->has_carbon = part->total.has_energy;
	told->carbon = run->report.carbon;
}

static int by_id(const void *a, const void *b)
{
	const struct wtl_recording_window *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* Windows in the order of their starts. */
static int tell_windows(struct wtl_recorded *recorded)
{
	const struct wtl_history *history = recorded->history;

	recorded->windows = calloc(history->n_windows + 1, sizeof(*recorded->windows));
	if (!recorded->windows)
		return -ENOMEM;
	for (size_t i = 0; i < history->n_windows; i++) {
		struct wtl_recording_window *told = &recorded->windows[i];
		const struct wtl_history_window *window = &history->windows[i];

		*told = (struct wtl_recording_window){
			.id = window->id,
			.name = window->name,
			.is_open = window->is_open,
			.is_cut = window->is_cut,
			.is_main = window->is_main,
			.pid = window->pid,
			.window = window->window,
			.energies = window->has_energies ? window->energies : NULL,
			.has_carbon = window->has_energies && window->window.total.has_energy,
		};
		if (told->has_carbon)
			tell_carbon(recorded, &window->emission, &told->window.total,
				    &told->carbon);
		if (is_parts_window(recorded, told))
			tell_parts_window(recorded, told);
	}
	if (history->n_windows > 0)
		qsort(recorded->windows, history->n_windows, sizeof(*recorded->windows), by_id);
	recorded->recording.windows = recorded->windows;
	recorded->recording.n_windows = history->n_windows;
	return 0;
}

static int tell_gaps(struct wtl_recorded *recorded)
{
	const struct wtl_history *history = recorded->history;
	size_t n = 0, n_lost = 0;

	recorded->gaps = calloc(history->n_gaps + 1, sizeof(*recorded->gaps));
	recorded->lost = calloc(history->n_lost + 1, sizeof(*recorded->lost));
	if (!recorded->gaps || !recorded->lost)
		return -ENOMEM;
	for (size_t i = 0; i < history->n_gaps; i++) {
		const struct wtl_stored_gap *gap = &history->gaps[i];

		if (history->is_part && !is_within(gap, &recorded->recording.report.window))
			continue;
		recorded->gaps[n++] = (struct wtl_recording_gap){
			.kind = wtl_gap_name(gap->kind),
			.begin_utc_ns = wtl_history_utc(history, gap->begin_mono_ns),
			.duration_ns = gap->duration_ns,
			.domain = gap->subject,
			.text = wtl_gap_text(gap, recorded->lost[n_lost]),
		};
		n_lost += gap->kind == WTL_GAP_DAMAGED;
	}
	recorded->recording.gaps = recorded->gaps;
	recorded->recording.n_gaps = n;
	return 0;
}

static int tell_sensors(struct wtl_recorded *recorded)
{
	const struct wattle_meter *meter = recorded->history->meter;
	size_t n_domains = recorded->history->n_domains;

	recorded->sensors = calloc(n_domains + 1, sizeof(*recorded->sensors));
	if (!recorded->sensors)
		return -ENOMEM;
	for (size_t i = 0; i < n_domains; i++) {
		int primary = meter->domains[i].domain.primary;

		if (primary < 0)
			continue;
		recorded->sensors[i].gain_ppm = meter->catalog.channels[primary].gain_ppm;
		recorded->sensors[i].offset_uw = meter->catalog.channels[primary].offset_uw;
	}
	recorded->recording.sensors = recorded->sensors;
	return 0;
}

/* Groupings without a name in them are left out, unless they were asked for. */
static int add_grouping(struct wtl_recorded *recorded, enum wtl_by by, bool is_asked)
{
	struct wtl_recording_grouping *grouping = &recorded->groupings[recorded->n_groupings];
	int rc = wtl_grouping_new(recorded->history->player, by, recorded->options.top, grouping);

	if (rc < 0)
		return rc;
	if (!is_asked &&
	    (grouping->n_groups == 0 || (grouping->n_groups == 1 && !grouping->groups[0].name[0])))
		wtl_grouping_free(grouping);
	else
		recorded->n_groupings++;
	return 0;
}

static int tell_groupings(struct wtl_recorded *recorded)
{
	static const enum wtl_by usual[WTL_RECORDED_GROUPINGS] = {
		WTL_BY_USER, WTL_BY_UNIT, WTL_BY_CONTAINER, WTL_BY_POD, WTL_BY_JOB};
	const struct wtl_recorded_options *options = &recorded->options;
	int rc = 0;

	recorded->recording.has_by = options->has_by;
	recorded->recording.by = options->has_by ? options->by : WTL_BYS;
	if (options->has_by && options->by != WTL_BY_PROCESS && options->by != WTL_BY_WINDOW)
		rc = add_grouping(recorded, options->by, true);
	for (size_t i = 0; rc == 0 && !options->has_by && i < WTL_RECORDED_GROUPINGS; i++)
		rc = add_grouping(recorded, usual[i], false);
	recorded->recording.groupings = recorded->groupings;
	recorded->recording.n_groupings = recorded->n_groupings;
	return rc;
}

static int finish(struct wtl_recorded *recorded, const char *path)
{
	const struct wtl_recorded_run *last = recorded->runs[recorded->n_runs - 1];
	int rc = wtl_history_read_gaps(recorded->history);

	if (rc >= 0)
		rc = tell_command(recorded);
	if (rc < 0)
		return rc;
	tell_facts(recorded, path);
	tell_runs(recorded);
	recorded->recording.report = last->report;
	recorded->recording.end_utc_ns =
		wtl_history_utc(recorded->history, last->report.window.begin_mono_ns +
							   last->report.window.duration_ns);
	recorded->recording.carbon = (struct wtl_recording_carbon){
		.is_varying = wtl_history_has_intensity(recorded->history),
		.file = recorded->options.intensity_path,
		.emission = last->emission,
	};
	rc = tell_windows(recorded);
	if (rc == 0)
		rc = tell_gaps(recorded);
	if (rc == 0)
		rc = tell_sensors(recorded);
	return rc < 0 ? rc : tell_groupings(recorded);
}

int wtl_recorded_new(struct wtl_history *history, const char *path,
		     const struct wtl_recorded_options *options, struct wtl_recorded **ret_recorded,
		     struct wtl_err *err)
{
	struct wtl_recorded *recorded = calloc(1, sizeof(*recorded));
	int rc;

	if (!recorded) {
		wtl_history_close(history);
		return wtl_err_set(err, ENOMEM, "", NULL, "out of memory");
	}
	recorded->history = history;
	recorded->options = *options;
	rc = go_through(recorded, err);
	if (rc >= 0)
		rc = finish(recorded, path);
	if (rc < 0) {
		if (!err->code)
			wtl_err_set(err, rc, "", NULL, "%s", wtl_err_text(rc));
		wtl_recorded_free(recorded);
		return rc;
	}
	*ret_recorded = recorded;
	return 0;
}

void wtl_recorded_free(struct wtl_recorded *recorded)
{
	if (!recorded)
		return;
	for (size_t i = 0; i < recorded->n_runs; i++) {
		wtl_description_done(&recorded->runs[i]->description);
		free(recorded->runs[i]);
	}
	for (size_t i = 0; i < recorded->n_groupings; i++)
		wtl_grouping_free(&recorded->groupings[i]);
	free(recorded->runs);
	free(recorded->command);
	free(recorded->windows);
	free(recorded->gaps);
	free(recorded->lost);
	free(recorded->sensors);
	wtl_history_close(recorded->history);
	free(recorded);
}
