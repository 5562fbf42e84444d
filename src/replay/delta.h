/* SPDX-License-Identifier: MIT */
#ifndef WTL_REPLAY_DELTA_H
#define WTL_REPLAY_DELTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/consumer.h"
#include "record/store.h"
#include "replay/format.h"

struct wtl_consumers;

/* What a recording has of the consumers. Their difference to this is what has to be written next. */
struct wtl_delta_slot {
	uint32_t id;	 /* of its owner in the table; 0: it has none */
	bool is_written; /* in this period */
	bool is_stale;	 /* something has changed since its row was stored */
	int64_t first_look;
	struct wtl_consumer last; /* at the newest look; what it points to may be gone */
};

struct wtl_delta {
	struct wtl_store_writer *writer;
	uint32_t count, slot, field, by; /* series */
	void (*user)(void *context, uint32_t uid, char name[33]);
	void *user_context;
	uint32_t named_uid; /* the user whose name was looked up last; UINT32_MAX: none yet */
	char named[33];
	struct wtl_delta_slot *slots;
	size_t n_slots;
	uint32_t n_ids;
	/* Of the list that is being written. */
	int64_t n_changes;
	uint32_t last_slot;
};

/* Negative: no memory. The writer is borrowed. */
int wtl_delta_init(struct wtl_delta *delta, struct wtl_store_writer *writer);
void wtl_delta_done(struct wtl_delta *delta); /* a zeroed one is fine */

/* From now on everything is written as if for the first time, but consumers keep their ids. */
void wtl_delta_begin_anew(struct wtl_delta *delta);

/* Writes what has changed. `scan` is the number of the newest scan.
 * 0 or -ENOMEM: then something is missing in the recording. */
int wtl_delta_follow(struct wtl_delta *delta, const struct wtl_consumers *consumers, int64_t scan);

/* Stores the rows of all consumers that are there, as they are now. */
void wtl_delta_finish(struct wtl_delta *delta, const struct wtl_consumers *consumers);

/* A consumer's number (WTL_CHANGE_STATE and above): returns it, and sets it. */
int64_t wtl_delta_number(const struct wtl_consumer *consumer, enum wtl_change which);
void wtl_delta_set_number(struct wtl_consumer *consumer, enum wtl_change which, int64_t value);

#endif
