/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPORT_RECORDED_H
#define WTL_REPORT_RECORDED_H

#include <stdbool.h>
#include <stddef.h>

#include "document/recording.h"
#include "replay/history.h"
#include "energy/calibration_line.h"
#include "report/description.h"

struct wtl_err;

/* A recording as a document: its history is played to its end, or to that of the part. */

struct wtl_recorded_options {
	struct wtl_report_place place; /* a default is replaced by the recorded place */
	const char *intensity_path;    /* the file with the history's intensity */
	unsigned top;
	bool has_by; /* consumers are grouped only by that */
	enum wtl_by by;
	struct wtl_recording_policy policy;
};

/* A measurement: the recording, a part of it, or one run of several. */
struct wtl_recorded_run {
	struct wtl_report report;
	struct wtl_description description;
	struct wtl_emission emission;
};

enum { WTL_RECORDED_GROUPINGS = 5 };

struct wtl_recorded {
	struct wtl_history *history;
	struct wtl_recorded_options options;
	struct wtl_report_source source;
	struct wtl_kept_calibration wall; /* the machine's, if the source has one */
	struct wtl_recorded_run **runs;
	size_t n_runs, runs_room;
	bool is_unfinished; /* the last run had not ended */
	char **command;
	struct wtl_recording recording;
	struct wtl_recording_window *windows;
	struct wtl_recording_gap *gaps;
	char (*lost)[WTL_GAP_TEXT_SIZE]; /* texts of stretches that could not be read */
	struct wtl_recording_sensor *sensors;
	struct wtl_recording_grouping groupings[WTL_RECORDED_GROUPINGS];
	size_t n_groupings;
};

/*
 * Plays the history, which must keep its windows and have taken no step, and which it owns from now
 * on in any case. What the options point to is borrowed. 0, or negative with the reason in err.
 */
int wtl_recorded_new(struct wtl_history *history, const char *path,
		     const struct wtl_recorded_options *options, struct wtl_recorded **ret_recorded,
		     struct wtl_err *err);
void wtl_recorded_free(struct wtl_recorded *recorded); /* NULL is fine */

/* The place: the given one or, if that is a default, the recorded one. */
void wtl_recorded_place(const struct wtl_history *history, const struct wtl_report_place *given,
			struct wtl_report_place *ret_place);

/* Measurements that were ended properly: several if a command was repeated. */
static inline size_t wtl_recorded_runs(const struct wtl_recorded *recorded)
{
	return recorded->n_runs - recorded->is_unfinished;
}

/* The run after those, up to where it goes, if it was not ended; else NULL. */
static inline const struct wtl_report *wtl_recorded_unfinished(const struct wtl_recorded *recorded)
{
	return recorded->is_unfinished ? &recorded->runs[recorded->n_runs - 1]->report : NULL;
}

/* groups.c: groups consumers by what they have in common. Everything but
 * the groups is borrowed from the history's consumers. 0 or -ENOMEM. */
int wtl_grouping_new(struct wtl_player *player, enum wtl_by by, unsigned top,
		     struct wtl_recording_grouping *ret_grouping);
void wtl_grouping_free(struct wtl_recording_grouping *grouping);

#endif
