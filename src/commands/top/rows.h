/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_ROWS_H
#define WTL_COMMANDS_TOP_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "commands/top/config.h"
#include "commands/top/filter.h"
#include "commands/top/view.h"

/* The table's rows: which processes of a view are shown, in which order and groups. */

struct wtl_top_row {
	uint64_t key;	 /* identifies the process or group in every view */
	int process;	 /* in the view; < 0: a group, see wtl_top_row_process() */
	unsigned depth;	 /* in the tree */
	uint64_t guides; /* bit i: a line goes on at depth i (the first 64) */
	bool is_last;	 /* of its siblings */
	bool has_children, is_closed;
};

enum { WTL_TOP_CLOSED_MAX = 128 };

/* Parts of the tree that are closed, and groups that are open. */
struct wtl_top_toggled {
	uint64_t keys[WTL_TOP_CLOSED_MAX];
	unsigned n;
};

struct wtl_top_rows {
	struct wtl_top_row *rows;
	size_t n;
	size_t n_processes; /* that match */
	/* rows.c's own */
	struct wtl_top_process *buckets; /* sums of groups; the command is the group's name */
	size_t n_buckets, size_buckets;
	struct wtl_sort_key *order;
	int *children, *siblings;
	size_t size;
	struct wtl_hash places; /* for lookups by PID or name */
};

void wtl_top_rows_init(struct wtl_top_rows *rows);
void wtl_top_rows_done(struct wtl_top_rows *rows);

/* Allocates only for more processes than ever before. 0 or -ENOMEM (then there are no rows). */
int wtl_top_rows_make(struct wtl_top_rows *rows, const struct wtl_top_view *view,
		      const struct wtl_top_config *config, const struct wtl_filter *filter,
		      const struct wtl_top_toggled *toggled);

/* A row's process, or the sum of its group. */
const struct wtl_top_process *wtl_top_row_process(const struct wtl_top_rows *rows,
						  const struct wtl_top_view *view,
						  const struct wtl_top_row *row);
/* Does another row of ended processes have the same name and user? */
bool wtl_top_rows_has_twin(const struct wtl_top_rows *rows, const struct wtl_top_view *view,
			   const struct wtl_top_process *process);
/* The row with that key, or -1. */
int wtl_top_rows_find(const struct wtl_top_rows *rows, uint64_t key);
uint64_t wtl_top_process_key(const struct wtl_top_process *process);
/* The current key of a process that had this key before its start was known; else the same. */
uint64_t wtl_top_key_now(const struct wtl_top_view *view, uint64_t key);

bool wtl_top_is_toggled(const struct wtl_top_toggled *toggled, uint64_t key);
/* If there are too many, the oldest is forgotten. */
void wtl_top_toggle(struct wtl_top_toggled *toggled, uint64_t key);

#endif
