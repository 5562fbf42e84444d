/* SPDX-License-Identifier: MIT */
#ifndef WTL_METER_SESSION_H
#define WTL_METER_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wattle.h>

#include "meter/consumers.h"
#include "meter/settings_watch.h"

/*
 * Measuring and attributing together: a meter, its consumers, and what is known of the machine at rest. A window of
 * the meter's is billed about once a second, and at its end. One thread at a time; with a meter that others
 * use too, under its lock.
 */

struct wtl_session_options {
	struct wtl_consumers_options consumers;
	const char *idle_path; /* NULL: what is learned is not kept. Borrowed */
	bool is_tape;	       /* without idle_path, what is noted on the tape is known */
};

struct wtl_session {
	struct wattle_meter *meter;
	struct wtl_io *io;
	const char *window; /* name of the window that is billed */
	const char *idle_path;
	struct wtl_consumers *consumers;
	struct wattle_energy *energies; /* one a domain */
	int64_t begin_utc_ns, due_ns;
	bool learns; /* what is learned may be kept */
	bool is_counted, is_learned, is_tape;
	struct wtl_settings_watch settings; /* where watts are learned */
};

/* Loads this machine's calibrations from beside that file (NULL: none), for a meter without a session. 0 or -ENOMEM. */
int wtl_session_load_kept(struct wattle_meter *meter, const char *idle_path, struct wtl_err *err);

/* Nothing is known of the machine at rest before wtl_session_load_idle(). To be closed in any case. 0 or negative. */
int wtl_session_open(struct wtl_session *session, struct wattle_meter *meter, const char *window,
		     const struct wtl_session_options *options, struct wtl_err *err);
/* Keeps what was learned. false: as wtl_consumers_free(). */
bool wtl_session_close(struct wtl_session *session);
/* For domains of which no idle power is known; see wtl_idle_load(). */
void wtl_session_load_idle(struct wtl_session *session,
			   void (*taken)(void *context, size_t domain,
					 const struct wtl_baseline *idle),
			   void *context);

/* All accounts are 0: right before the window begins. */
void wtl_session_begin(struct wtl_session *session);
/* After each sample: bills when that is due. */
bool wtl_session_is_due(const struct wtl_session *session);
void wtl_session_tick(struct wtl_session *session);
/* As of the newest sample. */
void wtl_session_bill(struct wtl_session *session);
/* What the window has used so far, or at its end. */
void wtl_session_bill_window(struct wtl_session *session, const struct wattle_window *window,
			     const struct wattle_energy energies[]);
/* The same in two steps, as wtl_consumers_look(). */
void wtl_session_look(struct wtl_session *session);
void wtl_session_bill_look(struct wtl_session *session, const struct wattle_window *window,
			   const struct wattle_energy energies[]);

/* Is there a domain whose idle power is learned (models give theirs), and was one since begin()? */
bool wtl_session_can_learn_idle(const struct wtl_session *session);
bool wtl_session_learned_idle(const struct wtl_session *session);

/* What users are called (""; not known), and the UTC of a process's start, given since boot. */
struct wtl_consumers_naming {
	void (*user)(void *context, uint32_t uid, char *name, size_t size);
	int64_t (*start_utc_ns)(void *context, int64_t start_ns);
	void *context;
	bool lacks_gpu_time;
};

/* All consumers of a book (NULL: the own one), and what they used of that window. 0 or -ENOMEM. */
int wtl_consumers_list(const struct wtl_consumers *consumers, const struct wtl_book *book,
		       const struct wattle_window *window,
		       const struct wtl_consumers_naming *naming,
		       struct wattle_consumers **ret_list);
void wtl_share_energy_give(const struct wtl_share_energy *energy, struct wattle_share *ret_share);

#endif
