/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/remedy.h"
#include "cli/billing.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "report/description.h"
#include "cli/machine.h"
#include "cli/option.h"
#include "cli/sink.h"
#include "document/format.h"
#include "document/report.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "meter/observer.h"
#include "workload/workload.h"

#define WINDOW	   "doctor"
#define OUTPUT_MAX (16u << 20)
#define REMEDY_MAX (8u << 10)

enum { REMEDIES_MAX = 64 };
/* Long enough for ten updates of the slowest common sensor (100 ms). */
#define LOOK_NS WTL_NS_PER_S
/* So long if a counter has not moved: afterwards it is clear that it never will (see account.h). */
#define LOOK_LONG_NS (3500 * WTL_NS_PER_MS)

static const struct wtl_option *const shared[] = {
	wtl_options_format, wtl_options_output,	 wtl_options_terminal, wtl_options_idle_file,
	wtl_options_gpus,   wtl_options_machine, wtl_options_general,  NULL,
};

static bool is_unclear(const struct wattle_meter *meter)
{
	for (size_t i = 0; i < meter->n_domains; i++)
		if (meter->domains[i].account && wtl_account_is_unclear(meter->domains[i].account))
			return true;
	return false;
}

static bool goes_on(const struct wtl_app *app, const struct wattle_meter *meter, int64_t looked_ns)
{
	return app->settings.tape || looked_ns < LOOK_NS ||
	       (looked_ns < LOOK_LONG_NS && is_unclear(meter));
}

static void look(struct wtl_app *app, struct wattle_meter *meter, struct wtl_io *io,
		 struct wtl_billing *billing, struct wtl_description *description)
{
	struct wattle_window window = {.duration_ns = 0};
	int64_t begin_ns = wtl_io_mono_ns(io), due_ns = begin_ns;
	int rc = 0;

	wtl_billing_begin(billing);
	wattle_window_begin(meter, WINDOW);
	while (rc == 0 && goes_on(app, meter, due_ns - begin_ns)) {
		due_ns += app->settings.interval_ns;
		rc = wtl_io_wait_until(io, due_ns);
		if (rc == 0)
			wattle_meter_tick(meter);
	}
	wtl_window_end(meter, WINDOW, &window, description->energies, description->n_domains);
	wtl_billing_bill(billing, &window, description->energies);
	wtl_workload_probe_weights(wtl_consumers_workload(billing->consumers));
	wtl_description_fill(description, meter);
	for (size_t i = 0; i < description->n_domains; i++)
		wtl_consumers_baseline(billing->consumers, i, &description->domains[i].idle);
}

/* Remedies that name the command by the path of this one, which may not be the one in PATH. */
struct remedies {
	struct wtl_buf
		binary; /* as a word for a shell; empty: remedies stay, they are another machine's */
	struct wtl_buf texts[REMEDIES_MAX];
	size_t n;
};

static void begin_remedies(struct remedies *remedies, const struct wtl_settings *settings)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	remedies->n = 0;
	wtl_buf_init(&remedies->binary, REMEDY_MAX);
	if (len <= 0 || settings->root || settings->tape)
		return;
	path[len] = '\0';
	wtl_format_word(&remedies->binary, path);
}

static const char *with_path(struct remedies *remedies, const char *remedy)
{
	const char *from = remedy, *at = remedy ? strstr(remedy, WTL_REMEDY_BINARY) : NULL;
	struct wtl_buf *text;

	if (!at || remedies->binary.len == 0 || remedies->n == REMEDIES_MAX)
		return remedy;
	text = &remedies->texts[remedies->n++];
	wtl_buf_init(text, REMEDY_MAX);
	for (; at; at = strstr(from, WTL_REMEDY_BINARY)) {
		wtl_buf_add(text, from, (size_t)(at - from));
		wtl_buf_puts(text, wtl_buf_str(&remedies->binary));
		from = at + strlen(WTL_REMEDY_BINARY);
	}
	wtl_buf_puts(text, from);
	return text->error ? remedy : wtl_buf_str(text);
}

static void end_remedies(struct remedies *remedies)
{
	wtl_buf_done(&remedies->binary);
	for (size_t i = 0; i < remedies->n; i++)
		wtl_buf_done(&remedies->texts[i]);
}

static size_t list_ways(const struct wtl_consumers *consumers, struct remedies *remedies,
			struct wtl_doctor_way ways[WTL_WAYS])
{
	const struct wtl_workload_means *means = wtl_consumers_means(consumers);

	for (size_t i = 0; i < WTL_WAYS; i++)
		ways[i] = (struct wtl_doctor_way){
			.way = means->ways[i].way,
			.is_used = means->ways[i].is_used,
			.reason = means->ways[i].reason,
			.remedy = with_path(remedies, means->ways[i].remedy),
		};
	return WTL_WAYS;
}

static bool is_measured(const struct wattle_meter *meter, const char *domain)
{
	int i = wattle_meter_find(meter, domain);

	return i >= 0 && meter->domains[i].info.source &&
	       meter->domains[i].info.method != WATTLE_METHOD_MODELLED;
}

/* Is its reason already shown with its domain? */
static bool is_shown(const struct wtl_miss *miss, const struct wtl_description *description)
{
	for (size_t i = 0; i < description->n_domains; i++) {
		const struct wattle_domain *domain = &description->domains[i].domain;

		if (strcmp(domain->name, miss->domain) == 0)
			return domain->reason && strcmp(domain->reason, miss->reason) == 0;
	}
	return false;
}

static bool is_listed(const struct wtl_doctor_source *sources, size_t n,
		      const struct wtl_miss *miss)
{
	for (size_t i = 0; i < n; i++)
		if (sources[i].source == miss->source &&
		    strcmp(sources[i].remedy, miss->remedy) == 0)
			return true;
	return false;
}

/*
 * Sources that offer nothing at all, with what they said; and what a second source of an unmeasured
 * domain would need, once each: it may be the easier one.
 */
static size_t list_sources(const struct wattle_meter *meter,
			   const struct wtl_description *description, struct remedies *remedies,
			   struct wtl_doctor_source *sources)
{
	size_t n = 0;

	for (size_t i = 0; i < meter->catalog.n_misses; i++) {
		const struct wtl_miss *miss = &meter->catalog.misses[i];

		if (miss->domain[0] &&
		    (!miss->remedy[0] || is_shown(miss, description) ||
		     is_measured(meter, miss->domain) || is_listed(sources, n, miss)))
			continue;
		sources[n++] = (struct wtl_doctor_source){
			.source = miss->source,
			.reason = miss->reason,
			.remedy = miss->remedy,
			.status = miss->status,
		};
	}
	for (size_t i = 0; i < n; i++)
		sources[i].remedy =
			sources[i].remedy[0] ? with_path(remedies, sources[i].remedy) : NULL;
	return n;
}

static size_t count_measured(const struct wtl_description *description)
{
	size_t n = 0;

	for (size_t i = 0; i < description->n_domains; i++)
		n += description->domains[i].energy.has_energy &&
		     description->domains[i].domain.method != WATTLE_METHOD_MODELLED;
	return n;
}

static const char *or_null(const char *text)
{
	return text[0] ? text : NULL;
}

static int write_doctor(struct wtl_app *app, const struct wtl_billing *billing,
			struct wtl_description *description)
{
	struct wattle_meter *meter = billing->meter;
	struct wtl_doctor_source *sources = calloc(meter->catalog.n_misses + 1, sizeof(*sources));
	const struct wtl_machine *machine = &meter->machine;
	struct wtl_doctor_way ways[WTL_WAYS];
	struct remedies remedies;
	char summary[128];
	int rc;

	if (!sources) {
		wtl_complain(app, "out of memory");
		return -1;
	}
	begin_remedies(&remedies, &app->settings);
	for (size_t i = 0; i < description->n_domains; i++) {
		struct wattle_domain *domain = &description->domains[i].domain;

		domain->remedy = with_path(&remedies, domain->remedy);
		if (!domain->reason)
			domain->reason = wtl_describe_coarse(meter, i);
	}
	snprintf(summary, sizeof(summary), "%zu of %zu domains are measured.",
		 count_measured(description), description->n_domains);

	const struct wtl_doctor doctor = {
		.cpu_model = or_null(machine->cpu_model),
		.product = or_null(machine->product),
		.kernel = or_null(machine->kernel),
		.n_cpus = machine->n_cpus,
		.n_packages = machine->n_packages,
		.memory_bytes = machine->memory_bytes,
		.is_vm = machine->is_vm,
		.is_container = machine->is_container,
		.t_utc_ns = wtl_io_real_ns(billing->io),
		.domains = description->domains,
		.n_domains = description->n_domains,
		.sources = sources,
		.n_sources = list_sources(meter, description, &remedies, sources),
		.ways = ways,
		.n_ways = list_ways(billing->consumers, &remedies, ways),
		.summary = summary,
	};

	const struct wtl_result result = {
		.thing = &wtl_thing_doctor, .what = &doctor, .max = OUTPUT_MAX};

	rc = wtl_sink_write(app, billing->io, &result);
	free(sources);
	end_remedies(&remedies);
	return rc;
}

static int run(struct wtl_app *app)
{
	struct wtl_description description = {.n_domains = 0};
	struct wattle_meter *meter;
	struct wtl_io *io;
	struct wtl_billing billing = {.consumers = NULL};
	int code = WTL_EXIT_FAILED;

	if (wtl_sink_check(app) < 0 || wtl_open_meter(app, &meter, &io) < 0)
		return code;
	if (wtl_description_init(&description, meter) < 0) {
		wtl_complain(app, "out of memory");
	} else {
		if (wtl_billing_open(&billing, app, meter, io, WINDOW) == 0) {
			look(app, meter, io, &billing, &description);
			if (write_doctor(app, &billing, &description) == 0)
				code = count_measured(&description) ? WTL_EXIT_DONE
								    : WTL_EXIT_NO_SOURCE;
		}
		billing.session.learns = false; /* it changes nothing */
		wtl_billing_close(&billing);
	}
	wtl_description_done(&description);
	wtl_close_meter(app, meter, io);
	return code;
}

const struct wtl_command wtl_command_doctor = {
	.name = "doctor",
	.summary = "Check what this machine can measure, and how to enable the rest",
	.synopsis = "[OPTION...]",
	.description =
		"Looks at every source of energy figures for a second (3.5 where a counter stands "
		"still) and lists each domain with what "
		"it draws, or with the reason why it cannot be measured and the exact command, "
		"permission or setting that would change that; then how processes are followed to find "
		"out who used the energy, and what more privilege would add. Changes nothing, and wakes "
		"no device.",
	.examples = "wattle doctor\n"
		    "    the state of this machine\n\n"
		    "wattle doctor -f json\n"
		    "    the same for a program\n\n"
		    "wattle doctor --tape-record machine.tape\n"
		    "    also keep every raw reading, for a bug report",
	.exit_status = "0\tat least one domain is measured\n"
		       "1\twattle failed\n"
		       "2\tthe options were wrong\n"
		       "3\tno domain is measured: there are models at best",
	.shared = shared,
	.measures = true,
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
