/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_PROCESS_H
#define WTL_CLI_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Processes as /proc numbers them: this machine's own, also where --root or --tape stands for another. */

/* When the process with that number in /proc started: field 22 of its stat, clock ticks of 10 ms since
 * boot. 0, or a negative errno: -ENOENT for one that has been waited for, -ESRCH for an invalid number. */
int wtl_process_start(int pid, uint64_t *ret_ticks);

/* Does that process run? One that has ended does not, even if it was not waited for yet. */
bool wtl_process_runs(int pid, uint64_t start_ticks);

/* The number in /proc of a pidfd's process. -ESRCH: it has been waited
 * for, or /proc does not have it; -EOPNOTSUPP: this is no pidfd. */
int wtl_process_of_fd(int fd);

/* The number in /proc of the process with that pid, which differs where /proc is of
 * another PID namespace. -ESRCH, or another negative errno if it cannot be found out. */
int wtl_process_number(int pid);

#endif
