/* SPDX-License-Identifier: MIT */
#include "commands/top/filter.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"
#include "base/text.h"

enum kind { NODE_AND, NODE_OR, NODE_NOT, NODE_NUMBER, NODE_TEXT, NODE_SEARCH };

enum comparison { LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, UNEQUAL, HAS, HAS_NOT, NONE };

enum { DEPTH_MAX = 32 };

struct parser {
	struct wtl_filter *filter;
	const char *text;
	size_t at;
	int depth;
	struct wtl_filter_error *error;
	bool failed;
};

static int parse_joined(struct parser *parser, enum kind kind);

static int fail(struct parser *parser, size_t at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Only the first error is kept. */
static int fail(struct parser *parser, size_t at, const char *format, ...)
{
	va_list args;

	if (parser->failed)
		return -1;
	parser->failed = true;
	parser->error->position = (int)at;
	va_start(args, format);
	vsnprintf(parser->error->text, sizeof(parser->error->text), format, args);
	va_end(args);
	return -1;
}

/* Prints the whole character, even beyond ASCII. */
static int fail_out_of_place(struct parser *parser)
{
	const char *at = parser->text + parser->at;

	return fail(parser, parser->at, "'%.*s' is out of place here",
		    (int)(wtl_text_next(at) - at), at);
}

static int add_node(struct parser *parser, const struct wtl_filter_node *node)
{
	if (parser->failed)
		return -1;
	if (parser->filter->n == WTL_FILTER_NODES)
		return fail(parser, parser->at, "this is too long");
	parser->filter->nodes[parser->filter->n] = *node;
	return parser->filter->n++;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static void skip_space(struct parser *parser)
{
	while (is_space(parser->text[parser->at]))
		parser->at++;
}

/* Characters of words without quotes. */
static bool is_word_char(char c)
{
	return c != '\0' && !is_space(c) && !strchr("()&|!<>=~\"'", c);
}

static size_t word_len(const struct parser *parser)
{
	size_t len = 0;

	while (is_word_char(parser->text[parser->at + len]))
		len++;
	return len;
}

static bool take(struct parser *parser, const char *sign)
{
	size_t len = strlen(sign);

	skip_space(parser);
	if (strncmp(parser->text + parser->at, sign, len) != 0)
		return false;
	parser->at += len;
	return true;
}

static bool take_word(struct parser *parser, const char *word)
{
	size_t len;

	skip_space(parser);
	len = word_len(parser);
	if (len != strlen(word) || strncasecmp(parser->text + parser->at, word, len) != 0)
		return false;
	parser->at += len;
	return true;
}

static enum comparison take_comparison(struct parser *parser)
{
	static const struct {
		const char *sign;
		enum comparison comparison;
	} signs[] = {
		{"<=", LESS_EQUAL}, {">=", GREATER_EQUAL}, {"==", EQUAL},
		{"!=", UNEQUAL},    {"!~", HAS_NOT},	   {"<", LESS},
		{">", GREATER},	    {"=", EQUAL},	   {"~", HAS},
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (take(parser, signs[i].sign))
			return signs[i].comparison;
	return NONE;
}

static const struct unit {
	const char *name;
	enum wtl_measure measure;
	double factor;
} units[] = {
	{"mW", WTL_MEASURE_WATT, 1e-3},	   {"W", WTL_MEASURE_WATT, 1.0},
	{"kW", WTL_MEASURE_WATT, 1e3},	   {"mJ", WTL_MEASURE_JOULE, 1e-3},
	{"J", WTL_MEASURE_JOULE, 1.0},	   {"kJ", WTL_MEASURE_JOULE, 1e3},
	{"MJ", WTL_MEASURE_JOULE, 1e6},	   {"Wh", WTL_MEASURE_JOULE, 3600.0},
	{"kWh", WTL_MEASURE_JOULE, 3.6e6}, {"%", WTL_MEASURE_PERCENT, 1.0},
	{"B", WTL_MEASURE_BYTE, 1.0},	   {"K", WTL_MEASURE_BYTE, 0x1p10},
	{"M", WTL_MEASURE_BYTE, 0x1p20},   {"G", WTL_MEASURE_BYTE, 0x1p30},
	{"T", WTL_MEASURE_BYTE, 0x1p40},   {"KiB", WTL_MEASURE_BYTE, 0x1p10},
	{"MiB", WTL_MEASURE_BYTE, 0x1p20}, {"GiB", WTL_MEASURE_BYTE, 0x1p30},
	{"TiB", WTL_MEASURE_BYTE, 0x1p40}, {"KB", WTL_MEASURE_BYTE, 1e3},
	{"MB", WTL_MEASURE_BYTE, 1e6},	   {"GB", WTL_MEASURE_BYTE, 1e9},
	{"TB", WTL_MEASURE_BYTE, 1e12},	   {"ms", WTL_MEASURE_SECOND, 1e-3},
	{"s", WTL_MEASURE_SECOND, 1.0},	   {"min", WTL_MEASURE_SECOND, 60.0},
	{"h", WTL_MEASURE_SECOND, 3600.0},
};

/* Case only matters if it has to: mW, MW; mJ, MJ. */
static const struct unit *find_unit(const char *name, size_t len)
{
	const struct unit *like = NULL;

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) != len)
			continue;
		if (strncmp(units[i].name, name, len) == 0)
			return &units[i];
		if (strncasecmp(units[i].name, name, len) == 0 && name[0] != 'm' && name[0] != 'M')
			like = &units[i];
	}
	return like;
}

static const char *measure_words(enum wtl_measure measure)
{
	static const char *const words[] = {
		[WTL_MEASURE_TEXT] = "a text",	       [WTL_MEASURE_NUMBER] = "a plain number",
		[WTL_MEASURE_WATT] = "in watts",       [WTL_MEASURE_JOULE] = "in joules",
		[WTL_MEASURE_PERCENT] = "in per cent", [WTL_MEASURE_BYTE] = "in bytes",
		[WTL_MEASURE_SECOND] = "in seconds",
	};

	return words[measure];
}

static int parse_number(struct parser *parser, struct wtl_filter_node *node)
{
	const struct wtl_field_info *info = wtl_field_info((enum wtl_field)node->field);
	const char *word = parser->text + parser->at;
	size_t len = word_len(parser), digits = 0, start = parser->at;
	const struct unit *unit = NULL;

	while (digits < len && strchr("0123456789.", word[digits]))
		digits++;
	if (digits == 0 || wtl_num_double(word, digits, &node->number) < 0)
		return fail(parser, start, "%s is %s: a number belongs here", info->name,
			    measure_words(info->measure));
	parser->at += digits;
	if (digits == len) {
		skip_space(parser);
		len = word_len(parser);
		/* "cpu_w > 10 and …": no unit */
		if (len == 0 || !find_unit(parser->text + parser->at, len))
			return add_node(parser, node);
		digits = 0;
		word = parser->text + parser->at;
	}
	unit = find_unit(word + digits, len - digits);
	if (!unit)
		return fail(parser, parser->at, "unknown unit '%.*s'",
			    (int)(len - digits < 20 ? len - digits : 20), word + digits);
	if (unit->measure != info->measure)
		return fail(parser, parser->at, "%s is %s, not in %s", info->name,
			    measure_words(info->measure), unit->name);
	node->number *= unit->factor;
	parser->at += len - digits;
	return add_node(parser, node);
}

/* Takes a word or a quoted text, by its place. */
static int take_text(struct parser *parser, struct wtl_filter_node *node)
{
	char quote = parser->text[parser->at];
	const char *end;

	if (quote != '"' && quote != '\'') {
		node->text_at = (uint16_t)parser->at;
		node->text_len = (uint8_t)word_len(parser);
		parser->at += node->text_len;
		return node->text_len ? 0 : fail(parser, parser->at, "a value is missing here");
	}
	end = strchr(parser->text + parser->at + 1, quote);
	if (!end)
		return fail(parser, parser->at, "the text that begins here has no end");
	node->text_at = (uint16_t)(parser->at + 1);
	node->text_len = (uint8_t)(end - parser->text - node->text_at);
	parser->at = (size_t)(end + 1 - parser->text);
	return 0;
}

static int parse_value(struct parser *parser, struct wtl_filter_node *node, size_t sign_at)
{
	const struct wtl_field_info *info = wtl_field_info((enum wtl_field)node->field);
	enum comparison comparison = (enum comparison)node->comparison;

	skip_space(parser);
	if (info->measure != WTL_MEASURE_TEXT) {
		if (comparison == HAS || comparison == HAS_NOT)
			return fail(parser, sign_at, "%s is %s: ~ is for texts", info->name,
				    measure_words(info->measure));
		node->kind = NODE_NUMBER;
		return parse_number(parser, node);
	}
	if (comparison <= GREATER_EQUAL)
		return fail(parser, sign_at, "%s is a text: it takes = != ~ or !~", info->name);
	node->kind = NODE_TEXT;
	if (take_text(parser, node) < 0)
		return -1;
	return add_node(parser, node);
}

static int fail_no_field(struct parser *parser, size_t at, const struct wtl_filter_node *node)
{
	const char *word = parser->text + node->text_at;
	const char *meant = wtl_field_meant(word, node->text_len);
	int len = node->text_len < 30 ? node->text_len : 30;

	if (meant)
		return fail(parser, at, "there is no field '%.*s': did you mean '%s'?", len, word,
			    meant);
	return fail(parser, at, "there is no field '%.*s'", len, word);
}

/* A comparison, or a word to search for. */
static int parse_term(struct parser *parser)
{
	struct wtl_filter_node node = {.kind = NODE_SEARCH, .left = -1, .right = -1};
	size_t start, sign_at;
	enum wtl_field field;

	skip_space(parser);
	start = parser->at;
	if (!parser->text[start])
		return fail(parser, start, "something is missing here");
	if (!is_word_char(parser->text[start]) && !strchr("\"'", parser->text[start]))
		return fail_out_of_place(parser);
	if (take_text(parser, &node) < 0)
		return -1;
	skip_space(parser);
	sign_at = parser->at;
	node.comparison = (uint8_t)take_comparison(parser);
	if (node.comparison == NONE)
		return add_node(parser, &node);
	field = wtl_field_find(parser->text + node.text_at, node.text_len);
	if (field == WTL_FIELDS)
		return fail_no_field(parser, start, &node);
	node.field = (uint8_t)field;
	return parse_value(parser, &node, sign_at);
}

static int parse_not(struct parser *parser)
{
	struct wtl_filter_node node = {.kind = NODE_NOT, .right = -1};
	int inner;

	if (++parser->depth > DEPTH_MAX)
		return fail(parser, parser->at, "too many levels");
	if (take(parser, "!") || take_word(parser, "not")) {
		node.left = (int16_t)parse_not(parser);
		parser->depth--;
		return add_node(parser, &node);
	}
	if (!take(parser, "(")) {
		parser->depth--;
		return parse_term(parser);
	}
	inner = parse_joined(parser, NODE_OR);
	parser->depth--;
	if (!take(parser, ")"))
		return fail(parser, parser->at, "a ')' is missing here");
	return inner;
}

/* Terms joined by one of these operators; `and` binds more tightly than `or`. */
static int parse_joined(struct parser *parser, enum kind kind)
{
	static const char *const signs[][3] = {
		[NODE_AND] = {"&&", "&", "and"}, [NODE_OR] = {"||", "|", "or"}};
	bool is_or = kind == NODE_OR;
	int left = is_or ? parse_joined(parser, NODE_AND) : parse_not(parser);

	while (!parser->failed && (take(parser, signs[kind][0]) || take(parser, signs[kind][1]) ||
				   take_word(parser, signs[kind][2]))) {
		int right = is_or ? parse_joined(parser, NODE_AND) : parse_not(parser);
		struct wtl_filter_node node = {
			.kind = (uint8_t)kind, .left = (int16_t)left, .right = (int16_t)right};

		left = add_node(parser, &node);
	}
	return left;
}

int wtl_filter_parse(struct wtl_filter *filter, const char *text,
		     struct wtl_filter_error *ret_error)
{
	struct wtl_filter parsed = {.n = 0, .root = -1};
	struct parser parser = {.filter = &parsed, .text = parsed.text, .error = ret_error};
	size_t len = strlen(text);

	if (len > WTL_FILTER_MAX) {
		fail(&parser, WTL_FILTER_MAX, "this is too long");
		return -EINVAL;
	}
	memcpy(parsed.text, text, len + 1);
	skip_space(&parser);
	if (parsed.text[parser.at]) {
		parsed.root = parse_joined(&parser, NODE_OR);
		skip_space(&parser);
		if (parsed.text[parser.at])
			fail_out_of_place(&parser);
	}
	if (parser.failed)
		return -EINVAL;
	*filter = parsed;
	return 0;
}

static bool contains(const char *text, const char *part, size_t len)
{
	if (len == 0)
		return true;
	for (; *text; text++)
		if (strncasecmp(text, part, len) == 0)
			return true;
	return false;
}

bool wtl_filter_search(const struct wtl_top_process *process, const char *text, size_t len)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", process->consumer.pid);
	return contains(process->command, text, len) ||
	       contains(process->consumer.name, text, len) || contains(process->user, text, len) ||
	       (strlen(pid) == len && memcmp(pid, text, len) == 0);
}

static bool compare_numbers(double value, enum comparison comparison, double with)
{
	/* Bits: less, equal, greater. */
	static const unsigned accepted[] = {[LESS] = 1,		 [LESS_EQUAL] = 3, [GREATER] = 4,
					    [GREATER_EQUAL] = 6, [EQUAL] = 2,	   [UNEQUAL] = 5};
	unsigned is = value < with ? 1 : value > with ? 4 : 2;

	return comparison <= UNEQUAL && (accepted[comparison] & is);
}

static bool compare_texts(const char *value, enum comparison comparison, const char *with,
			  size_t len)
{
	bool same = strlen(value) == len && strncasecmp(value, with, len) == 0;

	if (comparison == EQUAL)
		return same;
	if (comparison == UNEQUAL)
		return !same;
	return contains(value, with, len) == (comparison == HAS);
}

/* The depth is that of the parser. */
static bool match(const struct wtl_filter *filter, int at, const struct wtl_top_process *process,
		  enum wtl_top_share share)
{
	const struct wtl_filter_node *node = &filter->nodes[at];
	const char *text = filter->text + node->text_at;
	enum comparison comparison = (enum comparison)node->comparison;
	struct wtl_field_value value;

	switch ((enum kind)node->kind) {
	case NODE_AND:
		return match(filter, node->left, process, share) &&
		       match(filter, node->right, process, share);
	case NODE_OR:
		return match(filter, node->left, process, share) ||
		       match(filter, node->right, process, share);
	case NODE_NOT:
		return !match(filter, node->left, process, share);
	case NODE_SEARCH:
		return wtl_filter_search(process, text, node->text_len);
	case NODE_NUMBER:
	case NODE_TEXT:
		break;
	}
	if (!wtl_field_get(process, (enum wtl_field)node->field, share, &value))
		return false;
	if (node->kind == NODE_NUMBER)
		return compare_numbers(value.number, comparison, node->number);
	return compare_texts(value.text, comparison, text, node->text_len);
}

bool wtl_filter_match(const struct wtl_filter *filter, const struct wtl_top_process *process,
		      enum wtl_top_share share)
{
	return filter->root < 0 || match(filter, filter->root, process, share);
}

bool wtl_filter_asks_for(const struct wtl_filter *filter, enum wtl_field field)
{
	for (int i = 0; i < filter->n; i++)
		if ((filter->nodes[i].kind == NODE_NUMBER || filter->nodes[i].kind == NODE_TEXT) &&
		    filter->nodes[i].field == field)
			return true;
	return false;
}
