/* SPDX-License-Identifier: MIT */
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
		return NULL;
	block = calloc(1, bytes);
	if (!block)
		return NULL;
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
	if (copy)
		memcpy(copy, text, len);
	return copy;
}
