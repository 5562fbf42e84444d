/* SPDX-License-Identifier: MIT */
#include "plot_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "golden.h"

#include "unit.h"

static struct plot_stroke *add(struct wtl_plot_pen *pen, enum plot_kind kind,
			       const struct wtl_plot_xy at[], size_t n)
{
	struct plot_journal *journal = (struct plot_journal *)pen;
	struct plot_stroke *stroke;

	if (journal->n == journal->size) {
		journal->size = 2 * journal->size + 64;
		journal->strokes =
			realloc(journal->strokes, journal->size * sizeof(*journal->strokes));
		assert_non_null(journal->strokes);
	}
	stroke = &journal->strokes[journal->n++];
	memset(stroke, 0, sizeof(*stroke));
	stroke->kind = kind;
	stroke->is_clipped = journal->is_clipped;
	stroke->at = calloc(n + 1, sizeof(*at));
	assert_non_null(stroke->at);
	for (size_t i = 0; i < n; i++) {
		assert_true(isfinite(at[i].x) && isfinite(at[i].y));
		/* What a pen can be asked for: cairo has 24 bits before the point. */
		assert_true(fabs(at[i].x) < 1e6 && fabs(at[i].y) < 1e6);
		stroke->at[i] = at[i];
	}
	stroke->n = n;
	return stroke;
}

static void journal_line(struct wtl_plot_pen *pen, const struct wtl_plot_xy at[], size_t n,
			 const struct wtl_plot_stroke *how)
{
	struct plot_stroke *stroke = add(pen, PLOT_LINE, at, n);

	assert_true(n >= 2);
	stroke->rgb = how->rgb;
	stroke->alpha = how->alpha;
	stroke->dash = how->dash;
	stroke->size = how->width;
}

static void journal_area(struct wtl_plot_pen *pen, const struct wtl_plot_xy at[], size_t n,
			 const struct wtl_plot_fill *fill)
{
	struct plot_stroke *stroke = add(pen, PLOT_AREA, at, n);

	assert_true(n >= 3);
	stroke->rgb = fill->rgb;
	stroke->alpha = fill->alpha;
	stroke->hatch = fill->hatch;
}

static void journal_text(struct wtl_plot_pen *pen, double x, double y,
			 const struct wtl_plot_lettering *lettering, const char *text)
{
	const struct wtl_plot_xy at = {x, y};
	struct plot_stroke *stroke = add(pen, PLOT_TEXT, &at, 1);

	assert_true(strlen(text) < sizeof(stroke->text));
	for (const char *c = text; *c; c++)
		assert_true((unsigned char)*c >= ' ');
	snprintf(stroke->text, sizeof(stroke->text), "%s", text);
	stroke->rgb = lettering->rgb;
	stroke->size = lettering->size;
	stroke->upwards = lettering->upwards;
}

static double journal_width(struct wtl_plot_pen *pen, const struct wtl_plot_lettering *lettering,
			    const char *text)
{
	size_t n = 0;

	(void)pen;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return 0.6 * lettering->size * (double)n;
}

static void journal_clip(struct wtl_plot_pen *pen, const struct wtl_plot_box *box)
{
	((struct plot_journal *)pen)->is_clipped = box != NULL;
}

void plot_journal_init(struct plot_journal *journal)
{
	static const struct wtl_plot_pen_ops ops = {.line = journal_line,
						    .area = journal_area,
						    .text = journal_text,
						    .width = journal_width,
						    .clip = journal_clip};

	memset(journal, 0, sizeof(*journal));
	journal->pen.ops = &ops;
}

void plot_journal_done(struct plot_journal *journal)
{
	for (size_t i = 0; i < journal->n; i++)
		free(journal->strokes[i].at);
	free(journal->strokes);
}

void plot_journal_draw(struct plot_journal *journal, const struct wtl_plot_figure *figure)
{
	plot_journal_init(journal);
	assert_int_equal(wtl_plot_figure_draw(figure, &journal->pen, WTL_PLOT_WIDTH,
					      wtl_plot_figure_height(figure)),
			 0);
	assert_false(journal->is_clipped);
}

const struct plot_stroke *plot_text(const struct plot_journal *journal, const char *words)
{
	for (size_t i = 0; i < journal->n; i++)
		if (journal->strokes[i].kind == PLOT_TEXT &&
		    strstr(journal->strokes[i].text, words))
			return &journal->strokes[i];
	return NULL;
}

size_t plot_count(const struct plot_journal *journal, enum plot_kind kind, uint32_t rgb)
{
	size_t n = 0;

	for (size_t i = 0; i < journal->n; i++)
		n += journal->strokes[i].kind == kind && journal->strokes[i].rgb == rgb;
	return n;
}

bool plot_crosses(const struct plot_journal *journal, uint32_t rgb, double x)
{
	for (size_t i = 0; i < journal->n; i++) {
		const struct plot_stroke *stroke = &journal->strokes[i];

		if (stroke->kind == PLOT_TEXT || stroke->rgb != rgb || !stroke->is_clipped ||
		    stroke->dash > 0 || (stroke->kind == PLOT_AREA && stroke->n == 4))
			continue;
		for (size_t k = 1; k < stroke->n; k++)
			if (fmin(stroke->at[k - 1].x, stroke->at[k].x) < x &&
			    fmax(stroke->at[k - 1].x, stroke->at[k].x) > x)
				return true;
	}
	return false;
}

static void print(struct wtl_buf *buf, const struct plot_stroke *stroke)
{
	static const char *const kinds[] = {"line", "area", "text"};

	wtl_buf_printf(buf, "%s%s #%06x", stroke->is_clipped ? "\t" : "", kinds[stroke->kind],
		       (unsigned)stroke->rgb);
	if (stroke->dash > 0)
		wtl_buf_puts(buf, " dashed");
	if (stroke->hatch)
		wtl_buf_printf(buf, " hatch %d", (int)stroke->hatch);
	if (stroke->kind != PLOT_TEXT && stroke->alpha < 1)
		wtl_buf_printf(buf, " alpha %.2f", stroke->alpha);
	for (size_t i = 0; i < stroke->n; i++)
		wtl_buf_printf(buf, " %.1f,%.1f", stroke->at[i].x + 0.0, stroke->at[i].y + 0.0);
	if (stroke->kind == PLOT_TEXT)
		wtl_buf_printf(buf, " %s%s", stroke->upwards ? "upwards " : "", stroke->text);
	wtl_buf_putc(buf, '\n');
}

void plot_golden(const char *name, const struct plot_journal *journal)
{
	char path[256];
	struct wtl_buf buf;

	wtl_buf_init(&buf, 8u << 20);
	for (size_t i = 0; i < journal->n; i++)
		print(&buf, &journal->strokes[i]);
	snprintf(path, sizeof(path), "plot/%s", name);
	golden_check(path, wtl_buf_str(&buf));
	wtl_buf_done(&buf);
}
