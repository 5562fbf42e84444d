/* SPDX-License-Identifier: MIT */
#include "sensors/share_text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/sensor_class.h"

/* No reading is from longer ago, nor takes longer. */
#define TIME_MAX_NS (INT64_MAX / 4)
#define UPDATE_MAX  (UINT64_C(86400) * 1000000000)

static const char *const verbs[WTL_SHARE_VERBS] = {
	[WTL_SHARE_HELLO] = "hello", [WTL_SHARE_CATALOG] = "catalog", [WTL_SHARE_READ] = "read",
	[WTL_SHARE_LIVE] = "live",   [WTL_SHARE_PAST] = "past",
};

/* ---- Questions ---- */

static bool same(const char *word, const char *text, size_t len)
{
	return word && strlen(word) == len && memcmp(word, text, len) == 0;
}

int wtl_share_parse_question(const char *text, size_t len, struct wtl_share_question *ret_question)
{
	const char *space = memchr(text, ' ', len);
	size_t word = space ? (size_t)(space - text) : len;
	uint64_t number = 0;

	/* A number alone: none of the blanks that it may have elsewhere. */
	if (space &&
	    (space + 1 == text + len || space[1] < '0' || space[1] > '9' || text[len - 1] < '0' ||
	     text[len - 1] > '9' || wtl_num_u64(space + 1, len - word - 1, &number) < 0))
		return -EINVAL;
	for (int i = 0; i < WTL_SHARE_VERBS; i++) {
		if (strlen(verbs[i]) != word || memcmp(verbs[i], text, word) != 0)
			continue;
		if (!space != (i == WTL_SHARE_READ))
			return -EINVAL;
		*ret_question = (struct wtl_share_question){(enum wtl_share_verb)i, number};
		return 0;
	}
	return -EINVAL;
}

void wtl_share_print_question(char text[WTL_SHARE_QUESTION_MAX], enum wtl_share_verb verb,
			      uint64_t number)
{
	if (verb == WTL_SHARE_READ)
		snprintf(text, WTL_SHARE_QUESTION_MAX, "%s", verbs[verb]);
	else
		snprintf(text, WTL_SHARE_QUESTION_MAX, "%s %" PRIu64, verbs[verb], number);
}

/* ---- The question for a limit ---- */

#define LIMIT	    "limit "
#define GPU_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:.,-"

bool wtl_share_asks_limit(const char *text, size_t len)
{
	return len >= strlen(LIMIT) && memcmp(text, LIMIT, strlen(LIMIT)) == 0;
}

static int take_power(struct wtl_share_limit *limit, const char *value, size_t len)
{
	limit->has_power = true;
	limit->to_default = same("default", value, len);
	if (limit->to_default)
		return 0;
	return wtl_num_u64(value, len, &limit->power_uw) < 0 || limit->power_uw == 0 ? -EINVAL : 0;
}

static int take_persistence(struct wtl_share_limit *limit, const char *value, size_t len)
{
	limit->has_persistence = true;
	limit->persistence = same("on", value, len);
	return limit->persistence || same("off", value, len) ? 0 : -EINVAL;
}

static int take_gpus(struct wtl_share_limit *limit, const char *value, size_t len)
{
	if (len == 0 || len >= sizeof(limit->gpus))
		return -EINVAL;
	memcpy(limit->gpus, value, len);
	limit->gpus[len] = '\0';
	return strspn(limit->gpus, GPU_LETTERS) == len ? 0 : -EINVAL;
}

static int take_setting(struct wtl_share_limit *limit, const char *key, size_t key_len,
			const char *value, size_t len)
{
	if (same("power", key, key_len) && !limit->has_power)
		return take_power(limit, value, len);
	if (same("persistence", key, key_len) && !limit->has_persistence)
		return take_persistence(limit, value, len);
	if (same("gpus", key, key_len) && !limit->gpus[0])
		return take_gpus(limit, value, len);
	return -EINVAL;
}

/* Up to the next blank. */
static size_t word_length(const char *at, const char *end)
{
	const char *blank = memchr(at, ' ', (size_t)(end - at));

	return (size_t)((blank ? blank : end) - at);
}

int wtl_share_parse_limit(const char *text, size_t len, struct wtl_share_limit *ret_limit)
{
	struct wtl_share_limit limit = {.holds = false};
	const char *at = text + strlen(LIMIT), *end = text + len;
	size_t word;

	if (!wtl_share_asks_limit(text, len))
		return -EINVAL;
	word = word_length(at, end);
	limit.holds = same("hold", at, word);
	if (!limit.holds && !same("set", at, word))
		return -EINVAL;
	for (at += word; at < end;) {
		const char *key = at + 1, *value;
		size_t key_len = word_length(key, end), value_len;

		value = key + key_len + 1;
		if (value >= end)
			return -EINVAL;
		value_len = word_length(value, end);
		if (take_setting(&limit, key, key_len, value, value_len) < 0)
			return -EINVAL;
		at = value + value_len;
	}
	if (!limit.gpus[0] || (!limit.has_power && !limit.has_persistence))
		return -EINVAL;
	*ret_limit = limit;
	return 0;
}

void wtl_share_print_limit(struct wtl_buf *buf, const struct wtl_share_limit *limit)
{
	wtl_buf_printf(buf, LIMIT "%s", limit->holds ? "hold" : "set");
	if (limit->has_power && limit->to_default)
		wtl_buf_puts(buf, " power default");
	else if (limit->has_power)
		wtl_buf_printf(buf, " power %" PRIu64, limit->power_uw);
	if (limit->has_persistence)
		wtl_buf_printf(buf, " persistence %s", limit->persistence ? "on" : "off");
	wtl_buf_printf(buf, " gpus %s", limit->gpus);
}

/* ---- Fields: one table for both directions ---- */

enum field_type {
	TEXT,	/* an array of `most` bytes */
	NAME,	/* the same, of a domain: letters, digits, '-' */
	NUMBER, /* 64 bits, at most `most` */
	SMALL,	/* 32 bits */
	YES,	/* a bool */
	KIND,
	METHOD,
	QUANTITY,
	CLASS,
};

struct field {
	const char *key;
	enum field_type type;
	size_t offset;
	uint64_t most;
};

#define HELLO(member)	offsetof(struct wtl_share_hello, member)
#define CHANNEL(member) offsetof(struct wtl_share_channel, channel.member)

static const struct field hello_fields[] = {
	{"agent", NUMBER, HELLO(agent), UINT64_MAX},
	{"user", TEXT, HELLO(user), WTL_SHARE_USER_SIZE},
	{"totals", YES, HELLO(is_total), 0},
	{"interval", NUMBER, HELLO(interval_ns), UPDATE_MAX},
	{"now", NUMBER, HELLO(now_ns), TIME_MAX_NS},
	{"channels", NUMBER, HELLO(n_channels), WTL_SHARE_CHANNELS},
	{0},
};

static const struct field channel_fields[] = {
	{"domain", NAME, CHANNEL(domain), WTL_NAME_SIZE},
	{"inside", NAME, CHANNEL(inside), WTL_NAME_SIZE},
	{"source", TEXT, offsetof(struct wtl_share_channel, source), WTL_NAME_SIZE},
	{"device", TEXT, CHANNEL(device), sizeof(((struct wtl_channel *)NULL)->device)},
	{"serial", TEXT, CHANNEL(serial), sizeof(((struct wtl_channel *)NULL)->serial)},
	{"kind", KIND, CHANNEL(kind), 0},
	{"total", YES, CHANNEL(in_total), 0},
	{"quantity", QUANTITY, CHANNEL(quantity), 0},
	{"method", METHOD, CHANNEL(method), 0},
	{"unit", NUMBER, CHANNEL(unit.num), UINT64_C(1) << 62},
	{"per", NUMBER, CHANNEL(unit.den), UINT64_C(1) << 62},
	{"range", NUMBER, CHANNEL(range), UINT64_MAX},
	{"most", NUMBER, CHANNEL(max_uw), UINT64_MAX},
	{"update", NUMBER, CHANNEL(update_ns), UPDATE_MAX},
	{"gain", SMALL, CHANNEL(gain_ppm), UINT32_MAX},
	{"offset", SMALL, CHANNEL(offset_uw), UINT32_MAX},
	{"class", CLASS, CHANNEL(class), 0},
	{0},
};

static const char *quantity_name(enum wtl_quantity quantity)
{
	return quantity == WTL_QUANTITY_ENERGY ? "energy" : "power";
}

static void print_field(struct wtl_buf *buf, const struct field *field, const void *of)
{
	const char *at = (const char *)of + field->offset;
	const struct wtl_sensor_class *class = NULL;
	const char *word = at;

	switch (field->type) {
	case NUMBER:
		wtl_buf_printf(buf, "%s %" PRIu64 "\n", field->key, *(const uint64_t *)at);
		return;
	case SMALL:
		wtl_buf_printf(buf, "%s %" PRIu32 "\n", field->key, *(const uint32_t *)at);
		return;
	case YES:
		word = *(const bool *)at ? "yes" : "no";
		break;
	case KIND:
		word = wattle_kind_name(*(const enum wattle_kind *)at);
		break;
	case METHOD:
		word = wattle_method_name(*(const enum wattle_method *)at);
		break;
	case QUANTITY:
		word = quantity_name(*(const enum wtl_quantity *)at);
		break;
	case CLASS:
		memcpy(&class, at, sizeof(class));
		word = class ? class->name : "";
		break;
	case TEXT:
	case NAME:
		break;
	}
	if (word[0])
		wtl_buf_printf(buf, "%s %s\n", field->key, word);
}

static int parse_number(const char *text, size_t len, const struct field *field, void *at)
{
	uint64_t number;

	if (wtl_num_u64(text, len, &number) < 0 || number > field->most)
		return -EPROTO;
	if (field->type == SMALL)
		*(uint32_t *)at = (uint32_t)number;
	else
		*(uint64_t *)at = number;
	return 0;
}

static int parse_word(const char *text, size_t len, const struct field *field, void *at)
{
	int n = field->type == KIND ? WATTLE_KINDS : WATTLE_METHOD_MIXED;

	for (int i = 0; i < n; i++) {
		if (field->type == KIND && same(wattle_kind_name((enum wattle_kind)i), text, len)) {
			*(enum wattle_kind *)at = (enum wattle_kind)i;
			return 0;
		}
		if (field->type == METHOD &&
		    same(wattle_method_name((enum wattle_method)i), text, len)) {
			*(enum wattle_method *)at = (enum wattle_method)i;
			return 0;
		}
	}
	return -EPROTO;
}

/* A class that this program's table lacks counts as not known, as for a sensor of this machine. */
static void parse_class(const char *text, size_t len, void *at)
{
	const struct wtl_sensor_class *row;

	for (unsigned i = 0; (row = wtl_sensor_class_row(i)); i++)
		if (same(row->name, text, len)) {
			memcpy(at, &row, sizeof(row));
			return;
		}
}

static int parse_text(const char *text, size_t len, const struct field *field, char *at)
{
	if (field->type == NAME &&
	    (len >= field->most || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") < len))
		return -EPROTO;
	wtl_text_clean(at, field->most, text, len);
	return 0;
}

static int parse_value(const char *text, size_t len, const struct field *field, void *of)
{
	void *at = (char *)of + field->offset;

	switch (field->type) {
	case NUMBER:
	case SMALL:
		return parse_number(text, len, field, at);
	case YES:
		if (!same("yes", text, len) && !same("no", text, len))
			return -EPROTO;
		*(bool *)at = len == strlen("yes");
		return 0;
	case KIND:
	case METHOD:
		return parse_word(text, len, field, at);
	case QUANTITY:
		if (!same("energy", text, len) && !same("power", text, len))
			return -EPROTO;
		*(enum wtl_quantity *)at =
			text[0] == 'e' ? WTL_QUANTITY_ENERGY : WTL_QUANTITY_POWER;
		return 0;
	case CLASS:
		parse_class(text, len, at);
		return 0;
	case TEXT:
	case NAME:
		return parse_text(text, len, field, at);
	}
	return -EPROTO;
}

/* "KEY VALUE" without the line's end. A key that is not known is a later version's. */
static int parse_line(const char *line, size_t len, const struct field fields[], void *of)
{
	const char *space = memchr(line, ' ', len);
	size_t word = space ? (size_t)(space - line) : len;

	if (!space)
		return -EPROTO;
	for (; fields->key; fields++)
		if (same(fields->key, line, word))
			return parse_value(space + 1, len - word - 1, fields, of);
	return 0;
}

/* The next line; false at the end. */
static bool next_line(const char **text, const char **ret_line, size_t *ret_len)
{
	size_t len = strcspn(*text, "\n");

	if (!**text)
		return false;
	*ret_line = *text;
	*ret_len = len;
	*text += len + ((*text)[len] == '\n');
	return true;
}

/* ---- Answers ---- */

void wtl_share_print_error(struct wtl_buf *buf, int code, const char *text)
{
	wtl_buf_clear(buf);
	wtl_buf_printf(buf, "error %d: %s\n", code, text);
}

int wtl_share_parse_error(const char *text, char said[160])
{
	const char *colon = strchr(text, ':');
	uint64_t code;

	if (strncmp(text, "ok\n", 3) == 0)
		return 0;
	if (!wtl_text_starts(text, "error ") || !colon ||
	    wtl_num_u64(text + 6, (size_t)(colon - text) - 6, &code) < 0 || code == 0 ||
	    code > 4095)
		return -EPROTO;
	wtl_text_clean(said, 160, colon + 1, strcspn(colon + 1, "\n"));
	return -(int)code;
}

void wtl_share_print_hello(struct wtl_buf *buf, const struct wtl_share_hello *hello)
{
	wtl_buf_puts(buf, "ok\n");
	for (const struct field *field = hello_fields; field->key; field++)
		print_field(buf, field, hello);
}

int wtl_share_parse_hello(const char *text, struct wtl_share_hello *ret_hello, char said[160])
{
	struct wtl_share_hello hello = {.agent = 0};
	int rc = wtl_share_parse_error(text, said);
	const char *line;
	size_t len;

	if (rc < 0)
		return rc;
	for (text += 3; rc == 0 && next_line(&text, &line, &len);)
		rc = parse_line(line, len, hello_fields, &hello);
	if (rc == 0 && hello.now_ns == 0)
		rc = -EPROTO;
	if (rc == 0)
		*ret_hello = hello;
	return rc;
}

void wtl_share_print_channel(struct wtl_buf *buf, size_t i, const struct wtl_share_channel *channel)
{
	wtl_buf_printf(buf, "channel %zu\n", i);
	for (const struct field *field = channel_fields; field->key; field++)
		print_field(buf, field, channel);
}

/* false: no meter would take such a channel, or it has no name. */
static bool is_sound(const struct wtl_share_channel *told)
{
	const struct wtl_channel *channel = &told->channel;

	return channel->domain[0] && channel->unit.num > 0 && channel->unit.den > 0 &&
	       (channel->method == WATTLE_METHOD_COUNTER ||
		channel->method == WATTLE_METHOD_INTEGRATED) &&
	       (channel->method == WATTLE_METHOD_INTEGRATED ||
		channel->quantity == WTL_QUANTITY_ENERGY);
}

int wtl_share_parse_catalog(const char *text, size_t first, struct wtl_share_channel channels[],
			    size_t n)
{
	char said[160];
	size_t done = 0, len;
	const char *line;
	int rc = wtl_share_parse_error(text, said);

	if (rc < 0)
		return rc;
	for (text += 3; rc == 0 && next_line(&text, &line, &len);) {
		uint64_t number;

		if (!wtl_text_starts(line, "channel ")) {
			rc = done == 0 ? -EPROTO
				       : parse_line(line, len, channel_fields, &channels[done - 1]);
			continue;
		}
		if (done == n || wtl_num_u64(line + 8, len - 8, &number) < 0 ||
		    number != first + done)
			return -EPROTO;
		memset(&channels[done++], 0, sizeof(channels[0]));
	}
	for (size_t i = 0; rc == 0 && i < done; i++)
		rc = is_sound(&channels[i]) ? 0 : -EPROTO;
	return rc < 0 ? rc : (int)done;
}

void wtl_share_print_reading(struct wtl_buf *buf, size_t i, const struct wtl_share_reading *told)
{
	const struct wtl_reading *reading = &told->reading;

	wtl_buf_printf(buf, "%zu %s %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 "\n", i,
		       wattle_status_name(reading->status), reading->t_mono_ns, reading->half_ns,
		       reading->value, told->epoch);
}

static bool take_status(const char *text, size_t len, enum wattle_status *ret_status)
{
	for (int i = 0; i <= WATTLE_STATUS_ABSENT; i++)
		if (same(wattle_status_name((enum wattle_status)i), text, len)) {
			*ret_status = (enum wattle_status)i;
			return true;
		}
	return false;
}

/* "NUMBER STATUS TIME HALF VALUE EPOCH"; more words are a later version's. */
static int parse_reading(const char *line, size_t len, struct wtl_share_reading readings[],
			 size_t n)
{
	enum { STATUS = 1, WORDS = 6 };
	struct wtl_share_reading told = {.epoch = 0};
	uint64_t numbers[WORDS] = {0};
	const char *at = line, *end = line + len;

	for (size_t i = 0; i < WORDS; i++) {
		const char *space = at < end ? memchr(at, ' ', (size_t)(end - at)) : NULL;
		size_t word = (size_t)((space ? space : end) - at);
		bool is_good = i == STATUS ? take_status(at, word, &told.reading.status)
					   : wtl_num_u64(at, word, &numbers[i]) == 0;

		if (!is_good || (!space && i + 1 < WORDS))
			return -EPROTO;
		at = space ? space + 1 : end;
	}
	if (numbers[0] >= n || numbers[2] > TIME_MAX_NS || numbers[3] > UPDATE_MAX)
		return -EPROTO;
	told.reading.t_mono_ns = (int64_t)numbers[2];
	told.reading.half_ns = (int64_t)numbers[3];
	told.reading.value = numbers[4];
	told.epoch = numbers[5];
	if (told.reading.status != WATTLE_STATUS_OK)
		told.reading.error = -EIO;
	readings[numbers[0]] = told;
	return 0;
}

int wtl_share_parse_readings(const char *text, struct wtl_share_reading readings[], size_t n)
{
	char said[160];
	const char *line;
	size_t len;
	int rc = wtl_share_parse_error(text, said);

	if (rc < 0)
		return rc;
	for (text += 3; rc == 0 && next_line(&text, &line, &len);)
		rc = parse_reading(line, len, readings, n);
	return rc;
}

bool wtl_share_is_told(const struct wtl_channel *channel)
{
	return channel->source && strcmp(channel->source, WTL_SHARE_SOURCE) == 0;
}
