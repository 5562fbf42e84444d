/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/num.h"

enum op { OP_OPEN, OP_READ, OP_LINK, OP_DIR, OP_PERF, OP_LIB, OP_CPU, OP_EXITS, OP_WRITE, OP_ANY };

static const char *const op_names[] = {
	[OP_OPEN] = "open",   [OP_READ] = "read", [OP_LINK] = "link", [OP_DIR] = "dir",
	[OP_PERF] = "perf",   [OP_LIB] = "lib",	  [OP_CPU] = "cpu",   [OP_EXITS] = "exits",
	[OP_WRITE] = "write", [OP_ANY] = "any",
};

struct fault {
	struct wtl_io io;
	struct wtl_io *inner;
	enum op op;
	uint64_t at; /* the call that fails, from 1 */
	int code;    /* negative */
	bool always;
	atomic_uint_fast64_t calls; /* of that op */
};

static struct wtl_io *inner_of(struct wtl_io *io)
{
	return ((struct fault *)io)->inner;
}

/* Counts a call. Returns the error it shall fail with, or 0. */
static int fault_count(struct wtl_io *io, enum op op)
{
	struct fault *fault = (struct fault *)io;
	uint64_t call;

	if (fault->op != op && fault->op != OP_ANY)
		return 0;
	call = atomic_fetch_add(&fault->calls, 1) + 1;
	if (call == fault->at || (fault->always && call > fault->at))
		return fault->code;
	return 0;
}

static int fault_file_open(struct wtl_io *io, const char *path)
{
	int rc = fault_count(io, OP_OPEN);

	return rc < 0 ? rc : wtl_io_file_open(inner_of(io), path);
}

static ssize_t fault_file_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	int rc = fault_count(io, OP_READ);

	return rc < 0 ? rc : wtl_io_file_read(inner_of(io), file, buf, size);
}

static void fault_file_close(struct wtl_io *io, int file)
{
	wtl_io_file_close(inner_of(io), file);
}

static ssize_t fault_link_read(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	int rc = fault_count(io, OP_LINK);

	return rc < 0 ? rc : wtl_io_link_read(inner_of(io), path, buf, size);
}

static int fault_dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	int rc = fault_count(io, OP_DIR);

	return rc < 0 ? rc : wtl_io_dir_read(inner_of(io), path, names);
}

static int fault_perf_open(struct wtl_io *io, const struct wtl_perf_event *event)
{
	int rc = fault_count(io, OP_PERF);

	return rc < 0 ? rc : inner_of(io)->ops->perf_open(inner_of(io), event);
}

static int fault_perf_read(struct wtl_io *io, int file, uint64_t *ret_value)
{
	int rc = fault_count(io, OP_PERF);

	return rc < 0 ? rc : inner_of(io)->ops->perf_read(inner_of(io), file, ret_value);
}

static int fault_perf_count(struct wtl_io *io, int file, struct wtl_perf_count *ret_count)
{
	int rc = fault_count(io, OP_PERF);

	return rc < 0 ? rc : inner_of(io)->ops->perf_count(inner_of(io), file, ret_count);
}

static void fault_perf_close(struct wtl_io *io, int file)
{
	inner_of(io)->ops->perf_close(inner_of(io), file);
}

static int fault_lib_open(struct wtl_io *io, const char *const names[],
			  const struct wtl_lib_function functions[], size_t n_functions,
			  struct wtl_err *err)
{
	int rc = fault_count(io, OP_LIB);

	if (rc < 0)
		return wtl_err_set(err, rc, "fault", names[0], "%s (made to fail)",
				   wtl_err_text(rc));
	return inner_of(io)->ops->lib_open(inner_of(io), names, functions, n_functions, err);
}

static bool fault_lib_has(struct wtl_io *io, int lib, size_t function)
{
	return inner_of(io)->ops->lib_has(inner_of(io), lib, function);
}

static int fault_lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
			  int *ret_answer)
{
	int rc = fault_count(io, OP_LIB);

	if (rc < 0)
		return rc;
	return inner_of(io)->ops->lib_call(inner_of(io), lib, function, args, ret_answer);
}

static void fault_lib_close(struct wtl_io *io, int lib)
{
	inner_of(io)->ops->lib_close(inner_of(io), lib);
}

static int fault_process_cpu(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n)
{
	int rc = fault_count(io, OP_CPU);

	return rc < 0 ? rc : wtl_io_process_cpu(inner_of(io), pids, cpu_ns, n);
}

static int fault_exits_open(struct wtl_io *io)
{
	int rc = fault_count(io, OP_EXITS);

	return rc < 0 ? rc : wtl_io_exits_open(inner_of(io));
}

static ssize_t fault_exits_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	int rc = fault_count(io, OP_EXITS);

	return rc < 0 ? rc : wtl_io_exits_read(inner_of(io), file, buf, size);
}

static void fault_exits_close(struct wtl_io *io, int file)
{
	wtl_io_exits_close(inner_of(io), file);
}

static int64_t fault_clock_ns(struct wtl_io *io, enum wtl_clock clock)
{
	return inner_of(io)->ops->clock_ns(inner_of(io), clock);
}

static int fault_wait_until(struct wtl_io *io, int64_t t_mono_ns)
{
	return inner_of(io)->ops->wait_until(inner_of(io), t_mono_ns);
}

static int fault_note(struct wtl_io *io, const char *name, char *text, size_t size)
{
	return wtl_io_note(inner_of(io), name, text, size);
}

static int fault_file_write(struct wtl_io *io, const char *path, const void *data, size_t len)
{
	int rc = fault_count(io, OP_WRITE);

	return rc < 0 ? rc : wtl_io_file_write(inner_of(io), path, data, len);
}

static int fault_out_write(struct wtl_io *io, const char *path, const void *data, size_t len,
			   enum wtl_out_mode mode)
{
	int rc = fault_count(io, OP_WRITE);

	return rc < 0 ? rc : inner_of(io)->ops->out_write(inner_of(io), path, data, len, mode);
}

static int fault_out_check(struct wtl_io *io)
{
	int rc = fault_count(io, OP_WRITE);

	return rc < 0 ? rc : wtl_io_out_check(inner_of(io));
}

static void fault_free(struct wtl_io *io)
{
	wtl_io_free(inner_of(io));
	free(io);
}

static const struct wtl_io_ops fault_ops = {
	.file_open = fault_file_open,
	.file_read = fault_file_read,
	.file_close = fault_file_close,
	.link_read = fault_link_read,
	.dir_read = fault_dir_read,
	.perf_open = fault_perf_open,
	.perf_read = fault_perf_read,
	.perf_count = fault_perf_count,
	.perf_close = fault_perf_close,
	.lib_open = fault_lib_open,
	.lib_has = fault_lib_has,
	.lib_call = fault_lib_call,
	.lib_close = fault_lib_close,
	.process_cpu = fault_process_cpu,
	.exits_open = fault_exits_open,
	.exits_read = fault_exits_read,
	.exits_close = fault_exits_close,
	.clock_ns = fault_clock_ns,
	.wait_until = fault_wait_until,
	.note = fault_note,
	.file_write = fault_file_write,
	.out_write = fault_out_write,
	.out_check = fault_out_check,
	.free = fault_free,
};

/* The next part of "A:B:C", or false at its end. */
static bool part_next(const char **at, const char **ret_part, size_t *ret_len)
{
	if (!*at)
		return false;
	*ret_part = *at;
	*ret_len = strcspn(*at, ":");
	*at = (*at)[*ret_len] ? *at + *ret_len + 1 : NULL;
	return true;
}

static int op_parse(const char *name, size_t len, enum op *ret)
{
	for (size_t i = 0; i < sizeof(op_names) / sizeof(op_names[0]); i++) {
		if (strlen(op_names[i]) != len || memcmp(op_names[i], name, len) != 0)
			continue;
		*ret = (enum op)i;
		return 0;
	}
	return -EINVAL;
}

static int spec_parse(struct fault *fault, const char *spec, struct wtl_err *err)
{
	const char *at = spec, *part = "";
	size_t len = 0;
	bool more;

	part_next(&at, &part, &len);
	if (op_parse(part, len, &fault->op) < 0)
		return wtl_err_set(err, EINVAL, "fault", NULL,
				   "\"%.40s\": OP:N[:ERRNO][:always] needs an OP of open, read, "
				   "link, dir, perf, lib, cpu, exits, write or any",
				   spec);
	if (!part_next(&at, &part, &len) || wtl_num_u64(part, len, &fault->at) < 0 ||
	    fault->at == 0)
		return wtl_err_set(err, EINVAL, "fault", NULL,
				   "\"%.40s\": OP:N[:ERRNO][:always] needs an N of 1 or more",
				   spec);
	fault->code = -EIO;
	more = part_next(&at, &part, &len);
	if (more && wtl_err_from_name(part, len)) {
		fault->code = -wtl_err_from_name(part, len);
		more = part_next(&at, &part, &len);
	}
	if (more && len == strlen("always") && memcmp(part, "always", len) == 0) {
		fault->always = true;
		more = part_next(&at, &part, &len);
	}
	if (more)
		return wtl_err_set(err, EINVAL, "fault", NULL,
				   "\"%.40s\": after OP:N come only the name of an error such as "
				   "EACCES, and always",
				   spec);
	return 0;
}

int wtl_io_fault_check(const char *spec, struct wtl_err *err)
{
	struct fault fault = {.at = 0};

	return spec_parse(&fault, spec, err);
}

int wtl_io_fault_new(struct wtl_io *inner, const char *spec, struct wtl_io **ret_io,
		     struct wtl_err *err)
{
	struct fault *fault = calloc(1, sizeof(*fault));
	int rc;

	if (!fault)
		return wtl_err_set(err, ENOMEM, "fault", NULL, "out of memory");
	rc = spec_parse(fault, spec, err);
	if (rc < 0) {
		free(fault);
		return rc;
	}
	fault->io.ops = &fault_ops;
	fault->io.has_one_order = inner->has_one_order;
	fault->inner = inner;
	*ret_io = &fault->io;
	return 0;
}
