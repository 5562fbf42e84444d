/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_PRICE_H
#define WTL_COMMANDS_ESTIMATE_PRICE_H

#include "commands/estimate/energy.h"

/* What the price options make the command do. All functions complain themselves. */

/* Lists devices, shows a paper or lints tables: an exit code, or -1 if none of these was asked for. */
int wtl_estimate_beside(struct wtl_app *app, const struct wtl_estimate_options *options);
/* 0, or EINVAL after a complaint: price options or a picture without a device. */
int wtl_estimate_check_options(struct wtl_app *app, const struct wtl_estimate_options *options);
/* Prices a network on the devices, and prints or draws the result. An exit code. */
int wtl_estimate_prices(struct wtl_app *app, const struct wtl_estimate_options *options,
			struct wtl_network *network, const char *path);
/* Reads the file if it begins as a network in text does. 1; 0: it does not; negative after a complaint. */
int wtl_estimate_read_text(struct wtl_app *app, const char *path, struct wtl_network *ret);

#endif
