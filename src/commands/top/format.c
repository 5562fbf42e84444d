/* SPDX-License-Identifier: MIT */
#include "commands/top/format.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/units.h"

/* "%.*f%s", as exact as printf: a long double holds the product without rounding. Faster, as a picture has hundreds. */
static const char *put(char text[WTL_FIGURE_MAX], double value, int decimals, const char *unit)
{
	static const unsigned scales[] = {1, 10, 100, 1000};
	char room[WTL_NUM_DIGITS], *at;
	size_t len = strlen(unit), n;

	if (!(value >= 0.0 && value < 1e12) || len + sizeof(room) >= WTL_FIGURE_MAX) {
		snprintf(text, WTL_FIGURE_MAX, "%.*f%s", decimals, value, unit);
		return text;
	}
	at = wtl_num_digits((uint64_t)llrintl((long double)value * scales[decimals]),
			    (unsigned)decimals, room);
	n = (size_t)(room + sizeof(room) - at);
	memcpy(text, at, n);
	memcpy(text + n, unit, len + 1);
	return text;
}

const char *wtl_figure_join(char *text, size_t size, const char *before, const char *figure,
			    const char *behind)
{
	const char *const pieces[] = {before, figure, behind};
	char *at = text;

	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		wtl_text_copy(at, size - (size_t)(at - text), pieces[i]);
		at += strlen(at);
	}
	return text;
}

const char *wtl_figure_whole(char text[WTL_FIGURE_MAX], double value)
{
	return put(text, value, 0, "");
}

const char *wtl_figure_watts(char text[WTL_FIGURE_MAX], uint64_t power_uw)
{
	double watts = (double)power_uw / 1e6;

	return put(text, watts, watts < 99.995 ? 2 : watts < 9999.95 ? 1 : 0, "");
}

const char *wtl_figure_watts_wide(char text[WTL_FIGURE_MAX], uint64_t power_uw)
{
	double watts = (double)power_uw / 1e6;

	return put(text, watts, watts < 9999.95 ? 1 : 0, "");
}

/* Four digits. */
static const char *put_scaled(char text[WTL_FIGURE_MAX], double value, const char *unit)
{
	int decimals = value < 9.9995 ? 3 : value < 99.995 ? 2 : value < 999.95 ? 1 : 0;

	return put(text, value, decimals, unit);
}

const char *wtl_figure_joules(char text[WTL_FIGURE_MAX], uint64_t energy_uj)
{
	double joules = (double)energy_uj / 1e6;

	if (joules < 999.95)
		return put(text, joules, joules < 99.995 ? 2 : 1, " J ");
	if (joules < 999.95e3)
		return put_scaled(text, joules / 1e3, " kJ");
	if (joules < 999.95e6)
		return put_scaled(text, joules / 1e6, " MJ");
	return put_scaled(text, joules / 1e9, " GJ");
}

const char *wtl_figure_watt_hours(char text[WTL_FIGURE_MAX], uint64_t energy_uj)
{
	double hours = (double)energy_uj / 3.6e9;

	if (hours < 999.95)
		return put_scaled(text, hours, " Wh");
	return hours < 999.95e3 ? put_scaled(text, hours / 1e3, " kWh")
				: put_scaled(text, hours / 1e6, " MWh");
}

const char *wtl_figure_grams(char text[WTL_FIGURE_MAX], uint64_t mass_ug)
{
	double grams = (double)mass_ug / 1e6;

	if (grams < 0.9995)
		return put(text, grams * 1e3, grams < 0.00995 ? 2 : 0, " mg");
	return grams < 999.5 ? put(text, grams, grams < 9.995 ? 2 : 1, " g")
			     : put(text, grams / 1e3, 2, " kg");
}

const char *wtl_figure_bytes(char text[WTL_FIGURE_MAX], uint64_t bytes)
{
	static const char *const units[] = {"B", "K", "M", "G", "T", "P", "E"};
	double value = (double)bytes;
	unsigned unit = 0;

	while (value >= 1023.5 && unit < 6) {
		value /= 1024.0;
		unit++;
	}
	return put(text, value, unit > 0 && value < 99.95 ? 1 : 0, units[unit]);
}

const char *wtl_figure_percent(char text[WTL_FIGURE_MAX], uint32_t ppm)
{
	double percent = ppm / 1e4;

	return put(text, percent, percent < 999.95 ? 1 : 0, "");
}

static void split(int64_t time_ns, int64_t *ret_hours, int *ret_minutes, int *ret_seconds)
{
	int64_t seconds = time_ns > 0 ? time_ns / WTL_NS_PER_S : 0;

	*ret_hours = seconds / 3600;
	*ret_minutes = (int)(seconds / 60 % 60);
	*ret_seconds = (int)(seconds % 60);
}

const char *wtl_figure_time(char text[WTL_FIGURE_MAX], int64_t time_ns)
{
	int minutes, seconds;
	int64_t hours;

	split(time_ns, &hours, &minutes, &seconds);
	if (hours >= 100)
		snprintf(text, WTL_FIGURE_MAX, "%lldd%02dh", (long long)(hours / 24),
			 (int)(hours % 24));
	else if (hours > 0)
		snprintf(text, WTL_FIGURE_MAX, "%d:%02d:%02d", (int)hours, minutes, seconds);
	else
		snprintf(text, WTL_FIGURE_MAX, "%d:%02d.%02d", minutes, seconds,
			 time_ns > 0 ? (int)(time_ns / 10000000 % 100) : 0);
	return text;
}

const char *wtl_figure_clock(char text[WTL_FIGURE_MAX], int64_t time_ns)
{
	int minutes, seconds;
	int64_t hours;

	split(time_ns, &hours, &minutes, &seconds);
	snprintf(text, WTL_FIGURE_MAX, "%lld:%02d:%02d", (long long)hours, minutes, seconds);
	return text;
}

uint64_t wtl_top_round_up(uint64_t value)
{
	static const unsigned steps[] = {10, 12, 16, 20, 24, 30, 40, 50, 60, 80};
	uint64_t power = 1;

	for (; power < UINT64_MAX / 1000; power *= 10)
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
			if (steps[i] * power >= value)
				return steps[i] * power;
	return value;
}

void wtl_top_line_add(struct wtl_top_line *line, int width, enum wtl_style style,
		      const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (width == 0)
		width = wtl_text_width(text);
	if (line->at + width > line->end)
		return;
	wtl_canvas_text(line->canvas, line->row, line->at, width, style, text);
	line->at += width + line->gap;
}

void wtl_top_line_put(struct wtl_top_line *line, enum wtl_style style, const char *text)
{
	line->at += wtl_canvas_text(line->canvas, line->row, line->at, line->end - line->at, style,
				    text);
}
