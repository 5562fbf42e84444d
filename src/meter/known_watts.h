/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_KNOWN_WATTS_H
#define WTL_METER_KNOWN_WATTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/baseline.h"
#include "energy/watts.h"

/* What programs were learned to draw for a second of use, from one session to the next: a table of at most so many. */
enum { WTL_KNOWN_WATTS_MAX = 64 };

struct wtl_known_watts {
	char of[24];   /* the domain, or domains that are learned together */
	char name[32]; /* of the program, as the kernel calls its processes */
	/* The consumer that began with it: its watts_key, or on a GPU its pid; 0: all processes of that name. */
	uint32_t key;
	/* idle_uw and uncertainty_uw are those watts; seen_ns is the use that they rest on. */
	struct wtl_baseline watts;
};

struct wtl_known_table {
	struct wtl_known_watts at[WTL_KNOWN_WATTS_MAX];
	size_t n;
};

/* NULL: it is not known. key: 0, or that of a consumer; then the name does not matter. */
const struct wtl_known_watts *wtl_known_find(const struct wtl_known_table *table, const char *of,
					     const char *name, uint32_t key);
/* As a line of baselines (energy/baseline.h), whose domain begins with a prefix; without the key. The length, or
 * -EINVAL: a name that is not one word is not kept. */
int wtl_known_print(char line[WTL_BASELINE_LINE_MAX], const struct wtl_known_watts *known);
/* From the words of such a line. false: it is a domain's. */
bool wtl_known_take(const char *domain, const char *source, const struct wtl_baseline *baseline,
		    struct wtl_known_watts *ret_known);

/* Instead of what was known of the same; in a full table, instead of what rests on the least use. */
void wtl_known_put(struct wtl_known_table *table, const struct wtl_known_watts *known);

/* What a session knows of programs. All zeros: nothing. */
struct wtl_known_programs {
	bool is_told; /* watts are found by key alone: in a recording nobody's name may be known at that time */
	struct wtl_known_table *table; /* NULL: nothing was known before */
	/* Consumers that began with some of those: for recordings. */
	struct wtl_known_watts *begun;
	size_t n_begun, begun_room;
};

void wtl_known_done(struct wtl_known_programs *programs);
int wtl_known_add(struct wtl_known_programs *programs,
		  const struct wtl_known_watts *known); /* -ENOMEM */
/* Somebody begins to use a domain. false: nothing is known of the program. */
bool wtl_known_begin(struct wtl_known_programs *programs, const char *of, const char *program,
		     uint32_t key, struct wtl_watts_figure *ret_watts);
/* Keeps what was learned for the next session, if use_s is enough. Returns whether it was. */
bool wtl_known_keep(struct wtl_known_programs *programs, const char *of, const char *program,
		    const struct wtl_watts_figure *found, double use_s, int64_t t_utc_ns);
/* Is that much use enough? */
bool wtl_known_is_kept(const char *program, double use_s);

#endif
