/* SPDX-License-Identifier: MIT */
#include "commands/profile/marks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/loop.h"
#include "meter/meter.h"

/* The most windows of a profile, and the most open at once. */
enum { WINDOWS_MAX = 100000, OPEN_MAX = 64 };

static struct wtl_profile_window *find_open(const struct wtl_profile_marks *marks, const char *name)
{
	for (size_t i = marks->n; i-- > 0;)
		if (marks->list[i].end_ns == 0 && strcmp(marks->list[i].name, name) == 0)
			return &marks->list[i];
	return NULL;
}

static void begin_window(struct wtl_profile_marks *marks, const char *name, struct wtl_buf *answer)
{
	int64_t now_ns;

	if (find_open(marks, name)) {
		wtl_mark_refuse(answer, WATTLE_E_WINDOW_OPEN,
				"a window '%s' is open already: end it first", name);
		return;
	}
	if (marks->n_open == OPEN_MAX || marks->n == WINDOWS_MAX ||
	    wtl_array_reserve(&marks->list, &marks->room, marks->n + 1, sizeof(*marks->list)) < 0) {
		wtl_mark_refuse(answer, WATTLE_E_TOO_MANY, "there is no room for '%s'", name);
		return;
	}
	now_ns = marks->sample(marks->context);
	if (now_ns < 0) {
		wtl_mark_refuse(answer, (int)-now_ns, "%s", wattle_strerror((int)now_ns));
		return;
	}
	marks->list[marks->n] = (struct wtl_profile_window){.begin_ns = now_ns};
	wtl_text_copy(marks->list[marks->n].name, sizeof(marks->list[0].name), name);
	marks->n++;
	marks->n_open++;
	wtl_buf_puts(answer, "ok");
}

static void end_window(struct wtl_profile_marks *marks, const char *name, struct wtl_buf *answer)
{
	struct wtl_profile_window *window = find_open(marks, name);
	int64_t now_ns;

	if (!window) {
		wtl_mark_refuse(answer, WATTLE_E_NO_WINDOW, "no window '%s' is open", name);
		return;
	}
	now_ns = marks->sample(marks->context);
	if (now_ns < 0) {
		wtl_mark_refuse(answer, (int)-now_ns, "%s", wattle_strerror((int)now_ns));
		return;
	}
	window->end_ns = now_ns;
	marks->n_open--;
	wtl_buf_puts(answer, "ok");
}

static void tell_status(const struct wtl_profile_marks *marks, struct wtl_buf *answer)
{
	const char *path = marks->path ? marks->path : "(wattle profile)";

	wtl_buf_puts(answer, "ok\nfile ");
	wtl_text_escape(answer, path, strlen(path));
	wtl_buf_printf(answer, "\npid %d\nbegin %lld\nstop no", (int)getpid(),
		       (long long)marks->begin_utc_ns);
	for (size_t i = 0; i < marks->n; i++)
		if (marks->list[i].end_ns == 0)
			wtl_buf_printf(answer, "\nwindow %s", marks->list[i].name);
}

static bool asked(void *context, const struct wtl_mark_message *mark, int pid,
		  struct wtl_buf *answer)
{
	struct wtl_profile_marks *marks = context;

	(void)pid;
	switch (mark->verb) {
	case WTL_MARK_BEGIN:
		begin_window(marks, mark->name, answer);
		break;
	case WTL_MARK_END:
		end_window(marks, mark->name, answer);
		break;
	case WTL_MARK_STATUS:
		tell_status(marks, answer);
		break;
	case WTL_MARK_STOP:
		wtl_mark_refuse(answer, EPERM, "this is a profile, which ends with its command");
		break;
	}
	return true;
}

void wtl_profile_marks_open(struct wtl_profile_marks *marks, struct wtl_app *app, bool is_wanted)
{
	struct wtl_err err = {.code = 0};

	marks->server.asked = asked;
	marks->server.context = marks;
	marks->path = app->settings.output_path;
	marks->is_open = wtl_mark_server_open(&marks->server, &err) == 0;
	if (marks->is_open)
		setenv(WTL_MARK_VARIABLE, marks->server.path, is_wanted);
	else if (is_wanted)
		wtl_remark(app, "no windows can be marked from outside: %s%s%s", err.path,
			   err.path[0] ? ": " : "", err.text);
}

void wtl_profile_marks_watch(struct wtl_profile_marks *marks, struct wtl_loop *loop)
{
	if (marks->is_open)
		wtl_loop_watch(loop, marks->server.epoll, wtl_mark_server_serve, &marks->server);
}

void wtl_profile_marks_end(struct wtl_profile_marks *marks, int64_t t_ns)
{
	for (size_t i = 0; i < marks->n; i++)
		if (marks->list[i].end_ns == 0)
			marks->list[i].end_ns = t_ns;
	marks->n_open = 0;
	if (marks->is_open)
		wtl_mark_server_answer(&marks->server, "ok");
}

void wtl_profile_marks_close(struct wtl_profile_marks *marks)
{
	if (marks->is_open)
		wtl_mark_server_close(&marks->server);
	marks->is_open = false;
	free(marks->list);
	marks->list = NULL;
}
