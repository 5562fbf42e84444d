/* SPDX-License-Identifier: MIT */
#include "meter_bench.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "unit.h"

enum { PATIENCE_S = 20 };

static struct meter_bench *bench_of(struct wtl_io *io)
{
	return (struct meter_bench *)io;
}

static int note_handle(struct meter_bench *bench, const char *path, int handle)
{
	if (handle >= 0 && handle < (int)UNIT_COUNT(bench->is_slow)) {
		pthread_mutex_lock(&bench->lock);
		bench->is_slow[handle] = bench->slow && strstr(path, bench->slow);
		pthread_mutex_unlock(&bench->lock);
	}
	return handle;
}

static int bench_file_open(struct wtl_io *io, const char *path)
{
	struct meter_bench *bench = bench_of(io);

	return note_handle(bench, path, wtl_io_file_open(bench->real, path));
}

/* A slow device: takes time, or does not answer until the test says so. */
static void be_slow(struct meter_bench *bench, int handle)
{
	pthread_mutex_lock(&bench->lock);
	if (bench->is_slow[handle]) {
		bench->slow_reads++;
		bench->blocked_owner += bench->stuck && pthread_equal(pthread_self(), bench->owner);
		pthread_cond_broadcast(&bench->changed);
		while (bench->stuck && !pthread_equal(pthread_self(), bench->owner))
			pthread_cond_wait(&bench->changed, &bench->lock);
		__atomic_add_fetch(&bench->now_ns, bench->slow_ns, __ATOMIC_SEQ_CST);
	}
	pthread_mutex_unlock(&bench->lock);
}

static ssize_t bench_file_read(struct wtl_io *io, int file, void *buf, size_t size)
{
	struct meter_bench *bench = bench_of(io);
	ssize_t len;

	be_slow(bench, file);
	len = wtl_io_file_read(bench->real, file, buf, size);
	pthread_mutex_lock(&bench->lock);
	bench->slow_reads_done += bench->is_slow[file];
	pthread_cond_broadcast(&bench->changed);
	pthread_mutex_unlock(&bench->lock);
	return len;
}

static int bench_perf_open(struct wtl_io *io, const struct wtl_perf_event *event)
{
	struct meter_bench *bench = bench_of(io);

	return note_handle(bench, "perf", wtl_io_perf_open(bench->real, event));
}

static int64_t bench_clock(struct wtl_io *io, enum wtl_clock clock)
{
	struct meter_bench *bench = bench_of(io);
	int64_t now_ns = __atomic_load_n(&bench->now_ns, __ATOMIC_SEQ_CST);
	bool steps = bench->others_step || pthread_equal(pthread_self(), bench->owner);

	switch (clock) {
	case WTL_CLOCK_MONO:
		return __atomic_fetch_add(&bench->now_ns, steps ? bench->clock_step_ns : 0,
					  __ATOMIC_SEQ_CST);
	case WTL_CLOCK_BOOT:
		return now_ns + bench->asleep_ns;
	case WTL_CLOCK_REAL:
		return now_ns + bench->utc_ns;
	}
	return 0;
}

static void bench_free(struct wtl_io *io)
{
	struct meter_bench *bench = bench_of(io);

	assert_false(bench->freed);
	bench->freed = true;
	wtl_io_free(bench->real);
}

/* Waiting and output are no business of a meter: a call crashes the test. */
static const struct wtl_io_ops bench_ops = {
	.file_open = bench_file_open,
	.file_read = bench_file_read,
	.file_close = pass_file_close,
	.link_read = pass_link_read,
	.dir_read = pass_dir_read,
	.perf_open = bench_perf_open,
	.perf_read = pass_perf_read,
	.perf_close = pass_perf_close,
	.lib_open = pass_lib_open,
	.lib_has = pass_lib_has,
	.lib_call = pass_lib_call,
	.lib_close = pass_lib_close,
	.process_cpu = pass_process_cpu,
	.exits_open = pass_exits_open,
	.exits_read = pass_exits_read,
	.exits_close = pass_exits_close,
	.clock_ns = bench_clock,
	.file_write = pass_file_write,
	.free = bench_free,
};

static void find_root(char *path, size_t size, const char *name)
{
	const char *roots = getenv("WATTLE_ROOTS");
	const char *source = getenv("WATTLE_SOURCE_ROOT");

	if (roots)
		snprintf(path, size, "%s/%s", roots, name);
	else
		snprintf(path, size, "%s/tests/fixtures/roots/%s", source ? source : ".", name);
}

static void start(struct meter_bench *bench)
{
	memset(bench, 0, sizeof(*bench));
	bench->io.ops = &bench_ops;
	bench->now_ns = METER_BENCH_START_NS;
	bench->utc_ns = INT64_C(1700000000) * WTL_NS_PER_S;
	bench->nvml = "";
	bench->owner = pthread_self();
	pthread_mutex_init(&bench->lock, NULL);
	pthread_cond_init(&bench->changed, NULL);
}

void meter_bench_root(struct meter_bench *bench, const char *name)
{
	start(bench);
	find_root(bench->root, sizeof(bench->root), name);
}

void meter_bench_copy(struct meter_bench *bench, const char *name)
{
	char from[256], command[768];

	start(bench);
	bench->copy = unit_tmpdir();
	snprintf(bench->root, sizeof(bench->root), "%s", bench->copy);
	if (!name[0])
		return;
	find_root(from, sizeof(from), name);
	snprintf(command, sizeof(command), "cp -a '%s/.' '%s'", from, bench->copy);
	if (system(command) != 0)
		fail_msg("failed: %s", command);
}

void meter_bench_write(const struct meter_bench *bench, const char *path, const char *format, ...)
{
	char text[512];
	va_list args;

	assert_non_null(bench->copy);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	unit_write(bench->copy, path, text);
}

void meter_bench_remove(const struct meter_bench *bench, const char *path)
{
	char *whole = unit_path(bench->copy, path);

	if (unlink(whole) < 0)
		fail_msg("%s: %s", whole, strerror(errno));
	free(whole);
}

static void take_log(void *context, enum wattle_log_level level, const char *text)
{
	struct meter_bench *bench = context;
	size_t len = strlen(bench->log);

	if (level != WATTLE_LOG_DEBUG)
		snprintf(bench->log + len, sizeof(bench->log) - len, "%s\n", text);
}

int meter_bench_try(struct meter_bench *bench, struct wtl_err *err)
{
	const struct wtl_env env = {.io = &bench->io};
	int rc = wtl_io_real_new(bench->root, &bench->real, err);

	if (rc < 0)
		return rc;
	bench->freed = false;
	bench->options.size = sizeof(bench->options);
	bench->options.nvml_path = bench->nvml;
	bench->options.log = take_log;
	bench->options.log_context = bench;
	return wtl_meter_new(&env, &bench->options, &bench->meter, err);
}

void meter_bench_open(struct meter_bench *bench)
{
	struct wtl_err err = {.code = 0};

	if (meter_bench_try(bench, &err) < 0)
		fail_msg("%s: %s", err.source, err.text);
}

void meter_bench_done(struct meter_bench *bench)
{
	wattle_meter_close(bench->meter);
	bench->meter = NULL;
	assert_int_equal(bench->freed, bench->real && !bench->leave_io);
	unit_rmtree(bench->copy);
	if (bench->leave_io)
		return;
	pthread_cond_destroy(&bench->changed);
	pthread_mutex_destroy(&bench->lock);
}

void meter_bench_pass(struct meter_bench *bench, int64_t later_ns)
{
	__atomic_add_fetch(&bench->now_ns, later_ns, __ATOMIC_SEQ_CST);
}

int64_t meter_bench_now(struct meter_bench *bench)
{
	return __atomic_load_n(&bench->now_ns, __ATOMIC_SEQ_CST);
}

void meter_bench_tick(struct meter_bench *bench, int64_t later_ns)
{
	meter_bench_pass(bench, later_ns);
	assert_return_code(wattle_meter_tick(bench->meter), 0);
}

void meter_bench_release(struct meter_bench *bench)
{
	pthread_mutex_lock(&bench->lock);
	bench->stuck = false;
	pthread_cond_broadcast(&bench->changed);
	pthread_mutex_unlock(&bench->lock);
}

static void await(struct meter_bench *bench, const unsigned *count, unsigned n)
{
	struct timespec until;
	unsigned seen;
	int rc = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE_S;
	pthread_mutex_lock(&bench->lock);
	while (*count < n && rc == 0)
		rc = pthread_cond_timedwait(&bench->changed, &bench->lock, &until);
	seen = *count;
	pthread_mutex_unlock(&bench->lock);
	if (seen < n)
		fail_msg("only %u of %u slow reads within %d s", seen, n, PATIENCE_S);
}

void meter_bench_await_begun(struct meter_bench *bench, unsigned n)
{
	await(bench, &bench->slow_reads, n);
}

void meter_bench_await_done(struct meter_bench *bench, unsigned n)
{
	await(bench, &bench->slow_reads_done, n);
}

size_t meter_bench_find(struct meter_bench *bench, const char *name)
{
	int i = wattle_meter_find(bench->meter, name);

	if (i < 0)
		fail_msg("there is no domain %s", name);
	return (size_t)i;
}

struct wattle_domain meter_bench_domain(struct meter_bench *bench, const char *name)
{
	struct wattle_domain domain;

	assert_return_code(wtl_meter_domain(bench->meter, meter_bench_find(bench, name), &domain),
			   0);
	return domain;
}

struct wattle_energy meter_bench_energy(struct meter_bench *bench, const char *window,
					const char *domain)
{
	struct wattle_energy energies[64];
	size_t i = meter_bench_find(bench, domain);

	assert_true(i < UNIT_COUNT(energies));
	assert_return_code(
		wtl_window_read(bench->meter, window, NULL, energies, UNIT_COUNT(energies)), 0);
	return energies[i];
}
