/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_RUN_EMISSIONS_H
#define WTL_COMMANDS_RUN_EMISSIONS_H

#include "document/codecarbon.h"

struct wtl_app;
struct wtl_report;
struct wtl_run_session;

extern const char *const wtl_emissions_formats[]; /* enum wtl_codecarbon_format */

/* Before anything runs: can rows be appended? 0, or negative after a complaint: the file has other columns, or
 * cannot be written. */
int wtl_emissions_check(struct wtl_app *app, const char *path);
/* Appends a run's row, in the file's columns, or in those of the format for a new file. 0, or negative after a
 * complaint. */
int wtl_emissions_append(const struct wtl_run_session *session, const struct wtl_report *report,
			 const char *path, enum wtl_codecarbon_format format);

#endif
