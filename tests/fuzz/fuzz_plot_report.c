/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "draw/parts.h"
#include "commands/plot/mprof.h"
#include "commands/plot/report.h"

/* A file that is to be plotted, a report or one of mprof: the first byte chooses what is wanted of it. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_points(const struct wtl_plot_xy at[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(fabs(at[i].x) < 1e6) || !(fabs(at[i].y) < 1e6))
			abort();
}

static void line(struct wtl_plot_pen *pen, const struct wtl_plot_xy at[], size_t n,
		 const struct wtl_plot_stroke *stroke)
{
	(void)pen;
	(void)stroke;
	check_points(at, n);
}

static void area(struct wtl_plot_pen *pen, const struct wtl_plot_xy at[], size_t n,
		 const struct wtl_plot_fill *fill)
{
	(void)pen;
	(void)fill;
	check_points(at, n);
}

static void text(struct wtl_plot_pen *pen, double x, double y,
		 const struct wtl_plot_lettering *lettering, const char *words)
{
	const struct wtl_plot_xy at = {x, y};

	(void)pen;
	(void)lettering;
	(void)words;
	check_points(&at, 1);
}

static double width(struct wtl_plot_pen *pen, const struct wtl_plot_lettering *lettering,
		    const char *words)
{
	(void)pen;
	return lettering->size * (double)strlen(words);
}

static void clip(struct wtl_plot_pen *pen, const struct wtl_plot_box *box)
{
	(void)pen;
	(void)box;
}

/* On paper that is not there. */
static void draw(const struct wtl_plot_figure *figure)
{
	static const struct wtl_plot_pen_ops ops = {
		.line = line, .area = area, .text = text, .width = width, .clip = clip};
	const struct wtl_plot_paper paper = {.width = WTL_PLOT_WIDTH,
					     .height = wtl_plot_figure_height(figure)};
	struct wtl_plot_pen pen = {.ops = &ops};

	if (wtl_plot_check(figure, &paper, NULL) == 0)
		wtl_plot_figure_draw(figure, &pen, paper.width, paper.height);
}

static void draw_mprof(const uint8_t *data, size_t size, const struct wtl_plot_wanted *wanted)
{
	struct wtl_plot_sheet sheet;
	char *text = strndup((const char *)data, size);

	wtl_plot_sheet_init(&sheet);
	if (text && wtl_plot_mprof_figure(text, wanted, &sheet, NULL) == 0)
		draw(&sheet.figure);
	wtl_plot_sheet_done(&sheet);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"package-0"};
	struct wtl_plot_reports *reports;
	struct wtl_plot_wanted wanted = {.has_what = true, .domains = names};
	struct wtl_plot_sheet sheet;

	if (size == 0)
		return 0;
	wanted.what = (enum wtl_plot_what)(data[0] % WTL_PLOT_WHATS);
	wanted.by = (enum wtl_plot_by)(data[0] / 8 % 4);
	wanted.n_domains = data[0] / 32 % 2;
	wanted.has_from = data[0] / 64 % 2;
	wanted.top = 1 + data[0] / 128;
	if (size > 4 && (memcmp(data + 1, "MEM", 3) == 0 || memcmp(data + 1, "CMD", 3) == 0)) {
		draw_mprof(data + 1, size - 1, &wanted);
		return 0;
	}
	wtl_plot_sheet_init(&sheet);
	reports = wtl_plot_reports_new();
	if (reports &&
	    wtl_plot_reports_add(reports, "x", (const char *)data + 1, size - 1, NULL) == 0)
		wtl_plot_reports_figure(reports, &wanted, &sheet, NULL);
	wtl_plot_reports_free(reports);
	draw(&sheet.figure);
	wtl_plot_sheet_done(&sheet);
	return 0;
}
