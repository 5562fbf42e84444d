/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_PROTO_H
#define WTL_NEURAL_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Protocol Buffers in a file: a message is a sequence of fields, each a key (number and wire type) and a value. Nothing
 * is copied: what is read stays in the file's memory. Source: protobuf.dev/programming-guides/encoding.
 */

/* Borrowed bytes, without a NUL at the end. */
struct wtl_span {
	const uint8_t *at;
	size_t len;
};

enum { WTL_WIRE_VARINT = 0, WTL_WIRE_64 = 1, WTL_WIRE_BYTES = 2, WTL_WIRE_32 = 5 };

struct wtl_proto_field {
	uint32_t number;
	uint8_t wire;
	uint64_t value;	       /* of the three numeric wire types */
	struct wtl_span bytes; /* of WTL_WIRE_BYTES */
	const uint8_t *at;     /* where its key is */
};

/* The rest of a message. */
struct wtl_proto {
	const uint8_t *at, *end;
	const char *wrong; /* after a failure: why; static */
};

struct wtl_proto wtl_proto_of(struct wtl_span bytes);
/* 1: the next field; 0: the end; -WTL_EFORMAT: `at` is the malformed place. Groups, which are obsolete, are skipped. */
int wtl_proto_next(struct wtl_proto *proto, struct wtl_proto_field *ret);

/* The numbers of a repeated field, packed or single. 1: the next one of this field; 0: the end; or -WTL_EFORMAT.
 * Start with a zeroed place. */
struct wtl_proto_place {
	size_t used;
	bool done;
};
int wtl_proto_next_number(const struct wtl_proto_field *field, uint8_t wire,
			  struct wtl_proto_place *place, uint64_t *ret);

bool wtl_span_is(struct wtl_span span, const char *text);
bool wtl_span_same(struct wtl_span a, struct wtl_span b);

#endif
