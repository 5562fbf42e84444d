/* SPDX-License-Identifier: MIT */
/* Functions and lines of this very program, by its debug information. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/apart.h"
#include "profile/lines.h"
#include "profile/module.h"

static struct wtl_modules modules;

#if defined(__aarch64__)
#define HERE "adr %0, ."
#else
#define HERE "lea -1(%%rip), %0"
#endif

static inline __attribute__((always_inline)) uint64_t inlined(uint32_t *line)
{
	uint64_t at;

	*line = __LINE__ + 1;
	__asm__ volatile(HERE : "=r"(at));
	return at;
}

static uint32_t call_line;

static __attribute__((noinline)) uint64_t outer(uint32_t *line)
{
	call_line = __LINE__ + 1;
	return inlined(line);
}

/* Named as CPython's own calling code is: one has an inlined call in it, the other one has none. */
static inline __attribute__((always_inline)) uint64_t Py_Around(uint32_t *line)
{
	return inlined(line);
}

static inline __attribute__((always_inline)) uint64_t Py_Within(uint32_t *line)
{
	uint64_t at;

	*line = __LINE__ + 1;
	__asm__ volatile(HERE : "=r"(at));
	return at;
}

static __attribute__((noinline)) uint64_t outer_around(uint32_t *line)
{
	call_line = __LINE__ + 1;
	return Py_Around(line);
}

static __attribute__((noinline)) uint64_t outer_within(uint32_t *line)
{
	call_line = __LINE__ + 1;
	return Py_Within(line);
}

/* What is loaded at that address of this process, as the file has it. */
static struct wtl_module *load(const char *path, uint64_t *address)
{
	unsigned long start, end, offset;
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	struct wtl_module *module;
	struct stat status;

	assert_non_null(maps);
	assert_int_equal(stat(path, &status), 0);
	module = wtl_modules_find(&modules, getpid(), path, 0, status.st_ino);
	assert_non_null(module);
	assert_int_equal(module->error, 0);
	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    *address >= start && *address < end)
			assert_true(wtl_module_address(module, *address - start + offset, address));
	fclose(maps);
	return module;
}

static void copy_program(const char *path)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	struct stat status;

	assert_int_equal(fstat(from, &status), 0);
	for (off_t at = 0; at < status.st_size;)
		assert_true(sendfile(to, from, &at, (size_t)(status.st_size - at)) > 0);
	close(from);
	close(to);
}

static struct wtl_tree tree;
static struct wtl_lines told;

/* The number of that place's frame. */
static size_t add(struct wtl_module *module, uint64_t address)
{
	const struct wtl_frame frame = {
		.kind = WTL_FRAME_NATIVE, .module = module, .address = address};

	return (size_t)wtl_tree_frame(&tree, &frame);
}

static int begin(void **state)
{
	struct wtl_err err;

	(void)state;
	assert_int_equal(wtl_tree_init(&tree), 0);
	assert_int_equal(wtl_modules_init(&modules, &err), 0);
	modules.apart = wtl_apart;
	return 0;
}

static int end(void **state)
{
	(void)state;
	wtl_lines_done(&told);
	wtl_tree_done(&tree);
	wtl_modules_done(&modules);
	return 0;
}

static void test_inlined(void **state)
{
	uint32_t line;
	uint64_t address = outer(&line);
	struct wtl_module *module = load("/proc/self/exe", &address);

	(void)state;
	size_t here_is = add(module, address);
	const struct wtl_line *lines;

	add(module, 1);
	add(module, UINT64_MAX);
	assert_int_equal(wtl_lines_make(&told, &modules, &tree), 0);
	assert_int_equal(told.n, 2);
	assert_true(told.cpu_ns > 0);
	assert_int_equal(wtl_lines_of(&told, here_is, &lines), 2);
	assert_null(lines[0].name);
	assert_string_equal(strrchr(lines[0].file, '/'), "/test_profile_lines.c");
	assert_int_equal(lines[0].line, call_line);
	assert_string_equal(lines[1].name, "inlined");
	assert_string_equal(strrchr(lines[1].file, '/'), "/test_profile_lines.c");
	assert_int_equal(lines[1].line, line);
	assert_int_equal(wtl_lines_of(&told, 1000, &lines), 0);
}

/* Time in what is left out is that of the function around it, at the line of the call. */
static void test_calling_code_of_python(void **state)
{
	uint32_t line, within;
	uint64_t around_at = outer_around(&line), within_at;
	const uint32_t around_call = call_line;
	const struct wtl_line *lines;
	struct wtl_module *module;
	size_t around, inside;

	(void)state;
	within_at = outer_within(&within);
	module = load("/proc/self/exe", &around_at);
	load("/proc/self/exe", &within_at);
	around = add(module, around_at);
	inside = add(module, within_at);
	for (int is_python = 0; is_python < 2; is_python++) {
		module->python.runtime = (uint64_t)is_python;
		assert_int_equal(wtl_lines_make(&told, &modules, &tree), 0);
		assert_int_equal(wtl_lines_of(&told, around, &lines), is_python ? 2 : 3);
		assert_int_equal(lines[0].line, around_call);
		assert_string_equal(lines[1].name, is_python ? "inlined" : "Py_Around");
		assert_string_equal(lines[is_python ? 1 : 2].name, "inlined");
		assert_int_equal(lines[is_python ? 1 : 2].line, line);
		assert_int_equal(wtl_lines_of(&told, inside, &lines), is_python ? 1 : 2);
		assert_int_equal(lines[0].line, call_line);
		if (!is_python)
			assert_int_equal(lines[1].line, within);
		wtl_lines_done(&told);
	}
}

/* The file is emptied before it is asked. */
static void test_truncated(void **state)
{
	char path[] = "/tmp/test_profile_lines_XXXXXX";
	uint32_t line;
	uint64_t address = outer(&line);
	struct wtl_module *module;

	(void)state;
	close(mkstemp(path));
	copy_program(path);
	module = load(path, &address);
	add(module, address);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(wtl_lines_make(&told, &modules, &tree), 0);
	assert_int_equal(told.n, 0);
	assert_null(wtl_module_symbol(&modules, module, address));
	assert_int_equal(module->error, -ESTALE);
	unlink(path);
}

static void (*tell_on)(void *context, FILE *answers);
static int fault;

static void tell_badly(void *context, FILE *answers)
{
	const uint32_t half = 1;

	(void)context;
	fwrite(&half, sizeof(half), 1, answers);
	fflush(answers);
	if (fault)
		raise(fault);
	exit(EXIT_SUCCESS);
}

/* The first time, for the first module, half an answer comes. */
static int64_t apart_badly(void (*tell)(void *context, FILE *answers),
			   void (*hear)(void *context, FILE *answers), void *context)
{
	bool is_first = !tell_on;

	tell_on = tell;
	return wtl_apart(is_first ? tell_badly : tell, hear, context);
}

/* What ends the process apart costs the lines of the module that was asked. */
static void test_ended(void **state)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGKILL, 0};
	char path[] = "/tmp/test_profile_lines_XXXXXX";
	uint32_t line;
	uint64_t addresses[2];
	struct wtl_module *both[2];

	(void)state;
	close(mkstemp(path));
	copy_program(path);
	modules.apart = apart_badly;
	for (int i = 0; i < 2; i++) {
		addresses[i] = outer(&line);
		both[i] = load(i == 0 ? path : "/proc/self/exe", &addresses[i]);
	}
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		size_t n[2];
		const struct wtl_line *lines;

		fault = faults[i];
		tell_on = NULL;
		for (int k = 0; k < 2; k++)
			both[k]->has_lost_lines = false;
		for (int k = 0; k < 2; k++)
			add(both[k], addresses[k]);
		assert_int_equal(wtl_lines_make(&told, &modules, &tree), 0);
		for (int k = 0; k < 2; k++)
			n[k] = wtl_lines_of(&told, add(both[k], addresses[k]), &lines);
		assert_int_equal(n[0] + n[1], 2);
		assert_int_equal(both[0]->has_lost_lines, n[0] == 0);
		assert_int_equal(both[1]->has_lost_lines, n[1] == 0);
		wtl_lines_done(&told);
	}
	unlink(path);
}

/* A function and an inlined call, neither of which has a name or a file. */
static void tell_no_names(void *context, FILE *answers)
{
	const uint32_t n = 2, ends = 0x600d;
	const struct {
		uint64_t instance;
		uint32_t begin, line, n_name, n_file;
	} lines[2] = {{.line = 1}, {.line = 2}};

	(void)context;
	fwrite(&n, sizeof(n), 1, answers);
	fwrite(lines, sizeof(lines), 1, answers);
	fwrite(&ends, sizeof(ends), 1, answers);
	fflush(answers);
}

static int64_t apart_without_names(void (*tell)(void *context, FILE *answers),
				   void (*hear)(void *context, FILE *answers), void *context)
{
	(void)tell;
	return wtl_apart(tell_no_names, hear, context);
}

/* A hostile file can make the process apart tell this. Whoever asks relies on inlined calls having names. */
static void test_a_call_without_a_name(void **state)
{
	const struct wtl_line *lines;
	uint32_t line;
	uint64_t address = outer(&line);
	struct wtl_module *module = load("/proc/self/exe", &address);
	size_t frame = add(module, address);

	(void)state;
	modules.apart = apart_without_names;
	assert_int_equal(wtl_lines_make(&told, &modules, &tree), 0);
	assert_int_equal(wtl_lines_of(&told, frame, &lines), 0);
	assert_true(module->has_lost_lines);
}

static int64_t apart_of_none(void (*tell)(void *context, FILE *answers),
			     void (*hear)(void *context, FILE *answers), void *context)
{
	(void)tell;
	(void)hear;
	(void)context;
	return -EAGAIN;
}

/* Nothing is wrong with the file, and it says so. */
static void test_no_process(void **state)
{
	const struct wtl_line *lines;
	uint32_t line;
	uint64_t address = outer(&line);
	struct wtl_module *module = load("/proc/self/exe", &address);
	size_t frame = add(module, address);

	(void)state;
	modules.apart = apart_of_none;
	assert_int_equal(wtl_lines_make(&told, &modules, &tree), 0);
	assert_int_equal(told.error, -EAGAIN);
	assert_true(module->has_lost_lines);
	assert_int_equal(wtl_lines_of(&told, frame, &lines), 0);
}

static void tell_too_much(void *context, FILE *answers)
{
	void *block = mmap(NULL, (size_t)5 << 30, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)context;
	fputc(block == MAP_FAILED ? 'n' : 'y', answers);
}

static void hear_answer(void *context, FILE *answers)
{
	*(int *)context = fgetc(answers);
}

/* A file that lies about its size cannot have all memory. */
static void test_memory(void **state)
{
	int answer = 0;

	(void)state;
	assert_true(wtl_apart(tell_too_much, hear_answer, &answer) >= 0);
	assert_int_equal(answer, 'n');
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_inlined, begin, end),
		cmocka_unit_test_setup_teardown(test_calling_code_of_python, begin, end),
		cmocka_unit_test_setup_teardown(test_truncated, begin, end),
		cmocka_unit_test_setup_teardown(test_ended, begin, end),
		cmocka_unit_test_setup_teardown(test_a_call_without_a_name, begin, end),
		cmocka_unit_test_setup_teardown(test_no_process, begin, end),
		cmocka_unit_test(test_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
