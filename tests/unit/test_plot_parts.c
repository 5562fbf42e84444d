/* SPDX-License-Identifier: MIT */
#include "draw/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "plot_bench.h"

#include "unit.h"

/* ---- Text ---- */

static const struct wtl_plot_lettering ten = {.size = 10}; /* 6 pixels a letter */

static void fits(const char *text, double width, const char *wanted)
{
	struct plot_journal journal;
	char got[WTL_PLOT_TEXT_MAX];
	double taken;

	plot_journal_init(&journal);
	taken = wtl_plot_fit(&journal.pen, &ten, text, width, got);
	assert_string_equal(got, wanted);
	assert_true(taken <= width + 1e-9 || !got[0]);
	assert_true(fabs(taken - journal.pen.ops->width(&journal.pen, &ten, got)) < 1e-9);
	plot_journal_done(&journal);
}

static void test_text_is_cut(void **state)
{
	(void)state;
	fits("package-0", 54, "package-0");
	fits("package-0", 53.9, "package…");
	fits("package-0", 12, "p…");
	fits("package-0", 11, "");
	fits("package-0", 0, "");
	fits("", 100, "");
	fits(NULL, 100, "");
	fits("µµµµµµ", 18, "µµ…");
	fits("日本語日本語", 24, "日本語…");
	fits("tab\there\033", 100, "tab?here?");
	fits("\xff\xfe", 100, "??");
}

/* Names that begin alike are told apart by how they end. */
static void test_text_is_cut_in_the_middle(void **state)
{
	static const struct wtl_plot_lettering name = {.size = 10, .keeps_end = true};
	static const struct {
		const char *text;
		double width;
		const char *wanted;
	} cases[] = {{"package-0", 54, "package-0"}, {"package-0", 53.9, "packa…-0"},
		     {"package-0", 24, "pa…0"},	     {"package-0", 18, "pa…"},
		     {"package-0", 11, ""},	     {"µµµµµµäöü", 42, "µµµµ…öü"}};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(cases); i++) {
		struct plot_journal journal;
		char got[WTL_PLOT_TEXT_MAX];

		plot_journal_init(&journal);
		wtl_plot_fit(&journal.pen, &name, cases[i].text, cases[i].width, got);
		assert_string_equal(got, cases[i].wanted);
		plot_journal_done(&journal);
	}
}

static void test_long_text(void **state)
{
	char *text = malloc(5001);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < 2500; i++)
		memcpy(text + 2 * i, "\xc3\xa4", 2);
	text[5000] = '\0';
	fits(text, 30, "ääää…");
	free(text);
}

static void test_text_is_drawn_only_where_it_fits(void **state)
{
	struct plot_journal journal;

	(void)state;
	plot_journal_init(&journal);
	assert_true(wtl_plot_text(&journal.pen, 5, 6, 100, &ten, "seen") == 24);
	assert_true(wtl_plot_text(&journal.pen, 5, 6, 3, &ten, "unseen") == 0);
	assert_int_equal(journal.n, 1);
	assert_non_null(plot_text(&journal, "seen"));
	plot_journal_done(&journal);
}

static void test_escape(void **state)
{
	struct wtl_buf buf;

	(void)state;
	wtl_buf_init(&buf, 1000);
	wtl_plot_escape(&buf, "a<b>&amp;\"c'\x01\xff]]>");
	assert_string_equal(wtl_buf_str(&buf), "a&lt;b&gt;&amp;amp;&quot;c'??]]&gt;");
	wtl_buf_clear(&buf);
	/* XML has no U+FFFE and no U+FFFF, not even escaped. */
	wtl_plot_escape(&buf, "a\xef\xbf\xbe\xef\xbf\xbf\xef\xbf\xbd");
	assert_string_equal(wtl_buf_str(&buf), "a??????\xef\xbf\xbd");
	wtl_buf_clear(&buf);
	wtl_plot_escape(&buf, NULL);
	assert_string_equal(wtl_buf_str(&buf), "");
	wtl_buf_done(&buf);
}

/* ---- Looks: told apart by anybody ---- */

enum { SERIES = 7 };

static double linear(uint32_t rgb, unsigned shift)
{
	double c = (rgb >> shift & 0xff) / 255.0;

	return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

/* CIE lightness, 0 to 100. */
static double lightness(const double rgb[3])
{
	double y = 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2];

	return y > 0.008856 ? 116 * cbrt(y) - 16 : 903.3 * y;
}

/* G. Machado, M. Oliveira, L. Fernandes, "A Physiologically-based Model for Simulation of Color Vision
 * Deficiency" (2009), severity 1; and normal vision. */
static const double vision[4][3][3] = {
	{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	{{0.152286, 1.052583, -0.204868},
	 {0.114503, 0.786281, 0.099216},
	 {-0.003882, -0.048116, 1.051998}},
	{{0.367322, 0.860646, -0.227968},
	 {0.280085, 0.672501, 0.047413},
	 {-0.011820, 0.042940, 0.968881}},
	{{1.255528, -0.076749, -0.178779},
	 {-0.078411, 0.930809, 0.147602},
	 {0.004733, 0.691367, 0.303900}},
};

static void see(uint32_t rgb, unsigned eye, double ret_rgb[3])
{
	for (unsigned i = 0; i < 3; i++) {
		ret_rgb[i] = 0;
		for (unsigned k = 0; k < 3; k++)
			ret_rgb[i] += vision[eye][i][k] * linear(rgb, 16 - 8 * k);
		ret_rgb[i] = fmin(1, fmax(0, ret_rgb[i]));
	}
}

/* CIE 1976 difference; 2 is about what can just be seen side by side. */
static double difference(uint32_t a, uint32_t b, unsigned eye)
{
	static const double to_xyz[3][3] = {
		{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}};
	static const double white[3] = {0.9505, 1, 1.089};
	double lab[2][3];

	for (unsigned which = 0; which < 2; which++) {
		double rgb[3], f[3];

		see(which ? b : a, eye, rgb);
		for (unsigned i = 0; i < 3; i++) {
			double t = 0;

			for (unsigned k = 0; k < 3; k++)
				t += to_xyz[i][k] * rgb[k] / white[i];
			f[i] = t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
		}
		lab[which][0] = 116 * f[1] - 16;
		lab[which][1] = 500 * (f[0] - f[1]);
		lab[which][2] = 200 * (f[1] - f[2]);
	}
	return sqrt(pow(lab[0][0] - lab[1][0], 2) + pow(lab[0][1] - lab[1][1], 2) +
		    pow(lab[0][2] - lab[1][2], 2));
}

static void test_colours_by_any_eye(void **state)
{
	struct wtl_plot_series series[SERIES] = {{.name = "a"}};
	const struct wtl_plot_panel panel = {.series = series, .n_series = SERIES};
	struct wtl_plot_look looks[SERIES];

	(void)state;
	wtl_plot_looks(&panel, looks);
	for (unsigned eye = 0; eye < 4; eye++)
		for (size_t i = 0; i < SERIES; i++) {
			const uint32_t rgb = looks[i].rgb;

			assert_true(difference(rgb, WTL_PLOT_PAPER, eye) > 20);
			for (size_t k = 0; k < i; k++)
				if (difference(rgb, looks[k].rgb, eye) < 10)
					fail_msg("%zu and %zu are alike to eye %u: %.1f", i, k, eye,
						 difference(rgb, looks[k].rgb, eye));
		}
}

/* In grey: the first two, which are what most pictures have, differ in lightness, and neighbours in
 * anything that has no colour. */
static void test_without_colours(void **state)
{
	struct wtl_plot_series series[2 * SERIES] = {{.name = "a"}};
	const struct wtl_plot_panel panel = {.series = series, .n_series = 2 * SERIES};
	struct wtl_plot_look looks[2 * SERIES];
	double one[3], other[3];

	(void)state;
	wtl_plot_looks(&panel, looks);
	see(looks[0].rgb, 0, one);
	see(looks[1].rgb, 0, other);
	assert_true(fabs(lightness(one) - lightness(other)) > 20);
	for (size_t i = 1; i < 2 * SERIES; i++) {
		const struct wtl_plot_look a = looks[i - 1];
		const struct wtl_plot_look b = looks[i];

		assert_int_not_equal(a.mark, b.mark);
		see(a.light, 0, one);
		see(b.light, 0, other);
		assert_true(a.hatch != b.hatch || fabs(lightness(one) - lightness(other)) > 5);
	}
}

/* In grey no two areas of a picture are alike, in two rounds of colours with the rest above them. */
static void test_areas_without_colours(void **state)
{
	struct wtl_plot_series series[2 * SERIES + 1] = {[2 * SERIES] = {.is_rest = true}};
	const struct wtl_plot_panel panel = {.series = series, .n_series = 2 * SERIES + 1};
	struct wtl_plot_look looks[2 * SERIES + 1];
	double one[3], other[3];

	(void)state;
	wtl_plot_looks(&panel, looks);
	for (size_t i = 0; i < panel.n_series; i++)
		for (size_t k = 0; k < i; k++) {
			const struct wtl_plot_look a = looks[i];
			const struct wtl_plot_look b = looks[k];

			see(a.light, 0, one);
			see(b.light, 0, other);
			if (a.hatch == b.hatch && fabs(lightness(one) - lightness(other)) < 5)
				fail_msg("%zu and %zu are alike in grey: hatch %d, %.1f and %.1f",
					 i, k, (int)a.hatch, lightness(one), lightness(other));
		}
	/* Of the first round each has a hatch of its own. */
	for (size_t i = 0; i < SERIES; i++)
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(looks[i].hatch, looks[k].hatch);
}

static void test_the_rest_is_grey(void **state)
{
	struct wtl_plot_series series[3] = {{.is_rest = true}, {.name = "a"}, {.is_rest = true}};
	const struct wtl_plot_panel panel = {.series = series, .n_series = 3};
	struct wtl_plot_look looks[3];

	(void)state;
	wtl_plot_looks(&panel, looks);
	for (size_t i = 0; i < 3; i += 2) {
		uint32_t rgb = looks[i].rgb;

		assert_int_equal(rgb >> 16, rgb & 0xff);
		assert_int_equal(rgb >> 8 & 0xff, rgb & 0xff);
	}
	assert_int_not_equal(looks[0].light, looks[2].light);
	assert_int_not_equal(looks[1].rgb, looks[0].rgb);
}

static void test_the_total_is_black(void **state)
{
	struct wtl_plot_series series[3] = {{.name = "a"}, {.name = "b"}, {.is_total = true}};
	const struct wtl_plot_panel panel = {.series = series, .n_series = 3};
	struct wtl_plot_look looks[3];

	(void)state;
	wtl_plot_looks(&panel, looks);
	assert_int_equal(looks[2].rgb, WTL_PLOT_INK);
	for (size_t i = 0; i < 2; i++) {
		assert_int_not_equal(looks[i].rgb, WTL_PLOT_INK);
		assert_true(looks[2].width > 1.5 * looks[i].width);
		assert_true(wtl_plot_has_marks(&panel, i));
	}
	assert_false(wtl_plot_has_marks(&panel, 2));
}

/* Two areas that touch where those between them have no height differ in hue as any two neighbours. */
static void test_hues_of_neighbours(void **state)
{
	enum { N = 3 * SERIES };
	struct wtl_plot_point points[N][N - 1];
	struct wtl_plot_series series[N];
	struct wtl_plot_look looks[N];
	const struct wtl_plot_panel panel = {
		.marks = WTL_PLOT_STACK, .series = series, .n_series = N};

	(void)state;
	/* At each place s lies on s - 1, or on s - SERIES, whose hue would be its own in turn. */
	for (size_t s = 0; s < N; s++) {
		for (size_t i = 0; i < N - 1; i++)
			points[s][i] = (struct wtl_plot_point){
				.x = (int64_t)i, .y = s == i || s == i + 1 || s == i + 1 + SERIES};
		series[s] = (struct wtl_plot_series){.points = points[s], .n = N - 1};
	}
	wtl_plot_looks(&panel, looks);
	for (size_t s = 1; s < N; s++) {
		assert_int_not_equal(looks[s].rgb, looks[s - 1].rgb);
		if (s > SERIES)
			assert_int_not_equal(looks[s].rgb, looks[s - SERIES].rgb);
	}
}

/* All shapes have about the same size, and their middle where they stand. */
static void test_marks(void **state)
{
	struct wtl_plot_look look = {.rgb = 0x123456};

	(void)state;
	for (look.mark = 0; look.mark < 10; look.mark++) {
		struct plot_journal journal;
		const struct plot_stroke *area;
		double x = 0, y = 0;

		plot_journal_init(&journal);
		wtl_plot_mark(&journal.pen, 100, 50, 4, &look);
		assert_int_equal(journal.n, 2);
		area = &journal.strokes[0];
		assert_int_equal(area->kind, PLOT_AREA);
		assert_int_equal(area->rgb == WTL_PLOT_PAPER, look.mark >= 5);
		for (size_t i = 0; i < area->n; i++) {
			double far = hypot(area->at[i].x - 100, area->at[i].y - 50);

			assert_true(far > 3.5 && far < 6);
			x += area->at[i].x / (double)area->n;
			y += area->at[i].y / (double)area->n;
		}
		assert_true(fabs(x - 100) < 1e-6 && fabs(y - 50) < 1e-6);
		plot_journal_done(&journal);
	}
}

/* ---- The key ---- */

enum { CURVES = 12 };

struct curves {
	struct wtl_plot_point points[CURVES][2];
	struct wtl_plot_series series[CURVES];
	char names[CURVES][32];
	struct wtl_plot_panel panel;
	struct wtl_plot_figure figure;
};

/* n curves that end at those heights. */
static void fill(struct curves *curves, const double ends[], size_t n)
{
	memset(curves, 0, sizeof(*curves));
	for (size_t s = 0; s < n; s++) {
		snprintf(curves->names[s], sizeof(curves->names[s]), "curve-%zu.", s);
		curves->points[s][0] = (struct wtl_plot_point){.x = 0, .y = 10};
		curves->points[s][1] = (struct wtl_plot_point){.x = 1000000000, .y = ends[s]};
		curves->series[s] = (struct wtl_plot_series){
			.name = curves->names[s], .points = curves->points[s], .n = 2};
	}
	curves->panel = (struct wtl_plot_panel){.x = WTL_PLOT_X_UTC,
						.label = "Power",
						.unit = "W",
						.series = curves->series,
						.n_series = n};
	curves->figure = (struct wtl_plot_figure){
		.title = "Curves", .panels = &curves->panel, .n_panels = 1};
}

static double height_of(const struct plot_journal *journal, const char *name)
{
	const struct plot_stroke *text = plot_text(journal, name);

	if (!text)
		fail_msg("%s is not in the key", name);
	return text ? text->at[0].y : 0;
}

/* Names stand in the order in which the curves end, and never on one another. */
static void test_key_order(void **state)
{
	static const double ends[][5] = {{10, 20, 30, 40, 50},	   {50, 40, 30, 20, 10},
					 {30, 30.1, 29.9, 30, 30}, {0, 0, 0, 0, 0},
					 {50, 50, 50, 50, 50},	   {0, 0, 0, 50, 50}};

	(void)state;
	for (size_t i = 0; i < UNIT_COUNT(ends); i++) {
		struct plot_journal journal;
		struct curves curves;

		fill(&curves, ends[i], 5);
		plot_journal_draw(&journal, &curves.figure);
		for (size_t a = 0; a < 5; a++)
			for (size_t b = 0; b < a; b++) {
				double off = height_of(&journal, curves.names[a]) -
					     height_of(&journal, curves.names[b]);

				assert_true(fabs(off) > 12);
				if (ends[i][a] > ends[i][b])
					assert_true(off < 0);
			}
		plot_journal_done(&journal);
	}
}

/* What there is to say of a curve is left out before any name is. */
static void test_key_without_room(void **state)
{
	double ends[CURVES];
	struct plot_journal journal;
	struct curves curves;

	(void)state;
	for (size_t i = 0; i < CURVES; i++)
		ends[i] = (double)i;
	fill(&curves, ends, CURVES);
	for (size_t i = 0; i < CURVES; i++)
		curves.series[i].remark = "a remark";
	plot_journal_init(&journal);
	assert_int_equal(wtl_plot_figure_draw(&curves.figure, &journal.pen, WTL_PLOT_WIDTH, 420),
			 0);
	assert_null(plot_text(&journal, "a remark"));
	for (size_t i = 0; i < CURVES; i++)
		height_of(&journal, curves.names[i]);
	plot_journal_done(&journal);
	fill(&curves, ends, 3);
	curves.series[1].remark = "a remark";
	plot_journal_draw(&journal, &curves.figure);
	assert_true(height_of(&journal, "a remark") > height_of(&journal, curves.names[1]));
	plot_journal_done(&journal);
}

/* What is left over keeps its place, however many others have none. */
static void test_key_of_the_rest(void **state)
{
	double ends[CURVES];
	struct plot_journal journal;
	struct curves curves;

	(void)state;
	for (size_t i = 0; i < CURVES; i++)
		ends[i] = (double)i + 1;
	fill(&curves, ends, CURVES);
	curves.panel.marks = WTL_PLOT_STACK;
	curves.series[CURVES - 1].is_rest = true;
	plot_journal_init(&journal);
	assert_int_equal(wtl_plot_figure_draw(&curves.figure, &journal.pen, WTL_PLOT_WIDTH, 220),
			 0);
	assert_non_null(plot_text(&journal, "more"));
	height_of(&journal, curves.names[CURVES - 1]);
	height_of(&journal, curves.names[0]);
	plot_journal_done(&journal);
}

/* Those without a place are counted below the others, above the row of the axis' times. */
static void test_key_of_too_many(void **state)
{
	enum { HEIGHT = 220 };
	double ends[CURVES];
	struct plot_journal journal;
	struct curves curves;
	const struct plot_stroke *more;

	(void)state;
	for (size_t i = 0; i < CURVES; i++)
		ends[i] = (double)i + 1;
	fill(&curves, ends, CURVES);
	for (int marks = WTL_PLOT_LINE; marks <= WTL_PLOT_STACK; marks++) {
		double lowest = 0;

		curves.panel.marks = (enum wtl_plot_marks)marks;
		plot_journal_init(&journal);
		assert_int_equal(
			wtl_plot_figure_draw(&curves.figure, &journal.pen, WTL_PLOT_WIDTH, HEIGHT),
			0);
		more = plot_text(&journal, "more");
		assert_non_null(more);
		assert_true(more->at[0].y < height_of(&journal, "Time") - 18);
		for (size_t i = 0; i < CURVES; i++) {
			const struct plot_stroke *name = plot_text(&journal, curves.names[i]);

			lowest = fmax(lowest, name ? name->at[0].y : 0);
			assert_true(!name || fabs(name->at[0].x - more->at[0].x) < 1e-6);
		}
		assert_true(more->at[0].y - lowest > 12);
		plot_journal_done(&journal);
	}
}

/* However short a curve is, it has a mark of its own. */
static void test_marks_of_short_curves(void **state)
{
	static const double ends[] = {40, 20, 30};
	struct plot_journal journal;
	struct curves curves;

	(void)state;
	for (size_t s = 0; s < UNIT_COUNT(ends); s++) {
		struct wtl_plot_look looks[UNIT_COUNT(ends)];
		size_t with;

		fill(&curves, ends, UNIT_COUNT(ends));
		wtl_plot_looks(&curves.panel, looks);
		curves.series[s].n = 1;
		plot_journal_draw(&journal, &curves.figure);
		with = plot_count(&journal, PLOT_AREA, looks[s].rgb);
		plot_journal_done(&journal);
		/* One at the point, one in the key. */
		assert_int_equal(with, 2);
	}
}

/* What a level is stands below its curve's name. */
static void test_key_of_levels(void **state)
{
	static const double ends[] = {40, 20};
	struct plot_journal journal;
	struct curves curves;

	(void)state;
	fill(&curves, ends, 2);
	curves.series[1].level = (struct wtl_plot_level){.is_known = true, .name = "idle", .y = 12};
	plot_journal_draw(&journal, &curves.figure);
	assert_true(fabs(height_of(&journal, "idle 12.0 W") - height_of(&journal, "curve-1.") -
			 12) < 1);
	plot_journal_done(&journal);
	curves.series[1].remark = "nvml, counter";
	plot_journal_draw(&journal, &curves.figure);
	assert_non_null(plot_text(&journal, "idle 12.0 W · nvml, counter"));
	plot_journal_done(&journal);
	/* Not for a level that nobody knows. */
	curves.series[1].level.y = HUGE_VAL;
	plot_journal_draw(&journal, &curves.figure);
	assert_null(plot_text(&journal, "idle"));
	plot_journal_done(&journal);
}

/* A curve of which nothing is known has no place in the key. */
static void test_key_of_known_curves(void **state)
{
	static const double ends[] = {40, 20};
	struct plot_journal journal;
	struct curves curves;

	(void)state;
	fill(&curves, ends, 2);
	curves.points[1][0].y = curves.points[1][1].y = WTL_PLOT_UNKNOWN;
	plot_journal_draw(&journal, &curves.figure);
	assert_non_null(plot_text(&journal, "curve-0."));
	assert_null(plot_text(&journal, "curve-1."));
	plot_journal_done(&journal);
}

/* What is not below 0 itself is not shown there for its ±; what is, is. */
static void test_range_above_0(void **state)
{
	struct wtl_plot_point points[] = {{.x = 1, .y = 7, .low = -1, .high = 15},
					  {.x = 2, .y = 3, .low = 2, .high = 4}};
	struct wtl_plot_series series = {
		.points = points,
		.n = 2,
		.has_range = true,
		.level = {.is_known = true, .y = 20, .low = -20, .high = 30}};
	const struct wtl_plot_panel panel = {
		.marks = WTL_PLOT_POINTS, .series = &series, .n_series = 1};
	double low, high;

	(void)state;
	assert_true(wtl_plot_range_y(&panel, 1, 2, &low, &high));
	assert_true(low == 0 && high == 30);
	points[1].y = -3;
	assert_true(wtl_plot_range_y(&panel, 1, 2, &low, &high));
	assert_true(low == -20 && high == 30);
	points[1].y = 0;
	points[0].low = series.level.low = 0.5;
	assert_true(wtl_plot_range_y(&panel, 1, 2, &low, &high));
	assert_true(low == 0 && high == 30);
}

/* In a stack, names stand beside their own areas: the lowest area has the lowest name. */
static void test_key_of_a_stack(void **state)
{
	static const double ends[] = {10, 30, 20};
	struct plot_journal journal;
	struct curves curves;

	(void)state;
	fill(&curves, ends, 3);
	curves.panel.marks = WTL_PLOT_STACK;
	plot_journal_draw(&journal, &curves.figure);
	assert_true(height_of(&journal, "curve-0.") > height_of(&journal, "curve-1."));
	assert_true(height_of(&journal, "curve-1.") > height_of(&journal, "curve-2."));
	plot_journal_done(&journal);
}

/* ---- Sizes ---- */

static void test_heights(void **state)
{
	static const double ends[] = {10, 20};
	struct wtl_plot_panel panels[9];
	struct curves curves;
	double before;

	(void)state;
	fill(&curves, ends, 2);
	before = wtl_plot_figure_height(&curves.figure);
	assert_true(before > 300 && before < 600);
	for (size_t i = 0; i < 9; i++)
		panels[i] = curves.panel;
	curves.figure.panels = panels;
	for (size_t n = 2; n <= 9; n++) {
		curves.figure.n_panels = n;
		assert_true(wtl_plot_figure_height(&curves.figure) > before);
		before = wtl_plot_figure_height(&curves.figure);
	}
	/* Shared axes are shorter. */
	curves.figure.shares_x = true;
	assert_true(wtl_plot_figure_height(&curves.figure) < before);
	/* Any number of bars has an end. */
	panels[0].marks = WTL_PLOT_BARS;
	panels[0].n_categories = 1000000;
	curves.figure.n_panels = 1;
	assert_true(wtl_plot_figure_height(&curves.figure) < WTL_PLOT_SIZE_MAX);
	/* Less will do, but bars have words in their rows. */
	assert_true(wtl_plot_figure_height_least(&curves.figure) >
		    wtl_plot_figure_height(&curves.figure) / 2);
	panels[0].marks = WTL_PLOT_LINE;
	assert_true(wtl_plot_figure_height_least(&curves.figure) <
		    wtl_plot_figure_height(&curves.figure) / 2);
}

/* On paper of any shape, all that is drawn is on it (names at the sides may be cut away). */
static void test_any_paper(void **state)
{
	static const double sizes[][2] = {
		{240, 240}, {240, 4000}, {4000, 240}, {960, 400}, {16000, 16000}};
	static const double ends[] = {10, 20, 30};
	struct curves curves;

	(void)state;
	fill(&curves, ends, 3);
	curves.series[0].remark = "a remark of some length that has to be cut somewhere";
	for (size_t i = 0; i < UNIT_COUNT(sizes); i++) {
		struct plot_journal journal;

		plot_journal_init(&journal);
		assert_int_equal(wtl_plot_figure_draw(&curves.figure, &journal.pen, sizes[i][0],
						      sizes[i][1]),
				 0);
		for (size_t s = 0; s < journal.n; s++)
			for (size_t k = 0; k < journal.strokes[s].n; k++) {
				assert_true(journal.strokes[s].at[k].x >= -1);
				assert_true(journal.strokes[s].at[k].x <= sizes[i][0] + 2);
				assert_true(journal.strokes[s].at[k].y >= -1);
				assert_true(journal.strokes[s].at[k].y <= sizes[i][1] + 2);
			}
		plot_journal_done(&journal);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_is_cut_in_the_middle),
		cmocka_unit_test(test_key_of_the_rest),
		cmocka_unit_test(test_range_above_0),
		cmocka_unit_test(test_text_is_cut),
		cmocka_unit_test(test_long_text),
		cmocka_unit_test(test_text_is_drawn_only_where_it_fits),
		cmocka_unit_test(test_escape),
		cmocka_unit_test(test_colours_by_any_eye),
		cmocka_unit_test(test_without_colours),
		cmocka_unit_test(test_areas_without_colours),
		cmocka_unit_test(test_the_rest_is_grey),
		cmocka_unit_test(test_the_total_is_black),
		cmocka_unit_test(test_hues_of_neighbours),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_key_order),
		cmocka_unit_test(test_key_without_room),
		cmocka_unit_test(test_key_of_too_many),
		cmocka_unit_test(test_marks_of_short_curves),
		cmocka_unit_test(test_key_of_levels),
		cmocka_unit_test(test_key_of_known_curves),
		cmocka_unit_test(test_key_of_a_stack),
		cmocka_unit_test(test_heights),
		cmocka_unit_test(test_any_paper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
