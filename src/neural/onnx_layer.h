/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_LAYER_H
#define WTL_NEURAL_ONNX_LAYER_H

#include "neural/onnx_ops.h"
#include "neural/onnx_state.h"

/* The loops and branches that a node is in. */
struct wtl_onnx_place {
	uint64_t times; /* how often it runs in one inference */
	bool repeats_unknown;
	uint32_t branch;
	uint8_t side;
};

/* Whether a node's outputs are numbers, not spikes, even in a spiking network. */
bool wtl_onnx_makes_numbers(const struct wtl_onnx_call *call, const struct wtl_onnx_op *op);
/* Adds a node with known shapes as a layer, and counts it. op NULL: there is no rule for it. 0 or negative. */
int wtl_onnx_layer_add(struct wtl_onnx_state *state, struct wtl_onnx_call *call,
		       const struct wtl_onnx_op *op, struct wtl_onnx_place *place);
#endif
