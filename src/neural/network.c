/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "neural/network.h"

const char *const wtl_precision_names[WTL_N_PRECISIONS + 1] = {
	[WTL_PRECISION_UNKNOWN] = "own",
	[WTL_FP64] = "fp64",
	[WTL_FP32] = "fp32",
	[WTL_FP16] = "fp16",
	[WTL_BF16] = "bf16",
	[WTL_FP8] = "fp8",
	[WTL_INT64] = "int64",
	[WTL_INT32] = "int32",
	[WTL_INT16] = "int16",
	[WTL_INT8] = "int8",
	[WTL_INT4] = "int4",
	[WTL_INT2] = "int2",
	[WTL_BINARY] = "binary",
};

unsigned int wtl_precision_bits(enum wtl_precision precision)
{
	static const unsigned char bits[WTL_N_PRECISIONS] = {
		[WTL_FP64] = 64, [WTL_FP32] = 32,  [WTL_FP16] = 16,  [WTL_BF16] = 16,
		[WTL_FP8] = 8,	 [WTL_INT64] = 64, [WTL_INT32] = 32, [WTL_INT16] = 16,
		[WTL_INT8] = 8,	 [WTL_INT4] = 4,   [WTL_INT2] = 2,   [WTL_BINARY] = 1,
	};

	return bits[precision];
}

enum wtl_precision wtl_precision_find(const char *name)
{
	for (unsigned int i = WTL_PRECISION_UNKNOWN + 1; i < WTL_N_PRECISIONS; i++)
		if (strcmp(wtl_precision_names[i], name) == 0)
			return (enum wtl_precision)i;
	return WTL_PRECISION_UNKNOWN;
}

struct wtl_layer *wtl_network_add(struct wtl_network *network, const char *name, const char *op)
{
	if (wtl_array_reserve(&network->layers, &network->room, network->n + 1,
			      sizeof(*network->layers)) < 0)
		return NULL;
	struct wtl_layer *layer = &network->layers[network->n];
	*layer = (struct wtl_layer){
		.name = strdup(name),
		.op = strdup(op),
		.out_channels = 1,
		.in_channels = 1,
		.groups = 1,
		.kernel = 1,
		.kernel_by_axis = {1, 1, 1},
		.stride_by_axis = {1, 1, 1},
		.output_rank = -1,
		.rate_in = (double)NAN,
		.rate_out = (double)NAN,
	};
	if (!layer->name || !layer->op) {
		free(layer->name);
		free(layer->op);
		return NULL;
	}
	network->n++;
	return layer;
}

uint32_t wtl_network_add_branch(struct wtl_network *network, uint32_t around, uint8_t side)
{
	if (wtl_array_reserve(&network->branches, &network->room_branches, network->n_branches + 1,
			      sizeof(*network->branches)) < 0)
		return 0;
	network->branches[network->n_branches++] = (struct wtl_branch){around, side};
	return (uint32_t)network->n_branches;
}

int wtl_network_choose(const struct wtl_network *network, const double weights[], bool is_larger,
		       bool ret[])
{
	/* For each If: its sides' weights, the one chosen, and whether the If itself runs. Index 0: outside of all. */
	struct choice {
		double weight[2];
		uint8_t side;
		bool runs;
	} *choices = calloc(network->n_branches + 1, sizeof(*choices));

	if (!choices)
		return -ENOMEM;
	for (size_t i = 0; i < network->n; i++)
		choices[network->layers[i].branch].weight[network->layers[i].side] += weights[i];
	for (size_t i = network->n_branches; i > 0; i--) {
		const struct wtl_branch *branch = &network->branches[i - 1];

		choices[i].side = is_larger ? choices[i].weight[1] > choices[i].weight[0]
					    : choices[i].weight[1] < choices[i].weight[0];
		choices[branch->around].weight[branch->side] += choices[i].weight[choices[i].side];
	}
	choices[0].runs = true;
	for (size_t i = 1; i <= network->n_branches; i++) {
		const struct wtl_branch *branch = &network->branches[i - 1];
		const struct choice *around = &choices[branch->around];

		choices[i].runs = around->runs && around->side == branch->side;
	}
	for (size_t i = 0; i < network->n; i++) {
		const struct wtl_layer *layer = &network->layers[i];

		ret[i] = choices[layer->branch].runs && choices[layer->branch].side == layer->side;
	}
	free(choices);
	return 0;
}

static uint64_t count_of(const struct wtl_layer *layer, size_t field)
{
	uint64_t count;

	memcpy(&count, (const char *)layer + field, sizeof(count));
	return count;
}

int wtl_network_sum(const struct wtl_network *network, size_t field, bool is_larger, uint64_t *ret)
{
	double *weights = calloc(network->n + 1, sizeof(*weights));
	bool *runs = calloc(network->n + 1, sizeof(*runs)), overflows = false;
	uint64_t sum = 0;
	int rc = weights && runs ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < network->n; i++)
		weights[i] = (double)count_of(&network->layers[i], field);
	if (rc == 0)
		rc = wtl_network_choose(network, weights, is_larger, runs);
	for (size_t i = 0; rc == 0 && i < network->n; i++)
		if (runs[i])
			overflows |= __builtin_add_overflow(
				sum, count_of(&network->layers[i], field), &sum);
	free(weights);
	free(runs);
	if (rc < 0)
		return rc;
	*ret = sum;
	return overflows ? -EOVERFLOW : 0;
}

void wtl_network_done(struct wtl_network *network)
{
	for (size_t i = 0; i < network->n; i++) {
		free(network->layers[i].name);
		free(network->layers[i].op);
	}
	free(network->layers);
	free(network->branches);
	free(network->coverage.uncounted);
	free(network->name);
	*network = (struct wtl_network){0};
}
