/* SPDX-License-Identifier: MIT */
#include "profile/file.h"
#include "profile/trace.h"

#include <errno.h>
#include <stdio.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/text.h"
#include "base/thread.h"

enum { CPUS_MAX = 1 << 16, NODES_MOST = 1 << 18 };

/* A thread seen on a processor so shortly before the end is taken to be there still. */
#define LATELY_NS INT64_C(100000000)
/* After a lost record, a thread seen again within that time is taken not to have left: at most that much is wrong. */
#define NEAR_NS INT64_C(5000000)
/* A thread that is off for so long is looked at in its sleep, some at a time. CPython's wait 5 ms for the GIL. */
#define ASLEEP_NS INT64_C(3000000)
enum { ASLEEP_LOOKS = 64 };
/* For so long it is looked at again where Python, or its thread, is not found yet. */
#define BEHIND_NS INT64_C(500000000)
/* Without samples of turns, so many are looked at earlier: of threads that rest briefly, but often. */
enum { EARLY_LOOKS = 4 };
/* Both records of one birth come within that time, even if a virtual processor pauses between them; the kernel
 * reuses no TID so soon. */
#define TWICE_NS INT64_C(10000000)

int wtl_trace_init(struct wtl_trace *trace, struct wtl_err *err)
{
	const struct wtl_frame unresolved = {.kind = WTL_FRAME_NAMED};
	struct wtl_frame rest = {.kind = WTL_FRAME_NAMED};
	int64_t number;
	int rc;

	wtl_trace_clear(trace);
	rc = wtl_modules_init(&trace->modules, err);
	if (rc < 0)
		return rc;
	wtl_spaces_init(&trace->spaces, &trace->modules);
	wtl_unwinder_init(&trace->unwinder, &trace->modules);
	if (wtl_tree_init(&trace->tree) < 0 ||
	    wtl_tree_name(&trace->tree, WTL_TRACE_UNRESOLVED) < 0 ||
	    wtl_tree_frame(&trace->tree, &unresolved) < 0 ||
	    (number = wtl_tree_name(&trace->tree, WTL_TRACE_REST)) < 0)
		return wtl_err_set(err, ENOMEM, "profile", NULL, "out of memory");
	rest.name = (uint32_t)number;
	number = wtl_tree_frame(&trace->tree, &rest);
	trace->tree.rest = (uint32_t)number;
	trace->tree.nodes_most = NODES_MOST;
	if (number < 0 || wtl_python_init(&trace->python, &trace->modules, &trace->tree) < 0 ||
	    wtl_tails_init(&trace->tails) < 0 ||
	    !(trace->places = calloc(WTL_TRACE_DEPTH, sizeof(*trace->places))))
		return wtl_err_set(err, ENOMEM, "profile", NULL, "out of memory");
	return 0;
}

void wtl_trace_done(struct wtl_trace *trace)
{
	free(trace->threads);
	free(trace->slices);
	free(trace->samples);
	free(trace->on_cpus);
	free(trace->waits_ns);
	free(trace->places);
	wtl_hash_done(&trace->by_tid);
	wtl_python_done(&trace->python);
	wtl_tails_done(&trace->tails);
	wtl_asleep_done(&trace->asleep);
	wtl_lines_done(&trace->lines);
	wtl_tree_done(&trace->tree);
	wtl_unwinder_done(&trace->unwinder);
	wtl_spaces_done(&trace->spaces);
	wtl_modules_done(&trace->modules);
}

/* ---- Threads ---- */

static bool has_tid(const void *context, uint32_t value, const void *key)
{
	const struct wtl_trace *trace = context;
	const int *tid = key;

	return trace->threads[value].tid == *tid;
}

/* The place of the last thread that had the number; NULL: none did. */
static uint32_t *place_of(const struct wtl_trace *trace, int tid)
{
	return wtl_hash_find(&trace->by_tid, wtl_hash_number((uint32_t)tid), has_tid, trace, &tid);
}

static int64_t add_thread(struct wtl_trace *trace, int pid, int tid)
{
	struct wtl_space *space;
	uint32_t *found;

	if (wtl_array_reserve(&trace->threads, &trace->room_threads, trace->n_threads + 1,
			      sizeof(*trace->threads)) < 0 ||
	    wtl_hash_reserve(&trace->by_tid, trace->n_threads + 1) < 0) {
		trace->is_full = true;
		return -ENOMEM;
	}
	found = place_of(trace, tid);
	space = wtl_spaces_find(&trace->spaces, pid);
	if (space)
		space->n_threads++;
	trace->threads[trace->n_threads] = (struct wtl_trace_thread){.pid = pid, .tid = tid};
	if (found)
		*found = (uint32_t)trace->n_threads; /* the number is reused */
	else
		wtl_hash_add(&trace->by_tid, wtl_hash_number((uint32_t)tid),
			     (uint32_t)trace->n_threads);
	return (int64_t)trace->n_threads++;
}

static int64_t find_thread(struct wtl_trace *trace, int pid, int tid)
{
	const uint32_t *found = place_of(trace, tid);

	return found && trace->threads[*found].pid == pid ? *found : add_thread(trace, pid, tid);
}

/* With the last thread of a process, its mappings go. */
static void end_thread(struct wtl_trace *trace, size_t i)
{
	struct wtl_trace_thread *thread = &trace->threads[i];
	struct wtl_space *space;

	if (thread->has_ended)
		return;
	thread->has_ended = true;
	space = wtl_spaces_find(&trace->spaces, thread->pid);
	if (space && (space->n_threads == 0 || --space->n_threads == 0))
		wtl_spaces_remove(&trace->spaces, space);
}

size_t wtl_trace_n_hidden(const struct wtl_trace *trace)
{
	size_t n = 0;

	for (size_t i = 0; i < trace->n_threads; i++)
		n += trace->threads[i].is_hidden;
	return n;
}

/* ---- On a processor ---- */

static void place_wait(void *context, uint32_t where, int64_t wait_ns, bool is_guess)
{
	struct wtl_trace *trace = context;
	int64_t node = where ? where : wtl_tree_child(&trace->tree, 0, trace->unresolved);

	if (node < 0 || wtl_array_widen(&trace->waits_ns, &trace->n_waits, (size_t)node + 1,
					sizeof(*trace->waits_ns)) < 0)
		trace->is_full = true;
	else
		trace->waits_ns[node] += wait_ns;
	trace->guessed_ns += is_guess ? wait_ns : 0;
	trace->unplaced_ns += where ? 0 : wait_ns;
}

/* The thread was on no processor until end_ns. */
static void add_wait(struct wtl_trace *trace, struct wtl_trace_thread *thread, int64_t end_ns)
{
	int64_t wait_ns = end_ns - thread->off_ns;

	if (!trace->has_waits || !thread->off_ns || wait_ns <= 0)
		return;
	if (thread->late && end_ns >= wtl_trace_time(thread->late_ns) &&
	    thread->off_ns <= wtl_trace_time(thread->late_from_ns)) {
		wtl_waits_show(
			&thread->rests, thread->late,
			(struct wtl_waits_moment){thread->cpu_ns, thread->off_ns, thread->mark},
			place_wait, trace);
		trace->n_broken -= thread->is_mended;
		trace->n_cut -= thread->is_mended && thread->shown_end == WTL_UNWIND_CUT;
		trace->n_broken += trace->lacks_turns && thread->shown_end != WTL_UNWIND_WHOLE;
	}
	if (end_ns > wtl_trace_time(thread->late_from_ns))
		thread->late = 0; /* else it is of another wait to come */
	wtl_waits_add(thread->is_pushed ? &thread->pushed : &thread->rests,
		      (struct wtl_waits_moment){thread->cpu_ns, thread->off_ns, thread->mark},
		      wait_ns, place_wait, trace);
	thread->wait_ns += wait_ns;
}

static void leave(struct wtl_trace *trace, size_t i, int64_t t_ns)
{
	struct wtl_trace_thread *thread = &trace->threads[i];

	if (!thread->is_on)
		return;
	thread->is_on = false;
	t_ns = wtl_trace_time(t_ns);
	thread->off_ns = t_ns > thread->on_ns ? t_ns : thread->on_ns;
	if (t_ns <= thread->on_ns)
		return;
	thread->cpu_ns += t_ns - thread->on_ns;
	wtl_trace_add_slice(trace, (uint32_t)i, thread->on_ns, t_ns);
}

/*
 * The thread on a processor. Where records were lost, it may have left: then it counts until it was last seen, and the
 * time after that as unsampled.
 */
static struct wtl_trace_thread *on_cpu(const struct wtl_trace *trace, uint32_t cpu)
{
	size_t i = cpu < trace->n_on_cpus ? trace->on_cpus[cpu] : 0;
	struct wtl_trace_thread *thread = i > 0 ? &trace->threads[i - 1] : NULL;

	return thread && thread->is_on && thread->cpu == cpu ? thread : NULL;
}

/* The thread is recorded on a processor, or leaving it: did it leave before, where a record was lost? */
static void settle(struct wtl_trace *trace, size_t i, int64_t t_ns)
{
	struct wtl_trace_thread *thread = &trace->threads[i];

	if (thread->is_doubtful && t_ns - thread->seen_ns > NEAR_NS)
		leave(trace, i, thread->seen_ns);
	thread->is_doubtful = false;
}

static void go(struct wtl_trace *trace, size_t i, int64_t t_ns)
{
	settle(trace, i, t_ns);
	leave(trace, i, t_ns);
}

static void go_by_switch(struct wtl_trace *trace, size_t i, const struct wtl_ring_event *event)
{
	struct wtl_trace_thread *thread = &trace->threads[i];

	go(trace, i, event->t_ns);
	thread->since_ns = 0;
	thread->is_pushed = event->turn.is_preempted;
	if (thread->is_shown)
		wtl_waits_show(thread->is_pushed ? &thread->pushed : &thread->rests, thread->shown,
			       (struct wtl_waits_moment){thread->cpu_ns, event->t_ns, thread->mark},
			       place_wait, trace);
	else
		thread->shown = 0;
	thread->is_told =
		thread->shown > 0 && thread->shown_end == WTL_UNWIND_WHOLE && !thread->is_unsure;
	thread->is_shown = false;
	if (event->t_ns > thread->late_from_ns)
		thread->late = 0;
	/* Where threads that leave are not sampled, it is looked at while it sleeps. One that was preempted needs no look:
	 * it was sampled there. */
	if (!trace->lacks_turns || trace->python.is_looked || thread->is_pushed)
		return;
	thread->is_noted = true;
	wtl_asleep_note(&trace->asleep, (uint32_t)i, &thread->slot,
			&(struct wtl_ring_event){.pid = event->pid, .tid = event->tid});
}

static void come(struct wtl_trace *trace, size_t i, const struct wtl_ring_event *event)
{
	struct wtl_trace_thread *thread = &trace->threads[i], *other = on_cpu(trace, event->cpu);

	if (other && other != thread)
		leave(trace, (size_t)(other - trace->threads), other->seen_ns);
	if (event->kind == WTL_RING_SWITCH)
		thread->is_doubtful = thread->is_on;
	settle(trace, i, event->t_ns);
	thread->is_noted = false;
	if (!thread->is_on) {
		thread->on_ns = wtl_trace_time(event->t_ns);
		if (event->kind == WTL_RING_SWITCH && thread->since_ns)
			thread->off_ns = wtl_trace_time(thread->since_ns);
		thread->since_ns = 0;
		add_wait(trace, thread, thread->on_ns);
		thread->mark = 0;
	}
	thread->is_on = true;
	thread->cpu = event->cpu;
	thread->seen_ns = event->t_ns;
	if (event->cpu < CPUS_MAX && wtl_array_widen(&trace->on_cpus, &trace->n_on_cpus,
						     event->cpu + 1, sizeof(*trace->on_cpus)) == 0)
		trace->on_cpus[event->cpu] = (uint32_t)i + 1;
}

/* Whether /proc says that it runs. */
static bool is_running(const struct wtl_trace_thread *thread)
{
	char name[64], line[512];
	const char *behind;
	size_t n;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/stat", thread->pid, thread->tid);
	file = fopen(name, "re");
	if (!file)
		return false;
	n = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[n] = '\0';
	behind = strrchr(line, ')');
	return behind && strncmp(behind, ") R", 3) == 0;
}

/* The node below `parent` for all threads of a command name, or negative. */
static int64_t name_node(struct wtl_trace *trace, int64_t parent,
			 const struct wtl_trace_thread *thread, const char *why)
{
	struct wtl_frame frame = {.kind = WTL_FRAME_NAMED};
	int64_t number;
	char name[64];

	snprintf(name, sizeof(name), "[%s: %s]", thread->name, why);
	number = wtl_tree_name(&trace->tree, name);
	frame.name = (uint32_t)number;
	if (number >= 0)
		number = wtl_tree_frame(&trace->tree, &frame);
	return number < 0 ? number
			  : wtl_tree_child(&trace->tree, (uint32_t)parent, (uint32_t)number);
}

void wtl_trace_name_unseen(struct wtl_trace *trace)
{
	for (size_t i = 0; i < trace->n_threads; i++) {
		struct wtl_trace_thread *thread = &trace->threads[i];
		int64_t number;

		if (thread->n_samples > 0 || thread->cpu_ns == 0)
			continue;
		number = name_node(trace, 0, thread, WTL_TRACE_SHORT);
		if (number < 0)
			trace->is_full = true;
		else
			thread->node = (uint32_t)number;
	}
}

void wtl_trace_cut(struct wtl_trace *trace)
{
	for (size_t i = 0; i < trace->n_threads; i++) {
		struct wtl_trace_thread *thread = &trace->threads[i];
		int64_t seen_ns = wtl_trace_time(thread->seen_ns);

		if (!thread->is_on || thread->is_doubtful || seen_ns <= thread->on_ns)
			continue;
		thread->cpu_ns += seen_ns - thread->on_ns;
		wtl_trace_add_slice(trace, (uint32_t)i, thread->on_ns, seen_ns);
		thread->on_ns = seen_ns;
	}
}

void wtl_trace_end(struct wtl_trace *trace, int64_t now_ns)
{
	for (size_t i = 0; i < trace->n_threads; i++) {
		struct wtl_trace_thread *thread = &trace->threads[i];
		bool is_known = !thread->is_doubtful &&
				(now_ns - thread->seen_ns < LATELY_NS || is_running(thread));

		leave(trace, i, is_known ? now_ns : thread->seen_ns);
		/* It slept all the time. */
		if (thread->since_ns && !thread->has_ended && !is_running(thread))
			thread->off_ns = wtl_trace_time(thread->since_ns);
		if (!thread->has_ended)
			add_wait(trace, thread, wtl_trace_time(now_ns));
		wtl_waits_end(&thread->rests, place_wait, trace);
		wtl_waits_end(&thread->pushed, place_wait, trace);
	}
	wtl_trace_name_unseen(trace);
}

/* ---- Samples ---- */

static int64_t node_of(struct wtl_trace *trace, const struct wtl_unwind_place places[], size_t n)
{
	int64_t node = 0;

	for (size_t i = n; i > 0 && node >= 0; i--) {
		int64_t number = wtl_tree_place(&trace->tree, &places[i - 1]);

		node = number < 0 ? number
				  : wtl_tree_child(&trace->tree, (uint32_t)node, (uint32_t)number);
	}
	return node;
}

/*
 * With permission there are samples of threads that leave, each followed by the record of that switch. A preempted
 * thread leaves from where it runs, so samples of what runs show that as well; without the others, they show all waits.
 */
static void show_place(struct wtl_trace *trace, struct wtl_trace_thread *thread, uint32_t node,
		       const struct wtl_ring_event *sample)
{
	struct wtl_waits_moment now = {thread->cpu_ns, sample->t_ns, 0};

	if (!trace->has_waits)
		return;
	if (sample->sample.is_turn) {
		thread->is_shown = true;
		thread->shown = node;
		return;
	}
	if (thread->is_on)
		now.cpu_ns += wtl_trace_time(sample->t_ns) - thread->on_ns;
	wtl_waits_show(&thread->pushed, node, now, place_wait, trace);
	if (trace->n_turns == 0)
		wtl_waits_show(&thread->rests, node, now, place_wait, trace);
}

/* A sample from /proc, without a stack: only Python functions are known; native code is named by its thread. */
static void take_look(struct wtl_trace *trace, size_t thread, const struct wtl_ring_event *event)
{
	struct wtl_python_process *python = wtl_python_find(&trace->python, event->pid);
	int64_t node =
		python ? wtl_python_looked(&trace->python, python, event->tid, event->t_ns) : 0;

	if (node == 0)
		node = name_node(trace, 0, &trace->threads[thread], "native code");
	show_place(trace, &trace->threads[thread], node < 0 ? 0 : (uint32_t)node, event);
	trace->seen_node = node < 0 ? 0 : (uint32_t)node;
	if (node < 0)
		trace->is_full = true;
	else
		wtl_trace_add_sample(trace, (uint32_t)thread, (uint32_t)node, event->t_ns);
}

/* Unwinds the copied stack; if it is cut, also with its tail, if that leads to where the program began. */
static size_t unwind(struct wtl_trace *trace, struct wtl_trace_thread *thread,
		     const struct wtl_ring_event **sample, struct wtl_unwind_place places[],
		     enum wtl_unwind_end *ret_end)
{
	const struct wtl_space *space = wtl_spaces_find(&trace->spaces, (*sample)->pid);
	const struct wtl_ring_event *joined;
	enum wtl_unwind_end end;
	size_t n;

	*ret_end = WTL_UNWIND_LOST;
	if (!space)
		return 0;
	n = wtl_unwind(&trace->unwinder, space, *sample, places, WTL_TRACE_DEPTH, ret_end);
	if (*ret_end != WTL_UNWIND_CUT)
		return n;
	joined = wtl_tails_join(&trace->tails, &thread->tail, *sample);
	if (!joined)
		return n;
	n = wtl_unwind(&trace->unwinder, space, joined, places, WTL_TRACE_DEPTH, &end);
	wtl_tails_learn(&trace->tails, &thread->tail, end, &places[n - 1], trace->unwinder.cut_at);
	if (end != WTL_UNWIND_WHOLE)
		return wtl_unwind(&trace->unwinder, space, *sample, places, WTL_TRACE_DEPTH,
				  ret_end);
	trace->n_joined += !(*sample)->sample.is_turn;
	*sample = joined;
	*ret_end = end;
	return n;
}

/* The node of a sample without a place, or negative. */
static int64_t unresolved_node(struct wtl_trace *trace, size_t thread,
			       const struct wtl_ring_event *event)
{
	int64_t node = wtl_tree_child(&trace->tree, 0, trace->unresolved);

	return node >= 0 && event->sample.is_narrow
		       ? name_node(trace, node, &trace->threads[thread], "32-bit code")
		       : node;
}

/* The node of a sample. *ret_n: of how many places it is. */
static int64_t locate(struct wtl_trace *trace, size_t thread, const struct wtl_ring_event *event,
		      size_t *ret_n, enum wtl_unwind_end *ret_end)
{
	const struct wtl_ring_event *sample = event;
	size_t n = unwind(trace, &trace->threads[thread], &sample, trace->places, ret_end);
	struct wtl_python_process *python = wtl_python_find(&trace->python, event->pid);
	int64_t node;

	*ret_n = n;
	trace->python.is_unsure = false;
	if (python && event->sample.is_turn)
		wtl_python_catch_up(&trace->python, python, event->tid, event->t_ns,
				    wtl_thread_clock_ns(), event->sample.is_asleep);
	if (n == 0)
		return unresolved_node(trace, thread, event);
	node = python ? wtl_python_merge(&trace->python, python, sample, trace->places, n,
					 *ret_end == WTL_UNWIND_WHOLE)
		      : node_of(trace, trace->places, n);
	return node < 0 ? node : wtl_tree_end(&trace->tree, (uint32_t)node);
}

/* Whether the thread left its processor to wait, and its stack was not shown as a whole. */
static bool is_unknown(const struct wtl_trace_thread *thread)
{
	return !thread->is_told && !thread->is_pushed && !thread->has_ended;
}

/* Whether it is to be looked at again: its Python functions are not known yet. */
static bool look_at(struct wtl_trace *trace, size_t number, struct wtl_ring_event *left)
{
	struct wtl_trace_thread *thread = &trace->threads[number];
	enum wtl_unwind_end end;
	/* Registers that are known already are those with which it left, or had when it was attached to. */
	int64_t from_ns = left->t_ns > thread->off_ns ? left->t_ns : thread->off_ns, node;
	size_t n;

	if (!left->sample.has_registers)
		from_ns = wtl_thread_clock_ns();
	trace->python.is_behind = false;
	if (!wtl_asleep_read(&trace->asleep, left))
		return false;
	node = locate(trace, number, left, &n, &end);
	thread->late = node >= 0 && n > 0 ? (uint32_t)node : 0;
	thread->late_from_ns = from_ns;
	thread->late_ns = wtl_thread_clock_ns();
	thread->is_mended = thread->shown > 0 && thread->shown_end != WTL_UNWIND_WHOLE &&
			    end == WTL_UNWIND_WHOLE;
	if (trace->lacks_turns)
		thread->shown_end = end;
	return trace->python.is_behind && thread->late_ns - thread->off_ns < BEHIND_NS;
}

void wtl_trace_look_back(struct wtl_trace *trace)
{
	struct wtl_asleep *asleep = &trace->asleep;
	int64_t now_ns = wtl_thread_clock_ns();
	unsigned n = 0, n_early = 0;

	for (uint32_t i = asleep->first; i != asleep->next; i = (i + 1) % WTL_ASLEEP_SLOTS) {
		struct wtl_asleep_slot *slot = &asleep->slots[i];
		const struct wtl_trace_thread *thread = &trace->threads[slot->thread];
		bool is_early = now_ns - thread->off_ns < ASLEEP_NS;

		/* If it is still on one, that it leaves is not taken yet. */
		if (!thread->is_noted || (!thread->is_on && !is_unknown(thread)))
			slot->is_waiting = false;
		if (slot->is_waiting && !thread->is_on && n < ASLEEP_LOOKS &&
		    (!is_early || (trace->lacks_turns && n_early < EARLY_LOOKS))) {
			n_early += is_early;
			slot->is_waiting = look_at(trace, slot->thread, &slot->left);
			n++;
		}
		if (i == asleep->first && !slot->is_waiting)
			asleep->first = (i + 1) % WTL_ASLEEP_SLOTS;
	}
}

/* Keeps where a thread leaves its processor, as far as registers tell that. */
static void note_turn(struct wtl_trace_thread *thread, const struct wtl_ring_event *event)
{
	const uint64_t *registers = event->sample.registers;

	if (!event->sample.is_turn || !event->sample.has_registers)
		return;
	thread->mark = wtl_hash_more(
		wtl_hash_more(WTL_HASH_START, &registers[WTL_UNWIND_PC], sizeof(*registers)),
		&registers[WTL_UNWIND_SP], sizeof(*registers));
}

static void count_end(struct wtl_trace *trace, enum wtl_unwind_end end, bool is_turn)
{
	trace->n_broken += end != WTL_UNWIND_WHOLE;
	trace->n_broken_ran += end != WTL_UNWIND_WHOLE && !is_turn;
	trace->n_cut += end == WTL_UNWIND_CUT;
}

static void take_sample(struct wtl_trace *trace, size_t thread, const struct wtl_ring_event *event)
{
	enum wtl_unwind_end end;
	bool is_known;
	int64_t node;
	size_t n;

	if (event->sample.is_look) {
		take_look(trace, thread, event);
		return;
	}
	if (event->sample.is_bare && !event->sample.is_narrow) {
		/* What was attached to may have run since. */
		if (event->is_seed && !trace->threads[thread].since_ns)
			return;
		note_turn(&trace->threads[thread], event);
		trace->threads[thread].is_noted = event->sample.has_registers;
		wtl_asleep_note(&trace->asleep, (uint32_t)thread, &trace->threads[thread].slot,
				event);
		return;
	}
	note_turn(&trace->threads[thread], event);
	node = locate(trace, thread, event, &n, &end);
	/* Of 32-bit code at least the command is known. */
	is_known = node >= 0 && (n > 0 || event->sample.is_narrow);
	show_place(trace, &trace->threads[thread], is_known ? (uint32_t)node : 0, event);
	if (n > 0)
		count_end(trace, end, event->sample.is_turn);
	trace->n_turns += event->sample.is_turn;
	if (event->sample.is_turn) {
		trace->threads[thread].shown_end = end;
		trace->threads[thread].is_unsure = trace->python.is_unsure;
		return;
	}
	come(trace, thread, event);
	trace->n_unresolved += n == 0;
	trace->seen_node = node < 0 ? 0 : (uint32_t)node;
	if (node < 0)
		trace->is_full = true;
	else
		wtl_trace_add_sample(trace, (uint32_t)thread, (uint32_t)node, event->t_ns);
}

static void take_map(struct wtl_trace *trace, const struct wtl_ring_event *event)
{
	struct wtl_space *space = wtl_spaces_find(&trace->spaces, event->pid);
	/* Memory of no file is a module of its process alone. */
	uint64_t inode =
		wtl_file_is_memory(event->map.path) ? (uint64_t)event->pid : event->map.inode;
	struct wtl_module *module = wtl_modules_find(&trace->modules, event->pid, event->map.path,
						     event->map.device, inode);

	if (!space || !module ||
	    wtl_space_map(space, event->map.start, event->map.length, event->map.offset, module) <
		    0)
		trace->is_full = true;
	else
		wtl_python_mapped(&trace->python, space, event->map.start, event->map.offset,
				  module);
}

/* A birth may be recorded twice. */
static int64_t add_born(struct wtl_trace *trace, const struct wtl_ring_event *event)
{
	const uint32_t *found = place_of(trace, event->tid);
	const struct wtl_trace_thread *thread = found ? &trace->threads[*found] : NULL;
	bool is_known = thread && thread->pid == event->pid && thread->born_ns &&
			event->t_ns - thread->born_ns < TWICE_NS;
	int64_t number = is_known ? *found : add_thread(trace, event->pid, event->tid);

	if (number >= 0)
		trace->threads[number].born_ns = event->t_ns;
	return number;
}

static void take_birth(struct wtl_trace *trace, const struct wtl_ring_event *event)
{
	struct wtl_space *space, *parent;
	int64_t thread = add_born(trace, event);
	int64_t from = find_thread(trace, event->born.parent_pid, event->born.parent_tid);

	if (thread < 0 || from < 0)
		return;
	memcpy(trace->threads[thread].name, trace->threads[from].name,
	       sizeof(trace->threads[thread].name));
	if (event->pid == event->born.parent_pid)
		return;
	space = wtl_spaces_find(&trace->spaces, event->pid);
	parent = wtl_spaces_find(&trace->spaces, event->born.parent_pid);
	wtl_python_ended(&trace->python, event->pid);
	wtl_python_forked(&trace->python, event->pid, event->born.parent_pid);
	if (!space || !parent || wtl_space_copy(space, parent) < 0)
		trace->is_full = true;
}

/* A program's start ends the process's other threads. Where another than the first thread called exec(), it takes the
 * number of the first one, which ended; of its own number no end is recorded. Returns the thread of the new program. */
static size_t end_others(struct wtl_trace *trace, size_t number, const struct wtl_ring_event *event)
{
	struct wtl_space *space = wtl_spaces_find(&trace->spaces, event->pid);
	bool has_ended = trace->threads[number].has_ended;
	int64_t added = has_ended ? add_thread(trace, event->pid, event->tid) : -ENOENT;

	if (added >= 0)
		number = (size_t)added;
	for (size_t i = 0; space && space->n_threads > 1 && i < trace->n_threads; i++) {
		if (i == number || trace->threads[i].pid != event->pid)
			continue;
		go(trace, i, event->t_ns);
		end_thread(trace, i);
	}
	return number;
}

static void take_name(struct wtl_trace *trace, size_t number, const struct wtl_ring_event *event)
{
	struct wtl_trace_thread *thread;
	struct wtl_space *space;

	if (event->name.is_exec)
		number = end_others(trace, number, event);
	thread = &trace->threads[number];

	wtl_text_clean(thread->name, sizeof(thread->name), event->name.name,
		       strnlen(event->name.name, 16));
	if (event->is_seed && !thread->seen_ns && !thread->off_ns && !thread->since_ns)
		thread->since_ns = event->t_ns;
	if (!event->name.is_exec)
		return;
	thread->is_new = true;
	space = wtl_spaces_find(&trace->spaces, event->pid);
	if (space)
		wtl_space_clear(space);
	wtl_python_ended(&trace->python, event->pid);
	/* Recording begins with the exec(): its caller is on a processor. */
	come(trace, number, event);
}

static void take_end(struct wtl_trace *trace, size_t number, const struct wtl_ring_event *event)
{
	go(trace, number, event->t_ns);
	/* Without the kernel's records it did not come back to end. */
	if (trace->python.is_looked)
		add_wait(trace, &trace->threads[number], wtl_trace_time(event->t_ns));
	if (event->pid == event->tid)
		wtl_python_ended(&trace->python, event->pid);
	end_thread(trace, number);
}

/* A program that ends as soon as it has begun did not: it is hidden from here on. */
static void note_hidden(const struct wtl_trace *trace, struct wtl_trace_thread *thread,
			enum wtl_ring_kind kind)
{
	if (kind == WTL_RING_ENDED)
		thread->is_hidden = thread->is_new && trace->n_lost == 0;
	else if (kind != WTL_RING_NAME)
		thread->is_new = false;
}

void wtl_trace_take(void *context, const struct wtl_ring_event *event)
{
	struct wtl_trace *trace = context;
	struct wtl_trace_thread *on;
	int64_t thread;

	if (event->kind == WTL_RING_LOST) {
		trace->n_lost += event->n_lost;
		on = on_cpu(trace, event->cpu);
		if (on)
			on->is_doubtful = true;
		return;
	}
	if (event->kind == WTL_RING_BORN) {
		take_birth(trace, event);
		return;
	}
	thread = event->tid > 0 ? find_thread(trace, event->pid, event->tid) : -ESRCH;
	if (thread < 0)
		return;
	note_hidden(trace, &trace->threads[thread], event->kind);
	switch (event->kind) {
	case WTL_RING_SAMPLE:
		take_sample(trace, (size_t)thread, event);
		break;
	case WTL_RING_SWITCH:
		if (event->turn.is_out)
			go_by_switch(trace, (size_t)thread, event);
		else
			come(trace, (size_t)thread, event);
		break;
	case WTL_RING_MAP:
		take_map(trace, event);
		break;
	case WTL_RING_NAME:
		take_name(trace, (size_t)thread, event);
		break;
	case WTL_RING_ENDED:
		take_end(trace, (size_t)thread, event);
		break;
	case WTL_RING_BORN:
	case WTL_RING_LOST:
		break;
	}
}

void wtl_trace_glance(void *context, const struct wtl_ring_glance *glance)
{
	struct wtl_trace *trace = context;
	const uint32_t *found = place_of(trace, glance->tid);
	int64_t now_ns;

	if (found)
		wtl_tails_glance(&trace->tails, &trace->threads[*found].tail, glance,
				 wtl_thread_clock_ns());
	now_ns = wtl_thread_clock_ns();
	/* It cannot run while the caller is in its place. Elsewhere it may go on at any time. */
	wtl_python_glance(&trace->python, glance->pid, glance->tid, glance->t_ns,
			  glance->is_off ? glance->turned_ns : now_ns, now_ns,
			  !glance->is_off || sched_getcpu() != glance->cpu);
}
