/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_CPU_TDP_H
#define WTL_SENSORS_CPU_TDP_H

#include <stddef.h>
#include <stdint.h>

/* Longer names have no key and match nothing. */
#define WTL_CPU_TDP_NAME_MAX 128

/*
 * The key of a processor name: what /proc/cpuinfo and the vendors' pages write differently for the
 * same processor is taken out, by the rules in data/README.md ("Processor names"), which
 * tools/mkdata.py applies to the table too. Writes at most WTL_CPU_TDP_NAME_MAX bytes with the NUL
 * and returns the length, 0 when nothing is left.
 */
size_t wtl_cpu_tdp_key(const char *model_name, char key[WTL_CPU_TDP_NAME_MAX]);

/*
 * The thermal design power of one socket holding the processor that /proc/cpuinfo calls
 * `model_name`, in milliwatts, from data/cpu_tdp.csv (CodeCarbon 3.2.9). It is the vendor's figure
 * for sustained load at base clock, not a limit and not a measurement. Only a whole key matches; a
 * similar processor never stands in. *ret_matched (may be NULL) is the key that matched, static.
 * Returns 0, -EINVAL for a NULL name, -ENOENT when the table has no such processor.
 */
int wtl_cpu_tdp_find(const char *model_name, uint32_t *ret_tdp_mw, const char **ret_matched);

#endif
