/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/buf.h"
#include "document/format.h"
#include "text/layout.h"
#include "smi/smi.h"
#include "smi/field.h"

/* `wattle query` as text: a line per GPU, like gpustat, and one for the other domains. */

enum { NAMES_MAX_BYTES = 4096 };

/* As in gpustat: notable values stand out. */
#define CYAN	"\033[36m"
#define RED	"\033[31m"
#define GREEN	"\033[32m"
#define MAGENTA "\033[35m"
#define YELLOW	"\033[33m"
#define PLAIN	"\033[0m"
enum { HOT_C = 80, BUSY_PERCENT = 30 };

struct page {
	struct wtl_buf *buf;
	const struct wtl_look *look;
	const struct wtl_output_style *style;
	size_t name_width;
};

static void put_color(const struct page *page, const char *color)
{
	if (page->style->color)
		wtl_buf_puts(page->buf, color);
}

/* Returns its columns. */
static size_t put_name(struct wtl_buf *buf, const struct wtl_gpu *gpu,
		       const struct wtl_output_style *style)
{
	size_t start = buf->len;

	wtl_layout_text(buf, gpu->name[0] ? gpu->name : "?", style);
	return wtl_layout_columns(wtl_buf_str(buf) + start, buf->len - start);
}

static size_t name_width(const struct wtl_look *look, const struct wtl_output_style *style)
{
	struct wtl_buf names;
	size_t width = 0;

	wtl_buf_init(&names, NAMES_MAX_BYTES);
	for (size_t i = 0; i < look->n_gpus; i++) {
		size_t columns = put_name(&names, &look->gpus[i], style);

		width = columns > width ? columns : width;
		wtl_buf_clear(&names);
	}
	wtl_buf_done(&names);
	return width;
}

static const struct {
	const char *before;
	const char *color;
	uint64_t from; /* lower values are not colored */
	enum wtl_gpu_number number;
	int width;
	uint64_t divisor;
	const char *unit, *end;
} figures[] = {
	{" ", RED, HOT_C, WTL_GPU_TEMPERATURE_C, 3, 1, "°C", PLAIN},
	{", ", GREEN, BUSY_PERCENT, WTL_GPU_USE_PERCENT, 3, 1, " %", PLAIN},
	{", ", MAGENTA, 0, WTL_GPU_POWER_UW, 3, 1000000, " / ", ""},
	{"", "", 0, WTL_GPU_LIMIT_UW, 3, 1000000, " W", PLAIN},
	{" |", YELLOW, 0, WTL_GPU_MEMORY_USED_BYTES, 6, 1 << 20, " / ", ""},
	{"", "", 0, WTL_GPU_MEMORY_TOTAL_BYTES, 5, 1 << 20, " MiB", PLAIN},
};

static void put_figures(const struct page *page, const struct wtl_gpu *gpu)
{
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		const struct wtl_gpu_value *figure = &gpu->numbers[figures[i].number];
		const bool known = figure->status == WATTLE_STATUS_OK;
		uint64_t value = known ? figure->value : 0, half = figures[i].divisor / 2;
		bool has_sign = !page->style->ascii || figures[i].number != WTL_GPU_TEMPERATURE_C;

		wtl_buf_puts(page->buf, figures[i].before);
		put_color(page, value >= figures[i].from ? figures[i].color : "");
		if (known)
			wtl_buf_printf(page->buf, "%*llu", figures[i].width,
				       (unsigned long long)((value + half) / figures[i].divisor));
		else
			wtl_buf_printf(page->buf, "%*s", figures[i].width, "-");
		wtl_buf_puts(page->buf, has_sign ? figures[i].unit : " C");
		put_color(page, figures[i].end);
	}
	wtl_buf_puts(page->buf, " |");
}

/* Encoder and decoder, while they are in use: most never are. */
static void put_video(const struct page *page, const struct wtl_gpu *gpu)
{
	static const struct {
		enum wtl_gpu_number number;
		const char *name;
	} engines[] = {{WTL_GPU_ENCODER_PERCENT, "enc"}, {WTL_GPU_DECODER_PERCENT, "dec"}};
	bool any = false;

	for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++) {
		const struct wtl_gpu_value *use = &gpu->numbers[engines[i].number];

		if (use->status != WATTLE_STATUS_OK || use->value == 0)
			continue;
		wtl_buf_puts(page->buf, any ? ", " : " ");
		put_color(page, GREEN);
		wtl_buf_printf(page->buf, "%s %llu %%", engines[i].name,
			       (unsigned long long)use->value);
		put_color(page, PLAIN);
		any = true;
	}
	wtl_buf_puts(page->buf, any ? " |" : "");
}

static void put_escaped(const struct page *page, const char *text)
{
	wtl_layout_text(page->buf, text, page->style);
}

static void put_process(const struct page *page, const struct wtl_gpu_process *process)
{
	const struct wtl_look *look = page->look;
	const char *user = look->user ? look->user(look->user_context, process) : NULL;
	const char *program = wtl_smi_process_program(process), *slash = strrchr(program, '/');

	wtl_buf_putc(page->buf, ' ');
	put_escaped(page, user ? user : "");
	wtl_buf_puts(page->buf, user ? ":" : "");
	put_escaped(page, slash ? slash + 1 : program);
	wtl_buf_printf(page->buf, program[0] ? "/%d" : "pid %d", process->pid);
	if (process->memory_bytes != UINT64_MAX)
		wtl_buf_printf(page->buf, "(%lluM)",
			       (unsigned long long)wtl_smi_to_mib(process->memory_bytes));
}

static const char *status_words(const struct wtl_gpu *gpu)
{
	if (gpu->trouble[0])
		return gpu->trouble;
	if (gpu->status == WATTLE_STATUS_GONE)
		return "lost";
	if (gpu->status == WATTLE_STATUS_ASLEEP)
		return "asleep";
	return wattle_status_name(gpu->status);
}

static void put_gpu(const struct page *page, const struct wtl_gpu *gpu)
{
	size_t columns;

	put_color(page, CYAN);
	wtl_buf_printf(page->buf, "[%u]", gpu->index);
	put_color(page, PLAIN);
	wtl_buf_putc(page->buf, ' ');
	columns = put_name(page->buf, gpu, page->style);
	wtl_buf_printf(page->buf, "%*s |", (int)(page->name_width - columns), "");
	if (gpu->status != WATTLE_STATUS_OK && gpu->status != WATTLE_STATUS_STALE) {
		put_color(page, RED);
		wtl_buf_putc(page->buf, ' ');
		put_escaped(page, status_words(gpu));
		put_color(page, PLAIN);
		wtl_buf_putc(page->buf, '\n');
		return;
	}
	put_figures(page, gpu);
	put_video(page, gpu);
	for (size_t i = 0; i < gpu->n_processes; i++)
		put_process(page, &gpu->processes[i]);
	wtl_buf_putc(page->buf, '\n');
}

/* The total's domains except GPUs, which have lines of their own. */
static bool is_told(const struct wattle_domain *domain)
{
	return domain->in_total && domain->kind != WATTLE_KIND_GPU &&
	       domain->kind != WATTLE_KIND_GPU_MEMORY;
}

static void put_domain(const struct page *page, const struct wattle_domain *domain,
		       const struct wtl_look_meter *meter)
{
	put_escaped(page, domain->name);
	if (!meter->has_power && domain->status != WATTLE_STATUS_OK) {
		put_color(page, RED);
		wtl_buf_printf(page->buf, " %s", wattle_status_name(domain->status));
	} else if (!meter->has_power) {
		put_color(page, MAGENTA);
		wtl_buf_puts(page->buf, " - W");
	} else {
		put_color(page, MAGENTA);
		wtl_buf_puts(page->buf, domain->method == WATTLE_METHOD_MODELLED ? " ~ " : " ");
		wtl_format_measure(page->buf, meter->power_uw, meter->power_uncertainty_uw,
				   WTL_FORMAT_W, page->style->ascii);
	}
	put_color(page, PLAIN);
}

static void put_domains(const struct page *page)
{
	const struct wtl_look *look = page->look;
	size_t shown = 0, waiting = 0;

	if (!look->domain_meters)
		return;
	for (size_t i = 0; i < look->n_domains; i++) {
		const struct wattle_domain *domain = &look->domains[i].domain;

		if (!is_told(domain))
			continue;
		wtl_buf_puts(page->buf, shown++ ? ", " : "");
		put_domain(page, domain, &look->domain_meters[i]);
		waiting += domain->status == WATTLE_STATUS_OK && !look->domain_meters[i].has_power;
	}
	if (waiting)
		wtl_buf_puts(page->buf, " (-: its sensor has not moved yet: see --watch)");
	if (!shown)
		wtl_buf_puts(page->buf, "no power of CPUs and memory: see wattle doctor");
	wtl_buf_putc(page->buf, '\n');
}

int wtl_look_lines(struct wtl_buf *buf, const struct wtl_look *look,
		   const struct wtl_output_style *style)
{
	const struct page page = {
		.buf = buf, .look = look, .style = style, .name_width = name_width(look, style)};

	for (size_t i = 0; i < look->n_gpus; i++)
		put_gpu(&page, &look->gpus[i]);
	if (look->n_gpus == 0) {
		wtl_buf_puts(buf, "no GPU");
		if (look->trouble && look->trouble[0])
			wtl_buf_puts(buf, ": ");
		put_escaped(&page, look->trouble ? look->trouble : "");
		wtl_buf_putc(buf, '\n');
	}
	put_domains(&page);
	return buf->error;
}
