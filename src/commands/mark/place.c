/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "commands/mark/mark.h"

#define SOURCE "marks"
#define PREFIX "record-"
#define SUFFIX ".sock"

enum { PLACES = 3, SAME_NUMBER_MAX = 9, LISTED_MAX = 256 };

/* Room for a socket's name must be left. */
static bool is_short_enough(const char *dir)
{
	return strlen(dir) + sizeof("/.record-4194304-9.sock") <= WTL_MARK_PATH_SIZE;
}

/* Ours alone: nobody else can put a socket, or a link, there. */
static int check_place(const char *dir)
{
	struct stat status;

	if (lstat(dir, &status) < 0)
		return -errno;
	if (!S_ISDIR(status.st_mode))
		return -ENOTDIR;
	return status.st_uid == geteuid() && (status.st_mode & 077) == 0 ? 0 : -EPERM;
}

static bool name_runtime_place(char dir[WTL_MARK_PATH_SIZE])
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct stat status;

	/* After su(1) it may still be somebody else's. */
	return runtime && runtime[0] == '/' &&
	       snprintf(dir, WTL_MARK_PATH_SIZE, "%s/wattle", runtime) < WTL_MARK_PATH_SIZE &&
	       is_short_enough(dir) && stat(runtime, &status) == 0 && status.st_uid == geteuid();
}

static void name_plain_place(char dir[WTL_MARK_PATH_SIZE])
{
	snprintf(dir, WTL_MARK_PATH_SIZE, "/tmp/wattle-%u", (unsigned)geteuid());
}

int wtl_mark_place(char dir[WTL_MARK_PATH_SIZE], struct wtl_err *err)
{
	int rc;

	if (!name_runtime_place(dir))
		name_plain_place(dir);
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return wtl_err_set(err, errno, SOURCE, dir, "cannot be made: %s",
				   wtl_err_text(errno));
	rc = check_place(dir);
	if (rc == -EPERM)
		return wtl_err_set(err, rc, SOURCE, dir,
				   "is not this user's alone: remove it, or set XDG_RUNTIME_DIR");
	return rc < 0 ? wtl_err_set(err, rc, SOURCE, dir, "%s", wtl_err_text(rc)) : 0;
}

/* ---- Finding ---- */

static int is_socket_name(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return wtl_text_starts(entry->d_name, PREFIX) && len > sizeof(SUFFIX) &&
	       strcmp(entry->d_name + len - (sizeof(SUFFIX) - 1), SUFFIX) == 0;
}

/* A socket that nobody listens at any more is removed. */
static void each_in(const char *dir, void (*found)(void *context, const char *path, int fd),
		    void *context)
{
	struct dirent **entries;
	int n = check_place(dir) == 0 ? scandir(dir, &entries, is_socket_name, alphasort) : -1;

	for (int i = 0; i < n; i++) {
		char path[WTL_MARK_PATH_SIZE];
		int fd = -ENAMETOOLONG;

		if (i < LISTED_MAX && snprintf(path, sizeof(path), "%s/%s", dir,
					       entries[i]->d_name) < (int)sizeof(path))
			fd = wtl_mark_connect(path, found ? WTL_MARK_TIMEOUT_MS : 0);
		if (fd == -ECONNREFUSED)
			unlink(path);
		if (fd >= 0) {
			if (found)
				found(context, path, fd);
			close(fd);
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
}

/* Also where a recording would be that was started with, or without, XDG_RUNTIME_DIR. */
static size_t list_places(char places[PLACES][WTL_MARK_PATH_SIZE])
{
	size_t n = 0;

	if (name_runtime_place(places[n]))
		n++;
	snprintf(places[n], WTL_MARK_PATH_SIZE, "/run/user/%u/wattle", (unsigned)geteuid());
	if (n == 0 || strcmp(places[n], places[0]) != 0)
		n++;
	name_plain_place(places[n]);
	return n + 1;
}

void wtl_mark_each(void (*found)(void *context, const char *path, int fd), void *context)
{
	char places[PLACES][WTL_MARK_PATH_SIZE];
	size_t n = list_places(places);

	for (size_t i = 0; i < n; i++)
		each_in(places[i], found, context);
}

/* ---- Listening ---- */

/* It gets its name only when it listens: whoever finds it before would take it for a dead one. */
static int bind_hidden(int fd, const char *dir, char hidden[WTL_MARK_PATH_SIZE])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	mode_t mask;
	int rc;

	snprintf(hidden, WTL_MARK_PATH_SIZE, "%.80s/." PREFIX "%d", dir, (int)getpid());
	wtl_text_copy(address.sun_path, sizeof(address.sun_path), hidden);
	unlink(hidden);
	mask = umask(0177);
	rc = bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(mask);
	if (rc == 0 && listen(fd, 2 * WTL_MARK_CLIENTS) < 0)
		rc = -errno;
	return rc;
}

/* Another PID namespace that shares the directory may have a process of the same number. */
static int give_name(const char *dir, const char *hidden, char path[WTL_MARK_PATH_SIZE])
{
	for (int i = 0; i <= SAME_NUMBER_MAX; i++) {
		char more[8] = "";

		if (i > 0)
			snprintf(more, sizeof(more), "-%d", i);
		snprintf(path, WTL_MARK_PATH_SIZE, "%.80s/" PREFIX "%d%s" SUFFIX, dir,
			 (int)getpid(), more);
		if (link(hidden, path) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int wtl_mark_listen(char path[WTL_MARK_PATH_SIZE], struct wtl_err *err)
{
	char dir[WTL_MARK_PATH_SIZE], hidden[WTL_MARK_PATH_SIZE] = "";
	int rc = wtl_mark_place(dir, err), fd;

	if (rc < 0)
		return rc;
	each_in(dir, NULL, NULL);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = fd < 0 ? -errno : bind_hidden(fd, dir, hidden);
	if (rc == 0)
		rc = give_name(dir, hidden, path);
	if (hidden[0])
		unlink(hidden);
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return wtl_err_set(err, rc, SOURCE, dir, "cannot listen: %s", wtl_err_text(rc));
}
