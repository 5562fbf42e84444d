/* SPDX-License-Identifier: MIT */
/* How GPUs' power sensors sample, found by what they show while a load is switched on and off. */
#include "commands/calibrate/sensor.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/idle.h"
#include "cli/machine.h"
#include "cli/user.h"
#include "commands/calibrate/load.h"
#include "energy/sensor_fit.h"
#include "energy/units.h"
#include "gpu/library.h"
#include "meter/meter.h"
#include "meter/sensed.h"

enum { GPUS_MAX = 64, EDGES_MAX = 4096 };
/* Between two polls; NVML's calls themselves take from part of a millisecond to a few. */
#define PAUSE_NS WTL_NS_PER_MS
/* The card warms up, its clocks rise, and the user's command gets going. */
#define WARM_NS (3 * WTL_NS_PER_S)
/* Long steps reveal a slow sensor, short ones a fast one. */
#define STEP_NS		 (1200 * WTL_NS_PER_MS)
#define STRETCH_LEAST_MS 15
#define STRETCH_RATIO	 20.0

/* What a GPU may report: three kinds of power, and its energy counter. */
enum what { DRAW, AVERAGE, INSTANT, COUNTER, WHATS };

static const struct {
	const char *name;
	enum wtl_power_field field;
	uint32_t nvml; /* 0: by a function of its own */
} whats[WHATS] = {
	[DRAW] = {"power.draw", WTL_POWER_DRAW, 0},
	[AVERAGE] = {"power.draw.average", WTL_POWER_AVERAGE, WTL_NVML_FIELD_POWER_AVERAGE},
	[INSTANT] = {"power.draw.instant", WTL_POWER_INSTANT, WTL_NVML_FIELD_POWER_INSTANT},
	[COUNTER] = {"the energy counter", WTL_POWER_DRAW, WTL_NVML_FIELD_ENERGY},
};

struct session {
	struct wtl_app *app;
	const struct wtl_sensor_settings *settings;
	struct wtl_io *io;
	struct wtl_nvml_lib lib;
	/* Of the current GPU: */
	const struct wtl_channel *channel;
	char bus_id[WTL_NVML_BUS_ID_SIZE];
	uint64_t handle;
	bool has[WHATS];
	struct wtl_power_log logs[WHATS];
	int64_t edges_ns[EDGES_MAX];
	size_t n_edges;
	uint64_t random;
	size_t n_kept;
};

/* ---- Signals ---- */

/* These signals wait until the load has ended. */
static const int ending[] = {SIGINT, SIGTERM, SIGHUP};

enum { ENDING = sizeof(ending) / sizeof(ending[0]) };

static void hold_signals(void)
{
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < ENDING; i++)
		sigaddset(&held, ending[i]);
	sigprocmask(SIG_BLOCK, &held, NULL);
}

/* The signal that asks to end; 0: none has come. */
static int ending_signal(void)
{
	sigset_t pending;

	sigpending(&pending);
	for (size_t i = 0; i < ENDING; i++)
		if (sigismember(&pending, ending[i]))
			return ending[i];
	return 0;
}

/* ---- Polling ---- */

static void take(struct session *session, enum what what, int64_t t_ns, int code, uint64_t value)
{
	if (code != WTL_NVML_OK || (value == 0 && what != COUNTER))
		return;
	session->has[what] = true;
	wtl_power_log_add(&session->logs[what], t_ns, (double)value / 1e3);
}

/* A value gets the time of the middle of its call: it was true at some moment during the call. */
static void poll_all(struct session *session)
{
	struct wtl_nvml_field fields[] = {{.field = WTL_NVML_FIELD_POWER_AVERAGE},
					  {.field = WTL_NVML_FIELD_POWER_INSTANT},
					  {.field = WTL_NVML_FIELD_ENERGY}};
	static const enum what order[] = {AVERAGE, INSTANT, COUNTER};
	uint32_t power_mw = 0;
	struct wtl_lib_arg draw[] = {{.word = session->handle},
				     {.memory = &power_mw, .size = sizeof(power_mw)}};
	struct wtl_lib_arg several[] = {{.word = session->handle},
					{.word = sizeof(fields) / sizeof(fields[0])},
					{.memory = fields, .size = sizeof(fields)}};
	int64_t before_ns = wtl_io_mono_ns(session->io), after_ns;
	int code = wtl_nvml_call(&session->lib, WTL_NVML_POWER_USAGE, draw);

	after_ns = wtl_io_mono_ns(session->io);
	take(session, DRAW, before_ns + (after_ns - before_ns) / 2, code, power_mw);
	before_ns = after_ns;
	code = wtl_nvml_call(&session->lib, WTL_NVML_FIELD_VALUES, several);
	after_ns = wtl_io_mono_ns(session->io);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		uint64_t value = 0;
		int own = code != WTL_NVML_OK ? code : wtl_nvml_field_code(&fields[i]);

		if (own == WTL_NVML_OK && !wtl_nvml_field_u64(&fields[i], &value))
			own = WTL_NVML_UNKNOWN;
		take(session, order[i], before_ns + (after_ns - before_ns) / 2, own, value);
	}
}

static void poll_until(struct session *session, int64_t until_ns)
{
	while (!ending_signal() && wtl_io_mono_ns(session->io) < until_ns) {
		poll_all(session);
		nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
	}
}

/* ---- The load ---- */

static void add_edge(struct session *session, int64_t t_ns)
{
	if (session->n_edges < EDGES_MAX)
		session->edges_ns[session->n_edges++] = t_ns;
}

static int run_on(struct session *session, struct wtl_gpu_load *load, int64_t for_ns,
		  struct wtl_err *err)
{
	int64_t begin_ns = load->ops->on(load, for_ns, err), end_ns;

	if (begin_ns < 0)
		return (int)begin_ns;
	poll_until(session, begin_ns + for_ns);
	end_ns = load->ops->off(load, err);
	if (end_ns < 0)
		return (int)end_ns;
	add_edge(session, begin_ns);
	add_edge(session, end_ns);
	return 0;
}

/* Log-uniform, and the same sequence each time: no fixed period that a sensor could be in step with. */
static int64_t next_stretch(struct session *session)
{
	double part;

	session->random =
		session->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	part = (double)(session->random >> 11) / 9007199254740992.0;
	return (int64_t)(STRETCH_LEAST_MS * pow(STRETCH_RATIO, part) * (double)WTL_NS_PER_MS);
}

static int run_square(struct session *session, struct wtl_gpu_load *load, struct wtl_err *err)
{
	int64_t end_ns;
	int rc = run_on(session, load, WARM_NS, err);

	/* The warm-up is not evaluated. */
	session->n_edges = 0;
	for (enum what i = DRAW; i < WHATS; i++)
		session->logs[i].n = 0;
	poll_until(session, wtl_io_mono_ns(session->io) + STEP_NS);
	end_ns = wtl_io_mono_ns(session->io) + session->settings->length_ns;
	while (rc == 0 && !ending_signal() && wtl_io_mono_ns(session->io) < end_ns) {
		bool is_step = session->n_edges < 4;
		int64_t on_ns = is_step ? STEP_NS : next_stretch(session);

		rc = run_on(session, load, on_ns, err);
		poll_until(session, wtl_io_mono_ns(session->io) +
					    (is_step ? STEP_NS : next_stretch(session)));
	}
	return rc;
}

/* ---- The result ---- */

static int keep(struct session *session, const struct wtl_kept_sensor *kept)
{
	char idle[4000], path[4096];
	int rc = wtl_idle_path(&session->app->settings, idle, sizeof(idle));

	if (session->settings->dry_run)
		return 0;
	if (rc == 0)
		rc = wtl_sensed_path(idle, path, sizeof(path));
	if (rc == 0) {
		wtl_user_make_folder_of(path);
		rc = wtl_sensed_keep(session->io, path, kept);
	}
	if (rc < 0)
		wtl_complain(session->app, "what was found cannot be kept: %s", wtl_err_text(rc));
	else if (session->n_kept++ == 0 && !session->app->settings.quiet)
		printf("  kept in %s\n", path);
	return rc;
}

static double ms(int64_t ns)
{
	return (double)ns / (double)WTL_NS_PER_MS;
}

static void tell_power(enum what what, const struct wtl_sensor_found *found)
{
	printf("  %-20s a new value every %.1f ms; ", whats[what].name, ms(found->update_ns));
	if (found->kind == WTL_SENSOR_LOWPASS)
		printf("charges like a capacitor of %.1f ms, as a mean over ",
		       ms(found->window_ns) / 2);
	else
		printf("a mean over ");
	printf("%.1f +- %.1f ms, that ended %.1f +- %.1f ms before\n", ms(found->window_ns),
	       2 * ms(found->window_sd_ns), ms(found->latency_ns), 2 * ms(found->latency_sd_ns));
	printf("  %-20s %.1f W without the load, %.1f W with it, %.1f W rms left over, %zu new "
	       "values, asked every %.1f ms\n",
	       "", found->low_w, found->high_w, found->rms_w, found->n, ms(found->poll_ns));
}

static void tell_known(const struct session *session, enum what what)
{
	const struct wtl_channel *channel = session->channel;

	if (channel->class && channel->class->field == whats[what].field && channel->class->known)
		printf("  %-20s its kind is known for %.0f ms every %.0f ms\n", "",
		       ms(channel->class->window_ns), ms(channel->class->update_ns));
}

static int64_t utc_s(struct wtl_io *io)
{
	return wtl_io_real_ns(io) / WTL_NS_PER_S;
}

static int solve_power(struct session *session, enum what what)
{
	const struct wtl_sensor_load load = {session->edges_ns, session->n_edges};
	struct wtl_sensor_found found;
	struct wtl_kept_sensor kept;
	struct wtl_err err = {.code = 0};
	char key[WTL_KEPT_KEY_SIZE];
	int rc = wtl_sensor_fit(&session->logs[what], &load, &found, &err);

	if (rc < 0) {
		wtl_complain(session->app, "%s, %s: %s", session->channel->domain, whats[what].name,
			     err.text);
		return rc;
	}
	tell_power(what, &found);
	tell_known(session, what);
	wtl_kept_sensor_key(key, session->channel->serial, whats[what].field);
	wtl_kept_sensor_set(&kept, key, &found, utc_s(session->io));
	return keep(session, &kept);
}

static int solve_counter(struct session *session)
{
	struct wtl_sensor_found found = {.n = 0};
	struct wtl_kept_sensor kept;
	struct wtl_err err = {.code = 0};
	char key[WTL_KEPT_KEY_SIZE];
	int rc = wtl_sensor_update(&session->logs[COUNTER], &found.update_ns, &err);

	if (rc < 0) {
		wtl_complain(session->app, "%s, %s: %s", session->channel->domain,
			     whats[COUNTER].name, err.text);
		return rc;
	}
	printf("  %-20s moves every %.1f ms\n", whats[COUNTER].name, ms(found.update_ns));
	wtl_kept_sensor_counter_key(key, session->channel->serial);
	wtl_kept_sensor_set(&kept, key, &found, utc_s(session->io));
	return keep(session, &kept);
}

static int solve(struct session *session)
{
	int rc = 0, n = 0;

	printf("%s, %s\n", session->channel->domain, session->channel->device);
	for (enum what i = DRAW; i < WHATS; i++) {
		int own;

		if (!session->has[i])
			continue;
		own = i == COUNTER ? solve_counter(session) : solve_power(session, i);
		rc = rc < 0 ? rc : own;
		n++;
	}
	if (n == 0) {
		wtl_complain(session->app, "%s: it tells neither power nor energy",
			     session->channel->domain);
		rc = -ENODATA;
	}
	fflush(stdout);
	return rc;
}

/* ---- One GPU after the other ---- */

static int open_load(struct session *session, struct wtl_gpu_load **ret_load, struct wtl_err *err)
{
	const struct wtl_sensor_settings *settings = session->settings;

	return settings->load ? wtl_gpu_load_command(settings->load, session->channel->serial,
						     ret_load, err)
			      : wtl_gpu_load_cuda(settings->cuda, session->bus_id, ret_load, err);
}

static int look_at(struct session *session)
{
	struct wtl_gpu_load *load = NULL;
	struct wtl_err err = {.code = 0};
	int rc = open_load(session, &load, &err);

	if (rc == 0) {
		wtl_remark(
			session->app,
			"%s: under a load that is switched on and off for %.0f s: leave it alone "
			"meanwhile",
			session->channel->domain,
			(double)(session->settings->length_ns + WARM_NS) / 1e9);
		rc = run_square(session, load, &err);
		load->ops->free(load);
	}
	if (rc < 0)
		wtl_complain(session->app, "%s: %s", session->channel->domain, err.text);
	if (ending_signal())
		rc = -EINTR;
	return rc == 0 ? solve(session) : rc;
}

/* The GPU's handle and PCI address, by the UUID that the meter has found. */
static int find(struct session *session)
{
	struct wtl_nvml_pci pci = {.bus = 0};
	int code = wtl_nvml_handle_by_text(&session->lib, WTL_NVML_BY_UUID,
					   session->channel->serial, &session->handle);

	if (code == WTL_NVML_OK) {
		struct wtl_lib_arg args[] = {{.word = session->handle},
					     {.memory = &pci, .size = sizeof(pci)}};

		code = wtl_nvml_call(&session->lib, WTL_NVML_PCI_INFO, args);
	}
	if (code != WTL_NVML_OK) {
		wtl_complain(session->app, "%s: %s", session->channel->domain,
			     wtl_nvml_reason(code));
		return -ENODEV;
	}
	snprintf(session->bus_id, sizeof(session->bus_id), "%.31s", pci.bus_id);
	return 0;
}

static bool is_gpu(const struct wtl_channel *channel)
{
	return channel->kind == WATTLE_KIND_GPU && strcmp(channel->source, "nvml") == 0 &&
	       channel->serial[0];
}

static int look_at_all(struct session *session, const struct wattle_meter *meter)
{
	const struct wtl_catalog *catalog = &meter->catalog;
	size_t n = 0;
	int rc = 0;

	for (size_t i = 0; i < catalog->n_channels && !ending_signal(); i++) {
		const struct wtl_channel *channel = &catalog->channels[i];
		bool is_new = is_gpu(channel);
		int own;

		for (size_t k = 0; k < i; k++)
			is_new &= strcmp(catalog->channels[k].serial, channel->serial) != 0;
		if (!is_new)
			continue;
		n++;
		session->channel = channel;
		session->random = 1;
		memset(session->has, 0, sizeof(session->has));
		own = find(session);
		if (own == 0)
			own = look_at(session);
		rc = rc < 0 ? rc : own;
	}
	if (n == 0) {
		wtl_complain(session->app, "there is no NVIDIA GPU that can be measured: wattle "
					   "doctor says why");
		rc = -ENODEV;
	}
	return rc;
}

static int with_library(struct session *session, const struct wattle_meter *meter)
{
	struct wtl_err err = {.code = 0};
	int rc;

	wtl_nvml_lib_init(&session->lib, session->io);
	rc = wtl_nvml_lib_load(&session->lib, session->app->settings.nvml_path, &err);
	if (rc == 0 && wtl_nvml_lib_start(&session->lib) != WTL_NVML_OK)
		rc = -ENODEV;
	if (rc < 0)
		wtl_complain(session->app,
			     "NVIDIA's management library cannot be used: wattle doctor says why");
	else
		rc = look_at_all(session, meter);
	wtl_nvml_lib_close(&session->lib);
	return rc;
}

int wtl_calibrate_sensors(struct wtl_app *app, const struct wtl_sensor_settings *settings)
{
	struct session *session = calloc(1, sizeof(*session));
	struct wattle_meter *meter;
	int rc;

	if (!session) {
		wtl_complain(app, "out of memory");
		return WTL_EXIT_FAILED;
	}
	*session = (struct session){.app = app, .settings = settings};
	rc = wtl_open_meter(app, &meter, &session->io);
	if (rc == 0) {
		hold_signals();
		rc = with_library(session, meter);
		wtl_close_meter(app, meter, session->io);
	}
	for (enum what i = DRAW; i < WHATS; i++)
		wtl_power_log_done(&session->logs[i]);
	free(session);
	if (ending_signal())
		return 128 + ending_signal();
	return rc < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}
