/* SPDX-License-Identifier: MIT */
#include "base/io.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/tape.h"

enum {
	LIBS_MAX = 8,
	HANDLES_MAX = 1 << 20,
};

/* An open file or counter. */
struct handle {
	bool used;
	struct wtl_tape_key *key; /* NULL for a directory that was opened like a file */
};

struct replay_lib {
	bool used;
	const struct wtl_lib_function *functions;
	size_t n;
	bool *has;
};

struct replay {
	struct wtl_io io;
	struct wtl_tape *tape;
	uint32_t frame;
	int64_t now_ns; /* monotonic; never goes back */
	struct handle *handles;
	size_t n_handles;
	int all_used; /* the handles below this number */
	struct replay_lib libs[LIBS_MAX];
	struct wtl_buf key;
	pthread_mutex_t lock; /* over everything above */
};

static struct replay *replay_of(struct wtl_io *io)
{
	return (struct replay *)io;
}

static struct replay *lock(struct wtl_io *io)
{
	struct replay *replay = replay_of(io);

	pthread_mutex_lock(&replay->lock);
	return replay;
}

static void unlock(struct replay *replay)
{
	pthread_mutex_unlock(&replay->lock);
}

static const struct wtl_tape_frame *frame_now(const struct replay *replay)
{
	return wtl_tape_frame(replay->tape, replay->frame);
}

/* Virtual time moves on at least to when the answer came. */
static void time_pass(struct replay *replay, const struct wtl_tape_record *record, bool fresh)
{
	int64_t then = frame_now(replay)->mono_ns + record->offset_ns;

	if (fresh && then > replay->now_ns)
		replay->now_ns = then;
}

static const struct wtl_tape_record *key_read(struct replay *replay, struct wtl_tape_key *key)
{
	const struct wtl_tape_record *record;
	bool fresh;

	if (!key)
		return NULL;
	record = wtl_tape_read(replay->tape, key, replay->frame, &fresh);
	if (record)
		time_pass(replay, record, fresh);
	return record;
}

static const struct wtl_tape_record *path_read(struct replay *replay, enum wtl_tape_class class,
					       const char *path)
{
	return key_read(replay, wtl_tape_find(replay->tape, class, path, strlen(path)));
}

static struct handle *handle_at(const struct replay *replay, int file)
{
	if (file < 0 || (size_t)file >= replay->n_handles || !replay->handles[file].used)
		return NULL;
	return &replay->handles[file];
}

/* What a handle's key says next. NULL with *ret_rc set: there is no such handle, or no such record. */
static const struct wtl_tape_record *handle_read(struct replay *replay, int file, int *ret_rc)
{
	const struct handle *handle = handle_at(replay, file);
	const struct wtl_tape_record *record = handle ? key_read(replay, handle->key) : NULL;

	if (record)
		*ret_rc = record->code;
	else
		*ret_rc = !handle ? -EBADF : handle->key ? -ENOENT : -EISDIR;
	return record;
}

static const struct wtl_tape_record *key_opened(struct replay *replay, struct wtl_tape_key *key)
{
	bool fresh;
	const struct wtl_tape_record *record =
		wtl_tape_open(replay->tape, key, replay->frame, &fresh);

	if (record)
		time_pass(replay, record, fresh);
	return record;
}

/* A free handle, or a negative errno. */
static int handle_new(struct replay *replay, struct wtl_tape_key *key)
{
	int i = replay->all_used;

	while ((size_t)i < replay->n_handles && replay->handles[i].used)
		i++;
	if (i == HANDLES_MAX)
		return -EMFILE;
	if ((size_t)i == replay->n_handles &&
	    wtl_array_widen(&replay->handles, &replay->n_handles, 2 * (size_t)i + 16,
			    sizeof(*replay->handles)) < 0)
		return -ENOMEM;
	replay->handles[i] = (struct handle){.used = true, .key = key};
	replay->all_used = i + 1;
	return i;
}

/* Opens what the key is about; `otherwise` when the tape knows nothing of it. */
static int key_open(struct replay *replay, struct wtl_tape_key *key, int otherwise)
{
	const struct wtl_tape_record *record;

	if (!key)
		return otherwise < 0 ? otherwise : handle_new(replay, NULL);
	record = key_opened(replay, key);
	if (!record)
		return -ENOENT;
	if (record->kind == WTL_TAPE_OPEN && record->code < 0)
		return record->code;
	return handle_new(replay, key);
}

static int replay_file_open(struct wtl_io *io, const char *path)
{
	struct replay *replay = lock(io);
	size_t len = strlen(path);
	/* A directory can be opened too. */
	bool dir = wtl_tape_find(replay->tape, WTL_TAPE_DIR, path, len);
	int rc = key_open(replay, wtl_tape_find(replay->tape, WTL_TAPE_FILE, path, len),
			  dir ? 0 : -ENOENT);

	unlock(replay);
	return rc;
}

/* The record's data, cut to size. Returns its length. */
static ssize_t data_copy(const struct replay *replay, const struct wtl_tape_record *record,
			 void *buf, size_t size)
{
	size_t len = record->data_len < size ? record->data_len : size;

	if (len > 0)
		memcpy(buf, wtl_tape_data(replay->tape, record), len);
	return (ssize_t)len;
}

static ssize_t replay_file_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	struct replay *replay = lock(io);
	int rc;
	const struct wtl_tape_record *record = handle_read(replay, file, &rc);
	ssize_t len = rc < 0 ? rc : data_copy(replay, record, buf, size);

	unlock(replay);
	return len;
}

static void replay_file_close(struct wtl_io *io, int file)
{
	struct replay *replay = lock(io);
	struct handle *handle = handle_at(replay, file);

	if (handle)
		*handle = (struct handle){0};
	if (handle && file < replay->all_used)
		replay->all_used = file;
	unlock(replay);
}

static ssize_t replay_link_read(struct wtl_io *io, const char *path, char *buf, size_t size)
{
	struct replay *replay = lock(io);
	const struct wtl_tape_record *record = path_read(replay, WTL_TAPE_LINK, path);
	ssize_t rc;

	if (!record || record->code < 0) {
		rc = record ? record->code : -ENOENT;
	} else if (record->data_len >= size) {
		rc = -ENAMETOOLONG;
	} else {
		rc = (ssize_t)record->data_len;
		memcpy(buf, wtl_tape_data(replay->tape, record), record->data_len);
		buf[rc] = '\0';
	}
	unlock(replay);
	return rc;
}

static int replay_dir_read(struct wtl_io *io, const char *path, struct wtl_buf *names)
{
	struct replay *replay = lock(io);
	const struct wtl_tape_record *record = path_read(replay, WTL_TAPE_DIR, path);
	int rc = -ENOENT;

	if (record && record->code < 0) {
		rc = record->code;
	} else if (record) {
		const char *data = wtl_tape_data(replay->tape, record);

		rc = wtl_buf_add(names, data, record->data_len);
		for (size_t i = 0; rc >= 0 && i < record->data_len; i++)
			rc += data[i] == '\0';
	}
	unlock(replay);
	return rc;
}

static int replay_perf_open(struct wtl_io *io, const struct wtl_perf_event *event)
{
	struct replay *replay = lock(io);
	int rc;

	wtl_buf_clear(&replay->key);
	rc = wtl_tape_put_perf(&replay->key, event);
	if (rc == 0)
		rc = key_open(replay,
			      wtl_tape_find(replay->tape, WTL_TAPE_PERF, replay->key.data,
					    replay->key.len),
			      -ENOENT);
	unlock(replay);
	return rc;
}

static int replay_perf_read(struct wtl_io *io, int file, uint64_t *ret_value)
{
	struct replay *replay = lock(io);
	int rc;
	const struct wtl_tape_record *record = handle_read(replay, file, &rc);

	if (rc == 0)
		*ret_value = record->value;
	unlock(replay);
	return rc;
}

static int replay_perf_count(struct wtl_io *io, int file, struct wtl_perf_count *ret_count)
{
	struct replay *replay = lock(io);
	int rc;
	const struct wtl_tape_record *record = handle_read(replay, file, &rc);

	if (rc == 0 &&
	    data_copy(replay, record, ret_count, sizeof(*ret_count)) != (ssize_t)sizeof(*ret_count))
		rc = -EINVAL;
	unlock(replay);
	return rc;
}

/* Whether the record's list of symbols has this one. */
static bool symbol_listed(const struct replay *replay, const struct wtl_tape_record *record,
			  const char *symbol)
{
	const char *at = wtl_tape_data(replay->tape, record);
	const char *end = at + record->data_len;

	for (; at < end; at += strlen(at) + 1)
		if (strcmp(at, symbol) == 0)
			return true;
	return false;
}

/*
 * The library by one of its names; else any one with some of the functions, for a tape that was
 * recorded with the library at another path.
 */
static const struct wtl_tape_record *lib_find(struct replay *replay, const char *const names[],
					      const struct wtl_lib_function functions[], size_t n)
{
	struct wtl_tape_key *keys = (struct wtl_tape_key *)(void *)replay->tape->keys.data;

	for (size_t i = 0; names[i]; i++) {
		struct wtl_tape_key *key =
			wtl_tape_find(replay->tape, WTL_TAPE_LIB, names[i], strlen(names[i]));

		if (key)
			return key_opened(replay, key);
	}
	for (size_t i = 0; i < replay->tape->n_keys; i++) {
		const struct wtl_tape_record *record = wtl_tape_key_first(replay->tape, &keys[i]);

		if (replay->tape->bytes.data[record->key_at] != WTL_TAPE_LIB)
			continue;
		for (size_t j = 0; j < n; j++)
			if (symbol_listed(replay, record, functions[j].symbol))
				return key_opened(replay, &keys[i]);
	}
	return NULL;
}

static int lib_make(struct replay *replay, const struct wtl_tape_record *record,
		    const struct wtl_lib_function functions[], size_t n, struct wtl_err *err)
{
	int i;

	for (i = 0; i < LIBS_MAX; i++)
		if (!replay->libs[i].used)
			break;
	if (i == LIBS_MAX)
		return wtl_err_set(err, EMFILE, "tape", NULL, "too many libraries");
	replay->libs[i].has = calloc(n ? n : 1, sizeof(bool));
	if (!replay->libs[i].has)
		return wtl_err_set(err, ENOMEM, "tape", NULL, "out of memory");
	for (size_t j = 0; j < n; j++)
		replay->libs[i].has[j] = symbol_listed(replay, record, functions[j].symbol);
	replay->libs[i].used = true;
	replay->libs[i].functions = functions;
	replay->libs[i].n = n;
	return i;
}

static int replay_lib_open(struct wtl_io *io, const char *const names[],
			   const struct wtl_lib_function functions[], size_t n_functions,
			   struct wtl_err *err)
{
	struct replay *replay = lock(io);
	const struct wtl_tape_record *record = lib_find(replay, names, functions, n_functions);
	int rc;

	if (!record)
		rc = wtl_err_set(err, WTL_EABSENT, "tape", names[0],
				 "the tape knows no such library");
	else if (record->code < 0)
		rc = wtl_err_set(err, record->code, "tape", names[0],
				 "could not be loaded when the tape was recorded: %s",
				 wtl_err_text(record->code));
	else
		rc = lib_make(replay, record, functions, n_functions, err);
	unlock(replay);
	return rc;
}

static struct replay_lib *lib_at(struct replay *replay, int lib)
{
	if (lib < 0 || lib >= LIBS_MAX || !replay->libs[lib].used)
		return NULL;
	return &replay->libs[lib];
}

static bool replay_lib_has(struct wtl_io *io, int lib, size_t function)
{
	struct replay *replay = lock(io);
	const struct replay_lib *at = lib_at(replay, lib);
	bool has = at && function < at->n && at->has[function];

	unlock(replay);
	return has;
}

/* Fills the memory arguments as the record says; those it does not name stay as they are. */
static void outs_fill(const struct replay *replay, const struct wtl_tape_record *record,
		      struct wtl_lib_arg args[], unsigned n)
{
	const char *at = wtl_tape_data(replay->tape, record);
	const char *end = at + record->data_len;

	for (unsigned i = 0; i < n && at < end; i++) {
		uint32_t len;

		if (!args[i].memory)
			continue;
		memcpy(&len, at, sizeof(len));
		at += sizeof(len);
		memset(args[i].memory, 0, args[i].size);
		memcpy(args[i].memory, at, len < args[i].size ? len : args[i].size);
		at += len;
	}
}

static int lib_call(struct replay *replay, const struct wtl_lib_function *function,
		    struct wtl_lib_arg args[], int *ret_answer)
{
	const struct wtl_tape_record *record;
	int rc;

	wtl_buf_clear(&replay->key);
	rc = wtl_tape_put_call(&replay->key, function, args);
	if (rc < 0)
		return rc;
	record = key_read(replay, wtl_tape_find(replay->tape, WTL_TAPE_CALL, replay->key.data,
						replay->key.len));
	if (!record)
		return -ENOENT;
	if (record->code < 0)
		return record->code;
	outs_fill(replay, record, args, function->n_args);
	*ret_answer = (int)(int64_t)record->value;
	return 0;
}

static int replay_lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
			   int *ret_answer)
{
	struct replay *replay = lock(io);
	const struct replay_lib *at = lib_at(replay, lib);
	int rc;

	if (!at || function >= at->n)
		rc = -EINVAL;
	else if (!at->has[function])
		rc = -ENOSYS;
	else
		rc = lib_call(replay, &at->functions[function], args, ret_answer);
	unlock(replay);
	return rc;
}

static void replay_lib_close(struct wtl_io *io, int lib)
{
	struct replay *replay = lock(io);
	struct replay_lib *at = lib_at(replay, lib);

	if (at) {
		free(at->has);
		*at = (struct replay_lib){0};
	}
	unlock(replay);
}

static int replay_process_cpu(struct wtl_io *io, const int pids[], int64_t cpu_ns[], size_t n)
{
	struct replay *replay = lock(io);
	const struct wtl_tape_record *record = path_read(replay, WTL_TAPE_CPU, "");
	/* An old tape knows nothing of CPU times. */
	int rc = record ? record->code : -EOPNOTSUPP;

	for (size_t i = 0; i < n && rc == 0; i++) {
		record = wtl_tape_cpu(replay->tape, pids[i], replay->frame);
		if (!record)
			cpu_ns[i] = -ESRCH;
		else
			cpu_ns[i] = record->code < 0 ? record->code : (int64_t)record->value;
	}
	unlock(replay);
	return rc;
}

static int replay_has_process_cpu(struct wtl_io *io)
{
	struct replay *replay = lock(io);
	struct wtl_tape_key *key = wtl_tape_find(replay->tape, WTL_TAPE_CPU, "", 0);
	int rc = key ? wtl_tape_is_next(replay->tape, key, replay->frame) : -EOPNOTSUPP;

	unlock(replay);
	return rc;
}

static int replay_exits_open(struct wtl_io *io)
{
	struct replay *replay = lock(io);
	struct wtl_tape_key *key = wtl_tape_find(replay->tape, WTL_TAPE_EXITS, "", 0);
	const struct wtl_tape_record *record =
		path_read(replay, WTL_TAPE_EXITS, WTL_TAPE_EXITS_OPEN);
	int rc;

	if (record && record->code < 0) {
		rc = record->code;
	} else if (!record && !key) {
		rc = -ENODATA;
	} else {
		/* Exits from before are skipped. */
		if (key)
			wtl_tape_skip(replay->tape, key, replay->frame);
		rc = handle_new(replay, key);
	}
	unlock(replay);
	return rc;
}

static ssize_t replay_exits_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	struct replay *replay = lock(io);
	const struct handle *handle = handle_at(replay, file);
	const struct wtl_tape_record *record = NULL;
	ssize_t rc = handle ? 0 : -EBADF;

	if (handle && handle->key)
		record = wtl_tape_exit(replay->tape, handle->key, replay->frame);
	if (record) {
		time_pass(replay, record, record->frame == replay->frame);
		rc = record->code < 0 ? record->code : data_copy(replay, record, buf, size);
	}
	unlock(replay);
	return rc;
}

/* Answers are on the tape as if they were files: base/tape.h. */
static int replay_agent_open(struct wtl_io *io)
{
	struct replay *replay = lock(io);
	int rc = key_open(replay,
			  wtl_tape_find(replay->tape, WTL_TAPE_FILE, WTL_AGENT_SOCKET,
					strlen(WTL_AGENT_SOCKET)),
			  -ENOENT);

	unlock(replay);
	return rc;
}

static ssize_t replay_agent_ask(struct wtl_io *io, int agent, const char *question, char *answer,
				size_t size)
{
	struct replay *replay = lock(io);
	const struct wtl_tape_record *record = NULL;
	ssize_t rc = handle_at(replay, agent) ? -ECONNRESET : -EBADF;

	wtl_buf_clear(&replay->key);
	if (rc != -EBADF && wtl_buf_printf(&replay->key, WTL_AGENT_SOCKET " %s", question) == 0)
		record = path_read(replay, WTL_TAPE_FILE, replay->key.data);
	if (record)
		rc = record->code < 0 ? record->code : data_copy(replay, record, answer, size - 1);
	if (rc >= 0)
		answer[rc] = '\0';
	unlock(replay);
	return rc;
}

static int replay_note(struct wtl_io *io, const char *name, char *text, size_t size)
{
	struct replay *replay = lock(io);
	struct wtl_tape_key *key = wtl_tape_find(replay->tape, WTL_TAPE_NOTE, name, strlen(name));
	const struct wtl_tape_record *record = NULL;
	bool fresh = false;
	int rc = 0;

	if (key)
		record = wtl_tape_read(replay->tape, key, replay->frame, &fresh);
	if (fresh && record->code == 0 && record->data_len < size) {
		time_pass(replay, record, fresh);
		text[data_copy(replay, record, text, size)] = '\0';
		rc = 1;
	}
	unlock(replay);
	return rc;
}

static int64_t replay_clock_ns(struct wtl_io *io, enum wtl_clock clock)
{
	struct replay *replay = lock(io);
	int64_t now = wtl_tape_clock_ns(frame_now(replay), clock, replay->now_ns);

	unlock(replay);
	return now;
}

static int replay_wait_until(struct wtl_io *io, int64_t t_mono_ns)
{
	struct replay *replay = lock(io);
	int rc = -WTL_ETAPE_END;

	(void)t_mono_ns;
	if (replay->frame + 1 < replay->tape->n_frames) {
		replay->frame++;
		if (frame_now(replay)->mono_ns > replay->now_ns)
			replay->now_ns = frame_now(replay)->mono_ns;
		rc = frame_now(replay)->code;
	}
	unlock(replay);
	return rc;
}

static int replay_file_write(struct wtl_io *io, const char *path, const void *data, size_t len)
{
	struct replay *replay = lock(io);
	const struct wtl_tape_record *record = path_read(replay, WTL_TAPE_WRITE, path);
	int rc;

	(void)data;
	(void)len;
	if (record)
		rc = record->code;
	else
		/* A file that was only read: nobody knows what writing it would have done. */
		rc = wtl_tape_find(replay->tape, WTL_TAPE_FILE, path, strlen(path)) ? -EROFS
										    : -ENOENT;
	unlock(replay);
	return rc;
}

static int replay_out_write(struct wtl_io *io, const char *path, const void *data, size_t len,
			    enum wtl_out_mode mode)
{
	(void)io;
	return wtl_outfile_write(path, data, len, mode, io->file_mode);
}

static void replay_free(struct wtl_io *io)
{
	struct replay *replay = replay_of(io);

	for (size_t i = 0; i < LIBS_MAX; i++)
		free(replay->libs[i].has);
	free(replay->handles);
	wtl_buf_done(&replay->key);
	wtl_tape_free(replay->tape);
	pthread_mutex_destroy(&replay->lock);
	free(replay);
}

static const struct wtl_io_ops replay_ops = {
	.file_open = replay_file_open,
	.file_read = replay_file_read,
	.file_close = replay_file_close,
	.link_read = replay_link_read,
	.dir_read = replay_dir_read,
	.perf_open = replay_perf_open,
	.perf_read = replay_perf_read,
	.perf_count = replay_perf_count,
	.perf_close = replay_file_close,
	.lib_open = replay_lib_open,
	.lib_has = replay_lib_has,
	.lib_call = replay_lib_call,
	.lib_close = replay_lib_close,
	.process_cpu = replay_process_cpu,
	.has_process_cpu = replay_has_process_cpu,
	.exits_open = replay_exits_open,
	.exits_read = replay_exits_read,
	.exits_close = replay_file_close,
	.agent_open = replay_agent_open,
	.agent_ask = replay_agent_ask,
	.agent_close = replay_file_close,
	.note = replay_note,
	.clock_ns = replay_clock_ns,
	.wait_until = replay_wait_until,
	.file_write = replay_file_write,
	.out_write = replay_out_write,
	.free = replay_free,
};

int wtl_io_replay_tape(struct wtl_tape *tape, struct wtl_io **ret_io, struct wtl_err *err)
{
	struct replay *replay = calloc(1, sizeof(*replay));

	if (!replay) {
		wtl_tape_free(tape);
		return wtl_err_set(err, ENOMEM, "tape", NULL, "out of memory");
	}
	replay->io.ops = &replay_ops;
	replay->io.has_one_order = true;
	replay->tape = tape;
	replay->now_ns = frame_now(replay)->mono_ns;
	/* A call's key is at most twice its memory and some. */
	wtl_buf_init(&replay->key, 4 * WTL_TAPE_LINE_MAX);
	pthread_mutex_init(&replay->lock, NULL);
	*ret_io = &replay->io;
	return 0;
}

int wtl_io_replay_new(const char *path, struct wtl_io **ret_io, struct wtl_err *err)
{
	struct wtl_tape *tape;
	int rc = wtl_tape_load(path, &tape, err);

	return rc < 0 ? rc : wtl_io_replay_tape(tape, ret_io, err);
}
