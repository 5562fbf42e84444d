/* SPDX-License-Identifier: MIT */
#include "serve/accept.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/num.h"

struct span {
	const char *text;
	size_t len;
};

/* Takes what is before the next divider, without blanks around it; *rest then begins after the divider. */
static struct span take(struct span *rest, char divider)
{
	const char *found = rest->len ? memchr(rest->text, divider, rest->len) : NULL;
	struct span part = {rest->text, found ? (size_t)(found - rest->text) : rest->len};
	size_t used = found ? part.len + 1 : part.len;

	rest->text += used;
	rest->len -= used;
	while (part.len > 0 && (part.text[0] == ' ' || part.text[0] == '\t')) {
		part.text++;
		part.len--;
	}
	while (part.len > 0 && (part.text[part.len - 1] == ' ' || part.text[part.len - 1] == '\t'))
		part.len--;
	return part;
}

static bool is_word(const struct span *span, const char *word)
{
	return strlen(word) == span->len && strncasecmp(span->text, word, span->len) == 0;
}

static struct span unquoted(struct span value)
{
	if (value.len >= 2 && value.text[0] == '"' && value.text[value.len - 1] == '"')
		return (struct span){value.text + 1, value.len - 2};
	return value;
}

/* The quality of one item of the list; an invalid one is not wanted. */
static unsigned quality_of(struct span item, const char *what, const char *version)
{
	struct span name = take(&item, ';');
	uint64_t quality = 1000;

	if (!is_word(&name, what))
		return 0;
	while (item.len > 0) {
		struct span value = take(&item, ';'), key = take(&value, '=');

		value = unquoted(value);
		if (is_word(&key, "q") &&
		    (wtl_num_fixed(value.text, value.len, 3, &quality) < 0 || quality > 1000))
			return 0;
		if (version && is_word(&key, "version") && !is_word(&value, version))
			return 0;
	}
	return (unsigned)quality;
}

unsigned wtl_accept_quality(const char *header, const char *what, const char *version)
{
	struct span rest = {header, header ? strlen(header) : 0};
	unsigned best = 0;

	while (rest.len > 0) {
		unsigned quality = quality_of(take(&rest, ','), what, version);

		best = quality > best ? quality : best;
	}
	return best;
}
