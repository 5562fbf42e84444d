/* SPDX-License-Identifier: MIT */
#include "replay/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/err.h"
#include "base/text.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "meter/observer.h"
#include "replay/format.h"
#include "replay/recorder_gap.h"
#include "replay/recorder_windows.h"
#include "replay/shadow.h"
#include "workload/gpu_use.h"

struct channel_series {
	uint32_t at, value, half, state, error;
	struct wtl_reading last;
	struct wtl_channel_gap gap;
};

struct gpu_series {
	uint32_t weight, use, uses, slot, share;
};

/* The single series, in the order of series_names[]. */
enum series {
	OP,
	SAMPLE_MONO,
	SAMPLE_TOOK,
	SAMPLE_ASLEEP,
	WINDOW_ID,
	WINDOW_MONO,
	WINDOW_UTC,
	LOOK_MONO,
	LOOK_DURATION,
	LOOK_CAPACITY,
	LOOK_BUSY,
	LOOK_WEIGHT,
	LOOK_USES,
	USE_SLOT,
	USE_WEIGHT,
	LOOK_FOLDS,
	FOLD_FROM,
	FOLD_INTO,
	BILL_UTC,
	SECOND_MONO,
	SECOND_UTC,
	SECOND_CPU,
	SECOND_RSS,
	DEVICES,
	DEVICE_GPU,
	DEVICE_NUMBER,
	DEVICE_VALUE,
	SINGLE_SERIES
};

static const char *const series_names[SINGLE_SERIES] = {
	[OP] = WTL_SERIES_OP,
	[SAMPLE_MONO] = WTL_SERIES_SAMPLE_MONO,
	[SAMPLE_TOOK] = WTL_SERIES_SAMPLE_TOOK,
	[SAMPLE_ASLEEP] = WTL_SERIES_SAMPLE_ASLEEP,
	[WINDOW_ID] = WTL_SERIES_WINDOW_ID,
	[WINDOW_MONO] = WTL_SERIES_WINDOW_MONO,
	[WINDOW_UTC] = WTL_SERIES_WINDOW_UTC,
	[LOOK_MONO] = WTL_SERIES_LOOK_MONO,
	[LOOK_DURATION] = WTL_SERIES_LOOK_DURATION,
	[LOOK_CAPACITY] = WTL_SERIES_LOOK_CAPACITY,
	[LOOK_BUSY] = WTL_SERIES_LOOK_BUSY,
	[LOOK_WEIGHT] = WTL_SERIES_LOOK_WEIGHT,
	[LOOK_USES] = WTL_SERIES_LOOK_USES,
	[USE_SLOT] = WTL_SERIES_USE_SLOT,
	[USE_WEIGHT] = WTL_SERIES_USE_WEIGHT,
	[LOOK_FOLDS] = WTL_SERIES_LOOK_FOLDS,
	[FOLD_FROM] = WTL_SERIES_FOLD_FROM,
	[FOLD_INTO] = WTL_SERIES_FOLD_INTO,
	[BILL_UTC] = WTL_SERIES_BILL_UTC,
	[SECOND_MONO] = WTL_SERIES_SECOND_MONO,
	[SECOND_UTC] = WTL_SERIES_SECOND_UTC,
	[SECOND_CPU] = WTL_SERIES_SECOND_CPU,
	[SECOND_RSS] = WTL_SERIES_SECOND_RSS,
	[DEVICES] = WTL_SERIES_DEVICES,
	[DEVICE_GPU] = WTL_SERIES_DEVICE_GPU,
	[DEVICE_NUMBER] = WTL_SERIES_DEVICE_NUMBER,
	[DEVICE_VALUE] = WTL_SERIES_DEVICE_VALUE,
};

struct wtl_recorder {
	struct wattle_meter *meter;
	struct wtl_consumers *consumers; /* or NULL */
	struct wtl_io *io;
	struct wtl_store_writer *writer;
	struct wtl_observer observer;
	uint32_t series[SINGLE_SERIES];
	struct channel_series *channels;
	size_t n_channels;
	struct gpu_series *gpus;
	size_t n_gpus;
	struct wtl_shadow shadow;
	int64_t n_looks;
	struct wtl_known_windows windows;
	int64_t asleep_ns, utc_offset_ns;
	bool has_clocks; /* the two above mean something */
	int64_t sampled_ns;
	/* As of the last look. */
	uint64_t n_lost_exits;
	int64_t looked_ns;
	uint64_t (*peak_memory)(void);
	bool is_stopped;
};

static void put(struct wtl_recorder *recorder, enum series series, int64_t value)
{
	wtl_store_put(recorder->writer, recorder->series[series], value);
}

/* ---- Samples ---- */

static bool is_same_reading(const struct wtl_reading *a, const struct wtl_reading *b)
{
	return a->t_mono_ns == b->t_mono_ns && a->half_ns == b->half_ns && a->value == b->value &&
	       a->anew == b->anew && a->status == b->status && a->error == b->error;
}

static void put_reading(struct wtl_recorder *recorder, struct channel_series *channel,
			const struct wtl_reading *reading, int64_t begin_ns)
{
	struct wtl_store_writer *writer = recorder->writer;
	int64_t at_ns = reading->t_mono_ns - begin_ns;

	if (is_same_reading(reading, &channel->last)) {
		wtl_store_put(writer, channel->at, 0);
		return;
	}
	channel->last = *reading;
	wtl_store_put(writer, channel->at, at_ns >= 0 ? at_ns + 1 : at_ns);
	wtl_store_put(writer, channel->value, (int64_t)reading->value);
	wtl_store_put(writer, channel->half, reading->half_ns);
	wtl_store_put(writer, channel->state,
		      reading->status + (reading->anew ? WTL_STATE_ANEW : 0));
	if (reading->status != WATTLE_STATUS_OK)
		wtl_store_put(writer, channel->error, reading->error);
}

static void note_sleep(struct wtl_recorder *recorder, const struct wtl_sample *sample)
{
	int64_t slept_ns = sample->asleep_ns - recorder->asleep_ns;
	struct wtl_stored_gap gap = {
		.kind = WTL_GAP_SUSPEND,
		.begin_mono_ns = sample->begin_ns,
		.duration_ns = slept_ns,
	};

	if (recorder->has_clocks && slept_ns > 100 * WTL_NS_PER_MS) {
		snprintf(gap.text, sizeof(gap.text), "the machine slept");
		wtl_store_gap(recorder->writer, &gap);
	}
	recorder->asleep_ns = sample->asleep_ns;
}

static void note_failure(struct wtl_recorder *recorder, size_t i, const struct wtl_reading *reading,
			 int64_t t_ns)
{
	struct wtl_stored_gap gap;

	if (wtl_channel_gap_follow(&recorder->channels[i].gap,
				   &recorder->meter->catalog.channels[i], reading, t_ns, &gap))
		wtl_store_gap(recorder->writer, &gap);
}

static void sampled(void *context, const struct wtl_sample *sample)
{
	struct wtl_recorder *recorder = context;

	note_sleep(recorder, sample);
	recorder->sampled_ns = sample->begin_ns;
	put(recorder, OP, WTL_OP_SAMPLE);
	put(recorder, SAMPLE_MONO, sample->begin_ns);
	put(recorder, SAMPLE_TOOK, sample->end_ns - sample->begin_ns);
	/* Two clocks are read one after the other: what they differ by is not that exact. */
	put(recorder, SAMPLE_ASLEEP, sample->asleep_ns - sample->asleep_ns % WTL_NS_PER_MS);
	for (size_t i = 0; i < recorder->n_channels; i++) {
		put_reading(recorder, &recorder->channels[i], &sample->readings[i],
			    sample->begin_ns);
		note_failure(recorder, i, &sample->readings[i], sample->begin_ns);
	}
}

/* ---- Windows ---- */

static void store_window(struct wtl_recorder *recorder, const struct wtl_known_window *known,
			 const struct wattle_window *window, const struct wattle_energy energies[])
{
	struct wtl_stored_window row = {
		.id = known->id,
		.is_stacked = known->is_stacked,
		.is_open = known->is_open,
		.pid = known->pid,
		.begin_utc_ns = known->begin_utc_ns,
		.begin_mono_ns = known->begin_mono_ns,
		.energies = energies,
		.n_energies = energies ? wattle_meter_domains(recorder->meter) : 0,
	};

	memcpy(row.name, known->name, sizeof(row.name));
	if (window) {
		row.duration_ns = window->duration_ns;
		row.total = window->total;
	}
	wtl_store_window(recorder->writer, &row);
}

static void window_begins(struct wtl_recorder *recorder, const struct wtl_window_note *note)
{
	const struct wtl_known_window *window = wtl_known_windows_add(&recorder->windows, note);

	put(recorder, OP, WTL_OP_BEGIN);
	put(recorder, WINDOW_ID, window->id);
	put(recorder, WINDOW_MONO, note->t_mono_ns);
	put(recorder, WINDOW_UTC, note->t_utc_ns);
	store_window(recorder, window, NULL, NULL);
}

static void window_noted(void *context, const struct wtl_window_note *note)
{
	struct wtl_recorder *recorder = context;
	struct wtl_known_window *window;

	if (note->event == WTL_WINDOW_BEGINS) {
		window_begins(recorder, note);
		return;
	}
	window = wtl_known_windows_find_open(&recorder->windows, note->name, note->is_stacked);
	if (!window)
		return; /* it is older than the recording */
	window->is_open = false;
	put(recorder, OP, note->event == WTL_WINDOW_ENDS ? WTL_OP_END : WTL_OP_CANCEL);
	put(recorder, WINDOW_ID, window->id);
	if (note->event == WTL_WINDOW_ENDS)
		put(recorder, WINDOW_MONO, note->t_mono_ns);
	else
		store_window(recorder, window, NULL,
			     NULL); /* it is not open in the table, either */
}

void wtl_recorder_window(struct wtl_recorder *recorder, const char *name, bool is_open,
			 const struct wattle_window *window, const struct wattle_energy energies[])
{
	struct wtl_known_window *known = wtl_known_windows_find(&recorder->windows, name);

	if (!known || recorder->is_stopped)
		return;
	known->is_open = is_open;
	store_window(recorder, known, window, energies);
}

void wtl_recorder_marked_by(struct wtl_recorder *recorder, const char *name, int pid)
{
	struct wtl_known_window *known = wtl_known_windows_find(&recorder->windows, name);

	if (!known || recorder->is_stopped)
		return;
	known->pid = pid;
	store_window(recorder, known, NULL, NULL);
}

/* ---- Looks ---- */

static void put_look(struct wtl_recorder *recorder)
{
	const struct wtl_workload_look *look = wtl_consumers_look(recorder->consumers);
	int64_t slot = 0;

	put(recorder, LOOK_MONO, look->t_mono_ns);
	put(recorder, LOOK_DURATION, look->duration_ns);
	put(recorder, LOOK_CAPACITY, look->capacity_ns);
	put(recorder, LOOK_BUSY, look->busy_ns);
	put(recorder, LOOK_WEIGHT,
	    wtl_workload_weight(wtl_consumers_workload(recorder->consumers)));
	put(recorder, LOOK_USES, (int64_t)look->n_uses);
	for (size_t i = 0; i < look->n_uses; i++) {
		put(recorder, USE_SLOT, look->uses[i].slot - slot);
		put(recorder, USE_WEIGHT, (int64_t)look->uses[i].weight);
		slot = look->uses[i].slot;
	}
	put(recorder, LOOK_FOLDS, (int64_t)look->n_folds);
	for (size_t i = 0; i < look->n_folds; i++) {
		put(recorder, FOLD_FROM, look->folds[i].from);
		put(recorder, FOLD_INTO, look->folds[i].into);
	}
}

static void put_gpu(struct wtl_recorder *recorder, size_t i)
{
	const struct gpu_series *series = &recorder->gpus[i];
	struct wtl_store_writer *writer = recorder->writer;
	struct wtl_gpu_look gpu;

	wtl_consumers_gpu(recorder->consumers, i, &gpu);
	wtl_store_put(writer, series->weight, wtl_gpu_use_method_find(gpu.weight));
	wtl_store_put(writer, series->use, gpu.use_ppm);
	wtl_store_put(writer, series->uses, (int64_t)gpu.n_uses);
	for (size_t k = 0; k < gpu.n_uses; k++) {
		wtl_store_put(writer, series->slot, gpu.uses[k].slot);
		wtl_store_put(writer, series->share, (int64_t)gpu.uses[k].weight);
	}
}

/* Processes whose end nobody told of: what they used is unseen. */
static void note_lost_exits(struct wtl_recorder *recorder)
{
	uint64_t n_lost = wtl_consumers_means(recorder->consumers)->n_lost_exits;
	int64_t now_ns = wtl_consumers_look(recorder->consumers)->t_mono_ns;
	struct wtl_stored_gap gap = {
		.kind = WTL_GAP_EXITS,
		.begin_mono_ns = recorder->looked_ns,
		.duration_ns = now_ns - recorder->looked_ns,
	};

	if (recorder->looked_ns && n_lost > recorder->n_lost_exits) {
		snprintf(gap.text, sizeof(gap.text),
			 "the kernel dropped records of processes that ended");
		wtl_store_gap(recorder->writer, &gap);
	}
	recorder->n_lost_exits = n_lost;
	recorder->looked_ns = now_ns;
}

static void looked(void *context, enum wtl_look_event event, int64_t t_utc_ns)
{
	struct wtl_recorder *recorder = context;

	switch (event) {
	case WTL_LOOK_TAKEN:
		put(recorder, OP, WTL_OP_LOOK);
		put_look(recorder);
		for (size_t i = 0; i < recorder->n_gpus; i++)
			put_gpu(recorder, i);
		wtl_shadow_follow(&recorder->shadow, recorder->consumers, recorder->n_looks++);
		note_lost_exits(recorder);
		return;
	case WTL_LOOK_BILLED:
		put(recorder, OP, WTL_OP_BILLED);
		put(recorder, BILL_UTC, t_utc_ns);
		return;
	case WTL_LOOK_RESET:
		put(recorder, OP, WTL_OP_RESET);
		wtl_shadow_follow(&recorder->shadow, recorder->consumers, recorder->n_looks);
		return;
	}
}

/* ---- Opening ---- */

struct numbered {
	const char *name;
	uint32_t *series;
};

static int open_numbered(struct wtl_recorder *recorder, const char *prefix, size_t number,
			 const struct numbered list[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char name[WTL_STORE_NAME_SIZE];
		int64_t id;

		snprintf(name, sizeof(name), WTL_SERIES_FORMAT, prefix, number, list[i].name);
		id = wtl_store_series(recorder->writer, name);
		if (id < 0)
			return (int)id;
		*list[i].series = (uint32_t)id;
	}
	return 0;
}

static int open_channels(struct wtl_recorder *recorder)
{
	int rc = 0;

	recorder->n_channels = recorder->meter->catalog.n_channels;
	recorder->channels = calloc(recorder->n_channels + 1, sizeof(*recorder->channels));
	if (!recorder->channels)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < recorder->n_channels; i++) {
		struct channel_series *channel = &recorder->channels[i];
		const struct numbered series[] = {
			{WTL_SERIES_CHANNEL_AT, &channel->at},
			{WTL_SERIES_CHANNEL_VALUE, &channel->value},
			{WTL_SERIES_CHANNEL_HALF, &channel->half},
			{WTL_SERIES_CHANNEL_STATE, &channel->state},
			{WTL_SERIES_CHANNEL_ERROR, &channel->error},
		};

		/* No reading is like this one: the first is told. */
		channel->last.t_mono_ns = INT64_MIN;
		rc = open_numbered(recorder, WTL_SERIES_CHANNEL, i, series,
				   sizeof(series) / sizeof(series[0]));
		if (rc == 0)
			rc = wtl_store_channel(recorder->writer, (uint32_t)i,
					       &recorder->meter->catalog.channels[i]);
	}
	return rc;
}

static int open_gpus(struct wtl_recorder *recorder)
{
	int rc = 0;

	recorder->n_gpus = wtl_consumers_gpus(recorder->consumers);
	recorder->gpus = calloc(recorder->n_gpus + 1, sizeof(*recorder->gpus));
	if (!recorder->gpus)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < recorder->n_gpus; i++) {
		struct gpu_series *gpu = &recorder->gpus[i];
		const struct numbered series[] = {
			{WTL_SERIES_GPU_WEIGHT, &gpu->weight}, {WTL_SERIES_GPU_USE, &gpu->use},
			{WTL_SERIES_GPU_USES, &gpu->uses},     {WTL_SERIES_GPU_SLOT, &gpu->slot},
			{WTL_SERIES_GPU_SHARE, &gpu->share},
		};

		rc = open_numbered(recorder, WTL_SERIES_GPU, i, series,
				   sizeof(series) / sizeof(series[0]));
	}
	return rc;
}

static int open_all_series(struct wtl_recorder *recorder)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < SINGLE_SERIES; i++) {
		int64_t id = wtl_store_series(recorder->writer, series_names[i]);

		if (id < 0)
			return (int)id;
		recorder->series[i] = (uint32_t)id;
	}
	rc = open_channels(recorder);
	if (rc == 0 && recorder->consumers)
		rc = open_gpus(recorder);
	if (rc == 0 && recorder->consumers)
		rc = wtl_shadow_init(&recorder->shadow, recorder->writer);
	return rc;
}

/* ---- What the machine is ---- */

static void fact_number(struct wtl_recorder *recorder, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	wtl_store_fact(recorder->writer, key, text);
}

static void tell_machine(struct wtl_recorder *recorder)
{
	const struct wtl_machine *machine = &recorder->meter->machine;

	wtl_store_fact(recorder->writer, WTL_FACT_VERSION, wattle_version());
	wtl_store_fact(recorder->writer, WTL_FACT_CPU_MODEL, machine->cpu_model);
	wtl_store_fact(recorder->writer, WTL_FACT_VENDOR, machine->vendor);
	wtl_store_fact(recorder->writer, WTL_FACT_PRODUCT, machine->product);
	wtl_store_fact(recorder->writer, WTL_FACT_KERNEL, machine->kernel);
	fact_number(recorder, WTL_FACT_CPUS, machine->n_cpus);
	fact_number(recorder, WTL_FACT_PACKAGES, machine->n_packages);
	fact_number(recorder, WTL_FACT_MEMORY, machine->memory_bytes);
	fact_number(recorder, WTL_FACT_VM, machine->is_vm);
	fact_number(recorder, WTL_FACT_CONTAINER, machine->is_container);
}

static void copy_name(char *to, size_t size, const char *from)
{
	if (from)
		wtl_text_copy(to, size, from);
}

static int tell_domain(struct wtl_recorder *recorder, size_t i)
{
	struct wtl_stored_domain row = {
		.primary = recorder->meter->lines[i].domain.primary,
		.check = recorder->meter->lines[i].domain.check,
	};
	struct wattle_domain domain;

	wattle_meter_domain(recorder->meter, i, &domain);
	copy_name(row.name, sizeof(row.name), domain.name);
	copy_name(row.inside, sizeof(row.inside), domain.inside);
	copy_name(row.source, sizeof(row.source), domain.source);
	copy_name(row.device, sizeof(row.device), domain.device);
	copy_name(row.reason, sizeof(row.reason), domain.reason);
	copy_name(row.remedy, sizeof(row.remedy), domain.remedy);
	row.kind = domain.kind;
	row.method = domain.method;
	row.status = domain.status;
	row.in_total = domain.in_total;
	return wtl_store_domain(recorder->writer, (uint32_t)i, &row);
}

/* What is known of idle power when the recording begins. */
static void tell_idle(struct wtl_recorder *recorder, size_t i)
{
	struct wtl_baseline idle;
	char key[WTL_STORE_NAME_SIZE], text[WTL_BASELINE_LINE_MAX];

	if (!recorder->consumers || wtl_consumers_baseline(recorder->consumers, i, &idle) < 0 ||
	    !idle.is_known)
		return;
	snprintf(key, sizeof(key), WTL_FACT_IDLE, i);
	if (wtl_baseline_print(text, recorder->meter->lines[i].domain.name, "recorded", &idle) < 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	wtl_store_fact(recorder->writer, key, text);
}

static void tell_users_of_gpus(struct wtl_recorder *recorder)
{
	fact_number(recorder, WTL_FACT_GPUS, recorder->n_gpus);
	for (size_t i = 0; i < recorder->n_gpus; i++) {
		struct wtl_gpu_look gpu;
		char key[WTL_STORE_NAME_SIZE];

		wtl_consumers_gpu(recorder->consumers, i, &gpu);
		snprintf(key, sizeof(key), WTL_FACT_GPU_DOMAIN, i);
		wtl_store_fact(recorder->writer, key, gpu.domain);
	}
}

static int tell_all(struct wtl_recorder *recorder)
{
	const struct wtl_catalog *catalog = &recorder->meter->catalog;
	int rc = 0;

	tell_machine(recorder);
	tell_users_of_gpus(recorder);
	for (size_t i = 0; rc == 0 && i < catalog->n_misses; i++)
		rc = wtl_store_miss(recorder->writer, (uint32_t)i, &catalog->misses[i]);
	for (size_t i = 0; rc == 0 && i < wattle_meter_domains(recorder->meter); i++) {
		rc = tell_domain(recorder, i);
		tell_idle(recorder, i);
	}
	return rc;
}

static int begin(struct wtl_recorder *recorder, const struct wtl_recorder_options *options,
		 struct wtl_err *err)
{
	struct wtl_store_options store = options->store;
	int rc;

	/* Samples of two seconds, should the disk be slow. */
	if (store.values_per_commit == 0 && options->interval_ns > 0)
		store.values_per_commit = (uint32_t)(2 * WTL_NS_PER_S / options->interval_ns) + 16;
	rc = wtl_store_create(options->path, &store, &recorder->writer, err);
	if (rc < 0)
		return rc;
	rc = open_all_series(recorder);
	if (rc == 0)
		rc = tell_all(recorder);
	if (rc < 0)
		return wtl_err_set(err, rc, "record", options->path, "%s", wtl_err_text(rc));
	recorder->peak_memory = options->peak_memory;
	recorder->shadow.user = options->user;
	recorder->shadow.user_context = options->user_context;
	recorder->observer = (struct wtl_observer){
		.context = recorder, .sampled = sampled, .window = window_noted, .looked = looked};
	wtl_meter_observe(recorder->meter, &recorder->observer);
	if (recorder->consumers)
		wtl_consumers_observe(recorder->consumers, &recorder->observer);
	return wtl_recorder_commit(recorder, err);
}

static void release(struct wtl_recorder *recorder)
{
	wtl_shadow_done(&recorder->shadow);
	free(recorder->channels);
	free(recorder->gpus);
	free(recorder);
}

static void stop_observing(struct wtl_recorder *recorder)
{
	wtl_meter_observe(recorder->meter, NULL);
	if (recorder->consumers)
		wtl_consumers_observe(recorder->consumers, NULL);
	recorder->is_stopped = true;
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
		stop_observing(recorder);
		wtl_store_end(recorder->writer, NULL);
		release(recorder);
		return rc;
	}
	*ret_recorder = recorder;
	return 0;
}

/* ---- Going on ---- */

void wtl_recorder_fact(struct wtl_recorder *recorder, const char *key, const char *value)
{
	if (!recorder->is_stopped)
		wtl_store_fact(recorder->writer, key, value);
}

void wtl_recorder_gap(struct wtl_recorder *recorder, const struct wtl_stored_gap *gap)
{
	if (!recorder->is_stopped)
		wtl_store_gap(recorder->writer, gap);
}

void wtl_recorder_devices(struct wtl_recorder *recorder, const struct wtl_device_value values[],
			  size_t n)
{
	if (recorder->is_stopped)
		return;
	put(recorder, OP, WTL_OP_DEVICES);
	put(recorder, DEVICES, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		put(recorder, DEVICE_GPU, values[i].gpu);
		put(recorder, DEVICE_NUMBER, values[i].number);
		put(recorder, DEVICE_VALUE, values[i].value);
	}
}

static void note_clock_step(struct wtl_recorder *recorder, int64_t mono_ns, int64_t utc_ns)
{
	int64_t offset_ns = utc_ns - mono_ns - recorder->asleep_ns;
	int64_t step_ns = offset_ns - recorder->utc_offset_ns;
	struct wtl_stored_gap gap = {
		.kind = WTL_GAP_CLOCK_STEP,
		.begin_mono_ns = mono_ns,
		.duration_ns = step_ns,
	};

	if (recorder->has_clocks && (step_ns > WTL_NS_PER_S || step_ns < -WTL_NS_PER_S)) {
		snprintf(gap.text, sizeof(gap.text), "UTC was set %s by %.3f s",
			 step_ns > 0 ? "forward" : "back", (double)llabs(step_ns) / 1e9);
		wtl_store_gap(recorder->writer, &gap);
	}
	recorder->utc_offset_ns = offset_ns;
	recorder->has_clocks = true;
}

static void put_second(struct wtl_recorder *recorder, int64_t mono_ns, int64_t utc_ns)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	put(recorder, OP, WTL_OP_SECOND);
	put(recorder, SECOND_MONO, mono_ns);
	put(recorder, SECOND_UTC, utc_ns);
	put(recorder, SECOND_CPU,
	    (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * WTL_NS_PER_S +
		    (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000);
	put(recorder, SECOND_RSS, recorder->peak_memory ? (int64_t)recorder->peak_memory() : 0);
}

/* A period can be read without those before it. */
static void begin_period(struct wtl_recorder *recorder)
{
	for (size_t i = 0; i < recorder->n_channels; i++)
		recorder->channels[i].last.t_mono_ns = INT64_MIN;
	if (recorder->consumers)
		wtl_shadow_begin_anew(&recorder->shadow);
}

int wtl_recorder_commit(struct wtl_recorder *recorder, struct wtl_err *err)
{
	int64_t mono_ns, utc_ns;
	int rc;

	if (recorder->is_stopped)
		return 0;
	mono_ns = wtl_io_mono_ns(recorder->io);
	utc_ns = wtl_io_real_ns(recorder->io);
	note_clock_step(recorder, mono_ns, utc_ns);
	put_second(recorder, mono_ns, utc_ns);
	rc = wtl_store_commit(recorder->writer, mono_ns, utc_ns, err);
	if (rc > 0)
		begin_period(recorder);
	if (rc < 0)
		stop_observing(recorder);
	return rc < 0 ? rc : 0;
}

struct wtl_store_writer *wtl_recorder_writer(struct wtl_recorder *recorder)
{
	return recorder->writer;
}

/* ---- The end ---- */

static void store_accounts(struct wtl_recorder *recorder, uint32_t slot, uint32_t consumer)
{
	for (size_t i = 0; i < wattle_meter_domains(recorder->meter); i++) {
		struct wtl_share share = wtl_consumers_share(recorder->consumers, slot, i);
		const struct wtl_stored_account row = {
			.domain = (uint32_t)i,
			.consumer = consumer,
			.slot = slot,
			.full_uj = share.full_uj,
			.share_ns = share.share_ns,
		};

		if (share.full_uj || share.share_ns)
			wtl_store_account(recorder->writer, &row);
	}
}

/* As it is now: it may have failed, and how often its sensor has something new has been seen. */
static void store_domain(struct wtl_recorder *recorder, size_t i)
{
	char key[WTL_STORE_NAME_SIZE];

	tell_domain(recorder, i);
	snprintf(key, sizeof(key), WTL_FACT_UPDATE, i);
	if (recorder->meter->lines[i].info.update_ns > 0)
		fact_number(recorder, key, (uint64_t)recorder->meter->lines[i].info.update_ns);
}

static void store_summary(struct wtl_recorder *recorder)
{
	for (uint32_t slot = 0; slot < WTL_SLOTS_FIXED; slot++)
		store_accounts(recorder, slot, 0);
	for (uint32_t slot = WTL_SLOTS_FIXED; slot < recorder->shadow.n_slots; slot++)
		if (recorder->shadow.slots[slot].id)
			store_accounts(recorder, slot, recorder->shadow.slots[slot].id);
	wtl_shadow_finish(&recorder->shadow, recorder->consumers);
	for (size_t i = 0; i < wattle_meter_domains(recorder->meter); i++) {
		struct wtl_stored_baseline row = {.domain = (uint32_t)i};

		wtl_consumers_baseline(recorder->consumers, i, &row.baseline);
		if (row.baseline.is_known)
			wtl_store_baseline(recorder->writer, &row);
		store_domain(recorder, i);
	}
}

static void finish_gaps(struct wtl_recorder *recorder)
{
	struct wtl_stored_gap gap;

	for (size_t i = 0; i < recorder->n_channels; i++)
		if (wtl_channel_gap_finish(&recorder->channels[i].gap,
					   &recorder->meter->catalog.channels[i],
					   recorder->sampled_ns, &gap))
			wtl_store_gap(recorder->writer, &gap);
}

int wtl_recorder_end(struct wtl_recorder *recorder, struct wtl_err *err)
{
	struct wtl_err later = {.code = 0};
	int rc, ended;

	if (!recorder)
		return 0;
	if (!recorder->is_stopped)
		finish_gaps(recorder);
	if (!recorder->is_stopped && recorder->consumers)
		store_summary(recorder);
	rc = wtl_recorder_commit(recorder, err);
	stop_observing(recorder);
	ended = wtl_store_end(recorder->writer, rc < 0 ? &later : err);
	release(recorder);
	return rc < 0 ? rc : ended;
}
