/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_RUN_EVERY_H
#define WTL_COMMANDS_RUN_EVERY_H

#include <stdbool.h>
#include <stdint.h>

#include <wattle.h>

#include "base/buf.h"
#include "cli/billing.h"
#include "document/doc.h"
#include "meter/consumers.h"

struct wtl_app;
struct wtl_loop;
struct wtl_writer;

/* One line per interval of a run (`wattle run --every`). The lines' energies add up to the run's. */
struct wtl_run_every {
	struct wtl_app *app;
	struct wtl_billing *billing;
	struct wtl_loop *loop;
	const struct wtl_writer *writer; /* NULL: text */
	int fd;
	int64_t interval_ns, due_ns, told_ns;
	uint64_t told_uj; /* the machine's, so far */
	size_t n_domains;
	struct wattle_energy *energies;
	struct wtl_consumers_sum told, now, since; /* of the command; shares NULL: no processes */
	struct wtl_doc row;
	struct wtl_buf buf; /* not written yet */
	int error;	    /* if set, nothing more is written */
};

/* Zeroed before: opens the output for the lines. 0, or negative after wtl_complain(). close() in any case. */
int wtl_run_every_open(struct wtl_run_every *every, struct wtl_app *app,
		       struct wtl_billing *billing, struct wtl_loop *loop, int64_t interval_ns);
/* 0, or negative after wtl_complain(): lines are missing. */
int wtl_run_every_close(struct wtl_run_every *every);
/* The billing's window has begun. */
void wtl_run_every_begin(struct wtl_run_every *every);
/* After each sample. */
void wtl_run_every_look(struct wtl_run_every *every);
/* The window has ended, with these figures, and was billed: writes the last line. */
void wtl_run_every_end(struct wtl_run_every *every, const struct wattle_window *window);
/* Writes what a pipe has not taken yet: until it is read, or a signal asks to end; after an earlier signal, for at
 * most a second. close() does it too. */
void wtl_run_every_finish(struct wtl_run_every *every);
/* Do lines for programs take the report's place? */
bool wtl_run_every_has_place(const struct wtl_run_every *every);

#endif
