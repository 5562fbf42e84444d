/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PLOT_RECORDING_KEYS_H
#define WTL_COMMANDS_PLOT_RECORDING_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/hash.h"

enum { WTL_PLOT_KEYS_MAX = 1 << 20, WTL_PLOT_NOT_SHOWN = -1 };

/* A process, or all that have something in common: found by name. */
struct wtl_plot_key {
	char name[96];
	double now; /* of this scan */
	double sum; /* what they are ranked by */
	int shown;  /* its series, or WTL_PLOT_NOT_SHOWN */
	bool is_touched;
	bool lacks_pss; /* of some of it, only the resident set size is known, or known lately */
	double moved; /* bytes: by how much it is not what it was when PSS was read, in this scan */
	unsigned late_scans; /* in a row, of which that was too much */
};

struct wtl_plot_keys {
	struct wtl_plot_key *list;
	size_t n, room;
	struct wtl_hash by_name; /* places in the list */
	size_t *touched;	 /* that are in this scan */
	size_t n_touched, touched_room;
};

void wtl_plot_keys_done(struct wtl_plot_keys *keys);
/* That of the name, made if need be. 0 or -ENOMEM. */
int wtl_plot_keys_find(struct wtl_plot_keys *keys, const char *name, size_t *ret_key);
/* Nobody is in this scan yet. */
void wtl_plot_keys_begin(struct wtl_plot_keys *keys);
/* Adds to what it is now. 0 or -ENOMEM. */
int wtl_plot_keys_add(struct wtl_plot_keys *keys, size_t key, double value);
/* The largest sum of those not shown; keys->n: there is none. */
size_t wtl_plot_keys_largest(const struct wtl_plot_keys *keys);

#endif
