/* SPDX-License-Identifier: MIT */
#include "base/outfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/outplace.h"

enum { LEFT_AFTER_S = 60 }; /* far longer than from making a file to locking it */

/* Network file systems report a full disk only here. */
static int close_checked(int fd, int rc)
{
	if (close(fd) < 0 && errno != EINTR && rc == 0)
		return -errno;
	return rc;
}

int wtl_outfile_check(const char *path)
{
	struct wtl_outplace place;
	int rc = wtl_outplace_find(path, true, &place);

	if (rc == 0)
		wtl_outplace_done(&place);
	return rc == -WTL_EOTHERS ? rc : 0;
}

int wtl_outfile_remove(const char *path)
{
	struct wtl_outplace place;
	int rc = wtl_outplace_find(path, false, &place);

	if (rc < 0)
		return rc;
	rc = unlinkat(place.folder, place.name, 0) < 0 ? -errno : 0;
	wtl_outplace_done(&place);
	return rc;
}

/* ---- One way to make files ---- */

static bool is_pipe(const struct wtl_outplace *place)
{
	struct stat st;

	return fstatat(place->folder, place->name, &st, 0) == 0 && S_ISFIFO(st.st_mode);
}

/* openat(), but a pipe's reader is waited for only until a signal asks for the end. What has become a link since it was
 * looked at is not followed. A descriptor or a negative errno. */
static int open_patiently(const struct wtl_outplace *place, int flags, mode_t mode)
{
	const struct timespec nap = {.tv_nsec = 20000000};
	int exact = place->is_open_link ? 0 : O_NOFOLLOW, fd;

	while ((fd = openat(place->folder, place->name, flags | exact | O_NONBLOCK | O_CLOEXEC,
			    mode)) < 0) {
		if (errno != ENXIO || flags & O_NONBLOCK || !is_pipe(place))
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
static int take_opened(int fd, const struct wtl_outplace *place, int flags)
{
	struct stat st;
	int rc = fstat(fd, &st) < 0 ? -errno : wtl_outplace_check(place, &st);

	if (rc == 0 && flags & O_TRUNC && ftruncate(fd, 0) < 0 && errno != EINVAL)
		rc = -errno;
	return rc;
}

static int open_place(const struct wtl_outplace *place, int flags, mode_t mode)
{
	bool is_exact = mode & WTL_MODE_GIVEN;
	int fd, rc;

	if (mode == 0)
		mode = wtl_outplace_is_privileged() ? 0600 : 0666;
	if (is_exact && !(flags & O_EXCL) && (place->has_old || place->folder == AT_FDCWD))
		is_exact = false;
	fd = open_patiently(place, (flags & ~O_TRUNC) | O_CREAT, mode & 0777);
	if (fd < 0)
		return fd;
	rc = take_opened(fd, place, flags);
	if (rc < 0)
		return close_checked(fd, rc);
	/* A file system that has no modes has none to change. */
	if (is_exact)
		(void)!fchmod(fd, mode & 0777);
	return fd;
}

int wtl_outfile_open(const char *path, int flags, mode_t mode)
{
	struct wtl_outplace place;
	int rc = wtl_outplace_find(path, !(flags & (O_EXCL | O_NOFOLLOW)), &place);

	if (rc < 0)
		return rc;
	rc = open_place(&place, flags, mode);
	wtl_outplace_done(&place);
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
	struct wtl_outplace place;
	struct dirent *entry;
	DIR *dir;
	int fd;

	if (wtl_outplace_find(path, false, &place) < 0)
		return;
	fd = openat(place.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	wtl_outplace_done(&place);
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)))
		if (is_temp(entry))
			remove_left(dirfd(dir), entry->d_name);
	closedir(dir);
}

/* A fresh file beside it, and its name. */
static int make_temp(const struct wtl_outplace *place, mode_t mode, struct wtl_outplace *ret_temp)
{
	*ret_temp = *place;
	ret_temp->has_old = ret_temp->is_open_link = false;
	for (unsigned i = 0; i < 1000; i++) {
		int fd;

		snprintf(ret_temp->name, sizeof(ret_temp->name), TEMP_BEGIN "%ld-%u" TEMP_END,
			 (long)getpid(), i);
		fd = open_place(ret_temp, O_WRONLY | O_EXCL, mode);
		if (fd == -EEXIST)
			continue;
		if (fd >= 0)
			(void)!hold(fd);
		return fd;
	}
	return -EEXIST;
}

int wtl_outfile_temp(const char *path, mode_t mode, char *temp, size_t size)
{
	const char *slash = strrchr(path, '/');
	struct wtl_outplace place, made;
	int len, fd = wtl_outplace_find(path, false, &place);

	if (fd < 0)
		return fd;
	fd = make_temp(&place, mode, &made);
	len = snprintf(temp, size, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, made.name);
	if (fd >= 0 && (len < 0 || (size_t)len >= size)) {
		unlinkat(made.folder, made.name, 0);
		fd = close_checked(fd, -ENAMETOOLONG);
	}
	wtl_outplace_done(&place);
	return fd;
}

int wtl_outfile_try(const char *path)
{
	struct wtl_outplace place, made;
	int fd = wtl_outplace_find(path, true, &place);

	if (fd < 0)
		return fd;
	fd = make_temp(&place, 0600, &made);
	if (fd >= 0) {
		unlinkat(made.folder, made.name, 0);
		fd = close_checked(fd, 0);
	}
	wtl_outplace_done(&place);
	return fd;
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

/* Gives the temporary file the rights of the old one, if there is one, and its place; or throws it
 * away, with rc < 0. */
static int temp_finish(int fd, const struct wtl_outplace *temp, const struct wtl_outplace *place,
		       int rc)
{
	if (rc == 0 && place->has_old) {
		/* Only root may give files away; without that the writer owns the new file. */
		int not_given = fchown(fd, place->old.st_uid, place->old.st_gid);
		mode_t kept = not_given ? 0777 : 07777;

		if (fchmod(fd, place->old.st_mode & kept) < 0)
			rc = -errno;
	}
	if (rc == 0 && fsync(fd) < 0 && errno != EINVAL && errno != EROFS)
		rc = -errno;
	rc = close_checked(fd, rc);
	if (rc == 0 && renameat(temp->folder, temp->name, place->folder, place->name) < 0)
		rc = -errno;
	if (rc < 0)
		unlinkat(temp->folder, temp->name, 0);
	return rc;
}

static int replace_regular(const struct wtl_outplace *place, const void *data, size_t len,
			   mode_t mode)
{
	struct wtl_outplace temp;
	int fd = make_temp(place, place->has_old ? 0600 : mode, &temp);

	if (fd < 0)
		return fd;
	return temp_finish(fd, &temp, place, wtl_fd_write_all(fd, data, len));
}

/* A rename would leave an open file behind. */
static bool is_direct(const struct wtl_outplace *place)
{
	return place->is_open_link || (place->has_old && !S_ISREG(place->old.st_mode));
}

static int write_direct(const struct wtl_outplace *place, const void *data, size_t len)
{
	/* O_APPEND, for a /dev/stdout that is a file with something in it. */
	int fd = open_patiently(place, O_WRONLY | O_APPEND | O_NOCTTY, 0);

	if (fd < 0)
		return fd;
	return close_checked(fd, wtl_fd_write_all(fd, data, len));
}

static int replace(const char *path, const void *data, size_t len, mode_t mode)
{
	struct wtl_outplace place;
	int rc = wtl_outplace_find(path, true, &place);

	if (rc < 0)
		return rc;
	rc = is_direct(&place) ? write_direct(&place, data, len)
			       : replace_regular(&place, data, len, mode);
	wtl_outplace_done(&place);
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

int wtl_outstream_open(struct wtl_outstream *stream, const char *path, mode_t mode)
{
	int rc;

	*stream = (struct wtl_outstream){.fd = -1};
	if (!path) {
		stream->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return stream->fd < 0 ? -errno : 0;
	}
	rc = wtl_outplace_find(path, true, &stream->place);
	if (rc < 0)
		return rc;
	stream->is_temp = !is_direct(&stream->place);
	stream->fd = stream->is_temp
			     ? make_temp(&stream->place, stream->place.has_old ? 0600 : mode,
					 &stream->temp)
			     : open_patiently(&stream->place, O_WRONLY | O_APPEND | O_NOCTTY, 0);
	if (stream->fd < 0 || !stream->is_temp)
		wtl_outplace_done(&stream->place);
	return stream->fd < 0 ? stream->fd : 0;
}

int wtl_outstream_write(struct wtl_outstream *stream, const void *data, size_t len)
{
	return wtl_fd_write_all(stream->fd, data, len);
}

int wtl_outstream_close(struct wtl_outstream *stream, bool keep)
{
	int rc;

	if (!stream->is_temp)
		return close_checked(stream->fd, 0);
	rc = temp_finish(stream->fd, &stream->temp, &stream->place, keep ? 0 : -ECANCELED);
	wtl_outplace_done(&stream->place);
	return keep ? rc : 0;
}
