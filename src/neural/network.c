/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "neural/network.h"

static const struct {
	const char *name;
	unsigned int bits;
} precisions[WTL_N_PRECISIONS] = {
	[WTL_PRECISION_UNKNOWN] = {"unknown", 0},
	[WTL_FP64] = {"fp64", 64},
	[WTL_FP32] = {"fp32", 32},
	[WTL_FP16] = {"fp16", 16},
	[WTL_BF16] = {"bf16", 16},
	[WTL_FP8] = {"fp8", 8},
	[WTL_INT64] = {"int64", 64},
	[WTL_INT32] = {"int32", 32},
	[WTL_INT16] = {"int16", 16},
	[WTL_INT8] = {"int8", 8},
	[WTL_INT4] = {"int4", 4},
	[WTL_INT2] = {"int2", 2},
	[WTL_BINARY] = {"binary", 1},
};

unsigned int wtl_precision_bits(enum wtl_precision precision)
{
	return precisions[precision].bits;
}

const char *wtl_precision_name(enum wtl_precision precision)
{
	return precisions[precision].name;
}

enum wtl_precision wtl_precision_find(const char *name)
{
	for (unsigned int i = WTL_PRECISION_UNKNOWN + 1; i < WTL_N_PRECISIONS; i++)
		if (strcmp(precisions[i].name, name) == 0)
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
		.stride = 1,
		.kernel_by_axis = {1, 1, 1},
		.stride_by_axis = {1, 1, 1},
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

void wtl_network_done(struct wtl_network *network)
{
	for (size_t i = 0; i < network->n; i++) {
		free(network->layers[i].name);
		free(network->layers[i].op);
	}
	free(network->layers);
	free(network->name);
	*network = (struct wtl_network){0};
}
