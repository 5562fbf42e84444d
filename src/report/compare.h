/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPORT_COMPARE_H
#define WTL_REPORT_COMPARE_H

#include "document/compare.h"

struct wattle_meter;

/* Which energy to compare: the commands' own if possible, only that, or the machine's. */
enum wtl_compare_by { WTL_COMPARE_BEST, WTL_COMPARE_DYNAMIC, WTL_COMPARE_MACHINE };

/*
 * Compares the commands' series: which energy is compared, the statistics, the order and
 * the ratios. The reports with the same index in two series are a pair. To be set before:
 * n and until, and the commands' lines, names, and reports. domain_j and order are the
 * caller's: one a domain for each command, and one a command. meter measured all of them.
 */
void wtl_compare_find(struct wtl_compare *compare, struct wtl_compared_command commands[],
		      const struct wattle_meter *meter, enum wtl_compare_by by,
		      struct wtl_statistics domain_j[], size_t order[]);

#endif
