/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/machine.h"
#include "cli/rights.h"
#include "cli/sink.h"
#include "energy/units.h"
#include "meter/meter.h"
#include "sensors/gpu_info.h"

/* The machine, its root or a tape, with faults; a recorder around it sees those too. */
static int open_io(const struct wtl_settings *settings, struct wtl_io **ret_io, struct wtl_err *err)
{
	struct wtl_io *io;
	int rc = settings->tape ? wtl_io_replay_new(settings->tape, &io, err)
				: wtl_io_real_new(settings->root, &io, err);

	if (rc < 0)
		return rc;
	io->file_mode = settings->file_mode;
	if (settings->fault)
		rc = wtl_io_set_fault(io, settings->fault, err);
	if (rc == 0 && settings->tape_record)
		rc = wtl_io_record_new(io, settings->tape_record, &io, err);
	if (rc == 0)
		*ret_io = io;
	else
		wtl_io_free(io);
	return rc;
}

static void log_line(void *context, enum wattle_log_level level, const char *text)
{
	const struct wtl_app *app = context;

	if (level == WATTLE_LOG_DEBUG && !app->settings.verbose)
		return;
	wtl_remark(app, "%s", text);
}

/* With capabilities from wattle's file, the caller must not make it
 * load a library of his choice, or record what he may not read. */
static int check_rights(struct wtl_app *app)
{
	const char *path = app->settings.nvml_path;

	if (!getauxval(AT_SECURE))
		return 0;
	if (path && path[0])
		wtl_complain(app, "--nvml takes no library here: this wattle has more privileges "
				  "than you");
	else if (app->settings.tape_record)
		wtl_complain(app, "--tape-record keeps no tape here: this wattle has more "
				  "privileges than you");
	else
		return 0;
	return -EPERM;
}

/* A user who names a library wants its GPUs. A GPU that the machine lists has its own row for the reason. */
static void remark_library(const struct wtl_app *app, const struct wattle_meter *meter)
{
	const char *path = app->settings.nvml_path;

	for (size_t i = 0; path && path[0] && i < meter->catalog.n_misses; i++) {
		const struct wtl_miss *miss = &meter->catalog.misses[i];

		if (strcmp(miss->source, "nvml") == 0 && !miss->domain[0])
			wtl_remark(app, "--nvml gives nothing: %s", miss->reason);
	}
}

int wtl_open_io(struct wtl_app *app, struct wtl_io **ret_io)
{
	struct wtl_err err = {.code = 0};
	int rc = check_rights(app);

	if (rc == 0)
		rc = wtl_sink_check_tape(app);
	if (rc < 0)
		return rc;
	/* A tape is read with the user's own rights. */
	if (app->settings.tape)
		wtl_rights_drop();
	rc = open_io(&app->settings, ret_io, &err);
	if (rc < 0)
		wtl_complain_err(app, &err);
	else if (wtl_io_lacks_utc(*ret_io))
		wtl_remark(app,
			   "this machine's clock is set to before 1970 or after 2114: dates are "
			   "told as if it had not been set, from 1970 on; set it");
	return rc;
}

/* Complains if the tape could not be written completely. */
static void finish_tape(struct wtl_app *app, struct wtl_io *io)
{
	int rc = app->settings.tape_record ? wtl_io_record_error(io) : 0;

	if (rc < 0)
		wtl_complain(app, "the tape '%s' is not whole: %s", app->settings.tape_record,
			     wtl_err_text(rc));
}

void wtl_close_io(struct wtl_app *app, struct wtl_io *io)
{
	if (!io)
		return;
	finish_tape(app, io);
	wtl_io_free(io);
}

int wtl_open_gpus(struct wtl_app *app, struct wtl_io *io, struct wtl_gpu_reader **ret_reader)
{
	struct wtl_machine machine;
	const struct wtl_source_options how = {.nvml_path = app->settings.nvml_path,
					       .machine = &machine};
	const struct wtl_env env = {.io = io};
	struct wtl_err err = {.code = 0};
	int rc;

	wtl_rights_drop();
	rc = wtl_machine_read(io, &machine);
	if (rc < 0)
		wtl_err_set(&err, rc, "machine", NULL, "%s", wtl_err_text(rc));
	else
		rc = wtl_gpu_reader_new(&env, &how, ret_reader, &err);
	if (rc < 0)
		wtl_complain_err(app, &err);
	return rc;
}

/* At shorter intervals, switching threads twice a sample costs more than a driver's rare hang. */
#define GUARD_LEAST_NS (10 * WTL_NS_PER_MS)

/* The exit records need the rights now. So do perf's energy events when the meter opens, which
 * then calls env->drop_rights(). No thread has been started yet, and no library loaded. */
static void lend_rights(const struct wtl_app *app, struct wtl_env *env)
{
	if (!wtl_rights_are_borrowed())
		return;
	env->drop_rights = wtl_rights_drop;
	if (!app->settings.no_processes)
		wtl_io_real_open_exits(env->io);
}

int wtl_open_meter(struct wtl_app *app, struct wattle_meter **ret_meter, struct wtl_io **ret_io)
{
	const struct wattle_options options = {
		.size = sizeof(options),
		.nvml_path = app->settings.nvml_path,
		.tape = app->settings.tape,
		.gpus = app->settings.gpus,
		.max_windows = app->settings.max_windows ? app->settings.max_windows : 4,
		.log = log_line,
		.log_context = app,
	};
	struct wtl_env env = {.log = NULL};
	struct wtl_err err = {.code = 0};
	struct wattle_meter *meter;
	int rc = wtl_open_io(app, &env.io);

	if (rc < 0)
		return rc;
	lend_rights(app, &env);
	rc = wtl_meter_new(&env, &options, &meter, &err);
	wtl_rights_drop();
	if (rc < 0) {
		wtl_complain_err(app, &err);
		return rc;
	}
	if (app->settings.interval_ns >= GUARD_LEAST_NS)
		wtl_meter_guard(meter);
	remark_library(app, meter);
	*ret_meter = meter;
	*ret_io = env.io;
	return 0;
}

void wtl_close_meter(struct wtl_app *app, struct wattle_meter *meter, struct wtl_io *io)
{
	finish_tape(app, io);
	wattle_meter_close(meter);
}

struct wtl_report_place wtl_settings_place(const struct wtl_settings *settings)
{
	return (struct wtl_report_place){.carbon = settings->carbon,
					 .is_default = !settings->location,
					 .pue_milli = settings->pue_milli};
}

void wtl_machine_name(const struct wtl_settings *settings, struct wtl_io *io, char *name,
		      size_t size)
{
	name[0] = name[size - 1] = '\0';
	if (settings->tape)
		return;
	if (!settings->root) {
		if (gethostname(name, size - 1) < 0)
			name[0] = '\0';
		return;
	}
	if (wtl_io_read_line(io, "/etc/hostname", name, size) == 0 && name[0])
		return;
	/* A mounted /proc has the reader's own name, such as a container's: only a copy has the machine's. */
	if (wtl_io_read_line(io, "/proc/self/comm", name, size) == 0 ||
	    wtl_io_read_line(io, "/proc/sys/kernel/hostname", name, size) < 0)
		name[0] = '\0';
}
