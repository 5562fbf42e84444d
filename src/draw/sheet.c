/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	char text[512];
	va_list args;
	size_t len;
	char *copy;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	len = strlen(text);
	copy = wtl_plot_sheet_array(sheet, len + 1, 1);
	return copy ? memcpy(copy, text, len) : "";
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
