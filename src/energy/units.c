/* SPDX-License-Identifier: MIT */
#include "energy/units.h"

#include <math.h>

typedef unsigned __int128 u128;

static uint64_t clamp64(u128 value)
{
	return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

/* Is x a whole number but for rounding, and small enough to be one exactly? */
static bool is_whole(double x, uint64_t *ret_whole)
{
	double nearest = nearbyint(x);

	if (nearest < 1.0 || nearest > 0x1p52 || fabs(x - nearest) > nearest * 1e-12)
		return false;
	*ret_whole = (uint64_t)nearest;
	return true;
}

bool wtl_unit_from_scale(double joules_per_count, struct wtl_unit *ret_unit)
{
	struct wtl_unit unit = {.num = 1, .den = 1};
	double micro = joules_per_count * 1e6;

	if (!(joules_per_count > 0.0) || joules_per_count > 1000.0)
		return false;
	if (is_whole(micro, &unit.num)) {
		*ret_unit = unit;
		return true;
	}
	/* 2^-k J: the num is 1e6 and the den 2^k; common factors are left in, they do no harm. */
	if (is_whole(1.0 / joules_per_count, &unit.den) && (unit.den & (unit.den - 1)) == 0) {
		unit.num = 1000000;
		*ret_unit = unit;
		return true;
	}
	/* Any other decimal, as a 40-bit numerator over a power of two. */
	unit.den = 1;
	while (micro < 0x1p39 && unit.den < (UINT64_C(1) << 62)) {
		micro *= 2.0;
		unit.den *= 2;
	}
	if (micro < 0x1p39 && micro != nearbyint(micro))
		return false; /* the unit is too small to be given within 1e-12 */
	unit.num = (uint64_t)nearbyint(micro);
	*ret_unit = unit;
	return true;
}

uint64_t wtl_unit_convert(struct wtl_unit unit, uint64_t counts)
{
	return clamp64((u128)counts * unit.num / unit.den);
}

uint64_t wtl_unit_counts(struct wtl_unit unit, uint64_t micro)
{
	return clamp64((u128)micro * unit.den / unit.num);
}

uint64_t wtl_power_uw(uint64_t energy_uj, int64_t dt_ns)
{
	if (dt_ns <= 0)
		return 0;
	return clamp64(((u128)energy_uj * (u128)WTL_NS_PER_S + (u128)dt_ns / 2) / (u128)dt_ns);
}

uint64_t wtl_energy_uj(uint64_t power_uw, int64_t dt_ns)
{
	if (dt_ns <= 0)
		return 0;
	return clamp64(((u128)power_uw * (u128)dt_ns + (u128)WTL_NS_PER_S / 2) /
		       (u128)WTL_NS_PER_S);
}

uint64_t wtl_add_sat(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}
