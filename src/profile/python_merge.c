/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profile/python.h"
#include "profile/tree.h"

/* What a thread was seen with is a guess at what it does so much later. */
#define LAST_NS INT64_C(50000000)

/* A function that returned since the sample is looked for among so many that it was called from. */
enum { LEFT_MAX = 16 };

/* ---- Whose frames ---- */

enum place {
	PLACE_UNKNOWN, /* it was not asked yet */
	PLACE_LOOP,    /* the interpreter's loop: Python functions run in it */
	PLACE_CALLING, /* how the interpreter and the C library call */
	PLACE_OTHER,
};

static const char *base_name(const struct wtl_module *module)
{
	const char *slash = strrchr(module->path, '/');

	return slash ? slash + 1 : module->path;
}

static bool starts_with_any(const char *name, const char *const prefixes[])
{
	for (size_t i = 0; prefixes[i]; i++)
		if (wtl_text_starts(name, prefixes[i]))
			return true;
	return false;
}

/* Functions of CPython that only lead from one function to the next. All of its own API is: what a function of Python
 * does by it is that function's. */
bool wtl_python_is_calling(const char *name)
{
	static const char *const prefixes[] = {"_Py",
					       "Py",
					       "cfunction_",
					       "method_vectorcall",
					       "method_call",
					       "vectorcall_",
					       "function_code_fastcall",
					       "call_function",
					       "do_call_core",
					       "slot_tp_",
					       "slot_nb_",
					       "slot_sq_",
					       "slot_mp_",
					       "slot_am_",
					       "type_call",
					       "object_vacall",
					       "wrapperdescr_",
					       "wrap_",
					       "gen_send_ex",
					       "gen_iternext",
					       "builtin_exec",
					       "builtin_eval",
					       "builtin___build_class__",
					       "run_mod",
					       "run_eval_code_obj",
					       "pyrun_",
					       "pymain_",
					       "thread_run",
					       "pythread_wrapper",
					       "t_bootstrap",
					       NULL};

	return starts_with_any(name, prefixes);
}

/* Files that hold what begins a thread of Python: CPython's own, and the C library. */
static bool is_beginning(const struct wtl_python_process *process, const struct wtl_module *module)
{
	static const char *const prefixes[] = {"python",   "libpython",	 "libc.so", "libc-",
					       "ld-linux", "libpthread", "ld-musl", NULL};

	return module == process->module || starts_with_any(base_name(module), prefixes);
}

static enum place classify_name(const char *name)
{
	if (wtl_text_starts(name, "_PyEval_EvalFrameDefault"))
		return PLACE_LOOP;
	return wtl_python_is_calling(name) ? PLACE_CALLING : PLACE_OTHER;
}

static enum place classify(const struct wtl_python *python, struct wtl_python_process *process,
			   const struct wtl_unwind_place *place)
{
	const struct wtl_module_symbol *symbol;
	uint8_t *kind;

	if (place->module != process->module)
		return PLACE_OTHER;
	symbol = wtl_module_symbol(python->modules, place->module, place->address);
	if (!symbol)
		return PLACE_CALLING;
	if (!process->kinds)
		process->kinds = calloc(place->module->n_symbols, 1);
	if (!process->kinds)
		return classify_name(symbol->name);
	kind = &process->kinds[symbol - place->module->symbols];
	if (*kind == PLACE_UNKNOWN)
		*kind = (uint8_t)classify_name(symbol->name);
	return (enum place) * kind;
}

/* ---- Readings ---- */

static struct wtl_python_reading *find_reading(const struct wtl_python *python, int tid,
					       int64_t t_ns)
{
	for (size_t i = 0; i < python->n_readings; i++)
		if (python->readings[i].tid == tid && python->readings[i].t_ns == t_ns)
			return &python->readings[i];
	return NULL;
}

static struct wtl_python_last *last_of(struct wtl_python_process *process, int tid)
{
	struct wtl_python_last *last;

	for (size_t i = 0; i < process->n_lasts; i++)
		if (process->lasts[i].tid == tid)
			return &process->lasts[i];
	if (wtl_array_reserve(&process->lasts, &process->room_lasts, process->n_lasts + 1,
			      sizeof(*process->lasts)) < 0)
		return NULL;
	last = &process->lasts[process->n_lasts++];
	*last = (struct wtl_python_last){.tid = tid};
	return last;
}

/* The reading of a sample, which becomes the thread's last one. Else the last one, if it is not old: *ret_is_guess.
 * NULL: nothing is known. */
static const struct wtl_python_reading *choose_reading(struct wtl_python *python,
						       struct wtl_python_process *process, int tid,
						       int64_t t_ns, bool *ret_is_guess)
{
	struct wtl_python_reading *reading = find_reading(python, tid, t_ns);
	struct wtl_python_last *last = last_of(process, tid);

	*ret_is_guess = false;
	if (reading)
		reading->is_taken = true;
	if (!last)
		return NULL;
	if (reading && reading->is_good) {
		free(last->reading.frames);
		last->reading = *reading;
		reading->frames = NULL;
		return &last->reading;
	}
	*ret_is_guess = true;
	return last->reading.frames && t_ns - last->reading.t_ns < LAST_NS ? &last->reading : NULL;
}

/* ---- Merging ---- */

struct merge {
	struct wtl_python *python;
	const struct wtl_python_process *process;
	const struct wtl_python_reading *reading;
	const struct wtl_ring_event *sample;
	const struct wtl_unwind_place *places; /* the innermost first */
	const enum place *kinds;
	size_t n;
	bool is_guess;	  /* the reading is not of this sample */
	bool is_doubtful; /* nor, it seems, of what ran when it was taken: each loop is compared */
	bool is_lost;	  /* from here on they differ */
	bool is_unresolved;
	size_t innermost; /* the frame that ran when the sample was taken; those before came later */
	size_t left;	  /* frames of the reading that are not put yet: the innermost ones */
	int64_t node;
};

static void put(struct merge *merge, uint32_t frame)
{
	if (merge->node >= 0)
		merge->node = wtl_tree_child(merge->python->tree, (uint32_t)merge->node, frame);
}

static void put_place(struct merge *merge, const struct wtl_unwind_place *place)
{
	const struct wtl_frame frame = {
		.kind = WTL_FRAME_NATIVE, .module = place->module, .address = place->address};
	int64_t number = wtl_tree_frame(merge->python->tree, &frame);

	if (number < 0)
		merge->node = number;
	else
		put(merge, (uint32_t)number);
}

/* ---- The same moment ---- */

/* Whether the loop at that place runs a function, as far as is seen: it keeps a pointer to its next instruction in a
 * register, or on its stack, or what it called does. */
static bool runs(const struct merge *merge, size_t place, const struct wtl_python_named *frame)
{
	const struct wtl_ring_event *sample = merge->sample;
	uint64_t size = frame->end - frame->begin, stack = merge->places[0].stack, word;
	uint64_t from = 0, to = sample->sample.stack_len;
	size_t inner = place;

	while (inner > 0 && merge->kinds[inner - 1] != PLACE_LOOP)
		inner--;
	if (inner > 0)
		from = (merge->places[inner - 1].stack - stack) & ~UINT64_C(7);
	if (place + 1 < merge->n && merge->places[place + 1].stack - stack < to)
		to = merge->places[place + 1].stack - stack;
	for (size_t i = 0; i < WTL_RING_REGISTERS && size > 0 && inner == 0; i++)
		if (sample->sample.registers[i] - frame->begin <= size)
			return true;
	for (uint64_t i = from; i + sizeof(word) <= to && size > 0; i += sizeof(word)) {
		memcpy(&word, sample->sample.stack + i, sizeof(word));
		if (word - frame->begin <= size)
			return true;
	}
	return false;
}

/* Whether all of a loop's stack was copied. */
static bool is_seen(const struct merge *merge, size_t place)
{
	return place + 1 < merge->n && merge->places[place + 1].stack - merge->places[0].stack <=
					       merge->sample->sample.stack_len;
}

/*
 * A reading comes some time after its sample. Functions that were called meanwhile are left out. If none of those that
 * were read ran in the innermost loop when the sample was taken, the thread has moved on.
 */
static void compare(struct merge *merge, size_t loop)
{
	const struct wtl_python_reading *reading = merge->reading;

	for (size_t i = 0; i < reading->n && i < LEFT_MAX && !merge->is_guess; i++) {
		if (!runs(merge, loop, &reading->frames[i]))
			continue;
		merge->innermost = i;
		return;
	}
	merge->is_doubtful = merge->is_guess || is_seen(merge, loop);
	merge->python->n_moved += merge->is_doubtful && !merge->is_guess;
}

/* ---- Putting ---- */

/* A loop whose function was not read: one is told, whatever it called. */
static void put_unresolved(struct merge *merge)
{
	if (!merge->is_unresolved)
		put(merge, merge->python->unresolved);
	merge->python->n_missing += !merge->is_unresolved;
	merge->is_unresolved = true;
}

/* The frames of the next loop end before that one. */
static size_t end_of_group(const struct merge *merge)
{
	size_t end = merge->left;

	while (end > 0 && (end == merge->left || !merge->reading->frames[end - 1].is_entry))
		end--;
	return end;
}

/* The frames of the next loop: whether there are any. */
static bool put_group(struct merge *merge)
{
	size_t end = end_of_group(merge);
	bool has_some = merge->left > end && merge->left > merge->innermost;

	for (; merge->left > end; merge->left--) {
		const struct wtl_python_named *frame = &merge->reading->frames[merge->left - 1];

		if (merge->left > merge->innermost && !frame->is_nobody)
			put(merge, frame->frame);
	}
	return has_some;
}

/* What was read last is believed as far as it is what ran. */
static void put_loop(struct merge *merge, size_t place)
{
	if (merge->is_doubtful && !merge->is_lost && (merge->is_guess || is_seen(merge, place))) {
		merge->is_lost = true;
		for (size_t i = end_of_group(merge); i < merge->left && merge->is_lost; i++)
			merge->is_lost = !runs(merge, place, &merge->reading->frames[i]);
	}
	if (merge->is_lost && merge->is_guess)
		merge->left = 0;
	if (!put_group(merge) && (!merge->reading || merge->is_guess || merge->innermost > 0))
		put_unresolved(merge);
}

static void put_places(struct merge *merge)
{
	bool has_loop = false;

	for (size_t i = merge->n; i > 0; i--) {
		const struct wtl_module *module = merge->places[i - 1].module;

		if (merge->kinds[i - 1] == PLACE_LOOP) {
			has_loop = true;
			put_loop(merge, i - 1);
			continue;
		}
		/* What C did then was done for another function than is known. */
		if (merge->kinds[i - 1] == PLACE_CALLING || (merge->is_lost && !merge->is_guess))
			continue;
		if (has_loop || !module || !is_beginning(merge->process, module))
			put_place(merge, &merge->places[i - 1]);
	}
}

static size_t count_groups(const struct wtl_python_reading *reading)
{
	size_t n = 0;

	for (size_t i = 0; i < reading->n; i++)
		n += reading->frames[i].is_entry || i + 1 == reading->n;
	return n;
}

int64_t wtl_python_merge(struct wtl_python *python, struct wtl_python_process *process,
			 const struct wtl_ring_event *sample,
			 const struct wtl_unwind_place places[], size_t n, bool is_whole)
{
	enum place kinds[WTL_PYTHON_PLACES];
	struct merge merge = {.python = python,
			      .process = process,
			      .sample = sample,
			      .places = places,
			      .kinds = kinds,
			      .n = n < WTL_PYTHON_PLACES ? n : (size_t)WTL_PYTHON_PLACES};
	size_t n_loops = 0, n_groups = 0, loop = 0;

	merge.reading = choose_reading(python, process, sample->tid, sample->t_ns, &merge.is_guess);
	for (size_t i = merge.n; i > 0; i--) {
		kinds[i - 1] = classify(python, process, &places[i - 1]);
		if (kinds[i - 1] != PLACE_LOOP)
			continue;
		n_loops++;
		loop = i - 1;
	}
	if (n_loops == 0 && (is_whole || merge.is_guess)) {
		/* A thread of C, or one that begins or ends: as it is. */
		for (size_t i = merge.n; i > 0; i--)
			put_place(&merge, &places[i - 1]);
		return merge.node;
	}
	python->n_merged++;
	if (merge.reading) {
		merge.left = merge.reading->n;
		n_groups = count_groups(merge.reading);
		if (n_loops > 0)
			compare(&merge, loop);
	}
	/* Loops and their frames belong together from the begin; where that was not seen, from the end. */
	for (size_t i = n_loops; !is_whole && i < n_groups; i++)
		put_group(&merge);
	put_places(&merge);
	while (merge.left > 0 && !merge.is_guess)
		put_group(&merge);
	return merge.node;
}
