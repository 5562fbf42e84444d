/* SPDX-License-Identifier: MIT */
#include "cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/procfs.h"

/* The start of a file in /proc, NUL-terminated. Its length. */
static ssize_t read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read(fd, text, size - 1);
	if (len < 0)
		len = -errno;
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	return len;
}

static int read_stat(int pid, struct wtl_proc_stat *ret_stat)
{
	char path[48], text[2048];
	ssize_t len;

	if (pid < 1)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	len = read_text(path, text, sizeof(text));
	if (len < 0)
		return (int)len;
	return wtl_proc_parse_stat(text, (size_t)len, ret_stat);
}

int wtl_process_start(int pid, uint64_t *ret_ticks)
{
	struct wtl_proc_stat stat;
	int rc = read_stat(pid, &stat);

	if (rc == 0)
		*ret_ticks = stat.start_ticks;
	return rc;
}

bool wtl_process_runs(int pid, uint64_t start_ticks)
{
	struct wtl_proc_stat stat;

	return read_stat(pid, &stat) == 0 && stat.start_ticks == start_ticks && stat.state != 'Z' &&
	       stat.state != 'X';
}

int wtl_process_of_fd(int fd)
{
	char path[48], text[2048];
	const char *at;
	ssize_t len;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	len = read_text(path, text, sizeof(text));
	if (len < 0)
		return (int)len;
	/* Never the first line (fs/proc/fd.c, seq_show()); 0 or -1: /proc has no number for it. */
	at = strstr(text, "\nPid:");
	if (!at)
		return -EOPNOTSUPP;
	pid = atoi(at + strlen("\nPid:"));
	return pid > 0 ? pid : -ESRCH;
}

/* Without pidfds (before Linux 5.3): if /proc is of our own PID namespace, the numbers are the same. */
static int number_without_fd(int pid)
{
	char text[16] = "";

	if (readlink("/proc/self", text, sizeof(text) - 1) < 0)
		return -errno;
	return atoi(text) == getpid() ? pid : -EOPNOTSUPP;
}

int wtl_process_number(int pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), number;

	if (fd < 0)
		return errno == ESRCH ? -ESRCH : number_without_fd(pid);
	number = wtl_process_of_fd(fd);
	close(fd);
	return number;
}
