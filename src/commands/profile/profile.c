/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/config.h"
#include "base/err.h"
#include "base/io.h"
#include "base/thread.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/machine.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/sink.h"
#include "commands/profile/energy.h"
#include "commands/profile/format.h"
#include "commands/profile/keep.h"
#include "commands/profile/kineto.h"
#include "commands/profile/marks.h"
#include "commands/profile/show.h"
#include "commands/profile/watch.h"
#include "commands/profile/write.h"
#include "commands/report/load.h"
#include "energy/units.h"
#include "meter/attached.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "profile/looks.h"

#define WINDOW "profile"
#define MARKED "profile: a mark"

enum {
	ROWS = 400,
	ROWS_MAX = 10000,
	STACK_MAX = 65528,
	DURATION_MAX_S = 86400,
	UNCOUNTED_PART = 10
};

static const struct wtl_option options[] = {
	{"rate", 'F', "HZ", "Samples for each second of a thread's CPU time (default 997)",
	 WTL_OPTION_NUMBER, WTL_OWN(struct wtl_profile_settings, hz), .least = 1,
	 .most = WTL_PROFILE_HZ_MAX},
	{"stack", 0, "BYTES", "Bytes of the stack that each sample keeps (default 16384)",
	 WTL_OPTION_NUMBER, WTL_OWN(struct wtl_profile_settings, stack_bytes), .least = 1024,
	 .most = STACK_MAX},
	{"output", 'o', "FILE",
	 "Write the profile to FILE. Its name says the format: profile.html (a flame graph), profile.wprof (all of it, "
	 "for wattle profile show), profile.pb.gz, profile.speedscope.json and others. -: text on standard output",
	 WTL_OPTION_OUTPUT, WTL_SHARED(output_path), .what = "a file", .file = WTL_FILE_OUTPUT},
	{"format", 'f', "FORMAT",
	 "The format of FILE, whatever it is called: text, wprof, html, svg, json, csv, folded, speedscope, pprof, pstats, "
	 "callgrind, firefox, trace, dot, pyinstrument, mprof or kineto",
	 WTL_OPTION_WORD, WTL_OWN(struct wtl_profile_settings, format),
	 .words = wtl_profile_format_names},
	{"pid", 'p', "PID",
	 "Look at this running process and its descendants until it ends, or Ctrl-C",
	 WTL_OPTION_NUMBER, WTL_OWN(struct wtl_profile_settings, pid), .least = 1, .most = 1 << 30},
	{"duration", 0, "TIME",
	 "With --pid: stop after TIME: seconds, or with units, such as 90, 30m, 1h30m",
	 WTL_OPTION_DURATION, WTL_OWN(struct wtl_profile_settings, duration_ns),
	 .least = WTL_NS_PER_S / 10, .most = DURATION_MAX_S * WTL_NS_PER_S,
	 .takes = "a time from 100ms to a day such as 90, 30m or 1h30m"},
	{"interval", 'i', "MS",
	 "Take a sample of the meter every MS milliseconds (1 to 60000; default 5, or 100 where all energy is modelled)",
	 WTL_OPTION_DURATION, WTL_SHARED(interval_ns), .least = WTL_NS_PER_MS,
	 .most = 60 * WTL_NS_PER_S, .is_ms = true},
#if HAVE_RECORDINGS
	{"keep", 0, "FILE",
	 "Beside what -o writes, keep all of the profile in FILE (.wprof), for wattle profile show",
	 WTL_OPTION_PATH, WTL_OWN(struct wtl_profile_settings, keep), .what = "a file",
	 .file = WTL_FILE_PROFILE},
	{"window", 0, "NAME",
	 "Only the program's windows of that NAME (wattle mark begins and ends them)",
	 WTL_OPTION_TEXT, WTL_OWN(struct wtl_profile_settings, only)},
	{"policy", 0, "RULES",
	 "Of a recording: compute again with idle=learned, idle=none or idle=DOMAIN:WATTS, as wattle "
	 "report does",
	 WTL_OPTION_TEXT, WTL_OWN(struct wtl_profile_settings, policy)},
	{"from", 0, "TIME", WTL_FROM_TEXT, WTL_OPTION_WHEN,
	 WTL_OWN(struct wtl_profile_settings, from)},
	{"to", 0, "TIME", WTL_TO_TEXT, WTL_OPTION_WHEN, WTL_OWN(struct wtl_profile_settings, to)},
#endif
	{"fail-if", 0, "EXPR",
	 "End with status 124 if EXPR holds: NAME or total, > or <, a number, and J, kJ, s (CPU time), gCO2e or %, such "
	 "as 'train > 300 J'. May be given several times",
	 WTL_OPTION_OWN, WTL_OWN(struct wtl_profile_settings, bounds),
	 .takes = "an expression such as 'train > 300 J' or 'total > 5 kJ' (J, kJ, s, gCO2e or %)",
	 .set = wtl_bound_set},
	{"fail-strict", 0, NULL,
	 "With --fail-if: fail as well where it cannot be decided (within the uncertainty, function not seen, no "
	 "energy known)",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_profile_settings, bounds.is_strict)},
	{"memory", 0, NULL,
	 "Tell how much memory the processes had, and which functions it grew in (implied by -o FILE.dat)",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_profile_settings, memory)},
	{"wall", 0, NULL,
	 "Tell how long threads waited as well, and where: for a lock, a disk, the network, a time, or a processor",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_profile_settings, has_waits)},
	{"kineto", 0, "FILE",
	 "Joules of GPU kernels by their names: FILE is the trace that the command writes with torch.profiler",
	 WTL_OPTION_PATH, WTL_OWN(struct wtl_profile_settings, kineto), .what = "a file"},
	{"table", 0, NULL, "Functions by their own energy, instead of a tree of calls",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_profile_settings, is_table)},
	{"sort", 0, "WHAT",
	 "The order of --table and diff: energy (default), calls (energy with calls), cpu (CPU time), and of --table "
	 "also samples, or wall (CPU time and waiting)",
	 WTL_OPTION_WORD, WTL_OWN(struct wtl_profile_settings, sort),
	 .words = wtl_profile_sort_names},
	{"unfold", 0, NULL,
	 "All calls of the tree, also those of libraries that only lead to the next one",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_profile_settings, is_unfolded)},
	{"rows", 0, "N",
	 "At most N rows of the tree, the table or the difference (default 400); files have all",
	 WTL_OPTION_NUMBER, WTL_OWN(struct wtl_profile_settings, rows), .least = 1,
	 .most = ROWS_MAX},
	{0},
};

static const struct wtl_option *const shared[] = {
	wtl_options_idle_first, wtl_options_idle_file, wtl_options_gpus,    wtl_options_carbon,
	wtl_options_terminal,	wtl_options_machine,   wtl_options_general, NULL,
};

struct session {
	struct wtl_app *app;
	const struct wtl_profile_settings *settings;
	struct wattle_meter *meter;
	struct wtl_io *io;
	struct wtl_loop loop;
	struct wtl_billing billing;
	struct wtl_profile_watch watch;
	struct wtl_profile_energy energy;
	int64_t seen_due_ns;
	bool is_over; /* a bound of --fail-if is not kept */
	struct wtl_profile_marks marks;
};

/* ---- While it runs ---- */

/* Samples the meter when a window begins or ends. */
static int64_t sample_now(void *context)
{
	struct session *session = context;
	struct wattle_window window;
	int rc = wattle_window_begin(session->meter, MARKED);

	if (rc < 0)
		return rc;
	wtl_window_end(session->meter, MARKED, &window, session->energy.energies,
		       session->energy.split.n_domains);
	wtl_profile_energy_look(&session->energy);
	return session->meter->sampled_ns;
}

static void ticked(void *context)
{
	struct session *session = context;
	bool has_begun = session->energy.consumers; /* else --idle-first watches the machine */

	if (has_begun)
		wtl_profile_energy_look(&session->energy);
	wtl_billing_look(&session->billing);
	if (!has_begun || session->billing.session.due_ns == session->seen_due_ns)
		return;
	session->seen_due_ns = session->billing.session.due_ns;
	wtl_profile_energy_bill(&session->energy);
}

/* ---- Afterwards ---- */

static int64_t own_cpu_ns(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage) < 0)
		return 0;
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * WTL_NS_PER_S +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * INT64_C(1000);
}

static int write_out(struct session *session, struct wtl_profile *profile)
{
	const struct wtl_profile_writing writing = {.app = session->app,
						    .io = session->io,
						    .settings = session->settings,
						    .is_over = &session->is_over};
	struct wtl_kineto kineto = {.n = 0};
	struct wtl_err err = {.code = 0};
	int of_trace = wtl_kineto_load(session->settings->kineto, profile, &kineto, &err);
	int rc = wtl_profile_write(&writing, profile);

	if (of_trace < 0)
		wtl_complain(session->app, "--kineto '%s': %s", session->settings->kineto,
			     err.text);
	if (HAVE_JANSSON)
		wtl_kineto_done(&kineto);
	return rc < 0 ? rc : of_trace;
}

/* Processes not looked at: by perf_event_open those denied or hidden; from /proc also those that ended too soon. */
static size_t count_unseen(const struct session *session)
{
	const struct wtl_profile_watch *watch = &session->watch;
	struct wtl_command_account account;
	uint64_t n_followed;

	if (!watch->looks || !session->billing.consumers)
		return watch->n_denied + wtl_trace_n_hidden(&watch->trace);
	wtl_consumers_command(session->billing.consumers, &account);
	n_followed = wtl_looks_n_followed(watch->looks);
	return account.n_processes > n_followed ? (size_t)(account.n_processes - n_followed) : 0;
}

/* Those that nobody counted have CPU time, at least. Little of it is last moments of others, which looks do not see. */
static void complain_uncounted(const struct session *session)
{
	const struct wtl_trace *trace = &session->watch.trace;
	struct wtl_command_account account;
	int64_t unseen_ns;

	if (!session->watch.looks || !session->billing.consumers ||
	    wtl_consumers_uncounted_ns(session->billing.consumers) == 0)
		return;
	wtl_consumers_command(session->billing.consumers, &account);
	unseen_ns = account.cpu_ns;
	for (size_t i = 0; i < trace->n_threads; i++)
		unseen_ns -= trace->threads[i].cpu_ns;
	if (unseen_ns > account.cpu_ns / UNCOUNTED_PART)
		wtl_complain(session->app,
			     "processes that ended between two looks had %.3f s of %.3f s of CPU "
			     "time; how many they were is known only with CAP_NET_ADMIN",
			     (double)unseen_ns / 1e9, (double)account.cpu_ns / 1e9);
}

static int tell(struct session *session, const struct wattle_window *window)
{
	struct wtl_split_result result = {.n_nodes = 0};
	struct wtl_calls calls = {.n_domains = 0};
	struct utsname machine;
	struct wtl_profile profile = {.calls = &calls,
				      .trace = &session->watch.trace,
				      .split = &result,
				      .ticks = &session->energy.split,
				      .command = session->app->settings.command,
				      .pid = session->settings->pid,
				      .host = uname(&machine) == 0 ? machine.nodename : NULL,
				      .place = wtl_settings_place(&session->app->settings),
				      .window = window,
				      .windows = session->marks.list,
				      .n_windows = session->marks.n,
				      .memory = session->settings->memory ? &session->watch.memory
									  : NULL,
				      .meter = session->meter,
				      .n_unseen = count_unseen(session),
				      .hz = session->watch.how.hz,
				      .stack_bytes = session->settings->stack_bytes,
				      .interval_ns = session->app->settings.interval_ns};
	int rc;

	wtl_profile_energy_end(&session->energy);
	session->energy.split.period_ns = WTL_NS_PER_S / session->watch.how.hz;
	rc = wtl_split_compute(&session->energy.split, &session->watch.trace, &result);
	if (rc == 0)
		rc = wtl_calls_make(&session->watch.trace, &result, &calls);
	if (rc == 0)
		rc = wtl_profile_energy_describe(&session->energy, &profile);
	profile.own_cpu_ns = own_cpu_ns() + session->watch.trace.lines.cpu_ns;
	wtl_profile_watch_complain(session->app, &session->watch.trace);
	complain_uncounted(session);
	if (rc == 0)
		rc = write_out(session, &profile);
	else
		wtl_complain(session->app, "out of memory: there is no profile");
	wtl_calls_done(&calls);
	wtl_split_result_done(&result);
	free(profile.ledgers);
	free(profile.counts);
	free(profile.domains);
	return rc;
}

struct telling {
	struct session *session;
	const struct wattle_window *window;
};

static int tell_in_thread(void *context)
{
	const struct telling *telling = context;

	return tell(telling->session, telling->window);
}

/* ---- All of it ---- */

static void begin_window(struct session *session)
{
	wtl_billing_begin(&session->billing);
	wattle_window_begin(session->meter, WINDOW);
	wtl_profile_energy_begin(&session->energy);
	session->seen_due_ns = session->billing.session.due_ns;
	if (HAVE_RECORDINGS)
		wtl_profile_marks_watch(&session->marks, &session->loop);
}

/* Adds the last tick and the last bill, both of one moment; then makes and writes the profile. */
static int end_window(struct session *session)
{
	struct wtl_profile_energy *energy = &session->energy;
	struct wattle_window window;
	struct telling telling = {session, &window};

	wtl_profile_watch_stop(&session->watch);
	wtl_window_end(session->meter, WINDOW, &window, energy->energies, energy->split.n_domains);
	wtl_billing_bill(&session->billing, &window, energy->energies);
	wtl_profile_watch_end(&session->watch, session->meter->sampled_ns);
	if (HAVE_RECORDINGS)
		wtl_profile_marks_end(&session->marks, session->meter->sampled_ns);
	wtl_profile_energy_tick(energy);
	wtl_profile_energy_bill(energy);
	wtl_loop_finish(&session->loop);
	/* libdw keeps line tables on the stack, so a thread with a larger one is used. */
	return wtl_thread_call(tell_in_thread, &telling);
}

/* The command's exit code, unless wattle failed or, if that code is 0, a bound is not kept. */
static int exit_code(const struct session *session, int rc, int code)
{
	if (rc < 0 && session->app->settings.command)
		wtl_complain(session->app, "status 125 is for that; the command's own was %d",
			     code);
	if (rc < 0)
		return WTL_EXIT_WATTLE_FAILED;
	return code == WTL_EXIT_DONE && session->is_over ? WTL_EXIT_BOUND : code;
}

static int complain(const struct session *session, const struct wtl_err *err)
{
	wtl_complain(session->app, "%s", err->text);
	return WTL_EXIT_WATTLE_FAILED;
}

static int profile_command(struct session *session)
{
	struct wtl_err err = {.code = 0};
	struct wtl_child child;
	int stop, rc;

	begin_window(session);
	if (wtl_profile_watch_begin(&session->watch, &err) < 0)
		return complain(session, &err);
	stop = wtl_child_start(&child, session->app);
	if (stop)
		return stop;
	session->billing.lacks_command = child.number == 0;
	if (child.number > 0)
		wtl_consumers_follow(session->billing.consumers, child.number);
	wtl_profile_watch_follow(&session->watch, child.number);
	wtl_loop_run_command(&session->loop, session->app, session->meter, session->io, &child);
	wtl_billing_command_ended(&session->billing, &child);
	rc = end_window(session);
	stop = wtl_child_end(&child, session->loop.last_signal);
	return exit_code(session, rc, stop);
}

static void process_ended(void *context)
{
	struct session *session = context;

	session->loop.stop = true;
}

/* Profiles a running process. Only its parent gets its exit code. */
static int profile_process(struct session *session, int pidfd)
{
	const struct wtl_profile_settings *settings = session->settings;
	int64_t duration_ns =
		settings->duration_ns ? settings->duration_ns : DURATION_MAX_S * WTL_NS_PER_S;
	struct wtl_err err = {.code = 0};

	/* Samples from before the window are not counted. */
	if (wtl_profile_watch_begin(&session->watch, &err) < 0 ||
	    wtl_profile_watch_attach(&session->watch, &err) < 0)
		return complain(session, &err);
	begin_window(session);
	if (wtl_consumers_follow(session->billing.consumers, settings->pid) < 0) {
		wtl_complain(session->app, "process %d has ended", settings->pid);
		return WTL_EXIT_WATTLE_FAILED;
	}
	wtl_loop_watch(&session->loop, pidfd, process_ended, session);
	wtl_loop_idle(&session->loop, session->meter, session->io, duration_ns);
	return exit_code(session, end_window(session), WTL_EXIT_DONE);
}

/* Opens a pidfd before anything else is done with the process. A descriptor, or negative after wtl_complain(). */
static int find_process(struct wtl_app *app, int pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (pidfd >= 0)
		return pidfd;
	wtl_complain(app, "--pid %d: %s", pid,
		     errno == ESRCH    ? "there is no such process"
		     : errno == EINVAL ? "that is a thread of another process: give its process"
				       : wtl_err_text(errno));
	return -1;
}

/* false after wtl_complain(). */
static bool open_watch(struct session *session)
{
	struct wtl_err err = {.code = 0};
	int rc = wtl_profile_watch_open(&session->watch, &err);

	if (rc < 0)
		complain(session, &err);
	else if (rc > 0)
		wtl_complain(session->app,
			     "%s; without it, threads are looked at up to %u times a second: that "
			     "tells functions of Python, and native code as one row a program",
			     err.text, session->watch.how.hz);
	return rc >= 0;
}

static int profile(struct session *session)
{
	int code = WTL_EXIT_WATTLE_FAILED;
	int pid = session->settings->pid, pidfd = pid ? find_process(session->app, pid) : -1;

	if (pid && pidfd < 0)
		return code;
	session->watch.how =
		(struct wtl_rings_options){.hz = session->settings->hz,
					   .stack_bytes = session->settings->stack_bytes & ~7u,
					   .pid = pid,
					   .sees_turns = session->settings->has_waits};
	session->watch.has_memory = session->settings->memory;
	session->watch.may_look = true;
	if (wtl_profile_energy_init(&session->energy, session->meter, WINDOW) < 0)
		wtl_complain(session->app, "out of memory");
	else if (!open_watch(session))
		code = WTL_EXIT_WATTLE_FAILED;
	else if (wtl_billing_watch_idle(&session->billing, &session->loop, NULL) == 0) {
		session->energy.consumers = session->billing.consumers;
		session->energy.own_pid = wtl_meter_own_pid(session->meter);
		code = pid ? profile_process(session, pidfd) : profile_command(session);
	}
	if (pidfd >= 0)
		close(pidfd);
	wtl_profile_watch_close(&session->watch);
	wtl_profile_energy_done(&session->energy);
	return code;
}

/* Refuses options that are for recordings. */
static int check_recorded(struct wtl_app *app)
{
	static const char *const of_recordings[] = {"--policy", "--from", "--to", NULL};
	const struct wtl_profile_settings *settings = app->own;
	const char *used = wtl_option_first_used(app, of_recordings);
	struct wtl_policy policy;

	if (HAVE_RECORDINGS && wtl_policy_parse(app, settings->policy, &policy))
		return EINVAL;
	return used ? wtl_complain(app, "%s is for wattle profile show, of a recording", used) : 0;
}

static int check_settings(struct wtl_app *app)
{
	const struct wtl_profile_settings *settings = app->own;

	if (app->settings.command && settings->pid)
		return wtl_complain(app, "a command and --pid exclude each other");
	if (!app->settings.command && !settings->pid)
		return wtl_complain(
			app, "there is nothing to profile: wattle profile -- COMMAND, or --pid");
	if (settings->kineto && !HAVE_JANSSON)
		return wtl_complain(app, "--kineto: built without JSON (libjansson)");
	if (!settings->kineto &&
	    wtl_profile_format_at(settings->format) == &wtl_profile_format_kineto)
		return wtl_complain(app,
				    "--format kineto is a copy of a trace: --kineto says which");
	if (settings->has_waits && settings->only)
		return wtl_complain(app, "--wall and --window exclude each other");
	if (settings->duration_ns && !settings->pid)
		return wtl_complain(app, "--duration is for --pid: a command ends by itself");
	return wtl_profile_check_sort(app);
}

static const char *const verbs[] = {
#if HAVE_RECORDINGS
	"show", "diff",
#endif
	NULL};

static const struct wtl_option word = {
	.name = "show",
	.value = "FILE",
	.kind = WTL_OPTION_LIST,
	WTL_OWN(struct wtl_profile_settings, files),
	.what = "a profile (.wprof)",
	.takes = "profiles",
};

static int run_verb(struct wtl_app *app)
{
#if HAVE_RECORDINGS
	return wtl_profile_of_files(app);
#else
	(void)app;
	return WTL_EXIT_WATTLE_FAILED;
#endif
}

static int run(struct wtl_app *app)
{
	struct wtl_profile_settings *settings = app->own;
	struct session session = {.app = app, .settings = settings};
	int code = WTL_EXIT_WATTLE_FAILED;

	if (app->settings.verb)
		return run_verb(app);
	if (wtl_profile_check(app) < 0 || check_recorded(app) || check_settings(app) ||
	    wtl_sink_check(app) || wtl_sink_check_file(app, session.settings->keep))
		return WTL_EXIT_WATTLE_FAILED;
	if (wtl_profile_format_at(settings->format) == &wtl_profile_format_mprof)
		settings->memory = true;
	if (settings->has_waits && !wtl_option_is_used(app, "--sort"))
		settings->sort = WTL_SORT_WALL;
	wtl_profile_choose_interval(app, NULL);
	if (wtl_open_meter(app, &session.meter, &session.io) < 0)
		return WTL_EXIT_WATTLE_FAILED;
	wtl_profile_choose_interval(app, session.meter);
	session.marks.sample = sample_now;
	session.marks.context = &session;
	session.marks.begin_utc_ns = wtl_io_real_ns(session.io);
	if (HAVE_RECORDINGS)
		wtl_profile_marks_open(&session.marks, app, session.settings->only != NULL);
	if (wtl_loop_init(&session.loop, app, ticked, &session) == 0) {
		if (wtl_billing_open(&session.billing, app, session.meter, session.io, WINDOW) == 0)
			code = profile(&session);
		wtl_billing_close(&session.billing);
		wtl_loop_done(&session.loop);
	}
	if (HAVE_RECORDINGS)
		wtl_profile_marks_close(&session.marks);
	wtl_close_meter(app, session.meter, session.io);
	return code;
}

static const struct wtl_profile_settings defaults = {.hz = WTL_PROFILE_HZ,
						     .stack_bytes = WTL_PROFILE_STACK_BYTES,
						     .least_percent = 1.0,
						     .rows = ROWS};

const struct wtl_command wtl_command_profile = {
	.name = "profile",
	.summary = "Find where in the code a program's energy goes",
	.synopsis = "[OPTION...] [--] COMMAND [ARG...] | show FILE | diff A B",
	.description =
		"Runs the command and looks at its call stacks while it works, without stopping or "
		"changing it. The energy that the command was billed is divided among its functions, "
		"those of Python and those of native code. What was not seen, and what others used, are "
		"rows below them. All rows add up to what was measured.\n\n"
		"show FILE tells again what -o FILE.wprof has kept, in any view or format. diff A B "
		"says what two of them differ by, function by function. A program that is called show or "
		"diff is run by: wattle profile -- show.",
	.examples =
		"wattle profile -- ./simulation\n    a tree of calls by their joules\n\n"
		"wattle profile --pid 4711 --duration 30 --table\n"
		"    half a minute of a program that runs, its functions by their own joules\n\n"
		"wattle profile -o a.wprof -- ./simulation; wattle profile show a.wprof -o a.html\n"
		"    keep all of it, and look at it as a flame graph",
	.exit_status =
		"N\tthe command's own exit status, or 128 + N when signal N ended it\n"
		"1\tshow, diff: a reader closed the pipe, and not all was written\n"
		"124\ta bound of --fail-if was not kept, and the command's own status was 0\n"
		"125\twattle itself failed\n"
		"126\tthe command cannot be run\n"
		"127\tthe command was not found",
	.options = options,
	.shared = shared,
	.settings_size = sizeof(struct wtl_profile_settings),
	.defaults = &defaults,
	.word = &word,
	.verbs = verbs,
	.takes_command = true,
	.measures = true,
	.usage_exit = WTL_EXIT_WATTLE_FAILED,
	.run = run,
};
