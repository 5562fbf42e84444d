/* SPDX-License-Identifier: MIT */
#include "commands/record/background.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/packet.h"
#include "base/text.h"
#include "cli/rights.h"
#include "commands/mark/mark.h"
#include "commands/record/settings.h"

enum { TEXT_MAX = 16384, LOG_ROOM = 4096 };

/* The message of the recording process to the foreground. */
struct word {
	bool is_ready;
	int code; /* if not ready: the exit code */
	int pid;
	bool can_stop; /* by --stop */
};

/* ---- In the foreground ---- */

static void tell_ready(const struct wtl_app *app, const struct word *word)
{
	const struct wtl_record_settings *record = app->own;
	const char *path = record->recording.path;

	struct wtl_buf typed, text;

	if (app->settings.quiet)
		return;
	wtl_buf_init(&typed, TEXT_MAX);
	wtl_recording_type_path(&typed, path);
	wtl_buf_init(&text, 10 * TEXT_MAX);
	wtl_buf_puts(&text, "recording to ");
	wtl_text_escape(&text, path, strlen(path));
	wtl_buf_printf(&text, " in the background, as process %d\n", word->pid);
	if (word->can_stop) {
		wtl_buf_puts(&text, "wattle record --stop ");
		wtl_text_escape(&text, wtl_buf_str(&typed), typed.len);
	} else {
		wtl_buf_printf(&text, "kill %d", word->pid);
	}
	wtl_buf_puts(&text, " ends it");
	puts(wtl_buf_str(&text));
	wtl_buf_done(&text);
	wtl_buf_done(&typed);
}

static int wait_for_word(struct wtl_app *app, int pipe)
{
	struct word word;
	ssize_t n;

	do
		n = read(pipe, &word, sizeof(word));
	while (n < 0 && errno == EINTR);
	close(pipe);
	if (n != (ssize_t)sizeof(word)) {
		wtl_complain(app, "the process that was to record ended without a word");
		return WTL_EXIT_FAILED;
	}
	if (!word.is_ready)
		return word.code;
	tell_ready(app, &word);
	return WTL_EXIT_DONE;
}

/* ---- In the background ---- */

/* The grandchild has no terminal, and cannot get one. */
static void detach(int pipe)
{
	pid_t pid;

	setsid();
	pid = fork();
	if (pid == 0)
		return;
	if (pid < 0) {
		const struct word word = {.code = WTL_EXIT_FAILED};

		fprintf(stderr, "wattle: record: cannot start a process: %s\n",
			wtl_err_text(errno));
		(void)!write(pipe, &word, sizeof(word));
	}
	_exit(0);
}

static void redirect_to_null(int to)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd >= 0) {
		dup2(fd, to);
		close(fd);
	}
}

int wtl_background_enter(struct wtl_background *background, struct wtl_app *app, int *ret_exit)
{
	const struct wtl_record_settings *record = app->own;
	int ends[2], error;
	pid_t pid;

	*background = (struct wtl_background){.app = app, .pipe = -1};
	if (!record->background)
		return 1;
	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC) < 0) {
		wtl_complain(app, "cannot make a pipe: %s", wtl_err_text(errno));
		return -1;
	}
	pid = fork();
	error = errno;
	if (pid == 0) {
		close(ends[0]);
		detach(ends[1]);
		redirect_to_null(STDIN_FILENO);
		background->pipe = ends[1];
		return 1;
	}
	wtl_rights_drop();
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		wtl_complain(app, "cannot start a process: %s", wtl_err_text(error));
		return -1;
	}
	waitpid(pid, NULL, 0);
	*ret_exit = wait_for_word(app, ends[0]);
	return 0;
}

static bool tell_foreground(struct wtl_background *background, const struct word *word)
{
	ssize_t n;

	if (background->pipe < 0)
		return true;
	n = write(background->pipe, word, sizeof(*word));
	close(background->pipe);
	background->pipe = -1;
	return n == (ssize_t)sizeof(*word);
}

/* The name of the log beside the recording, for errors only. false: it is too long. */
static bool name_log(const char *path, char log[WTL_LOG_NAME_SIZE])
{
	return snprintf(log, WTL_LOG_NAME_SIZE, "%s.log", path) < WTL_LOG_NAME_SIZE;
}

/* A former log of that name may exist, but only this user's: another owner could read or change it. */
static int open_log(const char *log, mode_t mode)
{
	int fd = wtl_outfile_open(log, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK, mode);
	struct stat status;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    status.st_nlink == 1)
		return fd;
	close(fd);
	return -EEXIST;
}

/* A full disk is one of the errors: space for reporting it is reserved now, if the file system can. */
static void redirect_to_log(struct wtl_background *background)
{
	const struct wtl_record_settings *record = background->app->own;
	int fd = name_log(record->recording.path, background->log)
			 ? open_log(background->log, background->app->settings.file_mode)
			 : -ENAMETOOLONG;

	if (fd >= 0) {
		(void)!fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, LOG_ROOM);
		dup2(fd, STDERR_FILENO);
		close(fd);
		return;
	}
	wtl_complain(background->app, "%s: %s: what goes wrong later will not be told",
		     background->log,
		     fd == -EEXIST ? "there is such a file already, which is not this user's alone"
				   : wtl_err_text(fd));
	background->log[0] = '\0';
	redirect_to_null(STDERR_FILENO);
}

bool wtl_background_ready(struct wtl_background *background, bool can_stop)
{
	const struct word word = {.is_ready = true, .pid = getpid(), .can_stop = can_stop};

	if (background->pipe < 0)
		return true;
	/* A command's output belongs to whoever started it. */
	if (!background->app->settings.command) {
		redirect_to_null(STDOUT_FILENO);
		redirect_to_log(background);
	}
	background->app->settings.quiet = true;
	return tell_foreground(background, &word);
}

void wtl_background_leave(struct wtl_background *background, int code)
{
	const struct word word = {.code = code};
	struct stat status;

	tell_foreground(background, &word);
	if (background->log[0] && stat(background->log, &status) == 0 && status.st_size == 0)
		wtl_outfile_remove(background->log);
}

/* ---- --stop ---- */

/* If the recording has ended already, its log may say why. */
static void tell_log(struct wtl_app *app, const char *file)
{
	char log[WTL_LOG_NAME_SIZE];
	struct stat status;

	if (file && name_log(file, log) && stat(log, &status) == 0 && status.st_size > 0)
		wtl_remark(app, "what was said while it was recorded stands in %s", log);
}

int wtl_background_stop(struct wtl_app *app, const char *file)
{
	char answer[WTL_MARK_ANSWER_MAX];
	const char *text;
	int fd = wtl_mark_find(app, file), rc;

	if (fd < 0) {
		tell_log(app, file);
		return WTL_EXIT_FAILED;
	}
	/* Waits while the rest is written, however long the disk takes. */
	rc = wtl_packet_ask(fd, "stop", answer, sizeof(answer), -1);
	close(fd);
	if (rc < 0) {
		wtl_complain(app, "%s",
			     rc == -ECONNRESET ? "the recording ended before it was whole"
					       : wtl_err_text(rc));
		return WTL_EXIT_FAILED;
	}
	rc = wtl_mark_read_answer(answer, &text);
	if (rc < 0) {
		wtl_complain(app, "%s", rc == -EPROTO ? "that is no recording" : text);
		return WTL_EXIT_FAILED;
	}
	if (strncmp(text, "told ", 5) == 0)
		wtl_remark(app, "%s", text + 5);
	return WTL_EXIT_DONE;
}
