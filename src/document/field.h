/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_FIELD_H
#define WTL_DOCUMENT_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/consumer.h"

/*
 * What can be said of a consumer, by name: documents and exports write these fields, `wattle top` shows,
 * sorts and filters by them, and consumers are grouped by them.
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
	WTL_FIELD_PER_CPU,
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
	WTL_FIELD_STEP,
	WTL_FIELD_POD,
	WTL_FIELD_CONTAINER,
	WTL_FIELD_CGROUP,
	WTL_FIELD_NAME,
	WTL_FIELD_COMMAND,
	WTL_FIELDS
};

/* The unit of a field's values. */
enum wtl_measure {
	WTL_MEASURE_TEXT,
	WTL_MEASURE_NUMBER,
	WTL_MEASURE_WATT,    /* in µW */
	WTL_MEASURE_JOULE,   /* in µJ */
	WTL_MEASURE_PERCENT, /* in millionths */
	WTL_MEASURE_BYTE,
	WTL_MEASURE_SECOND, /* in ns */
};

struct wtl_field_info {
	const char *name, *alias; /* in filters and in the configuration; alias may be NULL */
	const char *key;	  /* in documents, with its unit; NULL: not in them as such */
	const char *title;	  /* of its column */
	const char *about;
	enum wtl_measure measure;
	int width;  /* of its column */
	bool falls; /* the largest comes first when the table is sorted by it */
	bool is_default;
	int keep; /* columns with a lower number go first when there is no room */
	/* Whether struct wtl_consumer or its group has it, and at which offset; WTL_FIELD_ELSEWHERE:
	 * neither. For a number, its size, and the value that means "not known". */
	enum wtl_field_place { WTL_FIELD_ELSEWHERE, WTL_FIELD_OWN, WTL_FIELD_OF_GROUP } place;
	size_t offset, size;
	uint64_t unknown;
};

const struct wtl_field_info *wtl_field_info(enum wtl_field field);
/* By name or alias of `len` bytes, in either case; WTL_FIELDS: there is none. */
enum wtl_field wtl_field_find(const char *name, size_t len);

struct wtl_consumer_value {
	const char *text; /* of a text; else "" */
	int64_t number;	  /* as counted */
};

/* A consumer's own value of a field; `group` is where it belongs, NULL: not known. false: it is not known. */
bool wtl_consumer_get(const struct wtl_consumer *consumer, const struct wtl_group *group,
		      enum wtl_field field, struct wtl_consumer_value *ret_value);

/* "live", "exited", "kernel", "folded". Static. */
const char *wtl_words_state(enum wtl_consumer_state state);

#endif
