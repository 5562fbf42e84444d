/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/err.h"
#include "neural/onnx_rules.h"

/* Output shapes of convolutions, pools, recurrent layers and attention, by the formulas of ONNX's Operators.md. */

static struct wtl_onnx_number list_at(const struct wtl_onnx_call *call, const char *name, int at,
				      int64_t otherwise)
{
	const struct wtl_onnx_attr *attr = wtl_onnx_attr(call->node, name);

	if (attr && (size_t)at < attr->ints.n)
		return wtl_onnx_known(attr->ints.of[at]);
	return wtl_onnx_known(otherwise);
}

/* A window that moves along one axis. */
struct window {
	struct wtl_onnx_number in, kernel;
	int64_t stride, dilation, pads;
	bool same, valid, rounds_up;
};

static int read_window(struct wtl_onnx_call *call, int axis, int n_axes, struct window *ret)
{
	int64_t begin = list_at(call, "pads", axis, 0).is.whole,
		end = list_at(call, "pads", axis + n_axes, 0).is.whole;

	ret->stride = list_at(call, "strides", axis, 1).is.whole;
	ret->dilation = list_at(call, "dilations", axis, 1).is.whole;
	ret->same = wtl_onnx_attr_is(call->node, "auto_pad", "SAME_UPPER") ||
		    wtl_onnx_attr_is(call->node, "auto_pad", "SAME_LOWER");
	ret->valid = wtl_onnx_attr_is(call->node, "auto_pad", "VALID");
	ret->rounds_up = wtl_onnx_attr_int(call->node, "ceil_mode", 0) != 0;
	if (ret->stride < 1 || ret->dilation < 1 || ret->stride > INT32_MAX ||
	    ret->dilation > INT32_MAX || begin < -INT32_MAX || begin > INT32_MAX ||
	    end < -INT32_MAX || end > INT32_MAX)
		return wtl_onnx_fail(call->bytes, WTL_EFORMAT, call->node->at,
				     "its strides, dilations or pads make no sense");
	ret->pads = ret->valid ? 0 : begin + end;
	return 0;
}

static int64_t divide_up(int64_t a, int64_t b)
{
	return a / b + (a % b > 0);
}

static struct wtl_onnx_number windows(const struct window *window)
{
	int64_t span, rest, n;

	if (!window->in.known || !window->kernel.known)
		return wtl_onnx_unknown(wtl_onnx_open_of(window->in, window->kernel));
	if (window->same)
		return wtl_onnx_known(divide_up(window->in.is.whole, window->stride));
	if (window->kernel.is.whole < 1 || window->kernel.is.whole > INT32_MAX ||
	    window->in.is.whole > INT64_MAX / 4)
		return wtl_onnx_unknown(0);
	span = (window->kernel.is.whole - 1) * window->dilation + 1;
	rest = window->in.is.whole + window->pads - span;
	if (rest < 0)
		return wtl_onnx_known(0);
	n = (window->rounds_up ? divide_up(rest, window->stride) : rest / window->stride) + 1;
	/* A window that would begin beyond the data does not count. */
	if (window->rounds_up && (n - 1) * window->stride >= window->in.is.whole + window->pads)
		n--;
	return wtl_onnx_known(n);
}

/* The kernel's size along an axis: dims[2..] of `weights`, or the attribute's. */
static struct wtl_onnx_number kernel_at(const struct wtl_onnx_call *call,
					const struct wtl_onnx_value *weights, int axis)
{
	if (wtl_onnx_has_rank(weights) && axis + 2 < weights->rank)
		return weights->dims[axis + 2];
	if (wtl_onnx_attr(call->node, "kernel_shape"))
		return list_at(call, "kernel_shape", axis, 1);
	return wtl_onnx_unknown(0);
}

static int shape_windows(struct wtl_onnx_call *call, const struct wtl_onnx_value *weights,
			 struct wtl_onnx_number channels)
{
	const struct wtl_onnx_value *in = wtl_onnx_in(call, 0);
	int rc;

	if (!wtl_onnx_has_rank(in) || in->rank < 2) {
		if (call->n_out > 0)
			call->out[0].open = in ? in->open : 0;
		return 0;
	}
	rc = wtl_onnx_set_rank(call, 0, in->rank);
	if (rc < 0 || call->n_out == 0)
		return rc;
	call->out[0].dims[0] = in->dims[0];
	call->out[0].dims[1] = channels;
	for (int axis = 0; axis + 2 < in->rank; axis++) {
		struct window window = {.in = in->dims[axis + 2],
					.kernel = kernel_at(call, weights, axis)};

		rc = read_window(call, axis, in->rank - 2, &window);
		if (rc < 0)
			return rc;
		call->out[0].dims[axis + 2] = windows(&window);
	}
	return 0;
}

static int shape_conv(struct wtl_onnx_call *call, const struct wtl_onnx_value *weights)
{
	if (!wtl_onnx_has_rank(weights) || weights->rank < 2) {
		return 0;
	}
	return shape_windows(call, weights, weights->dims[0]);
}

int wtl_onnx_shape_conv(struct wtl_onnx_call *call)
{
	if (wtl_span_is(call->node->op, "ConvInteger") && call->n_out > 0)
		call->out[0].type = WTL_ONNX_INT32;
	return shape_conv(call, wtl_onnx_in(call, 1));
}

int wtl_onnx_shape_qlinear_conv(struct wtl_onnx_call *call)
{
	return shape_conv(call, wtl_onnx_in(call, 3));
}

static struct wtl_onnx_number transposed_size(const struct wtl_onnx_call *call,
					      const struct window *window, int axis)
{
	const struct wtl_onnx_attr *shape = wtl_onnx_attr(call->node, "output_shape");
	int64_t more = list_at(call, "output_padding", axis, 0).is.whole;

	if (shape && shape->ints.n > (size_t)axis) {
		/* It may also have the batch and the channels. */
		size_t skip = shape->ints.n - (size_t)(call->in[0]->rank - 2);

		if (shape->ints.n >= (size_t)(call->in[0]->rank - 2))
			return wtl_onnx_known(shape->ints.of[skip + (size_t)axis]);
	}
	if (!window->in.known || !window->kernel.known)
		return wtl_onnx_unknown(wtl_onnx_open_of(window->in, window->kernel));
	if (window->same)
		return wtl_onnx_times(window->in, wtl_onnx_known(window->stride));
	return wtl_onnx_add(
		wtl_onnx_times(wtl_onnx_known(window->stride),
			       wtl_onnx_add(window->in, wtl_onnx_known(-1))),
		wtl_onnx_add(wtl_onnx_times(wtl_onnx_add(window->kernel, wtl_onnx_known(-1)),
					    wtl_onnx_known(window->dilation)),
			     wtl_onnx_add(wtl_onnx_known(1 - window->pads), wtl_onnx_known(more))));
}

int wtl_onnx_shape_conv_transpose(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *in = wtl_onnx_in(call, 0), *weights = wtl_onnx_in(call, 1);
	int rc;

	if (!wtl_onnx_has_rank(in) || !wtl_onnx_has_rank(weights) || in->rank < 2 ||
	    weights->rank != in->rank || call->n_out == 0)
		return 0;
	rc = wtl_onnx_set_rank(call, 0, in->rank);
	if (rc < 0)
		return rc;
	call->out[0].dims[0] = in->dims[0];
	call->out[0].dims[1] = wtl_onnx_times(
		weights->dims[1], wtl_onnx_known(wtl_onnx_attr_int(call->node, "group", 1)));
	for (int axis = 0; axis + 2 < in->rank; axis++) {
		struct window window = {.in = in->dims[axis + 2],
					.kernel = weights->dims[axis + 2]};

		rc = read_window(call, axis, in->rank - 2, &window);
		if (rc < 0)
			return rc;
		call->out[0].dims[axis + 2] = transposed_size(call, &window, axis);
	}
	return 0;
}

/* ---- Pools ---- */

int wtl_onnx_shape_pool(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *in = wtl_onnx_in(call, 0);
	int rc;

	if (!wtl_onnx_has_rank(in) || in->rank < 2)
		return 0;
	rc = shape_windows(call, NULL, in->dims[1]);
	/* MaxPool's second output: indices of the maxima. */
	if (rc == 0 && call->n_out > 1) {
		wtl_onnx_set_shape(call, 1, &call->out[0]);
		call->out[1].type = WTL_ONNX_INT64;
	}
	return rc;
}

int wtl_onnx_shape_global_pool(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *in = wtl_onnx_in(call, 0);
	int rc;

	if (!wtl_onnx_has_rank(in) || in->rank < 2 || call->n_out == 0)
		return 0;
	rc = wtl_onnx_set_rank(call, 0, in->rank);
	for (int i = 0; rc == 0 && i < in->rank; i++)
		call->out[0].dims[i] = i < 2 ? in->dims[i] : wtl_onnx_known(1);
	return rc;
}

int wtl_onnx_shape_roi(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *in = wtl_onnx_in(call, 0), *rois = wtl_onnx_in(call, 1);
	const struct wtl_onnx_attr *pooled = wtl_onnx_attr(call->node, "pooled_shape");
	int rc;

	if (!wtl_onnx_has_rank(in) || in->rank < 2 || !wtl_onnx_has_rank(rois) || rois->rank < 1 ||
	    call->n_out == 0)
		return 0;
	rc = wtl_onnx_set_rank(call, 0, 4);
	if (rc < 0)
		return rc;
	call->out[0].dims[0] = rois->dims[0];
	call->out[0].dims[1] = in->dims[1];
	for (int i = 0; i < 2; i++)
		call->out[0].dims[2 + i] = wtl_onnx_known(
			pooled ? list_at(call, "pooled_shape", i, 1).is.whole
			       : wtl_onnx_attr_int(call->node, i ? "output_width" : "output_height",
						   1));
	return 0;
}

/* ---- Recurrent layers ---- */

static int set_dims(struct wtl_onnx_call *call, size_t i, int rank,
		    const struct wtl_onnx_number dims[])
{
	int rc = wtl_onnx_set_rank(call, i, rank);

	if (rc == 0 && i < call->n_out)
		memcpy(call->out[i].dims, dims, (size_t)rank * sizeof(*dims));
	return rc;
}

int wtl_onnx_shape_recurrent(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *x = wtl_onnx_in(call, 0), *r = wtl_onnx_in(call, 2);
	bool batch_first = wtl_onnx_attr_int(call->node, "layout", 0) != 0;
	struct wtl_onnx_number steps, batch, directions, hidden;
	int rc;

	if (!wtl_onnx_has_rank(x) || x->rank != 3 || !wtl_onnx_has_rank(r) || r->rank != 3)
		return 0;
	steps = x->dims[batch_first];
	batch = x->dims[!batch_first];
	directions = r->dims[0];
	hidden = r->dims[2];
	if (batch_first) {
		const struct wtl_onnx_number all[] = {batch, steps, directions, hidden},
					     last[] = {batch, directions, hidden};

		rc = set_dims(call, 0, 4, all);
		for (size_t i = 1; rc == 0 && i < 3; i++)
			rc = set_dims(call, i, 3, last);
	} else {
		const struct wtl_onnx_number all[] = {steps, directions, batch, hidden},
					     last[] = {directions, batch, hidden};

		rc = set_dims(call, 0, 4, all);
		for (size_t i = 1; rc == 0 && i < 3; i++)
			rc = set_dims(call, i, 3, last);
	}
	return rc;
}

/* ---- Attention ---- */

/* Attention of opset 23: rank 4 with an axis of heads, or rank 3 with heads within the last axis. */
static bool is_attention(const struct wtl_onnx_value *q, const struct wtl_onnx_value *k,
			 const struct wtl_onnx_value *v)
{
	return wtl_onnx_has_rank(q) && wtl_onnx_has_rank(k) && wtl_onnx_has_rank(v) &&
	       q->rank == k->rank && q->rank == v->rank && (q->rank == 3 || q->rank == 4);
}

/* Outputs 1 and 2 are the cache: all keys and values so far. */
int wtl_onnx_shape_attention(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *q = wtl_onnx_in(call, 0), *k = wtl_onnx_in(call, 1),
				    *v = wtl_onnx_in(call, 2), *past = wtl_onnx_in(call, 4);
	struct wtl_onnx_number heads =
		wtl_onnx_known(wtl_onnx_attr_int(call->node, "kv_num_heads", 0));
	struct wtl_onnx_number q_heads =
		wtl_onnx_known(wtl_onnx_attr_int(call->node, "q_num_heads", 0));
	int rc;

	if (!is_attention(q, k, v))
		return 0;
	bool is_apart = q->rank == 4;
	struct wtl_onnx_number total = k->dims[q->rank - 2];
	if (wtl_onnx_has_rank(past) && past->rank == 4)
		total = wtl_onnx_add(total, past->dims[2]);
	const struct wtl_onnx_number apart[] = {q->dims[0], q->dims[1], q->dims[2],
						v->dims[v->rank - 1]};
	const struct wtl_onnx_number within[] = {
		q->dims[0], q->dims[1],
		wtl_onnx_times(wtl_onnx_divide(v->dims[2], heads.is.whole), q_heads)};
	rc = is_apart ? set_dims(call, 0, 4, apart) : set_dims(call, 0, 3, within);
	for (size_t i = 1; rc == 0 && i < 3; i++) {
		const struct wtl_onnx_value *of = i == 1 ? k : v;
		const struct wtl_onnx_number out[] = {
			of->dims[0], is_apart ? of->dims[1] : heads, total,
			is_apart ? of->dims[3] : wtl_onnx_divide(of->dims[2], heads.is.whole)};

		rc = set_dims(call, i, 4, out);
	}
	return rc;
}

/* com.microsoft's Attention and QAttention: input [B, S, D], weights [D, 3 H]. */
int wtl_onnx_shape_ms_attention(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *x = wtl_onnx_in(call, 0), *w = wtl_onnx_in(call, 1);
	const struct wtl_onnx_attr *sizes = wtl_onnx_attr(call->node, "qkv_hidden_sizes");

	if (!wtl_onnx_has_rank(x) || x->rank != 3 || !wtl_onnx_has_rank(w) || w->rank != 2)
		return 0;
	const struct wtl_onnx_number out[] = {x->dims[0], x->dims[1],
					      sizes && sizes->ints.n == 3
						      ? wtl_onnx_known(sizes->ints.of[2])
						      : wtl_onnx_divide(w->dims[1], 3)};
	if (wtl_span_is(call->node->op, "QAttention") && call->n_out > 0)
		call->out[0].type = WTL_ONNX_FLOAT;
	return set_dims(call, 0, 3, out);
}

/* The output's width, for queries of known shape. */
static struct wtl_onnx_number mha_width(const struct wtl_onnx_call *call, int64_t heads,
					int64_t kv_heads, bool is_grouped)
{
	const struct wtl_onnx_value *q = call->in[0], *k = wtl_onnx_in(call, 1),
				    *v = wtl_onnx_in(call, 2);
	struct wtl_onnx_number width =
		q->rank == 3 ? q->dims[2] : wtl_onnx_times(q->dims[2], q->dims[q->rank - 1]);

	/* Queries, keys and values in one tensor. */
	if (is_grouped && !k)
		return wtl_onnx_times(wtl_onnx_divide(width, heads + 2 * kv_heads),
				      wtl_onnx_known(heads));
	if (is_grouped || !wtl_onnx_has_rank(v) || v->rank == 0)
		return width;
	return v->rank == 4 ? wtl_onnx_times(v->dims[1], v->dims[3]) : v->dims[v->rank - 1];
}

/* MultiHeadAttention and GroupQueryAttention: [B, S, hidden]. The latter's outputs 1 and 2 are the cache. */
int wtl_onnx_shape_mha(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *q = wtl_onnx_in(call, 0), *past = wtl_onnx_in(call, 3);
	bool is_grouped = wtl_span_is(call->node->op, "GroupQueryAttention");
	int64_t heads = wtl_onnx_attr_int(call->node, "num_heads", 0),
		kv_heads = wtl_onnx_attr_int(call->node, "kv_num_heads", heads);
	int rc;

	if (!wtl_onnx_has_rank(q) || q->rank < 3 || q->rank > 5)
		return 0;
	if (heads < 1 || heads > INT16_MAX || kv_heads < 1 || kv_heads > INT16_MAX)
		return wtl_onnx_fail(call->bytes, WTL_EFORMAT, call->node->at,
				     "its number of heads makes no sense");
	struct wtl_onnx_number width = mha_width(call, heads, kv_heads, is_grouped),
			       total = q->dims[1];
	const struct wtl_onnx_number out[] = {q->dims[0], q->dims[1], width};
	rc = set_dims(call, 0, 3, out);
	if (wtl_onnx_has_rank(past) && past->rank == 4)
		total = wtl_onnx_add(total, past->dims[2]);
	const struct wtl_onnx_number cache[] = {q->dims[0], wtl_onnx_known(kv_heads), total,
						wtl_onnx_divide(width, heads)};
	for (size_t i = 1; rc == 0 && is_grouped && i < 3; i++)
		rc = set_dims(call, i, 4, cache);
	return rc;
}

/* A [.., K] times packed B of N columns. */
int wtl_onnx_shape_matmul_nbits(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *a = wtl_onnx_in(call, 0);
	int64_t n = wtl_onnx_attr_int(call->node, "N", -1);
	int rc;

	if (!wtl_onnx_has_rank(a) || a->rank == 0 || n < 0 || call->n_out == 0)
		return 0;
	rc = wtl_onnx_set_rank(call, 0, a->rank);
	for (int i = 0; rc == 0 && i < a->rank; i++)
		call->out[0].dims[i] = i == a->rank - 1 ? wtl_onnx_known(n) : a->dims[i];
	return rc;
}

int wtl_onnx_shape_dynamic_quantize(struct wtl_onnx_call *call)
{
	int rc = 0;

	wtl_onnx_set_shape(call, 0, wtl_onnx_in(call, 0));
	if (call->n_out > 0)
		call->out[0].type = WTL_ONNX_UINT8;
	for (size_t i = 1; rc == 0 && i < call->n_out && i < 3; i++) {
		rc = wtl_onnx_set_rank(call, i, 0);
		call->out[i].type = i == 1 ? WTL_ONNX_FLOAT : WTL_ONNX_UINT8;
		call->out[i].is_analog = false; /* one number for the whole tensor */
	}
	return rc;
}
