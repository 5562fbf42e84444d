/* SPDX-License-Identifier: MIT */
#include "replay/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/err.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "replay/format.h"
#include "replay/recorder_state.h"
#include "workload/gpu_use.h"

static void put(struct wtl_recorder *recorder, enum wtl_single series, int64_t value)
{
	wtl_store_put(recorder->writer, recorder->series[series], value);
}

/* ---- Commits ---- */

/* Against the boot-time clock, since the machine may have slept since the newest sample. */
static void note_clock_step(struct wtl_recorder *recorder, int64_t mono_ns, int64_t offset_ns)
{
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

/* CPU time of measuring; with a meter that others use, whose process does more than that, how long samples took. */
static int64_t own_cpu_ns(const struct wtl_recorder *recorder, const struct rusage *usage)
{
	if (recorder->is_late)
		return recorder->meter->self.tick_sum_ns;
	return (usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * WTL_NS_PER_S +
	       (usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1000;
}

/* It grows only with page faults. Reading it costs most of what is done each second. */
static uint64_t peak_memory(struct wtl_recorder *recorder, const struct rusage *usage)
{
	long n_faults = usage->ru_minflt + usage->ru_majflt;

	if (n_faults != recorder->n_faults || recorder->peak_bytes == 0)
		recorder->peak_bytes = recorder->peak_memory();
	recorder->n_faults = n_faults;
	return recorder->peak_bytes;
}

static void put_second(struct wtl_recorder *recorder, int64_t mono_ns, int64_t utc_ns)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	put(recorder, WTL_SINGLE_OP, WTL_OP_SECOND);
	put(recorder, WTL_SINGLE_SECOND_MONO, mono_ns);
	put(recorder, WTL_SINGLE_SECOND_UTC, utc_ns);
	put(recorder, WTL_SINGLE_SECOND_CPU, own_cpu_ns(recorder, &usage));
	if (recorder->peak_memory)
		put(recorder, WTL_SINGLE_SECOND_RSS, (int64_t)peak_memory(recorder, &usage));
}

/* Makes the period readable without those before it. */
static void begin_period(struct wtl_recorder *recorder)
{
	recorder->n_periods++;
	for (size_t i = 0; i < recorder->n_channels; i++)
		recorder->channels[i].last.t_mono_ns = INT64_MIN;
	if (recorder->consumers)
		wtl_delta_begin_anew(&recorder->delta);
}

/* mono_ns: a moment just now. */
static int commit(struct wtl_recorder *recorder, int64_t mono_ns, struct wtl_err *err)
{
	int64_t now_utc_ns, utc_ns;
	int rc;

	if (recorder->is_stopped)
		return 0;
	now_utc_ns = wtl_io_real_ns(recorder->io);
	utc_ns = now_utc_ns - (wtl_io_mono_ns(recorder->io) - mono_ns);
	note_clock_step(recorder, mono_ns, now_utc_ns - wtl_io_boot_ns(recorder->io));
	/* Between samples only rows are written: a period begins with a sample. */
	if (recorder->has_sampled)
		put_second(recorder, mono_ns, utc_ns);
	else if (!wtl_store_has_more(recorder->writer))
		return 0;
	recorder->has_sampled = false;
	rc = wtl_store_commit(recorder->writer, mono_ns, utc_ns, err);
	if (rc > 0)
		begin_period(recorder);
	if (rc < 0)
		wtl_recorder_stop(recorder);
	return rc < 0 ? rc : 0;
}

/* ---- Samples ---- */

static bool is_same_reading(const struct wtl_reading *a, const struct wtl_reading *b)
{
	return a->t_mono_ns == b->t_mono_ns && a->half_ns == b->half_ns && a->value == b->value &&
	       a->anew == b->anew && a->status == b->status && a->error == b->error;
}

static void put_reading(struct wtl_recorder *recorder, struct wtl_channel_series *channel,
			const struct wtl_reading *reading, int64_t begin_ns)
{
	struct wtl_store_writer *writer = recorder->writer;
	int64_t at_ns = reading->t_mono_ns - begin_ns;

	if (is_same_reading(reading, &channel->last)) {
		wtl_store_put(writer, channel->of[WTL_CHANNEL_AT], 0);
		return;
	}
	channel->last = *reading;
	wtl_store_put(writer, channel->of[WTL_CHANNEL_AT], at_ns >= 0 ? at_ns + 1 : at_ns);
	wtl_store_put(writer, channel->of[WTL_CHANNEL_VALUE], (int64_t)reading->value);
	wtl_store_put(writer, channel->of[WTL_CHANNEL_HALF], reading->half_ns);
	wtl_store_put(writer, channel->of[WTL_CHANNEL_STATE],
		      reading->status + (reading->anew ? WTL_STATE_ANEW : 0));
	if (reading->status != WATTLE_STATUS_OK)
		wtl_store_put(writer, channel->of[WTL_CHANNEL_ERROR], reading->error);
}

static void note_sleep(struct wtl_recorder *recorder, const struct wtl_sample *sample)
{
	int64_t slept_ns = sample->asleep_ns - recorder->asleep_ns;

	if (recorder->sampled_ns > 0 && slept_ns > 100 * WTL_NS_PER_MS) {
		const struct wtl_stored_gap gap = {.kind = WTL_GAP_SUSPEND,
						   .begin_mono_ns = sample->begin_ns,
						   .duration_ns = slept_ns,
						   .text = "the machine slept"};

		wtl_store_gap(recorder->writer, &gap);
	}
	recorder->asleep_ns = sample->asleep_ns;
}

static void note_failure(struct wtl_recorder *recorder, size_t i, const struct wtl_reading *reading,
			 int64_t t_ns)
{
	struct wtl_channel_series *channel = &recorder->channels[i];

	if (channel->is_primary && !wtl_channel_gap_is_none(&channel->gap, reading, t_ns)) {
		struct wtl_stored_gap gap;

		if (wtl_channel_gap_follow(&channel->gap, &recorder->meter->catalog.channels[i],
					   reading, t_ns, &gap))
			wtl_store_gap(recorder->writer, &gap);
	}
}

/* Commits what came before this sample, since a period may begin with a sample. */
static void commit_before(struct wtl_recorder *recorder, int64_t t_ns)
{
	if (recorder->commit_ns == 0 || t_ns < recorder->due_ns)
		return;
	recorder->due_ns = t_ns + recorder->commit_ns;
	if (recorder->waits)
		wtl_store_wait(recorder->writer);
	commit(recorder, t_ns, &recorder->err);
}

static void sampled(void *context, const struct wtl_sample *sample)
{
	struct wtl_recorder *recorder = context;

	commit_before(recorder, sample->begin_ns);
	if (recorder->is_stopped)
		return;
	note_sleep(recorder, sample);
	recorder->sampled_ns = sample->begin_ns;
	recorder->has_sampled = true;
	put(recorder, WTL_SINGLE_OP, WTL_OP_SAMPLE);
	put(recorder, WTL_SINGLE_SAMPLE_MONO, sample->begin_ns);
	put(recorder, WTL_SINGLE_SAMPLE_TOOK, sample->end_ns - sample->begin_ns);
	/* Two clocks are read one after the other, so their difference is not more exact. */
	put(recorder, WTL_SINGLE_SAMPLE_ASLEEP,
	    sample->asleep_ns - sample->asleep_ns % WTL_NS_PER_MS);
	for (size_t i = 0; i < recorder->n_channels; i++) {
		put_reading(recorder, &recorder->channels[i], &sample->readings[i],
			    sample->begin_ns);
		note_failure(recorder, i, &sample->readings[i], sample->begin_ns);
	}
}

/* ---- Windows ---- */

/* energies NULL: no domain has any; if n_energies is 0 as well, the domains' rows stay as they are. */
static void store_window(struct wtl_recorder *recorder, const struct wtl_known_window *known,
			 const struct wattle_window *window, const struct wattle_energy energies[],
			 size_t n_energies)
{
	struct wtl_stored_window row = {
		.id = known->id,
		.is_stacked = known->is_stacked,
		.is_open = known->is_open,
		.pid = known->pid,
		.begin_utc_ns = known->begin_utc_ns,
		.begin_mono_ns = known->begin_mono_ns,
		.energies = energies,
		.n_energies = n_energies,
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

	put(recorder, WTL_SINGLE_OP, WTL_OP_BEGIN);
	put(recorder, WTL_SINGLE_WINDOW_ID, window->id);
	put(recorder, WTL_SINGLE_WINDOW_MONO, note->t_mono_ns);
	put(recorder, WTL_SINGLE_WINDOW_UTC, note->t_utc_ns);
	store_window(recorder, window, NULL, NULL, 0);
}

/* For a window that is about to end: a recorder that commits by itself has no other caller to store its figures. */
static void store_figures(struct wtl_recorder *recorder, const struct wtl_known_window *known,
			  int64_t end_ns)
{
	size_t n = wattle_meter_domains(recorder->meter);
	struct wattle_window window;

	if (recorder->commit_ns == 0 || known->is_stacked ||
	    wtl_window_look(recorder->meter, known->name, &window, recorder->energies, n) < 0)
		return;
	window.duration_ns = end_ns - known->begin_mono_ns;
	store_window(recorder, known, &window, recorder->energies, n);
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
		return; /* it began before the recording */
	window->is_open = false;
	put(recorder, WTL_SINGLE_OP, note->event == WTL_WINDOW_ENDS ? WTL_OP_END : WTL_OP_CANCEL);
	put(recorder, WTL_SINGLE_WINDOW_ID, window->id);
	if (note->event == WTL_WINDOW_ENDS) {
		put(recorder, WTL_SINGLE_WINDOW_MONO, note->t_mono_ns);
		store_figures(recorder, window, note->t_mono_ns);
	} else {
		/* Nor is it open in the table, where it has no figures any more. */
		store_window(recorder, window, NULL, NULL, wattle_meter_domains(recorder->meter));
	}
}

void wtl_recorder_window(struct wtl_recorder *recorder, const char *name, bool is_open,
			 const struct wattle_window *window, const struct wattle_energy energies[])
{
	struct wtl_known_window *known = wtl_known_windows_find(&recorder->windows, name);

	if (!known)
		return;
	known->is_open = is_open;
	store_window(recorder, known, window, energies, wattle_meter_domains(recorder->meter));
}

void wtl_recorder_window_fact(struct wtl_recorder *recorder, const char *name, const char *key,
			      const char *value)
{
	struct wtl_known_window *known = wtl_known_windows_find(&recorder->windows, name);
	char full[WTL_STORE_NAME_SIZE];

	if (!known)
		return;
	snprintf(full, sizeof(full), WTL_FACT_WINDOW, known->id, key);
	wtl_recorder_fact(recorder, full, value);
}

void wtl_recorder_marked_by(struct wtl_recorder *recorder, const char *name, int pid)
{
	struct wtl_known_window *known = wtl_known_windows_find(&recorder->windows, name);

	if (!known)
		return;
	known->pid = pid;
	store_window(recorder, known, NULL, NULL, 0);
}

/* ---- Scans ---- */

static void put_scan(struct wtl_recorder *recorder)
{
	const struct wtl_workload_scan *scan = wtl_consumers_scan(recorder->consumers);
	int64_t slot = 0;

	put(recorder, WTL_SINGLE_SCAN_MONO, scan->t_mono_ns);
	put(recorder, WTL_SINGLE_SCAN_DURATION, scan->duration_ns);
	put(recorder, WTL_SINGLE_SCAN_CAPACITY, scan->capacity_ns);
	put(recorder, WTL_SINGLE_SCAN_BUSY, scan->busy_ns);
	put(recorder, WTL_SINGLE_SCAN_WEIGHT,
	    wtl_workload_weight(wtl_consumers_workload(recorder->consumers)));
	put(recorder, WTL_SINGLE_SCAN_USES, (int64_t)scan->n_uses);
	for (size_t i = 0; i < scan->n_uses; i++) {
		put(recorder, WTL_SINGLE_USE_SLOT, scan->uses[i].slot - slot);
		put(recorder, WTL_SINGLE_USE_WEIGHT, (int64_t)scan->uses[i].weight);
		slot = scan->uses[i].slot;
	}
	put(recorder, WTL_SINGLE_SCAN_FOLDS, (int64_t)scan->n_folds);
	for (size_t i = 0; i < scan->n_folds; i++) {
		put(recorder, WTL_SINGLE_FOLD_FROM, scan->folds[i].from);
		put(recorder, WTL_SINGLE_FOLD_INTO, scan->folds[i].into);
	}
}

static void put_gpu(struct wtl_recorder *recorder, size_t i)
{
	const struct wtl_gpu_series *series = &recorder->gpus[i];
	struct wtl_store_writer *writer = recorder->writer;
	struct wtl_gpu_scan gpu;

	wtl_consumers_gpu(recorder->consumers, i, &gpu);
	wtl_store_put(writer, series->of[WTL_GPU_WEIGHT], gpu.method);
	wtl_store_put(writer, series->of[WTL_GPU_USE], gpu.use_ppm);
	wtl_store_put(writer, series->of[WTL_GPU_USES], (int64_t)gpu.n_uses);
	for (size_t k = 0; k < gpu.n_uses; k++) {
		wtl_store_put(writer, series->of[WTL_GPU_SLOT], gpu.uses[k].slot);
		wtl_store_put(writer, series->of[WTL_GPU_SHARE], (int64_t)gpu.uses[k].weight);
	}
}

/* Processes whose exit records were dropped: their use is unseen. */
static void note_lost_exits(struct wtl_recorder *recorder)
{
	uint64_t n_lost = wtl_consumers_means(recorder->consumers)->n_lost_exits;
	int64_t now_ns = wtl_consumers_scan(recorder->consumers)->t_mono_ns;
	struct wtl_stored_gap gap = {
		.kind = WTL_GAP_EXITS,
		.begin_mono_ns = recorder->scanned_ns,
		.duration_ns = now_ns - recorder->scanned_ns,
	};

	if (recorder->scanned_ns && n_lost > recorder->n_lost_exits) {
		snprintf(gap.text, sizeof(gap.text),
			 "the kernel dropped records of processes that ended");
		wtl_store_gap(recorder->writer, &gap);
	}
	recorder->n_lost_exits = n_lost;
	recorder->scanned_ns = now_ns;
}

static void follow(struct wtl_recorder *recorder, int64_t scan)
{
	if (wtl_delta_follow(&recorder->delta, recorder->consumers, scan) < 0)
		wtl_store_fail(recorder->writer);
}

static void scanned(void *context, enum wtl_scan_event event, int64_t t_utc_ns)
{
	struct wtl_recorder *recorder = context;

	switch (event) {
	case WTL_SCAN_TAKEN:
		put(recorder, WTL_SINGLE_OP, WTL_OP_SCAN);
		put_scan(recorder);
		wtl_recorder_write_known(recorder);
		for (size_t i = 0; i < recorder->n_gpus; i++)
			put_gpu(recorder, i);
		follow(recorder, recorder->n_scans++);
		note_lost_exits(recorder);
		return;
	case WTL_SCAN_BILLED:
		put(recorder, WTL_SINGLE_OP, WTL_OP_BILLED);
		put(recorder, WTL_SINGLE_BILL_UTC, t_utc_ns + recorder->bill_shift_ns);
		return;
	case WTL_SCAN_RESET:
		put(recorder, WTL_SINGLE_OP, WTL_OP_RESET);
		follow(recorder, recorder->n_scans);
		return;
	case WTL_SCAN_SETTLED:
		put(recorder, WTL_SINGLE_OP, WTL_OP_SETTLED);
		return;
	case WTL_SCAN_MACHINE_CHANGED:
		put(recorder, WTL_SINGLE_OP, WTL_OP_MACHINE_CHANGED);
		return;
	}
}

/* ---- Observing ---- */

void wtl_recorder_observe(struct wtl_recorder *recorder)
{
	recorder->observer = (struct wtl_observer){.context = recorder,
						   .sampled = sampled,
						   .window = window_noted,
						   .scanned = scanned};
	wtl_meter_observe(recorder->meter, &recorder->observer);
	if (recorder->consumers)
		wtl_consumers_observe(recorder->consumers, &recorder->observer);
}

void wtl_recorder_stop(struct wtl_recorder *recorder)
{
	/* By now, another recorder may observe. */
	if (recorder->is_stopped)
		return;
	wtl_meter_observe(recorder->meter, NULL);
	if (recorder->consumers)
		wtl_consumers_observe(recorder->consumers, NULL);
	recorder->is_stopped = true;
}

/* ---- Going on ---- */

void wtl_recorder_fact(struct wtl_recorder *recorder, const char *key, const char *value)
{
	wtl_store_fact(recorder->writer, key, value);
}

void wtl_recorder_devices(struct wtl_recorder *recorder, const struct wtl_device_value values[],
			  size_t n)
{
	if (recorder->is_stopped)
		return;
	put(recorder, WTL_SINGLE_OP, WTL_OP_DEVICES);
	put(recorder, WTL_SINGLE_DEVICES, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		put(recorder, WTL_SINGLE_DEVICE_GPU, values[i].gpu);
		put(recorder, WTL_SINGLE_DEVICE_NUMBER, values[i].number);
		put(recorder, WTL_SINGLE_DEVICE_VALUE, values[i].value);
	}
}

void wtl_recorder_bytes(struct wtl_recorder *recorder, const char *series, const void *bytes,
			size_t len)
{
	int64_t number = recorder->is_stopped ? -1 : wtl_store_series(recorder->writer, series);

	if (number < 0)
		return;
	wtl_store_put(recorder->writer, (uint32_t)number, (int64_t)len);
	for (size_t i = 0; i < len; i += sizeof(int64_t)) {
		int64_t value = 0;

		memcpy(&value, (const char *)bytes + i,
		       len - i < sizeof(value) ? len - i : sizeof(value));
		wtl_store_put(recorder->writer, (uint32_t)number, value);
	}
}

uint32_t wtl_recorder_periods(const struct wtl_recorder *recorder)
{
	return recorder->n_periods;
}

int wtl_recorder_commit(struct wtl_recorder *recorder, struct wtl_err *err)
{
	return commit(recorder, wtl_io_mono_ns(recorder->io), err);
}

const struct wtl_err *wtl_recorder_error(const struct wtl_recorder *recorder)
{
	return &recorder->err;
}

void wtl_recorder_shift_bills(struct wtl_recorder *recorder, int64_t by_ns)
{
	recorder->bill_shift_ns = by_ns;
}

struct wtl_store_writer *wtl_recorder_writer(struct wtl_recorder *recorder)
{
	return recorder->writer;
}

/* ---- The end ---- */

void wtl_recorder_free(struct wtl_recorder *recorder)
{
	wtl_delta_done(&recorder->delta);
	free(recorder->channels);
	free(recorder->gpus);
	free(recorder->energies);
	free(recorder);
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
		wtl_recorder_write_end(recorder);
	rc = wtl_recorder_commit(recorder, err);
	wtl_recorder_stop(recorder);
	ended = wtl_store_end(recorder->writer, rc < 0 ? &later : err);
	wtl_recorder_free(recorder);
	return rc < 0 ? rc : ended;
}
