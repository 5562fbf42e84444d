/* SPDX-License-Identifier: MIT */
/* Series of points, and remarks on those that could not be read. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "energy/integrate.h"
#include "energy/units.h"
#include "import/import.h"

/* Time zones, and changes of their clocks, are multiples of this. */
#define QUARTER_NS (15 * 60 * WTL_NS_PER_S)

#define VALUE_MAX ((UINT64_C(1) << 56) - 1)

/* The largest time that a recording can hold. */
#define TIME_MAX_NS (INT64_C(1) << 62)

void wtl_import_init(struct wtl_import *import, const struct wtl_import_options *options)
{
	*import = (struct wtl_import){
		.options = *options,
		.local_ns = INT64_MIN,
		.last_utc_ns = INT64_MIN,
		.write_at = SIZE_MAX,
	};
}

void wtl_import_done(struct wtl_import *import)
{
	for (size_t i = 0; i < import->n_series; i++)
		free(import->series[i].points);
	free(import->series);
	free(import->intervals);
	free(import->energies);
}

/* ---- Series ---- */

static void copy(char *to, size_t size, const char *from)
{
	wtl_text_clean(to, size, from ? from : "", from ? strlen(from) : 0);
}

static bool is_inner(enum wattle_kind kind)
{
	return kind == WATTLE_KIND_CORE || kind == WATTLE_KIND_UNCORE ||
	       kind == WATTLE_KIND_PLATFORM || kind == WATTLE_KIND_GPU_MEMORY ||
	       kind == WATTLE_KIND_MODULE || kind == WATTLE_KIND_BATTERY ||
	       kind == WATTLE_KIND_BOARD;
}

static void fill(struct wtl_import_series *series, const struct wtl_import_key *key)
{
	struct wtl_channel *channel = &series->channel;
	bool is_energy = key->what == WTL_IMPORT_ENERGY_UJ;

	*series = (struct wtl_import_series){.what = key->what, .number = key->number};
	*channel = (struct wtl_channel){
		.kind = key->kind,
		.in_total = key->is_total || (!key->is_extra && !is_inner(key->kind)),
		.quantity = is_energy ? WTL_QUANTITY_ENERGY : WTL_QUANTITY_POWER,
		.method = is_energy ? WATTLE_METHOD_COUNTER : WATTLE_METHOD_INTEGRATED,
		.unit = WTL_UNIT_MICRO,
		.gain_ppm = key->gain_ppm,
		.offset_uw = key->offset_uw,
		.class = key->class,
	};
	if (key->is_modelled)
		channel->method = WATTLE_METHOD_MODELLED;
	copy(channel->domain, sizeof(channel->domain), key->domain);
	copy(channel->inside, sizeof(channel->inside), key->inside);
	copy(channel->device, sizeof(channel->device), key->device);
	copy(channel->serial, sizeof(channel->serial), key->serial);
}

size_t wtl_import_series(struct wtl_import *import, const struct wtl_import_key *key)
{
	struct wtl_import_series *series;

	for (size_t i = 0; i < import->n_series; i++) {
		series = &import->series[i];
		if (series->what == key->what &&
		    (key->what != WTL_IMPORT_DEVICE || series->number == key->number) &&
		    strcmp(series->channel.domain, key->domain) == 0)
			return i;
	}
	if (import->is_begun)
		import->error = -EAGAIN;
	else if (import->n_series == WTL_IMPORT_SERIES_MAX)
		import->error = -E2BIG;
	if (!import->error && wtl_array_reserve(&import->series, &import->series_room,
						import->n_series + 1, sizeof(*series)) < 0)
		import->error = -ENOMEM;
	if (import->error)
		return SIZE_MAX;
	fill(&import->series[import->n_series], key);
	return import->n_series++;
}

/* ---- Points ---- */

static inline void add(struct wtl_import *import, size_t i, int64_t t_ns,
		       struct wtl_import_point point)
{
	struct wtl_import_series *series;

	if (i >= import->n_series || import->error)
		return;
	series = &import->series[i];
	point.t_ns = t_ns - t_ns % 1000; /* recordings have whole microseconds */
	if (point.t_ns < 0 || point.t_ns > TIME_MAX_NS ||
	    (series->n > 0 && point.t_ns <= series->points[series->n - 1].t_ns)) {
		if (import->n_back++ == 0)
			import->back_ns = point.t_ns;
		return;
	}
	if (series->n == series->room) {
		size_t room = series->room ? 2 * series->room : 64;

		if (wtl_array_resize(&series->points, room, sizeof(point)) < 0) {
			import->error = -ENOMEM;
			return;
		}
		series->room = room;
	}
	series->points[series->n++] = point;
	import->n_missing += point.status != WATTLE_STATUS_OK;
	if (++import->n_held >= import->write_at)
		import->write(import->output);
}

void wtl_import_put(struct wtl_import *import, size_t series, int64_t t_ns, uint64_t value)
{
	bool is_absurd = series < import->n_series && value > WTL_INTEGRAL_MAX_UW &&
			 import->series[series].what == WTL_IMPORT_POWER_UW;

	import->n_absurd += is_absurd;
	if (is_absurd || value > VALUE_MAX)
		wtl_import_miss(import, series, t_ns, WATTLE_STATUS_FAILED);
	else
		add(import, series, t_ns, (struct wtl_import_point){.value = value});
}

void wtl_import_miss(struct wtl_import *import, size_t series, int64_t t_ns,
		     enum wattle_status status)
{
	add(import, series, t_ns, (struct wtl_import_point){.status = status & 0x7f});
}

void wtl_import_restart(struct wtl_import *import, size_t series, int64_t t_ns, uint64_t value)
{
	add(import, series, t_ns,
	    (struct wtl_import_point){.value = value & VALUE_MAX, .is_anew = true});
}

size_t wtl_import_points(const struct wtl_import *import)
{
	size_t n = 0;

	for (size_t i = 0; i < import->n_series; i++)
		n += import->series[i].n;
	return n;
}

void wtl_import_is_sure(struct wtl_import *import)
{
	if (import->output && import->write_at == SIZE_MAX)
		import->write_at = WTL_IMPORT_HELD;
}

void wtl_import_forget_points(struct wtl_import *import)
{
	for (size_t i = 0; i < import->n_series; i++)
		import->series[i].n = 0;
	import->n_missing = import->n_absurd = import->n_back = import->n_held = 0;
}

/* ---- Stretches ---- */

void wtl_import_interval(struct wtl_import *import, size_t line, const char *name, size_t name_len,
			 int64_t begin_ns, int64_t end_ns)
{
	struct wtl_import_interval *interval;

	if (!import->error && wtl_array_reserve(&import->intervals, &import->intervals_room,
						import->n_intervals + 1, sizeof(*interval)) < 0)
		import->error = -ENOMEM;
	if (import->error)
		return;
	interval = &import->intervals[import->n_intervals++];
	/* In whole microseconds, as points are. */
	*interval = (struct wtl_import_interval){.begin_ns = begin_ns - begin_ns % 1000,
						 .end_ns = end_ns - end_ns % 1000,
						 .line = line,
						 .first = import->n_energies};
	wtl_text_clean(interval->name, sizeof(interval->name), name, name_len);
	if (!interval->name[0])
		wtl_text_copy(interval->name, sizeof(interval->name), "run");
}

void wtl_import_energy(struct wtl_import *import, size_t series, uint64_t energy_uj)
{
	if (!import->error &&
	    wtl_array_reserve(&import->energies, &import->energies_room, import->n_energies + 1,
			      sizeof(*import->energies)) < 0)
		import->error = -ENOMEM;
	if (import->error || series >= import->n_series || import->n_intervals == 0)
		return;
	import->energies[import->n_energies++] =
		(struct wtl_import_energy){.series = series, .energy_uj = energy_uj};
	import->intervals[import->n_intervals - 1].n++;
}

struct wtl_import_interval *wtl_import_last_interval(struct wtl_import *import)
{
	return import->n_intervals > 0 ? &import->intervals[import->n_intervals - 1] : NULL;
}

/* ---- Words ---- */

void wtl_import_bad(struct wtl_import *import, size_t line, const char *format, ...)
{
	struct wtl_import_bad *bad;
	char text[512];
	va_list args;

	if (import->n_bad++ >= WTL_IMPORT_BAD_KEPT)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	bad = &import->bad[import->n_bad - 1];
	bad->line = line;
	wtl_text_clean(bad->text, sizeof(bad->text), text, strlen(text));
}

void wtl_import_remark(struct wtl_import *import, const char *format, ...)
{
	char text[512], *to = import->remarks[import->n_remarks];
	size_t room = sizeof(import->remarks) / sizeof(import->remarks[0]);
	va_list args;

	if (import->n_remarks == room)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wtl_text_clean(to, sizeof(import->remarks[0]), text, strlen(text));
	for (size_t i = 0; i < import->n_remarks; i++)
		if (strcmp(import->remarks[i], to) == 0)
			return;
	import->n_remarks++;
}

/* ---- Clocks ---- */

int64_t wtl_import_local(struct wtl_import *import, int64_t t_local_ns)
{
	const struct wtl_import_options *options = &import->options;
	int64_t quarter_ns = t_local_ns - t_local_ns % QUARTER_NS, utc_ns;

	if (quarter_ns != import->local_ns) {
		import->local_ns = quarter_ns;
		import->local_offset_ns =
			options->utc_ns(options->context, quarter_ns, false) - quarter_ns;
	}
	utc_ns = t_local_ns + import->local_offset_ns;
	/* Clocks were put back: an hour comes twice, and this is the second one. */
	if (utc_ns < import->last_utc_ns) {
		int64_t again_ns = options->utc_ns(options->context, t_local_ns, true);

		if (again_ns >= import->last_utc_ns && again_ns - utc_ns <= 4 * 4 * QUARTER_NS)
			import->local_offset_ns = again_ns - t_local_ns;
		utc_ns = t_local_ns + import->local_offset_ns;
	}
	import->last_utc_ns = utc_ns;
	return utc_ns;
}

void wtl_import_begin_at_start(struct wtl_import *import)
{
	int64_t start_ns = import->options.start_ns, last_ns = 0;

	for (size_t i = 0; i < import->n_series; i++) {
		const struct wtl_import_series *series = &import->series[i];

		if (series->n > 0 && series->points[series->n - 1].t_ns > last_ns)
			last_ns = series->points[series->n - 1].t_ns;
	}
	if (start_ns == INT64_MIN) {
		start_ns = import->options.end_ns > last_ns ? import->options.end_ns - last_ns : 0;
		wtl_import_remark(
			import, "it does not say when it began: taken as ending when the file was "
				"changed last; --start TIME says otherwise");
	}
	start_ns -= start_ns % 1000;
	if (__builtin_add_overflow(import->back_ns, start_ns, &import->back_ns))
		import->back_ns = INT64_MAX; /* whatever the file has */
	for (size_t i = 0; i < import->n_series; i++)
		for (size_t k = 0; k < import->series[i].n; k++)
			import->series[i].points[k].t_ns += start_ns;
}
