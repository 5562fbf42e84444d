/* SPDX-License-Identifier: MIT */
/* Published figures come out of their inputs; formulas. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "unit.h"

#include "base/err.h"
#include "neural/formula.h"
#include "neural/papers.h"

static void test_formulas(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int rc;
		double value;
	} rows[] = {
		{"1 + 2 * 3", 0, 7},
		{"(1+2)*3", 0, 9},
		{"2^3^2", 0, 512},
		{"-2 ^ 2", 0, -4},
		{"1e3 / 4", 0, 250},
		{"1.5e-3*2", 0, .003},
		{"a_1 - 1", 0, 4},
		{"ceil(log2(5 + 1))", 0, 3},
		{"sqrt(16) ", 0, 4},
		{"8 - 3 - 2", 0, 3},
		{"", -EINVAL, 0},
		{"1 +", -EINVAL, 0},
		{"(1", -EINVAL, 0},
		{"1 2", -EINVAL, 0},
		{"b", -ENOENT, 0},
		{"1 / 0", -ERANGE, 0},
		{"ceil 3", -EINVAL, 0},
		{"1e999", -EINVAL, 0},
		{"((((((((((((((((((((((((((((((((((((((((((1", -EINVAL, 0},
	};
	struct wtl_formula_names names = {0};

	wtl_formula_names_set(&names, "a_1", 4);
	wtl_formula_names_set(&names, "a_1", 5);
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		double value = 0;
		const char *at;
		assert_int_equal(wtl_formula(&names, rows[i].text, &value, &at), rows[i].rc);
		if (!(fabs(value - rows[i].value) < 1e-12))
			fail_msg("%s is %g", rows[i].text, value);
	}
	wtl_formula_names_done(&names);
}

static void test_builtin(void **state)
{
	(void)state;
	struct wtl_papers papers = {0};
	struct wtl_err err = {.code = 0};
	size_t n_rows = 0, n_printed = 0, n_missing = 0, n_anchors = 0;

	if (wtl_papers_parse(&papers, wtl_neural_papers, strlen(wtl_neural_papers), "papers.txt",
			     &err) < 0)
		fail_msg("%s: %s", err.path, err.text);
	for (size_t i = 0; i < papers.n; i++)
		for (size_t k = 0; k < papers.papers[i].n; k++) {
			const struct wtl_paper_line *line = &papers.papers[i].lines[k];
			n_rows += line->kind == WTL_PAPER_ROW;
			n_printed += line->is_printed;
			n_missing += line->kind == WTL_PAPER_MISSING;
			n_anchors += line->kind == WTL_PAPER_ANCHOR;
			if (line->kind == WTL_PAPER_ROW && !line->agrees)
				fail_msg("%s, %s: %.9g, not %s", papers.papers[i].name, line->text,
					 line->derived, line->digits);
		}
	assert_true(n_rows >= 45 && n_missing >= 4 && n_anchors >= 6);
	assert_true(n_printed >= 25 && n_printed < n_rows);
	assert_non_null(wtl_papers_find(&papers, "tc-lif"));
	assert_null(wtl_papers_find(&papers, "tc"));
	wtl_papers_done(&papers);
}

static const struct {
	const char *row;
	bool agrees;
} rows[] = {
	{"row a = 2.44 printed 2.44", true},
	{"row a = 2.4449 in mJ printed 2.44", true},
	{"row a = 2.446 printed 2.44", false},
	{"row a = 2843.4 printed 2843", true},
	{"row a = 2843.6 printed 2843", false},
	{"row a = 23.9 printed 23.8 within 0.5 %", true},
	{"row a = 24 printed 23.8 within 0.5 %", false},
	{"row a = 2.44 expected 2.44", true},
	{"row a = 24 in mJ expected 23.8 within 0.5 %", false},
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		struct wtl_papers papers = {0};
		char text[200] = "paper p\n";
		strcat(text, rows[i].row);
		assert_int_equal(wtl_papers_parse(&papers, text, strlen(text), "x", NULL), 0);
		assert_int_equal(papers.papers[0].lines[0].agrees, rows[i].agrees);
		assert_string_equal(papers.papers[0].lines[0].text, "a");
		assert_int_equal(papers.papers[0].lines[0].is_printed,
				 strstr(rows[i].row, "printed") != NULL);
		wtl_papers_done(&papers);
	}
}

static const struct {
	const char *text, *place, *error;
} bad[] = {
	{"row a = 1 printed 1\n", "x:1", "begin with 'paper NAME'"},
	{"paper p\nrow a = 1\n", "x:2", "printed VALUE"},
	{"paper p\nrow a = b printed 1\n", "x:2", "no value has the name at 'b'"},
	{"paper p\nrow a = 1 printed x\n", "x:2", "what is printed or expected is a number"},
	{"paper p\nrow a = 1 printed 1 about 3 %\n", "x:2", "[within PART %]"},
	{"paper p\nrow a = 1 expected\n", "x:2", "or 'expected VALUE'"},
	{"paper p\nlet a 1\n", "x:2", "'let NAME = FORMULA'"},
	{"paper p\nlet a = 1 / 0\n", "x:2", "no finite number"},
	{"paper p\nlet a = 1\npaper q\nlet b = a\n", "x:4", "no value has the name at 'a'"},
	{"paper p\npaper p\n", "x:2", "two of that name"},
	{"paper p\nspeed 3\n", "x:2", "'speed' is not known here"},
};

static void test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		struct wtl_papers papers = {0};
		struct wtl_err err = {.code = 0};
		int rc = wtl_papers_parse(&papers, bad[i].text, strlen(bad[i].text), "x", &err);
		assert_int_equal(rc, -WTL_EFORMAT);
		assert_string_equal(err.path, bad[i].place);
		if (!strstr(err.text, bad[i].error))
			fail_msg("'%s' does not say '%s'", err.text, bad[i].error);
		wtl_papers_done(&papers);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formulas),
		cmocka_unit_test(test_builtin),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
