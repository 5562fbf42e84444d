/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_LEARN_H
#define WTL_PROFILE_LEARN_H

#include <stddef.h>
#include <stdint.h>

#include "profile/split.h"

/*
 * What a second of a function draws. A counter that moves once a millisecond cannot tell two functions apart that take
 * turns within one: each would be given the mean. But over many ticks, energy and the time of each function are a
 * regression (energy/watts.h), which tells them apart. Functions are those that were seen innermost, by what they are
 * called; those that ran most have a place each.
 */

enum {
	WTL_LEARNED_PLACES = 48,
	WTL_LEARNED_OTHERS = WTL_LEARNED_PLACES - 1, /* other programs */
	WTL_LEARNED_REST = WTL_LEARNED_PLACES - 2    /* all other functions of the program */
};

struct wtl_learned_functions;

/* For one domain. NULL: no memory. */
struct wtl_learned_functions *wtl_learned_functions_new(const struct wtl_trace *trace);
void wtl_learned_functions_free(struct wtl_learned_functions *functions); /* NULL is fine */
void wtl_learned_functions_know_idle(struct wtl_learned_functions *functions, uint64_t idle_uw);

/* A tick: others' use of the processors, then who used them, then the energy. */
void wtl_learned_functions_begin(struct wtl_learned_functions *functions, int64_t length_ns,
				 double others_s);
void wtl_learned_functions_use(struct wtl_learned_functions *functions, uint32_t node, int64_t ns);
void wtl_learned_functions_end(struct wtl_learned_functions *functions, double energy_uj);

/* A node's place; of a node that is none (unsampled time), or where nothing is learned: that of the rest. */
size_t wtl_learned_functions_place(const struct wtl_learned_functions *functions, uint32_t node);
/* What a second weighs in a tick whose use was told (and not its energy), by places; and the relative standard
 * uncertainty of what each place gets by that, from how well the watts are known. */
void wtl_learned_functions_weigh(struct wtl_learned_functions *functions,
				 double watts[WTL_LEARNED_PLACES],
				 double doubts[WTL_LEARNED_PLACES]);

#endif
