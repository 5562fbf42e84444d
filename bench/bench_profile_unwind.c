/* SPDX-License-Identifier: MIT */
/*
 * Whether the profiler's unwinder sees the stacks that elfutils' own (libdwfl) sees: both are given the same registers and
 * the same copy of the stack. Started by bench_profile_unwind.py.
 *
 *     bench_profile_unwind [-v] COMMAND [ARGUMENT...]
 *
 * Prints: stacks, those of them that are the same, frames, and of each unwinder the stacks that end where the program began.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "profile/ring.h"
#include "profile/space.h"
#include "profile/unwind.h"

enum { DEPTH = 256, STACK_BYTES = 65528, HZ = 1999, TOLD = 20 };

struct place {
	const struct wtl_module *module;
	uint64_t address;
};

struct bench {
	struct wtl_modules modules;
	struct wtl_spaces spaces;
	struct wtl_unwinder unwinder;
	struct wtl_rings *rings;
	int pid;
	Dwfl *dwfl; /* of that process as it is mapped now; NULL */
	bool is_attached, is_verbose;
	const struct wtl_ring_event *sample;
	struct wtl_space *space;
	struct place theirs[DEPTH];
	size_t n_theirs;
	uint64_t n_stacks, n_same, n_frames, n_whole, n_told;
	uint64_t n_same_but_end; /* one goes on where the other ends */
};

/* ---- libdwfl ---- */

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread)
{
	struct bench *bench = context;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = bench;
	return bench->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *context, void **thread)
{
	(void)dwfl;
	(void)tid;
	*thread = context;
	return true;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *context)
{
	const struct bench *bench = context;
	const struct wtl_ring_event *sample = bench->sample;
	uint64_t offset = address - sample->sample.registers[WTL_UNWIND_SP];

	(void)dwfl;
	if (sample->sample.stack_len < sizeof(*word) ||
	    offset > sample->sample.stack_len - sizeof(*word))
		return false;
	memcpy(word, sample->sample.stack + offset, sizeof(*word));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *context)
{
	const struct bench *bench = context;
	Dwarf_Word registers[WTL_UNWIND_PC + 1];

	for (size_t i = 0; i <= WTL_UNWIND_PC; i++)
		registers[i] = bench->sample->sample.registers[i];
	dwfl_thread_state_register_pc(thread, registers[WTL_UNWIND_PC]);
	return dwfl_thread_state_registers(thread, 0, WTL_UNWIND_PC + 1, registers);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = next_thread,
						       .get_thread = get_thread,
						       .memory_read = read_word,
						       .set_initial_registers = set_registers};

static char no_debug_files[] = "-:.debug";
static char *debug_path = no_debug_files;
static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
					 .find_debuginfo = dwfl_standard_find_debuginfo,
					 .debuginfo_path = &debug_path};

/* A place as ours are: in the module, and of a call the call itself. */
static struct place place_of(const struct wtl_space *space, uint64_t pc)
{
	const struct wtl_mapping *mapping = wtl_space_at(space, pc);
	struct place place = {.address = pc};

	if (!mapping)
		return place;
	place.module = mapping->module;
	if (!mapping->module->error)
		wtl_module_address(mapping->module, pc - mapping->start + mapping->offset,
				   &place.address);
	return place;
}

static int take_frame(Dwfl_Frame *state, void *context)
{
	struct bench *bench = context;
	struct place place;
	Dwarf_Addr pc;
	bool is_exact;

	if (!dwfl_frame_pc(state, &pc, &is_exact))
		return DWARF_CB_ABORT;
	if (bench->n_theirs == DEPTH)
		return DWARF_CB_ABORT;
	place = place_of(bench->space, pc - (is_exact ? 0 : 1));
	if (!place.module && bench->n_theirs > 0)
		return DWARF_CB_ABORT; /* no code is there: neither takes that for a caller */
	bench->theirs[bench->n_theirs++] = place;
	return DWARF_CB_OK;
}

static bool open_dwfl(struct bench *bench, int pid)
{
	if (bench->dwfl && bench->pid == pid)
		return true;
	if (bench->dwfl)
		dwfl_end(bench->dwfl);
	bench->pid = pid;
	bench->dwfl = dwfl_begin(&callbacks);
	if (dwfl_linux_proc_report(bench->dwfl, pid) == 0 &&
	    dwfl_report_end(bench->dwfl, NULL, NULL) == 0 &&
	    dwfl_attach_state(bench->dwfl, NULL, pid, &thread_callbacks, bench))
		return true;
	dwfl_end(bench->dwfl);
	bench->dwfl = NULL;
	return false;
}

/* ---- Both ---- */

static void print_stack(const struct bench *bench, const struct wtl_unwind_place ours[], size_t n)
{
	printf("  pc %llx\n", (unsigned long long)bench->sample->sample.registers[WTL_UNWIND_PC]);
	for (size_t i = 0; i < n || i < bench->n_theirs; i++) {
		const struct wtl_module *a = i < n ? ours[i].module : NULL;
		const struct wtl_module *b = i < bench->n_theirs ? bench->theirs[i].module : NULL;

		printf("  %2zu %s+%llx\t| %s+%llx\n", i, a ? a->path : "-",
		       i < n ? (unsigned long long)ours[i].address : 0, b ? b->path : "-",
		       i < bench->n_theirs ? (unsigned long long)bench->theirs[i].address : 0);
	}
}

static void compare(struct bench *bench, const struct wtl_ring_event *sample)
{
	static struct wtl_unwind_place ours[DEPTH];
	enum wtl_unwind_end end;
	size_t n, same = 0;

	bench->space = wtl_spaces_find(&bench->spaces, sample->pid);
	bench->sample = sample;
	bench->n_theirs = 0;
	if (!sample->sample.has_registers || !open_dwfl(bench, sample->pid))
		return;
	dwfl_getthread_frames(bench->dwfl, sample->pid, take_frame, bench);
	n = wtl_unwind(&bench->unwinder, bench->space, sample, ours, DEPTH, &end);
	while (same < n && same < bench->n_theirs &&
	       ours[same].module == bench->theirs[same].module &&
	       ours[same].address == bench->theirs[same].address)
		same++;
	bench->n_stacks++;
	bench->n_frames += n;
	bench->n_whole += end == WTL_UNWIND_WHOLE;
	bench->n_same += same == n && same == bench->n_theirs;
	bench->n_same_but_end += (same == n) != (same == bench->n_theirs);
	if (bench->is_verbose && (same < n || same < bench->n_theirs) && bench->n_told++ < TOLD)
		print_stack(bench, ours, n);
}

static void take(void *context, const struct wtl_ring_event *event)
{
	struct bench *bench = context;
	struct wtl_space *space = wtl_spaces_find(&bench->spaces, event->pid);
	struct wtl_module *module;

	switch (event->kind) {
	case WTL_RING_SAMPLE:
		compare(bench, event);
		break;
	case WTL_RING_MAP:
		module = wtl_modules_find(&bench->modules, event->pid, event->map.path,
					  event->map.device, event->map.inode);
		wtl_space_map(space, event->map.start, event->map.length, event->map.offset,
			      module);
		if (bench->dwfl)
			dwfl_end(bench->dwfl);
		bench->dwfl = NULL;
		break;
	case WTL_RING_NAME:
		if (event->name.is_exec)
			wtl_space_clear(space);
		break;
	case WTL_RING_BORN:
		if (event->pid != event->born.parent_pid)
			wtl_space_copy(space,
				       wtl_spaces_find(&bench->spaces, event->born.parent_pid));
		break;
	case WTL_RING_ENDED:
	case WTL_RING_SWITCH:
	case WTL_RING_LOST:
		break;
	}
}

static void follow(struct bench *bench, char *const command[])
{
	struct pollfd polled = {.fd = wtl_rings_fd(bench->rings), .events = POLLIN};
	pid_t child = fork();

	if (child == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	while (waitpid(child, NULL, WNOHANG) == 0) {
		poll(&polled, 1, 50);
		wtl_rings_drain(bench->rings, INT64_MAX, take, bench);
	}
}

int main(int argc, char **argv)
{
	const struct wtl_rings_options options = {.hz = HZ, .stack_bytes = STACK_BYTES};
	static struct bench bench;
	struct wtl_err err = {.code = 0};

	bench.is_verbose = argc > 2 && strcmp(argv[1], "-v") == 0;
	if (argc < 2 + bench.is_verbose)
		return 2;
	if (wtl_modules_init(&bench.modules, &err) < 0 ||
	    wtl_rings_open(&options, &bench.rings, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	wtl_spaces_init(&bench.spaces, &bench.modules);
	wtl_unwinder_init(&bench.unwinder, &bench.modules);
	follow(&bench, argv + 1 + bench.is_verbose);
	printf("stacks %llu same %llu longer %llu frames %llu whole %llu\n",
	       (unsigned long long)bench.n_stacks, (unsigned long long)bench.n_same,
	       (unsigned long long)bench.n_same_but_end, (unsigned long long)bench.n_frames,
	       (unsigned long long)bench.n_whole);
	wtl_rings_close(bench.rings);
	wtl_unwinder_done(&bench.unwinder);
	wtl_spaces_done(&bench.spaces);
	wtl_modules_done(&bench.modules);
	return 0;
}
