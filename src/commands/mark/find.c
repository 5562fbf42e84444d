/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/packet.h"
#include "cli/complain.h"
#include "cli/sink.h"
#include "commands/mark/mark.h"

enum {
	RECORDINGS_MAX = 64,
	NAMED_MAX = 4,
	/* SQLite's file format, "Locking" (os.h: SHARED_FIRST, SHARED_SIZE) */
	SHARED_LOCK_AT = 0x40000002,
	SHARED_LOCK_LEN = 510,
};

struct finding {
	struct wtl_mark_status *list;
	size_t n, max;
};

static void ask_status(void *context, const char *path, int fd)
{
	struct finding *finding = context;
	struct wtl_mark_status *status = &finding->list[finding->n];
	char answer[WTL_MARK_ANSWER_MAX];

	if (finding->n == finding->max ||
	    wtl_packet_ask(fd, "status", answer, sizeof(answer), WTL_MARK_TIMEOUT_MS) < 0 ||
	    wtl_mark_status_parse(answer, status) < 0)
		return;
	wtl_text_copy(status->socket, sizeof(status->socket), path);
	finding->n++;
}

size_t wtl_mark_find_all(struct wtl_mark_status list[], size_t max)
{
	struct finding finding = {.list = list, .max = max};

	wtl_mark_each(ask_status, &finding);
	return finding.n;
}

static int connect_to(struct wtl_app *app, const char *path)
{
	int fd = wtl_packet_connect(path, WTL_MARK_TIMEOUT_MS);

	if (fd < 0)
		wtl_complain(app, "the recording at %s does not answer: %s", path,
			     wtl_err_text(fd));
	return fd;
}

/* WATTLE_MARK's socket may be another user's: this process was given it explicitly. */
static int connect_by_variable(struct wtl_app *app, const char *path)
{
	int fd = wtl_packet_connect(path, WTL_MARK_TIMEOUT_MS);
	struct stat status;

	if (fd == -ECONNREFUSED && stat(path, &status) == 0 && !S_ISSOCK(status.st_mode))
		wtl_complain(app, WTL_MARK_VARIABLE "=%s: that is no recording's socket", path);
	else if (fd == -ECONNREFUSED || fd == -ENOENT)
		wtl_complain(app,
			     "the recording that this was started in (" WTL_MARK_VARIABLE
			     "=%s) has ended",
			     path);
	else if (fd < 0)
		wtl_complain(app, WTL_MARK_VARIABLE "=%s: %s", path, wtl_err_text(fd));
	return fd;
}

/* The process that holds SQLite's shared lock on the file, as every connection does. 0: none; -1: not visible. */
static int who_has_open(const char *file)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_start = SHARED_LOCK_AT, .l_len = SHARED_LOCK_LEN};
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), pid = -1;

	if (fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0)
		pid = lock.l_type == F_UNLCK ? 0 : lock.l_pid > 0 ? lock.l_pid : -1;
	if (fd >= 0)
		close(fd);
	return pid;
}

static const struct wtl_mark_status *find_file(struct wtl_app *app,
					       const struct wtl_mark_status list[], size_t n,
					       const char *file)
{
	struct stat status;
	int pid;

	if (stat(file, &status) < 0) {
		wtl_complain(app, "%s: %s", file, wtl_err_text(errno));
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		if (list[i].device == status.st_dev && list[i].inode == status.st_ino)
			return &list[i];
	pid = who_has_open(file);
	if (pid > 0)
		wtl_complain(app,
			     "%s: no recorder of this user answers for it; process %d has it open: "
			     "if that records it, kill %d ends it",
			     file, pid, pid);
	else if (pid == 0 && wtl_sink_is_recording(file))
		wtl_complain(app, "%s is not being recorded any more: it has ended", file);
	else
		wtl_complain(app, "%s is not being recorded by this user", file);
	return NULL;
}

static const struct wtl_mark_status *find_only(struct wtl_app *app,
					       const struct wtl_mark_status list[], size_t n)
{
	struct wtl_buf names;

	if (n == 1)
		return list;
	if (n == 0) {
		wtl_complain(app, "no recording of this user is running: start one with "
				  "'wattle record'");
		return NULL;
	}
	wtl_buf_init(&names, 4096);
	for (size_t i = 0; i < n && i < NAMED_MAX; i++)
		wtl_buf_printf(&names, "%s%s", i > 0 ? ", " : "", list[i].file);
	wtl_complain(app, "%zu recordings are running: name the file of one (%s%s)", n,
		     wtl_buf_str(&names), n > NAMED_MAX ? ", …" : "");
	wtl_buf_done(&names);
	return NULL;
}

int wtl_mark_find(struct wtl_app *app, const char *file)
{
	const char *variable = getenv(WTL_MARK_VARIABLE);
	const struct wtl_mark_status *found;
	struct wtl_mark_status *list;
	size_t n;
	int rc;

	if (!file && variable && variable[0])
		return connect_by_variable(app, variable);
	list = calloc(RECORDINGS_MAX, sizeof(*list));
	if (!list) {
		wtl_complain(app, "out of memory");
		return -ENOMEM;
	}
	n = wtl_mark_find_all(list, RECORDINGS_MAX);
	found = file ? find_file(app, list, n, file) : find_only(app, list, n);
	rc = found ? connect_to(app, found->socket) : -ENOENT;
	free(list);
	return rc;
}
