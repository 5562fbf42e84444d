/* SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "commands/top/draw.h"
#include "commands/top/format.h"

/* Windows over the picture: lists, a process's details, a question. */

struct box {
	int row, column, height, width; /* of its inside */
};

/* Draws the frame around a box, and blanks it. */
static void draw_frame(struct wtl_canvas *canvas, const struct box *box)
{
	/* Left, within and right: of the top, the middle and the bottom. */
	static const uint32_t lines[][3] = {
		{0x250c, 0x2500, 0x2510}, {0x2502, ' ', 0x2502}, {0x2514, 0x2500, 0x2518}};
	static const uint32_t ascii[][3] = {{'+', '-', '+'}, {'|', ' ', '|'}, {'+', '-', '+'}};
	int left = box->column - 2, right = box->column + box->width + 1;

	for (int row = box->row - 1; row <= box->row + box->height; row++) {
		int part = row < box->row ? 0 : row < box->row + box->height ? 1 : 2;
		const uint32_t *signs = canvas->ascii ? ascii[part] : lines[part];

		wtl_canvas_fill(canvas, row, left, right - left, signs[1], WTL_STYLE_PLAIN);
		wtl_canvas_put(canvas, row, left, signs[0], WTL_STYLE_PLAIN);
		wtl_canvas_put(canvas, row, right, signs[2], WTL_STYLE_PLAIN);
	}
}

/* In the middle, with a frame if there is room. */
static void draw_box(const struct wtl_top_picture *picture, int height, int width,
		     const char *title, struct box *ret_box)
{
	struct wtl_canvas *canvas = picture->canvas;
	int rows = canvas->rows, columns = canvas->columns;

	if (width > columns - 4)
		width = columns - 4;
	if (height > rows - 2)
		height = rows - 2;
	if (width < 1 || height < 1) {
		wtl_canvas_clear(canvas);
		*ret_box = (struct box){.height = rows, .width = columns};
		return;
	}
	*ret_box = (struct box){.row = (rows - height) / 2,
				.column = (columns - width) / 2,
				.height = height,
				.width = width};
	draw_frame(canvas, ret_box);
	wtl_canvas_printf(canvas, ret_box->row - 1, ret_box->column, width, WTL_STYLE_TITLE, " %s ",
			  title);
}

void wtl_top_draw_list(const struct wtl_top_picture *picture)
{
	struct wtl_top_ui *ui = picture->ui;
	int n = wtl_top_list_n(ui), widest = wtl_text_width(wtl_top_list_title(ui)) + 2, first;
	char text[WTL_TOP_LINE_MAX];
	struct box box;

	for (int i = 0; i < n; i++) {
		int width;

		wtl_top_list_text(ui, i, text);
		width = wtl_text_width(text);
		widest = width > widest ? width : widest;
	}
	draw_box(picture, n, widest, wtl_top_list_title(ui), &box);
	ui->places.list_row = box.row;
	ui->places.list_n = box.height;
	first = ui->first_entry;
	/* The window may have grown. */
	if (first > n - box.height)
		first = n > box.height ? n - box.height : 0;
	if (wtl_top_list_is_choice(ui) && ui->entry >= first + box.height)
		first = ui->entry - box.height + 1;
	ui->first_entry = first;
	for (int i = 0; i < box.height && first + i < n; i++) {
		wtl_top_list_text(ui, first + i, text);
		wtl_canvas_text(picture->canvas, box.row + i, box.column, box.width,
				WTL_STYLE_PLAIN, text);
		if (wtl_top_list_is_choice(ui) && first + i == ui->entry)
			wtl_canvas_restyle(picture->canvas, box.row + i, box.column, box.width,
					   WTL_STYLE_SELECTED);
	}
	if (first + box.height < n)
		wtl_canvas_right(picture->canvas, box.row + box.height, box.column, box.width,
				 WTL_STYLE_FAINT, " more ");
}

void wtl_top_draw_confirm(const struct wtl_top_picture *picture)
{
	const struct wtl_top_victim *victim = &picture->ui->victim;
	char text[128];
	struct box box;
	int width;

	snprintf(text, sizeof(text), "Send %s to %d (%s)?", wtl_top_signal_name(victim->signal),
		 victim->pid, victim->name);
	width = wtl_text_width(text);
	draw_box(picture, 2, width > 30 ? width : 30, "Really?", &box);
	wtl_canvas_text(picture->canvas, box.row, box.column, box.width, WTL_STYLE_STRONG, text);
	wtl_canvas_text(picture->canvas, box.row + (box.height > 1), box.column, box.width,
			WTL_STYLE_PLAIN, "y: yes   any other key: no");
}

/* ---- Details of a process ---- */

struct details {
	const struct wtl_top_picture *picture;
	struct box box;
	int line;
};

static void say(struct details *details, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void say(struct details *details, const char *name, const char *format, ...)
{
	struct wtl_canvas *canvas = details->picture->canvas;
	const struct box *box = &details->box;
	char text[400];
	va_list args;

	if (details->line >= box->height)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	wtl_canvas_text(canvas, box->row + details->line, box->column, 12, WTL_STYLE_FAINT, name);
	wtl_canvas_text(canvas, box->row + details->line++, box->column + 13, box->width - 13,
			WTL_STYLE_PLAIN, text);
}

/* Breaks the text into as many lines as needed. */
static void say_long(struct details *details, const char *name, const char *text)
{
	int width = details->box.width - 13;
	char part[400] = "";

	if (width < 4)
		return;
	do {
		size_t len = 0;
		int used = 0;

		while (text[len] && len < sizeof(part) - 5 && used < width) {
			len = (size_t)(wtl_text_next(text + len) - text);
			snprintf(part, sizeof(part), "%.*s", (int)len, text);
			used = wtl_text_width(part);
		}
		say(details, name, "%s", part);
		text += len;
		name = "";
	} while (*text && details->line < details->box.height);
}

static void say_memory(struct details *details, const struct wtl_consumer *consumer)
{
	const struct {
		const char *name;
		uint64_t bytes;
	} parts[] = {{"memory", consumer->rss_bytes},
		     {"PSS", consumer->pss_bytes},
		     {"USS", consumer->uss_bytes},
		     {"GPU memory", consumer->gpu_memory_bytes}};
	char text[WTL_FIGURE_MAX];

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].bytes != UINT64_MAX)
			say(details, parts[i].name, "%s", wtl_figure_bytes(text, parts[i].bytes));
}

static void say_energy(struct details *details, const struct wtl_top_process *process)
{
	static const char *const names[] = {
		[WTL_TOP_DYNAMIC] = "above idle", [WTL_TOP_FULL] = "full share"};
	const struct wtl_top_view *view = details->picture->view;
	char cpu[WTL_FIGURE_MAX], gpu[WTL_FIGURE_MAX], joules[WTL_FIGURE_MAX],
		hours[WTL_FIGURE_MAX], grams[WTL_FIGURE_MAX];
	bool has_cpu = process->has_power && wtl_process_has_cpu(process);
	bool has_gpu = process->has_power && process->has_gpu;

	for (unsigned i = 0; i < WTL_TOP_SHARES; i++) {
		uint64_t energy_uj = process->energy_uj[i];

		if (i == WTL_TOP_DYNAMIC && !process->has_dynamic) {
			say(details, names[i], "no idle baseline is known yet");
			continue;
		}
		say(details, names[i], "%s%s%s%s%s  %s  %s CO2e",
		    has_cpu ? wtl_figure_watts(cpu, process->cpu_uw[i]) : "",
		    has_cpu ? " W CPU   " : "",
		    has_gpu ? wtl_figure_watts(gpu, process->gpu_uw[i]) : "",
		    has_gpu ? " W GPU   " : "", wtl_figure_joules(joules, energy_uj),
		    wtl_figure_watt_hours(hours, energy_uj),
		    wtl_figure_grams(grams, wattle_carbon_ug(&view->carbon, energy_uj)));
	}
	if (process->uncertainty_uj)
		say(details, "", "±%s (k = 2)", wtl_figure_joules(joules, process->uncertainty_uj));
	if (process->per_cpu.power_uw)
		say(details, "learned", "%s ±%s W per busy CPU",
		    wtl_figure_watts(cpu, process->per_cpu.power_uw),
		    wtl_figure_watts(gpu, process->per_cpu.uncertainty_uw));
	if (process->per_gpu.power_uw)
		say(details, "learned", "%s ±%s W per busy GPU",
		    wtl_figure_watts(cpu, process->per_gpu.power_uw),
		    wtl_figure_watts(gpu, process->per_gpu.uncertainty_uw));
}

static void say_group(struct details *details, const struct wtl_top_process *process)
{
	static const enum wtl_field fields[] = {WTL_FIELD_UNIT, WTL_FIELD_CONTAINER,
						WTL_FIELD_POD,	WTL_FIELD_JOB,
						WTL_FIELD_STEP, WTL_FIELD_CGROUP};
	struct wtl_field_value value;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (wtl_field_get(process, fields[i], WTL_TOP_FULL, &value))
			say_long(details, wtl_field_info(fields[i])->about, value.text);
}

static const struct wtl_top_process *find_process(const struct wtl_top_view *view, uint64_t key)
{
	for (size_t i = 0; i < view->n_processes; i++)
		if (wtl_top_process_key(&view->processes[i]) == key)
			return &view->processes[i];
	return NULL;
}

void wtl_top_draw_details(const struct wtl_top_picture *picture)
{
	const struct wtl_top_process *process =
		find_process(picture->view, picture->ui->details_key);
	struct details details = {.picture = picture};
	const struct wtl_consumer *consumer;
	struct wtl_field_value state;
	char text[WTL_FIGURE_MAX], cpu[WTL_FIGURE_MAX];

	draw_box(picture, 17, 90, "Details (any key leaves, k sends a signal)", &details.box);
	if (!process) {
		say(&details, "", "it is no longer there");
		return;
	}
	consumer = &process->consumer;
	wtl_field_get(process, WTL_FIELD_STATE, WTL_TOP_FULL, &state);
	say(&details, "process", "%d   parent %d   %s", consumer->pid, consumer->parent,
	    state.text);
	say(&details, "name", "%s", consumer->name);
	say_long(&details, "command", process->command[0] ? process->command : "not known");
	say(&details, "user", "%s", process->user[0] ? process->user : "not known");
	if (!consumer->is_readable && wtl_process_has_cpu(process))
		say(&details, "", "the system shows no more of it than its CPU time");
	if (wtl_process_has_cpu(process))
		say(&details, "CPU", "%s %%   %s since the start   %u threads",
		    wtl_figure_percent(cpu, consumer->cpu_ppm),
		    wtl_figure_time(text, consumer->cpu_ns), consumer->n_threads);
	else
		say(&details, "CPU", "not known");
	if (consumer->gpu_ppm != UINT32_MAX)
		say(&details, "GPU", "%s %%", wtl_figure_percent(cpu, consumer->gpu_ppm));
	say_energy(&details, process);
	say_memory(&details, consumer);
	say_group(&details, process);
}
