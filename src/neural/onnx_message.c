/* SPDX-License-Identifier: MIT */
#include "neural/onnx_message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"

static float float_of(uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float value;

	memcpy(&value, &low, sizeof(value));
	return value;
}

static double double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* ---- Errors ---- */

int wtl_onnx_fail(struct wtl_onnx_bytes *bytes, int code, const uint8_t *at, const char *format,
		  ...)
{
	char text[256], place[48] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (at && at >= bytes->at && at <= bytes->at + bytes->len)
		snprintf(place, sizeof(place), "byte %zu: ", (size_t)(at - bytes->at));
	return wtl_err_set(bytes->err, code, "", bytes->path, "%s%s%s%s", place, bytes->where,
			   *bytes->where ? ": " : "", text);
}

int wtl_onnx_no_memory(struct wtl_onnx_bytes *bytes)
{
	return wtl_onnx_fail(bytes, ENOMEM, NULL,
			     "its graph needs more than %zu MB to be read, or memory ends",
			     bytes->arena.max >> 20);
}

int wtl_onnx_next(struct wtl_onnx_bytes *bytes, struct wtl_proto *proto,
		  struct wtl_proto_field *ret)
{
	int rc = wtl_proto_next(proto, ret);

	if (rc < 0)
		return wtl_onnx_fail(bytes, WTL_EFORMAT, proto->at,
				     "this is no ONNX model, or it is damaged: %s", proto->wrong);
	return rc;
}

static int wrong_field(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field)
{
	return wtl_onnx_fail(bytes, WTL_EFORMAT, field->at,
			     "field %u has not the type that ONNX gives it", field->number);
}

/* ---- Fields ---- */

int wtl_onnx_read_text(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field,
		       struct wtl_span *ret)
{
	if (field->wire != WTL_WIRE_BYTES)
		return wrong_field(bytes, field);
	*ret = field->bytes;
	return 0;
}

static int read_int(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field, int64_t *ret)
{
	if (field->wire != WTL_WIRE_VARINT)
		return wrong_field(bytes, field);
	*ret = (int64_t)field->value;
	return 0;
}

int wtl_onnx_add_span(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field,
		      struct wtl_onnx_spans *to)
{
	struct wtl_span *added;

	if (field->wire != WTL_WIRE_BYTES)
		return wrong_field(bytes, field);
	added = wtl_arena_add(&bytes->arena, &to->of, &to->n, sizeof(*to->of));
	if (!added)
		return wtl_onnx_no_memory(bytes);
	*added = field->bytes;
	return 0;
}

int wtl_onnx_add_ints(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field,
		      struct wtl_onnx_ints *to)
{
	struct wtl_proto_place place = {0};
	uint64_t value = 0;
	int rc;

	while ((rc = wtl_proto_next_number(field, WTL_WIRE_VARINT, &place, &value)) > 0) {
		int64_t *added = wtl_arena_add(&bytes->arena, &to->of, &to->n, sizeof(*to->of));
		if (!added)
			return wtl_onnx_no_memory(bytes);
		*added = (int64_t)value;
	}
	return rc < 0 ? wrong_field(bytes, field) : 0;
}

static int add_reals(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field,
		     struct wtl_onnx_attr *to)
{
	struct wtl_proto_place place = {0};
	uint64_t value = 0;
	int rc;

	while ((rc = wtl_proto_next_number(field, WTL_WIRE_32, &place, &value)) > 0) {
		float *added =
			wtl_arena_add(&bytes->arena, &to->reals, &to->n_reals, sizeof(*to->reals));
		if (!added)
			return wtl_onnx_no_memory(bytes);
		*added = float_of(value);
	}
	return rc < 0 ? wrong_field(bytes, field) : 0;
}

/* ---- Nodes ---- */

static int read_attr_field(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field,
			   struct wtl_onnx_attr *ret)
{
	switch (field->number) {
	case 1:
		return wtl_onnx_read_text(bytes, field, &ret->name);
	case 2:
		ret->has_float = field->wire == WTL_WIRE_32;
		ret->real = float_of(field->value);
		return ret->has_float ? 0 : wrong_field(bytes, field);
	case 3:
		ret->has_int = true;
		return read_int(bytes, field, &ret->number);
	case 4:
		ret->is_text = true;
		return wtl_onnx_read_text(bytes, field, &ret->text);
	case 5:
		ret->has_tensor = true;
		return wtl_onnx_read_text(bytes, field, &ret->tensor);
	case 6:
		ret->has_graph = true;
		return wtl_onnx_read_text(bytes, field, &ret->graph);
	case 7:
		return add_reals(bytes, field, ret);
	case 8:
		return wtl_onnx_add_ints(bytes, field, &ret->ints);
	case 9:
		return wtl_onnx_add_span(bytes, field, &ret->texts);
	case 11:
		ret->n_graphs++;
		return 0;
	case 21:
		return wtl_onnx_read_text(bytes, field, &ret->reference);
	case 22:
		ret->has_sparse = true;
		return wtl_onnx_read_text(bytes, field, &ret->sparse);
	default:
		return 0;
	}
}

int wtl_onnx_read_attr(struct wtl_onnx_bytes *bytes, struct wtl_span message,
		       struct wtl_onnx_attr *ret)
{
	struct wtl_proto proto = wtl_proto_of(message);
	struct wtl_proto_field field;
	int rc;

	*ret = (struct wtl_onnx_attr){0};
	while ((rc = wtl_onnx_next(bytes, &proto, &field)) > 0) {
		rc = read_attr_field(bytes, &field, ret);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int add_attr(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field,
		    struct wtl_onnx_node *ret)
{
	struct wtl_onnx_attr *attr;

	if (field->wire != WTL_WIRE_BYTES)
		return wrong_field(bytes, field);
	attr = wtl_arena_add(&bytes->arena, &ret->attrs, &ret->n_attrs, sizeof(*ret->attrs));
	if (!attr)
		return wtl_onnx_no_memory(bytes);
	return wtl_onnx_read_attr(bytes, field->bytes, attr);
}

static int read_node_field(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field,
			   struct wtl_onnx_node *ret)
{
	switch (field->number) {
	case 1:
		return wtl_onnx_add_span(bytes, field, &ret->in);
	case 2:
		return wtl_onnx_add_span(bytes, field, &ret->out);
	case 3:
		return wtl_onnx_read_text(bytes, field, &ret->name);
	case 4:
		return wtl_onnx_read_text(bytes, field, &ret->op);
	case 5:
		return add_attr(bytes, field, ret);
	case 7:
		return wtl_onnx_read_text(bytes, field, &ret->domain);
	case 8:
		return wtl_onnx_read_text(bytes, field, &ret->overload);
	default:
		return 0;
	}
}

int wtl_onnx_read_node(struct wtl_onnx_bytes *bytes, struct wtl_span message,
		       struct wtl_onnx_node *ret)
{
	struct wtl_proto proto = wtl_proto_of(message);
	struct wtl_proto_field field;
	int rc;

	*ret = (struct wtl_onnx_node){.at = message.at};
	while ((rc = wtl_onnx_next(bytes, &proto, &field)) > 0) {
		rc = read_node_field(bytes, &field, ret);
		if (rc < 0)
			return rc;
	}
	/* "ai.onnx" means the default domain, whose name is empty. */
	if (wtl_span_is(ret->domain, "ai.onnx"))
		ret->domain.len = 0;
	return rc;
}

const struct wtl_onnx_attr *wtl_onnx_attr(const struct wtl_onnx_node *node, const char *name)
{
	for (size_t i = 0; i < node->n_attrs; i++)
		if (wtl_span_is(node->attrs[i].name, name))
			return &node->attrs[i];
	return NULL;
}

int64_t wtl_onnx_attr_int(const struct wtl_onnx_node *node, const char *name, int64_t otherwise)
{
	const struct wtl_onnx_attr *attr = wtl_onnx_attr(node, name);

	return attr && attr->has_int ? attr->number : otherwise;
}

bool wtl_onnx_attr_is(const struct wtl_onnx_node *node, const char *name, const char *text)
{
	const struct wtl_onnx_attr *attr = wtl_onnx_attr(node, name);

	return attr && wtl_span_is(attr->text, text);
}

/* ---- Tensors ---- */

/* double_data, int32_data and the like: the first WTL_ONNX_NUMBERS_MAX + 1 of them. */
static int add_numbers(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field,
		       uint8_t wire, struct wtl_onnx_tensor *ret)
{
	struct wtl_proto_place place = {0};
	uint64_t value = 0;
	int rc = 0;

	if (wire == WTL_WIRE_32 && field->wire == WTL_WIRE_BYTES)
		ret->n_packed_floats += field->bytes.len / 4;
	while (ret->n_numbers <= WTL_ONNX_NUMBERS_MAX &&
	       (rc = wtl_proto_next_number(field, wire, &place, &value)) > 0) {
		union wtl_onnx_scalar *added = wtl_arena_add(
			&bytes->arena, &ret->numbers, &ret->n_numbers, sizeof(*ret->numbers));
		if (!added)
			return wtl_onnx_no_memory(bytes);
		if (wire == WTL_WIRE_VARINT)
			added->whole = (int64_t)value;
		else
			added->real =
				wire == WTL_WIRE_32 ? (double)float_of(value) : double_of(value);
	}
	return rc < 0 ? wrong_field(bytes, field) : 0;
}

/* Reads a key and its value, both texts. */
static int read_external(struct wtl_onnx_bytes *bytes, struct wtl_span message,
			 struct wtl_onnx_tensor *ret)
{
	struct wtl_proto proto = wtl_proto_of(message);
	struct wtl_span key = {0}, value = {0};
	struct wtl_proto_field field;
	int rc;

	while ((rc = wtl_onnx_next(bytes, &proto, &field)) > 0) {
		if (field.number == 1 || field.number == 2)
			rc = wtl_onnx_read_text(bytes, &field, field.number == 1 ? &key : &value);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	if (wtl_span_is(key, "location")) {
		ret->location = value;
	} else if (wtl_span_is(key, "offset") || wtl_span_is(key, "length")) {
		uint64_t *to =
			wtl_span_is(key, "offset") ? &ret->external_offset : &ret->external_len;

		if (wtl_num_u64((const char *)value.at, value.len, to) < 0)
			return wtl_onnx_fail(bytes, WTL_EFORMAT, message.at,
					     "the place of external data is not a number");
		if (to == &ret->external_len)
			ret->has_external_len = true;
	}
	return 0;
}

static int read_tensor_field(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field,
			     struct wtl_onnx_tensor *ret)
{
	struct wtl_span text;
	int64_t number = 0;
	int rc;

	switch (field->number) {
	case 1:
		return wtl_onnx_add_ints(bytes, field, &ret->dims);
	case 2:
		rc = read_int(bytes, field, &number);
		ret->type = number > 0 && number < WTL_ONNX_TYPES ? (int)number : 0;
		return rc;
	case 4:
		return add_numbers(bytes, field, WTL_WIRE_32, ret);
	case 5:
	case 7:
		return add_numbers(bytes, field, WTL_WIRE_VARINT, ret);
	case 8:
		return wtl_onnx_read_text(bytes, field, &ret->name);
	case 9:
		ret->has_raw = true;
		return wtl_onnx_read_text(bytes, field, &ret->raw);
	case 10:
		return add_numbers(bytes, field, WTL_WIRE_64, ret);
	case 13:
		rc = wtl_onnx_read_text(bytes, field, &text);
		return rc < 0 ? rc : read_external(bytes, text, ret);
	case 14:
		rc = read_int(bytes, field, &number);
		ret->is_external = number == 1;
		return rc;
	default:
		return 0;
	}
}

int wtl_onnx_read_tensor(struct wtl_onnx_bytes *bytes, struct wtl_span message,
			 struct wtl_onnx_tensor *ret)
{
	struct wtl_proto proto = wtl_proto_of(message);
	struct wtl_proto_field field;
	int rc;

	*ret = (struct wtl_onnx_tensor){.at = message.at};
	while ((rc = wtl_onnx_next(bytes, &proto, &field)) > 0) {
		rc = read_tensor_field(bytes, &field, ret);
		if (rc < 0)
			return rc;
	}
	for (size_t i = 0; rc == 0 && i < ret->dims.n; i++)
		if (ret->dims.of[i] < 0)
			return wtl_onnx_fail(bytes, WTL_EFORMAT, message.at,
					     "tensor '%.*s' has the size %lld",
					     (int)(ret->name.len < 100 ? ret->name.len : 100),
					     ret->name.at ? (const char *)ret->name.at : "",
					     (long long)ret->dims.of[i]);
	return rc;
}

/* ---- Types of values ---- */

static int read_dim(struct wtl_onnx_bytes *bytes, struct wtl_span message, struct wtl_onnx_dim *ret)
{
	struct wtl_proto proto = wtl_proto_of(message);
	struct wtl_proto_field field;
	int rc;

	*ret = (struct wtl_onnx_dim){.size = -1};
	while ((rc = wtl_onnx_next(bytes, &proto, &field)) > 0) {
		if (field.number == 1)
			rc = read_int(bytes, &field, &ret->size);
		else if (field.number == 2)
			rc = wtl_onnx_read_text(bytes, &field, &ret->name);
		if (rc < 0)
			return rc;
	}
	if (ret->size < 0)
		ret->size = -1;
	return rc;
}

static int read_shape(struct wtl_onnx_bytes *bytes, struct wtl_span message,
		      struct wtl_onnx_info *ret)
{
	struct wtl_proto proto = wtl_proto_of(message);
	struct wtl_proto_field field;
	size_t n = 0;
	int rc;

	while ((rc = wtl_onnx_next(bytes, &proto, &field)) > 0) {
		struct wtl_onnx_dim *dim;

		if (field.number != 1 || field.wire != WTL_WIRE_BYTES)
			continue;
		dim = wtl_arena_add(&bytes->arena, &ret->dims, &n, sizeof(*ret->dims));
		if (!dim)
			return wtl_onnx_no_memory(bytes);
		rc = read_dim(bytes, field.bytes, dim);
		if (rc < 0)
			return rc;
	}
	ret->rank = (int)n;
	return rc;
}

/* TypeProto.Tensor. */
static int read_tensor_type(struct wtl_onnx_bytes *bytes, struct wtl_span message,
			    struct wtl_onnx_info *ret)
{
	struct wtl_proto proto = wtl_proto_of(message);
	struct wtl_proto_field field;
	int64_t number = 0;
	int rc;

	ret->is_tensor = true;
	while ((rc = wtl_onnx_next(bytes, &proto, &field)) > 0) {
		if (field.number == 1) {
			rc = read_int(bytes, &field, &number);
			if (rc == 0 && number > 0 && number < WTL_ONNX_TYPES)
				ret->type = (int)number;
		} else if (field.number == 2 && field.wire == WTL_WIRE_BYTES) {
			rc = read_shape(bytes, field.bytes, ret);
		}
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int read_type(struct wtl_onnx_bytes *bytes, struct wtl_span message,
		     struct wtl_onnx_info *ret)
{
	struct wtl_proto proto = wtl_proto_of(message);
	struct wtl_proto_field field;
	int rc;

	while ((rc = wtl_onnx_next(bytes, &proto, &field)) > 0) {
		/* tensor_type and sparse_tensor_type have the same first fields. */
		if ((field.number == 1 || field.number == 8) && field.wire == WTL_WIRE_BYTES)
			rc = read_tensor_type(bytes, field.bytes, ret);
		if (rc < 0)
			return rc;
	}
	return rc;
}

int wtl_onnx_read_info(struct wtl_onnx_bytes *bytes, struct wtl_span message,
		       struct wtl_onnx_info *ret)
{
	struct wtl_proto proto = wtl_proto_of(message);
	struct wtl_proto_field field;
	int rc;

	*ret = (struct wtl_onnx_info){.at = message.at, .rank = -1};
	while ((rc = wtl_onnx_next(bytes, &proto, &field)) > 0) {
		if (field.number == 1)
			rc = wtl_onnx_read_text(bytes, &field, &ret->name);
		else if (field.number == 2 && field.wire == WTL_WIRE_BYTES)
			rc = read_type(bytes, field.bytes, ret);
		if (rc < 0)
			return rc;
	}
	return rc;
}

int wtl_onnx_read_opset(struct wtl_onnx_bytes *bytes, struct wtl_span message, int64_t *opset)
{
	struct wtl_proto proto = wtl_proto_of(message);
	struct wtl_proto_field field;
	bool is_ours = true;
	int64_t version = 0;
	int rc;

	while ((rc = wtl_onnx_next(bytes, &proto, &field)) > 0) {
		if (field.number == 1 && field.wire == WTL_WIRE_BYTES)
			is_ours = field.bytes.len == 0 || wtl_span_is(field.bytes, "ai.onnx");
		else if (field.number == 2 && field.wire == WTL_WIRE_VARINT)
			version = (int64_t)field.value;
	}
	if (rc == 0 && is_ours && version > 0)
		*opset = version;
	return rc;
}
