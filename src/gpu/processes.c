/* SPDX-License-Identifier: MIT */
#include "gpu/processes.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/io.h"
#include "base/text.h"

enum {
	TRIES = 6,
	ROOM_FIRST = 32,
	NAME_SIZE = 128,
};

/* Memory that a call fills, at least size bytes, all 0. NULL: no memory. */
static void *raw_get(void **raw, size_t *raw_size, size_t size)
{
	if (wtl_array_reserve(raw, raw_size, size, 1) < 0)
		return NULL;
	memset(*raw, 0, size);
	return *raw;
}

/* ---- Lists ---- */

struct variant {
	enum wtl_nvml_function function;
	size_t stride;
};

static const struct {
	unsigned type;
	struct variant variants[3];
} kinds[] = {
	{WTL_GPU_PROCESS_COMPUTE,
	 {{WTL_NVML_COMPUTE_V3, sizeof(struct wtl_nvml_process)},
	  {WTL_NVML_COMPUTE_V2, sizeof(struct wtl_nvml_process)},
	  {WTL_NVML_COMPUTE_V1, sizeof(struct wtl_nvml_process_v1)}}},
	{WTL_GPU_PROCESS_GRAPHICS,
	 {{WTL_NVML_GRAPHICS_V3, sizeof(struct wtl_nvml_process)},
	  {WTL_NVML_GRAPHICS_V2, sizeof(struct wtl_nvml_process)},
	  {WTL_NVML_GRAPHICS_V1, sizeof(struct wtl_nvml_process_v1)}}},
	{WTL_GPU_PROCESS_MPS,
	 {{WTL_NVML_MPS_V3, sizeof(struct wtl_nvml_process)},
	  {WTL_NVML_MPS_V2, sizeof(struct wtl_nvml_process)},
	  {WTL_NVML_MPS_V1, sizeof(struct wtl_nvml_process_v1)}}},
};

enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* Drivers 535.43 to 535.86 write longer entries than all before and after them; they are known by
 * having one function and not yet the other. */
static bool is_long_v3(struct wtl_nvml_lib *lib)
{
	return wtl_nvml_has(lib, WTL_NVML_CONF_COMPUTE) &&
	       !wtl_nvml_has(lib, WTL_NVML_PROCESS_DETAILS);
}

static bool is_v3(enum wtl_nvml_function function)
{
	return function == WTL_NVML_COMPUTE_V3 || function == WTL_NVML_GRAPHICS_V3 ||
	       function == WTL_NVML_MPS_V3;
}

/* One list, raw: asks with more room until it fits. Code or -ENOMEM. */
static int ask(struct wtl_nvml_process_list *list, struct wtl_nvml_lib *lib, uint64_t handle,
	       enum wtl_nvml_function function, size_t stride, uint32_t *ret_n)
{
	uint32_t room = ROOM_FIRST;
	int code = WTL_NVML_INSUFFICIENT_SIZE;

	for (int i = 0; i < TRIES && code == WTL_NVML_INSUFFICIENT_SIZE; i++) {
		uint32_t count = room;
		void *raw = raw_get(&list->raw, &list->raw_size, room * stride);
		struct wtl_lib_arg args[] = {
			{.word = handle},
			{.memory = &count, .size = sizeof(count)},
			{.memory = raw, .size = room * stride},
		};

		if (!raw)
			return -ENOMEM;
		code = wtl_nvml_call(lib, function, args);
		*ret_n = count < room ? count : room;
		if (code != WTL_NVML_INSUFFICIENT_SIZE)
			break;
		if (room == WTL_NVML_PROCESSES_MAX) {
			list->is_cut = true; /* what fits is there */
			return WTL_NVML_OK;
		}
		/* They may become more meanwhile. */
		room = count < WTL_NVML_PROCESSES_MAX / 2 ? count * 2 + 5 : WTL_NVML_PROCESSES_MAX;
		if (room < ROOM_FIRST)
			room = ROOM_FIRST * 2;
	}
	return code;
}

static struct wtl_gpu_process *find(struct wtl_nvml_process_list *list,
				    const struct wtl_nvml_process *entry)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i].pid == (int)entry->pid && list->at[i].instance == entry->instance &&
		    list->at[i].compute_instance == entry->compute_instance)
			return &list->at[i];
	return NULL;
}

static int merge(struct wtl_nvml_process_list *list, const struct wtl_nvml_process *entry,
		 unsigned type)
{
	struct wtl_gpu_process *process = find(list, entry);

	if (process) {
		/* Both lists say what the process has in all. */
		if (entry->used_bytes != UINT64_MAX && (process->memory_bytes == UINT64_MAX ||
							process->memory_bytes < entry->used_bytes))
			process->memory_bytes = entry->used_bytes;
		process->types |= type;
		return 0;
	}
	if (list->n == WTL_NVML_PROCESSES_MAX) {
		list->is_cut = true;
		return 0;
	}
	if (wtl_array_reserve(&list->at, &list->room, list->n + 1, sizeof(list->at[0])) < 0)
		return -ENOMEM;
	list->at[list->n++] = (struct wtl_gpu_process){
		.pid = (int)entry->pid,
		.types = type,
		.memory_bytes = entry->used_bytes,
		.instance = entry->instance,
		.compute_instance = entry->compute_instance,
	};
	return 0;
}

static int take(struct wtl_nvml_process_list *list, size_t stride, uint32_t n, unsigned type)
{
	int rc = 0;

	for (uint32_t i = 0; i < n && rc == 0; i++) {
		struct wtl_nvml_process entry = {.instance = UINT32_MAX,
						 .compute_instance = UINT32_MAX};

		/* Every layout begins like the shortest one. */
		memcpy(&entry, (const char *)list->raw + i * stride,
		       stride < sizeof(entry) ? stride : sizeof(entry));
		if (entry.pid == 0 || entry.pid > INT_MAX)
			continue;
		rc = merge(list, &entry, type);
	}
	return rc;
}

static int read_kind(struct wtl_nvml_process_list *list, struct wtl_nvml_lib *lib, uint64_t handle,
		     size_t kind)
{
	for (size_t i = 0; i < 3; i++) {
		const struct variant *variant = &kinds[kind].variants[i];
		size_t stride = variant->stride;
		uint32_t n = 0;
		int code;

		if (!wtl_nvml_has(lib, variant->function))
			continue;
		if (is_v3(variant->function) && is_long_v3(lib))
			stride = sizeof(struct wtl_nvml_process_535);
		code = ask(list, lib, handle, variant->function, stride, &n);
		if (code == WTL_NVML_OK && take(list, stride, n, kinds[kind].type) < 0)
			return -ENOMEM;
		return code;
	}
	return WTL_NVML_FUNCTION_NOT_FOUND;
}

int wtl_nvml_process_list_read(struct wtl_nvml_process_list *list, struct wtl_nvml_lib *lib,
			       uint64_t handle)
{
	int answer = WTL_NVML_FUNCTION_NOT_FOUND;

	list->n = 0;
	list->is_cut = false;
	for (size_t i = 0; i < N_KINDS; i++) {
		int code = read_kind(list, lib, handle, i);

		if (code == WTL_NVML_OK || answer != WTL_NVML_OK)
			answer = code == WTL_NVML_FUNCTION_NOT_FOUND ? answer : code;
		if (code < 0 ||
		    (code != WTL_NVML_OK && wtl_nvml_status(code) != WATTLE_STATUS_ABSENT)) {
			list->n = 0;
			return code;
		}
	}
	return answer;
}

void wtl_nvml_process_list_done(struct wtl_nvml_process_list *list)
{
	free(list->at);
	free(list->raw);
	*list = (struct wtl_nvml_process_list){0};
}

/* ---- Names ---- */

/* The first PID namespace's number never changes (PROC_PID_INIT_INO of the kernel's proc_ns.h). */
#define FIRST_NAMESPACE "pid:[4026531836]"

bool wtl_nvml_pids_are_ours(struct wtl_io *io)
{
	char text[64];
	ssize_t len = wtl_io_link_read(io, "/proc/self/ns/pid", text, sizeof(text));

	if (len < 0 || strcmp(text, FIRST_NAMESPACE) == 0)
		return true;
	/* A /proc of the host in a container shows the host's numbers: kthreadd is always the second
	 * process of the first namespace, and in no other. */
	return wtl_io_read_line(io, "/proc/2/comm", text, sizeof(text)) == 0 &&
	       strcmp(text, "kthreadd") == 0;
}

void wtl_process_program(struct wtl_io *io, int pid, char *name, size_t size)
{
	char path[64], text[NAME_SIZE * 2];
	ssize_t len;
	int file;

	name[0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	file = wtl_io_file_open(io, path);
	if (file >= 0) {
		len = wtl_io_file_read(io, file, text, sizeof(text));
		wtl_io_file_close(io, file);
		if (len > 0)
			wtl_text_clean(name, size, text, strnlen(text, (size_t)len));
	}
	if (name[0])
		return;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	len = wtl_io_link_read(io, path, text, sizeof(text));
	if (len > 0) {
		wtl_text_clean(name, size, text, (size_t)len);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	(void)wtl_io_read_line(io, path, name, size);
}

void wtl_nvml_name(struct wtl_nvml_lib *lib, int pid, char *name, size_t size)
{
	char answer[NAME_SIZE] = "";
	struct wtl_lib_arg args[] = {
		{.word = (uint64_t)pid},
		{.memory = answer, .size = sizeof(answer)},
		{.word = sizeof(answer)},
	};

	name[0] = '\0';
	if (lib && lib->up && wtl_nvml_call(lib, WTL_NVML_PROCESS_NAME, args) == WTL_NVML_OK)
		wtl_text_clean(name, size, answer, strnlen(answer, sizeof(answer)));
}

void wtl_nvml_process_name(struct wtl_io *io, struct wtl_nvml_lib *lib, bool pids_are_ours,
			   struct wtl_gpu_process *process)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", process->pid);
	process->is_visible = pids_are_ours && wtl_io_exists(io, path);
	process->name[0] = '\0';
	if (pids_are_ours)
		wtl_nvml_name(lib, process->pid, process->name, sizeof(process->name));
	if (!process->name[0] && process->is_visible)
		wtl_process_program(io, process->pid, process->name, sizeof(process->name));
	if (!process->name[0] && !process->is_visible)
		snprintf(process->name, sizeof(process->name), "host pid %d, not visible here",
			 process->pid);
}
