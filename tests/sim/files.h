/* SPDX-License-Identifier: MIT */
#ifndef WTL_SIM_FILES_H
#define WTL_SIM_FILES_H

/* Below /sys, where the zones are. */
#define SIM_POWERCAP "devices/virtual/powercap"

enum { SIM_PATH_SIZE = 4096 };

/* Says what failed and why (errno). -1. */
int sim_complain(const char *what);

/* A path from its parts. One that is too long is cut, so that nothing is found there. */
void sim_path(char path[SIM_PATH_SIZE], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Makes the folders of a path, as far as the last '/'. 0, or -1 after a complaint. */
int sim_make_folders(const char *path);

#endif
