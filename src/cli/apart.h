/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_APART_H
#define WTL_CLI_APART_H

#include <stdint.h>
#include <stdio.h>

/*
 * Work in a process of its own, which may be ended by what it reads, and ends nothing else: tell() is called there, with a
 * copy of all that is in memory, and hear() here. What tell() has written comes to an end where it did, whole or not. It
 * has a minute of CPU time; what hear() leaves is not waited for. The CPU time that it took, or a negative errno.
 */
int64_t wtl_apart(void (*tell)(void *context, FILE *answers),
		  void (*hear)(void *context, FILE *answers), void *context);

#endif
