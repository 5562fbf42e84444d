/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/config.h"
#include "base/err.h"
#include "base/io.h"
#include "base/num.h"
#include "cli/billing.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "report/description.h"
#include "cli/idle.h"
#include "cli/loop.h"
#include "cli/progress.h"
#include "cli/process.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "meter/observer.h"
#include "replay/recorder.h"
#include "workload/workload.h"

/* Who adopts the command's orphans: this wattle, or the one that recorded the tape. 0: nobody. */
static int subreaper(const struct wtl_settings *settings, struct wtl_io *io)
{
	bool is_here = !settings->tape && !settings->root;
	int number = is_here ? wtl_process_number(getpid()) : 0;
	char text[16];
	uint64_t pid;

	snprintf(text, sizeof(text), "%d", number > 0 ? number : 0);
	if (wtl_io_note(io, "subreaper", text, sizeof(text)) != 1 ||
	    wtl_num_u64(text, strlen(text), &pid) < 0 || pid > INT_MAX)
		return 0;
	return (int)pid;
}

void wtl_remark_weight(const struct wtl_app *app, struct wtl_consumers *consumers)
{
	const struct wtl_workload_way *way =
		&wtl_consumers_means(consumers)->ways[WTL_WAY_COUNTERS];

	if (wtl_workload_weight_error(wtl_consumers_workload(consumers)) == 0)
		return;
	wtl_remark(app, "--weight %s: %s%s%s", wtl_weight_name(app->settings.weight), way->reason,
		   way->remedy ? "; " : "", way->remedy ? way->remedy : "");
}

int wtl_billing_open(struct wtl_billing *billing, struct wtl_app *app, struct wattle_meter *meter,
		     struct wtl_io *io, const char *window)
{
	const struct wtl_settings *settings = &app->settings;
	const bool is_kept =
		wtl_idle_path(settings, billing->idle_path, sizeof(billing->idle_path)) == 0;
	const struct wtl_session_options how = {
		.consumers = {.nvml_path = settings->nvml_path,
			      .names_on_use = true,
			      .max_exited = settings->max_exited,
			      .weight = settings->weight,
			      .subreaper_pid = subreaper(settings, io)},
		.idle_path = is_kept ? billing->idle_path : NULL,
		.is_tape = settings->tape && !settings->idle_file,
	};
	struct wtl_err err = {.code = 0};
	int rc;

	billing->app = app;
	billing->meter = meter;
	billing->io = io;
	billing->window = window;
	rc = settings->no_processes
		     ? wtl_session_load_kept(meter, how.idle_path, &err)
		     : wtl_session_open(&billing->session, meter, window, &how, &err);
	if (rc < 0) {
		wtl_complain_err(app, &err);
		return rc;
	}
	if (settings->no_processes)
		return 0;
	billing->consumers = billing->session.consumers;
	wtl_remark_weight(app, billing->consumers);
	/* With --idle-first, stored idle power is loaded after it, so as not to be mixed with what it learns. */
	if (!settings->idle_first_ns || !wtl_session_can_learn_idle(&billing->session))
		wtl_session_load_idle(&billing->session, NULL, NULL);
	return 0;
}

void wtl_billing_close(struct wtl_billing *billing)
{
	wtl_idle_close_session(&billing->session);
}

void wtl_billing_begin(struct wtl_billing *billing)
{
	if (!billing->consumers)
		return;
	wtl_session_begin(&billing->session);
	billing->n_lost_exits = wtl_consumers_means(billing->consumers)->n_lost_exits;
	billing->n_unfollowed = wtl_consumers_means(billing->consumers)->n_unfollowed;
}

void wtl_billing_bill(struct wtl_billing *billing, const struct wattle_window *window,
		      const struct wattle_energy energies[])
{
	if (!billing->consumers)
		return;
	if (!billing->has_looked)
		wtl_session_look(&billing->session);
	billing->has_looked = false;
	wtl_session_bill_look(&billing->session, window, energies);
}

void wtl_billing_hold(struct wtl_billing *billing)
{
	if (!billing->consumers)
		return;
	wtl_session_look(&billing->session);
	billing->has_looked = true;
}

void wtl_billing_describe(const struct wtl_billing *billing, struct wtl_description *description)
{
	const struct wtl_workload_means *means;

	if (!billing->consumers)
		return;
	means = wtl_consumers_means(billing->consumers);
	wtl_describe_losses(description, means->n_lost_exits - billing->n_lost_exits,
			    means->n_unfollowed - billing->n_unfollowed);
	if (billing->lacks_command)
		wtl_describe_no_command(description);
}

void wtl_billing_look_now(struct wtl_billing *billing)
{
	if (billing->consumers)
		wtl_session_bill(&billing->session);
}

void wtl_billing_command_ended(struct wtl_billing *billing, const struct wtl_child *child)
{
	char text[24];
	uint64_t told;

	if (!billing->consumers)
		return;
	snprintf(text, sizeof(text), "%lld", child ? (long long)wtl_child_used_ns(child) : 0LL);
	if (wtl_io_note(billing->io, "command-cpu", text, sizeof(text)) == 1 &&
	    wtl_num_u64(text, strlen(text), &told) == 0 && told <= INT64_MAX)
		wtl_consumers_command_ended(billing->consumers, (int64_t)told);
}

void wtl_billing_look(void *context)
{
	struct wtl_billing *billing = context;

	if (billing->consumers)
		wtl_session_tick(&billing->session);
}

static void record_idle(void *recorder, size_t domain, const struct wtl_baseline *idle)
{
	if (HAVE_RECORDINGS)
		wtl_recorder_idle(recorder, domain, idle);
}

/* In steps of a second if progress is shown. */
static int watch_idle(struct wtl_billing *billing, struct wtl_loop *loop, int64_t duration_ns)
{
	bool is_shown = wtl_progress_is_shown(billing->app);
	int64_t step_ns = is_shown ? WTL_NS_PER_S : duration_ns;
	int rc = 0;

	for (int64_t left_ns = duration_ns; rc == 0 && left_ns > 0 && !loop->stop;
	     left_ns -= step_ns) {
		wtl_progress_show(billing->app, true, "watching the idle machine: %lld s left",
				  (long long)((left_ns + WTL_NS_PER_S - 1) / WTL_NS_PER_S));
		rc = wtl_loop_idle(loop, billing->meter, billing->io,
				   left_ns < step_ns ? left_ns : step_ns);
	}
	wtl_progress_clear(billing->app);
	return rc;
}

int wtl_billing_watch_idle(struct wtl_billing *billing, struct wtl_loop *loop,
			   struct wtl_recorder *recorder)
{
	int64_t duration_ns = billing->app->settings.idle_first_ns;

	if (!duration_ns || !billing->consumers)
		return 0;
	if (!wtl_session_can_learn_idle(&billing->session)) {
		wtl_remark(billing->app, "what this machine draws at rest is modelled: there is "
					 "nothing to watch first");
		return 0;
	}
	if (!wtl_progress_is_shown(billing->app))
		wtl_remark(billing->app, "watching the idle machine for %lld s",
			   (long long)(duration_ns / WTL_NS_PER_S));
	wtl_billing_begin(billing);
	wattle_window_begin(billing->meter, billing->window);
	if (watch_idle(billing, loop, duration_ns) < 0)
		return 128 + loop->last_signal;
	wtl_billing_look_now(billing);
	wattle_window_cancel(billing->meter, billing->window);
	if (!wtl_session_learned_idle(&billing->session))
		wtl_remark(billing->app, "the machine was not idle: nothing was learned of what it "
					 "draws at rest");
	wtl_session_load_idle(&billing->session, record_idle, recorder);
	return 0;
}
