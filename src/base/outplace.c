/* SPDX-License-Identifier: MIT */
#include "base/outplace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/err.h"
#include "base/infile.h"

enum {
	LINKS_MAX = 40, /* as the kernel's */
	DEPTH_MAX = 256,
};

bool wtl_outplace_is_privileged(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (geteuid() == 0 || getauxval(AT_SECURE) || syscall(SYS_capget, &header, sets) < 0)
		return true;
	/* systemd gives this one to everybody who logs in. */
	sets[1].effective &= ~CAP_TO_MASK(CAP_WAKE_ALARM);
	sets[1].permitted &= ~CAP_TO_MASK(CAP_WAKE_ALARM);
	return sets[0].effective || sets[0].permitted || sets[1].effective || sets[1].permitted;
}

/* In a folder like /tmp, no file of others is written to, and none with a second name (a hard
 * link). In one that others can change, none with a second name but its owner's. */
int wtl_outplace_check(const struct wtl_outplace *place, const struct stat *st)
{
	bool is_linked = S_ISREG(st->st_mode) && st->st_nlink > 1;

	if ((st->st_uid == geteuid() && !is_linked) || !wtl_outplace_is_privileged())
		return 0;
	if (place->is_shared || (is_linked && place->is_others && st->st_uid != place->owner))
		return -WTL_EOTHERS;
	return 0;
}

/* ---- The way there ---- */

struct walk {
	int at; /* the folder that was reached */
	struct stat st;
	char left[PATH_MAX]; /* still to go */
	struct {
		dev_t dev;
		ino_t ino;
	} passed[DEPTH_MAX]; /* the folders above it that it came through */
	size_t depth;
	unsigned links;
	bool is_privileged;
	bool is_led; /* by a link that another user has made */
	uid_t led_by;
	bool is_adrift; /* it went up to a folder of others from one that they may have moved there */
};

static bool is_others(const struct stat *folder)
{
	return folder->st_mode & (S_ISVTX | S_IWGRP | S_IWOTH) ||
	       (folder->st_uid != geteuid() && folder->st_uid != 0);
}

static int enter(struct walk *walk, int folder, const char *name, int flags)
{
	int fd = openat(folder, name, flags | O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (walk->at >= 0)
		close(walk->at);
	walk->at = fd;
	return fstat(fd, &walk->st) < 0 ? -errno : 0;
}

static int go_down(struct walk *walk, const char *name)
{
	const struct stat from = walk->st;
	int rc = walk->depth < DEPTH_MAX ? enter(walk, walk->at, name, O_NOFOLLOW) : -ENAMETOOLONG;

	if (rc < 0)
		return rc;
	walk->passed[walk->depth].dev = from.st_dev;
	walk->passed[walk->depth++].ino = from.st_ino;
	return 0;
}

/* A folder may have been moved since it was entered: what is above it then is no part of the path. */
static int go_up(struct walk *walk)
{
	bool was_adrift = walk->is_adrift;
	int rc = enter(walk, walk->at, "..", 0);

	if (rc < 0 || !walk->is_privileged)
		return rc;
	if (walk->depth == 0) {
		walk->is_adrift = is_others(&walk->st);
		return was_adrift ? -WTL_EOTHERS : 0;
	}
	walk->depth--;
	return walk->passed[walk->depth].dev == walk->st.st_dev &&
			       walk->passed[walk->depth].ino == walk->st.st_ino
		       ? 0
		       : -WTL_EOTHERS;
}

/* Others can make a link to what only this user may write: their link may only lead to what is theirs, too. */
static int note_link(struct walk *walk, const struct stat *link)
{
	if (!walk->is_privileged || !is_others(&walk->st) || link->st_uid == geteuid() ||
	    link->st_uid == 0)
		return 0;
	if (walk->is_led && walk->led_by != link->st_uid)
		return -WTL_EOTHERS;
	walk->is_led = true;
	walk->led_by = link->st_uid;
	return 0;
}

/* What is left begins with what an open link says. */
static int read_link(struct walk *walk, int link)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(link, "", target, sizeof(target));
	size_t left = strlen(walk->left);

	if (len < 0)
		return -errno;
	if ((size_t)len + 1 + left >= sizeof(walk->left))
		return -ENAMETOOLONG;
	memmove(walk->left + len + 1, walk->left, left + 1);
	memcpy(walk->left, target, (size_t)len);
	walk->left[len] = left ? '/' : '\0';
	if (target[0] != '/')
		return 0;
	walk->depth = 0;
	return enter(walk, AT_FDCWD, "/", 0);
}

/* What such a link says is no path, or one of another namespace. */
static bool is_in_proc(int link, const struct stat *st)
{
	struct statfs of;
	struct stat self;

	if (fstatfs(link, &of) == 0)
		return of.f_type == PROC_SUPER_MAGIC;
	/* A filter may forbid to ask. */
	return lstat("/proc/self", &self) == 0 && self.st_dev == st->st_dev;
}

/* 1: it was followed; 0: the kernel alone knows where it leads. */
static int follow(struct walk *walk, const char *name)
{
	int link = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = 0;
	bool is_last = !walk->left[0], is_open = false;
	struct stat st;

	if (link < 0)
		return -errno;
	if (fstat(link, &st) < 0)
		rc = -errno;
	else if (!S_ISLNK(st.st_mode))
		rc = -ENOTDIR;
	else if (++walk->links > LINKS_MAX)
		rc = -ELOOP;
	else
		rc = note_link(walk, &st);
	if (rc == 0)
		is_open = is_in_proc(link, &st);
	if (rc == 0 && is_open && !is_last) {
		walk->depth = 0;
		rc = enter(walk, walk->at, name, 0);
		rc = rc < 0 ? rc : 1;
	} else if (rc == 0 &&
		   (!is_open || (fstatat(walk->at, name, &st, 0) == 0 && S_ISREG(st.st_mode)))) {
		rc = read_link(walk, link);
		rc = rc < 0 ? rc : 1;
	}
	close(link);
	return rc;
}

/* Takes the first name off what is left. 0: there is none. */
static int take_name(struct walk *walk, char name[NAME_MAX + 1])
{
	size_t skip = strspn(walk->left, "/"), len = strcspn(walk->left + skip, "/");
	size_t end = skip + len + strspn(walk->left + skip + len, "/");

	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	/* What ends with a slash is a folder. */
	if (len == 0 || (!walk->left[end] && walk->left[end - 1] == '/'))
		return walk->left[0] ? -EISDIR : -ENOENT;
	memcpy(name, walk->left + skip, len);
	name[len] = '\0';
	memmove(walk->left, walk->left + end, strlen(walk->left + end) + 1);
	return 0;
}

static int step(struct walk *walk, const char *name)
{
	int rc;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0)
		return go_up(walk);
	rc = go_down(walk, name);
	if (rc == -ENOTDIR || rc == -ELOOP)
		rc = follow(walk, name);
	return rc < 0 ? rc : 0;
}

/* Up to a name that is no link, or not to be followed. */
static int walk_all(struct walk *walk, bool follows_last, struct wtl_outplace *place)
{
	char *name = place->name;
	int rc;

	while ((rc = take_name(walk, name)) == 0) {
		if (walk->left[0]) {
			rc = step(walk, name);
			if (rc < 0)
				return rc;
			continue;
		}
		place->has_old = fstatat(walk->at, name, &place->old, AT_SYMLINK_NOFOLLOW) == 0;
		if (!place->has_old)
			return errno == ENOENT ? 0 : -errno;
		if (!S_ISLNK(place->old.st_mode) || !follows_last)
			return 0;
		rc = follow(walk, name);
		if (rc < 0)
			return rc;
		place->is_open_link = rc == 0;
		if (rc == 0)
			return fstatat(walk->at, name, &place->old, 0) < 0 ? -errno : 0;
	}
	return rc;
}

static int check_all(const struct walk *walk, const struct wtl_outplace *place)
{
	if (walk->is_led && walk->st.st_uid != walk->led_by &&
	    !(place->has_old && place->old.st_uid == walk->led_by))
		return -WTL_EOTHERS;
	return place->has_old ? wtl_outplace_check(place, &place->old) : 0;
}

int wtl_outplace_find(const char *path, bool follows_last, struct wtl_outplace *ret_place)
{
	struct walk walk = {.at = -1, .is_privileged = wtl_outplace_is_privileged()};
	int rc;

	*ret_place = (struct wtl_outplace){.folder = AT_FDCWD};
	if (strlen(path) >= sizeof(walk.left))
		return -ENAMETOOLONG;
	if (wtl_infile_is_descriptor(path)) {
		if (strlen(path) > NAME_MAX)
			return -ENAMETOOLONG;
		ret_place->is_open_link = true;
		strcpy(ret_place->name, path);
		return 0;
	}
	strcpy(walk.left, path);
	rc = enter(&walk, AT_FDCWD, path[0] == '/' ? "/" : ".", 0);
	if (rc == 0)
		rc = walk_all(&walk, follows_last, ret_place);
	ret_place->owner = walk.st.st_uid;
	ret_place->is_shared = walk.st.st_mode & (S_ISVTX | S_IWOTH);
	ret_place->is_others = is_others(&walk.st);
	ret_place->folder = walk.at;
	if (rc == 0)
		rc = check_all(&walk, ret_place);
	if (rc < 0)
		wtl_outplace_done(ret_place);
	return rc;
}

void wtl_outplace_done(struct wtl_outplace *place)
{
	if (place->folder >= 0)
		close(place->folder);
	place->folder = AT_FDCWD;
}
