/* SPDX-License-Identifier: MIT */
/* CSV of wattmeters: any, with columns by name or by --columns; and OmegaWatt's, with several outlets. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/num.h"
#include "energy/units.h"
#include "import/reader.h"
#include "import/text.h"

enum { COLUMNS_MAX = 256, OUTLETS_MAX = 64, DATE_SIZE = 64 };

/* A wattmeter of class 1 (judgement: the file does not say). */
enum { GAIN_PPM = 10000 };

struct outlet {
	size_t at, series;
	double scale; /* to µW or µJ */
	bool is_energy;
};

struct wattmeter {
	struct wtl_import *import;
	char separator;
	size_t n_columns, time, is_ok; /* SIZE_MAX: there is no such column */
	size_t clock; /* the time of day, if `time` is only the date; else SIZE_MAX */
	bool has_titles;
	struct outlet outlets[OUTLETS_MAX];
	size_t n_outlets;
};

static const struct unit {
	const char *name;
	double scale;
	bool is_energy;
} units[] = {
	{"w", 1e6, false}, {"mw", 1e3, false},	{"kw", 1e9, false},
	{"j", 1e6, true},  {"wh", 3.6e9, true}, {"kwh", 3.6e12, true},
};

enum { UNITS = sizeof(units) / sizeof(units[0]) };

/* Is it an empty line, or a comment? */
static bool is_passed_over(struct wtl_cell line)
{
	return line.len == 0 || wtl_cell_is(line, "#") || wtl_cell_starts(line, "# ");
}

/* The separator: the first of these in the line of titles. */
static char separator_of(struct wtl_cell line)
{
	for (const char *c = ";\t,"; *c; c++)
		if (memchr(line.text, *c, line.len))
			return *c;
	return ',';
}

static int add_outlet(struct wattmeter *own, size_t at, const struct unit *unit, const char *domain)
{
	const struct wtl_import_key key = {
		.what = unit->is_energy ? WTL_IMPORT_ENERGY_UJ : WTL_IMPORT_POWER_UW,
		.domain = domain,
		.kind = WATTLE_KIND_BOARD,
		.gain_ppm = GAIN_PPM,
		.is_total = true,
	};

	if (own->n_outlets == OUTLETS_MAX)
		return -E2BIG;
	own->outlets[own->n_outlets++] =
		(struct outlet){.at = at,
				.series = wtl_import_series(own->import, &key),
				.scale = unit->scale,
				.is_energy = unit->is_energy};
	return 0;
}

/* ---- Which columns ---- */

/* "power_w", "Power [mW]", "watts": the unit is the last word of a name. */
static const struct unit *unit_of(struct wtl_cell title)
{
	static const char *const words[] = {"power", "watt", "watts", "energy"};
	size_t end = title.len, begin;

	while (end > 0 && (title.text[end - 1] == ']' || title.text[end - 1] == ')'))
		end--;
	begin = end;
	while (begin > 0 && !strchr("_ [(-", title.text[begin - 1]))
		begin--;
	if (begin > 0)
		for (size_t i = 0; i < UNITS; i++)
			if (strlen(units[i].name) == end - begin &&
			    strncasecmp(title.text + begin, units[i].name, end - begin) == 0)
				return &units[i];
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == title.len &&
		    strncasecmp(title.text, words[i], title.len) == 0)
			return &units[i < 3 ? 0 : 3];
	return NULL;
}

static bool is_time(struct wtl_cell title)
{
	static const char *const names[] = {"time",   "timestamp", "date",    "datetime",
					    "unix_s", "unix_ms",   "unix_us", "unix_ns",
					    "t_utc",  "#timestamp"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == title.len &&
		    strncasecmp(title.text, names[i], title.len) == 0)
			return true;
	return false;
}

static const char *domain_of(const struct wattmeter *own)
{
	return own->import->options.domain ? own->import->options.domain : "board-0";
}

static bool is_word(struct wtl_cell title, const char *word)
{
	return strlen(word) == title.len && strncasecmp(title.text, word, title.len) == 0;
}

/* Date and time of day may have a column each, in any order. */
static void take_time_column(struct wattmeter *own, const struct wtl_cell titles[], size_t i)
{
	if (own->time == SIZE_MAX) {
		own->time = i;
	} else if (own->clock == SIZE_MAX && is_word(titles[own->time], "date") &&
		   is_word(titles[i], "time")) {
		own->clock = i;
	} else if (own->clock == SIZE_MAX && is_word(titles[own->time], "time") &&
		   is_word(titles[i], "date")) {
		own->clock = own->time;
		own->time = i;
	}
}

static void find_columns(struct wattmeter *own, const struct wtl_cell titles[])
{
	for (size_t i = 0; i < own->n_columns; i++) {
		const struct unit *unit = unit_of(titles[i]);

		if (is_time(titles[i]))
			take_time_column(own, titles, i);
		else if (unit && own->n_outlets == 0)
			add_outlet(own, i, unit, domain_of(own));
	}
}

static size_t find_column(const struct wattmeter *own, const struct wtl_cell titles[],
			  struct wtl_cell name)
{
	uint64_t number;

	for (size_t i = 0; i < own->n_columns; i++)
		if (titles[i].len == name.len && memcmp(titles[i].text, name.text, name.len) == 0)
			return i;
	return wtl_num_u64(name.text, name.len, &number) == 0 && number >= 1 &&
			       number <= own->n_columns
		       ? (size_t)number - 1
		       : SIZE_MAX;
}

/* "time=Zeit", "power=P1:kw" */
static int take_wanted(struct wattmeter *own, const struct wtl_cell titles[], struct wtl_cell pair,
		       struct wtl_err *err)
{
	const char *equals = memchr(pair.text, '=', pair.len), *colon;
	const char *end = pair.text + pair.len;
	struct wtl_cell name = {equals ? equals + 1 : end, equals ? (size_t)(end - equals - 1) : 0};
	bool is_energy = wtl_cell_starts(pair, "energy=");
	const struct unit *unit = &units[is_energy ? 3 : 0];
	size_t at;

	colon = memrchr(name.text, ':', name.len);
	for (size_t i = 0; colon && i < UNITS; i++)
		if (strlen(units[i].name) == (size_t)(end - colon - 1) &&
		    strncasecmp(colon + 1, units[i].name, (size_t)(end - colon - 1)) == 0) {
			name.len = (size_t)(colon - name.text);
			unit = &units[i];
			break;
		}
	at = find_column(own, titles, name);
	if (at != SIZE_MAX && wtl_cell_starts(pair, "time="))
		own->time = at;
	else if (at != SIZE_MAX && (is_energy || wtl_cell_starts(pair, "power=")) &&
		 unit->is_energy == is_energy)
		return add_outlet(own, at, unit, domain_of(own));
	else
		return wtl_err_set(err, EINVAL, "import", NULL,
				   "--columns: '%.*s' names no column of it, or is none of time=, "
				   "power= and energy=",
				   (int)pair.len, pair.text);
	return 0;
}

/* ---- Rows ---- */

static bool time_of(const struct wattmeter *own, const struct wtl_cell cells[], int64_t *ret_ns)
{
	struct wtl_cell date = cells[own->time], clock;
	char both[DATE_SIZE];

	if (own->clock == SIZE_MAX)
		return wtl_cell_time(own->import, date, false, ret_ns);
	clock = cells[own->clock];
	if (date.len + 1 + clock.len > sizeof(both))
		return false;
	memcpy(both, date.text, date.len);
	both[date.len] = ' ';
	memcpy(both + date.len + 1, clock.text, clock.len);
	return wtl_cell_time(own->import, (struct wtl_cell){both, date.len + 1 + clock.len}, false,
			     ret_ns);
}

static void take_row(struct wattmeter *own, const struct wtl_cell cells[], size_t line)
{
	bool is_bad = own->is_ok != SIZE_MAX && wtl_cell_is(cells[own->is_ok], "0");
	int64_t t_ns;
	uint64_t value;

	if (!time_of(own, cells, &t_ns)) {
		wtl_import_bad(own->import, line, "column %zu is no time: '%.*s'", own->time + 1,
			       (int)cells[own->time].len, cells[own->time].text);
		return;
	}
	for (size_t i = 0; i < own->n_outlets; i++) {
		const struct outlet *outlet = &own->outlets[i];

		if (!is_bad &&
		    wtl_cell_scaled_by(cells[outlet->at], own->separator, outlet->scale, &value)) {
			wtl_import_put(own->import, outlet->series, t_ns, value);
			continue;
		}
		wtl_import_miss(own->import, outlet->series, t_ns, WATTLE_STATUS_FAILED);
		if (!is_bad && !wtl_cell_is_unknown(cells[outlet->at]))
			wtl_import_bad(own->import, line, "column %zu cannot be '%.*s'",
				       outlet->at + 1, (int)cells[outlet->at].len,
				       cells[outlet->at].text);
	}
}

static void read_rows(struct wattmeter *own, struct wtl_import_lines *lines)
{
	struct wtl_cell line, cells[COLUMNS_MAX];
	size_t n;

	while (wtl_import_line(lines, &line)) {
		n = wtl_cells(line, own->separator, cells, COLUMNS_MAX);
		if (n == own->n_columns)
			take_row(own, cells, lines->number);
		else if (!is_passed_over(line))
			wtl_import_bad(own->import, lines->number,
				       "it has %zu columns, and the first line has %zu", n,
				       own->n_columns);
	}
}

/* The first line has the titles. If it begins with a digit, it is a row of a time and watts, as the others are. */
static bool begin(struct wattmeter *own, struct wtl_import *import, struct wtl_import_lines *lines,
		  struct wtl_cell titles[])
{
	struct wtl_import_lines before = *lines;
	struct wtl_cell line;

	*own = (struct wattmeter){
		.import = import, .time = SIZE_MAX, .is_ok = SIZE_MAX, .clock = SIZE_MAX};
	do {
		before = *lines;
		if (!wtl_import_line(lines, &line))
			return false;
	} while (is_passed_over(line));
	own->separator = separator_of(line);
	own->n_columns = wtl_cells(line, own->separator, titles, COLUMNS_MAX);
	if (own->n_columns > COLUMNS_MAX)
		return false;
	own->has_titles = !(line.text[0] >= '0' && line.text[0] <= '9');
	if (!own->has_titles)
		*lines = before;
	return true;
}

static int read_wattmeter(struct wtl_import *import, const char *text, size_t len,
			  struct wtl_err *err)
{
	struct wtl_import_lines lines = {.at = text, .end = text + len};
	struct wtl_cell titles[COLUMNS_MAX], pairs[OUTLETS_MAX];
	struct wattmeter own;
	const char *wanted = import->options.columns;
	size_t n;
	int rc = 0;

	if (!begin(&own, import, &lines, titles))
		return wtl_err_set(err, WTL_EFORMAT, "import", NULL, "it has no line of titles");
	if (wanted) {
		n = wtl_cells((struct wtl_cell){wanted, strlen(wanted)}, ',', pairs, OUTLETS_MAX);
		for (size_t i = 0; rc == 0 && i < n && i < OUTLETS_MAX; i++)
			rc = take_wanted(&own, titles, pairs[i], err);
	} else if (own.has_titles) {
		find_columns(&own, titles);
	} else if (own.n_columns >= 2) {
		own.time = 0;
		add_outlet(&own, 1, &units[0], domain_of(&own));
	}
	if (rc < 0)
		return rc;
	if (own.time == SIZE_MAX || own.n_outlets == 0)
		return wtl_err_set(err, WTL_EFORMAT, "import", NULL,
				   "no column of its first line is a time, or none is a power: "
				   "--columns time=NAME,power=NAME says which");
	read_rows(&own, &lines);
	return 0;
}

/* Only for files that no other reader takes, with both columns. */
static bool is_wattmeter(const char *head, size_t len)
{
	struct wtl_import_lines lines = {.at = head, .end = head + len};
	struct wtl_cell titles[COLUMNS_MAX];
	bool has_time = false, has_power = false;
	struct wattmeter own;

	if (!begin(&own, NULL, &lines, titles) || !own.has_titles)
		return false;
	for (size_t i = 0; i < own.n_columns; i++) {
		has_time |= is_time(titles[i]);
		has_power |= unit_of(titles[i]) != NULL;
	}
	return has_time && has_power;
}

/* ---- OmegaWatt: "#timestamp,#frame_is_ok,#U1,…,#activepow1,…" ---- */

static int read_omegawatt(struct wtl_import *import, const char *text, size_t len,
			  struct wtl_err *err)
{
	static const char power[] = "#activepow";
	struct wtl_import_lines lines = {.at = text, .end = text + len};
	struct wtl_cell titles[COLUMNS_MAX];
	char domain[WTL_NAME_SIZE];
	struct wattmeter own;

	if (!begin(&own, import, &lines, titles))
		return wtl_err_set(err, WTL_EFORMAT, "import", NULL, "it has no line of titles");
	own.time = wtl_cell_find(titles, own.n_columns, "#timestamp");
	own.is_ok = wtl_cell_find(titles, own.n_columns, "#frame_is_ok");
	for (size_t i = 0; i < own.n_columns; i++) {
		if (!wtl_cell_starts(titles[i], power))
			continue;
		snprintf(domain, sizeof(domain), "board-%zu", own.n_outlets);
		add_outlet(&own, i, &units[0], domain);
	}
	if (own.time == SIZE_MAX || own.n_outlets == 0)
		return wtl_err_set(err, WTL_EFORMAT, "import", NULL,
				   "its first line names no #timestamp or no #activepow1");
	read_rows(&own, &lines);
	return 0;
}

static bool is_omegawatt(const char *head, size_t len)
{
	return memmem(head, len, "#frame_is_ok", 12) && memmem(head, len, "#activepow", 10);
}

const struct wtl_import_reader wtl_import_omegawatt = {
	.name = "omegawatt",
	.doc = "OmegaWatt's CSV",
	.is = is_omegawatt,
	.read = read_omegawatt,
};

const struct wtl_import_reader wtl_import_wattmeter = {
	.name = "wattmeter",
	.doc = "CSV with a time and a power or an energy: see --columns",
	.is = is_wattmeter,
	.read = read_wattmeter,
};
