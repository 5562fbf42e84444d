/* SPDX-License-Identifier: MIT */
#ifndef WTL_NEURAL_ARENA_H
#define WTL_NEURAL_ARENA_H

#include <stddef.h>

/* Memory that is freed all at once, and never more of it than a maximum: what a hostile file asks for stays bounded. */
struct wtl_arena {
	struct wtl_arena_block *blocks;
	size_t used, max;
};

/* n elements of a size, all zeros, or NULL. n = 0 is one. */
void *wtl_arena_new(struct wtl_arena *arena, size_t n, size_t size);
/* Room for one element more of a list: elements move when it is full. Returns the new one, or NULL; *n has grown then. */
void *wtl_arena_add(struct wtl_arena *arena, void *list, size_t *n, size_t size);
void wtl_arena_done(struct wtl_arena *arena);

#endif
