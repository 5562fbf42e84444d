/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_ALLOCATIONS_H
#define WTL_TESTS_ALLOCATIONS_H

#include <stdbool.h>
#include <stdlib.h>

#include "unit.h"

/* Of tests/alloc/failmalloc.c, which a test that includes this is linked with. */
unsigned long wattle_test_allocations(void);		   /* so far */
unsigned long wattle_test_failures(void);		   /* of those that were made to fail */
long wattle_test_blocks(void);				   /* that were not freed */
void wattle_test_fail_alloc(unsigned long n, bool always); /* the n-th from now; 0: none */

/* Skips the running test where they are not counted: a sanitizer's own malloc() comes before ours. */
static inline void need_counter(void)
{
	unsigned long before = wattle_test_allocations();
	void *volatile memory = malloc(1);

	free(memory);
	if (wattle_test_allocations() == before) {
		print_message("SKIPPED: allocations are not counted in this build\n");
		skip();
	}
}

#endif
