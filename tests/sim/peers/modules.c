/* SPDX-License-Identifier: MIT */
/* Preloaded: /proc/modules is there and empty, as on a kernel that has all built in and still tells. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>

int open64(const char *path, int flags, ...)
{
	int (*next)(const char *, int, ...) =
		(int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	return next(strcmp(path, "/proc/modules") == 0 ? "/dev/null" : path, flags, mode);
}
