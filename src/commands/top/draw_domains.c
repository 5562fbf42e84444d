/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "commands/top/draw.h"
#include "commands/top/format.h"
#include "energy/units.h"

/* A GPU that has not answered for so long is called stuck. */
#define STUCK_NS (3 * WTL_NS_PER_S)

enum column { POWER, PLUS, BAR, IDLE, LIMIT, ENERGY, HOURS, COLUMNS };

enum { NAME = 1, NAME_WIDTH = 14, BAR_MIN = 8, BAR_MAX = 32, INFO_MIN = 46, LONE_NAME_MAX = 24 };

/* From left to right, each in screens that are so wide. */
static const struct {
	int least, width;
	const char *title;
	enum wtl_style style;
} column_info[COLUMNS] = {
	[POWER] = {0, 9, "POWER", WTL_STYLE_STRONG},
	[PLUS] = {76, 7, "±", WTL_STYLE_FAINT},
	[BAR] = {56, BAR_MIN, "", WTL_STYLE_PLAIN},
	[IDLE] = {92, 8, "IDLE W", WTL_STYLE_IDLE},
	[LIMIT] = {66, 8, "LIMIT W", WTL_STYLE_LIMIT},
	[ENERGY] = {40, 10, "ENERGY  ", WTL_STYLE_PLAIN},
	[HOURS] = {110, 10, "Wh", WTL_STYLE_FAINT},
};

/* Where the columns stand; 0: no room for it. In the rest of the row there may be room for what a GPU says. */
struct columns {
	int at[COLUMNS], bar_width, rest;
	bool has_info;
};

static void find_columns(int width, struct columns *ret_columns)
{
	struct columns columns = {.bar_width = BAR_MIN + (width - 56) / 5};
	int at = NAME + (width < 40 ? 9 : NAME_WIDTH) + 1;

	if (columns.bar_width > BAR_MAX)
		columns.bar_width = BAR_MAX;
	for (int i = 0; i < COLUMNS; i++) {
		if (width < column_info[i].least)
			continue;
		columns.at[i] = at;
		at += (i == BAR ? columns.bar_width : column_info[i].width) + 1;
	}
	columns.rest = ++at;
	columns.has_info = width - at >= INFO_MIN;
	*ret_columns = columns;
}

/* A figure or a title in its column, if that is there. */
static void put(const struct wtl_top_picture *picture, int row, const struct columns *columns,
		enum column column, enum wtl_style style, const char *text)
{
	if (columns->at[column])
		wtl_canvas_right(picture->canvas, row, columns->at[column],
				 column_info[column].width, style, text);
}

static bool is_shown(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain,
		     enum wtl_top_detail detail)
{
	if (domain->in_total)
		return true;
	if (detail != WTL_TOP_ALL)
		return false;
	return !domain->inside[0] || picture->ui->config.set[WTL_SET_PARTS];
}

/* Whether one that this lies in has a row above: without, it stands on its own. */
static bool is_indented(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain,
			enum wtl_top_detail detail)
{
	const struct wtl_top_view *view = picture->view;

	/* No more around it than there are. */
	for (size_t i = 0; domain && i < view->n_domains; i++) {
		domain = wtl_top_find_domain(view, domain->inside);
		if (domain && is_shown(picture, domain, detail))
			return true;
	}
	return false;
}

/* A GPU that has no domain of its own still has a row. */
static bool has_domain(const struct wtl_top_view *view, size_t gpu)
{
	for (size_t i = 0; i < view->n_domains; i++)
		if (view->domains[i].gpu == (int)gpu)
			return true;
	return false;
}

static bool has_header(const struct wtl_top_picture *picture)
{
	return picture->canvas->columns >= 56;
}

/* A number, or false where it is not known. */
static bool number(const struct wtl_gpu *gpu, enum wtl_gpu_number which, uint64_t *ret)
{
	*ret = gpu->numbers[which].value;
	return gpu->numbers[which].status == WATTLE_STATUS_OK;
}

/* A second line of a GPU's, where there is no room in the first and something to say. */
static bool gpu_has_line(const struct wtl_top_picture *picture, int gpu, enum wtl_top_detail detail)
{
	static const enum wtl_gpu_number numbers[] = {
		WTL_GPU_USE_PERCENT, WTL_GPU_MEMORY_USED_BYTES, WTL_GPU_TEMPERATURE_C,
		WTL_GPU_CLOCK_SM_MHZ, WTL_GPU_CLOCK_GRAPHICS_MHZ};
	struct columns columns;
	uint64_t value;

	find_columns(picture->canvas->columns, &columns);
	if (detail != WTL_TOP_ALL || columns.has_info || gpu < 0 ||
	    picture->view->gpus[gpu].status != WATTLE_STATUS_OK)
		return false;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (number(&picture->view->gpus[gpu], numbers[i], &value))
			return true;
	return false;
}

int wtl_top_domains_height(const struct wtl_top_picture *picture, enum wtl_top_detail detail)
{
	const struct wtl_top_view *view = picture->view;
	int height = has_header(picture);

	if (detail == WTL_TOP_SUMMARY)
		return view->n_domains > 0;
	for (size_t i = 0; i < view->n_domains; i++) {
		if (!is_shown(picture, &view->domains[i], detail))
			continue;
		height += 1 + (view->domains[i].has_power &&
			       gpu_has_line(picture, view->domains[i].gpu, detail));
	}
	for (size_t i = 0; i < view->n_gpus; i++)
		height += !has_domain(view, i);
	return height;
}

/* ---- What a GPU says: pieces of fixed widths, so that GPUs stand in columns ---- */

static const char *throttle_words(uint64_t reasons)
{
	static const struct {
		enum wtl_gpu_throttle bit;
		const char *words;
	} words[] = {
		{WTL_THROTTLE_HW_THERMAL, "too hot (hw)"},
		{WTL_THROTTLE_SW_THERMAL, "too hot"},
		{WTL_THROTTLE_HW_POWER_BRAKE, "power brake"},
		{WTL_THROTTLE_HW_SLOWDOWN, "hw slowdown"},
		{WTL_THROTTLE_SW_POWER_CAP, "power cap"},
		{WTL_THROTTLE_SYNC_BOOST, "sync boost"},
		{WTL_THROTTLE_APPLICATION_CLOCKS, "app clocks"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (reasons & words[i].bit)
			return words[i].words;
	return NULL;
}

static void add_numbers(struct wtl_top_line *line, const struct wtl_gpu *gpu)
{
	char used[WTL_FIGURE_MAX], all[WTL_FIGURE_MAX];
	uint64_t value, more, reasons = 0;
	bool known = number(gpu, WTL_GPU_THROTTLE, &reasons);
	const char *throttle = known ? throttle_words(reasons) : NULL;

	if (number(gpu, WTL_GPU_USE_PERCENT, &value))
		wtl_top_line_add(line, 9, WTL_STYLE_PLAIN, "use %3u %%", (unsigned)value);
	if (number(gpu, WTL_GPU_MEMORY_USED_BYTES, &value) &&
	    number(gpu, WTL_GPU_MEMORY_TOTAL_BYTES, &more))
		wtl_top_line_add(line, 15, WTL_STYLE_PLAIN, "mem %5s/%s",
				 wtl_figure_bytes(used, value), wtl_figure_bytes(all, more));
	if (number(gpu, WTL_GPU_TEMPERATURE_C, &value))
		wtl_top_line_add(line, 6, value >= 90 ? WTL_STYLE_BAD : WTL_STYLE_PLAIN, "%3u °C",
				 (unsigned)value);
	if (throttle)
		wtl_top_line_add(line, 12, WTL_STYLE_WARN, "%s", throttle);
	else if (known)
		line->at += line->at + 12 <= line->end ? 14 : 0; /* the next piece stays in line */
	if (number(gpu, WTL_GPU_CLOCK_SM_MHZ, &value) ||
	    number(gpu, WTL_GPU_CLOCK_GRAPHICS_MHZ, &value))
		wtl_top_line_add(line, 8, WTL_STYLE_PLAIN, "%4u MHz", (unsigned)value);
}

static void add_more_numbers(struct wtl_top_line *line, const struct wtl_gpu *gpu)
{
	char sent[WTL_FIGURE_MAX], received[WTL_FIGURE_MAX];
	uint64_t value, more;

	if (number(gpu, WTL_GPU_PCIE_GEN, &value) && number(gpu, WTL_GPU_PCIE_WIDTH, &more))
		wtl_top_line_add(line, 10, WTL_STYLE_FAINT, "PCIe %ux%u", (unsigned)value,
				 (unsigned)more);
	if (number(gpu, WTL_GPU_PCIE_TX_BYTES_PER_S, &value) &&
	    number(gpu, WTL_GPU_PCIE_RX_BYTES_PER_S, &more))
		wtl_top_line_add(line, 17, WTL_STYLE_PLAIN, "↓%5s ↑%5s /s",
				 wtl_figure_bytes(received, more), wtl_figure_bytes(sent, value));
	if (number(gpu, WTL_GPU_MEMORY_USE_PERCENT, &value))
		wtl_top_line_add(line, 11, WTL_STYLE_FAINT, "mem bw %2u %%", (unsigned)value);
	if (number(gpu, WTL_GPU_FAN_PERCENT, &value))
		wtl_top_line_add(line, 9, WTL_STYLE_FAINT, "fan %3u %%", (unsigned)value);
	if (number(gpu, WTL_GPU_PSTATE, &value))
		wtl_top_line_add(line, 3, WTL_STYLE_FAINT, "P%u", (unsigned)value);
}

static const char *gpu_trouble(enum wattle_status status)
{
	static const char *const words[] = {
		[WATTLE_STATUS_STALE] = "answers late",
		[WATTLE_STATUS_DENIED] = "more privilege is needed",
		[WATTLE_STATUS_GONE] = "lost: it has fallen off the bus",
		[WATTLE_STATUS_FAILED] = "reading it fails",
		[WATTLE_STATUS_ASLEEP] = "asleep, and left alone: reading would wake it",
		[WATTLE_STATUS_ABSENT] = "tells nothing of itself",
	};

	return (size_t)status < sizeof(words) / sizeof(words[0]) ? words[status] : NULL;
}

/* For how long GPUs have not answered where that is too long, else 0. */
static int64_t stuck_ns(const struct wtl_top_picture *picture)
{
	const struct wtl_top_view *view = picture->view;
	int64_t silent_ns = picture->now_ns - view->gpus_answered_ns;

	return view->gpus_answered_ns > 0 && !picture->ui->is_paused && !view->is_over &&
			       silent_ns >= STUCK_NS
		       ? silent_ns
		       : 0;
}

static void put_stuck(const struct wtl_top_picture *picture, struct wtl_top_line *line)
{
	char text[48];

	snprintf(text, sizeof(text), "stuck: no answer for %lld s",
		 (long long)(stuck_ns(picture) / WTL_NS_PER_S));
	wtl_top_line_put(line, WTL_STYLE_BAD, text);
}

/* What a GPU says beside its power; shortly: in the rest of a row that has no room for more. */
static void draw_gpu(const struct wtl_top_picture *picture, size_t gpu, int row, int column,
		     bool shortly)
{
	const struct wtl_gpu *one = &picture->view->gpus[gpu];
	struct wtl_top_line line = {.canvas = picture->canvas,
				    .row = row,
				    .at = column,
				    .end = picture->canvas->columns,
				    .gap = 2};
	const char *trouble = gpu_trouble(one->status);
	uint64_t value;

	if (trouble) {
		wtl_top_line_put(&line,
				 one->status == WATTLE_STATUS_ASLEEP ? WTL_STYLE_FAINT
								     : WTL_STYLE_BAD,
				 trouble);
	} else if (stuck_ns(picture)) {
		put_stuck(picture, &line);
	} else if (!shortly) {
		add_numbers(&line, one);
		add_more_numbers(&line, one);
	} else {
		if (number(one, WTL_GPU_USE_PERCENT, &value))
			wtl_top_line_add(&line, 4, WTL_STYLE_PLAIN, "%3u%%", (unsigned)value);
		if (number(one, WTL_GPU_TEMPERATURE_C, &value))
			wtl_top_line_add(&line, 5, WTL_STYLE_PLAIN, "%2u°C", (unsigned)value);
	}
}

/* ---- Bars ---- */

/* The power of a full bar. */
static uint64_t bar_scale(const struct wtl_top_domain *domain)
{
	uint64_t max_uw = domain->energy.has_power ? domain->energy.max_uw : 0;
	uint64_t most = max_uw > domain->power_uw ? max_uw : domain->power_uw;

	if (domain->limit_uw)
		return domain->limit_uw;
	return most + most / 4 + 1;
}

/* In eighths of a cell; in whole cells with ASCII. */
static void put_bar_cell(struct wtl_canvas *canvas, int row, int column, unsigned eighths,
			 enum wtl_style style)
{
	static const uint32_t blocks[] = {0,	  0x258f, 0x258e, 0x258d, 0x258c,
					  0x258b, 0x258a, 0x2589, 0x2588};

	if (canvas->ascii && eighths >= 4)
		wtl_canvas_put(canvas, row, column, '#', style);
	else if (!canvas->ascii && eighths > 0)
		wtl_canvas_put(canvas, row, column, blocks[eighths], style);
	else
		wtl_canvas_put(canvas, row, column, 0xb7, WTL_STYLE_FAINT);
}

static void draw_bar(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain,
		     int row, const struct columns *columns)
{
	uint64_t scale = bar_scale(domain), width = (uint64_t)columns->bar_width;
	int at = columns->at[BAR];
	uint64_t filled = domain->power_uw / 1000 * width * 8 / (scale / 1000 + 1);
	uint64_t idle = domain->idle.is_known
				? domain->idle.idle_uw / 1000 * width / (scale / 1000 + 1)
				: 0;
	bool is_over = domain->limit_uw && domain->power_uw > domain->limit_uw;

	for (int i = 0; i < columns->bar_width; i++) {
		uint64_t from = (uint64_t)i * 8;
		unsigned eighths = filled >= from + 8 ? 8
				   : filled > from    ? (unsigned)(filled - from)
						      : 0;
		enum wtl_style style = is_over		    ? WTL_STYLE_BAD
				       : (uint64_t)i < idle ? WTL_STYLE_IDLE
							    : wtl_top_kind_style(domain->kind);

		put_bar_cell(picture->canvas, row, at + i, eighths, style);
	}
	if (domain->limit_uw)
		wtl_canvas_put(picture->canvas, row, at + columns->bar_width,
			       picture->canvas->ascii ? '|' : 0x2502, WTL_STYLE_LIMIT);
}

/* ---- Rows ---- */

/* Why there is no power, and what would help. */
static void draw_trouble(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain,
			 struct wtl_top_line *line)
{
	enum wattle_status status = domain->status;
	bool is_bad = status != WATTLE_STATUS_ASLEEP && status != WATTLE_STATUS_ABSENT &&
		      status != WATTLE_STATUS_OK;

	/* Why it is late need not be said then. */
	if (domain->gpu >= 0 && stuck_ns(picture)) {
		put_stuck(picture, line);
		return;
	}
	wtl_top_line_put(line, is_bad ? WTL_STYLE_BAD : WTL_STYLE_FAINT,
			 status == WATTLE_STATUS_OK	? "…"
			 : status == WATTLE_STATUS_GONE ? "lost"
							: wattle_status_name(status));
	line->at += 2;
	wtl_top_line_put(line, WTL_STYLE_PLAIN, domain->reason);
	if (domain->remedy[0] && status != WATTLE_STATUS_ASLEEP && line->at + 16 < line->end) {
		wtl_top_line_put(line, WTL_STYLE_FAINT, " → ");
		wtl_top_line_put(line, WTL_STYLE_FAINT, domain->remedy);
	}
}

static void draw_figures(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain,
			 int row, const struct columns *columns)
{
	char text[WTL_FIGURE_MAX], plus[WTL_FIGURE_MAX + 4];
	uint64_t plus_uw = wtl_top_power_uncertainty_uw(domain);
	const struct {
		enum column column;
		bool is_known;
		const char *(*print)(char text[WTL_FIGURE_MAX], uint64_t value);
		uint64_t value;
	} figures[] = {
		{IDLE, domain->idle.is_known, wtl_figure_watts_wide, domain->idle.idle_uw},
		{LIMIT, domain->limit_uw > 0, wtl_figure_watts_wide, domain->limit_uw},
		{ENERGY, domain->energy.has_energy, wtl_figure_joules, domain->energy.energy_uj},
		{HOURS, domain->energy.has_energy, wtl_figure_watt_hours, domain->energy.energy_uj},
	};

	if (plus_uw) {
		snprintf(plus, sizeof(plus), "±%s", wtl_figure_watts_wide(text, plus_uw));
		/* "+-" takes one more. */
		if (picture->canvas->ascii && wtl_text_width(plus) >= column_info[PLUS].width)
			snprintf(plus, sizeof(plus), "±%.0f", (double)plus_uw / 1e6);
		put(picture, row, columns, PLUS, WTL_STYLE_FAINT, plus);
	}
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (figures[i].is_known)
			put(picture, row, columns, figures[i].column,
			    column_info[figures[i].column].style,
			    figures[i].print(text, figures[i].value));
}

/* What casts doubt on the figure, or where it comes from. */
static void draw_remark(const struct wtl_top_domain *domain, struct wtl_top_line *line)
{
	bool is_modelled = domain->method == WATTLE_METHOD_MODELLED;
	char text[WTL_FIGURE_MAX];

	if (domain->status != WATTLE_STATUS_OK && domain->status != WATTLE_STATUS_GAP) {
		wtl_top_line_put(line, WTL_STYLE_BAD, wattle_status_name(domain->status));
	} else if (domain->energy.flags & WATTLE_ENERGY_DISAGREES) {
		wtl_top_line_put(line, WTL_STYLE_WARN, "two sources disagree");
	} else if (domain->energy.gap_ns > 0) {
		wtl_top_line_put(line, WTL_STYLE_WARN, "not measured for ");
		wtl_top_line_put(line, WTL_STYLE_WARN,
				 wtl_figure_clock(text, domain->energy.gap_ns));
	} else {
		char remark[sizeof(domain->source) + sizeof(domain->device) + 64];

		snprintf(remark, sizeof(remark), "%s%s%s%s%s",
			 is_modelled ? "modelled, not measured" : domain->source,
			 !is_modelled && domain->weight ? ", shared by " : "",
			 !is_modelled && domain->weight ? domain->weight : "",
			 domain->device[0] ? "  " : "", domain->device);
		wtl_top_line_put(line, is_modelled ? WTL_STYLE_WARN : WTL_STYLE_FAINT, remark);
	}
}

/* Returns the rows that it took. */
static int draw_domain(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain,
		       int row, const struct columns *columns, enum wtl_top_detail detail)
{
	struct wtl_top_line line = {.canvas = picture->canvas,
				    .row = row,
				    .at = NAME + (is_indented(picture, domain, detail) ? 2 : 0),
				    .end = columns->at[POWER] - 1};
	bool has_line = gpu_has_line(picture, domain->gpu, detail);
	char text[WTL_FIGURE_MAX], watts[WTL_FIGURE_MAX + 4];

	wtl_top_line_put(&line,
			 domain->in_total ? wtl_top_kind_style(domain->kind) : WTL_STYLE_FAINT,
			 domain->name);
	line.at = columns->at[POWER];
	line.end = picture->canvas->columns;
	if (!domain->has_power) {
		draw_trouble(picture, domain, &line);
		return 1;
	}
	snprintf(watts, sizeof(watts), "%s%s W",
		 wtl_top_mark(domain->method == WATTLE_METHOD_MODELLED),
		 wtl_figure_watts_wide(text, domain->power_uw));
	put(picture, row, columns, POWER, domain->in_total ? WTL_STYLE_STRONG : WTL_STYLE_FAINT,
	    watts);
	draw_figures(picture, domain, row, columns);
	if (columns->at[BAR])
		draw_bar(picture, domain, row, columns);
	line.at = columns->rest;
	if (has_line)
		draw_gpu(picture, (size_t)domain->gpu, row + 1, NAME + 2, false);
	else if (domain->gpu >= 0)
		draw_gpu(picture, (size_t)domain->gpu, row, columns->rest, !columns->has_info);
	else if (columns->has_info)
		draw_remark(domain, &line);
	return 1 + has_line;
}

static void draw_header(const struct wtl_top_picture *picture, int row,
			const struct columns *columns)
{
	struct wtl_canvas *canvas = picture->canvas;

	wtl_canvas_fill(canvas, row, 0, canvas->columns, ' ', WTL_STYLE_HEADER);
	wtl_canvas_text(canvas, row, NAME, NAME_WIDTH, WTL_STYLE_HEADER, "DOMAIN");
	for (int i = 0; i < COLUMNS; i++)
		put(picture, row, columns, (enum column)i, WTL_STYLE_HEADER, column_info[i].title);
}

/* "CPU 82.4 W  GPU 182.0 W  DRAM 8.3 W" */
static void draw_summary(const struct wtl_top_picture *picture, int row)
{
	static const struct {
		const char *name;
		enum wtl_style style;
	} kinds[] = {{"CPU", WTL_STYLE_CPU},
		     {"GPU", WTL_STYLE_GPU},
		     {"DRAM", WTL_STYLE_MEMORY},
		     {"other", WTL_STYLE_OTHER}};
	struct wtl_top_line line = {
		.canvas = picture->canvas, .row = row, .at = 1, .end = picture->canvas->columns};
	char text[WTL_FIGURE_MAX], piece[WTL_FIGURE_MAX + 16];

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		struct wtl_top_sum sum = wtl_top_sum(picture->view, kinds[k].style, false);

		if (!sum.has_power || line.at >= line.end)
			continue;
		snprintf(piece, sizeof(piece), "%s %s%s W", kinds[k].name,
			 wtl_top_mark(sum.is_modelled), wtl_figure_watts_wide(text, sum.power_uw));
		wtl_top_line_put(&line, kinds[k].style, piece);
		line.at += 2;
	}
}

/* A GPU without an energy domain: its name stands where the power would. */
static void draw_lone_gpu(const struct wtl_top_picture *picture, size_t gpu, int row,
			  const struct columns *columns)
{
	const struct wtl_gpu *one = &picture->view->gpus[gpu];
	struct wtl_canvas *canvas = picture->canvas;
	int at = columns->at[POWER];

	wtl_canvas_printf(canvas, row, NAME, at - NAME - 1, WTL_STYLE_GPU, "gpu-%u", one->index);
	at += wtl_canvas_text(canvas, row, at, LONE_NAME_MAX, WTL_STYLE_FAINT,
			      one->name[0] ? one->name : one->vendor);
	draw_gpu(picture, gpu, row, at + 2, false);
}

void wtl_top_draw_domains(const struct wtl_top_picture *picture, int row, int height,
			  enum wtl_top_detail detail)
{
	const struct wtl_top_view *view = picture->view;
	int end = row + height;
	struct columns columns;

	if (height <= 0)
		return;
	if (detail == WTL_TOP_SUMMARY) {
		draw_summary(picture, row);
		return;
	}
	find_columns(picture->canvas->columns, &columns);
	if (has_header(picture))
		draw_header(picture, row++, &columns);
	for (size_t i = 0; i < view->n_domains && row < end; i++)
		if (is_shown(picture, &view->domains[i], detail))
			row += draw_domain(picture, &view->domains[i], row, &columns, detail);
	for (size_t i = 0; i < view->n_gpus && row < end; i++) {
		if (has_domain(view, i))
			continue;
		draw_lone_gpu(picture, i, row++, &columns);
	}
}
