/* SPDX-License-Identifier: MIT */
#include "neural/onnx_ops.h"

#include <string.h>

#define SHAPE(name) wtl_onnx_shape_##name
#define COUNT(name) wtl_onnx_count_##name
#define IN(i)	    (1U << (i))
#define REST(i)	    (~0U << (i))
#define OP(name_, shape_, flags_, per_element_, ...)                                          \
	{                                                                                     \
		.name = name_, .shape = shape_, .flags = flags_, .per_element = per_element_, \
		##__VA_ARGS__                                                                 \
	}

enum {
	VIEW = WTL_ONNX_VIEW,
	RANDOM = WTL_ONNX_RANDOM,
	MS = WTL_ONNX_MICROSOFT,
	BOTH = WTL_ONNX_BOTH,
	MOVES = WTL_ONNX_MOVES
};

/* The number: ops per output element. Batch normalization's 2 and layer normalization's 5 are as in other counters. */
static const struct wtl_onnx_op ops[] = {
	/* Products: counted as MACs. */
	OP("Conv", SHAPE(conv), 0, 0, .count = COUNT(conv)),
	OP("FusedConv", SHAPE(conv), MS, 0, .count = COUNT(conv)),
	OP("ConvInteger", SHAPE(conv), 0, 0, .count = COUNT(conv), .scales = IN(2) | IN(3)),
	OP("DeformConv", SHAPE(conv), 0, 0, .count = COUNT(conv)),
	OP("QLinearConv", SHAPE(qlinear_conv), BOTH, 0, .count = COUNT(qlinear_conv),
	   .scales = IN(1) | IN(2) | IN(4) | IN(5) | IN(6) | IN(7)),
	OP("ConvTranspose", SHAPE(conv_transpose), 0, 0, .count = COUNT(conv_transpose)),
	OP("Gemm", SHAPE(gemm), 0, 0, .count = COUNT(gemm)),
	OP("FusedGemm", SHAPE(gemm), MS, 0, .count = COUNT(gemm)),
	OP("QGemm", SHAPE(gemm), MS, 0, .count = COUNT(gemm),
	   .scales = IN(1) | IN(2) | IN(4) | IN(5) | IN(7) | IN(8)),
	OP("MatMul", SHAPE(matmul), 0, 0, .count = COUNT(matmul)),
	OP("FusedMatMul", SHAPE(matmul), MS, 0, .count = COUNT(matmul)),
	OP("TransposeMatMul", SHAPE(matmul), MS, 0, .count = COUNT(matmul)),
	OP("MatMulInteger", SHAPE(matmul), 0, 0, .count = COUNT(matmul), .scales = IN(2) | IN(3)),
	OP("MatMulIntegerToFloat", SHAPE(matmul), MS, 0, .count = COUNT(matmul),
	   .scales = IN(2) | IN(3) | IN(4) | IN(5)),
	OP("DynamicQuantizeMatMul", SHAPE(matmul), MS, 0, .count = COUNT(matmul),
	   .scales = IN(2) | IN(3)),
	OP("QLinearMatMul", SHAPE(qlinear_matmul), BOTH, 0, .count = COUNT(qlinear_matmul),
	   .scales = IN(1) | IN(2) | IN(4) | IN(5) | IN(6) | IN(7)),
	OP("MatMulNBits", SHAPE(matmul_nbits), MS, 0, .count = COUNT(matmul_nbits),
	   .scales = IN(2) | IN(3), .shapes = IN(4)),
	OP("MatMulBnb4", SHAPE(matmul_nbits), MS, 0, .count = COUNT(matmul_nbits), .scales = IN(2)),
	OP("Einsum", SHAPE(einsum), 0, 0, .count = COUNT(einsum)),
	OP("LSTM", SHAPE(recurrent), 0, 0, .count = COUNT(recurrent), .shapes = IN(4),
	   .buffers = IN(5) | IN(6)),
	OP("GRU", SHAPE(recurrent), 0, 0, .count = COUNT(recurrent), .shapes = IN(4),
	   .buffers = IN(5)),
	OP("RNN", SHAPE(recurrent), 0, 0, .count = COUNT(recurrent), .shapes = IN(4),
	   .buffers = IN(5)),
	OP("Attention", SHAPE(attention), 0, 0, .count = COUNT(attention)),
	OP("Attention", SHAPE(ms_attention), MS, 0, .count = COUNT(ms_attention), .shapes = IN(3)),
	OP("QAttention", SHAPE(ms_attention), MS, 0, .count = COUNT(ms_attention),
	   .scales = IN(3) | IN(4) | IN(6) | IN(7), .shapes = IN(5)),
	OP("MultiHeadAttention", SHAPE(mha), MS, 0, .count = COUNT(mha), .shapes = IN(4)),
	OP("DecoderMaskedMultiHeadAttention", SHAPE(mha), MS, 0, .count = COUNT(mha),
	   .shapes = IN(3)),
	OP("GroupQueryAttention", SHAPE(mha), MS, 0, .count = COUNT(mha), .shapes = IN(5) | IN(6),
	   .buffers = IN(7) | IN(8)),

	/* Normalizations. */
	OP("BatchNormalization", SHAPE(same), 0, 2, .buffers = IN(3) | IN(4)),
	OP("InstanceNormalization", SHAPE(same), 0, 5),
	OP("LayerNormalization", SHAPE(same), BOTH, 5),
	OP("GroupNormalization", SHAPE(same), 0, 5),
	OP("GroupNorm", SHAPE(same), MS, 5),
	OP("RMSNormalization", SHAPE(same), 0, 4),
	OP("SimplifiedLayerNormalization", SHAPE(same), BOTH, 4),
	OP("SkipLayerNormalization", SHAPE(same), MS, 6),
	OP("SkipSimplifiedLayerNormalization", SHAPE(same), MS, 5),
	OP("MeanVarianceNormalization", SHAPE(same), 0, 5),
	OP("LpNormalization", SHAPE(same), 0, 3),
	OP("LRN", SHAPE(same), 0, 5),

	/* Softmax and the like: maximum, exponentials of differences, sum, quotients. */
	OP("Softmax", SHAPE(same), 0, 3),
	OP("LogSoftmax", SHAPE(same), 0, 4),
	OP("Hardmax", SHAPE(same), 0, 1),

	/* Activations and other functions of one number. */
	OP("Abs", SHAPE(same), 0, 1),
	OP("Acos", SHAPE(same), 0, 1),
	OP("Acosh", SHAPE(same), 0, 1),
	OP("Asin", SHAPE(same), 0, 1),
	OP("Asinh", SHAPE(same), 0, 1),
	OP("Atan", SHAPE(same), 0, 1),
	OP("Atanh", SHAPE(same), 0, 1),
	OP("BiasGelu", SHAPE(same), MS, 2),
	OP("BitwiseNot", SHAPE(same), 0, 1),
	OP("Ceil", SHAPE(same), 0, 1),
	OP("Celu", SHAPE(same), 0, 1),
	OP("Clip", SHAPE(same), 0, 1, .shapes = REST(1)),
	OP("Cos", SHAPE(same), 0, 1),
	OP("Cosh", SHAPE(same), 0, 1),
	OP("CumProd", SHAPE(same), 0, 1, .shapes = REST(1)),
	OP("CumSum", SHAPE(same), 0, 1, .shapes = REST(1)),
	OP("Elu", SHAPE(same), 0, 1),
	OP("Erf", SHAPE(same), 0, 1),
	OP("Exp", SHAPE(same), 0, 1),
	OP("FastGelu", SHAPE(same), MS, 1),
	OP("Floor", SHAPE(same), 0, 1),
	OP("Gelu", SHAPE(same), BOTH, 1),
	OP("HardSigmoid", SHAPE(same), 0, 1),
	OP("HardSwish", SHAPE(same), 0, 1),
	OP("IsInf", SHAPE(test), 0, 1),
	OP("IsNaN", SHAPE(test), 0, 1),
	OP("LeakyRelu", SHAPE(same), 0, 1),
	OP("Log", SHAPE(same), 0, 1),
	OP("Mish", SHAPE(same), 0, 1),
	OP("Neg", SHAPE(same), 0, 1),
	OP("Not", SHAPE(test), 0, 1),
	OP("ParametricSoftplus", SHAPE(same), 0, 1),
	OP("QLinearLeakyRelu", SHAPE(same), MS, 1, .scales = REST(1)),
	OP("QLinearSigmoid", SHAPE(same), MS, 1, .scales = REST(1)),
	OP("QLinearSoftmax", SHAPE(same), MS, 3, .scales = REST(1)),
	OP("QuickGelu", SHAPE(same), MS, 1),
	OP("Reciprocal", SHAPE(same), 0, 1),
	OP("Relu", SHAPE(same), 0, 1),
	OP("RotaryEmbedding", SHAPE(same), BOTH, 3, .shapes = IN(3), .buffers = IN(1) | IN(2)),
	OP("Round", SHAPE(same), 0, 1),
	OP("ScaledTanh", SHAPE(same), 0, 1),
	OP("Selu", SHAPE(same), 0, 1),
	OP("Shrink", SHAPE(same), 0, 1),
	OP("Sigmoid", SHAPE(same), 0, 1),
	OP("Sign", SHAPE(same), 0, 1),
	OP("Sin", SHAPE(same), 0, 1),
	OP("Sinh", SHAPE(same), 0, 1),
	OP("Softplus", SHAPE(same), 0, 1),
	OP("Softsign", SHAPE(same), 0, 1),
	OP("Sqrt", SHAPE(same), 0, 1),
	OP("Swish", SHAPE(same), 0, 1),
	OP("Tan", SHAPE(same), 0, 1),
	OP("Tanh", SHAPE(same), 0, 1),
	OP("ThresholdedRelu", SHAPE(same), 0, 1),

	/* Functions of two or more. */
	OP("Add", SHAPE(broadcast), 0, 1),
	OP("And", SHAPE(compare), 0, 1),
	OP("BiasAdd", SHAPE(same), MS, 2),
	OP("BitShift", SHAPE(broadcast), 0, 1),
	OP("BitwiseAnd", SHAPE(broadcast), 0, 1),
	OP("BitwiseOr", SHAPE(broadcast), 0, 1),
	OP("BitwiseXor", SHAPE(broadcast), 0, 1),
	OP("Div", SHAPE(broadcast), 0, 1),
	OP("Equal", SHAPE(compare), 0, 1),
	OP("Greater", SHAPE(compare), 0, 1),
	OP("GreaterOrEqual", SHAPE(compare), 0, 1),
	OP("Less", SHAPE(compare), 0, 1),
	OP("LessOrEqual", SHAPE(compare), 0, 1),
	OP("Max", SHAPE(broadcast), 0, 1),
	OP("Mean", SHAPE(broadcast), 0, 1),
	OP("Min", SHAPE(broadcast), 0, 1),
	OP("Mod", SHAPE(broadcast), 0, 1),
	OP("Mul", SHAPE(broadcast), 0, 1),
	OP("Or", SHAPE(compare), 0, 1),
	OP("PRelu", SHAPE(same), 0, 1),
	OP("Pow", SHAPE(broadcast), 0, 1),
	OP("Sub", SHAPE(broadcast), 0, 1),
	OP("Sum", SHAPE(broadcast), 0, 1),
	OP("Where", SHAPE(where), 0, 1),
	OP("Xor", SHAPE(compare), 0, 1),

	/* Pools and reductions: an op per element read. */
	OP("ArgMax", SHAPE(arg), 0, 0, .count = COUNT(inputs)),
	OP("ArgMin", SHAPE(arg), 0, 0, .count = COUNT(inputs)),
	OP("AveragePool", SHAPE(pool), 0, 0, .count = COUNT(inputs)),
	OP("GlobalAveragePool", SHAPE(global_pool), 0, 0, .count = COUNT(inputs)),
	OP("GlobalLpPool", SHAPE(global_pool), 0, 0, .count = COUNT(inputs)),
	OP("GlobalMaxPool", SHAPE(global_pool), 0, 0, .count = COUNT(inputs)),
	OP("LpPool", SHAPE(pool), 0, 0, .count = COUNT(inputs)),
	OP("MaxPool", SHAPE(pool), 0, 0, .count = COUNT(inputs)),
	OP("MaxRoiPool", SHAPE(roi), 0, 1),
	OP("QLinearAveragePool", SHAPE(pool), MS, 0, .count = COUNT(inputs), .scales = REST(1)),
	OP("QLinearGlobalAveragePool", SHAPE(global_pool), MS, 0, .count = COUNT(inputs),
	   .scales = REST(1)),
	OP("ReduceL1", SHAPE(reduce), 0, 0, .count = COUNT(inputs), .shapes = REST(1)),
	OP("ReduceL2", SHAPE(reduce), 0, 0, .count = COUNT(inputs), .shapes = REST(1)),
	OP("ReduceLogSum", SHAPE(reduce), 0, 0, .count = COUNT(inputs), .shapes = REST(1)),
	OP("ReduceLogSumExp", SHAPE(reduce), 0, 0, .count = COUNT(inputs), .shapes = REST(1)),
	OP("ReduceMax", SHAPE(reduce), 0, 0, .count = COUNT(inputs), .shapes = REST(1)),
	OP("ReduceMean", SHAPE(reduce), 0, 0, .count = COUNT(inputs), .shapes = REST(1)),
	OP("ReduceMin", SHAPE(reduce), 0, 0, .count = COUNT(inputs), .shapes = REST(1)),
	OP("ReduceProd", SHAPE(reduce), 0, 0, .count = COUNT(inputs), .shapes = REST(1)),
	OP("ReduceSum", SHAPE(reduce), 0, 0, .count = COUNT(inputs), .shapes = REST(1)),
	OP("ReduceSumSquare", SHAPE(reduce), 0, 0, .count = COUNT(inputs), .shapes = REST(1)),
	OP("RoiAlign", SHAPE(roi), 0, 1),
	OP("TopK", SHAPE(topk), 0, 0, .count = COUNT(inputs), .shapes = REST(1)),

	/* Quantization and dequantization. */
	OP("DequantizeLinear", SHAPE(dequantize), BOTH, 1, .scales = REST(1)),
	OP("DynamicQuantizeLinear", SHAPE(dynamic_quantize), 0, 1),
	OP("QLinearAdd", SHAPE(same), MS, 1,
	   .scales = IN(1) | IN(2) | IN(4) | IN(5) | IN(6) | IN(7)),
	OP("QLinearMul", SHAPE(same), MS, 1,
	   .scales = IN(1) | IN(2) | IN(4) | IN(5) | IN(6) | IN(7)),
	OP("QuantizeLinear", SHAPE(quantize), BOTH, 1, .scales = REST(1)),

	/* The same elements: nothing is computed. */
	OP("Cast", SHAPE(cast), MOVES, 0),
	OP("CastLike", SHAPE(cast), MOVES, 0, .shapes = IN(1)),
	OP("Dropout", SHAPE(same), VIEW, 0, .shapes = REST(1)),
	OP("Flatten", SHAPE(flatten), VIEW, 0),
	OP("Identity", SHAPE(same), VIEW, 0),
	OP("Reshape", SHAPE(reshape), VIEW, 0, .shapes = REST(1)),
	OP("Shape", SHAPE(shape), VIEW, 0),
	OP("Size", SHAPE(size), VIEW, 0),
	OP("Squeeze", SHAPE(squeeze), VIEW, 0, .shapes = REST(1)),
	OP("Unsqueeze", SHAPE(unsqueeze), VIEW, 0, .shapes = REST(1)),

	/* Moved elements: bytes, no ops. */
	OP("Compress", NULL, MOVES, 0, .shapes = REST(1)),
	OP("Concat", SHAPE(concat), 0, 0),
	OP("DepthToSpace", SHAPE(depth_to_space), MOVES, 0),
	OP("Expand", SHAPE(expand), MOVES, 0, .shapes = REST(1)),
	OP("Gather", SHAPE(gather), MOVES, 0, .count = COUNT(rows)),
	OP("GatherElements", SHAPE(second), MOVES, 0),
	OP("GatherND", SHAPE(gather_nd), MOVES, 0),
	OP("Pad", SHAPE(pad), MOVES, 0, .shapes = REST(1)),
	OP("ReverseSequence", SHAPE(same), MOVES, 0, .shapes = REST(1)),
	OP("Scatter", SHAPE(same), 0, 0),
	OP("ScatterElements", SHAPE(same), 0, 0),
	OP("ScatterND", SHAPE(same), 0, 0),
	OP("Slice", SHAPE(slice), MOVES, 0, .shapes = REST(1)),
	OP("SpaceToDepth", SHAPE(space_to_depth), MOVES, 0),
	OP("Split", SHAPE(split), MOVES, 0, .shapes = REST(1)),
	OP("TensorScatter", SHAPE(same), 0, 0),
	OP("Tile", SHAPE(tile), MOVES, 0, .shapes = REST(1)),
	OP("Transpose", SHAPE(transpose), MOVES, 0),
	OP("Trilu", SHAPE(same), MOVES, 0, .shapes = REST(1)),

	/* Images: an op per element made. */
	OP("GridSample", SHAPE(grid_sample), 0, 1),
	OP("Resize", SHAPE(resize), 0, 1, .shapes = REST(1)),
	OP("Upsample", SHAPE(resize), 0, 1, .shapes = REST(1)),

	/* Ops that make tensors. */
	OP("Bernoulli", SHAPE(same), RANDOM, 1),
	OP("ConstantOfShape", SHAPE(fill), 0, 0, .shapes = REST(0)),
	OP("EyeLike", SHAPE(eye), 0, 0),
	OP("NonZero", SHAPE(nonzero), 0, 0, .count = COUNT(inputs)),
	OP("OneHot", SHAPE(one_hot), 0, 0, .shapes = REST(1)),
	OP("RandomNormal", SHAPE(random), RANDOM, 1),
	OP("RandomNormalLike", SHAPE(eye), RANDOM, 1),
	OP("RandomUniform", SHAPE(random), RANDOM, 1),
	OP("RandomUniformLike", SHAPE(eye), RANDOM, 1),
	OP("Range", SHAPE(range), 0, 0, .shapes = REST(0)),
};

bool wtl_onnx_op_is_product(const struct wtl_onnx_op *op)
{
	return op->count && op->count != COUNT(inputs) && op->count != COUNT(rows);
}

const struct wtl_onnx_op *wtl_onnx_op_find(struct wtl_span domain, struct wtl_span name)
{
	bool is_microsoft = wtl_span_is(domain, "com.microsoft");

	if (domain.len > 0 && !is_microsoft)
		return NULL;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		bool fits = ops[i].flags & WTL_ONNX_BOTH ||
			    is_microsoft == ((ops[i].flags & WTL_ONNX_MICROSOFT) != 0);

		if (fits && name.len > 0 && ops[i].name[0] == (char)name.at[0] &&
		    wtl_span_is(name, ops[i].name))
			return &ops[i];
	}
	return NULL;
}
