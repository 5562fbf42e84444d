/* SPDX-License-Identifier: MIT */
#include "neural/formula.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/num.h"
#include "base/text.h"

enum { DEPTH_MAX = 40 };

struct parser {
	const struct wtl_formula_names *names;
	const char *at;
	unsigned int depth;
	int error;
};

int wtl_formula_names_set(struct wtl_formula_names *names, const char *name, double value)
{
	struct wtl_formula_name *to = NULL;

	for (size_t i = 0; !to && i < names->n; i++)
		if (strcmp(names->names[i].name, name) == 0)
			to = &names->names[i];
	if (!to) {
		if (wtl_array_reserve(&names->names, &names->room, names->n + 1,
				      sizeof(*names->names)) < 0)
			return -ENOMEM;
		to = &names->names[names->n++];
		wtl_text_copy(to->name, sizeof(to->name), name);
	}
	to->value = value;
	return 0;
}

void wtl_formula_names_done(struct wtl_formula_names *names)
{
	free(names->names);
	*names = (struct wtl_formula_names){0};
}

static double sum(struct parser *parser);

static bool take(struct parser *parser, char c)
{
	while (*parser->at == ' ')
		parser->at++;
	if (*parser->at != c)
		return false;
	parser->at++;
	return true;
}

static double fail(struct parser *parser, int error)
{
	if (parser->error == 0)
		parser->error = error;
	return 0;
}

static double number(struct parser *parser)
{
	const char *from = parser->at;
	double value = 0;

	while (isdigit((unsigned char)*parser->at) || *parser->at == '.' ||
	       ((*parser->at == '-' || *parser->at == '+') && parser->at > from &&
		(parser->at[-1] == 'e' || parser->at[-1] == 'E')) ||
	       *parser->at == 'e' || *parser->at == 'E')
		parser->at++;
	if (wtl_num_double(from, (size_t)(parser->at - from), &value) < 0)
		return fail(parser, -EINVAL);
	return value;
}

static double named(struct parser *parser)
{
	char name[32] = "";
	size_t len = 0;

	while (isalnum((unsigned char)parser->at[len]) || parser->at[len] == '_')
		len++;
	if (len == 0 || len >= sizeof(name))
		return fail(parser, -EINVAL);
	memcpy(name, parser->at, len);
	for (size_t i = 0; i < parser->names->n; i++)
		if (strcmp(parser->names->names[i].name, name) == 0) {
			parser->at += len;
			return parser->names->names[i].value;
		}
	bool is_ceil = strcmp(name, "ceil") == 0, is_log2 = strcmp(name, "log2") == 0;
	if (!is_ceil && !is_log2 && strcmp(name, "sqrt") != 0)
		return fail(parser, -ENOENT);
	parser->at += len;
	if (!take(parser, '('))
		return fail(parser, -EINVAL);
	double value = sum(parser);
	if (!take(parser, ')'))
		return fail(parser, -EINVAL);
	return is_ceil ? ceil(value) : is_log2 ? log2(value) : sqrt(value);
}

static double factor(struct parser *parser)
{
	double value;

	if (parser->error || parser->depth >= DEPTH_MAX)
		return fail(parser, -EINVAL);
	parser->depth++;
	if (take(parser, '-')) {
		value = -factor(parser);
	} else if (take(parser, '(')) {
		value = sum(parser);
		if (!take(parser, ')'))
			value = fail(parser, -EINVAL);
	} else {
		value = isdigit((unsigned char)*parser->at) || *parser->at == '.' ? number(parser)
										  : named(parser);
	}
	if (!parser->error && take(parser, '^'))
		value = pow(value, factor(parser));
	parser->depth--;
	return value;
}

static double product(struct parser *parser)
{
	double value = factor(parser);

	while (!parser->error) {
		if (take(parser, '*'))
			value *= factor(parser);
		else if (take(parser, '/'))
			value /= factor(parser);
		else
			break;
	}
	return value;
}

static double sum(struct parser *parser)
{
	double value = product(parser);

	while (!parser->error) {
		if (take(parser, '+'))
			value += product(parser);
		else if (take(parser, '-'))
			value -= product(parser);
		else
			break;
	}
	return value;
}

int wtl_formula(const struct wtl_formula_names *names, const char *text, double *ret,
		const char **ret_at)
{
	struct parser parser = {.names = names, .at = text};
	double value = sum(&parser);

	take(&parser, ' ');
	*ret_at = parser.at;
	if (parser.error == 0 && *parser.at)
		parser.error = -EINVAL;
	if (parser.error)
		return parser.error;
	if (!isfinite(value))
		return -ERANGE;
	*ret = value;
	return 0;
}
