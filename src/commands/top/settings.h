/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_SETTINGS_H
#define WTL_COMMANDS_TOP_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/when.h"

/* The options of `wattle top`, some of which wattle plot --live has, too. */
struct wtl_top_settings {
	bool once, read_only;
	unsigned rows;
	int64_t redraw_ns; /* 0: not given */
	const char *filter, *sort, *config;
	const char *replay;   /* a recording to play; NULL: live */
	uint32_t speed_milli; /* 0: not given */
	struct wtl_when at;   /* the start, or with --once the moment to show */
};

#endif
