/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_RECORD_RECORDING_H
#define WTL_COMMANDS_RECORD_RECORDING_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mark.h"
#include "cli/billing.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/loop.h"
#include "commands/mark/mark.h"
#include "replay/recorder.h"
#include "wattle.h"

struct wtl_device_value;
struct wtl_gpu;
struct wtl_option;
struct wtl_recording_devices;

/* Marked windows that are open at once; a recorded meter has as many, and wattle's own. */
enum { WTL_MARKED_MAX = 60, WTL_RECORDED_WINDOWS_MAX = WTL_MARKED_MAX + 4 };

/* The options for the file. */
struct wtl_recording_settings {
	const char *path; /* NULL: there is no recording */
	uint64_t max_bytes;
	int64_t max_age_ns;
	/* Negative code: there is no place yet, which was reported; fails until resume(). NULL: there is one. */
	const struct wtl_err *not_yet;
};

/* A recording written during a measurement (`wattle record`, `wattle run --record`). */
struct wtl_recording_session {
	struct wtl_app *app;
	struct wtl_billing *billing;   /* the meter, and the processes */
	struct wtl_recorder *recorder; /* NULL: none is written, or an error stopped it */
	const struct wtl_recording_settings *settings;
	const char *path;
	int64_t due_ns, begin_utc_ns;
	int timer; /* for commits between slow samples; 0: none is needed */
	bool has_failed;
	struct wtl_err why; /* why it has failed */
	int64_t failed_utc_ns;
	bool is_resumed; /* began after another one failed, later than the measurement */
	char resumed_path[PATH_MAX];
	bool is_over;		 /* exceeds its size limit, which was reported */
	struct wtl_child *child; /* of the open window; NULL: no command */
	struct wattle_energy *energies;
	struct wtl_recording_devices *devices; /* NULL: not asked */
	/* Windows that other programs mark. */
	struct wtl_mark_server marks;
	struct wtl_loop *loop; /* NULL: no marks */
	bool can_stop;	       /* on "stop" from outside: sets loop->stop */
	bool goes_on;	       /* after a failure the loop goes on, and may resume */
	/* Called before each commit, after billing; NULL: nothing. */
	void (*committing)(void *context);
	/* Called at the end of a marked window; NULL: nothing. */
	void (*window_ended)(void *context, const char *name, const struct wattle_window *window);
	void *committing_context; /* for both callbacks */
	char marked[WTL_MARKED_MAX][WTL_MARK_NAME_SIZE];
	size_t n_marked;
};

/*
 * Before the meter is opened (and any thread started): listens for marks if there is
 * to be a recording, and puts WATTLE_MARK into the environment. If that fails, there
 * is a remark, and there are no marks. can_stop: "stop" may come from outside.
 */
void wtl_recording_listen(struct wtl_recording_session *recording, struct wtl_app *app,
			  const struct wtl_recording_settings *settings, bool can_stop);
/*
 * Begins a recording in the settings' path (NULL: none), right after the meter and
 * the billing were opened. From then on the loop takes marks (NULL: none). 0, or
 * negative after wtl_complain(). close() in any case after wtl_recording_listen().
 */
int wtl_recording_open(struct wtl_recording_session *recording, struct wtl_billing *billing,
		       struct wtl_loop *loop);
/* After each sample (a struct wtl_recording_session): commits once a second. If samples are further apart, a timer
 * commits marks in between. An error is reported once, and the measurement goes on; if it serves only the
 * recording, the loop is stopped. */
void wtl_recording_look(void *recording);
/* The command was started in the open window: its exit is recorded with the window's end. The child is borrowed
 * until then. */
void wtl_recording_command(struct wtl_recording_session *recording, struct wtl_child *child);
/* Records a window's figures; is_open false: at its end, after the last scan of the command. */
void wtl_recording_window(struct wtl_recording_session *recording, const char *name, bool is_open,
			  const struct wattle_window *window,
			  const struct wattle_energy energies[]);
/* The set() of an option for a recording's path: a file, not standard output. */
int wtl_recording_set_path(struct wtl_app *app, const struct wtl_option *option, const char *path);
/* Appends the path as a word to type after a command. Raw bytes. */
void wtl_recording_type_path(struct wtl_buf *buf, const char *path);
/*
 * After a failure, if the measurement goes on: begins another recording in that file, with a window of its
 * own. To be called after a bill; makes one. 0, or negative with the reason: then nothing has changed.
 */
int wtl_recording_resume(struct wtl_recording_session *recording, const char *path,
			 struct wtl_err *err);
/* The name of that window. */
#define WTL_RECORDING_RESUMED "resumed recording"
/* Writes the rest. 0, or negative if the recording is not complete (reported already). */
int wtl_recording_close(struct wtl_recording_session *recording);
/* Ends a recording of nothing, and removes its file. */
void wtl_recording_discard(struct wtl_recording_session *recording);
/* Stops taking marks; told (may be NULL) is the answer to those that asked for the end. */
void wtl_recording_done(struct wtl_recording_session *recording, const char *told);

/* ---- marks.c ---- */

/* Handles one message; the server's asked(). */
bool wtl_recording_asked(void *recording, const struct wtl_mark_message *mark, int pid,
			 struct wtl_buf *answer);
/* Records the current figures of all open marked windows. */
void wtl_recording_look_at_marked(struct wtl_recording_session *recording);

/* ---- devices.c: figures of devices besides energy ---- */

/* NULL: no memory, or no thread for asking. */
struct wtl_recording_devices *wtl_recording_devices_new(struct wattle_meter *meter);
/* NULL is fine. */
void wtl_recording_devices_free(struct wtl_recording_devices *devices);
/* Gives the newest answers to the recorder (NULL: none) without waiting (except on a tape). consumers: may have read
 * the processors' times; NULL: nobody did. */
void wtl_recording_devices_look(struct wtl_recording_devices *devices,
				const struct wtl_consumers *consumers,
				struct wtl_recorder *recorder);
/* The same answers, and their GPUs. Valid until the next look. */
void wtl_recording_devices_tell(const struct wtl_recording_devices *devices,
				const struct wtl_device_value **ret_values, size_t *ret_n_values,
				const struct wtl_gpu **ret_gpus, size_t *ret_n_gpus);

#endif
