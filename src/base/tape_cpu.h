/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_TAPE_CPU_H
#define WTL_BASE_TAPE_CPU_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/*
 * What a tape being written already says of every process's CPU time: most stand still from tick
 * to tick, and a tape holds changes only. All zeros at the start.
 */
struct wtl_tape_cpu {
	struct wtl_tape_cpu_entry *entries;
	size_t n, room;
	struct wtl_hash by_pid; /* places of entries */
};

/*
 * Takes an answer (nanoseconds or a negative errno) to the question for a process in a frame. 1
 * when the tape must say it, 0 when it has; *ret_ask is how many times the process was asked for in
 * this frame, with this one. -ENOMEM. PIDs are above 0.
 */
int wtl_tape_cpu_note(struct wtl_tape_cpu *cpu, int pid, int64_t cpu_ns, uint32_t frame,
		      uint32_t *ret_ask);

void wtl_tape_cpu_done(struct wtl_tape_cpu *cpu);

#endif
