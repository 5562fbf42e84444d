/* SPDX-License-Identifier: MIT */
/* Implements wattle-recording.h on a history. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wattle-recording.h>

#include "base/abi.h"
#include "base/err.h"
#include "base/text.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "replay/history.h"

#define STEP "step"

/* Samples come some microseconds early or late: a step that is short of its interval by a thousandth is none
 * too short, else every other one would be twice as long where both intervals are the same. */
enum { INTERVAL_SLACK = 1000 };

struct wattle_recording {
	struct wtl_history *history;	/* it keeps its windows */
	struct wattle_energy *energies; /* one a domain */
};

static int hand_over(const struct wtl_err *err, struct wattle_error *reterr)
{
	wtl_err_hand_over(err, reterr);
	return err->code;
}

int wattle_recording_open(const char *path, struct wattle_recording **ret_recording,
			  struct wattle_error *reterr)
{
	const struct wtl_history_options options = {.keeps_windows = true};
	struct wtl_err err = {.code = 0};
	struct wattle_recording *recording;
	int rc;

	if (!path || !ret_recording || !wtl_abi_is_sized(reterr))
		return -EINVAL;
	recording = calloc(1, sizeof(*recording));
	if (!recording) {
		wtl_err_set(&err, ENOMEM, "recording", path, "out of memory");
		return hand_over(&err, reterr);
	}
	rc = wtl_history_open(path, &options, &recording->history, &err);
	if (rc == 0) {
		recording->energies = calloc(wattle_recording_domains(recording) + 1,
					     sizeof(*recording->energies));
		if (!recording->energies)
			rc = wtl_err_set(&err, ENOMEM, "recording", path, "out of memory");
	}
	if (rc < 0) {
		wattle_recording_close(recording);
		return hand_over(&err, reterr);
	}
	*ret_recording = recording;
	return 0;
}

void wattle_recording_close(struct wattle_recording *recording)
{
	if (!recording)
		return;
	free(recording->energies);
	wtl_history_close(recording->history);
	free(recording);
}

const char *wattle_recording_fact(struct wattle_recording *recording, const char *key)
{
	return wtl_store_get_fact(recording->history->reader, key);
}

int wattle_recording_is_whole(const struct wattle_recording *recording)
{
	return wtl_store_is_whole(recording->history->reader);
}

size_t wattle_recording_domains(const struct wattle_recording *recording)
{
	return recording->history->n_domains;
}

int wattle_recording_domain(struct wattle_recording *recording, size_t i,
			    struct wattle_domain *ret_domain)
{
	return wattle_meter_domain(recording->history->meter, i, ret_domain);
}

/* ---- Going on ---- */

/* As many domains' figures as the caller has room for. */
static void give_energies(const struct wattle_recording *recording,
			  const struct wattle_energy energies[], struct wattle_energy *ret_energies,
			  size_t n_energies)
{
	size_t n_domains = wattle_recording_domains(recording);

	for (size_t i = 0; ret_energies && i < n_energies && i < n_domains; i++)
		wtl_abi_give(wtl_abi_element(ret_energies, i), &energies[i], sizeof(energies[i]));
}

/* Until the first sample at least that much later. 1, or 0 at the end (some samples may have come), or
 * negative. */
static int go_on(struct wattle_recording *recording, int64_t until_ns,
		 struct wattle_recording_step *step, unsigned *samples, struct wtl_err *err)
{
	struct wtl_played played;
	int rc;

	while ((rc = wtl_history_step(recording->history, &played, err)) > 0) {
		if (played.kind == WTL_PLAYED_LOST) {
			step->is_lost = 1;
			wtl_text_copy(step->text, sizeof(step->text), played.text);
		}
		if (!wtl_played_has_sample(&played))
			continue;
		++*samples;
		if (played.t_mono_ns >= until_ns)
			return 1;
	}
	return rc;
}

/* The end of time, if that is before. */
static int64_t later_ns(int64_t t_ns, int64_t by_ns)
{
	return by_ns < INT64_MAX - t_ns ? t_ns + by_ns : INT64_MAX;
}

static void give_step(struct wattle_recording_step *step, struct wattle_recording_step *ret_step)
{
	step->total.size = wtl_abi_tail_size(
		ret_step, offsetof(struct wattle_recording_step, total), sizeof(step->total));
	wtl_abi_give(ret_step, step, sizeof(*step));
}

int wattle_recording_next(struct wattle_recording *recording, int64_t interval_ns,
			  struct wattle_recording_step *ret_step,
			  struct wattle_energy *ret_energies, size_t n_energies,
			  struct wattle_error *reterr)
{
	struct wattle_meter *meter = recording->history->meter;
	struct wattle_recording_step step = {.is_lost = 0};
	struct wattle_window window;
	struct wtl_err err = {.code = 0};
	unsigned samples = 0;
	int64_t begin_ns;
	int rc;

	if (!wtl_abi_is_sized(ret_step) || !wtl_abi_is_sized(reterr) ||
	    (n_energies > 0 && !wtl_abi_is_sized(ret_energies)))
		return -EINVAL;
	wtl_player_sample_again(recording->history->player);
	begin_ns = wtl_player_mono(recording->history->player);
	interval_ns -= interval_ns / INTERVAL_SLACK;
	rc = wattle_window_begin(meter, STEP);
	if (rc < 0) {
		wtl_err_set(&err, rc, "recording", NULL, "%s", wattle_strerror(rc));
		return hand_over(&err, reterr);
	}
	rc = go_on(recording, later_ns(begin_ns, interval_ns > 0 ? interval_ns : 1), &step,
		   &samples, &err);
	if (rc < 0 || samples == 0) {
		wattle_window_cancel(meter, STEP);
		return rc < 0 ? hand_over(&err, reterr) : 0;
	}
	wtl_window_look(meter, STEP, &window, recording->energies,
			wattle_recording_domains(recording));
	wattle_window_cancel(meter, STEP);
	/* What is left at the end may be no time at all. */
	if (rc == 0 && window.duration_ns <= 0)
		return 0;
	step.begin_mono_ns = window.begin_mono_ns;
	step.begin_utc_ns = wtl_player_utc(recording->history->player, window.begin_mono_ns);
	step.duration_ns = window.duration_ns;
	step.total = window.total;
	give_energies(recording, recording->energies, ret_energies, n_energies);
	if (ret_step)
		give_step(&step, ret_step);
	return 1;
}

/* ---- What there is so far ---- */

int wattle_recording_window(struct wattle_recording *recording, size_t i,
			    struct wattle_recording_window *ret_window,
			    struct wattle_energy *ret_energies, size_t n_energies)
{
	struct wattle_recording_window own = {.pid = 0};
	const struct wtl_history_window *window;

	if (i >= recording->history->n_ended)
		return -ERANGE;
	if (!wtl_abi_is_sized(ret_window) || (n_energies > 0 && !wtl_abi_is_sized(ret_energies)))
		return -EINVAL;
	window = &recording->history->windows[i];
	give_energies(recording, window->energies, ret_energies, n_energies);
	if (!ret_window)
		return 0;
	own.pid = window->pid;
	own.window = window->window;
	memcpy(own.name, window->name, sizeof(own.name));
	own.window.size = wtl_abi_tail_size(
		ret_window, offsetof(struct wattle_recording_window, window), sizeof(own.window));
	own.window.total.size = wtl_abi_tail_size(
		ret_window, offsetof(struct wattle_recording_window, window.total),
		sizeof(own.window.total));
	wtl_abi_give(ret_window, &own, sizeof(own));
	return 0;
}

size_t wattle_recording_consumers(const struct wattle_recording *recording)
{
	return wtl_consumers_slots(recording->history->consumers);
}

int wattle_recording_consumer(struct wattle_recording *recording, size_t slot,
			      struct wattle_recording_consumer *ret_consumer)
{
	struct wtl_player *player = recording->history->player;
	const struct wtl_consumer *consumer =
		wtl_consumers_get(recording->history->consumers, slot);
	struct wattle_recording_consumer own = {.pid = 0};
	struct wtl_share_energy energy;

	if (!consumer)
		return -ENOENT;
	if (!wtl_abi_is_sized(ret_consumer))
		return -EINVAL;
	wtl_consumers_energy(recording->history->consumers, slot, WTL_PART_ALL, &energy);
	own.pid = consumer->pid;
	own.start_utc_ns = wtl_player_start_utc(player, consumer->start_ns);
	wtl_text_copy(own.name, sizeof(own.name), consumer->name);
	wtl_text_copy(own.command, sizeof(own.command), consumer->command);
	if (consumer->uid != UINT32_MAX)
		wtl_text_copy(own.user, sizeof(own.user), wtl_player_user(player, consumer->uid));
	if (consumer->group) {
		wtl_text_copy(own.cgroup, sizeof(own.cgroup), consumer->group->cgroup);
		wtl_text_copy(own.container, sizeof(own.container), consumer->group->container);
	}
	own.processes = consumer->n_processes;
	own.is_in_command = consumer->is_in_tree;
	own.has_dynamic = energy.has_dynamic;
	own.full_uj = energy.full_uj;
	own.dynamic_uj = energy.dynamic_uj;
	own.uncertainty_uj = energy.uncertainty_uj;
	own.cpu_ns = wtl_consumer_cpu_ns(consumer);
	wtl_abi_give(ret_consumer, &own, sizeof(own));
	return 0;
}

int wattle_recording_ledger(struct wattle_recording *recording, size_t domain,
			    struct wattle_recording_ledger *ret_ledger)
{
	struct wattle_recording_ledger own;
	struct wtl_ledger ledger;

	if (domain >= wattle_recording_domains(recording))
		return -ERANGE;
	if (!wtl_abi_is_sized(ret_ledger))
		return -EINVAL;
	wtl_consumers_ledger(recording->history->consumers, domain, &ledger);
	own = (struct wattle_recording_ledger){
		.live_uj = ledger.live_uj,
		.exited_uj = ledger.exited_uj,
		.kernel_uj = ledger.kernel_uj,
		.idle_uj = ledger.idle_uj,
		.unattributed_uj = ledger.unattributed_uj,
		.total_uj = ledger.total_uj,
	};
	wtl_abi_give(ret_ledger, &own, sizeof(own));
	return 0;
}
