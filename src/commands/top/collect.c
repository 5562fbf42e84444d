/* SPDX-License-Identifier: MIT */
#include "commands/top/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/config.h"
#include "base/err.h"
#include "base/text.h"
#include "base/thread.h"
#include "cli/billing.h"
#include "cli/idle.h"
#include "cli/machine.h"
#include "cli/rights.h"
#include "commands/top/replay.h"
#include "energy/units.h"
#include "report/description.h"

/* A scan of all processes takes time, and GPUs' drivers have new samples of their users once a second. */
#define BILL_NS WTL_NS_PER_S
/* The first bill without GPUs, so that the table has figures soon. */
#define BILL_SOON_NS (3 * WTL_NS_PER_S / 10)
/* A shorter time at the end is billed without power. */
#define BILL_LEAST_NS	(WTL_NS_PER_S / 2)
#define SLOW_NS		WTL_NS_PER_S
#define PUBLISH_NS	(100 * WTL_NS_PER_MS)
#define LEAVE_NS	WTL_NS_PER_S
#define REMARK_NS	(8 * WTL_NS_PER_S)
#define REMARK_PAUSE_NS (60 * WTL_NS_PER_S)
/* How long to wait for the first answer of GPUs' drivers. */
#define FIRST_ANSWER_NS (20 * WTL_NS_PER_MS)
#define TAPE_STEP_NS	(5 * WTL_NS_PER_S) /* the longest wait for a tape's next frame */

void wtl_top_collector_init(struct wtl_top_collector *collector, struct wtl_app *app,
			    const struct wtl_top_settings *settings)
{
	memset(collector, 0, sizeof(*collector));
	collector->app = app;
	collector->settings = settings;
	collector->own_memory = -1;
	collector->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	collector->wanted_ns = INT64_MAX;
	pthread_mutex_init(&collector->lock, NULL);
	wtl_thread_cond_init(&collector->changed);
	wtl_top_view_init(&collector->master);
	for (unsigned i = 0; i < 2; i++)
		wtl_top_view_init(&collector->views[i]);
}

/* ---- The thread ---- */

static int open_consumers(struct wtl_top_collector *collector)
{
	const struct wtl_settings *settings = &collector->app->settings;
	const bool is_kept =
		wtl_idle_path(settings, collector->idle_path, sizeof(collector->idle_path)) == 0;
	const struct wtl_session_options options = {
		.consumers = {.nvml_path = settings->nvml_path, .weight = settings->weight},
		.idle_path = is_kept ? collector->idle_path : NULL,
		.is_tape = settings->tape && !settings->idle_file,
	};
	struct wtl_top_view *view = &collector->master;
	struct wtl_err err = {.code = 0};
	int rc;

	if (settings->no_processes) {
		wtl_text_copy(view->processes_reason, sizeof(view->processes_reason),
			      "processes are not followed (--no-processes)");
		return 0;
	}
	rc = wtl_session_open(&collector->session, collector->meter, "top", &options, &err);
	if (rc < 0) {
		wtl_complain_err(collector->app, &err);
		return rc;
	}
	wtl_remark_weight(collector->app, collector->session.consumers);
	wtl_session_load_idle(&collector->session, NULL, NULL);
	wtl_session_begin(&collector->session);
	return 0;
}

static void fill_constants(struct wtl_top_collector *collector)
{
	const struct wtl_settings *settings = &collector->app->settings;
	struct wtl_top_view *view = &collector->master;

	view->interval_ns = settings->interval_ns;
	view->clock.bin_ns = settings->interval_ns;
	view->is_tape = settings->tape != NULL;
	view->is_root = settings->root != NULL;
	view->carbon = settings->carbon;
	view->carbon_is_default = !settings->location;
	view->pue_milli = settings->pue_milli;
}

/* With GPUs only after a second: energy billed before the driver knows their users could never be attributed. */
static int64_t first_bill_ns(const struct wtl_top_collector *collector)
{
	if (collector->bills_late)
		return INT64_MAX;
	return collector->begin_ns +
	       (wtl_top_has_gpus(&collector->master) ? BILL_NS : BILL_SOON_NS);
}

/* For some seconds only, even if losses go on: a permanent line would hide the keys. */
static void remark_losses(struct wtl_top_collector *collector)
{
	const struct wtl_workload_means *means = wtl_consumers_means(collector->session.consumers);
	uint64_t n_lost = means->n_lost_exits + means->n_unfollowed;
	struct wtl_top_view *view = &collector->master;
	int64_t now_ns = wtl_top_screen_ns();

	if (n_lost == collector->n_lost ||
	    (view->remark[0] && now_ns < view->remark_until_ns + REMARK_PAUSE_NS))
		return;
	collector->n_lost = n_lost;
	view->remark_until_ns = now_ns + REMARK_NS;
	/* Short enough for narrow terminals. */
	if (means->n_lost_exits > 0)
		snprintf(view->remark, sizeof(view->remark),
			 "Records of ended processes were lost %" PRIu64 " time%s",
			 means->n_lost_exits, means->n_lost_exits == 1 ? "" : "s");
	else
		snprintf(view->remark, sizeof(view->remark),
			 "No room to follow %" PRIu64 " process%s", means->n_unfollowed,
			 means->n_unfollowed == 1 ? "" : "es");
}

static void bill(struct wtl_top_collector *collector, bool has_power)
{
	struct wtl_top_sampler *sampler = &collector->sampler;

	if (!collector->session.consumers)
		return;
	collector->billed_ns = sampler->window.duration_ns;
	if (collector->bills_late)
		wtl_consumers_name_all(collector->session.consumers);
	wtl_session_bill_window(&collector->session, &sampler->window, sampler->energies);
	if (has_power && !collector->without_table)
		wtl_top_sampler_bill(sampler, &collector->master, sampler->energies);
	remark_losses(collector);
	if (!collector->without_table)
		wtl_top_processes_read_memory(&collector->processes,
					      atomic_load(&collector->walks));
	wtl_top_processes_take(&collector->processes, &collector->master);
	/* For a table without processes. Not before the first bill, as GPUs' drivers may know some. */
	wtl_text_copy(collector->master.processes_reason,
		      sizeof(collector->master.processes_reason), "no process can be seen here");
}

/* Bills the rest of the energy; powers stay those of the last bill. */
static void bill_rest(struct wtl_top_collector *collector)
{
	struct wtl_top_view *view = &collector->master;
	size_t n = view->n_processes;
	struct wtl_top_process *before = calloc(n + 1, sizeof(*before));

	if (!before)
		return;
	if (n > 0)
		memcpy(before, view->processes, n * sizeof(*before));
	bill(collector, false);
	for (size_t i = 0; i < view->n_processes; i++) {
		struct wtl_top_process *process = &view->processes[i];
		size_t k = 0;

		while (k < n && (before[k].consumer.pid != process->consumer.pid ||
				 before[k].consumer.start_ns != process->consumer.start_ns))
			k++;
		process->has_power = k < n && before[k].has_power;
		memcpy(process->cpu_uw, before[k].cpu_uw, sizeof(process->cpu_uw));
		memcpy(process->gpu_uw, before[k].gpu_uw, sizeof(process->gpu_uw));
	}
	free(before);
}

static uint64_t resident_bytes(const struct wtl_top_collector *collector)
{
	char text[128], *at;
	ssize_t len = pread(collector->own_memory, text, sizeof(text) - 1, 0);

	text[len > 0 ? len : 0] = '\0';
	at = strchr(text, ' ');
	return at ? strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Figures that change slowly, or are expensive. */
static void take_slow(struct wtl_top_collector *collector)
{
	struct wtl_top_view *view = &collector->master;

	wtl_gpu_details_ask(&collector->gpus, 0);
	wtl_host_read(&collector->host, wtl_consumers_machine(collector->session.consumers));
	view->machine = collector->host.state;
	wtl_top_limits_take(&collector->limits, view);
	wtl_top_self_take(view, collector->meter, wtl_top_screen_ns(), wtl_describe_self_cpu_ns());
	view->self.rss_bytes = resident_bytes(collector);
}

/* Fills in the domains; their power comes with samples. */
static int begin_domains(struct wtl_top_collector *collector)
{
	struct wtl_top_view *view = &collector->master;
	int rc = wtl_top_sampler_init(&collector->sampler, collector->meter, view);

	if (rc == 0)
		rc = wtl_top_gpus_init(&collector->gpus, collector->meter, view);
	if (rc < 0) {
		wtl_complain(collector->app, "cannot begin: %s", wtl_err_text(rc));
		return rc;
	}
	wtl_host_init(&collector->host, collector->io, collector->meter->machine.n_cpus);
	wtl_top_limits_init(&collector->limits, collector->io, view);
	collector->own_memory = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	view->machine = collector->host.state;
	return 0;
}

/* All accounts begin here, after the first scan of processes, which takes a while. No sensor is read before: on a
 * tape of `wattle run`, the clock would be late by the scan, and the machine's busy time too short. */
static int begin_accounts(struct wtl_top_collector *collector)
{
	const struct wtl_settings *settings = &collector->app->settings;
	struct wtl_top_view *view = &collector->master;
	int rc = open_consumers(collector);

	if (rc == 0)
		rc = wtl_top_sampler_begin(&collector->sampler);
	if (rc < 0)
		return rc;
	/* Users are named as on this machine. */
	wtl_top_processes_init(&collector->processes, !settings->root && !settings->tape, NULL,
			       collector->session.consumers);
	collector->begin_ns = wtl_io_mono_ns(collector->io);
	collector->bill_due_ns = first_bill_ns(collector);
	wtl_top_sampler_take(&collector->sampler, view, collector->begin_ns);
	wtl_top_processes_take(&collector->processes, view);
	take_slow(collector);
	return 0;
}

static void set_state(struct wtl_top_collector *collector, enum wtl_top_state state, bool is_over)
{
	pthread_mutex_lock(&collector->lock);
	collector->state = state;
	collector->is_over = is_over;
	pthread_cond_broadcast(&collector->changed);
	pthread_mutex_unlock(&collector->lock);
	eventfd_write(collector->news, 1);
}

int wtl_top_collector_open(struct wtl_top_collector *collector)
{
	int rc;

	if (HAVE_RECORDINGS && collector->settings->replay) {
		wtl_rights_drop();
		return wtl_top_replay_open(collector);
	}
	rc = wtl_open_meter(collector->app, &collector->meter, &collector->io);
	if (rc < 0)
		return rc;
	fill_constants(collector);
	rc = begin_domains(collector);
	if (rc < 0)
		return rc;
	wtl_top_collector_publish(collector);
	set_state(collector, WTL_TOP_BEGUN, false);
	rc = begin_accounts(collector);
	if (rc < 0)
		return rc;
	wtl_gpu_details_poll(&collector->gpus, FIRST_ANSWER_NS);
	wtl_top_collector_publish(collector);
	return 0;
}

/* A whole number of seconds since the start. */
static int64_t next_bill_ns(const struct wtl_top_collector *collector, int64_t now_ns)
{
	int64_t since_ns = now_ns - collector->begin_ns;

	return collector->begin_ns + (since_ns / BILL_NS + 1) * BILL_NS;
}

/* A tape has processes only at the times of its own scans. */
static bool bill_is_due(const struct wtl_top_collector *collector, int64_t now_ns)
{
	int rc = wtl_io_has_process_cpu(collector->io);

	return rc < 0 ? now_ns >= collector->bill_due_ns : rc > 0;
}

static void take_due(struct wtl_top_collector *collector, int64_t now_ns)
{
	/* Samples come a little early or late: what is due goes with the nearest one. */
	const int64_t slack_ns = collector->master.interval_ns / 2;

	if (bill_is_due(collector, now_ns)) {
		bill(collector, true);
		collector->bill_due_ns = next_bill_ns(collector, now_ns);
	}
	if (now_ns >= collector->slow_due_ns) {
		collector->slow_due_ns = now_ns + SLOW_NS - slack_ns;
		take_slow(collector);
	}
	if (now_ns >= collector->publish_due_ns) {
		collector->publish_due_ns = now_ns + PUBLISH_NS - slack_ns;
		wtl_gpu_details_poll(&collector->gpus, 0);
		wtl_top_collector_publish(collector);
	}
}

int wtl_top_collector_step(struct wtl_top_collector *collector, int64_t due_ns)
{
	struct wtl_io *io = collector->io;
	int rc = wtl_io_wait_until(io, due_ns);
	int64_t now_ns;

	if (rc < 0 && rc != -EINTR)
		return rc;
	now_ns = wtl_io_mono_ns(io);
	wattle_meter_tick(collector->meter);
	wtl_top_sampler_take(&collector->sampler, &collector->master, now_ns);
	take_due(collector, now_ns);
	return 0;
}

void wtl_top_collector_finish(struct wtl_top_collector *collector)
{
	int64_t left_ns = collector->sampler.window.duration_ns - collector->billed_ns;

	if (collector->billed_ns > 0 && left_ns > 0 && left_ns < BILL_LEAST_NS)
		bill_rest(collector);
	else if (left_ns > 0)
		bill(collector, true);
	take_slow(collector);
	wtl_top_collector_publish(collector);
}

/* Sleeps until a time of the screen's clock; false: it is time to stop. */
static bool sleep_until(struct wtl_top_collector *collector, int64_t t_ns)
{
	bool stop;

	pthread_mutex_lock(&collector->lock);
	while (!collector->stop && wtl_thread_wait(&collector->changed, &collector->lock, t_ns))
		continue;
	stop = collector->stop;
	pthread_mutex_unlock(&collector->lock);
	return !stop;
}

static void sample_machine(struct wtl_top_collector *collector)
{
	int64_t interval_ns = collector->master.interval_ns;
	int64_t due_ns = wtl_io_mono_ns(collector->io) + interval_ns;

	while (sleep_until(collector, due_ns)) {
		int64_t behind;

		wtl_top_collector_step(collector, due_ns);
		behind = wtl_io_mono_ns(collector->io) - due_ns;
		/* Missed samples are skipped. */
		due_ns += interval_ns * (1 + (behind > 0 ? behind / interval_ns : 0));
	}
}

/* As fast as the tape was recorded. */
static void sample_tape(struct wtl_top_collector *collector)
{
	int64_t tape_ns = wtl_io_mono_ns(collector->io), due_ns = wtl_top_screen_ns();

	while (wtl_top_collector_step(collector, INT64_MAX) == 0) {
		int64_t now_ns = wtl_io_mono_ns(collector->io), step_ns = now_ns - tape_ns;

		tape_ns = now_ns;
		due_ns += step_ns < 0 ? 0 : step_ns > TAPE_STEP_NS ? TAPE_STEP_NS : step_ns;
		if (!sleep_until(collector, due_ns))
			return;
	}
	collector->master.is_over = true;
	wtl_top_collector_finish(collector);
}

static void *collect(void *argument)
{
	struct wtl_top_collector *collector = argument;
	enum wtl_top_state state = WTL_TOP_FAILED;

	if (wtl_top_collector_open(collector) == 0) {
		state = WTL_TOP_RUNNING;
		set_state(collector, state, false);
		if (HAVE_RECORDINGS && collector->replay)
			state = wtl_top_replay_run(collector) < 0 ? WTL_TOP_FAILED : state;
		else if (collector->master.is_tape)
			sample_tape(collector);
		else
			sample_machine(collector);
	}
	set_state(collector, state, true);
	return NULL;
}

int wtl_top_collector_start(struct wtl_top_collector *collector)
{
	int rc = wtl_thread_start(&collector->thread, collect, collector);

	/* The other thread has rights of its own, until its meter is open. */
	wtl_rights_drop();
	collector->has_thread = rc == 0;
	return rc;
}

enum wtl_top_state wtl_top_collector_wait(struct wtl_top_collector *collector, int64_t timeout_ns)
{
	int64_t until_ns = wtl_top_screen_ns() + timeout_ns;
	enum wtl_top_state state;

	pthread_mutex_lock(&collector->lock);
	while (timeout_ns > 0 && collector->state == WTL_TOP_OPENING &&
	       wtl_thread_wait(&collector->changed, &collector->lock, until_ns))
		continue;
	state = collector->state;
	pthread_mutex_unlock(&collector->lock);
	return state;
}

/* Waits for the thread, but not for a device that never answers. */
static bool stop_thread(struct wtl_top_collector *collector)
{
	int64_t until_ns = wtl_top_screen_ns() + LEAVE_NS;
	bool is_over;

	pthread_mutex_lock(&collector->lock);
	collector->stop = true;
	pthread_cond_broadcast(&collector->changed);
	while (!collector->is_over &&
	       wtl_thread_wait(&collector->changed, &collector->lock, until_ns))
		continue;
	is_over = collector->is_over;
	pthread_mutex_unlock(&collector->lock);
	if (is_over)
		pthread_join(collector->thread, NULL);
	else
		pthread_detach(collector->thread);
	return is_over;
}

bool wtl_top_collector_done(struct wtl_top_collector *collector)
{
	if (collector->has_thread && !stop_thread(collector))
		return false;
	if (!wtl_gpu_details_done(&collector->gpus))
		return false;
	if (!wtl_idle_close_session(&collector->session))
		return false;
	wtl_top_processes_done(&collector->processes);
	wtl_top_sampler_done(&collector->sampler);
	wtl_host_done(&collector->host);
	wtl_top_limits_done(&collector->limits);
	if (collector->own_memory >= 0)
		close(collector->own_memory);
	if (collector->news >= 0)
		close(collector->news);
	if (HAVE_RECORDINGS)
		wtl_top_replay_done(collector);
	if (collector->meter)
		wtl_close_meter(collector->app, collector->meter, collector->io);
	wtl_top_view_done(&collector->master);
	for (unsigned i = 0; i < 2; i++)
		wtl_top_view_done(&collector->views[i]);
	pthread_cond_destroy(&collector->changed);
	pthread_mutex_destroy(&collector->lock);
	return true;
}
