/* SPDX-License-Identifier: MIT */
/* What the kernel's records say of threads: when each was on a processor, and what is known where records were lost. */
#include "unit.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/thread.h"
#include "profile/names.h"
#include "profile/split.h"
#include "profile/trace.h"

#define MS INT64_C(1000000)

enum { NOBODY = 1 << 29 }; /* a number that no process has */

static struct wtl_trace trace;
static int program = NOBODY;

static int set_up(void **state)
{
	struct wtl_err err;

	(void)state;
	return wtl_trace_init(&trace, &err);
}

static int tear_down(void **state)
{
	(void)state;
	program = NOBODY;
	wtl_trace_done(&trace);
	return 0;
}

static void turn(int tid, uint32_t cpu, int64_t t_ms, bool is_out)
{
	const struct wtl_ring_event event = {.kind = WTL_RING_SWITCH,
					     .pid = program,
					     .tid = NOBODY + tid,
					     .cpu = cpu,
					     .t_ns = t_ms * MS,
					     .turn.is_out = is_out};

	wtl_trace_take(&trace, &event);
}

static void in(int tid, uint32_t cpu, int64_t t_ms)
{
	turn(tid, cpu, t_ms, false);
}

static void out(int tid, uint32_t cpu, int64_t t_ms)
{
	turn(tid, cpu, t_ms, true);
}

static void sample(int tid, uint32_t cpu, int64_t t_ms)
{
	const struct wtl_ring_event event = {.kind = WTL_RING_SAMPLE,
					     .pid = NOBODY,
					     .tid = NOBODY + tid,
					     .cpu = cpu,
					     .t_ns = t_ms * MS};

	wtl_trace_take(&trace, &event);
}

static void lost(uint32_t cpu, int64_t t_ms)
{
	const struct wtl_ring_event event = {
		.kind = WTL_RING_LOST, .cpu = cpu, .t_ns = t_ms * MS, .n_lost = 3};

	wtl_trace_take(&trace, &event);
}

static void assert_slice(size_t i, int tid, int64_t begin_ms, int64_t end_ms)
{
	assert_true(i < trace.n_slices);
	assert_int_equal(trace.threads[trace.slices[i].thread].tid, NOBODY + tid);
	assert_int_equal(trace.slices[i].begin_ns, begin_ms * MS);
	assert_int_equal(trace.slices[i].end_ns, end_ms * MS);
}

static void test_turns(void **state)
{
	(void)state;
	in(1, 0, 0);
	in(2, 1, 5);
	sample(1, 0, 7);
	out(1, 0, 10);
	in(1, 0, 20); /* it goes on the other processor when the other thread left that */
	out(1, 0, 21);
	out(2, 1, 22);
	in(1, 1, 23);
	wtl_trace_end(&trace, 25 * MS);
	assert_int_equal(trace.n_slices, 4);
	assert_slice(0, 1, 0, 10);
	assert_slice(1, 1, 20, 21);
	assert_slice(2, 2, 5, 22);
	assert_slice(3, 1, 23, 25);
}

/* Two events may both tell of it; and the same number may be given again. */
static void test_born_twice(void **state)
{
	struct wtl_ring_event event = {.kind = WTL_RING_BORN,
				       .pid = NOBODY + 1,
				       .tid = NOBODY + 1,
				       .t_ns = MS,
				       .born = {NOBODY, NOBODY}};

	(void)state;
	wtl_trace_take(&trace, &event);
	event.t_ns += 2000;
	wtl_trace_take(&trace, &event);
	event.t_ns += MS; /* a virtual processor was away meanwhile */
	wtl_trace_take(&trace, &event);
	assert_int_equal(trace.n_threads, 2);
	assert_int_equal(wtl_spaces_find(&trace.spaces, NOBODY + 1)->n_threads, 1);
	event.t_ns += 1000 * MS;
	wtl_trace_take(&trace, &event);
	assert_int_equal(trace.n_threads, 3);
}

/* The record that it left was lost: it was there up to its last sample, not for ten seconds. */
static void test_lost_records(void **state)
{
	(void)state;
	in(1, 0, 0);
	in(2, 1, 0);
	sample(1, 0, 4);
	lost(0, 10000);
	out(2, 1, 10001); /* nothing was lost there */
	in(1, 0, 10002);
	out(1, 0, 10003);
	wtl_trace_end(&trace, 10004 * MS);
	assert_int_equal(trace.n_lost, 3);
	assert_int_equal(trace.n_slices, 3);
	assert_slice(0, 2, 0, 10001);
	assert_slice(1, 1, 0, 4);
	assert_slice(2, 1, 10002, 10003);
}

/* Only samples were: it is told to be there soon after. */
static void test_lost_samples(void **state)
{
	(void)state;
	in(1, 0, 0);
	sample(1, 0, 4);
	lost(0, 6);
	sample(1, 0, 7);
	lost(0, 8);
	out(1, 0, 9);
	wtl_trace_end(&trace, 20 * MS);
	assert_int_equal(trace.n_slices, 1);
	assert_slice(0, 1, 0, 9);
}

/* That it left and came again is not known, but that it came. */
static void test_it_came_again(void **state)
{
	(void)state;
	in(1, 0, 0);
	sample(1, 0, 4);
	in(1, 1, 100);
	out(1, 1, 101);
	lost(1, 102); /* of nobody here */
	wtl_trace_end(&trace, 200 * MS);
	assert_int_equal(trace.n_slices, 2);
	assert_slice(0, 1, 0, 4);
	assert_slice(1, 1, 100, 101);
}

/* Two cannot be on one processor, whatever was told. */
static void test_another_one_is_there(void **state)
{
	(void)state;
	in(1, 0, 0);
	sample(1, 0, 4);
	in(2, 0, 500);
	out(2, 0, 501);
	wtl_trace_end(&trace, 600 * MS);
	assert_int_equal(trace.n_slices, 2);
	assert_slice(0, 1, 0, 4);
	assert_slice(1, 2, 500, 501);
}

/* Nothing came after what was lost, not even that something was. */
static void test_lost_at_the_end(void **state)
{
	(void)state;
	in(1, 0, 0);
	sample(1, 0, 4);
	wtl_trace_end(&trace, 10000 * MS);
	assert_int_equal(trace.n_slices, 1);
	assert_slice(0, 1, 0, 4);
}

/* On a processor and waiting: together all of a thread's time, whatever was lost; and each wait is some node's. */
static void test_waiting(void **state)
{
	int64_t all_ns = 0;

	(void)state;
	trace.has_waits = true;
	in(1, 0, 10);
	in(2, 1, 12);
	sample(1, 0, 14);
	out(1, 0, 15);
	in(1, 1, 40);
	out(2, 1, 41);
	lost(1, 45);
	in(2, 0, 50);
	in(1, 1, 60); /* that it left was lost: it is seen last at 40 */
	out(1, 1, 61);
	wtl_trace_end(&trace, 100 * MS);
	assert_int_equal(trace.threads[0].cpu_ns + trace.threads[0].wait_ns, 90 * MS);
	assert_int_equal(trace.threads[1].cpu_ns + trace.threads[1].wait_ns, 88 * MS);
	assert_int_equal(trace.threads[0].cpu_ns, 6 * MS);
	for (size_t i = 0; i < trace.n_waits; i++)
		all_ns += trace.waits_ns[i];
	assert_int_equal(all_ns, trace.threads[0].wait_ns + trace.threads[1].wait_ns);
}

/* As of a program that runs for days: no more than a hundred of each, and no time is lost. */
static void test_long_profiles(void **state)
{
	int64_t cpu_ns = 0;

	(void)state;
	trace.samples_most = trace.slices_most = 100;
	for (int64_t t_ms = 0; t_ms < 100000; t_ms += 10) {
		in(1, 0, t_ms);
		sample(1, 0, t_ms + 1);
		out(1, 0, t_ms + 4);
		in(2, 0, t_ms + 5);
		out(2, 0, t_ms + 7);
	}
	wtl_trace_end(&trace, 100000 * MS);
	assert_in_range(trace.n_slices, 50, 100);
	assert_in_range(trace.n_samples, 50, 100);
	assert_int_equal(trace.threads[0].n_samples, trace.n_samples);
	assert_int_equal(trace.n_samples << trace.n_halved, 10000 / 128 * 128 + 128);
	for (size_t i = 0; i < trace.n_slices; i++)
		cpu_ns += trace.slices[i].end_ns - trace.slices[i].begin_ns;
	assert_int_equal(cpu_ns, 10000 * 6 * MS);
	assert_false(trace.is_full);
}

static void born(int pid, int parent)
{
	const struct wtl_ring_event event = {.kind = WTL_RING_BORN,
					     .pid = NOBODY + pid,
					     .tid = NOBODY + pid,
					     .born = {NOBODY + parent, NOBODY + parent}};

	wtl_trace_take(&trace, &event);
}

static void ended(int pid)
{
	const struct wtl_ring_event event = {
		.kind = WTL_RING_ENDED, .pid = NOBODY + pid, .tid = NOBODY + pid};

	wtl_trace_take(&trace, &event);
}

/* At the exec() of a program that may not be looked at, the kernel says that the thread ended. */
static void test_hidden_programs(void **state)
{
	enum kind { HIDDEN, MAPS, LEAVES, AFTER_LOSS, N_KINDS };

	(void)state;
	for (int kind = HIDDEN; kind < N_KINDS; kind++) {
		struct wtl_ring_event event = {.kind = WTL_RING_NAME,
					       .pid = NOBODY + kind,
					       .tid = NOBODY + kind,
					       .name = {"sudo", true}};

		wtl_trace_take(&trace, &event);
		event = (struct wtl_ring_event){.kind = WTL_RING_SWITCH,
						.pid = event.pid,
						.tid = event.tid,
						.turn = {.is_out = true}};
		if (kind == MAPS) {
			event.kind = WTL_RING_MAP;
			event.map.path = "/nowhere/sudo";
		}
		if (kind == MAPS || kind == LEAVES)
			wtl_trace_take(&trace, &event);
		if (kind == AFTER_LOSS)
			lost(0, 1);
		ended(kind);
		ended(kind);
		assert_int_equal(wtl_trace_n_hidden(&trace), 1);
	}
}

/* What they had mapped is forgotten. */
static void test_processes_that_ended(void **state)
{
	(void)state;
	for (int pid = 1; pid <= 1000; pid++) {
		born(pid, 0);
		ended(pid);
		ended(pid); /* twice is once */
	}
	assert_int_equal(trace.spaces.n, 1);
}

/* One row for all of a command that ended before they were seen; none for one that was. */
static void test_short_processes(void **state)
{
	struct wtl_ring_event left = {.kind = WTL_RING_SWITCH, .turn.is_out = true};
	struct wtl_ring_event seen = {.kind = WTL_RING_SAMPLE, .t_ns = 80 * MS + 1};
	uint32_t node;

	(void)state;
	for (int pid = 1; pid <= 9; pid++) {
		const struct wtl_ring_event name = {.kind = WTL_RING_NAME,
						    .pid = NOBODY + pid,
						    .tid = NOBODY + pid,
						    .cpu = 0,
						    .t_ns = 10 * pid * MS,
						    .name = {pid == 9 ? "make" : "cc1", true}};

		born(pid, 0);
		wtl_trace_take(&trace, &name);
		if (pid == 8) {
			seen.pid = seen.tid = NOBODY + pid;
			wtl_trace_take(&trace, &seen);
		}
		left.pid = left.tid = NOBODY + pid;
		left.t_ns = (10 * pid + 1) * MS;
		wtl_trace_take(&trace, &left);
		ended(pid);
	}
	wtl_trace_end(&trace, 1000 * MS);
	node = trace.threads[0].node;
	assert_string_equal(trace.tree.names[trace.tree.frames[trace.tree.nodes[node].frame].name],
			    "[cc1: too short]");
	for (size_t i = 0; i < trace.n_threads; i++) {
		const struct wtl_trace_thread *thread = &trace.threads[i];

		if (thread->tid == NOBODY || thread->tid == NOBODY + 8)
			assert_int_equal(thread->node, 0);
		else if (thread->tid == NOBODY + 9)
			assert_int_not_equal(thread->node, node);
		else
			assert_int_equal(thread->node, node);
	}
}

/* Whether one of the calls has that name. */
static bool is_called(const char *name)
{
	struct wtl_split split;
	struct wtl_split_result result;
	struct wtl_calls calls;
	bool is_called = false;

	wtl_split_init(&split, 0, 0);
	assert_int_equal(wtl_split_compute(&split, &trace, &result), 0);
	assert_int_equal(wtl_calls_make(&trace, &result, &calls), 0);
	for (uint32_t i = 1; i < calls.tree.n_nodes; i++)
		is_called |= strcmp(wtl_calls_name(&calls, i), name) == 0;
	wtl_calls_done(&calls);
	wtl_split_result_done(&result);
	wtl_split_done(&split);
	return is_called;
}

/* A library that was deleted, and that the kernel gives to nobody: no stack goes past it, however much is copied. */
static void test_a_file_that_is_gone(void **state)
{
	const struct wtl_ring_event mapped = {
		.kind = WTL_RING_MAP,
		.pid = NOBODY,
		.tid = NOBODY,
		.map = {.start = 0x1000, .length = 0x1000, .inode = 7, .path = "/nowhere/gone.so"}};
	struct wtl_ring_event seen = {
		.kind = WTL_RING_SAMPLE, .pid = NOBODY, .tid = NOBODY, .t_ns = MS};

	(void)state;
	seen.sample.has_registers = true;
	seen.sample.registers[WTL_UNWIND_PC] = 0x1800;
	wtl_trace_take(&trace, &mapped);
	wtl_trace_take(&trace, &seen);
	assert_int_equal(trace.n_broken, 1);
	seen.sample.is_turn = true; /* counts as well */
	wtl_trace_take(&trace, &seen);
	wtl_trace_end(&trace, 2 * MS);
	assert_true(is_called("[gone.so: file is gone]"));
	assert_int_equal(trace.n_broken, 2);
	assert_int_equal(trace.n_cut, 0);
}

/* A thread leaves its processor; of that the kernel tells the registers, or nothing. Then it comes back. */
static void rest(int tid, bool is_bare, int64_t left_ms, int64_t back_ms)
{
	static uint64_t stack[8];
	struct wtl_ring_event bare = {.kind = WTL_RING_SAMPLE,
				      .pid = program,
				      .tid = NOBODY + tid,
				      .t_ns = left_ms * MS,
				      .sample = {.is_turn = true, .is_bare = true}};

	bare.sample.has_registers = true;
	bare.sample.registers[WTL_UNWIND_PC] = 0x1800;
	bare.sample.registers[WTL_UNWIND_SP] = (uintptr_t)stack;
	in(tid, tid, left_ms - 50); /* it runs for too long to be where it was shown before */
	wtl_trace_take(&trace, &bare);
	if (!is_bare) { /* then it told of the time before */
		out(tid, tid, left_ms - 40);
		in(tid, tid, left_ms - 40);
	}
	wtl_trace_look_back(&trace); /* it is still there */
	out(tid, tid, left_ms);
	wtl_trace_look_back(&trace);
	in(tid, tid, back_ms);
	out(tid, tid, back_ms);
}

/* How long threads waited at places that are not known. */
static int64_t unknown_ms(void)
{
	int64_t sum_ns = 0;

	for (uint32_t i = 1; i < trace.n_waits; i++)
		if (trace.tree.nodes[i].frame == trace.unresolved)
			sum_ns += trace.waits_ns[i];
	return sum_ns / MS;
}

/* Its stack is read while it sleeps: of one that came back before that, nothing is known. */
static void test_waiting_unseen(void **state)
{
	const int64_t now_ms = wtl_thread_clock_ns() / MS;
	struct wtl_ring_event mapped = {
		.kind = WTL_RING_MAP,
		.map = {.start = 0x1000, .length = 0x1000, .inode = 7, .path = "/nowhere/gone.so"}};

	(void)state;
	program = mapped.pid = getpid();
	mapped.tid = NOBODY + 1;
	trace.has_waits = true;
	assert_int_equal(wtl_asleep_init(&trace.asleep), 0);
	wtl_trace_take(&trace, &mapped);
	rest(1, true, now_ms - 20000, now_ms - 19000);
	rest(1, false, now_ms - 10000, now_ms + 1000);
	rest(2, true, now_ms - 10000, now_ms + 1000);
	wtl_trace_end(&trace, (now_ms + 1500) * MS);
	assert_true(is_called("[gone.so: file is gone]"));
	/* All of the first thread's, and nothing of the second one's. */
	assert_int_equal(unknown_ms(), 1000 + 8950 + 11000 + 500);
}

static int ends[2];
static volatile int sleeper;

static void *fall_asleep(void *unused)
{
	char byte;

	sleeper = gettid();
	return read(ends[0], &byte, 1) < 0 ? unused : NULL;
}

/* The kernel tells when a thread left, and not where. It is looked at while some of its records are not taken yet. */
static void test_looked_at_in_its_sleep(void **state)
{
	struct wtl_ring_event asleep,
		mapped = {.kind = WTL_RING_MAP,
			  .pid = getpid(),
			  .map = {.length = INT64_MAX, .inode = 7, .path = "/nowhere/gone.so"}};
	pthread_t thread;
	int64_t now_ms;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pthread_create(&thread, NULL, fall_asleep, NULL), 0);
	for (int i = 0; i < 1000 && (!sleeper || !wtl_asleep_find(getpid(), sleeper, &asleep)); i++)
		usleep(1000);
	program = getpid();
	mapped.tid = sleeper;
	trace.has_waits = trace.lacks_turns = true;
	assert_int_equal(wtl_asleep_init(&trace.asleep), 0);
	wtl_trace_take(&trace, &mapped);
	now_ms = wtl_thread_clock_ns() / MS;
	in(sleeper - NOBODY, 1, now_ms - 50);
	out(sleeper - NOBODY, 1, now_ms - 3);
	wtl_trace_look_back(&trace);
	/* It is the next wait that was looked at; */
	in(sleeper - NOBODY, 1, now_ms - 2);
	out(sleeper - NOBODY, 1, now_ms - 1);
	in(sleeper - NOBODY, 1, now_ms + 1000);
	out(sleeper - NOBODY, 1, now_ms + 1050);
	wtl_trace_look_back(&trace);
	/* or one that is over. */
	in(sleeper - NOBODY, 1, now_ms + 3050);
	wtl_trace_end(&trace, (now_ms + 3100) * MS);
	assert_int_equal(write(ends[1], "", 1), 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	close(ends[0]);
	close(ends[1]);
	if (!asleep.sample.has_registers)
		skip();
	assert_true(is_called("[gone.so: file is gone]"));
	assert_int_equal(unknown_ms(), 2000);
}

/* Another than the first thread becomes a program: it has the first one's number from there on, and does not wait. */
static void test_a_thread_becomes_a_program(void **state)
{
	struct wtl_ring_event event = {
		.kind = WTL_RING_ENDED, .pid = NOBODY, .tid = NOBODY, .cpu = 0, .t_ns = 20 * MS};
	int64_t wait_ns = 0;

	(void)state;
	trace.has_waits = true;
	in(0, 0, 0);
	out(0, 0, 5);
	in(1, 1, 5);
	in(0, 0, 19);
	wtl_trace_take(&trace, &event);
	event = (struct wtl_ring_event){.kind = WTL_RING_NAME,
					.pid = NOBODY,
					.tid = NOBODY,
					.cpu = 1,
					.t_ns = 30 * MS,
					.name = {.name = "sleep", .is_exec = true}};
	wtl_trace_take(&trace, &event);
	out(0, 1, 40);
	wtl_trace_end(&trace, 2040 * MS);
	for (size_t i = 0; i < trace.n_threads; i++)
		wait_ns += trace.threads[i].wait_ns;
	assert_int_equal(wait_ns, (14 + 2000) * MS);
	assert_int_equal(trace.n_slices, 4);
	assert_slice(0, 0, 0, 5);
	assert_slice(1, 0, 19, 20);
	assert_slice(2, 1, 5, 30);
	assert_slice(3, 0, 30, 40);
	assert_int_equal(wtl_spaces_find(&trace.spaces, NOBODY)->n_threads, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_turns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_born_twice, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost_samples, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_it_came_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_one_is_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lost_at_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waiting, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_thread_becomes_a_program, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hidden_programs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waiting_unseen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_profiles, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_short_processes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_processes_that_ended, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_file_that_is_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_looked_at_in_its_sleep, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
