/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_OUTFILE_H
#define WTL_BASE_OUTFILE_H

#include <stddef.h>
#include <sys/stat.h>

#include "base/io.h"
#include "base/outplace.h"

/*
 * The mode of files that are made. 0: only for the owner where this process has rights that others' lack (root, a
 * set-user-ID or capability of its file, a capability), because then they may have gone into what is written;
 * else what the umask lets through. WTL_MODE_GIVEN and permission bits: exactly those, whatever the umask. Files
 * that are there already keep theirs.
 */
#define WTL_MODE_GIVEN 0x10000

/*
 * Whether this process may write to what has that name (nothing may have). Where it has rights as above, not what
 * another user has made first in a folder that anybody can write to, /tmp for one: it would stay that user's, and he may
 * have it open. Nor, by a link that he has made anywhere on the way, to what is not his. 0 or -WTL_EOTHERS; all of these
 * check that, and stay in the folder that they have found, whatever is put in its place meanwhile.
 */
int wtl_outfile_check(const char *path);
/* Whether a file can be made there: tried, because permission bits do not tell of read-only file systems, or of those
 * like /proc. 0 or a negative errno. */
int wtl_outfile_try(const char *path);

/* unlink(). */
int wtl_outfile_remove(const char *path);

/* open(), with O_CREAT and O_CLOEXEC, and the mode for a file that was not there. A descriptor or a negative errno. A pipe's
 * reader is waited for (without O_NONBLOCK), until a signal comes: -ECANCELED where that is blocked. */
int wtl_outfile_open(const char *path, int flags, mode_t mode);

/*
 * What wtl_io's out_write does on a real machine. Replacing a regular file (or making one) goes
 * through a temporary file beside it; the old file stays whole when anything fails. Devices, pipes
 * and /dev/stdout are written directly. A failed append to a regular file is taken back.
 */
int wtl_outfile_write(const char *path, const void *data, size_t len, enum wtl_out_mode how,
		      mode_t mode);

/* Opens a fresh file in the directory of path and leaves its name in temp: ".wattle-PID-N.tmp". A descriptor, which holds
 * a lock on it, or a negative errno. */
int wtl_outfile_temp(const char *path, mode_t mode, char *temp, size_t size);
/* Removes those of this user in the directory of path that somebody who was killed has left: more than a minute old, and
 * nobody holds them locked. */
void wtl_outfile_sweep(const char *path);
/* Gives it the name path, if nothing has that. 0, -EEXIST or another negative errno. */
int wtl_outfile_name(const char *temp, const char *path);

/* As wtl_outfile_write() for what comes piece by piece: nothing replaces the old file before the end. */
struct wtl_outstream {
	int fd;
	bool is_temp; /* else it is written directly */
	struct wtl_outplace place, temp;
};

/* path NULL: standard output. 0 or negative errno, then there is nothing to close. */
int wtl_outstream_open(struct wtl_outstream *stream, const char *path, mode_t mode);
int wtl_outstream_write(struct wtl_outstream *stream, const void *data, size_t len);
/* keep false: the old file stays as it was. 0 or negative errno. */
int wtl_outstream_close(struct wtl_outstream *stream, bool keep);

#endif
