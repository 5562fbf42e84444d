/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_MAPPED_H
#define WTL_CLI_MAPPED_H

#include <stddef.h>
#include <termios.h>

/*
 * Files that are in memory, and that another process truncates: touching what was there is a SIGBUS. A recording's
 * FILE-shm is one of them.
 */

/* Such a signal now ends what wtl_mapped_guard() calls; elsewhere it ends wattle, as before, but with a message. */
void wtl_mapped_watch(void);

/* A guard of struct wtl_store_options: work() may be ended wherever it touches such a file, in this thread. */
int wtl_mapped_guard(void (*work)(void *context), void *context);

struct wtl_app;

/* For commands that only read: returns what work() does, or -EFAULT after a complaint. Then
 * what work() had open must be neither used nor closed: that would touch the file again. */
int wtl_mapped_read(struct wtl_app *app, int (*work)(void *context), void *context);

/* As wtl_thread_call(), and guarded there. -EFAULT as there, without a complaint. */
int wtl_mapped_call(int (*work)(void *context), void *context);

/* How to give the terminal back from within a signal handler: filled in by the screen; len 0: there is none. */
struct wtl_rescue {
	struct termios termios;
	char text[160];
	size_t len;
};
struct wtl_rescue *wtl_rescue(void);
void wtl_rescue_terminal(void);

#endif
