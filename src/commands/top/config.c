/* SPDX-License-Identifier: MIT */
#include "commands/top/config.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "base/text.h"

enum {
	UNKNOWN_MAX = 64 * 1024,
	REDRAW_DEFAULT_MS = 200,
	REDRAW_MIN_MS = 50,
	REDRAW_MAX_MS = 10000
};

static const struct wtl_switch_info switches[WTL_SWITCHES] = {
	[WTL_SWITCH_TREE] = {"tree", "Processes as a tree", false},
	[WTL_SWITCH_FULL] = {"full", "Full shares: with a part of the idle energy", false},
	[WTL_SWITCH_PARTS] = {"parts", "Domains that lie inside others", true},
	[WTL_SWITCH_EXITED] = {"exited", "Processes that ended", false},
	[WTL_SWITCH_KERNEL] = {"kernel", "Kernel threads", false},
	[WTL_SWITCH_IDLE] = {"idle", "Processes that use nothing now", true},
	[WTL_SWITCH_COLOR] = {"color", "Colours", true},
	[WTL_SWITCH_ASCII] = {"ascii", "Nothing beyond ASCII", false},
	[WTL_SWITCH_MOUSE] = {"mouse", "Mouse", true},
};

static const char *const groupings[WTL_GROUPINGS] = {
	[WTL_GROUP_NONE] = "none",	     [WTL_GROUP_USER] = "user",
	[WTL_GROUP_CONTAINER] = "container", [WTL_GROUP_POD] = "pod",
	[WTL_GROUP_UNIT] = "unit",	     [WTL_GROUP_JOB] = "job",
	[WTL_GROUP_CGROUP] = "cgroup",	     [WTL_GROUP_NAME] = "name",
};

static const char *const graphs[WTL_GRAPHS] = {
	[WTL_GRAPH_OFF] = "off", [WTL_GRAPH_TOTAL] = "total", [WTL_GRAPH_EACH] = "each"};

static const char *const windows[WTL_TOP_WINDOWS] = {"20s", "1min", "5min", "15min", "30min", "1h"};

const struct wtl_switch_info *wtl_switch_info(enum wtl_switch which)
{
	return &switches[which];
}

const char *wtl_grouping_name(enum wtl_grouping grouping)
{
	return groupings[grouping];
}

const char *wtl_graph_name(enum wtl_graph graph)
{
	return graphs[graph];
}

long long wtl_top_window_ns(unsigned window)
{
	static const int seconds[WTL_TOP_WINDOWS] = {20, 60, 300, 900, 1800, 3600};

	return seconds[window < WTL_TOP_WINDOWS ? window : 0] * 1000000000LL;
}

const char *wtl_top_window_name(unsigned window)
{
	return windows[window < WTL_TOP_WINDOWS ? window : 0];
}

void wtl_top_config_init(struct wtl_top_config *config)
{
	memset(config, 0, sizeof(*config));
	config->sort = WTL_FIELD_POWER;
	config->graph = WTL_GRAPH_EACH;
	config->redraw_ms = REDRAW_DEFAULT_MS;
	for (unsigned i = 0; i < WTL_FIELDS; i++)
		config->columns[i] = wtl_field_info((enum wtl_field)i)->is_default;
	for (unsigned i = 0; i < WTL_SWITCHES; i++)
		config->switches[i] = switches[i].is_default;
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

/* The index of a word in a list of n, or n. */
static unsigned find_word(const char *text, size_t len, const char *const words[], unsigned n)
{
	unsigned i = 0;

	while (i < n && !is_word(text, len, words[i]))
		i++;
	return i;
}

static bool parse_yes_no(const char *text, size_t len, bool *ret)
{
	static const char *const words[] = {"yes", "no", "on", "off", "true", "false", "1", "0"};
	unsigned i = find_word(text, len, words, 8);

	if (i < 8)
		*ret = i % 2 == 0;
	return i < 8;
}

/* Names with blanks or commas between them. All must be known; the command is always shown. */
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
	const struct {
		const char *key;
		unsigned found, n;
		unsigned *value;
	} choices[] = {
		{"sort", wtl_field_find(value, len), WTL_FIELDS, &config->sort},
		{"group", find_word(value, len, groupings, WTL_GROUPINGS), WTL_GROUPINGS,
		 &config->grouping},
		{"graph", find_word(value, len, graphs, WTL_GRAPHS), WTL_GRAPHS, &config->graph},
		{"window", find_word(value, len, windows, WTL_TOP_WINDOWS), WTL_TOP_WINDOWS,
		 &config->window},
	};

	for (unsigned i = 0; i < WTL_SWITCHES; i++)
		if (is_word(key, key_len, switches[i].name))
			return taken(parse_yes_no(value, len, &config->switches[i]));
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		if (!is_word(key, key_len, choices[i].key))
			continue;
		if (choices[i].found < choices[i].n)
			*choices[i].value = choices[i].found;
		return taken(choices[i].found < choices[i].n);
	}
	if (is_word(key, key_len, "ascending"))
		return taken(parse_yes_no(value, len, &config->ascending));
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
	wtl_buf_printf(buf, "ascending = %s\n", config->ascending ? "yes" : "no");
	wtl_buf_printf(buf, "group = %s\n", groupings[config->grouping]);
	wtl_buf_printf(buf, "graph = %s\n", graphs[config->graph]);
	wtl_buf_printf(buf, "window = %s\n", wtl_top_window_name(config->window));
	wtl_buf_printf(buf, "redraw_ms = %u\n", config->redraw_ms);
	for (unsigned i = 0; i < WTL_SWITCHES; i++)
		wtl_buf_printf(buf, "%s = %s\n", switches[i].name,
			       config->switches[i] ? "yes" : "no");
	wtl_buf_puts(buf, "columns =");
	for (unsigned i = 0; i < WTL_FIELDS; i++)
		if (config->columns[i])
			wtl_buf_printf(buf, " %s", wtl_field_info((enum wtl_field)i)->name);
	wtl_buf_printf(buf, "\nfilter = %s\n", config->filter);
	return wtl_buf_add(buf, wtl_buf_str(&config->unknown), config->unknown.len);
}
