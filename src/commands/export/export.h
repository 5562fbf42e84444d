/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_EXPORT_EXPORT_H
#define WTL_COMMANDS_EXPORT_EXPORT_H

#include "base/buf.h"
#include "document/writer.h"
#include "replay/history.h"

/* A domain's power from one row to the next. */
struct wtl_export_power {
	struct wattle_energy before; /* by the last row that had a power */
	uint64_t last_uj;	     /* by the last row */
};

struct wtl_export_form;
struct wtl_export_gathered;

/* A recording as a table, written row by row while it is played. */
struct wtl_export {
	struct wtl_history *history;
	const struct wtl_doc_table *table;
	const struct wtl_writer *writer;
	struct wtl_buf buf;
	struct wtl_doc row; /* the current one */
	bool has_rows;
	int64_t *seen_ns;		    /* one per channel: the last reading that was written */
	struct wtl_mark *marks;		    /* one per domain: of the first sample */
	struct wtl_export_power *powers;    /* one per domain */
	uint64_t run;			    /* the measurement's number, from 1 */
	bool has_gpu;			    /* the machine has one with an energy figure */
	const struct wtl_export_form *form; /* another tool's; NULL: the writer's own */
	struct wtl_export_gathered *gathered;
	const struct wattle_carbon *carbon;
	uint32_t pue_milli; /* 0: not given */
};

/* One of the tables. */
struct wtl_export_table {
	struct wtl_doc_table table;
	int (*begin)(struct wtl_export *export);
	/* For each played event, and once more (NULL) at the end. 0 or negative. */
	int (*take)(struct wtl_export *export, const struct wtl_played *played);
};

/* Starts a row, to be filled with the known values under their columns' names; put_row() writes it. */
struct wtl_node *wtl_export_new_row(struct wtl_export *export);
void wtl_export_put_row(struct wtl_export *export);

extern const struct wtl_export_table wtl_export_samples, wtl_export_power, wtl_export_processes,
	wtl_export_windows, wtl_export_gaps, wtl_export_devices;

#endif
