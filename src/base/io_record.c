/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/outfile.h"
#include "base/sparse.h"
#include "base/tape.h"

enum {
	LIBS_MAX = 64,
	HANDLES_MAX = 1 << 20,
	PENDING_MAX = 64 << 10, /* bytes kept before they are written */
	CPU_LINE_MAX = 32 << 10,
};

/* What the inner handle of that number stands for, as it is written on the tape; NULL: closed. */
struct handle {
	char *name;
	bool read; /* has a record */
};

struct handles {
	struct handle *at;
	size_t n;
};

/*
 * What the tape says already of every process's CPU time: most stand still from tick to tick, and a
 * tape holds changes only.
 */
struct cpu {
	int64_t cpu_ns;
	uint32_t frame;
	uint32_t asks; /* in that frame */
};

struct cpus {
	struct cpu *at;
	size_t n, room;
	struct wtl_hash by_pid;
};

struct record_lib {
	const struct wtl_lib_function *functions;
	size_t n;
};

struct record {
	struct wtl_io io;
	struct wtl_io *inner;
	int fd;
	int error; /* the first one, negative; then nothing more is written */
	struct wtl_tape_frame frame;
	int64_t line_ns; /* monotonic, of the line in the making */
	int64_t now_ns;	 /* of the last one: the clock that is shown, as a replay has no other */
	struct handles files;
	struct handles perfs;
	struct record_lib libs[LIBS_MAX];
	struct cpus cpus;
	struct wtl_buf line;
	size_t pending;
	off_t written; /* whole lines */
	size_t records, frames;
	pthread_mutex_t lock; /* over everything above but inner */
	char buffer[PENDING_MAX];
};

static struct record *record_of(struct wtl_io *io)
{
	return (struct record *)io;
}

static void fail(struct record *record, int code)
{
	if (record->error == 0)
		record->error = code;
}

/* Writes whole lines. A tape that ends within a line could not be replayed. */
static void write_out(struct record *record, const char *data, size_t len)
{
	int rc;

	if (record->error)
		return;
	rc = wtl_fd_write_all(record->fd, data, len);
	if (rc == 0) {
		record->written += (off_t)len;
		return;
	}
	(void)!ftruncate(record->fd, record->written);
	fail(record, rc);
}

static void flush(struct record *record)
{
	write_out(record, record->buffer, record->pending);
	record->pending = 0;
}

/* Whether the tape with this line can still be replayed. */
static bool line_fits(const struct record *record)
{
	size_t tape = (size_t)record->written + record->pending;

	return record->line.len <= WTL_TAPE_LINE_MAX && record->line.len <= WTL_TAPE_MAX - tape &&
	       record->records <= WTL_TAPE_RECORDS_MAX && record->frames <= WTL_TAPE_FRAMES_MAX;
}

/* The line in record->line is done; `count` is of its kind. */
static void line_write(struct record *record, size_t *count)
{
	const struct wtl_buf *line = &record->line;

	++*count;
	record->now_ns = record->line_ns;
	if (line->error || !line_fits(record)) {
		fail(record, line->error ? line->error : -EFBIG);
		return;
	}
	if (line->len > PENDING_MAX - record->pending)
		flush(record);
	if (line->len > PENDING_MAX) {
		write_out(record, line->data, line->len);
		return;
	}
	memcpy(record->buffer + record->pending, line->data, line->len);
	record->pending += line->len;
}

static void frame_write(struct record *record, int code)
{
	struct wtl_tape_frame frame = {
		.mono_ns = wtl_io_mono_ns(record->inner),
		.boot_ns = wtl_io_boot_ns(record->inner),
		.real_ns = wtl_io_real_ns(record->inner),
		.code = code,
	};

	record->frame = frame;
	record->line_ns = frame.mono_ns > record->now_ns ? frame.mono_ns : record->now_ns;
	wtl_buf_clear(&record->line);
	wtl_tape_put_frame(&record->line, &frame);
	line_write(record, &record->frames);
	flush(record);
}

/* Takes the lock and begins a line: the time, the letter, the name. line_end() gives it back. */
static struct record *line_begin(struct wtl_io *io, char letter)
{
	struct record *record = record_of(io);
	int64_t now_ns = wtl_io_mono_ns(record->inner);

	pthread_mutex_lock(&record->lock);
	/* Two threads may get here in another order than they asked in. */
	record->line_ns = now_ns > record->now_ns ? now_ns : record->now_ns;
	wtl_buf_clear(&record->line);
	wtl_buf_printf(&record->line, "+%" PRId64 " %c ", record->line_ns - record->frame.mono_ns,
		       letter);
	return record;
}

static void line_end(struct record *record)
{
	wtl_buf_putc(&record->line, '\n');
	line_write(record, &record->records);
	pthread_mutex_unlock(&record->lock);
}

static void line_path(struct record *record, const char *path)
{
	wtl_tape_put_quoted(&record->line, path, strlen(path));
	wtl_buf_putc(&record->line, ' ');
}

static void put_done(struct record *record, int rc)
{
	if (rc < 0)
		wtl_tape_put_error(&record->line, rc);
	else
		wtl_buf_puts(&record->line, "ok");
}

/* Remembers that an inner handle stands for what record->line holds from there on, and forgets its older name. */
static void handle_set(struct record *record, struct handles *handles, int file, size_t from)
{
	const struct wtl_buf *line = &record->line;
	struct handle *at;

	if (line->error || file >= HANDLES_MAX) {
		fail(record, line->error ? line->error : -EMFILE);
		return;
	}
	if ((size_t)file >= handles->n &&
	    wtl_array_widen(&handles->at, &handles->n, 2 * (size_t)file + 64, sizeof(*at)) < 0) {
		fail(record, -ENOMEM);
		return;
	}
	at = &handles->at[file];
	free(at->name);
	*at = (struct handle){.name = strdup(line->data + from)};
	if (!at->name)
		fail(record, -ENOMEM);
}

static struct handle *handle_at(const struct handles *handles, int file)
{
	if (file < 0 || (size_t)file >= handles->n || !handles->at[file].name)
		return NULL;
	return &handles->at[file];
}

/* Begins the line of a read; false, without the lock, for what no handle is known of. */
static bool read_begin(struct wtl_io *io, struct handles *handles, int file, char letter)
{
	struct record *record = line_begin(io, letter);
	struct handle *handle = handle_at(handles, file);

	if (!handle) {
		pthread_mutex_unlock(&record->lock);
		return false;
	}
	handle->read = true;
	wtl_buf_puts(&record->line, handle->name);
	wtl_buf_putc(&record->line, ' ');
	return true;
}

/* An opening without a read leaves no other trace. */
static void handle_forget(struct wtl_io *io, struct handles *handles, int file, char letter,
			  const char *opened)
{
	struct record *record = line_begin(io, letter);
	struct handle *handle = handle_at(handles, file);

	if (handle && !handle->read) {
		wtl_buf_printf(&record->line, "%s %s\n", handle->name, opened);
		line_write(record, &record->records);
	}
	if (handle) {
		free(handle->name);
		*handle = (struct handle){0};
	}
	pthread_mutex_unlock(&record->lock);
}

static void file_forget(struct record *record, int file)
{
	handle_forget(&record->io, &record->files, file, 'O', "ok");
}

static void perf_forget(struct record *record, int file)
{
	handle_forget(&record->io, &record->perfs, file, 'P', "open ok");
}

/* The line has the name from `from` on: a handle's from now on, or of what cannot be opened. */
static int open_end(struct record *record, struct handles *handles, size_t from, const char *opened,
		    int rc)
{
	if (rc >= 0) {
		handle_set(record, handles, rc, from);
		pthread_mutex_unlock(&record->lock);
		return rc;
	}
	wtl_buf_puts(&record->line, opened);
	wtl_tape_put_error(&record->line, rc);
	line_end(record);
	return rc;
}

/* What a file or a link held, or the error. */
static ssize_t content_end(struct record *record, const char *content, ssize_t rc)
{
	if (rc >= 0)
		wtl_tape_put_quoted(&record->line, content, (size_t)rc);
	else
		wtl_tape_put_error(&record->line, (int)rc);
	line_end(record);
	return rc;
}

static int record_file_open(struct wtl_io *io, const char *path)
{
	int rc = wtl_io_file_open(record_of(io)->inner, path);
	struct record *record = line_begin(io, 'O');
	size_t from = record->line.len;

	wtl_tape_put_quoted(&record->line, path, strlen(path));
	return open_end(record, &record->files, from, " ", rc);
}

static ssize_t record_file_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	struct record *record = record_of(io);
	ssize_t rc = wtl_io_file_read(record->inner, file, buf, size);

	return read_begin(io, &record->files, file, 'R') ? content_end(record, buf, rc) : rc;
}

static void record_file_close(struct wtl_io *io, int file)
{
	file_forget(record_of(io), file);
	wtl_io_file_close(record_of(io)->inner, file);
}

static ssize_t record_link_read(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	ssize_t rc = wtl_io_link_read(record_of(io)->inner, path, buf, size);
	struct record *record = line_begin(io, 'L');

	line_path(record, path);
	return content_end(record, buf, rc);
}

static int record_dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	size_t from = names->len;
	int rc = wtl_io_dir_read(record_of(io)->inner, path, names);
	struct record *record = line_begin(io, 'D');

	line_path(record, path);
	if (rc < 0)
		wtl_tape_put_error(&record->line, rc);
	for (size_t at = from; rc >= 0 && at < names->len;) {
		size_t len = strlen(names->data + at);

		wtl_tape_put_quoted(&record->line, names->data + at, len);
		wtl_buf_putc(&record->line, ' ');
		at += len + 1;
	}
	line_end(record);
	return rc;
}

static int record_perf_open(struct wtl_io *io, const struct wtl_perf_event *event)
{
	int rc = wtl_io_perf_open(record_of(io)->inner, event);
	struct record *record = line_begin(io, 'P');
	size_t from = record->line.len;

	wtl_tape_put_perf(&record->line, event);
	return open_end(record, &record->perfs, from, " open ", rc);
}

static int record_perf_read(struct wtl_io *io, int file, uint64_t *ret_value)
{
	struct record *record = record_of(io);
	int rc = wtl_io_perf_read(record->inner, file, ret_value);

	if (!read_begin(io, &record->perfs, file, 'P'))
		return rc;
	if (rc < 0)
		wtl_tape_put_error(&record->line, rc);
	else
		wtl_buf_printf(&record->line, "%" PRIu64, *ret_value);
	line_end(record);
	return rc;
}

static int record_perf_count(struct wtl_io *io, int file, struct wtl_perf_count *ret_count)
{
	struct record *record = record_of(io);
	int rc = wtl_io_perf_count(record->inner, file, ret_count);

	if (!read_begin(io, &record->perfs, file, 'P'))
		return rc;
	if (rc < 0)
		wtl_tape_put_error(&record->line, rc);
	else
		wtl_buf_printf(&record->line, "%" PRIu64 " %" PRId64 " %" PRId64, ret_count->count,
			       ret_count->enabled_ns, ret_count->running_ns);
	line_end(record);
	return rc;
}

static void record_perf_close(struct wtl_io *io, int file)
{
	struct wtl_io *inner = record_of(io)->inner;

	perf_forget(record_of(io), file);
	wtl_io_perf_close(inner, file);
}

static int record_lib_open(struct wtl_io *io, const char *const names[],
			   const struct wtl_lib_function functions[], size_t n_functions,
			   struct wtl_err *err)
{
	struct wtl_io *inner = record_of(io)->inner;
	int rc = wtl_io_lib_open(inner, names, functions, n_functions, err);
	struct record *record;

	if (!names[0])
		return rc;
	record = line_begin(io, 'H');
	line_path(record, names[0]);
	if (rc < 0)
		wtl_tape_put_error(&record->line, rc);
	for (size_t i = 0; rc >= 0 && i < n_functions; i++) {
		if (!wtl_io_lib_has(inner, rc, i))
			continue;
		wtl_tape_put_quoted(&record->line, functions[i].symbol,
				    strlen(functions[i].symbol));
		wtl_buf_putc(&record->line, ' ');
	}
	if (rc >= 0 && rc < LIBS_MAX)
		record->libs[rc] = (struct record_lib){functions, n_functions};
	line_end(record);
	return rc;
}

static bool record_lib_has(struct wtl_io *io, int lib, size_t function)
{
	struct wtl_io *inner = record_of(io)->inner;

	return wtl_io_lib_has(inner, lib, function);
}

static void outs_put(struct wtl_buf *line, const struct wtl_lib_function *function,
		     const struct wtl_lib_arg args[])
{
	for (unsigned i = 0; i < function->n_args && i < WTL_LIB_ARGS_MAX; i++) {
		if (!args[i].memory)
			continue;
		wtl_buf_puts(line, " [");
		wtl_tape_put_hex(line, args[i].memory, args[i].size);
		wtl_buf_putc(line, ']');
	}
}

static int record_lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
			   int *ret_answer)
{
	struct record *record = record_of(io);
	const struct record_lib *at = lib >= 0 && lib < LIBS_MAX ? &record->libs[lib] : NULL;
	struct wtl_buf key;
	int rc;

	if (!at || function >= at->n)
		return wtl_io_lib_call(record->inner, lib, function, args, ret_answer);
	/* The call overwrites what it was asked; no lock is held in it, for it can take long. */
	wtl_buf_init(&key, WTL_TAPE_LINE_MAX);
	wtl_tape_put_call(&key, &at->functions[function], args);
	rc = wtl_io_lib_call(record->inner, lib, function, args, ret_answer);
	if (rc != -ENOSYS) {
		line_begin(io, 'S');
		if (key.error)
			record->line.error = key.error;
		wtl_buf_puts(&record->line, wtl_buf_str(&key));
		wtl_buf_puts(&record->line, " = ");
		if (rc < 0) {
			wtl_tape_put_error(&record->line, rc);
		} else {
			wtl_buf_printf(&record->line, "%d", *ret_answer);
			outs_put(&record->line, &at->functions[function], args);
		}
		line_end(record);
	}
	wtl_buf_done(&key);
	return rc;
}

static void record_lib_close(struct wtl_io *io, int lib)
{
	struct record *record = record_of(io);

	/* First: another thread may be given the place as soon as it is free. */
	if (lib >= 0 && lib < LIBS_MAX)
		record->libs[lib] = (struct record_lib){0};
	wtl_io_lib_close(record->inner, lib);
}

/*
 * Takes an answer for a process in this frame. 1 when the tape must say it, 0 when it has; *ret_ask is
 * how many times the process was asked for in this frame, with this one. -ENOMEM.
 */
static int cpu_note(struct record *record, int pid, int64_t cpu_ns, uint32_t *ret_ask)
{
	struct cpus *cpus = &record->cpus;
	uint32_t sum = wtl_hash_number((uint32_t)pid), frame = (uint32_t)record->frames;
	const uint32_t *place = wtl_hash_find(&cpus->by_pid, sum, NULL, NULL, NULL);
	struct cpu *cpu;
	bool is_same;

	if (!place && (wtl_hash_reserve(&cpus->by_pid, cpus->n + 1) < 0 ||
		       wtl_array_reserve(&cpus->at, &cpus->room, cpus->n + 1, sizeof(*cpu)) < 0))
		return -ENOMEM;
	if (!place)
		wtl_hash_add(&cpus->by_pid, sum, (uint32_t)cpus->n);
	cpu = &cpus->at[place ? *place : cpus->n++];
	is_same = place && cpu->cpu_ns == cpu_ns;
	*ret_ask = place && cpu->frame == frame ? cpu->asks + 1 : 1;
	*cpu = (struct cpu){.cpu_ns = cpu_ns, .frame = frame, .asks = *ret_ask};
	return !is_same;
}

/* Puts what has changed for a process; *ask is what the line says already. */
static void cpu_entry(struct record *record, int pid, int64_t cpu_ns, uint32_t *ask)
{
	struct wtl_buf *line = &record->line;
	uint32_t its_ask;
	int rc;

	/* A number that no process can have is not recorded: a replay knows its answer, too. */
	if (pid <= 0 || record->error < 0)
		return;
	rc = cpu_note(record, pid, cpu_ns, &its_ask);
	if (rc < 0)
		fail(record, rc);
	if (rc <= 0)
		return;
	if (its_ask != *ask)
		wtl_buf_printf(line, "*%" PRIu32 " ", its_ask);
	*ask = its_ask;
	wtl_buf_printf(line, "%d=", pid);
	if (cpu_ns < 0)
		wtl_tape_put_error(line, (int)cpu_ns);
	else
		wtl_buf_printf(line, "%" PRId64, cpu_ns);
	wtl_buf_putc(line, ' ');
	record->records++;
}

static int record_process_cpu(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n)
{
	int rc = wtl_io_process_cpu(record_of(io)->inner, pids, cpu_ns, n);
	struct record *record = line_begin(io, 'C');
	size_t begun = record->line.len;
	uint32_t ask = 1;

	if (rc < 0)
		wtl_tape_put_error(&record->line, rc);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		if (record->line.len > CPU_LINE_MAX) {
			wtl_buf_putc(&record->line, '\n');
			line_write(record, &record->records);
			record->line.len = begun;
			wtl_buf_puts(&record->line, WTL_TAPE_CPU_MORE " ");
			ask = 1;
		}
		cpu_entry(record, pids[i], cpu_ns[i], &ask);
	}
	line_end(record);
	return rc;
}

static int record_exits_open(struct wtl_io *io)
{
	int rc = wtl_io_exits_open(record_of(io)->inner);
	struct record *record = line_begin(io, 'X');

	wtl_buf_puts(&record->line, WTL_TAPE_EXITS_OPEN " ");
	put_done(record, rc);
	line_end(record);
	return rc;
}

static ssize_t record_exits_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	ssize_t rc = wtl_io_exits_read(record_of(io)->inner, file, buf, size);
	struct record *record = line_begin(io, 'X');

	if (rc < 0) {
		wtl_tape_put_error(&record->line, (int)rc);
	} else if (rc == 0) {
		wtl_buf_puts(&record->line, "none");
	} else {
		wtl_buf_putc(&record->line, '[');
		wtl_sparse_put(&record->line, buf, (size_t)rc);
		wtl_buf_putc(&record->line, ']');
	}
	line_end(record);
	return rc;
}

static void record_exits_close(struct wtl_io *io, int file)
{
	wtl_io_exits_close(record_of(io)->inner, file);
}

/* Answers are kept as if they were files, named after the socket and the question: so tapes need no other kind of
 * line, and older programs read them. */
static int record_agent_open(struct wtl_io *io)
{
	int rc = wtl_io_agent_open(record_of(io)->inner);
	struct record *record = line_begin(io, rc < 0 ? 'O' : 'R');

	line_path(record, WTL_AGENT_SOCKET);
	content_end(record, "", rc < 0 ? rc : 0);
	return rc;
}

static ssize_t record_agent_ask(struct wtl_io *io, int agent, const char *question, char *answer,
				size_t size)
{
	ssize_t rc = wtl_io_agent_ask(record_of(io)->inner, agent, question, answer, size);
	struct record *record = line_begin(io, 'R');
	char name[128];

	snprintf(name, sizeof(name), WTL_AGENT_SOCKET " %s", question);
	line_path(record, name);
	return content_end(record, answer, rc);
}

static void record_agent_close(struct wtl_io *io, int agent)
{
	wtl_io_agent_close(record_of(io)->inner, agent);
}

static int record_note(struct wtl_io *io, const char *name, char *text, size_t size)
{
	int rc = wtl_io_note(record_of(io)->inner, name, text, size);
	struct record *record;

	if (rc != 1)
		return rc;
	record = line_begin(io, 'N');
	line_path(record, name);
	wtl_tape_put_quoted(&record->line, text, strlen(text));
	line_end(record);
	return rc;
}

static int64_t record_clock_ns(struct wtl_io *io, enum wtl_clock clock)
{
	struct record *record = record_of(io);
	int64_t now_ns;

	pthread_mutex_lock(&record->lock);
	now_ns = wtl_tape_clock_ns(&record->frame, clock, record->now_ns);
	pthread_mutex_unlock(&record->lock);
	return now_ns;
}

static int record_wait_until(struct wtl_io *io, int64_t t_mono_ns)
{
	struct record *record = record_of(io);
	int rc;

	/* What is there is safe before a long sleep. */
	pthread_mutex_lock(&record->lock);
	flush(record);
	pthread_mutex_unlock(&record->lock);
	rc = wtl_io_wait_until(record->inner, t_mono_ns);
	if (rc == -WTL_ETAPE_END)
		return rc;
	pthread_mutex_lock(&record->lock);
	frame_write(record, rc);
	pthread_mutex_unlock(&record->lock);
	return rc;
}

static int record_file_write(struct wtl_io *io, const char *path, const void *data, size_t len)
{
	int rc = wtl_io_file_write(record_of(io)->inner, path, data, len);
	struct record *record = line_begin(io, 'W');

	line_path(record, path);
	wtl_tape_put_quoted(&record->line, data, len);
	wtl_buf_putc(&record->line, ' ');
	put_done(record, rc);
	line_end(record);
	return rc;
}

static int record_out_write(struct wtl_io *io, const char *path, const void *data, size_t len,
			    enum wtl_out_mode mode)
{
	struct wtl_io *inner = record_of(io)->inner;

	return wtl_io_out_write(inner, path, data, len, mode);
}

static int record_out_check(struct wtl_io *io)
{
	return wtl_io_out_check(record_of(io)->inner);
}

static void handles_done(struct handles *handles)
{
	for (size_t i = 0; i < handles->n; i++)
		free(handles->at[i].name);
	free(handles->at);
}

static void record_free(struct wtl_io *io)
{
	struct record *record = record_of(io);

	for (size_t i = 0; i < record->files.n; i++)
		file_forget(record, (int)i);
	for (size_t i = 0; i < record->perfs.n; i++)
		perf_forget(record, (int)i);
	flush(record);
	close(record->fd);
	wtl_io_free(record->inner);
	handles_done(&record->files);
	handles_done(&record->perfs);
	free(record->cpus.at);
	wtl_hash_done(&record->cpus.by_pid);
	wtl_buf_done(&record->line);
	pthread_mutex_destroy(&record->lock);
	free(record);
}

static const struct wtl_io_ops record_ops = {
	.file_open = record_file_open,
	.file_read = record_file_read,
	.file_close = record_file_close,
	.link_read = record_link_read,
	.dir_read = record_dir_read,
	.perf_open = record_perf_open,
	.perf_read = record_perf_read,
	.perf_count = record_perf_count,
	.perf_close = record_perf_close,
	.lib_open = record_lib_open,
	.lib_has = record_lib_has,
	.lib_call = record_lib_call,
	.lib_close = record_lib_close,
	.process_cpu = record_process_cpu,
	.exits_open = record_exits_open,
	.exits_read = record_exits_read,
	.exits_close = record_exits_close,
	.agent_open = record_agent_open,
	.agent_ask = record_agent_ask,
	.agent_close = record_agent_close,
	.note = record_note,
	.clock_ns = record_clock_ns,
	.wait_until = record_wait_until,
	.file_write = record_file_write,
	.out_write = record_out_write,
	.out_check = record_out_check,
	.free = record_free,
};

int wtl_io_record_error(struct wtl_io *io)
{
	struct record *record = record_of(io);
	int error;

	if (io->ops != &record_ops)
		return -EINVAL;
	pthread_mutex_lock(&record->lock);
	flush(record);
	error = record->error;
	pthread_mutex_unlock(&record->lock);
	return error;
}

int wtl_io_record_new(struct wtl_io *inner, const char *path, struct wtl_io **ret_io,
		      struct wtl_err *err)
{
	struct record *record = calloc(1, sizeof(*record));
	int code;

	if (!record)
		return wtl_err_set(err, ENOMEM, "tape", path, "out of memory");
	record->fd = wtl_outfile_open(path, O_WRONLY | O_TRUNC | O_NOCTTY, inner->file_mode);
	if (record->fd < 0) {
		code = record->fd;
		free(record);
		return wtl_err_set(err, code, "tape", path, "cannot write the tape: %s",
				   wtl_err_text(code));
	}
	record->io.ops = &record_ops;
	record->io.has_one_order = true;
	record->io.file_mode = inner->file_mode;
	record->inner = inner;
	/* A little more than a tape may have, to tell a line that is too long. */
	wtl_buf_init(&record->line, WTL_TAPE_LINE_MAX + 64);
	pthread_mutex_init(&record->lock, NULL);
	write_out(record, WTL_TAPE_HEADER, strlen(WTL_TAPE_HEADER));
	frame_write(record, 0);
	*ret_io = &record->io;
	return 0;
}
