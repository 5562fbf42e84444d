/* SPDX-License-Identifier: MIT */
#include "profile/memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

/* What a process grew by goes to the node of the sample that was read with, of that thread and process. */
static void test_charge(void **state)
{
	struct wtl_trace_thread threads[] = {
		{.pid = 10, .tid = 10}, {.pid = 10, .tid = 11}, {.pid = 20, .tid = 20}};
	struct wtl_trace_sample samples[] = {
		{0, 1, 100}, {0, 2, 200}, {1, 3, 200}, {2, 4, 200}, {0, 1, 300}};
	const struct wtl_trace trace = {
		.threads = threads, .n_threads = 3, .samples = samples, .n_samples = 5};
	struct wtl_memory_reading one[] = {
		{100, 1000, 10}, {200, 1500, 11}, {300, 1200, 10}, {400, 1300, 10}};
	struct wtl_memory_reading other[] = {{150, 50, 20}, {200, 90, 20}};
	struct wtl_memory_process processes[] = {
		{.pid = 10, .statm = -1, .readings = one, .n = 4},
		{.pid = 20, .statm = -1, .readings = other, .n = 2}};
	const struct wtl_memory memory = {.processes = processes, .n = 2};
	struct wtl_memory_change changes[5] = {{0}};

	(void)state;
	wtl_memory_charge(&memory, &trace, changes);
	assert_int_equal(changes[3].grown, 500);
	assert_int_equal(changes[1].shrunk, 300);
	assert_int_equal(changes[4].grown, 40);
	assert_int_equal(changes[0].grown, 100); /* no sample is of that time */
	assert_int_equal(changes[1].grown + changes[2].grown, 0);
}

/* This process, which grows; and one that is not there. */
static void test_look(void **state)
{
	enum { BYTES = 8 << 20 };
	struct wtl_memory memory = {.n = 0};
	/* malloc() may touch it: meson has it do so. */
	char *block = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_ptr_not_equal(block, MAP_FAILED);
	wtl_memory_look(&memory, getpid(), getpid(), 100);
	memset(block, 1, BYTES);
	wtl_memory_look(&memory, getpid(), getpid(), 200);
	wtl_memory_look(&memory, 1 << 30, 1 << 30, 300);
	wtl_memory_look(&memory, getpid(), getpid(), 400); /* the same: not kept */
	assert_int_equal(memory.n, 1);
	assert_true(memory.processes[0].n >= 2);
	assert_true(memory.processes[0].readings[1].rss >=
		    memory.processes[0].readings[0].rss + BYTES / 2);
	assert_true(memory.processes[0].peak_rss >= memory.processes[0].readings[1].rss);
	wtl_memory_done(&memory);
	munmap(block, BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_charge),
		cmocka_unit_test(test_look),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
