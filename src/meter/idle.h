/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_IDLE_H
#define WTL_METER_IDLE_H

#include <stdbool.h>
#include <stddef.h>

struct wattle_meter;
struct wtl_baseline;
struct wtl_consumers;

/*
 * What this machine draws at rest, kept from one session to the next in a small text file (its format:
 * docs/attribution.md). Nothing fails without it: what is wrong with the file is logged.
 */

/* Called for each domain whose idle power was taken from the file. */
typedef void wtl_idle_taken(void *context, size_t domain, const struct wtl_baseline *idle);

/* Reads it, for domains of which none is known; path NULL: what is noted on a tape. taken may be NULL.
 * Returns whether what is learned may be written there. */
bool wtl_idle_load(struct wattle_meter *meter, struct wtl_consumers *consumers, const char *path,
		   wtl_idle_taken *taken, void *context);

/* Is there anything to be kept? */
bool wtl_idle_is_known(struct wattle_meter *meter, const struct wtl_consumers *consumers);
void wtl_idle_save(struct wattle_meter *meter, const struct wtl_consumers *consumers,
		   const char *path);

#endif
