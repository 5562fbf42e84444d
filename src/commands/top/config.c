/* SPDX-License-Identifier: MIT */
#include "commands/top/config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "base/text.h"
#include "energy/units.h"

enum {
	UNKNOWN_MAX = 64 * 1024,
	REDRAW_DEFAULT_MS = 200,
	REDRAW_MIN_MS = 50,
	REDRAW_MAX_MS = 10000
};

static const char *const no_yes[] = {"no", "yes"};
static const char *const graphs[] = {"off", "total", "each"};
static const char *const windows[WTL_TOP_WINDOWS] = {"20s", "1min", "5min", "15min", "30min", "1h"};

/* The fields' names. */
static const char *const groupings[WTL_GROUPINGS] = {
	[WTL_GROUP_NONE] = "none",	     [WTL_GROUP_USER] = "user",
	[WTL_GROUP_CONTAINER] = "container", [WTL_GROUP_POD] = "pod",
	[WTL_GROUP_UNIT] = "unit",	     [WTL_GROUP_JOB] = "job",
	[WTL_GROUP_CGROUP] = "cgroup",	     [WTL_GROUP_NAME] = "name",
};

static const struct wtl_setting_info settings[WTL_SETTINGS] = {
	[WTL_SET_TREE] = {"tree", "Processes as a tree", no_yes, 2, 0},
	[WTL_SET_FULL] = {"full", "Full shares: with a part of the idle energy", no_yes, 2, 0},
	[WTL_SET_PARTS] = {"parts", "Domains that lie inside others", no_yes, 2, 1},
	[WTL_SET_EXITED] = {"exited", "Processes that ended", no_yes, 2, 0},
	[WTL_SET_KERNEL] = {"kernel", "Kernel threads", no_yes, 2, 0},
	[WTL_SET_IDLE] = {"idle", "Processes that use nothing now", no_yes, 2, 1},
	[WTL_SET_PATHS] = {"paths", "Programs with their path", no_yes, 2, 0},
	[WTL_SET_COLOR] = {"color", "Colours", no_yes, 2, 1},
	[WTL_SET_ASCII] = {"ascii", "Nothing beyond ASCII", no_yes, 2, 0},
	[WTL_SET_MOUSE] = {"mouse", "Mouse", no_yes, 2, 1},
	[WTL_SET_GRAPH] = {"graph", "Curves", graphs, 3, WTL_GRAPH_EACH},
	[WTL_SET_WINDOW] = {"window", "Their window", windows, WTL_TOP_WINDOWS, 0},
	[WTL_SET_GROUP] = {"group", "Groups", groupings, WTL_GROUPINGS, WTL_GROUP_NONE},
	[WTL_SET_ASCENDING] = {"ascending", "The other way round", no_yes, 2, 0},
};

const struct wtl_setting_info *wtl_setting_info(enum wtl_setting which)
{
	return &settings[which];
}

const char *wtl_setting_word(const struct wtl_top_config *config, enum wtl_setting which)
{
	return settings[which].words[config->set[which]];
}

void wtl_setting_next(struct wtl_top_config *config, enum wtl_setting which)
{
	config->set[which] = (config->set[which] + 1) % settings[which].n;
}

int64_t wtl_top_window_ns(unsigned window)
{
	static const int seconds[WTL_TOP_WINDOWS] = {20, 60, 300, 900, 1800, 3600};

	return seconds[window] * WTL_NS_PER_S;
}

void wtl_top_config_init(struct wtl_top_config *config)
{
	memset(config, 0, sizeof(*config));
	config->sort = WTL_FIELD_POWER;
	config->redraw_ms = REDRAW_DEFAULT_MS;
	for (unsigned i = 0; i < WTL_FIELDS; i++)
		config->columns[i] = wtl_field_info((enum wtl_field)i)->is_default;
	for (unsigned i = 0; i < WTL_SETTINGS; i++)
		config->set[i] = settings[i].fallback;
	wtl_buf_init(&config->unknown, UNKNOWN_MAX);
}

void wtl_top_config_done(struct wtl_top_config *config)
{
	wtl_buf_done(&config->unknown);
}

static bool is_word(const char *text, size_t len, const char *word)
{
	return strlen(word) == len && strncasecmp(text, word, len) == 0;
}

/* Finds the value of a word; no and yes have further words. */
static bool parse_word(const struct wtl_setting_info *info, const char *text, size_t len,
		       unsigned *ret)
{
	static const char *const switched[] = {"off", "on", "false", "true", "0", "1"};

	for (unsigned i = 0; i < info->n; i++)
		if (is_word(text, len, info->words[i])) {
			*ret = i;
			return true;
		}
	for (unsigned i = 0; info->words == no_yes && i < 6; i++)
		if (is_word(text, len, switched[i])) {
			*ret = i % 2;
			return true;
		}
	return false;
}

static bool parse_sort(const char *text, size_t len, unsigned *ret)
{
	enum wtl_field field = wtl_field_find(text, len);

	if (field != WTL_FIELDS)
		*ret = field;
	return field != WTL_FIELDS;
}

/* Names separated by blanks or commas. All must be known; the command is always shown. */
static bool parse_columns(const char *text, size_t len, bool columns[WTL_FIELDS])
{
	bool wanted[WTL_FIELDS] = {false};

	for (size_t at = 0; at < len;) {
		size_t end = at;
		enum wtl_field field;

		while (end < len && !strchr(" \t,", text[end]))
			end++;
		if (end > at) {
			field = wtl_field_find(text + at, end - at);
			if (field == WTL_FIELDS)
				return false;
			wanted[field] = true;
		}
		at = end + 1;
	}
	wanted[WTL_FIELD_COMMAND] = true;
	memcpy(columns, wanted, sizeof(wanted));
	return true;
}

static bool parse_filter(struct wtl_top_config *config, const char *text, size_t len)
{
	char copy[WTL_FILTER_MAX + 1];
	struct wtl_filter_error error;
	struct wtl_filter filter;

	if (len > WTL_FILTER_MAX)
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (wtl_filter_parse(&filter, copy, &error) < 0)
		return false;
	memcpy(config->filter, copy, len + 1);
	return true;
}

static bool parse_redraw(const char *text, size_t len, unsigned *ret)
{
	uint64_t value;

	if (wtl_num_u64(text, len, &value) < 0 || value < REDRAW_MIN_MS || value > REDRAW_MAX_MS)
		return false;
	*ret = (unsigned)value;
	return true;
}

enum verdict { TAKEN, WRONG, UNKNOWN };

static enum verdict taken(bool good)
{
	return good ? TAKEN : WRONG;
}

static enum verdict parse_setting(struct wtl_top_config *config, const char *key, size_t key_len,
				  const char *value, size_t len)
{
	for (unsigned i = 0; i < WTL_SETTINGS; i++)
		if (is_word(key, key_len, settings[i].name))
			return taken(parse_word(&settings[i], value, len, &config->set[i]));
	if (is_word(key, key_len, "sort"))
		return taken(parse_sort(value, len, &config->sort));
	if (is_word(key, key_len, "redraw_ms"))
		return taken(parse_redraw(value, len, &config->redraw_ms));
	if (is_word(key, key_len, "columns"))
		return taken(parse_columns(value, len, config->columns));
	if (is_word(key, key_len, "filter"))
		return taken(parse_filter(config, value, len));
	return UNKNOWN;
}

static void trim(const char **text, size_t *len)
{
	while (*len > 0 && strchr(" \t\r", **text)) {
		(*text)++;
		(*len)--;
	}
	*len = wtl_text_trimmed(*text, *len);
}

static void remark(char ret_remark[160], unsigned number, enum verdict verdict, const char *line,
		   size_t len)
{
	char shown[64];

	if (ret_remark[0])
		return;
	snprintf(ret_remark, 160, "line %u is %s: %s", number,
		 verdict == UNKNOWN ? "kept, but not known here" : "no good, and left out",
		 wtl_text_clean(shown, sizeof(shown), line, len));
}

static void parse_line(struct wtl_top_config *config, const char *line, size_t len, unsigned number,
		       char ret_remark[160])
{
	const char *key = line, *equals = memchr(line, '=', len), *value;
	size_t key_len, value_len;
	enum verdict verdict = UNKNOWN;

	trim(&key, &len);
	if (len == 0 || key[0] == '#')
		return;
	if (equals) {
		key_len = (size_t)(equals - key);
		value = equals + 1;
		value_len = (size_t)(key + len > value ? key + len - value : 0);
		trim(&value, &value_len);
		verdict = memchr(value, '\0', value_len)
				  ? WRONG
				  : parse_setting(config, key, wtl_text_trimmed(key, key_len),
						  value, value_len);
	}
	if (verdict == TAKEN)
		return;
	remark(ret_remark, number, verdict, key, len);
	if (verdict == UNKNOWN) {
		wtl_buf_add(&config->unknown, key, len);
		wtl_buf_putc(&config->unknown, '\n');
	}
}

int wtl_top_config_parse(struct wtl_top_config *config, const char *text, size_t len,
			 char ret_remark[160])
{
	unsigned number = 0;

	ret_remark[0] = '\0';
	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t line_len = end ? (size_t)(end - text) - at : len - at;

		parse_line(config, text + at, line_len, ++number, ret_remark);
		at += line_len + 1;
	}
	return config->unknown.error;
}

int wtl_top_config_print(const struct wtl_top_config *config, struct wtl_buf *buf)
{
	wtl_buf_puts(buf, "# wattle top; written by its set-up window\n");
	wtl_buf_printf(buf, "sort = %s\n", wtl_field_info(config->sort)->name);
	wtl_buf_printf(buf, "redraw_ms = %u\n", config->redraw_ms);
	for (unsigned i = 0; i < WTL_SETTINGS; i++)
		wtl_buf_printf(buf, "%s = %s\n", settings[i].name, wtl_setting_word(config, i));
	wtl_buf_puts(buf, "columns =");
	for (unsigned i = 0; i < WTL_FIELDS; i++)
		if (config->columns[i])
			wtl_buf_printf(buf, " %s", wtl_field_info((enum wtl_field)i)->name);
	wtl_buf_printf(buf, "\nfilter = %s\n", config->filter);
	return wtl_buf_add(buf, wtl_buf_str(&config->unknown), config->unknown.len);
}
