/* SPDX-License-Identifier: MIT */
#include "neural/papers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "neural/formula.h"
#include "neural/lines.h"

enum { PAPERS_MAX = 200, LINES_MAX = 1000 };

struct reader {
	struct wtl_lines lines;
	struct wtl_papers *papers;
	struct wtl_paper *paper;
	struct wtl_formula_names names;
};

static int evaluate(struct reader *reader, const char *formula, double *ret)
{
	const char *at;
	int rc = wtl_formula(&reader->names, formula, ret, &at);

	if (rc == -ENOENT)
		return wtl_lines_fail(&reader->lines, "no value has the name at '%.40s'", at);
	if (rc == -ERANGE)
		return wtl_lines_fail(&reader->lines, "its value is no finite number");
	if (rc < 0)
		return wtl_lines_fail(&reader->lines, "the formula cannot be read at '%.40s'", at);
	return 0;
}

static int new_line(struct reader *reader, enum wtl_paper_line_kind kind,
		    struct wtl_paper_line **ret)
{
	struct wtl_paper *paper = reader->paper;

	if (paper->n == LINES_MAX)
		return wtl_lines_fail(&reader->lines, "more than %d lines", LINES_MAX);
	if (wtl_array_reserve(&paper->lines, &paper->room, paper->n + 1, sizeof(**ret)) < 0)
		return -ENOMEM;
	*ret = &paper->lines[paper->n++];
	**ret = (struct wtl_paper_line){.kind = kind};
	return 0;
}

/* "let NAME = FORMULA" */
static int read_let(struct reader *reader)
{
	struct wtl_lines *lines = &reader->lines;
	const char *equals = strchr(lines->rest, '=');
	double value;

	if (lines->n < 4 || strcmp(lines->words[2], "=") != 0 || strlen(lines->words[1]) > 31)
		return wtl_lines_fail(lines, "'let NAME = FORMULA'");
	int rc = evaluate(reader, equals + 1, &value);
	return rc < 0 ? rc : wtl_formula_names_set(&reader->names, lines->words[1], value);
}

/* Half of the last digit of "0.734" is 0.0005. */
static double half_digit(const char *digits)
{
	const char *point = strchr(digits, '.');

	return 0.5 * pow(10, point ? -(double)strlen(point + 1) : 0);
}

/* Reads what follows "printed" or "expected": a value, and its tolerance. */
static int read_reference(struct reader *reader, char *tail, struct wtl_paper_line *line)
{
	char *state = NULL, *digits = strtok_r(tail, " ", &state);
	char *within = strtok_r(NULL, " ", &state), *part = strtok_r(NULL, " ", &state);
	char *percent = strtok_r(NULL, " ", &state);

	if (!digits)
		return wtl_lines_fail(&reader->lines, "'printed' or 'expected' has no value");
	int rc = wtl_lines_number(&reader->lines, digits, "what is printed or expected", -1e30,
				  1e30, &line->reference);
	if (rc < 0)
		return rc;
	wtl_text_copy(line->digits, sizeof(line->digits), digits);
	line->half_digit = half_digit(digits);
	if (within && strcmp(within, "within") == 0 && part && percent &&
	    strcmp(percent, "%") == 0) {
		rc = wtl_lines_number(&reader->lines, part, "a tolerance", 0, 100,
				      &line->tolerance);
		line->tolerance /= 100;
	} else if (within) {
		return wtl_lines_fail(&reader->lines, "'%s VALUE [within PART %%]'",
				      line->is_printed ? "printed" : "expected");
	}
	return rc;
}

static bool is_close(const struct wtl_paper_line *line)
{
	double off = fabs(line->derived - line->reference);

	if (line->tolerance > 0)
		return off <= line->tolerance * fabs(line->reference);
	return off <= line->half_digit * (1 + 1e-9);
}

/* "row TEXT = FORMULA [in UNIT] printed|expected VALUE [within PART %]" */
static int read_row(struct reader *reader)
{
	static const char printed[] = " printed ", expected[] = " expected ";
	struct wtl_lines *lines = &reader->lines;
	char rest[WTL_LINE_MAX + 1];
	struct wtl_paper_line *line;

	memcpy(rest, lines->rest, strlen(lines->rest) + 1);
	char *equals = strstr(rest, " = "), *reference = equals ? strstr(equals, printed) : NULL;
	bool is_printed = reference != NULL;
	if (equals && !reference)
		reference = strstr(equals, expected);
	if (!reference)
		return wtl_lines_fail(lines,
				      "'row TEXT = FORMULA [in UNIT] printed VALUE [within PART "
				      "%%]', or 'expected VALUE'");
	*equals = *reference = '\0';
	reference += strlen(is_printed ? printed : expected);
	int rc = new_line(reader, WTL_PAPER_ROW, &line);
	if (rc < 0)
		return rc;
	char *unit = strstr(equals + 3, " in ");
	if (unit) {
		*unit = '\0';
		wtl_text_copy(line->unit, sizeof(line->unit), unit + 4);
	}
	line->is_printed = is_printed;
	wtl_text_copy(line->text, sizeof(line->text), rest);
	wtl_text_copy(line->formula, sizeof(line->formula), equals + 3);
	rc = evaluate(reader, equals + 3, &line->derived);
	if (rc == 0)
		rc = read_reference(reader, reference, line);
	line->agrees = rc == 0 && is_close(line);
	return rc;
}

static int read_text(struct reader *reader, enum wtl_paper_line_kind kind)
{
	struct wtl_paper_line *line;
	int rc = new_line(reader, kind, &line);

	if (rc == 0)
		wtl_text_copy(line->text, sizeof(line->text), reader->lines.rest);
	return rc;
}

static int read_paper(struct reader *reader)
{
	struct wtl_papers *papers = reader->papers;

	if (reader->lines.n != 2 || strlen(reader->lines.words[1]) > 47)
		return wtl_lines_fail(&reader->lines, "'paper' is followed by its name");
	if (papers->n == PAPERS_MAX)
		return wtl_lines_fail(&reader->lines, "more than %d papers", PAPERS_MAX);
	if (wtl_papers_find(papers, reader->lines.words[1]))
		return wtl_lines_fail(&reader->lines, "there are two of that name");
	if (wtl_array_reserve(&papers->papers, &papers->room, papers->n + 1,
			      sizeof(*papers->papers)) < 0)
		return -ENOMEM;
	reader->paper = &papers->papers[papers->n++];
	*reader->paper = (struct wtl_paper){0};
	wtl_text_copy(reader->paper->name, sizeof(reader->paper->name), reader->lines.words[1]);
	reader->names.n = 0;
	return 0;
}

static int read_statement(struct reader *reader)
{
	const char *word = reader->lines.words[0];

	if (strcmp(word, "paper") == 0)
		return read_paper(reader);
	if (!reader->paper)
		return wtl_lines_fail(&reader->lines, "begin with 'paper NAME'");
	if (strcmp(word, "let") == 0)
		return read_let(reader);
	if (strcmp(word, "row") == 0)
		return read_row(reader);
	if (strcmp(word, "anchor") == 0)
		return read_text(reader, WTL_PAPER_ANCHOR);
	if (strcmp(word, "missing") == 0)
		return read_text(reader, WTL_PAPER_MISSING);
	if (strcmp(word, "note") == 0)
		return read_text(reader, WTL_PAPER_NOTE);
	if (strcmp(word, "title") == 0)
		wtl_text_copy(reader->paper->title, sizeof(reader->paper->title),
			      reader->lines.rest);
	else if (strcmp(word, "source") == 0)
		wtl_text_copy(reader->paper->source, sizeof(reader->paper->source),
			      reader->lines.rest);
	else
		return wtl_lines_fail(&reader->lines, "'%s' is not known here", word);
	return 0;
}

int wtl_papers_parse(struct wtl_papers *papers, const char *text, size_t len, const char *file,
		     struct wtl_err *err)
{
	struct reader reader = {.papers = papers};
	int rc;

	wtl_lines_init(&reader.lines, text, len, file, err);
	while ((rc = wtl_lines_next(&reader.lines)) > 0) {
		rc = read_statement(&reader);
		if (rc < 0)
			break;
	}
	wtl_formula_names_done(&reader.names);
	if (rc == -ENOMEM)
		wtl_err_set(err, ENOMEM, "estimate", file, "no memory");
	return rc;
}

const struct wtl_paper *wtl_papers_find(const struct wtl_papers *papers, const char *name)
{
	for (size_t i = 0; i < papers->n; i++)
		if (strcmp(papers->papers[i].name, name) == 0)
			return &papers->papers[i];
	return NULL;
}

void wtl_papers_done(struct wtl_papers *papers)
{
	for (size_t i = 0; i < papers->n; i++)
		free(papers->papers[i].lines);
	free(papers->papers);
	*papers = (struct wtl_papers){0};
}
