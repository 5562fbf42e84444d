/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/procfs.h"
#include "base/text.h"
#include "cli/billing.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/loop.h"
#include "cli/machine.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/resident.h"
#include "cli/rights.h"
#include "cli/user.h"
#include "commands/serve/serve.h"
#include "document/format.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "serve/agent.h"
#include "serve/exporter.h"
#include "serve/http.h"
#include "serve/metrics.h"
#include "serve/past.h"
#include "serve/past_fill.h"

#define WINDOW "serve"

/* A failed recording is tried again after this time, which doubles each time. */
#define RETRY_FIRST_NS (2 * WTL_NS_PER_S)
#define RETRY_MOST_NS  (512 * WTL_NS_PER_S)

enum {
	PROCESSES = 50,
	PROCESSES_MAX = 65536,
	MOUNTS_MAX = 256 * 1024,
	LOOKS_A_REST = 600, /* ten minutes, at one per second */
	FIRST_REST = 3
};

static const struct wtl_option *const shared[] = {
	wtl_options_idle_first, wtl_options_consumers, wtl_options_interval,
	wtl_options_gpus,	wtl_options_jitter,    wtl_options_carbon,
	wtl_options_machine,	wtl_options_general,   NULL,
};

struct session {
	struct wtl_app *app;
	struct wattle_meter *meter;
	struct wtl_io *io;
	struct wtl_loop loop;
	struct wtl_billing billing;
	struct wtl_recording_settings recorded;
	struct wtl_recording_session recording;
	struct wtl_recording_devices *devices; /* the recording's, or own ones */
	struct wtl_serve_store store;
	struct wtl_user_names users;
	struct wtl_board board;
	struct wtl_agent agent;
	struct wtl_past past;
	struct wtl_past_fill *fill;
	struct wtl_http *http;
	struct wtl_sharing *share;
	struct wtl_serve_push push;
	struct wtl_serve_limits limits;
	struct wtl_exporter exporter;
	int exporter_error;   /* of the last look */
	int64_t seen_due_ns;  /* the billing's, as of the last look */
	uint64_t seen_number; /* the last snapshot in the past */
	uint64_t n_looks;
	bool is_serving; /* the window has begun */
	/* Last recorded state, and that of the last look. */
	struct kept {
		int64_t mono_ns;
		uint64_t energy_uj;
	} kept, looked;
	int64_t retry_ns, retry_wait_ns; /* when the recording is tried again; 0: no failure */
	int64_t unrecorded_ns;		 /* in total, before it was resumed */
	bool has_failed;		 /* the exporter has failed for good */
	char host[65];
};

/* ---- Measuring ---- */

static void user_name(void *context, uint32_t uid, char *name, size_t size)
{
	struct session *session = context;
	const struct wtl_settings *settings = &session->app->settings;

	wtl_user_names_get(&session->users, !settings->root && !settings->tape, uid,
			   wtl_io_mono_ns(session->io), name, size);
}

static bool is_recorded(const struct session *session)
{
	return session->recording.recorder && !session->recording.has_failed;
}

/* The file, or since when and why there is none. */
static void tell_recording(const struct session *session, struct wtl_buf *told)
{
	const struct wtl_recording_session *recording = &session->recording;

	if (!recording->has_failed) {
		wtl_buf_puts(told, recording->path ? recording->path : session->store.path);
		return;
	}
	wtl_buf_puts(told, "since ");
	wtl_format_utc(told, recording->failed_utc_ns);
	wtl_buf_printf(told, ": %s", recording->why.text);
}

/* For how long nothing has been recorded although it should be. */
static int64_t unrecorded_ns(const struct session *session)
{
	return is_recorded(session) || !session->store.path[0]
		       ? 0
		       : session->looked.mono_ns - session->kept.mono_ns;
}

static void note_kept(struct session *session)
{
	if (is_recorded(session))
		session->kept = session->looked;
	session->looked = (struct kept){.mono_ns = wtl_io_mono_ns(session->io),
					.energy_uj = session->agent.totals.host_uj};
}

/* Returns memory that a start, a page or a played recording needed only once. */
static void rest(struct session *session, bool has_played)
{
	if (session->n_looks++ % LOOKS_A_REST == FIRST_REST || has_played)
		wtl_resident_trim();
}

/* After a bill: updates the board, and the counters to the same second. */
static void look(struct session *session)
{
	struct wtl_buf recording;
	struct wtl_agent_beside beside = {.is_recorded = is_recorded(session)};
	const struct wtl_live *live;

	wtl_buf_init(&recording, PATH_MAX);
	tell_recording(session, &recording);
	beside.recording = wtl_buf_str(&recording);
	beside.unrecorded_ns = session->unrecorded_ns + unrecorded_ns(session);
	session->seen_due_ns = session->billing.session.due_ns;
	if (session->devices)
		wtl_recording_devices_tell(session->devices, &beside.values, &beside.n_values,
					   &beside.gpus, &beside.n_gpus);
	wtl_serve_push_look(&session->push, &beside.push);
	wtl_agent_look(&session->agent, &beside);
	/* Counters never decrease: settled shares stay, whatever is learned about watts later. */
	if (session->billing.consumers)
		wtl_consumers_settle(session->billing.consumers);
	note_kept(session);
	wtl_buf_done(&recording);
	live = wtl_board_hold(&session->board);
	if (live && live->number != session->seen_number)
		wtl_past_look(&session->past, live);
	rest(session, wtl_past_fill_take(session->fill, &session->past));
	if (!beside.is_recorded && live && live->number != session->seen_number)
		wtl_serve_push_take(&session->push, live, NULL);
	session->seen_number = live ? live->number : 0;
	wtl_board_give_back(&session->board, live);
}

/* A marked window has just ended. Its UTC goes by the clock now, at its end. */
static void keep_window(void *context, const char *name, const struct wattle_window *ended)
{
	struct session *session = context;
	int64_t now_ns = wtl_io_real_ns(session->io);
	struct wtl_past_window window = {.begin_utc_ns = now_ns - ended->duration_ns,
					 .end_utc_ns = now_ns,
					 .has_energy = ended->total.has_energy != 0,
					 .energy_uj = ended->total.energy_uj,
					 .uncertainty_uj = ended->total.uncertainty_uj};

	wtl_text_copy(window.name, sizeof(window.name), name);
	wtl_past_add_window(&session->past, &window);
}

static void keep_totals(void *context)
{
	struct session *session = context;
	struct wtl_buf totals;

	look(session);
	wtl_serve_push_take(&session->push, session->agent.waiting, session->recording.recorder);
	wtl_buf_init(&totals, WTL_TOTALS_TEXT_MAX);
	wtl_totals_save(&session->agent.totals, &totals);
	if (!totals.error)
		wtl_serve_store_keep(&session->store, session->recording.recorder,
				     wtl_buf_str(&totals));
	wtl_buf_done(&totals);
}

static void tell_beginning(struct session *session)
{
	char began[24];

	snprintf(began, sizeof(began), "%lld", (long long)session->agent.counters_utc_ns);
	wtl_recorder_fact(session->recording.recorder, WTL_FACT_TOTALS_BEGAN, began);
}

/* This time is in the counters, but in no recording. */
static void tell_lost(struct session *session)
{
	int64_t lost_ns = session->looked.mono_ns - session->kept.mono_ns;

	session->unrecorded_ns += lost_ns;
	wtl_remark(session->app,
		   "recording goes on in %s: %.1f s with %.1f J are in no recording; the counters "
		   "have them",
		   session->recording.path, (double)lost_ns * 1e-9,
		   (double)(session->looked.energy_uj - session->kept.energy_uj) * 1e-6);
}

static void plan_retry(struct session *session)
{
	struct wtl_buf since;

	wtl_buf_init(&since, 64);
	wtl_format_utc(&since, session->recording.failed_utc_ns);
	wtl_remark(session->app,
		   "since %s nothing is remembered: it is tried again, in %d s at first",
		   wtl_buf_str(&since), (int)(RETRY_FIRST_NS / WTL_NS_PER_S));
	wtl_buf_done(&since);
	session->retry_wait_ns = RETRY_FIRST_NS;
	session->retry_ns = wtl_io_mono_ns(session->io) + session->retry_wait_ns;
}

/* Fills the page's last day from earlier recordings. */
static void begin_past_fill(struct session *session)
{
	if (session->store.n_earlier > 0 && !session->fill)
		wtl_past_fill_start(&session->past, (const char *const *)session->store.earlier,
				    session->store.n_earlier,
				    session->agent.begin_utc_ns - 86400 * WTL_NS_PER_S,
				    &session->fill);
}

/* The folder was not there at the start. Counters that began at 0 go on. */
static void begin_memory(struct session *session)
{
	session->store.why.code = 0;
	wtl_serve_push_carry(&session->store.pushed, session->recording.recorder);
	begin_past_fill(session);
}

/* A full disk may have room again. */
static void resume_recording(struct session *session)
{
	struct wtl_app *app = session->app;
	int64_t now_ns = wtl_io_mono_ns(session->io);
	struct wtl_err err = {.code = 0};
	char path[PATH_MAX];

	if (session->retry_ns == 0)
		plan_retry(session);
	if (now_ns < session->retry_ns)
		return;
	if (session->retry_wait_ns < RETRY_MOST_NS)
		session->retry_wait_ns *= 2;
	session->retry_ns = now_ns + session->retry_wait_ns;
	if (wtl_serve_store_renew(&session->store, app, app->own, path) < 0 ||
	    wtl_recording_resume(&session->recording, path, &err) < 0)
		return;
	wtl_serve_store_turn_to(&session->store, path);
	session->push.writer = NULL;
	if (session->store.why.code < 0)
		begin_memory(session);
	tell_beginning(session);
	tell_lost(session);
	look(session);
}

/* After a new failure soon, the retry interval is not reset. */
static void look_after_recording(struct session *session)
{
	if (!session->recorded.path || session->app->settings.tape)
		return;
	if (session->recording.has_failed)
		resume_recording(session);
	else if (wtl_io_mono_ns(session->io) > session->retry_ns + RETRY_MOST_NS)
		session->retry_ns = 0;
}

/* Called for each sample. After each bill the board is updated: the next scan is about processes since then. */
static void ticked(void *context)
{
	struct session *session = context;

	wtl_recording_look(&session->recording);
	wtl_sharing_sampled(session->share);
	wtl_serve_limits_look(&session->limits);
	wtl_billing_look(&session->billing);
	if (!session->is_serving ||
	    (session->billing.consumers && session->billing.session.due_ns == session->seen_due_ns))
		return;
	if (!is_recorded(session) && session->devices)
		wtl_recording_devices_look(session->devices, session->billing.consumers, NULL);
	look(session);
	look_after_recording(session);
}

static void serve_machine(struct session *session)
{
	if (session->app->settings.tape) {
		while (!session->loop.stop && wtl_io_wait_until(session->io, INT64_MAX) == 0) {
			wattle_meter_tick(session->meter);
			ticked(session);
		}
		/* The tape has ended: its result is served until a signal. */
		wtl_loop_idle(&session->loop, NULL, session->io, INT64_MAX / 2);
		return;
	}
	while (!session->loop.stop && wtl_loop_idle(&session->loop, session->meter, session->io,
						    366 * 86400 * WTL_NS_PER_S) == 0)
		;
}

/* Even without a recording, the measurement is served. */
static void begin_recording(struct session *session)
{
	session->kept = session->looked = (struct kept){.mono_ns = wtl_io_mono_ns(session->io),
							.energy_uj = session->agent.totals.host_uj};
	if (session->recorded.path &&
	    wtl_recording_open(&session->recording, &session->billing, &session->loop) == 0)
		tell_beginning(session);
}

static int begin_agent(struct session *session)
{
	const struct wtl_app *app = session->app;
	const struct wtl_serve_settings *settings = app->own;
	struct wtl_agent_options how = {
		.meter = session->meter,
		.consumers = session->billing.consumers,
		.window = WINDOW,
		.naming = {.user = user_name, .context = session},
		.place = wtl_settings_place(&app->settings),
		.max_processes = settings->per_process ? PROCESSES_MAX : PROCESSES,
	};

	wtl_machine_name(&app->settings, session->io, session->host, sizeof(session->host));
	if (session->host[0])
		how.host = session->host;
	if (wtl_agent_init(&session->agent, &how, &session->board) < 0 ||
	    wtl_past_init(&session->past, session->agent.names, session->agent.totals.n_domains) <
		    0)
		return wtl_complain(session->app, "out of memory");
	if (session->store.totals && wtl_agent_resume(&session->agent, session->store.totals,
						      session->store.counters_utc_ns) < 0)
		wtl_remark(session->app, "the counters in %s are damaged: they begin at 0",
			   session->store.folder);
	return 0;
}

/* Anyone on the machine can ask, and sees the names of programs. */
static void tell_hidden(struct session *session)
{
	const struct wtl_settings *settings = &session->app->settings;
	char *text = settings->no_processes ? NULL : malloc(MOUNTS_MAX);
	ssize_t len =
		text ? wtl_io_slurp(session->io, "/proc/self/mountinfo", text, MOUNTS_MAX) : 0;

	if (len > 0 && wtl_proc_hides(text, (size_t)len))
		wtl_remark(
			session->app,
			"/proc hides the processes of others (hidepid), but everybody on this "
			"machine can read here what they are called: --web-config FILE has users "
			"and passwords");
	free(text);
}

static int begin_http(struct session *session)
{
	const struct wtl_serve_settings *settings = session->app->own;
	const struct wtl_http_options how = {
		.address = settings->address,
		.port = settings->port,
		.web_config = settings->web_config,
		.needs_gate =
			!wtl_serve_is_loopback(settings->address) && !settings->insecure_listen,
		.hosts = settings->hosts.words,
		.board = &session->board,
		.past = session->past.n_columns > 0 ? &session->past : NULL,
		.routes = wtl_routes,
		.metrics =
			settings->compat | (settings->per_process ? WTL_METRICS_PER_PROCESS : 0)};
	struct wtl_err err = {.code = 0};
	bool is_six = strchr(settings->address, ':');

	if (settings->is_reader)
		return 0;
	if (wtl_http_start(&how, &session->http, &err) < 0)
		return wtl_complain(session->app, "%s%s%s", err.path, err.path[0] ? ": " : "",
				    err.text);
	wtl_remark(session->app, "serving at http%s://%s%s%s:%u/ (Ctrl-C ends it)",
		   wtl_http_has_tls(session->http) ? "s" : "", is_six ? "[" : "", settings->address,
		   is_six ? "]" : "", wtl_http_port(session->http));
	/* An exporter's unit itself hides other processes. */
	if (!settings->is_exporter && !settings->web_config)
		tell_hidden(session);
	return 0;
}

/* SIGHUP reloads the web configuration; the measurement goes on. */
static void reload(void *context)
{
	struct session *session = context;
	const struct wtl_serve_settings *settings = session->app->own;
	struct wtl_err err = {.code = 0};

	if (!settings->web_config || !session->http)
		wtl_remark(session->app,
			   "SIGHUP: there is no --web-config that could be read again");
	else if (wtl_http_reload(session->http, &err) < 0)
		wtl_complain(session->app, "%s%s%s: the old configuration stays", err.path,
			     err.path[0] ? ": " : "", err.text);
	else
		wtl_remark(session->app, "%s was read again", settings->web_config);
}

static int measure(struct session *session)
{
	struct wattle_energy *energies;
	struct wattle_window window;
	size_t n = wattle_meter_domains(session->meter);
	int stop;

	/* If nobody can be served, nothing shall be left in the store. */
	if (begin_agent(session) || begin_http(session) ||
	    wtl_serve_push_open(&session->push, session->app, &session->store,
				session->store.lock >= 0, session->host) ||
	    wtl_serve_share_open(session->app, session->meter, &session->board, &session->past,
				 &session->loop, &session->limits, &session->share))
		return WTL_EXIT_FAILED;
	begin_recording(session);
	session->devices = session->recorded.path ? session->recording.devices
						  : wtl_recording_devices_new(session->meter);
	stop = wtl_billing_watch_idle(&session->billing, &session->loop,
				      session->recording.recorder);
	if (stop)
		return stop;
	wtl_billing_begin(&session->billing);
	wattle_window_begin(session->meter, WINDOW);
	session->is_serving = true;
	session->recording.committing = keep_totals;
	session->recording.committing_context = session;
	session->recording.window_ended = keep_window;
	begin_past_fill(session);
	serve_machine(session);
	energies = session->agent.energies;
	wtl_window_end(session->meter, WINDOW, &window, energies, n);
	wtl_billing_bill(&session->billing, &window, energies);
	wtl_recording_window(&session->recording, WINDOW, false, &window, energies);
	wtl_serve_push_end(&session->push, is_recorded(session));
	/* The lack of a store was reported at the start. */
	return wtl_recording_close(&session->recording) < 0 && session->store.lock >= 0
		       ? WTL_EXIT_FAILED
		       : WTL_EXIT_DONE;
}

/* ---- All of it ---- */

static int serve(struct session *session)
{
	struct wtl_app *app = session->app;
	int code = WTL_EXIT_FAILED;

	if (wtl_loop_init(&session->loop, app, ticked, session) < 0)
		return code;
	session->loop.hung_up = reload;
	wtl_board_init(&session->board);
	if (wtl_billing_open(&session->billing, app, session->meter, session->io, WINDOW) == 0)
		code = measure(session);
	wtl_http_stop(session->http);
	wtl_sharing_close(session->share);
	wtl_serve_push_close(&session->push);
	if (!session->recorded.path)
		wtl_recording_devices_free(session->devices);
	wtl_recording_done(&session->recording, NULL);
	wtl_past_fill_stop(session->fill);
	wtl_past_done(&session->past);
	wtl_agent_done(&session->agent);
	wtl_board_done(&session->board);
	wtl_billing_close(&session->billing);
	wtl_loop_done(&session->loop);
	return code;
}

/* ---- The exporter: the half without privileges ---- */

static bool has_same_domains(const struct wtl_past *past, const struct wtl_live *live)
{
	size_t n = live->n_domains < WTL_PAST_DOMAINS ? live->n_domains : WTL_PAST_DOMAINS;

	if (past->n_columns == 0 || past->n_domains != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(past->names[i], live->domains[i].name) != 0)
			return false;
	return true;
}

/* The reader's past, if it gives one; else an empty one. */
static int make_past(struct session *session, const struct wtl_live *live)
{
	const char *names[WTL_PAST_DOMAINS];

	if (wtl_exporter_past(&session->exporter, &session->past) == 0) {
		if (has_same_domains(&session->past, live))
			return 0;
		wtl_past_done(&session->past);
	}
	for (size_t i = 0; i < live->n_domains && i < WTL_PAST_DOMAINS; i++)
		names[i] = live->domains[i].name;
	return wtl_past_init(&session->past, names, live->n_domains);
}

/* Makes a past of those domains. HTTP pauses meanwhile, as it uses the old one. */
static int begin_past(struct session *session, const struct wtl_live *live)
{
	struct wtl_err err = {.code = 0};

	if (session->http)
		wtl_http_pause(session->http);
	wtl_past_done(&session->past);
	if (make_past(session, live) < 0)
		return wtl_complain(session->app, "out of memory");
	if (session->http && wtl_http_resume(session->http, &session->past, &err) < 0)
		return wtl_complain(session->app, "%s", err.text);
	return 0;
}

static void keep_past(struct session *session)
{
	const struct wtl_live *live = wtl_board_hold(&session->board);

	if (live && !has_same_domains(&session->past, live) && begin_past(session, live))
		session->loop.stop = session->has_failed = true;
	else if (live && !wtl_past_knows(&session->past, live))
		wtl_past_look(&session->past, live);
	wtl_board_give_back(&session->board, live);
}

static void look_at_reader(void *context)
{
	struct session *session = context;
	struct wtl_err err = {.code = 0};
	int rc = wtl_exporter_look(&session->exporter, &err);

	if (rc > 0) {
		keep_past(session);
		rest(session, false);
		wtl_serve_push_newest(&session->push, &session->board, &session->exporter.push);
	}

	/* A repeated error is reported once. */
	if (rc < 0 && rc != session->exporter_error)
		wtl_remark(session->app, "%s", err.text);
	else if (rc >= 0 && session->exporter_error < 0)
		wtl_remark(session->app, "%s answers again", session->exporter.path);
	session->exporter_error = rc < 0 ? rc : 0;
}

static int export_snapshots(struct session *session)
{
	struct wtl_app *app = session->app;
	const struct wtl_serve_settings *settings = app->own;
	struct wtl_err err = {.code = 0};
	int code = WTL_EXIT_FAILED;

	session->store.lock = -1;
	wtl_rights_drop();
	if (wtl_io_real_new(NULL, &session->io, &err) < 0)
		return wtl_complain_err(app, &err), code;
	if (wtl_loop_init(&session->loop, app, look_at_reader, session) == 0) {
		session->loop.hung_up = reload;
		wtl_board_init(&session->board);
		wtl_exporter_init(&session->exporter,
				  settings->socket ? settings->socket : WTL_AGENT_SOCKET,
				  &session->board);
		look_at_reader(session);
		if (!session->has_failed && begin_http(session) == 0 &&
		    wtl_serve_push_open_alone(&session->push, app, &session->store) == 0) {
			serve_machine(session);
			wtl_serve_push_end(&session->push, false);
			code = session->has_failed ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
		}
		wtl_http_stop(session->http);
		wtl_serve_push_close(&session->push);
		wtl_serve_store_close(&session->store);
		wtl_exporter_done(&session->exporter);
		wtl_past_done(&session->past);
		wtl_board_done(&session->board);
		wtl_loop_done(&session->loop);
	}
	wtl_io_free(session->io);
	return code;
}

static int measure_and_serve(struct session *session)
{
	struct wtl_app *app = session->app;
	const struct wtl_serve_settings *settings = app->own;
	int code = WTL_EXIT_FAILED, rc;

	rc = wtl_serve_store_open(&session->store, app, settings);
	if (rc >= 0) {
		session->recorded = (struct wtl_recording_settings){
			.path = session->store.path[0] ? session->store.path : NULL,
			.not_yet = &session->store.why,
			.max_bytes = settings->max_bytes / 2,
			.max_age_ns = settings->max_age_ns};
		wtl_recording_listen(&session->recording, app, &session->recorded, true);
		session->recording.goes_on = true;
		if (wtl_open_meter(app, &session->meter, &session->io) == 0) {
			code = serve(session);
			wtl_close_meter(app, session->meter, session->io);
		}
		wtl_recording_done(&session->recording, NULL);
	}
	wtl_serve_store_close(&session->store);
	return code;
}

static int run(struct wtl_app *app)
{
	const struct wtl_serve_settings *settings = app->own;
	struct session *session;
	int code;

	if (wtl_serve_check(app))
		return WTL_EXIT_USAGE;
	/* Not on the stack: it may be small. */
	session = calloc(1, sizeof(*session));
	if (!session)
		return wtl_complain(app, "out of memory"), WTL_EXIT_FAILED;
	session->app = app;
	code = settings->is_exporter ? export_snapshots(session) : measure_and_serve(session);
	free(session);
	return code;
}

static const struct wtl_serve_settings defaults = {
	.address = "127.0.0.1",
	.port = WTL_HTTP_PORT,
	.max_bytes = UINT64_C(2000000000),
	.max_age_ns = 31 * 86400 * WTL_NS_PER_S,
	.push_interval_ns = 10 * WTL_NS_PER_S,
};

const struct wtl_command wtl_command_serve = {
	.name = "serve",
	.summary = "Serve metrics for Prometheus and a live page",
	.synopsis = "[OPTION...]",
	.description =
		"Measures this machine without an end, and answers requests by HTTP at "
		"http://127.0.0.1:9177: /metrics for Prometheus, and / for people. No request reads a "
		"sensor: all are answered from what was measured last.\n\n"
		"What was measured is kept in a folder of recordings (--store), which wattle report "
		"and plot read; counters go on from there after a restart.",
	.examples = "wattle serve\n"
		    "    the page is at http://127.0.0.1:9177/\n\n"
		    "wattle serve --port 9200 --no-store\n"
		    "    at another port, remembering nothing",
	.exit_status = "0\tit was told to end\n"
		       "1\tit failed\n"
		       "2\twrong options",
	.options = wtl_serve_options,
	.shared = shared,
	.settings_size = sizeof(struct wtl_serve_settings),
	.defaults = &defaults,
	.measures = true,
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
