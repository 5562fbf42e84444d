/* SPDX-License-Identifier: MIT */
#include "profile/python_shown.h"

#include <stdlib.h>

#include "base/array.h"

enum {
	FRAMES = 8192, /* then all are forgotten, and read again */
	/* A place always has the pointer: of one sample, what was read may be of another moment. */
	NEARLY_ALL = WTL_PYTHON_HABIT_SAMPLES - 1,
};

void wtl_python_shown_init(struct wtl_python_shown *shown)
{
	*shown = (struct wtl_python_shown){.is_used = true};
}

void wtl_python_shown_done(struct wtl_python_shown *shown)
{
	free(shown->frames);
	wtl_hash_done(&shown->by_address);
	*shown = (struct wtl_python_shown){.is_used = false};
}

/* ---- Frames ---- */

static bool has_address(const void *context, uint32_t value, const void *key)
{
	const struct wtl_python_shown *shown = context;

	return shown->frames[value].named.address == *(const uint64_t *)key;
}

/* NULL: none was read there. */
static struct wtl_python_shown_frame *frame_at(const struct wtl_python_shown *shown,
					       uint64_t address)
{
	const uint32_t *found =
		wtl_hash_find(&shown->by_address, wtl_hash_bytes(&address, sizeof(address)),
			      has_address, shown, &address);

	return found ? &shown->frames[*found] : NULL;
}

static void note_frame(struct wtl_python_shown *shown, const struct wtl_python_named *named,
		       int64_t t_ns)
{
	struct wtl_python_shown_frame *known = frame_at(shown, named->address);

	if (known) {
		if (known->named.frame != named->frame || known->named.begin != named->begin) {
			known->is_shared = true;
			known->since_ns = t_ns;
		}
		known->named = *named;
		return;
	}
	if (shown->n == FRAMES) {
		shown->n = 0;
		wtl_hash_clear(&shown->by_address);
	}
	if (wtl_array_reserve(&shown->frames, &shown->room, shown->n + 1, sizeof(*shown->frames)) <
		    0 ||
	    wtl_hash_reserve(&shown->by_address, shown->n + 1) < 0)
		return;
	shown->frames[shown->n] = (struct wtl_python_shown_frame){.named = *named};
	wtl_hash_add(&shown->by_address, wtl_hash_bytes(&named->address, sizeof(named->address)),
		     (uint32_t)shown->n++);
}

void wtl_python_shown_read(struct wtl_python_shown *shown, const struct wtl_python_named frames[],
			   size_t n, int64_t t_ns)
{
	for (size_t i = 0; i < n && shown->is_used; i++)
		if (frames[i].end > frames[i].begin)
			note_frame(shown, &frames[i], t_ns);
}

void wtl_python_shown_forget(struct wtl_python_shown *shown, uint32_t frame, uint64_t begin)
{
	for (size_t i = 0; i < shown->n; i++)
		if (shown->frames[i].named.frame == frame && shown->frames[i].named.begin == begin)
			shown->frames[i].named.end = 0;
}

/* ---- Where loops keep pointers ---- */

static void learn(struct wtl_python_kept *kept, const struct wtl_python_loop *loop, uint64_t begin,
		  uint64_t more)
{
	wtl_python_habit_learn(&kept->habit, loop, begin, more);
	if (kept->habit.n < WTL_PYTHON_HABIT_SAMPLES)
		return;
	for (uint8_t i = 0; i < WTL_PYTHON_HABITS && kept->n < WTL_PYTHON_KEPT; i++)
		if (kept->habit.n_found[i] >= NEARLY_ALL)
			kept->places[kept->n++] = i;
}

void wtl_python_shown_learn(struct wtl_python_shown *shown, const struct wtl_python_sample *sample,
			    const struct wtl_python_named frames[], size_t n)
{
	struct wtl_python_loop loop;

	if (!shown->is_used || shown->frame.habit.n == WTL_PYTHON_HABIT_SAMPLES || n < 2 ||
	    sample->n_loops < 2 || !wtl_python_loop_is_seen(sample, sample->loops[1]))
		return;
	loop = wtl_python_loop_see(sample, sample->loops[1]);
	learn(&shown->frame, &loop, frames[1].address, 0);
	learn(&shown->instruction, &loop, frames[1].begin, frames[1].end - frames[1].begin);
}

/* ---- Stacks ---- */

static bool runs(const struct wtl_python_kept *kept, const struct wtl_python_loop *loop,
		 const struct wtl_python_named *frame)
{
	for (size_t i = 0; i < kept->n; i++)
		if (wtl_python_loop_word(loop, kept->places[i]) - frame->begin <=
		    frame->end - frame->begin)
			return true;
	return false;
}

/* The frame that a loop runs; NULL: not known. */
static const struct wtl_python_named *frame_of(const struct wtl_python_shown *shown,
					       const struct wtl_python_loop *loop,
					       bool is_innermost, int64_t t_ns)
{
	for (size_t i = 0; i < shown->frame.n; i++) {
		uint8_t place = shown->frame.places[i];
		uint64_t address = wtl_python_loop_word(loop, place);
		const struct wtl_python_shown_frame *known = frame_at(shown, address);

		if (!known || known->named.end == 0 || t_ns < known->since_ns)
			continue;
		/* A loop that begins has its frame in the register first. */
		if (runs(&shown->instruction, loop, &known->named) ||
		    (is_innermost && place < WTL_UNWIND_KEPT && !known->is_shared))
			return &known->named;
	}
	return NULL;
}

bool wtl_python_shown_find(const struct wtl_python_shown *shown,
			   const struct wtl_python_sample *sample,
			   struct wtl_python_named ret_frames[])
{
	if (shown->frame.habit.n < WTL_PYTHON_HABIT_SAMPLES)
		return false;
	for (size_t i = 0; i < sample->n_loops; i++) {
		struct wtl_python_loop loop = wtl_python_loop_see(sample, sample->loops[i]);
		const struct wtl_python_named *frame =
			frame_of(shown, &loop, i == 0, sample->event->t_ns);

		/* A loop that has not even its frame yet still has its caller's. */
		if (!frame || (i == 1 && frame->address == ret_frames[0].address))
			return false;
		ret_frames[i] = *frame;
	}
	return true;
}
