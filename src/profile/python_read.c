/* SPDX-License-Identifier: MIT */
#include "profile/python_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum {
	TRIES = 8,
	DOUBTS = 4,
	INTERPRETERS_MAX = 64,
	FRAME_BYTES = 128,   /* at the most, up to the last field that is read */
	CHECKS = 3,	     /* of the frames of a thread that may run */
	CHECKED_FRAMES = 32, /* at most: the innermost ones */
	OWNED_BY_C = 3,	   /* or higher: a frame that only marks a call of the loop from C (3.12) */
	CFRAME_WALKS = 64, /* walks until the range of _PyCFrames is renewed */
	BACKOFF_LEAST_NS = 5000000,
	BACKOFF_MOST_NS = 200000000,
};

void wtl_python_target_done(struct wtl_python_target *target)
{
	for (size_t i = 0; i < target->n; i++)
		wtl_python_snapshot_done(&target->threads[i].snapshot);
	free(target->threads);
	*target = (struct wtl_python_target){.pid = 0};
}

/* ---- Threads ---- */

/* A pointer in the target's memory. */
static int read_pointer(const struct wtl_python_target *target,
			const struct wtl_python_memory *memory, uint64_t address, uint64_t *ret)
{
	return wtl_python_memory_read(memory, target->pid, address, ret, sizeof(*ret));
}

/* Whether a pthread_t is that thread's: the C library keeps the TID at a fixed offset in it. */
static bool is_pthread(const struct wtl_python_target *target,
		       const struct wtl_python_memory *memory, uint64_t pthread, int tid)
{
#if defined(__aarch64__)
	static const uint32_t places[] = {0xd0, 0x20}; /* glibc, musl */
#else
	static const uint32_t places[] = {0x2d0, 0x30};
#endif
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int number;

		if (wtl_python_memory_read(memory, target->pid, pthread + places[i], &number,
					   sizeof(number)) == 0 &&
		    number == tid)
			return true;
	}
	return false;
}

static uint32_t id_offset(const struct wtl_python_layout *layout)
{
	return layout->tstate_native_id ? layout->tstate_native_id : layout->tstate_thread_id;
}

struct search {
	int tid;
	uint64_t state, id;	       /* what was found */
	uint64_t only_state, only_id;  /* the last thread seen, */
	size_t n_states, n_interprets; /* and how many there are */
};

/* 1: found; 0; or negative. */
static int search_interpreter(const struct wtl_python_target *target,
			      const struct wtl_python_memory *memory, uint64_t interpreter,
			      struct search *search)
{
	const struct wtl_python_layout *layout = &target->layout;
	uint64_t state;
	int rc = read_pointer(target, memory, interpreter + layout->interp_threads, &state);

	while (rc == 0 && state && search->n_states++ < WTL_PYTHON_THREADS_MAX) {
		uint64_t id, next;
		const struct wtl_python_part parts[] = {
			{state + id_offset(layout), &id, sizeof(id)},
			{state + layout->tstate_next, &next, sizeof(next)},
		};

		rc = memory->read(memory->context, target->pid, parts, 2);
		if (rc < 0)
			break;
		search->only_state = state;
		search->only_id = id;
		if (layout->tstate_native_id ? id == (uint64_t)search->tid
					     : is_pthread(target, memory, id, search->tid)) {
			search->state = state;
			search->id = id;
			return 1;
		}
		state = next;
	}
	return rc;
}

static int search_thread(const struct wtl_python_target *target,
			 const struct wtl_python_memory *memory, struct search *search)
{
	uint64_t interpreter;
	int rc = read_pointer(target, memory, target->runtime + target->layout.interpreters_head,
			      &interpreter);

	while (rc == 0 && interpreter && search->n_interprets++ < INTERPRETERS_MAX) {
		rc = search_interpreter(target, memory, interpreter, search);
		if (rc != 0)
			return rc < 0 ? rc : 0;
		rc = read_pointer(target, memory, interpreter + target->layout.interp_next,
				  &interpreter);
	}
	/* After fork() the only thread may still have its parent's number. */
	if (rc == 0 && search->tid == target->pid && search->n_states == 1) {
		search->state = search->only_state;
		search->id = search->only_id;
		return 0;
	}
	return rc < 0 ? rc : -ESRCH;
}

static struct wtl_python_thread *known_thread(const struct wtl_python_target *target, int tid)
{
	for (size_t i = 0; i < target->n; i++)
		if (target->threads[i].tid == tid)
			return &target->threads[i];
	return NULL;
}

/* 0 or negative, as wtl_python_read(). */
static int find_thread(struct wtl_python_target *target, const struct wtl_python_memory *memory,
		       int tid, int64_t now_ns, struct wtl_python_thread **ret_thread)
{
	struct wtl_python_thread *thread = known_thread(target, tid);
	struct search search = {.tid = tid};
	int rc;

	*ret_thread = thread;
	if (thread && thread->state)
		return 0;
	if (thread && now_ns < thread->search_ns)
		return -ESRCH;
	if (!thread) {
		if (wtl_array_reserve(&target->threads, &target->room, target->n + 1,
				      sizeof(*target->threads)) < 0)
			return -ENOMEM;
		thread = &target->threads[target->n++];
		*thread = (struct wtl_python_thread){.tid = tid};
	}
	rc = search_thread(target, memory, &search);
	if (rc < 0) {
		int64_t longer_ns = 2 * thread->backoff_ns;

		longer_ns = longer_ns > BACKOFF_LEAST_NS ? longer_ns : BACKOFF_LEAST_NS;
		thread->backoff_ns = longer_ns < BACKOFF_MOST_NS ? longer_ns : BACKOFF_MOST_NS;
		thread->search_ns = now_ns + thread->backoff_ns;
		return rc;
	}
	thread->state = search.state;
	thread->id = search.id;
	*ret_thread = thread;
	return 0;
}

/* ---- Stacks ---- */

struct walk {
	struct wtl_python_target *target;
	const struct wtl_python_memory *memory;
	struct wtl_python_thread *thread;
	uint64_t frame;	   /* the innermost one */
	uint64_t base;	   /* the outermost one reached */
	unsigned n_moves;  /* tries in which the thread moved */
	unsigned n_doubts; /* tries with a new outermost frame */
};

static bool has_cframe(const struct wtl_python_layout *layout)
{
	return layout->minor == 11 || layout->minor == 12;
}

static int get(const struct walk *walk, uint64_t address, void *to, size_t size)
{
	return wtl_python_snapshot_get(&walk->thread->snapshot, walk->memory, walk->target->pid,
				       address, to, size);
}

static size_t frame_bytes(const struct wtl_python_layout *layout)
{
	size_t size = layout->frame_previous;

	size = layout->frame_code > size ? layout->frame_code : size;
	size = layout->frame_owner > size ? layout->frame_owner : size;
	return size + sizeof(uint64_t);
}

/* Adds one frame to the stack, if it belongs there, and goes on to its caller. 0 or negative. */
static int take_frame(const struct walk *walk, uint64_t *frame, struct wtl_python_stack *stack)
{
	const struct wtl_python_layout *layout = &walk->target->layout;
	size_t size = frame_bytes(layout);
	uint8_t bytes[FRAME_BYTES] = {0}, owner;
	struct wtl_python_frame taken = {.address = *frame};
	int rc = size > sizeof(bytes) ? -EINVAL : get(walk, *frame, bytes, size);

	if (rc < 0)
		return rc;
	owner = layout->frame_owner ? bytes[layout->frame_owner] : 1;
	memcpy(&taken.code, bytes + layout->frame_code, sizeof(taken.code));
	taken.code &= ~UINT64_C(7); /* from 3.14 on, the lowest bits are a tag of the reference */
	memcpy(frame, bytes + layout->frame_previous, sizeof(*frame));
	if (layout->minor >= 12 && owner >= OWNED_BY_C) {
		if (stack->n > 0) {
			stack->frames[stack->n - 1].is_entry = true;
			return 0;
		}
		taken.code = 0;
		taken.is_entry = true;
	} else if (layout->minor < 12) {
		taken.is_entry = owner;
	}
	stack->frames[stack->n++] = taken;
	return 0;
}

/* What leads to the innermost frame. */
struct ends {
	uint64_t id, top, frame;
};

static uint32_t state_begin(const struct wtl_python_layout *layout)
{
	uint32_t id = id_offset(layout);

	return id < layout->tstate_frame ? id : layout->tstate_frame;
}

/* Fewer parts are faster: each costs a page table walk. */
static size_t list_ends(const struct walk *walk, uint8_t *to, struct wtl_python_part parts[2])
{
	const struct wtl_python_layout *layout = &walk->target->layout;
	const struct wtl_python_thread *thread = walk->thread;
	uint32_t begin = state_begin(layout), id = id_offset(layout);
	uint32_t last = id > layout->tstate_frame ? id : layout->tstate_frame;

	parts[0] = (struct wtl_python_part){thread->state + begin, to,
					    last - begin + sizeof(uint64_t)};
	parts[1] = (struct wtl_python_part){
		thread->cframes.first + layout->cframe_frame, to + WTL_PYTHON_STATE_BYTES,
		thread->cframes.last - thread->cframes.first + sizeof(uint64_t)};
	return thread->cframes.first ? 2 : 1;
}

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

static bool is_near(const struct wtl_python_thread *thread, uint64_t cframe)
{
	return thread->cframes.first && cframe >= thread->cframes.first &&
	       cframe <= thread->cframes.last;
}

static struct ends take_ends(const struct walk *walk, const uint8_t *bytes)
{
	const struct wtl_python_layout *layout = &walk->target->layout;
	const struct wtl_python_thread *thread = walk->thread;
	uint32_t begin = state_begin(layout);
	struct ends ends = {.id = word_at(bytes + (id_offset(layout) - begin)),
			    .top = word_at(bytes + (layout->tstate_frame - begin))};

	ends.frame = ends.top;
	if (has_cframe(layout) && is_near(thread, ends.top))
		ends.frame = word_at(bytes + WTL_PYTHON_STATE_BYTES +
				     (ends.top - thread->cframes.first));
	return ends;
}

static void widen(struct wtl_python_range *range, uint64_t address)
{
	if (!range->first || address < range->first)
		range->first = address;
	if (address > range->last)
		range->last = address;
}

/* Widens the range that is read to this _PyCFrame; if it becomes too wide, only this one is read. */
static void add_cframe(struct wtl_python_thread *thread, uint64_t cframe)
{
	widen(&thread->cframes, cframe);
	if (thread->cframes.last - thread->cframes.first <=
	    WTL_PYTHON_CFRAME_BYTES - sizeof(uint64_t))
		return;
	thread->cframes = (struct wtl_python_range){cframe, cframe};
	thread->recent = (struct wtl_python_range){0, 0};
}

/* Now and then narrows the range to what the last walks used. */
static void note_cframe(struct wtl_python_thread *thread, uint64_t cframe)
{
	widen(&thread->recent, cframe);
	if (thread->snapshot.walk % CFRAME_WALKS > 0)
		return;
	thread->cframes = thread->recent;
	thread->recent = (struct wtl_python_range){cframe, cframe};
}

/*
 * Copies the blocks of the last walks in one call, and before and after them what leads to the innermost frame: if the
 * two differ, the thread has moved (-EAGAIN). 0; -ESRCH: the state is another thread's now; or negative: unreadable.
 */
static int begin_walk(struct walk *walk)
{
	struct wtl_python_thread *thread = walk->thread;
	uint8_t *bytes[2] = {walk->target->ends[0], walk->target->ends[1]};
	struct wtl_python_part parts[2][2];
	struct ends before, after;
	size_t n = list_ends(walk, bytes[0], parts[0]);
	int rc;

	list_ends(walk, bytes[1], parts[1]);
	rc = wtl_python_snapshot_take(&thread->snapshot, walk->memory, walk->target->pid, parts[0],
				      parts[1], n);
	if (rc < 0) {
		thread->cframes = thread->recent = (struct wtl_python_range){0, 0};
		return rc == -EPERM || rc == -ESRCH ? rc : -EAGAIN;
	}
	before = take_ends(walk, bytes[0]);
	after = take_ends(walk, bytes[1]);
	if (before.id != thread->id)
		return -ESRCH;
	walk->frame = before.frame;
	if (has_cframe(&walk->target->layout) && before.top) {
		if (!is_near(thread, before.top)) {
			add_cframe(thread, before.top);
			return -EAGAIN;
		}
		note_cframe(thread, before.top);
	}
	if (memcmp(&before, &after, sizeof(before)) == 0)
		return 0;
	walk->n_moves++;
	return -EAGAIN;
}

/* As begin_walk(); -EAGAIN: what was seen is not of one moment. */
static int try_walk(struct walk *walk, struct wtl_python_stack *stack)
{
	uint64_t frame;
	size_t steps = 0; /* frames of C add nothing, and may have been made a cycle */
	int rc = begin_walk(walk);

	stack->n = 0;
	stack->is_cut = false;
	if (rc < 0)
		return rc;
	walk->base = 0;
	for (frame = walk->frame;
	     frame && stack->n < WTL_PYTHON_DEPTH && steps++ < 4 * WTL_PYTHON_DEPTH;) {
		walk->base = frame;
		rc = take_frame(walk, &frame, stack);
		if (rc == -E2BIG) /* there is no room for more of it */
			break;
		if (rc < 0)
			return -EAGAIN;
	}
	stack->is_cut = frame != 0;
	return walk->thread->snapshot.is_whole || rc == -E2BIG ? 0 : -EAGAIN;
}

/*
 * Whether the walk reached the stack's start. A suspended generator has no caller, and may run again when that is read.
 * From 3.12 on every stack starts with a call from C; before, a new outermost frame is accepted after some tries.
 */
static bool is_likely(struct walk *walk, const struct wtl_python_stack *stack)
{
	if (stack->is_cut || stack->n == 0 || walk->thread->base == walk->base)
		return true;
	if (walk->target->layout.minor >= 12)
		return stack->frames[stack->n - 1].is_entry;
	if (++walk->n_doubts < DOUBTS)
		return false;
	walk->thread->base = walk->base;
	return true;
}

/* Whether two copies of a frame are of the same function, and of the same caller. */
static bool is_same(const struct wtl_python_layout *layout, const uint8_t *then, const uint8_t *now)
{
	return word_at(then + layout->frame_code) == word_at(now + layout->frame_code) &&
	       word_at(then + layout->frame_previous) == word_at(now + layout->frame_previous);
}

/*
 * A thread that runs may be at the same place before and after it was read, and was elsewhere meanwhile: whether the
 * innermost frames are the same each time that they are read again. Once or twice that may be by chance.
 */
static bool is_unchanged(struct walk *walk, const struct wtl_python_stack *stack)
{
	const struct wtl_python_layout *layout = &walk->target->layout;
	const size_t n = stack->n < CHECKED_FRAMES ? stack->n : CHECKED_FRAMES;
	uint8_t then[FRAME_BYTES], now[CHECKED_FRAMES][FRAME_BYTES];
	struct wtl_python_part parts[CHECKED_FRAMES] = {{0}};

	for (size_t i = 0; i < n; i++)
		parts[i] = (struct wtl_python_part){stack->frames[i].address, now[i],
						    frame_bytes(layout)};
	for (unsigned check = 0; check < CHECKS; check++) {
		if (walk->memory->read(walk->memory->context, walk->target->pid, parts, n) < 0)
			return false;
		for (size_t i = 0; i < n; i++)
			if (get(walk, parts[i].address, then, parts[i].size) < 0 ||
			    !is_same(layout, then, now[i])) {
				walk->n_moves++;
				return false;
			}
	}
	return true;
}

int wtl_python_read(struct wtl_python_target *target, const struct wtl_python_memory *memory,
		    int tid, int64_t now_ns, bool may_run, struct wtl_python_stack *ret_stack)
{
	struct walk walk = {.target = target, .memory = memory};
	int rc = find_thread(target, memory, tid, now_ns, &walk.thread);

	ret_stack->n = 0;
	ret_stack->n_tries = ret_stack->n_moves = 0;
	if (rc < 0)
		return rc;
	while (ret_stack->n_tries++ < TRIES) {
		bool is_read;

		rc = try_walk(&walk, ret_stack);
		is_read = rc == 0 && is_likely(&walk, ret_stack) &&
			  (!may_run || is_unchanged(&walk, ret_stack));
		ret_stack->n_moves = walk.n_moves;
		if (is_read) {
			ret_stack->snapshot = &walk.thread->snapshot;
			return 0;
		}
		if (rc == -ESRCH)
			walk.thread->state = 0; /* so that it is looked for again */
		if (rc < 0 && rc != -EAGAIN)
			return rc;
	}
	return -EAGAIN;
}
