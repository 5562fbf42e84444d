/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_PROCESS_H
#define WTL_CLI_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Processes as /proc numbers them: this machine's own, also where --root or --tape stands for another. */

/* When the process that /proc calls so started: field 22 of its stat, clock ticks of 10 ms since boot. 0, or
 * a negative errno: -ENOENT for one that has been waited for, -ESRCH for what is no number. */
int wtl_process_start(int pid, uint64_t *ret_ticks);

/* Does that one run? Whoever has ended, and was not waited for yet, does not. */
bool wtl_process_runs(int pid, uint64_t start_ticks);

/* What /proc calls the process that a pidfd stands for. -ESRCH: it has been waited for, or is not in there;
 * -EOPNOTSUPP: it is no pidfd. */
int wtl_process_of_fd(int fd);

/* What /proc calls the one that the system calls know by that number, which is another one where /proc is of
 * another PID namespace. -ESRCH, or another negative errno where that cannot be told. */
int wtl_process_number(int pid);

#endif
