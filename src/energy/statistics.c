/* SPDX-License-Identifier: MIT */
#include "energy/statistics.h"

#include <math.h>

/* 0.975 quantiles of Student's t by degrees of freedom. Source: any statistical table; these are
 * computed to six digits. */
static const double few[] = {
	12.706205, 4.302653, 3.182446, 2.776445, 2.570582,
	2.446912,  2.364624, 2.306004, 2.262157, 2.228139,
};

double wtl_statistics_t95(size_t df)
{
	/* The normal quantile, and Abramowitz and Stegun 26.7.5: the expansion in 1/df. Its error is
	 * below 1e-5 past the table. */
	const double z = 1.959963984540054;
	const double z2 = z * z;
	double n = (double)df;
	double g1, g2, g3, g4;

	if (df == 0)
		return HUGE_VAL;
	if (df <= sizeof(few) / sizeof(few[0]))
		return few[df - 1];
	g1 = z * (z2 + 1) / 4;
	g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
	g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
	g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) / 92160;
	return z + (g1 + (g2 + (g3 + g4 / n) / n) / n) / n;
}

void wtl_tally_add(struct wtl_tally *tally, double value)
{
	double step = value - tally->mean;

	tally->mean += step / (double)(tally->n + 1);
	tally->squares += step * (value - tally->mean);
	/* A NaN, once in, compares false with everything and stays. */
	if (tally->n == 0 || value < tally->min || isnan(value))
		tally->min = value;
	if (tally->n == 0 || value > tally->max || isnan(value))
		tally->max = value;
	tally->n++;
}

void wtl_tally_statistics(const struct wtl_tally *tally, struct wtl_statistics *ret_statistics)
{
	struct wtl_statistics result = {
		.n = tally->n, .mean = tally->mean, .min = tally->min, .max = tally->max};

	if (tally->n >= 2) {
		result.sd = sqrt(tally->squares / (double)(tally->n - 1));
		result.ci95 = wtl_statistics_t95(tally->n - 1) * result.sd / sqrt((double)tally->n);
	}
	*ret_statistics = result;
}

void wtl_statistics_of(const double values[], size_t n, struct wtl_statistics *ret_statistics)
{
	struct wtl_tally tally = {0};

	for (size_t i = 0; i < n; i++)
		wtl_tally_add(&tally, values[i]);
	wtl_tally_statistics(&tally, ret_statistics);
}

void wtl_ratio_of(const struct wtl_tally *logs, double of_all, struct wtl_ratio *ret_ratio)
{
	struct wtl_ratio ratio = {.n = logs->n, .of_all = 2.0 * of_all};
	struct wtl_statistics of;
	double half;

	wtl_tally_statistics(logs, &of);
	if (!isfinite(of.mean) || !isfinite(of.ci95) || !isfinite(of_all))
		ratio.n = 0;
	if (ratio.n > 0) {
		ratio.of_pairs = of.ci95;
		half = hypot(ratio.of_pairs, ratio.of_all);
		ratio.value = exp(of.mean);
		ratio.low = exp(of.mean - half);
		ratio.high = exp(of.mean + half);
	}
	*ret_ratio = ratio;
}

bool wtl_ratio_is_significant(const struct wtl_ratio *ratio)
{
	return ratio->n >= 2 && (ratio->low > 1.0 || ratio->high < 1.0);
}
