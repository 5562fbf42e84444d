/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_FRAME_H
#define WTL_NEURAL_ONNX_FRAME_H

#include "neural/onnx_layer.h"
#include "neural/onnx_scope.h"

/* A subgraph of a node: its inputs are given, its outputs are returned. */
struct wtl_onnx_inner {
	struct wtl_span message;
	struct wtl_onnx_value *in;
	size_t n_in;
	struct wtl_onnx_value *out;
	size_t n_out;
};

/* A graph or function that is being run through. */
struct wtl_onnx_frame {
	struct wtl_onnx_state *state;
	struct wtl_onnx_scope scope;
	struct wtl_span message;
	struct wtl_onnx_place *place;
	/* Inside a function and its subgraphs: the node that calls it, and the function's default attributes. */
	const struct wtl_onnx_node *caller, *defaults;
	int64_t opset;
	unsigned int depth;
	bool is_trial; /* shapes only, nothing is counted */
	/* Runs through a subgraph. */
	int (*run_inner)(struct wtl_onnx_frame *frame, struct wtl_onnx_inner *inner,
			 struct wtl_onnx_place *place, bool is_trial);
	/* ValueInfo messages of the graph, and their indices by name. */
	struct wtl_hash infos;
	struct wtl_span *info;
	size_t n_info;
	bool has_infos;
};

/* Fills an output's unknown sizes with those in the file, if any (onnx_infos.c). 0 or negative. */
int wtl_onnx_fill_from_info(struct wtl_onnx_frame *frame, struct wtl_span name,
			    struct wtl_onnx_value *value);
/* The name in a ValueInfo. */
struct wtl_span wtl_onnx_info_name(struct wtl_span message);

/* If, Loop and Scan (onnx_flow.c): each runs through its subgraphs and sets its outputs. */
int wtl_onnx_run_if(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call);
int wtl_onnx_run_loop(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call);
int wtl_onnx_run_scan(struct wtl_onnx_frame *frame, struct wtl_onnx_call *call);

#endif
