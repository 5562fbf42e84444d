/* SPDX-License-Identifier: MIT */
#ifndef WTL_IMPORT_IMPORT_H
#define WTL_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <wattle.h>

#include "base/err.h"
#include "energy/catalog.h"
#include "energy/sensor_class.h"
#include "replay/format.h"

/*
 * The contents of other tools' files as series of points: a reader (reader.h) fills it from the
 * text of one file, and it becomes a recording (write.c). Times are nanoseconds since 1970, UTC.
 */

enum { WTL_IMPORT_SERIES_MAX = 1024, WTL_IMPORT_BAD_KEPT = 4 };

/* So many points are held before those that are final are written: they fit into a processor's cache. */
enum { WTL_IMPORT_HELD = 16384 };

/* The meaning of a series' points. */
enum wtl_import_what {
	WTL_IMPORT_POWER_UW,
	WTL_IMPORT_ENERGY_UJ, /* a counter that only rises; see wtl_import_restart() */
	WTL_IMPORT_DEVICE,    /* of a device, beside energy: see number */
};

struct wtl_import_key {
	enum wtl_import_what what;
	enum wtl_device_number number;
	const char *domain; /* "gpu-0"; of WTL_IMPORT_DEVICE "": the machine */
	const char *device; /* the maker's name; NULL: not known */
	const char *serial; /* a UUID; NULL: not known */
	const char *inside; /* the domain that contains it; NULL: none */
	enum wattle_kind kind;
	uint32_t gain_ppm, offset_uw; /* as in struct wtl_channel */
	bool is_extra, is_total;      /* not a part of the total, or all of it, whatever its kind */
	bool is_modelled;
	const struct wtl_sensor_class
		*class; /* of power; NULL: each point is the mean since the one before */
};

struct wtl_import_point {
	int64_t t_ns;
	uint64_t value : 56;
	uint64_t status : 7; /* enum wattle_status; the value is valid if it is OK */
	uint64_t is_anew : 1;
};

struct wtl_import_series {
	enum wtl_import_what what;
	enum wtl_device_number number;
	struct wtl_channel channel;
	struct wtl_sensor_class class; /* what channel.class points to, once it is written */
	struct wtl_import_point *points;
	size_t n, room;
};

/* A stretch with a name, with the energies of the whole stretch. */
struct wtl_import_interval {
	char name[64];
	int64_t begin_ns, end_ns;
	size_t line;
	size_t first; /* the index of its energies */
	unsigned n;
	bool goes_on; /* it is the one before it, written again after it got longer */
	/* What the file says of it besides; 0: nothing. */
	int64_t duration_ns;
	bool has_emitted;
	uint64_t emitted_ng; /* with the PUE */
	uint32_t pue_milli;
};

struct wtl_import_energy {
	size_t series;
	uint64_t energy_uj;
};

/* How to read the files of tools that write no zone or date. */
struct wtl_import_options {
	/* Converts a local time (as if it were UTC) to UTC. Where clocks are
	 * put back, an hour comes twice: is_second chooses the second one. */
	int64_t (*utc_ns)(void *context, int64_t t_local_ns, bool is_second);
	void *context;
	int64_t start_ns; /* of files whose times count from their start; INT64_MIN: they end at end_ns */
	int64_t end_ns;	       /* when the file was written last */
	int64_t interval_ns;   /* between samples without a time; 0: the tool's own default */
	const char *columns;   /* of wattmeters: "time=…,power=…"; NULL: found by their names */
	const char *domain;    /* of wattmeters; NULL: "board-0" */
	const char *idle_path; /* calibrations of devices are kept beside it; NULL: nowhere */
	bool keeps_intervals;  /* stretches are wanted as they are, not as counters */
	/* For the file that is written: see struct wtl_store_options. */
	int (*guard)(void (*work)(void *context), void *context);
	mode_t file_mode; /* of the recording: see base/outfile.h */
};

struct wtl_import_bad {
	size_t line; /* 0: of the whole file */
	char text[160];
};

struct wtl_import {
	struct wtl_import_options options;
	const char *source; /* the reader's name */
	struct wtl_import_series *series;
	size_t n_series, series_room;
	struct wtl_import_interval *intervals;
	size_t n_intervals, intervals_room;
	struct wtl_import_energy *energies;
	size_t n_energies, energies_room;
	/* What was not understood: the first few in words. */
	struct wtl_import_bad bad[WTL_IMPORT_BAD_KEPT];
	size_t n_bad;
	size_t n_back;	 /* points that are not after the one before */
	int64_t back_ns; /* the time of the first of those */
	/* What was assumed or left out, a line each. */
	char remarks[8][200];
	size_t n_remarks;
	size_t n_missing;		   /* points without a value */
	size_t n_absurd;		   /* of those: impossible powers */
	int64_t local_ns, local_offset_ns; /* the quarter of an hour that was converted last */
	int64_t last_utc_ns;		   /* the time that was converted last */
	int error;			   /* -ENOMEM, -E2BIG, of an output: sticks */
	struct wtl_err err;		   /* the output's error */
	/* Points are written while more are read: see wtl_import_output_new(). */
	struct wtl_import_output *output;
	void (*write)(struct wtl_import_output *output);
	size_t n_held;	 /* points that are not written yet */
	size_t write_at; /* n_held at which points are written; SIZE_MAX: not before the end */
	bool is_begun;	 /* its series are in a recording: no more can be added */
};

void wtl_import_init(struct wtl_import *import, const struct wtl_import_options *options);
void wtl_import_done(struct wtl_import *import);

/* The series of that domain and kind of points, which is added if there
 * is none. SIZE_MAX after a failure, which the functions below ignore. */
size_t wtl_import_series(struct wtl_import *import, const struct wtl_import_key *key);

/* Adds a point. One that is not later than the one before is counted, and left out. */
void wtl_import_put(struct wtl_import *import, size_t series, int64_t t_ns, uint64_t value);
/* Adds a point without a value. */
void wtl_import_miss(struct wtl_import *import, size_t series, int64_t t_ns,
		     enum wattle_status status);
/* The counter begins again: its rise before that moment is not known. */
void wtl_import_restart(struct wtl_import *import, size_t series, int64_t t_ns, uint64_t value);

/* Adds a stretch; wtl_import_energy() adds what was used in it to the newest stretch. */
void wtl_import_interval(struct wtl_import *import, size_t line, const char *name, size_t name_len,
			 int64_t begin_ns, int64_t end_ns);
void wtl_import_energy(struct wtl_import *import, size_t series, uint64_t energy_uj);
/* The newest stretch, for what is known of it beside its energies; NULL: there is none. */
struct wtl_import_interval *wtl_import_last_interval(struct wtl_import *import);
/* Makes counters of all stretches, including nested ones (intervals.c). 0 or negative. */
int wtl_import_settle(struct wtl_import *import);

/* What could not be understood, and what the user has to know. */
void wtl_import_bad(struct wtl_import *import, size_t line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void wtl_import_remark(struct wtl_import *import, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A local time, as if it were UTC, as UTC. */
int64_t wtl_import_local(struct wtl_import *import, int64_t t_local_ns);
/* All points so far have times since the file's start: makes them times since 1970. */
void wtl_import_begin_at_start(struct wtl_import *import);

/* The points so far are final, and so are later ones: they may be written. */
void wtl_import_is_sure(struct wtl_import *import);

/* Removes all points so far. */
void wtl_import_forget_points(struct wtl_import *import);

/* How many points there are. */
size_t wtl_import_points(const struct wtl_import *import);

struct wtl_import_written {
	size_t n_samples, n_windows;
	int64_t begin_utc_ns, end_utc_ns;
};

/*
 * Writes the recording at path. Final points (wtl_import_is_sure()) are written while the rest is read, so that
 * few are held. If a series turns up that the recording did not begin with, reading ends with -EAGAIN. The file
 * must then be read again with at_once, which writes nothing before wtl_import_output_end(). NULL: no memory.
 */
struct wtl_import_output *wtl_import_output_new(struct wtl_import *import, const char *path,
						bool at_once);
/* After reading: writes the rest. 0 or negative. */
int wtl_import_output_end(struct wtl_import_output *output, struct wtl_import_written *ret_written,
			  struct wtl_err *err);
/* Removes a recording that was begun and not ended. NULL is fine. */
void wtl_import_output_free(struct wtl_import_output *output);

#endif
