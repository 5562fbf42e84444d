/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PLOT_RECORDING_H
#define WTL_COMMANDS_PLOT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "commands/plot/plot.h"
#include "replay/history.h"
#include "replay/wall.h"

/* Plots of a recording: what their files share. */

enum { WTL_PLOT_COLUMNS = 1200 }; /* as fine as pictures of usual size can show */

/*
 * The time axis of a picture rises evenly, through suspends and although the clock was set: it is UTC as of the
 * longest time between two settings of the clock, extended over the whole recording.
 */
struct wtl_plot_times {
	const struct wtl_wall *wall; /* the history's */
	int64_t begin_mono_ns, end_mono_ns;
	bool was_set;	  /* the clock was set meanwhile */
	int64_t ahead_ns; /* UTC minus the time that wtl_wall_utc_awake() takes */
	int64_t longest_from_ns, longest_to_ns; /* monotonic: the longest time without a setting */
	struct wtl_plot_hole {
		int64_t at_mono_ns, duration_ns;
		bool is_suspend; /* has no monotonic duration, as that clock stands still */
	} * holes;		 /* ascending */
	size_t n, room;
};

/* A recording while it is played for a picture. */
struct wtl_plot_replay {
	struct wtl_app *app;
	const char *path;
	const struct wtl_plot_settings *settings;
	struct wtl_plot_sheet *sheet;
	struct wtl_history_options options;
	struct wtl_history *history; /* at its start when drawing begins */
	struct wtl_plot_times times;
	int64_t from_utc_ns, to_utc_ns; /* the part to draw, by the picture's axis */
	int64_t now_mono_ns;
	bool has_begun; /* the picture, by an earlier step */
	/* Energies in the picture so far, by domain; the last one is the total. Owned by the sheet. */
	struct wattle_energy *whole;
	bool is_lost;  /* the last step could not be read */
	bool has_lost; /* if so, the first part that could not be read is `lost` */
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

/* Starts again from the beginning. 0, or negative after a complaint. */
int wtl_plot_rewind(struct wtl_plot_replay *replay);
/* Before a rewind: uses the idle power known now, at the end, from the start on. false: that changes nothing. */
bool wtl_plot_keep_idle(struct wtl_plot_replay *replay);
/* Plays to the next step within the picture, with t_utc_ns by the axis: 1, 0 at its end, or negative after a
 * complaint. */
int wtl_plot_go_on(struct wtl_plot_replay *replay, struct wtl_played *ret_played);

/* Does the recording have the domains that were asked for (has_total: also "total")? 0, or negative after a
 * complaint. */
int wtl_plot_check_domains(struct wtl_plot_replay *replay, bool has_total);
/* Asked for; without --domain: in the total. */
struct wattle_domain;
bool wtl_plot_is_wanted(const struct wtl_plot_replay *replay, const struct wattle_domain *domain);

/* Adds a note below the picture, as a sentence. */
void wtl_plot_note(struct wtl_plot_sheet *sheet, const char *text);

/* ---- recording_time.c ---- */

/* Reads where the clock was set, and the gaps. 0 or -ENOMEM. */
int wtl_plot_times_read(struct wtl_plot_times *times, struct wtl_history *history);
/* Finds the axis by the wall clock. The first and last moment must be set. */
void wtl_plot_times_find(struct wtl_plot_times *times, const struct wtl_wall *wall);
void wtl_plot_times_done(struct wtl_plot_times *times);
/* The axis's time at a moment; and the wall clock's time at a time of the axis. */
int64_t wtl_plot_times_utc(const struct wtl_plot_times *times, int64_t t_mono_ns);
int64_t wtl_plot_times_said(const struct wtl_plot_times *times, int64_t t_utc_ns);
/* Adds a part that could not be read. 0 or -ENOMEM. */
int wtl_plot_times_lose(struct wtl_plot_times *times, int64_t from_mono_ns, int64_t to_mono_ns);

/* Adds the gaps to a panel, after the whole recording was played. */
void wtl_plot_recorded_gaps(const struct wtl_plot_replay *replay, struct wtl_plot_panel *panel);

/* ---- Each fills in the figure's panels and notes. 0, -ENOMEM, -ENODATA, or negative after a complaint ---- */

int wtl_plot_recorded_power(struct wtl_plot_replay *replay);	 /* recording_power.c */
int wtl_plot_recorded_processes(struct wtl_plot_replay *replay); /* recording_processes.c */
int wtl_plot_recorded_memory(struct wtl_plot_replay *replay);
int wtl_plot_recorded_windows(struct wtl_plot_replay *replay); /* recording_windows.c */

#endif
