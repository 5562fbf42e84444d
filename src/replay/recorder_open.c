/* SPDX-License-Identifier: MIT */
/* Opening a recorder. */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "replay/recorder_state.h"

/* ---- Series ---- */

/* The series of that name. 0 or negative. */
static int open_series(struct wtl_recorder *recorder, const char *name, uint32_t *ret_series)
{
	int64_t id = wtl_store_series(recorder->writer, name);

	if (id < 0)
		return (int)id;
	*ret_series = (uint32_t)id;
	return 0;
}

/* If a channel fails that only checks another one, no energy is missing. */
static bool is_primary(const struct wattle_meter *meter, size_t channel)
{
	for (size_t i = 0; i < meter->n_domains; i++)
		if (meter->domains[i].domain.primary == (int)channel)
			return true;
	return false;
}

static int open_channel(struct wtl_recorder *recorder, size_t i)
{
	struct wtl_channel_series *channel = &recorder->channels[i];
	char name[WTL_STORE_NAME_SIZE];
	int rc = 0;

	/* No reading is equal to this, so the first one is written. */
	channel->last.t_mono_ns = INT64_MIN;
	channel->is_primary = is_primary(recorder->meter, i);
	for (enum wtl_of_channel k = 0; rc == 0 && k < WTL_OF_CHANNEL; k++) {
		wtl_channel_series_name(i, k, name);
		rc = open_series(recorder, name, &channel->of[k]);
	}
	return rc < 0 ? rc
		      : wtl_store_channel(recorder->writer, (uint32_t)i,
					  &recorder->meter->catalog.channels[i]);
}

static int open_channels(struct wtl_recorder *recorder)
{
	int rc = 0;

	recorder->energies =
		calloc(wattle_meter_domains(recorder->meter) + 1, sizeof(*recorder->energies));
	recorder->n_channels = recorder->meter->catalog.n_channels;
	recorder->channels = calloc(recorder->n_channels + 1, sizeof(*recorder->channels));
	if (!recorder->channels || !recorder->energies)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < recorder->n_channels; i++)
		rc = open_channel(recorder, i);
	return rc;
}

static int open_gpus(struct wtl_recorder *recorder)
{
	char name[WTL_STORE_NAME_SIZE];
	int rc = 0;

	recorder->n_gpus = wtl_consumers_gpus(recorder->consumers);
	recorder->gpus = calloc(recorder->n_gpus + 1, sizeof(*recorder->gpus));
	if (!recorder->gpus)
		return -ENOMEM;
	for (size_t i = 0; i < recorder->n_gpus; i++)
		for (enum wtl_of_gpu k = 0; rc == 0 && k < WTL_OF_GPU; k++) {
			wtl_gpu_series_name(i, k, name);
			rc = open_series(recorder, name, &recorder->gpus[i].of[k]);
		}
	return rc;
}

static int open_all_series(struct wtl_recorder *recorder)
{
	int rc = 0;

	for (enum wtl_single i = 0; rc == 0 && i < WTL_SINGLE_CHANGES; i++)
		rc = open_series(recorder, wtl_single_names[i], &recorder->series[i]);
	if (rc == 0)
		rc = open_channels(recorder);
	if (rc == 0 && recorder->consumers)
		rc = open_gpus(recorder);
	if (rc == 0 && recorder->consumers)
		rc = wtl_delta_init(&recorder->delta, recorder->writer);
	return rc;
}

/* ---- All of it ---- */

static int begin(struct wtl_recorder *recorder, const struct wtl_recorder_options *options,
		 struct wtl_err *err)
{
	struct wtl_store_options store = options->store;
	int rc;

	/* Room for two seconds of samples, in case the disk is slow. */
	if (store.values_per_commit == 0 && options->interval_ns > 0)
		store.values_per_commit = (uint32_t)(2 * WTL_NS_PER_S / options->interval_ns) + 16;
	rc = wtl_store_create(options->path, &store, &recorder->writer, err);
	if (rc < 0)
		return rc;
	rc = open_all_series(recorder);
	if (rc == 0)
		rc = wtl_recorder_write_start(recorder);
	if (rc < 0)
		return wtl_err_set(err, rc, "record", options->path, "%s", wtl_err_text(rc));
	if (options->is_late && recorder->consumers)
		wtl_recorder_fact(recorder, WTL_FACT_LATE, "1");
	recorder->is_late = options->is_late;
	recorder->waits = options->waits;
	recorder->commit_ns = options->commit_ns;
	recorder->due_ns = wtl_io_mono_ns(recorder->io) + options->commit_ns;
	recorder->peak_memory = options->peak_memory;
	recorder->delta.user = options->user;
	recorder->delta.user_context = options->user_context;
	wtl_recorder_observe(recorder);
	return wtl_recorder_commit(recorder, err);
}

int wtl_recorder_new(struct wattle_meter *meter, struct wtl_consumers *consumers,
		     const struct wtl_recorder_options *options, struct wtl_recorder **ret_recorder,
		     struct wtl_err *err)
{
	struct wtl_recorder *recorder = calloc(1, sizeof(*recorder));
	int rc;

	if (!recorder)
		return wtl_err_set(err, ENOMEM, "record", options->path, "out of memory");
	recorder->meter = meter;
	recorder->consumers = consumers;
	recorder->io = meter->env.io;
	rc = begin(recorder, options, err);
	if (rc < 0) {
		wtl_recorder_stop(recorder);
		wtl_store_end(recorder->writer, NULL);
		wtl_recorder_free(recorder);
		return rc;
	}
	*ret_recorder = recorder;
	return 0;
}
