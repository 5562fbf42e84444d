/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_PLAY_H
#define WTL_COMMANDS_TOP_PLAY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A recording's position while it is played, and what keys do to it: arithmetic only. Positions are nanoseconds
 * since the recording's start; now_ns is the screen's clock.
 */

enum {
	WTL_PLAY_LEAST = 100, /* speeds, in thousandths */
	WTL_PLAY_MOST = 1000000,
	WTL_PLAY_FULL = UINT32_MAX >> 1, /* as fast as it can be read */
};

struct wtl_play {
	int64_t length_ns;
	int64_t at_ns, since_ns; /* the position at since_ns */
	uint32_t speed_milli;
	bool is_paused, is_over;
	bool is_seeking; /* until it reaches: */
	int64_t target_ns;
};

enum wtl_play_verb {
	WTL_PLAY_NOTHING,
	WTL_PLAY_PAUSE,	 /* or continue */
	WTL_PLAY_SEEK,	 /* by ns, either way */
	WTL_PLAY_GO_TO,	 /* to ns */
	WTL_PLAY_SLOWER, /* by half */
	WTL_PLAY_FASTER, /* twice */
	WTL_PLAY_NORMAL, /* speed 1 */
};

struct wtl_play_order {
	enum wtl_play_verb verb;
	int64_t ns;
};

/* At the start; speed_milli 0: as fast as recorded. */
void wtl_play_init(struct wtl_play *play, int64_t length_ns, uint32_t speed_milli, int64_t now_ns);
int64_t wtl_play_position(const struct wtl_play *play, int64_t now_ns);
void wtl_play_order(struct wtl_play *play, const struct wtl_play_order *order, int64_t now_ns);

/* The screen's time for an event at t_ns: up to now_ns: at once; INT64_MAX: not before an order. Ends a seek whose
 * target is before t_ns. */
int64_t wtl_play_due(struct wtl_play *play, int64_t t_ns, int64_t now_ns);
/* Everything up to t_ns was played. */
void wtl_play_reach(struct wtl_play *play, int64_t t_ns, int64_t now_ns);
/* Skips a time without records, to t_ns. */
void wtl_play_skip(struct wtl_play *play, int64_t t_ns, int64_t now_ns);
/* The recording has ended. */
void wtl_play_end(struct wtl_play *play);

/* "0.1" to "1000", or "max". 0 or -EINVAL. */
int wtl_play_parse_speed(const char *text, uint32_t *ret_milli);

enum { WTL_PLAY_SPEED_MAX = 24 };
/* "×1", "×0.25", "full speed" */
const char *wtl_play_speed_text(char text[WTL_PLAY_SPEED_MAX], uint32_t speed_milli);

#endif
