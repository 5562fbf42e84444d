/* SPDX-License-Identifier: MIT */
#include "neural/onnx_layer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"

enum { UNCOUNTED_MAX = 200 };

/* ---- What is not counted ---- */

int wtl_onnx_not_counted(struct wtl_onnx_state *state, const struct wtl_onnx_node *node,
			 enum wtl_onnx_why why)
{
	struct wtl_onnx_model *model = state->model;
	char op[64], domain[64], name[64];

	wtl_text_clean(op, sizeof(op), (const char *)node->op.at, node->op.len);
	wtl_text_clean(domain, sizeof(domain), (const char *)node->domain.at, node->domain.len);
	if (snprintf(name, sizeof(name), "%s%s%s", domain, *domain ? "." : "", op) < 0)
		name[0] = '\0';
	/* A name that was cut within a character. */
	wtl_text_clean(op, sizeof(op), name, strlen(name));
	for (size_t i = 0; i < model->n_uncounted; i++)
		if (model->uncounted[i].why == why &&
		    (strcmp(model->uncounted[i].op, op) == 0 || i + 1 == UNCOUNTED_MAX)) {
			model->uncounted[i].n++;
			return 0;
		}
	if (wtl_array_reserve(&model->uncounted, &model->room_uncounted, model->n_uncounted + 1,
			      sizeof(*model->uncounted)) < 0)
		return wtl_onnx_no_memory(&state->bytes);
	struct wtl_onnx_uncounted *added = &model->uncounted[model->n_uncounted++];
	*added = (struct wtl_onnx_uncounted){.why = why, .n = 1};
	wtl_text_copy(added->op, sizeof(added->op),
		      model->n_uncounted >= UNCOUNTED_MAX ? "other ops" : op);
	return 0;
}

/* ---- Constants that a layer uses ---- */

static bool has_bit(uint32_t bits, size_t i)
{
	return i < 32 ? bits & UINT32_C(1) << i : bits & UINT32_C(1) << 31;
}

static bool is_parameter(const struct wtl_onnx_storage *storage, const struct wtl_onnx_call *call,
			 const struct wtl_onnx_op *op)
{
	unsigned int bits = wtl_onnx_type_bits(storage->type);

	if (storage->is_scalar)
		return false;
	if (wtl_onnx_type_is_real(storage->type))
		return true;
	/* Weights of few bits; and biases of quantized layers, which are int32. */
	if (storage->type == WTL_ONNX_BOOL)
		return false;
	return bits <= 8 || (bits == 32 && op->count && op->scales && call->n_in > 7);
}

/* In numbers. Several weights may be packed into each byte; then the node tells how many there are. */
static int count_elements(struct wtl_onnx_call *call, const struct wtl_onnx_storage *storage,
			  size_t i, uint64_t *ret)
{
	int64_t n = wtl_onnx_attr_int(call->node, "N", 0),
		k = wtl_onnx_attr_int(call->node, "K", 0);

	*ret = storage->elements;
	if (i != 1 || n < 1 || k < 1 || !wtl_span_is(call->node->op, "MatMulNBits"))
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
	else if (!has_bit(op->buffers, i) && is_parameter(storage, call, op))
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

/* ---- What it reads and makes ---- */

/* Sizes that are not known are left out here: they are told by the node's own count. */
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

static int use_inputs(struct wtl_onnx_state *state, struct wtl_onnx_call *call,
		      const struct wtl_onnx_op *op)
{
	struct wtl_layer *layer = call->layer;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < call->n_in; i++) {
		if (!call->in[i] || (op && has_bit(op->shapes, i)))
			continue;
		if (!call->in[i]->is_const)
			rc = add_traffic(call, call->in[i], &layer->input_elements,
					 &layer->input_bytes);
		else if (op)
			rc = use_constant(state, call, op, i);
	}
	for (size_t i = 0; rc == 0 && i < call->n_out; i++)
		rc = add_traffic(call, &call->out[i], &layer->output_elements,
				 &layer->output_bytes);
	return rc;
}

/* ---- Counts ---- */

static int count(struct wtl_onnx_call *call, const struct wtl_onnx_op *op)
{
	uint64_t n = 0;
	int rc = op->count ? op->count(call) : 0;

	if (rc != 0 || op->per_element == 0)
		return rc;
	/* An output that nobody gave a shape and that has none either is no tensor of numbers. */
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
	if (rc == 0)
		rc = wtl_onnx_sum(call, &place->macs_min, layer->macs);
	return rc == 0 ? wtl_onnx_sum(call, &place->macs_max, layer->macs) : rc;
}

/* Its name in the file, or one that is made up. */
static struct wtl_layer *new_layer(struct wtl_onnx_state *state, const struct wtl_onnx_node *node)
{
	char name[256], op[64];

	wtl_text_clean(op, sizeof(op), (const char *)node->op.at, node->op.len);
	wtl_text_clean(name, sizeof(name), (const char *)node->name.at, node->name.len);
	if (!*name)
		snprintf(name, sizeof(name), "%s_%zu", op, state->model->n_nodes);
	if (state->model->network.n >= WTL_ONNX_LAYERS_MAX) {
		wtl_onnx_fail(&state->bytes, EFBIG, node->at, "the model has more than %d layers",
			      WTL_ONNX_LAYERS_MAX);
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
	int rc;

	call->layer = new_layer(state, call->node);
	if (!call->layer)
		return -ENOMEM;
	call->met_open = false;
	call->open = 0;
	rc = op ? count(call, op) : 0;
	if (rc < 0)
		return rc;
	if (!op || rc == WTL_ONNX_UNKNOWN) {
		call->layer->macs = call->layer->recurrent_macs = call->layer->other_ops = 0;
		state->asks |= call->met_open && call->open > 0;
		if (wtl_onnx_not_counted(state, call->node,
					 op ? WTL_ONNX_UNKNOWN_SIZE : WTL_ONNX_UNKNOWN_OP) < 0)
			return -ENOMEM;
	} else {
		state->model->n_counted++;
	}
	rc = use_inputs(state, call, op);
	return rc == 0 ? repeat(call, place) : rc;
}
