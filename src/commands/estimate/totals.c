/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "commands/estimate/estimate.h"

#define OF(field) offsetof(struct wtl_layer, field)

int wtl_estimate_totals(const struct wtl_network *network, struct wtl_estimate_totals *ret)
{
	const struct {
		uint64_t *least, *most;
		size_t field;
	} runs[] = {
		{&ret->other_ops_min, &ret->other_ops, OF(other_ops)},
		{&ret->input_bytes_min, &ret->input_bytes, OF(input_bytes)},
		{&ret->output_bytes_min, &ret->output_bytes, OF(output_bytes)},
	};
	bool overflows = false;
	int rc = 0;

	*ret = (struct wtl_estimate_totals){0};
	for (size_t k = 0; rc == 0 && k < sizeof(runs) / sizeof(runs[0]); k++) {
		rc = wtl_network_sum(network, runs[k].field, false, runs[k].least);
		if (rc == 0)
			rc = wtl_network_sum(network, runs[k].field, true, runs[k].most);
	}
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < network->n; i++) {
		const struct wtl_layer *layer = &network->layers[i];
		const struct {
			uint64_t *total, of;
		} sums[] = {
			{&ret->parameters, layer->parameters},
			{&ret->buffers, layer->buffers},
			{&ret->scales, layer->scales},
			{&ret->weight_bytes, layer->weight_bytes},
		};

		for (size_t k = 0; k < sizeof(sums) / sizeof(sums[0]); k++)
			overflows |=
				__builtin_add_overflow(*sums[k].total, sums[k].of, sums[k].total);
		ret->repeats_unknown |= layer->repeats_unknown;
	}
	return overflows ? -EOVERFLOW : 0;
}
