/* SPDX-License-Identifier: MIT */
#include "base/tape_cpu.h"

#include <errno.h>
#include <stdlib.h>

enum { SIZE_MIN = 256 };

struct wtl_tape_cpu_entry {
	int64_t cpu_ns;
	int pid; /* 0: free */
	uint32_t frame;
	uint32_t asks; /* in that frame */
};

/* Where the process is, or the free place that it may have. */
static struct wtl_tape_cpu_entry *place(struct wtl_tape_cpu_entry *entries, size_t size, int pid)
{
	/* Knuth's multiplier spreads numbers that follow each other. */
	size_t i = ((uint32_t)pid * UINT32_C(2654435761)) & (size - 1);

	while (entries[i].pid != 0 && entries[i].pid != pid)
		i = (i + 1) & (size - 1);
	return &entries[i];
}

/* Keeps a quarter of the places free, or more. */
static int grow(struct wtl_tape_cpu *cpu)
{
	size_t size = cpu->size ? 2 * cpu->size : SIZE_MIN;
	struct wtl_tape_cpu_entry *entries;

	if (cpu->n < cpu->size - cpu->size / 4)
		return 0;
	entries = calloc(size, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	for (size_t i = 0; i < cpu->size; i++)
		if (cpu->entries[i].pid != 0)
			*place(entries, size, cpu->entries[i].pid) = cpu->entries[i];
	free(cpu->entries);
	cpu->entries = entries;
	cpu->size = size;
	return 0;
}

int wtl_tape_cpu_note(struct wtl_tape_cpu *cpu, int pid, int64_t cpu_ns, uint32_t frame,
		      uint32_t *ret_ask)
{
	struct wtl_tape_cpu_entry *entry;
	int said;

	if (grow(cpu) < 0)
		return -ENOMEM;
	entry = place(cpu->entries, cpu->size, pid);
	said = entry->pid == pid && entry->cpu_ns == cpu_ns;
	cpu->n += entry->pid == 0;
	*ret_ask = entry->pid == pid && entry->frame == frame ? entry->asks + 1 : 1;
	*entry = (struct wtl_tape_cpu_entry){
		.cpu_ns = cpu_ns,
		.pid = pid,
		.frame = frame,
		.asks = *ret_ask,
	};
	return !said;
}

void wtl_tape_cpu_done(struct wtl_tape_cpu *cpu)
{
	free(cpu->entries);
	*cpu = (struct wtl_tape_cpu){0};
}
