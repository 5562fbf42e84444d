/* SPDX-License-Identifier: MIT */
#include "commands/top/draw.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "commands/top/format.h"
#include "energy/units.h"

/* After that long without anything new there is a message. */
#define STALE_NS (2 * WTL_NS_PER_S)

enum { CURVES_MIN = 5, CURVES_MAX = 12, SELF_MAX = 128, CARBON_MAX = 160 };

/* ---- The first line: the machine's total ---- */

/* Puts a piece at the right end of a line, if there is room. */
static void put_at_end(struct wtl_top_line *line, enum wtl_style style, const char *text)
{
	int width = wtl_text_width(text);

	if (line->end - width < line->at)
		return;
	wtl_canvas_text(line->canvas, line->row, line->end - width, width, style, text);
	line->end -= width + 2;
}

/* "~" if a part is modelled. */
static const char *total_mark(const struct wtl_top_view *view)
{
	bool is_modelled = false;

	for (size_t i = 0; i < view->n_domains; i++)
		is_modelled |= view->domains[i].in_total && view->domains[i].energy.has_energy &&
			       view->domains[i].method == WATTLE_METHOD_MODELLED;
	return wtl_top_mark(is_modelled);
}

static void put_total(const struct wtl_top_view *view, struct wtl_top_line *line)
{
	bool is_incomplete = view->total.energy.flags & WATTLE_ENERGY_INCOMPLETE;
	uint64_t doubt_uw = wtl_top_power_uncertainty_uw(&view->total);
	char text[WTL_FIGURE_MAX], total[WTL_FIGURE_MAX + 4];

	if (!view->total.has_power) {
		wtl_top_line_put(line, WTL_STYLE_FAINT, view->t_mono_ns ? "no power known" : "…");
		return;
	}
	snprintf(total, sizeof(total), "%s%s W", total_mark(view),
		 wtl_figure_watts_wide(text, view->total.power_uw));
	wtl_top_line_put(line, is_incomplete ? WTL_STYLE_WARN : WTL_STYLE_STRONG, total);
	if (doubt_uw > 0 && view->total.power_uw > 0 && line->at + 8 <= line->end) {
		snprintf(text, sizeof(text), " ±%.0f %%",
			 100.0 * (double)doubt_uw / (double)view->total.power_uw);
		wtl_top_line_put(line, WTL_STYLE_FAINT, text);
	}
	wtl_top_line_put(line, WTL_STYLE_WARN, is_incomplete ? " incomplete" : "");
}

static const char *carbon_text(const struct wtl_top_view *view, char text[CARBON_MAX])
{
	char plain[WTL_FIGURE_MAX], with[WTL_FIGURE_MAX];
	uint64_t with_pue_ug = (uint64_t)((double)view->emitted_ug * view->pue_milli / 1e3);
	bool has_place = !view->carbon_is_default && view->carbon.location[0];

	snprintf(text, CARBON_MAX, "%s%s CO2e%s%s%s%s%s", total_mark(view),
		 wtl_figure_grams(plain, view->emitted_ug), has_place ? " " : "",
		 has_place ? view->carbon.location : "", view->pue_milli ? " (" : "",
		 view->pue_milli ? wtl_figure_grams(with, with_pue_ug) : "",
		 view->pue_milli ? " with PUE)" : "");
	return text;
}

static void draw_title(const struct wtl_top_picture *picture, int row)
{
	const struct wtl_top_view *view = picture->view;
	struct wtl_top_line line = {
		.canvas = picture->canvas, .row = row, .at = 1, .end = picture->canvas->columns};
	char text[WTL_FIGURE_MAX], more[WTL_FIGURE_MAX + 1], carbon[CARBON_MAX];

	put_total(view, &line);
	line.at += 2;
	line.end--;
	put_at_end(&line, WTL_STYLE_FAINT, wtl_figure_clock(text, view->duration_ns));
	if (view->total.energy.has_energy) {
		snprintf(more, sizeof(more), "%s%s", total_mark(view),
			 wtl_figure_watt_hours(text, view->total.energy.energy_uj));
		put_at_end(&line, WTL_STYLE_PLAIN, more);
		snprintf(more, sizeof(more), "%s%s", total_mark(view),
			 wtl_figure_joules(text, view->total.energy.energy_uj));
		more[strcspn(more, "J") + 1] = '\0'; /* without the blank after it */
		put_at_end(&line, WTL_STYLE_PLAIN, more);
		put_at_end(&line, WTL_STYLE_PLAIN, carbon_text(view, carbon));
	}
	put_at_end(&line, WTL_STYLE_FAINT, wtl_top_place(view));
	put_at_end(&line, WTL_STYLE_TITLE, "wattle top");
}

/* ---- The second line: the machine's other figures ---- */

static void draw_machine(const struct wtl_top_picture *picture, int row)
{
	const struct wtl_host_state *machine = &picture->view->machine;
	const struct wtl_top_played *played = &picture->view->played;
	struct wtl_top_line line = {.canvas = picture->canvas,
				    .row = row,
				    .at = 1,
				    .end = picture->canvas->columns,
				    .gap = 3};
	char text[WTL_FIGURE_MAX], more[WTL_FIGURE_MAX];

	if (machine->has_use)
		wtl_top_line_add(&line, 0, WTL_STYLE_PLAIN, "CPU %s %% of %u",
				 wtl_figure_percent(text, machine->use_ppm), machine->n_cpus);
	if (machine->memory_bytes)
		wtl_top_line_add(&line, 0, WTL_STYLE_PLAIN, "memory %s of %s",
				 wtl_figure_bytes(text, machine->memory_used_bytes),
				 wtl_figure_bytes(more, machine->memory_bytes));
	if (machine->has_temperature)
		wtl_top_line_add(&line, 0, WTL_STYLE_PLAIN, "%d °C", machine->temperature_c);
	if (machine->clock_mhz)
		wtl_top_line_add(&line, 0, WTL_STYLE_PLAIN, "%.1f GHz", machine->clock_mhz / 1e3);
	if (machine->throttled)
		wtl_top_line_add(&line, 0, WTL_STYLE_WARN,
				 "slowed by heat %u times: check its cooling", machine->throttled);
	if (played->cpu[0])
		wtl_top_line_add(&line, 0, WTL_STYLE_FAINT, "%s", played->cpu);
	if (played->kernel[0])
		wtl_top_line_add(&line, 0, WTL_STYLE_FAINT, "kernel %s", played->kernel);
}

/* ---- The last line: keys, or typed text; and wattle's own use ---- */

static int self_width(const struct wtl_top_picture *picture, char text[SELF_MAX])
{
	const struct wtl_top_self *self = &picture->view->self;
	char cpu[WTL_FIGURE_MAX], memory[WTL_FIGURE_MAX], watts[WTL_FIGURE_MAX];
	const char *name = picture->view->played.is_there ? "recording took" : "wattle";
	int room = picture->canvas->columns;

	wtl_figure_percent(cpu, self->cpu_ppm);
	wtl_figure_bytes(memory, self->rss_bytes);
	wtl_figure_watts(watts, self->power_uw);
	text[0] = '\0';
	if (room >= 60)
		snprintf(text, SELF_MAX, "%s %s %% %s%s%s%s", name, cpu, memory,
			 self->has_power ? " ~" : "", self->has_power ? watts : "",
			 self->has_power ? " W" : "");
	else if (room >= 30)
		snprintf(text, SELF_MAX, "%s %% %s", cpu, memory);
	return wtl_text_width(text);
}

static void draw_keys(const struct wtl_top_picture *picture, int row, int width)
{
	static const struct {
		const char *key, *label;
		enum wtl_key code;
		int least; /* columns at which it is shown */
	} keys[] = {
		{"F1", "Help", WTL_KEY_F1, 14},	  {"F2", "Setup", WTL_KEY_F2, 54},
		{"F3", "Search", WTL_KEY_F3, 70}, {"F4", "Filter", WTL_KEY_F4, 37},
		{"F5", "Tree", WTL_KEY_F5, 45},	  {"F6", "Sort", WTL_KEY_F6, 29},
		{"F7", "Group", WTL_KEY_F7, 79},  {"F8", "Window", WTL_KEY_F8, 88},
		{"F9", "Kill", WTL_KEY_F9, 21},	  {"F10", "Quit", WTL_KEY_F10, 0},
	};
	struct wtl_top_places *places = &picture->ui->places;
	struct wtl_top_line line = {.canvas = picture->canvas, .row = row, .end = width};

	places->keys_row = row;
	places->n_keys = 0;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		int from = line.at;

		if (width < keys[i].least)
			continue;
		wtl_top_line_put(&line, WTL_STYLE_KEY, keys[i].key);
		wtl_top_line_put(&line, WTL_STYLE_LABEL, keys[i].label);
		places->keys[places->n_keys].from = from;
		places->keys[places->n_keys].to = line.at++;
		places->keys[places->n_keys++].key = keys[i].code;
	}
}

/* While a long text is typed, its end is in sight. */
static void draw_typing(const struct wtl_top_picture *picture, int row)
{
	const struct wtl_top_ui *ui = picture->ui;
	struct wtl_canvas *canvas = picture->canvas;
	const char *name = ui->mode == WTL_TOP_FILTER ? "Filter: " : "Search: ";
	int at = wtl_canvas_text(canvas, row, 0, canvas->columns, WTL_STYLE_STRONG, name);
	int room = canvas->columns - at - 1, caret;
	char before[WTL_FILTER_MAX + 1];
	const char *shown = ui->edit;

	memcpy(before, ui->edit, ui->cursor);
	before[ui->cursor] = '\0';
	caret = wtl_text_width(before);
	while (caret > room && *shown) {
		shown = wtl_text_next(shown);
		caret = wtl_text_width(before + (shown - ui->edit));
	}
	wtl_canvas_text(canvas, row, at, room, WTL_STYLE_PLAIN, shown);
	wtl_canvas_restyle(canvas, row, at + caret, 1, WTL_STYLE_SELECTED);
	if (ui->edit_error.text[0] && row > 0) {
		wtl_canvas_fill(canvas, row - 1, 0, canvas->columns, ' ', WTL_STYLE_PLAIN);
		wtl_canvas_printf(canvas, row - 1, 0, canvas->columns, WTL_STYLE_BAD, "at %d: %s",
				  ui->edit_error.position + 1, ui->edit_error.text);
	}
}

static void draw_last(const struct wtl_top_picture *picture, int row)
{
	const struct wtl_top_view *view = picture->view;
	const struct wtl_top_ui *ui = picture->ui;
	struct wtl_canvas *canvas = picture->canvas;
	char self[SELF_MAX];
	int width = self_width(picture, self), left = canvas->columns - (width ? width + 1 : 0);

	if (ui->mode == WTL_TOP_FILTER || ui->mode == WTL_TOP_SEARCH) {
		draw_typing(picture, row);
		return;
	}
	if (ui->message[0] && picture->now_ns < ui->message_until_ns)
		wtl_canvas_text(canvas, row, 0, left, WTL_STYLE_STRONG, ui->message);
	else if (view->remark[0] && picture->now_ns < view->remark_until_ns)
		wtl_canvas_text(canvas, row, 0, left, WTL_STYLE_WARN, view->remark);
	else if (!picture->is_still)
		draw_keys(picture, row, left);
	wtl_canvas_right(canvas, row, left, width, WTL_STYLE_FAINT, self);
}

/* ---- All of it ---- */

/* Replaces the row's content: measuring no longer answers. */
void wtl_top_draw_stale(const struct wtl_top_picture *picture, int row)
{
	const struct wtl_top_view *view = picture->view;
	int64_t age_ns = picture->now_ns - view->t_mono_ns, due_ns = STALE_NS;

	if (view->interval_ns > due_ns / 2)
		due_ns = 2 * view->interval_ns;
	if (view->is_over || view->played.is_there || !view->t_mono_ns || age_ns < due_ns ||
	    picture->ui->is_paused)
		return;
	wtl_canvas_fill(picture->canvas, row, 0, picture->canvas->columns, ' ', WTL_STYLE_BAD);
	wtl_canvas_printf(picture->canvas, row, 1, picture->canvas->columns - 1, WTL_STYLE_BAD,
			  "Nothing new for %lld s: a device does not answer",
			  (long long)(age_ns / WTL_NS_PER_S));
}

struct layout {
	int machine, domains, curves, table; /* rows each gets; 0: none */
	enum wtl_top_detail detail;
};

static void lay_out(const struct wtl_top_picture *picture, int rows, struct layout *ret_layout)
{
	struct layout layout = {.machine = rows >= 12 || picture->is_still, .detail = WTL_TOP_ALL};
	int least = rows < 12 ? rows / 2 : rows * 2 / 5, wanted, spare;

	/* Its height is made to fit. */
	if (picture->is_still)
		least = 0;
	rows -= layout.machine;
	while (layout.detail > WTL_TOP_SUMMARY &&
	       wtl_top_domains_height(picture, layout.detail) > rows - least)
		layout.detail--;
	layout.domains = wtl_top_domains_height(picture, layout.detail);
	if (layout.domains > rows)
		layout.domains = rows;
	rows -= layout.domains;
	spare = rows - least;
	wanted = rows / 3 > CURVES_MAX ? CURVES_MAX : rows / 3;
	if (wanted < CURVES_MIN)
		wanted = CURVES_MIN;
	if (picture->ui->config.set[WTL_SET_GRAPH] != WTL_GRAPH_OFF && !picture->is_still &&
	    spare >= wanted)
		layout.curves = wanted;
	layout.table = rows - layout.curves;
	*ret_layout = layout;
}

static void draw_body(const struct wtl_top_picture *picture, int row, int rows)
{
	struct layout layout;

	if (picture->view->played.is_there && rows > 1) {
		wtl_top_draw_play(picture, row++);
		rows--;
	}
	lay_out(picture, rows, &layout);
	if (layout.machine)
		draw_machine(picture, row++);
	wtl_top_draw_domains(picture, row, layout.domains, layout.detail);
	row += layout.domains;
	if (layout.curves)
		wtl_top_draw_curves(picture, row, layout.curves);
	row += layout.curves;
	wtl_top_draw_table(picture, row, layout.table);
}

void wtl_top_draw(const struct wtl_top_picture *picture)
{
	struct wtl_canvas *canvas = picture->canvas;
	int rows = canvas->rows;

	wtl_canvas_clear(canvas);
	picture->ui->places =
		(struct wtl_top_places){.header_row = -1, .keys_row = -1, .play_row = -1};
	if (rows == 0 || canvas->columns == 0)
		return;
	draw_title(picture, 0);
	if (rows >= 4) {
		draw_body(picture, 1, rows - 2);
		draw_last(picture, rows - 1);
	}
	wtl_top_draw_stale(picture, rows >= 4 ? 1 : 0);
	if (wtl_top_list_n(picture->ui) > 0)
		wtl_top_draw_list(picture);
	else if (picture->ui->mode == WTL_TOP_CONFIRM)
		wtl_top_draw_confirm(picture);
	else if (picture->ui->mode == WTL_TOP_DETAILS)
		wtl_top_draw_details(picture);
}
