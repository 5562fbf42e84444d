/* SPDX-License-Identifier: MIT */
#include "commands/profile/format.h"

#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "document/format.h"
#include "document/writer.h"

enum { LINE_MAX_BYTES = 8192 };

#define ROW(name) &wtl_profile_format_##name,
static const struct wtl_profile_format *const formats[] = {WTL_PROFILE_FORMATS(ROW) NULL};
#undef ROW
#define NAME(name) #name,
const char *const wtl_profile_format_names[] = {WTL_PROFILE_FORMATS(NAME) NULL};
#undef NAME

const struct wtl_profile_format wtl_profile_format_text = {.name = "text", .suffixes = ".txt"};

const struct wtl_profile_format *wtl_profile_format_at(size_t i)
{
	return formats[i];
}

const struct wtl_profile_format *wtl_profile_format_find(const char *name)
{
	for (size_t i = 0; formats[i]; i++)
		if (strcmp(formats[i]->name, name) == 0)
			return formats[i];
	return NULL;
}

/* The next word of a list and its length; the list moves behind it. */
static size_t next_word(const char **list, const char **ret_word)
{
	size_t n;

	*list += strspn(*list, " ");
	*ret_word = *list;
	n = strcspn(*list, " ");
	*list += n;
	return n;
}

static bool ends_with(const char *name, const char *suffix, size_t n)
{
	size_t len = strlen(name);

	return len > n && strncmp(name + len - n, suffix, n) == 0;
}

/* The longest suffix counts: .speedscope.json is not .json. */
const struct wtl_profile_format *wtl_profile_format_of_file(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *suffix;
	const struct wtl_profile_format *best = NULL;
	size_t longest = 0, n;

	for (size_t i = 0; formats[i]; i++) {
		const char *list = formats[i]->suffixes;

		if (formats[i]->beginning &&
		    strncmp(name, formats[i]->beginning, strlen(formats[i]->beginning)) == 0)
			return formats[i];
		while ((n = next_word(&list, &suffix)) > 0)
			if (n > longest && ends_with(name, suffix, n)) {
				longest = n;
				best = formats[i];
			}
	}
	return best;
}

void wtl_profile_format_suffixes(struct wtl_buf *buf)
{
	const char *suffix;
	size_t n;

	for (size_t i = 0; formats[i]; i++) {
		const char *list = formats[i]->suffixes;

		while ((n = next_word(&list, &suffix)) > 0)
			wtl_buf_printf(buf, "%s%.*s",
				       i == 0		 ? ""
				       : !formats[i + 1] ? " or "
							 : ", ",
				       (int)n, suffix);
	}
}

/* ---- What several formats write ---- */

void wtl_profile_json_text(struct wtl_buf *buf, const char *key, const char *text)
{
	char last = buf->len > 0 ? buf->data[buf->len - 1] : '{';

	if (last != '{' && last != '[' && last != ':')
		wtl_buf_putc(buf, ',');
	if (key)
		wtl_buf_printf(buf, "\"%s\":", key);
	wtl_json_text(buf, text);
}

void wtl_profile_value(struct wtl_buf *buf, const struct wtl_stacks *stacks, size_t metric,
		       uint64_t value)
{
	static const unsigned decimals[WTL_STACKS_UNITS] = {[WTL_STACKS_COUNT] = 0,
							    [WTL_STACKS_NS] = 9,
							    [WTL_STACKS_UJ] = 6,
							    [WTL_STACKS_UG] = 3,
							    [WTL_STACKS_BYTES] = 0};

	wtl_format_fixed(buf, value, decimals[stacks->metrics[metric].unit]);
}

void wtl_profile_command_line(struct wtl_buf *buf, const struct wtl_profile *profile)
{
	char clean[LINE_MAX_BYTES];
	struct wtl_buf line;

	wtl_buf_init(&line, LINE_MAX_BYTES);
	if (!profile->command)
		wtl_buf_printf(&line, "process %d", profile->pid);
	for (size_t i = 0; profile->command && profile->command[i]; i++) {
		wtl_buf_puts(&line, i ? " " : "");
		wtl_format_word(&line, profile->command[i]);
	}
	wtl_buf_puts(buf, wtl_text_clean(clean, sizeof(clean), wtl_buf_str(&line), line.len));
	wtl_buf_done(&line);
}

void wtl_profile_json_command(struct wtl_buf *buf, const char *key, const char *before,
			      const struct wtl_profile *profile)
{
	struct wtl_buf text;

	wtl_buf_init(&text, 2 * LINE_MAX_BYTES);
	wtl_buf_puts(&text, before);
	wtl_profile_command_line(&text, profile);
	wtl_profile_json_text(buf, key, wtl_buf_str(&text));
	wtl_buf_done(&text);
}

void wtl_profile_stack(struct wtl_buf *buf, const struct wtl_stacks *stacks, uint32_t node,
		       char between, wtl_profile_put *put)
{
	uint32_t parent = stacks->tree.nodes[node].parent;

	if (parent) {
		wtl_profile_stack(buf, stacks, parent, between, put);
		wtl_buf_putc(buf, between);
	}
	put(buf, stacks, node);
}
