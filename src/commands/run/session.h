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

/* Runs of commands, measured one after the other with one meter (`wattle run`, `wattle compare`). */

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
	int64_t boot_utc_ns;	     /* when the machine was booted, by the clock at the start */
	int64_t memory_due_ns;
	bool has_read_memory;
	bool is_held; /* the command has ended: only sensors are read */
	struct wtl_run_outcome *outcomes;
	size_t n, size;
};

/* Zeroed before: opens the meter and the rest. recording: its path may be NULL. 0, or negative after
 * wtl_complain(). wtl_run_close() after 0 only. */
int wtl_run_open(struct wtl_run_session *session, struct wtl_app *app,
		 const struct wtl_recording_settings *recording);
void wtl_run_close(struct wtl_run_session *session);
/* Measures the settings' command once, or the tape, and adds the outcome. 0, or after wtl_complain() the exit code
 * to stop with; earlier outcomes still count. */
int wtl_run_once(struct wtl_run_session *session);
/* Drops the last outcome. */
void wtl_run_forget(struct wtl_run_session *session);
/* After the last run: ends the recording, and keeps signals from disturbing the output. 0, or negative if the
 * recording is not complete (reported already). Only then may the reports be read. */
int wtl_run_finish(struct wtl_run_session *session);
/* The exit code of the first run that failed, or 0. */
int wtl_run_exit_code(const struct wtl_run_session *session);

#endif
