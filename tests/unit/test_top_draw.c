/* SPDX-License-Identifier: MIT */
#include "commands/top/draw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "energy/units.h"
#include "top_bench.h"

#include "unit.h"

/* ---- Golden frames: look at each of them before committing ---- */

static const struct frame {
	const char *name;
	void (*machine)(struct wtl_top_view *view);
	int rows, columns;
	const char *keys; /* typed before */
	bool ascii, styles;
} frames[] = {
	{"server-20x5.txt", top_bench_server, 5, 20, "", false, false},
	{"server-40x12.txt", top_bench_server, 12, 40, "", false, false},
	{"server-80x24.txt", top_bench_server, 24, 80, "", false, false},
	{"server-80x24-ascii.txt", top_bench_server, 24, 80, "t", true, false},
	{"server-120x40.txt", top_bench_server, 40, 120, "", false, true},
	{"server-200x60.txt", top_bench_server, 60, 200, "xK", false, false},
	{"server-tree.txt", top_bench_server, 40, 120, "tv", false, false},
	{"server-groups.txt", top_bench_server, 40, 120, "g<down><enter><home><enter>", false,
	 false},
	{"server-full.txt", top_bench_server, 24, 100, "dE", false, false},
	{"server-details.txt", top_bench_server, 30, 100, "<home><enter>", false, false},
	{"server-help.txt", top_bench_server, 34, 90, "?", false, false},
	{"server-setup.txt", top_bench_server, 30, 90, "S<down><down>", false, true},
	{"server-sort.txt", top_bench_server, 30, 90, "<F6>", false, false},
	{"server-kill.txt", top_bench_server, 24, 80, "<home>k", false, false},
	{"server-confirm.txt", top_bench_server, 24, 80, "<home>k<enter>", false, true},
	{"server-filter.txt", top_bench_server, 24, 80, "\\user == bob && cpu_w >", false, false},
	{"server-filtered.txt", top_bench_server, 24, 80, "\\user == bob && cpu_w > 9<enter>",
	 false, false},
	{"laptop-80x24.txt", top_bench_laptop, 24, 80, "", false, false},
	{"denied-80x24.txt", top_bench_denied, 24, 80, "", false, false},
	{"denied-20x5.txt", top_bench_denied, 5, 20, "", false, false},
};

static void eight_gpus(struct wtl_top_view *view)
{
	top_bench_gpus(view, 8);
}

static void test_golden(void **state)
{
	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(frames); i++) {
		const struct frame *frame = &frames[i];
		struct top_bench bench;

		top_bench_init(&bench, frame->machine);
		bench.canvas.ascii = frame->ascii;
		top_bench_draw(&bench, frame->rows, frame->columns);
		top_bench_type(&bench, frame->keys);
		bench.ui.message[0] = '\0';
		top_bench_draw(&bench, frame->rows, frame->columns);
		top_bench_golden(frame->name, &bench.canvas, frame->styles);
		top_bench_done(&bench);
	}
}

static void test_golden_eight_gpus(void **state)
{
	static const int sizes[][2] = {{24, 80}, {50, 160}};
	char name[64];

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(sizes); i++) {
		struct top_bench bench;

		top_bench_init(&bench, eight_gpus);
		top_bench_draw(&bench, sizes[i][0], sizes[i][1]);
		snprintf(name, sizeof(name), "eight-gpus-%dx%d.txt", sizes[i][1], sizes[i][0]);
		top_bench_golden(name, &bench.canvas, false);
		top_bench_done(&bench);
	}
}

/* ---- What holds at every size ---- */

/* Every cell can be shown: no control characters, halves of wide characters in pairs. */
static void check_cells(const struct wtl_canvas *canvas)
{
	for (int row = 0; row < canvas->rows; row++) {
		for (int column = 0; column < canvas->columns; column++) {
			const struct wtl_cell *cell = wtl_canvas_cell(canvas, row, column);

			assert_true(cell->point >= 0x20 && cell->point != 0x7f);
			assert_true(cell->point < 0x80 || cell->point >= 0xa0);
			assert_true(cell->style < WTL_STYLES);
			if (canvas->ascii)
				assert_true(cell->point < 0x7f);
			if (cell->width == 2)
				assert_int_equal(wtl_canvas_cell(canvas, row, column + 1)->width,
						 0);
			if (cell->width == 0)
				assert_int_equal(wtl_canvas_cell(canvas, row, column - 1)->width,
						 2);
		}
	}
}

/* With the address sanitizer each state has one machine, and each machine has three states. */
static void test_all_sizes(void **state)
{
	static void (*const machines[])(struct wtl_top_view *) = {
		top_bench_server, top_bench_laptop, top_bench_denied, eight_gpus};
	static const char *const states[] = {
		"",   "h",	 "S",  "<F6>",		 "k", "k<enter>",
		"\\", "<enter>", "tv", "g<down><enter>", "/", "\\user ="};

	(void)state;
	for (size_t m = 0; m < UNIT_COUNT(machines); m++) {
		for (size_t s = 0; s < UNIT_COUNT(states); s++) {
			struct top_bench bench;

			if (UNIT_SANITIZED && m != s % UNIT_COUNT(machines))
				continue;
			top_bench_init(&bench, machines[m]);
			bench.canvas.ascii = s % 2;
			top_bench_type(&bench, states[s]);
			for (int rows = 0; rows < 60; rows += 1 + rows / 8) {
				for (int columns = 0; columns < 210; columns += 1 + columns / 9) {
					top_bench_draw(&bench, rows, columns);
					check_cells(&bench.canvas);
				}
			}
			top_bench_done(&bench);
		}
	}
}

static void test_large(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	top_bench_draw(&bench, 200, 500);
	check_cells(&bench.canvas);
	top_bench_draw(&bench, 1000, 1000);
	check_cells(&bench.canvas);
	top_bench_done(&bench);
}

/* The same twice, and nothing left over from what was there before. */
static void test_deterministic(void **state)
{
	struct top_bench bench;
	struct wtl_buf first, second;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	wtl_buf_init(&first, 1 << 20);
	wtl_buf_init(&second, 1 << 20);
	top_bench_draw(&bench, 30, 100);
	wtl_canvas_dump(&bench.canvas, &first);
	top_bench_type(&bench, "?");
	top_bench_draw(&bench, 50, 200);
	top_bench_type(&bench, "q");
	top_bench_draw(&bench, 30, 100);
	wtl_canvas_dump(&bench.canvas, &second);
	assert_string_equal(wtl_buf_str(&first), wtl_buf_str(&second));
	wtl_buf_done(&first);
	wtl_buf_done(&second);
	top_bench_done(&bench);
}

/* ---- Single things ---- */

static bool shows(struct top_bench *bench, const char *text)
{
	struct wtl_buf buf;
	bool found;

	wtl_buf_init(&buf, 4 << 20);
	assert_int_equal(wtl_canvas_dump(&bench->canvas, &buf), 0);
	found = strstr(wtl_buf_str(&buf), text) != NULL;
	wtl_buf_done(&buf);
	return found;
}

static void draw_at(struct top_bench *bench, int rows, int columns, int64_t later_ns)
{
	struct wtl_top_picture picture = {.canvas = &bench->canvas,
					  .view = &bench->view,
					  .rows = &bench->rows,
					  .ui = &bench->ui,
					  .now_ns = bench->view.t_mono_ns + later_ns};

	top_bench_draw(bench, rows, columns);
	wtl_top_draw(&picture);
}

static void test_stuck(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	draw_at(&bench, 30, 120, WTL_NS_PER_S);
	assert_false(shows(&bench, "Nothing new"));
	assert_false(shows(&bench, "no answer"));
	draw_at(&bench, 30, 120, 7 * WTL_NS_PER_S);
	assert_true(shows(&bench, "Nothing new for 7 s"));
	/* One GPU of a meter that goes on. */
	bench.view.gpus_answered_ns -= 4 * WTL_NS_PER_S;
	draw_at(&bench, 30, 120, 0);
	assert_true(shows(&bench, "stuck: no answer for 4 s"));
	assert_false(shows(&bench, "Nothing new"));
	/* Also where its power is late, for the driver keeps its source. */
	for (size_t i = 0; i < bench.view.n_domains; i++)
		if (bench.view.domains[i].gpu == 0) {
			bench.view.domains[i].status = WATTLE_STATUS_STALE;
			bench.view.domains[i].has_power = false;
		}
	draw_at(&bench, 30, 120, 0);
	assert_true(shows(&bench, "stuck: no answer for 4 s"));
	assert_false(shows(&bench, "stale"));
	/* A slow interval is no trouble; neither is a tape's end, or a picture that was stopped. */
	bench.view.interval_ns = 60 * WTL_NS_PER_S;
	draw_at(&bench, 30, 120, 70 * WTL_NS_PER_S);
	assert_false(shows(&bench, "Nothing new"));
	bench.view.interval_ns = WTL_NS_PER_MS;
	bench.view.is_over = true;
	draw_at(&bench, 30, 120, 70 * WTL_NS_PER_S);
	assert_false(shows(&bench, "Nothing new"));
	assert_true(shows(&bench, "end of the tape"));
	bench.view.is_over = false;
	bench.ui.is_paused = true;
	draw_at(&bench, 30, 120, 70 * WTL_NS_PER_S);
	assert_false(shows(&bench, "Nothing new"));
	assert_true(shows(&bench, "paused"));
	top_bench_done(&bench);
}

/* In the place of the keys, for a while; an answer to what was typed comes first. */
static void test_remark_on_processes(void **state)
{
	static const char remark[] = "Records of ended processes were lost";
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	snprintf(bench.view.remark, sizeof(bench.view.remark), "%s 2 times", remark);
	bench.view.remark_until_ns = bench.view.t_mono_ns + 3 * WTL_NS_PER_S;
	draw_at(&bench, 30, 120, WTL_NS_PER_S);
	assert_true(shows(&bench, remark));
	assert_false(shows(&bench, "F10"));
	snprintf(bench.ui.message, sizeof(bench.ui.message), "saved");
	bench.ui.message_until_ns = bench.view.t_mono_ns + 2 * WTL_NS_PER_S;
	draw_at(&bench, 30, 120, WTL_NS_PER_S);
	assert_true(shows(&bench, "saved"));
	assert_false(shows(&bench, remark));
	draw_at(&bench, 30, 120, 2 * WTL_NS_PER_S);
	assert_true(shows(&bench, remark));
	draw_at(&bench, 30, 120, 3 * WTL_NS_PER_S);
	assert_false(shows(&bench, remark));
	assert_true(shows(&bench, "F10"));
	top_bench_done(&bench);
}

static void test_before_anything_is_known(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_denied);
	wtl_top_view_done(&bench.view);
	draw_at(&bench, 24, 80, 100 * WTL_NS_PER_S);
	assert_true(shows(&bench, "wattle top"));
	assert_false(shows(&bench, "Nothing new"));
	assert_false(shows(&bench, "no power"));
	top_bench_done(&bench);
}

static void test_statuses(void **state)
{
	static const struct {
		enum wattle_status status;
		const char *says;
	} cases[] = {{WATTLE_STATUS_GONE, "lost: it has fallen off the bus"},
		     {WATTLE_STATUS_ASLEEP, "asleep, and left alone"},
		     {WATTLE_STATUS_DENIED, "more privilege"},
		     {WATTLE_STATUS_FAILED, "reading it fails"},
		     {WATTLE_STATUS_STALE, "answers late"},
		     {WATTLE_STATUS_ABSENT, "tells nothing"}};
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		bench.view.gpus[0].status = cases[i].status;
		top_bench_draw(&bench, 30, 160);
		if (!shows(&bench, cases[i].says))
			fail_msg("'%s' is not shown", cases[i].says);
	}
	/* One may tell all but its power. */
	assert_false(shows(&bench, " 34.1G/80.0G "));
	bench.view.gpus[1].status = WATTLE_STATUS_OK;
	top_bench_draw(&bench, 30, 160);
	assert_true(shows(&bench, " asleep  reading it") && shows(&bench, " 34.1G/80.0G "));
	bench.view.gpus[1].status = WATTLE_STATUS_ASLEEP;
	/* A GPU without an energy domain has a row of its own. */
	bench.view.gpus[0].status = WATTLE_STATUS_GONE;
	for (size_t i = 0; i < bench.view.n_domains; i++)
		bench.view.domains[i].gpu = -1;
	top_bench_draw(&bench, 30, 160);
	assert_true(shows(&bench, "\n gpu-0     NVIDIA A100-SXM4-80GB "));
	assert_true(shows(&bench, " lost: it has fallen off"));
	top_bench_done(&bench);
}

static void test_remarks(void **state)
{
	struct top_bench bench;
	struct wtl_top_domain *domain;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	domain = &bench.view.domains[0];
	domain->energy.flags = WATTLE_ENERGY_DISAGREES;
	top_bench_draw(&bench, 40, 200);
	assert_true(shows(&bench, "two sources disagree"));
	domain->energy.flags = 0;
	domain->energy.gap_ns = 65 * WTL_NS_PER_S;
	top_bench_draw(&bench, 40, 200);
	assert_true(shows(&bench, "not measured for 0:01:05"));
	domain->energy.gap_ns = 0;
	domain->method = WATTLE_METHOD_MODELLED;
	top_bench_draw(&bench, 40, 200);
	assert_true(shows(&bench, "modelled, not measured"));
	assert_true(shows(&bench, "~104.2 W"));
	top_bench_done(&bench);
}

static int count_cells(const struct wtl_canvas *canvas, enum wtl_style style, int from_row,
		       int to_row)
{
	int n = 0;

	for (int row = from_row; row < to_row; row++)
		for (int column = 0; column < canvas->columns; column++)
			n += wtl_canvas_cell(canvas, row, column)->style == style;
	return n;
}

static void test_throttling(void **state)
{
	struct top_bench bench;
	struct wtl_gpu_value *reasons;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	reasons = &bench.view.gpus[0].numbers[WTL_TOP_GPU_THROTTLE];
	reasons->value = WTL_THROTTLE_SW_POWER_CAP | WTL_THROTTLE_HW_THERMAL;
	top_bench_draw(&bench, 30, 160);
	assert_true(shows(&bench, "heat (hw)")); /* the graver one */
	/* Where there is no room for the word, the clock has its colour. */
	top_bench_draw(&bench, 30, 80);
	assert_false(shows(&bench, "heat"));
	assert_true(count_cells(&bench.canvas, WTL_STYLE_WARN, 3, 12) == 4);
	reasons->value = WTL_THROTTLE_IDLE | WTL_THROTTLE_DISPLAY_CLOCKS;
	top_bench_draw(&bench, 30, 160);
	assert_false(shows(&bench, "heat (hw)"));
	assert_false(shows(&bench, "power cap"));
	top_bench_done(&bench);
}

/* Unknown is absent: no zeros are made up. */
static void test_gpu_without_numbers(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	for (unsigned i = 0; i < WTL_TOP_GPU_NUMBERS; i++)
		bench.view.gpus[0].numbers[i] =
			(struct wtl_gpu_value){.status = WATTLE_STATUS_ABSENT};
	top_bench_draw(&bench, 30, 160);
	assert_false(shows(&bench, "USE%"));
	assert_false(shows(&bench, "MHz"));
	assert_false(shows(&bench, "PCIe"));
	top_bench_done(&bench);
}

/* A gap is a column without dots; 0 W is one with. */
static void test_curve_gap_and_zero(void **state)
{
	struct top_bench bench;
	struct wtl_top_curve *curve = &bench.view.total.curve;
	int dots = 0;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	bench.ui.config.set[WTL_SET_GRAPH] = WTL_GRAPH_TOTAL;
	bench.view.total.idle.is_known = false;
	wtl_top_view_clear_bins(&bench.view, 100 * WTL_NS_PER_MS);
	for (unsigned i = 0; i < 200; i++) {
		curve->newest = i < 100 ? WTL_TOP_GAP : 0;
		wtl_top_view_add_bin(&bench.view, true);
	}
	top_bench_draw(&bench, 40, 120);
	for (int row = 0; row < 40; row++)
		for (int column = 0; column < 120; column++) {
			uint32_t point = wtl_canvas_cell(&bench.canvas, row, column)->point;

			if (point > 0x2800 && point <= 0x28ff) {
				dots++;
				assert_true(column >= 60); /* the right half */
			}
		}
	assert_in_range(dots, 50, 60);
	top_bench_done(&bench);
}

/* Time goes on without a change in what was: no dot of the past moves by anything but whole columns. */
static void test_curve_does_not_shimmer(void **state)
{
	struct top_bench bench;
	struct wtl_top_curve *curve = &bench.view.total.curve;
	uint32_t before[120], after[120];
	unsigned same = 0;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	bench.ui.config.set[WTL_SET_GRAPH] = WTL_GRAPH_TOTAL;
	for (unsigned i = 0; i < 500; i++) {
		curve->newest = 1000 * (i * 7919 % 400);
		wtl_top_view_add_bin(&bench.view, true);
	}
	for (unsigned step = 0; step < 40; step++) {
		int row = 25;

		top_bench_draw(&bench, 40, 120);
		for (int column = 0; column < 120; column++)
			before[column] = wtl_canvas_cell(&bench.canvas, row, column)->point;
		curve->newest = 100000;
		wtl_top_view_add_bin(&bench.view, true);
		top_bench_draw(&bench, 40, 120);
		for (int column = 0; column < 120; column++)
			after[column] = wtl_canvas_cell(&bench.canvas, row, column)->point;
		same += memcmp(before + 10, after + 10, 90 * sizeof(before[0])) == 0 ||
			memcmp(before + 11, after + 10, 90 * sizeof(before[0])) == 0;
	}
	/* A step of half a cell is the only other one. */
	assert_true(same >= 15);
	top_bench_done(&bench);
}

static void test_levels(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	top_bench_draw(&bench, 40, 120);
	assert_true(count_cells(&bench.canvas, WTL_STYLE_LIMIT, 13, 28) > 30);
	assert_true(count_cells(&bench.canvas, WTL_STYLE_IDLE, 14, 28) > 30);
	top_bench_done(&bench);
}

/* The scale goes by what is there: a limit that is far away is told, not drawn. */
static void test_scale(void **state)
{
	struct top_bench bench;
	struct wtl_top_domain *gpu;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	gpu = &bench.view.domains[6];
	assert_string_equal(gpu->name, "gpu-0");
	top_bench_draw(&bench, 40, 120);
	assert_true(shows(&bench, " 400 W ")); /* 291 W of 400: it is close */
	gpu->limit_uw = 700000000;
	top_bench_draw(&bench, 40, 120);
	assert_true(shows(&bench, "limit 700.0") && shows(&bench, " 400 W "));
	assert_false(shows(&bench, "700 W \xe2\x94\x80"));
	/* Ticks of time. */
	assert_true(shows(&bench, "\xe2\x95\xb5"
				  "20s ") &&
		    shows(&bench, " now\xe2\x95\xb5"));
	top_bench_done(&bench);
}

/* The total as plot --live shows it: neighbours in the stack differ, and each is named beside it. */
static void test_stack(void **state)
{
	struct top_bench bench;
	struct wtl_top_picture picture = {
		.canvas = &bench.canvas, .view = &bench.view, .ui = &bench.ui};

	(void)state;
	top_bench_init(&bench, eight_gpus);
	for (int rows = 1; rows < 40; rows += 1 + rows / 6)
		for (int columns = 1; columns < 160; columns += 1 + columns / 6) {
			bench.canvas.ascii = columns % 2;
			assert_int_equal(wtl_canvas_resize(&bench.canvas, rows, columns), 0);
			wtl_top_draw_curve(&picture, &bench.view.total, 0, rows, 0, columns);
			check_cells(&bench.canvas);
		}
	bench.canvas.ascii = false;
	assert_int_equal(wtl_canvas_resize(&bench.canvas, 30, 120), 0);
	wtl_top_draw_curve(&picture, &bench.view.total, 0, 30, 0, 120);
	assert_true(count_cells(&bench.canvas, WTL_STYLE_GPU, 0, 30) > 200);
	assert_true(count_cells(&bench.canvas, WTL_STYLE_GPU_2, 0, 30) > 200);
	assert_true(count_cells(&bench.canvas, WTL_STYLE_CPU_2, 0, 30) > 20);
	assert_true(shows(&bench, "total 2480.5 W \xc2\xb1") && shows(&bench, "\n2400 W "));
	assert_true(shows(&bench, "\xe2\x96\xa0 gpu-7       284.3 W \xc2\xb1"));
	assert_int_equal(wtl_canvas_resize(&bench.canvas, 10, 120), 0);
	wtl_top_draw_curve(&picture, &bench.view.total, 0, 10, 0, 120);
	assert_true(shows(&bench, "and 3 more"));
	top_bench_done(&bench);
}

static void test_windows(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	for (unsigned i = 0; i < WTL_TOP_WINDOWS; i++) {
		bench.ui.config.set[WTL_SET_WINDOW] = i;
		top_bench_draw(&bench, 40, 120);
		assert_true(shows(&bench, wtl_setting_info(WTL_SET_WINDOW)->words[i]));
		check_cells(&bench.canvas);
	}
	top_bench_done(&bench);
}

/* Every header's column is where its figures are, and can be clicked. */
static void test_places(void **state)
{
	struct top_bench bench;
	const struct wtl_top_places *places = &bench.ui.places;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	top_bench_draw(&bench, 40, 120);
	assert_int_equal(places->keys_row, 39);
	assert_int_equal(places->n_keys, 10);
	assert_true(places->header_row > 0);
	assert_int_equal(places->first_row, places->header_row + 1);
	assert_int_equal(places->first_row + places->n_rows, 39);
	assert_int_equal(places->columns[places->n_columns - 1].field, WTL_FIELD_COMMAND);
	for (int i = 1; i < places->n_columns; i++)
		assert_true(places->columns[i].from >= places->columns[i - 1].to);
	top_bench_draw(&bench, 3, 120);
	assert_int_equal(places->header_row, -1);
	assert_int_equal(places->keys_row, -1);
	top_bench_done(&bench);
}

/* With little room one power stands for both. */
static void test_narrow_columns(void **state)
{
	struct top_bench bench;
	bool has_sum = false, has_cpu = false;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	top_bench_draw(&bench, 12, 34);
	for (int i = 0; i < bench.ui.places.n_columns; i++) {
		has_sum |= bench.ui.places.columns[i].field == WTL_FIELD_POWER;
		has_cpu |= bench.ui.places.columns[i].field == WTL_FIELD_CPU_POWER;
	}
	assert_true(has_sum);
	assert_false(has_cpu);
	top_bench_done(&bench);
}

static void test_still(void **state)
{
	struct top_bench bench;
	struct wtl_top_picture picture = {.canvas = &bench.canvas,
					  .view = &bench.view,
					  .rows = &bench.rows,
					  .ui = &bench.ui,
					  .is_still = true};

	(void)state;
	top_bench_init(&bench, top_bench_server);
	top_bench_draw(&bench, 40, 100);
	picture.now_ns = bench.view.t_mono_ns;
	wtl_top_draw(&picture);
	assert_int_equal(count_cells(&bench.canvas, WTL_STYLE_SELECTED, 0, 40), 0);
	assert_false(shows(&bench, "F10Quit"));
	assert_true(shows(&bench, "package-0"));
	assert_true(shows(&bench, "train.py"));
	top_bench_done(&bench);
}

static struct wtl_top_domain *find_domain(struct top_bench *bench, const char *name)
{
	size_t i = 0;

	while (i < bench->view.n_domains && strcmp(bench->view.domains[i].name, name) != 0)
		i++;
	assert_true(i < bench->view.n_domains);
	return &bench->view.domains[i];
}

/* A part is indented below what it is a part of, and below nothing else. */
static void test_parts(void **state)
{
	struct wtl_top_domain *core;
	struct top_bench bench;
	unsigned *parts = &bench.ui.config.set[WTL_SET_PARTS];

	(void)state;
	top_bench_init(&bench, top_bench_server);
	top_bench_draw(&bench, 40, 120);
	assert_true(shows(&bench, "\n   core-0 "));
	*parts = false;
	top_bench_draw(&bench, 40, 120);
	assert_false(shows(&bench, "core-0"));
	/* It does not count, but lies in nothing either. */
	assert_true(shows(&bench, "\n psys-0 "));
	/* What counts is there whatever it lies in: an SoC in a board, say. */
	find_domain(&bench, "package-1")->in_total = false;
	core = find_domain(&bench, "core-1");
	core->in_total = true;
	top_bench_draw(&bench, 40, 120);
	assert_true(shows(&bench, "\n package-1 ") && shows(&bench, "\n   core-1 "));
	/* Two levels, of which the middle one is hidden. */
	wtl_text_copy(core->inside, sizeof(core->inside), "core-0");
	top_bench_draw(&bench, 40, 120);
	assert_false(shows(&bench, " core-0 "));
	assert_true(shows(&bench, "\n   core-1 "));
	/* Nothing around it is shown, or there is none of that name, or it lies in itself. */
	wtl_text_copy(find_domain(&bench, "core-0")->inside, sizeof(core->inside), "core-1");
	*parts = true;
	find_domain(&bench, "core-0")->in_total = false;
	top_bench_draw(&bench, 10, 60);
	assert_true(shows(&bench, "\n core-1 ") || !shows(&bench, "core-1"));
	wtl_text_copy(core->inside, sizeof(core->inside), "nothing");
	top_bench_draw(&bench, 40, 120);
	assert_true(shows(&bench, "\n core-1 "));
	top_bench_done(&bench);
}

/* A sum with something modelled in it is marked wherever it stands. */
static void test_partly_modelled(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	bench.view.total.method = WATTLE_METHOD_MIXED;
	bench.ui.config.set[WTL_SET_GRAPH] = WTL_GRAPH_TOTAL;
	top_bench_draw(&bench, 40, 160);
	assert_true(shows(&bench, " 469.4 W ") &&
		    shows(&bench, "  1.40 g CO2e FRA  90.12 kJ  25.03 Wh"));
	assert_true(shows(&bench, "total 469.4 W"));
	find_domain(&bench, "core-0")->method = WATTLE_METHOD_MODELLED; /* does not count */
	top_bench_draw(&bench, 40, 160);
	assert_true(shows(&bench, "total 469.4 W"));
	find_domain(&bench, "dram-0")->method = WATTLE_METHOD_MODELLED;
	top_bench_draw(&bench, 40, 160);
	assert_true(shows(&bench, " ~469.4 W "));
	assert_true(shows(&bench, "  ~1.40 g CO2e FRA  ~90.12 kJ  ~25.03 Wh"));
	assert_true(shows(&bench, "total ~469.4 W"));
	bench.ui.config.set[WTL_SET_GRAPH] = WTL_GRAPH_EACH;
	top_bench_draw(&bench, 40, 120);
	assert_true(shows(&bench, "CPU 165.7 W") && shows(&bench, "DRAM ~12.4 W"));
	top_bench_draw(&bench, 6, 60);
	assert_true(shows(&bench, "CPU 165.7 W  GPU 291.3 W  DRAM ~12.4 W"));
	top_bench_done(&bench);
}

/* A machine whose first GPU tells who uses it. */
static struct wtl_top_domain *init_with_gpu(struct top_bench *bench)
{
	struct wtl_top_domain *gpu;

	top_bench_init(bench, top_bench_server);
	gpu = find_domain(bench, "gpu-0");
	gpu->weight = "sm-use";
	return gpu;
}

static void test_lacks_baseline(void **state)
{
	struct top_bench bench;
	struct wtl_top_domain *gpu = init_with_gpu(&bench);

	(void)state;
	gpu->idle.is_known = false;
	/* Nobody uses it. */
	top_bench_draw(&bench, 40, 160);
	assert_true(shows(&bench, " by W, above idle "));
	top_bench_process(&bench.view, 4321)->has_dynamic = false;
	top_bench_draw(&bench, 40, 160);
	assert_true(shows(&bench, " by W, full shares, no idle baseline: let gpu-0 rest for 3 s "));
	find_domain(&bench, "dram-0")->weight = "cpu-time";
	find_domain(&bench, "dram-0")->idle.is_known = false;
	top_bench_draw(&bench, 40, 160);
	assert_true(shows(&bench, ", no idle baseline: let dram-0 and 1 more rest for 3 s "));
	for (size_t i = 0; i < bench.view.n_domains; i++)
		bench.view.domains[i].idle.is_known = false;
	top_bench_draw(&bench, 40, 160);
	assert_true(shows(&bench, ", no idle baseline: let the machine rest for 3 s "));
	top_bench_done(&bench);
}

/* In fewer words where there is less room, and always what to do. */
static void test_baseline_note_is_short(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_laptop);
	top_bench_draw(&bench, 24, 70);
	assert_true(shows(&bench, "3 processes by W, full shares: let the machine rest for 3 s\n"));
	top_bench_draw(&bench, 24, 56);
	assert_true(shows(&bench, "3 processes by W, full shares: let it rest for 3 s\n"));
	top_bench_done(&bench);
}

/* Watts by memory are a guess. */
static void test_guess(void **state)
{
	struct top_bench bench;
	struct wtl_top_domain *gpu = init_with_gpu(&bench);

	(void)state;
	top_bench_draw(&bench, 40, 160);
	assert_false(shows(&bench, "guess"));
	gpu->weight = "memory (a guess)";
	top_bench_draw(&bench, 40, 160);
	assert_true(
		shows(&bench, ", above idle, gpu-0 by memory (a guess): go by the GPU's own row "));
	top_bench_draw(&bench, 40, 80);
	assert_true(shows(&bench, ", above idle, gpu-0 by memory (a guess)"));
	top_bench_draw(&bench, 40, 50);
	assert_true(shows(&bench, ", above idle, GPU W: a guess"));
	gpu->energy.has_energy = false;
	top_bench_draw(&bench, 40, 160);
	assert_false(shows(&bench, "guess"));
	top_bench_done(&bench);
}

/* A process of the host, in a container: a GPU's driver knows it, and nobody its CPU time. */
static void test_outside_process(void **state)
{
	struct top_bench bench;
	struct wtl_top_process *process;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	process = top_bench_process(&bench.view, 4321);
	process->consumer.is_readable = false;
	top_bench_draw(&bench, 40, 160);
	assert_true(shows(&bench, " 4321 bob         38.24   231.6 "));
	/* One that is hidden has a clock all the same. */
	process->consumer.start_ns = 0;
	top_bench_draw(&bench, 40, 160);
	assert_true(shows(&bench, " 4321 bob         38.24   231.6 "));
	process->consumer.cpu_ns = 0;
	process->cpu_uw[WTL_TOP_DYNAMIC] = 0;
	top_bench_draw(&bench, 40, 160);
	assert_true(shows(&bench, " 4321 bob                 231.6 "));
	top_bench_type(&bench, "<home><enter>");
	top_bench_draw(&bench, 40, 160);
	assert_true(shows(&bench, "CPU          not known"));
	assert_true(shows(&bench, "above idle   231.6 W GPU"));
	top_bench_done(&bench);
}

/* Rows of ended processes that are called the same tell where they were. */
static void test_rows_of_one_name(void **state)
{
	static const int pids[] = {4321, 5005};
	struct top_bench bench;
	struct wtl_top_process *rows[2];

	(void)state;
	top_bench_init(&bench, top_bench_server);
	bench.ui.config.set[WTL_SET_EXITED] = true;
	for (int i = 0; i < 2; i++) {
		rows[i] = top_bench_process(&bench.view, pids[i]);
		rows[i]->consumer.state = WTL_CONSUMER_FOLDED;
		rows[i]->consumer.pid = 0;
		rows[i]->consumer.parent = 0;
		rows[i]->consumer.uid = 1000;
		rows[i]->consumer.n_processes = (uint32_t)i + 3;
		rows[i]->consumer.group = &bench.view.groups[i];
		snprintf(rows[i]->command, sizeof(rows[i]->command), "cc1");
	}
	top_bench_draw(&bench, 40, 200);
	assert_true(shows(&bench, "cc1 (3 that ended) in session-3.scope"));
	assert_true(shows(&bench, "cc1 (4 that ended) in docker/"));
	rows[1]->consumer.is_in_tree = true;
	top_bench_draw(&bench, 40, 200);
	assert_true(shows(&bench, "cc1 (4 that ended) of the command in docker/"));
	/* Children of two parents. */
	for (int i = 0; i < 2; i++) {
		rows[i]->consumer.parent = 700 + i;
		rows[i]->consumer.is_in_tree = false;
		rows[i]->consumer.n_processes = 0;
		rows[i]->consumer.group = NULL;
		snprintf(rows[i]->command, sizeof(rows[i]->command), "children of make");
	}
	top_bench_draw(&bench, 40, 200);
	assert_true(shows(&bench, "children of make (parent 700)"));
	assert_true(shows(&bench, "children of make (parent 701)"));
	/* One alone needs no more than its name. */
	rows[1]->consumer.uid = 1001;
	top_bench_draw(&bench, 40, 200);
	assert_false(shows(&bench, "(parent 70"));
	top_bench_done(&bench);
}

static void test_pue(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	bench.view.pue_milli = 1500;
	top_bench_draw(&bench, 40, 160);
	assert_true(shows(&bench, "1.40 g CO2e FRA (2.10 g with PUE)  90.12 kJ"));
	top_bench_done(&bench);
}

/* Programs without their path, titles that begin alike cut so that they differ. */
static void test_titles(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	top_bench_draw(&bench, 40, 80);
	assert_true(shows(&bench, " init\n") && !shows(&bench, "/sbin/init"));
	assert_true(shows(&bench, "sshd: /usr/sbin/"));
	assert_true(shows(&bench, "\xe2\x80\xa6py worker 0\n"));
	assert_true(shows(&bench, "\xe2\x80\xa6py worker 1\n"));
	assert_true(shows(&bench, " python train.py --epo\xe2\x80\xa6\n"));
	top_bench_type(&bench, "p");
	top_bench_draw(&bench, 40, 80);
	assert_true(shows(&bench, " /sbin/init\n"));
	/* A kernel thread is no file. */
	top_bench_type(&bench, "pK");
	top_bench_draw(&bench, 40, 120);
	assert_true(shows(&bench, " kworker/3:1\n"));
	top_bench_done(&bench);
}

static void test_no_control_in_names(void **state)
{
	struct top_bench bench;

	(void)state;
	top_bench_init(&bench, top_bench_server);
	top_bench_draw(&bench, 40, 200);
	assert_true(shows(&bench, "evil?[2J?]0;owned??31m tail"));
	assert_false(shows(&bench, "\x1b"));
	top_bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_golden_eight_gpus),
		cmocka_unit_test(test_all_sizes),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_deterministic),
		cmocka_unit_test(test_stuck),
		cmocka_unit_test(test_remark_on_processes),
		cmocka_unit_test(test_before_anything_is_known),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_remarks),
		cmocka_unit_test(test_throttling),
		cmocka_unit_test(test_gpu_without_numbers),
		cmocka_unit_test(test_curve_gap_and_zero),
		cmocka_unit_test(test_curve_does_not_shimmer),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_scale),
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_narrow_columns),
		cmocka_unit_test(test_still),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_partly_modelled),
		cmocka_unit_test(test_lacks_baseline),
		cmocka_unit_test(test_baseline_note_is_short),
		cmocka_unit_test(test_guess),
		cmocka_unit_test(test_outside_process),
		cmocka_unit_test(test_rows_of_one_name),
		cmocka_unit_test(test_pue),
		cmocka_unit_test(test_titles),
		cmocka_unit_test(test_no_control_in_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
