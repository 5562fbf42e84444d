/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_MESSAGE_H
#define WTL_NEURAL_ONNX_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "neural/arena.h"
#include "neural/proto.h"

struct wtl_err;

/* ONNX messages (onnx.proto, IR 3 to 14) as structs. Texts and data stay in the file; lists are in the arena. */

/* Element types (TensorProto.DataType) that are used here. */
enum {
	WTL_ONNX_FLOAT = 1,
	WTL_ONNX_UINT8 = 2,
	WTL_ONNX_INT8 = 3,
	WTL_ONNX_INT32 = 6,
	WTL_ONNX_INT64 = 7,
	WTL_ONNX_STRING = 8,
	WTL_ONNX_BOOL = 9,
	WTL_ONNX_FLOAT16 = 10,
	WTL_ONNX_DOUBLE = 11,
	WTL_ONNX_BFLOAT16 = 16,
	WTL_ONNX_TYPES = 27,
};

/* A model's file while it is being read. */
struct wtl_onnx_bytes {
	const uint8_t *at; /* its start */
	size_t len;
	const char *path;
	struct wtl_arena arena;
	struct wtl_err *err;
	/* For errors: the current node's name; "" outside of nodes. */
	char where[128];
};

/* Fills the error with file, node and byte (at is NULL: no byte), and returns -code. */
int wtl_onnx_fail(struct wtl_onnx_bytes *bytes, int code, const uint8_t *at, const char *format,
		  ...) __attribute__((format(printf, 4, 5)));
int wtl_onnx_no_memory(struct wtl_onnx_bytes *bytes);
/* wtl_proto_next() that fills the error. */
int wtl_onnx_next(struct wtl_onnx_bytes *bytes, struct wtl_proto *proto,
		  struct wtl_proto_field *ret);

struct wtl_onnx_spans {
	struct wtl_span *of;
	size_t n;
};
struct wtl_onnx_ints {
	int64_t *of;
	size_t n;
};

struct wtl_onnx_attr {
	struct wtl_span name, text,
		reference; /* reference: the attribute of the function's caller that it is replaced by */
	struct wtl_span tensor, graph, sparse;
	bool has_tensor, has_graph, has_sparse, has_int, has_float, is_text;
	int64_t number;
	float real;
	struct wtl_onnx_ints ints;
	float *reals;
	size_t n_reals, n_graphs;
	struct wtl_onnx_spans texts;
};

struct wtl_onnx_node {
	const uint8_t *at;
	struct wtl_span name, op, domain, overload;
	struct wtl_onnx_spans in, out;
	struct wtl_onnx_attr *attrs;
	size_t n_attrs;
};

/* The element type decides which one is valid. */
union wtl_onnx_scalar {
	int64_t whole;
	double real;
};

struct wtl_onnx_tensor {
	const uint8_t *at;
	struct wtl_span name;
	int type;
	struct wtl_onnx_ints dims;
	struct wtl_span raw;
	bool has_raw, is_external;
	struct wtl_span location;
	uint64_t external_offset, external_len;
	bool has_external_len;
	/* Numbers not in raw data; of int32_data and the like only the first ones are kept. */
	size_t n_packed_floats;
	union wtl_onnx_scalar *numbers;
	size_t n_numbers;
};

/* A value's type in the file: type 0 and rank -1 if it is not there. An open size is -1, with or without a name. */
struct wtl_onnx_dim {
	int64_t size;
	struct wtl_span name;
};
struct wtl_onnx_info {
	const uint8_t *at;
	struct wtl_span name;
	bool is_tensor; /* false: a sequence, a map or an optional */
	int type, rank;
	struct wtl_onnx_dim *dims;
};

/* Further numbers are not kept: shapes are short. */
enum { WTL_ONNX_NUMBERS_MAX = 1024 };

/* All return 0 or a negative code with the error filled. */
int wtl_onnx_read_node(struct wtl_onnx_bytes *bytes, struct wtl_span message,
		       struct wtl_onnx_node *ret);
int wtl_onnx_read_attr(struct wtl_onnx_bytes *bytes, struct wtl_span message,
		       struct wtl_onnx_attr *ret);
int wtl_onnx_read_tensor(struct wtl_onnx_bytes *bytes, struct wtl_span message,
			 struct wtl_onnx_tensor *ret);
int wtl_onnx_read_info(struct wtl_onnx_bytes *bytes, struct wtl_span message,
		       struct wtl_onnx_info *ret);

/* NULL: the node has no such attribute. */
const struct wtl_onnx_attr *wtl_onnx_attr(const struct wtl_onnx_node *node, const char *name);
int64_t wtl_onnx_attr_int(const struct wtl_onnx_node *node, const char *name, int64_t otherwise);
bool wtl_onnx_attr_is(const struct wtl_onnx_node *node, const char *name, const char *text);

/* An OperatorSetIdProto: *opset becomes its version if the domain is ONNX's own; else it stays. */
int wtl_onnx_read_opset(struct wtl_onnx_bytes *bytes, struct wtl_span message, int64_t *opset);
/* The bytes of a text field. */
int wtl_onnx_read_text(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field,
		       struct wtl_span *ret);
int wtl_onnx_add_span(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field,
		      struct wtl_onnx_spans *to);
int wtl_onnx_add_ints(struct wtl_onnx_bytes *bytes, const struct wtl_proto_field *field,
		      struct wtl_onnx_ints *to);

#endif
