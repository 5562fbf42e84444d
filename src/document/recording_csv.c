/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "base/buf.h"
#include "document/cells.h"
#include "document/format.h"
#include "document/recording.h"
#include "document/words.h"

/* docs/report.md describes the columns. */

enum { MICRO = 6, NANO = 9 };

static const char group_head[] = "start_utc,duration_s,by,name,pid,user,processes,cpu_s,dynamic_j,"
				 "full_j,uncertainty_j,gpu_j\n";
static const char window_head[] =
	"id,name,begin_utc,begin_mono_ns,duration_s,is_main,is_open,pid,domain,energy_j,"
	"uncertainty_j,mean_w,max_w,measured_s,gap_s,flags,gco2e,gco2e_uncertainty,is_cut\n";
static const char comparison_head[] =
	"what,unit,recording,file,value,uncertainty,difference,difference_uncertainty,ratio,"
	"is_significant,is_same_sensor,is_incomplete,has_other_domains\n";
static const char runs_head[] =
	"file,run,start_utc,duration_s,energy_j,uncertainty_j,mean_w,command_dynamic_j,"
	"command_full_j,gco2e,gco2e_uncertainty,gco2e_per_s,exit_status,interrupted,is_unfinished\n";

static void put_pid(struct wtl_buf *buf, int pid)
{
	wtl_cell_fixed(buf, pid > 0, (uint64_t)(pid > 0 ? pid : 0), 0);
}

/* ---- Groups ---- */

/* start_utc to name */
static void begin_group(struct wtl_buf *buf, const struct wtl_recording *recording, const char *by,
			const char *name)
{
	wtl_cell_utc(buf, recording->report.window.begin_utc_ns);
	wtl_cell_seconds(buf, true, recording->report.window.duration_ns);
	wtl_cell_text(buf, by);
	wtl_cell_text(buf, name);
}

/* processes to the end; gpu: NULL: not known */
static void end_group(struct wtl_buf *buf, uint64_t n_processes, int64_t cpu_ns,
		      const struct wtl_share_energy *all, const struct wtl_share_energy *gpu)
{
	wtl_cell_fixed(buf, true, n_processes, 0);
	wtl_cell_seconds(buf, cpu_ns >= 0, cpu_ns);
	wtl_cell_fixed(buf, all->has_dynamic, all->dynamic_uj, MICRO);
	wtl_cell_fixed(buf, true, all->full_uj, MICRO);
	wtl_cell_fixed(buf, true, all->uncertainty_uj, MICRO);
	if (gpu)
		wtl_format_fixed(buf, gpu->full_uj, MICRO);
	wtl_buf_putc(buf, '\n');
}

/* What is nobody's, so that the rows add up to the total. */
static void put_nobody(struct wtl_buf *buf, const struct wtl_recording *recording, const char *by)
{
	struct wtl_ledger ledger;
	uint64_t processes_uj;

	if (!wtl_words_ledger(&recording->report, &ledger) ||
	    !wtl_words_processes_uj(&recording->report, &processes_uj))
		return;
	begin_group(buf, recording, by, "no process");
	wtl_cell_empty(buf, 5);
	wtl_cell_fixed(buf, true, ledger.total_uj - processes_uj, MICRO);
	wtl_cell_empty(buf, 1);
	wtl_buf_putc(buf, '\n');
}

static void put_processes(struct wtl_buf *buf, const struct wtl_recording *recording)
{
	const struct wtl_report_attribution *attribution = &recording->report.attribution;

	for (size_t i = 0; i < attribution->n_processes; i++) {
		const struct wtl_report_process *process = &attribution->processes[i];

		begin_group(buf, recording, "process", wtl_words_consumer(process->consumer));
		put_pid(buf, process->consumer->pid);
		wtl_cell_text(buf, process->user);
		end_group(buf, process->consumer->n_processes,
			  wtl_consumer_cpu_ns(process->consumer), &process->all,
			  wtl_words_has_gpu(&recording->report) ? &process->gpu : NULL);
	}
	if (attribution->n_others > 0 || attribution->others.full_uj > 0) {
		begin_group(buf, recording, "process", "others");
		wtl_cell_empty(buf, 2);
		end_group(buf, attribution->n_others, attribution->others_cpu_ns,
			  &attribution->others, NULL);
	}
	put_nobody(buf, recording, "process");
}

static void put_group(struct wtl_buf *buf, const struct wtl_recording *recording, const char *by,
		      const char *name, const struct wtl_recording_group *group)
{
	begin_group(buf, recording, by, name);
	wtl_cell_empty(buf, 2);
	end_group(buf, group->n_processes, group->cpu_ns, &group->all,
		  wtl_words_has_gpu(&recording->report) ? &group->gpu : NULL);
}

static void put_grouping(struct wtl_buf *buf, const struct wtl_recording *recording,
			 const struct wtl_recording_grouping *grouping)
{
	const char *by = wtl_by_name(grouping->by);

	for (size_t i = 0; i < grouping->n_groups; i++)
		put_group(buf, recording, by, grouping->groups[i].name, &grouping->groups[i]);
	if (grouping->n_others > 0)
		put_group(buf, recording, by, "others", &grouping->others);
	put_nobody(buf, recording, by);
}

/* ---- Windows ---- */

static void put_window_row(struct wtl_buf *buf, const struct wtl_recording_window *window,
			   const char *domain, const struct wattle_energy *energy)
{
	wtl_cell_fixed(buf, true, window->id, 0);
	wtl_cell_text(buf, window->name);
	wtl_cell_utc(buf, window->window.begin_utc_ns);
	wtl_buf_printf(buf, "%" PRId64 ",", window->window.begin_mono_ns);
	wtl_cell_seconds(buf, window->energies != NULL, window->window.duration_ns);
	wtl_cell_bool(buf, window->is_main);
	wtl_cell_bool(buf, window->is_open);
	put_pid(buf, window->pid);
	wtl_cell_text(buf, domain);
	wtl_cell_energy(buf, energy);
}

static void end_window_row(struct wtl_buf *buf, const struct wtl_recording_window *window)
{
	wtl_cell_last(buf, window->is_cut ? "true" : "false");
}

static void put_window(struct wtl_buf *buf, const struct wtl_recording *recording,
		       const struct wtl_recording_window *window)
{
	bool has_carbon = window->has_carbon &&
			  !wtl_words_not_all_emitted(&window->carbon, &window->window.total);

	for (size_t i = 0; window->energies && i < recording->report.n_domains; i++) {
		put_window_row(buf, window, recording->report.domains[i].domain.name,
			       &window->energies[i]);
		wtl_cell_empty(buf, 2);
		end_window_row(buf, window);
	}
	put_window_row(buf, window, "total", &window->window.total);
	wtl_cell_fixed(buf, has_carbon, wtl_words_emitted_ng(&window->carbon), NANO);
	wtl_cell_fixed(buf, has_carbon, wtl_words_uncertainty_ng(&window->carbon), NANO);
	end_window_row(buf, window);
}

static int csv_recording(struct wtl_buf *buf, const struct wtl_recording *recording,
			 const struct wtl_output_style *style)
{
	int rc = wtl_recording_check(recording);

	if (rc < 0)
		return rc;
	if (!recording->has_by)
		return wtl_output_csv.report(buf, &recording->report, style);
	if (!style->append)
		wtl_buf_puts(buf, recording->by == WTL_BY_WINDOW ? window_head : group_head);
	if (recording->by == WTL_BY_PROCESS)
		put_processes(buf, recording);
	for (size_t i = 0; recording->by == WTL_BY_WINDOW && i < recording->n_windows; i++)
		put_window(buf, recording, &recording->windows[i]);
	for (size_t i = 0; i < recording->n_groupings; i++)
		put_grouping(buf, recording, &recording->groupings[i]);
	return buf->error;
}

/* ---- Several of them ---- */

static void put_ratio(struct wtl_buf *buf, const struct wtl_difference *difference)
{
	if (difference->has_ratio)
		wtl_format_double(buf, difference->ratio, MICRO);
	wtl_buf_putc(buf, ',');
}

static const char *word_of(bool value)
{
	return value ? "true" : "false";
}

static void put_compared(struct wtl_buf *buf, const struct wtl_comparison *comparison,
			 const struct wtl_compared *row, size_t i)
{
	static const char *const units[] = {
		[WTL_COMPARED_S] = "s",
		[WTL_COMPARED_J] = "J",
		[WTL_COMPARED_W] = "W",
		[WTL_COMPARED_G] = "gCO2e",
	};
	const struct wtl_compared_value *value = &row->values[i];
	const struct wtl_difference *difference = &value->difference;
	bool has = value->has_difference, is_time = row->quantity == WTL_COMPARED_S;
	/* One time is exact: a mean of several has an error. */
	bool is_sure = !is_time || difference->uncertainty > 0;

	wtl_cell_text(buf, row->what);
	wtl_cell_text(buf, units[row->quantity]);
	wtl_cell_fixed(buf, true, i + 1, 0);
	wtl_cell_text(buf, comparison->recordings[i].path);
	wtl_cell_fixed(buf, value->is_known, value->measured.value, MICRO);
	wtl_cell_fixed(buf, value->is_known && (!is_time || value->measured.uncertainty > 0),
		       value->measured.uncertainty, MICRO);
	if (has && difference->is_negative)
		wtl_buf_putc(buf, '-');
	wtl_cell_fixed(buf, has, difference->value, MICRO);
	wtl_cell_fixed(buf, has && is_sure, difference->uncertainty, MICRO);
	if (has) {
		put_ratio(buf, difference);
		wtl_cell_text(buf, !is_sure ? "" : word_of(difference->is_significant));
		wtl_cell_text(buf, is_time ? "" : word_of(value->is_common));
	} else {
		wtl_cell_empty(buf, 3);
	}
	wtl_cell_text(buf, value->is_known ? word_of(value->is_incomplete) : "");
	wtl_cell_last(buf, has ? word_of(value->has_other_domains) : "");
}

static int csv_comparison(struct wtl_buf *buf, const struct wtl_comparison *comparison,
			  const struct wtl_output_style *style)
{
	int rc = wtl_comparison_check(comparison);

	if (rc < 0)
		return rc;
	if (!style->append)
		wtl_buf_puts(buf, comparison_head);
	for (size_t i = 0; i < comparison->n_rows; i++)
		for (size_t k = 0; k < comparison->n_recordings; k++)
			put_compared(buf, comparison, &comparison->rows[i], k);
	return buf->error;
}

static void put_run(struct wtl_buf *buf, const struct wtl_run *run)
{
	const struct wtl_report *report = &run->report;
	const struct wtl_report_attribution *attribution = &report->attribution;
	const struct wattle_energy *total = &report->window.total;
	bool has_command = attribution->is_known && attribution->has_command;
	bool has_carbon = !wtl_words_not_all_emitted(&report->carbon, total);
	uint64_t rate_ng_per_s;
	bool has_rate;

	wtl_cell_text(buf, run->path);
	wtl_cell_fixed(buf, true, run->number, 0);
	wtl_cell_utc(buf, report->window.begin_utc_ns);
	wtl_cell_seconds(buf, true, report->window.duration_ns);
	wtl_cell_fixed(buf, total->has_energy, total->energy_uj, MICRO);
	wtl_cell_fixed(buf, total->has_energy, total->uncertainty_uj, MICRO);
	wtl_cell_fixed(buf, total->has_energy && total->has_power, total->mean_uw, MICRO);
	wtl_cell_fixed(buf, has_command && attribution->command.has_dynamic,
		       attribution->command.dynamic_uj, MICRO);
	wtl_cell_fixed(buf, has_command, attribution->command.full_uj, MICRO);
	wtl_cell_fixed(buf, has_carbon, wtl_words_emitted_ng(&report->carbon), NANO);
	wtl_cell_fixed(buf, has_carbon, wtl_words_uncertainty_ng(&report->carbon), NANO);
	has_rate = wtl_run_rate_ng_per_s(run, &rate_ng_per_s);
	wtl_cell_fixed(buf, has_rate, has_rate ? rate_ng_per_s : 0, NANO);
	if (report->has_exit)
		wtl_buf_printf(buf, "%d", report->exit_status);
	wtl_buf_putc(buf, ',');
	wtl_cell_bool(buf, report->interrupted);
	wtl_cell_last(buf, run->is_unfinished ? "true" : "false");
}

static int csv_runs(struct wtl_buf *buf, const struct wtl_runs *runs,
		    const struct wtl_output_style *style)
{
	int rc = wtl_runs_check(runs);

	if (rc < 0)
		return rc;
	if (!style->append)
		wtl_buf_puts(buf, runs_head);
	for (size_t i = 0; i < runs->n_runs; i++)
		put_run(buf, &runs->runs[i]);
	return buf->error;
}

const struct wtl_recording_ops wtl_recording_csv = {
	.name = "csv",
	.recording = csv_recording,
	.comparison = csv_comparison,
	.runs = csv_runs,
};
