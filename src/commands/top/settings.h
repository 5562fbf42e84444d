/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_SETTINGS_H
#define WTL_COMMANDS_TOP_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/when.h"

/* What the options of `wattle top` say; those of wattle plot --live are some of them. */
struct wtl_top_settings {
	bool once, read_only;
	unsigned rows;
	int64_t redraw_ns; /* 0: not given */
	const char *filter, *sort, *config;
	const char *replay;   /* a recording to be played; NULL: what is there now is shown */
	uint32_t speed_milli; /* 0: not given */
	struct wtl_when at;   /* where it begins, or what is shown of it */
};

#endif
