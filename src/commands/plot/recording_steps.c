/* SPDX-License-Identifier: MIT */
/* Shared by all pictures of a recording: steps through it, its domains, and notes. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/complain.h"
#include "commands/plot/recording.h"
#include "energy/baseline.h"
#include "meter/consumers.h"
#include "meter/meter.h"

/* the meter's window of the drawn part */
#define WINDOW "plot"

int wtl_plot_rewind(struct wtl_plot_replay *replay)
{
	struct wtl_err err = {.code = 0};
	int rc;

	wtl_history_close(replay->history);
	replay->history = NULL;
	replay->now_mono_ns = replay->times.begin_mono_ns;
	replay->is_lost = false;
	replay->has_begun = false;
	rc = wtl_history_open(replay->path, &replay->options, &replay->history, &err);
	if (rc < 0)
		wtl_complain_err(replay->app, &err);
	if (rc < 0)
		return rc;
	replay->times.wall = wtl_player_wall(replay->history->player);
	replay->whole = wtl_plot_sheet_array(replay->sheet, replay->history->n_domains + 1,
					     sizeof(*replay->whole));
	return replay->whole ? 0 : -ENOMEM;
}

bool wtl_plot_keep_idle(struct wtl_plot_replay *replay)
{
	const struct wtl_history *history = replay->history;
	struct wtl_player_policy *policy = &replay->options.policy;

	if (policy->n_given > 0)
		return false;
	for (size_t i = 0; i < history->n_domains && policy->n_given < WTL_POLICY_DOMAINS; i++) {
		struct wattle_domain domain;
		struct wtl_baseline idle;

		wtl_meter_domain(history->meter, i, &domain);
		wtl_consumers_baseline(history->consumers, i, &idle);
		if (!idle.is_known || idle.is_modelled)
			continue;
		wtl_text_copy(policy->given[policy->n_given].domain,
			      sizeof(policy->given[0].domain), domain.name);
		policy->given[policy->n_given++].idle_uw = idle.idle_uw;
	}
	return policy->n_given > 0;
}

/* A part that could not be read ends with the next readable step. */
static int step(struct wtl_plot_replay *replay, struct wtl_played *ret_played)
{
	struct wtl_err err = {.code = 0};
	int rc = wtl_history_step(replay->history, ret_played, &err);
	int64_t now_ns = rc > 0 ? ret_played->t_mono_ns : replay->times.end_mono_ns;

	if (rc < 0)
		wtl_complain_err(replay->app, &err);
	if (rc > 0 && ret_played->kind == WTL_PLAYED_LOST) {
		replay->is_lost = true;
		if (!replay->has_lost)
			replay->lost = replay->history->gaps[replay->history->n_gaps - 1];
		replay->has_lost = true;
	} else if (rc >= 0 && now_ns > replay->now_mono_ns) { /* some have no later time */
		if (replay->is_lost &&
		    wtl_plot_times_lose(&replay->times, replay->now_mono_ns, now_ns) < 0)
			return -ENOMEM;
		replay->is_lost = false;
		replay->now_mono_ns = now_ns;
	}
	return rc;
}

/* Updates the energies in the picture so far. The window begins with the first step. */
static int look(struct wtl_plot_replay *replay, enum wtl_played_kind kind)
{
	struct wattle_meter *meter = replay->history->meter;
	struct wattle_window window;
	size_t n = replay->history->n_domains;
	int rc = 0;

	if (!replay->has_begun) {
		wtl_player_sample_again(replay->history->player);
		rc = wattle_window_begin(meter, WINDOW);
		replay->has_begun = true;
	} else if (kind != WTL_PLAYED_SAMPLE && kind != WTL_PLAYED_BEGUN &&
		   kind != WTL_PLAYED_ENDED) {
		return 0;
	}
	if (rc == 0 && wtl_window_look(meter, WINDOW, &window, replay->whole, n) == 0)
		replay->whole[n] = window.total;
	return rc;
}

int wtl_plot_go_on(struct wtl_plot_replay *replay, struct wtl_played *ret_played)
{
	int rc;

	do {
		rc = step(replay, ret_played);
		ret_played->t_mono_ns = replay->now_mono_ns;
		ret_played->t_utc_ns = wtl_plot_times_utc(&replay->times, replay->now_mono_ns);
	} while (rc > 0 && ret_played->t_utc_ns < replay->from_utc_ns);
	if (rc <= 0 || ret_played->t_utc_ns > replay->to_utc_ns)
		return rc > 0 ? 0 : rc;
	rc = look(replay, ret_played->kind);
	return rc < 0 ? rc : 1;
}

int wtl_plot_check_domains(struct wtl_plot_replay *replay, bool has_total)
{
	const struct wtl_plot_wanted *wanted = &replay->settings->wanted;
	const struct wattle_meter *meter = replay->history->meter;

	for (size_t i = 0; i < wanted->n_domains; i++) {
		const char *name = wanted->domains[i];

		if ((has_total && strcmp(name, "total") == 0) ||
		    wattle_meter_find(meter, name) >= 0)
			continue;
		wtl_complain(replay->app, "'%s' has no domain '%s'", replay->path, name);
		return -EINVAL;
	}
	return 0;
}

bool wtl_plot_is_wanted(const struct wtl_plot_replay *replay, const struct wattle_domain *domain)
{
	const struct wtl_plot_wanted *wanted = &replay->settings->wanted;

	if (wanted->n_domains == 0)
		return domain->in_total && domain->method != WATTLE_METHOD_NONE;
	return wtl_plot_is_asked_for(wanted, domain->name);
}

void wtl_plot_note(struct wtl_plot_sheet *sheet, const char *text)
{
	wtl_plot_sheet_note(
		sheet,
		wtl_plot_sheet_printf(sheet, "%c%s.", toupper((unsigned char)text[0]), text + 1));
}
