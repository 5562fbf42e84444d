/* SPDX-License-Identifier: MIT */
/* Series as a recording: their points are fed to a meter, in order of time, and a
 * recorder observes that. Final points are written while the file is still read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "energy/units.h"
#include "import/import.h"
#include "meter/calibrated.h"
#include "meter/given_io.h"
#include "meter/meter.h"
#include "meter/observer.h"
#include "meter/sensed.h"
#include "replay/format.h"
#include "replay/recorder.h"

#define MAIN_WINDOW "recording"

/* Points closer than this are one sample, unless a channel has two
 * of them (judgement: nvidia-smi takes that long for eight GPUs). */
#define SAMPLE_NS (250 * WTL_NS_PER_MS)

/* Devices' values beside energy are recorded about once a second. */
#define DEVICES_NS (900 * WTL_NS_PER_MS)

/* The most values, roughly, and the most samples of a commit, which can be
 * read without those before it (judgement: an import can be made again). */
enum { COMMIT_VALUES = 1 << 19, COMMIT_SAMPLES = 32768, SPACINGS = 256, OPEN_MAX = 60 };

/* The most rows that are recorded at once. */
enum { ROWS = 256 };

/* The first sample is not at 0, which means "none". */
#define FIRST_MONO_NS WTL_NS_PER_S

/* A series' position, and what it feeds. */
struct cursor {
	struct wtl_import_series *series;
	size_t at;
	size_t channel; /* SIZE_MAX: a device's */
	int32_t device;
};

struct column {
	int64_t values[ROWS];
};

struct open_window {
	char name[64];
	int64_t end_ns;
};

struct wtl_import_output {
	struct wtl_import *import;
	const char *path;
	bool has_all; /* no more points will come */
	struct wtl_given_io io;
	struct wtl_channel *channels;
	struct wtl_reading *readings;
	size_t n_channels;
	struct cursor *cursors;
	size_t n_cursors;
	int64_t offset_ns; /* UTC - the recording's own time */
	struct wtl_device_value *values, *packed;
	bool *has_value;
	/* For rows: a column for each cursor, and pointers to those of channels, then to those of devices. */
	int64_t t_mono_ns[ROWS];
	struct column *columns;
	const int64_t **in_columns;
	int64_t devices_ns; /* when devices were recorded last */
	bool has_devices;
	struct wattle_meter *meter;
	struct wtl_recorder *recorder;
	size_t next_interval;
	struct open_window open[OPEN_MAX];
	size_t n_open;
	int64_t begin_utc_ns;
	size_t n_samples, n_windows;
	size_t commit_samples; /* the samples of a commit */
};

/* ---- The series ---- */

static int compare_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* The usual distance of points. */
static int64_t spacing_of(const struct wtl_import_series *series)
{
	int64_t apart_ns[SPACINGS];
	size_t n = 0;

	for (size_t i = 1; i < series->n && n < SPACINGS; i++)
		apart_ns[n++] = series->points[i].t_ns - series->points[i - 1].t_ns;
	if (n == 0)
		return 0;
	qsort(apart_ns, n, sizeof(apart_ns[0]), compare_ns);
	return apart_ns[n / 2];
}

static bool is_channel(const struct wtl_import_series *series)
{
	return series->what != WTL_IMPORT_DEVICE;
}

static void set_class(struct wtl_import_series *series, int64_t spacing_ns)
{
	struct wtl_channel *channel = &series->channel;
	struct wtl_sensor_class *class = &series->class;

	if (series->what != WTL_IMPORT_POWER_UW || spacing_ns == 0)
		return;
	channel->update_ns = spacing_ns;
	if (channel->class)
		*class = *channel->class;
	else
		*class = (struct wtl_sensor_class){.name = "mean",
						   .kind = WTL_SENSOR_ESTIMATE,
						   .window_ns = spacing_ns,
						   .coverage_permille = 1000};
	wtl_sensor_class_space(class, spacing_ns);
	channel->class = class;
}

static int open_series(struct wtl_import_output *output)
{
	struct wtl_import *import = output->import;

	output->cursors = calloc(import->n_series + 1, sizeof(*output->cursors));
	output->channels = calloc(import->n_series + 1, sizeof(*output->channels));
	output->readings = calloc(import->n_series + 1, sizeof(*output->readings));
	output->values = calloc(import->n_series + 1, sizeof(*output->values));
	output->packed = calloc(import->n_series + 1, sizeof(*output->packed));
	output->has_value = calloc(import->n_series + 1, sizeof(*output->has_value));
	output->columns = calloc(import->n_series + 1, sizeof(*output->columns));
	output->in_columns = calloc(import->n_series + 1, sizeof(*output->in_columns));
	if (!output->cursors || !output->channels || !output->readings || !output->values ||
	    !output->packed || !output->has_value || !output->columns || !output->in_columns)
		return -ENOMEM;
	for (size_t i = 0; i < import->n_series; i++) {
		struct wtl_import_series *series = &import->series[i];
		struct cursor *cursor = &output->cursors[output->n_cursors];

		if (series->n == 0)
			continue;
		output->n_cursors++;
		*cursor = (struct cursor){.series = series, .channel = SIZE_MAX};
		if (!is_channel(series))
			continue;
		set_class(series, spacing_of(series));
		series->channel.source = import->source;
		cursor->channel = output->n_channels;
		output->readings[output->n_channels] = (struct wtl_reading){
			.status = WATTLE_STATUS_STALE,
			.error = -ENODATA,
			.reason = "the file has no value of it yet",
		};
		output->channels[output->n_channels++] = series->channel;
	}
	return 0;
}

/* The series of a domain are one device; the machine's is -1. */
static void name_devices(struct wtl_import_output *output)
{
	int32_t n = 0;
	char key[64];

	for (size_t i = 0; i < output->n_cursors; i++) {
		struct cursor *cursor = &output->cursors[i];
		const struct wtl_channel *channel = &cursor->series->channel;
		size_t k = 0;

		cursor->device = -1;
		if (is_channel(cursor->series) || !channel->domain[0])
			continue;
		while (k < i &&
		       (is_channel(output->cursors[k].series) ||
			strcmp(output->cursors[k].series->channel.domain, channel->domain) != 0))
			k++;
		cursor->device = k < i ? output->cursors[k].device : n++;
		if (k < i)
			continue;
		snprintf(key, sizeof(key), WTL_FACT_DEVICE_DOMAIN, (size_t)cursor->device);
		wtl_recorder_fact(output->recorder, key, channel->domain);
		snprintf(key, sizeof(key), WTL_FACT_DEVICE_NAME, (size_t)cursor->device);
		wtl_recorder_fact(output->recorder, key, channel->device);
	}
}

/* ---- Samples ---- */

static const struct wtl_import_point *next_point(const struct cursor *cursor)
{
	return cursor->at < cursor->series->n ? &cursor->series->points[cursor->at] : NULL;
}

/* The next start or end of a stretch. */
static int64_t next_edge(const struct wtl_import_output *output)
{
	const struct wtl_import *import = output->import;
	int64_t edge_ns = INT64_MAX;

	if (output->next_interval < import->n_intervals)
		edge_ns = import->intervals[output->next_interval].begin_ns;
	for (size_t i = 0; i < output->n_open; i++)
		if (output->open[i].end_ns < edge_ns)
			edge_ns = output->open[i].end_ns;
	return edge_ns;
}

/* Is the next sample complete, whatever is read later? */
static bool has_next(const struct wtl_import_output *output)
{
	for (size_t i = 0; i < output->n_cursors && !output->has_all; i++)
		if (output->cursors[i].at + 2 > output->cursors[i].series->n)
			return false;
	return true;
}

/* The times of the next sample's first and last point. false: there is none. */
static bool next_sample(const struct wtl_import_output *output, int64_t *ret_first_ns,
			int64_t *ret_last_ns)
{
	int64_t first_ns = INT64_MAX, second_ns = INT64_MAX, edge_ns = next_edge(output), last_ns;

	for (size_t i = 0; i < output->n_cursors; i++) {
		const struct cursor *cursor = &output->cursors[i];
		const struct wtl_import_point *point = next_point(cursor);

		if (!point)
			continue;
		if (point->t_ns < first_ns)
			first_ns = point->t_ns;
		if (cursor->at + 1 < cursor->series->n && point[1].t_ns < second_ns)
			second_ns = point[1].t_ns;
	}
	if (first_ns == INT64_MAX)
		return false;
	last_ns = first_ns + SAMPLE_NS;
	if (second_ns <= last_ns)
		last_ns = second_ns - 1;
	if (edge_ns == first_ns)
		last_ns = first_ns;
	else if (edge_ns > first_ns && edge_ns <= last_ns)
		last_ns = edge_ns - 1;
	*ret_first_ns = first_ns;
	*ret_last_ns = last_ns;
	return true;
}

static void take_point(struct wtl_import_output *output, size_t i,
		       const struct wtl_import_point *point)
{
	struct cursor *cursor = &output->cursors[i];

	cursor->at++;
	if (cursor->channel == SIZE_MAX) {
		output->has_devices = true;
		output->has_value[i] = point->status == WATTLE_STATUS_OK;
		output->values[i] = (struct wtl_device_value){.number = cursor->series->number,
							      .value = (int64_t)point->value};
		return;
	}
	output->readings[cursor->channel] = (struct wtl_reading){
		.t_mono_ns = point->t_ns - output->offset_ns,
		.value = point->value,
		.anew = point->is_anew,
		.status = point->status,
		.error = point->status ? -ENODATA : 0,
		.reason = point->status ? "the file has no value there" : NULL,
	};
}

/* Sets the readings to those of the next sample. false: there is none. */
static bool take_sample(struct wtl_import_output *output, int64_t *ret_first_ns)
{
	int64_t first_ns, last_ns, end_ns;

	if (!next_sample(output, &first_ns, &last_ns))
		return false;
	end_ns = first_ns;
	for (size_t i = 0; i < output->n_cursors; i++) {
		const struct wtl_import_point *point = next_point(&output->cursors[i]);

		if (!point || point->t_ns > last_ns)
			continue;
		if (point->t_ns > end_ns)
			end_ns = point->t_ns;
		take_point(output, i, point);
	}
	output->io.mono_ns = first_ns - output->offset_ns;
	output->io.after_ns = end_ns - output->offset_ns;
	output->io.utc_ns = end_ns;
	*ret_first_ns = first_ns;
	return true;
}

static void put_devices(struct wtl_import_output *output, int64_t t_ns)
{
	const struct wtl_device_value *values = output->values;
	struct wtl_device_value *packed = output->packed;
	size_t n = 0;

	if (!output->has_devices || t_ns < output->devices_ns + DEVICES_NS)
		return;
	for (size_t i = 0; i < output->n_cursors; i++)
		if (output->has_value[i]) {
			packed[n] = values[i];
			packed[n++].gpu = output->cursors[i].device;
		}
	wtl_recorder_devices(output->recorder, packed, n);
	output->has_devices = false;
	output->devices_ns = t_ns;
}

/* ---- Windows ---- */

static void end_windows(struct wtl_import_output *output, int64_t t_ns)
{
	for (size_t i = output->n_open; i-- > 0;)
		if (output->open[i].end_ns <= t_ns) {
			wattle_window_end(output->meter, output->open[i].name, NULL, NULL, 0);
			memmove(&output->open[i], &output->open[i + 1],
				(output->n_open - i - 1) * sizeof(output->open[0]));
			output->n_open--;
		}
}

/* Finds a name that no open window has. */
static void name_window(struct wtl_import_output *output, const char *wanted, char name[64])
{
	wtl_text_copy(name, 64, wanted);
	for (unsigned k = 2; k < 100; k++) {
		bool is_taken = strcmp(name, MAIN_WINDOW) == 0;

		for (size_t i = 0; i < output->n_open; i++)
			is_taken |= strcmp(output->open[i].name, name) == 0;
		if (!is_taken)
			return;
		snprintf(name, 64, "%.58s %u", wanted, k);
	}
}

static void begin_windows(struct wtl_import_output *output, int64_t t_ns)
{
	struct wtl_import *import = output->import;

	for (; output->next_interval < import->n_intervals; output->next_interval++) {
		const struct wtl_import_interval *interval =
			&import->intervals[output->next_interval];
		struct open_window *window = &output->open[output->n_open];

		if (interval->begin_ns > t_ns)
			return;
		if (output->n_open == OPEN_MAX) {
			wtl_import_bad(import, interval->line, "it lies in too many others");
			continue;
		}
		name_window(output, interval->name, window->name);
		window->end_ns = interval->end_ns;
		if (wattle_window_begin(output->meter, window->name) < 0) {
			wtl_import_bad(import, interval->line, "no window can have its name");
			continue;
		}
		output->n_open++;
		output->n_windows++;
	}
}

/* ---- All of it ---- */

static int open_meter(struct wtl_import_output *output, struct wtl_err *err)
{
	const struct wattle_options options = {.size = sizeof(options),
					       .max_windows = OPEN_MAX + 4};
	const struct wtl_env env = {.io = &output->io.io};

	wtl_given_io_init(&output->io);
	output->io.io.file_mode = output->import->options.file_mode;
	output->io.channels = output->channels;
	output->io.readings = output->readings;
	output->io.n_channels = output->n_channels;
	return wtl_meter_new_from(&env, &options, wtl_given_sources, &output->meter, err);
}

/* Devices whose serials the file has: readings are read and corrected by what is known of their sensors. */
static int load_calibrations(struct wtl_import_output *output, struct wtl_err *err)
{
	const char *idle_path = output->import->options.idle_path;
	const struct wtl_catalog *catalog = &output->meter->catalog;

	if (idle_path && (wtl_sensed_load(output->meter, idle_path) < 0 ||
			  wtl_calibrated_load_serials(output->meter, idle_path) < 0))
		return wtl_err_set(err, ENOMEM, "calibration", NULL, "out of memory");
	for (size_t i = 0; output->meter->calibrated && i < catalog->n_channels; i++) {
		const struct wtl_channel *channel = &catalog->channels[i];
		const char *note = wtl_calibrated_note(channel);

		if (note)
			wtl_import_remark(output->import, "%s is corrected: %s", channel->domain,
					  note);
	}
	return 0;
}

static int64_t longest_spacing(const struct wtl_import_output *output)
{
	int64_t longest_ns = 0;

	for (size_t i = 0; i < output->n_cursors; i++) {
		int64_t apart_ns = spacing_of(output->cursors[i].series);

		longest_ns = apart_ns > longest_ns ? apart_ns : longest_ns;
	}
	return longest_ns < 3600 * WTL_NS_PER_S ? longest_ns : 3600 * WTL_NS_PER_S;
}

/* By what a recorder keeps of a sample: itself, each channel's reading, and what each device tells (replay/series.h). */
static size_t samples_of_commit(const struct wtl_import_output *output)
{
	size_t n_devices = output->n_cursors - output->n_channels;
	size_t n = COMMIT_VALUES / (6 + 4 * output->n_channels + 3 * n_devices);

	return n < COMMIT_SAMPLES ? n : COMMIT_SAMPLES;
}

static int open_recorder(struct wtl_import_output *output, struct wtl_err *err)
{
	const struct wtl_recorder_options options = {
		.path = output->path,
		/* A commit is a period of its own, unless samples are much denser than usual. */
		.store = {.period_ns =
				  longest_spacing(output) * (int64_t)(output->commit_samples / 2),
			  .in_haste = true,
			  .io = &output->io.io,
			  .guard = output->import->options.guard},
		.is_late = true,
	};
	int rc = wtl_recorder_new(output->meter, NULL, &options, &output->recorder, err);

	if (rc < 0)
		return rc;
	rc = wattle_window_begin(output->meter, MAIN_WINDOW);
	if (rc < 0)
		return wtl_err_set(err, rc, "import", output->path, "%s", wattle_strerror(rc));
	wtl_recorder_window_fact(output->recorder, MAIN_WINDOW, WTL_FACT_EXIT_REASON,
				 "it was imported");
	/* Readers of the recording compute from what is in it. */
	output->meter->only_observed = true;
	wtl_recorder_fact(output->recorder, WTL_FACT_IMPORTED, output->import->source);
	name_devices(output);
	return 0;
}

/* A period begins with a sample: it is committed before one. */
static int commit(struct wtl_import_output *output, struct wtl_err *err)
{
	if (output->n_samples % output->commit_samples != 0)
		return 0;
	wtl_store_wait(wtl_recorder_writer(output->recorder));
	return wtl_recorder_commit(output->recorder, err);
}

static void pass_on(struct wtl_import_output *output)
{
	struct wtl_calibrated *calibrated = output->meter->calibrated;
	const struct wtl_sample sample = {.begin_ns = output->io.mono_ns,
					  .end_ns = output->io.after_ns,
					  .readings = output->readings,
					  .n = output->n_channels};

	wtl_calibrated_apply(calibrated, output->readings, 0, output->n_channels);
	output->io.mono_ns = output->io.after_ns;
	wtl_meter_pass_on(output->meter, &sample);
	output->n_samples++;
}

/* ---- Rows ---- */

/* The points that come next. */
static const struct wtl_import_point *points_of(const struct cursor *cursor)
{
	return cursor->series->points + cursor->at;
}

/* How many rows come before something else must be done, including the two that are left to the usual way. */
static size_t most_rows(const struct wtl_import_output *output)
{
	size_t most = output->commit_samples - output->n_samples % output->commit_samples + 1;

	most = most < ROWS ? most : ROWS;
	for (size_t i = 0; i < output->n_cursors; i++) {
		const struct cursor *cursor = &output->cursors[i];
		size_t left = cursor->series->n - cursor->at;

		if (left == 0 || points_of(cursor)->t_ns != points_of(output->cursors)->t_ns)
			return 0;
		most = left < most ? left : most;
	}
	return output->import->n_intervals == 0 && !output->meter->calibrated ? most : 0;
}

/* The times of the first `most` points, as long as all their devices' values are recorded; returns how many. */
static size_t take_times(struct wtl_import_output *output, size_t most)
{
	const struct wtl_import_point *points = points_of(output->cursors);
	bool has_devices = output->n_channels < output->n_cursors;
	int64_t due_ns = output->devices_ns + DEVICES_NS;

	for (size_t i = 0; i < most; i++) {
		if (has_devices && points[i].t_ns < due_ns)
			return i;
		due_ns = points[i].t_ns + DEVICES_NS;
		output->t_mono_ns[i] = points[i].t_ns - output->offset_ns;
	}
	return most;
}

/* Takes the values of the next n points; returns for how many there is a value at the same time. */
static size_t take_column(const struct wtl_import_output *output, const struct cursor *cursor,
			  size_t n, int64_t values[])
{
	const struct wtl_import_point *points = points_of(cursor);
	const struct wtl_import_point *first = points_of(output->cursors);

	for (size_t i = 0; i < n; i++) {
		if (points[i].t_ns != first[i].t_ns || points[i].status || points[i].is_anew)
			return i;
		values[i] = (int64_t)points[i].value;
	}
	return n;
}

/*
 * In most logs each row has a value for everything, at one time. Such rows are recorded at once, except for
 * the last, which is taken in the usual way and leaves everything in the state that all of them would have.
 */
static void take_rows(struct wtl_import_output *output)
{
	struct wtl_recorder_rows rows = {.t_mono_ns = output->t_mono_ns,
					 .values = output->in_columns,
					 .device_values = output->in_columns + output->n_channels,
					 .devices = output->packed};
	size_t n = most_rows(output), n_channels = 0;

	if (n > 2)
		n = take_times(output, n);
	for (size_t i = 0; i < output->n_cursors && n > 2; i++) {
		const struct cursor *cursor = &output->cursors[i];
		bool is_device = cursor->channel == SIZE_MAX;
		size_t at = is_device ? output->n_channels + rows.n_devices : n_channels++;

		n = take_column(output, cursor, n, output->columns[i].values);
		output->in_columns[at] = output->columns[i].values;
		if (is_device)
			output->packed[rows.n_devices++] = (struct wtl_device_value){
				.gpu = cursor->device, .number = cursor->series->number};
	}
	rows.n = n > 2 ? n - 2 : 0;
	if (rows.n == 0 || !wtl_recorder_rows(output->recorder, &rows))
		return;
	for (size_t i = 0; i < output->n_cursors; i++)
		output->cursors[i].at += rows.n;
	output->n_samples += rows.n;
}

/* Writes all samples that are complete. */
static int follow(struct wtl_import_output *output, struct wtl_err *err)
{
	int64_t first_ns;
	int rc = 0;

	while (has_next(output) && (rc = commit(output, err)) == 0) {
		take_rows(output);
		if (!take_sample(output, &first_ns))
			break;
		pass_on(output);
		if (output->import->n_intervals > 0) {
			end_windows(output, first_ns);
			begin_windows(output, first_ns);
		}
		put_devices(output, first_ns);
	}
	return rc;
}

static int begin(struct wtl_import_output *output, struct wtl_err *err)
{
	int64_t first_ns, last_ns;
	int rc = open_series(output);

	if (rc < 0)
		return wtl_err_set(err, rc, "import", output->path, "out of memory");
	if (output->n_channels == 0 || !next_sample(output, &first_ns, &last_ns))
		return wtl_err_set(
			err, WTL_EFORMAT, "import", NULL,
			"no power or energy can be read in it: there is nothing to record");
	output->offset_ns = first_ns - first_ns % 1000 - FIRST_MONO_NS;
	output->devices_ns = first_ns - DEVICES_NS;
	output->commit_samples = samples_of_commit(output);
	rc = open_meter(output, err);
	if (rc == 0)
		rc = load_calibrations(output, err);
	if (rc < 0)
		return rc;
	/* The first sample is the meter's initial state. */
	take_sample(output, &first_ns);
	output->n_samples = 1;
	wtl_meter_sample(output->meter);
	output->begin_utc_ns = first_ns;
	rc = open_recorder(output, err);
	if (rc < 0)
		return rc;
	begin_windows(output, first_ns);
	put_devices(output, first_ns);
	return 0;
}

/* ---- While it is read ---- */

/* Has every series enough points for its channel to be final, and is one of them energy or power? */
static bool can_begin(const struct wtl_import *import)
{
	bool has_channel = false;

	for (size_t i = 0; i < import->n_series; i++) {
		has_channel |= is_channel(&import->series[i]);
		if (import->series[i].n <= SPACINGS + 1)
			return false;
	}
	return has_channel;
}

static void drop_written(struct wtl_import_output *output)
{
	struct wtl_import *import = output->import;

	import->n_held = 0;
	for (size_t i = 0; i < output->n_cursors; i++) {
		struct cursor *cursor = &output->cursors[i];
		struct wtl_import_series *series = cursor->series;

		series->n -= cursor->at;
		memmove(series->points, series->points + cursor->at,
			series->n * sizeof(series->points[0]));
		cursor->at = 0;
		import->n_held += series->n;
	}
}

/* If a series has ended, the others wait for it till the end. So each further attempt needs more points. */
static void write_sure(struct wtl_import_output *output)
{
	struct wtl_import *import = output->import;
	int rc = 0;

	if (!import->is_begun && can_begin(import)) {
		import->is_begun = true;
		rc = begin(output, &import->err);
	}
	if (import->is_begun && rc == 0) {
		rc = follow(output, &import->err);
		drop_written(output);
	}
	/* What was written stays, as after an error at the end. */
	if (rc < 0) {
		wtl_recorder_end(output->recorder, NULL);
		output->recorder = NULL;
		import->error = rc;
	}
	import->write_at = 2 * import->n_held;
	if (import->write_at < WTL_IMPORT_HELD)
		import->write_at = WTL_IMPORT_HELD;
}

/* ---- Outside ---- */

struct wtl_import_output *wtl_import_output_new(struct wtl_import *import, const char *path,
						bool at_once)
{
	struct wtl_import_output *output = calloc(1, sizeof(*output));

	if (!output)
		return NULL;
	output->import = import;
	output->path = path;
	if (!at_once) {
		import->output = output;
		import->write = write_sure;
	}
	return output;
}

int wtl_import_output_end(struct wtl_import_output *output, struct wtl_import_written *ret_written,
			  struct wtl_err *err)
{
	int rc = 0, ended;

	output->has_all = true;
	if (!output->import->is_begun)
		rc = begin(output, err);
	if (rc == 0)
		rc = follow(output, err);
	if (output->recorder) {
		end_windows(output, INT64_MAX);
		wattle_window_end(output->meter, MAIN_WINDOW, NULL, NULL, 0);
	}
	ended = wtl_recorder_end(output->recorder, rc < 0 ? NULL : err);
	output->recorder = NULL;
	*ret_written = (struct wtl_import_written){.n_samples = output->n_samples,
						   .n_windows = output->n_windows,
						   .begin_utc_ns = output->begin_utc_ns,
						   .end_utc_ns = output->io.utc_ns};
	return rc < 0 ? rc : ended;
}

void wtl_import_output_free(struct wtl_import_output *output)
{
	if (!output)
		return;
	if (output->recorder) {
		wtl_recorder_end(output->recorder, NULL);
		wtl_store_remove(output->path);
	}
	wattle_meter_close(output->meter);
	free(output->cursors);
	free(output->channels);
	free(output->readings);
	free(output->values);
	free(output->packed);
	free(output->has_value);
	free(output->columns);
	free(output->in_columns);
	free(output);
}
