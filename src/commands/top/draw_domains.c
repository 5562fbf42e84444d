/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "commands/top/draw.h"
#include "commands/top/format.h"
#include "energy/units.h"

/* After so long without an answer, a GPU is called stuck. */
#define STUCK_NS (3 * WTL_NS_PER_S)

/* From left to right: for all domains, then for GPUs only. In place of the latter, others have a remark. */
enum column {
	POWER,
	PLUS,
	BAR,
	IDLE,
	LIMIT,
	ENERGY,
	HOURS,
	USE,
	MEMORY,
	TEMPERATURE,
	CLOCK,
	SLOWED,
	ENCODER,
	DECODER,
	PCIE,
	LINK,
	BANDWIDTH,
	FAN,
	STATE,
	REMARK,
	COLUMNS,
	GPU_COLUMNS = USE
};

enum { NAME = 1, NAME_MAX_WIDTH = 14, INDENT = 2, HEADER_MIN = 56, BAR_MIN = 8, HOT_C = 90 };

static const struct {
	int width, keep; /* if room is short, the lowest go first */
	const char *title;
	enum wtl_style style;
	enum wtl_top_gpu_number number; /* for GPUs' columns: the number shown */
} column_info[COLUMNS] = {
	[POWER] = {9, 99, "POWER", WTL_STYLE_STRONG, 0},
	[PLUS] = {6, 90, "±", WTL_STYLE_FAINT, 0},
	[BAR] = {BAR_MIN, 92, "", WTL_STYLE_PLAIN, 0},
	[IDLE] = {6, 60, "IDLE W", WTL_STYLE_IDLE, 0},
	[LIMIT] = {7, 70, "LIMIT W", WTL_STYLE_LIMIT, 0},
	[ENERGY] = {8, 93, "ENERGY  ", WTL_STYLE_PLAIN, 0},
	[HOURS] = {9, 10, "Wh", WTL_STYLE_FAINT, 0},
	[USE] = {4, 95, "USE%", WTL_STYLE_PLAIN, WTL_TOP_GPU_USE_PERCENT},
	[MEMORY] = {11, 94, "MEMORY", WTL_STYLE_PLAIN, WTL_TOP_GPU_MEMORY_USED_BYTES},
	[TEMPERATURE] = {3, 91, "°C", WTL_STYLE_PLAIN, WTL_TOP_GPU_TEMPERATURE_C},
	[CLOCK] = {4, 85, "MHz", WTL_STYLE_PLAIN, WTL_TOP_GPU_CLOCK_SM_MHZ},
	[SLOWED] = {9, 75, "SLOWED BY", WTL_STYLE_WARN, WTL_TOP_GPU_THROTTLE},
	[ENCODER] = {4, 80, "ENC%", WTL_STYLE_PLAIN, WTL_TOP_GPU_ENCODER_PERCENT},
	[DECODER] = {4, 50, "DEC%", WTL_STYLE_PLAIN, WTL_TOP_GPU_DECODER_PERCENT},
	[PCIE] = {11, 78, "PCIe RX/TX", WTL_STYLE_PLAIN, WTL_TOP_GPU_PCIE_RX_BYTES_PER_S},
	[LINK] = {4, 45, "LINK", WTL_STYLE_FAINT, WTL_TOP_GPU_PCIE_GEN},
	[BANDWIDTH] = {7, 40, "MEM BW%", WTL_STYLE_FAINT, WTL_TOP_GPU_MEMORY_USE_PERCENT},
	[FAN] = {4, 35, "FAN%", WTL_STYLE_FAINT, WTL_TOP_GPU_FAN_PERCENT},
	[STATE] = {2, 30, "P", WTL_STYLE_FAINT, WTL_TOP_GPU_PSTATE},
	[REMARK] = {46, 5, "", WTL_STYLE_FAINT, 0},
};

/* The columns' positions; 0: no room, or nothing to show. */
struct columns {
	int at[COLUMNS], name_width, bar_width;
	int rest;	  /* start of remarks; 0: no room for them */
	uint64_t full_uw; /* the value of a full bar */
	enum wtl_top_detail detail;
};

/* A figure or a title in its column, if that is shown. */
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

/* Is a domain around it shown above? Otherwise it is not indented. */
static bool is_indented(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain,
			enum wtl_top_detail detail)
{
	const struct wtl_top_view *view = picture->view;

	/* At most as many levels as domains. */
	for (size_t i = 0; domain && domain->inside[0] && i < view->n_domains; i++) {
		domain = wtl_top_find_domain(view, domain->inside);
		if (domain && is_shown(picture, domain, detail))
			return true;
	}
	return false;
}

/* GPUs without an energy domain have rows of their own. */
static bool has_domain(const struct wtl_top_view *view, size_t gpu)
{
	for (size_t i = 0; i < view->n_domains; i++)
		if (view->domains[i].gpu == (int)gpu)
			return true;
	return false;
}

static bool has_header(const struct wtl_top_picture *picture)
{
	return picture->canvas->columns >= HEADER_MIN;
}

int wtl_top_domains_height(const struct wtl_top_picture *picture, enum wtl_top_detail detail)
{
	const struct wtl_top_view *view = picture->view;
	int height = has_header(picture);

	if (detail == WTL_TOP_SUMMARY)
		return view->n_domains > 0;
	for (size_t i = 0; i < view->n_domains; i++)
		height += is_shown(picture, &view->domains[i], detail);
	for (size_t i = 0; i < view->n_gpus; i++)
		height += !has_domain(view, i);
	return height;
}

/* ---- Which columns there are ---- */

/* The value of a GPU's column; false: not known. */
static bool number(const struct wtl_top_gpu *gpu, enum column column, uint64_t *ret)
{
	const struct wtl_gpu_value *value = &gpu->numbers[column_info[column].number];

	/* Other vendors' GPUs have no separate clock of multiprocessors. */
	if (column == CLOCK && value->status != WATTLE_STATUS_OK)
		value = &gpu->numbers[WTL_TOP_GPU_CLOCK_GRAPHICS_MHZ];
	*ret = value->value;
	return gpu->status == WATTLE_STATUS_OK && value->status == WATTLE_STATUS_OK;
}

/* A full bar is the highest limit of counted domains, or their highest power without limits. */
static void want_of_domain(const struct wtl_top_picture *picture,
			   const struct wtl_top_domain *domain, struct columns *columns,
			   bool wanted[COLUMNS])
{
	int name = wtl_text_width(domain->name) +
		   (is_indented(picture, domain, columns->detail) ? INDENT : 0);
	uint64_t most_uw = domain->energy.has_power ? domain->energy.max_uw : 0;

	if (name > columns->name_width)
		columns->name_width = name < NAME_MAX_WIDTH ? name : NAME_MAX_WIDTH;
	if (!domain->has_power)
		return;
	if (domain->power_uw > most_uw)
		most_uw = domain->power_uw;
	most_uw = domain->limit_uw ? domain->limit_uw : wtl_top_round_up(most_uw);
	if (domain->in_total && most_uw > columns->full_uw)
		columns->full_uw = most_uw;
	wanted[IDLE] |= domain->idle.is_known;
	wanted[LIMIT] |= domain->limit_uw > 0;
}

static void find_wanted(const struct wtl_top_picture *picture, struct columns *columns,
			bool wanted[COLUMNS])
{
	const struct wtl_top_view *view = picture->view;
	uint64_t value;

	wanted[POWER] = wanted[PLUS] = wanted[ENERGY] = wanted[HOURS] = wanted[REMARK] = true;
	wanted[BAR] = has_header(picture);
	for (size_t i = 0; i < view->n_domains; i++)
		if (is_shown(picture, &view->domains[i], columns->detail))
			want_of_domain(picture, &view->domains[i], columns, wanted);
	for (size_t i = 0; i < view->n_gpus; i++)
		for (int c = GPU_COLUMNS; c < REMARK; c++)
			if (number(&view->gpus[i], (enum column)c, &value)) {
				wanted[c] = true;
				wanted[REMARK] = false;
			}
}

static int width_of(int column, int screen)
{
	/* The bar and a column for its limit; wider on wide screens. */
	if (column == BAR)
		return BAR_MIN + 1 + (screen > 60 ? (screen - 60) / 6 : 0);
	return column_info[column].width;
}

static void find_columns(const struct wtl_top_picture *picture, enum wtl_top_detail detail,
			 struct columns *columns)
{
	bool wanted[COLUMNS] = {false};
	int screen = picture->canvas->columns, left, at, least;

	*columns = (struct columns){.detail = detail, .name_width = 6, .full_uw = 1000000};
	find_wanted(picture, columns, wanted);
	at = NAME + columns->name_width + 1;
	for (;;) {
		left = screen - at;
		least = POWER;
		for (int c = 0; c < COLUMNS; c++) {
			left -= wanted[c] ? width_of(c, screen) + (c > POWER) : 0;
			if (wanted[c] && column_info[c].keep < column_info[least].keep)
				least = c;
		}
		if (left >= 0 || least == POWER)
			break;
		wanted[least] = false;
	}
	/* The bar takes what is left. */
	columns->bar_width = width_of(BAR, screen) - 1 + (left > 0 ? left : 0);
	for (int c = 0; c < COLUMNS; c++) {
		if (!wanted[c])
			continue;
		columns->at[c] = at;
		at += (c == BAR ? columns->bar_width + 1 : column_info[c].width) + 1;
		if (c >= GPU_COLUMNS && !columns->rest)
			columns->rest = columns->at[c];
	}
}

/* ---- GPUs' figures ---- */

static const char *slowed_by(uint64_t reasons)
{
	static const struct {
		enum wtl_gpu_throttle bit;
		const char *word;
	} words[] = {
		{WTL_THROTTLE_HW_THERMAL, "heat (hw)"},
		{WTL_THROTTLE_SW_THERMAL, "heat"},
		{WTL_THROTTLE_HW_POWER_BRAKE, "brake"},
		{WTL_THROTTLE_HW_SLOWDOWN, "hardware"},
		{WTL_THROTTLE_SW_POWER_CAP, "power cap"},
		{WTL_THROTTLE_SYNC_BOOST, "sync"},
		{WTL_THROTTLE_APPLICATION_CLOCKS, "app clock"},
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (reasons & words[i].bit)
			return words[i].word;
	return NULL;
}

/* "34.1G/80.0G"; only the first if the second is not known. */
static const char *pair_text(const struct wtl_top_gpu *gpu, enum wtl_top_gpu_number second,
			     uint64_t first, char text[WTL_FIGURE_MAX])
{
	char one[WTL_FIGURE_MAX], two[WTL_FIGURE_MAX];
	bool is_known = gpu->numbers[second].status == WATTLE_STATUS_OK;

	return wtl_figure_join(text, WTL_FIGURE_MAX, wtl_figure_bytes(one, first),
			       is_known ? "/" : "",
			       is_known ? wtl_figure_bytes(two, gpu->numbers[second].value) : "");
}

static const char *number_text(const struct wtl_top_gpu *gpu, enum column column, uint64_t value,
			       char text[WTL_FIGURE_MAX])
{
	char one[WTL_FIGURE_MAX], two[WTL_FIGURE_MAX];

	if (column == SLOWED)
		return slowed_by(value);
	if (column == MEMORY)
		return pair_text(gpu, WTL_TOP_GPU_MEMORY_TOTAL_BYTES, value, text);
	if (column == PCIE)
		return pair_text(gpu, WTL_TOP_GPU_PCIE_TX_BYTES_PER_S, value, text);
	if (column == LINK)
		return wtl_figure_join(
			text, WTL_FIGURE_MAX, wtl_figure_whole(one, (double)value), "x",
			wtl_figure_whole(two, (double)gpu->numbers[WTL_TOP_GPU_PCIE_WIDTH].value));
	if (column == STATE)
		return wtl_figure_join(text, WTL_FIGURE_MAX, "P",
				       wtl_figure_whole(one, (double)value), "");
	return wtl_figure_whole(text, (double)value);
}

static void draw_numbers(const struct wtl_top_picture *picture, const struct wtl_top_gpu *gpu,
			 int row, const struct columns *columns)
{
	uint64_t value, reasons = 0;
	bool is_slowed = number(gpu, SLOWED, &reasons) && slowed_by(reasons);
	char text[WTL_FIGURE_MAX];

	for (int c = GPU_COLUMNS; c < REMARK; c++) {
		enum column column = (enum column)c;
		bool is_bad = column == TEMPERATURE &&
			      gpu->numbers[WTL_TOP_GPU_TEMPERATURE_C].value >= HOT_C;
		const char *shown;

		if (!columns->at[c] || !number(gpu, column, &value))
			continue;
		shown = number_text(gpu, column, value, text);
		if (shown)
			put(picture, row, columns, column,
			    is_bad			   ? WTL_STYLE_BAD
			    : column == CLOCK && is_slowed ? WTL_STYLE_WARN
							   : column_info[c].style,
			    shown);
	}
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

/* How long GPUs have not answered, if that is too long; else 0. */
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

/* A GPU's figures besides power. */
static void draw_gpu(const struct wtl_top_picture *picture, const struct wtl_top_gpu *gpu, int row,
		     const struct columns *columns)
{
	struct wtl_top_line line = {.canvas = picture->canvas,
				    .row = row,
				    .at = columns->rest,
				    .end = columns->rest ? picture->canvas->columns : 0};
	const char *trouble = gpu_trouble(gpu->status);

	if (trouble)
		wtl_top_line_put(&line,
				 gpu->status == WATTLE_STATUS_ASLEEP ? WTL_STYLE_FAINT
								     : WTL_STYLE_BAD,
				 trouble);
	else if (stuck_ns(picture))
		put_stuck(picture, &line);
	else
		draw_numbers(picture, gpu, row, columns);
}

/* ---- Bars ---- */

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

/* All bars have one scale, to be compared; the limit is a mark on it. */
static void draw_bar(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain,
		     int row, const struct columns *columns)
{
	uint64_t full = columns->full_uw, width = (uint64_t)columns->bar_width;
	uint64_t filled = domain->power_uw / 1000 * width * 8 / (full / 1000);
	uint64_t idle =
		domain->idle.is_known ? domain->idle.idle_uw / 1000 * width / (full / 1000) : 0;
	bool is_over = domain->limit_uw && domain->power_uw > domain->limit_uw;
	int at = columns->at[BAR];

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
		wtl_canvas_put(picture->canvas, row,
			       at + (int)(domain->limit_uw / 1000 * width / (full / 1000)),
			       picture->canvas->ascii ? '|' : 0x2502, WTL_STYLE_LIMIT);
}

/* ---- Rows ---- */

/* Why there is no power, and how to get it. A GPU may have all other numbers. */
static void draw_trouble(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain,
			 const struct columns *columns, struct wtl_top_line *line)
{
	const struct wtl_top_gpu *gpu = domain->gpu >= 0 ? &picture->view->gpus[domain->gpu] : NULL;
	enum wattle_status status = domain->status;
	bool is_bad = status != WATTLE_STATUS_ASLEEP && status != WATTLE_STATUS_ABSENT &&
		      status != WATTLE_STATUS_OK;

	/* The reason is not shown in that case. */
	if (gpu && stuck_ns(picture)) {
		put_stuck(picture, line);
		return;
	}
	if (gpu && gpu->status == WATTLE_STATUS_OK && columns->rest) {
		line->end = columns->rest - 1;
		draw_numbers(picture, gpu, line->row, columns);
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
		wtl_figure_join(plus, sizeof(plus), "±", wtl_figure_watts_wide(text, plus_uw), "");
		/* "+-" is one column wider. */
		if (picture->canvas->ascii && wtl_text_width(plus) >= column_info[PLUS].width)
			wtl_figure_join(plus, sizeof(plus), "±",
					wtl_figure_whole(text, (double)plus_uw / 1e6), "");
		put(picture, row, columns, PLUS, WTL_STYLE_FAINT, plus);
	}
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
		if (figures[i].is_known)
			put(picture, row, columns, figures[i].column,
			    column_info[figures[i].column].style,
			    figures[i].print(text, figures[i].value));
}

/* What makes the figure doubtful, or else its source. */
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

/* Is its power doubtful? If there is room, a remark gives the reason. */
static bool is_doubtful(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain)
{
	return (domain->status != WATTLE_STATUS_OK && domain->status != WATTLE_STATUS_GAP) ||
	       (domain->energy.flags & WATTLE_ENERGY_DISAGREES) ||
	       (domain->gpu >= 0 && gpu_trouble(picture->view->gpus[domain->gpu].status));
}

static void draw_domain(const struct wtl_top_picture *picture, const struct wtl_top_domain *domain,
			int row, const struct columns *columns)
{
	struct wtl_top_line line = {
		.canvas = picture->canvas,
		.row = row,
		.at = NAME + (is_indented(picture, domain, columns->detail) ? INDENT : 0),
		.end = columns->at[POWER] - 1};
	char text[WTL_FIGURE_MAX], watts[WTL_FIGURE_MAX + 4];

	wtl_top_line_put(&line,
			 domain->in_total ? wtl_top_kind_style(domain->kind) : WTL_STYLE_FAINT,
			 domain->name);
	line.at = columns->at[POWER];
	line.end = picture->canvas->columns;
	if (!domain->has_power) {
		draw_trouble(picture, domain, columns, &line);
		return;
	}
	wtl_figure_join(watts, sizeof(watts),
			wtl_top_mark(domain->method == WATTLE_METHOD_MODELLED),
			wtl_figure_watts_wide(text, domain->power_uw), " W");
	put(picture, row, columns, POWER,
	    is_doubtful(picture, domain) ? WTL_STYLE_WARN
	    : domain->in_total		 ? WTL_STYLE_STRONG
					 : WTL_STYLE_FAINT,
	    watts);
	draw_figures(picture, domain, row, columns);
	/* A domain outside the total may have more than all inside. */
	if (columns->at[BAR] && (domain->in_total || domain->power_uw <= columns->full_uw))
		draw_bar(picture, domain, row, columns);
	line.at = columns->rest;
	if (domain->gpu >= 0)
		draw_gpu(picture, &picture->view->gpus[domain->gpu], row, columns);
	else if (columns->rest)
		draw_remark(domain, &line);
}

static void draw_header(const struct wtl_top_picture *picture, int row,
			const struct columns *columns)
{
	struct wtl_canvas *canvas = picture->canvas;
	int at = columns->at[BAR];
	char text[WTL_FIGURE_MAX];

	wtl_canvas_fill(canvas, row, 0, canvas->columns, ' ', WTL_STYLE_HEADER);
	wtl_canvas_text(canvas, row, NAME, columns->at[POWER] - NAME, WTL_STYLE_HEADER, "DOMAIN");
	for (int i = 0; i < COLUMNS; i++)
		put(picture, row, columns, (enum column)i, WTL_STYLE_HEADER, column_info[i].title);
	if (at) {
		wtl_canvas_put(canvas, row, at, '0', WTL_STYLE_HEADER);
		snprintf(text, sizeof(text), "%g W", (double)columns->full_uw / 1e6);
		wtl_canvas_right(canvas, row, at + 1, columns->bar_width, WTL_STYLE_HEADER, text);
	}
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

/* A GPU without an energy domain: its name takes the place of power. */
static void draw_lone_gpu(const struct wtl_top_picture *picture, const struct wtl_top_gpu *gpu,
			  int row, const struct columns *columns)
{
	struct wtl_canvas *canvas = picture->canvas;
	int at = columns->at[POWER], end = columns->rest ? columns->rest : canvas->columns;

	wtl_canvas_printf(canvas, row, NAME, at - NAME - 1, WTL_STYLE_GPU, "gpu-%u", gpu->index);
	wtl_canvas_text(canvas, row, at, end - at - 1, WTL_STYLE_FAINT, gpu->name);
	draw_gpu(picture, gpu, row, columns);
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
	find_columns(picture, detail, &columns);
	if (has_header(picture))
		draw_header(picture, row++, &columns);
	for (size_t i = 0; i < view->n_domains && row < end; i++)
		if (is_shown(picture, &view->domains[i], detail))
			draw_domain(picture, &view->domains[i], row++, &columns);
	for (size_t i = 0; i < view->n_gpus && row < end; i++)
		if (!has_domain(view, i))
			draw_lone_gpu(picture, &view->gpus[i], row++, &columns);
}
