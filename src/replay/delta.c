/* SPDX-License-Identifier: MIT */
#include "replay/delta.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "meter/consumers.h"

enum { FLAG_IN_TREE = 1, FLAG_READABLE = 2 };

/* How a number is stored in a consumer, and where. */
struct field {
	enum kind { FLAGS, STATE, INT, UNSIGNED, PPM, WIDE } kind;
	size_t offset;
};

static const struct field fields[WTL_CHANGES] = {
	[WTL_CHANGE_STATE] = {STATE, offsetof(struct wtl_consumer, state)},
	[WTL_CHANGE_CPU] = {WIDE, offsetof(struct wtl_consumer, cpu_ns)},
	[WTL_CHANGE_COUNTED] = {WIDE, offsetof(struct wtl_consumer, counted_ns)},
	[WTL_CHANGE_FLAGS] = {FLAGS, 0},
	[WTL_CHANGE_PARENT] = {INT, offsetof(struct wtl_consumer, parent)},
	[WTL_CHANGE_PROCESSES] = {UNSIGNED, offsetof(struct wtl_consumer, n_processes)},
	[WTL_CHANGE_THREADS] = {UNSIGNED, offsetof(struct wtl_consumer, n_threads)},
	[WTL_CHANGE_RSS] = {WIDE, offsetof(struct wtl_consumer, rss_bytes)},
	[WTL_CHANGE_PSS] = {WIDE, offsetof(struct wtl_consumer, pss_bytes)},
	[WTL_CHANGE_USS] = {WIDE, offsetof(struct wtl_consumer, uss_bytes)},
	[WTL_CHANGE_GPU_MEMORY] = {WIDE, offsetof(struct wtl_consumer, gpu_memory_bytes)},
	[WTL_CHANGE_WATTS_KEY] = {UNSIGNED, offsetof(struct wtl_consumer, watts_key)},
	[WTL_CHANGE_GPU_USE] = {PPM, offsetof(struct wtl_consumer, gpu_ppm)},
};

static bool is_number(enum wtl_change which)
{
	return which > WTL_CHANGE_OWNER && which < WTL_CHANGES;
}

static int64_t get(enum kind kind, const void *base, size_t offset)
{
	const char *at = (const char *)base + offset;
	uint32_t narrow;
	int64_t wide;

	if (kind == WIDE) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	memcpy(&narrow, at, sizeof(narrow));
	if (kind == PPM && narrow == UINT32_MAX)
		return -1;
	return kind == INT ? (int64_t)(int32_t)narrow : (int64_t)narrow;
}

static void set(enum kind kind, void *base, size_t offset, int64_t value)
{
	char *at = (char *)base + offset;
	uint32_t narrow = (uint32_t)value;

	if (kind == WIDE)
		memcpy(at, &value, sizeof(value));
	else
		memcpy(at, &narrow, sizeof(narrow));
}

int64_t wtl_delta_number(const struct wtl_consumer *consumer, enum wtl_change which)
{
	if (!is_number(which))
		return 0;
	if (fields[which].kind == FLAGS)
		return (consumer->is_in_tree ? FLAG_IN_TREE : 0) |
		       (consumer->is_readable ? FLAG_READABLE : 0);
	return get(fields[which].kind, consumer, fields[which].offset);
}

void wtl_delta_set_number(struct wtl_consumer *consumer, enum wtl_change which, int64_t value)
{
	if (!is_number(which))
		return;
	if (fields[which].kind == FLAGS) {
		consumer->is_in_tree = value & FLAG_IN_TREE;
		consumer->is_readable = value & FLAG_READABLE;
	} else if (fields[which].kind == STATE) {
		if (value >= 0 && value <= WTL_CONSUMER_FOLDED)
			consumer->state = (enum wtl_consumer_state)value;
	} else {
		set(fields[which].kind, consumer, fields[which].offset, value);
	}
}

int wtl_delta_init(struct wtl_delta *delta, struct wtl_store_writer *writer)
{
	const struct {
		const char *name;
		uint32_t *id;
	} series[] = {
		{WTL_SERIES_CHANGES, &delta->count},
		{WTL_SERIES_CHANGE_SLOT, &delta->slot},
		{WTL_SERIES_CHANGE_FIELD, &delta->field},
		{WTL_SERIES_CHANGE_BY, &delta->by},
	};

	*delta = (struct wtl_delta){.writer = writer, .named_uid = UINT32_MAX};
	for (size_t i = 0; i < sizeof(series) / sizeof(series[0]); i++) {
		int64_t id = wtl_store_series(writer, series[i].name);

		if (id < 0)
			return (int)id;
		*series[i].id = (uint32_t)id;
	}
	return 0;
}

void wtl_delta_done(struct wtl_delta *delta)
{
	free(delta->slots);
}

static void put_change(struct wtl_delta *delta, uint32_t slot, enum wtl_change field, int64_t by)
{
	wtl_store_put(delta->writer, delta->slot, (int64_t)slot - delta->last_slot);
	wtl_store_put(delta->writer, delta->field, field);
	wtl_store_put(delta->writer, delta->by, by);
	delta->last_slot = slot;
	delta->n_changes++;
}

/* Pointers stand for texts: a command is copied before the one before is freed, and groups exist once each. */
static bool has_same_words(const struct wtl_consumer *a, const struct wtl_consumer *b)
{
	return a->uid == b->uid && a->start_ns == b->start_ns && a->command == b->command &&
	       a->group == b->group && strcmp(a->name, b->name) == 0;
}

/* Rows that stand for several processes have no pid: their names identify them. */
static bool is_same_owner(const struct wtl_delta_slot *slot, const struct wtl_consumer *consumer)
{
	const struct wtl_consumer *last = &slot->last;

	if (slot->id == 0 || last->pid != consumer->pid)
		return false;
	if (consumer->pid == 0)
		return has_same_words(last, consumer);
	return last->start_ns == consumer->start_ns || last->start_ns == 0;
}

static int store_row(struct wtl_delta *delta, uint32_t slot, const struct wtl_consumer *consumer,
		     const struct wtl_per_cpu *per_cpu)
{
	struct wtl_delta_slot *own = &delta->slots[slot];
	struct wtl_stored_consumer row = {
		.id = own->id,
		.slot = slot,
		.first_look = own->first_look,
		.last_look = -1,
		.consumer = *consumer,
		.per_cpu = *per_cpu,
	};

	if (consumer->command)
		wtl_text_copy(row.command, sizeof(row.command), consumer->command);
	if (delta->user && consumer->uid != UINT32_MAX) {
		/* The row before often has the same user, and looking a name up takes 50 us. */
		if (delta->named_uid != consumer->uid)
			delta->user(delta->user_context, consumer->uid, delta->named);
		delta->named_uid = consumer->uid;
		memcpy(row.user, delta->named, sizeof(row.user));
	}
	own->is_stale = consumer->cpu_ppm != 0;
	return wtl_store_consumer(delta->writer, &row);
}

static void end_one(struct wtl_delta *delta, uint32_t slot, int64_t scan)
{
	if (delta->slots[slot].id)
		wtl_store_consumer_end(delta->writer, delta->slots[slot].id, scan);
}

static int follow_one(struct wtl_delta *delta, uint32_t slot, const struct wtl_consumer *consumer,
		      int64_t scan)
{
	struct wtl_delta_slot *own = &delta->slots[slot];
	bool is_same = is_same_owner(own, consumer), has_row;

	if (!is_same) {
		end_one(delta, slot, scan);
		*own = (struct wtl_delta_slot){.id = ++delta->n_ids, .first_look = scan};
	}
	if (!own->is_written)
		put_change(delta, slot, WTL_CHANGE_OWNER, own->id);
	for (enum wtl_change i = WTL_CHANGE_OWNER + 1; i < WTL_CHANGES; i++) {
		int64_t number = wtl_delta_number(consumer, i);
		int64_t last = wtl_delta_number(&own->last, i);
		int64_t before = own->is_written ? last : 0;

		own->is_stale |= number != last;
		if (number != before)
			put_change(delta, slot, i, number - before);
	}
	has_row = is_same && has_same_words(&own->last, consumer);
	own->is_written = true;
	own->last = *consumer;
	if (has_row)
		return 0;
	return store_row(delta, slot, consumer, &(struct wtl_per_cpu){.power_uw = 0});
}

/* Most consumers do nothing between two scans. */
static bool is_unchanged(const struct wtl_delta_slot *own, const struct wtl_consumer *consumer)
{
	return own->id && own->is_written && memcmp(&own->last, consumer, sizeof(*consumer)) == 0;
}

void wtl_delta_begin_anew(struct wtl_delta *delta)
{
	for (size_t i = 0; i < delta->n_slots; i++)
		delta->slots[i].is_written = false;
}

int wtl_delta_follow(struct wtl_delta *delta, const struct wtl_consumers *consumers, int64_t scan)
{
	size_t n = wtl_consumers_slots(consumers);
	int rc = wtl_array_widen(&delta->slots, &delta->n_slots, n, sizeof(*delta->slots));

	delta->n_changes = 0;
	delta->last_slot = 0;
	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, i);

		if (consumer) {
			if (!is_unchanged(&delta->slots[i], consumer))
				rc = follow_one(delta, (uint32_t)i, consumer, scan);
		} else if (delta->slots[i].id) {
			end_one(delta, (uint32_t)i, scan);
			delta->slots[i].id = 0;
			put_change(delta, (uint32_t)i, WTL_CHANGE_OWNER, 0);
		}
	}
	wtl_store_put(delta->writer, delta->count, delta->n_changes);
	return rc;
}

/* Is its stored row out of date? */
static bool is_stale(const struct wtl_delta_slot *own, const struct wtl_consumer *consumer)
{
	return own->is_stale || consumer->cpu_ppm != 0 ||
	       memcmp(&own->last, consumer, sizeof(*consumer)) != 0;
}

void wtl_delta_finish(struct wtl_delta *delta, const struct wtl_consumers *consumers)
{
	for (size_t i = 0; i < delta->n_slots; i++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, i);
		struct wtl_per_cpu per_cpu;

		if (!consumer || !delta->slots[i].id)
			continue;
		wtl_consumers_per_cpu(consumers, i, &per_cpu);
		if (per_cpu.power_uw > 0 || is_stale(&delta->slots[i], consumer))
			store_row(delta, (uint32_t)i, consumer, &per_cpu);
	}
}
