/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "neural/onnx_rules.h"

/* Values of element-wise ops on small tensors: models compute shapes by them for Reshape. */

static bool has_all_numbers(const struct wtl_onnx_call *call)
{
	for (size_t i = 0; i < call->n_in; i++)
		if (!call->in[i] || !call->in[i]->numbers)
			return false;
	return call->n_in > 0;
}

/* ---- One or two operands ---- */

/* Div and Mod as in ONNX: Div rounds to zero, Mod has the divisor's sign. */
static bool divide_whole(struct wtl_span op, int64_t a, int64_t b, int64_t *ret)
{
	bool is_mod = wtl_span_is(op, "Mod");

	if (b == 0 || (!is_mod && !wtl_span_is(op, "Div")))
		return false;
	if (b == -1) {
		*ret = 0;
		return is_mod || !__builtin_sub_overflow(0, a, ret);
	}
	*ret = is_mod ? a % b : a / b;
	if (is_mod && *ret != 0 && (*ret < 0) != (b < 0))
		*ret += b;
	return true;
}

static bool compute_whole(struct wtl_span op, int64_t a, int64_t b, int64_t *ret)
{
	if (wtl_span_is(op, "Add") || wtl_span_is(op, "Sum"))
		return !__builtin_add_overflow(a, b, ret);
	if (wtl_span_is(op, "Sub"))
		return !__builtin_sub_overflow(a, b, ret);
	if (wtl_span_is(op, "Mul"))
		return !__builtin_mul_overflow(a, b, ret);
	*ret = a > b ? a : b;
	if (wtl_span_is(op, "Max"))
		return true;
	*ret = a < b ? a : b;
	return wtl_span_is(op, "Min") || divide_whole(op, a, b, ret);
}

static bool compute_real(struct wtl_span op, double a, double b, double *ret)
{
	if (wtl_span_is(op, "Add") || wtl_span_is(op, "Sum"))
		*ret = a + b;
	else if (wtl_span_is(op, "Sub"))
		*ret = a - b;
	else if (wtl_span_is(op, "Mul"))
		*ret = a * b;
	else if (wtl_span_is(op, "Div"))
		*ret = a / b;
	else if (wtl_span_is(op, "Max"))
		*ret = a > b ? a : b;
	else if (wtl_span_is(op, "Min"))
		*ret = a < b ? a : b;
	else if (wtl_span_is(op, "Pow"))
		*ret = pow(a, b);
	else
		return false;
	return true;
}

/* Comparisons as bits for less, equal and greater. */
static const struct {
	const char *op;
	unsigned int holds;
} comparisons[] = {
	{"Less", 1}, {"Equal", 2}, {"LessOrEqual", 3}, {"Greater", 4}, {"GreaterOrEqual", 6},
};

static bool compare(struct wtl_span op, bool is_real, union wtl_onnx_scalar a,
		    union wtl_onnx_scalar b, int64_t *ret)
{
	unsigned int found = is_real ? (a.real < b.real	   ? 1
					: a.real == b.real ? 2
							   : 4)
				     : (a.whole < b.whole    ? 1
					: a.whole == b.whole ? 2
							     : 4);

	for (size_t i = 0; i < sizeof(comparisons) / sizeof(comparisons[0]); i++)
		if (wtl_span_is(op, comparisons[i].op)) {
			*ret = (comparisons[i].holds & found) != 0;
			return true;
		}
	if (!wtl_span_is(op, "And") && !wtl_span_is(op, "Or") && !wtl_span_is(op, "Xor"))
		return false;
	*ret = wtl_span_is(op, "And")  ? a.whole && b.whole
	       : wtl_span_is(op, "Or") ? a.whole || b.whole
				       : !a.whole != !b.whole;
	return true;
}

static struct wtl_onnx_number compute_two(const struct wtl_onnx_call *call,
					  struct wtl_onnx_number a, struct wtl_onnx_number b)
{
	bool is_real = wtl_onnx_type_is_real(call->in[0]->type);
	struct wtl_onnx_number result = {.known = true};

	if (!a.known || !b.known)
		return wtl_onnx_unknown(wtl_onnx_open_of(a, b));
	if (compare(call->node->op, is_real, a.is, b.is, &result.is.whole))
		return result;
	if (is_real)
		result.known = compute_real(call->node->op, a.is.real, b.is.real, &result.is.real);
	else
		result.known =
			compute_whole(call->node->op, a.is.whole, b.is.whole, &result.is.whole);
	return result;
}

static struct wtl_onnx_number compute_one(const struct wtl_onnx_call *call,
					  struct wtl_onnx_number a)
{
	bool is_real = wtl_onnx_type_is_real(call->in[0]->type);
	struct wtl_span op = call->node->op;

	if (!a.known)
		return a;
	if (wtl_span_is(op, "Identity"))
		return a;
	if (wtl_span_is(op, "Not")) {
		a.is.whole = !a.is.whole;
	} else if (wtl_span_is(op, "Neg") && !is_real && a.is.whole != INT64_MIN) {
		a.is.whole = -a.is.whole;
	} else if (!is_real) {
		a.known = wtl_span_is(op, "Abs") && a.is.whole != INT64_MIN;
		a.is.whole = a.is.whole < 0 ? (int64_t) - (uint64_t)a.is.whole : a.is.whole;
	} else if (wtl_span_is(op, "Floor")) {
		a.is.real = floor(a.is.real);
	} else if (wtl_span_is(op, "Ceil")) {
		a.is.real = ceil(a.is.real);
	} else if (wtl_span_is(op, "Round")) {
		a.is.real = nearbyint(a.is.real);
	} else if (wtl_span_is(op, "Neg")) {
		a.is.real = -a.is.real;
	} else if (wtl_span_is(op, "Sqrt")) {
		a.is.real = sqrt(a.is.real);
	} else {
		a.known = false;
	}
	return a;
}

static struct wtl_onnx_number cast(struct wtl_onnx_number a, int from, int to)
{
	bool was_real = wtl_onnx_type_is_real(from), is_real = wtl_onnx_type_is_real(to);

	if (!a.known || was_real == is_real) {
		if (a.known && to == WTL_ONNX_BOOL)
			a.is.whole = a.is.whole != 0;
		return a;
	}
	if (is_real) {
		a.is.real = (double)a.is.whole;
	} else if (!(fabs(a.is.real) < 0x1p62)) {
		a.known = false;
	} else {
		a.is.whole = to == WTL_ONNX_BOOL ? a.is.real != 0.0 : (int64_t)a.is.real;
	}
	return a;
}

/* ---- All elements ---- */

/* The index of an operand's element that broadcasts to the output's element `at`. */
static size_t place_in(const struct wtl_onnx_value *out, const struct wtl_onnx_value *in, size_t at)
{
	size_t place = 0, step = 1;

	for (int i = out->rank - 1, own = in->rank - 1; i >= 0; i--, own--) {
		size_t size = (size_t)out->dims[i].is.whole;
		size_t index = size ? at % size : 0;

		if (own >= 0) {
			size_t own_size = (size_t)in->dims[own].is.whole;

			place += own_size == 1 ? 0 : index * step;
			step *= own_size;
		}
		at = size ? at / size : 0;
	}
	return place;
}

static struct wtl_onnx_number element(const struct wtl_onnx_call *call, size_t i, size_t at)
{
	const struct wtl_onnx_value *in = call->in[i];
	size_t place = place_in(&call->out[0], in, at);

	return place < in->n_numbers ? in->numbers[place] : wtl_onnx_unknown(0);
}

static struct wtl_onnx_number compute_element(const struct wtl_onnx_call *call, size_t at)
{
	struct wtl_onnx_number first = element(call, 0, at);

	if (wtl_span_is(call->node->op, "Cast"))
		return cast(first, call->in[0]->type, call->out[0].type);
	if (wtl_span_is(call->node->op, "Where") && call->n_in == 3) {
		struct wtl_onnx_number a = element(call, 1, at), b = element(call, 2, at);

		if (first.known)
			return first.is.whole ? a : b;
		return wtl_onnx_unknown(first.open ? first.open : wtl_onnx_open_of(a, b));
	}
	if (call->n_in == 1)
		return compute_one(call, first);
	for (size_t i = 1; i < call->n_in; i++)
		first = compute_two(call, first, element(call, i, at));
	return first;
}

static bool is_reduction(struct wtl_span op)
{
	return op.len > 6 && memcmp(op.at, "Reduce", 6) == 0;
}

/* Reduces all elements to one. */
static int compute_reduction(struct wtl_onnx_call *call)
{
	const struct wtl_onnx_value *in = call->in[0];
	struct wtl_onnx_number total;

	if (!in || !in->numbers || in->n_numbers == 0 || wtl_onnx_type_is_real(in->type))
		return 0;
	total = in->numbers[0];
	for (size_t i = 1; i < in->n_numbers; i++) {
		if (wtl_span_is(call->node->op, "ReduceProd"))
			total = wtl_onnx_times(total, in->numbers[i]);
		else if (wtl_span_is(call->node->op, "ReduceSum"))
			total = wtl_onnx_add(total, in->numbers[i]);
		else
			return 0;
	}
	if (wtl_onnx_set_numbers(call, 0, 1) < 0)
		return wtl_onnx_no_memory(call->bytes);
	call->out[0].numbers[0] = total;
	return 0;
}

int wtl_onnx_compute(struct wtl_onnx_call *call)
{
	uint64_t n = 1;
	int rc;

	if (call->n_out == 0 || call->out[0].rank < 0)
		return 0;
	for (int i = 0; i < call->out[0].rank; i++) {
		struct wtl_onnx_number size = call->out[0].dims[i];

		if (!size.known || size.is.whole < 0 || size.is.whole > WTL_ONNX_NUMBERS_MAX)
			return 0;
		n *= (uint64_t)size.is.whole;
		if (n > WTL_ONNX_NUMBERS_MAX)
			return 0;
	}
	if (is_reduction(call->node->op))
		return n == 1 ? compute_reduction(call) : 0;
	if (!has_all_numbers(call))
		return 0;
	rc = wtl_onnx_set_numbers(call, 0, n);
	for (size_t at = 0; rc == 0 && at < n; at++)
		call->out[0].numbers[at] = compute_element(call, at);
	return rc;
}
