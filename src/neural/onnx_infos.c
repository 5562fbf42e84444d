/* SPDX-License-Identifier: MIT */
#include "base/err.h"
#include "neural/onnx_frame.h"

/* Shapes in the file of values between nodes (ValueInfo): for ops without a rule, and sizes that no rule finds. */

struct wtl_span wtl_onnx_info_name(struct wtl_span message)
{
	struct wtl_proto proto = wtl_proto_of(message);
	struct wtl_proto_field field;

	while (wtl_proto_next(&proto, &field) > 0)
		if (field.number == 1 && field.wire == WTL_WIRE_BYTES)
			return field.bytes;
	return (struct wtl_span){0};
}

static bool is_info(const void *context, uint32_t value, const void *key)
{
	const struct wtl_onnx_frame *frame = context;

	return wtl_span_same(wtl_onnx_info_name(frame->info[value]), *(const struct wtl_span *)key);
}

/* Fields 12 and 13: outputs, and values in between. */
static int read_infos(struct wtl_onnx_frame *frame)
{
	struct wtl_onnx_bytes *bytes = &frame->state->bytes;
	struct wtl_proto proto = wtl_proto_of(frame->message);
	struct wtl_proto_field field;
	int rc;

	frame->has_infos = true;
	while ((rc = wtl_onnx_next(bytes, &proto, &field)) > 0) {
		struct wtl_span name, *added;
		uint32_t sum;

		if ((field.number != 12 && field.number != 13) || field.wire != WTL_WIRE_BYTES)
			continue;
		name = wtl_onnx_info_name(field.bytes);
		sum = wtl_hash_bytes(name.at, name.len);
		if (wtl_hash_find(&frame->infos, sum, is_info, frame, &name))
			continue;
		added = wtl_arena_add(&bytes->arena, &frame->info, &frame->n_info, sizeof(*added));
		if (!added || wtl_hash_reserve(&frame->infos, frame->n_info) < 0)
			return wtl_onnx_no_memory(&frame->state->bytes);
		*added = field.bytes;
		wtl_hash_add(&frame->infos, sum, (uint32_t)(frame->n_info - 1));
	}
	return rc;
}

static int take_sizes(struct wtl_onnx_bytes *bytes, const struct wtl_onnx_info *info,
		      struct wtl_onnx_value *value)
{
	struct wtl_onnx_number *dims =
		wtl_arena_new(&bytes->arena, (size_t)info->rank, sizeof(*dims));

	if (!dims)
		return wtl_onnx_no_memory(bytes);
	for (int i = 0; i < info->rank; i++) {
		if (value->rank >= 0)
			dims[i] = value->dims[i];
		if (!dims[i].known && dims[i].open == 0 && info->dims[i].size >= 0)
			dims[i] = wtl_onnx_known(info->dims[i].size);
	}
	value->rank = info->rank;
	value->dims = dims;
	return 0;
}

static bool lacks_shape(const struct wtl_onnx_value *value)
{
	if (value->rank < 0)
		return value->open == 0;
	for (int i = 0; i < value->rank; i++)
		if (!value->dims[i].known && value->dims[i].open == 0)
			return true;
	return false;
}

int wtl_onnx_fill_from_info(struct wtl_onnx_frame *frame, struct wtl_span name,
			    struct wtl_onnx_value *value)
{
	struct wtl_onnx_bytes *bytes = &frame->state->bytes;
	struct wtl_onnx_info info;
	const uint32_t *at;
	int rc = 0;

	if (name.len == 0 || !lacks_shape(value))
		return 0;
	if (!frame->has_infos)
		rc = read_infos(frame);
	if (rc < 0)
		return rc;
	at = wtl_hash_find(&frame->infos, wtl_hash_bytes(name.at, name.len), is_info, frame, &name);
	rc = at ? wtl_onnx_read_info(bytes, frame->info[*at], &info) : 0;
	if (!at || rc < 0)
		return rc;
	if (value->rank < 0 && info.type)
		value->type = info.type;
	if (info.rank < 0 || info.rank > WTL_ONNX_RANK_MAX ||
	    (value->rank >= 0 && value->rank != info.rank))
		return 0;
	return take_sizes(bytes, &info, value);
}
