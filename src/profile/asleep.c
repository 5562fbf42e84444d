/* SPDX-License-Identifier: MIT */
#include "profile/asleep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "profile/tails.h"

int wtl_asleep_init(struct wtl_asleep *asleep)
{
	asleep->slots = calloc(WTL_ASLEEP_SLOTS, sizeof(*asleep->slots));
	asleep->stack = malloc(WTL_ASLEEP_STACK);
	return asleep->slots && asleep->stack ? 0 : -ENOMEM;
}

void wtl_asleep_done(struct wtl_asleep *asleep)
{
	free(asleep->slots);
	free(asleep->stack);
}

void wtl_asleep_note(struct wtl_asleep *asleep, uint32_t thread, uint32_t *slot,
		     const struct wtl_ring_event *left)
{
	if (!asleep->slots)
		return;
	if (asleep->slots[*slot].thread != thread || !asleep->slots[*slot].is_waiting) {
		*slot = asleep->next;
		asleep->next = (asleep->next + 1) % WTL_ASLEEP_SLOTS;
		if (asleep->next == asleep->first)
			asleep->first = (asleep->first + 1) % WTL_ASLEEP_SLOTS;
		asleep->slots[asleep->next].is_waiting = false;
	}
	asleep->slots[*slot] = (struct wtl_asleep_slot){true, thread, *left};
}

bool wtl_asleep_find(int pid, int tid, struct wtl_ring_event *ret_event)
{
	char name[64], line[256];
	const char *last, *before;
	ssize_t n;
	int fd;

	*ret_event = (struct wtl_ring_event){
		.kind = WTL_RING_SAMPLE,
		.pid = pid,
		.tid = tid,
		.t_ns = wtl_thread_clock_ns(),
		.sample = {.is_turn = true, .is_bare = true, .is_asleep = true}};
	snprintf(name, sizeof(name), "/proc/%d/task/%d/syscall", pid, tid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, line, sizeof(line) - 1);
	close(fd);
	line[n > 0 ? n : 0] = '\0';
	/* "number six arguments, stack pointer, instruction"; or "running" */
	last = strrchr(line, ' ');
	if (!last || last == line)
		return false;
	for (before = last - 1; before > line && *before != ' ';)
		before--;
	ret_event->sample.registers[WTL_UNWIND_SP] = strtoull(before, NULL, 16);
	ret_event->sample.registers[WTL_UNWIND_PC] = strtoull(last, NULL, 16);
	ret_event->sample.has_registers = ret_event->sample.registers[WTL_UNWIND_PC] > 0;
	return ret_event->sample.has_registers;
}

bool wtl_asleep_read(const struct wtl_asleep *asleep, struct wtl_ring_event *left)
{
	ssize_t n;

	if (!left->sample.has_registers && !wtl_asleep_find(left->pid, left->tid, left))
		return false;
	n = wtl_tails_read(left->pid, left->sample.registers[WTL_UNWIND_SP], asleep->stack,
			   WTL_ASLEEP_STACK);
	if (n <= 0)
		return false;
	left->sample.stack = asleep->stack;
	left->sample.stack_len = (size_t)n & ~(size_t)7;
	return true;
}
