/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_STATISTICS_H
#define WTL_ENERGY_STATISTICS_H

#include <stdbool.h>
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

/* What two things that were measured in pairs are to each other. */
struct wtl_ratio {
	size_t n;	  /* pairs; 0: it is not known */
	double value;	  /* the geometric mean of the pairs' ratios */
	double low, high; /* its 95 % interval; where n < 2, nothing is known of it */
	/* Half-widths of the interval of ln(value): by the spread of the pairs (Student's t), and k = 2 of
	 * what all pairs err by alike. They combine in quadrature. */
	double of_pairs, of_all;
};

/* logs: of the natural logarithm of each pair's ratio. of_all: standard (k = 1). Without pairs, or
 * where a ratio is not finite, it is not known. */
void wtl_ratio_of(const struct wtl_tally *logs, double of_all, struct wtl_ratio *ret_ratio);
/* Does the interval leave out 1? */
bool wtl_ratio_is_significant(const struct wtl_ratio *ratio);

/* The two-sided 95 % quantile of Student's t with df >= 1 degrees of freedom, within 0.001. */
double wtl_statistics_t95(size_t df);

#endif
