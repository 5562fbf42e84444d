/* SPDX-License-Identifier: MIT */
#include "neural/price_counts.h"

#include <math.h>
#include <string.h>

#include "base/err.h"

/*
 * A neuron's cost per time step, without synapses. LIF, TC-LIF: Zhang et al. 2023 (arXiv:2308.13250), table 4. ALIF:
 * the updates of threshold, adaptation, potential of Yin et al. 2020. IF: additions of its input and of the reset.
 */
static const struct wtl_neuron_cost neurons[WTL_N_NEURONS] = {
	[WTL_NEURON_NONE] = {"none", 0, 0, 0, 0},
	[WTL_NEURON_IF] = {"if", 0, 1, 1, 1},
	[WTL_NEURON_LIF] = {"lif", 1, 0, 1, 1},
	[WTL_NEURON_ALIF] = {"alif", 3, 0, 2, 2},
	[WTL_NEURON_TC_LIF] = {"tc-lif", 2, 0, 2, 2},
	[WTL_NEURON_READOUT] = {"readout", 1, 0, 0, 1},
};

const struct wtl_neuron_cost *wtl_neuron_cost(enum wtl_neuron neuron)
{
	return &neurons[neuron];
}

bool wtl_neuron_find(const char *name, enum wtl_neuron *ret)
{
	for (int i = 0; i < WTL_N_NEURONS; i++)
		if (strcmp(name, neurons[i].name) == 0) {
			*ret = (enum wtl_neuron)i;
			return true;
		}
	return false;
}

bool wtl_layer_stays(const struct wtl_layer *layer)
{
	return layer->kind == WTL_LAYER_RECURRENT &&
	       (strcmp(layer->op, "LSTM") == 0 || strcmp(layer->op, "GRU") == 0 ||
		strcmp(layer->op, "RNN") == 0);
}

double wtl_price_steps(const struct wtl_network *network, const struct wtl_price_choice *choice)
{
	if (choice->steps)
		return choice->steps;
	return network->steps ? (double)network->steps : 1;
}

static enum wtl_precision precision_of(enum wtl_precision own,
				       const struct wtl_price_choice *choice)
{
	if (choice->precision != WTL_PRECISION_UNKNOWN)
		return choice->precision;
	return own == WTL_PRECISION_UNKNOWN ? WTL_FP32 : own;
}

/* Sets what both kinds of network have in common. */
static void count_memories(const struct wtl_layer *layer, const struct wtl_price_choice *choice,
			   struct wtl_layer_counts *counts)
{
	enum wtl_precision weights = layer->weights ? layer->weights : layer->activations;

	counts->precision = precision_of(layer->activations, choice);
	counts->weight_bits = wtl_precision_bits(precision_of(weights, choice));
	counts->activation_bits = choice->activation_bits ? choice->activation_bits
							  : wtl_precision_bits(counts->precision);
	counts->weight_bytes = (double)layer->parameters * counts->weight_bits / 8;
	counts->input_bytes = (double)layer->input_elements * counts->activation_bits / 8;
	counts->output_bytes = (double)layer->output_elements * counts->activation_bits / 8;
}

/* Counts `reads` of weights, from memory on the chip or from DRAM. */
static void count_weights(const struct wtl_layer *layer, const struct wtl_price_choice *choice,
			  double reads, struct wtl_layer_counts *counts)
{
	if (layer->kind == WTL_LAYER_PRODUCT)
		return;
	if (choice->memory == WTL_MEMORY_DRAM_PER_USE)
		counts->dram_bits += reads * counts->weight_bits;
	else
		counts->weight_reads += reads;
}

static void count_ordinary(const struct wtl_layer *layer, const struct wtl_price_choice *choice,
			   double runs, struct wtl_layer_counts *counts)
{
	counts->macs = runs * (double)layer->macs;
	counts->other_ops = runs * (double)layer->other_ops;
	counts->updates = layer->macs ? runs * (double)layer->output_elements : 0;
	count_weights(layer, choice, counts->macs / (choice->reuse ? choice->reuse : 1), counts);
	counts->input_reads = runs * (double)layer->input_elements;
	counts->output_writes = runs * (double)layer->output_elements;
	if (choice->rules == WTL_RULES_LEMAIRE && layer->macs > 0)
		wtl_lemaire_ordinary(layer, runs, choice, counts);
}

static int no_rate(const struct wtl_layer *layer, const char *of, struct wtl_err *err)
{
	return wtl_err_set(
		err, WTL_EABSENT, "estimate", layer->name,
		"the rate of its %s is not known: give spikes per neuron and time step (--rates)",
		of);
}

static int find_rates(const struct wtl_layer *layer, const struct wtl_price_choice *choice,
		      const struct wtl_neuron_cost *cost, double *ret_in, double *ret_out,
		      struct wtl_err *err)
{
	bool fires = cost->acs_of_spike > 0;

	*ret_in = isnan(choice->rate) ? layer->rate_in : choice->rate;
	*ret_out = !fires ? 0 : isnan(choice->rate) ? layer->rate_out : choice->rate;
	bool lacks_in = isnan(*ret_in) && !layer->input_analog;
	if (lacks_in || isnan(*ret_out))
		return no_rate(layer, lacks_in ? "input" : "neurons", err);
	if (layer->input_analog)
		*ret_in = 0;
	return 0;
}

static int count_spiking(const struct wtl_layer *layer, const struct wtl_price_choice *choice,
			 double steps, struct wtl_layer_counts *counts, struct wtl_err *err)
{
	enum wtl_neuron neuron = layer->neuron != WTL_NEURON_NONE    ? layer->neuron
				 : choice->neuron != WTL_NEURON_NONE ? choice->neuron
								     : WTL_NEURON_LIF;
	const struct wtl_neuron_cost *cost = &neurons[neuron];
	double rate_in, rate_out, n = (double)layer->output_elements;
	double forward = (double)(layer->macs - layer->recurrent_macs);
	int rc = find_rates(layer, choice, cost, &rate_in, &rate_out, err);

	if (rc < 0)
		return rc;
	counts->updates = steps * n;
	counts->spikes = counts->updates * rate_out;
	counts->synops = steps * rate_out * (double)layer->recurrent_macs;
	if (layer->input_analog)
		counts->analog_macs = forward * (choice->input_is_constant ? 1 : steps);
	else
		counts->synops += steps * rate_in * forward;
	count_weights(layer, choice, counts->synops + counts->analog_macs, counts);
	counts->macs = counts->analog_macs + counts->updates * cost->macs;
	counts->acs =
		counts->synops + counts->updates * cost->acs + counts->spikes * cost->acs_of_spike;
	counts->potential_accesses = 2 * (counts->synops + counts->updates * cost->states);
	counts->potential_bytes = n * cost->states * counts->weight_bits / 8;
	counts->input_reads =
		(layer->input_analog ? steps : steps * rate_in) * (double)layer->input_elements;
	counts->output_writes = counts->spikes;
	if (choice->rules == WTL_RULES_LEMAIRE)
		wtl_lemaire_spiking(layer, steps, rate_in, rate_out, cost->macs > 0, choice,
				    counts);
	return 0;
}

/* A layer without MACs works for each incoming spike; a neuron's own work is in its update. */
static int count_passive(const struct wtl_layer *layer, const struct wtl_price_choice *choice,
			 double steps, double runs, struct wtl_layer_counts *counts,
			 struct wtl_err *err)
{
	double rate = isnan(choice->rate) ? layer->rate_in : choice->rate;

	/* Numbers, and int64 sizes and indices, are processed once. */
	if (layer->input_analog || layer->activations == WTL_INT64) {
		count_ordinary(layer, choice, runs, counts);
		return 0;
	}
	if (layer->is_of_neuron)
		return 0;
	if (isnan(rate))
		return no_rate(layer, "input", err);
	counts->other_ops = steps * rate * (double)layer->other_ops;
	counts->input_reads = steps * rate * (double)layer->input_elements;
	counts->output_writes = steps * rate * (double)layer->output_elements;
	return 0;
}

int wtl_layer_count(const struct wtl_network *network, const struct wtl_layer *layer,
		    const struct wtl_price_choice *choice, struct wtl_layer_counts *ret,
		    struct wtl_err *err)
{
	double steps = wtl_price_steps(network, choice);
	double runs = network->is_sequence ? steps : 1;
	int rc = 0;

	*ret = (struct wtl_layer_counts){0};
	count_memories(layer, choice, ret);
	if (choice->memory == WTL_MEMORY_DRAM_ONCE)
		ret->dram_bits = ret->weight_bytes * 8;
	if (!choice->is_spiking || wtl_layer_stays(layer))
		count_ordinary(layer, choice, runs, ret);
	else if (layer->macs > 0)
		rc = count_spiking(layer, choice, steps, ret, err);
	else
		rc = count_passive(layer, choice, steps, runs, ret, err);
	return rc;
}
