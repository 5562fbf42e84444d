/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_PYTHON_WHEN_H
#define WTL_PROFILE_PYTHON_WHEN_H

#include <stdbool.h>

/*
 * When Python's frames are read. A reading costs the program about as much as ten samples. So some samples come together,
 * and are read once, as long as nearly all of them have a stack that is known by that; else each is read as soon as it is
 * there ("haste"), until the next try.
 */

enum {
	WTL_PYTHON_HASTE = 256, /* samples before the first try without haste */
	WTL_PYTHON_TOGETHER = 8,
};

struct wtl_python_when {
	/* Samples up to a try without haste, samples of that try, and those of them that no reading fits. */
	unsigned n_hasten, n_tried, n_misfits;
	unsigned haste;	   /* samples between tries */
	unsigned together; /* samples that are read once, without haste */
};

void wtl_python_when_init(struct wtl_python_when *when);
/* A sample was merged; whether its stack is known. */
void wtl_python_when_merged(struct wtl_python_when *when, bool is_known);

#endif
