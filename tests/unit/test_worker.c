/* SPDX-License-Identifier: MIT */
/* A thread that does one job at a time. What the job writes has no lock here: under the thread sanitizer these
 * tests say whether the worker hands it over. Times are limits to patience; none decides a test. */
#include "base/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/thread.h"
#include "unit.h"

#define MS	 INT64_C(1000000)
#define PATIENCE (20000 * MS)

int __wrap_sem_wait(sem_t *semaphore);
int __wrap_sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until);
int __wrap_pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes,
			  void *(*run)(void *), void *argument);
int __real_sem_wait(sem_t *semaphore);
int __real_sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until);
int __real_pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes,
			  void *(*run)(void *), void *argument);

/* Every other wait ends at once and for nothing, as a signal would end it. */
static bool wakes_for_nothing;
static unsigned n_waits;
static bool has_no_threads;

static bool is_for_nothing(void)
{
	bool is = __atomic_load_n(&wakes_for_nothing, __ATOMIC_SEQ_CST) &&
		  __atomic_fetch_add(&n_waits, 1, __ATOMIC_SEQ_CST) % 2 == 0;

	if (is)
		errno = EINTR;
	return is;
}

int __wrap_sem_wait(sem_t *semaphore)
{
	return is_for_nothing() ? -1 : __real_sem_wait(semaphore);
}

int __wrap_sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
	return is_for_nothing() ? -1 : __real_sem_clockwait(semaphore, clock, until);
}

int __wrap_pthread_create(pthread_t *ret_thread, const pthread_attr_t *attributes,
			  void *(*run)(void *), void *argument)
{
	return has_no_threads ? EAGAIN
			      : __real_pthread_create(ret_thread, attributes, run, argument);
}

/* Is added to the jobs by the end. */
enum { AFTER_END = 1000 };

struct fixture {
	struct wtl_worker *worker;

	/* The job's memory, without a lock. */
	unsigned n_jobs;
	pthread_t thread, end_thread;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool hold; /* jobs do not return */
	unsigned begun, ended;
};

static void do_job(void *argument)
{
	struct fixture *f = argument;

	pthread_mutex_lock(&f->lock);
	f->begun++;
	pthread_cond_broadcast(&f->changed);
	while (f->hold)
		pthread_cond_wait(&f->changed, &f->lock);
	pthread_mutex_unlock(&f->lock);
	f->n_jobs++;
	f->thread = pthread_self();
}

static void do_end(void *argument)
{
	struct fixture *f = argument;

	f->n_jobs += AFTER_END;
	f->end_thread = pthread_self();
	pthread_mutex_lock(&f->lock);
	f->ended++;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

static void start(struct fixture *f, void (*end)(void *argument), bool hold)
{
	*f = (struct fixture){.hold = hold};
	pthread_mutex_init(&f->lock, NULL);
	wtl_thread_cond_init(&f->changed);
	assert_int_equal(wtl_worker_new(do_job, end, f, &f->worker), 0);
}

static void finish(struct fixture *f)
{
	assert_true(wtl_worker_free(f->worker, PATIENCE));
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
}

static void set_hold(struct fixture *f, bool hold)
{
	pthread_mutex_lock(&f->lock);
	f->hold = hold;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
}

static void await(struct fixture *f, const unsigned *count, unsigned n)
{
	int64_t until_ns = wtl_thread_clock_ns() + PATIENCE;
	unsigned seen;

	pthread_mutex_lock(&f->lock);
	while (*count < n && wtl_thread_wait(&f->changed, &f->lock, until_ns))
		continue;
	seen = *count;
	pthread_mutex_unlock(&f->lock);
	assert_true(seen >= n);
}

/* The job of an order is done once, and told once. */
static void test_told_once(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, NULL, false);
	assert_false(wtl_worker_take(f.worker, 0));
	/* What was not ordered is not waited for. */
	assert_false(wtl_worker_take(f.worker, INT64_MAX / 4));
	assert_int_equal(f.n_jobs, 0);
	assert_true(wtl_worker_order(f.worker));
	assert_true(wtl_worker_take(f.worker, PATIENCE));
	assert_int_equal(f.n_jobs, 1);
	assert_false(pthread_equal(f.thread, pthread_self()));
	assert_false(wtl_worker_take(f.worker, 0));
	assert_false(wtl_worker_take(f.worker, INT64_MAX / 4));
	finish(&f);
	assert_int_equal(f.n_jobs, 1);
}

/* To and fro, by the same thread each time. */
static void hand_to_and_fro(unsigned rounds)
{
	pthread_t thread;
	struct fixture f;

	start(&f, NULL, false);
	for (unsigned i = 1; i <= rounds; i++) {
		assert_true(wtl_worker_order(f.worker));
		assert_true(wtl_worker_take(f.worker, PATIENCE));
		assert_int_equal(f.n_jobs, i);
		if (i > 1)
			assert_true(pthread_equal(f.thread, thread));
		thread = f.thread;
	}
	finish(&f);
}

static void test_many(void **state)
{
	(void)state;
	hand_to_and_fro(2000);
}

/* No wait is over because it ended. */
static void test_woken_for_nothing(void **state)
{
	struct fixture f;

	(void)state;
	__atomic_store_n(&wakes_for_nothing, true, __ATOMIC_SEQ_CST);
	hand_to_and_fro(500);
	start(&f, do_end, true);
	assert_true(wtl_worker_order(f.worker));
	await(&f, &f.begun, 1);
	assert_false(wtl_worker_take(f.worker, MS));
	set_hold(&f, false);
	assert_true(wtl_worker_take(f.worker, PATIENCE));
	finish(&f);
	__atomic_store_n(&wakes_for_nothing, false, __ATOMIC_SEQ_CST);
	assert_true(n_waits > 2);
	assert_int_equal(f.n_jobs, AFTER_END + 1);
}

/* One that is under way is waited for at most so long; nothing is ordered beside it, or kept for later. */
static void test_busy(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, NULL, true);
	assert_true(wtl_worker_order(f.worker));
	for (int i = 0; i < 3; i++) {
		assert_false(wtl_worker_order(f.worker));
		assert_false(wtl_worker_take(f.worker, 0));
		assert_false(wtl_worker_take(f.worker, MS));
	}
	await(&f, &f.begun, 1);
	assert_false(wtl_worker_order(f.worker));
	assert_false(wtl_worker_take(f.worker, -1));
	set_hold(&f, false);
	assert_true(wtl_worker_take(f.worker, PATIENCE));
	assert_int_equal(f.n_jobs, 1);
	assert_false(wtl_worker_take(f.worker, 0));
	finish(&f);
	assert_int_equal(f.n_jobs, 1);
}

/* That it is done is told of the newest order alone. */
static void test_not_taken(void **state)
{
	const struct timespec moment = {.tv_nsec = MS};
	int64_t until_ns = wtl_thread_clock_ns() + PATIENCE;
	struct fixture f;

	(void)state;
	start(&f, NULL, false);
	assert_true(wtl_worker_order(f.worker));
	await(&f, &f.begun, 1);
	set_hold(&f, true);
	/* It is free again without anybody having taken. */
	while (!wtl_worker_order(f.worker)) {
		assert_true(wtl_thread_clock_ns() < until_ns);
		nanosleep(&moment, NULL);
	}
	await(&f, &f.begun, 2);
	assert_false(wtl_worker_take(f.worker, 0));
	set_hold(&f, false);
	assert_true(wtl_worker_take(f.worker, PATIENCE));
	assert_int_equal(f.n_jobs, 2);
	assert_false(wtl_worker_take(f.worker, 0));
	finish(&f);
}

/* Its last word is the same thread's, after its last job; never more than one. */
static void test_end(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, do_end, false);
	finish(&f);
	assert_int_equal(f.n_jobs, AFTER_END);
	start(&f, do_end, false);
	assert_true(wtl_worker_order(f.worker));
	assert_true(wtl_worker_take(f.worker, PATIENCE));
	finish(&f);
	assert_int_equal(f.n_jobs, AFTER_END + 1);
	assert_true(pthread_equal(f.thread, f.end_thread));
	/* An order that was not taken, and may not have begun. */
	for (int i = 0; i < 50; i++) {
		start(&f, do_end, false);
		assert_true(wtl_worker_order(f.worker));
		finish(&f);
		assert_int_equal(f.n_jobs, AFTER_END + f.begun);
		assert_int_equal(f.ended, 1);
	}
	assert_true(wtl_worker_free(NULL, 0));
}

static void *release_soon(void *argument)
{
	const struct timespec moment = {.tv_nsec = 20 * MS};

	nanosleep(&moment, NULL);
	set_hold(argument, false);
	return NULL;
}

/* Closing waits for a job that is under way and comes back. */
static void test_closed_in_flight(void **state)
{
	pthread_t releaser;
	struct fixture f;

	(void)state;
	start(&f, do_end, true);
	assert_true(wtl_worker_order(f.worker));
	await(&f, &f.begun, 1);
	assert_int_equal(pthread_create(&releaser, NULL, release_soon, &f), 0);
	assert_true(wtl_worker_free(f.worker, PATIENCE));
	assert_int_equal(f.n_jobs, AFTER_END + 1);
	pthread_join(releaser, NULL);
}

/* One that comes back after its owner has gone ends as others do; what it left is not leaked. */
static void test_left_behind(void **state)
{
	static struct fixture f; /* outlives the test, like the thread */

	(void)state;
	start(&f, do_end, true);
	assert_true(wtl_worker_order(f.worker));
	await(&f, &f.begun, 1);
	assert_false(wtl_worker_free(f.worker, MS));
	f.worker = NULL;
	assert_int_equal(f.ended, 0);
	set_hold(&f, false);
	await(&f, &f.ended, 1);
	assert_int_equal(f.n_jobs, AFTER_END + 1);
}

/* It does not hold up the program's end either. */
static void test_never_returns(void **state)
{
	static struct fixture f;
	int64_t begin_ns;

	(void)state;
	start(&f, do_end, true);
	assert_true(wtl_worker_order(f.worker));
	await(&f, &f.begun, 1);
	begin_ns = wtl_thread_clock_ns();
	assert_false(wtl_worker_take(f.worker, 5 * MS));
	assert_false(wtl_worker_free(f.worker, 5 * MS));
	assert_true(wtl_thread_clock_ns() - begin_ns >= 10 * MS);
}

static void test_no_thread(void **state)
{
	struct wtl_worker *worker = NULL;

	(void)state;
	has_no_threads = true;
	assert_int_equal(wtl_worker_new(do_job, do_end, NULL, &worker), -EAGAIN);
	has_no_threads = false;
	assert_null(worker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_told_once),     cmocka_unit_test(test_many),
		cmocka_unit_test(test_busy),	      cmocka_unit_test(test_not_taken),
		cmocka_unit_test(test_end),	      cmocka_unit_test(test_closed_in_flight),
		cmocka_unit_test(test_left_behind),   cmocka_unit_test(test_woken_for_nothing),
		cmocka_unit_test(test_never_returns), cmocka_unit_test(test_no_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
