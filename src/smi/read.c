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

/* A value stays known if a later cell about the same number (another bit of a mask) is not. */
static void set_status(struct wtl_gpu_value *value, enum wattle_status status)
{
	if (value->status != WATTLE_STATUS_OK)
		value->status = status;
}

static bool is_digit(char c)
{
	return (unsigned)(c - '0') < 10;
}

static const char *take_digits(const char *at, const char *end, uint64_t *value)
{
	for (; at < end && is_digit(*at); at++)
		*value = *value * 10 + (uint64_t)(*at - '0');
	return at;
}

/* Are its values digits, perhaps with a point, and a unit or none? Those of most fields are. */
static bool is_plain(const struct wtl_smi_field *field)
{
	const struct wtl_smi_kind *kind = field->kind;

	return field->place == WTL_SMI_NUMBER && !field->mask && !kind->prefix &&
	       (kind->form == WTL_SMI_FIXED || kind->form == WTL_SMI_DECIMAL);
}

/* Where the digits of such a value end; NULL: there are none, or more than are taken here. */
static inline const char *digits_end(const struct wtl_smi_field *field, const char *text,
				     const char *end, uint64_t *ret_value)
{
	static const uint64_t micro[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
	enum { DIGITS_MAX = 12, DECIMALS_MAX = 6 };
	uint64_t value = 0, unit = field->kind->unit;
	const char *at = take_digits(text, end, &value);

	if (at == text)
		return NULL;
	if (field->kind->form == WTL_SMI_FIXED) {
		const char *point = at;

		if (at < end && *at == '.')
			at = take_digits(at + 1, end, &value);
		if (at - point > DECIMALS_MAX + 1)
			return NULL;
		unit = micro[at > point ? at - point - 1 : 0];
	}
	*ret_value = value * unit;
	return at - text > DIGITS_MAX ? NULL : at;
}

/* Where the unit after digits ends, or they do if it is missing; NULL: only a part of it is there, or no digits. */
static inline const char *unit_end(const char *suffix, const char *at, const char *end)
{
	const char *rest = suffix;

	if (!at)
		return NULL;
	while (at < end && *at == ' ')
		at++;
	for (; at < end && *rest && *at == *rest; at++)
		rest++;
	return *rest && rest > suffix ? NULL : at;
}

static void set_number(struct wtl_gpu *gpu, const struct wtl_smi_field *field, uint64_t value)
{
	gpu->numbers[field->number] = (struct wtl_gpu_value){.value = value};
}

static bool read_plain(struct wtl_gpu *gpu, const struct wtl_smi_field *field, const char *suffix,
		       const char *text, size_t len)
{
	const char *end = text + len;
	uint64_t value = 0;

	if (!is_plain(field) || unit_end(suffix, digits_end(field, text, end, &value), end) != end)
		return false;
	set_number(gpu, field, value);
	return true;
}

void wtl_smi_read_value(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
			const char *text, size_t len, bool is_xml)
{
	const char *suffix = is_xml && field->suffix ? field->suffix : field->unit;
	enum wattle_status status;

	suffix = suffix ? suffix : "";
	if (read_plain(target->gpu, field, suffix, text, len))
		return;
	while (len > 0 && *text == ' ') {
		text++;
		len--;
	}
	len = wtl_text_trimmed(text, len);
	/* None of the words for an unknown value begins with a digit. */
	status = len > 0 && is_digit(*text) ? WATTLE_STATUS_OK : wtl_smi_unknown_read(text, len);
	if (status == WATTLE_STATUS_GONE)
		target->gpu->status = status;
	if (status == WATTLE_STATUS_OK && wtl_smi_is_readable(field)) {
		len = without_end(text, len, suffix);
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

/* What followed a column's number when it was last read, up to the next cell: its unit, and the separator. */
struct tail {
	uint64_t bytes, mask; /* in the order of memory */
	size_t len, unit_len;
};

struct csv {
	const struct wtl_smi_query *query;
	const struct wtl_smi_field *columns[WTL_SMI_COLUMNS_MAX]; /* NULL: not known */
	struct tail tails[WTL_SMI_COLUMNS_MAX];
	const char *plain_units[WTL_SMI_COLUMNS_MAX]; /* NULL: its values are not plain */
	size_t n;
	size_t name_column; /* of the process, whose name may hold a comma; SIZE_MAX: none */
	size_t time_column; /* SIZE_MAX: none */
	const char *header, *text_end;
	size_t header_len;
	size_t line; /* its number */
	/* The row, and the cells that it was read from. A cell that is the same in the
	 * next row is not read again, unless several columns are about the same number. */
	struct wtl_gpu gpu;
	struct wtl_gpu_process process;
	struct cell cells[WTL_SMI_COLUMNS_MAX];
	bool has_row, is_mixed;
	bool has_times;	 /* of the rows so far */
	bool has_failed; /* a value of it that was not plain */
	struct wtl_smi_day day;
	struct wtl_smi_leftover leftover;
};

/* The next separator, a comma, followed by a blank if has_blank; or the end. */
static inline const char *piece_end(const char *at, const char *end, bool has_blank)
{
	const char *found = memchr(at, ',', (size_t)(end - at));

	while (found && has_blank && (found + 1 == end || found[1] != ' '))
		found = memchr(found + 1, ',', (size_t)(end - found - 1));
	return found ? found : end;
}

static size_t next_piece(const char **at, const char *end, bool has_blank, const char **ret_piece)
{
	const char *found = piece_end(*at, end, has_blank);

	*ret_piece = *at;
	*at = found + 1 + (has_blank && found < end);
	return (size_t)(found - *ret_piece);
}

/* Finds a field by a title such as "power.draw [W]": without the unit and blanks. */
static const struct wtl_smi_field *find_field(const struct wtl_smi_query *query, const char *name,
					      size_t len)
{
	const char *bracket = memchr(name, '[', len);

	len = bracket ? (size_t)(bracket - name) : len;
	for (; len > 0 && *name == ' '; len--)
		name++;
	return wtl_smi_field_find(query, name, wtl_text_trimmed(name, len));
}

/* Is there a column about the same value already? */
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

static void add_column(struct csv *csv, const struct wtl_smi_field *field)
{
	csv->leftover.columns += !field;
	if (field && field->kind == &wtl_smi_process_name)
		csv->name_column = csv->n;
	if (field && field->kind == &wtl_smi_timestamp)
		csv->time_column = csv->n;
	csv->is_mixed |= field && is_there(csv, field);
	if (field && is_plain(field))
		csv->plain_units[csv->n] = field->unit ? field->unit : "";
	csv->tails[csv->n].bytes = 1; /* matches no text */
	csv->columns[csv->n++] = field;
}

/* Sets the columns by the query that knows most of them, and returns how many it knows; -EFBIG: there are too many. */
static int set_columns(struct csv *csv, const char *text, size_t len, bool has_blank)
{
	static const struct wtl_smi_query *const queries[] = {&wtl_smi_query_gpu,
							      &wtl_smi_query_apps};
	const char *at, *name;
	int best = 0;

	for (size_t q = 0; q < 2; q++) {
		int known = 0;

		for (at = text; at <= text + len;) {
			size_t n = next_piece(&at, text + len, has_blank, &name);

			known += find_field(queries[q], name, n) != NULL;
		}
		if (known > best)
			csv->query = queries[q];
		best = known > best ? known : best;
	}
	csv->name_column = csv->time_column = SIZE_MAX;
	for (at = text; best > 0 && at <= text + len;) {
		size_t n = next_piece(&at, text + len, has_blank, &name);

		if (csv->n == WTL_SMI_COLUMNS_MAX)
			return -EFBIG;
		add_column(csv, find_field(csv->query, name, n));
	}
	return best;
}

/* Notes the current line, or one value of it, as not understood. */
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

/* Notes the row's first value that could not be read. Words in brackets are nvidia-smi's for what it does not know. */
static void leave_nonsense(struct csv *csv)
{
	for (size_t i = 0; i < csv->n; i++) {
		const struct wtl_smi_field *field = csv->columns[i];
		const struct cell *cell = &csv->cells[i];

		if (field && field->place == WTL_SMI_NUMBER && cell->len > 0 &&
		    cell->text[0] != '[' &&
		    csv->gpu.numbers[field->number].status == WATTLE_STATUS_FAILED) {
			leave(csv, field, cell);
			return;
		}
	}
}

/* The end of a column's cell; NULL: there are too few cells. A process's name may contain
 * commas: its end is where as many cells follow as there are columns after it. */
static const char *cell_end(const struct csv *csv, size_t column, const char *at, const char *end)
{
	if (column != csv->name_column)
		return piece_end(at, end, true);
	for (size_t n = csv->n - column - 1; n > 0; n--) {
		for (end--; end > at && (end[-1] != ',' || end[0] != ' '); end--)
			;
		if (end-- <= at)
			return NULL;
	}
	return end;
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

/* Takes out what the row before had, before a different cell is read. */
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

static void note_failed(struct csv *csv, const struct wtl_smi_field *field)
{
	csv->has_failed |= field->place == WTL_SMI_NUMBER &&
			   csv->gpu.numbers[field->number].status == WATTLE_STATUS_FAILED;
}

/* false: what the row before had in that cell cannot be taken out again. */
static bool read_cell(struct csv *csv, const struct wtl_smi_target *target, size_t column,
		      const struct cell *here)
{
	const struct wtl_smi_field *field = csv->columns[column];
	struct cell *kept = &csv->cells[column];

	if (!is_same(kept, here)) {
		if (kept->is_kept && !can_forget(field))
			return false;
		if (kept->is_kept)
			forget(csv, field);
		*kept = *here;
		wtl_smi_read_value(target, field, here->text, here->len, false);
		kept->is_kept = field->kind != &wtl_smi_timestamp;
	}
	note_failed(csv, field);
	return true;
}

static inline bool is_end_of_cell(const char *at, const char *end)
{
	return at == end || (at[0] == ',' && at + 1 < end && at[1] == ' ');
}

static inline void keep_number(struct csv *csv, size_t column, uint64_t value, const char *text,
			       const char *end)
{
	set_number(&csv->gpu, csv->columns[column], value);
	csv->cells[column] = (struct cell){text, (size_t)(end - text), true};
}

/* ---- A row like the one before ---- */

static void learn_tail(struct tail *tail, const char *digits_end, const char *unit_end,
		       bool is_last)
{
	size_t unit_len = (size_t)(unit_end - digits_end);
	size_t len = unit_len + (is_last ? 0 : strlen(", "));

	if (len > sizeof(tail->bytes))
		return;
	*tail = (struct tail){.len = len, .unit_len = unit_len};
	memcpy(&tail->bytes, digits_end, len);
	memset(&tail->mask, 0xff, len);
}

static inline bool has_tail(const struct csv *csv, size_t column, const char *at)
{
	const struct tail *tail = &csv->tails[column];
	uint64_t bytes;

	if ((size_t)(csv->text_end - at) < sizeof(bytes))
		return false;
	memcpy(&bytes, at, sizeof(bytes));
	return (bytes & tail->mask) == tail->bytes;
}

/* The end of a cell that is no number: a time, of no known column, or the same as before. NULL: none of these. */
static const char *usual_end(struct csv *csv, const struct wtl_smi_target *target, size_t column,
			     const char *at, const char *end)
{
	const struct wtl_smi_field *field = csv->columns[column];
	const struct cell *kept = &csv->cells[column];
	size_t len = kept->len, rest = (size_t)(end - at);

	if (!field)
		return piece_end(at, end, true);
	if (field->kind == &wtl_smi_timestamp) {
		len = WTL_SMI_TIMESTAMP_LEN;
		if (rest < len || wtl_smi_read(target, field, at, len) < 0)
			return NULL;
	} else if (!kept->is_kept || rest < len || memcmp(kept->text, at, len) != 0) {
		return NULL;
	}
	note_failed(csv, field);
	return is_end_of_cell(at + len, end) ? at + len : NULL;
}

/*
 * A row as programs usually write them: each number is followed by the same
 * text as in the row before, and the other cells are the same, except for the
 * time. false: it may be a different row, and has to be read by read_any_row().
 */
static bool read_usual_row(struct csv *csv, const struct wtl_smi_target *target, const char *at,
			   const char *end)
{
	csv->has_failed = false;
	for (size_t i = 0; i < csv->n; i++) {
		const char *text = at;
		uint64_t value = 0;

		if (csv->plain_units[i])
			at = digits_end(csv->columns[i], text, end, &value);
		if (csv->plain_units[i] && at && has_tail(csv, i, at)) {
			keep_number(csv, i, value, text, at + csv->tails[i].unit_len);
			at += csv->tails[i].len;
			continue;
		}
		at = usual_end(csv, target, i, text, end);
		if (!at || (at == end) != (i + 1 == csv->n))
			return false;
		at += at == end ? 0 : strlen(", ");
	}
	return at == end;
}

/* ---- Any row ---- */

enum row { ROW_READ, ROW_AGAIN, ROW_BAD };

/* AGAIN: to be read from its beginning, and without the row before. BAD: there are too few cells or too many. */
static enum row read_any_row(struct csv *csv, const struct wtl_smi_target *target, const char *at,
			     const char *end)
{
	csv->has_failed = false;
	for (size_t i = 0; i < csv->n; i++) {
		const char *unit = csv->plain_units[i], *after = NULL;
		const char *behind = NULL;
		struct cell here = {.text = at};
		uint64_t value = 0;

		if (i > 0 && at == end)
			return ROW_BAD;
		if (i > 0)
			here.text = at + strlen(", ");
		if (unit) {
			behind = digits_end(csv->columns[i], here.text, end, &value);
			after = unit_end(unit, behind, end);
		}
		if (after && is_end_of_cell(after, end)) {
			keep_number(csv, i, value, here.text, after);
			if ((after == end) == (i + 1 == csv->n))
				learn_tail(&csv->tails[i], behind, after, after == end);
			at = after;
			continue;
		}
		at = cell_end(csv, i, here.text, end);
		if (!at)
			return ROW_BAD;
		here.len = (size_t)(at - here.text);
		if (csv->columns[i] && !read_cell(csv, target, i, &here))
			return ROW_AGAIN;
	}
	return at == end ? ROW_READ : ROW_BAD;
}

static void begin_row(struct csv *csv)
{
	wtl_smi_read_init(&csv->gpu);
	wtl_smi_read_process_init(&csv->process);
	memset(csv->cells, 0, csv->n * sizeof(csv->cells[0]));
}

static enum row read_row(struct csv *csv, const char *at, const char *end, int64_t *t_local_ns)
{
	const struct wtl_smi_target target = {
		.gpu = &csv->gpu,
		.process = &csv->process,
		.t_local_ns = t_local_ns,
		.day = &csv->day,
	};
	enum row row;

	/* Words in place of a value may be about the whole GPU. */
	if (!csv->has_row || csv->is_mixed || csv->gpu.status != WATTLE_STATUS_OK)
		begin_row(csv);
	else if (csv->name_column == SIZE_MAX && read_usual_row(csv, &target, at, end))
		return ROW_READ;
	*t_local_ns = INT64_MIN;
	row = read_any_row(csv, &target, at, end);
	if (row != ROW_AGAIN)
		return row;
	begin_row(csv);
	*t_local_ns = INT64_MIN;
	return read_any_row(csv, &target, at, end);
}

static int take_row(struct csv *csv, const char *line, size_t len, wtl_smi_each *each,
		    void *context)
{
	struct wtl_smi_record record = {.cuda = ""};
	int64_t t_local_ns = INT64_MIN;
	enum row row = read_row(csv, line, line + len, &t_local_ns);

	csv->has_row = row == ROW_READ;
	if (row != ROW_READ) {
		leave(csv, NULL, NULL);
		return 0;
	}
	/* Its time is not known: the row is shifted, or was damaged on the disk. */
	if (t_local_ns == INT64_MIN && csv->has_times) {
		leave(csv, csv->columns[csv->time_column], &csv->cells[csv->time_column]);
		return 0;
	}
	csv->has_times = t_local_ns != INT64_MIN;
	if (csv->has_failed)
		leave_nonsense(csv);
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
		int known = set_columns(csv, line, len, true);

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
	csv->text_end = end;
	if (fields) {
		rc = set_columns(csv, fields, strlen(fields), false);
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
