/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_REPORT_RUNS_FILE_H
#define WTL_COMMANDS_REPORT_RUNS_FILE_H

#include <stdbool.h>

#include "document/report.h"
#include "energy/catalog.h"

struct wtl_app;

/*
 * The runs of an emissions.csv, CodeCarbon's or wattle run --emissions's: one report per row, with
 * its duration, energies and emissions, without the PUE. A file has no ±: an import's is used.
 */
struct wtl_runs_file {
	const char *path;
	struct wtl_runs_file_row *rows;
	size_t n;
};

struct wtl_runs_file_row {
	struct wtl_report report;
	struct wtl_report_domain domains[4];
	char names[4][WTL_NAME_SIZE];
	char project[64];
	char *command[2]; /* the project */
};

/* By its first line. */
bool wtl_runs_file_is(const char *path);
/* 0, or negative after wtl_complain(). The path is borrowed. */
int wtl_runs_file_load(struct wtl_app *app, const char *path, struct wtl_runs_file *ret_file);
void wtl_runs_file_free(struct wtl_runs_file *file); /* a zeroed one is fine */

#endif
