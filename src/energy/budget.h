/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_BUDGET_H
#define WTL_ENERGY_BUDGET_H

#include <stdint.h>

#include "energy/units.h"

/*
 * The uncertainty of one domain's energy over a window: named standard uncertainties (k = 1) in µJ.
 * Terms and defaults: facts/carbon-and-ml.md 5.5 and docs/uncertainty.md, which says which are
 * judgement.
 */
struct wtl_budget {
	double gain_uj;	  /* the sensor's scale */
	double offset_uj; /* its zero, over the measured time: cancels in what is above idle */
	double quantisation_uj; /* the sensor's update period at both edges */
	double edge_uj;		/* the time that a read itself takes, at both edges */
	double sampling_uj;	/* part-time sensors: what they did not see */
	double integration_uj;	/* lag and interpolation of power samples */
	double disagreement_uj; /* two sources differ by more than they may */
};

/* The terms in quadrature. */
double wtl_budget_combined_uj(const struct wtl_budget *budget);

/*
 * Adds a part to a total. Gains and zeros of one source are taken as fully correlated (two packages
 * share the maker's error) and add linearly, as disagreements do; everything else is independent and adds
 * in quadrature. Make one `sum` per source and combine the sources' sums in quadrature.
 */
void wtl_budget_add(struct wtl_budget *sum, const struct wtl_budget *part);

/*
 * Both edges of a window of a sensor that updates every update_ns, at uniform phase:
 * power × update / sqrt(6) (variance of the difference of two independent uniform phases, 2/12).
 */
double wtl_budget_quantisation_uj(uint64_t mean_uw, int64_t update_ns);

/* The counter's own resolution: one count at both edges, uniform. */
double wtl_budget_count_uj(const struct wtl_unit *unit);

/* A read at each edge that lasted 2 × half_ns and sampled somewhere within. */
double wtl_budget_edge_uj(uint64_t mean_uw, int64_t begin_half_ns, int64_t end_half_ns);

double wtl_budget_gain_uj(uint64_t energy_uj, uint32_t gain_ppm);
double wtl_budget_offset_uj(uint32_t offset_uw, int64_t measured_ns);

/*
 * The uncertainty of another power by the sensor that measured an energy: its zero stays, all else is in
 * proportion. All at one k.
 */
double wtl_budget_power_uw(uint64_t power_uw, uint64_t energy_uj, uint64_t uncertainty_uj,
			   int64_t measured_ns, uint64_t zero_uw);

#endif
