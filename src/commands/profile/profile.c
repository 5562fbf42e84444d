/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/text.h"
#include "base/thread.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/fd.h"
#include "cli/machine.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/sink.h"
#include "commands/profile/format.h"
#include "commands/profile/kineto.h"
#include "commands/profile/marks.h"
#include "commands/profile/show.h"
#include "commands/profile/write.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/observer.h"
#include "meter/meter.h"
#include "profile/seed.h"
#include "workload/workload.h"

#define WINDOW "profile"
#define MARKED "profile: a mark"

/* A record may come so much later than its time. */
#define LATE_NS (2 * WTL_NS_PER_MS)

/* Counters that move once a millisecond are read so often: it costs half a percent of a processor. */
#define INTERVAL_NS (5 * WTL_NS_PER_MS)

enum {
	HZ = 997,
	LOOK_MS = 100,
	ROWS = 400,
	ROWS_MAX = 10000,
	HZ_MAX = 10000,
	STACK_BYTES = 16384,
	STACK_MAX = 65528,
	DURATION_MAX_S = 86400
};

static const struct wtl_option options[] = {
	{"rate", 'F', "HZ", "Samples a second of CPU time of each thread (default 997)",
	 WTL_OPTION_NUMBER, WTL_OWN(struct wtl_profile_settings, hz), .least = 1, .most = HZ_MAX},
	{"stack", 0, "BYTES", "Of each sample's stack, so much is looked at (default 16384)",
	 WTL_OPTION_NUMBER, WTL_OWN(struct wtl_profile_settings, stack_bytes), .least = 1024,
	 .most = STACK_MAX},
	{"output", 'o', "FILE",
	 "Write the profile to FILE; what it is called says the format, such as profile.wprof "
	 "(all of it, for wattle profile show), profile.html, profile.pb.gz or profile.speedscope.json (-: text on standard output)",
	 WTL_OPTION_OUTPUT, WTL_SHARED(output_path), .what = "a file", .file = WTL_FILE_OUTPUT},
	{"format", 'f', "FORMAT",
	 "What FILE is, whatever it is called: text, wprof, html, svg, json, csv, folded, speedscope, pprof, pstats, "
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
	 "Take a sample of the meter every MS milliseconds (1 to 60000; default 5)",
	 WTL_OPTION_DURATION, WTL_SHARED(interval_ns), .least = WTL_NS_PER_MS,
	 .most = 60 * WTL_NS_PER_S, .is_ms = true},
#if HAVE_RECORDINGS
	{"keep", 0, "FILE",
	 "Keep all of the profile in FILE (.wprof) as well, whatever -o writes, for wattle profile show",
	 WTL_OPTION_PATH, WTL_OWN(struct wtl_profile_settings, keep), .what = "a file",
	 .file = WTL_FILE_PROFILE},
	{"window", 0, "NAME",
	 "Of the program's windows of that NAME only, as wattle mark begins and ends them",
	 WTL_OPTION_TEXT, WTL_OWN(struct wtl_profile_settings, only)},
#endif
	{"fail-if", 0, "EXPR",
	 "End with status 124 if the profile is not within it: NAME or total, > or <, a number, and J, kJ, s (CPU "
	 "time), gCO2e or %, such as 'train > 300 J'; several times",
	 WTL_OPTION_OWN, WTL_OWN(struct wtl_profile_settings, bounds),
	 .takes = "an expression such as 'train > 300 J' or 'total > 5 kJ'", .set = wtl_bound_set},
	{"fail-strict", 0, NULL, "With --fail-if: what is within its uncertainty fails as well",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_profile_settings, bounds.is_strict)},
	{"memory", 0, NULL,
	 "Tell how much memory the processes had, and which functions it grew in (implied by -o FILE.dat)",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_profile_settings, memory)},
	{"kineto", 0, "FILE",
	 "Joules of GPU kernels by their names: FILE is the trace that the command writes with torch.profiler",
	 WTL_OPTION_PATH, WTL_OWN(struct wtl_profile_settings, kineto), .what = "a file"},
	{"table", 0, NULL, "Functions by their own energy, instead of a tree of calls",
	 WTL_OPTION_FLAG, WTL_OWN(struct wtl_profile_settings, is_table)},
	{"sort", 0, "WHAT",
	 "With --table: by energy (default), energy with calls (calls), CPU time (cpu) or samples",
	 WTL_OPTION_WORD, WTL_OWN(struct wtl_profile_settings, sort),
	 .words = wtl_profile_sort_names},
	{"rows", 0, "N", "Rows of the tree or table at the most (default 400); files have all",
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
	struct wtl_rings *rings;
	struct wtl_trace trace;	  /* the reader's, while there is one; */
	struct wtl_memory memory; /* this as well */
	pthread_mutex_t taking;	  /* or whoever has this */
	size_t n_denied;	  /* descendants that may not be looked at */
	pthread_t reader;
	int reader_stop; /* readable: the reader is to end */
	struct wtl_split split;
	bool *learns; /* of the split */
	struct wattle_energy *energies;
	struct wtl_consumers_sum sum; /* the program's, at the last bill */
	int64_t seen_due_ns;
	int64_t billed_ns; /* CPU time of the program, up to the last bill */
	bool is_over;	   /* a bound is not kept */
	struct wtl_profile_marks marks;
};

/* ---- While it runs ---- */

/* The energies as they were told last. */
static void add_tick(struct session *session)
{
	struct wtl_split_tick *tick =
		wtl_split_add_tick(&session->split, session->meter->sampled_ns);

	for (size_t i = 0; tick && i < session->split.n_domains; i++)
		tick->energy_uj[i] =
			session->energies[i].has_energy ? session->energies[i].energy_uj : 0;
}

static void take_tick(struct session *session)
{
	struct wattle_window window;

	if (wtl_window_look(session->meter, WINDOW, &window, session->energies,
			    session->split.n_domains) == 0)
		add_tick(session);
}

/* What the program was billed since the bill before: all as energy of its own, until idle power is taken out at the
 * end, when it is known best. */
static void take_bill(struct session *session)
{
	const struct wtl_consumers *consumers = session->billing.consumers;
	struct wtl_split_bill *bill =
		wtl_split_add_bill(&session->split, session->meter->sampled_ns);
	const struct wtl_workload_scan *scan = wtl_consumers_scan(consumers);

	if (!bill)
		return;
	bill->busy_ns = scan->busy_ns;
	wtl_consumers_sum_command(consumers, &session->sum);
	bill->own_ns = session->sum.cpu_ns - session->billed_ns;
	session->billed_ns = session->sum.cpu_ns;
	for (size_t i = 0; i < session->split.n_domains; i++) {
		bill->dynamic_uj[i] = session->sum.shares[i].full_uj;
		bill->idle_uj[i] = (uint64_t)session->sum.shares[i].share_ns;
	}
}

static void glance(void *context, int pid, int tid, int64_t t_ns)
{
	struct session *session = context;

	wtl_trace_glance(&session->trace, pid, tid, t_ns);
	if (session->settings->memory)
		wtl_memory_look(&session->memory, pid, tid, t_ns);
}

static void drain(struct session *session, int64_t until_ns)
{
	pthread_mutex_lock(&session->taking);
	wtl_rings_glance(session->rings, glance, session);
	wtl_rings_drain(session->rings, until_ns, wtl_trace_take, &session->trace);
	wtl_rings_hurry(session->rings,
			session->settings->memory || wtl_python_hurries(&session->trace.python));
	pthread_mutex_unlock(&session->taking);
}

/* A thread of its own: a ring fills up while the meter reads its sensors, and Python runs on. */
static void *read_rings(void *context)
{
	struct session *session = context;
	struct pollfd polled[] = {{.fd = session->reader_stop, .events = POLLIN},
				  {.fd = wtl_rings_fd(session->rings), .events = POLLIN}};

	while (!(polled[0].revents & POLLIN)) {
		/* Samples wake it. A program of which none come, as it is in the kernel, has switches too. */
		if (poll(polled, 2, LOOK_MS) < 0)
			polled[0].revents = 0;
		drain(session, wtl_thread_clock_ns() - LATE_NS);
	}
	return NULL;
}

static int start_reader(struct session *session)
{
	int rc;

	session->reader_stop = eventfd(0, EFD_CLOEXEC);
	rc = session->reader_stop < 0 ? -errno
				      : wtl_thread_start(&session->reader, read_rings, session);
	if (rc < 0)
		wtl_complain(session->app, "cannot start a thread: %s", wtl_err_text(rc));
	if (rc < 0 && session->reader_stop >= 0)
		close(session->reader_stop);
	return rc;
}

static void stop_reader(struct session *session)
{
	eventfd_write(session->reader_stop, 1);
	pthread_join(session->reader, NULL);
	close(session->reader_stop);
}

/* A reading at the moment when a window begins or ends. */
static int64_t sample_now(void *context)
{
	struct session *session = context;
	struct wattle_window window;
	int rc = wattle_window_begin(session->meter, MARKED);

	if (rc < 0)
		return rc;
	wtl_window_end(session->meter, MARKED, &window, session->energies,
		       session->split.n_domains);
	take_tick(session);
	return session->meter->sampled_ns;
}

static void ticked(void *context)
{
	struct session *session = context;

	take_tick(session);
	wtl_billing_look(&session->billing);
	if (session->billing.session.due_ns == session->seen_due_ns)
		return;
	session->seen_due_ns = session->billing.session.due_ns;
	take_bill(session);
}

/* ---- Afterwards ---- */

/* A model says the same of every second of CPU time; a GPU works for whom it likes. */
static void choose_what_is_learned(struct session *session)
{
	for (size_t i = 0; session->learns && i < session->split.n_domains; i++) {
		struct wattle_domain domain;

		if (wtl_meter_domain(session->meter, i, &domain) == 0)
			session->learns[i] = domain.kind != WATTLE_KIND_GPU &&
					     session->energies[i].has_energy &&
					     session->energies[i].method != WATTLE_METHOD_MODELLED;
	}
}

/*
 * Bills have sums so far of energy and of the time that it is a share of. Idle power is taken out of the sums, so that
 * the last is what the ledger says; then each has what it adds to the one before. Sums never fall.
 */
static void take_idle_out(struct session *session)
{
	const struct wtl_split *split = &session->split;

	for (size_t domain = 0; domain < split->n_domains; domain++) {
		uint64_t next_dynamic = UINT64_MAX, next_idle = UINT64_MAX;
		struct wtl_baseline idle;

		wtl_consumers_baseline(session->billing.consumers, domain, &idle);
		for (size_t i = split->n_bills; i-- > 0;) {
			struct wtl_split_bill *bill = &split->bills[i];
			struct wtl_share share = {.full_uj = bill->dynamic_uj[domain],
						  .share_ns = (int64_t)bill->idle_uj[domain]};
			uint64_t idle_uj =
				idle.is_known ? wtl_share_idle_uj(&share, idle.idle_uw) : 0;
			uint64_t dynamic_uj = share.full_uj - idle_uj;

			bill->idle_uw[domain] = idle.is_known ? idle.idle_uw : UINT64_MAX;
			bill->dynamic_uj[domain] =
				dynamic_uj < next_dynamic ? dynamic_uj : next_dynamic;
			bill->idle_uj[domain] = idle_uj < next_idle ? idle_uj : next_idle;
			next_dynamic = bill->dynamic_uj[domain];
			next_idle = bill->idle_uj[domain];
		}
		for (size_t i = split->n_bills; i-- > 1;) {
			split->bills[i].dynamic_uj[domain] -=
				split->bills[i - 1].dynamic_uj[domain];
			split->bills[i].idle_uj[domain] -= split->bills[i - 1].idle_uj[domain];
		}
	}
}

static void describe(struct session *session, struct wtl_profile *profile,
		     struct wtl_ledger *ledgers, bool *counts)
{
	const struct wtl_consumers *consumers = session->billing.consumers;
	struct wtl_command_account account;
	struct rusage usage;

	profile->has_idle = true;
	for (size_t i = 0; i < session->split.n_domains; i++) {
		wtl_consumers_ledger(consumers, i, &ledgers[i]);
		counts[i] = wtl_consumers_counts(consumers, i);
		profile->has_idle &= !counts[i] || ledgers[i].has_idle;
	}
	for (size_t i = 0; i < session->split.n_bills; i++)
		for (size_t k = 0; k < session->split.n_domains; k++) {
			if (!counts[k])
				continue;
			profile->dynamic_uj += session->split.bills[i].dynamic_uj[k];
			profile->idle_uj += session->split.bills[i].idle_uj[k];
		}
	wtl_consumers_command(consumers, &account);
	profile->uncertainty_uj = account.all.uncertainty_uj;
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		profile->own_cpu_ns =
			(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * WTL_NS_PER_S +
			(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * INT64_C(1000);
}

static void describe_domains(const struct session *session, struct wtl_profile_domain *domains)
{
	for (size_t i = 0; i < session->split.n_domains; i++) {
		struct wattle_domain domain = {.size = sizeof(domain)};

		if (wattle_meter_domain(session->meter, i, &domain) < 0)
			continue;
		wtl_text_copy(domains[i].name, sizeof(domains[i].name), domain.name);
		wtl_text_copy(domains[i].source, sizeof(domains[i].source), domain.source);
		domains[i].kind = domain.kind;
		domains[i].method = domain.method;
		domains[i].learns = session->learns[i];
	}
}

static int tell(struct session *session, const struct wattle_window *window)
{
	size_t n = session->split.n_domains;
	struct wtl_ledger *ledgers = calloc(n + 1, sizeof(*ledgers));
	bool *counts = calloc(n + 1, sizeof(*counts));
	struct wtl_profile_domain *domains = calloc(n + 1, sizeof(*domains));
	struct wtl_split_result result = {.n_nodes = 0};
	struct wtl_calls calls = {.n_domains = 0};
	struct utsname machine;
	struct wtl_profile profile = {.calls = &calls,
				      .trace = &session->trace,
				      .split = &result,
				      .ticks = &session->split,
				      .command = session->app->settings.command,
				      .pid = session->settings->pid,
				      .place = wtl_settings_place(&session->app->settings),
				      .window = window,
				      .windows = session->marks.list,
				      .n_windows = session->marks.n,
				      .ledgers = ledgers,
				      .counts = counts,
				      .memory = session->settings->memory ? &session->memory : NULL,
				      .meter = session->meter,
				      .n_denied = session->n_denied,
				      .hz = session->settings->hz,
				      .stack_bytes = session->settings->stack_bytes,
				      .interval_ns = session->app->settings.interval_ns};
	const struct wtl_profile_writing writing = {.app = session->app,
						    .io = session->io,
						    .settings = session->settings,
						    .is_over = &session->is_over};
	struct wtl_kineto kineto = {.n = 0};
	struct wtl_err err = {.code = 0};
	int rc = ledgers && counts && domains ? 0 : -ENOMEM, of_trace = 0;

	take_idle_out(session);
	choose_what_is_learned(session);
	if (rc == 0)
		rc = wtl_split_compute(&session->split, &session->trace, &result);
	if (rc == 0)
		rc = wtl_calls_make(&session->trace, &result, &calls);
	if (rc == 0) {
		describe(session, &profile, ledgers, counts);
		describe_domains(session, domains);
		profile.domains = domains;
		profile.host = uname(&machine) == 0 ? machine.nodename : NULL;
		of_trace = wtl_kineto_load(session->settings->kineto, &profile, &kineto, &err);
		rc = wtl_profile_write(&writing, &profile);
		if (of_trace < 0)
			wtl_complain(session->app, "--kineto '%s': %s", session->settings->kineto,
				     err.text);
	} else {
		wtl_complain(session->app, "out of memory: there is no profile");
	}
	if (HAVE_JANSSON)
		wtl_kineto_done(&kineto);
	wtl_calls_done(&calls);
	wtl_split_result_done(&result);
	free(ledgers);
	free(counts);
	free(domains);
	return rc < 0 ? rc : of_trace;
}

/* ---- All of it ---- */

static void begin_window(struct session *session)
{
	wtl_billing_begin(&session->billing);
	wattle_window_begin(session->meter, WINDOW);
	session->split.begin_ns = session->meter->sampled_ns;
	session->seen_due_ns = session->billing.session.due_ns;
	if (HAVE_RECORDINGS)
		wtl_profile_marks_watch(&session->marks, &session->loop);
}

/* The last tick and the last bill, at one moment; then what it came to. */
static int end_window(struct session *session)
{
	size_t n = session->split.n_domains;
	struct wattle_window window;

	wtl_rings_stop(session->rings);
	stop_reader(session);
	wtl_window_end(session->meter, WINDOW, &window, session->energies, n);
	wtl_billing_bill(&session->billing, &window, session->energies);
	drain(session, INT64_MAX);
	wtl_trace_end(&session->trace, session->meter->sampled_ns);
	if (HAVE_RECORDINGS)
		wtl_profile_marks_end(&session->marks, session->meter->sampled_ns);
	add_tick(session);
	take_bill(session);
	wtl_loop_finish(&session->loop);
	return tell(session, &window);
}

/* That of the command, unless there is more to tell. */
static int exit_code(const struct session *session, int rc, int code)
{
	if (rc < 0)
		return WTL_EXIT_WATTLE_FAILED;
	return code == WTL_EXIT_DONE && session->is_over ? WTL_EXIT_BOUND : code;
}

static int profile_command(struct session *session)
{
	struct wtl_child child;
	int stop, rc;

	begin_window(session);
	if (start_reader(session) < 0)
		return WTL_EXIT_WATTLE_FAILED;
	stop = wtl_child_start(&child, session->app);
	if (stop) {
		stop_reader(session);
		return stop;
	}
	session->billing.lacks_command = child.number == 0;
	if (child.number > 0)
		wtl_consumers_follow(session->billing.consumers, child.number);
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

/* One that runs already. How it ends is told to its parent alone. */
static int profile_process(struct session *session, int pidfd)
{
	const struct wtl_profile_settings *settings = session->settings;
	int64_t duration_ns =
		settings->duration_ns ? settings->duration_ns : DURATION_MAX_S * WTL_NS_PER_S;
	struct wtl_trace_attach attach = {.trace = &session->trace,
					  .rings = session->rings,
					  .lock = &session->taking,
					  .pid = settings->pid};
	struct wtl_err err = {.code = 0};
	int rc;

	/* What comes before the window begins is not divided. */
	if (start_reader(session) < 0)
		return WTL_EXIT_WATTLE_FAILED;
	rc = wtl_trace_attach(&attach, &err);
	if (rc < 0)
		wtl_complain(session->app, "%s", err.text);
	session->n_denied = attach.n_denied;
	begin_window(session);
	if (rc == 0 && (rc = wtl_consumers_follow(session->billing.consumers, settings->pid)) < 0)
		wtl_complain(session->app, "process %d has ended", settings->pid);
	if (rc < 0) {
		stop_reader(session);
		return WTL_EXIT_WATTLE_FAILED;
	}
	wtl_loop_watch(&session->loop, pidfd, process_ended, session);
	wtl_loop_idle(&session->loop, session->meter, session->io, duration_ns);
	return exit_code(session, end_window(session), WTL_EXIT_DONE);
}

/* Before anything is asked of it. A descriptor, or negative after wtl_complain(). */
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

static int profile(struct session *session)
{
	const struct wtl_rings_options how = {.hz = session->settings->hz,
					      .stack_bytes = session->settings->stack_bytes & ~7u,
					      .pid = session->settings->pid};
	size_t n = wattle_meter_domains(session->meter);
	struct wtl_err err = {.code = 0};
	int code = WTL_EXIT_WATTLE_FAILED;
	int pidfd = how.pid ? find_process(session->app, how.pid) : -1;

	if (how.pid && pidfd < 0)
		return code;
	wtl_thread_mutex_init(&session->taking);
	wtl_split_init(&session->split, n, 0);
	session->learns = calloc(n + 1, sizeof(*session->learns));
	session->split.learns = session->learns;
	session->energies = calloc(n + 1, sizeof(*session->energies));
	session->sum.shares = calloc(n + 2, sizeof(*session->sum.shares));
	if (!session->energies || !session->sum.shares)
		wtl_complain(session->app, "out of memory");
	else if (wtl_trace_init(&session->trace, &err) < 0 ||
		 wtl_rings_open(&how, &session->rings, &err) < 0)
		wtl_complain(session->app, "%s", err.text);
	else if (wtl_billing_watch_idle(&session->billing, &session->loop, NULL) == 0)
		code = how.pid ? profile_process(session, pidfd) : profile_command(session);
	if (pidfd >= 0)
		close(pidfd);
	wtl_rings_close(session->rings);
	wtl_trace_done(&session->trace);
	wtl_memory_done(&session->memory);
	wtl_split_done(&session->split);
	free(session->energies);
	free(session->sum.shares);
	free(session->learns);
	return code;
}

static int check_settings(struct wtl_app *app)
{
	const struct wtl_profile_settings *settings = app->own;

	if (app->settings.command && settings->pid)
		return wtl_complain(app, "a command and --pid exclude each other");
	if (!app->settings.command && !settings->pid)
		return wtl_complain(
			app, "there is nothing to profile: wattle profile -- COMMAND, or --pid");
	if (wtl_option_is_used(app, "--sort") && !settings->is_table)
		return wtl_complain(app, "--sort is for --table: a tree has most energy first");
	if (settings->kineto && !HAVE_JANSSON)
		return wtl_complain(app, "--kineto: built without JSON (libjansson)");
	if (!settings->kineto &&
	    wtl_profile_format_at(settings->format) == &wtl_profile_format_kineto)
		return wtl_complain(app,
				    "--format kineto is a copy of a trace: --kineto says which");
	if (settings->duration_ns && !settings->pid)
		return wtl_complain(app, "--duration is for --pid: a command ends by itself");
	return 0;
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
	if (wtl_profile_find_format(app) < 0 || check_settings(app) || wtl_sink_check(app) ||
	    wtl_sink_check_file(app, session.settings->keep))
		return WTL_EXIT_WATTLE_FAILED;
	if (wtl_profile_format_at(settings->format) == &wtl_profile_format_mprof)
		settings->memory = true;
	if (!wtl_option_is_used(app, "--interval"))
		app->settings.interval_ns = INTERVAL_NS;
	if (wtl_open_meter(app, &session.meter, &session.io) < 0)
		return WTL_EXIT_WATTLE_FAILED;
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

static const struct wtl_profile_settings defaults = {
	.hz = HZ, .stack_bytes = STACK_BYTES, .least_percent = 1.0, .rows = ROWS};

const struct wtl_command wtl_command_profile = {
	.name = "profile",
	.summary = "Tell where in the code a program's energy went",
	.synopsis = "[OPTION...] [--] COMMAND [ARG...] | show FILE | diff A B",
	.description =
		"Runs the command and looks at its call stacks so many times a second of CPU time, "
		"without stopping or changing it, and divides the energy that it was billed among "
		"them: what belongs to functions, what the program used unseen, and all that others "
		"used add up to what was measured.\n\n"
		"show FILE tells a profile that -o FILE.wprof has kept, in any view or format. diff A B "
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
