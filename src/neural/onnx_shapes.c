/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/err.h"
#include "neural/onnx_rules.h"

enum { OPSET_BROADCAST = 7 };

static struct wtl_onnx_number dim(const struct wtl_onnx_value *value, int64_t i)
{
	return value->dims[i < 0 ? i + value->rank : i];
}

/* ---- Element by element ---- */

int wtl_onnx_shape_same(struct wtl_onnx_call *call)
{
	wtl_onnx_set_shape(call, 0, wtl_onnx_in(call, 0));
	return wtl_onnx_compute(call);
}

static int broadcast_dim(struct wtl_onnx_call *call, struct wtl_onnx_number a,
			 struct wtl_onnx_number b, struct wtl_onnx_number *ret)
{
	if (a.known && b.known && a.is.whole != 1 && b.is.whole != 1 && a.is.whole != b.is.whole)
		return wtl_onnx_fail(call->bytes, WTL_EFORMAT, call->node->at,
				     "its operands' sizes %lld and %lld do not fit together",
				     (long long)a.is.whole, (long long)b.is.whole);
	if (wtl_onnx_is(a, 1))
		*ret = b;
	else if (wtl_onnx_is(b, 1) || a.known)
		*ret = a;
	else
		*ret = b.known ? b : wtl_onnx_unknown(wtl_onnx_open_of(a, b));
	return 0;
}

/* Broadcasts output 0's shape with another one, both without their last `skip` dimensions. */
static int broadcast(struct wtl_onnx_call *call, const struct wtl_onnx_value *with, int skip)
{
	struct wtl_onnx_value before = call->out[0];
	int a = before.rank - skip, b = with->rank - skip, rank = a > b ? a : b, rc;

	rc = wtl_onnx_set_rank(call, 0, rank + skip);
	for (int i = 0; rc == 0 && i < rank; i++) {
		struct wtl_onnx_number left = wtl_onnx_known(1), right = left;

		if (i >= rank - a)
			left = before.dims[i - (rank - a)];
		if (i >= rank - b)
			right = with->dims[i - (rank - b)];
		rc = broadcast_dim(call, left, right, &call->out[0].dims[i]);
	}
	return rc;
}

static int broadcast_all(struct wtl_onnx_call *call)
{
	int rc = 0;

	if (call->n_in == 0 || call->n_out == 0)
		return 0;
	for (size_t i = 0; i < call->n_in; i++)
		if (!wtl_onnx_has_rank(call->in[i])) {
			call->out[0].open = call->in[i] ? call->in[i]->open : 0;
			return 0;
		}
	wtl_onnx_set_shape(call, 0, call->in[0]);
	/* Before opset 7 the second operand was broadcast to the first. */
	if (call->opset < OPSET_BROADCAST && call->n_in == 2 && !call->node->domain.len)
		return wtl_onnx_compute(call);
	for (size_t i = 1; rc == 0 && i < call->n_in; i++)
		rc = broadcast(call, call->in[i], 0);
	return rc < 0 ? rc : wtl_onnx_compute(call);
}

int wtl_onnx_shape_broadcast(struct wtl_onnx_call *call)
{
	return broadcast_all(call);
}

int wtl_onnx_shape_where(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *chosen = wtl_onnx_in(call, 1);

	if (call->n_out > 0 && chosen)
		call->out[0].type = chosen->type;
	return broadcast_all(call);
}

static void set_type(struct wtl_onnx_call *call, int type)
{
	if (call->n_out > 0)
		call->out[0].type = type;
}

int wtl_onnx_shape_compare(struct wtl_onnx_call *call)
{
	set_type(call, WTL_ONNX_BOOL);
	return broadcast_all(call);
}

int wtl_onnx_shape_test(struct wtl_onnx_call *call)
{
	set_type(call, WTL_ONNX_BOOL);
	return wtl_onnx_shape_same(call);
}

int wtl_onnx_shape_cast(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *like = wtl_onnx_in(call, 1);

	set_type(call, like ? like->type : (int)wtl_onnx_attr_int(call->node, "to", 0));
	wtl_onnx_set_shape(call, 0, wtl_onnx_in(call, 0));
	return wtl_onnx_compute(call);
}

int wtl_onnx_shape_quantize(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *zero = wtl_onnx_in(call, 2);

	set_type(call, zero ? zero->type
			    : (int)wtl_onnx_attr_int(call->node, "output_dtype", WTL_ONNX_UINT8));
	wtl_onnx_set_shape(call, 0, wtl_onnx_in(call, 0));
	return 0;
}

int wtl_onnx_shape_dequantize(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *in = wtl_onnx_in(call, 0), *scale = wtl_onnx_in(call, 1);

	set_type(call, scale ? scale->type : WTL_ONNX_FLOAT);
	if (call->n_out > 0 && in)
		call->out[0].stored = in->type;
	wtl_onnx_set_shape(call, 0, in);
	return 0;
}

/* ---- Reductions ---- */

static int shape_without(struct wtl_onnx_call *call, size_t out, const bool *gone, bool keeps)
{
	const struct wtl_onnx_value *in = call->in[0];
	int64_t rank = 0, at = 0;
	int rc;

	for (int i = 0; i < in->rank; i++)
		rank += keeps || !gone[i];
	rc = wtl_onnx_set_rank(call, out, rank);
	for (int i = 0; rc == 0 && out < call->n_out && i < in->rank; i++)
		if (keeps || !gone[i])
			call->out[out].dims[at++] = gone[i] ? wtl_onnx_known(1) : in->dims[i];
	return rc;
}

/* Marks the axes to reduce: all, or those given. WTL_ONNX_UNKNOWN: not known. */
static int find_gone(struct wtl_onnx_call *call, const struct wtl_onnx_numbers *axes, bool *gone)
{
	const struct wtl_onnx_value *in = call->in[0];
	int64_t axis;
	int rc = 0;

	for (int i = 0; axes->n == 0 && i < in->rank; i++)
		gone[i] = true;
	for (size_t i = 0; rc == 0 && i < axes->n; i++) {
		if (!axes->of[i].known)
			return WTL_ONNX_UNKNOWN;
		rc = wtl_onnx_axis(call, axes->of[i].is.whole, in->rank, &axis);
		if (rc == 0)
			gone[axis] = true;
	}
	return rc;
}

int wtl_onnx_shape_reduce(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *in = wtl_onnx_in(call, 0);
	bool gone[WTL_ONNX_RANK_MAX] = {false},
	     keeps = wtl_onnx_attr_int(call->node, "keepdims", 1) != 0;
	struct wtl_onnx_numbers axes = {0};
	int rc;

	if (!wtl_onnx_has_rank(in) || call->n_out == 0) {
		wtl_onnx_set_shape(call, 0, in);
		return 0;
	}
	bool has_axes = wtl_onnx_numbers_of(call, 1, "axes", &axes);
	if (has_axes && !axes.of &&
	    !(call->in[1]->rank == 1 && wtl_onnx_is(call->in[1]->dims[0], 0))) {
		call->out[0].open = axes.open;
		return keeps ? wtl_onnx_set_rank(call, 0, in->rank) : 0;
	}
	if (axes.n == 0 && wtl_onnx_attr_int(call->node, "noop_with_empty_axes", 0)) {
		wtl_onnx_set_shape(call, 0, in);
		return 0;
	}
	rc = find_gone(call, &axes, gone);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	rc = shape_without(call, 0, gone, keeps);
	return rc < 0 ? rc : wtl_onnx_compute(call);
}

int wtl_onnx_shape_arg(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *in = wtl_onnx_in(call, 0);
	bool gone[WTL_ONNX_RANK_MAX] = {false};
	int64_t axis;
	int rc;

	if (!wtl_onnx_has_rank(in) || call->n_out == 0)
		return 0;
	call->out[0].type = WTL_ONNX_INT64;
	rc = wtl_onnx_axis(call, wtl_onnx_attr_int(call->node, "axis", 0), in->rank, &axis);
	if (rc < 0)
		return rc;
	gone[axis] = true;
	return shape_without(call, 0, gone, wtl_onnx_attr_int(call->node, "keepdims", 1) != 0);
}

int wtl_onnx_shape_topk(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *in = wtl_onnx_in(call, 0);
	struct wtl_onnx_numbers k;
	int64_t axis;
	int rc = 0;

	if (!wtl_onnx_has_rank(in))
		return 0;
	wtl_onnx_numbers_of(call, 1, "k", &k);
	rc = wtl_onnx_axis(call, wtl_onnx_attr_int(call->node, "axis", -1), in->rank, &axis);
	for (size_t i = 0; rc == 0 && i < call->n_out && i < 2; i++) {
		rc = wtl_onnx_set_rank(call, i, in->rank);
		if (rc < 0)
			return rc;
		memcpy(call->out[i].dims, in->dims, (size_t)in->rank * sizeof(*in->dims));
		call->out[i].dims[axis] = k.of && k.n ? k.of[0] : wtl_onnx_unknown(k.open);
	}
	if (call->n_out > 1)
		call->out[1].type = WTL_ONNX_INT64;
	return rc;
}

/* ---- Products ---- */

/* The shape of a product in which one or both operands are vectors. */
static int shape_vector_product(struct wtl_onnx_call *call, const struct wtl_onnx_value *a,
				const struct wtl_onnx_value *b)
{
	const struct wtl_onnx_value *matrix = a->rank == 1 ? b : a;
	struct wtl_onnx_value *out = &call->out[0];
	int rc = wtl_onnx_set_rank(call, 0, matrix->rank - 1);

	if (rc < 0 || matrix->rank == 1)
		return rc;
	for (int i = 0; i < out->rank; i++)
		out->dims[i] = matrix->dims[i];
	if (matrix == b)
		out->dims[out->rank - 1] = dim(b, -1);
	return 0;
}

/* The shape of a product of a and b, as in MatMul. */
static int shape_product(struct wtl_onnx_call *call, const struct wtl_onnx_value *a,
			 const struct wtl_onnx_value *b, bool a_turned, bool b_turned)
{
	struct wtl_onnx_value *out = &call->out[0];
	int rank, rc;

	if (!wtl_onnx_has_rank(a) || !wtl_onnx_has_rank(b) || call->n_out == 0) {
		const struct wtl_onnx_value *lacks = wtl_onnx_has_rank(a) ? b : a;

		if (call->n_out > 0 && lacks)
			out->open = lacks->open;
		return 0;
	}
	if (a->rank == 0 || b->rank == 0)
		return wtl_onnx_fail(call->bytes, WTL_EFORMAT, call->node->at,
				     "an operand of a product of matrices has no dimensions");
	if (a->rank == 1 || b->rank == 1)
		return shape_vector_product(call, a, b);
	wtl_onnx_set_shape(call, 0, a);
	rc = broadcast(call, b, 2);
	if (rc < 0)
		return rc;
	rank = out->rank;
	out->dims[rank - 2] = dim(a, a_turned ? -1 : -2);
	out->dims[rank - 1] = dim(b, b_turned ? -2 : -1);
	return 0;
}

static bool is_set(const struct wtl_onnx_call *call, const char *name)
{
	return wtl_onnx_attr_int(call->node, name, 0) != 0;
}

int wtl_onnx_shape_matmul(struct wtl_onnx_call *call)
{
	if (wtl_span_is(call->node->op, "MatMulInteger"))
		set_type(call, WTL_ONNX_INT32);
	/* DynamicQuantizeMatMul's result is a float like its first input. */
	else if (wtl_span_is(call->node->op, "MatMulIntegerToFloat"))
		set_type(call, WTL_ONNX_FLOAT);
	return shape_product(call, wtl_onnx_in(call, 0), wtl_onnx_in(call, 1),
			     is_set(call, "transA"), is_set(call, "transB"));
}

int wtl_onnx_shape_gemm(struct wtl_onnx_call *call)
{
	/* QGemm's inputs: A, its scale and zero point, then B. */
	bool is_quantized = wtl_span_is(call->node->op, "QGemm");

	return shape_product(call, wtl_onnx_in(call, 0), wtl_onnx_in(call, is_quantized ? 3 : 1),
			     is_set(call, "transA"), is_set(call, "transB"));
}

int wtl_onnx_shape_qlinear_matmul(struct wtl_onnx_call *call)
{
	return shape_product(call, wtl_onnx_in(call, 0), wtl_onnx_in(call, 3), false, false);
}

/* The letters of one operand, without blanks; "..." is kept as dots. */
struct letters {
	char of[WTL_ONNX_RANK_MAX];
	int n;
};

static void next_term(struct wtl_span *rest, struct letters *ret)
{
	*ret = (struct letters){0};
	while (rest->len > 0 && rest->at[0] != ',' && rest->at[0] != '-') {
		if (rest->at[0] != ' ' && ret->n < WTL_ONNX_RANK_MAX)
			ret->of[ret->n++] = (char)rest->at[0];
		rest->at++;
		rest->len--;
	}
	if (rest->len > 0 && rest->at[0] == ',') {
		rest->at++;
		rest->len--;
	}
}

/* The output of an equation without "...": each letter's size is that in an operand. */
int wtl_onnx_shape_einsum(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_attr *equation = wtl_onnx_attr(call->node, "equation");
	struct wtl_onnx_number sizes[256];
	struct letters term;
	struct wtl_span rest;
	int rc;

	if (!equation || call->n_out == 0)
		return 0;
	rest = equation->text;
	for (size_t i = 0; i < 256; i++)
		sizes[i] = wtl_onnx_unknown(0);
	for (size_t i = 0; i < call->n_in; i++) {
		next_term(&rest, &term);
		if (!wtl_onnx_has_rank(call->in[i]) || call->in[i]->rank != term.n)
			return 0;
		for (int at = 0; at < term.n; at++)
			sizes[(uint8_t)term.of[at]] = call->in[i]->dims[at];
	}
	if (rest.len < 2 || rest.at[0] != '-' || rest.at[1] != '>')
		return 0;
	rest.at += 2;
	rest.len -= 2;
	next_term(&rest, &term);
	if (memchr(term.of, '.', (size_t)term.n))
		return 0;
	rc = wtl_onnx_set_rank(call, 0, term.n);
	for (int at = 0; rc == 0 && at < term.n; at++)
		call->out[0].dims[at] = sizes[(uint8_t)term.of[at]];
	return rc;
}
