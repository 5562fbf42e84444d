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

/* By Welford's method; values need not be finite, but then neither is the result. */
void wtl_statistics_of(const double values[], size_t n, struct wtl_statistics *ret_statistics);

/* The two-sided 95 % quantile of Student's t with df >= 1 degrees of freedom, within 0.001. */
double wtl_statistics_t95(size_t df);

#endif
