/* SPDX-License-Identifier: MIT */
#include "cli/mapped.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static _Thread_local sigjmp_buf *guarded;

static void on_bus(int number, siginfo_t *info, void *unused)
{
	static const char text[] = "wattle: stopped: another program has truncated a file while it "
				   "was read, or its disk failed\n";

	(void)unused;
	/* Not where somebody has sent it. */
	if (info->si_code > 0 && guarded)
		siglongjmp(*guarded, 1);
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
	sigjmp_buf *outer = guarded, here;

	if (sigsetjmp(here, 1)) {
		guarded = outer;
		return -EFAULT;
	}
	guarded = &here;
	work(context);
	guarded = outer;
	return 0;
}
