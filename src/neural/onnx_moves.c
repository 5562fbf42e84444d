/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/err.h"
#include "neural/onnx_rules.h"

/* Shapes of ops that move data, and of those that make shapes: known numbers of an input give those of the output. */

/* The output has the input's numbers in another shape. */
static void keep_numbers(struct wtl_onnx_call *call, const struct wtl_onnx_value *in)
{
	call->out[0].numbers = in->numbers;
	call->out[0].n_numbers = in->n_numbers;
}

/* ---- Shapes as data ---- */

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

int wtl_onnx_shape_shape(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *in = wtl_onnx_in(call, 0);
	int64_t start, end;
	int rc;

	if (call->n_out == 0)
		return 0;
	call->out[0].type = WTL_ONNX_INT64;
	rc = wtl_onnx_set_rank(call, 0, 1);
	if (rc < 0)
		return rc;
	if (!wtl_onnx_has_rank(in)) {
		call->out[0].dims[0] = wtl_onnx_unknown(in ? in->open : 0);
		return 0;
	}
	start = wtl_onnx_attr_int(call->node, "start", 0);
	end = wtl_onnx_attr_int(call->node, "end", in->rank);
	start = clamp(start < 0 ? start + in->rank : start, 0, in->rank);
	end = clamp(end < 0 ? end + in->rank : end, start, in->rank);
	call->out[0].dims[0] = wtl_onnx_known(end - start);
	rc = wtl_onnx_set_numbers(call, 0, (size_t)(end - start));
	if (rc == 0)
		memcpy(call->out[0].numbers, in->dims + start,
		       (size_t)(end - start) * sizeof(*in->dims));
	return rc;
}

int wtl_onnx_shape_size(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0);
	struct wtl_onnx_number total = wtl_onnx_known(1);
	int rc;

	if (call->n_out == 0)
		return 0;
	call->out[0].type = WTL_ONNX_INT64;
	rc = wtl_onnx_set_rank(call, 0, 0);
	if (rc < 0 || !in)
		return rc;
	for (int i = 0; i < in->rank; i++)
		total = wtl_onnx_times(total, in->dims[i]);
	rc = wtl_onnx_set_numbers(call, 0, 1);
	if (rc == 0)
		call->out[0].numbers[0] = total;
	return rc;
}

/* ---- Other shapes for the same elements ---- */

/* The size for -1: the input's elements divided by the other sizes. */
static struct wtl_onnx_number rest_of(const struct wtl_onnx_value *in,
				      const struct wtl_onnx_value *out, int gap)
{
	struct wtl_onnx_number have = wtl_onnx_known(1), want = wtl_onnx_known(1);

	for (int i = 0; i < in->rank; i++)
		have = wtl_onnx_times(have, in->dims[i]);
	for (int o = 0; o < out->rank; o++)
		if (o != gap)
			want = wtl_onnx_times(want, out->dims[o]);
	if (!have.known || !want.known)
		return wtl_onnx_unknown(wtl_onnx_open_of(have, want));
	return want.is.whole > 0 ? wtl_onnx_known(have.is.whole / want.is.whole)
				 : wtl_onnx_known(0);
}

/* The rank may be known even if the sizes are not. */
static int reshape_to_unknown(struct wtl_onnx_call *call, uint32_t open)
{
	const struct wtl_onnx_value *to = wtl_onnx_in(call, 1);
	int rc;

	call->out->open = open;
	if (!wtl_onnx_has_rank(to) || to->rank != 1 || !to->dims[0].known)
		return 0;
	rc = wtl_onnx_set_rank(call, 0, to->dims[0].is.whole);
	for (int i = 0; rc == 0 && i < call->out->rank; i++)
		call->out->dims[i].open = open;
	return rc;
}

int wtl_onnx_shape_reshape(struct wtl_onnx_call *call)
{
	struct wtl_onnx_value *in = wtl_onnx_in(call, 0), *out = call->out;
	bool allow_zero = wtl_onnx_attr_int(call->node, "allowzero", 0) != 0;
	struct wtl_onnx_numbers shape;
	int gap = -1, rc;

	if (!in || call->n_out == 0)
		return 0;
	if (!wtl_onnx_numbers_of(call, 1, "shape", &shape) || !shape.of)
		return reshape_to_unknown(call, shape.open);
	rc = wtl_onnx_set_rank(call, 0, (int64_t)shape.n);
	if (rc < 0)
		return rc;
	for (int i = 0; i < out->rank; i++) {
		out->dims[i] = shape.of[i];
		if (wtl_onnx_is(shape.of[i], -1))
			gap = i;
		if (wtl_onnx_is(shape.of[i], 0) && !allow_zero)
			out->dims[i] = in->rank > i ? in->dims[i] : wtl_onnx_unknown(in->open);
	}
	if (gap >= 0)
		out->dims[gap] = in->rank >= 0 ? rest_of(in, out, gap) : wtl_onnx_unknown(in->open);
	keep_numbers(call, in);
	return 0;
}

int wtl_onnx_shape_flatten(struct wtl_onnx_call *call)
{
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0);
	int64_t axis;
	int rc;

	if (!in)
		return 0;
	axis = wtl_onnx_attr_int(call->node, "axis", 1);
	if (axis < 0)
		axis += in->rank;
	rc = wtl_onnx_set_rank(call, 0, 2);
	if (rc < 0)
		return rc;
	call->out[0].dims[0] = call->out[0].dims[1] = wtl_onnx_known(1);
	for (int i = 0; i < in->rank; i++)
		call->out[0].dims[i >= axis] =
			wtl_onnx_times(call->out[0].dims[i >= axis], in->dims[i]);
	keep_numbers(call, in);
	return 0;
}

/* Finds the dimensions to remove. WTL_ONNX_UNKNOWN: not known. */
static int find_squeezed(struct wtl_onnx_call *call, const struct wtl_onnx_value *in, bool *gone)
{
	struct wtl_onnx_numbers axes = {0};
	int64_t axis;
	int rc = 0;

	if (!wtl_onnx_numbers_of(call, 1, "axes", &axes)) {
		for (int i = 0; i < in->rank; i++)
			gone[i] = wtl_onnx_is(in->dims[i], 1);
		return 0;
	}
	call->out[0].open = axes.open;
	if (!axes.of)
		return WTL_ONNX_UNKNOWN;
	for (size_t i = 0; rc == 0 && i < axes.n; i++) {
		if (!axes.of[i].known)
			return WTL_ONNX_UNKNOWN;
		rc = wtl_onnx_axis(call, axes.of[i].is.whole, in->rank, &axis);
		if (rc == 0)
			gone[axis] = true;
	}
	return rc;
}

int wtl_onnx_shape_squeeze(struct wtl_onnx_call *call)
{
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0);
	bool gone[WTL_ONNX_RANK_MAX] = {false};
	int64_t rank = 0;
	int rc, at = 0;

	rc = in ? find_squeezed(call, in, gone) : WTL_ONNX_UNKNOWN;
	if (rc != 0)
		return rc < 0 ? rc : 0;
	for (int i = 0; i < in->rank; i++)
		rank += !gone[i];
	rc = wtl_onnx_set_rank(call, 0, rank);
	for (int i = 0; rc == 0 && i < in->rank; i++)
		if (!gone[i])
			call->out[0].dims[at++] = in->dims[i];
	if (rc == 0)
		keep_numbers(call, in);
	return rc;
}

int wtl_onnx_shape_unsqueeze(struct wtl_onnx_call *call)
{
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0);
	bool is_new[WTL_ONNX_RANK_MAX] = {false};
	struct wtl_onnx_numbers axes = {0};
	int64_t rank, axis;
	int rc, at = 0;

	if (!in)
		return 0;
	if (!wtl_onnx_numbers_of(call, 1, "axes", &axes) || !axes.of) {
		call->out[0].open = axes.open;
		return 0;
	}
	rank = in->rank + (int64_t)axes.n;
	rc = wtl_onnx_set_rank(call, 0, rank);
	for (size_t i = 0; rc == 0 && i < axes.n; i++) {
		if (!axes.of[i].known) {
			call->out[0].rank = -1;
			return 0;
		}
		rc = wtl_onnx_axis(call, axes.of[i].is.whole, rank, &axis);
		if (rc == 0)
			is_new[axis] = true;
	}
	for (int i = 0; rc == 0 && i < rank; i++)
		call->out[0].dims[i] =
			is_new[i] || at >= in->rank ? wtl_onnx_known(1) : in->dims[at++];
	if (rc == 0)
		keep_numbers(call, in);
	return rc;
}

int wtl_onnx_shape_transpose(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_attr *perm = wtl_onnx_attr(call->node, "perm");
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0);
	int64_t axis;
	int rc;

	if (!in)
		return 0;
	if (perm && perm->ints.n != (size_t)in->rank)
		return wtl_onnx_fail(call->bytes, WTL_EFORMAT, call->node->at,
				     "it turns %zu dimensions of %d", perm->ints.n, in->rank);
	rc = wtl_onnx_set_rank(call, 0, in->rank);
	for (int i = 0; rc == 0 && i < in->rank; i++) {
		axis = perm ? perm->ints.of[i] : in->rank - 1 - i;
		rc = wtl_onnx_axis(call, axis, in->rank, &axis);
		if (rc == 0)
			call->out[0].dims[i] = in->dims[axis];
	}
	if (rc == 0 && in->rank < 2)
		keep_numbers(call, in);
	return rc;
}

/* ---- Several into one, one into several ---- */

/* Only for rank 1, as of shapes. */
static int concat_numbers(struct wtl_onnx_call *call)
{
	size_t n = 0, at = 0;
	int rc;

	for (size_t i = 0; i < call->n_in; i++) {
		if (!call->in[i] || call->in[i]->rank != 1)
			return 0;
		if (!call->in[i]->numbers && !call->in[i]->dims[0].known)
			return 0;
		size_t more = call->in[i]->numbers ? call->in[i]->n_numbers
						   : (size_t)call->in[i]->dims[0].is.whole;
		if (more > WTL_ONNX_NUMBERS_MAX || n + more > WTL_ONNX_NUMBERS_MAX)
			return 0;
		n += more;
	}
	rc = wtl_onnx_set_numbers(call, 0, n);
	for (size_t i = 0; rc == 0 && i < call->n_in; i++) {
		const struct wtl_onnx_value *in = call->in[i];
		size_t more = in->numbers ? in->n_numbers : (size_t)in->dims[0].is.whole;

		for (size_t own = 0; own < more; own++)
			call->out[0].numbers[at++] =
				in->numbers ? in->numbers[own] : wtl_onnx_unknown(in->open);
	}
	return rc;
}

int wtl_onnx_shape_concat(struct wtl_onnx_call *call)
{
	bool is_new = wtl_onnx_attr_int(call->node, "new_axis", 0) != 0;
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0);
	int64_t axis;
	int rc;

	if (!in || is_new)
		return 0;
	rc = wtl_onnx_axis(call, wtl_onnx_attr_int(call->node, "axis", 1), in->rank, &axis);
	if (rc == 0)
		rc = wtl_onnx_set_rank(call, 0, in->rank);
	if (rc < 0)
		return rc;
	memcpy(call->out[0].dims, in->dims, (size_t)in->rank * sizeof(*in->dims));
	for (size_t i = 1; i < call->n_in; i++) {
		struct wtl_onnx_value *next = call->in[i];

		if (!wtl_onnx_has_rank(next) || next->rank != in->rank) {
			call->out[0].dims[axis] = wtl_onnx_unknown(next ? next->open : 0);
			continue;
		}
		for (int at = 0; at < in->rank; at++)
			if (at == axis)
				call->out[0].dims[at] =
					wtl_onnx_add(call->out[0].dims[at], next->dims[at]);
			else if (!call->out[0].dims[at].known)
				call->out[0].dims[at] = next->dims[at];
	}
	return concat_numbers(call);
}

/* The size of part i of several. */
static struct wtl_onnx_number part(const struct wtl_onnx_call *call, struct wtl_onnx_number size,
				   const struct wtl_onnx_numbers *told, size_t i)
{
	int64_t n = (int64_t)call->n_out, each;

	if (told->of)
		return i < told->n ? told->of[i] : wtl_onnx_unknown(0);
	if (!size.known || told->open)
		return wtl_onnx_unknown(size.known ? told->open : size.open);
	each = size.is.whole / n + (size.is.whole % n > 0);
	if (i > 0 && each > size.is.whole / (int64_t)i)
		return wtl_onnx_known(0);
	return wtl_onnx_known(clamp(size.is.whole - (int64_t)i * each, 0, each));
}

int wtl_onnx_shape_split(struct wtl_onnx_call *call)
{
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0);
	struct wtl_onnx_numbers told = {0};
	int64_t axis, from = 0;
	int rc;

	if (!in)
		return 0;
	wtl_onnx_numbers_of(call, 1, "split", &told);
	rc = wtl_onnx_axis(call, wtl_onnx_attr_int(call->node, "axis", 0), in->rank, &axis);
	for (size_t i = 0; rc == 0 && i < call->n_out; i++) {
		struct wtl_onnx_number size = part(call, in->dims[axis], &told, i);

		rc = wtl_onnx_set_rank(call, i, in->rank);
		if (rc < 0)
			return rc;
		memcpy(call->out[i].dims, in->dims, (size_t)in->rank * sizeof(*in->dims));
		call->out[i].dims[axis] = size;
		if (in->rank == 1 && in->numbers && size.known && from >= 0 && size.is.whole >= 0 &&
		    (uint64_t)size.is.whole <= in->n_numbers &&
		    (uint64_t)from <= in->n_numbers - (uint64_t)size.is.whole) {
			call->out[i].numbers = in->numbers + from;
			call->out[i].n_numbers = (size_t)size.is.whole;
			from += size.is.whole;
		} else {
			from = -1;
		}
	}
	return rc;
}

/* ---- Parts ---- */

struct slice {
	struct wtl_onnx_number start, end, step;
};

/* An index counted from the end, if it is negative; -1: before the beginning. */
static int64_t from_end(int64_t at, int64_t n)
{
	if (at >= 0)
		return at;
	return at < -n ? -1 : at + n;
}

/* How many of n elements a slice takes; *start becomes an index in range. */
static int64_t count_sliced(int64_t n, int64_t *start, int64_t end, int64_t step)
{
	*start = from_end(*start, n);
	end = from_end(end, n);
	if (step > 0) {
		*start = clamp(*start, 0, n);
		end = clamp(end, 0, n);
		return end > *start ? (end - *start - 1) / step + 1 : 0;
	}
	*start = clamp(*start, 0, n - 1);
	end = clamp(end, -1, n - 1);
	return *start > end ? (*start - end - 1) / -step + 1 : 0;
}

static struct wtl_onnx_number sliced_size(struct wtl_onnx_number size, const struct slice *slice,
					  int64_t *ret_start)
{
	const struct wtl_onnx_number all[] = {size, slice->start, slice->end, slice->step};

	*ret_start = 0;
	/* The whole axis, whatever its size. */
	if (!size.known && wtl_onnx_is(slice->start, 0) && wtl_onnx_is(slice->step, 1) &&
	    slice->end.known && slice->end.is.whole >= INT32_MAX)
		return size;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (!all[i].known)
			return wtl_onnx_unknown(all[i].open);
	if (slice->step.is.whole == 0 || slice->step.is.whole == INT64_MIN || size.is.whole < 0)
		return wtl_onnx_unknown(0);
	*ret_start = slice->start.is.whole;
	return wtl_onnx_known(
		count_sliced(size.is.whole, ret_start, slice->end.is.whole, slice->step.is.whole));
}

static int slice_numbers(struct wtl_onnx_call *call, const struct wtl_onnx_value *in, int64_t start,
			 int64_t step)
{
	int64_t n = call->out[0].dims[0].is.whole;
	int rc;

	if (in->rank != 1 || !in->numbers || !call->out[0].dims[0].known ||
	    n > WTL_ONNX_NUMBERS_MAX)
		return 0;
	rc = wtl_onnx_set_numbers(call, 0, (size_t)n);
	for (int64_t i = 0; rc == 0 && i < n; i++) {
		uint64_t at = (uint64_t)(start + i * step);

		if (at < in->n_numbers)
			call->out[0].numbers[i] = in->numbers[at];
	}
	return rc;
}

/* Number i of a list, or `otherwise` if the list is not given. */
static struct wtl_onnx_number number_at(bool is_given, const struct wtl_onnx_numbers *numbers,
					size_t i, int64_t otherwise)
{
	if (!is_given)
		return wtl_onnx_known(otherwise);
	return numbers->of && i < numbers->n ? numbers->of[i] : wtl_onnx_unknown(numbers->open);
}

int wtl_onnx_shape_slice(struct wtl_onnx_call *call)
{
	struct wtl_onnx_numbers starts = {0}, ends = {0}, axes = {0}, steps = {0};
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0);
	int64_t axis, start = 0, step = 1;
	int rc;

	if (!in)
		return 0;
	rc = wtl_onnx_set_rank(call, 0, in->rank);
	if (rc < 0)
		return rc;
	memcpy(call->out[0].dims, in->dims, (size_t)in->rank * sizeof(*in->dims));
	bool has_axes = wtl_onnx_numbers_of(call, 3, "axes", &axes),
	     has_steps = wtl_onnx_numbers_of(call, 4, NULL, &steps);
	wtl_onnx_numbers_of(call, 1, "starts", &starts);
	wtl_onnx_numbers_of(call, 2, "ends", &ends);
	size_t n = starts.of ? starts.n : ends.of ? ends.n : axes.n;
	if (n == 0)
		for (int i = 0; i < in->rank; i++)
			call->out[0].dims[i] = wtl_onnx_unknown(starts.open);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		struct wtl_onnx_number which = number_at(has_axes, &axes, i, (int64_t)i);
		struct slice slice = {.start = number_at(true, &starts, i, 0),
				      .end = number_at(true, &ends, i, 0),
				      .step = number_at(has_steps, &steps, i, 1)};

		if (!which.known)
			return 0;
		rc = wtl_onnx_axis(call, which.is.whole, in->rank, &axis);
		if (rc < 0)
			return rc;
		call->out[0].dims[axis] = sliced_size(in->dims[axis], &slice, &start);
		step = slice.step.is.whole;
	}
	return slice_numbers(call, in, start, step);
}

static int gather_numbers(struct wtl_onnx_call *call, const struct wtl_onnx_value *in,
			  const struct wtl_onnx_value *at)
{
	int rc = wtl_onnx_set_numbers(call, 0, at->n_numbers);

	for (size_t k = 0; rc == 0 && k < at->n_numbers; k++) {
		int64_t index = at->numbers[k].is.whole;

		index += index < 0 ? (int64_t)in->n_numbers : 0;
		if (at->numbers[k].known && index >= 0 && (uint64_t)index < in->n_numbers)
			call->out[0].numbers[k] = in->numbers[index];
	}
	return rc;
}

int wtl_onnx_shape_gather(struct wtl_onnx_call *call)
{
	struct wtl_onnx_value *in = wtl_onnx_in_with_rank(call, 0), *at = wtl_onnx_in(call, 1),
			      *out = call->out;
	int64_t axis;
	int rc, i = 0;

	if (!in || !wtl_onnx_in_with_rank(call, 1))
		return 0;
	rc = wtl_onnx_axis(call, wtl_onnx_attr_int(call->node, "axis", 0), in->rank, &axis);
	if (rc == 0)
		rc = wtl_onnx_set_rank(call, 0, in->rank - 1 + at->rank);
	if (rc < 0)
		return rc;
	for (int from = 0; from < axis; from++)
		out->dims[i++] = in->dims[from];
	for (int from = 0; from < at->rank; from++)
		out->dims[i++] = at->dims[from];
	for (int from = (int)axis + 1; from < in->rank; from++)
		out->dims[i++] = in->dims[from];
	if (in->rank == 1 && in->numbers && at->numbers && at->rank <= 1)
		return gather_numbers(call, in, at);
	return 0;
}
