/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/packet.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "commands/mark/mark.h"
#include "cli/option.h"
#include "energy/units.h"

enum { RECORDINGS_MAX = 64, FOR_MAX_S = 36 * 365 * 86400 };

struct settings {
	const char *verb, *name, *file; /* each may be NULL */
};

static const struct wtl_option options[] = {
	{"file", 0, "FILE",
	 "The recording that is meant (default: the one that this was started in, or the only one)",
	 WTL_OPTION_PATH, WTL_OWN(struct settings, file), .what = "a recording"},
	{0},
};

static int add_word(struct wtl_app *app, const struct wtl_option *option, const char *word)
{
	struct settings *settings = app->own;

	(void)option;
	if (settings->name)
		return -E2BIG;
	*(settings->verb ? &settings->name : &settings->verb) = word;
	return 0;
}

static const struct wtl_option word = {"begin|end|list", .kind = WTL_OPTION_OWN,
				       .words = (const char *const[]){"begin", "end", "list", NULL},
				       .set = add_word};

/* ---- begin, end ---- */

static int ask(struct wtl_app *app, const char *message)
{
	const struct settings *settings = app->own;
	char answer[WTL_MARK_ANSWER_MAX];
	const char *text;
	int fd = wtl_mark_find(app, settings->file), rc;

	if (fd < 0)
		return WTL_EXIT_FAILED;
	rc = wtl_packet_ask(fd, message, answer, sizeof(answer), WTL_MARK_TIMEOUT_MS);
	close(fd);
	if (rc >= 0)
		rc = wtl_mark_read_answer(answer, &text);
	else
		text = rc == -ECONNRESET ? "the recording ended" : wtl_err_text(rc);
	if (rc < 0)
		wtl_complain(app, "%s", rc == -EPROTO ? "that is no recording" : text);
	return rc < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

static int mark_window(struct wtl_app *app, enum wtl_mark_verb verb)
{
	const struct settings *settings = app->own;
	char message[WTL_MARK_MESSAGE_MAX];
	int rc;

	if (!settings->name) {
		wtl_complain(app, "which window? As in: wattle mark %s training", settings->verb);
		return WTL_EXIT_USAGE;
	}
	rc = wtl_mark_print(message, verb, settings->name);
	if (rc < 0) {
		wtl_complain(app, "%s", wtl_mark_strerror(rc));
		return WTL_EXIT_USAGE;
	}
	return ask(app, message);
}

/* ---- list ---- */

static void print_duration(int64_t seconds)
{
	if (seconds < 120)
		printf("%lld s", (long long)seconds);
	else if (seconds < 2 * 3600)
		printf("%lld min", (long long)(seconds / 60));
	else
		printf("%lld h", (long long)(seconds / 3600));
}

static void print_status(const struct wtl_mark_status *status)
{
	struct timespec now;
	int64_t seconds;

	clock_gettime(CLOCK_REALTIME, &now);
	seconds = (int64_t)now.tv_sec - status->begin_utc_ns / WTL_NS_PER_S;
	printf("%s (process %d", status->file, status->pid);
	if (seconds >= 0 && seconds < FOR_MAX_S) { /* the clock may have been set since */
		printf(", for ");
		print_duration(seconds);
	}
	printf(")\n");
	for (size_t i = 0; i < status->n_windows; i++)
		printf("  %s\n", status->windows[i]);
}

static int list(struct wtl_app *app)
{
	const struct settings *settings = app->own;
	struct wtl_mark_status *all;
	size_t n;

	if (settings->name || settings->file) {
		wtl_complain(app, "'list' takes nothing: it lists all recordings of this user");
		return WTL_EXIT_USAGE;
	}
	all = calloc(RECORDINGS_MAX, sizeof(*all));
	if (!all) {
		wtl_complain(app, "out of memory");
		return WTL_EXIT_FAILED;
	}
	n = wtl_mark_find_all(all, RECORDINGS_MAX);
	for (size_t i = 0; i < n; i++)
		print_status(&all[i]);
	if (n == 0)
		wtl_remark(app, "no recording of this user is running");
	free(all);
	return WTL_EXIT_DONE;
}

static int run(struct wtl_app *app)
{
	const struct settings *settings = app->own;
	const char *verb = settings->verb;

	if (verb && strcmp(verb, "begin") == 0)
		return mark_window(app, WTL_MARK_BEGIN);
	if (verb && strcmp(verb, "end") == 0)
		return mark_window(app, WTL_MARK_END);
	if (verb && strcmp(verb, "list") == 0)
		return list(app);
	if (verb)
		wtl_complain(app, "it is 'begin NAME', 'end NAME' or 'list', not '%s'", verb);
	else
		wtl_complain(app, "begin or end which window? As in: wattle mark begin training");
	return WTL_EXIT_USAGE;
}

const struct wtl_command wtl_command_mark = {
	.name = "mark",
	.summary = "Begin or end a named window in a running recording",
	.synopsis = "[OPTION...] begin|end|list [NAME]",
	.description =
		"Tells a recording (wattle record, wattle run --record) or a profile (wattle profile) that a window of that NAME begins "
		"or ends now: its energy, per domain and with its uncertainty, becomes part of the "
		"recording. Windows may nest and overlap; a name is free again when its window has "
		"ended.\n\n"
		"What a recording starts finds it by itself, by WATTLE_MARK in its environment. From "
		"elsewhere the only recording of this user is meant, or the one that --file names.\n\n"
		"list names the recordings that run, and their open windows.",
	.examples = "wattle mark begin compile; make -j8; wattle mark end compile\n"
		    "    in a script that wattle record started, or in any shell beside it\n\n"
		    "wattle mark begin --file night.wattle backup\n"
		    "    where several recordings run\n\n"
		    "wattle mark list\n"
		    "    what is being recorded now",
	.exit_status =
		"0\tdone\n"
		"1\tno such recording runs, or it refused: such a window is open already, or is "
		"not\n"
		"2\twrong options",
	.options = options,
	.shared = (const struct wtl_option *const[]){wtl_options_general, NULL},
	.word = &word,
	.settings_size = sizeof(struct settings),
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
