/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "commands/top/draw.h"
#include "commands/top/format.h"
#include "workload/gpu_use.h"
#include "workload/workload.h"

enum { COMMAND_MIN = 18, NARROW = 34, TREE_DEPTH_MAX = 12 };

/* The columns that fit, in order; the command is last. */
struct table {
	enum wtl_field fields[WTL_FIELDS];
	int at[WTL_FIELDS], width[WTL_FIELDS];
	int n;
};

static enum wtl_top_share share_of(const struct wtl_top_picture *picture)
{
	return picture->ui->config.set[WTL_SET_FULL] ? WTL_TOP_FULL : WTL_TOP_DYNAMIC;
}

static bool is_of_gpus(enum wtl_field field)
{
	return field == WTL_FIELD_GPU_POWER || field == WTL_FIELD_GPU ||
	       field == WTL_FIELD_GPU_MEMORY;
}

static bool has_text(const struct wtl_top_view *view, enum wtl_field field)
{
	for (size_t i = 0; i < view->n_groups; i++) {
		const struct wtl_group *group = &view->groups[i];
		const char *text = field == WTL_FIELD_CONTAINER ? group->container
				   : field == WTL_FIELD_POD	? group->pod
				   : field == WTL_FIELD_JOB	? group->job
				   : field == WTL_FIELD_STEP	? group->step
								: "yes";

		if (text[0])
			return true;
	}
	return false;
}

static bool learns_watts(const struct wtl_top_view *view)
{
	const char *name = wtl_weight_name(WTL_WEIGHT_LEARNED);

	for (size_t i = 0; i < view->n_domains; i++)
		if (view->domains[i].weight && strcmp(view->domains[i].weight, name) == 0)
			return true;
	return false;
}

/* Chosen by the user, and available on this machine. */
static bool is_wanted(const struct wtl_top_picture *picture, enum wtl_field field)
{
	const struct wtl_top_config *config = &picture->ui->config;

	if (field == WTL_FIELD_COMMAND)
		return true;
	if (!config->columns[field])
		return false;
	if (is_of_gpus(field))
		return wtl_top_has_gpus(picture->view);
	if (field == WTL_FIELD_PER_CPU)
		return learns_watts(picture->view);
	if (field == WTL_FIELD_CONTAINER || field == WTL_FIELD_POD || field == WTL_FIELD_JOB ||
	    field == WTL_FIELD_STEP)
		return has_text(picture->view, field);
	return true;
}

static int width_of(const bool wanted[WTL_FIELDS], int columns)
{
	int width = columns < NARROW ? columns / 2 : COMMAND_MIN;

	for (unsigned i = 0; i < WTL_FIELDS; i++)
		if (wanted[i] && i != WTL_FIELD_COMMAND)
			width += wtl_field_info((enum wtl_field)i)->width + 1;
	return width;
}

/* Drops the least important column. false: none is left. */
static bool drop_one(bool wanted[WTL_FIELDS])
{
	int least = WTL_FIELDS;

	for (int i = 0; i < WTL_FIELDS; i++)
		if (wanted[i] && i != WTL_FIELD_COMMAND &&
		    (least == WTL_FIELDS || wtl_field_info((enum wtl_field)i)->keep <
						    wtl_field_info((enum wtl_field)least)->keep))
			least = i;
	if (least == WTL_FIELDS)
		return false;
	wanted[least] = false;
	return true;
}

static void find_table(const struct wtl_top_picture *picture, struct table *table)
{
	bool wanted[WTL_FIELDS];
	int at = 0;

	for (unsigned i = 0; i < WTL_FIELDS; i++)
		wanted[i] = is_wanted(picture, (enum wtl_field)i);
	/* Narrow: names and power matter more than the number. */
	if (picture->canvas->columns < NARROW)
		wanted[WTL_FIELD_PID] = false;
	while (width_of(wanted, picture->canvas->columns) > picture->canvas->columns &&
	       drop_one(wanted))
		continue;
	/* If only one of the powers fits, their sum replaces it. */
	if (wanted[WTL_FIELD_CPU_POWER] && !wanted[WTL_FIELD_GPU_POWER] &&
	    is_wanted(picture, WTL_FIELD_GPU_POWER)) {
		wanted[WTL_FIELD_CPU_POWER] = false;
		wanted[WTL_FIELD_POWER] = true;
	}
	table->n = 0;
	for (unsigned i = 0; i < WTL_FIELDS; i++) {
		int width = wtl_field_info((enum wtl_field)i)->width;

		if (!wanted[i])
			continue;
		if (i == WTL_FIELD_COMMAND)
			width = picture->canvas->columns - at;
		table->fields[table->n] = (enum wtl_field)i;
		table->at[table->n] = at;
		table->width[table->n++] = width;
		at += width + 1;
	}
}

/* ---- The line above the table ---- */

/* Returns its end. */
static char *add_part(char *text, size_t size, const char *gap, const char *name, double percent)
{
	char number[WTL_FIGURE_MAX], share[WTL_FIGURE_MAX + 4];

	wtl_figure_join(share, sizeof(share), " ", wtl_figure_whole(number, percent), " %");
	wtl_figure_join(text, size, gap, name, share);
	return text + strlen(text);
}

/* The accounts of all counted domains, in percent: all of them, or those that are not zero. */
static void ledger_text(const struct wtl_top_view *view, bool all, char text[128])
{
	static const char *const names[] = {"running", "ended", "kernel", "idle", "not attributed"};
	uint64_t sums_uj[5] = {0}, total_uj = 0;
	char *at = text;

	for (size_t i = 0; i < view->n_domains; i++) {
		const struct wtl_ledger *one = &view->domains[i].ledger;
		const uint64_t parts_uj[] = {one->live_uj, one->exited_uj, one->kernel_uj,
					     one->idle_uj, one->unattributed_uj};

		for (size_t k = 0; view->domains[i].in_total && k < 5; k++)
			sums_uj[k] += parts_uj[k];
		total_uj += view->domains[i].in_total ? one->total_uj : 0;
	}
	text[0] = '\0';
	for (size_t i = 0; total_uj > 0 && i < 5; i++) {
		double percent = 100.0 * (double)sums_uj[i] / (double)total_uj;

		if (all || percent >= 0.5)
			at = add_part(at, (size_t)(text + 128 - at), at > text ? "  " : "",
				      names[i], percent);
	}
}

/* Without an idle baseline, all its energy is divided among its users. */
static bool lacks_baseline(const struct wtl_top_domain *domain)
{
	return domain->weight && !domain->idle.is_known;
}

/* Is its energy divided by a guess? */
static bool is_guessed(const struct wtl_top_domain *domain)
{
	return wtl_gpu_use_method_is_guess(wtl_gpu_use_method_find(domain->weight));
}

/* "gpu-0 and 2 more": the counted domains for which is() is true. Returns the first one, or NULL. */
static const struct wtl_top_domain *domains_text(const struct wtl_top_view *view,
						 bool (*is)(const struct wtl_top_domain *domain),
						 char text[64])
{
	const struct wtl_top_domain *first = NULL;
	unsigned more = 0;

	for (size_t i = 0; i < view->n_domains; i++) {
		const struct wtl_top_domain *domain = &view->domains[i];

		if (!domain->in_total || !domain->energy.has_energy || !is(domain))
			continue;
		more += first != NULL;
		first = first ? first : domain;
	}
	if (more > 0)
		snprintf(text, 64, "%s and %u more", first->name, more);
	else if (first)
		snprintf(text, 64, "%s", first->name);
	return first;
}

static bool has_full_share(const struct wtl_top_process *process)
{
	return !process->has_dynamic &&
	       (process->energy_uj[WTL_TOP_FULL] > 0 || process->cpu_uw[WTL_TOP_FULL] > 0 ||
		process->gpu_uw[WTL_TOP_FULL] > 0);
}

/* Which shares the table has: above idle, full, or how to get those above idle; in as many words as there is room
 * for. */
static enum wtl_style shares_text(const struct wtl_top_picture *picture, int room, char text[128])
{
	const struct wtl_top_view *view = picture->view;
	bool any = false, full = false;
	char lacking[64] = "the machine";

	if (share_of(picture) == WTL_TOP_FULL) {
		snprintf(text, 128, ", full shares");
		return WTL_STYLE_PLAIN;
	}
	for (size_t i = 0; i < view->n_domains; i++)
		any |= view->domains[i].in_total && view->domains[i].idle.is_known;
	for (size_t i = 0; i < view->n_processes && !full; i++)
		full = has_full_share(&view->processes[i]);
	if (any && !full) {
		snprintf(text, 128, ", above idle");
		return WTL_STYLE_PLAIN;
	}
	if (any)
		domains_text(view, lacks_baseline, lacking);
	snprintf(text, 128, ", full shares, no idle baseline: let %s rest for 3 s", lacking);
	if (wtl_text_width(text) > room)
		snprintf(text, 128, ", full shares: let %s rest for 3 s", lacking);
	if (wtl_text_width(text) > room)
		snprintf(text, 128, ", full shares: let it rest for 3 s");
	return WTL_STYLE_WARN;
}

#define GUESS ", GPU W: a guess"

/* Domains that are divided by a guess; as many words as there is room for. */
static void put_guess(const struct wtl_top_domain *first, const char *names,
		      struct wtl_top_line *line)
{
	char text[128];

	snprintf(text, sizeof(text), ", %s by %s: go by the GPU's own row", names, first->weight);
	if (wtl_text_width(text) > line->end - line->at)
		text[strcspn(text, ":")] = '\0';
	wtl_top_line_put(line, WTL_STYLE_WARN,
			 wtl_text_width(text) > line->end - line->at ? GUESS : text);
}

/* On the right, as much as there is room for. */
static void draw_ledger(const struct wtl_top_view *view, const struct wtl_top_line *line)
{
	int room = line->end - line->at;
	char ledger[128];

	ledger_text(view, true, ledger);
	if (room <= wtl_text_width(ledger) + 2)
		ledger_text(view, false, ledger);
	if (room > wtl_text_width(ledger) + 2)
		wtl_canvas_right(line->canvas, line->row, line->at, room - 1, WTL_STYLE_FAINT,
				 ledger);
}

static void draw_caption(const struct wtl_top_picture *picture, int row)
{
	const struct wtl_top_view *view = picture->view;
	const struct wtl_top_ui *ui = picture->ui;
	struct wtl_top_line line = {
		.canvas = picture->canvas, .row = row, .at = 1, .end = picture->canvas->columns};
	const struct wtl_top_domain *guessed;
	enum wtl_style style;
	char text[160], names[64];

	if (!view->has_processes) {
		wtl_top_line_put(&line, WTL_STYLE_FAINT,
				 view->processes_reason[0] ? view->processes_reason
							   : "processes: …");
		return;
	}
	snprintf(text, sizeof(text), "%zu process%s by %s%s", picture->rows->n_processes,
		 picture->rows->n_processes == 1 ? "" : "es",
		 wtl_field_info(ui->config.sort)->title,
		 ui->config.set[WTL_SET_ASCENDING] ? " (reversed)" : "");
	wtl_top_line_put(&line, WTL_STYLE_PLAIN, text);
	wtl_top_line_put(&line, WTL_STYLE_PLAIN, ui->filter.text[0] ? " where " : "");
	wtl_top_line_put(&line, WTL_STYLE_WARN, ui->filter.text);
	if (ui->config.set[WTL_SET_GROUP] != WTL_GROUP_NONE) {
		wtl_top_line_put(&line, WTL_STYLE_PLAIN, " in groups by ");
		wtl_top_line_put(&line, WTL_STYLE_PLAIN,
				 wtl_setting_word(&ui->config, WTL_SET_GROUP));
	}
	guessed = domains_text(view, is_guessed, names);
	style = shares_text(picture, line.end - line.at - (guessed ? (int)strlen(GUESS) : 0), text);
	wtl_top_line_put(&line, style, text);
	if (guessed)
		put_guess(guessed, names, &line);
	wtl_top_line_put(&line, WTL_STYLE_WARN, ui->follows ? "  following" : "");
	wtl_top_line_put(&line, WTL_STYLE_WARN, ui->is_paused ? "  paused" : "");
	draw_ledger(view, &line);
}

static void draw_header(const struct wtl_top_picture *picture, const struct table *table, int row)
{
	const struct wtl_top_config *config = &picture->ui->config;
	struct wtl_top_places *places = &picture->ui->places;
	struct wtl_canvas *canvas = picture->canvas;

	wtl_canvas_fill(canvas, row, 0, canvas->columns, ' ', WTL_STYLE_HEADER);
	places->header_row = row;
	places->n_columns = table->n;
	for (int i = 0; i < table->n; i++) {
		const struct wtl_field_info *info = wtl_field_info(table->fields[i]);
		bool sorted = table->fields[i] == config->sort;
		enum wtl_style style = sorted ? WTL_STYLE_SORTED : WTL_STYLE_HEADER;

		places->columns[i].from = table->at[i];
		places->columns[i].to = table->at[i] + table->width[i] + 1;
		places->columns[i].field = table->fields[i];
		if (info->measure == WTL_MEASURE_TEXT)
			wtl_canvas_text(canvas, row, table->at[i], table->width[i], style,
					info->title);
		else
			wtl_canvas_right(canvas, row, table->at[i], table->width[i], style,
					 info->title);
	}
}

/* ---- Rows ---- */

static const char *figure(char text[WTL_FIGURE_MAX], const struct wtl_field_info *info,
			  double number)
{
	switch (info->measure) {
	case WTL_MEASURE_WATT:
		return wtl_figure_watts(text, (uint64_t)(number * 1e6 + 0.5));
	case WTL_MEASURE_JOULE:
		return wtl_figure_joules(text, (uint64_t)(number * 1e6 + 0.5));
	case WTL_MEASURE_PERCENT:
		return wtl_figure_percent(text, (uint32_t)(number * 1e4 + 0.5));
	case WTL_MEASURE_BYTE:
		return wtl_figure_bytes(text, (uint64_t)number);
	case WTL_MEASURE_SECOND:
		return wtl_figure_time(text, (int64_t)(number * 1e9));
	case WTL_MEASURE_NUMBER:
	case WTL_MEASURE_TEXT:
		break;
	}
	return wtl_figure_whole(text, number);
}

static enum wtl_style style_of(const struct wtl_top_process *process, bool is_group)
{
	if (is_group)
		return WTL_STYLE_STRONG;
	if (process->consumer.state == WTL_CONSUMER_LIVE)
		return WTL_STYLE_PLAIN;
	return WTL_STYLE_FAINT;
}

static void draw_cell(const struct wtl_top_picture *picture, const struct wtl_top_process *process,
		      enum wtl_field field, int row, int at, int width, enum wtl_style style)
{
	const struct wtl_field_info *info = wtl_field_info(field);
	struct wtl_field_value value;
	char text[WTL_FIGURE_MAX];

	if (!wtl_field_get(process, field, share_of(picture), &value))
		return;
	if (info->measure == WTL_MEASURE_TEXT) {
		wtl_canvas_text(picture->canvas, row, at, width, style, value.text);
		return;
	}
	/* Tiny values are not emphasized. */
	if (info->measure != WTL_MEASURE_NUMBER && value.number < 0.005)
		style = WTL_STYLE_FAINT;
	/* Nor are those whose uncertainty is more than half of them. */
	if (field == WTL_FIELD_PER_CPU &&
	    2 * process->per_cpu.uncertainty_uw > process->per_cpu.power_uw)
		style = WTL_STYLE_FAINT;
	wtl_canvas_right(picture->canvas, row, at, width, style, figure(text, info, value.number));
}

/* The lines of the tree. */
static void put_branches(const struct wtl_top_row *row, struct wtl_top_line *line)
{
	unsigned depth = row->depth > TREE_DEPTH_MAX ? row->depth - TREE_DEPTH_MAX : 0;
	bool ascii = line->canvas->ascii;

	for (; depth < row->depth && line->at < line->end; depth++) {
		bool own = depth + 1 == row->depth;
		bool goes_on = depth + 1 < 64 && (row->guides >> (depth + 1) & 1);
		const char *branch = !own && !goes_on ? "  " : ascii ? "| " : "│ ";

		if (own)
			branch = row->is_last ? (ascii ? "`-" : "└─") : (ascii ? "|-" : "├─");
		wtl_top_line_put(line, WTL_STYLE_FAINT, branch);
	}
}

/* The process's title, with or without the program's path as configured. */
static const char *title_of(const struct wtl_top_picture *picture,
			    const struct wtl_top_process *process)
{
	return wtl_process_short_title(process, picture->ui->config.set[WTL_SET_PATHS]);
}

/* Skips that many characters. */
static const char *shifted(const char *text, int shift)
{
	for (; shift > 0; shift--)
		text = wtl_text_next(text);
	return text;
}

/* What the ended processes of a row have in common, if another row has the same name and user. */
static void put_common(const struct wtl_top_process *process, struct wtl_top_line *line,
		       enum wtl_style style)
{
	static const enum wtl_field fields[] = {WTL_FIELD_CONTAINER, WTL_FIELD_JOB, WTL_FIELD_UNIT,
						WTL_FIELD_CGROUP};
	struct wtl_field_value where;
	char parent[32];

	if (process->consumer.is_in_tree)
		wtl_top_line_put(line, style, " of the command");
	if (process->consumer.parent > 0) {
		snprintf(parent, sizeof(parent), " (parent %d)", process->consumer.parent);
		wtl_top_line_put(line, style, parent);
	}
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (wtl_field_get(process, fields[i], WTL_TOP_FULL, &where)) {
			wtl_top_line_put(line, style, " in ");
			wtl_top_line_put(line, style, where.text);
			return;
		}
}

/* Does a title that is too long have the same beginning as another one in sight, but another end? */
static bool ends_differ(const struct wtl_top_picture *picture, const char *title, int room)
{
	const struct wtl_top_rows *rows = picture->rows;
	size_t first = (size_t)picture->ui->first, n = (size_t)picture->ui->places.n_rows;

	for (size_t i = first; i < first + n && i < rows->n && room > 0; i++) {
		const char *other =
			title_of(picture, wtl_top_row_process(rows, picture->view, &rows->rows[i]));

		if (strncmp(other, title, (size_t)room) == 0 && strcmp(other, title) != 0)
			return true;
	}
	return false;
}

/* The last columns of a text. */
static const char *last_columns(const char *text, int columns)
{
	int excess = wtl_text_width(text) - columns;

	while (excess > 0 && *text) {
		const char *next = wtl_text_next(text);
		char one[8] = "";

		memcpy(one, text, (size_t)(next - text) < sizeof(one) ? (size_t)(next - text) : 0);
		excess -= wtl_text_width(one);
		text = next;
	}
	return text;
}

/* Cuts the title's end, or its middle if the end tells it apart from others. */
static void put_title(const struct wtl_top_picture *picture, const char *title,
		      struct wtl_top_line *line, enum wtl_style style)
{
	int room = line->end - line->at;

	if (room < 12 || wtl_text_width(title) <= room || !ends_differ(picture, title, room - 1)) {
		wtl_top_line_put(line, style, title);
		return;
	}
	line->end -= room / 2;
	wtl_top_line_put(line, style, title);
	line->end += room / 2;
	wtl_top_line_put(line, style, last_columns(title, line->end - line->at));
}

static void draw_command(const struct wtl_top_picture *picture, const struct wtl_top_row *row,
			 const struct wtl_top_process *process, struct wtl_top_line *line,
			 enum wtl_style style)
{
	const struct wtl_consumer *consumer = &process->consumer;
	bool is_group = row->process < 0;
	char number[48] = "";

	put_branches(row, line);
	if (row->has_children && (row->is_closed || is_group))
		wtl_top_line_put(line, WTL_STYLE_FAINT, row->is_closed ? "+ " : "- ");
	if (is_group)
		snprintf(number, sizeof(number), "  (%u)", consumer->n_processes);
	else if (consumer->state == WTL_CONSUMER_FOLDED && consumer->n_processes > 0)
		snprintf(number, sizeof(number), " (%u that ended)", consumer->n_processes);
	if (number[0])
		wtl_top_line_put(line, style, title_of(picture, process));
	else
		put_title(picture, shifted(title_of(picture, process), picture->ui->shift), line,
			  style);
	wtl_top_line_put(line, style, number);
	if (wtl_top_rows_has_twin(picture->rows, picture->view, process))
		put_common(process, line, style);
	if (!is_group && consumer->state == WTL_CONSUMER_EXITED)
		wtl_top_line_put(line, style, " (ended)");
}

static void draw_row(const struct wtl_top_picture *picture, const struct table *table, size_t i,
		     int row)
{
	const struct wtl_top_row *line = &picture->rows->rows[i];
	const struct wtl_top_process *process =
		wtl_top_row_process(picture->rows, picture->view, line);
	enum wtl_style style = style_of(process, line->process < 0);

	for (int c = 0; c < table->n; c++) {
		struct wtl_top_line command = {.canvas = picture->canvas,
					       .row = row,
					       .at = table->at[c],
					       .end = table->at[c] + table->width[c]};

		if (table->fields[c] == WTL_FIELD_COMMAND)
			draw_command(picture, line, process, &command, style);
		else
			draw_cell(picture, process, table->fields[c], row, table->at[c],
				  table->width[c], style);
	}
	if ((int)i == picture->ui->selected && !picture->is_still)
		wtl_canvas_restyle(picture->canvas, row, 0, picture->canvas->columns,
				   WTL_STYLE_SELECTED);
}

void wtl_top_draw_table(const struct wtl_top_picture *picture, int row, int height)
{
	struct wtl_top_places *places = &picture->ui->places;
	size_t first = picture->ui->first > 0 ? (size_t)picture->ui->first : 0;
	struct table table;

	if (height >= 4) {
		draw_caption(picture, row++);
		height--;
	}
	if (height < 2)
		return;
	find_table(picture, &table);
	draw_header(picture, &table, row++);
	places->first_row = row;
	places->n_rows = --height;
	for (int i = 0; i < height && first + (size_t)i < picture->rows->n; i++)
		draw_row(picture, &table, first + (size_t)i, row + i);
}
