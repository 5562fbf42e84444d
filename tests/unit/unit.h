/* SPDX-License-Identifier: MIT */
#ifndef WTL_TESTS_UNIT_H
#define WTL_TESTS_UNIT_H

/* cmocka.h wants these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The address sanitizer makes tests slow. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNIT_SANITIZED 1
#endif
#endif
#ifndef UNIT_SANITIZED
#define UNIT_SANITIZED 0
#endif

/* How often a random test is repeated: a fifth is enough to find the sanitizer's errors. */
#define UNIT_TRIES(n) (UNIT_SANITIZED ? (n) / 5 : (n))

#define UNIT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* All of these fail the running test when they cannot do what they say. */

/* A fresh directory, to be given to unit_rmtree(), which also frees the name. In memory where that is
 * possible: a file that is written again and again, or each time safe against a power cut, is slow on a disk. */
char *unit_tmpdir(void);
void unit_rmtree(char *dir); /* NULL is fine */

/* "dir/path" in memory of the caller's (free()); the path may begin with a '/'. */
char *unit_path(const char *dir, const char *path);

/* Writes a file below dir and makes the directories that it needs. */
void unit_write(const char *dir, const char *path, const char *text);
void unit_write_bytes(const char *dir, const char *path, const void *data, size_t len);
void unit_symlink(const char *dir, const char *path, const char *target);

/* A file's content, ended by a NUL (free()); NULL when there is no such file. */
char *unit_read(const char *dir, const char *path);

/* How many entries a directory below dir has, hidden ones too. */
unsigned unit_entries(const char *dir, const char *path);

#endif
