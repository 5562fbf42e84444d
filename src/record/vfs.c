/* SPDX-License-Identifier: MIT */
/*
 * SQLite's own files, but with their names as they are. It would take the links out of /proc/self/fd/N/NAME, and go by the
 * folder's path from then on: whoever owns a folder on that path could lead it elsewhere, also when it removes NAME-wal at
 * the end.
 */
#include "record/vfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct vfs {
	sqlite3_vfs vfs; /* first, since SQLite hands it on */
	char name[32];
};

static int full_name(sqlite3_vfs *vfs, const char *path, int size, char *to)
{
	(void)vfs;
	return snprintf(to, (size_t)size, "%s", path) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

int wtl_vfs_new(sqlite3_vfs **ret_vfs)
{
	const sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
	struct vfs *own = usual ? calloc(1, sizeof(*own)) : NULL;

	if (!own)
		return usual ? -ENOMEM : 0;
	own->vfs = *usual;
	own->vfs.zName = own->name;
	own->vfs.xFullPathname = full_name;
	snprintf(own->name, sizeof(own->name), "wattle-%p", (void *)own);
	if (sqlite3_vfs_register(&own->vfs, 0) != SQLITE_OK) {
		free(own);
		return -ENOMEM;
	}
	*ret_vfs = &own->vfs;
	return 0;
}

void wtl_vfs_free(sqlite3_vfs *vfs)
{
	if (!vfs)
		return;
	sqlite3_vfs_unregister(vfs);
	free(vfs);
}
