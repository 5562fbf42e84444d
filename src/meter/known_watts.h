/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_KNOWN_WATTS_H
#define WTL_METER_KNOWN_WATTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/baseline.h"

/* What programs were learned to draw for a second of CPU time, from one session to the next: a table of at most so many. */
enum { WTL_KNOWN_WATTS_MAX = 64 };

struct wtl_known_watts {
	char of[24];   /* the domain, or domains that are learned together */
	char name[32]; /* of the program, as the kernel calls its processes */
	uint32_t key;  /* of wtl_consumer.watts_key, who began with it; 0: whoever is called so */
	/* idle_uw and uncertainty_uw are those watts; seen_ns is the CPU time that they rest on. */
	struct wtl_baseline watts;
};

struct wtl_known_table {
	struct wtl_known_watts at[WTL_KNOWN_WATTS_MAX];
	size_t n;
};

/* NULL: it is not known. key: 0, or of whom; then the name does not matter. */
const struct wtl_known_watts *wtl_known_find(const struct wtl_known_table *table, const char *of,
					     const char *name, uint32_t key);
/* As a line of baselines (energy/baseline.h), whose domain begins with a prefix; without the key. The length, or
 * -EINVAL: a name that is not one word is not kept. */
int wtl_known_print(char line[WTL_BASELINE_LINE_MAX], const struct wtl_known_watts *known);
/* From the words of such a line. false: it is a domain's. */
bool wtl_known_take(const char *domain, const char *source, const struct wtl_baseline *baseline,
		    struct wtl_known_watts *ret_known);

/* Instead of what was known of the same; in a full table, instead of what rests on the least CPU time. */
void wtl_known_put(struct wtl_known_table *table, const struct wtl_known_watts *known);

#endif
