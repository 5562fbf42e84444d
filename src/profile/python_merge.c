/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "profile/python.h"
#include "profile/tree.h"

/* A reading that is older than this is no guess any more. */
#define LAST_NS INT64_C(50000000)

/* What was read so often is hardly of two moments. */
enum { READ_OFTEN = 4 };

/* ---- Kinds of places ---- */

/* The table of places grows by this. */
enum { ROWS_MORE = 256 };

enum place {
	PLACE_UNKNOWN, /* not looked up yet */
	PLACE_LOOP,    /* the interpreter's loop: Python functions run in it */
	PLACE_CALLING, /* how the interpreter calls */
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

/* CPython functions that are only part of a call. Its whole API is: what a Python function does through it belongs
 * to that function. */
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

/* Whether the file has the code that starts a Python thread: CPython's own, or the C library. */
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

static enum place classify(const struct wtl_python *python, const struct wtl_unwind_place *place)
{
	const struct wtl_module_python *module = &place->module->python;
	const struct wtl_module_symbol *symbol =
		wtl_module_symbol(python->modules, place->module, place->address);

	if (symbol)
		return classify_name(symbol->name);
	return place->address - module->loop < module->loop_end - module->loop ? PLACE_LOOP
									       : PLACE_CALLING;
}

static enum place kind_of(struct wtl_python *python, const struct wtl_python_process *process,
			  const struct wtl_unwind_place *place)
{
	enum place kind;

	if (place->module != process->module)
		return PLACE_OTHER;
	if (place->row < python->n_rows && python->by_row[place->row] != PLACE_UNKNOWN)
		return (enum place)python->by_row[place->row];
	kind = classify(python, place);
	if (place->row > 0 && wtl_array_widen(&python->by_row, &python->n_rows,
					      place->row + ROWS_MORE, sizeof(*python->by_row)) == 0)
		python->by_row[place->row] = (uint8_t)kind;
	return kind;
}

/* ---- Merging ---- */

/*
 * Which of the two pointers of a loop, to its frame and into its instructions, must be where the loop usually keeps it.
 * NEEDS_NEXT: both, but it calls or returns: one pointer is already the next function's.
 */
enum need { NEEDS_BOTH, NEEDS_FRAME, NEEDS_NEXT, NEEDS_NONE };

struct merge {
	struct wtl_python *python;
	struct wtl_python_process *process;
	const struct wtl_python_reading *reading;
	struct wtl_python_reading shown; /* what the sample shows by itself */
	struct wtl_python_sample sample;
	const uint8_t *kinds;		       /* enum place, of each place */
	uint64_t words[WTL_PYTHON_MARKS / 64]; /* marks of all words seen of the innermost loop */
	enum need need;
	bool is_counted;  /* a sample of CPU time, not one of a thread that leaves its processor */
	bool is_whole;	  /* the outermost place is where the program began */
	bool is_guess;	  /* the reading is not of this sample */
	bool is_doubtful; /* it may not match the sample: each loop is compared */
	bool is_lost;	  /* the reading differs from the sample from here inward */
	bool is_unresolved;
	size_t innermost; /* the frame that ran at the sample; those before were called later */
	size_t left;	  /* frames of the reading not yet put: the innermost ones */
	int64_t node;
};

static void put(struct merge *merge, uint32_t frame)
{
	if (merge->node >= 0)
		merge->node = wtl_tree_child(merge->python->tree, (uint32_t)merge->node, frame);
}

static void put_place(struct merge *merge, const struct wtl_unwind_place *place)
{
	int64_t number = wtl_tree_place(merge->python->tree, place);

	if (number < 0)
		merge->node = number;
	else
		put(merge, (uint32_t)number);
}

/* ---- Matching a reading with a sample ---- */

static void note(struct merge *merge, uint64_t word)
{
	unsigned mark = wtl_python_mark(word);

	merge->words[mark / 64] |= UINT64_C(1) << mark % 64;
}

static void note_words(struct merge *merge)
{
	struct wtl_python_loop loop = wtl_python_loop_see(&merge->sample, merge->sample.loops[0]);
	uint64_t word;

	for (size_t i = 0; i < WTL_RING_REGISTERS && loop.registers; i++)
		note(merge, loop.registers[i]);
	for (size_t i = 0; i < WTL_UNWIND_KEPT; i++)
		note(merge, loop.kept[i]);
	for (const uint8_t *at = loop.from; loop.to - at >= (ptrdiff_t)sizeof(word);
	     at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		note(merge, word);
	}
}

/* Whether a loop seems to run a function: a register or its native frame has a pointer into the instructions. */
static bool runs(const struct wtl_python_loop *loop, const struct wtl_python_named *frame)
{
	return frame->end > frame->begin &&
	       wtl_python_loop_has(loop, frame->begin, frame->end - frame->begin);
}

static bool is_at(const struct merge *merge, const struct wtl_python_loop *loop,
		  const struct wtl_python_named *frame)
{
	return wtl_python_loop_has_as_usual(loop, &merge->process->frame, frame->address, 0);
}

static bool executes(const struct merge *merge, const struct wtl_python_loop *loop,
		     const struct wtl_python_named *frame)
{
	return frame->end > frame->begin &&
	       wtl_python_loop_has_as_usual(loop, &merge->process->instruction, frame->begin,
					    frame->end - frame->begin);
}

/* Whether it does so in exactly that frame. */
static bool runs_frame(const struct merge *merge, const struct wtl_python_loop *loop,
		       const struct wtl_python_named *frame)
{
	if (merge->need == NEEDS_NONE)
		return wtl_python_loop_has(loop, frame->address, 0) && runs(loop, frame);
	if (!is_at(merge, loop, frame))
		return false;
	return merge->need == NEEDS_FRAME ? runs(loop, frame) : executes(merge, loop, frame);
}

/*
 * The loop calls or returns, and has frame `at`: the frame next to it that has the loop's instruction; SIZE_MAX: none
 * has. While C runs, the usual place may have an instruction of before: then that of the loop's frame is elsewhere.
 */
static size_t find_next(const struct merge *merge, const struct wtl_python_loop *loop,
			const struct wtl_python_reading *reading, size_t at)
{
	const struct wtl_python_named *frame = &reading->frames[at];

	if (merge->process->frame.usual < 0 || merge->process->instruction.usual < 0 ||
	    !loop->has_end || !is_at(merge, loop, frame) || runs(loop, frame))
		return SIZE_MAX;
	if (!frame->is_entry && at + 1 < reading->n && executes(merge, loop, frame + 1))
		return at + 1;
	return at > 0 && !frame[-1].is_entry && executes(merge, loop, frame - 1) ? at - 1
										 : SIZE_MAX;
}

static void learn_habits(const struct merge *merge)
{
	const struct wtl_python_named *frame = &merge->reading->frames[merge->innermost];
	struct wtl_python_loop loop = wtl_python_loop_see(&merge->sample, merge->sample.loops[0]);

	if (merge->need == NEEDS_NEXT)
		return;
	wtl_python_habit_learn(&merge->process->frame, &loop, frame->address, 0);
	wtl_python_habit_learn(&merge->process->instruction, &loop, frame->begin,
			       frame->end - frame->begin);
	wtl_python_shown_learn(&merge->process->shown, &merge->sample, frame,
			       merge->reading->n - merge->innermost);
}

/* Whether the sample's other loops match the reading from frame `innermost` outward: each runs the innermost frame of
 * its group. */
static bool has_loops(const struct merge *merge, const struct wtl_python_reading *reading,
		      size_t innermost)
{
	size_t n = 0;

	for (size_t i = innermost; i < reading->n; n++) {
		if (n > 0 && n < merge->sample.n_loops &&
		    wtl_python_loop_is_seen(&merge->sample, merge->sample.loops[n])) {
			struct wtl_python_loop loop =
				wtl_python_loop_see(&merge->sample, merge->sample.loops[n]);

			if (!runs_frame(merge, &loop, &reading->frames[i]))
				return false;
		}
		while (i < reading->n && !reading->frames[i].is_entry)
			i++;
		i++;
	}
	return n == merge->sample.n_loops ||
	       (n > merge->sample.n_loops ? !merge->is_whole : reading->is_cut);
}

/* Whether the sample may be of that reading, or of what is left of it after some functions returned. */
static bool fits(const struct merge *merge, const struct wtl_python_reading *reading,
		 size_t *ret_innermost)
{
	struct wtl_python_loop loop = wtl_python_loop_see(&merge->sample, merge->sample.loops[0]);

	for (size_t i = 0; i < reading->n && i < WTL_PYTHON_LEFT; i++) {
		unsigned mark = reading->marks[i];

		if (!(merge->words[mark / 64] >> mark % 64 & 1))
			continue;
		*ret_innermost = i;
		if (merge->need == NEEDS_NEXT)
			*ret_innermost = find_next(merge, &loop, reading, i);
		else if (!runs_frame(merge, &loop, &reading->frames[i]))
			continue;
		if (*ret_innermost < reading->n && has_loops(merge, reading, *ret_innermost))
			return true;
	}
	return false;
}

/* Whether a reading has the same outermost frames as another one has without its first `innermost` ones. */
static bool begins_with(const struct wtl_python_reading *reading,
			const struct wtl_python_reading *other, size_t innermost)
{
	size_t n = other->n - innermost;

	return reading->n >= n &&
	       memcmp(reading->frames + (reading->n - n), other->frames + innermost,
		      n * sizeof(*other->frames)) == 0;
}

/* The reading for a sample, the last one up to it, and the first after it; NULL: none. */
struct around {
	const struct wtl_python_reading *own, *before, *after;
	int64_t before_ns, after_ns;
};

static struct around look_around(const struct wtl_python_seen *seen, int64_t t_ns)
{
	size_t n = seen->n_logged < WTL_PYTHON_LOG ? seen->n_logged : (size_t)WTL_PYTHON_LOG;
	struct around around = {.before_ns = INT64_MIN, .after_ns = INT64_MAX};

	for (size_t i = 0; i < n; i++) {
		const struct wtl_python_reading *reading = &seen->readings[seen->log[i].reading];
		int64_t at_ns = seen->log[i].t_ns;

		if (at_ns == t_ns)
			around.own = reading;
		if (at_ns <= t_ns && at_ns > around.before_ns) {
			around.before_ns = at_ns;
			around.before = reading;
		}
		if (at_ns > t_ns && at_ns < around.after_ns) {
			around.after_ns = at_ns;
			around.after = reading;
		}
	}
	return around;
}

static bool is_trusted(const struct wtl_python_reading *reading)
{
	return reading->is_still || reading->n_read >= READ_OFTEN;
}

/* Whether the callers of frame `innermost` were the same before and after the sample. In a program of many calls that
 * may be by chance, so a reading that was made rarely does not count. */
static bool lasts(const struct around *around, const struct wtl_python_reading *reading,
		  size_t innermost)
{
	return is_trusted(reading) && around->before && around->after &&
	       begins_with(around->before, reading, innermost + 1) &&
	       begins_with(around->after, reading, innermost + 1);
}

/* How long before or after the sample a stack was read. */
static int64_t distance_ns(const struct around *around, const struct wtl_python_reading *reading,
			   int64_t t_ns)
{
	int64_t ns = reading->t_ns > t_ns ? reading->t_ns - t_ns : t_ns - reading->t_ns;

	if (reading == around->before && t_ns - around->before_ns < ns)
		ns = t_ns - around->before_ns;
	if (reading == around->after && around->after_ns - t_ns < ns)
		ns = around->after_ns - t_ns;
	return ns;
}

/* Whether of two readings that fit, the first one is more likely. */
static bool is_better(const struct around *around, const struct wtl_python_reading *a,
		      const struct wtl_python_reading *b, int64_t t_ns)
{
	return is_trusted(a) == is_trusted(b)
		       ? distance_ns(around, a, t_ns) <= distance_ns(around, b, t_ns)
		       : is_trusted(a);
}

/* Whether the sample shows its stack by itself. */
static bool is_shown(struct merge *merge)
{
	struct wtl_python *python = merge->python;

	if (!merge->is_whole ||
	    !wtl_python_shown_find(&merge->process->shown, &merge->sample, python->named))
		return false;
	merge->shown =
		(struct wtl_python_reading){.n = merge->sample.n_loops, .frames = python->named};
	merge->reading = &merge->shown;
	merge->innermost = 0;
	python->is_unsure = false;
	return true;
}

/*
 * Chooses the reading that the sample is of: the one taken for it, if it fits; else what the sample shows; else another
 * that fits, at best one whose callers were the same before and after. Returns how many different stacks fit; 1 for
 * such a best one.
 */
static size_t choose_fitting(struct merge *merge, const struct wtl_python_seen *seen,
			     const struct around *around)
{
	size_t n = 0, innermost;

	merge->reading = around->own;
	if (around->own && fits(merge, around->own, &merge->innermost)) {
		learn_habits(merge);
		return 1;
	}
	if (merge->need == NEEDS_BOTH && is_shown(merge))
		return 1;
	merge->reading = NULL;
	for (size_t i = 0; i < seen->n; i++) {
		const struct wtl_python_reading *reading = &seen->readings[i];
		bool is_lasting;

		if (reading == around->own || merge->sample.event->t_ns > reading->gone_ns ||
		    !fits(merge, reading, &innermost))
			continue;
		is_lasting = lasts(around, reading, innermost);
		n += !merge->reading ||
		     reading->n - innermost != merge->reading->n - merge->innermost ||
		     !begins_with(reading, merge->reading, merge->innermost);
		if (merge->reading && !is_lasting &&
		    is_better(around, merge->reading, reading, merge->sample.event->t_ns))
			continue;
		merge->reading = reading;
		merge->innermost = innermost;
		if (is_lasting)
			return 1;
	}
	return n;
}

/* Whether the chosen reading is the sample's own, or its callers were there before and after. */
static bool is_sure(const struct merge *merge, const struct around *around)
{
	return merge->reading == around->own || lasts(around, merge->reading, merge->innermost);
}

/*
 * Returns whether the sample's stack is known. If no reading fits, its own shows what ran soon after it; without one,
 * the last reading, if not old, is a guess.
 */
static bool choose_reading(struct merge *merge, const struct wtl_python_seen *seen)
{
	int64_t t_ns = merge->sample.event->t_ns;
	struct around around = look_around(seen, t_ns);
	size_t n;

	note_words(merge);
	merge->is_guess = false;
	merge->python->is_unsure = !around.own;
	for (merge->need = NEEDS_BOTH; merge->need <= NEEDS_NONE; merge->need++) {
		n = choose_fitting(merge, seen, &around);
		if (n > 0 && (merge->need != NEEDS_FRAME || is_sure(merge, &around)))
			return n == 1;
	}
	merge->need = NEEDS_NONE;
	merge->innermost = 0;
	merge->is_guess = !around.own;
	merge->reading = around.own;
	if (!around.own && around.before && (is_trusted(around.before) || seen->n == 1) &&
	    t_ns - around.before_ns < LAST_NS && t_ns <= around.before->gone_ns)
		merge->reading = around.before;
	merge->is_doubtful =
		merge->is_guess || wtl_python_loop_is_seen(&merge->sample, merge->sample.loops[0]);
	merge->python->n_moved += merge->is_doubtful && around.own && merge->is_counted;
	return false;
}

static void note_merged(struct merge *merge, bool is_known)
{
	if (wtl_python_when_merged(&merge->python->when, is_known, merge->sample.event->t_ns))
		wtl_python_forget(merge->python);
}

/* ---- Putting ---- */

/* Puts "unresolved" for a loop whose function was not read; only once per stack. */
static void put_unresolved(struct merge *merge)
{
	if (!merge->is_unresolved)
		put(merge, merge->python->unresolved);
	merge->python->n_missing += !merge->is_unresolved && merge->is_counted;
	merge->is_unresolved = true;
}

/* The innermost frame of the next loop's group, which ends at merge->left. */
static size_t end_of_group(const struct merge *merge)
{
	size_t end = merge->left;

	while (end > 0 && (end == merge->left || !merge->reading->frames[end - 1].is_entry))
		end--;
	return end;
}

/* Puts the next loop's group. Returns whether it had any frames. */
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

/* Whether the loop at that place runs none of the next frames. */
static bool is_another(const struct merge *merge, size_t place)
{
	struct wtl_python_loop loop;

	if (!merge->is_doubtful ||
	    (!merge->is_guess && !wtl_python_loop_is_seen(&merge->sample, place)))
		return false;
	loop = wtl_python_loop_see(&merge->sample, place);
	for (size_t i = end_of_group(merge); i < merge->left; i++)
		if (runs(&loop, &merge->reading->frames[i]))
			return false;
	return true;
}

/* A guess is used only as far as its loops match. */
static void put_loop(struct merge *merge, size_t place)
{
	merge->is_lost = merge->is_lost || is_another(merge, place);
	if (merge->is_lost && merge->is_guess)
		merge->left = 0;
	if (!put_group(merge) && (!merge->reading || merge->is_guess || merge->innermost > 0))
		put_unresolved(merge);
}

/* From the outermost place inward. Native places after a loop that does not match are an unknown function's:
 * dropped. */
static void put_places(struct merge *merge)
{
	size_t next = merge->sample.n_loops; /* loops that are not put yet */

	for (size_t i = merge->sample.n; i > 0; i--) {
		const struct wtl_module *module = merge->sample.places[i - 1].module;
		bool has_loop = next < merge->sample.n_loops;

		if (merge->kinds[i - 1] == PLACE_LOOP) {
			put_loop(merge, i - 1);
			next--;
			continue;
		}
		if (!merge->is_guess && next > 0)
			merge->is_lost =
				merge->is_lost || is_another(merge, merge->sample.loops[next - 1]);
		if (merge->kinds[i - 1] == PLACE_CALLING || (merge->is_lost && !merge->is_guess))
			continue;
		if (has_loop || !module || !is_beginning(merge->process, module))
			put_place(merge, &merge->sample.places[i - 1]);
	}
}

static size_t count_groups(const struct wtl_python_reading *reading)
{
	size_t n = 0;

	for (size_t i = 0; i < reading->n; i++)
		n += reading->frames[i].is_entry || i + 1 == reading->n;
	return n;
}

/*
 * Native code has more on the stack than is copied (as numpy and OpenBLAS do), so no loop is seen. The callers that are
 * the same before and after the sample are put; of others nothing is known.
 */
static void choose_callers(struct merge *merge, const struct wtl_python_seen *seen)
{
	struct around around = look_around(seen, merge->sample.event->t_ns);

	if (around.before && merge->sample.event->t_ns > around.before->gone_ns)
		around.before = NULL;
	note_merged(merge, around.own || (around.before && around.before == around.after));
	merge->reading = around.own;
	if (!around.own && around.before) {
		merge->reading = around.before;
		merge->innermost = !around.after; /* it may have gone on */
		while (around.after && merge->innermost < around.before->n &&
		       !begins_with(around.after, around.before, merge->innermost))
			merge->innermost++;
	}
	merge->is_guess = !merge->reading;
}

static void choose(struct merge *merge, const struct wtl_python_seen *seen)
{
	if (merge->sample.event->sample.is_asleep) {
		/* It was read in the same sleep; too few registers are known to compare them. */
		merge->reading = look_around(seen, merge->sample.event->t_ns).own;
		merge->is_guess = !merge->reading;
	} else if (merge->sample.n_loops > 0) {
		note_merged(merge, choose_reading(merge, seen));
	} else if (!merge->is_whole && (seen->n > 0 || merge->python->when.n_hasten > 0)) {
		choose_callers(merge, seen);
	}
}

/* Puts the groups whose loops were not seen. */
static void put_callers(struct merge *merge, size_t n_groups)
{
	for (size_t i = merge->sample.n_loops; i < n_groups; i++)
		put_group(merge);
	if (merge->sample.n_loops == 0 && merge->innermost > 0)
		put_unresolved(merge);
}

/* false: a thread of native code, or one that starts or ends. */
static bool merge_loops(struct merge *merge)
{
	struct wtl_python_seen *seen = wtl_python_seen_of(merge->process, merge->sample.event->tid);
	size_t n_groups = 0;

	merge->is_guess = true;
	if (seen)
		choose(merge, seen);
	if (merge->sample.n_loops == 0 && !merge->reading)
		return false;
	merge->python->n_merged += merge->is_counted;
	if (merge->reading) {
		merge->left = merge->reading->n;
		n_groups = count_groups(merge->reading);
	}
	/* Loops and groups are matched from the outermost on; if the stack's start was not seen, from the innermost. */
	if (!merge->is_whole)
		put_callers(merge, n_groups);
	put_places(merge);
	while (merge->left > 0 && !merge->is_guess)
		put_group(merge);
	return true;
}

int64_t wtl_python_merge(struct wtl_python *python, struct wtl_python_process *process,
			 const struct wtl_ring_event *sample,
			 const struct wtl_unwind_place places[], size_t n, bool is_whole)
{
	uint8_t *kinds = python->kinds;
	size_t *loops = python->loops;
	struct merge merge = {.python = python,
			      .process = process,
			      .sample = {.event = sample,
					 .places = places,
					 .n = n < WTL_PYTHON_PLACES ? n : (size_t)WTL_PYTHON_PLACES,
					 .loops = loops},
			      .kinds = kinds,
			      .is_counted = !sample->sample.is_turn,
			      .is_whole = is_whole};

	for (size_t i = 0; i < merge.sample.n; i++) {
		kinds[i] = (uint8_t)kind_of(python, process, &places[i]);
		if (kinds[i] == PLACE_LOOP)
			loops[merge.sample.n_loops++] = i;
	}
	if (!merge_loops(&merge))
		for (size_t i = merge.sample.n; i > 0; i--)
			put_place(&merge, &places[i - 1]);
	return merge.node;
}

int64_t wtl_python_looked(struct wtl_python *python, struct wtl_python_process *process, int tid,
			  int64_t t_ns)
{
	const struct wtl_python_seen *seen = wtl_python_seen_of(process, tid);
	const struct wtl_python_reading *reading = seen ? look_around(seen, t_ns).own : NULL;
	int64_t node = 0;

	if (!seen || seen->n == 0)
		return 0;
	python->n_merged++;
	python->n_missing += !reading;
	if (!reading)
		return wtl_tree_child(python->tree, 0, python->unresolved);
	for (size_t i = reading->n; i > 0 && node >= 0; i--)
		if (!reading->frames[i - 1].is_nobody)
			node = wtl_tree_child(python->tree, (uint32_t)node,
					      reading->frames[i - 1].frame);
	return node;
}
