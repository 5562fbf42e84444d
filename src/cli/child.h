/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_CHILD_H
#define WTL_CLI_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct wtl_app;
struct wtl_inherited;

struct wtl_child {
	int pid;
	int number;	      /* what /proc calls it; 0: not known */
	uint64_t start_ticks; /* by /proc; 0: not known */
	bool ended;
	int wait_status;
	int64_t cpu_ns; /* with those that it, or wattle in its place, waited for */
	uint64_t max_rss_bytes;
};

/* Before wattle changes any signal. */
void wtl_inherited_read(struct wtl_inherited *ret_inherited);
/* All that would end wattle without a word, to be waited for instead; none of its own faults. What was ignored when
 * wattle started (nohup, a shell's background jobs) is not among them: a blocked signal would still arrive. */
void wtl_ending_signals(const struct wtl_inherited *inherited, sigset_t *ret_signals);
/* Starts the settings' command in wattle's own process group, on its terminal; wattle becomes the parent of its
 * descendants that lose theirs. 0, or after wtl_complain() the exit code that a shell would have. */
int wtl_child_start(struct wtl_child *child, struct wtl_app *app);
/*
 * Starts another wattle, `input` as its standard input (negative: /dev/null) and its standard output nowhere. Its
 * process, or a negative errno.
 */
int wtl_child_start_wattle(const struct wtl_app *app, char *const argv[], int input);
/*
 * Starts a program; *ret_to is written to its standard input, *ret_from is read from its standard output. Both are the
 * caller's to close. 0 or a negative errno. wtl_child_poll() and wtl_child_reap() as with the command.
 */
int wtl_child_start_piped(struct wtl_child *child, const struct wtl_app *app, char *const argv[],
			  int *ret_to, int *ret_from);
/* Takes note if it ended; never waits. Its process stays, so that its accounts can be looked at, until
 * wtl_child_reap(), which also tells the rest. */
void wtl_child_poll(struct wtl_child *child);
/* What it and its descendants that were waited for used, when it has ended and was not reaped; 0: it has not. */
int64_t wtl_child_used_ns(const struct wtl_child *child);
void wtl_child_reap(struct wtl_child *child);
int wtl_child_exit_code(const struct wtl_child *child); /* 128 + N for a signal */
/* Reaps it. Its exit code; of one that goes on, of the signal that left it to itself. */
int wtl_child_end(struct wtl_child *child, int last_signal);

#endif
