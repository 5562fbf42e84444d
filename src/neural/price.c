/* SPDX-License-Identifier: MIT */
#include "neural/price.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "neural/price_counts.h"

enum { ASSUMPTIONS_MAX = 16 << 10 };

const char *const wtl_memory_places[] = {"local", "dram-once", "dram-per-use", "none", NULL};
const char *const wtl_price_rules[] = {"own", "lemaire-2022", NULL};
const char *const wtl_sram_models[] = {"horowitz", "lemaire-2022", "packed64", NULL};

/* One set of prices: a value for each constant of the device. */
struct view {
	const struct wtl_device *device;
	const struct wtl_price_choice *choice;
	enum wtl_sram_model sram;
	double value[WTL_CONSTANTS_MAX];
};

struct joules {
	double compute, memory;
};

enum bound { LOW, NOMINAL, HIGH };

static double bound_of(const struct wtl_constant *constant, enum bound bound)
{
	return bound == LOW ? constant->low : bound == HIGH ? constant->high : constant->nominal;
}

static void view_init(struct view *view, const struct wtl_price_choice *choice, enum bound bound)
{
	view->device = choice->device;
	view->choice = choice;
	view->sram = choice->sram;
	for (size_t i = 0; i < choice->device->n; i++)
		view->value[i] = bound_of(&choice->device->constants[i], bound);
}

/* NAN: the device has no such price. */
static double find(const struct view *view, enum wtl_constant_kind kind,
		   enum wtl_precision precision)
{
	const struct wtl_constant *constant = wtl_device_constant(view->device, kind, precision);
	return constant ? view->value[constant - view->device->constants] : (double)NAN;
}

/* 0: the device has none, as it may lack that part. */
static double find_or_none(const struct view *view, enum wtl_constant_kind kind)
{
	return wtl_device_constant(view->device, kind, WTL_PRECISION_UNKNOWN)
		       ? find(view, kind, WTL_PRECISION_UNKNOWN)
		       : 0;
}

static double mac_price(const struct view *view, enum wtl_precision precision)
{
	unsigned int bits = view->choice->activation_bits;
	double mac = find(view, WTL_CONSTANT_MAC, precision);

	if (!isnan(mac))
		return mac;
	double mul = find(view, WTL_CONSTANT_MUL, precision);
	if (bits && bits < wtl_precision_bits(precision))
		mul *= (double)bits / wtl_precision_bits(precision);
	return mul + find(view, WTL_CONSTANT_ADD, precision);
}

/* The price of an operation that is no MAC: an addition's, or if there is none, that of fp32 or int32. */
static double other_price(const struct view *view, enum wtl_precision precision)
{
	double price = find(view, WTL_CONSTANT_ADD, precision);

	if (isnan(price))
		price = find(view, WTL_CONSTANT_ADD, WTL_FP32);
	return isnan(price) ? find(view, WTL_CONSTANT_ADD, WTL_INT32) : price;
}

static bool has_synop(const struct wtl_device *device)
{
	return wtl_device_constant(device, WTL_CONSTANT_SYNOP, WTL_PRECISION_UNKNOWN);
}

/* A count of 0 costs nothing, even if its price is NAN. */
static double term(double count, double price)
{
	return count > 0 ? count * price : 0;
}

/* Energy on a spiking chip, whose prices include memory. */
static double spiking_chip(const struct view *view, const struct wtl_layer_counts *counts)
{
	double hops = view->choice->hops ? view->choice->hops : 1;

	return term(counts->synops + counts->analog_macs, find(view, WTL_CONSTANT_SYNOP, 0)) +
	       term(counts->updates, find_or_none(view, WTL_CONSTANT_UPDATE)) +
	       term(counts->spikes, find_or_none(view, WTL_CONSTANT_SPIKE) +
					    hops * find_or_none(view, WTL_CONSTANT_HOP));
}

static double memory(const struct view *view, const struct wtl_layer_counts *counts)
{
	const struct wtl_device *device = view->device;
	const double *value = view->value;

	if (!device->is_digital || view->choice->memory == WTL_MEMORY_NONE)
		return 0;
	return term(counts->weight_reads,
		    wtl_sram_price(device, value, view->sram, counts->weight_bytes,
				   counts->weight_bits)) +
	       term(counts->potential_accesses,
		    wtl_sram_price(device, value, view->sram, counts->potential_bytes,
				   counts->weight_bits)) +
	       term(counts->input_reads,
		    wtl_sram_price(device, value, view->sram, counts->input_bytes,
				   counts->activation_bits)) +
	       term(counts->output_writes,
		    wtl_sram_price(device, value, view->sram, counts->output_bytes,
				   counts->activation_bits)) +
	       term(counts->dram_bits, wtl_dram_price(device, value, 1));
}

static struct joules price_layer(const struct view *view, const struct wtl_layer_counts *counts)
{
	struct joules joules = {0};

	if (has_synop(view->device)) {
		joules.compute = spiking_chip(view, counts);
		return joules;
	}
	joules.compute = term(counts->macs, mac_price(view, counts->precision));
	if (view->device->is_digital)
		joules.compute +=
			term(counts->acs, find(view, WTL_CONSTANT_ADD, counts->precision)) +
			term(counts->other_ops, other_price(view, counts->precision)) +
			term(counts->address_macs, mac_price(view, WTL_INT32)) +
			term(counts->address_acs, find(view, WTL_CONSTANT_ADD, WTL_INT32));
	else
		joules.compute += term(counts->updates, find_or_none(view, WTL_CONSTANT_UPDATE));
	joules.memory = memory(view, counts);
	return joules;
}

/* ---- Missing prices ---- */

static int refuse(struct wtl_err *err, const struct wtl_device *device, const char *what)
{
	return wtl_err_set(err, WTL_EABSENT, "estimate", device->name, "no total: %s", what);
}

static bool lacks(const struct wtl_device *device, enum wtl_constant_kind kind)
{
	return !wtl_device_constant(device, kind, WTL_PRECISION_UNKNOWN);
}

static int check_memory(const struct wtl_price_choice *choice, struct wtl_err *err)
{
	const struct wtl_device *device = choice->device;

	if (!device->is_digital || choice->memory == WTL_MEMORY_NONE)
		return 0;
	if (choice->sram != WTL_SRAM_LEMAIRE && lacks(device, WTL_CONSTANT_SRAM))
		return refuse(err, device,
			      "it has no price of memory on the chip (sram); --memory none leaves "
			      "memory out");
	if (choice->sram == WTL_SRAM_LEMAIRE &&
	    (lacks(device, WTL_CONSTANT_SRAM_ACCESS) || lacks(device, WTL_CONSTANT_SRAM_BIT)))
		return refuse(err, device, "it has no sram-access and sram-bit");
	if (choice->memory != WTL_MEMORY_LOCAL && lacks(device, WTL_CONSTANT_DRAM))
		return refuse(err, device, "it has no price of DRAM");
	return 0;
}

static int check_choice(const struct wtl_network *network, const struct wtl_price_choice *choice,
			struct wtl_err *err)
{
	const struct wtl_device *device = choice->device;

	for (size_t i = 0; i < device->n; i++)
		if (device->constants[i].grade == WTL_GRADE_UNKNOWN)
			return wtl_err_set(err, WTL_EABSENT, "estimate", device->name,
					   "no total: its '%s' is unknown (%.100s)",
					   device->constants[i].name, device->constants[i].source);
	if (has_synop(device) && !choice->is_spiking)
		return refuse(err, device, "it has prices of spikes alone (--as snn)");
	if (!has_synop(device) && !device->is_digital && choice->is_spiking)
		return refuse(err, device, "it has prices of ordinary networks alone (--as ann)");
	for (size_t i = 0; i < network->n; i++)
		if (has_synop(device) && wtl_layer_stays(&network->layers[i]))
			return refuse(err, device, "an LSTM, GRU or RNN has no spikes to price");
	return check_memory(choice, err);
}

static int check_price(const struct joules *joules, const struct wtl_layer_counts *counts,
		       const struct wtl_layer *layer, const struct wtl_device *device,
		       struct wtl_err *err)
{
	if (isfinite(joules->compute) && isfinite(joules->memory))
		return 0;
	if (isnan(joules->compute) || isnan(joules->memory))
		return wtl_err_set(err, WTL_EABSENT, "estimate", device->name,
				   "no total: it has no price of %s operations, as in %.60s "
				   "(--precision prices another one)",
				   wtl_precision_names[counts->precision], layer->name);
	return wtl_err_set(err, ERANGE, "estimate", layer->name,
			   "its energy is beyond all numbers");
}

/* ---- Totals ---- */

static double total_of(const struct view *view, const struct wtl_network *network,
		       const struct wtl_layer_counts counts[], const bool runs[])
{
	double total = 0;

	for (size_t i = 0; i < network->n; i++) {
		if (!runs[i])
			continue;
		struct joules joules = price_layer(view, &counts[i]);
		total += joules.compute + joules.memory;
	}
	return total;
}

/* Whether the other SRAM models bound the first one: the device must have their prices. */
static bool bounds_sram(const struct view *view)
{
	return view->choice->sram == WTL_SRAM_HOROWITZ && view->choice->memory != WTL_MEMORY_NONE &&
	       view->device->is_digital &&
	       wtl_device_constant(view->device, WTL_CONSTANT_SRAM_ACCESS, WTL_PRECISION_UNKNOWN) &&
	       wtl_device_constant(view->device, WTL_CONSTANT_SRAM_BIT, WTL_PRECISION_UNKNOWN);
}

static void add_bounds(struct wtl_energy *energy, double low, double nominal, double high)
{
	energy->low += fmin(low, nominal);
	energy->nominal += nominal;
	energy->high += fmax(high, nominal);
}

static int price_layers(const struct wtl_network *network, const struct wtl_price_choice *choice,
			const struct wtl_layer_counts counts[], struct wtl_price *price,
			struct wtl_err *err)
{
	struct view low, nominal, high;

	view_init(&low, choice, LOW);
	view_init(&nominal, choice, NOMINAL);
	view_init(&high, choice, HIGH);
	if (bounds_sram(&nominal)) {
		low.sram = WTL_SRAM_PACKED64;
		high.sram = WTL_SRAM_LEMAIRE;
	}
	for (size_t i = 0; i < network->n; i++) {
		const struct wtl_layer *layer = &network->layers[i];
		struct wtl_layer_price *to = &price->layers[i];
		struct joules at[] = {price_layer(&low, &counts[i]),
				      price_layer(&nominal, &counts[i]),
				      price_layer(&high, &counts[i])};
		int rc = check_price(&at[1], &counts[i], layer, choice->device, err);
		if (rc < 0)
			return rc;
		add_bounds(&to->compute, at[0].compute, at[1].compute, at[2].compute);
		add_bounds(&to->memory, at[0].memory, at[1].memory, at[2].memory);
		to->macs = counts[i].macs;
		to->acs = counts[i].acs;
		to->synops = counts[i].synops;
		to->updates = choice->is_spiking ? counts[i].updates : 0;
		to->spikes = counts[i].spikes;
	}
	return 0;
}

static double at_bound(const struct wtl_energy *energy, enum bound bound)
{
	return bound == LOW ? energy->low : bound == HIGH ? energy->high : energy->nominal;
}

static void add_at(struct wtl_energy *to, const struct wtl_energy *energy, enum bound bound)
{
	*(bound == LOW	  ? &to->low
	  : bound == HIGH ? &to->high
			  : &to->nominal) += at_bound(energy, bound);
}

/* Sums layers, with the side of each If that takes more; for the lower bound, less. runs: those of the nominal sum. */
static int sum_layers(const struct wtl_network *network, struct wtl_price *price, bool runs[])
{
	static const enum bound bounds[] = {LOW, HIGH, NOMINAL};
	double *weights = calloc(network->n + 1, sizeof(*weights));
	int rc = weights ? 0 : -ENOMEM;

	for (size_t k = 0; rc == 0 && k < sizeof(bounds) / sizeof(*bounds); k++) {
		for (size_t i = 0; i < network->n; i++)
			weights[i] = at_bound(&price->layers[i].compute, bounds[k]) +
				     at_bound(&price->layers[i].memory, bounds[k]);
		rc = wtl_network_choose(network, weights, bounds[k] != LOW, runs);
		for (size_t i = 0; rc == 0 && i < network->n; i++) {
			if (!runs[i])
				continue;
			add_at(&price->compute, &price->layers[i].compute, bounds[k]);
			add_at(&price->memory, &price->layers[i].memory, bounds[k]);
		}
	}
	for (size_t i = 0; rc == 0 && i < network->n; i++) {
		if (!runs[i])
			continue;
		price->synops += price->layers[i].synops;
		price->updates += price->layers[i].updates;
		price->spikes += price->layers[i].spikes;
	}
	price->total = (struct wtl_energy){price->compute.low + price->memory.low,
					   price->compute.nominal + price->memory.nominal,
					   price->compute.high + price->memory.high};
	free(weights);
	return rc;
}

static int by_width(const void *a, const void *b)
{
	const struct wtl_swing *x = a, *y = b;
	double p = x->high - x->low, q = y->high - y->low;

	return p < q ? 1 : p > q ? -1 : 0;
}

static void add_swing(struct wtl_price *price, const struct wtl_constant *constant, double low,
		      double high)
{
	if (high > low)
		price->swings[price->n_swings++] = (struct wtl_swing){constant, low, high};
}

/* How far each constant moves the total, with all others nominal. */
static void find_swings(const struct wtl_network *network, const struct wtl_price_choice *choice,
			const struct wtl_layer_counts counts[], const bool runs[],
			struct wtl_price *price)
{
	struct view view;

	view_init(&view, choice, NOMINAL);
	for (size_t i = 0; i < choice->device->n; i++) {
		const struct wtl_constant *constant = &choice->device->constants[i];
		if (!(constant->high > constant->low))
			continue;
		view.value[i] = constant->low;
		double low = total_of(&view, network, counts, runs);
		view.value[i] = constant->high;
		add_swing(price, constant, low, total_of(&view, network, counts, runs));
		view.value[i] = constant->nominal;
	}
	if (bounds_sram(&view)) {
		view.sram = WTL_SRAM_PACKED64;
		double low = total_of(&view, network, counts, runs);
		view.sram = WTL_SRAM_LEMAIRE;
		add_swing(price, NULL, fmin(low, price->total.nominal),
			  fmax(total_of(&view, network, counts, runs), price->total.nominal));
	}
	qsort(price->swings, price->n_swings, sizeof(*price->swings), by_width);
}

/* ---- Assumptions ---- */

static void assume_memory(const struct wtl_price_choice *choice, struct wtl_buf *to)
{
	static const char *const places[] = {
		"weights lie in memory on the chip, each layer's in its own",
		"weights are fetched from DRAM once an inference, then lie on the chip",
		"weights are fetched from DRAM for each use",
		"memory is not priced",
	};
	static const char *const models[] = {
		"memory on the chip: by its size, words packed, at least as from 8 KiB, above 1 MiB "
		"in banks; its bounds are the models packed64 and lemaire-2022 where the device has "
		"them",
		"memory on the chip: linear in its bits (Lemaire 2022)",
		"memory on the chip: as from 8 KiB, whatever its size, words packed",
	};

	if (!choice->device->is_digital) {
		wtl_buf_puts(to, "memory: in the device's prices, or not priced\n");
		return;
	}
	wtl_buf_printf(to, "memory: %s\n", places[choice->memory]);
	if (choice->memory != WTL_MEMORY_NONE)
		wtl_buf_printf(to, "%s\n", models[choice->sram]);
}

static void assume_spiking(const struct wtl_network *network, const struct wtl_price_choice *choice,
			   struct wtl_buf *to)
{
	size_t n_layers = 0, n_analog = 0;

	wtl_buf_puts(to, "spiking: ");
	if (!choice->is_one_of_several)
		wtl_buf_printf(to, "%.0f time steps an inference; ",
			       wtl_price_steps(network, choice));
	wtl_buf_puts(to, "rates are spikes per neuron and step");
	if (!choice->is_one_of_several && !isnan(choice->rate))
		wtl_buf_printf(to, ", %g everywhere", choice->rate);
	wtl_buf_printf(to, "\nneurons that do not tell: %s\n",
		       wtl_neuron_cost(choice->neuron ? choice->neuron : WTL_NEURON_LIF)->name);
	wtl_buf_printf(to, "an input of numbers is multiplied %s\n",
		       choice->input_is_constant ? "once: it is constant" : "in each step");
	for (size_t i = 0; i < network->n; i++) {
		n_layers += network->layers[i].macs > 0;
		n_analog += network->layers[i].macs > 0 && network->layers[i].input_analog;
	}
	wtl_buf_printf(to, "%zu of %zu layers with MACs get numbers, not spikes%s\n", n_analog,
		       n_layers,
		       n_analog > 1 ? ": inputs, what an LSTM or the like makes, "
				      "and sums with these; a rates file can say otherwise"
				    : "");
	wtl_buf_printf(
		to,
		"a spike reaches all synapses of a convolution, also at its border: an upper "
		"bound\nactivations and normalization are in the neurons; pools, sums and what "
		"else has no MACs: %s\n",
		choice->device->is_digital ? "as often as spikes come in" : "not priced");
	if (has_synop(choice->device) && !choice->device->is_all_in)
		wtl_buf_printf(to,
			       "a spike goes %u tile%s far; a MAC of an input of numbers costs a "
			       "synaptic operation\n",
			       choice->hops ? choice->hops : 1, choice->hops > 1 ? "s" : "");
}

static void assume(const struct wtl_network *network, const struct wtl_price_choice *choice,
		   struct wtl_buf *to)
{
	const struct wtl_device *device = choice->device;

	wtl_buf_printf(to, "device %s: %s; prices are %s, grade %s; %s\n", device->name,
		       device->title[0] ? device->title : "no title",
		       device->is_all_in ? "all-in" : "per term", wtl_grade_name(device->grade),
		       device->source);
	if (device->note[0])
		wtl_buf_printf(to, "%s\n", device->note);
	wtl_buf_printf(to, "numbers: %s\n",
		       choice->precision ? wtl_precision_names[choice->precision]
					 : "as in the network, fp32 where it does not tell");
	assume_memory(choice, to);
	if (choice->rules == WTL_RULES_LEMAIRE)
		wtl_buf_puts(to,
			     "counted by the rules of Lemaire et al. 2022: operations of int32, "
			     "addresses, queues of events, no weight is kept for a second MAC\n");
	if (choice->is_spiking)
		assume_spiking(network, choice, to);
	else
		wtl_buf_printf(to, "a weight is read once for %u MAC%s (--reuse)\n",
			       choice->reuse ? choice->reuse : 1, choice->reuse > 1 ? "s" : "");
	if (choice->activation_bits)
		wtl_buf_printf(to,
			       "activations have %u bits; a multiplication costs in proportion\n",
			       choice->activation_bits);
	if (network->n_branches > 0)
		wtl_buf_puts(to, "of each If one side runs: the one that takes more, and for the "
				 "lowest total the one that takes less\n");
	wtl_buf_puts(to,
		     "not priced: leakage and idle power, clocks, the host, reading the input\n");
}

/* ---- Pricing ---- */

static int count_all(const struct wtl_network *network, const struct wtl_price_choice *choice,
		     struct wtl_layer_counts **ret, struct wtl_err *err)
{
	struct wtl_layer_counts *counts = calloc(network->n + 1, sizeof(*counts));
	int rc = counts ? 0 : wtl_err_set(err, ENOMEM, "estimate", NULL, "no memory");

	for (size_t i = 0; rc == 0 && i < network->n; i++)
		rc = wtl_layer_count(network, &network->layers[i], choice, &counts[i], err);
	if (rc < 0)
		free(counts);
	else
		*ret = counts;
	return rc;
}

int wtl_price_network(const struct wtl_network *network, const struct wtl_price_choice *choice,
		      struct wtl_price *ret, struct wtl_err *err)
{
	struct wtl_layer_counts *counts = NULL;
	struct wtl_price price = {.n = network->n,
				  .prices_memory = choice->device->is_digital &&
						   choice->memory != WTL_MEMORY_NONE};
	int rc = check_choice(network, choice, err);

	if (rc == 0)
		rc = count_all(network, choice, &counts, err);
	if (rc < 0)
		return rc;
	wtl_buf_init(&price.assumptions, ASSUMPTIONS_MAX);
	price.layers = calloc(network->n + 1, sizeof(*price.layers));
	bool *runs = calloc(network->n + 1, sizeof(*runs));
	rc = price.layers && runs ? price_layers(network, choice, counts, &price, err) : -ENOMEM;
	if (rc == 0)
		rc = sum_layers(network, &price, runs);
	if (rc == 0) {
		find_swings(network, choice, counts, runs, &price);
		assume(network, choice, &price.assumptions);
		rc = price.assumptions.error;
	}
	if (rc == -ENOMEM)
		wtl_err_set(err, ENOMEM, "estimate", NULL, "no memory");
	if (rc == 0)
		*ret = price;
	else
		wtl_price_done(&price);
	free(runs);
	free(counts);
	return rc;
}

void wtl_price_done(struct wtl_price *price)
{
	free(price->layers);
	wtl_buf_done(&price->assumptions);
	*price = (struct wtl_price){0};
}

/* ---- Break-even ---- */

unsigned int wtl_price_bits_of_steps(unsigned int steps)
{
	unsigned int bits = 0;

	while (bits < 32 && (UINT64_C(1) << bits) < (uint64_t)steps + 1)
		bits++;
	return bits;
}

/* Energy is linear in the rate: the rate at which it equals the ordinary layer's. */
static double meet(double ordinary, double at_0, double at_1)
{
	double rate = (ordinary - at_0) / (at_1 - at_0);

	return at_1 > at_0 && rate > 0 && isfinite(rate) ? rate : (double)NAN;
}

static struct wtl_break_even meet_all(struct joules ordinary, struct joules at_0,
				      struct joules at_1)
{
	return (struct wtl_break_even){meet(ordinary.compute, at_0.compute, at_1.compute),
				       meet(ordinary.compute + ordinary.memory,
					    at_0.compute + at_0.memory,
					    at_1.compute + at_1.memory)};
}

/* Chooses of each If the side on which the ordinary network takes more, and compares both networks on that. */
static int choose_sides(const struct wtl_network *network, const struct view *view,
			const struct wtl_layer_counts counts[], bool **ret, struct wtl_err *err)
{
	double *weights = calloc(network->n + 1, sizeof(*weights));
	int rc = -ENOMEM;

	*ret = calloc(network->n + 1, sizeof(**ret));
	for (size_t i = 0; weights && i < network->n; i++) {
		struct joules joules = price_layer(view, &counts[i]);
		weights[i] = joules.compute + joules.memory;
	}
	if (weights && *ret)
		rc = wtl_network_choose(network, weights, true, *ret);
	free(weights);
	return rc < 0 ? wtl_err_set(err, ENOMEM, "estimate", NULL, "no memory") : 0;
}

int wtl_price_break_even(const struct wtl_network *network, const struct wtl_price_choice *ann,
			 const struct wtl_price_choice *snn, struct wtl_break_even layers[],
			 struct wtl_break_even *ret_network, struct wtl_err *err)
{
	struct wtl_price_choice choices[] = {*ann, *snn, *snn};
	struct wtl_layer_counts *counts[3] = {NULL};
	struct joules sum[3] = {{0}};
	struct view view[3];
	bool *runs = NULL;
	int rc = 0;

	choices[0].is_spiking = false;
	choices[1].rate = 0;
	choices[2].rate = 1;
	choices[1].is_spiking = choices[2].is_spiking = true;
	for (int k = 0; k < 3 && rc == 0; k++) {
		rc = check_choice(network, &choices[k], err);
		view_init(&view[k], &choices[k], NOMINAL);
		if (rc == 0)
			rc = count_all(network, &choices[k], &counts[k], err);
	}
	if (rc == 0)
		rc = choose_sides(network, &view[0], counts[0], &runs, err);
	for (size_t i = 0; rc == 0 && i < network->n; i++) {
		const struct wtl_layer *layer = &network->layers[i];
		struct joules at[3];
		for (int k = 0; k < 3; k++) {
			at[k] = price_layer(&view[k], &counts[k][i]);
			sum[k].compute += runs[i] ? at[k].compute : 0;
			sum[k].memory += runs[i] ? at[k].memory : 0;
		}
		layers[i] = layer->input_analog ? (struct wtl_break_even){(double)NAN, (double)NAN}
						: meet_all(at[0], at[1], at[2]);
	}
	if (rc == 0)
		*ret_network = meet_all(sum[0], sum[1], sum[2]);
	for (int k = 0; k < 3; k++)
		free(counts[k]);
	free(runs);
	return rc;
}
