/* SPDX-License-Identifier: MIT */
#include "cli/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "energy/units.h"

enum { CPU_S = 60 };
#define MORE_BYTES (UINT64_C(4) << 30)

/* Added to what is reserved already, which may be more than that, as with a sanitizer. */
static void limit_memory(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	struct rlimit data;

	if (file && fscanf(file, "%*u %*u %*u %*u %*u %llu", &pages) == 1) {
		data.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + MORE_BYTES;
		data.rlim_max = data.rlim_cur;
		setrlimit(RLIMIT_DATA, &data);
	}
	if (file)
		fclose(file);
}

/* A crash is silent: no handler of wattle's, no message of the C library's, no core file. */
static void prepare(void)
{
	static const int faults[] = {SIGBUS, SIGSEGV, SIGABRT, SIGFPE, SIGILL};
	static const struct rlimit time = {CPU_S, CPU_S}, core = {0, 0};

	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		signal(faults[i], SIG_DFL);
	setrlimit(RLIMIT_CPU, &time);
	setrlimit(RLIMIT_CORE, &core);
	limit_memory();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
}

/* libdw calls exit() where there is no memory. Files and buffers belong to the process that forked: nothing is flushed or removed. */
static void leave(void)
{
	_exit(EXIT_FAILURE);
}

static _Noreturn void be_apart(int fd, void (*tell)(void *context, FILE *answers), void *context)
{
	FILE *answers = fdopen(fd, "w");

	prepare();
	if (answers && atexit(leave) == 0) {
		tell(context, answers);
		fflush(answers);
	}
	_exit(EXIT_SUCCESS);
}

static int64_t end(pid_t pid)
{
	struct rusage usage = {.ru_maxrss = 0};

	kill(pid, SIGKILL);
	while (wait4(pid, NULL, 0, &usage) < 0 && errno == EINTR)
		;
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * WTL_NS_PER_S +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * INT64_C(1000);
}

int64_t wtl_apart(void (*tell)(void *context, FILE *answers),
		  void (*hear)(void *context, FILE *answers), void *context)
{
	FILE *answers;
	int ends[2], error;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	answers = fdopen(ends[0], "r");
	pid = answers ? fork() : -1;
	error = errno;
	if (pid == 0) {
		close(ends[0]);
		be_apart(ends[1], tell, context);
	}
	close(ends[1]);
	if (pid > 0)
		hear(context, answers);
	if (answers)
		fclose(answers);
	else
		close(ends[0]);
	return pid > 0 ? end(pid) : -error;
}
