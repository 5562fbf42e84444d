/* SPDX-License-Identifier: MIT */
/* Each mistake is found by its name, and a table without one is left alone. */
#include <string.h>

#include "unit.h"

#include "base/err.h"
#include "neural/lint.h"

static const struct {
	const char *table;
	const char *rule; /* the one finding; NULL: none */
} rows[] = {
	/* PMC10242054, table 3: 273.77 is printed, its inputs come to 37.4. */
	{"row,as,operations,precision,price_pj,rate,rate_per,baseline,ratio\n"
	 "ann,ann,18.39e6,fp32,4.6,,,,\nsnn,snn,18.39e6,fp32,0.9,0.1366,inference,ann,273.77\n",
	 "rate-twice"},
	{"row,as,operations,precision,price_pj,rate,rate_per,baseline,ratio\n"
	 "ann,ann,18.39e6,fp32,4.6,,,,\nsnn,snn,18.39e6,fp32,0.9,0.1366,inference,ann,37.4\n",
	 NULL},
	{"row,as,operations,price_pj,rate,rate_per,steps,energy_j\na,snn,1e9,0.9,0.2,step,4,7.2e-4\n",
	 NULL},
	{"row,as,operations,price_pj,rate,rate_per,steps,energy_j\na,snn,1e9,0.9,0.2,step,4,1.44e-4\n",
	 "rate-twice"},
	{"row,as,operations,price_pj,rate,rate_per,steps,energy_j\na,snn,1e9,0.9,0.2,step,4,1.8e-4\n",
	 "steps-missing"},
	{"row,as,operations,price_pj,rate,rate_per,steps,energy_j\na,snn,1e9,0.9,0.2,step,4,2.88e-3\n",
	 "steps-twice"},
	{"row,as,operations,price_pj,rate,rate_per,steps,energy_j\na,snn,1e9,0.9,0.2,step,4,1e-3\n",
	 "does-not-add-up"},
	{"row,as,operations,price_pj,energy_j\na,ann,1e9,4.6,4.6e-3\n", NULL},
	{"row,as,operations,price_pj,energy_j\na,ann,1e9,4.6,2.3e-3\n", "does-not-add-up"},
	{"row,as,rate\na,snn,0.2\n", "rate-unlabelled"},
	{"row,as,rate,rate_per\na,snn,0.2,step\n", "steps-missing"},
	{"row,as,input,operation\na,snn,analog,ac\n", "analog-as-ac"},
	{"row,as,input,operation\na,snn,analog,mac\nb,snn,spikes,ac\n", NULL},
	{"row,as,precision,baseline\na,ann,fp32,\nb,snn,int32,a\n", "precision-mixed"},
	{"row,as,precision,baseline\na,ann,int8,\nb,snn,int32,a\n", NULL},
	{"row,scope,baseline\na,per-term,\nb,all-in,a\n", "scope-mixed"},
	{"row,scope,routing_pj\na,all-in,3.5\nb,per-term,3.5\n", "all-in-plus-routing"},
	{"row,macs,flops\na,4089184256,4.09e9\nb,1,2\n", "mac-as-flop"},
	{"row,baseline\na,b\n", "no-baseline"},
};

static void test_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(rows); i++) {
		struct wtl_lint lint;
		struct wtl_err err = {.code = 0};
		if (wtl_lint_table(rows[i].table, strlen(rows[i].table), "x", &lint, &err) < 0)
			fail_msg("%s: %s", err.path, err.text);
		if (lint.n != (rows[i].rule ? 1 : 0))
			fail_msg("%zu findings in: %s", lint.n, rows[i].table);
		if (rows[i].rule)
			assert_string_equal(lint.findings[0].rule, rows[i].rule);
		wtl_lint_done(&lint);
	}
}

static const struct {
	const char *table, *place, *error;
} bad[] = {
	{"", "x:0", "the table is empty"},
	{"# nothing\n\n", "x:2", "the table is empty"},
	{"row,colour\n", "x:1", "'colour' is no column"},
	{"as,rate\n", "x:1", "there is no column 'row'"},
	{"row,rate\na,fast\n", "x:2", "rate is a number of at least 0, not 'fast'"},
	{"row,rate\na,-1\n", "x:2", "rate is a number"},
	{"row,as\na,cnn\n", "x:2", "as is one of: ann snn; not 'cnn'"},
	{"row,precision\na,fp31\n", "x:2", "'fp31' is no precision"},
	{"row,rate\na,1,2\n", "x:2", "more cells"},
};

static void test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(bad); i++) {
		struct wtl_lint lint;
		struct wtl_err err = {.code = 0};
		int rc = wtl_lint_table(bad[i].table, strlen(bad[i].table), "x", &lint, &err);
		assert_int_equal(rc, -WTL_EFORMAT);
		assert_string_equal(err.path, bad[i].place);
		if (!strstr(err.text, bad[i].error))
			fail_msg("'%s' does not say '%s'", err.text, bad[i].error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
