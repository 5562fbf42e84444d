/* SPDX-License-Identifier: MIT */
#include "base/tape_cpu.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct wtl_tape_cpu_entry {
	int64_t cpu_ns;
	uint32_t frame;
	uint32_t asks; /* in that frame */
};

int wtl_tape_cpu_note(struct wtl_tape_cpu *cpu, int pid, int64_t cpu_ns, uint32_t frame,
		      uint32_t *ret_ask)
{
	uint32_t sum = wtl_hash_number((uint32_t)pid);
	const uint32_t *place = wtl_hash_find(&cpu->by_pid, sum, NULL, NULL, NULL);
	struct wtl_tape_cpu_entry *entry;
	bool is_same;

	if (!place &&
	    (wtl_hash_reserve(&cpu->by_pid, cpu->n + 1) < 0 ||
	     wtl_array_reserve(&cpu->entries, &cpu->room, cpu->n + 1, sizeof(*entry)) < 0))
		return -ENOMEM;
	if (!place)
		wtl_hash_add(&cpu->by_pid, sum, (uint32_t)cpu->n);
	entry = &cpu->entries[place ? *place : cpu->n++];
	is_same = place && entry->cpu_ns == cpu_ns;
	*ret_ask = place && entry->frame == frame ? entry->asks + 1 : 1;
	*entry = (struct wtl_tape_cpu_entry){.cpu_ns = cpu_ns, .frame = frame, .asks = *ret_ask};
	return !is_same;
}

void wtl_tape_cpu_done(struct wtl_tape_cpu *cpu)
{
	free(cpu->entries);
	wtl_hash_done(&cpu->by_pid);
	*cpu = (struct wtl_tape_cpu){.n = 0};
}
