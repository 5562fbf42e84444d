/* SPDX-License-Identifier: MIT */
#include "commands/top/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top_bench.h"

#include "unit.h"

static void make(struct top_bench *bench)
{
	assert_int_equal(wtl_top_rows_make(&bench->rows, &bench->view, &bench->ui.config,
					   &bench->ui.filter, &bench->ui.toggled),
			 0);
}

/* The rows as text: depths as blanks, pids, names of groups with their number. */
static void assert_rows(struct top_bench *bench, const char *expected)
{
	char text[1024] = "";

	make(bench);
	for (size_t i = 0; i < bench->rows.n; i++) {
		const struct wtl_top_row *row = &bench->rows.rows[i];
		const struct wtl_top_process *process =
			wtl_top_row_process(&bench->rows, &bench->view, row);
		size_t len = strlen(text);

		if (row->process < 0)
			snprintf(text + len, sizeof(text) - len, "%s(%u) ", process->command,
				 process->consumer.n_processes);
		else
			snprintf(text + len, sizeof(text) - len, "%.*s%d%s ", (int)row->depth,
				 ">>>>>>>>>", process->consumer.pid, row->is_closed ? "+" : "");
	}
	assert_string_equal(text, expected);
}

static void test_order(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	assert_rows(&bench, "4321 6006 4330 4331 5005 6666 1 812 2210 ");
	bench.ui.config.set[WTL_SET_ASCENDING] = true;
	assert_rows(&bench, "812 2210 1 6666 5005 4331 4330 6006 4321 ");
	bench.ui.config.set[WTL_SET_ASCENDING] = false;
	bench.ui.config.sort = WTL_FIELD_PID;
	assert_rows(&bench, "1 812 2210 4321 4330 4331 5005 6006 6666 ");
	bench.ui.config.sort = WTL_FIELD_USER;
	assert_rows(&bench, "5005 6006 2210 4321 4330 4331 6666 1 812 ");
	/* What is not known comes last, both ways. */
	bench.ui.config.sort = WTL_FIELD_GPU_MEMORY;
	assert_rows(&bench, "4321 1 812 2210 4330 4331 5005 6006 6666 ");
	bench.ui.config.set[WTL_SET_ASCENDING] = true;
	assert_rows(&bench, "4321 1 812 2210 4330 4331 5005 6006 6666 ");
	top_bench_done(&bench);
}

/* Who holds a GPU's memory and does nothing stands above those that draw next to nothing. */
static void test_idle_on_a_gpu(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	top_bench_process(&bench.view, 2210)->consumer.gpu_memory_bytes = 1 << 20;
	assert_rows(&bench, "4321 6006 4330 4331 5005 2210 6666 1 812 ");
	/* Holding none of it is nothing. */
	top_bench_process(&bench.view, 2210)->consumer.gpu_memory_bytes = 0;
	assert_rows(&bench, "4321 6006 4330 4331 5005 6666 1 812 2210 ");
	top_bench_done(&bench);
}

/* By command, as it is shown: without the path, unless paths are shown. */
static void test_order_by_command(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	bench.ui.config.sort = WTL_FIELD_COMMAND;
	assert_rows(&bench, "2210 6666 1 6006 5005 4321 4330 4331 812 ");
	bench.ui.config.set[WTL_SET_PATHS] = true;
	assert_rows(&bench, "2210 1 6666 6006 5005 4321 4330 4331 812 ");
	top_bench_done(&bench);
}

static void test_switches(void **state)
{
	struct top_bench bench;
	unsigned *switches = bench.ui.config.set;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	switches[WTL_SET_KERNEL] = true;
	assert_rows(&bench, "4321 6006 4330 4331 5005 77 6666 1 812 2210 ");
	switches[WTL_SET_KERNEL] = false;
	switches[WTL_SET_EXITED] = true;
	assert_rows(&bench, "4321 6006 4330 4331 5005 6666 1 812 2210 0 4100 ");
	switches[WTL_SET_IDLE] = false;
	assert_rows(&bench, "4321 6006 4330 4331 5005 6666 1 ");
	top_bench_done(&bench);
}

static void test_filtered(void **state)
{
	struct top_bench bench;
	struct wtl_filter_error error;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	assert_int_equal(wtl_filter_parse(&bench.ui.filter, "user = bob && w > 9.7", &error), 0);
	assert_rows(&bench, "4321 4330 ");
	assert_int_equal(bench.rows.n_processes, 2);
	assert_int_equal(wtl_filter_parse(&bench.ui.filter, "user = nobody", &error), 0);
	assert_rows(&bench, "");
	top_bench_done(&bench);
}

static void test_tree(void **state)
{
	struct top_bench bench;
	const struct wtl_top_row *row;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	bench.ui.config.set[WTL_SET_TREE] = true;
	assert_rows(&bench, "1 >6006 >5005 >6666 >812 >>2210 >>>4321 >>>>4330 >>>>4331 ");
	row = &bench.rows.rows[4]; /* 812: the last child of 1 */
	assert_true(row->is_last);
	assert_true(row->has_children);
	assert_false(bench.rows.rows[1].is_last);
	wtl_top_toggle(&bench.ui.toggled, row->key);
	assert_rows(&bench, "1 >6006 >5005 >6666 >812+ ");
	wtl_top_toggle(&bench.ui.toggled, bench.rows.rows[4].key);
	/* A closed leaf is none. */
	wtl_top_toggle(&bench.ui.toggled, bench.rows.rows[1].key);
	assert_rows(&bench, "1 >6006 >5005 >6666 >812 >>2210 >>>4321 >>>>4330 >>>>4331 ");
	top_bench_done(&bench);
}

/* A number that was used again, and parents that cannot be. */
static void test_tree_of_impossible_parents(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	bench.ui.config.set[WTL_SET_TREE] = true;
	bench.ui.config.sort = WTL_FIELD_PID;
	top_bench_process(&bench.view, 1)->consumer.parent = 4331; /* younger than its child */
	top_bench_process(&bench.view, 812)->consumer.parent = 812;
	top_bench_process(&bench.view, 2210)->consumer.parent = 99999;
	/* Two that started at once and call each other parent. */
	top_bench_process(&bench.view, 5005)->consumer.parent = 6006;
	top_bench_process(&bench.view, 6006)->consumer.parent = 5005;
	top_bench_process(&bench.view, 6006)->consumer.start_ns =
		top_bench_process(&bench.view, 5005)->consumer.start_ns;
	assert_rows(&bench, "1 >6666 812 2210 >4321 >>4330 >>4331 5005 >6006 ");
	top_bench_done(&bench);
}

/* Deeper than any recursion would like, and than the lines that are drawn. */
static void test_deep_tree(void **state)
{
	enum { DEEP = 20000 };
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_laptop);
	bench.ui.config.set[WTL_SET_TREE] = true;
	assert_int_equal(wtl_top_view_reserve(&bench.view, 0, 0, DEEP, 0), 0);
	for (int i = 0; i < DEEP; i++) {
		bench.view.processes[i] = bench.view.processes[0];
		bench.view.processes[i].consumer.pid = i + 1;
		bench.view.processes[i].consumer.parent = i;
		bench.view.processes[i].consumer.start_ns = i + 1;
	}
	bench.view.n_processes = DEEP;
	make(&bench);
	assert_int_equal(bench.rows.n, DEEP);
	assert_int_equal(bench.rows.rows[DEEP - 1].depth, DEEP - 1);
	top_bench_draw(&bench, 30, 100);
	top_bench_type(&bench, "<end>");
	top_bench_draw(&bench, 30, 100);
	top_bench_done(&bench);
}

static void test_groups(void **state)
{
	struct top_bench bench;
	const struct wtl_top_process *bob;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	bench.ui.config.set[WTL_SET_GROUP] = WTL_GROUP_USER;
	assert_rows(&bench, "bob(4) alice(1) 100999(1) eve(1) root(2) ");
	bob = wtl_top_row_process(&bench.rows, &bench.view, &bench.rows.rows[0]);
	assert_int_equal(bob->cpu_uw[WTL_TOP_DYNAMIC], 38240000 + 9710000 + 9660000);
	assert_int_equal(bob->gpu_uw[WTL_TOP_DYNAMIC], 231600000);
	assert_int_equal(bob->consumer.gpu_memory_bytes, UINT64_C(36641439744));
	assert_int_equal(bob->consumer.pss_bytes, UINT64_MAX); /* of none it is known */
	/* Who is only known by a GPU's driver adds no CPU time; where all are, it is not known. */
	top_bench_process(&bench.view, 4330)->consumer.cpu_ns = 5;
	top_bench_process(&bench.view, 4331)->consumer.cpu_ns = -1;
	top_bench_process(&bench.view, 5005)->consumer.cpu_ns = -1;
	assert_rows(&bench, "bob(4) alice(1) 100999(1) eve(1) root(2) ");
	bob = wtl_top_row_process(&bench.rows, &bench.view, &bench.rows.rows[0]);
	assert_int_equal(bob->consumer.cpu_ns,
			 5 + top_bench_process(&bench.view, 4321)->consumer.cpu_ns +
				 top_bench_process(&bench.view, 2210)->consumer.cpu_ns);
	assert_int_equal(
		wtl_top_row_process(&bench.rows, &bench.view, &bench.rows.rows[2])->consumer.cpu_ns,
		-1);
	/* A row of time that nobody was seen to use is of no process, and one of 1234 of so many. */
	top_bench_process(&bench.view, 4330)->consumer.n_processes = 0;
	top_bench_process(&bench.view, 4331)->consumer.n_processes = 1234;
	assert_rows(&bench, "bob(1236) alice(1) 100999(1) eve(1) root(2) ");
	top_bench_process(&bench.view, 4330)->consumer.n_processes = 1;
	top_bench_process(&bench.view, 4331)->consumer.n_processes = 1;
	wtl_top_toggle(&bench.ui.toggled, bench.rows.rows[0].key);
	assert_rows(&bench, "bob(4) >4321 >4330 >4331 >2210 alice(1) 100999(1) eve(1) root(2) ");
	bench.ui.config.set[WTL_SET_GROUP] = WTL_GROUP_CONTAINER;
	bench.ui.toggled.n = 0;
	assert_rows(&bench, "-(8) docker/3f1c2a9b77de(1) ");
	bench.ui.config.set[WTL_SET_GROUP] = WTL_GROUP_JOB;
	assert_rows(&bench, "-(8) slurm/4711(1) ");
	bench.ui.config.set[WTL_SET_GROUP] = WTL_GROUP_NAME;
	bench.ui.config.sort = WTL_FIELD_COMMAND;
	assert_rows(&bench, "bash(1) lmp(1) postgres(1) python(3) sshd(1) systemd(1) x(1) ");
	bench.ui.config.set[WTL_SET_KERNEL] = true;
	bench.ui.config.set[WTL_SET_GROUP] = WTL_GROUP_UNIT;
	assert_rows(&bench, "-(4) [kernel](1) docker-3f1c2a9b77de.scope(1) session-3.scope(4) ");
	top_bench_done(&bench);
}

static void add_many(struct wtl_top_view *view, size_t n)
{
	assert_int_equal(wtl_top_view_reserve(view, 0, 0, n, 0), 0);
	for (size_t i = 0; i < n; i++) {
		view->processes[i] = view->processes[0];
		view->processes[i].consumer.pid = (int)(n - i);
		view->processes[i].consumer.start_ns = (int64_t)(n - i);
		view->processes[i].cpu_uw[0] = (uint64_t)(i * 7919 % n);
		snprintf(view->processes[i].user, sizeof(view->processes[i].user), "u%zu", i % 500);
	}
	view->n_processes = n;
}

static void test_many(void **state)
{
	enum { MANY = 50000 };
	struct top_bench bench;
	struct wtl_top_row *before;

	(void)state;
	top_bench_init(&bench, top_bench_laptop);
	add_many(&bench.view, MANY);
	make(&bench);
	assert_int_equal(bench.rows.n, MANY);
	for (size_t i = 1; i < MANY; i++)
		assert_true(bench.view.processes[bench.rows.rows[i - 1].process].cpu_uw[0] >=
			    bench.view.processes[bench.rows.rows[i].process].cpu_uw[0]);
	before = bench.rows.rows;
	bench.ui.config.set[WTL_SET_GROUP] = WTL_GROUP_USER;
	make(&bench);
	assert_int_equal(bench.rows.n, 500);
	bench.ui.config.set[WTL_SET_GROUP] = WTL_GROUP_NONE;
	bench.ui.config.set[WTL_SET_TREE] = true;
	make(&bench);
	assert_int_equal(bench.rows.n, MANY);
	assert_ptr_equal(bench.rows.rows, before); /* no memory is taken again */
	top_bench_done(&bench);
}

static void test_keys(void **state)
{
	struct top_bench bench;
	uint64_t key;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	make(&bench);
	key = wtl_top_process_key(top_bench_process(&bench.view, 5005));
	assert_int_equal(wtl_top_rows_find(&bench.rows, key), 4);
	/* Another process with the same number. */
	top_bench_process(&bench.view, 5005)->consumer.start_ns++;
	make(&bench);
	assert_int_equal(wtl_top_rows_find(&bench.rows, key), -1);
	assert_int_equal(wtl_top_rows_find(&bench.rows, 0), -1);
	top_bench_done(&bench);
}

static bool has_twin(const struct top_bench *bench, size_t row)
{
	return wtl_top_rows_has_twin(
		&bench->rows, &bench->view,
		wtl_top_row_process(&bench->rows, &bench->view, &bench->rows.rows[row]));
}

/* Rows of ended processes have no number: others of that name are other rows, and say so. */
static void test_rows_of_one_name(void **state)
{
	struct wtl_group groups[2] = {{.unit = "a.service"}, {.unit = "b.service"}};
	struct wtl_top_process *rows[2];
	struct top_bench bench;
	size_t n = 0;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	bench.ui.config.set[WTL_SET_EXITED] = true;
	rows[0] = top_bench_process(&bench.view, 5005);
	rows[1] = top_bench_process(&bench.view, 4321);
	for (size_t i = 0; i < 2; i++) {
		rows[i]->consumer.state = WTL_CONSUMER_FOLDED;
		rows[i]->consumer.pid = 0;
		rows[i]->consumer.start_ns = 0;
		rows[i]->consumer.uid = 1000;
		rows[i]->consumer.group = &groups[i];
		snprintf(rows[i]->command, sizeof(rows[i]->command), "cc1");
	}
	make(&bench);
	assert_true(wtl_top_process_key(rows[0]) != wtl_top_process_key(rows[1]));
	for (size_t i = 0; i < bench.rows.n; i++) {
		const struct wtl_top_process *process =
			wtl_top_row_process(&bench.rows, &bench.view, &bench.rows.rows[i]);
		bool is_one = process == rows[0] || process == rows[1];

		assert_int_equal(has_twin(&bench, i), is_one);
		assert_int_equal(wtl_top_rows_find(&bench.rows, wtl_top_process_key(process)), i);
		n += is_one;
	}
	assert_int_equal(n, 2);
	/* Users have a column. */
	rows[1]->consumer.uid = 1001;
	make(&bench);
	for (size_t i = 0; i < bench.rows.n; i++)
		assert_false(has_twin(&bench, i));
	/* In groups of rows as well. */
	rows[1]->consumer.uid = 1000;
	bench.ui.config.set[WTL_SET_GROUP] = WTL_GROUP_NAME;
	make(&bench);
	for (size_t i = 0; i < bench.rows.n; i++)
		assert_false(has_twin(&bench, i)); /* they are closed */
	top_bench_done(&bench);
}

static void test_toggled(void **state)
{
	struct wtl_top_toggled toggled = {.n = 0};

	(void)state;
	for (uint64_t key = 1; key <= WTL_TOP_CLOSED_MAX; key++)
		wtl_top_toggle(&toggled, key);
	assert_true(wtl_top_is_toggled(&toggled, 1));
	wtl_top_toggle(&toggled, 1000); /* the oldest goes */
	assert_false(wtl_top_is_toggled(&toggled, 1));
	assert_true(wtl_top_is_toggled(&toggled, 2));
	assert_true(wtl_top_is_toggled(&toggled, 1000));
	assert_int_equal(toggled.n, WTL_TOP_CLOSED_MAX);
	wtl_top_toggle(&toggled, 50);
	assert_false(wtl_top_is_toggled(&toggled, 50));
	assert_int_equal(toggled.n, WTL_TOP_CLOSED_MAX - 1);
}

static void test_nothing(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_denied);
	for (unsigned i = 0; i < WTL_GROUPINGS; i++) {
		bench.ui.config.set[WTL_SET_GROUP] = (enum wtl_grouping)i;
		assert_rows(&bench, "");
	}
	top_bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_idle_on_a_gpu),
		cmocka_unit_test(test_order_by_command),
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_filtered),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_tree_of_impossible_parents),
		cmocka_unit_test(test_deep_tree),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_rows_of_one_name),
		cmocka_unit_test(test_toggled),
		cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
