/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "draw/parts.h"

#define SOURCE "plot"

const char *const wtl_plot_formats[] = {
	[WTL_PLOT_SVG] = "svg", [WTL_PLOT_PNG] = "png", [WTL_PLOT_PDF] = "pdf", NULL};

int wtl_plot_format_find(const char *name, enum wtl_plot_format *ret_format)
{
	for (unsigned i = 0; wtl_plot_formats[i]; i++) {
		if (strcasecmp(wtl_plot_formats[i], name) != 0)
			continue;
		*ret_format = (enum wtl_plot_format)i;
		return 0;
	}
	return -EINVAL;
}

bool wtl_plot_is_picture(const char *path, enum wtl_plot_format *ret_format)
{
	const char *dot = path ? strrchr(path, '.') : NULL;

	return dot && wtl_plot_format_find(dot + 1, ret_format) == 0;
}

static bool is_drawn(const struct wtl_plot_panel *panel, const struct wtl_plot_point *point)
{
	if (panel->marks != WTL_PLOT_BARS && panel->from < panel->to &&
	    (point->x < panel->from || point->x > panel->to))
		return false;
	return isfinite(point->y);
}

bool wtl_plot_is_empty(const struct wtl_plot_figure *figure)
{
	for (size_t p = 0; p < figure->n_panels; p++) {
		const struct wtl_plot_panel *panel = &figure->panels[p];

		for (size_t s = 0; s < panel->n_series; s++)
			for (size_t i = 0; i < panel->series[s].n; i++)
				if (is_drawn(panel, &panel->series[s].points[i]))
					return false;
	}
	return true;
}

/* Is the paper large enough for all of the figure to be legible? */
static int check_room(const struct wtl_plot_figure *figure, const struct wtl_plot_paper *paper,
		      struct wtl_err *err)
{
	double width = fmax(paper->width, WTL_PLOT_WIDTH_MIN);
	double height = fmax(paper->height, wtl_plot_figure_height_least(figure));

	if (paper->width >= width && paper->height >= height)
		return 0;
	return wtl_err_set(err, EINVAL, SOURCE, NULL,
			   "a picture of %.0f × %.0f pixels has no room for all of it: make it at "
			   "least %.0f × %.0f",
			   paper->width, paper->height, width, height);
}

int wtl_plot_check(const struct wtl_plot_figure *figure, const struct wtl_plot_paper *paper,
		   struct wtl_err *err)
{
	double sizes[] = {paper->width, paper->height,
			  paper->width * (paper->scale > 0 ? paper->scale : 1),
			  paper->height * (paper->scale > 0 ? paper->scale : 1)};

	if (wtl_plot_is_empty(figure))
		return wtl_err_set(err, ENODATA, SOURCE, NULL, "there is nothing to plot");
	for (unsigned i = 0; i < 4; i++)
		if (!(sizes[i] >= WTL_PLOT_SIZE_MIN / 2.0 && sizes[i] <= WTL_PLOT_SIZE_MAX))
			return wtl_err_set(err, EINVAL, SOURCE, NULL,
					   "a picture of %.0f × %.0f pixels is out of bounds "
					   "(%d to %d)",
					   sizes[2], sizes[3], WTL_PLOT_SIZE_MIN,
					   WTL_PLOT_SIZE_MAX);
	return check_room(figure, paper, err);
}

const char *const wtl_plot_whats[WTL_PLOT_WHATS + 1] = {
	[WTL_PLOT_POWER] = "power",	[WTL_PLOT_PROCESSES] = "processes",
	[WTL_PLOT_WINDOWS] = "windows", [WTL_PLOT_MEMORY] = "memory",
	[WTL_PLOT_RUNS] = "runs",	[WTL_PLOT_EMISSIONS] = "emissions",
};
