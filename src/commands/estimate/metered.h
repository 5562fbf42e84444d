/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_METERED_H
#define WTL_COMMANDS_ESTIMATE_METERED_H

#include "cli/billing.h"
#include "cli/loop.h"

/* Short stretches of work of one process, each a window of wattle's meter. */
struct wtl_metered {
	struct wtl_app *app;
	struct wattle_meter *meter;
	struct wtl_io *io;
	struct wtl_loop loop;
	struct wtl_billing billing;
	struct wattle_energy *energies; /* one per domain */
	const char *lacks_process;	/* NULL: the process is followed; else why not */
};

/* The energy of a stretch. Uncertainties are expanded, at k = 2. */
struct wtl_metered_energy {
	bool is_known, is_modelled;
	double dynamic_j, uncertainty_j;   /* of the process, above idle power */
	double idle_w, idle_uncertainty_w; /* idle power, of all domains that count in the total */
	char source[64];		   /* of the energy: "rapl-perf" */
	const char *reason;		   /* if not known: why. Static */
};

/* Opens the meter. Learns the idle power first if it is not known and --idle-first does not ask for it.
 * 0, or after a complaint the exit code to stop with. */
int wtl_metered_open(struct wtl_metered *metered, struct wtl_app *app);
void wtl_metered_close(struct wtl_metered *metered);

/* A stretch: begin, wait until the watched descriptor is readable (0, or the exit code to stop with), end.
 * pid: the process to measure, by /proc's number. */
int wtl_metered_watch(struct wtl_metered *metered, int fd);
void wtl_metered_begin(struct wtl_metered *metered, int pid);
int wtl_metered_wait(struct wtl_metered *metered);
void wtl_metered_end(struct wtl_metered *metered, struct wtl_metered_energy *ret);

#endif
