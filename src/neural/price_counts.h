/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_PRICE_COUNTS_H
#define WTL_NEURAL_PRICE_COUNTS_H

#include "neural/price.h"

/* What a layer does in an inference, as far as it is priced. Numbers of operations and accesses, bytes of memories. */
struct wtl_layer_counts {
	enum wtl_precision precision; /* of operations */
	double macs, acs, other_ops;
	double address_macs, address_acs; /* of integers of 32 bits */
	double analog_macs;		  /* of macs: of a spiking layer's input of numbers */
	double synops, updates, spikes;
	double weight_reads, potential_accesses, input_reads, output_writes; /* elements */
	double dram_bits;
	double weight_bits, activation_bits; /* of an element */
	double weight_bytes, potential_bytes, input_bytes, output_bytes;
};

/* Whether it stays as it is in a spiking network. */
bool wtl_layer_stays(const struct wtl_layer *layer);
/* 0, or -WTL_EABSENT where a spike rate is not known. */
int wtl_layer_count(const struct wtl_network *network, const struct wtl_layer *layer,
		    const struct wtl_price_choice *choice, struct wtl_layer_counts *ret,
		    struct wtl_err *err);

/* ---- By the rules of Lemaire et al. 2022 (price_lemaire.c) ---- */

/* Replaces what was counted of a layer as it was by our own rules; rates as there. */
void wtl_lemaire_ordinary(const struct wtl_layer *layer, double runs,
			  const struct wtl_price_choice *choice, struct wtl_layer_counts *counts);
void wtl_lemaire_spiking(const struct wtl_layer *layer, double steps, double rate_in,
			 double rate_out, bool leaks, const struct wtl_price_choice *choice,
			 struct wtl_layer_counts *counts);

#endif
