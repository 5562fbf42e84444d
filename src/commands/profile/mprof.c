/* SPDX-License-Identifier: MIT */
/* Resident memory over time in the format of memory-profiler's `mprof run`, for `mprof plot` and `wattle plot`: MiB
 * and seconds since 1970. A descendant's rows begin with CHLD and its PID. */
#include <errno.h>

#include "base/buf.h"
#include "commands/profile/format.h"
#include "document/format.h"

enum { MIB = 1 << 20 };

static void put_reading(struct wtl_buf *buf, const struct wtl_profile *profile,
			const struct wtl_memory_reading *reading)
{
	const struct wattle_window *window = profile->window;
	int64_t utc_ns = window->begin_utc_ns + (reading->t_ns - window->begin_mono_ns);

	wtl_format_fixed(buf, reading->rss / MIB * 1000000 + reading->rss % MIB * 1000000 / MIB, 6);
	wtl_buf_putc(buf, ' ');
	wtl_format_fixed(buf, (uint64_t)(utc_ns / 100000), 4);
	wtl_buf_putc(buf, '\n');
}

static int write_mprof(struct wtl_buf *buf, const struct wtl_stacks *stacks)
{
	const struct wtl_profile *profile = stacks->profile;
	const struct wtl_memory *memory = profile->memory;
	int first = profile->trace->n_threads > 0 ? profile->trace->threads[0].pid : 0;

	wtl_buf_puts(buf, "CMDLINE ");
	wtl_profile_command_line(buf, profile);
	wtl_buf_putc(buf, '\n');
	for (size_t i = 0; memory && i < memory->n; i++) {
		const struct wtl_memory_process *process = &memory->processes[i];

		for (size_t k = 0; k < process->n; k++) {
			if (process->pid == first)
				wtl_buf_puts(buf, "MEM ");
			else
				wtl_buf_printf(buf, "CHLD %d ", process->pid);
			put_reading(buf, profile, &process->readings[k]);
		}
	}
	return buf->error;
}

const struct wtl_profile_format wtl_profile_format_mprof = {
	.name = "mprof", .suffixes = ".dat", .write = write_mprof};
