/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_BILLING_H
#define WTL_CLI_BILLING_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "meter/session.h"

struct wtl_app;
struct wtl_child;
struct wtl_consumers;
struct wtl_description;
struct wtl_io;
struct wtl_loop;
struct wtl_recorder;

/* Who uses what while a window of that name is open, looked at once a second. */
struct wtl_billing {
	struct wtl_app *app;
	struct wattle_meter *meter;
	struct wtl_io *io;
	const char *window;
	struct wtl_session session;
	struct wtl_consumers *consumers; /* the session's; NULL: nobody is followed */
	char idle_path[PATH_MAX];
	uint64_t n_lost_exits, n_unfollowed; /* of struct wtl_workload_means, at begin() */
	bool has_looked;    /* hold() was called: the next bill has no look of its own */
	bool lacks_command; /* it runs, but which of the processes it is is not known */
};

/* Says why the weight that was asked for cannot be had, if so. */
void wtl_remark_weight(const struct wtl_app *app, struct wtl_consumers *consumers);
/* Of zeroed memory. 0, or negative after wtl_complain(). close() in any case: it saves the learned idle power. */
int wtl_billing_open(struct wtl_billing *billing, struct wtl_app *app, struct wattle_meter *meter,
		     struct wtl_io *io, const char *window);
void wtl_billing_close(struct wtl_billing *billing);
void wtl_billing_begin(struct wtl_billing *billing); /* right before the window begins */
void wtl_billing_look(void *billing);		     /* after each sample */
void wtl_billing_look_now(struct wtl_billing *billing);
/* Before the last bill, when the command may have ended; NULL: on a tape. */
void wtl_billing_command_ended(struct wtl_billing *billing, const struct wtl_child *child);
/* Adds notes on the attribution. */
void wtl_billing_describe(const struct wtl_billing *billing, struct wtl_description *description);
/* The window is over: looks now, for a bill that is made later. */
void wtl_billing_hold(struct wtl_billing *billing);
/* What the window has used so far, or at its end. */
void wtl_billing_bill(struct wtl_billing *billing, const struct wattle_window *window,
		      const struct wattle_energy energies[]);
/* Watches the idle machine for --idle-first. What this does not learn is as it
 * was stored. The recorder may be NULL. 0, or the exit code to stop with. */
int wtl_billing_watch_idle(struct wtl_billing *billing, struct wtl_loop *loop,
			   struct wtl_recorder *recorder);

#endif
