/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_DIFFERENCE_H
#define WTL_ENERGY_DIFFERENCE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What two measurements differ by, and how sure that is. A measurement's uncertainty has a part
 * that both have in common where the same sensor of the same machine gave both: its gain and its
 * zero. An error there is in both, in proportion to each: the difference then has the same relative
 * error. All else is independent, and adds in quadrature.
 */
struct wtl_measured {
	uint64_t value;	      /* in millionths of its unit */
	uint64_t uncertainty; /* k = 2 */
	double common;	      /* of the value, standard (k = 1): what comes from gain and zero */
};

struct wtl_difference {
	bool is_negative;     /* the second is less than the first */
	uint64_t value;	      /* |second - first| */
	uint64_t uncertainty; /* k = 2 */
	bool is_significant;  /* it is more than its uncertainty */
	bool has_ratio;	      /* the first is not 0 */
	double ratio;	      /* (second - first) / first, with its sign */
};

/*
 * second - first. common: the standard uncertainty (k = 1) of the difference itself that gain and zero
 * leave; negative: they were not measured by the same sensors, and their uncertainties are
 * independent.
 */
void wtl_difference_of(const struct wtl_measured *first, const struct wtl_measured *second,
		       double common, struct wtl_difference *ret_difference);

#endif
