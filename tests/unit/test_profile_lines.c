/* SPDX-License-Identifier: MIT */
/* Functions and lines of this very program, by its debug information. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/mapped.h"
#include "profile/lines.h"
#include "profile/tree.h"

static struct wtl_modules modules;

/* An address of its own. */
static __attribute__((noinline)) uint64_t here(void)
{
	uint64_t at;

#if defined(__aarch64__)
	__asm__ volatile("adr %0, ." : "=r"(at));
#else
	__asm__ volatile("lea -1(%%rip), %0" : "=r"(at));
#endif
	return at;
}

static inline __attribute__((always_inline)) uint64_t inlined(uint32_t *line)
{
	uint64_t at;

#if defined(__aarch64__)
	*line = __LINE__ + 1;
	__asm__ volatile("adr %0, ." : "=r"(at));
#else
	*line = __LINE__ + 1;
	__asm__ volatile("lea -1(%%rip), %0" : "=r"(at));
#endif
	return at;
}

static uint32_t call_line;

static __attribute__((noinline)) uint64_t outer(uint32_t *line)
{
	call_line = __LINE__ + 1;
	return inlined(line);
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

static struct wtl_line lines[WTL_LINES_MAX];

static size_t lines_at(struct wtl_module *module, uint64_t address)
{
	const struct wtl_frame frame = {
		.kind = WTL_FRAME_NATIVE, .module = module, .address = address};

	return wtl_lines_of(&modules, &frame, lines);
}

static int begin(void **state)
{
	struct wtl_err err;

	(void)state;
	return wtl_modules_init(&modules, &err);
}

static int end(void **state)
{
	(void)state;
	wtl_modules_done(&modules);
	return 0;
}

static void test_inlined(void **state)
{
	uint32_t line;
	uint64_t address = outer(&line);
	struct wtl_module *module = load("/proc/self/exe", &address);

	(void)state;
	/* Twice: the second time from what was found. */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(lines_at(module, address), 2);
		assert_null(lines[0].name);
		assert_string_equal(strrchr(lines[0].file, '/'), "/test_profile_lines.c");
		assert_int_equal(lines[0].line, call_line);
		assert_string_equal(lines[1].name, "inlined");
		assert_string_equal(strrchr(lines[1].file, '/'), "/test_profile_lines.c");
		assert_int_equal(lines[1].line, line);
	}
	assert_int_equal(lines_at(module, 1), 0);
	assert_int_equal(lines_at(module, UINT64_MAX), 0);
}

/* The file is emptied when half of it was read. */
static void test_truncated(void **state)
{
	char path[] = "/tmp/test_profile_lines_XXXXXX";
	uint32_t line;
	uint64_t address = outer(&line), other = here();
	struct wtl_module *module;

	(void)state;
	close(mkstemp(path));
	copy_program(path);
	wtl_mapped_watch();
	modules.guard = wtl_mapped_guard;
	module = load(path, &address);
	load(path, &other);
	assert_int_equal(lines_at(module, address), 2);
	assert_non_null(module->mapped);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(lines_at(module, other), 0);
	assert_int_equal(module->error, -ESTALE);
	assert_int_equal(lines_at(module, address), 0);
	assert_null(wtl_module_symbol(&modules, module, address));
	unlink(path);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_inlined, begin, end),
		cmocka_unit_test_setup_teardown(test_truncated, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
