/* SPDX-License-Identifier: MIT */
#include "document/cells.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "document/format.h"
#include "document/words.h"

enum { MICRO = 6, NANO = 9 };

void wtl_cell_empty(struct wtl_buf *buf, unsigned n)
{
	while (n-- > 0)
		wtl_buf_putc(buf, ',');
}

static void put_escaped(struct wtl_buf *buf, const char *text, size_t len)
{
	bool formula = len > 0 && strchr("=+-@", text[0]);
	bool quote = formula || memchr(text, '"', len) || memchr(text, ',', len) ||
		     (len > 0 && (text[0] == ' ' || text[len - 1] == ' '));

	if (quote)
		wtl_buf_putc(buf, '"');
	if (formula)
		wtl_buf_putc(buf, '\'');
	for (size_t i = 0; i < len && !buf->error; i++) {
		if (text[i] == '"')
			wtl_buf_putc(buf, '"');
		wtl_buf_putc(buf, text[i]);
	}
	if (quote)
		wtl_buf_putc(buf, '"');
}

static void put_cell(struct wtl_buf *buf, const char *text, size_t len, char end)
{
	struct wtl_buf cell;

	wtl_buf_init(&cell, WTL_CELL_MAX);
	wtl_text_escape(&cell, text, len);
	put_escaped(buf, wtl_buf_str(&cell), cell.len);
	if (cell.error && !buf->error)
		buf->error = cell.error;
	wtl_buf_done(&cell);
	wtl_buf_putc(buf, end);
}

void wtl_cell_text(struct wtl_buf *buf, const char *value)
{
	put_cell(buf, value ? value : "", value ? strlen(value) : 0, ',');
}

void wtl_cell_last(struct wtl_buf *buf, const char *value)
{
	put_cell(buf, value ? value : "", value ? strlen(value) : 0, '\n');
}

void wtl_cell_fixed(struct wtl_buf *buf, bool known, uint64_t value, unsigned decimals)
{
	if (known)
		wtl_format_fixed(buf, value, decimals);
	wtl_buf_putc(buf, ',');
}

void wtl_cell_seconds(struct wtl_buf *buf, bool known, int64_t ns)
{
	wtl_cell_fixed(buf, known, ns > 0 ? (uint64_t)ns : 0, NANO);
}

void wtl_cell_utc(struct wtl_buf *buf, int64_t t_utc_ns)
{
	wtl_format_utc(buf, t_utc_ns);
	wtl_buf_putc(buf, ',');
}

void wtl_cell_flags(struct wtl_buf *buf, uint32_t bits)
{
	const char *word;

	for (size_t i = 0; (word = wtl_words_flag(bits, i)); i++) {
		wtl_buf_puts(buf, i ? " " : "");
		wtl_buf_puts(buf, word);
	}
	wtl_buf_putc(buf, ',');
}

void wtl_cell_method(struct wtl_buf *buf, enum wattle_method value)
{
	wtl_cell_text(buf, value != WATTLE_METHOD_NONE ? wattle_method_name(value) : NULL);
}

void wtl_cell_bool(struct wtl_buf *buf, bool value)
{
	wtl_buf_puts(buf, value ? "true," : "false,");
}

void wtl_cell_energy(struct wtl_buf *buf, const struct wattle_energy *energy)
{
	bool has = energy->has_energy, has_power = has && energy->has_power;

	wtl_cell_fixed(buf, has, energy->energy_uj, MICRO);
	wtl_cell_fixed(buf, has, energy->uncertainty_uj, MICRO);
	wtl_cell_fixed(buf, has_power, energy->mean_uw, MICRO);
	wtl_cell_fixed(buf, has_power, energy->max_uw, MICRO);
	wtl_cell_seconds(buf, has, energy->measured_ns);
	wtl_cell_seconds(buf, has, energy->gap_ns);
	wtl_cell_flags(buf, has ? energy->flags : 0);
}
