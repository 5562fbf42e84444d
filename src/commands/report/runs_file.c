/* SPDX-License-Identifier: MIT */
#include "commands/report/runs_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/text.h"
#include "cli/complain.h"
#include "commands/import/import.h"
#include "document/words.h"
#include "energy/budget.h"
#include "import/reader.h"

enum { FILE_MAX = 1 << 30, DOMAINS_MAX = 4 };

bool wtl_runs_file_is(const char *path)
{
	char head[WTL_IMPORT_HEAD];
	int fd = wtl_infile_is_descriptor(path) ? -1 : wtl_infile_open(path);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, head, sizeof(head));
	close(fd);
	return n > 0 && wtl_import_codecarbon.is(head, (size_t)n);
}

/* ---- A row ---- */

static void set_energy(struct wattle_energy *energy, const struct wtl_import_interval *interval,
		       uint64_t energy_uj, double uncertainty_uj)
{
	*energy = (struct wattle_energy){
		.size = sizeof(*energy),
		.status = WATTLE_STATUS_OK,
		.method = WATTLE_METHOD_COUNTER,
		.has_energy = 1,
		.has_power = 1,
		.energy_uj = energy_uj,
		.uncertainty_uj = (uint64_t)ceil(uncertainty_uj),
		.mean_uw =
			(uint64_t)llround((double)energy_uj * 1e9 / (double)interval->duration_ns),
		.measured_ns = interval->duration_ns,
	};
}

/* The same tool measured all of them, so their errors are added linearly. */
static void fill_energies(struct wtl_runs_file_row *row, const struct wtl_import *import,
			  const struct wtl_import_interval *interval)
{
	struct wtl_report *report = &row->report;
	double uncertainty_uj = 0.0;
	uint64_t sum_uj = 0;

	for (unsigned i = 0; i < interval->n && i < DOMAINS_MAX; i++) {
		const struct wtl_import_energy *energy = &import->energies[interval->first + i];
		const struct wtl_channel *channel = &import->series[energy->series].channel;
		double own_uj = 2 * wtl_budget_gain_uj(energy->energy_uj, channel->gain_ppm);
		char *name = row->names[report->n_domains];
		struct wtl_report_domain *domain = &row->domains[report->n_domains++];

		wtl_text_copy(name, WTL_NAME_SIZE, channel->domain);
		domain->domain = (struct wattle_domain){
			.size = sizeof(domain->domain),
			.name = name,
			.kind = channel->kind,
			.source = "codecarbon",
			.in_total = channel->in_total,
		};
		set_energy(&domain->energy, interval, energy->energy_uj, own_uj);
		domain->ledger.unattributed_uj = domain->ledger.total_uj = energy->energy_uj;
		if (channel->method == WATTLE_METHOD_MODELLED)
			domain->energy.method = channel->method;
		sum_uj += energy->energy_uj;
		uncertainty_uj += own_uj;
	}
	report->domains = row->domains;
	if (report->n_domains > 0)
		set_energy(&report->window.total, interval, sum_uj, uncertainty_uj);
}

/* Grams as in the row: the intensity behind them is taken as exact. */
static void fill_carbon(struct wtl_runs_file_row *row, const struct wtl_import_interval *interval)
{
	struct wtl_report_carbon *carbon = &row->report.carbon;
	const struct wattle_energy *total = &row->report.window.total;
	double pue = interval->pue_milli / 1e3, ng = (double)interval->emitted_ng / pue;

	snprintf(carbon->carbon.location, sizeof(carbon->carbon.location), "as in the file");
	snprintf(carbon->carbon.dataset, sizeof(carbon->carbon.dataset), "emissions.csv");
	carbon->pue_milli = interval->pue_milli > 1000 ? interval->pue_milli : 0;
	if (!interval->has_emitted) {
		carbon->reason = "the file does not say what it emitted";
		return;
	}
	carbon->emitted_ug = (uint64_t)llround(ng / 1e3);
	carbon->emitted_rest_ng = (int32_t)llround(ng - 1e3 * (double)carbon->emitted_ug);
	if (!total->has_energy || total->energy_uj == 0)
		return;
	/* µg for each µJ, times 3.6e12 µJ in a kWh, in mg */
	carbon->carbon.intensity_mg_per_kwh =
		(uint32_t)fmin(llround(ng * 3.6e6 / (double)total->energy_uj), UINT32_MAX);
	carbon->uncertainty_ug =
		(uint64_t)ceil(ng / 1e3 * (double)total->uncertainty_uj / (double)total->energy_uj);
}

static void fill_row(struct wtl_runs_file_row *row, const struct wtl_import *import,
		     const struct wtl_import_interval *interval)
{
	struct wtl_report *report = &row->report;

	wtl_text_copy(row->project, sizeof(row->project), interval->name);
	row->command[0] = row->project;
	report->command = row->command;
	report->command_cpu_ns = -1;
	report->attribution.reason = "a row of a file has no processes";
	report->attribution.command_cpu_ns = -1;
	report->window = (struct wattle_window){
		.size = sizeof(report->window),
		.begin_utc_ns = interval->begin_ns,
		.duration_ns = interval->duration_ns,
		.total = {.size = sizeof(report->window.total), .status = WATTLE_STATUS_ABSENT},
	};
	fill_energies(row, import, interval);
	fill_carbon(row, interval);
}

/* A run that was written repeatedly: its last row is complete. */
static bool is_said_again(const struct wtl_import *import, size_t i)
{
	return i + 1 < import->n_intervals && import->intervals[i + 1].goes_on;
}

static int take(struct wtl_app *app, const struct wtl_import *import, const char *path,
		struct wtl_runs_file *ret_file)
{
	struct wtl_runs_file file = {.path = path};

	file.rows = calloc(import->n_intervals + 1, sizeof(*file.rows));
	if (!file.rows) {
		wtl_complain(app, "out of memory");
		return -ENOMEM;
	}
	for (size_t i = 0; i < import->n_intervals; i++)
		if (!is_said_again(import, i))
			fill_row(&file.rows[file.n++], import, &import->intervals[i]);
	if (file.n == 0) {
		wtl_complain(app, "%s: there is no run in it", path);
		wtl_runs_file_free(&file);
		return -ENODATA;
	}
	*ret_file = file;
	return 0;
}

int wtl_runs_file_load(struct wtl_app *app, const char *path, struct wtl_runs_file *ret_file)
{
	const struct wtl_import_options options = {
		.utc_ns = wtl_import_local_utc_ns, .start_ns = INT64_MIN, .keeps_intervals = true};
	struct wtl_err err = {.code = 0};
	struct wtl_import import;
	struct wtl_buf text;
	int rc;

	wtl_import_init(&import, &options);
	wtl_buf_init(&text, FILE_MAX);
	rc = wtl_infile_read(path, &text);
	if (rc < 0)
		wtl_complain(app, "'%s' cannot be read: %s", path, wtl_err_text(rc));
	else if ((rc = wtl_import_read(&import, &wtl_import_codecarbon, wtl_buf_str(&text),
				       text.len, &err)) < 0)
		wtl_complain(app, "%s: %s", path, err.text);
	if (rc == 0) {
		wtl_import_tell_bad(app, &import, path);
		rc = take(app, &import, path, ret_file);
	}
	wtl_buf_done(&text);
	wtl_import_done(&import);
	return rc;
}

void wtl_runs_file_free(struct wtl_runs_file *file)
{
	free(file->rows);
	*file = (struct wtl_runs_file){.n = 0};
}
