/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_PLOT_RECORDING_POWER_H
#define WTL_COMMANDS_PLOT_RECORDING_POWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "commands/plot/recording.h"

/* A recording's power over time, a line per domain: what its two files share. */

/* A domain, or the total. */
struct wtl_plot_curve {
	size_t domain; /* past the last one: the total */
	const char *name;
	int64_t span_ns;	    /* least duration of a point */
	uint64_t zero_uw;	    /* uncertainty of its sensor's zero, k = 2 */
	struct wattle_energy *last; /* of all domains, if part of it: at the point's start */
	size_t n_parts_most;
	struct wtl_plot_reducer reducer;
};

struct wtl_plot_curves {
	struct wtl_plot_replay *replay;
	struct wattle_meter *meter;
	struct wtl_plot_curve *list;
	size_t n, n_domains;
	bool *counts;			/* domains in the total */
	struct wattle_energy *energies; /* and the total: as of the newest sample */
};

/* Without any sign of power yet, its power is unknown, not 0. */
static inline bool wtl_plot_power_is_seen(const struct wattle_energy *energy)
{
	return energy->has_power || energy->energy_uj > 0;
}

/* ---- recording_power_notes.c ---- */

/* Why a domain (past the last one: the total) has no line. NULL: there is no total. */
const char *wtl_plot_power_reason(const struct wtl_plot_curves *curves, size_t domain);
/* Adds the notes below the picture; one series per curve. */
void wtl_plot_power_note(const struct wtl_plot_curves *curves,
			 const struct wtl_plot_series *series);

#endif
