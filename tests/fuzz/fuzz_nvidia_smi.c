/* SPDX-License-Identifier: MIT */
#include <errno.h>
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
 * the size of the input says (of the first records), and that XML has to be readable.
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
	return 0;
}
