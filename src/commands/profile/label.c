/* SPDX-License-Identifier: MIT */
#include "commands/profile/label.h"

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

/* ---- Brackets and operators ---- */

static bool is_of_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_' || c == '$';
}

static bool has_at(struct part text, size_t at, const char *sought)
{
	size_t len = strlen(sought);

	return len <= text.len - at && memcmp(text.at + at, sought, len) == 0;
}

/* 1: the bracket opens, -1: it closes; 0: it is none. */
static int depth_of(struct part text, size_t at)
{
	char c = text.at[at];

	if (c && strchr("(<[{", c))
		return 1;
	return c && strchr(")>]}", c) && !(c == '>' && at > 0 && text.at[at - 1] == '-') ? -1 : 0;
}

/* Where the type of "operator bool" ends: before its parameters, or where the list that it is in goes on. */
static size_t skip_type(struct part text, size_t at)
{
	int depth = 0;

	for (; at < text.len; at++) {
		int step = depth_of(text, at);

		if (depth == 0 && (step < 0 || (text.at[at] && strchr("(,", text.at[at]))))
			break;
		depth += step;
	}
	return at;
}

/* Where an operator's name ends that begins there ("operator<<"); `at`: none does. */
static size_t skip_operator(struct part text, size_t at)
{
	static const char *const signs[] = {"<=>", "<<=", ">>=", "->*", "()", "[]", "->", "<<",
					    ">>",  "<=",  ">=",	 "==",	"!=", "&&", "||", "++",
					    "--",  "+=",  "-=",	 "*=",	"/=", "%=", "^=", "&=",
					    "|=",  "+",	  "-",	 "*",	"/",  "%",  "^",  "&",
					    "|",   "~",	  "!",	 "=",	"<",  ">",  ",",  NULL};
	size_t end = at + strlen("operator");

	if (!has_at(text, at, "operator") || (at > 0 && is_of_word(text.at[at - 1])))
		return at;
	if (end < text.len && (text.at[end] == ' ' || text.at[end] == '"'))
		return skip_type(text, end);
	for (size_t i = 0; signs[i]; i++)
		if (has_at(text, end, signs[i])) {
			end += strlen(signs[i]);
			return has_at(text, end, " <") ? end + 1 : end;
		}
	return at;
}

static const char anonymous[] = "(anonymous namespace)";

/* The next place of a name that is not within an operator's; adds to the depth of brackets. */
static size_t next(struct part text, size_t at, size_t *depth)
{
	size_t end = skip_operator(text, at);
	int step;

	if (end > at)
		return end;
	if (has_at(text, at, anonymous))
		return at + strlen(anonymous);
	step = depth_of(text, at);
	if (step > 0 || *depth > 0)
		*depth += (size_t)step;
	return at + 1;
}

/* The last place of a character that is in no brackets; len: there is none. */
static size_t find_last(struct part text, char sought)
{
	size_t found = text.len, depth = 0, end;

	for (size_t i = 0; i < text.len; i = end) {
		bool is_outside = depth == 0;

		end = next(text, i, &depth);
		if (text.at[i] == sought && is_outside && end == i + 1)
			found = i;
	}
	return found;
}

/* ---- Parts of names ---- */

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

/* Whether those are a path's last parts: "b/one.c" of "/a/b/one.c". */
static bool ends_in(struct part path, struct part end)
{
	size_t first = path.len - end.len;

	return end.len > 0 && end.len <= path.len &&
	       is_same((struct part){path.at + first, end.len}, end) &&
	       (first == 0 || path.at[first - 1] == '/');
}

static bool is_file(struct part shown, struct part file, bool has_whole_path)
{
	struct part path = without_line(shown);

	return ends_in(shown, file) || ends_in(path, file) ||
	       (!has_whole_path && (ends_in(file, shown) || ends_in(file, path)));
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
	while (name.len > 0 && name.at[name.len - 1] == ' ') /* "operator< <int>" */
		name.len--;
	return name;
}

/* ---- Scopes ---- */

enum { SCOPES_MAX = 32 };

/* "a", "b<int>" and "run" of "a::b<int>::run": the last ones, if there are more. */
struct scopes {
	struct part list[SCOPES_MAX];
	size_t n, n_all;
};

static void add_scope(struct scopes *scopes, const char *at, const char *end)
{
	if (scopes->n == SCOPES_MAX)
		memmove(&scopes->list[0], &scopes->list[1], --scopes->n * sizeof(*scopes->list));
	scopes->list[scopes->n++] = (struct part){at, (size_t)(end - at)};
	scopes->n_all++;
}

static void split(struct part name, struct scopes *scopes)
{
	size_t depth = 0, first = 0, end;

	*scopes = (struct scopes){.n = 0};
	for (size_t i = 0; i < name.len; i = end) {
		bool is_end = depth == 0 && has_at(name, i, "::") && !has_at(name, i, "::<");

		end = next(name, i, &depth);
		if (!is_end)
			continue;
		add_scope(scopes, name.at + first, name.at + i);
		first = end = i + 2;
	}
	add_scope(scopes, name.at + first, name.at + name.len);
}

/* How much of a text a beginning takes, blanks aside; 0: it does not begin so. */
static size_t begins_with(struct part text, struct part beginning)
{
	size_t at = 0;

	for (size_t i = 0; i < beginning.len; i++) {
		if (beginning.at[i] == ' ')
			continue;
		while (at < text.len && text.at[at] == ' ')
			at++;
		if (at == text.len || text.at[at++] != beginning.at[i])
			return 0;
	}
	while (at < text.len && text.at[at] == ' ')
		at++;
	return at;
}

static bool is_alike(struct part a, struct part b)
{
	return a.len == 0 ? b.len == 0 : begins_with(a, b) == a.len;
}

/* Splits "run<int>" into its name and its arguments; without any, these are empty. */
static struct part take_arguments(struct part *name)
{
	size_t depth = 0, at = 0;
	struct part arguments;

	while (at < name->len && !(depth == 0 && name->at[at] == '<'))
		at = next(*name, at, &depth);
	arguments = (struct part){name->at + at, name->len - at};
	name->len = at > 2 && has_at(*name, at - 2, "::<") ? at - 2 : at;
	return arguments;
}

/* "str" of "str[abi:cxx11]" */
static struct part without_tags(struct part name)
{
	const char *tag = memmem(name.at, name.len, "[abi:", 5);

	return tag && tag > name.at ? (struct part){name.at, (size_t)(tag - name.at)} : name;
}

/* Whether those are the first of them: others may be defaults, which nobody writes. */
static bool are_first(struct part shown, struct part arguments)
{
	size_t depth = 0, end;

	if (arguments.len == 0 || is_alike(shown, arguments))
		return true;
	if (arguments.at[--arguments.len] != '>')
		return false;
	for (size_t i = 0; i < arguments.len;)
		i = next(arguments, i, &depth);
	end = begins_with(shown, arguments);
	return depth == 1 && end > 0 && end < shown.len && shown.at[end] == ',';
}

static bool is_scope(struct part shown, struct part name)
{
	struct part shown_arguments = take_arguments(&shown), arguments = take_arguments(&name);

	return (is_alike(shown, name) || is_alike(without_tags(shown), name)) &&
	       are_first(shown_arguments, arguments);
}

/* Whether it is the end of the name, unnamed namespaces aside: "a::run" of "b::a::(anonymous namespace)::run". */
static bool is_end(struct part shown, struct part name)
{
	const struct part unnamed = {anonymous, sizeof(anonymous) - 1};
	struct scopes of_shown, of_name;
	size_t i, k;

	split(shown, &of_shown);
	split(name, &of_name);
	i = of_shown.n;
	k = of_name.n;
	if (of_name.n_all > SCOPES_MAX)
		return false;
	for (; k > 0 && i > 0; i--)
		if (is_scope(of_shown.list[i - 1], of_name.list[k - 1]))
			k--;
		else if (k == of_name.n || !is_same(of_shown.list[i - 1], unnamed))
			return false;
	return k == 0;
}

static bool is_none_or_alike(struct part shown, struct part given)
{
	return given.len == 0 || is_alike(shown, given);
}

/* Whether it is the end of the name, with types as well: "S::get(int) const" of "ns::S::get(int) const". */
static bool is_typed_end(struct part own, struct part name)
{
	struct part shown = without_types(own), end = without_types(name);
	const char *own_end = shown.at + shown.len, *name_end = end.at + end.len;
	struct part before = {own.at, (size_t)(shown.at - own.at)},
		    behind = {own_end, (size_t)(own.at + own.len - own_end)},
		    given_before = {name.at, (size_t)(end.at - name.at)},
		    given_behind = {name_end, (size_t)(name.at + name.len - name_end)};

	return is_none_or_alike(before, given_before) && is_none_or_alike(behind, given_behind) &&
	       is_end(shown, end);
}

/* Whether it is what is behind a dot: "Inner.train" of Python's "Model.Inner.train". */
static bool is_behind_dot(struct part shown, struct part name)
{
	size_t depth = 0, first = shown.len - name.len, at = 0;

	if (name.len == 0 || name.len >= shown.len)
		return false;
	while (at < first - 1)
		at = next(shown, at, &depth);
	return at == first - 1 && depth == 0 && shown.at[at] == '.' &&
	       is_same((struct part){shown.at + first, name.len}, name);
}

/* Whether only types were left out, and an unnamed namespace: names of inlined calls never have them. */
static bool is_untyped(struct part own, struct part qualified, struct part name)
{
	size_t len = has_at(qualified, 0, anonymous) ? strlen(anonymous) + strlen("::") : 0;

	if (len > qualified.len)
		len = 0;
	return qualified.len < own.len &&
	       (is_same(name, qualified) ||
		is_same(name, (struct part){qualified.at + len, qualified.len - len}));
}

static enum wtl_label_match match_name(struct part shown, struct part name)
{
	struct part own = {shown.at, wtl_label_source_len(shown.at)}, qualified, plain;

	if (own.len > shown.len)
		own.len = shown.len;
	qualified = without_types(own);
	if (is_untyped(own, qualified, name))
		return WTL_LABEL_BARE;
	plain = without_generics(qualified);
	if (is_same(name, own) || is_same(name, qualified) || is_same(name, plain) ||
	    is_same(name, without_scope(qualified, ':')) ||
	    is_same(name, without_scope(plain, ':')) || is_same(name, without_scope(own, '.')))
		return WTL_LABEL_SHORT;
	return is_end(qualified, name) || is_typed_end(own, name) || is_behind_dot(own, name)
		       ? WTL_LABEL_PART
		       : WTL_LABEL_OTHER;
}

enum wtl_label_match wtl_label_match(const char *shown, const char *name, size_t len,
				     bool has_whole_path)
{
	struct part sought = {name, len}, is = {shown, strlen(shown)};
	struct part file = take_file(&is), sought_file = take_file(&sought);
	enum wtl_label_match match = is_same(is, sought) ? WTL_LABEL_BARE : match_name(is, sought);

	if (match == WTL_LABEL_OTHER || sought_file.len == 0)
		return match;
	if (!is_file(file, sought_file, has_whole_path))
		return WTL_LABEL_OTHER;
	return match == WTL_LABEL_PART ? match : WTL_LABEL_WHOLE;
}
