/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wtl_array_resize(void *array, size_t n, size_t size)
{
	void *memory, *resized;

	/* Pointers of all types look alike, but only memcpy() may say so. */
	memcpy(&memory, array, sizeof(memory));
	resized = reallocarray(memory, n, size);
	if (!resized)
		return -ENOMEM;
	memcpy(array, &resized, sizeof(resized));
	return 0;
}

int wtl_array_reserve(void *array, size_t *room, size_t n, size_t size)
{
	size_t wanted;

	if (n <= *room)
		return 0;
	if (__builtin_add_overflow(n, n / 8, &wanted) || wtl_array_resize(array, wanted, size) < 0)
		return -ENOMEM;
	*room = wanted;
	return 0;
}

int wtl_array_widen(void *array, size_t *n_now, size_t n, size_t size)
{
	unsigned char *memory;

	if (n <= *n_now)
		return 0;
	if (wtl_array_resize(array, n, size) < 0)
		return -ENOMEM;
	memcpy(&memory, array, sizeof(memory));
	memset(memory + *n_now * size, 0, (n - *n_now) * size);
	*n_now = n;
	return 0;
}
