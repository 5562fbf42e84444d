/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/tape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int good)
{
	if (!good)
		abort();
}

static int thunk(void *function, const struct wtl_lib_arg args[])
{
	(void)function;
	(void)args;
	return 0;
}

static const struct wtl_lib_function functions[] = {
	{"nvmlInit_v2", thunk, 0},
	{"nvmlDeviceGetPowerUsage", thunk, 2},
	{"f", thunk, 2},
};

static const char *const names[] = {"libnvidia-ml.so.1", NULL};

static void lib_ask(struct wtl_io *io)
{
	int lib = wtl_io_lib_open(io, names, functions, 3, NULL);
	unsigned char memory[8] = {1, 2}, more[4] = {0};
	struct wtl_lib_arg args[] = {
		{.memory = memory, .size = sizeof(memory)},
		{.memory = more, .size = sizeof(more)},
	};
	int answer;

	for (size_t i = 0; i < 4 && lib >= 0; i++) {
		wtl_io_lib_call(io, lib, i, args, &answer);
		args[0] = (struct wtl_lib_arg){.word = 0xff01};
	}
	wtl_io_lib_close(io, lib);
}

static void files_ask(struct wtl_io *io, struct wtl_buf *list)
{
	static const char *const paths[] = {"/a", "/b", "/l", "/d", ""};
	char buf[32];

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		ssize_t len = wtl_io_slurp(io, paths[i], buf, sizeof(buf));

		check(len < (ssize_t)sizeof(buf));
		len = wtl_io_link_read(io, paths[i], buf, sizeof(buf));
		check(len < 0 || strlen(buf) == (size_t)len);
		wtl_buf_clear(list);
		wtl_io_dir_read(io, paths[i], list);
	}
}

static void perf_ask(struct wtl_io *io)
{
	const struct wtl_perf_event event = {9, 2, 0, 0};
	int file = wtl_io_perf_open(io, &event);
	uint64_t value;

	if (file < 0)
		return;
	wtl_io_perf_read(io, file, &value);
	wtl_io_perf_close(io, file);
}

static void tasks_ask(struct wtl_io *io)
{
	const struct wtl_perf_event event = {0, 1, -1, 77};
	struct wtl_perf_count count = {.count = 5};
	int file = wtl_io_perf_open(io, &event), rc;

	if (file < 0)
		return;
	rc = wtl_io_perf_count(io, file, &count);
	check(rc <= 0 && (rc < 0 || (count.enabled_ns >= 0 && count.running_ns >= 0)));
	wtl_io_perf_close(io, file);
}

static void processes_ask(struct wtl_io *io)
{
	const int pids[] = {5, 1, 0, 77, 1234, 1, -1};
	int64_t cpu_ns[sizeof(pids) / sizeof(pids[0])];
	int rc = wtl_io_process_cpu(io, pids, cpu_ns, sizeof(pids) / sizeof(pids[0]));

	check(rc <= 0);
	check(rc < 0 || (cpu_ns[2] == -ESRCH && cpu_ns[6] == -ESRCH));
}

static void exits_ask(struct wtl_io *io, int exits)
{
	unsigned char buf[16];
	ssize_t len;

	for (int i = 0; i < 8; i++) {
		len = wtl_io_exits_read(io, exits, buf, sizeof(buf));
		check(len <= (ssize_t)sizeof(buf) && (exits >= 0 || len == -EBADF));
	}
	check(wtl_io_file_write(io, "/a", "1", 1) <= 0);
	check(wtl_io_file_write(io, "/w", "1", 1) <= 0);
}

static void notes_ask(struct wtl_io *io)
{
	static const char *const notes[] = {"command", "idle", ""};

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		char text[16] = "mine";
		int rc = wtl_io_note(io, notes[i], text, sizeof(text));

		check(rc == 0 || rc == 1);
		check(memchr(text, '\0', sizeof(text)) && (rc || strcmp(text, "mine") == 0));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_err err = {0};
	struct wtl_tape *tape;
	struct wtl_io *io;
	struct wtl_buf list;
	int64_t before = 0;
	int exits, rc = wtl_tape_parse((const char *)data, size, &tape, &err);

	if (rc < 0) {
		check(rc == -WTL_EFORMAT && strncmp(err.text, "line ", 5) == 0);
		return 0;
	}
	check(wtl_io_replay_tape(tape, &io, NULL) == 0);
	wtl_buf_init(&list, 1 << 16);
	exits = wtl_io_exits_open(io);
	do {
		files_ask(io, &list);
		perf_ask(io);
		tasks_ask(io);
		lib_ask(io);
		processes_ask(io);
		exits_ask(io, exits);
		notes_ask(io);
		check(wtl_io_mono_ns(io) >= before);
		before = wtl_io_mono_ns(io);
	} while (wtl_io_wait_until(io, 0) != -WTL_ETAPE_END);
	wtl_io_exits_close(io, exits);
	wtl_buf_done(&list);
	wtl_io_free(io);
	return 0;
}
