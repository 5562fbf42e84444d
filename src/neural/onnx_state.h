/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_STATE_H
#define WTL_NEURAL_ONNX_STATE_H

#include "base/hash.h"
#include "neural/onnx.h"
#include "neural/onnx_tensor.h"

/* The state while a model is read. */

/* A size of the model's inputs that the file leaves open: its name or, without one, its input and axis. */
struct wtl_onnx_open {
	struct wtl_span name;
	struct wtl_span input;
	int axis;      /* -1: the whole shape */
	int64_t bound; /* -1: not bound */
};

struct wtl_onnx_function {
	struct wtl_span message, domain, name, overload;
};

struct wtl_onnx_state {
	struct wtl_onnx_bytes bytes;
	struct wtl_onnx_model *model;
	const struct wtl_onnx_options *options;
	struct wtl_onnx_storage *storages;
	size_t n_storages;
	struct wtl_onnx_open *open;
	size_t n_open;
	bool asks; /* a count needed an open size */
	struct wtl_onnx_function *functions;
	size_t n_functions;
	struct wtl_hash functions_by_name;
	int64_t opset;
	int directory; /* folder of external data; -1: they are not read */
	struct wtl_span last_location;
	uint64_t last_size;
	uint64_t n_nodes; /* visited so far, repeats included */
};

/* ---- Functions (onnx_functions.c) ---- */

/* Adds a FunctionProto. Of several with one name, domain and overload, the first one is called. 0 or negative. */
int wtl_onnx_function_add(struct wtl_onnx_state *state, struct wtl_span message);
/* NULL: there is none. */
const struct wtl_onnx_function *wtl_onnx_function_find(const struct wtl_onnx_state *state,
						       const struct wtl_onnx_function *named);

/* ---- Constants (onnx_const.c) ---- */

/* A stored tensor as a constant of the model. 0 or negative. */
int wtl_onnx_const_tensor(struct wtl_onnx_state *state, struct wtl_span message,
			  struct wtl_span *ret_name, struct wtl_onnx_value *ret);
int wtl_onnx_const_sparse(struct wtl_onnx_state *state, struct wtl_span message,
			  struct wtl_span *ret_name, struct wtl_onnx_value *ret);
/* The value of a Constant node. */
int wtl_onnx_const_node(struct wtl_onnx_state *state, const struct wtl_onnx_node *node,
			struct wtl_onnx_value *ret);
/* The storage of a constant, added if need be. NULL: its size is not known, or there is an error (*ret_rc). */
struct wtl_onnx_storage *wtl_onnx_const_storage(struct wtl_onnx_state *state,
						struct wtl_onnx_value *value, int *ret_rc);

/* ---- Inputs (onnx_bind.c) ---- */

/* Checks the options against the inputs (ValueInfo messages), and lists the sizes that are open. */
int wtl_onnx_bind(struct wtl_onnx_state *state, const struct wtl_onnx_info inputs[], size_t n);
/* The value of an input, after wtl_onnx_bind(). */
int wtl_onnx_bound(struct wtl_onnx_state *state, const struct wtl_onnx_info *input,
		   struct wtl_onnx_value *ret);
/* Fails with an error that lists the open sizes. */
int wtl_onnx_ask(struct wtl_onnx_state *state);

/* ---- Graphs (onnx_walk.c) ---- */

/* Runs through the model's graph and counts. */
int wtl_onnx_walk(struct wtl_onnx_state *state, struct wtl_span graph);

#endif
