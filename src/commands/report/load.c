/* SPDX-License-Identifier: MIT */
/* Opens a recording for a report, and checks that it has what is asked for. */
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/machine.h"
#include "cli/recordings.h"
#include "commands/report/load.h"
#include "document/format.h"
#include "energy/units.h"
#include "replay/format.h"

/* ---- Checks ---- */

struct loading {
	struct wtl_app *app;
	const struct wtl_replay_settings *settings;
	const char *path;
	const struct wtl_policy *policy;
	struct wtl_history *history;
};

static bool is_counted(int weight)
{
	return weight == WTL_WEIGHT_INSTRUCTIONS || weight == WTL_WEIGHT_CYCLES;
}

/* Counted weights cannot replace the recorded one, nor be replaced; and all named domains must exist. */
static int check_policy(const struct loading *loading)
{
	const struct wtl_player_policy *given = &loading->policy->player;
	const char *recorded = wtl_history_fact(loading->history, WTL_FACT_WEIGHT);

	if (!recorded[0])
		recorded = wtl_weight_name(WTL_WEIGHT_CPU_TIME);
	if (given->has_weight && wtl_weight_find(recorded) != (int)given->weight &&
	    (is_counted(wtl_weight_find(recorded)) || is_counted((int)given->weight))) {
		wtl_complain(
			loading->app,
			"--policy weight=%s: the use of processors was weighed by %s when this "
			"was recorded, and nothing else is in it",
			given->smooths ? WTL_SMOOTHED : wtl_weight_name(given->weight), recorded);
		return -EINVAL;
	}
	for (size_t i = 0; i < given->n_given; i++) {
		if (wattle_meter_find(loading->history->meter, given->given[i].domain) >= 0)
			continue;
		wtl_complain(loading->app, "--policy: %s has no domain '%s'", loading->path,
			     given->given[i].domain);
		return -EINVAL;
	}
	return 0;
}

/* --by a process or group needs processes in the recording. */
static int check_by(const struct loading *loading)
{
	int by = loading->settings->by;

	if (by < 0 || by == WTL_BY_WINDOW || wtl_player_follows(loading->history->player))
		return 0;
	wtl_complain(loading->app,
		     "%s: --by %s: nobody was followed when it was recorded (--no-processes)",
		     loading->path, wtl_by_name((enum wtl_by)by));
	return -ENODATA;
}

static int complain_of_range(struct loading *loading, const char *what)
{
	const struct wtl_history *history = loading->history;
	int64_t end_utc_ns = wtl_history_utc(history, history->end_mono_ns);
	bool was_set_back =
		end_utc_ns - history->begin_utc_ns < wtl_history_span_ns(history) - WTL_NS_PER_S;
	struct wtl_buf from, to;

	wtl_buf_init(&from, 64);
	wtl_buf_init(&to, 64);
	wtl_format_utc(&from, history->begin_utc_ns);
	wtl_format_utc(&to, end_utc_ns);
	wtl_complain(loading->app, "%s: %s: the recording goes from %s to %s%s", loading->path,
		     what, wtl_buf_str(&from), wtl_buf_str(&to),
		     was_set_back ? ", and the clock was set back meanwhile" : "");
	wtl_buf_done(&from);
	wtl_buf_done(&to);
	return -ERANGE;
}

/* --from and --to. */
static int choose_part(struct loading *loading)
{
	const struct wtl_replay_settings *settings = loading->settings;
	bool has_from = settings->from.kind != WTL_WHEN_NOT,
	     has_to = settings->to.kind != WTL_WHEN_NOT;
	int64_t from_ns = INT64_MIN, to_ns = INT64_MAX;
	int rc = 0;

	if (!has_from && !has_to)
		return 0;
	if (has_from)
		rc = wtl_when_in(&settings->from, loading->history, 0, &from_ns);
	if (rc == 0 && has_to)
		rc = wtl_when_in(&settings->to, loading->history, has_from ? from_ns : 0, &to_ns);
	if (rc < 0)
		return complain_of_range(loading, "there is no such time");
	if (has_from && has_to && to_ns <= from_ns) {
		wtl_complain(loading->app, "--to is not after --from");
		return -EINVAL;
	}
	if (has_from && from_ns > wtl_history_span_ns(loading->history))
		return complain_of_range(loading, "--from is after its end");
	if (has_to && to_ns <= 0)
		return complain_of_range(loading, "--to is before its start");
	wtl_history_choose(loading->history, from_ns, to_ns);
	return 0;
}

/* ---- All of it ---- */

static int go_through(const struct loading *loading, struct wtl_recorded **ret_recorded)
{
	const struct wtl_replay_settings *settings = loading->settings;
	const struct wtl_policy *policy = loading->policy;
	const struct wtl_recorded_options options = {
		.place = wtl_settings_place(&loading->app->settings),
		.intensity_path = settings->intensity_path,
		.top = loading->app->settings.top,
		.has_by = settings->by >= 0,
		.by = settings->by >= 0 ? (enum wtl_by)settings->by : WTL_BYS,
		.policy = {policy->idle, policy->given_list, policy->player.n_given,
			   policy->player.smooths},
	};
	struct wtl_err err = {.code = 0};
	int rc = wtl_recorded_new(loading->history, loading->path, &options, ret_recorded, &err);

	if (rc == 0)
		wtl_remark_missing(loading->app, loading->path, (*ret_recorded)->history);
	else if (err.source[0])
		wtl_complain_err(loading->app, &err);
	else
		wtl_complain(loading->app, "%s: %s", loading->path, err.text);
	return rc;
}

int wtl_report_open(struct wtl_app *app, const struct wtl_replay_settings *settings,
		    const char *path, const struct wtl_policy *policy,
		    const struct wtl_intensity *intensity, struct wtl_history **ret_history)
{
	struct wtl_history_options options = {
		.intensity = intensity,
		.keeps_windows = true,
		.may_summarize = !settings->plays && !policy->is_given && !intensity->n &&
				 settings->from.kind == WTL_WHEN_NOT &&
				 settings->to.kind == WTL_WHEN_NOT,
	};
	struct loading loading = {.app = app, .settings = settings, .path = path, .policy = policy};
	struct wtl_err err = {.code = 0};
	int rc;

	/* Not set above: gcc 12 would clear padding where there is none, in the array of idle powers. */
	options.policy = policy->player;
	rc = wtl_history_open(path, &options, &loading.history, &err);
	if (rc < 0) {
		wtl_complain_err(app, &err);
		return rc;
	}
	rc = check_policy(&loading);
	if (rc == 0)
		rc = check_by(&loading);
	if (rc == 0)
		rc = choose_part(&loading);
	if (rc == 0)
		*ret_history = loading.history;
	else
		wtl_history_close(loading.history);
	return rc;
}

int wtl_report_load(struct wtl_app *app, const struct wtl_replay_settings *settings,
		    const char *path, const struct wtl_policy *policy,
		    const struct wtl_intensity *intensity, struct wtl_recorded **ret_recorded)
{
	struct loading loading = {.app = app, .settings = settings, .path = path, .policy = policy};
	int rc = wtl_report_open(app, settings, path, policy, intensity, &loading.history);

	return rc < 0 ? rc : go_through(&loading, ret_recorded);
}
