/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_TENSOR_H
#define WTL_NEURAL_ONNX_TENSOR_H

#include "neural/network.h"
#include "neural/onnx_message.h"

/* Values between nodes, as far as known: type, shape, and the numbers of small ones, from which shapes are made. */

/* A size, or a number of a tensor that is a shape. If not known, `open` is the open size that it depends on (an
 * index in wtl_onnx_state.open, from 1), or 0: only running the model would show it. */
struct wtl_onnx_number {
	bool known;
	uint32_t open;
	union wtl_onnx_scalar is;
};

struct wtl_onnx_value {
	int type;      /* 0: not known */
	int stored;    /* the type that it was dequantized from; 0: it was not */
	int rank;      /* -1: not known */
	uint32_t open; /* the open size that an unknown rank depends on */
	struct wtl_onnx_number *dims;
	struct wtl_onnx_number
		*numbers; /* NULL: not known. Elements in order, at most WTL_ONNX_NUMBERS_MAX. */
	size_t n_numbers;
	bool is_const;	/* computed from constants alone */
	bool is_analog; /* numbers, not spikes, even in a spiking network */
	uint32_t
		storage; /* constants: the stored tensor that it is or comes from, from 1; 0: none */
};

/* A constant tensor as it is stored. */
struct wtl_onnx_storage {
	uint64_t elements, bytes;
	uint64_t scales, scale_bytes; /* of scales and zero points that belong to it */
	int type;
	bool is_scalar, is_used;
};

/* A node's inputs and outputs, for rules. */
struct wtl_onnx_call {
	struct wtl_onnx_bytes *bytes;
	const struct wtl_onnx_node *node;
	struct wtl_onnx_value **in; /* NULL: left out */
	struct wtl_onnx_value *out;
	size_t n_in, n_out;
	int64_t opset;
	struct wtl_layer *layer; /* for count rules; NULL for shape rules */
	/* The first unknown size in a product; a rule then returns WTL_ONNX_UNKNOWN. */
	bool met_open;
	uint32_t open;
};

enum { WTL_ONNX_UNKNOWN = 1, WTL_ONNX_RANK_MAX = 64 };

bool wtl_onnx_type_is_real(int type);
/* The precision of a value as it is stored; UNKNOWN if value is NULL. */
enum wtl_precision wtl_onnx_precision(const struct wtl_onnx_value *value);
/* Bits of an element; 0 for texts and unknown types. */
unsigned int wtl_onnx_type_bits(int type);
/* Bytes of n elements, rounded up once for all. -1: overflow. */
int wtl_onnx_type_bytes(int type, uint64_t n, uint64_t *ret);

/* ---- Numbers ---- */

struct wtl_onnx_number wtl_onnx_known(int64_t value);
struct wtl_onnx_number wtl_onnx_unknown(uint32_t open);
/* The open size that a result of both depends on. */
uint32_t wtl_onnx_open_of(struct wtl_onnx_number a, struct wtl_onnx_number b);
/* Sums, products and quotients of sizes; unknown on overflow. */
struct wtl_onnx_number wtl_onnx_add(struct wtl_onnx_number a, struct wtl_onnx_number b);
struct wtl_onnx_number wtl_onnx_times(struct wtl_onnx_number a, struct wtl_onnx_number b);
/* Rounded to zero; unknown unless by > 0. */
struct wtl_onnx_number wtl_onnx_divide(struct wtl_onnx_number a, int64_t by);
bool wtl_onnx_is(struct wtl_onnx_number a, int64_t value);

/* ---- Values ---- */

/* An input; NULL: left out. */
struct wtl_onnx_value *wtl_onnx_in(const struct wtl_onnx_call *call, size_t i);
/* The input, if its rank is known and there is an output; else NULL, and the output depends on the same open size. */
struct wtl_onnx_value *wtl_onnx_in_with_rank(struct wtl_onnx_call *call, size_t i);
/* Whether the rank is known. (value may be NULL.) */
bool wtl_onnx_has_rank(const struct wtl_onnx_value *value);
/* Gives an output a shape of `rank` unknown sizes. 0 or negative. */
int wtl_onnx_set_rank(struct wtl_onnx_call *call, size_t i, int64_t rank);
/* Gives an output the shape of another value; its type stays. */
void wtl_onnx_set_shape(struct wtl_onnx_call *call, size_t i, const struct wtl_onnx_value *of);
/* Allocates the numbers of an output. 0 or negative. */
int wtl_onnx_set_numbers(struct wtl_onnx_call *call, size_t i, size_t n);
/* The numbers of input `i`, or of an attribute, as in older opsets. false: the node has neither. */
struct wtl_onnx_numbers {
	const struct wtl_onnx_number *of;
	size_t n;
	uint32_t open; /* if `of` is NULL: the open size they depend on */
};
bool wtl_onnx_numbers_of(const struct wtl_onnx_call *call, size_t i, const char *attr,
			 struct wtl_onnx_numbers *ret);
/* Converts an axis from -rank to rank - 1 to one from 0. 0, or negative with the error. */
int wtl_onnx_axis(const struct wtl_onnx_call *call, int64_t axis, int64_t rank, int64_t *ret);

/* ---- Products, for counts: 0; WTL_ONNX_UNKNOWN, then *ret is 0; or negative ---- */

int wtl_onnx_multiply(struct wtl_onnx_call *call, uint64_t *total, uint64_t by);
int wtl_onnx_multiply_size(struct wtl_onnx_call *call, uint64_t *total, struct wtl_onnx_number by);
/* The number of elements of a value; 0 if it is left out. */
int wtl_onnx_elements(struct wtl_onnx_call *call, const struct wtl_onnx_value *value,
		      uint64_t *ret);
/* The product of dimensions from..to - 1. */
int wtl_onnx_product(struct wtl_onnx_call *call, const struct wtl_onnx_value *value, int from,
		     int to, uint64_t *ret);
int wtl_onnx_sum(struct wtl_onnx_call *call, uint64_t *total, uint64_t more);

#endif
