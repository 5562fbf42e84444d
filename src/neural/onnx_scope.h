/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_SCOPE_H
#define WTL_NEURAL_ONNX_SCOPE_H

#include "base/hash.h"
#include "neural/onnx_tensor.h"

/* The values of a graph by name. A subgraph also sees those around it; a function does not. */

struct wtl_onnx_named {
	struct wtl_span name;
	struct wtl_onnx_value *value;
};

struct wtl_onnx_scope {
	const struct wtl_onnx_scope *around;
	struct wtl_hash hash;
	struct wtl_onnx_named *named;
	size_t n;
};

/* NULL: nothing has that name. */
struct wtl_onnx_value *wtl_onnx_scope_find(const struct wtl_onnx_scope *scope,
					   struct wtl_span name);
/* Sets a value in this scope, whether its name is new or not. Returns the copy; NULL: no memory. */
struct wtl_onnx_value *wtl_onnx_scope_set(struct wtl_onnx_scope *scope, struct wtl_arena *arena,
					  struct wtl_span name, const struct wtl_onnx_value *value);
void wtl_onnx_scope_done(struct wtl_onnx_scope *scope);

#endif
