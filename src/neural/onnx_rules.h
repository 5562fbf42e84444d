/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ONNX_RULES_H
#define WTL_NEURAL_ONNX_RULES_H

#include "neural/onnx_tensor.h"

/*
 * Rules for the table of ops (onnx_ops.c). Outputs start without a shape, and with the type of the first input. 0 or
 * negative. A shape rule leaves unknown what it cannot find. A count rule may also return WTL_ONNX_UNKNOWN.
 */
typedef int wtl_onnx_rule(struct wtl_onnx_call *call);

/* ---- Shapes of arithmetic (onnx_shapes.c) ---- */
wtl_onnx_rule wtl_onnx_shape_same;	/* that of the first input */
wtl_onnx_rule wtl_onnx_shape_broadcast; /* all inputs broadcast together */
wtl_onnx_rule wtl_onnx_shape_where, wtl_onnx_shape_compare, wtl_onnx_shape_test,
	wtl_onnx_shape_cast, wtl_onnx_shape_quantize, wtl_onnx_shape_dequantize;
wtl_onnx_rule wtl_onnx_shape_reduce, wtl_onnx_shape_arg, wtl_onnx_shape_topk;
wtl_onnx_rule wtl_onnx_shape_matmul, wtl_onnx_shape_gemm, wtl_onnx_shape_einsum;
wtl_onnx_rule wtl_onnx_shape_qlinear_matmul;

/* ---- Shapes of layers (onnx_layers.c) ---- */
wtl_onnx_rule wtl_onnx_shape_conv, wtl_onnx_shape_qlinear_conv, wtl_onnx_shape_conv_transpose;
wtl_onnx_rule wtl_onnx_shape_pool, wtl_onnx_shape_global_pool, wtl_onnx_shape_roi;
wtl_onnx_rule wtl_onnx_shape_recurrent, wtl_onnx_shape_attention, wtl_onnx_shape_ms_attention;
wtl_onnx_rule wtl_onnx_shape_mha, wtl_onnx_shape_matmul_nbits;
wtl_onnx_rule wtl_onnx_shape_dynamic_quantize;

/* ---- Shapes of moved data, and of shapes (onnx_moves.c, onnx_moves_more.c) ---- */
wtl_onnx_rule wtl_onnx_shape_shape, wtl_onnx_shape_size, wtl_onnx_shape_reshape,
	wtl_onnx_shape_flatten, wtl_onnx_shape_squeeze, wtl_onnx_shape_unsqueeze,
	wtl_onnx_shape_transpose, wtl_onnx_shape_concat, wtl_onnx_shape_split, wtl_onnx_shape_slice,
	wtl_onnx_shape_gather, wtl_onnx_shape_second, wtl_onnx_shape_gather_nd,
	wtl_onnx_shape_expand, wtl_onnx_shape_tile, wtl_onnx_shape_pad, wtl_onnx_shape_resize,
	wtl_onnx_shape_depth_to_space, wtl_onnx_shape_space_to_depth, wtl_onnx_shape_fill,
	wtl_onnx_shape_range, wtl_onnx_shape_one_hot, wtl_onnx_shape_nonzero, wtl_onnx_shape_random,
	wtl_onnx_shape_eye, wtl_onnx_shape_grid_sample;

/* Computes a small output's numbers by an element-wise op or a reduction, if the operands' are known
 * (onnx_numbers.c). The output's shape must be set. */
int wtl_onnx_compute(struct wtl_onnx_call *call);

/* ---- Counts (onnx_counts.c) ---- */
wtl_onnx_rule wtl_onnx_count_conv, wtl_onnx_count_qlinear_conv, wtl_onnx_count_conv_transpose,
	wtl_onnx_count_gemm, wtl_onnx_count_matmul, wtl_onnx_count_qlinear_matmul,
	wtl_onnx_count_matmul_nbits, wtl_onnx_count_einsum, wtl_onnx_count_recurrent,
	wtl_onnx_count_attention, wtl_onnx_count_ms_attention, wtl_onnx_count_mha,
	wtl_onnx_count_inputs, wtl_onnx_count_rows;

#endif
