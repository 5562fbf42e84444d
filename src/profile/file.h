/* SPDX-License-Identifier: MIT */
#ifndef WTL_PROFILE_FILE_H
#define WTL_PROFILE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The file that a process has mapped, which may lie in another mount namespace, be deleted, or have another one in its
 * place: it is known by its inode (0: any). A descriptor; -ESTALE: what has that name now is another file; or negative.
 */
int wtl_file_open(int pid, const char *path, uint64_t inode);

/* Whether that is what maps call memory of no file. */
bool wtl_file_is_memory(const char *path);

/* The kernel puts " (deleted)" behind the name of a file that has none any more: how long it is without that. */
size_t wtl_file_name_len(const char *path);

#endif
