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

/* State for signal handlers. */
static struct {
	pthread_key_t guarded; /* of each thread: a sigjmp_buf, or NULL */
	bool is_watching;      /* there is that key */
	struct wtl_rescue rescue;
} faults;

struct wtl_rescue *wtl_rescue(void)
{
	return &faults.rescue;
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
	/* While the screen is in use, standard error is held back. */
	int fd = faults.rescue.len > 0 ? STDOUT_FILENO : STDERR_FILENO;
	sigjmp_buf *guarded;

	(void)unused;
	guarded = pthread_getspecific(faults.guarded);
	/* > 0: a fault, not a signal that a process sent. */
	if (info->si_code > 0 && guarded)
		siglongjmp(*guarded, 1);
	wtl_rescue_terminal();
	if (info->si_code > 0)
		(void)!write(fd, text, sizeof(text) - 1);
	signal(number, SIG_DFL);
	raise(number);
}

void wtl_mapped_watch(void)
{
	const struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};

	faults.is_watching = pthread_key_create(&faults.guarded, NULL) == 0;
	if (faults.is_watching)
		sigaction(SIGBUS, &action, NULL);
}

int wtl_mapped_guard(void (*work)(void *context), void *context)
{
	sigjmp_buf *outer, here;

	if (!faults.is_watching) {
		work(context);
		return 0;
	}
	outer = pthread_getspecific(faults.guarded);
	if (sigsetjmp(here, 1)) {
		pthread_setspecific(faults.guarded, outer);
		return -EFAULT;
	}
	pthread_setspecific(faults.guarded, &here);
	work(context);
	pthread_setspecific(faults.guarded, outer);
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

	return wtl_thread_call(do_guarded, &job);
}
