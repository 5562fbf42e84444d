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

/* Open at once and marked from outside; a meter that is recorded holds as many, and wattle's own. */
enum { WTL_MARKED_MAX = 60, WTL_RECORDED_WINDOWS_MAX = WTL_MARKED_MAX + 4 };

/* What options say of the file. */
struct wtl_recording_settings {
	const char *path; /* NULL: there is no recording */
	uint64_t max_bytes;
	int64_t max_age_ns;
	/* Its code is negative: there is no place for it yet, which was said: it has failed until resume(). NULL: there is. */
	const struct wtl_err *not_yet;
};

/* A recording that is written beside a measurement (`wattle record`, `wattle run --record`). */
struct wtl_recording_session {
	struct wtl_app *app;
	struct wtl_billing *billing;   /* the meter, and who is followed */
	struct wtl_recorder *recorder; /* NULL: none is written, or it was stopped by an error */
	const struct wtl_recording_settings *settings;
	const char *path;
	int64_t due_ns, begin_utc_ns;
	int timer; /* of the seconds between samples; 0: there is a sample a second */
	bool has_failed;
	struct wtl_err why; /* it has, and when */
	int64_t failed_utc_ns;
	bool is_resumed; /* it began later than the measurement, after another one that failed */
	char resumed_path[PATH_MAX];
	bool is_over;		 /* larger than it was to be, and that was said */
	struct wtl_child *child; /* of the window that is open; NULL: no command */
	struct wattle_energy *energies;
	struct wtl_recording_devices *devices; /* NULL: not asked */
	/* Who may mark windows, and which are open. */
	struct wtl_mark_server marks;
	struct wtl_loop *loop; /* NULL: nobody listens */
	bool can_stop;	       /* it may be told to: loop->stop is set */
	bool goes_on; /* the loop does where the recording failed, too, and may resume it */
	/* Before each commit, with what was billed up to then; NULL: nobody. */
	void (*committing)(void *context);
	/* A marked window has ended; NULL: nobody. */
	void (*window_ended)(void *context, const char *name, const struct wattle_window *window);
	void *committing_context; /* of both */
	char marked[WTL_MARKED_MAX][WTL_MARK_NAME_SIZE];
	size_t n_marked;
};

/*
 * Before the meter is opened (and any thread with it): listens for marks, if the settings say that
 * there shall be a recording, and puts WATTLE_MARK into the environment. Without it there are no
 * marks, which is remarked. can_stop: "stop" may come from outside.
 */
void wtl_recording_listen(struct wtl_recording_session *recording, struct wtl_app *app,
			  const struct wtl_recording_settings *settings, bool can_stop);
/*
 * Begins one in the settings' record.path (NULL: none), right after the meter and the billing were
 * opened. Marks are taken in the loop from then on (NULL: none are). 0, or negative after
 * wtl_complain(). close() in any case, once wtl_recording_listen() was called.
 */
int wtl_recording_open(struct wtl_recording_session *recording, struct wtl_billing *billing,
		       struct wtl_loop *loop);
/* After each sample (a struct wtl_recording_session): once a second what there is is written; between samples that
 * are further apart a timer does that for what is marked. An error is said once, and the measurement goes on
 * without; where it has no other use, the loop is stopped. */
void wtl_recording_look(void *recording);
/* The command was started, with the window open: how it ends is kept when that ends. Until then the child is
 * borrowed. */
void wtl_recording_command(struct wtl_recording_session *recording, struct wtl_child *child);
/* A window's figures; is_open false: at its end, when nobody looks at the command's process any more. */
void wtl_recording_window(struct wtl_recording_session *recording, const char *name, bool is_open,
			  const struct wattle_window *window,
			  const struct wattle_energy energies[]);
/* The set() of an option with the path for one: a file, and not standard output. */
int wtl_recording_set_path(struct wtl_app *app, const struct wtl_option *option, const char *path);
/* Appends the path as the word that one types behind a command. Raw bytes. */
void wtl_recording_type_path(struct wtl_buf *buf, const char *path);
/*
 * After it has failed, where the measurement goes on: another one, in that file, of what is measured from now on, with a
 * window of its own. To be called after a bill; makes one. 0, or negative with the reason: everything stays as it was.
 */
int wtl_recording_resume(struct wtl_recording_session *recording, const char *path,
			 struct wtl_err *err);
/* The window of that. */
#define WTL_RECORDING_RESUMED "resumed recording"
/* Writes the rest. 0, or negative (said already) where the recording is not whole. */
int wtl_recording_close(struct wtl_recording_session *recording);
/* The same where there was nothing to be recorded: the file goes away. */
void wtl_recording_discard(struct wtl_recording_session *recording);
/* Nobody is listened to any more; told (may be NULL) is for those that asked for the end. */
void wtl_recording_done(struct wtl_recording_session *recording, const char *told);

/* ---- recording_marks.c ---- */

/* One message; the server's asked(). */
bool wtl_recording_asked(void *recording, const struct wtl_mark_message *mark, int pid,
			 struct wtl_buf *answer);
/* The figures so far of all that are open. */
void wtl_recording_look_at_marked(struct wtl_recording_session *recording);

/* ---- recording_devices.c: what devices tell beside energy ---- */

/* NULL: no memory, or no thread to ask them in. */
struct wtl_recording_devices *wtl_recording_devices_new(struct wattle_meter *meter);
/* NULL is fine. */
void wtl_recording_devices_free(struct wtl_recording_devices *devices);
/* Hands the newest answers to the recorder (NULL: there is none), never waits (but on a tape). consumers: who may have
 * read the processors' times; NULL: nobody did. */
void wtl_recording_devices_look(struct wtl_recording_devices *devices,
				const struct wtl_consumers *consumers,
				struct wtl_recorder *recorder);
/* The same answers, and the GPUs that they are of. Until the next look. */
void wtl_recording_devices_tell(const struct wtl_recording_devices *devices,
				const struct wtl_device_value **ret_values, size_t *ret_n_values,
				const struct wtl_gpu **ret_gpus, size_t *ret_n_gpus);

#endif
