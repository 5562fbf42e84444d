/* SPDX-License-Identifier: MIT */
#include "commands/estimate/metered.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/machine.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"

#define WINDOW	     "estimate"
#define REST_NS	     (5 * WTL_NS_PER_S)
#define WATCH_MAX_NS (3600 * WTL_NS_PER_S)

/* Is the idle power of all domains known that count? */
static bool knows_rest(const struct wtl_metered *metered)
{
	const struct wtl_consumers *consumers = metered->billing.consumers;
	struct wtl_baseline idle;

	for (size_t i = 0; i < wtl_consumers_domains(consumers); i++) {
		wtl_consumers_baseline(consumers, i, &idle);
		if (wtl_consumers_counts(consumers, i) && metered->meter->domains[i].account &&
		    !idle.is_known)
			return false;
	}
	return true;
}

static int open_parts(struct wtl_metered *metered)
{
	metered->energies =
		calloc(wattle_meter_domains(metered->meter) + 1, sizeof(*metered->energies));
	if (!metered->energies) {
		wtl_complain(metered->app, "no memory");
		return -ENOMEM;
	}
	return wtl_billing_open(&metered->billing, metered->app, metered->meter, metered->io,
				WINDOW);
}

int wtl_metered_open(struct wtl_metered *metered, struct wtl_app *app)
{
	*metered = (struct wtl_metered){.app = app};
	if (wtl_open_meter(app, &metered->meter, &metered->io) < 0)
		return WTL_EXIT_FAILED;
	if (wtl_loop_init(&metered->loop, app, wtl_billing_look, &metered->billing) < 0) {
		wtl_close_meter(app, metered->meter, metered->io);
		return WTL_EXIT_FAILED;
	}
	int code = open_parts(metered) < 0 ? WTL_EXIT_FAILED : 0;
	if (code == 0) {
		if (!knows_rest(metered) && !app->settings.idle_first_ns)
			app->settings.idle_first_ns = REST_NS;
		code = wtl_billing_watch_idle(&metered->billing, &metered->loop, NULL);
	}
	if (code != 0)
		wtl_metered_close(metered);
	return code;
}

void wtl_metered_close(struct wtl_metered *metered)
{
	wtl_loop_finish(&metered->loop);
	wtl_billing_close(&metered->billing);
	free(metered->energies);
	wtl_loop_done(&metered->loop);
	wtl_close_meter(metered->app, metered->meter, metered->io);
}

static void stop(void *context)
{
	struct wtl_metered *metered = context;

	metered->loop.stop = true;
}

int wtl_metered_watch(struct wtl_metered *metered, int fd)
{
	int rc = wtl_loop_watch(&metered->loop, fd, stop, metered);

	if (rc < 0)
		wtl_complain(metered->app, "cannot wait for it: %s", wtl_err_text(rc));
	return rc;
}

void wtl_metered_begin(struct wtl_metered *metered, int pid)
{
	wtl_billing_begin(&metered->billing);
	int rc = pid > 0 ? wtl_consumers_follow(metered->billing.consumers, pid) : -ESRCH;
	metered->lacks_process =
		rc < 0 ? "the process that did the work is not among those of the machine that is "
			 "measured"
		       : NULL;
	wattle_window_begin(metered->meter, WINDOW);
}

int wtl_metered_wait(struct wtl_metered *metered)
{
	metered->loop.stop = false;
	int rc = wtl_loop_idle(&metered->loop, metered->meter, metered->io, WATCH_MAX_NS);

	return rc < 0 ? 128 + metered->loop.last_signal : 0;
}

/* The idle power of all domains that count, and their source. */
static void tell_rest(const struct wtl_metered *metered, const struct wattle_window *window,
		      struct wtl_metered_energy *ret)
{
	const struct wtl_consumers *consumers = metered->billing.consumers;
	double spread_w = 0, gain = (double)window->total.uncertainty_uj /
				    fmax((double)window->total.energy_uj, 1);
	struct wattle_domain domain;
	struct wtl_baseline idle;

	for (size_t i = 0; i < wtl_consumers_domains(consumers); i++) {
		wtl_consumers_baseline(consumers, i, &idle);
		if (!wtl_consumers_counts(consumers, i) || !idle.is_known)
			continue;
		ret->idle_w += (double)idle.idle_uw * 1e-6;
		spread_w += 2 * (double)idle.uncertainty_uw * 1e-6;
		wtl_meter_domain(metered->meter, i, &domain);
		wtl_text_copy(ret->source, sizeof(ret->source), domain.source);
	}
	ret->idle_uncertainty_w = hypot(spread_w, gain * ret->idle_w);
}

static const char *why_unknown(const struct wtl_metered *metered,
			       const struct wattle_window *window,
			       const struct wtl_command_account *account)
{
	if (!window->total.has_energy)
		return "this machine has no energy figure that wattle can read (wattle doctor)";
	if (metered->lacks_process)
		return metered->lacks_process;
	if (!account->all.has_dynamic)
		return "what the machine draws at rest is not known: leave it alone, and give "
		       "--idle-first 10";
	if (account->all.dynamic_uj == 0)
		return "the meter saw nothing above what the machine draws at rest";
	return NULL;
}

void wtl_metered_end(struct wtl_metered *metered, struct wtl_metered_energy *ret)
{
	struct wattle_window window = {.duration_ns = 0};
	struct wtl_command_account account;

	*ret = (struct wtl_metered_energy){.is_known = false};
	wtl_window_end(metered->meter, WINDOW, &window, metered->energies,
		       wattle_meter_domains(metered->meter));
	wtl_billing_bill(&metered->billing, &window, metered->energies);
	wtl_consumers_command(metered->billing.consumers, &account);
	ret->reason = why_unknown(metered, &window, &account);
	if (ret->reason)
		return;
	tell_rest(metered, &window, ret);
	ret->is_known = true;
	ret->is_modelled = window.total.method == WATTLE_METHOD_MODELLED ||
			   window.total.method == WATTLE_METHOD_MIXED;
	ret->dynamic_j = (double)account.all.dynamic_uj * 1e-6;
	ret->uncertainty_j = (double)account.all.uncertainty_uj * 1e-6;
}
