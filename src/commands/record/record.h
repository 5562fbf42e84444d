/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_RECORD_RECORD_H
#define WTL_COMMANDS_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/when.h"

/* What the options of `wattle record` and `wattle run --record` say. */
struct wtl_record_settings {
	const char *path; /* NULL: no recording, or (record) a name made from the time */
	uint64_t max_bytes;
	int64_t max_age_ns, duration_ns;
	int pid; /* 0: not given */
	const char *container, *unit;
	bool background, stop;
};

/* What the words and options of `wattle mark` say. */
struct wtl_mark_settings {
	const char *verb, *name, *file; /* each may be NULL */
};

/* What the options of `wattle report` and its kin say. */
struct wtl_replay_settings {
	const char *files[256];
	unsigned n_files;
	struct wtl_when from, to;
	int by; /* enum wtl_by, + 1; 0: not given */
	const char *policy;
	const char *intensity_path;
	bool series, check, has_top;
	bool plays; /* for tests: never from the summary alone */
	/* wattle export */
	const char *to_format, *what;
};

#endif
