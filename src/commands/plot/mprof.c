/* SPDX-License-Identifier: MIT */
#include "commands/plot/mprof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "document/format.h"

#define SOURCE	 "mprof"
#define FILE_MAX (256u << 20)
#define MIB	 1048576.0

enum { SERIES_MAX = 10000 };

/* ---- Lines ---- */

/* "MEM 12.5 1700000000.5", or "CHLD 4711 12.5 1700000000.5". */
struct line {
	long pid; /* 0: a MEM line */
	double bytes;
	int64_t t_utc_ns;
};

/* A number from 0 to 1e12. */
static bool read_number(char **at, double *ret_value)
{
	char *end;

	*ret_value = strtod(*at, &end);
	if (end == *at || !(*ret_value >= 0.0 && *ret_value < 1e12) ||
	    (*end != ' ' && *end != '\0' && *end != '\r'))
		return false;
	*at = end;
	return true;
}

/* 1; 0: a line without a size; -1: not a line of mprof's. */
static int read_line(char *text, struct line *ret_line)
{
	static const char *const others[] = {"CMDLINE", "FUNC ", "SAMPLE_INTERVAL", "#"};
	double pid = 0.0, mib, seconds;
	char *at = text + 4;
	bool is_child = strncmp(text, "CHLD ", 5) == 0;

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (strncmp(text, others[i], strlen(others[i])) == 0)
			return 0;
	if (text[strspn(text, " \r")] == '\0')
		return 0;
	if (!is_child && strncmp(text, "MEM ", 4) != 0)
		return -1;
	if (is_child && (!read_number(&at, &pid) || pid < 1.0 || pid > 4194304.0))
		return -1;
	if (!read_number(&at, &mib) || !read_number(&at, &seconds) || seconds > 9e9)
		return -1;
	*ret_line = (struct line){(long)pid, mib * MIB, (int64_t)(seconds * 1e9)};
	return 1;
}

/* ---- Series ---- */

struct series {
	long pid;
	struct wtl_plot_point *points;
	size_t n, room;
	double peak;
};

struct mprof {
	struct wtl_plot_sheet *sheet;
	const struct wtl_plot_wanted *wanted;
	struct series *all;
	size_t n, room;
	const char *command;
};

static struct series *find_series(struct mprof *mprof, long pid)
{
	struct series *series;

	for (size_t i = mprof->n; i-- > 0;) /* lines of one process are mostly in sequence */
		if (mprof->all[i].pid == pid)
			return &mprof->all[i];
	if (mprof->n == SERIES_MAX)
		return NULL;
	if (mprof->n == mprof->room) {
		size_t room = mprof->room ? 2 * mprof->room : 16;

		series = wtl_plot_sheet_array(mprof->sheet, room, sizeof(*series));
		if (!series)
			return NULL;
		if (mprof->n > 0)
			memcpy(series, mprof->all, mprof->n * sizeof(*series));
		mprof->all = series;
		mprof->room = room;
	}
	series = &mprof->all[mprof->n++];
	*series = (struct series){.pid = pid};
	return series;
}

static int add_point(struct mprof *mprof, const struct line *line)
{
	const struct wtl_plot_wanted *wanted = mprof->wanted;
	struct series *series;

	if ((wanted->has_from && line->t_utc_ns < wanted->from_utc_ns) ||
	    (wanted->has_to && line->t_utc_ns > wanted->to_utc_ns))
		return 0;
	series = find_series(mprof, line->pid);
	if (!series)
		return -ENOMEM;
	if (series->n > 0 && series->points[series->n - 1].x > line->t_utc_ns)
		return -EINVAL;
	if (series->n == series->room) {
		size_t room = series->room ? 2 * series->room : 64;
		struct wtl_plot_point *points =
			wtl_plot_sheet_array(mprof->sheet, room, sizeof(*points));

		if (!points)
			return -ENOMEM;
		if (series->n > 0)
			memcpy(points, series->points, series->n * sizeof(*points));
		series->points = points;
		series->room = room;
	}
	series->points[series->n++] =
		(struct wtl_plot_point){.x = line->t_utc_ns, .y = line->bytes};
	if (line->bytes > series->peak)
		series->peak = line->bytes;
	return 0;
}

static int read_lines(struct mprof *mprof, char *text, struct wtl_err *err)
{
	size_t number = 0;

	for (char *at = text, *next; *at; at = next) {
		size_t len = strcspn(at, "\n");
		struct line line;
		int rc;

		next = at + len + (at[len] == '\n');
		at[len] = '\0';
		number++;
		if (strncmp(at, "CMDLINE ", 8) == 0)
			mprof->command = wtl_plot_sheet_printf(mprof->sheet, "%.1000s", at + 8);
		rc = read_line(at, &line);
		if (rc > 0)
			rc = add_point(mprof, &line);
		if (rc == -ENOMEM)
			return wtl_err_set(err, ENOMEM, SOURCE, NULL,
					   "out of memory, or more than %d processes", SERIES_MAX);
		if (rc < 0)
			return wtl_err_set(err, WTL_EFORMAT, SOURCE, NULL,
					   "line %zu is not as mprof writes it%s", number,
					   rc == -EINVAL ? ": its time is before the line's above"
							 : "");
	}
	return 0;
}

/* ---- The figure ---- */

static int by_peak(const void *a, const void *b)
{
	const struct series *x = a, *y = b;

	if (!x->pid != !y->pid) /* the command itself first */
		return x->pid ? 1 : -1;
	if (x->peak != y->peak)
		return x->peak > y->peak ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static const char *bytes_text(struct wtl_plot_sheet *sheet, double bytes)
{
	struct wtl_buf buf;
	const char *text;

	wtl_buf_init(&buf, 64);
	wtl_format_bytes(&buf, (uint64_t)bytes);
	text = wtl_plot_sheet_printf(sheet, "%s", wtl_buf_str(&buf));
	wtl_buf_done(&buf);
	return text;
}

static void make_panel(struct mprof *mprof)
{
	struct wtl_plot_sheet *sheet = mprof->sheet;
	size_t top = mprof->wanted->top ? mprof->wanted->top : mprof->n;
	size_t n = mprof->n < top ? mprof->n : top;
	struct wtl_plot_series *drawn = wtl_plot_sheet_array(sheet, n, sizeof(*drawn));
	struct wtl_plot_panel *panel = wtl_plot_sheet_panels(sheet, 1);

	if (!drawn || !panel)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct series *series = &mprof->all[i];

		drawn[i] = (struct wtl_plot_series){
			.name = series->pid
					? wtl_plot_sheet_printf(sheet, "process %ld", series->pid)
					: "the command",
			.remark = i > 0 ? wtl_plot_sheet_printf(sheet, "peak %s",
								bytes_text(sheet, series->peak))
					: NULL, /* the level's caption has it */
			.points = series->points,
			.n = series->n,
			.is_total = !series->pid};
	}
	drawn[0].level =
		(struct wtl_plot_level){.is_known = true, .name = "peak", .y = mprof->all[0].peak};
	*panel = (struct wtl_plot_panel){.marks = WTL_PLOT_LINE,
					 .x = WTL_PLOT_X_UTC,
					 .label = "Memory",
					 .unit = "B",
					 .prefix = WTL_PLOT_BINARY,
					 .series = drawn,
					 .n_series = n};
	if (n < mprof->n)
		wtl_plot_sheet_note(sheet,
				    wtl_plot_sheet_printf(sheet, "%zu more processes with less.",
							  mprof->n - n));
	wtl_plot_sheet_note(sheet, "Resident set size: what several share is in each.");
}

static void set_times(struct wtl_plot_sheet *sheet, const struct series *first)
{
	const char **lines = wtl_plot_sheet_array(sheet, 1, sizeof(*lines));
	struct wtl_buf buf;

	if (!lines)
		return;
	wtl_buf_init(&buf, 256);
	wtl_plot_put_times(&buf, first->points[0].x, first->points[first->n - 1].x);
	lines[0] = wtl_plot_sheet_printf(sheet, "%s", wtl_buf_str(&buf));
	wtl_buf_done(&buf);
	sheet->figure.lines = lines;
	sheet->figure.n_lines = 1;
	sheet->figure.t_utc_ns = first->points[0].x;
}

int wtl_plot_mprof_figure(char *text, const struct wtl_plot_wanted *wanted,
			  struct wtl_plot_sheet *sheet, struct wtl_err *err)
{
	struct mprof mprof = {.sheet = sheet, .wanted = wanted, .command = ""};
	int rc = read_lines(&mprof, text, err);

	if (rc < 0)
		return rc;
	if (mprof.n == 0)
		return wtl_err_set(err, ENODATA, SOURCE, NULL, "there is no memory to plot in it");
	qsort(mprof.all, mprof.n, sizeof(*mprof.all), by_peak);
	sheet->figure.title = wtl_plot_sheet_printf(sheet, "Memory: %s",
						    mprof.command[0] ? mprof.command : "a program");
	sheet->figure.summary = wtl_plot_sheet_printf(
		sheet, "%s %s", mprof.n > 1 ? "the command's own peak" : "peak",
		bytes_text(sheet, mprof.all[0].peak));
	set_times(sheet, &mprof.all[0]);
	make_panel(&mprof);
	return sheet->error ? wtl_err_set(err, ENOMEM, SOURCE, NULL, "out of memory") : 0;
}

/* ---- The file ---- */

bool wtl_plot_is_mprof(const char *path)
{
	char head[8] = "";
	int fd = wtl_infile_open(path);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, head, sizeof(head));
	close(fd);
	return (n == 8 && memcmp(head, "CMDLINE ", 8) == 0) ||
	       (n >= 4 && memcmp(head, "MEM ", 4) == 0);
}

/* The time of the first size. 0: there is none. */
static int64_t begin_of(const char *text)
{
	char copy[256];

	for (const char *at = text; at; at = strchr(at, '\n')) {
		struct line line;

		at += *at == '\n';
		memcpy(copy, at, strnlen(at, sizeof(copy) - 1));
		copy[strnlen(at, sizeof(copy) - 1)] = '\0';
		copy[strcspn(copy, "\n")] = '\0';
		if (read_line(copy, &line) > 0)
			return line.t_utc_ns;
		if (!*at)
			break;
	}
	return 0;
}

static int find_wanted(struct wtl_app *app, const struct wtl_plot_settings *settings,
		       const char *text, struct wtl_plot_wanted *wanted)
{
	int64_t begin_ns = begin_of(text), from_ns, to_ns;

	*wanted = settings->wanted;
	if ((wanted->has_what && wanted->what != WTL_PLOT_MEMORY) || wanted->n_domains > 0 ||
	    wanted->by != WTL_PLOT_BY_PROCESS)
		return wtl_complain(
			app, "of a file of mprof, memory over time is all that can be drawn");
	if (wtl_plot_since(app, settings, begin_ns, &from_ns, &to_ns) < 0)
		return -EINVAL;
	wanted->has_from = settings->from.kind != WTL_WHEN_NOT;
	wanted->has_to = settings->to.kind != WTL_WHEN_NOT;
	wanted->from_utc_ns = begin_ns + from_ns;
	wanted->to_utc_ns = begin_ns + to_ns;
	return 0;
}

int wtl_plot_mprof(struct wtl_app *app, const char *path, const struct wtl_plot_settings *settings,
		   struct wtl_plot_sheet *sheet)
{
	struct wtl_err err = {.code = 0};
	struct wtl_plot_wanted wanted;
	struct wtl_buf buf;
	int rc;

	wtl_buf_init(&buf, FILE_MAX);
	rc = wtl_infile_read(path, &buf);
	if (rc < 0)
		wtl_complain(app, "'%s' cannot be read: %s", path, wtl_err_text(rc));
	else
		rc = find_wanted(app, settings, wtl_buf_str(&buf), &wanted) ? -EINVAL : 0;
	if (rc == 0) {
		rc = wtl_plot_mprof_figure(buf.data, &wanted, sheet, &err);
		if (rc < 0)
			wtl_complain(app, "'%s': %s", path, err.text);
	}
	wtl_buf_done(&buf);
	return rc < 0 ? WTL_EXIT_FAILED : 0;
}
