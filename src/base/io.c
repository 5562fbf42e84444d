/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io_fault.h"
#include "base/num.h"
#include "base/text.h"

/* Whether --fault makes a call fail: its negative errno, or 0. */
static int fault(const struct wtl_io *io, enum wtl_fault_op op)
{
	return io->fault ? wtl_fault_count(io->fault, op) : 0;
}

void wtl_io_free(struct wtl_io *io)
{
	if (!io)
		return;
	free(io->fault);
	io->ops->free(io);
}

int wtl_io_file_open(struct wtl_io *io, const char *path)
{
	int rc = fault(io, WTL_FAULT_OPEN);

	return rc < 0 ? rc : io->ops->file_open(io, path);
}

ssize_t wtl_io_file_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	int rc = fault(io, WTL_FAULT_READ);

	return rc < 0 ? rc : io->ops->file_read(io, file, buf, size);
}

void wtl_io_file_close(struct wtl_io *io, int file)
{
	if (file >= 0)
		io->ops->file_close(io, file);
}

ssize_t wtl_io_link_read(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	int rc = fault(io, WTL_FAULT_LINK);

	return rc < 0 ? rc : io->ops->link_read(io, path, buf, size);
}

int wtl_io_dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	int rc = fault(io, WTL_FAULT_DIR);

	return rc < 0 ? rc : io->ops->dir_read(io, path, names);
}

int wtl_io_perf_open(struct wtl_io *io, const struct wtl_perf_event *event)
{
	int rc = fault(io, WTL_FAULT_PERF);

	return rc < 0 ? rc : io->ops->perf_open(io, event);
}

int wtl_io_perf_read(struct wtl_io *io, int file, uint64_t *ret_value)
{
	int rc = fault(io, WTL_FAULT_PERF);

	return rc < 0 ? rc : io->ops->perf_read(io, file, ret_value);
}

int wtl_io_perf_count(struct wtl_io *io, int file, struct wtl_perf_count *ret_count)
{
	int rc = fault(io, WTL_FAULT_PERF);

	return rc < 0 ? rc : io->ops->perf_count(io, file, ret_count);
}

void wtl_io_perf_close(struct wtl_io *io, int file)
{
	if (file >= 0)
		io->ops->perf_close(io, file);
}

int wtl_io_lib_open(struct wtl_io *io, const char *const names[],
		    const struct wtl_lib_function functions[], size_t n_functions,
		    struct wtl_err *err)
{
	int rc = fault(io, WTL_FAULT_LIB);

	if (rc < 0)
		return wtl_err_set(err, rc, "fault", names[0], "%s (made to fail)",
				   wtl_err_text(rc));
	return io->ops->lib_open(io, names, functions, n_functions, err);
}

bool wtl_io_lib_has(struct wtl_io *io, int lib, size_t function)
{
	return io->ops->lib_has(io, lib, function);
}

int wtl_io_lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
		    int *ret_answer)
{
	int rc = fault(io, WTL_FAULT_LIB);

	return rc < 0 ? rc : io->ops->lib_call(io, lib, function, args, ret_answer);
}

void wtl_io_lib_close(struct wtl_io *io, int lib)
{
	if (lib >= 0)
		io->ops->lib_close(io, lib);
}

int wtl_io_process_cpu(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n)
{
	int rc = fault(io, WTL_FAULT_CPU);

	return rc < 0 ? rc : io->ops->process_cpu(io, pids, cpu_ns, n);
}

int wtl_io_exits_open(struct wtl_io *io)
{
	int rc = fault(io, WTL_FAULT_EXITS);

	return rc < 0 ? rc : io->ops->exits_open(io);
}

ssize_t wtl_io_exits_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	int rc = fault(io, WTL_FAULT_EXITS);

	return rc < 0 ? rc : io->ops->exits_read(io, file, buf, size);
}

void wtl_io_exits_close(struct wtl_io *io, int file)
{
	if (file >= 0)
		io->ops->exits_close(io, file);
}

int wtl_io_agent_open(struct wtl_io *io)
{
	int rc = fault(io, WTL_FAULT_OPEN);

	if (rc == 0 && !io->ops->agent_open)
		rc = -ENOENT;
	return rc < 0 ? rc : io->ops->agent_open(io);
}

ssize_t wtl_io_agent_ask(struct wtl_io *io, int agent, const char *question, char *answer,
			 size_t size)
{
	int rc = fault(io, WTL_FAULT_READ);

	return rc < 0 ? rc : io->ops->agent_ask(io, agent, question, answer, size);
}

void wtl_io_agent_close(struct wtl_io *io, int agent)
{
	if (agent >= 0)
		io->ops->agent_close(io, agent);
}

int wtl_io_note(struct wtl_io *io, const char *name, char *text, size_t size)
{
	return io->ops->note ? io->ops->note(io, name, text, size) : 1;
}

/* Up to the end of 2114: what begins then and takes a year is still sound (record/sound.c). */
static bool is_kept(int64_t t_utc_ns)
{
	return t_utc_ns >= 0 && t_utc_ns < INT64_C(4575744000) * 1000000000;
}

int64_t wtl_io_mono_ns(struct wtl_io *io)
{
	return io->ops->clock_ns(io, WTL_CLOCK_MONO);
}

int64_t wtl_io_boot_ns(struct wtl_io *io)
{
	return io->ops->clock_ns(io, WTL_CLOCK_BOOT);
}

int64_t wtl_io_real_ns(struct wtl_io *io)
{
	int64_t t_ns = io->ops->clock_ns(io, WTL_CLOCK_REAL);

	return is_kept(t_ns) ? t_ns : wtl_io_boot_ns(io);
}

bool wtl_io_lacks_utc(struct wtl_io *io)
{
	return !is_kept(io->ops->clock_ns(io, WTL_CLOCK_REAL));
}

int wtl_io_wait_until(struct wtl_io *io, int64_t t_mono_ns)
{
	return io->ops->wait_until(io, t_mono_ns);
}

int wtl_io_file_write(struct wtl_io *io, const char *path, const void *data, size_t len)
{
	int rc = fault(io, WTL_FAULT_WRITE);

	return rc < 0 ? rc : io->ops->file_write(io, path, data, len);
}

int wtl_io_out_write(struct wtl_io *io, const char *path, const void *data, size_t len,
		     enum wtl_out_mode mode)
{
	int rc = fault(io, WTL_FAULT_WRITE);

	return rc < 0 ? rc : io->ops->out_write(io, path, data, len, mode);
}

int wtl_io_has_process_cpu(struct wtl_io *io)
{
	return io->ops->has_process_cpu ? io->ops->has_process_cpu(io) : -EOPNOTSUPP;
}

int wtl_io_out_check(struct wtl_io *io)
{
	int rc = fault(io, WTL_FAULT_WRITE);

	return rc < 0 || !io->ops->out_check ? rc : io->ops->out_check(io);
}

ssize_t wtl_io_slurp(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	int file;
	ssize_t len;

	if (size == 0)
		return -EINVAL;
	file = wtl_io_file_open(io, path);
	if (file < 0)
		return file;
	len = wtl_io_file_read(io, file, buf, size);
	wtl_io_file_close(io, file);
	if (len == (ssize_t)size)
		return -EFBIG;
	if (len >= 0)
		buf[len] = '\0';
	return len;
}

int wtl_io_read_line(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	char text[4096];
	ssize_t len = wtl_io_slurp(io, path, text, sizeof(text));
	const char *end;

	if (len < 0)
		return (int)len;
	end = memchr(text, '\n', (size_t)len);
	wtl_text_clean(buf, size, text, end ? (size_t)(end - text) : (size_t)len);
	return 0;
}

int wtl_io_read_u64(struct wtl_io *io, const char *path, uint64_t *ret)
{
	char text[64];
	ssize_t len = wtl_io_slurp(io, path, text, sizeof(text));

	if (len == -EFBIG)
		return -EINVAL;
	if (len < 0)
		return (int)len;
	return wtl_num_u64(text, (size_t)len, ret);
}

bool wtl_io_exists(struct wtl_io *io, const char *path)
{
	int file = wtl_io_file_open(io, path);

	wtl_io_file_close(io, file);
	/* What we may not open is there, too. */
	return file >= 0 || file == -EACCES || file == -EPERM;
}
