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
 * The energy of an inference on a device, as counts times prices: an estimate, never a measurement. docs/estimate.md
 * has the formulas. Energies are joules as doubles: they are known to some per cent at best.
 */

/* Where weights are stored. */
enum wtl_memory_place {
	WTL_MEMORY_LOCAL,	 /* all on the chip */
	WTL_MEMORY_DRAM_ONCE,	 /* fetched from DRAM once per inference, then on the chip */
	WTL_MEMORY_DRAM_PER_USE, /* fetched from DRAM for each use */
	WTL_MEMORY_NONE,	 /* memory is not priced, as in many papers */
};

/* The energy of an access to memory on the chip. */
enum wtl_sram_model {
	WTL_SRAM_HOROWITZ, /* by the memory's size, words packed; the other two bound it */
	WTL_SRAM_LEMAIRE,  /* linear in the memory's bits, an access per element */
	WTL_SRAM_PACKED64, /* that of the smallest memory, whatever the size */
};

/* Counting rules. */
enum wtl_price_rules {
	WTL_RULES_OWN,	   /* docs/estimate-energy.md */
	WTL_RULES_LEMAIRE, /* Lemaire et al. 2022: counts addresses; registers keep nothing */
};

extern const char *const wtl_memory_places[], *const wtl_sram_models[],
						      *const wtl_price_rules[]; /* ended by NULL */

struct wtl_price_choice {
	const struct wtl_device *device;
	bool is_spiking;
	enum wtl_memory_place memory;
	enum wtl_sram_model sram;
	enum wtl_price_rules rules;
	enum wtl_precision precision; /* of all numbers; UNKNOWN: as in the network */
	unsigned int reuse;	      /* MACs of an ordinary network per weight read; 0: 1 */
	/* Spiking networks: */
	unsigned int steps; /* 0: the network's, or 1 */
	double rate;	    /* spikes per neuron and step in all layers; NAN: the network's own */
	enum wtl_neuron neuron; /* of layers without one; NONE: LIF */
	unsigned int hops;	/* tiles that a spike travels; 0: 1 */
	bool input_is_constant; /* MACs on an input of numbers are done once, not in each step */
	bool is_one_of_several; /* steps and rate are shown beside the price, not as assumptions */
	/* Ordinary networks: bits of activations, if fewer than the precision's; else 0. */
	unsigned int activation_bits;
};

struct wtl_energy {
	double low, nominal, high; /* joules */
};

struct wtl_layer_price {
	struct wtl_energy compute, memory;
	double macs,
		acs; /* in all steps; a synaptic operation is an AC, a neuron's update may be both */
	double synops, updates, spikes;
};

/* How one constant's bounds change the total. */
struct wtl_swing {
	const struct wtl_constant *constant; /* NULL: the model of SRAM */
	double low, high;		     /* total in joules at its bounds */
};

struct wtl_price {
	struct wtl_layer_price *layers; /* one per layer of the network */
	size_t n;
	struct wtl_energy compute, memory, total;
	double synops, updates, spikes; /* per inference */
	bool prices_memory;		/* false: it is in the device's prices, or not priced */
	struct wtl_swing swings[WTL_CONSTANTS_MAX + 1]; /* widest first */
	size_t n_swings;
	struct wtl_buf assumptions; /* one per line */
};

/*
 * -WTL_EABSENT, with the reason: the device lacks a price that is needed (an incomplete total would mislead). After
 * success, call wtl_price_done() for *ret.
 */
int wtl_price_network(const struct wtl_network *network, const struct wtl_price_choice *choice,
		      struct wtl_price *ret, struct wtl_err *err);
void wtl_price_done(struct wtl_price *price);

/* Spikes per neuron and step at which a spiking layer takes as much energy as the ordinary one. */
struct wtl_break_even {
	double compute, with_memory; /* NAN: none above 0, or the input is not spikes */
};

/*
 * Break-even of each layer, and of the whole network (with the same rate everywhere). `ann` prices the ordinary
 * network, `snn` the spiking one. Fails like wtl_price_network().
 */
int wtl_price_break_even(const struct wtl_network *network, const struct wtl_price_choice *ann,
			 const struct wtl_price_choice *snn, struct wtl_break_even layers[],
			 struct wtl_break_even *ret_network, struct wtl_err *err);

/* Time steps of an inference. */
double wtl_price_steps(const struct wtl_network *network, const struct wtl_price_choice *choice);
/* Bits of activations with as much information as spikes in that many steps: ceil(log2(steps + 1)). */
unsigned int wtl_price_bits_of_steps(unsigned int steps);

/* A neuron's cost per time step: MACs, ACs, ACs per spike it sends, and states that are kept. */
struct wtl_neuron_cost {
	const char *name;
	unsigned int macs, acs, acs_of_spike, states;
};
const struct wtl_neuron_cost *wtl_neuron_cost(enum wtl_neuron neuron);
/* By name ("lif"); false: there is none. */
bool wtl_neuron_find(const char *name, enum wtl_neuron *ret);

/* ---- One access (sram.c) ---- */

/* Joules to read `bits` of a memory of `bytes`. value[i] is that of the device's i-th constant. NAN: no such price. */
double wtl_sram_price(const struct wtl_device *device, const double value[],
		      enum wtl_sram_model model, double bytes, double bits);
double wtl_dram_price(const struct wtl_device *device, const double value[], double bits);

#endif
