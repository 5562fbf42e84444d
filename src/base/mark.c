/* SPDX-License-Identifier: MIT */
#include "base/mark.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"

static const struct {
	const char *word;
	int has_name;
} verbs[] = {
	[WTL_MARK_BEGIN] = {"begin", 1},
	[WTL_MARK_END] = {"end", 1},
	[WTL_MARK_STATUS] = {"status", 0},
	[WTL_MARK_STOP] = {"stop", 0},
};

enum { N_VERBS = sizeof(verbs) / sizeof(verbs[0]) };

static int find_verb(const char *text, size_t len)
{
	for (int i = 0; i < N_VERBS; i++)
		if (strlen(verbs[i].word) == len && memcmp(verbs[i].word, text, len) == 0)
			return i;
	return -EINVAL;
}

/* Names in a recording must stay distinct, so this one is neither cut nor cleaned. */
static int take_name(char name[WTL_MARK_NAME_SIZE], const char *text, size_t len)
{
	if (len >= WTL_MARK_NAME_SIZE)
		return -ENAMETOOLONG;
	if (len == 0)
		return -ENOENT;
	if (!wtl_text_is_clean(text, len))
		return -EILSEQ;
	memcpy(name, text, len);
	name[len] = '\0';
	return 0;
}

int wtl_mark_parse(const char *text, size_t len, struct wtl_mark_message *ret_mark)
{
	const char *space = memchr(text, ' ', len);
	size_t word = space ? (size_t)(space - text) : len;
	struct wtl_mark_message mark = {.name = ""};
	int verb = find_verb(text, word), rc;

	if (verb < 0)
		return verb;
	mark.verb = (enum wtl_mark_verb)verb;
	if (verbs[verb].has_name) {
		rc = space ? take_name(mark.name, space + 1, len - word - 1) : -ENOENT;
		if (rc < 0)
			return rc;
	} else if (space) {
		return -EINVAL;
	}
	*ret_mark = mark;
	return 0;
}

int wtl_mark_print(char text[WTL_MARK_MESSAGE_MAX], enum wtl_mark_verb verb, const char *name)
{
	char taken[WTL_MARK_NAME_SIZE];
	int rc;

	if (!verbs[verb].has_name) {
		snprintf(text, WTL_MARK_MESSAGE_MAX, "%s", verbs[verb].word);
		return 0;
	}
	rc = name ? take_name(taken, name, strlen(name)) : -ENOENT;
	if (rc == 0)
		snprintf(text, WTL_MARK_MESSAGE_MAX, "%s %s", verbs[verb].word, taken);
	return rc;
}

const char *wtl_mark_strerror(int error)
{
	switch (error < 0 ? -error : error) {
	case ENAMETOOLONG:
		return "a window's name has at most 63 bytes";
	case ENOENT:
		return "a window needs a name";
	case EILSEQ:
		return "a window's name is plain text in UTF-8, without control characters, "
		       "invisible ones, blanks other than the space, or blanks at its ends";
	case EINVAL:
		return "this is no message that a recording understands";
	default:
		return wtl_err_text(error);
	}
}

int wtl_mark_read_answer(const char *answer, const char **ret_text)
{
	const char *colon = strchr(answer, ':');
	uint64_t code;

	if (strncmp(answer, "ok", 2) == 0 && (answer[2] == '\0' || answer[2] == '\n')) {
		*ret_text = answer + 2 + (answer[2] == '\n');
		return 0;
	}
	if (strncmp(answer, "error ", 6) != 0 || !colon ||
	    wtl_num_u64(answer + 6, (size_t)(colon - answer) - 6, &code) < 0 || code == 0 ||
	    code > 65535)
		return -EPROTO;
	*ret_text = colon + 1 + (colon[1] == ' ');
	return -(int)code;
}
