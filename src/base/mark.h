/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_MARK_H
#define WTL_BASE_MARK_H

#include <stddef.h>

/*
 * How a program outside tells a running recording where windows begin and end: a Unix socket of
 * packets (SOCK_SEQPACKET), a message a packet, an answer each. A message is "begin NAME", "end NAME",
 * "status" or "stop". An answer is "ok", or "error CODE: TEXT" with a positive code of this library;
 * after "ok" may follow lines of "KEY VALUE".
 */
enum {
	WTL_MARK_NAME_SIZE = 64,
	WTL_MARK_MESSAGE_MAX = 256, /* bytes */
	WTL_MARK_ANSWER_MAX = 16384,
	WTL_MARK_TIMEOUT_MS = 10000, /* a recording that is being opened answers when it is */
};

enum wtl_mark_verb { WTL_MARK_BEGIN, WTL_MARK_END, WTL_MARK_STATUS, WTL_MARK_STOP };

struct wtl_mark_message {
	enum wtl_mark_verb verb;
	char name[WTL_MARK_NAME_SIZE]; /* plain text; "" for verbs that have none */
};

/* A message. -EINVAL: it is none; -ENAMETOOLONG, -ENOENT or -EILSEQ: the name is too long, there is none, or it is
 * not plain text (wtl_text_is_clean). */
int wtl_mark_parse(const char *text, size_t len, struct wtl_mark_message *ret_mark);

/* "begin NAME" and so on into text; name may be NULL. The errors of wtl_mark_parse(). */
int wtl_mark_print(char text[WTL_MARK_MESSAGE_MAX], enum wtl_mark_verb verb, const char *name);

/* What the errors of the above mean, for people. */
const char *wtl_mark_strerror(int error);

/* An answer: 0 for "ok", with the place of its lines ("" for none); else the negative code, with the
 * place of the text. -EPROTO: it is no answer. */
int wtl_mark_read_answer(const char *answer, const char **ret_text);

#endif
