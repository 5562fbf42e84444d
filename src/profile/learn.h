/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_LEARN_H
#define WTL_PROFILE_LEARN_H

#include <stddef.h>
#include <stdint.h>

#include "profile/split.h"

/*
 * Learns the power of each function. A counter that moves once a millisecond cannot separate two functions that take
 * turns within one: each would get the mean. A regression of energy on each function's time over many ticks can
 * (energy/watts.h). Functions are those of innermost frames, by symbol or name; those with the most samples have a
 * place each.
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

/* A tick: begin() with other programs' CPU seconds, use() for each node, end() with the energy. */
void wtl_learned_functions_begin(struct wtl_learned_functions *functions, int64_t length_ns,
				 double others_s);
void wtl_learned_functions_use(struct wtl_learned_functions *functions, uint32_t node, int64_t ns);
void wtl_learned_functions_end(struct wtl_learned_functions *functions, double energy_uj);

/* A node's place; WTL_LEARNED_REST for a number that is no node (unsampled time), or if functions is NULL. */
size_t wtl_learned_functions_place(const struct wtl_learned_functions *functions, uint32_t node);
/* After begin() and use(), instead of end(): what a second of each place weighs, and the relative standard
 * uncertainty of each place's part, by that of the watts. With too few ticks both are left unchanged. */
void wtl_learned_functions_weigh(struct wtl_learned_functions *functions,
				 double watts[WTL_LEARNED_PLACES],
				 double doubts[WTL_LEARNED_PLACES]);

#endif
