/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "neural/price.h"

/* Finds the largest memory of at most that size, and the smallest above it; -1: there is none. */
static void around(const struct wtl_device *device, double bytes, int *ret_below, int *ret_above)
{
	int below = -1, above = -1;

	for (size_t i = 0; i < device->n; i++) {
		const struct wtl_constant *c = &device->constants[i];
		if (c->kind != WTL_CONSTANT_SRAM)
			continue;
		double size = (double)c->capacity;
		if (size <= bytes &&
		    (below < 0 || size > (double)device->constants[below].capacity))
			below = (int)i;
		if (size > bytes && (above < 0 || size < (double)device->constants[above].capacity))
			above = (int)i;
	}
	*ret_below = below;
	*ret_above = above;
}

static double per_bit(const struct wtl_device *device, const double value[], int i)
{
	return value[i] / device->constants[i].bits;
}

/*
 * The price per bit by size, interpolated between two memories on logarithmic scales. Below the smallest memory its
 * price holds; a memory above the largest is made of banks of that size. Nothing is extrapolated.
 */
static double by_size(const struct wtl_device *device, const double value[], double bytes)
{
	int below, above;

	around(device, bytes, &below, &above);
	if (below < 0 && above < 0)
		return (double)NAN;
	if (below < 0 || above < 0)
		return per_bit(device, value, below < 0 ? above : below);
	double low = per_bit(device, value, below), high = per_bit(device, value, above);
	double from = (double)device->constants[below].capacity;
	double to = (double)device->constants[above].capacity;
	double part = log(bytes / from) / log(to / from);
	return low > 0 && high > 0 ? low * pow(high / low, part) : low + (high - low) * part;
}

static double of_kind(const struct wtl_device *device, const double value[],
		      enum wtl_constant_kind kind)
{
	for (size_t i = 0; i < device->n; i++)
		if (device->constants[i].kind == kind)
			return value[i];
	return (double)NAN;
}

double wtl_sram_price(const struct wtl_device *device, const double value[],
		      enum wtl_sram_model model, double bytes, double bits)
{
	if (model == WTL_SRAM_LEMAIRE)
		return of_kind(device, value, WTL_CONSTANT_SRAM_ACCESS) +
		       of_kind(device, value, WTL_CONSTANT_SRAM_BIT) * bytes * 8;
	return bits * by_size(device, value, model == WTL_SRAM_PACKED64 ? 0 : bytes);
}

double wtl_dram_price(const struct wtl_device *device, const double value[], double bits)
{
	for (size_t i = 0; i < device->n; i++)
		if (device->constants[i].kind == WTL_CONSTANT_DRAM)
			return value[i] / device->constants[i].bits * bits;
	return (double)NAN;
}
