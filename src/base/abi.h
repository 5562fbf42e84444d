/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_ABI_H
#define WTL_BASE_ABI_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Structs that cross the library's border begin with a size_t that their caller has set: it may have
 * been compiled against a header that knows fewer members, or more.
 */

/* Is that size one that a caller can mean? True for NULL. */
bool wtl_abi_is_sized(const void *borrowed);

/* Writes as much of `from`, which is known_size large, as its caller knows: never the size itself. */
void wtl_abi_give(void *to, const void *from, size_t known_size);

/* Reads a struct that a caller hands over into `to`, which is known_size large; what the caller does not know, or NULL, is
 * 0. -EINVAL for an impossible size; -E2BIG: it wants what this version does not know. */
int wtl_abi_take(const void *from, void *to, size_t known_size);

/* The i-th element of a caller's array, with its size set. */
void *wtl_abi_element(void *array, size_t i);

/* The size of the struct at the end of one that its caller says is so large. */
size_t wtl_abi_tail_size(const void *outer, size_t tail_offset, size_t known_size);

#endif
