/* SPDX-License-Identifier: MIT */
#include "commands/top/play.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "energy/units.h"

enum { NORMAL = 1000 };

/* If the clock is ahead of what was played by more than this, it is set back (judgement). */
#define LAG_NS (200 * WTL_NS_PER_MS)

/* More than any wait; times the highest speed it fits into 64 bits. */
#define ELAPSED_MAX_NS (1000 * WTL_NS_PER_S)

void wtl_play_init(struct wtl_play *play, int64_t length_ns, uint32_t speed_milli, int64_t now_ns)
{
	*play = (struct wtl_play){.length_ns = length_ns,
				  .since_ns = now_ns,
				  .speed_milli = speed_milli ? speed_milli : NORMAL};
}

static int64_t limit(int64_t value, int64_t most)
{
	return value < 0 ? 0 : value > most ? most : value;
}

int64_t wtl_play_position(const struct wtl_play *play, int64_t now_ns)
{
	int64_t elapsed_ns = limit(now_ns - play->since_ns, ELAPSED_MAX_NS);

	if (play->is_paused || play->is_over || play->is_seeking ||
	    play->speed_milli == WTL_PLAY_FULL)
		return play->at_ns;
	return limit(play->at_ns + elapsed_ns * play->speed_milli / NORMAL, play->length_ns);
}

static void stand_at(struct wtl_play *play, int64_t at_ns, int64_t now_ns)
{
	play->at_ns = at_ns;
	play->since_ns = now_ns;
}

static void go_to(struct wtl_play *play, int64_t to_ns, int64_t now_ns)
{
	to_ns = limit(to_ns, play->length_ns);
	if (play->is_over && to_ns >= play->at_ns)
		return;
	stand_at(play, wtl_play_position(play, now_ns), now_ns);
	play->is_over = false;
	play->is_seeking = true;
	play->target_ns = to_ns;
}

/* From the target of a current seek, so that several in a row add up. */
static void seek(struct wtl_play *play, int64_t by_ns, int64_t now_ns)
{
	int64_t from_ns = play->is_seeking ? play->target_ns : wtl_play_position(play, now_ns);

	go_to(play, from_ns + limit(by_ns, play->length_ns) - limit(-by_ns, play->length_ns),
	      now_ns);
}

static uint32_t slower(uint32_t milli)
{
	if (milli == WTL_PLAY_FULL)
		return WTL_PLAY_MOST;
	return milli / 2 < WTL_PLAY_LEAST ? WTL_PLAY_LEAST : milli / 2;
}

static uint32_t faster(uint32_t milli)
{
	if (milli >= WTL_PLAY_MOST)
		return WTL_PLAY_FULL;
	return 2 * milli > WTL_PLAY_MOST ? WTL_PLAY_MOST : 2 * milli;
}

static void set_speed(struct wtl_play *play, uint32_t milli, int64_t now_ns)
{
	stand_at(play, wtl_play_position(play, now_ns), now_ns);
	play->speed_milli = milli;
}

void wtl_play_order(struct wtl_play *play, const struct wtl_play_order *order, int64_t now_ns)
{
	switch (order->verb) {
	case WTL_PLAY_NOTHING:
		break;
	case WTL_PLAY_PAUSE:
		stand_at(play, wtl_play_position(play, now_ns), now_ns);
		play->is_paused = !play->is_paused;
		break;
	case WTL_PLAY_SEEK:
		seek(play, order->ns, now_ns);
		break;
	case WTL_PLAY_GO_TO:
		go_to(play, order->ns, now_ns);
		break;
	case WTL_PLAY_SLOWER:
		set_speed(play, slower(play->speed_milli), now_ns);
		break;
	case WTL_PLAY_FASTER:
		set_speed(play, faster(play->speed_milli), now_ns);
		break;
	case WTL_PLAY_NORMAL:
		set_speed(play, NORMAL, now_ns);
		break;
	}
}

int64_t wtl_play_due(struct wtl_play *play, int64_t t_ns, int64_t now_ns)
{
	int64_t left_ns;

	if (play->is_seeking && t_ns <= play->target_ns)
		return now_ns;
	if (play->is_seeking) {
		play->is_seeking = false;
		stand_at(play, play->target_ns, now_ns);
	}
	if (play->is_paused || play->is_over)
		return INT64_MAX;
	left_ns = t_ns - wtl_play_position(play, now_ns);
	if (left_ns <= 0 || play->speed_milli == WTL_PLAY_FULL)
		return now_ns;
	if (left_ns / play->speed_milli > ELAPSED_MAX_NS / NORMAL)
		return now_ns + ELAPSED_MAX_NS;
	/* Rounded up: never too early. */
	return now_ns + left_ns * NORMAL / play->speed_milli + 1;
}

void wtl_play_reach(struct wtl_play *play, int64_t t_ns, int64_t now_ns)
{
	int64_t lag_ns = LAG_NS, at_ns = wtl_play_position(play, now_ns);

	/* The recording is longer than was known. */
	if (t_ns > play->length_ns)
		play->length_ns = t_ns;
	if (play->speed_milli > NORMAL && play->speed_milli != WTL_PLAY_FULL)
		lag_ns = LAG_NS * play->speed_milli / NORMAL;
	if (play->is_seeking || play->speed_milli == WTL_PLAY_FULL || at_ns < t_ns ||
	    at_ns - t_ns > lag_ns)
		at_ns = t_ns;
	stand_at(play, at_ns, now_ns);
}

void wtl_play_skip(struct wtl_play *play, int64_t t_ns, int64_t now_ns)
{
	if (!play->is_seeking && !play->is_paused)
		stand_at(play, t_ns, now_ns);
}

void wtl_play_end(struct wtl_play *play)
{
	play->is_over = true;
	play->is_seeking = false;
	play->at_ns = play->length_ns;
}

int wtl_play_parse_speed(const char *text, uint32_t *ret_milli)
{
	uint64_t milli;

	if (strcmp(text, "max") == 0) {
		*ret_milli = WTL_PLAY_FULL;
		return 0;
	}
	if (wtl_num_fixed(text, strlen(text), 3, &milli) < 0 || milli < WTL_PLAY_LEAST ||
	    milli > WTL_PLAY_MOST)
		return -EINVAL;
	*ret_milli = (uint32_t)milli;
	return 0;
}

const char *wtl_play_speed_text(char text[WTL_PLAY_SPEED_MAX], uint32_t speed_milli)
{
	if (speed_milli == WTL_PLAY_FULL)
		snprintf(text, WTL_PLAY_SPEED_MAX, "full speed");
	else
		snprintf(text, WTL_PLAY_SPEED_MAX, "×%g", speed_milli / 1e3);
	return text;
}
