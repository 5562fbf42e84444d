/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/parts.h"

/*
 * The key: names at the right of a panel, each where its curve ends, as far as there is room, so that
 * nobody has to compare colours. Below a name is what there is to say of it; levels ("idle") have entries
 * of their own.
 */

enum {
	ENTRIES_MAX = 64,
	LEADER = 14,
	SAMPLE = 20,
	SAMPLE_GAP = 6,
	LINE = 14,
	PAD = 4,
	ROW = LINE + PAD
};

static const struct wtl_plot_lettering name_letters = {
	.size = WTL_SIZE_TEXT, .rgb = WTL_PLOT_INK, .keeps_end = true};
static const struct wtl_plot_lettering faint_letters = {.size = WTL_SIZE_FAINT,
							.rgb = WTL_PLOT_FAINT};

struct entry {
	size_t series;
	bool is_level;
	double wanted, y, height; /* y: its middle */
	char name[160];
};

struct key {
	const struct wtl_plot_frame *frame; /* NULL: only its width is asked for */
	const struct wtl_plot_panel *panel;
	struct entry entries[ENTRIES_MAX];
	size_t n, n_left_out;
	bool has_remarks;
};

static bool is_plain(const struct wtl_plot_panel *panel)
{
	return panel->marks == WTL_PLOT_BARS && panel->n_series == 1;
}

static const struct wtl_plot_point *last_known(const struct wtl_plot_series *series)
{
	for (size_t i = series->n; i > 0; i--)
		if (isfinite(series->points[i - 1].y))
			return &series->points[i - 1];
	return NULL;
}

static void add_entry(struct key *key, const struct entry *entry)
{
	if (key->n < ENTRIES_MAX) {
		key->entries[key->n++] = *entry;
		return;
	}
	if (key->panel->series[entry->series].is_rest)
		key->entries[ENTRIES_MAX - 1] = *entry;
	key->n_left_out++;
}

static void add_series(struct key *key, size_t s)
{
	const struct wtl_plot_series *series = &key->panel->series[s];
	const struct wtl_plot_point *last = last_known(series);
	struct entry entry = {.series = s};

	if (!last)
		return;
	snprintf(entry.name, sizeof(entry.name), "%s", series->name ? series->name : "");
	if (key->frame && key->panel->marks != WTL_PLOT_BARS)
		entry.wanted = wtl_plot_frame_y(key->frame, last->y);
	add_entry(key, &entry);
}

static void add_level(struct key *key, size_t s)
{
	const struct wtl_plot_series *series = &key->panel->series[s];
	const struct wtl_plot_level *level = &series->level;
	bool many = key->panel->n_series > 1 && series->name;
	struct entry entry = {.series = s, .is_level = true};
	char value[WTL_PLOT_MEASURE_MAX] = "0000.00 ± 00.00 kW"; /* the widest */

	if (!level->is_known || !isfinite(level->y) || !last_known(series))
		return;
	if (key->frame) {
		wtl_plot_axis_measure(&key->frame->y, level->y, level->high - level->y, value);
		entry.wanted = wtl_plot_frame_y(key->frame, level->y);
	}
	snprintf(entry.name, sizeof(entry.name), "%.48s%s%.32s %.70s", many ? series->name : "",
		 many ? " " : "", level->name ? level->name : "", value);
	add_entry(key, &entry);
}

/* The height of a stack's last known column, up to each series. */
static void want_stack(struct key *key)
{
	const struct wtl_plot_panel *panel = key->panel;
	size_t i = 0, at = 0;
	double sum = 0;

	if (!key->frame)
		return;
	for (size_t s = 0; s < panel->n_series; s++)
		for (i = panel->series[s].n; i > at; i--)
			if (isfinite(panel->series[s].points[i - 1].y)) {
				at = i;
				break;
			}
	for (size_t s = 0, e = 0; at > 0 && s < panel->n_series && e < key->n; s++) {
		double y = panel->series[s].points[at - 1].y;

		y = isfinite(y) ? y : 0;
		if (key->entries[e].series == s)
			key->entries[e++].wanted = wtl_plot_frame_y(key->frame, sum + y / 2);
		sum += y;
	}
}

static double height_of(const struct key *key, const struct entry *entry)
{
	bool has_remark = key->panel->series[entry->series].remark && !entry->is_level;

	return LINE + (key->has_remarks && has_remark ? LINE - 2 : 0) + PAD;
}

static void sort(struct key *key)
{
	for (size_t i = 1; i < key->n; i++) {
		struct entry moved = key->entries[i];
		size_t at = i;

		while (at > 0 && key->entries[at - 1].wanted > moved.wanted) {
			key->entries[at] = key->entries[at - 1];
			at--;
		}
		key->entries[at] = moved;
	}
}

/* Where all want to be, but for what lies on one another: moved down, and up again from the bottom. */
static void spread(struct key *key, double top, double bottom)
{
	for (size_t i = 0; i < key->n; i++) {
		struct entry *entry = &key->entries[i];

		entry->y = fmax(entry->wanted, top + entry->height / 2);
		top = entry->y + entry->height / 2;
	}
	for (size_t i = key->n; i > 0; i--) {
		struct entry *entry = &key->entries[i - 1];

		entry->y = fmin(entry->y, bottom - entry->height / 2);
		bottom = entry->y - entry->height / 2;
	}
}

/* Remarks go first where there is no room, then the last entries: how many is said in a row of its own. */
static void fit(struct key *key, double room)
{
	for (int remarks = 1; remarks >= 0; remarks--) {
		double height = key->n_left_out > 0 ? ROW : 0;

		key->has_remarks = remarks;
		for (size_t i = 0; i < key->n; i++) {
			key->entries[i].height = height_of(key, &key->entries[i]);
			height += key->entries[i].height;
		}
		if (height <= room)
			return;
	}
	while (key->n > 1 && (double)(key->n + 1) * ROW > room) {
		/* The rest is often the largest of all: what it is has to be said. */
		if (key->panel->series[key->entries[key->n - 1].series].is_rest)
			key->entries[key->n - 2] = key->entries[key->n - 1];
		key->n--;
		key->n_left_out++;
	}
}

static void draw_sample(const struct key *key, const struct entry *entry, double x, double y)
{
	const struct wtl_plot_frame *frame = key->frame;
	const struct wtl_plot_look look = wtl_plot_look(key->panel, entry->series);
	const struct wtl_plot_box box = {x, y - 5, x + SAMPLE, y + 5};

	if (entry->is_level) {
		wtl_plot_segment(frame->pen, x, y, x + SAMPLE, y,
				 &(struct wtl_plot_stroke){
					 .rgb = look.rgb, .alpha = 1, .width = 1.1, .dash = 6});
	} else if (key->panel->marks == WTL_PLOT_STACK || key->panel->marks == WTL_PLOT_BARS) {
		wtl_plot_box(frame->pen, &box,
			     &(struct wtl_plot_fill){.rgb = look.light,
						     .alpha = 1,
						     .hatch = look.hatch,
						     .hatch_rgb = look.rgb});
		frame->pen->ops->line(
			frame->pen,
			(struct wtl_plot_xy[]){{box.left, box.top},
					       {box.right, box.top},
					       {box.right, box.bottom},
					       {box.left, box.bottom},
					       {box.left, box.top}},
			5, &(struct wtl_plot_stroke){.rgb = look.rgb, .alpha = 1, .width = 1});
	} else {
		if (key->panel->marks != WTL_PLOT_POINTS)
			wtl_plot_segment(frame->pen, x, y, x + SAMPLE, y,
					 &(struct wtl_plot_stroke){
						 .rgb = look.rgb, .alpha = 1, .width = 1.6});
		if (key->panel->n_series > 1 || key->panel->marks == WTL_PLOT_POINTS)
			wtl_plot_mark(frame->pen, x + SAMPLE / 2.0, y, 3.6, &look);
	}
}

static void draw_entry(const struct key *key, const struct entry *entry)
{
	const struct wtl_plot_frame *frame = key->frame;
	const struct wtl_plot_series *series = &key->panel->series[entry->series];
	const struct wtl_plot_stroke leader = {.rgb = 0xb0b0b0, .alpha = 1, .width = 0.8};
	bool has_remark = key->has_remarks && series->remark && !entry->is_level;
	double x = frame->box.right + frame->figures + LEADER,
	       y = entry->y - (has_remark ? (LINE - 2) / 2.0 : 0);
	double text = x + SAMPLE + SAMPLE_GAP,
	       room = frame->key - (text - frame->box.right - frame->figures);

	if (key->panel->marks != WTL_PLOT_BARS)
		wtl_plot_segment(frame->pen, frame->box.right + 3,
				 fmax(frame->box.top, fmin(frame->box.bottom, entry->wanted)),
				 x - 3, y, &leader);
	draw_sample(key, entry, x, y);
	wtl_plot_text(frame->pen, text, y + 4, room,
		      entry->is_level ? &faint_letters : &name_letters, entry->name);
	if (has_remark)
		wtl_plot_text(frame->pen, text, y + LINE + 2, room, &faint_letters, series->remark);
}

static void gather(struct key *key)
{
	for (size_t s = 0; s < key->panel->n_series; s++)
		add_series(key, s);
	if (key->panel->marks == WTL_PLOT_STACK)
		want_stack(key);
	else if (key->panel->marks != WTL_PLOT_BARS)
		for (size_t s = 0; s < key->panel->n_series; s++)
			add_level(key, s);
}

double wtl_plot_key_width(struct wtl_plot_pen *pen, const struct wtl_plot_panel *panel, double most)
{
	const double other = LEADER + SAMPLE + SAMPLE_GAP + 4;
	struct key key = {.panel = panel};
	char text[WTL_PLOT_TEXT_MAX];
	double widest = 0;

	if (is_plain(panel))
		return 0;
	gather(&key);
	for (size_t i = 0; i < key.n; i++) {
		const struct entry *entry = &key.entries[i];
		const struct wtl_plot_lettering *letters =
			entry->is_level ? &faint_letters : &name_letters;
		const char *remark = panel->series[entry->series].remark;

		widest = fmax(widest, wtl_plot_fit(pen, letters, entry->name, most, text));
		widest = fmax(widest, wtl_plot_fit(pen, &faint_letters, remark, most, text));
	}
	return key.n > 0 ? fmin(most, widest + other) : 0;
}

/* Below the last entry. */
static void draw_left_out(const struct key *key, double bottom)
{
	const struct wtl_plot_frame *frame = key->frame;
	const double indent = LEADER + SAMPLE + SAMPLE_GAP;
	char text[48];

	snprintf(text, sizeof(text), "and %zu more", key->n_left_out);
	wtl_plot_text(frame->pen, frame->box.right + frame->figures + indent,
		      bottom + ROW / 2.0 + 4, frame->key - indent, &faint_letters, text);
}

void wtl_plot_key_draw(const struct wtl_plot_frame *frame)
{
	struct key key = {.frame = frame, .panel = frame->panel};
	double top = frame->box.top - PAD, bottom = frame->box.bottom + PAD;

	if (is_plain(frame->panel) || frame->key <= 0)
		return;
	gather(&key);
	fit(&key, bottom - top);
	if (frame->panel->marks != WTL_PLOT_BARS)
		sort(&key);
	bottom -= key.n_left_out > 0 ? ROW : 0;
	spread(&key, top, bottom);
	for (size_t i = 0; i < key.n; i++)
		draw_entry(&key, &key.entries[i]);
	if (key.n_left_out > 0)
		draw_left_out(&key, bottom);
}
