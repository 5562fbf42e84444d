/* SPDX-License-Identifier: MIT */
#include "text/layout.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "document/format.h"

enum { ROW = '\x01', RUN_ON = '\x02', GAP = 2, CUT_LEAST = 8 };

/* Steps over one character; a byte that is not UTF-8 takes one column. */
static size_t step(const char *text, size_t len, unsigned *ret_columns)
{
	uint32_t point;
	size_t n = wtl_format_utf8(text, len, &point);

	*ret_columns = n ? wtl_point_width(point) : 1;
	return n ? n : 1;
}

size_t wtl_layout_columns(const char *text, size_t len)
{
	size_t columns = 0;
	unsigned wide;

	for (size_t at = 0; at < len;) {
		at += step(text + at, len - at, &wide);
		columns += wide;
	}
	return columns;
}

static const char *ascii_for(const char *text, size_t n)
{
	static const struct {
		const char *sign, *ascii;
	} signs[] = {
		{"±", "+/-"}, {"µ", "u"}, {"…", "..."}, {"→", "->"}, {"–", "-"},
		{"—", "-"},   {"’", "'"}, {"“", "\""},	{"”", "\""}, {"×", "x"},
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		if (strlen(signs[i].sign) == n && memcmp(signs[i].sign, text, n) == 0)
			return signs[i].ascii;
	}
	return NULL;
}

static int add_ascii(struct wtl_buf *buf, const char *text, size_t len)
{
	for (size_t at = 0; at < len && !buf->error;) {
		unsigned columns;
		size_t n = step(text + at, len - at, &columns);
		const char *ascii = n > 1 ? ascii_for(text + at, n) : NULL;

		if (ascii) {
			wtl_buf_puts(buf, ascii);
		} else if (n == 1) {
			wtl_text_escape(buf, text + at, 1);
		} else {
			for (size_t i = 0; i < n; i++)
				wtl_buf_printf(buf, "\\x%02x",
					       (unsigned)(unsigned char)text[at + i]);
		}
		at += n;
	}
	return buf->error;
}

int wtl_layout_text(struct wtl_buf *buf, const char *text, const struct wtl_output_style *style)
{
	if (!text)
		return buf->error;
	if (style->ascii)
		return add_ascii(buf, text, strlen(text));
	return wtl_text_escape(buf, text, strlen(text));
}

const char *wtl_layout_plus_minus(const struct wtl_output_style *style)
{
	return style->ascii ? "+/-" : "±";
}

/* The offset from which what is after `start` no longer fits into `room` columns. */
static size_t end_of(const struct wtl_buf *buf, size_t start, size_t room)
{
	size_t at = start, used = 0;
	unsigned wide;

	while (at < buf->len) {
		size_t n = step(buf->data + at, buf->len - at, &wide);

		used += wide;
		if (used > room)
			break;
		at += n;
	}
	return at;
}

int wtl_layout_cut(struct wtl_buf *buf, size_t start, size_t columns,
		   const struct wtl_output_style *style)
{
	if (buf->error || wtl_layout_columns(buf->data + start, buf->len - start) <= columns)
		return buf->error;
	wtl_layout_truncate(buf, end_of(buf, start, columns - (style->ascii ? 3 : 1)));
	return wtl_buf_puts(buf, style->ascii ? "..." : "…");
}

int wtl_layout_cut_begin(struct wtl_buf *buf, size_t start, size_t columns,
			 const struct wtl_output_style *style)
{
	const char *mark = style->ascii ? "..." : "…";
	size_t room = columns - (style->ascii ? 3 : 1), len = buf->len, left, at = start;
	unsigned wide;

	if (buf->error)
		return buf->error;
	left = wtl_layout_columns(buf->data + start, len - start);
	if (left <= columns)
		return 0;
	for (; left > room; left -= wide)
		at += step(buf->data + at, len - at, &wide);
	/* Appended first, which makes room for the mark at the start. */
	if (wtl_buf_puts(buf, mark) < 0)
		return buf->error;
	memmove(buf->data + start + strlen(mark), buf->data + at, len - at);
	memcpy(buf->data + start, mark, strlen(mark));
	wtl_layout_truncate(buf, start + strlen(mark) + len - at);
	return 0;
}

int wtl_layout_cut_middle(struct wtl_buf *buf, size_t start, size_t columns,
			  const struct wtl_output_style *style)
{
	size_t head;

	if (buf->error || wtl_layout_columns(buf->data + start, buf->len - start) <= columns)
		return buf->error;
	head = end_of(buf, start, columns * 2 / 5 - (style->ascii ? 3 : 1));
	columns -= wtl_layout_columns(buf->data + start, head - start);
	return wtl_layout_cut_begin(buf, head, columns, style);
}

int wtl_layout_tone(struct wtl_buf *buf, enum wtl_tone tone, const struct wtl_output_style *style)
{
	static const char *const codes[] = {
		[WTL_TONE_PLAIN] = "",
		[WTL_TONE_STRONG] = "\033[1m",
		[WTL_TONE_FAINT] = "\033[2m",
		[WTL_TONE_WARN] = "\033[33m",
	};

	return style->color ? wtl_buf_puts(buf, codes[tone]) : buf->error;
}

int wtl_layout_tone_end(struct wtl_buf *buf, enum wtl_tone tone,
			const struct wtl_output_style *style)
{
	return style->color && tone != WTL_TONE_PLAIN ? wtl_buf_puts(buf, "\033[0m") : buf->error;
}

void wtl_layout_keep(struct wtl_buf *buf, size_t start)
{
	for (size_t i = start; i < buf->len; i++) {
		if (buf->data[i] == ' ')
			buf->data[i] = WTL_LAYOUT_NO_BREAK;
	}
}

void wtl_layout_keep_commands(struct wtl_buf *buf, size_t start)
{
	bool is_command = false;

	for (size_t i = start; i < buf->len; i++) {
		if (wtl_text_starts(buf->data + i, "sudo "))
			is_command = true;
		if (buf->data[i] != ' ' || i == start)
			continue;
		if (strchr("&,;", buf->data[i - 1]) || buf->data[i + 1] == '(')
			is_command = false;
		if (is_command)
			buf->data[i] = WTL_LAYOUT_NO_BREAK;
	}
}

static int wrap(struct wtl_buf *buf, const char *text, size_t column, size_t indent)
{
	bool first = true;

	while (*text) {
		size_t len = strcspn(text, " ");
		size_t columns = wtl_layout_columns(text, len);

		if (!first && column + 1 + columns > WTL_LAYOUT_WIDTH) {
			wtl_buf_printf(buf, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			wtl_buf_putc(buf, ' ');
			column++;
		}
		for (size_t i = 0; i < len; i++)
			wtl_buf_putc(buf, text[i] == WTL_LAYOUT_NO_BREAK ? ' ' : text[i]);
		column += columns;
		text += len;
		text += strspn(text, " ");
		first = false;
	}
	return wtl_buf_putc(buf, '\n');
}

int wtl_layout_wrap(struct wtl_buf *buf, size_t start, size_t column, size_t indent)
{
	char *text = buf->error ? NULL : strdup(wtl_buf_str(buf) + start);

	if (!text)
		return buf->error = buf->error ? buf->error : -ENOMEM;
	wtl_layout_truncate(buf, start);
	wrap(buf, text, column, indent);
	free(text);
	return buf->error;
}

void wtl_layout_truncate(struct wtl_buf *buf, size_t len)
{
	if (len >= buf->len)
		return;
	buf->len = len;
	buf->data[len] = '\0';
}

void wtl_grid_init(struct wtl_grid *grid, const char *align, const struct wtl_output_style *style)
{
	*grid = (struct wtl_grid){.align = align, .style = style};
	wtl_buf_init(&grid->rows, (size_t)1 << 22);
}

void wtl_grid_begin(struct wtl_grid *grid, enum wtl_tone tone)
{
	wtl_buf_putc(&grid->rows, ROW);
	wtl_buf_putc(&grid->rows, (char)('0' + tone));
	grid->at = 0;
	grid->start = grid->rows.len;
	grid->runs_on = false;
}

void wtl_grid_run_on(struct wtl_grid *grid)
{
	wtl_buf_putc(&grid->rows, RUN_ON);
	grid->runs_on = true;
}

void wtl_grid_next(struct wtl_grid *grid)
{
	struct wtl_buf *rows = &grid->rows;

	if (!rows->error && !grid->runs_on && grid->at < WTL_GRID_COLUMNS) {
		size_t width =
			wtl_layout_columns(rows->data + grid->start, rows->len - grid->start);

		if (width > grid->width[grid->at])
			grid->width[grid->at] = width;
	}
	wtl_buf_putc(rows, '\0');
	grid->at++;
	grid->start = rows->len;
}

void wtl_grid_cell(struct wtl_grid *grid, const char *escaped)
{
	wtl_buf_puts(&grid->rows, escaped);
	wtl_grid_next(grid);
}

void wtl_grid_text(struct wtl_grid *grid, const char *text)
{
	wtl_layout_text(&grid->rows, text, grid->style);
	wtl_grid_next(grid);
}

void wtl_grid_number(struct wtl_grid *grid, uint64_t number)
{
	wtl_buf_printf(&grid->rows, "%" PRIu64, number);
	wtl_grid_next(grid);
}

void wtl_grid_row(struct wtl_grid *grid, enum wtl_tone tone, const char *const cells[])
{
	wtl_grid_begin(grid, tone);
	for (size_t i = 0; cells[i]; i++)
		wtl_grid_cell(grid, cells[i]);
}

static size_t grid_gap(const struct wtl_grid *grid, size_t column)
{
	if (column == 0)
		return 0;
	return grid->align[column] == 'u' ? 1 : GAP;
}

/* Column 'c' or 'b' takes what the others leave of the page. */
static void fit(const struct wtl_grid *grid, size_t width[WTL_GRID_COLUMNS])
{
	size_t all = 0, cut = WTL_GRID_COLUMNS;

	for (size_t i = 0; grid->align[i]; i++) {
		width[i] = grid->width[i];
		all += grid_gap(grid, i) + width[i];
		if (grid->align[i] == 'c' || grid->align[i] == 'b')
			cut = i;
	}
	if (cut == WTL_GRID_COLUMNS || all <= WTL_LAYOUT_WIDTH)
		return;
	all -= width[cut];
	width[cut] = all + CUT_LEAST < WTL_LAYOUT_WIDTH ? WTL_LAYOUT_WIDTH - all : CUT_LEAST;
}

static void pad(struct wtl_buf *buf, size_t *owed)
{
	wtl_buf_printf(buf, "%*s", (int)*owed, "");
	*owed = 0;
}

/* Blanks are owed until something follows them, so that no line ends in blanks. */
static const char *render_row(const struct wtl_grid *grid, struct wtl_buf *buf, const char *at,
			      const char *end)
{
	size_t width[WTL_GRID_COLUMNS] = {0};
	size_t owed = 0, column = 0, left = 0;

	fit(grid, width);
	for (; at < end && *at != ROW; at += strlen(at) + 1, column++) {
		size_t gap = grid_gap(grid, column);
		size_t columns;

		if (*at == RUN_ON) {
			owed += gap;
			pad(buf, &owed);
			wrap(buf, at + 1, left + gap, left + gap);
			return at + strlen(at) + 1;
		}
		columns = wtl_layout_columns(at, strlen(at));
		owed += gap;
		if (columns > width[column])
			columns = width[column];
		if (grid->align[column] == 'r')
			owed += width[column] - columns;
		if (columns > 0) {
			size_t start;

			pad(buf, &owed);
			start = buf->len;
			wtl_buf_puts(buf, at);
			if (grid->align[column] == 'b')
				wtl_layout_cut_begin(buf, start, columns, grid->style);
			else
				wtl_layout_cut(buf, start, columns, grid->style);
			columns = wtl_layout_columns(wtl_buf_str(buf) + start, buf->len - start);
		}
		if (grid->align[column] != 'r')
			owed += width[column] - columns;
		left += gap + width[column];
	}
	wtl_buf_putc(buf, '\n');
	return at;
}

/* A 'u' cell goes into the same Markdown cell as the one before it. */
static const char *render_markdown_row(const struct wtl_grid *grid, struct wtl_buf *buf,
				       const char *at, const char *end)
{
	bool is_empty = true;

	wtl_buf_putc(buf, '|');
	for (size_t column = 0; grid->align[column]; column++) {
		bool is_there = at < end && *at != ROW;

		if (grid->align[column] != 'u')
			wtl_buf_puts(buf, column > 0 ? " | " : " ");
		else if (is_there && *at && !is_empty)
			wtl_buf_putc(buf, ' ');
		is_empty = !is_there || !*at;
		for (; is_there && *at; at++)
			wtl_buf_printf(buf, *at == '|' ? "\\%c" : "%c", *at);
		at += is_there;
	}
	wtl_buf_puts(buf, " |\n");
	return at;
}

/* The first row is the heading. */
static void render_markdown(const struct wtl_grid *grid, struct wtl_buf *buf, const char *at,
			    const char *end)
{
	for (size_t row = 0; at < end && !buf->error; row++) {
		at = render_markdown_row(grid, buf, at + 2, end);
		if (row > 0)
			continue;
		for (size_t column = 0; grid->align[column]; column++)
			if (grid->align[column] != 'u')
				wtl_buf_puts(buf, grid->align[column] == 'r' ? "|---:" : "|---");
		wtl_buf_puts(buf, "|\n");
	}
}

int wtl_grid_render(struct wtl_grid *grid, struct wtl_buf *buf)
{
	const char *at = wtl_buf_str(&grid->rows);
	const char *end = at + grid->rows.len;

	if (grid->rows.error && !buf->error)
		buf->error = grid->rows.error;
	if (grid->style->markdown) {
		render_markdown(grid, buf, at, end);
		at = end;
	}
	while (at < end && !buf->error) {
		enum wtl_tone tone = (enum wtl_tone)(at[1] - '0');

		wtl_layout_tone(buf, tone, grid->style);
		at = render_row(grid, buf, at + 2, end);
		if (grid->style->color && tone != WTL_TONE_PLAIN && !buf->error) {
			/* The tone ends before the line does. */
			wtl_layout_truncate(buf, buf->len - 1);
			wtl_layout_tone_end(buf, tone, grid->style);
			wtl_buf_putc(buf, '\n');
		}
	}
	wtl_buf_done(&grid->rows);
	return buf->error;
}
