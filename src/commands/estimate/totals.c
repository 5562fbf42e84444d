/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "commands/estimate/estimate.h"

int wtl_estimate_totals(const struct wtl_network *network, struct wtl_estimate_totals *ret)
{
	bool overflows = false;

	*ret = (struct wtl_estimate_totals){0};
	for (size_t i = 0; i < network->n; i++) {
		const struct wtl_layer *layer = &network->layers[i];
		const struct {
			uint64_t *total, of;
		} sums[] = {
			{&ret->other_ops, layer->other_ops},
			{&ret->parameters, layer->parameters},
			{&ret->buffers, layer->buffers},
			{&ret->scales, layer->scales},
			{&ret->weight_bytes, layer->weight_bytes},
			{&ret->input_bytes, layer->input_bytes},
			{&ret->output_bytes, layer->output_bytes},
		};

		for (size_t k = 0; k < sizeof(sums) / sizeof(sums[0]); k++)
			overflows |=
				__builtin_add_overflow(*sums[k].total, sums[k].of, sums[k].total);
		ret->repeats_unknown |= layer->repeats_unknown;
	}
	return overflows ? -EOVERFLOW : 0;
}
