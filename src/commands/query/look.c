/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/machine.h"
#include "commands/query/query.h"
#include "cli/user.h"
#include "meter/meter.h"
#include "document/report.h"
#include "energy/domain.h"
#include "energy/units.h"
#include "meter/meter.h"
#include "sensors/gpu_info.h"
#include "sensors/share_text.h"

#define WINDOW "query"
#define STEP   "query-step"

static int out_of_memory(struct wtl_app *app)
{
	wtl_complain(app, "out of memory");
	return WTL_EXIT_FAILED;
}

static int choose(struct wtl_looker *looker, const struct wtl_gpu_choice *choice)
{
	int rc = wtl_gpus_choose(looker->app, looker->reader, choice, &looker->chosen,
				 &looker->n_chosen);

	if (rc < 0)
		return rc == -ENOENT ? WTL_EXIT_NO_SOURCE : WTL_EXIT_FAILED;
	looker->gpus = calloc(looker->n_chosen + 1, sizeof(*looker->gpus));
	looker->meters = calloc(looker->n_chosen + 1, sizeof(*looker->meters));
	return looker->gpus && looker->meters ? 0 : out_of_memory(looker->app);
}

/* The agent's samples are a second apart, and power needs two of them. */
static int64_t glance_ns(const struct wattle_meter *meter)
{
	for (size_t i = 0; i < meter->catalog.n_channels; i++)
		if (wtl_share_is_told(&meter->catalog.channels[i]))
			return WTL_LOOKER_GLANCE_NS + WTL_NS_PER_S;
	return WTL_LOOKER_GLANCE_NS;
}

static int begin_metering(struct wtl_looker *looker)
{
	looker->n_domains = wattle_meter_domains(looker->meter);
	looker->domains = calloc(looker->n_domains + 1, sizeof(*looker->domains));
	looker->domain_meters = calloc(looker->n_domains + 1, sizeof(*looker->domain_meters));
	looker->window = calloc(looker->n_domains + 1, sizeof(*looker->window));
	looker->step = calloc(looker->n_domains + 1, sizeof(*looker->step));
	if (!looker->domains || !looker->domain_meters || !looker->window || !looker->step)
		return out_of_memory(looker->app);
	wattle_window_begin(looker->meter, WINDOW);
	wattle_window_begin(looker->meter, STEP);
	looker->glance_end_ns = wtl_io_mono_ns(looker->io) + glance_ns(looker->meter);
	return 0;
}

int wtl_looker_init(struct wtl_looker *looker, struct wtl_app *app,
		    const struct wtl_gpu_choice *choice, unsigned what, bool asks_meter)
{
	int code, rc;

	memset(looker, 0, sizeof(*looker));
	looker->app = app;
	looker->what = what;
	looker->asks_meter = asks_meter;
	app->settings.no_processes = true; /* wattle's own: the drivers list theirs */
	rc = asks_meter ? wtl_open_meter(app, &looker->meter, &looker->io)
			: wtl_open_io(app, &looker->io);
	if (rc < 0 || wtl_open_gpus(app, looker->io, &looker->reader) < 0)
		return WTL_EXIT_FAILED;
	code = choose(looker, choice);
	return !code && asks_meter ? begin_metering(looker) : code;
}

void wtl_looker_done(struct wtl_looker *looker)
{
	wtl_gpu_reader_free(looker->reader);
	if (looker->meter)
		wtl_close_meter(looker->app, looker->meter, looker->io);
	else
		wtl_close_io(looker->app, looker->io);
	free(looker->chosen);
	free(looker->gpus);
	free(looker->meters);
	free(looker->domains);
	free(looker->domain_meters);
	free(looker->window);
	free(looker->step);
	memset(looker, 0, sizeof(*looker));
}

int wtl_looker_wait(struct wtl_looker *looker, int64_t t_mono_ns)
{
	struct wtl_io *io = looker->io;
	int64_t due_ns = wtl_io_mono_ns(io);
	int rc = 0;

	while (rc == 0 && due_ns < t_mono_ns) {
		due_ns += looker->app->settings.interval_ns;
		if (due_ns > t_mono_ns || !looker->asks_meter)
			due_ns = t_mono_ns;
		rc = wtl_io_wait_until(io, due_ns);
		if (rc == 0 && looker->asks_meter)
			wattle_meter_tick(looker->meter);
	}
	return rc;
}

static void take_meter(const struct wtl_looker *looker, size_t domain, struct wtl_look_meter *ret)
{
	const struct wattle_energy *window = &looker->window[domain], *step = &looker->step[domain];

	memset(ret, 0, sizeof(*ret));
	if (window->has_energy) {
		ret->has_energy = true;
		ret->energy_uj = window->energy_uj;
		ret->energy_uncertainty_uj = window->uncertainty_uj;
	}
	if (step->has_energy && step->has_power && step->measured_ns > 0) {
		double seconds = (double)step->measured_ns / 1e9;

		ret->has_power = true;
		ret->power_uw = step->mean_uw;
		ret->power_uncertainty_uw =
			(uint64_t)((double)step->uncertainty_uj / seconds + 0.5);
	}
}

static bool is_of_another(const struct wtl_looker *looker, const char *domain)
{
	size_t n;
	const struct wtl_gpu *gpus = wtl_gpu_reader_gpus(looker->reader, &n);

	for (size_t i = 0; i < looker->n_chosen; i++)
		if (wtl_domain_is_of_gpu(domain, looker->gpus[i].domain))
			return false;
	for (size_t i = 0; i < n; i++)
		if (wtl_domain_is_of_gpu(domain, gpus[i].domain))
			return true;
	return false;
}

static void leave_out_others(struct wtl_looker *looker, struct wtl_look *look)
{
	size_t kept = 0;

	for (size_t i = 0; i < look->n_domains; i++) {
		if (is_of_another(looker, looker->domains[i].domain.name))
			continue;
		looker->domains[kept] = looker->domains[i];
		looker->domain_meters[kept++] = looker->domain_meters[i];
	}
	look->n_domains = kept;
}

static void read_meter(struct wtl_looker *looker, struct wtl_look *look)
{
	struct wattle_meter *meter = looker->meter;

	wtl_window_read(meter, WINDOW, NULL, looker->window, looker->n_domains);
	wtl_window_end(meter, STEP, NULL, looker->step, looker->n_domains);
	wattle_window_begin(meter, STEP);
	for (size_t i = 0; i < looker->n_domains; i++) {
		struct wtl_report_domain *domain = &looker->domains[i];

		wtl_meter_domain(meter, i, &domain->domain);
		domain->energy = looker->window[i];
		take_meter(looker, i, &looker->domain_meters[i]);
	}
	for (size_t i = 0; i < looker->n_chosen; i++) {
		int line = looker->gpus[i].domain[0]
				   ? wattle_meter_find(meter, looker->gpus[i].domain)
				   : -ENOENT;

		if (line >= 0)
			looker->meters[i] = looker->domain_meters[line];
		else
			memset(&looker->meters[i], 0, sizeof(looker->meters[i]));
	}
	look->meters = looker->meters;
	look->domains = looker->domains;
	look->domain_meters = looker->domain_meters;
	look->n_domains = looker->n_domains;
	if (looker->only_chosen)
		leave_out_others(looker, look);
}

/* The owner's name; with --root or --tape, this machine's name for the user ID. */
static const char *find_user(void *context, const struct wtl_gpu_process *process)
{
	struct wtl_looker *looker = context;
	char path[64], text[4096];
	const char *line;
	uint64_t uid;

	if (!process->is_visible)
		return NULL;
	snprintf(path, sizeof(path), "/proc/%d/status", process->pid);
	if (wtl_io_slurp(looker->io, path, text, sizeof(text)) < 0)
		return NULL;
	line = strstr(text, "\nUid:\t");
	if (!line)
		return NULL;
	line += strlen("\nUid:\t");
	if (wtl_num_u64(line, strcspn(line, "\t\n"), &uid) < 0 || uid > UINT32_MAX)
		return NULL;
	wtl_user_name(!looker->app->settings.root && !looker->app->settings.tape, (uint32_t)uid,
		      looker->user, sizeof(looker->user));
	return looker->user;
}

void wtl_looker_look(struct wtl_looker *looker, struct wtl_look *ret_look)
{
	const struct wtl_gpu *gpus;

	memset(ret_look, 0, sizeof(*ret_look));
	wtl_gpu_reader_read(looker->reader, looker->what);
	gpus = wtl_gpu_reader_gpus(looker->reader, &ret_look->n_attached);
	for (size_t i = 0; i < looker->n_chosen; i++)
		looker->gpus[i] = gpus[looker->chosen[i]];
	ret_look->gpus = looker->gpus;
	ret_look->n_gpus = looker->n_chosen;
	if (looker->asks_meter) {
		wtl_looker_wait(looker, looker->glance_end_ns);
		read_meter(looker, ret_look);
	}
	ret_look->driver = wtl_gpu_reader_driver_version(looker->reader);
	ret_look->cuda = wtl_gpu_reader_cuda_version(looker->reader);
	ret_look->trouble = wtl_gpu_reader_trouble(looker->reader);
	ret_look->t_utc_ns = wtl_io_real_ns(looker->io);
	ret_look->user = find_user;
	ret_look->user_context = looker;
}
