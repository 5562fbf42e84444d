/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_SHARE_TEXT_H
#define WTL_SENSORS_SHARE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "energy/catalog.h"
#include "energy/reading.h"
#include "energy/units.h"

/*
 * What an agent and its clients say to each other (docs/share.md): a question a packet, an answer a packet. All
 * that is parsed here comes from another process, and nothing of it is believed: numbers are bounded, text is
 * cleaned.
 */

enum {
	WTL_SHARE_VERSION = 1,
	WTL_SHARE_QUESTION_MAX = 64,
	WTL_SHARE_CHANNELS = 256,
	WTL_SHARE_CHANNELS_AT_ONCE = 8, /* of a catalog's answer, at most */
	WTL_SHARE_USER_SIZE = 40,
	WTL_SHARE_GPUS_SIZE = 6000,
	WTL_SHARE_LIMIT_MAX = WTL_SHARE_GPUS_SIZE + 128, /* of the question for a limit */
};

enum wtl_share_verb {
	WTL_SHARE_HELLO,   /* number: the version that the client speaks */
	WTL_SHARE_CATALOG, /* number: the first channel to tell */
	WTL_SHARE_READ,
	WTL_SHARE_LIVE, /* the newest snapshot; number: the one that the client has */
	WTL_SHARE_PAST, /* what is kept of the last day; number: 0 */
	WTL_SHARE_VERBS
};

struct wtl_share_question {
	enum wtl_share_verb verb;
	uint64_t number;
};

/* 0, or -EINVAL: it is none. */
int wtl_share_parse_question(const char *text, size_t len, struct wtl_share_question *ret_question);
void wtl_share_print_question(char text[WTL_SHARE_QUESTION_MAX], enum wtl_share_verb verb,
			      uint64_t number);

/* The question for a power limit of GPUs, which goes to another process of the agent's: it answers itself. */
struct wtl_share_limit {
	bool holds; /* the limit ends when the client says so or is gone; else it stays */
	bool has_power, to_default, has_persistence, persistence;
	uint64_t power_uw;
	char gpus[WTL_SHARE_GPUS_SIZE]; /* their bus ids or UUIDs, with commas between */
};

/* What a client sends to have the old limits back. */
#define WTL_SHARE_RELEASE "release"

bool wtl_share_asks_limit(const char *text, size_t len);
/* 0, or -EINVAL: it is none. */
int wtl_share_parse_limit(const char *text, size_t len, struct wtl_share_limit *ret_limit);
void wtl_share_print_limit(struct wtl_buf *buf, const struct wtl_share_limit *limit);

/* The answer to hello. */
struct wtl_share_hello {
	uint64_t agent; /* another one with each start */
	uint64_t n_channels;
	bool is_total; /* the client gets totals, once a second, in steps */
	uint64_t interval_ns;
	uint64_t now_ns;		/* the agent's monotonic clock */
	char user[WTL_SHARE_USER_SIZE]; /* who runs the agent */
};

/* A channel, and what measures it at the agent. */
struct wtl_share_channel {
	struct wtl_channel channel; /* without source and rank; its class is a name's, or NULL */
	char source[WTL_NAME_SIZE];
};

struct wtl_share_reading {
	struct wtl_reading reading; /* times by the agent's clock */
	uint64_t epoch;		    /* another one: no difference to readings before */
};

/*
 * Answers begin with "ok", or are "error CODE: TEXT". Printing appends; buf->error says whether all went in. Parsing
 * wants text that ends with a NUL: 0, a negative errno that the agent has said (with its text, cleaned, in
 * said[]), or -EPROTO.
 */
void wtl_share_print_error(struct wtl_buf *buf, int code, const char *text);
void wtl_share_print_hello(struct wtl_buf *buf, const struct wtl_share_hello *hello);
void wtl_share_print_channel(struct wtl_buf *buf, size_t i,
			     const struct wtl_share_channel *channel);
void wtl_share_print_reading(struct wtl_buf *buf, size_t i,
			     const struct wtl_share_reading *reading);

int wtl_share_parse_error(const char *text, char said[160]);
int wtl_share_parse_hello(const char *text, struct wtl_share_hello *ret_hello, char said[160]);
/* The channels from number `first` on, at most n. Returns how many. */
int wtl_share_parse_catalog(const char *text, size_t first, struct wtl_share_channel channels[],
			    size_t n);
/* All readings, n of them: what the answer does not have is not touched. 0 or -EPROTO. */
int wtl_share_parse_readings(const char *text, struct wtl_share_reading readings[], size_t n);

/* How long after a reading a window that begins may begin with it: windows in a row lose nothing, and a reading of
 * the agent's is of the last second. */
#define WTL_SHARE_FRESH_NS (2 * WTL_NS_PER_S)
#define WTL_SHARE_SOURCE   "serve"
/* Is it a channel that an agent told? Recordings have them too. */
bool wtl_share_is_told(const struct wtl_channel *channel);

#endif
