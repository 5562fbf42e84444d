/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_OPS_H
#define WTL_NEURAL_ONNX_OPS_H

#include "neural/onnx_rules.h"

/* What wattle knows of each op: one row each, in onnx_ops.c. */

enum {
	WTL_ONNX_VIEW = 1,	/* computes and moves nothing: not a layer */
	WTL_ONNX_RANDOM = 2,	/* a new result each time, so never a constant */
	WTL_ONNX_MICROSOFT = 4, /* in the domain com.microsoft */
	WTL_ONNX_BOTH = 8,	/* in both domains */
	WTL_ONNX_MOVES = 16,	/* its outputs are elements of its first input: no ops */
};

struct wtl_onnx_op {
	const char *name;
	wtl_onnx_rule *shape;
	unsigned int flags;
	unsigned int per_element; /* ops per element of its first output */
	wtl_onnx_rule *count;
	/* Bit masks of inputs that are scales and zero points, running statistics, or shapes and the like. Other
	 * constants are parameters. */
	uint32_t scales, buffers, shapes;
};

/* Whether the op has MACs: its outputs are sums of products. */
bool wtl_onnx_op_is_product(const struct wtl_onnx_op *op);
/* NULL: there is no rule for the op. */
const struct wtl_onnx_op *wtl_onnx_op_find(struct wtl_span domain, struct wtl_span name);

#endif
