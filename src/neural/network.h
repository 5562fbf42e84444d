/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_NETWORK_H
#define WTL_NEURAL_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A neural network as a list of layers with what each of them counts: what a reader of a file fills (onnx, net_text) and
 * what prices are applied to (energy). All counts are of one inference, of the whole batch that the inputs give. A MAC is
 * one multiplication and one addition, two FLOP.
 *
 * Products are checked: what does not fit into 64 bits is refused by the reader, so every count here is exact.
 */

/* What numbers are made of; the count of an operation, its price and its bytes go by it. */
enum wtl_precision {
	WTL_PRECISION_UNKNOWN,
	WTL_FP64,
	WTL_FP32,
	WTL_FP16,
	WTL_BF16,
	WTL_FP8,
	WTL_INT64,
	WTL_INT32,
	WTL_INT16,
	WTL_INT8,
	WTL_INT4,
	WTL_INT2,
	WTL_BINARY,
	WTL_N_PRECISIONS,
};

enum wtl_layer_kind {
	WTL_LAYER_OTHER,     /* no MACs: activations, pooling, normalization, shapes */
	WTL_LAYER_CONV,	     /* also its transposed, grouped and depthwise forms */
	WTL_LAYER_DENSE,     /* a product with constant weights */
	WTL_LAYER_PRODUCT,   /* a product of two computed tensors, as in attention; no weights */
	WTL_LAYER_EMBEDDING, /* rows of a table: bytes, no MACs */
	WTL_LAYER_RECURRENT, /* LSTM, GRU, RNN, or a spiking layer that feeds itself */
};

/* How a layer's outputs fire in a spiking network; facts/neural.md, section 2.2, gives what an update costs. */
enum wtl_neuron {
	WTL_NEURON_NONE, /* not a spiking layer: its outputs are numbers */
	WTL_NEURON_IF,
	WTL_NEURON_LIF,
	WTL_NEURON_ALIF,
	WTL_NEURON_TC_LIF,
	WTL_NEURON_READOUT, /* integrates and never fires: a number is read from it */
	WTL_N_NEURONS,
};

enum { WTL_LAYER_RANK_MAX = 8 }; /* a shape with more sizes is not kept */

/* Why a node of a file is not counted. */
enum wtl_uncounted {
	WTL_COUNTED,
	WTL_UNCOUNTED_OP,   /* there is no rule for it */
	WTL_UNCOUNTED_SIZE, /* a size that only running it tells */
};

struct wtl_layer {
	char *name; /* as in the file, made up from op and number where it has none; this and op are the layer's own */
	char *op;
	enum wtl_layer_kind kind;
	enum wtl_precision weights, activations; /* of the operands of its MACs */

	uint64_t macs;
	uint64_t
		recurrent_macs; /* those of macs that take the layer's own outputs of the step before */
	uint64_t other_ops;	/* all else that is arithmetic, an operation each */

	/* Constant tensors, in numbers (not bytes). Each stands with the first layer that uses it. */
	uint64_t parameters; /* trained */
	uint64_t buffers;    /* running means and variances */
	uint64_t scales;     /* scales and zero points of quantized tensors */
	uint64_t weight_bytes;

	/* What it reads that other layers made or the caller gave, and what it makes. */
	uint64_t input_elements, output_elements;
	uint64_t input_bytes, output_bytes;
	/* Of its first output, as far as the file or the rules tell; rank -1: they do not. A layer that runs several times has one. */
	uint64_t output_shape[WTL_LAYER_RANK_MAX];
	int output_rank;

	/* Its geometry, for what an event costs: 1 where it does not apply. kernel multiplies over all axes. */
	uint64_t out_channels, in_channels, groups;
	uint64_t kernel;
	uint64_t kernel_by_axis[3], stride_by_axis[3]; /* 1 for axes that are not there */
	bool is_transposed; /* a convolution whose input meets the whole kernel, whatever its stride */

	/* 0 outside of branches; else the innermost If that it is in, from 1. Only one of its sides runs. */
	uint32_t branch;
	uint8_t side;		      /* 0: then, 1: else */
	enum wtl_uncounted uncounted; /* why its counts are missing; WTL_COUNTED: they are there */
	bool repeats_unknown; /* in a Loop whose trip count the file does not tell: counted once */
	bool input_analog; /* fed by numbers, not by spikes: the network's input, or an LSTM's output */
	bool is_of_neuron; /* works on each element of one computed tensor: neurons do it in a spiking network */

	/* Of spiking networks, where the file tells them. NAN where it does not. Spikes per neuron and time step. */
	enum wtl_neuron neuron;
	double rate_in, rate_out;
};

enum { WTL_LAYERS_MAX = 20000 }; /* that a file may have */

/* An If: where it stands itself. */
struct wtl_branch {
	uint32_t
		around; /* the one that it is in, from 1; 0: none. Always a smaller number than its own. */
	uint8_t side;
};

/* Nodes of one op that were not counted. */
struct wtl_uncounted_op {
	char op[64]; /* with its domain, where that is not ONNX's own */
	enum wtl_uncounted why;
	size_t n;
};

/* How much of the file is in the counts. */
struct wtl_coverage {
	size_t n_nodes, n_counted; /* each node once for each place that it is called from */
	struct wtl_uncounted_op *uncounted;
	size_t n, room;
};

struct wtl_network {
	char *name;
	struct wtl_layer *layers;
	size_t n, room;
	struct wtl_branch *branches;
	size_t n_branches, room_branches;
	struct wtl_coverage coverage; /* all zeros: there is nothing but layers */

	/* Over all layers; of branches, the side with fewer and the side with more. */
	uint64_t macs_min, macs_max;

	uint64_t steps; /* time steps of an inference, where the file tells them: 0 if not */
	/* The input is a sequence of that many steps, and counts are of one of them: an ordinary network runs as often. */
	bool is_sequence;
};

/* A new layer, all zeros but for factors of 1 and rates that are not known. It is the network's; NULL if memory ends. */
struct wtl_layer *wtl_network_add(struct wtl_network *network, const char *name, const char *op);
/* A new If, around which those stand; its number, from 1. 0: no memory. */
uint32_t wtl_network_add_branch(struct wtl_network *network, uint32_t around, uint8_t side);
/*
 * Which layers run if of each If the side runs whose layers weigh more together; or less. One weight a layer. ret[i] has room for
 * all layers. 0 or -ENOMEM.
 */
int wtl_network_choose(const struct wtl_network *network, const double weights[], bool is_larger,
		       bool ret[]);
/*
 * The sum of a count of all layers (the place of a uint64_t in struct wtl_layer); of each If, that of its larger or lesser side.
 * 0, -EOVERFLOW or -ENOMEM.
 */
int wtl_network_sum(const struct wtl_network *network, size_t field, bool is_larger, uint64_t *ret);
/* Their names as users write them ("fp32", "int8"), ended by NULL; the first one, "own": as it is. */
extern const char *const wtl_precision_names[];
/* Bits of a number, 0 for WTL_PRECISION_UNKNOWN. */
unsigned int wtl_precision_bits(enum wtl_precision precision);
/* From a name; WTL_PRECISION_UNKNOWN if there is no such. */
enum wtl_precision wtl_precision_find(const char *name);
void wtl_network_done(struct wtl_network *network);

#endif
