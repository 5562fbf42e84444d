/* SPDX-License-Identifier: MIT */
#include "energy/budget.h"

#include <math.h>

double wtl_budget_combined_uj(const struct wtl_budget *budget)
{
	double sum = 0.0;
	const double terms[] = {budget->gain_uj,	 budget->offset_uj,
				budget->quantisation_uj, budget->edge_uj,
				budget->sampling_uj,	 budget->integration_uj,
				budget->disagreement_uj};

	for (unsigned i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		sum += terms[i] * terms[i];
	return sqrt(sum);
}

void wtl_budget_add(struct wtl_budget *sum, const struct wtl_budget *part)
{
	sum->gain_uj += part->gain_uj;
	sum->offset_uj += part->offset_uj;
	sum->quantisation_uj = hypot(sum->quantisation_uj, part->quantisation_uj);
	sum->edge_uj = hypot(sum->edge_uj, part->edge_uj);
	sum->sampling_uj = hypot(sum->sampling_uj, part->sampling_uj);
	sum->integration_uj = hypot(sum->integration_uj, part->integration_uj);
	sum->disagreement_uj += part->disagreement_uj;
}

double wtl_budget_quantisation_uj(uint64_t mean_uw, int64_t update_ns)
{
	return (double)mean_uw * (double)update_ns / 1e9 / sqrt(6.0);
}

double wtl_budget_count_uj(const struct wtl_unit *unit)
{
	return (double)unit->num / (double)unit->den / sqrt(6.0);
}

double wtl_budget_edge_uj(uint64_t mean_uw, int64_t begin_half_ns, int64_t end_half_ns)
{
	/* A uniform moment within ±half has a standard deviation of half / sqrt(3). */
	return (double)mean_uw * hypot((double)begin_half_ns, (double)end_half_ns) / 1e9 /
	       sqrt(3.0);
}

double wtl_budget_gain_uj(uint64_t energy_uj, uint32_t gain_ppm)
{
	return (double)energy_uj * (double)gain_ppm / 1e6;
}

double wtl_budget_offset_uj(uint32_t offset_uw, int64_t measured_ns)
{
	return (double)offset_uw * (double)measured_ns / 1e9;
}

double wtl_budget_power_uw(uint64_t power_uw, uint64_t energy_uj, uint64_t uncertainty_uj,
			   int64_t measured_ns, uint64_t zero_uw)
{
	double zero_uj = (double)zero_uw * (double)measured_ns / 1e9;
	double rest_uj = sqrt(
		fmax(0.0, ((double)uncertainty_uj - zero_uj) * ((double)uncertainty_uj + zero_uj)));

	return energy_uj ? hypot(rest_uj / (double)energy_uj * (double)power_uw, (double)zero_uw)
			 : 0.0;
}
