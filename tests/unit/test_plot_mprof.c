/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "commands/plot/mprof.h"
#include "unit.h"

/* What is drawn of a file of mprof: the command, and its descendants with most. */
static void test_series(void **state)
{
	char text[] = "CMDLINE python train.py\n"
		      "MEM 10.0 1700000000.0\n"
		      "MEM 90.5 1700000001.0\n"
		      "FUNC train.fit 10.0 1700000000.0 90.5 1700000001.0\n"
		      "MEM 50.0 1700000002.5\n"
		      "CHLD 7 20.0 1700000000.5\n"
		      "CHLD 8 200.0 1700000000.5\n"
		      "CHLD 7 30.0 1700000002.0";
	const struct wtl_plot_wanted wanted = {.top = 2};
	const struct wtl_plot_series *series;
	struct wtl_plot_sheet sheet;

	(void)state;
	wtl_plot_sheet_init(&sheet);
	assert_int_equal(wtl_plot_mprof_figure(text, &wanted, &sheet, NULL), 0);
	assert_string_equal(sheet.figure.title, "Memory: python train.py");
	assert_string_equal(sheet.figure.summary, "the command's own peak 90.5 MiB");
	assert_int_equal(sheet.figure.n_panels, 1);
	assert_int_equal(sheet.figure.panels[0].n_series, 2);
	series = sheet.figure.panels[0].series;
	assert_string_equal(series[0].name, "the command");
	assert_int_equal(series[0].n, 3);
	assert_true(series[0].points[2].x == INT64_C(1700000002500000000));
	assert_true(series[0].level.is_known && series[0].level.y == 90.5 * 1048576);
	assert_string_equal(series[1].name, "process 8");
	assert_string_equal(series[1].remark, "peak 200 MiB");
	wtl_plot_sheet_done(&sheet);
}

static void test_times(void **state)
{
	char text[] = "MEM 10.0 5.0\nMEM 20.0 6.0\nMEM 30.0 7.0\n";
	const struct wtl_plot_wanted wanted = {.has_from = true,
					       .has_to = true,
					       .from_utc_ns = INT64_C(5500000000),
					       .to_utc_ns = INT64_C(6500000000)};
	struct wtl_plot_sheet sheet;

	(void)state;
	wtl_plot_sheet_init(&sheet);
	assert_int_equal(wtl_plot_mprof_figure(text, &wanted, &sheet, NULL), 0);
	assert_int_equal(sheet.figure.panels[0].series[0].n, 1);
	assert_string_equal(sheet.figure.summary, "peak 20 MiB");
	wtl_plot_sheet_done(&sheet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_series),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
