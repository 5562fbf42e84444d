/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_NETWORK_H
#define WTL_NEURAL_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A neural network as a list of layers with their counts: file readers (onnx, net_text) fill it, and prices are applied
 * to it (price, roofline). All counts are of one inference, of the whole batch that the inputs have. A MAC is one
 * multiplication and one addition, two FLOP.
 *
 * Products are checked: readers refuse what does not fit into 64 bits, so every count here is exact.
 */

/* The format of numbers: an operation's count, price and bytes depend on it. */
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
	WTL_LAYER_EMBEDDING, /* reads rows of a table: bytes, no MACs */
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

enum { WTL_LAYER_RANK_MAX = 8 }; /* shapes of higher rank are not kept */

/* Why a node of a file is not counted. */
enum wtl_uncounted {
	WTL_COUNTED,
	WTL_UNCOUNTED_OP,   /* there is no rule for the op */
	WTL_UNCOUNTED_SIZE, /* a size is known only when it runs */
};

struct wtl_layer {
	char *name; /* as in the file, or made from op and a number; name and op are owned by the layer */
	char *op;
	enum wtl_layer_kind kind;
	enum wtl_precision weights, activations; /* of the operands of its MACs */

	uint64_t macs;
	uint64_t recurrent_macs; /* part of macs: on the layer's own outputs of the step before */
	uint64_t other_ops;	 /* other arithmetic, each operation as one */

	/* Constant tensors, in elements (not bytes). Each counts for the first layer that uses it. */
	uint64_t parameters; /* trained */
	uint64_t buffers;    /* running means and variances */
	uint64_t scales;     /* scales and zero points of quantized tensors */
	uint64_t weight_bytes;

	/* Inputs from other layers or the caller, and outputs. */
	uint64_t input_elements, output_elements;
	uint64_t input_bytes, output_bytes;
	/* The first output's shape, if known; rank -1: it is not. A layer that runs several times has one shape. */
	uint64_t output_shape[WTL_LAYER_RANK_MAX];
	int output_rank;

	/* Geometry, for the cost of an event: 1 where it does not apply. kernel is the product over all axes. */
	uint64_t out_channels, in_channels, groups;
	uint64_t kernel;
	uint64_t kernel_by_axis[3], stride_by_axis[3]; /* 1 for missing axes */
	bool is_transposed; /* a convolution whose input meets the whole kernel, whatever its stride */

	/* The innermost If around it, from 1; 0: none. Only one side of an If runs. */
	uint32_t branch;
	uint8_t side;		      /* 0: then, 1: else */
	enum wtl_uncounted uncounted; /* why counts are missing; WTL_COUNTED: they are not */
	bool repeats_unknown; /* in a Loop with a trip count that the file lacks: counted once */
	bool input_analog; /* its input is numbers, not spikes: the network's, or an LSTM's output */
	bool is_of_neuron; /* element by element on one computed tensor: in a spiking network part of the neurons */

	/* Spiking networks, if the file says so: spikes per neuron and time step. NAN: not known. */
	enum wtl_neuron neuron;
	double rate_in, rate_out;
};

enum { WTL_LAYERS_MAX = 20000 }; /* that a file may have */

/* The place of an If. */
struct wtl_branch {
	uint32_t
		around; /* the If around it, from 1; 0: none. Always a smaller number than its own. */
	uint8_t side;
};

/* Nodes of one op that were not counted. */
struct wtl_uncounted_op {
	char op[64]; /* with its domain, unless that is ONNX's own */
	enum wtl_uncounted why;
	size_t n;
};

/* How much of the file is in the counts. */
struct wtl_coverage {
	size_t n_nodes, n_counted; /* a node counts once for each place that calls it */
	struct wtl_uncounted_op *uncounted;
	size_t n, room;
};

struct wtl_network {
	char *name;
	struct wtl_layer *layers;
	size_t n, room;
	struct wtl_branch *branches;
	size_t n_branches, room_branches;
	struct wtl_coverage coverage; /* all zeros: the file has layers only */

	/* The sum over all layers, with the smaller or the larger side of each If. */
	uint64_t macs_min, macs_max;

	uint64_t steps; /* time steps of an inference; 0: the file has none */
	/* The input is a sequence of `steps` steps, and counts are of one: an ordinary network runs once for each. */
	bool is_sequence;
};

/* Adds a layer: zeros, but factors are 1 and rates NAN. It is the network's. NULL: no memory. */
struct wtl_layer *wtl_network_add(struct wtl_network *network, const char *name, const char *op);
/* Adds an If inside a side of the If `around` (0: none). Returns its number, from 1; 0: no memory. */
uint32_t wtl_network_add_branch(struct wtl_network *network, uint32_t around, uint8_t side);
/*
 * Which layers run if of each If the side with the larger (or smaller) sum of weights runs. One weight per layer;
 * ret[i] has room for all layers. 0 or -ENOMEM.
 */
int wtl_network_choose(const struct wtl_network *network, const double weights[], bool is_larger,
		       bool ret[]);
/*
 * Sums a count (offset of a uint64_t in struct wtl_layer) over all layers; of each If it takes the larger or the
 * smaller side. 0, -EOVERFLOW or -ENOMEM.
 */
int wtl_network_sum(const struct wtl_network *network, size_t field, bool is_larger, uint64_t *ret);
/* Names as users write them ("fp32", "int8"), ended by NULL; the first one, "own", keeps each precision. */
extern const char *const wtl_precision_names[];
/* Bits of a number, 0 for WTL_PRECISION_UNKNOWN. */
unsigned int wtl_precision_bits(enum wtl_precision precision);
/* By name; WTL_PRECISION_UNKNOWN: there is none. */
enum wtl_precision wtl_precision_find(const char *name);
void wtl_network_done(struct wtl_network *network);

#endif
