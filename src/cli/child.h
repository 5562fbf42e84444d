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
	int64_t cpu_ns; /* with those that it, or wattle as their new parent, waited for */
	uint64_t max_rss_bytes;
};

/* Before wattle changes any signal. */
void wtl_inherited_read(struct wtl_inherited *ret_inherited);
/* The signals that would end wattle silently, to be waited for instead; not those of its own faults. What was ignored
 * when wattle started (nohup, a shell's background jobs) is not among them: a blocked signal would still arrive. */
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
/* Notes whether it ended; never waits. An ended process stays until
 * wtl_child_reap(), which also sets the rest, so that its accounts can be read. */
void wtl_child_poll(struct wtl_child *child);
/* What it used, with descendants that were waited for, if it has ended and was not reaped; else 0. */
int64_t wtl_child_used_ns(const struct wtl_child *child);
void wtl_child_reap(struct wtl_child *child);
int wtl_child_exit_code(const struct wtl_child *child); /* 128 + N for a signal */
/* Reaps it and returns its exit code. If it still runs: 128 + the signal that made wattle leave it alone. */
int wtl_child_end(struct wtl_child *child, int last_signal);

#endif
