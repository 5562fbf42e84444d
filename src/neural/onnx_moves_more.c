/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "neural/onnx_rules.h"

/* Shapes of more ops that move data, and of ops that make tensors. */

/* GatherElements and the like: the shape of the second input, the type of the first. */
int wtl_onnx_shape_second(struct wtl_onnx_call *call)
{
	wtl_onnx_set_shape(call, 0, wtl_onnx_in(call, 1));
	return 0;
}

int wtl_onnx_shape_gather_nd(struct wtl_onnx_call *call)
{
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0), *at = wtl_onnx_in(call, 1);
	int64_t batch = wtl_onnx_attr_int(call->node, "batch_dims", 0), depth;
	int rc, i = 0;

	if (!in || !wtl_onnx_has_rank(at) || at->rank < 1 || !at->dims[at->rank - 1].known)
		return 0;
	depth = at->dims[at->rank - 1].is.whole;
	if (batch < 0 || depth < 0 || batch > in->rank || depth > in->rank - batch)
		return 0;
	rc = wtl_onnx_set_rank(call, 0, at->rank - 1 + in->rank - batch - depth);
	for (int from = 0; rc == 0 && from < at->rank - 1; from++)
		call->out[0].dims[i++] = at->dims[from];
	for (int from = (int)(batch + depth); rc == 0 && from < in->rank; from++)
		call->out[0].dims[i++] = in->dims[from];
	return rc;
}

/* The size that two sizes broadcast to. */
static struct wtl_onnx_number wider(struct wtl_onnx_number a, struct wtl_onnx_number b)
{
	if (wtl_onnx_is(a, 1))
		return b;
	return wtl_onnx_is(b, 1) || a.known ? a : b;
}

/* Fills a small output of rank 1 with one number. */
static int fill_numbers(struct wtl_onnx_call *call, struct wtl_onnx_number value)
{
	struct wtl_onnx_value *out = call->out;
	int rc;

	if (out->rank != 1 || !out->dims[0].known || out->dims[0].is.whole < 0 ||
	    out->dims[0].is.whole > WTL_ONNX_NUMBERS_MAX)
		return 0;
	rc = wtl_onnx_set_numbers(call, 0, (size_t)out->dims[0].is.whole);
	for (size_t i = 0; rc == 0 && i < out->n_numbers; i++)
		out->numbers[i] = value;
	return rc;
}

int wtl_onnx_shape_expand(struct wtl_onnx_call *call)
{
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0), *out = call->out;
	struct wtl_onnx_numbers to;
	int rank, rc;

	if (!in)
		return 0;
	if (!wtl_onnx_numbers_of(call, 1, NULL, &to) || !to.of || to.n > WTL_ONNX_RANK_MAX) {
		out->open = to.open;
		return 0;
	}
	rank = in->rank > (int)to.n ? in->rank : (int)to.n;
	rc = wtl_onnx_set_rank(call, 0, rank);
	for (int i = 0; rc == 0 && i < rank; i++) {
		int own = i - (rank - in->rank), told = i - (rank - (int)to.n);

		out->dims[i] = wider(own >= 0 ? in->dims[own] : wtl_onnx_known(1),
				     told >= 0 ? to.of[told] : wtl_onnx_known(1));
	}
	return rc == 0 && in->n_numbers == 1 ? fill_numbers(call, in->numbers[0]) : rc;
}

int wtl_onnx_shape_tile(struct wtl_onnx_call *call)
{
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0);
	struct wtl_onnx_numbers times = {0};
	int rc;

	if (!in)
		return 0;
	wtl_onnx_numbers_of(call, 1, NULL, &times);
	rc = wtl_onnx_set_rank(call, 0, in->rank);
	for (int i = 0; rc == 0 && i < in->rank; i++)
		call->out[0].dims[i] =
			wtl_onnx_times(in->dims[i], times.of && (size_t)i < times.n
							    ? times.of[i]
							    : wtl_onnx_unknown(times.open));
	return rc;
}

int wtl_onnx_shape_pad(struct wtl_onnx_call *call)
{
	struct wtl_onnx_numbers pads = {0}, axes = {0};
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0);
	int64_t axis;
	int rc;

	if (!in)
		return 0;
	if (wtl_onnx_attr(call->node, "paddings"))
		wtl_onnx_numbers_of(call, 1, "paddings", &pads);
	else
		wtl_onnx_numbers_of(call, 1, "pads", &pads);
	bool has_axes = wtl_onnx_numbers_of(call, 3, NULL, &axes);
	size_t n = has_axes ? axes.n : (size_t)in->rank;
	rc = wtl_onnx_set_rank(call, 0, in->rank);
	if (rc < 0)
		return rc;
	memcpy(call->out[0].dims, in->dims, (size_t)in->rank * sizeof(*in->dims));
	for (size_t i = 0; i < n; i++) {
		axis = (int64_t)i;
		if (has_axes && (!axes.of || !axes.of[i].known))
			return 0;
		if (has_axes)
			rc = wtl_onnx_axis(call, axes.of[i].is.whole, in->rank, &axis);
		if (rc < 0)
			return rc;
		if (!pads.of || pads.n < 2 * n)
			call->out[0].dims[axis] = wtl_onnx_unknown(pads.open);
		else
			call->out[0].dims[axis] = wtl_onnx_add(
				in->dims[axis], wtl_onnx_add(pads.of[i], pads.of[n + i]));
	}
	return 0;
}

static struct wtl_onnx_number scaled(struct wtl_onnx_number size, double by)
{
	double product = floor((double)size.is.whole * by);

	if (!size.known)
		return size;
	return product >= 0.0 && product < 0x1p62 ? wtl_onnx_known((int64_t)product)
						  : wtl_onnx_unknown(0);
}

/* Applies scales in attributes, as in opsets 1 and 7 of Upsample. */
static bool upsample_attr(struct wtl_onnx_call *call, const struct wtl_onnx_value *in)
{
	const struct wtl_onnx_attr *scales = wtl_onnx_attr(call->node, "scales"),
				   *height = wtl_onnx_attr(call->node, "height_scale"),
				   *width = wtl_onnx_attr(call->node, "width_scale");

	for (int i = 0; i < in->rank; i++) {
		double by = 1.0;

		if (scales && (size_t)i < scales->n_reals)
			by = (double)scales->reals[i];
		else if (height && i == in->rank - 2)
			by = (double)height->real;
		else if (width && i == in->rank - 1)
			by = (double)width->real;
		call->out[0].dims[i] = scaled(in->dims[i], by);
	}
	return scales || height || width;
}

/* A size resized by number i of the list. */
static struct wtl_onnx_number resized(struct wtl_onnx_number size,
				      const struct wtl_onnx_numbers *told, size_t i, bool is_size)
{
	if (!told->of || i >= told->n)
		return wtl_onnx_unknown(told->open);
	if (is_size || !told->of[i].known)
		return told->of[i];
	return scaled(size, told->of[i].is.real);
}

/* Sizes are input 3, scales input 2 (1 in opset 10 and of Upsample). */
int wtl_onnx_shape_resize(struct wtl_onnx_call *call)
{
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0), *sizes = wtl_onnx_in(call, 3);
	const struct wtl_onnx_attr *axes = wtl_onnx_attr(call->node, "axes");
	bool is_size = sizes && (!sizes->numbers || sizes->n_numbers > 0);
	struct wtl_onnx_numbers told;
	int rc;

	if (!in)
		return 0;
	rc = wtl_onnx_set_rank(call, 0, in->rank);
	if (rc < 0 || upsample_attr(call, in))
		return rc;
	wtl_onnx_numbers_of(call, is_size ? 3 : call->n_in == 2 ? 1 : 2, NULL, &told);
	for (size_t i = 0; i < (axes ? axes->ints.n : (size_t)in->rank); i++) {
		int64_t axis = (int64_t)i;

		rc = axes ? wtl_onnx_axis(call, axes->ints.of[i], in->rank, &axis) : 0;
		if (rc < 0)
			return rc;
		call->out[0].dims[axis] = resized(in->dims[axis], &told, i, is_size);
	}
	return 0;
}

/* ---- Channels to space and back ---- */

static int shape_blocks(struct wtl_onnx_call *call, bool to_space)
{
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0);
	int64_t block = wtl_onnx_attr_int(call->node, "blocksize", 1);
	int rc;

	if (!in || in->rank != 4)
		return 0;
	if (block < 1 || block > INT16_MAX)
		return wtl_onnx_fail(call->bytes, WTL_EFORMAT, call->node->at,
				     "its block size %lld makes no sense", (long long)block);
	rc = wtl_onnx_set_rank(call, 0, 4);
	if (rc < 0)
		return rc;
	for (int i = 0; i < 4; i++) {
		struct wtl_onnx_number size = in->dims[i];
		bool grows = to_space == (i >= 2);

		for (int times = 0; i > 0 && times < (i == 1 ? 2 : 1); times++)
			if (grows)
				size = wtl_onnx_times(size, wtl_onnx_known(block));
			else if (size.known)
				size.is.whole /= block;
		call->out[0].dims[i] = size;
	}
	return 0;
}

int wtl_onnx_shape_depth_to_space(struct wtl_onnx_call *call)
{
	return shape_blocks(call, true);
}

int wtl_onnx_shape_space_to_depth(struct wtl_onnx_call *call)
{
	return shape_blocks(call, false);
}

/* ---- Ops that make tensors ---- */

static int set_shape_by(struct wtl_onnx_call *call, const struct wtl_onnx_numbers *shape)
{
	int rc;

	if (!shape->of) {
		call->out[0].open = shape->open;
		return 0;
	}
	rc = wtl_onnx_set_rank(call, 0, (int64_t)shape->n);
	if (rc == 0)
		memcpy(call->out[0].dims, shape->of, shape->n * sizeof(*shape->of));
	return rc;
}

/* ConstantOfShape. */
int wtl_onnx_shape_fill(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_attr *attr = wtl_onnx_attr(call->node, "value");
	struct wtl_onnx_number value = wtl_onnx_known(0);
	struct wtl_onnx_value *out = call->out;
	struct wtl_onnx_tensor tensor;
	struct wtl_onnx_numbers shape;
	int rc;

	if (call->n_out == 0)
		return 0;
	out->type = WTL_ONNX_FLOAT;
	if (attr && attr->has_tensor) {
		rc = wtl_onnx_read_tensor(call->bytes, attr->tensor, &tensor);
		if (rc < 0)
			return rc;
		out->type = tensor.type;
		value.known = tensor.n_numbers == 1 ||
			      (tensor.type == WTL_ONNX_INT64 && tensor.raw.len == 8);
		if (tensor.n_numbers == 1)
			value.is = tensor.numbers[0];
		else if (value.known)
			memcpy(&value.is.whole, tensor.raw.at, sizeof(value.is.whole));
	} else {
		value.is.real = 0.0;
	}
	wtl_onnx_numbers_of(call, 0, NULL, &shape);
	rc = set_shape_by(call, &shape);
	return rc == 0 ? fill_numbers(call, value) : rc;
}

static struct wtl_onnx_number single(const struct wtl_onnx_value *value)
{
	if (value && value->n_numbers > 0)
		return value->numbers[0];
	return wtl_onnx_unknown(value ? value->open : 0);
}

/* The length of the range. Negative: not finite, or too large. */
static double range_length(const struct wtl_onnx_number of[3], bool is_real)
{
	double n = is_real ? ceil((of[1].is.real - of[0].is.real) / of[2].is.real)
			   : ceil(((double)of[1].is.whole - (double)of[0].is.whole) /
				  (double)of[2].is.whole);

	if (!(n < 0x1p62))
		return -1.0;
	return n > 0.0 ? n : 0.0;
}

int wtl_onnx_shape_range(struct wtl_onnx_call *call)
{
	struct wtl_onnx_number of[3] = {single(wtl_onnx_in(call, 0)), single(wtl_onnx_in(call, 1)),
					single(wtl_onnx_in(call, 2))};
	const struct wtl_onnx_value *start = wtl_onnx_in(call, 0);
	bool is_real = start && wtl_onnx_type_is_real(start->type);
	struct wtl_onnx_value *out = call->out;
	double n;
	int rc;

	if (call->n_out == 0)
		return 0;
	rc = wtl_onnx_set_rank(call, 0, 1);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < 3; i++)
		if (!of[i].known) {
			out->dims[0] = of[i];
			return 0;
		}
	n = range_length(of, is_real);
	if (n < 0.0)
		return 0;
	out->dims[0] = wtl_onnx_known((int64_t)n);
	if (is_real || n > WTL_ONNX_NUMBERS_MAX)
		return 0;
	rc = wtl_onnx_set_numbers(call, 0, (size_t)n);
	for (size_t i = 0; rc == 0 && i < out->n_numbers; i++)
		out->numbers[i] = wtl_onnx_known(
			(int64_t)((uint64_t)of[0].is.whole + i * (uint64_t)of[2].is.whole));
	return rc;
}

int wtl_onnx_shape_one_hot(struct wtl_onnx_call *call)
{
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0), *depth = wtl_onnx_in(call, 1),
			      *values = wtl_onnx_in(call, 2);
	int64_t axis;
	int rc, at = 0;

	if (!in)
		return 0;
	call->out[0].type = values ? values->type : 0;
	rc = wtl_onnx_axis(call, wtl_onnx_attr_int(call->node, "axis", -1), in->rank + 1, &axis);
	if (rc == 0)
		rc = wtl_onnx_set_rank(call, 0, in->rank + 1);
	for (int i = 0; rc == 0 && i <= in->rank; i++)
		call->out[0].dims[i] = i == axis ? single(depth) : in->dims[at++];
	return rc;
}

/* The number of nonzero elements is known only when it runs. */
int wtl_onnx_shape_nonzero(struct wtl_onnx_call *call)
{
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0);
	int rc;

	if (!in)
		return 0;
	call->out[0].type = WTL_ONNX_INT64;
	rc = wtl_onnx_set_rank(call, 0, 2);
	if (rc == 0)
		call->out[0].dims[0] = wtl_onnx_known(in->rank);
	return rc;
}

int wtl_onnx_shape_random(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_attr *shape = wtl_onnx_attr(call->node, "shape");
	struct wtl_onnx_numbers told;

	if (call->n_out == 0)
		return 0;
	call->out[0].type = (int)wtl_onnx_attr_int(call->node, "dtype", WTL_ONNX_FLOAT);
	if (!shape || !wtl_onnx_numbers_of(call, 0, "shape", &told))
		return 0;
	return set_shape_by(call, &told);
}

int wtl_onnx_shape_eye(struct wtl_onnx_call *call)
{
	if (call->n_out == 0)
		return 0;
	wtl_onnx_set_shape(call, 0, wtl_onnx_in(call, 0));
	call->out[0].type = (int)wtl_onnx_attr_int(call->node, "dtype", call->out[0].type);
	return 0;
}

/* X [N, C, ..] sampled at grid [N, .., n]. */
int wtl_onnx_shape_grid_sample(struct wtl_onnx_call *call)
{
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0), *grid = wtl_onnx_in(call, 1);
	int rc;

	if (!in || !wtl_onnx_has_rank(grid) || grid->rank != in->rank || in->rank < 3)
		return 0;
	rc = wtl_onnx_set_rank(call, 0, in->rank);
	for (int i = 0; rc == 0 && i < in->rank; i++)
		call->out[0].dims[i] = i < 2 ? in->dims[i] : grid->dims[i - 1];
	return rc;
}
