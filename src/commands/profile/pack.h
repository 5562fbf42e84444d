/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PROFILE_PACK_H
#define WTL_COMMANDS_PROFILE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wtl_buf;

/*
 * Numbers, texts and columns of numbers as bytes, written or read: the same calls in the same order do both, so that
 * what is written is what is read. The first error sticks, and nothing is done after it. What is read is the
 * caller's to free(), also after an error.
 */
struct wtl_pack {
	struct wtl_buf *out; /* NULL: reading */
	const uint8_t *at, *end;
	unsigned version; /* of the file being read */
	size_t room;	  /* bytes that may still be allocated when reading */
	int error;	  /* negative; -EBADMSG: the bytes are malformed */
};

void wtl_pack_number(struct wtl_pack *pack, uint64_t *value);
/* NULL stays NULL. A text that is read is cleaned for terminals (wtl_text_clean). */
void wtl_pack_text(struct wtl_pack *pack, char **text);
/* The same, but not cleaned. */
void wtl_pack_name(struct wtl_pack *pack, char **name);
/* The length of an array. Reading allocates *array, zeroed. Returns the length, or 0 after an error. */
size_t wtl_pack_array(struct wtl_pack *pack, void *array, size_t *n, size_t size);
/* The same for elements that have a text each, so at least a byte: no more of them than bytes are left. */
size_t wtl_pack_texts(struct wtl_pack *pack, void *array, size_t *n, size_t size);
/* An integer of `size` bytes (1, 2, 4 or 8) in each of n elements that are `stride` bytes apart. */
void wtl_pack_column(struct wtl_pack *pack, void *first, size_t n, size_t stride, size_t size);

#define WTL_PACK_COLUMN(pack, list, n, field)                                                 \
	wtl_pack_column((pack), (list) ? (void *)&(list)->field : NULL, (n), sizeof(*(list)), \
			sizeof((list)->field))
/* A number of any integer type: a field of a struct. */
#define WTL_PACK_FIELD(pack, field) wtl_pack_scalar((pack), &(field), sizeof(field))
void wtl_pack_scalar(struct wtl_pack *pack, void *value, size_t size);
void wtl_pack_flag(struct wtl_pack *pack, bool *flag);
/* A text in an array of chars. */
#define WTL_PACK_CHARS(pack, field) wtl_pack_chars((pack), (field), sizeof(field))
void wtl_pack_chars(struct wtl_pack *pack, char *chars, size_t size);

#endif
