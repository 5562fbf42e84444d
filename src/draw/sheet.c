/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "draw/plot.h"

struct wtl_plot_block {
	struct wtl_plot_block *next;
	max_align_t memory[];
};

void wtl_plot_sheet_init(struct wtl_plot_sheet *sheet)
{
	memset(sheet, 0, sizeof(*sheet));
}

void wtl_plot_sheet_done(struct wtl_plot_sheet *sheet)
{
	if (!sheet)
		return;
	while (sheet->blocks) {
		struct wtl_plot_block *next = sheet->blocks->next;

		free(sheet->blocks);
		sheet->blocks = next;
	}
	wtl_plot_sheet_init(sheet);
}

void *wtl_plot_sheet_array(struct wtl_plot_sheet *sheet, size_t n, size_t size)
{
	struct wtl_plot_block *block;
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes) ||
	    __builtin_add_overflow(bytes, sizeof(*block) + 1, &bytes))
		bytes = SIZE_MAX;
	block = bytes < SIZE_MAX ? calloc(1, bytes) : NULL;
	if (!block) {
		sheet->error = -ENOMEM;
		return NULL;
	}
	block->next = sheet->blocks;
	sheet->blocks = block;
	return block->memory;
}

const char *wtl_plot_sheet_printf(struct wtl_plot_sheet *sheet, const char *format, ...)
{
	va_list args, again;
	char *text = NULL;
	int len;

	va_start(args, format);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, format, args);
	if (len >= 0)
		text = wtl_plot_sheet_array(sheet, (size_t)len + 1, 1);
	if (text)
		vsnprintf(text, (size_t)len + 1, format, again);
	va_end(again);
	va_end(args);
	return text ? text : "";
}

static void put_measure(struct wtl_buf *buf, const char *before, const struct wtl_plot_point *point,
			enum wtl_format_quantity quantity)
{
	double micro = 1e6 * point->y, half = 1e6 * (point->high - point->y);

	if (!(micro >= 0 && micro < 1e18))
		return;
	half = half > 0 && half < 1e18 ? half : 0;
	wtl_buf_puts(buf, before);
	wtl_format_measure(buf, (uint64_t)llround(micro), (uint64_t)llround(half), quantity, false);
}

const char *wtl_plot_sheet_summary(struct wtl_plot_sheet *sheet, const char *name,
				   const struct wtl_plot_point *energy_j,
				   const struct wtl_plot_point *mean_w)
{
	struct wtl_buf buf;
	const char *text = NULL;

	wtl_buf_init(&buf, 256);
	put_measure(&buf, "", energy_j, WTL_FORMAT_J);
	put_measure(&buf, buf.len ? " · mean power " : "mean power ", mean_w, WTL_FORMAT_W);
	if (buf.len)
		text = wtl_plot_sheet_printf(sheet, "%.100s: %s", name, wtl_buf_str(&buf));
	wtl_buf_done(&buf);
	return text;
}

const char *wtl_plot_sheet_percent(struct wtl_plot_sheet *sheet, const char *name, double ratio)
{
	struct wtl_buf buf;
	const char *text;

	wtl_buf_init(&buf, 64);
	wtl_format_percent(&buf, ratio);
	text = wtl_plot_sheet_printf(sheet, "%s %s", name, wtl_buf_str(&buf));
	wtl_buf_done(&buf);
	return text;
}

void wtl_plot_sheet_note(struct wtl_plot_sheet *sheet, const char *note)
{
	struct wtl_plot_figure *figure = &sheet->figure;
	const char **notes = wtl_plot_sheet_array(sheet, figure->n_notes + 1, sizeof(*notes));

	if (!notes)
		return;
	if (figure->n_notes > 0)
		memcpy(notes, figure->notes, figure->n_notes * sizeof(*notes));
	notes[figure->n_notes++] = note;
	figure->notes = notes;
}

struct wtl_plot_panel *wtl_plot_sheet_panels(struct wtl_plot_sheet *sheet, size_t n)
{
	struct wtl_plot_panel *panels = wtl_plot_sheet_array(sheet, n, sizeof(*panels));

	sheet->figure.panels = panels;
	sheet->figure.n_panels = panels ? n : 0;
	return panels;
}
