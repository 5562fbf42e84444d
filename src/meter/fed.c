/* SPDX-License-Identifier: MIT */
/* A meter that its caller feeds with readings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/abi.h"
#include "base/err.h"
#include "base/text.h"
#include "meter/given_io.h"
#include "meter/meter.h"

/* What a recording can hold. */
#define MONO_MAX_NS (INT64_C(1) << 60)
#define UTC_MAX_NS  (INT64_C(1) << 62)

/* Allocated in one piece with its arrays; the meter frees it. */
struct wtl_fed {
	struct wtl_given_io io;
	struct wtl_channel *channels;
	char (*sources)[WTL_NAME_SIZE]; /* room for one a channel; equal names use the first */
	struct wtl_reading *readings;
};

/* Equal names get the same address: sources are told apart by that. */
static void set_source(struct wtl_fed *fed, size_t i, const char *name)
{
	size_t first = 0;

	wtl_text_copy(fed->sources[i], sizeof(fed->sources[i]), name && name[0] ? name : "fed");
	while (strcmp(fed->sources[first], fed->sources[i]) != 0)
		first++;
	fed->channels[i].source = fed->sources[first];
	fed->channels[i].rank = (unsigned)first;
}

static bool fits(const char *text, size_t size)
{
	return !text || strlen(text) < size;
}

/* false: there is no such channel. */
static bool take_channel(struct wtl_fed *fed, size_t i, const struct wattle_channel *from)
{
	struct wtl_channel *to = &fed->channels[i];
	bool is_one = from->unit_num == 0 && from->unit_den == 0;

	if (!from->domain || !fits(from->domain, sizeof(to->domain)) ||
	    !fits(from->inside, sizeof(to->inside)) || !fits(from->source, WTL_NAME_SIZE) ||
	    (unsigned)from->kind >= WATTLE_KINDS || from->update_ns < 0)
		return false;
	*to = (struct wtl_channel){
		.kind = from->kind,
		.in_total = from->in_total,
		.quantity = from->is_energy ? WTL_QUANTITY_ENERGY : WTL_QUANTITY_POWER,
		.method = from->is_energy ? WATTLE_METHOD_COUNTER : WATTLE_METHOD_INTEGRATED,
		.unit = is_one ? WTL_UNIT_MICRO
			       : (struct wtl_unit){.num = from->unit_num, .den = from->unit_den},
		.range = from->range,
		.max_uw = from->max_uw,
		.update_ns = from->update_ns,
		.gain_ppm = from->gain_ppm,
	};
	wtl_text_copy(to->domain, sizeof(to->domain), from->domain);
	wtl_text_copy(to->inside, sizeof(to->inside), from->inside ? from->inside : "");
	wtl_text_copy(to->device, sizeof(to->device), from->device ? from->device : "");
	set_source(fed, i, from->source);
	fed->readings[i] = (struct wtl_reading){
		.status = WATTLE_STATUS_STALE,
		.error = -ENODATA,
		.reason = "nothing was fed yet",
	};
	return true;
}

static struct wtl_fed *new_fed(size_t n)
{
	size_t one = sizeof(struct wtl_channel) + sizeof(struct wtl_reading) + WTL_NAME_SIZE;
	struct wtl_fed *fed = calloc(1, sizeof(*fed) + n * one);

	if (!fed)
		return NULL;
	wtl_given_io_init(&fed->io);
	fed->channels = (void *)(fed + 1);
	fed->readings = (void *)(fed->channels + n);
	fed->sources = (void *)(fed->readings + n);
	fed->io.channels = fed->channels;
	fed->io.readings = fed->readings;
	fed->io.n_channels = n;
	return fed;
}

static int open_fed(struct wtl_fed *fed, const struct wattle_channel *channels,
		    const struct wattle_options *options, struct wattle_meter **ret_meter,
		    struct wtl_err *err)
{
	const struct wtl_env env = {.io = &fed->io.io};

	for (size_t i = 0; i < fed->io.n_channels; i++) {
		size_t size = channels->size;
		struct wattle_channel channel = {.size = 0};

		memcpy(&channel, (const char *)channels + i * size,
		       size < sizeof(channel) ? size : sizeof(channel));
		if (!take_channel(fed, i, &channel))
			return wtl_err_set(err, EINVAL, "meter", NULL,
					   "channel %zu cannot be: its name, kind or period", i);
	}
	return wtl_meter_new_from(&env, options, wtl_given_sources, ret_meter, err);
}

static int take_options(const struct wattle_options *from, struct wattle_options *to)
{
	int rc = wtl_abi_take(from, to, sizeof(*to));

	if (rc < 0)
		return rc;
	return to->root || to->nvml_path || to->tape || to->interval_ms || to->attribution ||
			       to->idle_file || to->gpus
		       ? -EINVAL
		       : 0;
}

int wattle_meter_open_fed(const struct wattle_channel *channels, size_t n,
			  const struct wattle_options *options, struct wattle_meter **ret_meter,
			  struct wattle_error *reterr)
{
	struct wattle_meter *meter = NULL;
	struct wattle_options own;
	struct wtl_err err = {.code = 0};
	struct wtl_fed *fed;
	int rc;

	if (!channels || n == 0 || n > WTL_CATALOG_MAX || !wtl_abi_is_sized(channels) ||
	    !ret_meter || !wtl_abi_is_sized(reterr))
		return -EINVAL;
	rc = take_options(options, &own);
	if (rc < 0) {
		wtl_err_set(&err, rc, "meter", NULL,
			    "the options ask for what a meter that is fed has not");
		wtl_err_hand_over(&err, reterr);
		return rc;
	}
	fed = new_fed(n);
	rc = fed ? open_fed(fed, channels, &own, &meter, &err)
		 : wtl_err_set(&err, ENOMEM, "meter", NULL, "out of memory");
	if (rc < 0) {
		free(fed);
		wtl_err_hand_over(&err, reterr);
		return rc;
	}
	meter->fed = fed;
	meter->is_unfed = true;
	*ret_meter = meter;
	return 0;
}

/* Is the sample valid in itself, whatever came before? */
static bool is_good(const struct wtl_fed *fed, int64_t t_utc_ns, int64_t t_mono_ns,
		    const enum wattle_status statuses[], size_t n)
{
	if (n != fed->io.n_channels || t_mono_ns < 0 || t_mono_ns > MONO_MAX_NS ||
	    t_utc_ns < -UTC_MAX_NS || t_utc_ns > UTC_MAX_NS)
		return false;
	for (size_t i = 0; statuses && i < n; i++)
		if (!wattle_status_name(statuses[i]))
			return false;
	return true;
}

static void take_sample(struct wattle_meter *meter, int64_t t_utc_ns, int64_t t_mono_ns,
			const uint64_t values[], const enum wattle_status statuses[])
{
	struct wtl_fed *fed = meter->fed;

	for (size_t i = 0; i < fed->io.n_channels; i++)
		fed->readings[i] = (struct wtl_reading){
			.t_mono_ns = t_mono_ns,
			.value = values[i],
			.status = statuses ? statuses[i] : WATTLE_STATUS_OK,
			.error = statuses && statuses[i] ? -ENODATA : 0,
		};
	fed->io.mono_ns = fed->io.after_ns = t_mono_ns;
	fed->io.utc_ns = t_utc_ns;
	meter->is_unfed = false;
	wtl_meter_sample(meter);
}

int wattle_meter_feed(struct wattle_meter *meter, int64_t t_utc_ns, int64_t t_mono_ns,
		      const uint64_t values[], const enum wattle_status statuses[], size_t n)
{
	int rc = 0;

	if (!meter->fed)
		return -ENOTSUP;
	if (!values || !is_good(meter->fed, t_utc_ns, t_mono_ns, statuses, n))
		return -EINVAL;
	t_mono_ns -= t_mono_ns % 1000; /* as it is recorded */
	pthread_mutex_lock(&meter->lock);
	if (!meter->is_unfed && t_mono_ns <= meter->fed->io.mono_ns)
		rc = -EINVAL;
	else
		take_sample(meter, t_utc_ns, t_mono_ns, values, statuses);
	pthread_mutex_unlock(&meter->lock);
	return rc;
}
