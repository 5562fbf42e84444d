/* SPDX-License-Identifier: MIT */
#include "profile/asleep.h"

#include <errno.h>
#include <stdlib.h>

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

bool wtl_asleep_read(const struct wtl_asleep *asleep, struct wtl_ring_event *left)
{
	ssize_t n = wtl_tails_read(left->pid, left->sample.registers[WTL_UNWIND_SP], asleep->stack,
				   WTL_ASLEEP_STACK);

	if (n <= 0)
		return false;
	left->sample.stack = asleep->stack;
	left->sample.stack_len = (size_t)n & ~(size_t)7;
	return true;
}
