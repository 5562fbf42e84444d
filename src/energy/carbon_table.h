/* SPDX-License-Identifier: MIT */
#ifndef WTL_ENERGY_CARBON_TABLE_H
#define WTL_ENERGY_CARBON_TABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The tables that data/carbon.csv lists, as made by tools/mkdata.py: rows in byte order of their codes in
 * lower case. Characters in the rows, not pointers to them: the tables need no relocation at start-up.
 */
struct wtl_carbon_row {
	char code[36]; /* "FRA", "gcp:europe-west9" */
	char place[40];
	uint32_t intensity_mg_per_kwh;
	uint16_t year;
	uint16_t dataset; /* its place in wtl_carbon_datasets */
	char alias[4];	  /* of a country, its ISO 3166-1 alpha-2 code; else "" */
};

struct wtl_carbon_dataset {
	char name[88];
	uint32_t uncertainty_percent;
};

extern const struct wtl_carbon_row wtl_carbon_rows[];
extern const size_t wtl_carbon_row_count;
extern const struct wtl_carbon_dataset wtl_carbon_datasets[];

#endif
