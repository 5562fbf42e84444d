/* SPDX-License-Identifier: MIT */
#ifndef WTL_CLI_IDLE_H
#define WTL_CLI_IDLE_H

#include <stdbool.h>
#include <stddef.h>

struct wtl_session;
struct wtl_settings;

/* The file for what the machine draws at rest (meter/idle.h). 0; -ENOENT where neither option nor environment names
 * a place, or -ENAMETOOLONG. */
int wtl_idle_path(const struct wtl_settings *settings, char *path, size_t size);

/* wtl_session_close(), which finds the folder of that file. */
bool wtl_idle_close_session(struct wtl_session *session);

#endif
