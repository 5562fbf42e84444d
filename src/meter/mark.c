/* SPDX-License-Identifier: MIT */
/* Marks for a recording that runs in another process. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <wattle.h>

#include "base/abi.h"
#include "base/err.h"
#include "base/mark.h"
#include "base/packet.h"
#include "meter/meter.h"

#define SOURCE "mark"

static int ask(const char *socket, const char *message, struct wtl_err *err)
{
	char answer[WTL_MARK_ANSWER_MAX];
	const char *text;
	int fd = wtl_packet_connect(socket, WTL_MARK_TIMEOUT_MS), rc;

	if (fd == -ECONNREFUSED || fd == -ENOENT)
		return wtl_err_set(err, fd, SOURCE, socket, "no recording listens there any more");
	if (fd < 0)
		return wtl_err_set(err, fd, SOURCE, socket, "%s", wtl_err_text(fd));
	rc = wtl_packet_ask(fd, message, answer, sizeof(answer), WTL_MARK_TIMEOUT_MS);
	close(fd);
	if (rc == -ECONNRESET)
		return wtl_err_set(err, rc, SOURCE, socket,
				   "the recording ended without an answer");
	if (rc < 0)
		return wtl_err_set(err, rc, SOURCE, socket, "%s", wtl_err_text(rc));
	rc = wtl_mark_read_answer(answer, &text);
	if (rc == -EPROTO)
		return wtl_err_set(err, rc, SOURCE, socket,
				   "whoever listens there is no recording");
	return rc < 0 ? wtl_err_set(err, rc, SOURCE, NULL, "%s", text) : 0;
}

static int mark(const char *socket, enum wtl_mark_verb verb, const char *name,
		struct wattle_error *reterr)
{
	char message[WTL_MARK_MESSAGE_MAX];
	struct wtl_err err = {.code = 0};
	int rc = wtl_mark_print(message, verb, name);

	if (!wtl_abi_is_sized(reterr))
		return -EINVAL;
	if (rc < 0)
		rc = wtl_err_set(&err, EINVAL, SOURCE, NULL, "%s", wtl_mark_strerror(rc));
	else if (!socket || !socket[0])
		rc = wtl_err_set(&err, ENOENT, SOURCE, NULL,
				 "no recording was named: WATTLE_MARK is set for what 'wattle "
				 "record' starts");
	else
		rc = ask(socket, message, &err);
	if (rc < 0)
		wtl_err_hand_over(&err, reterr);
	return rc;
}

int wattle_mark_begin(const char *socket, const char *name, struct wattle_error *reterr)
{
	return mark(socket, WTL_MARK_BEGIN, name, reterr);
}

int wattle_mark_end(const char *socket, const char *name, struct wattle_error *reterr)
{
	return mark(socket, WTL_MARK_END, name, reterr);
}
