/* SPDX-License-Identifier: MIT */
#include "base/array.h"
#include "base/config.h"
#include "base/date.h"
#include "smi/read.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"
#include "base/text.h"
#include "smi/smi.h"
#include "smi/read_value.h"

#if HAVE_EXPAT
#include <expat.h>

/* Far beyond what any driver writes. */
enum { PATH_SIZE = 512, VALUE_SIZE = 1024, PROCESSES_MAX = 65536, MIGS_MAX = 64 };

struct reader {
	XML_Parser parser;
	wtl_smi_each *each;
	void *context;
	int error; /* what ended the reading */
	char path[PATH_SIZE];
	char value[VALUE_SIZE];
	size_t value_len;
	bool value_cut;
	struct wtl_smi_record record;
	struct wtl_gpu gpu;
	size_t size_processes;
	struct wtl_gpu_mig migs[MIGS_MAX];
	char driver[sizeof(((struct wtl_gpu *)0)->driver)];
	char cuda[16];
};

#define ROOT_PATH "/nvidia_smi_log"
#define GPU_PATH  ROOT_PATH "/gpu"

static void stop(struct reader *reader, int error)
{
	reader->error = error;
	XML_StopParser(reader->parser, XML_FALSE);
}

static void begin_gpu(struct reader *reader, const char *attributes[])
{
	const struct wtl_smi_target target = {.gpu = &reader->gpu};
	const struct wtl_smi_field *bus_id =
		wtl_smi_field_find(&wtl_smi_query_gpu, "pci.bus_id", 10);
	struct wtl_gpu_process *processes = reader->gpu.processes;

	wtl_smi_read_init(&reader->gpu);
	reader->gpu.processes = processes;
	reader->gpu.migs = reader->migs;
	for (size_t i = 0; attributes[i]; i += 2)
		if (strcmp(attributes[i], "id") == 0)
			wtl_smi_read_value(&target, bus_id, attributes[i + 1],
					   strlen(attributes[i + 1]), true);
	wtl_text_copy(reader->gpu.driver, sizeof(reader->gpu.driver), reader->driver);
}

static void begin_process(struct reader *reader)
{
	struct wtl_gpu *gpu = &reader->gpu;

	if (gpu->n_processes == PROCESSES_MAX) {
		stop(reader, -EFBIG);
		return;
	}
	if (wtl_array_reserve(&gpu->processes, &reader->size_processes, gpu->n_processes + 1,
			      sizeof(*gpu->processes)) < 0) {
		stop(reader, -ENOMEM);
		return;
	}
	wtl_smi_read_process_init(&gpu->processes[gpu->n_processes++]);
}

static void begin_mig(struct reader *reader)
{
	struct wtl_gpu *gpu = &reader->gpu;

	if (gpu->n_migs == MIGS_MAX) {
		stop(reader, -EFBIG);
		return;
	}
	gpu->migs[gpu->n_migs++] = (struct wtl_gpu_mig){.instance = UINT32_MAX,
							.compute_instance = UINT32_MAX,
							.memory_total_bytes = UINT64_MAX,
							.memory_used_bytes = UINT64_MAX};
}

static void begin_element(void *data, const char *name, const char *attributes[])
{
	struct reader *reader = data;
	size_t len = strlen(reader->path);

	if (len + strlen(name) + 2 > sizeof(reader->path)) {
		stop(reader, -WTL_EFORMAT);
		return;
	}
	reader->path[len] = '/';
	wtl_text_copy(reader->path + len + 1, sizeof(reader->path) - len - 1, name);
	reader->value_len = 0;
	reader->value_cut = false;
	if (strcmp(reader->path, GPU_PATH) == 0)
		begin_gpu(reader, attributes);
	else if (strcmp(reader->path, GPU_PATH "/processes/process_info") == 0)
		begin_process(reader);
	else if (strcmp(reader->path, GPU_PATH "/mig_devices/mig_device") == 0)
		begin_mig(reader);
	else if (strcmp(reader->path, GPU_PATH "/processes") == 0)
		reader->gpu.processes_status = WATTLE_STATUS_OK;
}

static void take_text(void *data, const char *text, int len)
{
	struct reader *reader = data;
	size_t room = sizeof(reader->value) - reader->value_len;
	size_t n = (size_t)len < room ? (size_t)len : room;

	memcpy(reader->value + reader->value_len, text, n);
	reader->value_len += n;
	reader->value_cut |= n < (size_t)len;
}

/* Comparing the first letters first is fast: most paths differ there. */
static bool is_path(const char *element, const char *path)
{
	return element && element[0] == path[0] && strcmp(element, path) == 0;
}

static void take_value(const struct wtl_smi_target *target, const struct wtl_smi_field *field,
		       const char *path, const char *value, size_t len)
{
	for (; !wtl_smi_is_end(field); field++)
		if (is_path(field->element, path) || is_path(field->older, path)) {
			wtl_smi_read_value(target, field, value, len, true);
			return;
		}
}

static void take_gpu_value(struct reader *reader, const char *path, const char *value, size_t len)
{
	static const char process[] = "processes/process_info/", mig[] = "mig_devices/mig_device/";
	struct wtl_gpu *gpu = &reader->gpu;
	struct wtl_smi_target target = {.gpu = gpu};

	if (gpu->n_processes > 0 && wtl_text_starts(path, process)) {
		target.process = &gpu->processes[gpu->n_processes - 1];
		take_value(&target, wtl_smi_process_fields, path + sizeof(process) - 1, value, len);
	} else if (gpu->n_migs > 0 && wtl_text_starts(path, mig)) {
		target.mig = &gpu->migs[gpu->n_migs - 1];
		take_value(&target, wtl_smi_mig_fields, path + sizeof(mig) - 1, value, len);
	} else {
		take_value(&target, wtl_smi_gpu_fields, path, value, len);
	}
}

/* "Mon Oct 13 00:25:36 2025" */
static bool read_asctime(const char *value, size_t len, int64_t *ret_ns)
{
	struct wtl_date date;

	if (wtl_date_parse_asctime(value, len, &date) < 0)
		return false;
	*ret_ns = wtl_date_utc_ns(&date);
	return true;
}

static void take_root_value(struct reader *reader, const char *name, const char *value, size_t len)
{
	struct wtl_smi_record *record = &reader->record;

	if (strcmp(name, "timestamp") == 0)
		record->has_time = read_asctime(value, len, &record->t_local_ns);
	else if (strcmp(name, "driver_version") == 0 || strcmp(name, "kmd_version") == 0)
		wtl_text_clean(reader->driver, sizeof(reader->driver), value, len);
	else if (strcmp(name, "cuda_version") == 0 || strcmp(name, "cuda_umd_version") == 0)
		wtl_text_clean(reader->cuda, sizeof(reader->cuda), value, len);
}

static void end_gpu(struct reader *reader)
{
	int rc;

	reader->record.gpu = &reader->gpu;
	reader->record.cuda = reader->cuda;
	rc = reader->each(reader->context, &reader->record);
	if (rc)
		stop(reader, rc);
}

static void end_element(void *data, const char *name)
{
	static const char gpu[] = GPU_PATH "/", root[] = ROOT_PATH "/";
	struct reader *reader = data;
	const char *value = reader->value;
	size_t len = reader->value_len;

	while (len > 0 && (*value == ' ' || *value == '\n' || *value == '\t')) {
		value++;
		len--;
	}
	len = wtl_text_trimmed(value, len);
	if (strcmp(reader->path, GPU_PATH) == 0)
		end_gpu(reader);
	else if (!reader->value_cut && wtl_text_starts(reader->path, gpu))
		take_gpu_value(reader, reader->path + sizeof(gpu) - 1, value, len);
	else if (!reader->value_cut && wtl_text_starts(reader->path, root))
		take_root_value(reader, reader->path + sizeof(root) - 1, value, len);
	reader->path[strlen(reader->path) - strlen(name) - 1] = '\0';
	reader->value_len = 0;
	reader->value_cut = true; /* what has an element in it has no value, only white space */
}

/* nvidia-smi declares no entities; they are a way to blow up a document. */
static void refuse_entity(void *data, const char *name, int is_parameter, const char *value,
			  int value_len, const char *base, const char *system, const char *public,
			  const char *notation)
{
	(void)name;
	(void)is_parameter;
	(void)value;
	(void)value_len;
	(void)base;
	(void)system;
	(void)public;
	(void)notation;
	stop(data, -WTL_EFORMAT);
}

static int read_document(struct reader *reader, const char *text, size_t len, struct wtl_err *err)
{
	enum XML_Status status;

	if (len > INT_MAX)
		return wtl_err_set(err, EFBIG, "nvidia-smi", NULL, "the XML is too long");
	reader->parser = XML_ParserCreate(NULL);
	if (!reader->parser)
		return wtl_err_set(err, ENOMEM, "nvidia-smi", NULL,
				   "XML needs libexpat.so.1, which is not there, or memory");
	reader->path[0] = '\0';
	reader->driver[0] = reader->cuda[0] = '\0';
	reader->record.has_time = false;
	XML_SetUserData(reader->parser, reader);
	XML_SetElementHandler(reader->parser, begin_element, end_element);
	XML_SetCharacterDataHandler(reader->parser, take_text);
	XML_SetEntityDeclHandler(reader->parser, refuse_entity);
	status = XML_Parse(reader->parser, text, (int)len, XML_TRUE);
	if (status != XML_STATUS_OK && !reader->error)
		reader->error = -WTL_EFORMAT;
	if (reader->error == -WTL_EFORMAT)
		wtl_err_set(err, WTL_EFORMAT, "nvidia-smi", NULL, "line %lu of the XML: %s",
			    XML_GetCurrentLineNumber(reader->parser),
			    XML_ErrorString(XML_GetErrorCode(reader->parser)));
	else if (reader->error < 0)
		wtl_err_set(err, reader->error, "nvidia-smi", NULL, "%s",
			    wtl_err_text(reader->error));
	XML_ParserFree(reader->parser);
	return reader->error;
}

static const char *find_document(const char *at, const char *end)
{
	const char *found = memmem(at, (size_t)(end - at), "<?xml", 5);

	return found ? found : end;
}

/* Counts lines that belong to no document: messages before it, which drivers print about a lost GPU. */
static size_t count_lines(const char *at, const char *end)
{
	size_t n = 0;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		n += wtl_text_trimmed(at, (size_t)(stop - at)) > 0;
		at = stop + 1;
	}
	return n;
}

/* Where the document ends: with its root element, which a message may follow. */
static const char *document_end(const char *at, const char *end)
{
	static const char closing[] = "</nvidia_smi_log>";
	const char *found = memmem(at, (size_t)(end - at), closing, sizeof(closing) - 1);

	return found ? found + sizeof(closing) - 1 : end;
}

int wtl_smi_read_xml(const char *text, size_t len, wtl_smi_each *each, void *context,
		     struct wtl_smi_leftover *ret_leftover, struct wtl_err *err)
{
	const char *end = text + len, *at;
	struct wtl_smi_leftover leftover = {0};
	struct reader *reader;
	int rc = 0;

	if (len > WTL_SMI_TEXT_MAX)
		return wtl_err_set(err, EFBIG, "nvidia-smi", NULL, "the text is too long");
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return wtl_err_set(err, ENOMEM, "nvidia-smi", NULL, "out of memory");
	reader->each = each;
	reader->context = context;
	at = find_document(text, end);
	leftover.lines = count_lines(text, at);
	if (at == end)
		rc = wtl_err_set(err, WTL_EFORMAT, "nvidia-smi", NULL, "there is no XML in it");
	while (rc == 0 && at < end) {
		const char *next = find_document(at + 1, end), *closed = document_end(at, next);

		rc = read_document(reader, at, (size_t)(closed - at), err);
		leftover.lines += count_lines(closed, next);
		at = next;
	}
	free(reader->gpu.processes);
	free(reader);
	if (ret_leftover)
		*ret_leftover = leftover;
	return rc;
}

#else

int wtl_smi_read_xml(const char *text, size_t len, wtl_smi_each *each, void *context,
		     struct wtl_smi_leftover *ret_leftover, struct wtl_err *err)
{
	(void)text;
	(void)len;
	(void)each;
	(void)context;
	(void)ret_leftover;
	return wtl_err_set(err, EOPNOTSUPP, "nvidia-smi", NULL,
			   "this wattle was built without XML (expat)");
}

#endif
