/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/date.h"
#include "commands/top/draw.h"
#include "commands/top/format.h"
#include "energy/units.h"

/* The state takes STATE_WIDTH at least, so that the bar beside it does not move. */
enum { TIME_MAX = 96, STATE_MAX = 64, STATE_WIDTH = 11, BAR_MIN = 10, BAR_MAX = 60 };

static const char *state_text(const struct wtl_top_picture *picture, char text[STATE_MAX])
{
	const struct wtl_top_played *played = &picture->view->played;
	const struct wtl_play *play = &picture->ui->play;
	char speed[WTL_PLAY_SPEED_MAX], target[WTL_FIGURE_MAX];

	wtl_play_speed_text(speed, play->speed_milli);
	if (play->is_seeking)
		snprintf(text, STATE_MAX, "seeking %s …%s",
			 wtl_figure_clock(target, play->target_ns),
			 play->is_paused ? " paused" : "");
	else if (play->is_over)
		snprintf(text, STATE_MAX, "%s",
			 played->is_live    ? "the end so far"
			 : played->is_whole ? "the end"
					    : "the end: it was cut off");
	else if (picture->is_still)
		text[0] = '\0';
	else
		snprintf(text, STATE_MAX, "%s%s", play->is_paused ? "paused " : "", speed);
	return text;
}

/* In the user's time zone. */
static bool local_text(int64_t t_utc_ns, char *text, size_t size)
{
	time_t seconds = (time_t)(t_utc_ns / WTL_NS_PER_S);
	struct tm tm;

	return localtime_r(&seconds, &tm) && tm.tm_gmtoff != 0 &&
	       strftime(text, size, " (%H:%M:%S %Z)", &tm) > 0;
}

/* The recording's time, as detailed as there is room for. */
static const char *time_text(int64_t t_utc_ns, int room, char text[TIME_MAX])
{
	struct wtl_date date = wtl_date_of(t_utc_ns > 0 ? t_utc_ns : 0);
	char local[48] = "";

	if (!local_text(t_utc_ns, local, sizeof(local)))
		local[0] = '\0';
	snprintf(text, TIME_MAX, "%04u-%02u-%02u %02u:%02u:%02u UTC%s", date.year, date.month,
		 date.day, date.hour, date.minute, date.second, local);
	if (wtl_text_width(text) > room)
		text[strlen(text) - strlen(local)] = '\0';
	if (wtl_text_width(text) > room)
		snprintf(text, TIME_MAX, "%02u:%02u:%02u UTC", date.hour, date.minute, date.second);
	if (wtl_text_width(text) > room)
		text[0] = '\0';
	return text;
}

static void draw_bar(const struct wtl_top_picture *picture, int row, int from, int width)
{
	const struct wtl_play *play = &picture->ui->play;
	struct wtl_top_places *places = &picture->ui->places;
	struct wtl_canvas *canvas = picture->canvas;
	int64_t at_ns = wtl_play_position(play, picture->now_ns);
	int done;

	if (picture->is_still || width < BAR_MIN || play->length_ns <= 0)
		return;
	if (width > BAR_MAX)
		width = BAR_MAX;
	done = (int)((double)at_ns / (double)play->length_ns * width);
	wtl_canvas_fill(canvas, row, from, width, canvas->ascii ? '-' : 0x2500, WTL_STYLE_FAINT);
	wtl_canvas_fill(canvas, row, from, done < width ? done : width,
			canvas->ascii ? '=' : 0x2501, WTL_STYLE_STRONG);
	places->play_row = row;
	places->play_from = from;
	places->play_to = from + width;
}

void wtl_top_draw_play(const struct wtl_top_picture *picture, int row)
{
	const struct wtl_top_played *played = &picture->view->played;
	const struct wtl_play *play = &picture->ui->play;
	struct wtl_canvas *canvas = picture->canvas;
	int64_t at_ns = wtl_play_position(play, picture->now_ns);
	char at_text[WTL_FIGURE_MAX], length[WTL_FIGURE_MAX], state[STATE_MAX], time[TIME_MAX];
	bool is_still = play->is_paused || play->is_seeking || play->is_over;
	int at = 1, end = canvas->columns - 1, width;

	at += wtl_canvas_printf(canvas, row, at, end - at, WTL_STYLE_STRONG, "%s of %s",
				wtl_figure_clock(at_text, at_ns),
				wtl_figure_clock(length, play->length_ns)) +
	      2;
	width = wtl_canvas_text(canvas, row, at, end - at,
				is_still ? WTL_STYLE_WARN : WTL_STYLE_PLAIN,
				state_text(picture, state));
	at += (width < STATE_WIDTH ? STATE_WIDTH : width + 1) + 1;
	time_text(played->zero_utc_ns + at_ns, end - at, time);
	end -= wtl_canvas_right(canvas, row, at, end - at, WTL_STYLE_FAINT, time) + 2;
	if (played->note[0])
		wtl_canvas_text(canvas, row, at, end - at, WTL_STYLE_WARN, played->note);
	else
		draw_bar(picture, row, at, end - at);
}
