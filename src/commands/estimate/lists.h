/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_LISTS_H
#define WTL_COMMANDS_ESTIMATE_LISTS_H

#include "document/writer.h"
#include "neural/devices.h"
#include "neural/lint.h"
#include "neural/papers.h"

/* The lists of wattle estimate; each takes the type named beside it. */
extern const struct wtl_thing wtl_estimate_devices_thing; /* struct wtl_devices */
extern const struct wtl_thing wtl_estimate_papers_thing;  /* struct wtl_papers: their names */
extern const struct wtl_thing wtl_estimate_paper_thing;	  /* struct wtl_paper */

struct wtl_estimate_lint {
	const char *path;
	struct wtl_lint lint;
};
extern const struct wtl_thing wtl_estimate_lint_thing; /* struct wtl_estimate_lint */

#endif
