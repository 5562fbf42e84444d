/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "profile/file.h"
#include "profile/module.h"

#define DEBUG_FOLDER "/usr/lib/debug"

enum { BUILD_ID_LEAST = 2, BUILD_ID_MOST = 64 };

/* Whether both files are of one build. Files without a build ID are taken to match. */
static bool is_same_build(const struct wtl_dw *dw, Elf *elf, Elf *debug)
{
	const void *id, *debug_id;
	ssize_t n = dw->dwelf_elf_gnu_build_id(elf, &id);
	ssize_t n_debug = dw->dwelf_elf_gnu_build_id(debug, &debug_id);

	return n <= 0 || n_debug <= 0 || (n == n_debug && memcmp(id, debug_id, (size_t)n) == 0);
}

static bool try_file(const struct wtl_dw *dw, struct wtl_module *module, const char *path)
{
	int fd = wtl_file_open(module->pid, path, 0);
	Elf *elf = fd < 0 ? NULL : dw->elf_begin(fd, ELF_C_READ, NULL);

	if (elf && dw->elf_kind(elf) == ELF_K_ELF && is_same_build(dw, module->elf, elf)) {
		module->debug = elf;
		module->debug_fd = fd;
		return true;
	}
	if (elf)
		dw->elf_end(elf);
	if (fd >= 0)
		close(fd);
	return false;
}

/* /usr/lib/debug/.build-id/ab/cdef….debug */
static bool try_build_id(const struct wtl_dw *dw, struct wtl_module *module)
{
	char path[sizeof(DEBUG_FOLDER) + 32 + 2 * BUILD_ID_MOST];
	const void *bytes;
	ssize_t n = dw->dwelf_elf_gnu_build_id(module->elf, &bytes);
	const uint8_t *id = bytes;
	int len;

	if (n < BUILD_ID_LEAST || n > BUILD_ID_MOST)
		return false;
	len = snprintf(path, sizeof(path), DEBUG_FOLDER "/.build-id/%02x/", id[0]);
	for (ssize_t i = 1; i < n; i++)
		len += snprintf(path + len, sizeof(path) - (size_t)len, "%02x", id[i]);
	snprintf(path + len, sizeof(path) - (size_t)len, ".debug");
	return try_file(dw, module, path);
}

/* The name in .gnu_debuglink: beside the file, in .debug beside it, or below /usr/lib/debug. */
static bool try_link(const struct wtl_dw *dw, struct wtl_module *module)
{
	static const struct {
		const char *root, *folder;
	} places[] = {{"", ""}, {"", "/.debug"}, {DEBUG_FOLDER, ""}};
	const char *slash = strrchr(module->path, '/');
	GElf_Word sum; /* a checksum of that file; build IDs are compared instead */
	const char *name = dw->dwelf_elf_gnu_debuglink(module->elf, &sum);
	char path[2 * PATH_MAX];

	if (!name || !name[0] || strchr(name, '/') || !slash)
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int len =
			snprintf(path, sizeof(path), "%s%.*s%s/%s", places[i].root,
				 (int)(slash - module->path), module->path, places[i].folder, name);

		if (len > 0 && (size_t)len < sizeof(path) && strcmp(path, module->path) != 0 &&
		    try_file(dw, module, path))
			return true;
	}
	return false;
}

Elf *wtl_module_debug(const struct wtl_dw *dw, struct wtl_module *module)
{
	if (!module->has_debug && !module->error && !try_build_id(dw, module))
		try_link(dw, module);
	module->has_debug = true;
	return module->debug;
}
