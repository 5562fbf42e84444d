/* SPDX-License-Identifier: MIT */
#include "meter/session.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "energy/units.h"
#include "meter/calibrated.h"
#include "meter/idle.h"
#include "meter/meter.h"
#include "meter/observer.h"
#include "meter/sensed.h"

/* Looking at every process has its price. Where the hardware counts processes, a new one must be
 * found by one scan before the next can weigh it: so they come sooner. */
#define BILL_NS		WTL_NS_PER_S
#define BILL_COUNTED_NS (WTL_NS_PER_S / 4)

static int64_t bill_ns(const struct wtl_session *session)
{
	return session->is_counted && wtl_workload_weight_error(
					      wtl_consumers_workload(session->consumers)) == 0
		       ? BILL_COUNTED_NS
		       : BILL_NS;
}

int wtl_session_load_kept(struct wattle_meter *meter, const char *idle_path, struct wtl_err *err)
{
	if (idle_path &&
	    (wtl_sensed_load(meter, idle_path) < 0 || wtl_calibrated_load(meter, idle_path) < 0))
		return wtl_err_set(err, ENOMEM, "calibration", NULL, "out of memory");
	return 0;
}

int wtl_session_open(struct wtl_session *session, struct wattle_meter *meter, const char *window,
		     const struct wtl_session_options *options, struct wtl_err *err)
{
	*session = (struct wtl_session){
		.meter = meter,
		.io = meter->env.io,
		.window = window,
		.idle_path = options->idle_path,
		.is_tape = options->is_tape,
		.is_learned = options->consumers.weight == WTL_WEIGHT_LEARNED,
		.is_counted = options->consumers.weight == WTL_WEIGHT_INSTRUCTIONS ||
			      options->consumers.weight == WTL_WEIGHT_CYCLES,
	};
	if (wtl_session_load_kept(meter, options->idle_path, err) < 0)
		return -ENOMEM;
	session->energies = calloc(wattle_meter_domains(meter), sizeof(*session->energies));
	if (!session->energies)
		return wtl_err_set(err, ENOMEM, "processes", NULL, "out of memory");
	return wtl_consumers_new(meter, session->io, &options->consumers, &session->consumers, err);
}

void wtl_session_load_idle(struct wtl_session *session, wtl_idle_taken *taken, void *context)
{
	if (!session->idle_path && !session->is_tape)
		return;
	session->learns = wtl_idle_load(session->meter, session->consumers, session->idle_path,
					taken, context);
}

bool wtl_session_close(struct wtl_session *session)
{
	bool is_quiet;

	if (session->consumers && session->learns &&
	    wtl_idle_is_known(session->meter, session->consumers))
		wtl_idle_save(session->meter, session->consumers, session->idle_path);
	is_quiet = wtl_consumers_free(session->consumers);
	if (!is_quiet)
		session->meter->io_lent = true;
	free(session->energies);
	return is_quiet;
}

void wtl_session_begin(struct wtl_session *session)
{
	wtl_consumers_begin(session->consumers);
	session->begin_utc_ns = wtl_io_real_ns(session->io);
	session->due_ns = wtl_io_mono_ns(session->io) + bill_ns(session);
}

void wtl_session_look(struct wtl_session *session)
{
	if (session->is_learned &&
	    wtl_settings_changed(&session->settings, session->io, session->meter->asleep_ns))
		wtl_consumers_machine_changed(session->consumers);
	wtl_consumers_look(session->consumers);
}

void wtl_session_bill_look(struct wtl_session *session, const struct wattle_window *window,
			   const struct wattle_energy energies[])
{
	wtl_consumers_bill_look(session->consumers, energies,
				window->begin_utc_ns + window->duration_ns);
}

void wtl_session_bill_window(struct wtl_session *session, const struct wattle_window *window,
			     const struct wattle_energy energies[])
{
	wtl_session_look(session);
	wtl_session_bill_look(session, window, energies);
}

void wtl_session_bill(struct wtl_session *session)
{
	struct wattle_window window;

	session->due_ns = wtl_io_mono_ns(session->io) + bill_ns(session);
	if (wtl_window_look(session->meter, session->window, &window, session->energies,
			    wattle_meter_domains(session->meter)) == 0)
		wtl_session_bill_window(session, &window, session->energies);
}

bool wtl_session_is_due(const struct wtl_session *session)
{
	return wtl_io_mono_ns(session->io) >= session->due_ns;
}

void wtl_session_tick(struct wtl_session *session)
{
	if (wtl_session_is_due(session))
		wtl_session_bill(session);
}

bool wtl_session_can_learn_idle(const struct wtl_session *session)
{
	struct wattle_domain domain;
	struct wtl_baseline idle;

	for (size_t i = 0; wtl_meter_domain(session->meter, i, &domain) == 0; i++) {
		wtl_consumers_rest(session->consumers, i, &idle);
		if (domain.source && !idle.is_modelled)
			return true;
	}
	return false;
}

bool wtl_session_learned_idle(const struct wtl_session *session)
{
	struct wtl_baseline idle;

	for (size_t i = 0; i < wattle_meter_domains(session->meter); i++) {
		wtl_consumers_rest(session->consumers, i, &idle);
		if (idle.is_known && idle.t_utc_ns >= session->begin_utc_ns)
			return true;
	}
	return false;
}
