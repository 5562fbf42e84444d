/* SPDX-License-Identifier: MIT */
#include "commands/plot/report.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/date.h"
#include "base/err.h"
#include "energy/units.h"
#include "document/format.h"
#include "commands/plot/plot.h"
#include "commands/plot/report_parts.h"

#define SOURCE "plot"

struct wtl_plot_reports {
	json_t *list;
};

struct wtl_plot_reports *wtl_plot_reports_new(void)
{
	struct wtl_plot_reports *reports = malloc(sizeof(*reports));

	if (reports)
		reports->list = json_array();
	if (reports && !reports->list) {
		free(reports);
		return NULL;
	}
	return reports;
}

void wtl_plot_reports_free(struct wtl_plot_reports *reports)
{
	if (reports)
		json_decref(reports->list);
	free(reports);
}

/* ---- Reading ---- */

static bool has_schema(const json_t *document, const char *name)
{
	const char *schema = wtl_plot_json_text(document, "schema");

	return schema && strcmp(schema, name) == 0;
}

static int add_series(json_t *list, const json_t *series)
{
	json_t *runs = json_object_get(series, "runs"), *run;
	size_t i;

	if (!has_schema(series, "wattle.series/1") || !json_is_array(runs))
		return -WTL_EFORMAT;
	json_array_foreach(runs, i, run)
	{
		if (!json_is_object(run))
			return -WTL_EFORMAT;
		if (json_array_append(list, run) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Adds the runs of one command of a comparison; energy: which energy is compared. */
static int add_compared(json_t *list, const json_t *command, json_t *energy)
{
	const json_t *series = json_object_get(command, "series");
	const char *name = wtl_plot_json_text(command, "name");
	json_t *runs = json_object_get(series, "runs"), *run;
	size_t i;

	if (!name)
		name = wtl_plot_json_text(command, "command");
	json_array_foreach(runs, i, run)
	{
		if (name && json_is_object(run) &&
		    (json_object_set_new(run, WTL_PLOT_JSON_NAME, json_string(name)) < 0 ||
		     (energy && json_object_set(run, WTL_PLOT_JSON_COMPARED, energy) < 0)))
			return -ENOMEM;
	}
	return add_series(list, series);
}

/* One document: a report, a series of them, or a comparison of series. */
static int add_document(json_t *list, json_t *document)
{
	json_t *commands = json_object_get(document, "commands"), *command;
	int rc = 0;
	size_t i;

	if (has_schema(document, "wattle.compare/1") && json_is_array(commands)) {
		json_array_foreach(commands, i, command)
		{
			rc = rc < 0 ? rc
				    : add_compared(list, command,
						   json_object_get(document, "compared"));
		}
		return rc;
	}
	if (has_schema(document, "wattle.report/1"))
		return json_array_append(list, document) < 0 ? -ENOMEM : 0;
	return add_series(list, document);
}

static size_t skip_space(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && strchr(" \t\r\n", text[n]) && text[n])
		n++;
	return n;
}

static int add_documents(json_t *list, const char *text, size_t len, json_error_t *error)
{
	size_t at = skip_space(text, len);
	int rc = at < len ? 0 : -WTL_EFORMAT;

	snprintf(error->text, sizeof(error->text), "it is empty");
	while (rc >= 0 && at < len) {
		json_t *document =
			json_loadb(text + at, len - at,
				   JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, error);

		if (!document)
			return -WTL_EFORMAT;
		snprintf(error->text, sizeof(error->text),
			 "it is JSON, but no wattle.report/1, wattle.series/1 or wattle.compare/1");
		at += (size_t)error->position;
		at += skip_space(text + at, len - at);
		rc = add_document(list, document);
		json_decref(document);
		if (json_array_size(list) > WTL_PLOT_REPORTS_MAX)
			return -EFBIG;
	}
	return rc;
}

/* A name that is not UTF-8 is dropped. */
static void name_file(json_t *list, const char *name)
{
	json_t *run;
	size_t i;

	json_array_foreach(list, i, run)
	{
		json_t *file = json_string(name);

		if (file)
			json_object_set_new(run, WTL_PLOT_JSON_FILE, file);
	}
}

/* Why the text is certainly not JSON; NULL: it may be. */
static const char *no_json(const char *text, size_t len)
{
	static const char magic[] = "SQLite format 3", profile[] = "wattle profile ";
	size_t at = skip_space(text, len);

	if (len >= sizeof(magic) && memcmp(text, magic, sizeof(magic)) == 0)
		return "this is no report, but a recording or another SQLite database: it cannot "
		       "be read from there";
	if (len >= sizeof(profile) && memcmp(text, profile, sizeof(profile) - 1) == 0)
		return "this is a profile, which wattle profile show opens; memory over time can be "
		       "drawn of the .dat file that wattle profile show -o FILE.dat makes of it";
	if (at < len && text[at] != '{' && text[at] != '[')
		return "this is neither a recording (it is no SQLite database, or an encrypted one) "
		       "nor a report (it is no JSON), nor the memory over time of one program (.dat, "
		       "drawn alone)";
	return NULL;
}

int wtl_plot_reports_add(struct wtl_plot_reports *reports, const char *name, const char *text,
			 size_t len, struct wtl_err *err)
{
	const char *else_is = no_json(text, len);
	json_error_t error = {.line = 0};
	json_t *list;
	int rc;

	if (else_is)
		return wtl_err_set(err, WTL_EFORMAT, SOURCE, name, "%s", else_is);
	list = json_array();
	rc = list ? add_documents(list, text, len, &error) : -ENOMEM;
	if (rc == 0)
		name_file(list, name);
	if (rc == 0 && json_array_extend(reports->list, list) < 0)
		rc = -ENOMEM;
	json_decref(list);
	if (json_array_size(reports->list) > WTL_PLOT_REPORTS_MAX)
		rc = -EFBIG;
	if (rc == -WTL_EFORMAT)
		return wtl_err_set(err, rc, SOURCE, name, "this is no report: %s", error.text);
	if (rc == -EFBIG)
		return wtl_err_set(err, rc, SOURCE, name, "these are more than %d reports",
				   WTL_PLOT_REPORTS_MAX);
	return rc < 0 ? wtl_err_set(err, rc, SOURCE, name, "out of memory") : 0;
}

/* ---- Choosing ---- */

static void add_domain(struct wtl_plot_chosen *chosen, const char *name)
{
	for (size_t i = 0; i < chosen->n_domains; i++)
		if (strcmp(chosen->domains[i], name) == 0)
			return;
	if (chosen->n_domains == WTL_PLOT_DOMAINS_MAX)
		return;
	chosen->domains[chosen->n_domains++] = wtl_plot_sheet_printf(chosen->sheet, "%s", name);
}

static void choose_domains(struct wtl_plot_chosen *chosen, const json_t *report)
{
	const json_t *domains = json_object_get(report, "domains"), *domain;
	size_t i;

	json_array_foreach(domains, i, domain)
	{
		const char *name = wtl_plot_json_text(domain, "name");
		bool counts = json_is_true(json_object_get(domain, "in_total"));

		if (!name || !isfinite(wtl_plot_json_number(domain, "energy_j")))
			continue;
		if (chosen->wanted->n_domains ? wtl_plot_is_asked_for(chosen->wanted, name)
					      : counts)
			add_domain(chosen, name);
	}
}

/* The compared commands: none if a run belongs to no comparison, or they are too many. */
static void choose_compared(struct wtl_plot_chosen *chosen)
{
	size_t n = 0;

	for (size_t i = 0; i < chosen->n; i++) {
		const char *name = wtl_plot_json_text(chosen->reports[i], WTL_PLOT_JSON_NAME);
		size_t k = 0;

		while (name && k < n && strcmp(chosen->compared[k], name) != 0)
			k++;
		if (!name || k == WTL_PLOT_COMPARED_MAX)
			return;
		if (k == n)
			chosen->compared[n++] = wtl_plot_sheet_printf(chosen->sheet, "%s", name);
	}
	chosen->n_compared = n > 1 ? n : 0;
}

static bool start_of(const json_t *report, int64_t *ret_utc_ns)
{
	const char *text = wtl_plot_json_text(report, "start_utc");

	return text && wtl_date_parse_utc(text, strlen(text), ret_utc_ns) == 0;
}

bool wtl_plot_reports_begin(const struct wtl_plot_reports *reports, int64_t *ret_utc_ns)
{
	int64_t first_ns = INT64_MAX, start_ns;
	const json_t *report;
	bool any = false;
	size_t i;

	json_array_foreach(reports->list, i, report)
	{
		if (!start_of(report, &start_ns))
			continue;
		any = true;
		first_ns = start_ns < first_ns ? start_ns : first_ns;
	}
	if (any)
		*ret_utc_ns = first_ns;
	return any;
}

/* A report without a start time is outside any time range. */
static bool is_in_time(const struct wtl_plot_wanted *wanted, const json_t *report)
{
	int64_t start_ns;

	if (!wanted->has_from && !wanted->has_to)
		return true;
	return start_of(report, &start_ns) &&
	       (!wanted->has_from || start_ns >= wanted->from_utc_ns) &&
	       (!wanted->has_to || start_ns <= wanted->to_utc_ns);
}

static int choose(const struct wtl_plot_reports *all, struct wtl_plot_chosen *chosen)
{
	size_t n = json_array_size(all->list), i;
	json_t *report;

	chosen->reports = wtl_plot_sheet_array(chosen->sheet, n + 1, sizeof(json_t *));
	if (!chosen->reports)
		return -ENOMEM;
	json_array_foreach(all->list, i, report)
	{
		if (!is_in_time(chosen->wanted, report))
			continue;
		chosen->reports[chosen->n++] = report;
		choose_domains(chosen, report);
	}
	choose_compared(chosen);
	return chosen->sheet->error;
}

/* A domain that was asked for and is in no report; NULL: there is none. */
static const char *missing(const struct wtl_plot_chosen *chosen)
{
	for (size_t i = 0; i < chosen->wanted->n_domains; i++) {
		const char *name = chosen->wanted->domains[i];
		bool found = false;

		for (size_t d = 0; d < chosen->n_domains; d++)
			found |= strcmp(chosen->domains[d], name) == 0;
		if (!found)
			return name;
	}
	return NULL;
}

/* ---- Common parts of figures ---- */

static void add_source(struct wtl_buf *buf, const json_t *domain)
{
	const char *source = wtl_plot_json_text(domain, "source");
	const char *method = wtl_plot_json_text(domain, "method");
	if (source && method)
		wtl_plot_put_source(buf, source, method);
}

/* "rapl-perf (counter), nvml (integrated)": of the drawn domains, in any of the runs. */
static const char *sources(const struct wtl_plot_chosen *chosen)
{
	struct wtl_buf buf;
	const char *text;

	wtl_buf_init(&buf, 400);
	for (size_t run = 0; run < chosen->n && !buf.error; run++)
		for (size_t i = 0; i < chosen->n_domains; i++)
			add_source(&buf,
				   wtl_plot_json_domain(chosen->reports[run], chosen->domains[i]));
	text = wtl_plot_sheet_printf(chosen->sheet, "%s", wtl_buf_str(&buf));
	wtl_buf_done(&buf);
	return text;
}

/* "2026-11-21 08:00:00 to 08:10:37 UTC"; "" if not known. */
static const char *time_text(const struct wtl_plot_chosen *chosen)
{
	int64_t from_ns = INT64_MAX, to_ns = INT64_MIN, start_ns;
	struct wtl_buf buf;
	const char *text;

	for (size_t i = 0; i < chosen->n; i++) {
		double duration_s = wtl_plot_json_number(chosen->reports[i], "duration_s");
		int64_t end_ns;

		if (!start_of(chosen->reports[i], &start_ns) ||
		    !(duration_s >= 0 && duration_s < 1e9))
			continue;
		from_ns = start_ns < from_ns ? start_ns : from_ns;
		if (__builtin_add_overflow(start_ns, (int64_t)(duration_s * 1e9), &end_ns))
			continue;
		to_ns = end_ns > to_ns ? end_ns : to_ns;
	}
	if (to_ns < from_ns)
		return "";
	chosen->sheet->figure.t_utc_ns = from_ns;
	wtl_buf_init(&buf, 128);
	wtl_plot_put_times(&buf, from_ns, to_ns);
	text = wtl_plot_sheet_printf(chosen->sheet, "%s", wtl_buf_str(&buf));
	wtl_buf_done(&buf);
	return text;
}

static void add_lines(const struct wtl_plot_chosen *chosen)
{
	const char **lines = wtl_plot_sheet_array(chosen->sheet, 1, sizeof(*lines));
	const char *from = sources(chosen), *time = time_text(chosen);
	const char *version = wtl_plot_json_text(chosen->reports[0], "version");

	if (!lines)
		return;
	lines[0] = wtl_plot_sheet_printf(chosen->sheet, "%s%s%s%swattle %.40s", from,
					 from[0] ? " · " : "", time, time[0] ? " · " : "",
					 version ? version : "?");
	chosen->sheet->figure.lines = lines;
	chosen->sheet->figure.n_lines = 1;
}

/* Sorts the reports by their start; those without a known start are left out. */
static int order_by_time(struct wtl_plot_chosen *chosen)
{
	int64_t *starts = wtl_plot_sheet_array(chosen->sheet, chosen->n + 1, sizeof(*starts));
	size_t n = 0;

	if (!starts)
		return -ENOMEM;
	for (size_t i = 0; i < chosen->n; i++) {
		json_t *report = chosen->reports[i];
		int64_t start_ns;
		size_t k = n;

		if (!start_of(report, &start_ns))
			continue;
		/* Insertion sort: those of a file are sorted already, and files mostly are. */
		for (; k > 0 && starts[k - 1] > start_ns; k--) {
			starts[k] = starts[k - 1];
			chosen->reports[k] = chosen->reports[k - 1];
		}
		starts[k] = start_ns;
		chosen->reports[k] = report;
		n++;
	}
	chosen->n = n;
	chosen->starts_utc_ns = starts;
	return n > 0 ? 0 : -ENODATA;
}

static int make(struct wtl_plot_chosen *chosen, enum wtl_plot_what what)
{
	int rc = what == WTL_PLOT_EMISSIONS ? order_by_time(chosen) : 0;

	if (rc < 0)
		return rc;
	add_lines(chosen);
	if (what == WTL_PLOT_EMISSIONS)
		return wtl_plot_report_emissions(chosen);
	if (what == WTL_PLOT_RUNS)
		rc = wtl_plot_report_runs(chosen);
	else if (what == WTL_PLOT_PROCESSES)
		rc = wtl_plot_report_consumers(chosen);
	else
		rc = wtl_plot_report_energies(chosen);
	return rc < 0 ? rc : chosen->sheet->error;
}

int wtl_plot_reports_figure(const struct wtl_plot_reports *reports,
			    const struct wtl_plot_wanted *wanted, struct wtl_plot_sheet *sheet,
			    struct wtl_err *err)
{
	struct wtl_plot_chosen chosen = {.wanted = wanted, .sheet = sheet};
	enum wtl_plot_what what = wanted->what;
	int rc = choose(reports, &chosen);

	if (rc == 0 && chosen.n == 0)
		return wtl_err_set(err, ENODATA, SOURCE, NULL, "there is nothing to plot: %s",
				   json_array_size(reports->list) ? "no run began in that time"
								  : "there are no runs");
	if (missing(&chosen))
		return wtl_err_set(err, EINVAL, SOURCE, NULL,
				   "no domain '%.40s' has a figure there", missing(&chosen));
	if (!wanted->has_what)
		what = chosen.n > 1 ? WTL_PLOT_RUNS : WTL_PLOT_WINDOWS;
	if (what == WTL_PLOT_POWER || what == WTL_PLOT_MEMORY)
		return wtl_err_set(
			err, EINVAL, SOURCE, NULL,
			"a report has no %s over time, one recording has; of reports, "
			"and of several files, --what runs and windows can be plotted, and "
			"of one report --what processes",
			wtl_plot_whats[what]);
	if (what == WTL_PLOT_PROCESSES && chosen.n > 1)
		return wtl_err_set(err, EINVAL, SOURCE, NULL,
				   "--what processes is of one report, and these are %zu",
				   chosen.n);
	if (rc == 0)
		rc = make(&chosen, what);
	if (rc == -ENODATA)
		return wtl_err_set(err, rc, SOURCE, NULL, "there is nothing to plot: %s",
				   what == WTL_PLOT_PROCESSES ? "no process has any energy there"
							      : "no domain has a figure there");
	return rc < 0 ? wtl_err_set(err, rc, SOURCE, NULL, "out of memory") : 0;
}
