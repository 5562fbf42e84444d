/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_SCREEN_KEYS_H
#define WTL_CLI_SCREEN_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/screen.h"

enum { WTL_SCREEN_KEYS = 20 };

/*
 * What the terminal sends: characters, keys of several bytes, reports of the mouse. Nothing
 * here waits for the rest of a report, which may never come, so q, ^C and SIGTERM always work.
 */
struct wtl_screen_keys {
	/* The keys in this terminal's description; what most terminals send is known as well. */
	const char *sequences[WTL_SCREEN_KEYS];
	char held[64]; /* what is not yet taken */
	size_t n_held;
	int64_t click_ms;
	int click_row, click_column;
};

/* text: returns the terminal's string for a capability, or NULL; it stays valid. */
void wtl_screen_keys_init(struct wtl_screen_keys *keys,
			  const char *(*text)(const char *capability));

/* The next input from standard input. Waits a few milliseconds at most, for
 * the rest of a key that sends several bytes. 1, or 0: there was none. */
int wtl_screen_keys_take(struct wtl_screen_keys *keys, struct wtl_input *ret_input);

#endif
