/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_REPORT_SEVERAL_H
#define WTL_COMMANDS_REPORT_SEVERAL_H

#include "commands/report/runs_file.h"
#include "report/recorded.h"

/* The runs of all recordings and files, by begin. Borrows from both. 0 or -ENOMEM. */
int wtl_runs_new(struct wtl_recorded *const replays[], size_t n, const struct wtl_runs_file files[],
		 size_t n_files, struct wtl_runs *ret_runs);
void wtl_runs_free(struct wtl_runs *runs);

/* Two or more recordings, each compared with the first one. Repeated runs count by their mean. */
struct wtl_comparison_data {
	struct wtl_comparison comparison;
	struct wtl_recording *recordings;
	struct wtl_compared *rows;
	struct wtl_compared_value *values;
};

int wtl_comparison_new(struct wtl_recorded *const replays[], size_t n,
		       struct wtl_comparison_data *data);
void wtl_comparison_free(struct wtl_comparison_data *data); /* a zeroed one is fine */

#endif
