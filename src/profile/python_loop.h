/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_LOOP_H
#define WTL_PROFILE_PYTHON_LOOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/unwind.h"

/* What a sample shows of the interpreter's loops (_PyEval_EvalFrameDefault): their registers and native frames. */

struct wtl_python_sample {
	const struct wtl_ring_event *event;
	const struct wtl_unwind_place *places; /* the innermost first */
	size_t n;
	const size_t *loops; /* the places that are loops, the innermost first */
	size_t n_loops;
};

struct wtl_python_loop {
	const uint64_t *kept;	   /* WTL_UNWIND_KEPT */
	const uint64_t *registers; /* all of them; NULL: not known */
	const uint8_t *from, *to;
	bool has_end;
};

/* Whether all of the native frame of the loop at that place was copied. */
bool wtl_python_loop_is_seen(const struct wtl_python_sample *sample, size_t place);
struct wtl_python_loop wtl_python_loop_see(const struct wtl_python_sample *sample, size_t place);
/* Whether any word seen is in [begin, begin + more]. */
bool wtl_python_loop_has(const struct wtl_python_loop *loop, uint64_t begin, uint64_t more);

/*
 * Where the interpreter's loop keeps a pointer: in a callee-saved register, or at a fixed distance below the end of its
 * native frame. Compilers choose one place for nearly all of the loop; others may hold stale values.
 */
enum {
	WTL_PYTHON_WORDS = 96,
	WTL_PYTHON_HABITS = WTL_UNWIND_KEPT + WTL_PYTHON_WORDS,
	WTL_PYTHON_HABIT_SAMPLES = 128, /* learned from so many */
};

struct wtl_python_habit {
	uint16_t n_found[WTL_PYTHON_HABITS], n; /* samples with it at each place; of n samples */
	int usual; /* the place that nearly always has it; negative: none */
};

/* The word at one of a habit's places; 0: not seen. */
uint64_t wtl_python_loop_word(const struct wtl_python_loop *loop, size_t place);
/* As wtl_python_loop_has(), at the usual place alone, if there is one. */
bool wtl_python_loop_has_as_usual(const struct wtl_python_loop *loop,
				  const struct wtl_python_habit *habit, uint64_t begin,
				  uint64_t more);
/* The pointer was in [begin, begin + more]. */
void wtl_python_habit_learn(struct wtl_python_habit *habit, const struct wtl_python_loop *loop,
			    uint64_t begin, uint64_t more);

#endif
