/* SPDX-License-Identifier: MIT */
#include "smi/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "smi/smi.h"
#include "smi/read_value.h"

void wtl_smi_read_init(struct wtl_gpu *gpu)
{
	memset(gpu, 0, sizeof(*gpu));
	wtl_text_copy(gpu->vendor, sizeof(gpu->vendor), "nvidia");
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		gpu->numbers[i].status = WATTLE_STATUS_ABSENT;
	gpu->processes_status = WATTLE_STATUS_ABSENT;
}

void wtl_smi_read_process_init(struct wtl_gpu_process *process)
{
	*process = (struct wtl_gpu_process){
		.memory_bytes = UINT64_MAX, .instance = UINT32_MAX, .compute_instance = UINT32_MAX};
}

static size_t without_end(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	if (n == 0 || len < n || memcmp(text + len - n, end, n) != 0)
		return len;
	return wtl_text_trimmed(text, len - n);
}

/* A later word about the same number (a bit of a mask) does not undo an earlier one. */
static void set_status(struct wtl_gpu_value *value, enum wattle_status status)
{
	if (value->status != WATTLE_STATUS_OK)
		value->status = status;
}

void wtl_smi_read_value(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
			const char *text, size_t len, bool is_xml)
{
	const char *suffix = is_xml && field->suffix ? field->suffix : field->unit;
	enum wattle_status status;

	while (len > 0 && *text == ' ') {
		text++;
		len--;
	}
	len = wtl_text_trimmed(text, len);
	status = wtl_smi_unknown_read(text, len);
	if (status == WATTLE_STATUS_GONE)
		target->gpu->status = status;
	if (status == WATTLE_STATUS_OK && wtl_smi_is_readable(field)) {
		len = without_end(text, len, suffix ? suffix : "");
		if (wtl_smi_read(target, field, text, len) < 0)
			status = WATTLE_STATUS_FAILED;
	}
	if (status != WATTLE_STATUS_OK && field->place == WTL_SMI_NUMBER)
		set_status(&target->gpu->numbers[field->number], status);
}

/* ---- CSV ---- */

struct csv {
	const struct wtl_smi_query *query;
	const struct wtl_smi_field *columns[WTL_SMI_COLUMNS_MAX]; /* NULL: not known */
	size_t n;
	size_t name_column; /* of the process, whose name may hold a comma; SIZE_MAX: none */
	const char *header;
	size_t header_len;
	struct wtl_smi_leftover leftover;
};

/* The next piece up to the separator or the end; advances *at past it. */
static size_t next_piece(const char **at, const char *end, const char *separator,
			 const char **ret_piece)
{
	size_t len = strlen(separator);
	const char *found = memmem(*at, (size_t)(end - *at), separator, len);

	*ret_piece = *at;
	*at = found ? found + len : end + 1;
	return (size_t)((found ? found : end) - *ret_piece);
}

static size_t count_pieces(const char *text, size_t len)
{
	const char *at = text, *piece;
	size_t n = 0;

	for (; at <= text + len; n++)
		next_piece(&at, text + len, ", ", &piece);
	return n;
}

/* By "power.draw [W]", without its unit and blanks. */
static const struct wtl_smi_field *find_field(const struct wtl_smi_query *query, const char *name,
					      size_t len)
{
	const char *bracket = memchr(name, '[', len);

	len = bracket ? (size_t)(bracket - name) : len;
	for (; len > 0 && *name == ' '; len--)
		name++;
	return wtl_smi_field_find(query, name, wtl_text_trimmed(name, len));
}

/* Takes the columns for those of the query that has most of them, and returns how many it has;
 * -EFBIG: too many. */
static int set_columns(struct csv *csv, const char *text, size_t len, const char *separator)
{
	static const struct wtl_smi_query *const queries[] = {&wtl_smi_query_gpu,
							      &wtl_smi_query_apps};
	const struct wtl_smi_field *field;
	const char *at, *name;
	int best = 0;

	for (size_t q = 0; q < 2; q++) {
		int known = 0;

		for (at = text; at <= text + len;) {
			size_t n = next_piece(&at, text + len, separator, &name);

			known += find_field(queries[q], name, n) != NULL;
		}
		if (known > best)
			csv->query = queries[q];
		best = known > best ? known : best;
	}
	csv->name_column = SIZE_MAX;
	for (at = text; best > 0 && at <= text + len;) {
		size_t n = next_piece(&at, text + len, separator, &name);

		if (csv->n == WTL_SMI_COLUMNS_MAX)
			return -EFBIG;
		field = find_field(csv->query, name, n);
		csv->leftover.columns += !field;
		if (field && field->kind == &wtl_smi_process_name)
			csv->name_column = csv->n;
		csv->columns[csv->n++] = field;
	}
	return best;
}

static int take_row(struct csv *csv, const char *line, size_t len, wtl_smi_each *each,
		    void *context)
{
	struct wtl_smi_record record = {.cuda = ""};
	struct wtl_gpu_process process;
	struct wtl_gpu gpu;
	int64_t t_local_ns = INT64_MIN;
	const struct wtl_smi_target target = {
		.gpu = &gpu, .process = &process, .t_local_ns = &t_local_ns};
	const char *at = line, *end = line + len, *value, *ignored;
	size_t n = count_pieces(line, len);
	size_t surplus = n > csv->n && csv->name_column != SIZE_MAX ? n - csv->n : 0;

	if (n - surplus != csv->n) {
		csv->leftover.lines++;
		return 0;
	}
	wtl_smi_read_init(&gpu);
	wtl_smi_read_process_init(&process);
	for (size_t i = 0; i < csv->n; i++) {
		size_t value_len = next_piece(&at, end, ", ", &value);

		for (size_t k = 0; i == csv->name_column && k < surplus; k++) {
			size_t more = next_piece(&at, end, ", ", &ignored);

			value_len = (size_t)(ignored + more - value);
		}
		if (csv->columns[i])
			wtl_smi_read_value(&target, csv->columns[i], value, value_len, false);
	}
	if (csv->query == &wtl_smi_query_apps) {
		process.types = WTL_GPU_PROCESS_COMPUTE;
		gpu.processes = &process;
		gpu.n_processes = 1;
		gpu.processes_status = WATTLE_STATUS_OK;
	}
	record.gpu = &gpu;
	record.has_time = t_local_ns != INT64_MIN;
	record.t_local_ns = t_local_ns;
	return each(context, &record);
}

static int take_line(struct csv *csv, const char *line, size_t len, wtl_smi_each *each,
		     void *context)
{
	if (len == 0)
		return 0;
	if (csv->n == 0) {
		int known = set_columns(csv, line, len, ", ");

		csv->header = line;
		csv->header_len = len;
		csv->leftover.lines += known == 0;
		return known < 0 ? known : 0;
	}
	/* A file that was appended to has its header again. */
	if (csv->header && len == csv->header_len && memcmp(line, csv->header, len) == 0)
		return 0;
	return take_row(csv, line, len, each, context);
}

int wtl_smi_read_csv(const char *text, size_t len, const char *fields, wtl_smi_each *each,
		     void *context, struct wtl_smi_leftover *ret_leftover, struct wtl_err *err)
{
	const char *end = text + len;
	struct csv *csv;
	int rc = 0;

	if (len > WTL_SMI_TEXT_MAX)
		return wtl_err_set(err, EFBIG, "nvidia-smi", NULL, "the text is too long");
	csv = calloc(1, sizeof(*csv));
	if (!csv)
		return wtl_err_set(err, ENOMEM, "nvidia-smi", NULL, "out of memory");
	if (fields) {
		rc = set_columns(csv, fields, strlen(fields), ",");
		rc = rc > 0 && csv->leftover.columns == 0 ? 0 : -EINVAL;
	}
	if (rc < 0)
		wtl_err_set(err, rc, "nvidia-smi", NULL, "'%s' is no list of fields", fields);
	for (const char *line = text; rc == 0 && line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t n = (size_t)((newline ? newline : end) - line);

		rc = take_line(csv, line, n > 0 && line[n - 1] == '\r' ? n - 1 : n, each, context);
		line += n + 1;
	}
	if (rc == 0 && csv->n == 0)
		rc = wtl_err_set(err, WTL_EFORMAT, "nvidia-smi", NULL,
				 "there is no line that names nvidia-smi's fields");
	if (ret_leftover)
		*ret_leftover = csv->leftover;
	free(csv);
	return rc;
}
