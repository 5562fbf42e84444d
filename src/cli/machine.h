/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_MACHINE_H
#define WTL_CLI_MACHINE_H

#include "report/description.h"

struct wattle_meter;
struct wtl_app;
struct wtl_gpu_reader;
struct wtl_io;
struct wtl_settings;

/* Opens the environment that the settings ask for. Errors have been reported. */
int wtl_open_io(struct wtl_app *app, struct wtl_io **ret_io);
void wtl_close_io(struct wtl_app *app, struct wtl_io *io); /* NULL is fine */
/* The reader of its GPUs: wtl_gpu_reader_free() before the io is closed. */
int wtl_open_gpus(struct wtl_app *app, struct wtl_io *io, struct wtl_gpu_reader **ret_reader);
/* A meter on that environment, which owns the io. */
int wtl_open_meter(struct wtl_app *app, struct wattle_meter **ret_meter, struct wtl_io **ret_io);
/* Closes it, and complains if a tape could not be written completely. */
void wtl_close_meter(struct wtl_app *app, struct wattle_meter *meter, struct wtl_io *io);

/* The machine's place, by the settings. */
struct wtl_report_place wtl_settings_place(const struct wtl_settings *settings);

/* The name of the machine that is measured; "": it is not known. */
void wtl_machine_name(const struct wtl_settings *settings, struct wtl_io *io, char *name,
		      size_t size);

#endif
