/* SPDX-License-Identifier: MIT */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/infile.h"
#include "base/text.h"
#include "neural/onnx_state.h"

/* Constant tensors: their sizes, and the numbers of those that can be shapes. Weights are not read. */

enum { REALS_MAX = 16, LOCATION_MAX = 1024 };

static int fail_tensor(struct wtl_onnx_state *state, int code, const struct wtl_onnx_tensor *tensor,
		       const char *what)
{
	char name[80];

	return wtl_onnx_fail(
		&state->bytes, code, tensor->at, "tensor '%s': %s",
		wtl_text_clean(name, sizeof(name), (const char *)tensor->name.at, tensor->name.len),
		what);
}

static int add_storage(struct wtl_onnx_state *state, int type, uint64_t elements, uint64_t bytes,
		       bool is_scalar, uint32_t *ret)
{
	struct wtl_onnx_storage *storage = wtl_arena_add(&state->bytes.arena, &state->storages,
							 &state->n_storages, sizeof(*storage));

	if (!storage || state->n_storages >= UINT32_MAX)
		return wtl_onnx_no_memory(&state->bytes);
	*storage = (struct wtl_onnx_storage){
		.type = type, .elements = elements, .bytes = bytes, .is_scalar = is_scalar};
	*ret = (uint32_t)state->n_storages;
	return 0;
}

struct wtl_onnx_storage *wtl_onnx_const_storage(struct wtl_onnx_state *state,
						struct wtl_onnx_value *value, int *ret_rc)
{
	uint64_t elements = 1, bytes;

	*ret_rc = 0;
	if (value->storage > 0)
		return &state->storages[value->storage - 1];
	for (int i = 0; i < value->rank; i++) {
		if (!value->dims[i].known || value->dims[i].is.whole < 0)
			return NULL;
		if (__builtin_mul_overflow(elements, (uint64_t)value->dims[i].is.whole, &elements))
			goto too_large;
	}
	if (value->rank < 0)
		return NULL;
	if (wtl_onnx_type_bytes(value->type, elements, &bytes) < 0)
		goto too_large;
	*ret_rc =
		add_storage(state, value->type, elements, bytes, value->rank == 0, &value->storage);
	return *ret_rc < 0 ? NULL : &state->storages[value->storage - 1];
too_large:
	*ret_rc = wtl_onnx_fail(&state->bytes, EOVERFLOW, NULL,
				"the size of a constant does not fit into 64 bits");
	return NULL;
}

/* ---- Data in other files ---- */

static int open_external(struct wtl_onnx_state *state, const struct wtl_onnx_tensor *tensor)
{
	char path[LOCATION_MAX], text[256], shown[120];
	int fd;

	if (tensor->location.len == 0 || tensor->location.len >= sizeof(path) ||
	    memchr(tensor->location.at, '\0', tensor->location.len))
		return fail_tensor(
			state, WTL_EFORMAT, tensor,
			"its data are in another file, whose name is missing or too long");
	memcpy(path, tensor->location.at, tensor->location.len);
	path[tensor->location.len] = '\0';
	wtl_text_clean(shown, sizeof(shown), path, strlen(path));
	if (path[0] == '/' || strcmp(path, "..") == 0 || wtl_text_starts(path, "../") ||
	    strstr(path, "/../")) {
		snprintf(text, sizeof(text),
			 "its data are in '%s', which is not below the model's folder", shown);
		return fail_tensor(state, WTL_EFORMAT, tensor, text);
	}
	fd = wtl_infile_open_at(state->directory, path);
	if (fd >= 0)
		return fd;
	snprintf(text, sizeof(text), "its data are in '%s' beside the model: %s", shown,
		 wtl_err_text(fd));
	return fail_tensor(state, fd, tensor, text);
}

/* Checks an open file of external data, and reads `size` bytes of it. */
static int look_into(struct wtl_onnx_state *state, const struct wtl_onnx_tensor *tensor, int fd,
		     uint64_t wanted, void *buffer, size_t size)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return -errno;
	if (!S_ISREG(stat.st_mode))
		return -WTL_ENOTFILE;
	if (tensor->external_offset > (uint64_t)stat.st_size ||
	    wanted > (uint64_t)stat.st_size - tensor->external_offset)
		return -WTL_EFORMAT;
	if (size > 0 && pread(fd, buffer, size, (off_t)tensor->external_offset) != (ssize_t)size)
		return -EIO;
	state->last_location = tensor->location;
	state->last_size = (uint64_t)stat.st_size;
	return 0;
}

/* Whether it is the file that was checked last, and has the bytes. */
static bool is_known_there(const struct wtl_onnx_state *state, const struct wtl_onnx_tensor *tensor,
			   uint64_t wanted)
{
	return tensor->location.len > 0 && wtl_span_same(tensor->location, state->last_location) &&
	       tensor->external_offset <= state->last_size &&
	       wanted <= state->last_size - tensor->external_offset;
}

/* Checks that the file has the `wanted` bytes; `size` of them are read into buffer, if they can be a shape. */
static int check_external(struct wtl_onnx_state *state, const struct wtl_onnx_tensor *tensor,
			  uint64_t wanted, void *buffer, size_t size)
{
	int fd, rc;

	if (tensor->has_external_len && tensor->external_len != wanted)
		return fail_tensor(state, WTL_EFORMAT, tensor,
				   "the length of its external data is not that of its shape");
	if (size == 0 && is_known_there(state, tensor, wanted))
		return 0;
	fd = open_external(state, tensor);
	if (fd < 0)
		return fd;
	rc = look_into(state, tensor, fd, wanted, buffer, size);
	close(fd);
	if (rc == -WTL_EFORMAT)
		return fail_tensor(state, WTL_EFORMAT, tensor,
				   "its external data end beyond the end of their file");
	return rc < 0 ? fail_tensor(state, rc, tensor, wtl_err_text(rc)) : 0;
}

/* ---- Numbers ---- */

static union wtl_onnx_scalar read_raw(int type, const uint8_t *at)
{
	union wtl_onnx_scalar value = {0};
	unsigned int bytes = wtl_onnx_type_bits(type) / 8;
	uint64_t bits = 0;
	uint32_t low;
	float real;

	for (unsigned int i = 0; i < bytes; i++)
		bits |= (uint64_t)at[i] << (8 * i);
	low = (uint32_t)bits;
	if (type == WTL_ONNX_FLOAT) {
		memcpy(&real, &low, sizeof(real));
		value.real = (double)real;
	} else if (type == WTL_ONNX_INT32) {
		value.whole = (int32_t)low;
	} else {
		memcpy(&value, &bits, sizeof(value)); /* double, int64 and unsigned types */
	}
	if (type == WTL_ONNX_INT8)
		value.whole = (int8_t)(uint8_t)low;
	return value;
}

/* Whether a small tensor's numbers can be a shape, or scales of one. */
static bool wants_numbers(const struct wtl_onnx_tensor *tensor, uint64_t elements)
{
	switch (tensor->type) {
	case WTL_ONNX_INT32:
	case WTL_ONNX_INT64:
	case WTL_ONNX_BOOL:
		return elements <= WTL_ONNX_NUMBERS_MAX;
	case WTL_ONNX_FLOAT:
	case WTL_ONNX_DOUBLE:
		return elements <= REALS_MAX;
	default:
		return false;
	}
}

static int set_numbers(struct wtl_onnx_state *state, const struct wtl_onnx_tensor *tensor,
		       const uint8_t *raw, uint64_t elements, struct wtl_onnx_value *ret)
{
	size_t step = wtl_onnx_type_bits(tensor->type) / 8;

	if (!raw && tensor->n_numbers != elements)
		return 0;
	ret->numbers = wtl_arena_new(&state->bytes.arena, elements, sizeof(*ret->numbers));
	if (!ret->numbers)
		return wtl_onnx_no_memory(&state->bytes);
	ret->n_numbers = elements;
	for (size_t i = 0; i < elements; i++) {
		ret->numbers[i].known = true;
		ret->numbers[i].is =
			raw ? read_raw(tensor->type, raw + i * step) : tensor->numbers[i];
	}
	return 0;
}

static int set_data(struct wtl_onnx_state *state, const struct wtl_onnx_tensor *tensor,
		    uint64_t elements, uint64_t bytes, struct wtl_onnx_value *ret)
{
	uint8_t external[WTL_ONNX_NUMBERS_MAX * 8];
	const uint8_t *raw = NULL;
	bool wants = wants_numbers(tensor, elements);

	if (tensor->is_external && state->directory >= 0) {
		int rc = check_external(state, tensor, bytes, external, wants ? bytes : 0);

		if (rc < 0)
			return rc;
		raw = external;
	} else if (tensor->is_external) {
		return 0;
	} else if (tensor->has_raw && tensor->type != 0 && wtl_onnx_type_bits(tensor->type)) {
		if (tensor->raw.len != bytes)
			return fail_tensor(state, WTL_EFORMAT, tensor,
					   "its data are not as long as its shape says");
		raw = tensor->raw.at;
	} else if (tensor->n_packed_floats > 0 && tensor->type == WTL_ONNX_FLOAT &&
		   tensor->n_packed_floats != elements) {
		return fail_tensor(state, WTL_EFORMAT, tensor,
				   "its data are not as long as its shape says");
	}
	return wants ? set_numbers(state, tensor, raw, elements, ret) : 0;
}

int wtl_onnx_const_tensor(struct wtl_onnx_state *state, struct wtl_span message,
			  struct wtl_span *ret_name, struct wtl_onnx_value *ret)
{
	struct wtl_onnx_tensor tensor;
	uint64_t elements = 1, bytes;
	int rc = wtl_onnx_read_tensor(&state->bytes, message, &tensor);

	if (rc < 0)
		return rc;
	if (tensor.dims.n > WTL_ONNX_RANK_MAX)
		return fail_tensor(state, WTL_EFORMAT, &tensor, "it has more than 64 dimensions");
	*ret_name = tensor.name;
	*ret = (struct wtl_onnx_value){
		.type = tensor.type, .rank = (int)tensor.dims.n, .is_const = true};
	ret->dims = wtl_arena_new(&state->bytes.arena, tensor.dims.n, sizeof(*ret->dims));
	if (!ret->dims)
		return wtl_onnx_no_memory(&state->bytes);
	for (size_t i = 0; i < tensor.dims.n; i++) {
		ret->dims[i] = wtl_onnx_known(tensor.dims.of[i]);
		if (__builtin_mul_overflow(elements, (uint64_t)tensor.dims.of[i], &elements))
			return fail_tensor(state, EOVERFLOW, &tensor,
					   "its sizes multiply to more than 64 bits hold");
	}
	if (wtl_onnx_type_bytes(tensor.type, elements, &bytes) < 0)
		return fail_tensor(state, EOVERFLOW, &tensor,
				   "its bytes are more than 64 bits hold");
	rc = set_data(state, &tensor, elements, bytes, ret);
	if (rc < 0)
		return rc;
	return add_storage(state, tensor.type, elements, bytes, tensor.dims.n == 0, &ret->storage);
}

static int set_dims(struct wtl_onnx_state *state, const uint8_t *at,
		    const struct wtl_onnx_ints *dims, struct wtl_onnx_value *ret)
{
	if (dims->n > WTL_ONNX_RANK_MAX)
		return wtl_onnx_fail(&state->bytes, WTL_EFORMAT, at,
				     "a sparse tensor has more than %d dimensions",
				     WTL_ONNX_RANK_MAX);
	ret->rank = (int)dims->n;
	ret->dims = wtl_arena_new(&state->bytes.arena, dims->n, sizeof(*ret->dims));
	if (!ret->dims)
		return wtl_onnx_no_memory(&state->bytes);
	for (size_t i = 0; i < dims->n; i++) {
		if (dims->of[i] < 0)
			return wtl_onnx_fail(&state->bytes, WTL_EFORMAT, at,
					     "a sparse tensor has a size of %lld",
					     (long long)dims->of[i]);
		ret->dims[i] = wtl_onnx_known(dims->of[i]);
	}
	return 0;
}

/* Fields: values (1), indices (2) and the shape (3). Only the values count as stored. */
int wtl_onnx_const_sparse(struct wtl_onnx_state *state, struct wtl_span message,
			  struct wtl_span *ret_name, struct wtl_onnx_value *ret)
{
	struct wtl_proto proto = wtl_proto_of(message);
	struct wtl_onnx_ints dims = {0};
	struct wtl_proto_field field;
	int rc;

	*ret = (struct wtl_onnx_value){.rank = -1, .is_const = true};
	*ret_name = (struct wtl_span){0};
	while ((rc = wtl_onnx_next(&state->bytes, &proto, &field)) > 0) {
		if (field.number == 1 && field.wire == WTL_WIRE_BYTES)
			rc = wtl_onnx_const_tensor(state, field.bytes, ret_name, ret);
		else if (field.number == 3)
			rc = wtl_onnx_add_ints(&state->bytes, &field, &dims);
		if (rc < 0)
			return rc;
	}
	ret->numbers = NULL;
	ret->n_numbers = 0;
	return rc < 0 ? rc : set_dims(state, message.at, &dims, ret);
}

/* ---- Constant nodes ---- */

static int set_list(struct wtl_onnx_state *state, const struct wtl_onnx_attr *attr, bool is_list,
		    struct wtl_onnx_value *ret)
{
	bool is_real = ret->type == WTL_ONNX_FLOAT;
	size_t n = !is_list ? 1 : is_real ? attr->n_reals : attr->ints.n;

	ret->rank = is_list;
	ret->dims = wtl_arena_new(&state->bytes.arena, 1, sizeof(*ret->dims));
	if (!ret->dims)
		return wtl_onnx_no_memory(&state->bytes);
	ret->dims[0] = wtl_onnx_known((int64_t)n);
	if (n > WTL_ONNX_NUMBERS_MAX)
		return 0;
	ret->numbers = wtl_arena_new(&state->bytes.arena, n, sizeof(*ret->numbers));
	if (!ret->numbers)
		return wtl_onnx_no_memory(&state->bytes);
	ret->n_numbers = n;
	for (size_t i = 0; i < n; i++) {
		ret->numbers[i].known = true;
		if (is_real)
			ret->numbers[i].is.real = (double)(is_list ? attr->reals[i] : attr->real);
		else
			ret->numbers[i].is.whole = is_list ? attr->ints.of[i] : attr->number;
	}
	return 0;
}

int wtl_onnx_const_node(struct wtl_onnx_state *state, const struct wtl_onnx_node *node,
			struct wtl_onnx_value *ret)
{
	struct wtl_span name;

	*ret = (struct wtl_onnx_value){.rank = -1, .is_const = true};
	for (size_t i = 0; i < node->n_attrs; i++) {
		const struct wtl_onnx_attr *attr = &node->attrs[i];

		if (attr->has_tensor)
			return wtl_onnx_const_tensor(state, attr->tensor, &name, ret);
		if (attr->has_sparse)
			return wtl_onnx_const_sparse(state, attr->sparse, &name, ret);
		if (wtl_span_is(attr->name, "value_int") || wtl_span_is(attr->name, "value_ints"))
			ret->type = WTL_ONNX_INT64;
		else if (wtl_span_is(attr->name, "value_float") ||
			 wtl_span_is(attr->name, "value_floats"))
			ret->type = WTL_ONNX_FLOAT;
		if (ret->type)
			return set_list(state, attr, attr->name.at[attr->name.len - 1] == 's', ret);
	}
	return 0;
}
