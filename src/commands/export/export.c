/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/outfile.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/sink.h"
#include "commands/export/export.h"
#include "commands/export/form.h"
#include "cli/option.h"
#include "cli/options.h"
#include "cli/recordings.h"
#include "report/missing.h"

/* Bytes that are gathered before they are written. */
enum { BLOCK = 1 << 16, ROW_MAX = 1 << 24 };

struct settings {
	struct wtl_option_list files;
	unsigned format;
	unsigned table;
	unsigned form; /* of form_names; 0: none */
};

static const struct wtl_export_table *const tables[] = {
	&wtl_export_samples, &wtl_export_power, &wtl_export_processes,
	&wtl_export_windows, &wtl_export_gaps,	&wtl_export_devices,
};
static const char *const table_names[] = {"samples", "power",	"processes", "windows",
					  "gaps",    "devices", NULL};

static const struct wtl_export_form *const forms[] = {
	&wtl_export_codecarbon, &wtl_export_aipowermeter, &wtl_export_zeus,
	&wtl_export_influx,	&wtl_export_perfetto,	  &wtl_export_prometheus,
};
static const char *const form_names[] = {"tables", "codecarbon", "aipowermeter", "zeus",
					 "influx", "perfetto",	 "prometheus",	 NULL};

static const struct wtl_option options[] = {
	{"format", 'f', "FORMAT", "csv (default), json, or ndjson: one JSON object a line",
	 WTL_OPTION_WORD, WTL_OWN(struct settings, format), .words = wtl_writer_row_names},
	{"what", 0, "TABLE",
	 "samples (default: every reading of every sensor), power, processes, windows, gaps or "
	 "devices",
	 WTL_OPTION_WORD, WTL_OWN(struct settings, table), .words = table_names},
	{"to", 0, "FORM",
	 "What other tools read, instead of a table: codecarbon or zeus (windows), aipowermeter, "
	 "influx, perfetto or prometheus (over time)",
	 WTL_OPTION_WORD, WTL_OWN(struct settings, form), .words = form_names},
	{"output", 'o', "FILE", "Write the table to FILE instead of standard output",
	 WTL_OPTION_OUTPUT, WTL_SHARED(output_path), .what = "a file", .file = WTL_FILE_OUTPUT},
	{0},
};

static const struct wtl_option word = {"FILE", .kind = WTL_OPTION_LIST,
				       WTL_OWN(struct settings, files), .what = "a recording",
				       .takes = "recordings"};

/* ---- Writing ---- */

static int flush(struct wtl_outstream *stream, struct wtl_buf *buf, size_t least)
{
	int rc;

	if (buf->error)
		return buf->error;
	if (buf->len < least)
		return 0;
	rc = wtl_outstream_write(stream, wtl_buf_str(buf), buf->len);
	wtl_buf_clear(buf);
	return rc;
}

struct session {
	struct wtl_app *app;
	const struct wtl_export_table *const *tables; /* ended by NULL */
	struct wtl_export export;
	struct wtl_outstream stream;
};

static void remark_missing(const struct session *session)
{
	const struct settings *settings = session->app->own;
	const char *path = settings->files.words[0];
	char text[WTL_REMARK_SIZE];

	if (wtl_missing_dropped(session->export.history->reader, text))
		wtl_remark(session->app, "%s: %s", path, text);
	wtl_remark_missing(session->app, path, session->export.history);
}

/* Each table's begin(). */
static int begin_tables(struct session *session)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && session->tables[i]; i++) {
		session->export.table = &session->tables[i]->table;
		if (session->tables[i]->begin)
			rc = session->tables[i]->begin(&session->export);
	}
	return rc;
}

static int take(struct session *session, const struct wtl_played *played)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && session->tables[i]; i++) {
		session->export.table = &session->tables[i]->table;
		rc = session->tables[i]->take(&session->export, played);
	}
	return rc;
}

static void begin_output(struct wtl_export *export)
{
	if (export->form && export->form->begin)
		export->form->begin(export);
	else if (!export->form && export->writer->begin)
		export->writer->begin(&export->buf, export->table);
}

static void end_output(struct wtl_export *export)
{
	if (export->form && export->form->end)
		export->form->end(export);
	else if (!export->form && export->writer->end)
		export->writer->end(&export->buf, !export->has_rows);
}

static int write_rows(struct session *session, struct wtl_err *err)
{
	struct wtl_export *export = &session->export;
	struct wtl_played played;
	int rc = begin_tables(session), stepped = 1;

	while (rc == 0) {
		stepped = wtl_history_step(export->history, &played, err);
		if (stepped <= 0)
			break;
		rc = take(session, &played);
		if (rc == 0)
			rc = flush(&session->stream, &session->export.buf, BLOCK);
	}
	if (rc == 0)
		rc = stepped;
	if (rc == 0)
		rc = take(session, NULL);
	if (rc < 0)
		return rc;
	remark_missing(session);
	end_output(export);
	return flush(&session->stream, &session->export.buf, 0);
}

/* A closed pipe is no error: the reader has seen enough. */
static int complain(struct session *session, int rc, const struct wtl_err *err)
{
	const char *path = session->app->settings.output_path;

	if (err->code)
		wtl_complain_err(session->app, err);
	else if (rc != -EPIPE || path)
		wtl_complain(session->app, "cannot write the table to %s: %s",
			     path ? path : "standard output", wtl_err_text(rc));
	return rc;
}

static int write_table(struct session *session)
{
	const struct settings *settings = session->app->own;
	struct wtl_export *export = &session->export;
	struct wtl_err err = {.code = 0};
	int rc = wtl_outstream_open(&session->stream, session->app->settings.output_path,
				    session->app->settings.file_mode),
	    closed;

	if (rc < 0)
		return complain(session, rc, &err);
	wtl_buf_init(&session->export.buf, ROW_MAX);
	wtl_doc_init(&export->row);
	export->table = &session->tables[0]->table;
	export->writer = wtl_writer_find(wtl_writer_row_names[settings->format]);
	rc = export->form ? wtl_export_gather_new(export) : 0;
	if (rc == 0) {
		begin_output(export);
		rc = write_rows(session, &err);
	}
	closed = wtl_outstream_close(&session->stream, rc == 0);
	wtl_buf_done(&session->export.buf);
	wtl_doc_done(&export->row);
	free(export->seen_ns);
	free(export->marks);
	free(export->powers);
	wtl_export_gather_free(export);
	if (rc == 0)
		rc = closed;
	return rc < 0 ? complain(session, rc, &err) : 0;
}

static int run(struct wtl_app *app)
{
	const struct settings *settings = app->own;
	const struct wtl_export_table *const table[] = {tables[settings->table], NULL};
	struct session session = {.app = app, .tables = table};
	struct wtl_err err = {.code = 0};
	int rc;

	if (settings->files.n != 1) {
		wtl_complain(app, settings->files.n == 0
					  ? "which recording? As in: wattle export night.wattle"
					  : "one recording at a time");
		return WTL_EXIT_USAGE;
	}
	if (settings->form &&
	    (wtl_option_is_used(app, "--what") || wtl_option_is_used(app, "--format"))) {
		wtl_complain(app, "--to has a form of its own: no --what and no --format");
		return WTL_EXIT_USAGE;
	}
	if (wtl_option_check_output(app, settings->files.words[0]))
		return WTL_EXIT_USAGE;
	if (wtl_sink_check(app) < 0)
		return WTL_EXIT_FAILED;
	if (settings->form) {
		session.export.form = forms[settings->form - 1];
		session.tables = session.export.form->tables;
	}
	session.export.carbon = &app->settings.carbon;
	session.export.pue_milli = app->settings.pue_milli;
	if (wtl_history_open(settings->files.words[0], NULL, &session.export.history, &err) < 0) {
		wtl_complain_err(app, &err);
		return WTL_EXIT_FAILED;
	}
	rc = settings->form &&
			     !wtl_export_form_check(app, &session.export, settings->files.words[0])
		     ? -ENODATA
		     : write_table(&session);
	wtl_history_close(session.export.history);
	return rc < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

const struct wtl_command wtl_command_export = {
	.name = "export",
	.summary = "Write a recording for other tools",
	.synopsis = "[OPTION...] FILE",
	.description =
		"Writes what a recording holds as CSV or JSON, with stable columns: times in UTC and of "
		"the monotonic clock, energies in joules with six decimals, power in watts. Rows are "
		"written while the recording is read, so that its length does not matter.\n\n"
		"--to writes what other tools read instead: CodeCarbon's emissions.csv (with --location and "
		"--pue), ZeusMonitor's log file, AIPowerMeter's power_metrics.json, InfluxDB's line protocol, a "
		"trace for Perfetto, or OpenMetrics with times for Prometheus.",
	.examples = "wattle export night.wattle --what power -o night.csv\n"
		    "    energy and power of every domain over time\n\n"
		    "wattle export night.wattle --what processes -f ndjson | jq .full_j\n"
		    "    who used how much\n\n"
		    "wattle export night.wattle --to perfetto -o night.json\n"
		    "    power and windows on a timeline, for ui.perfetto.dev",
	.exit_status = "0\tdone\n"
		       "1\tthe recording cannot be read, or not all could be written\n"
		       "2\twrong options",
	.options = options,
	.shared = (const struct wtl_option *const[]){wtl_options_carbon, wtl_options_mode,
						     wtl_options_general, NULL},
	.word = &word,
	.settings_size = sizeof(struct settings),
	.usage_exit = WTL_EXIT_USAGE,
	.run = run,
};
