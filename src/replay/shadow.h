/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_SHADOW_H
#define WTL_REPLAY_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/consumer.h"
#include "record/store.h"
#include "replay/format.h"

struct wtl_consumers;

/*
 * What a recording has been told of the consumers: the difference to how they are now is what has to be
 * told next.
 */
struct wtl_shadow_slot {
	uint32_t id;  /* of its owner in the table; 0: nobody's */
	bool is_told; /* in this period */
	int pid;
	int64_t start_ns, first_look;
	uint64_t words; /* a hash of what is not a number */
	int64_t numbers[WTL_CHANGES];
};

struct wtl_shadow {
	struct wtl_store_writer *writer;
	uint32_t count, slot, field, by; /* series */
	void (*user)(void *context, uint32_t uid, char name[33]);
	void *user_context;
	struct wtl_shadow_slot *slots;
	size_t n_slots;
	uint32_t n_ids;
	/* Of the list being written. */
	int64_t n_changes;
	uint32_t last_slot;
};

/* Negative: no memory. The writer is borrowed. */
int wtl_shadow_init(struct wtl_shadow *shadow, struct wtl_store_writer *writer);
void wtl_shadow_done(struct wtl_shadow *shadow); /* a zeroed one is fine */

/* What is told next is told as if for the first time, but for who has which number. */
void wtl_shadow_begin_anew(struct wtl_shadow *shadow);

/* Writes what is different. `look` is the number of the newest scan. 0 or -ENOMEM: then something is
 * missing in the recording. */
int wtl_shadow_follow(struct wtl_shadow *shadow, const struct wtl_consumers *consumers,
		      int64_t look);

/* The rows of all who are there, as they are now. */
void wtl_shadow_finish(struct wtl_shadow *shadow, const struct wtl_consumers *consumers);

/* A consumer's number (WTL_CHANGE_STATE and above), and the other way. */
int64_t wtl_shadow_number(const struct wtl_consumer *consumer, enum wtl_change which);
void wtl_shadow_set_number(struct wtl_consumer *consumer, enum wtl_change which, int64_t value);

#endif
