/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PLOT_RECORDING_KEYS_H
#define WTL_COMMANDS_PLOT_RECORDING_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"

enum { WTL_PLOT_KEYS_MAX = 1 << 20, WTL_PLOT_NOT_SHOWN = -1 };

/* A process, or a group of them with something in common: found by name. */
struct wtl_plot_key {
	char name[96];
	double now; /* in this scan */
	double sum; /* by which they are ranked */
	int shown;  /* its series, or WTL_PLOT_NOT_SHOWN */
	bool is_touched;
	bool lacks_pss;	     /* some have, or long had, no current PSS: RSS is drawn instead */
	double moved;	     /* bytes by which RSS has moved since PSS was read, in this scan */
	unsigned late_scans; /* scans in a row in which that was too much */
};

struct wtl_plot_keys {
	struct wtl_plot_key *list;
	size_t n, room;
	struct wtl_hash by_name; /* places in the list */
	size_t *touched;	 /* keys in this scan */
	size_t n_touched, touched_room;
};

void wtl_plot_keys_done(struct wtl_plot_keys *keys);
/* Finds the key of that name, or adds it. 0 or -ENOMEM. */
int wtl_plot_keys_find(struct wtl_plot_keys *keys, const char *name, size_t *ret_key);
/* Begins a scan without any keys. */
void wtl_plot_keys_begin(struct wtl_plot_keys *keys);
/* Adds to the key's value of this scan. 0 or -ENOMEM. */
int wtl_plot_keys_add(struct wtl_plot_keys *keys, size_t key, double value);
/* The key with the largest sum that is not shown; keys->n: there is none. */
size_t wtl_plot_keys_largest(const struct wtl_plot_keys *keys);

#endif
