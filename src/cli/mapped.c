/* SPDX-License-Identifier: MIT */
#include "cli/mapped.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

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

static void on_bus(int number, siginfo_t *info, void *unused)
{
	static const char text[] = "wattle: stopped: another program has truncated a file while it "
				   "was read, or its disk failed\n";

	(void)unused;
	/* Not where somebody has sent it. */
	if (info->si_code > 0 && is_guarded())
		siglongjmp(*faults.guarded, 1);
	if (info->si_code > 0)
		(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
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
