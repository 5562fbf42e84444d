/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "neural/onnx_rules.h"

/*
 * MACs: one multiplication and one addition each, by rules that the literature and other counters agree on
 * (docs/estimate.md lists them). Adding a bias to a product is not counted.
 */

static void set_precisions(struct wtl_onnx_call *call, size_t data, size_t weights)
{
	call->layer->activations = wtl_onnx_precision(wtl_onnx_in(call, data));
	call->layer->weights = wtl_onnx_precision(wtl_onnx_in(call, weights));
}

/* Adds a * b to the layer's MACs. */
static int add_macs(struct wtl_onnx_call *call, uint64_t a, uint64_t b)
{
	int rc = wtl_onnx_multiply(call, &a, b);

	return rc == 0 ? wtl_onnx_sum(call, &call->layer->macs, a) : rc;
}

static uint64_t size_or_one(struct wtl_onnx_number size)
{
	return size.known && size.is.whole > 0 ? (uint64_t)size.is.whole : 1;
}

/* ---- Convolutions ---- */

static void set_geometry(struct wtl_onnx_call *call, const struct wtl_onnx_value *weights,
			 bool is_transposed)
{
	const struct wtl_onnx_attr *strides = wtl_onnx_attr(call->node, "strides");
	int64_t groups = wtl_onnx_attr_int(call->node, "group", 1);
	struct wtl_layer *layer = call->layer;

	layer->kind = WTL_LAYER_CONV;
	layer->is_transposed = is_transposed;
	if (!wtl_onnx_has_rank(weights) || weights->rank < 2)
		return;
	layer->groups = groups > 0 ? (uint64_t)groups : 1;
	uint64_t first = size_or_one(weights->dims[0]), second = size_or_one(weights->dims[1]);
	if (__builtin_mul_overflow(second, layer->groups, &second))
		second = 1;
	layer->out_channels = is_transposed ? second : first;
	layer->in_channels = is_transposed ? first : second;
	for (int axis = 0; axis + 2 < weights->rank && axis < 3; axis++) {
		uint64_t stride = 1;

		if (strides && (size_t)axis < strides->ints.n && strides->ints.of[axis] > 0)
			stride = (uint64_t)strides->ints.of[axis];
		layer->kernel_by_axis[axis] = size_or_one(weights->dims[axis + 2]);
		layer->stride_by_axis[axis] = stride;
		if (__builtin_mul_overflow(layer->kernel, layer->kernel_by_axis[axis],
					   &layer->kernel))
			layer->kernel = 1;
	}
}

/* Outputs (transposed: inputs) times the weights that each of them meets. */
static int count_conv(struct wtl_onnx_call *call, size_t weights_at, bool is_transposed)
{
	const struct wtl_onnx_value *weights = wtl_onnx_in(call, weights_at),
				    *each = is_transposed ? wtl_onnx_in(call, 0) : call->out;
	uint64_t places, meets;
	int rc;

	set_precisions(call, 0, weights_at);
	set_geometry(call, weights, is_transposed);
	rc = wtl_onnx_elements(call, each, &places);
	if (rc != 0)
		return rc;
	rc = wtl_onnx_product(call, weights, 1, WTL_ONNX_RANK_MAX, &meets);
	return rc == 0 ? add_macs(call, places, meets) : rc;
}

int wtl_onnx_count_conv(struct wtl_onnx_call *call)
{
	return count_conv(call, 1, false);
}

int wtl_onnx_count_qlinear_conv(struct wtl_onnx_call *call)
{
	return count_conv(call, 3, false);
}

int wtl_onnx_count_conv_transpose(struct wtl_onnx_call *call)
{
	return count_conv(call, 1, true);
}

/* ---- Products ---- */

/* Outputs times the length of the sum that makes each. */
static int count_product(struct wtl_onnx_call *call, size_t a_at, size_t b_at)
{
	const struct wtl_onnx_value *a = wtl_onnx_in(call, a_at), *b = wtl_onnx_in(call, b_at);
	bool is_turned = wtl_onnx_attr_int(call->node, "transA", 0) != 0;
	struct wtl_layer *layer = call->layer;
	uint64_t out, depth;
	int at, rc;

	set_precisions(call, a_at, b_at);
	layer->kind =
		(a && a->is_const) || (b && b->is_const) ? WTL_LAYER_DENSE : WTL_LAYER_PRODUCT;
	rc = wtl_onnx_elements(call, call->out, &out);
	if (rc != 0)
		return rc;
	if (!wtl_onnx_has_rank(a) || a->rank == 0) {
		wtl_onnx_product(call, a, 0, 1, &depth); /* notes the open size */
		return WTL_ONNX_UNKNOWN;
	}
	at = is_turned && a->rank > 1 ? a->rank - 2 : a->rank - 1;
	rc = wtl_onnx_product(call, a, at, at + 1, &depth);
	if (rc != 0)
		return rc;
	layer->in_channels = depth > 0 ? depth : 1;
	layer->out_channels =
		call->out->rank > 0 ? size_or_one(call->out->dims[call->out->rank - 1]) : 1;
	return add_macs(call, out, depth);
}

int wtl_onnx_count_matmul(struct wtl_onnx_call *call)
{
	return count_product(call, 0, 1);
}

int wtl_onnx_count_gemm(struct wtl_onnx_call *call)
{
	return count_product(call, 0, wtl_span_is(call->node->op, "QGemm") ? 3 : 1);
}

int wtl_onnx_count_qlinear_matmul(struct wtl_onnx_call *call)
{
	return count_product(call, 0, 3);
}

int wtl_onnx_count_matmul_nbits(struct wtl_onnx_call *call)
{
	static const struct {
		int64_t bits;
		enum wtl_precision precision;
	} precisions[] = {{2, WTL_INT2}, {4, WTL_INT4}, {8, WTL_INT8}};
	int64_t bits = wtl_onnx_attr_int(call->node, "bits", 4);
	int rc = count_product(call, 0, 0);

	call->layer->kind = WTL_LAYER_DENSE;
	call->layer->weights = WTL_PRECISION_UNKNOWN;
	for (size_t i = 0; i < sizeof(precisions) / sizeof(precisions[0]); i++)
		if (precisions[i].bits == bits)
			call->layer->weights = precisions[i].precision;
	return rc;
}

/* The product of the sizes of all letters, each once. WTL_ONNX_UNKNOWN: "...", or a letter without an axis. */
static int multiply_letters(struct wtl_onnx_call *call, struct wtl_span equation, uint64_t *total)
{
	bool seen[256] = {false};
	size_t operand = 0;
	int at = 0, rc = 0;

	for (size_t i = 0; rc == 0 && i < equation.len && equation.at[i] != '-'; i++) {
		const struct wtl_onnx_value *in = wtl_onnx_in(call, operand);
		uint8_t letter = equation.at[i];
		uint64_t size = 1;

		if (letter == ',') {
			operand++;
			at = 0;
		}
		if (letter == ',' || letter == ' ')
			continue;
		if (letter == '.' || (wtl_onnx_has_rank(in) && at >= in->rank))
			return WTL_ONNX_UNKNOWN;
		rc = wtl_onnx_product(call, in, at, at + 1, &size);
		at++;
		if (rc == 0 && !seen[letter])
			rc = wtl_onnx_multiply(call, total, size);
		seen[letter] = true;
	}
	return rc;
}

/* Two operands take the product of the sizes of all letters, as the output has those not summed over. */
int wtl_onnx_count_einsum(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_attr *equation = wtl_onnx_attr(call->node, "equation");
	const struct wtl_onnx_value *second = wtl_onnx_in(call, 1);
	uint64_t total = 1;
	int rc;

	set_precisions(call, 0, 1);
	if (call->n_in < 2)
		return 0;
	if (!equation || call->n_in > 2)
		return WTL_ONNX_UNKNOWN;
	call->layer->kind = second && second->is_const ? WTL_LAYER_DENSE : WTL_LAYER_PRODUCT;
	rc = multiply_letters(call, equation->text, &total);
	return rc == 0 ? add_macs(call, total, 1) : rc;
}

/* ---- Recurrent layers ---- */

/* Besides the products, per unit and step: gate activations, and sums and products between gates. */
static int count_gates(struct wtl_onnx_call *call, uint64_t steps,
		       struct wtl_onnx_number directions)
{
	struct wtl_span op = call->node->op;
	uint64_t units = call->layer->out_channels;
	int rc = wtl_onnx_multiply_size(call, &units, directions);

	if (rc == 0)
		rc = wtl_onnx_multiply(call, &units, steps);
	if (rc == 0)
		rc = wtl_onnx_multiply(call, &units,
				       wtl_span_is(op, "LSTM")	? 9
				       : wtl_span_is(op, "GRU") ? 8
								: 1);
	return rc == 0 ? wtl_onnx_sum(call, &call->layer->other_ops, units) : rc;
}

int wtl_onnx_count_recurrent(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *w = wtl_onnx_in(call, 1), *r = wtl_onnx_in(call, 2);
	struct wtl_layer *layer = call->layer;
	uint64_t steps, input, again;
	int rc;

	set_precisions(call, 0, 1);
	layer->kind = WTL_LAYER_RECURRENT;
	rc = wtl_onnx_product(call, wtl_onnx_in(call, 0), 0, 2, &steps);
	if (rc == 0)
		rc = wtl_onnx_elements(call, w, &input);
	if (rc == 0)
		rc = wtl_onnx_elements(call, r, &again);
	if (rc != 0)
		return rc;
	if (!w || !r || w->rank != 3 || r->rank != 3)
		return WTL_ONNX_UNKNOWN;
	layer->in_channels = size_or_one(w->dims[2]);
	layer->out_channels = size_or_one(r->dims[2]);
	rc = wtl_onnx_multiply(call, &again, steps);
	if (rc == 0)
		rc = add_macs(call, steps, input);
	if (rc == 0)
		rc = wtl_onnx_sum(call, &layer->macs, again);
	if (rc != 0)
		return rc;
	layer->recurrent_macs = again;
	return count_gates(call, steps, r->dims[0]);
}

/* ---- Attention ---- */

static int multiply_all(struct wtl_onnx_call *call, const struct wtl_onnx_number sizes[], size_t n)
{
	uint64_t total = 1;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = wtl_onnx_multiply_size(call, &total, sizes[i]);
	return rc == 0 ? add_macs(call, total, 1) : rc;
}

static struct wtl_onnx_number with_past(struct wtl_onnx_number length,
					const struct wtl_onnx_value *past, int axis)
{
	return wtl_onnx_has_rank(past) && past->rank > axis ? wtl_onnx_add(length, past->dims[axis])
							    : length;
}

/* Each query with each key, and each weight with each value. Widths are of all heads together. */
static int count_heads(struct wtl_onnx_call *call, struct wtl_onnx_number batch,
		       struct wtl_onnx_number queries, struct wtl_onnx_number keys,
		       struct wtl_onnx_number width, struct wtl_onnx_number value_width)
{
	const struct wtl_onnx_number qk[] = {batch, queries, keys, width},
				     av[] = {batch, queries, keys, value_width};
	int rc;

	call->layer->kind = WTL_LAYER_PRODUCT;
	rc = multiply_all(call, qk, 4);
	return rc == 0 ? multiply_all(call, av, 4) : rc;
}

int wtl_onnx_count_attention(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *q = wtl_onnx_in(call, 0), *k = wtl_onnx_in(call, 1),
				    *v = wtl_onnx_in(call, 2), *past = wtl_onnx_in(call, 4);
	int64_t heads = wtl_onnx_attr_int(call->node, "q_num_heads", 0),
		kv_heads = wtl_onnx_attr_int(call->node, "kv_num_heads", 0);
	struct wtl_onnx_number value_width;

	set_precisions(call, 0, 1);
	if (!wtl_onnx_has_rank(q) || !wtl_onnx_has_rank(k) || !wtl_onnx_has_rank(v) ||
	    q->rank != k->rank || q->rank != v->rank || (q->rank != 3 && q->rank != 4))
		return WTL_ONNX_UNKNOWN;
	if (q->rank == 4)
		return count_heads(call, q->dims[0], q->dims[2], with_past(k->dims[2], past, 2),
				   wtl_onnx_times(q->dims[1], q->dims[3]),
				   wtl_onnx_times(q->dims[1], v->dims[3]));
	value_width = wtl_onnx_times(wtl_onnx_divide(v->dims[2], kv_heads), wtl_onnx_known(heads));
	return count_heads(call, q->dims[0], q->dims[1], with_past(k->dims[1], past, 2), q->dims[2],
			   value_width);
}

/* Projections included: [B, S, D] times [D, 3 H]. Input 4 (QAttention: 8): the past, [2, B, heads, past, d]. */
int wtl_onnx_count_ms_attention(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *x = wtl_onnx_in(call, 0), *w = wtl_onnx_in(call, 1);
	bool is_quantized = wtl_span_is(call->node->op, "QAttention");
	const struct wtl_onnx_value *past = wtl_onnx_in(call, is_quantized ? 8 : 4);
	struct wtl_onnx_number width, value_width;
	int rc;

	set_precisions(call, 0, 1);
	if (!wtl_onnx_has_rank(x) || x->rank != 3 || !wtl_onnx_has_rank(w) || w->rank != 2)
		return WTL_ONNX_UNKNOWN;
	const struct wtl_onnx_number project[] = {x->dims[0], x->dims[1], w->dims[0], w->dims[1]};
	rc = multiply_all(call, project, 4);
	if (rc != 0)
		return rc;
	value_width = call->out->rank == 3 ? call->out->dims[2] : wtl_onnx_unknown(0);
	width = wtl_onnx_divide(
		wtl_onnx_add(w->dims[1], wtl_onnx_times(value_width, wtl_onnx_known(-1))), 2);
	rc = count_heads(call, x->dims[0], x->dims[1], with_past(x->dims[1], past, 3), width,
			 value_width);
	call->layer->kind = WTL_LAYER_DENSE;
	return rc;
}

/* MultiHeadAttention (past: input 6) and GroupQueryAttention (input 3). */
int wtl_onnx_count_mha(struct wtl_onnx_call *call)
{
	bool is_grouped = wtl_span_is(call->node->op, "GroupQueryAttention");
	const struct wtl_onnx_value *q = wtl_onnx_in(call, 0), *k = wtl_onnx_in(call, 1),
				    *past = wtl_onnx_in(call, is_grouped ? 3 : 6), *out = call->out;
	struct wtl_onnx_number keys, width;

	set_precisions(call, 0, 1);
	if (!wtl_onnx_has_rank(q) || q->rank < 3 || out->rank != 3)
		return WTL_ONNX_UNKNOWN;
	keys = q->dims[1];
	if (wtl_onnx_has_rank(k) && k->rank >= 3)
		keys = k->dims[k->rank == 4 ? 2 : 1];
	width = q->rank == 3 && k ? q->dims[2] : out->dims[2];
	return count_heads(call, q->dims[0], q->dims[1], with_past(keys, past, 2), width,
			   out->dims[2]);
}

/* ---- Not products ---- */

/* An operation per element read: pools and reductions. */
int wtl_onnx_count_inputs(struct wtl_onnx_call *call)
{
	uint64_t n;
	int rc = wtl_onnx_elements(call, wtl_onnx_in(call, 0), &n);

	return rc == 0 ? wtl_onnx_sum(call, &call->layer->other_ops, n) : rc;
}

/* Rows of a constant table are an embedding. */
int wtl_onnx_count_rows(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *table = wtl_onnx_in(call, 0);

	if (table && table->is_const && table->rank == 2 && wtl_onnx_type_is_real(table->type))
		call->layer->kind = WTL_LAYER_EMBEDDING;
	set_precisions(call, 0, 0);
	return 0;
}
