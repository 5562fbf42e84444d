/* SPDX-License-Identifier: MIT */
#include "serve/push_verify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "serve/push_wire.h"

#define SERIES "wattle_snapshot_time_seconds"

/* Puts a label's value in quotes. In Influx' lines, labels have no backslash and no line end (push_wire.c). */
static void put_quoted(struct wtl_buf *buf, const char *text, bool is_influx)
{
	char quote = is_influx ? '\'' : '"';

	wtl_buf_putc(buf, quote);
	for (; *text; text++) {
		char c = *text;

		if (is_influx)
			c = c == '\\' ? '/' : c == '\n' ? ' ' : c;
		if (c == quote || c == '\\' || c == '\n')
			wtl_buf_putc(buf, '\\');
		wtl_buf_putc(buf, c == '\n' ? 'n' : c);
	}
	wtl_buf_putc(buf, quote);
}

static void put_labels(struct wtl_buf *buf, const struct wtl_push_labels *labels, bool is_influx)
{
	for (size_t i = 0; labels->texts[i]; i++) {
		const char *label = labels->texts[i];
		int name_len = (int)strcspn(label, "=");

		if (is_influx)
			wtl_buf_printf(buf, " AND \"%.*s\" = ", name_len, label);
		else
			wtl_buf_printf(buf, "%s%.*s=", i > 0 ? "," : "", name_len, label);
		put_quoted(buf, label + name_len + 1, is_influx);
	}
}

void wtl_push_verify_query(enum wtl_push_form form, const struct wtl_push_labels *labels,
			   int64_t t_utc_ms, struct wtl_buf *query, char *ret_more)
{
	if (form == WTL_PUSH_INFLUX) {
		wtl_buf_printf(query, "SELECT value FROM " SERIES " WHERE time = %" PRId64 "ms",
			       t_utc_ms);
		put_labels(query, labels, true);
		ret_more[0] = '\0';
		return;
	}
	/* Releases differ in whether a range includes its ends, so the row is in its middle. */
	wtl_buf_puts(query, SERIES "{");
	put_labels(query, labels, false);
	wtl_buf_puts(query, "}[1s]");
	snprintf(ret_more, WTL_PUSH_MORE_SIZE, "&time=%" PRId64 ".%03d", (t_utc_ms + 500) / 1000,
		 (int)((t_utc_ms + 500) % 1000));
}

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t\r\n");
}

/* What follows a key and its colon; NULL: there is none. */
static const char *value_of(const char *said, const char *key)
{
	const char *at = strstr(said, key);

	at = at ? skip_blanks(at + strlen(key)) : NULL;
	return at && *at == ':' ? skip_blanks(at + 1) : NULL;
}

int wtl_push_verify_answer(enum wtl_push_form form, const char *said)
{
	const char *list;

	if (form == WTL_PUSH_INFLUX) {
		if (!value_of(said, "\"results\"") || value_of(said, "\"error\""))
			return -EPROTO;
		return value_of(said, "\"series\"") != NULL;
	}
	list = value_of(said, "\"result\"");
	if (!list || *list != '[')
		return -EPROTO;
	return *skip_blanks(list + 1) != ']';
}
