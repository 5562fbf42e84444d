/* SPDX-License-Identifier: MIT */
#ifndef WTL_RECORD_VFS_H
#define WTL_RECORD_VFS_H

#include <sqlite3.h>

/* For sqlite3_open_v2(), by its zName: paths are taken as they are. 0 or -ENOMEM; *ret_vfs stays as it was where there is
 * no SQLite. */
int wtl_vfs_new(sqlite3_vfs **ret_vfs);
/* When all that was opened with it is closed; NULL: none. */
void wtl_vfs_free(sqlite3_vfs *vfs);

#endif
