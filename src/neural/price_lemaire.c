/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "neural/price_counts.h"

/*
 * Lemaire et al. 2022 (arXiv:2210.13107), with corrections from the authors' code: the sum over an input's neurons
 * once, and the reset of each spike. Operations are on 32-bit integers; every MAC of an ordinary network reads its
 * weight and its input. A spiking layer's inputs and outputs are queues, as long as an image has pixels.
 */

static double pixels(uint64_t elements, uint64_t channels)
{
	return (double)elements / (double)(channels ? channels : 1);
}

/* Weights that an input spike meets: by the whole kernel, and those that are left with its stride. */
static void fans(const struct wtl_layer *layer, double *ret_all, double *ret_met)
{
	double of_channels = (double)layer->out_channels / (double)layer->groups;

	if (layer->kind != WTL_LAYER_CONV) {
		double forward = (double)(layer->macs - layer->recurrent_macs);
		*ret_all = *ret_met =
			layer->input_elements ? forward / (double)layer->input_elements : 0;
		return;
	}
	*ret_all = *ret_met = of_channels * (double)layer->kernel;
	if (layer->is_transposed)
		return;
	*ret_met = of_channels;
	for (int i = 0; i < 3; i++)
		*ret_met *=
			ceil((double)layer->kernel_by_axis[i] / (double)layer->stride_by_axis[i]);
}

static void put_weights(const struct wtl_price_choice *choice, double reads,
			struct wtl_layer_counts *counts)
{
	double once = choice->memory == WTL_MEMORY_DRAM_ONCE ? counts->weight_bytes * 8 : 0;
	bool is_per_use = choice->memory == WTL_MEMORY_DRAM_PER_USE;

	counts->weight_reads = is_per_use ? 0 : reads;
	counts->dram_bits = is_per_use ? reads * counts->weight_bits : once;
}

void wtl_lemaire_ordinary(const struct wtl_layer *layer, double runs,
			  const struct wtl_price_choice *choice, struct wtl_layer_counts *counts)
{
	counts->precision = WTL_INT32;
	counts->macs = runs * (double)layer->macs;
	counts->input_reads = counts->macs;
	put_weights(choice, counts->macs, counts);
}

void wtl_lemaire_spiking(const struct wtl_layer *layer, double steps, double rate_in,
			 double rate_out, bool leaks, const struct wtl_price_choice *choice,
			 struct wtl_layer_counts *counts)
{
	double n = (double)layer->output_elements, updates = steps * n;
	double in = steps * rate_in * (double)layer->input_elements, out = updates * rate_out;
	/* ACs of the layer's own spikes that are fed back. */
	double own = n > 0 ? out * (double)layer->recurrent_macs / n : 0;
	double all, met;

	fans(layer, &all, &met);
	counts->precision = WTL_INT32;
	counts->synops = in * all + own;
	counts->acs = in * met + own + updates + out;
	counts->macs = counts->analog_macs + (leaks ? updates : 0);
	put_weights(choice, counts->synops + counts->analog_macs, counts);
	counts->potential_accesses = 2 * (in * all + own + updates);
	counts->potential_bytes = n * counts->weight_bits / 8;
	counts->input_reads = layer->input_analog ? counts->analog_macs : in;
	counts->output_writes = out;
	if (!layer->input_analog)
		counts->input_bytes = pixels(layer->input_elements, layer->in_channels) *
				      counts->activation_bits / 8;
	counts->output_bytes =
		pixels(layer->output_elements, layer->out_channels) * counts->activation_bits / 8;
	if (layer->kind == WTL_LAYER_CONV) {
		counts->address_macs = 2 * in;
		counts->address_acs = in * (double)layer->kernel;
	}
}
