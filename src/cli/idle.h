/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_IDLE_H
#define WTL_CLI_IDLE_H

#include <stdbool.h>

struct wattle_meter;
struct wtl_app;
struct wtl_consumers;
struct wtl_io;
struct wtl_recorder;

/* Idle baselines from one session to the next, for domains of which none is known. Failures are
 * remarks. recorder: is told, too; may be NULL. false: there is no place to keep them, or something else is
 * there. */
bool wtl_idle_load(struct wtl_app *app, struct wattle_meter *meter, struct wtl_consumers *consumers,
		   struct wtl_recorder *recorder);
void wtl_idle_save(struct wtl_app *app, struct wtl_io *io, struct wattle_meter *meter,
		   const struct wtl_consumers *consumers);

#endif
