/* SPDX-License-Identifier: MIT */
#include "cli/idle.h"

#include <errno.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/user.h"
#include "meter/idle.h"
#include "meter/session.h"

int wtl_idle_path(const struct wtl_settings *settings, char *path, size_t size)
{
	int len;

	if (settings->idle_file && !settings->idle_file[0])
		return -ENOENT; /* nowhere, by request */
	if (settings->idle_file)
		len = snprintf(path, size, "%s", settings->idle_file);
	else if (settings->root || settings->tape || settings->nvml_path)
		return -ENOENT; /* that machine, or those GPUs, are not this one's */
	else
		return wtl_user_path("XDG_STATE_HOME", ".local/state", "idle", path, size);
	return len < (int)size ? 0 : -ENAMETOOLONG;
}

bool wtl_idle_close_session(struct wtl_session *session)
{
	if (session->consumers && session->learns &&
	    wtl_idle_is_known(session->meter, session->consumers))
		wtl_user_make_folder_of(session->idle_path);
	return wtl_session_close(session);
}
