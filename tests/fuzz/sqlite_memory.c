/* SPDX-License-Identifier: MIT */
#include "sqlite_memory.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#if defined(HAS_ASAN) || defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define FORBID(at, size) __asan_poison_memory_region((at), (size))
#define ALLOW(at, size)	 __asan_unpoison_memory_region((at), (size))
#else
#define FORBID(at, size) ((void)(at), (void)(size))
#define ALLOW(at, size)	 ((void)(at), (void)(size))
#endif

#ifdef __clang__
/* No input is better for what it does here, and what may be touched here is not what others may touch. */
#pragma clang attribute push(__attribute__((no_sanitize("coverage", "address"))), \
			     apply_to = function)
#endif

/* Of 2^n bytes each: a head, what was asked for, and a stretch that nobody may touch in those that are large: small
 * ones are SQLite's own, and guarding them would take as long as what it does with them. */
enum { LEAST = 6, MOST = 25, GUARDED = 12, HEAD = 16, BEHIND = 16, AT_ONCE = 1 << 18 };

struct block {
	struct block *next; /* while it is free */
	uint32_t class, size;
};

_Static_assert(sizeof(struct block) == HEAD, "it stands before the memory");

static struct block *unused[MOST + 1];
static char *rest;
static size_t rest_len;

static struct block *block_of(void *at)
{
	return (struct block *)(void *)((char *)at - HEAD);
}

static struct block *new_block(unsigned class)
{
	size_t size = (size_t)1 << class;

	if (size > AT_ONCE)
		return malloc(size);
	if (rest_len < size) {
		rest = malloc(AT_ONCE);
		rest_len = rest ? AT_ONCE : 0;
	}
	if (!rest)
		return NULL;
	rest += size;
	rest_len -= size;
	return (struct block *)(void *)(rest - size);
}

static void *take(int wanted)
{
	size_t size = ((size_t)wanted + 7) & ~(size_t)7;
	unsigned class = 64 - (unsigned)__builtin_clzll(size + HEAD + BEHIND - 1);
	struct block *block;

	if (class < LEAST)
		class = LEAST;
	if (class > MOST)
		return NULL;
	block = unused[class] ? unused[class] : new_block(class);
	if (!block)
		return NULL;
	if (class >= GUARDED)
		ALLOW(block, HEAD + size);
	if (block == unused[class])
		unused[class] = block->next;
	block->class = class;
	block->size = (uint32_t)size;
	if (class >= GUARDED)
		FORBID((char *)block + HEAD + size, ((size_t)1 << class) - HEAD - size);
	return (char *)block + HEAD;
}

static void give_back(void *at)
{
	struct block *block = block_of(at);

	block->next = unused[block->class];
	unused[block->class] = block;
	if (block->class >= GUARDED)
		FORBID(at, block->size);
}

static int size_of(void *at)
{
	return at ? (int)block_of(at)->size : 0;
}

static void *change(void *at, int wanted)
{
	size_t before = (size_t)size_of(at), size = (size_t)wanted;
	void *changed = take(wanted);

	if (!changed)
		return NULL;
	memcpy(changed, at, before < size ? before : size);
	give_back(at);
	return changed;
}

static int round_up(int wanted)
{
	return (wanted + 7) & ~7;
}

static int begin(void *data)
{
	(void)data;
	return SQLITE_OK;
}

static void end(void *data)
{
	(void)data;
}

void sqlite_memory_take_over(void)
{
	static const sqlite3_mem_methods methods = {
		.xMalloc = take,
		.xFree = give_back,
		.xRealloc = change,
		.xSize = size_of,
		.xRoundup = round_up,
		.xInit = begin,
		.xShutdown = end,
	};

	/* SQLite's own blocks for what is small. */
	if (sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 1200, 200) != SQLITE_OK ||
	    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD) != SQLITE_OK ||
	    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0) != SQLITE_OK ||
	    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK)
		abort();
}

#ifdef __clang__
#pragma clang attribute pop
#endif
