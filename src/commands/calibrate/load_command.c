/* SPDX-License-Identifier: MIT */
/* A command that keeps a GPU busy, in a process group that is stopped and continued by signals. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/thread.h"
#include "commands/calibrate/load.h"
#include "energy/units.h"

#define END_NS (500 * WTL_NS_PER_MS)

struct command_load {
	struct wtl_gpu_load load;
	pid_t pid;
};

static struct command_load *own(struct wtl_gpu_load *load)
{
	return (struct command_load *)(void *)load;
}

static int64_t tell(struct wtl_gpu_load *load, int number, struct wtl_err *err)
{
	pid_t pid = own(load)->pid;
	int status;

	if (pid > 0 && waitpid(pid, &status, WNOHANG) == pid) {
		own(load)->pid = 0;
		killpg(pid, SIGKILL); /* processes it has left behind */
	}
	if (own(load)->pid <= 0 || killpg(pid, number) < 0)
		return wtl_err_set(
			err, ECHILD, "load", NULL,
			"the command of --load ended: it has to go on for as long as it is "
			"let");
	return wtl_thread_clock_ns();
}

static int64_t command_on(struct wtl_gpu_load *load, int64_t for_ns, struct wtl_err *err)
{
	(void)for_ns;
	return tell(load, SIGCONT, err);
}

static int64_t command_off(struct wtl_gpu_load *load, struct wtl_err *err)
{
	return tell(load, SIGSTOP, err);
}

static void command_free(struct wtl_gpu_load *load)
{
	pid_t pid = load ? own(load)->pid : 0;
	int64_t until_ns = wtl_thread_clock_ns() + END_NS;

	if (pid > 0) {
		killpg(pid, SIGTERM);
		killpg(pid, SIGCONT);
		while (waitpid(pid, NULL, WNOHANG) == 0 && wtl_thread_clock_ns() < until_ns)
			nanosleep(&(struct timespec){.tv_nsec = 5 * WTL_NS_PER_MS}, NULL);
		killpg(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	free(load);
}

static const struct wtl_gpu_load_ops ops = {command_on, command_off, command_free};

static _Noreturn void become(const char *command, const char *uuid)
{
	sigset_t none;

	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (uuid[0])
		setenv("CUDA_VISIBLE_DEVICES", uuid, 1);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

int wtl_gpu_load_command(const char *command, const char *uuid, struct wtl_gpu_load **ret_load,
			 struct wtl_err *err)
{
	struct command_load *load = calloc(1, sizeof(*load));

	if (!load)
		return wtl_err_set(err, ENOMEM, "load", NULL, "out of memory");
	load->load.ops = &ops;
	load->pid = fork();
	if (load->pid < 0) {
		int rc = wtl_err_set(err, errno, "load", NULL, "it cannot be started: %s",
				     wtl_err_text(errno));

		free(load);
		return rc;
	}
	if (load->pid == 0)
		become(command, uuid);
	setpgid(load->pid, load->pid);
	*ret_load = &load->load;
	return 0;
}
