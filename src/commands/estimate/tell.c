/* SPDX-License-Identifier: MIT */
#include "commands/estimate/tell.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/sink.h"
#include "text/layout.h"
#include "text/report_text.h"

enum { OUTPUT_MAX = 64 << 20, DIGITS = 7, DECIMALS_MAX = 18, LINE_SIZE = 800 };

int wtl_estimate_open_io(struct wtl_app *app, struct wtl_io **ret)
{
	struct wtl_err err = {.code = 0};
	int rc = wtl_io_real_new(NULL, ret, &err);

	if (rc < 0)
		wtl_complain_err(app, &err);
	else
		(*ret)->file_mode = app->settings.file_mode;
	return rc;
}

int wtl_estimate_tell(struct wtl_app *app, const struct wtl_thing *thing, const void *what)
{
	const struct wtl_result result = {.thing = thing, .what = what, .max = OUTPUT_MAX};
	struct wtl_io *io;

	if (wtl_sink_check(app) < 0 || wtl_estimate_open_io(app, &io) < 0)
		return WTL_EXIT_FAILED;
	int rc = wtl_sink_write(app, io, &result);
	wtl_io_free(io);
	return rc < 0 ? WTL_EXIT_FAILED : WTL_EXIT_DONE;
}

void wtl_estimate_put_si(struct wtl_buf *buf, double value, const char *unit,
			 const struct wtl_output_style *style)
{
	static const char *const prefixes[] = {"p", "n", "µ", "m", "", "k", "M", "G", "T"};
	size_t prefix = value == 0 ? 4 : 0;

	value *= 1e12;
	while (value >= 999.5 && prefix + 1 < sizeof(prefixes) / sizeof(*prefixes)) {
		value /= 1000;
		prefix++;
	}
	wtl_buf_printf(buf, "%.*f ",
		       value == 0	? 0
		       : value >= 99.95 ? 0
		       : value >= 9.995 ? 1
					: 2,
		       value);
	wtl_layout_text(buf, prefixes[prefix], style);
	wtl_layout_text(buf, unit, style);
}

void wtl_estimate_put_number(struct wtl_node *to, const char *key, double value)
{
	int decimals =
		value != 0 && isfinite(value) ? DIGITS - 1 - (int)floor(log10(fabs(value))) : 0;

	if (decimals > DECIMALS_MAX)
		decimals = DECIMALS_MAX;
	wtl_doc_double(to, key, value, decimals < 0 ? 0 : (unsigned)decimals);
}

/* Copies the next line of a text, cut to the room there is. false: there is none. */
static bool next_line(const char **at, char *line, size_t size)
{
	size_t len = strcspn(*at, "\n"), kept = len < size ? len : size - 1;

	if (**at == '\0')
		return false;
	memcpy(line, *at, kept);
	line[kept] = '\0';
	*at += len + ((*at)[len] == '\n');
	return true;
}

void wtl_estimate_put_lines(struct wtl_node *to, const char *key, const char *lines)
{
	struct wtl_node *list = wtl_doc_list(to, key);
	char line[LINE_SIZE];

	while (next_line(&lines, line, sizeof(line)))
		wtl_doc_text(list, NULL, line);
}

static bool has_line(const char *lines, const char *line)
{
	char other[LINE_SIZE];
	bool has = false;

	while (!has && next_line(&lines, other, sizeof(other)))
		has = strcmp(other, line) == 0;
	return has;
}

void wtl_estimate_put_remarks(const struct wtl_report_text *text, const char *lines,
			      const char *said)
{
	char line[LINE_SIZE];

	while (next_line(&lines, line, sizeof(line)))
		if (!has_line(said, line))
			wtl_report_text_remark(text, WTL_TEXT_NOTE, "%s", line);
}
