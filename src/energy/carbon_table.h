/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_CARBON_TABLE_H
#define WTL_ENERGY_CARBON_TABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The CSV files data/carbon_*.csv as made by tools/mkdata.py: rows in byte order of their codes.
 * Characters in the rows, not pointers to them: the tables need no relocation at start-up.
 */
struct wtl_carbon_row {
	char code[28];
	char place[40];
	uint32_t intensity_mg_per_kwh;
	uint16_t year;
};

extern const struct wtl_carbon_row wtl_carbon_world[];
extern const size_t wtl_carbon_world_count;
extern const struct wtl_carbon_row wtl_carbon_countries[];
extern const size_t wtl_carbon_countries_count;
extern const struct wtl_carbon_row wtl_carbon_gcp_regions[];
extern const size_t wtl_carbon_gcp_regions_count;

#endif
