/* SPDX-License-Identifier: MIT */
#ifndef WTL_FUZZ_PLAYER_STORE_H
#define WTL_FUZZ_PLAYER_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "energy/sensor_class.h"
#include "record/store.h"

/*
 * Stands in for the reading half of record/store.h: what is in here is what the player finds. As with
 * the real one, texts are ended, numbers of enums are in their range, and rows that are not sound (record/table.h) are
 * passed over; all else may be anything.
 */
enum {
	STAND_PERIODS = 6,
	STAND_SERIES = 96,
	STAND_CHANNELS = 6,
	STAND_ROWS = 12,
	STAND_FACTS = 48,
	STAND_VALUE_SIZE = 512,
};

struct stand_run {
	int64_t *values;
	size_t n, room;
	bool is_damaged;
};

struct stand_series {
	char name[WTL_STORE_NAME_SIZE];
	uint64_t hash; /* of the name */
	struct stand_run runs[STAND_PERIODS];
	int64_t *lent; /* until the next call for this series */
};

struct stand_store {
	struct stand_series series[STAND_SERIES];
	size_t n_series;
	struct wtl_store_period periods[STAND_PERIODS];
	size_t n_periods;
	bool is_whole;

	struct stand_fact {
		char key[WTL_STORE_NAME_SIZE], value[STAND_VALUE_SIZE];
	} facts[STAND_FACTS];
	size_t n_facts;
	struct wtl_channel channels[STAND_CHANNELS];
	struct wtl_sensor_class classes[STAND_CHANNELS];
	size_t n_channels;
	struct wtl_miss misses[STAND_ROWS];
	size_t n_misses;
	struct wtl_stored_domain domains[STAND_CHANNELS];
	size_t n_domains;
	struct wtl_stored_consumer consumers[STAND_ROWS];
	size_t n_consumers;
	struct wtl_stored_window windows[STAND_ROWS];
	struct wattle_energy energies[STAND_ROWS][STAND_CHANNELS];
	size_t n_windows;
	struct wtl_stored_account accounts[STAND_ROWS];
	size_t n_accounts;
	struct wtl_stored_baseline baselines[STAND_ROWS];
	size_t n_baselines;
	struct wtl_stored_gap gaps[STAND_ROWS];
	size_t n_gaps;
};

extern struct stand_store stand;

void stand_clear(void);
void stand_name_series(struct stand_series *series, const char *name);
/* Appends to the last period. */
void stand_put(const char *series, int64_t value);
void stand_put_numbered(const char *prefix, size_t number, const char *name, int64_t value);
void stand_fact(const char *key, const char *value);

#endif
