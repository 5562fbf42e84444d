/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "commands/top/draw.h"
#include "commands/top/format.h"
#include "energy/units.h"

/* Power over time, a tile per curve, with the newest value at the right. */

enum {
	TILE_MIN = 36,
	AXIS = WTL_TOP_AXIS,
	TILES_MAX = 16,
	DOTS_HIGH = 4,
	TICK_MIN = 10,
	LAYERS_MAX = 64
};
/* Widths of a stack's legend: without uncertainties, with them, and what else must fit. */
enum { LEGEND = 22, LEGEND_WIDE = 30, LEGEND_BESIDE = 28 };

/* What a tile shows: one domain, the sum of a kind's domains, or the stack of all counted domains. */
struct tile {
	const char *name;
	enum wtl_style style;
	const struct wtl_top_domain *domain; /* NULL: the sum over the style's domains */
	struct wtl_top_sum now;
	bool is_stack; /* of the total's parts */
	bool is_large; /* alone on the screen: with a grid, and scaled tightly */
};

struct plot {
	const struct wtl_top_picture *picture;
	const struct tile *tile;
	const struct wtl_top_domain *layers[LAYERS_MAX]; /* of a stack, from the bottom */
	enum wtl_style styles[LAYERS_MAX];
	int n_layers;
	size_t first, end;		/* range of domains that has those of the tile's style */
	int row, column, height, width; /* of the cells for dots */
	unsigned grain;
	double bins_per_dot;
	uint64_t newest_dot; /* counted from the start: a dot always has the same bins */
	uint32_t top_mw;     /* at the upper edge */
	uint32_t *values_mw; /* of each dot, the newest first */
	int *lefts, *rights; /* for a stack: each layer's upper edge, in dots */
};

static bool is_summed(const struct wtl_top_domain *domain, const struct tile *tile)
{
	return domain->in_total && wtl_top_kind_style(domain->kind) == tile->style;
}

/* Sums what is known: a domain without power shows that in its own row. */
static uint32_t value_at(const struct plot *plot, const struct wtl_top_domain *of, uint64_t back)
{
	const struct wtl_top_view *view = plot->picture->view;
	const uint32_t *bin;
	uint64_t sum = 0;
	bool known = false;
	size_t n;

	if (of)
		return wtl_top_curve_at(view, of, plot->grain, back);
	bin = wtl_top_bin_at(view, plot->grain, back, &n);
	for (size_t i = plot->first; bin && i < plot->end && i + 1 < n; i++) {
		if (bin[i + 1] == WTL_TOP_GAP || !is_summed(&view->domains[i], plot->tile))
			continue;
		known = true;
		sum += bin[i + 1];
	}
	return known ? (uint32_t)(sum < WTL_TOP_GAP ? sum : WTL_TOP_GAP - 1) : WTL_TOP_GAP;
}

/* The mean over the bins of a dot that is `back` dots before the newest. */
static uint32_t dot_value(const struct plot *plot, const struct wtl_top_domain *of, uint64_t back)
{
	uint64_t n_bins = plot->picture->view->clock.n_bins[plot->grain], dot, first, last, sum = 0;
	unsigned known = 0;

	if (back > plot->newest_dot || n_bins == 0)
		return WTL_TOP_GAP;
	dot = plot->newest_dot - back;
	first = (uint64_t)((double)dot * plot->bins_per_dot);
	last = (uint64_t)((double)(dot + 1) * plot->bins_per_dot);
	if (last <= first)
		last = first + 1;
	if (last > n_bins)
		last = n_bins;
	/* Most dots are one bin: no division is needed. */
	if (last == first + 1)
		return value_at(plot, of, n_bins - 1 - first);
	for (uint64_t bin = first; bin < last; bin++) {
		uint32_t value = value_at(plot, of, n_bins - 1 - bin);

		if (value == WTL_TOP_GAP)
			continue;
		sum += value;
		known++;
	}
	return known ? (uint32_t)(sum / known) : WTL_TOP_GAP;
}

/* Reads the values, and scales to their maximum; to the limit if they reach four fifths of it. */
static void find_scale(struct plot *plot, int n_dots)
{
	uint64_t most = plot->tile->now.idle_uw / 1000, limit = plot->tile->now.limit_uw / 1000;

	for (int i = 0; i < n_dots; i++) {
		uint32_t value = dot_value(plot, plot->tile->domain, (uint64_t)i);

		plot->values_mw[i] = value;
		if (value != WTL_TOP_GAP && value > most)
			most = value;
	}
	if (most >= limit / 5 * 4 && most <= limit)
		most = limit;
	most += most / (plot->tile->is_large ? 10 : 20);
	if (most < 1000)
		most = 1000;
	if (!plot->tile->is_large)
		most = wtl_top_round_up(most);
	plot->top_mw = (uint32_t)(most < UINT32_MAX ? most : UINT32_MAX);
}

/* Dots from the bottom; at least one: 0 W is not a gap. */
static int dots_for(const struct plot *plot, uint64_t mw)
{
	int dots = (int)(mw * (uint64_t)(plot->height * DOTS_HIGH) / plot->top_mw);

	return dots < 1 ? 1 : dots > plot->height * DOTS_HIGH ? plot->height * DOTS_HIGH : dots;
}

static int row_of(const struct plot *plot, uint64_t mw)
{
	return plot->row + plot->height - 1 - (dots_for(plot, mw) - 1) / DOTS_HIGH;
}

/* How many of the four dots of a cell that lies `below` dots high are filled. */
static int filled(int dots, int below)
{
	int n = dots - below;

	return n < 0 ? 0 : n > DOTS_HIGH ? DOTS_HIGH : n;
}

static uint32_t letter_of(int layer)
{
	return 'a' + (uint32_t)layer % 26;
}

static void put_dots(const struct plot *plot, int row, int column, int left, int right, int layer)
{
	/* From the bottom up, dots 7 3 2 1 and 8 6 5 4 of the Braille cell. */
	static const unsigned left_dots[] = {0, 0x40, 0x44, 0x46, 0x47};
	static const unsigned right_dots[] = {0, 0x80, 0xa0, 0xb0, 0xb8};
	struct wtl_canvas *canvas = plot->picture->canvas;
	enum wtl_style style = layer < 0 ? plot->tile->style : plot->styles[layer];
	uint32_t sign = 0x2800 | left_dots[left] | right_dots[right];

	if (canvas->ascii && layer >= 0)
		sign = letter_of(layer);
	else if (canvas->ascii)
		sign = left + right >= 5 ? '#' : '.';
	wtl_canvas_put(canvas, row, column, sign, style);
}

/* A level across the plot; the curve covers it. */
static void draw_level(const struct plot *plot, uint64_t power_uw, uint32_t sign,
		       enum wtl_style style)
{
	uint64_t mw = power_uw / 1000;

	if (power_uw && mw <= plot->top_mw)
		wtl_canvas_fill(plot->picture->canvas, row_of(plot, mw), plot->column, plot->width,
				sign, style);
}

/* The heights in dots up to each layer's upper edge. */
static void find_heights(const struct plot *plot, uint64_t back, int heights[LAYERS_MAX])
{
	uint64_t sum_mw = 0;

	for (int i = 0; i < plot->n_layers; i++) {
		uint32_t value = dot_value(plot, plot->layers[i], back);

		sum_mw += value == WTL_TOP_GAP ? 0 : value;
		heights[i] = sum_mw ? dots_for(plot, sum_mw) : 0;
	}
}

/* The layer at the middle of a cell's filled part. */
static int layer_at(const struct plot *plot, int middle)
{
	int layer = 0;

	while (layer + 1 < plot->n_layers && plot->lefts[layer] <= middle &&
	       plot->rights[layer] <= middle)
		layer++;
	return layer;
}

static void draw_column(const struct plot *plot, int x)
{
	uint64_t back = 2 * (uint64_t)(plot->width - 1 - x);
	uint32_t left = plot->values_mw[back + 1], right = plot->values_mw[back];
	int left_dots = left == WTL_TOP_GAP ? 0 : dots_for(plot, left);
	int right_dots = right == WTL_TOP_GAP ? 0 : dots_for(plot, right);
	int layer = -1;

	if (plot->n_layers > 0) {
		find_heights(plot, back + 1, plot->lefts);
		find_heights(plot, back, plot->rights);
	}
	/* Above the higher of the two, cells stay empty. */
	for (int y = plot->height - 1; y >= 0; y--) {
		int below = (plot->height - 1 - y) * DOTS_HIGH;
		int in_left = filled(left_dots, below), in_right = filled(right_dots, below);

		if (in_left + in_right == 0)
			break;
		if (plot->n_layers > 0)
			layer = layer_at(plot,
					 below + (in_left > in_right ? in_left : in_right) / 2);
		put_dots(plot, plot->row + y, plot->column + x, in_left, in_right, layer);
	}
}

/* The curve mostly covers the baseline, so cells below it get its style. */
static void mark_idle(const struct plot *plot)
{
	int rows;

	if (!plot->tile->now.idle_uw || plot->tile->is_stack)
		return;
	rows = dots_for(plot, plot->tile->now.idle_uw / 1000) / DOTS_HIGH;
	for (int y = plot->height - rows; y < plot->height; y++)
		wtl_canvas_restyle(plot->picture->canvas, plot->row + y, plot->column, plot->width,
				   WTL_STYLE_IDLE);
}

/* ---- Axes ---- */

/* Powers at the axis; in large plots with dotted lines. */
static void draw_grid(const struct plot *plot)
{
	struct wtl_canvas *canvas = plot->picture->canvas;
	uint64_t step = plot->top_mw / (plot->height > 3 ? 2 : 1);
	char text[WTL_FIGURE_MAX];

	if (plot->tile->is_large && plot->height > 3)
		step = wtl_top_round_up((uint64_t)plot->top_mw * 4 / (unsigned)plot->height);
	for (uint64_t mw = plot->height > 1 ? 0 : step; mw <= plot->top_mw; mw += step) {
		int row = row_of(plot, mw);
		double watts = (double)mw / 1e3;
		char number[WTL_FIGURE_MAX];

		if (mw % 1000 == 0 && watts < 10000.0)
			wtl_figure_join(text, sizeof(text), wtl_figure_whole(number, watts), " W",
					"");
		else
			snprintf(text, sizeof(text), watts < 10000.0 ? "%g W" : "%g kW",
				 watts < 10000.0 ? watts : watts / 1e3);
		wtl_canvas_right(canvas, row, plot->column - AXIS, AXIS - 1, WTL_STYLE_FAINT, text);
		for (int x = 0; plot->tile->is_large && mw > 0 && x < plot->width; x += 2)
			wtl_canvas_put(canvas, row, plot->column + x, 0xb7, WTL_STYLE_FAINT);
	}
}

/* How long ago, below the plot: at least two ticks, as many as there is room for. */
static void draw_times(const struct plot *plot, int64_t window_ns)
{
	static const int steps_s[] = {1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600};
	struct wtl_canvas *canvas = plot->picture->canvas;
	const int row = plot->row + plot->height, window_s = (int)(window_ns / WTL_NS_PER_S);
	const uint32_t tick = canvas->ascii ? '|' : 0x2575;
	int step_s = window_s;

	for (size_t i = sizeof(steps_s) / sizeof(steps_s[0]); i-- > 0;)
		if (window_s % steps_s[i] == 0 && plot->width * steps_s[i] / window_s >= TICK_MIN)
			step_s = steps_s[i];
	for (int s = step_s; s <= window_s; s += step_s) {
		int x = plot->width - 1 - plot->width * s / window_s;
		int column = plot->column + (x < 0 ? 0 : x);

		wtl_canvas_put(canvas, row, column, tick, WTL_STYLE_FAINT);
		wtl_canvas_printf(canvas, row, column + 1, TICK_MIN, WTL_STYLE_FAINT,
				  s < 60     ? "%ds"
				  : s < 3600 ? "%dmin"
					     : "%dh",
				  s < 60     ? s
				  : s < 3600 ? s / 60
					     : s / 3600);
	}
	wtl_canvas_right(canvas, row, plot->column, plot->width - 1, WTL_STYLE_FAINT, "now");
	wtl_canvas_put(canvas, row, plot->column + plot->width - 1, tick, WTL_STYLE_FAINT);
}

static void draw_caption(const struct wtl_top_picture *picture, const struct tile *tile, int row,
			 int column, int width)
{
	struct wtl_top_line line = {.canvas = picture->canvas,
				    .row = row,
				    .at = column + AXIS,
				    .end = column + width - 1,
				    .gap = 2};
	uint64_t doubt_uw = tile->is_large ? wtl_top_power_uncertainty_uw(tile->domain) : 0;
	char text[WTL_FIGURE_MAX], power[WTL_FIGURE_MAX + 4];

	wtl_top_line_put(&line, tile->style, tile->name);
	line.at++;
	if (tile->now.has_power) {
		snprintf(power, sizeof(power), "%s%s W", wtl_top_mark(tile->now.is_modelled),
			 wtl_figure_watts_wide(text, tile->now.power_uw));
		wtl_top_line_put(&line, WTL_STYLE_STRONG, power);
		if (doubt_uw) {
			snprintf(power, sizeof(power), " \xc2\xb1%s",
				 wtl_figure_watts_wide(text, doubt_uw));
			wtl_top_line_put(&line, WTL_STYLE_FAINT, power);
		}
		line.at += 2;
	}
	if (tile->now.limit_uw)
		wtl_top_line_add(&line, 0, WTL_STYLE_LIMIT, "limit %s",
				 wtl_figure_watts_wide(text, tile->now.limit_uw));
	if (tile->now.idle_uw)
		wtl_top_line_add(&line, 0, WTL_STYLE_IDLE, "idle %s",
				 wtl_figure_watts_wide(text, tile->now.idle_uw));
}

/* The layers' names, in their order. */
static void draw_legend(const struct plot *plot, int column, int width)
{
	struct wtl_canvas *canvas = plot->picture->canvas;
	char text[WTL_FIGURE_MAX];

	for (int i = plot->n_layers - 1, row = plot->row; i >= 0 && row <= plot->row + plot->height;
	     i--, row++) {
		const struct wtl_top_domain *domain = plot->layers[i];
		uint64_t doubt_uw = wtl_top_power_uncertainty_uw(domain);
		int at = column + 2;

		if (row == plot->row + plot->height && i > 0) {
			wtl_canvas_printf(canvas, row, at, width, WTL_STYLE_FAINT, "and %d more",
					  i + 1);
			break;
		}
		wtl_canvas_put(canvas, row, column, canvas->ascii ? letter_of(i) : 0x25a0,
			       plot->styles[i]);
		wtl_canvas_text(canvas, row, at, 10, WTL_STYLE_PLAIN, domain->name);
		at += 11;
		if (!domain->has_power)
			continue;
		wtl_figure_watts_wide(text, domain->power_uw);
		wtl_canvas_printf(canvas, row, at, 9, WTL_STYLE_STRONG, "%6s W", text);
		if (doubt_uw && width >= LEGEND_WIDE)
			wtl_canvas_printf(canvas, row, at + 9, width - 22, WTL_STYLE_FAINT,
					  "\xc2\xb1%s", wtl_figure_watts_wide(text, doubt_uw));
	}
}

/* Neighbors of one kind get different colors. */
static void find_layers(struct plot *plot)
{
	const struct wtl_top_view *view = plot->picture->view;

	for (size_t i = 0; i < view->n_domains && plot->n_layers < LAYERS_MAX; i++) {
		const struct wtl_top_domain *domain = &view->domains[i];
		enum wtl_style style = wtl_top_kind_style(domain->kind);
		int n = plot->n_layers;

		if (!domain->in_total || !(domain->has_power || domain->energy.has_energy))
			continue;
		if (n > 0 && plot->styles[n - 1] == style)
			style += WTL_STYLE_CPU_2 - WTL_STYLE_CPU;
		plot->styles[n] = style;
		plot->layers[plot->n_layers++] = domain;
	}
}

static void find_summed(struct plot *plot)
{
	const struct wtl_top_view *view = plot->picture->view;

	plot->end = view->n_domains;
	while (plot->end > 0 && !is_summed(&view->domains[plot->end - 1], plot->tile))
		plot->end--;
	while (plot->first < plot->end && !is_summed(&view->domains[plot->first], plot->tile))
		plot->first++;
}

static void draw_tile(const struct wtl_top_picture *picture, const struct tile *tile, int row,
		      int height, int column, int width)
{
	bool has_times = height > 3;
	uint32_t values_mw[2 * WTL_CANVAS_MAX];
	int lefts[LAYERS_MAX], rights[LAYERS_MAX];
	struct plot plot = {.picture = picture,
			    .tile = tile,
			    .values_mw = values_mw,
			    .lefts = lefts,
			    .rights = rights,
			    .row = row + 1,
			    .column = column + AXIS,
			    .height = height - 1 - has_times,
			    .width = width - AXIS - 1};
	int64_t window_ns = wtl_top_window_ns(picture->ui->config.set[WTL_SET_WINDOW]);
	const struct wtl_top_clock *clock = &picture->view->clock;
	int legend = width >= LEGEND_WIDE + 2 * LEGEND_BESIDE ? LEGEND_WIDE : LEGEND;

	if (tile->is_stack)
		find_layers(&plot);
	if (plot.n_layers > 0 && plot.width >= legend + LEGEND_BESIDE)
		plot.width -= legend + 1;
	if (plot.height < 1 || plot.width < 1 || clock->bin_ns <= 0)
		return;
	plot.grain = wtl_top_clock_grain(clock, window_ns);
	plot.bins_per_dot = (double)window_ns / (double)wtl_top_clock_bin_ns(clock, plot.grain) /
			    (2.0 * plot.width);
	if (clock->n_bins[plot.grain] > 0)
		plot.newest_dot =
			(uint64_t)((double)(clock->n_bins[plot.grain] - 1) / plot.bins_per_dot);
	find_summed(&plot);
	find_scale(&plot, 2 * plot.width);
	draw_caption(picture, tile, row, column, width);
	draw_grid(&plot);
	draw_level(&plot, tile->now.limit_uw, picture->canvas->ascii ? '-' : 0x2500,
		   WTL_STYLE_LIMIT);
	draw_level(&plot, tile->now.idle_uw, picture->canvas->ascii ? '.' : 0x2508, WTL_STYLE_IDLE);
	for (int x = 0; x < plot.width; x++)
		draw_column(&plot, x);
	mark_idle(&plot);
	if (has_times)
		draw_times(&plot, window_ns);
	if (plot.n_layers > 0 && plot.width < width - AXIS - 1)
		draw_legend(&plot, plot.column + plot.width + 2, legend);
}

/* ---- Which tiles ---- */

static struct tile tile_of(const struct wtl_top_view *view, const struct wtl_top_domain *domain)
{
	bool is_total = domain == &view->total;

	return (struct tile){
		.name = is_total ? "total" : domain->name,
		.style = is_total ? WTL_STYLE_STRONG : wtl_top_kind_style(domain->kind),
		.domain = domain,
		.now = {.has_power = domain->has_power,
			.power_uw = domain->power_uw,
			.limit_uw = domain->limit_uw,
			.idle_uw = domain->idle.is_known ? domain->idle.idle_uw : 0,
			.is_modelled =
				is_total ? wtl_top_sum(view, WTL_STYLE_PLAIN, false).is_modelled
					 : domain->method == WATTLE_METHOD_MODELLED},
	};
}

static int each_domain(const struct wtl_top_view *view, struct tile tiles[], int max)
{
	int n = 0;

	for (size_t i = 0; i < view->n_domains && n <= max; i++) {
		const struct wtl_top_domain *domain = &view->domains[i];

		if (!domain->in_total || !(domain->has_power || domain->energy.has_energy))
			continue;
		if (n < max)
			tiles[n] = tile_of(view, domain);
		n++;
	}
	return n;
}

/* Sums by kind; limits and baselines only if all are known. */
static int each_kind(const struct wtl_top_view *view, struct tile tiles[])
{
	static const struct {
		const char *name;
		enum wtl_style style;
	} kinds[] = {{"CPU", WTL_STYLE_CPU}, {"GPU", WTL_STYLE_GPU}, {"DRAM", WTL_STYLE_MEMORY}};
	int n = 0;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct wtl_top_sum sum = wtl_top_sum(view, kinds[k].style, true);

		if (sum.is_there)
			tiles[n++] = (struct tile){
				.name = kinds[k].name, .style = kinds[k].style, .now = sum};
	}
	return n;
}

void wtl_top_draw_curve(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain,
			int row, int height, int column, int width)
{
	struct tile tile = tile_of(picture->view, domain);

	tile.is_large = true;
	tile.is_stack = domain == &picture->view->total;
	draw_tile(picture, &tile, row, height, column, width);
}

void wtl_top_draw_curves(const struct wtl_top_picture *picture, int row, int height)
{
	const struct wtl_top_view *view = picture->view;
	int width = picture->canvas->columns, room = width / TILE_MIN, n = 1, column = 0;
	struct tile tiles[TILES_MAX + 1];

	if (room > TILES_MAX)
		room = TILES_MAX;
	if (room < 1)
		room = 1;
	tiles[0] = tile_of(view, &view->total);
	if (picture->ui->config.set[WTL_SET_GRAPH] == WTL_GRAPH_EACH && room > 1) {
		n = each_domain(view, tiles, room);
		/* A single domain equals the total. */
		if (n < 2 || n > room)
			n = n < 2 ? 0 : each_kind(view, tiles);
		if (n < room) {
			memmove(&tiles[1], &tiles[0], (size_t)n * sizeof(tiles[0]));
			tiles[0] = tile_of(view, &view->total);
			n++;
		}
		if (n > room)
			n = room;
	}
	for (int i = 0; i < n; i++) {
		int next = (i + 1) * width / n;

		draw_tile(picture, &tiles[i], row, height, column, next - column);
		column = next;
	}
}
