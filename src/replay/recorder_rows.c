/* SPDX-License-Identifier: MIT */
/* Many samples at once, a series at a time: the same as by wtl_meter_pass_on() and wtl_recorder_devices(). */
#include <string.h>

#include "replay/format.h"
#include "replay/recorder_state.h"

/* How many ops each sample has. */
static size_t ops_of(const struct wtl_recorder_rows *rows)
{
	return rows->n_devices > 0 ? 2 : 1;
}

static void put_same(struct wtl_recorder *recorder, uint32_t series, size_t n, int64_t value)
{
	int64_t *to = wtl_store_put_many(recorder->writer, series, n);

	for (size_t i = 0; to && i < n; i++)
		to[i] = value;
}

static void put_column(struct wtl_recorder *recorder, uint32_t series, size_t n,
		       const int64_t values[])
{
	int64_t *to = wtl_store_put_many(recorder->writer, series, n);

	if (to)
		memcpy(to, values, n * sizeof(values[0]));
}

static void put_samples(struct wtl_recorder *recorder, const struct wtl_recorder_rows *rows)
{
	const uint32_t *series = recorder->series;
	size_t n = rows->n, n_ops = ops_of(rows);
	int64_t *ops = wtl_store_put_many(recorder->writer, series[WTL_SINGLE_OP], n * n_ops);

	for (size_t i = 0; ops && i < n * n_ops; i++)
		ops[i] = i % n_ops == 0 ? WTL_OP_SAMPLE : WTL_OP_DEVICES;
	put_column(recorder, series[WTL_SINGLE_SAMPLE_MONO], n, rows->t_mono_ns);
	put_same(recorder, series[WTL_SINGLE_SAMPLE_TOOK], n, 0);
	put_same(recorder, series[WTL_SINGLE_SAMPLE_ASLEEP], n, 0);
	for (size_t i = 0; i < recorder->n_channels; i++) {
		const uint32_t *of = recorder->channels[i].of;

		put_same(recorder, of[WTL_CHANNEL_AT], n, 1);
		put_column(recorder, of[WTL_CHANNEL_VALUE], n, rows->values[i]);
		put_same(recorder, of[WTL_CHANNEL_HALF], n, 0);
		put_same(recorder, of[WTL_CHANNEL_STATE], n, WATTLE_STATUS_OK);
	}
}

static void put_devices(struct wtl_recorder *recorder, const struct wtl_recorder_rows *rows)
{
	const uint32_t *series = recorder->series;
	size_t n = rows->n, n_devices = rows->n_devices, all = n * n_devices;
	int64_t *gpus = wtl_store_put_many(recorder->writer, series[WTL_SINGLE_DEVICE_GPU], all);
	int64_t *numbers =
		wtl_store_put_many(recorder->writer, series[WTL_SINGLE_DEVICE_NUMBER], all);
	int64_t *values =
		wtl_store_put_many(recorder->writer, series[WTL_SINGLE_DEVICE_VALUE], all);

	put_same(recorder, series[WTL_SINGLE_DEVICES], n, (int64_t)n_devices);
	for (size_t k = 0; gpus && numbers && values && k < n_devices; k++)
		for (size_t i = 0; i < n; i++) {
			gpus[i * n_devices + k] = rows->devices[k].gpu;
			numbers[i * n_devices + k] = rows->devices[k].number;
			values[i * n_devices + k] = rows->device_values[k][i];
		}
}

bool wtl_recorder_rows(struct wtl_recorder *recorder, const struct wtl_recorder_rows *rows)
{
	if (recorder->is_stopped || recorder->commit_ns > 0 || recorder->asleep_ns != 0)
		return false;
	for (size_t i = 0; i < recorder->n_channels; i++)
		if (recorder->channels[i].gap.begin_ns || recorder->channels[i].gap.is_failing)
			return false;
	put_samples(recorder, rows);
	if (rows->n_devices > 0)
		put_devices(recorder, rows);
	return true;
}
