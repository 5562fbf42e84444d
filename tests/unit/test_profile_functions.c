/* SPDX-License-Identifier: MIT */
/* What functions are called: short, but no two alike. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "profile/functions.h"
#include "profile/cxx_names.h"
#include "profile/rust_names.h"

static struct wtl_functions functions;
static const char programs[2];

static size_t add(struct wtl_function function)
{
	int64_t number;

	function.source = function.source ? function.source : "";
	function.module = function.module ? function.module : "";
	number = wtl_functions_add(&functions, &function);
	assert_true(number >= 0);
	/* The same one is there once. */
	assert_int_equal(wtl_functions_add(&functions, &function), number);
	return (size_t)number;
}

static void assert_text(size_t number, const char *text)
{
	assert_string_equal(wtl_functions_text(&functions, number), text);
}

static void test_names(void **state)
{
	const void *a = &programs[0], *b = &programs[1];
	size_t numbers[20], n = 0;

	(void)state;
	/* Alone of its name. */
	numbers[n++] = add((struct wtl_function){"main", "/src/main.c", "/bin/a", a, 0, 0});
	/* Two files, and two of one name. */
	numbers[n++] = add((struct wtl_function){"help", "/src/x/a.c", "/bin/a", a, 0, 0});
	numbers[n++] = add((struct wtl_function){"help", "/src/x/b.c", "/bin/a", a, 0, 0});
	numbers[n++] = add((struct wtl_function){"help", "/src/y/b.c", "/bin/a", a, 0, 0});
	/* One file in two programs. */
	numbers[n++] = add((struct wtl_function){"init", "/src/i.c", "/bin/a", a, 0, 0});
	numbers[n++] = add((struct wtl_function){"init", "/src/i.c", "/bin/b", b, 0, 0});
	/* Nothing is known but where it is. */
	numbers[n++] = add((struct wtl_function){"loop", NULL, "/bin/a", a, 0x10, 0});
	numbers[n++] = add((struct wtl_function){"loop", NULL, "/bin/a", a, 0x20, 0});
	/* Two files of one name, one after the other. */
	numbers[n++] = add((struct wtl_function){"[lib.so]", NULL, "/lib.so", a, 0, 0});
	numbers[n++] = add((struct wtl_function){"[lib.so]", NULL, "/lib.so", b, 0, 0});
	/* Python's. */
	numbers[n++] = add((struct wtl_function){"fit", "/home/a/train.py", NULL, NULL, 0, 3});
	numbers[n++] = add((struct wtl_function){"fit", "/home/b/train.py", NULL, NULL, 0, 3});
	numbers[n++] = add((struct wtl_function){"fit", "/home/b/train.py", NULL, NULL, 0, 9});
	numbers[n++] = add((struct wtl_function){"odd", "/home/b/", NULL, NULL, 0, 1});
	/* Python 3.8 has a script by the path that was typed, and its children by the whole one. */
	numbers[n++] = add((struct wtl_function){"child", "train.py", NULL, NULL, 0, 10});
	numbers[n++] = add((struct wtl_function){"child", "/home/a/train.py", NULL, NULL, 0, 10});
	assert_int_equal(wtl_functions_name(&functions), 0);
	n = 0;
	assert_text(numbers[n++], "main");
	assert_text(numbers[n++], "help (a.c)");
	assert_text(numbers[n++], "help (x/b.c)");
	assert_text(numbers[n++], "help (y/b.c)");
	assert_text(numbers[n++], "init (a)");
	assert_text(numbers[n++], "init (b)");
	assert_text(numbers[n++], "loop (a+0x10)");
	assert_text(numbers[n++], "loop (a+0x20)");
	assert_text(numbers[n++], "[lib.so] #8");
	assert_text(numbers[n++], "[lib.so] #9");
	assert_text(numbers[n++], "fit (a/train.py:3)");
	assert_text(numbers[n++], "fit (b/train.py:3)");
	assert_text(numbers[n++], "fit (train.py:9)");
	assert_text(numbers[n++], "odd (b/:1)");
	assert_text(numbers[n++], "child (train.py:10)");
	assert_text(numbers[n++], "child (a/train.py:10)");
	wtl_functions_done(&functions);
}

/* Many, of names and paths that are much alike: each has its own, and it ends. */
static void test_no_two_are_alike(void **state)
{
	static const char *const sources[] = {"",	 "/a.c", "/x/a.c", "x/a.c",
					      "/x//a.c", "a.c/", "/"};
	enum { N = 7 * 3 * 2 * 3 * 2 };

	(void)state;
	for (size_t i = 0; i < N; i++) {
		char name[8];

		snprintf(name, sizeof(name), "f%zu", i / 126);
		add((struct wtl_function){name, sources[i % 7], i / 7 % 3 ? "/x/a" : "",
					  &programs[i / 7 % 3 == 2], i / 21 % 2,
					  (uint32_t)(i / 42 % 3)});
	}
	assert_int_equal(wtl_functions_name(&functions), 0);
	for (size_t i = 0; i < functions.n; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(wtl_functions_text(&functions, i),
						wtl_functions_text(&functions, k));
	assert_in_range(functions.n, 100, N);
	wtl_functions_done(&functions);
}

static void test_names_of_rust(void **state)
{
	/* NULL: not one of Rust's. Most are of the reference of "v0" and of what rustc 1.95 makes. */
	static const char *const rows[][2] = {
		{"_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"},
		{"_RNvC6_123foo3bar", "123foo::bar"},
		{"_RNCNvCs1_3foo3bar0", "foo::bar::{closure#0}"},
		{"_RNCNvCs1_3foo3bars_0", "foo::bar::{closure#1}"},
		{"_RNSNvC3foo3bar6vtable", "foo::bar::{shim:vtable#0}"},
		{"_RNvMC3fooNtB2_3Bar3new", "<foo::Bar>::new"},
		{"_RNvXs_C3fooNtB4_3BarNtB4_3Baz3run", "<foo::Bar as foo::Baz>::run"},
		{"_RNvYmNtC3foo3Baz3run", "<u32 as foo::Baz>::run"},
		{"_RINvC3foo3barNtB2_3BazlEC4last", "foo::bar::<foo::Baz, i32>"},
		{"_RINvC3foo3barTaETlxEuE", "foo::bar::<(i8,), (i32, i64), ()>"},
		{"_RINvC3foo3barRhQSeAhj3_PbOcE",
		 "foo::bar::<&u8, &mut [str], [u8; 3], *const bool, *mut char>"},
		{"_RINvC3foo3barFUKCahEuFK6systemEzE",
		 "foo::bar::<unsafe extern \"C\" fn(i8, u8), extern \"system\" fn() -> !>"},
		{"_RINvC3foo3barFG0_RL1_hRL0_tEuE", "foo::bar::<for<'a, 'b> fn(&'a u8, &'b u16)>"},
		{"_RINvC3foo3barDNtB2_3BazNtB2_3BadEL_E", "foo::bar::<dyn foo::Baz + foo::Bad>"},
		{"_RINvC3foo3barDG_INtB2_3FunhEp6OutputuEL_E",
		 "foo::bar::<dyn for<'a> foo::Fun<u8, Output = ()>>"},
		{"_RINvC3foo3barKj7b_Kan1_Kb1_Kc41_KpE", "foo::bar::<123, -1, true, 'A', _>"},
		{"_RINvC3foo3barKoffffffffffffffff0_E", "foo::bar::<0xffffffffffffffff0>"},
		{"_RINvC3foo3barKRe6f6b_KAh1_h2_EKTb0_EKVNtB2_3BazS1xh7_EE",
		 "foo::bar::<\"ok\", [1, 2], (false,), foo::Baz { x: 7 }>"},
		{"_RINvC3foo3barKc0_KRe61006_KpE", "foo::bar::<'?', \"a?\", _>"},
		{"_RNvC3foou8gdel_5qa", "foo::gödel"},
		{"_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
		 "utf8_idents::საჭმელად_გემრიელი_სადილი"},
		{"_RNvC3foou8gdel_5QA", NULL},
		{"_RNvC3foo3bar.llvm.9D1C9369", "foo::bar"},
		{"_RNvC3foo3bar.cold.0.llvm.9D1C9369", "foo::bar.cold.0"},
		{"_RNvC3foo3barx", NULL},
		{"_RNvC3foo9bar", NULL},
		{"_RNvB_3bar", NULL},
		{"_RNvC3foo", NULL},
		{"_Reset", NULL},
		{"_R", NULL},
		{"main", NULL},
		{"", NULL},
		{"_ZN4rust4work17h7a408ed6d3b85c0aE", "rust::work"},
		{"_ZN4rust4work17h7a408ed6d3b85c0aE.llvm.12", "rust::work"},
		{"_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h2b9a5f4f85d4e666E",
		 "std::rt::lang_start::{{closure}}"},
		{"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		 "3bar17h930b740aa94f1d3aE",
		 "<Test + 'static as foo::Bar<Test>>::bar"},
		{"_ZN3foo10$RF$a.$XX$17h930b740aa94f1d3aE", "foo::&a.$XX$"},
		{"_ZN3foo9bar17h930b740aa94f1d3aE", NULL},
		{"_ZN3foo217h930b740aa94f1d3aE", NULL},
		{"_ZN3foo3barEv", NULL},
		{"_ZN3foo17h930b740aa94f1d3aEv", NULL},
	};
	char name[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is_one = wtl_rust_name(rows[i][0], name, sizeof(name));

		printf("%s %s\n", rows[i][0], is_one ? name : "-");
		assert_int_equal(is_one, rows[i][1] != NULL);
		assert_string_equal(is_one ? name : "", rows[i][1] ? rows[i][1] : "");
	}
}

/* Each of 30 types is a pair of the one before: 235 bytes that stand for 2^33. It is cut, at once. */
static void test_a_name_that_doubles(void **state)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char mangled[512] = "_RIC1aTuuE", name[512], deep[2048] = "_RIC1a";
	size_t before = 4;

	(void)state;
	for (int i = 0; i < 30; i++) {
		size_t at = strlen(mangled), to = before - 1;
		char back[8];

		snprintf(back, sizeof(back), "B%.*s%c_", to >= 62,
			 &digits[to < 62 ? 0 : to / 62 - 1], digits[to % 62]);
		snprintf(mangled + at, sizeof(mangled) - at, "T%s%sE", back, back);
		before = at - 2;
	}
	assert_true(wtl_rust_name(mangled, name, sizeof(name)));
	assert_int_equal(strlen(name), sizeof(name) - 1);
	assert_true(wtl_rust_name("_RNvC9backtraceu3foo", name, 5));
	assert_string_equal(name, "back");
	/* And one that is deeper than any program's. */
	memset(deep + 6, 'R', 1500);
	assert_false(wtl_rust_name(deep, name, sizeof(name)));
}

/* What is not given to the C++ runtime: names that it would make megabytes of. */
static void test_names_of_cxx(void **state)
{
	static const char *const names[] = {
		"_Z4workd",
		"_ZNSt6vectorIiSaIiEE9push_backERKi",
		"_ZSt13__adjust_heapIN9__gnu_cxx17__normal_iteratorIPdSt6vectorIdSaIdEEEEldNS0_5__ops15_Iter_less_iterEEvT_T0_S9_T1_T2_",
		"_ZNSt8functionIFvRKSsEEC1IZ4mainEUlS1_E_vEET_",
	};
	static char many[1 << 22];
	char hostile[256] = "_Z1fSt4pairIiiE", name[64];

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(names); i++)
		if (!wtl_cxx_name_is_short(names[i]))
			fail_msg("%s", names[i]);
	/* Each pair is of the one before, twice. */
	for (const char *digit = "0123456789ABCDEF"; *digit; digit++) {
		size_t len = strlen(hostile);

		snprintf(hostile + len, sizeof(hostile) - len, "S_IS%c_S%c_E", *digit, *digit);
	}
	assert_true(wtl_cxx_name_is_short("_Z1fSt4pairIiiES_IS0_S0_E"));
	assert_false(wtl_cxx_name_is_short(hostile));
	/* Nor does it take long to find that out. */
	memset(many, 'S', sizeof(many) - 1);
	memcpy(many, "_Z", 2);
	assert_true(wtl_cxx_name_is_short(many));
	memset(many + 3, '0', sizeof(many) - 3);
	memcpy(many, "_ZN", 3);
	memcpy(many + sizeof(many) - 21, "17h0123456789abcdefE", 21);
	assert_false(wtl_rust_name(many, name, sizeof(name)));
	assert_false(
		wtl_cxx_name_is_short("_Z1fIJDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpDpiiiiiiiiiiiiiii"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_no_two_are_alike),
		cmocka_unit_test(test_names_of_rust),
		cmocka_unit_test(test_names_of_cxx),
		cmocka_unit_test(test_a_name_that_doubles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
