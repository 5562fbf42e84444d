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
#include "base/packet.h"
#include "base/text.h"
#include "cli/user.h"
#include "commands/mark/mark.h"

#define SOURCE	"marks"
#define PREFIX	"record-"
#define SUFFIX	".sock"
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

enum {
	PLACES = 4,
	SAME_NUMBER_MAX = 9,
	LISTED_MAX = 256,
	DIR_SIZE = 512,
	BOOT_DIGITS = 8,
	SUFFIX_SIZE = BOOT_DIGITS + sizeof("." SUFFIX),
	/* The longest names before the suffix: /.record-4194304-9, the Python package's /record-0123456789ab. */
	NAME_ROOM = 20,
};

/* A directory for this user's sockets. python/wattle/_recorder.py uses the same ones. */
struct place {
	const char *base; /* the directory that contains it */
	char dir[DIR_SIZE];
	/* The end of its sockets' names. Machines may share a home directory: there the name contains the machine's
	 * boot, so that no other machine removes the socket of a running recording. */
	char suffix[SUFFIX_SIZE];
};

/* Nobody else can put a directory, a link or a socket there. others: their write permissions. */
static bool is_ours(const struct stat *status, mode_t others)
{
	return status->st_uid == geteuid() && (status->st_mode & others) == 0;
}

static int check_place(const char *dir)
{
	struct stat status;

	if (lstat(dir, &status) < 0)
		return -errno;
	if (!S_ISDIR(status.st_mode))
		return -ENOTDIR;
	return is_ours(&status, S_IWGRP | S_IWOTH) ? 0 : -EPERM;
}

/* ---- The directories ---- */

/* Skips a base that others can write to or own: a variable may still be from before su(1). */
static void add_place(struct place places[], size_t *n, const char *base, const char *below)
{
	struct place *place = &places[*n];
	struct stat status;

	if (!base || base[0] != '/')
		return;
	if (stat(base, &status) == 0 ? !is_ours(&status, S_IWOTH) : errno != ENOENT)
		return;
	*place = (struct place){.base = base, .suffix = SUFFIX};
	snprintf(place->dir, sizeof(place->dir), "%s/%s", base, below);
	for (size_t i = 0; i < *n; i++)
		if (strcmp(places[i].dir, place->dir) == 0)
			return;
	++*n;
}

static void name_boot(char suffix[SUFFIX_SIZE])
{
	FILE *file = fopen(BOOT_ID, "re");
	char boot[BOOT_DIGITS + 1] = "";

	if (file && !fgets(boot, sizeof(boot), file))
		boot[0] = '\0';
	if (file)
		fclose(file);
	snprintf(suffix, SUFFIX_SIZE, ".%s" SUFFIX, boot);
}

static void add_state_place(struct place places[], size_t *n)
{
	const char *state = getenv("XDG_STATE_HOME");
	size_t before = *n;

	if (state && state[0] == '/')
		add_place(places, n, state, "wattle/marks");
	else
		add_place(places, n, getenv("HOME"), ".local/state/wattle/marks");
	if (*n > before)
		name_boot(places[before].suffix);
}

/* The login's directory: it goes away with the login, but a recording may go on. */
static const char *login_dir(char dir[32])
{
	snprintf(dir, 32, "/run/user/%u", (unsigned)geteuid());
	return dir;
}

/* The directories to listen in, best first. */
static size_t list_places(struct place places[PLACES])
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	bool is_root = geteuid() == 0;
	char login[32];
	size_t n = 0;

	if (runtime && access(runtime, F_OK) == 0 &&
	    !(is_root && strcmp(runtime, login_dir(login)) == 0))
		add_place(places, &n, runtime, "wattle");
	/* If root chose a directory, that replaces /run: the two do not see each other's recordings. */
	if (is_root && n == 0)
		add_place(places, &n, "/run", "wattle");
	add_state_place(places, &n);
	return n;
}

/* ---- Finding ---- */

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len >= end_len && strcmp(name + len - end_len, end) == 0;
}

static int is_socket_name(const struct dirent *entry)
{
	return wtl_text_starts(entry->d_name, PREFIX) && ends_with(entry->d_name, SUFFIX);
}

/* Removes sockets that nobody listens at any more. */
static void each_in(const struct place *place,
		    void (*found)(void *context, const char *path, int fd), void *context)
{
	struct dirent **entries;
	int n = check_place(place->dir) < 0
			? -1
			: scandir(place->dir, &entries, is_socket_name, alphasort);

	for (int i = 0; i < n; i++) {
		char path[WTL_MARK_PATH_SIZE];
		int fd = -ENAMETOOLONG;

		if (i < LISTED_MAX && snprintf(path, sizeof(path), "%s/%s", place->dir,
					       entries[i]->d_name) < (int)sizeof(path))
			fd = wtl_packet_connect(path, found ? WTL_MARK_TIMEOUT_MS : 0);
		if (fd == -ECONNREFUSED && ends_with(entries[i]->d_name, place->suffix))
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

void wtl_mark_each(void (*found)(void *context, const char *path, int fd), void *context)
{
	struct place places[PLACES];
	size_t n = list_places(places);
	char login[32];

	/* Also where a recording with another XDG_RUNTIME_DIR may listen. */
	add_place(places, &n, login_dir(login), "wattle");
	for (size_t i = 0; i < n; i++)
		each_in(&places[i], found, context);
}

/* ---- Listening ---- */

static int make_place(const struct place *place, struct wtl_err *err)
{
	struct stat status;
	int rc;

	if (strlen(place->dir) + NAME_ROOM + strlen(place->suffix) >= WTL_MARK_PATH_SIZE)
		return wtl_err_set(err, ENAMETOOLONG, SOURCE, place->dir,
				   "is too long: with its name a socket's path has at most %d "
				   "bytes; set XDG_RUNTIME_DIR to a shorter one",
				   WTL_MARK_PATH_SIZE - 1);
	rc = wtl_user_make_folder(place->dir);
	if (rc < 0)
		return wtl_err_set(err, rc, SOURCE, place->dir, "cannot be made: %s",
				   wtl_err_text(rc));
	rc = check_place(place->dir);
	/* Somebody else may have made it meanwhile. */
	if (rc == 0 && (stat(place->base, &status) < 0 || !is_ours(&status, S_IWOTH)))
		rc = -EPERM;
	if (rc == -EPERM)
		return wtl_err_set(err, rc, SOURCE, place->dir,
				   "is not this user's alone: remove it, or set XDG_RUNTIME_DIR");
	return rc < 0 ? wtl_err_set(err, rc, SOURCE, place->dir, "%s", wtl_err_text(rc)) : 0;
}

/* Under a hidden name until it listens: others would remove it as a leftover. */
static int bind_hidden(int fd, const char *dir, char hidden[WTL_MARK_PATH_SIZE])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	mode_t mask;
	int rc;

	if (snprintf(hidden, WTL_MARK_PATH_SIZE, "%s/." PREFIX "%d", dir, (int)getpid()) >=
	    WTL_MARK_PATH_SIZE)
		return -ENAMETOOLONG;
	wtl_text_copy(address.sun_path, sizeof(address.sun_path), hidden);
	unlink(hidden);
	mask = umask(0177);
	rc = bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(mask);
	if (rc == 0 && listen(fd, 2 * WTL_MARK_CLIENTS) < 0)
		rc = -errno;
	return rc;
}

/* A process of another PID namespace that shares the directory may have the same number. */
static int give_name(const struct place *place, const char *hidden, char path[WTL_MARK_PATH_SIZE])
{
	for (int i = 0; i <= SAME_NUMBER_MAX; i++) {
		char more[8] = "";

		if (i > 0)
			snprintf(more, sizeof(more), "-%d", i);
		if (snprintf(path, WTL_MARK_PATH_SIZE, "%s/" PREFIX "%d%s%s", place->dir,
			     (int)getpid(), more, place->suffix) >= WTL_MARK_PATH_SIZE)
			return -ENAMETOOLONG;
		if (link(hidden, path) == 0)
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

static int listen_in(const struct place *place, char path[WTL_MARK_PATH_SIZE], struct wtl_err *err)
{
	char hidden[WTL_MARK_PATH_SIZE] = "";
	int rc = make_place(place, err), fd;

	if (rc < 0)
		return rc;
	each_in(place, NULL, NULL);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = fd < 0 ? -errno : bind_hidden(fd, place->dir, hidden);
	if (rc == 0)
		rc = give_name(place, hidden, path);
	if (hidden[0])
		unlink(hidden);
	if (rc == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return wtl_err_set(err, rc, SOURCE, place->dir, "cannot listen: %s", wtl_err_text(rc));
}

int wtl_mark_listen(char path[WTL_MARK_PATH_SIZE], struct wtl_err *err)
{
	struct place places[PLACES];
	size_t n = list_places(places);
	int rc = -ENOENT;

	for (size_t i = 0; i < n && rc < 0; i++)
		/* The reason given is that of the best one. */
		rc = listen_in(&places[i], path, i == 0 ? err : NULL);
	if (n == 0)
		rc = wtl_err_set(err, ENOENT, SOURCE, NULL,
				 "no directory is this user's own: set XDG_RUNTIME_DIR, or HOME");
	return rc;
}
