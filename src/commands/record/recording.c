/* SPDX-License-Identifier: MIT */
#include "commands/record/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/text.h"
#include "report/description.h"
#include "cli/machine.h"
#include "cli/mapped.h"
#include "cli/option.h"
#include "cli/user.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "document/command_words.h"
#include "document/format.h"
#include "meter/meter.h"

/* A crash loses at most a second: this time, and that of writing to the disk. */
#define COMMIT_NS (WTL_NS_PER_S / 100 * 85)
/* The first commit comes soon, so that the recording can be opened. */
#define FIRST_COMMIT_NS (WTL_NS_PER_S / 5)

/* Reading a process's memory takes up to milliseconds: at most so many per commit. */
enum {
	RSS_READS = 10, /* per second, of processes that ran */
	PSS_READS = 3,	/* walking a process's pages is slow */
	COMMAND_TEXT_MAX = 4096,
};

static void user_name(void *context, uint32_t uid, char name[33])
{
	const struct wtl_app *app = context;

	wtl_user_name(!app->settings.root && !app->settings.tape, uid, name, 33);
}

static void complain(const struct wtl_recording_session *recording, const struct wtl_err *err)
{
	wtl_complain(recording->app, "%s: %s", err->path[0] ? err->path : recording->path,
		     err->text[0] ? err->text : wtl_err_text(err->code));
}

int wtl_recording_set_path(struct wtl_app *app, const struct wtl_option *option, const char *path)
{
	if (strcmp(path, "-") == 0)
		return wtl_complain(app,
				    "--%s takes the path of a file: a recording cannot go to "
				    "standard output",
				    option->name);
	if (!path[0])
		return -EINVAL;
	*(const char **)wtl_option_target(app, option) = path;
	return 0;
}

void wtl_recording_type_path(struct wtl_buf *buf, const char *path)
{
	struct wtl_buf word;

	wtl_buf_init(&word, PATH_MAX + 2);
	wtl_buf_printf(&word, "%s%s", path[0] == '-' ? "./" : "", path);
	wtl_format_command(buf, (char *const[]){word.error ? NULL : word.data, NULL});
	wtl_buf_done(&word);
}

/* ---- Beginning ---- */

static void tell_command(struct wtl_recording_session *recording)
{
	char *const *command = recording->app->settings.command;
	struct wtl_buf text;

	wtl_buf_init(&text, COMMAND_TEXT_MAX);
	wtl_command_text(&text, command);
	if (command)
		wtl_recorder_fact(recording->recorder, "command", wtl_buf_str(&text));
	wtl_buf_done(&text);
}

static void tell_host(struct wtl_recording_session *recording)
{
	const struct wtl_settings *settings = &recording->app->settings;
	char host[65] = "", number[24];

	wtl_machine_name(settings, recording->billing->io, host, sizeof(host));
	if (host[0])
		wtl_recorder_fact(recording->recorder, "host", host);
	snprintf(number, sizeof(number), "%lld", (long long)recording->app->settings.interval_ns);
	wtl_recorder_fact(recording->recorder, "interval-ns", number);
	if (recording->app->settings.location)
		wtl_recorder_fact(recording->recorder, "location",
				  recording->app->settings.location);
	if (recording->app->settings.pue_milli) {
		snprintf(number, sizeof(number), "%u", recording->app->settings.pue_milli);
		wtl_recorder_fact(recording->recorder, "pue-milli", number);
	}
}

void wtl_recording_listen(struct wtl_recording_session *recording, struct wtl_app *app,
			  const struct wtl_recording_settings *settings, bool can_stop)
{
	struct wtl_err err = {.code = 0};
	char instead[80] = "";

	*recording = (struct wtl_recording_session){
		.app = app, .settings = settings, .path = settings->path, .can_stop = can_stop};
	recording->marks.asked = wtl_recording_asked;
	recording->marks.context = recording;
	if (!recording->path)
		return;
	app->settings.max_windows = WTL_RECORDED_WINDOWS_MAX;
	if (app->settings.tape)
		return;
	if (wtl_mark_server_open(&recording->marks, &err) == 0) {
		setenv(WTL_MARK_VARIABLE, recording->marks.path, 1);
		return;
	}
	if (can_stop)
		snprintf(instead, sizeof(instead), ", and --stop cannot end it (kill %d does)",
			 (int)getpid());
	wtl_remark(app, "no windows can be marked from outside%s: %s%s%s", instead, err.path,
		   err.path[0] ? ": " : "", err.text);
}

static int begin(const struct wtl_recording_session *recording, const char *path, bool is_late,
		 struct wtl_recorder **ret_recorder, struct wtl_err *err)
{
	const struct wtl_settings *settings = &recording->app->settings;
	struct wtl_billing *billing = recording->billing;
	const struct wtl_recorder_options options = {
		.path = path,
		.store = {.max_bytes = recording->settings->max_bytes,
			  .max_age_ns = recording->settings->max_age_ns,
			  .io = billing->io,
			  .guard = wtl_mapped_guard},
		.interval_ns = settings->interval_ns,
		.is_late = is_late,
		.peak_memory = wtl_peak_memory_bytes,
		.user = user_name,
		.user_context = recording->app,
	};

	return wtl_recorder_new(billing->meter, billing->consumers, &options, ret_recorder, err);
}

static bool has_no_place(const struct wtl_recording_session *recording)
{
	return recording->settings->not_yet && recording->settings->not_yet->code < 0;
}

static int begin_first(struct wtl_recording_session *recording, struct wtl_err *err)
{
	size_t n = wattle_meter_domains(recording->billing->meter);

	recording->energies = calloc(n + 1, sizeof(*recording->energies));
	if (!recording->energies)
		return wtl_err_set(err, ENOMEM, "record", NULL, "out of memory");
	if (has_no_place(recording)) {
		*err = *recording->settings->not_yet;
		return err->code;
	}
	return begin(recording, recording->path, false, &recording->recorder, err);
}

static void note_failure(struct wtl_recording_session *recording, const struct wtl_err *err)
{
	recording->has_failed = true;
	recording->why = *err;
	recording->failed_utc_ns = wtl_io_real_ns(recording->billing->io);
}

static void second_passed(void *recording);

/* A tape has process scans only where they were recorded. */
static bool has_own_looks(const struct wtl_recording_session *recording)
{
	const struct wtl_settings *settings = &recording->app->settings;

	return settings->tape || settings->tape_record;
}

static void watch_seconds(struct wtl_recording_session *recording)
{
	const struct itimerspec second = {.it_value.tv_nsec = COMMIT_NS,
					  .it_interval.tv_nsec = COMMIT_NS};

	if (!recording->loop || recording->app->settings.tape ||
	    recording->app->settings.interval_ns <= COMMIT_NS)
		return;
	recording->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (recording->timer < 0 || timerfd_settime(recording->timer, 0, &second, NULL) < 0 ||
	    wtl_loop_watch(recording->loop, recording->timer, second_passed, recording) < 0)
		wtl_remark(recording->app,
			   "there is no timer: what is marked is written with the next sample");
}

int wtl_recording_open(struct wtl_recording_session *recording, struct wtl_billing *billing,
		       struct wtl_loop *loop)
{
	struct wtl_err err = {.code = 0};
	int rc;

	recording->billing = billing;
	recording->loop = loop;
	if (!recording->path)
		return 0;
	rc = begin_first(recording, &err);
	if (rc < 0)
		note_failure(recording, &err);
	if (rc < 0 && !has_no_place(recording))
		complain(recording, &err);
	if (rc < 0 && !recording->goes_on)
		return rc;
	recording->begin_utc_ns = wtl_io_real_ns(billing->io);
	recording->due_ns = wtl_io_mono_ns(billing->io) +
			    (has_own_looks(recording) ? COMMIT_NS : FIRST_COMMIT_NS);
	if (rc == 0) {
		tell_host(recording);
		tell_command(recording);
	}
	recording->devices = wtl_recording_devices_new(billing->meter);
	if (loop && recording->marks.path[0])
		wtl_loop_watch(loop, recording->marks.epoll, wtl_mark_server_serve,
			       &recording->marks);
	watch_seconds(recording);
	return rc;
}

/* ---- Going on ---- */

static void tell_what_is_left(const struct wtl_recording_session *recording)
{
	struct wtl_buf typed;

	if (access(recording->path, F_OK) < 0)
		return;
	wtl_buf_init(&typed, PATH_MAX);
	wtl_recording_type_path(&typed, recording->path);
	wtl_remark(recording->app,
		   "what was recorded before, if anything, can be read: wattle report %s",
		   wtl_buf_str(&typed));
	wtl_buf_done(&typed);
}

static void fail(struct wtl_recording_session *recording, const struct wtl_err *err)
{
	note_failure(recording, err);
	complain(recording, err);
	tell_what_is_left(recording);
	/* With a command, it and its report go on. */
	if (recording->loop && recording->can_stop && !recording->goes_on &&
	    !recording->app->settings.command)
		recording->loop->stop = true;
}

/* A ring never drops the newest values, even if they alone are too large. */
static void look_at_size(struct wtl_recording_session *recording)
{
	if (recording->is_over || !wtl_store_is_over(wtl_recorder_writer(recording->recorder)))
		return;
	recording->is_over = true;
	wtl_remark(recording->app,
		   "%s: --max-size cannot be kept: the newest values and the processes that are "
		   "there need more; recording goes on",
		   recording->path);
}

static void commit(struct wtl_recording_session *recording)
{
	struct wtl_err err = {.code = 0};

	if (wtl_recorder_commit(recording->recorder, &err) < 0)
		fail(recording, &err);
	look_at_size(recording);
}

/* Samples may be minutes apart; marks are on disk within a second. */
static void second_passed(void *context)
{
	struct wtl_recording_session *recording = context;
	uint64_t n;

	if (read(recording->timer, &n, sizeof(n)) == (ssize_t)sizeof(n) && recording->recorder &&
	    !recording->has_failed)
		commit(recording);
}

/* Bills what is written now, so that it is attributed up to this point. */
static void bill(struct wtl_recording_session *recording)
{
	if (!has_own_looks(recording))
		wtl_billing_look_now(recording->billing);
}

static const char *window_of(const struct wtl_recording_session *recording)
{
	return recording->is_resumed ? WTL_RECORDING_RESUMED : recording->billing->window;
}

void wtl_recording_look(void *context)
{
	struct wtl_recording_session *recording = context;
	struct wtl_billing *billing = recording->billing;
	struct wattle_window window;
	const char *name;
	int64_t now_ns;

	if (!recording->recorder || recording->has_failed)
		return;
	now_ns = wtl_io_mono_ns(billing->io);
	if (now_ns < recording->due_ns)
		return;
	recording->due_ns = now_ns + COMMIT_NS;
	name = window_of(recording);
	bill(recording);
	if (billing->consumers) {
		wtl_consumers_read_resident(billing->consumers, RSS_READS);
		wtl_consumers_read_memory(billing->consumers, PSS_READS);
	}
	wtl_recording_devices_look(recording->devices, billing->consumers, recording->recorder);
	if (wtl_window_look(billing->meter, name, &window, recording->energies,
			    wattle_meter_domains(billing->meter)) == 0)
		wtl_recorder_window(recording->recorder, name, true, &window, recording->energies);
	wtl_recording_look_at_marked(recording);
	if (recording->committing)
		recording->committing(recording->committing_context);
	commit(recording);
}

/* Bills refer to the measurement's window. A resumed recording has its own, and the UTC of both may differ. */
static void shift_bills(const struct wtl_recording_session *recording)
{
	struct wattle_meter *meter = recording->billing->meter;
	struct wattle_window all, own;

	if (wtl_window_look(meter, recording->billing->window, &all, NULL, 0) == 0 &&
	    wtl_window_look(meter, WTL_RECORDING_RESUMED, &own, NULL, 0) == 0)
		wtl_recorder_shift_bills(recording->recorder,
					 own.begin_utc_ns - own.begin_mono_ns -
						 (all.begin_utc_ns - all.begin_mono_ns));
}

int wtl_recording_resume(struct wtl_recording_session *recording, const char *path,
			 struct wtl_err *err)
{
	struct wattle_meter *meter = recording->billing->meter;
	struct wtl_recorder *recorder;
	int rc;

	wattle_window_cancel(meter, WTL_RECORDING_RESUMED);
	rc = begin(recording, path, true, &recorder, err);
	if (rc < 0) {
		wtl_store_remove(path);
		return rc;
	}
	wtl_recorder_end(recording->recorder, NULL);
	recording->recorder = recorder;
	wtl_text_copy(recording->resumed_path, sizeof(recording->resumed_path), path);
	recording->path = recording->resumed_path;
	recording->is_resumed = true;
	recording->has_failed = recording->is_over = false;
	recording->begin_utc_ns = wtl_io_real_ns(recording->billing->io);
	recording->due_ns = wtl_io_mono_ns(recording->billing->io) + FIRST_COMMIT_NS;
	/* Use up to now does not belong to the recording. */
	wtl_billing_look_now(recording->billing);
	wattle_window_begin(meter, WTL_RECORDING_RESUMED);
	shift_bills(recording);
	tell_host(recording);
	return 0;
}

static void end_resumed(struct wtl_recording_session *recording)
{
	struct wattle_meter *meter = recording->billing->meter;
	struct wattle_window window;

	if (wtl_window_end(meter, WTL_RECORDING_RESUMED, &window, recording->energies,
			   wattle_meter_domains(meter)) == 0)
		wtl_recorder_window(recording->recorder, WTL_RECORDING_RESUMED, false, &window,
				    recording->energies);
}

void wtl_recording_command(struct wtl_recording_session *recording, struct wtl_child *child)
{
	recording->child = child;
}

static void tell_number(struct wtl_recording_session *recording, const char *name, const char *key,
			int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	wtl_recorder_window_fact(recording->recorder, name, key, text);
}

/* How the window's command ended, and its CPU time and memory according to the kernel. */
static void tell_exit(struct wtl_recording_session *recording, const char *name)
{
	struct wtl_child *child = recording->child;

	recording->child = NULL;
	if (recording->loop && recording->loop->interrupts > 0)
		tell_number(recording, name, WTL_FACT_INTERRUPTED, 1);
	wtl_child_reap(child);
	if (!child->ended) {
		wtl_recorder_window_fact(recording->recorder, name, WTL_FACT_EXIT_REASON,
					 "the recording ended before it did");
		return;
	}
	tell_number(recording, name, WTL_FACT_EXIT_STATUS, wtl_child_exit_code(child));
	if (WIFSIGNALED(child->wait_status))
		tell_number(recording, name, WTL_FACT_EXIT_SIGNAL, WTERMSIG(child->wait_status));
	tell_number(recording, name, WTL_FACT_COMMAND_CPU, child->cpu_ns);
	if (child->max_rss_bytes > 0)
		tell_number(recording, name, WTL_FACT_COMMAND_MEMORY,
			    (int64_t)child->max_rss_bytes);
}

void wtl_recording_window(struct wtl_recording_session *recording, const char *name, bool is_open,
			  const struct wattle_window *window, const struct wattle_energy energies[])
{
	if (!recording->recorder)
		return;
	wtl_recorder_window(recording->recorder, name, is_open, window, energies);
	if (!is_open && recording->child)
		tell_exit(recording, name);
}

/* ---- The end ---- */

/* Complains if the recording is not complete. 1: it is, but err says what is left beside it. */
static int end(struct wtl_recording_session *recording, struct wtl_err *err)
{
	int rc;

	if (recording->recorder && !recording->has_failed)
		wtl_recording_look_at_marked(recording);
	if (recording->recorder && recording->is_resumed && !recording->has_failed)
		end_resumed(recording);
	recording->loop = NULL;
	if (recording->timer > 0)
		close(recording->timer);
	recording->timer = 0;
	rc = wtl_recorder_end(recording->recorder, err);
	recording->recorder = NULL;
	wtl_recording_devices_free(recording->devices);
	recording->devices = NULL;
	free(recording->energies);
	recording->energies = NULL;
	if (rc < 0 && !recording->has_failed)
		fail(recording, err);
	return recording->has_failed ? -1 : rc;
}

int wtl_recording_close(struct wtl_recording_session *recording)
{
	struct wtl_err err = {.code = 0};
	int rc = end(recording, &err);

	if (rc > 0)
		complain(recording, &err);
	return rc < 0 ? rc : 0;
}

void wtl_recording_discard(struct wtl_recording_session *recording)
{
	bool is_ours = recording->recorder != NULL;
	struct wtl_err err = {.code = 0};

	if (end(recording, &err) >= 0 && is_ours)
		wtl_store_remove(recording->path);
}

void wtl_recording_done(struct wtl_recording_session *recording, const char *told)
{
	struct wtl_buf answer, typed;

	wtl_recording_close(recording);
	wtl_buf_init(&answer, WTL_MARK_ANSWER_MAX - 1);
	if (recording->has_failed) {
		wtl_buf_init(&typed, PATH_MAX);
		wtl_recording_type_path(&typed, recording->path);
		wtl_mark_refuse(&answer, EIO,
				"the recording is not whole: see wattle report --check %s",
				wtl_buf_str(&typed));
		wtl_buf_done(&typed);
	} else {
		wtl_buf_printf(&answer, "ok%s%s", told ? "\ntold " : "", told ? told : "");
	}
	wtl_mark_server_answer(&recording->marks, wtl_buf_str(&answer));
	wtl_buf_done(&answer);
	wtl_mark_server_close(&recording->marks);
}
