/* SPDX-License-Identifier: MIT */
/* What functions are called: short, but no two alike. */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "profile/functions.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_no_two_are_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
