/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_FIELD_H
#define WTL_COMMANDS_TOP_FIELD_H

#include <stdbool.h>
#include <stddef.h>

#include "commands/top/view.h"

/*
 * What can be said of a process in `wattle top`, by name: filters compare fields, the table shows
 * and sorts by them.
 */
enum wtl_field {
	WTL_FIELD_PID,
	WTL_FIELD_PPID,
	WTL_FIELD_USER,
	WTL_FIELD_UID,
	WTL_FIELD_STATE,
	WTL_FIELD_POWER,
	WTL_FIELD_CPU_POWER,
	WTL_FIELD_GPU_POWER,
	WTL_FIELD_ENERGY,
	WTL_FIELD_CPU,
	WTL_FIELD_GPU,
	WTL_FIELD_TIME,
	WTL_FIELD_THREADS,
	WTL_FIELD_MEMORY,
	WTL_FIELD_PSS,
	WTL_FIELD_USS,
	WTL_FIELD_GPU_MEMORY,
	WTL_FIELD_UNIT,
	WTL_FIELD_JOB,
	WTL_FIELD_POD,
	WTL_FIELD_CONTAINER,
	WTL_FIELD_CGROUP,
	WTL_FIELD_NAME,
	WTL_FIELD_COMMAND,
	WTL_FIELDS
};

/* What a field is counted in. */
enum wtl_measure {
	WTL_MEASURE_TEXT,
	WTL_MEASURE_NUMBER,
	WTL_MEASURE_WATT,
	WTL_MEASURE_JOULE,
	WTL_MEASURE_PERCENT,
	WTL_MEASURE_BYTE,
	WTL_MEASURE_SECOND,
};

struct wtl_field_info {
	const char *name, *alias; /* in filters and in the configuration; alias may be NULL */
	const char *title;	  /* of its column */
	const char *about;
	enum wtl_measure measure;
	int width;  /* of its column */
	bool falls; /* the largest comes first when the table is sorted by it */
	bool is_default;
	int keep; /* columns with a lower number go first when there is no room */
};

const struct wtl_field_info *wtl_field_info(enum wtl_field field);
/* By name or alias of `len` bytes, in either case; WTL_FIELDS: there is none. */
enum wtl_field wtl_field_find(const char *name, size_t len);

/* A field's value. false: it is not known. */
struct wtl_field_value {
	double number;	  /* in W, J, %, bytes or s */
	const char *text; /* of a text */
};

bool wtl_field_get(const struct wtl_top_view *view, const struct wtl_top_process *process,
		   enum wtl_field field, enum wtl_top_share share,
		   struct wtl_field_value *ret_value);

/* What a process is called: its command, or its name where there is none. */
const char *wtl_process_title(const struct wtl_top_process *process);

/* Whether its CPU time is known: of a process of the host that a container's GPU is used by it is not. */
bool wtl_process_has_cpu(const struct wtl_top_process *process);

#endif
