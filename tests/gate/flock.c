/* SPDX-License-Identifier: MIT */
/*
 * A gate before flock(), by LD_PRELOAD into the command: what others do between two of its steps is then
 * done between them each time. Before call number $WATTLE_TEST_GATE_CALL (from 1) it makes the file
 * $WATTLE_TEST_GATE.reached, and waits for $WATTLE_TEST_GATE.open, a minute at the most.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 12000, TURN_NS = 5000000 };

static void wait_at(const char *gate)
{
	const struct timespec turn = {.tv_nsec = TURN_NS};
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s.reached", gate);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	snprintf(path, sizeof(path), "%s.open", gate);
	for (int i = 0; i < TURNS && access(path, F_OK) < 0; i++)
		nanosleep(&turn, NULL);
}

__attribute__((visibility("default"))) int flock(int fd, int operation)
{
	static int n;
	const char *gate = getenv("WATTLE_TEST_GATE"), *call = getenv("WATTLE_TEST_GATE_CALL");

	if (gate && call && ++n == atoi(call))
		wait_at(gate);
	return (int)syscall(SYS_flock, fd, operation);
}
