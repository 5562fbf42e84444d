/* SPDX-License-Identifier: MIT */
#ifndef WTL_SERVE_AGENT_H
#define WTL_SERVE_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "report/description.h"
#include "serve/live.h"
#include "serve/totals.h"

struct wtl_consumers;
struct wtl_device_value;
struct wtl_gpu;

/* Fills snapshots (live.h) of a meter and its consumers. Used by the thread that measures. */

struct wtl_agent_options {
	struct wattle_meter *meter;
	struct wtl_consumers *consumers; /* NULL: nobody is followed */
	const char *window;		 /* the meter's window that the consumers are billed for */
	struct wtl_naming naming;	 /* start_utc_ns is not used */
	struct wtl_report_place place;
	const char *host;     /* NULL: another machine's */
	size_t max_processes; /* to be listed */
};

/* What the agent's owner knows beside energy, borrowed for a look. */
struct wtl_agent_beside {
	const struct wtl_device_value *values; /* of the devices */
	const struct wtl_gpu *gpus;	       /* the GPUs that values refer to, by index */
	size_t n_values, n_gpus;
	bool is_recorded;
	const char *recording; /* the file, or why there is none; may be NULL */
	int64_t unrecorded_ns; /* time that should have been recorded, and was not */
	struct wtl_live_push push;
};

struct wtl_agent {
	struct wtl_agent_options options;
	struct wtl_board *board;
	struct wtl_totals totals;
	const char **names; /* of the domains */
	struct wattle_energy *energies,
		*recent;	      /* one a domain: since the start, and of the last interval */
	struct wtl_agent_user *users; /* room for sorting */
	size_t room_users;
	struct wtl_pods pods;
	uint64_t number;
	struct wtl_live *waiting; /* to be published with the next look; NULL: none */
	int64_t begin_utc_ns, counters_utc_ns;
	uint64_t emitted_ug, self_uj; /* the highest so far: they are served as counters */
	bool was_marked;	      /* the last interval has a start */
};

/* 0 or -ENOMEM; done() in any case. Options and board are borrowed. */
int wtl_agent_init(struct wtl_agent *agent, const struct wtl_agent_options *options,
		   struct wtl_board *board);
void wtl_agent_done(struct wtl_agent *agent);
/* Continues the counters of a text (wtl_totals_load()), which began at counters_utc_ns. Before the first look. */
int wtl_agent_resume(struct wtl_agent *agent, const char *totals, int64_t counters_utc_ns);
/* After each bill: publishes a snapshot of now; while recording, that of the look before, which is on
 * the disk by now. Nothing is published this time without memory, or while all snapshots are held. */
void wtl_agent_look(struct wtl_agent *agent, const struct wtl_agent_beside *beside);

#endif
