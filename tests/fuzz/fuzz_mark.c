/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mark.h"
#include "commands/mark/mark.h"

/* What programs send to a recording, and what a recording answers them. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

/* A message that is understood is understood the same when it is sent on. */
static void parse_message(const char *text, size_t size)
{
	struct wtl_mark_message mark, again;
	char sent[WTL_MARK_MESSAGE_MAX];

	if (wtl_mark_parse(text, size, &mark) < 0)
		return;
	check(memchr(mark.name, '\0', sizeof(mark.name)) != NULL);
	check(wtl_mark_print(sent, mark.verb, mark.name) == 0);
	check(wtl_mark_parse(sent, strlen(sent), &again) == 0);
	check(again.verb == mark.verb && strcmp(again.name, mark.name) == 0);
}

static void parse_answer(const char *text, size_t size)
{
	static struct wtl_mark_status status;
	char *answer = strndup(text, size);
	const char *rest;
	int rc;

	if (!answer)
		return;
	rc = wtl_mark_read_answer(answer, &rest);
	check(rc <= 0);
	if (rc != -EPROTO)
		check(rest >= answer && rest <= answer + strlen(answer));
	if (wtl_mark_status_parse(answer, &status) == 0) {
		check(status.n_windows <= 64 && status.file[0] && status.pid >= 0);
		check(memchr(status.file, '\0', sizeof(status.file)) != NULL);
	}
	free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse_message((const char *)data, size);
	parse_answer((const char *)data, size);
	return 0;
}
