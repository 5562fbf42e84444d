/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_HASH_H
#define WTL_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * From keys to 32-bit values, which mostly are places in the caller's array: open addressing with
 * linear probing. The keys stay with the caller, who gives their hash and compares them. All zeros
 * is an empty table without room. No function but wtl_hash_reserve() allocates.
 */
struct wtl_hash {
	struct wtl_hash_entry *entries;
	size_t size; /* of entries: 0 or a power of two */
	size_t n;    /* keys in it */
};

/* Whether the key sought is that of a value; `context` is the caller's. */
typedef bool (*wtl_hash_is_fn)(const void *context, uint32_t value, const void *key);

/* Room for n keys in all; what is in it stays. 0 or -ENOMEM (then nothing has changed). */
int wtl_hash_reserve(struct wtl_hash *hash, size_t n);
/* Frees the room. */
void wtl_hash_done(struct wtl_hash *hash);
/* Empties it; the room stays. */
void wtl_hash_clear(struct wtl_hash *hash);

/*
 * The value of a key with that hash, which may be overwritten until the next change; NULL: there is
 * none. `is` may be NULL for keys whose hashes never collide: those from wtl_hash_number().
 */
uint32_t *wtl_hash_find(const struct wtl_hash *hash, uint32_t sum, wtl_hash_is_fn is,
			const void *context, const void *key);
/* Adds a key that is not there, with a value below UINT32_MAX. There must be room for it. */
void wtl_hash_add(struct wtl_hash *hash, uint32_t sum, uint32_t value);
/* Removes the key with that hash and value, if it is there. */
void wtl_hash_remove(struct wtl_hash *hash, uint32_t sum, uint32_t value);

/* Hashes. Different numbers have different hashes. */
uint32_t wtl_hash_number(uint32_t number);
uint32_t wtl_hash_bytes(const void *bytes, size_t len);
uint32_t wtl_hash_text(const char *text);

/* FNV-1a, for what must not collide: of many parts, from WTL_HASH_START on. */
#define WTL_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t wtl_hash_more(uint64_t sum, const void *bytes, size_t len);

#endif
