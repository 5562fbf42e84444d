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

/* is_number: it has one or is empty; words: what else it may have. */
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

struct row {
	unsigned int line;
	char text[COLUMNS][CELL_MAX];
	double number[COLUMNS]; /* NAN: empty */
};

struct linter {
	const char *at, *end, *file;
	struct wtl_err *err;
	unsigned int line;
	int column_of[COLUMNS * 2]; /* by place; -1: unknown to us */
	size_t n_places;
	struct row *rows;
	size_t n, room;
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

/* The next cell of a line, without its quotes. true: there is another one behind it. */
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

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; *at; at += strcspn(at, " "), at += *at == ' ')
		if (strcspn(at, " ") == len && strncmp(at, word, len) == 0)
			return true;
	return false;
}

static int set_cell(struct linter *linter, struct row *row, enum column column, const char *cell)
{
	wtl_text_copy(row->text[column], CELL_MAX, cell);
	if (cell[0] == '\0')
		return 0;
	if (columns[column].is_number &&
	    (wtl_num_double(cell, strlen(cell), &row->number[column]) < 0 ||
	     row->number[column] < 0))
		return fail(linter, "%s is a number of at least 0, not '%s'", columns[column].name,
			    cell);
	if (columns[column].words && !has_word(columns[column].words, cell))
		return fail(linter, "%s is one of: %s; not '%s'", columns[column].name,
			    columns[column].words, cell);
	if (column == PRECISION && wtl_precision_find(cell) == WTL_PRECISION_UNKNOWN)
		return fail(linter, "'%s' is no precision: fp32, int8, …", cell);
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
	memset(row, 0, sizeof(*row));
	row->line = linter->line;
	for (int i = 0; i < COLUMNS; i++)
		row->number[i] = (double)NAN;
	for (size_t i = 0; more; i++) {
		more = next_cell(&at, end, cell);
		if (i == linter->n_places)
			return fail(linter, "more cells than the first line has columns");
		int rc = set_cell(linter, row, (enum column)linter->column_of[i], cell);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* ---- Rules ---- */

static void find(struct linter *linter, const struct row *row, const char *rule, const char *format,
		 ...) __attribute__((format(printf, 4, 5)));

static void find(struct linter *linter, const struct row *row, const char *rule, const char *format,
		 ...)
{
	struct wtl_lint *to = linter->to;
	va_list args;

	if (wtl_array_reserve(&to->findings, &to->room, to->n + 1, sizeof(*to->findings)) < 0) {
		linter->error = -ENOMEM;
		return;
	}
	struct wtl_lint_finding *finding = &to->findings[to->n++];
	*finding = (struct wtl_lint_finding){.line = row->line, .rule = rule};
	wtl_text_copy(finding->row, sizeof(finding->row), row->text[ROW]);
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

static bool is(const struct row *row, enum column column, const char *word)
{
	return strcmp(row->text[column], word) == 0;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 0.01 * fabs(b);
}

/* Joules that a row's own inputs come to; NAN where they do not tell. */
static double expected(const struct row *row)
{
	double energy = row->number[OPERATIONS] * row->number[PRICE_PJ] * 1e-12;

	if (!is(row, KIND, "snn") || is(row, INPUT, "analog"))
		return energy;
	return energy * row->number[RATE] *
	       (is(row, RATE_PER, "inference") ? 1 : row->number[STEPS]);
}

/* What is printed, over what its inputs come to: each mistake leaves a factor of its own. */
static void check_factor(struct linter *linter, const struct row *row, double factor,
			 const char *what)
{
	double rate = row->number[RATE], steps = row->number[STEPS];

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

static const struct row *find_row(const struct linter *linter, const char *name)
{
	for (size_t i = 0; i < linter->n; i++)
		if (strcmp(linter->rows[i].text[ROW], name) == 0)
			return &linter->rows[i];
	return NULL;
}

static bool is_float(const struct row *row)
{
	return strstr(row->text[PRECISION], "fp") || is(row, PRECISION, "bf16");
}

static void check_baseline(struct linter *linter, const struct row *row)
{
	if (row->text[BASELINE][0] == '\0')
		return;
	const struct row *baseline = find_row(linter, row->text[BASELINE]);
	if (!baseline) {
		find(linter, row, "no-baseline", "there is no row '%s' to compare it with",
		     row->text[BASELINE]);
		return;
	}
	if (row->text[PRECISION][0] && baseline->text[PRECISION][0] &&
	    is_float(row) != is_float(baseline))
		find(linter, row, "precision-mixed",
		     "%s is compared with %s: much of the difference is the numbers', not the spikes'",
		     row->text[PRECISION], baseline->text[PRECISION]);
	if (row->text[SCOPE][0] && baseline->text[SCOPE][0] &&
	    strcmp(row->text[SCOPE], baseline->text[SCOPE]) != 0)
		find(linter, row, "scope-mixed", "an %s price is compared with a %s one",
		     row->text[SCOPE], baseline->text[SCOPE]);
	/* A ratio that is too high says that this row's energy was taken too low. */
	double ratio = expected(baseline) / expected(row);
	check_factor(linter, row, ratio / row->number[RATIO], "the ratio");
}

static void check_row(struct linter *linter, const struct row *row)
{
	bool is_spiking = is(row, KIND, "snn");
	bool has_rate = isfinite(row->number[RATE]);

	if (is_spiking && has_rate && row->text[RATE_PER][0] == '\0')
		find(linter, row, "rate-unlabelled",
		     "is the rate %g of a time step or of an inference? (rate_per)",
		     row->number[RATE]);
	if (is_spiking && is(row, RATE_PER, "step") && !isfinite(row->number[STEPS]))
		find(linter, row, "steps-missing",
		     "a rate of a time step needs the number of steps (steps)");
	if (is_spiking && is(row, INPUT, "analog") && is(row, OPERATION, "ac"))
		find(linter, row, "analog-as-ac",
		     "an input of numbers is multiplied: it takes MACs, not ACs");
	if (is(row, SCOPE, "all-in") && row->number[ROUTING_PJ] > 0)
		find(linter, row, "all-in-plus-routing",
		     "an all-in price has routing in it: %g pJ cannot be added",
		     row->number[ROUTING_PJ]);
	if (row->number[MACS] > 0 && near(row->number[FLOPS], row->number[MACS]))
		find(linter, row, "mac-as-flop", "FLOP are as many as MACs: a MAC is two of them");
	check_factor(linter, row, row->number[ENERGY_J] / expected(row), "the energy");
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
