/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_RUN_SESSION_H
#define WTL_COMMANDS_RUN_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/billing.h"
#include "cli/loop.h"
#include "commands/record/recording.h"
#include "commands/run/every.h"
#include "document/report.h"
#include "energy/statistics.h"
#include "report/description.h"
#include "report/run_figures.h"

struct wtl_app;

/* Runs of commands that are measured one after the other, with one meter (`wattle run`, `wattle compare`). */

#define WTL_RUN_OUTPUT_MAX (256u << 20) /* bytes of a result */

/* One finished run. The report borrows from the description. */
struct wtl_run_outcome {
	struct wtl_report report;
	struct wtl_description description;
};

struct wtl_run_session {
	struct wtl_app *app;
	struct wattle_meter *meter;
	struct wtl_io *io;
	struct wtl_loop loop;
	struct wtl_billing billing;
	struct wtl_recording_session recording;
	struct wtl_run_every *every; /* NULL: no lines while it runs. Borrowed */
	int64_t boot_utc_ns; /* when the machine started, by the clock as it was at the start */
	int64_t memory_due_ns;
	bool has_read_memory;
	bool is_held; /* the command has ended, and nothing but sensors is looked at */
	struct wtl_run_outcome *outcomes;
	size_t n, size;
};

/* Of zeroed memory: opens the meter and what goes with it. recording: its path may be NULL. 0, or negative after
 * wtl_complain(). wtl_run_close() after 0 only. */
int wtl_run_open(struct wtl_run_session *session, struct wtl_app *app,
		 const struct wtl_recording_settings *recording);
void wtl_run_close(struct wtl_run_session *session);
/* Measures the settings' command once, or the tape: one outcome more. 0, or after wtl_complain() the exit code
 * to stop with; then the outcomes before it still count. */
int wtl_run_once(struct wtl_run_session *session);
/* Forgets the last outcome. */
void wtl_run_forget(struct wtl_run_session *session);
/* No run follows: ends the recording, and what is written next is not disturbed by signals. 0, or negative
 * (said already) where the recording is not whole. Reports may be read from then on. */
int wtl_run_finish(struct wtl_run_session *session);
/* The exit code of the first run that failed, or 0. */
int wtl_run_exit_code(const struct wtl_run_session *session);

#endif
