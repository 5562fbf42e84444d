/* SPDX-License-Identifier: MIT */
#include "draw/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "energy/units.h"
#include "plot_bench.h"

#include "unit.h"

/* Areas whose values are means since the point before: their sizes are energies. */

enum { MOST = 400, SERIES = 4 };

struct data {
	struct wtl_plot_point points[SERIES][MOST];
	struct wtl_plot_series series[SERIES];
	struct wtl_plot_panel panel;
	struct wtl_plot_figure figure;
	struct plot_journal journal;
};

static void *begin(size_t n_series, size_t n)
{
	struct data *data = calloc(1, sizeof(*data));

	assert_non_null(data);
	for (size_t s = 0; s < n_series; s++)
		data->series[s] =
			(struct wtl_plot_series){.name = "a", .points = data->points[s], .n = n};
	data->panel = (struct wtl_plot_panel){.marks = WTL_PLOT_STACK,
					      .x = WTL_PLOT_X_UTC,
					      .label = "Power",
					      .unit = "W",
					      .prefix = WTL_PLOT_SI,
					      .has_steps = true,
					      .series = data->series,
					      .n_series = n_series};
	data->figure = (struct wtl_plot_figure){.panels = &data->panel, .n_panels = 1};
	return data;
}

static void end(struct data *data)
{
	plot_journal_done(&data->journal);
	free(data);
}

static void set(struct data *data, size_t series, size_t i, double seconds, double y)
{
	data->points[series][i] = (struct wtl_plot_point){.x = (int64_t)(seconds * 1e9), .y = y};
}

/* Areas within the panel, in the order in which they are drawn. */
static size_t areas(const struct data *data, const struct plot_stroke *found[], size_t most)
{
	size_t n = 0;

	for (size_t i = 0; i < data->journal.n; i++) {
		const struct plot_stroke *stroke = &data->journal.strokes[i];

		if (stroke->kind != PLOT_AREA || !stroke->is_clipped)
			continue;
		assert_true(n < most);
		found[n++] = stroke;
	}
	return n;
}

/* The shoelace formula. */
static double size_of(const struct plot_stroke *area)
{
	double sum = 0;

	for (size_t i = 0; i < area->n; i++) {
		const struct wtl_plot_xy *a = &area->at[i], *b = &area->at[(i + 1) % area->n];

		sum += a->x * b->y - b->x * a->y;
	}
	return fabs(sum) / 2;
}

/* Every edge is level or upright. */
static void is_of_steps(const struct plot_stroke *area)
{
	for (size_t i = 0; i < area->n; i++) {
		const struct wtl_plot_xy *a = &area->at[i], *b = &area->at[(i + 1) % area->n];

		assert_true(a->x == b->x || a->y == b->y);
	}
}

static void test_steps(void **state)
{
	struct data *data = begin(1, 4);
	const struct plot_stroke *area;

	(void)state;
	set(data, 0, 0, 0, WTL_PLOT_UNKNOWN);
	set(data, 0, 1, 1, 10);
	set(data, 0, 2, 2, 20);
	set(data, 0, 3, 4, 5);
	plot_journal_draw(&data->journal, &data->figure);
	assert_int_equal(areas(data, &area, 1), 1);
	is_of_steps(area);
	assert_int_equal(area->n, 12);
	/* From the first point's x, a second wide, then a second, then two. */
	assert_true(area->at[0].y == area->at[1].y && area->at[4].y == area->at[5].y);
	assert_true(fabs((area->at[5].x - area->at[4].x) - 2 * (area->at[1].x - area->at[0].x)) <
		    1e-6);
	assert_true(area->at[2].y < area->at[0].y && area->at[4].y > area->at[0].y);
	end(data);
}

/* Looks that are not evenly far from each other, some without anybody: the areas are the energies. */
static void test_sizes_are_energies(void **state)
{
	unsigned seed = 7;

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		size_t n = 3 + (size_t)rand_r(&seed) % 200, n_found;
		struct data *data = begin(SERIES, n);
		const struct plot_stroke *found[SERIES];
		double energies[SERIES] = {0}, at = 0, scale;

		for (size_t s = 0; s < SERIES; s++)
			set(data, s, 0, 0, WTL_PLOT_UNKNOWN);
		for (size_t i = 1; i < n; i++) {
			double seconds = 1 + rand_r(&seed) % 3;

			at += seconds;
			for (size_t s = 0; s < SERIES; s++) {
				double y = rand_r(&seed) % 100;

				set(data, s, i, at, y);
				energies[s] += y * seconds;
			}
		}
		plot_journal_draw(&data->journal, &data->figure);
		n_found = areas(data, found, SERIES);
		assert_int_equal(n_found, SERIES);
		scale = size_of(found[0]) / energies[0];
		for (size_t s = 1; s < SERIES; s++)
			assert_true(fabs(size_of(found[s]) / energies[s] / scale - 1) < 1e-6);
		end(data);
	}
}

static void test_gaps(void **state)
{
	static const struct wtl_plot_gap gap = {25 * WTL_NS_PER_S / 10, 5 * WTL_NS_PER_S, NULL};
	struct data *data = begin(1, 5);
	const struct plot_stroke *found[3];

	(void)state;
	data->panel.gaps = &gap;
	data->panel.n_gaps = 1;
	set(data, 0, 0, 0, WTL_PLOT_UNKNOWN);
	set(data, 0, 1, 1, 10);
	set(data, 0, 2, 2, 10);
	set(data, 0, 3, 6, 10); /* from the gap's end */
	set(data, 0, 4, 8, 10);
	plot_journal_draw(&data->journal, &data->figure);
	/* The gap itself is not clipped. */
	assert_int_equal(areas(data, found, 3), 2);
	assert_true(fabs(size_of(found[1]) / size_of(found[0]) - 3.0 / 2.0) < 1e-6);
	end(data);
}

/* An edge is drawn only where there is something below it. */
static void test_no_edge_of_nothing(void **state)
{
	struct data *data = begin(2, 6);
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		set(data, 0, i, (double)i, i > 0 ? 50 : WTL_PLOT_UNKNOWN);
		set(data, 1, i, (double)i, i == 0 ? WTL_PLOT_UNKNOWN : i == 3 ? 20 : 0);
	}
	for (int steps = 1; steps >= 0; steps--) {
		data->panel.has_steps = steps;
		plot_journal_draw(&data->journal, &data->figure);
		n = 0;
		for (size_t i = 0; i < data->journal.n; i++) {
			const struct plot_stroke *stroke = &data->journal.strokes[i];

			if (stroke->kind == PLOT_LINE && stroke->is_clipped &&
			    stroke->rgb == 0xe69f00) {
				assert_int_equal(stroke->n, steps ? 2 : 3);
				n++;
			}
		}
		assert_int_equal(n, 1);
		plot_journal_done(&data->journal);
	}
	memset(&data->journal, 0, sizeof(data->journal));
	plot_journal_init(&data->journal);
	end(data);
}

/* What is before the picture belongs to it from its start on. */
static void test_begins_before(void **state)
{
	struct data *data = begin(1, 3);
	const struct plot_stroke *area;

	(void)state;
	data->panel.from = 5 * WTL_NS_PER_S;
	data->panel.to = 20 * WTL_NS_PER_S;
	set(data, 0, 0, 0, 1);
	set(data, 0, 1, 10, 10);
	set(data, 0, 2, 20, 10);
	plot_journal_draw(&data->journal, &data->figure);
	assert_int_equal(areas(data, &area, 1), 1);
	assert_true(fabs((area->at[3].x - area->at[2].x) / (area->at[1].x - area->at[0].x) - 2) <
		    1e-6);
	end(data);
}

/* Times for a line below the title. */
static void has_times(int64_t from, int64_t to, const char *wanted)
{
	struct wtl_buf buf;

	wtl_buf_init(&buf, 128);
	wtl_plot_put_times(&buf, from, to);
	assert_string_equal(wtl_buf_str(&buf), wanted);
	wtl_buf_done(&buf);
}

static void test_times(void **state)
{
	const int64_t eight = INT64_C(1795248000) * WTL_NS_PER_S, hour = 3600 * WTL_NS_PER_S;

	(void)state;
	has_times(eight, eight + hour, "2026-11-21 08:00:00 to 09:00:00 UTC");
	has_times(eight, eight + 20 * hour, "2026-11-21 08:00:00 to 2026-11-22 04:00:00 UTC");
	has_times(0, 1, "1970-01-01 00:00:00 to 00:00:00 UTC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),	      cmocka_unit_test(test_sizes_are_energies),
		cmocka_unit_test(test_gaps),	      cmocka_unit_test(test_no_edge_of_nothing),
		cmocka_unit_test(test_begins_before), cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
