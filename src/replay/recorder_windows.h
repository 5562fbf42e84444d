/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_RECORDER_WINDOWS_H
#define WTL_REPLAY_RECORDER_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

struct wtl_window_note;

/* More than a meter of the command can have open (cli/machine.c). */
enum { WTL_KNOWN_WINDOWS = 256 };

/* A window of a recording, by its name. */
struct wtl_known_window {
	uint32_t id; /* in the table of windows; 0: the place is free */
	bool is_open, is_stacked;
	int32_t pid; /* of the process that marked it from outside, or 0 */
	char name[64];
	int64_t begin_utc_ns, begin_mono_ns;
};

/* All open windows, and the newest of those that have ended. Zeroed: none. */
struct wtl_known_windows {
	struct wtl_known_window list[WTL_KNOWN_WINDOWS];
	uint32_t n; /* begun so far */
};

/* A new window takes the place of the oldest one that has ended or, if all are open, of the oldest one. */
struct wtl_known_window *wtl_known_windows_add(struct wtl_known_windows *windows,
					       const struct wtl_window_note *note);

/* The newest window of that name, and the newest open one of that name and kind; or NULL. */
struct wtl_known_window *wtl_known_windows_find(struct wtl_known_windows *windows,
						const char *name);
struct wtl_known_window *wtl_known_windows_find_open(struct wtl_known_windows *windows,
						     const char *name, bool is_stacked);

#endif
