/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_RECORD_SETTINGS_H
#define WTL_COMMANDS_RECORD_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "commands/record/recording.h"

/* The options of `wattle record`. */
struct wtl_record_settings {
	struct wtl_recording_settings recording;
	int64_t duration_ns;
	int pid; /* 0: not given */
	const char *container, *unit;
	bool background, stop;
	bool profile;
	unsigned profile_hz;
};

#endif
