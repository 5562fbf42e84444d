/* SPDX-License-Identifier: MIT */
#include "pass_io.h"

#include "base/io.h"

static struct wtl_io *real_of(struct wtl_io *io)
{
	return ((struct pass_io *)io)->real;
}

int pass_file_open(struct wtl_io *io, const char *path)
{
	return wtl_io_file_open(real_of(io), path);
}

ssize_t pass_file_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	return wtl_io_file_read(real_of(io), file, buf, size);
}

void pass_file_close(struct wtl_io *io, int file)
{
	wtl_io_file_close(real_of(io), file);
}

ssize_t pass_link_read(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	return wtl_io_link_read(real_of(io), path, buf, size);
}

int pass_dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	return wtl_io_dir_read(real_of(io), path, names);
}

int pass_perf_open(struct wtl_io *io, const struct wtl_perf_event *event)
{
	return wtl_io_perf_open(real_of(io), event);
}

int pass_perf_read(struct wtl_io *io, int file, uint64_t *ret_value)
{
	return wtl_io_perf_read(real_of(io), file, ret_value);
}

int pass_perf_count(struct wtl_io *io, int file, struct wtl_perf_count *ret_count)
{
	return wtl_io_perf_count(real_of(io), file, ret_count);
}

void pass_perf_close(struct wtl_io *io, int file)
{
	wtl_io_perf_close(real_of(io), file);
}

int pass_lib_open(struct wtl_io *io, const char *const names[],
		  const struct wtl_lib_function functions[], size_t n_functions,
		  struct wtl_err *err)
{
	return wtl_io_lib_open(real_of(io), names, functions, n_functions, err);
}

bool pass_lib_has(struct wtl_io *io, int lib, size_t function)
{
	return wtl_io_lib_has(real_of(io), lib, function);
}

int pass_lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
		  int *ret_answer)
{
	return wtl_io_lib_call(real_of(io), lib, function, args, ret_answer);
}

void pass_lib_close(struct wtl_io *io, int lib)
{
	wtl_io_lib_close(real_of(io), lib);
}

int pass_process_cpu(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n)
{
	return wtl_io_process_cpu(real_of(io), pids, cpu_ns, n);
}

int pass_exits_open(struct wtl_io *io)
{
	return wtl_io_exits_open(real_of(io));
}

ssize_t pass_exits_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	return wtl_io_exits_read(real_of(io), file, buf, size);
}

void pass_exits_close(struct wtl_io *io, int file)
{
	wtl_io_exits_close(real_of(io), file);
}

int pass_file_write(struct wtl_io *io, const char *path, const void *data, size_t len)
{
	return wtl_io_file_write(real_of(io), path, data, len);
}

int pass_out_write(struct wtl_io *io, const char *path, const void *data, size_t len,
		   enum wtl_out_mode mode)
{
	return wtl_io_out_write(real_of(io), path, data, len, mode);
}
