/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_STATISTICS_H
#define WTL_ENERGY_STATISTICS_H

#include <stddef.h>

/* Of n repeated measurements. */
struct wtl_statistics {
	size_t n;
	double mean;
	double sd;   /* sample standard deviation (n - 1); 0 for n < 2 */
	double ci95; /* half-width of the 95 % confidence interval of the mean, Student's t with n - 1
			degrees of freedom; 0 for n < 2 */
	double min, max;
};

/* Values that come one by one; a zeroed one has had none. By Welford's method; values need not be
 * finite, but then neither is the result. */
struct wtl_tally {
	size_t n;
	double mean, squares; /* squares: of the deviations from the mean, together */
	double min, max;
};

void wtl_tally_add(struct wtl_tally *tally, double value);
void wtl_tally_statistics(const struct wtl_tally *tally, struct wtl_statistics *ret_statistics);

/* The same of values that are all there. */
void wtl_statistics_of(const double values[], size_t n, struct wtl_statistics *ret_statistics);

/* The two-sided 95 % quantile of Student's t with df >= 1 degrees of freedom, within 0.001. */
double wtl_statistics_t95(size_t df);

#endif
