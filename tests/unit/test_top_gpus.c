/* SPDX-License-Identifier: MIT */
/* What the screen and recordings ask GPUs beside energy. What a stuck driver uses is left behind by design, so
 * leaks are not looked for in this program. */
#include "commands/top/collect.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/worker.h"
#include "energy/units.h"
#include "left_behind.h"
#include "nvml_bench.h"
#include "unit.h"

#define ONE_GPU	 "gpu Fake\n  power 0 const 100\n  memory 1024 0 0\n  process 7 C 100 60 20 0 0\n"
#define CALL	 "nvmlDeviceGetMemoryInfo_v2"
#define FOR_EVER "100000000"
#define WAIT_NS	 (20 * WTL_NS_PER_MS)
#define PATIENCE (20 * WTL_NS_PER_S)

/* Its GPUs, as a screen has them. */
struct fixture {
	struct nv nv;
	struct wattle_meter meter;
	struct wtl_gpu_details gpus;
	struct wtl_top_view view;
};

static void start(struct fixture *f, const char *script, bool in_thread)
{
	memset(f, 0, sizeof(*f));
	nv_empty_own(&f->nv, script);
	f->meter.env.io = f->nv.bench.real;
	f->meter.env.io->has_one_order = !in_thread;
	f->meter.nvml_path = strdup(nv_library());
	wtl_top_view_init(&f->view);
	assert_int_equal(wtl_top_gpus_init(&f->gpus, &f->meter, &f->view), 0);
}

static void take(struct fixture *f, int64_t wait_ns)
{
	wtl_gpu_details_ask(&f->gpus, wait_ns);
}

static void finish(struct fixture *f)
{
	assert_true(wtl_gpu_details_done(&f->gpus));
	wtl_top_view_done(&f->view);
	free(f->meter.nvml_path);
	nv_done(&f->nv);
}

/* Until there is an answer that is newer than that. */
static void take_until_after(struct fixture *f, int64_t t_ns)
{
	const struct timespec moment = {.tv_nsec = 5 * WTL_NS_PER_MS};
	int64_t until_ns = wtl_thread_clock_ns() + PATIENCE;

	while ((f->view.n_gpus == 0 || f->view.gpus_answered_ns <= t_ns) &&
	       wtl_thread_clock_ns() < until_ns) {
		take(f, 0);
		nanosleep(&moment, NULL);
	}
	assert_int_equal(f->view.n_gpus, 1);
	assert_true(f->view.gpus_answered_ns > t_ns);
}

static void check_answer(const struct fixture *f)
{
	const struct wtl_top_gpu *gpu = &f->view.gpus[0];

	assert_int_equal(f->view.n_gpus, 1);
	assert_string_equal(gpu->name, "Fake");
	assert_int_equal(gpu->numbers[WTL_TOP_GPU_MEMORY_TOTAL_BYTES].status, WATTLE_STATUS_OK);
	assert_int_equal(gpu->numbers[WTL_TOP_GPU_MEMORY_TOTAL_BYTES].value, UINT64_C(1) << 30);
}

/* A copy has no lists of the reader's, which the worker may change. */
static void test_a_copy(void **state)
{
	struct fixture f;

	(void)state;
	start(&f,
	      ONE_GPU "gpu Parted\n  power 0 const 100\n  mig on\n"
		      "  mig-device 1g.10gb MIG-0 1 0 9984 9 16\n  process 8 C 100\n",
	      false);
	f.gpus.keep = NULL;
	f.gpus.what = WTL_GPU_READ_NUMBERS | WTL_GPU_READ_PROCESSES;
	take(&f, 0);
	assert_int_equal(f.gpus.n, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_ptr_equal(f.gpus.gpus[i].processes, f.gpus.processes + i);
		assert_int_equal(f.gpus.gpus[i].n_processes, 1);
		assert_int_equal(f.gpus.processes[i].pid, 7 + i);
	}
	assert_int_equal(f.gpus.gpus[1].numbers[WTL_GPU_MIG_MODE].value, 1);
	assert_int_equal(f.gpus.gpus[1].n_migs, 0);
	assert_null(f.gpus.gpus[1].migs);
	finish(&f);
}

/* Each look is an answer of its own. */
static void test_by_the_caller(void **state)
{
	int64_t begin_ns = wtl_thread_clock_ns();
	struct fixture f;

	(void)state;
	start(&f, ONE_GPU, false);
	assert_null(f.gpus.worker);
	for (int i = 0; i < 3; i++) {
		take(&f, 0);
		check_answer(&f);
		assert_true(f.view.gpus_answered_ns > begin_ns);
		begin_ns = f.view.gpus_answered_ns;
	}
	assert_int_equal(f.gpus.n_reads, 3);
	finish(&f);
}

/* It is asked from the beginning, and again with every look. */
static void test_in_a_thread(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, ONE_GPU, true);
	take_until_after(&f, 0);
	check_answer(&f);
	take_until_after(&f, f.view.gpus_answered_ns);
	check_answer(&f);
	finish(&f);
}

/* How often the fake was asked that. */
static unsigned long calls(const char *function)
{
	void *fake = dlopen(nv_library(), RTLD_NOW | RTLD_NOLOAD);
	unsigned long (*fake_calls)(const char *function);
	unsigned long n;

	if (!fake)
		return 0;
	fake_calls = (unsigned long (*)(const char *))dlsym(fake, "fake_nvml_calls");
	n = fake_calls(function);
	dlclose(fake);
	return n;
}

static void put_domains(struct wtl_top_view *view, int gpu)
{
	assert_int_equal(wtl_top_view_reserve(view, 2, 0, 0, 0), 0);
	view->n_domains = 2;
	view->domains[0] =
		(struct wtl_top_domain){.name = "package-0", .kind = WATTLE_KIND_CPU, .gpu = gpu};
	view->domains[1] =
		(struct wtl_top_domain){.name = "gpu-0", .kind = WATTLE_KIND_GPU, .gpu = gpu};
}

static void test_its_domain(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, ONE_GPU, false);
	put_domains(&f.view, 7);
	take(&f, 0);
	assert_int_equal(f.view.domains[0].gpu, -1);
	assert_int_equal(f.view.domains[1].gpu, 0);
	finish(&f);
}

/* Whether there is no answer yet, or none is there. */
static void test_no_gpu(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, "", true);
	put_domains(&f.view, -1);
	for (int i = 0; i < 3; i++) {
		take(&f, 0);
		assert_int_equal(f.view.n_gpus, 0);
		for (size_t k = 0; k < f.view.n_domains; k++)
			assert_int_equal(f.view.domains[k].gpu, -1);
	}
	finish(&f);
}

/* A recording's values are those of its look, once a driver has answered; a slow one is not waited for. */
static void test_waiting(void **state)
{
	int64_t until_ns = wtl_thread_clock_ns() + PATIENCE, asked_ns;
	struct fixture f;

	(void)state;
	start(&f, "delay " CALL " 60 from 10\n" ONE_GPU, true);
	take_until_after(&f, 0);
	do {
		asked_ns = wtl_thread_clock_ns();
		take(&f, WAIT_NS);
	} while (f.view.gpus_answered_ns < asked_ns && asked_ns < until_ns);
	assert_true(f.view.gpus_answered_ns >= asked_ns);
	nv_set_time(&f.nv, S(20));
	while (f.gpus.answer_took_ns <= WAIT_NS && wtl_thread_clock_ns() < until_ns)
		take(&f, WAIT_NS);
	assert_true(f.gpus.answer_took_ns > WAIT_NS);
	asked_ns = wtl_thread_clock_ns();
	take(&f, WAIT_NS);
	assert_true(f.view.gpus_answered_ns < asked_ns);
	finish(&f);
}

/* What came is shown without asking again. */
static void test_refresh(void **state)
{
	int64_t until_ns = wtl_thread_clock_ns() + PATIENCE;
	struct fixture f;

	(void)state;
	start(&f, ONE_GPU, true);
	while (f.view.n_gpus == 0 && wtl_thread_clock_ns() < until_ns) {
		wtl_gpu_details_poll(&f.gpus, 0);
		usleep(1000);
	}
	check_answer(&f);
	assert_false(wtl_worker_take(f.gpus.worker, WTL_NS_PER_MS));
	assert_int_equal(f.gpus.n_reads, 1);
	finish(&f);
}

/* Whoever may wait for longer than an answer takes gets one each time. */
static void test_waited_for(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, ONE_GPU, true);
	take_until_after(&f, 0);
	assert_true(wtl_worker_take(f.gpus.worker, PATIENCE));
	for (int i = 0; i < 20; i++)
		assert_true(wtl_gpu_details_ask(&f.gpus, PATIENCE));
	finish(&f);
}

/* Never begun, or closed before the first answer was taken. */
static void test_closing(void **state)
{
	struct wtl_gpu_details none = {.n_reads = 0};
	struct fixture f;

	(void)state;
	assert_true(wtl_gpu_details_done(&none));
	start(&f, ONE_GPU, true);
	finish(&f);
}

/* Whoever shows what there is waits for nothing; what it said before stays, with its time. */
static void test_stuck(void **state)
{
	static struct fixture f; /* outlives the test, like the thread */
	int64_t begin_ns, answered_ns;
	unsigned long n_calls;

	(void)state;
	start(&f, "delay " CALL " " FOR_EVER " from 10\n" ONE_GPU, true);
	take_until_after(&f, 0);
	answered_ns = f.view.gpus_answered_ns;
	/* None is under way when it gets stuck. */
	assert_true(wtl_worker_take(f.gpus.worker, PATIENCE));
	nv_set_time(&f.nv, S(20));
	n_calls = calls(CALL);
	begin_ns = wtl_thread_clock_ns();
	for (int i = 0; i < 100 || calls(CALL) == n_calls; i++) {
		assert_true(wtl_thread_clock_ns() - begin_ns < PATIENCE);
		take(&f, 0);
		check_answer(&f);
		assert_int_equal(f.view.gpus_answered_ns, answered_ns);
	}
	assert_false(wtl_gpu_details_done(&f.gpus));
	assert_true(f.meter.io_lent);
	assert_true(wtl_thread_clock_ns() - begin_ns < PATIENCE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_the_caller), cmocka_unit_test(test_in_a_thread),
		cmocka_unit_test(test_a_copy),	      cmocka_unit_test(test_refresh),
		cmocka_unit_test(test_its_domain),    cmocka_unit_test(test_waited_for),
		cmocka_unit_test(test_no_gpu),	      cmocka_unit_test(test_closing),
		cmocka_unit_test(test_waiting),	      cmocka_unit_test(test_stuck),
	};

	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	/* The stuck look is still in the library: nothing may be taken apart. */
	fflush(NULL);
	_exit(failed);
}
