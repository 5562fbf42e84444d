/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_APART_H
#define WTL_CLI_APART_H

#include <stdint.h>
#include <stdio.h>

/*
 * Forks a process for work that may crash. tell() runs in that process, with a copy of all memory, and
 * writes answers; hear() runs in this one and reads them. If the process crashes, or uses more than a
 * minute of CPU time or 4 GiB more memory, the answers end early. When hear() returns, the process is
 * killed. Returns the CPU time that it used, in ns, or a negative errno if it cannot be started.
 */
int64_t wtl_apart(void (*tell)(void *context, FILE *answers),
		  void (*hear)(void *context, FILE *answers), void *context);

#endif
