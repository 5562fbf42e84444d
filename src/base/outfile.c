/* SPDX-License-Identifier: MIT */
#include "base/outfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/infile.h"

enum { LEFT_AFTER_S = 60 }; /* far longer than from making a file to locking it */

/* Network file systems report a full disk only here. */
static int close_checked(int fd, int rc)
{
	if (close(fd) < 0 && errno != EINTR && rc == 0)
		return -errno;
	return rc;
}

/* Whether this process may read what other programs of the machine's users may not. */
static bool is_privileged(void)
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

/* ---- What others have made ---- */

/* The one that path is in. */
static void name_folder(const char *path, char folder[PATH_MAX])
{
	const char *slash = strrchr(path, '/');

	snprintf(folder, PATH_MAX, "%.*s", slash ? (int)(slash + 1 - path) : 1, slash ? path : ".");
}

/* Of the folder of path; one that cannot be looked at is taken for anybody's. */
struct folder {
	uid_t owner;
	bool is_shared; /* anybody can make a file in it */
	bool is_others; /* somebody can, beside this user and root */
};

static struct folder look_at_folder(const char *path)
{
	char name[PATH_MAX];
	struct stat st;

	name_folder(path, name);
	if (stat(name, &st) < 0)
		return (struct folder){.owner = (uid_t)-1, .is_shared = true, .is_others = true};
	return (struct folder){
		.owner = st.st_uid,
		.is_shared = st.st_mode & (S_ISVTX | S_IWOTH),
		.is_others = st.st_mode & (S_ISVTX | S_IWGRP | S_IWOTH) ||
			     (st.st_uid != geteuid() && st.st_uid != 0),
	};
}

/* In a folder like /tmp, nothing of others is written to; in their own folder, no file of a third one that has another
 * name, too. */
static int check_owner(const char *path, const struct stat *st)
{
	bool is_linked = S_ISREG(st->st_mode) && st->st_nlink > 1;
	struct folder folder;

	if (!is_privileged() || (st->st_uid == geteuid() && !is_linked))
		return 0;
	folder = look_at_folder(path);
	if (folder.is_shared || (is_linked && folder.is_others && st->st_uid != folder.owner))
		return -WTL_EOTHERS;
	return 0;
}

/* Others can make a link to whatever this user alone may write: only what is theirs as well was meant. */
static int check_link(const char *path, const struct stat *link, const struct stat *st)
{
	if (link->st_uid == geteuid() || (st && st->st_uid == link->st_uid) || !is_privileged())
		return 0;
	return look_at_folder(path).is_others ? -WTL_EOTHERS : 0;
}

/* What is to be written to. */
struct target {
	char *path; /* free(): links are followed here alone, because others may make one meanwhile */
	bool is_open_link; /* a link of which only the kernel knows where it leads: into /proc/self/fd, or nowhere */
	bool has_old; /* there is something */
	struct stat old;
};

static int follow(const char *path, struct target *target)
{
	const struct stat link = target->old;
	int rc;

	target->path = realpath(path, NULL);
	target->is_open_link = !target->path;
	rc = stat(target->path ? target->path : path, &target->old) < 0 ? -errno : 0;
	if (rc == 0 && !target->path && S_ISREG(target->old.st_mode))
		rc = -EINVAL;
	if (rc == 0 && target->path)
		rc = check_owner(target->path, &target->old);
	if (rc == 0 || rc == -ENOENT) {
		int why = check_link(path, &link, rc == 0 ? &target->old : NULL);

		rc = why < 0 ? why : rc;
	}
	return rc;
}

/* A symbolic link stays one. */
static int find_target(const char *path, struct target *ret_target)
{
	struct target target = {.path = NULL};
	int rc = lstat(path, &target.old) < 0 ? -errno : check_owner(path, &target.old);

	if (rc == 0 && S_ISLNK(target.old.st_mode))
		rc = follow(path, &target);
	if (rc < 0 && rc != -ENOENT) {
		free(target.path);
		return rc;
	}
	target.has_old = rc == 0;
	if (!target.path)
		target.path = strdup(path);
	*ret_target = target;
	return target.path ? 0 : -ENOMEM;
}

int wtl_outfile_check(const char *path)
{
	struct target target;
	int rc = wtl_infile_is_descriptor(path) ? -ENOENT : find_target(path, &target);

	if (rc == 0)
		free(target.path);
	return rc == -WTL_EOTHERS ? rc : 0;
}

/* ---- One way to make files ---- */

static bool is_pipe(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

/* open(), but a pipe's reader is waited for only until a signal asks for the end. A descriptor or a negative errno. */
static int open_patiently(const char *path, int flags, mode_t mode)
{
	const struct timespec nap = {.tv_nsec = 20000000};
	int fd;

	while ((fd = open(path, flags | O_NONBLOCK | O_CLOEXEC, mode)) < 0) {
		if (errno != ENXIO || flags & O_NONBLOCK || !is_pipe(path))
			return -errno;
		if (wtl_fd_end_is_asked_for())
			return -ECANCELED;
		nanosleep(&nap, NULL);
	}
	if (!(flags & O_NONBLOCK))
		fcntl(fd, F_SETFL, flags & O_APPEND);
	return fd;
}

/* Nothing is changed before it is known to be the one that was looked at. */
static int take_opened(int fd, const char *path, int flags)
{
	struct stat st;
	int rc = 0;

	if (!wtl_infile_is_descriptor(path))
		rc = fstat(fd, &st) < 0 ? -errno : check_owner(path, &st);
	if (rc == 0 && flags & O_TRUNC && ftruncate(fd, 0) < 0 && errno != EINVAL)
		rc = -errno;
	return rc;
}

/* Of that name itself, or of one that nobody else can make a link of. */
static int open_target(const char *path, int flags, mode_t mode)
{
	bool is_exact = mode & WTL_MODE_GIVEN;
	struct stat st;
	int fd, rc;

	if (mode == 0)
		mode = is_privileged() ? 0600 : 0666;
	if (is_exact && !(flags & O_EXCL) && stat(path, &st) == 0)
		is_exact = false;
	fd = open_patiently(path, (flags & ~O_TRUNC) | O_CREAT, mode & 0777);
	if (fd < 0)
		return fd;
	rc = take_opened(fd, path, flags);
	if (rc < 0)
		return close_checked(fd, rc);
	/* A file system that has no modes has none to change. */
	if (is_exact)
		(void)!fchmod(fd, mode & 0777);
	return fd;
}

int wtl_outfile_open(const char *path, int flags, mode_t mode)
{
	struct target target;
	int rc;

	if (flags & (O_EXCL | O_NOFOLLOW) || wtl_infile_is_descriptor(path))
		return open_target(path, flags, mode);
	rc = find_target(path, &target);
	if (rc < 0)
		return rc;
	/* What has become a link since it was looked at is not followed. */
	rc = open_target(target.path, target.is_open_link ? flags : flags | O_NOFOLLOW, mode);
	free(target.path);
	return rc;
}

/* ---- Temporary files ---- */

#define TEMP_BEGIN ".wattle-"
#define TEMP_END   ".tmp"

/* Held as long as its descriptor is open. Not a byte that SQLite locks. */
static int hold(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	return fcntl(fd, F_OFD_SETLK, &lock);
}

static bool is_left(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink == 1 &&
	       time(NULL) - st->st_mtime > LEFT_AFTER_S;
}

static int is_temp(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name), end = strlen(TEMP_END);

	return strncmp(entry->d_name, TEMP_BEGIN, strlen(TEMP_BEGIN)) == 0 && len > end &&
	       strcmp(entry->d_name + len - end, TEMP_END) == 0;
}

static void remove_left(int folder, const char *name)
{
	struct stat st;
	int fd;

	/* It is not even opened before: to close a file of this process' own gives SQLite's locks on it back. */
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_left(&st))
		return;
	fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && is_left(&st) && hold(fd) == 0)
		unlinkat(folder, name, 0);
	close(fd);
}

void wtl_outfile_sweep(const char *path)
{
	char folder[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	name_folder(path, folder);
	dir = opendir(folder);
	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (is_temp(entry))
			remove_left(dirfd(dir), entry->d_name);
	closedir(dir);
}

int wtl_outfile_temp(const char *path, mode_t mode, char *temp, size_t size)
{
	const char *slash = strrchr(path, '/');
	int dir_len = slash ? (int)(slash + 1 - path) : 0;

	for (unsigned i = 0; i < 1000; i++) {
		int len = snprintf(temp, size, "%.*s" TEMP_BEGIN "%ld-%u" TEMP_END, dir_len, path,
				   (long)getpid(), i);
		int fd;

		if (len < 0 || (size_t)len >= size)
			return -ENAMETOOLONG;
		fd = wtl_outfile_open(temp, O_WRONLY | O_EXCL | O_NOFOLLOW, mode);
		if (fd == -EEXIST)
			continue;
		if (fd >= 0)
			(void)!hold(fd);
		return fd;
	}
	return -EEXIST;
}

int wtl_outfile_name(const char *temp, const char *path)
{
	if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
		return 0;
	/* Network file systems do not have that. */
	if ((errno != EINVAL && errno != ENOSYS) || link(temp, path) < 0)
		return -errno;
	unlink(temp);
	return 0;
}

/* Gives the temporary file the rights of the old one (NULL: there is none) and its place; or throws it
 * away, with rc < 0. */
static int temp_finish(int fd, const char *temp, const char *path, const struct stat *old, int rc)
{
	if (rc == 0 && old) {
		/* Only root may give files away; without that the writer owns the new file. */
		int not_given = fchown(fd, old->st_uid, old->st_gid);
		mode_t kept = not_given ? 0777 : 07777;

		if (fchmod(fd, old->st_mode & kept) < 0)
			rc = -errno;
	}
	if (rc == 0 && fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
		rc = -errno;
	rc = close_checked(fd, rc);
	if (rc == 0 && rename(temp, path) < 0)
		rc = -errno;
	if (rc < 0)
		unlink(temp);
	return rc;
}

/* old is NULL when there is no file yet. */
static int replace_regular(const char *path, const void *data, size_t len, const struct stat *old,
			   mode_t mode)
{
	char temp[PATH_MAX];
	int fd = wtl_outfile_temp(path, old ? 0600 : mode, temp, sizeof(temp));

	if (fd < 0)
		return fd;
	return temp_finish(fd, temp, path, old, wtl_fd_write_all(fd, data, len));
}

static int write_direct(const char *path, const void *data, size_t len)
{
	/* O_APPEND, for a /dev/stdout that is a file with something in it. */
	int fd = open_patiently(path, O_WRONLY | O_APPEND | O_NOCTTY, 0);

	if (fd < 0)
		return fd;
	return close_checked(fd, wtl_fd_write_all(fd, data, len));
}

static int replace(const char *path, const void *data, size_t len, mode_t mode)
{
	struct target target;
	int rc;

	/* A rename would leave the open file behind. */
	if (wtl_infile_is_descriptor(path))
		return write_direct(path, data, len);
	rc = find_target(path, &target);
	if (rc < 0)
		return rc;
	if (target.has_old && !S_ISREG(target.old.st_mode))
		rc = write_direct(target.path, data, len);
	else
		rc = replace_regular(target.path, data, len, target.has_old ? &target.old : NULL,
				     mode);
	free(target.path);
	return rc;
}

static int append(const char *path, const void *data, size_t len, mode_t mode)
{
	int fd = wtl_outfile_open(path, O_WRONLY | O_APPEND | O_NOCTTY, mode);
	struct stat old;
	int rc;

	if (fd < 0)
		return fd;
	if (fstat(fd, &old) < 0)
		return close_checked(fd, -errno);
	rc = wtl_fd_write_all(fd, data, len);
	if (rc < 0 && S_ISREG(old.st_mode)) {
		struct stat now;

		/* More than we wrote: somebody else appended, and that is not ours to cut. */
		if (fstat(fd, &now) == 0 && now.st_size > old.st_size &&
		    (uint64_t)(now.st_size - old.st_size) < len && ftruncate(fd, old.st_size) < 0)
			rc = -errno;
	}
	return close_checked(fd, rc);
}

int wtl_outfile_write(const char *path, const void *data, size_t len, enum wtl_out_mode how,
		      mode_t mode)
{
	if (how == WTL_OUT_APPEND)
		return append(path, data, len, mode);
	return replace(path, data, len, mode);
}

/* ---- Piece by piece ---- */

static int open_direct(struct wtl_outstream *stream, const char *path)
{
	if (path)
		stream->fd = open_patiently(path, O_WRONLY | O_APPEND | O_NOCTTY, 0);
	else
		stream->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (stream->fd >= 0)
		return 0;
	return path ? stream->fd : -errno;
}

static int open_temp(struct wtl_outstream *stream, mode_t mode)
{
	char temp[PATH_MAX];

	stream->fd =
		wtl_outfile_temp(stream->target, stream->has_old ? 0600 : mode, temp, sizeof(temp));
	if (stream->fd < 0)
		return stream->fd;
	stream->temp = strdup(temp);
	if (stream->temp)
		return 0;
	close(stream->fd);
	unlink(temp);
	return -ENOMEM;
}

int wtl_outstream_open(struct wtl_outstream *stream, const char *path, mode_t mode)
{
	struct target target;
	bool is_direct;
	int rc;

	*stream = (struct wtl_outstream){.fd = -1};
	if (!path || wtl_infile_is_descriptor(path))
		return open_direct(stream, path);
	rc = find_target(path, &target);
	if (rc < 0)
		return rc;
	stream->target = target.path;
	stream->old = target.old;
	stream->has_old = target.has_old;
	is_direct = stream->has_old && !S_ISREG(stream->old.st_mode);
	rc = is_direct ? open_direct(stream, stream->target) : open_temp(stream, mode);
	if (rc < 0 || is_direct) {
		free(stream->target);
		stream->target = NULL;
	}
	return rc;
}

int wtl_outstream_write(struct wtl_outstream *stream, const void *data, size_t len)
{
	return wtl_fd_write_all(stream->fd, data, len);
}

int wtl_outstream_close(struct wtl_outstream *stream, bool keep)
{
	int rc;

	if (!stream->target)
		return close_checked(stream->fd, 0);
	rc = temp_finish(stream->fd, stream->temp, stream->target,
			 stream->has_old ? &stream->old : NULL, keep ? 0 : -ECANCELED);
	free(stream->target);
	free(stream->temp);
	return keep ? rc : 0;
}
