/* SPDX-License-Identifier: MIT */
#include "record/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void wtl_names_done(struct wtl_names *names)
{
	free(names->names);
	free(names->sorted);
	*names = (struct wtl_names){0};
}

/* Where the name is in the order, or would be. */
static size_t place_of(const struct wtl_names *names, const char *name)
{
	size_t from = 0, to = names->n_sorted;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (strcmp(names->names[names->sorted[middle]], name) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool is_at(const struct wtl_names *names, size_t place, const char *name)
{
	return place < names->n_sorted && strcmp(names->names[names->sorted[place]], name) == 0;
}

int64_t wtl_names_find(const struct wtl_names *names, const char *name)
{
	size_t place = place_of(names, name);

	return is_at(names, place, name) ? (int64_t)names->sorted[place] : -ENOENT;
}

int wtl_names_add(struct wtl_names *names, uint32_t number, const char *name)
{
	size_t len = strlen(name), place = place_of(names, name);

	if (len == 0 || len >= WTL_STORE_NAME_SIZE)
		return -EINVAL;
	if (number >= WTL_STORE_SERIES_MAX)
		return -E2BIG;
	if (is_at(names, place, name) || (number < names->n && names->names[number][0]))
		return -EEXIST;
	if (wtl_array_reserve(&names->names, &names->room, number + 1u, sizeof(names->names[0])) <
		    0 ||
	    wtl_array_reserve(&names->sorted, &names->sorted_room, names->n_sorted + 1,
			      sizeof(names->sorted[0])) < 0)
		return -ENOMEM;
	for (; names->n <= number; names->n++)
		names->names[names->n][0] = '\0';
	memcpy(names->names[number], name, len + 1);
	memmove(names->sorted + place + 1, names->sorted + place,
		(names->n_sorted - place) * sizeof(names->sorted[0]));
	names->sorted[place] = number;
	names->n_sorted++;
	return 0;
}
