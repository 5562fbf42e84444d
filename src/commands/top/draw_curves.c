/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "commands/top/draw.h"
#include "commands/top/format.h"
#include "energy/units.h"

/* Power over time. Each curve has a tile; the newest value is at its right end. */

enum { TILE_MIN = 36, AXIS = 6, TILES_MAX = 16, DOTS_HIGH = 4 };

/* What a tile shows: one domain or the sum of those of a kind. */
struct tile {
	const char *name;
	enum wtl_style style;
	const struct wtl_top_domain *domain; /* NULL: the sum over the style's domains */
	struct wtl_top_sum now;
};

struct plot {
	const struct wtl_top_picture *picture;
	const struct tile *tile;
	int row, column, height, width; /* of the cells with dots */
	unsigned grain;
	double bins_per_dot;
	uint64_t
		newest_dot; /* counted since the start: dots stay on their bins while time goes on */
	uint32_t top_mw;    /* at the upper edge */
};

/* Known where any is known: what is missing shows in its own row. */
static uint32_t value_at(const struct plot *plot, uint64_t back)
{
	const struct wtl_top_view *view = plot->picture->view;
	const struct tile *tile = plot->tile;
	uint64_t sum = 0;
	bool known = false;

	if (tile->domain)
		return wtl_top_curve_at(&tile->domain->curve, &view->clock, plot->grain, back);
	for (size_t i = 0; i < view->n_domains; i++) {
		const struct wtl_top_domain *domain = &view->domains[i];
		uint32_t value = wtl_top_curve_at(&domain->curve, &view->clock, plot->grain, back);

		if (!domain->in_total || wtl_top_kind_style(domain->kind) != tile->style ||
		    value == WTL_TOP_GAP)
			continue;
		known = true;
		sum += value;
	}
	return known ? (uint32_t)(sum < WTL_TOP_GAP ? sum : WTL_TOP_GAP - 1) : WTL_TOP_GAP;
}

/* The mean over the bins of a dot that is `back` dots before the newest. */
static uint32_t dot_value(const struct plot *plot, uint64_t back)
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
	for (uint64_t bin = first; bin < last; bin++) {
		uint32_t value = value_at(plot, n_bins - 1 - bin);

		if (value == WTL_TOP_GAP)
			continue;
		sum += value;
		known++;
	}
	return known ? (uint32_t)(sum / known) : WTL_TOP_GAP;
}

/* 1, 2 or 5 times a power of ten. */
static uint32_t round_up(uint64_t value)
{
	static const unsigned steps[] = {1, 2, 5};
	uint64_t power = 1;

	for (;; power *= 10)
		for (size_t i = 0; i < 3; i++)
			if (steps[i] * power >= value || steps[i] * power >= 2000000000u)
				return (uint32_t)(steps[i] * power);
}

/* The limit is in the picture once it is not far away. */
static void find_scale(struct plot *plot, int n_dots)
{
	uint64_t most = plot->tile->now.idle_uw / 1000, limit = plot->tile->now.limit_uw / 1000;

	for (int i = 0; i < n_dots; i++) {
		uint32_t value = dot_value(plot, (uint64_t)i);

		if (value != WTL_TOP_GAP && value > most)
			most = value;
	}
	if (limit && most >= limit / 3 && most <= limit + limit / 20)
		plot->top_mw = (uint32_t)(limit + limit / 20);
	else
		plot->top_mw = round_up(most + most / 20 > 1000 ? most + most / 20 : 1000);
}

/* Dots from the bottom; at least one: 0 W is not a gap. */
static int dots_for(const struct plot *plot, uint64_t mw)
{
	int dots = (int)(mw * (uint64_t)(plot->height * DOTS_HIGH) / plot->top_mw);

	return dots < 1 ? 1 : dots > plot->height * DOTS_HIGH ? plot->height * DOTS_HIGH : dots;
}

/* How many of the four dots of a cell that lies `below` dots high are filled. */
static int filled(int dots, int below)
{
	int n = dots - below;

	return n < 0 ? 0 : n > DOTS_HIGH ? DOTS_HIGH : n;
}

static void put_dots(const struct plot *plot, int row, int column, int left, int right)
{
	/* From the bottom up, dots 7 3 2 1 and 8 6 5 4 of the Braille cell. */
	static const unsigned left_dots[] = {0, 0x40, 0x44, 0x46, 0x47};
	static const unsigned right_dots[] = {0, 0x80, 0xa0, 0xb0, 0xb8};
	struct wtl_canvas *canvas = plot->picture->canvas;

	if (left + right == 0)
		return;
	if (canvas->ascii)
		wtl_canvas_put(canvas, row, column, left + right >= 5 ? '#' : '.',
			       plot->tile->style);
	else
		wtl_canvas_put(canvas, row, column, 0x2800 | left_dots[left] | right_dots[right],
			       plot->tile->style);
}

/* A level across the plot; the curve covers it. */
static void draw_level(const struct plot *plot, uint64_t power_uw, uint32_t sign,
		       enum wtl_style style)
{
	uint64_t mw = power_uw / 1000;
	int row;

	if (!power_uw || mw > plot->top_mw)
		return;
	row = plot->row + plot->height - 1 - (dots_for(plot, mw) - 1) / DOTS_HIGH;
	wtl_canvas_fill(plot->picture->canvas, row, plot->column, plot->width, sign, style);
}

static void draw_dots(const struct plot *plot)
{
	for (int x = 0; x < plot->width; x++) {
		uint64_t back = 2 * (uint64_t)(plot->width - 1 - x);
		uint32_t left = dot_value(plot, back + 1), right = dot_value(plot, back);
		int left_dots = left == WTL_TOP_GAP ? 0 : dots_for(plot, left);
		int right_dots = right == WTL_TOP_GAP ? 0 : dots_for(plot, right);

		for (int y = 0; y < plot->height; y++) {
			int below = (plot->height - 1 - y) * DOTS_HIGH;

			put_dots(plot, plot->row + y, plot->column + x, filled(left_dots, below),
				 filled(right_dots, below));
		}
	}
}

/* The baseline lies under the curve most of the time, so its cells take the baseline's style. */
static void mark_idle(const struct plot *plot)
{
	int rows;

	if (!plot->tile->now.idle_uw)
		return;
	rows = dots_for(plot, plot->tile->now.idle_uw / 1000) / DOTS_HIGH;
	for (int y = plot->height - rows; y < plot->height; y++)
		wtl_canvas_restyle(plot->picture->canvas, plot->row + y, plot->column, plot->width,
				   WTL_STYLE_IDLE);
}

static void axis_label(const struct plot *plot, int row, uint64_t mw)
{
	char text[WTL_FIGURE_MAX];
	double watts = (double)mw / 1e3;

	snprintf(text, sizeof(text), mw > 0 && watts < 10.0 ? "%.1f" : "%.0f", watts);
	wtl_canvas_right(plot->picture->canvas, row, plot->column - AXIS, AXIS - 1, WTL_STYLE_FAINT,
			 text);
}

static void draw_caption(const struct wtl_top_picture *picture, const struct tile *tile, int row,
			 int column, int width)
{
	const char *window = wtl_setting_word(&picture->ui->config, WTL_SET_WINDOW);
	struct wtl_top_line line = {.canvas = picture->canvas,
				    .row = row,
				    .at = column + AXIS,
				    .end = column + width - 1,
				    .gap = 2};
	char text[WTL_FIGURE_MAX], power[WTL_FIGURE_MAX + 4];

	wtl_top_line_put(&line, tile->style, tile->name);
	line.at++;
	if (tile->now.has_power) {
		snprintf(power, sizeof(power), "%s%s W", wtl_top_mark(tile->now.is_modelled),
			 wtl_figure_watts_wide(text, tile->now.power_uw));
		wtl_top_line_put(&line, WTL_STYLE_STRONG, power);
		line.at += 2;
	}
	if (line.at + wtl_text_width(window) <= line.end)
		wtl_canvas_right(picture->canvas, row, line.at, line.end - line.at, WTL_STYLE_FAINT,
				 window);
	line.end -= wtl_text_width(window) + 1;
	if (tile->now.limit_uw)
		wtl_top_line_add(&line, 0, WTL_STYLE_LIMIT, "limit %s",
				 wtl_figure_watts_wide(text, tile->now.limit_uw));
	if (tile->now.idle_uw)
		wtl_top_line_add(&line, 0, WTL_STYLE_IDLE, "idle %s",
				 wtl_figure_watts_wide(text, tile->now.idle_uw));
}

static void draw_tile(const struct wtl_top_picture *picture, const struct tile *tile, int row,
		      int height, int column, int width)
{
	struct plot plot = {.picture = picture,
			    .tile = tile,
			    .row = row + 1,
			    .column = column + AXIS,
			    .height = height - 1,
			    .width = width - AXIS - 1};
	int64_t window_ns = wtl_top_window_ns(picture->ui->config.set[WTL_SET_WINDOW]);
	const struct wtl_top_clock *clock = &picture->view->clock;
	uint32_t level = picture->canvas->ascii ? '-' : 0x2500;

	if (plot.height < 1 || plot.width < 1 || clock->bin_ns <= 0)
		return;
	plot.grain = wtl_top_clock_grain(clock, window_ns);
	plot.bins_per_dot = (double)window_ns / (double)wtl_top_clock_bin_ns(clock, plot.grain) /
			    (2.0 * plot.width);
	if (clock->n_bins[plot.grain] > 0)
		plot.newest_dot =
			(uint64_t)((double)(clock->n_bins[plot.grain] - 1) / plot.bins_per_dot);
	find_scale(&plot, 2 * plot.width);
	draw_caption(picture, tile, row, column, width);
	draw_level(&plot, tile->now.limit_uw, level, WTL_STYLE_LIMIT);
	draw_level(&plot, tile->now.idle_uw, picture->canvas->ascii ? '.' : 0x2508, WTL_STYLE_IDLE);
	draw_dots(&plot);
	mark_idle(&plot);
	axis_label(&plot, plot.row, plot.top_mw);
	if (plot.height > 3)
		axis_label(&plot, plot.row + plot.height / 2, plot.top_mw / 2);
	if (plot.height > 1)
		axis_label(&plot, plot.row + plot.height - 1, 0);
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

/* The sums: limits and baselines only where all of them are known. */
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
	const struct tile tile = tile_of(picture->view, domain);

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
		/* One domain is the total. */
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
