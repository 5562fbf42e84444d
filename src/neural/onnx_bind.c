/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "neural/onnx_state.h"

/* Sizes that a file leaves open, given by users: --dim and --input. */

enum { NAME_MAX_SHOWN = 60, LIST_MAX = 180 };

static int fail(struct wtl_onnx_state *state, const char *text, const char *what)
{
	return wtl_onnx_fail(&state->bytes, EINVAL, NULL, "'%s': %s", text, what);
}

/* ---- Sizes that are open ---- */

static struct wtl_onnx_open *find_open(struct wtl_onnx_state *state, const struct wtl_onnx_info *in,
				       int axis)
{
	struct wtl_span name = axis >= 0 ? in->dims[axis].name : (struct wtl_span){0};

	for (size_t i = 0; i < state->n_open; i++) {
		struct wtl_onnx_open *open = &state->open[i];

		if (name.len > 0 ? wtl_span_same(open->name, name)
				 : open->name.len == 0 && open->axis == axis &&
					   wtl_span_same(open->input, in->name))
			return open;
	}
	return NULL;
}

static int add_open(struct wtl_onnx_state *state, const struct wtl_onnx_info *in, int axis)
{
	struct wtl_onnx_open *open;

	if (find_open(state, in, axis))
		return 0;
	open = wtl_arena_add(&state->bytes.arena, &state->open, &state->n_open, sizeof(*open));
	if (!open)
		return wtl_onnx_no_memory(&state->bytes);
	*open = (struct wtl_onnx_open){.input = in->name, .axis = axis, .bound = -1};
	if (axis >= 0)
		open->name = in->dims[axis].name;
	return 0;
}

static void put_name(struct wtl_buf *buf, struct wtl_span name)
{
	char shown[NAME_MAX_SHOWN];

	wtl_buf_puts(buf, wtl_text_clean(shown, sizeof(shown), (const char *)name.at, name.len));
}

/* " --dim batch=N --input x=NxN...": the options to give. */
static const char *list_open(const struct wtl_onnx_state *state, struct wtl_buf *buf)
{
	wtl_buf_init(buf, 64 << 10);
	for (size_t i = 0; i < state->n_open; i++) {
		const struct wtl_onnx_open *open = &state->open[i];

		if (open->bound >= 0 || (!open->name.len && open->axis > 0 && i > 0 &&
					 wtl_span_same(state->open[i - 1].input, open->input) &&
					 !state->open[i - 1].name.len))
			continue;
		if (buf->len > LIST_MAX) {
			wtl_buf_puts(buf, " ...");
			break;
		}
		wtl_buf_puts(buf, open->name.len ? " --dim '" : " --input '");
		put_name(buf, open->name.len ? open->name : open->input);
		wtl_buf_puts(buf, open->name.len ? "=N'" : "=NxN...'");
	}
	return wtl_buf_str(buf);
}

int wtl_onnx_ask(struct wtl_onnx_state *state)
{
	struct wtl_buf buf;
	const char *list = list_open(state, &buf);
	int rc;

	state->bytes.where[0] = '\0';
	rc = wtl_onnx_fail(&state->bytes, EINVAL, NULL,
			   "the model leaves sizes of its inputs open: give%s", list);
	wtl_buf_done(&buf);
	return rc;
}

/* ---- Options ---- */

/* "name=rest" at the last '='. */
static int divide(struct wtl_onnx_state *state, const char *text, struct wtl_span *name,
		  const char **rest)
{
	const char *equals = strrchr(text, '=');

	if (!equals || equals == text || !equals[1])
		return fail(state, text, "this is not NAME=SIZE");
	*name = (struct wtl_span){(const uint8_t *)text, (size_t)(equals - text)};
	*rest = equals + 1;
	return 0;
}

static int bind_open(struct wtl_onnx_state *state, struct wtl_onnx_open *open, int64_t size,
		     const char *text)
{
	if (open->bound >= 0 && open->bound != size)
		return fail(state, text, "another option gives another size for this");
	open->bound = size;
	return 0;
}

static int read_size(struct wtl_onnx_state *state, const char *at, size_t len, const char *text,
		     int64_t *ret)
{
	if (len == 0 || at[0] < '0' || at[0] > '9' || wtl_num_i64(at, len, ret) < 0 || *ret < 1)
		return fail(state, text, "a size is a whole number from 1 on");
	return 0;
}

static int bind_dim(struct wtl_onnx_state *state, const char *text)
{
	struct wtl_span name;
	struct wtl_buf buf;
	const char *rest;
	int64_t size;
	int rc = divide(state, text, &name, &rest);

	if (rc == 0)
		rc = read_size(state, rest, strlen(rest), text, &size);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < state->n_open; i++)
		if (wtl_span_same(state->open[i].name, name))
			return bind_open(state, &state->open[i], size, text);
	const char *list = list_open(state, &buf);
	rc = wtl_onnx_fail(&state->bytes, EINVAL, NULL,
			   "--dim %s: the model leaves no size of that name open%s%s", text,
			   *list ? ", but these:" : "", list);
	wtl_buf_done(&buf);
	return rc;
}

static int bind_axis(struct wtl_onnx_state *state, const struct wtl_onnx_info *in, int axis,
		     int64_t size, const char *text)
{
	struct wtl_onnx_open *open;

	if (in->dims[axis].size >= 0 && in->dims[axis].size != size)
		return wtl_onnx_fail(&state->bytes, EINVAL, in->at,
				     "--input %s: size %d of this input is always %lld", text,
				     axis + 1, (long long)in->dims[axis].size);
	open = in->dims[axis].size < 0 ? find_open(state, in, axis) : NULL;
	return open ? bind_open(state, open, size, text) : 0;
}

/* The sizes of "1x3x224x224". */
static int read_shape(struct wtl_onnx_state *state, const char *text, const char *at,
		      int64_t sizes[WTL_ONNX_RANK_MAX], int *ret_rank)
{
	int rank = 0;

	for (;;) {
		size_t len = strcspn(at, "x,");
		int rc;

		if (rank == WTL_ONNX_RANK_MAX)
			return fail(state, text, "it has more than 64 sizes");
		rc = read_size(state, at, len, text, &sizes[rank]);
		if (rc < 0)
			return rc;
		rank++;
		if (!at[len])
			break;
		at += len + 1;
	}
	*ret_rank = rank;
	return 0;
}

static int bind_shape(struct wtl_onnx_state *state, const struct wtl_onnx_info *in,
		      const int64_t sizes[], int rank, const char *text)
{
	struct wtl_onnx_open *open;
	int rc = 0;

	if (in->rank >= 0 && in->rank != rank)
		return wtl_onnx_fail(&state->bytes, EINVAL, in->at,
				     "--input %s: this input has %d sizes, not %d", text, in->rank,
				     rank);
	for (int axis = 0; rc == 0 && axis < in->rank; axis++)
		rc = bind_axis(state, in, axis, sizes[axis], text);
	if (in->rank >= 0)
		return rc;
	open = find_open(state, in, -1);
	if (!open)
		return fail(state, text, "this input is no tensor");
	open->bound = 0;
	return 0;
}

static int no_such_input(struct wtl_onnx_state *state, const struct wtl_onnx_info inputs[],
			 size_t n, const char *text)
{
	struct wtl_buf buf;
	int rc;

	wtl_buf_init(&buf, 64 << 10);
	for (size_t i = 0; i < n && buf.len < LIST_MAX; i++) {
		wtl_buf_puts(&buf, i ? ", " : "");
		put_name(&buf, inputs[i].name);
	}
	rc = wtl_onnx_fail(&state->bytes, EINVAL, NULL,
			   "--input %s: the model has no input of that name; its inputs are: %s",
			   text, wtl_buf_str(&buf));
	wtl_buf_done(&buf);
	return rc;
}

static int bind_input(struct wtl_onnx_state *state, const struct wtl_onnx_info inputs[], size_t n,
		      const char *text)
{
	int64_t sizes[WTL_ONNX_RANK_MAX];
	struct wtl_span name;
	const char *rest;
	int rank = 0, rc = divide(state, text, &name, &rest);

	if (rc == 0)
		rc = read_shape(state, text, rest, sizes, &rank);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		if (wtl_span_same(inputs[i].name, name))
			return bind_shape(state, &inputs[i], sizes, rank, text);
	return no_such_input(state, inputs, n, text);
}

int wtl_onnx_bind(struct wtl_onnx_state *state, const struct wtl_onnx_info inputs[], size_t n)
{
	const struct wtl_onnx_options *options = state->options;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (inputs[i].rank < 0 && inputs[i].is_tensor)
			rc = add_open(state, &inputs[i], -1);
		for (int axis = 0; rc == 0 && axis < inputs[i].rank; axis++)
			if (inputs[i].dims[axis].size < 0)
				rc = add_open(state, &inputs[i], axis);
	}
	for (size_t i = 0; rc == 0 && options && i < options->n_inputs; i++)
		rc = bind_input(state, inputs, n, options->inputs[i]);
	for (size_t i = 0; rc == 0 && options && i < options->n_dims; i++)
		rc = bind_dim(state, options->dims[i]);
	return rc;
}

/* Takes the shape of an input from --input, if the file has none at all. */
static int bound_shape(struct wtl_onnx_state *state, const struct wtl_onnx_info *input,
		       struct wtl_onnx_value *ret)
{
	int64_t sizes[WTL_ONNX_RANK_MAX];
	struct wtl_onnx_open *open = find_open(state, input, -1);

	ret->open = open ? (uint32_t)(open - state->open) + 1 : 0;
	for (size_t i = 0; open && open->bound == 0 && i < state->options->n_inputs; i++) {
		struct wtl_span name;
		const char *rest;
		int rank;

		if (divide(state, state->options->inputs[i], &name, &rest) < 0 ||
		    !wtl_span_same(name, input->name) ||
		    read_shape(state, rest, rest, sizes, &rank) < 0)
			continue;
		ret->dims = wtl_arena_new(&state->bytes.arena, (size_t)rank, sizeof(*ret->dims));
		if (!ret->dims)
			return wtl_onnx_no_memory(&state->bytes);
		ret->rank = rank;
		for (int axis = 0; axis < rank; axis++)
			ret->dims[axis] = wtl_onnx_known(sizes[axis]);
	}
	return 0;
}

int wtl_onnx_bound(struct wtl_onnx_state *state, const struct wtl_onnx_info *input,
		   struct wtl_onnx_value *ret)
{
	*ret = (struct wtl_onnx_value){.type = input->type, .rank = input->rank};
	if (input->rank < 0)
		return bound_shape(state, input, ret);
	if (input->rank > WTL_ONNX_RANK_MAX)
		return wtl_onnx_fail(&state->bytes, WTL_EFORMAT, input->at,
				     "an input has more than 64 dimensions");
	ret->dims = wtl_arena_new(&state->bytes.arena, (size_t)input->rank, sizeof(*ret->dims));
	if (!ret->dims)
		return wtl_onnx_no_memory(&state->bytes);
	for (int axis = 0; axis < input->rank; axis++) {
		const struct wtl_onnx_open *open =
			input->dims[axis].size < 0 ? find_open(state, input, axis) : NULL;

		if (input->dims[axis].size >= 0)
			ret->dims[axis] = wtl_onnx_known(input->dims[axis].size);
		else if (open && open->bound >= 0)
			ret->dims[axis] = wtl_onnx_known(open->bound);
		else
			ret->dims[axis] =
				wtl_onnx_unknown(open ? (uint32_t)(open - state->open) + 1 : 0);
	}
	return 0;
}
