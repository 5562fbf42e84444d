/* SPDX-License-Identifier: MIT */
/* perf stat -x, -I 1000 -e power/energy-pkg/,…: joules of each interval, by seconds since the start. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/date.h"
#include "base/err.h"
#include "base/num.h"
#include "energy/units.h"
#include "import/reader.h"
#include "import/text.h"

enum { CELLS_MAX = 16, SERIES = 64, GAIN_PPM = 30000 };

static const struct {
	const char *event, *domain, *inside;
	enum wattle_kind kind;
} events[] = {
	{"power/energy-pkg/", "package", NULL, WATTLE_KIND_CPU},
	{"power/energy-ram/", "dram", NULL, WATTLE_KIND_DRAM},
	{"power/energy-cores/", "core", "package", WATTLE_KIND_CORE},
	{"power/energy-gpu/", "uncore", "package", WATTLE_KIND_UNCORE},
	{"power/energy-psys/", "psys", NULL, WATTLE_KIND_PLATFORM},
};

enum { EVENTS = sizeof(events) / sizeof(events[0]) };

struct perf {
	struct wtl_import *import;
	uint64_t counters[WTL_IMPORT_SERIES_MAX]; /* by series */
	bool has_start;
};

/* A line about one event: time, socket (0 without --per-socket), joules and the event. */
struct row {
	int64_t t_ns;
	unsigned socket, event;
	struct wtl_cell joules;
	char separator;
};

static char separator_of(struct wtl_cell line)
{
	size_t i = 0;

	while (i < line.len && (line.text[i] == ' ' || line.text[i] == '.' ||
				(line.text[i] >= '0' && line.text[i] <= '9')))
		i++;
	return i < line.len ? line.text[i] : ',';
}

/* The columns depend on perf's options: joules come two before the event's name. */
static bool parse(struct wtl_cell line, struct row *ret)
{
	struct wtl_cell cells[CELLS_MAX];
	size_t n, at = SIZE_MAX;
	uint64_t t_ns, socket = 0;

	ret->separator = separator_of(line);
	n = wtl_cells(line, ret->separator, cells, CELLS_MAX);
	n = n < CELLS_MAX ? n : CELLS_MAX;
	for (unsigned i = 0; i < EVENTS && at == SIZE_MAX; i++) {
		at = wtl_cell_find(cells, n, events[i].event);
		ret->event = i;
	}
	if (at == SIZE_MAX || at < 3 || !wtl_cell_scaled(cells[0], 1e9, &t_ns) || t_ns == 0)
		return false;
	for (size_t i = 1; i + 2 < at; i++) {
		size_t len = 1;

		if (cells[i].len < 2 || cells[i].text[0] != 'S')
			continue;
		while (len < cells[i].len && cells[i].text[len] >= '0' && cells[i].text[len] <= '9')
			len++;
		wtl_num_u64(cells[i].text + 1, len - 1, &socket);
	}
	ret->t_ns = (int64_t)t_ns;
	ret->socket = (unsigned)(socket % 4096);
	ret->joules = cells[at - 2];
	return true;
}

static size_t series_of(struct perf *perf, const struct row *row)
{
	char domain[WTL_NAME_SIZE], inside[WTL_NAME_SIZE] = "";
	const struct wtl_import_key key = {.what = WTL_IMPORT_ENERGY_UJ,
					   .domain = domain,
					   .inside = inside,
					   .kind = events[row->event].kind,
					   .gain_ppm = GAIN_PPM};
	size_t n_before = perf->import->n_series, series;

	snprintf(domain, sizeof(domain), "%s-%u", events[row->event].domain, row->socket);
	if (events[row->event].inside)
		snprintf(inside, sizeof(inside), "%s-%u", events[row->event].inside, row->socket);
	series = wtl_import_series(perf->import, &key);
	/* The first interval begins with the file. */
	if (perf->import->n_series > n_before)
		wtl_import_put(perf->import, series, 0, 0);
	return series;
}

/* "# started on Mon Nov 23 15:00:00 2026", the machine's local time. */
static void take_start(struct perf *perf, struct wtl_cell line)
{
	static const char title[] = "# started on ";
	struct wtl_date date;

	if (perf->has_start || !wtl_cell_starts(line, title) ||
	    perf->import->options.start_ns != INT64_MIN)
		return;
	if (wtl_date_parse_asctime(line.text + sizeof(title) - 1, line.len - (sizeof(title) - 1),
				   &date) < 0)
		return;
	perf->import->options.start_ns = wtl_import_local(perf->import, wtl_date_utc_ns(&date));
	perf->has_start = true;
}

static void take_row(struct perf *perf, const struct row *row, size_t line)
{
	size_t series = series_of(perf, row);
	uint64_t energy_uj;

	if (series == SIZE_MAX)
		return;
	/* perf writes its locale's decimal point. */
	if (!wtl_cell_scaled_by(row->joules, row->separator, 1e6, &energy_uj)) {
		if (row->joules.len > 0 && row->joules.text[0] != '<')
			wtl_import_bad(perf->import, line, "%s cannot be '%.*s'",
				       events[row->event].event, (int)row->joules.len,
				       row->joules.text);
		/* "<not counted>": the use in that interval is not known. */
		perf->import->n_missing++;
		wtl_import_restart(perf->import, series, row->t_ns, perf->counters[series]);
		return;
	}
	if (energy_uj > UINT64_C(1) << 50) {
		wtl_import_bad(perf->import, line, "no processor uses so much in an interval");
		return;
	}
	perf->counters[series] += energy_uj;
	wtl_import_put(perf->import, series, row->t_ns, perf->counters[series]);
}

static int read_perf(struct wtl_import *import, const char *text, size_t len, struct wtl_err *err)
{
	struct wtl_import_lines lines = {.at = text, .end = text + len};
	struct perf *perf = calloc(1, sizeof(*perf));
	struct wtl_cell line;
	size_t n_others = 0;
	struct row row;

	(void)err;
	if (!perf)
		return import->error = -ENOMEM;
	perf->import = import;
	while (wtl_import_line(&lines, &line)) {
		if (line.len == 0)
			continue;
		if (line.text[0] == '#')
			take_start(perf, line);
		else if (parse(line, &row))
			take_row(perf, &row, lines.number);
		else if (memmem(line.text, line.len, "power/energy-", 13))
			wtl_import_bad(import, lines.number,
				       "it has no time, as perf stat -I writes");
		else
			n_others++;
	}
	if (n_others > 0)
		wtl_import_remark(import, "%zu lines are of other events than power/energy-…/",
				  n_others);
	wtl_import_begin_at_start(import);
	free(perf);
	return 0;
}

static bool is_perf(const char *head, size_t len)
{
	return memmem(head, len, "power/energy-", 13) && memmem(head, len, "Joules", 6);
}

const struct wtl_import_reader wtl_import_perf = {
	.name = "perf",
	.doc = "perf stat -x, -I … -e power/energy-pkg/",
	.is = is_perf,
	.read = read_perf,
};
