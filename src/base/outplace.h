/* SPDX-License-Identifier: MIT */
#ifndef WTL_BASE_OUTPLACE_H
#define WTL_BASE_OUTPLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/*
 * Where a file is to be written: its folder, held open, and its name there. All that is done to the file goes by
 * these two, so that whoever can put something else in the place of a folder on the way cannot lead it elsewhere.
 */
struct wtl_outplace {
	int folder; /* AT_FDCWD: name is that of a descriptor, or there is none */
	char name[NAME_MAX + 1];
	uid_t owner;	/* of the folder */
	bool is_shared; /* anybody can make a file in it */
	bool is_others; /* somebody can, beside this user and root */
	bool is_open_link; /* a link of which only the kernel knows where it leads: into /proc/self/fd */
	bool has_old;	   /* there is something of that name */
	struct stat old;
};

/* Whether this process may read what other programs of the machine's users may not. */
bool wtl_outplace_is_privileged(void);

/*
 * Finds it: symbolic links are followed, the last one only where follows_last. 0 or a negative errno, then there is
 * nothing to close. -WTL_EOTHERS where this process has rights that others' lack: for what another user has made in a
 * folder like /tmp, and for a link of another user's, anywhere on the way, to what is not his.
 */
int wtl_outplace_find(const char *path, bool follows_last, struct wtl_outplace *ret_place);
void wtl_outplace_done(struct wtl_outplace *place);

/* Of a file that is there or has been opened: 0 or -WTL_EOTHERS. */
int wtl_outplace_check(const struct wtl_outplace *place, const struct stat *st);

#endif
