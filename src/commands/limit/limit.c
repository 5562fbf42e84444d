/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/loop.h"
#include "cli/machine.h"
#include "cli/sink.h"
#include "commands/limit/limit.h"
#include "cli/option.h"
#include "document/report.h"
#include "energy/units.h"
#include "sensors/gpu_info.h"

#define OUTPUT_MAX (1u << 20)
#define LOOK_NS	   WTL_NS_PER_S /* while the command runs: how often to check for a lost GPU */

static int set_power(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	struct wtl_limit_settings *settings = app->own;
	uint64_t power_uw = 0;

	(void)option;
	settings->has_power = true;
	settings->to_default = strcmp(text, "default") == 0;
	if (!settings->to_default &&
	    (wtl_num_fixed(text, strlen(text), 6, &power_uw) < 0 || power_uw == 0))
		return -EINVAL;
	settings->power_uw = power_uw;
	return 0;
}

static int set_persistence(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	struct wtl_limit_settings *settings = app->own;

	(void)option;
	settings->has_persistence = true;
	settings->persistence = strcmp(text, "on") == 0;
	return settings->persistence || strcmp(text, "off") == 0 ? 0 : -EINVAL;
}

#define OWN(field) WTL_OWN(struct wtl_limit_settings, field)

static const struct wtl_option options[] = {
	{"id", 'i', "ID",
	 "Only these GPUs: index, UUID, bus id or serial number; a list with commas (default: all)",
	 WTL_OPTION_TEXT, OWN(gpus.ids)},
	{"gpus", 0, "LIST",
	 "Only these GPUs: as CUDA_VISIBLE_DEVICES has them, also MIG devices (their whole GPU)",
	 WTL_OPTION_TEXT, OWN(gpus.list)},
	{"power", 'p', "WATTS", "Set the power limit, or 'default'", WTL_OPTION_OWN,
	 .takes = "watts such as 250, or 'default'", .set = set_power},
	{"persistence", 0, "on|off",
	 "Set persistence mode: the driver stays loaded while nobody uses the GPU", WTL_OPTION_OWN,
	 .words = (const char *const[]){"on", "off", NULL}, .set = set_persistence},
	{"restore", 0, NULL, "Only put back what an interrupted wattle limit has left behind",
	 WTL_OPTION_FLAG, OWN(restore)},
	{"state", 0, "DIR",
	 "Where what has to be put back is kept (default: /var/lib/wattle/limits for root, else "
	 "$XDG_STATE_HOME/wattle/limits or ~/.local/state/wattle/limits)",
	 WTL_OPTION_PATH, OWN(state), .what = "a folder"},
	{"for-client", 0, NULL,
	 "Answer a client of wattle serve, whose connection is the standard input: how an agent "
	 "sets limits",
	 WTL_OPTION_FLAG, OWN(for_client), .is_rare = true},
	{"hold", 0, NULL,
	 "With --for-client: until the client says so or is gone, and put back then",
	 WTL_OPTION_FLAG, OWN(hold), .is_rare = true},
	{0},
};

static int check_settings(struct wtl_app *app)
{
	const struct wtl_limit_settings *settings = app->own;
	bool sets = settings->has_power || settings->has_persistence;
	const char *both = wtl_gpu_choice_check(&settings->gpus);

	if (both)
		return wtl_complain(app, "%s", both);
	if (app->settings.command && !sets)
		return wtl_complain(app, "which limit? As in: wattle limit -i 0 --power 250 -- %s",
				    app->settings.command[0]);
	if (settings->for_client ? !sets || app->settings.command : settings->hold)
		return wtl_complain(app, "--for-client is for wattle serve, with --power or "
					 "--persistence and without a COMMAND; --hold is for "
					 "--for-client");
	if (settings->restore && (sets || settings->gpus.ids || settings->gpus.list))
		return wtl_complain(app, "--restore goes alone");
	if (app->settings.tape && (sets || settings->restore))
		return wtl_complain(app, "a tape replays a machine: nothing of it can be set");
	return 0;
}

/* ---- Other holds, and what they left behind ---- */

struct session {
	struct wtl_app *app;
	struct wtl_io *io;
	struct wtl_gpu_reader *reader;
	size_t *chosen;
	size_t n;
	char folder[PATH_MAX];
	struct wtl_limit_hold hold;
	struct wtl_limit_denied denied;
	int agent;	 /* holds the limits for us; < 0: none does */
	size_t left;	 /* files that stay: unreadable, or not all put back */
	size_t restored; /* files that were dealt with */
	bool told_lost;
};

static int exit_failed(const struct wtl_app *app)
{
	return app->settings.command ? WTL_EXIT_WATTLE_FAILED : WTL_EXIT_FAILED;
}

static void remove_file(struct session *session, const struct wtl_limit_hold *hold)
{
	int rc = wtl_limit_hold_remove(session->folder, hold);

	if (rc < 0)
		wtl_complain(session->app, "cannot remove the note in %s: %s", session->folder,
			     wtl_err_text(rc));
}

static void put_back_left(void *context, const char *name, const struct wtl_limit_hold *hold)
{
	struct session *session = context;
	struct wtl_app *app = session->app;

	if (!hold) {
		wtl_complain(app, "cannot read %s/%s: look at it, and remove it", session->folder,
			     name);
		session->left++;
		return;
	}
	switch (wtl_limit_hold_owner(hold)) {
	case WTL_LIMIT_LIVES:
		return;
	case WTL_LIMIT_ELSEWHERE:
		wtl_remark(app,
			   "%s/%s is of a container: whether its wattle limit still runs cannot be "
			   "told here",
			   session->folder, name);
		return;
	case WTL_LIMIT_REBOOTED:
		wtl_remark(
			app,
			"wattle limit (process %d) was cut off, and the machine has started anew "
			"since: the driver forgot its settings, nothing is put back",
			hold->pid);
		break;
	case WTL_LIMIT_GONE:
		wtl_remark(app,
			   "wattle limit (process %d) was cut off: putting back what it had set",
			   hold->pid);
		if (wtl_limit_put_back(app, session->reader, hold) == 0)
			break;
		wtl_remark(app, "the note %s/%s is kept for the next try", session->folder, name);
		session->left++;
		return;
	}
	remove_file(session, hold);
	session->restored++;
}

/* A folder that cannot be locked is read all the same: its files then fail one by one. */
static void put_back_all(struct session *session)
{
	int lock = access(session->folder, F_OK) == 0 ? wtl_limit_lock(session->folder) : -1, rc;

	/* Root does not put back what another user's files say. */
	rc = lock == -WTL_EOTHERS ? lock : wtl_limit_holds(session->folder, put_back_left, session);
	if (rc < 0)
		wtl_complain(session->app, "cannot read %s: %s", session->folder, wtl_err_text(rc));
	session->left += rc == -WTL_EOTHERS;
	if (lock >= 0)
		close(lock);
}

/* Complains if another live wattle limit holds one of our GPUs. */
static void find_conflict(void *context, const char *name, const struct wtl_limit_hold *hold)
{
	struct session *session = context;
	enum wtl_limit_owner owner = hold ? wtl_limit_hold_owner(hold) : WTL_LIMIT_GONE;
	const struct wtl_gpu *gpus;
	size_t n;

	(void)name;
	if (session->app->complained || (owner != WTL_LIMIT_LIVES && owner != WTL_LIMIT_ELSEWHERE))
		return;
	gpus = wtl_gpu_reader_gpus(session->reader, &n);
	for (size_t i = 0; i < hold->n_changes; i++)
		for (size_t k = 0; k < session->n; k++) {
			const struct wtl_gpu *gpu = &gpus[session->chosen[k]];

			if (!wtl_limit_is_of(&hold->changes[i], gpu))
				continue;
			wtl_complain(session->app, "wattle limit (process %d) holds GPU %u already",
				     hold->pid, gpu->index);
			return;
		}
}

/* ---- Showing ---- */

static void put_watts(struct wtl_buf *buf, const struct wtl_gpu *gpu, enum wtl_gpu_number number,
		      int width)
{
	const struct wtl_gpu_value *value = &gpu->numbers[number];

	if (value->status == WATTLE_STATUS_OK)
		wtl_buf_printf(buf, "  %*.2f", width, (double)value->value / 1e6);
	else
		wtl_buf_printf(buf, "  %*s", width, "-");
}

static void put_gpu(struct wtl_buf *buf, const struct wtl_gpu *gpu, int name_width)
{
	const struct wtl_gpu_value *persistence = &gpu->numbers[WTL_GPU_PERSISTENCE];
	struct wtl_buf name;

	wtl_buf_init(&name, 1024);
	wtl_text_escape(&name, gpu->name, strlen(gpu->name));
	wtl_buf_printf(buf, "%3u  %-*s", gpu->index, name_width, wtl_buf_str(&name));
	if (name.error && !buf->error)
		buf->error = name.error;
	wtl_buf_done(&name);
	if (gpu->status != WATTLE_STATUS_OK) {
		wtl_buf_puts(buf, "  ");
		wtl_text_escape(buf, gpu->trouble, strlen(gpu->trouble));
		if (!gpu->trouble[0])
			wtl_buf_puts(buf, wattle_status_name(gpu->status));
		wtl_buf_putc(buf, '\n');
		return;
	}
	put_watts(buf, gpu, WTL_GPU_LIMIT_REQUESTED_UW, 9);
	put_watts(buf, gpu, WTL_GPU_LIMIT_UW, 8);
	put_watts(buf, gpu, WTL_GPU_LIMIT_DEFAULT_UW, 8);
	put_watts(buf, gpu, WTL_GPU_LIMIT_MIN_UW, 7);
	put_watts(buf, gpu, WTL_GPU_LIMIT_MAX_UW, 7);
	wtl_buf_printf(buf, "  %s\n",
		       persistence->status != WATTLE_STATUS_OK ? "-"
		       : persistence->value		       ? "on"
							       : "off");
}

static int text_limits(struct wtl_buf *buf, const void *what, const struct wtl_output_style *style)
{
	const struct session *session = what;
	size_t n;
	const struct wtl_gpu *gpus = wtl_gpu_reader_gpus(session->reader, &n);
	int name_width = 4;

	(void)style;
	for (size_t i = 0; i < session->n; i++) {
		int width = (int)strlen(gpus[session->chosen[i]].name);

		name_width = width > name_width ? width : name_width;
	}
	wtl_buf_printf(buf,
		       "GPU  %-*s  limit [W]  in force   default      min      max  persistence\n",
		       name_width, "name");
	for (size_t i = 0; i < session->n; i++)
		put_gpu(buf, &gpus[session->chosen[i]], name_width);
	return buf->error;
}

static int complain_of_none(struct session *session)
{
	const struct wtl_limit_settings *settings = session->app->own;
	const char *trouble = wtl_gpu_reader_trouble(session->reader);

	if (settings->gpus.list)
		wtl_complain(session->app, "--gpus names no GPU");
	else
		wtl_complain(session->app, "there is no GPU%s%s", trouble[0] ? ": " : "", trouble);
	return session->app->settings.command ? WTL_EXIT_WATTLE_FAILED : WTL_EXIT_NO_SOURCE;
}

static int show(struct session *session)
{
	static const struct wtl_thing limits = {.text = text_limits};
	const struct wtl_result result = {.thing = &limits, .what = session, .max = OUTPUT_MAX};

	if (session->n == 0)
		return complain_of_none(session);
	return wtl_sink_write(session->app, session->io, &result) < 0 ? WTL_EXIT_FAILED
								      : WTL_EXIT_DONE;
}

/* ---- Setting ---- */

/* 0, or negative after a complaint. Sets nothing. */
static int make_plan(struct session *session)
{
	const struct wtl_gpu *gpus;
	size_t n;
	int rc;

	wtl_gpu_reader_read(session->reader, WTL_GPU_READ_NUMBERS);
	gpus = wtl_gpu_reader_gpus(session->reader, &n);
	rc = wtl_limit_check(session->app, gpus, session->chosen, session->n);
	if (rc == 0)
		wtl_limit_plan(session->app, gpus, session->chosen, session->n, &session->hold);
	return rc;
}

static bool note_taken(struct session *session)
{
	size_t n;

	wtl_gpu_reader_read(session->reader, WTL_GPU_READ_NUMBERS);
	return wtl_limit_note_taken(wtl_gpu_reader_gpus(session->reader, &n), session->chosen,
				    &session->hold);
}

static bool holds(const struct session *session)
{
	const struct wtl_limit_settings *settings = session->app->own;

	return session->app->settings.command || settings->hold;
}

static bool is_denied(int rc)
{
	return rc == -EPERM || rc == -EACCES;
}

/* 0; negative after a complaint; or denied, without a complaint. On error, the hold's changes end with the
 * one that failed. */
static int set_all(struct session *session)
{
	struct wtl_limit_hold *hold = &session->hold;
	int rc = 0;

	for (size_t i = 0; i < session->n && rc == 0; i++) {
		rc = wtl_limit_set(session->app, session->reader, session->chosen[i],
				   &hold->changes[i], &session->denied);
		if (rc < 0)
			hold->n_changes = i + 1;
	}
	if (!note_taken(session) || !holds(session) || rc < 0)
		return rc;
	rc = wtl_limit_hold_write(session->io, session->folder, hold);
	if (rc < 0)
		wtl_complain(session->app, "cannot keep a note in %s: %s", session->folder,
			     wtl_err_text(rc));
	return rc;
}

/* To be called while nothing is set. 0, or negative after a complaint. */
static int ask_agent(struct session *session)
{
	struct wtl_app *app = session->app;
	const struct wtl_limit_settings *settings = app->own;
	int rc = settings->for_client ? -ENOENT : make_plan(session);

	if (rc == 0)
		rc = session->agent = wtl_limit_agent_set(app, &session->denied, &session->hold);
	if (rc == -ENOENT)
		wtl_limit_complain_denied(app, &session->denied);
	return rc < 0 ? rc : 0;
}

static int set_and_show(struct session *session)
{
	const struct wtl_limit_settings *settings = session->app->own;
	int rc = set_all(session);

	if (rc < 0)
		wtl_limit_put_back(session->app, session->reader, &session->hold);
	if (is_denied(rc))
		rc = ask_agent(session);
	if (rc < 0)
		return WTL_EXIT_FAILED;
	wtl_gpu_reader_read(session->reader, WTL_GPU_READ_NUMBERS);
	return settings->for_client ? WTL_EXIT_DONE : show(session);
}

/* After each tick of the loop. */
static void watch(void *context)
{
	struct session *session = context;
	size_t n;
	const struct wtl_gpu *gpus;

	if (session->told_lost)
		return;
	wtl_gpu_reader_read(session->reader, WTL_GPU_READ_NUMBERS);
	gpus = wtl_gpu_reader_gpus(session->reader, &n);
	for (size_t i = 0; i < session->n; i++) {
		const struct wtl_gpu *gpu = &gpus[session->chosen[i]];

		if (gpu->status != WATTLE_STATUS_GONE)
			continue;
		wtl_remark(session->app, "GPU %u (%s) is lost", gpu->index, gpu->name);
		session->told_lost = true;
	}
}

/* The agent's process sends nothing unasked: readable means that it has ended, and has put back the limits. */
static void agent_ended(void *context)
{
	struct session *session = context;

	wtl_remark(session->app, "the machine's agent (wattle serve) holds the limits no longer");
	close(session->agent);
	session->agent = -1;
}

static int run_command(struct session *session, struct wtl_loop *loop)
{
	struct wtl_app *app = session->app;
	struct wtl_child child;
	int stop;

	if (session->agent >= 0)
		wtl_loop_watch(loop, session->agent, agent_ended, session);
	stop = wtl_child_start(&child, app);
	if (stop)
		return stop;
	wtl_loop_run_command(loop, app, NULL, session->io, &child);
	return wtl_child_end(&child, loop->last_signal);
}

/* The note is on disk before anything is set. It is removed once everything is put back. */
static int write_note(struct session *session)
{
	struct wtl_app *app = session->app;
	int lock = wtl_limit_lock(session->folder), rc = lock;

	app->complained = false;
	if (rc >= 0) {
		wtl_limit_holds(session->folder, find_conflict, session);
		rc = app->complained ? -EBUSY : 0;
	}
	/* A former holder may have put them back since they were read. */
	if (rc == 0)
		rc = make_plan(session);
	if (rc == 0)
		rc = wtl_limit_hold_write(session->io, session->folder, &session->hold);
	if (lock >= 0)
		close(lock);
	if (rc < 0 && !app->complained)
		wtl_complain(app, "cannot keep a note in %s: %s; nothing was set", session->folder,
			     wtl_err_text(rc));
	return rc;
}

static bool put_back(struct session *session)
{
	if (wtl_limit_put_back(session->app, session->reader, &session->hold) == 0) {
		remove_file(session, &session->hold);
		return true;
	}
	wtl_remark(session->app, "a note is kept in %s: the next wattle limit tries again",
		   session->folder);
	return false;
}

static int run_with_agent(struct session *session, struct wtl_loop *loop)
{
	int code = WTL_EXIT_WATTLE_FAILED;

	if (ask_agent(session) == 0)
		code = run_command(session, loop);
	if (session->agent >= 0)
		wtl_limit_agent_release(session->app, session->agent);
	session->agent = -1;
	return code;
}

static int hold_and_run(struct session *session)
{
	struct wtl_app *app = session->app;
	struct wtl_loop loop;
	int code = WTL_EXIT_WATTLE_FAILED, rc;

	app->settings.interval_ns = LOOK_NS;
	if (wtl_loop_init(&loop, app, watch, session) < 0)
		return code;
	if (write_note(session) == 0) {
		rc = set_all(session);
		if (rc == 0)
			code = run_command(session, &loop);
		put_back(session);
		if (is_denied(rc))
			code = run_with_agent(session, &loop);
	}
	wtl_loop_done(&loop);
	return code;
}

/* ---- For a client of an agent ---- */

static void hear_client(void *context)
{
	struct wtl_loop *loop = context;

	loop->stop = wtl_limit_hear_client() != 0;
}

static int hold_for_client(struct session *session)
{
	struct wtl_app *app = session->app;
	struct wtl_loop loop;
	int code = WTL_EXIT_FAILED, rc;

	app->settings.interval_ns = LOOK_NS;
	if (wtl_loop_init(&loop, app, NULL, NULL) < 0)
		return code;
	if (write_note(session) == 0) {
		rc = set_all(session);
		if (is_denied(rc))
			wtl_limit_complain_denied(app, &session->denied);
		if (rc == 0 && wtl_loop_watch(&loop, STDIN_FILENO, hear_client, &loop) == 0) {
			wtl_limit_answer(app, false);
			wtl_loop_idle(&loop, NULL, session->io, INT64_MAX / 2);
			code = WTL_EXIT_DONE;
		}
		if (!put_back(session))
			code = WTL_EXIT_FAILED;
	}
	wtl_loop_done(&loop);
	return code;
}

/* ---- The command ---- */

/* 0 or the exit code. */
static int open_machine(struct session *session)
{
	struct wtl_app *app = session->app;
	const struct wtl_limit_settings *settings = app->own;
	int rc;

	if (wtl_open_io(app, &session->io) < 0 ||
	    wtl_open_gpus(app, session->io, &session->reader) < 0)
		return exit_failed(app);
	wtl_gpu_reader_read(session->reader, WTL_GPU_READ_NUMBERS);
	rc = wtl_gpus_choose(app, session->reader, &settings->gpus, &session->chosen, &session->n);
	if (rc == -ENOENT && !app->settings.command)
		return WTL_EXIT_NO_SOURCE;
	return rc < 0 ? exit_failed(app) : 0;
}

static int do_settings(struct session *session)
{
	struct wtl_app *app = session->app;
	const struct wtl_limit_settings *settings = app->own;

	if (wtl_limit_hold_init(&session->hold) < 0) {
		wtl_complain(app, "/proc does not tell of this process: nothing was set");
		return exit_failed(app);
	}
	if (session->n == 0)
		return complain_of_none(session);
	if (make_plan(session) < 0)
		return exit_failed(app);
	if (settings->hold)
		return hold_for_client(session);
	return app->settings.command ? hold_and_run(session) : set_and_show(session);
}

static int run_session(struct session *session)
{
	struct wtl_app *app = session->app;
	const struct wtl_limit_settings *settings = app->own;
	int code, rc;

	if (check_settings(app))
		return WTL_EXIT_WATTLE_FAILED;
	rc = wtl_limit_folder(settings->state, session->folder, sizeof(session->folder));
	if (rc < 0) {
		wtl_complain(app, "there is no HOME to keep notes in: use --state DIR");
		return exit_failed(app);
	}
	code = open_machine(session);
	if (code)
		return code;
	if (!app->settings.tape)
		put_back_all(session);
	if (settings->restore) {
		if (session->left + session->restored == 0)
			wtl_remark(app, "there is nothing to put back");
		return session->left ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
	}
	if (!settings->has_power && !settings->has_persistence) {
		wtl_gpu_reader_read(session->reader, WTL_GPU_READ_NUMBERS);
		return show(session);
	}
	return do_settings(session);
}

static int run(struct wtl_app *app)
{
	struct session *session = calloc(1, sizeof(*session));
	const struct wtl_limit_settings *settings = app->own;
	struct wtl_buf said;
	int code;

	if (!session) {
		wtl_complain(app, "out of memory");
		return exit_failed(app);
	}
	session->app = app;
	session->agent = -1;
	wtl_buf_init(&said, OUTPUT_MAX);
	app->said = settings->for_client ? &said : NULL;
	code = run_session(session);
	if (settings->for_client)
		wtl_limit_answer(app, code != WTL_EXIT_DONE);
	app->said = NULL;
	wtl_buf_done(&said);
	if (session->agent >= 0)
		close(session->agent);
	wtl_gpu_reader_free(session->reader);
	wtl_close_io(app, session->io);
	free(session->chosen);
	free(session);
	return code;
}

const struct wtl_command wtl_command_limit = {
	.name = "limit",
	.summary = "Show and set power limits of GPUs, also for one command only",
	.synopsis = "[OPTION...] [[--] COMMAND [ARGUMENT...]]",
	.description =
		"Without options: every GPU's power limit (as it was set, and in force), its default, "
		"the range it can be set in, and persistence mode.\n\n"
		"With --power or --persistence: sets them, which takes root, or a wattle serve "
		"--limit-group of root's with this user in the group: that one is asked where this "
		"user may not. A value outside of what a GPU allows is refused, and then nothing is "
		"changed on any. The driver forgets them when it is unloaded.\n\n"
		"With a COMMAND: they hold while it runs, and then the previous values come back. A note "
		"of these is written before anything is set. If wattle is killed, or the machine's GPU is "
		"lost meanwhile, the next wattle limit finds the note, puts them back and says so. What "
		"someone else has set in the meantime is left alone.",
	.examples = "wattle limit\n"
		    "    what is set\n\n"
		    "wattle limit -i 0 --power 250\n"
		    "    250 W until further notice\n\n"
		    "wattle limit -i 0,1 --power 250 -- python train.py\n"
		    "    250 W while it runs\n\n"
		    "wattle limit --power 250 -- wattle run -- python train.py\n"
		    "    and what it costs\n\n"
		    "wattle limit --power default\n"
		    "    as the maker has it",
	.exit_status = "N\twith a COMMAND: its own exit status, or 128 + N when signal N ended it\n"
		       "0\tdone\n"
		       "1\tfailed: no permission, out of range\n"
		       "3\tno GPU, or none of that name\n"
		       "125\tbad options; with a COMMAND: wattle itself failed\n"
		       "126\tthe command could not be run\n"
		       "127\tthe command was not found",
	.options = options,
	.shared =
		(const struct wtl_option *const[]){wtl_options_machine, wtl_options_general, NULL},
	.settings_size = sizeof(struct wtl_limit_settings),
	.takes_command = true,
	.usage_exit = WTL_EXIT_WATTLE_FAILED,
	.run = run,
};
