/* SPDX-License-Identifier: MIT */
/* Profiles from files: the same views and formats as those of a command that has just run. */
#include "commands/profile/show.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/machine.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/rights.h"
#include "cli/sink.h"
#include "commands/profile/saved.h"
#include "commands/profile/write.h"

#define FILE_MAX ((size_t)512 << 20)

/* Where it was taken, unless an option says so. */
static void choose_place(const struct wtl_app *app, struct wtl_report_place *place)
{
	struct wtl_report_place given = wtl_settings_place(&app->settings);
	uint32_t pue_milli = given.pue_milli ? given.pue_milli : place->pue_milli;

	if (wtl_option_is_used(app, "--location"))
		*place = given;
	place->pue_milli = pue_milli;
}

int wtl_profile_open(struct wtl_app *app, const char *path, struct wtl_saved *saved)
{
	struct wtl_err err = {.code = 0};
	struct wtl_buf bytes;
	int rc;

	*saved = (struct wtl_saved){.n_command = 0};
	wtl_buf_init(&bytes, FILE_MAX);
	rc = wtl_infile_read(path, &bytes);
	if (rc < 0)
		wtl_complain(app, "cannot read '%s': %s", path, wtl_err_text(rc));
	else
		rc = wtl_saved_read(saved, wtl_buf_str(&bytes), bytes.len, &err);
	if (err.code)
		wtl_complain(app, "cannot read '%s': %s", path, err.text);
	wtl_buf_done(&bytes);
	if (rc == 0)
		choose_place(app, &saved->profile.place);
	return rc;
}

/* Of one that runs, not of one that has run. */
static const char *const of_live[] = {
	"--rate", "--stack", "--pid",  "--duration",	"--idle-first", "--idle-file", "--interval",
	"--gpus", "--root",  "--tape", "--tape-record", "--nvml",	"--keep",      NULL};

int wtl_profile_show(struct wtl_app *app)
{
	const struct wtl_profile_settings *settings = app->own;
	const char *used = wtl_option_first_used(app, of_live);
	struct wtl_profile_writing writing = {.app = app, .settings = settings, .is_saved = true};
	struct wtl_saved saved;
	int rc;

	wtl_rights_drop();
	if (used)
		wtl_complain(app, "%s is for a profile that is taken, not for one in a file", used);
	else if (settings->files.n != 1)
		wtl_complain(app, "show takes one file, as in: wattle profile show a.wprof");
	if (used || settings->files.n != 1 || wtl_profile_find_format(app) < 0 ||
	    wtl_sink_check(app) || wtl_option_check_output(app, settings->files.words[0]))
		return WTL_EXIT_WATTLE_FAILED;
	if (wtl_open_io(app, &writing.io) < 0)
		return WTL_EXIT_WATTLE_FAILED;
	rc = wtl_profile_open(app, settings->files.words[0], &saved);
	if (rc == 0)
		rc = wtl_profile_write(&writing, &saved.profile);
	wtl_saved_done(&saved);
	wtl_close_io(app, writing.io);
	return rc < 0 ? WTL_EXIT_WATTLE_FAILED : WTL_EXIT_DONE;
}
