/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_TENSOR_H
#define WTL_NEURAL_ONNX_TENSOR_H

#include "neural/network.h"
#include "neural/onnx_message.h"

/* What is known of the values that go between nodes: type, shape, and the numbers of small ones, from which shapes are made. */

/* A size, or a number of a tensor that is a shape. Where it is not known: the open size of the model's inputs that it
 * depends on (a place in wtl_onnx_sizes, from 1), or 0: only running the model tells. */
struct wtl_onnx_number {
	bool known;
	uint32_t open;
	union wtl_onnx_scalar is;
};

struct wtl_onnx_value {
	int type;      /* 0: not known */
	int stored;    /* the type that it was dequantized from; 0: it was not */
	int rank;      /* -1: not known */
	uint32_t open; /* of a rank that is not known */
	struct wtl_onnx_number *dims;
	struct wtl_onnx_number
		*numbers; /* NULL: not known. Elements in order, at most WTL_ONNX_NUMBERS_MAX. */
	size_t n_numbers;
	bool is_const;	/* made of the file's constants alone */
	bool is_analog; /* numbers also in a spiking network: no layer that fires has made it */
	uint32_t
		storage; /* of a constant: the stored tensor that it is or comes from, from 1; 0: none */
};

/* Constant tensors as they are stored. */
struct wtl_onnx_storage {
	uint64_t elements, bytes;
	uint64_t scales, scale_bytes; /* that go with it */
	int type;
	bool is_scalar, is_used;
};

/* What a node is given and makes, while rules look at it. */
struct wtl_onnx_call {
	struct wtl_onnx_bytes *bytes;
	const struct wtl_onnx_node *node;
	struct wtl_onnx_value **in; /* NULL: left out */
	struct wtl_onnx_value *out;
	size_t n_in, n_out;
	int64_t opset;
	struct wtl_layer *layer; /* for rules that count; NULL for those of shapes */
	/* The first unknown size that a product met: then a rule returns WTL_ONNX_UNKNOWN. */
	bool met_open;
	uint32_t open;
};

enum { WTL_ONNX_UNKNOWN = 1, WTL_ONNX_RANK_MAX = 64 };

bool wtl_onnx_type_is_real(int type);
/* Of a value as it is stored; NULL: not known. */
enum wtl_precision wtl_onnx_precision(const struct wtl_onnx_value *value);
/* In bits; 0 for texts and what is not known. */
unsigned int wtl_onnx_type_bits(int type);
/* Of n elements, whole bytes for all together. -1: it does not fit. */
int wtl_onnx_type_bytes(int type, uint64_t n, uint64_t *ret);

/* ---- Numbers ---- */

struct wtl_onnx_number wtl_onnx_known(int64_t value);
struct wtl_onnx_number wtl_onnx_unknown(uint32_t open);
/* What both of them depend on. */
uint32_t wtl_onnx_open_of(struct wtl_onnx_number a, struct wtl_onnx_number b);
/* Sums, products and quotients of sizes; what does not fit is not known. */
struct wtl_onnx_number wtl_onnx_add(struct wtl_onnx_number a, struct wtl_onnx_number b);
struct wtl_onnx_number wtl_onnx_times(struct wtl_onnx_number a, struct wtl_onnx_number b);
/* Rounded down; not known where by is not above 0. */
struct wtl_onnx_number wtl_onnx_divide(struct wtl_onnx_number a, int64_t by);
bool wtl_onnx_is(struct wtl_onnx_number a, int64_t value);

/* ---- Values ---- */

/* An input, NULL where it is left out. */
struct wtl_onnx_value *wtl_onnx_in(const struct wtl_onnx_call *call, size_t i);
/* If its rank is known and there is an output; else NULL, and the output is open as it is. */
struct wtl_onnx_value *wtl_onnx_in_with_rank(struct wtl_onnx_call *call, size_t i);
/* Is its rank known? (It is there, then.) */
bool wtl_onnx_has_rank(const struct wtl_onnx_value *value);
/* Makes the shape of an output: room for `rank` sizes, all unknown. 0 or negative. */
int wtl_onnx_set_rank(struct wtl_onnx_call *call, size_t i, int64_t rank);
/* The shape of another value; type stays. */
void wtl_onnx_set_shape(struct wtl_onnx_call *call, size_t i, const struct wtl_onnx_value *of);
/* Room for the numbers of an output. 0 or negative. */
int wtl_onnx_set_numbers(struct wtl_onnx_call *call, size_t i, size_t n);
/* All of its numbers: from input `i`, or from an attribute where older opsets have it. false: it has neither. */
struct wtl_onnx_numbers {
	const struct wtl_onnx_number *of;
	size_t n;
	uint32_t open; /* where of is NULL: what they depend on */
};
bool wtl_onnx_numbers_of(const struct wtl_onnx_call *call, size_t i, const char *attr,
			 struct wtl_onnx_numbers *ret);
/* An axis from -rank to rank - 1 as one from 0 on. 0 or negative with the error. */
int wtl_onnx_axis(const struct wtl_onnx_call *call, int64_t axis, int64_t rank, int64_t *ret);

/* ---- Products, for counts: 0; WTL_ONNX_UNKNOWN, then *ret is 0; or negative ---- */

int wtl_onnx_multiply(struct wtl_onnx_call *call, uint64_t *total, uint64_t by);
int wtl_onnx_multiply_size(struct wtl_onnx_call *call, uint64_t *total, struct wtl_onnx_number by);
/* The elements of a value; one that is left out has none. */
int wtl_onnx_elements(struct wtl_onnx_call *call, const struct wtl_onnx_value *value,
		      uint64_t *ret);
/* Of the dimensions from..to - 1 alone. */
int wtl_onnx_product(struct wtl_onnx_call *call, const struct wtl_onnx_value *value, int from,
		     int to, uint64_t *ret);
int wtl_onnx_sum(struct wtl_onnx_call *call, uint64_t *total, uint64_t more);

#endif
