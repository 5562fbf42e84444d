/* SPDX-License-Identifier: MIT */
#include "commands/run/session.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/array.h"
#include "base/config.h"
#include "base/io.h"
#include "base/num.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/machine.h"
#include "cli/user.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"

#define WINDOW	  "run"
#define MEMORY_NS WTL_NS_PER_S

/* Processes whose memory is read per second. The first time more: those to report may end soon. */
enum { MEMORY_FIRST = 32, MEMORY_READS = 10 };

static int64_t boot_utc_ns(struct wtl_io *io)
{
	return wtl_io_real_ns(io) - wtl_io_boot_ns(io);
}

static void begin_window(struct wtl_run_session *session)
{
	session->boot_utc_ns = boot_utc_ns(session->io);
	session->memory_due_ns = wtl_io_mono_ns(session->io) + MEMORY_NS;
	session->has_read_memory = false;
	wtl_billing_begin(&session->billing);
	wattle_window_begin(session->meter, WINDOW);
	if (session->every)
		wtl_run_every_begin(session->every);
}

/* Sensors report power with a delay, which matters for short commands. Not with a recording or a tape, which end
 * with the command, nor with --every, whose lines are printed already. */
static void wait_for_sensors(struct wtl_run_session *session)
{
	int64_t wait_ns;

	if (session->recording.recorder || session->app->settings.tape_record || session->every ||
	    session->loop.interrupts > 0 || wtl_window_hold(session->meter, WINDOW, &wait_ns) < 0)
		return;
	wtl_billing_hold(&session->billing);
	session->is_held = true;
	if (wait_ns > 0)
		wtl_loop_idle(&session->loop, session->meter, session->io, wait_ns);
	session->is_held = false;
}

static void end_window(struct wtl_run_session *session, struct wtl_run_outcome *outcome)
{
	struct wtl_description *description = &outcome->description;
	struct wattle_window *window = &outcome->report.window;

	wtl_window_end(session->meter, WINDOW, window, description->energies,
		       description->n_domains);
	wtl_billing_bill(&session->billing, window, description->energies);
	if (session->every)
		wtl_run_every_end(session->every, window);
	if (HAVE_RECORDINGS)
		wtl_recording_window(&session->recording, WINDOW, false, window,
				     description->energies);
}

/* Of the processes to report, as long as they live. A recording reads it itself. */
static void look_at_memory(struct wtl_run_session *session)
{
	int64_t now_ns = wtl_io_mono_ns(session->io);

	if (!session->billing.consumers || session->recording.recorder ||
	    now_ns < session->memory_due_ns)
		return;
	session->memory_due_ns = now_ns + MEMORY_NS;
	wtl_consumers_read_memory(session->billing.consumers,
				  session->has_read_memory ? MEMORY_READS : MEMORY_FIRST);
	session->has_read_memory = true;
}

static void ticked(void *context)
{
	struct wtl_run_session *session = context;

	if (session->is_held)
		return;
	wtl_billing_look(&session->billing);
	look_at_memory(session);
	if (session->every)
		wtl_run_every_look(session->every);
	if (HAVE_RECORDINGS)
		wtl_recording_look(&session->recording);
}

static void name_user(void *context, uint32_t uid, char *name, size_t size)
{
	const struct wtl_run_session *session = context;
	const struct wtl_settings *settings = &session->app->settings;

	wtl_user_name(!settings->root && !settings->tape, uid, name, size);
}

static int64_t start_of(void *context, int64_t start_ns)
{
	const struct wtl_run_session *session = context;

	return session->boot_utc_ns + start_ns;
}

static void report_window(struct wtl_run_session *session, struct wtl_run_outcome *outcome)
{
	struct wtl_description *description = &outcome->description;
	struct wtl_report *report = &outcome->report;
	const struct wtl_report_source source = {
		.meter = session->meter,
		.consumers = session->billing.consumers,
		.naming = {name_user, start_of, session},
		.place = wtl_settings_place(&session->app->settings),
		.top = session->app->settings.top,
	};

	wtl_description_report(description, &source, report);
	wtl_billing_describe(&session->billing, description);
	wtl_describe_clock_step(description, boot_utc_ns(session->io) - session->boot_utc_ns,
				"by the clock as it was at the start");
	wtl_description_end(description, report);
	wtl_describe_self(session->meter, &report->self);
	report->self.late_ticks = session->loop.late_ticks;
}

/* The last sample gets a frame of its own, and one more: replaying samples every frame, and then once more at the
 * end, and so finds the same ones. */
static void end_tape(struct wtl_run_session *session)
{
	wtl_io_wait_until(session->io, wtl_io_mono_ns(session->io));
	wattle_meter_tick(session->meter);
	ticked(session);
}

/* Follows the command, or on a tape the one that the recorded run followed. pid: /proc's number; 0 on a tape. */
static void follow(struct wtl_run_session *session, int pid)
{
	char text[16];
	uint64_t told;

	if (!session->billing.consumers)
		return;
	snprintf(text, sizeof(text), "%d", pid);
	if (wtl_io_note(session->io, "command", text, sizeof(text)) == 1 &&
	    wtl_num_u64(text, strlen(text), &told) == 0 && told > 0 && told <= INT_MAX)
		wtl_consumers_follow(session->billing.consumers, (int)told);
}

/* Returns 0, or the exit code to stop with if the command could not be started. */
static int run_command(struct wtl_run_session *session, struct wtl_run_outcome *outcome)
{
	struct wtl_report *report = &outcome->report;
	struct wtl_child child;
	int stop;

	begin_window(session);
	stop = wtl_child_start(&child, session->app);
	if (stop) {
		wattle_window_cancel(session->meter, WINDOW);
		return stop;
	}
	session->billing.lacks_command = child.number == 0;
	follow(session, child.number);
	if (HAVE_RECORDINGS)
		wtl_recording_command(&session->recording, &child);
	wtl_loop_hurry(&session->loop, session->app, session->meter, session->io);
	wtl_loop_run_command(&session->loop, session->app, session->meter, session->io, &child);
	if (session->app->settings.tape_record)
		end_tape(session);
	wtl_billing_command_ended(&session->billing, &child);
	report->interrupted = session->loop.interrupts > 0;
	wait_for_sensors(session);
	end_window(session, outcome);
	wtl_child_reap(&child);
	report->command = session->app->settings.command;
	report->has_exit = child.ended;
	report->command_cpu_ns = -1;
	if (child.ended) {
		report->exit_status = wtl_child_exit_code(&child);
		report->exit_signal =
			WIFSIGNALED(child.wait_status) ? WTERMSIG(child.wait_status) : 0;
		report->command_cpu_ns = child.cpu_ns;
		report->command_rss_bytes = child.max_rss_bytes;
	}
	report_window(session, outcome);
	return 0;
}

static int run_tape(struct wtl_run_session *session, struct wtl_run_outcome *outcome)
{
	struct wtl_io *io = session->io;

	begin_window(session);
	follow(session, 0);
	while (wtl_io_wait_until(io, INT64_MAX) == 0) {
		wattle_meter_tick(session->meter);
		ticked(session);
		follow(session, 0);
	}
	wtl_billing_command_ended(&session->billing, NULL);
	end_window(session, outcome);
	outcome->report.command_cpu_ns = -1;
	report_window(session, outcome);
	return 0;
}

static struct wtl_run_outcome *add_outcome(struct wtl_run_session *session)
{
	struct wtl_run_outcome *outcome;

	if (wtl_array_reserve(&session->outcomes, &session->size, session->n + 1,
			      sizeof(*outcome)) < 0)
		return NULL;
	outcome = &session->outcomes[session->n];
	memset(outcome, 0, sizeof(*outcome));
	if (wtl_description_init(&outcome->description, session->meter) < 0)
		return NULL;
	session->n++;
	return outcome;
}

void wtl_run_forget(struct wtl_run_session *session)
{
	wtl_description_done(&session->outcomes[--session->n].description);
}

int wtl_run_once(struct wtl_run_session *session)
{
	struct wtl_run_outcome *outcome = add_outcome(session);
	int stop;

	if (!outcome) {
		wtl_complain(session->app, "out of memory after %zu runs", session->n);
		return WTL_EXIT_WATTLE_FAILED;
	}
	stop = session->app->settings.tape ? run_tape(session, outcome)
					   : run_command(session, outcome);
	if (stop)
		wtl_run_forget(session);
	return stop;
}

int wtl_run_finish(struct wtl_run_session *session)
{
	int rc = HAVE_RECORDINGS ? wtl_recording_close(&session->recording) : 0;

	wtl_loop_finish(&session->loop);
	/* The notes are inside the outcomes, which have moved since. */
	for (size_t i = 0; i < session->n; i++) {
		struct wtl_description *description = &session->outcomes[i].description;

		for (size_t k = 0; k < description->n_notes; k++)
			description->notes[k] = description->notes_text[k];
		session->outcomes[i].report.notes = description->notes;
	}
	return rc;
}

int wtl_run_exit_code(const struct wtl_run_session *session)
{
	for (size_t i = 0; i < session->n; i++) {
		const struct wtl_report *report = &session->outcomes[i].report;

		if (report->interrupted && !report->has_exit)
			return 128 + session->loop.last_signal;
		if (report->exit_status)
			return report->exit_status;
	}
	return WTL_EXIT_DONE;
}

static int open_recording(struct wtl_run_session *session)
{
	return HAVE_RECORDINGS
		       ? wtl_recording_open(&session->recording, &session->billing, &session->loop)
		       : 0;
}

static void end_recording(struct wtl_run_session *session)
{
	if (HAVE_RECORDINGS)
		wtl_recording_done(&session->recording, NULL);
}

int wtl_run_open(struct wtl_run_session *session, struct wtl_app *app,
		 const struct wtl_recording_settings *recording)
{
	session->app = app;
	if (HAVE_RECORDINGS)
		wtl_recording_listen(&session->recording, app, recording, false);
	if (wtl_open_meter(app, &session->meter, &session->io) < 0) {
		end_recording(session);
		return -1;
	}
	if (wtl_loop_init(&session->loop, app, ticked, session) < 0) {
		end_recording(session);
		wtl_close_meter(app, session->meter, session->io);
		return -1;
	}
	if (wtl_billing_open(&session->billing, app, session->meter, session->io, WINDOW) == 0 &&
	    open_recording(session) == 0)
		return 0;
	wtl_run_close(session);
	return -1;
}

void wtl_run_close(struct wtl_run_session *session)
{
	end_recording(session);
	wtl_billing_close(&session->billing);
	for (size_t i = 0; i < session->n; i++)
		wtl_description_done(&session->outcomes[i].description);
	free(session->outcomes);
	wtl_loop_done(&session->loop);
	wtl_close_meter(session->app, session->meter, session->io);
}
