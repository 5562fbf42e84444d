/* SPDX-License-Identifier: MIT */
#include "memio.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/num.h"
#include "base/sparse.h"
#include "base/text.h"

static struct memio *memio_of(struct wtl_io *io)
{
	return (struct memio *)io;
}

static void *keep(const void *bytes, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		abort();
	if (len > 0)
		memcpy(copy, bytes, len);
	copy[len] = '\0';
	return copy;
}

static struct memio_file *find(struct memio *memio, const char *path)
{
	for (size_t i = 0; i < memio->n_files; i++)
		if (strcmp(memio->files[i].path, path) == 0)
			return &memio->files[i];
	return NULL;
}

/* The errno that a content stands for, negative, or 0. */
static int content_error(const struct memio_file *file)
{
	static const char mark[] = "!errno ";
	size_t skip = sizeof(mark) - 1;
	int code;

	if (file->len <= skip || memcmp(file->bytes, mark, skip) != 0)
		return 0;
	code = wtl_err_from_name(file->bytes + skip,
				 wtl_text_trimmed(file->bytes + skip, file->len - skip));
	return code ? -code : -EIO;
}

static int mem_file_open(struct wtl_io *io, const char *path)
{
	struct memio *memio = memio_of(io);
	struct memio_file *file = find(memio, path);
	int rc;

	if (!file || !file->bytes || file->is_link)
		return -ENOENT;
	rc = content_error(file);
	if (rc < 0)
		return rc;
	memio->open_now++;
	return (int)(file - memio->files);
}

static ssize_t mem_file_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	struct memio *memio = memio_of(io);
	const struct memio_file *at;
	int rc;

	if (file < 0 || (size_t)file >= memio->n_files)
		abort();
	at = &memio->files[file];
	if (!at->bytes)
		return -ENODEV;
	rc = content_error(at);
	if (rc < 0)
		return rc;
	if (size > at->len)
		size = at->len;
	memcpy(buf, at->bytes, size);
	return (ssize_t)size;
}

static void mem_file_close(struct wtl_io *io, int file)
{
	struct memio *memio = memio_of(io);

	if (file < 0 || (size_t)file >= memio->n_files)
		abort();
	memio->open_now--;
}

static ssize_t mem_link_read(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	const struct memio_file *file = find(memio_of(io), path);

	if (!file || !file->bytes)
		return -ENOENT;
	if (!file->is_link)
		return -EINVAL;
	if (file->len >= size)
		return -ENAMETOOLONG;
	memcpy(buf, file->bytes, file->len + 1);
	return (ssize_t)file->len;
}

/* The least name in the directory above `after` ("": any). Its length, 0 for none. */
static size_t next_name(const struct memio *memio, const char *path, const char *after,
			const char **ret_name)
{
	size_t dir_len = strlen(path), best_len = 0;
	const char *best = NULL;

	for (size_t i = 0; i < memio->n_files; i++) {
		const struct memio_file *file = &memio->files[i];
		const char *name = file->path + dir_len + 1;
		size_t len, common;

		if (!file->bytes || !wtl_text_starts(file->path, path) ||
		    file->path[dir_len] != '/' || name[0] == '.' || name[0] == '\0')
			continue;
		len = strcspn(name, "/");
		common = strlen(after) < len ? strlen(after) : len;
		if (strncmp(name, after, common) < 0 ||
		    (strncmp(name, after, common) == 0 && len <= strlen(after)))
			continue;
		common = best_len < len ? best_len : len;
		if (!best || strncmp(name, best, common) < 0 ||
		    (strncmp(name, best, common) == 0 && len < best_len)) {
			best = name;
			best_len = len;
		}
	}
	*ret_name = best;
	return best_len;
}

static int mem_dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	const struct memio *memio = memio_of(io);
	char after[256] = "";
	const char *name;
	int n = 0;

	for (;;) {
		size_t len = next_name(memio, path, after, &name);

		if (len == 0 || len >= sizeof(after))
			break;
		memcpy(after, name, len);
		after[len] = '\0';
		if (wtl_buf_add(names, after, len + 1) < 0)
			return names->error;
		n++;
	}
	if (n > 0)
		return n;
	return find(memio_of(io), path) ? -ENOTDIR : -ENOENT;
}

static int mem_perf_open(struct wtl_io *io, const struct wtl_perf_event *event)
{
	char path[64];

	snprintf(path, sizeof(path), "/wattle-perf/%" PRIu32 "-%" PRIx64 "-%s%d", event->type,
		 event->config, event->task ? "task" : "", event->task ? event->task : event->cpu);
	return mem_file_open(io, path);
}

static int mem_perf_read(struct wtl_io *io, int file, uint64_t *ret_value)
{
	char text[64];
	ssize_t len = mem_file_read(io, file, text, sizeof(text));

	return len < 0 ? (int)len : wtl_num_u64(text, (size_t)len, ret_value);
}

/* The same number for all three. */
static int mem_perf_count(struct wtl_io *io, int file, struct wtl_perf_count *ret_count)
{
	uint64_t value;
	int rc = mem_perf_read(io, file, &value);

	if (rc == 0)
		*ret_count = (struct wtl_perf_count){value, (int64_t)(value >> 1),
						     (int64_t)(value >> 2)};
	return rc;
}

static int mem_lib_open(struct wtl_io *io, const char *const names[],
			const struct wtl_lib_function functions[], size_t n_functions,
			struct wtl_err *err)
{
	(void)io;
	(void)functions;
	(void)n_functions;
	return wtl_err_set(err, WTL_EABSENT, "memio", names[0], "no libraries here");
}

static bool mem_lib_has(struct wtl_io *io, int lib, size_t function)
{
	(void)io;
	(void)lib;
	(void)function;
	return false;
}

static int mem_lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
			int *ret_answer)
{
	(void)io;
	(void)lib;
	(void)function;
	(void)args;
	(void)ret_answer;
	return -ENOSYS;
}

static void mem_lib_close(struct wtl_io *io, int lib)
{
	(void)io;
	(void)lib;
}

#define CPU_DIR "/wattle-cpu/"

static int64_t cpu_ns_of(struct memio *memio, int pid)
{
	char path[32];
	const struct memio_file *file;
	uint64_t value;
	int rc;

	snprintf(path, sizeof(path), CPU_DIR "%d", pid);
	file = find(memio, path);
	if (!file || !file->bytes)
		return -ESRCH;
	rc = content_error(file);
	if (rc == 0)
		rc = wtl_num_u64(file->bytes, file->len, &value);
	if (rc < 0)
		return rc;
	return value <= INT64_MAX ? (int64_t)value : -ERANGE;
}

static int mem_process_cpu(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n)
{
	struct memio *memio = memio_of(io);
	bool can_tell = false;

	for (size_t i = 0; i < memio->n_files && !can_tell; i++)
		can_tell = memio->files[i].bytes && wtl_text_starts(memio->files[i].path, CPU_DIR);
	if (!can_tell)
		return -EOPNOTSUPP;
	for (size_t i = 0; i < n; i++)
		cpu_ns[i] = cpu_ns_of(memio, pids[i]);
	return 0;
}

static int mem_exits_open(struct wtl_io *io)
{
	struct memio *memio = memio_of(io);

	if (memio->exits >= 0)
		return -EMFILE;
	memio->exits = mem_file_open(io, "/wattle-exits");
	memio->exits_at = 0;
	return memio->exits == -ENOENT ? -EOPNOTSUPP : memio->exits;
}

static ssize_t mem_exits_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	struct memio *memio = memio_of(io);
	const struct memio_file *at;

	if (file < 0 || file != memio->exits)
		abort();
	at = &memio->files[file];
	while (at->bytes && memio->exits_at < at->len) {
		const char *line = at->bytes + memio->exits_at;
		const char *end = memchr(line, '\n', at->len - memio->exits_at);
		size_t len;

		if (!end) /* it has not come yet */
			break;
		len = wtl_text_trimmed(line, (size_t)(end - line));
		memio->exits_at += (size_t)(end - line) + 1;
		if (len > 0)
			return wtl_sparse_parse(line, len, buf, size);
	}
	return 0;
}

static void mem_exits_close(struct wtl_io *io, int file)
{
	struct memio *memio = memio_of(io);

	if (file < 0 || file != memio->exits)
		abort();
	memio->exits = -1;
	mem_file_close(io, file);
}

static int64_t mem_clock_ns(struct wtl_io *io, enum wtl_clock clock)
{
	const struct memio *memio = memio_of(io);

	return clock == WTL_CLOCK_REAL ? memio->real_ns + memio->now_ns : memio->now_ns;
}

static int mem_wait_until(struct wtl_io *io, int64_t t_mono_ns)
{
	struct memio *memio = memio_of(io);

	if (t_mono_ns > memio->now_ns)
		memio->now_ns = t_mono_ns;
	return 0;
}

static int mem_file_write(struct wtl_io *io, const char *path, const void *data, size_t len)
{
	const struct memio_file *file = find(memio_of(io), path);
	int rc;

	if (!file || !file->bytes || file->is_link)
		return -ENOENT;
	rc = content_error(file);
	if (rc < 0)
		return rc;
	memio_put(memio_of(io), path, data, len);
	return 0;
}

static int mem_out_write(struct wtl_io *io, const char *path, const void *data, size_t len,
			 enum wtl_out_mode mode)
{
	(void)mode;
	memio_put(memio_of(io), path, data, len);
	return 0;
}

static void mem_free(struct wtl_io *io)
{
	memio_done(memio_of(io));
}

static const struct wtl_io_ops memio_ops = {
	.file_open = mem_file_open,
	.file_read = mem_file_read,
	.file_close = mem_file_close,
	.link_read = mem_link_read,
	.dir_read = mem_dir_read,
	.perf_open = mem_perf_open,
	.perf_read = mem_perf_read,
	.perf_count = mem_perf_count,
	.perf_close = mem_file_close,
	.lib_open = mem_lib_open,
	.lib_has = mem_lib_has,
	.lib_call = mem_lib_call,
	.lib_close = mem_lib_close,
	.process_cpu = mem_process_cpu,
	.exits_open = mem_exits_open,
	.exits_read = mem_exits_read,
	.exits_close = mem_exits_close,
	.clock_ns = mem_clock_ns,
	.wait_until = mem_wait_until,
	.file_write = mem_file_write,
	.out_write = mem_out_write,
	.free = mem_free,
};

void memio_init(struct memio *memio)
{
	*memio = (struct memio){
		.io = {.ops = &memio_ops},
		.exits = -1,
		.now_ns = INT64_C(1000000000),
		.real_ns = INT64_C(1735689600000000000),
	};
}

void memio_done(struct memio *memio)
{
	if (memio->open_now != 0)
		abort();
	for (size_t i = 0; i < memio->n_files; i++) {
		free(memio->files[i].path);
		free(memio->files[i].bytes);
	}
	memio->n_files = 0;
}

static struct memio_file *put(struct memio *memio, const char *path, const void *bytes, size_t len)
{
	struct memio_file *file = find(memio, path);

	if (!file) {
		if (memio->n_files == MEMIO_FILES_MAX)
			abort();
		file = &memio->files[memio->n_files++];
		file->path = keep(path, strlen(path));
	}
	free(file->bytes);
	file->bytes = keep(bytes, len);
	file->len = len;
	file->is_link = false;
	return file;
}

void memio_put(struct memio *memio, const char *path, const void *bytes, size_t len)
{
	put(memio, path, bytes, len);
}

void memio_puts(struct memio *memio, const char *path, const char *text)
{
	put(memio, path, text, strlen(text));
}

void memio_link(struct memio *memio, const char *path, const char *target)
{
	put(memio, path, target, strlen(target))->is_link = true;
}

void memio_remove(struct memio *memio, const char *path)
{
	struct memio_file *file = find(memio, path);

	if (!file)
		return;
	free(file->bytes);
	file->bytes = NULL;
	file->len = 0;
}
