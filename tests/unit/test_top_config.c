/* SPDX-License-Identifier: MIT */
#include "commands/top/config.h"

#include <string.h>

#include "unit.h"

static void parse(struct wtl_top_config *config, const char *text, const char *remark)
{
	char got[160];

	wtl_top_config_init(config);
	assert_int_equal(wtl_top_config_parse(config, text, strlen(text), got), 0);
	if (remark[0] ? !strstr(got, remark) : got[0])
		fail_msg("'%s': remark '%s', not '%s'", text, got, remark);
}

static void test_defaults(void **state)
{
	struct wtl_top_config config;

	(void)state;
	parse(&config, "", "");
	assert_int_equal(config.sort, WTL_FIELD_POWER);
	assert_int_equal(config.redraw_ms, 200);
	assert_int_equal(wtl_top_window_ns(config.set[WTL_SET_WINDOW]), 20000000000);
	assert_int_equal(wtl_top_window_ns(WTL_TOP_WINDOWS - 1), 3600000000000);
	assert_true(config.columns[WTL_FIELD_COMMAND]);
	assert_true(config.set[WTL_SET_COLOR]);
	assert_false(config.set[WTL_SET_TREE]);
	wtl_top_config_done(&config);
}

static void test_values(void **state)
{
	struct wtl_top_config config;

	(void)state;
	parse(&config,
	      "# a remark\n"
	      "\n"
	      "sort = gpu_w\n"
	      "  ascending=yes  \r\n"
	      "Group\t=\tcontainer\n"
	      "graph = total\n"
	      "window = 15min\n"
	      "redraw_ms = 1000\n"
	      "tree = on\n"
	      "color = 0\n"
	      "columns = pid, user w\tmem\n"
	      "filter = cpu_w > 1 && user == \"bob\"",
	      "");
	assert_int_equal(config.sort, WTL_FIELD_GPU_POWER);
	assert_true(config.set[WTL_SET_ASCENDING]);
	assert_int_equal(config.set[WTL_SET_GROUP], WTL_GROUP_CONTAINER);
	assert_int_equal(config.set[WTL_SET_GRAPH], WTL_GRAPH_TOTAL);
	assert_int_equal(wtl_top_window_ns(config.set[WTL_SET_WINDOW]), 900000000000);
	assert_int_equal(config.redraw_ms, 1000);
	assert_true(config.set[WTL_SET_TREE]);
	assert_false(config.set[WTL_SET_COLOR]);
	assert_true(config.columns[WTL_FIELD_POWER]);
	assert_true(config.columns[WTL_FIELD_COMMAND]); /* always */
	assert_false(config.columns[WTL_FIELD_CPU_POWER]);
	assert_string_equal(config.filter, "cpu_w > 1 && user == \"bob\"");
	wtl_top_config_done(&config);
}

static void test_bad_values(void **state)
{
	static const char *const lines[] = {
		"sort = watts", "ascending = maybe", "group = planet",	     "graph = pie",
		"window = 3s",	"redraw_ms = 10",    "redraw_ms = 99999999", "redraw_ms =",
		"tree = ",	"columns = pid wat", "filter = cpu_w >",     "redraw_ms = 1e3",
	};
	struct wtl_top_config plain;

	(void)state;
	wtl_top_config_init(&plain);
	for (size_t i = 0; i < UNIT_COUNT(lines); i++) {
		struct wtl_top_config config;

		parse(&config, lines[i], "line 1 is no good");
		/* Nothing has changed, and a bad line is not kept. */
		assert_memory_equal(&config, &plain, offsetof(struct wtl_top_config, unknown));
		assert_int_equal(config.unknown.len, 0);
		wtl_top_config_done(&config);
	}
	wtl_top_config_done(&plain);
}

/* Whoever has an older wattle keeps what a newer one has written. */
static void test_unknown_lines(void **state)
{
	struct wtl_top_config config, again;
	struct wtl_buf text;

	(void)state;
	parse(&config, "sort = pid\nsparkle = much\n\x1b[2Jno equals sign\nfuture.key=1 2 3\n",
	      "line 2 is kept, but not known here: sparkle = much");
	wtl_buf_init(&text, 1 << 16);
	assert_int_equal(wtl_top_config_print(&config, &text), 0);
	assert_non_null(strstr(wtl_buf_str(&text), "\nsparkle = much\n"));
	assert_non_null(strstr(wtl_buf_str(&text), "\nfuture.key=1 2 3\n"));
	parse(&again, wtl_buf_str(&text), "sparkle");
	assert_string_equal(wtl_buf_str(&again.unknown), wtl_buf_str(&config.unknown));
	wtl_buf_done(&text);
	wtl_top_config_done(&config);
	wtl_top_config_done(&again);
}

static void test_remark_is_clean(void **state)
{
	struct wtl_top_config config;
	const char text[] = "\x1b]0;owned\x07 = 1";
	char remark[160];

	(void)state;
	wtl_top_config_init(&config);
	assert_int_equal(wtl_top_config_parse(&config, text, sizeof(text) - 1, remark), 0);
	for (const char *c = remark; *c; c++)
		assert_true((unsigned char)*c >= 0x20);
	wtl_top_config_done(&config);
}

static void test_round_trip(void **state)
{
	struct wtl_top_config config, again;
	struct wtl_buf text;

	(void)state;
	for (unsigned i = 0; i < WTL_FIELDS; i++) {
		wtl_top_config_init(&config);
		config.sort = (enum wtl_field)i;
		config.set[WTL_SET_ASCENDING] = i % 2;
		config.set[WTL_SET_GROUP] = i % WTL_GROUPINGS;
		config.set[WTL_SET_GRAPH] = i % 3;
		config.set[WTL_SET_WINDOW] = i % WTL_TOP_WINDOWS;
		config.redraw_ms = 50 + 13 * i;
		config.columns[i] = !config.columns[i] || i == WTL_FIELD_COMMAND;
		config.set[i % WTL_SET_GRAPH] ^= 1;
		strcpy(config.filter, "a || b");
		wtl_buf_init(&text, 1 << 16);
		assert_int_equal(wtl_top_config_print(&config, &text), 0);
		parse(&again, wtl_buf_str(&text), "");
		assert_memory_equal(&config, &again, offsetof(struct wtl_top_config, unknown));
		wtl_buf_done(&text);
		wtl_top_config_done(&config);
		wtl_top_config_done(&again);
	}
}

static void test_hostile_files(void **state)
{
	static char large[200000];
	struct wtl_top_config config;
	char remark[160];

	(void)state;
	wtl_top_config_init(&config);
	assert_int_equal(wtl_top_config_parse(&config, "sort\0= pid\nfilter = a\0b\n", 24, remark),
			 0);
	assert_string_equal(config.filter, "");
	wtl_top_config_done(&config);
	/* More than is kept: said so, not swallowed. */
	wtl_top_config_init(&config);
	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = i % 100 == 99 ? '\n' : 'x';
	assert_true(wtl_top_config_parse(&config, large, sizeof(large), remark) < 0);
	wtl_top_config_done(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),	cmocka_unit_test(test_values),
		cmocka_unit_test(test_bad_values),	cmocka_unit_test(test_unknown_lines),
		cmocka_unit_test(test_remark_is_clean), cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_hostile_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
