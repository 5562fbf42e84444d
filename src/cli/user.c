/* SPDX-License-Identifier: MIT */
/* What wattle keeps for its user. */
#include "cli/user.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile.h"

const char *wtl_user_folder(const char *variable)
{
	const char *folder = getenv(variable);
	char path[PATH_MAX], *slash;
	struct stat found;

	if (!folder || folder[0] != '/' ||
	    snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path))
		return NULL;
	while (stat(path, &found) < 0) {
		slash = strrchr(path, '/');
		if (!slash)
			return folder;
		*slash = '\0';
	}
	return geteuid() == 0 && found.st_uid != 0 ? NULL : folder;
}

static int root_path(const char *name, char *path, size_t size)
{
	int len = snprintf(path, size, "/var/lib/wattle/%s", name);

	return len < (int)size ? 0 : -ENAMETOOLONG;
}

int wtl_user_path(const char *variable, const char *in_home, const char *name, char *path,
		  size_t size)
{
	const char *folder = wtl_user_folder(variable), *home = wtl_user_folder("HOME");
	int len;

	if (folder)
		len = snprintf(path, size, "%s/wattle/%s", folder, name);
	else if (home)
		len = snprintf(path, size, "%s/%s/wattle/%s", home, in_home, name);
	else
		return geteuid() == 0 ? root_path(name, path, size) : -ENOENT;
	return len < (int)size ? 0 : -ENAMETOOLONG;
}

int wtl_user_machine_path(const char *name, char *path, size_t size)
{
	if (geteuid() == 0)
		return root_path(name, path, size);
	return wtl_user_path("XDG_STATE_HOME", ".local/state", name, path, size);
}

/* Only for this user. For root, one that exists must not be another user's work. */
static int make_one(const char *folder)
{
	if (mkdir(folder, 0700) == 0)
		return 0;
	return errno == EEXIST ? wtl_outfile_check(folder) : -errno;
}

int wtl_user_make_folder(const char *folder)
{
	char path[PATH_MAX];
	int rc = 0;

	if (snprintf(path, sizeof(path), "%s", folder) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (!path[0])
		return 0;
	for (char *slash = strchr(path + 1, '/'); slash && rc == 0;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		rc = make_one(path);
		*slash = '/';
	}
	return rc < 0 ? rc : make_one(path);
}

int wtl_user_make_folder_of(const char *file)
{
	const char *slash = strrchr(file, '/');
	char folder[PATH_MAX];

	if (!slash || slash == file)
		return 0;
	if ((size_t)(slash - file) >= sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(folder, file, (size_t)(slash - file));
	folder[slash - file] = '\0';
	return wtl_user_make_folder(folder);
}
