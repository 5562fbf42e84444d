/* SPDX-License-Identifier: MIT */
#include "profile/python_loop.h"

#include <string.h>

/* A place is the usual one if it had the value in so many samples. */
enum { HABIT_USUAL = 108 };

bool wtl_python_loop_is_seen(const struct wtl_python_sample *sample, size_t place)
{
	const struct wtl_unwind_place *at = &sample->places[place];
	size_t len;

	if (place + 1 >= sample->n)
		return false;
	wtl_unwind_stack(sample->event, at->stack - sample->places[0].stack, &len);
	return at[1].stack - at->stack <= len;
}

struct wtl_python_loop wtl_python_loop_see(const struct wtl_python_sample *sample, size_t place)
{
	const struct wtl_unwind_place *at = &sample->places[place];
	size_t len;
	const uint8_t *from = wtl_unwind_stack(
		sample->event, (at->stack - sample->places[0].stack) & ~UINT64_C(7), &len);
	bool has_end = wtl_python_loop_is_seen(sample, place);

	if (has_end)
		len = at[1].stack - at->stack;
	return (struct wtl_python_loop){
		.kept = at->kept,
		.registers = place == 0 ? sample->event->sample.registers : NULL,
		.from = from,
		.to = from ? from + len : NULL,
		.has_end = has_end,
	};
}

uint64_t wtl_python_loop_word(const struct wtl_python_loop *loop, size_t place)
{
	size_t below = 8 * (place - WTL_UNWIND_KEPT + 1);
	uint64_t word;

	if (place < WTL_UNWIND_KEPT)
		return loop->kept[place];
	if (!loop->has_end || (size_t)(loop->to - loop->from) < below)
		return 0;
	memcpy(&word, loop->to - below, sizeof(word));
	return word;
}

bool wtl_python_loop_has(const struct wtl_python_loop *loop, uint64_t begin, uint64_t more)
{
	uint64_t word;

	for (size_t i = 0; i < WTL_RING_REGISTERS && loop->registers; i++)
		if (loop->registers[i] - begin <= more)
			return true;
	for (size_t i = 0; i < WTL_UNWIND_KEPT; i++)
		if (loop->kept[i] - begin <= more)
			return true;
	for (const uint8_t *at = loop->from; loop->to - at >= (ptrdiff_t)sizeof(word);
	     at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		if (word - begin <= more)
			return true;
	}
	return false;
}

bool wtl_python_loop_has_as_usual(const struct wtl_python_loop *loop,
				  const struct wtl_python_habit *habit, uint64_t begin,
				  uint64_t more)
{
	return habit->usual < 0 ? wtl_python_loop_has(loop, begin, more)
				: wtl_python_loop_word(loop, (size_t)habit->usual) - begin <= more;
}

void wtl_python_habit_learn(struct wtl_python_habit *habit, const struct wtl_python_loop *loop,
			    uint64_t begin, uint64_t more)
{
	size_t most = 0;

	if (habit->n == WTL_PYTHON_HABIT_SAMPLES)
		return;
	habit->n++;
	for (size_t i = 0; i < WTL_PYTHON_HABITS; i++) {
		habit->n_found[i] += wtl_python_loop_word(loop, i) - begin <= more;
		most = habit->n_found[i] > habit->n_found[most] ? i : most;
	}
	if (habit->n == WTL_PYTHON_HABIT_SAMPLES && habit->n_found[most] >= HABIT_USUAL)
		habit->usual = (int)most;
}
