/* SPDX-License-Identifier: MIT */
/* Looking at GPUs' processes beside the tick. What a stuck look uses is left behind by design, so leaks are
 * not looked for in this program. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "meter/gpu_watch.h"
#include "left_behind.h"
#include "nvml_bench.h"
#include "pass_io.h"
#include "unit.h"

#define ONE_GPU	 "gpu Fake\n  power 0 const 100\n  process 7 C 100 60 20 0 0\n"
#define LIST	 "nvmlDeviceGetComputeRunningProcesses_v3"
#define FOR_EVER "100000000"

struct fixture {
	struct nv nv;
	struct wtl_gpu_watch *watch;
};

static void start_many(struct fixture *f, const char *script, const struct wtl_gpu gpus[], size_t n,
		       bool in_thread)
{
	struct wtl_env env = {.io = &f->nv.bench.io};
	struct wtl_gpu_use *use;

	nv_empty_own(&f->nv, script);
	f->nv.ops.lib_has = pass_lib_has;
	assert_int_equal(wtl_gpu_use_new(&env, nv_library(), gpus, n, &use, NULL), 0);
	env.io->has_one_order = !in_thread;
	assert_int_equal(wtl_gpu_watch_new(env.io, use, &f->watch), 0);
	nv_set_time(&f->nv, S(2.5));
}

/* n GPUs (0 or 1) on the fake, by a script of the test's own. */
static void start(struct fixture *f, const char *script, size_t n, bool in_thread)
{
	const struct wtl_gpu gpu = {
		.vendor = "nvidia", .domain = "gpu-0", .bus_id = "00000000:17:00.0"};

	start_many(f, script, &gpu, n, in_thread);
}

static void finish(struct fixture *f)
{
	assert_true(wtl_gpu_watch_free(f->watch));
	nv_done(&f->nv);
}

static void exchange(const struct fixture *f)
{
	wtl_gpu_watch_ask(f->watch);
	wtl_gpu_watch_take(f->watch);
}

static const struct wtl_gpu_use_gpu *first(const struct fixture *f)
{
	size_t n;
	const struct wtl_gpu_use_gpu *gpus = wtl_gpu_watch_gpus(f->watch, &n);

	assert_int_equal(n, 1);
	return gpus;
}

static void check_answer(const struct fixture *f)
{
	const struct wtl_gpu_use_gpu *gpu = first(f);

	assert_int_equal(gpu->method, WTL_GPU_USE_SAMPLES);
	assert_int_equal(gpu->n_processes, 1);
	assert_int_equal(gpu->processes[0].pid, 7);
	assert_int_equal(gpu->processes[0].use_ppm, 600000);
	assert_string_equal(gpu->domain, "gpu-0");
}

static void test_by_the_caller(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, ONE_GPU, 1, false);
	/* Before the first exchange, names alone are known. */
	assert_int_equal(first(&f)->method, WTL_GPU_USE_NONE);
	assert_int_equal(first(&f)->n_processes, 0);
	assert_string_equal(first(&f)->domain, "gpu-0");
	exchange(&f);
	check_answer(&f);
	finish(&f);
}

/* Until the answer is there, at most a few seconds; drivers may be slow to start. */
static void exchange_until_known(struct fixture *f)
{
	const struct timespec moment = {.tv_nsec = 10000000};

	for (int i = 0; i < 1000 && first(f)->method == WTL_GPU_USE_NONE; i++) {
		exchange(f);
		nanosleep(&moment, NULL);
	}
}

static void test_in_a_thread(void **state)
{
	struct fixture f;
	size_t n;

	(void)state;
	start(&f, ONE_GPU, 1, true);
	assert_int_equal(first(&f)->method, WTL_GPU_USE_NONE);
	exchange_until_known(&f);
	check_answer(&f);
	/* An answer is a copy: it stays as it is until the next exchange. */
	nv_set_time(&f.nv, S(100));
	check_answer(&f);
	exchange(&f);
	check_answer(&f);
	assert_ptr_equal(wtl_gpu_watch_gpus(f.watch, &n), first(&f));
	finish(&f);
}

/* Each GPU's processes are its own, however many the others have, and at the next look as well. */
static void test_many_processes(void **state)
{
	enum { MANY = 60 };
	static const char *const buses[] = {"00000000:17:00.0", "00000000:ca:00.0"};
	struct wtl_gpu gpus[2] = {{.vendor = "nvidia", .domain = "gpu-0"},
				  {.vendor = "nvidia", .domain = "gpu-1"}};
	struct fixture f;
	char script[4096];
	size_t len = 0, n;

	(void)state;
	for (int i = 0; i < 2; i++) {
		snprintf(gpus[i].bus_id, sizeof(gpus[i].bus_id), "%s", buses[i]);
		len += (size_t)snprintf(script + len, sizeof(script) - len,
					"gpu Fake\n  bus %s\n  power 0 const 100\n", buses[i]);
		for (int k = 0; k < (i == 0 ? MANY : 2); k++)
			len += (size_t)snprintf(script + len, sizeof(script) - len,
						"  process %d C 100 1 0 0 0\n", 100 * i + k + 1);
	}
	start_many(&f, script, gpus, 2, false);
	for (int look = 0; look < 3; look++) {
		const struct wtl_gpu_use_gpu *seen;

		nv_set_time(&f.nv, S(2.5 + look));
		exchange(&f);
		seen = wtl_gpu_watch_gpus(f.watch, &n);
		assert_int_equal(n, 2);
		assert_int_equal(seen[0].n_processes, MANY);
		assert_int_equal(seen[1].n_processes, 2);
		for (int k = 0; k < MANY; k++)
			assert_int_equal(seen[0].processes[k].pid, k + 1);
		for (int k = 0; k < 2; k++)
			assert_int_equal(seen[1].processes[k].pid, 100 + k + 1);
	}
	finish(&f);
}

/* Asks after a look of 30 ms. Is the next one, which takes 5, waited for? */
static bool is_waited_for(void)
{
	const struct timespec moment = {.tv_nsec = 50000000};
	struct fixture f;
	bool is = false;

	start(&f,
	      "delay " LIST " 30 from 4 until 10\ndelay " LIST " 5 from 10\n" ONE_GPU
	      "  process 8 C 100 0 0 0 0 4\n  process 9 C 100 0 0 0 0 10\n",
	      1, true);
	exchange_until_known(&f);
	for (unsigned n = 2; n <= 3; n++) {
		nv_set_time(&f.nv, S(n == 2 ? 5 : 11));
		for (int i = 0; i < 1000 && first(&f)->n_processes < n; i++) {
			wtl_gpu_watch_ask(f.watch);
			is = first(&f)->n_processes < n;
			wtl_gpu_watch_take(f.watch);
			nanosleep(&moment, NULL);
		}
		assert_int_equal(first(&f)->n_processes, n); /* and no look is under way */
	}
	finish(&f);
	return is;
}

static void test_slow_driver(void **state)
{
	int n = 0;

	(void)state;
	/* A busy machine may be slower than the driver. */
	while (is_waited_for())
		assert_in_range(++n, 1, 3);
}

/* The thread waits for a request: nobody looks at a GPU that nobody asks for. */
static void test_looks_on_request_only(void **state)
{
	const struct timespec moment = {.tv_nsec = 50000000};
	struct fixture f;

	(void)state;
	start(&f, ONE_GPU, 1, true);
	nanosleep(&moment, NULL);
	assert_int_equal(f.nv.lib_opens, 0);
	exchange_until_known(&f);
	assert_int_equal(f.nv.lib_opens, 1);
	finish(&f);
}

/* Never asked, or asked and not waited for: closing is quiet. */
static void test_closing(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, ONE_GPU, 1, true);
	finish(&f);
	start(&f, ONE_GPU, 1, true);
	exchange(&f);
	finish(&f);
	start(&f, ONE_GPU, 0, true);
	exchange(&f);
	finish(&f);
	assert_true(wtl_gpu_watch_free(NULL));
}

/* One that never answers: closing leaves all that it uses behind. */
static void test_stuck_look(void **state)
{
	static struct fixture f; /* outlives the test, like the thread */
	int64_t begin_ns;

	(void)state;
	start(&f, "delay " LIST " " FOR_EVER "\n" ONE_GPU, 1, true);
	begin_ns = wtl_thread_clock_ns();
	/* It is not waited for, however often one asks. */
	for (int i = 0; i < 100; i++) {
		exchange(&f);
		assert_int_equal(first(&f)->method, WTL_GPU_USE_NONE);
	}
	assert_true(wtl_thread_clock_ns() - begin_ns < 15 * INT64_C(1000000000));
	begin_ns = wtl_thread_clock_ns();
	assert_false(wtl_gpu_watch_free(f.watch));
	assert_true(wtl_thread_clock_ns() - begin_ns < 15 * INT64_C(1000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_the_caller),
		cmocka_unit_test(test_in_a_thread),
		cmocka_unit_test(test_many_processes),
		cmocka_unit_test(test_slow_driver),
		cmocka_unit_test(test_looks_on_request_only),
		cmocka_unit_test(test_closing),
		cmocka_unit_test(test_stuck_look),
	};

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	/* The stuck look is still in the library: nothing may be taken apart. */
	fflush(NULL);
	_exit(failed);
}
