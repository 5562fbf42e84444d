/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_EXPORT_EXPORT_H
#define WTL_COMMANDS_EXPORT_EXPORT_H

#include "base/buf.h"
#include "commands/report/replay.h"
#include "document/rows.h"

/* A domain's power from row to row. */
struct wtl_export_power {
	struct wattle_energy before; /* by the row whose power was told last */
	uint64_t last_uj;	     /* by the last row */
};

/* A recording as a table, row by row while it is gone by. */
struct wtl_export {
	struct wtl_player *player;
	struct wtl_rows rows;
	size_t n_domains;
	int64_t *seen_ns;		 /* one a channel: the reading that was told last */
	struct wtl_mark *marks;		 /* one a domain: of the first sample */
	struct wtl_export_power *powers; /* one a domain */
	struct wattle_energy *told;	 /* one a domain: of a window that is open */
	uint32_t ended_id;		 /* the window that ended last */
	uint64_t run;			 /* the measurement's number, from 1 */
	bool has_gpu;			 /* the machine has one with a figure */
	bool unfinished;		 /* something was billed since the last one ended */
};

/* One of the tables. */
struct wtl_export_table {
	const char *const *columns;
	size_t n_columns;
	int (*begin)(struct wtl_export *export);
	/* For each thing that happened, and once more (NULL) at the end. 0 or negative. */
	int (*take)(struct wtl_export *export, const struct wtl_played *played);
};

extern const struct wtl_export_table wtl_export_samples, wtl_export_power, wtl_export_processes,
	wtl_export_windows, wtl_export_gaps, wtl_export_devices;

#endif
