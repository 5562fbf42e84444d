/* SPDX-License-Identifier: MIT */
#include "profile/python.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/tree.h"

/* A sample that is older is not read: its thread is elsewhere by now. */
#define FRESH_NS   INT64_C(3000000)
#define PREPARE_NS INT64_C(10000000)
/* When readings are shared (python_when.h), a thread is not read again within this time. */
#define LAZY_NS INT64_C(3000000)
/* A thread that did not move in so many readings keeps still for long enough to be read. */
enum { STILL_READINGS = 8 };

int wtl_python_init(struct wtl_python *python, struct wtl_modules *modules, struct wtl_tree *tree)
{
	int64_t name = wtl_tree_name(tree, WTL_PYTHON_UNRESOLVED), number;
	struct wtl_frame frame = {.kind = WTL_FRAME_NAMED, .name = (uint32_t)name};

	*python = (struct wtl_python){
		.memory = wtl_python_memory_real, .modules = modules, .tree = tree};
	wtl_python_when_init(&python->when);
	number = name < 0 ? name : wtl_tree_frame(tree, &frame);
	python->unresolved = (uint32_t)number;
	python->stack = calloc(1, sizeof(*python->stack));
	python->named = calloc(WTL_PYTHON_DEPTH, sizeof(*python->named));
	python->kinds = calloc(WTL_PYTHON_PLACES, sizeof(*python->kinds));
	python->loops = calloc(WTL_PYTHON_PLACES, sizeof(*python->loops));
	return number < 0 || !python->stack || !python->named || !python->kinds || !python->loops
		       ? -ENOMEM
		       : 0;
}

static void free_process(struct wtl_python_process *process)
{
	for (size_t i = 0; i < process->n_seen; i++) {
		for (size_t k = 0; k < process->seen[i].n; k++)
			free(process->seen[i].readings[k].frames);
		free(process->seen[i].readings);
	}
	free(process->seen);
	wtl_python_codes_done(&process->codes);
	wtl_python_target_done(&process->target);
	wtl_python_shown_done(&process->shown);
	free(process);
}

void wtl_python_done(struct wtl_python *python)
{
	for (size_t i = 0; i < python->n; i++)
		free_process(python->list[i]);
	free(python->list);
	free(python->named);
	free(python->kinds);
	free(python->loops);
	free(python->by_row);
	free(python->stack);
}

/* ---- Processes ---- */

unsigned wtl_python_awaits(const struct wtl_python *python)
{
	for (size_t i = 0; i < python->n; i++)
		if (!python->list[i]->is_unknown)
			return wtl_python_when_awaits(&python->when);
	return UINT_MAX;
}

struct wtl_python_process *wtl_python_find(const struct wtl_python *python, int pid)
{
	for (size_t i = 0; i < python->n; i++)
		if (python->list[i]->pid == pid)
			return python->list[i];
	return NULL;
}

static void add_process(struct wtl_python *python, int pid, struct wtl_module *module,
			uint64_t runtime)
{
	struct wtl_python_process *process;

	if (wtl_array_reserve(&python->list, &python->room, python->n + 1, sizeof(*python->list)) <
	    0)
		return;
	process = calloc(1, sizeof(*process));
	if (!process)
		return;
	process->pid = pid;
	process->module = module;
	process->target.pid = pid;
	process->target.runtime = runtime;
	process->instruction.usual = process->frame.usual = -1;
	python->list[python->n++] = process;
}

void wtl_python_mapped(struct wtl_python *python, const struct wtl_space *space, uint64_t start,
		       uint64_t offset, struct wtl_module *module)
{
	uint64_t address;

	if (wtl_python_find(python, space->pid) ||
	    !wtl_module_python(python->modules, module)->runtime ||
	    !wtl_module_address(module, offset, &address))
		return;
	add_process(python, space->pid, module, start - address + module->python.runtime);
}

void wtl_python_forked(struct wtl_python *python, int pid, int parent_pid)
{
	const struct wtl_python_process *parent = wtl_python_find(python, parent_pid);

	if (parent && !wtl_python_find(python, pid))
		add_process(python, pid, parent->module, parent->target.runtime);
}

void wtl_python_ended(struct wtl_python *python, int pid)
{
	for (size_t i = 0; i < python->n; i++) {
		if (python->list[i]->pid != pid)
			continue;
		free_process(python->list[i]);
		python->list[i] = python->list[--python->n];
		return;
	}
}

/* Finds the layout. 0; -EAGAIN: it cannot be read yet; or negative: unknown, or may not be read. */
static int read_layout(const struct wtl_python *python, struct wtl_python_process *process)
{
	const struct wtl_module_python *module = &process->module->python;
	struct wtl_python_target *target = &process->target;
	uint8_t bytes[WTL_PYTHON_OFFSETS_SIZE];
	const struct wtl_python_layout *known;
	uint32_t version = 0;
	unsigned minor = module->minor;
	int rc = wtl_python_memory_read(&python->memory, process->pid, target->runtime, bytes,
					sizeof(bytes));

	if (rc == -EPERM || rc == -ENOSYS)
		return rc;
	if (rc == 0 && wtl_python_layout_read(bytes, &target->layout))
		return 0;
	if (module->version) {
		rc = wtl_python_memory_read(&python->memory, process->pid,
					    target->runtime - module->runtime + module->version,
					    &version, sizeof(version));
		if (rc < 0)
			return -EAGAIN;
		minor = version >> 24 == 3 ? version >> 16 & 0xff : 0;
	}
	known = wtl_python_layout_find(minor);
	if (!known)
		return -ENOTSUP;
	target->layout = *known;
	return 0;
}

static bool prepare(struct wtl_python *python, struct wtl_python_process *process, int64_t now_ns)
{
	int rc;

	if (process->is_ready || process->is_unknown || now_ns < process->prepare_ns)
		return process->is_ready;
	rc = read_layout(python, process);
	process->is_ready = rc == 0;
	if (process->is_ready && !process->target.layout.frame_owner)
		wtl_python_shown_init(&process->shown);
	process->is_unknown = rc < 0 && rc != -EAGAIN;
	process->prepare_ns = now_ns + PREPARE_NS;
	python->n_unknown += process->is_unknown;
	return process->is_ready;
}

/* ---- Readings ---- */

struct wtl_python_seen *wtl_python_seen_of(struct wtl_python_process *process, int tid)
{
	struct wtl_python_seen *seen;

	for (size_t i = 0; i < process->n_seen; i++)
		if (process->seen[i].tid == tid)
			return &process->seen[i];
	if (wtl_array_reserve(&process->seen, &process->room_seen, process->n_seen + 1,
			      sizeof(*process->seen)) < 0)
		return NULL;
	seen = &process->seen[process->n_seen];
	*seen = (struct wtl_python_seen){.tid = tid};
	seen->readings = calloc(WTL_PYTHON_READINGS, sizeof(*seen->readings));
	if (!seen->readings)
		return NULL;
	process->n_seen++;
	return seen;
}

static void forget_readings(struct wtl_python_seen *seen, const struct wtl_python_when *when)
{
	for (size_t i = 0; i < seen->n; i++)
		if (seen->readings[i].since_ns > when->apart_ns &&
		    seen->readings[i].gone_ns > when->back_ns)
			seen->readings[i].gone_ns = when->back_ns;
}

/* The code object `gone` was freed: readings with it are not used for samples after now_ns. */
static void note_gone(struct wtl_python_process *process, const struct wtl_python_code *gone,
		      int64_t now_ns)
{
	wtl_python_shown_forget(&process->shown, gone->frame, gone->begin);
	for (size_t i = 0; i < process->n_seen; i++)
		for (size_t k = 0; k < process->seen[i].n; k++) {
			struct wtl_python_reading *reading = &process->seen[i].readings[k];
			size_t at = 0;

			while (at < reading->n && (reading->frames[at].frame != gone->frame ||
						   reading->frames[at].begin != gone->begin))
				at++;
			if (at < reading->n && reading->gone_ns == INT64_MAX)
				reading->gone_ns = now_ns;
		}
}

void wtl_python_forget(struct wtl_python *python)
{
	for (size_t i = 0; i < python->n; i++)
		for (size_t k = 0; k < python->list[i]->n_seen; k++)
			forget_readings(&python->list[i]->seen[k], &python->when);
}

static void name_frames(struct wtl_python *python, struct wtl_python_process *process,
			int64_t now_ns)
{
	const struct wtl_python_stack *stack = python->stack;

	process->codes.snapshot = stack->snapshot;
	wtl_python_codes_compare(&process->codes, &process->target.layout, &python->memory,
				 process->pid, stack->frames, stack->n, now_ns);
	for (size_t i = 0; i < stack->n; i++) {
		const struct wtl_python_frame *frame = &stack->frames[i];
		struct wtl_python_named *named = &python->named[i];
		const struct wtl_python_code *code = NULL;
		struct wtl_python_code gone = {0};

		if (frame->code)
			code = wtl_python_code_find(&process->codes, python->tree,
						    &process->target.layout, &python->memory,
						    process->pid, frame->code, now_ns, &gone);
		if (gone.address)
			note_gone(process, &gone, now_ns);
		memset(named, 0, sizeof(*named)); /* they are compared as bytes */
		named->frame = code ? code->frame : python->unresolved;
		named->is_entry = frame->is_entry;
		named->is_nobody = frame->code == 0;
		named->address = frame->address;
		named->begin = code ? code->begin : 0;
		named->end = code ? code->end : 0;
	}
}

static size_t oldest(const struct wtl_python_seen *seen)
{
	size_t found = 0;

	for (size_t i = 1; i < seen->n; i++)
		if (seen->readings[i].t_ns < seen->readings[found].t_ns)
			found = i;
	return found;
}

/* Keeps the named stack if it is new, replacing the oldest one if there is no room. */
static void keep(const struct wtl_python *python, struct wtl_python_seen *seen, int64_t t_ns,
		 bool may_run)
{
	const struct wtl_python_stack *stack = python->stack;
	struct wtl_python_reading *reading;
	struct wtl_python_named *frames;
	size_t size = stack->n * sizeof(*frames), at = 0;

	while (at < seen->n && (seen->readings[at].n != stack->n ||
				memcmp(seen->readings[at].frames, python->named, size) != 0))
		at++;
	if (at == seen->n) {
		frames = malloc(size);
		if (!frames)
			return;
		memcpy(frames, python->named, size);
		if (seen->n < WTL_PYTHON_READINGS)
			seen->n++;
		else
			at = oldest(seen);
		free(seen->readings[at].frames);
		seen->readings[at] = (struct wtl_python_reading){.n = stack->n, .frames = frames};
		for (size_t i = 0; i < stack->n && i < WTL_PYTHON_LEFT; i++)
			seen->readings[at].marks[i] = wtl_python_mark(frames[i].address);
	}
	reading = &seen->readings[at];
	if (reading->gone_ns != INT64_MAX)
		reading->since_ns = t_ns;
	reading->n_read++;
	reading->is_still |= !may_run || python->n_still >= STILL_READINGS;
	reading->gone_ns = INT64_MAX;
	reading->is_cut = stack->is_cut;
	reading->t_ns = t_ns;
	seen->log[seen->n_logged % WTL_PYTHON_LOG].t_ns = t_ns;
	seen->log[seen->n_logged++ % WTL_PYTHON_LOG].reading = at;
}

/* Takes the stack that was just read, as one of t_ns. */
static void take_reading(struct wtl_python *python, struct wtl_python_process *process,
			 struct wtl_python_seen *seen, int64_t t_ns, int64_t now_ns, bool may_run)
{
	seen->read_ns = now_ns;
	name_frames(python, process, now_ns);
	wtl_python_shown_read(&process->shown, python->named, python->stack->n, t_ns);
	keep(python, seen, t_ns, may_run);
}

static bool was_read(const struct wtl_python_seen *seen, int64_t t_ns)
{
	for (size_t i = 0; i < seen->n_logged && i < WTL_PYTHON_LOG; i++)
		if (seen->log[i].t_ns == t_ns)
			return true;
	return false;
}

static int read_frames(struct wtl_python *python, struct wtl_python_process *process, int tid,
		       int64_t now_ns, bool may_run)
{
	int rc = wtl_python_read(&process->target, &python->memory, tid, now_ns, may_run,
				 python->stack);

	python->n_hasty += rc == -EAGAIN;
	python->n_still = rc < 0 || python->stack->n_moves > 0 ? 0 : python->n_still + may_run;
	return rc;
}

void wtl_python_glance(struct wtl_python *python, int pid, int tid, int64_t t_ns, int64_t ran_ns,
		       int64_t now_ns, bool may_run)
{
	struct wtl_python_process *process = wtl_python_find(python, pid);
	struct wtl_python_seen *seen;
	int rc;

	if (!process || !prepare(python, process, now_ns))
		return;
	seen = wtl_python_seen_of(process, tid);
	if (!seen || (python->when.n_hasten == 0 && now_ns - seen->read_ns < LAZY_NS))
		return;
	if (python->when.n_hasten > 0 && ran_ns - t_ns > FRESH_NS) {
		python->n_late++;
		return;
	}
	rc = read_frames(python, process, tid, now_ns, may_run);
	if (wtl_python_when_read(&python->when, python->stack->n_moves, now_ns)) {
		wtl_python_forget(python);
		/* Not once more before the reader is in the thread's place. */
		seen->read_ns = now_ns;
		return;
	}
	if (rc < 0 || python->stack->n == 0 ||
	    (may_run && !python->is_looked && python->stack->n_moves >= WTL_PYTHON_MOVES))
		return;
	python->n_read++;
	take_reading(python, process, seen, ran_ns - t_ns > FRESH_NS ? now_ns : t_ns, now_ns,
		     may_run);
}

void wtl_python_catch_up(struct wtl_python *python, struct wtl_python_process *process, int tid,
			 int64_t t_ns, int64_t now_ns, bool is_asleep)
{
	struct wtl_python_seen *seen = wtl_python_seen_of(process, tid);

	python->is_behind = false;
	if (!seen || (!is_asleep && (now_ns - seen->read_ns < LAZY_NS || was_read(seen, t_ns))))
		return;
	python->is_behind = !prepare(python, process, now_ns) ||
			    read_frames(python, process, tid, now_ns, true) < 0;
	if (!python->is_behind && python->stack->n > 0)
		take_reading(python, process, seen, is_asleep ? t_ns : now_ns, now_ns,
			     !is_asleep || python->stack->n_moves > 0);
}
