/* SPDX-License-Identifier: MIT */
#include "commands/estimate/kernels.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/infile.h"
#include "base/num.h"
#include "base/text.h"
#include "base/thread.h"
#include "commands/estimate/loops.h"

enum { KERNELS_MAX = 8, CACHES_MAX = 8, CACHE_MOST_KIB = 16 << 20, BLAS_SIZE = 1024, LINE = 64 };

#define BLAS_LIBRARY "libopenblas.so.0"
#define CACHE_GUESS  (UINT64_C(1) << 20) /* if Linux does not report it */
#define STREAM_LEAST (UINT64_C(32) << 10)
#define STREAM_MOST  (UINT64_C(256) << 20)

/* CBLAS: row major, not transposed. */
enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 };

struct blas {
	void (*sgemm)(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a,
		      int lda, const float *b, int ldb, float beta, float *c, int ldc);
	void (*dgemm)(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a,
		      int lda, const double *b, int ldb, double beta, double *c, int ldc);
	void (*set_threads)(int n);
	char *(*config)(void);
};

struct worker {
	struct wtl_kernels *kernels;
	pthread_t thread;
	int64_t end_ns;
	bool lacks_memory;
};

struct wtl_kernels {
	struct wtl_kernel list[KERNELS_MAX];
	size_t n;
	unsigned threads, width;	 /* width: bytes of the loops' vectors */
	uint64_t cache, stream_bytes[2]; /* per thread: for the cache, for DRAM */
	struct blas blas;
	bool has_blas;
	/* The current run */
	size_t current;
	uint64_t rounds;
	int done;
	sem_t ready;
	pthread_mutex_t gate; /* held until all are ready */
	int64_t begin_ns;
	struct worker *workers;
	unsigned started, running;
};

/* ---- One thread ---- */

/* Bytes that one thread of the kernel needs. */
static size_t memory_of(const struct wtl_kernels *kernels, const struct wtl_kernel *kernel)
{
	if (kernel->kind != WTL_KERNEL_MAC)
		return kernels->stream_bytes[kernel->kind == WTL_KERNEL_DRAM];
	size_t number = kernel->precision == WTL_FP64 ? sizeof(double) : sizeof(float);
	return kernel->is_blas ? 3 * number * BLAS_SIZE * BLAS_SIZE : WTL_LOOP_BYTES;
}

/* Numbers that stay finite however often they are multiplied and added. */
static void fill(void *memory, size_t bytes, const struct wtl_kernel *kernel)
{
	if (kernel->kind == WTL_KERNEL_MAC && kernel->precision == WTL_FP32)
		for (size_t i = 0; i < bytes / sizeof(float); i++)
			((float *)memory)[i] = (float)(i % 7) * 0.125f;
	else if (kernel->precision == WTL_INT8)
		memset(memory, 1, bytes);
	else
		for (size_t i = 0; i < bytes / sizeof(double); i++)
			((double *)memory)[i] = (double)(i % 7) * 0.125;
}

static void multiply_by_blas(const struct wtl_kernels *kernels, enum wtl_precision precision,
			     void *memory)
{
	const int n = BLAS_SIZE;
	const size_t size = (size_t)n * n;

	if (precision == WTL_FP32) {
		float *a = memory;
		kernels->blas.sgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, 1, a, n,
				    a + size, n, 0, a + 2 * size, n);
	} else {
		double *a = memory;
		kernels->blas.dgemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, 1, a, n,
				    a + size, n, 0, a + 2 * size, n);
	}
}

static void work(const struct wtl_kernels *kernels, const struct wtl_kernel *kernel, void *memory,
		 size_t bytes)
{
	for (uint64_t i = 0; i < kernels->rounds; i++) {
		if (kernel->kind != WTL_KERNEL_MAC)
			wtl_loop_stream(memory, bytes, kernels->width);
		else if (kernel->is_blas)
			multiply_by_blas(kernels, kernel->precision, memory);
		else
			wtl_loop_multiply(memory, kernel->precision, kernels->width);
	}
}

static void *run(void *argument)
{
	struct worker *worker = argument;
	struct wtl_kernels *kernels = worker->kernels;
	const struct wtl_kernel *kernel = &kernels->list[kernels->current];
	size_t bytes = memory_of(kernels, kernel);
	void *memory = aligned_alloc(LINE, bytes);
	uint64_t one = 1;

	if (memory)
		fill(memory, bytes, kernel);
	worker->lacks_memory = !memory;
	sem_post(&kernels->ready);
	pthread_mutex_lock(&kernels->gate);
	pthread_mutex_unlock(&kernels->gate);
	if (memory)
		work(kernels, kernel, memory, bytes);
	worker->end_ns = wtl_thread_clock_ns();
	free(memory);
	if (__atomic_sub_fetch(&kernels->running, 1, __ATOMIC_ACQ_REL) == 0 &&
	    write(kernels->done, &one, sizeof(one)) < 0)
		return worker; /* nobody waits any more */
	return NULL;
}

/* ---- All of them ---- */

int64_t wtl_kernels_finish(struct wtl_kernels *kernels)
{
	int64_t end_ns = kernels->begin_ns + 1;
	bool lacks_memory = false;

	for (unsigned i = 0; i < kernels->started; i++) {
		struct worker *worker = &kernels->workers[i];
		pthread_join(worker->thread, NULL);
		lacks_memory |= worker->lacks_memory;
		if (worker->end_ns > end_ns)
			end_ns = worker->end_ns;
	}
	sem_destroy(&kernels->ready);
	return lacks_memory ? -ENOMEM : end_ns - kernels->begin_ns;
}

static int start_threads(struct wtl_kernels *kernels, unsigned n)
{
	int rc = 0;

	for (kernels->started = 0; rc == 0 && kernels->started < n;) {
		struct worker *worker = &kernels->workers[kernels->started];
		*worker = (struct worker){.kernels = kernels};
		rc = wtl_thread_start(&worker->thread, run, worker);
		kernels->started += rc == 0;
	}
	for (unsigned i = 0; i < kernels->started; i++)
		while (sem_wait(&kernels->ready) < 0)
			;
	return rc;
}

int wtl_kernels_prepare(struct wtl_kernels *kernels, size_t i, uint64_t rounds, int done)
{
	unsigned n = kernels->list[i].is_blas ? 1 : kernels->threads;

	kernels->current = i;
	kernels->rounds = rounds;
	kernels->done = done;
	kernels->running = n;
	sem_init(&kernels->ready, 0, 0);
	pthread_mutex_lock(&kernels->gate);
	int rc = start_threads(kernels, n);
	if (rc < 0) {
		kernels->rounds = 0;
		wtl_kernels_go(kernels);
		wtl_kernels_finish(kernels);
	}
	return rc;
}

void wtl_kernels_go(struct wtl_kernels *kernels)
{
	kernels->begin_ns = wtl_thread_clock_ns();
	pthread_mutex_unlock(&kernels->gate);
}

/* ---- The list ---- */

static void load_blas(struct wtl_kernels *kernels)
{
	void *library = dlopen(BLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	struct blas *blas = &kernels->blas;

	if (!library)
		return;
	*(void **)&blas->sgemm = dlsym(library, "cblas_sgemm");
	*(void **)&blas->dgemm = dlsym(library, "cblas_dgemm");
	*(void **)&blas->set_threads = dlsym(library, "openblas_set_num_threads");
	*(void **)&blas->config = dlsym(library, "openblas_get_config");
	kernels->has_blas = blas->sgemm && blas->dgemm && blas->set_threads && blas->config;
	if (kernels->has_blas)
		blas->set_threads((int)kernels->threads);
}

static void add(struct wtl_kernels *kernels, const char *name, enum wtl_kernel_kind kind,
		enum wtl_precision precision, uint64_t work_of_thread)
{
	kernels->list[kernels->n++] = (struct wtl_kernel){name, kind, precision,
							  work_of_thread * kernels->threads, false};
}

static void add_blas(struct wtl_kernels *kernels, const char *name, enum wtl_precision precision)
{
	kernels->list[kernels->n++] = (struct wtl_kernel){
		name, WTL_KERNEL_MAC, precision, (uint64_t)BLAS_SIZE * BLAS_SIZE * BLAS_SIZE, true};
}

static void list(struct wtl_kernels *kernels)
{
	add(kernels, "gemm fp64", WTL_KERNEL_MAC, WTL_FP64, WTL_LOOP_WORK);
	add(kernels, "gemm fp32", WTL_KERNEL_MAC, WTL_FP32, WTL_LOOP_WORK);
	if (wtl_loop_has_int8(kernels->width))
		add(kernels, "gemm int8", WTL_KERNEL_MAC, WTL_INT8, WTL_LOOP_WORK);
	if (kernels->has_blas) {
		add_blas(kernels, "OpenBLAS fp64", WTL_FP64);
		add_blas(kernels, "OpenBLAS fp32", WTL_FP32);
	}
	add(kernels, "stream cache", WTL_KERNEL_CACHE, WTL_PRECISION_UNKNOWN,
	    kernels->stream_bytes[0]);
	add(kernels, "stream DRAM", WTL_KERNEL_DRAM, WTL_PRECISION_UNKNOWN,
	    kernels->stream_bytes[1]);
}

/* A file of the first CPU's cache with that index. false: there is none. */
static bool read_cache(int index, const char *name, char *text, size_t size)
{
	char path[96];
	struct wtl_buf buf;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, name);
	wtl_buf_init(&buf, size);
	bool is_there = wtl_infile_read(path, &buf) == 0;
	wtl_text_copy(text, size, wtl_buf_str(&buf));
	text[strcspn(text, "\n")] = '\0';
	wtl_buf_done(&buf);
	return is_there;
}

/* CPUs in a mask such as "00000000,000000ff". */
static unsigned count_cpus(const char *mask)
{
	unsigned n = 0;

	for (; *mask; mask++)
		if (*mask != ',')
			n += (unsigned)__builtin_popcountl(
				strtoul((char[]){*mask, '\0'}, NULL, 16));
	return n;
}

/* The size of the last-level cache, and how many CPUs share it. */
static uint64_t find_cache(unsigned *ret_sharers)
{
	char text[1024];
	uint64_t bytes = 0, kib;

	*ret_sharers = 1;
	for (int i = 0; i < CACHES_MAX && read_cache(i, "size", text, sizeof(text)); i++) {
		if (wtl_num_u64(text, strcspn(text, "K"), &kib) < 0 || kib > CACHE_MOST_KIB ||
		    kib << 10 <= bytes || !read_cache(i, "shared_cpu_map", text, sizeof(text)))
			continue;
		bytes = kib << 10;
		*ret_sharers = count_cpus(text) ? count_cpus(text) : 1;
	}
	return bytes ? bytes : CACHE_GUESS;
}

/* Cache: threads use half of it. DRAM: eight times all caches, but at most an eighth of the memory. */
static void choose_sizes(struct wtl_kernels *kernels)
{
	const uint64_t granule = WTL_LOOP_STREAM_GRANULE;
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	unsigned sharers;

	kernels->cache = find_cache(&sharers);
	uint64_t own = kernels->cache / 2 / sharers;
	uint64_t all = kernels->cache * 8 * ((kernels->threads + sharers - 1) / sharers);
	if (pages > 0 && page > 0 && all > (uint64_t)pages * (uint64_t)page / 8)
		all = (uint64_t)pages * (uint64_t)page / 8;
	all /= kernels->threads;
	kernels->stream_bytes[0] = (own < STREAM_LEAST ? STREAM_LEAST : own) / granule * granule;
	kernels->stream_bytes[1] = (all > STREAM_MOST ? STREAM_MOST : all) / granule * granule;
	if (kernels->stream_bytes[1] < kernels->stream_bytes[0])
		kernels->stream_bytes[1] = kernels->stream_bytes[0];
}

int wtl_kernels_new(struct wtl_kernels **ret, struct wtl_err *err)
{
	struct wtl_kernels *kernels = calloc(1, sizeof(*kernels));
	cpu_set_t cpus;

	if (kernels) {
		int n = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
		kernels->threads = n > 0 ? (unsigned)n : 1;
		kernels->workers = calloc(kernels->threads, sizeof(*kernels->workers));
		pthread_mutex_init(&kernels->gate, NULL);
	}
	if (!kernels || !kernels->workers) {
		free(kernels);
		return wtl_err_set(err, ENOMEM, "estimate", NULL, "no memory");
	}
	kernels->width = wtl_loop_width();
	choose_sizes(kernels);
	load_blas(kernels);
	list(kernels);
	*ret = kernels;
	return 0;
}

void wtl_kernels_free(struct wtl_kernels *kernels)
{
	if (!kernels)
		return;
	free(kernels->workers);
	free(kernels);
}

size_t wtl_kernels_count(const struct wtl_kernels *kernels)
{
	return kernels->n;
}

const struct wtl_kernel *wtl_kernels_get(const struct wtl_kernels *kernels, size_t i)
{
	return &kernels->list[i];
}

unsigned wtl_kernels_threads(const struct wtl_kernels *kernels)
{
	return kernels->threads;
}

uint64_t wtl_kernels_cache(const struct wtl_kernels *kernels)
{
	return kernels->cache;
}

const char *wtl_kernels_blas(const struct wtl_kernels *kernels)
{
	return kernels->has_blas ? kernels->blas.config() : "";
}
