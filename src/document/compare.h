/* SPDX-License-Identifier: MIT */
#ifndef WTL_DOCUMENT_COMPARE_H
#define WTL_DOCUMENT_COMPARE_H

#include "document/report.h"

/* Commands that ran in turn (`wattle compare`), as plain data. Everything is borrowed for the time of the call. */

struct wtl_compared_command {
	const char *line; /* as the user typed it; raw */
	const char *name; /* its given name; raw, NULL: none */
	struct wtl_series series;
	size_t n_failed;	       /* of its runs */
	struct wtl_statistics power_w; /* of the energy that is compared */
	/* Its energy over the best one's, run by run; n = 0: not known, or it is the best one. */
	struct wtl_ratio ratio;
};

struct wtl_compare {
	const struct wtl_compared_command *commands;
	size_t n;
	const size_t *order; /* indices into commands, by energy: the best one first */
	/* WTL_RUN_COMMAND_DYNAMIC_J or WTL_RUN_ENERGY_J, for all commands. why: why not the former; static. */
	enum wtl_run_figure figure;
	const char *why;
	const char *reason; /* NULL, or why nothing can be compared; static */
	unsigned warmup;    /* runs of each that were not measured */
	double until;	    /* 0, or the relative half-width that was asked for */
	bool converged;	    /* it was reached */
};

/* The name or, without one, the command line: what reports show. */
static inline const char *wtl_compared_name(const struct wtl_compared_command *command)
{
	return command->name ? command->name : command->line;
}

int wtl_compare_check(const void *compare); /* of all series */
void wtl_doc_compare(struct wtl_doc *doc, const void *what);
extern const struct wtl_thing wtl_thing_compare;

#endif
