/* SPDX-License-Identifier: MIT */
/* Implements the recorder of wattle-recording.h, which commits by itself and shares its meter with others. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wattle-recording.h>

#include "base/abi.h"
#include "base/err.h"
#include "base/user.h"
#include "energy/units.h"
#include "meter/attached.h"
#include "meter/meter.h"
#include "replay/format.h"
#include "replay/recorder.h"

#define WINDOW "recording"

/* At most the last second is lost: this, plus the time until it is on the disk. */
#define COMMIT_NS (WTL_NS_PER_S / 100 * 85)

/* Samples that are fed come faster than real time, and can be fed again. */
#define COMMIT_FED_NS (10 * WTL_NS_PER_S)

struct wattle_recorder {
	struct wattle_meter *meter;
	struct wtl_recorder *recorder;
};

static int hand_over(const struct wtl_err *err, struct wattle_error *reterr)
{
	wtl_err_hand_over(err, reterr);
	return err->code;
}

static void user_name(void *context, uint32_t uid, char name[33])
{
	const struct wattle_meter *meter = context;

	wtl_user_name(!meter->options.root && !meter->is_tape, uid, name, 33);
}

/* Takes the options of a caller that was compiled against an older or newer header. */
static int copy_options(const struct wattle_recorder_options *from,
			struct wattle_recorder_options *to)
{
	int rc = wtl_abi_take(from, to, sizeof(*to));

	if (rc < 0)
		return rc;
	return to->max_age_ns < 0 || to->period_ns < 0 || to->interval_ns < 0 ? -EINVAL : 0;
}

/* Bills are of the session's window, which began with the meter; those in the recording must be of its own. */
static void shift_bills(struct wattle_recorder *own)
{
	struct wattle_window live, recording;

	if (wtl_window_look(own->meter, WTL_WINDOW_OF_SESSION, &live, NULL, 0) == 0 &&
	    wtl_window_look(own->meter, WINDOW, &recording, NULL, 0) == 0)
		wtl_recorder_shift_bills(own->recorder,
					 recording.begin_utc_ns - recording.begin_mono_ns -
						 (live.begin_utc_ns - live.begin_mono_ns));
}

static void fact_number(struct wtl_recorder *recorder, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	wtl_recorder_fact(recorder, key, text);
}

/* Called with the meter's lock held. */
static int begin(struct wattle_recorder *own, const char *path,
		 const struct wattle_recorder_options *wanted, struct wtl_err *err)
{
	struct wattle_meter *meter = own->meter;
	const struct wtl_recorder_options options = {
		.path = path,
		.store = {.max_bytes = wanted->max_bytes,
			  .max_age_ns = wanted->max_age_ns,
			  .period_ns = wanted->period_ns,
			  .io = meter->env.io},
		.interval_ns = wanted->interval_ns ? wanted->interval_ns : meter->interval_ns,
		.commit_ns = meter->fed ? COMMIT_FED_NS : COMMIT_NS,
		.waits = meter->fed,
		.is_late = true,
		.user = user_name,
		.user_context = meter,
	};
	struct wattle_window unused;
	int rc;

	if (meter->is_unfed)
		return wtl_err_set(err, ENODATA, "record", path,
				   "the meter was fed with nothing yet");
	if (meter->observer)
		return wtl_err_set(err, EBUSY, "record", path, "the meter is being recorded");
	if (wtl_window_look(meter, WINDOW, &unused, NULL, 0) == 0)
		return wtl_err_set(err, -WATTLE_E_WINDOW_OPEN, "record", path,
				   "the meter has an open window \"%s\"", WINDOW);
	rc = wtl_recorder_new(meter, meter->attached ? meter->attached->session.consumers : NULL,
			      &options, &own->recorder, err);
	if (rc < 0)
		return rc;
	/* Use up to now does not belong to the recording. */
	if (meter->attached)
		wtl_attached_bill(meter);
	rc = wattle_window_begin(meter, WINDOW);
	if (rc < 0) {
		wtl_recorder_end(own->recorder, NULL);
		wtl_store_remove(path);
		return wtl_err_set(err, rc, "record", path, "%s", wattle_strerror(rc));
	}
	wtl_recorder_window_fact(own->recorder, WINDOW, WTL_FACT_EXIT_REASON,
				 "the program recorded itself");
	if (meter->attached)
		shift_bills(own);
	if (options.interval_ns > 0)
		fact_number(own->recorder, "interval-ns", options.interval_ns);
	return 0;
}

int wattle_recorder_open(const char *path, struct wattle_meter *meter,
			 const struct wattle_recorder_options *options,
			 struct wattle_recorder **ret_recorder, struct wattle_error *reterr)
{
	struct wattle_recorder_options wanted;
	struct wtl_err err = {.code = 0};
	struct wattle_recorder *own;
	int rc;

	if (!path || !path[0] || !meter || !ret_recorder || !wtl_abi_is_sized(reterr))
		return -EINVAL;
	rc = copy_options(options, &wanted);
	if (rc < 0) {
		wtl_err_set(&err, rc, "record", path, "%s", wtl_err_text(rc));
		return hand_over(&err, reterr);
	}
	own = calloc(1, sizeof(*own));
	if (!own) {
		wtl_err_set(&err, ENOMEM, "record", path, "out of memory");
		return hand_over(&err, reterr);
	}
	own->meter = meter;
	pthread_mutex_lock(&meter->lock);
	rc = begin(own, path, &wanted, &err);
	pthread_mutex_unlock(&meter->lock);
	if (rc < 0) {
		free(own);
		return hand_over(&err, reterr);
	}
	*ret_recorder = own;
	return 0;
}

int wattle_recorder_fact(struct wattle_recorder *recorder, const char *key, const char *value)
{
	if (!key || !key[0] || strlen(key) >= WTL_STORE_NAME_SIZE || !value)
		return -EINVAL;
	pthread_mutex_lock(&recorder->meter->lock);
	wtl_recorder_fact(recorder->recorder, key, value);
	pthread_mutex_unlock(&recorder->meter->lock);
	return 0;
}

int wattle_recorder_status(struct wattle_recorder *recorder, struct wattle_error *reterr)
{
	struct wtl_err err;

	if (!wtl_abi_is_sized(reterr))
		return -EINVAL;
	pthread_mutex_lock(&recorder->meter->lock);
	err = *wtl_recorder_error(recorder->recorder);
	pthread_mutex_unlock(&recorder->meter->lock);
	return err.code < 0 ? hand_over(&err, reterr) : 0;
}

int wattle_recorder_close(struct wattle_recorder *recorder, struct wattle_error *reterr)
{
	struct wtl_err err;
	int rc;

	if (!recorder)
		return 0;
	if (!wtl_abi_is_sized(reterr))
		return -EINVAL;
	pthread_mutex_lock(&recorder->meter->lock);
	wattle_window_end(recorder->meter, WINDOW, NULL, NULL, 0);
	if (recorder->meter->attached)
		wtl_attached_bill(recorder->meter);
	rc = wtl_recorder_end(recorder->recorder, &err);
	pthread_mutex_unlock(&recorder->meter->lock);
	free(recorder);
	if (rc != 0)
		wtl_err_hand_over(&err, reterr);
	return rc;
}
