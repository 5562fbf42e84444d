/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPORT_COMPARE_H
#define WTL_REPORT_COMPARE_H

#include "document/compare.h"

struct wattle_meter;

/* Which energy is to be compared: the commands' own where that can be, that alone, or the machine's. */
enum wtl_compare_by { WTL_COMPARE_BEST, WTL_COMPARE_DYNAMIC, WTL_COMPARE_MACHINE };

/*
 * Finds what the commands' series say of each other: which energy is compared, the statistics, the order and the
 * ratios. Reports of one place in the series are a pair. Before: n and until, the commands' lines, names, and reports of
 * their series. domain_j and order are the caller's: as many as a report has domains for each command, and one for
 * each. meter: it measured them all.
 */
void wtl_compare_find(struct wtl_compare *compare, struct wtl_compared_command commands[],
		      const struct wattle_meter *meter, enum wtl_compare_by by,
		      struct wtl_statistics domain_j[], size_t order[]);

#endif
