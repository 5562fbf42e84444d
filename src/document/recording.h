/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_RECORDING_H
#define WTL_DOCUMENT_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/difference.h"
#include "energy/intensity.h"
#include "document/field.h"
#include "document/report.h"

struct wtl_buf;

/*
 * What a recording holds, as plain data. Everything is borrowed for the time of the call;
 * strings from outside are raw.
 */

/* What consumers can be grouped by. */
enum wtl_by {
	WTL_BY_PROCESS,
	WTL_BY_USER,
	WTL_BY_COMMAND,
	WTL_BY_CONTAINER,
	WTL_BY_POD,
	WTL_BY_UNIT,
	WTL_BY_JOB,
	WTL_BY_CGROUP,
	WTL_BY_WINDOW,
	WTL_BYS
};

/* The field that consumers are grouped by; WTL_FIELDS: it is none. */
enum wtl_field wtl_by_field(enum wtl_by by);
const char *wtl_by_name(enum wtl_by by);   /* "process", "user", … */
const char *wtl_by_plural(enum wtl_by by); /* of the list in JSON */
extern const char *const wtl_by_names[];   /* all of them, ended by NULL */

/* Consumers that have something in common: a user, a container. */
struct wtl_recording_group {
	const char *name; /* "": those that belong to no group */
	uint64_t n_processes;
	int64_t cpu_ns;
	struct wtl_share_energy all, gpu; /* their ± are of the group as a whole */
};

struct wtl_recording_grouping {
	enum wtl_by by;
	const struct wtl_recording_group *groups; /* largest first */
	size_t n_groups;
	struct wtl_recording_group others; /* those that are not listed together */
	size_t n_others;
};

struct wtl_recording_window {
	uint32_t id;
	const char *name;
	bool is_open; /* it had not ended when the recording (or the part) did */
	bool is_cut;  /* its start is missing in the recording, or before the part */
	bool is_main; /* the measurement itself, not marked within it */
	int32_t pid;  /* of the process that marked it from outside; 0: marked from within */
	struct wattle_window window;
	const struct wattle_energy *energies; /* one a domain; NULL: not known */
	struct wtl_report_carbon carbon;
	bool has_carbon;
};

struct wtl_recording_gap {
	const char *kind; /* "suspend", "clock-step", "channel", "overrun", "exits", "damaged" */
	int64_t begin_utc_ns, duration_ns; /* of a clock step: by how much, with its sign */
	const char *domain, *text;	   /* "" */
};

/* Emissions over time, where the intensity changes. */
struct wtl_recording_carbon {
	bool is_varying;
	const char *file;
	struct wtl_emission emission;
};

/* Where figures are computed otherwise than when they were recorded. idle_given: "package-0: 12 W". */
struct wtl_recording_policy {
	const char *idle; /* "recorded", "learned", "none" */
	const char *const *idle_given;
	size_t n_idle_given;
	bool is_smoothed; /* learned watts are smoothed backwards in time */
};

struct wtl_recording {
	const char *path;
	const char *version, *host, *cpu_model, *kernel, *location; /* "" where not known */
	const char *imported; /* another tool: the format of its file; "": wattle measured it */
	int64_t interval_ns;  /* between samples; 0: not known */
	bool is_whole;	      /* it was ended properly */
	bool is_live;	      /* it is being written now */
	int64_t begin_utc_ns, begin_mono_ns, span_ns; /* of the whole file */
	bool is_part;				      /* --from, --to, or what a ring has left */
	struct wtl_report report;
	int64_t end_utc_ns; /* of the report's window, by the wall clock */
	/* In a comparison: how many whole runs it has (of several, the mean is compared),
	 * and when the last of them began: the report may be of another one. 0 otherwise. */
	size_t n_runs;
	int64_t compared_utc_ns;
	struct wtl_recording_carbon carbon;
	struct wtl_recording_policy policy;
	const struct wtl_recording_grouping *groupings;
	size_t n_groupings;
	bool has_by;	/* a grouping was asked for */
	enum wtl_by by; /* then: which */
	const struct wtl_recording_window *windows;
	size_t n_windows;
	const struct wtl_recording_gap *gaps;
	size_t n_gaps;
	/* Of each domain: what its sensor's gain and zero may be wrong by (comparisons). */
	const struct wtl_recording_sensor {
		uint32_t gain_ppm, offset_uw;
	} * sensors;
};

/* ---- Several of them ---- */

enum wtl_compared_quantity { WTL_COMPARED_S, WTL_COMPARED_J, WTL_COMPARED_W, WTL_COMPARED_G };

/* One figure of every recording, in millionths of its unit. */
struct wtl_compared_value {
	bool is_known;
	struct wtl_measured measured;
	bool has_difference;	/* from the first recording's value, which is known too */
	bool is_common;		/* by the same sensors */
	bool is_incomplete;	/* a domain that counts has no figure, or a gap */
	bool has_other_domains; /* than the first: then no difference is significant */
	struct wtl_difference difference;
};

struct wtl_compared {
	const char
		*what; /* "duration", "energy", "power", "command", "carbon", or a domain's name */
	bool is_domain;
	enum wtl_compared_quantity quantity;
	const struct wtl_compared_value *values; /* one a recording */
};

struct wtl_comparison {
	const struct wtl_recording *recordings;
	size_t n_recordings;
	const struct wtl_compared *rows;
	size_t n_rows;
};

/* Repeated runs, in the order in which they began. */
struct wtl_run {
	const char *path;
	size_t number; /* within its file, from 1 */
	struct wtl_report report;
	bool is_unfinished; /* its end is not in the file: in no statistic */
	bool is_live;	    /* then: it is still running */
};

/* The sums over runs that ended. Their ± are added up, since a sensor errs alike in all of them. */
struct wtl_runs_sum {
	size_t n; /* runs that ended */
	uint64_t duration_ns;
	size_t n_energy; /* those with a figure, which is in the sum */
	uint64_t energy_uj, energy_uncertainty_uj;
	size_t n_emitted;
	uint64_t emitted_ng, emitted_uncertainty_ug;
};

struct wtl_runs {
	const struct wtl_run *runs;
	size_t n_runs;
	size_t n_unfinished;
	bool has_files; /* they come from several recordings */
	const struct wtl_recording *const *recordings;
	size_t n_recordings;
	struct wtl_statistics of[WTL_RUN_FIGURES]; /* as in a series */
	struct wtl_runs_sum sum;
};

/* Emissions over time, in nanograms CO2e a second. False: no figure, or no time. */
bool wtl_run_rate_ng_per_s(const struct wtl_run *run, uint64_t *ret_ng_per_s);

/* As documents. The things have a text page of their own as well. */
void wtl_doc_recording(struct wtl_doc *doc, const void *what);
void wtl_doc_comparison(struct wtl_doc *doc, const void *what);
void wtl_doc_runs(struct wtl_doc *doc, const void *what);
extern const struct wtl_thing wtl_thing_recording, wtl_thing_comparison, wtl_thing_runs;

/* 0, or -EPROTO: a ledger of the report is not closed, or a grouping's sum is not that of its consumers. */
int wtl_recording_check(const void *recording);
int wtl_comparison_check(const void *comparison); /* of all its recordings */
int wtl_runs_check(const void *runs);		  /* of all their reports */

#endif
