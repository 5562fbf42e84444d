/* SPDX-License-Identifier: MIT */
/* The user's command, from its start to its end, for all that run one. */
#include "base/err.h"
#include "cli/child.h"
#include "cli/child_watch.h"
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/loop.h"
#include "wattle.h"

int wtl_loop_open(struct wtl_loop *loop, struct wtl_app *app, void (*ticked)(void *context),
		  void *context)
{
	int rc = wtl_loop_init(loop, &app->settings, &app->inherited);

	loop->ticked = ticked;
	loop->context = context;
	if (rc < 0)
		wtl_complain(app, "cannot set up the sampling loop: %s", wtl_err_text(rc));
	return rc;
}

int wtl_child_begin(struct wtl_child *child, struct wtl_app *app)
{
	int rc = wtl_child_start(child, app->settings.command, &app->inherited);

	return rc < 0 ? wtl_child_complain(app, rc) : 0;
}

void wtl_child_watch(struct wtl_child *child, const struct wtl_app *app, struct wtl_loop *loop,
		     struct wattle_meter *meter, struct wtl_io *io)
{
	if (wtl_loop_run(loop, meter, io, child) < 0)
		wtl_remark(app, "'%s' (process %d) does not end, and is left to itself",
			   app->settings.command[0], child->pid);
}

int wtl_child_end(struct wtl_child *child, const struct wtl_loop *loop)
{
	wtl_child_reap(child);
	return child->ended ? wtl_child_exit_code(child) : 128 + loop->last_signal;
}
