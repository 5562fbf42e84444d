/* SPDX-License-Identifier: MIT */
#include "neural/arena.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 << 10, FIRST_ELEMENTS = 4 };

struct wtl_arena_block {
	struct wtl_arena_block *next;
	size_t size, used;
	alignas(max_align_t) char bytes[];
};

void *wtl_arena_new(struct wtl_arena *arena, size_t n, size_t size)
{
	struct wtl_arena_block *block = arena->blocks;
	size_t wanted;
	void *found;

	if (n == 0)
		n = 1;
	if (__builtin_mul_overflow(n, size, &wanted) || wanted > arena->max)
		return NULL;
	wanted = (wanted + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!block || block->size - block->used < wanted) {
		size_t room = wanted > BLOCK_BYTES ? wanted : BLOCK_BYTES;

		if (room > arena->max - arena->used)
			return NULL;
		block = calloc(1, sizeof(*block) + room);
		if (!block)
			return NULL;
		arena->used += room;
		*block = (struct wtl_arena_block){.next = arena->blocks, .size = room};
		arena->blocks = block;
	}
	found = block->bytes + block->used;
	block->used += wanted;
	return found;
}

void *wtl_arena_add(struct wtl_arena *arena, void *list, size_t *n, size_t size)
{
	char **elements = list;

	/* A list's room is always a power of two, so n shows when it is full. */
	if (*n == 0 || (*n >= FIRST_ELEMENTS && (*n & (*n - 1)) == 0)) {
		size_t room = *n ? 2 * *n : FIRST_ELEMENTS;
		char *larger = wtl_arena_new(arena, room, size);

		if (!larger)
			return NULL;
		if (*n)
			memcpy(larger, *elements, *n * size);
		*elements = larger;
	}
	(*n)++;
	return *elements + (*n - 1) * size;
}

void wtl_arena_done(struct wtl_arena *arena)
{
	while (arena->blocks) {
		struct wtl_arena_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	arena->used = 0;
}
