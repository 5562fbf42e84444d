/* SPDX-License-Identifier: MIT */
/*
 * Counts allocations, and makes chosen ones fail. Linked before libc, or with LD_PRELOAD into a
 * program as it is shipped:
 *
 *	WATTLE_TEST_FAIL_ALLOC=N         the N-th allocation (from 1) returns NULL
 *	WATTLE_TEST_FAIL_ALLOC=N:always  and every later one
 *	WATTLE_TEST_ALLOC_LOG=FILE       at exit, "COUNT FAILED" is written there
 *
 * Programs that the process starts are not concerned.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHIM_API __attribute__((visibility("default")))

/* From now on: the n-th allocation fails, and every later one if `always`; 0: none. */
SHIM_API void wattle_test_fail_alloc(unsigned long n, bool always);

/* How allocations are reached: all until _end() are noted by who calls whom, but within libraries of others. */
SHIM_API void wattle_test_paths_begin(void);
/* The first of each path, counted from _begin() on; valid until the next _begin(). */
SHIM_API const unsigned long *wattle_test_paths_end(size_t *ret_n);

/* glibc's own, under names that nothing stands before. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

SHIM_API unsigned long wattle_test_allocations(void);
SHIM_API unsigned long wattle_test_failures(void);
/* Blocks that were not freed, as far as they came from here. */
SHIM_API long wattle_test_blocks(void);

static atomic_ulong count, failures;
static atomic_long blocks;
static unsigned long fail_at;
static bool fail_always;
static char log_path[4096];

enum { PATHS_MAX = 1 << 12, DEPTH = 24, OTHERS_MAX = 8 };

static struct code {
	uintptr_t at, size;
} others[OTHERS_MAX]; /* libraries' */
static size_t n_others;

static bool notes_paths;
static unsigned long paths_from, path_firsts[PATHS_MAX];
static uintptr_t paths[PATHS_MAX]; /* by hash; 0: free */
static size_t n_paths;

unsigned long wattle_test_allocations(void)
{
	return atomic_load(&count);
}

unsigned long wattle_test_failures(void)
{
	return atomic_load(&failures);
}

long wattle_test_blocks(void)
{
	return atomic_load(&blocks);
}

void wattle_test_fail_alloc(unsigned long n, bool always)
{
	fail_always = always;
	fail_at = n ? atomic_load(&count) + n : 0;
}

__attribute__((constructor)) static void start(void)
{
	const char *fail = getenv("WATTLE_TEST_FAIL_ALLOC");
	const char *path = getenv("WATTLE_TEST_ALLOC_LOG");

	if (path && strlen(path) < sizeof(log_path))
		memcpy(log_path, path, strlen(path) + 1);
	if (fail) {
		char *end;

		fail_always = strstr(fail, ":always") != NULL;
		fail_at = strtoul(fail, &end, 10);
	}
	if (!path && !fail)
		return;
	unsetenv("LD_PRELOAD");
	unsetenv("WATTLE_TEST_FAIL_ALLOC");
	unsetenv("WATTLE_TEST_ALLOC_LOG");
	/* What ran before main() is the loader's, and not the same everywhere. */
	atomic_store(&count, 0);
}

__attribute__((destructor)) static void finish(void)
{
	char text[64];
	int fd, len;

	if (!log_path[0])
		return;
	len = snprintf(text, sizeof(text), "%lu %lu\n", atomic_load(&count),
		       atomic_load(&failures));
	fd = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, text, (size_t)len) != len)
		_exit(99);
	close(fd);
}

static int find_others(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	(void)context;
	if (strstr(info->dlpi_name, "sqlite") || strstr(info->dlpi_name, "libc.so"))
		for (int i = 0; i < info->dlpi_phnum && n_others < OTHERS_MAX; i++) {
			const ElfW(Phdr) *part = &info->dlpi_phdr[i];

			if (part->p_type == PT_LOAD && part->p_flags & PF_X)
				others[n_others++] = (struct code){info->dlpi_addr + part->p_vaddr,
								   part->p_memsz};
		}
	return 0;
}

static bool is_of_others(const void *address)
{
	for (size_t i = 0; i < n_others; i++)
		if ((uintptr_t)address - others[i].at < others[i].size)
			return true;
	return false;
}

static void note_path(unsigned long n)
{
	uintptr_t hash = 1;
	void *callers[DEPTH];
	int depth;
	size_t at;

	notes_paths = false; /* what it allocates itself */
	depth = backtrace(callers, DEPTH);
	for (int i = 2; i < depth; i++)
		if (!is_of_others(callers[i]))
			hash = (hash ^ (uintptr_t)callers[i]) * 1099511628211U;
	for (at = hash % PATHS_MAX; paths[at] && paths[at] != hash; at = (at + 1) % PATHS_MAX)
		;
	if (!paths[at] && n_paths < PATHS_MAX / 2) {
		paths[at] = hash;
		path_firsts[n_paths++] = n - paths_from;
	}
	notes_paths = true;
}

void wattle_test_paths_begin(void)
{
	void *caller[1];

	backtrace(caller, 1); /* it loads what it needs */
	n_others = 0;
	dl_iterate_phdr(find_others, NULL);
	memset(paths, 0, sizeof(paths));
	n_paths = 0;
	paths_from = atomic_load(&count);
	notes_paths = true;
}

const unsigned long *wattle_test_paths_end(size_t *ret_n)
{
	notes_paths = false;
	*ret_n = n_paths;
	return path_firsts;
}

static bool may_pass(void)
{
	unsigned long n = atomic_fetch_add(&count, 1) + 1;

	if (notes_paths)
		note_path(n);

	if (fail_at == 0 || (fail_always ? n < fail_at : n != fail_at))
		return true;
	atomic_fetch_add(&failures, 1);
	errno = ENOMEM;
	return false;
}

static void *counted(void *memory)
{
	atomic_fetch_add(&blocks, memory != NULL);
	return memory;
}

SHIM_API void *malloc(size_t size)
{
	return may_pass() ? counted(__libc_malloc(size)) : NULL;
}

SHIM_API void *calloc(size_t n, size_t size)
{
	return may_pass() ? counted(__libc_calloc(n, size)) : NULL;
}

SHIM_API void *realloc(void *memory, size_t size)
{
	void *grown;

	if (!may_pass())
		return NULL;
	grown = __libc_realloc(memory, size);
	atomic_fetch_add(&blocks, (grown && !memory) - (memory && !grown && size == 0));
	return grown;
}

SHIM_API void free(void *memory)
{
	atomic_fetch_sub(&blocks, memory != NULL);
	__libc_free(memory);
}

SHIM_API void *reallocarray(void *memory, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(memory, n * size);
}

SHIM_API void *aligned_alloc(size_t alignment, size_t size)
{
	return may_pass() ? counted(__libc_memalign(alignment, size)) : NULL;
}

SHIM_API void *memalign(size_t alignment, size_t size)
{
	return may_pass() ? counted(__libc_memalign(alignment, size)) : NULL;
}

SHIM_API int posix_memalign(void **ret_memory, size_t alignment, size_t size)
{
	void *memory = may_pass() ? counted(__libc_memalign(alignment, size)) : NULL;

	if (!memory)
		return ENOMEM;
	*ret_memory = memory;
	return 0;
}
