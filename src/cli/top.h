/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_TOP_H
#define WTL_CLI_TOP_H

#include <stdbool.h>

/* What the options of `wattle top` say. */
struct wtl_top_settings {
	bool once, read_only;
	unsigned rows, redraw_ms; /* 0: not given */
	const char *filter, *sort, *config;
};

#endif
