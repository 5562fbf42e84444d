/* SPDX-License-Identifier: MIT */
/* Stacks of this very program, whose frames are known: through libraries and signals, whole and cut off. */
#include "unit.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/err.h"
#include "profile/unwind.h"

enum { STACK = 1 << 16, DEPTH = 128 };

/* As the kernel takes them: registers, and a copy of the stack from there on. */
static struct sample {
	struct wtl_ring_event event;
	uint8_t stack[STACK];
} taken;

/* As a debugger reads it: nothing is in the way of a sanitizer. */
static void copy_stack(uint64_t from, size_t size)
{
	for (taken.event.sample.stack_len = 0; size >= 256; size /= 2) {
		struct iovec to = {taken.stack, size};
		struct iovec at = {(void *)(uintptr_t)from, size};
		ssize_t n = process_vm_readv(getpid(), &to, 1, &at, 1, 0);

		if (n > 0) {
			taken.event.sample.stack_len = (size_t)n;
			return;
		}
	}
}

static void take(const ucontext_t *context, size_t size)
{
	uint64_t *registers = taken.event.sample.registers;

	taken.event.sample.has_registers = true;
	taken.event.sample.stack = taken.stack;
#if defined(__aarch64__)
	memcpy(registers, context->uc_mcontext.regs, 31 * sizeof(*registers));
	registers[31] = context->uc_mcontext.sp;
	registers[32] = context->uc_mcontext.pc;
#else
	static const int by_dwarf[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				       REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
				       REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

	for (size_t i = 0; i < UNIT_COUNT(by_dwarf); i++)
		registers[i] = (uint64_t)context->uc_mcontext.gregs[by_dwarf[i]];
#endif
	copy_stack(registers[WTL_UNWIND_SP], size);
}

/* ---- What is called; no call is the last thing that its function does ---- */

static size_t to_copy = STACK;
static volatile int done;

static __attribute__((noinline)) void innermost(void)
{
	ucontext_t context;

	getcontext(&context);
	take(&context, to_copy);
	done++;
}

static __attribute__((noinline)) void middle(int depth)
{
	if (depth > 0)
		middle(depth - 1);
	else
		innermost();
	done++;
}

static __attribute__((noinline)) void outermost(int depth)
{
	middle(depth);
	done++;
}

static __attribute__((noinline)) int compare(const void *a, const void *b)
{
	innermost();
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void sorts(void)
{
	int numbers[] = {2, 1};

	qsort(numbers, 2, sizeof(numbers[0]), compare);
	done++;
}

static __attribute__((noinline)) void handle(int number)
{
	(void)number;
	innermost();
	done++;
}

static __attribute__((noinline)) void interrupted(void)
{
	raise(SIGUSR1);
	done++;
}

#if !defined(__aarch64__)
/* What calls it finds its rbx as it was, and no table says so. */
extern void does_not_touch_rbx(void (*call)(void));
__asm__(".text\n"
	".type does_not_touch_rbx, @function\n"
	"does_not_touch_rbx:\n"
	".cfi_startproc\n"
	"subq $8, %rsp\n"
	".cfi_adjust_cfa_offset 8\n"
	"call *%rdi\n"
	"addq $8, %rsp\n"
	".cfi_adjust_cfa_offset -8\n"
	"ret\n"
	".cfi_endproc\n"
	".size does_not_touch_rbx, .-does_not_touch_rbx\n"
	/* As gcc 16 compiles CPython: most of the loop has no name. */
	".globl _PyEval_EvalFrameDefault\n"
	".type _PyEval_EvalFrameDefault, @function\n"
	"_PyEval_EvalFrameDefault:\n"
	".cfi_startproc\n"
	"ret\n"
	".cfi_endproc\n"
	".size _PyEval_EvalFrameDefault, .-_PyEval_EvalFrameDefault\n"
	".Lloop:\n"
	".cfi_startproc\n"
	".fill 40000, 1, 0x90\n"
	".cfi_endproc\n"
	".globl behind_the_loop\n"
	".type behind_the_loop, @function\n"
	"behind_the_loop:\n"
	".cfi_startproc\n"
	"ret\n"
	".cfi_endproc\n"
	".size behind_the_loop, .-behind_the_loop\n"
	".globl _PyRuntime\n"
	".comm _PyRuntime, 8, 8\n");

static __attribute__((noinline)) void keeps_something_in_rbx(void)
{
	register uint64_t value __asm__("rbx") = 0x1234567890;

	__asm__ volatile("" : "+r"(value));
	does_not_touch_rbx(innermost);
	__asm__ volatile("" : "+r"(value));
	done++;
}
#endif

/* ---- What is seen ---- */

struct bench {
	struct wtl_modules modules;
	struct wtl_spaces spaces;
	struct wtl_unwinder unwinder;
	struct wtl_space *space;
	struct wtl_unwind_place places[DEPTH];
	size_t n;
	enum wtl_unwind_end end;
};

static void map_all(struct bench *bench)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[5000];

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps)) {
		unsigned long start, end, offset, inode;
		char rights[5], path[4096] = "";

		assert_true(sscanf(line, "%lx-%lx %4s %lx %*s %lu %4095s", &start, &end, rights,
				   &offset, &inode, path) >= 5);
		if (rights[2] == 'x')
			assert_int_equal(wtl_space_map(bench->space, start, end - start, offset,
						       wtl_modules_find(&bench->modules, getpid(),
									path, 0, inode)),
					 0);
	}
	fclose(maps);
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct wtl_err err = {.code = 0};

	*state = bench;
	assert_int_equal(wtl_modules_init(&bench->modules, &err), 0);
	wtl_spaces_init(&bench->spaces, &bench->modules);
	wtl_unwinder_init(&bench->unwinder, &bench->modules);
	bench->space = wtl_spaces_find(&bench->spaces, getpid());
	map_all(bench);
	to_copy = STACK;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	wtl_unwinder_done(&bench->unwinder);
	wtl_spaces_done(&bench->spaces);
	wtl_modules_done(&bench->modules);
	free(bench);
	return 0;
}

static void unwind(struct bench *bench, size_t max)
{
	bench->n = wtl_unwind(&bench->unwinder, bench->space, &taken.event, bench->places, max,
			      &bench->end);
}

static const char *name_at(const struct bench *bench, size_t at)
{
	const struct wtl_unwind_place *place = &bench->places[at];
	const struct wtl_module_symbol *symbol =
		place->module ? wtl_module_symbol(&bench->modules, place->module, place->address)
			      : NULL;

	return symbol ? symbol->name : "?";
}

/* From there on one after the other; whatever is between two of them where gaps are allowed. */
static void assert_frames(const struct bench *bench, const char *const *names, size_t n,
			  bool has_gaps)
{
	size_t at = 0;

	for (size_t i = 0; i < n; i++, at++) {
		while (has_gaps && at < bench->n && strcmp(name_at(bench, at), names[i]) != 0)
			at++;
		assert_true(at < bench->n);
		assert_string_equal(name_at(bench, at), names[i]);
	}
}

static void test_calls(void **state)
{
	static const char *const names[] = {"innermost", "middle",    "middle",
					    "middle",	 "outermost", "test_calls"};
	struct bench *bench = *state;

	outermost(2);
	unwind(bench, DEPTH);
	assert_frames(bench, names, UNIT_COUNT(names), false);
	assert_int_equal(bench->end, WTL_UNWIND_WHOLE);
	assert_true(bench->n < DEPTH);
	/* The same by rows that are known already. */
	outermost(2);
	unwind(bench, DEPTH);
	assert_frames(bench, names, UNIT_COUNT(names), false);
}

/* Another file is mapped where one was, and then nothing: what was known of addresses there is not told of them. */
static void test_addresses_that_become_others(void **state)
{
	struct bench *bench = *state;
	const struct wtl_mapping *mapping;
	struct wtl_module *module, *other;
	uint64_t address, start, length;

	outermost(2);
	unwind(bench, DEPTH);
	module = bench->places[0].module;
	address = bench->places[0].address;
	mapping = wtl_space_at(bench->space, taken.event.sample.registers[WTL_UNWIND_PC]);
	assert_non_null(mapping);
	start = mapping->start;
	length = mapping->end - start;
	/* The same file, from a page further on. */
	assert_int_equal(wtl_space_map(bench->space, start, length, mapping->offset + 4096, module),
			 0);
	unwind(bench, DEPTH);
	assert_true(bench->places[0].module == module && bench->places[0].address != address);
	other = wtl_modules_find(&bench->modules, getpid(), "/nothing", 0, 1);
	assert_int_equal(wtl_space_map(bench->space, start, length, 0, other), 0);
	unwind(bench, DEPTH);
	assert_ptr_equal(bench->places[0].module, other);
	assert_int_equal(bench->n, 1);
	wtl_space_clear(bench->space);
	unwind(bench, DEPTH);
	assert_null(bench->places[0].module);
	map_all(bench);
	unwind(bench, DEPTH);
	assert_ptr_equal(bench->places[0].module, module);
	assert_int_equal(bench->places[0].address, address);
	assert_int_equal(bench->end, WTL_UNWIND_WHOLE);
}

static void test_deep_calls(void **state)
{
	struct bench *bench = *state;

	outermost(99);
	unwind(bench, DEPTH);
	for (size_t i = 1; i <= 100; i++)
		assert_string_equal(name_at(bench, i), "middle");
	assert_string_equal(name_at(bench, 101), "outermost");
	unwind(bench, 50);
	assert_int_equal(bench->n, 50);
	assert_int_equal(bench->end, WTL_UNWIND_LOST);
}

static void test_calls_through_a_library(void **state)
{
	static const char *const names[] = {"innermost", "compare", "sorts",
					    "test_calls_through_a_library"};
	struct bench *bench = *state;

	sorts();
	unwind(bench, DEPTH);
	assert_frames(bench, names, UNIT_COUNT(names), true);
	assert_int_equal(bench->end, WTL_UNWIND_WHOLE);
}

static void test_a_handler_of_a_signal(void **state)
{
	static const char *const names[] = {"innermost", "handle", "interrupted",
					    "test_a_handler_of_a_signal"};
	struct bench *bench = *state;

	signal(SIGUSR1, handle);
	interrupted();
	signal(SIGUSR1, SIG_DFL);
	unwind(bench, DEPTH);
	assert_frames(bench, names, UNIT_COUNT(names), true);
	assert_int_equal(bench->end, WTL_UNWIND_WHOLE);
}

#if !defined(__aarch64__)
static void test_registers_that_calls_keep(void **state)
{
	static const char *const names[] = {"innermost", "does_not_touch_rbx",
					    "keeps_something_in_rbx"};
	struct bench *bench = *state;

	keeps_something_in_rbx();
	unwind(bench, DEPTH);
	assert_frames(bench, names, UNIT_COUNT(names), false);
	assert_int_equal(bench->places[2].kept[0], 0x1234567890);
}

static void test_a_loop_of_python_without_a_name(void **state)
{
	struct bench *bench = *state;
	const struct wtl_module_symbol *symbol;
	const struct wtl_module_python *python;

	innermost();
	unwind(bench, DEPTH);
	python = wtl_module_python(&bench->modules, bench->places[0].module);
	assert_int_equal(python->loop_end - python->loop, 40000);
	symbol = wtl_module_symbol(&bench->modules, bench->places[0].module, python->loop - 1);
	assert_non_null(symbol);
	assert_string_equal(symbol->name, "_PyEval_EvalFrameDefault");
}
#endif

/* What is known of it is there, and that it is not whole is told. */
static void test_a_stack_that_is_cut_off(void **state)
{
	static const char *const names[] = {"innermost", "middle"};
	struct bench *bench = *state;

	to_copy = 2560; /* innermost() has 1 KiB alone */
	outermost(90);
	unwind(bench, DEPTH);
	assert_frames(bench, names, 2, false);
	assert_int_equal(bench->end, WTL_UNWIND_CUT);
	taken.event.sample.stack_len = 0;
	unwind(bench, DEPTH);
	assert_int_equal(bench->n, 1);
	assert_string_equal(name_at(bench, 0), "innermost");
	assert_int_equal(bench->end, WTL_UNWIND_CUT);
	taken.event.sample.has_registers = false;
	unwind(bench, DEPTH);
	assert_int_equal(bench->n, 0);
}

/* Of a thread that sleeps two registers are known: callers that others lead to are missing, and not made up. */
static void test_a_thread_that_sleeps(void **state)
{
	struct bench *bench = *state;
	uint64_t *registers = taken.event.sample.registers;
	char names[DEPTH][64];
	size_t n;

	outermost(2);
	unwind(bench, DEPTH);
	n = bench->n;
	for (size_t i = 0; i < n; i++)
		snprintf(names[i], sizeof(names[i]), "%s", name_at(bench, i));
	for (size_t i = 0; i < WTL_RING_REGISTERS; i++)
		if (i != WTL_UNWIND_SP && i != WTL_UNWIND_PC)
			registers[i] = registers[WTL_UNWIND_SP] + 64;
	taken.event.sample.is_asleep = true;
	unwind(bench, DEPTH);
	taken.event.sample.is_asleep = false;
	assert_in_range(bench->n, 1, n);
	for (size_t i = 0; i < bench->n; i++)
		assert_string_equal(name_at(bench, i), names[i]);
	assert_int_equal(bench->end == WTL_UNWIND_WHOLE, bench->n == n);
}

/* Whatever a stack holds, it ends. */
static void test_stacks_of_rubbish(void **state)
{
	struct bench *bench = *state;
	uint64_t pc;

	outermost(2);
	pc = taken.event.sample.registers[WTL_UNWIND_PC];
	srandom(5);
	for (int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < 4096; i += 8) {
			uint64_t word = (uint64_t)random() << (random() % 40);

			word = random() % 3 ? word : pc - 4096 + (uint64_t)random() % 8192;
			memcpy(taken.stack + i, &word, sizeof(word));
		}
		taken.event.sample.stack_len = 4096;
		for (size_t i = 0; i < WTL_RING_REGISTERS; i++)
			if (random() % 3 == 0)
				taken.event.sample.registers[i] = (uint64_t)random()
								  << (random() % 40);
		taken.event.sample.registers[WTL_UNWIND_PC] =
			random() % 8 ? pc - 4096 + (uint64_t)random() % 8192 : (uint64_t)random();
		unwind(bench, DEPTH);
		assert_in_range(bench->n, 1, DEPTH);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] =
	{ cmocka_unit_test_setup_teardown(test_calls, set_up, tear_down),
	  cmocka_unit_test_setup_teardown(test_addresses_that_become_others, set_up, tear_down),
	  cmocka_unit_test_setup_teardown(test_deep_calls, set_up, tear_down),
	  cmocka_unit_test_setup_teardown(test_calls_through_a_library, set_up, tear_down),
	  cmocka_unit_test_setup_teardown(test_a_handler_of_a_signal, set_up, tear_down),
#if !defined(__aarch64__)
	  cmocka_unit_test_setup_teardown(test_registers_that_calls_keep, set_up, tear_down),
	  cmocka_unit_test_setup_teardown(test_a_loop_of_python_without_a_name, set_up, tear_down),
#endif
	  cmocka_unit_test_setup_teardown(test_a_stack_that_is_cut_off, set_up, tear_down),
	  cmocka_unit_test_setup_teardown(test_a_thread_that_sleeps, set_up, tear_down),
	  cmocka_unit_test_setup_teardown(test_stacks_of_rubbish, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
