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
static bool is_calling(const char *name)
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

static enum place classify(const struct wtl_python *python,
			   const struct wtl_python_process *process,
			   const struct wtl_unwind_place *place)
{
	const struct wtl_module_symbol *symbol;

	if (place->module != process->module)
		return PLACE_OTHER;
	symbol = wtl_module_symbol(python->modules, place->module, place->address);
	if (!symbol)
		return PLACE_CALLING;
	if (wtl_text_starts(symbol->name, "_PyEval_EvalFrameDefault"))
		return PLACE_LOOP;
	return is_calling(symbol->name) ? PLACE_CALLING : PLACE_OTHER;
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

/* The reading of a sample, which becomes the thread's last one. Else the last one without its innermost function, if
 * it is not old: *ret_is_guess. NULL: nothing is known. */
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
	const struct wtl_python_reading *reading;
	bool is_guess;
	size_t innermost; /* the frame that ran when the sample was taken; those before came later */
	size_t left;	  /* frames of the reading that are not put yet: the innermost ones */
	bool has_moved, is_unresolved;
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

/* Whether a sample's registers or the first bytes of its stack point into a function's instructions: the loop that runs
 * it keeps the next one there. */
static bool runs_in(const struct wtl_ring_event *sample, size_t n,
		    const struct wtl_python_named *frame)
{
	uint64_t size = frame->end - frame->begin, word;

	if (size == 0)
		return false;
	for (size_t i = 0; i < WTL_RING_REGISTERS; i++)
		if (sample->sample.registers[i] - frame->begin <= size)
			return true;
	for (size_t i = 0; i + sizeof(word) <= n; i += sizeof(word)) {
		memcpy(&word, sample->sample.stack + i, sizeof(word));
		if (word - frame->begin <= size)
			return true;
	}
	return false;
}

/*
 * A reading comes some time after its sample. Functions that were called meanwhile are left out; if none of those that
 * were read ran when the sample was taken, the thread has moved on, and what C did then was done for another function.
 * `loop` is the place of the innermost loop.
 */
static void compare(struct merge *merge, const struct wtl_ring_event *sample,
		    const struct wtl_unwind_place places[], size_t n, size_t loop)
{
	const struct wtl_python_reading *reading = merge->reading;
	uint64_t size = sample->sample.stack_len;
	bool is_seen = loop + 1 < n && places[loop + 1].stack - places[0].stack <= size;

	if (is_seen)
		size = places[loop + 1].stack - places[0].stack;
	for (size_t i = 0; i < reading->n && i < LEFT_MAX; i++) {
		if (!runs_in(sample, (size_t)size, &reading->frames[i]))
			continue;
		merge->innermost = i;
		return;
	}
	merge->has_moved = is_seen;
	merge->python->n_moved += is_seen;
}

/* A loop whose function was not read: one is told, whatever it called. */
static void put_unresolved(struct merge *merge)
{
	if (!merge->is_unresolved)
		put(merge, merge->python->unresolved);
	merge->python->n_missing += !merge->is_unresolved;
	merge->is_unresolved = true;
}

/* The frames of the next call of the loop: whether there are any. */
static bool put_group(struct merge *merge)
{
	bool has_some = false;

	for (bool is_first = true; merge->left > 0; is_first = false) {
		const struct wtl_python_named *frame = &merge->reading->frames[merge->left - 1];

		if (!is_first && frame->is_entry)
			break;
		merge->left--;
		if (merge->left < merge->innermost)
			continue;
		has_some = true;
		if (merge->is_guess && merge->left == 0)
			put_unresolved(merge);
		else if (!frame->is_nobody)
			put(merge, frame->frame);
	}
	return has_some;
}

static size_t count_groups(const struct wtl_python_reading *reading)
{
	size_t n = 0;

	for (size_t i = 0; i < reading->n; i++)
		n += reading->frames[i].is_entry || i + 1 == reading->n;
	return n;
}

/* Those from the number `first` on. */
static void put_places(struct merge *merge, const struct wtl_python_process *process,
		       const struct wtl_unwind_place places[], const enum place kinds[], size_t n,
		       size_t first)
{
	bool has_loop = false;

	for (size_t i = n; i > first; i--) {
		const struct wtl_unwind_place *place = &places[i - 1];

		switch (kinds[i - 1]) {
		case PLACE_LOOP:
			has_loop = true;
			if (!put_group(merge) && (!merge->reading || merge->innermost > 0))
				put_unresolved(merge);
			break;
		case PLACE_OTHER:
			if (has_loop || !place->module || !is_beginning(process, place->module))
				put_place(merge, place);
			break;
		case PLACE_CALLING:
			break;
		}
	}
}

int64_t wtl_python_merge(struct wtl_python *python, struct wtl_python_process *process,
			 const struct wtl_ring_event *sample,
			 const struct wtl_unwind_place places[], size_t n, bool is_whole)
{
	struct merge merge = {.python = python};
	enum place kinds[WTL_PYTHON_PLACES];
	size_t n_loops = 0, n_groups = 0, loop = 0;

	n = n < WTL_PYTHON_PLACES ? n : (size_t)WTL_PYTHON_PLACES;
	merge.reading = choose_reading(python, process, sample->tid, sample->t_ns, &merge.is_guess);
	for (size_t i = n; i > 0; i--) {
		kinds[i - 1] = classify(python, process, &places[i - 1]);
		if (kinds[i - 1] != PLACE_LOOP)
			continue;
		n_loops++;
		loop = i - 1;
	}
	if (n_loops == 0 && (is_whole || merge.is_guess)) {
		/* A thread of C, or one that begins or ends: as it is. */
		for (size_t i = n; i > 0; i--)
			put_place(&merge, &places[i - 1]);
		return merge.node;
	}
	python->n_merged++;
	if (merge.reading) {
		merge.left = merge.reading->n;
		n_groups = count_groups(merge.reading);
		if (n_loops > 0 && !merge.is_guess)
			compare(&merge, sample, places, n, loop);
	}
	/* Loops and their frames belong together from the begin; where that was not seen, from the end. */
	for (size_t i = n_loops; !is_whole && i < n_groups; i++)
		put_group(&merge);
	put_places(&merge, process, places, kinds, n, merge.has_moved ? loop : 0);
	while (merge.left > 0)
		put_group(&merge);
	return merge.node;
}
