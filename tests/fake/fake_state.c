/* SPDX-License-Identifier: MIT */
/* The fake's life: load, clock, rules, missing symbols, counts of calls for the tests. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fake_state.h"

enum { COUNTS_MAX = 160 };

#define NS_PER_S      INT64_C(1000000000)
#define VIRTUAL_EPOCH INT64_C(1700000000) /* what a clock file's 0 is in UTC */

struct fake_script fake_script;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	const char *function;
	unsigned long calls;
} counts[COUNTS_MAX];
static int inits;
static int clock_file = -1;
static int64_t load_mono_ns, load_utc_ns;
static bool broken;

FAKE_API unsigned long fake_nvml_calls(const char *function);
FAKE_API unsigned long fake_nvml_touched(unsigned gpu);
FAKE_API int nvmlInit(void);
FAKE_API int nvmlInit_v2(void);
FAKE_API int nvmlInitWithFlags(unsigned flags);
FAKE_API int nvmlShutdown(void);

static int64_t clock_now(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t fake_now_ns(void)
{
	char text[32];
	ssize_t len;

	if (clock_file < 0)
		return clock_now(CLOCK_MONOTONIC) - load_mono_ns;
	len = pread(clock_file, text, sizeof(text) - 1, 0);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	return strtoll(text, NULL, 10);
}

/* For tests/fake/fake_cuda.c: a load ran on that GPU from one moment of CLOCK_MONOTONIC to another. */
FAKE_API void fake_nvml_load(unsigned gpu, int64_t on_mono_ns, int64_t off_mono_ns);

FAKE_API void fake_nvml_load(unsigned gpu, int64_t on_mono_ns, int64_t off_mono_ns)
{
	struct fake_gpu *own = &fake_script.gpus[gpu];

	if (gpu < fake_script.n_gpus && !own->loads)
		own->loads = calloc(FAKE_LOADS_MAX, sizeof(*own->loads));
	if (gpu < fake_script.n_gpus && own->loads && own->n_loads < FAKE_LOADS_MAX)
		own->loads[own->n_loads++] =
			(struct fake_load){on_mono_ns - load_mono_ns, off_mono_ns - load_mono_ns};
}

uint64_t fake_utc_us(int64_t t_ns)
{
	int64_t base_ns = clock_file < 0 ? load_utc_ns : VIRTUAL_EPOCH * NS_PER_S;

	return (uint64_t)((base_ns + t_ns) / 1000);
}

/*
 * dlsym() of a symbol whose value is 0 finds nothing: so one library stands for all the older and
 * newer ones that lack a function.
 */
static void hide(void *self, const char *symbol)
{
	long page = sysconf(_SC_PAGESIZE);
	void *address = dlsym(self, symbol), *extra = NULL, *start;
	uintptr_t first;
	Dl_info info;
	ElfW(Sym) * entry;

	if (!address || !dladdr1(address, &info, &extra, RTLD_DL_SYMENT) || !extra)
		return;
	entry = extra;
	first = (uintptr_t)entry & ~((uintptr_t)page - 1);
	memcpy(&start, &first, sizeof(start));
	if (mprotect(start, (uintptr_t)(entry + 1) - first, PROT_READ | PROT_WRITE) < 0) {
		fprintf(stderr, "fake NVML: %s cannot be hidden\n", symbol);
		return;
	}
	entry->st_value = 0;
	entry->st_shndx = SHN_UNDEF;
}

static void hide_missing(void)
{
	Dl_info info;
	void *self;

	if (!fake_script.n_missing || !dladdr(&fake_script, &info))
		return;
	self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
	if (!self)
		return;
	for (size_t i = 0; i < fake_script.n_missing; i++)
		hide(self, fake_script.missing[i]);
	dlclose(self);
}

__attribute__((constructor)) static void load(void)
{
	const char *path = getenv("WATTLE_FAKE_NVML");
	const char *clock_path = getenv("WATTLE_FAKE_NVML_CLOCK");
	char error[256] = "";
	int bad = 0;

	if (path && *path)
		bad = fake_script_read(&fake_script, path, error, sizeof(error));
	else
		fake_script_default(&fake_script);
	if (bad) {
		fprintf(stderr, "fake NVML: %s:%d: %s\n", path, bad, error);
		broken = true;
	}
	if (!clock_path && fake_script.clock_path[0])
		clock_path = fake_script.clock_path;
	if (clock_path && *clock_path) {
		clock_file = open(clock_path, O_RDONLY | O_CLOEXEC);
		if (clock_file < 0) {
			fprintf(stderr, "fake NVML: the clock file %s is not there\n", clock_path);
			broken = true;
		}
	}
	load_mono_ns = clock_now(CLOCK_MONOTONIC);
	load_utc_ns = clock_now(CLOCK_REALTIME);
	hide_missing();
}

__attribute__((destructor)) static void unload(void)
{
	for (size_t i = 0; i < fake_script.n_gpus; i++)
		for (size_t j = 0; j < fake_script.gpus[i].n_migs; j++)
			free(fake_script.gpus[i].migs[j]);
	if (clock_file >= 0)
		close(clock_file);
}

static void count(const char *function)
{
	for (size_t i = 0; i < COUNTS_MAX; i++) {
		if (!counts[i].function)
			counts[i].function = function;
		if (counts[i].function == function) {
			counts[i].calls++;
			return;
		}
	}
}

FAKE_API unsigned long fake_nvml_calls(const char *function)
{
	unsigned long calls = 0;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < COUNTS_MAX && counts[i].function; i++)
		if (strcmp(function, "*") == 0 || strcmp(counts[i].function, function) == 0)
			calls += counts[i].calls;
	pthread_mutex_unlock(&lock);
	return calls;
}

FAKE_API unsigned long fake_nvml_touched(unsigned gpu)
{
	return gpu < fake_script.n_gpus ? fake_script.gpus[gpu].calls : 0;
}

static void wait_ns(int64_t ns)
{
	struct timespec time = {.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};

	while (ns > 0 && nanosleep(&time, &time) < 0)
		;
}

/* The GPU's own rules come before those of all (NULL: not asked). */
static int scripted(struct fake_rules *own, struct fake_rules *all, const char *function)
{
	int64_t now_ns = fake_now_ns(), delay_ns = 0;
	const struct fake_rule *rule = NULL;
	int answer = 0;

	pthread_mutex_lock(&lock);
	if (own)
		rule = fake_rule_find(own, function, now_ns);
	if (!rule && all)
		rule = fake_rule_find(all, function, now_ns);
	if (rule) {
		answer = rule->answer;
		delay_ns = rule->delay_ns;
	}
	pthread_mutex_unlock(&lock);
	wait_ns(delay_ns);
	return answer;
}

static int enter(const char *function, struct fake_gpu *gpu)
{
	bool ready;

	pthread_mutex_lock(&lock);
	count(function);
	if (gpu)
		gpu->calls++;
	ready = inits > 0;
	pthread_mutex_unlock(&lock);
	if (!ready)
		return FAKE_UNINITIALIZED;
	return scripted(gpu ? &gpu->rules : NULL, &fake_script.rules, function);
}

int fake_enter(const char *function)
{
	return enter(function, NULL);
}

int fake_enter_gpu(const char *function, struct fake_gpu *gpu)
{
	pthread_mutex_lock(&lock);
	gpu->calls++;
	pthread_mutex_unlock(&lock);
	return scripted(&gpu->rules, NULL, function);
}

int fake_enter_device(const char *function, void *handle, struct fake_gpu **ret_gpu)
{
	struct fake_gpu *gpu = handle;

	if (!gpu) {
		fprintf(stderr, "fake NVML: %s with a NULL handle\n", function);
		abort();
	}
	*ret_gpu = gpu;
	return enter(function, gpu);
}

int fake_named_rule(struct fake_gpu *gpu, const char *name, int64_t t_ns)
{
	const struct fake_rule *rule;
	int answer;

	pthread_mutex_lock(&lock);
	rule = fake_rule_find(&gpu->rules, name, t_ns);
	if (!rule)
		rule = fake_rule_find(&fake_script.rules, name, t_ns);
	answer = rule ? rule->answer : 0;
	pthread_mutex_unlock(&lock);
	return answer;
}

bool fake_is_scripted(const struct fake_gpu *gpu)
{
	return gpu->rules.n > 0 || gpu->n_values > 0 || fake_script.rules.n > 0;
}

int fake_copy(char *dst, unsigned length, const char *src)
{
	size_t len = strlen(src) + 1;

	if (!dst)
		return FAKE_INVALID_ARGUMENT;
	if (len > length)
		return FAKE_INSUFFICIENT_SIZE;
	memcpy(dst, src, len);
	return FAKE_OK;
}

static int init(const char *function)
{
	int answer;

	pthread_mutex_lock(&lock);
	count(function);
	pthread_mutex_unlock(&lock);
	answer = broken ? FAKE_UNKNOWN : scripted(NULL, &fake_script.rules, "nvmlInit_v2");
	if (answer)
		return answer;
	pthread_mutex_lock(&lock);
	inits++;
	pthread_mutex_unlock(&lock);
	return FAKE_OK;
}

FAKE_API int nvmlInit(void)
{
	return init(__func__);
}

FAKE_API int nvmlInit_v2(void)
{
	return init(__func__);
}

FAKE_API int nvmlInitWithFlags(unsigned flags)
{
	(void)flags;
	return init(__func__);
}

FAKE_API int nvmlShutdown(void)
{
	bool was;

	pthread_mutex_lock(&lock);
	count(__func__);
	was = inits > 0;
	inits -= was;
	pthread_mutex_unlock(&lock);
	return was ? FAKE_OK : FAKE_UNINITIALIZED;
}
