/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/process.h"
#include "energy/units.h"

extern char **environ;

void wtl_inherited_read(struct wtl_inherited *ret_inherited)
{
	struct sigaction action;

	sigemptyset(&ret_inherited->blocked);
	sigemptyset(&ret_inherited->ignored);
	sigprocmask(SIG_BLOCK, NULL, &ret_inherited->blocked);
	for (int i = 1; i <= SIGRTMAX; i++)
		if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			sigaddset(&ret_inherited->ignored, i);
}

void wtl_ending_signals(const struct wtl_inherited *inherited, sigset_t *ret_signals)
{
	static const int usual[] = {SIGINT,    SIGTERM, SIGHUP,	 SIGQUIT,   SIGUSR1,
				    SIGUSR2,   SIGALRM, SIGPROF, SIGVTALRM, SIGXCPU,
				    SIGSTKFLT, SIGIO,	SIGPWR};

	sigemptyset(ret_signals);
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (!sigismember(&inherited->ignored, usual[i]))
			sigaddset(ret_signals, usual[i]);
	for (int i = SIGRTMIN; i <= SIGRTMAX; i++)
		if (!sigismember(&inherited->ignored, i))
			sigaddset(ret_signals, i);
}

static bool is_runnable(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* What a child reads and writes. */
struct ends {
	bool lacks_input, hides_output;
	int input, output; /* unless it lacks or hides them; < 0: wattle's own */
};

static int redirect(posix_spawn_file_actions_t *actions, const struct ends *ends)
{
	int error = 0;

	if (ends->lacks_input)
		error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null",
							 O_RDONLY, 0);
	else if (ends->input >= 0)
		error = posix_spawn_file_actions_adddup2(actions, ends->input, STDIN_FILENO);
	if (!error && ends->hides_output)
		error = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null",
							 O_WRONLY, 0);
	else if (!error && ends->output >= 0)
		error = posix_spawn_file_actions_adddup2(actions, ends->output, STDOUT_FILENO);
	return error;
}

static int spawn(pid_t *ret_pid, const char *file, char *const argv[], const struct wtl_app *app,
		 const struct ends *ends)
{
	const struct wtl_inherited *inherited = &app->inherited;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults;
	int error = posix_spawnattr_init(&attributes);

	if (error)
		return -error;
	posix_spawn_file_actions_init(&actions);
	/* What wattle changed for itself is put back: the blocked signals, SIGPIPE and SIGXFSZ. An
	 * ignored SIGCHLD is not, as with timeout(1). */
	sigemptyset(&defaults);
	if (!sigismember(&inherited->ignored, SIGPIPE))
		sigaddset(&defaults, SIGPIPE);
	if (!sigismember(&inherited->ignored, SIGXFSZ))
		sigaddset(&defaults, SIGXFSZ);
	posix_spawnattr_setsigmask(&attributes, &inherited->blocked);
	posix_spawnattr_setsigdefault(&attributes, &defaults);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	error = redirect(&actions, ends);
	if (!error)
		error = posix_spawnp(ret_pid, file, &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return -error;
}

/* Where the name was found: the first file in PATH that may be run, as execvp() looks for it. */
static int find_in_path(const char *name, char *ret_path, size_t size)
{
	const char *at = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(ret_path, size, "%s", name) < (int)size ? 0 : -ENAMETOOLONG;
	for (at = at ? at : "/bin:/usr/bin";; at++) {
		int len = (int)strcspn(at, ":");

		if (snprintf(ret_path, size, "%.*s/%s", len ? len : 1, len ? at : ".", name) <
			    (int)size &&
		    is_runnable(ret_path))
			return 0;
		at += len;
		if (!*at)
			return -ENOENT;
	}
}

/* A script without a #! line is run by the shell, as execvp() would. */
static int spawn_script(struct wtl_child *child, char *const argv[], const struct wtl_app *app,
			const struct ends *ends)
{
	char path[PATH_MAX];
	char **shell_argv;
	size_t n = 0;
	int rc = find_in_path(argv[0], path, sizeof(path));

	if (rc < 0)
		return rc;
	while (argv[n])
		n++;
	shell_argv = calloc(n + 2, sizeof(*shell_argv));
	if (!shell_argv)
		return -ENOMEM;
	shell_argv[0] = (char[]){"sh"};
	shell_argv[1] = path;
	memcpy(shell_argv + 2, argv + 1, (n - 1) * sizeof(*argv));
	rc = spawn(&child->pid, "/bin/sh", shell_argv, app, ends);
	free(shell_argv);
	return rc;
}

static int start(struct wtl_child *child, char *const argv[], const struct wtl_app *app)
{
	const struct ends ends = {app->settings.lacks_input, app->settings.hides_output, -1, -1};
	char path[PATH_MAX];
	int rc = spawn(&child->pid, argv[0], argv, app, &ends);

	if (rc == -ENOEXEC)
		return spawn_script(child, argv, app, &ends);
	if (rc == -ENOENT && find_in_path(argv[0], path, sizeof(path)) == 0 && is_runnable(path))
		return -WTL_EABSENT;
	return rc;
}

/* false: see errno. */
static bool can_wait(void)
{
	siginfo_t info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno == ECHILD ||
	       wait4(-1, NULL, WNOHANG, NULL) >= 0 || errno == ECHILD;
}

/* Says why it could not be started, and returns the exit code that a shell would have for that. */
static int complain(struct wtl_app *app, int rc)
{
	const char *name = app->settings.command[0];

	if (rc == -WTL_EABSENT) {
		wtl_complain(app, "cannot run '%s': the interpreter that it names is missing",
			     name);
		return WTL_EXIT_CANNOT_RUN;
	}
	if (rc == -ENOENT) {
		wtl_complain(app, "cannot run '%s': there is no such command", name);
		return WTL_EXIT_NOT_FOUND;
	}
	wtl_complain(app, "cannot run '%s': %s", name, wtl_err_text(rc));
	return WTL_EXIT_CANNOT_RUN;
}

static void identify(struct wtl_child *child)
{
	int number = wtl_process_number(child->pid);

	child->number = number > 0 ? number : 0;
	wtl_process_start(child->number, &child->start_ticks);
}

int wtl_child_start(struct wtl_child *child, struct wtl_app *app)
{
	int rc;

	memset(child, 0, sizeof(*child));
	if (!can_wait()) {
		wtl_complain(app,
			     "cannot run '%s': its end could not be seen, as waitid and wait4 are "
			     "denied here: %s",
			     app->settings.command[0], wtl_err_text(errno));
		return WTL_EXIT_WATTLE_FAILED;
	}
	/* Descendants whose parent ends become wattle's children, and are known as the command's. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	rc = start(child, app->settings.command, app);
	if (rc < 0)
		return complain(app, rc);
	identify(child);
	return 0;
}

int wtl_child_start_piped(struct wtl_child *child, const struct wtl_app *app, char *const argv[],
			  int *ret_to, int *ret_from)
{
	int in[2], out[2];

	memset(child, 0, sizeof(*child));
	if (pipe2(in, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(out, O_CLOEXEC) < 0) {
		int rc = -errno;
		close(in[0]);
		close(in[1]);
		return rc;
	}
	int rc = spawn(&child->pid, argv[0], argv, app,
		       &(struct ends){.input = in[0], .output = out[1]});
	close(in[0]);
	close(out[1]);
	if (rc < 0) {
		close(in[1]);
		close(out[0]);
		return rc;
	}
	identify(child);
	*ret_to = in[1];
	*ret_from = out[0];
	return 0;
}

int wtl_child_start_wattle(const struct wtl_app *app, char *const argv[], int input)
{
	const struct ends ends = {
		.lacks_input = input < 0, .hides_output = true, .input = input, .output = -1};
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	pid_t pid;
	int rc;

	path[len > 0 ? len : 0] = '\0';
	/* By its path, unless another file has taken its place. */
	rc = spawn(&pid, is_runnable(path) ? path : "/proc/self/exe", argv, app, &ends);
	return rc < 0 ? rc : pid;
}

static int64_t to_ns(struct timeval time)
{
	return (int64_t)time.tv_sec * WTL_NS_PER_S + (int64_t)time.tv_usec * 1000;
}

static int64_t usage_ns(const struct rusage *usage)
{
	return to_ns(usage->ru_utime) + to_ns(usage->ru_stime);
}

int64_t wtl_child_used_ns(const struct wtl_child *child)
{
	siginfo_t info = {.si_pid = 0};
	struct rusage usage;

	/* glibc's waitid() does not return the kernel's usage. */
	if (syscall(SYS_waitid, P_PID, child->pid, &info, WEXITED | WNOHANG | WNOWAIT, &usage) <
		    0 ||
	    info.si_pid != child->pid)
		return 0;
	return child->cpu_ns + usage_ns(&usage);
}

static void add_usage(struct wtl_child *child, const struct rusage *usage)
{
	uint64_t rss_bytes = (uint64_t)usage->ru_maxrss * 1024;

	child->cpu_ns += usage_ns(usage);
	if (rss_bytes > child->max_rss_bytes)
		child->max_rss_bytes = rss_bytes;
}

/* A child that has ended and was not waited for; 0: there is none. -1: any child. Where waitid()
 * is denied, as by some seccomp profiles, it cannot be asked for without waiting for it. */
static pid_t next_ended(void)
{
	siginfo_t info = {.si_pid = 0};

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0)
		return info.si_pid;
	return errno == ECHILD ? 0 : -1;
}

/* Like wait4(), also where that is denied. Returns the process, or 0. */
static pid_t take_ended(pid_t pid, int *ret_status, struct rusage *ret_usage)
{
	siginfo_t info = {.si_pid = 0};
	pid_t taken = wait4(pid, ret_status, WNOHANG, ret_usage);

	if (taken >= 0 || errno == ECHILD)
		return taken > 0 ? taken : 0;
	if (syscall(SYS_waitid, pid > 0 ? P_PID : P_ALL, pid, &info, WEXITED | WNOHANG, ret_usage) <
	    0)
		return 0;
	*ret_status = info.si_code == CLD_EXITED   ? W_EXITCODE(info.si_status, 0)
		      : info.si_code == CLD_DUMPED ? info.si_status | WCOREFLAG
						   : info.si_status;
	return info.si_pid;
}

/* Is it the command, or a descendant that lost its parent (see wtl_child_start())? Earlier children of wattle, and
 * those left behind by an earlier run, started earlier. Within a tick, later processes have higher numbers. */
static bool is_ours(const struct wtl_child *child, pid_t pid)
{
	uint64_t start_ticks;

	if (child->start_ticks > 0 &&
	    wtl_process_start(wtl_process_number(pid), &start_ticks) == 0 &&
	    start_ticks != child->start_ticks)
		return start_ticks > child->start_ticks;
	return pid >= child->pid;
}

/* pid -1: any child. */
static bool reap_one(struct wtl_child *child, pid_t pid)
{
	bool counts = pid > 0 && is_ours(child, pid);
	struct rusage usage;
	int status;
	pid_t taken = take_ended(pid, &status, &usage);

	if (taken == 0)
		return false;
	if (pid < 0)
		counts = is_ours(child, taken);
	pid = taken;
	if (counts)
		add_usage(child, &usage);
	if (pid == child->pid) {
		child->ended = true;
		child->wait_status = status;
	}
	return true;
}

void wtl_child_reap(struct wtl_child *child)
{
	pid_t pid;

	while ((pid = next_ended()) != 0 && reap_one(child, pid))
		;
}

void wtl_child_poll(struct wtl_child *child)
{
	pid_t pid;

	/* The command itself is not reaped. */
	while (!child->ended && (pid = next_ended()) != 0) {
		if (pid == child->pid)
			child->ended = true;
		else if (!reap_one(child, pid))
			return;
	}
}

int wtl_child_exit_code(const struct wtl_child *child)
{
	if (WIFSIGNALED(child->wait_status))
		return 128 + WTERMSIG(child->wait_status);
	return WEXITSTATUS(child->wait_status);
}

int wtl_child_end(struct wtl_child *child, int last_signal)
{
	wtl_child_reap(child);
	return child->ended ? wtl_child_exit_code(child) : 128 + last_signal;
}
