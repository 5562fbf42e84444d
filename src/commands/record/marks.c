/* SPDX-License-Identifier: MIT */
/* Marks from other programs: begins and ends of windows, and the request to stop. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "commands/record/recording.h"
#include "meter/meter.h"

static size_t find_marked(const struct wtl_recording_session *recording, const char *name)
{
	size_t i = 0;

	while (i < recording->n_marked && strcmp(recording->marked[i], name) != 0)
		i++;
	return i;
}

static void begin_window(struct wtl_recording_session *recording, const char *name, int pid,
			 struct wtl_buf *answer)
{
	int rc = -WATTLE_E_TOO_MANY;

	if (strcmp(name, recording->billing->window) == 0 ||
	    strcmp(name, WTL_RECORDING_RESUMED) == 0) {
		wtl_mark_refuse(answer, WATTLE_E_WINDOW_OPEN, "'%s' is the recording itself", name);
		return;
	}
	if (find_marked(recording, name) < recording->n_marked)
		rc = -WATTLE_E_WINDOW_OPEN;
	else if (recording->n_marked < WTL_MARKED_MAX)
		rc = wattle_window_begin(recording->billing->meter, name);
	if (rc == -WATTLE_E_WINDOW_OPEN)
		wtl_mark_refuse(answer, -rc, "a window '%s' is open already: end it first", name);
	else if (rc == -WATTLE_E_TOO_MANY)
		wtl_mark_refuse(
			answer, -rc,
			"%zu windows are open, and there is no room for '%s': end some first",
			recording->n_marked, name);
	else if (rc < 0)
		wtl_mark_refuse(answer, -rc, "%s", wattle_strerror(rc));
	if (rc < 0)
		return;
	wtl_text_copy(recording->marked[recording->n_marked++], WTL_MARK_NAME_SIZE, name);
	wtl_recorder_marked_by(recording->recorder, name, pid);
	wtl_buf_puts(answer, "ok");
}

static void end_window(struct wtl_recording_session *recording, const char *name,
		       struct wtl_buf *answer)
{
	struct wattle_meter *meter = recording->billing->meter;
	size_t i = find_marked(recording, name);
	struct wattle_window window;

	if (i == recording->n_marked) {
		wtl_mark_refuse(answer, WATTLE_E_NO_WINDOW, "no window '%s' is open", name);
		return;
	}
	wtl_window_end(meter, name, &window, recording->energies, wattle_meter_domains(meter));
	wtl_recorder_window(recording->recorder, name, false, &window, recording->energies);
	if (recording->window_ended)
		recording->window_ended(recording->committing_context, name, &window);
	recording->n_marked--;
	memmove(recording->marked[i], recording->marked[i + 1],
		(recording->n_marked - i) * sizeof(recording->marked[0]));
	wtl_buf_puts(answer, "ok");
}

static void tell_status(const struct wtl_recording_session *recording, struct wtl_buf *answer)
{
	char *path = realpath(recording->path, NULL);
	struct stat status;

	wtl_buf_puts(answer, "ok\nfile ");
	wtl_text_escape(answer, path ? path : recording->path,
			strlen(path ? path : recording->path));
	free(path);
	wtl_buf_printf(answer, "\npid %d\nbegin %lld\nstop %s", (int)getpid(),
		       (long long)recording->begin_utc_ns, recording->can_stop ? "yes" : "no");
	if (stat(recording->path, &status) == 0)
		wtl_buf_printf(answer, "\nid %llu:%llu", (unsigned long long)status.st_dev,
			       (unsigned long long)status.st_ino);
	for (size_t i = 0; i < recording->n_marked; i++)
		wtl_buf_printf(answer, "\nwindow %s", recording->marked[i]);
}

/* false: it is answered at the recording's end. */
static bool stop(struct wtl_recording_session *recording, struct wtl_buf *answer)
{
	if (!recording->can_stop) {
		wtl_mark_refuse(answer, EPERM,
				"this recording is of 'wattle run', and ends with it: kill %d "
				"ends both",
				(int)getpid());
		return true;
	}
	recording->loop->stop = true;
	return false;
}

bool wtl_recording_asked(void *context, const struct wtl_mark_message *mark, int pid,
			 struct wtl_buf *answer)
{
	struct wtl_recording_session *recording = context;

	if (mark->verb == WTL_MARK_STOP)
		return stop(recording, answer);
	if (mark->verb == WTL_MARK_STATUS) {
		tell_status(recording, answer);
		return true;
	}
	if (recording->has_failed)
		wtl_mark_refuse(answer, EIO, "the recording was stopped by an error");
	else if (mark->verb == WTL_MARK_BEGIN)
		begin_window(recording, mark->name, pid, answer);
	else
		end_window(recording, mark->name, answer);
	return true;
}

void wtl_recording_look_at_marked(struct wtl_recording_session *recording)
{
	struct wattle_meter *meter = recording->billing->meter;

	for (size_t i = 0; i < recording->n_marked; i++) {
		const char *name = recording->marked[i];
		struct wattle_window window;

		if (wtl_window_look(meter, name, &window, recording->energies,
				    wattle_meter_domains(meter)) == 0)
			wtl_recorder_window(recording->recorder, name, true, &window,
					    recording->energies);
	}
}
