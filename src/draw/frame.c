/* SPDX-License-Identifier: MIT */
#include "draw/parts.h"

/* Where on the paper a value of a panel lies. */

static double place(double at, double low, double high, double from, double to)
{
	double part = (at - low) / (high - low);

	/* Far outside, it makes no difference how far, and a pen's coordinates are limited. */
	part = !(part > -2) ? -2 : part > 3 ? 3 : part;
	return from + part * (to - from);
}

double wtl_plot_frame_at(const struct wtl_plot_frame *frame, double at)
{
	return place(at, frame->x.low, frame->x.high, frame->box.left, frame->box.right);
}

double wtl_plot_frame_x(const struct wtl_plot_frame *frame, int64_t x)
{
	return wtl_plot_frame_at(frame, wtl_plot_distance(frame->from, x));
}

double wtl_plot_frame_y(const struct wtl_plot_frame *frame, double y)
{
	return place(y, frame->y.low, frame->y.high, frame->box.bottom, frame->box.top);
}
