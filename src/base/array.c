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
	void *before, *widened;

	if (n <= *n_now)
		return 0;
	/* Memory that is new is zero already, and takes none before it is written to. */
	widened = calloc(n, size);
	if (!widened)
		return -ENOMEM;
	memcpy(&before, array, sizeof(before));
	if (before)
		memcpy(widened, before, *n_now * size);
	free(before);
	memcpy(array, &widened, sizeof(widened));
	*n_now = n;
	return 0;
}

size_t wtl_array_up_to(const void *list, size_t n, size_t size, size_t offset, uint64_t value,
		       bool is_signed)
{
	/* Signed numbers are in the order of unsigned ones with the highest bit turned. */
	uint64_t sign = is_signed ? UINT64_C(1) << 63 : 0;
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		uint64_t at;

		memcpy(&at, (const char *)list + middle * size + offset, sizeof(at));
		if ((at ^ sign) <= (value ^ sign))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
