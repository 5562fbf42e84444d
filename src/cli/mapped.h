/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_MAPPED_H
#define WTL_CLI_MAPPED_H

/*
 * Files that are in memory, and that another process truncates: touching what was there is a SIGBUS. A recording's
 * FILE-shm is one of them.
 */

/* From now on such a signal ends what wtl_mapped_guard() calls; elsewhere it ends wattle, as before, but with a line. */
void wtl_mapped_watch(void);

/* A guard of struct wtl_store_options: work() may be ended wherever it touches such a file. */
int wtl_mapped_guard(void (*work)(void *context), void *context);

#endif
