/* SPDX-License-Identifier: MIT */
#include "neural/onnx_layer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"

enum { UNCOUNTED_MAX = 200 };

/* ---- Uncounted nodes ---- */

static int not_counted(struct wtl_onnx_state *state, const struct wtl_onnx_node *node,
		       enum wtl_uncounted why)
{
	struct wtl_coverage *to = &state->model->network.coverage;
	char op[64], domain[64], name[64];

	wtl_text_clean(op, sizeof(op), (const char *)node->op.at, node->op.len);
	wtl_text_clean(domain, sizeof(domain), (const char *)node->domain.at, node->domain.len);
	if (snprintf(name, sizeof(name), "%s%s%s", domain, *domain ? "." : "", op) < 0)
		name[0] = '\0';
	/* The name may have been cut within a character. */
	wtl_text_clean(op, sizeof(op), name, strlen(name));
	for (size_t i = 0; i < to->n; i++)
		if ((to->uncounted[i].why == why && strcmp(to->uncounted[i].op, op) == 0) ||
		    i + 1 == UNCOUNTED_MAX) {
			to->uncounted[i].n++;
			return 0;
		}
	if (wtl_array_reserve(&to->uncounted, &to->room, to->n + 1, sizeof(*to->uncounted)) < 0)
		return wtl_onnx_no_memory(&state->bytes);
	struct wtl_uncounted_op *added = &to->uncounted[to->n++];
	*added = (struct wtl_uncounted_op){.why = why, .n = 1};
	wtl_text_copy(added->op, sizeof(added->op), to->n >= UNCOUNTED_MAX ? "other ops" : op);
	return 0;
}

/* ---- Constants that a layer uses ---- */

static bool has_bit(uint32_t bits, size_t i)
{
	return i < 32 ? bits & UINT32_C(1) << i : bits & UINT32_C(1) << 31;
}

static bool is_parameter(const struct wtl_onnx_storage *storage, const struct wtl_onnx_value *value,
			 const struct wtl_onnx_op *op)
{
	unsigned int bits = wtl_onnx_type_bits(storage->type);

	if (storage->is_scalar)
		return false;
	if (wtl_onnx_type_is_real(storage->type))
		return true;
	/* Weights of few bits, and int32 biases of quantized layers, which are dequantized or use the layer's scale. */
	if (storage->type == WTL_ONNX_BOOL)
		return false;
	return bits <= 8 ||
	       (bits == 32 && (value->stored || (wtl_onnx_op_is_product(op) && op->scales)));
}

/* In elements. Packed weights have several per byte: then the node has their number (N times K). */
static int count_elements(struct wtl_onnx_call *call, const struct wtl_onnx_storage *storage,
			  size_t i, uint64_t *ret)
{
	int64_t n = wtl_onnx_attr_int(call->node, "N", 0),
		k = wtl_onnx_attr_int(call->node, "K", 0);

	*ret = storage->elements;
	if (i != 1 || n < 1 || k < 1 ||
	    !(wtl_span_is(call->node->op, "MatMulNBits") ||
	      wtl_span_is(call->node->op, "MatMulBnb4")))
		return 0;
	*ret = (uint64_t)n;
	return wtl_onnx_multiply(call, ret, (uint64_t)k);
}

static int use_constant(struct wtl_onnx_state *state, struct wtl_onnx_call *call,
			const struct wtl_onnx_op *op, size_t i)
{
	struct wtl_layer *layer = call->layer;
	uint64_t elements, *to = &layer->buffers;
	int rc;
	struct wtl_onnx_storage *storage = wtl_onnx_const_storage(state, call->in[i], &rc);

	if (!storage || storage->is_used)
		return rc;
	storage->is_used = true;
	if (has_bit(op->scales, i))
		to = &layer->scales;
	else if (!has_bit(op->buffers, i) && is_parameter(storage, call->in[i], op))
		to = &layer->parameters;
	rc = count_elements(call, storage, i, &elements);
	if (rc == 0)
		rc = wtl_onnx_sum(call, to, elements);
	if (rc == 0)
		rc = wtl_onnx_sum(call, &layer->weight_bytes, storage->bytes);
	if (rc == 0)
		rc = wtl_onnx_sum(call, &layer->scales, storage->scales);
	return rc == 0 ? wtl_onnx_sum(call, &layer->weight_bytes, storage->scale_bytes) : rc;
}

/* ---- Inputs and outputs ---- */

/* Unknown sizes are left out here: the node's own count reports them. */
static int add_traffic(struct wtl_onnx_call *call, const struct wtl_onnx_value *value,
		       uint64_t *elements, uint64_t *bytes)
{
	struct wtl_onnx_call aside = *call;
	uint64_t n, more;
	int rc;

	if (!value)
		return 0;
	rc = wtl_onnx_elements(&aside, value, &n);
	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (wtl_onnx_type_bytes(value->stored ? value->stored : value->type, n, &more) < 0)
		return wtl_onnx_fail(call->bytes, EOVERFLOW, call->node->at,
				     "its bytes are more than 64 bits hold");
	rc = wtl_onnx_sum(call, elements, n);
	return rc == 0 ? wtl_onnx_sum(call, bytes, more) : rc;
}

static void set_shape(const struct wtl_onnx_value *value, struct wtl_layer *layer)
{
	if (value->rank > WTL_LAYER_RANK_MAX)
		return;
	for (int i = 0; i < value->rank; i++) {
		if (!value->dims[i].known || value->dims[i].is.whole < 0)
			return;
		layer->output_shape[i] = (uint64_t)value->dims[i].is.whole;
	}
	layer->output_rank = value->rank;
}

static int use_inputs(struct wtl_onnx_state *state, struct wtl_onnx_call *call,
		      const struct wtl_onnx_op *op)
{
	static const struct wtl_onnx_op unknown = {0};
	struct wtl_layer *layer = call->layer;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < call->n_in; i++) {
		if (!call->in[i] || (op && has_bit(op->shapes, i)))
			continue;
		if (!call->in[i]->is_const)
			rc = add_traffic(call, call->in[i], &layer->input_elements,
					 &layer->input_bytes);
		else
			rc = use_constant(state, call, op ? op : &unknown, i);
	}
	for (size_t i = 0; rc == 0 && i < call->n_out; i++)
		rc = add_traffic(call, &call->out[i], &layer->output_elements,
				 &layer->output_bytes);
	if (call->n_out > 0)
		set_shape(&call->out[0], layer);
	return rc;
}

/* ---- Counts ---- */

static int count(struct wtl_onnx_call *call, const struct wtl_onnx_op *op)
{
	uint64_t n = 0;
	int rc = op->count ? op->count(call) : 0;

	if (rc != 0 || op->per_element == 0)
		return rc;
	/* Without outputs there are no elements; with an unknown shape the count is unknown. */
	rc = call->n_out > 0 ? wtl_onnx_elements(call, call->out, &n) : 0;
	if (rc == 0)
		rc = wtl_onnx_multiply(call, &n, op->per_element);
	return rc == 0 ? wtl_onnx_sum(call, &call->layer->other_ops, n) : rc;
}

static int repeat(struct wtl_onnx_call *call, struct wtl_onnx_place *place)
{
	struct wtl_layer *layer = call->layer;
	uint64_t *const each[] = {&layer->macs,	       &layer->recurrent_macs,
				  &layer->other_ops,   &layer->input_elements,
				  &layer->input_bytes, &layer->output_elements,
				  &layer->output_bytes};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(each) / sizeof(each[0]); i++)
		rc = wtl_onnx_multiply(call, each[i], place->times);
	layer->repeats_unknown = place->repeats_unknown;
	layer->branch = place->branch;
	layer->side = place->side;
	return rc;
}

/* ---- In a spiking network ---- */

/* Whether an input can be spikes: it is not a constant, and no shape or scale. */
static bool is_signal(const struct wtl_onnx_call *call, const struct wtl_onnx_op *op, size_t i)
{
	return call->in[i] && !call->in[i]->is_const &&
	       !(op && has_bit(op->shapes | op->scales, i));
}

/* Whether an input is numbers, not spikes, even in a spiking network. */
static bool takes_numbers(const struct wtl_onnx_call *call, const struct wtl_onnx_op *op)
{
	for (size_t i = 0; i < call->n_in; i++)
		if (is_signal(call, op, i) && call->in[i]->is_analog)
			return true;
	return false;
}

bool wtl_onnx_makes_numbers(const struct wtl_onnx_call *call, const struct wtl_onnx_op *op)
{
	if (op && op->flags & WTL_ONNX_RANDOM)
		return true;
	if (op && wtl_onnx_op_is_product(op))
		return op->count == wtl_onnx_count_recurrent;
	return !(op && (op->shape == wtl_onnx_shape_shape || op->shape == wtl_onnx_shape_size)) &&
	       takes_numbers(call, op);
}

/* Sets the precision of its operations, and its role in a spiking network. Its elements must be known. */
static void set_nature(struct wtl_onnx_call *call, const struct wtl_onnx_op *op)
{
	struct wtl_layer *layer = call->layer;
	const struct wtl_onnx_value *works_on = call->n_out > 0 ? call->out : NULL;
	size_t n_signals = 0;

	for (size_t i = call->n_in; i-- > 0;) {
		if (!is_signal(call, op, i))
			continue;
		n_signals++;
		if (call->in[i]->type != WTL_ONNX_BOOL)
			works_on = call->in[i];
	}
	if (layer->activations == WTL_PRECISION_UNKNOWN)
		layer->activations = wtl_onnx_precision(works_on);
	layer->input_analog = takes_numbers(call, op);
	layer->is_of_neuron = op && op->per_element > 0 && n_signals == 1 &&
			      layer->input_elements == layer->output_elements;
}

/* Adds a layer with its name in the file, or with op and number. */
static struct wtl_layer *new_layer(struct wtl_onnx_state *state, const struct wtl_onnx_node *node)
{
	char name[256], op[64];

	wtl_text_clean(op, sizeof(op), (const char *)node->op.at, node->op.len);
	wtl_text_clean(name, sizeof(name), (const char *)node->name.at, node->name.len);
	if (!*name)
		snprintf(name, sizeof(name), "%s_%zu", op, state->model->network.coverage.n_nodes);
	if (state->model->network.n >= WTL_LAYERS_MAX) {
		wtl_onnx_fail(
			&state->bytes, EFBIG, node->at,
			"the model has more than %d layers, the most that are read; give a part of "
			"it, or put what repeats into a Loop",
			WTL_LAYERS_MAX);
		return NULL;
	}
	struct wtl_layer *layer = wtl_network_add(&state->model->network, name, op);
	if (!layer)
		wtl_onnx_no_memory(&state->bytes);
	return layer;
}

int wtl_onnx_layer_add(struct wtl_onnx_state *state, struct wtl_onnx_call *call,
		       const struct wtl_onnx_op *op, struct wtl_onnx_place *place)
{
	struct wtl_coverage *coverage = &state->model->network.coverage;
	call->layer = new_layer(state, call->node);
	if (!call->layer)
		return -ENOMEM;
	call->met_open = false;
	call->open = 0;
	int rc = op ? count(call, op) : 0;
	if (rc < 0)
		return rc;
	if (!op || rc == WTL_ONNX_UNKNOWN) {
		call->layer->macs = call->layer->recurrent_macs = call->layer->other_ops = 0;
		state->asks |= call->met_open && call->open > 0;
		call->layer->uncounted = op ? WTL_UNCOUNTED_SIZE : WTL_UNCOUNTED_OP;
		if (not_counted(state, call->node, call->layer->uncounted) < 0)
			return -ENOMEM;
	} else {
		coverage->n_counted++;
	}
	rc = use_inputs(state, call, op);
	set_nature(call, op);
	return rc == 0 ? repeat(call, place) : rc;
}
