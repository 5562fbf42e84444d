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

void wtl_statistics_of(const double values[], size_t n, struct wtl_statistics *ret_statistics)
{
	struct wtl_statistics result = {.n = n};
	double squares = 0;

	for (size_t i = 0; i < n; i++) {
		double step = values[i] - result.mean;

		result.mean += step / (double)(i + 1);
		squares += step * (values[i] - result.mean);
		/* A NaN, once in, compares false with everything and stays. */
		if (i == 0 || values[i] < result.min || isnan(values[i]))
			result.min = values[i];
		if (i == 0 || values[i] > result.max || isnan(values[i]))
			result.max = values[i];
	}
	if (n >= 2) {
		result.sd = sqrt(squares / (double)(n - 1));
		result.ci95 = wtl_statistics_t95(n - 1) * result.sd / sqrt((double)n);
	}
	*ret_statistics = result;
}
