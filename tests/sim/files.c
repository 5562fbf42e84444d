/* SPDX-License-Identifier: MIT */
#include "files.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

int sim_complain(const char *what)
{
	perror(what);
	return -1;
}

void sim_path(char path[SIM_PATH_SIZE], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(path, SIM_PATH_SIZE, format, args);
	va_end(args);
}

int sim_make_folders(const char *path)
{
	char folder[SIM_PATH_SIZE];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		sim_path(folder, "%.*s", (int)(slash - path), path);
		if (mkdir(folder, 0755) < 0 && errno != EEXIST)
			return sim_complain(folder);
	}
	return 0;
}
