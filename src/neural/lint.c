/* SPDX-License-Identifier: MIT */
#include "neural/lint.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/num.h"
#include "base/text.h"
#include "neural/network.h"

enum { ROWS_MAX = 100000, CELL_MAX = 64 };

enum column {
	ROW,
	KIND,
	MACS,
	FLOPS,
	OPERATIONS,
	OPERATION,
	PRECISION,
	PRICE_PJ,
	RATE,
	RATE_PER,
	STEPS,
	INPUT,
	SCOPE,
	ROUTING_PJ,
	ENERGY_J,
	BASELINE,
	RATIO,
	COLUMNS
};

/* is_number: a number, or empty; words: the only words allowed. */
static const struct {
	const char *name, *words;
	bool is_number;
} columns[COLUMNS] = {
	[ROW] = {"row", NULL, false},
	[KIND] = {"as", "ann snn", false},
	[MACS] = {"macs", NULL, true},
	[FLOPS] = {"flops", NULL, true},
	[OPERATIONS] = {"operations", NULL, true},
	[OPERATION] = {"operation", "mac ac", false},
	[PRECISION] = {"precision", NULL, false},
	[PRICE_PJ] = {"price_pj", NULL, true},
	[RATE] = {"rate", NULL, true},
	[RATE_PER] = {"rate_per", "step inference", false},
	[STEPS] = {"steps", NULL, true},
	[INPUT] = {"input", "analog spikes", false},
	[SCOPE] = {"scope", "per-term all-in", false},
	[ROUTING_PJ] = {"routing_pj", NULL, true},
	[ENERGY_J] = {"energy_j", NULL, true},
	[BASELINE] = {"baseline", NULL, false},
	[RATIO] = {"ratio", NULL, true},
};

union cell {
	double number; /* NAN: empty */
	/* A word or precision: its spelling in the lists. A name: its place in the table. NULL: empty. */
	const char *at;
};

/* A table has up to ROWS_MAX rows, so texts are not copied. */
struct row {
	union cell cells[COLUMNS];
	unsigned int line;
};

struct linter {
	const char *at, *end, *file;
	struct wtl_err *err;
	unsigned int line;
	int column_of[COLUMNS * 2]; /* by position in the line */
	size_t n_places;
	struct row *rows;
	size_t n, room;
	struct wtl_hash names; /* of rows; the first one of each name */
	struct wtl_lint *to;
	int error;
};

static int fail(struct linter *linter, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int fail(struct linter *linter, const char *format, ...)
{
	char place[160], text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(place, sizeof(place), "%.140s:%u", linter->file, linter->line);
	return wtl_err_set(linter->err, WTL_EFORMAT, "estimate", place, "%s", text);
}

/* ---- CSV ---- */

/* The next cell of a line, unquoted. true: another one follows. */
static bool next_cell(const char **at, const char *end, char cell[CELL_MAX])
{
	size_t len = 0;
	bool is_quoted = *at < end && **at == '"';
	char raw[CELL_MAX * 4];

	if (is_quoted)
		++*at;
	while (*at < end && (is_quoted || **at != ',')) {
		char c = *(*at)++;
		if (is_quoted && c == '"') {
			if (*at >= end || **at != '"') {
				is_quoted = false;
				continue;
			}
			++*at;
		}
		if (len < sizeof(raw))
			raw[len++] = c;
	}
	wtl_text_clean(cell, CELL_MAX, raw, len);
	if (*at >= end)
		return false;
	++*at;
	return true;
}

/* The next line that is neither empty nor a comment. */
static bool next_line(struct linter *linter, const char **ret_at, const char **ret_end)
{
	while (linter->at < linter->end) {
		const char *from = linter->at;
		const char *newline = memchr(from, '\n', (size_t)(linter->end - from));
		const char *to = newline ? newline : linter->end;

		linter->at = newline ? newline + 1 : linter->end;
		linter->line++;
		to = from + wtl_text_trimmed(from, (size_t)(to - from));
		if (to > from && *from != '#') {
			*ret_at = from;
			*ret_end = to;
			return true;
		}
	}
	return false;
}

static int read_head(struct linter *linter)
{
	const char *at, *end;
	char cell[CELL_MAX];
	bool has_row = false, more = true;

	if (!next_line(linter, &at, &end))
		return fail(linter, "the table is empty: its first line names its columns");
	while (more) {
		int column = -1;
		more = next_cell(&at, end, cell);
		for (int i = 0; i < COLUMNS; i++)
			if (strcmp(cell, columns[i].name) == 0)
				column = i;
		if (column < 0)
			return fail(linter, "'%s' is no column of such a table", cell);
		if (linter->n_places == COLUMNS * 2)
			return fail(linter, "too many columns");
		linter->column_of[linter->n_places++] = column;
		has_row |= column == ROW;
	}
	return has_row ? 0 : fail(linter, "there is no column 'row'");
}

/* The word's place in a list of words; NULL: it is not there. */
static const char *find_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
		if (strcspn(at, " ") == len && strncmp(at, word, len) == 0)
			return at;
	return NULL;
}

/* Sets a cell that is not empty; at: where it begins in the table. */
static int set_cell(struct linter *linter, union cell *to, enum column column, const char *cell,
		    const char *at)
{
	if (columns[column].is_number) {
		if (wtl_num_double(cell, strlen(cell), &to->number) < 0 || to->number < 0)
			return fail(linter, "%s is a number of at least 0, not '%s'",
				    columns[column].name, cell);
	} else if (columns[column].words) {
		to->at = find_word(columns[column].words, cell);
		if (!to->at)
			return fail(linter, "%s is one of: %s; not '%s'", columns[column].name,
				    columns[column].words, cell);
	} else if (column == PRECISION) {
		enum wtl_precision precision = wtl_precision_find(cell);
		if (precision == WTL_PRECISION_UNKNOWN)
			return fail(linter, "'%s' is no precision: fp32, int8, …", cell);
		to->at = wtl_precision_names[precision];
	} else {
		to->at = at;
	}
	return 0;
}

/* Reads a name again from the table: a row's, or its baseline's. */
static const char *name_of(const struct linter *linter, const struct row *row, enum column column,
			   char name[CELL_MAX])
{
	const char *at = row->cells[column].at;
	const char *newline = at ? memchr(at, '\n', (size_t)(linter->end - at)) : NULL;

	name[0] = '\0';
	if (at)
		next_cell(&at, newline ? newline : linter->end, name);
	return name;
}

static bool is_name(const void *context, uint32_t value, const void *key)
{
	const struct linter *linter = context;
	char name[CELL_MAX];

	return strcmp(name_of(linter, &linter->rows[value], ROW, name), key) == 0;
}

static const struct row *find_row(const struct linter *linter, const char *name)
{
	const uint32_t *at =
		wtl_hash_find(&linter->names, wtl_hash_text(name), is_name, linter, name);

	return at ? &linter->rows[*at] : NULL;
}

static int add_name(struct linter *linter, const struct row *row)
{
	char name[CELL_MAX];

	name_of(linter, row, ROW, name);
	if (find_row(linter, name))
		return 0;
	if (wtl_hash_reserve(&linter->names, linter->names.n + 1) < 0)
		return -ENOMEM;
	wtl_hash_add(&linter->names, wtl_hash_text(name), (uint32_t)(row - linter->rows));
	return 0;
}

static int read_row(struct linter *linter, const char *at, const char *end)
{
	char cell[CELL_MAX];
	bool more = true;

	if (linter->n == ROWS_MAX)
		return fail(linter, "more than %d rows", ROWS_MAX);
	if (wtl_array_reserve(&linter->rows, &linter->room, linter->n + 1, sizeof(*linter->rows)) <
	    0)
		return -ENOMEM;
	struct row *row = &linter->rows[linter->n++];
	*row = (struct row){.line = linter->line};
	for (int i = 0; i < COLUMNS; i++)
		if (columns[i].is_number)
			row->cells[i].number = (double)NAN;
	for (size_t i = 0; more; i++) {
		const char *start = at;
		more = next_cell(&at, end, cell);
		if (i == linter->n_places)
			return fail(linter, "more cells than the first line has columns");
		enum column column = (enum column)linter->column_of[i];
		int rc = cell[0] ? set_cell(linter, &row->cells[column], column, cell, start) : 0;
		if (rc < 0)
			return rc;
	}
	return add_name(linter, row);
}

/* ---- Rules ---- */

static void find(struct linter *linter, const struct row *row, const char *rule, const char *format,
		 ...) __attribute__((format(printf, 4, 5)));

static void find(struct linter *linter, const struct row *row, const char *rule, const char *format,
		 ...)
{
	struct wtl_lint *to = linter->to;
	va_list args;

	if (to->n == WTL_LINT_FINDINGS_MAX) {
		to->n_more++;
		return;
	}
	if (wtl_array_reserve(&to->findings, &to->room, to->n + 1, sizeof(*to->findings)) < 0) {
		linter->error = -ENOMEM;
		return;
	}
	struct wtl_lint_finding *finding = &to->findings[to->n++];
	*finding = (struct wtl_lint_finding){.line = row->line, .rule = rule};
	name_of(linter, row, ROW, finding->row);
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

/* Whether a cell has that word or precision. */
static bool is(const struct row *row, enum column column, const char *word)
{
	const char *at = row->cells[column].at;
	size_t len = strlen(word);

	return at && strcspn(at, " ") == len && strncmp(at, word, len) == 0;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 0.01 * fabs(b);
}

/* Joules by the row's own inputs; NAN: some are missing. */
static double expected(const struct row *row)
{
	double energy = row->cells[OPERATIONS].number * row->cells[PRICE_PJ].number * 1e-12;

	if (!is(row, KIND, "snn") || is(row, INPUT, "analog"))
		return energy;
	return energy * row->cells[RATE].number *
	       (is(row, RATE_PER, "inference") ? 1 : row->cells[STEPS].number);
}

/* factor: the printed value over that of its inputs. Each mistake has a factor of its own. */
static void check_factor(struct linter *linter, const struct row *row, double factor,
			 const char *what)
{
	double rate = row->cells[RATE].number, steps = row->cells[STEPS].number;

	if (!isfinite(factor) || near(factor, 1))
		return;
	if (is(row, KIND, "snn") && near(factor, rate))
		find(linter, row, "rate-twice",
		     "the spike rate %g is in %s twice: it is %.3g times too good", rate, what,
		     1 / rate);
	else if (is(row, KIND, "snn") && near(factor, 1 / steps))
		find(linter, row, "steps-missing",
		     "the %g time steps are not in %s: it is %.3g times too good", steps, what,
		     steps);
	else if (is(row, KIND, "snn") && near(factor, steps))
		find(linter, row, "steps-twice", "the %g time steps are in %s twice", steps, what);
	else
		find(linter, row, "does-not-add-up",
		     "%s is %.4g times what operations, price, rate and steps come to", what,
		     factor);
}

static bool is_float(const struct row *row)
{
	return wtl_text_starts(row->cells[PRECISION].at, "fp") || is(row, PRECISION, "bf16");
}

static void check_baseline(struct linter *linter, const struct row *row)
{
	const union cell *cells = row->cells;
	char name[CELL_MAX];

	if (!cells[BASELINE].at)
		return;
	const struct row *baseline = find_row(linter, name_of(linter, row, BASELINE, name));
	if (!baseline) {
		find(linter, row, "no-baseline", "there is no row '%s' to compare it with", name);
		return;
	}
	const union cell *theirs = baseline->cells;
	if (cells[PRECISION].at && theirs[PRECISION].at && is_float(row) != is_float(baseline))
		find(linter, row, "precision-mixed",
		     "%s is compared with %s: much of the difference is the numbers', not the spikes'",
		     cells[PRECISION].at, theirs[PRECISION].at);
	if (cells[SCOPE].at && theirs[SCOPE].at && cells[SCOPE].at != theirs[SCOPE].at)
		find(linter, row, "scope-mixed", "an %s price is compared with a %s one",
		     is(row, SCOPE, "all-in") ? "all-in" : "per-term",
		     is(baseline, SCOPE, "all-in") ? "all-in" : "per-term");
	/* A ratio is too high if this row's energy was computed too low. */
	double ratio = expected(baseline) / expected(row);
	check_factor(linter, row, ratio / row->cells[RATIO].number, "the ratio");
}

static void check_row(struct linter *linter, const struct row *row)
{
	bool is_spiking = is(row, KIND, "snn");
	bool has_rate = isfinite(row->cells[RATE].number);

	if (is_spiking && has_rate && !row->cells[RATE_PER].at)
		find(linter, row, "rate-unlabelled",
		     "is the rate %g of a time step or of an inference? (rate_per)",
		     row->cells[RATE].number);
	if (is_spiking && is(row, RATE_PER, "step") && !isfinite(row->cells[STEPS].number))
		find(linter, row, "steps-missing",
		     "a rate of a time step needs the number of steps (steps)");
	if (is_spiking && is(row, INPUT, "analog") && is(row, OPERATION, "ac"))
		find(linter, row, "analog-as-ac",
		     "an input of numbers is multiplied: it takes MACs, not ACs");
	if (is(row, SCOPE, "all-in") && row->cells[ROUTING_PJ].number > 0)
		find(linter, row, "all-in-plus-routing",
		     "an all-in price has routing in it: %g pJ cannot be added",
		     row->cells[ROUTING_PJ].number);
	if (row->cells[MACS].number > 0 && near(row->cells[FLOPS].number, row->cells[MACS].number))
		find(linter, row, "mac-as-flop", "FLOP are as many as MACs: a MAC is two of them");
	check_factor(linter, row, row->cells[ENERGY_J].number / expected(row), "the energy");
	check_baseline(linter, row);
}

int wtl_lint_table(const char *text, size_t len, const char *file, struct wtl_lint *ret,
		   struct wtl_err *err)
{
	struct wtl_lint lint = {0};
	struct linter linter = {
		.at = text, .end = text + len, .file = file, .err = err, .to = &lint};
	const char *at, *end;
	int rc = read_head(&linter);

	while (rc == 0 && next_line(&linter, &at, &end))
		rc = read_row(&linter, at, end);
	for (size_t i = 0; rc == 0 && i < linter.n; i++) {
		check_row(&linter, &linter.rows[i]);
		rc = linter.error;
	}
	if (rc == -ENOMEM)
		wtl_err_set(err, ENOMEM, "estimate", file, "no memory for its rows");
	lint.n_rows = linter.n;
	free(linter.rows);
	wtl_hash_done(&linter.names);
	if (rc < 0)
		wtl_lint_done(&lint);
	else
		*ret = lint;
	return rc;
}

void wtl_lint_done(struct wtl_lint *lint)
{
	free(lint->findings);
	*lint = (struct wtl_lint){0};
}
