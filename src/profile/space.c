/* SPDX-License-Identifier: MIT */
#include "profile/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void wtl_spaces_init(struct wtl_spaces *spaces, struct wtl_modules *modules)
{
	*spaces = (struct wtl_spaces){.modules = modules};
}

static void free_space(struct wtl_space *space)
{
	free(space->mappings);
	free(space);
}

void wtl_spaces_done(struct wtl_spaces *spaces)
{
	for (size_t i = 0; i < spaces->n; i++)
		free_space(spaces->list[i]);
	free(spaces->list);
	wtl_hash_done(&spaces->by_pid);
}

static uint32_t *place_of(const struct wtl_spaces *spaces, int pid)
{
	return wtl_hash_find(&spaces->by_pid, wtl_hash_number((uint32_t)pid), NULL, NULL, NULL);
}

struct wtl_space *wtl_spaces_find(struct wtl_spaces *spaces, int pid)
{
	const uint32_t *place = place_of(spaces, pid);
	struct wtl_space *space;

	if (place)
		return spaces->list[*place];
	if (wtl_array_reserve(&spaces->list, &spaces->room, spaces->n + 1, sizeof(*spaces->list)) <
		    0 ||
	    wtl_hash_reserve(&spaces->by_pid, spaces->n + 1) < 0)
		return NULL;
	space = calloc(1, sizeof(*space));
	if (space) {
		space->pid = pid;
		wtl_hash_add(&spaces->by_pid, wtl_hash_number((uint32_t)pid), (uint32_t)spaces->n);
		spaces->list[spaces->n++] = space;
	}
	return space;
}

/* The last space takes the removed one's place. */
void wtl_spaces_remove(struct wtl_spaces *spaces, struct wtl_space *space)
{
	struct wtl_space *last = spaces->list[spaces->n - 1];
	uint32_t place = *place_of(spaces, space->pid);

	*place_of(spaces, last->pid) = place;
	spaces->list[place] = last;
	spaces->n--;
	wtl_hash_remove(&spaces->by_pid, wtl_hash_number((uint32_t)space->pid), place);
	free_space(space);
}

/* The first mapping that ends after the address. */
static size_t first_behind(const struct wtl_space *space, uint64_t address)
{
	return WTL_ADDRESSES_UP_TO(space->mappings, space->n, end, address);
}

static void insert(struct wtl_space *space, size_t at, const struct wtl_mapping *mapping)
{
	memmove(&space->mappings[at + 1], &space->mappings[at],
		(space->n - at) * sizeof(*space->mappings));
	space->mappings[at] = *mapping;
	space->n++;
}

int wtl_space_map(struct wtl_space *space, uint64_t start, uint64_t length, uint64_t offset,
		  struct wtl_module *module)
{
	const struct wtl_mapping mapping = {start, start + length, offset, module};
	size_t at = first_behind(space, start), last;

	if (length == 0 || mapping.end < start)
		return 0;
	/* For the new one, and one that is cut in two. */
	if (wtl_array_reserve(&space->mappings, &space->room, space->n + 2,
			      sizeof(*space->mappings)) < 0)
		return -ENOMEM;
	if (at < space->n && space->mappings[at].start < start) {
		struct wtl_mapping *before = &space->mappings[at];
		struct wtl_mapping behind = *before;

		before->end = start;
		at++;
		if (behind.end > mapping.end) {
			behind.offset += mapping.end - behind.start;
			behind.start = mapping.end;
			insert(space, at, &behind);
		}
	}
	for (last = at; last < space->n && space->mappings[last].end <= mapping.end;)
		last++;
	memmove(&space->mappings[at], &space->mappings[last],
		(space->n - last) * sizeof(*space->mappings));
	space->n -= last - at;
	if (at < space->n && space->mappings[at].start < mapping.end) {
		space->mappings[at].offset += mapping.end - space->mappings[at].start;
		space->mappings[at].start = mapping.end;
	}
	insert(space, at, &mapping);
	return 0;
}

void wtl_space_clear(struct wtl_space *space)
{
	space->n = 0;
}

int wtl_space_copy(struct wtl_space *space, const struct wtl_space *parent)
{
	if (space == parent)
		return 0;
	if (wtl_array_reserve(&space->mappings, &space->room, parent->n + 1,
			      sizeof(*space->mappings)) < 0)
		return -ENOMEM;
	if (parent->n > 0)
		memcpy(space->mappings, parent->mappings, parent->n * sizeof(*space->mappings));
	space->n = parent->n;
	return 0;
}

const struct wtl_mapping *wtl_space_at(const struct wtl_space *space, uint64_t address)
{
	size_t at = first_behind(space, address);

	return at < space->n && space->mappings[at].start <= address ? &space->mappings[at] : NULL;
}
