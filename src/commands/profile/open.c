/* SPDX-License-Identifier: MIT */
#include "commands/profile/open.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "commands/profile/recorded.h"
#include "commands/profile/saved.h"
#include "commands/report/load.h"

#define FILE_MAX ((size_t)512 << 20)

/* The place stays where the profile was taken, unless an option gives another. */
static void choose_place(const struct wtl_app *app, struct wtl_report_place *place)
{
	struct wtl_report_place given = wtl_settings_place(&app->settings);
	uint32_t pue_milli = given.pue_milli ? given.pue_milli : place->pue_milli;

	if (wtl_option_is_used(app, "--location"))
		*place = given;
	place->pue_milli = pue_milli;
}

/* Whether the file begins like a recording (SQLite). If it cannot be opened, that is reported later. */
static bool is_recording(const char *path)
{
	static const char magic[] = "SQLite format 3";
	char head[sizeof(magic)];
	int fd = wtl_infile_is_descriptor(path) ? -1 : wtl_infile_open(path);
	bool is = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
		  memcmp(head, magic, sizeof(magic)) == 0;

	if (fd >= 0)
		close(fd);
	return is;
}

static int open_recording(struct wtl_app *app, const char *path, struct wtl_saved *saved)
{
	const struct wtl_profile_settings *settings = app->own;
	const struct wtl_replay_settings replay = {
		.from = settings->from, .to = settings->to, .by = -1, .plays = true};
	const struct wtl_intensity no_intensity = {.n = 0};
	struct wtl_history *history = NULL;
	struct wtl_policy policy;
	int rc = wtl_policy_parse(app, settings->policy, &policy) ? -EINVAL : 0;

	if (rc == 0)
		rc = wtl_report_open(app, &replay, path, &policy, &no_intensity, &history);
	if (rc == 0)
		rc = wtl_profile_of_recording(app, path, history, saved);
	if (rc == 0 && settings->policy && !(saved->profile.policy = strdup(settings->policy)))
		rc = -wtl_complain(app, "out of memory");
	wtl_history_close(history);
	return rc;
}

/* Options for recordings only. */
static const char *const of_recordings[] = {"--policy", "--from", "--to", NULL};

int wtl_profile_open(struct wtl_app *app, const char *path, struct wtl_saved *saved)
{
	const char *used = wtl_option_first_used(app, of_recordings);
	struct wtl_err err = {.code = 0};
	struct wtl_buf bytes;
	int rc;

	*saved = (struct wtl_saved){.n_command = 0};
	if (is_recording(path))
		return open_recording(app, path, saved);
	if (used)
		return -wtl_complain(app, "%s is for a recording: '%s' is none", used, path);
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
