/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/child.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "commands/serve/serve.h"
#include "sensors/share_text.h"

/*
 * Power limits for clients. A driver may take seconds, or hang: so each client's limits are set, held and put back by a
 * process of their own, `wattle limit --for-client`, which has the client's connection as its standard input. It keeps
 * the same notes as any other wattle limit, and outlives an agent that is killed.
 */

enum { WORDS = 7, WORD_SIZE = WTL_SHARE_GPUS_SIZE + 16 };

/* Reaps ended processes. Returns a free place, or NULL. */
static int *reap(struct wtl_serve_limits *limits)
{
	int *place = NULL;

	for (size_t i = 0; i < WTL_SERVE_LIMITS_MAX; i++) {
		if (limits->pids[i] > 0 && waitpid(limits->pids[i], NULL, WNOHANG) != 0)
			limits->pids[i] = 0;
		if (limits->pids[i] == 0)
			place = &limits->pids[i];
	}
	return place;
}

void wtl_serve_limits_look(struct wtl_serve_limits *limits)
{
	reap(limits);
}

/* Starts wattle limit with these words for the agent's machine. -EBUSY: too many are running. */
static int start(struct wtl_serve_limits *limits, char *const words[], size_t n, int input)
{
	const struct wtl_settings *settings = &limits->app->settings;
	char root[PATH_MAX + 16], nvml[PATH_MAX + 16];
	int *place = reap(limits), pid;
	char *argv[WORDS + 3] = {NULL};

	memcpy(argv, words, n * sizeof(*words));

	snprintf(root, sizeof(root), "--root=%s", settings->root ? settings->root : "");
	if (settings->root)
		argv[n++] = root;
	snprintf(nvml, sizeof(nvml), "--nvml=%s", settings->nvml_path ? settings->nvml_path : "");
	if (settings->nvml_path)
		argv[n++] = nvml;
	if (!place)
		return -EBUSY;
	pid = wtl_child_start_wattle(limits->app, argv, input);
	if (pid < 0)
		return pid;
	*place = pid;
	return 0;
}

static int set_limit(void *context, const struct wtl_share_limit *limit, int fd)
{
	struct wtl_serve_limits *limits = context;
	char wattle[] = "wattle", command[] = "limit", client[] = "--for-client", hold[] = "--hold";
	char gpus[WORD_SIZE], power[64], mode[32];
	char *argv[WORDS] = {wattle, command, client};
	size_t n = 3;

	if (limit->holds)
		argv[n++] = hold;
	snprintf(gpus, sizeof(gpus), "--id=%s", limit->gpus);
	argv[n++] = gpus;
	if (limit->to_default)
		snprintf(power, sizeof(power), "--power=default");
	else
		snprintf(power, sizeof(power), "--power=%" PRIu64 ".%06" PRIu64,
			 limit->power_uw / 1000000, limit->power_uw % 1000000);
	if (limit->has_power)
		argv[n++] = power;
	snprintf(mode, sizeof(mode), "--persistence=%s", limit->persistence ? "on" : "off");
	if (limit->has_persistence)
		argv[n++] = mode;
	return start(limits, argv, n, fd);
}

int wtl_serve_limit_group(struct wtl_app *app, const struct wtl_option *option, const char *text)
{
	struct wtl_serve_settings *settings = app->own;
	const struct group *group = getgrnam(text);

	(void)option;
	if (!group)
		return wtl_complain(
			app, "--limit-group: there is no group '%s': groupadd makes one", text);
	settings->sets_limits = true;
	settings->limit_group = group->gr_gid;
	return 0;
}

void wtl_serve_limits_init(struct wtl_serve_limits *limits, struct wtl_app *app,
			   struct wtl_sharing_options *options)
{
	const struct wtl_serve_settings *settings = app->own;

	limits->app = app;
	options->limit_group = WTL_SHARE_NO_GROUP;
	if (!settings->sets_limits)
		return;
	options->limit_group = settings->limit_group;
	options->limit = set_limit;
	options->limit_context = limits;
}

void wtl_serve_limits_restore(struct wtl_serve_limits *limits)
{
	char wattle[] = "wattle", command[] = "limit", restore[] = "--restore", quiet[] = "--quiet";
	char *argv[WORDS] = {wattle, command, restore, quiet};

	start(limits, argv, 4, -1);
}
