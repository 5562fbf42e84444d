/* SPDX-License-Identifier: MIT */
#include "profile/rust_names.h"

#include <stdint.h>
#include <string.h>

#include "profile/rust_reader.h"

enum { LIFETIMES_MOST = 256 };

static void put_lifetime(struct wtl_rust_reader *reader, uint64_t index)
{
	if (index == 0) {
		wtl_rust_put(reader, "'_");
	} else if (index > reader->n_lifetimes) {
		wtl_rust_fail(reader);
	} else if (reader->n_lifetimes - index < 26) {
		const char text[] = {'\'', (char)('a' + reader->n_lifetimes - index)};

		wtl_rust_put_bytes(reader, text, sizeof(text));
	} else {
		wtl_rust_put(reader, "'_");
		wtl_rust_put_number(reader, reader->n_lifetimes - index);
	}
}

static void read_binder(struct wtl_rust_reader *reader)
{
	uint64_t n = wtl_rust_tagged(reader, 'G');

	if (n > LIFETIMES_MOST || reader->n_lifetimes > LIFETIMES_MOST)
		wtl_rust_fail(reader);
	if (n == 0 || reader->is_over)
		return;
	wtl_rust_put(reader, "for<");
	for (uint64_t i = 0; i < n; i++) {
		wtl_rust_put(reader, i > 0 ? ", " : "");
		reader->n_lifetimes++;
		put_lifetime(reader, 1);
	}
	wtl_rust_put(reader, "> ");
}

/* ---- Paths ---- */

enum form { OF_TYPE, OF_VALUE, LEFT_OPEN /* generics without their ">" */ };

static bool read_path(struct wtl_rust_reader *reader, enum form form);
static void read_type(struct wtl_rust_reader *reader);
static void read_const(struct wtl_rust_reader *reader);

static void read_silently(struct wtl_rust_reader *reader)
{
	reader->silent++;
	read_path(reader, OF_TYPE);
	reader->silent--;
}

/* Closures and the like have upper case, and numbers. */
static void read_nested(struct wtl_rust_reader *reader, enum form form)
{
	char kind = wtl_rust_next(reader);
	bool is_special = kind >= 'A' && kind <= 'Z';
	uint64_t number;
	struct wtl_rust_text name;

	if (!is_special && (kind < 'a' || kind > 'z'))
		wtl_rust_fail(reader);
	read_path(reader, form);
	number = wtl_rust_tagged(reader, 's');
	name = wtl_rust_name_at(reader);
	if (!is_special) {
		wtl_rust_put(reader, name.len > 0 ? "::" : "");
		wtl_rust_put_name(reader, &name);
		return;
	}
	wtl_rust_put(reader, "::{");
	if (kind == 'C' || kind == 'S')
		wtl_rust_put(reader, kind == 'C' ? "closure" : "shim");
	else
		wtl_rust_put_bytes(reader, &kind, 1);
	wtl_rust_put(reader, name.len > 0 ? ":" : "");
	wtl_rust_put_name(reader, &name);
	wtl_rust_put(reader, "#");
	wtl_rust_put_number(reader, number);
	wtl_rust_put(reader, "}");
}

static void read_argument(struct wtl_rust_reader *reader)
{
	if (wtl_rust_eat(reader, 'L'))
		put_lifetime(reader, wtl_rust_base_62(reader));
	else if (wtl_rust_eat(reader, 'K'))
		read_const(reader);
	else
		read_type(reader);
}

/* A type's own functions, or those of a trait for a type. */
static void read_implementation(struct wtl_rust_reader *reader, char tag)
{
	if (tag != 'Y') {
		wtl_rust_tagged(reader, 's');
		read_silently(reader);
	}
	wtl_rust_put(reader, "<");
	read_type(reader);
	if (tag != 'M') {
		wtl_rust_put(reader, " as ");
		read_path(reader, OF_TYPE);
	}
	wtl_rust_put(reader, ">");
}

/* Whether generics are open. */
static bool read_path(struct wtl_rust_reader *reader, enum form form)
{
	enum form inner = form == LEFT_OPEN ? OF_TYPE : form;
	bool is_open = false;
	struct wtl_rust_text name;
	size_t after;
	char tag;

	if (!wtl_rust_enter(reader))
		return false;
	tag = wtl_rust_next(reader);
	switch (tag) {
	case 'C':
		wtl_rust_tagged(reader, 's');
		name = wtl_rust_name_at(reader);
		wtl_rust_put_name(reader, &name);
		break;
	case 'N':
		read_nested(reader, inner);
		break;
	case 'M':
	case 'X':
	case 'Y':
		read_implementation(reader, tag);
		break;
	case 'I':
		is_open = form == LEFT_OPEN;
		read_path(reader, inner);
		wtl_rust_put(reader, form == OF_VALUE ? "::<" : "<");
		wtl_rust_list(reader, read_argument, ", ");
		wtl_rust_put(reader, is_open ? "" : ">");
		break;
	case 'B':
		after = wtl_rust_go_back(reader);
		if (!reader->silent)
			is_open = read_path(reader, form);
		reader->at = after;
		break;
	default:
		wtl_rust_fail(reader);
	}
	reader->depth--;
	return is_open;
}

/* ---- Types ---- */

static const char *basic_type(char tag)
{
	static const char *const names[26] = {"i8",   "bool",  "char",	"f64", "str", "f32", NULL,
					      "u8",   "isize", "usize", NULL,  "i32", "u32", "i128",
					      "u128", "_",     NULL,	NULL,  "i16", "u16", "()",
					      "...",  NULL,    "i64",	"u64", "!"};

	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

/* "C" or another way to call: "system", "win64". */
static void read_convention(struct wtl_rust_reader *reader)
{
	struct wtl_rust_text name = {.text = "C", .len = 1};

	if (!wtl_rust_eat(reader, 'C'))
		name = wtl_rust_name_at(reader);
	wtl_rust_put(reader, "extern \"");
	for (size_t i = 0; i < name.len; i++)
		wtl_rust_put_bytes(reader, name.text[i] == '_' ? "-" : name.text + i, 1);
	wtl_rust_put(reader, "\" ");
}

static void read_function(struct wtl_rust_reader *reader)
{
	unsigned n_lifetimes = reader->n_lifetimes;

	read_binder(reader);
	if (wtl_rust_eat(reader, 'U'))
		wtl_rust_put(reader, "unsafe ");
	if (wtl_rust_eat(reader, 'K'))
		read_convention(reader);
	wtl_rust_put(reader, "fn(");
	wtl_rust_list(reader, read_type, ", ");
	wtl_rust_put(reader, ")");
	if (!wtl_rust_eat(reader, 'u')) {
		wtl_rust_put(reader, " -> ");
		read_type(reader);
	}
	reader->n_lifetimes = n_lifetimes;
}

static void read_trait(struct wtl_rust_reader *reader)
{
	bool is_open = read_path(reader, LEFT_OPEN);

	while (wtl_rust_eat(reader, 'p')) {
		struct wtl_rust_text name = wtl_rust_name_at(reader);

		wtl_rust_put(reader, is_open ? ", " : "<");
		is_open = true;
		wtl_rust_put_name(reader, &name);
		wtl_rust_put(reader, " = ");
		read_type(reader);
	}
	wtl_rust_put(reader, is_open ? ">" : "");
}

static void read_dyn(struct wtl_rust_reader *reader)
{
	unsigned n_lifetimes = reader->n_lifetimes;
	uint64_t lifetime;

	wtl_rust_put(reader, "dyn ");
	read_binder(reader);
	wtl_rust_list(reader, read_trait, " + ");
	reader->n_lifetimes = n_lifetimes;
	if (!wtl_rust_eat(reader, 'L')) {
		wtl_rust_fail(reader);
		return;
	}
	lifetime = wtl_rust_base_62(reader);
	if (lifetime > 0) {
		wtl_rust_put(reader, " + ");
		put_lifetime(reader, lifetime);
	}
}

static void read_pointer(struct wtl_rust_reader *reader, char tag)
{
	bool is_reference = tag == 'R' || tag == 'Q';
	uint64_t lifetime = is_reference ? wtl_rust_tagged(reader, 'L') : 0;

	wtl_rust_put(reader, is_reference ? "&" : tag == 'P' ? "*const " : "*mut ");
	if (lifetime > 1) { /* else it is erased */
		put_lifetime(reader, lifetime - 1);
		wtl_rust_put(reader, " ");
	}
	wtl_rust_put(reader, tag == 'Q' ? "mut " : "");
	read_type(reader);
}

static void read_array(struct wtl_rust_reader *reader, char tag)
{
	wtl_rust_put(reader, "[");
	read_type(reader);
	if (tag == 'A') {
		wtl_rust_put(reader, "; ");
		read_const(reader);
	}
	wtl_rust_put(reader, "]");
}

static void read_tuple(struct wtl_rust_reader *reader, void (*read)(struct wtl_rust_reader *reader))
{
	wtl_rust_put(reader, "(");
	wtl_rust_put(reader, wtl_rust_list(reader, read, ", ") == 1 ? ",)" : ")");
}

static void read_type(struct wtl_rust_reader *reader)
{
	const char *basic;
	size_t after;
	char tag;

	if (!wtl_rust_enter(reader))
		return;
	tag = wtl_rust_next(reader);
	basic = basic_type(tag);
	if (basic)
		wtl_rust_put(reader, basic);
	else if (tag && strchr("RQPO", tag))
		read_pointer(reader, tag);
	else if (tag == 'A' || tag == 'S')
		read_array(reader, tag);
	else if (tag == 'T')
		read_tuple(reader, read_type);
	else if (tag == 'F')
		read_function(reader);
	else if (tag == 'D')
		read_dyn(reader);
	else if (tag == 'B') {
		after = wtl_rust_go_back(reader);
		if (!reader->silent)
			read_type(reader);
		reader->at = after;
	} else if (tag) {
		reader->at--;
		read_path(reader, OF_TYPE);
	}
	reader->depth--;
}

/* ---- Constants ---- */

/* Hexadecimal digits up to "_". */
static struct wtl_rust_text read_digits(struct wtl_rust_reader *reader)
{
	struct wtl_rust_text digits = {.text = reader->text + reader->at};

	while (!reader->is_over && !wtl_rust_eat(reader, '_')) {
		char c = wtl_rust_next(reader);

		if (wtl_rust_digit(c) > 15)
			wtl_rust_fail(reader);
		digits.len++;
	}
	return digits;
}

static uint64_t value_of(const char *digits, size_t len)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++)
		value = value << 4 | (uint64_t)wtl_rust_digit(digits[i]);
	return value;
}

static void read_scalar(struct wtl_rust_reader *reader, char tag)
{
	bool is_negative = wtl_rust_eat(reader, 'n');
	struct wtl_rust_text digits = read_digits(reader);
	uint64_t value;

	if (reader->is_over)
		return;
	wtl_rust_put(reader, is_negative ? "-" : "");
	if (digits.len > 16) {
		wtl_rust_put(reader, "0x");
		wtl_rust_put_name(reader, &digits);
		return;
	}
	value = value_of(digits.text, digits.len);
	if (tag == 'b') {
		wtl_rust_put(reader, value ? "true" : "false");
	} else if (tag == 'c') {
		wtl_rust_put(reader, "'");
		wtl_rust_put_point(reader, value <= 0x10ffff ? (uint32_t)value : '?');
		wtl_rust_put(reader, "'");
	} else {
		wtl_rust_put_number(reader, value);
	}
}

static void read_string(struct wtl_rust_reader *reader)
{
	struct wtl_rust_text digits = read_digits(reader);

	wtl_rust_put(reader, "\"");
	for (size_t i = 0; !reader->is_over && i + 1 < digits.len; i += 2) {
		const char byte = (char)value_of(digits.text + i, 2);

		wtl_rust_put_bytes(reader, byte ? &byte : "?", 1);
	}
	wtl_rust_put(reader, "\"");
}

static void read_field(struct wtl_rust_reader *reader)
{
	struct wtl_rust_text name;

	wtl_rust_tagged(reader, 's');
	name = wtl_rust_name_at(reader);
	wtl_rust_put_name(reader, &name);
	wtl_rust_put(reader, ": ");
	read_const(reader);
}

static void read_structure(struct wtl_rust_reader *reader)
{
	read_path(reader, OF_VALUE);
	if (wtl_rust_eat(reader, 'T')) {
		wtl_rust_put(reader, "(");
		wtl_rust_list(reader, read_const, ", ");
		wtl_rust_put(reader, ")");
	} else if (wtl_rust_eat(reader, 'S')) {
		wtl_rust_put(reader, " { ");
		wtl_rust_list(reader, read_field, ", ");
		wtl_rust_put(reader, " }");
	} else if (!wtl_rust_eat(reader, 'U')) {
		wtl_rust_fail(reader);
	}
}

static void read_const(struct wtl_rust_reader *reader)
{
	size_t after;
	char tag;

	if (!wtl_rust_enter(reader))
		return;
	tag = wtl_rust_next(reader);
	if (tag == 'p')
		wtl_rust_put(reader, "_");
	else if (tag == 'e' || (tag == 'R' && wtl_rust_eat(reader, 'e')))
		read_string(reader);
	else if (tag == 'T')
		read_tuple(reader, read_const);
	else if (tag == 'V')
		read_structure(reader);
	else if (tag == 'R' || tag == 'Q') {
		wtl_rust_put(reader, tag == 'R' ? "&" : "&mut ");
		read_const(reader);
	} else if (tag == 'A') {
		wtl_rust_put(reader, "[");
		wtl_rust_list(reader, read_const, ", ");
		wtl_rust_put(reader, "]");
	} else if (tag == 'B') {
		after = wtl_rust_go_back(reader);
		if (!reader->silent)
			read_const(reader);
		reader->at = after;
	} else if (basic_type(tag)) {
		read_scalar(reader, tag);
	} else {
		wtl_rust_fail(reader);
	}
	reader->depth--;
}

/* Behind a name the compiler tells its copies apart; LLVM's numbers are hashes. */
static void put_rest(struct wtl_rust_reader *reader, const char *rest)
{
	const char *hash = strstr(rest, ".llvm.");

	wtl_rust_put_bytes(reader, rest, hash ? (size_t)(hash - rest) : strlen(rest));
}

static void read_v0(struct wtl_rust_reader *reader)
{
	read_path(reader, OF_VALUE);
	if (wtl_rust_peek(reader) >= 'A' && wtl_rust_peek(reader) <= 'Z')
		read_silently(reader); /* the crate that it was made for */
	if (wtl_rust_peek(reader) && wtl_rust_peek(reader) != '.' && wtl_rust_peek(reader) != '$')
		wtl_rust_fail(reader);
	if (!reader->is_over)
		put_rest(reader, reader->text + reader->at);
}

/* ---- The older kind ---- */

/* "$LT$": what stands for it, and where it ends. NULL: it is none. */
static const char *put_escape(struct wtl_rust_reader *reader, const char *at, const char *end)
{
	static const char escapes[][6] = {"@SP", "*BP", "&RF", "<LT", ">GT", "(LP", ")RP", ",C"};
	const char *close = memchr(at + 1, '$', (size_t)(end - at - 1));
	size_t len = close ? (size_t)(close - at - 1) : 0;

	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++)
		if (len > 0 && len == strlen(escapes[i] + 1) &&
		    strncmp(at + 1, escapes[i] + 1, len) == 0) {
			wtl_rust_put_bytes(reader, escapes[i], 1);
			return close + 1;
		}
	if (len < 2 || len > 7 || at[1] != 'u' || strspn(at + 2, "0123456789abcdef") != len - 1)
		return NULL;
	wtl_rust_put_point(reader, (uint32_t)value_of(at + 2, len - 1) & 0x1fffff);
	return close + 1;
}

static void put_old_name(struct wtl_rust_reader *reader, const char *at, size_t len)
{
	const char *end = at + len, *after;

	at += len > 1 && at[0] == '_' && at[1] == '$';
	while (at < end) {
		if (*at == '$' && (after = put_escape(reader, at, end))) {
			at = after;
		} else if (end - at > 1 && at[0] == '.' && at[1] == '.') {
			wtl_rust_put(reader, "::");
			at += 2;
		} else {
			wtl_rust_put_bytes(reader, at++, 1);
		}
	}
}

/* The hash that ends such a name, which no name of C++ has there. NULL: there is none. */
static const char *find_hash(const char *text)
{
	const char *at = text;

	while ((at = strstr(at, "17h"))) {
		at += 3;
		if (strspn(at, "0123456789abcdef") == 16 && at[16] == 'E' &&
		    (at[17] == '\0' || at[17] == '.'))
			return at - 3;
	}
	return NULL;
}

static void read_old(struct wtl_rust_reader *reader)
{
	const char *hash = find_hash(reader->text);

	if (!hash)
		wtl_rust_fail(reader);
	while (!reader->is_over && reader->text + reader->at < hash) {
		size_t len = wtl_rust_length(reader);
		const char *name = reader->text + reader->at;

		if (reader->is_over || name > hash || len > (size_t)(hash - name)) {
			wtl_rust_fail(reader);
			return;
		}
		wtl_rust_put(reader, reader->n > 0 ? "::" : "");
		put_old_name(reader, name, len);
		reader->at += len;
	}
	if (!reader->is_over)
		put_rest(reader, hash + sizeof("17h0123456789abcdefE") - 1);
}

bool wtl_rust_name(const char *mangled, char *dst, size_t size)
{
	bool is_old = strncmp(mangled, "_ZN", 3) == 0;
	struct wtl_rust_reader reader = {.text = mangled + 2 + is_old, .out = dst, .size = size};

	if (!is_old && strncmp(mangled, "_R", 2) != 0)
		return false;
	reader.len = strlen(reader.text);
	dst[0] = '\0';
	if (is_old)
		read_old(&reader);
	else
		read_v0(&reader);
	return !reader.is_bad && reader.n > 0;
}
