/* SPDX-License-Identifier: MIT */
#include "cli/canvas.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/text.h"
#include "document/format.h"

void wtl_canvas_init(struct wtl_canvas *canvas)
{
	memset(canvas, 0, sizeof(*canvas));
}

void wtl_canvas_done(struct wtl_canvas *canvas)
{
	free(canvas->cells);
	free(canvas->marks);
	wtl_canvas_init(canvas);
}

static int cut(int value)
{
	return value < 0 ? 0 : value > WTL_CANVAS_MAX ? WTL_CANVAS_MAX : value;
}

int wtl_canvas_resize(struct wtl_canvas *canvas, int rows, int columns)
{
	size_t size = (size_t)cut(rows) * (size_t)cut(columns);

	if (wtl_array_reserve(&canvas->cells, &canvas->size, size, sizeof(*canvas->cells)) < 0)
		return -ENOMEM;
	free(canvas->marks);
	canvas->marks = NULL;
	canvas->rows = cut(rows);
	canvas->columns = cut(columns);
	wtl_canvas_clear(canvas);
	return 0;
}

/* Each copy doubles what there is, which is much faster than cell by cell. */
void wtl_cells_clear(struct wtl_cell cells[], size_t n)
{
	if (n > 0)
		cells[0] = (struct wtl_cell){.point = ' ', .width = 1};
	for (size_t done = 1; done < n; done *= 2)
		memcpy(cells + done, cells, (done < n - done ? done : n - done) * sizeof(cells[0]));
}

void wtl_canvas_clear(struct wtl_canvas *canvas)
{
	wtl_cells_clear(canvas->cells, (size_t)canvas->rows * (size_t)canvas->columns);
}

static struct wtl_cell *cell_at(const struct wtl_canvas *canvas, int row, int column)
{
	if (row < 0 || column < 0 || row >= canvas->rows || column >= canvas->columns)
		return NULL;
	return &canvas->cells[(size_t)row * (size_t)canvas->columns + (size_t)column];
}

const struct wtl_cell *wtl_canvas_cell(const struct wtl_canvas *canvas, int row, int column)
{
	return cell_at(canvas, row, column);
}

uint32_t wtl_canvas_mark(const struct wtl_canvas *canvas, const struct wtl_cell *cell)
{
	return cell->has_mark ? canvas->marks[cell - canvas->cells] : 0;
}

static uint32_t ascii_of(uint32_t point)
{
	static const struct {
		uint32_t point;
		char ascii;
	} signs[] = {
		{0x2026, '.'}, /* … */
		{0xb0, ' '},   /* ° */
		{0xb5, 'u'},   /* µ */
		{0xb7, '.'},   /* · */
		{0xd7, 'x'},   /* × */
		{0x25a0, '#'}, {0x2191, '^'}, {0x2193, 'v'},  {0x2190, '<'},
		{0x2192, '>'},						     /* arrows */
		{0x25b2, '^'}, {0x25bc, 'v'}, {0x25b8, '>'},  {0x25be, 'v'}, /* triangles */
		{0x2013, '-'}, {0x2014, '-'}, {0x2018, '\''}, {0x2019, '\''},
		{0x201c, '"'}, {0x201d, '"'}, {0x2082, '2'},
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (signs[i].point == point)
			return (uint32_t)(unsigned char)signs[i].ascii;
	return '?';
}

/* C0 and C1 controls, and what changes the direction of the text around it. */
static bool is_steering(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) ||
	       (point >= 0x2028 && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069);
}

/* The next character of UTF-8 as a cell may show it; its bytes. */
static size_t next_point(const char *text, size_t len, bool ascii, uint32_t *ret_point)
{
	size_t n = wtl_format_utf8(text, len, ret_point);

	if (n == 0 || is_steering(*ret_point))
		*ret_point = '?';
	else if (ascii && *ret_point > 0x7e)
		*ret_point = ascii_of(*ret_point);
	return n ? n : 1;
}

/* Before a half of a wide character is overwritten: the other half becomes a blank. */
static void free_cell(const struct wtl_canvas *canvas, int row, int column)
{
	struct wtl_cell *cell = cell_at(canvas, row, column), *other = NULL;

	if (cell && cell->width == 0)
		other = cell_at(canvas, row, column - 1);
	else if (cell && cell->width == 2)
		other = cell_at(canvas, row, column + 1);
	if (other) {
		other->point = ' ';
		other->has_mark = 0;
		other->width = 1;
	}
}

static bool is_plain(uint32_t point)
{
	return point >= ' ' && point < 0x7f;
}

/* Lines, blocks and Braille, which pictures are made of. All are one column wide. */
static bool is_drawn(uint32_t point)
{
	return (point >= 0x2500 && point <= 0x259f) || (point >= 0x2800 && point <= 0x28ff);
}

/* How many characters at the start of a text are one byte and one column each: in most texts, nearly all. */
static size_t plain_len(const char *text)
{
	size_t len = 0;

	while (is_plain((unsigned char)text[len]))
		len++;
	return len;
}

/* n plain characters side by side. All the cells are on the canvas. */
static void put_plain(struct wtl_canvas *canvas, int row, int column, const char *text, int n,
		      enum wtl_style style)
{
	struct wtl_cell *cells =
		&canvas->cells[(size_t)row * (size_t)canvas->columns + (size_t)column];

	for (int i = 0; i < n; i++) {
		if (cells[i].width != 1)
			free_cell(canvas, row, column + i);
		cells[i] = (struct wtl_cell){
			.point = (unsigned char)text[i], .style = (uint8_t)style, .width = 1};
	}
}

/* A character that may not be one column wide, or replaces half of a wide one. */
static __attribute__((noinline)) void put_other(struct wtl_canvas *canvas, int row, int column,
						uint32_t point, enum wtl_style style)
{
	struct wtl_cell *cell = cell_at(canvas, row, column);
	unsigned width;

	if (canvas->ascii && point > 0x7e)
		point = ascii_of(point);
	width = wtl_point_width(point);
	if (!cell || width == 0)
		return;
	if (width == 2 && !cell_at(canvas, row, column + 1)) {
		point = ' ';
		width = 1;
	}
	if (cell->width != 1)
		free_cell(canvas, row, column);
	*cell = (struct wtl_cell){.point = point, .style = (uint8_t)style, .width = width & 3};
	if (width == 2) {
		free_cell(canvas, row, column + 1);
		cell[1] = (struct wtl_cell){.point = ' ', .style = (uint8_t)style, .width = 0};
	}
}

void wtl_canvas_put(struct wtl_canvas *canvas, int row, int column, uint32_t point,
		    enum wtl_style style)
{
	struct wtl_cell *cell = cell_at(canvas, row, column);

	if (cell && cell->width == 1 && (is_plain(point) || (is_drawn(point) && !canvas->ascii)))
		*cell = (struct wtl_cell){
			.point = point & 0x1fffff, .style = (uint8_t)style, .width = 1};
	else
		put_other(canvas, row, column, point, style);
}

void wtl_canvas_fill(struct wtl_canvas *canvas, int row, int column, int width, uint32_t point,
		     enum wtl_style style)
{
	for (int i = 0; i < width && column + i < canvas->columns; i++)
		wtl_canvas_put(canvas, row, column + i, point, style);
}

void wtl_canvas_restyle(struct wtl_canvas *canvas, int row, int column, int width,
			enum wtl_style style)
{
	for (int i = 0; i < width && column + i < canvas->columns; i++) {
		struct wtl_cell *cell = cell_at(canvas, row, column + i);

		if (cell)
			cell->style = (uint8_t)style;
	}
}

/* The width of a text whose first characters are plain. */
static int width_behind(const char *text, size_t n_plain)
{
	size_t width = n_plain, len = text[n_plain] ? strlen(text) : n_plain;
	uint32_t point;

	for (size_t at = n_plain; at < len;) {
		at += next_point(text + at, len - at, false, &point);
		width += wtl_point_width(point);
	}
	return width > INT_MAX ? INT_MAX : (int)width;
}

int wtl_text_width(const char *text)
{
	return width_behind(text, plain_len(text));
}

/* Without memory for it, the mark is left out. */
static void add_mark(struct wtl_canvas *canvas, int row, int column, uint32_t point)
{
	struct wtl_cell *cell = cell_at(canvas, row, column);

	if (cell && cell->width == 0)
		cell = cell_at(canvas, row, column - 1);
	/* Invisible signs (joiners, variation selectors, tags) are none to show. */
	if (!cell || cell->has_mark || point < 0x300 || (point >= 0x200b && point <= 0x206f) ||
	    (point >= 0xfe00 && point <= 0xfe0f) || point >= 0xe0000 || point == 0xfeff)
		return;
	if (!canvas->marks)
		canvas->marks = calloc(canvas->size, sizeof(*canvas->marks));
	if (!canvas->marks)
		return;
	canvas->marks[cell - canvas->cells] = point;
	cell->has_mark = 1;
}

/* In ASCII it takes two characters: one alone would mean something else. */
#define PLUS_MINUS "\xc2\xb1"

static bool is_plus_minus(const struct wtl_canvas *canvas, const char *text)
{
	return canvas->ascii && strncmp(text, PLUS_MINUS, 2) == 0;
}

/* The width of a text as this canvas shows it. */
static int shown_width(const struct wtl_canvas *canvas, const char *text, size_t n_plain)
{
	int width = width_behind(text, n_plain);

	for (text += n_plain; canvas->ascii && *text && width < INT_MAX; text++)
		width += is_plus_minus(canvas, text);
	return width;
}

/* all: the width of the text, of which the first characters are plain. */
static int put_text(struct wtl_canvas *canvas, int row, int column, int width, enum wtl_style style,
		    const char *text, size_t n_plain, int all)
{
	int room = all > width ? width - 1 : width, used = 0;
	size_t len;

	if (width <= 0)
		return 0;
	if (cell_at(canvas, row, column) && room <= canvas->columns - column) {
		used = (size_t)room < n_plain ? room : (int)n_plain;
		put_plain(canvas, row, column, text, used, style);
	}
	len = text[used] ? strlen(text) : (size_t)used;
	for (size_t at = (size_t)used; at < len;) {
		bool two = is_plus_minus(canvas, text + at);
		uint32_t point;
		int wide;

		at += next_point(text + at, len - at, canvas->ascii, &point);
		wide = two ? 2 : (int)wtl_point_width(point);
		if (wide == 0) {
			add_mark(canvas, row, column + used - 1, point);
			continue;
		}
		if (used + wide > room)
			break;
		wtl_canvas_put(canvas, row, column + used, two ? '+' : point, style);
		if (two)
			wtl_canvas_put(canvas, row, column + used + 1, '-', style);
		used += wide;
	}
	if (all > width)
		wtl_canvas_put(canvas, row, column + used++, 0x2026, style);
	return used;
}

int wtl_canvas_text(struct wtl_canvas *canvas, int row, int column, int width, enum wtl_style style,
		    const char *text)
{
	size_t n_plain = plain_len(text);

	return put_text(canvas, row, column, width, style, text, n_plain,
			shown_width(canvas, text, n_plain));
}

int wtl_canvas_right(struct wtl_canvas *canvas, int row, int column, int width,
		     enum wtl_style style, const char *text)
{
	size_t n_plain = plain_len(text);
	int all = shown_width(canvas, text, n_plain);

	if (all < width) {
		column += width - all;
		width = all;
	}
	return put_text(canvas, row, column, width, style, text, n_plain, all);
}

int wtl_canvas_printf(struct wtl_canvas *canvas, int row, int column, int width,
		      enum wtl_style style, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return wtl_canvas_text(canvas, row, column, width, style, text);
}

size_t wtl_point_bytes(uint32_t point, char bytes[4])
{
	size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
	static const unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

	for (size_t i = n; i-- > 1; point >>= 6)
		bytes[i] = (char)(0x80 | (point & 0x3f));
	bytes[0] = (char)(lead[n] | point);
	return n;
}

int wtl_point_add(struct wtl_buf *buf, uint32_t point)
{
	char bytes[4];

	return wtl_buf_add(buf, bytes, wtl_point_bytes(point, bytes));
}

static void dump_cell(const struct wtl_canvas *canvas, const struct wtl_cell *cell,
		      struct wtl_buf *buf)
{
	if (cell->width == 0)
		return;
	wtl_point_add(buf, cell->point);
	if (cell->has_mark)
		wtl_point_add(buf, wtl_canvas_mark(canvas, cell));
}

static void dump_style(const struct wtl_cell *cell, struct wtl_buf *buf)
{
	static const char letters[] = ".sfthSXklcmgoCMGOLiw!";

	_Static_assert(sizeof(letters) == WTL_STYLES + 1, "a letter a style");
	wtl_buf_putc(buf, letters[cell->style]);
}

static bool is_blank(const struct wtl_cell *cell, bool styles)
{
	return cell->point == ' ' && cell->width == 1 &&
	       (!styles || cell->style == WTL_STYLE_PLAIN);
}

static int dump(const struct wtl_canvas *canvas, struct wtl_buf *buf, bool styles)
{
	for (int row = 0; row < canvas->rows; row++) {
		const struct wtl_cell *cells =
			canvas->cells + (size_t)row * (size_t)canvas->columns;
		int end = canvas->columns;

		while (end > 0 && is_blank(&cells[end - 1], styles))
			end--;
		for (int column = 0; column < end; column++) {
			if (styles)
				dump_style(&cells[column], buf);
			else
				dump_cell(canvas, &cells[column], buf);
		}
		wtl_buf_putc(buf, '\n');
	}
	return buf->error;
}

int wtl_canvas_dump(const struct wtl_canvas *canvas, struct wtl_buf *buf)
{
	return dump(canvas, buf, false);
}

int wtl_canvas_dump_styles(const struct wtl_canvas *canvas, struct wtl_buf *buf)
{
	return dump(canvas, buf, true);
}
