/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_PLOT_BENCH_H
#define WTL_TESTS_PLOT_BENCH_H

#include <stdbool.h>
#include <stddef.h>

#include "draw/parts.h"

/* A pen that keeps a journal of what it was told to draw: letters are all 0.6 of their size wide. */

enum plot_kind { PLOT_LINE, PLOT_AREA, PLOT_TEXT };

struct plot_stroke {
	enum plot_kind kind;
	uint32_t rgb;
	double alpha, dash, size;
	enum wtl_plot_hatch hatch;
	bool upwards, is_clipped;
	struct wtl_plot_xy *at;
	size_t n;
	char text[WTL_PLOT_TEXT_MAX];
};

struct plot_journal {
	struct wtl_plot_pen pen; /* first */
	struct plot_stroke *strokes;
	size_t n, size;
	bool is_clipped;
};

void plot_journal_init(struct plot_journal *journal);
void plot_journal_done(struct plot_journal *journal);
/* Draws the figure at its own height, 960 wide. */
void plot_journal_draw(struct plot_journal *journal, const struct wtl_plot_figure *figure);

/* The first text that holds these words, or NULL. */
const struct plot_stroke *plot_text(const struct plot_journal *journal, const char *words);
/* How many strokes of a kind have that colour. */
size_t plot_count(const struct plot_journal *journal, enum plot_kind kind, uint32_t rgb);
/* Does any curve of that colour (a solid line within the panel) go over that x, from one side to the
 * other? */
bool plot_crosses(const struct plot_journal *journal, uint32_t rgb, double x);

/* Compares with tests/golden/plot/NAME, or writes it with WATTLE_GOLDEN_UPDATE=1. */
void plot_golden(const char *name, const struct plot_journal *journal);

#endif
