/* SPDX-License-Identifier: MIT */
#include "commands/profile/label.h"

#include <stdbool.h>
#include <string.h>

/* A part of a name. */
struct part {
	const char *at;
	size_t len;
};

static bool is_same(struct part a, struct part b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* The last place of a character that is in no brackets; len: there is none. */
static size_t find_last(struct part text, char sought)
{
	size_t found = text.len, depth = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.at[i];

		if (c == sought && depth == 0)
			found = i;
		if (strchr("(<[{", c))
			depth++;
		else if (strchr(")>]}", c) && depth > 0)
			depth--;
	}
	return found;
}

/* Splits "fit (train.py:12)" into its name and its file; without a file, that is empty. */
static struct part take_file(struct part *name)
{
	size_t open = find_last(*name, '(');
	struct part file = {name->at + name->len, 0};

	if (open == name->len || open < 2 || name->at[open - 1] != ' ' ||
	    name->at[name->len - 1] != ')')
		return file;
	file = (struct part){name->at + open + 1, name->len - open - 2};
	name->len = open - 1;
	return file;
}

static struct part without_line(struct part file)
{
	size_t len = file.len;

	while (len > 0 && file.at[len - 1] >= '0' && file.at[len - 1] <= '9')
		len--;
	if (len > 0 && len < file.len && file.at[len - 1] == ':')
		file.len = len - 1;
	return file;
}

static struct part without_folder(struct part file)
{
	const char *slash = memrchr(file.at, '/', file.len);

	return slash ? (struct part){slash + 1, file.len - (size_t)(slash + 1 - file.at)} : file;
}

static bool is_file(struct part shown, struct part file)
{
	struct part short_shown = without_folder(shown), base = without_line(short_shown);

	return is_same(file, shown) || is_same(file, short_shown) || is_same(file, base) ||
	       is_same(file, without_line(shown));
}

/* "ns::foo" of "int ns::foo(int) const" */
static struct part without_types(struct part name)
{
	size_t at;

	name.len = find_last(name, '(');
	at = find_last(name, ' ');
	return at < name.len ? (struct part){name.at + at + 1, name.len - at - 1} : name;
}

/* "foo" of "ns::foo", or of Python's "Model.foo". */
static struct part without_scope(struct part name, char between)
{
	size_t at = find_last(name, between);

	return at < name.len ? (struct part){name.at + at + 1, name.len - at - 1} : name;
}

/* Whether that is what compilers add to the name of a copy: ".constprop.0". Go has dots in its names as well. */
static bool is_of_copy(const char *at)
{
	static const char *const numbered[] = {".constprop.", ".isra.", ".part.", ".lto_priv."};

	for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++) {
		size_t len = strlen(numbered[i]);

		if (strncmp(at, numbered[i], len) == 0 && at[len] >= '0' && at[len] <= '9')
			return true;
	}
	return strncmp(at, " [clone ", 8) == 0 ||
	       (strncmp(at, ".cold", 5) == 0 && (!at[5] || strchr(". ", at[5])));
}

size_t wtl_label_source_len(const char *shown)
{
	size_t len = 0;

	while (shown[len] && (len == 0 || !is_of_copy(shown + len)))
		len++;
	return len;
}

/* "ns::foo" of "ns::foo<int>", or of Rust's "ns::foo::<i32>". */
static struct part without_generics(struct part name)
{
	size_t at = name.len > 0 && name.at[name.len - 1] == '>' ? find_last(name, '<') : name.len;

	if (at == 0 || at == name.len)
		return name;
	name.len = at > 2 && memcmp(name.at + at - 2, "::", 2) == 0 ? at - 2 : at;
	return name;
}

static bool is_short(struct part shown, struct part name)
{
	struct part own = {shown.at, wtl_label_source_len(shown.at)}, qualified, plain;

	if (own.len > shown.len)
		own.len = shown.len;
	qualified = without_types(own);
	plain = without_generics(qualified);
	return is_same(name, own) || is_same(name, qualified) || is_same(name, plain) ||
	       is_same(name, without_scope(qualified, ':')) ||
	       is_same(name, without_scope(plain, ':')) || is_same(name, without_scope(plain, '.'));
}

enum wtl_label_match wtl_label_match(const char *shown, const char *name, size_t len)
{
	struct part sought = {name, len}, is = {shown, strlen(shown)};
	struct part file = take_file(&is), sought_file = take_file(&sought);

	bool is_whole = is_same(is, sought);

	if (!is_whole && !is_short(is, sought))
		return WTL_LABEL_OTHER;
	if (sought_file.len > 0)
		return is_file(file, sought_file) ? WTL_LABEL_WHOLE : WTL_LABEL_OTHER;
	return is_whole ? WTL_LABEL_BARE : WTL_LABEL_SHORT;
}
