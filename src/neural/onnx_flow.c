/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/err.h"
#include "neural/onnx_frame.h"

/* Nodes with subgraphs: If runs one of two; Loop and Scan run one several times. */

enum { LOOKS = 2 };

/* ---- If ---- */

/* Keeps in a only what is the same on both sides. */
static void merge(struct wtl_onnx_value *a, const struct wtl_onnx_value *b)
{
	a->numbers = NULL;
	a->n_numbers = 0;
	a->is_const = false;
	a->is_analog |= b->is_analog;
	a->storage = 0;
	if (a->rank != b->rank) {
		a->rank = -1;
		return;
	}
	for (int i = 0; i < a->rank; i++)
		if (!a->dims[i].known || !wtl_onnx_is(b->dims[i], a->dims[i].is.whole))
			a->dims[i] = wtl_onnx_unknown(wtl_onnx_open_of(a->dims[i], b->dims[i]));
}

static int copy_dims(struct wtl_onnx_frame *frame, struct wtl_onnx_value *value)
{
	struct wtl_onnx_number *dims = value->dims;

	if (value->rank <= 0)
		return 0;
	value->dims = wtl_arena_new(&frame->state->bytes.arena, (size_t)value->rank, sizeof(*dims));
	if (!value->dims)
		return wtl_onnx_no_memory(&frame->state->bytes);
	memcpy(value->dims, dims, (size_t)value->rank * sizeof(*dims));
	return 0;
}

/* Both sides of an If, or the one that is known to run. */
struct sides {
	struct wtl_onnx_inner inner[2];
	struct wtl_onnx_place place[2];
	bool runs[2];
	uint32_t branch; /* 0: only one of them can run, or nothing is counted */
};

static int run_side(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call, struct sides *sides,
		    unsigned int side)
{
	const struct wtl_onnx_attr *graph =
		wtl_onnx_attr(call->node, side ? "else_branch" : "then_branch");
	struct wtl_onnx_place *place = &sides->place[side];

	if (!graph || !graph->has_graph)
		return wtl_onnx_fail(call->bytes, WTL_EFORMAT, call->node->at,
				     "an If without both of its branches");
	if (!sides->runs[side])
		return 0;
	*place = *frame->place;
	if (sides->branch) {
		place->branch = sides->branch;
		place->side = (uint8_t)side;
	}
	sides->inner[side].message = graph->graph;
	return frame->run_inner(frame, &sides->inner[side], place, false);
}

static int set_if_outputs(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call,
			  const struct sides *sides)
{
	const struct wtl_onnx_inner *taken = &sides->inner[!sides->runs[0]],
				    *other = &sides->inner[1];
	bool are_both = sides->runs[0] && sides->runs[1];
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < call->n_out && i < taken->n_out; i++) {
		call->out[i] = taken->out[i];
		if (!are_both)
			continue;
		rc = copy_dims(frame, &call->out[i]);
		if (rc == 0 && i < other->n_out)
			merge(&call->out[i], &other->out[i]);
	}
	return rc;
}

int wtl_onnx_run_if(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *condition = wtl_onnx_in(call, 0);
	struct sides sides = {.runs = {true, true}};
	int rc = 0;

	if (condition && condition->n_numbers == 1 && condition->numbers[0].known)
		sides.runs[condition->numbers[0].is.whole != 0] = false;
	if (sides.runs[0] && sides.runs[1] && !frame->is_trial) {
		sides.branch = wtl_network_add_branch(&frame->state->model->network,
						      frame->place->branch, frame->place->side);
		if (!sides.branch)
			return wtl_onnx_no_memory(call->bytes);
	}
	for (unsigned int side = 0; rc == 0 && side < 2; side++)
		rc = run_side(frame, call, &sides, side);
	return rc == 0 ? set_if_outputs(frame, call, &sides) : rc;
}

/* ---- Loops ---- */

/* Sizes of a carried value that an iteration changes become unknown. */
static int settle(struct wtl_onnx_frame *frame, struct wtl_onnx_value *before,
		  const struct wtl_onnx_value *after)
{
	int rc = copy_dims(frame, before);

	if (rc == 0)
		merge(before, after);
	return rc;
}

static void set_scalar(struct wtl_onnx_value *value, int type, struct wtl_onnx_number *number)
{
	*value = (struct wtl_onnx_value){.type = type, .numbers = number, .n_numbers = 1};
}

/* Whether a Loop's condition, its body's first output, is always true. */
static bool goes_on_always(const struct wtl_onnx_inner *body)
{
	return body->n_out > 0 && body->out[0].n_numbers == 1 && body->out[0].numbers[0].known &&
	       body->out[0].numbers[0].is.whole;
}

/* Runs through the body LOOKS times for shapes after an iteration, then once to count. */
static int run_rounds(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call,
		      struct wtl_onnx_inner *body, size_t first_state, size_t n_states,
		      size_t first_out, struct wtl_onnx_number rounds, bool asks_condition)
{
	struct wtl_onnx_place place = *frame->place;
	int rc;

	for (unsigned int look = 0; look < LOOKS; look++) {
		rc = frame->run_inner(frame, body, &place, true);
		for (size_t i = 0; rc == 0 && i < n_states && first_out + i < body->n_out; i++)
			rc = settle(frame, &body->in[first_state + i], &body->out[first_out + i]);
		if (rc < 0)
			return rc;
	}
	if (asks_condition && !goes_on_always(body))
		rounds = wtl_onnx_unknown(0);
	if (!rounds.known && rounds.open) {
		frame->state->asks = true;
		rounds.open = 0;
	}
	if (rounds.known && rounds.is.whole >= 0)
		rc = wtl_onnx_multiply(call, &place.times, (uint64_t)rounds.is.whole);
	else
		place.repeats_unknown = true;
	if (rc == 0)
		rc = frame->run_inner(frame, body, &place, false);
	return rc;
}

/* Output i stacks one value per iteration: `rounds` becomes its first size. */
static int stack(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call, size_t i,
		 const struct wtl_onnx_value *each, struct wtl_onnx_number rounds)
{
	struct wtl_onnx_value *out = &call->out[i];
	int rc;

	(void)frame;
	out->type = each->type;
	out->is_analog = each->is_analog;
	if (each->rank < 0)
		return 0;
	rc = wtl_onnx_set_rank(call, i, each->rank + 1);
	if (rc < 0)
		return rc;
	out->dims[0] = rounds;
	memcpy(out->dims + 1, each->dims, (size_t)each->rank * sizeof(*each->dims));
	return 0;
}

/* Outputs: the states, then values stacked over all iterations. */
static int set_loop_outputs(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call,
			    const struct wtl_onnx_inner *body, size_t n_states, size_t first_out,
			    struct wtl_onnx_number rounds)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < call->n_out && first_out + i < body->n_out; i++) {
		const struct wtl_onnx_value *each = &body->out[first_out + i];

		if (i >= n_states) {
			rc = stack(frame, call, i, each, rounds);
			continue;
		}
		call->out[i] = *each;
		call->out[i].numbers = NULL;
		call->out[i].n_numbers = 0;
		call->out[i].is_const = false;
	}
	return rc;
}

static struct wtl_onnx_value given(const struct wtl_onnx_call *call, size_t i)
{
	return i < call->n_in && call->in[i] ? *call->in[i] : (struct wtl_onnx_value){.rank = -1};
}

int wtl_onnx_run_loop(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call)
{
	const struct wtl_onnx_attr *graph = wtl_onnx_attr(call->node, "body");
	const struct wtl_onnx_value *most = wtl_onnx_in(call, 0), *condition = wtl_onnx_in(call, 1);
	struct wtl_onnx_number round = {0}, goes_on = wtl_onnx_known(1),
			       rounds = wtl_onnx_unknown(0);
	size_t n_states = call->n_in > 2 ? call->n_in - 2 : 0;
	struct wtl_onnx_inner body = {.n_in = n_states + 2};
	int rc;

	if (!graph || !graph->has_graph)
		return wtl_onnx_fail(call->bytes, WTL_EFORMAT, call->node->at,
				     "a Loop without its body");
	body.message = graph->graph;
	body.in = wtl_arena_new(&frame->state->bytes.arena, body.n_in, sizeof(*body.in));
	if (!body.in)
		return wtl_onnx_no_memory(&frame->state->bytes);
	if (most && most->n_numbers > 0)
		rounds = most->numbers[0];
	if (condition && (condition->n_numbers == 0 || !condition->numbers[0].known))
		goes_on = wtl_onnx_unknown(0);
	set_scalar(&body.in[0], WTL_ONNX_INT64, &round);
	set_scalar(&body.in[1], WTL_ONNX_BOOL, &goes_on);
	for (size_t i = 0; i < n_states; i++)
		body.in[2 + i] = given(call, 2 + i);
	rc = run_rounds(frame, call, &body, 2, n_states, 1, rounds, true);
	return rc < 0 ? rc : set_loop_outputs(frame, call, &body, n_states, 1, rounds);
}

/* A scanned value without its scan axis. */
static int slice_of(struct wtl_onnx_frame *frame, const struct wtl_onnx_value *whole, int64_t axis,
		    struct wtl_onnx_value *ret)
{
	int to = 0;

	*ret = (struct wtl_onnx_value){.type = whole->type,
				       .rank = -1,
				       .open = whole->open,
				       .is_analog = whole->is_analog};
	if (whole->rank < 1)
		return 0;
	ret->dims =
		wtl_arena_new(&frame->state->bytes.arena, (size_t)whole->rank, sizeof(*ret->dims));
	if (!ret->dims)
		return wtl_onnx_no_memory(&frame->state->bytes);
	for (int i = 0; i < whole->rank; i++)
		if (i != axis && to < whole->rank - 1)
			ret->dims[to++] = whole->dims[i];
	ret->rank = whole->rank - 1;
	return 0;
}

/* Sets the inputs of a Scan's body, and how often it runs. */
static int set_scan_inputs(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call,
			   struct wtl_onnx_inner *body, size_t n_states,
			   struct wtl_onnx_number *rounds)
{
	const struct wtl_onnx_attr *axes = wtl_onnx_attr(call->node, "scan_input_axes");
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < call->n_in; i++) {
		struct wtl_onnx_value whole = given(call, i);
		size_t along = i - n_states;
		int64_t axis = 0;

		body->in[i] = whole;
		if (i < n_states || whole.rank < 1)
			continue;
		if (axes && along < axes->ints.n)
			axis = axes->ints.of[along];
		rc = wtl_onnx_axis(call, axis, whole.rank, &axis);
		if (rc < 0)
			return rc;
		if (!rounds->known)
			*rounds = whole.dims[axis];
		rc = slice_of(frame, &whole, axis, &body->in[i]);
	}
	return rc;
}

/* Inputs since opset 9: states, then scanned values. */
int wtl_onnx_run_scan(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call)
{
	const struct wtl_onnx_attr *graph = wtl_onnx_attr(call->node, "body");
	int64_t n_along = wtl_onnx_attr_int(call->node, "num_scan_inputs", 0);
	struct wtl_onnx_number rounds = wtl_onnx_unknown(0);
	struct wtl_onnx_inner body = {.n_in = call->n_in};
	int rc;

	if (!graph || !graph->has_graph || n_along < 1 || (uint64_t)n_along > call->n_in)
		return wtl_onnx_fail(call->bytes, WTL_EFORMAT, call->node->at,
				     "a Scan without its body, or that goes along nothing");
	size_t n_states = call->n_in - (size_t)n_along;
	body.message = graph->graph;
	body.in = wtl_arena_new(&frame->state->bytes.arena, body.n_in, sizeof(*body.in));
	if (!body.in)
		return wtl_onnx_no_memory(&frame->state->bytes);
	rc = set_scan_inputs(frame, call, &body, n_states, &rounds);
	if (rc == 0)
		rc = run_rounds(frame, call, &body, 0, n_states, 0, rounds, false);
	return rc < 0 ? rc : set_loop_outputs(frame, call, &body, n_states, 0, rounds);
}
