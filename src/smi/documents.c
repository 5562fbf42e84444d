/* SPDX-License-Identifier: MIT */
/* The documents of -q: text with titles, and with -x XML. Both walk the same fields. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/text.h"
#include "energy/units.h"
#include "document/format.h"
#include "smi/smi.h"
#include "smi/field.h"

/* Columns of the text's values; those of processes are further left. */
enum { VALUE_COLUMN = 55, PROCESS_COLUMN = 42, INDENT = 4 };
enum { VALUE_MAX = 4096 };

struct document {
	struct wtl_buf *buf;
	bool is_xml;
	unsigned sections;    /* of the text; 0: all */
	size_t column;	      /* of the text's values */
	struct wtl_buf value; /* the value being made */
};

/* ---- Folders and values ---- */

static void put_indent(struct document *document, size_t depth)
{
	if (document->is_xml)
		while (depth-- > 0)
			wtl_buf_putc(document->buf, '\t');
	else
		wtl_buf_printf(document->buf, "%*s", (int)(INDENT * depth), "");
}

static void open_folder(struct document *document, size_t depth, const char *name, size_t len)
{
	put_indent(document, depth);
	wtl_buf_printf(document->buf, document->is_xml ? "<%.*s>\n" : "%.*s\n", (int)len, name);
}

static void close_folder(struct document *document, size_t depth, const char *name, size_t len)
{
	if (!document->is_xml)
		return;
	put_indent(document, depth);
	wtl_buf_printf(document->buf, "</%.*s>\n", (int)len, name);
}

/* Writes what document->value holds. */
static void put_leaf(struct document *document, size_t depth, const char *name)
{
	struct wtl_buf *buf = document->buf;
	size_t begin = buf->len;

	if (document->value.error && !buf->error)
		buf->error = document->value.error;
	put_indent(document, depth);
	if (document->is_xml) {
		wtl_buf_printf(buf, "<%s>", name);
		wtl_format_xml(buf, wtl_buf_str(&document->value));
		wtl_buf_printf(buf, "</%s>\n", name);
		return;
	}
	wtl_buf_puts(buf, name);
	while (!buf->error && buf->len - begin < document->column)
		wtl_buf_putc(buf, ' ');
	wtl_buf_printf(buf, ": %s\n", wtl_buf_str(&document->value));
}

static void put_text(struct document *document, size_t depth, const char *name, const char *text)
{
	wtl_buf_clear(&document->value);
	wtl_smi_put_text(&document->value, text[0] ? text : "N/A");
	put_leaf(document, depth, name);
}

/* The length of the folders that two paths share. */
static size_t shared_folders(const char *a, const char *b)
{
	size_t shared = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			shared = i + 1;
	return shared;
}

static size_t count_folders(const char *path)
{
	size_t n = 0;

	for (; (path = strchr(path, '/')); path++)
		n++;
	return n;
}

/* Closes the folders of `from` that `to` is not in, and opens those that only `to` is in. */
static void walk(struct document *document, size_t depth, const char *from, const char *to)
{
	size_t shared = shared_folders(from, to), open = count_folders(from);
	size_t keep = open - count_folders(from + shared);
	const char *end = strrchr(from, '/');

	for (; open > keep; open--) {
		const char *begin = end;

		while (begin > from && begin[-1] != '/')
			begin--;
		close_folder(document, depth + open - 1, begin, (size_t)(end - begin));
		end = begin > from ? begin - 1 : begin;
	}
	for (const char *at = to + shared, *slash; (slash = strchr(at, '/')); at = slash + 1)
		open_folder(document, depth + open++, at, (size_t)(slash - at));
}

/* ---- Sections ---- */

/* As nvidia-smi names them, but for those of which it prints what wattle does not: SUPPORTED_CLOCKS,
 * SUPPORTED_GPU_TARGET_TEMP, VOLTAGE. */
const char *const wtl_smi_section_names[] = {
	"MEMORY",	   "UTILIZATION",    "ECC",	  "TEMPERATURE",  "POWER",
	"CLOCK",	   "COMPUTE",	     "PIDS",	  "PERFORMANCE",  "PAGE_RETIREMENT",
	"ACCOUNTING",	   "ENCODER_STATS",  "FBC_STATS", "ROW_REMAPPER", "GSP_FIRMWARE_VERSION",
	"POWER_SMOOTHING", "POWER_PROFILES", NULL,
};

/* The titles of each section, in the same order. */
static const char *const section_titles[][8] = {
	{"FB Memory Usage", "BAR1 Memory Usage", "Conf Compute Protected Memory Usage"},
	{"Utilization"},
	{"ECC Mode", "ECC Errors"},
	{"Temperature"},
	{"GPU Power Readings", "GPU Memory Power Readings ", "Module Power Readings"},
	{"Clocks", "Applications Clocks", "Default Applications Clocks", "Deferred Clocks",
	 "Max Clocks", "Max Customer Boost Clocks", "Clock Policy"},
	{"Compute Mode"},
	{"Processes"},
	{"Performance State", "Clocks Event Reasons", "Clocks Event Reasons Counters",
	 "Sparse Operation Mode"},
	{"Retired Pages"},
	{"Accounting Mode", "Accounting Mode Buffer Size"},
	{"Encoder Stats"},
	{"FBC Stats"},
	{"Remapped Rows"},
	{"GSP Firmware Version"},
	{"Power Smoothing"},
	{"Workload Power Profiles"},
};

enum { SECTIONS = sizeof(section_titles) / sizeof(section_titles[0]) };

int wtl_smi_sections_parse(const char *list, unsigned *ret_sections, const char **ret_bad,
			   size_t *ret_bad_len)
{
	unsigned sections = 0;

	for (const char *word = list; word;) {
		size_t len = strcspn(word, ","), i = 0;

		while (i < SECTIONS && (strlen(wtl_smi_section_names[i]) != len ||
					strncasecmp(word, wtl_smi_section_names[i], len) != 0))
			i++;
		if (i == SECTIONS) {
			*ret_bad = word;
			*ret_bad_len = len;
			return -EINVAL;
		}
		sections |= 1u << i;
		word = word[len] ? word + len + 1 : NULL;
	}
	*ret_sections = sections;
	return 0;
}

bool wtl_smi_sections_have(unsigned sections, const char *title)
{
	size_t len = strcspn(title, "/");

	for (size_t i = 0; i < SECTIONS; i++)
		for (size_t k = 0; sections >> i & 1 && section_titles[i][k]; k++)
			if (strlen(section_titles[i][k]) == len &&
			    strncmp(title, section_titles[i][k], len) == 0)
				return true;
	return sections == 0;
}

/* ---- What is shown ---- */

/* The major version; 0: not known. */
static uint64_t major_of(const char *version)
{
	uint64_t major;

	return wtl_num_u64(version, strcspn(version, "."), &major) == 0 ? major : 0;
}

/* Where a field is in the document; NULL: not there. */
static const char *path_of(const struct document *document, const struct wtl_smi_field *field,
			   const struct wtl_look *look)
{
	if (document->is_xml)
		return field->element;
	return field->title_of_610 && major_of(look->driver) >= 610 ? field->title_of_610
								    : field->title;
}

static bool has_remapped_rows(const struct wtl_gpu *gpu)
{
	for (const struct wtl_smi_field *field = wtl_smi_gpu_fields; !wtl_smi_is_end(field);
	     field++)
		if (field->when == WTL_SMI_REMAPPED &&
		    gpu->numbers[field->number].status != WATTLE_STATUS_ABSENT)
			return true;
	return gpu->status != WATTLE_STATUS_OK;
}

static bool is_shown(const struct document *document, const struct wtl_smi_field *field,
		     const struct wtl_smi_row *row)
{
	const struct wtl_gpu *gpu = row->gpu;
	const uint64_t capability = major_of(gpu->compute_capability);
	const bool is_old = capability > 0 && capability < 8;
	const bool has_margin =
		gpu->numbers[WTL_GPU_TEMPERATURE_MARGIN_C].status == WATTLE_STATUS_OK;

	if (!document->is_xml && major_of(row->look->driver) < field->title_since)
		return false;
	switch (field->when) {
	case WTL_SMI_ALWAYS:
	case WTL_SMI_BLACKWELL:
		break;
	case WTL_SMI_SRAM:
		return !is_old;
	case WTL_SMI_OLD_SRAM:
		return is_old;
	case WTL_SMI_REMAPPED:
		return has_remapped_rows(gpu);
	case WTL_SMI_NOT_REMAPPED:
		return !has_remapped_rows(gpu);
	case WTL_SMI_MARGIN:
		return has_margin;
	case WTL_SMI_NO_MARGIN:
		return !has_margin;
	}
	return true;
}

static void make_value(struct wtl_buf *value, const struct wtl_smi_field *field,
		       const struct wtl_smi_row *row)
{
	struct wtl_smi_answer answer = wtl_smi_answer(WATTLE_STATUS_ABSENT);

	wtl_buf_clear(value);
	/* Compute capability 10 is Blackwell. For older GPUs, the CSV has zeros where -q has "N/A". */
	if (field->when != WTL_SMI_BLACKWELL || major_of(row->gpu->compute_capability) >= 10)
		answer = wtl_smi_print(value, row, field);
	if (answer.status != WATTLE_STATUS_OK) {
		const char *words = wtl_smi_unknown(answer);

		wtl_buf_puts(value, words ? words : "N/A");
	} else if (field->suffix) {
		wtl_buf_puts(value, field->suffix);
	} else if (field->unit) {
		wtl_buf_printf(value, " %s", field->unit);
	}
}

/* ---- A GPU ---- */

static void put_fields(struct document *document, size_t depth, const struct wtl_smi_field *field,
		       const struct wtl_smi_row *row);

static void put_migs(struct document *document, size_t depth, const char *name,
		     struct wtl_smi_row row)
{
	const char *item = document->is_xml ? "mig_device" : name;
	size_t inner = depth + document->is_xml;

	if (document->is_xml && row.gpu->n_migs == 0) {
		put_text(document, depth, name, "None");
		return;
	}
	if (document->is_xml)
		open_folder(document, depth, name, strlen(name));
	for (size_t i = 0; i < row.gpu->n_migs; i++) {
		row.mig = &row.gpu->migs[i];
		open_folder(document, inner, item, strlen(item));
		put_fields(document, inner + 1, wtl_smi_mig_fields, &row);
		close_folder(document, inner, item, strlen(item));
	}
	close_folder(document, depth, name, strlen(name));
}

static void put_processes(struct document *document, size_t depth, const char *name,
			  struct wtl_smi_row row)
{
	static const char item[] = "process_info";
	const struct wtl_gpu_process **sorted;

	if (!document->is_xml && row.gpu->n_processes == 0) {
		put_text(document, depth, name, "None");
		return;
	}
	sorted = wtl_smi_processes_by_pid(row.gpu);
	if (!sorted) {
		document->buf->error = -ENOMEM;
		return;
	}
	document->column = PROCESS_COLUMN;
	open_folder(document, depth, name, strlen(name));
	for (size_t i = 0; i < row.gpu->n_processes; i++) {
		row.process = sorted[i];
		if (document->is_xml)
			open_folder(document, depth + 1, item, strlen(item));
		put_fields(document, depth + 1 + document->is_xml, wtl_smi_process_fields, &row);
		close_folder(document, depth + 1, item, strlen(item));
	}
	close_folder(document, depth, name, strlen(name));
	document->column = VALUE_COLUMN;
	free(sorted);
}

static void put_fields(struct document *document, size_t depth, const struct wtl_smi_field *field,
		       const struct wtl_smi_row *row)
{
	const char *before = "";

	for (; !wtl_smi_is_end(field); field++) {
		const char *path = path_of(document, field, row->look), *name;
		size_t at;

		if (!path || !is_shown(document, field, row))
			continue;
		if (!row->process && !row->mig && !wtl_smi_sections_have(document->sections, path))
			continue;
		walk(document, depth, before, path);
		before = path;
		at = depth + count_folders(path);
		name = strrchr(path, '/');
		name = name ? name + 1 : path;
		if (field->kind == &wtl_smi_migs) {
			put_migs(document, at, name, *row);
		} else if (field->kind == &wtl_smi_processes) {
			put_processes(document, at, name, *row);
		} else {
			make_value(&document->value, field, row);
			put_leaf(document, at, name);
		}
	}
	walk(document, depth, before, "");
}

/* ---- The documents ---- */

/* "Mon Oct 13 00:25:36 2025", as asctime() has it. */
static void put_time(struct document *document, size_t depth, const char *name, int64_t t_utc_ns)
{
	time_t seconds = (time_t)(t_utc_ns / WTL_NS_PER_S);
	char made[64];
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !asctime_r(&tm, made)) {
		document->buf->error = -EOVERFLOW;
		return;
	}
	made[strcspn(made, "\n")] = '\0';
	put_text(document, depth, name, made);
}

static void put_gpu(struct document *document, const struct wtl_smi_row *row)
{
	static const char bus_id[] = "pci.bus_id";
	struct wtl_buf *buf = document->buf;

	make_value(&document->value, wtl_smi_field_find(&wtl_smi_query_gpu, bus_id, strlen(bus_id)),
		   row);
	if (document->value.error)
		buf->error = document->value.error;
	wtl_buf_puts(buf, document->is_xml ? "\t<gpu id=\"" : "GPU ");
	if (document->is_xml)
		wtl_format_xml(buf, wtl_buf_str(&document->value));
	else
		wtl_buf_puts(buf, wtl_buf_str(&document->value));
	wtl_buf_puts(buf, document->is_xml ? "\">\n" : "\n");
	put_fields(document, document->is_xml ? 2 : 1, wtl_smi_gpu_fields, row);
	wtl_buf_puts(buf, document->is_xml ? "\t</gpu>\n" : "\n");
}

/* Driver 610 has new names for two versions, and marks the old ones as deprecated. */
static void put_versions(struct document *document, size_t depth, const struct wtl_look *look)
{
	static const char deprecated[] =
		"%s [Deprecated; will be removed in CUDA 14.0. Use %s Version instead]";
	const struct {
		const char *title, *element, *version, *newer;
	} rows[] = {
		{"Driver Version", "driver_version", look->driver, "KMD"},
		{"CUDA Version", "cuda_version", look->cuda, "CUDA UMD"},
		{"KMD Version", NULL, look->driver, NULL},
		{"CUDA UMD Version", NULL, look->cuda, NULL},
	};
	const bool is_new = !document->is_xml && major_of(look->driver) >= 610;
	char text[256];

	for (size_t i = 0; i < (is_new ? 4 : 2); i++) {
		const char *version = rows[i].version[0] ? rows[i].version : "N/A";

		snprintf(text, sizeof(text), is_new && rows[i].newer ? deprecated : "%s", version,
			 rows[i].newer);
		put_text(document, depth, document->is_xml ? rows[i].element : rows[i].title, text);
	}
}

static int put_document(struct wtl_buf *buf, const struct wtl_look *look, bool is_xml,
			unsigned sections)
{
	struct document document = {
		.buf = buf, .is_xml = is_xml, .sections = sections, .column = VALUE_COLUMN};
	size_t depth = is_xml;
	char attached[32];

	wtl_buf_init(&document.value, VALUE_MAX);
	snprintf(attached, sizeof(attached), "%zu", look->n_attached);
	wtl_buf_puts(buf, is_xml ? "<?xml version=\"1.0\" ?>\n"
				   "<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n"
				   "<nvidia_smi_log>\n"
				 : "\n==============NVSMI LOG==============\n\n");
	put_time(&document, depth, is_xml ? "timestamp" : "Timestamp", look->t_utc_ns);
	put_versions(&document, depth, look);
	wtl_buf_puts(buf, is_xml ? "" : "\n");
	put_text(&document, depth, is_xml ? "attached_gpus" : "Attached GPUs", attached);
	for (size_t i = 0; i < look->n_gpus; i++) {
		const struct wtl_smi_row row = {.look = look, .gpu = &look->gpus[i]};

		put_gpu(&document, &row);
	}
	wtl_buf_puts(buf, is_xml ? "</nvidia_smi_log>\n" : "");
	wtl_buf_done(&document.value);
	return buf->error;
}

int wtl_smi_log(struct wtl_buf *buf, const struct wtl_look *look, unsigned sections)
{
	return put_document(buf, look, false, sections);
}

int wtl_smi_xml(struct wtl_buf *buf, const struct wtl_look *look)
{
	return put_document(buf, look, true, 0);
}
