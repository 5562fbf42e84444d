/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_BELOW_H
#define WTL_BASE_BELOW_H

/*
 * Opens an absolute path as if the directory `root` (a descriptor, O_PATH is enough) were "/": no
 * symbolic link and no ".." leads out of it. Flags are open()'s, without O_CREAT; O_CLOEXEC is
 * added. Returns a descriptor or a negative errno; -EINVAL for a path that is not absolute.
 */
int wtl_below_open(int root, const char *path, int flags);

/* The same without openat2(), link by link, for systems that lack it. Somebody who changes the
 * directories meanwhile can lead it astray. */
int wtl_below_walk(int root, const char *path, int flags);

#endif
