/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "draw/parts.h"

/* The most that a column becomes: two breaks, first, lowest, highest and last. */
enum { PER_COLUMN = 6 };

size_t wtl_plot_reduced_max(size_t n_columns)
{
	return PER_COLUMN * (n_columns > 0 ? n_columns : 1);
}

double wtl_plot_distance(int64_t a, int64_t b)
{
	int64_t distance;

	if (__builtin_sub_overflow(b, a, &distance))
		return (double)b - (double)a;
	return (double)distance;
}

static void begin_column(struct wtl_plot_reducer *reducer, size_t column)
{
	reducer->column = column;
	reducer->n_known = 0;
	reducer->has_break = false;
	reducer->ends_broken = false;
	reducer->low = HUGE_VAL;
	reducer->high = -HUGE_VAL;
}

void wtl_plot_reducer_init(struct wtl_plot_reducer *reducer, int64_t from, int64_t to,
			   size_t n_columns, struct wtl_plot_point *points)
{
	memset(reducer, 0, sizeof(*reducer));
	reducer->from = from;
	reducer->to = to;
	reducer->n_columns = n_columns > 0 ? n_columns : 1;
	reducer->points = points;
	begin_column(reducer, 0);
}

static size_t column_of(const struct wtl_plot_reducer *reducer, int64_t x)
{
	double part =
		wtl_plot_distance(reducer->from, x) / wtl_plot_distance(reducer->from, reducer->to);
	double column = part * (double)reducer->n_columns;

	/* Also where from and to are the same. */
	if (!(column > 0))
		return 0;
	return column < (double)reducer->n_columns ? (size_t)column : reducer->n_columns - 1;
}

/* Keeps the order of x and leaves out what is there already. A break goes before a point with the same x. */
static void insert(struct wtl_plot_point sorted[], size_t *n, struct wtl_plot_point point)
{
	size_t at = *n;

	for (size_t i = 0; i < *n; i++)
		if (sorted[i].x == point.x &&
		    (sorted[i].y == point.y || (isnan(sorted[i].y) && isnan(point.y))))
			return;
	while (at > 0 &&
	       (sorted[at - 1].x > point.x || (sorted[at - 1].x == point.x && isnan(point.y)))) {
		sorted[at] = sorted[at - 1];
		at--;
	}
	sorted[at] = point;
	(*n)++;
}

static void end_column(struct wtl_plot_reducer *reducer)
{
	struct wtl_plot_point *sorted = reducer->points + reducer->n;
	size_t n = 0;

	if (reducer->n_known > 0) {
		insert(sorted, &n, reducer->first);
		insert(sorted, &n, reducer->lowest);
		insert(sorted, &n, reducer->highest);
		insert(sorted, &n, reducer->last);
	}
	for (size_t i = 0; i < n; i++) {
		sorted[i].low = reducer->low;
		sorted[i].high = reducer->high;
	}
	if (reducer->has_break) {
		insert(sorted, &n, reducer->broken);
		/* After all points, also after one with the same x. */
		if (reducer->ends_broken && n > 0 && !isnan(sorted[n - 1].y))
			sorted[n++] = reducer->broken_last;
	}
	reducer->n += n;
}

static void add_known(struct wtl_plot_reducer *reducer, const struct wtl_plot_point *point)
{
	if (reducer->n_known == 0)
		reducer->first = reducer->lowest = reducer->highest = *point;
	if (point->y < reducer->lowest.y)
		reducer->lowest = *point;
	if (point->y > reducer->highest.y)
		reducer->highest = *point;
	reducer->last = *point;
	if (point->low < reducer->low)
		reducer->low = point->low;
	if (point->high > reducer->high)
		reducer->high = point->high;
	reducer->n_known++;
	reducer->ends_broken = false;
}

void wtl_plot_reducer_add(struct wtl_plot_reducer *reducer, const struct wtl_plot_point *point)
{
	size_t column;

	if (point->x < reducer->from || point->x > reducer->to)
		return;
	column = column_of(reducer, point->x);
	/* A point that goes back in x stays in the current column. */
	if (column > reducer->column) {
		end_column(reducer);
		begin_column(reducer, column);
	}
	if (isfinite(point->y)) {
		add_known(reducer, point);
		return;
	}
	if (!reducer->has_break)
		reducer->broken = *point;
	reducer->broken.y = WTL_PLOT_UNKNOWN;
	reducer->broken_last = *point;
	reducer->broken_last.y = WTL_PLOT_UNKNOWN;
	reducer->has_break = true;
	reducer->ends_broken = true;
}

size_t wtl_plot_reducer_end(struct wtl_plot_reducer *reducer)
{
	end_column(reducer);
	begin_column(reducer, reducer->n_columns);
	return reducer->n;
}
