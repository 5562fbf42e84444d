/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "draw/parts.h"

/*
 * The key: names at the right of a panel, so that nobody has to compare colours. Those
 * of curves are beside their ends, as far as there is room, and those of areas in the
 * order of the stack. Below a name are remarks on it, its level ("idle") first.
 */

enum {
	ENTRIES_MAX = 64,
	REMARKS_MAX = 16,
	KEY_GAP = 12,
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
	double wanted, y, height; /* y: its middle */
	const char *name;
	char remark[240];
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

static bool has_areas(const struct key *key)
{
	return key->panel->marks == WTL_PLOT_STACK || key->panel->marks == WTL_PLOT_BARS;
}

static const struct wtl_plot_point *last_known(const struct wtl_plot_series *series)
{
	for (size_t i = series->n; i > 0; i--)
		if (isfinite(series->points[i - 1].y))
			return &series->points[i - 1];
	return NULL;
}

/* "idle 73.5 W · rapl-perf, counter" */
static void put_remark(const struct key *key, const struct wtl_plot_series *series,
		       struct entry *entry)
{
	const struct wtl_plot_level *level = &series->level;
	const char *remark = series->remark ? series->remark : "";
	char value[WTL_PLOT_MEASURE_MAX] = "0000.00 ± 00.00 kW"; /* the widest */

	if (has_areas(key) || !level->is_known || !isfinite(level->y)) {
		snprintf(entry->remark, sizeof(entry->remark), "%s", remark);
		return;
	}
	if (key->frame)
		wtl_plot_axis_measure(&key->frame->y, level->y, level->high - level->y, value);
	snprintf(entry->remark, sizeof(entry->remark), "%.32s %.70s%s%.120s",
		 level->name ? level->name : "", value, remark[0] ? " · " : "", remark);
}

static void add_entry(struct key *key, size_t s)
{
	const struct wtl_plot_series *series = &key->panel->series[s];
	const struct wtl_plot_point *last = last_known(series);
	struct entry *entry = &key->entries[key->n];

	if (!last)
		return;
	if (key->n == ENTRIES_MAX) {
		key->n_left_out++;
		if (!series->is_rest)
			return;
		entry--;
	} else {
		key->n++;
	}
	*entry = (struct entry){.series = s, .name = series->name ? series->name : ""};
	put_remark(key, series, entry);
	if (key->frame && !has_areas(key))
		entry->wanted = wtl_plot_frame_y(key->frame, last->y);
}

static double height_of(const struct key *key, const struct entry *entry)
{
	return LINE + (key->has_remarks && entry->remark[0] ? LINE - 2 : 0) + PAD;
}

static void swap(struct key *key, size_t a, size_t b)
{
	struct entry moved = key->entries[a];

	key->entries[a] = key->entries[b];
	key->entries[b] = moved;
}

/* Curves from the uppermost end down; areas as they are stacked. */
static void sort(struct key *key)
{
	if (key->panel->marks == WTL_PLOT_STACK)
		for (size_t i = 0; i < key->n / 2; i++)
			swap(key, i, key->n - 1 - i);
	for (size_t i = 1; i < key->n; i++)
		for (size_t at = i; at > 0 && key->entries[at - 1].wanted > key->entries[at].wanted;
		     at--)
			swap(key, at, at - 1);
}

/* Each entry where it wants to be. Where entries overlap they are moved down, then up again from the bottom. */
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

/* Where room is short, remarks are left out first, then the last entries, whose number gets a row of its own. */
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
		/* The rest ("others") is often the largest of all, so it must keep its entry. */
		if (key->panel->series[key->entries[key->n - 1].series].is_rest)
			key->entries[key->n - 2] = key->entries[key->n - 1];
		key->n--;
		key->n_left_out++;
	}
}

static void draw_sample(const struct key *key, const struct entry *entry, double x, double y)
{
	const struct wtl_plot_frame *frame = key->frame;
	const struct wtl_plot_look look = frame->looks[entry->series];
	const struct wtl_plot_box box = {x, y - 5, x + SAMPLE, y + 5};

	if (has_areas(key)) {
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
						 .rgb = look.rgb, .alpha = 1, .width = look.width});
		if (wtl_plot_has_marks(key->panel, entry->series))
			wtl_plot_mark(frame->pen, x + SAMPLE / 2.0, y, 3.6, &look);
	}
}

static void draw_entry(const struct key *key, const struct entry *entry)
{
	const struct wtl_plot_frame *frame = key->frame;
	bool has_remark = key->has_remarks && entry->remark[0];
	double x = frame->box.right + frame->figures + KEY_GAP,
	       y = entry->y - (has_remark ? (LINE - 2) / 2.0 : 0);
	double text = x + SAMPLE + SAMPLE_GAP,
	       room = frame->key - (text - frame->box.right - frame->figures);

	draw_sample(key, entry, x, y);
	wtl_plot_text(frame->pen, text, y + 4, room, &name_letters, entry->name);
	if (has_remark)
		wtl_plot_text(frame->pen, text, y + LINE + 2, room, &faint_letters, entry->remark);
}

static void gather(struct key *key)
{
	for (size_t s = 0; s < key->panel->n_series; s++)
		add_entry(key, s);
}

double wtl_plot_key_width(struct wtl_plot_pen *pen, const struct wtl_plot_panel *panel, double most)
{
	const double other = KEY_GAP + SAMPLE + SAMPLE_GAP + 4;
	struct key key = {.panel = panel};
	char text[WTL_PLOT_TEXT_MAX];
	double widest = 0;

	if (is_plain(panel))
		return 0;
	gather(&key);
	for (size_t i = 0; i < key.n; i++) {
		const struct entry *entry = &key.entries[i];

		widest = fmax(widest, wtl_plot_fit(pen, &name_letters, entry->name, most, text));
		widest = fmax(widest, wtl_plot_fit(pen, &faint_letters, entry->remark, most, text));
	}
	return key.n > 0 ? fmin(most, widest + other) : 0;
}

double wtl_plot_key_height(const struct wtl_plot_panel *panel)
{
	size_t n = panel->n_series < ENTRIES_MAX ? panel->n_series : ENTRIES_MAX;
	bool has_remarks = false;

	for (size_t s = 0; s < panel->n_series; s++)
		has_remarks |= panel->series[s].remark || panel->series[s].level.is_known;
	if (n < 2)
		return 0;
	return (double)n * (has_remarks && n <= REMARKS_MAX ? ROW + LINE - 2 : ROW);
}

/* Below the last entry. */
static void draw_left_out(const struct key *key, double bottom)
{
	const struct wtl_plot_frame *frame = key->frame;
	const double indent = KEY_GAP + SAMPLE + SAMPLE_GAP;
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
	sort(&key);
	bottom -= key.n_left_out > 0 ? ROW : 0;
	spread(&key, top, bottom);
	for (size_t i = 0; i < key.n; i++)
		draw_entry(&key, &key.entries[i]);
	if (key.n_left_out > 0)
		draw_left_out(&key, bottom);
}
