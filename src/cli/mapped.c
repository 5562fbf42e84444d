/* SPDX-License-Identifier: MIT */
#include "cli/mapped.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "base/thread.h"
#include "cli/command.h"
#include "cli/complain.h"

#define CAUSE "another program has truncated a file while it was read, or its disk failed"

/* What handlers of signals have to know. */
static struct {
	sigjmp_buf *guarded; /* by one thread at a time */
	pthread_t thread;
	struct wtl_rescue rescue;
} faults;

struct wtl_rescue *wtl_rescue(void)
{
	return &faults.rescue;
}

static bool is_guarded(void)
{
	return faults.guarded && pthread_equal(faults.thread, pthread_self());
}

void wtl_rescue_terminal(void)
{
	if (faults.rescue.len == 0)
		return;
	(void)!write(STDOUT_FILENO, faults.rescue.text, faults.rescue.len);
	tcsetattr(STDIN_FILENO, TCSANOW, &faults.rescue.termios);
}

static void on_bus(int number, siginfo_t *info, void *unused)
{
	static const char text[] = "wattle: stopped: " CAUSE "\n";
	/* A screen keeps back what is said on standard error. */
	int fd = faults.rescue.len > 0 ? STDOUT_FILENO : STDERR_FILENO;

	(void)unused;
	/* Not where somebody has sent it. */
	if (info->si_code > 0 && is_guarded())
		siglongjmp(*faults.guarded, 1);
	wtl_rescue_terminal();
	if (info->si_code > 0)
		(void)!write(fd, text, sizeof(text) - 1);
	signal(number, SIG_DFL);
	raise(number);
}

void wtl_mapped_watch(void)
{
	const struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};

	sigaction(SIGBUS, &action, NULL);
}

int wtl_mapped_guard(void (*work)(void *context), void *context)
{
	sigjmp_buf *outer = faults.guarded, here;

	if (outer && !is_guarded()) {
		work(context);
		return 0;
	}
	if (sigsetjmp(here, 1)) {
		faults.guarded = outer;
		return -EFAULT;
	}
	faults.thread = pthread_self();
	faults.guarded = &here;
	work(context);
	faults.guarded = outer;
	return 0;
}

struct job {
	int (*work)(void *context);
	void *context;
	int returned;
};

static void do_job(void *context)
{
	struct job *job = context;

	job->returned = job->work(job->context);
}

int wtl_mapped_read(struct wtl_app *app, int (*work)(void *context), void *context)
{
	struct job job = {.work = work, .context = context};

	if (wtl_mapped_guard(do_job, &job) == 0)
		return job.returned;
	wtl_complain(app, CAUSE);
	return -EFAULT;
}

static int do_guarded(void *context)
{
	struct job *job = context;

	return wtl_mapped_guard(do_job, job) < 0 ? -EFAULT : job->returned;
}

int wtl_mapped_call(int (*work)(void *context), void *context)
{
	struct job job = {.work = work, .context = context};
	sigjmp_buf *outer = faults.guarded;
	int rc;

	faults.guarded = NULL;
	rc = wtl_thread_call(do_guarded, &job);
	faults.thread = pthread_self();
	faults.guarded = outer;
	return rc;
}
