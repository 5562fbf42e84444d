/* SPDX-License-Identifier: MIT */
/* What is told once: who used it, windows, gaps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands/export/export.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "document/words.h"

enum { MICRO = 6, NANO = 9 };

static void put_seconds(struct wtl_rows *rows, int64_t ns)
{
	if (ns >= 0)
		wtl_row_fixed(rows, (uint64_t)ns, NANO);
	else
		wtl_row_nothing(rows);
}

static void put_count(struct wtl_rows *rows, bool is_known, uint64_t value)
{
	if (is_known)
		wtl_row_fixed(rows, value, 0);
	else
		wtl_row_nothing(rows);
}

/* ---- processes ---- */

static void put_user(struct wtl_export *export, uint32_t uid)
{
	char name[40];

	wtl_player_name_user(export->history->player, uid, name, sizeof(name));
	wtl_row_text(&export->rows, uid != UINT32_MAX ? name : NULL);
}

static void put_group(struct wtl_rows *rows, const struct wtl_group *group)
{
	wtl_row_text(rows, group ? group->cgroup : NULL);
	wtl_row_text(rows, group ? group->unit : NULL);
	wtl_row_text(rows, group ? group->container : NULL);
	wtl_row_text(rows, group ? group->pod : NULL);
	wtl_row_text(rows, group ? group->job : NULL);
}

static void put_energies(struct wtl_export *export, size_t slot)
{
	const struct wtl_consumers *consumers = export->history->consumers;
	struct wtl_share_energy all, gpu;

	wtl_consumers_energy(consumers, slot, WTL_PART_ALL, &all);
	wtl_consumers_energy(consumers, slot, WTL_PART_GPU, &gpu);
	if (all.has_dynamic)
		wtl_row_fixed(&export->rows, all.dynamic_uj, MICRO);
	else
		wtl_row_nothing(&export->rows);
	wtl_row_fixed(&export->rows, all.full_uj, MICRO);
	wtl_row_fixed(&export->rows, all.uncertainty_uj, MICRO);
	if (export->has_gpu)
		wtl_row_fixed(&export->rows, gpu.full_uj, MICRO);
	else
		wtl_row_nothing(&export->rows);
}

static void put_process(struct wtl_export *export, size_t slot, const struct wtl_consumer *consumer)
{
	int64_t start_utc_ns = wtl_player_start_utc(export->history->player, consumer->start_ns);
	struct wtl_rows *rows = &export->rows;

	wtl_row_begin(rows);
	wtl_row_fixed(rows, export->run, 0);
	put_count(rows, consumer->pid > 0, (uint64_t)consumer->pid);
	put_count(rows, consumer->parent > 0, (uint64_t)consumer->parent);
	if (start_utc_ns)
		wtl_row_utc(rows, start_utc_ns);
	else
		wtl_row_nothing(rows);
	wtl_row_text(rows, wtl_words_state(consumer->state));
	wtl_row_fixed(rows, consumer->n_processes, 0);
	wtl_row_text(rows, consumer->name);
	wtl_row_text(rows, consumer->command);
	put_count(rows, consumer->uid != UINT32_MAX, consumer->uid);
	put_user(export, consumer->uid);
	put_group(rows, consumer->group);
	wtl_row_bool(rows, consumer->is_in_tree);
	put_seconds(rows, wtl_consumer_cpu_ns(consumer));
	put_energies(export, slot);
	put_count(rows, consumer->rss_bytes != UINT64_MAX, consumer->rss_bytes);
	put_count(rows, consumer->pss_bytes != UINT64_MAX, consumer->pss_bytes);
	put_count(rows, consumer->uss_bytes != UINT64_MAX, consumer->uss_bytes);
	put_count(rows, consumer->gpu_memory_bytes != UINT64_MAX, consumer->gpu_memory_bytes);
	wtl_row_end(rows);
}

/* All accounts of a measurement that ended, before the next begins with empty ones. */
static void put_processes(struct wtl_export *export)
{
	const struct wtl_consumers *consumers = export->history->consumers;

	export->run++;
	for (size_t slot = 0; slot < wtl_consumers_slots(consumers); slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);

		if (consumer)
			put_process(export, slot, consumer);
	}
}

static int begin_processes(struct wtl_export *export)
{
	struct wattle_domain domain;

	for (size_t i = 0; i < export->history->n_domains; i++) {
		wtl_meter_domain(export->history->meter, i, &domain);
		export->has_gpu |= domain.kind == WATTLE_KIND_GPU && domain.source;
	}
	return 0;
}

static int take_processes(struct wtl_export *export, const struct wtl_played *played)
{
	const struct wtl_history *history = export->history;

	if (played ? history->is_run_over && played->kind == WTL_PLAYED_BILLED
		   : history->is_unfinished && wtl_player_follows(history->player))
		put_processes(export);
	return 0;
}

static const char *const process_columns[] = {
	"run",	       "pid",	    "parent",	 "start_utc", "state",
	"n_processes", "name",	    "command",	 "uid",	      "user",
	"cgroup",      "unit",	    "container", "pod",	      "job",
	"in_command",  "cpu_s",	    "dynamic_j", "full_j",    "uncertainty_j",
	"gpu_j",       "rss_bytes", "pss_bytes", "uss_bytes", "gpu_memory_bytes",
};

const struct wtl_export_table wtl_export_processes = {
	.columns = process_columns,
	.n_columns = sizeof(process_columns) / sizeof(process_columns[0]),
	.begin = begin_processes,
	.take = take_processes,
};

/* ---- windows ---- */

static void put_window_row(struct wtl_export *export, const struct wtl_history_window *window,
			   const char *domain, const struct wattle_energy *energy)
{
	struct wtl_rows *rows = &export->rows;
	bool has = energy->has_energy, has_power = has && energy->has_power;

	wtl_row_begin(rows);
	wtl_row_fixed(rows, window->id, 0);
	wtl_row_text(rows, window->name);
	wtl_row_utc(rows, window->window.begin_utc_ns);
	wtl_row_integer(rows, window->window.begin_mono_ns);
	put_seconds(rows, window->window.duration_ns);
	wtl_row_bool(rows, window->is_open);
	put_count(rows, window->pid > 0, (uint64_t)window->pid);
	wtl_row_text(rows, domain);
	if (has) {
		wtl_row_fixed(rows, energy->energy_uj, MICRO);
		wtl_row_fixed(rows, energy->uncertainty_uj, MICRO);
	} else {
		wtl_row_nothing(rows);
		wtl_row_nothing(rows);
	}
	if (has_power) {
		wtl_row_fixed(rows, energy->mean_uw, MICRO);
		wtl_row_fixed(rows, energy->max_uw, MICRO);
	} else {
		wtl_row_nothing(rows);
		wtl_row_nothing(rows);
	}
	put_seconds(rows, has ? energy->measured_ns : -1);
	put_seconds(rows, has ? energy->gap_ns : -1);
	wtl_row_end(rows);
}

static void put_window(struct wtl_export *export, const struct wtl_history_window *window)
{
	struct wattle_meter *meter = export->history->meter;

	for (size_t i = 0; i < export->history->n_domains; i++) {
		struct wattle_domain domain;

		wtl_meter_domain(meter, i, &domain);
		put_window_row(export, window, domain.name, &window->energies[i]);
	}
	put_window_row(export, window, "total", &window->window.total);
}

static int take_windows(struct wtl_export *export, const struct wtl_played *played)
{
	struct wtl_history *history = export->history;

	if (played && played->kind == WTL_PLAYED_ENDED && history->window)
		put_window(export, history->window);
	if (played)
		return 0;
	wtl_history_look_at_open_windows(history);
	for (size_t i = history->n_ended; i < history->n_windows; i++)
		if (history->windows[i].has_energies)
			put_window(export, &history->windows[i]);
	return 0;
}

static const char *const window_columns[] = {
	"id",	  "name",     "begin_utc",     "begin_mono_ns", "duration_s", "is_open",    "pid",
	"domain", "energy_j", "uncertainty_j", "mean_w",	"max_w",      "measured_s", "gap_s",
};

const struct wtl_export_table wtl_export_windows = {
	.columns = window_columns,
	.n_columns = sizeof(window_columns) / sizeof(window_columns[0]),
	.take = take_windows,
};

/* ---- gaps ---- */

static void put_gap(struct wtl_export *export, const struct wtl_stored_gap *gap)
{
	struct wtl_rows *rows = &export->rows;
	char text[WTL_GAP_TEXT_SIZE];

	wtl_row_begin(rows);
	wtl_row_text(rows, wtl_gap_name(gap->kind));
	wtl_row_utc(rows, wtl_history_utc(export->history, gap->begin_mono_ns));
	wtl_row_integer(rows, gap->begin_mono_ns);
	if (gap->duration_ns)
		wtl_row_integer(rows, gap->duration_ns);
	else
		wtl_row_nothing(rows);
	wtl_row_text(rows, gap->subject);
	wtl_row_text(rows, wtl_gap_text(gap, text));
	wtl_row_end(rows);
}

/* Those that were met on the way, and then those of the table. */
static int take_gaps(struct wtl_export *export, const struct wtl_played *played)
{
	struct wtl_history *history = export->history;
	int rc;

	if (played)
		return 0;
	rc = wtl_history_read_gaps(history);
	for (size_t i = 0; i < history->n_gaps; i++)
		put_gap(export, &history->gaps[i]);
	return rc;
}

static const char *const gap_columns[] = {"kind",	 "begin_utc", "begin_mono_ns",
					  "duration_ns", "domain",    "text"};

const struct wtl_export_table wtl_export_gaps = {
	.columns = gap_columns,
	.n_columns = sizeof(gap_columns) / sizeof(gap_columns[0]),
	.take = take_gaps,
};
