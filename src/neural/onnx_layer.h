/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_LAYER_H
#define WTL_NEURAL_ONNX_LAYER_H

#include "neural/onnx_ops.h"
#include "neural/onnx_state.h"

/* Where in loops and branches a node stands. */
struct wtl_onnx_place {
	uint64_t times; /* that it runs in one inference */
	bool repeats_unknown;
	uint32_t branch;
	uint8_t side;
	uint64_t macs_min, macs_max; /* of all nodes here so far */
};

/* Makes a node whose shapes are known a layer, and counts it. op NULL: there is no rule for it. 0 or negative. */
int wtl_onnx_layer_add(struct wtl_onnx_state *state, struct wtl_onnx_call *call,
		       const struct wtl_onnx_op *op, struct wtl_onnx_place *place);
/* A node that is not counted. */
int wtl_onnx_not_counted(struct wtl_onnx_state *state, const struct wtl_onnx_node *node,
			 enum wtl_onnx_why why);

#endif
