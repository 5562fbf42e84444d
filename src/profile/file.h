/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_FILE_H
#define WTL_PROFILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Opens the file that a process has mapped. It may lie in another mount namespace, be deleted or replaced, so its inode
 * is compared (0: any). A descriptor, or negative; -ESTALE: the path names another file now, or it was deleted.
 */
int wtl_file_open(int pid, const char *path, uint64_t inode);

/* Whether a mapping's path stands for memory of no file ("//anon", "[anon..."). */
bool wtl_file_is_memory(const char *path);

/* The length of a path without the " (deleted)" that the kernel appends to names of deleted files. */
size_t wtl_file_name_len(const char *path);

#endif
