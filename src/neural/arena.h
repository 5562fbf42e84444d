/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ARENA_H
#define WTL_NEURAL_ARENA_H

#include <stddef.h>

/* Memory that is freed all at once, with a maximum: it bounds what a hostile file can make us allocate. */
struct wtl_arena {
	struct wtl_arena_block *blocks;
	size_t used, max;
};

/* n elements of `size` bytes, all zeros; NULL: no memory, or beyond max. n = 0 counts as 1. */
void *wtl_arena_new(struct wtl_arena *arena, size_t n, size_t size);
/* Adds an element to a list, which moves when it is full. Returns the new element, or NULL; *n grows with it. */
void *wtl_arena_add(struct wtl_arena *arena, void *list, size_t *n, size_t size);
void wtl_arena_done(struct wtl_arena *arena);

#endif
