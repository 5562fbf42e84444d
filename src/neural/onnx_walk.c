/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "neural/onnx_frame.h"

/*
 * Runs through a graph in the order of its nodes, which ONNX requires to be topological. Subgraphs and functions are
 * run through where they are used, each time.
 */

enum { DEPTH_MAX = 24, NODES_MAX = 2000000 };

static int run_nodes(struct wtl_onnx_frame *frame, uint32_t field_of_nodes);

static int set_value(struct wtl_onnx_frame *frame, struct wtl_span name,
		     const struct wtl_onnx_value *value)
{
	return wtl_onnx_scope_set(&frame->scope, &frame->state->bytes.arena, name, value)
		       ? 0
		       : wtl_onnx_no_memory(&frame->state->bytes);
}

static void done(struct wtl_onnx_frame *frame)
{
	wtl_onnx_scope_done(&frame->scope);
	wtl_hash_done(&frame->infos);
}

/* ---- Graphs ---- */

/* Reads all initializers before the nodes that use them. */
static int read_constants(struct wtl_onnx_frame *frame)
{
	struct wtl_onnx_state *state = frame->state;
	struct wtl_proto proto = wtl_proto_of(frame->message);
	struct wtl_proto_field field;
	int rc;

	while ((rc = wtl_onnx_next(&state->bytes, &proto, &field)) > 0) {
		struct wtl_onnx_value value;
		struct wtl_span name;

		if ((field.number != 5 && field.number != 15) || field.wire != WTL_WIRE_BYTES)
			continue;
		rc = field.number == 5 ? wtl_onnx_const_tensor(state, field.bytes, &name, &value)
				       : wtl_onnx_const_sparse(state, field.bytes, &name, &value);
		if (rc == 0)
			rc = set_value(frame, name, &value);
		if (rc < 0)
			return rc;
	}
	return rc;
}

/* Lists the messages of one field. 0 or negative. */
static int list_messages(struct wtl_onnx_frame *frame, uint32_t number, struct wtl_onnx_spans *ret)
{
	struct wtl_proto proto = wtl_proto_of(frame->message);
	struct wtl_proto_field field;
	int rc;

	*ret = (struct wtl_onnx_spans){0};
	while ((rc = wtl_onnx_next(&frame->state->bytes, &proto, &field)) > 0)
		if (field.number == number) {
			rc = wtl_onnx_add_span(&frame->state->bytes, &field, ret);
			if (rc < 0)
				return rc;
		}
	return rc;
}

static int read_outputs(struct wtl_onnx_frame *frame, struct wtl_onnx_inner *inner)
{
	struct wtl_onnx_spans outputs;
	int rc = list_messages(frame, 12, &outputs);

	if (rc < 0)
		return rc;
	inner->out = wtl_arena_new(&frame->state->bytes.arena, outputs.n, sizeof(*inner->out));
	if (!inner->out)
		return wtl_onnx_no_memory(&frame->state->bytes);
	inner->n_out = outputs.n;
	for (size_t i = 0; i < outputs.n; i++) {
		const struct wtl_onnx_value *found =
			wtl_onnx_scope_find(&frame->scope, wtl_onnx_info_name(outputs.of[i]));

		inner->out[i] = found ? *found : (struct wtl_onnx_value){.rank = -1};
	}
	return 0;
}

static int run_inner(struct wtl_onnx_frame *around, struct wtl_onnx_inner *inner,
		     struct wtl_onnx_place *place, bool is_trial)
{
	struct wtl_onnx_frame frame = {.state = around->state,
				       .scope = {.around = &around->scope},
				       .message = inner->message,
				       .place = place,
				       .caller = around->caller,
				       .defaults = around->defaults,
				       .opset = around->opset,
				       .depth = around->depth + 1,
				       .is_trial = is_trial || around->is_trial,
				       .run_inner = run_inner};
	struct wtl_onnx_spans inputs;
	int rc;

	if (frame.depth > DEPTH_MAX)
		return wtl_onnx_fail(&frame.state->bytes, WTL_EFORMAT, inner->message.at,
				     "graphs and functions lie deeper than %d within each other",
				     DEPTH_MAX);
	rc = read_constants(&frame);
	if (rc == 0)
		rc = list_messages(&frame, 11, &inputs);
	for (size_t i = 0; rc == 0 && i < inputs.n && i < inner->n_in; i++)
		rc = set_value(&frame, wtl_onnx_info_name(inputs.of[i]), &inner->in[i]);
	if (rc == 0)
		rc = run_nodes(&frame, 1);
	if (rc == 0)
		rc = read_outputs(&frame, inner);
	done(&frame);
	return rc;
}

/* ---- Functions ---- */

/* Reads a function's own opset and its default attributes. */
static int read_function(struct wtl_onnx_frame *frame, struct wtl_onnx_node *defaults)
{
	struct wtl_onnx_bytes *bytes = &frame->state->bytes;
	struct wtl_proto proto = wtl_proto_of(frame->message);
	struct wtl_proto_field field;
	int rc;

	*defaults = (struct wtl_onnx_node){0};
	while ((rc = wtl_onnx_next(bytes, &proto, &field)) > 0) {
		if (field.number == 11 && field.wire == WTL_WIRE_BYTES) {
			struct wtl_onnx_attr *attr =
				wtl_arena_add(&bytes->arena, &defaults->attrs, &defaults->n_attrs,
					      sizeof(*defaults->attrs));

			if (!attr)
				return wtl_onnx_no_memory(&frame->state->bytes);
			rc = wtl_onnx_read_attr(bytes, field.bytes, attr);
		} else if (field.number == 9 && field.wire == WTL_WIRE_BYTES) {
			rc = wtl_onnx_read_opset(bytes, field.bytes, &frame->opset);
		}
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int run_function(struct wtl_onnx_frame *around, struct wtl_onnx_call *call,
			const struct wtl_onnx_function *function)
{
	struct wtl_onnx_node defaults;
	struct wtl_onnx_frame frame = {.state = around->state,
				       .message = function->message,
				       .place = around->place,
				       .caller = call->node,
				       .defaults = &defaults,
				       .opset = around->opset,
				       .depth = around->depth + 1,
				       .is_trial = around->is_trial,
				       .run_inner = run_inner};
	struct wtl_onnx_spans in, out;
	int rc;

	if (frame.depth > DEPTH_MAX)
		return wtl_onnx_fail(&frame.state->bytes, WTL_EFORMAT, call->node->at,
				     "functions call each other more than %d deep: is one a part "
				     "of itself?",
				     DEPTH_MAX);
	rc = read_function(&frame, &defaults);
	if (rc == 0)
		rc = list_messages(&frame, 4, &in);
	if (rc == 0)
		rc = list_messages(&frame, 5, &out);
	for (size_t i = 0; rc == 0 && i < in.n && i < call->n_in; i++)
		if (call->in[i] && in.of[i].len)
			rc = set_value(&frame, in.of[i], call->in[i]);
	if (rc == 0)
		rc = run_nodes(&frame, 7);
	for (size_t i = 0; rc == 0 && i < out.n && i < call->n_out; i++) {
		const struct wtl_onnx_value *found = wtl_onnx_scope_find(&frame.scope, out.of[i]);

		if (found)
			call->out[i] = *found;
	}
	done(&frame);
	return rc;
}

/* Replaces references to attributes by those of the function's caller, or defaults; drops those without either. */
static void resolve(const struct wtl_onnx_frame *frame, struct wtl_onnx_node *node)
{
	size_t kept = 0;

	for (size_t i = 0; i < node->n_attrs; i++) {
		struct wtl_onnx_attr *attr = &node->attrs[i];
		const struct wtl_onnx_node *const from[] = {frame->caller, frame->defaults};
		const struct wtl_onnx_attr *found = NULL;

		for (size_t k = 0; attr->reference.len && !found && k < 2; k++)
			for (size_t n = 0; from[k] && !found && n < from[k]->n_attrs; n++)
				if (wtl_span_same(from[k]->attrs[n].name, attr->reference))
					found = &from[k]->attrs[n];
		if (attr->reference.len && !found)
			continue;
		struct wtl_onnx_attr value = found ? *found : *attr;
		value.name = attr->name;
		value.reference = (struct wtl_span){0};
		node->attrs[kept++] = value;
	}
	node->n_attrs = kept;
}

/* ---- Nodes ---- */

static int find_inputs(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call)
{
	const struct wtl_onnx_spans *in = &call->node->in;
	char name[80];

	call->n_in = in->n;
	call->in = wtl_arena_new(&frame->state->bytes.arena, in->n, sizeof(*call->in));
	if (!call->in)
		return wtl_onnx_no_memory(&frame->state->bytes);
	for (size_t i = 0; i < in->n; i++) {
		if (in->of[i].len == 0)
			continue;
		call->in[i] = wtl_onnx_scope_find(&frame->scope, in->of[i]);
		/* Inside a function an input may be missing, as its caller left it out. */
		if (!call->in[i] && !frame->caller)
			return wtl_onnx_fail(
				call->bytes, WTL_EFORMAT, call->node->at,
				"it uses '%s', which no node before it makes: the nodes are out of "
				"order, or form a circle",
				wtl_text_clean(name, sizeof(name), (const char *)in->of[i].at,
					       in->of[i].len));
	}
	return 0;
}

static bool all_const(const struct wtl_onnx_call *call)
{
	for (size_t i = 0; i < call->n_in; i++)
		if (call->in[i] && !call->in[i]->is_const)
			return false;
	return call->n_in > 0;
}

/* Scales of dequantized constants count where those are used. */
static int keep_scales(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call)
{
	for (size_t i = 1; i < call->n_in; i++) {
		struct wtl_onnx_storage *of, *scale;
		uint64_t elements, bytes;
		int rc;

		if (!call->in[i])
			continue;
		scale = wtl_onnx_const_storage(frame->state, call->in[i], &rc);
		if (!scale || scale->is_used)
			continue;
		scale->is_used = true;
		elements = scale->elements;
		bytes = scale->bytes;
		of = wtl_onnx_const_storage(frame->state, call->in[0], &rc);
		if (!of)
			return rc;
		if (__builtin_add_overflow(of->scales, elements, &of->scales) ||
		    __builtin_add_overflow(of->scale_bytes, bytes, &of->scale_bytes))
			return wtl_onnx_fail(call->bytes, EOVERFLOW, call->node->at,
					     "its scales do not fit into 64 bits");
	}
	return 0;
}

/* Views, parts and dequantized forms of a stored constant keep its storage. */
static int keep_storage(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call,
			const struct wtl_onnx_op *op)
{
	bool is_quantized = op->scales && wtl_span_is(call->node->op, "DequantizeLinear");
	int rc = 0;

	if (!(op->flags & (WTL_ONNX_VIEW | WTL_ONNX_MOVES)) && !is_quantized)
		return 0;
	if (wtl_span_is(call->node->op, "Shape") || wtl_span_is(call->node->op, "Size"))
		return 0;
	if (!call->in[0])
		return 0;
	if (is_quantized)
		rc = keep_scales(frame, call);
	if (rc == 0)
		wtl_onnx_const_storage(frame->state, call->in[0], &rc);
	for (size_t i = 0; rc == 0 && i < call->n_out; i++)
		call->out[i].storage = call->in[0]->storage;
	return rc;
}

static void begin_outputs(struct wtl_onnx_call *call, const struct wtl_onnx_op *op, bool is_const)
{
	const struct wtl_onnx_value *first = wtl_onnx_in(call, 0);
	bool is_analog = !is_const && wtl_onnx_makes_numbers(call, op);

	for (size_t i = 0; i < call->n_out; i++) {
		call->out[i] = (struct wtl_onnx_value){.rank = -1,
						       .type = first ? first->type : 0,
						       .is_const = is_const,
						       .is_analog = is_analog};
		if (first && op && op->flags & (WTL_ONNX_VIEW | WTL_ONNX_MOVES))
			call->out[i].stored = first->stored;
	}
}

static int run_op(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call)
{
	const struct wtl_onnx_op *op = wtl_onnx_op_find(call->node->domain, call->node->op);
	bool is_const = op && !(op->flags & WTL_ONNX_RANDOM) && all_const(call);
	int rc;

	begin_outputs(call, op, is_const);
	rc = op && op->shape ? op->shape(call) : 0;
	for (size_t i = 0; rc == 0 && i < call->n_out; i++)
		rc = wtl_onnx_fill_from_info(frame, call->node->out.of[i], &call->out[i]);
	if (rc == 0 && is_const)
		rc = keep_storage(frame, call, op);
	if (rc < 0 || frame->is_trial)
		return rc;
	if (op && (is_const || op->flags & WTL_ONNX_VIEW)) {
		frame->state->model->network.coverage.n_counted++;
		return 0;
	}
	return wtl_onnx_layer_add(frame->state, call, op, frame->place);
}

static int run_any(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call)
{
	struct wtl_span op = call->node->op;
	const struct wtl_onnx_function named = {.name = op,
						.domain = call->node->domain,
						.overload = call->node->overload},
				       *function = wtl_onnx_function_find(frame->state, &named);
	static const struct {
		const char *name;
		int (*run)(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call);
		int64_t since; /* opset; Scan was another op before */
	} flows[] = {{"If", wtl_onnx_run_if, 0},
		     {"Loop", wtl_onnx_run_loop, 0},
		     {"Scan", wtl_onnx_run_scan, 9}};

	size_t *n_counted = &frame->state->model->network.coverage.n_counted;

	begin_outputs(call, NULL, false);
	if (function) {
		*n_counted += !frame->is_trial;
		return run_function(frame, call, function);
	}
	if (call->node->domain.len == 0 && wtl_span_is(op, "Constant") && call->n_out > 0) {
		*n_counted += !frame->is_trial;
		return wtl_onnx_const_node(frame->state, call->node, call->out);
	}
	for (size_t i = 0; call->node->domain.len == 0 && i < sizeof(flows) / sizeof(flows[0]); i++)
		if (wtl_span_is(op, flows[i].name) && frame->opset >= flows[i].since) {
			*n_counted += !frame->is_trial;
			return flows[i].run(frame, call);
		}
	return run_op(frame, call);
}

static void say_where(struct wtl_onnx_frame *frame, const struct wtl_onnx_node *node)
{
	struct wtl_onnx_bytes *bytes = &frame->state->bytes;
	char name[64], op[32];

	wtl_text_clean(name, sizeof(name), (const char *)node->name.at, node->name.len);
	wtl_text_clean(op, sizeof(op), (const char *)node->op.at, node->op.len);
	snprintf(bytes->where, sizeof(bytes->where), "node %s%s%s(%s)", *name ? "'" : "", name,
		 *name ? "' " : "", op);
}

static int run_node(struct wtl_onnx_frame *frame, struct wtl_span message)
{
	struct wtl_onnx_state *state = frame->state;
	struct wtl_onnx_node node;
	struct wtl_onnx_call call = {.bytes = &state->bytes, .node = &node, .opset = frame->opset};
	int rc = wtl_onnx_read_node(&state->bytes, message, &node);

	if (rc < 0)
		return rc;
	say_where(frame, &node);
	if (++state->n_nodes > NODES_MAX)
		return wtl_onnx_fail(&state->bytes, EFBIG, message.at,
				     "loops and functions make it more than %d nodes", NODES_MAX);
	state->model->network.coverage.n_nodes += !frame->is_trial;
	resolve(frame, &node);
	rc = find_inputs(frame, &call);
	if (rc < 0)
		return rc;
	call.n_out = node.out.n;
	call.out = wtl_arena_new(&state->bytes.arena, node.out.n, sizeof(*call.out));
	if (!call.out)
		return wtl_onnx_no_memory(&frame->state->bytes);
	rc = run_any(frame, &call);
	for (size_t i = 0; rc == 0 && i < call.n_out; i++)
		if (node.out.of[i].len)
			rc = set_value(frame, node.out.of[i], &call.out[i]);
	return rc;
}

/* Nodes are field 1 of a graph, 7 of a function. */
static int run_nodes(struct wtl_onnx_frame *frame, uint32_t field_of_nodes)
{
	struct wtl_proto proto = wtl_proto_of(frame->message);
	struct wtl_proto_field field;
	int rc;

	while ((rc = wtl_onnx_next(&frame->state->bytes, &proto, &field)) > 0) {
		if (field.number != field_of_nodes || field.wire != WTL_WIRE_BYTES)
			continue;
		rc = run_node(frame, field.bytes);
		if (rc < 0)
			return rc;
		frame->state->bytes.where[0] = '\0';
	}
	return rc;
}

/* ---- The model's graph ---- */

static int run_model(struct wtl_onnx_frame *frame)
{
	struct wtl_onnx_state *state = frame->state;
	struct wtl_onnx_spans messages;
	struct wtl_onnx_info *inputs;
	size_t n = 0;
	int rc = read_constants(frame);

	if (rc == 0)
		rc = list_messages(frame, 11, &messages);
	if (rc < 0)
		return rc;
	inputs = wtl_arena_new(&state->bytes.arena, messages.n, sizeof(*inputs));
	if (!inputs)
		return wtl_onnx_no_memory(&frame->state->bytes);
	for (size_t i = 0; i < messages.n; i++) {
		rc = wtl_onnx_read_info(&state->bytes, messages.of[i], &inputs[n]);
		if (rc < 0)
			return rc;
		/* Before IR 4, constants are inputs as well. */
		n += !wtl_onnx_scope_find(&frame->scope, inputs[n].name);
	}
	rc = wtl_onnx_bind(state, inputs, n);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct wtl_onnx_value value;

		rc = wtl_onnx_bound(state, &inputs[i], &value);
		value.is_analog = true;
		if (rc == 0)
			rc = set_value(frame, inputs[i].name, &value);
	}
	return rc < 0 ? rc : run_nodes(frame, 1);
}

int wtl_onnx_walk(struct wtl_onnx_state *state, struct wtl_span graph)
{
	struct wtl_onnx_place place = {.times = 1};
	struct wtl_onnx_frame frame = {.state = state,
				       .message = graph,
				       .place = &place,
				       .opset = state->opset,
				       .run_inner = run_inner};
	int rc = run_model(&frame);

	done(&frame);
	return rc;
}
