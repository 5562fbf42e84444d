/* SPDX-License-Identifier: MIT */
#include "base/tape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

struct wtl_tape *wtl_tape_new(void)
{
	struct wtl_tape *tape = calloc(1, sizeof(*tape));

	if (!tape)
		return NULL;
	wtl_buf_init(&tape->frames, WTL_TAPE_FRAMES_MAX * sizeof(struct wtl_tape_frame));
	wtl_buf_init(&tape->records, WTL_TAPE_RECORDS_MAX * sizeof(struct wtl_tape_record));
	/* Names' NULs and lengths make a little more of it than the text was. */
	wtl_buf_init(&tape->bytes, 2u * WTL_TAPE_MAX);
	wtl_buf_init(&tape->keys, WTL_TAPE_RECORDS_MAX * sizeof(struct wtl_tape_key));
	return tape;
}

void wtl_tape_free(struct wtl_tape *tape)
{
	if (!tape)
		return;
	wtl_buf_done(&tape->frames);
	wtl_buf_done(&tape->records);
	wtl_buf_done(&tape->bytes);
	wtl_buf_done(&tape->keys);
	free(tape->order);
	free(tape);
}

static const struct wtl_tape_record *record_at(const struct wtl_tape *tape, size_t i)
{
	return (const struct wtl_tape_record *)(const void *)tape->records.data + i;
}

static int key_compare(const struct wtl_tape *tape, const struct wtl_tape_record *record,
		       const char *key, size_t len)
{
	size_t both = record->key_len < len ? record->key_len : len;
	int rc = memcmp(tape->bytes.data + record->key_at, key, both);

	if (rc)
		return rc;
	return (record->key_len > len) - (record->key_len < len);
}

static int order_compare(const void *a, const void *b, void *context)
{
	const struct wtl_tape *tape = context;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct wtl_tape_record *other = record_at(tape, right);
	int rc = key_compare(tape, record_at(tape, left), tape->bytes.data + other->key_at,
			     other->key_len);

	return rc ? rc : (left > right) - (left < right);
}

static bool same_key(const struct wtl_tape *tape, uint32_t a, uint32_t b)
{
	const struct wtl_tape_record *other = record_at(tape, b);

	return key_compare(tape, record_at(tape, a), tape->bytes.data + other->key_at,
			   other->key_len) == 0;
}

int wtl_tape_index(struct wtl_tape *tape)
{
	size_t n = tape->n_records;

	if (n == 0)
		return 0;
	tape->order = calloc(n, sizeof(tape->order[0]));
	if (!tape->order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		tape->order[i] = (uint32_t)i;
	qsort_r(tape->order, n, sizeof(tape->order[0]), order_compare, tape);
	for (size_t i = 0; i < n;) {
		struct wtl_tape_key key = {.first = (uint32_t)i};

		while (i < n && same_key(tape, tape->order[key.first], tape->order[i]))
			i++;
		key.n = (uint32_t)i - key.first;
		if (wtl_buf_add(&tape->keys, &key, sizeof(key)) < 0)
			return tape->keys.error;
		tape->n_keys++;
	}
	return 0;
}

const struct wtl_tape_frame *wtl_tape_frame(const struct wtl_tape *tape, size_t frame)
{
	return (const struct wtl_tape_frame *)(const void *)tape->frames.data + frame;
}

int64_t wtl_tape_clock_ns(const struct wtl_tape_frame *frame, enum wtl_clock clock,
			  int64_t t_mono_ns)
{
	int64_t since = t_mono_ns - frame->mono_ns;

	switch (clock) {
	case WTL_CLOCK_BOOT:
		return frame->boot_ns + since;
	case WTL_CLOCK_REAL:
		return frame->real_ns + since;
	case WTL_CLOCK_MONO:
		break;
	}
	return t_mono_ns;
}

const char *wtl_tape_data(const struct wtl_tape *tape, const struct wtl_tape_record *record)
{
	return tape->bytes.data + record->data_at;
}

static int find_compare(const struct wtl_tape *tape, const struct wtl_tape_record *record,
			enum wtl_tape_class class, const char *key, size_t len)
{
	unsigned char first = (unsigned char)tape->bytes.data[record->key_at];
	struct wtl_tape_record rest = *record;

	if (first != (unsigned)class)
		return first < (unsigned)class ? -1 : 1;
	rest.key_at++;
	rest.key_len--;
	return key_compare(tape, &rest, key, len);
}

struct wtl_tape_key *wtl_tape_find(struct wtl_tape *tape, enum wtl_tape_class class,
				   const char *key, size_t len)
{
	struct wtl_tape_key *keys = (struct wtl_tape_key *)(void *)tape->keys.data;
	size_t low = 0, high = tape->n_keys;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int rc = find_compare(tape, record_at(tape, tape->order[keys[middle].first]), class,
				      key, len);

		if (rc == 0)
			return &keys[middle];
		if (rc < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

static const struct wtl_tape_record *key_record(const struct wtl_tape *tape,
						const struct wtl_tape_key *key, uint32_t i)
{
	return record_at(tape, tape->order[key->first + i]);
}

const struct wtl_tape_record *wtl_tape_key_first(const struct wtl_tape *tape,
						 const struct wtl_tape_key *key)
{
	return key_record(tape, key, 0);
}

/*
 * The record outside of what is left of the frame: the latest before place `at`, else the first
 * from there on. any: opens count too.
 */
static const struct wtl_tape_record *elsewhere(const struct wtl_tape *tape,
					       const struct wtl_tape_key *key, uint32_t at,
					       bool any)
{
	const struct wtl_tape_record *record;

	for (uint32_t i = at; i-- > 0;) {
		record = key_record(tape, key, i);
		if (any || record->kind == WTL_TAPE_READ)
			return record;
	}
	for (uint32_t i = at; i < key->n; i++) {
		record = key_record(tape, key, i);
		if (any || record->kind == WTL_TAPE_READ)
			return record;
	}
	return NULL;
}

void wtl_tape_skip(struct wtl_tape *tape, struct wtl_tape_key *key, uint32_t frame)
{
	while (key->cursor < key->n && key_record(tape, key, key->cursor)->frame < frame)
		key->cursor++;
}

bool wtl_tape_is_next(struct wtl_tape *tape, struct wtl_tape_key *key, uint32_t frame)
{
	wtl_tape_skip(tape, key, frame);
	return key->cursor < key->n && key_record(tape, key, key->cursor)->frame == frame;
}

const struct wtl_tape_record *wtl_tape_read(struct wtl_tape *tape, struct wtl_tape_key *key,
					    uint32_t frame, bool *ret_fresh)
{
	uint32_t i;

	*ret_fresh = false;
	wtl_tape_skip(tape, key, frame);
	for (i = key->cursor; i < key->n; i++) {
		const struct wtl_tape_record *record = key_record(tape, key, i);

		if (record->frame != frame)
			break;
		if (record->kind != WTL_TAPE_READ)
			continue;
		key->cursor = i + 1;
		*ret_fresh = true;
		return record;
	}
	return elsewhere(tape, key, i, false);
}

const struct wtl_tape_record *wtl_tape_open(struct wtl_tape *tape, struct wtl_tape_key *key,
					    uint32_t frame, bool *ret_fresh)
{
	const struct wtl_tape_record *record;

	*ret_fresh = false;
	wtl_tape_skip(tape, key, frame);
	if (key->cursor == key->n)
		return elsewhere(tape, key, key->cursor, true);
	record = key_record(tape, key, key->cursor);
	if (record->frame != frame)
		return elsewhere(tape, key, key->cursor, true);
	if (record->kind == WTL_TAPE_OPEN) {
		key->cursor++;
		*ret_fresh = true;
	}
	return record;
}

const struct wtl_tape_record *wtl_tape_cpu(struct wtl_tape *tape, int pid, uint32_t frame)
{
	struct wtl_tape_key *key =
		wtl_tape_find(tape, WTL_TAPE_CPU, (const char *)&pid, sizeof(pid));

	if (!key)
		return NULL;
	if (key->asks_frame != frame)
		key->asks = 0;
	key->asks_frame = frame;
	key->asks++;
	for (; key->cursor < key->n; key->cursor++) {
		const struct wtl_tape_record *record = key_record(tape, key, key->cursor);

		if (record->frame > frame || (record->frame == frame && record->ask > key->asks))
			break;
	}
	return key_record(tape, key, key->cursor > 0 ? key->cursor - 1 : 0);
}

const struct wtl_tape_record *wtl_tape_exit(struct wtl_tape *tape, struct wtl_tape_key *key,
					    uint32_t frame)
{
	while (key->cursor < key->n) {
		const struct wtl_tape_record *record = key_record(tape, key, key->cursor);

		if (record->frame > frame)
			return NULL;
		key->cursor++;
		/* "There was none" does not matter when it is an earlier frame's. */
		if (record->frame == frame || record->code < 0 || record->data_len > 0)
			return record;
	}
	return NULL;
}
