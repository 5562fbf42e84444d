/* SPDX-License-Identifier: MIT */
#include "document/command_words.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "document/format.h"

enum { ESCAPED_MAX = 1 << 16 }; /* more than a recording's texts can have */

/* A recording's texts are printable UTF-8: a word that is not is put as bash's $'…' has it. */
static void put_word(struct wtl_buf *buf, char *word)
{
	size_t len = strlen(word), n_more = 0;
	struct wtl_buf escaped;

	wtl_buf_init(&escaped, ESCAPED_MAX);
	wtl_text_escape(&escaped, word, len);
	for (size_t i = 0; i < len; i++)
		n_more += word[i] == '\\';
	if (!escaped.error && escaped.len == len + n_more) {
		wtl_format_command(buf, (char *const[]){word, NULL});
	} else {
		wtl_buf_puts(buf, "$'");
		for (const char *at = wtl_buf_str(&escaped); *at && !buf->error; at++)
			if (*at == '\'')
				wtl_buf_puts(buf, "\\x27");
			else
				wtl_buf_putc(buf, *at);
		wtl_buf_putc(buf, '\'');
	}
	if (escaped.error && !buf->error)
		buf->error = escaped.error;
	wtl_buf_done(&escaped);
}

int wtl_command_text(struct wtl_buf *buf, char *const command[])
{
	for (size_t i = 0; command && command[i]; i++) {
		if (i > 0)
			wtl_buf_putc(buf, ' ');
		put_word(buf, command[i]);
	}
	return buf->error;
}

/* Unescapes the text of $'…', which begins after its first quote. Returns what follows the last; NULL: none does. */
static const char *take_escaped(const char *text, char **to)
{
	const char *end = strchr(text, '\'');
	struct wtl_buf plain;

	if (!end)
		return NULL;
	wtl_buf_init(&plain, ESCAPED_MAX);
	if (wtl_text_unescape(&plain, text, (size_t)(end - text)) < 0)
		end = NULL;
	else
		*to = mempcpy(*to, wtl_buf_str(&plain), plain.len);
	wtl_buf_done(&plain);
	return end ? end + 1 : NULL;
}

/* Copies one word without its quotes, which may stand anywhere in it. Returns what follows it. */
static const char *take_word(const char *text, char **to)
{
	char quote = '\0';

	while (*text && (quote || *text != ' ')) {
		const char *next =
			!quote && wtl_text_starts(text, "$'") ? take_escaped(text + 2, to) : NULL;

		if (next) {
			text = next;
			continue;
		}
		if (quote ? *text == quote : *text == '\'' || *text == '"')
			quote = quote ? '\0' : *text;
		else
			*(*to)++ = *text;
		text++;
	}
	*(*to)++ = '\0';
	return text + strspn(text, " ");
}

char **wtl_command_words(const char *text)
{
	/* No more words than blanks + 1, no more characters than there are. */
	size_t len = strlen(text), n = 2;
	char **words, *to;

	for (size_t i = 0; i < len; i++)
		n += text[i] == ' ';
	words = malloc(n * sizeof(*words) + len + n);
	if (!words)
		return NULL;
	to = (char *)(words + n);
	n = 0;
	for (text += strspn(text, " "); *text;) {
		words[n++] = to;
		text = take_word(text, &to);
	}
	words[n] = NULL;
	return words;
}
