/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_ARRAY_H
#define WTL_BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Growing arrays. *array is a pointer from malloc() or NULL: `array` is the address of that pointer,
 * whatever it points to. All return 0, or -ENOMEM (then nothing has changed).
 */

/* Room for exactly n elements of `size` bytes. What is new is not set. */
int wtl_array_resize(void *array, size_t n, size_t size);

/*
 * Room for at least n elements; *room is the number there is room for. An eighth more than n is made
 * room for, so that growing one by one is cheap and memory is about what is used.
 */
int wtl_array_reserve(void *array, size_t *room, size_t n, size_t size);

/* At least n elements; *n_now is their number so far. New ones are all zeros, and of many, those that
 * are never written to take no memory. */
int wtl_array_widen(void *array, size_t *n_now, size_t n, size_t size);

/*
 * How many of n elements are up to a value: also the place of the first one above it. They are in
 * order by a 64-bit field: of times (which have a sign) or of addresses (which have none).
 */
#define WTL_TIMES_UP_TO(list, n, field, t_ns)                                               \
	wtl_array_up_to((list), (n), sizeof(*(list)), offsetof(__typeof__(*(list)), field), \
			(uint64_t)(t_ns), true)
#define WTL_ADDRESSES_UP_TO(list, n, field, address)                                        \
	wtl_array_up_to((list), (n), sizeof(*(list)), offsetof(__typeof__(*(list)), field), \
			(address), false)
size_t wtl_array_up_to(const void *list, size_t n, size_t size, size_t offset, uint64_t value,
		       bool is_signed);

#endif
