/* SPDX-License-Identifier: MIT */
#include "draw/plot.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "energy/units.h"
#include "plot_bench.h"

#include "unit.h"

/* What fontconfig loses, whoever asks it for a font. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libfontconfig";
}

enum { N = 60, BLUE = 0x0072b2, ORANGE = 0xe69f00, GREEN = 0x009e73 };

/* 2026-11-21T08:00:00Z */
#define EIGHT (INT64_C(1795248000) * WTL_NS_PER_S)

static const char *const lines[] = {"rapl-perf (counter) · 2026-11-21 08:00:00 to 08:00:59 UTC"};
static const char *const notes[] = {"Band: ± (k = 2). Dashed: idle. Hatched: not measured."};

/* ---- Figures ---- */

struct data {
	struct wtl_plot_point points[4][N];
	struct wtl_plot_series series[4];
	struct wtl_plot_panel panels[2];
	struct wtl_plot_figure figure;
};

static double wave(size_t s, size_t i)
{
	return 20.0 * (double)(s + 1) + 10 * sin((double)i / 5 + (double)s);
}

/* A figure of n series a second apart. */
static void fill(struct data *data, size_t n, enum wtl_plot_marks marks, enum wtl_plot_x x)
{
	static const char *const names[] = {"package-0", "package-1", "dram-0", "gpu-0"};

	memset(data, 0, sizeof(*data));
	for (size_t s = 0; s < n; s++) {
		for (size_t i = 0; i < N; i++) {
			double y = wave(s, i);
			int64_t at = x == WTL_PLOT_X_UTC ? EIGHT + (int64_t)i * WTL_NS_PER_S
							 : (int64_t)i;

			data->points[s][i] = (struct wtl_plot_point){at, y, y - 2, y + 2};
		}
		data->series[s] = (struct wtl_plot_series){
			.name = names[s], .points = data->points[s], .n = N};
	}
	data->panels[0] = (struct wtl_plot_panel){.marks = marks,
						  .x = x,
						  .label = "Power",
						  .unit = "W",
						  .prefix = WTL_PLOT_SI,
						  .series = data->series,
						  .n_series = n};
	data->figure = (struct wtl_plot_figure){.title = "Power over time",
						.lines = lines,
						.n_lines = 1,
						.panels = data->panels,
						.n_panels = 1,
						.notes = notes,
						.n_notes = 1,
						.t_utc_ns = EIGHT};
}

static void fill_power(struct data *data)
{
	static const struct wtl_plot_gap gaps[] = {
		{EIGHT + 20 * WTL_NS_PER_S, EIGHT + 30 * WTL_NS_PER_S, "suspended"}};

	fill(data, 2, WTL_PLOT_LINE, WTL_PLOT_X_UTC);
	data->figure.summary = "machine: 2530 ± 120 J · mean power 42.1 ± 2.0 W";
	data->panels[0].title = "CPU packages";
	data->panels[0].gaps = gaps;
	data->panels[0].n_gaps = 1;
	data->series[0].has_range = true;
	data->series[0].remark = "mean 21.0 W";
	data->series[0].level = (struct wtl_plot_level){true, "idle", 11.5, 11, 12};
	/* Twelve seconds that nobody knows of. */
	for (size_t i = 40; i < 52; i++)
		data->points[1][i].y = WTL_PLOT_UNKNOWN;
}

static void fill_runs(struct data *data)
{
	fill(data, 1, WTL_PLOT_POINTS, WTL_PLOT_X_NUMBER);
	data->series[0].has_range = true;
	data->series[0].name = "a run";
	data->series[0].n = 12;
	data->series[0].level = (struct wtl_plot_level){true, "mean", 21, 19, 23};
	data->panels[0].x_label = "Run";
	data->panels[0].label = "Energy";
	data->panels[0].unit = "J";
	data->panels[0].may_be_cut = true;
	data->figure.title = "12 runs of: make";
}

static const char *const windows[] = {"epoch 1", "epoch 2", "a window with a very long name indeed",
				      "lost"};

static void fill_bars(struct data *data, struct wtl_plot_point totals[4])
{
	fill(data, 3, WTL_PLOT_BARS, WTL_PLOT_X_CATEGORY);
	for (size_t s = 0; s < 3; s++) {
		data->series[s].n = 4;
		data->points[s][3].y = WTL_PLOT_UNKNOWN;
	}
	for (size_t i = 0; i < 4; i++) {
		double sum = wave(0, i) + wave(1, i) + wave(2, i);

		totals[i] = (struct wtl_plot_point){(int64_t)i, sum, sum - 9, sum + 9};
	}
	totals[3].y = WTL_PLOT_UNKNOWN;
	data->panels[0].categories = windows;
	data->panels[0].n_categories = 4;
	data->panels[0].totals = totals;
	data->panels[0].label = "Energy";
	data->panels[0].unit = "J";
	data->figure.title = "Energy per window";
}

static void fill_memory(struct data *data)
{
	fill(data, 3, WTL_PLOT_STACK, WTL_PLOT_X_UTC);
	for (size_t s = 0; s < 3; s++)
		for (size_t i = 0; i < N; i++)
			data->points[s][i].y *= 0x1p26;
	data->series[2].name = "others";
	data->series[2].is_rest = true;
	data->panels[0].label = "Memory, PSS";
	data->panels[0].unit = "B";
	data->panels[0].prefix = WTL_PLOT_BINARY;
	data->figure.title = "Memory over time";
}

/* ---- Golden journals: draw them (wattle plot has no such data) and look before committing ---- */

static void golden(const char *name, const struct wtl_plot_figure *figure)
{
	struct plot_journal journal;

	plot_journal_draw(&journal, figure);
	plot_golden(name, &journal);
	plot_journal_done(&journal);
}

static void test_golden(void **state)
{
	struct wtl_plot_point totals[4];
	struct data *data = calloc(1, sizeof(*data));

	(void)state;
	assert_non_null(data);
	fill_power(data);
	golden("power.txt", &data->figure);
	fill_runs(data);
	golden("runs.txt", &data->figure);
	fill_bars(data, totals);
	golden("windows.txt", &data->figure);
	fill_memory(data);
	golden("memory.txt", &data->figure);
	free(data);
}

/* ---- What each of them must show ---- */

/* Where that x is on paper: between the ticks of the journal's axis. */
static double paper_x(const struct plot_journal *journal, const char *one, const char *other,
		      double part)
{
	const struct plot_stroke *a = plot_text(journal, one), *b = plot_text(journal, other);

	assert_non_null(a);
	assert_non_null(b);
	return a->at[0].x + part * (b->at[0].x - a->at[0].x);
}

static void test_power(void **state)
{
	struct data *data = calloc(1, sizeof(*data));
	struct plot_journal journal;
	double begin, end;
	bool has_idle = false, has_band = false;

	(void)state;
	assert_non_null(data);
	fill_power(data);
	plot_journal_draw(&journal, &data->figure);
	assert_non_null(plot_text(&journal, "Power (W)"));
	assert_true(plot_text(&journal, "Power (W)")->upwards);
	assert_non_null(plot_text(&journal, "Time (UTC), 2026-11-21"));
	assert_non_null(plot_text(&journal, "08:00:10"));
	assert_non_null(plot_text(&journal, "package-1"));
	assert_non_null(plot_text(&journal, "idle 11.50 ± 0.50 W · mean 21.0 W"));
	assert_non_null(plot_text(&journal, "suspended"));
	assert_non_null(plot_text(&journal, "rapl-perf (counter)"));
	assert_non_null(plot_text(&journal, "Hatched"));
	/* Gaps are gaps: those with a name in all curves, those of a curve in that one. */
	begin = paper_x(&journal, "08:00:10", "08:00:20", 1.1);
	end = paper_x(&journal, "08:00:10", "08:00:20", 1.9);
	for (double x = begin; x < end; x += 1) {
		assert_false(plot_crosses(&journal, BLUE, x));
		assert_false(plot_crosses(&journal, ORANGE, x));
	}
	assert_true(plot_crosses(&journal, BLUE, paper_x(&journal, "08:00:10", "08:00:20", 3.55)));
	assert_false(
		plot_crosses(&journal, ORANGE, paper_x(&journal, "08:00:10", "08:00:20", 3.55)));
	assert_true(
		plot_crosses(&journal, ORANGE, paper_x(&journal, "08:00:10", "08:00:20", 4.55)));
	for (size_t i = 0; i < journal.n; i++) {
		const struct plot_stroke *stroke = &journal.strokes[i];

		has_idle |= stroke->kind == PLOT_LINE && stroke->dash > 0 && stroke->is_clipped &&
			    stroke->n == 2 && stroke->at[0].y == stroke->at[1].y &&
			    stroke->at[1].x - stroke->at[0].x > 400;
		has_band |= stroke->kind == PLOT_AREA && stroke->is_clipped &&
			    stroke->alpha < 0.5 && stroke->n > 20;
	}
	assert_true(has_idle);
	assert_true(has_band);
	plot_journal_done(&journal);
	free(data);
}

/* The areas of a stack touch: what one ends with the next begins with. */
static void test_stack(void **state)
{
	const struct plot_stroke *areas[3];
	struct data *data = calloc(1, sizeof(*data));
	struct plot_journal journal;
	size_t n = 0;

	(void)state;
	assert_non_null(data);
	fill_memory(data);
	plot_journal_draw(&journal, &data->figure);
	assert_non_null(plot_text(&journal, "Memory, PSS (GiB)"));
	for (size_t i = 0; i < journal.n && n < 3; i++)
		if (journal.strokes[i].kind == PLOT_AREA && journal.strokes[i].is_clipped)
			areas[n++] = &journal.strokes[i];
	assert_int_equal(n, 3);
	for (size_t k = 1; k < 3; k++) {
		assert_int_equal(areas[k]->n, 2 * N);
		for (size_t i = 0; i < N; i++) {
			assert_true(fabs(areas[k]->at[2 * N - 1 - i].y - areas[k - 1]->at[i].y) <
				    1e-9);
			assert_true(areas[k]->at[i].x == areas[k - 1]->at[i].x);
		}
	}
	/* Told apart without colour. */
	assert_true(areas[0]->hatch != areas[1]->hatch);
	plot_journal_done(&journal);
	free(data);
}

static void test_stack_breaks(void **state)
{
	static const struct wtl_plot_gap gap = {EIGHT + 20 * WTL_NS_PER_S + 1,
						EIGHT + 22 * WTL_NS_PER_S - 1, NULL};
	struct data *data = calloc(1, sizeof(*data));
	struct plot_journal journal;

	(void)state;
	assert_non_null(data);
	fill_memory(data);
	data->panels[0].gaps = &gap;
	data->panels[0].n_gaps = 1;
	/* One alone is nothing; all together are a break. */
	data->points[0][10].y = WTL_PLOT_UNKNOWN;
	for (size_t s = 0; s < 3; s++)
		data->points[s][40].y = WTL_PLOT_UNKNOWN;
	plot_journal_draw(&journal, &data->figure);
	assert_true(plot_crosses(&journal, BLUE, paper_x(&journal, "08:00:10", "08:00:20", -0.01)));
	assert_false(plot_crosses(&journal, BLUE, paper_x(&journal, "08:00:10", "08:00:20", 1.1)));
	assert_false(plot_crosses(&journal, BLUE, paper_x(&journal, "08:00:30", "08:00:40", 1.0)));
	assert_true(plot_crosses(&journal, BLUE, paper_x(&journal, "08:00:30", "08:00:40", 1.15)));
	plot_journal_done(&journal);
	free(data);
}

static void test_bars(void **state)
{
	struct wtl_plot_point totals[4];
	struct data *data = calloc(1, sizeof(*data));
	struct plot_journal journal;
	const struct plot_stroke *figure;

	(void)state;
	assert_non_null(data);
	fill_bars(data, totals);
	plot_journal_draw(&journal, &data->figure);
	assert_non_null(plot_text(&journal, "Energy (J)"));
	assert_non_null(plot_text(&journal, "epoch 2"));
	assert_non_null(plot_text(&journal, "not known"));
	assert_non_null(plot_text(&journal, "dram-0"));
	figure = plot_text(&journal, " ± 9.0 J");
	assert_non_null(figure);
	/* Behind its whisker. */
	for (size_t i = 0; i < journal.n; i++)
		if (journal.strokes[i].kind == PLOT_LINE && journal.strokes[i].n == 2 &&
		    journal.strokes[i].rgb == WTL_PLOT_INK &&
		    fabs(journal.strokes[i].at[0].y - (figure->at[0].y - 4)) < 1)
			assert_true(journal.strokes[i].at[1].x < figure->at[0].x);
	plot_journal_done(&journal);
	free(data);
}

static void test_runs(void **state)
{
	struct data *data = calloc(1, sizeof(*data));
	struct plot_journal journal;
	size_t upright = 0;

	(void)state;
	assert_non_null(data);
	fill_runs(data);
	plot_journal_draw(&journal, &data->figure);
	assert_non_null(plot_text(&journal, "mean 21.0 ± 2.0 J"));
	assert_non_null(plot_text(&journal, "Run"));
	/* A mark a run, one in the key, and the interval of the mean; no whiskers. */
	assert_int_equal(plot_count(&journal, PLOT_AREA, BLUE), 12 + 2);
	for (size_t i = 0; i < journal.n; i++)
		upright += journal.strokes[i].kind == PLOT_LINE && journal.strokes[i].is_clipped &&
			   journal.strokes[i].rgb == BLUE && journal.strokes[i].n == 2 &&
			   journal.strokes[i].at[0].x == journal.strokes[i].at[1].x;
	assert_int_equal(upright, 0);
	plot_journal_done(&journal);
	free(data);
}

/* Panels that share their time have it below each other, and its numbers once. */
static void test_shared_axis(void **state)
{
	struct data *data = calloc(1, sizeof(*data));
	struct plot_journal journal;
	size_t labels = 0;

	(void)state;
	assert_non_null(data);
	fill_power(data);
	data->panels[1] = data->panels[0];
	data->panels[1].title = "DRAM";
	data->figure.n_panels = 2;
	data->figure.shares_x = true;
	plot_journal_draw(&journal, &data->figure);
	for (size_t i = 0; i < journal.n; i++)
		labels += strcmp(journal.strokes[i].text, "08:00:10") == 0;
	assert_int_equal(labels, 1);
	plot_journal_done(&journal);
	data->figure.shares_x = false;
	plot_journal_draw(&journal, &data->figure);
	for (size_t i = 0; i < journal.n; i++)
		labels += strcmp(journal.strokes[i].text, "08:00:10") == 0;
	assert_int_equal(labels, 3);
	plot_journal_done(&journal);
	free(data);
}

/* Many more curves than there is room for in the key: those left out are counted. */
static void test_many_series(void **state)
{
	enum { MANY = 90 };
	struct data *data = calloc(1, sizeof(*data));
	struct wtl_plot_series *series = calloc(MANY, sizeof(*series));
	struct plot_journal journal;

	(void)state;
	assert_non_null(data);
	assert_non_null(series);
	fill(data, 1, WTL_PLOT_LINE, WTL_PLOT_X_UTC);
	for (size_t i = 0; i < MANY; i++)
		series[i] = data->series[0];
	data->panels[0].series = series;
	data->panels[0].n_series = MANY;
	plot_journal_draw(&journal, &data->figure);
	assert_non_null(plot_text(&journal, "and "));
	plot_journal_done(&journal);
	free(series);
	free(data);
}

/* ---- Whatever comes ---- */

static void draw_all(const struct wtl_plot_figure *figure, int code)
{
	struct plot_journal journal;

	for (unsigned format = WTL_PLOT_SVG; format <= WTL_PLOT_PDF; format++) {
		const struct wtl_plot_paper paper = {.format = (enum wtl_plot_format)format};
		struct wtl_err err = {.code = 0};
		struct wtl_buf buf;
		int rc;

		wtl_buf_init(&buf, 64u << 20);
		rc = wtl_plot_draw(figure, &paper, &buf, &err);
		if (rc != code)
			fail_msg("%d instead of %d: %s", rc, code, err.text);
		assert_int_equal(rc == 0, buf.len > 0);
		assert_int_equal(rc == 0, err.text[0] == '\0');
		wtl_buf_done(&buf);
	}
	if (code == 0) {
		plot_journal_draw(&journal, figure);
		plot_journal_done(&journal);
	}
}

static void test_nothing(void **state)
{
	struct data *data = calloc(1, sizeof(*data));

	(void)state;
	assert_non_null(data);
	draw_all(&(struct wtl_plot_figure){.title = "nothing"}, -ENODATA);
	fill_power(data);
	data->series[0].n = data->series[1].n = 0;
	draw_all(&data->figure, -ENODATA);
	fill_power(data);
	for (size_t i = 0; i < N; i++)
		data->points[0][i].y = data->points[1][i].y = WTL_PLOT_UNKNOWN;
	assert_true(wtl_plot_is_empty(&data->figure));
	draw_all(&data->figure, -ENODATA);
	/* All of it lies before what is asked for. */
	fill_power(data);
	data->panels[0].from = EIGHT + 100 * WTL_NS_PER_S;
	data->panels[0].to = EIGHT + 200 * WTL_NS_PER_S;
	draw_all(&data->figure, -ENODATA);
	free(data);
}

static void test_little(void **state)
{
	static const enum wtl_plot_marks marks[] = {WTL_PLOT_LINE, WTL_PLOT_STACK, WTL_PLOT_POINTS};
	static const enum wtl_plot_x axes[] = {WTL_PLOT_X_UTC, WTL_PLOT_X_NUMBER};
	struct data *data = calloc(1, sizeof(*data));

	(void)state;
	assert_non_null(data);
	for (size_t m = 0; m < UNIT_COUNT(marks); m++)
		for (size_t x = 0; x < UNIT_COUNT(axes); x++)
			for (size_t n = 1; n < 4; n++) {
				fill(data, 2, marks[m], axes[x]);
				data->series[0].n = data->series[1].n = n;
				draw_all(&data->figure, 0);
				/* One value between nothing. */
				data->points[0][0].y = WTL_PLOT_UNKNOWN;
				data->points[1][n - 1].y = 0;
				draw_all(&data->figure, 0);
			}
	/* No names, no words at all. */
	fill(data, 1, WTL_PLOT_LINE, WTL_PLOT_X_UTC);
	data->series[0].name = NULL;
	data->panels[0].label = data->panels[0].unit = NULL;
	data->figure = (struct wtl_plot_figure){.panels = data->panels, .n_panels = 1};
	draw_all(&data->figure, 0);
	free(data);
}

static void test_huge(void **state)
{
	static const double values[] = {0,	  -0.0,	   1e300,    -1e300,	       DBL_MAX,
					-DBL_MAX, DBL_MIN, HUGE_VAL, WTL_PLOT_UNKNOWN, -HUGE_VAL,
					1e-300,	  5};
	static const int64_t times[] = {INT64_MIN, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
	struct data *data = calloc(1, sizeof(*data));

	(void)state;
	assert_non_null(data);
	for (unsigned marks = WTL_PLOT_LINE; marks <= WTL_PLOT_POINTS; marks++)
		for (unsigned first = 0; first < UNIT_COUNT(values); first++) {
			fill(data, 2, (enum wtl_plot_marks)marks, WTL_PLOT_X_UTC);
			for (size_t i = 0; i < N; i++) {
				double y = values[(i + first) % UNIT_COUNT(values)];

				data->points[0][i] = (struct wtl_plot_point){
					times[i * UNIT_COUNT(times) / N], y, -y, y * 2};
				data->points[1][i] = data->points[0][i];
				data->points[1][i].y = 1;
			}
			data->series[0].has_range = true;
			data->series[0].level =
				(struct wtl_plot_level){true, "idle", values[first], -1, HUGE_VAL};
			data->panels[0].categories = windows;
			data->panels[0].n_categories = marks == WTL_PLOT_BARS ? 4 : 0;
			draw_all(&data->figure, 0);
		}
	free(data);
}

static void test_hostile_names(void **state)
{
	static const char *const names[] = {
		"<script>alert(1)</script>&amp;\"'",
		"\033[31mred\033[0m\r\n\t\007",
		"\xff\xfe\x80 not UTF-8 \xc3",
		"\xf4\x90\x80\x80 beyond Unicode \xed\xa0\x80",
		"",
		"   ",
		"]]>%s%n%d <!-- -->",
		"\xe2\x80\xae right to left \xe2\x80\xac",
		"日本語 русский عربي \xf0\x9f\x94\xa5",
		"e\xcc\x81\xcc\x81\xcc\x81\xcc\x81",
	};
	char *longest = malloc(100001);
	struct data *data = calloc(1, sizeof(*data));
	const char *text;

	(void)state;
	assert_non_null(data);
	assert_non_null(longest);
	memset(longest, 'x', 100000);
	longest[100000] = '\0';
	for (size_t i = 0; i <= UNIT_COUNT(names); i++) {
		text = i < UNIT_COUNT(names) ? names[i] : longest;
		fill_power(data);
		data->series[0].name = data->series[0].remark = data->series[0].level.name = text;
		data->panels[0].title = data->panels[0].label = data->panels[0].unit = text;
		data->figure.title = text;
		data->figure.lines = data->figure.notes = &text;
		draw_all(&data->figure, 0);
	}
	free(longest);
	free(data);
}

/* ---- Paper ---- */

static int draw_on(const struct wtl_plot_paper *paper, struct wtl_buf *buf, size_t max)
{
	struct data *data = calloc(1, sizeof(*data));
	struct wtl_err err;
	int rc;

	assert_non_null(data);
	fill_power(data);
	wtl_buf_init(buf, max);
	rc = wtl_plot_draw(&data->figure, paper, buf, &err);
	free(data);
	return rc;
}

static unsigned big_endian(const char *bytes)
{
	const unsigned char *b = (const unsigned char *)bytes;

	return (unsigned)b[0] << 24 | (unsigned)b[1] << 16 | (unsigned)b[2] << 8 | b[3];
}

static void test_papers(void **state)
{
	struct wtl_plot_paper paper = {
		.format = WTL_PLOT_PNG, .width = 500, .height = 300, .scale = 3};
	struct wtl_buf buf, again;

	(void)state;
	assert_int_equal(draw_on(&paper, &buf, 64u << 20), 0);
	assert_memory_equal(buf.data, "\x89PNG\r\n\x1a\n", 8);
	assert_int_equal(big_endian(buf.data + 16), 1500);
	assert_int_equal(big_endian(buf.data + 20), 900);
	wtl_buf_done(&buf);
	paper.format = WTL_PLOT_SVG;
	assert_int_equal(draw_on(&paper, &buf, 64u << 20), 0);
	assert_non_null(strstr(buf.data, "viewBox=\"0 0 500 300\""));
	assert_non_null(strstr(
		buf.data,
		"<title>Power over time: machine: 2530 ± 120 J · mean power 42.1 ± 2.0 W</title>"));
	assert_string_equal(buf.data + buf.len - 7, "</svg>\n");
	wtl_buf_done(&buf);
	/* The same data give the same file. */
	paper.format = WTL_PLOT_PDF;
	assert_int_equal(draw_on(&paper, &buf, 64u << 20), 0);
	assert_memory_equal(buf.data, "%PDF-1.", 7);
	assert_int_equal(draw_on(&paper, &again, 64u << 20), 0);
	assert_int_equal(again.len, buf.len);
	assert_memory_equal(again.data, buf.data, buf.len);
	wtl_buf_done(&again);
	wtl_buf_done(&buf);
}

static void test_bounds(void **state)
{
	static const struct wtl_plot_paper bad[] = {
		{.format = WTL_PLOT_PNG, .width = 10, .height = 300},
		{.format = WTL_PLOT_PNG, .width = 1e9, .height = 300},
		{.format = WTL_PLOT_SVG, .width = 500, .height = 1e9},
		{.format = WTL_PLOT_PNG, .width = 9000, .height = 300, .scale = 8},
		{.format = WTL_PLOT_PNG,
		 .width = -5,
		 .height = WTL_PLOT_UNKNOWN,
		 .scale = WTL_PLOT_UNKNOWN},
	};
	static const struct wtl_plot_paper small = {.format = WTL_PLOT_SVG,
						    .width = WTL_PLOT_WIDTH_MIN};
	static const struct wtl_plot_paper tight[] = {
		{.format = WTL_PLOT_SVG, .width = WTL_PLOT_WIDTH_MIN - 1},
		{.format = WTL_PLOT_SVG, .width = WTL_PLOT_WIDTH_MIN, .height = 130}};
	struct wtl_buf buf;

	(void)state;
	for (size_t i = 0; i + 1 < UNIT_COUNT(bad); i++) {
		assert_int_equal(draw_on(&bad[i], &buf, 1u << 20), -EINVAL);
		assert_int_equal(buf.len, 0);
		wtl_buf_done(&buf);
	}
	for (size_t i = 0; i < UNIT_COUNT(tight); i++) {
		assert_int_equal(draw_on(&tight[i], &buf, 1u << 20), -EINVAL);
		assert_int_equal(buf.len, 0);
		wtl_buf_done(&buf);
	}
	assert_int_equal(draw_on(&small, &buf, 1u << 20), 0);
	wtl_buf_done(&buf);
}

/* A file that may not be as long as it would be is none. */
static void test_no_room(void **state)
{
	struct wtl_plot_paper paper = {.width = 0};
	struct wtl_buf buf;

	(void)state;
	for (unsigned format = WTL_PLOT_SVG; format <= WTL_PLOT_PDF; format++)
		for (size_t max = 16; max < 4096; max *= 4) {
			paper.format = (enum wtl_plot_format)format;
			assert_int_equal(draw_on(&paper, &buf, max), -EFBIG);
			wtl_buf_done(&buf);
		}
}

static void test_formats(void **state)
{
	enum wtl_plot_format format = WTL_PLOT_SVG;

	(void)state;
	assert_int_equal(wtl_plot_format_find("pdf", &format), 0);
	assert_int_equal(format, WTL_PLOT_PDF);
	assert_int_equal(wtl_plot_format_find("PNG", &format), 0);
	assert_int_equal(format, WTL_PLOT_PNG);
	assert_int_equal(wtl_plot_format_find("gif", &format), -EINVAL);
	assert_int_equal(wtl_plot_format_find("", &format), -EINVAL);
	assert_int_equal(format, WTL_PLOT_PNG);
}

static void test_sheet(void **state)
{
	struct wtl_plot_sheet sheet;
	char *bytes;

	(void)state;
	wtl_plot_sheet_init(&sheet);
	bytes = wtl_plot_sheet_array(&sheet, 1000, 3);
	assert_non_null(bytes);
	for (size_t i = 0; i < 3000; i++)
		assert_int_equal(bytes[i], 0);
	assert_string_equal(wtl_plot_sheet_printf(&sheet, "%s %d", "run", 7), "run 7");
	assert_non_null(wtl_plot_sheet_array(&sheet, 0, 8));
	assert_null(wtl_plot_sheet_array(&sheet, SIZE_MAX / 2, 8));
	assert_null(wtl_plot_sheet_array(&sheet, SIZE_MAX, 1));
	wtl_plot_sheet_done(&sheet);
	wtl_plot_sheet_done(&sheet);
	wtl_plot_sheet_done(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),	    cmocka_unit_test(test_power),
		cmocka_unit_test(test_stack),	    cmocka_unit_test(test_stack_breaks),
		cmocka_unit_test(test_bars),	    cmocka_unit_test(test_runs),
		cmocka_unit_test(test_shared_axis), cmocka_unit_test(test_many_series),
		cmocka_unit_test(test_nothing),	    cmocka_unit_test(test_little),
		cmocka_unit_test(test_huge),	    cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_papers),	    cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_no_room),	    cmocka_unit_test(test_formats),
		cmocka_unit_test(test_sheet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
