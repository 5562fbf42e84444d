/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_OPS_H
#define WTL_NEURAL_ONNX_OPS_H

#include "neural/onnx_rules.h"

/* What wattle knows of ops: one row each, in onnx_ops.c. */

enum {
	WTL_ONNX_VIEW = 1,	/* nothing is computed or moved: it is no layer */
	WTL_ONNX_RANDOM = 2,	/* another result each time, so never a constant */
	WTL_ONNX_MICROSOFT = 4, /* in the domain com.microsoft */
	WTL_ONNX_BOTH = 8,	/* there as well */
	WTL_ONNX_MOVES = 16,	/* its results are elements of its first input: no ops */
};

struct wtl_onnx_op {
	const char *name;
	wtl_onnx_rule *shape;
	unsigned int flags;
	unsigned int per_element; /* ops for an element of its first output */
	wtl_onnx_rule *count;
	/* Which inputs are scales and zero points, running statistics, or shapes and the like: bits. All other constants
	 * are parameters. */
	uint32_t scales, buffers, shapes;
};

/* Whether it has MACs: its outputs are sums over what it reads. */
bool wtl_onnx_op_is_product(const struct wtl_onnx_op *op);
/* NULL: there is no rule for it. */
const struct wtl_onnx_op *wtl_onnx_op_find(struct wtl_span domain, struct wtl_span name);

#endif
