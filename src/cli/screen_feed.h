/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_SCREEN_FEED_H
#define WTL_CLI_SCREEN_FEED_H

#include <stddef.h>
#include <stdio.h>

/*
 * What the terminal sends, on its way to ncurses. Once ncurses has seen the beginning of a mouse report it waits for the
 * rest however long that takes, and whoever waits sees no signal: a report that was cut short, or pasted, would hold the
 * screen, and neither q nor ^C nor SIGTERM would end the program. So it gets whole reports only, by a pipe.
 */
struct wtl_screen_feed {
	FILE *out;     /* what ncurses reads; NULL: it is not open */
	int in;	       /* the other end */
	char held[64]; /* the beginning of a report */
	size_t n_held;
};

/* 0 or a negative errno. */
int wtl_screen_feed_open(struct wtl_screen_feed *feed);
void wtl_screen_feed_close(struct wtl_screen_feed *feed); /* one that is not open is fine */

/*
 * Hands on what there is on standard input, whole. Waits for the rest of a key that sends several bytes, some
 * milliseconds at most. 1, or 0: there was nothing.
 */
int wtl_screen_feed_take(struct wtl_screen_feed *feed);

#endif
