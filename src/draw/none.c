/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/err.h"
#include "draw/plot.h"

/* A build without cairo. */

bool wtl_plot_is_built(void)
{
	return false;
}

int wtl_plot_draw(const struct wtl_plot_figure *figure, const struct wtl_plot_paper *paper,
		  struct wtl_buf *buf, struct wtl_err *err)
{
	(void)figure;
	(void)paper;
	(void)buf;
	return wtl_err_set(err, ENOSYS, "plot", NULL, "this wattle was built without cairo");
}
