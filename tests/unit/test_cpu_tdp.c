/* SPDX-License-Identifier: MIT */
#include "sensors/cpu_tdp.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sensors/cpu_tdp_table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The spelling of /proc/cpuinfo, blanks included. */
static const struct {
	const char *model_name;
	const char *key;
	uint32_t tdp_mw;
} known[] = {
	{"Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", "xeon gold 6338", 205000},
	{"Intel(R) Xeon(R) CPU E5-2650 v4 @ 2.20GHz", "xeon e5 2650 v4", 105000},
	{"Intel(R) Xeon(R) CPU E5-2667 0 @ 2.90GHz", "xeon e5 2667", 130000},
	{"Intel(R) Xeon(R) CPU E3-1230 V2 @ 3.30GHz", "xeon e3 1230 v2", 69000},
	{"Intel(R) Xeon(R) Platinum 8275CL CPU @ 3.00GHz", "xeon platinum 8275cl", 240000},
	{"Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", "xeon platinum 8370c", 205000},
	{"Intel(R) Xeon(R) CPU Max 9480", "xeon max 9480", 350000},
	{"Intel(R) Xeon(R) W-2145 CPU @ 3.70GHz", "xeon w 2145", 140000},
	{"Intel(R) Core(TM) i7-10700 CPU @ 2.90GHz", "core i7 10700", 65000},
	{"12th Gen Intel(R) Core(TM) i7-12700K", "core i7 12700k", 190000},
	{"13th Gen Intel(R) Core(TM) i9-13900K", "core i9 13900k", 125000},
	{"Intel(R) Core(TM) i7 CPU         860  @ 2.80GHz", "core i7 860", 95000},
	{"Intel(R) Core(TM) i9-7900X CPU @ 3.30GHz", "core i9 7900x", 140000},
	{"Intel(R) Core(TM)2 Duo CPU     T7500  @ 2.20GHz", "core 2 duo t7500", 35000},
	{"Intel(R) Core(TM) Ultra 7 155H", "core ultra 7 155h", 28000},
	{"Intel(R) Atom(TM) CPU C2750 @ 2.40GHz", "atom c2750", 20000},
	{"Intel(R) Celeron(R) J4125 CPU @ 2.00GHz", "celeron j4125", 10000},
	{"Intel(R) N100", "intel n100", 6000},
	{"Pentium(R) Dual-Core  CPU      E5200  @ 2.50GHz", "pentium e5200", 65000},
	{"AMD EPYC 7763 64-Core Processor", "epyc 7763", 280000},
	{"AMD EPYC 9654 96-Core Processor                ", "epyc 9654", 360000},
	{"AMD Ryzen 9 5950X 16-Core Processor            ", "ryzen 9 5950x", 105000},
	{"AMD Ryzen 7 5800H with Radeon Graphics         ", "ryzen 7 5800h", 45000},
	{"AMD Ryzen 7 7840HS w/ Radeon 780M Graphics     ", "ryzen 7 7840hs", 54000},
	{"AMD Ryzen Threadripper 3970X 32-Core Processor ", "ryzen threadripper 3970x", 280000},
	{"AMD FX(tm)-8350 Eight-Core Processor            ", "fx 8350", 125000},
	{"AMD A10-7850K Radeon R7, 12 Compute Cores 4C+8G", "a10 7850k", 95000},
	{"AMD PRO A10-8700B R6, 10 Compute Cores 4C+6G   ", "pro a10 8700b", 15000},
	{"AMD 3020e with Radeon Graphics", "amd 3020e", 6000},
	{"AMD Opteron(tm) Processor 6272                 ", "opteron 6272", 115000},
};

/* Virtual machines, engineering samples, families, near misses: no figure is the right answer. */
static const char *const unknown[] = {
	"",
	" ",
	"AMD EPYC",
	"AMD EPYC Processor",
	"AMD EPYC-Rome Processor",
	"AMD EPYC-Milan-v2 Processor",
	"QEMU Virtual CPU version 2.5+",
	"Common KVM processor",
	"Intel(R) Xeon(R) CPU @ 2.20GHz",
	"Intel Xeon Processor (Skylake, IBRS)",
	"Intel Core Processor (Haswell, no TSX)",
	"Intel(R) Xeon(R) Processor @ 2.70GHz",
	"Genuine Intel(R) CPU 0000 @ 2.00GHz",
	"Intel(R) Xeon(R) Gold",
	"Intel(R) Xeon(R) Gold 633",
	"Intel(R) Xeon(R) Gold 63388 CPU @ 2.00GHz",
	"Intel(R) Xeon(R) Silver 6338 CPU @ 2.00GHz",
	"Intel(R) Xeon(R) CPU E5-2650 v9 @ 2.20GHz",
	"Core",
	"Intel",
	"6140",
	"CPU",
	"@ 2.20GHz",
	"(R)(TM)",
	"Intel(R) Xeon(R Gold 6338",
	"\xff\xfe\x01",
	"----",
};

static void test_known_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(known); i++) {
		const char *matched = NULL;
		uint32_t tdp_mw = 0;

		if (wtl_cpu_tdp_find(known[i].model_name, &tdp_mw, &matched) != 0)
			fail_msg("\"%s\" is not found", known[i].model_name);
		assert_string_equal(matched, known[i].key);
		if (tdp_mw != known[i].tdp_mw)
			fail_msg("\"%s\" gave %u mW", known[i].model_name, tdp_mw);
		assert_int_equal(wtl_cpu_tdp_find(known[i].model_name, &tdp_mw, NULL), 0);
	}
}

static void test_unknown_names(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(unknown); i++) {
		const char *matched = "untouched";
		uint32_t tdp_mw = 4711;

		if (wtl_cpu_tdp_find(unknown[i], &tdp_mw, &matched) != -ENOENT)
			fail_msg("\"%s\" was taken for \"%s\"", unknown[i], matched);
		assert_int_equal(tdp_mw, 4711);
		assert_string_equal(matched, "untouched");
	}
	assert_int_equal(wtl_cpu_tdp_find(NULL, &(uint32_t){0}, NULL), -EINVAL);
}

static void test_length_is_bounded(void **state)
{
	char name[4096], key[WTL_CPU_TDP_NAME_MAX];
	uint32_t tdp_mw;

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(wtl_cpu_tdp_key(name, key), 0);
	assert_int_equal(wtl_cpu_tdp_find(name, &tdp_mw, NULL), -ENOENT);
	name[WTL_CPU_TDP_NAME_MAX] = '\0';
	assert_int_equal(wtl_cpu_tdp_key(name, key), 0);
	name[WTL_CPU_TDP_NAME_MAX - 1] = '\0';
	assert_int_equal(wtl_cpu_tdp_key(name, key), WTL_CPU_TDP_NAME_MAX - 1);
	/* The vendor comes back before a lone word: the longest such key still fits. */
	memcpy(name, "intel ", 6);
	assert_int_equal(wtl_cpu_tdp_key(name, key), WTL_CPU_TDP_NAME_MAX - 1);
	assert_string_equal(key, name);
}

static void test_vendor_is_kept_once(void **state)
{
	char key[WTL_CPU_TDP_NAME_MAX];

	(void)state;
	wtl_cpu_tdp_key("AMD 3020e AMD", key);
	assert_string_equal(key, "amd 3020e");
	wtl_cpu_tdp_key("AMD 7th Gen AMD Athlon X4 970", key);
	assert_string_equal(key, "athlon x4 970");
	wtl_cpu_tdp_key("Intel AMD", key);
	assert_string_equal(key, "");
}

/* A key is its own key, or the table could hold keys that no name leads to. */
static void test_keys_are_fixed_points(void **state)
{
	char key[WTL_CPU_TDP_NAME_MAX];

	(void)state;
	assert_true(wtl_tdp_row_count > 4000);
	for (size_t i = 0; i < wtl_tdp_row_count; i++) {
		const char *name = wtl_tdp_names + wtl_tdp_rows[i].name;

		wtl_cpu_tdp_key(name, key);
		assert_string_equal(key, name);
		assert_in_range(wtl_tdp_rows[i].tdp_mw, 100, 1000000);
		if (i > 0)
			assert_true(strcmp(wtl_tdp_names + wtl_tdp_rows[i - 1].name, name) < 0);
	}
}

/*
 * tools/mkdata.py made the table with its own copy of the rules: every name of the CSV must lead
 * there by the rules in C, but for those that mkdata.py left out.
 */
static void test_rules_agree_with_mkdata(void **state)
{
	const char *root = getenv("WATTLE_SOURCE_ROOT");
	unsigned found = 0, missing = 0;
	char path[4096], line[512];
	FILE *csv;

	(void)state;
	assert_non_null(root);
	snprintf(path, sizeof(path), "%s/data/cpu_tdp.csv", root);
	csv = fopen(path, "re");
	assert_non_null(csv);
	assert_non_null(fgets(line, sizeof(line), csv));
	while (fgets(line, sizeof(line), csv) != NULL) {
		char *comma = strrchr(line, ',');
		uint32_t tdp_mw;

		if (line[0] == '"')
			continue;
		*comma = '\0';
		if (wtl_cpu_tdp_find(line, &tdp_mw, NULL) == 0) {
			assert_int_equal(tdp_mw, lround(strtod(comma + 1, NULL) * 1000));
			found++;
		} else {
			missing++;
		}
	}
	fclose(csv);
	assert_in_range(found, 4750, 4903);
	assert_in_range(missing, 1, 130);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_names),
		cmocka_unit_test(test_unknown_names),
		cmocka_unit_test(test_length_is_bounded),
		cmocka_unit_test(test_vendor_is_kept_once),
		cmocka_unit_test(test_keys_are_fixed_points),
		cmocka_unit_test(test_rules_agree_with_mkdata),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
