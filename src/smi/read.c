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
	gpu->index = UINT32_MAX;
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
	/* What begins with a digit is none of the words that stand in the place of a value. */
	status = len > 0 && (unsigned)(*text - '0') < 10 ? WATTLE_STATUS_OK
							 : wtl_smi_unknown_read(text, len);
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

/* A cell, and whether its value is in the row's GPU or process. */
struct cell {
	const char *text;
	size_t len;
	bool is_kept;
};

struct csv {
	const struct wtl_smi_query *query;
	const struct wtl_smi_field *columns[WTL_SMI_COLUMNS_MAX]; /* NULL: not known */
	size_t n;
	size_t name_column; /* of the process, whose name may hold a comma; SIZE_MAX: none */
	const char *header;
	size_t header_len;
	size_t line; /* its number */
	/* The row, and what it was made of: a cell that is the same in the next one is not read again, unless
	 * others are about the same number. */
	struct wtl_gpu gpu;
	struct wtl_gpu_process process;
	struct cell cells[WTL_SMI_COLUMNS_MAX], next[WTL_SMI_COLUMNS_MAX];
	bool has_row, is_mixed;
	struct wtl_smi_leftover leftover;
};

/* The next piece up to the separator, a comma with or without a blank behind it, or the end; advances *at past it. */
static size_t next_piece(const char **at, const char *end, const char *separator,
			 const char **ret_piece)
{
	size_t len = strlen(separator);
	const char *found = memchr(*at, ',', (size_t)(end - *at));

	while (found && len > 1 && (found + 1 == end || found[1] != ' '))
		found = memchr(found + 1, ',', (size_t)(end - found - 1));
	*ret_piece = *at;
	*at = found ? found + len : end + 1;
	return (size_t)((found ? found : end) - *ret_piece);
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

/* Is a column about the same value? */
static bool is_there(const struct csv *csv, const struct wtl_smi_field *field)
{
	for (size_t i = 0; i < csv->n; i++) {
		const struct wtl_smi_field *other = csv->columns[i];

		if (other == field ||
		    (other && field->place == WTL_SMI_NUMBER && other->place == WTL_SMI_NUMBER &&
		     other->number == field->number))
			return true;
	}
	return false;
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
		csv->is_mixed |= field && is_there(csv, field);
		csv->columns[csv->n++] = field;
	}
	return best;
}

/* The line, or a value of it. */
static void leave(struct csv *csv, const struct wtl_smi_field *field, const struct cell *cell)
{
	struct wtl_smi_left *left;

	if (csv->leftover.lines++ >= WTL_SMI_LEFT_KEPT)
		return;
	left = &csv->leftover.first[csv->leftover.lines - 1];
	left->line = csv->line;
	if (!field)
		return;
	left->column = field->name;
	wtl_text_clean(left->value, sizeof(left->value), cell->text, cell->len);
}

/* A value that is none, and none of the words in brackets that nvidia-smi has for what it does not know. */
static void leave_nonsense(struct csv *csv, const struct cell cells[])
{
	for (size_t i = 0; i < csv->n; i++) {
		const struct wtl_smi_field *field = csv->columns[i];

		if (field && field->place == WTL_SMI_NUMBER && cells[i].len > 0 &&
		    cells[i].text[0] != '[' &&
		    csv->gpu.numbers[field->number].status == WATTLE_STATUS_FAILED) {
			leave(csv, field, &cells[i]);
			return;
		}
	}
}

/* The row's cells; SIZE_MAX: there are too few or too many. A process' name may have commas in it. */
static size_t split_row(const struct csv *csv, const char *line, size_t len, struct cell cells[])
{
	const char *at = line, *end = line + len, *piece;
	size_t n = 0, surplus;

	while (at <= end && n < WTL_SMI_COLUMNS_MAX) {
		cells[n].len = next_piece(&at, end, ", ", &piece);
		cells[n++].text = piece;
	}
	if (at <= end || n < csv->n || (n > csv->n && csv->name_column == SIZE_MAX))
		return SIZE_MAX;
	surplus = n - csv->n;
	if (surplus > 0) {
		struct cell *name = &cells[csv->name_column];

		name->len = (size_t)(name[surplus].text + name[surplus].len - name->text);
		memmove(name + 1, name + 1 + surplus,
			(n - csv->name_column - 1 - surplus) * sizeof(*name));
	}
	return csv->n;
}

static bool is_same(const struct cell *a, const struct cell *b)
{
	return a->is_kept && a->len == b->len && memcmp(a->text, b->text, a->len) == 0;
}

/* Can what was read into the row be taken out of it again? */
static bool can_forget(const struct wtl_smi_field *field)
{
	return field->place != WTL_SMI_ELSEWHERE || field->size > 0 ||
	       field->kind == &wtl_smi_bus_id;
}

/* Before a cell is read that is another than in the row before. */
static void forget(struct csv *csv, const struct wtl_smi_field *field)
{
	struct wtl_gpu *gpu = &csv->gpu;
	char *object =
		field->object == WTL_SMI_OF_PROCESS ? (char *)&csv->process : (char *)&csv->gpu;

	if (field->kind == &wtl_smi_bus_id) {
		gpu->bus_id[0] = '\0';
		gpu->pci_domain = gpu->pci_bus = gpu->pci_device = 0;
	} else if (field->place == WTL_SMI_NUMBER) {
		gpu->numbers[field->number] =
			(struct wtl_gpu_value){.status = WATTLE_STATUS_ABSENT};
	} else if (field->place == WTL_SMI_U32 || field->place == WTL_SMI_U64) {
		memset(object + field->offset, 0xff,
		       field->place == WTL_SMI_U32 ? sizeof(uint32_t) : sizeof(uint64_t));
	} else if (field->place == WTL_SMI_INT || field->place == WTL_SMI_ADDRESS) {
		memset(object + field->offset, 0, sizeof(uint32_t));
	} else {
		object[field->offset] = '\0';
	}
}

static void read_row(struct csv *csv, const struct cell cells[], int64_t *t_local_ns)
{
	const struct wtl_smi_target target = {
		.gpu = &csv->gpu, .process = &csv->process, .t_local_ns = t_local_ns};

	for (size_t i = 0; i < csv->n; i++) {
		const struct wtl_smi_field *field = csv->columns[i];
		struct cell *kept = &csv->cells[i];

		if (!field || is_same(kept, &cells[i]))
			continue;
		if (kept->is_kept)
			forget(csv, field);
		*kept = cells[i];
		wtl_smi_read_value(&target, field, cells[i].text, cells[i].len, false);
		kept->is_kept = field->kind != &wtl_smi_timestamp;
	}
}

/* Words in the place of a value may say something of the whole GPU. */
static bool keeps_row(const struct csv *csv, const struct cell cells[])
{
	if (csv->is_mixed || csv->gpu.status != WATTLE_STATUS_OK)
		return false;
	for (size_t i = 0; i < csv->n; i++)
		if (csv->columns[i] && csv->cells[i].is_kept && !can_forget(csv->columns[i]) &&
		    !is_same(&csv->cells[i], &cells[i]))
			return false;
	return csv->has_row;
}

static int take_row(struct csv *csv, const char *line, size_t len, wtl_smi_each *each,
		    void *context)
{
	struct wtl_smi_record record = {.cuda = ""};
	struct cell *cells = csv->next;
	int64_t t_local_ns = INT64_MIN;

	if (split_row(csv, line, len, cells) == SIZE_MAX) {
		leave(csv, NULL, NULL);
		return 0;
	}
	if (!keeps_row(csv, cells)) {
		wtl_smi_read_init(&csv->gpu);
		wtl_smi_read_process_init(&csv->process);
		memset(csv->cells, 0, csv->n * sizeof(csv->cells[0]));
	}
	csv->has_row = true;
	read_row(csv, cells, &t_local_ns);
	leave_nonsense(csv, cells);
	if (csv->query == &wtl_smi_query_apps) {
		csv->process.types = WTL_GPU_PROCESS_COMPUTE;
		csv->gpu.processes = &csv->process;
		csv->gpu.n_processes = 1;
		csv->gpu.processes_status = WATTLE_STATUS_OK;
	}
	record.gpu = &csv->gpu;
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
		if (known == 0)
			leave(csv, NULL, NULL);
		return known < 0 ? known : 0;
	}
	/* A file that was appended to has its header again. */
	if (csv->header && len == csv->header_len && memcmp(line, csv->header, len) == 0)
		return 0;
	return take_row(csv, line, len, each, context);
}

static int tell_untitled(const char *text, size_t len, struct wtl_err *err)
{
	const char *line_end = memchr(text, '\n', len);

	if (memchr(text, ';', line_end ? (size_t)(line_end - text) : len))
		return wtl_err_set(err, WTL_EFORMAT, "nvidia-smi", NULL,
				   "semicolons: a spreadsheet has saved it anew, which may drop "
				   "parts of its times; import what nvidia-smi wrote");
	return wtl_err_set(err, WTL_EFORMAT, "nvidia-smi", NULL,
			   "there is no line that names nvidia-smi's fields; --columns "
			   "timestamp,index,power.draw does");
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

		csv->line++;
		rc = take_line(csv, line, n > 0 && line[n - 1] == '\r' ? n - 1 : n, each, context);
		line += n + 1;
	}
	if (rc == 0 && csv->n == 0)
		rc = tell_untitled(text, len, err);
	if (ret_leftover)
		*ret_leftover = csv->leftover;
	free(csv);
	return rc;
}
