/* SPDX-License-Identifier: MIT */
/* The tables that are not samples: processes, windows, gaps. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commands/export/export.h"
#include "commands/export/form.h"
#include "meter/consumers.h"
#include "meter/meter.h"
#include "document/parts.h"

/* ---- processes ---- */

struct wtl_node *wtl_export_new_row(struct wtl_export *export)
{
	wtl_doc_clear(&export->row);
	return export->row.root;
}

void wtl_export_put_row(struct wtl_export *export)
{
	const struct wtl_doc_row row = {.scopes = {export->row.root}};

	if (export->row.error && !export->buf.error)
		export->buf.error = export->row.error;
	if (export->form) {
		export->form->row(export, export->row.root);
		return;
	}
	export->writer->row(&export->buf, export->table, &row, !export->has_rows);
	export->has_rows = true;
}

static void put_process(struct wtl_export *export, size_t slot, const struct wtl_consumer *consumer)
{
	const struct wtl_history *history = export->history;
	struct wtl_node *row = wtl_export_new_row(export);
	struct wtl_share_energy all, gpu;
	char user[40];

	wtl_player_name_user(history->player, consumer->uid, user, sizeof(user));
	wtl_consumers_energy(history->consumers, slot, WTL_PART_ALL, &all);
	wtl_consumers_energy(history->consumers, slot, WTL_PART_GPU, &gpu);
	wtl_doc_count(row, "run", export->run);
	wtl_doc_consumer(row, consumer, wtl_player_start_utc(history->player, consumer->start_ns),
			 consumer->uid != UINT32_MAX ? user : NULL);
	/* wtl_doc_consumer() writes it for the other rows only. */
	if (consumer->pid > 0)
		wtl_doc_count(row, "n_processes", consumer->n_processes);
	wtl_doc_share(row, &all);
	if (export->has_gpu)
		wtl_doc_micro(row, "gpu_j", gpu.full_uj);
	wtl_doc_consumer_memory(row, consumer);
	wtl_export_put_row(export);
}

/* All accounts of a measurement that ended, before the next one begins with empty accounts. */
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

const struct wtl_export_table wtl_export_processes = {
	.table = {"processes",
		  "run,pid,parent,start_utc,state,n_processes,name,command,uid,user,cgroup,"
		  "unit,container,pod,job,step,in_command,cpu_s,dynamic_j,full_j,uncertainty_j,"
		  "gpu_j,rss_bytes,pss_bytes,uss_bytes,gpu_memory_bytes"},
	.begin = begin_processes,
	.take = take_processes,
};

/* ---- windows ---- */

static void put_window_row(struct wtl_export *export, const struct wtl_history_window *window,
			   const char *domain, const struct wattle_energy *energy)
{
	struct wtl_node *row = wtl_export_new_row(export);

	wtl_doc_count(row, "id", window->id);
	wtl_doc_known(row, "name", window->name);
	wtl_doc_utc(row, "begin_utc", window->window.begin_utc_ns);
	wtl_doc_integer(row, "begin_mono_ns", window->window.begin_mono_ns);
	wtl_doc_seconds(row, "duration_s", window->window.duration_ns);
	wtl_doc_flag(row, "is_open", window->is_open);
	if (window->pid > 0)
		wtl_doc_integer(row, "pid", window->pid);
	wtl_doc_text(row, "domain", domain);
	wtl_doc_figures(row, energy);
	wtl_export_put_row(export);
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
	wtl_history_update_open_windows(history);
	for (size_t i = history->n_ended; i < history->n_windows; i++)
		if (history->windows[i].has_energies)
			put_window(export, &history->windows[i]);
	return 0;
}

const struct wtl_export_table wtl_export_windows = {
	.table = {"windows",
		  "id,name,begin_utc,begin_mono_ns,duration_s,is_open,pid,domain,energy_j,"
		  "uncertainty_j,mean_w,max_w,measured_s,gap_s"},
	.take = take_windows,
};

/* ---- gaps ---- */

static void put_gap(struct wtl_export *export, const struct wtl_stored_gap *gap)
{
	struct wtl_node *row = wtl_export_new_row(export);
	char text[WTL_GAP_TEXT_SIZE];

	wtl_doc_text(row, "kind", wtl_gap_name(gap->kind));
	wtl_doc_utc(row, "begin_utc", wtl_history_utc(export->history, gap->begin_mono_ns));
	wtl_doc_integer(row, "begin_mono_ns", gap->begin_mono_ns);
	if (gap->duration_ns)
		wtl_doc_integer(row, "duration_ns", gap->duration_ns);
	wtl_doc_known(row, "domain", gap->subject);
	wtl_doc_known(row, "text", wtl_gap_text(gap, text));
	wtl_export_put_row(export);
}

/* All gaps at the end: those found while playing, then those of the file's table. */
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

const struct wtl_export_table wtl_export_gaps = {
	.table = {"gaps", "kind,begin_utc,begin_mono_ns,duration_ns,domain,text"},
	.take = take_gaps,
};
