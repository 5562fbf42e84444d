/* SPDX-License-Identifier: MIT */
/* The text of --fault: any text is either refused with one line, or makes exactly such calls fail. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "memio.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A call is made to fail, or answers as it should. */
static void check(int64_t rc, int64_t expected)
{
	if (rc >= 0 && rc != expected)
		abort();
}

/* All of them twice: an exit is told once, and may have been taken by nobody. */
static void call_others(struct wtl_io *io)
{
	static const int pids[] = {7, 8};
	uint8_t exit_bytes[8];
	int64_t cpu_ns[2];
	int exits, rc;

	for (int i = 0; i < 2; i++) {
		rc = wtl_io_process_cpu(io, pids, cpu_ns, 2);
		check(rc, 0);
		if (rc == 0 && (cpu_ns[0] != 500 || cpu_ns[1] != -ESRCH))
			abort();
		check(wtl_io_file_write(io, "/n", "42\n", 3), 0);
		if (wtl_io_file_write(io, "/none", "1", 1) >= 0)
			abort();
		exits = wtl_io_exits_open(io);
		if (exits < 0)
			continue;
		rc = (int)wtl_io_exits_read(io, exits, exit_bytes, sizeof(exit_bytes));
		check(rc, 3);
		if (rc == 3 && memcmp(exit_bytes, "\x54\0\x1f", 3) != 0)
			abort();
		wtl_io_exits_close(io, exits);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wtl_err err = {.code = 0};
	struct memio memio;
	struct wtl_io *io;
	char *spec = malloc(size + 1);
	uint64_t value = 0;

	if (!spec)
		abort();
	memcpy(spec, data, size);
	spec[size] = '\0';
	memio_init(&memio);
	io = &memio.io;
	memio_puts(&memio, "/n", "42\n");
	memio_puts(&memio, "/wattle-cpu/7", "500\n");
	memio_puts(&memio, "/wattle-exits", "\n54(1)1f\nunfinished");
	if (wtl_io_set_fault(io, spec, &err) < 0) {
		if (!err.text[0] || strchr(err.text, '\n'))
			abort();
	} else {
		for (int i = 0; i < 4; i++) {
			int rc = wtl_io_read_u64(io, "/n", &value);

			if (rc > 0 || (rc == 0 && value != 42))
				abort();
		}
		call_others(io);
		wtl_io_free(io);
	}
	memio_done(&memio);
	free(spec);
	return 0;
}
