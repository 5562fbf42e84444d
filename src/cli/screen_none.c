/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/err.h"
#include "cli/screen.h"

/* A build without ncurses: there is no live screen. */

bool wtl_screen_is_built(void)
{
	return false;
}

int wtl_screen_new(const struct wtl_screen_options *options, struct wtl_screen **ret_screen,
		   struct wtl_err *err)
{
	(void)options;
	(void)ret_screen;
	return wtl_err_set(err, ENOSYS, "screen", NULL,
			   "this wattle was built without ncurses; --once works without it");
}

void wtl_screen_free(struct wtl_screen *screen)
{
	(void)screen;
}

void wtl_screen_set(struct wtl_screen *screen, const struct wtl_screen_options *options)
{
	(void)screen;
	(void)options;
}

void wtl_screen_size(struct wtl_screen *screen, int *ret_rows, int *ret_columns)
{
	(void)screen;
	*ret_rows = 0;
	*ret_columns = 0;
}

int wtl_screen_show(struct wtl_screen *screen, const struct wtl_canvas *canvas, bool whole)
{
	(void)screen;
	(void)canvas;
	(void)whole;
	return -EIO;
}

void wtl_screen_leave(struct wtl_screen *screen)
{
	(void)screen;
}

int wtl_screen_read(struct wtl_screen *screen, struct wtl_input *ret_input)
{
	(void)screen;
	(void)ret_input;
	return -EIO;
}
