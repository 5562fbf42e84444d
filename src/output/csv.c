/* SPDX-License-Identifier: MIT */
#include "output/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "output/format.h"
#include "output/words.h"

/* One row a domain and run, and one for each run's total; docs/format-csv.md describes it. */

enum { CELL_MAX = 1 << 23 };

static const char report_head[] =
	"start_utc,run,command,exit_status,duration_s,domain,kind,inside,in_total,source,method,"
	"status,energy_j,uncertainty_j,mean_w,max_w,measured_s,gap_s,flags,live_j,exited_j,kernel_j,"
	"idle_j,unattributed_j,gco2e,gco2e_uncertainty,intensity_g_per_kwh,location,dataset,year,"
	"pue,gco2e_with_pue,command_dynamic_j,command_full_j,command_cpu_s,command_processes,idle_w,"
	"reason\n";

static const char doctor_head[] =
	"t_utc,domain,kind,inside,in_total,source,check,method,status,mean_w,update_s,device,"
	"idle_w,way,is_used,reason,remedy\n";

/* ---- Cells: each ends with its comma ---- */

static void empty(struct wtl_buf *buf, unsigned n)
{
	while (n-- > 0)
		wtl_buf_putc(buf, ',');
}

/*
 * Text from anywhere: escaped, so that a row is a line and a terminal is safe; quoted where RFC 4180
 * asks for it; and with a ' before what a spreadsheet would run as a formula.
 */
static void put_escaped(struct wtl_buf *buf, const char *text, size_t len)
{
	bool formula = len > 0 && strchr("=+-@", text[0]);
	bool quote = formula || memchr(text, '"', len) || memchr(text, ',', len) ||
		     (len > 0 && (text[0] == ' ' || text[len - 1] == ' '));

	if (quote)
		wtl_buf_putc(buf, '"');
	if (formula)
		wtl_buf_putc(buf, '\'');
	for (size_t i = 0; i < len && !buf->error; i++) {
		if (text[i] == '"')
			wtl_buf_putc(buf, '"');
		wtl_buf_putc(buf, text[i]);
	}
	if (quote)
		wtl_buf_putc(buf, '"');
}

static void put_cell(struct wtl_buf *buf, const char *text, size_t len, char end)
{
	struct wtl_buf cell;

	wtl_buf_init(&cell, CELL_MAX);
	wtl_text_escape(&cell, text, len);
	put_escaped(buf, wtl_buf_str(&cell), cell.len);
	if (cell.error && !buf->error)
		buf->error = cell.error;
	wtl_buf_done(&cell);
	wtl_buf_putc(buf, end);
}

static void text(struct wtl_buf *buf, const char *value)
{
	put_cell(buf, value ? value : "", value ? strlen(value) : 0, ',');
}

static void last_text(struct wtl_buf *buf, const char *value)
{
	put_cell(buf, value ? value : "", value ? strlen(value) : 0, '\n');
}

static void fixed(struct wtl_buf *buf, bool known, uint64_t value, unsigned decimals)
{
	if (known)
		wtl_format_fixed(buf, value, decimals);
	wtl_buf_putc(buf, ',');
}

static void seconds(struct wtl_buf *buf, bool known, int64_t ns)
{
	fixed(buf, known, ns > 0 ? (uint64_t)ns : 0, 9);
}

static void utc(struct wtl_buf *buf, int64_t t_utc_ns)
{
	wtl_format_utc(buf, t_utc_ns);
	wtl_buf_putc(buf, ',');
}

static void flags(struct wtl_buf *buf, uint32_t bits)
{
	const char *word;

	for (size_t i = 0; (word = wtl_words_flag(bits, i)); i++) {
		wtl_buf_puts(buf, i ? " " : "");
		wtl_buf_puts(buf, word);
	}
	wtl_buf_putc(buf, ',');
}

static void method(struct wtl_buf *buf, enum wattle_method value)
{
	text(buf, value != WATTLE_METHOD_NONE ? wattle_method_name(value) : NULL);
}

/* ---- Rows ---- */

/* start_utc to duration_s */
static void put_run(struct wtl_buf *buf, const struct wtl_report *report, size_t run)
{
	struct wtl_buf command;

	utc(buf, report->window.begin_utc_ns);
	wtl_buf_printf(buf, "%zu,", run);
	wtl_buf_init(&command, CELL_MAX);
	wtl_format_command(&command, report->command);
	text(buf, wtl_buf_str(&command));
	if (command.error && !buf->error)
		buf->error = command.error;
	wtl_buf_done(&command);
	if (report->has_exit)
		wtl_buf_printf(buf, "%d", report->exit_status);
	wtl_buf_putc(buf, ',');
	seconds(buf, true, report->window.duration_ns);
}

/* status to flags */
static void put_figures(struct wtl_buf *buf, enum wattle_status status,
			const struct wattle_energy *energy)
{
	bool has = energy->has_energy, has_power = has && energy->has_power;

	/* A total without a figure has nothing to be ok about. */
	text(buf, has || status != WATTLE_STATUS_OK ? wattle_status_name(status) : NULL);
	fixed(buf, has, energy->energy_uj, 6);
	fixed(buf, has, energy->uncertainty_uj, 6);
	fixed(buf, has_power, energy->mean_uw, 6);
	fixed(buf, has_power, energy->max_uw, 6);
	seconds(buf, has, energy->measured_ns);
	seconds(buf, has, energy->gap_ns);
	flags(buf, has ? energy->flags : 0);
}

static void put_ledger(struct wtl_buf *buf, const struct wtl_report *report,
		       const struct wtl_report_domain *domain)
{
	const struct wtl_ledger *ledger = &domain->ledger;
	bool has = domain->energy.has_energy;
	bool attributed = has && wtl_words_attributed(report, domain);

	fixed(buf, attributed, ledger->live_uj, 6);
	fixed(buf, attributed, ledger->exited_uj, 6);
	fixed(buf, attributed, ledger->kernel_uj, 6);
	fixed(buf, has && ledger->has_idle, ledger->idle_uj, 6);
	fixed(buf, has, ledger->unattributed_uj, 6);
}

/* command_dynamic_j to command_processes */
static void put_command(struct wtl_buf *buf, const struct wtl_report *report)
{
	const struct wtl_report_attribution *attribution = &report->attribution;
	bool has = attribution->is_known && attribution->has_command;

	fixed(buf, has && attribution->command.has_dynamic, attribution->command.dynamic_uj, 6);
	fixed(buf, has, attribution->command.full_uj, 6);
	seconds(buf, report->command && report->command_cpu_ns >= 0, report->command_cpu_ns);
	fixed(buf, has, attribution->command_processes, 0);
}

/* gco2e to gco2e_with_pue */
static void put_carbon(struct wtl_buf *buf, const struct wtl_report *report)
{
	const struct wtl_report_carbon *carbon = &report->carbon;
	bool has = report->window.total.has_energy;

	fixed(buf, has, carbon->emitted_ug, 6);
	fixed(buf, has, carbon->uncertainty_ug, 6);
	fixed(buf, true, carbon->carbon.intensity_mg_per_kwh, 3);
	text(buf, carbon->carbon.location);
	text(buf, carbon->carbon.dataset);
	fixed(buf, carbon->carbon.year > 0, carbon->carbon.year, 0);
	fixed(buf, carbon->pue_milli > 0, carbon->pue_milli, 3);
	fixed(buf, has && carbon->pue_milli > 0, wtl_words_with_pue(carbon), 6);
}

static void put_domain(struct wtl_buf *buf, const struct wtl_report *report, size_t run,
		       const struct wtl_report_domain *domain)
{
	put_run(buf, report, run);
	text(buf, domain->domain.name);
	text(buf, wattle_kind_name(domain->domain.kind));
	text(buf, domain->domain.inside);
	text(buf, domain->domain.in_total ? "true" : "false");
	text(buf, domain->domain.source);
	method(buf, wtl_words_method(domain));
	put_figures(buf, wtl_words_status(domain), &domain->energy);
	put_ledger(buf, report, domain);
	empty(buf, 12);
	fixed(buf, domain->idle.is_known, domain->idle.idle_uw, 6);
	last_text(buf, wtl_words_reason(domain));
}

static void put_total(struct wtl_buf *buf, const struct wtl_report *report, size_t run)
{
	const struct wattle_energy *total = &report->window.total;

	put_run(buf, report, run);
	wtl_buf_puts(buf, "total,,,,,");
	method(buf, total->has_energy ? total->method : WATTLE_METHOD_NONE);
	put_figures(buf, total->status, total);
	empty(buf, 5);
	put_carbon(buf, report);
	put_command(buf, report);
	empty(buf, 1);
	last_text(buf, wtl_words_total_reason(total));
}

static int put_report(struct wtl_buf *buf, const struct wtl_report *report, size_t run)
{
	int rc = wtl_ledgers_check(report);

	if (rc < 0)
		return rc;
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
	/* Before the first byte: a breach leaves no half of a file. */
	for (size_t i = 0; i < series->n_reports; i++) {
		int rc = wtl_ledgers_check(&series->reports[i]);

		if (rc < 0)
			return rc;
	}
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

	utc(buf, doctor->t_utc_ns);
	text(buf, about->name);
	text(buf, wattle_kind_name(about->kind));
	text(buf, about->inside);
	text(buf, about->in_total ? "true" : "false");
	text(buf, about->source);
	text(buf, about->check);
	method(buf, wtl_words_method(domain));
	text(buf, wattle_status_name(wtl_words_status(domain)));
	fixed(buf, energy->has_energy && energy->has_power, energy->mean_uw, 6);
	seconds(buf, about->update_ns > 0, about->update_ns);
	text(buf, about->device);
	fixed(buf, domain->idle.is_known, domain->idle.idle_uw, 6);
	empty(buf, 2);
	text(buf, wtl_words_reason(domain));
	last_text(buf, about->remedy);
}

static void put_way(struct wtl_buf *buf, const struct wtl_doctor *doctor,
		    const struct wtl_doctor_way *way)
{
	utc(buf, doctor->t_utc_ns);
	empty(buf, 12);
	text(buf, way->way);
	text(buf, way->is_used ? "true" : "false");
	text(buf, way->reason);
	last_text(buf, way->remedy);
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

		utc(buf, doctor->t_utc_ns);
		empty(buf, 4);
		text(buf, source->source);
		empty(buf, 2);
		text(buf, wattle_status_name(source->status));
		empty(buf, 6);
		text(buf, source->reason);
		last_text(buf, source->remedy);
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
