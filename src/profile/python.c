/* SPDX-License-Identifier: MIT */
#include "profile/python.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "profile/tree.h"

/* A sample that is older is not read: its thread is elsewhere by now. */
#define FRESH_NS   INT64_C(3000000)
#define PREPARE_NS INT64_C(10000000)
/* A reading that nobody took for so long is of a sample that was lost. */
#define KEPT_NS INT64_C(1000000000)

int wtl_python_init(struct wtl_python *python, struct wtl_modules *modules, struct wtl_tree *tree)
{
	int64_t name = wtl_tree_name(tree, "[python: unresolved]"), number;
	struct wtl_frame frame = {.kind = WTL_FRAME_NAMED, .name = (uint32_t)name};

	*python = (struct wtl_python){
		.memory = wtl_python_memory_real, .modules = modules, .tree = tree};
	number = name < 0 ? name : wtl_tree_frame(tree, &frame);
	python->unresolved = (uint32_t)number;
	python->stack = calloc(1, sizeof(*python->stack));
	return number < 0 || !python->stack ? -ENOMEM : 0;
}

static void free_process(struct wtl_python_process *process)
{
	for (size_t i = 0; i < process->n_lasts; i++)
		free(process->lasts[i].reading.frames);
	free(process->lasts);
	free(process->kinds);
	wtl_python_codes_done(&process->codes);
	wtl_python_target_done(&process->target);
	free(process);
}

void wtl_python_done(struct wtl_python *python)
{
	for (size_t i = 0; i < python->n; i++)
		free_process(python->list[i]);
	for (size_t i = 0; i < python->n_readings; i++)
		free(python->readings[i].frames);
	free(python->list);
	free(python->readings);
	free(python->stack);
}

/* ---- Processes ---- */

bool wtl_python_is_there(const struct wtl_python *python)
{
	for (size_t i = 0; i < python->n; i++)
		if (!python->list[i]->is_unknown)
			return true;
	return false;
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

/* Its layout. 0; -EAGAIN: not yet; or it is not known. */
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
	process->is_unknown = rc < 0 && rc != -EAGAIN;
	process->prepare_ns = now_ns + PREPARE_NS;
	python->n_unknown += process->is_unknown;
	return process->is_ready;
}

/* ---- Readings ---- */

static int keep_frames(struct wtl_python *python, struct wtl_python_process *process,
		       struct wtl_python_reading *reading, int64_t now_ns)
{
	const struct wtl_python_stack *stack = python->stack;

	reading->frames = calloc(stack->n + 1, sizeof(*reading->frames));
	if (!reading->frames)
		return -ENOMEM;
	for (size_t i = 0; i < stack->n; i++) {
		const struct wtl_python_frame *frame = &stack->frames[i];
		const struct wtl_python_code *code = NULL;

		if (frame->code)
			code = wtl_python_code_find(&process->codes, python->tree,
						    &process->target.layout, &python->memory,
						    process->pid, frame->code, now_ns);
		reading->frames[i] = (struct wtl_python_named){
			.frame = code ? code->frame : python->unresolved,
			.is_entry = frame->is_entry,
			.is_nobody = frame->code == 0,
			.begin = code ? code->begin : 0,
			.end = code ? code->end : 0,
		};
	}
	reading->n = stack->n;
	reading->is_cut = stack->is_cut;
	return 0;
}

static void drop_taken(struct wtl_python *python, int64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < python->n_readings; i++) {
		struct wtl_python_reading *reading = &python->readings[i];

		if (reading->is_taken || now_ns - reading->t_ns > KEPT_NS)
			free(reading->frames);
		else
			python->readings[n++] = *reading;
	}
	python->n_readings = n;
}

void wtl_python_glance(struct wtl_python *python, int pid, int tid, int64_t t_ns, int64_t now_ns)
{
	struct wtl_python_process *process = wtl_python_find(python, pid);
	struct wtl_python_reading reading = {.tid = tid, .t_ns = t_ns};
	int rc;

	if (!process || !prepare(python, process, now_ns))
		return;
	if (now_ns - t_ns > FRESH_NS) {
		python->n_late++;
		return;
	}
	rc = wtl_python_read(&process->target, &python->memory, tid, now_ns, python->stack);
	python->n_hasty += rc == -EAGAIN;
	if (rc < 0)
		return;
	python->n_read++;
	drop_taken(python, now_ns);
	if (wtl_array_reserve(&python->readings, &python->room_readings, python->n_readings + 1,
			      sizeof(*python->readings)) < 0 ||
	    keep_frames(python, process, &reading, now_ns) < 0)
		return;
	reading.is_good = reading.n > 0;
	python->readings[python->n_readings++] = reading;
}
