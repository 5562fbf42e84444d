/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_PRICE_H
#define WTL_COMMANDS_ESTIMATE_PRICE_H

#include "commands/estimate/energy.h"

/* What the options for prices make the command do. All complain themselves. */

/* Lists of devices, papers and tables: an exit code, or -1 where none was asked for. */
int wtl_estimate_beside(struct wtl_app *app, const struct wtl_estimate_options *options);
/* 0, or EINVAL after a complaint: options for prices without a device, a picture of nothing. */
int wtl_estimate_check_options(struct wtl_app *app, const struct wtl_estimate_options *options);
/* Prices a network on the devices, and tells or draws it. An exit code. */
int wtl_estimate_prices(struct wtl_app *app, const struct wtl_estimate_options *options,
			struct wtl_network *network, const char *path);
/* A file that begins as a network in text does; then it is read. 1; 0: it does not; negative after a complaint. */
int wtl_estimate_read_text(struct wtl_app *app, const char *path, struct wtl_network *ret);

#endif
