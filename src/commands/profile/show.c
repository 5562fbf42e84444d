/* SPDX-License-Identifier: MIT */
/* Profiles from files: the same views and formats as for a command that has just run. */
#include "commands/profile/show.h"

#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/complain.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "cli/rights.h"
#include "cli/sink.h"
#include "commands/profile/diff.h"
#include "commands/profile/open.h"
#include "commands/profile/saved.h"
#include "commands/profile/write.h"

/* Options for taking a profile, not for showing one. */
static const char *const of_live[] = {
	"--wall",      "--rate",     "--stack",	 "--pid",    "--duration", "--idle-first",
	"--idle-file", "--interval", "--gpus",	 "--root",   "--tape",	   "--tape-record",
	"--nvml",      "--keep",     "--memory", "--kineto", NULL};

/* 0, or positive after wtl_complain(). */
static int check_diff(struct wtl_app *app)
{
	const struct wtl_profile_settings *settings = app->own;

	if (settings->only)
		return wtl_complain(app, "--window is for show: diff compares whole profiles");
	if (settings->is_table)
		return wtl_complain(app, "--table is for show: a difference is a table");
	if (settings->is_unfolded)
		return wtl_complain(app, "--unfold is for show: a difference is a table");
	if (settings->sort == WTL_SORT_SAMPLES || settings->sort == WTL_SORT_WALL)
		return wtl_complain(app, "--sort %s is for show: diff compares energy and CPU time",
				    wtl_profile_sort_names[settings->sort]);
	return 0;
}

/* Refuses what show and diff do not take, and finds the format. 0, or negative after wtl_complain(). */
static int check(struct wtl_app *app)
{
	const struct wtl_profile_settings *settings = app->own;
	const char *used = wtl_option_first_used(app, of_live);
	bool is_diff = strcmp(app->settings.verb, "diff") == 0;

	if (used)
		wtl_complain(app, "%s is for a profile that is taken, not for one in a file", used);
	if (used || (is_diff ? check_diff(app) : wtl_profile_check_sort(app)) ||
	    wtl_profile_check(app) < 0 || wtl_sink_check(app))
		return -EINVAL;
	for (size_t i = 0; i < settings->files.n; i++)
		if (wtl_option_check_output(app, settings->files.words[i]))
			return -EINVAL;
	return 0;
}

static int show(struct wtl_app *app)
{
	struct wtl_profile_settings *settings = app->own;
	bool is_over = false;
	struct wtl_profile_writing writing = {
		.app = app, .settings = settings, .is_over = &is_over, .is_saved = true};
	struct wtl_saved saved;
	int rc;

	if (settings->files.n != 1) {
		wtl_complain(app, "show takes one file, as in: wattle profile show a.wprof");
		return WTL_EXIT_WATTLE_FAILED;
	}
	if (wtl_open_io(app, &writing.io) < 0)
		return WTL_EXIT_WATTLE_FAILED;
	rc = wtl_profile_open(app, settings->files.words[0], &saved);
	if (rc == 0 && saved.profile.split->wait_ns && !wtl_option_is_used(app, "--sort"))
		settings->sort = WTL_SORT_WALL;
	if (rc == 0)
		rc = wtl_profile_write(&writing, &saved.profile);
	wtl_saved_done(&saved);
	wtl_close_io(app, writing.io);
	return wtl_profile_exit(&writing, rc, is_over);
}

int wtl_profile_of_files(struct wtl_app *app)
{
	wtl_rights_drop();
	if (check(app) < 0)
		return WTL_EXIT_WATTLE_FAILED;
	return strcmp(app->settings.verb, "diff") == 0 ? wtl_profile_diff(app) : show(app);
}
