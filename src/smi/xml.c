/* SPDX-License-Identifier: MIT */
#include "smi/xml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/units.h"
#include "document/format.h"
#include "smi/smi.h"
#include "smi/field.h"

enum { VALUE_MAX = 4096 };

static void put_indent(struct wtl_buf *buf, size_t depth)
{
	while (depth-- > 0)
		wtl_buf_putc(buf, '\t');
}

static void put_leaf(struct wtl_buf *buf, size_t depth, const char *name, size_t name_len,
		     const char *value)
{
	put_indent(buf, depth);
	wtl_buf_printf(buf, "<%.*s>", (int)name_len, name);
	wtl_format_xml(buf, value);
	wtl_buf_printf(buf, "</%.*s>\n", (int)name_len, name);
}

static void put_text(struct wtl_buf *buf, size_t depth, const char *name, const char *text)
{
	char clean[VALUE_MAX];

	wtl_text_clean(clean, sizeof(clean), text, strlen(text));
	put_leaf(buf, depth, name, strlen(name), clean[0] ? clean : "N/A");
}

static void put_number(struct wtl_buf *buf, size_t depth, const char *name, uint64_t value,
		       bool known, const char *suffix)
{
	char text[64] = "N/A";

	if (known)
		snprintf(text, sizeof(text), "%llu%s", (unsigned long long)value, suffix);
	put_leaf(buf, depth, name, strlen(name), text);
}

/* A value that could not be made is no value of the document's either. */
static void end_value(struct wtl_buf *buf, struct wtl_buf *value)
{
	if (value->error && !buf->error)
		buf->error = value->error;
	wtl_buf_done(value);
}

static void put_tag(struct wtl_buf *buf, size_t depth, const char *slash, const char *name,
		    size_t len)
{
	put_indent(buf, depth);
	wtl_buf_printf(buf, "<%s%.*s>\n", slash, (int)len, name);
}

static void put_migs(struct wtl_buf *buf, size_t depth, const struct wtl_gpu *gpu)
{
	if (gpu->n_migs == 0) {
		put_text(buf, depth, "mig_devices", "None");
		return;
	}
	put_tag(buf, depth, "", "mig_devices", 11);
	for (size_t i = 0; i < gpu->n_migs; i++) {
		const struct wtl_gpu_mig *mig = &gpu->migs[i];
		bool knows_used = mig->memory_used_bytes != UINT64_MAX;

		put_tag(buf, depth + 1, "", "mig_device", 10);
		put_number(buf, depth + 2, "index", mig->index, true, "");
		put_number(buf, depth + 2, "gpu_instance_id", mig->instance,
			   mig->instance != UINT32_MAX, "");
		put_number(buf, depth + 2, "compute_instance_id", mig->compute_instance,
			   mig->compute_instance != UINT32_MAX, "");
		put_tag(buf, depth + 2, "", "fb_memory_usage", 15);
		put_number(buf, depth + 3, "total", wtl_smi_to_mib(mig->memory_total_bytes),
			   mig->memory_total_bytes != UINT64_MAX, " MiB");
		put_number(buf, depth + 3, "used", wtl_smi_to_mib(mig->memory_used_bytes),
			   knows_used, " MiB");
		put_tag(buf, depth + 2, "/", "fb_memory_usage", 15);
		put_tag(buf, depth + 1, "/", "mig_device", 10);
	}
	put_tag(buf, depth, "/", "mig_devices", 11);
}

static void put_processes(struct wtl_buf *buf, size_t depth, const struct wtl_gpu *gpu)
{
	const struct wtl_gpu_process **sorted = wtl_smi_processes_by_pid(gpu);

	if (!sorted) {
		buf->error = -ENOMEM;
		return;
	}
	put_tag(buf, depth, "", "processes", 9);
	for (size_t i = 0; i < gpu->n_processes; i++) {
		const struct wtl_gpu_process *process = sorted[i];

		put_tag(buf, depth + 1, "", "process_info", 12);
		put_number(buf, depth + 2, "gpu_instance_id", process->instance,
			   process->instance != UINT32_MAX, "");
		put_number(buf, depth + 2, "compute_instance_id", process->compute_instance,
			   process->compute_instance != UINT32_MAX, "");
		put_number(buf, depth + 2, "pid", (uint64_t)process->pid, process->pid > 0, "");
		put_text(buf, depth + 2, "type", wtl_smi_process_type(process));
		put_text(buf, depth + 2, "process_name", wtl_smi_process_program(process));
		put_number(buf, depth + 2, "used_memory", wtl_smi_to_mib(process->memory_bytes),
			   process->memory_bytes != UINT64_MAX, " MiB");
		put_tag(buf, depth + 1, "/", "process_info", 12);
	}
	put_tag(buf, depth, "/", "processes", 9);
	free(sorted);
}

const struct wtl_smi_field *wtl_smi_element_field(const struct wtl_smi_element *element)
{
	const char *name = element->field + (element->field[0] == '^');

	return wtl_smi_field_find(&wtl_smi_query_gpu, name, strlen(name));
}

/* What stands before the first point of a version; 0: not known. */
static uint64_t major_of(const char *version)
{
	uint64_t major;

	return wtl_num_u64(version, strcspn(version, "."), &major) == 0 ? major : 0;
}

static bool has_remapped_rows(const struct wtl_gpu *gpu)
{
	static const enum wtl_gpu_number numbers[] = {
		WTL_GPU_REMAPPED_CORRECTABLE,	WTL_GPU_REMAPPED_CORRECTABLE_INACTIVE,
		WTL_GPU_REMAPPED_UNCORRECTABLE, WTL_GPU_REMAPPED_UNCORRECTABLE_INACTIVE,
		WTL_GPU_REMAPPED_PENDING,	WTL_GPU_REMAPPED_FAILURE,
		WTL_GPU_REMAPPED_MAX,		WTL_GPU_REMAPPED_HIGH,
		WTL_GPU_REMAPPED_PARTIAL,	WTL_GPU_REMAPPED_LOW,
		WTL_GPU_REMAPPED_NONE};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (gpu->numbers[numbers[i]].status != WATTLE_STATUS_ABSENT)
			return true;
	return gpu->status != WATTLE_STATUS_OK;
}

/*
 * When an element is there. OLD_SRAM: of GPUs before Ampere, which have fewer counts; SRAM: of all others.
 * MARGIN: limits are told as what is left to them.
 */
enum condition {
	SRAM,
	OLD_SRAM,
	SINCE_595,
	REMAPPED_SINCE_595,
	REMAPPED,
	NOT_REMAPPED,
	MARGIN,
	NO_MARGIN
};

/* By what paths begin with. */
static const struct {
	const char *path;
	enum condition condition;
} conditions[] = {
	{"ECC Errors/Volatile/SRAM Uncorrectable ", SRAM},
	{"ECC Errors/Aggregate/SRAM Uncorrectable ", SRAM},
	{"ECC Errors/Volatile/SRAM Uncorrectable", OLD_SRAM},
	{"ECC Errors/Aggregate/SRAM Uncorrectable", OLD_SRAM},
	{"ECC Errors/Aggregate/SRAM Threshold Exceeded", SRAM},
	{"ECC Errors/Aggregate Uncorrectable SRAM Sources/", SRAM},
	{"ECC Errors/Channel Repair Pending", SRAM},
	{"ECC Errors/TPC Repair Pending", SRAM},
	{"ECC Errors/Unrepairable Memory", SRAM},
	{"Remapped Rows/Inactive ", REMAPPED_SINCE_595},
	{"Remapped Rows/", REMAPPED},
	{"Remapped Rows", NOT_REMAPPED},
	{"Fabric/Health/Partition Assigned", SINCE_595},
	{"Temperature/GPU Shutdown T.Limit", MARGIN},
	{"Temperature/GPU Slowdown T.Limit", MARGIN},
	{"Temperature/GPU Max Operating T.Limit", MARGIN},
	{"Temperature/Memory Max Operating T.Limit", MARGIN},
	{"Temperature/GPU Shutdown", NO_MARGIN},
	{"Temperature/GPU Slowdown", NO_MARGIN},
	{"Temperature/GPU Max Operating", NO_MARGIN},
	{"Temperature/Memory Max Operating", NO_MARGIN},
	{"ecc_errors/volatile/sram_uncorrectable_", SRAM},
	{"ecc_errors/aggregate/sram_uncorrectable_", SRAM},
	{"ecc_errors/volatile/sram_uncorrectable", OLD_SRAM},
	{"ecc_errors/aggregate/sram_uncorrectable", OLD_SRAM},
	{"ecc_errors/aggregate/sram_threshold_exceeded", SRAM},
	{"ecc_errors/aggregate_uncorrectable_sram_sources/", SRAM},
	{"remapped_rows/", REMAPPED},
	{"remapped_rows", NOT_REMAPPED},
};

static bool holds(enum condition condition, const struct wtl_smi_row *row)
{
	const uint64_t capability = major_of(row->gpu->compute_capability);
	const bool is_old = capability > 0 && capability < 8;
	const bool has_margin =
		row->gpu->numbers[WTL_GPU_TEMPERATURE_MARGIN_C].status != WATTLE_STATUS_ABSENT;

	switch (condition) {
	case SRAM:
		return !is_old;
	case OLD_SRAM:
		return is_old;
	case SINCE_595:
		return major_of(row->look->driver) >= 595;
	case REMAPPED_SINCE_595:
		return major_of(row->look->driver) >= 595 && has_remapped_rows(row->gpu);
	case REMAPPED:
		return has_remapped_rows(row->gpu);
	case NOT_REMAPPED:
		return !has_remapped_rows(row->gpu);
	case MARGIN:
		return has_margin;
	case NO_MARGIN:
		return !has_margin;
	}
	return true;
}

bool wtl_smi_is_shown(const struct wtl_smi_element *element, const struct wtl_smi_row *row)
{
	for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++)
		if (wtl_text_starts(element->path, conditions[i].path))
			return holds(conditions[i].condition, row);
	return true;
}

void wtl_smi_put_value(struct wtl_buf *buf, const struct wtl_smi_element *element,
		       const struct wtl_smi_row *row)
{
	const struct wtl_smi_field *field = wtl_smi_element_field(element);
	struct wtl_smi_answer answer = wtl_smi_answer(WATTLE_STATUS_ABSENT);

	if (element->field[0] == '=') {
		wtl_buf_puts(buf, element->field + 1);
		return;
	}
	/* Compute capability 10 is Blackwell's. What the CSV tells of older ones is zeros. */
	if (field && (element->field[0] != '^' || major_of(row->gpu->compute_capability) >= 10))
		answer = field->kind->print(buf, row, field);
	if (answer.status != WATTLE_STATUS_OK) {
		const char *words = wtl_smi_unknown(answer);

		wtl_buf_puts(buf, words ? words : "N/A");
	} else if (element->suffix) {
		wtl_buf_puts(buf, element->suffix);
	} else if (field->unit) {
		wtl_buf_printf(buf, " %s", field->unit);
	}
}

static void put_field(struct wtl_buf *buf, size_t depth, const char *name,
		      const struct wtl_smi_element *element, const struct wtl_smi_row *row)
{
	struct wtl_buf value;

	wtl_buf_init(&value, VALUE_MAX);
	wtl_smi_put_value(&value, element, row);
	put_leaf(buf, depth, name, strlen(name), wtl_buf_str(&value));
	end_value(buf, &value);
}

size_t wtl_smi_shared_folders(const char *a, const char *b)
{
	size_t shared = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			shared = i + 1;
	return shared;
}

size_t wtl_smi_count_folders(const char *path, size_t from)
{
	size_t n = 0;

	for (const char *at = path + from; (at = strchr(at, '/')); at++)
		n++;
	return n;
}

/* Closes the folders of `from` that `to` is not in, and opens those that only `to` is in. */
static void walk(struct wtl_buf *buf, size_t depth, const char *from, const char *to)
{
	size_t shared = wtl_smi_shared_folders(from, to), open = wtl_smi_count_folders(from, 0);
	size_t keep = open - wtl_smi_count_folders(from, shared);
	const char *end = strrchr(from, '/');

	for (; open > keep; open--) {
		const char *begin = end;

		while (begin > from && begin[-1] != '/')
			begin--;
		put_tag(buf, depth + open - 1, "/", begin, (size_t)(end - begin));
		end = begin > from ? begin - 1 : begin;
	}
	for (const char *at = to + shared, *slash; (slash = strchr(at, '/')); at = slash + 1)
		put_tag(buf, depth + open++, "", at, (size_t)(slash - at));
}

static void put_gpu(struct wtl_buf *buf, const struct wtl_smi_row *row)
{
	const struct wtl_smi_element *element;
	const char *before = "";

	for (element = wtl_smi_elements; element->path; element++) {
		const char *name = strrchr(element->path, '/');
		size_t depth = 2 + wtl_smi_count_folders(element->path, 0);

		if (!wtl_smi_is_shown(element, row))
			continue;
		walk(buf, 2, before, element->path);
		before = element->path;
		name = name ? name + 1 : element->path;
		if (strcmp(element->field, "*mig") == 0)
			put_migs(buf, depth, row->gpu);
		else if (strcmp(element->field, "*processes") == 0)
			put_processes(buf, depth, row->gpu);
		else
			put_field(buf, depth, name, element, row);
	}
	walk(buf, 2, before, "");
}

bool wtl_smi_time(int64_t t_utc_ns, char *text, size_t size)
{
	time_t seconds = (time_t)(t_utc_ns / WTL_NS_PER_S);
	char made[64];
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !asctime_r(&tm, made))
		return false;
	made[strcspn(made, "\n")] = '\0';
	wtl_text_copy(text, size, made);
	return true;
}

static void put_timestamp(struct wtl_buf *buf, int64_t t_utc_ns)
{
	char text[64];

	if (wtl_smi_time(t_utc_ns, text, sizeof(text)))
		put_text(buf, 1, "timestamp", text);
	else
		buf->error = -EOVERFLOW;
}

static void put_id(struct wtl_buf *buf, const struct wtl_smi_row *row)
{
	const struct wtl_smi_field *field =
		wtl_smi_field_find(&wtl_smi_query_gpu, "pci.bus_id", 10);

	struct wtl_buf id;

	wtl_buf_init(&id, VALUE_MAX);
	if (field->kind->print(&id, row, field).status != WATTLE_STATUS_OK)
		wtl_buf_puts(&id, "N/A");
	wtl_buf_puts(buf, "\t<gpu id=\"");
	wtl_format_xml(buf, wtl_buf_str(&id));
	wtl_buf_puts(buf, "\">\n");
	end_value(buf, &id);
}

int wtl_smi_xml(struct wtl_buf *buf, const struct wtl_look *look)
{
	wtl_buf_puts(buf, "<?xml version=\"1.0\" ?>\n"
			  "<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n"
			  "<nvidia_smi_log>\n");
	put_timestamp(buf, look->t_utc_ns);
	put_text(buf, 1, "driver_version", look->driver);
	put_text(buf, 1, "cuda_version", look->cuda);
	put_number(buf, 1, "attached_gpus", look->n_attached, true, "");
	for (size_t i = 0; i < look->n_gpus; i++) {
		struct wtl_smi_row row = {.look = look, .gpu = &look->gpus[i]};

		put_id(buf, &row);
		put_gpu(buf, &row);
		wtl_buf_puts(buf, "\t</gpu>\n");
	}
	wtl_buf_puts(buf, "</nvidia_smi_log>\n");
	return buf->error;
}
