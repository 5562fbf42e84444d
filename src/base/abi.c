/* SPDX-License-Identifier: MIT */
#include "base/abi.h"

#include <errno.h>
#include <string.h>

/* More than any of them will ever need: an uninitialised size is mostly more. */
enum { SIZE_LIMIT = 4096 };

static size_t size_of(const void *borrowed)
{
	size_t size;

	memcpy(&size, borrowed, sizeof(size));
	return size;
}

bool wtl_abi_is_sized(const void *borrowed)
{
	return !borrowed || (size_of(borrowed) > sizeof(size_t) && size_of(borrowed) <= SIZE_LIMIT);
}

void wtl_abi_give(void *to, const void *from, size_t known_size)
{
	size_t size = size_of(to) < known_size ? size_of(to) : known_size;

	memcpy((char *)to + sizeof(size), (const char *)from + sizeof(size), size - sizeof(size));
}

int wtl_abi_take(const void *from, void *to, size_t known_size)
{
	memset(to, 0, known_size);
	if (!from)
		return 0;
	if (!wtl_abi_is_sized(from))
		return -EINVAL;
	for (size_t i = known_size; i < size_of(from); i++)
		if (((const char *)from)[i])
			return -E2BIG;
	memcpy(to, from, size_of(from) < known_size ? size_of(from) : known_size);
	return 0;
}

void *wtl_abi_element(void *array, size_t i)
{
	size_t size = size_of(array);
	char *element = (char *)array + i * size;

	memcpy(element, &size, sizeof(size));
	return element;
}

size_t wtl_abi_tail_size(const void *outer, size_t tail_offset, size_t known_size)
{
	size_t size = size_of(outer);

	if (size <= tail_offset)
		return 0;
	return size - tail_offset < known_size ? size - tail_offset : known_size;
}
