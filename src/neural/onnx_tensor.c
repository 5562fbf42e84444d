/* SPDX-License-Identifier: MIT */
#include "neural/onnx_tensor.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

/* ---- Element types ---- */

/* By TensorProto.DataType. */
static const struct {
	enum wtl_precision precision;
	unsigned int bits;
	bool is_real;
} types[WTL_ONNX_TYPES] = {
	[WTL_ONNX_FLOAT] = {WTL_FP32, 32, true},
	[WTL_ONNX_UINT8] = {WTL_INT8, 8, false},
	[WTL_ONNX_INT8] = {WTL_INT8, 8, false},
	[4] = {WTL_INT16, 16, false}, /* uint16 */
	[5] = {WTL_INT16, 16, false},
	[WTL_ONNX_INT32] = {WTL_INT32, 32, false},
	[WTL_ONNX_INT64] = {WTL_INT64, 64, false},
	[WTL_ONNX_STRING] = {WTL_PRECISION_UNKNOWN, 0, false},
	[WTL_ONNX_BOOL] = {WTL_BINARY, 8, false},
	[WTL_ONNX_FLOAT16] = {WTL_FP16, 16, true},
	[WTL_ONNX_DOUBLE] = {WTL_FP64, 64, true},
	[12] = {WTL_INT32, 32, false}, /* uint32 */
	[13] = {WTL_INT64, 64, false}, /* uint64 */
	[14] = {WTL_FP32, 64, false},  /* complex64 */
	[15] = {WTL_FP64, 128, false}, /* complex128 */
	[WTL_ONNX_BFLOAT16] = {WTL_BF16, 16, true},
	[17] = {WTL_FP8, 8, true}, /* this and the next three: forms of 8 bits */
	[18] = {WTL_FP8, 8, true},
	[19] = {WTL_FP8, 8, true},
	[20] = {WTL_FP8, 8, true},
	[21] = {WTL_INT4, 4, false}, /* uint4 */
	[22] = {WTL_INT4, 4, false},
	[23] = {WTL_INT4, 4, true},  /* float4e2m1: priced like int4 */
	[24] = {WTL_FP8, 8, true},   /* float8e8m0 */
	[25] = {WTL_INT2, 2, false}, /* uint2 */
	[26] = {WTL_INT2, 2, false},
};

static int checked(int type)
{
	return type > 0 && type < WTL_ONNX_TYPES ? type : 0;
}

bool wtl_onnx_type_is_real(int type)
{
	return types[checked(type)].is_real;
}

enum wtl_precision wtl_onnx_precision(const struct wtl_onnx_value *value)
{
	return value ? types[checked(value->stored ? value->stored : value->type)].precision
		     : WTL_PRECISION_UNKNOWN;
}

unsigned int wtl_onnx_type_bits(int type)
{
	return types[checked(type)].bits;
}

int wtl_onnx_type_bytes(int type, uint64_t n, uint64_t *ret)
{
	uint64_t bits;

	if (__builtin_mul_overflow(n, (uint64_t)wtl_onnx_type_bits(type), &bits))
		return -1;
	*ret = bits / 8 + (bits % 8 != 0);
	return 0;
}

/* ---- Numbers ---- */

struct wtl_onnx_number wtl_onnx_known(int64_t value)
{
	return (struct wtl_onnx_number){.known = true, .is.whole = value};
}

struct wtl_onnx_number wtl_onnx_unknown(uint32_t open)
{
	return (struct wtl_onnx_number){.open = open};
}

uint32_t wtl_onnx_open_of(struct wtl_onnx_number a, struct wtl_onnx_number b)
{
	if (a.known)
		return b.open;
	return a.open ? a.open : b.open;
}

struct wtl_onnx_number wtl_onnx_add(struct wtl_onnx_number a, struct wtl_onnx_number b)
{
	int64_t sum;

	if (!a.known || !b.known)
		return wtl_onnx_unknown(wtl_onnx_open_of(a, b));
	return __builtin_add_overflow(a.is.whole, b.is.whole, &sum) ? wtl_onnx_unknown(0)
								    : wtl_onnx_known(sum);
}

struct wtl_onnx_number wtl_onnx_times(struct wtl_onnx_number a, struct wtl_onnx_number b)
{
	int64_t product;

	if (!a.known || !b.known)
		return wtl_onnx_unknown(wtl_onnx_open_of(a, b));
	return __builtin_mul_overflow(a.is.whole, b.is.whole, &product) ? wtl_onnx_unknown(0)
									: wtl_onnx_known(product);
}

struct wtl_onnx_number wtl_onnx_divide(struct wtl_onnx_number a, int64_t by)
{
	if (!a.known)
		return a;
	return by > 0 ? wtl_onnx_known(a.is.whole / by) : wtl_onnx_unknown(0);
}

bool wtl_onnx_is(struct wtl_onnx_number a, int64_t value)
{
	return a.known && a.is.whole == value;
}

/* ---- Values ---- */

struct wtl_onnx_value *wtl_onnx_in(const struct wtl_onnx_call *call, size_t i)
{
	return i < call->n_in ? call->in[i] : NULL;
}

bool wtl_onnx_has_rank(const struct wtl_onnx_value *value)
{
	return value && value->rank >= 0;
}

struct wtl_onnx_value *wtl_onnx_in_with_rank(struct wtl_onnx_call *call, size_t i)
{
	struct wtl_onnx_value *in = wtl_onnx_in(call, i);

	if (call->n_out == 0)
		return NULL;
	if (wtl_onnx_has_rank(in))
		return in;
	call->out[0].open = in ? in->open : 0;
	return NULL;
}

int wtl_onnx_set_rank(struct wtl_onnx_call *call, size_t i, int64_t rank)
{
	if (i >= call->n_out)
		return 0;
	if (rank < 0 || rank > WTL_ONNX_RANK_MAX)
		return wtl_onnx_fail(call->bytes, WTL_EFORMAT, call->node->at,
				     "its result would have %lld dimensions", (long long)rank);
	call->out[i].dims =
		wtl_arena_new(&call->bytes->arena, (size_t)rank, sizeof(*call->out[i].dims));
	if (!call->out[i].dims)
		return wtl_onnx_no_memory(call->bytes);
	call->out[i].rank = (int)rank;
	return 0;
}

void wtl_onnx_set_shape(struct wtl_onnx_call *call, size_t i, const struct wtl_onnx_value *of)
{
	if (i >= call->n_out || !of)
		return;
	/* Shapes do not change once a node is done, so they may be shared. */
	call->out[i].rank = of->rank;
	call->out[i].dims = of->dims;
	call->out[i].open = of->open;
}

int wtl_onnx_set_numbers(struct wtl_onnx_call *call, size_t i, size_t n)
{
	call->out[i].numbers = wtl_arena_new(&call->bytes->arena, n, sizeof(*call->out[i].numbers));
	if (!call->out[i].numbers)
		return wtl_onnx_no_memory(call->bytes);
	call->out[i].n_numbers = n;
	return 0;
}

bool wtl_onnx_numbers_of(const struct wtl_onnx_call *call, size_t i, const char *attr,
			 struct wtl_onnx_numbers *ret)
{
	const struct wtl_onnx_attr *found = attr ? wtl_onnx_attr(call->node, attr) : NULL;
	const struct wtl_onnx_value *value = wtl_onnx_in(call, i);

	*ret = (struct wtl_onnx_numbers){0};
	if (found && !found->reference.len) {
		size_t n = found->has_int ? 1 : found->ints.n;
		struct wtl_onnx_number *numbers =
			wtl_arena_new(&call->bytes->arena, n, sizeof(*numbers));

		if (!numbers)
			return true; /* as if unknown: the next allocation reports it */
		for (size_t at = 0; at < n; at++)
			numbers[at] =
				wtl_onnx_known(found->has_int ? found->number : found->ints.of[at]);
		ret->of = numbers;
		ret->n = n;
		return true;
	}
	if (!value)
		return false;
	ret->of = value->numbers;
	ret->n = value->n_numbers;
	if (!value->numbers)
		ret->open = wtl_onnx_has_rank(value) && value->rank == 1 ? value->dims[0].open
									 : value->open;
	return true;
}

int wtl_onnx_axis(const struct wtl_onnx_call *call, int64_t axis, int64_t rank, int64_t *ret)
{
	if (axis < -rank || axis >= rank)
		return wtl_onnx_fail(call->bytes, WTL_EFORMAT, call->node->at,
				     "its axis %lld is not one of %lld dimensions", (long long)axis,
				     (long long)rank);
	*ret = axis < 0 ? axis + rank : axis;
	return 0;
}

/* ---- Products ---- */

static int too_large(struct wtl_onnx_call *call)
{
	return wtl_onnx_fail(call->bytes, EOVERFLOW, call->node->at,
			     "its sizes multiply to more than 64 bits hold");
}

int wtl_onnx_multiply(struct wtl_onnx_call *call, uint64_t *total, uint64_t by)
{
	return __builtin_mul_overflow(*total, by, total) ? too_large(call) : 0;
}

int wtl_onnx_sum(struct wtl_onnx_call *call, uint64_t *total, uint64_t more)
{
	return __builtin_add_overflow(*total, more, total) ? too_large(call) : 0;
}

static int not_known(struct wtl_onnx_call *call, uint32_t open)
{
	if (!call->met_open || call->open == 0)
		call->open = open;
	call->met_open = true;
	return WTL_ONNX_UNKNOWN;
}

int wtl_onnx_multiply_size(struct wtl_onnx_call *call, uint64_t *total, struct wtl_onnx_number by)
{
	if (by.known && by.is.whole < 0)
		return wtl_onnx_fail(call->bytes, WTL_EFORMAT, call->node->at,
				     "a size is %lld: its operands do not fit together",
				     (long long)by.is.whole);
	if (by.known)
		return wtl_onnx_multiply(call, total, (uint64_t)by.is.whole);
	*total = 0;
	return not_known(call, by.open);
}

int wtl_onnx_product(struct wtl_onnx_call *call, const struct wtl_onnx_value *value, int from,
		     int to, uint64_t *ret)
{
	uint64_t total = 1;
	int rc = 0;

	*ret = 0;
	if (!wtl_onnx_has_rank(value))
		return not_known(call, value ? value->open : 0);
	for (int i = from; rc == 0 && i < to && i < value->rank; i++)
		rc = wtl_onnx_multiply_size(call, &total, value->dims[i]);
	*ret = rc == 0 ? total : 0;
	return rc;
}

int wtl_onnx_elements(struct wtl_onnx_call *call, const struct wtl_onnx_value *value, uint64_t *ret)
{
	*ret = 0;
	return value ? wtl_onnx_product(call, value, 0, WTL_ONNX_RANK_MAX, ret) : 0;
}
