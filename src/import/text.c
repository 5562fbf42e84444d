/* SPDX-License-Identifier: MIT */
#include "import/text.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/date.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/units.h"
#include "import/import.h"

/* ---- Encodings ---- */

static void put_point(struct wtl_buf *buf, uint32_t point)
{
	const char utf8[4] = {(char)(0xf0 | point >> 18), (char)(0x80 | (point >> 12 & 0x3f)),
			      (char)(0x80 | (point >> 6 & 0x3f)), (char)(0x80 | (point & 0x3f))};
	char two[2] = {(char)(0xc0 | point >> 6), utf8[3]};
	char three[3] = {(char)(0xe0 | point >> 12), utf8[2], utf8[3]};

	if (point < 0x80)
		wtl_buf_putc(buf, (char)point);
	else if (point < 0x800)
		wtl_buf_add(buf, two, sizeof(two));
	else if (point < 0x10000)
		wtl_buf_add(buf, three, sizeof(three));
	else
		wtl_buf_add(buf, utf8, sizeof(utf8));
}

static uint32_t unit16(const char *bytes, bool is_big)
{
	unsigned char first = (unsigned char)bytes[0], second = (unsigned char)bytes[1];

	return is_big ? (uint32_t)first << 8 | second : (uint32_t)second << 8 | first;
}

static int decode16(struct wtl_buf *buf, const char *bytes, size_t len, bool is_big)
{
	for (size_t i = 0; i + 1 < len && !buf->error; i += 2) {
		uint32_t point = unit16(bytes + i, is_big);

		if (point >= 0xd800 && point < 0xdc00 && i + 3 < len) {
			uint32_t low = unit16(bytes + i + 2, is_big);

			if (low >= 0xdc00 && low < 0xe000) {
				point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
				i += 2;
			}
		}
		if (point != 0xfeff)
			put_point(buf, point >= 0xd800 && point < 0xe000 ? 0xfffd : point);
	}
	return buf->error;
}

int wtl_import_decode(struct wtl_buf *buf, const char *bytes, size_t len)
{
	if (len >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 || (bytes[0] && !bytes[1])))
		return decode16(buf, bytes, len, false);
	if (len >= 2 && (memcmp(bytes, "\xfe\xff", 2) == 0 || (!bytes[0] && bytes[1])))
		return decode16(buf, bytes, len, true);
	if (len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
		return wtl_buf_add(buf, bytes + 3, len - 3);
	return wtl_buf_add(buf, bytes, len);
}

/* ---- Lines and cells ---- */

bool wtl_import_line(struct wtl_import_lines *lines, struct wtl_cell *ret_line)
{
	const char *newline;
	size_t len;

	if (lines->at >= lines->end)
		return false;
	newline = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
	len = (size_t)((newline ? newline : lines->end) - lines->at);
	*ret_line = (struct wtl_cell){lines->at, len};
	if (len > 0 && lines->at[len - 1] == '\r')
		ret_line->len--;
	lines->at += len + 1;
	lines->number++;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct wtl_cell trimmed(const char *text, size_t len)
{
	for (; len > 0 && is_blank(*text); len--)
		text++;
	while (len > 0 && is_blank(text[len - 1]))
		len--;
	return (struct wtl_cell){text, len};
}

/* The end of a quoted cell, after its quote: two quotes in a row are one in the text. */
static const char *behind_quoted(const char *at, const char *end)
{
	for (at++; at < end; at++) {
		if (*at != '"')
			continue;
		if (at + 1 == end || at[1] != '"')
			return at + 1;
		at++;
	}
	return end;
}

static struct wtl_cell unquoted(struct wtl_cell cell)
{
	if (cell.len >= 2 && cell.text[0] == '"' && cell.text[cell.len - 1] == '"')
		return (struct wtl_cell){cell.text + 1, cell.len - 2};
	return cell;
}

static size_t blank_cells(struct wtl_cell line, struct wtl_cell cells[], size_t max)
{
	const char *at = line.text, *end = at + line.len;
	size_t n = 0;

	for (;;) {
		const char *begin;

		while (at < end && is_blank(*at))
			at++;
		if (at == end)
			return n;
		for (begin = at; at < end && !is_blank(*at); at++)
			;
		if (n < max)
			cells[n] = (struct wtl_cell){begin, (size_t)(at - begin)};
		n++;
	}
}

size_t wtl_cells(struct wtl_cell line, char separator, struct wtl_cell cells[], size_t max)
{
	const char *at = line.text, *end = at + line.len;

	if (separator == ' ')
		return blank_cells(line, cells, max);
	for (size_t n = 0;; n++) {
		const char *begin = at, *found;

		while (at < end && is_blank(*at))
			at++;
		if (at < end && *at == '"')
			at = behind_quoted(at, end);
		found = memchr(at, separator, (size_t)(end - at));
		found = found ? found : end;
		if (n < max)
			cells[n] = unquoted(trimmed(begin, (size_t)(found - begin)));
		if (found == end)
			return n + 1;
		at = found + 1;
	}
}

bool wtl_cell_is_unknown(struct wtl_cell cell)
{
	static const char *const words[] = {"-",   "--",   "n/a",  "na",      "nan",
					    "nil", "null", "none", "unknown", "unavailable"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == cell.len && strncasecmp(cell.text, words[i], cell.len) == 0)
			return true;
	return cell.len == 0;
}

bool wtl_cell_is(struct wtl_cell cell, const char *text)
{
	return strlen(text) == cell.len && memcmp(cell.text, text, cell.len) == 0;
}

bool wtl_cell_starts(struct wtl_cell cell, const char *text)
{
	size_t len = strlen(text);

	return cell.len >= len && memcmp(cell.text, text, len) == 0;
}

size_t wtl_cell_find(const struct wtl_cell cells[], size_t n, const char *text)
{
	for (size_t i = 0; i < n; i++)
		if (wtl_cell_is(cells[i], text))
			return i;
	return SIZE_MAX;
}

char *wtl_cell_copy(struct wtl_cell cell, char *to, size_t size)
{
	return wtl_text_clean(to, size, cell.text, cell.len);
}

/* ---- Numbers ---- */

bool wtl_cell_double(struct wtl_cell cell, double *ret)
{
	return wtl_num_double(cell.text, cell.len, ret) == 0;
}

bool wtl_cell_scaled(struct wtl_cell cell, double scale, uint64_t *ret)
{
	double value;

	if (!wtl_cell_double(cell, &value))
		return false;
	value = value * scale + 0.5;
	if (!(value >= 0 && value < 1e18))
		return false;
	*ret = (uint64_t)value;
	return true;
}

bool wtl_cell_scaled_by(struct wtl_cell cell, char separator, double scale, uint64_t *ret)
{
	char copy[64];
	char *comma;

	if (separator == ',' || cell.len >= sizeof(copy) || !memchr(cell.text, ',', cell.len))
		return wtl_cell_scaled(cell, scale, ret);
	memcpy(copy, cell.text, cell.len);
	comma = memchr(copy, ',', cell.len);
	*comma = '.';
	return wtl_cell_scaled((struct wtl_cell){copy, cell.len}, scale, ret);
}

/* ---- Dates ---- */

/* Dates that are seconds, milliseconds, microseconds or nanoseconds since 1970: from 2001 to 2255. */
static bool since_1970(struct wtl_cell cell, int64_t *ret_ns)
{
	double value;

	if (!wtl_cell_double(cell, &value))
		return false;
	for (double unit = 1e9; unit >= 1; unit /= 1000) {
		double seconds = value * (unit / 1e9);

		if (seconds >= 1e9 && seconds < 9e9) {
			/* A double does not have enough digits for nanoseconds. */
			uint64_t whole;

			if (unit < 1e9 && wtl_num_u64(cell.text, cell.len, &whole) == 0)
				*ret_ns = (int64_t)(whole * (uint64_t)unit);
			else
				*ret_ns = (int64_t)llround(seconds * 1e6) * 1000;
			return true;
		}
	}
	return false;
}

bool wtl_cell_time(struct wtl_import *import, struct wtl_cell cell, bool is_utc, int64_t *ret_ns)
{
	char copy[64];
	struct wtl_date_text date;
	int64_t t_ns;

	if (cell.len < 10 || cell.len >= sizeof(copy))
		return false;
	if (cell.text[4] != '-' && cell.text[4] != '/' && cell.text[2] != '.')
		return since_1970(cell, ret_ns);
	memcpy(copy, cell.text, cell.len);
	/* 03.07.2026: with dots, the day always comes first. */
	if (copy[2] == '.' && copy[5] == '.') {
		memcpy(copy, cell.text + 6, 4);
		copy[4] = copy[7] = '-';
		memcpy(copy + 5, cell.text + 3, 2);
		memcpy(copy + 8, cell.text, 2);
	}
	if (copy[4] == '/' && copy[7] == '/')
		copy[4] = copy[7] = '-';
	if (wtl_date_parse(copy, cell.len, &date) < 0)
		return false;
	t_ns = wtl_date_utc_ns(&date.date) - date.zone_s * WTL_NS_PER_S;
	*ret_ns = date.has_zone || is_utc ? t_ns : wtl_import_local(import, t_ns);
	return true;
}

/* ---- Prometheus' text ---- */

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == ':';
}

static struct wtl_cell take_name(const char **at, const char *end)
{
	const char *begin = *at;

	while (*at < end && is_name(**at))
		++*at;
	return (struct wtl_cell){begin, (size_t)(*at - begin)};
}

/* The quote that ends a label's value: a backslash escapes the character after it. */
static const char *label_end(const char *at, const char *end)
{
	for (; at < end && *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at < end ? at : NULL;
}

static bool take_labels(const char **at, const char *end, struct wtl_exposed *ret)
{
	for (++*at; *at < end && **at != '}';) {
		struct wtl_cell name = take_name(at, end);
		const char *begin = *at + 2, *stop;

		if (name.len == 0 || end - *at < 3 || (*at)[0] != '=' || (*at)[1] != '"')
			return false;
		stop = label_end(begin, end);
		if (!stop || ret->n_labels == WTL_LABELS_MAX)
			return false;
		ret->labels[ret->n_labels] = name;
		ret->values[ret->n_labels++] = (struct wtl_cell){begin, (size_t)(stop - begin)};
		for (*at = stop + 1; *at < end && (**at == ',' || **at == ' ');)
			++*at;
	}
	if (*at == end)
		return false;
	++*at;
	return true;
}

bool wtl_exposed_parse(struct wtl_cell line, struct wtl_exposed *ret)
{
	const char *at = line.text, *end = at + line.len;
	struct wtl_cell rest[3];
	size_t n;

	ret->n_labels = 0;
	ret->name = take_name(&at, end);
	if (ret->name.len == 0 || (at < end && *at == '{' && !take_labels(&at, end, ret)))
		return false;
	n = wtl_cells((struct wtl_cell){at, (size_t)(end - at)}, ' ', rest, 3);
	ret->value = n > 0 ? rest[0] : (struct wtl_cell){"", 0};
	ret->time = n > 1 && rest[1].text[0] != '#' ? rest[1] : (struct wtl_cell){"", 0};
	return n > 0;
}

struct wtl_cell wtl_exposed_label(const struct wtl_exposed *exposed, const char *name)
{
	size_t i = wtl_cell_find(exposed->labels, exposed->n_labels, name);

	return i == SIZE_MAX ? (struct wtl_cell){"", 0} : exposed->values[i];
}
