/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_CPU_TDP_TABLE_H
#define WTL_SENSORS_CPU_TDP_TABLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * data/cpu_tdp.csv as made by tools/mkdata.py: rows in byte order of their keys. A key is a place in
 * wtl_tdp_names rather than a pointer, so that the table needs no relocation at start-up.
 */
struct wtl_tdp_row {
	uint32_t name;
	uint32_t tdp_mw;
};

extern const char wtl_tdp_names[];
extern const struct wtl_tdp_row wtl_tdp_rows[];
extern const size_t wtl_tdp_row_count;

#endif
