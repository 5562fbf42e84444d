/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/user.h"
#include "cli/complain.h"
#include "cli/loop.h"
#include "commands/serve/serve.h"

#define GROUP "wattle"
#define NAME  "serve.sock"

/* Other users' programs must reach the socket: opens a folder that is ours. (Root's recordings make theirs for root
 * only.) */
static int make_folder(const char *folder)
{
	struct stat status;

	if (mkdir(folder, 0755) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(folder, &status) < 0)
		return -errno;
	if (!S_ISDIR(status.st_mode))
		return -ENOTDIR;
	if (status.st_uid != geteuid())
		return 0;
	/* Others with write access could replace the socket. */
	if (status.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return chmod(folder, 0755) < 0 ? -errno : 0;
}

/* The two innermost folders. Root owns the outer one, whoever measures, for recordings' sockets. */
static int make_folders(const char *path)
{
	char outer[WTL_SHARE_PATH_SIZE], inner[WTL_SHARE_PATH_SIZE];
	char *slash;
	int rc;

	snprintf(inner, sizeof(inner), "%s", path);
	slash = strrchr(inner, '/');
	if (!slash || slash == inner)
		return 0;
	*slash = '\0';
	snprintf(outer, sizeof(outer), "%s", inner);
	slash = strrchr(outer, '/');
	if (!slash || slash == outer)
		return make_folder(inner);
	*slash = '\0';
	rc = make_folder(outer);
	return rc < 0 ? rc : make_folder(inner);
}

/* Has root chosen a directory? Then, as with recordings, it does not share the usual one. */
static bool is_own(const char *folder)
{
	struct stat status;

	return folder && folder[0] == '/' && strcmp(folder, "/run/user/0") != 0 &&
	       stat(folder, &status) == 0 && status.st_uid == geteuid();
}

/* The path where programs look; false: none looks for this agent. */
static bool find_path(const struct wtl_app *app, char path[WTL_SHARE_PATH_SIZE])
{
	const char *given = getenv("RUNTIME_DIRECTORY"); /* systemd's */
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	int len;

	if (app->settings.root || app->settings.tape)
		return false;
	if (given && given[0] == '/')
		len = snprintf(path, WTL_SHARE_PATH_SIZE, "%s/" NAME, given);
	else if (geteuid() != 0)
		return false;
	else if (is_own(runtime))
		len = snprintf(path, WTL_SHARE_PATH_SIZE, "%s/wattle/agent/" NAME, runtime);
	else
		len = snprintf(path, WTL_SHARE_PATH_SIZE, "%s", WTL_AGENT_SOCKET);
	return len < WTL_SHARE_PATH_SIZE;
}

/* A failure counts if the socket was asked for; else the rest is served without it. */
static int fail(struct wtl_app *app, const struct wtl_serve_settings *settings, const char *text)
{
	if (settings->socket || settings->is_reader || settings->sets_limits)
		return wtl_complain(app, "%s", text);
	wtl_remark(app, "programs of others are not served: %s", text);
	return 0;
}

/* Finds a path to listen at, if any. Non-zero after a complaint. */
static int check_path(struct wtl_app *app, char path[WTL_SHARE_PATH_SIZE], bool *ret_listens)
{
	const struct wtl_serve_settings *settings = app->own;

	*ret_listens =
		settings->socket ? strcmp(settings->socket, "none") != 0 : find_path(app, path);
	if (*ret_listens || !(settings->is_reader || settings->sets_limits))
		return 0;
	return wtl_complain(app, "%s: nobody could ask: give --socket PATH",
			    settings->is_reader ? "--reader" : "--limit-group");
}

int wtl_serve_share_open(struct wtl_app *app, struct wattle_meter *meter, struct wtl_board *board,
			 struct wtl_past *past, struct wtl_loop *loop,
			 struct wtl_serve_limits *limits, struct wtl_sharing **ret_share)
{
	const struct wtl_serve_settings *settings = app->own;
	const struct group *group = getgrnam(GROUP);
	char path[WTL_SHARE_PATH_SIZE], user[64], text[256];
	struct wtl_sharing_options options = {
		.path = settings->socket ? settings->socket : path,
		.group = group ? group->gr_gid : WTL_SHARE_NO_GROUP,
		.everyone = settings->share_with == WTL_SERVE_EVERYONE,
		.user = user,
		.meter = meter,
		.interval_ns = app->settings.interval_ns,
		.board = board,
		.past = past,
	};
	struct wtl_err err = {.code = 0};
	bool listens = false;
	int rc = check_path(app, path, &listens);

	wtl_serve_limits_init(limits, app, &options);
	if (rc || !listens)
		return rc;
	rc = settings->socket || getenv("RUNTIME_DIRECTORY") ? 0 : make_folders(path);
	if (rc < 0) {
		snprintf(text, sizeof(text), "the folder of %s: %s", path, wtl_err_text(rc));
		return fail(app, settings, text);
	}
	wtl_user_name(true, geteuid(), user, sizeof(user));
	if (wtl_sharing_open(&options, ret_share, &err) < 0)
		return fail(app, settings, err.text);
	if (group && wtl_sharing_is_private(*ret_share))
		wtl_remark(app, "%s is not for the group " GROUP ": this user is not in it",
			   options.path);
	rc = wtl_loop_watch(loop, wtl_sharing_fd(*ret_share), wtl_sharing_serve, *ret_share);
	if (rc < 0)
		return wtl_complain(app, "%s: %s", options.path, wtl_err_text(rc));
	if (settings->sets_limits)
		wtl_serve_limits_restore(limits);
	if (settings->is_reader)
		wtl_remark(app, "reading for those who ask at %s (Ctrl-C ends it)", options.path);
	return 0;
}
