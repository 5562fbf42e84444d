/* SPDX-License-Identifier: MIT */
#include "profile/tails.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>

#include "base/array.h"

/* How long after a cut stack tails are read; and how long a thread may have run since its sample for that. */
#define NEED_NS	 INT64_C(100000000)
#define FRESH_NS INT64_C(1000000)

enum {
	SIZE_FIRST = 1 << 14,
	SIZE_MOST = 1 << 16,
	VAIN_MOST = 64,
	SPARE = 1 << 13, /* beyond the outermost frame's stack pointer */
	SHRINK = 64,
	FAR_BEFORE = 512, /* a far frame saved registers below the address that is missing */
	FAR_SIZE = 1 << 15,
	CPU_TAILS = 32, /* per processor, until samples are drained: a ring has no more */
	TAILS_MOST = 512
};

int wtl_tails_init(struct wtl_tails *tails)
{
	size_t n = CPU_TAILS * (size_t)get_nprocs_conf();

	*tails = (struct wtl_tails){.size = n < TAILS_MOST ? n : (size_t)TAILS_MOST};
	tails->list = calloc(tails->size, sizeof(*tails->list));
	return tails->list ? 0 : -ENOMEM;
}

void wtl_tails_done(struct wtl_tails *tails)
{
	for (size_t i = 0; tails->list && i < tails->size; i++)
		free(tails->list[i].bytes);
	free(tails->list);
}

bool wtl_tails_are_needed(const struct wtl_tails *tails, int64_t now_ns)
{
	return tails->cut_ns && now_ns - tails->cut_ns < NEED_NS;
}

ssize_t wtl_tails_read(int pid, uint64_t address, uint8_t *to, size_t size)
{
	const struct iovec here = {to, size}, there = {(void *)(uintptr_t)address, size};

	return process_vm_readv(pid, &here, 1, &there, 1, 0);
}

void wtl_tails_glance(struct wtl_tails *tails, const struct wtl_tail_need *need,
		      const struct wtl_ring_glance *glance, int64_t now_ns)
{
	struct wtl_tail *tail = &tails->list[tails->next];
	uint64_t address = glance->stack + glance->copied;
	size_t room = glance->copied + need->size;
	ssize_t n, far_n;

	if (!need->cut_ns || glance->t_ns - need->cut_ns > NEED_NS || need->n_vain >= VAIN_MOST ||
	    glance->stack == 0 ||
	    (glance->is_off ? glance->turned_ns : now_ns) - glance->t_ns > FRESH_NS ||
	    wtl_array_reserve(&tail->bytes, &tail->room, room + FAR_SIZE, 1) < 0)
		return;
	/* The old tail is over, and its bytes may have moved. */
	tail->tid = 0;
	tail->far_n = 0;
	n = wtl_tails_read(glance->pid, address, tail->bytes + glance->copied, need->size);
	if (n <= 0)
		return;
	if (need->far > address + (size_t)n && (size_t)n == need->size) {
		tail->far = tail->bytes + room;
		tail->far_address = (need->far - FAR_BEFORE) & ~UINT64_C(7);
		far_n = wtl_tails_read(glance->pid, tail->far_address, tail->far, FAR_SIZE);
		tail->far_n = far_n > 0 ? (size_t)far_n : 0;
	}
	tail->tid = glance->tid;
	tail->t_ns = glance->t_ns;
	tail->address = address;
	tail->n = (size_t)n;
	tails->next = (tails->next + 1) % tails->size;
}

static const struct wtl_tail *find(const struct wtl_tails *tails,
				   const struct wtl_ring_event *sample, uint64_t address)
{
	for (size_t i = 0; i < tails->size; i++) {
		const struct wtl_tail *tail = &tails->list[i];

		if (tail->t_ns == sample->t_ns && tail->tid == sample->tid &&
		    tail->address == address)
			return tail;
	}
	return NULL;
}

const struct wtl_ring_event *wtl_tails_join(struct wtl_tails *tails, struct wtl_tail_need *need,
					    const struct wtl_ring_event *sample)
{
	size_t copied = sample->sample.stack_len;
	const struct wtl_tail *tail;

	if (need->n_vain >= VAIN_MOST)
		return NULL;
	tails->cut_ns = need->cut_ns = sample->t_ns;
	need->size = need->size ? need->size : (size_t)SIZE_FIRST;
	tail = find(tails, sample, sample->sample.registers[WTL_UNWIND_SP] + copied);
	if (!tail)
		return NULL;
	memcpy(tail->bytes, sample->sample.stack, copied);
	tails->copied = copied;
	tails->joined = *sample;
	tails->joined.sample.is_joined = true;
	tails->joined.sample.stack = tail->bytes;
	tails->joined.sample.stack_len = copied + tail->n;
	tails->joined.sample.far = tail->far_n ? tail->far : NULL;
	tails->joined.sample.far_len = tail->far_n;
	tails->joined.sample.far_at = tail->far_address - sample->sample.registers[WTL_UNWIND_SP];
	return &tails->joined;
}

void wtl_tails_learn(const struct wtl_tails *tails, struct wtl_tail_need *need,
		     enum wtl_unwind_end end, const struct wtl_unwind_place *outermost,
		     uint64_t cut_at)
{
	const struct wtl_ring_event *joined = &tails->joined;
	size_t all = tails->copied + need->size; /* bytes asked for */
	uint64_t used = outermost->stack - joined->sample.registers[WTL_UNWIND_SP];

	need->n_vain = end == WTL_UNWIND_WHOLE ? 0 : need->n_vain + 1;
	if (end == WTL_UNWIND_CUT && joined->sample.stack_len == all)
		need->far = cut_at;
	if (end == WTL_UNWIND_WHOLE && used > joined->sample.stack_len)
		return; /* it needed the far part */
	if (end == WTL_UNWIND_WHOLE && used + SPARE < all) {
		need->size -= need->size / SHRINK;
	} else if (end == WTL_UNWIND_CUT && 2 * need->size <= SIZE_MOST &&
		   joined->sample.stack_len == all) {
		need->size *= 2;
		need->n_vain = 0;
	}
}
