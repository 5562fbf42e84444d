/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_ARRAY_H
#define WTL_BASE_ARRAY_H

#include <stddef.h>

/*
 * Room for at least n elements of `size` bytes in a growing array: *array is a pointer from malloc()
 * or NULL (array is the address of that pointer, whatever it points to), *room its elements so far.
 * An eighth more than n is made room for, so that growing one by one is cheap and memory is about
 * what is used. What is new is not set. 0, or -ENOMEM (then nothing has changed).
 */
int wtl_array_reserve(void *array, size_t *room, size_t n, size_t size);

#endif
