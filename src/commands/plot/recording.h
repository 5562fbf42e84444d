/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PLOT_RECORDING_H
#define WTL_COMMANDS_PLOT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/plot/plot.h"
#include "replay/history.h"
#include "replay/wall.h"

/* Plots of a recording. What the files of that share. */

enum { WTL_PLOT_COLUMNS = 1200 }; /* as fine as any picture of usual size shows */

/*
 * Times of a picture rise evenly, over suspends as well, whenever the clock was set: they are UTC as the clock said
 * for longest, and for the rest as if it had said that all the time.
 */
struct wtl_plot_times {
	const struct wtl_wall *wall; /* the history's */
	int64_t begin_mono_ns, end_mono_ns;
	bool was_set; /* the clock, meanwhile */
	int64_t ahead_ns; /* UTC less a clock that was the monotonic one at the start, and goes on in sleep */
	int64_t longest_from_ns, longest_to_ns; /* monotonic: while the clock said so */
	struct wtl_plot_hole {
		int64_t at_mono_ns, duration_ns;
		bool is_suspend; /* a moment of the monotonic clock, which stands still then */
	} * holes;		 /* ascending */
	size_t n, room;
};

/* A recording that is gone through for a picture. */
struct wtl_plot_replay {
	struct wtl_app *app;
	const char *path;
	const struct wtl_plot_settings *settings;
	struct wtl_plot_sheet *sheet;
	struct wtl_history_options options;
	struct wtl_history *history; /* at its start */
	struct wtl_plot_times times;
	int64_t from_utc_ns, to_utc_ns; /* of the picture: times as it has them */
	int64_t now_mono_ns;
	bool has_begun; /* the picture, with the step before */
	/* Of each domain, and last of the total: what was measured in the picture so far. The sheet's. */
	struct wattle_energy *whole;
	bool is_lost;  /* the step before could not be read */
	bool has_lost; /* then, the first stretch that could not be */
	struct wtl_stored_gap lost;
};

/* As wtl_plot_load(), for one recording. */
int wtl_plot_recording(struct wtl_app *app, const char *path,
		       const struct wtl_plot_settings *settings, struct wtl_plot_sheet *sheet);

/* Adds the reports of a recording's measurements. 0, or negative after a complaint. */
struct wtl_plot_reports;
int wtl_plot_add_runs(struct wtl_app *app, const char *path, struct wtl_plot_reports *reports);
/* The same of the rows of an emissions.csv. */
int wtl_plot_add_rows(struct wtl_app *app, const char *path, struct wtl_plot_reports *reports);

/* ---- recording_steps.c ---- */

/* Starts anew. 0, or negative after a complaint. */
int wtl_plot_rewind(struct wtl_plot_replay *replay);
/* Before that: what is known of idle power now, at its end, shall be known from its start on. false: that
 * changes nothing. */
bool wtl_plot_keep_idle(struct wtl_plot_replay *replay);
/* The next step within the picture, with its time there: 1, 0 at its end, or negative after a complaint. */
int wtl_plot_go_on(struct wtl_plot_replay *replay, struct wtl_played *ret_played);

/* Whether it has the domains that are asked for (the total as well, where there is such a thing). 0, or
 * negative after a complaint. */
int wtl_plot_check_domains(struct wtl_plot_replay *replay, bool has_total);
/* Asked for, or (nothing is) counted. */
struct wattle_domain;
bool wtl_plot_is_wanted(const struct wtl_plot_replay *replay, const struct wattle_domain *domain);

/* Adds a note below the picture: text as a sentence. */
void wtl_plot_note(struct wtl_plot_sheet *sheet, const char *text);

/* ---- recording_time.c ---- */

/* Reads where its clocks jumped, and what was not measured. 0 or -ENOMEM. */
int wtl_plot_times_read(struct wtl_plot_times *times, struct wtl_history *history);
/* What the clock said. The first and last moment are set. */
void wtl_plot_times_find(struct wtl_plot_times *times, const struct wtl_wall *wall);
void wtl_plot_times_done(struct wtl_plot_times *times);
/* A picture's time at a moment; and what the clock said when a picture has that time. */
int64_t wtl_plot_times_utc(const struct wtl_plot_times *times, int64_t t_mono_ns);
int64_t wtl_plot_times_said(const struct wtl_plot_times *times, int64_t t_utc_ns);
/* That stretch could not be read. 0 or -ENOMEM. */
int wtl_plot_times_lose(struct wtl_plot_times *times, int64_t from_mono_ns, int64_t to_mono_ns);

/* What was not measured, once all of the recording was gone through. */
void wtl_plot_recorded_gaps(const struct wtl_plot_replay *replay, struct wtl_plot_panel *panel);

/* ---- Each fills in the figure's panels and notes. 0, -ENOMEM, -ENODATA, or negative after a complaint ---- */

int wtl_plot_recorded_power(struct wtl_plot_replay *replay);	 /* recording_power.c */
int wtl_plot_recorded_processes(struct wtl_plot_replay *replay); /* recording_processes.c */
int wtl_plot_recorded_memory(struct wtl_plot_replay *replay);
int wtl_plot_recorded_windows(struct wtl_plot_replay *replay); /* recording_windows.c */

#endif
