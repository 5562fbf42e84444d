/* SPDX-License-Identifier: MIT */
#ifndef WTL_SENSORS_MODEL_CURVE_H
#define WTL_SENSORS_MODEL_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The power of a machine without sensors, from how busy it is. energy/model.h has the constants. */

/*
 * A CPU with thermal design power P at utilisation u draws about P × (idle + (1 - idle) √u).
 *
 * Concave, because real ones are: the first busy core takes the whole package out of its sleep.
 * Measured (ICPE 2024 data, facts/rapl-and-processes.md 2), one busy CPU against none:
 *	2 × E5-2650 v4 (2 × 105 W), 48 CPUs: 27.7 → 63.5 W	the curve: 42.0 → 66.2 W
 *	2 × Gold 6338 (2 × 205 W), 128 CPUs: 143.9 → 181.75 W	the curve: 82.0 → 111.0 W
 * A curve that begins with the cube of u, as in CodeCarbon, gives 10 % of P for all four. Nothing
 * without a sensor can know the idle power: it was 13 % of P in one machine and 35 % in the other.
 *
 * busy_ns is CPU time used by n_cpus CPUs during wall_ns; more than there was counts as all of it.
 * The result is in µJ, rounded down; saturates.
 */
uint64_t wtl_model_cpu_uj(uint64_t tdp_mw, uint64_t busy_ns, int64_t wall_ns, unsigned n_cpus);

/* That at no use. */
uint64_t wtl_model_cpu_idle_uw(uint64_t tdp_mw);

/*
 * DRAM power of a machine, in mW: the number of DIMMs that its memory size suggests, the 5th to 8th
 * counted 90 %, up to the 16th 80 %, all others 70 % (CodeCarbon 3, facts/carbon-and-ml.md 3.2,
 * without its floor). In a virtual machine: by size.
 */
uint64_t wtl_model_dram_mw(uint64_t memory_bytes, bool is_vm, bool is_arm);

/* How many DIMMs, as above. */
unsigned wtl_model_dimms(uint64_t memory_bytes);

/* Integer square root, rounded down. */
uint64_t wtl_model_sqrt(uint64_t value);

/*
 * The idle time of all CPUs together since the machine started, idle + iowait, from the beginning of
 * /proc/stat. 0, or -EINVAL unless the text holds the complete "cpu" line.
 */
int wtl_model_parse_stat(const char *text, size_t len, int64_t *ret_idle_ns);

#endif
