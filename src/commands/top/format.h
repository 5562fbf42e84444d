/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_TOP_FORMAT_H
#define WTL_COMMANDS_TOP_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include <wattle.h>

#include "cli/canvas.h"
#include "commands/top/view.h"

/* Short figures for a screen that changes constantly: all figures of a column have the same number of
 * decimals, as far as they fit. */

enum { WTL_FIGURE_MAX = 32 };

/* Joins a figure with text around it, cut to fit. printf() is several times slower. */
const char *wtl_figure_join(char *text, size_t size, const char *before, const char *figure,
			    const char *behind);

/* "12345" */
const char *wtl_figure_whole(char text[WTL_FIGURE_MAX], double value);
/* "0.02", "74.10", "250.1", "12345": watts; two decimals below 100 W (wide: one below 1000 W). */
const char *wtl_figure_watts(char text[WTL_FIGURE_MAX], uint64_t power_uw);
const char *wtl_figure_watts_wide(char text[WTL_FIGURE_MAX], uint64_t power_uw);
/* "0.12 J", "12.34 kJ", "1.234 MJ". Units have two characters, so that numbers line up. */
const char *wtl_figure_joules(char text[WTL_FIGURE_MAX], uint64_t energy_uj);
/* "0.003 Wh", "12.34 Wh", "1.234 kWh" */
const char *wtl_figure_watt_hours(char text[WTL_FIGURE_MAX], uint64_t energy_uj);
/* "12 mg", "3.45 g", "1.23 kg" */
const char *wtl_figure_grams(char text[WTL_FIGURE_MAX], uint64_t mass_ug);
/* "34.1G", "812M": powers of 1024 */
const char *wtl_figure_bytes(char text[WTL_FIGURE_MAX], uint64_t bytes);
/* "0.3", "99.9", "1234" */
const char *wtl_figure_percent(char text[WTL_FIGURE_MAX], uint32_t ppm);
/* "0:12.34", "12:34", "3:12:34", "12d03h" */
const char *wtl_figure_time(char text[WTL_FIGURE_MAX], int64_t time_ns);
/* "0:03:12" */
const char *wtl_figure_clock(char text[WTL_FIGURE_MAX], int64_t time_ns);

/* A round end of a scale that holds the value: at most a quarter stays empty, and its half is short, too. */
uint64_t wtl_top_round_up(uint64_t value);

/* A line that is written piece by piece, from `at` on. */
struct wtl_top_line {
	struct wtl_canvas *canvas;
	int row, at, end, gap; /* gap: columns between two pieces */
};

/* Adds a piece of that width (0: its own), and the gap. A piece that does not fit is left out. */
void wtl_top_line_add(struct wtl_top_line *line, int width, enum wtl_style style,
		      const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Continues without a gap; cuts what does not fit. */
void wtl_top_line_put(struct wtl_top_line *line, enum wtl_style style, const char *text);

#endif
