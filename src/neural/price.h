/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_PRICE_H
#define WTL_NEURAL_PRICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "neural/devices.h"
#include "neural/network.h"

struct wtl_err;

/*
 * What an inference takes on a device, by counts times prices: an estimate, never a measurement. docs/estimate.md has
 * the formulas. Energies are joules as doubles: they are known to some per cent at best.
 */

/* Where weights lie. */
enum wtl_memory_place {
	WTL_MEMORY_LOCAL,	 /* all on the chip */
	WTL_MEMORY_DRAM_ONCE,	 /* fetched from DRAM once an inference, then on the chip */
	WTL_MEMORY_DRAM_PER_USE, /* fetched from DRAM for each use */
	WTL_MEMORY_NONE,	 /* memory is not priced, as in many papers */
};

/* What an access to memory on the chip takes. */
enum wtl_sram_model {
	WTL_SRAM_HOROWITZ, /* by the memory's size, words packed; the other two are its bounds */
	WTL_SRAM_LEMAIRE,  /* linear in the memory's bits, an access for each element */
	WTL_SRAM_PACKED64, /* as from the smallest memory, whatever its size */
};

/* What is counted. */
enum wtl_price_rules {
	WTL_RULES_OWN, /* docs/estimate-energy.md */
	WTL_RULES_LEMAIRE, /* Lemaire et al. 2022: addresses are computed, nothing is kept in registers */
};

extern const char *const wtl_memory_places[], *const wtl_sram_models[],
						      *const wtl_price_rules[]; /* ended by NULL */

struct wtl_price_choice {
	const struct wtl_device *device;
	bool is_spiking;
	enum wtl_memory_place memory;
	enum wtl_sram_model sram;
	enum wtl_price_rules rules;
	enum wtl_precision precision; /* of all numbers; WTL_PRECISION_UNKNOWN: as in the network */
	unsigned int
		reuse; /* MACs of an ordinary network that a weight serves once it is read; 0: 1 */
	/* Of a spiking network: */
	unsigned int steps; /* 0: the network's, or 1 */
	double rate;	    /* spikes per neuron and step, of all layers; NAN: the network's own */
	enum wtl_neuron neuron; /* of layers that do not tell; NONE: LIF */
	unsigned int hops;	/* from tile to tile, of a spike; 0: 1 */
	bool input_is_constant; /* the first layer's MACs are made once, not each step */
	bool is_one_of_several; /* steps and rate are told beside the price, not as assumptions */
	/* Of an ordinary one: bits of its activations, where they are fewer than the precision's; 0: they are not */
	unsigned int activation_bits;
};

struct wtl_energy {
	double low, nominal, high; /* joules */
};

struct wtl_layer_price {
	struct wtl_energy compute, memory;
	double macs,
		acs; /* in all steps; a synaptic operation is an AC, neurons' updates are in both */
	double synops, updates, spikes;
};

/* How the total moves when one constant goes from its low to its high bound. */
struct wtl_swing {
	const struct wtl_constant *constant; /* NULL: the model of SRAM */
	double low, high;		     /* the total then, joules */
};

struct wtl_price {
	struct wtl_layer_price *layers; /* one a layer of the network */
	size_t n;
	struct wtl_energy compute, memory, total;
	double synops, updates, spikes; /* of an inference */
	bool prices_memory; /* false: the device's prices have it in them, or it has none */
	struct wtl_swing swings[WTL_CONSTANTS_MAX + 1]; /* widest first */
	size_t n_swings;
	struct wtl_buf assumptions; /* a line each */
};

/*
 * Fails with -WTL_EABSENT, and the reason, where the device has no price of something that is needed: no total is better
 * than one that lacks a part. *ret is to be given to wtl_price_done() after success.
 */
int wtl_price_network(const struct wtl_network *network, const struct wtl_price_choice *choice,
		      struct wtl_price *ret, struct wtl_err *err);
void wtl_price_done(struct wtl_price *price);

/* Spikes per neuron and step at which a layer takes as much as the ordinary layer does. */
struct wtl_break_even {
	double compute,
		with_memory; /* NAN: there is none above 0, or the layer's input is no spikes */
};

/*
 * Of each layer, and of the network as a whole (then its input and output fire at the same rate everywhere). The
 * ordinary network is priced by `ann`, whose device it shares. Same failures as above.
 */
int wtl_price_break_even(const struct wtl_network *network, const struct wtl_price_choice *ann,
			 const struct wtl_price_choice *snn, struct wtl_break_even layers[],
			 struct wtl_break_even *ret_network, struct wtl_err *err);

/* Time steps of an inference. */
double wtl_price_steps(const struct wtl_network *network, const struct wtl_price_choice *choice);
/* Bits of activations that tell as much as spikes in that many steps: ceil(log2(steps + 1)). */
unsigned int wtl_price_bits_of_steps(unsigned int steps);

/* What a neuron takes in a time step: MACs, ACs, ACs for each of its spikes, and states that are kept. */
struct wtl_neuron_cost {
	const char *name;
	unsigned int macs, acs, acs_of_spike, states;
};
const struct wtl_neuron_cost *wtl_neuron_cost(enum wtl_neuron neuron);
/* By name ("lif"); false: there is no such. */
bool wtl_neuron_find(const char *name, enum wtl_neuron *ret);

/* ---- Of one access (sram.c) ---- */

/* Joules of reading `bits` of a memory of that many bytes. value[i] is the i-th constant's of the device. NAN: it has no such price. */
double wtl_sram_price(const struct wtl_device *device, const double value[],
		      enum wtl_sram_model model, double bytes, double bits);
double wtl_dram_price(const struct wtl_device *device, const double value[], double bits);

#endif
