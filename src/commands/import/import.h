/* SPDX-License-Identifier: MIT */
#ifndef WTL_COMMANDS_IMPORT_IMPORT_H
#define WTL_COMMANDS_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stdint.h>

struct wtl_app;
struct wtl_import;

/* Shared by commands that read other tools' files. */

/* Remarks on what could not be read, what was left out, and what was assumed. */
void wtl_import_tell_bad(struct wtl_app *app, const struct wtl_import *import, const char *path);

/* The utc_ns of struct wtl_import_options: by this machine's zone, or that of TZ. */
int64_t wtl_import_local_utc_ns(void *context, int64_t t_local_ns, bool is_second);

#endif
