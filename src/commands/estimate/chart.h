/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_CHART_H
#define WTL_COMMANDS_ESTIMATE_CHART_H

#include <stdbool.h>

#include "commands/estimate/energy.h"
#include "draw/plot.h"

/* Energy over the spike rate: a line per number of time steps, and the ordinary network; they cross at break-even. */

/* One panel per device, in the sheet's figure. 0, or negative with the reason. */
int wtl_estimate_chart(const struct wtl_estimate_energy *energy, struct wtl_plot_sheet *sheet,
		       struct wtl_err *err);

#endif
