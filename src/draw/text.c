/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "document/format.h"
#include "draw/parts.h"

enum { CLEAN_MAX = WTL_PLOT_TEXT_MAX - 4 }; /* "…" has to fit, too */

static bool begins_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

static size_t count_characters(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += begins_character(*text);
	return n;
}

/* The bytes of the first n characters. */
static size_t bytes_of(const char *text, size_t n)
{
	size_t len = 0;

	while (text[len] && (n > 0 || !begins_character(text[len])))
		n -= begins_character(text[len++]);
	return len;
}

/* n characters and "…" for the rest: at the end, or (keeps_end) before the last third of them. */
static void put_cut(const char *clean, size_t n, bool keeps_end, char ret_text[WTL_PLOT_TEXT_MAX])
{
	size_t last = keeps_end ? n / 3 : 0;
	size_t begin = bytes_of(clean, count_characters(clean) - last);

	snprintf(ret_text, WTL_PLOT_TEXT_MAX, "%.*s…%s", (int)bytes_of(clean, n - last), clean,
		 clean + begin);
}

/* Cleans a text. One that is too long for any paper loses its middle. */
static void put_clean(const char *text, char ret_clean[CLEAN_MAX])
{
	const size_t last = CLEAN_MAX / 3, len = strlen(text);
	const char *end = text + len - (len < last ? len : last);
	char joined[CLEAN_MAX];

	while (!begins_character(*end) && *end)
		end++;
	if (len >= CLEAN_MAX) {
		size_t head = CLEAN_MAX - last - sizeof("…");

		while (head > 0 && !begins_character(text[head]))
			head--;
		snprintf(joined, sizeof(joined), "%.*s…%s", (int)head, text, end);
		text = joined;
	}
	wtl_text_clean(ret_clean, CLEAN_MAX, text, strlen(text));
}

/* Text from outside may be anything, and what draws it refuses what is not UTF-8. */
double wtl_plot_fit(struct wtl_plot_pen *pen, const struct wtl_plot_lettering *lettering,
		    const char *text, double width, char ret_text[WTL_PLOT_TEXT_MAX])
{
	char clean[CLEAN_MAX];
	size_t low = 0, high;
	double taken;

	put_clean(text ? text : "", clean);
	wtl_text_copy(ret_text, WTL_PLOT_TEXT_MAX, clean);
	taken = pen->ops->width(pen, lettering, ret_text);
	if (taken <= width)
		return taken;
	/* Bisects for the most characters that fit. */
	high = count_characters(clean);
	while (low < high) {
		size_t middle = (low + high + 1) / 2;

		put_cut(clean, middle, lettering->keeps_end, ret_text);
		if (pen->ops->width(pen, lettering, ret_text) <= width)
			low = middle;
		else
			high = middle - 1;
	}
	ret_text[0] = '\0';
	if (low > 0)
		put_cut(clean, low, lettering->keeps_end, ret_text);
	return low > 0 ? pen->ops->width(pen, lettering, ret_text) : 0;
}

double wtl_plot_text(struct wtl_plot_pen *pen, double x, double y, double width,
		     const struct wtl_plot_lettering *lettering, const char *text)
{
	char fitting[WTL_PLOT_TEXT_MAX];
	double taken = wtl_plot_fit(pen, lettering, text, width, fitting);

	if (fitting[0])
		pen->ops->text(pen, x, y, lettering, fitting);
	return taken;
}

void wtl_plot_escape(struct wtl_buf *buf, const char *text)
{
	char clean[WTL_PLOT_TEXT_MAX];

	wtl_text_clean(clean, sizeof(clean), text ? text : "", text ? strlen(text) : 0);
	wtl_format_xml(buf, clean);
}

void wtl_plot_put_times(struct wtl_buf *buf, int64_t from_utc_ns, int64_t to_utc_ns)
{
	struct wtl_buf from, to;
	bool same_day;

	wtl_buf_init(&from, 64);
	wtl_buf_init(&to, 64);
	wtl_format_utc(&from, from_utc_ns);
	wtl_format_utc(&to, to_utc_ns);
	/* The day, a letter, and the time. */
	if (from.len > 19 && to.len > 19) {
		same_day = memcmp(from.data, to.data, 10) == 0;
		wtl_buf_printf(buf, "%.10s %.8s to %.10s%s%.8s UTC", from.data, from.data + 11,
			       same_day ? "" : to.data, same_day ? "" : " ", to.data + 11);
	}
	wtl_buf_done(&from);
	wtl_buf_done(&to);
}

void wtl_plot_put_source(struct wtl_buf *buf, const char *source, const char *method)
{
	char piece[128];

	snprintf(piece, sizeof(piece), "%.60s (%.40s)", source, method);
	if (!strstr(wtl_buf_str(buf), piece))
		wtl_buf_printf(buf, "%s%s", buf->len ? ", " : "", piece);
}
