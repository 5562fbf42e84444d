/* SPDX-License-Identifier: MIT */
#include "document/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "document/cells.h"
#include "document/format.h"
#include "document/words.h"

/* One row a domain and run, and one for each run's total; docs/format-csv.md describes it. */

static const char report_head[] =
	"start_utc,run,command,exit_status,duration_s,domain,kind,inside,in_total,source,method,"
	"status,energy_j,uncertainty_j,mean_w,max_w,measured_s,gap_s,flags,live_j,exited_j,kernel_j,"
	"idle_j,unattributed_j,gco2e,gco2e_uncertainty,intensity_g_per_kwh,location,dataset,year,"
	"pue,gco2e_with_pue,command_dynamic_j,command_full_j,command_cpu_s,command_processes,idle_w,"
	"reason\n";

static const char doctor_head[] =
	"t_utc,domain,kind,inside,in_total,source,check,method,status,mean_w,update_s,device,"
	"idle_w,way,is_used,reason,remedy\n";

/* ---- Rows ---- */

/* start_utc to duration_s */
static void put_run(struct wtl_buf *buf, const struct wtl_report *report, size_t run)
{
	struct wtl_buf command;

	wtl_cell_utc(buf, report->window.begin_utc_ns);
	wtl_buf_printf(buf, "%zu,", run);
	wtl_buf_init(&command, WTL_CELL_MAX);
	wtl_format_command(&command, report->command);
	wtl_cell_text(buf, wtl_buf_str(&command));
	if (command.error && !buf->error)
		buf->error = command.error;
	wtl_buf_done(&command);
	if (report->has_exit)
		wtl_buf_printf(buf, "%d", report->exit_status);
	wtl_buf_putc(buf, ',');
	wtl_cell_seconds(buf, true, report->window.duration_ns);
}

/* status to flags */
static void put_figures(struct wtl_buf *buf, enum wattle_status status,
			const struct wattle_energy *energy)
{
	/* A total without a figure has nothing to be ok about. */
	wtl_cell_text(buf, energy->has_energy || status != WATTLE_STATUS_OK
				   ? wattle_status_name(status)
				   : NULL);
	wtl_cell_energy(buf, energy);
}

static void put_ledger(struct wtl_buf *buf, const struct wtl_report *report,
		       const struct wtl_report_domain *domain)
{
	const struct wtl_ledger *ledger = &domain->ledger;
	bool has = domain->energy.has_energy;
	bool attributed = has && wtl_words_attributed(report, domain);

	wtl_cell_fixed(buf, attributed, ledger->live_uj, 6);
	wtl_cell_fixed(buf, attributed, ledger->exited_uj, 6);
	wtl_cell_fixed(buf, attributed, ledger->kernel_uj, 6);
	wtl_cell_fixed(buf, has && ledger->has_idle, ledger->idle_uj, 6);
	wtl_cell_fixed(buf, has, ledger->unattributed_uj, 6);
}

/* command_dynamic_j to command_processes */
static void put_command(struct wtl_buf *buf, const struct wtl_report *report)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	bool has = attribution->is_known && attribution->has_command;

	wtl_cell_fixed(buf, has && attribution->command.has_dynamic,
		       attribution->command.dynamic_uj, 6);
	wtl_cell_fixed(buf, has, attribution->command.full_uj, 6);
	wtl_cell_seconds(buf, report->command && report->command_cpu_ns >= 0,
			 report->command_cpu_ns);
	wtl_cell_fixed(buf, has, attribution->command_processes, 0);
}

/* gco2e to gco2e_with_pue */
static void put_carbon(struct wtl_buf *buf, const struct wtl_report *report)
{
	const struct wtl_report_carbon *carbon = &report->carbon;
	bool has = !wtl_words_not_all_emitted(carbon, &report->window.total);

	wtl_cell_fixed(buf, has, wtl_words_emitted_ng(carbon), 9);
	wtl_cell_fixed(buf, has, wtl_words_uncertainty_ng(carbon), 9);
	wtl_cell_fixed(buf, !carbon->reason, carbon->carbon.intensity_mg_per_kwh, 3);
	wtl_cell_text(buf, carbon->carbon.location);
	wtl_cell_text(buf, carbon->carbon.dataset);
	wtl_cell_fixed(buf, carbon->carbon.year > 0, carbon->carbon.year, 0);
	wtl_cell_fixed(buf, carbon->pue_milli > 0, carbon->pue_milli, 3);
	wtl_cell_fixed(buf, has && carbon->pue_milli > 0, wtl_words_emitted_with_pue_ng(carbon), 9);
}

static void put_domain(struct wtl_buf *buf, const struct wtl_report *report, size_t run,
		       const struct wtl_report_domain *domain)
{
	put_run(buf, report, run);
	wtl_cell_text(buf, domain->domain.name);
	wtl_cell_text(buf, wattle_kind_name(domain->domain.kind));
	wtl_cell_text(buf, domain->domain.inside);
	wtl_cell_bool(buf, domain->domain.in_total);
	wtl_cell_text(buf, domain->domain.source);
	wtl_cell_method(buf, wtl_words_method(domain));
	put_figures(buf, wtl_words_status(domain), &domain->energy);
	put_ledger(buf, report, domain);
	wtl_cell_empty(buf, 12);
	wtl_cell_fixed(buf, domain->idle.is_known, domain->idle.idle_uw, 6);
	wtl_cell_last(buf, wtl_words_reason(domain));
}

static void put_total(struct wtl_buf *buf, const struct wtl_report *report, size_t run)
{
	const struct wattle_energy *total = &report->window.total;

	put_run(buf, report, run);
	wtl_buf_puts(buf, "total,,,,,");
	wtl_cell_method(buf, total->has_energy ? total->method : WATTLE_METHOD_NONE);
	put_figures(buf, total->status, total);
	wtl_cell_empty(buf, 5);
	put_carbon(buf, report);
	put_command(buf, report);
	wtl_cell_empty(buf, 1);
	wtl_cell_last(buf, wtl_words_total_reason(total));
}

static int put_report(struct wtl_buf *buf, const struct wtl_report *report, size_t run)
{
	for (size_t i = 0; i < report->n_domains; i++)
		put_domain(buf, report, run, &report->domains[i]);
	put_total(buf, report, run);
	return buf->error;
}

static int csv_report(struct wtl_buf *buf, const struct wtl_report *report,
		      const struct wtl_output_style *style)
{
	int rc = wtl_ledgers_check(report);

	if (rc < 0)
		return rc;
	if (!style->append)
		wtl_buf_puts(buf, report_head);
	return put_report(buf, report, 1);
}

static int csv_series(struct wtl_buf *buf, const struct wtl_series *series,
		      const struct wtl_output_style *style)
{
	int rc = wtl_series_check(series);

	if (rc < 0)
		return rc;
	if (!style->append)
		wtl_buf_puts(buf, report_head);
	for (size_t i = 0; i < series->n_reports; i++)
		put_report(buf, &series->reports[i], i + 1);
	return buf->error;
}

static void put_looked_at(struct wtl_buf *buf, const struct wtl_doctor *doctor,
			  const struct wtl_report_domain *domain)
{
	const struct wattle_domain *about = &domain->domain;
	const struct wattle_energy *energy = &domain->energy;

	wtl_cell_utc(buf, doctor->t_utc_ns);
	wtl_cell_text(buf, about->name);
	wtl_cell_text(buf, wattle_kind_name(about->kind));
	wtl_cell_text(buf, about->inside);
	wtl_cell_bool(buf, about->in_total);
	wtl_cell_text(buf, about->source);
	wtl_cell_text(buf, about->check);
	wtl_cell_method(buf, wtl_words_method(domain));
	wtl_cell_text(buf, wattle_status_name(wtl_words_status(domain)));
	wtl_cell_fixed(buf, energy->has_energy && energy->has_power, energy->mean_uw, 6);
	wtl_cell_seconds(buf, about->update_ns > 0, about->update_ns);
	wtl_cell_text(buf, about->device);
	wtl_cell_fixed(buf, domain->idle.is_known, domain->idle.idle_uw, 6);
	wtl_cell_empty(buf, 2);
	wtl_cell_text(buf, wtl_words_reason(domain));
	wtl_cell_last(buf, about->remedy);
}

static void put_way(struct wtl_buf *buf, const struct wtl_doctor *doctor,
		    const struct wtl_doctor_way *way)
{
	wtl_cell_utc(buf, doctor->t_utc_ns);
	wtl_cell_empty(buf, 12);
	wtl_cell_text(buf, way->way);
	wtl_cell_bool(buf, way->is_used);
	wtl_cell_text(buf, way->reason);
	wtl_cell_last(buf, way->remedy);
}

static int csv_doctor(struct wtl_buf *buf, const struct wtl_doctor *doctor,
		      const struct wtl_output_style *style)
{
	if (!style->append)
		wtl_buf_puts(buf, doctor_head);
	for (size_t i = 0; i < doctor->n_domains; i++)
		put_looked_at(buf, doctor, &doctor->domains[i]);
	for (size_t i = 0; i < doctor->n_sources; i++) {
		const struct wtl_doctor_source *source = &doctor->sources[i];

		wtl_cell_utc(buf, doctor->t_utc_ns);
		wtl_cell_empty(buf, 4);
		wtl_cell_text(buf, source->source);
		wtl_cell_empty(buf, 2);
		wtl_cell_text(buf, wattle_status_name(source->status));
		wtl_cell_empty(buf, 6);
		wtl_cell_text(buf, source->reason);
		wtl_cell_last(buf, source->remedy);
	}
	for (size_t i = 0; i < doctor->n_ways; i++)
		put_way(buf, doctor, &doctor->ways[i]);
	return buf->error;
}

const struct wtl_output_ops wtl_output_csv = {
	.name = "csv",
	.doc = "one row a domain and run, for spreadsheets and data frames",
	.report = csv_report,
	.series = csv_series,
	.doctor = csv_doctor,
};
