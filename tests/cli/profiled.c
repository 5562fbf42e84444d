/* SPDX-License-Identifier: MIT */
/* What test_profile.py profiles: functions that use as many milliseconds of CPU time as they are told. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile unsigned long sink;

static inline __attribute__((always_inline)) long used_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static inline __attribute__((always_inline)) void innermost(void)
{
	for (int i = 0; i < 200000; i++)
		sink += (unsigned long)i;
}

static inline __attribute__((always_inline)) void middle(void)
{
	innermost();
	sink++;
}

/* Nothing that is behind a call is left out: no call is a jump. */
#define USES(name)                                                       \
	__attribute__((noinline)) void name(long ms);                    \
	__attribute__((noinline)) void name(long ms)                     \
	{                                                                \
		for (long end = used_ms() + ms; used_ms() < end; sink++) \
			middle();                                        \
	}
USES(light)
USES(heavy)
USES(in_thread)
USES(in_child)
USES(before)
USES(after)

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double rested_s;

__attribute__((noinline)) void rests(long ms);
__attribute__((noinline)) void rests(long ms)
{
	const struct timespec time = {.tv_nsec = ms * 1000000};
	double begin_s = now_s();

	nanosleep(&time, NULL);
	rested_s += now_s() - begin_s;
}

/* It rests more often than it is sampled. */
static void often_rests(void)
{
	for (double end_s = now_s() + 1.5; now_s() < end_s;) {
		for (double until_s = now_s() + 0.0013; now_s() < until_s;)
			sink++;
		rests(1);
	}
}

static void *thread_there(void *there_s)
{
	double begin_s = now_s();

	in_thread(100);
	*(double *)there_s = now_s() - begin_s;
	return NULL;
}

/* It sleeps while its thread works, and says how long both were there. */
static void waits(void)
{
	double begin_s = now_s(), there_s;
	pthread_t other;

	pthread_create(&other, NULL, thread_there, &there_s);
	for (int i = 0; i < 10; i++)
		rests(30);
	heavy(100);
	pthread_join(other, NULL);
	printf("there %.6f s, rested %.6f s\n", now_s() - begin_s + there_s, rested_s);
}

static __attribute__((noipa)) void recursive(int depth, long ms)
{
	if (depth > 0)
		recursive(depth - 1, ms);
	else
		heavy(ms);
	sink++;
}

static void *thread(void *ms)
{
	in_thread(*(long *)ms);
	return NULL;
}

static void threads(long ms)
{
	pthread_t all[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&all[i], NULL, thread, &ms);
	for (int i = 0; i < 3; i++)
		pthread_join(all[i], NULL);
}

/* For as long as it is let to: itself, in a thread, and in a child. */
static void busy(char *self, const char *what)
{
	static long ms = 100000;
	pthread_t other;

	if (strcmp(what, "family") == 0 && fork() == 0) {
		execl(self, self, "busy", NULL);
		_exit(99);
	}
	pthread_create(&other, NULL, thread, &ms);
	heavy(ms);
}

/* 24 MiB, some pages at a time, so that there are samples in between. */
__attribute__((noinline)) void grows(void);
__attribute__((noinline)) void grows(void)
{
	enum { BYTES = 24 << 20, STEP = 64 << 10 };
	char *block = malloc(BYTES);

	for (long i = 0; block && i < BYTES; i += STEP) {
		memset(block + i, 1, STEP);
		middle();
	}
	sink += block ? (unsigned long)block[BYTES / 2] : 0;
}

static void becomes(char *self, const char *what)
{
	execl(self, self, what, NULL);
	_exit(99);
}

/* A thousand threads, or children: each for 1 ms. */
static void many(const char *what)
{
	static long ms = 1;
	pthread_t all[1000];

	for (int i = 0; i < 1000 && strcmp(what, "forks") == 0; i++) {
		if (fork() == 0) {
			in_child(1);
			_exit(0);
		}
		wait(NULL);
	}
	for (int i = 0; i < 1000 && strcmp(what, "crowd") == 0; i++)
		if (pthread_create(&all[i], NULL, thread, &ms))
			exit(98);
	for (int i = 0; i < 1000 && strcmp(what, "crowd") == 0; i++)
		pthread_join(all[i], NULL);
}

/* Children that run on their parent's memory until they become another program. */
static void vforks(char *self)
{
	for (int i = 0; i < 3; i++) {
		if (vfork() == 0) {
			execl(self, self, "child", NULL);
			_exit(99);
		}
		wait(NULL);
	}
}

/* Code that the program writes itself: 1: sub $1, %rdi; jnz 1b; ret. And arm64's. */
/* Counts down; with and without a frame pointer. */
#if defined(__x86_64__)
enum { BARE = 7 };
static const unsigned char bare[] = {0x48, 0x83, 0xef, 0x01, 0x75, 0xfa, 0xc3};
static const unsigned char framed[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83,
				       0xef, 0x01, 0x75, 0xfa, 0x5d, 0xc3};
#else
enum { BARE = 12 };
static const unsigned char bare[] = {0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff,
				     0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6};
static const unsigned char framed[] = {0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91,
				       0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff, 0xff, 0x54,
				       0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6};
#endif

static void generated(const unsigned char *code, size_t size)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(at, code, size);
	mprotect(at, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(at, (char *)at + 4096);
	if (size > BARE) {
		char path[64];
		FILE *map;

		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		map = fopen(path, "we");
		/* Its address had another function before. */
		fprintf(map, "%lx %zx ~old\n%lx %zx ~made here\n", (unsigned long)at, size,
			(unsigned long)at, size);
		fclose(map);
	}
	for (long end = used_ms() + 200; used_ms() < end; sink++)
		((void (*)(long))at)(1000000);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "two";

	if (strcmp(what, "two") == 0 || strcmp(what, "brief") == 0)
		for (int i = 0; i < (what[0] == 't' ? 5 : 1); i++) {
			heavy(90);
			light(30);
		}
	if (strcmp(what, "unequal") == 0) {
		heavy(250);
		light(90);
		heavy(250);
	}
	if (strcmp(what, "waits") == 0)
		waits();
	if (strcmp(what, "often") == 0)
		often_rests();
	if (strcmp(what, "grows") == 0) {
		grows();
		heavy(100);
	}
	if (strcmp(what, "deep") == 0)
		recursive(20, 200);
	if (strcmp(what, "deeper") == 0)
		recursive(150, 200);
	if (strcmp(what, "threads") == 0)
		threads(150);
	if (strcmp(what, "child") == 0)
		in_child(200);
	if (strcmp(what, "after") == 0)
		after(200);
	if (strcmp(what, "exec") == 0) {
		before(200);
		becomes(argv[0], "after");
	}
	if (strcmp(what, "children") == 0) {
		if (fork() == 0)
			becomes(argv[0], "child");
		if (fork() == 0) {
			in_thread(200);
			_exit(0);
		}
		while (wait(NULL) > 0)
			;
	}
	many(what);
	if (strcmp(what, "vforks") == 0)
		vforks(argv[0]);
	if (strcmp(what, "generated") == 0)
		generated(bare, sizeof(bare));
	if (strcmp(what, "named") == 0)
		generated(framed, sizeof(framed));
	if (strcmp(what, "short") == 0)
		before(10);
	if (strcmp(what, "busy") == 0 || strcmp(what, "family") == 0)
		busy(argv[0], what);
	if (strcmp(what, "killed") == 0) {
		before(150);
		kill(getpid(), SIGKILL);
	}
	return argc > 2 ? atoi(argv[2]) : 0;
}
