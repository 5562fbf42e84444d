/* SPDX-License-Identifier: MIT */
/* The screen while a recording is played: where it stands, and the keys for that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "energy/units.h"
#include "top_bench.h"

#include "unit.h"

#define S WTL_NS_PER_S

static void recorded(struct wtl_top_view *view)
{
	top_bench_server(view);
	view->played = (struct wtl_top_played){
		.is_there = true,
		.is_whole = true,
		.cpu = "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz",
		.kernel = "6.1.0-28-amd64",
		.zero_utc_ns = INT64_C(1795251827) * S, /* 2026-11-21 09:03:47 */
	};
	wtl_text_copy(view->machine.host, sizeof(view->machine.host), "node17");
}

static void laptop(struct wtl_top_view *view)
{
	top_bench_laptop(view);
	view->played.is_there = true;
	view->played.zero_utc_ns = INT64_C(1795251827) * S;
	wtl_text_copy(view->played.note, sizeof(view->played.note),
		      "the machine slept, for 3600.0 s");
}

/* 1234 s into an hour. */
static void start(struct top_bench *bench, void (*machine)(struct wtl_top_view *view))
{
	top_bench_init(bench, machine);
	bench->ui.is_replay = true;
	wtl_play_init(&bench->ui.play, 3600 * S, 10000, bench->view.t_mono_ns);
	bench->ui.play.at_ns = 1234 * S;
}

static struct wtl_play_order typed(struct top_bench *bench, const char *keys)
{
	bench->ui.order = (struct wtl_play_order){.verb = WTL_PLAY_NOTHING};
	if (top_bench_type(bench, keys) == WTL_TOP_WISH_PLAY)
		return bench->ui.order;
	return (struct wtl_play_order){.verb = WTL_PLAY_NOTHING};
}

static void do_order(struct top_bench *bench, const char *keys)
{
	const struct wtl_play_order order = typed(bench, keys);

	wtl_play_order(&bench->ui.play, &order, bench->view.t_mono_ns);
}

/* ---- Golden frames ---- */

static void test_golden(void **state)
{
	static const struct {
		const char *name;
		void (*machine)(struct wtl_top_view *view);
		int rows, columns;
		const char *keys; /* each does what it does */
		bool ascii, is_over, styles;
	} frames[] = {
		{"play-120x40.txt", recorded, 40, 120, "", false, false, true},
		{"play-80x24-ascii.txt", recorded, 24, 80, " ", true, false, false},
		{"play-seeking.txt", recorded, 14, 100, "l", false, false, false},
		{"play-end.txt", recorded, 12, 70, "", false, true, false},
		{"play-cut-off.txt", laptop, 12, 120, "", false, true, false},
		{"play-40x12.txt", recorded, 12, 40, "", false, false, false},
		{"play-20x5.txt", recorded, 5, 20, "", false, false, false},
	};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(frames); i++) {
		struct top_bench bench;

		start(&bench, frames[i].machine);
		bench.canvas.ascii = frames[i].ascii;
		if (frames[i].keys[0])
			do_order(&bench, frames[i].keys);
		if (frames[i].is_over)
			wtl_play_end(&bench.ui.play);
		top_bench_draw(&bench, frames[i].rows, frames[i].columns);
		top_bench_golden(frames[i].name, &bench.canvas, frames[i].styles);
		top_bench_done(&bench);
	}
}

static void test_golden_help(void **state)
{
	struct top_bench bench;

	(void)state;
	start(&bench, recorded);
	top_bench_draw(&bench, 40, 90);
	top_bench_type(&bench, "?");
	top_bench_draw(&bench, 40, 90);
	top_bench_golden("play-help.txt", &bench.canvas, false);
	top_bench_done(&bench);
}

/* --once: no keys, no bar; the state only where it is an end. */
static void test_golden_still(void **state)
{
	struct top_bench bench;
	struct wtl_top_picture picture = {.canvas = &bench.canvas,
					  .view = &bench.view,
					  .rows = &bench.rows,
					  .ui = &bench.ui,
					  .is_still = true};

	(void)state;
	start(&bench, recorded);
	bench.ui.play.is_paused = true;
	top_bench_draw(&bench, 24, 100); /* makes the rows */
	wtl_top_draw(&picture);
	top_bench_golden("play-once.txt", &bench.canvas, false);
	top_bench_done(&bench);
}

/* Any size, any state: never outside, and never the words of a live screen. */
static void test_any_size(void **state)
{
	struct top_bench bench;

	(void)state;
	start(&bench, recorded);
	for (int rows = 0; rows < 14; rows++)
		for (int columns = 0; columns < 140; columns += 7) {
			bench.ui.play.is_seeking = columns % 2;
			bench.ui.play.is_paused = rows % 2;
			top_bench_draw(&bench, rows, columns);
			if (bench.ui.places.play_row >= 0) {
				assert_int_equal(bench.ui.places.play_row, 1);
				assert_in_range(bench.ui.places.play_to, 10, columns);
			}
		}
	top_bench_done(&bench);
}

/* Old frames are no sign of a device that does not answer. */
static void test_never_stale(void **state)
{
	struct wtl_top_picture picture;
	struct top_bench bench;
	struct wtl_buf text;

	(void)state;
	start(&bench, recorded);
	bench.ui.play.is_paused = true;
	top_bench_draw(&bench, 24, 100);
	picture = (struct wtl_top_picture){.canvas = &bench.canvas,
					   .view = &bench.view,
					   .rows = &bench.rows,
					   .ui = &bench.ui,
					   .now_ns = bench.view.t_mono_ns + 3600 * S};
	wtl_top_draw(&picture);
	wtl_buf_init(&text, 1 << 20);
	assert_int_equal(wtl_canvas_dump(&bench.canvas, &text), 0);
	assert_null(strstr(wtl_buf_str(&text), "does not answer"));
	assert_non_null(strstr(wtl_buf_str(&text), "0:20:34 of 1:00:00  paused ×10"));
	wtl_buf_done(&text);
	top_bench_done(&bench);
}

/* ---- Keys ---- */

static void test_keys(void **state)
{
	static const struct {
		const char *key;
		enum wtl_play_verb verb;
		int64_t ns;
	} cases[] = {
		{" ", WTL_PLAY_PAUSE, 0},	 {"Z", WTL_PLAY_PAUSE, 0},
		{"j", WTL_PLAY_SEEK, -10 * S},	 {"l", WTL_PLAY_SEEK, 10 * S},
		{"J", WTL_PLAY_SEEK, -60 * S},	 {"L", WTL_PLAY_SEEK, 60 * S},
		{"b", WTL_PLAY_GO_TO, 0},	 {"e", WTL_PLAY_GO_TO, INT32_MAX * S},
		{"s", WTL_PLAY_SLOWER, 0},	 {"f", WTL_PLAY_FASTER, 0},
		{"=", WTL_PLAY_NORMAL, 0},	 {"+", WTL_PLAY_NOTHING, 0},
		{"<left>", WTL_PLAY_NOTHING, 0}, {"W", WTL_PLAY_NOTHING, 0},
	};
	struct top_bench bench;

	(void)state;
	start(&bench, recorded);
	top_bench_draw(&bench, 40, 120);
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct wtl_play_order order = typed(&bench, cases[i].key);

		assert_int_equal(order.verb, cases[i].verb);
		assert_int_equal(order.ns, cases[i].ns);
		assert_false(bench.ui.is_paused);
	}
	/* While something is typed, they are letters. */
	assert_int_equal(typed(&bench, "/jle sf").verb, WTL_PLAY_NOTHING);
	assert_string_equal(bench.ui.edit, "jle sf");
	top_bench_type(&bench, "<esc>");
	/* In the live screen they are none. */
	bench.ui.is_replay = false;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++)
		assert_int_equal(typed(&bench, cases[i].key).verb, WTL_PLAY_NOTHING);
	top_bench_done(&bench);
}

/* None of the letters that the live screen knows, but Space and Z, which stop that. */
static void test_no_key_has_two_meanings(void **state)
{
	static const char *const live = "h?S/\\t><.,gkqWCGEPMTNdaxKi+-npuFIv][\x03\x0c";
	struct top_bench bench;

	(void)state;
	for (const char *key = live; *key; key++) {
		const char text[] = {*key, '\0'};

		start(&bench, recorded);
		top_bench_draw(&bench, 40, 120);
		assert_int_not_equal(top_bench_type(&bench, text), WTL_TOP_WISH_PLAY);
		top_bench_done(&bench);
	}
}

static void test_click(void **state)
{
	struct wtl_input input = {.kind = WTL_INPUT_CLICK};
	struct top_bench bench;
	struct wtl_top_places *places = &bench.ui.places;

	(void)state;
	start(&bench, recorded);
	top_bench_draw(&bench, 40, 120);
	assert_int_equal(places->play_row, 1);
	input.row = 1;
	for (input.column = 0; input.column < 120; input.column++) {
		enum wtl_top_wish wish = wtl_top_ui_input(&bench.ui, &bench.view, &bench.rows,
							  &input, bench.view.t_mono_ns);
		int64_t width = places->play_to - places->play_from;
		bool is_on = input.column >= places->play_from && input.column < places->play_to;

		assert_int_equal(wish, is_on ? WTL_TOP_WISH_PLAY : WTL_TOP_WISH_NOTHING);
		if (!is_on)
			continue;
		assert_int_equal(bench.ui.order.verb, WTL_PLAY_GO_TO);
		assert_int_equal(bench.ui.order.ns,
				 3600 * S / width * (input.column - places->play_from));
	}
	/* Where there is no bar there is nothing to click on. */
	top_bench_draw(&bench, 40, 40);
	input.column = 30;
	assert_int_equal(places->play_row, -1);
	assert_int_equal(wtl_top_ui_input(&bench.ui, &bench.view, &bench.rows, &input, 0),
			 WTL_TOP_WISH_NOTHING);
	top_bench_done(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_golden_help),
		cmocka_unit_test(test_golden_still),
		cmocka_unit_test(test_any_size),
		cmocka_unit_test(test_never_stale),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_no_key_has_two_meanings),
		cmocka_unit_test(test_click),
	};

	setenv("TZ", "CET-1", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
