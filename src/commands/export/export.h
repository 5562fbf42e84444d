/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_EXPORT_EXPORT_H
#define WTL_COMMANDS_EXPORT_EXPORT_H

#include "base/buf.h"
#include "document/writer.h"
#include "replay/history.h"

/* A domain's power from row to row. */
struct wtl_export_power {
	struct wattle_energy before; /* by the row whose power was told last */
	uint64_t last_uj;	     /* by the last row */
};

struct wtl_export_form;
struct wtl_export_gathered;

/* A recording as a table, row by row while it is gone by. */
struct wtl_export {
	struct wtl_history *history;
	const struct wtl_doc_table *table;
	const struct wtl_writer *writer;
	struct wtl_buf buf;
	struct wtl_doc row; /* the one that is being made */
	bool has_rows;
	int64_t *seen_ns;		    /* one a channel: the reading that was told last */
	struct wtl_mark *marks;		    /* one a domain: of the first sample */
	struct wtl_export_power *powers;    /* one a domain */
	uint64_t run;			    /* the measurement's number, from 1 */
	bool has_gpu;			    /* the machine has one with a figure */
	const struct wtl_export_form *form; /* another tool's; NULL: the writer's */
	struct wtl_export_gathered *gathered;
	const struct wattle_carbon *carbon;
	uint32_t pue_milli; /* 0: not given */
};

/* One of the tables. */
struct wtl_export_table {
	struct wtl_doc_table table;
	int (*begin)(struct wtl_export *export);
	/* For each thing that happened, and once more (NULL) at the end. 0 or negative. */
	int (*take)(struct wtl_export *export, const struct wtl_played *played);
};

/* A new row: what is known is put into the object under its column's name; then it is written. */
struct wtl_node *wtl_export_new_row(struct wtl_export *export);
void wtl_export_put_row(struct wtl_export *export);

extern const struct wtl_export_table wtl_export_samples, wtl_export_power, wtl_export_processes,
	wtl_export_windows, wtl_export_gaps, wtl_export_devices;

#endif
