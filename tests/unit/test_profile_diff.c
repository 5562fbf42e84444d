/* SPDX-License-Identifier: MIT */
/* How sure a difference of two profiles is. */
#include <math.h>
#include <string.h>

#include "commands/profile/diff.h"
#include "commands/profile/label.h"
#include "unit.h"

enum { RUNS_MAX = 6, WHOLE = 1 };

struct bench {
	struct wtl_saved runs[RUNS_MAX];
	struct wtl_diff_cell cells[2 * RUNS_MAX]; /* of one function, and of whole runs */
	struct wtl_diff diff;
};

/* A function with that energy and as many samples, in a run of 100 J, 10000 samples and ± 10 %. */
static void add_run(struct bench *bench, uint64_t energy_uj, uint64_t n)
{
	struct wtl_diff *diff = &bench->diff;
	size_t run = diff->n_runs++;

	bench->runs[run].profile.dynamic_uj = 100000000;
	bench->runs[run].profile.uncertainty_uj = 10000000;
	bench->cells[run] = (struct wtl_diff_cell){.values = {energy_uj}, .n_own = n};
	bench->cells[RUNS_MAX + run] =
		(struct wtl_diff_cell){.values = {100000000}, .n_own = 10000, .n_all = 10000};
}

/* The cells as they lie for that many runs. */
static struct wtl_difference_row row_of(struct bench *bench, size_t n_first, bool is_same)
{
	struct wtl_diff_cell cells[2 * RUNS_MAX];
	struct wtl_difference_row row;
	struct wtl_diff diff = bench->diff;

	for (size_t i = 0; i < diff.n_runs; i++) {
		cells[i] = bench->cells[i];
		cells[diff.n_runs + i] = bench->cells[RUNS_MAX + i];
	}
	diff.runs = bench->runs;
	diff.cells = cells;
	diff.n_first = n_first;
	diff.functions.n = WHOLE;
	diff.is_same_machine = is_same;
	wtl_diff_row(&diff, 0, WTL_DIFF_OWN_UJ, &row);
	return row;
}

static bool is_near(double a, double b)
{
	return fabs(a - b) < 10.0;
}

static void test_samples_and_the_whole(void **state)
{
	struct bench bench = {.diff = {.n_runs = 0}};
	struct wtl_difference_row row;
	double seen, whole;

	(void)state;
	add_run(&bench, 50000000, 5000);
	add_run(&bench, 20000000, 2000);
	row = row_of(&bench, 1, false);
	seen = 0.5 * 50e6 * 50e6 / 5000 + 0.8 * 20e6 * 20e6 / 2000;
	whole = 2.5e6 * 2.5e6 + 1e6 * 1e6;
	assert_true(is_near(row.change, -30e6));
	assert_true(is_near(row.uncertainty, 2.0 * sqrt(seen + whole)));
	assert_true(row.is_significant);
	/* The same sensors: half of it is 5 % (k = 1) of the difference alone. */
	row = row_of(&bench, 1, true);
	assert_true(is_near(row.uncertainty, 2.0 * sqrt(seen + (whole + 1.5e6 * 1.5e6) / 2.0)));
}

static void test_what_was_not_seen(void **state)
{
	struct bench bench = {.diff = {.n_runs = 0}};

	(void)state;
	add_run(&bench, 20000, 2);
	add_run(&bench, 0, 0);
	assert_false(row_of(&bench, 1, true).is_significant);
	/* No sample: up to 3 may have been missed. */
	assert_true(row_of(&bench, 1, true).uncertainty >= 30000.0);
}

/* What the runs of a side spread by counts, not how many samples there were. */
static void test_several_runs(void **state)
{
	struct bench bench = {.diff = {.n_runs = 0}};
	struct wtl_difference_row row;

	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		add_run(&bench, 10000000 + 100000 * i, 1);
	for (uint64_t i = 0; i < 3; i++)
		add_run(&bench, 13000000 + 100000 * i, 1);
	row = row_of(&bench, 3, true);
	assert_true(is_near(row.change, 3e6));
	assert_true(row.is_significant);
	for (size_t i = 0; i < 3; i++)
		bench.cells[i].values[0] = 5000000 + 5000000 * i;
	assert_false(row_of(&bench, 3, true).is_significant);
}

/* A single run is taken to spread as those of the other side do: by 2 J here, whatever its samples say. */
static void test_one_run_against_several(void **state)
{
	struct bench bench = {.diff = {.n_runs = 0}};

	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		add_run(&bench, 10000000 + 2000000 * i, 5000);
	add_run(&bench, 16000000, 5000);
	for (size_t i = 0; i < RUNS_MAX; i++)
		bench.runs[i].profile.uncertainty_uj = 0;
	assert_true(is_near(row_of(&bench, 3, true).uncertainty, 4.302653 * 2e6 * sqrt(4.0 / 3.0)));
	assert_false(row_of(&bench, 3, true).is_significant);
	bench.cells[3].values[0] = 22000000;
	assert_true(row_of(&bench, 3, true).is_significant);
}

/* What users call a function. */
static void test_labels(void **state)
{
	static const struct {
		const char *shown, *name;
		enum wtl_label_match match;
	} rows[] = {
		{"heavy", "heavy", WTL_LABEL_BARE},
		{"heavy", "heav", WTL_LABEL_OTHER},
		{"heavy", "", WTL_LABEL_OTHER},
		{"", "heavy", WTL_LABEL_OTHER},
		{"heavy.constprop.0", "heavy", WTL_LABEL_SHORT},
		{"heavy.constprop.0", "heavy.constprop.0", WTL_LABEL_BARE},
		{"main (ab.c)", "main", WTL_LABEL_BARE},
		{"main (ab.c)", "main (ab.c)", WTL_LABEL_WHOLE},
		{"main (ab.c)", "main (dd.c)", WTL_LABEL_OTHER},
		{"work.isra.0 (ab.c)", "work (ab.c)", WTL_LABEL_WHOLE},
		{"fit (/a/train.py:12)", "fit", WTL_LABEL_BARE},
		{"fit (/a/train.py:12)", "fit (train.py)", WTL_LABEL_WHOLE},
		{"fit (/a/train.py:12)", "fit (train.py:12)", WTL_LABEL_WHOLE},
		{"fit (/a/train.py:12)", "fit (/a/train.py)", WTL_LABEL_WHOLE},
		{"fit (/a/train.py:12)", "fit (train.py:13)", WTL_LABEL_OTHER},
		{"fit (/a/b/train.py:12)", "fit (b/train.py)", WTL_LABEL_WHOLE},
		{"fit (/a/b/train.py:12)", "fit (b/train.py:12)", WTL_LABEL_WHOLE},
		{"fit (/a/b/train.py:12)", "fit (/b/train.py)", WTL_LABEL_OTHER},
		{"fit (/a/b/train.py:12)", "fit (rain.py)", WTL_LABEL_OTHER},
		{"fit (train.py:12)", "fit (/a/train.py:12)", WTL_LABEL_OTHER},
		{"work (/a/b/one.c)", "work (b/one.c)", WTL_LABEL_WHOLE},
		{"Model.fit (train.py:12)", "fit", WTL_LABEL_SHORT},
		{"main (<frozen site>:593)", "main", WTL_LABEL_BARE},
		{"int ns::foo(int, char const*) const", "foo", WTL_LABEL_SHORT},
		{"int ns::foo(int, char const*) const", "ns::foo", WTL_LABEL_BARE},
		{"int ns::foo(int, char const*) const", "int", WTL_LABEL_OTHER},
		{"void run<std::pair<int, long> >(int) (a.cpp)", "run<std::pair<int, long> >",
		 WTL_LABEL_BARE},
		{"(anonymous namespace)::foo(int) [clone .isra.0]", "foo", WTL_LABEL_BARE},
		{"(anonymous namespace)::foo(int)", "(anonymous namespace)::foo", WTL_LABEL_BARE},
		{"ns::(anonymous namespace)::foo(int)", "foo", WTL_LABEL_SHORT},
		{"foo(int)", "foo", WTL_LABEL_BARE},
		{"foo(int) [clone .lto_priv.1]", "foo", WTL_LABEL_BARE},
		{"foo(int) [clone .lto_priv.1]", "foo(int)", WTL_LABEL_SHORT},
		{"rust::work", "work", WTL_LABEL_SHORT},
		{"rust::work::<rust::Part, 3>", "work", WTL_LABEL_SHORT},
		{"rust::work::<rust::Part, 3>", "rust::work", WTL_LABEL_SHORT},
		{"rust::work::<rust::Part, 3>", "rust", WTL_LABEL_OTHER},
		{"double ns::run<int>(int) const", "run", WTL_LABEL_SHORT},
		{"double ns::run<int>(int) const", "run<int>", WTL_LABEL_SHORT},
		{"operator>", "operator", WTL_LABEL_OTHER},
		{"operator<<(std::ostream&, int)", "operator<<(std::ostream&, int)",
		 WTL_LABEL_BARE},
		{"operator<<(std::ostream&, int) (a.cpp)", "operator<< (a.cpp)", WTL_LABEL_WHOLE},
		{"Vec::operator<(Vec const&) const", "operator<", WTL_LABEL_SHORT},
		{"Vec::operator<(Vec const&) const", "Vec::operator<", WTL_LABEL_BARE},
		{"Vec::operator<(Vec const&) const", "operator<<", WTL_LABEL_OTHER},
		{"Vec::operator<(Vec const&) const", "operator", WTL_LABEL_OTHER},
		{"Vec::operator<=>(Vec const&) const", "Vec::operator<=>", WTL_LABEL_BARE},
		{"Vec::operator<=>(Vec const&) const", "Vec::operator<=", WTL_LABEL_OTHER},
		{"Vec::operator->()", "Vec::operator->", WTL_LABEL_BARE},
		{"Vec::operator->*(int Vec::*)", "operator->*", WTL_LABEL_SHORT},
		{"Vec::operator->*(int Vec::*)", "operator->", WTL_LABEL_OTHER},
		{"Vec::operator()(double)", "Vec::operator()", WTL_LABEL_BARE},
		{"operator() (tmpl)", "operator()", WTL_LABEL_BARE},
		{"operator() (tmpl)", "operator() (tmpl)", WTL_LABEL_WHOLE},
		{"Vec::operator bool() const", "operator bool", WTL_LABEL_SHORT},
		{"Vec::operator bool() const (a.cpp)", "Vec::operator bool (a.cpp)",
		 WTL_LABEL_WHOLE},
		{"Vec::operator bool() const", "bool", WTL_LABEL_OTHER},
		{"V::operator std::vector<int, std::allocator<int> >() const",
		 "V::operator std::vector<int, std::allocator<int>>", WTL_LABEL_PART},
		{"V::operator int*<int>() const", "V::operator int*<int>", WTL_LABEL_BARE},
		{"V::operator new[](unsigned long)", "V::operator new[]", WTL_LABEL_BARE},
		{"V::operator new[](unsigned long)", "V::operator new", WTL_LABEL_OTHER},
		{"operator\"\" _v(unsigned long long)", "operator\"\"_v", WTL_LABEL_PART},
		{"bool operator< <int>(std::pair<int, int>, int)", "operator<", WTL_LABEL_SHORT},
		{"bool operator< <int>(std::pair<int, int>, int)", "operator< <int>",
		 WTL_LABEL_BARE},
		{"int operator><int>(int, V)", "operator>", WTL_LABEL_SHORT},
		{"int operator-<int>(int, V)", "operator->", WTL_LABEL_OTHER},
		{"std::ostream& std::operator<< <char>(std::ostream&, char)", "std::operator<<",
		 WTL_LABEL_SHORT},
		{"void run<&V::operator< >(int)", "run", WTL_LABEL_SHORT},
		{"void run<&V::operator bool>(int) (a.cpp)", "run (a.cpp)", WTL_LABEL_WHOLE},
		{"float p::(anonymous namespace)::reduce<float, std::vector<float> >(int)",
		 "reduce<float>", WTL_LABEL_PART},
		{"float p::(anonymous namespace)::reduce<float, std::vector<float> >(int)",
		 "reduce<float, std::vector<float>>", WTL_LABEL_PART},
		{"float p::(anonymous namespace)::reduce<float, std::vector<float> >(int)",
		 "reduce<float, std::vector>", WTL_LABEL_OTHER},
		{"float p::(anonymous namespace)::reduce<float, std::vector<float> >(int)",
		 "reduce<flo>", WTL_LABEL_OTHER},
		{"float p::(anonymous namespace)::reduce<float, std::vector<float> >(int)",
		 "p::reduce", WTL_LABEL_PART},
		{"float p::(anonymous namespace)::reduce<float, std::vector<float> >(int)",
		 "q::reduce", WTL_LABEL_OTHER},
		{"float p::(anonymous namespace)::reduce<float, std::vector<float> >(int)",
		 "p::(anonymous namespace)::reduce", WTL_LABEL_SHORT},
		{"(anonymous namespace)::foo", "foo", WTL_LABEL_SHORT},
		{"double p::Kernel<7>::operator()<main::{lambda(int)#2}>(int) [clone .isra.0]",
		 "Kernel<7>::operator()", WTL_LABEL_PART},
		{"double p::Kernel<7>::operator()<main::{lambda(int)#2}>(int) [clone .isra.0]",
		 "Kernel::operator()", WTL_LABEL_PART},
		{"double p::Kernel<7>::operator()<main::{lambda(int)#2}>(int) [clone .isra.0]",
		 "Kernel<9>::operator()", WTL_LABEL_OTHER},
		{"void run<std::pair<int, long> >(int)", "run<std::pair<int>", WTL_LABEL_OTHER},
		{"void run<std::pair<int, long> >(int)", "run<std::pair<int,long>>",
		 WTL_LABEL_PART},
		{"int a::b::run<int>(int) (a.cpp)", "b::run (a.cpp)", WTL_LABEL_PART},
		{"int a::b::run<int>(int) (a.cpp)", "b::run (b.cpp)", WTL_LABEL_OTHER},
		{"std::__cxx11::str[abi:cxx11](int)", "str", WTL_LABEL_PART},
		{"std::__cxx11::str[abi:cxx11](int)", "str[abi:cxx11]", WTL_LABEL_SHORT},
		{"std::__cxx11::str[abi:cxx11](int)", "str[abi:cxx17]", WTL_LABEL_OTHER},
		{"a::b::foo(int)", "b::foo", WTL_LABEL_PART},
		{"a::b::foo(int)", "a::foo", WTL_LABEL_OTHER},
		{"a::b::foo(int)", "::foo", WTL_LABEL_OTHER},
		{"a::b::foo(int)", "z::a::b::foo", WTL_LABEL_OTHER},
		{"<foo::Bar as foo::Baz>::run", "run", WTL_LABEL_SHORT},
		{"foo::bar::<fn(i8) -> u8, i32>", "foo::bar", WTL_LABEL_SHORT},
		{"ns::(anonymous namespace)::work(double)", "ns::work(double)", WTL_LABEL_PART},
		{"ns::(anonymous namespace)::work(double)", "work(double)", WTL_LABEL_PART},
		{"ns::(anonymous namespace)::work(double)", "work(int)", WTL_LABEL_OTHER},
		{"ns::(anonymous namespace)::work(double)", "work(doubl", WTL_LABEL_OTHER},
		{"ns::(anonymous namespace)::work(double)", "work()", WTL_LABEL_OTHER},
		{"ns::(anonymous namespace)::work(double)", "work(double) const", WTL_LABEL_OTHER},
		{"ns::(anonymous namespace)::work(double)", "int work(double)", WTL_LABEL_OTHER},
		{"n::S::operator<(n::S const&) const", "S::operator<(n::S const&) const",
		 WTL_LABEL_PART},
		{"n::S::operator<(n::S const&) const", "S::operator<(n::S const&)",
		 WTL_LABEL_OTHER},
		{"n::S::operator()(int) (a.cpp)", "S::operator()(int) (a.cpp)", WTL_LABEL_PART},
		{"n::S::operator()(int) (a.cpp)", "S::operator()(int) (b.cpp)", WTL_LABEL_OTHER},
		{"double n::A::tm<double>(double) [clone .isra.0]", "A::tm<double>(double)",
		 WTL_LABEL_PART},
		{"double n::A::tm<double>(double) [clone .isra.0]", "double A::tm(double)",
		 WTL_LABEL_PART},
		{"double n::A::tm<double>(double) [clone .isra.0]", "float A::tm(double)",
		 WTL_LABEL_OTHER},
		{"void n::run<std::pair<int, long> >(std::pair<int, long>)",
		 "run(std::pair<int,long>)", WTL_LABEL_PART},
		{"n::f(int)::{lambda(int)#1}::operator()(int) const",
		 "f(int)::{lambda(int)#1}::operator()", WTL_LABEL_PART},
		{"Model.Inner.train (c.py:12)", "Inner.train", WTL_LABEL_PART},
		{"Model.Inner.train (c.py:12)", "Inner.train (c.py)", WTL_LABEL_PART},
		{"Model.Inner.train (c.py:12)", "Inner.train (d.py)", WTL_LABEL_OTHER},
		{"Model.Inner.train (c.py:12)", "nner.train", WTL_LABEL_OTHER},
		{"Model.Inner.train (c.py:12)", "Model.train", WTL_LABEL_OTHER},
		{"Model.Inner.train (c.py:12)", "Inner", WTL_LABEL_OTHER},
		{"outer.<locals>.<lambda> (c.py:2)", "<lambda>", WTL_LABEL_SHORT},
		{"<lambda> (c.py:2)", "<lambda>", WTL_LABEL_BARE},
		{"outer.<locals>.A.<lambda> (c.py:2)", "A.<lambda>", WTL_LABEL_PART},
		{"main.(*Model).Train", "Train", WTL_LABEL_SHORT},
		{"main.(*Model).Train", "(*Model).Train", WTL_LABEL_PART},
		{"main.(*Model).Train", "Model.Train", WTL_LABEL_OTHER},
		{"main.Generic[go.shape.int]", "Generic[go.shape.int]", WTL_LABEL_SHORT},
		{"main.Generic[go.shape.int]", "shape.int]", WTL_LABEL_OTHER},
		{"m::deep::Model::train", "Model::train", WTL_LABEL_PART},
		{"log(char const*, ...)", ".)", WTL_LABEL_OTHER},
		{"operator (op.py:3)", "operator", WTL_LABEL_BARE},
		{"[python: unresolved]", "[python: unresolved]", WTL_LABEL_BARE},
		{")](<", ")](<", WTL_LABEL_BARE},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(rows); i++)
		if (wtl_label_match(rows[i].shown, rows[i].name, strlen(rows[i].name), true) !=
		    rows[i].match)
			fail_msg("'%s' for '%s'", rows[i].name, rows[i].shown);
	assert_int_equal(wtl_label_source_len("heavy.part.0.cold"), strlen("heavy"));
	assert_int_equal(wtl_label_source_len("foo(int) [clone .isra.0]"), strlen("foo(int)"));
	assert_int_equal(wtl_label_source_len("heavy"), strlen("heavy"));
	assert_int_equal(wtl_label_source_len("main.part.coldStart"),
			 strlen("main.part.coldStart"));
}

/* Of "fit (train.py)" no more may be known than the end of its path. */
static void test_files_whose_folder_is_not_known(void **state)
{
	static const struct {
		const char *name;
		enum wtl_label_match match;
	} rows[] = {
		{"fit (train.py)", WTL_LABEL_WHOLE},	 {"fit (/a/train.py)", WTL_LABEL_WHOLE},
		{"fit (a/train.py)", WTL_LABEL_WHOLE},	 {"fit (/a/strain.py)", WTL_LABEL_OTHER},
		{"fit (train.py/a)", WTL_LABEL_OTHER},	 {"fit (rain.py)", WTL_LABEL_OTHER},
		{"fit (/train.py:12)", WTL_LABEL_OTHER}, {"fit", WTL_LABEL_BARE}};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(rows); i++)
		if (wtl_label_match("fit (train.py)", rows[i].name, strlen(rows[i].name), false) !=
		    rows[i].match)
			fail_msg("'%s'", rows[i].name);
	assert_int_equal(wtl_label_match("fit", "fit (a.py)", 10, false), WTL_LABEL_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_and_the_whole),
		cmocka_unit_test(test_what_was_not_seen),
		cmocka_unit_test(test_several_runs),
		cmocka_unit_test(test_one_run_against_several),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_files_whose_folder_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
