/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "smi/smi.h"
#include "smi/read.h"

/*
 * The readers of nvidia-smi's CSV and XML. The first byte chooses: 'x' XML, 'f' CSV whose first line is
 * the list of fields, anything else CSV with a header. What is read is written again by a writer, which one
 * the size of the input says (of the first records), and that XML has to be readable. A row of CSV is read as it is
 * read alone: rows like the one before take a shorter way.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OUTPUT_MAX = 1 << 24, WRITTEN_MAX = 2 };

struct heard {
	size_t size; /* of the input */
	size_t n;
};

static void check(int good)
{
	if (!good)
		abort();
}

static void check_text(const char *text, size_t size)
{
	size_t len = strnlen(text, size);

	check(len < size);
	for (size_t i = 0; i < len; i++)
		check((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
}

static void check_gpu(const struct wtl_gpu *gpu)
{
	check_text(gpu->name, sizeof(gpu->name));
	check_text(gpu->uuid, sizeof(gpu->uuid));
	check_text(gpu->serial, sizeof(gpu->serial));
	check_text(gpu->bus_id, sizeof(gpu->bus_id));
	check_text(gpu->driver, sizeof(gpu->driver));
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		check(gpu->numbers[i].status <= WATTLE_STATUS_ABSENT);
	for (size_t i = 0; i < gpu->n_processes; i++) {
		check_text(gpu->processes[i].name, sizeof(gpu->processes[i].name));
		check(gpu->processes[i].pid >= 0);
	}
}

static void check_printable(const struct wtl_buf *buf)
{
	for (size_t i = 0; i < buf->len; i++)
		check((unsigned char)buf->data[i] >= 0x20 || buf->data[i] == '\n' ||
		      buf->data[i] == '\t');
}

static int count(void *context, const struct wtl_smi_record *record)
{
	size_t *n = context;

	check_gpu(record->gpu);
	(*n)++;
	return 0;
}

static void write_xml(struct wtl_buf *buf, const struct wtl_look *look)
{
	size_t n = 0;

	wtl_smi_xml(buf, look);
	if (!buf->error &&
	    wtl_smi_read_xml(wtl_buf_str(buf), buf->len, count, &n, NULL, NULL) != -EOPNOTSUPP)
		check(n == 1);
}

static int hear(void *context, const struct wtl_smi_record *record)
{
	static const struct wtl_smi_mon mons[] = {{.select = "pucvmet"},
						  {.processes = true, .select = "um"}};
	static const struct wtl_output_style plain;
	const struct wtl_look look = {.gpus = record->gpu,
				      .n_gpus = 1,
				      .n_attached = 1,
				      .driver = record->gpu->driver,
				      .cuda = record->cuda,
				      .trouble = ""};
	struct heard *heard = context;
	struct wtl_buf buf;

	check_gpu(record->gpu);
	if (heard->n++ >= WRITTEN_MAX)
		return 0;
	wtl_buf_init(&buf, OUTPUT_MAX);
	switch (heard->size % 8) {
	case 0:
		write_xml(&buf, &look);
		break;
	case 1:
	case 2:
		wtl_smi_list(&buf, &look);
		wtl_look_lines(&buf, &look, &plain);
		break;
	default:
		wtl_smi_mon_rows(&buf, &mons[heard->size % 2], &look);
	}
	if (!buf.error)
		check_printable(&buf);
	wtl_buf_done(&buf);
	return 0;
}

/* ---- Rows by themselves ---- */

/* A row, one like it, and one that is not. */
enum { ROWS_MAX = 3 };

struct rows {
	struct wtl_gpu gpus[ROWS_MAX];
	struct wtl_gpu_process processes[ROWS_MAX];
	int64_t times_ns[ROWS_MAX];
	bool have_times[ROWS_MAX];
	size_t n;
};

static int keep(void *context, const struct wtl_smi_record *record)
{
	struct rows *rows = context;

	check(rows->n < ROWS_MAX);
	rows->gpus[rows->n] = *record->gpu;
	if (record->gpu->n_processes > 0)
		rows->processes[rows->n] = record->gpu->processes[0];
	rows->times_ns[rows->n] = record->t_local_ns;
	rows->have_times[rows->n++] = record->has_time;
	return 0;
}

static void check_same_gpu(const struct wtl_gpu *a, const struct wtl_gpu *b)
{
	check(a->index == b->index && a->status == b->status);
	check(strcmp(a->name, b->name) == 0 && strcmp(a->uuid, b->uuid) == 0);
	check(strcmp(a->bus_id, b->bus_id) == 0 && strcmp(a->driver, b->driver) == 0);
	check(strcmp(a->compute_capability, b->compute_capability) == 0);
	check(a->pci_bus == b->pci_bus && a->n_processes == b->n_processes);
	for (size_t i = 0; i < WTL_GPU_NUMBERS; i++)
		check(a->numbers[i].status == b->numbers[i].status &&
		      (a->numbers[i].status != WATTLE_STATUS_OK ||
		       a->numbers[i].value == b->numbers[i].value));
}

static void check_same_rows(const struct rows *all, size_t i, const struct rows *one)
{
	const struct wtl_gpu_process *a = &all->processes[i], *b = &one->processes[0];

	check_same_gpu(&all->gpus[i], &one->gpus[0]);
	check(all->have_times[i] == one->have_times[0]);
	check(!all->have_times[i] || all->times_ns[i] == one->times_ns[0]);
	if (all->gpus[i].n_processes > 0)
		check(a->pid == b->pid && a->memory_bytes == b->memory_bytes &&
		      strcmp(a->name, b->name) == 0);
}

/* Where the line of titles ends; NULL: there is none. */
static const char *titles_end(const char *text, const char *end)
{
	for (const char *line = text; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *next = newline ? newline + 1 : end;
		size_t n = 0;

		if (wtl_smi_read_csv(line, (size_t)(next - line), NULL, count, &n, NULL, NULL) == 0)
			return next;
		line = next;
	}
	return NULL;
}

/* Behind the first ROWS_MAX lines. */
static const char *rows_end(const char *text, const char *end)
{
	for (size_t n = 0; n < ROWS_MAX && text < end; n++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		text = newline ? newline + 1 : end;
	}
	return text;
}

/* Lines alone, behind what is up to head_end: the line of titles, or nothing where there are fields. */
static void check_rows(const char *text, const char *end, const char *head_end, const char *fields)
{
	static struct rows all_rows, one_row; /* large */
	struct rows *all = &all_rows, *one = &one_row;
	char *both;
	struct wtl_smi_leftover left = {0}, head_left = {0}, all_left = {0};
	size_t n = 0, head = (size_t)(head_end - text), n_left;
	bool has_times = false;

	end = rows_end(head_end, end);
	both = malloc((size_t)(end - text) + 1);
	check(both != NULL);
	all->n = one->n = 0;
	wtl_smi_read_csv(text, (size_t)(end - text), fields, keep, all, &all_left, NULL);
	wtl_smi_read_csv(text, head, fields, keep, one, &head_left, NULL);
	check(one->n == 0);
	n_left = head_left.lines;
	memcpy(both, text, head);
	for (const char *line = head_end; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *next = newline ? newline + 1 : end;

		memcpy(both + head, line, (size_t)(next - line));
		one->n = 0;
		wtl_smi_read_csv(both, head + (size_t)(next - line), fields, keep, one, &left,
				 NULL);
		/* Among rows with times, one without is left out. */
		if (one->n > 0 && !one->have_times[0] && has_times) {
			n_left++;
		} else {
			n_left += left.lines - head_left.lines;
			if (one->n > 0)
				check_same_rows(all, n++, one);
		}
		has_times |= one->n > 0 && one->have_times[0];
		line = next;
	}
	check(n == all->n && n_left == all_left.lines);
	free(both);
}

static void read_fields(const char *text, size_t size)
{
	const char *newline = memchr(text, '\n', size);
	struct heard heard = {.size = size};
	struct wtl_smi_leftover leftover;
	char *fields;

	if (!newline)
		return;
	fields = strndup(text, (size_t)(newline - text));
	check(fields != NULL);
	wtl_smi_read_csv(newline + 1, size - (size_t)(newline + 1 - text), fields, hear, &heard,
			 &leftover, NULL);
	check_rows(newline + 1, text + size, newline + 1, fields);
	free(fields);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	struct heard heard = {.size = size};
	struct wtl_smi_leftover leftover;
	struct wtl_err err = {.code = 0};
	int rc = 0;

	if (size == 0)
		return 0;
	if (data[0] == 'x')
		rc = wtl_smi_read_xml(text, size - 1, hear, &heard, &leftover, &err);
	else if (data[0] == 'f')
		read_fields(text, size - 1);
	else
		rc = wtl_smi_read_csv(text, size - 1, NULL, hear, &heard, &leftover, &err);
	check(rc <= 0 && (rc == 0) == (err.code == 0));
	if (rc == 0 && data[0] != 'x' && data[0] != 'f')
		check_rows(text, text + size - 1, titles_end(text, text + size - 1), NULL);
	return 0;
}
