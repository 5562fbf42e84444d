/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/app.h"
#include "meter/consumers.h"

/* Looking at every process has its price. */
#define BILL_NS WTL_NS_PER_S

int wtl_billing_open(struct wtl_billing *billing, struct wtl_app *app, struct wattle_meter *meter,
		     struct wtl_io *io, const char *window)
{
	const struct wtl_settings *settings = &app->settings;
	bool is_here = !settings->tape && !settings->root;
	const struct wtl_consumers_options how = {
		.nvml_path = settings->nvml_path,
		.names_on_use = true,
		.subreaper_pid = is_here ? getpid() : 0,
		.without_threads = settings->tape || settings->tape_record,
	};
	struct wtl_err err = {.code = 0};
	int rc;

	*billing = (struct wtl_billing){.app = app, .meter = meter, .io = io, .window = window};
	if (settings->no_processes)
		return 0;
	billing->energies = calloc(wattle_meter_domains(meter) + 1, sizeof(*billing->energies));
	rc = billing->energies ? wtl_consumers_new(meter, io, &how, &billing->consumers, &err)
			       : wtl_err_set(&err, ENOMEM, "processes", NULL, "out of memory");
	if (rc < 0) {
		wtl_complain_err(app, &err);
		return rc;
	}
	/* What could not be read is not replaced. */
	billing->learns = wtl_idle_load(app, meter, billing->consumers);
	return 0;
}

void wtl_billing_close(struct wtl_billing *billing)
{
	if (billing->consumers && billing->learns)
		wtl_idle_save(billing->app, billing->io, billing->meter, billing->consumers);
	if (!wtl_consumers_free(billing->consumers))
		billing->meter->io_lent = true;
	free(billing->energies);
}

void wtl_billing_begin(struct wtl_billing *billing)
{
	if (!billing->consumers)
		return;
	wtl_consumers_begin(billing->consumers);
	billing->begin_utc_ns = wtl_io_real_ns(billing->io);
	billing->due_ns = wtl_io_mono_ns(billing->io) + BILL_NS;
}

void wtl_billing_bill(struct wtl_billing *billing, const struct wattle_window *window,
		      const struct wattle_energy energies[])
{
	if (billing->consumers)
		wtl_consumers_bill(billing->consumers, energies,
				   window->begin_utc_ns + window->duration_ns);
}

void wtl_billing_look_now(struct wtl_billing *billing)
{
	struct wattle_window window;

	if (billing->consumers &&
	    wtl_window_look(billing->meter, billing->window, &window, billing->energies,
			    wattle_meter_domains(billing->meter)) == 0)
		wtl_billing_bill(billing, &window, billing->energies);
}

void wtl_billing_look(void *context)
{
	struct wtl_billing *billing = context;
	int64_t now_ns;

	if (!billing->consumers)
		return;
	now_ns = wtl_io_mono_ns(billing->io);
	if (now_ns < billing->due_ns)
		return;
	billing->due_ns = now_ns + BILL_NS;
	wtl_billing_look_now(billing);
}

bool wtl_billing_learned_idle(const struct wtl_billing *billing)
{
	struct wtl_baseline idle;

	for (size_t i = 0; i < wattle_meter_domains(billing->meter); i++)
		if (wtl_consumers_baseline(billing->consumers, i, &idle) == 0 && idle.is_known &&
		    idle.t_utc_ns >= billing->begin_utc_ns)
			return true;
	return false;
}
