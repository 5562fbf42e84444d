/* SPDX-License-Identifier: MIT */
/*
 * What a sample and a window cost: over two packages, two DRAMs (files of the root xeon-2s-dram) and
 * eight GPUs (the fake NVML, whose own time is taken off), beside the bare reads of the same files.
 * Medians of batches in one run; nothing here fails for being slow.
 *
 *	bench_meter ROOT LIBNVIDIA-ML.so.1 [BATCHES]
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <wattle.h>

#include "base/err.h"
#include "meter/meter.h"

#include "pass_io.h"

enum { BATCH = 500, BATCHES_MAX = 1001, FILES = 4 };

static const char *const files[FILES] = {"18-2-0", "18-2-32", "18-3-0", "18-3-32"};

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * WTL_NS_PER_S + now.tv_nsec;
}

/* The real machine, but that time spent in the foreign library is added up. */
struct timed_io {
	struct pass_io pass;
	int64_t lib_ns;
};

static int lib_call(struct wtl_io *io, int lib, size_t function, struct wtl_lib_arg args[],
		    int *ret_answer)
{
	struct timed_io *timed = (struct timed_io *)io;
	int64_t begin_ns = now_ns();
	int rc = pass_lib_call(io, lib, function, args, ret_answer);

	timed->lib_ns += now_ns() - begin_ns;
	return rc;
}

static int64_t clock_ns(struct wtl_io *io, enum wtl_clock clock)
{
	struct wtl_io *real = ((struct pass_io *)io)->real;

	return real->ops->clock_ns(real, clock);
}

static int wait_until(struct wtl_io *io, int64_t t_mono_ns)
{
	struct wtl_io *real = ((struct pass_io *)io)->real;

	return wtl_io_wait_until(real, t_mono_ns);
}

static void io_free(struct wtl_io *io)
{
	wtl_io_free(((struct pass_io *)io)->real);
}

static const struct wtl_io_ops timed_ops = {
	.file_open = pass_file_open,
	.file_read = pass_file_read,
	.file_close = pass_file_close,
	.link_read = pass_link_read,
	.dir_read = pass_dir_read,
	.perf_open = pass_perf_open,
	.perf_read = pass_perf_read,
	.perf_close = pass_perf_close,
	.lib_open = pass_lib_open,
	.lib_has = pass_lib_has,
	.lib_call = lib_call,
	.lib_close = pass_lib_close,
	.process_cpu = pass_process_cpu,
	.exits_open = pass_exits_open,
	.exits_read = pass_exits_read,
	.exits_close = pass_exits_close,
	.clock_ns = clock_ns,
	.wait_until = wait_until,
	.file_write = pass_file_write,
	.out_write = pass_out_write,
	.free = io_free,
};

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(double values[], size_t n)
{
	qsort(values, n, sizeof(*values), compare);
	return values[n / 2];
}

struct bench {
	struct timed_io timed;
	struct wattle_meter *meter;
	int fds[FILES];
	unsigned n;
	double bare_ns[BATCHES_MAX], tick_ns[BATCHES_MAX], lib_ns[BATCHES_MAX];
	double own_ns[BATCHES_MAX], window_ns[BATCHES_MAX];
};

static void open_bench(struct bench *bench, const char *root, const char *nvml, uint32_t windows)
{
	const struct wtl_env env = {.io = &bench->timed.pass.io};
	const struct wattle_options options = {
		.size = sizeof(options), .nvml_path = nvml, .max_windows = windows};
	struct wtl_err err = {.code = 0};

	bench->timed.pass.io.ops = &timed_ops;
	if (wtl_io_real_new(root, &bench->timed.pass.real, &err) < 0 ||
	    wtl_meter_new(&env, &options, &bench->meter, &err) < 0) {
		fprintf(stderr, "%s: %s\n", err.source, err.text);
		exit(EXIT_FAILURE);
	}
	for (int i = 0; i < FILES; i++) {
		char path[512];

		snprintf(path, sizeof(path), "%s/wattle-perf/%s", root, files[i]);
		bench->fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (bench->fds[i] < 0) {
			perror(path);
			exit(EXIT_FAILURE);
		}
	}
}

static void close_bench(struct bench *bench)
{
	wattle_meter_close(bench->meter);
	for (int i = 0; i < FILES; i++)
		close(bench->fds[i]);
}

/* A file's read is a read and a look for its end, as for any file. */
static double time_bare(const struct bench *bench)
{
	int64_t begin_ns = now_ns();
	char text[64];

	for (int i = 0; i < BATCH; i++)
		for (int k = 0; k < FILES; k++) {
			ssize_t len = pread(bench->fds[k], text, sizeof(text), 0);

			if (len <= 0 || pread(bench->fds[k], text, sizeof(text), len) != 0)
				exit(EXIT_FAILURE);
		}
	return (double)(now_ns() - begin_ns) / BATCH;
}

static double time_ticks(struct bench *bench, double *ret_lib_ns)
{
	int64_t begin_ns = now_ns();

	bench->timed.lib_ns = 0;
	for (int i = 0; i < BATCH; i++)
		wattle_meter_tick(bench->meter);
	*ret_lib_ns = (double)bench->timed.lib_ns / BATCH;
	return (double)(now_ns() - begin_ns) / BATCH;
}

/* A begin and an end, each with the reads of a tick. */
static double time_windows(struct bench *bench, double *ret_lib_ns)
{
	struct wattle_energy energies[32];
	struct wattle_window window;
	int64_t begin_ns = now_ns();

	bench->timed.lib_ns = 0;
	for (int i = 0; i < BATCH; i++) {
		wattle_window_begin(bench->meter, "w");
		wtl_window_end(bench->meter, "w", &window, energies, 32);
	}
	*ret_lib_ns = (double)bench->timed.lib_ns / BATCH;
	return (double)(now_ns() - begin_ns) / BATCH;
}

static void measure(struct bench *bench)
{
	for (unsigned i = 0; i < bench->n; i++) {
		double lib_ns, window_lib_ns, window_ns;

		bench->bare_ns[i] = time_bare(bench);
		bench->tick_ns[i] = time_ticks(bench, &lib_ns);
		window_ns = time_windows(bench, &window_lib_ns);
		bench->lib_ns[i] = lib_ns;
		bench->own_ns[i] = bench->tick_ns[i] - lib_ns;
		/* Of each of the two; the ticks' own cost is the same batch's. */
		bench->window_ns[i] = (window_ns - window_lib_ns) / 2 - bench->own_ns[i];
	}
}

static void print_tick(struct bench *bench)
{
	double bare_ns = median(bench->bare_ns, bench->n);
	double own_ns = median(bench->own_ns, bench->n);

	printf("domains                            %zu\n", wattle_meter_domains(bench->meter));
	printf("bare reads of 4 files              %8.2f us\n", bare_ns / 1e3);
	printf("fake NVML's own time in a tick     %8.2f us\n",
	       median(bench->lib_ns, bench->n) / 1e3);
	printf("tick without that                  %8.2f us   %.2f x the bare reads   target: 50 us\n",
	       own_ns / 1e3, own_ns / bare_ns);
}

static void print_window(struct bench *bench, const char *what)
{
	double window_ns = median(bench->window_ns, bench->n);

	printf("window begin or end beyond a tick  %8.2f us   %.2f x the bare reads   target:  2 us   %s\n",
	       window_ns / 1e3, window_ns / median(bench->bare_ns, bench->n), what);
}

int main(int argc, char **argv)
{
	static struct bench bench;

	if (argc < 3) {
		fprintf(stderr, "usage: %s ROOT LIBNVIDIA-ML [BATCHES]\n", argv[0]);
		return 2;
	}
	bench.n = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 41;
	if (bench.n < 1 || bench.n > BATCHES_MAX)
		bench.n = 41;
	open_bench(&bench, argv[1], argv[2], 0);
	measure(&bench);
	print_tick(&bench);
	print_window(&bench, "one window");
	for (int i = 0; i < 32; i++)
		wattle_window_push(bench.meter, "open all the time");
	measure(&bench);
	print_window(&bench, "32 others open");
	close_bench(&bench);
	open_bench(&bench, argv[1], argv[2], 65536);
	measure(&bench);
	print_window(&bench, "one of at most 65536");
	close_bench(&bench);
	return 0;
}
