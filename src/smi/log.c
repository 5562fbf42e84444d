/* SPDX-License-Identifier: MIT */
/* The document of -q for people. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "smi/smi.h"
#include "smi/field.h"
#include "smi/xml.h"

/* Where the values stand; those of processes stand further left. */
enum { VALUE_COLUMN = 55, PROCESS_COLUMN = 42, INDENT = 4 };

static void put_title(struct wtl_buf *buf, size_t depth, const char *title, size_t len)
{
	wtl_buf_printf(buf, "%*s%.*s", (int)(INDENT * depth), "", (int)len, title);
}

/* The title and what stands before a value. */
static void begin_line(struct wtl_buf *buf, size_t depth, const char *title, size_t column)
{
	size_t begin = buf->len;

	put_title(buf, depth, title, strlen(title));
	while (!buf->error && buf->len - begin < column)
		wtl_buf_putc(buf, ' ');
	wtl_buf_puts(buf, ": ");
}

static void put_text(struct wtl_buf *buf, size_t depth, const char *title, const char *text)
{
	begin_line(buf, depth, title, VALUE_COLUMN);
	wtl_smi_put_text(buf, text[0] ? text : "N/A");
	wtl_buf_putc(buf, '\n');
}

static void put_number(struct wtl_buf *buf, size_t depth, const char *title, size_t column,
		       uint64_t value, bool known, const char *suffix)
{
	begin_line(buf, depth, title, column);
	if (known)
		wtl_buf_printf(buf, "%llu%s", (unsigned long long)value, suffix);
	else
		wtl_buf_puts(buf, "N/A");
	wtl_buf_putc(buf, '\n');
}

static void put_memory(struct wtl_buf *buf, size_t depth, const char *title, size_t column,
		       uint64_t bytes)
{
	put_number(buf, depth, title, column, wtl_smi_to_mib(bytes), bytes != UINT64_MAX, " MiB");
}

static void put_migs(struct wtl_buf *buf, const struct wtl_gpu *gpu)
{
	for (size_t i = 0; i < gpu->n_migs; i++) {
		const struct wtl_gpu_mig *mig = &gpu->migs[i];

		wtl_buf_puts(buf, "    MIG Device\n");
		put_number(buf, 2, "Index", VALUE_COLUMN, mig->index, true, "");
		put_number(buf, 2, "GPU Instance ID", VALUE_COLUMN, mig->instance,
			   mig->instance != UINT32_MAX, "");
		put_number(buf, 2, "Compute Instance ID", VALUE_COLUMN, mig->compute_instance,
			   mig->compute_instance != UINT32_MAX, "");
		wtl_buf_puts(buf, "        Shared FB Memory Usage\n");
		put_memory(buf, 3, "Total", VALUE_COLUMN, mig->memory_total_bytes);
		put_memory(buf, 3, "Used", VALUE_COLUMN, mig->memory_used_bytes);
	}
}

static void put_process(struct wtl_buf *buf, const struct wtl_gpu_process *process)
{
	put_number(buf, 2, "GPU instance ID", PROCESS_COLUMN, process->instance,
		   process->instance != UINT32_MAX, "");
	put_number(buf, 2, "Compute instance ID", PROCESS_COLUMN, process->compute_instance,
		   process->compute_instance != UINT32_MAX, "");
	put_number(buf, 2, "Process ID", PROCESS_COLUMN, (uint64_t)process->pid, process->pid > 0,
		   "");
	begin_line(buf, 3, "Type", PROCESS_COLUMN);
	wtl_buf_printf(buf, "%s\n", wtl_smi_process_type(process));
	begin_line(buf, 3, "Name", PROCESS_COLUMN);
	wtl_smi_put_text(buf, wtl_smi_process_program(process));
	wtl_buf_putc(buf, '\n');
	put_memory(buf, 3, "Used GPU Memory", PROCESS_COLUMN, process->memory_bytes);
}

static void put_processes(struct wtl_buf *buf, const struct wtl_gpu *gpu)
{
	const struct wtl_gpu_process **sorted;

	if (gpu->n_processes == 0) {
		put_text(buf, 1, "Processes", "None");
		return;
	}
	sorted = wtl_smi_processes_by_pid(gpu);
	if (!sorted) {
		buf->error = -ENOMEM;
		return;
	}
	wtl_buf_puts(buf, "    Processes\n");
	for (size_t i = 0; i < gpu->n_processes; i++)
		put_process(buf, sorted[i]);
	free(sorted);
}

/* The folders that only `to` is in. */
static void open_folders(struct wtl_buf *buf, const char *from, const char *to)
{
	size_t shared = wtl_smi_shared_folders(from, to);
	size_t depth = 1 + wtl_smi_count_folders(to, 0) - wtl_smi_count_folders(to, shared);

	for (const char *at = to + shared, *slash; (slash = strchr(at, '/')); at = slash + 1) {
		put_title(buf, depth++, at, (size_t)(slash - at));
		wtl_buf_putc(buf, '\n');
	}
}

static void put_gpu(struct wtl_buf *buf, const struct wtl_smi_row *row)
{
	const char *before = "";

	for (const struct wtl_smi_element *element = wtl_smi_titles; element->path; element++) {
		const char *title = strrchr(element->path, '/');

		if (!wtl_smi_is_shown(element, row))
			continue;
		if (strcmp(element->field, "*mig") == 0) {
			put_migs(buf, row->gpu);
			continue;
		}
		if (strcmp(element->field, "*processes") == 0) {
			put_processes(buf, row->gpu);
			continue;
		}
		open_folders(buf, before, element->path);
		before = element->path;
		begin_line(buf, 1 + wtl_smi_count_folders(element->path, 0),
			   title ? title + 1 : element->path, VALUE_COLUMN);
		wtl_smi_put_value(buf, element, row);
		wtl_buf_putc(buf, '\n');
	}
	wtl_buf_putc(buf, '\n');
}

int wtl_smi_log(struct wtl_buf *buf, const struct wtl_look *look)
{
	const struct wtl_smi_element bus_id = {"", "pci.bus_id", 0};
	char time[64];

	if (!wtl_smi_time(look->t_utc_ns, time, sizeof(time)))
		return -EOVERFLOW;
	wtl_buf_puts(buf, "\n==============NVSMI LOG==============\n\n");
	put_text(buf, 0, "Timestamp", time);
	put_text(buf, 0, "Driver Version", look->driver);
	put_text(buf, 0, "CUDA Version", look->cuda);
	wtl_buf_putc(buf, '\n');
	put_number(buf, 0, "Attached GPUs", VALUE_COLUMN, look->n_attached, true, "");
	for (size_t i = 0; i < look->n_gpus; i++) {
		struct wtl_smi_row row = {.look = look, .gpu = &look->gpus[i]};

		wtl_buf_puts(buf, "GPU ");
		wtl_smi_put_value(buf, &bus_id, &row);
		wtl_buf_putc(buf, '\n');
		put_gpu(buf, &row);
	}
	return buf->error;
}
