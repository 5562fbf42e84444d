/* SPDX-License-Identifier: MIT */
#include "neural/proto.h"

#include <string.h>

#include "base/err.h"

enum { WIRE_GROUP = 3, WIRE_GROUP_END = 4, VARINT_MAX = 10, NUMBER_MAX = (1 << 29) - 1 };

struct wtl_proto wtl_proto_of(struct wtl_span bytes)
{
	return (struct wtl_proto){.at = bytes.at, .end = bytes.at ? bytes.at + bytes.len : NULL};
}

static int fail(struct wtl_proto *proto, const char *wrong)
{
	proto->wrong = wrong;
	return -WTL_EFORMAT;
}

static int read_varint(struct wtl_proto *proto, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < VARINT_MAX; i++) {
		if (proto->at == proto->end)
			return fail(proto, "the file ends within a number");
		uint8_t byte = *proto->at++;
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!(byte & 0x80)) {
			*ret = value;
			return 0;
		}
	}
	return fail(proto, "a number is longer than 10 bytes");
}

static int read_fixed(struct wtl_proto *proto, size_t size, uint64_t *ret)
{
	uint64_t value = 0;

	if ((size_t)(proto->end - proto->at) < size)
		return fail(proto, "the message ends within a number");
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)proto->at[i] << (8 * i);
	proto->at += size;
	*ret = value;
	return 0;
}

static int read_bytes(struct wtl_proto *proto, struct wtl_span *ret)
{
	uint64_t len;
	int rc = read_varint(proto, &len);

	if (rc < 0)
		return rc;
	if (len > (uint64_t)(proto->end - proto->at))
		return fail(proto, "a length leads beyond the end of the file or of its message");
	*ret = (struct wtl_span){proto->at, (size_t)len};
	proto->at += len;
	return 0;
}

/* Reads a key and its value; of a group only the key. */
static int read_field(struct wtl_proto *proto, struct wtl_proto_field *ret)
{
	uint64_t key;
	int rc;

	*ret = (struct wtl_proto_field){.at = proto->at};
	rc = read_varint(proto, &key);
	if (rc < 0)
		return rc;
	ret->wire = key & 7;
	if (key >> 3 == 0 || key >> 3 > NUMBER_MAX)
		return fail(proto, "this is no field of a message");
	ret->number = (uint32_t)(key >> 3);
	switch (ret->wire) {
	case WTL_WIRE_VARINT:
		return read_varint(proto, &ret->value);
	case WTL_WIRE_64:
		return read_fixed(proto, 8, &ret->value);
	case WTL_WIRE_32:
		return read_fixed(proto, 4, &ret->value);
	case WTL_WIRE_BYTES:
		return read_bytes(proto, &ret->bytes);
	case WIRE_GROUP:
	case WIRE_GROUP_END:
		return 0;
	default:
		return fail(proto, "this is no field of a message");
	}
}

int wtl_proto_next(struct wtl_proto *proto, struct wtl_proto_field *ret)
{
	uint64_t depth = 0;

	while (proto->at < proto->end) {
		const uint8_t *start = proto->at;
		int rc = read_field(proto, ret);

		if (rc < 0) {
			proto->at = start;
			return rc;
		}
		if (ret->wire == WIRE_GROUP) {
			depth++;
		} else if (ret->wire == WIRE_GROUP_END) {
			if (depth == 0)
				return fail(proto, "a group ends that has not begun");
			depth--;
		} else if (depth == 0) {
			return 1;
		}
	}
	return depth ? fail(proto, "a group has no end") : 0;
}

int wtl_proto_next_number(const struct wtl_proto_field *field, uint8_t wire,
			  struct wtl_proto_place *place, uint64_t *ret)
{
	struct wtl_proto rest;
	int rc;

	if (place->done)
		return 0;
	if (field->wire != WTL_WIRE_BYTES) {
		place->done = true;
		*ret = field->value;
		return field->wire == wire ? 1 : -WTL_EFORMAT;
	}
	if (place->used == field->bytes.len)
		return 0;
	rest = (struct wtl_proto){.at = field->bytes.at + place->used,
				  .end = field->bytes.at + field->bytes.len};
	rc = wire == WTL_WIRE_VARINT ? read_varint(&rest, ret)
				     : read_fixed(&rest, wire == WTL_WIRE_64 ? 8 : 4, ret);
	place->used = (size_t)(rest.at - field->bytes.at);
	return rc < 0 ? rc : 1;
}

bool wtl_span_is(struct wtl_span span, const char *text)
{
	return wtl_span_same(span, (struct wtl_span){(const uint8_t *)text, strlen(text)});
}

bool wtl_span_same(struct wtl_span a, struct wtl_span b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.at, b.at, a.len) == 0);
}
