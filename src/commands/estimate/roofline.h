/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_ESTIMATE_ROOFLINE_H
#define WTL_COMMANDS_ESTIMATE_ROOFLINE_H

#include "commands/estimate/energy.h"
#include "neural/roofline.h"

/* A network on this machine, by the rates and prices measured on it. */

struct wtl_estimate_roofline {
	const char *path;
	const struct wtl_network *network;
	const struct wtl_device *device;
	struct wtl_roofline roofline;
};

/* Is this machine among the devices that were asked for? */
bool wtl_estimate_wants_host(const struct wtl_estimate_options *options);
/* 0, or EINVAL after a complaint: options that do not apply to this machine. */
int wtl_estimate_check_host(struct wtl_app *app, const struct wtl_estimate_options *options);
/* By this machine's kept measurements, which are one of the devices. 0, or negative after a complaint. */
int wtl_estimate_roofline(struct wtl_app *app, const struct wtl_estimate_options *options,
			  const struct wtl_network *network, const char *path,
			  const struct wtl_devices *devices, struct wtl_estimate_roofline *ret);
/* The same, printed. An exit code. */
int wtl_estimate_tell_roofline(struct wtl_app *app, const struct wtl_estimate_options *options,
			       const struct wtl_network *network, const char *path);

#endif
