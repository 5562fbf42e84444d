/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_PRICE_COUNTS_H
#define WTL_NEURAL_PRICE_COUNTS_H

#include "neural/price.h"

/* What is priced of a layer per inference: numbers of operations and accesses, bytes of memories. */
struct wtl_layer_counts {
	enum wtl_precision precision; /* of the operations */
	double macs, acs, other_ops;
	double address_macs, address_acs; /* on 32-bit integers */
	double analog_macs; /* part of macs: a spiking layer's, on an input of numbers */
	double synops, updates, spikes;
	double weight_reads, potential_accesses, input_reads, output_writes; /* elements */
	double dram_bits;
	double weight_bits, activation_bits; /* per element */
	double weight_bytes, potential_bytes, input_bytes, output_bytes;
};

/* Whether a layer stays ordinary in a spiking network. */
bool wtl_layer_stays(const struct wtl_layer *layer);
/* 0, or -WTL_EABSENT where a spike rate is not known. */
int wtl_layer_count(const struct wtl_network *network, const struct wtl_layer *layer,
		    const struct wtl_price_choice *choice, struct wtl_layer_counts *ret,
		    struct wtl_err *err);

/* ---- By the rules of Lemaire et al. 2022 (price_lemaire.c) ---- */

/* Replace the counts of a layer, which were made by wattle's own rules (docs/estimate-energy.md); rates as there. */
void wtl_lemaire_ordinary(const struct wtl_layer *layer, double runs,
			  const struct wtl_price_choice *choice, struct wtl_layer_counts *counts);
void wtl_lemaire_spiking(const struct wtl_layer *layer, double steps, double rate_in,
			 double rate_out, bool leaks, const struct wtl_price_choice *choice,
			 struct wtl_layer_counts *counts);

#endif
