/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_SCOPE_H
#define WTL_NEURAL_ONNX_SCOPE_H

#include "base/hash.h"
#include "neural/onnx_tensor.h"

/* The values of a graph by name. One within another also sees those around it; that of a function does not. */

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
/* The value of a new name, or of one that is there, in this scope. NULL: no memory. */
struct wtl_onnx_value *wtl_onnx_scope_set(struct wtl_onnx_scope *scope, struct wtl_arena *arena,
					  struct wtl_span name, const struct wtl_onnx_value *value);
void wtl_onnx_scope_done(struct wtl_onnx_scope *scope);

#endif
