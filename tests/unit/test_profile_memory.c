/* SPDX-License-Identifier: MIT */
#include "profile/memory.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profile/trace.h"
#include "unit.h"

enum { PAGES = 2 << 20 };

/* malloc() may touch what it gives: meson has it do so. */
static char *map_pages(void)
{
	char *block = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(block, MAP_FAILED);
	madvise(block, PAGES, MADV_NOHUGEPAGE);
	return block;
}

static void drop_pages(char *block)
{
	munmap(block, PAGES);
}

static uint64_t all_grown(const struct wtl_memory *memory, struct wtl_memory_change *changes,
			  size_t n)
{
	const struct wtl_trace none = {.n_samples = 0};
	uint64_t sum = 0;

	memset(changes, 0, n * sizeof(*changes));
	assert_int_equal(wtl_memory_charge(memory, &none, changes), 0);
	for (size_t i = 0; i < n; i++)
		sum += changes[i].grown;
	return sum;
}

/* What a process grew by goes to the node of the sample that was read with, of that thread and process. */
static void test_charge(void **state)
{
	struct wtl_memory_reading one[] = {{.t_ns = 100, .rss = 1000, .before = 1000, .node = 1},
					   {.t_ns = 200, .rss = 1500, .before = 1000, .node = 3},
					   {.t_ns = 300, .rss = 1200, .before = 1500, .node = 1},
					   {.t_ns = 400, .rss = 1300, .before = 1200}};
	struct wtl_memory_reading other[] = {{.t_ns = 150, .rss = 50, .before = 50, .node = 4},
					     {.t_ns = 200, .rss = 90, .before = 50, .node = 4}};
	struct wtl_memory_process processes[] = {
		{.pid = 10, .statm = -1, .readings = one, .n = 4},
		{.pid = 20, .statm = -1, .readings = other, .n = 2}};
	const struct wtl_memory memory = {.processes = processes, .n = 2};
	/* Nothing changes while node 2 is seen: how much there was is known all the same. */
	struct wtl_trace_thread threads[] = {{.pid = 10}, {.pid = 30}, {.pid = 20}};
	struct wtl_trace_sample samples[] = {{0, 2, 250}, {1, 3, 260}, {2, 2, 270}, {0, 2, 320}};
	const struct wtl_trace trace = {
		.threads = threads, .n_threads = 3, .samples = samples, .n_samples = 4};
	struct wtl_memory_change changes[5] = {{0}};

	(void)state;
	assert_int_equal(wtl_memory_charge(&memory, &trace, changes), 0);
	assert_int_equal(changes[2].peak, 1500);
	assert_int_equal(changes[3].peak, 1500);
	assert_int_equal(changes[4].peak, 90);
	assert_int_equal(changes[3].grown, 500);
	assert_int_equal(changes[1].shrunk, 300);
	assert_int_equal(changes[4].grown, 40);
	assert_int_equal(changes[0].grown, 100); /* no sample is of that time */
	assert_int_equal(changes[1].grown + changes[2].grown, 0);
}

/* This process, which grows; and one that is not there. */
static void test_look(void **state)
{
	struct wtl_memory memory = {.n = 0};
	struct wtl_memory_change changes[3];
	char *block = map_pages();

	(void)state;
	wtl_memory_look(&memory, getpid(), getpid(), 100000);
	memset(block, 1, PAGES);
	wtl_memory_look(&memory, getpid(), getpid(), 200000);
	wtl_memory_look(&memory, 1 << 30, 1 << 30, 300000);
	wtl_memory_look(&memory, getpid(), getpid(), 400000); /* the same: not kept */
	wtl_memory_seen(&memory, getpid(), getpid(), 100000, 1);
	wtl_memory_seen(&memory, getpid(), getpid() + 1, 200000, 1); /* another thread's */
	wtl_memory_seen(&memory, getpid(), getpid(), 200000, 2);
	assert_int_equal(memory.n, 1);
	assert_true(memory.processes[0].n >= 2);
	assert_true(memory.processes[0].readings[1].rss >=
		    memory.processes[0].readings[0].rss + PAGES / 2);
	assert_true(memory.processes[0].peak_rss >= memory.processes[0].readings[1].rss);
	all_grown(&memory, changes, 3);
	assert_true(changes[2].grown >= PAGES / 2);
	assert_int_equal(changes[1].grown, 0);
	wtl_memory_done(&memory);
	drop_pages(block);
}

static size_t open_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(folder);
	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

enum { CHILDREN = 200 };

static void fork_all(pid_t children[CHILDREN])
{
	for (size_t i = 0; i < CHILDREN; i++) {
		children[i] = fork();
		assert_true(children[i] >= 0);
		if (children[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			pause();
			_exit(0);
		}
	}
}

/* However many processes there are, few of their files are open at a time; each is one process all the same. */
static void test_many_processes(void **state)
{
	struct wtl_memory memory = {.n = 0};
	size_t before = open_files();
	pid_t children[CHILDREN];

	(void)state;
	fork_all(children);
	for (int64_t t_ns = 1000; t_ns <= 3000; t_ns += 1000)
		for (size_t i = 0; i < CHILDREN; i++)
			wtl_memory_look(&memory, children[i], children[i], t_ns);
	assert_int_equal(memory.n, CHILDREN);
	assert_true(open_files() < before + CHILDREN / 2);
	/* Their numbers are another ones', once they have ended. */
	for (size_t i = 0; i < CHILDREN; i += 2)
		wtl_memory_ended(&memory, children[i]);
	for (size_t i = 0; i < CHILDREN; i++)
		wtl_memory_look(&memory, children[i], children[i], 4000);
	assert_int_equal(memory.n, CHILDREN + CHILDREN / 2);
	for (size_t i = 0; i < CHILDREN; i++) {
		kill(children[i], SIGKILL);
		assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
	}
	for (size_t i = 0; i < CHILDREN; i++)
		wtl_memory_look(&memory, children[i], children[i], 5000);
	assert_int_equal(memory.n, CHILDREN + CHILDREN / 2);
	assert_true(open_files() <= before);
	wtl_memory_done(&memory);
}

/* However long it takes, so many readings are kept; the size at the end and all growth are among them. */
static void test_bound(void **state)
{
	enum { ROUNDS = 500, PAGE = 4096 };
	struct wtl_memory memory = {.readings_most = 64};
	struct wtl_memory_change changes[3];
	char *block = map_pages();
	uint64_t first, last, grown;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		block[i * PAGE] = 1;
		wtl_memory_look(&memory, getpid(), getpid(), i * INT64_C(200000000));
		wtl_memory_seen(&memory, getpid(), getpid(), i * INT64_C(200000000), 1 + i % 2);
		assert_true(memory.processes[0].n <= 64);
	}
	assert_true(memory.processes[0].n > 16 && memory.n_halved >= 3);
	first = memory.processes[0].readings[0].rss;
	last = memory.processes[0].readings[memory.processes[0].n - 1].rss;
	assert_int_equal(memory.processes[0].readings[memory.processes[0].n - 1].t_ns,
			 (ROUNDS - 1) * INT64_C(200000000));
	assert_true(last >=
		    first + (uint64_t)(ROUNDS / 2) * PAGE); /* the kernel counts in batches */
	grown = all_grown(&memory, changes, 3);
	assert_int_equal(grown - changes[0].shrunk - changes[1].shrunk - changes[2].shrunk,
			 last - first);
	assert_int_equal(changes[0].grown, 0); /* every one kept has its sample's node */
	wtl_memory_done(&memory);
	drop_pages(block);
}

/* More processes than readings are to be kept: two of each are, and no time is lost with looking for more. */
static void test_bound_of_many_processes(void **state)
{
	struct wtl_memory memory = {.readings_most = 8};
	pid_t children[CHILDREN];

	(void)state;
	fork_all(children);
	for (int64_t t_ns = 0; t_ns < 8; t_ns++)
		for (size_t i = 0; i < CHILDREN; i++)
			wtl_memory_look(&memory, children[i], children[i],
					t_ns * INT64_C(200000000));
	assert_int_equal(memory.n, CHILDREN);
	for (size_t i = 0; i < CHILDREN; i++) {
		assert_true(memory.processes[i].n >= 2);
		assert_int_equal(memory.processes[i].readings[memory.processes[i].n - 1].t_ns,
				 7 * INT64_C(200000000));
	}
	assert_true(memory.n_halved < 12);
	for (size_t i = 0; i < CHILDREN; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
	wtl_memory_done(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_charge),
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_many_processes),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_bound_of_many_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
