/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wtl_array_reserve(void *array, size_t *room, size_t n, size_t size)
{
	void *memory, *grown;
	size_t wanted, bytes;

	if (n <= *room)
		return 0;
	if (__builtin_add_overflow(n, n / 8, &wanted) ||
	    __builtin_mul_overflow(wanted, size, &bytes))
		return -ENOMEM;
	/* Pointers of all types look alike, but only memcpy() may say so. */
	memcpy(&memory, array, sizeof(memory));
	grown = realloc(memory, bytes);
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	*room = wanted;
	return 0;
}
