/* SPDX-License-Identifier: MIT */
/*
 * AIPowerMeter's power_metrics.json. Use and memory are those last read. What processes used is written with
 * the first line after it was billed, about once a second.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "commands/export/form.h"
#include "energy/units.h"
#include "meter/consumers.h"
#include "replay/device.h"

/* Rows of one line are closer to each other than this (as in an import). */
#define LINE_NS (250 * WTL_NS_PER_MS)

static bool is_gpu(const struct wattle_domain *domain)
{
	return domain->kind == WATTLE_KIND_GPU;
}

/* ---- Powers ---- */

static const struct {
	const char *name;
	enum wattle_kind kind;
} powers[] = {
	{"intel_power", WATTLE_KIND_CPU},      {"total_dram_power", WATTLE_KIND_DRAM},
	{"total_cpu_power", WATTLE_KIND_CORE}, {"uncore_power", WATTLE_KIND_UNCORE},
	{"psys_power", WATTLE_KIND_PLATFORM},
};

enum { POWERS = sizeof(powers) / sizeof(powers[0]) };

static bool has_power(const struct wattle_domain *domain)
{
	bool is_there = is_gpu(domain);

	for (size_t i = 0; i < POWERS; i++)
		is_there |= domain->kind == powers[i].kind;
	return is_there;
}

static bool power_of(const struct wtl_export *export, enum wattle_kind kind, double *ret_w)
{
	bool is_there = false;

	*ret_w = 0;
	for (size_t i = 0; i < export->history->n_domains; i++) {
		const struct wtl_export_part *part = &export->gathered->parts[i];

		if (!part->is_there || part->domain.kind != kind)
			continue;
		is_there = true;
		*ret_w += (double)part->power_uw / 1e6;
	}
	return is_there;
}

/* ---- GPUs ---- */

enum gpu_figure { POWER_W, MEMORY_BYTES, USE_PERCENT, USE_PART, IS_USED };

/* The recording is of the whole machine: all that was drawn and used belongs to it ("all"). */
enum gpu_form {
	EACH,
	EACH_AND_ALL, /* "0":20,"all":20 */
	ALL_OF_EACH,  /* "0":{"all":20}, the form for processes */
};

/* By the names of 2021 to 2025, and by those of 2026: each version's parser requires all of its own. */
static const struct {
	const char *name, *sum;
	enum gpu_figure figure;
	enum gpu_form form;
} gpu_fields[] = {
	{"per_gpu_power_draw", "nvidia_draw_absolute", POWER_W, EACH},
	{"per_gpu_attributable_power", NULL, POWER_W, EACH_AND_ALL},
	{"per_gpu_attributable_mem_use", NULL, MEMORY_BYTES, ALL_OF_EACH},
	{"per_gpu_absolute_percent_usage", NULL, USE_PART, EACH},
	{"per_gpu_estimated_attributable_utilization", NULL, IS_USED, EACH},
	{"per_gpu_nvidia_power", "nvidia_power", POWER_W, EACH},
	{"per_gpu_nvidia_memory", "nvidia_memory", MEMORY_BYTES, EACH},
	{"per_gpu_nvidia_use_rate", "nvidia_use_rate", USE_PERCENT, EACH},
};

enum { GPU_FIELDS = sizeof(gpu_fields) / sizeof(gpu_fields[0]) };

static bool figure_of(const struct wtl_export_part *part, const struct wtl_export_use *use,
		      enum gpu_figure figure, double *ret)
{
	if (figure == POWER_W)
		*ret = (double)part->power_uw / 1e6;
	else if (figure == MEMORY_BYTES)
		*ret = (double)use->memory_bytes;
	else if (figure == IS_USED)
		*ret = use->percent > 0;
	else
		*ret = (double)use->percent / (figure == USE_PART ? 100 : 1);
	return figure == POWER_W || (figure == MEMORY_BYTES ? use->has_memory : use->has_percent);
}

/* "0":20,"1":70, of known values. *ret_all: their sum, or of use in percent the mean; true: none is missing. */
static bool put_each_gpu(struct wtl_export *export, enum gpu_figure figure, enum gpu_form form,
			 double *ret_all)
{
	const char *before = form == ALL_OF_EACH ? "{\"all\":" : "";
	const char *after = form == ALL_OF_EACH ? "}" : "";
	size_t n_there = 0, n_known = 0;
	double sum = 0, value;

	for (size_t i = 0, n = 0; i < export->history->n_domains; i++) {
		const struct wtl_export_part *part = &export->gathered->parts[i];
		const struct wtl_export_use *use =
			export->gathered->is_begin ? &part->use_at_begin : &part->use;

		if (!is_gpu(&part->domain))
			continue;
		n_there += part->is_there;
		if (part->is_there && figure_of(part, use, figure, &value)) {
			wtl_buf_printf(&export->buf, "%s\"%zu\":%s%.15g%s", n_known++ ? "," : "", n,
				       before, value, after);
			sum += value;
		}
		n++;
	}
	*ret_all = figure == USE_PERCENT && n_known ? sum / (double)n_known : sum;
	return n_known == n_there;
}

static void put_gpus(struct wtl_export *export)
{
	struct wtl_buf *buf = &export->buf;
	double all;

	if (!power_of(export, WATTLE_KIND_GPU, &all))
		return;
	wtl_buf_puts(buf, ",\"gpu\":{\"per_gpu_per_pid_utilization_absolute\":{}");
	for (size_t i = 0; i < GPU_FIELDS; i++) {
		bool is_known;

		wtl_buf_printf(buf, ",\"%s\":{", gpu_fields[i].name);
		is_known = put_each_gpu(export, gpu_fields[i].figure, gpu_fields[i].form, &all);
		if (gpu_fields[i].form == EACH_AND_ALL)
			wtl_buf_printf(buf, ",\"all\":%.15g", all);
		wtl_buf_putc(buf, '}');
		if (gpu_fields[i].sum && is_known)
			wtl_buf_printf(buf, ",\"%s\":%.15g", gpu_fields[i].sum, all);
		else if (gpu_fields[i].sum)
			wtl_buf_printf(buf, ",\"%s\":null", gpu_fields[i].sum);
	}
	wtl_buf_putc(buf, '}');
}

/* ---- Processes ---- */

enum process_figure { CPU_PART, CPU_S, PSS_BYTES, USS_BYTES, PROCESS_FIGURES };

static const char *const process_names[PROCESS_FIGURES] = {
	[CPU_PART] = "per_process_cpu_uses",
	[CPU_S] = "absolute_cpu_time_per_pid",
	[PSS_BYTES] = "per_process_mem_use_abs",
	[USS_BYTES] = "per_process_mem_use_uss",
};

/* What each used since the last line with processes; returns the sum, which includes folded processes. */
static int64_t update_used(struct wtl_export *export)
{
	const struct wtl_consumers *consumers = export->history->consumers;
	struct wtl_export_gathered *line = export->gathered;
	size_t n = wtl_consumers_slots(consumers);
	int64_t before_ns = line->cpu_ns;

	if (wtl_array_widen(&line->used, &line->n_used, n, sizeof(line->used[0])) < 0) {
		export->buf.error = -ENOMEM;
		return 0;
	}
	line->cpu_ns = 0;
	for (size_t slot = 0; slot < n; slot++) {
		const struct wtl_consumer *consumer = wtl_consumers_get(consumers, slot);
		struct wtl_export_used *used = &line->used[slot];
		int64_t cpu_ns = consumer ? wtl_consumer_cpu_ns(consumer) : -1;
		bool goes_on = consumer && consumer->pid == used->pid &&
			       consumer->start_ns == used->start_ns && cpu_ns >= used->cpu_ns;

		used->since_ns = cpu_ns - (goes_on ? used->cpu_ns : 0);
		used->cpu_ns = cpu_ns > 0 ? cpu_ns : 0;
		used->pid = consumer ? consumer->pid : 0;
		used->start_ns = consumer ? consumer->start_ns : 0;
		line->cpu_ns += used->cpu_ns;
	}
	return line->cpu_ns - (line->cpu_ns >= before_ns ? before_ns : 0);
}

static bool process_figure_of(const struct wtl_consumer *consumer,
			      const struct wtl_export_used *used, enum process_figure figure,
			      int64_t sum_ns, double *ret)
{
	uint64_t bytes = figure == PSS_BYTES ? consumer->pss_bytes : consumer->uss_bytes;

	if (figure == CPU_PART || figure == CPU_S) {
		*ret = (double)used->since_ns / (figure == CPU_S ? 1e9 : (double)sum_ns);
		return used->since_ns > 0 && sum_ns > 0;
	}
	*ret = (double)bytes;
	return consumer->state == WTL_CONSUMER_LIVE && bytes != UINT64_MAX;
}

/* false: nothing is known. */
static bool put_each_process(struct wtl_export *export, enum process_figure figure, int64_t sum_ns,
			     const char *separator)
{
	const struct wtl_export_gathered *line = export->gathered;
	bool is_bytes = figure == PSS_BYTES || figure == USS_BYTES;
	double value;
	size_t n = 0;

	for (size_t slot = 0; slot < line->n_used; slot++) {
		const struct wtl_consumer *consumer =
			wtl_consumers_get(export->history->consumers, slot);

		if (!consumer || consumer->pid <= 0 ||
		    !process_figure_of(consumer, &line->used[slot], figure, sum_ns, &value))
			continue;
		if (n++ == 0)
			wtl_buf_printf(&export->buf, "%s\"%s\":{", separator,
				       process_names[figure]);
		wtl_buf_printf(&export->buf, "%s\"%d\":%.*g", n > 1 ? "," : "", consumer->pid,
			       is_bytes ? 15 : 9, value);
	}
	if (n > 0)
		wtl_buf_putc(&export->buf, '}');
	return n > 0;
}

/* ---- Lines ---- */

/* Local time without a zone, and microseconds. */
static void put_local(struct wtl_buf *buf, int64_t t_utc_ns)
{
	time_t seconds = (time_t)(t_utc_ns / WTL_NS_PER_S);
	char text[32];
	struct tm tm;

	if (!localtime_r(&seconds, &tm))
		return;
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	wtl_buf_printf(buf, "%s.%06d", text, (int)(t_utc_ns % WTL_NS_PER_S / 1000));
}

static void put_cpu(struct wtl_export *export)
{
	struct wtl_export_gathered *line = export->gathered;
	const struct wtl_export_use *machine =
		line->is_begin ? &line->machine_at_begin : &line->machine;
	const char *separator = "";
	double power_w;
	int64_t sum_ns;

	for (size_t i = 0; i < POWERS; i++) {
		if (!power_of(export, powers[i].kind, &power_w))
			continue;
		wtl_buf_printf(&export->buf, "%s\"%s\":%.9g", separator, powers[i].name, power_w);
		separator = ",";
	}
	if (machine->has_memory) {
		wtl_buf_printf(&export->buf, "%s\"total_mem_use\":%" PRIu64, separator,
			       machine->memory_bytes);
		separator = ",";
	}
	if (!line->is_billed || line->is_begin)
		return;
	line->is_billed = false;
	sum_ns = update_used(export);
	for (enum process_figure figure = 0; figure < PROCESS_FIGURES; figure++)
		if (put_each_process(export, figure, sum_ns, separator))
			separator = ",";
}

static void put_line(struct wtl_export *export, int64_t t_utc_ns)
{
	struct wtl_buf *buf = &export->buf;

	wtl_buf_puts(buf, "{\"date\":\"");
	put_local(buf, t_utc_ns);
	wtl_buf_puts(buf, "\",\"metrics\":{\"cpu\":{");
	put_cpu(export);
	wtl_buf_putc(buf, '}');
	put_gpus(export);
	wtl_buf_puts(buf, "}}\n");
}

/* A power is the mean since the line before: the first one needs a line before it, where its mean began. */
static void flush_line(struct wtl_export *export)
{
	struct wtl_export_gathered *line = export->gathered;

	if (!line->is_there)
		return;
	line->is_begin = line->has_begun && line->begin_utc_ns < line->t_utc_ns;
	if (line->is_begin)
		put_line(export, line->begin_utc_ns);
	line->is_begin = line->has_begun = false;
	line->has_others = true;
	put_line(export, line->t_utc_ns);
	for (size_t i = 0; i < export->history->n_domains; i++)
		line->parts[i].is_there = false;
	line->is_there = false;
}

/* The figures of all devices come at one time: those that are not among them are no longer known. */
static void forget_use(struct wtl_export *export, int64_t t_utc_ns)
{
	struct wtl_export_gathered *line = export->gathered;

	if (t_utc_ns == line->use_utc_ns)
		return;
	line->use_utc_ns = t_utc_ns;
	line->machine = (struct wtl_export_use){.has_memory = false};
	for (size_t i = 0; i < export->history->n_domains; i++)
		line->parts[i].use = (struct wtl_export_use){.has_memory = false};
}

static void take_use(struct wtl_export_use *use, struct wtl_export_use *at_begin,
		     const char *quantity, uint64_t value)
{
	if (strcmp(quantity, wtl_device_quantities[WTL_DEVICE_USE_PERCENT].name) == 0) {
		use->percent = value;
		use->has_percent = true;
	} else if (strcmp(quantity, wtl_device_quantities[WTL_DEVICE_MEMORY_USED_BYTES].name) ==
		   0) {
		use->memory_bytes = value;
		use->has_memory = true;
	}
	if (at_begin)
		*at_begin = *use;
}

static void put_device(struct wtl_export *export, const struct wtl_node *row, int64_t t_utc_ns)
{
	struct wtl_export_gathered *line = export->gathered;
	const char *device = wtl_export_text(row, "device");
	const char *quantity = wtl_export_text(row, "quantity");
	const struct wtl_node *value = wtl_node_get(row, "value");
	bool is_first = line->has_begun && !line->is_there;

	if (value->is_negative)
		return;
	if (line->is_there && t_utc_ns - line->t_utc_ns > LINE_NS)
		flush_line(export);
	forget_use(export, t_utc_ns);
	if (strcmp(device, "machine") == 0)
		take_use(&line->machine, is_first ? &line->machine_at_begin : NULL, quantity,
			 value->number);
	for (size_t i = 0; i < export->history->n_domains; i++) {
		struct wtl_export_part *part = &line->parts[i];

		if (is_gpu(&part->domain) && strcmp(part->domain.name, device) == 0)
			take_use(&part->use, is_first ? &part->use_at_begin : NULL, quantity,
				 value->number);
	}
}

static void put_aipowermeter(struct wtl_export *export, const struct wtl_node *row)
{
	struct wtl_export_gathered *line = export->gathered;
	struct wtl_export_part *part = wtl_export_part_of(export, row);
	const struct wtl_node *time = wtl_node_get(row, "t_utc");
	uint64_t power_uw;

	if (time && wtl_node_get(row, "quantity"))
		put_device(export, row, time->t_utc_ns);
	if (!part || !time)
		return;
	if (!wtl_export_micro(row, "power_w", &power_uw)) {
		if (!line->has_begun && !line->has_others)
			line->begin_utc_ns = time->t_utc_ns;
		line->has_begun = !line->has_others;
		return;
	}
	if (part->is_there || time->t_utc_ns - line->t_utc_ns > LINE_NS)
		flush_line(export);
	if (!line->is_there)
		line->t_utc_ns = time->t_utc_ns;
	line->is_there = part->is_there = true;
	part->power_uw = power_uw;
}

static void end_aipowermeter(struct wtl_export *export)
{
	flush_line(export);
	wtl_buf_puts(&export->buf, "\"END OF RECORDING SEGMENT\"\n");
}

static int take_bill(struct wtl_export *export, const struct wtl_played *played)
{
	export->gathered->is_billed |= played && played->kind == WTL_PLAYED_BILLED;
	return 0;
}

/* This table has no rows: what was billed is read when the line is written. */
static const struct wtl_export_table bills = {.take = take_bill};

const struct wtl_export_form wtl_export_aipowermeter = {
	.name = "aipowermeter",
	.tables = {&wtl_export_power, &wtl_export_devices, &bills, NULL},
	.has_place = has_power,
	.places = "packages, memory and GPUs",
	.row = put_aipowermeter,
	.end = end_aipowermeter,
};
