/* SPDX-License-Identifier: MIT */
#include "energy/difference.h"

#include <math.h>

/* The variance (k = 1) that is the measurement's own. */
static double own_variance(const struct wtl_measured *measured, bool has_common)
{
	double whole = 0.5 * (double)measured->uncertainty;
	double common = has_common ? measured->common : 0.0;

	return fmax(0.0, whole * whole - common * common);
}

void wtl_difference_of(const struct wtl_measured *first, const struct wtl_measured *second,
		       double common, struct wtl_difference *ret_difference)
{
	bool has_common = common >= 0.0;
	double variance = own_variance(first, has_common) + own_variance(second, has_common) +
			  (has_common ? common * common : 0.0);
	struct wtl_difference difference = {.is_negative = second->value < first->value};

	difference.value = difference.is_negative ? first->value - second->value
						  : second->value - first->value;
	difference.uncertainty = (uint64_t)fmin(ceil(2.0 * sqrt(variance)), 1.8e19);
	difference.is_significant = difference.value > difference.uncertainty;
	difference.has_ratio = first->value > 0;
	if (difference.has_ratio)
		difference.ratio = (difference.is_negative ? -1.0 : 1.0) *
				   (double)difference.value / (double)first->value;
	*ret_difference = difference;
}
