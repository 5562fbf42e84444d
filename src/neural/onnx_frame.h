/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_FRAME_H
#define WTL_NEURAL_ONNX_FRAME_H

#include "neural/onnx_layer.h"
#include "neural/onnx_scope.h"

/* A graph within a node: its inputs are given, and its outputs asked for. */
struct wtl_onnx_inner {
	struct wtl_span message;
	struct wtl_onnx_value *in;
	size_t n_in;
	struct wtl_onnx_value *out;
	size_t n_out;
};

/* A graph, or a function's, that is being gone through. */
struct wtl_onnx_frame {
	struct wtl_onnx_state *state;
	struct wtl_onnx_scope scope;
	struct wtl_span message;
	struct wtl_onnx_place *place;
	/* Within a function: the node that calls it, and the function's own defaults; of graphs within it as well. */
	const struct wtl_onnx_node *caller, *defaults;
	int64_t opset;
	unsigned int depth;
	bool is_trial; /* only shapes: nothing is counted */
	/* Goes through a graph that lies within this one. */
	int (*run_inner)(struct wtl_onnx_frame *frame, struct wtl_onnx_inner *inner,
			 struct wtl_onnx_place *place, bool is_trial);
	/* What the file says of its values: messages, and places in them by name. */
	struct wtl_hash infos;
	struct wtl_span *info;
	size_t n_info;
	bool has_infos;
};

/* What the file says of an output's shape, where no rule does (onnx_infos.c). 0 or negative. */
int wtl_onnx_fill_from_info(struct wtl_onnx_frame *frame, struct wtl_span name,
			    struct wtl_onnx_value *value);
/* The name in a ValueInfo. */
struct wtl_span wtl_onnx_info_name(struct wtl_span message);

/* If, Loop and Scan (onnx_flow.c): each runs what is in it, and sets its outputs. */
int wtl_onnx_run_if(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call);
int wtl_onnx_run_loop(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call);
int wtl_onnx_run_scan(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call);

#endif
