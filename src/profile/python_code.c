/* SPDX-License-Identifier: MIT */
#include "profile/python_code.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profile/tree.h"

enum {
	CHARACTERS = 200, /* kept of a text: its last ones, as paths begin alike */
	TEXT_SIZE = 4 * CHARACTERS + 1,
	LINE_MAX = 100000000,
	INSTRUCTIONS_MAX = 1 << 28,
	GOOD_NS = 20000000, /* a code is compared again after this: another may lie there */
	SOON_NS = 5000000,  /* or this much earlier, along with others */
};

void wtl_python_codes_done(struct wtl_python_codes *codes)
{
	free(codes->list);
	wtl_hash_done(&codes->by_address);
	*codes = (struct wtl_python_codes){.n = 0};
}

/* ---- Text ---- */

static size_t put_utf8(char *to, uint32_t point)
{
	if (point < 0x80) {
		to[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		to[0] = (char)(0xc0 | point >> 6);
		to[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	if (point < 0x10000) {
		to[0] = (char)(0xe0 | point >> 12);
		to[1] = (char)(0x80 | (point >> 6 & 0x3f));
		to[2] = (char)(0x80 | (point & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | (point >> 18 & 7));
	to[1] = (char)(0x80 | (point >> 12 & 0x3f));
	to[2] = (char)(0x80 | (point >> 6 & 0x3f));
	to[3] = (char)(0x80 | (point & 0x3f));
	return 4;
}

/* PyASCIIObject's bit field: interned 2 (or 8), kind 3, compact 1, ascii 1. */
struct text_state {
	unsigned width; /* bytes of a character */
	bool is_compact, is_ascii;
};

static struct text_state decode_state(const struct wtl_python_layout *layout, uint32_t state)
{
	state >>= layout->has_interned_byte ? 8 : 2;
	return (struct text_state){state & 7, state >> 3 & 1, state >> 4 & 1};
}

/* A str: its last characters, as clean text. 0 or negative. */
static int read_text(const struct wtl_python_layout *layout, const struct wtl_python_memory *memory,
		     int pid, uint64_t address, char text[TEXT_SIZE])
{
	uint8_t bytes[4 * CHARACTERS];
	char raw[TEXT_SIZE];
	struct text_state state;
	uint64_t length, skipped;
	uint32_t bits;
	size_t n, len = 0;
	const struct wtl_python_part parts[] = {
		{address + layout->text_length, &length, sizeof(length)},
		{address + layout->text_state, &bits, sizeof(bits)},
	};
	int rc = memory->read(memory->context, pid, parts, 2);

	if (rc < 0)
		return rc;
	state = decode_state(layout, bits);
	if (!state.is_compact || (state.width != 1 && state.width != 2 && state.width != 4))
		return -EINVAL;
	n = length < CHARACTERS ? (size_t)length : (size_t)CHARACTERS;
	skipped = (length - n) * state.width;
	rc = wtl_python_memory_read(
		memory, pid,
		address + (state.is_ascii ? layout->text_ascii : layout->text_compact) + skipped,
		bytes, n * state.width);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		uint32_t point = 0;

		memcpy(&point, bytes + i * state.width,
		       state.width); /* little-endian, like all machines that wattle supports */
		len += put_utf8(raw + len, point);
	}
	wtl_text_clean(text, TEXT_SIZE, raw, len);
	return 0;
}

/* ---- Code objects ---- */

/* What identifies a code object, and is shown of it. */
struct code {
	uint64_t filename, name;
	int32_t first_line;
};

/* Offsets of these fields. They are read as one part: each part costs a page table walk. */
struct places {
	uint32_t filename, name, first_line, begin, end;
};

static struct places places_of(const struct wtl_python_layout *layout)
{
	struct places places = {
		.filename = layout->code_filename,
		.name = layout->code_qualname ? layout->code_qualname : layout->code_name,
		.first_line = layout->code_first_line,
	};

	places.begin = places.filename < places.name ? places.filename : places.name;
	places.begin = places.begin < places.first_line ? places.begin : places.first_line;
	places.end = places.filename > places.name ? places.filename : places.name;
	places.end = places.end > places.first_line ? places.end : places.first_line;
	places.end += (uint32_t)sizeof(uint64_t);
	return places;
}

static struct code take_code(const struct places *places, const uint8_t *bytes)
{
	struct code code;

	memcpy(&code.filename, bytes + (places->filename - places->begin), sizeof(code.filename));
	memcpy(&code.name, bytes + (places->name - places->begin), sizeof(code.name));
	memcpy(&code.first_line, bytes + (places->first_line - places->begin),
	       sizeof(code.first_line));
	return code;
}

/* Code that runs once is compared each time. It is read through the snapshot, so that the next walk copies it too. */
static int read_code(const struct wtl_python_codes *codes, const struct wtl_python_layout *layout,
		     const struct wtl_python_memory *memory, int pid,
		     const struct wtl_python_code *entry, struct code *code)
{
	struct places places = places_of(layout);
	uint64_t begin = entry->address + places.begin;
	uint8_t bytes[WTL_PYTHON_CODE_BYTES];
	size_t n = places.end - places.begin;
	int rc = -ENOENT;

	if (entry->is_once && codes->snapshot)
		rc = wtl_python_snapshot_get(codes->snapshot, memory, pid, begin, bytes, n);
	if (rc < 0)
		rc = wtl_python_memory_read(memory, pid, begin, bytes, n);
	if (rc == 0)
		*code = take_code(&places, bytes);
	return rc;
}

static bool is_same(const struct wtl_python_code *entry, const struct code *code)
{
	return code->filename == entry->filename && code->name == entry->name &&
	       code->first_line == entry->first_line;
}

static bool is_good(const struct wtl_python_code *entry, int64_t now_ns)
{
	return entry->seen_ns && !entry->is_once && now_ns - entry->seen_ns < GOOD_NS;
}

static void note_recent(struct wtl_python_codes *codes, struct wtl_python_code *entry)
{
	if (entry->is_recent || entry->is_once || !entry->seen_ns ||
	    codes->n_recent == WTL_PYTHON_RECENT)
		return;
	entry->is_recent = true;
	codes->recent[codes->n_recent++] = (uint32_t)(entry - codes->list);
}

static void compare_recent(struct wtl_python_codes *codes, const struct wtl_python_layout *layout,
			   const struct wtl_python_memory *memory, int pid, int64_t now_ns)
{
	uint8_t bytes[WTL_PYTHON_RECENT][WTL_PYTHON_CODE_BYTES];
	struct wtl_python_part parts[WTL_PYTHON_RECENT];
	struct places places = places_of(layout);
	int rc;

	for (size_t i = 0; i < codes->n_recent; i++)
		parts[i] = (struct wtl_python_part){codes->list[codes->recent[i]].address +
							    places.begin,
						    bytes[i], places.end - places.begin};
	rc = memory->read(memory->context, pid, parts, codes->n_recent);
	for (size_t i = 0; i < codes->n_recent; i++) {
		struct wtl_python_code *entry = &codes->list[codes->recent[i]];
		struct code code = {0};

		if (rc == 0)
			code = take_code(&places, bytes[i]);
		if (is_same(entry, &code))
			entry->seen_ns = now_ns;
		else
			entry->seen_ns -= GOOD_NS; /* so that wtl_python_code_find() reads it */
		entry->is_recent = false;
	}
	codes->n_recent = 0;
	codes->compared_ns = now_ns;
}

static int64_t name_code(struct wtl_tree *tree, const struct wtl_python_layout *layout,
			 const struct wtl_python_memory *memory, int pid, const struct code *code)
{
	char function[TEXT_SIZE], file[TEXT_SIZE], name[2 * TEXT_SIZE + 16];
	struct wtl_frame frame = {.kind = WTL_FRAME_PYTHON, .address = (uint64_t)code->first_line};
	int64_t number;
	int rc = read_text(layout, memory, pid, code->name, function);

	if (rc == 0)
		rc = read_text(layout, memory, pid, code->filename, file);
	if (rc == 0 && (code->first_line < 0 || code->first_line > LINE_MAX))
		rc = -EINVAL;
	if (rc < 0)
		return rc;
	snprintf(name, sizeof(name), "%s (%s:%d)", function[0] ? function : "?", file,
		 code->first_line);
	number = wtl_tree_name(tree, name);
	if (number < 0)
		return number;
	frame.name = (uint32_t)number;
	return wtl_tree_frame(tree, &frame);
}

static bool has_address(const void *context, uint32_t value, const void *key)
{
	const struct wtl_python_codes *codes = context;

	return codes->list[value].address == *(const uint64_t *)key;
}

/* The code at an address, added if need be with seen_ns 0. NULL: no memory. */
static struct wtl_python_code *entry_of(struct wtl_python_codes *codes, uint64_t address)
{
	uint32_t sum = wtl_hash_bytes(&address, sizeof(address));
	const uint32_t *found =
		wtl_hash_find(&codes->by_address, sum, has_address, codes, &address);

	if (found)
		return &codes->list[*found];
	if (wtl_array_reserve(&codes->list, &codes->room, codes->n + 1, sizeof(*codes->list)) < 0 ||
	    wtl_hash_reserve(&codes->by_address, codes->n + 1) < 0)
		return NULL;
	wtl_hash_add(&codes->by_address, sum, (uint32_t)codes->n);
	codes->list[codes->n] = (struct wtl_python_code){.address = address};
	return &codes->list[codes->n++];
}

/* Sets where the instructions are; an empty range, if that cannot be read. */
static void find_instructions(const struct wtl_python_layout *layout,
			      const struct wtl_python_memory *memory, int pid,
			      struct wtl_python_code *code)
{
	uint64_t object = code->address, n = 0, width = 2;
	int rc = 0;

	code->begin = object + layout->code_instructions;
	if (layout->bytes_begin) { /* they are in a bytes object of their own */
		rc = wtl_python_memory_read(memory, pid, code->begin, &object, sizeof(object));
		code->begin = object + layout->bytes_begin;
		width = 1;
	}
	if (rc == 0)
		rc = wtl_python_memory_read(memory, pid, object + layout->object_size, &n,
					    sizeof(n));
	code->end = code->begin + (rc == 0 && n < INSTRUCTIONS_MAX ? width * n : 0);
}

void wtl_python_codes_compare(struct wtl_python_codes *codes,
			      const struct wtl_python_layout *layout,
			      const struct wtl_python_memory *memory, int pid,
			      const struct wtl_python_frame frames[], size_t n, int64_t now_ns)
{
	bool is_due = false;

	if (now_ns - codes->compared_ns < SOON_NS)
		return;
	for (size_t i = 0; i < n; i++) {
		struct wtl_python_code *entry =
			frames[i].code ? entry_of(codes, frames[i].code) : NULL;

		if (!entry)
			continue;
		note_recent(codes, entry);
		is_due |= entry->is_recent && !is_good(entry, now_ns + SOON_NS);
	}
	if (is_due)
		compare_recent(codes, layout, memory, pid, now_ns);
}

const struct wtl_python_code *wtl_python_code_find(struct wtl_python_codes *codes,
						   struct wtl_tree *tree,
						   const struct wtl_python_layout *layout,
						   const struct wtl_python_memory *memory, int pid,
						   uint64_t address, int64_t now_ns,
						   struct wtl_python_code *ret_gone)
{
	struct wtl_python_code *entry = entry_of(codes, address);
	struct code code;
	int64_t frame;

	*ret_gone = (struct wtl_python_code){0};
	if (!entry)
		return NULL;
	note_recent(codes, entry);
	if (is_good(entry, now_ns))
		return entry;
	if (read_code(codes, layout, memory, pid, entry, &code) < 0)
		return NULL;
	if (!entry->seen_ns || !is_same(entry, &code)) {
		if (entry->name)
			*ret_gone = *entry;
		entry->seen_ns = 0;
		frame = name_code(tree, layout, memory, pid, &code);
		if (frame < 0)
			return NULL;
		entry->frame = (uint32_t)frame;
		entry->filename = code.filename;
		entry->name = code.name;
		entry->first_line = code.first_line;
		entry->is_once =
			strncmp(tree->names[tree->frames[frame].name], "<module> (", 10) == 0;
		find_instructions(layout, memory, pid, entry);
	}
	entry->seen_ns = now_ns;
	return entry;
}
