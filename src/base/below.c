/* SPDX-License-Identifier: MIT */
#include "base/below.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	LINKS_MAX = 40, /* as the kernel's */
	TRIES_MAX = 16,
};

struct walk {
	int root;
	char done[PATH_MAX]; /* below the root, free of links; "." for the root itself */
	char left[PATH_MAX]; /* still to go */
	unsigned links;
};

static void walk_up(struct walk *walk)
{
	char *slash = strrchr(walk->done, '/');

	strcpy(slash ? slash : walk->done, slash ? "" : ".");
}

/* Takes the first name off what is left. False at the end. */
static bool walk_name(struct walk *walk, char name[NAME_MAX + 1], int *ret_rc)
{
	size_t skip = strspn(walk->left, "/"), len = strcspn(walk->left + skip, "/");

	*ret_rc = len > NAME_MAX ? -ENAMETOOLONG : 0;
	if (len == 0 || len > NAME_MAX)
		return false;
	memcpy(name, walk->left + skip, len);
	name[len] = '\0';
	memmove(walk->left, walk->left + skip + len, strlen(walk->left + skip + len) + 1);
	return true;
}

static int walk_down(struct walk *walk, const char *name)
{
	size_t len = strcmp(walk->done, ".") == 0 ? 0 : strlen(walk->done);

	if (len + 1 + strlen(name) >= sizeof(walk->done))
		return -ENAMETOOLONG;
	if (len > 0)
		walk->done[len++] = '/';
	strcpy(walk->done + len, name);
	return 0;
}

/* done has just become a link: goes on with its target instead. */
static int walk_follow(struct walk *walk, const char *target, size_t len)
{
	size_t left = strlen(walk->left);

	if (++walk->links > LINKS_MAX)
		return -ELOOP;
	if (len + 1 + left >= sizeof(walk->left))
		return -ENAMETOOLONG;
	memmove(walk->left + len + 1, walk->left, left + 1);
	memcpy(walk->left, target, len);
	walk->left[len] = '/';
	if (target[0] == '/')
		strcpy(walk->done, ".");
	else
		walk_up(walk);
	return 0;
}

static int walk_step(struct walk *walk, const char *name, int flags)
{
	char target[PATH_MAX];
	ssize_t len;
	int rc;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		walk_up(walk);
		return 0;
	}
	rc = walk_down(walk, name);
	if (rc < 0)
		return rc;
	if ((flags & O_NOFOLLOW) && !walk->left[strspn(walk->left, "/")])
		return 0;
	len = readlinkat(walk->root, walk->done, target, sizeof(target));
	if (len < 0)
		return errno == EINVAL ? 0 : -errno;
	if ((size_t)len >= sizeof(target))
		return -ENAMETOOLONG;
	return walk_follow(walk, target, (size_t)len);
}

int wtl_below_walk(int root, const char *path, int flags)
{
	struct walk walk = {.root = root, .done = "."};
	char name[NAME_MAX + 1];
	int rc;

	if (path[0] != '/')
		return -EINVAL;
	if (strlen(path) >= sizeof(walk.left))
		return -ENAMETOOLONG;
	strcpy(walk.left, path);
	while (walk_name(&walk, name, &rc)) {
		rc = walk_step(&walk, name, flags);
		if (rc < 0)
			return rc;
	}
	if (rc < 0)
		return rc;
	rc = openat(root, walk.done, flags | O_NOFOLLOW | O_CLOEXEC);
	return rc >= 0 ? rc : -errno;
}

int wtl_below_open(int root, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd, tries = 0;

	if (path[0] != '/')
		return -EINVAL;
	/* The kernel gives up on ".." when anything on the machine is renamed meanwhile. */
	do
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && ++tries < TRIES_MAX);
	if (fd >= 0)
		return fd;
	/* An old kernel, or a container's filter that does not know the call. */
	if (errno == ENOSYS || errno == EPERM || errno == EAGAIN)
		return wtl_below_walk(root, path, flags);
	return -errno;
}
