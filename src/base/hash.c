/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_MIN = 16 };

struct wtl_hash_entry {
	uint32_t sum;
	uint32_t value; /* UINT32_MAX: the place is free */
};

static bool is_free(const struct wtl_hash_entry *entry)
{
	return entry->value == UINT32_MAX;
}

/* The first free place for that hash. */
static struct wtl_hash_entry *free_place(struct wtl_hash_entry *entries, size_t size, uint32_t sum)
{
	size_t at = sum & (size - 1);

	while (!is_free(&entries[at]))
		at = (at + 1) & (size - 1);
	return &entries[at];
}

/* At most three quarters of it are used, so that runs stay short. */
int wtl_hash_reserve(struct wtl_hash *hash, size_t n)
{
	size_t size = hash->size ? hash->size : SIZE_MIN;
	struct wtl_hash_entry *entries;

	if (n > UINT32_MAX)
		return -ENOMEM;
	while (size / 4 * 3 < n)
		size *= 2;
	if (size == hash->size)
		return 0;
	entries = malloc(size * sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	memset(entries, 0xff, size * sizeof(*entries));
	for (size_t i = 0; i < hash->size; i++)
		if (!is_free(&hash->entries[i]))
			*free_place(entries, size, hash->entries[i].sum) = hash->entries[i];
	free(hash->entries);
	hash->entries = entries;
	hash->size = size;
	return 0;
}

void wtl_hash_done(struct wtl_hash *hash)
{
	free(hash->entries);
	*hash = (struct wtl_hash){.n = 0};
}

void wtl_hash_clear(struct wtl_hash *hash)
{
	if (hash->n > 0)
		memset(hash->entries, 0xff, hash->size * sizeof(*hash->entries));
	hash->n = 0;
}

uint32_t *wtl_hash_find(const struct wtl_hash *hash, uint32_t sum, wtl_hash_is_fn is,
			const void *context, const void *key)
{
	struct wtl_hash_entry *entry;

	if (hash->n == 0)
		return NULL;
	for (size_t at = sum;; at++) {
		entry = &hash->entries[at & (hash->size - 1)];
		if (is_free(entry))
			return NULL;
		if (entry->sum == sum && (!is || is(context, entry->value, key)))
			return &entry->value;
	}
}

void wtl_hash_add(struct wtl_hash *hash, uint32_t sum, uint32_t value)
{
	*free_place(hash->entries, hash->size, sum) =
		(struct wtl_hash_entry){.sum = sum, .value = value};
	hash->n++;
}

void wtl_hash_remove(struct wtl_hash *hash, uint32_t sum, uint32_t value)
{
	struct wtl_hash_entry *entries = hash->entries;
	size_t mask = hash->size - 1, at = sum & mask;

	if (hash->n == 0)
		return;
	while (!is_free(&entries[at]) && (entries[at].sum != sum || entries[at].value != value))
		at = (at + 1) & mask;
	if (is_free(&entries[at]))
		return;
	/* Entries behind the hole that would not be found past it move into it. */
	for (size_t next = (at + 1) & mask; !is_free(&entries[next]); next = (next + 1) & mask) {
		if (((next - entries[next].sum) & mask) >= ((next - at) & mask)) {
			entries[at] = entries[next];
			at = next;
		}
	}
	entries[at].value = UINT32_MAX;
	hash->n--;
}

/* Knuth's multiplier: numbers that follow each other spread. It is odd, so none collide. */
uint32_t wtl_hash_number(uint32_t number)
{
	return number * UINT32_C(2654435761);
}

uint64_t wtl_hash_more(uint64_t sum, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;

	while (len-- > 0)
		sum = (sum ^ *at++) * UINT64_C(0x100000001b3);
	return sum;
}

/* Eight bytes at a time. Products only spread upwards: so the upper half goes into the lower (xxHash's primes). */
uint32_t wtl_hash_bytes(const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t sum = len * UINT64_C(0x9e3779b185ebca87), word;

	for (; len > 0; len -= len < sizeof(word) ? len : sizeof(word), at += sizeof(word)) {
		word = 0;
		memcpy(&word, at, len < sizeof(word) ? len : sizeof(word));
		sum = (sum ^ word) * UINT64_C(0xc2b2ae3d27d4eb4f);
		sum ^= sum >> 32;
	}
	return (uint32_t)(sum * UINT64_C(0x9e3779b185ebca87) >> 32);
}

uint32_t wtl_hash_text(const char *text)
{
	return wtl_hash_bytes(text, strlen(text));
}
