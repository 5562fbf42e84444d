/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/config.h"
#include "base/err.h"
#include "base/infile.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "commands/plot/plot.h"
#include "commands/plot/recording.h"
#include "commands/plot/report.h"
#include "commands/report/runs_file.h"

#define REPORT_MAX (256u << 20)

/* 0, or negative after a complaint. */
static int add_file(struct wtl_app *app, const char *path, struct wtl_plot_reports *reports)
{
	bool is_standard_input = strcmp(path, "-") == 0;
	const char *name = is_standard_input ? "standard input" : path;
	struct wtl_err err = {.code = 0};
	struct wtl_buf buf;
	int rc;

	wtl_buf_init(&buf, REPORT_MAX);
	rc = is_standard_input ? wtl_infile_read_fd(STDIN_FILENO, &buf)
			       : wtl_infile_read(path, &buf);
	if (rc < 0) {
		wtl_complain(app, "'%s' cannot be read: %s", name, wtl_err_text(rc));
	} else {
		rc = wtl_plot_reports_add(reports, name, wtl_buf_str(&buf), buf.len, &err);
		if (rc < 0)
			wtl_complain(app, "'%s': %s", name, err.text);
	}
	wtl_buf_done(&buf);
	return rc;
}

/* Finds the times of --from and --to, which may refer to the start of the first run. */
static int find_time(struct wtl_app *app, const struct wtl_plot_settings *settings,
		     const struct wtl_plot_reports *reports, struct wtl_plot_wanted *wanted)
{
	int64_t begin_ns = 0, from_ns, to_ns;
	int rc;

	wtl_plot_reports_begin(reports, &begin_ns);
	rc = wtl_plot_since(app, settings, begin_ns, &from_ns, &to_ns);
	if (rc < 0)
		return rc;
	wanted->has_from = settings->from.kind != WTL_WHEN_NOT;
	wanted->has_to = settings->to.kind != WTL_WHEN_NOT;
	if (__builtin_add_overflow(begin_ns, from_ns, &wanted->from_utc_ns))
		wanted->from_utc_ns = from_ns < 0 ? INT64_MIN : INT64_MAX;
	if (__builtin_add_overflow(begin_ns, to_ns, &wanted->to_utc_ns))
		wanted->to_utc_ns = to_ns < 0 ? INT64_MIN : INT64_MAX;
	return 0;
}

static int make_figure(struct wtl_app *app, const struct wtl_plot_settings *settings,
		       const struct wtl_plot_reports *reports, struct wtl_plot_sheet *sheet)
{
	struct wtl_plot_wanted wanted = settings->wanted;
	struct wtl_err err = {.code = 0};
	int rc = find_time(app, settings, reports, &wanted);

	if (rc < 0)
		return rc;
	rc = wtl_plot_reports_figure(reports, &wanted, sheet, &err);
	if (rc < 0)
		wtl_complain(app, "%s", err.text);
	return rc;
}

static int add(struct wtl_app *app, const char *path, struct wtl_plot_reports *reports)
{
	if (HAVE_RECORDINGS && wtl_runs_file_is(path))
		return wtl_plot_add_rows(app, path, reports);
	if (!wtl_plot_is_recording(path))
		return add_file(app, path, reports);
	if (HAVE_RECORDINGS)
		return wtl_plot_add_runs(app, path, reports);
	wtl_complain(app, "'%s': %s", path, WTL_WITHOUT_RECORDINGS);
	return -ENOSYS;
}

int wtl_plot_load(struct wtl_app *app, const struct wtl_plot_settings *settings,
		  struct wtl_plot_sheet *sheet)
{
	struct wtl_plot_reports *reports;
	int rc;

	reports = wtl_plot_reports_new();
	rc = reports ? 0 : -ENOMEM;
	if (rc < 0)
		wtl_complain(app, "out of memory");
	for (size_t i = 0; rc == 0 && i < settings->words.n; i++)
		rc = add(app, settings->words.words[i], reports);
	if (rc == 0)
		rc = make_figure(app, settings, reports, sheet);
	wtl_plot_reports_free(reports);
	return rc < 0 ? WTL_EXIT_FAILED : 0;
}
