/* SPDX-License-Identifier: MIT */
#include "profile/python_shown.h"

#include <stdlib.h>

#include "base/array.h"

enum {
	FRAMES = 8192, /* then all are forgotten, and read again */
	/* One of the samples may differ, as its reading may be of another moment. */
	NEARLY_ALL = WTL_PYTHON_HABIT_SAMPLES - 1,
};

/* Frames of recursive functions, and of functions that several threads run, go from one function to another. */
#define SHARED_NS INT64_C(1000000000)

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
		if (known->named.begin != named->begin)
			known->since_ns = t_ns > known->since_ns ? t_ns : known->since_ns;
		else if (known->named.frame != named->frame)
			known->since_ns = INT64_MAX; /* no instruction tells them apart */
		known->named = *named;
		return;
	}
	if (shown->n == FRAMES) {
		shown->n = 0;
		shown->has_forgotten = true;
		wtl_hash_clear(&shown->by_address);
	}
	if (wtl_array_reserve(&shown->frames, &shown->room, shown->n + 1, sizeof(*shown->frames)) <
		    0 ||
	    wtl_hash_reserve(&shown->by_address, shown->n + 1) < 0)
		return;
	shown->frames[shown->n] =
		(struct wtl_python_shown_frame){*named, shown->has_forgotten ? t_ns : 0};
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

static void learn(struct wtl_python_spots *spots, const struct wtl_python_loop *loop,
		  uint64_t begin, uint64_t more)
{
	if (spots->n > 0)
		return;
	wtl_python_habit_learn(&spots->habit, loop, begin, more);
	if (spots->habit.n < WTL_PYTHON_HABIT_SAMPLES)
		return;
	for (uint8_t i = 0; i < WTL_PYTHON_HABITS && spots->n < WTL_PYTHON_SPOTS; i++)
		if (spots->habit.n_found[i] >= NEARLY_ALL)
			spots->places[spots->n++] = i;
	spots->habit =
		(struct wtl_python_habit){.n = 0}; /* to begin again, if none always had it */
}

static bool is_learned(const struct wtl_python_shown *shown)
{
	return shown->frame.n > 0 && shown->instruction.n > 0;
}

void wtl_python_shown_learn(struct wtl_python_shown *shown, const struct wtl_python_sample *sample,
			    const struct wtl_python_named frames[], size_t n)
{
	struct wtl_python_loop loop;

	/* One call that goes on may have its pointers in more places than others. */
	if (!shown->is_used || is_learned(shown) || n < 2 || frames[1].address == shown->learned ||
	    sample->n_loops < 2 || !wtl_python_loop_is_seen(sample, sample->loops[1]))
		return;
	shown->learned = frames[1].address;
	loop = wtl_python_loop_see(sample, sample->loops[1]);
	learn(&shown->frame, &loop, frames[1].address, 0);
	learn(&shown->instruction, &loop, frames[1].begin, frames[1].end - frames[1].begin);
}

/* ---- Stacks ---- */

/* Where a loop is in the function's code; 0: it is not. */
static uint64_t instruction_of(const struct wtl_python_spots *spots,
			       const struct wtl_python_loop *loop,
			       const struct wtl_python_named *frame)
{
	for (size_t i = 0; i < spots->n; i++) {
		uint64_t word = wtl_python_loop_word(loop, spots->places[i]);

		if (word - frame->begin <= frame->end - frame->begin)
			return word;
	}
	return 0;
}

/* The frame that a loop runs; NULL: not known. */
static const struct wtl_python_shown_frame *frame_of(const struct wtl_python_shown *shown,
						     const struct wtl_python_loop *loop,
						     int64_t t_ns, uint64_t *ret_instruction)
{
	for (size_t i = 0; i < shown->frame.n; i++) {
		const struct wtl_python_shown_frame *known =
			frame_at(shown, wtl_python_loop_word(loop, shown->frame.places[i]));

		if (!known || known->named.end == 0 ||
		    (known->since_ns && t_ns - known->since_ns < SHARED_NS))
			continue;
		*ret_instruction = instruction_of(&shown->instruction, loop, &known->named);
		if (*ret_instruction)
			return known;
	}
	return NULL;
}

bool wtl_python_shown_find(const struct wtl_python_shown *shown,
			   const struct wtl_python_sample *sample,
			   struct wtl_python_named ret_frames[])
{
	uint64_t begun = 0; /* where a loop seems to be that may only begin */

	if (!is_learned(shown) || sample->event->sample.is_joined)
		return false;
	for (size_t i = 0; i < sample->n_loops; i++) {
		struct wtl_python_loop loop = wtl_python_loop_see(sample, sample->loops[i]);
		uint64_t instruction;
		const struct wtl_python_shown_frame *frame =
			frame_of(shown, &loop, sample->event->t_ns, &instruction);

		if (!frame)
			return false;
		/* A loop that begins still has its caller's frame, */
		if (i > 0 && frame->named.address == ret_frames[i - 1].address)
			return false;
		/* or, in a frame that may be another function's now, its caller's instruction. */
		if (instruction == begun)
			return false;
		begun = sample->loops[i] == 0 && frame->since_ns ? instruction : 0;
		ret_frames[i] = frame->named;
	}
	return true;
}
