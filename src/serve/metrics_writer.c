/* SPDX-License-Identifier: MIT */
#include "serve/metrics_writer.h"

#include <stdarg.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "serve/live.h"

enum { LABEL_MAX = 256 };

/* As wtl_buf_add(), without a call where there is room: a scrape has a hundred thousand such pieces. */
static inline void add(struct wtl_buf *buf, const char *bytes, size_t len)
{
	if (buf->error || buf->size - buf->len <= len) {
		wtl_buf_add(buf, bytes, len);
		return;
	}
	memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

static inline void put_char(struct wtl_buf *buf, char c)
{
	add(buf, &c, 1);
}

static inline void put_text(struct wtl_buf *buf, const char *text)
{
	add(buf, text, strlen(text));
}

/* ---- Labels ---- */

void wtl_metrics_begin(struct wtl_metrics_writer *writer)
{
	writer->at = writer->buf->len;
	writer->has_labels = false;
	put_text(writer->buf, writer->family->name);
}

static void begin_label(struct wtl_metrics_writer *writer, const char *name)
{
	put_char(writer->buf, writer->has_labels ? ',' : '{');
	writer->has_labels = true;
	put_text(writer->buf, name);
	add(writer->buf, "=\"", 2);
}

static void put_escaped(struct wtl_buf *buf, const char *text, size_t len)
{
	while (len > 0) {
		size_t plain = 0;

		while (plain < len && text[plain] != '"' && text[plain] != '\\')
			plain++;
		add(buf, text, plain);
		if (plain == len)
			return;
		put_char(buf, '\\');
		put_char(buf, text[plain]);
		text += plain + 1;
		len -= plain + 1;
	}
}

/* Is it printable ASCII that needs no escape, as most names are? */
static bool is_plain(const char *text, size_t len)
{
	unsigned others = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		others |= (unsigned)(c < 0x20) | (unsigned)(c > 0x7e) | (unsigned)(c == '"') |
			  (unsigned)(c == '\\');
	}
	return others == 0;
}

void wtl_metrics_label(struct wtl_metrics_writer *writer, const char *name, const char *value)
{
	size_t len = strlen(value);
	char clean[LABEL_MAX];

	begin_label(writer, name);
	if (is_plain(value, len)) {
		add(writer->buf, value, len);
		put_char(writer->buf, '"');
		return;
	}
	if (!wtl_text_is_clean(value, len)) {
		value = wtl_text_clean(clean, sizeof(clean), value, len);
		len = strlen(value);
	}
	put_escaped(writer->buf, value, len);
	put_char(writer->buf, '"');
}

void wtl_metrics_sample(struct wtl_metrics_writer *writer, ...)
{
	const char *name;
	va_list labels;

	wtl_metrics_begin(writer);
	va_start(labels, writer);
	while ((name = va_arg(labels, const char *)))
		wtl_metrics_label(writer, name, va_arg(labels, const char *));
	va_end(labels);
}

const char *wtl_metrics_split(const char *name, char *before, size_t size)
{
	const char *slash = strchr(name, '/');
	size_t len = slash ? (size_t)(slash - name) : 0;

	wtl_text_copy(before, len + 1 < size ? len + 1 : size, name);
	return slash ? slash + 1 : name;
}

struct wtl_metrics_mark wtl_metrics_mark(const struct wtl_metrics_writer *writer)
{
	return (struct wtl_metrics_mark){.at = writer->at,
					 .len = writer->buf->len - writer->at,
					 .has_labels = writer->has_labels};
}

void wtl_metrics_repeat(struct wtl_metrics_writer *writer, const struct wtl_metrics_mark *mark)
{
	struct wtl_buf *buf = writer->buf;

	writer->has_labels = mark->has_labels;
	if (buf->len == mark->at + mark->len)
		return; /* it is the sample that was marked */
	writer->at = buf->len;
	if (wtl_buf_reserve(buf, mark->len) == 0)
		add(buf, buf->data + mark->at, mark->len);
}

static void cut(struct wtl_buf *buf, size_t len)
{
	if (buf->error || buf->len <= len)
		return;
	buf->len = len;
	buf->data[len] = '\0';
}

void wtl_metrics_drop(struct wtl_metrics_writer *writer, const struct wtl_metrics_mark *mark)
{
	if (writer->buf->len == mark->at + mark->len)
		cut(writer->buf, mark->at);
}

/* ---- Values ---- */

static void put_digits(struct wtl_buf *buf, uint64_t value)
{
	char room[WTL_NUM_DIGITS], *at = wtl_num_digits(value, 0, room);

	add(buf, at, (size_t)(room + WTL_NUM_DIGITS - at));
}

static void begin_value(struct wtl_metrics_writer *writer)
{
	if (writer->has_labels)
		add(writer->buf, "} ", 2);
	else
		put_char(writer->buf, ' ');
}

void wtl_metrics_label_number(struct wtl_metrics_writer *writer, const char *name, uint64_t value)
{
	begin_label(writer, name);
	put_digits(writer->buf, value);
	put_char(writer->buf, '"');
}

void wtl_metrics_number(struct wtl_metrics_writer *writer, uint64_t value)
{
	begin_value(writer);
	put_digits(writer->buf, value);
	put_char(writer->buf, '\n');
}

void wtl_metrics_signed(struct wtl_metrics_writer *writer, int64_t value)
{
	begin_value(writer);
	if (value < 0)
		put_char(writer->buf, '-');
	put_digits(writer->buf, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
	put_char(writer->buf, '\n');
}

void wtl_metrics_eighths(struct wtl_metrics_writer *writer, uint64_t millionths,
			 enum wtl_metrics_form round)
{
	static const char fractions[8][6] = {"\n",   ".125\n", ".25\n", ".375\n",
					     ".5\n", ".625\n", ".75\n", ".875\n"};
	static const uint64_t more[] = {
		[WTL_METRICS_DOWN] = 0, [WTL_METRICS_NEAR] = 62500, [WTL_METRICS_UP] = 124999};
	uint64_t eighths = millionths / 125000 + (millionths % 125000 + more[round]) / 125000;
	const char *fraction = fractions[eighths % 8];

	begin_value(writer);
	put_digits(writer->buf, eighths / 8);
	add(writer->buf, fraction, strlen(fraction));
}

void wtl_metrics_decimal(struct wtl_metrics_writer *writer, uint64_t value, unsigned decimals)
{
	uint64_t one = 1;
	char room[WTL_NUM_DIGITS], *at;
	size_t len;

	for (unsigned i = 0; i < decimals; i++)
		one *= 10;
	begin_value(writer);
	put_digits(writer->buf, value / one);
	/* A leading 1 keeps the zeros: one more digit than decimals. */
	at = wtl_num_digits(value % one + one, 0, room);
	len = decimals;
	while (len > 0 && at[len] == '0')
		len--;
	if (len > 0) {
		at[0] = '.';
		add(writer->buf, at, len + 1);
	}
	put_char(writer->buf, '\n');
}

void wtl_metrics_put_number(struct wtl_metrics_writer *writer, const void *of)
{
	static const struct {
		int64_t divisor;
		unsigned decimals;
	} forms[] = {[WTL_METRICS_FLAG] = {1, 0},
		     [WTL_METRICS_COUNT] = {1, 0},
		     [WTL_METRICS_MILLIONTHS] = {1, 6},
		     [WTL_METRICS_NS_MS] = {1000000, 3},
		     [WTL_METRICS_NS_US] = {1000, 6}};
	enum wtl_metrics_form form = writer->family->form;
	const char *at = (const char *)of + writer->family->what;
	int64_t value;

	if (form == WTL_METRICS_FLAG)
		value = *(const bool *)at;
	else
		memcpy(&value, at, sizeof(value));
	value = value > 0 ? value : 0;
	if (form <= WTL_METRICS_UP)
		wtl_metrics_eighths(writer, (uint64_t)value, form);
	else
		wtl_metrics_decimal(writer, (uint64_t)(value / forms[form].divisor),
				    forms[form].decimals);
}

/* ---- Of a snapshot ---- */

static bool has_host_energy(const struct wtl_live *live)
{
	for (size_t i = 0; i < live->n_domains; i++)
		if (live->domains[i].in_total && wtl_live_has_counter(&live->domains[i]))
			return true;
	return false;
}

static bool knows_host(const struct wtl_live *live, enum wtl_metrics_known what)
{
	if (what == WTL_METRICS_HAS_COUNTER)
		return has_host_energy(live);
	if (what == WTL_METRICS_HAS_POWER)
		return live->has_power;
	if (what == WTL_METRICS_HAS_SELF_ENERGY)
		return live->has_self_energy;
	if (what == WTL_METRICS_HAS_MEMORY)
		return live->rss_bytes > 0;
	return what != WTL_METRICS_HAS_STORE || live->recording[0];
}

void wtl_metrics_put_host(struct wtl_metrics_writer *writer, const struct wtl_live *live)
{
	if (!knows_host(live, writer->family->known))
		return;
	wtl_metrics_begin(writer);
	wtl_metrics_put_number(writer, live);
}

bool wtl_metrics_begin_process(struct wtl_metrics_writer *writer,
			       const struct wtl_live_process *process, const char *label)
{
	if (!process->is_running || !wtl_metrics_has_room(writer))
		return false;
	wtl_metrics_begin(writer);
	wtl_metrics_label_number(writer, "pid", (uint64_t)process->pid);
	wtl_metrics_label(writer, label, process->name);
	return true;
}

/* ---- Families ---- */

/* Five of these, plus all other families, are less than WTL_REPLY_MAX. */
enum { FAMILY_BYTES = 5 << 18 };

bool wtl_metrics_has_room(const struct wtl_metrics_writer *writer)
{
	return writer->buf->len - writer->family_at < FAMILY_BYTES;
}

static const char *type_name(const struct wtl_metrics_family *family, bool is_open)
{
	switch (family->type) {
	case WTL_METRICS_COUNTER:
		/* OpenMetrics has no counter without "_total". */
		return !is_open || strstr(family->name, "_total") ? "counter" : "unknown";
	case WTL_METRICS_INFO:
		return is_open ? "info" : "gauge";
	case WTL_METRICS_GAUGE:
		break;
	}
	return "gauge";
}

static bool ends_with(const char *name, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len > n && name[len - n - 1] == '_' && memcmp(name + len - n, end, n) == 0;
}

const char *wtl_metrics_unit(const struct wtl_metrics_family *family)
{
	static const char *const units[] = {"joules", "watts", "microjoules", "microwatts",
					    "grams",  "bytes", "seconds",     "grams_per_joule",
					    "hertz",  "ratio", "celsius"};
	size_t len = strlen(family->name);

	len -= ends_with(family->name, len, "total") ? strlen("_total") : 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (ends_with(family->name, len, units[i]))
			return units[i];
	return "";
}

/* OpenMetrics names a family without the suffix of its samples. */
static size_t name_length(const struct wtl_metrics_family *family, bool is_open)
{
	const char *suffix = family->type == WTL_METRICS_COUNTER ? "_total"
			     : family->type == WTL_METRICS_INFO	 ? "_info"
								 : "";
	size_t len = strlen(family->name), more = strlen(suffix);

	if (is_open && len > more && strcmp(family->name + len - more, suffix) == 0)
		return len - more;
	return len;
}

static void put_about(struct wtl_metrics_writer *writer, const char *what, const char *text)
{
	const struct wtl_metrics_family *family = writer->family;

	put_text(writer->buf, what);
	add(writer->buf, family->name, name_length(family, writer->is_open));
	put_char(writer->buf, ' ');
	put_text(writer->buf, text);
	put_char(writer->buf, '\n');
}

void wtl_metrics_put_family(struct wtl_metrics_writer *writer, const struct wtl_live *live,
			    const struct wtl_metrics_family *family)
{
	size_t before = writer->buf->len;

	writer->family = family;
	put_about(writer, "# HELP ", family->help);
	put_about(writer, "# TYPE ", type_name(family, writer->is_open));
	if (writer->is_open && wtl_metrics_unit(family)[0])
		put_about(writer, "# UNIT ", wtl_metrics_unit(family));
	writer->family_at = writer->buf->len;
	family->write(writer, live);
	if (writer->buf->len == writer->family_at)
		cut(writer->buf, before);
}
