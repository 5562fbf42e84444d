/* SPDX-License-Identifier: MIT */
#include "commands/top/ui.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "energy/units.h"
#include "top_bench.h"

#include "unit.h"

static void start(struct top_bench *bench)
{
	top_bench_init(bench, top_bench_server);
	top_bench_draw(bench, 40, 120);
}

static int selected_pid(struct top_bench *bench)
{
	const struct wtl_top_row *row;

	top_bench_draw(bench, 40, 120);
	if (bench->rows.n == 0)
		return -1;
	row = &bench->rows.rows[bench->ui.selected];
	return row->process >= 0 ? bench->view.processes[row->process].consumer.pid : 0;
}

static enum wtl_top_wish give(struct top_bench *bench, enum wtl_input_kind kind, int row,
			      int column)
{
	const struct wtl_input input = {.kind = kind, .row = row, .column = column};

	return wtl_top_ui_input(&bench->ui, &bench->view, &bench->rows, &input,
				bench->view.t_mono_ns);
}

static void test_moving(void **state)
{
	struct top_bench bench;

	(void)state;
	start(&bench);
	assert_int_equal(selected_pid(&bench), 4321);
	top_bench_type(&bench, "<down>");
	assert_int_equal(selected_pid(&bench), 6006);
	top_bench_type(&bench, "<up><up><up>");
	assert_int_equal(selected_pid(&bench), 4321);
	top_bench_type(&bench, "<end>");
	assert_int_equal(selected_pid(&bench), 2210);
	top_bench_type(&bench, "<down><pgdn>");
	assert_int_equal(selected_pid(&bench), 2210);
	top_bench_type(&bench, "<home><pgdn><pgup>");
	assert_int_equal(selected_pid(&bench), 4321);
	top_bench_type(&bench, "<right><right><left>");
	assert_int_equal(bench.ui.shift, 8);
	top_bench_type(&bench, "<left><left><left>");
	assert_int_equal(bench.ui.shift, 0);
	top_bench_done(&bench);
}

/* What is chosen is always in sight. */
static void test_scrolling(void **state)
{
	struct top_bench bench;
	struct wtl_top_ui *ui = &bench.ui;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	for (int i = 0; i < 30; i++) {
		top_bench_draw(&bench, 12, 60);
		assert_true(ui->places.n_rows > 0 && ui->places.n_rows < 9);
		assert_true(ui->selected >= ui->first);
		assert_true(ui->selected < ui->first + ui->places.n_rows);
		top_bench_type(&bench, i < 15 ? "<down>" : "<up>");
	}
	/* No blank lines below the last row after the window has grown. */
	top_bench_type(&bench, "<end>");
	top_bench_draw(&bench, 12, 60);
	assert_true(ui->first > 0);
	top_bench_draw(&bench, 60, 60);
	assert_int_equal(ui->first, 0);
	top_bench_done(&bench);
}

/* Somebody passes everybody by. */
static void pass(struct top_bench *bench, int pid)
{
	static uint64_t more_uw = 900000000;

	top_bench_process(&bench->view, pid)->cpu_uw[WTL_TOP_DYNAMIC] = more_uw += 1000000;
}

static void test_line_or_process(void **state)
{
	struct top_bench bench;

	(void)state;
	start(&bench);
	/* Nobody has been chosen: the cursor stays on the line … */
	assert_int_equal(selected_pid(&bench), 4321);
	pass(&bench, 4330);
	assert_int_equal(selected_pid(&bench), 4330);
	/* … if the process is not followed. */
	top_bench_type(&bench, "F");
	pass(&bench, 4331);
	assert_int_equal(selected_pid(&bench), 4330);
	assert_int_equal(bench.ui.selected, 1);
	/* It ends. */
	top_bench_process(&bench.view, 4330)->consumer.state = WTL_CONSUMER_EXITED;
	assert_int_not_equal(selected_pid(&bench), 4330);
	top_bench_done(&bench);
}

/* Who was chosen, however, stays under the cursor: what a key does is done to it. */
static void test_chosen_process(void **state)
{
	static const char *const ways[] = {"<down>", "<down><down><up>", "/lmp<enter>",
					   "<end><home><down>"};
	struct top_bench bench;

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(ways); i++) {
		int pid;

		start(&bench);
		top_bench_type(&bench, ways[i]);
		pid = selected_pid(&bench);
		for (int by = 4330; by <= 4331; by++)
			if (by != pid)
				pass(&bench, by);
		assert_int_equal(selected_pid(&bench), pid);
		top_bench_type(&bench, "<F9>");
		assert_int_equal(bench.ui.mode, WTL_TOP_SIGNAL);
		assert_int_equal(bench.ui.victim.pid, pid);
		top_bench_done(&bench);
	}
	start(&bench);
	give(&bench, WTL_INPUT_CLICK, bench.ui.places.first_row + 1, 3);
	pass(&bench, 4330);
	assert_int_equal(selected_pid(&bench), 6006);
	/* The first row lets go of it, … */
	top_bench_type(&bench, "<home>");
	assert_int_equal(selected_pid(&bench), 4330);
	pass(&bench, 4331);
	assert_int_equal(selected_pid(&bench), 4331);
	/* … and so does its end: nobody comes in its place. */
	top_bench_type(&bench, "<down>");
	assert_int_equal(selected_pid(&bench), 4330);
	top_bench_process(&bench.view, 4330)->consumer.state = WTL_CONSUMER_EXITED;
	bench.ui.config.set[WTL_SET_EXITED] = false;
	assert_int_equal(selected_pid(&bench), 4321);
	pass(&bench, 6006);
	assert_int_equal(selected_pid(&bench), 4331);
	top_bench_done(&bench);
}

static void test_nobody_left(void **state)
{
	struct top_bench bench;

	(void)state;
	start(&bench);
	top_bench_type(&bench, "<end>");
	bench.view.n_processes = 0;
	assert_int_equal(selected_pid(&bench), -1);
	top_bench_type(&bench, "<up><down><enter>k<F9> +u/x<enter>npF");
	assert_int_equal(bench.ui.mode, WTL_TOP_TABLE);
	top_bench_done(&bench);
}

static void test_sort_letters(void **state)
{
	static const struct {
		const char *keys;
		enum wtl_field field;
	} cases[] = {{"W", WTL_FIELD_POWER},	 {"C", WTL_FIELD_CPU_POWER},
		     {"G", WTL_FIELD_GPU_POWER}, {"E", WTL_FIELD_ENERGY},
		     {"P", WTL_FIELD_CPU},	 {"M", WTL_FIELD_MEMORY},
		     {"T", WTL_FIELD_TIME},	 {"N", WTL_FIELD_PID}};
	struct top_bench bench;

	(void)state;
	start(&bench);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		bench.ui.config.set[WTL_SET_ASCENDING] = true;
		top_bench_type(&bench, cases[i].keys);
		assert_int_equal(bench.ui.config.sort, cases[i].field);
		assert_false(bench.ui.config.set[WTL_SET_ASCENDING]);
	}
	top_bench_type(&bench, "I");
	assert_true(bench.ui.config.set[WTL_SET_ASCENDING]);
	top_bench_type(&bench, "<F6><home><down><enter>");
	assert_int_equal(bench.ui.config.sort, WTL_FIELD_PPID);
	assert_false(bench.ui.config.set[WTL_SET_ASCENDING]);
	top_bench_done(&bench);
}

static void test_switch_letters(void **state)
{
	static const struct {
		const char *key;
		enum wtl_setting which;
	} cases[] = {{"d", WTL_SET_FULL},   {"a", WTL_SET_PARTS}, {"x", WTL_SET_EXITED},
		     {"K", WTL_SET_KERNEL}, {"i", WTL_SET_IDLE},  {"t", WTL_SET_TREE},
		     {"<F5>", WTL_SET_TREE}};
	struct top_bench bench;

	(void)state;
	start(&bench);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		bool before = bench.ui.config.set[cases[i].which];

		top_bench_type(&bench, cases[i].key);
		assert_int_equal(bench.ui.config.set[cases[i].which], !before);
		assert_true(bench.ui.message[0]);
	}
	top_bench_type(&bench, "v");
	assert_int_equal(bench.ui.config.set[WTL_SET_GRAPH], WTL_GRAPH_OFF);
	top_bench_type(&bench, "v");
	assert_int_equal(bench.ui.config.set[WTL_SET_GRAPH], WTL_GRAPH_TOTAL);
	top_bench_type(&bench, "]]");
	assert_int_equal(bench.ui.config.set[WTL_SET_WINDOW], 2);
	top_bench_type(&bench, "[[[[");
	assert_int_equal(bench.ui.config.set[WTL_SET_WINDOW], 0);
	top_bench_type(&bench, "]]]]]]]]]]");
	assert_int_equal(bench.ui.config.set[WTL_SET_WINDOW], WTL_TOP_WINDOWS - 1);
	top_bench_type(&bench, "<F8>");
	assert_int_equal(bench.ui.config.set[WTL_SET_WINDOW], 0);
	top_bench_type(&bench, "Z");
	assert_true(bench.ui.is_paused);
	top_bench_type(&bench, "Z");
	assert_false(bench.ui.is_paused);
	top_bench_done(&bench);
}

static void test_ends(void **state)
{
	static const char *const keys[] = {"q", "<F10>", "\x03"};
	struct top_bench bench;

	(void)state;
	start(&bench);
	for (size_t i = 0; i < UNIT_COUNT(keys); i++)
		assert_int_equal(top_bench_type(&bench, keys[i]), WTL_TOP_WISH_QUIT);
	assert_int_equal(top_bench_type(&bench, "\x0c"), WTL_TOP_WISH_REDRAW);
	/* In a list it only leaves that. */
	assert_int_equal(top_bench_type(&bench, "hq"), WTL_TOP_WISH_NOTHING);
	assert_int_equal(bench.ui.mode, WTL_TOP_TABLE);
	/* And it is a letter where one types. */
	assert_int_equal(top_bench_type(&bench, "/q<esc>"), WTL_TOP_WISH_NOTHING);
	top_bench_done(&bench);
}

static void test_filter_is_typed(void **state)
{
	struct top_bench bench;
	struct wtl_top_ui *ui = &bench.ui;

	(void)state;
	start(&bench);
	top_bench_type(&bench, "<F4>cpu_w >");
	assert_int_equal(ui->mode, WTL_TOP_FILTER);
	assert_string_equal(ui->edit, "cpu_w >");
	assert_true(ui->edit_error.text[0]);
	/* What is wrong is not taken. */
	top_bench_type(&bench, "<enter>");
	assert_int_equal(ui->mode, WTL_TOP_FILTER);
	top_bench_type(&bench, " 9<enter>");
	assert_int_equal(ui->mode, WTL_TOP_TABLE);
	assert_string_equal(ui->filter.text, "cpu_w > 9");
	top_bench_draw(&bench, 40, 120);
	assert_int_equal(bench.rows.n, 4);
	/* It is there to be changed; escape leaves it. */
	top_bench_type(&bench, "\\x");
	assert_string_equal(ui->edit, "cpu_w > 9x");
	top_bench_type(&bench, "<esc>");
	assert_string_equal(ui->filter.text, "cpu_w > 9");
	top_bench_type(&bench, "\\\x15<enter>");
	assert_string_equal(ui->filter.text, "");
	top_bench_done(&bench);
}

static void type_points(struct top_bench *bench, const uint32_t points[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct wtl_input input = {.kind = WTL_INPUT_POINT, .point = points[i]};

		wtl_top_ui_input(&bench->ui, &bench->view, &bench->rows, &input, 0);
	}
}

static void test_editing(void **state)
{
	static const uint32_t points[] = {'a', 0xe9, 0x6d4b, 0x1f600, 0x1b, 0x9b, 0x85, 'z'};
	struct top_bench bench;
	struct wtl_top_ui *ui = &bench.ui;
	char text[WTL_FILTER_MAX + 50];

	(void)state;
	start(&bench);
	top_bench_type(&bench, "/");
	type_points(&bench, points, UNIT_COUNT(points)); /* controls are not taken */
	assert_string_equal(ui->edit, "aé测\xf0\x9f\x98\x80z");
	top_bench_type(&bench, "<left><bs>");
	assert_string_equal(ui->edit, "aé测z");
	top_bench_type(&bench, "<left><del>X");
	assert_string_equal(ui->edit, "aéXz");
	top_bench_type(&bench, "<home><del>1<end>9<right><right>0");
	assert_string_equal(ui->edit, "1éXz90");
	top_bench_type(&bench, "<home><bs><left><bs>");
	assert_string_equal(ui->edit, "1éXz90");
	top_bench_type(&bench, "<end>\x15");
	assert_string_equal(ui->edit, "");
	top_bench_type(&bench, "<bs><del>");
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	top_bench_type(&bench, text);
	assert_int_equal(strlen(ui->edit), WTL_FILTER_MAX);
	top_bench_draw(&bench, 24, 40);
	top_bench_done(&bench);
}

static void test_search(void **state)
{
	struct top_bench bench;

	(void)state;
	start(&bench);
	top_bench_type(&bench, "/worker<enter>");
	assert_int_equal(selected_pid(&bench), 4330);
	top_bench_type(&bench, "n");
	assert_int_equal(selected_pid(&bench), 4331);
	top_bench_type(&bench, "n");
	assert_int_equal(selected_pid(&bench), 4330);
	top_bench_type(&bench, "B");
	assert_int_equal(selected_pid(&bench), 4331);
	top_bench_type(&bench, "/\x15"
			       "812<enter>");
	assert_int_equal(selected_pid(&bench), 812);
	top_bench_type(&bench, "/\x15no such thing<enter>");
	assert_int_equal(selected_pid(&bench), 812);
	assert_non_null(strstr(bench.ui.message, "'no such thing'"));
	top_bench_done(&bench);
}

/* Names come a moment after their processes: as long as the message stands, new rows are searched, too,
 * unless another key comes. */
static void test_search_goes_on(void **state)
{
	static const struct {
		const char *keys;
		int64_t wait_ns;
		bool is_found;
	} cases[] = {
		{"", 4 * WTL_NS_PER_S, true},
		{"<left>", 4 * WTL_NS_PER_S, false},
		{"", 5 * WTL_NS_PER_S, false},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct top_bench bench;
		struct wtl_top_process *process;

		start(&bench);
		process = top_bench_process(&bench.view, 4331);
		top_bench_type(&bench, "/later<enter>");
		assert_non_null(strstr(bench.ui.message, "'later' is in none of these rows"));
		top_bench_type(&bench, cases[i].keys);
		bench.view.t_mono_ns += cases[i].wait_ns;
		snprintf(process->command, sizeof(process->command), "python3 later.py");
		top_bench_draw(&bench, 40, 120);
		assert_int_equal(selected_pid(&bench) == 4331, cases[i].is_found);
		assert_int_equal(bench.ui.sought, 0);
		assert_true(bench.ui.is_chosen == cases[i].is_found);
		top_bench_done(&bench);
	}
}

static void test_user(void **state)
{
	struct top_bench bench;

	(void)state;
	start(&bench);
	top_bench_type(&bench, "<home>u");
	assert_string_equal(bench.ui.filter.text, "user == \"bob\"");
	top_bench_draw(&bench, 40, 120);
	assert_int_equal(bench.rows.n, 4);
	top_bench_type(&bench, "u");
	assert_string_equal(bench.ui.filter.text, "");
	top_bench_done(&bench);
}

static void test_kill(void **state)
{
	struct top_bench bench;
	struct wtl_top_ui *ui = &bench.ui;

	(void)state;
	start(&bench);
	assert_int_equal(top_bench_type(&bench, "<home><F9>"), WTL_TOP_WISH_NOTHING);
	assert_int_equal(ui->mode, WTL_TOP_SIGNAL);
	assert_int_equal(top_bench_type(&bench, "<down><down><enter>"), WTL_TOP_WISH_NOTHING);
	assert_int_equal(ui->mode, WTL_TOP_CONFIRM);
	assert_int_equal(ui->victim.pid, 4321);
	assert_int_equal(ui->victim.signal, SIGKILL);
	assert_int_equal(ui->victim.start_ns,
			 top_bench_process(&bench.view, 4321)->consumer.start_ns);
	/* The table may have changed meanwhile: it is still the one that was asked about. */
	bench.view.n_processes = 0;
	assert_int_equal(top_bench_type(&bench, "y"), WTL_TOP_WISH_SIGNAL);
	assert_int_equal(ui->victim.pid, 4321);
	assert_int_equal(ui->mode, WTL_TOP_TABLE);
	top_bench_done(&bench);
}

static void test_kill_not_confirmed(void **state)
{
	static const char *const answers[] = {"n", "<esc>", "<enter>", " ", "k", "<F9>", "<F10>"};
	struct top_bench bench;

	(void)state;
	start(&bench);
	for (size_t i = 0; i < UNIT_COUNT(answers); i++) {
		top_bench_type(&bench, "k<enter>");
		assert_int_equal(bench.ui.mode, WTL_TOP_CONFIRM);
		assert_int_equal(top_bench_type(&bench, answers[i]), WTL_TOP_WISH_NOTHING);
		assert_int_equal(bench.ui.mode, WTL_TOP_TABLE);
	}
	top_bench_type(&bench, "k<esc>y");
	assert_int_equal(bench.ui.mode, WTL_TOP_TABLE);
	top_bench_type(&bench, "k<enter>");
	assert_int_equal(give(&bench, WTL_INPUT_NONE, 0, 0), WTL_TOP_WISH_NOTHING);
	assert_int_equal(bench.ui.mode, WTL_TOP_CONFIRM);
	top_bench_done(&bench);
}

static void test_who_cannot_be_killed(void **state)
{
	struct top_bench bench;

	(void)state;
	start(&bench);
	bench.ui.no_kill_why = "Read-only";
	top_bench_type(&bench, "k");
	assert_int_equal(bench.ui.mode, WTL_TOP_TABLE);
	assert_string_equal(bench.ui.message, "Read-only");
	bench.ui.no_kill_why = NULL;
	/* A kernel thread, one that ended, a row of many, a group. */
	top_bench_type(&bench, "xK");
	for (size_t i = 0; i < bench.view.n_processes; i++) {
		const struct wtl_top_process *process = &bench.view.processes[i];
		bool may = process->consumer.state == WTL_CONSUMER_LIVE;

		top_bench_draw(&bench, 40, 120);
		bench.ui.selected = wtl_top_rows_find(&bench.rows, wtl_top_process_key(process));
		assert_true(bench.ui.selected >= 0);
		top_bench_type(&bench, "k");
		assert_int_equal(bench.ui.mode, may ? WTL_TOP_SIGNAL : WTL_TOP_TABLE);
		if (may)
			top_bench_type(&bench, "<esc>");
	}
	top_bench_type(&bench, "g<down><enter><home>k");
	assert_int_equal(bench.ui.mode, WTL_TOP_TABLE);
	top_bench_done(&bench);
}

/* A number that a GPU's driver told is another process's here; and who has a number is known by its
 * start. */
static void test_whose_number_is_not_known(void **state)
{
	struct top_bench bench;
	struct wtl_consumer *consumer;
	int64_t start_ns;

	(void)state;
	start(&bench);
	consumer = &top_bench_process(&bench.view, 4321)->consumer;
	start_ns = consumer->start_ns;
	consumer->start_ns = 0;
	for (int turn = 0; turn < 3; turn++) {
		/* It waits as long as it takes, for that process, unless another key comes. */
		top_bench_type(&bench, turn == 1 ? "<home>k<left>" : "<home>k");
		bench.view.t_mono_ns += INT64_C(60000000000);
		top_bench_draw(&bench, 40, 120);
		assert_int_equal(bench.ui.mode, WTL_TOP_TABLE);
		assert_non_null(strstr(bench.ui.message, "Waiting until it is known"));
		consumer->start_ns = start_ns;
		top_bench_draw(&bench, 40, 120);
		assert_int_equal(bench.ui.mode, turn == 1 ? WTL_TOP_TABLE : WTL_TOP_SIGNAL);
		assert_true(turn == 1 || bench.ui.victim.start_ns == start_ns);
		top_bench_type(&bench, "<esc>");
		consumer->start_ns = 0;
	}
	/* The cursor and the details stay with it, too. */
	bench.ui.selected = 0;
	top_bench_type(&bench, "<down><up><enter>");
	assert_true(bench.ui.is_chosen);
	consumer->start_ns = start_ns;
	top_bench_draw(&bench, 40, 120);
	assert_true(bench.ui.is_chosen);
	assert_true(bench.ui.details_key ==
		    wtl_top_process_key(top_bench_process(&bench.view, 4321)));
	top_bench_type(&bench, "<esc>");
	consumer->start_ns = 0;
	consumer->is_readable = false;
	consumer->cpu_ns = 0;
	top_bench_type(&bench, "k");
	assert_int_equal(bench.ui.mode, WTL_TOP_TABLE);
	assert_non_null(strstr(bench.ui.message, "PID namespace"));
	top_bench_done(&bench);
}

static void test_details(void **state)
{
	struct top_bench bench;

	(void)state;
	start(&bench);
	top_bench_type(&bench, "<home><enter>");
	assert_int_equal(bench.ui.mode, WTL_TOP_DETAILS);
	top_bench_draw(&bench, 40, 120);
	top_bench_type(&bench, "k");
	assert_int_equal(bench.ui.mode, WTL_TOP_SIGNAL);
	assert_int_equal(bench.ui.victim.pid, 4321);
	top_bench_type(&bench, "<esc><enter>");
	bench.view.n_processes = 1; /* it is gone */
	top_bench_draw(&bench, 40, 120);
	top_bench_type(&bench, "k");
	assert_int_equal(bench.ui.mode, WTL_TOP_TABLE);
	top_bench_done(&bench);
}

static void test_folding(void **state)
{
	struct top_bench bench;

	(void)state;
	start(&bench);
	top_bench_type(&bench, "t<home>");
	top_bench_draw(&bench, 40, 120);
	assert_int_equal(bench.rows.n, 9);
	top_bench_type(&bench, " ");
	top_bench_draw(&bench, 40, 120);
	assert_int_equal(bench.rows.n, 1);
	top_bench_type(&bench, "+");
	top_bench_draw(&bench, 40, 120);
	assert_int_equal(bench.rows.n, 9);
	/* A group opens by enter; changing the grouping closes all. */
	top_bench_type(&bench, "g<down><enter>");
	top_bench_draw(&bench, 40, 120);
	assert_int_equal(bench.rows.n, 5);
	top_bench_type(&bench, "<home><enter>");
	top_bench_draw(&bench, 40, 120);
	assert_int_equal(bench.rows.n, 9);
	assert_int_equal(bench.ui.mode, WTL_TOP_TABLE);
	top_bench_done(&bench);
}

static void test_setup(void **state)
{
	struct top_bench bench;
	struct wtl_top_config *config = &bench.ui.config;
	int n;

	(void)state;
	start(&bench);
	top_bench_type(&bench, "<F2>");
	n = wtl_top_list_n(&bench.ui);
	for (int i = 0; i < n; i++) {
		char before[WTL_TOP_LINE_MAX], after[WTL_TOP_LINE_MAX];

		bench.ui.entry = i;
		wtl_top_list_text(&bench.ui, i, before);
		assert_int_equal(top_bench_type(&bench, " "), WTL_TOP_WISH_NOTHING);
		wtl_top_list_text(&bench.ui, i, after);
		assert_string_not_equal(before, after);
	}
	assert_true(config->columns[WTL_FIELD_COMMAND]);
	for (int i = 0; i < 10; i++) { /* once around */
		bench.ui.entry = WTL_SET_GRAPH + 2;
		top_bench_type(&bench, "<enter>");
		assert_in_range(config->redraw_ms, 50, 10000);
	}
	assert_int_equal(top_bench_type(&bench, "<esc>"), WTL_TOP_WISH_SAVE);
	assert_int_equal(top_bench_type(&bench, "Sq"), WTL_TOP_WISH_SAVE);
	/* Nothing else is kept. */
	assert_int_equal(top_bench_type(&bench, "h<esc><F6><enter>g<enter>tW"),
			 WTL_TOP_WISH_NOTHING);
	top_bench_done(&bench);
}

/* Every list fits into 60 columns with its frame, and a blank on either side. */
static void test_lists_are_narrow(void **state)
{
	static const char *const keys[] = {"h", "S", ">", "g", "k"};
	struct top_bench bench;

	(void)state;
	start(&bench);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		top_bench_type(&bench, keys[i]);
		bench.ui.is_replay = bench.ui.mode == WTL_TOP_HELP; /* which has more keys */
		assert_true(wtl_top_list_n(&bench.ui) > 5);
		for (int entry = 0; entry < wtl_top_list_n(&bench.ui); entry++) {
			char text[WTL_TOP_LINE_MAX];

			wtl_top_list_text(&bench.ui, entry, text);
			if (strlen(text) > 60 - 4)
				fail_msg("\"%s\" is too long", text);
		}
		bench.ui.is_replay = false;
		top_bench_type(&bench, "<esc>");
	}
	top_bench_done(&bench);
}

static void test_lists_scroll(void **state)
{
	struct top_bench bench;
	struct wtl_top_ui *ui = &bench.ui;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	top_bench_type(&bench, "S");
	for (int i = 0; i < 100; i++) {
		top_bench_draw(&bench, 12, 60);
		assert_true(ui->entry >= ui->first_entry);
		assert_true(ui->entry < ui->first_entry + ui->places.list_n);
		top_bench_type(&bench, i < 50 ? "<down>" : i < 60 ? "<pgup>" : "<end>");
	}
	assert_int_equal(ui->entry, wtl_top_list_n(ui) - 1);
	/* Help moves by pages, and stops at its end. */
	top_bench_type(&bench, "<esc>h");
	top_bench_draw(&bench, 12, 60);
	top_bench_type(&bench, "<pgdn><pgdn><pgdn><pgdn><end>");
	top_bench_draw(&bench, 12, 60);
	assert_int_equal(ui->first_entry + ui->places.list_n, wtl_top_list_n(ui));
	top_bench_type(&bench, "<home>j");
	assert_int_equal(ui->first_entry, 1);
	top_bench_type(&bench, "<enter>");
	assert_int_equal(ui->mode, WTL_TOP_TABLE);
	top_bench_done(&bench);
}

static void test_mouse(void **state)
{
	struct top_bench bench;
	struct wtl_top_ui *ui = &bench.ui;
	struct wtl_top_places places;

	(void)state;
	start(&bench);
	places = ui->places;
	for (int i = 0; i < places.n_columns; i++) {
		give(&bench, WTL_INPUT_CLICK, places.header_row, places.columns[i].from);
		assert_int_equal(ui->config.sort, places.columns[i].field);
		assert_false(ui->config.set[WTL_SET_ASCENDING]);
		give(&bench, WTL_INPUT_CLICK, places.header_row, places.columns[i].to - 1);
		assert_true(ui->config.set[WTL_SET_ASCENDING]);
	}
	top_bench_type(&bench, "W");
	top_bench_draw(&bench, 40, 120);
	give(&bench, WTL_INPUT_CLICK, places.first_row + 2, 50);
	assert_int_equal(selected_pid(&bench), 4330);
	give(&bench, WTL_INPUT_CLICK, places.first_row + 20, 50); /* no row is there */
	assert_int_equal(selected_pid(&bench), 4330);
	give(&bench, WTL_INPUT_WHEEL_DOWN, 0, 0);
	assert_int_equal(ui->selected, 5);
	give(&bench, WTL_INPUT_WHEEL_UP, 0, 0);
	assert_int_equal(ui->selected, 2);
	give(&bench, WTL_INPUT_DOUBLE_CLICK, places.first_row, 50);
	assert_int_equal(ui->mode, WTL_TOP_DETAILS);
	give(&bench, WTL_INPUT_CLICK, 0, 0);
	assert_int_equal(ui->mode, WTL_TOP_TABLE);
	give(&bench, WTL_INPUT_CLICK, -7, 1000);
	assert_int_equal(ui->mode, WTL_TOP_TABLE);
	top_bench_done(&bench);
}

static void test_mouse_on_keys_and_lists(void **state)
{
	struct top_bench bench;
	struct wtl_top_ui *ui = &bench.ui;
	const struct wtl_top_places *places = &ui->places;

	(void)state;
	start(&bench);
	assert_int_equal(give(&bench, WTL_INPUT_CLICK, places->keys_row,
			      places->keys[places->n_keys - 1].from),
			 WTL_TOP_WISH_QUIT);
	give(&bench, WTL_INPUT_CLICK, places->keys_row, places->keys[5].from); /* F6 */
	assert_int_equal(ui->mode, WTL_TOP_SORT);
	top_bench_draw(&bench, 40, 120);
	give(&bench, WTL_INPUT_WHEEL_DOWN, 0, 0);
	assert_int_equal(ui->mode, WTL_TOP_SORT);
	give(&bench, WTL_INPUT_CLICK, places->list_row + 2, 60);
	assert_int_equal(ui->config.sort, WTL_FIELD_USER);
	assert_int_equal(ui->mode, WTL_TOP_TABLE);
	top_bench_type(&bench, "S");
	top_bench_draw(&bench, 40, 120);
	assert_int_equal(give(&bench, WTL_INPUT_CLICK, 0, 0), WTL_TOP_WISH_SAVE);
	top_bench_done(&bench);
}

/* It covers the keys: not for long. */
static void test_message(void **state)
{
	struct top_bench bench;

	(void)state;
	start(&bench);
	wtl_top_ui_say(&bench.ui, 5 * WTL_NS_PER_S, "%d things", 3);
	assert_string_equal(bench.ui.message, "3 things");
	assert_int_equal(bench.ui.message_until_ns, 7 * WTL_NS_PER_S);
	top_bench_done(&bench);
}

/* Whatever is typed, in any order, at any size. */
static void test_anything(void **state)
{
	static const char *const keys[] = {
		"<up>",	   "<down>", "<left>", "<right>", "<pgup>", "<pgdn>", "<home>", "<end>",
		"<enter>", "<esc>",  "<bs>",   "<del>",	  "<F1>",   "<F2>",   "<F3>",	"<F4>",
		"<F5>",	   "<F6>",   "<F7>",   "<F8>",	  "<F9>",   "y",      "W",	"I",
		"d",	   "a",	     "x",      "K",	  "i",	    "v",      "[",	"]",
		"F",	   "Z",	     "u",      "n",	  "p",	    " ",      "=",	"1",
	};
	struct top_bench bench;
	uint32_t random = 12345;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	for (unsigned i = 0; i < 20000; i++) {
		random = random * 1664525u + 1013904223u;
		if (i % 16 == 0)
			top_bench_draw(&bench, (int)(random >> 8) % 50, (int)(random >> 16) % 150);
		else if (i % 8 == 0)
			give(&bench, WTL_INPUT_CLICK, (int)(random >> 8) % 50,
			     (int)(random >> 16) % 150);
		else
			top_bench_type(&bench, keys[(random >> 8) % UNIT_COUNT(keys)]);
	}
	top_bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moving),
		cmocka_unit_test(test_scrolling),
		cmocka_unit_test(test_line_or_process),
		cmocka_unit_test(test_chosen_process),
		cmocka_unit_test(test_nobody_left),
		cmocka_unit_test(test_sort_letters),
		cmocka_unit_test(test_switch_letters),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_filter_is_typed),
		cmocka_unit_test(test_editing),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_search_goes_on),
		cmocka_unit_test(test_user),
		cmocka_unit_test(test_kill),
		cmocka_unit_test(test_kill_not_confirmed),
		cmocka_unit_test(test_who_cannot_be_killed),
		cmocka_unit_test(test_whose_number_is_not_known),
		cmocka_unit_test(test_details),
		cmocka_unit_test(test_folding),
		cmocka_unit_test(test_setup),
		cmocka_unit_test(test_lists_are_narrow),
		cmocka_unit_test(test_lists_scroll),
		cmocka_unit_test(test_mouse),
		cmocka_unit_test(test_mouse_on_keys_and_lists),
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
