/* SPDX-License-Identifier: MIT */
#include "commands/profile/open.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/machine.h"
#include "cli/options.h"
#include "commands/profile/saved.h"

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
