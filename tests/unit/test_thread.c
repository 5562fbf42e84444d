/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "unit.h"

#define MS	 INT64_C(1000000)
#define PATIENCE (20000 * MS)

static void *note_mask(void *argument)
{
	pthread_sigmask(SIG_SETMASK, NULL, argument);
	return NULL;
}

/* No signal of the program's goes to it, and whoever started it has the ones as before. */
static void test_signals(void **state)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD, SIGALRM, SIGPROF, SIGUSR1};
	sigset_t in_thread, mask;
	pthread_t thread;

	(void)state;
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	assert_int_equal(wtl_thread_start(&thread, note_mask, &in_thread), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	for (size_t i = 0; i < UNIT_COUNT(signals); i++) {
		assert_int_equal(sigismember(&in_thread, signals[i]), 1);
		assert_int_equal(sigismember(&mask, signals[i]), signals[i] == SIGUSR1);
	}
	/* A handler of that is asked in the thread that touched what is not there. */
	assert_int_equal(sigismember(&in_thread, SIGBUS), 0);
}

struct flag {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_set;
};

static void *set_flag(void *argument)
{
	struct flag *flag = argument;

	usleep(5000);
	pthread_mutex_lock(&flag->lock);
	flag->is_set = true;
	pthread_cond_signal(&flag->changed);
	pthread_mutex_unlock(&flag->lock);
	return NULL;
}

static void test_waiting(void **state)
{
	struct flag flag = {.is_set = false};
	pthread_t thread;
	int64_t begin_ns = wtl_thread_clock_ns(), until_ns = begin_ns + 5 * MS;

	(void)state;
	pthread_mutex_init(&flag.lock, NULL);
	wtl_thread_cond_init(&flag.changed);
	pthread_mutex_lock(&flag.lock);
	/* Nobody sets it: the time comes, and not before it has come. */
	while (wtl_thread_wait(&flag.changed, &flag.lock, until_ns))
		continue;
	assert_true(wtl_thread_clock_ns() >= until_ns);
	/* It has come already. */
	assert_false(wtl_thread_wait(&flag.changed, &flag.lock, 0));
	assert_false(wtl_thread_wait(&flag.changed, &flag.lock, begin_ns));
	/* Somebody sets it before. */
	assert_int_equal(wtl_thread_start(&thread, set_flag, &flag), 0);
	until_ns = wtl_thread_clock_ns() + PATIENCE;
	while (!flag.is_set && wtl_thread_wait(&flag.changed, &flag.lock, until_ns))
		continue;
	assert_true(flag.is_set);
	pthread_mutex_unlock(&flag.lock);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_cond_destroy(&flag.changed);
	pthread_mutex_destroy(&flag.lock);
}

struct reader {
	struct wtl_io *io;
	int file;
	unsigned good;
};

static void *reader_run(void *context)
{
	struct reader *reader = context;
	char buf[8];

	for (int i = 0; i < 500; i++)
		reader->good += wtl_io_file_read(reader->io, reader->file, buf, sizeof(buf)) == 1;
	return NULL;
}

static void readers_run(struct wtl_io *io)
{
	struct reader readers[4];
	pthread_t threads[4];
	char path[16];

	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		readers[i] = (struct reader){.io = io, .file = wtl_io_file_open(io, path)};
		assert_true(readers[i].file >= 0);
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, reader_run, &readers[i]), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(readers[i].good, 500);
		wtl_io_file_close(io, readers[i].file);
	}
}

/* A tape is written, and replayed, by several at once. */
static void test_readers(void **state)
{
	char *dir = unit_tmpdir(), *path = unit_path(dir, "tape");
	struct wtl_io *io, *real;

	(void)state;
	for (int i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof(name), "/%d", i);
		unit_write(dir, name, "x");
	}
	assert_int_equal(wtl_io_real_new(dir, &real, NULL), 0);
	assert_int_equal(wtl_io_record_new(real, path, &io, NULL), 0);
	readers_run(io);
	assert_int_equal(wtl_io_record_error(io), 0);
	wtl_io_free(io);
	assert_int_equal(wtl_io_replay_new(path, &io, NULL), 0);
	readers_run(io);
	wtl_io_free(io);
	free(path);
	unit_rmtree(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
